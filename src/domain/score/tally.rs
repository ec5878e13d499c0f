//! Sums over instances: pooled rates, means over questions, outcomes.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Metric, Ratio, Scores};
use crate::domain::answer::Outcome;
use crate::domain::stats::wilson;

/// Pools the scores of instances of one condition.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Tally {
    /// Instances by outcome.
    pub outcomes: BTreeMap<Outcome, usize>,
    /// Calls that gave no reply at all (network, quota, …), beside those among the outcomes.
    pub failed: usize,
    /// Numerators and denominators added up over all instances (micro).
    pub pooled: BTreeMap<Metric, Ratio>,
    /// Sum of the instances' own rates and number of instances that have one: the mean over questions.
    pub per_question: BTreeMap<Metric, Ratio>,
}

impl Tally {
    /// Adds an instance.
    pub fn add(&mut self, scores: &Scores) {
        self.add_counts(scores.outcome, &scores.counts);
    }

    /// Adds an instance of which only outcome and counts are known.
    pub fn add_counts(&mut self, outcome: Outcome, counts: &BTreeMap<Metric, Ratio>) {
        *self.outcomes.entry(outcome).or_default() += 1;
        if !outcome.is_reply() {
            return;
        }
        for (metric, ratio) in counts {
            self.pooled.entry(*metric).or_default().add(*ratio);
            let mean = self.per_question.entry(*metric).or_default();
            if let Some(rate) = ratio.value() {
                mean.add(Ratio {
                    num: rate,
                    den: 1.0,
                });
            }
        }
    }

    /// Adds a call that gave no reply.
    pub fn add_failed(&mut self) {
        self.failed += 1;
    }

    /// Adds all that another tally holds.
    pub fn merge(&mut self, other: &Tally) {
        for (outcome, count) in &other.outcomes {
            *self.outcomes.entry(*outcome).or_default() += count;
        }
        self.failed += other.failed;
        for (metric, ratio) in &other.pooled {
            self.pooled.entry(*metric).or_default().add(*ratio);
        }
        for (metric, ratio) in &other.per_question {
            self.per_question.entry(*metric).or_default().add(*ratio);
        }
    }

    /// Instances of all kinds.
    pub fn instances(&self) -> usize {
        self.failed + self.outcomes.values().sum::<usize>()
    }

    /// Instances that count in no rate: failed calls, errors saved as replies, broken streams.
    pub fn unavailable(&self) -> usize {
        self.failed + self.count(|outcome| !outcome.is_reply())
    }

    /// Replies: the denominator of the rates over questions.
    pub fn replies(&self) -> usize {
        self.count(Outcome::is_reply)
    }

    /// Replies from which no answer can be read (unreadable, cut off or empty), out of all replies.
    pub fn unreadable(&self) -> Ratio {
        Ratio {
            num: self.count(Outcome::is_unreadable) as f64,
            den: self.replies() as f64,
        }
    }

    /// Replies that chose an option, out of all replies: the coverage of the accuracy when answered.
    pub fn coverage(&self) -> Ratio {
        Ratio {
            num: self.count(|outcome| outcome == Outcome::Answered) as f64,
            den: self.replies() as f64,
        }
    }

    /// The pooled rate; `None` where there is nothing to divide by.
    pub fn rate(&self, metric: Metric) -> Option<f64> {
        self.pooled.get(&metric)?.value()
    }

    /// The mean of the questions' own rates; `None` where no question has one.
    pub fn mean(&self, metric: Metric) -> Option<f64> {
        self.per_question.get(&metric)?.value()
    }

    /// The Wilson interval of a rate over questions. Only for the three main metrics: the others pool
    /// items that hang together within a question and need a bootstrap by question. It takes instances as
    /// independent: where a question was asked several times it is too narrow.
    pub fn interval(&self, metric: Metric) -> Option<(f64, f64)> {
        let ratio = self
            .pooled
            .get(&metric)
            .filter(|_| metric.is_over_questions())?;
        // Counts: whole numbers far below 2^53.
        (ratio.den > 0.0).then(|| wilson(ratio.num as usize, ratio.den as usize))
    }

    fn count(&self, fits: impl Fn(Outcome) -> bool) -> usize {
        self.outcomes
            .iter()
            .filter(|(outcome, _)| fits(**outcome))
            .map(|(_, count)| count)
            .sum()
    }
}
