//! `medrgb build`: a benchmark made from questions and documents.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Subcommand;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::cli::Failure;
use crate::cli::chat::runtime;
use crate::cli::common::{Environment, note, say_json, templates, variable, write_out};
use crate::cli::condition::open_dataset;
use crate::cli::progress::Line;
use crate::cli::search::open_index;
use crate::cli::signals::cancel_on_signal;
use crate::data::built::{ASIDE, BuiltFolder, PAGES, REPORT};
use crate::data::dataset::{Dataset, QUESTIONS, SIGNAL, name_of};
use crate::data::predictions::{PredictionError, read_questions, split_set};
use crate::domain::build::{Private, Scope, Settings, Stage, closing};
use crate::domain::question::Question;
use crate::domain::text::{clean, count, one_line, short};
use crate::engine::build::web::{Engine, Web, WebSettings, is_public};
use crate::engine::build::{
    Build, BuildError, Done, IndexSource, Parts, Progress, asks_model, folder_of, plan, prepare,
    run as run_stage, validate,
};
use crate::retrieval::Method;

mod args;
mod review;
mod show;

use args::StageArgs;

/// Arguments of `medrgb build`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  medrgb build all --questions qa.jsonl --index my-index --out my-set --model gpt-4o-mini --plan
      what would be asked: calls, tokens, cost, time; asks nothing
  medrgb build all --questions benchmark.json#pubmedqa --index my-index --out my-set --limit 20
      all stages with the configured model for the first 20 questions
  medrgb build subqa --questions old-set --out new-set --model openai:NAME
      sub-questions for the documents of a dataset that has none
  medrgb build counterfactual --out new-set --only q7 q9 --again
      two questions anew, the others stay
  GOOGLE_API_KEY=… GOOGLE_CSE_ID=… medrgb build retrieve --google --out my-set
  medrgb build retrieve --searxng http://localhost:8888 --out my-set
      documents from the web: links ranked, pages read and summed up by the model
  medrgb build validate my-set --json
      what is wrong with any dataset folder; no model is asked
  medrgb build review apply my-set --out my-set-reviewed
      the dataset with what people decided about its items (press E in the explorer)

Everything that was asked and answered is kept in DIR/ledger.jsonl before it counts: killed or stopped, the same
command goes on and asks nothing twice. What can't be made to keep the rules is dropped, with its reason in
DIR/report.json. DIR is a dataset folder that all other commands open. Files are written anew by their stage: edit a copy.")]
pub struct Args {
    /// What is made.
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Search topics for every question, by a model
    Topics(StageArgs),
    /// Documents for every question: its topics searched in an index or on the web
    Retrieve(StageArgs),
    /// A sub-question and a short answer for every document, by a model
    Subqa(StageArgs),
    /// An adversarial version of every document with a sub-question, by a model
    Counterfactual(StageArgs),
    /// All stages one after another, then the checks
    All(StageArgs),
    /// Check a dataset by the rules of making one; exit code 0 whatever is found, without --strict
    Validate(ValidateArgs),
    /// What people decided about sub-questions and edits on the review screen: list, export, import, agreement, apply
    Review(review::Args),
}

#[derive(Debug, Clone, clap::Args)]
struct ValidateArgs {
    /// Dataset folder, or its qa.jsonl; without it the built-in sample
    #[arg(value_name = "DIR")]
    dataset: Option<PathBuf>,

    /// Exit with 1 where there are errors; warnings and notices are none
    #[arg(long)]
    strict: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    match args.command {
        Command::Topics(args) => stages(&args, &[Stage::Topics], environment),
        Command::Retrieve(args) => stages(&args, &[Stage::Retrieve], environment),
        Command::Subqa(args) => stages(&args, &[Stage::SubQuestions], environment),
        Command::Counterfactual(args) => stages(&args, &[Stage::Adversarial], environment),
        Command::All(args) => stages(&args, &Stage::ALL, environment),
        Command::Review(args) => review::run(args, environment),
        Command::Validate(args) => {
            let dataset = open_dataset(args.dataset.as_deref())?;
            let found = validate(&dataset);
            match args.json {
                true => say_json(&found)?,
                false => write_out(&show::validation(&dataset.name, &found))?,
            }
            match args.strict && found.errors > 0 {
                true => Err(Failure::Failed(format!(
                    "{} has {}",
                    clean(&dataset.name),
                    count(found.errors, "error")
                ))),
                false => Ok(()),
            }
        }
    }
}

fn failure(error: BuildError) -> Failure {
    match error {
        BuildError::Usage(why) => Failure::Usage(why),
        other => Failure::failed(other),
    }
}

fn stages(args: &StageArgs, stages: &[Stage], environment: &Environment) -> Result<(), Failure> {
    say_idle(args, stages);
    let build = ready(args, stages, environment)?;
    say_not_given(&build);
    say_outdated(&build, environment);
    let price = environment.config.models.get(args.chat.name(environment));
    if args.plan {
        let plans = plan(&build, stages).map_err(failure)?;
        return match args.json {
            true => say_json(&show::plan_json(&build, &plans, price)),
            false => write_out(&show::plan(&build, &plans, price)),
        };
    }
    say_model(&build);
    let done = run_all(&build, stages)?;
    let report = &done.iter().map(show::stage_json).collect::<Vec<Value>>();
    let through = done.last().map(|one| one.stage) == Some(Stage::Adversarial);
    let checked = match through {
        true => build
            .parts
            .folder
            .dataset()
            .map_err(Failure::failed)?
            .map(|set| validate(&set)),
        false => None,
    };
    let out = one_line(&build.parts.folder.path().display().to_string());
    match args.json {
        true => say_json(
            &json!({"out": build.parts.folder.path(), "changed_questions": build.outdated.ids,
                "not_given": build.not_given, "stages": report, "validate": checked}),
        )?,
        false => {
            done.iter()
                .try_for_each(|one| write_out(&show::stage(one)))?;
            if let Some(found) = &checked {
                write_out(&format!("\n{}", show::validation(&out, found)))?;
            }
        }
    }
    verdict(&done, stages, &out)
}

/// The closing words. Done where every stage kept something; items may still be to be asked for.
fn verdict(done: &[Done], stages: &[Stage], out: &str) -> Result<(), Failure> {
    for one in done {
        let failed = one.report.failed();
        if failed > 0 {
            note(&format!(
                "{}: no reply for {}; the same command asks again",
                one.stage.name(),
                count(failed, "item")
            ));
        }
        // What this very command has made by now need not be said.
        let later = one.later.iter();
        let run = |stage| done.iter().any(|one| one.stage == stage);
        for later in later.filter(|later| later.due > 0 && !run(later.stage)) {
            note(&closing::of_later(later.stage, later.gone, later.due));
        }
    }
    let last = done.last().filter(|one| one.report.fresh() == 0);
    if let Some(Done { stage, report, .. }) = last {
        let said = closing::nothing_kept(*stage, report, stages.get(done.len()..).unwrap_or(&[]));
        let remedy = closing::remedy(*stage, report);
        return Err(Failure::Failed(format!(
            "{said}. {remedy}. {out}/{REPORT} has every item and its reason"
        )));
    }
    let dropped: usize = done.iter().map(|one| one.report.dropped()).sum();
    let missing = match dropped {
        0 => String::new(),
        _ => format!(
            "; {} dropped, {REPORT} there says why for each",
            count(dropped, "item")
        ),
    };
    note(&format!("written to {out}{missing}"));
    Ok(())
}

/// Runs the stages with progress on standard error; Ctrl-C stops.
fn run_all(build: &Build, stages: &[Stage]) -> Result<Vec<Done>, Failure> {
    let runtime = runtime()?;
    let cancel = CancellationToken::new();
    let line = Line::new();
    runtime.block_on(async {
        let _signals = cancel_on_signal(cancel.clone());
        let mut all = Vec::new();
        for &stage in stages {
            let mut say = |at: Progress| {
                let _ = line.at(stage.name(), at.done, at.total);
            };
            let done = run_stage(build, stage, &cancel, &mut say).await;
            let done = done.map_err(failure)?;
            let nothing = done.report.fresh() == 0;
            all.push(done);
            if nothing {
                break;
            }
        }
        Ok(all)
    })
}

/// Says which flags change nothing: a typing error may be behind it.
fn say_idle(args: &StageArgs, stages: &[Stage]) {
    let idle = args.idle(stages);
    if let ([stage], false) = (stages, idle.is_empty()) {
        note(&format!(
            "note: `build {}` makes no use of {}",
            stage.name(),
            idle.join(", ")
        ));
    }
}

/// Says which questions of the folder were not given: they may be left over from an earlier file.
fn say_not_given(build: &Build) {
    if !build.not_given.is_empty() {
        let file = build.parts.folder.path().join(QUESTIONS);
        let file = one_line(&file.display().to_string());
        note(&closing::of_not_given(&build.not_given, &file));
    }
}

/// Says which questions have changed, and what people had decided about what was made of the old text.
fn say_outdated(build: &Build, environment: &Environment) {
    let changed = &build.outdated;
    if changed.ids.is_empty() {
        return;
    }
    note(&closing::of_changed(
        changed.ids.len(),
        &changed.gone,
        ASIDE,
    ));
    let name = name_of(build.parts.folder.path());
    if let Some((items, reviewers)) = review::decided(environment, &name, &changed.items) {
        note(&closing::of_reviewed(items, &reviewers));
    }
}

fn say_model(build: &Build) {
    if let Some(model) = &build.parts.model
        && let Some(caution) = &model.identity().caution
    {
        note(&format!(
            "caution: {}: {}",
            clean(&model.identity().name),
            clean(caution)
        ));
    }
}

/// Everything that the stages need; fails before anything is asked.
fn ready(args: &StageArgs, stages: &[Stage], environment: &Environment) -> Result<Build, Failure> {
    let folder = folder_of(&args.out, args.plan).map_err(failure)?;
    let templates = templates(environment.config.prompts.as_ref())?;
    let (questions, given) = questions(args, &folder)?;
    let web = match args.searches_web(stages) {
        true => web(args, &folder)?,
        false => None,
    };
    let model = match asks_model(stages, web.is_some()) {
        true => Some(args.chat.open(environment)?),
        false => None,
    };
    let index = match stages.contains(&Stage::Retrieve) {
        true => index(args, environment)?,
        false => None,
    };
    if stages.contains(&Stage::Retrieve) && index.is_none() && web.is_none() {
        return Err(Failure::Usage(
            "say where to search for documents: --index DIR, --searxng URL or --google".to_owned(),
        ));
    }
    let parts = Parts {
        folder,
        questions,
        given: given.map(Arc::new),
        templates,
        settings: settings(args),
        sampling: args.chat.sampling(environment),
        model,
        index,
        web,
    };
    let scope = Scope {
        only: args.only.clone(),
        limit: args.limit.map(|limit| limit as usize),
        again: args.again,
    };
    prepare(parts, stages, &scope, args.plan).map_err(failure)
}

fn settings(args: &StageArgs) -> Settings {
    Settings {
        topics: usize::from(args.topics),
        per_topic: usize::from(args.sources.per_topic),
        pages: usize::from(args.sources.pages),
        repairs: u32::from(args.repairs),
        model_checks: args.model_checks,
        concurrency: usize::from(args.concurrency),
        call_timeout: Duration::from_secs(u64::from(args.call_timeout)),
    }
}

/// The questions, and the dataset that they came with if it has documents.
fn questions(
    args: &StageArgs,
    folder: &BuiltFolder,
) -> Result<(Vec<Question>, Option<Dataset>), Failure> {
    let Some(named) = &args.questions else {
        let kept = folder.questions().map_err(Failure::failed)?;
        let questions = kept.ok_or_else(|| {
            Failure::Usage(format!(
                "{} holds no questions yet; say which with --questions",
                folder.path().display()
            ))
        })?;
        return Ok((questions, None));
    };
    let (file, set) = split_set(named);
    let waits = std::fs::metadata(&file).is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
    if waits {
        note(&format!(
            "reading the questions from {}, which is no file: this waits for whoever writes there",
            file.display()
        ));
    }
    let questions = read_questions(&file, set.as_deref()).map_err(|error| match error {
        PredictionError::Usage(why) => Failure::Usage(why),
        PredictionError::File(why) => Failure::Failed(why),
    })?;
    let has_documents = set.is_none() && file.is_dir() && file.join(SIGNAL).is_file();
    let given = match has_documents {
        true => Some(Dataset::open(&file).map_err(Failure::failed)?),
        false => None,
    };
    Ok((questions, given))
}

fn index(args: &StageArgs, environment: &Environment) -> Result<Option<IndexSource>, Failure> {
    let sources = &args.sources;
    if sources.index.is_empty() {
        return Ok(None);
    }
    let method = sources.retriever.map(Into::into);
    let (search, method) = open_index(
        &sources.index,
        method,
        sources.encoder.as_deref(),
        sources.backend,
        environment,
    )?;
    if matches!(method, Method::Bm25) {
        let named = sources.encoder.as_deref().map(short);
        let flag = match (named, sources.backend) {
            (Some(named), _) => Some(format!("--encoder {named}")),
            (None, backend) => backend.map(|_| "--backend".to_owned()),
        };
        if let Some(flag) = flag {
            return Err(Failure::Usage(format!(
                "{flag}: the index is searched by its words (bm25), which asks no encoder; leave it out, or give an index with vectors"
            )));
        }
    }
    if let Some(notice) = search.info().notice {
        note(&clean(&notice));
    }
    Ok(Some(IndexSource {
        search,
        method,
        names: sources.index.clone(),
    }))
}

fn web(args: &StageArgs, folder: &BuiltFolder) -> Result<Option<Arc<Web>>, Failure> {
    let sources = &args.sources;
    let engine = match (&sources.searxng, sources.google) {
        (Some(base), _) => {
            Engine::searxng(base).map_err(|why| Failure::Usage(format!("--searxng {why}")))?
        }
        (None, true) => Engine::google(variable).map_err(Failure::Usage)?,
        (None, false) => return Ok(None),
    };
    if let Some(open) = sources.allow_address.iter().find(|ip| is_public(**ip)) {
        return Err(Failure::Usage(format!(
            "--allow-address {open}: this is a public address, which is read anyway; the address of an intranet is expected"
        )));
    }
    let settings = WebSettings {
        engine,
        private: match (sources.allow_private, sources.allow_address.is_empty()) {
            (true, _) => Private::Open,
            (false, true) => Private::Closed,
            (false, false) => Private::These(sources.allow_address.clone()),
        },
        most_bytes: sources.page_bytes as usize,
        timeout: Duration::from_secs(u64::from(sources.page_timeout)),
        pause: Duration::from_millis(u64::from(sources.page_pause)),
    };
    let web = Web::new(settings, &folder.path().join(PAGES)).map_err(Failure::Failed)?;
    Ok(Some(Arc::new(web)))
}
