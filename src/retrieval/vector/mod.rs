//! HNSW over vectors by inner product.
//!
//! The graph is usearch's, the inner products are ours: in `f32`, half precision or whole numbers of eight bits
//! that keep inner products. A graph can be saved, loaded, looked at in its file, and built with checkpoints.

mod build;
mod codes;
mod file;
mod graph;
mod links;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use build::{Added, ONE_THREAD_BELOW, Progress};
use codes::Codes;
use graph::Graph;
use serde::{Deserialize, Serialize};

use crate::retrieval::RetrievalError;
use crate::retrieval::exact::{self, Scored, Vectors};

/// Rows between two checkpoints of a small graph.
const CHECKPOINT: usize = 50_000;

/// How a graph is built and searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HnswOptions {
    /// Neighbours of a node (M).
    pub connectivity: usize,
    /// Candidates while adding.
    pub expansion_add: usize,
    /// Candidates while searching; a search for more hits uses at least as many.
    pub expansion_search: usize,
    /// What is compared.
    pub precision: GraphPrecision,
    /// Threads that add; `None` is one for small sets and all cores for large ones. With one thread the graph
    /// is the same every time, whether it was built in one go or went on after a kill.
    pub threads: Option<usize>,
}

/// What a graph compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GraphPrecision {
    /// The vectors as they are kept, in `f32` or half precision, without a copy.
    #[default]
    Stored,
    /// A copy in half precision, where the vectors are in `f32`.
    Half,
    /// A copy in whole numbers of eight bits with one scale for all: a quarter of `f32`.
    Int8,
}

impl GraphPrecision {
    /// Its name in flags.
    pub fn name(self) -> &'static str {
        match self {
            GraphPrecision::Stored => "stored",
            GraphPrecision::Half => "half",
            GraphPrecision::Int8 => "int8",
        }
    }
}

impl Default for HnswOptions {
    fn default() -> Self {
        HnswOptions {
            connectivity: 16,
            expansion_add: 128,
            expansion_search: 128,
            precision: GraphPrecision::Stored,
            threads: None,
        }
    }
}

impl HnswOptions {
    fn threads_for(&self, rows: usize) -> usize {
        match self.threads {
            Some(threads) => threads.max(1),
            None if rows < ONE_THREAD_BELOW => 1,
            None => exact::cores(),
        }
    }
}

/// A graph over the vectors of a corpus; keys are positions. It shares the vectors it was built from.
pub struct Hnsw {
    graph: Graph,
    dim: usize,
    options: HnswOptions,
}

impl std::fmt::Debug for Hnsw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hnsw")
            .field("vectors", &self.len())
            .field("dim", &self.dim)
            .field("options", &self.options)
            .finish()
    }
}

impl Hnsw {
    /// Builds the graph in memory. `progress` gets the number of added vectors and may cancel.
    ///
    /// # Errors
    /// When usearch fails, `progress` breaks, or a number is too large for half precision.
    pub fn build(
        vectors: &Vectors,
        options: HnswOptions,
        progress: &mut Progress<'_>,
    ) -> Result<Hnsw, RetrievalError> {
        let threads = options.threads_for(vectors.len());
        let codes = Codes::of(vectors, options.precision)?;
        let graph = Graph::empty(codes, vectors.len(), threads, options)?;
        match build::add(&graph, 0..vectors.len(), threads, progress)? {
            Added::All => Ok(Hnsw::new(graph, vectors, options)),
            Added::Part => Err(RetrievalError::cancelled()),
        }
    }

    /// Builds the graph and saves it as `path`, with checkpoints in `path` and `.part`: killed or cancelled, it
    /// goes on from the last one. Where the finished file is there already and of these vectors, it is
    /// loaded.
    ///
    /// With one thread the resumed graph equals the uninterrupted one byte for byte. With several it does not,
    /// as no two builds do.
    ///
    /// # Errors
    /// As [`Hnsw::build`], or when the folder can't be written.
    pub fn build_at(
        path: &Path,
        vectors: &Vectors,
        options: HnswOptions,
        progress: &mut Progress<'_>,
    ) -> Result<Hnsw, RetrievalError> {
        Hnsw::build_in_steps(path, vectors, options, CHECKPOINT, progress)
    }

    fn build_in_steps(
        path: &Path,
        vectors: &Vectors,
        options: HnswOptions,
        step: usize,
        progress: &mut Progress<'_>,
    ) -> Result<Hnsw, RetrievalError> {
        if let Ok(hnsw) = Hnsw::load(path, vectors, options) {
            return Ok(hnsw);
        }
        let (part, rows) = (part_of(path), vectors.len());
        let threads = options.threads_for(rows);
        let codes = Codes::of(vectors, options.precision)?;
        let mut graph = match file::resume(&part, &codes, vectors, threads, options) {
            Some(graph) => graph,
            None => Graph::empty(codes, rows, threads, options)?,
        };
        for end in build::checkpoints(step, rows).chain([rows]) {
            if end <= graph.len() && end < rows {
                continue;
            }
            let added = build::add(&graph, graph.len()..end, threads, progress)?;
            if added == Added::Part {
                // One thread goes on from the last checkpoint, so that the order of all draws is kept.
                if threads > 1 {
                    file::save_part(&part, &graph, vectors, options)?;
                }
                return Err(RetrievalError::cancelled());
            }
            if end < rows {
                file::save_part(&part, &graph, vectors, options)?;
                if threads == 1 {
                    graph = again(graph, rows, options)?;
                }
            }
        }
        file::save(path, &graph, vectors, options)?;
        // A part that stays is only disk space: it is overwritten by the next build.
        let _ = std::fs::remove_file(&part);
        Ok(Hnsw::new(graph, vectors, options))
    }

    fn new(graph: Graph, vectors: &Vectors, options: HnswOptions) -> Hnsw {
        Hnsw {
            graph,
            dim: vectors.dim(),
            options,
        }
    }

    /// Writes the graph, whole or not at all: what it was built from and how, checksums, links, and the smaller
    /// copy of the vectors where it has one. The vectors themselves are not in it.
    ///
    /// # Errors
    /// One sentence with the path where it can't be written.
    pub fn save(&self, path: &Path, vectors: &Vectors) -> Result<(), RetrievalError> {
        file::save(path, &self.graph, vectors, self.options)
    }

    /// Reads a saved graph into memory.
    ///
    /// # Errors
    /// One sentence with the path where the file is missing, cut off, damaged, unfinished, of another version,
    /// of other vectors or of other options (but for `expansion_search` and `threads`).
    pub fn load(
        path: &Path,
        vectors: &Vectors,
        options: HnswOptions,
    ) -> Result<Hnsw, RetrievalError> {
        let graph = file::open(path, vectors, options, file::Open::Load)?;
        Ok(Hnsw::new(graph, vectors, options))
    }

    /// Opens a saved graph and leaves it in its file, from which the operating system reads what is looked at.
    /// The links' checksum is tested, that of a copy of the vectors is not.
    ///
    /// # Errors
    /// As [`Hnsw::load`].
    pub fn view(
        path: &Path,
        vectors: &Vectors,
        options: HnswOptions,
    ) -> Result<Hnsw, RetrievalError> {
        let graph = file::open(path, vectors, options, file::Open::View)?;
        Ok(Hnsw::new(graph, vectors, options))
    }

    /// Candidates while searching, from the next search on.
    pub fn set_expansion_search(&mut self, candidates: usize) {
        self.options.expansion_search = candidates;
        self.graph.set_expansion_search(candidates);
    }

    /// Vectors in the graph.
    pub fn len(&self) -> usize {
        self.graph.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// About the `k` vectors with the largest inner product with `query`, best first. Scores are inner
    /// products, as exact as the graph's precision.
    ///
    /// # Errors
    /// When the dimension differs or usearch fails.
    pub fn search(&self, query: &[f32], k: usize) -> Result<Vec<Scored>, RetrievalError> {
        if query.len() != self.dim {
            return Err(RetrievalError(format!(
                "the query has {} dimensions but the index has {}: the query encoder does not belong to this index",
                query.len(),
                self.dim
            )));
        }
        let k = k.min(self.len());
        if k == 0 {
            return Ok(Vec::new());
        }
        self.graph.search(query, k)
    }

    /// [`Hnsw::search`] with scores taken from the vectors themselves, so that they are those of the
    /// exact scan to the last bit. A graph of whole numbers is asked for twice as many, so that what it ranks
    /// a little wrong is put right.
    ///
    /// # Errors
    /// As [`Hnsw::search`].
    pub fn search_rescored(
        &self,
        vectors: &Vectors,
        query: &[f32],
        k: usize,
    ) -> Result<Vec<Scored>, RetrievalError> {
        let depth = match self.options.precision {
            GraphPrecision::Int8 => k.saturating_mul(2),
            GraphPrecision::Half | GraphPrecision::Stored => k,
        };
        let mut hits = self.search(query, depth)?;
        for hit in &mut hits {
            if let Some(row) = vectors.row(hit.position) {
                hit.score = exact::dot(&row, query);
            }
        }
        hits.sort_by(Scored::best_first);
        hits.truncate(k);
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

    /// The graph's links as bytes, for a file.
    ///
    /// # Errors
    /// When usearch fails.
    pub fn to_bytes(&self) -> Result<Vec<u8>, RetrievalError> {
        self.graph.to_bytes()
    }

    /// A graph of these vectors from bytes of [`Hnsw::to_bytes`], all its links tested. That the bytes are of
    /// these vectors must be known.
    ///
    /// # Errors
    /// When the bytes are no graph or not one of so many vectors.
    pub fn from_bytes(
        bytes: &[u8],
        vectors: &Vectors,
        options: HnswOptions,
    ) -> Result<Hnsw, RetrievalError> {
        let codes = Codes::of(vectors, options.precision)?;
        let graph = Graph::load(bytes, codes, vectors.len(), vectors.len(), 1, options)?;
        Ok(Hnsw::new(graph, vectors, options))
    }
}

/// Where a graph lies while it is being built.
fn part_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    path.with_file_name(name)
}

/// The same graph as if it came from a checkpoint: usearch draws the levels of nodes from generators that begin
/// anew when a graph is loaded, and a build that was not interrupted must draw the same.
fn again(graph: Graph, rows: usize, options: HnswOptions) -> Result<Graph, RetrievalError> {
    let bytes = graph.to_bytes()?;
    let (codes, nodes) = (graph.codes().clone(), graph.len());
    drop(graph);
    Graph::load(&bytes, codes, nodes, rows, 1, options)
}
