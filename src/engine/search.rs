//! Live search over the documents of a dataset: builds the index beside the interface, answers queries
//! while they are typed.
//!
//! Two threads of its own, never the async runtime's: one builds, one answers. BM25 answers as soon as its
//! index is there; lists that need vectors say so until the encoding has finished, and the last query is
//! then answered once more.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use medrgb_encoder::BackendChoice;
use tokio::sync::mpsc;

use crate::data::dataset::Dataset;
use crate::domain::ranking::MeasuresAt;
use crate::engine::job::JobId;
use crate::engine::search::answers::{Signal, Turn, all_failed, results};
use crate::retrieval::map::Map;
use crate::retrieval::{
    BuildProgress, CorpusDocument, EncoderFolders, Found, IndexInfo, Method, RetrievalError,
    Retriever, Search,
};

mod answers;

#[cfg(test)]
mod tests;

/// What is searched: documents, and what each is signal for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchCorpus {
    /// The documents; ids are unique.
    pub documents: Vec<CorpusDocument>,
    /// For each document the ids of the questions it is signal for.
    pub signal_of: Vec<HashSet<String>>,
}

impl SearchCorpus {
    /// The signal documents of a dataset, each once.
    pub fn of(dataset: &Dataset) -> SearchCorpus {
        let (documents, signal_of) = dataset
            .documents()
            .into_iter()
            .map(|(document, questions)| {
                let entry = CorpusDocument {
                    id: document.id.clone(),
                    title: document.title.clone(),
                    content: document.content.clone(),
                };
                let questions = questions.into_iter().map(str::to_owned).collect();
                (entry, questions)
            })
            .unzip();
        SearchCorpus {
            documents,
            signal_of,
        }
    }
}

/// Opens an index that is there already (a folder, a remote store); called on the service's own thread.
pub type OpenIndex = Arc<dyn Fn() -> Result<Arc<dyn Search>, String> + Send + Sync>;

/// How a service searches.
#[derive(Debug, Clone)]
pub struct SearchSetup {
    /// `None`: BM25 only.
    pub encoder: Option<EncoderFolders>,
    /// Where the encoder runs.
    pub backend: BackendChoice,
    /// Folder for embeddings and graphs; `None` keeps nothing.
    pub cache: Option<PathBuf>,
}

/// A query as it is typed.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchQuery {
    /// Chosen by the caller, carried by the results; the newest query wins.
    pub ticket: u64,
    /// The text.
    pub text: String,
    /// The lists wanted.
    pub methods: Vec<Method>,
    /// Hits per list.
    pub k: usize,
    /// The question whose signal documents are to be marked.
    pub question_id: Option<String>,
}

/// The lists of one query.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResults {
    /// That of the query.
    pub ticket: u64,
    /// The text searched for.
    pub query: String,
    /// One list per method asked for, in that order; an error is one clear sentence.
    pub lists: Vec<(Method, Result<Found, String>)>,
    /// Share of the exact result that the HNSW list has, where the dense list was asked for.
    pub recall_vs_exact: Option<f64>,
    /// For each list and each of its hits: whether it is signal for the query's question.
    pub signal: Vec<Vec<bool>>,
    /// How well each list found the question's signal documents, at ten ranks or as many as were asked for;
    /// `None` where it failed or the question has no signal documents.
    pub measures: Vec<Option<MeasuresAt>>,
    /// The question has signal documents, and none of them is in the index: nothing can be measured.
    pub absent: bool,
    /// Query and hits on a plane; `None` where the index gives no vectors.
    pub map: Option<Map>,
}

/// What happens in a service. The build ends with exactly one `Ready` or `Failed`.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchEvent {
    /// How far the build is; some may be left out when the receiver is slow.
    Building(BuildProgress),
    /// Something that did not go as it should and was dealt with (a damaged cache).
    Note(String),
    /// The build is done: all methods that `info` has an encoder for can be asked.
    Ready(IndexInfo),
    /// The build failed or was cancelled: one clear sentence. BM25 answers if its index was there.
    Failed(String),
    /// Answers to the newest query; for the same ticket once more when the vectors are there.
    Results(Box<SearchResults>),
}

/// A running search service. Dropping it stops its threads (a running step of encoding or searching ends
/// first, in the background).
pub struct SearchService {
    job: JobId,
    shared: Arc<Shared>,
}

impl std::fmt::Debug for SearchService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchService")
            .field("job", &self.job)
            .finish_non_exhaustive()
    }
}

impl SearchService {
    /// Starts building over a corpus. Events arrive on `events` with the service's job id.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(
        corpus: SearchCorpus,
        setup: SearchSetup,
        events: mpsc::Sender<(JobId, SearchEvent)>,
    ) -> Result<SearchService, RetrievalError> {
        let signal = Signal::of(&corpus);
        let documents = corpus.documents;
        SearchService::run(signal, events, move |shared, outbox| {
            build_index(shared, outbox, documents, &setup)
        })
    }

    /// Starts with an index that is there already; of the corpus only the ids and what they are signal for
    /// count. Events as for [`SearchService::start`].
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn open(
        corpus: &SearchCorpus,
        index: OpenIndex,
        events: mpsc::Sender<(JobId, SearchEvent)>,
    ) -> Result<SearchService, RetrievalError> {
        SearchService::run(Signal::of(corpus), events, move |_, outbox| {
            outbox.offer(SearchEvent::Building(BuildProgress {
                stage: "opening the index",
                done: 0,
                total: 0,
            }));
            let index = index().map_err(RetrievalError)?;
            Ok(Built {
                index,
                notes: Vec::new(),
            })
        })
    }

    fn run(
        signal: Signal,
        events: mpsc::Sender<(JobId, SearchEvent)>,
        make: impl FnOnce(&Shared, &Outbox) -> Result<Built, RetrievalError> + Send + 'static,
    ) -> Result<SearchService, RetrievalError> {
        let job = JobId::next();
        let shared = Arc::new(Shared::default());
        let service = SearchService {
            job,
            shared: Arc::clone(&shared),
        };
        let outbox = Outbox { job, events };
        spawn("search build", {
            let (shared, outbox) = (Arc::clone(&shared), outbox.clone());
            move || build(&shared, &outbox, make)
        })?;
        spawn("search", move || answer(&shared, &outbox, &signal))?;
        Ok(service)
    }

    /// The id that this service's events carry.
    pub fn job(&self) -> JobId {
        self.job
    }

    /// Asks; an older query that has not been taken up yet is dropped.
    pub fn ask(&self, query: SearchQuery) {
        self.shared.lock().waiting = Some(query);
        self.shared.changed.notify_all();
    }

    /// Stops the build; what is encoded is kept in the cache and BM25 goes on answering.
    pub fn cancel_build(&self) {
        self.shared.cancel.store(true, Ordering::Relaxed);
    }
}

impl Drop for SearchService {
    fn drop(&mut self) {
        self.shared.cancel.store(true, Ordering::Relaxed);
        self.shared.lock().stopped = true;
        self.shared.changed.notify_all();
    }
}

/// An index that is ready, and what did not go as it should on the way.
struct Built {
    index: Arc<dyn Search>,
    notes: Vec<String>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    cancel: AtomicBool,
}

#[derive(Default)]
struct State {
    waiting: Option<SearchQuery>,
    retriever: Option<Arc<dyn Search>>,
    /// Why lists that need an encoder can't be had, while or after building.
    no_vectors: Option<String>,
    /// Counts what changes the answers: the last query is asked again when it grows.
    stage: u32,
    /// No index will come any more.
    failed: Option<String>,
    stopped: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        state.stage += 1;
        drop(state);
        self.changed.notify_all();
    }

    fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

#[derive(Clone)]
struct Outbox {
    job: JobId,
    events: mpsc::Sender<(JobId, SearchEvent)>,
}

impl Outbox {
    /// Waits for room; false when nobody listens any more.
    fn send(&self, event: SearchEvent) -> bool {
        self.events.blocking_send((self.job, event)).is_ok()
    }

    /// Leaves the event out when there is no room.
    fn offer(&self, event: SearchEvent) {
        let _ = self.events.try_send((self.job, event));
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), RetrievalError> {
    std::thread::Builder::new()
        .name(name.into())
        .spawn(work)
        .map(drop)
        .map_err(|error| RetrievalError(format!("the search can't start a thread: {error}")))
}

fn build(
    shared: &Shared,
    outbox: &Outbox,
    make: impl FnOnce(&Shared, &Outbox) -> Result<Built, RetrievalError>,
) {
    let result = catch_unwind(AssertUnwindSafe(|| make(shared, outbox)));
    let result = result.unwrap_or_else(|_| {
        Err(RetrievalError(
            "building the index failed unexpectedly".into(),
        ))
    });
    match result {
        Ok(Built { index, notes }) => {
            let info = index.info();
            // The state changes first: whoever asks after `Ready` gets all lists.
            shared.change(|state| {
                state.retriever = Some(index);
                state.no_vectors = None;
            });
            for note in notes {
                outbox.send(SearchEvent::Note(note));
            }
            outbox.send(SearchEvent::Ready(info));
        }
        Err(error) => {
            shared.change(|state| {
                state.no_vectors = Some(error.to_string());
                state.failed = Some(error.to_string());
            });
            outbox.send(SearchEvent::Failed(error.to_string()));
        }
    }
}

fn build_index(
    shared: &Shared,
    outbox: &Outbox,
    documents: Vec<CorpusDocument>,
    setup: &SearchSetup,
) -> Result<Built, RetrievalError> {
    let mut progress = |progress: BuildProgress| {
        if shared.cancelled() {
            return ControlFlow::Break(());
        }
        outbox.offer(SearchEvent::Building(progress));
        ControlFlow::Continue(())
    };
    let lexical = Retriever::build_lexical(documents, &mut progress)?;
    let Some(folders) = &setup.encoder else {
        return Ok(Built::from(lexical));
    };
    shared.change(|state| {
        state.retriever = Some(lexical.clone());
        state.no_vectors =
            Some("the documents are still being encoded; BM25 answers meanwhile".into());
    });
    let retriever = lexical.with_encoder(
        folders,
        setup.backend,
        setup.cache.as_deref(),
        &mut progress,
    )?;
    Ok(Built::from(retriever))
}

impl From<Arc<Retriever>> for Built {
    fn from(retriever: Arc<Retriever>) -> Built {
        Built {
            notes: retriever.notes().to_vec(),
            index: retriever,
        }
    }
}

/// Answers queries until the service is dropped or nobody listens.
fn answer(shared: &Shared, outbox: &Outbox, signal: &Signal) {
    let mut last: Option<SearchQuery> = None;
    let mut answered_at = 0;
    while let Some(turn) = next_turn(shared, &mut last, &mut answered_at) {
        let results = catch_unwind(AssertUnwindSafe(|| results(&turn, signal)));
        let results =
            results.unwrap_or_else(|_| all_failed(&turn.query, "searching failed unexpectedly"));
        // A newer query makes these stale: they are not worth a redraw.
        if shared.lock().waiting.is_some() {
            continue;
        }
        if !outbox.send(SearchEvent::Results(Box::new(results))) {
            return;
        }
    }
}

/// Waits for a new query, or for a change that makes another answer to the last one; `None` ends the thread.
fn next_turn(
    shared: &Shared,
    last: &mut Option<SearchQuery>,
    answered_at: &mut u32,
) -> Option<Turn> {
    let mut state = shared.lock();
    loop {
        if state.stopped {
            return None;
        }
        let can_answer = state.retriever.is_some() || state.failed.is_some();
        let news = state.waiting.is_some()
            || (state.stage > *answered_at && last.as_ref().is_some_and(wants_vectors));
        if can_answer && news {
            if let Some(query) = state.waiting.take() {
                *last = Some(query);
            }
            *answered_at = state.stage;
            if let Some(query) = last.clone() {
                return Some(Turn {
                    query,
                    retriever: state.retriever.clone(),
                    no_vectors: state.no_vectors.clone().or_else(|| state.failed.clone()),
                });
            }
        }
        state = shared
            .changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner);
    }
}

fn wants_vectors(query: &SearchQuery) -> bool {
    query.methods.iter().any(|&method| method != Method::Bm25)
}
