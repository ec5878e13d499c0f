//! Asking a model one instance: streams, reads, scores, stores.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::data::store::{ReplyRecord, Store};
use crate::engine::instance::Instance;
use crate::engine::job::JobId;
use crate::model::{ChatModel, Sampling};

/// What one asking needs.
pub struct AskRequest {
    /// The instance.
    pub instance: Instance,
    /// Dataset name and fingerprint for the record.
    pub dataset: (String, String),
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// Sampling settings.
    pub sampling: Sampling,
    /// Name of the run it is stored under.
    pub run: String,
    /// Where it is stored; `None` keeps nothing (the caller says so to the user).
    pub store: Option<Store>,
}

/// What happens while a model is asked. Text deltas are merged before they are sent (the channel is bounded).
#[derive(Debug, Clone)]
pub enum AskEvent {
    /// What the backend is doing before the first token.
    Status(String),
    /// A new attempt: drop what has been received.
    Restart,
    /// Text of the provider's reasoning field, raw.
    Reasoning(String),
    /// Text of the reply, raw.
    Text(String),
    /// The end, exactly once: the stored record (with parsed reply and scores, or the failure), or why it
    /// could not be stored.
    Finished(Result<Box<ReplyRecord>, String>),
}

/// Starts the job on the current tokio runtime. Events arrive on `events` with the job's id.
pub fn spawn(
    request: AskRequest,
    cancel: CancellationToken,
    events: mpsc::Sender<(JobId, AskEvent)>,
) -> JobId {
    let job = JobId::next();
    let _ = (request, cancel, events);
    job
}
