//! Live retrieval over documents: encoder, exact and HNSW vector search, BM25, fusion.
//! [`Retriever::search`] is the door.

pub mod corpus;
pub mod embed;
pub mod encoders;
pub mod exact;
pub mod fusion;
pub mod index;
pub mod lexical;
pub mod map;
pub mod npy;
pub mod remote;
pub mod rerank;
pub mod vector;

mod checkpoint;
mod guarded;
mod kept_graph;
mod mapped;
mod retriever;
mod sealed;

use std::collections::HashSet;
use std::path::PathBuf;

pub use retriever::{FUSION_DEPTH, NO_ENCODER, Progress, Retriever, recall_of};
use serde::{Deserialize, Serialize};

/// What is said of an index folder with a file that is not as it was written.
pub const DAMAGED: &str =
    "the index is damaged: remove its folder and build it anew by `medrgb index build`";

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Encoder and HNSW.
    Dense,
    /// Encoder and a scan of all vectors.
    Exact,
    /// BM25 over title and text.
    Bm25,
    /// Reciprocal rank fusion of dense and BM25.
    Hybrid,
}

/// A document to be indexed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorpusDocument {
    /// Unique in the corpus.
    pub id: String,
    /// May be empty.
    pub title: String,
    /// The text.
    pub content: String,
}

/// A found document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// Position in the corpus.
    #[serde(skip)]
    pub position: usize,
    /// The document's id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its text.
    pub content: String,
    /// Inner product, BM25 score or fused score: larger is better.
    pub score: f32,
    /// 1 is best.
    pub rank: usize,
}

/// Milliseconds of each step of a search.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct SearchTiming {
    /// Tokenising the query.
    pub tokenize: f64,
    /// Encoding it.
    pub encode: f64,
    /// Searching.
    pub search: f64,
}

/// The result of one search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Best first.
    pub hits: Vec<Hit>,
    /// What it took.
    pub timing_ms: SearchTiming,
    /// The query's vector, for the map; `None` where the method needs none.
    #[serde(skip)]
    pub query_embedding: Option<Vec<f32>>,
}

/// What answers queries, wherever its documents lie: in memory ([`Retriever`]), in an index folder, in a
/// remote store. Blocking; never call it on an async runtime's thread.
pub trait Search: Send + Sync {
    /// What is searched, and with which encoder.
    fn info(&self) -> IndexInfo;

    /// The `k` best documents by each method; the query is encoded once. A query of white space finds
    /// nothing.
    fn search_all(
        &self,
        query: &str,
        methods: &[Method],
        k: usize,
    ) -> Vec<(Method, Result<Found, RetrievalError>)>;

    /// The vectors of hits that it found, for the map; `None` for each that it can't give at once.
    fn embeddings(&self, hits: &[Hit]) -> Vec<Option<Vec<f32>>> {
        vec![None; hits.len()]
    }

    /// Whether any document with one of these ids is searched; `None` where that can't be told. A measure over
    /// documents that are not searched would be 0 and say nothing of the search.
    fn holds_any(&self, _ids: &HashSet<&str>) -> Option<bool> {
        None
    }

    /// Where a hit lies, where several places are searched as one or one is named.
    fn origin(&self, _hit: &Hit) -> Option<String> {
        None
    }

    /// The `k` best documents by one method.
    ///
    /// # Errors
    /// [`RetrievalError`] where the method needs an encoder and there is none, or searching fails.
    fn search(&self, query: &str, method: Method, k: usize) -> Result<Found, RetrievalError> {
        match self.search_all(query, &[method], k).pop() {
            Some((_, result)) => result,
            None => Err(RetrievalError("no method to search with was given".into())),
        }
    }
}

/// Progress of building an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildProgress {
    /// `encoding`, `adding vectors`, `indexing text`, …
    pub stage: &'static str,
    /// Done of `total`.
    pub done: usize,
    /// All there is to do.
    pub total: usize,
}

/// What an index is made of, for screens and `index info`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexInfo {
    /// Documents.
    pub documents: usize,
    /// Encoder's name, dimension, backend; `None` where no encoder could be had (BM25 works).
    pub encoder: Option<EncoderSummary>,
    /// recall@10 of HNSW against the exact scan, measured at build.
    pub recall_at_10: Option<f64>,
    /// Why there is no encoder, or that a stand-in is used: said on every screen that uses it.
    pub notice: Option<String>,
}

/// The encoder behind an index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EncoderSummary {
    /// Such as `medcpt` or `minilm-l6`.
    pub name: String,
    /// Dimensions.
    pub dim: usize,
    /// Such as `CPU, 2 threads`.
    pub backend: String,
    /// True where this is not MedCPT but its stand-in.
    pub stand_in: bool,
    /// Hash of the weights.
    pub weights_sha256: String,
}

/// Where to find encoders: one for queries and one for articles (the same folder for symmetric ones).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncoderFolders {
    /// Name shown.
    pub name: String,
    /// Folder of the query encoder.
    pub query: PathBuf,
    /// Folder of the article encoder.
    pub article: PathBuf,
    /// Whether this is the stand-in for MedCPT.
    pub stand_in: bool,
}

/// Search failed, or an index can't be built or opened: one clear sentence.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RetrievalError(pub String);

impl RetrievalError {
    /// The user stopped it; what was finished is kept where there is a cache.
    pub fn cancelled() -> RetrievalError {
        RetrievalError("cancelled; what is encoded so far is kept in the cache".into())
    }
}
