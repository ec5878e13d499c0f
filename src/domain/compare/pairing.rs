//! Which reply of one run belongs to which of the other.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::Hash;

use super::{Cell, LeftOut, Observation, Superseded};
use crate::domain::context::Condition;
use crate::domain::plan;
use crate::domain::score::{Metric, Ratio};

/// Two replies to the same question under the same condition.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pair {
    dataset: String,
    question: String,
    /// The condition without its seed.
    pub(super) cell: Cell,
    pub(super) a: BTreeMap<Metric, Ratio>,
    pub(super) b: BTreeMap<Metric, Ratio>,
    pub(super) different_documents: bool,
    /// Row ids of the two records.
    pub(super) ids: (i64, i64),
    /// The condition, with its seed.
    pub(super) condition: Condition,
}

impl Pair {
    /// Dataset and id of the question: a cluster.
    pub(super) fn question(&self) -> (&str, &str) {
        (&self.dataset, &self.question)
    }
}

/// What one model, with its settings, gave for one question under one condition; draws in order.
type Askings = Vec<Observation>;

/// What a run holds for one question under one condition, by who was asked.
type Side = BTreeMap<String, Askings>;

/// Pairs of two runs, and what was left out.
pub(super) struct Paired {
    pub(super) pairs: Vec<Pair>,
    pub(super) left_out: LeftOut,
    pub(super) superseded: Superseded,
}

/// Pairs replies. Of several records of one request the one counts that also counts in reports; draws with
/// several sampling seeds are paired in their order. Where a run asked several models (or one with several
/// settings) under one condition, only those are paired that are the same in both runs.
pub(super) fn pair_up(a: Vec<Observation>, b: Vec<Observation>) -> Paired {
    let (a, older_a) = counted_once(a);
    let (b, older_b) = counted_once(b);
    let mut slots: BTreeMap<_, (Side, Side)> = BTreeMap::new();
    for observation in a {
        let slot = slots.entry(key(&observation)).or_default();
        add(&mut slot.0, observation);
    }
    for observation in b {
        let slot = slots.entry(key(&observation)).or_default();
        add(&mut slot.1, observation);
    }
    let mut paired = Paired {
        pairs: Vec::new(),
        left_out: LeftOut::default(),
        superseded: Superseded {
            a: older_a,
            b: older_b,
        },
    };
    for (a, b) in slots.into_values().flat_map(|(a, b)| meetings(a, b)) {
        count_left_out(&a, &b, &mut paired.left_out);
        let both = replies(a).zip(replies(b));
        paired
            .pairs
            .extend(both.map(|((first, a), (second, b))| Pair {
                cell: Cell::of(&first.condition),
                different_documents: first.shown != second.shown,
                ids: (first.id, second.id),
                condition: first.condition,
                dataset: first.dataset,
                question: first.question,
                a,
                b,
            }));
    }
    paired
}

fn add(side: &mut Side, observation: Observation) {
    let askings = side.entry(observation.asker.clone()).or_default();
    let at = askings.partition_point(|other| other.draw <= observation.draw);
    askings.insert(at, observation);
}

/// The records that count, and how many others there are.
fn counted_once(run: Vec<Observation>) -> (Vec<Observation>, usize) {
    let requests = run.iter().map(|observation| {
        let request = (
            key(observation),
            observation.asker.clone(),
            observation.draw,
        );
        (request, observation.counts.is_some())
    });
    let chosen: HashSet<usize> = plan::counted(requests).into_iter().collect();
    let all = run.len();
    let kept: Vec<Observation> = run
        .into_iter()
        .enumerate()
        .filter(|(at, _)| chosen.contains(at))
        .map(|(_, observation)| observation)
        .collect();
    let older = all - kept.len();
    (kept, older)
}

/// Who is compared with whom.
fn meetings(mut a: Side, mut b: Side) -> Vec<(Askings, Askings)> {
    if a.len() == 1 && b.len() == 1 {
        let only = |side: Side| side.into_values().next().unwrap_or_default();
        return vec![(only(a), only(b))];
    }
    let askers: BTreeSet<String> = a.keys().chain(b.keys()).cloned().collect();
    askers
        .iter()
        .map(|asker| {
            let of = |side: &mut Side| side.remove(asker).unwrap_or_default();
            (of(&mut a), of(&mut b))
        })
        .collect()
}

fn replies(askings: Askings) -> impl Iterator<Item = (Observation, BTreeMap<Metric, Ratio>)> {
    askings.into_iter().filter_map(|mut observation| {
        let counts = observation.counts.take()?;
        Some((observation, counts))
    })
}

fn key(observation: &Observation) -> impl Ord + Hash + use<> {
    let (scenario, docs, p, mode, source) = Cell::of(&observation.condition).key();
    (
        (scenario, docs, p, mode, source),
        observation.dataset.clone(),
        observation.question.clone(),
        observation.condition.seed,
    )
}

/// Replies without a partner; where both runs have only failed calls, one pair that could not be.
fn count_left_out(a: &Askings, b: &Askings, left_out: &mut LeftOut) {
    let replies = |askings: &Askings| askings.iter().filter(|one| one.counts.is_some()).count();
    let (replies_a, replies_b) = (replies(a), replies(b));
    let (failed_a, failed_b) = (a.len() - replies_a, b.len() - replies_b);
    let missing_in_b = replies_a.saturating_sub(replies_b);
    let missing_in_a = replies_b.saturating_sub(replies_a);
    match failed_b {
        0 => left_out.only_a += missing_in_b,
        _ => left_out.unavailable_b += missing_in_b,
    }
    match failed_a {
        0 => left_out.only_b += missing_in_a,
        _ => left_out.unavailable_a += missing_in_a,
    }
    if replies_a == 0 && replies_b == 0 {
        match (failed_a, failed_b) {
            (_, 0) => left_out.only_a += 1,
            (0, _) => left_out.only_b += 1,
            _ => left_out.unavailable_both += 1,
        }
    }
}
