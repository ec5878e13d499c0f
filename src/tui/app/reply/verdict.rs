//! A reply in one word, and what lists say of several tries.

use crate::data::store::{Brief, ReplyRecord};
use crate::domain::answer::Outcome;

/// A reply in one word, for lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Chose the right option.
    Right,
    /// Chose a wrong one.
    Wrong,
    /// Said that the information does not suffice.
    Insufficient,
    /// Came, but no answer can be read from it.
    Unreadable,
    /// No reply came.
    Unavailable,
}

impl Verdict {
    /// All of them, in the order of lists.
    pub const ALL: [Verdict; 5] = [
        Verdict::Right,
        Verdict::Wrong,
        Verdict::Insufficient,
        Verdict::Unreadable,
        Verdict::Unavailable,
    ];

    /// The verdict on a stored reply of which only the outline is known.
    pub fn of_brief(brief: &Brief) -> Verdict {
        Verdict::from(brief.outcome, brief.correct)
    }

    /// The verdict on a stored reply.
    pub fn of(record: &ReplyRecord) -> Verdict {
        match (&record.parsed, &record.scores) {
            (Some(parsed), Some(scores)) => Verdict::from(parsed.outcome, scores.main_correct),
            _ => Verdict::Unavailable,
        }
    }

    pub(super) fn from(outcome: Outcome, correct: Option<bool>) -> Verdict {
        match outcome {
            Outcome::Insufficient => Verdict::Insufficient,
            Outcome::Answered if correct == Some(true) => Verdict::Right,
            Outcome::Answered => Verdict::Wrong,
            outcome if !outcome.is_reply() => Verdict::Unavailable,
            _ => Verdict::Unreadable,
        }
    }

    /// Whether a reply with this verdict says something about the model.
    pub fn counts(self) -> bool {
        self != Verdict::Unavailable
    }

    /// Mark and word.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Verdict::Right => ("✓", "right"),
            Verdict::Wrong => ("✗", "wrong"),
            Verdict::Insufficient => ("–", "insufficient"),
            Verdict::Unreadable => ("?", "unreadable"),
            Verdict::Unavailable => ("!", "unavailable"),
        }
    }
}

/// What a list says of the tries at a question: one that was stopped does not hide an earlier answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastReply {
    /// The verdict on the newest try which counts, else on the newest.
    pub verdict: Verdict,
    /// Whether a later try was stopped or gave no reply.
    pub later_try: bool,
}

impl LastReply {
    /// Of several tries, newest first.
    pub fn of(tries: impl Iterator<Item = Verdict>) -> Option<LastReply> {
        let mut newest = None;
        for verdict in tries {
            if verdict.counts() {
                let later_try = newest.is_some();
                return Some(LastReply { verdict, later_try });
            }
            newest.get_or_insert(verdict);
        }
        newest.map(|verdict| LastReply {
            verdict,
            later_try: false,
        })
    }

    /// After one more try.
    pub fn after(earlier: Option<LastReply>, verdict: Verdict) -> LastReply {
        match earlier {
            Some(last) if last.verdict.counts() && !verdict.counts() => LastReply {
                later_try: true,
                ..last
            },
            _ => LastReply {
                verdict,
                later_try: false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_try_that_gave_nothing_hides_no_reply_but_is_marked() {
        let last = |verdict, later_try| LastReply { verdict, later_try };
        let of = |tries: &[Verdict]| LastReply::of(tries.iter().copied());
        let (right, wrong, none) = (Verdict::Right, Verdict::Wrong, Verdict::Unavailable);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[none, none]), Some(last(none, false)));
        assert_eq!(of(&[none, right, wrong]), Some(last(right, true)));
        assert_eq!(of(&[wrong, none, right]), Some(last(wrong, false)));
        // One try after the other gives the same.
        for tries in [
            vec![none, none],
            vec![none, right, wrong],
            vec![wrong, none, right],
        ] {
            let one_by_one = tries.iter().rev().fold(None, |earlier, &verdict| {
                Some(LastReply::after(earlier, verdict))
            });
            assert_eq!(one_by_one, of(&tries), "{tries:?}");
        }
    }
}
