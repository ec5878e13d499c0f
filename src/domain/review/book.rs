//! The decisions of one person on one dataset, as what a history of acts comes to.

use crate::domain::history::History;
use crate::domain::review::{Item, ItemKind, Verdict};

/// What a person says of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The verdict; `None` where there is only a note.
    pub verdict: Option<Verdict>,
    /// Free text; may be empty.
    pub note: String,
    /// What the item is, for lists.
    pub kind: ItemKind,
    /// Its question, for lists.
    pub question_id: String,
    /// Its document, for lists.
    pub doc_id: String,
    /// Time of the first change: UTC, RFC 3339; empty before it is stored.
    pub first_at: String,
    /// Time of the last change, undo and redo included.
    pub updated_at: String,
}

impl Decision {
    /// Nothing said of an item.
    pub fn blank(item: &Item) -> Decision {
        Decision {
            verdict: None,
            note: String::new(),
            kind: item.kind(),
            question_id: item.question_id.clone(),
            doc_id: item.doc_id.clone(),
            first_at: String::new(),
            updated_at: String::new(),
        }
    }

    /// Whether nothing is said in it.
    pub fn is_blank(&self) -> bool {
        self.verdict.is_none() && self.note.is_empty()
    }

    /// Whether two decisions say the same, whenever they were made.
    pub fn says_the_same(&self, other: &Decision) -> bool {
        self.verdict == other.verdict && self.note == other.note
    }
}

/// A change of one decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Has this verdict, or none any more.
    Verdict(Option<Verdict>),
    /// Has this note; empty: none.
    Note(String),
    /// Comes as a whole from a file.
    Put(Box<Decision>),
}

/// One thing that a person did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Changed the decision on an item.
    Change {
        /// The item's id.
        item: String,
        /// What the item is.
        kind: ItemKind,
        /// Its question.
        question_id: String,
        /// Its document.
        doc_id: String,
        /// What changed.
        change: Change,
    },
    /// Took back the last change that was not taken back.
    Undo,
    /// Made the last change again that was taken back.
    Redo,
}

impl Act {
    /// A change of an item.
    pub fn on(item: &Item, change: Change) -> Act {
        Act::Change {
            item: item.id.clone(),
            kind: item.kind(),
            question_id: item.question_id.clone(),
            doc_id: item.doc_id.clone(),
            change,
        }
    }
}

/// An act with its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// UTC, RFC 3339; empty before it is stored.
    pub at: String,
    /// What was done.
    pub act: Act,
}

/// What an act came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The item whose decision changed.
    pub item: String,
    /// Its question.
    pub question_id: String,
    /// Its document.
    pub doc_id: String,
}

/// The decisions of one person on one dataset.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReviewBook {
    history: History<Decision>,
}

impl ReviewBook {
    /// Takes in an act and says whose decision changed; `None` where there was nothing to undo or redo, or the change
    /// changes nothing.
    pub fn apply(&mut self, event: &Event) -> Option<Moved> {
        let touch = |decision: &mut Decision| event.at.clone_into(&mut decision.updated_at);
        let (item, decision) = match &event.act {
            Act::Change { .. } => return self.change(event),
            Act::Undo => self.history.undo(touch)?,
            Act::Redo => self.history.redo(touch)?,
        };
        Some(Moved {
            item,
            question_id: decision.question_id,
            doc_id: decision.doc_id,
        })
    }

    fn change(&mut self, event: &Event) -> Option<Moved> {
        let Act::Change {
            item,
            kind,
            question_id,
            doc_id,
            change,
        } = &event.act
        else {
            return None;
        };
        let before = self.history.get(item);
        let mut after = before.cloned().unwrap_or(Decision {
            verdict: None,
            note: String::new(),
            kind: *kind,
            question_id: question_id.clone(),
            doc_id: doc_id.clone(),
            first_at: String::new(),
            updated_at: String::new(),
        });
        match change {
            Change::Verdict(verdict) => after.verdict.clone_from(verdict),
            Change::Note(note) => after.note.clone_from(note),
            Change::Put(whole) => after = (**whole).clone(),
        }
        if before == Some(&after) || (before.is_none() && after.is_blank()) {
            return None;
        }
        if !matches!(change, Change::Put(_)) {
            if after.first_at.is_empty() {
                after.first_at.clone_from(&event.at);
            }
            after.updated_at.clone_from(&event.at);
        }
        self.history.set(item, after);
        Some(Moved {
            item: item.clone(),
            question_id: question_id.clone(),
            doc_id: doc_id.clone(),
        })
    }

    /// The decision on an item.
    pub fn get(&self, item: &str) -> Option<&Decision> {
        self.history.get(item)
    }

    /// The verdict on an item.
    pub fn verdict(&self, item: &str) -> Option<&Verdict> {
        self.get(item)?.verdict.as_ref()
    }

    /// All decisions that say something, by item.
    pub fn decisions(&self) -> impl Iterator<Item = (&str, &Decision)> {
        self.history
            .states()
            .filter(|(_, decision)| !decision.is_blank())
    }

    /// Whether there is a change to take back.
    pub fn can_undo(&self) -> bool {
        self.history.can_undo()
    }

    /// Whether there is a change to make again.
    pub fn can_redo(&self) -> bool {
        self.history.can_redo()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::review::Reason;
    use crate::domain::review::tests::small;

    #[test]
    fn a_history_of_acts_comes_to_decisions() {
        let items = small().items();
        let mut book = ReviewBook::default();
        let at = |time: &str, act: Act| Event {
            at: time.into(),
            act,
        };
        let accept = Change::Verdict(Some(Verdict::Accepted));
        assert!(
            book.apply(&at("1", Act::on(&items[0], accept.clone())))
                .is_some()
        );
        assert_eq!(
            book.apply(&at("2", Act::on(&items[0], accept))),
            None,
            "said already"
        );
        let out = Verdict::Rejected {
            reason: Reason::Other,
            words: "twice".into(),
        };
        book.apply(&at(
            "3",
            Act::on(&items[1], Change::Verdict(Some(out.clone()))),
        ));
        book.apply(&at("4", Act::on(&items[1], Change::Note("see d2".into()))));
        let second = book.get(&items[1].id).unwrap();
        assert_eq!(
            (second.first_at.as_str(), second.updated_at.as_str()),
            ("3", "4")
        );
        assert_eq!(book.verdict(&items[1].id), Some(&out));
        let moved = book.apply(&at("5", Act::Undo)).unwrap();
        assert_eq!(
            (moved.item.as_str(), moved.doc_id.as_str()),
            (items[1].id.as_str(), "d1")
        );
        assert_eq!(book.get(&items[1].id).unwrap().note, "");
        book.apply(&at("6", Act::Undo));
        book.apply(&at("7", Act::Undo));
        assert_eq!(book.decisions().count(), 0);
        assert_eq!(book.apply(&at("8", Act::Undo)), None);
        book.apply(&at("9", Act::Redo));
        assert_eq!(book.verdict(&items[0].id), Some(&Verdict::Accepted));
        assert!(book.can_redo());
    }
}
