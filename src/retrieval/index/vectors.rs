//! The vectors of an index: encoded in steps whose content does not depend on time, so that a killed build gives
//! the bytes of an undisturbed one.
//!
//! Documents are taken in blocks; within a block they are encoded longest first, so that one step's texts are of
//! about the same length. A step's rows are written to their places in the file and made durable before the step
//! counts as done.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::retrieval::exact::Vectors;
use crate::retrieval::index::state::{self, STATE, State};
use crate::retrieval::index::stopped;
use crate::retrieval::index::store::Store;
use crate::retrieval::mapped::{Mapped, write_reason};
use crate::retrieval::retriever::{recall_sample, staged};
use crate::retrieval::vector::{GraphPrecision, Hnsw, HnswOptions};
use crate::retrieval::{DAMAGED, Progress, RetrievalError, npy};

/// The vectors, row after row.
pub(super) const VECTORS: &str = "vectors.npy";
/// The graph over them.
pub(super) const GRAPH: &str = "graph.usearch";
/// Documents that are sorted by length together.
const BLOCK: usize = 1 << 14;
/// How often rows are made durable.
const SYNC: Duration = Duration::from_secs(2);

/// Encodes titles and texts, row after row; tells how many are done and stops when told so.
pub(super) type EncodeTexts<'a> = dyn FnMut(
        &[(&str, &str)],
        &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Vec<f32>, RetrievalError>
    + 'a;

/// Whether all vectors are there, though a kill kept the state from saying so: the file gets its name last.
pub(super) fn finished(folder: &Path) -> bool {
    folder.join(VECTORS).is_file()
}

/// Removes vectors and graph; what can't be removed is written over.
pub(super) fn forget(folder: &Path) {
    let vectors = folder.join(VECTORS);
    for path in [
        vectors.with_extension("partial"),
        vectors,
        folder.join(GRAPH),
    ] {
        let _ = std::fs::remove_file(path);
    }
}

/// The rows of an unfinished file of vectors, at their places.
pub(super) struct Rows {
    path: PathBuf,
    file: File,
    dim: usize,
    head: u64,
}

impl Rows {
    /// Opens the file; `begin` starts it anew.
    pub(super) fn open(
        folder: &Path,
        rows: usize,
        dim: usize,
        begin: bool,
    ) -> Result<Rows, RetrievalError> {
        let path = folder.join(VECTORS).with_extension("partial");
        let head = npy::head(rows, dim);
        let length = head.len() as u64 + 4 * rows as u64 * dim as u64;
        let open = || -> io::Result<File> {
            let mut file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path)?;
            if begin {
                file.set_len(0)?;
                file.write_all(&head)?;
                file.set_len(length)?;
            } else if file.metadata()?.len() != length {
                return Err(io::Error::other(
                    "it has another length than before; remove the folder and build anew",
                ));
            }
            Ok(file)
        };
        match open() {
            Ok(file) => Ok(Rows {
                head: head.len() as u64,
                path,
                file,
                dim,
            }),
            Err(error) => Err(failed(&path, &error)),
        }
    }

    /// Writes one row.
    pub(super) fn put(&mut self, position: usize, row: &[f32]) -> Result<(), RetrievalError> {
        let bytes: Vec<u8> = row.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.put_bytes(position, &bytes)
    }

    /// Writes one row of little-endian numbers.
    pub(super) fn put_bytes(&mut self, position: usize, row: &[u8]) -> Result<(), RetrievalError> {
        let at = self.head + 4 * position as u64 * self.dim as u64;
        self.file
            .seek(SeekFrom::Start(at))
            .and_then(|_| self.file.write_all(row))
            .map_err(|error| failed(&self.path, &error))
    }

    /// Waits until all that was written is on disk.
    pub(super) fn sync(&mut self) -> Result<(), RetrievalError> {
        self.file
            .sync_data()
            .map_err(|error| failed(&self.path, &error))
    }

    /// All rows are there: gives the file its name.
    pub(super) fn end(mut self, folder: &Path) -> Result<(), RetrievalError> {
        self.sync()?;
        let path = folder.join(VECTORS);
        std::fs::rename(&self.path, &path).map_err(|error| failed(&path, &error))
    }
}

fn failed(path: &Path, error: &io::Error) -> RetrievalError {
    RetrievalError(format!(
        "{} can't be written: {}",
        path.display(),
        write_reason(error)
    ))
}

/// Encodes all documents of the store.
///
/// # Errors
/// When encoding fails, the disk can't be written, or `progress` breaks; what is done is kept.
pub(super) fn encode(
    folder: &Path,
    store: &Store,
    dim: usize,
    state: &mut State,
    encode: &mut EncodeTexts<'_>,
    progress: &mut Progress<'_>,
) -> Result<(), RetrievalError> {
    let step = state.request.step.max(1);
    let mut rows = Rows::open(folder, store.len(), dim, state.steps == 0)?;
    let mut say = staged("encoding", store.len(), progress);
    let mut done = 0usize;
    let (mut number, mut synced, mut saved) = (0u64, Instant::now(), state.steps);
    for start in (0..store.len()).step_by(BLOCK) {
        let mut block: Vec<usize> = (start..(start + BLOCK).min(store.len())).collect();
        block.sort_by_key(|&position| (std::cmp::Reverse(store.length(position)), position));
        for positions in block.chunks(step) {
            number += 1;
            if number > saved {
                let data = one_step(store, positions, dim, encode, &mut |at| say(done + at));
                let data = match data {
                    Ok(data) => data,
                    Err(error) => {
                        rows.sync()?;
                        save(folder, state, number - 1)?;
                        return Err(error);
                    }
                };
                for (&position, row) in positions.iter().zip(data.chunks_exact(dim)) {
                    rows.put(position, row)?;
                }
                if synced.elapsed() > SYNC {
                    rows.sync()?;
                    save(folder, state, number)?;
                    (synced, saved) = (Instant::now(), number);
                }
            }
            done += positions.len();
            if say(done).is_break() {
                rows.sync()?;
                save(folder, state, number.max(saved))?;
                return Err(stopped());
            }
        }
    }
    rows.end(folder)?;
    state.vectors = true;
    save(folder, state, number)
}

fn save(folder: &Path, state: &mut State, steps: u64) -> Result<(), RetrievalError> {
    state.steps = steps.max(state.steps);
    state::write(folder, STATE, state)
}

fn one_step(
    store: &Store,
    positions: &[usize],
    dim: usize,
    encode: &mut EncodeTexts<'_>,
    say: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Vec<f32>, RetrievalError> {
    let texts: Vec<(&str, &str)> = positions
        .iter()
        .map(|&position| {
            let text = store.get(position).ok_or_else(|| {
                RetrievalError(format!(
                    "document {} of the store can't be read; {DAMAGED}",
                    position + 1
                ))
            })?;
            Ok((text.title, text.content))
        })
        .collect::<Result<_, RetrievalError>>()?;
    let data = encode(&texts, say)?;
    if data.len() != positions.len() * dim {
        return Err(RetrievalError(format!(
            "the encoder gave {} numbers for {} documents of {dim} dimensions",
            data.len(),
            positions.len()
        )));
    }
    match data.iter().position(|number| !number.is_finite()) {
        Some(at) => Err(RetrievalError(format!(
            "the encoder gave {} for document {} of the corpus: its weights or the backend are broken; try --backend cpu",
            data[at],
            positions[at / dim] + 1
        ))),
        None => Ok(data),
    }
}

/// Opens the vectors of an index; they stay in their file.
///
/// # Errors
/// When the file is not there or not what it should be.
pub(super) fn load(folder: &Path, rows: usize, dim: usize) -> Result<Vectors, RetrievalError> {
    let path = folder.join(VECTORS);
    let damaged = |why: String| RetrievalError(format!("{why}; {DAMAGED}"));
    // What is missing and what may not be read is told from what is damaged.
    Mapped::open_own(&path)?;
    let vectors = npy::open(&path).map_err(|error| damaged(error.0))?;
    match (vectors.len(), vectors.dim()) == (rows, dim) {
        true => Ok(vectors),
        false => Err(damaged(format!(
            "{} holds {} vectors of {} dimensions where {rows} of {dim} were expected",
            path.display(),
            vectors.len(),
            vectors.dim()
        ))),
    }
}

/// Builds the graph over the vectors, or goes on building it, and measures its recall@10.
///
/// # Errors
/// When building fails, the disk can't be written, or `progress` breaks.
pub(super) fn build_graph(
    folder: &Path,
    vectors: &Vectors,
    precision: GraphPrecision,
    progress: &mut Progress<'_>,
) -> Result<Option<f64>, RetrievalError> {
    let mut say = staged("adding vectors", vectors.len(), progress);
    if say(0).is_break() {
        return Err(stopped());
    }
    let path = folder.join(GRAPH);
    let hnsw = Hnsw::build_at(&path, vectors, options(precision), &mut say)?;
    drop(say);
    if staged("measuring recall", 1, progress)(0).is_break() {
        return Err(stopped());
    }
    let sample = recall_sample(vectors);
    let queries: Vec<&[f32]> = sample.iter().map(AsRef::as_ref).collect();
    hnsw.recall(vectors, &queries, 10)
}

/// Opens the graph of an index; it stays in its file.
///
/// # Errors
/// When it is not there or not the one of these vectors.
pub(super) fn open_graph(
    folder: &Path,
    vectors: &Vectors,
    precision: GraphPrecision,
) -> Result<Hnsw, RetrievalError> {
    Hnsw::view(&folder.join(GRAPH), vectors, options(precision))
}

fn options(precision: GraphPrecision) -> HnswOptions {
    HnswOptions {
        precision,
        ..HnswOptions::default()
    }
}
