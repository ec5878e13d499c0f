//! Which reply of one run belongs to which of the other.

use std::collections::BTreeMap;

use super::{Cell, LeftOut, Observation};
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
}

impl Pair {
    /// Dataset and id of the question: a cluster.
    pub(super) fn question(&self) -> (&str, &str) {
        (&self.dataset, &self.question)
    }
}

/// What both runs hold for one question under one condition.
#[derive(Default)]
struct Slot {
    a: Side,
    b: Side,
}

#[derive(Default)]
struct Side {
    replies: Vec<(Observation, BTreeMap<Metric, Ratio>)>,
    failed: usize,
}

impl Side {
    fn add(&mut self, mut observation: Observation) {
        match observation.counts.take() {
            Some(counts) => self.replies.push((observation, counts)),
            None => self.failed += 1,
        }
    }
}

/// Pairs replies, k-th with k-th. A failed call that was made up for by a later one leaves nothing out.
pub(super) fn pair_up(a: Vec<Observation>, b: Vec<Observation>) -> (Vec<Pair>, LeftOut) {
    let mut slots: BTreeMap<_, Slot> = BTreeMap::new();
    for observation in a {
        slots
            .entry(key(&observation))
            .or_default()
            .a
            .add(observation);
    }
    for observation in b {
        slots
            .entry(key(&observation))
            .or_default()
            .b
            .add(observation);
    }
    let mut left_out = LeftOut::default();
    let mut pairs = Vec::new();
    for slot in slots.into_values() {
        count_left_out(&slot, &mut left_out);
        let both = slot.a.replies.into_iter().zip(slot.b.replies);
        pairs.extend(both.map(|((first, a), (second, b))| Pair {
            cell: Cell::of(&first.condition),
            different_documents: first.shown != second.shown,
            dataset: first.dataset,
            question: first.question,
            a,
            b,
        }));
    }
    (pairs, left_out)
}

fn key(observation: &Observation) -> impl Ord + use<> {
    let (scenario, docs, p, mode, source) = Cell::of(&observation.condition).key();
    (
        (scenario, docs, p, mode, source),
        observation.dataset.clone(),
        observation.question.clone(),
        observation.condition.seed,
    )
}

/// Replies without a partner; where both runs have only failed calls, one pair that could not be.
fn count_left_out(slot: &Slot, left_out: &mut LeftOut) {
    let (a, b) = (slot.a.replies.len(), slot.b.replies.len());
    let missing_in_b = a.saturating_sub(b);
    let missing_in_a = b.saturating_sub(a);
    match slot.b.failed {
        0 => left_out.only_a += missing_in_b,
        _ => left_out.unavailable_b += missing_in_b,
    }
    match slot.a.failed {
        0 => left_out.only_b += missing_in_a,
        _ => left_out.unavailable_a += missing_in_a,
    }
    if a == 0 && b == 0 {
        match (slot.a.failed, slot.b.failed) {
            (_, 0) => left_out.only_a += 1,
            (0, _) => left_out.only_b += 1,
            _ => left_out.unavailable_both += 1,
        }
    }
}
