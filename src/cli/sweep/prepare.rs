//! Everything that sweeps need, one for each dataset, model and repeat, before any model is called.

use std::sync::Arc;

use super::{Args, CONCURRENCY};
use crate::cli::Failure;
use crate::cli::audit::prices;
use crate::cli::chat::ModelArgs;
use crate::cli::common::{Environment, templates};
use crate::cli::grid::Chosen;
use crate::config::ModelConfig;
use crate::domain::context::{ComposeError, Condition};
use crate::domain::cost::Cost;
use crate::domain::run;
use crate::domain::text::clean;
use crate::engine::sweep::{AskedModel, Limits, Noted, Order, Plan, Sweep};

/// Dollars per million prompt and reply tokens, as far as they are known.
pub(super) type Prices = (Option<f64>, Option<f64>);

/// A sweep that is not planned yet.
pub(super) struct Prepared {
    pub(super) sweep: Sweep,
    prices: Prices,
    repeat: (usize, usize),
    left_out: Vec<(Condition, ComposeError)>,
    /// Whether there is another one with another dataset.
    several_datasets: bool,
}

/// A sweep with what was planned for it.
pub(super) struct Part {
    pub(super) sweep: Sweep,
    pub(super) plan: Plan,
    /// Which repeat, from 1, of how many.
    pub(super) repeat: (usize, usize),
    /// Cells of the grid that are impossible.
    pub(super) left_out: Vec<(Condition, ComposeError)>,
    prices: Prices,
    several_datasets: bool,
}

impl Prepared {
    pub(super) fn part(self, plan: Plan) -> Part {
        Part {
            plan,
            sweep: self.sweep,
            repeat: self.repeat,
            left_out: self.left_out,
            prices: self.prices,
            several_datasets: self.several_datasets,
        }
    }
}

impl Part {
    /// What its calls are predicted to cost.
    pub(super) fn cost(&self) -> Cost {
        let what = (self.plan.to_ask(), self.plan.tokens_to_ask());
        Cost::of(what, self.sweep.sampling.max_tokens, self.prices)
    }

    pub(super) fn prices(&self) -> Prices {
        self.prices
    }

    /// What tells it from the others: dataset, model, repeat.
    pub(super) fn title(&self) -> String {
        let mut title = self.sweep.model.identity().name.clone();
        if self.several_datasets {
            title = format!("{}, {title}", self.sweep.dataset.name);
        }
        if self.repeat.1 > 1 {
            title += &format!(", repeat {} of {}", self.repeat.0, self.repeat.1);
        }
        if let Some(seed) = self.sweep.sampling.seed {
            title += &format!(", sampler's seed {seed}");
        }
        clean(&title)
    }
}

/// The sweeps in the order in which they are asked: dataset after dataset, of each model after model, of each all
/// repeats. Fails before any model is called.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub(super) fn prepare(args: &Args, environment: &Environment) -> Result<Vec<Prepared>, Failure> {
    if args.reuse && (args.batch_out.is_some() || !args.batch_in.is_empty()) {
        return Err(Failure::Usage(
            "--reuse copies replies while a sweep runs, which batch files don't do; leave one of the two out"
                .to_owned(),
        ));
    }
    let config = &environment.config;
    let templates = Arc::new(templates(config.prompts.as_ref())?);
    let chats = chats(args, environment);
    let repeats = args.repeats.unwrap_or(1);
    let chosen = args
        .grid
        .chosen(chats.len().saturating_mul(usize::from(repeats)))?;
    let models = chats
        .iter()
        .map(|chat| chat.open(environment))
        .collect::<Result<Vec<_>, _>>()?;
    let company: Vec<String> = models.iter().map(|m| m.identity().name.clone()).collect();
    let run = run_of(args, &chosen, &company)?;
    let asked: Vec<AskedModel> = chats
        .iter()
        .zip(&models)
        .map(|(chat, model)| {
            let limits = limits(args, config.models.get(chat.name(environment)));
            AskedModel::new(Arc::clone(model), chat.sampling(environment), limits)
        })
        .collect();
    let datasets: Vec<String> = chosen
        .iter()
        .map(|one| one.dataset.fingerprint.clone())
        .collect();
    let price = |at: usize| prices(config.models.get(chats[at].name(environment)));
    let mut prepared = Vec::new();
    for one in chosen {
        let order = Order {
            dataset: Arc::new(one.dataset),
            templates: Arc::clone(&templates),
            run: run.clone(),
            datasets: datasets.clone(),
            noted: Noted {
                judge: args.judge.clone(),
                limit: args.grid.limit,
                sample: args.grid.sample,
            },
            conditions: one.conditions.kept,
            questions: one.questions,
            repeats,
            concurrency: usize::from(args.concurrency.unwrap_or(CONCURRENCY)),
            only_failed: args.only_failed,
            append: args.append,
            reuse: args.reuse,
        };
        let times = usize::from(repeats.max(1));
        let sweeps = order.sweeps(&asked).into_iter().enumerate();
        prepared.extend(sweeps.map(|(at, (model, sweep))| Prepared {
            sweep,
            prices: price(model),
            repeat: (at % times + 1, times),
            left_out: one.conditions.left_out.clone(),
            several_datasets: datasets.len() > 1,
        }));
    }
    Ok(prepared)
}

/// The models that are named, each once.
fn chats(args: &Args, environment: &Environment) -> Vec<ModelArgs> {
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
    chats
}

/// The run's name: the given one, else that of datasets and models.
fn run_of(args: &Args, chosen: &[Chosen], company: &[String]) -> Result<String, Failure> {
    if let Some(run) = &args.run {
        return Ok(run.clone());
    }
    let names: Vec<&str> = chosen.iter().map(|one| one.dataset.name.as_str()).collect();
    run::of_parts(&names.join("+"), company)
        .map_err(|why| Failure::Usage(format!("{why}; name one with --run")))
}

/// The limits that the flags give, else the model's own of the config.
fn limits(args: &Args, model: Option<&ModelConfig>) -> Limits {
    Limits {
        requests_per_minute: args.rpm.or(model.and_then(|model| model.rpm)),
        tokens_per_minute: args.tpm.or(model.and_then(|model| model.tpm)),
    }
}
