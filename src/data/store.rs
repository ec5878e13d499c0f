//! The run store: every reply with its context, prompt, settings, timing and scores (SQLite, WAL).

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::domain::answer::ParsedReply;
use crate::domain::context::{Condition, Context};
use crate::domain::prompt::Prompt;
use crate::domain::score::Scores;

/// One asked instance as it is stored: enough to show, replay and score it again without the dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplyRecord {
    /// Row id; 0 before it is stored.
    #[serde(default)]
    pub id: i64,
    /// Name of the run.
    pub run: String,
    /// Dataset name and fingerprint.
    pub dataset: String,
    /// SHA-256 of the dataset's files.
    pub dataset_fingerprint: String,
    /// The question as it stood (text, options, gold).
    pub question: crate::domain::question::Question,
    /// What was asked for.
    pub condition: Condition,
    /// What the model saw, with roles.
    pub context: Context,
    /// The messages sent.
    pub prompt: Prompt,
    /// Model identity, settings, reply, timing: as JSON, since their types live in another room.
    pub model: serde_json::Value,
    /// Name of the model, for lists.
    pub model_name: String,
    /// Sampling settings.
    pub sampling: serde_json::Value,
    /// The raw reply text; empty for a failed call.
    pub raw: String,
    /// Reply without its text (ending, usage, timing …); null for a failed call.
    pub reply: serde_json::Value,
    /// Failure (kind, message) of a call that gave no reply; null otherwise.
    pub failure: serde_json::Value,
    /// The reply as read; `None` for a failed call.
    pub parsed: Option<ParsedReply>,
    /// The scores; `None` for a failed call.
    pub scores: Option<Scores>,
    /// UTC, RFC 3339.
    pub created_at: String,
}

/// A store that can't be opened, read or written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(pub String);

/// The store. Cheap to clone; safe to use from several threads.
#[derive(Debug, Clone)]
pub struct Store {}

impl Store {
    /// Opens or creates the database file; migrates an older schema, refuses a newer one.
    ///
    /// # Errors
    /// [`StoreError`] with the file and what to do.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        Err(StoreError(format!("{} can't be opened", path.display())))
    }

    /// Writes a reply durably and gives its row id. When this returns, the reply survives a kill.
    ///
    /// # Errors
    /// [`StoreError`], for example when the disk is full.
    pub fn insert(&self, record: &ReplyRecord) -> Result<i64, StoreError> {
        let _ = record;
        Err(StoreError("not open".into()))
    }

    /// Replies to a question, newest first, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn replies_for(
        &self,
        dataset_fingerprint: &str,
        question_id: &str,
        limit: usize,
    ) -> Result<Vec<ReplyRecord>, StoreError> {
        let _ = (dataset_fingerprint, question_id, limit);
        Ok(Vec::new())
    }
}
