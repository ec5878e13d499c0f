//! Precomputed vectors in: `.npy` files whose rows belong to documents by a list of ids beside them (also NCBI's
//! `embeds_chunk_N.npy` with `pmids_chunk_N.json`), by the file of the corpus with the same name (MedRAG's layout), or
//! by order.
//!
//! Row counts, dimensions and finite values are checked, and that every document gets exactly one vector. A file
//! that is done stays done.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::domain::plain::json_reason;
use crate::domain::text::{count, short};
use crate::retrieval::corpus::natural;
use crate::retrieval::exact::Vectors;
use crate::retrieval::index::state::{self, CorpusFacts, CorpusId, Request, STATE, Shard, State};
use crate::retrieval::index::store::Store;
use crate::retrieval::index::vectors::Rows;
use crate::retrieval::index::{Input, file_id, stopped};
use crate::retrieval::mapped::reason;
use crate::retrieval::retriever::staged;
use crate::retrieval::vector::GraphPrecision;
use crate::retrieval::{DAMAGED, Progress, RetrievalError, npy};
use crate::source;

/// A bit per document that has its vector; only there while importing.
const FILLED: &str = "filled.bin";
/// Rows between two looks at the progress.
const LOOK: usize = 4096;

/// Which document a row belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum RowIds {
    /// By a file with an id for each row.
    List(PathBuf),
    /// Row by row the documents of the corpus file of this number.
    File(usize),
    /// Row by row all documents, over all files.
    Order,
}

/// A file of vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingFile {
    path: PathBuf,
    ids: RowIds,
}

impl EmbeddingFile {
    pub(super) fn id(&self) -> Result<CorpusId, RetrievalError> {
        let name = self
            .path
            .file_name()
            .map_or(String::new(), |name| name.to_string_lossy().into_owned());
        let ids = match &self.ids {
            RowIds::List(_) => "npy by ids",
            RowIds::File(_) => "npy by file",
            RowIds::Order => "npy by order",
        };
        file_id(&self.path, &name, ids)
    }

    /// Names of its file and of its list of ids, without folders.
    pub fn names(&self) -> Vec<String> {
        let list = match &self.ids {
            RowIds::List(list) => Some(list),
            RowIds::File(_) | RowIds::Order => None,
        };
        let name = |path: &PathBuf| Some(path.file_name()?.to_string_lossy().into_owned());
        [Some(&self.path), list]
            .into_iter()
            .flatten()
            .filter_map(name)
            .collect()
    }

    /// Dimensions of its vectors.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn dim(&self) -> Result<usize, RetrievalError> {
        Ok(npy::open(&self.path)?.dim())
    }
}

/// Finds the files of vectors and what their rows belong to. `ids` are the lists of ids in the order of the files;
/// without them the names decide.
///
/// # Errors
/// When a path is not there, or what rows belong to can't be told.
pub fn find(
    paths: &[PathBuf],
    ids: &[PathBuf],
    inputs: &[Input],
) -> Result<Vec<EmbeddingFile>, RetrievalError> {
    let files = npy_files(paths)?;
    if !ids.is_empty() {
        if ids.len() != files.len() {
            return Err(RetrievalError(format!(
                "{} and {} were named: each file of vectors needs its list of ids, in the same order",
                count(files.len(), "file"),
                count(ids.len(), "list")
            )));
        }
        return Ok(paired(files, ids.iter().cloned().map(RowIds::List)));
    }
    if let Some(lists) = files
        .iter()
        .map(|file| beside(file))
        .collect::<Option<Vec<_>>>()
    {
        return Ok(paired(files, lists.into_iter().map(RowIds::List)));
    }
    let same_name = |file: &PathBuf| {
        inputs.iter().position(|input| match input {
            Input::File(corpus) => corpus_stem(&corpus.name) == stem(file),
            Input::Documents { .. } => false,
        })
    };
    if let Some(numbers) = files.iter().map(same_name).collect::<Option<Vec<_>>>() {
        return Ok(paired(files, numbers.into_iter().map(RowIds::File)));
    }
    Ok(files
        .into_iter()
        .map(|path| EmbeddingFile {
            path,
            ids: RowIds::Order,
        })
        .collect())
}

fn paired(files: Vec<PathBuf>, ids: impl Iterator<Item = RowIds>) -> Vec<EmbeddingFile> {
    files
        .into_iter()
        .zip(ids)
        .map(|(path, ids)| EmbeddingFile { path, ids })
        .collect()
}

/// The named files, and those of named folders by name with numbers as numbers.
fn npy_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, RetrievalError> {
    let unreadable = |path: &Path, error: std::io::Error| {
        RetrievalError(format!(
            "{} can't be read: {}",
            path.display(),
            reason(&error)
        ))
    };
    let mut files = Vec::new();
    for path in paths {
        let meta = std::fs::metadata(path).map_err(|error| unreadable(path, error))?;
        if !meta.is_dir() {
            files.push(path.clone());
            continue;
        }
        let mut found: Vec<PathBuf> = std::fs::read_dir(path)
            .map_err(|error| unreadable(path, error))?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "npy"))
            .collect();
        if found.is_empty() {
            return Err(RetrievalError(format!(
                "{} holds no .npy file",
                path.display()
            )));
        }
        found.sort_by(|a, b| natural(&stem(a), &stem(b)));
        files.append(&mut found);
    }
    Ok(files)
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .map_or(String::new(), |stem| stem.to_string_lossy().into_owned())
}

fn corpus_stem(name: &str) -> String {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    stem(Path::new(name))
}

/// NCBI's list of PMIDs beside its file of vectors.
fn beside(file: &Path) -> Option<PathBuf> {
    let number = stem(file).strip_prefix("embeds_chunk_")?.to_owned();
    let list = file.with_file_name(format!("pmids_chunk_{number}.json"));
    list.is_file().then_some(list)
}

/// Looks at all that can be wrong with files of vectors before any document is known: broken files, other dimensions,
/// numbers that can't be searched, lists of ids of another length, a file that is named twice.
///
/// # Errors
/// Names the file and what is wrong, or that `progress` breaks.
pub(super) fn look(
    files: &[EmbeddingFile],
    request: &Request,
    progress: &mut Progress<'_>,
) -> Result<(), RetrievalError> {
    let dim = request.encoder.as_ref().map_or(0, |encoder| encoder.dim);
    refuse_twice(files)?;
    let mut say = staged("checking files of vectors", files.len(), progress);
    for (number, file) in files.iter().enumerate() {
        if say(number).is_break() {
            return Err(stopped());
        }
        let vectors = npy::open(&file.path)?;
        check_numbers(file, &vectors, dim)?;
        if request.graph == GraphPrecision::Half {
            let fits = vectors.check_half();
            fits.map_err(|error| in_file(file, &error))?;
        }
        if let RowIds::List(list) = &file.ids {
            ids_of(file, list, &vectors)?;
        }
    }
    Ok(())
}

/// Two files of vectors that are one, or that belong to the same file of the corpus, would give each document two.
fn refuse_twice(files: &[EmbeddingFile]) -> Result<(), RetrievalError> {
    for (number, file) in files.iter().enumerate() {
        let real = |file: &EmbeddingFile| file.path.canonicalize().ok();
        let same = |other: &&EmbeddingFile| {
            real(other) == real(file)
                || (matches!(file.ids, RowIds::File(_)) && other.ids == file.ids)
        };
        if let Some(other) = files[..number].iter().find(same) {
            return Err(RetrievalError(format!(
                "{} and {} are vectors of the same documents; name one of them",
                other.path.display(),
                file.path.display()
            )));
        }
    }
    Ok(())
}

fn in_file(file: &EmbeddingFile, error: &RetrievalError) -> RetrievalError {
    RetrievalError(format!("{}: {error}", file.path.display()))
}

/// Refuses vectors of other dimensions and numbers that can't be searched.
fn check_numbers(
    file: &EmbeddingFile,
    vectors: &Vectors,
    dim: usize,
) -> Result<(), RetrievalError> {
    if vectors.dim() != dim {
        return Err(RetrievalError(format!(
            "{} holds vectors of {} dimensions where {dim} were expected: they were made by another encoder",
            file.path.display(),
            vectors.dim()
        )));
    }
    vectors
        .check_finite()
        .and_then(|()| vectors.check_lengths())
        .map_err(|error| in_file(file, &error))
}

/// The ids of the rows of a file.
fn ids_of(
    file: &EmbeddingFile,
    list: &Path,
    vectors: &Vectors,
) -> Result<Vec<String>, RetrievalError> {
    let ids = read_ids(list)?;
    match ids.len() == vectors.len() {
        true => Ok(ids),
        false => Err(RetrievalError(format!(
            "{} holds {}, but {} lists {}",
            file.path.display(),
            count(vectors.len(), "vector"),
            list.display(),
            count(ids.len(), "id")
        ))),
    }
}

/// Writes the vectors of all documents of the store; `looked_at` where [`look`] has just been at the files.
///
/// # Errors
/// When a file can't be read or written, does not fit, a document has no vector or two, or `progress` breaks.
pub(super) fn import(
    folder: &Path,
    store: &Store,
    dim: usize,
    files: &[EmbeddingFile],
    looked_at: bool,
    state: &mut State,
    progress: &mut Progress<'_>,
) -> Result<(), RetrievalError> {
    let mut importing = Importing {
        rows: Rows::open(folder, store.len(), dim, state.steps == 0)?,
        filled: filled(folder, store.len(), state.steps)?,
        folder,
        store,
        shard: state.request.shard,
    };
    let mut before = 0;
    for (number, file) in (1u64..).zip(files) {
        let vectors = npy::open(&file.path)?;
        if number > state.steps {
            if !looked_at {
                check_numbers(file, &vectors, dim)?;
            }
            let places = importing.places(file, &vectors, before, state)?;
            importing.file(file, &vectors, &places, progress)?;
            state.steps = number;
            state::write(folder, STATE, state)?;
        }
        before += vectors.len() as u64;
    }
    if files.iter().all(|file| file.ids == RowIds::Order) && before != state.read.accepted {
        return Err(RetrievalError(format!(
            "the files hold {before} vectors for {} documents of the corpus, and nothing says which belongs to which; give lists of ids with --ids",
            state.read.accepted
        )));
    }
    importing.refuse_missing()?;
    importing.rows.end(folder)?;
    state.vectors = true;
    state::write(folder, STATE, state)?;
    // A file that stays is only disk space.
    let _ = std::fs::remove_file(folder.join(FILLED));
    Ok(())
}

fn filled(folder: &Path, documents: usize, steps: u64) -> Result<Vec<u8>, RetrievalError> {
    let bytes = documents.div_ceil(8);
    if steps == 0 {
        return Ok(vec![0; bytes]);
    }
    let path = folder.join(FILLED);
    match std::fs::read(&path) {
        Ok(filled) if filled.len() == bytes => Ok(filled),
        _ => Err(RetrievalError(format!(
            "{} has another length than was written; {DAMAGED}",
            path.display()
        ))),
    }
}

struct Importing<'a> {
    folder: &'a Path,
    store: &'a Store,
    shard: Shard,
    rows: Rows,
    filled: Vec<u8>,
}

/// The document of each row of a file.
enum Places {
    Ids(Vec<String>),
    /// Document numbers of the whole corpus from this one on.
    From(u64),
}

impl Importing<'_> {
    /// What the rows of a file belong to, checked for their number.
    fn places(
        &self,
        file: &EmbeddingFile,
        vectors: &Vectors,
        before: u64,
        state: &State,
    ) -> Result<Places, RetrievalError> {
        let shown = file.path.display();
        match &file.ids {
            RowIds::List(list) => Ok(Places::Ids(ids_of(file, list, vectors)?)),
            RowIds::File(number) => {
                let facts = state.read.files.get(*number).ok_or_else(|| {
                    RetrievalError(format!("{shown} belongs to no file of the corpus"))
                })?;
                refuse_gaps(&shown, std::slice::from_ref(facts))?;
                if facts.documents != vectors.len() as u64 {
                    return Err(RetrievalError(format!(
                        "{shown} holds {}, but {} holds {}",
                        count(vectors.len(), "vector"),
                        facts.name,
                        count(
                            usize::try_from(facts.documents).unwrap_or(usize::MAX),
                            "document"
                        )
                    )));
                }
                let first = state.read.files[..*number]
                    .iter()
                    .map(|file| file.documents);
                Ok(Places::From(first.sum()))
            }
            RowIds::Order => {
                refuse_gaps(&shown, &state.read.files)?;
                Ok(Places::From(before))
            }
        }
    }

    fn file(
        &mut self,
        file: &EmbeddingFile,
        vectors: &Vectors,
        places: &Places,
        progress: &mut Progress<'_>,
    ) -> Result<(), RetrievalError> {
        let mut say = staged("importing vectors", vectors.len(), progress);
        for row in 0..vectors.len() {
            if row % LOOK == 0 && say(row).is_break() {
                return Err(stopped());
            }
            let place = match places {
                Places::Ids(ids) => self.store.position(&ids[row]),
                Places::From(first) => self.own(first + row as u64),
            };
            let (Some(place), Some(vector)) = (place, vectors.row(row)) else {
                continue;
            };
            let (byte, bit) = (place / 8, 1u8 << (place % 8));
            if self.filled[byte] & bit != 0 {
                let id = self.store.get(place).map_or("", |text| text.id);
                return Err(RetrievalError(format!(
                    "{}, row {}: a second vector for the document \"{}\"",
                    file.path.display(),
                    row + 1,
                    short(id)
                )));
            }
            self.rows.put(place, &vector)?;
            self.filled[byte] |= bit;
        }
        self.rows.sync()?;
        state::write_bytes(self.folder, FILLED, &self.filled)
    }

    /// The place in this folder of a document of the whole corpus.
    fn own(&self, number: u64) -> Option<usize> {
        let shard = self.shard;
        let place = usize::try_from(number / u64::from(shard.of)).ok()?;
        (shard.holds(number) && place < self.store.len()).then_some(place)
    }

    fn refuse_missing(&self) -> Result<(), RetrievalError> {
        let has = |place: usize| self.filled[place / 8] & (1 << (place % 8)) != 0;
        let mut missing = (0..self.store.len()).filter(|&place| !has(place));
        let Some(first) = missing.next() else {
            return Ok(());
        };
        Err(RetrievalError(format!(
            "{} of {} have no vector in the given files, the first is \"{}\"; give the files of the whole corpus",
            1 + missing.count(),
            count(self.store.len(), "document"),
            short(self.store.get(first).map_or("", |text| text.id))
        )))
    }
}

/// Rows follow records: where one was left out, they can't be told apart.
fn refuse_gaps(
    shown: &impl std::fmt::Display,
    files: &[CorpusFacts],
) -> Result<(), RetrievalError> {
    match files.iter().find(|file| file.bad > 0) {
        Some(file) => Err(RetrievalError(format!(
            "the rows of {shown} follow the records of {}, of which {} were left out, so that rows and documents can't be matched; give lists of ids with --ids",
            file.name, file.bad
        ))),
        None => Ok(()),
    }
}

/// Ids of rows: a JSON list of texts or numbers, or a line each.
fn read_ids(path: &Path) -> Result<Vec<String>, RetrievalError> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Id {
        Text(String),
        Number(u64),
    }
    let text = source::refuse_special(path)
        .and_then(|()| std::fs::read_to_string(path))
        .map_err(|error| {
            RetrievalError(format!(
                "{} can't be read: {}",
                path.display(),
                reason(&error)
            ))
        })?;
    if !text.trim_start().starts_with('[') {
        let lines = text.trim_end().lines().map(|line| line.trim().to_owned());
        return Ok(lines.collect());
    }
    let ids: Vec<Id> = serde_json::from_str(&text).map_err(|error| {
        RetrievalError(format!(
            "{}, line {}: {}; a list of ids is expected",
            path.display(),
            error.line(),
            json_reason(&error)
        ))
    })?;
    Ok(ids
        .into_iter()
        .map(|id| match id {
            Id::Text(text) => text.trim().to_owned(),
            Id::Number(number) => number.to_string(),
        })
        .collect())
}
