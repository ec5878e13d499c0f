//! State of live search.

use std::collections::VecDeque;
use std::time::Duration;

use crate::domain::ranking::MeasuresAt;
use crate::retrieval::map::Map;
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
        /// How far it is; `None` before the first report.
        progress: Option<BuildState>,
        /// The encoder it uses, once it is known.
        encoder: Option<EncoderName>,
    },
    /// Could not be built: one sentence.
    Failed(String),
    /// Ready to be searched.
    Ready(IndexInfo),
}

/// The encoder of an index that is being built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncoderName {
    /// Name shown.
    pub name: String,
    /// Whether it stands in for MedCPT.
    pub stand_in: bool,
}

/// The stage of an index that needs no building.
const OPENING: &str = "opening the index";

/// How far a stage of the building is, and how fast it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildState {
    /// The stage's name.
    pub stage: String,
    /// Done of `total`.
    pub done: usize,
    /// All there is to do; 0 where it can't be counted.
    pub total: usize,
    /// When how much was done, oldest first, on the app's clock.
    marks: VecDeque<(Duration, usize)>,
}

/// The speed is that of this last stretch: long documents are encoded first, so that the mean since the start
/// would be too low.
const STRETCH: Duration = Duration::from_secs(60);

/// Marks closer to each other than this are one.
const MARK_EVERY: Duration = Duration::from_secs(1);

impl BuildState {
    /// The first report of a stage.
    pub fn new(stage: String, done: usize, total: usize, now: Duration) -> BuildState {
        BuildState {
            stage,
            done,
            total,
            marks: VecDeque::from([(now, done)]),
        }
    }

    /// The next report: of the same stage, or of the one after it.
    pub fn advance(&mut self, stage: String, done: usize, total: usize, now: Duration) {
        if stage != self.stage || total != self.total || done < self.done {
            *self = BuildState::new(stage, done, total, now);
            return;
        }
        self.done = done;
        let recent = self
            .marks
            .back()
            .is_some_and(|(at, _)| now.saturating_sub(*at) < MARK_EVERY);
        // The very first mark is where counting starts, so it is never moved.
        if recent && self.marks.len() > 1 {
            self.marks.pop_back();
        }
        self.marks.push_back((now, done));
        // One mark older than the stretch stays, so that the stretch is covered.
        while self
            .marks
            .get(1)
            .is_some_and(|(at, _)| now.saturating_sub(*at) > STRETCH)
        {
            self.marks.pop_front();
        }
    }

    /// Pieces per second of late; `None` before it can be told.
    pub fn rate(&self) -> Option<f64> {
        let ((from, before), (to, after)) = (self.marks.front()?, self.marks.back()?);
        let seconds = to.saturating_sub(*from).as_secs_f64();
        let done = after.saturating_sub(*before);
        (seconds >= 0.5 && done > 0).then(|| done as f64 / seconds)
    }

    /// Time left at that speed, seen from `now`.
    pub fn left(&self, now: Duration) -> Option<Duration> {
        let seconds = self.total.saturating_sub(self.done) as f64 / self.rate()?;
        let since = now.saturating_sub(self.marks.back()?.0);
        Some(
            Duration::try_from_secs_f64(seconds)
                .ok()?
                .saturating_sub(since),
        )
    }
}

/// The lists, in screen order.
pub const METHODS: [Method; 3] = [Method::Dense, Method::Bm25, Method::Hybrid];

/// The place of BM25 among them.
pub const WORDS: usize = 1;

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
    /// The query before a new one was begun, while that is typed.
    pub kept: Option<Input>,
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
    /// Whether the map fills the screen.
    pub map_page: bool,
    /// Query and hits on a plane; `None` where there are no vectors.
    pub map: Option<Map>,
    /// How well each list found the question's signal documents.
    pub measures: [Option<MeasuresAt>; 3],
    /// Nothing is measured, since the index holds none of the question's signal documents.
    pub absent: bool,
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

    /// Whether words are all that this index can be searched by.
    pub fn words_only(&self) -> bool {
        matches!(&self.index, IndexState::Ready(info) if info.encoder.is_none())
    }

    /// Whether an index that is there already is being opened, rather than one built.
    pub fn is_opening(&self) -> bool {
        match &self.index {
            IndexState::Building {
                progress: Some(build),
                ..
            } => build.stage == OPENING,
            _ => false,
        }
    }

    /// The id of the chosen hit of the focused list.
    pub fn chosen(&self) -> Option<&str> {
        let found = self.lists.get(self.focus)?.as_ref()?.as_ref().ok()?;
        let hit = found.hits.get(*self.selected.get(self.focus)?)?;
        Some(&hit.id)
    }

    /// Hits of a list.
    pub fn hits(&self, list: usize) -> usize {
        match self.lists.get(list) {
            Some(Some(Ok(found))) => found.hits.len(),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_speed_is_that_of_the_last_stretch() {
        // A resumed encode starts in the middle: what was there before is no speed.
        let mut build = BuildState::new("encoding".into(), 1000, 4000, at(0));
        assert_eq!((build.rate(), build.left(at(9))), (None, None));
        build.advance("encoding".into(), 1020, 4000, at(10));
        assert_eq!(build.rate(), Some(2.0));
        assert_eq!(build.left(at(10)), Some(at(1490)));
        assert_eq!(build.left(at(20)), Some(at(1480)));
        // Ten times as fast from then on: after the stretch the slow start is forgotten.
        for second in 11..=80 {
            let done = 1020 + (second - 10) * 20;
            build.advance("encoding".into(), done, 4000, at(second as u64));
        }
        assert_eq!(build.rate(), Some(20.0));
        assert!(build.marks.len() <= 63, "{}", build.marks.len());
    }

    #[test]
    fn a_new_stage_counts_anew() {
        let mut build = BuildState::new("encoding".into(), 0, 10, at(0));
        build.advance("encoding".into(), 10, 10, at(5));
        assert_eq!(build.left(at(5)), Some(Duration::ZERO));
        build.advance("adding vectors".into(), 0, 10, at(6));
        assert_eq!(
            (build.stage.as_str(), build.rate()),
            ("adding vectors", None)
        );
    }
}
