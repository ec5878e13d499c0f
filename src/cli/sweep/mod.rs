//! `medrgb sweep`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::Failure;
use crate::cli::ask::run_name;
use crate::cli::audit::left_out;
use crate::cli::chat::{ModelArgs, runtime};
use crate::cli::common::{Environment, note, say_json, write_out};
use crate::cli::grid::GridArgs;
use crate::cli::progress::Line;
use crate::cli::runs;
use crate::cli::stopping::stop_on_signals;
use crate::data::store::{RunLock, Store};
use crate::domain::text::clean;
use crate::engine::models::store_file;
use crate::engine::sweep::{Control, GivenUp, PartEnd, Step, Stopped, ask_part, passed_over, plan};

use prepare::{Part, Prepared};
use totals::Totals;

mod batch;
mod judge;
mod plan_file;
mod prepare;
mod progress;
mod show;
mod totals;
mod verdict;

/// The ceiling of calls at a time where none is given.
const CONCURRENCY: u16 = 64;

/// Arguments of `medrgb sweep`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  medrgb sweep --dataset FOLDER --model gpt-4o-mini --dry-run
      the plan of the paper's grid: instances, shortfalls, predicted tokens; asks nothing
  medrgb sweep --dataset FOLDER --scenario sufficiency --docs 5 --model gpt-4o-mini --run night --limit 100
      the first 100 questions at p = 0, 20, … 100, stored in the run \"night\"
  medrgb sweep --scenario standard --docs 0,5 --limit 2
      two questions of the built-in sample, asked of the configured model
  medrgb sweep --dataset FOLDER --model openai:NAME --run night --batch-out batches
  medrgb sweep --dataset FOLDER --model openai:NAME --run night --batch-in output.jsonl errors.jsonl
      the same sweep by OpenAI's Batch API: half the price, answers within a day
  medrgb sweep --dataset SET-A --dataset SET-B --source offline,online --model openai:NAME --run night
      two datasets in one run, every context once with documents retrieved offline and once online
  medrgb sweep --plan night.toml
      the flags from a file: dataset = [\"SET-A\", \"SET-B\"], models = [\"a\", \"b\"], scenario = [\"robustness\"],
      source = [\"offline\", \"online\"], mode = [\"nested\"], seeds = [0, 1], sample = 200, run = \"night\",
      judge = \"openai:gpt-4o\"; flags on the command line come first

A plan file takes every flag with _ for -, and besides them models for several; dry_run, json, plan, batch_out and
batch_in are about one call and no keys.

Without --scenario, --docs, --p and --source this is the paper's grid: standard without documents and with 5 and 20
(offline and online where the dataset has both, else all), sufficiency with 5 and 20 and robustness with 5 and 10 at
p = 0 to 100 by 20, integration with 5 and 10 at p = 20 to 100: 39 conditions, or 37 for a dataset of one source.

Several datasets, models (with commas between them) and repeats are asked one after another into the same run.

The same command goes on where it stopped: instances with a reply are not asked again, failed calls are. With
--reuse a request that has a finished reply in any run of the store is not asked again either (same server, model,
messages, sampling and reply format): the reply is copied with its timing and the run it comes from.
Requests and tokens per minute come from the model's table in the config (rpm, tpm) where no flag gives them.
Calls at a time start at 32 (or --concurrency), rise with success and halve when the server is overloaded.
Ctrl-C once: no new calls, those under way finish, those that only wait for another attempt are given up. Twice: end at once; the calls under way are asked again by the same command.")]
pub struct Args {
    /// Which contexts.
    #[command(flatten)]
    pub grid: GridArgs,

    /// Which model is asked, and how.
    #[command(flatten)]
    pub chat: ModelArgs,

    /// The plan of the sweep: a TOML file of at most 1 MiB whose keys are these flags, with lists where these have commas
    #[arg(long, value_name = "FILE.toml")]
    pub plan: Option<PathBuf>,

    /// How often every instance is asked, 1 to 100: repeats count the sampler's seed up
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u8).range(1..=100))]
    pub repeats: Option<u8>,

    /// The most calls at a time, 1 to 4096, 64 if left out (embedded models: always 1)
    #[arg(long, short = 'c', value_name = "C", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub concurrency: Option<u16>,

    /// The most calls started per minute; the config's for the model if left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rpm: Option<u32>,

    /// The most tokens of calls started per minute, predicted prompts and the most of replies together; the
    /// config's for the model if left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub tpm: Option<u32>,

    /// Name of the run; DATASET-MODEL if left out
    #[arg(long, value_name = "NAME", value_parser = run_name)]
    pub run: Option<String>,

    /// Ask only what was asked before without getting a reply
    #[arg(long)]
    pub only_failed: bool,

    /// Let the run hold replies of another dataset, model or sampling too
    #[arg(long)]
    pub append: bool,

    /// Take over finished replies to the same requests from any run instead of asking again
    #[arg(long)]
    pub reuse: bool,

    /// Afterwards have this model judge the sub-answers, as `medrgb rescore --judge` does
    #[arg(long, value_name = "MODEL")]
    pub judge: Option<String>,

    /// Address of the judge's OpenAI-compatible server
    #[arg(long, value_name = "URL", requires = "judge")]
    pub judge_base_url: Option<String>,

    /// Ask nothing, but write the requests as files for OpenAI's Batch API into this folder
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["dry_run", "judge"])]
    pub batch_out: Option<PathBuf>,

    /// Ask nothing, but store the answers in these output and error files of OpenAI's Batch API
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["dry_run", "batch_out"])]
    pub batch_in: Vec<PathBuf>,

    /// Print the plan and ask nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Print one JSON object at the end and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let args = plan_file::fill(args)?;
    let prepared = prepare::prepare(&args, environment)?;
    let path = store_file(&environment.paths);
    let run = prepared
        .first()
        .map(|one| one.sweep.run.clone())
        .ok_or_else(|| Failure::Usage("no model is named".to_owned()))?;
    if args.dry_run {
        judge::check(&args, environment)?;
        return dry_run(&args, prepared, &path, &run, environment);
    }
    if let Some(folder) = &args.batch_out {
        let store = reading(&path)?;
        know_the_run(&args, store.as_ref(), &path, &run)?;
        return batch::write(folder, prepared, store.as_ref(), args.json);
    }
    judge::check(&args, environment)?;
    let mut lock = RunLock::take(&path, &run).map_err(Failure::failed)?;
    let store = Store::open(&path).map_err(Failure::failed)?;
    know_the_run(&args, Some(&store), &path, &run)?;
    let parts = planned(prepared, Some(&store))?;
    let estimate = judge::estimate(&args, &parts, Some(&store), environment)?;
    let totals = Totals::of(&parts, Some(&store), estimate.as_ref());
    if !args.json {
        write_out(&show::plan(&parts, &totals, estimate.as_ref()))?;
    }
    if parts.iter().all(|part| part.plan.instances() == 0) {
        let names = parts.first().map(|part| part.sweep.dataset.name.as_str());
        return Err(Failure::Failed(format!(
            "nothing can be asked: no question of {} has documents for this grid",
            names.unwrap_or_default()
        )));
    }
    let done = match args.batch_in.is_empty() {
        true => ask_parts(&parts, &mut lock, &store)?,
        false => batch::read(&args.batch_in, &parts, &mut lock, &store)?,
    };
    let judged = match &args.judge {
        Some(judge) if may_be_judged(&done) => {
            Some(judge::stage(judge, &args, &run, &store, environment))
        }
        _ => None,
    };
    // What was measured is said whatever became of the judge.
    let all = || parts.iter().zip(&done);
    if args.json {
        let objects = all().map(|(part, one)| show::json(plan_json(part), one, part.prices()));
        let object = with(
            together(objects.collect()),
            "judge",
            judged.as_ref().map(judge::json),
        );
        let object = with(object, "totals", Some(json!(totals)));
        let estimate = estimate.map(|estimate| estimate.json());
        say_json(&with(object, "judge_estimate", estimate))?;
    } else {
        for (part, one) in all() {
            if parts.len() > 1 {
                write_out(&format!("\n{}\n", part.title()))?;
            }
            write_out(&show::summary(&one.summary))?;
        }
    }
    verdict::of_all(&parts, &done)?;
    judged.map_or(Ok(()), judge::verdict)
}

/// Whether a judge is asked: nothing cut the sweep short but models that were given up beside others that were not.
fn may_be_judged(done: &[PartEnd]) -> bool {
    let gave_up = |one: &PartEnd| matches!(one.ended.stopped, Some(Stopped::GivenUp(_)));
    let ended = |one: &PartEnd| one.ended.stopped.is_none();
    done.iter().all(|one| ended(one) || gave_up(one)) && done.iter().any(ended)
}

/// Prints the plan.
fn dry_run(
    args: &Args,
    prepared: Vec<Prepared>,
    path: &Path,
    run: &str,
    environment: &Environment,
) -> Result<(), Failure> {
    let store = reading(path)?;
    know_the_run(args, store.as_ref(), path, run)?;
    let parts = planned(prepared, store.as_ref())?;
    let estimate = judge::estimate(args, &parts, store.as_ref(), environment)?;
    let totals = Totals::of(&parts, store.as_ref(), estimate.as_ref());
    if !args.json {
        return write_out(&show::plan(&parts, &totals, estimate.as_ref()));
    }
    let object = together(parts.iter().map(plan_json).collect());
    let object = with(object, "totals", Some(json!(totals)));
    let estimate = estimate.map(|one| one.json());
    say_json(&with(object, "judge_estimate", estimate))
}

/// The store, to read it, if it is there.
fn reading(path: &Path) -> Result<Option<Store>, Failure> {
    match path.exists() {
        true => Store::open_for_reading(path)
            .map(Some)
            .map_err(Failure::failed),
        false => Ok(None),
    }
}

/// `--only-failed` is about a run that is there.
fn know_the_run(args: &Args, store: Option<&Store>, path: &Path, run: &str) -> Result<(), Failure> {
    if !args.only_failed {
        return Ok(());
    }
    let runs = match store {
        Some(store) => store.runs().map_err(Failure::failed)?,
        None => Vec::new(),
    };
    match runs.iter().any(|known| known.name == run) {
        true => Ok(()),
        false => Err(runs::unknown(path, run, &runs)),
    }
}

/// One object as it is, several under `sweeps`.
fn together(mut objects: Vec<Value>) -> Value {
    match objects.len() {
        1 => objects.remove(0),
        _ => json!({"run": objects.first().map(|one| one["run"].clone()), "sweeps": objects}),
    }
}

/// An object with one more key, where there is a value for it.
fn with(mut object: Value, key: &str, value: Option<Value>) -> Value {
    if let (Some(fields), Some(value)) = (object.as_object_mut(), value) {
        fields.insert(key.to_owned(), value);
    }
    object
}

/// Asks part after part. One that is stopped early ends the sweep, but a model that is given up leaves the others.
fn ask_parts(parts: &[Part], lock: &mut RunLock, store: &Store) -> Result<Vec<PartEnd>, Failure> {
    let mut done = Vec::new();
    let mut given_up = GivenUp::default();
    for (at, part) in parts.iter().enumerate() {
        if let Some(why) = given_up.why(&part.sweep) {
            let end = passed_over(&part.sweep, &part.plan, store, why);
            done.push(end.map_err(Failure::Failed)?);
            continue;
        }
        if parts.len() > 1 {
            note(&part.title());
        }
        let end = ask(part, lock, store)?;
        if end.reused.count() > 0 {
            note(&show::reused(&end.reused));
        }
        let stopped = end.ended.stopped.is_some();
        let others = given_up.note(&part.sweep, &end.ended)
            && given_up.leaves(parts[at + 1..].iter().map(|part| &part.sweep));
        if others {
            note(&format!(
                "{}: given up, since call after call failed; the other models are asked",
                part.title()
            ));
        }
        done.push(end);
        if stopped && !others {
            break;
        }
    }
    Ok(done)
}

fn planned(prepared: Vec<Prepared>, store: Option<&Store>) -> Result<Vec<Part>, Failure> {
    let mut said = Vec::new();
    prepared
        .into_iter()
        .map(|one| {
            let line = Line::new();
            let total = one.sweep.space().question_count();
            let plan = plan(&one.sweep, store, &|done| {
                let _ = line.at("planning", done, total);
            })
            .map_err(Failure::Failed)?;
            drop(line);
            // What the user should know is said once, whatever how many parts it is about.
            for text in &plan.notes {
                if !said.contains(text) {
                    note(&format!("note: {}", clean(text)));
                    said.push(text.clone());
                }
            }
            Ok(one.part(plan))
        })
        .collect()
}

fn plan_json(part: &Part) -> Value {
    let (sweep, plan) = (&part.sweep, &part.plan);
    let identity = sweep.model.identity();
    json!({
        "run": sweep.run,
        "dataset": sweep.dataset.name,
        "dataset_fingerprint": sweep.dataset.fingerprint,
        "model": identity.name,
        "model_detail": identity.detail,
        "caution": identity.caution,
        "sampling": sweep.sampling,
        "repeat": part.repeat.0,
        "repeats": part.repeat.1,
        "concurrency": sweep.ceiling(),
        "requests_per_minute": sweep.limits.requests_per_minute,
        "tokens_per_minute": sweep.limits.tokens_per_minute,
        "reuse": sweep.reuse,
        "questions": sweep.space().question_count(),
        "instances": plan.instances(),
        "done": plan.done(),
        "to_reuse": plan.to_reuse(),
        "to_ask": plan.to_ask(),
        "too_long": plan.too_long(),
        "prompt_tokens_to_ask": plan.tokens_to_ask(),
        "cost_usd_to_ask": part.cost(),
        "left_out": left_out(&part.left_out),
        "conditions": plan.conditions,
        "notes": plan.notes,
    })
}

/// Asks what a part's plan says, with progress on standard error.
fn ask(part: &Part, lock: &mut RunLock, store: &Store) -> Result<PartEnd, Failure> {
    let runtime = runtime()?;
    let control = Control::default();
    let mut screen = progress::Screen::new(part.prices());
    let mut line: Option<Line> = None;
    let end = runtime.block_on(async {
        let (sweep, plan) = (&part.sweep, &part.plan);
        let _signals = stop_on_signals(control.clone(), sweep.model.patience());
        ask_part(sweep, plan, lock, store, &control, &mut |step| match step {
            Step::TakingOver(done, total) => {
                let line = line.get_or_insert_with(Line::new);
                let _ = line.at("taking replies over", done, total);
            }
            Step::Asking(progress) => {
                line = None;
                screen.show(progress);
            }
        })
        .await
    });
    let end = end.map_err(Failure::Failed)?;
    screen.finish(&end.ended.progress);
    Ok(end)
}
