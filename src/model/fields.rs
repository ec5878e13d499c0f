//! Replies that are one flat object of named fields, as making a benchmark asks for.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One field of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its key.
    pub name: String,
    /// What its value is.
    pub kind: FieldKind,
}

/// What the value of a field is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldKind {
    /// A few words.
    Short,
    /// A sentence or two.
    Sentence,
    /// As much as fits.
    Long,
    /// So many short texts.
    Texts(usize),
    /// One of these.
    Choice(Vec<String>),
    /// Some of these labels in an order of the model's choice.
    Labels(Vec<String>),
    /// Pieces of a text and what stands in their place; embedded models give none.
    Edits,
}

impl Field {
    /// A field of this name and kind.
    pub fn new(name: impl Into<String>, kind: FieldKind) -> Field {
        Field {
            name: name.into(),
            kind,
        }
    }

    /// The schema of its value.
    pub(super) fn schema(&self) -> Value {
        let text = || json!({"type": "string"});
        let list = |items: Value| json!({"type": "array", "items": items});
        match &self.kind {
            FieldKind::Short | FieldKind::Sentence | FieldKind::Long => text(),
            FieldKind::Texts(_) => list(text()),
            FieldKind::Choice(values) => json!({"type": "string", "enum": values}),
            FieldKind::Labels(labels) if labels.is_empty() => list(text()),
            FieldKind::Labels(labels) => list(json!({"type": "string", "enum": labels})),
            FieldKind::Edits => list(json!({
                "type": "object",
                "required": ["old", "new"],
                "additionalProperties": false,
                "properties": {"old": text(), "new": text()},
            })),
        }
    }
}
