//! Comparing two runs on the same questions: pairs, rates, differences, tests.

mod lists;
mod pairing;
mod rates;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use serde::Serialize;

use crate::domain::context::{Condition, Mode, Scenario, SourceFilter};
use crate::domain::score::{Metric, Ratio};
use crate::domain::stats::{Resampling, holm};
pub use lists::{Answered, Side, answered};
use pairing::{Pair, Paired, pair_up};
use rates::compare_rates;

/// What a comparison needs to know of one asked instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Row id of the record; 0 for one that is not stored.
    pub id: i64,
    /// Fingerprint of the dataset.
    pub dataset: String,
    /// Id of the question.
    pub question: String,
    /// What was asked for.
    pub condition: Condition,
    /// The model that was asked, with its settings, as one text: equal for the same.
    pub asker: String,
    /// Seed of the sampler, where one was set: repeats of a request differ in it.
    pub draw: Option<u64>,
    /// A digest of the documents that the model saw: equal where they were the same in the same order.
    pub shown: u64,
    /// The metrics with their counts; `None` for a call that gave no reply.
    pub counts: Option<BTreeMap<Metric, Ratio>>,
}

/// Two runs compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Pairs of replies to the same question under the same condition.
    pub pairs: usize,
    /// Different questions among them.
    pub questions: usize,
    /// Pairs in which the two models saw different documents.
    pub different_documents: usize,
    /// What could not be paired, and why.
    pub left_out: LeftOut,
    /// Records for which a newer one of the same request counts.
    pub superseded: Superseded,
    /// Per condition, in the order of the scenarios.
    pub conditions: Vec<ConditionComparison>,
    /// Over all conditions that have the metric.
    pub pooled: BTreeMap<Metric, MetricComparison>,
}

/// Replies without a partner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct LeftOut {
    /// Asked only in the first run.
    pub only_a: usize,
    /// Asked only in the second run.
    pub only_b: usize,
    /// The call of the first run gave no reply.
    pub unavailable_a: usize,
    /// The call of the second run gave no reply.
    pub unavailable_b: usize,
    /// Neither call gave a reply.
    pub unavailable_both: usize,
}

impl LeftOut {
    /// All of them.
    pub fn total(&self) -> usize {
        self.only_a + self.only_b + self.unavailable_a + self.unavailable_b + self.unavailable_both
    }
}

/// Records for which another of the same request stands: its newest reply, else its newest failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Superseded {
    /// In the first run.
    pub a: usize,
    /// In the second run.
    pub b: usize,
}

/// A cell of the grid: a condition without its seed. Runs with several seeds repeat a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// Which test.
    pub scenario: Scenario,
    /// Documents asked for.
    pub docs: usize,
    /// Per cent asked for; 0 in standard, which ignores it and is written with null.
    pub p: f64,
    /// Nested or independent draws.
    pub mode: Mode,
    /// Which documents were allowed.
    pub source: SourceFilter,
}

impl Serialize for Cell {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;
        let mut fields = serializer.serialize_struct("Cell", 5)?;
        fields.serialize_field("scenario", &self.scenario)?;
        fields.serialize_field("docs", &self.docs)?;
        let p = (self.scenario != Scenario::Standard).then_some(self.p);
        fields.serialize_field("p", &p)?;
        fields.serialize_field("mode", &self.mode)?;
        fields.serialize_field("source", &self.source)?;
        fields.end()
    }
}

impl Cell {
    fn of(condition: &Condition) -> Cell {
        Cell {
            scenario: condition.scenario,
            docs: condition.docs,
            p: match condition.scenario {
                Scenario::Standard => 0.0,
                // Adding zero turns -0 into 0.
                _ => condition.p + 0.0,
            },
            mode: condition.mode,
            source: condition.source,
        }
    }

    /// Whether a condition belongs to this cell.
    pub fn holds(&self, condition: &Condition) -> bool {
        *self == Cell::of(condition)
    }

    /// Sorts cells by scenario, n and p.
    fn key(&self) -> (Scenario, usize, u64, &'static str, &'static str) {
        // The bits of numbers that are not negative sort as the numbers do.
        let p = self.p.to_bits();
        (
            self.scenario,
            self.docs,
            p,
            self.mode.name(),
            self.source.name(),
        )
    }
}

/// The metrics of one condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConditionComparison {
    /// Which.
    #[serde(flatten)]
    pub cell: Cell,
    /// Pairs under this condition.
    pub pairs: usize,
    /// Different questions among them.
    pub questions: usize,
    /// The metrics asked for that this condition has.
    pub metrics: BTreeMap<Metric, MetricComparison>,
}

/// One metric on the same questions in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricComparison {
    /// In the first run.
    pub a: Rate,
    /// In the second run.
    pub b: Rate,
    /// Second minus first, as a share; null where either has no rate.
    pub difference: Option<f64>,
    /// Percentile interval of the difference at 95 %: paired bootstrap by question.
    pub difference_interval: Option<(f64, f64)>,
    /// The exact test, for metrics with one right or wrong answer per reply.
    pub mcnemar: Option<McNemar>,
    /// Smallest difference, as a share, that these pairs detect at α = 0.05 two-sided with power 0.8;
    /// null where no difference could be.
    pub detectable_difference: Option<f64>,
}

/// A pooled rate with its interval at 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    /// What counted.
    pub num: f64,
    /// Out of how much.
    pub den: f64,
    /// Their quotient; null where there is nothing to divide by.
    pub rate: Option<f64>,
    /// Low and high end.
    pub interval: Option<(f64, f64)>,
    /// Where the interval comes from.
    pub method: IntervalMethod,
}

/// Where an interval comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IntervalMethod {
    /// Wilson's, for rates over independent questions.
    Wilson,
    /// Percentile bootstrap by question, for items that hang together within a question.
    ClusteredBootstrap,
}

/// McNemar's exact test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct McNemar {
    /// Pairs in which only the first run fits (for accuracy: only it is right). Where a question was asked
    /// several times, questions on which the first run fits more often: pairs of one question are not
    /// independent, so each question has one vote (the sign test).
    pub b: u64,
    /// The same for the second run.
    pub c: u64,
    /// What `b` and `c` count.
    pub unit: Unit,
    /// Two-sided p value of this condition alone.
    pub p: f64,
    /// The p value adjusted by Holm's method for the conditions compared in this metric; null for the
    /// pooled comparison, which is one look.
    pub p_holm: Option<f64>,
}

/// What a test counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// One pair per question.
    Pairs,
    /// Questions that were asked several times.
    Questions,
}

/// Compares two runs in these metrics. Only replies available on both sides count, paired by dataset,
/// question and condition (seed included); of several records of one request the newest reply counts.
pub fn compare(
    a: Vec<Observation>,
    b: Vec<Observation>,
    metrics: &[Metric],
    plan: Resampling,
) -> Comparison {
    compare_watched(a, b, metrics, plan, &mut |_, _| {})
}

/// [`compare()`], which says how many of how many metrics are done, each condition's counted apart.
pub fn compare_watched(
    a: Vec<Observation>,
    b: Vec<Observation>,
    metrics: &[Metric],
    plan: Resampling,
    progress: &mut dyn FnMut(usize, usize),
) -> Comparison {
    let Paired {
        pairs,
        left_out,
        superseded,
    } = pair_up(a, b);
    let all: Vec<&Pair> = pairs.iter().collect();
    let mut cells: BTreeMap<_, Vec<&Pair>> = BTreeMap::new();
    for pair in &pairs {
        cells.entry(pair.cell.key()).or_default().push(pair);
    }
    let mut groups: Vec<Vec<&Pair>> = cells.into_values().collect();
    // Where there is one condition the pool is the same pairs.
    let is_pooled_apart = groups.len() != 1;
    if is_pooled_apart {
        groups.push(pairs.iter().collect());
    }
    let mut compared = in_metrics(&groups, metrics, plan, progress);
    let pooled = match is_pooled_apart {
        true => compared.pop(),
        false => compared.first().cloned(),
    };
    let mut conditions: Vec<ConditionComparison> = groups
        .iter()
        .zip(compared)
        .filter_map(|(pairs, metrics)| {
            Some(ConditionComparison {
                cell: pairs.first()?.cell,
                pairs: pairs.len(),
                questions: questions(pairs),
                metrics,
            })
        })
        .collect();
    for metric in metrics {
        adjust(&mut conditions, *metric);
    }
    Comparison {
        pairs: pairs.len(),
        questions: questions(&all),
        different_documents: pairs.iter().filter(|pair| pair.different_documents).count(),
        left_out,
        superseded,
        conditions,
        pooled: pooled.unwrap_or_default(),
    }
}

fn questions(pairs: &[&Pair]) -> usize {
    let mut questions: Vec<(&str, &str)> = pairs.iter().map(|pair| pair.question()).collect();
    questions.sort_unstable();
    questions.dedup();
    questions.len()
}

/// The metrics of every group of pairs, on all cores: each bootstrap has a stream of its own, so that figures do
/// not depend on who computes them.
fn in_metrics(
    groups: &[Vec<&Pair>],
    metrics: &[Metric],
    plan: Resampling,
    progress: &mut dyn FnMut(usize, usize),
) -> Vec<BTreeMap<Metric, MetricComparison>> {
    let tasks: Vec<(usize, Metric)> = (0..groups.len())
        .flat_map(|group| metrics.iter().map(move |metric| (group, *metric)))
        .collect();
    let mut compared = vec![BTreeMap::new(); groups.len()];
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(tasks.len()) {
            let (sender, next, tasks) = (sender.clone(), &next, &tasks);
            scope.spawn(move || {
                while let Some((group, metric)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let rates = compare_rates(&groups[*group], *metric, plan);
                    if sender.send((*group, *metric, rates)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        progress(0, tasks.len());
        for (done, (group, metric, rates)) in receiver.iter().enumerate() {
            compared[group].extend(rates.map(|rates| (metric, rates)));
            progress(done + 1, tasks.len());
        }
    });
    compared
}

/// Adjusts the p values of one metric for the number of conditions.
fn adjust(conditions: &mut [ConditionComparison], metric: Metric) {
    let mut tests: Vec<&mut McNemar> = conditions
        .iter_mut()
        .filter_map(|condition| condition.metrics.get_mut(&metric)?.mcnemar.as_mut())
        .collect();
    let p_values: Vec<f64> = tests.iter().map(|test| test.p).collect();
    for (test, adjusted) in tests.iter_mut().zip(holm(&p_values)) {
        test.p_holm = Some(adjusted);
    }
}
