//! The reading stage: corpus files into the document store, with what can't be read listed. Every few seconds what
//! is read so far is made durable; after a kill the file that was being read is read again up to there.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::domain::text::{hex, short};
use crate::retrieval::corpus::{self, BadRecord, CorpusFile, Format, Record};
use crate::retrieval::index::state::{self, CorpusFacts, PROBLEMS, STATE, State};
use crate::retrieval::index::store::{self, append_after, id_hash, write_ids};
use crate::retrieval::index::{Input, stopped};
use crate::retrieval::mapped::write_reason;
use crate::retrieval::{BuildProgress, CorpusDocument, Progress, RetrievalError};

/// Hashes of the ids of all documents taken so far, 8 bytes each; only there while reading. Two ids of one hash count
/// as the same: for MedCorp's 54 million documents the odds of that are 1 in 12,000.
const SEEN: &str = "seen.bin";
/// How often what is read is made durable.
const SYNC: Duration = Duration::from_secs(5);
/// Records between two looks at the clock and the progress.
const LOOK: u64 = 64;

/// Hashes are as good as random already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }
    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

type Seen = HashSet<u64, BuildHasherDefault<AsIs>>;

/// Where the stage writes.
struct Reading<'a> {
    folder: &'a Path,
    state: &'a mut State,
    store: store::Writer,
    seen: Seen,
    /// Hashes of ids that are deleted.
    deleted: Seen,
    /// Hashes of the documents of this folder, in their order.
    own: Vec<u64>,
    seen_file: BufWriter<File>,
    problems: BufWriter<File>,
    synced: Instant,
    /// Bytes of finished files and of all files.
    bytes: (u64, u64),
}

/// Reads the corpus into the store of `folder`.
///
/// # Errors
/// When a file can't be read on, the disk can't be written, or `progress` breaks.
pub(super) fn read(
    folder: &Path,
    inputs: &[Input],
    state: &mut State,
    progress: &mut Progress<'_>,
) -> Result<(), RetrievalError> {
    let mut reading =
        Reading::open(folder, inputs, state).map_err(|error| failed(folder, &error))?;
    let finished = reading.state.read.files.len();
    for input in inputs.iter().skip(finished) {
        match input {
            Input::File(file) => reading.file(file, progress)?,
            Input::Documents {
                name,
                version,
                documents,
            } => reading.documents(name, version, documents)?,
        }
    }
    reading.end().map_err(|error| failed(folder, &error))?;
    state::write(folder, STATE, state)
}

fn failed(folder: &Path, error: &io::Error) -> RetrievalError {
    RetrievalError(format!(
        "{} can't be written: {}",
        folder.display(),
        write_reason(error)
    ))
}

impl<'a> Reading<'a> {
    fn open(folder: &'a Path, inputs: &[Input], state: &'a mut State) -> io::Result<Reading<'a>> {
        let read = &state.read;
        let all = inputs.iter().map(Input::bytes).sum();
        let mut seen_file = append_after(&folder.join(SEEN), read.accepted * 8)?;
        seen_file.flush()?;
        let (mut seen, mut own) = (Seen::default(), Vec::new());
        let bytes = match read.accepted {
            0 => Vec::new(),
            _ => std::fs::read(folder.join(SEEN))?,
        };
        for (number, hash) in bytes.as_chunks::<8>().0.iter().enumerate() {
            let hash = u64::from_le_bytes(*hash);
            seen.insert(hash);
            if state.request.shard.holds(number as u64) {
                own.push(hash);
            }
        }
        Ok(Reading {
            folder,
            store: store::Writer::open(folder, read.bytes, read.documents)?,
            problems: append_after(&folder.join(PROBLEMS), read.problem_bytes)?,
            deleted: read.deleted.iter().copied().collect(),
            seen,
            own,
            seen_file,
            synced: Instant::now(),
            bytes: (read.files.iter().map(|file| file.bytes).sum(), all),
            state,
        })
    }

    fn file(
        &mut self,
        file: &CorpusFile,
        progress: &mut Progress<'_>,
    ) -> Result<(), RetrievalError> {
        let later = superseded(file, progress)?;
        let opened = corpus::open(file)?;
        let done = self.state.read.records;
        for (number, record) in (0u64..).zip(opened.records) {
            if number % LOOK == 0 {
                let read = self.bytes.0 + opened.position.bytes();
                if say(progress, "reading, KiB", read, self.bytes.1).is_break() {
                    self.sync()?;
                    return Err(stopped());
                }
                if number > done && self.synced.elapsed() > SYNC {
                    self.sync()?;
                }
            }
            let record = record?;
            if number >= done {
                match later.get(&number) {
                    Some(later) => self.leave_out(&file.name, &record, *later),
                    None => self.take(&file.name, record),
                }
                .map_err(|error| failed(self.folder, &error))?;
            }
        }
        let sha256 = opened
            .digest
            .of_whole(&file.path, &opened.position)
            .map_err(|error| {
                RetrievalError(format!("{} can't be read: {error}", file.path.display()))
            })?;
        let bytes = opened.position.bytes();
        self.end_file(&file.name, file.format.name(), bytes, hex(&sha256));
        Ok(())
    }

    fn documents(
        &mut self,
        name: &str,
        version: &str,
        documents: &[CorpusDocument],
    ) -> Result<(), RetrievalError> {
        let done = usize::try_from(self.state.read.records).unwrap_or(usize::MAX);
        for document in documents.iter().skip(done) {
            self.take(name, Record::Document(document.clone()))
                .map_err(|error| failed(self.folder, &error))?;
        }
        self.end_file(name, corpus::Format::Dataset.name(), 0, version.to_owned());
        Ok(())
    }

    /// Takes one record that has not been taken before.
    fn take(&mut self, file: &str, record: Record) -> io::Result<()> {
        self.state.read.records += 1;
        let document = match record {
            Record::Document(document) => document,
            Record::Deleted { id, place } => return self.delete(file, &id, place),
            Record::Bad(bad) => return self.bad(&bad),
        };
        let hash = id_hash(&document.id);
        if self.deleted.contains(&hash) {
            return self.bad(&BadRecord {
                file: file.to_owned(),
                place: format!("record {}", self.state.read.records),
                sentence: format!(
                    "the document \"{}\" is deleted by a file that was named before",
                    short(&document.id)
                ),
            });
        }
        if !self.seen.insert(hash) {
            return self.bad(&BadRecord {
                file: file.to_owned(),
                place: format!("record {}", self.state.read.records),
                sentence: format!(
                    "the id \"{}\" was there before; the first document is kept",
                    short(&document.id)
                ),
            });
        }
        self.seen_file.write_all(&hash.to_le_bytes())?;
        if self.state.request.shard.holds(self.state.read.accepted) {
            self.store.push(&document)?;
            self.own.push(hash);
        }
        self.state.read.accepted += 1;
        self.state.read.file_documents += 1;
        Ok(())
    }

    /// Lists a record that a later one of its file takes back.
    fn leave_out(&mut self, file: &str, record: &Record, later: Later) -> io::Result<()> {
        self.state.read.records += 1;
        let Record::Document(document) = record else {
            // A deletion before the last version of its citation says nothing.
            return Ok(());
        };
        self.bad(&BadRecord {
            file: file.to_owned(),
            place: format!("record {}", self.state.read.records),
            sentence: format!(
                "the document \"{}\" is {} further down in this file",
                short(&document.id),
                match later {
                    Later::Version => "there again in a later version",
                    Later::Deletion => "deleted",
                }
            ),
        })
    }

    /// Remembers a deletion; one that comes after its document is only listed, since documents are never taken back.
    fn delete(&mut self, file: &str, id: &str, place: String) -> io::Result<()> {
        let hash = id_hash(id);
        if self.seen.contains(&hash) {
            return self.bad(&BadRecord {
                file: file.to_owned(),
                place,
                sentence: format!(
                    "\"{}\" is deleted here, but its document was read before and stays: name this file before the one that holds it",
                    short(id)
                ),
            });
        }
        if self.deleted.insert(hash) {
            self.state.read.deleted.push(hash);
        }
        Ok(())
    }

    fn bad(&mut self, bad: &BadRecord) -> io::Result<()> {
        let line = format!("{}\n", serde_json::to_string(bad)?);
        self.problems.write_all(line.as_bytes())?;
        self.state.read.problem_bytes += line.len() as u64;
        self.state.read.file_bad += 1;
        Ok(())
    }

    fn end_file(&mut self, name: &str, format: &str, bytes: u64, sha256: String) {
        let read = &mut self.state.read;
        read.files.push(CorpusFacts {
            name: name.to_owned(),
            format: format.to_owned(),
            bytes,
            sha256,
            documents: std::mem::take(&mut read.file_documents),
            bad: std::mem::take(&mut read.file_bad),
        });
        read.records = 0;
        self.bytes.0 += bytes;
    }

    /// Makes all that is taken durable, then says so in the state.
    fn sync(&mut self) -> Result<(), RetrievalError> {
        self.sync_files()
            .map_err(|error| failed(self.folder, &error))?;
        state::write(self.folder, STATE, self.state)?;
        self.synced = Instant::now();
        Ok(())
    }

    fn sync_files(&mut self) -> io::Result<()> {
        let (bytes, documents) = self.store.sync()?;
        self.state.read.bytes = bytes;
        self.state.read.documents = documents;
        store::sync(&mut self.seen_file)?;
        store::sync(&mut self.problems)
    }

    fn end(mut self) -> io::Result<()> {
        self.sync_files()?;
        write_ids(self.folder, &self.own)?;
        self.state.read.done = true;
        Ok(())
    }
}

/// What takes a record back further down in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Later {
    /// The citation again.
    Version,
    /// A deletion.
    Deletion,
}

/// Which records of a file of PubMed count no longer at its end, by their number from 0: versions of a citation before
/// the last one, what is deleted after it, deletions before the last version. Documents that are taken are never taken
/// back, so that such a file is read twice. Other formats have no versions: there the first document of an id counts.
fn superseded(
    file: &CorpusFile,
    progress: &mut Progress<'_>,
) -> Result<HashMap<u64, Later>, RetrievalError> {
    let mut later = HashMap::new();
    if file.format != Format::PubMed {
        return Ok(later);
    }
    let file_bytes = std::fs::metadata(&file.path).map_or(0, |meta| meta.len());
    let opened = corpus::open(file)?;
    // The last record of each id, by the hash that also decides whether an id was there.
    let mut last: HashMap<u64, u64, BuildHasherDefault<AsIs>> = HashMap::default();
    for (number, record) in (0u64..).zip(opened.records) {
        if number % LOOK == 0 {
            let (done, total) = (opened.position.bytes(), file_bytes);
            if say(progress, "looking for later versions, KiB", done, total).is_break() {
                return Err(stopped());
            }
        }
        let (id, how) = match record? {
            Record::Document(document) => (document.id, Later::Version),
            Record::Deleted { id, .. } => (id, Later::Deletion),
            Record::Bad(_) => continue,
        };
        if let Some(before) = last.insert(id_hash(&id), number) {
            later.insert(before, how);
        }
    }
    Ok(later)
}

fn say(progress: &mut Progress<'_>, stage: &'static str, done: u64, total: u64) -> ControlFlow<()> {
    let kib = |bytes: u64| usize::try_from(bytes / 1024).unwrap_or(usize::MAX);
    progress(BuildProgress {
        stage,
        done: kib(done),
        total: kib(total),
    })
}

/// Removes all that reading made of a corpus without documents, but for the list of what could not be read.
pub(super) fn forget(folder: &Path) {
    for name in [STATE, store::DOCUMENTS, store::OFFSETS, store::IDS] {
        // What can't be removed is written over.
        let _ = std::fs::remove_file(folder.join(name));
    }
    clean_up(folder);
}

/// Removes what only reading needed.
pub(super) fn clean_up(folder: &Path) {
    // A file that stays is only disk space.
    let _ = std::fs::remove_file(folder.join(SEEN));
}
