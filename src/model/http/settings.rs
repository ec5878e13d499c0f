//! Settings of a model on an OpenAI-compatible server.

use std::str::FromStr;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::model::http::secret::Secret;

/// How the reply's shape is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResponseFormat {
    /// Only by the prompt.
    #[default]
    None,
    /// `{"type": "json_object"}`.
    JsonObject,
    /// `{"type": "json_schema"}` with the schema of the instance.
    JsonSchema,
}

impl FromStr for ResponseFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(ResponseFormat::None),
            "json_object" => Ok(ResponseFormat::JsonObject),
            "json_schema" => Ok(ResponseFormat::JsonSchema),
            _ => Err(format!(
                "\"{text}\" is not a format; expected none, json_object or json_schema"
            )),
        }
    }
}

/// The body's field for the most tokens of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MaxTokensField {
    /// What most servers take.
    #[default]
    MaxTokens,
    /// What OpenAI takes for all its models.
    MaxCompletionTokens,
}

impl MaxTokensField {
    /// The field's name.
    pub fn name(self) -> &'static str {
        match self {
            MaxTokensField::MaxTokens => "max_tokens",
            MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

impl FromStr for MaxTokensField {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [
            MaxTokensField::MaxTokens,
            MaxTokensField::MaxCompletionTokens,
        ]
        .into_iter()
        .find(|field| field.name() == text)
        .ok_or_else(|| {
            format!("\"{text}\" is not a field; expected max_tokens or max_completion_tokens")
        })
    }
}

/// When and how often a failed attempt is made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts after the first; 0 for none.
    pub retries: u32,
    /// Longest wait before the first retry; it doubles with each further one.
    pub base: Duration,
    /// Longest wait that backoff reaches.
    pub cap: Duration,
    /// Longest wait that a server's `Retry-After` can ask for.
    pub retry_after_cap: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy {
            retries: 4,
            base: Duration::from_secs(1),
            cap: Duration::from_secs(30),
            retry_after_cap: Duration::from_secs(120),
        }
    }
}

/// Settings of a model on an OpenAI-compatible server. `Debug` never shows the key.
#[derive(Clone, PartialEq)]
pub struct HttpSettings {
    /// The name shown and stored, such as `openai:gpt-4o-mini` or a name of the config.
    pub name: String,
    /// Such as `http://localhost:11434/v1`; `/chat/completions` is added to its path.
    pub base_url: String,
    /// The server's name for the model.
    pub model: String,
    /// The key, from the environment.
    pub key: Option<Secret>,
    /// The variable that the key comes from, for messages.
    pub key_env: Option<String>,
    /// Whether a missing key is an error before any call.
    pub key_required: bool,
    /// Context window in tokens, where known.
    pub window: Option<u32>,
    /// The body's field for the most tokens of a reply.
    pub max_tokens_field: MaxTokensField,
    /// How the reply's shape is asked for.
    pub response_format: ResponseFormat,
    /// Further fields of the body; `false` leaves out a field that would be sent.
    pub extra: Map<String, Value>,
    /// How many of the likeliest tokens are asked for at every place; `None` asks for none.
    pub top_logprobs: Option<u8>,
    /// Retries.
    pub retry: RetryPolicy,
    /// Longest time to connect.
    pub connect_timeout: Duration,
    /// Longest silence while a reply is awaited or streams; there is no limit on the whole.
    pub read_timeout: Duration,
    /// Most bytes of text and reasoning of one reply.
    pub reply_cap: usize,
}

impl HttpSettings {
    /// Settings with the defaults for everything but name, address and model.
    pub fn new(name: &str, base_url: &str, model: &str) -> HttpSettings {
        HttpSettings {
            name: name.to_owned(),
            base_url: base_url.trim().to_owned(),
            model: model.to_owned(),
            key: None,
            key_env: None,
            key_required: false,
            window: None,
            max_tokens_field: MaxTokensField::default(),
            response_format: ResponseFormat::default(),
            extra: Map::new(),
            top_logprobs: None,
            retry: RetryPolicy::default(),
            connect_timeout: Duration::from_secs(10),
            // Local servers read long prompts for minutes before the first token.
            read_timeout: Duration::from_secs(300),
            reply_cap: 4 << 20,
        }
    }
}

impl std::fmt::Debug for HttpSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The base URL and extra fields are left out: either may hide a password.
        f.debug_struct("HttpSettings")
            .field("name", &self.name)
            .field("model", &self.model)
            .field("key", &self.key)
            .field("key_env", &self.key_env)
            .field("window", &self.window)
            .field("max_tokens_field", &self.max_tokens_field)
            .field("response_format", &self.response_format)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}
