//! What a sweep will ask over all datasets, models, seeds and repeats, and its judge.

use serde::Serialize;

use super::judge::Estimate;
use super::prepare::Part;
use crate::data::store::Store;
use crate::domain::cost::Cost;
use crate::domain::pace::duration;
use crate::domain::text::count;
use crate::engine::sweep::{TimeEstimate, estimate_time};

/// Sums over all parts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Totals {
    pub(super) datasets: usize,
    pub(super) models: usize,
    pub(super) repeats: usize,
    pub(super) seeds: usize,
    /// Conditions of all datasets, seeds included.
    pub(super) conditions: usize,
    pub(super) instances: usize,
    pub(super) done: usize,
    pub(super) to_reuse: usize,
    pub(super) to_ask: usize,
    /// Instances that do not fit their model's window: never asked.
    pub(super) too_long: usize,
    /// Questions without anything to compose from, once for each condition.
    pub(super) without: usize,
    /// Contexts with fewer documents than asked for.
    pub(super) short: usize,
    pub(super) prompt_tokens_to_ask: u64,
    pub(super) reply_tokens_at_most: u64,
    /// Of the calls alone.
    pub(super) cost_usd_to_ask: Cost,
    /// Calls, those of the judge included.
    pub(super) calls_with_judge_at_most: usize,
    /// Of all calls, those of the judge included.
    pub(super) cost_usd_with_judge: Cost,
    /// Seconds of the calls without the judge; `None` where nothing is known of one of the models.
    pub(super) seconds: Option<f64>,
    /// Whether they are only what the limits per minute ask for at least.
    pub(super) seconds_at_least: bool,
    /// Earlier replies that the time is taken from.
    pub(super) seconds_by_replies: usize,
    #[serde(skip)]
    pub(super) time: Option<TimeEstimate>,
}

impl Totals {
    pub(super) fn of(parts: &[Part], store: Option<&Store>, judge: Option<&Estimate>) -> Totals {
        let sum = |of: &dyn Fn(&Part) -> usize| parts.iter().map(of).sum::<usize>();
        let cells = |of: &dyn Fn(&crate::engine::sweep::PlannedCondition) -> usize| {
            let all = parts.iter().flat_map(|part| &part.plan.conditions);
            all.map(of).sum::<usize>()
        };
        let cost = parts.iter().map(Part::cost).reduce(Cost::and);
        let cost = cost.unwrap_or_default();
        let sweeps = parts.iter().map(|part| (&part.sweep, &part.plan));
        let time = estimate_time(store, sweeps);
        let to_ask = sum(&|part| part.plan.to_ask());
        let once = |part: &&Part| part.repeat.0 == 1;
        let first_model = parts.first().map(|part| &part.sweep.model.identity().name);
        Totals {
            datasets: distinct(parts, |part| &part.sweep.dataset.fingerprint),
            models: distinct(parts, |part| &part.sweep.model.identity().name),
            repeats: parts.first().map_or(1, |part| part.repeat.1),
            seeds: {
                let all = parts.iter().flat_map(|part| &part.sweep.conditions);
                let mut seeds: Vec<u64> = all.map(|condition| condition.seed).collect();
                seeds.sort_unstable();
                seeds.dedup();
                seeds.len()
            },
            conditions: parts
                .iter()
                .filter(once)
                .filter(|part| Some(&part.sweep.model.identity().name) == first_model)
                .map(|part| part.sweep.conditions.len())
                .sum(),
            instances: sum(&|part| part.plan.instances()),
            done: sum(&|part| part.plan.done()),
            to_reuse: sum(&|part| part.plan.to_reuse()),
            to_ask,
            too_long: sum(&|part| part.plan.too_long()),
            without: cells(&|condition| condition.counts.nothing_to_use),
            short: cells(&|condition| condition.counts.short),
            prompt_tokens_to_ask: parts.iter().map(|part| part.plan.tokens_to_ask()).sum(),
            reply_tokens_at_most: parts
                .iter()
                .map(|part| part.plan.to_ask() as u64 * u64::from(part.sweep.sampling.max_tokens))
                .sum(),
            cost_usd_to_ask: cost,
            calls_with_judge_at_most: to_ask + judge.map_or(0, Estimate::calls),
            cost_usd_with_judge: judge.map_or(cost, |judge| cost.and(judge.cost())),
            seconds: match to_ask {
                0 => Some(0.0),
                _ => time.map(|time| time.seconds),
            },
            seconds_at_least: time.is_some_and(|time| time.at_least),
            seconds_by_replies: time.map_or(0, |time| time.replies),
            time,
        }
    }

    /// The time in words.
    pub(super) fn time_words(&self) -> String {
        let Some(time) = self.time else {
            return match self.to_ask {
                0 => "none: nothing is to be asked".to_owned(),
                _ => {
                    "unknown: no earlier reply of a model is stored, and no limit per minute is set"
                        .to_owned()
                }
            };
        };
        let whole = std::time::Duration::try_from_secs_f64(time.seconds)
            .map_or_else(|_| "centuries".to_owned(), duration);
        let about = if time.at_least { "at least" } else { "about" };
        let by = match (time.per_reply, time.limited) {
            (None, _) => "by the limits per minute".to_owned(),
            (Some(mean), limited) => {
                let limits = if limited {
                    ", no faster than the limits per minute"
                } else {
                    ""
                };
                format!(
                    "by the mean of {}: {mean:.1} s{limits}",
                    count(time.replies, "earlier reply")
                )
            }
        };
        format!("{about} {whole} ({by})")
    }
}

/// How many different values the parts have.
fn distinct<'a>(parts: &'a [Part], of: impl Fn(&'a Part) -> &'a String) -> usize {
    let mut values: Vec<&String> = parts.iter().map(of).collect();
    values.sort_unstable();
    values.dedup();
    values.len()
}
