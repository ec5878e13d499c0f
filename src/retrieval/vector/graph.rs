//! The graph itself (the only file that names usearch types). It holds positions in place of vectors: whenever
//! usearch compares two, our inner product looks the rows up. So the vectors lie in memory or on disk only
//! once, a graph file is small, and the precision of the rows is ours.
//!
//! `unsafe` for two reasons: usearch hands over positions as pointers, and a graph that is looked at in a mapped
//! file needs that file for as long as it lives.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use super::codes::{Codes, Query};
use super::{HnswOptions, links};
use crate::retrieval::RetrievalError;
use crate::retrieval::exact::Scored;
use crate::retrieval::mapped::Mapped;

/// Searches that run at the same time; more wait. usearch fails beyond the threads it has reserved.
pub(super) const SEARCH_THREADS: usize = 16;

/// What usearch takes for a vector: a position as eight bytes.
const ID: usize = size_of::<u64>();
/// In place of a position: the query of this thread.
const QUERY: u64 = u64::MAX;
/// The distance to what is not there.
const FAR: f32 = f32::MAX;

thread_local! {
    /// What this thread is searching for.
    static SOUGHT: RefCell<Option<Query>> = const { RefCell::new(None) };
}

/// A graph over rows; keys are positions.
pub(super) struct Graph {
    // Before what it looks at: it is dropped first.
    index: Index,
    codes: Codes,
    _file: Option<Arc<Mapped>>,
    free: Mutex<usize>,
    freed: Condvar,
}

fn broken(doing: &str, error: impl std::fmt::Display) -> RetrievalError {
    RetrievalError(format!("the vector index failed while {doing}: {error}"))
}

impl Graph {
    /// A graph without nodes that has room for `capacity` and for so many threads.
    pub(super) fn empty(
        codes: Codes,
        capacity: usize,
        threads: usize,
        options: HnswOptions,
    ) -> Result<Graph, RetrievalError> {
        let mut index = new_index(options)?;
        reserve(&index, capacity, threads)?;
        measure(&mut index, &codes);
        Ok(Graph::new(index, codes, None))
    }

    fn new(index: Index, codes: Codes, file: Option<Arc<Mapped>>) -> Graph {
        Graph {
            index,
            codes,
            _file: file,
            free: Mutex::new(SEARCH_THREADS),
            freed: Condvar::new(),
        }
    }

    /// A graph from bytes of [`Graph::to_bytes`], in memory, with room for `capacity` nodes in all.
    pub(super) fn load(
        bytes: &[u8],
        codes: Codes,
        nodes: usize,
        capacity: usize,
        threads: usize,
        options: HnswOptions,
    ) -> Result<Graph, RetrievalError> {
        check_head(bytes, nodes)?;
        let mut index = new_index(options)?;
        reserve(&index, nodes, threads)?;
        (index.load_from_buffer(bytes))
            .map_err(|_| RetrievalError("the saved graph is damaged".into()))?;
        reserve(&index, capacity, threads)?;
        finish(&mut index, &codes, nodes, options)?;
        Ok(Graph::new(index, codes, None))
    }

    /// A graph in a part of a mapped file, left where it is. Nothing can be added to it.
    pub(super) fn view(
        file: Arc<Mapped>,
        part: std::ops::Range<usize>,
        codes: Codes,
        nodes: usize,
        options: HnswOptions,
    ) -> Result<Graph, RetrievalError> {
        let bytes = file.bytes().get(part).unwrap_or_default();
        check_head(bytes, nodes)?;
        let mut index = new_index(options)?;
        reserve(&index, 1, 1)?;
        // SAFETY: the index keeps pointers into `bytes`, which `file` keeps mapped; the graph holds both and
        // drops the index first.
        unsafe { index.view_from_buffer(bytes) }
            .map_err(|_| RetrievalError("the saved graph is damaged".into()))?;
        finish(&mut index, &codes, nodes, options)?;
        Ok(Graph::new(index, codes, Some(file)))
    }

    /// The graph without the rows, as bytes.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, RetrievalError> {
        let mut bytes = vec![0; self.index.serialized_length()];
        (self.index.save_to_buffer(&mut bytes)).map_err(|error| broken("being saved", error))?;
        Ok(bytes)
    }

    pub(super) fn set_expansion_search(&mut self, candidates: usize) {
        self.index.change_expansion_search(candidates);
    }

    pub(super) fn len(&self) -> usize {
        self.index.size()
    }

    pub(super) fn codes(&self) -> &Codes {
        &self.codes
    }

    /// Adds the row at this position.
    pub(super) fn add(&self, position: usize) -> Result<(), RetrievalError> {
        let key = position as u64;
        (self.index.add(key, &id(key))).map_err(|error| broken("adding a vector", error))
    }

    /// About the `k` rows with the largest inner product, best first.
    pub(super) fn search(&self, query: &[f32], k: usize) -> Result<Vec<Scored>, RetrievalError> {
        let (query, factor) = self.codes.query(query);
        let found = {
            let _turn = self.turn();
            SOUGHT.set(Some(query));
            self.index.search(&id(QUERY), k)
        };
        let found = found.map_err(|error| broken("searching", error))?;
        let mut hits: Vec<Scored> = (found.keys.iter().zip(&found.distances))
            .map(|(&key, &distance)| Scored {
                position: key as usize,
                score: -distance * factor,
            })
            .collect();
        hits.sort_by(Scored::best_first);
        Ok(hits)
    }

    /// Waits until one of the reserved search threads is free.
    fn turn(&self) -> Turn<'_> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            free = (self.freed.wait(free)).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        Turn(self)
    }
}

struct Turn<'a>(&'a Graph);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

fn new_index(options: HnswOptions) -> Result<Index, RetrievalError> {
    Index::new(&IndexOptions {
        dimensions: ID,
        metric: MetricKind::IP,
        quantization: ScalarKind::I8,
        connectivity: options.connectivity,
        expansion_add: options.expansion_add,
        expansion_search: options.expansion_search,
        multi: false,
    })
    .map_err(|error| broken("being made", error))
}

/// To be called before adding and never during it.
fn reserve(index: &Index, capacity: usize, threads: usize) -> Result<(), RetrievalError> {
    index
        .reserve_capacity_and_threads(capacity.max(1), threads.max(SEARCH_THREADS))
        .map_err(|error| broken("reserving memory", error))
}

/// What loading replaces without a word is set again and checked.
fn finish(
    index: &mut Index,
    codes: &Codes,
    nodes: usize,
    options: HnswOptions,
) -> Result<(), RetrievalError> {
    index.change_expansion_add(options.expansion_add);
    index.change_expansion_search(options.expansion_search);
    measure(index, codes);
    if index.size() != nodes || index.dimensions() != ID {
        return Err(another_graph(index.size(), nodes));
    }
    Ok(())
}

fn another_graph(got: usize, wanted: usize) -> RetrievalError {
    RetrievalError(format!(
        "the saved graph holds {got} vectors where {wanted} were expected"
    ))
}

fn check_head(bytes: &[u8], nodes: usize) -> Result<(), RetrievalError> {
    let head = Index::metadata_from_buffer(bytes)
        .map_err(|_| RetrievalError("the head of the saved graph is damaged".into()))?;
    let ours = head.metric == MetricKind::IP
        && head.quantization == ScalarKind::I8
        && head.dimensions == ID as u64;
    if !ours {
        return Err(RetrievalError("the saved graph is of another kind".into()));
    }
    if head.count_present != nodes as u64 {
        return Err(another_graph(head.count_present as usize, nodes));
    }
    links::check(bytes, nodes)
        .map_err(|why| RetrievalError(format!("the saved graph is damaged: {why}")))
}

fn id(key: u64) -> [i8; ID] {
    bytemuck::cast(key)
}

/// Sets our inner product. The distance is its negative: smaller is nearer.
fn measure(index: &mut Index, codes: &Codes) {
    let codes = codes.clone();
    let distance = move |a: *const i8, b: *const i8| {
        // SAFETY: usearch passes what was added or searched for, ID bytes each.
        let (a, b) = unsafe { (key(a), key(b)) };
        let product = match (a, b) {
            (QUERY, row) | (row, QUERY) => SOUGHT.with_borrow(|query| {
                codes.product_with(usize::try_from(row).ok()?, query.as_ref()?)
            }),
            (a, b) => (usize::try_from(a).ok())
                .zip(usize::try_from(b).ok())
                .and_then(|(a, b)| codes.product(a, b)),
        };
        product.map_or(FAR, |product| -product)
    };
    index.change_metric::<i8>(Box::new(distance));
}

/// The position that was given to usearch as a vector.
///
/// # Safety
/// `at` must point to ID readable bytes.
unsafe fn key(at: *const i8) -> u64 {
    // SAFETY: passed on to the caller; nothing is said about alignment.
    unsafe { at.cast::<u64>().read_unaligned() }
}
