//! `medrgb search`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use medrgb_encoder::CrossEncoder;
use serde::Serialize;

use crate::cli::Failure;
use crate::cli::common::{Environment, note, say, say_json};
use crate::cli::encoder::{self, Backend};
use crate::cli::progress::Line;
use crate::cli::signals::stop_on_signal;
use crate::cli::{index, remote};
use crate::data::dataset::Dataset;
use crate::domain::text::{one_line, shortened};
use crate::retrieval::remote::Address;
use crate::retrieval::{
    CorpusDocument, EncoderFolders, EncoderSummary, Found, Hit, Method, NO_ENCODER, Retriever,
    Search, SearchTiming, rerank,
};

/// Arguments of `medrgb search`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to search for.
    pub query: String,
    /// Dataset folder whose documents are searched; without it the sample benchmark.
    #[arg(long, value_name = "FOLDER")]
    pub dataset: Option<PathBuf>,
    /// Index folder that is searched instead; several are searched together. Or one collection on a Milvus
    /// server: milvus://HOST:PORT/COLLECTION or milvus+tls://….
    #[arg(long, value_name = "DIR|URL", conflicts_with = "dataset")]
    pub index: Vec<String>,
    /// How to search; without it dense where an encoder is there, else bm25.
    #[arg(long, value_enum)]
    pub retriever: Option<RetrieverKind>,
    /// Most hits.
    #[arg(short, value_name = "K", default_value_t = 10)]
    pub k: usize,
    /// Encoder: a name or a folder.
    #[arg(long, value_name = "NAME|FOLDER")]
    pub encoder: Option<String>,
    /// Where the encoder runs.
    #[arg(long, value_enum)]
    pub backend: Option<Backend>,
    /// Read the best hits anew with a cross-encoder: a name (medcpt-cross) or a folder.
    #[arg(long, value_name = "NAME|FOLDER")]
    pub rerank: Option<String>,
    /// How many hits the cross-encoder reads; at least K.
    #[arg(long, value_name = "N", default_value_t = rerank::DEFAULT_DEPTH, requires = "rerank", value_parser = clap::value_parser!(u16).range(1..))]
    pub rerank_depth: u16,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// `--retriever`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RetrieverKind {
    /// Encoder and HNSW
    Dense,
    /// BM25 over title and text
    Bm25,
    /// Dense and BM25 fused by rank
    Hybrid,
    /// Encoder and a scan of all vectors
    Exact,
}

impl From<RetrieverKind> for Method {
    fn from(kind: RetrieverKind) -> Method {
        match kind {
            RetrieverKind::Dense => Method::Dense,
            RetrieverKind::Bm25 => Method::Bm25,
            RetrieverKind::Hybrid => Method::Hybrid,
            RetrieverKind::Exact => Method::Exact,
        }
    }
}

/// The object of `--json`.
#[derive(Debug, Serialize)]
struct Output<'a> {
    hits: Vec<OutputHit<'a>>,
    timing_ms: SearchTiming,
    /// Null for bm25, which uses none.
    encoder: Option<EncoderSummary>,
    retriever: Method,
    query: &'a str,
    /// Null where an index was searched.
    dataset: Option<&'a str>,
    /// The indexes that were searched; empty where it was a dataset.
    index: &'a [String],
    documents: usize,
    /// recall@10 of the index against the exact scan, measured when it was built.
    recall_at_10: Option<f64>,
    /// Only with `--rerank`: the scores of the hits are then the cross-encoder's logits.
    #[serde(skip_serializing_if = "Option::is_none")]
    rerank: Option<RerankOutput>,
}

/// A hit, and which index it comes from.
#[derive(Debug, Serialize)]
struct OutputHit<'a> {
    #[serde(flatten)]
    hit: &'a Hit,
    /// Left out where a dataset was searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<String>,
}

/// What a cross-encoder did.
#[derive(Debug, Serialize)]
struct RerankOutput {
    /// The cross-encoder's name.
    model: String,
    weights_sha256: String,
    backend: String,
    /// Hits that it read.
    depth: usize,
    /// Milliseconds.
    ms: f64,
    /// For each hit the rank it had before.
    ranks_before: Vec<usize>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    if args.query.trim().is_empty() {
        return Err(Failure::Usage(
            "the query is empty: say what to search for".into(),
        ));
    }
    if args.k == 0 {
        return Err(Failure::Usage("-k must be at least 1".into()));
    }
    if !args.index.is_empty() {
        return search_index(&args, environment);
    }
    let dataset = match &args.dataset {
        Some(path) => Dataset::open(path),
        None => Dataset::sample(),
    }
    .map_err(Failure::failed)?;
    let (method, folders) = plan(args.retriever, args.encoder.as_deref(), environment)?;
    let cross = cross_encoder(args.rerank.as_deref(), args.backend, environment)?;
    let retriever = build(
        documents(&dataset),
        folders.as_ref(),
        args.backend,
        environment,
    )?;
    answer(
        &args,
        method,
        &*retriever,
        Some(&dataset.name),
        cross.as_ref(),
    )
}

/// Searches indexes that are named instead of a dataset.
fn search_index(args: &Args, environment: &Environment) -> Result<(), Failure> {
    for url in args.index.iter().filter(|name| Address::is_remote(name)) {
        remote::warn(url);
    }
    let cross = cross_encoder(args.rerank.as_deref(), args.backend, environment)?;
    let (searched, method) = open_index(
        &args.index,
        args.retriever.map(Method::from),
        args.encoder.as_deref(),
        args.backend,
        environment,
    )?;
    let info = searched.info();
    if let (Some(_), Some(notice)) = (info.encoder, info.notice) {
        note(&notice);
    }
    answer(args, method, &*searched, None, cross.as_ref())
}

/// Opens what `--index` names: index folders, searched as one, or a remote index. Says where an encoder is missing, so
/// that words are searched alone.
///
/// # Errors
/// [`Failure`] when there is no such index, or the encoder does not belong to it.
pub fn open_index(
    names: &[String],
    method: Option<Method>,
    encoder: Option<&str>,
    backend: Option<Backend>,
    environment: &Environment,
) -> Result<(Arc<dyn Search>, Method), Failure> {
    match names.iter().find(|name| Address::is_remote(name)) {
        Some(url) if names.len() == 1 => {
            let opened = remote::open(url, encoder, backend, environment)?;
            Ok((opened, method.unwrap_or(Method::Dense)))
        }
        Some(_) => Err(Failure::Usage(
            "a remote index is searched alone: give --index once".into(),
        )),
        None => {
            let paths: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
            let opened = index::open(&paths, method, encoder, backend, environment)?;
            Ok((Arc::new(opened.set), opened.method))
        }
    }
}

/// Opens what `--index` of the explorer names: of index folders whose encoder can't be used BM25 alone is there, with
/// the reason. Prints nothing.
///
/// # Errors
/// As [`open_index`], but for what concerns the encoders of folders.
pub fn open_index_for_screen(
    names: &[String],
    environment: &Environment,
) -> Result<Arc<dyn Search>, Failure> {
    if names.iter().any(|name| Address::is_remote(name)) {
        return open_index(names, None, None, None, environment).map(|(index, _)| index);
    }
    let paths: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
    Ok(Arc::new(index::open_for_screen(&paths, environment)?))
}

/// Asks and prints.
fn answer(
    args: &Args,
    method: Method,
    searched: &dyn Search,
    dataset: Option<&str>,
    cross: Option<&CrossEncoder>,
) -> Result<(), Failure> {
    let depth = match cross {
        Some(_) => usize::from(args.rerank_depth).max(args.k),
        None => args.k,
    };
    let found = searched
        .search(&args.query, method, depth)
        .map_err(Failure::failed)?;
    let (found, rerank) = match cross {
        Some(cross) => reorder(args, cross, found)?,
        None => (found, None),
    };
    if !args.json {
        // One index need not be said with every hit.
        let several = args.index.len() > 1;
        print_text(&found, |hit| searched.origin(hit).filter(|_| several))?;
        note(&times(
            method,
            found.timing_ms,
            rerank.map(|rerank| rerank.ms),
        ));
        return Ok(());
    }
    let info = searched.info();
    say_json(&Output {
        hits: found
            .hits
            .iter()
            .map(|hit| OutputHit {
                hit,
                index: searched.origin(hit),
            })
            .collect(),
        timing_ms: found.timing_ms,
        encoder: info.encoder,
        retriever: method,
        query: &args.query,
        dataset,
        index: &args.index,
        documents: info.documents,
        recall_at_10: info.recall_at_10,
        rerank,
    })
}

/// The method and the encoder it needs, if it needs one.
pub(super) fn plan(
    retriever: Option<RetrieverKind>,
    named: Option<&str>,
    environment: &Environment,
) -> Result<(Method, Option<EncoderFolders>), Failure> {
    if retriever == Some(RetrieverKind::Bm25) {
        return Ok((Method::Bm25, None));
    }
    let folders = encoder::folders(named, environment)?;
    match (retriever, folders) {
        (Some(kind), Some(folders)) => Ok((kind.into(), Some(folders))),
        (None, Some(folders)) => Ok((Method::Dense, Some(folders))),
        (None, None) => {
            note(NO_ENCODER);
            Ok((Method::Bm25, None))
        }
        (Some(_), None) => Err(Failure::Failed(format!(
            "{NO_ENCODER}; or search with --retriever bm25"
        ))),
    }
}

/// The documents of a dataset as a corpus.
pub(super) fn documents(dataset: &Dataset) -> Vec<CorpusDocument> {
    dataset
        .documents()
        .into_iter()
        .map(|(document, _)| CorpusDocument {
            id: document.id.clone(),
            title: document.title.clone(),
            content: document.content.clone(),
        })
        .collect()
}

/// Builds what searches these documents, with progress and notes on standard error; embeddings are cached.
///
/// # Errors
/// [`Failure`] when the encoder can't be used or building fails.
pub(super) fn build(
    documents: Vec<CorpusDocument>,
    folders: Option<&EncoderFolders>,
    backend: Option<Backend>,
    environment: &Environment,
) -> Result<Arc<Retriever>, Failure> {
    let cache = environment.paths.cache.join("embeddings");
    let line = Line::heeding(stop_on_signal());
    let retriever = Retriever::build(
        documents,
        folders,
        encoder::backend(backend, environment)?,
        Some(&cache),
        &mut |progress| line.at(progress.stage, progress.done, progress.total),
    )
    .map_err(Failure::failed)?;
    drop(line);
    for text in retriever.notes() {
        note(text);
    }
    if let (Some(_), Some(notice)) = (folders, retriever.info().notice) {
        note(&notice);
    }
    Ok(retriever)
}

/// The cross-encoder of `--rerank`, opened before anything slow is done.
///
/// # Errors
/// [`Failure`] where there is no such cross-encoder, or it can't be opened.
pub fn cross_encoder(
    wanted: Option<&str>,
    backend: Option<Backend>,
    environment: &Environment,
) -> Result<Option<CrossEncoder>, Failure> {
    let Some(wanted) = wanted else {
        return Ok(None);
    };
    let folder = encoder::cross_encoder(wanted, environment)?;
    let backend = encoder::backend(backend, environment)?;
    let cross = rerank::open(&folder, backend).map_err(Failure::failed)?;
    for text in &cross.info().notes {
        note(text);
    }
    Ok(Some(cross))
}

fn reorder(
    args: &Args,
    cross: &CrossEncoder,
    found: Found,
) -> Result<(Found, Option<RerankOutput>), Failure> {
    let line = Line::heeding(stop_on_signal());
    let depth = found.hits.len();
    let reranked = rerank::rerank(found, &args.query, cross, args.k, &mut |done, total| {
        line.at("reranking", done, total)
    })
    .map_err(Failure::failed)?;
    let output = RerankOutput {
        model: cross.info().name.clone(),
        weights_sha256: cross.info().weights_sha256.clone(),
        backend: cross.backend().description,
        depth,
        ms: reranked.ms,
        ranks_before: reranked.ranks_before,
    };
    Ok((reranked.found, Some(output)))
}

/// How long the parts of a search took, in milliseconds; parts that it did not have are left out.
fn times(method: Method, timing: SearchTiming, rerank: Option<f64>) -> String {
    let parts = [
        (
            "tokenise",
            (method != Method::Bm25).then_some(timing.tokenize),
        ),
        ("encode", (method != Method::Bm25).then_some(timing.encode)),
        ("search", Some(timing.search)),
        ("rerank", rerank),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter_map(|(name, ms)| Some(format!("{name} {:.2} ms", ms?)))
        .collect();
    parts.join(", ")
}

fn print_text(found: &Found, origin: impl Fn(&Hit) -> Option<String>) -> Result<(), Failure> {
    if found.hits.is_empty() {
        note("no document was found");
    }
    for hit in &found.hits {
        say(&line_of(hit, origin(hit).as_deref()))?;
        let text = one_line(&hit.content);
        say(&format!("    {}", shortened(&text, 160)))?;
    }
    Ok(())
}

fn line_of(hit: &Hit, origin: Option<&str>) -> String {
    let origin = origin.map_or_else(String::new, |from| format!("  [{}]", one_line(from)));
    let title = one_line(&hit.title);
    let id = one_line(&hit.id);
    format!("{:>3}  {:>8.4}  {id}{origin}  {title}", hit.rank, hit.score)
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_parts_that_a_search_had() {
        let timing = SearchTiming {
            tokenize: 0.1,
            encode: 8.0,
            search: 0.254,
        };
        assert_eq!(times(Method::Bm25, timing, None), "search 0.25 ms");
        assert_eq!(
            times(Method::Dense, timing, Some(90.0)),
            "tokenise 0.10 ms, encode 8.00 ms, search 0.25 ms, rerank 90.00 ms"
        );
    }
}
