//! How far reviewers agree on what to do with items.

use crate::domain::review::{ItemKind, ReviewBook, Verdict};
use crate::domain::stats::{Agreement, cohen, fleiss};

/// Agreement on the items of one kind, or of both.
#[derive(Debug, Clone, PartialEq)]
pub struct KindAgreement {
    /// The kind; `None` for both together.
    pub kind: Option<ItemKind>,
    /// Items that all reviewers decided.
    pub items: usize,
    /// How often each reviewer accepted, edited and rejected, in the order of the reviewers.
    pub given: Vec<[usize; 3]>,
    /// Items with the same verdict by all.
    pub same: usize,
    /// Agreement and kappa on accepted, edited, rejected.
    pub verdicts: Option<Agreement>,
    /// The same on in (accepted or edited) and out (rejected).
    pub kept: Option<Agreement>,
}

/// How far the reviewers of a dataset agree.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreed {
    /// The reviewers, sorted.
    pub reviewers: Vec<String>,
    /// Items that each decided.
    pub decided: Vec<usize>,
    /// Both kinds together, then each.
    pub kinds: Vec<KindAgreement>,
    /// Cohen's kappa of every two reviewers on the verdicts, where there are more than two: names, items, agreement.
    pub pairs: Vec<((String, String), usize, Option<Agreement>)>,
}

/// Measures the agreement of two or more reviewers (name and decisions, sorted by name) on what all of them decided:
/// Cohen's kappa for two, Fleiss' for more. `None` for fewer than two.
pub fn agree(books: &[(String, &ReviewBook)]) -> Option<Agreed> {
    if books.len() < 2 {
        return None;
    }
    let all: Vec<&ReviewBook> = books.iter().map(|(_, book)| *book).collect();
    let kinds = [None, Some(ItemKind::SubQuestion), Some(ItemKind::Edit)];
    let pairs = match books.len() {
        2 => Vec::new(),
        count => (0..count)
            .flat_map(|a| (a + 1..count).map(move |b| (a, b)))
            .map(|(a, b)| {
                let rows = common(&[all[a], all[b]], None);
                let names = (books[a].0.clone(), books[b].0.clone());
                (names, rows.len(), kappa(&rows))
            })
            .collect(),
    };
    let decided = |book: &&ReviewBook| {
        let decisions = book.decisions();
        decisions.filter(|(_, one)| one.verdict.is_some()).count()
    };
    Some(Agreed {
        reviewers: books.iter().map(|(name, _)| name.clone()).collect(),
        decided: all.iter().map(decided).collect(),
        kinds: kinds.into_iter().map(|kind| on_kind(&all, kind)).collect(),
        pairs,
    })
}

/// The verdicts of all reviewers on each item of a kind that all of them decided, as places in [`Verdict::NAMES`].
fn common(books: &[&ReviewBook], kind: Option<ItemKind>) -> Vec<Vec<usize>> {
    let Some((first, others)) = books.split_first() else {
        return Vec::new();
    };
    first
        .decisions()
        .filter(|(_, decision)| kind.is_none_or(|kind| decision.kind == kind))
        .filter_map(|(item, decision)| {
            let mut row = vec![decision.verdict.as_ref()?.place()];
            for other in others {
                row.push(other.verdict(item)?.place());
            }
            Some(row)
        })
        .collect()
}

fn kappa(rows: &[Vec<usize>]) -> Option<Agreement> {
    match rows.first()?.len() {
        2 => cohen(&rows.iter().map(|row| (row[0], row[1])).collect::<Vec<_>>()),
        _ => fleiss(rows),
    }
}

fn on_kind(books: &[&ReviewBook], kind: Option<ItemKind>) -> KindAgreement {
    let rows = common(books, kind);
    let given = (0..books.len()).map(|at| {
        let mut counts = [0; Verdict::NAMES.len()];
        for row in &rows {
            counts[row[at]] += 1;
        }
        counts
    });
    let out = Verdict::NAMES.len() - 1;
    let kept: Vec<Vec<usize>> = rows
        .iter()
        .map(|row| row.iter().map(|place| usize::from(*place == out)).collect())
        .collect();
    KindAgreement {
        kind,
        items: rows.len(),
        given: given.collect(),
        same: rows
            .iter()
            .filter(|row| row.windows(2).all(|two| two[0] == two[1]))
            .count(),
        verdicts: kappa(&rows),
        kept: kappa(&kept),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::review::tests::small;
    use crate::domain::review::{Act, Change, Event, Reason};

    fn book(verdicts: &[Option<Verdict>]) -> ReviewBook {
        let mut book = ReviewBook::default();
        for (item, verdict) in small().items().iter().zip(verdicts) {
            book.apply(&Event {
                at: "1".into(),
                act: Act::on(item, Change::Verdict(verdict.clone())),
            });
        }
        book
    }

    #[test]
    fn kappa_is_that_of_the_statistics_room() {
        let out = Some(Verdict::Rejected {
            reason: Reason::Other,
            words: String::new(),
        });
        let yes = Some(Verdict::Accepted);
        let ana = book(&[yes.clone(), yes.clone(), out.clone(), out.clone()]);
        let ben = book(&[yes.clone(), out.clone(), out.clone(), None]);
        let agreed = agree(&[("ana".into(), &ana), ("ben".into(), &ben)]).unwrap();
        assert_eq!(agreed.decided, [4, 3]);
        let both = &agreed.kinds[0];
        assert_eq!((both.items, both.same), (3, 2));
        assert_eq!(both.given, [[2, 0, 1], [1, 0, 2]]);
        // Observed 2/3, chance (2·1 + 1·2)/9 = 4/9: kappa (2/9)/(5/9).
        let kappa = both.verdicts.unwrap().kappa.unwrap();
        assert!((kappa - 0.4).abs() < 1e-12, "{kappa}");
        assert_eq!(both.verdicts.unwrap().kappa, both.kept.unwrap().kappa);
        assert_eq!(agreed.kinds[1].items + agreed.kinds[2].items, 3);
        assert!(agreed.pairs.is_empty());
        assert_eq!(agree(&[("ana".into(), &ana)]), None);
        let cleo = book(&[yes.clone(), yes, out.clone(), out]);
        let three = agree(&[
            ("ana".into(), &ana),
            ("ben".into(), &ben),
            ("cleo".into(), &cleo),
        ])
        .unwrap();
        assert_eq!(three.pairs.len(), 3);
        assert_eq!(three.pairs[1].2.unwrap().observed, 1.0, "ana and cleo");
    }
}
