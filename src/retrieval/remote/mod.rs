//! A vector store on other machines: Milvus, from `milvus-lite` on a laptop to a sharded cluster.
//!
//! [`Remote`] answers queries behind the same door as an index in memory, by dense vectors only: the query is
//! encoded here, the nearest documents come from the server. No filter expression is ever sent, so that
//! nothing in a query or a document can be read as one.

pub mod address;
pub mod collection;
pub mod push;
pub mod record;
pub mod shape;
pub mod standing;

mod client;
mod values;
mod wire;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use medrgb_encoder::BackendChoice;

pub use address::{Address, TOKEN_VARIABLE, Token};
pub use collection::Collection;

use crate::retrieval::encoders::{self, EncodedQuery, Pair};
use crate::retrieval::remote::record::Record;
use crate::retrieval::remote::shape::Near;
use crate::retrieval::remote::standing::Standing;
use crate::retrieval::{
    EncoderFolders, EncoderSummary, Found, Hit, IndexInfo, Method, RetrievalError, Search,
    SearchTiming,
};

/// How long opening waits for a server to load the collection.
const LOADING: Duration = Duration::from_secs(60);

/// Ids that the server is asked for at once, to know whether any of them is there.
const ASKED_AT_ONCE: usize = 256;
/// How often it is asked for more of them; beyond that it isn't known.
const ASKED_OFTEN: usize = 4;

/// Searches a collection on a server.
pub struct Remote {
    collection: Collection,
    record: Record,
    documents: usize,
    /// Pushes that were stopped before their end: not all documents are there.
    unfinished: Vec<Standing>,
    encoder: Pair,
    summary: EncoderSummary,
    /// Ids and vectors of the last hits, for the map.
    last: Mutex<Vec<(String, Vec<f32>)>>,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote")
            .field("collection", &self.collection)
            .finish_non_exhaustive()
    }
}

impl Remote {
    /// Opens a collection with the encoder for its queries. Blocking.
    ///
    /// # Errors
    /// When the server can't be reached, there is no such collection, or the encoder did not make its
    /// vectors.
    pub fn open(
        address: &Address,
        token: Option<&Token>,
        folders: &EncoderFolders,
        backend: BackendChoice,
    ) -> Result<Arc<Remote>, RetrievalError> {
        let collection = Collection::new(address, token)?;
        let found = collection.record_and_pushes()?;
        let (record, unfinished) = found.ok_or_else(|| missing(&collection))?;
        // The server is asked first: it answers in milliseconds, and an encoder takes seconds to open.
        collection.ensure_loaded(LOADING)?;
        let documents = collection.count()?;
        let encoder = Pair::open(folders, backend)?;
        let mut summary = encoder.summary(folders);
        // What the vectors were made as counts, as it does for a folder; else how the encoder was chosen here.
        summary.stand_in = record.stand_in.unwrap_or(summary.stand_in);
        record.belongs(&summary, &collection.place())?;
        Ok(Arc::new(Remote {
            collection,
            record,
            documents,
            unfinished,
            encoder,
            summary,
            last: Mutex::default(),
        }))
    }

    fn dense(&self, encoded: &EncodedQuery, k: usize) -> Result<Found, RetrievalError> {
        let started = Instant::now();
        let near = self.collection.search(&encoded.vector, k, &self.record)?;
        let search = started.elapsed().as_secs_f64() * 1e3;
        self.remember(&near);
        Ok(Found {
            hits: near.into_iter().enumerate().map(hit).collect(),
            timing_ms: SearchTiming {
                tokenize: encoded.tokenize_ms,
                encode: encoded.encode_ms,
                search,
            },
            query_embedding: Some(encoded.vector.clone()),
        })
    }

    fn remember(&self, near: &[Near]) {
        let vectors = near
            .iter()
            .map(|near| (near.id.clone(), near.vector.clone()));
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = vectors.collect();
    }

    fn answer(
        &self,
        method: Method,
        k: usize,
        encoded: Option<&Result<EncodedQuery, RetrievalError>>,
    ) -> Result<Found, RetrievalError> {
        match (method, encoded) {
            (Method::Dense, Some(Ok(encoded))) => self.dense(encoded, k),
            (Method::Dense, Some(Err(error))) => Err(RetrievalError(error.0.clone())),
            // A blank query.
            (Method::Dense, None) => Ok(Found {
                hits: Vec::new(),
                timing_ms: SearchTiming::default(),
                query_embedding: None,
            }),
            (Method::Exact | Method::Bm25 | Method::Hybrid, _) => Err(RetrievalError(
                "a collection on a server is searched by its vectors (dense) only; BM25, fusion and the exact scan need an index folder on this machine".into(),
            )),
        }
    }
}

/// Said where an address names no collection.
pub fn missing(collection: &Collection) -> RetrievalError {
    RetrievalError(format!(
        "{} does not exist; make it with `medrgb index push --to`",
        collection.place()
    ))
}

fn hit((index, near): (usize, Near)) -> Hit {
    Hit {
        // A remote corpus has no positions; the rank tells the hits of a list apart.
        position: index,
        id: near.id,
        title: near.title,
        content: near.content,
        score: near.score,
        rank: index + 1,
    }
}

impl Search for Remote {
    fn info(&self) -> IndexInfo {
        let stand_in = self.summary.stand_in.then(|| {
            format!(
                "{} stands in for MedCPT, whose weights are not here; results differ from MedCPT's",
                self.summary.name
            )
        });
        let half = self.unfinished.iter().map(Standing::to_string);
        let notices: Vec<String> = stand_in.into_iter().chain(half).collect();
        IndexInfo {
            documents: self.documents,
            encoder: Some(self.summary.clone()),
            recall_at_10: None,
            notice: (!notices.is_empty()).then(|| notices.join("; ")),
        }
    }

    fn search_all(
        &self,
        query: &str,
        methods: &[Method],
        k: usize,
    ) -> Vec<(Method, Result<Found, RetrievalError>)> {
        let wanted = methods.contains(&Method::Dense) && !query.trim().is_empty();
        let encoded = wanted.then(|| encoders::encode_query(&self.encoder.query, query));
        methods
            .iter()
            .map(|&method| (method, self.answer(method, k, encoded.as_ref())))
            .collect()
    }

    fn holds_any(&self, ids: &HashSet<&str>) -> Option<bool> {
        let can_be_asked = |id: &&str| !id.chars().any(char::is_control);
        let mut askable: Vec<&str> = ids.iter().copied().filter(can_be_asked).collect();
        askable.sort_unstable();
        let mut asked = askable.chunks(ASKED_AT_ONCE);
        for some in asked.by_ref().take(ASKED_OFTEN) {
            match self.collection.count_of(some) {
                Ok(0) => {}
                Ok(_) => return Some(true),
                Err(_) => return None,
            }
        }
        let all = asked.next().is_none() && askable.len() == ids.len();
        all.then_some(false)
    }

    fn origin(&self, _hit: &Hit) -> Option<String> {
        Some(self.collection.address().to_string())
    }

    fn embeddings(&self, hits: &[Hit]) -> Vec<Option<Vec<f32>>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        hits.iter()
            .map(|hit| {
                let known = last.iter().find(|(id, _)| *id == hit.id);
                known.map(|(_, vector)| vector.clone())
            })
            .collect()
    }
}
