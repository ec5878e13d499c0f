//! What an index is made from, how far its building is, and what it is when done: JSON files that appear whole.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::domain::plain::json_reason;
use crate::retrieval::mapped::{beside, reason, write_reason};
use crate::retrieval::vector::GraphPrecision;
use crate::retrieval::{DAMAGED, RetrievalError};

/// Version of the layout of index folders; a newer one is refused.
pub const SCHEMA: u32 = 1;
/// What a finished index is.
pub const MANIFEST: &str = "manifest.json";
/// How far an unfinished one is.
pub(super) const STATE: &str = "build.json";
/// Bad records, one JSON object a line.
pub const PROBLEMS: &str = "problems.jsonl";
const LOCK: &str = "lock";

/// A file of a corpus as a request names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorpusId {
    /// Its name below what the user named.
    pub name: String,
    /// How it is read.
    pub format: String,
    /// Bytes on disk, or documents of a dataset.
    pub size: u64,
    /// When it was changed last, in nanoseconds since 1970; of a dataset the hash of its files.
    pub version: String,
}

/// One of `of` parts of a corpus; document number d (from 0) belongs to part d modulo `of`, plus one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// From 1.
    pub part: u32,
    /// How many parts there are.
    pub of: u32,
}

impl Shard {
    /// The whole corpus.
    pub const WHOLE: Shard = Shard { part: 1, of: 1 };

    /// Whether document number `number` (from 0) is in this part.
    pub fn holds(self, number: u64) -> bool {
        number % u64::from(self.of.max(1)) == u64::from(self.part.saturating_sub(1))
    }
}

impl std::str::FromStr for Shard {
    type Err = RetrievalError;

    fn from_str(text: &str) -> Result<Shard, RetrievalError> {
        let numbers = text
            .split_once('/')
            .and_then(|(part, of)| Some((part.trim().parse().ok()?, of.trim().parse().ok()?)));
        match numbers {
            Some((part, of)) if (1..=of).contains(&part) => Ok(Shard { part, of }),
            _ => Err(RetrievalError(format!(
                "\"{}\" is no shard; PART/PARTS from 1 is expected, such as 2/8",
                crate::domain::text::short(text)
            ))),
        }
    }
}

/// What made the vectors of an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncoderId {
    /// Name shown.
    pub name: String,
    /// Dimensions.
    pub dim: usize,
    /// Whether it stands in for MedCPT.
    pub stand_in: bool,
    /// Hash of the article encoder's weights; empty where vectors were imported without the encoder.
    pub weights_sha256: String,
    /// Hash of all that decides what vectors the article encoder makes; empty likewise.
    pub article: String,
    /// The same of the query encoder.
    pub query: String,
    /// Such as `mean` or `cls`.
    pub pooling: String,
    /// Whether vectors have length 1.
    pub normalized: bool,
    /// Longest input in tokens.
    pub max_tokens: usize,
}

impl EncoderId {
    /// The encoder of vectors that came without a word about it; only dimensions can be compared.
    pub(super) fn unknown(dim: usize) -> EncoderId {
        EncoderId {
            name: "unknown".into(),
            dim,
            stand_in: false,
            weights_sha256: String::new(),
            article: String::new(),
            query: String::new(),
            pooling: "unknown".into(),
            normalized: false,
            max_tokens: 0,
        }
    }
}

/// What an index is made from. An index goes on being built only from the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The files of the corpus in their order.
    pub corpus: Vec<CorpusId>,
    /// Null where only BM25 searches.
    pub encoder: Option<EncoderId>,
    /// Files that vectors come from instead of the encoder, with their sizes.
    pub embeddings: Vec<CorpusId>,
    /// Which part of the corpus this is.
    pub shard: Shard,
    /// Documents that the encoder gets at a time: part of what decides the last bits of vectors.
    pub step: usize,
    /// What the graph compares.
    #[serde(default)]
    pub graph: GraphPrecision,
}

impl Request {
    /// Why an index made from `self` is not one made from `other`; `None` where it is.
    pub(super) fn differs(&self, other: &Request) -> Option<&'static str> {
        match () {
            () if self.corpus != other.corpus => Some("another corpus (or its files have changed)"),
            () if self.encoder != other.encoder => Some("another encoder"),
            () if self.embeddings != other.embeddings => Some("other embeddings"),
            () if self.shard != other.shard => Some("another shard"),
            () if self.graph != other.graph && self.encoder.is_some() => {
                Some("another precision of its graph")
            }
            () => None,
        }
    }
}

/// What a file of the corpus turned out to hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorpusFacts {
    /// Its name.
    pub name: String,
    /// How it was read.
    pub format: String,
    /// Bytes on disk.
    pub bytes: u64,
    /// Hash of those bytes.
    pub sha256: String,
    /// Documents that were taken (of all shards).
    pub documents: u64,
    /// Records that were left out.
    pub bad: u64,
}

/// How far the documents are read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReadState {
    /// Finished files.
    pub(super) files: Vec<CorpusFacts>,
    /// Records of the next file that are done, and what they were.
    pub(super) records: u64,
    pub(super) file_documents: u64,
    pub(super) file_bad: u64,
    /// Hashes of ids that a file says are deleted; documents with them that come later are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) deleted: Vec<u64>,
    /// Documents taken, of all shards.
    pub(super) accepted: u64,
    /// Bytes and documents of this folder's store.
    pub(super) bytes: u64,
    pub(super) documents: u64,
    /// Bytes of the list of bad records.
    pub(super) problem_bytes: u64,
    pub(super) done: bool,
}

/// How far building is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) schema: u32,
    pub(super) request: Request,
    pub(super) read: ReadState,
    /// The BM25 index is there.
    pub(super) text: bool,
    /// Steps of encoding, or files of embeddings, that are done.
    pub(super) steps: u64,
    /// All vectors are there.
    pub(super) vectors: bool,
    /// The graph is there, with its recall@10.
    pub(super) graph: bool,
    pub(super) recall_at_10: Option<f64>,
}

impl State {
    pub(super) fn new(request: Request) -> State {
        State {
            schema: SCHEMA,
            request,
            read: ReadState::default(),
            text: false,
            steps: 0,
            vectors: false,
            graph: false,
            recall_at_10: None,
        }
    }
}

/// A finished index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the folder's layout.
    pub schema: u32,
    /// The program that built it.
    pub tool: String,
    /// Documents in this folder.
    pub documents: usize,
    /// Documents of the whole corpus, where this is a shard of it.
    pub corpus_documents: u64,
    /// Bytes of `documents.bin`.
    pub text_bytes: u64,
    /// Records that were left out; they are listed in `problems.jsonl`.
    pub bad_records: u64,
    /// The encoder behind the vectors; null where only BM25 searches.
    pub encoder: Option<EncoderId>,
    /// Where the query encoder lay when the index was built; only a hint, the hashes decide.
    pub encoder_folder: Option<PathBuf>,
    /// Such as `f32`; null without vectors.
    pub dtype: Option<String>,
    /// Always the inner product; null without vectors.
    pub metric: Option<String>,
    /// recall@10 of the graph against the exact scan, measured at build.
    pub recall_at_10: Option<f64>,
    /// Which part of the corpus this is; null for all of it.
    pub shard: Option<Shard>,
    /// The files of the corpus.
    pub corpus: Vec<CorpusFacts>,
    /// What it was made from, to know it again.
    pub request: Request,
}

/// Reads a JSON file of an index folder; `None` where it is not there.
///
/// # Errors
/// When it can't be read, is of a newer version, or is broken.
pub(super) fn read<T: DeserializeOwned>(
    folder: &Path,
    name: &str,
) -> Result<Option<T>, RetrievalError> {
    #[derive(Deserialize)]
    struct Version {
        schema: u32,
    }
    let path = folder.join(name);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            return Err(RetrievalError(format!(
                "{} is no text; {DAMAGED}",
                path.display()
            )));
        }
        Err(error) => {
            return Err(RetrievalError(format!(
                "{} can't be read: {}",
                path.display(),
                reason(&error)
            )));
        }
    };
    let broken = |error: serde_json::Error| {
        RetrievalError(format!(
            "{}, line {}: {}; {DAMAGED}",
            path.display(),
            error.line(),
            json_reason(&error)
        ))
    };
    let version: Version = serde_json::from_str(&text).map_err(broken)?;
    if version.schema > SCHEMA {
        return Err(RetrievalError(format!(
            "{} was written by a newer medrgb (layout {}, this one knows {SCHEMA}): update medrgb",
            folder.display(),
            version.schema
        )));
    }
    serde_json::from_str(&text).map(Some).map_err(broken)
}

/// Writes a JSON file of an index folder.
///
/// # Errors
/// As [`write_bytes`].
pub(super) fn write(
    folder: &Path,
    name: &str,
    value: &impl Serialize,
) -> Result<(), RetrievalError> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|error| {
        RetrievalError(format!(
            "{} can't be written: {error}",
            folder.join(name).display()
        ))
    })?;
    text.push(b'\n');
    write_bytes(folder, name, &text)
}

/// Writes a file of an index folder: beside it first, durably, then renamed over it.
///
/// # Errors
/// One sentence with the path and what the file system says.
pub(super) fn write_bytes(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), RetrievalError> {
    let path = folder.join(name);
    let write = || -> std::io::Result<()> {
        let mut file = beside(&path)?;
        file.write_all(bytes)?;
        file.as_file().sync_data()?;
        file.persist(&path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| {
        RetrievalError(format!(
            "{} can't be written: {}",
            path.display(),
            write_reason(&error)
        ))
    })
}

/// The lock of an index folder while it is built; the end of the process lets it go.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, making the folder where it is not there.
    ///
    /// # Errors
    /// When another process builds in this folder, or it can't be written.
    pub(super) fn take(folder: &Path) -> Result<Lock, RetrievalError> {
        let failed = |error: std::io::Error| {
            RetrievalError(format!(
                "{} can't be written: {}",
                folder.display(),
                write_reason(&error)
            ))
        };
        if folder.is_file() {
            return Err(RetrievalError(format!(
                "{} is a file, but an index is a folder; give the name of a new one",
                folder.display()
            )));
        }
        std::fs::create_dir_all(folder).map_err(failed)?;
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(folder.join(LOCK))
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Lock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(RetrievalError(format!(
                "another process is building in {}; wait for its end or choose another folder",
                folder.display()
            ))),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn shards_are_read_and_share_all_documents() {
        assert_eq!("2/8".parse::<Shard>().unwrap(), Shard { part: 2, of: 8 });
        for text in ["0/2", "3/2", "1", "a/b", "1/0", ""] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
        for number in 0..20 {
            let holders = (1..=3).filter(|&part| Shard { part, of: 3 }.holds(number));
            assert_eq!(holders.count(), 1);
            assert!(Shard::WHOLE.holds(number));
        }
    }

    #[test]
    fn newer_layouts_and_broken_files_are_refused_and_one_process_builds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(MANIFEST);
        assert_eq!(read::<Manifest>(folder.path(), MANIFEST).unwrap(), None);
        let why = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read::<Manifest>(folder.path(), MANIFEST)
                .unwrap_err()
                .to_string()
        };
        assert!(why("{\"schema\": 2, \"new\": 1}").contains("update medrgb"));
        assert!(why("{\"schema\": 1").contains("damaged"));
        assert!(why("{\"schema\": 1}").contains("there is no field"));
        let lock = Lock::take(folder.path()).unwrap();
        let message = Lock::take(folder.path()).unwrap_err().to_string();
        assert!(message.contains("another process"), "{message}");
        drop(lock);
        Lock::take(folder.path()).unwrap();
    }
}
