//! State of full-text search.

pub use crate::domain::excerpt::{TextHit, TextKind};
use crate::tui::app::input::Input;
use crate::tui::app::{Screen, Ticket};

/// Whether everything that is open can be searched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FindIndex {
    /// Not asked for.
    #[default]
    None,
    /// Being made: its job, and texts done of all.
    Building(Ticket, Option<(usize, usize)>),
    /// There: texts of each kind.
    Ready([usize; 5]),
    /// Could not be made: one sentence.
    Failed(String),
}

/// State of full-text search.
#[derive(Debug, Default)]
pub struct FindState {
    /// The words.
    pub input: Input,
    /// Whether keys go to them.
    pub typing: bool,
    /// The words before new ones were begun, while these are typed.
    pub kept: Option<Input>,
    /// Whether it can be searched.
    pub index: FindIndex,
    /// The run whose replies are searched; `None`: those of all runs.
    pub run: Option<String>,
    /// Replies or notes have changed since it was made.
    pub stale: bool,
    /// The words that `hits` answers, or will.
    pub asked: String,
    /// The job that searches.
    pub asking: Option<Ticket>,
    /// What was found, best first.
    pub hits: Vec<TextHit>,
    /// Why nothing could be searched: one sentence.
    pub problem: Option<String>,
    /// Chosen hit.
    pub selected: usize,
    /// First visible hit.
    pub top: usize,
    /// Where one came from.
    pub from: Option<Screen>,
}
