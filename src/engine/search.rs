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
use crate::engine::job::JobId;
use crate::retrieval::{
    BuildProgress, CorpusDocument, EncoderFolders, Found, IndexInfo, Method, RetrievalError,
    Retriever, Search, recall_of,
};

/// Above this many documents a scan at every key press would be felt: recall is then not measured live.
const MOST_MEASURED: usize = 200_000;

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
#[derive(Debug)]
pub struct SearchService {
    job: JobId,
    shared: Arc<Shared>,
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
        let SearchCorpus {
            documents,
            signal_of,
        } = corpus;
        let job = JobId::next();
        let shared = Arc::new(Shared::default());
        let service = SearchService {
            job,
            shared: Arc::clone(&shared),
        };
        let outbox = Outbox { job, events };
        spawn("search build", {
            let (shared, outbox) = (Arc::clone(&shared), outbox.clone());
            move || build(&shared, &outbox, documents, &setup)
        })?;
        spawn("search", move || answer(&shared, &outbox, &signal_of))?;
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

    /// The retriever as far as it is built; `None` before the BM25 index is there.
    pub fn retriever(&self) -> Option<Arc<Retriever>> {
        self.shared.lock().retriever.clone()
    }
}

impl Drop for SearchService {
    fn drop(&mut self) {
        self.shared.cancel.store(true, Ordering::Relaxed);
        self.shared.lock().stopped = true;
        self.shared.changed.notify_all();
    }
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    cancel: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    waiting: Option<SearchQuery>,
    retriever: Option<Arc<Retriever>>,
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

fn build(shared: &Shared, outbox: &Outbox, documents: Vec<CorpusDocument>, setup: &SearchSetup) {
    let result = catch_unwind(AssertUnwindSafe(|| {
        build_index(shared, outbox, documents, setup)
    }));
    let result = result.unwrap_or_else(|_| {
        Err(RetrievalError(
            "building the index failed unexpectedly".into(),
        ))
    });
    match result {
        Ok(retriever) => {
            let (info, notes) = (retriever.info(), retriever.notes().to_vec());
            // The state changes first: whoever asks after `Ready` gets all lists.
            shared.change(|state| {
                state.retriever = Some(retriever);
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
) -> Result<Arc<Retriever>, RetrievalError> {
    let mut progress = |progress: BuildProgress| {
        if shared.cancelled() {
            return ControlFlow::Break(());
        }
        outbox.offer(SearchEvent::Building(progress));
        ControlFlow::Continue(())
    };
    let lexical = Retriever::build_lexical(documents, &mut progress)?;
    let Some(folders) = &setup.encoder else {
        return Ok(lexical);
    };
    shared.change(|state| {
        state.retriever = Some(Arc::clone(&lexical));
        state.no_vectors =
            Some("the documents are still being encoded; BM25 answers meanwhile".into());
    });
    lexical.with_encoder(
        folders,
        setup.backend,
        setup.cache.as_deref(),
        &mut progress,
    )
}

/// Answers queries until the service is dropped or nobody listens.
fn answer(shared: &Shared, outbox: &Outbox, signal_of: &[HashSet<String>]) {
    let mut last: Option<SearchQuery> = None;
    let mut answered_at = 0;
    while let Some(turn) = next_turn(shared, &mut last, &mut answered_at) {
        let results = catch_unwind(AssertUnwindSafe(|| results(&turn, signal_of)));
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

/// A query with what can answer it now.
struct Turn {
    query: SearchQuery,
    retriever: Option<Arc<Retriever>>,
    no_vectors: Option<String>,
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

fn all_failed(query: &SearchQuery, why: &str) -> SearchResults {
    SearchResults {
        ticket: query.ticket,
        query: query.text.clone(),
        lists: query
            .methods
            .iter()
            .map(|&method| (method, Err(why.to_owned())))
            .collect(),
        recall_vs_exact: None,
        signal: vec![Vec::new(); query.methods.len()],
    }
}

fn results(turn: &Turn, signal_of: &[HashSet<String>]) -> SearchResults {
    let query = &turn.query;
    let Some(retriever) = &turn.retriever else {
        let why = turn.no_vectors.as_deref().unwrap_or("there is no index");
        return all_failed(query, why);
    };
    let mut methods = query.methods.clone();
    let info = retriever.info();
    let measure = info.encoder.is_some()
        && info.documents <= MOST_MEASURED
        && methods.contains(&Method::Dense);
    let exact_is_extra = measure && !methods.contains(&Method::Exact);
    if exact_is_extra {
        methods.push(Method::Exact);
    }
    let mut found = retriever.search_all(&query.text, &methods, query.k);
    let list_of = |wanted: Method| {
        let list = found.iter().find(|(method, _)| *method == wanted)?;
        list.1.as_ref().ok()
    };
    let recall_vs_exact = list_of(Method::Dense)
        .zip(list_of(Method::Exact))
        .and_then(|(dense, exact)| recall_of(dense, exact));
    if exact_is_extra {
        found.pop();
    }
    let lists: Vec<(Method, Result<Found, String>)> = found
        .into_iter()
        .map(|(method, list)| (method, list.map_err(|error| explain(method, turn, &error))))
        .collect();
    let signal = lists
        .iter()
        .map(|(_, list)| marks(list.as_ref().ok(), query.question_id.as_deref(), signal_of))
        .collect();
    SearchResults {
        ticket: query.ticket,
        query: query.text.clone(),
        lists,
        recall_vs_exact,
        signal,
    }
}

/// While vectors are being made, or after that failed, a list that needs them says so.
fn explain(method: Method, turn: &Turn, error: &RetrievalError) -> String {
    match &turn.no_vectors {
        Some(why) if method != Method::Bm25 => why.clone(),
        _ => error.to_string(),
    }
}

fn marks(
    list: Option<&Found>,
    question_id: Option<&str>,
    signal_of: &[HashSet<String>],
) -> Vec<bool> {
    list.map_or_else(Vec::new, |found| {
        found
            .hits
            .iter()
            .map(|hit| {
                let questions = signal_of.get(hit.position);
                question_id
                    .zip(questions)
                    .is_some_and(|(id, questions)| questions.contains(id))
            })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use std::time::{Duration, Instant};

    fn corpus() -> SearchCorpus {
        let texts = ["heart failure therapy", "renal failure", "heart rate"];
        SearchCorpus {
            documents: texts
                .iter()
                .enumerate()
                .map(|(i, text)| CorpusDocument {
                    id: format!("d{i}"),
                    title: String::new(),
                    content: (*text).into(),
                })
                .collect(),
            signal_of: ["q1", "q1", "q2"]
                .map(|id| HashSet::from([id.to_owned()]))
                .into(),
        }
    }

    fn query(ticket: u64, text: &str, methods: &[Method]) -> SearchQuery {
        SearchQuery {
            ticket,
            text: text.into(),
            methods: methods.into(),
            k: 10,
            question_id: Some("q2".into()),
        }
    }

    fn start(
        corpus: SearchCorpus,
        encoder: Option<EncoderFolders>,
    ) -> (SearchService, mpsc::Receiver<(JobId, SearchEvent)>) {
        let (events, inbox) = mpsc::channel(64);
        let setup = SearchSetup {
            encoder,
            backend: BackendChoice::Cpu,
            cache: None,
        };
        (SearchService::start(corpus, setup, events).unwrap(), inbox)
    }

    /// The next event that is no progress.
    fn next(inbox: &mut mpsc::Receiver<(JobId, SearchEvent)>) -> Option<(JobId, SearchEvent)> {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            match inbox.try_recv() {
                Ok((_, SearchEvent::Building(_))) => {}
                Ok(event) => return Some(event),
                Err(mpsc::error::TryRecvError::Disconnected) => return None,
                Err(mpsc::error::TryRecvError::Empty) => {
                    assert!(Instant::now() < deadline, "no event came");
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
        }
    }

    #[test]
    fn the_build_ends_once_queries_are_answered_and_dropping_ends_the_threads() {
        let (service, mut inbox) = start(corpus(), None);
        let (job, event) = next(&mut inbox).unwrap();
        assert_eq!(job, service.job());
        assert!(
            matches!(&event, SearchEvent::Ready(info) if info.documents == 3),
            "{event:?}"
        );
        service.ask(query(7, "heart", &[Method::Bm25, Method::Dense]));
        let (_, event) = next(&mut inbox).unwrap();
        let SearchEvent::Results(results) = event else {
            panic!("{event:?}")
        };
        assert_eq!((results.ticket, results.query.as_str()), (7, "heart"));
        assert_eq!(results.lists.len(), 2);
        let ids: Vec<&str> = results.lists[0]
            .1
            .as_ref()
            .unwrap()
            .hits
            .iter()
            .map(|hit| hit.id.as_str())
            .collect();
        assert_eq!(ids, ["d2", "d0"]);
        assert_eq!(results.signal, [vec![true, false], vec![]]);
        assert!(
            results.lists[1]
                .1
                .as_ref()
                .unwrap_err()
                .contains("models pull")
        );
        drop(service);
        assert_eq!(next(&mut inbox), None);
    }

    #[test]
    fn the_newest_query_is_answered_last_and_none_after_it() {
        let (service, mut inbox) = start(corpus(), None);
        for ticket in 0..500 {
            service.ask(query(ticket, "failure", &[Method::Bm25]));
        }
        let (mut tickets, mut ends) = (Vec::new(), 0);
        while ends == 0 || tickets.last() != Some(&499) {
            match next(&mut inbox).unwrap().1 {
                SearchEvent::Results(results) => tickets.push(results.ticket),
                SearchEvent::Ready(_) => ends += 1,
                other => panic!("{other:?}"),
            }
        }
        assert!(tickets.is_sorted());
        drop(service);
        assert_eq!(next(&mut inbox), None);
    }

    #[test]
    fn an_encoder_that_is_not_there_fails_the_build_and_leaves_bm25() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("none");
        let folders = EncoderFolders {
            name: "none".into(),
            query: missing.clone(),
            article: missing,
            stand_in: false,
        };
        let (service, mut inbox) = start(corpus(), Some(folders));
        let (_, event) = next(&mut inbox).unwrap();
        assert!(
            matches!(&event, SearchEvent::Failed(why) if why.contains("encoder")),
            "{event:?}"
        );
        service.ask(query(1, "renal", &[Method::Bm25, Method::Hybrid]));
        let (_, event) = next(&mut inbox).unwrap();
        let SearchEvent::Results(results) = event else {
            panic!("{event:?}")
        };
        assert_eq!(results.lists[0].1.as_ref().unwrap().hits.len(), 1);
        assert!(results.lists[1].1.as_ref().unwrap_err().contains("encoder"));
    }

    #[test]
    fn a_corpus_that_can_not_be_indexed_answers_with_the_reason() {
        let mut corpus = corpus();
        corpus.documents[2].id = "d0".into();
        let (service, mut inbox) = start(corpus, None);
        assert!(matches!(
            next(&mut inbox),
            Some((_, SearchEvent::Failed(_)))
        ));
        service.ask(query(1, "renal", &[Method::Bm25]));
        let Some((_, SearchEvent::Results(results))) = next(&mut inbox) else {
            panic!("no results")
        };
        assert!(results.lists[0].1.as_ref().unwrap_err().contains("same id"));
    }
}
