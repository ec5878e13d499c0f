//! State of live search.

use crate::retrieval::{Found, IndexInfo, Method};
use crate::tui::app::input::Input;
use crate::tui::app::{Screen, Ticket};

/// The index behind the screen.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum IndexState {
    /// Not asked for yet, or cancelled.
    #[default]
    None,
    /// Being built.
    Building {
        /// The job.
        ticket: Ticket,
        /// Stage, done, total.
        progress: Option<(String, usize, usize)>,
    },
    /// Could not be built: one sentence.
    Failed(String),
    /// Ready to be searched.
    Ready(IndexInfo),
}

/// The lists, in screen order.
pub const METHODS: [Method; 3] = [Method::Dense, Method::Bm25, Method::Hybrid];

/// One list of hits: none yet, or what came of the search.
pub type Hits = Option<Result<Found, String>>;

/// Live search.
#[derive(Debug, Default)]
pub struct RetrievalState {
    /// The index.
    pub index: IndexState,
    /// The query line.
    pub query: Input,
    /// Whether keys go to the query line.
    pub typing: bool,
    /// The newest search; its answers are the ones shown.
    pub asking: Option<Ticket>,
    /// Whether it has not been answered yet.
    pub searching: bool,
    /// What the lists answer.
    pub asked: String,
    /// Hits per method, in the order of [`METHODS`].
    pub lists: [Hits; 3],
    /// recall@k of HNSW against the exact scan for this very query.
    pub recall: Option<f64>,
    /// Which list is focused.
    pub focus: usize,
    /// Chosen hit in each list.
    pub selected: [usize; 3],
    /// First visible hit in each list.
    pub top: [usize; 3],
    /// Whether the focused list fills the screen.
    pub zoom: bool,
    /// For each list and hit: whether it is signal for the question one came from.
    pub signal: [Vec<bool>; 3],
    /// Something about the index that must be known.
    pub note: Option<String>,
    /// The question one came from.
    pub question: Option<String>,
    /// Where back leads.
    pub from: Option<Screen>,
}

impl RetrievalState {
    /// Whether an index is being built or a search runs.
    pub fn is_busy(&self) -> bool {
        matches!(self.index, IndexState::Building { .. }) || self.searching
    }

    /// The focused list's hits.
    pub fn hits(&self, list: usize) -> usize {
        match self.lists.get(list) {
            Some(Some(Ok(found))) => found.hits.len(),
            _ => 0,
        }
    }
}
