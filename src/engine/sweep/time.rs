//! How long a sweep will take: by earlier replies of its models, and by what their providers allow a minute.

use crate::data::store::{RunSummary, Store};
use crate::engine::sweep::{Plan, Sweep};

/// Calls at a time that a sweep starts with at most.
const FIRST_CALLS: usize = 32;

/// Runs that are looked through for earlier replies of a model.
const RUNS_TIMED: usize = 4;

/// How long the calls of planned sweeps will take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeEstimate {
    /// Mean seconds of an earlier reply; `None` where none of these models is stored.
    pub per_reply: Option<f64>,
    /// Replies that this is taken from.
    pub replies: usize,
    /// Seconds for all calls.
    pub seconds: f64,
    /// Whether it may take longer: only the limits per minute of one of the models are known.
    pub at_least: bool,
    /// Whether the limits per minute decide it, for one of the models at least.
    pub limited: bool,
}

/// How long the calls will take by the newest runs that hold replies of the models, as many at a time as a sweep starts
/// with, and no faster than the limits per minute allow; `None` where nothing is known of one of the models, and where
/// nothing is to be asked.
pub fn estimate_time<'a>(
    store: Option<&Store>,
    sweeps: impl IntoIterator<Item = (&'a Sweep, &'a Plan)>,
) -> Option<TimeEstimate> {
    let runs = store
        .and_then(|store| store.runs().ok())
        .unwrap_or_default();
    let mut known: Vec<(String, Vec<f64>)> = Vec::new();
    let mut estimate = TimeEstimate {
        per_reply: None,
        replies: 0,
        seconds: 0.0,
        at_least: false,
        limited: false,
    };
    let mut calls = 0;
    for (sweep, plan) in sweeps.into_iter().filter(|(_, plan)| plan.to_ask() > 0) {
        calls += plan.to_ask();
        let name = &sweep.model.identity().name;
        if !known.iter().any(|(model, _)| model == name) {
            let seconds = store.map_or_else(Vec::new, |store| seconds_of(store, &runs, name));
            known.push((name.clone(), seconds));
        }
        let (_, seconds) = known.iter().find(|(model, _)| model == name)?;
        let by_replies = mean(seconds).map(|per_reply| {
            let at_once = sweep.ceiling().min(FIRST_CALLS);
            per_reply * plan.to_ask() as f64 / at_once as f64
        });
        let by_limits = limited(sweep, plan);
        estimate.at_least |= by_replies.is_none();
        estimate.limited |= by_limits > by_replies;
        estimate.seconds += by_replies.into_iter().chain(by_limits).reduce(f64::max)?;
    }
    let all: Vec<f64> = known.into_iter().flat_map(|(_, seconds)| seconds).collect();
    estimate.replies = all.len();
    estimate.per_reply = mean(&all);
    (calls > 0).then_some(estimate)
}

fn mean(seconds: &[f64]) -> Option<f64> {
    (!seconds.is_empty()).then(|| seconds.iter().sum::<f64>() / seconds.len() as f64)
}

/// Seconds that the limits per minute ask for, where there are any.
fn limited(sweep: &Sweep, plan: &Plan) -> Option<f64> {
    let (calls, limits) = (plan.to_ask() as f64, sweep.limits);
    let tokens = plan.tokens_to_ask() as f64 + calls * f64::from(sweep.sampling.max_tokens);
    let minutes = |amount: f64, limit: Option<u32>| limit.map(|limit| amount / f64::from(limit));
    let of_both = [
        minutes(calls, limits.requests_per_minute),
        minutes(tokens, limits.tokens_per_minute),
    ];
    let minutes = of_both.into_iter().flatten().reduce(f64::max)?;
    Some(60.0 * minutes)
}

/// What earlier replies of a model took, in seconds.
fn seconds_of(store: &Store, runs: &[RunSummary], model: &str) -> Vec<f64> {
    let of_model = runs
        .iter()
        .filter(|run| run.models.iter().any(|name| name == model));
    let mut seconds = Vec::new();
    for run in of_model.take(RUNS_TIMED) {
        let Ok(page) = store.page_of_run(&run.name, 0) else {
            continue;
        };
        let replies = page.records.iter().filter(|one| one.model_name == model);
        seconds.extend(replies.filter_map(|record| {
            let total = record.reply.get("timing")?.get("total_ms")?.as_f64()?;
            Some(total / 1000.0)
        }));
    }
    seconds
}
