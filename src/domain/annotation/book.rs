//! The annotations of one person in one run, as what a history of acts comes to. Undo and redo are acts
//! too, so that they work across restarts: the history is only ever added to.

use std::collections::BTreeSet;

use crate::domain::history::History;

/// What a person says of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Annotation {
    /// Ids of its labels.
    pub labels: BTreeSet<String>,
    /// Free text; may be empty.
    pub note: String,
    /// The person is not sure.
    pub unsure: bool,
    /// The person has finished with the reply.
    pub done: bool,
    /// It was finished with gold answers and roles hidden, and not changed since.
    pub blind: bool,
    /// Name and version of the taxonomy when its labels were last changed.
    pub taxonomy: String,
    /// The question, for lists.
    pub question_id: String,
    /// Time of its first change: UTC, RFC 3339; empty before it is stored.
    pub first_at: String,
    /// Time of its last change, undo and redo included.
    pub updated_at: String,
}

impl Annotation {
    /// Whether nothing is said in it.
    pub fn is_blank(&self) -> bool {
        self.labels.is_empty() && self.note.is_empty() && !self.unsure && !self.done
    }
}

/// A change of one annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Has these labels and no others.
    Labels(BTreeSet<String>),
    /// Has this note; empty: none.
    Note(String),
    /// The person is unsure, or no longer.
    Unsure(bool),
    /// The person has finished with it, or takes it up again.
    Done {
        /// Finished.
        done: bool,
        /// With gold answers and roles hidden.
        blind: bool,
    },
    /// Comes as a whole from a file.
    Put(Box<Annotation>),
}

impl Change {
    /// The same change of an annotation that was `before` for the person who made it and is something else `now`, since
    /// the same person has changed it in another window meanwhile: what was said there stays.
    pub fn onto(self, before: &Annotation, now: &Annotation) -> Change {
        match self {
            Change::Labels(new) => {
                let given = new.difference(&before.labels);
                let kept = now.labels.iter();
                let kept = kept.filter(|id| new.contains(*id) || !before.labels.contains(*id));
                Change::Labels(kept.chain(given).cloned().collect())
            }
            Change::Note(new) => Change::Note(both_notes(new, &before.note, &now.note)),
            other => other,
        }
    }
}

/// A new note in the place of `before`, where `now` stands meanwhile.
fn both_notes(new: String, before: &str, now: &str) -> String {
    match (now == before || new.contains(now), new.is_empty()) {
        (true, _) => new,
        (false, true) => now.to_owned(),
        (false, false) => format!("{now}\n{new}"),
    }
}

/// One thing that a person did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Changed the annotation of a reply.
    Change {
        /// The reply's id.
        reply: String,
        /// Its question.
        question_id: String,
        /// What changed.
        change: Change,
    },
    /// Took back the last change that was not taken back.
    Undo,
    /// Made the last change again that was taken back.
    Redo,
}

/// An act with its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// UTC, RFC 3339; empty before it is stored.
    pub at: String,
    /// Name and version of the taxonomy at that time.
    pub taxonomy: String,
    /// What was done.
    pub act: Act,
}

/// What an act came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The reply whose annotation changed.
    pub reply: String,
    /// Its question.
    pub question_id: String,
}

/// The annotations of one person in one run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Book {
    history: History<Annotation>,
}

impl Book {
    /// What a history comes to.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Book {
        let mut book = Book::default();
        for event in events {
            book.apply(event);
        }
        book
    }

    /// Takes in an act and says whose annotation changed; `None` where there was nothing to undo or redo, or
    /// the change changes nothing.
    pub fn apply(&mut self, event: &Event) -> Option<Moved> {
        match &event.act {
            Act::Change {
                reply,
                question_id,
                change,
            } => return self.change(reply, question_id, change, event),
            Act::Undo => self.history.undo(|state| touch(state, &event.at)),
            Act::Redo => self.history.redo(|state| touch(state, &event.at)),
        }
        .map(|(reply, annotation)| Moved {
            reply,
            question_id: annotation.question_id,
        })
    }

    fn change(
        &mut self,
        reply: &str,
        question_id: &str,
        change: &Change,
        event: &Event,
    ) -> Option<Moved> {
        let before = self.history.get(reply).cloned();
        let mut after = before.clone().unwrap_or_default();
        match change {
            Change::Labels(labels) => {
                after.blind &= after.labels == *labels;
                after.labels.clone_from(labels);
                after.taxonomy.clone_from(&event.taxonomy);
            }
            Change::Note(note) => after.note.clone_from(note),
            Change::Unsure(unsure) => {
                after.blind &= after.unsure == *unsure;
                after.unsure = *unsure;
            }
            Change::Done { done, blind } => {
                after.done = *done;
                after.blind = *done && *blind;
                if after.taxonomy.is_empty() {
                    after.taxonomy.clone_from(&event.taxonomy);
                }
            }
            Change::Put(whole) => after = (**whole).clone(),
        }
        if before.as_ref() == Some(&after) || (before.is_none() && after.is_blank()) {
            return None;
        }
        question_id.clone_into(&mut after.question_id);
        if !matches!(change, Change::Put(_)) {
            if after.first_at.is_empty() {
                after.first_at.clone_from(&event.at);
            }
            after.updated_at.clone_from(&event.at);
        }
        self.history.set(reply, after);
        Some(Moved {
            reply: reply.to_owned(),
            question_id: question_id.to_owned(),
        })
    }

    /// The annotation of a reply.
    pub fn get(&self, reply: &str) -> Option<&Annotation> {
        self.history.get(reply)
    }

    /// All annotations that say something, by reply.
    pub fn annotations(&self) -> impl Iterator<Item = (&str, &Annotation)> {
        self.history
            .states()
            .filter(|(_, annotation)| !annotation.is_blank())
    }

    /// Whether the person has finished with a reply.
    pub fn is_done(&self, reply: &str) -> bool {
        self.get(reply).is_some_and(|annotation| annotation.done)
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

/// Says when an annotation was last brought to what it is.
fn touch(annotation: &mut Annotation, at: &str) {
    at.clone_into(&mut annotation.updated_at);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_change_made_beside_another_keeps_both() {
        let said = |labels: &[&str], note: &str| Annotation {
            labels: labels.iter().map(|id| (*id).to_owned()).collect(),
            note: note.to_owned(),
            ..Annotation::default()
        };
        let labels = |of: &[&str]| Change::Labels(said(of, "").labels);
        let onto = |change: Change, before: &Annotation, now: &Annotation| change.onto(before, now);
        let (blank, other) = (said(&[], ""), said(&["a"], "x"));
        assert_eq!(onto(labels(&["b"]), &blank, &other), labels(&["a", "b"]));
        assert_eq!(
            onto(labels(&[]), &other, &said(&["a", "b"], "")),
            labels(&["b"])
        );
        assert_eq!(onto(labels(&["a", "c"]), &other, &blank), labels(&["c"]));
        let note = |text: &str| Change::Note(text.to_owned());
        assert_eq!(onto(note("y"), &blank, &other), note("x\ny"));
        assert_eq!(onto(note("y"), &other, &other), note("y"));
        assert_eq!(onto(note(""), &said(&[], "old"), &other), note("x"));
        assert_eq!(onto(note("x and y"), &blank, &other), note("x and y"));
    }
    use proptest::prelude::*;

    fn event(at: &str, act: Act) -> Event {
        Event {
            at: at.to_owned(),
            taxonomy: "t@1".to_owned(),
            act,
        }
    }

    fn change(reply: &str, change: Change) -> Act {
        Act::Change {
            reply: reply.to_owned(),
            question_id: format!("q of {reply}"),
            change,
        }
    }

    fn labels(ids: &[&str]) -> Change {
        Change::Labels(ids.iter().map(|id| (*id).to_owned()).collect())
    }

    #[test]
    fn a_history_comes_to_annotations_and_undo_goes_back_step_by_step() {
        let mut book = Book::default();
        book.apply(&event("1", change("r1", labels(&["a"]))));
        book.apply(&event("2", change("r1", Change::Note("why".to_owned()))));
        book.apply(&event("3", change("r2", labels(&["b"]))));
        let moved = book.apply(&event("4", Act::Undo)).unwrap();
        assert_eq!(
            (moved.reply.as_str(), moved.question_id.as_str()),
            ("r2", "q of r2")
        );
        assert_eq!(book.get("r2"), None);
        book.apply(&event("5", Act::Undo));
        let first = book.get("r1").unwrap();
        assert_eq!(
            (
                first.note.as_str(),
                first.first_at.as_str(),
                first.updated_at.as_str()
            ),
            ("", "1", "5")
        );
        book.apply(&event("6", Act::Redo));
        assert_eq!(book.get("r1").unwrap().note, "why");
        // A new change ends what could be made again.
        book.apply(&event("7", change("r1", Change::Unsure(true))));
        assert_eq!(book.apply(&event("8", Act::Redo)), None);
        assert!(book.can_undo() && !book.can_redo());
        assert_eq!(book.annotations().count(), 1);
    }

    #[test]
    fn what_changes_nothing_is_no_step() {
        let mut book = Book::default();
        assert_eq!(
            book.apply(&event("1", change("r", Change::Note(String::new())))),
            None
        );
        assert_eq!(book.apply(&event("1", Act::Undo)), None);
        book.apply(&event("2", change("r", Change::Unsure(true))));
        assert_eq!(
            book.apply(&event("3", change("r", Change::Unsure(true)))),
            None
        );
        assert_eq!(book.get("r").unwrap().updated_at, "2");
    }

    #[test]
    fn a_change_after_the_reveal_is_not_blind() {
        let done = |blind| Change::Done { done: true, blind };
        let mut book = Book::default();
        book.apply(&event("1", change("r", labels(&["a"]))));
        book.apply(&event("2", change("r", done(true))));
        assert!(book.get("r").unwrap().blind);
        // A note may be added with open eyes; labels may not.
        book.apply(&event("3", change("r", Change::Note("n".to_owned()))));
        assert!(book.get("r").unwrap().blind);
        book.apply(&event("4", change("r", labels(&["a", "b"]))));
        assert!(!book.get("r").unwrap().blind);
        assert!(book.is_done("r"));
        book.apply(&event("5", Act::Undo));
        assert!(book.get("r").unwrap().blind);
    }

    #[test]
    fn nothing_found_is_an_annotation_once_it_is_done() {
        let mut book = Book::default();
        book.apply(&event(
            "1",
            change(
                "r",
                Change::Done {
                    done: true,
                    blind: false,
                },
            ),
        ));
        let found = book.get("r").unwrap();
        assert_eq!((found.taxonomy.as_str(), found.is_blank()), ("t@1", false));
    }

    proptest! {
        #[test]
        fn undoing_everything_leaves_nothing_and_redoing_brings_it_back(
            acts in prop::collection::vec((0u8..3, 0u8..5), 0..40)
        ) {
            let mut book = Book::default();
            for (reply, kind) in acts {
                let change_of = match kind {
                    0 => labels(&["a"]),
                    1 => labels(&["b", "c"]),
                    2 => Change::Note(format!("note {reply}")),
                    3 => Change::Unsure(true),
                    _ => Change::Done { done: true, blind: true },
                };
                book.apply(&event("1", change(&format!("r{reply}"), change_of)));
            }
            let whole = book.clone();
            while book.apply(&event("1", Act::Undo)).is_some() {}
            prop_assert_eq!(book.annotations().count(), 0);
            while book.apply(&event("1", Act::Redo)).is_some() {}
            prop_assert_eq!(book, whole);
        }
    }
}
