//! Typed settings: defaults, then the user's file, the project's file, the environment, flags.
//!
//! Everything here is pure: reading files and the environment happens in `cli::settings`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The highest sampling temperature that settings and flags may ask for; OpenAI's own limit. More is noise.
pub const HOTTEST: f64 = 2.0;

/// All settings after merging.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The model that `ask` and the explorer use: a name from `models`, or as `--model` takes it.
    pub model: String,
    /// Theme name (`themes/NAME.toml`), or `auto`.
    pub theme: String,
    /// Folder with prompt templates that replace ours one by one.
    pub prompts: Option<PathBuf>,
    /// Under which name you label replies; without it the login name.
    pub annotator: Option<String>,
    /// A file with the failures that replies are labelled with, instead of ours.
    pub taxonomy: Option<PathBuf>,
    /// Most tokens of a reply.
    pub max_tokens: u32,
    /// Sampling temperature; 0 is greedy.
    pub temperature: f64,
    /// Retrieval settings.
    pub retrieval: RetrievalConfig,
    /// Named models.
    pub models: BTreeMap<String, ModelConfig>,
    /// Keys that differ from the built-in ones: command name → keys.
    pub keys: BTreeMap<String, Vec<String>>,
    /// Whether the mouse is captured (takes text selection away from the terminal).
    pub mouse: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            model: "embedded".into(),
            theme: "auto".into(),
            prompts: None,
            annotator: None,
            taxonomy: None,
            max_tokens: 1024,
            temperature: 0.0,
            retrieval: RetrievalConfig::default(),
            models: BTreeMap::new(),
            keys: BTreeMap::new(),
            mouse: false,
        }
    }
}

/// Settings of live retrieval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetrievalConfig {
    /// `auto` (MedCPT, else its stand-in), a model name, or a folder.
    pub encoder: String,
    /// `auto`, `cuda`, `wgpu` or `cpu`.
    pub backend: String,
    /// Hits shown.
    pub k: usize,
}

impl Default for RetrievalConfig {
    fn default() -> Self {
        RetrievalConfig {
            encoder: "auto".into(),
            backend: "auto".into(),
            k: 10,
        }
    }
}

/// A named model on an OpenAI-compatible server, or a local file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// A preset of servers and windows to start from, such as `ollama`, `vllm` or `gpt-3.5`.
    pub preset: Option<String>,
    /// The server's name for the model.
    pub model: Option<String>,
    /// Such as `http://localhost:11434/v1`.
    pub base_url: Option<String>,
    /// Name of the environment variable that holds the key; never the key itself.
    pub api_key_env: Option<String>,
    /// Path of a GGUF file: makes this an embedded model.
    pub file: Option<PathBuf>,
    /// Context window in tokens.
    pub window: Option<u32>,
    /// Most tokens of a reply.
    pub max_tokens: Option<u32>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Seed of the sampler.
    pub seed: Option<u64>,
    /// How the reply's shape is asked for: `none`, `json_object` or `json_schema`.
    pub response_format: Option<String>,
    /// The body's field for `max_tokens`: `max_tokens` or `max_completion_tokens`.
    pub max_tokens_field: Option<String>,
    /// Further fields of the request body; `false` leaves out a field that would be sent
    /// (`extra = { temperature = false }`).
    pub extra: BTreeMap<String, toml::Value>,
    /// Dollars per million prompt tokens.
    pub price_in: Option<f64>,
    /// Dollars per million reply tokens.
    pub price_out: Option<f64>,
    /// Attempts after the first.
    pub retries: Option<u32>,
    /// The most calls that a sweep starts per minute.
    pub rpm: Option<u32>,
    /// The most tokens of calls that a sweep starts per minute: predicted prompts and the most of replies together.
    pub tpm: Option<u32>,
    /// Asks the server for the likeliest tokens at every place, so many of them (1 to 20): the probabilities of the
    /// options are taken from there.
    pub top_logprobs: Option<u8>,
}

/// The folders of this program (XDG on Linux).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// `config.toml`, `themes/`, `prompts/`.
    pub config: PathBuf,
    /// The run store and annotations.
    pub data: PathBuf,
    /// Models, embeddings: can be made again.
    pub cache: PathBuf,
    /// Logs, and where one was in a dataset.
    pub state: PathBuf,
}
