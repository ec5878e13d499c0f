//! HNSW over vectors by inner product (the only file that names usearch types).

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use crate::retrieval::RetrievalError;
use crate::retrieval::exact::{self, Scored, Vectors};

/// How a graph is built and searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HnswOptions {
    /// Neighbours of a node (M).
    pub connectivity: usize,
    /// Candidates while adding.
    pub expansion_add: usize,
    /// Candidates while searching; a search for more hits uses at least as many.
    pub expansion_search: usize,
    /// Whether the graph keeps vectors in half precision instead of `f32`.
    pub half: bool,
}

impl Default for HnswOptions {
    fn default() -> Self {
        HnswOptions {
            connectivity: 16,
            expansion_add: 128,
            expansion_search: 128,
            half: false,
        }
    }
}

impl HnswOptions {
    fn usearch(self, dim: usize) -> IndexOptions {
        IndexOptions {
            dimensions: dim,
            metric: MetricKind::IP,
            quantization: self.scalar(),
            connectivity: self.connectivity,
            expansion_add: self.expansion_add,
            expansion_search: self.expansion_search,
            multi: false,
        }
    }

    fn scalar(self) -> ScalarKind {
        if self.half {
            ScalarKind::F16
        } else {
            ScalarKind::F32
        }
    }
}

/// Searches that run at the same time; more wait. usearch fails beyond the threads it has reserved.
const SEARCH_THREADS: usize = 16;

/// Fewer vectors than this are added by one thread, in order: the graph is then the same every time.
const ONE_THREAD_BELOW: usize = 4096;

/// A graph over the vectors of a corpus; keys are positions.
pub struct Hnsw {
    index: Index,
    free: Mutex<usize>,
    freed: Condvar,
}

impl std::fmt::Debug for Hnsw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hnsw")
            .field("vectors", &self.index.size())
            .field("dim", &self.index.dimensions())
            .finish()
    }
}

fn broken(doing: &str, error: impl std::fmt::Display) -> RetrievalError {
    RetrievalError(format!("the vector index failed while {doing}: {error}"))
}

impl Hnsw {
    /// Builds the graph. Small sets are added by one thread, so the graph is the same every time; large
    /// ones by all cores. `progress` gets the number of added vectors and may cancel.
    ///
    /// # Errors
    /// When usearch fails or `progress` breaks.
    pub fn build(
        vectors: &Vectors,
        options: HnswOptions,
        progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Hnsw, RetrievalError> {
        let threads = if vectors.len() < ONE_THREAD_BELOW {
            1
        } else {
            std::thread::available_parallelism().map_or(1, usize::from)
        };
        let hnsw = Hnsw::empty(vectors.dim(), vectors.len(), threads, options)?;
        if threads == 1 {
            add_in_order(&hnsw.index, vectors, progress)?;
        } else {
            add_in_parallel(&hnsw.index, vectors, threads, progress)?;
        }
        Ok(hnsw)
    }

    fn empty(
        dim: usize,
        capacity: usize,
        threads: usize,
        options: HnswOptions,
    ) -> Result<Hnsw, RetrievalError> {
        let index =
            Index::new(&options.usearch(dim)).map_err(|error| broken("being made", error))?;
        index
            .reserve_capacity_and_threads(capacity.max(1), threads.max(SEARCH_THREADS))
            .map_err(|error| broken("reserving memory", error))?;
        Ok(Hnsw {
            index,
            free: Mutex::new(SEARCH_THREADS),
            freed: Condvar::new(),
        })
    }

    /// Vectors in the graph.
    pub fn len(&self) -> usize {
        self.index.size()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// About the `k` vectors with the largest inner product with `query`, best first. Scores are inner
    /// products (usearch's distance is one minus that), as exact as the graph's precision.
    ///
    /// # Errors
    /// When the dimension differs or usearch fails.
    pub fn search(&self, query: &[f32], k: usize) -> Result<Vec<Scored>, RetrievalError> {
        if query.len() != self.index.dimensions() {
            return Err(RetrievalError(format!(
                "the query has {} dimensions but the index has {}: the query encoder does not belong to this index",
                query.len(),
                self.index.dimensions()
            )));
        }
        let k = k.min(self.len());
        if k == 0 {
            return Ok(Vec::new());
        }
        let found = {
            let _turn = self.turn();
            self.index
                .search(query, k)
                .map_err(|error| broken("searching", error))?
        };
        let mut hits: Vec<Scored> = found
            .keys
            .iter()
            .zip(&found.distances)
            .map(|(&key, &distance)| Scored {
                position: key as usize,
                score: 1.0 - distance,
            })
            .collect();
        hits.sort_by(Scored::best_first);
        Ok(hits)
    }

    /// [`Hnsw::search`] with scores taken from the vectors themselves, so that they are those of the
    /// exact scan to the last bit.
    ///
    /// # Errors
    /// As [`Hnsw::search`].
    pub fn search_rescored(
        &self,
        vectors: &Vectors,
        query: &[f32],
        k: usize,
    ) -> Result<Vec<Scored>, RetrievalError> {
        let mut hits = self.search(query, k)?;
        for hit in &mut hits {
            if let Some(row) = vectors.row(hit.position) {
                hit.score = exact::dot(row, query);
            }
        }
        hits.sort_by(Scored::best_first);
        Ok(hits)
    }

    /// Mean recall@`k` against the exact scan over these queries; `None` without queries or vectors.
    ///
    /// # Errors
    /// As [`Hnsw::search`].
    pub fn recall(
        &self,
        vectors: &Vectors,
        queries: &[&[f32]],
        k: usize,
    ) -> Result<Option<f64>, RetrievalError> {
        let truth = exact::top_k_many(vectors, queries, k);
        let mut recalls = Vec::with_capacity(queries.len());
        for (query, wanted) in queries.iter().zip(&truth) {
            let found = self.search_rescored(vectors, query, k)?;
            recalls.extend(exact::recall(&found, wanted));
        }
        Ok((!recalls.is_empty()).then(|| recalls.iter().sum::<f64>() / recalls.len() as f64))
    }

    /// The graph as bytes, for a file.
    ///
    /// # Errors
    /// When usearch fails.
    pub fn to_bytes(&self) -> Result<Vec<u8>, RetrievalError> {
        let mut bytes = vec![0; self.index.serialized_length()];
        self.index
            .save_to_buffer(&mut bytes)
            .map_err(|error| broken("being saved", error))?;
        Ok(bytes)
    }

    /// A graph from bytes of [`Hnsw::to_bytes`]. The bytes must be known to be whole (a checksum): usearch
    /// checks little. Dimension, number of vectors, precision and metric are checked here, since loading
    /// replaces what was asked for without a word.
    ///
    /// # Errors
    /// When the bytes are no graph or not the one that is expected.
    pub fn from_bytes(
        bytes: &[u8],
        dim: usize,
        vectors: usize,
        options: HnswOptions,
    ) -> Result<Hnsw, RetrievalError> {
        let head = Index::metadata_from_buffer(bytes)
            .map_err(|error| broken("reading a saved graph", error))?;
        let expected = (dim as u64, vectors as u64, MetricKind::IP, options.scalar());
        let got = (
            head.dimensions,
            head.count_present,
            head.metric,
            head.quantization,
        );
        if got != expected {
            return Err(RetrievalError(format!(
                "the saved graph holds {} vectors of {} dimensions ({:?}, {:?}) where {vectors} of {dim} ({:?}, {:?}) were expected: build the index again",
                got.1, got.0, got.2, got.3, expected.2, expected.3
            )));
        }
        let hnsw = Hnsw::empty(dim, vectors, 1, options)?;
        hnsw.index
            .load_from_buffer(bytes)
            .map_err(|error| broken("loading a saved graph", error))?;
        hnsw.index
            .reserve_capacity_and_threads(vectors.max(1), SEARCH_THREADS)
            .map_err(|error| broken("reserving memory", error))?;
        hnsw.index.change_expansion_add(options.expansion_add);
        hnsw.index.change_expansion_search(options.expansion_search);
        if hnsw.index.size() != vectors || hnsw.index.dimensions() != dim {
            return Err(RetrievalError(format!(
                "the saved graph turned out to hold {} vectors of {} dimensions where {vectors} of {dim} were expected: build the index again",
                hnsw.index.size(),
                hnsw.index.dimensions()
            )));
        }
        Ok(hnsw)
    }

    /// Waits until one of the reserved search threads is free.
    fn turn(&self) -> Turn<'_> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            free = self
                .freed
                .wait(free)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        Turn(self)
    }
}

struct Turn<'a>(&'a Hnsw);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

fn add_in_order(
    index: &Index,
    vectors: &Vectors,
    progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<(), RetrievalError> {
    for (position, row) in vectors.rows().enumerate() {
        index
            .add(position as u64, row)
            .map_err(|error| broken("adding a vector", error))?;
        if position % 128 == 127 && progress(position + 1).is_break() {
            return Err(RetrievalError::cancelled());
        }
    }
    Ok(())
}

fn add_in_parallel(
    index: &Index,
    vectors: &Vectors,
    threads: usize,
    progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<(), RetrievalError> {
    let (next, added) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let stop = AtomicBool::new(false);
    let work = || -> Result<(), RetrievalError> {
        while !stop.load(Ordering::Relaxed) {
            let position = next.fetch_add(1, Ordering::Relaxed);
            let Some(row) = vectors.row(position) else {
                return Ok(());
            };
            if let Err(error) = index.add(position as u64, row) {
                stop.store(true, Ordering::Relaxed);
                return Err(broken("adding a vector", error));
            }
            added.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut cancelled = false;
        while !workers.iter().all(|worker| worker.is_finished()) {
            std::thread::sleep(Duration::from_millis(20));
            if !cancelled && progress(added.load(Ordering::Relaxed)).is_break() {
                cancelled = true;
                stop.store(true, Ordering::Relaxed);
            }
        }
        for worker in workers {
            worker
                .join()
                .map_err(|_| broken("adding vectors", "a thread panicked"))??;
        }
        if cancelled {
            return Err(RetrievalError::cancelled());
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    fn go(_: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Vectors around cluster centres, lengths between 4 and 12, as unnormalised encoders give them.
    fn clustered(seed: u64, rows: usize, dim: usize) -> Vectors {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut unit = move || f64::from(random.next_u32()) / f64::from(u32::MAX) * 2.0 - 1.0;
        let clusters = (rows / 40).max(1);
        let centres: Vec<f64> = (0..clusters * dim).map(|_| unit()).collect();
        let mut data = Vec::with_capacity(rows * dim);
        for row in 0..rows {
            let centre = &centres[(row % clusters) * dim..][..dim];
            let length = 8.0 + 4.0 * unit();
            data.extend(
                centre
                    .iter()
                    .map(|c| ((c + 0.4 * unit()) * length / (dim as f64).sqrt()) as f32),
            );
        }
        Vectors::new(dim, data).unwrap()
    }

    fn sample(vectors: &Vectors) -> Vec<&[f32]> {
        vectors.rows().step_by(vectors.len() / 50).collect()
    }

    #[test]
    fn recall_is_high_on_clustered_vectors() {
        for (rows, half) in [(2000, false), (2000, true), (6000, false)] {
            let vectors = clustered(7, rows, 96);
            let options = HnswOptions {
                half,
                ..HnswOptions::default()
            };
            let hnsw = Hnsw::build(&vectors, options, &mut go).unwrap();
            assert_eq!(hnsw.len(), rows);
            let recall = hnsw
                .recall(&vectors, &sample(&vectors), 10)
                .unwrap()
                .unwrap();
            assert!(
                recall >= 0.95,
                "recall@10 {recall} ({rows} rows, half: {half})"
            );
        }
    }

    #[test]
    fn scores_are_inner_products() {
        let vectors = clustered(3, 500, 32);
        let hnsw = Hnsw::build(&vectors, HnswOptions::default(), &mut go).unwrap();
        let query = vectors.row(11).unwrap();
        let truth = exact::top_k(&vectors, query, 5);
        for (hit, wanted) in hnsw.search(query, 5).unwrap().iter().zip(&truth) {
            assert!((hit.score - wanted.score).abs() <= 1e-4 * wanted.score.abs());
        }
        assert_eq!(hnsw.search_rescored(&vectors, query, 5).unwrap(), truth);
    }

    #[test]
    fn small_graphs_are_the_same_every_time() {
        let vectors = clustered(5, 1500, 48);
        let first = Hnsw::build(&vectors, HnswOptions::default(), &mut go).unwrap();
        let second = Hnsw::build(&vectors, HnswOptions::default(), &mut go).unwrap();
        for query in sample(&vectors) {
            assert_eq!(
                first.search(query, 20).unwrap(),
                second.search(query, 20).unwrap()
            );
        }
    }

    #[test]
    fn a_saved_graph_answers_as_before_and_a_wrong_one_is_refused() {
        let vectors = clustered(9, 800, 24);
        let options = HnswOptions::default();
        let hnsw = Hnsw::build(&vectors, options, &mut go).unwrap();
        let bytes = hnsw.to_bytes().unwrap();
        let again = Hnsw::from_bytes(&bytes, 24, 800, options).unwrap();
        for query in sample(&vectors) {
            assert_eq!(
                hnsw.search(query, 10).unwrap(),
                again.search(query, 10).unwrap()
            );
        }
        let half = HnswOptions {
            half: true,
            ..options
        };
        for (dim, rows, options) in [(32, 800, options), (24, 801, options), (24, 800, half)] {
            let message = Hnsw::from_bytes(&bytes, dim, rows, options)
                .unwrap_err()
                .to_string();
            assert!(message.contains("build the index again"), "{message}");
        }
        assert!(Hnsw::from_bytes(b"not a graph", 24, 800, options).is_err());
        assert!(Hnsw::from_bytes(&[], 24, 800, options).is_err());
    }

    #[test]
    fn more_threads_than_reserved_may_search() {
        let vectors = clustered(1, 600, 16);
        let built = Hnsw::build(&vectors, HnswOptions::default(), &mut go).unwrap();
        let bytes = built.to_bytes().unwrap();
        let loaded = Hnsw::from_bytes(&bytes, 16, 600, HnswOptions::default()).unwrap();
        for hnsw in [&built, &loaded] {
            let query = vectors.row(3).unwrap();
            let expected = hnsw.search(query, 10).unwrap();
            std::thread::scope(|scope| {
                for _ in 0..3 * SEARCH_THREADS {
                    scope.spawn(|| {
                        for _ in 0..50 {
                            assert_eq!(hnsw.search(query, 10).unwrap(), expected);
                        }
                    });
                }
            });
        }
    }

    #[test]
    fn edges_are_errors_or_empty_never_a_crash() {
        let none = Vectors::new(8, vec![]).unwrap();
        let hnsw = Hnsw::build(&none, HnswOptions::default(), &mut go).unwrap();
        assert!(hnsw.search(&[0.0; 8], 5).unwrap().is_empty());
        assert_eq!(hnsw.recall(&none, &[], 10).unwrap(), None);
        let message = hnsw.search(&[0.0; 7], 5).unwrap_err().to_string();
        assert!(message.contains("7 dimensions"), "{message}");
        let one = Vectors::new(2, vec![1.0, 2.0]).unwrap();
        let hnsw = Hnsw::build(&one, HnswOptions::default(), &mut go).unwrap();
        assert_eq!(hnsw.search(&[1.0, 1.0], usize::MAX).unwrap().len(), 1);
    }

    #[test]
    fn building_can_be_cancelled() {
        for rows in [1000, ONE_THREAD_BELOW + 4000] {
            let vectors = clustered(2, rows, 64);
            let error = Hnsw::build(&vectors, HnswOptions::default(), &mut |_| {
                ControlFlow::Break(())
            });
            assert!(error.is_err(), "{rows} rows");
        }
    }
}
