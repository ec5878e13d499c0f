//! A cell: the rate of a measure over the askings of one model under one condition.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::domain::answer::Outcome;
use crate::domain::report::interval::clustered_bootstrap;
use crate::domain::report::{Measure, Observation};
use crate::domain::score::Ratio;
use crate::domain::stats::wilson;

/// How an interval was worked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IntervalKind {
    /// Wilson's, for one yes or no per question.
    Wilson,
    /// Bootstrap clustered by question.
    Bootstrap,
}

/// A rate with all that is needed to judge it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// The rate, 0 to 1; `None` where there is nothing to divide by.
    pub value: Option<f64>,
    /// Lower end of the interval at 95 %.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// How the interval was worked out.
    pub interval: Option<IntervalKind>,
    /// What the rate is divided by (replies, documents or sub-questions); `None` for published figures.
    pub n: Option<f64>,
    /// Different questions in the rate.
    pub questions: Option<usize>,
    /// Mean of the questions' own rates, 0 to 1.
    pub question_mean: Option<f64>,
    /// Share of the replies that can't be read, 0 to 1; they count as wrong.
    pub unreadable: Option<f64>,
    /// Calls without a reply; they count in no rate.
    pub unavailable: Option<usize>,
    /// Askings with fewer documents than asked for.
    pub short: Option<usize>,
    /// The paper's figure for the same, 0 to 1.
    pub published: Option<f64>,
    /// Rate less published figure.
    pub difference: Option<f64>,
}

impl Cell {
    /// A published figure by itself.
    pub(super) fn published(value: f64) -> Cell {
        Cell {
            value: Some(value),
            low: None,
            high: None,
            interval: None,
            n: None,
            questions: None,
            question_mean: None,
            unreadable: None,
            unavailable: None,
            short: None,
            published: None,
            difference: None,
        }
    }

    /// Puts the paper's figure beside the rate.
    pub(super) fn compare(&mut self, published: f64) {
        self.published = Some(published);
        self.difference = self.value.map(|value| value - published);
    }
}

/// The cell of a measure over askings under one condition; `None` where the measure applies to none of
/// the replies (though calls that failed alone still give a cell, so that they are seen).
pub(super) fn cell(measure: Measure, askings: &[&Observation]) -> Option<Cell> {
    let mut questions: BTreeMap<(&str, &str), (Ratio, usize)> = BTreeMap::new();
    for asking in askings {
        if let Some(ratio) = measure.of(asking) {
            let key = (&*asking.fingerprint, &*asking.question);
            let (sum, replies) = questions.entry(key).or_default();
            sum.add(ratio);
            *replies += 1;
        }
    }
    let available = askings
        .iter()
        .filter(|asking| asking.is_available())
        .count();
    if questions.is_empty() && available > 0 {
        return None;
    }
    let clusters: Vec<Ratio> = questions.values().map(|(ratio, _)| *ratio).collect();
    let repeated = questions.values().any(|(_, replies)| *replies > 1);
    let mut pooled = Ratio::default();
    let mut mean = Ratio::default();
    for cluster in &clusters {
        pooled.add(*cluster);
        if let Some(rate) = cluster.value() {
            mean.add(Ratio {
                num: rate,
                den: 1.0,
            });
        }
    }
    let (kind, ends) = if measure.is_over_replies() && !repeated {
        // Whole numbers far below 2^53.
        let ends = (pooled.den > 0.0).then(|| wilson(pooled.num as usize, pooled.den as usize));
        (IntervalKind::Wilson, ends)
    } else {
        (IntervalKind::Bootstrap, clustered_bootstrap(&clusters))
    };
    let unreadable = askings
        .iter()
        .filter(|asking| asking.outcome.is_some_and(Outcome::is_unreadable))
        .count();
    Some(Cell {
        value: pooled.value(),
        low: ends.map(|(low, _)| low),
        high: ends.map(|(_, high)| high),
        interval: ends.map(|_| kind),
        n: Some(pooled.den),
        questions: Some(clusters.iter().filter(|cluster| cluster.den > 0.0).count()),
        question_mean: mean.value(),
        unreadable: (available > 0).then(|| unreadable as f64 / available as f64),
        unavailable: Some(askings.len() - available),
        short: Some(askings.iter().filter(|asking| asking.short).count()),
        published: None,
        difference: None,
    })
}
