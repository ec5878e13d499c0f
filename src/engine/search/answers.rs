//! What a query is answered with: lists, marks, measures, the map.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::domain::ranking::MeasuresAt;
use crate::engine::search::{SearchCorpus, SearchQuery, SearchResults};
use crate::retrieval::map::{Map, Placed};
use crate::retrieval::{Found, Hit, Method, RetrievalError, Search, recall_of};

/// Above this many documents a scan at every key press would be felt: recall is then not measured live.
const MOST_MEASURED: usize = 200_000;
/// Ranks that the measures of a list look at.
const MEASURED_RANKS: usize = 10;

/// Which documents are signal for which questions.
#[derive(Default)]
pub(super) struct Signal {
    /// Document → its questions.
    questions: HashMap<String, HashSet<String>>,
    /// Question → how many documents are signal for it.
    totals: HashMap<String, usize>,
}

impl Signal {
    pub(super) fn of(corpus: &SearchCorpus) -> Signal {
        let mut signal = Signal::default();
        for (document, questions) in corpus.documents.iter().zip(&corpus.signal_of) {
            for question in questions {
                *signal.totals.entry(question.clone()).or_default() += 1;
            }
            signal
                .questions
                .insert(document.id.clone(), questions.clone());
        }
        signal
    }

    fn is(&self, document: &str, question: Option<&str>) -> bool {
        question
            .zip(self.questions.get(document))
            .is_some_and(|(question, questions)| questions.contains(question))
    }

    /// Whether the question has signal documents and the index holds none of them.
    fn absent(&self, question: Option<&str>, index: &dyn Search) -> bool {
        let ids: HashSet<&str> = self
            .questions
            .keys()
            .map(String::as_str)
            .filter(|id| self.is(id, question))
            .collect();
        !ids.is_empty() && index.holds_any(&ids) == Some(false)
    }

    fn total(&self, question: Option<&str>) -> usize {
        question
            .and_then(|question| self.totals.get(question))
            .copied()
            .unwrap_or(0)
    }
}

/// A query with what can answer it now.
pub(super) struct Turn {
    pub(super) query: SearchQuery,
    pub(super) retriever: Option<Arc<dyn Search>>,
    pub(super) no_vectors: Option<String>,
}

pub(super) fn all_failed(query: &SearchQuery, why: &str) -> SearchResults {
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
        measures: vec![None; query.methods.len()],
        absent: false,
        map: None,
    }
}

pub(super) fn results(turn: &Turn, known: &Signal) -> SearchResults {
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
    let question = query.question_id.as_deref();
    let signal: Vec<Vec<bool>> = lists
        .iter()
        .map(|(_, list)| marks(list.as_ref().ok(), question, known))
        .collect();
    // What was found is there; and a server that gave no list is not made to wait for once more.
    let unfound = !signal.iter().flatten().any(|marked| *marked);
    let asked = unfound && lists.iter().any(|(_, list)| list.is_ok());
    let absent = asked && known.absent(question, &**retriever);
    // Of what is not there nothing can be found, which says nothing of the lists.
    let total = if absent { 0 } else { known.total(question) };
    let measures = lists
        .iter()
        .zip(&signal)
        .map(|((_, list), marks)| {
            list.as_ref()
                .ok()
                .and_then(|_| MeasuresAt::new(marks, total, MEASURED_RANKS.min(query.k)))
        })
        .collect();
    let map = map_of(&**retriever, &lists, |id| known.is(id, question));
    SearchResults {
        ticket: query.ticket,
        query: query.text.clone(),
        lists,
        recall_vs_exact,
        signal,
        measures,
        absent,
        map,
    }
}

/// The hits of all lists with the query on a plane; `None` where there is no vector of the query or of two
/// documents.
fn map_of(
    index: &dyn Search,
    lists: &[(Method, Result<Found, String>)],
    is_signal: impl Fn(&str) -> bool,
) -> Option<Map> {
    let found = || {
        let lists = lists.iter();
        lists.filter_map(|(method, list)| Some((*method, list.as_ref().ok()?)))
    };
    let query = found().find_map(|(_, list)| list.query_embedding.as_deref())?;
    let mut hits: Vec<(Hit, Vec<(Method, usize)>)> = Vec::new();
    for (method, list) in found() {
        for hit in &list.hits {
            match hits.iter_mut().find(|(known, _)| known.id == hit.id) {
                Some((_, ranks)) => ranks.push((method, hit.rank)),
                None => hits.push((hit.clone(), vec![(method, hit.rank)])),
            }
        }
    }
    let (hits, ranks): (Vec<Hit>, Vec<_>) = hits.into_iter().unzip();
    let vectors = index.embeddings(&hits);
    let documents: Vec<Placed> = hits
        .into_iter()
        .zip(ranks)
        .zip(vectors)
        .filter_map(|((hit, ranks), vector)| {
            Some(Placed {
                signal: is_signal(&hit.id),
                id: hit.id,
                ranks,
                vector: vector?,
            })
        })
        .collect();
    (documents.len() >= 2).then(|| Map::new(query, documents))
}

/// While vectors are being made, or after that failed, a list that needs them says so.
fn explain(method: Method, turn: &Turn, error: &RetrievalError) -> String {
    match &turn.no_vectors {
        Some(why) if method != Method::Bm25 => why.clone(),
        _ => error.to_string(),
    }
}

fn marks(list: Option<&Found>, question: Option<&str>, known: &Signal) -> Vec<bool> {
    list.map_or_else(Vec::new, |found| {
        let hits = found.hits.iter();
        hits.map(|hit| known.is(&hit.id, question)).collect()
    })
}
