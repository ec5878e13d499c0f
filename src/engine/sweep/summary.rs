//! The figures of a sweep, read back from the store: only what is on disk counts.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::data::store::{EntryScores, RunEntry, Store, StoreError};
use crate::domain::answer::Outcome;
use crate::domain::context::{Condition, serialize_shown};
use crate::domain::score::{Metric, Tally};
use crate::engine::survey::Place;
use crate::engine::sweep::held::counted_entries;
use crate::engine::sweep::{Plan, Sweep};

/// The figures of one condition. Each instance counts once: its last reply, else as unavailable.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConditionSummary {
    /// The condition.
    #[serde(flatten, serialize_with = "serialize_shown")]
    pub condition: Condition,
    /// Instances that can be asked.
    pub instances: usize,
    /// Questions that have nothing to compose from.
    pub nothing_to_use: usize,
    /// Replies: the denominator of the accuracy.
    pub n: usize,
    /// Replies with the right option.
    pub correct: usize,
    /// `correct / n`; `None` without a reply.
    pub accuracy: Option<f64>,
    /// Wilson's 95 % interval of the accuracy.
    pub interval: Option<(f64, f64)>,
    /// Replies that say the information does not suffice; not right.
    pub insufficient: usize,
    /// Replies from which no answer can be read; wrong.
    pub unreadable: usize,
    /// Instances that were asked and have no reply; in no rate.
    pub unavailable: usize,
    /// Instances without a reply, whether asked or not: `instances - n`.
    pub missing: usize,
    /// Of these, instances whose prompt does not fit the model's window: they can't be asked.
    pub too_long: usize,
    /// Replies to contexts with fewer documents than asked for.
    pub short: usize,
    /// Instances without a reply by outcome (`failed:KIND`, `interrupted` …).
    pub unavailable_kinds: BTreeMap<String, usize>,
}

/// The figures of a sweep.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Summary {
    /// By condition, in the sweep's order.
    pub conditions: Vec<ConditionSummary>,
}

impl Summary {
    /// Replies of all conditions.
    pub fn replies(&self) -> usize {
        self.conditions.iter().map(|c| c.n).sum()
    }

    /// Instances without a reply.
    pub fn missing(&self) -> usize {
        self.conditions.iter().map(|c| c.missing).sum()
    }

    /// Instances without a reply that can't be asked, since their prompts do not fit the model's window.
    pub fn too_long(&self) -> usize {
        self.conditions.iter().map(|c| c.too_long).sum()
    }

    /// Instances without a reply that the sweep asks when it goes on.
    pub fn left(&self) -> usize {
        self.missing() - self.too_long()
    }

    /// Instances that were asked and have no reply.
    pub fn unavailable(&self) -> usize {
        self.conditions.iter().map(|c| c.unavailable).sum()
    }
}

/// Sums up what the run holds of the sweep.
///
/// # Errors
/// [`StoreError`] when the store can't be read.
pub fn summarise(sweep: &Sweep, plan: &Plan, store: &Store) -> Result<Summary, StoreError> {
    let mut parts: Vec<Part> = plan.conditions.iter().map(|_| Part::default()).collect();
    let mut counted: HashMap<i64, (Place, RunEntry)> =
        counted_entries(sweep, store.entries_of_run(&sweep.run)?)
            .into_iter()
            .map(|(place, entry)| (entry.id, (place, entry)))
            .collect();
    store.visit_scores(&sweep.run, &mut |scores| {
        if let Some((place, entry)) = counted.remove(&scores.id)
            && let Some(part) = parts.get_mut(place.condition)
        {
            part.add(&entry, &scores);
        }
    })?;
    Ok(Summary {
        conditions: plan
            .conditions
            .iter()
            .zip(parts)
            .map(|(planned, part)| part.finish(planned))
            .collect(),
    })
}

#[derive(Default)]
struct Part {
    tally: Tally,
    short: usize,
    unavailable_kinds: BTreeMap<String, usize>,
}

impl Part {
    fn add(&mut self, entry: &RunEntry, scores: &EntryScores) {
        match entry.reply_outcome() {
            Some(outcome) if outcome.is_reply() && !scores.counts.is_empty() => {
                self.tally.add_counts(outcome, &scores.counts);
                self.short += usize::from(scores.short);
            }
            _ => {
                self.tally.add_failed();
                let kind = entry.outcome.to_string();
                *self.unavailable_kinds.entry(kind).or_default() += 1;
            }
        }
    }

    fn finish(self, planned: &crate::engine::sweep::PlannedCondition) -> ConditionSummary {
        let tally = &self.tally;
        let n = tally.replies();
        let count = |metric| {
            let ratio = tally.pooled.get(&metric);
            // Whole numbers far below 2^53.
            ratio.map_or(0, |ratio| ratio.num as usize)
        };
        let missing = planned.counts.instances.saturating_sub(n);
        ConditionSummary {
            condition: planned.counts.condition,
            instances: planned.counts.instances,
            nothing_to_use: planned.counts.nothing_to_use,
            n,
            correct: count(Metric::MainAccuracy),
            accuracy: tally.rate(Metric::MainAccuracy),
            interval: tally.interval(Metric::MainAccuracy),
            insufficient: tally
                .outcomes
                .get(&Outcome::Insufficient)
                .copied()
                .unwrap_or(0),
            unreadable: tally.unreadable().num as usize,
            unavailable: tally.unavailable(),
            missing,
            too_long: planned.too_long.min(missing),
            short: self.short,
            unavailable_kinds: self.unavailable_kinds,
        }
    }
}
