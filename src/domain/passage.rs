//! Documents and what hangs on them: sub-questions and adversarial versions.

use serde::{Deserialize, Serialize};

/// Where a document was retrieved from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The offline corpus (MedCorp in the paper).
    Offline,
    /// Web search.
    Online,
}

/// A retrieved document (a snippet of a larger text).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// The dataset's id; never shown to a model.
    pub id: String,
    /// May be empty.
    #[serde(default)]
    pub title: String,
    /// The text.
    pub content: String,
    /// Unknown in many sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Fields of the file that this program does not know, kept for export.
    #[serde(default, flatten, skip_serializing_if = "serde_json::Map::is_empty")]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

/// A question about one document with a short answer taken from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubQuestion {
    /// The document it belongs to.
    pub doc_id: String,
    /// The sub-question.
    pub question: String,
    /// The true short answer.
    pub answer: String,
    /// Fields of the file that this program does not know, kept for export.
    #[serde(default, flatten, skip_serializing_if = "serde_json::Map::is_empty")]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

/// The adversarial version of a document: edited as little as possible so that it supports a wrong
/// answer to the document's sub-question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counterfactual {
    /// The document it is a version of.
    pub original_id: String,
    /// The planted, wrong answer.
    pub new_answer: String,
    /// The edited text.
    pub edited_document: String,
    /// Fields of the file that this program does not know, kept for export.
    #[serde(default, flatten, skip_serializing_if = "serde_json::Map::is_empty")]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

/// What a document is in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Retrieved for this question.
    Signal,
    /// Drawn from the documents of other questions.
    Noise,
    /// A signal document edited to support a wrong answer.
    Adversarial,
}
