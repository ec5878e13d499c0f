//! Asking a model one instance: streams, reads, scores, stores.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::data::store::{ReplyRecord, Store};
use crate::engine::ask::merge::{Merger, Received};
use crate::engine::instance::Instance;
use crate::engine::job::JobId;
use crate::model::{ChatModel, ChatRequest, Delta, FailureKind, ModelError, Reply, Sampling};

pub use record::{ending_of, identity_of, result_of};
pub(super) use record::{keep, record, request_key, to_value};

mod merge;
mod record;
#[cfg(test)]
mod tests;

/// Shortest time between two batches of deltas: half a frame.
const BATCH: Duration = Duration::from_millis(8);

/// How long a model may take to end once it was told to stop; then it is let go.
pub(super) const GRACE: Duration = Duration::from_secs(2);

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

/// Starts the job on the current tokio runtime. Events arrive on `events` with the job's id; the last one,
/// exactly once, is [`AskEvent::Finished`]. A receiver that is gone stops the job; what has come is stored.
pub fn spawn(
    request: AskRequest,
    cancel: CancellationToken,
    events: mpsc::Sender<(JobId, AskEvent)>,
) -> JobId {
    let job = JobId::next();
    tokio::spawn(async move {
        let sender = events.clone();
        let gone = cancel.clone();
        let asking = async move {
            let mut accept = |event| match sender.try_send((job, event)) {
                Ok(()) => Ok(()),
                Err(TrySendError::Full((_, event))) => Err(event),
                Err(TrySendError::Closed(_)) => {
                    gone.cancel();
                    Ok(())
                }
            };
            ask(request, &cancel, &mut accept).await
        };
        // A panic outside the model (reading, scoring) must not swallow the end either.
        let finished = AssertUnwindSafe(asking)
            .catch_unwind()
            .await
            .unwrap_or_else(|panic| {
                Err(format!(
                    "the program failed while it read or stored the reply: {}; please report this",
                    panic_text(panic.as_ref())
                ))
            });
        // Without a receiver there is nobody to tell.
        let _ = events.send((job, AskEvent::Finished(finished))).await;
    });
    job
}

/// Asks the model and gives the stored record: the reply read and scored, or the failure. `on_event` gets
/// everything but the end; it hands an event back (`Err`) that it can't take now, and is given it again later,
/// with what has come meanwhile.
///
/// # Errors
/// A sentence where the record could not be stored; it names the file that holds it instead.
pub async fn ask(
    request: AskRequest,
    cancel: &CancellationToken,
    on_event: &mut (dyn FnMut(AskEvent) -> Result<(), AskEvent> + Send),
) -> Result<Box<ReplyRecord>, String> {
    let chat = request.chat();
    let merger = Merger::default();
    let result = stream(request.model.as_ref(), &chat, cancel, &merger, on_event).await;
    let kept = keep_result(request, result).await;
    // The record is safe; now whoever watches gets the rest.
    while !merger.flush(on_event) {
        tokio::time::sleep(BATCH).await;
    }
    kept
}

/// [`ask`] where nobody watches: pieces of the reply are gathered and not sent on, which at thousands of them a
/// second is most of the work.
///
/// # Errors
/// As [`ask`].
pub(super) async fn ask_unseen(
    request: AskRequest,
    cancel: &CancellationToken,
) -> Result<Box<ReplyRecord>, String> {
    let chat = request.chat();
    let received = Mutex::new(Received::default());
    let mut push = |delta: Delta| {
        received
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(&delta);
    };
    let call = AssertUnwindSafe(async { request.model.reply(&chat, cancel, &mut push).await })
        .catch_unwind();
    let result = tokio::select! {
        biased;
        ended = call => ended.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))),
        () = overdue(cancel) => {
            let received = received.lock().unwrap_or_else(PoisonError::into_inner);
            let_go(received.clone())
        }
    };
    keep_result(request, result).await
}

impl AskRequest {
    /// What the model gets.
    pub fn chat(&self) -> ChatRequest {
        ChatRequest {
            prompt: self.instance.prompt.clone(),
            form: self.instance.shape.clone().into(),
            sampling: self.sampling.clone(),
        }
    }
}

/// Reads, scores and stores what came, where that may take its time.
async fn keep_result(
    request: AskRequest,
    result: Result<Reply, ModelError>,
) -> Result<Box<ReplyRecord>, String> {
    let kept = tokio::task::spawn_blocking(move || {
        let record = record::record(&request, &result);
        record::keep(request.store.as_ref(), record)
    })
    .await;
    match kept {
        Ok(kept) => kept.map(Box::new),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err("the program ended before the reply was stored".to_owned()),
        },
    }
}

/// Runs the model; deltas go out in batches. A panic of the model becomes a failure.
async fn stream(
    model: &dyn ChatModel,
    chat: &ChatRequest,
    cancel: &CancellationToken,
    merger: &Merger,
    on_event: &mut (dyn FnMut(AskEvent) -> Result<(), AskEvent> + Send),
) -> Result<Reply, ModelError> {
    let mut push = {
        let merger = merger.clone();
        move |delta| merger.push(delta)
    };
    // The closure runs the call's first part too, which may panic as well.
    let call =
        AssertUnwindSafe(async { model.reply(chat, cancel, &mut push).await }).catch_unwind();
    tokio::pin!(call);
    let overdue = overdue(cancel);
    tokio::pin!(overdue);
    let mut next_batch = Instant::now();
    let mut all_sent = true;
    loop {
        let batch = async {
            if all_sent {
                merger.arrived().await;
            }
            tokio::time::sleep_until(next_batch).await;
        };
        tokio::select! {
            biased;
            ended = &mut call => return ended.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))),
            () = &mut overdue => return let_go(merger.received()),
            () = batch => {
                all_sent = merger.flush(on_event);
                next_batch = Instant::now() + BATCH;
            }
        }
    }
}

/// Ends when a model has had its time to stop after it was told to.
async fn overdue(cancel: &CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

/// The end of a model that did not stop when it was told to: what has come is kept.
fn let_go(received: Received) -> Result<Reply, ModelError> {
    if received.text.is_empty() && received.reasoning.is_empty() {
        return Err(ModelError::new(
            FailureKind::Cancelled,
            "stopped before any text came; the model did not react and was let go",
        ));
    }
    Ok(Reply {
        text: received.text,
        reasoning: received.reasoning,
        ..Reply::nothing()
    })
}

/// The failure of a call whose code panicked.
pub(super) fn panicked(panic: &(dyn std::any::Any + Send)) -> ModelError {
    ModelError::new(
        FailureKind::Local,
        format!(
            "the model's code failed: {}; please report this",
            panic_text(panic)
        ),
    )
}

/// What a panic says.
fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no reason given".to_owned())
}
