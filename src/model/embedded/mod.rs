//! GGUF models in this process, through llama.cpp.
//!
//! One thread per model owns it and its context; calls talk to it over channels. The reply's shape
//! is forced: see [`grammar`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::domain::text::short;
use crate::model::embedded::loaded::local;
use crate::model::embedded::session::Limits;
use crate::model::embedded::worker::{Event, Job, Worker};
use crate::model::fetch::{HubCaches, locate};
use crate::model::registry::{self, ModelEntry, Purpose};
use crate::model::select::{EmbeddedSource, EmbeddedSpec};
use crate::model::{
    BackendKind, ChatModel, ChatRequest, Delta, FailureKind, ModelError, ModelIdentity, Reply,
    Timing, millis,
};

pub mod gguf;
pub mod grammar;
mod loaded;
mod sampling;
mod session;
mod template;
mod worker;
mod writer;

pub use sampling::REPEAT_PENALTY;
pub use worker::is_computing;

/// Window where neither the config nor the model sets a smaller one: beyond it a prompt takes
/// minutes on a processor and the context hundreds of megabytes.
pub const DEFAULT_WINDOW: u32 = 16_384;

/// Events that may wait between the worker and the caller.
const WAITING_EVENTS: usize = 256;

/// Opens a model: cheap, it is loaded at the first request. `models_dir` is the folder of fetched models.
///
/// # Errors
/// [`ModelError`] if the file is not there, is no GGUF file, or is cut off.
pub fn open(spec: &EmbeddedSpec, models_dir: &Path) -> Result<Arc<dyn ChatModel>, ModelError> {
    Ok(Arc::new(EmbeddedModel::open(spec, models_dir)?))
}

/// A GGUF model in this process.
pub struct EmbeddedModel {
    identity: ModelIdentity,
    worker: Worker,
}

impl EmbeddedModel {
    /// As [`open`].
    ///
    /// # Errors
    /// As [`open`].
    pub fn open(spec: &EmbeddedSpec, models_dir: &Path) -> Result<Self, ModelError> {
        let (path, entry) = find_file(&spec.source, models_dir)?;
        let header = gguf::read_header(&path).map_err(|error| local(error.to_string()))?;
        let trained = header.context_length.unwrap_or(DEFAULT_WINDOW);
        let window = spec.window.unwrap_or(DEFAULT_WINDOW).min(trained).max(1);
        let identity = ModelIdentity {
            name: spec.name.clone(),
            backend: BackendKind::Embedded,
            detail: detail(&path, header.bytes, entry),
            caution: entry.and_then(|entry| entry.caution).map(str::to_owned),
            window: Some(window),
            replayed: Vec::new(),
        };
        let limits = Limits {
            window,
            threads: threads(),
        };
        Ok(EmbeddedModel {
            identity,
            worker: Worker::new(path, limits),
        })
    }

    /// Loads the model now instead of at the first request.
    ///
    /// # Errors
    /// [`ModelError`] if it can't be loaded.
    pub async fn warm(&self) -> Result<(), ModelError> {
        let (events, mut inbox) = mpsc::channel(WAITING_EVENTS);
        let cancel = CancellationToken::new();
        let _stop_when_dropped = cancel.clone().drop_guard();
        self.worker.send(Job {
            request: None,
            cancel,
            events,
            started: Instant::now(),
        })?;
        loop {
            match inbox.recv().await {
                Some(Event::Delta(_)) => {}
                Some(Event::Done(result)) => return result.map(|_| ()),
                None => return Err(died()),
            }
        }
    }

    async fn ask(
        &self,
        request: &ChatRequest,
        cancel: &CancellationToken,
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Reply, ModelError> {
        let started = Instant::now();
        let (events, mut inbox) = mpsc::channel(WAITING_EVENTS);
        let stop = cancel.child_token();
        // Also when this future is dropped.
        let _stop_when_dropped = stop.clone().drop_guard();
        self.worker.send(Job {
            request: Some(request.clone()),
            cancel: stop,
            events,
            started,
        })?;
        let mut so_far = SoFar::default();
        loop {
            // The worker looks at the flag between two computations; who asked need not wait for that.
            let event = tokio::select! {
                biased;
                event = inbox.recv() => event,
                () = cancel.cancelled() => return so_far.interrupted(started),
            };
            match event {
                Some(Event::Delta(delta)) => {
                    so_far.note(&delta, started);
                    on_delta(delta);
                }
                Some(Event::Done(result)) => return *result,
                None => return Err(died()),
            }
        }
    }
}

impl ChatModel for EmbeddedModel {
    fn identify(&self, request: &ChatRequest) -> Option<serde_json::Value> {
        // The window only decides whether there is a reply.
        Some(serde_json::json!({"file": self.identity.detail, "request": request}))
    }

    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn reply<'a>(
        &'a self,
        request: &'a ChatRequest,
        cancel: &'a CancellationToken,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(self.ask(request, cancel, on_delta))
    }
}

/// What has come of a reply, for the case that it is stopped.
#[derive(Default)]
struct SoFar {
    text: String,
    timing: Timing,
}

impl SoFar {
    fn note(&mut self, delta: &Delta, started: Instant) {
        if let Delta::Text(text) = delta {
            let now = millis(started.elapsed());
            self.timing.first_token_ms.get_or_insert(now);
            let short = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
            let piece = (short(now), short(text.len() as u64));
            self.timing.timeline.push(piece);
            self.text.push_str(text);
        }
    }

    fn interrupted(self, started: Instant) -> Result<Reply, ModelError> {
        if self.text.is_empty() {
            return Err(ModelError::new(
                FailureKind::Cancelled,
                "the reply was stopped before it began",
            ));
        }
        Ok(Reply {
            text: self.text,
            timing: Timing {
                total_ms: millis(started.elapsed()),
                ..self.timing
            },
            ..Reply::nothing()
        })
    }
}

fn died() -> ModelError {
    local("the model's thread stopped unexpectedly; the next request loads the model again")
}

/// All cores but one, so that the interface stays quick; both of two, since half of them would double
/// every wait (measured: 20 against 12 tokens a second on two idle cores).
fn threads() -> i32 {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = if cores <= 2 { cores } else { cores - 1 };
    i32::try_from(threads).unwrap_or(1)
}

fn find_file(
    source: &EmbeddedSource,
    models_dir: &Path,
) -> Result<(PathBuf, Option<&'static ModelEntry>), ModelError> {
    let name = match source {
        EmbeddedSource::File(path) => return Ok((path.clone(), None)),
        EmbeddedSource::Known(name) => name,
    };
    let entry = registry::find(name)
        .filter(|entry| entry.purpose == Purpose::Chat)
        .ok_or_else(|| {
            let known = registry::MODELS.iter().filter(|entry| entry.purpose == Purpose::Chat);
            let known: Vec<&str> = known.map(|entry| entry.name).collect();
            if Path::new(name).exists() {
                return ModelError::new(
                    FailureKind::NotFound,
                    format!(
                        "{name} is no GGUF file by its name; a model file ends in .gguf",
                        name = short(name)
                    ),
                );
            }
            ModelError::new(
                FailureKind::NotFound,
                format!(
                    "there is no embedded model \"{name}\"; known are {}, or name a file: embedded:FILE.gguf",
                    known.join(", "), name = short(name)),
            )
        })?;
    let found = locate(entry, models_dir, &HubCaches::from_environment()).ok_or_else(|| {
        let megabytes = entry.bytes().unwrap_or_default() / 1_000_000;
        local(format!(
            "the model {name} is not on this machine; `medrgb models pull {name}` fetches it ({megabytes} MB)"
        ))
    })?;
    Ok((found.path, Some(entry)))
}

fn detail(path: &Path, bytes: u64, entry: Option<&ModelEntry>) -> String {
    let file = match path.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => path.display().to_string(),
    };
    match entry
        .and_then(|entry| entry.files.first())
        .and_then(|file| file.sha256)
    {
        Some(hash) => format!("{file} sha256:{hash}"),
        None => format!("{file}, {bytes} bytes"),
    }
}
