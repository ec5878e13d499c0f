//! Language models: HTTP servers, embedded GGUF models, replays of recorded runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::domain::answer::{Ending, ReplyShape};
use crate::domain::prompt::Prompt;

pub use error::{FailureKind, ModelError};
pub use fields::{Field, FieldKind};

#[cfg(feature = "embedded")]
pub mod embedded;
pub mod entry;
pub mod error;
pub mod fetch;
pub mod fields;
pub mod http;
pub mod open;
pub mod presets;
pub mod registry;
pub mod replay;
pub mod schema;
pub mod select;
pub mod tokens;

/// Sampling settings of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// 0 is greedy.
    pub temperature: f64,
    /// Nucleus; `None` leaves it to the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Seed of the sampler where the backend has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Most tokens of a reply.
    pub max_tokens: u32,
}

impl Default for Sampling {
    fn default() -> Self {
        Sampling {
            temperature: 0.0,
            top_p: None,
            seed: None,
            max_tokens: 1024,
        }
    }
}

/// What is asked of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatRequest {
    /// The two messages.
    pub prompt: Prompt,
    /// The form that a backend may force (grammar, JSON schema).
    pub form: ReplyForm,
    /// Sampling settings.
    pub sampling: Sampling,
}

/// What a reply must look like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyForm {
    /// The answers to an instance.
    Instance(ReplyShape),
    /// A judge's reasoning and score.
    Judgement,
    /// A flat object of these fields, in this order.
    Fields(Vec<Field>),
}

impl From<ReplyShape> for ReplyForm {
    fn from(shape: ReplyShape) -> Self {
        ReplyForm::Instance(shape)
    }
}

/// Which model this is, as far as it can be known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelIdentity {
    /// The name shown and stored, such as `qwen2.5-coder-0.5b` or `openai:gpt-4o-mini`.
    pub name: String,
    /// How it is reached.
    pub backend: BackendKind,
    /// Server (scheme, host, path; never a key), file and hash, or the replayed run.
    pub detail: String,
    /// A caution to show beside every score, such as "demo model, not a serious score".
    pub caution: Option<String>,
    /// Context window in tokens where known.
    pub window: Option<u32>,
    /// Names of the models whose replies a replay plays; none for every other backend.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replayed: Vec<String>,
}

impl ModelIdentity {
    /// Whether replies stored under this name are replies of this model; a replay's are those of the models that it plays.
    pub fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.replayed.iter().any(|played| played == name)
    }
}

/// How a model is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendKind {
    /// An OpenAI-compatible server.
    Http,
    /// A GGUF file through llama.cpp.
    Embedded,
    /// A recorded run.
    Replay,
}

/// A piece of a reply as it arrives. Texts are raw: clean them before they are shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// What the backend is doing before the first token ("loading model", "reading prompt 120/900", "retry 2 in 4 s: 429 …").
    Status(String),
    /// An attempt failed and another one follows after a wait: for counting, and for asking less at a time.
    Retry {
        /// Why it failed.
        kind: FailureKind,
        /// HTTP status of an answer that was an error.
        status: Option<u16>,
        /// How long it waits.
        wait: Duration,
        /// By which whoever is told can make it wait longer.
        hold: Hold,
    },
    /// The attempt failed and starts again: drop what has been received.
    Restart,
    /// Text of the provider's separate reasoning field.
    Reasoning(String),
    /// Text of the reply.
    Text(String),
}

/// A wait that others can make longer.
#[derive(Debug, Clone, Default)]
pub struct Hold(Arc<AtomicU64>);

impl Hold {
    /// Lets the next attempt begin no sooner than after this time.
    pub fn at_least(&self, wait: Duration) {
        self.0.fetch_max(millis(wait), Ordering::Relaxed);
    }

    /// How long the wait is at least.
    pub fn wait(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

impl PartialEq for Hold {
    fn eq(&self, other: &Hold) -> bool {
        self.wait() == other.wait()
    }
}

/// Token counts as the backend reports them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: Option<u32>,
    /// Tokens of the reply.
    pub completion_tokens: Option<u32>,
    /// Prompt tokens that came from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u32>,
}

/// When pieces of a reply came: milliseconds after the start and number of bytes of `text`.
/// Together they replay a reply with its real timing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Timing {
    /// Milliseconds to the first token.
    pub first_token_ms: Option<u64>,
    /// Milliseconds to the end.
    pub total_ms: u64,
    /// `(milliseconds, bytes)` per delta of the reply's text.
    pub timeline: Vec<(u32, u32)>,
}

/// A reply, complete or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The raw text, byte for byte as received.
    pub text: String,
    /// Text of the provider's separate reasoning field.
    pub reasoning: String,
    /// How it ended.
    pub ending: Ending,
    /// Token counts.
    pub usage: Usage,
    /// When the pieces came.
    pub timing: Timing,
    /// The model's own probability per option letter, where the backend can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option_probabilities: Option<Vec<(char, f64)>>,
    /// The model's name as the server reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_model: Option<String>,
    /// What the server says of its own configuration (OpenAI's `system_fingerprint`): it changes with the software
    /// behind a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_fingerprint: Option<String>,
    /// Attempts made, the last included.
    pub attempts: u32,
    /// Why it broke off, where it did and more is known than that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broke_off: Option<String>,
}

impl Reply {
    /// A stopped reply of which nothing has come: the beginning of one of which something has.
    pub(crate) fn nothing() -> Reply {
        Reply {
            text: String::new(),
            reasoning: String::new(),
            ending: Ending::Interrupted,
            usage: Usage::default(),
            timing: Timing::default(),
            option_probabilities: None,
            reported_model: None,
            system_fingerprint: None,
            attempts: 1,
            broke_off: None,
        }
    }
}

/// A language model that streams replies.
pub trait ChatModel: Send + Sync {
    /// Which model this is.
    fn identity(&self) -> &ModelIdentity;

    /// When the pieces of the reply to this request came, where that is known before it is played.
    fn recorded(&self, _request: &ChatRequest) -> Option<&Timing> {
        None
    }

    /// Asks once; pieces go to `on_delta` as they arrive. When `cancel` fires the call ends within
    /// 200 ms with what has come so far and [`Ending::Interrupted`].
    ///
    /// # Errors
    /// [`ModelError`] where no reply came; a reply that broke off is `Ok` with `Ending::Interrupted`.
    fn reply<'a>(
        &'a self,
        request: &'a ChatRequest,
        cancel: &'a CancellationToken,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>>;

    /// All that decides the reply to a request, keys left out: for equal requests equal, whatever run or day they
    /// belong to. `None` where replies are not the model's own, so that none may stand for another.
    fn identify(&self, _request: &ChatRequest) -> Option<serde_json::Value> {
        None
    }

    /// The longest silence before a call is taken for lost; `None` where there is no such limit.
    fn patience(&self) -> Option<Duration> {
        None
    }

    /// This model where its provider takes requests in files.
    fn batch(&self) -> Option<&dyn BatchModel> {
        None
    }
}

/// A model whose provider takes requests in files and answers hours later, as OpenAI's Batch API does.
pub trait BatchModel: Send + Sync {
    /// The line of a batch file for a request.
    fn line(&self, custom_id: &str, request: &ChatRequest) -> serde_json::Value;

    /// The reply in a line of the provider's output or error file.
    ///
    /// # Errors
    /// [`ModelError`] where the line holds an error.
    fn reply_of_line(&self, line: &serde_json::Value) -> Result<Reply, ModelError>;
}

/// Time since the start of a call in milliseconds, saturating.
pub(crate) fn millis(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}
