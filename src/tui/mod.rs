//! The explorer: a pure machine (`update`) with views that are functions of its state.
//!
//! Inner rule: `view → app, theme, keymap, widgets`, never `update` or `effects`; only `effects` and the
//! loop touch the engine.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::data::talk::Script;
use crate::domain::annotation::Taxonomy;
use crate::domain::prompt::Templates;
use crate::model::replay::Pace;
use crate::model::{ChatModel, ModelError, Sampling};
use crate::retrieval::{EncoderFolders, Method, Search};
use crate::tui::theme::ColorDepth;

pub mod app;
pub mod command;
pub mod editor;
pub mod effects;
pub mod keymap;
pub mod message;
pub mod terminal;
pub mod theme;
pub mod update;
pub mod view;
pub mod widgets;

mod keyboard;
mod run;

pub use run::run;

/// The dataset to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A dataset folder.
    Folder(PathBuf),
    /// The sample that is built into the program.
    Sample,
}

/// Opens a model; called off the draw path, and again after a failure when the user asks again.
pub type OpenModel = Arc<dyn Fn() -> Result<Arc<dyn ChatModel>, ModelError> + Send + Sync>;

/// Finds an encoder; called off the draw path. `Ok(None)` or an error leaves BM25, and the text says why.
pub type FindEncoder = Arc<dyn Fn() -> Result<Option<EncoderFolders>, String> + Send + Sync>;

/// Opens an index that is there already; called off the draw path, and again when the user asks again. An
/// error is one clear sentence.
pub type OpenIndex = Arc<dyn Fn() -> Result<Arc<dyn Search>, String> + Send + Sync>;

/// Dollars per million prompt and reply tokens, as far as they are known.
pub type Prices = (Option<f64>, Option<f64>);

/// Opens the model of a name; called off the draw path.
pub type OpenNamed = Arc<dyn Fn(&str) -> Result<Arc<dyn ChatModel>, ModelError> + Send + Sync>;

/// How a model is asked.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    /// Sampling settings.
    pub sampling: Sampling,
    /// What it costs.
    pub prices: Prices,
    /// Calls and tokens per minute that its provider allows, where that is limited.
    pub per_minute: (Option<u32>, Option<u32>),
}

/// How the model of a name is asked.
pub type NamedSettings = Arc<dyn Fn(&str) -> ModelSettings + Send + Sync>;

/// The name under which the replies of the model of a name are stored, without opening it.
pub type JudgeName = Arc<dyn Fn(&str) -> Result<String, String> + Send + Sync>;

/// Opens the indexes of these names, searched as one, with the way in which they are asked best; called off the draw
/// path. An error is one clear sentence.
pub type OpenIndexes =
    Arc<dyn Fn(&[String]) -> Result<(Arc<dyn Search>, Method), String> + Send + Sync>;

/// Models by name, for sweeps.
#[derive(Clone)]
pub struct Shelf {
    /// Names of the configured models.
    pub names: Vec<String>,
    /// Flags that a command needs to reach the same model.
    pub flags: Vec<String>,
    /// How to open one.
    pub open: OpenNamed,
    /// How to ask it.
    pub settings: NamedSettings,
    /// How its replies are named.
    pub judge_name: JudgeName,
}

/// The model to ask.
#[derive(Clone)]
pub struct ModelChoice {
    /// Name shown before it is opened.
    pub name: String,
    /// How to open it.
    pub open: OpenModel,
}

/// Where it is remembered what one looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// The file.
    pub path: PathBuf,
    /// Whether to start afresh.
    pub fresh: bool,
}

/// Everything the explorer starts with.
#[derive(Clone)]
pub struct Setup {
    /// Read after the first frame.
    pub dataset: Source,
    /// Opened after the first frame.
    pub model: ModelChoice,
    /// Models that a sweep may ask.
    pub shelf: Shelf,
    /// Sampling settings of every call.
    pub sampling: Sampling,
    /// Name of the run under which replies are stored.
    pub run: String,
    /// The run store; `None` keeps replies in memory only.
    pub store: Option<PathBuf>,
    /// Where it is remembered what one looks at; `None` remembers nothing.
    pub session: Option<Remembered>,
    /// Under which name replies are labelled.
    pub annotator: String,
    /// Whether that name was given, rather than guessed.
    pub annotator_named: bool,
    /// The labels.
    pub taxonomy: Taxonomy,
    /// Prompt templates.
    pub templates: Templates,
    /// Looked for when the retrieval screen is opened.
    pub encoder: FindEncoder,
    /// Searched instead of the dataset's own documents.
    pub index: Option<OpenIndex>,
    /// Indexes that a build searches.
    pub indexes: OpenIndexes,
    /// Where the encoder runs.
    pub backend: medrgb_encoder::BackendChoice,
    /// Folder for embeddings; `None` keeps nothing.
    pub cache: Option<PathBuf>,
    /// Hits per list on the retrieval screen.
    pub hits: usize,
    /// Theme name, or `auto`.
    pub theme: String,
    /// Folder with the user's themes.
    pub themes: Option<PathBuf>,
    /// Colours to use; `None` finds out from the environment. `NO_COLOR` is [`ColorDepth::None`].
    pub colors: Option<ColorDepth>,
    /// Where the theme was chosen: file and line, or a variable.
    pub theme_place: Option<String>,
    /// Keys that differ from the table: command name → keys.
    pub keys: BTreeMap<String, Vec<String>>,
    /// Where they were set: command name → file and line.
    pub key_places: BTreeMap<String, String>,
    /// Whether the mouse is captured from the start.
    pub mouse: bool,
    /// Whether nothing moves by itself.
    pub reduced_motion: bool,
    /// A talk to be given.
    pub talk: Option<Arc<Script>>,
    /// How fast a recorded run is played, where the model is one.
    pub pace: Pace,
}

/// The explorer can't run.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// Standard input or output is no terminal.
    #[error(
        "the explorer needs a terminal, but standard {0} is not one; `medrgb compose`, `ask` and `search` work without"
    )]
    NotATerminal(&'static str),
    /// The terminal has no screens: what it says it is (`TERM`).
    #[error(
        "the explorer can't be shown on a terminal of the kind \"{0}\" (TERM); set TERM to what it is, such as xterm-256color, or use `medrgb compose`, `ask` and `search`"
    )]
    NoScreens(String),
    /// The dataset could not be opened: the sentence that was on the screen.
    #[error("{0}")]
    Dataset(String),
    /// The terminal failed.
    #[error("the terminal can't be used: {0}")]
    Terminal(#[from] std::io::Error),
}
