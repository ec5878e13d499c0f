//! What a change of the context did to the answer.

use serde::Serialize;

use crate::domain::answer::{Outcome, ParsedReply};
use crate::domain::text::count;

/// What the names of other orders mean.
pub const ORDERS: &str = "An order names the documents by their numbers as composed, the one that the model reads first in front.";

/// What a reply says, as far as two replies are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// This option.
    Option(char),
    /// That the information does not suffice.
    Insufficient,
    /// Something else from which no option can be read.
    NoOption(Outcome),
    /// No reply came.
    Unavailable,
}

/// What a reply says; `None` stands for a call that failed.
pub fn said(reply: Option<&ParsedReply>) -> Said {
    match reply {
        None => Said::Unavailable,
        Some(reply) if !reply.outcome.is_reply() => Said::Unavailable,
        Some(reply) => match (reply.outcome, reply.answer) {
            (Outcome::Answered, Some(letter)) => Said::Option(letter),
            (Outcome::Insufficient, _) => Said::Insufficient,
            (other, _) => Said::NoOption(other),
        },
    }
}

impl Said {
    /// Whether something was answered. A refusal, an empty reply, one that is cut off and one that can't be read show
    /// nothing of what the answer hangs on.
    pub fn is_answer(self) -> bool {
        match self {
            Said::Option(_) | Said::Insufficient => true,
            Said::NoOption(outcome) => !outcome.is_unreadable() && outcome != Outcome::Refused,
            Said::Unavailable => false,
        }
    }

    /// In a few words.
    pub fn describe(self) -> String {
        match self {
            Said::Option(letter) => letter.to_string(),
            Said::Insufficient => "insufficient information".into(),
            Said::NoOption(outcome) => outcome.name().replace('_', " "),
            Said::Unavailable => "no reply".into(),
        }
    }
}

/// What a change did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The same is said.
    Same,
    /// Wrong before, right now.
    ToRight,
    /// Right before, wrong now.
    ToWrong,
    /// Another answer, neither of them right.
    OtherWrong,
    /// Several askings of one of both disagree so much that no most frequent answer exists.
    Unsteady,
    /// From the replies of one of both no answer can be read.
    NoAnswer,
    /// One of both has no reply.
    Unavailable,
}

impl Effect {
    /// In a few words; a flip stands out.
    pub fn describe(self) -> &'static str {
        match self {
            Effect::Same => "same",
            Effect::ToRight => "FLIPS to the right answer",
            // What it flips to may be another option, that the information does not suffice, or nothing that can be read.
            Effect::ToWrong => "FLIPS, no longer right",
            Effect::OtherWrong => "FLIPS, still not right",
            Effect::Unsteady => "its replies disagree",
            Effect::NoAnswer => "no answer to compare",
            Effect::Unavailable => "nothing to compare",
        }
    }

    /// Whether the answer flipped.
    pub fn is_flip(self) -> bool {
        matches!(self, Effect::ToRight | Effect::ToWrong | Effect::OtherWrong)
    }

    /// Whether a reader wants to know why: the answer flipped, or there is none.
    pub fn needs_reason(self) -> bool {
        self.is_flip() || matches!(self, Effect::NoAnswer | Effect::Unavailable)
    }
}

/// All replies to one context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// What each asking said, in order.
    pub said: Vec<Said>,
}

impl Tried {
    /// What was said, with how often where there were several askings.
    pub fn describe(&self) -> String {
        let mut seen: Vec<(String, usize)> = Vec::new();
        for said in &self.said {
            let text = said.describe();
            match seen.iter_mut().find(|(known, _)| *known == text) {
                Some((_, times)) => *times += 1,
                None => seen.push((text, 1)),
            }
        }
        let several = self.said.len() > 1;
        let parts: Vec<String> = seen
            .into_iter()
            .map(|(text, times)| match several {
                true => format!("{text} ×{times}"),
                false => text,
            })
            .collect();
        parts.join(", ")
    }

    /// The answer that was given most often; `None` where none was given or two are level.
    pub fn most_frequent(&self) -> Option<Said> {
        let count = |what: Said| self.said.iter().filter(|said| **said == what).count();
        let answers = || self.said.iter().copied().filter(|said| said.is_answer());
        let best = answers().map(count).max()?;
        let mut top: Vec<Said> = Vec::new();
        for what in answers().filter(|what| count(*what) == best) {
            if !top.contains(&what) {
                top.push(what);
            }
        }
        match top.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }

    /// Whether no reply came.
    fn is_silent(&self) -> bool {
        self.said.iter().all(|said| *said == Said::Unavailable)
    }

    /// Whether any reply gives an answer.
    fn is_answered(&self) -> bool {
        self.said.iter().any(|said| said.is_answer())
    }

    /// What the change from `before` did; `gold` is the right option.
    pub fn effect(&self, before: &Tried, gold: char) -> Effect {
        if self.is_silent() || before.is_silent() {
            return Effect::Unavailable;
        }
        if !self.is_answered() || !before.is_answered() {
            return Effect::NoAnswer;
        }
        let right = Said::Option(gold);
        match (before.most_frequent(), self.most_frequent()) {
            (None, _) | (_, None) => Effect::Unsteady,
            (Some(a), Some(b)) if a == b => Effect::Same,
            (Some(a), _) if a == right => Effect::ToWrong,
            (_, Some(b)) if b == right => Effect::ToRight,
            _ => Effect::OtherWrong,
        }
    }
}

/// The verdict over all changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Changes that were tried and answered.
    pub tried: usize,
    /// Changes that flipped the answer.
    pub flips: usize,
    /// Changes without a reply or without a readable answer, or with replies too unsteady to say.
    pub unclear: usize,
    /// The verdict in one or two sentences.
    pub sentence: String,
}

/// Sums up changes: what each is (in a few words), what was said, and its effect.
pub fn verdict(base: &Tried, gold: char, changes: &[(String, Tried, Effect)]) -> Verdict {
    let flips: Vec<&(String, Tried, Effect)> = changes
        .iter()
        .filter(|(_, _, effect)| effect.is_flip())
        .collect();
    let having = |wanted: Effect| changes.iter().filter(|one| one.2 == wanted).count();
    let without = [
        (having(Effect::Unavailable), "no reply"),
        (having(Effect::NoAnswer), "no readable answer"),
        (having(Effect::Unsteady), "replies that disagree"),
    ];
    let unclear = without.iter().map(|(number, _)| number).sum();
    let before = match base.most_frequent() {
        Some(said) if said == Said::Option(gold) => format!("{} (right)", said.describe()),
        Some(said) => format!("{} (the right one is {gold})", said.describe()),
        // Nothing can be said then.
        None => String::new(),
    };
    let tried = changes.len() - unclear;
    let mut sentence = match (tried, flips.len()) {
        _ if base.is_silent() => {
            "Nothing can be said: the context as it is got no reply.".to_owned()
        }
        _ if !base.is_answered() => {
            "Nothing can be said: the context as it is got no readable answer.".to_owned()
        }
        _ if base.most_frequent().is_none() => {
            "Nothing can be said: the replies to the context as it is disagree, with no answer more frequent than the others.".to_owned()
        }
        (0, _) => format!("Nothing can be said of changes: the answer is {before}, but"),
        (_, 0) if unclear == 0 => format!(
            "The answer holds: {before}, whatever is changed ({}).",
            count(tried, "change")
        ),
        (_, 0) => format!(
            "The answer holds: {before}, in {tried} of {};",
            count(changes.len(), "change")
        ),
        (_, flipped) => {
            let listed: Vec<String> = flips
                .iter()
                .take(3)
                .map(|(what, tried, effect)| {
                    let now = tried
                        .most_frequent()
                        .map_or_else(String::new, Said::describe);
                    let how = match effect {
                        Effect::ToRight => " (right)",
                        _ => "",
                    };
                    format!("{what} → {now}{how}")
                })
                .collect();
            let more = match flipped {
                0..=3 => String::new(),
                _ => format!("; and {} more", flipped - 3),
            };
            format!(
                "The answer is {before}; it flips in {flipped} of {tried} changes: {}{more}{}",
                listed.join("; "),
                if unclear == 0 { "." } else { ";" }
            )
        }
    };
    if unclear > 0 && base.most_frequent().is_some() {
        let what = if tried > 0 { "other change" } else { "change" };
        sentence.push_str(&format!(" {}.", without_answer(what, &without)));
    }
    Verdict {
        tried,
        flips: flips.len(),
        unclear,
        sentence,
    }
}

/// Why changes say nothing: how many got what.
fn without_answer(change: &str, without: &[(usize, &str)]) -> String {
    let parts: Vec<String> = without
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{} got {what}", count(*number, change)))
        .collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(said: &[Said]) -> Tried {
        Tried {
            said: said.to_vec(),
        }
    }

    const A: Said = Said::Option('A');
    const B: Said = Said::Option('B');
    const GONE: Said = Said::Unavailable;

    #[test]
    fn the_most_frequent_answer_stands_and_a_tie_is_none() {
        assert_eq!(tried(&[A, B, A]).most_frequent(), Some(A));
        assert_eq!(tried(&[A, B]).most_frequent(), None);
        assert_eq!(tried(&[GONE, GONE, B]).most_frequent(), Some(B));
        assert_eq!(tried(&[GONE]).most_frequent(), None);
    }

    #[test]
    fn effects_are_seen_from_the_right_option() {
        let effect = |before, after, gold| tried(&[after]).effect(&tried(&[before]), gold);
        assert_eq!(effect(A, A, 'A'), Effect::Same);
        assert_eq!(effect(A, B, 'A'), Effect::ToWrong);
        assert_eq!(effect(A, B, 'B'), Effect::ToRight);
        assert_eq!(effect(A, Said::Insufficient, 'C'), Effect::OtherWrong);
        assert_eq!(effect(A, GONE, 'A'), Effect::Unavailable);
        assert_eq!(tried(&[A, B]).effect(&tried(&[A]), 'A'), Effect::Unsteady);
    }

    #[test]
    fn a_reply_that_answers_nothing_flips_nothing() {
        let base = tried(&[A]);
        for outcome in [
            Outcome::Empty,
            Outcome::Truncated,
            Outcome::Unreadable,
            Outcome::Refused,
        ] {
            let blank = Said::NoOption(outcome);
            assert_eq!(tried(&[blank]).effect(&base, 'A'), Effect::NoAnswer);
            assert_eq!(base.effect(&tried(&[blank]), 'A'), Effect::NoAnswer);
            assert_eq!(tried(&[blank, blank, B]).most_frequent(), Some(B));
            let changes = [
                (
                    "without DOC_1".to_owned(),
                    tried(&[blank]),
                    Effect::NoAnswer,
                ),
                ("without DOC_2".to_owned(), tried(&[A]), Effect::Same),
            ];
            let found = super::verdict(&base, 'A', &changes);
            assert_eq!((found.tried, found.flips, found.unclear), (1, 0, 1));
            assert_eq!(
                found.sentence,
                "The answer holds: A (right), in 1 of 2 changes; 1 other change got no readable answer."
            );
            let nothing = super::verdict(&tried(&[blank]), 'A', &changes[..1]);
            assert!(nothing.sentence.ends_with("got no readable answer."));
        }
        // Several options, or one that is not offered, is another answer.
        let several = tried(&[Said::NoOption(Outcome::SeveralOptions)]);
        assert_eq!(several.effect(&base, 'A'), Effect::ToWrong);
    }

    #[test]
    fn the_verdict_names_what_flips_the_answer() {
        let base = tried(&[B]);
        let change = |what: &str, said| {
            let now = tried(&[said]);
            let effect = now.effect(&base, 'A');
            (what.to_owned(), now, effect)
        };
        let all = [
            change("without DOC_1", B),
            change("without DOC_2", A),
            change("without DOC_3", GONE),
        ];
        let verdict = super::verdict(&base, 'A', &all);
        assert_eq!((verdict.tried, verdict.flips, verdict.unclear), (2, 1, 1));
        assert_eq!(
            verdict.sentence,
            "The answer is B (the right one is A); it flips in 1 of 2 changes: without DOC_2 → A (right); 1 other change got no reply."
        );
        let holds = super::verdict(&base, 'B', &all[..1]);
        assert_eq!(
            holds.sentence,
            "The answer holds: B (right), whatever is changed (1 change)."
        );
        let nothing = super::verdict(&base, 'B', &all[2..]);
        assert_eq!(
            nothing.sentence,
            "Nothing can be said of changes: the answer is B (right), but 1 change got no reply."
        );
        let torn = (
            "order 2 1".to_owned(),
            tried(&[A, B]),
            tried(&[A, B]).effect(&base, 'A'),
        );
        let mixed = super::verdict(&base, 'B', &[all[0].clone(), all[2].clone(), torn]);
        assert_eq!(
            mixed.sentence,
            "The answer holds: B (right), in 1 of 3 changes; 1 other change got no reply, 1 other change got replies that disagree."
        );
        // Where the composed context has no answer, the changes are not to blame.
        let silent = super::verdict(&tried(&[GONE]), 'B', &all[..1]);
        assert!(silent.sentence.ends_with("got no reply."));
        let torn = super::verdict(&tried(&[A, B]), 'B', &all[..1]);
        assert!(torn.sentence.contains("as it is disagree"));
    }
}
