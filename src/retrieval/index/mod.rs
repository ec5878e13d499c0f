//! Index folders: a corpus on disk with all that searching it needs, built in stages that survive a kill.
//!
//! | file | holds |
//! |---|---|
//! | `manifest.json` | what the index is and was made from; only a finished one has it |
//! | `documents.bin`, `offsets.bin`, `ids.bin` | the texts, by position and by id |
//! | `bm25/` | the BM25 index |
//! | `vectors.npy`, `graph.usearch` | vectors of the documents in their order, and the graph over them |
//! | `problems.jsonl` | records of the corpus that were left out, one JSON object a line |
//! | `build.json`, `lock` | how far building is; who builds |

mod build;
mod embeddings;
mod merge;
mod read;
mod search;
mod state;
mod store;
#[cfg(test)]
mod tests;
mod text;
mod vectors;

use std::path::Path;
use std::time::UNIX_EPOCH;

pub use build::{Build, BuildEncoder, BuildVectors, Built, Imported, build};
pub use embeddings::{EmbeddingFile, find as find_embeddings};
pub use merge::merge;
pub use search::{IndexFolder, IndexSet};
pub use state::{
    CorpusFacts, CorpusId, EncoderId, MANIFEST, Manifest, PROBLEMS, Request, SCHEMA, Shard,
};
pub use store::{Store, Text};

use crate::retrieval::corpus::{CorpusFile, Format};
use crate::retrieval::mapped::reason;
use crate::retrieval::{CorpusDocument, RetrievalError};

/// A part of a corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A file.
    File(CorpusFile),
    /// Documents that are in memory.
    Documents {
        /// Name shown.
        name: String,
        /// Changes when they do.
        version: String,
        /// The documents.
        documents: Vec<CorpusDocument>,
    },
}

impl Input {
    fn bytes(&self) -> u64 {
        match self {
            Input::File(file) => std::fs::metadata(&file.path).map_or(0, |meta| meta.len()),
            Input::Documents { .. } => 0,
        }
    }

    fn id(&self) -> Result<CorpusId, RetrievalError> {
        match self {
            Input::File(file) => file_id(&file.path, &file.name, file.format.name()),
            Input::Documents {
                name,
                version,
                documents,
            } => Ok(CorpusId {
                name: name.clone(),
                format: Format::Dataset.name().to_owned(),
                size: documents.len() as u64,
                version: version.clone(),
            }),
        }
    }
}

fn file_id(path: &Path, name: &str, format: &str) -> Result<CorpusId, RetrievalError> {
    let unreadable = |error: std::io::Error| {
        RetrievalError(format!(
            "{} can't be read: {}",
            path.display(),
            reason(&error)
        ))
    };
    let meta = std::fs::metadata(path).map_err(unreadable)?;
    let changed = meta.modified().map_err(unreadable)?;
    let changed = changed
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos());
    Ok(CorpusId {
        name: name.to_owned(),
        format: format.to_owned(),
        size: meta.len(),
        version: changed.to_string(),
    })
}

fn stopped() -> RetrievalError {
    RetrievalError("stopped; the same command goes on where it stopped".into())
}
