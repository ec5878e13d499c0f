//! Pairs of replies one by one: who is right, for lists that a person looks through.

use std::collections::BTreeMap;

use crate::domain::compare::Observation;
use crate::domain::compare::pairing::{Pair, pair_up};
use crate::domain::context::Condition;
use crate::domain::score::{Metric, Ratio};

/// Two replies to the same question under the same condition, by who chose the right option.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// Id of the question.
    pub question: String,
    /// The condition.
    pub condition: Condition,
    /// Row ids of the two records.
    pub records: (i64, i64),
    /// Who is right.
    pub side: Side,
}

/// Who of two chose the right option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The first alone.
    OnlyA,
    /// The second alone.
    OnlyB,
    /// Neither.
    Neither,
    /// Both.
    Both,
}

impl Side {
    /// All of them: the flips first, since they are what two runs differ in.
    pub const ALL: [Side; 4] = [Side::OnlyA, Side::OnlyB, Side::Neither, Side::Both];

    /// In a few words.
    pub fn describe(self) -> &'static str {
        match self {
            Side::OnlyA => "only A right",
            Side::OnlyB => "only B right",
            Side::Neither => "both wrong",
            Side::Both => "both right",
        }
    }
}

/// The pairs that [`compare`](super::compare) pairs too, one by one, in the order of conditions. Pairs without
/// an accuracy on both sides are left out.
pub fn answered(a: Vec<Observation>, b: Vec<Observation>) -> Vec<Answered> {
    let pairs = pair_up(a, b).pairs;
    pairs.into_iter().filter_map(of).collect()
}

fn of(pair: Pair) -> Option<Answered> {
    let is_right = |counts: &BTreeMap<Metric, Ratio>| {
        let ratio = counts.get(&Metric::MainAccuracy)?;
        Some(ratio.num > 0.0)
    };
    let side = match (is_right(&pair.a)?, is_right(&pair.b)?) {
        (true, false) => Side::OnlyA,
        (false, true) => Side::OnlyB,
        (false, false) => Side::Neither,
        (true, true) => Side::Both,
    };
    Some(Answered {
        question: pair.question().1.to_owned(),
        condition: pair.condition,
        records: pair.ids,
        side,
    })
}
