//! `medrgb probe`: does an answer hang on one document, and what came of planted text.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Subcommand;
use clap::builder::PossibleValuesParser;

use crate::cli::Failure;
use crate::cli::chat::{ModelArgs, runtime};
use crate::cli::common::{Environment, note, say_json, templates, write_out};
use crate::cli::condition::{ConditionArgs, instance_failure, open_dataset};
use crate::cli::progress::Line;
use crate::cli::stopping::stop_on_signals;
use crate::data::dataset::Dataset;
use crate::data::store::{ReplyRecord, Store};
use crate::domain::context::{Variant, left_out, reorders};
use crate::domain::probe::{Citations, Trace, citations, question_texts, trace};
use crate::domain::text::{count, short};
use crate::engine::instance::{Instance, instance};
use crate::engine::models::{run_to_read, store_file};
use crate::engine::probe::{ProbeRequest, Probed, original_text, probe};
use crate::engine::sweep::Control;

mod show;
mod swap;

/// Arguments of `medrgb probe`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Swap single documents between original, adversarial and noise, and see whether the answer flips.
    #[command(after_long_help = "\
Examples:
  medrgb probe swap --question ID --scenario robustness --docs 5 --p 60
      each document against its other version and against noise
  medrgb probe swap --question ID --doc DOC_2 --to adversarial --repeats 5 --temperature 0.7
      one document, each context asked five times; the most frequent answer counts")]
    Swap(SwapArgs),
    /// Leave each document out in turn.
    LeaveOneOut(AskArgs),
    /// Ask with the documents in other orders.
    Reorder(ReorderArgs),
    /// Find planted text in a reply: which sub-answers and which words of the reasoning repeat it.
    #[command(after_long_help = "\
Examples:
  medrgb probe trace --question ID --docs 5 --p 40 --model MODEL
      asks, then traces (scenario: robustness)
  medrgb probe trace --run night --dataset FOLDER
      every stored robustness reply of a run; the dataset gives the original texts")]
    Trace(ReplyArgs),
    /// Check the documents that a reply cites against those that contain what it takes from them.
    Citations(ReplyArgs),
}

#[derive(Debug, clap::Args)]
struct AskArgs {
    /// Which context.
    #[command(flatten)]
    condition: ConditionArgs,
    /// Which model is asked, and how.
    #[command(flatten)]
    chat: ModelArgs,
    /// How often each context is asked, 1 to 100; the most frequent answer counts
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=100))]
    repeats: u8,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct SwapArgs {
    #[command(flatten)]
    ask: AskArgs,
    /// Only the document with this label, such as DOC_2
    #[arg(long, value_name = "LABEL")]
    doc: Option<String>,
    /// Only swaps to this: signal (the original), adversarial or noise
    #[arg(long, value_name = "ROLE", value_parser = PossibleValuesParser::new(["signal", "adversarial", "noise"]))]
    to: Option<String>,
}

#[derive(Debug, clap::Args)]
struct ReorderArgs {
    #[command(flatten)]
    ask: AskArgs,
    /// How many other orders, the reverse first
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    orders: u16,
}

#[derive(Debug, clap::Args)]
struct ReplyArgs {
    /// Look at the stored replies of this run instead of asking
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Dataset folder, or its qa.jsonl; without it the built-in sample
    #[arg(long, short = 'd', value_name = "FOLDER")]
    dataset: Option<PathBuf>,
    /// Id of the question; with --run all questions if left out
    #[arg(long, short = 'q', value_name = "ID", required_unless_present = "run")]
    question: Option<String>,
    /// Which test is asked; without it robustness
    #[arg(long, short = 's', value_name = "SCENARIO", ignore_case = true, value_parser = crate::cli::condition::scenarios())]
    scenario: Option<crate::domain::context::Scenario>,
    /// Documents in the context that is asked
    #[arg(long, short = 'n', value_name = "N", default_value_t = 5)]
    docs: usize,
    /// Per cent of them signal (robustness: factually correct)
    #[arg(long, short = 'p', value_name = "P", default_value_t = 60.0)]
    p: f64,
    /// How documents are drawn.
    #[command(flatten)]
    draw: crate::cli::condition::DrawArgs,
    /// Which model is asked, and how.
    #[command(flatten)]
    chat: ModelArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    match args.action {
        Action::Swap(args) => swap::run(&args, environment),
        Action::LeaveOneOut(args) => {
            let place = Place::open(&args, environment)?;
            let variants = left_out(&place.instance.context);
            let needs = "leaving one out needs at least two documents";
            ask_variants(place, (variants, needs), &args, environment)
        }
        Action::Reorder(args) => {
            let place = Place::open(&args.ask, environment)?;
            let Instance {
                context, condition, ..
            } = &place.instance;
            let variants = reorders(context, condition, usize::from(args.orders));
            let needs = "another order needs at least two documents";
            ask_variants(place, (variants, needs), &args.ask, environment)
        }
        Action::Trace(args) => reply(&args, Look::Trace, environment),
        Action::Citations(args) => reply(&args, Look::Citations, environment),
    }
}

/// An instance and the dataset it comes from.
struct Place {
    dataset: Dataset,
    instance: Instance,
    templates: Arc<crate::domain::prompt::Templates>,
}

impl Place {
    fn open(args: &AskArgs, environment: &Environment) -> Result<Place, Failure> {
        Place::of(&args.condition, environment)
    }

    fn of(condition: &ConditionArgs, environment: &Environment) -> Result<Place, Failure> {
        let asked = condition.condition()?;
        let templates = templates(environment.config.prompts.as_ref())?;
        let dataset = condition.open_dataset()?;
        let instance = instance(&dataset, &templates, &condition.question, &asked)
            .map_err(|error| instance_failure(error, &dataset))?;
        Ok(Place {
            dataset,
            instance,
            templates: Arc::new(templates),
        })
    }
}

/// `needs` says what a context must have for there to be variants.
fn ask_variants(
    place: Place,
    (variants, needs): (Vec<Variant>, &str),
    args: &AskArgs,
    environment: &Environment,
) -> Result<(), Failure> {
    if variants.is_empty() {
        return Err(Failure::Failed(format!(
            "this context can't be changed in that way: {needs}, and it has {}; more come with --docs or another scenario",
            count(place.instance.context.documents.len(), "document")
        )));
    }
    let probed = asked(
        &place,
        variants,
        &args.chat,
        usize::from(args.repeats),
        environment,
    )?;
    let shown = show::Shown {
        place: &place.instance,
        probed: &probed,
        original: &|id: &str| original_text(&place.dataset, &place.instance.question.id, id),
    };
    match args.json {
        true => say_json(&shown.json())?,
        false => write_out(&shown.text())?,
    }
    match probed.verdict.tried {
        0 => Err(Failure::Failed(show::nothing(&probed))),
        _ => Ok(()),
    }
}

/// Asks the instance and its variants.
fn asked(
    place: &Place,
    variants: Vec<Variant>,
    chat: &ModelArgs,
    repeats: usize,
    environment: &Environment,
) -> Result<Probed, Failure> {
    let model = chat.open(environment)?;
    let request = ProbeRequest {
        instance: place.instance.clone(),
        variants,
        templates: Arc::clone(&place.templates),
        dataset: (
            place.dataset.name.clone(),
            place.dataset.fingerprint.clone(),
        ),
        model,
        sampling: chat.sampling(environment),
        repeats,
        store: Some(Store::open(&store_file(&environment.paths)).map_err(Failure::failed)?),
    };
    if let Some(caution) = &request.model.identity().caution {
        note(&format!("note: {caution}"));
    }
    let runtime = runtime()?;
    let (control, patience) = (Control::default(), request.model.patience());
    let line = Line::new();
    runtime.block_on(async {
        let _signals = stop_on_signals(control.clone(), patience);
        let probed = probe(&request, &control, &mut |done, total| {
            let _ = line.at("asking", done, total);
        })
        .await;
        probed.map_err(Failure::Failed)
    })
}

/// What is looked for in replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Trace,
    Citations,
}

/// A reply and what was found in it.
struct Finding {
    record: ReplyRecord,
    /// It was asked with another dataset than the one that is open.
    other_dataset: bool,
    trace: Option<Trace>,
    citations: Option<Citations>,
}

fn reply(args: &ReplyArgs, look: Look, environment: &Environment) -> Result<(), Failure> {
    let dataset = open_dataset(args.dataset.as_deref())?;
    let records = match &args.run {
        Some(run) => stored(run, args.question.as_deref(), environment)?,
        None => vec![one_asked(args, environment)?],
    };
    note_of_others(&records, look, &dataset);
    let findings: Vec<Finding> = records
        .into_iter()
        .filter_map(|record| finding(record, look, &dataset))
        .collect();
    if findings.is_empty() {
        return Err(Failure::Failed(nothing_to_look_at(args, look)));
    }
    match args.json {
        true => say_json(&show::findings_json(&findings)),
        false => write_out(&show::findings_text(&findings)),
    }
}

/// Says which records are left out, and which were asked with another dataset than the one that is open.
fn note_of_others(records: &[ReplyRecord], look: Look, dataset: &Dataset) {
    let failed = records.iter().filter(|record| record.parsed.is_none());
    let failed = failed.count();
    if failed > 0 {
        note(&format!(
            "note: {} without a reply left out",
            count(failed, "record")
        ));
    }
    let mut others = records
        .iter()
        .filter(|record| record.dataset_fingerprint != dataset.fingerprint);
    let Some(first) = others.next() else { return };
    let all = others.count() + 1;
    let so = match look {
        Look::Trace => {
            "so original texts are not known and edited wording is not looked for (give the run's own dataset with --dataset FOLDER); planted answers are looked for in the contexts stored with the replies"
        }
        Look::Citations => "the contexts stored with the replies are looked at all the same",
    };
    note(&format!(
        "note: {all} of {} asked with another dataset (\"{}\") than the open one (\"{}\"), or another version of it: {so}",
        count(records.len(), "record"),
        short(&first.dataset),
        short(&dataset.name)
    ));
}

fn nothing_to_look_at(args: &ReplyArgs, look: Look) -> String {
    let what = match look {
        Look::Trace => "no reply to a context with an adversarial document",
        Look::Citations => "no reply to a context with sub-questions or documents",
    };
    match &args.run {
        Some(run) => format!("the run \"{}\" holds {what}", short(run)),
        None => format!("there is {what}; raise --docs, or lower --p"),
    }
}

/// The replies of a run, to one question or all.
fn stored(
    run: &str,
    question: Option<&str>,
    environment: &Environment,
) -> Result<Vec<ReplyRecord>, Failure> {
    let store = run_to_read(&store_file(&environment.paths), run).map_err(Failure::failed)?;
    let mut records = store.replies_of_run(run).map_err(Failure::failed)?;
    if let Some(id) = question {
        records.retain(|record| record.question.id == id);
        if records.is_empty() {
            return Err(Failure::Failed(format!(
                "the run \"{}\" holds no reply to the question \"{}\"",
                short(run),
                short(id)
            )));
        }
    }
    Ok(records)
}

fn one_asked(args: &ReplyArgs, environment: &Environment) -> Result<ReplyRecord, Failure> {
    let condition = ConditionArgs {
        dataset: args.dataset.clone(),
        question: args.question.clone().unwrap_or_default(),
        scenario: args
            .scenario
            .unwrap_or(crate::domain::context::Scenario::Robustness),
        docs: args.docs,
        p: args.p,
        draw: args.draw.clone(),
    };
    let place = Place::of(&condition, environment)?;
    let probed = asked(&place, Vec::new(), &args.chat, 1, environment)?;
    let record = probed.base.records.into_iter().next();
    let record = record.ok_or_else(|| Failure::Failed("no reply was kept".to_owned()))?;
    match record.failure.get("message").and_then(|text| text.as_str()) {
        Some(why) => Err(Failure::Failed(format!("no reply came: {why}"))),
        None => Ok(record),
    }
}

/// What is found in a reply; `None` where there is nothing to look for or no reply.
fn finding(record: ReplyRecord, look: Look, dataset: &Dataset) -> Option<Finding> {
    let parsed = record.parsed.as_ref()?;
    let other_dataset = record.dataset_fingerprint != dataset.fingerprint;
    let (trace, citations) = match look {
        Look::Trace => {
            // A document of the same id in another dataset may have another text.
            let original = |id: &str| match other_dataset {
                true => None,
                false => original_text(dataset, &record.question.id, id),
            };
            let questions = question_texts(&record.question);
            let found = trace(&record.context, parsed, &original, &questions);
            (Some(found).filter(|found| !found.planted.is_empty()), None)
        }
        Look::Citations => {
            let found = citations(&record.context, parsed);
            let anything = !found.sub_answers.is_empty() || record.context.docs > 0;
            (None, Some(found).filter(|_| anything))
        }
    };
    (trace.is_some() || citations.is_some()).then_some(Finding {
        record,
        other_dataset,
        trace,
        citations,
    })
}
