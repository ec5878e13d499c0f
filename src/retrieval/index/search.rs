//! Searching index folders: one or several together, one per corpus.
//!
//! Inner products of one encoder compare across folders. BM25 scores are those of each corpus's own statistics, as
//! in MedRAG's merged corpora. A hybrid search fuses the merged lists, never fused scores.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use medrgb_encoder::{BackendChoice, Encoder, EncoderInfo};

use crate::domain::text::hex;
use crate::retrieval::encoders::{self, EncodedQuery};
use crate::retrieval::exact::{self, Scored, Vectors};
use crate::retrieval::index::build::empty_shard;
use crate::retrieval::index::state::{self, EncoderId, MANIFEST, Manifest, STATE, State};
use crate::retrieval::index::store::{Store, Text};
use crate::retrieval::index::{text, vectors};
use crate::retrieval::lexical::Lexical;
use crate::retrieval::retriever::{FUSION_DEPTH, fuse, needs_encoder};
use crate::retrieval::vector::Hnsw;
use crate::retrieval::{
    DAMAGED, EncoderFolders, EncoderSummary, Found, Hit, IndexInfo, Method, RetrievalError, Search,
    SearchTiming,
};

/// An opened index folder.
#[derive(Debug)]
pub struct IndexFolder {
    path: PathBuf,
    manifest: Manifest,
    store: Store,
    lexical: Lexical,
    /// Only where an encoder searches it.
    dense: Option<(Vectors, Hnsw)>,
}

impl IndexFolder {
    /// Opens a finished index; its vectors are not touched.
    ///
    /// # Errors
    /// When it is no index, not finished, of a newer version, or damaged.
    pub fn open(path: &Path) -> Result<IndexFolder, RetrievalError> {
        let manifest = IndexFolder::manifest_of(path)?;
        Ok(IndexFolder {
            store: Store::open(path, manifest.documents, manifest.text_bytes)?,
            lexical: Lexical::open(&path.join(text::FOLDER))?,
            path: path.to_path_buf(),
            manifest,
            dense: None,
        })
    }

    /// What a finished index is.
    ///
    /// # Errors
    /// As [`IndexFolder::open`].
    pub fn manifest_of(path: &Path) -> Result<Manifest, RetrievalError> {
        if let Some(manifest) = state::read(path, MANIFEST)? {
            return Ok(manifest);
        }
        if let Ok(Some(state)) = state::read::<State>(path, STATE)
            && state.read.done
            && state.read.documents == 0
        {
            return Err(RetrievalError(format!(
                "{} is no index: {}",
                path.display(),
                empty_shard(&state)
            )));
        }
        if path.as_os_str().is_empty() {
            return Err(RetrievalError(
                "an index has an empty name; name its folder, or a collection as milvus://HOST:PORT/COLLECTION".into(),
            ));
        }
        Err(RetrievalError(match path.join(STATE).is_file() {
            true => format!(
                "the index {} is not finished; run the same `medrgb index build` again, it goes on where it stopped",
                path.display()
            ),
            false => format!(
                "{} is no index (it has no {MANIFEST}); make one with `medrgb index build`",
                path.display()
            ),
        }))
    }

    /// What it is.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Its documents.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Its vectors, in the order of its documents; they stay in their file.
    ///
    /// # Errors
    /// When it has none, or their file is damaged.
    pub fn vectors(&self) -> Result<Vectors, RetrievalError> {
        match &self.manifest.encoder {
            Some(encoder) => vectors::load(&self.path, self.manifest.documents, encoder.dim),
            None => Err(self.no_vectors()),
        }
    }

    /// Opens its vectors and its graph, for an encoder that belongs to them.
    fn open_graph(&mut self) -> Result<(), RetrievalError> {
        let vectors = self.vectors()?;
        let manifest = &self.manifest;
        let (precision, candidates) = (manifest.request.graph, manifest.candidates);
        let graph = vectors::open_graph(&self.path, &vectors, precision, candidates)?;
        self.dense = Some((vectors, graph));
        Ok(())
    }

    fn is_of_unknown(&self) -> bool {
        let encoder = self.manifest.encoder.as_ref();
        encoder.is_some_and(|encoder| encoder.query.is_empty())
    }

    fn no_vectors(&self) -> RetrievalError {
        RetrievalError(format!(
            "the index {} was built without an encoder, so only BM25 can search it; build one with `medrgb index build --encoder`",
            self.path.display()
        ))
    }

    fn ranked(
        &self,
        query: &str,
        encoded: Option<&EncodedQuery>,
        method: Method,
        k: usize,
    ) -> Result<Vec<Scored>, RetrievalError> {
        match (method, &self.dense, encoded) {
            (Method::Bm25, ..) => self.lexical.search(query, k),
            (Method::Exact, Some((vectors, _)), Some(encoded)) => {
                Ok(exact::top_k(vectors, &encoded.vector, k))
            }
            (_, Some((vectors, graph)), Some(encoded)) => {
                graph.search_rescored(vectors, &encoded.vector, k)
            }
            _ => Err(self.no_vectors()),
        }
    }
}

/// The encoder that queries go through.
struct QueryEncoder {
    encoder: Arc<Encoder>,
    summary: EncoderSummary,
}

/// One or several index folders that are searched as one. Safe to share between threads.
pub struct IndexSet {
    folders: Vec<IndexFolder>,
    encoder: Option<QueryEncoder>,
    /// Why no encoder searches it, where one was looked for.
    words_only: Option<String>,
}

impl std::fmt::Debug for IndexSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexSet")
            .field("folders", &self.folders)
            .finish_non_exhaustive()
    }
}

impl IndexSet {
    /// Refuses folders without vectors, before any encoder is looked for.
    ///
    /// # Errors
    /// Names the first folder that has none.
    pub fn require_vectors(&self) -> Result<(), RetrievalError> {
        let mut folders = self.folders.iter();
        match folders.find(|folder| folder.manifest.encoder.is_none()) {
            Some(folder) => Err(folder.no_vectors()),
            None => Ok(()),
        }
    }

    /// Opens index folders for BM25.
    ///
    /// # Errors
    /// When one can't be opened or is named twice, which would give each of its documents twice.
    pub fn open(paths: &[PathBuf]) -> Result<IndexSet, RetrievalError> {
        let mut seen = HashSet::new();
        for path in paths {
            // What is not there is said when it is opened.
            if let Ok(real) = path.canonicalize()
                && !seen.insert(real)
            {
                return Err(RetrievalError(format!(
                    "the index {} is named twice; name each index once",
                    path.display()
                )));
            }
        }
        let folders = paths
            .iter()
            .map(|path| IndexFolder::open(path))
            .collect::<Result<_, _>>()?;
        Ok(IndexSet {
            folders,
            encoder: None,
            words_only: None,
        })
    }

    /// Says why no encoder searches it, so that only BM25 does.
    pub fn for_words_only(mut self, why: String) -> IndexSet {
        self.words_only = Some(why);
        self
    }

    /// Lets an encoder search the folders too; it must be the one that made their vectors.
    ///
    /// # Errors
    /// When it can't be opened or does not belong to an index, or an index has no vectors.
    pub fn with_encoder(
        mut self,
        folders: &EncoderFolders,
        backend: BackendChoice,
    ) -> Result<IndexSet, RetrievalError> {
        if let Some(without) = self.folders.iter().find(|f| f.manifest.encoder.is_none()) {
            return Err(without.no_vectors());
        }
        let encoder = encoders::open(&folders.query, backend, None)?;
        for folder in &mut self.folders {
            if let Some(id) = &folder.manifest.encoder {
                belongs(&folder.path, id, &folders.name, encoder.info())?;
            }
            folder.open_graph()?;
        }
        self.encoder = Some(QueryEncoder {
            summary: EncoderSummary {
                name: folders.name.clone(),
                dim: encoder.info().dim,
                backend: encoder.backend().description,
                stand_in: folders.stand_in,
                weights_sha256: encoder.info().weights_sha256.clone(),
            },
            encoder: Arc::new(encoder),
        });
        Ok(self)
    }

    /// The folders, in the order in which they were named.
    pub fn folders(&self) -> &[IndexFolder] {
        &self.folders
    }

    /// A document by its position over all folders.
    pub fn document(&self, mut position: usize) -> Option<Text<'_>> {
        for folder in &self.folders {
            match position.checked_sub(folder.store.len()) {
                None => return folder.store.get(position),
                Some(rest) => position = rest,
            }
        }
        None
    }

    /// The vector of a document by its position over all folders.
    fn embedding(&self, mut position: usize) -> Option<Vec<f32>> {
        for folder in &self.folders {
            match position.checked_sub(folder.store.len()) {
                None => return Some(folder.dense.as_ref()?.0.row(position)?.into_owned()),
                Some(rest) => position = rest,
            }
        }
        None
    }

    /// The `k` best over all folders, positions counted over all of them.
    fn merged(
        &self,
        query: &str,
        encoded: Option<&EncodedQuery>,
        method: Method,
        k: usize,
    ) -> Result<Vec<Scored>, RetrievalError> {
        if method == Method::Hybrid {
            let depth = k.max(FUSION_DEPTH);
            let lists = [
                self.merged(query, encoded, Method::Dense, depth)?,
                self.merged(query, encoded, Method::Bm25, depth)?,
            ];
            return Ok(fuse(&lists, k));
        }
        let (mut all, mut before) = (Vec::new(), 0);
        for folder in &self.folders {
            let k = k.min(folder.store.len());
            let list = folder.ranked(query, encoded, method, k)?;
            all.extend(list.into_iter().map(|scored| Scored {
                position: before + scored.position,
                score: scored.score,
            }));
            before += folder.store.len();
        }
        all.sort_by(Scored::best_first);
        all.truncate(k);
        Ok(all)
    }

    fn found(
        &self,
        query: &str,
        encoded: Option<&EncodedQuery>,
        method: Method,
        k: usize,
    ) -> Result<Found, RetrievalError> {
        if needs_encoder(method)
            && self.encoder.is_none()
            && let Some(why) = &self.words_only
        {
            return Err(RetrievalError(why.clone()));
        }
        let started = Instant::now();
        let scored = match query.trim().is_empty() || k == 0 {
            true => Vec::new(),
            false => self.merged(query, encoded, method, k)?,
        };
        let hits = scored
            .iter()
            .enumerate()
            .map(|(index, scored)| self.hit(index + 1, scored))
            .collect::<Result<_, _>>()?;
        Ok(Found {
            hits,
            timing_ms: SearchTiming {
                tokenize: encoded.map_or(0.0, |encoded| encoded.tokenize_ms),
                encode: encoded.map_or(0.0, |encoded| encoded.encode_ms),
                search: started.elapsed().as_secs_f64() * 1e3,
            },
            query_embedding: encoded.map(|encoded| encoded.vector.clone()),
        })
    }

    fn hit(&self, rank: usize, scored: &Scored) -> Result<Hit, RetrievalError> {
        let text = self
            .document(scored.position)
            .ok_or_else(|| self.unreadable(scored.position))?;
        Ok(Hit {
            position: scored.position,
            id: text.id.to_owned(),
            title: text.title.to_owned(),
            content: text.content.to_owned(),
            score: scored.score,
            rank,
        })
    }

    /// What is said of a found document that can't be read.
    fn unreadable(&self, mut position: usize) -> RetrievalError {
        for folder in &self.folders {
            match position.checked_sub(folder.store.len()) {
                None => {
                    return RetrievalError(format!(
                        "document {} of the index {} can't be read; {DAMAGED}",
                        position + 1,
                        folder.path.display()
                    ));
                }
                Some(rest) => position = rest,
            }
        }
        RetrievalError(format!(
            "a search found a document that the index doesn't hold; {DAMAGED}"
        ))
    }

    fn notice(&self) -> Option<String> {
        match &self.encoder {
            None => Some(self.words_only.clone().unwrap_or_else(|| {
                "this index is searched without an encoder, by BM25 alone".to_owned()
            })),
            Some(encoder) if self.folders.iter().any(|folder| folder.is_of_unknown()) => {
                Some(format!(
                    "the index does not say which encoder made its vectors; that it is {} is taken on your word",
                    encoder.summary.name
                ))
            }
            Some(encoder) if encoder.summary.stand_in => Some(format!(
                "{} stands in for MedCPT, whose weights are not here; results differ from MedCPT's",
                encoder.summary.name
            )),
            Some(_) => None,
        }
    }
}

impl Search for IndexSet {
    /// Documents of all folders; the recall is the lowest of theirs.
    fn info(&self) -> IndexInfo {
        let recalls = self.folders.iter().filter_map(|f| f.manifest.recall_at_10);
        IndexInfo {
            documents: self.folders.iter().map(|folder| folder.store.len()).sum(),
            encoder: self.encoder.as_ref().map(|encoder| encoder.summary.clone()),
            recall_at_10: recalls.reduce(f64::min),
            notice: self.notice(),
        }
    }

    fn holds_any(&self, ids: &HashSet<&str>) -> Option<bool> {
        let held = |id: &&str| self.folders.iter().any(|f| f.store.position(id).is_some());
        Some(ids.iter().any(held))
    }

    fn origin(&self, hit: &Hit) -> Option<String> {
        let mut position = hit.position;
        for folder in &self.folders {
            match position.checked_sub(folder.store.len()) {
                None => return Some(folder.path.display().to_string()),
                Some(rest) => position = rest,
            }
        }
        None
    }

    fn embeddings(&self, hits: &[Hit]) -> Vec<Option<Vec<f32>>> {
        hits.iter()
            .map(|hit| self.embedding(hit.position))
            .collect()
    }

    fn search_all(
        &self,
        query: &str,
        methods: &[Method],
        k: usize,
    ) -> Vec<(Method, Result<Found, RetrievalError>)> {
        let wanted = methods.iter().any(|&method| needs_encoder(method));
        let encoded = match &self.encoder {
            Some(encoder) if wanted && !query.trim().is_empty() => {
                Some(encoders::encode_query(&encoder.encoder, query))
            }
            _ => None,
        };
        methods
            .iter()
            .map(|&method| {
                let result = match encoded.as_ref().filter(|_| needs_encoder(method)) {
                    Some(Err(error)) => Err(RetrievalError(error.0.clone())),
                    Some(Ok(encoded)) => self.found(query, Some(encoded), method, k),
                    None => self.found(query, None, method, k),
                };
                (method, result)
            })
            .collect()
    }
}

/// Refuses a query encoder whose vectors can't be compared with those of an index.
fn belongs(
    path: &Path,
    id: &EncoderId,
    name: &str,
    info: &EncoderInfo,
) -> Result<(), RetrievalError> {
    let same = match id.query.is_empty() {
        true => info.dim == id.dim,
        false => hex(&encoders::fingerprint(info)) == id.query,
    };
    match same {
        true => Ok(()),
        false => Err(RetrievalError(format!(
            "the query encoder {name} ({} dimensions) does not belong to the index {}, whose vectors were made by {} ({} dimensions) or with other settings; search with that encoder",
            info.dim,
            path.display(),
            id.name,
            id.dim
        ))),
    }
}
