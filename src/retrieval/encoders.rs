//! The encoders of an index: one for queries, one for articles, and whether they belong together.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use medrgb_encoder::{BackendChoice, Encoder, EncoderError, EncoderInfo, Input, OpenOptions};

use crate::retrieval::sealed::{self, Key};
use crate::retrieval::{CorpusDocument, EncoderFolders, EncoderSummary, RetrievalError};

/// Opened encoders; the same one twice where an encoder is symmetric.
#[derive(Clone)]
pub struct Pair {
    /// For queries.
    pub query: Arc<Encoder>,
    /// For documents.
    pub article: Arc<Encoder>,
}

/// Where this process keeps compiled GPU kernels.
static KERNELS: OnceLock<PathBuf> = OnceLock::new();

/// Keeps kernels that GPUs compile at their first use under `folder`; the first folder given counts, as GPUs
/// read it once per process.
pub fn keep_kernels_under(folder: PathBuf) {
    // A second one changes nothing, as said.
    let _ = KERNELS.set(folder);
}

/// Options for this backend, with the process's folder for kernels.
pub fn options(backend: BackendChoice) -> OpenOptions {
    OpenOptions {
        backend,
        kernel_cache: KERNELS.get().cloned(),
        ..OpenOptions::default()
    }
}

/// Opens an encoder folder.
///
/// # Errors
/// When the folder holds no encoder that can run on this backend.
pub fn open(
    folder: &Path,
    backend: BackendChoice,
    max_tokens: Option<usize>,
) -> Result<Encoder, RetrievalError> {
    let options = OpenOptions {
        max_tokens,
        ..options(backend)
    };
    open_with(folder, &options)
}

/// Opens an encoder folder with these options.
///
/// # Errors
/// As [`open`].
pub fn open_with(folder: &Path, options: &OpenOptions) -> Result<Encoder, RetrievalError> {
    Encoder::open(folder, options)
        .map_err(|error| RetrievalError(format!("the encoder can't be opened: {error}")))
}

impl Pair {
    /// Opens both encoders and refuses two that do not belong together.
    ///
    /// # Errors
    /// When one can't be opened, or they differ in dimension or family.
    pub fn open(folders: &EncoderFolders, backend: BackendChoice) -> Result<Pair, RetrievalError> {
        let query = Arc::new(open(&folders.query, backend, None)?);
        if folders.query == folders.article {
            return Ok(Pair {
                article: Arc::clone(&query),
                query,
            });
        }
        let article = Arc::new(open(&folders.article, backend, None)?);
        belongs(query.info(), article.info())?;
        Ok(Pair { query, article })
    }

    /// What screens say about the pair.
    pub fn summary(&self, folders: &EncoderFolders) -> EncoderSummary {
        let info = self.article.info();
        EncoderSummary {
            name: folders.name.clone(),
            dim: info.dim,
            backend: self.article.backend().description,
            stand_in: folders.stand_in,
            weights_sha256: info.weights_sha256.clone(),
        }
    }
}

/// Refuses a query encoder whose vectors can't be compared with the article encoder's.
fn belongs(query: &EncoderInfo, article: &EncoderInfo) -> Result<(), RetrievalError> {
    check(
        (&query.name, query.dim),
        (&article.name, article.dim),
        query.normalized == article.normalized,
    )
}

fn check(
    query: (&str, usize),
    article: (&str, usize),
    same_scale: bool,
) -> Result<(), RetrievalError> {
    let refuse = |why: String| {
        Err(RetrievalError(format!(
            "the query encoder {} does not belong to the article encoder {}: {why}; give the two encoders of one model",
            query.0, article.0
        )))
    };
    if query.1 != article.1 {
        return refuse(format!(
            "its vectors have {} dimensions, not {}",
            query.1, article.1
        ));
    }
    if family(query.0) != family(article.0) {
        return refuse("their names are those of different models".into());
    }
    if !same_scale {
        return refuse("one normalises its vectors and the other does not".into());
    }
    Ok(())
}

/// The words of a model's name that are left without owner and without what it encodes.
fn family(name: &str) -> BTreeSet<String> {
    const ROLES: [&str; 12] = [
        "query", "queries", "question", "article", "articles", "document", "doc", "passage",
        "context", "ctx", "encoder", "model",
    ];
    name.rsplit('/')
        .next()
        .unwrap_or(name)
        .split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty() && !ROLES.contains(&word.as_str()))
        .collect()
}

/// Hash of all that decides what vectors an encoder makes. The backend is not part of it: backends differ
/// by rounding only.
pub fn fingerprint(info: &EncoderInfo) -> Key {
    sealed::key_of([
        b"embeddings 1".as_slice(),
        info.weights_sha256.as_bytes(),
        format!(
            "{} tokens, {:?}, normalised: {}, pairs: {}, {} dimensions",
            info.max_tokens, info.pooling, info.normalized, info.pair_input, info.dim
        )
        .as_bytes(),
    ])
}

fn failed(error: EncoderError) -> RetrievalError {
    match error {
        EncoderError::Cancelled => RetrievalError::cancelled(),
        other => RetrievalError(format!("encoding failed: {other}")),
    }
}

/// Encodes documents as articles (title and text as the encoder wants them), row after row.
///
/// # Errors
/// When the encoder fails or `progress` breaks.
pub fn encode_documents(
    encoder: &Encoder,
    documents: &[CorpusDocument],
    positions: &[usize],
    progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Vec<f32>, RetrievalError> {
    let texts: Vec<(&str, &str)> = positions
        .iter()
        .filter_map(|&position| documents.get(position))
        .map(|document| (document.title.as_str(), document.content.as_str()))
        .collect();
    encode_articles(encoder, &texts, progress)
}

/// [`encode_documents`] for titles and texts.
///
/// # Errors
/// As [`encode_documents`].
pub fn encode_articles(
    encoder: &Encoder,
    texts: &[(&str, &str)],
    progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Vec<f32>, RetrievalError> {
    let inputs: Vec<Input<'_>> = texts
        .iter()
        .map(|&(title, content)| Input::Article { title, content })
        .collect();
    let (embeddings, _) = encoder
        .encode(&inputs, &mut |at| progress(at.done))
        .map_err(failed)?;
    Ok(embeddings.data)
}

/// An encoded query and what it took in milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodedQuery {
    /// The vector.
    pub vector: Vec<f32>,
    /// Tokenising.
    pub tokenize_ms: f64,
    /// Encoding.
    pub encode_ms: f64,
}

/// Encodes one query.
///
/// # Errors
/// When the encoder fails.
pub fn encode_query(encoder: &Encoder, query: &str) -> Result<EncodedQuery, RetrievalError> {
    let (embeddings, timing) = encoder
        .encode(&[Input::Query(query)], &mut |_| ControlFlow::Continue(()))
        .map_err(failed)?;
    if embeddings.data.iter().any(|number| !number.is_finite()) {
        return Err(RetrievalError(
            "the encoder gave numbers that are not finite for this query: its weights or the backend are broken; try --backend cpu".into(),
        ));
    }
    Ok(EncodedQuery {
        vector: embeddings.data,
        tokenize_ms: timing.tokenize.as_secs_f64() * 1e3,
        encode_ms: timing.encode.as_secs_f64() * 1e3,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn two_encoders_of_one_model_belong_together() {
        for (query, article) in [
            ("ncbi/MedCPT-Query-Encoder", "ncbi/MedCPT-Article-Encoder"),
            ("medcpt-query", "medcpt-article"),
            ("dpr-question_encoder", "dpr-ctx_encoder"),
        ] {
            check((query, 768), (article, 768), true).unwrap();
        }
    }

    #[test]
    fn others_are_refused_with_the_reason() {
        let why = |query, article, same| check(query, article, same).unwrap_err().to_string();
        let message = why(("medcpt-query", 384), ("medcpt-article", 768), true);
        assert!(message.contains("384 dimensions, not 768"), "{message}");
        let message = why(("medcpt-query", 768), ("bge-article", 768), true);
        assert!(message.contains("different models"), "{message}");
        let message = why(("a-query", 8), ("a-article", 8), false);
        assert!(message.contains("normalises"), "{message}");
    }
}
