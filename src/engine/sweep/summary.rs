//! The figures of a sweep, read back from the store: only what is on disk counts.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::data::store::{Store, StoreError};
use crate::domain::answer::Outcome;
use crate::domain::context::Condition;
use crate::domain::plan::is_counted_reply;
use crate::domain::score::{Metric, Tally};
use crate::engine::sweep::held::counted_entries;
use crate::engine::sweep::{Plan, Sweep};

/// The figures of one condition. Each instance counts once: its last reply, else as unavailable.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConditionSummary {
    /// The condition.
    #[serde(flatten)]
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
    for (place, entry) in counted_entries(sweep, store.entries_of_run(&sweep.run)?) {
        let part = &mut parts[place.condition];
        let scored = store.scores_of(entry.id)?;
        match scored {
            Some((Some(scores), short)) if is_counted_reply(entry.reply_outcome()) => {
                part.tally.add(&scores);
                part.short += usize::from(short);
            }
            _ => {
                part.tally.add_failed();
                *part.unavailable_kinds.entry(entry.outcome).or_default() += 1;
            }
        }
    }
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
    fn finish(self, planned: &crate::engine::sweep::PlannedCondition) -> ConditionSummary {
        let tally = &self.tally;
        let n = tally.replies();
        let count = |metric| {
            let ratio = tally.pooled.get(&metric);
            // Whole numbers far below 2^53.
            ratio.map_or(0, |ratio| ratio.num as usize)
        };
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
            missing: planned.counts.instances.saturating_sub(n),
            short: self.short,
            unavailable_kinds: self.unavailable_kinds,
        }
    }
}
