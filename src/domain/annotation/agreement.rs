//! How far annotators agree, label by label.

use std::collections::BTreeSet;

use crate::domain::annotation::{Annotation, Book, Taxonomy};
use crate::domain::stats::{Agreement, cohen, fleiss};

/// How often a label was given, and how far annotators agree on it.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelAgreement {
    /// The label's id.
    pub label: String,
    /// Replies to which each annotator gave it, in the order of the annotators.
    pub given: Vec<usize>,
    /// Replies on which all annotators say the same of it.
    pub same: usize,
    /// Agreement and kappa over the replies that all annotators finished; `None` without any.
    pub agreement: Option<Agreement>,
}

/// Cohen's kappa of two of the annotators on one label.
#[derive(Debug, Clone, PartialEq)]
pub struct Overlap {
    /// The two annotators.
    pub annotators: (String, String),
    /// Replies that both finished.
    pub items: usize,
    /// By label, in the order of the labels; `None` without a reply that both finished.
    pub labels: Vec<(String, Option<Agreement>)>,
}

/// How far the annotators of a run agree.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreed {
    /// The annotators, sorted.
    pub annotators: Vec<String>,
    /// Replies that each of them finished.
    pub finished: Vec<usize>,
    /// Replies that all of them finished: what the agreement is measured on.
    pub items: usize,
    /// Of those, replies with the very same labels by all.
    pub same: usize,
    /// By label: Cohen's kappa for two annotators, Fleiss' for more.
    pub labels: Vec<LabelAgreement>,
    /// Every two annotators, where there are more than two.
    pub pairs: Vec<Overlap>,
}

/// Measures the agreement of two or more annotators (name and annotations, sorted by name) on what all of
/// them finished; `None` for fewer. Each label is a question of its own: given or not.
pub fn agree(books: &[(String, &Book)], taxonomy: &Taxonomy) -> Option<Agreed> {
    if books.len() < 2 {
        return None;
    }
    let all: Vec<usize> = (0..books.len()).collect();
    let items = common(books, &all);
    let labels = labels(books, taxonomy);
    let pairs = match books.len() {
        2 => Vec::new(),
        count => (0..count)
            .flat_map(|a| (a + 1..count).map(move |b| (a, b)))
            .map(|(a, b)| overlap(books, a, b, &labels))
            .collect(),
    };
    Some(Agreed {
        annotators: books.iter().map(|(name, _)| name.clone()).collect(),
        finished: books
            .iter()
            .map(|(_, book)| book.annotations().filter(|(_, one)| one.done).count())
            .collect(),
        items: items.len(),
        same: items
            .iter()
            .filter(|item| item.windows(2).all(|two| two[0].labels == two[1].labels))
            .count(),
        labels: labels
            .iter()
            .map(|label| on_label(label, &items, books.len()))
            .collect(),
        pairs,
    })
}

/// Whether annotations of one reply differ in their labels.
pub fn disputed<'a>(annotations: impl IntoIterator<Item = &'a Annotation>) -> bool {
    let mut all = annotations.into_iter();
    let first = all.next();
    first.is_some_and(|first| all.any(|other| other.labels != first.labels))
}

/// The replies that all of these annotators finished, with the annotation of each.
fn common<'a>(books: &[(String, &'a Book)], who: &[usize]) -> Vec<Vec<&'a Annotation>> {
    let Some((first, others)) = who.split_first() else {
        return Vec::new();
    };
    let of_first = books[*first].1.annotations();
    of_first
        .filter(|(_, annotation)| annotation.done)
        .filter_map(|(reply, annotation)| {
            let mut item = vec![annotation];
            for other in others {
                item.push(books[*other].1.get(reply).filter(|one| one.done)?);
            }
            Some(item)
        })
        .collect()
}

/// The labels of the taxonomy, then those that annotations have besides.
fn labels(books: &[(String, &Book)], taxonomy: &Taxonomy) -> Vec<String> {
    let mut labels: Vec<String> = taxonomy.labels.iter().map(|one| one.id.clone()).collect();
    let used: BTreeSet<&String> = books
        .iter()
        .flat_map(|(_, book)| book.annotations())
        .flat_map(|(_, annotation)| &annotation.labels)
        .collect();
    let known: BTreeSet<String> = labels.iter().cloned().collect();
    labels.extend(used.into_iter().filter(|id| !known.contains(*id)).cloned());
    labels
}

fn on_label(label: &str, items: &[Vec<&Annotation>], annotators: usize) -> LabelAgreement {
    let rows: Vec<Vec<usize>> = items
        .iter()
        .map(|item| item.iter().map(|one| has(one, label)).collect())
        .collect();
    LabelAgreement {
        label: label.to_owned(),
        given: (0..annotators)
            .map(|at| rows.iter().map(|row| row[at]).sum())
            .collect(),
        same: rows
            .iter()
            .filter(|row| row.windows(2).all(|two| two[0] == two[1]))
            .count(),
        agreement: match annotators {
            2 => cohen(&rows.iter().map(|row| (row[0], row[1])).collect::<Vec<_>>()),
            _ => fleiss(&rows),
        },
    }
}

fn overlap(books: &[(String, &Book)], a: usize, b: usize, labels: &[String]) -> Overlap {
    let items = common(books, &[a, b]);
    let kappa = |label: &String| {
        let rows: Vec<(usize, usize)> = items
            .iter()
            .map(|item| (has(item[0], label), has(item[1], label)))
            .collect();
        (label.clone(), cohen(&rows))
    };
    Overlap {
        annotators: (books[a].0.clone(), books[b].0.clone()),
        items: items.len(),
        labels: labels.iter().map(kappa).collect(),
    }
}

fn has(annotation: &Annotation, label: &str) -> usize {
    usize::from(annotation.labels.contains(label))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::annotation::{Act, Change, Event};

    /// Made-up annotations: reply, labels, whether it is done.
    fn book(said: &[(&str, &[&str], bool)]) -> Book {
        let mut book = Book::default();
        for (reply, labels, done) in said {
            let labels = labels.iter().map(|label| (*label).to_owned()).collect();
            for change in [
                Change::Labels(labels),
                Change::Done {
                    done: *done,
                    blind: false,
                },
            ] {
                book.apply(&Event {
                    at: "t".to_owned(),
                    taxonomy: "x@1".to_owned(),
                    act: Act::Change {
                        reply: (*reply).to_owned(),
                        question_id: String::new(),
                        change,
                    },
                });
            }
        }
        book
    }

    fn of<'a>(agreed: &'a Agreed, label: &str) -> &'a LabelAgreement {
        agreed.labels.iter().find(|one| one.label == label).unwrap()
    }

    #[test]
    fn two_annotators_are_compared_on_what_both_finished() {
        let a = book(&[
            ("r1", &["other"], true),
            ("r2", &[], true),
            ("r3", &["other", "mine"], true),
            ("r4", &["other"], true),
            ("r5", &["other"], false),
        ]);
        let b = book(&[
            ("r1", &["other"], true),
            ("r2", &[], true),
            ("r3", &["mine"], true),
            ("r5", &["other"], true),
        ]);
        let books = [("ana".to_owned(), &a), ("ben".to_owned(), &b)];
        let agreed = agree(&books, &Taxonomy::default()).unwrap();
        assert_eq!((agreed.items, agreed.same), (3, 2));
        assert_eq!(agreed.finished, [4, 4]);
        let other = of(&agreed, "other");
        assert_eq!((other.given.as_slice(), other.same), ([2, 1].as_slice(), 2));
        // 2 of 3 agree; chance (2·1 + 1·2)/9 = 4/9; kappa (6/9 − 4/9)/(5/9) = 0.4.
        assert!((other.agreement.unwrap().kappa.unwrap() - 0.4).abs() < 1e-12);
        // A label that the taxonomy does not have is measured too; one that nobody gave has no kappa.
        assert_eq!(of(&agreed, "mine").agreement.unwrap().kappa, Some(1.0));
        assert_eq!(of(&agreed, "over_refusal").agreement.unwrap().kappa, None);
        assert!(agreed.pairs.is_empty());
        assert!(disputed([a.get("r3").unwrap(), b.get("r3").unwrap()]));
        assert!(!disputed([a.get("r1").unwrap(), b.get("r1").unwrap()]));
    }

    #[test]
    fn three_annotators_have_fleiss_and_all_pairs() {
        let a = book(&[
            ("r1", &["other"], true),
            ("r2", &[], true),
            ("r3", &[], true),
        ]);
        let b = book(&[("r1", &["other"], true), ("r2", &["other"], true)]);
        let c = book(&[
            ("r1", &["other"], true),
            ("r2", &[], true),
            ("r3", &[], true),
        ]);
        let names = ["a", "b", "c"].map(str::to_owned);
        let books: Vec<(String, &Book)> = names.into_iter().zip([&a, &b, &c]).collect();
        let agreed = agree(&books, &Taxonomy::default()).unwrap();
        assert_eq!(agreed.items, 2);
        // Items (3 yes), (1 yes, 2 no): observed (1 + 1/3)/2, chance (4/6)² + (2/6)² = 5/9.
        let kappa = of(&agreed, "other").agreement.unwrap().kappa.unwrap();
        assert!((kappa - (2.0 / 3.0 - 5.0 / 9.0) / (4.0 / 9.0)).abs() < 1e-12);
        let items: Vec<usize> = agreed.pairs.iter().map(|pair| pair.items).collect();
        assert_eq!(items, [2, 3, 2]);
    }

    #[test]
    fn one_annotator_agrees_with_nobody_and_no_item_is_no_agreement() {
        let a = book(&[("r1", &["other"], true)]);
        let b = book(&[("r2", &["other"], true)]);
        assert_eq!(agree(&[("a".to_owned(), &a)], &Taxonomy::default()), None);
        let books = [("a".to_owned(), &a), ("b".to_owned(), &b)];
        let agreed = agree(&books, &Taxonomy::default()).unwrap();
        assert_eq!(agreed.items, 0);
        assert_eq!(of(&agreed, "other").agreement, None);
    }
}
