//! Vectors of a corpus: from the cache, or encoded in steps that are kept on disk.

pub mod steps;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::retrieval::checkpoint::{Checkpoint, floats};
use crate::retrieval::exact::Vectors;
use crate::retrieval::sealed::{self, Key, Opened};
use crate::retrieval::{CorpusDocument, RetrievalError};

const MAGIC: &[u8; 8] = b"MEDRGBEM";
/// Documents of the first step; later steps grow or shrink until they take about [`STEP`].
const FIRST_STEP: usize = 16;
/// Documents of a step at least: fewer would only cost.
const SMALLEST_STEP: usize = 8;
/// Documents of a step at most.
const LARGEST_STEP: usize = 8192;
/// How much work a kill may cost, about.
const STEP: Duration = Duration::from_secs(5);

/// Where vectors of one (encoder, corpus) pair are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheEntry {
    folder: PathBuf,
    name: String,
    /// Hash of encoder and corpus.
    pub key: Key,
}

impl CacheEntry {
    /// The entry in `folder` for an encoder (its fingerprint) and documents (their texts in order).
    pub fn new(folder: &Path, encoder: &Key, documents: &[CorpusDocument]) -> CacheEntry {
        let corpus = corpus_key(documents);
        CacheEntry {
            folder: folder.to_path_buf(),
            name: format!("{}-{}", sealed::short(encoder), sealed::short(&corpus)),
            key: sealed::key_of([encoder.as_slice(), corpus.as_slice()]),
        }
    }

    /// The file with this extension.
    pub fn file(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.name))
    }
}

/// Hash of the texts of a corpus in their order; ids do not count, since they are not encoded.
fn corpus_key(documents: &[CorpusDocument]) -> Key {
    sealed::key_of(
        documents
            .iter()
            .flat_map(|document| [document.title.as_bytes(), document.content.as_bytes()]),
    )
}

/// Encodes the documents at these positions, row after row in the order of the positions; tells how many
/// of them are done and stops when told so.
pub type EncodeStep<'a> = dyn FnMut(&[usize], &mut dyn FnMut(usize) -> ControlFlow<()>) -> Result<Vec<f32>, RetrievalError>
    + 'a;

/// Vectors of all documents, from the cache where it is whole. What the cache could not do is said in
/// `notes`; it never fails the build. With a cache a cancelled or killed run goes on where it stopped.
///
/// # Errors
/// When encoding fails or `progress` (documents done) breaks.
pub fn vectors(
    documents: &[CorpusDocument],
    dim: usize,
    cache: Option<&CacheEntry>,
    encode: &mut EncodeStep<'_>,
    progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
    notes: &mut Vec<String>,
) -> Result<Vectors, RetrievalError> {
    if let Some(entry) = cache
        && let Some(vectors) = cached(entry, dim, documents.len(), notes)
    {
        return Ok(vectors);
    }
    let mut filler = Filler::new(documents.len(), dim);
    let mut checkpoint = cache.and_then(|entry| filler.resume(entry, notes));
    filler.fill(documents, &mut checkpoint, encode, progress, notes)?;
    let vectors = Vectors::new(dim, filler.data)?;
    if let Some(entry) = cache {
        keep(entry, &vectors, checkpoint, notes);
    }
    Ok(vectors)
}

fn cached(entry: &CacheEntry, dim: usize, rows: usize, notes: &mut Vec<String>) -> Option<Vectors> {
    let path = entry.file("emb");
    let why = match sealed::read(&path, MAGIC, &entry.key) {
        Opened::Missing => return None,
        Opened::Damaged(why) => why,
        Opened::Whole(payload) if payload.len() == rows * dim * 4 => {
            match Vectors::new(dim, floats(&payload).collect()) {
                Ok(vectors) => return Some(vectors),
                Err(error) => error.to_string(),
            }
        }
        Opened::Whole(_) => "it holds another number of vectors".into(),
    };
    notes.push(format!(
        "the saved embeddings {} can't be used ({why}); the documents are encoded again",
        path.display()
    ));
    None
}

fn keep(
    entry: &CacheEntry,
    vectors: &Vectors,
    checkpoint: Option<Checkpoint>,
    notes: &mut Vec<String>,
) {
    let payload = vectors.row_bytes(0..vectors.len());
    let path = entry.file("emb");
    match sealed::write(&path, MAGIC, &entry.key, &payload) {
        Ok(()) => {
            if let Some(checkpoint) = checkpoint {
                checkpoint.remove();
            }
        }
        Err(error) => notes.push(format!(
            "the embeddings can't be saved as {} ({error}); they will be computed again next time",
            path.display()
        )),
    }
}

/// The vectors while they are being made.
struct Filler {
    dim: usize,
    data: Vec<f32>,
    done: Vec<bool>,
}

impl Filler {
    fn new(rows: usize, dim: usize) -> Filler {
        Filler {
            dim,
            data: vec![0.0; rows * dim],
            done: vec![false; rows],
        }
    }

    fn put(&mut self, positions: &[usize], data: &[f32]) {
        for (&position, row) in positions.iter().zip(data.chunks_exact(self.dim)) {
            self.data[position * self.dim..][..self.dim].copy_from_slice(row);
            self.done[position] = true;
        }
    }

    /// Takes what an earlier run left and opens the file for more.
    fn resume(&mut self, entry: &CacheEntry, notes: &mut Vec<String>) -> Option<Checkpoint> {
        let path = entry.file("part");
        match Checkpoint::open(&path, &entry.key, self.dim, self.done.len()) {
            Ok((checkpoint, kept)) => {
                self.put(&kept.positions, &kept.data);
                Some(checkpoint)
            }
            Err(error) => {
                notes.push(format!(
                    "progress can't be saved in {} ({error}); a cancelled build will start over",
                    path.display()
                ));
                None
            }
        }
    }

    fn fill(
        &mut self,
        documents: &[CorpusDocument],
        checkpoint: &mut Option<Checkpoint>,
        encode: &mut EncodeStep<'_>,
        progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
        notes: &mut Vec<String>,
    ) -> Result<(), RetrievalError> {
        // Longest first: texts of one step have about the same length (little padding), and the rate
        // only gets better than what the first steps promise.
        let mut waiting: Vec<usize> = (0..documents.len())
            .filter(|&position| !self.done[position])
            .collect();
        let length = |position: usize| {
            documents
                .get(position)
                .map_or(0, |document| document.title.len() + document.content.len())
        };
        waiting.sort_by_key(|&position| std::cmp::Reverse(length(position)));
        let mut finished = documents.len() - waiting.len();
        if progress(finished).is_break() {
            return Err(RetrievalError::cancelled());
        }
        let mut step = FIRST_STEP;
        let mut rest = waiting.as_slice();
        while !rest.is_empty() {
            let (now, later) = rest.split_at(step.min(rest.len()));
            let started = Instant::now();
            let data = encode(now, &mut |done| progress(finished + done.min(now.len())))?;
            self.accept(now, &data)?;
            if let Some(open) = checkpoint.as_mut()
                && let Err(error) = open.append(now, &data)
            {
                notes.push(format!(
                    "progress can't be saved ({error}); a cancelled build will start over"
                ));
                *checkpoint = None;
            }
            finished += now.len();
            rest = later;
            if progress(finished).is_break() && !rest.is_empty() {
                return Err(RetrievalError::cancelled());
            }
            step = next_step(step, started.elapsed());
        }
        Ok(())
    }

    fn accept(&mut self, positions: &[usize], data: &[f32]) -> Result<(), RetrievalError> {
        if data.len() != positions.len() * self.dim {
            return Err(RetrievalError(format!(
                "the encoder gave {} numbers for {} documents of {} dimensions",
                data.len(),
                positions.len(),
                self.dim
            )));
        }
        if let Some(at) = data.iter().position(|number| !number.is_finite()) {
            return Err(RetrievalError(format!(
                "the encoder gave {} for document {} of the corpus: its weights or the backend are broken; try --backend cpu",
                data[at],
                positions[at / self.dim] + 1
            )));
        }
        self.put(positions, data);
        Ok(())
    }
}

/// Documents of the next step, by what this one took.
fn next_step(step: usize, took: Duration) -> usize {
    if took < STEP / 2 {
        (step * 2).min(LARGEST_STEP)
    } else if took > STEP * 2 {
        (step / 2).max(SMALLEST_STEP)
    } else {
        step
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn documents(count: usize) -> Vec<CorpusDocument> {
        (0..count)
            .map(|i| CorpusDocument {
                id: i.to_string(),
                title: String::new(),
                content: "x".repeat(i * 7 % 50),
            })
            .collect()
    }

    /// Encodes a position as (position, 1) and counts; the encoder itself runs in the integration test.
    fn build(
        documents: &[CorpusDocument],
        entry: Option<&CacheEntry>,
        stop_after: usize,
        notes: &mut Vec<String>,
    ) -> (Result<Vectors, RetrievalError>, usize) {
        let mut encoded = 0;
        let result = vectors(
            documents,
            2,
            entry,
            &mut |positions, _| {
                encoded += positions.len();
                Ok(positions.iter().flat_map(|&p| [p as f32, 1.0]).collect())
            },
            &mut |done| {
                if done >= stop_after {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            },
            notes,
        );
        (result, encoded)
    }

    fn assert_right(vectors: &Vectors, rows: usize) {
        assert_eq!(vectors.len(), rows);
        for (position, row) in vectors.rows().enumerate() {
            assert_eq!(*row, [position as f32, 1.0]);
        }
    }

    #[test]
    fn a_cancelled_build_goes_on_and_a_finished_one_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let documents = documents(1000);
        let entry = CacheEntry::new(folder.path(), &[1; 32], &documents);
        let mut notes = Vec::new();
        let (result, first) = build(&documents, Some(&entry), 300, &mut notes);
        assert!(result.is_err());
        assert!((300..1000).contains(&first), "{first}");
        let (result, second) = build(&documents, Some(&entry), usize::MAX, &mut notes);
        assert_right(&result.unwrap(), 1000);
        assert_eq!(first + second, 1000);
        let (result, third) = build(&documents, Some(&entry), usize::MAX, &mut notes);
        assert_right(&result.unwrap(), 1000);
        assert_eq!(third, 0);
        assert_eq!(notes, Vec::<String>::new());
        assert!(!entry.file("part").exists());
    }

    #[test]
    fn a_damaged_cache_is_rebuilt_with_a_note() {
        let folder = tempfile::tempdir().unwrap();
        let documents = documents(100);
        let entry = CacheEntry::new(folder.path(), &[1; 32], &documents);
        let mut notes = Vec::new();
        build(&documents, Some(&entry), usize::MAX, &mut notes)
            .0
            .unwrap();
        let path = entry.file("emb");
        let whole = std::fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[200] ^= 1;
        for damaged in [flipped, whole[..whole.len() - 5].to_vec(), Vec::new()] {
            std::fs::write(&path, damaged).unwrap();
            let mut notes = Vec::new();
            let (result, encoded) = build(&documents, Some(&entry), usize::MAX, &mut notes);
            assert_right(&result.unwrap(), 100);
            assert_eq!(encoded, 100);
            assert_eq!(notes.len(), 1);
            assert!(notes[0].contains("encoded again"), "{}", notes[0]);
            assert_eq!(std::fs::read(&path).unwrap(), whole);
        }
    }

    #[test]
    fn steps_grow_on_fast_machines_and_shrink_on_slow_ones() {
        assert_eq!(next_step(16, Duration::from_secs(1)), 32);
        assert_eq!(next_step(32, Duration::from_secs(5)), 32);
        assert_eq!(next_step(32, Duration::from_secs(60)), 16);
        assert_eq!(next_step(8, Duration::from_secs(60)), SMALLEST_STEP);
        assert_eq!(next_step(LARGEST_STEP, Duration::ZERO), LARGEST_STEP);
    }

    #[test]
    fn another_text_or_encoder_is_another_entry() {
        let folder = Path::new("cache");
        let mut documents = documents(3);
        let entry = CacheEntry::new(folder, &[1; 32], &documents);
        assert_ne!(entry, CacheEntry::new(folder, &[2; 32], &documents));
        documents[2].title = "new".into();
        assert_ne!(entry, CacheEntry::new(folder, &[1; 32], &documents));
        documents.pop();
        assert_ne!(entry, CacheEntry::new(folder, &[1; 32], &documents));
    }

    #[test]
    fn a_cache_that_can_not_be_written_is_a_note() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a file");
        std::fs::write(&file, "").unwrap();
        let documents = documents(10);
        let entry = CacheEntry::new(&file, &[1; 32], &documents);
        let mut notes = Vec::new();
        let (result, _) = build(&documents, Some(&entry), usize::MAX, &mut notes);
        assert_right(&result.unwrap(), 10);
        assert!(!notes.is_empty());
        let (result, _) = build(&documents, None, usize::MAX, &mut Vec::new());
        assert_right(&result.unwrap(), 10);
    }

    #[test]
    fn numbers_that_are_none_are_an_error() {
        let error = vectors(
            &documents(3),
            1,
            None,
            &mut |positions, _| Ok(vec![f32::NAN; positions.len()]),
            &mut |_| ControlFlow::Continue(()),
            &mut Vec::new(),
        )
        .unwrap_err();
        assert!(error.to_string().contains("--backend cpu"), "{error}");
    }
}
