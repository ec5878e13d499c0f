//! One verdict per item where several people have looked at it.

use std::collections::{BTreeMap, HashMap};

use crate::domain::annotation::{Hand, Part};
use crate::domain::review::{Decision, ReviewBook, Verdict};

/// What holds by all that was decided.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// The verdict by item.
    pub verdicts: HashMap<String, Verdict>,
    /// Items on which reviewers differ and nobody has decided between them.
    pub disputed: Vec<String>,
}

/// Whether decisions on one item differ; those without a verdict say nothing.
pub fn disputed<'a>(decisions: impl IntoIterator<Item = &'a Decision>) -> bool {
    let mut verdicts = decisions
        .into_iter()
        .filter_map(|decision| decision.verdict.as_ref());
    let first = verdicts.next();
    first.is_some_and(|first| verdicts.any(|other| !other.is_like(first)))
}

/// The verdict of each item: of `only`, if a reviewer is named; else of the one who decided between reviewers (the
/// latest, where several did); else the one on which all reviewers agree.
pub fn settle(books: &BTreeMap<Hand, ReviewBook>, only: Option<&str>) -> Settled {
    let mut reviewers: BTreeMap<&str, Vec<&Decision>> = BTreeMap::new();
    let mut decided: BTreeMap<&str, &Decision> = BTreeMap::new();
    for (hand, book) in books {
        if only.is_some_and(|name| name != hand.annotator || hand.part != Part::Annotator) {
            continue;
        }
        for (item, decision) in book.decisions().filter(|(_, one)| one.verdict.is_some()) {
            match hand.part {
                Part::Annotator => reviewers.entry(item).or_default().push(decision),
                Part::Adjudicator => {
                    let latest = decided.entry(item).or_insert(decision);
                    if decision.updated_at > latest.updated_at {
                        *latest = decision;
                    }
                }
            }
        }
    }
    let mut settled = Settled::default();
    for (item, decisions) in &reviewers {
        if decided.contains_key(item) {
            continue;
        }
        match disputed(decisions.iter().copied()) {
            true => settled.disputed.push((*item).to_owned()),
            false => {
                let verdict = decisions.first().and_then(|one| one.verdict.clone());
                settled
                    .verdicts
                    .extend(verdict.map(|verdict| ((*item).to_owned(), verdict)));
            }
        }
    }
    for (item, decision) in decided {
        let verdict = decision.verdict.clone();
        settled
            .verdicts
            .extend(verdict.map(|verdict| (item.to_owned(), verdict)));
    }
    settled
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::review::tests::small;
    use crate::domain::review::{Act, Change, Content, Event, Reason};

    fn hand(name: &str, part: Part) -> Hand {
        Hand {
            annotator: name.into(),
            part,
        }
    }

    #[test]
    fn agreement_counts_and_differences_wait_for_somebody_to_decide() {
        let items = small().items();
        let mut books: BTreeMap<Hand, ReviewBook> = BTreeMap::new();
        let mut say = |who: Hand, at: usize, verdict: Verdict| {
            let event = Event {
                at: at.to_string(),
                act: Act::on(&items[at], Change::Verdict(Some(verdict))),
            };
            books.entry(who).or_default().apply(&event);
        };
        let out = |reason| Verdict::Rejected {
            reason,
            words: String::new(),
        };
        let edited = |answer: &str| {
            Verdict::Edited(Content::SubQuestion {
                question: "In which organ?".into(),
                answer: answer.into(),
            })
        };
        let (ana, ben) = (hand("ana", Part::Annotator), hand("ben", Part::Annotator));
        say(ana.clone(), 0, Verdict::Accepted);
        say(ben.clone(), 0, Verdict::Accepted);
        // Both throw it out, whatever the reason.
        say(ana.clone(), 1, out(Reason::Wrong));
        say(ben.clone(), 1, out(Reason::Other));
        // The same verdict, but not the same text.
        say(ana.clone(), 2, edited("ferritin"));
        say(ben.clone(), 2, edited("Ferritin, a protein"));
        say(ana.clone(), 3, Verdict::Accepted);
        say(ben, 3, out(Reason::Wrong));
        say(hand("cleo", Part::Adjudicator), 3, Verdict::Accepted);
        let settled = settle(&books, None);
        assert_eq!(settled.disputed, [items[2].id.clone()]);
        assert_eq!(settled.verdicts[&items[3].id], Verdict::Accepted);
        assert_eq!(settled.verdicts[&items[1].id].name(), "rejected");
        assert_eq!(settled.verdicts.len(), 3);
        let of_ana = settle(&books, Some("ana"));
        assert_eq!((of_ana.verdicts.len(), of_ana.disputed.len()), (4, 0));
        assert_eq!(settle(&books, Some("zoe")), Settled::default());
    }
}
