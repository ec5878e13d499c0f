//! Reviewing a benchmark: its items with what the checks find, and the dataset with the decisions put into effect.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::data::dataset::Dataset;
use crate::data::import::{Counts, ImportError, Whole, write_folder};
use crate::data::reviews::{ReviewRow, ReviewShelf, facts};
use crate::domain::report::MEDRGB_DOCUMENTS;
use crate::domain::review::{Found, Item, Settled, Tally, Verdict, apply, findings};

/// Every item of a dataset with the position of its question and what the checks find in it, by what `decided` says of
/// items. An item that stands there twice is given once.
pub fn listing<'a>(
    dataset: &Dataset,
    decided: impl Fn(&Item) -> Option<&'a Verdict>,
) -> Vec<(usize, Found)> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for (at, question) in dataset.questions.iter().enumerate() {
        let found = findings(question, &dataset.pools(&question.id), &decided);
        let new = found
            .into_iter()
            .filter(|one| seen.insert(one.item.id.clone()));
        all.extend(new.map(|one| (at, one)));
    }
    all
}

/// The decisions on a dataset as rows, in the order of its items, the reviewers of an item side by side; behind them
/// those on items that it does not hold (any more). `only` names a reviewer. Gives too how many of the latter there are.
pub fn rows(dataset: &Dataset, shelf: &ReviewShelf, only: Option<&str>) -> (Vec<ReviewRow>, usize) {
    let mut rows = Vec::new();
    let mut written = BTreeSet::new();
    let hands = || {
        shelf
            .books
            .iter()
            .filter(move |(hand, _)| only.is_none_or(|name| name == hand.annotator))
    };
    for question in &dataset.questions {
        let pools = dataset.pools(&question.id);
        for (hand, book) in hands() {
            // What the checks find depends on what this person decided beside it.
            for found in findings(question, &pools, |item| book.verdict(&item.id)) {
                let item = &found.item.id;
                let Some(decision) = book.get(item).filter(|one| !one.is_blank()) else {
                    continue;
                };
                if written.insert((item.clone(), hand)) {
                    let mut row = ReviewRow::new(&dataset.name, item, hand, decision);
                    row.facts = facts(question, &pools, &found);
                    rows.push(row);
                }
            }
        }
    }
    let order: std::collections::HashMap<String, usize> = listing(dataset, |_| None)
        .into_iter()
        .enumerate()
        .map(|(at, (_, found))| (found.item.id, at))
        .collect();
    // Stable: the reviewers of an item stay in their order.
    rows.sort_by_key(|row| order.get(row.item()).copied());
    let held = rows.len();
    for (hand, book) in hands() {
        for (item, decision) in book.decisions() {
            if !order.contains_key(item) {
                rows.push(ReviewRow::new(&dataset.name, item, hand, decision));
            }
        }
    }
    let gone = rows.len() - held;
    (rows, gone)
}

/// How decisions are put into effect.
#[derive(Debug, Clone, Copy)]
pub struct Effect<'a> {
    /// What was decided.
    pub settled: &'a Settled,
    /// Whose decisions they are, for the manifest.
    pub reviewers: &'a [String],
    /// Whether items that nobody has decided stay.
    pub keep_undecided: bool,
    /// Whether a dataset folder that is there may be replaced.
    pub force: bool,
}

/// Counts what putting decisions into effect comes to, and gives the questions with what stays of them.
fn put_into_effect(dataset: &Dataset, effect: &Effect<'_>) -> (Vec<Whole>, Tally) {
    let mut tally = Tally::default();
    let verdicts = &effect.settled.verdicts;
    let wholes = dataset.questions.iter().map(|question| {
        let pools = dataset.pools(&question.id);
        let applied = apply(
            question,
            &pools,
            |item| verdicts.get(&item.id),
            effect.keep_undecided,
            &mut tally,
        );
        let mut question = question.clone();
        // As published it is no longer.
        if question.extra.get("documents").and_then(Value::as_str) == Some(MEDRGB_DOCUMENTS) {
            question.extra.shift_remove("documents");
        }
        Whole {
            question,
            documents: pools.signal.to_vec(),
            sub_questions: applied.sub_questions,
            counterfactuals: applied.counterfactuals,
        }
    });
    let wholes: Vec<Whole> = wholes.collect();
    (wholes, tally)
}

/// Writes the dataset with the decisions put into effect as a folder of its own.
///
/// # Errors
/// [`ImportError`] where the folder can't be written; then nothing is there.
pub fn write(
    dataset: &Dataset,
    effect: &Effect<'_>,
    out: &Path,
) -> Result<(Counts, Tally), ImportError> {
    let (wholes, tally) = put_into_effect(dataset, effect);
    let manifest = Map::from_iter([
        ("name".to_owned(), json!(crate::data::dataset::name_of(out))),
        ("documents".to_owned(), json!("medrgb build review")),
        (
            "review".to_owned(),
            json!({
                "program": concat!("medrgb ", env!("CARGO_PKG_VERSION")),
                "of": dataset.name,
                "of_fingerprint": dataset.fingerprint,
                "reviewers": effect.reviewers,
                "items": tally,
                "disputed": effect.settled.disputed.len(),
                "undecided": match effect.keep_undecided { true => "kept", false => "left out" },
            }),
        ),
    ]);
    let counts = write_folder(out, effect.force, wholes.into_iter(), manifest)?;
    Ok((counts, tally))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::review::ItemKind;

    #[test]
    fn every_item_of_the_sample_is_listed_and_clean() {
        let dataset = Dataset::sample().unwrap();
        let all = listing(&dataset, |_| None);
        let of = |kind| {
            all.iter()
                .filter(|(_, one)| one.item.kind() == kind)
                .count()
        };
        assert_eq!((of(ItemKind::SubQuestion), of(ItemKind::Edit)), (320, 320));
        assert!(all.iter().all(|(_, one)| one.issues.is_empty()));
    }

    #[test]
    fn a_dataset_without_decisions_is_written_as_it_was() {
        let dataset = Dataset::sample().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("reviewed");
        let settled = Settled::default();
        let mut effect = Effect {
            settled: &settled,
            reviewers: &[],
            keep_undecided: true,
            force: false,
        };
        let (counts, tally) = write(&dataset, &effect, &out).unwrap();
        assert_eq!((counts.sub_questions, counts.counterfactuals), (320, 320));
        assert_eq!(tally.undecided(), 640);
        let back = Dataset::open(&out).unwrap();
        assert_eq!(back.problems, Vec::<String>::new());
        assert_eq!(back.questions, dataset.questions);
        let ids = |set: &Dataset| -> Vec<String> {
            let all = listing(set, |_| None).into_iter();
            all.map(|(_, found)| found.item.id).collect()
        };
        assert_eq!(ids(&back), ids(&dataset));
        let refused = write(&dataset, &effect, &out).unwrap_err().to_string();
        assert!(refused.contains("exists already"), "{refused}");
        effect.force = true;
        effect.keep_undecided = false;
        let (counts, _) = write(&dataset, &effect, &out).unwrap();
        assert_eq!((counts.documents, counts.sub_questions), (320, 0));
    }
}
