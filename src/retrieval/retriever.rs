//! One corpus with its indexes, and searching it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use medrgb_encoder::{BackendChoice, Encoder};

use crate::domain::text::short;
use crate::retrieval::embed::{self, CacheEntry};
use crate::retrieval::encoders::{self, EncodedQuery, Pair};
use crate::retrieval::exact::{self, Scored, Vectors};
use crate::retrieval::fusion;
use crate::retrieval::kept_graph;
use crate::retrieval::lexical::Lexical;
use crate::retrieval::vector::Hnsw;
use crate::retrieval::{
    BuildProgress, CorpusDocument, EncoderFolders, EncoderSummary, Found, Hit, IndexInfo, Method,
    RetrievalError, Search, SearchTiming,
};

/// Said where there is no encoder.
pub const NO_ENCODER: &str = "no encoder is there, so only BM25 can search; `medrgb models pull auto-encoder` fetches one (MedCPT, else its stand-in)";

/// Documents whose own vectors are the queries of the recall measurement.
const RECALL_SAMPLE: usize = 100;
/// Hits per list that a fusion looks at, at least.
pub const FUSION_DEPTH: usize = 100;

/// Called with what has been done; `Break` cancels.
pub type Progress<'a> = dyn FnMut(BuildProgress) -> ControlFlow<()> + 'a;

/// Searches one corpus. Safe to share between threads.
pub struct Retriever {
    corpus: Arc<Corpus>,
    dense: Option<Dense>,
    notes: Vec<String>,
}

impl std::fmt::Debug for Retriever {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Retriever")
            .field("info", &self.info())
            .finish_non_exhaustive()
    }
}

struct Corpus {
    documents: Vec<CorpusDocument>,
    by_id: HashMap<String, usize>,
    lexical: Lexical,
}

struct Dense {
    vectors: Vectors,
    hnsw: Hnsw,
    query: Arc<Encoder>,
    summary: EncoderSummary,
    recall: Option<f64>,
}

impl Retriever {
    /// Builds the BM25 index and, with an encoder, vectors and HNSW; embeddings are cached under
    /// `cache` by document text and encoder, so that the second opening is fast. Blocking: call from
    /// a thread of its own. `progress` returns `Break` to cancel.
    ///
    /// # Errors
    /// [`RetrievalError`] when building fails or is cancelled.
    pub fn build(
        documents: Vec<CorpusDocument>,
        encoder: Option<&EncoderFolders>,
        backend: BackendChoice,
        cache: Option<&Path>,
        progress: &mut Progress<'_>,
    ) -> Result<Arc<Retriever>, RetrievalError> {
        let lexical = Retriever::build_lexical(documents, progress)?;
        match encoder {
            Some(folders) => lexical.with_encoder(folders, backend, cache, progress),
            None => Ok(lexical),
        }
    }

    /// Builds the BM25 index alone.
    ///
    /// # Errors
    /// When two documents share an id, building fails or is cancelled.
    pub fn build_lexical(
        documents: Vec<CorpusDocument>,
        progress: &mut Progress<'_>,
    ) -> Result<Arc<Retriever>, RetrievalError> {
        let mut by_id = HashMap::with_capacity(documents.len());
        for (position, document) in documents.iter().enumerate() {
            if let Some(first) = by_id.insert(document.id.clone(), position) {
                return Err(RetrievalError(format!(
                    "documents {} and {} of the corpus have the same id \"{}\": ids must be unique",
                    first + 1,
                    position + 1,
                    short(&document.id)
                )));
            }
        }
        let mut say = staged("indexing text", documents.len(), progress);
        let lexical = Lexical::build(&documents, &mut say)?;
        let corpus = Corpus {
            documents,
            by_id,
            lexical,
        };
        Ok(Arc::new(Retriever {
            corpus: Arc::new(corpus),
            dense: None,
            notes: Vec::new(),
        }))
    }

    /// A retriever over the same documents that also searches with an encoder. This one stays as it is.
    /// Blocking; with a `cache` a cancelled encode goes on where it stopped.
    ///
    /// # Errors
    /// When the encoder can't be used, building fails or is cancelled.
    pub fn with_encoder(
        &self,
        folders: &EncoderFolders,
        backend: BackendChoice,
        cache: Option<&Path>,
        progress: &mut Progress<'_>,
    ) -> Result<Arc<Retriever>, RetrievalError> {
        let documents = &self.corpus.documents;
        let total = documents.len();
        if staged("opening the encoder", 1, progress)(0).is_break() {
            return Err(RetrievalError::cancelled());
        }
        let mut notes = Vec::new();
        let pair = Pair::open(folders, backend)?;
        let info = pair.article.info();
        let entry =
            cache.map(|folder| CacheEntry::new(folder, &encoders::fingerprint(info), documents));
        let vectors = embed::vectors(
            documents,
            info.dim,
            entry.as_ref(),
            &mut |positions, tell| {
                encoders::encode_documents(&pair.article, documents, positions, tell)
            },
            &mut staged("encoding", total, progress),
            &mut notes,
        )?;
        let (hnsw, recall) = kept_graph::tuned(&vectors, entry.as_ref(), progress, &mut notes)?;
        let summary = pair.summary(folders);
        Ok(Arc::new(Retriever {
            corpus: Arc::clone(&self.corpus),
            dense: Some(Dense {
                vectors,
                hnsw,
                query: pair.query,
                summary,
                recall,
            }),
            notes,
        }))
    }

    /// What did not go as it should while building (a damaged cache, a full disk), for a log or a note.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The documents in corpus order.
    pub fn documents(&self) -> &[CorpusDocument] {
        &self.corpus.documents
    }

    /// Positions of the documents with these ids; `None` for an id that the corpus does not have.
    pub fn positions_of(&self, ids: &[&str]) -> Vec<Option<usize>> {
        ids.iter()
            .map(|id| self.corpus.by_id.get(*id).copied())
            .collect()
    }

    /// The vector of a document; `None` without an encoder or outside the corpus.
    pub fn embedding(&self, position: usize) -> Option<&[f32]> {
        self.dense.as_ref()?.vectors.full_row(position)
    }

    fn search_encoded(
        &self,
        query: &str,
        method: Method,
        k: usize,
        blank: bool,
        encoded: Option<&Result<EncodedQuery, RetrievalError>>,
    ) -> Result<Found, RetrievalError> {
        let dense = self.dense.as_ref().filter(|_| needs_encoder(method));
        if needs_encoder(method) && dense.is_none() {
            return Err(RetrievalError(NO_ENCODER.into()));
        }
        let encoded = match encoded.filter(|_| needs_encoder(method)) {
            Some(Ok(encoded)) => Some(encoded),
            Some(Err(error)) => return Err(RetrievalError(error.0.clone())),
            None => None,
        };
        let started = Instant::now();
        let k = k.min(self.corpus.documents.len());
        let scored = if blank || k == 0 {
            Vec::new()
        } else {
            self.ranked(query, method, k, dense.zip(encoded))?
        };
        let search = started.elapsed().as_secs_f64() * 1e3;
        Ok(Found {
            hits: self.hits(&scored),
            timing_ms: SearchTiming {
                tokenize: encoded.map_or(0.0, |encoded| encoded.tokenize_ms),
                encode: encoded.map_or(0.0, |encoded| encoded.encode_ms),
                search,
            },
            query_embedding: encoded.map(|encoded| encoded.vector.clone()),
        })
    }

    fn ranked(
        &self,
        query: &str,
        method: Method,
        k: usize,
        dense: Option<(&Dense, &EncodedQuery)>,
    ) -> Result<Vec<Scored>, RetrievalError> {
        let graph = |(dense, encoded): (&Dense, &EncodedQuery), k| {
            dense
                .hnsw
                .search_rescored(&dense.vectors, &encoded.vector, k)
        };
        match (method, dense) {
            (Method::Bm25, _) => self.corpus.lexical.search(query, k),
            (Method::Dense, Some(dense)) => graph(dense, k),
            (Method::Exact, Some((dense, encoded))) => {
                Ok(exact::top_k(&dense.vectors, &encoded.vector, k))
            }
            (Method::Hybrid, Some(dense)) => {
                let depth = k.max(FUSION_DEPTH);
                let lists = [
                    graph(dense, depth)?,
                    self.corpus.lexical.search(query, depth)?,
                ];
                Ok(fuse(&lists, k))
            }
            (_, None) => Err(RetrievalError(NO_ENCODER.into())),
        }
    }

    fn hits(&self, scored: &[Scored]) -> Vec<Hit> {
        scored
            .iter()
            .filter_map(|scored| {
                let document = self.corpus.documents.get(scored.position)?;
                Some((scored, document))
            })
            .enumerate()
            .map(|(index, (scored, document))| Hit {
                position: scored.position,
                id: document.id.clone(),
                title: document.title.clone(),
                content: document.content.clone(),
                score: scored.score,
                rank: index + 1,
            })
            .collect()
    }
}

impl Search for Retriever {
    fn embeddings(&self, hits: &[Hit]) -> Vec<Option<Vec<f32>>> {
        hits.iter()
            .map(|hit| self.embedding(hit.position).map(<[f32]>::to_vec))
            .collect()
    }

    fn info(&self) -> IndexInfo {
        let notice = match &self.dense {
            None => Some(NO_ENCODER.to_owned()),
            Some(dense) if dense.summary.stand_in => Some(format!(
                "{} stands in for MedCPT, whose weights are not here; results differ from MedCPT's",
                dense.summary.name
            )),
            Some(_) => None,
        };
        IndexInfo {
            documents: self.corpus.documents.len(),
            encoder: self.dense.as_ref().map(|dense| dense.summary.clone()),
            recall_at_10: self.dense.as_ref().and_then(|dense| dense.recall),
            notice,
        }
    }

    fn holds_any(&self, ids: &HashSet<&str>) -> Option<bool> {
        let documents = &self.corpus.documents;
        Some(
            documents
                .iter()
                .any(|document| ids.contains(document.id.as_str())),
        )
    }

    /// Each list says what encoding the query took.
    fn search_all(
        &self,
        query: &str,
        methods: &[Method],
        k: usize,
    ) -> Vec<(Method, Result<Found, RetrievalError>)> {
        let blank = query.trim().is_empty();
        let encoded = match &self.dense {
            Some(dense) if !blank && methods.iter().any(|&method| needs_encoder(method)) => {
                Some(encoders::encode_query(&dense.query, query))
            }
            _ => None,
        };
        methods
            .iter()
            .map(|&method| {
                let result = self.search_encoded(query, method, k, blank, encoded.as_ref());
                (method, result)
            })
            .collect()
    }
}

/// Share of the exact result that another result has; `None` where the exact one is empty.
pub fn recall_of(found: &Found, exact: &Found) -> Option<f64> {
    let scored = |found: &Found| -> Vec<Scored> {
        found
            .hits
            .iter()
            .map(|hit| Scored {
                position: hit.position,
                score: hit.score,
            })
            .collect()
    };
    exact::recall(&scored(found), &scored(exact))
}

pub(super) fn needs_encoder(method: Method) -> bool {
    method != Method::Bm25
}

/// A progress of one stage.
pub(super) fn staged<'a>(
    stage: &'static str,
    total: usize,
    progress: &'a mut Progress<'_>,
) -> impl FnMut(usize) -> ControlFlow<()> + 'a {
    move |done| progress(BuildProgress { stage, done, total })
}

pub(super) fn fuse(lists: &[Vec<Scored>], k: usize) -> Vec<Scored> {
    let positions: Vec<Vec<usize>> = lists
        .iter()
        .map(|list| list.iter().map(|hit| hit.position).collect())
        .collect();
    fusion::reciprocal_rank(&positions, fusion::DEFAULT_K)
        .into_iter()
        .take(k)
        .map(|(position, score)| Scored {
            position,
            score: score as f32,
        })
        .collect()
}

/// Vectors of up to 100 documents, evenly spread over the corpus.
pub(super) fn recall_sample(vectors: &Vectors) -> Vec<Cow<'_, [f32]>> {
    let step = vectors.len().div_ceil(RECALL_SAMPLE).max(1);
    vectors.rows().step_by(step).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn go(_: BuildProgress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn corpus(texts: &[(&str, &str)]) -> Vec<CorpusDocument> {
        texts
            .iter()
            .map(|(id, content)| CorpusDocument {
                id: (*id).into(),
                title: String::new(),
                content: (*content).into(),
            })
            .collect()
    }

    fn bm25(texts: &[(&str, &str)]) -> Arc<Retriever> {
        Retriever::build(corpus(texts), None, BackendChoice::Cpu, None, &mut go).unwrap()
    }

    #[test]
    fn without_an_encoder_bm25_works_and_the_rest_says_how_to_get_one() {
        let retriever = bm25(&[("a", "heart failure"), ("b", "renal failure")]);
        let found = retriever.search("renal", Method::Bm25, 5).unwrap();
        assert_eq!(found.hits.len(), 1);
        let hit = &found.hits[0];
        assert_eq!((hit.id.as_str(), hit.position, hit.rank), ("b", 1, 1));
        assert_eq!(found.query_embedding, None);
        let info = retriever.info();
        assert_eq!((info.documents, info.encoder), (2, None));
        assert!(info.notice.unwrap().contains("models pull auto-encoder"));
        for method in [Method::Dense, Method::Exact, Method::Hybrid] {
            let message = retriever.search("x", method, 5).unwrap_err().to_string();
            assert!(message.contains("models pull auto-encoder"), "{message}");
        }
        assert_eq!(retriever.positions_of(&["b", "z"]), [Some(1), None]);
        assert_eq!(retriever.embedding(0), None);
    }

    #[test]
    fn blank_queries_zero_hits_and_empty_corpora_are_fine() {
        let retriever = bm25(&[("a", "heart failure")]);
        for (query, k) in [(" \n", 5), ("", 5), ("heart", 0)] {
            let found = retriever.search(query, Method::Bm25, k).unwrap();
            assert!(found.hits.is_empty());
        }
        let found = bm25(&[]).search("heart", Method::Bm25, usize::MAX).unwrap();
        assert!(found.hits.is_empty());
    }

    #[test]
    fn duplicate_ids_are_refused() {
        let error = Retriever::build(
            corpus(&[("a", "x"), ("b", "y"), ("a", "z")]),
            None,
            BackendChoice::Cpu,
            None,
            &mut go,
        )
        .unwrap_err()
        .to_string();
        assert!(error.contains("documents 1 and 3"), "{error}");
    }

    #[test]
    fn results_serialise_without_positions_and_embeddings() {
        let found = bm25(&[("a", "heart")])
            .search("heart", Method::Bm25, 1)
            .unwrap();
        let json = serde_json::to_value(&found).unwrap();
        let keys: Vec<&str> = json["hits"][0]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(keys, ["id", "title", "content", "score", "rank"]);
        assert!(json.get("query_embedding").is_none());
    }
}
