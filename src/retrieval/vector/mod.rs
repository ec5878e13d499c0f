//! HNSW over vectors by inner product.
//!
//! The graph is usearch's, the inner products are ours: in `f32`, half precision or whole numbers of eight bits
//! that keep inner products. A graph can be saved, loaded, looked at in its file, and built with checkpoints.

mod build;
mod codes;
mod file;
mod graph;
mod links;

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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use std::ops::ControlFlow;

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
        (0..vectors.len())
            .step_by(vectors.len() / 50)
            .filter_map(|position| vectors.full_row(position))
            .collect()
    }

    fn with(precision: GraphPrecision) -> HnswOptions {
        HnswOptions {
            precision,
            ..HnswOptions::default()
        }
    }

    #[test]
    fn recall_is_high_on_clustered_vectors() {
        for (rows, precision) in [
            (2000, GraphPrecision::Stored),
            (2000, GraphPrecision::Half),
            (2000, GraphPrecision::Int8),
            (6000, GraphPrecision::Stored),
        ] {
            let vectors = clustered(7, rows, 96);
            let hnsw = Hnsw::build(&vectors, with(precision), &mut go).unwrap();
            assert_eq!(hnsw.len(), rows);
            let recall = hnsw
                .recall(&vectors, &sample(&vectors), 10)
                .unwrap()
                .unwrap();
            assert!(
                recall >= 0.95,
                "recall@10 {recall} ({rows} rows, {precision:?})"
            );
        }
    }

    #[test]
    fn vectors_kept_in_half_precision_are_searched_as_they_are() {
        let full = clustered(7, 1500, 96);
        let half = full.to_half().unwrap();
        for precision in [
            GraphPrecision::Stored,
            GraphPrecision::Half,
            GraphPrecision::Int8,
        ] {
            let hnsw = Hnsw::build(&half, with(precision), &mut go).unwrap();
            let recall = hnsw.recall(&half, &sample(&full), 10).unwrap().unwrap();
            assert!(recall >= 0.95, "{recall} {precision:?}");
        }
    }

    #[test]
    fn scores_are_inner_products() {
        let vectors = clustered(3, 500, 32);
        let hnsw = Hnsw::build(&vectors, HnswOptions::default(), &mut go).unwrap();
        let query = vectors.full_row(11).unwrap();
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

    /// Options that build the same graph every time, and one of each precision.
    fn settled() -> [HnswOptions; 3] {
        [
            GraphPrecision::Stored,
            GraphPrecision::Half,
            GraphPrecision::Int8,
        ]
        .map(|precision| HnswOptions {
            threads: Some(1),
            ..with(precision)
        })
    }

    #[test]
    fn a_saved_graph_answers_as_before_loaded_and_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph");
        let vectors = clustered(9, 800, 24);
        for options in settled() {
            let hnsw = Hnsw::build(&vectors, options, &mut go).unwrap();
            hnsw.save(&path, &vectors).unwrap();
            let bytes = hnsw.to_bytes().unwrap();
            for again in [
                Hnsw::load(&path, &vectors, options).unwrap(),
                Hnsw::view(&path, &vectors, options).unwrap(),
                Hnsw::from_bytes(&bytes, &vectors, options).unwrap(),
            ] {
                for query in sample(&vectors) {
                    let expected = hnsw.search(query, 10).unwrap();
                    assert_eq!(again.search(query, 10).unwrap(), expected);
                }
            }
        }
        assert!(Hnsw::from_bytes(b"not a graph", &vectors, HnswOptions::default()).is_err());
        assert!(Hnsw::from_bytes(&[], &vectors, HnswOptions::default()).is_err());
    }

    #[test]
    fn a_graph_of_something_else_is_refused_with_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph");
        let vectors = clustered(9, 300, 24);
        let options = HnswOptions::default();
        let hnsw = Hnsw::build(&vectors, options, &mut go).unwrap();
        hnsw.save(&path, &vectors).unwrap();
        let m = HnswOptions {
            connectivity: 8,
            ..options
        };
        for (vectors, options, part) in [
            (&clustered(9, 301, 24), options, "300 vectors"),
            (&clustered(9, 300, 32), options, "24 dimensions"),
            (&clustered(8, 300, 24), options, "other vectors"),
            (&vectors.to_half().unwrap(), options, "other vectors"),
            (&vectors, with(GraphPrecision::Int8), "Int8"),
            (&vectors, m, "M 8"),
        ] {
            let message = Hnsw::view(&path, vectors, options).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
            assert!(message.contains("build it again"), "{message}");
        }
        assert!(Hnsw::load(&folder.path().join("none"), &vectors, options).is_err());
    }

    #[test]
    fn cut_and_damaged_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph");
        let vectors = clustered(9, 60, 8);
        for options in settled() {
            let hnsw = Hnsw::build(&vectors, options, &mut go).unwrap();
            hnsw.save(&path, &vectors).unwrap();
            let whole = std::fs::read(&path).unwrap();
            for length in (0..whole.len()).step_by(97).chain([whole.len() - 1]) {
                std::fs::write(&path, &whole[..length]).unwrap();
                assert!(Hnsw::view(&path, &vectors, options).is_err(), "{length}");
                assert!(Hnsw::load(&path, &vectors, options).is_err(), "{length}");
            }
            let mut noticed = 0;
            for at in (0..whole.len()).step_by(13) {
                let mut damaged = whole.clone();
                damaged[at] ^= 0x10;
                std::fs::write(&path, &damaged).unwrap();
                noticed += usize::from(Hnsw::load(&path, &vectors, options).is_err());
                // Looked at, it must not crash, whatever it finds.
                if let Ok(hnsw) = Hnsw::view(&path, &vectors, options) {
                    hnsw.search(&[1.0; 8], 5).unwrap();
                }
            }
            let tried = whole.len().div_ceil(13);
            // What lies between the copy and the graph is never read.
            assert!(noticed + 5 >= tried, "{noticed} of {tried}");
        }
    }

    #[test]
    fn no_damage_to_the_links_gets_past_their_test_and_crashes() {
        let vectors = clustered(9, 200, 8);
        let options = settled()[0];
        let whole = Hnsw::build(&vectors, options, &mut go)
            .unwrap()
            .to_bytes()
            .unwrap();
        links::check(&whole, 200).unwrap();
        let mut refused = 0;
        for at in (0..whole.len()).step_by(17) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x80;
            match Hnsw::from_bytes(&damaged, &vectors, options) {
                Err(_) => refused += 1,
                Ok(hnsw) => assert!(hnsw.search(&[1.0; 8], 5).unwrap().len() <= 5),
            }
        }
        // Unused room for links may hold anything, but the links do not.
        assert!(
            refused > whole.len() / 17 / 4,
            "{refused} of {}",
            whole.len()
        );
        for length in (0..whole.len()).step_by(31) {
            assert!(links::check(&whole[..length], 200).is_err(), "{length}");
        }
        assert!(links::check(&whole, 201).is_err());
    }

    /// Builds with checkpoints every 100 rows and stops at the given number of rows.
    fn stopped(
        path: &Path,
        vectors: &Vectors,
        options: HnswOptions,
        stop: usize,
    ) -> Result<Hnsw, RetrievalError> {
        Hnsw::build_in_steps(path, vectors, options, 100, &mut |added| {
            if added >= stop {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
    }

    #[test]
    fn a_stopped_build_goes_on_and_gives_the_same_bytes() {
        let vectors = clustered(4, 900, 32);
        for options in settled() {
            let folder = tempfile::tempdir().unwrap();
            let [whole, resumed] = ["whole", "resumed"].map(|name| folder.path().join(name));
            stopped(&whole, &vectors, options, usize::MAX).unwrap();
            for stop in [128, 384, 640] {
                assert!(stopped(&resumed, &vectors, options, stop).is_err());
                assert!(part_of(&resumed).exists() && !resumed.exists());
            }
            stopped(&resumed, &vectors, options, usize::MAX).unwrap();
            assert_eq!(
                std::fs::read(&whole).unwrap(),
                std::fs::read(&resumed).unwrap()
            );
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
            // The finished file is loaded: nothing is added.
            stopped(&resumed, &vectors, options, 0).unwrap();
        }
    }

    #[test]
    fn many_threads_go_on_where_they_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph");
        let vectors = clustered(4, 3000, 64);
        let options = HnswOptions {
            threads: Some(3),
            ..HnswOptions::default()
        };
        assert!(stopped(&path, &vectors, options, 1).is_err());
        let mut first = None;
        let hnsw = Hnsw::build_in_steps(&path, &vectors, options, 100, &mut |added| {
            first.get_or_insert(added);
            ControlFlow::Continue(())
        })
        .unwrap();
        assert!(first.unwrap() > 0, "it began anew");
        assert_eq!(hnsw.len(), 3000);
        let recall = hnsw.recall(&vectors, &sample(&vectors), 10).unwrap();
        assert!(recall.unwrap() >= 0.95, "{recall:?}");
        for position in [0, 1500, 2999] {
            let query = vectors.full_row(position).unwrap();
            assert_eq!(
                hnsw.search(query, 1).unwrap()[0].position,
                exact::top_k(&vectors, query, 1)[0].position
            );
        }
    }

    #[test]
    fn a_checkpoint_of_something_else_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph");
        let options = settled()[0];
        let (vectors, others) = (clustered(4, 900, 32), clustered(5, 900, 32));
        assert!(stopped(&path, &others, options, 512).is_err());
        stopped(&path, &vectors, options, usize::MAX).unwrap();
        let alone = folder.path().join("alone");
        stopped(&alone, &vectors, options, usize::MAX).unwrap();
        assert_eq!(
            std::fs::read(&path).unwrap(),
            std::fs::read(&alone).unwrap()
        );
        std::fs::write(part_of(&path), "rubbish").unwrap();
        std::fs::remove_file(&path).unwrap();
        stopped(&path, &vectors, options, usize::MAX).unwrap();
        assert_eq!(
            std::fs::read(&path).unwrap(),
            std::fs::read(&alone).unwrap()
        );
    }

    #[test]
    fn more_threads_than_reserved_may_search() {
        let vectors = clustered(1, 600, 16);
        let built = Hnsw::build(&vectors, HnswOptions::default(), &mut go).unwrap();
        let bytes = built.to_bytes().unwrap();
        let loaded = Hnsw::from_bytes(&bytes, &vectors, HnswOptions::default()).unwrap();
        for hnsw in [&built, &loaded] {
            let query = vectors.full_row(3).unwrap();
            let expected = hnsw.search(query, 10).unwrap();
            std::thread::scope(|scope| {
                for _ in 0..3 * graph::SEARCH_THREADS {
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
