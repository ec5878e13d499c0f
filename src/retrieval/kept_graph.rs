//! The graph of a dataset's own documents, kept beside their vectors with what was measured of it.

use crate::retrieval::RetrievalError;
use crate::retrieval::embed::CacheEntry;
use crate::retrieval::exact::Vectors;
use crate::retrieval::retriever::{Progress, recall_sample, staged};
use crate::retrieval::sealed::{self, Key, Opened};
use crate::retrieval::vector::{GOOD_RECALL, Hnsw, HnswOptions, MOST_CANDIDATES};

const GRAPH_MAGIC: &[u8; 8] = b"MEDRGBHN";
const TUNING_MAGIC: &[u8; 8] = b"MEDRGBTU";

/// What was measured of a graph, as an index folder's manifest says it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Tuning {
    /// Candidates of a search.
    candidates: usize,
    /// Mean recall@10 against the exact scan with so many; none without vectors.
    recall_at_10: Option<f64>,
}

impl Tuning {
    /// Candidates (u64), then the recall (f64; no number where there is none), little-endian.
    fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&(self.candidates as u64).to_le_bytes());
        let recall = self.recall_at_10.unwrap_or(f64::NAN);
        bytes[8..].copy_from_slice(&recall.to_le_bytes());
        bytes
    }

    /// `None` for what no measurement can have given.
    fn from_bytes(bytes: &[u8]) -> Option<Tuning> {
        let (candidates, recall) = bytes.split_at_checked(8)?;
        let candidates = u64::from_le_bytes(candidates.try_into().ok()?);
        let recall = f64::from_le_bytes(recall.try_into().ok()?);
        let tuning = Tuning {
            candidates: usize::try_from(candidates).ok()?,
            recall_at_10: (!recall.is_nan()).then_some(recall),
        };
        let least = HnswOptions::default().expansion_search;
        let possible = (least..=MOST_CANDIDATES).contains(&tuning.candidates)
            && tuning
                .recall_at_10
                .is_none_or(|recall| (0.0..=1.0).contains(&recall));
        possible.then_some(tuning)
    }
}

/// The graph over the vectors, searched as thoroughly as a good recall needs, and that recall: from the cache where
/// both are whole and of these vectors, else built and measured.
///
/// # Errors
/// When the graph can't be built or searched, or `progress` breaks.
pub(super) fn tuned(
    vectors: &Vectors,
    entry: Option<&CacheEntry>,
    progress: &mut Progress<'_>,
    notes: &mut Vec<String>,
) -> Result<(Hnsw, Option<f64>), RetrievalError> {
    let Graph { mut hnsw, seal } = graph(vectors, entry, progress, notes)?;
    // Without a cache nothing is sealed.
    let kept = entry.zip(seal);
    if let Some(tuning) = kept.and_then(|(entry, seal)| kept_tuning(entry, &seal, notes)) {
        hnsw.set_expansion_search(tuning.candidates);
        return Ok((hnsw, tuning.recall_at_10));
    }
    if staged("measuring recall", 1, progress)(0).is_break() {
        return Err(RetrievalError::cancelled());
    }
    let sample = recall_sample(vectors);
    let queries: Vec<&[f32]> = sample.iter().map(AsRef::as_ref).collect();
    let recall = hnsw.tune(vectors, &queries)?;
    if let Some((entry, seal)) = kept {
        let tuning = Tuning {
            candidates: hnsw.expansion_search(),
            recall_at_10: recall,
        };
        keep_tuning(entry, &seal, tuning, notes);
    }
    Ok((hnsw, recall))
}

/// A graph, and with a cache the key of what is measured of it.
struct Graph {
    hnsw: Hnsw,
    seal: Option<Key>,
}

/// The graph from the cache where it is whole and of these vectors, else a new one.
fn graph(
    vectors: &Vectors,
    entry: Option<&CacheEntry>,
    progress: &mut Progress<'_>,
    notes: &mut Vec<String>,
) -> Result<Graph, RetrievalError> {
    let options = HnswOptions::default();
    let key = entry.map(|entry| (entry, graph_key(vectors, options)));
    if let Some((entry, key)) = &key
        && let Some(graph) = kept_graph(entry, key, vectors, options, notes)
    {
        return Ok(graph);
    }
    let mut say = staged("adding vectors", vectors.len(), progress);
    if say(0).is_break() {
        return Err(RetrievalError::cancelled());
    }
    let hnsw = Hnsw::build(vectors, options, &mut say)?;
    let Some((entry, key)) = key else {
        return Ok(Graph { hnsw, seal: None });
    };
    let path = entry.file("hnsw");
    let bytes = hnsw.to_bytes()?;
    if let Err(error) = sealed::write(&path, GRAPH_MAGIC, &key, &bytes) {
        notes.push(format!(
            "the vector index can't be saved as {} ({error}); it will be built again next time",
            path.display()
        ));
    }
    let seal = Some(tuning_key(&key, &bytes));
    Ok(Graph { hnsw, seal })
}

fn kept_graph(
    entry: &CacheEntry,
    key: &Key,
    vectors: &Vectors,
    options: HnswOptions,
    notes: &mut Vec<String>,
) -> Option<Graph> {
    let path = entry.file("hnsw");
    let why = match sealed::read(&path, GRAPH_MAGIC, key) {
        Opened::Missing => return None,
        Opened::Damaged(why) => why,
        Opened::Whole(bytes) => match Hnsw::from_bytes(&bytes, vectors, options) {
            Ok(hnsw) => {
                let seal = Some(tuning_key(key, &bytes));
                return Some(Graph { hnsw, seal });
            }
            Err(error) => error.to_string(),
        },
    };
    notes.push(format!(
        "the saved vector index {} can't be used ({why}); it is built again",
        path.display()
    ));
    None
}

/// A graph belongs to the very vectors it was built from: a re-encoded corpus gets a new one.
fn graph_key(vectors: &Vectors, options: HnswOptions) -> Key {
    let mut hasher = sealed::Hasher::new();
    let how = (
        options.connectivity,
        options.expansion_add,
        options.precision,
    );
    hasher.part(format!("{how:?} {}", vectors.dim()).as_bytes());
    for row in vectors.rows() {
        hasher.numbers(&row);
    }
    hasher.finish()
}

/// What was measured belongs to the very graph, since no two builds with several threads are the same, and to what was
/// aimed at.
fn tuning_key(graph: &Key, bytes: &[u8]) -> Key {
    let least = HnswOptions::default().expansion_search;
    let aim = format!("{GOOD_RECALL} {least} {MOST_CANDIDATES}");
    sealed::key_of([graph.as_slice(), bytes, aim.as_bytes()])
}

/// What was measured of this graph.
fn kept_tuning(entry: &CacheEntry, seal: &Key, notes: &mut Vec<String>) -> Option<Tuning> {
    let path = entry.file("recall");
    let why = match sealed::read(&path, TUNING_MAGIC, seal) {
        Opened::Missing => return None,
        Opened::Damaged(why) => why,
        Opened::Whole(payload) => match Tuning::from_bytes(&payload) {
            Some(tuning) => return Some(tuning),
            None => "it holds no such figure".into(),
        },
    };
    notes.push(format!(
        "the saved recall of the vector index {} can't be used ({why}); it is measured again",
        path.display()
    ));
    None
}

fn keep_tuning(entry: &CacheEntry, seal: &Key, tuning: Tuning, notes: &mut Vec<String>) {
    let path = entry.file("recall");
    if let Err(error) = sealed::write(&path, TUNING_MAGIC, seal, &tuning.to_bytes()) {
        notes.push(format!(
            "the recall of the vector index can't be saved as {} ({error}); it will be measured again next time",
            path.display()
        ));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::ops::ControlFlow;

    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::retrieval::CorpusDocument;

    fn vectors(seed: u64) -> Vectors {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let numbers = (0..400 * 8).map(|_| random.next_u32() as f32 / u32::MAX as f32 - 0.5);
        Vectors::new(8, numbers.collect()).unwrap()
    }

    /// The graph with its recall, whether that was measured, and what was said.
    fn open(entry: &CacheEntry, vectors: &Vectors) -> (Hnsw, Option<f64>, bool, Vec<String>) {
        let (mut measured, mut notes) = (false, Vec::new());
        let (hnsw, recall) = tuned(
            vectors,
            Some(entry),
            &mut |progress| {
                measured |= progress.stage == "measuring recall";
                ControlFlow::Continue(())
            },
            &mut notes,
        )
        .unwrap();
        (hnsw, recall, measured, notes)
    }

    fn entry(folder: &std::path::Path) -> CacheEntry {
        let document = CorpusDocument {
            id: "a".into(),
            title: String::new(),
            content: "text".into(),
        };
        CacheEntry::new(folder, &[1; 32], &[document])
    }

    #[test]
    fn what_was_measured_is_read_back_until_the_graph_changes() {
        let folder = tempfile::tempdir().unwrap();
        let (entry, one) = (entry(folder.path()), vectors(1));
        let (_, first, measured, notes) = open(&entry, &one);
        assert!(measured && notes.is_empty(), "{notes:?}");
        assert!(first.unwrap() > 0.9, "{first:?}");
        let (_, again, measured, _) = open(&entry, &one);
        assert_eq!((again, measured), (first, false));

        // What is there decides, not a measurement in silence: a figure of the same graph is taken as it stands.
        let key = graph_key(&one, HnswOptions::default());
        let Opened::Whole(bytes) = sealed::read(&entry.file("hnsw"), GRAPH_MAGIC, &key) else {
            unreachable!("the graph is kept");
        };
        let seal = tuning_key(&key, &bytes);
        let other = Tuning {
            candidates: 512,
            recall_at_10: Some(0.5),
        };
        keep_tuning(&entry, &seal, other, &mut Vec::new());
        let (hnsw, recall, measured, _) = open(&entry, &one);
        assert_eq!(
            (hnsw.expansion_search(), recall, measured),
            (512, Some(0.5), false)
        );

        // Other vectors have another graph, of which nothing is known.
        let (_, recall, measured, notes) = open(&entry, &vectors(2));
        assert!(measured && recall != Some(0.5));
        assert_eq!(notes.len(), 2, "{notes:?}");
        let (_, _, measured, notes) = open(&entry, &vectors(2));
        assert!(!measured && notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn damage_and_impossible_figures_are_measured_again() {
        let folder = tempfile::tempdir().unwrap();
        let (entry, one) = (entry(folder.path()), vectors(1));
        let (_, first, ..) = open(&entry, &one);
        let path = entry.file("recall");
        let mut bytes = std::fs::read(&path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let (_, again, measured, notes) = open(&entry, &one);
        assert_eq!((again, measured), (first, true));
        assert!(notes[0].contains("checksum"), "{notes:?}");
        for (candidates, recall) in [(0, Some(0.9)), (usize::MAX, Some(0.9)), (128, Some(1.5))] {
            let tuning = Tuning {
                candidates,
                recall_at_10: recall,
            };
            assert_eq!(Tuning::from_bytes(&tuning.to_bytes()), None, "{tuning:?}");
        }
        for recall in [None, Some(0.0), Some(1.0)] {
            let tuning = Tuning {
                candidates: 1024,
                recall_at_10: recall,
            };
            assert_eq!(Tuning::from_bytes(&tuning.to_bytes()), Some(tuning));
        }
        assert_eq!(Tuning::from_bytes(&[0; 7]), None);
    }
}
