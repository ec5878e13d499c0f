//! Shards of one corpus into one index. Document number d of the whole is document d / PARTS of shard d modulo
//! PARTS: the merged texts are byte for byte those of an index that was built at once, and so is its BM25 index by
//! hits and scores. Vectors are copied; the graph is built anew over all of them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::domain::text::count;
use crate::retrieval::exact::Vectors;
use crate::retrieval::index::build::{Built, graph, index_text, run};
use crate::retrieval::index::search::IndexFolder;
use crate::retrieval::index::state::{self, Manifest, PROBLEMS, STATE, Shard, State};
use crate::retrieval::index::stopped;
use crate::retrieval::index::store::{self, Store, id_hash, write_ids};
use crate::retrieval::index::vectors::{self, Rows};
use crate::retrieval::mapped::write_reason;
use crate::retrieval::retriever::staged;
use crate::retrieval::vector::GraphPrecision;
use crate::retrieval::{CorpusDocument, DAMAGED, Progress, RetrievalError};

/// How often what is copied is made durable.
const SYNC: Duration = Duration::from_secs(5);
/// Documents or rows between two looks at the clock and the progress.
const LOOK: usize = 1024;

/// A shard that is merged.
struct Part {
    path: PathBuf,
    manifest: Manifest,
    store: Store,
}

/// Merges all shards of a corpus into the index `out`, or goes on merging them. Blocking. Without a `precision` the
/// merged graph compares what those of the shards do.
///
/// # Errors
/// When the shards do not belong together, one is missing or there twice, a file can't be read or written, or
/// `progress` breaks.
pub fn merge(
    shards: &[PathBuf],
    out: &Path,
    precision: Option<GraphPrecision>,
    progress: &mut Progress<'_>,
) -> Result<Built, RetrievalError> {
    let parts = parts(shards)?;
    let Some(first) = parts.first() else {
        return Err(RetrievalError("no index was named to merge".into()));
    };
    let mut request = first.manifest.request.clone();
    request.shard = Shard::WHOLE;
    request.graph = merged_graph(&parts, precision)?;
    let hint = first.manifest.encoder_folder.clone();
    run(out, request, hint, progress, |state, progress| {
        if !state.read.done {
            texts(out, &parts, state, progress)?;
        }
        let documents = parts.iter().map(|part| part.store.len()).sum();
        let store = Store::open(out, documents, state.read.bytes)?;
        index_text(out, &store, state, progress)?;
        let Some(encoder) = &first.manifest.encoder else {
            return Ok(());
        };
        if !(state.vectors || vectors::finished(out)) {
            rows(out, &parts, encoder.dim, state, progress)?;
        }
        graph(out, encoder.dim, state, progress)
    })
}

/// What the merged graph compares.
fn merged_graph(
    parts: &[Part],
    wanted: Option<GraphPrecision>,
) -> Result<GraphPrecision, RetrievalError> {
    let Some(first) = parts.first().filter(|part| part.manifest.encoder.is_some()) else {
        return match wanted {
            Some(_) => Err(RetrievalError(
                "these shards have no vectors, and so no graph: leave --graph out".into(),
            )),
            None => Ok(GraphPrecision::default()),
        };
    };
    let of = |part: &Part| part.manifest.request.graph;
    match (wanted, parts.iter().find(|part| of(part) != of(first))) {
        (Some(wanted), _) => Ok(wanted),
        (None, None) => Ok(of(first)),
        (None, Some(other)) => Err(RetrievalError(format!(
            "the graphs of {} and {} compare different numbers ({} and {}); say by --graph what that of the merged index is to compare",
            first.path.display(),
            other.path.display(),
            of(first).name(),
            of(other).name()
        ))),
    }
}

/// Opens the shards in order and checks that they are all of one corpus.
fn parts(shards: &[PathBuf]) -> Result<Vec<Part>, RetrievalError> {
    let mut parts = Vec::with_capacity(shards.len());
    for path in shards {
        let manifest = IndexFolder::manifest_of(path)?;
        parts.push(Part {
            store: Store::open(path, manifest.documents, manifest.text_bytes)?,
            path: path.clone(),
            manifest,
        });
    }
    parts.sort_by_key(|part| part.manifest.shard.map_or(0, |shard| shard.part));
    let Some(first) = parts.first() else {
        return Ok(parts);
    };
    let of = match first.manifest.shard {
        Some(shard) => shard.of,
        None => {
            return Err(RetrievalError(format!(
                "{} is a whole index and no shard; several indexes are searched together with several --index",
                first.path.display()
            )));
        }
    };
    for (number, part) in (1u32..).zip(&parts) {
        let differs = |why: &str| {
            RetrievalError(format!(
                "{} and {} can't be merged: {why}",
                first.path.display(),
                part.path.display()
            ))
        };
        let (a, b) = (&first.manifest, &part.manifest);
        match b.shard {
            Some(shard) if shard.of != of => {
                return Err(differs("they are shards of different numbers of parts"));
            }
            None => return Err(differs("one is a whole index")),
            _ if a.encoder != b.encoder => {
                return Err(differs("their vectors were made by different encoders"));
            }
            _ if a.corpus != b.corpus || a.corpus_documents != b.corpus_documents => {
                return Err(differs("they are of different corpora"));
            }
            Some(shard) if shard.part < number => {
                return Err(RetrievalError(format!(
                    "shard {} of {of} is named twice, in {}",
                    shard.part,
                    part.path.display()
                )));
            }
            Some(shard) if shard.part > number => return Err(missing(number, of)),
            Some(_) => {}
        }
    }
    match parts.len() < of as usize {
        true => Err(missing(parts.len() as u32 + 1, of)),
        false => Ok(parts),
    }
}

fn missing(part: u32, of: u32) -> RetrievalError {
    RetrievalError(format!(
        "shard {part} of {of} is missing: name all {} to merge them",
        count(of as usize, "shard")
    ))
}

fn failed(folder: &Path, error: &std::io::Error) -> RetrievalError {
    RetrievalError(format!(
        "{} can't be written: {}",
        folder.display(),
        write_reason(error)
    ))
}

/// Interleaves the stores.
fn texts(
    out: &Path,
    parts: &[Part],
    state: &mut State,
    progress: &mut Progress<'_>,
) -> Result<(), RetrievalError> {
    let write_error = |error: std::io::Error| failed(out, &error);
    let total: usize = parts.iter().map(|part| part.store.len()).sum();
    let done = usize::try_from(state.read.documents).unwrap_or(usize::MAX);
    let mut writer =
        store::Writer::open(out, state.read.bytes, state.read.documents).map_err(write_error)?;
    let mut hashes = Vec::with_capacity(total);
    let mut synced = Instant::now();
    let mut say = staged("copying texts", total, progress);
    for number in 0..total {
        let broke = number % LOOK == 0 && say(number).is_break();
        if broke || (number > done && number % LOOK == 0 && synced.elapsed() > SYNC) {
            (state.read.bytes, state.read.documents) = writer.sync().map_err(write_error)?;
            state::write(out, STATE, state)?;
            synced = Instant::now();
        }
        if broke {
            return Err(stopped());
        }
        let part = &parts[number % parts.len()];
        let text = part.store.get(number / parts.len()).ok_or_else(|| {
            RetrievalError(format!(
                "document {} of {} can't be read; {DAMAGED}",
                number / parts.len() + 1,
                part.path.display()
            ))
        })?;
        hashes.push(id_hash(text.id));
        if number >= done {
            writer
                .push(&CorpusDocument {
                    id: text.id.to_owned(),
                    title: text.title.to_owned(),
                    content: text.content.to_owned(),
                })
                .map_err(write_error)?;
        }
    }
    (state.read.bytes, state.read.documents) = writer.sync().map_err(write_error)?;
    write_ids(out, &hashes).map_err(write_error)?;
    // Every shard has read the whole corpus and lists the same records.
    std::fs::copy(parts[0].path.join(PROBLEMS), out.join(PROBLEMS)).map_err(write_error)?;
    state.read.files = parts[0].manifest.corpus.clone();
    state.read.accepted = parts[0].manifest.corpus_documents;
    state.read.done = true;
    state::write(out, STATE, state)
}

/// Interleaves the vectors. A step is a look.
fn rows(
    out: &Path,
    parts: &[Part],
    dim: usize,
    state: &mut State,
    progress: &mut Progress<'_>,
) -> Result<(), RetrievalError> {
    let total: usize = parts.iter().map(|part| part.store.len()).sum();
    let vectors: Vec<Vectors> = parts
        .iter()
        .map(|part| vectors::load(&part.path, part.store.len(), dim))
        .collect::<Result<_, _>>()?;
    let mut rows = Rows::open(out, total, dim, state.steps == 0)?;
    let mut say = staged("copying vectors", total, progress);
    let done = usize::try_from(state.steps).unwrap_or(usize::MAX);
    let mut synced = Instant::now();
    for number in done.saturating_mul(LOOK)..total {
        if number % LOOK == 0 {
            let broke = say(number).is_break();
            if broke || synced.elapsed() > SYNC {
                rows.sync()?;
                state.steps = (number / LOOK) as u64;
                state::write(out, STATE, state)?;
                synced = Instant::now();
            }
            if broke {
                return Err(stopped());
            }
        }
        let (part, row) = (number % parts.len(), number / parts.len());
        rows.put_bytes(number, &vectors[part].row_bytes(row..row + 1))?;
    }
    rows.end(out)?;
    state.vectors = true;
    state::write(out, STATE, state)
}
