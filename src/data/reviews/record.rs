//! Acts of a review as they are stored: types of their own, so that the rules can change and old files stay readable.

use serde::{Deserialize, Serialize};

use crate::domain::review::{Act, Change, Content, Decision, ItemKind, Reason, Verdict};

/// An act as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum ActRecord {
    /// The item has this verdict, or none any more.
    Decide {
        #[serde(flatten)]
        item: ItemRecord,
        verdict: Option<VerdictRecord>,
    },
    /// It has this note.
    Note {
        #[serde(flatten)]
        item: ItemRecord,
        note: String,
    },
    /// All of a decision, from a file.
    Put {
        #[serde(flatten)]
        item: ItemRecord,
        decision: DecisionRecord,
    },
    /// The last change taken back.
    Undo,
    /// The last change that was taken back, made again.
    Redo,
}

/// Which item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ItemRecord {
    item: String,
    kind: String,
    question_id: String,
    doc_id: String,
}

/// A verdict as JSON: as acts and rows of files hold it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct VerdictRecord {
    pub decision: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<EditedRecord>,
}

/// What an item was made into.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum EditedRecord {
    SubQuestion { question: String, answer: String },
    Edit { planted: String, text: String },
}

/// A decision as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct DecisionRecord {
    verdict: Option<VerdictRecord>,
    note: String,
    first_at: String,
    updated_at: String,
}

impl VerdictRecord {
    pub(super) fn of(verdict: &Verdict) -> VerdictRecord {
        let mut record = VerdictRecord {
            decision: verdict.name().to_owned(),
            reason: None,
            words: String::new(),
            edited: None,
        };
        match verdict {
            Verdict::Accepted => {}
            Verdict::Edited(content) => record.edited = Some(EditedRecord::of(content)),
            Verdict::Rejected { reason, words } => {
                record.reason = Some(reason.name());
                record.words.clone_from(words);
            }
        }
        record
    }

    /// The verdict on an item of this kind.
    ///
    /// # Errors
    /// Half a sentence: which field is wrong and what was expected.
    pub(super) fn verdict(self, kind: ItemKind) -> Result<Verdict, String> {
        match self.decision.as_str() {
            "accepted" => Ok(Verdict::Accepted),
            "edited" => {
                let edited = self
                    .edited
                    .ok_or("decision is \"edited\", but nothing says into what")?;
                let content = edited.content();
                match content.kind() == kind {
                    true => Ok(Verdict::Edited(content)),
                    false => Err(format!("the edited text is none of a {}", kind.noun())),
                }
            }
            "rejected" => {
                let name = self.reason.unwrap_or_default();
                let reason = Reason::named(&name).ok_or_else(|| {
                    let known: Vec<String> =
                        Reason::of(kind).into_iter().map(Reason::name).collect();
                    format!(
                        "reason is \"{}\"; expected one of {}",
                        crate::domain::text::short(&name),
                        known.join(", ")
                    )
                })?;
                Ok(Verdict::Rejected {
                    reason,
                    words: self.words,
                })
            }
            other => Err(format!(
                "decision is \"{}\"; expected accepted, edited or rejected",
                crate::domain::text::short(other)
            )),
        }
    }
}

impl EditedRecord {
    pub(super) fn of(content: &Content) -> EditedRecord {
        match content.clone() {
            Content::SubQuestion { question, answer } => {
                EditedRecord::SubQuestion { question, answer }
            }
            Content::Edit { planted, text } => EditedRecord::Edit { planted, text },
        }
    }

    fn content(self) -> Content {
        match self {
            EditedRecord::SubQuestion { question, answer } => {
                Content::SubQuestion { question, answer }
            }
            EditedRecord::Edit { planted, text } => Content::Edit { planted, text },
        }
    }
}

impl ActRecord {
    pub(super) fn of(act: &Act) -> ActRecord {
        let Act::Change {
            item,
            kind,
            question_id,
            doc_id,
            change,
        } = act
        else {
            return match act {
                Act::Redo => ActRecord::Redo,
                _ => ActRecord::Undo,
            };
        };
        let item = ItemRecord {
            item: item.clone(),
            kind: kind.name().to_owned(),
            question_id: question_id.clone(),
            doc_id: doc_id.clone(),
        };
        match change {
            Change::Verdict(verdict) => ActRecord::Decide {
                item,
                verdict: verdict.as_ref().map(VerdictRecord::of),
            },
            Change::Note(note) => ActRecord::Note {
                item,
                note: note.clone(),
            },
            Change::Put(whole) => ActRecord::Put {
                item,
                decision: DecisionRecord {
                    verdict: whole.verdict.as_ref().map(VerdictRecord::of),
                    note: whole.note.clone(),
                    first_at: whole.first_at.clone(),
                    updated_at: whole.updated_at.clone(),
                },
            },
        }
    }

    /// The act; `None` where it makes no sense to this program.
    pub(super) fn act(self) -> Option<Act> {
        let (item, change) = match self {
            ActRecord::Undo => return Some(Act::Undo),
            ActRecord::Redo => return Some(Act::Redo),
            ActRecord::Decide { item, verdict } => {
                let kind = ItemKind::named(&item.kind)?;
                let verdict = match verdict {
                    Some(record) => Some(record.verdict(kind).ok()?),
                    None => None,
                };
                (item, Change::Verdict(verdict))
            }
            ActRecord::Note { item, note } => (item, Change::Note(note)),
            ActRecord::Put { item, decision } => {
                let kind = ItemKind::named(&item.kind)?;
                let verdict = match decision.verdict {
                    Some(record) => Some(record.verdict(kind).ok()?),
                    None => None,
                };
                let whole = Decision {
                    verdict,
                    note: decision.note,
                    kind,
                    question_id: item.question_id.clone(),
                    doc_id: item.doc_id.clone(),
                    first_at: decision.first_at,
                    updated_at: decision.updated_at,
                };
                (item, Change::Put(Box::new(whole)))
            }
        };
        Some(Act::Change {
            kind: ItemKind::named(&item.kind)?,
            item: item.item,
            question_id: item.question_id,
            doc_id: item.doc_id,
            change,
        })
    }
}
