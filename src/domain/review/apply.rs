//! A benchmark with what was decided put into effect.

use serde::Serialize;
use serde_json::json;

use crate::domain::build::EditSize;
use crate::domain::context::Pools;
use crate::domain::passage::{Counterfactual, SubQuestion};
use crate::domain::question::Question;
use crate::domain::review::{Content, Item, ItemKind, Verdict, items};

/// The field that says on an item what was decided about it.
const FIELD: &str = "review";

/// What became of the items of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct KindTally {
    /// In as they were.
    pub accepted: usize,
    /// In as a person changed them.
    pub edited: usize,
    /// Out.
    pub rejected: usize,
    /// Nobody has decided: in or out, as was asked for.
    pub undecided: usize,
    /// Out because the sub-question of their document is, decided or not.
    pub without_sub_question: usize,
}

/// What became of all items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// Sub-questions.
    pub sub_questions: KindTally,
    /// Adversarial edits.
    pub edits: KindTally,
}

impl Tally {
    fn of(&mut self, kind: ItemKind) -> &mut KindTally {
        match kind {
            ItemKind::SubQuestion => &mut self.sub_questions,
            ItemKind::Edit => &mut self.edits,
        }
    }

    /// Items that nobody has decided.
    pub fn undecided(&self) -> usize {
        self.sub_questions.undecided + self.edits.undecided
    }
}

/// The records of a question that stay.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// Its sub-questions, in the order of the dataset.
    pub sub_questions: Vec<SubQuestion>,
    /// Its adversarial versions, likewise.
    pub counterfactuals: Vec<Counterfactual>,
}

/// Puts into effect what was decided about a question's items. What nobody has decided stays with `keep_undecided`.
/// An adversarial version of a document that has no sub-question left goes too: no scenario could use it.
pub fn apply<'a>(
    question: &Question,
    pools: &Pools<'_>,
    decided: impl Fn(&Item) -> Option<&'a Verdict>,
    keep_undecided: bool,
    tally: &mut Tally,
) -> Applied {
    let mut applied = Applied::default();
    let mut all = items(question, pools);
    // In the order of the files, and sub-questions first: versions hang on them.
    all.sort_by_key(|item| (item.kind(), item.at));
    for item in &all {
        let verdict = decided(item);
        let content = match verdict {
            Some(verdict) => verdict.content(&item.content),
            None => keep_undecided.then_some(&item.content),
        };
        // Only what was taken away is missed: some benchmarks have versions without sub-questions.
        let had = pools
            .sub_questions
            .iter()
            .any(|sub| sub.doc_id == item.doc_id);
        let has = applied
            .sub_questions
            .iter()
            .any(|sub| sub.doc_id == item.doc_id);
        let orphan = item.kind() == ItemKind::Edit && had && !has;
        let count = tally.of(item.kind());
        match verdict {
            Some(Verdict::Rejected { .. }) => count.rejected += 1,
            // An undecided one that is left out goes for that alone.
            Some(_) if orphan => count.without_sub_question += 1,
            None if orphan && keep_undecided => count.without_sub_question += 1,
            None => count.undecided += 1,
            Some(Verdict::Accepted) => count.accepted += 1,
            Some(Verdict::Edited(_)) => count.edited += 1,
        }
        if let Some(content) = content.filter(|_| !orphan) {
            put(&mut applied, item, content, verdict, pools);
        }
    }
    applied
}

fn put(
    applied: &mut Applied,
    item: &Item,
    content: &Content,
    verdict: Option<&Verdict>,
    pools: &Pools<'_>,
) {
    let mark = verdict.map_or("undecided", Verdict::name);
    match content {
        Content::SubQuestion { question, answer } => {
            let Some(own) = pools.sub_questions.get(item.at) else {
                return;
            };
            let mut sub = own.clone();
            question.clone_into(&mut sub.question);
            answer.clone_into(&mut sub.answer);
            sub.extra.insert(FIELD.to_owned(), json!(mark));
            applied.sub_questions.push(sub);
        }
        Content::Edit { planted, text } => {
            let Some(own) = pools.counterfactuals.get(item.at) else {
                return;
            };
            let mut version = own.clone();
            planted.clone_into(&mut version.new_answer);
            text.clone_into(&mut version.edited_document);
            let original = pools.signal.iter().find(|one| one.id == item.doc_id);
            if let (Some(original), true) = (original, version.extra.contains_key("edit_ratio")) {
                version.extra.insert(
                    "edit_ratio".to_owned(),
                    json!(EditSize::of(&original.content, text).rounded()),
                );
            }
            version.extra.insert(FIELD.to_owned(), json!(mark));
            applied.counterfactuals.push(version);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::review::Reason;
    use crate::domain::review::tests::small;

    #[test]
    fn accepted_and_edited_items_are_in_and_rejected_ones_out_with_what_hangs_on_them() {
        let small = small();
        let out = Verdict::Rejected {
            reason: Reason::Wrong,
            words: String::new(),
        };
        let text = "Hepatocytes keep transferrin for years, while the bone marrow takes what is needed for new cells.";
        let edited = Verdict::Edited(Content::Edit {
            planted: "transferrin".into(),
            text: text.into(),
        });
        let decided = |item: &Item| match (item.doc_id.as_str(), item.kind()) {
            ("d1", ItemKind::SubQuestion) => Some(&out),
            ("d1", ItemKind::Edit) => Some(&Verdict::Accepted),
            ("d2", ItemKind::Edit) => Some(&edited),
            _ => None,
        };
        let mut tally = Tally::default();
        let kept = apply(&small.question, &small.pools(), decided, true, &mut tally);
        assert_eq!(kept.sub_questions.len(), 1);
        assert_eq!(kept.sub_questions[0].extra["review"], "undecided");
        assert_eq!(kept.counterfactuals.len(), 1);
        let version = &kept.counterfactuals[0];
        assert_eq!(version.edited_document, text);
        assert_eq!(version.extra["review"], "edited");
        assert!(
            version.extra["edit_ratio"].as_f64().unwrap() < 0.2,
            "measured anew"
        );
        assert_eq!(
            tally.sub_questions,
            KindTally {
                rejected: 1,
                undecided: 1,
                ..KindTally::default()
            }
        );
        assert_eq!(
            tally.edits,
            KindTally {
                edited: 1,
                without_sub_question: 1,
                ..KindTally::default()
            }
        );
        assert_eq!(tally.undecided(), 1);
        let mut tally = Tally::default();
        let kept = apply(&small.question, &small.pools(), decided, false, &mut tally);
        assert_eq!(
            kept,
            Applied::default(),
            "the edit has no sub-question without it"
        );
    }

    #[test]
    fn the_numbers_say_how_many_items_are_in_and_why_the_others_are_out() {
        let small = small();
        let out = Verdict::Rejected {
            reason: Reason::Wrong,
            words: String::new(),
        };
        // Its edit is left undecided.
        let decided = |item: &Item| match (item.doc_id.as_str(), item.kind()) {
            ("d1", ItemKind::SubQuestion) => Some(&out),
            _ => None,
        };
        for keep in [true, false] {
            let mut tally = Tally::default();
            let kept = apply(&small.question, &small.pools(), decided, keep, &mut tally);
            let undecided = |tally: KindTally| if keep { tally.undecided } else { 0 };
            let inside = |tally: KindTally| tally.accepted + tally.edited + undecided(tally);
            assert_eq!(kept.sub_questions.len(), inside(tally.sub_questions));
            assert_eq!(kept.counterfactuals.len(), inside(tally.edits));
            assert_eq!(tally.edits.without_sub_question, usize::from(keep));
        }
    }
}
