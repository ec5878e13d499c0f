//! Why a call gave no reply.

use serde::{Deserialize, Serialize};

/// The kinds of failure that reports count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Key missing or refused (401, 403).
    Auth,
    /// Quota or credit used up (402, `insufficient_quota`).
    Quota,
    /// Too many requests, also after all retries (429).
    RateLimited,
    /// Prompt and reply do not fit the model's window; no call was made, or the server refused it.
    Overflow,
    /// A content filter stepped in.
    ContentFilter,
    /// Unknown model or address (404).
    NotFound,
    /// The server refused the request as wrong (other 4xx).
    BadRequest,
    /// The server failed (5xx, an error inside a 200).
    Server,
    /// No connection, reset, or timeout.
    Network,
    /// The answer is not what the protocol says (HTML, malformed JSON).
    Malformed,
    /// Stopped by the user before anything came.
    Cancelled,
    /// A local model can't be loaded or run.
    Local,
}

/// A call that gave no reply: what happened, where, and what to do. Never contains a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// For counting and for deciding on a retry.
    pub kind: FailureKind,
    /// One sentence for a person.
    pub message: String,
    /// HTTP status where there was one.
    pub status: Option<u16>,
    /// Attempts made.
    pub attempts: u32,
}

impl ModelError {
    /// An error of this kind without a status after one attempt.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        ModelError {
            kind,
            message: message.into(),
            status: None,
            attempts: 1,
        }
    }
}
