//! `medrgb sweep`.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::cli::Failure;
use crate::cli::ask::run_name;
use crate::cli::audit::{left_out, prices};
use crate::cli::chat::{ModelArgs, runtime};
use crate::cli::common::{Environment, heeds_hang_up, note, say_json, templates, write_out};
use crate::cli::condition::open_dataset;
use crate::cli::grid::GridArgs;
use crate::cli::progress::Line;
use crate::config::ModelConfig;
use crate::data::store::{RunLock, Store};
use crate::domain::cost::Cost;
use crate::domain::plan::Conditions;
use crate::domain::run;
use crate::domain::text::clean;
use crate::engine::models::store_file;
use crate::engine::sweep::{
    AskedModel, Control, Ended, Limits, Order, PartEnd, Plan, Step, Stopped, Summary, Sweep,
    ask_part, plan,
};

mod batch;
mod judge;
mod plan_file;
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
  medrgb sweep --dataset FOLDER --model openai:NAME --run night --batch-out batches
  medrgb sweep --dataset FOLDER --model openai:NAME --run night --batch-in output.jsonl errors.jsonl
      the same sweep by OpenAI's Batch API: half the price, answers within a day
  medrgb sweep --plan night.toml
      the flags from a file: models = [\"a\", \"b\"], scenario = [\"robustness\"], seeds = [0, 1], sample = 200,
      run = \"night\", judge = \"openai:gpt-4o\"; flags on the command line come first

Several models (with commas between them) are asked one after another into the same run, and so are repeats.

The same command goes on where it stopped: instances with a reply are not asked again, failed calls are. With
--reuse a request that has a finished reply in any run of the store is not asked again either (same server, model,
messages, sampling and reply format): the reply is copied with its timing and the run it comes from.
Requests and tokens per minute come from the model's table in the config (rpm, tpm) where no flag gives them.
Calls at a time start at 32 (or --concurrency), rise with success and halve when the server is overloaded.
Ctrl-C once: no new calls, those under way finish. Twice: stop at once; what has come is kept as interrupted.")]
pub struct Args {
    /// Which contexts.
    #[command(flatten)]
    pub grid: GridArgs,

    /// Which model is asked, and how.
    #[command(flatten)]
    pub chat: ModelArgs,

    /// The plan of the sweep: a TOML file whose keys are these flags (models and seeds as lists)
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

/// A sweep with what was planned for it.
struct Part {
    sweep: Sweep,
    plan: Plan,
    price: Option<ModelConfig>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let args = plan_file::fill(args)?;
    let conditions = args.grid.conditions()?;
    let sweeps = prepare(&args, &conditions, environment)?;
    let path = store_file(&environment.paths);
    if args.dry_run {
        let store = match path.exists() {
            true => Some(Store::open_for_reading(&path).map_err(Failure::failed)?),
            false => None,
        };
        let parts = planned(sweeps, store.as_ref())?;
        let estimate = judge::estimate(&args, &parts, store.as_ref(), environment)?;
        if args.json {
            let plans = parts.iter().map(|part| part.json(&conditions)).collect();
            return say_json(&with(
                together(plans),
                "judge_estimate",
                estimate.map(|one| one.json()),
            ));
        }
        parts.iter().try_for_each(Part::show)?;
        return estimate.map_or(Ok(()), |estimate| write_out(&estimate.words()));
    }
    if let Some(folder) = &args.batch_out {
        return batch::write(folder, sweeps, &path, args.json);
    }
    let run = sweeps.first().map(|(sweep, _)| sweep.run.clone());
    let run = run.ok_or_else(|| Failure::Usage("no model is named".to_owned()))?;
    let mut lock = RunLock::take(&path, &run).map_err(Failure::failed)?;
    let store = Store::open(&path).map_err(Failure::failed)?;
    let parts = planned(sweeps, Some(&store))?;
    let estimate = judge::estimate(&args, &parts, Some(&store), environment)?;
    if !args.json {
        parts.iter().try_for_each(Part::show)?;
        estimate
            .iter()
            .try_for_each(|estimate| write_out(&estimate.words()))?;
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
    let stopped = done.iter().any(|one| one.ended.stopped.is_some());
    let judged = match &args.judge {
        Some(judge) if !stopped => Some(judge::stage(judge, &args, &run, &store, environment)?),
        _ => None,
    };
    let all = || parts.iter().zip(&done);
    if args.json {
        let objects = all().map(|(part, one)| {
            let plan = part.json(&conditions);
            show::json(plan, one, part.price.as_ref())
        });
        let object = with(together(objects.collect()), "judge", judged);
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
    all().try_for_each(|(part, one)| verdict(&part.sweep, &one.ended, &one.summary))
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

/// Asks part after part; a part that is stopped early ends the sweep.
fn ask_parts(parts: &[Part], lock: &mut RunLock, store: &Store) -> Result<Vec<PartEnd>, Failure> {
    let mut done = Vec::new();
    for part in parts {
        if parts.len() > 1 {
            note(&part.title());
        }
        let end = ask(part, lock, store)?;
        if end.reused.count() > 0 {
            note(&show::reused(&end.reused));
        }
        let stopped = end.ended.stopped.is_some();
        done.push(end);
        if stopped {
            break;
        }
    }
    Ok(done)
}

/// Everything that the sweeps need, one for each model and repeat; fails before any model is called.
fn prepare(
    args: &Args,
    conditions: &Conditions,
    environment: &Environment,
) -> Result<Vec<(Sweep, Option<ModelConfig>)>, Failure> {
    if args.reuse && (args.batch_out.is_some() || !args.batch_in.is_empty()) {
        return Err(Failure::Usage(
            "--reuse copies replies while a sweep runs, which batch files don't do; leave one of the two out"
                .to_owned(),
        ));
    }
    let config = &environment.config;
    let templates = Arc::new(templates(config.prompts.as_ref())?);
    let dataset = Arc::new(open_dataset(args.grid.dataset.as_deref())?);
    let questions = args.grid.questions(&dataset)?;
    let mut chats: Vec<ModelArgs> = Vec::new();
    for name in args.chat.name(environment).split(',').map(str::trim) {
        let chat = ModelArgs {
            model: Some(name.to_owned()),
            ..args.chat.clone()
        };
        if !chats.iter().any(|other| other.model == chat.model) {
            chats.push(chat);
        }
    }
    let models = chats
        .iter()
        .map(|chat| chat.open(environment))
        .collect::<Result<Vec<_>, _>>()?;
    let company: Vec<String> = models.iter().map(|m| m.identity().name.clone()).collect();
    let run = match &args.run {
        Some(run) => run.clone(),
        None => run::of_parts(&dataset.name, &company)
            .map_err(|why| Failure::Usage(format!("{why}; name one with --run")))?,
    };
    let asked: Vec<AskedModel> = chats
        .iter()
        .zip(&models)
        .map(|(chat, model)| AskedModel {
            model: Arc::clone(model),
            sampling: chat.sampling(environment),
            limits: limits(args, config.models.get(chat.name(environment))),
        })
        .collect();
    let order = Order {
        dataset,
        templates,
        run,
        conditions: conditions.kept.clone(),
        questions,
        repeats: args.repeats.unwrap_or(1),
        concurrency: usize::from(args.concurrency.unwrap_or(CONCURRENCY)),
        only_failed: args.only_failed,
        append: args.append,
        reuse: args.reuse,
    };
    let price = |at: usize| config.models.get(chats[at].name(environment)).cloned();
    let sweeps = order.sweeps(&asked).into_iter();
    Ok(sweeps.map(|(at, sweep)| (sweep, price(at))).collect())
}

/// The limits that the flags give, else the model's own of the config.
fn limits(args: &Args, model: Option<&ModelConfig>) -> Limits {
    Limits {
        requests_per_minute: args.rpm.or(model.and_then(|model| model.rpm)),
        tokens_per_minute: args.tpm.or(model.and_then(|model| model.tpm)),
    }
}

fn planned(
    sweeps: Vec<(Sweep, Option<ModelConfig>)>,
    store: Option<&Store>,
) -> Result<Vec<Part>, Failure> {
    sweeps
        .into_iter()
        .map(|(sweep, price)| {
            let plan = plan_of(&sweep, store)?;
            Ok(Part { sweep, plan, price })
        })
        .collect()
}

impl Part {
    fn cost(&self) -> Cost {
        let what = (self.plan.to_ask(), self.plan.tokens_to_ask());
        Cost::of(
            what,
            self.sweep.sampling.max_tokens,
            prices(self.price.as_ref()),
        )
    }

    fn show(&self) -> Result<(), Failure> {
        write_out(&show::plan(&self.sweep, &self.plan, self.cost()))
    }

    fn title(&self) -> String {
        let seed = match self.sweep.sampling.seed {
            Some(seed) => format!(", sampler's seed {seed}"),
            None => String::new(),
        };
        clean(&format!("{}{seed}", self.sweep.model.identity().name))
    }

    fn json(&self, conditions: &Conditions) -> Value {
        plan_json(&self.sweep, &self.plan, conditions, self.cost())
    }
}

/// The plan; what the user should know is noted on standard error.
fn plan_of(sweep: &Sweep, store: Option<&Store>) -> Result<Plan, Failure> {
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

fn plan_json(sweep: &Sweep, plan: &Plan, conditions: &Conditions, cost: Cost) -> Value {
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
        "requests_per_minute": sweep.limits.requests_per_minute,
        "tokens_per_minute": sweep.limits.tokens_per_minute,
        "reuse": sweep.reuse,
        "questions": sweep.space().question_count(),
        "instances": plan.instances(),
        "done": plan.done(),
        "to_reuse": plan.to_reuse(),
        "to_ask": plan.to_ask(),
        "prompt_tokens_to_ask": plan.tokens_to_ask(),
        "cost_usd_to_ask": cost,
        "left_out": left_out(&conditions.left_out),
        "conditions": plan.conditions,
        "notes": plan.notes,
    })
}

/// Asks what a part's plan says, with progress on standard error.
fn ask(part: &Part, lock: &mut RunLock, store: &Store) -> Result<PartEnd, Failure> {
    let runtime = runtime()?;
    let control = Control::default();
    let mut screen = progress::Screen::new(part.price.as_ref());
    let mut line: Option<Line> = None;
    let end = runtime.block_on(async {
        let signals = stop_on_signals(control.clone());
        let (sweep, plan) = (&part.sweep, &part.plan);
        let end = ask_part(sweep, plan, lock, store, &control, &mut |step| match step {
            Step::TakingOver(done, total) => {
                let line = line.get_or_insert_with(Line::new);
                let _ = line.at("taking replies over", done, total);
            }
            Step::Asking(progress) => {
                line = None;
                screen.show(progress);
            }
        })
        .await;
        if let Some(signals) = signals {
            signals.abort();
        }
        end
    });
    let end = end.map_err(Failure::Failed)?;
    screen.finish(&end.ended.progress);
    Ok(end)
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
    /// A terminal that hangs up, where that is to end the sweep.
    #[cfg(unix)]
    hang_up: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    #[cfg(unix)]
    fn listen() -> Option<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        Some(Signals {
            hang_up: match heeds_hang_up() {
                true => signal(SignalKind::hangup()).ok(),
                false => None,
            },
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
        let hung_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hung_up => {}
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
