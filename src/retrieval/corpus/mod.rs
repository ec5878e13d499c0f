//! Corpora in: one streaming reader per format behind one iterator of documents.
//!
//! A bad record fails alone: it comes as [`Record::Bad`] with file, place and one sentence, and reading goes on.
//! Only a file that can't be read on is an error. Memory stays flat, whatever the size of a file.

mod cut;
mod detect;
mod entities;
mod lines;
mod map;
mod markup;
mod order;
mod plain;
mod pubmed;
mod statpearls;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use detect::{Found, find, natural};
pub use order::newest_first;

use crate::domain::text::short;
use crate::retrieval::mapped::reason;
use crate::retrieval::{CorpusDocument, RetrievalError};
use crate::source::{self, Digest, Position};

/// The longest id, in bytes.
const LONGEST_ID: usize = 1000;

/// How a file holds its documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// MedRAG's chunks: lines `{"id","title","content","contents"}`.
    MedRag,
    /// BEIR's `corpus.jsonl`: lines `{"_id","title","text"}`.
    Beir,
    /// Paragraphs of Wikipedia: lines `{"id","title","text"}`; a list of texts is a passage each.
    Wikipedia,
    /// PubMed's baseline: XML with a citation per record.
    PubMed,
    /// An article of StatPearls or another book of the NCBI Bookshelf: JATS XML.
    StatPearls,
    /// Plain text: chunks of 1,000 characters that overlap by 200.
    Text,
    /// NCBI's chunks beside its embeddings: `{pmid: {"d","t","a","m"}}`.
    Ncbi,
    /// The signal documents of a dataset folder.
    Dataset,
}

/// The formats that a file can be read as.
pub const FORMATS: [Format; 7] = [
    Format::MedRag,
    Format::Beir,
    Format::Wikipedia,
    Format::PubMed,
    Format::StatPearls,
    Format::Text,
    Format::Ncbi,
];

impl Format {
    /// Its name in flags and manifests.
    pub fn name(self) -> &'static str {
        match self {
            Format::MedRag => "medrag",
            Format::Beir => "beir",
            Format::Wikipedia => "wikipedia",
            Format::PubMed => "pubmed",
            Format::StatPearls => "statpearls",
            Format::Text => "text",
            Format::Ncbi => "ncbi",
            Format::Dataset => "dataset",
        }
    }
}

impl FromStr for Format {
    type Err = RetrievalError;

    fn from_str(text: &str) -> Result<Format, RetrievalError> {
        FORMATS
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| {
                let names: Vec<&str> = FORMATS.iter().map(|format| format.name()).collect();
                RetrievalError(format!(
                    "\"{}\" is no corpus format; there are {}",
                    short(text),
                    names.join(", ")
                ))
            })
    }
}

/// A record that gives no document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadRecord {
    /// Name of its file.
    pub file: String,
    /// Where in the file: `line 7`, `byte 1024`.
    pub place: String,
    /// What is wrong: one sentence.
    pub sentence: String,
}

impl std::fmt::Display for BadRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}: {}", self.file, self.place, self.sentence)
    }
}

/// What a file holds, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A document.
    Document(CorpusDocument),
    /// The document of this id is to be left out where it comes later.
    Deleted {
        /// Its id.
        id: String,
        /// Where in the file.
        place: String,
    },
    /// A record that could not be read.
    Bad(BadRecord),
}

/// The records of a file; an error ends them.
pub type Records = Box<dyn Iterator<Item = Result<Record, RetrievalError>>>;

/// A file of a corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorpusFile {
    /// Where it lies.
    pub path: PathBuf,
    /// How it is shown and kept in the manifest: its path below what the user named.
    pub name: String,
    /// How it is read.
    pub format: Format,
}

/// An opened file of a corpus.
pub struct Opened {
    /// Its records.
    pub records: Records,
    /// How far it is read, in bytes of the file on disk.
    pub position: Position,
    /// The hash of those bytes.
    pub digest: Digest,
}

/// Opens a file; gzip is unpacked.
///
/// # Errors
/// When it can't be opened.
pub fn open(file: &CorpusFile) -> Result<Opened, RetrievalError> {
    let (reader, position, digest) = source::refuse_special(&file.path)
        .and_then(|()| source::open_hashing(&file.path))
        .map_err(|error| unreadable(&file.path, &error))?;
    let place = Where {
        path: file.path.clone(),
        name: file.name.clone(),
    };
    let records: Records = match file.format {
        Format::MedRag | Format::Beir | Format::Wikipedia => {
            Box::new(lines::read(reader, place, file.format))
        }
        Format::PubMed => Box::new(pubmed::read(reader, place)),
        Format::StatPearls => Box::new(statpearls::read(reader, place)),
        Format::Text => Box::new(plain::read(reader, place)),
        Format::Ncbi => Box::new(map::read(reader, place)),
        Format::Dataset => {
            return Err(RetrievalError(format!(
                "{} is a dataset and not a file of a corpus",
                file.path.display()
            )));
        }
    };
    Ok(Opened {
        records,
        position,
        digest,
    })
}

fn unreadable(path: &Path, error: &std::io::Error) -> RetrievalError {
    RetrievalError(format!(
        "{} can't be read: {}",
        path.display(),
        reason(error)
    ))
}

/// The file that a reader is in, for its messages.
#[derive(Debug, Clone)]
struct Where {
    path: PathBuf,
    name: String,
}

impl Where {
    fn bad(&self, place: impl std::fmt::Display, sentence: impl Into<String>) -> Record {
        Record::Bad(BadRecord {
            file: self.name.clone(),
            place: place.to_string(),
            sentence: sentence.into(),
        })
    }

    fn broken(&self, error: &std::io::Error) -> RetrievalError {
        unreadable(&self.path, error)
    }

    /// The file's name without folders and extensions.
    fn stem(&self) -> &str {
        let name = self.name.rsplit('/').next().unwrap_or(&self.name);
        let name = name.strip_suffix(".gz").unwrap_or(name);
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }
}

/// An id that can be kept: not empty, on one line, not too long.
fn checked_id(id: &str) -> Result<String, String> {
    let id = id.trim();
    if id.is_empty() {
        return Err("its id is empty".into());
    }
    if id.len() > LONGEST_ID {
        return Err(format!("its id is longer than {LONGEST_ID} bytes"));
    }
    if id.contains(['\n', '\r']) {
        return Err("its id goes over several lines".into());
    }
    Ok(id.to_owned())
}
