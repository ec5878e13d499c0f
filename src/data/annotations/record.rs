//! Acts as they are stored: types of their own, so that the rules can change and old files stay readable.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::domain::annotation::{Act, Annotation, Change};

/// An act as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum ActRecord {
    /// The reply has these labels.
    Labels {
        reply: String,
        question_id: String,
        labels: BTreeSet<String>,
    },
    /// It has this note.
    Note {
        reply: String,
        question_id: String,
        note: String,
    },
    /// The annotator is unsure of it.
    Unsure {
        reply: String,
        question_id: String,
        unsure: bool,
    },
    /// The annotator has finished with it.
    Done {
        reply: String,
        question_id: String,
        done: bool,
        blind: bool,
    },
    /// All of an annotation, from a file.
    Put {
        reply: String,
        question_id: String,
        annotation: Box<AnnotationRecord>,
    },
    /// The last change taken back.
    Undo,
    /// The last change that was taken back, made again.
    Redo,
}

/// An annotation as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct AnnotationRecord {
    labels: BTreeSet<String>,
    note: String,
    unsure: bool,
    done: bool,
    blind: bool,
    taxonomy: String,
    first_at: String,
    updated_at: String,
}

impl ActRecord {
    pub(super) fn of(act: &Act) -> ActRecord {
        let Act::Change {
            reply,
            question_id,
            change,
        } = act
        else {
            return match act {
                Act::Redo => ActRecord::Redo,
                _ => ActRecord::Undo,
            };
        };
        let (reply, question_id) = (reply.clone(), question_id.clone());
        match change {
            Change::Labels(labels) => ActRecord::Labels {
                reply,
                question_id,
                labels: labels.clone(),
            },
            Change::Note(note) => ActRecord::Note {
                reply,
                question_id,
                note: note.clone(),
            },
            Change::Unsure(unsure) => ActRecord::Unsure {
                reply,
                question_id,
                unsure: *unsure,
            },
            Change::Done { done, blind } => ActRecord::Done {
                reply,
                question_id,
                done: *done,
                blind: *blind,
            },
            Change::Put(whole) => ActRecord::Put {
                reply,
                question_id,
                annotation: Box::new(AnnotationRecord {
                    labels: whole.labels.clone(),
                    note: whole.note.clone(),
                    unsure: whole.unsure,
                    done: whole.done,
                    blind: whole.blind,
                    taxonomy: whole.taxonomy.clone(),
                    first_at: whole.first_at.clone(),
                    updated_at: whole.updated_at.clone(),
                }),
            },
        }
    }
}

impl From<ActRecord> for Act {
    fn from(record: ActRecord) -> Act {
        let (reply, question_id, change) = match record {
            ActRecord::Undo => return Act::Undo,
            ActRecord::Redo => return Act::Redo,
            ActRecord::Labels {
                reply,
                question_id,
                labels,
            } => (reply, question_id, Change::Labels(labels)),
            ActRecord::Note {
                reply,
                question_id,
                note,
            } => (reply, question_id, Change::Note(note)),
            ActRecord::Unsure {
                reply,
                question_id,
                unsure,
            } => (reply, question_id, Change::Unsure(unsure)),
            ActRecord::Done {
                reply,
                question_id,
                done,
                blind,
            } => (reply, question_id, Change::Done { done, blind }),
            ActRecord::Put {
                reply,
                question_id,
                annotation: a,
            } => {
                let whole = Annotation {
                    labels: a.labels,
                    note: a.note,
                    unsure: a.unsure,
                    done: a.done,
                    blind: a.blind,
                    taxonomy: a.taxonomy,
                    question_id: question_id.clone(),
                    first_at: a.first_at,
                    updated_at: a.updated_at,
                };
                (reply, question_id, Change::Put(Box::new(whole)))
            }
        };
        Act::Change {
            reply,
            question_id,
            change,
        }
    }
}
