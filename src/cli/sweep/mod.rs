//! `medrgb sweep`.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::cli::Failure;
use crate::cli::ask::run_name;
use crate::cli::audit::{Cost, left_out};
use crate::cli::chat::{ModelArgs, runtime};
use crate::cli::common::{Environment, note, say_json, templates, write_out};
use crate::cli::condition::open_dataset;
use crate::cli::grid::GridArgs;
use crate::cli::progress::Line;
use crate::config::ModelConfig;
use crate::data::store::{RunLock, Store};
use crate::domain::plan::Conditions;
use crate::domain::text::clean;
use crate::engine::models::store_file;
use crate::engine::sweep::{Control, Ended, Plan, Stopped, Summary, Sweep, drive, plan, summarise};

mod progress;
mod show;

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

The same command goes on where it stopped: instances with a reply are not asked again, failed calls are.
Calls at a time start at 32 (or --concurrency), rise with success and halve when the server is overloaded.
Ctrl-C once: no new calls, those under way finish. Twice: stop at once; what has come is kept as interrupted.")]
pub struct Args {
    /// Which contexts.
    #[command(flatten)]
    pub grid: GridArgs,

    /// Which model is asked, and how.
    #[command(flatten)]
    pub chat: ModelArgs,

    /// The most calls at a time, 1 to 4096 (embedded models: always 1)
    #[arg(long, short = 'c', value_name = "C", default_value_t = CONCURRENCY, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub concurrency: u16,

    /// Name of the run; DATASET-MODEL if left out
    #[arg(long, value_name = "NAME", value_parser = run_name)]
    pub run: Option<String>,

    /// Let the run hold replies of another dataset, model or sampling too
    #[arg(long)]
    pub append: bool,

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
    let conditions = args.grid.conditions()?;
    let sweep = prepare(&args, &conditions, environment)?;
    let path = store_file(&environment.paths);
    let price = environment.config.models.get(args.chat.name(environment));
    if args.dry_run {
        let store = match path.exists() {
            true => Some(Store::open(&path).map_err(Failure::failed)?),
            false => None,
        };
        let plan = planned(&sweep, store.as_ref())?;
        return match args.json {
            true => say_json(&plan_json(&sweep, &plan, &conditions, price)),
            false => write_out(&show::plan(
                &sweep,
                &plan,
                cost_to_ask(&sweep, &plan, price),
            )),
        };
    }
    let mut lock = RunLock::take(&path, &sweep.run).map_err(Failure::failed)?;
    let store = Store::open(&path).map_err(Failure::failed)?;
    let plan = planned(&sweep, Some(&store))?;
    if !args.json {
        write_out(&show::plan(
            &sweep,
            &plan,
            cost_to_ask(&sweep, &plan, price),
        ))?;
    }
    if plan.instances() == 0 {
        return Err(Failure::Failed(format!(
            "nothing can be asked: no question of {} has documents for this grid",
            sweep.dataset.name
        )));
    }
    if !plan.todo.is_empty() {
        lock.log(&log_entry(&sweep)).map_err(Failure::failed)?;
    }
    let ended = ask_all(&sweep, &plan, &store, price)?;
    let summary = summarise(&sweep, &plan, &store).map_err(Failure::failed)?;
    if args.json {
        let plan = plan_json(&sweep, &plan, &conditions, price);
        say_json(&show::json(plan, &ended, &summary, price))?;
    } else {
        write_out(&show::summary(&summary))?;
    }
    verdict(&sweep, &ended, &summary)
}

/// Everything that the sweep needs; fails before any model is called.
fn prepare(
    args: &Args,
    conditions: &Conditions,
    environment: &Environment,
) -> Result<Sweep, Failure> {
    let config = &environment.config;
    let templates = templates(config.prompts.as_ref())?;
    let dataset = open_dataset(args.grid.dataset.as_deref())?;
    let model = args.chat.open(environment)?;
    Ok(Sweep {
        run: match &args.run {
            Some(run) => run.clone(),
            None => format!("{}-{}", dataset.name, model.identity().name),
        },
        dataset: Arc::new(dataset),
        templates: Arc::new(templates),
        model,
        sampling: args.chat.sampling(environment),
        conditions: conditions.kept.clone(),
        questions: args.grid.questions(),
        concurrency: usize::from(args.concurrency),
        append: args.append,
    })
}

/// The plan; what the user should know is noted on standard error.
fn planned(sweep: &Sweep, store: Option<&Store>) -> Result<Plan, Failure> {
    let line = Line::new();
    let total = sweep.space().question_count();
    let plan = plan(sweep, store, &|done| {
        let _ = line.at("planning", done, total);
    })
    .map_err(Failure::Failed)?;
    drop(line);
    for text in &plan.notes {
        note(&format!("note: {}", clean(text)));
    }
    Ok(plan)
}

/// The predicted cost of what is to be asked.
fn cost_to_ask(sweep: &Sweep, plan: &Plan, price: Option<&ModelConfig>) -> Cost {
    let what = (plan.todo.len(), plan.tokens_to_ask());
    Cost::of(what, sweep.sampling.max_tokens, price)
}

fn plan_json(
    sweep: &Sweep,
    plan: &Plan,
    conditions: &Conditions,
    price: Option<&ModelConfig>,
) -> Value {
    let identity = sweep.model.identity();
    json!({
        "run": sweep.run,
        "dataset": sweep.dataset.name,
        "dataset_fingerprint": sweep.dataset.fingerprint,
        "model": identity.name,
        "model_detail": identity.detail,
        "caution": identity.caution,
        "sampling": sweep.sampling,
        "concurrency": sweep.ceiling(),
        "questions": sweep.space().question_count(),
        "instances": plan.instances(),
        "done": plan.done(),
        "to_ask": plan.todo.len(),
        "prompt_tokens_to_ask": plan.tokens_to_ask(),
        "cost_usd_to_ask": cost_to_ask(sweep, plan, price).json(),
        "left_out": left_out(&conditions.left_out),
        "conditions": plan.conditions,
        "notes": plan.notes,
    })
}

/// What the run's logbook says of this start: enough to repeat it.
fn log_entry(sweep: &Sweep) -> Value {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    json!({
        "started_at": jiff::Timestamp::now().to_string(),
        "program": concat!("medrgb ", env!("CARGO_PKG_VERSION")),
        "machine": format!("{} {}, {cores} cores", std::env::consts::OS, std::env::consts::ARCH),
        "dataset": sweep.dataset.name,
        "dataset_path": sweep.dataset.path,
        "dataset_fingerprint": sweep.dataset.fingerprint,
        "model": sweep.model.identity(),
        "sampling": sweep.sampling,
        "questions": sweep.space().question_count(),
        "concurrency": sweep.ceiling(),
        "conditions": sweep.conditions,
    })
}

/// Asks everything, with progress on standard error.
fn ask_all(
    sweep: &Sweep,
    plan: &Plan,
    store: &Store,
    price: Option<&ModelConfig>,
) -> Result<Ended, Failure> {
    let runtime = runtime()?;
    let control = Control::default();
    let mut screen = progress::Screen::new(price);
    let ended = runtime.block_on(async {
        let signals = stop_on_signals(control.clone());
        let ended = drive(sweep, &plan.todo, store, &control, &mut |progress| {
            screen.show(progress);
        })
        .await;
        if let Some(signals) = signals {
            signals.abort();
        }
        ended
    });
    screen.finish(&ended.progress);
    Ok(ended)
}

/// Ctrl-C, or on Unix being told to end: once for no new calls, twice for stopping at once.
fn stop_on_signals(control: Control) -> Option<JoinHandle<()>> {
    let mut signals = Signals::listen()?;
    Some(tokio::spawn(async move {
        signals.next().await;
        note("stopping: no new calls, those under way finish (again: stop them too)");
        control.stop.cancel();
        signals.next().await;
        note("stopping now: what has come of the calls under way is kept as interrupted");
        control.now.cancel();
    }))
}

/// The signals that stop a sweep; none is missed between two waits.
struct Signals {
    #[cfg(unix)]
    streams: [tokio::signal::unix::Signal; 2],
}

impl Signals {
    #[cfg(unix)]
    fn listen() -> Option<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        Some(Signals {
            streams: [
                signal(SignalKind::interrupt()).ok()?,
                signal(SignalKind::terminate()).ok()?,
            ],
        })
    }

    #[cfg(not(unix))]
    fn listen() -> Option<Signals> {
        Some(Signals {})
    }

    #[cfg(unix)]
    async fn next(&mut self) {
        let [interrupt, terminate] = &mut self.streams;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }

    #[cfg(not(unix))]
    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Done where something was measured and nothing cut the sweep short.
fn verdict(sweep: &Sweep, ended: &Ended, summary: &Summary) -> Result<(), Failure> {
    let (replies, missing) = (summary.replies(), summary.missing());
    let measured = match replies {
        0 => "nothing was measured".to_owned(),
        count => format!("{count} instances have a reply, {missing} are missing"),
    };
    let go_on = "the same command goes on";
    match &ended.stopped {
        Some(Stopped::NotStored(why)) => Err(Failure::Failed(format!(
            "{measured}; the sweep stopped: {why}"
        ))),
        Some(Stopped::GivenUp(why)) => Err(Failure::Failed(format!(
            "{measured}; the sweep gave up, since call after call failed: {why}; then {go_on}"
        ))),
        Some(Stopped::ByUser) => Err(Failure::Failed(format!("stopped; {measured}; {go_on}"))),
        None if replies == 0 => {
            let last = match &ended.progress.last_failure {
                Some(message) => format!("; the last one: {message}"),
                None => String::new(),
            };
            Err(Failure::Failed(format!(
                "{measured}: none of {} calls gave a reply{last}",
                summary.unavailable()
            )))
        }
        None => {
            if missing > 0 {
                note(&format!("{measured}; {go_on} with the missing ones"));
            }
            note(&format!("stored in the run \"{}\"", clean(&sweep.run)));
            Ok(())
        }
    }
}
