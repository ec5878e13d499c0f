//! `medrgb search`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use serde::Serialize;

use crate::cli::Failure;
use crate::cli::common::{Environment, note, say, say_json};
use crate::cli::encoder::{self, Backend};
use crate::cli::progress::Line;
use crate::cli::remote;
use crate::data::dataset::Dataset;
use crate::domain::text::{clean, collapse};
use crate::retrieval::{
    CorpusDocument, EncoderFolders, EncoderSummary, Found, Hit, Method, NO_ENCODER, Retriever,
    Search, SearchTiming,
};

/// Arguments of `medrgb search`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to search for.
    pub query: String,
    /// Dataset folder whose documents are searched; without it the sample benchmark.
    #[arg(long, value_name = "FOLDER")]
    pub dataset: Option<PathBuf>,
    /// Index that is searched instead: milvus://HOST:PORT/COLLECTION or milvus+tls://….
    #[arg(long, value_name = "URL", conflicts_with = "dataset")]
    pub index: Option<String>,
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
    hits: &'a [Hit],
    timing_ms: SearchTiming,
    /// Null for bm25, which uses none.
    encoder: Option<EncoderSummary>,
    retriever: Method,
    query: &'a str,
    /// Null where an index was searched.
    dataset: Option<&'a str>,
    /// Null where a dataset was searched.
    index: Option<&'a str>,
    documents: usize,
    /// recall@10 of the index against the exact scan, measured when it was built.
    recall_at_10: Option<f64>,
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
    if let Some(index) = &args.index {
        return search_index(index, &args, environment);
    }
    let dataset = match &args.dataset {
        Some(path) => Dataset::open(path),
        None => Dataset::sample(),
    }
    .map_err(Failure::failed)?;
    let (method, folders) = plan(&args, environment)?;
    let retriever = index_dataset(&dataset, folders.as_ref(), args.backend, environment)?;
    if let (Some(_), Some(notice)) = (folders, retriever.info().notice) {
        note(&notice);
    }
    answer(&args, method, &*retriever, Some(&dataset.name))
}

/// Searches an index that is named instead of a dataset.
fn search_index(index: &str, args: &Args, environment: &Environment) -> Result<(), Failure> {
    let method = args.retriever.map_or(Method::Dense, Method::from);
    let opened = open_index(index, args.encoder.as_deref(), args.backend, environment)?;
    if let Some(notice) = opened.info().notice {
        note(&notice);
    }
    answer(args, method, &*opened, None)
}

/// Opens an index by the name that `--index` gives it.
///
/// # Errors
/// [`Failure`] when there is no such index, or the encoder does not belong to it.
pub fn open_index(
    index: &str,
    encoder: Option<&str>,
    backend: Option<Backend>,
    environment: &Environment,
) -> Result<Arc<dyn Search>, Failure> {
    Ok(remote::open(index, encoder, backend, environment)?)
}

/// Asks and prints.
fn answer(
    args: &Args,
    method: Method,
    searched: &dyn Search,
    dataset: Option<&str>,
) -> Result<(), Failure> {
    let found = searched
        .search(&args.query, method, args.k)
        .map_err(Failure::failed)?;
    if !args.json {
        return print_text(&found);
    }
    let info = searched.info();
    say_json(&Output {
        hits: &found.hits,
        timing_ms: found.timing_ms,
        encoder: info.encoder,
        retriever: method,
        query: &args.query,
        dataset,
        index: args.index.as_deref(),
        documents: info.documents,
        recall_at_10: info.recall_at_10,
    })
}

/// The method and the encoder it needs, if it needs one.
fn plan(
    args: &Args,
    environment: &Environment,
) -> Result<(Method, Option<EncoderFolders>), Failure> {
    if args.retriever == Some(RetrieverKind::Bm25) {
        return Ok((Method::Bm25, None));
    }
    let folders = encoder::folders(args.encoder.as_deref(), environment)?;
    match (args.retriever, folders) {
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

/// The documents of a dataset with their indexes; embeddings come from the cache where they are there.
///
/// # Errors
/// [`Failure`] when the encoder can't be used or indexing fails.
pub fn index_dataset(
    dataset: &Dataset,
    folders: Option<&EncoderFolders>,
    backend: Option<Backend>,
    environment: &Environment,
) -> Result<Arc<Retriever>, Failure> {
    let documents = dataset
        .documents()
        .into_iter()
        .map(|(document, _)| CorpusDocument {
            id: document.id.clone(),
            title: document.title.clone(),
            content: document.content.clone(),
        })
        .collect();
    let cache = environment.paths.cache.join("embeddings");
    let line = Line::new();
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
    Ok(retriever)
}

fn print_text(found: &Found) -> Result<(), Failure> {
    if found.hits.is_empty() {
        note("no document was found");
    }
    for hit in &found.hits {
        say(&line_of(hit))?;
        let text = collapse(&clean(&hit.content));
        say(&format!("    {}", shortened(&text, 160)))?;
    }
    Ok(())
}

fn line_of(hit: &Hit) -> String {
    let title = collapse(&clean(&hit.title));
    let id = collapse(&clean(&hit.id));
    format!("{:>3}  {:>8.4}  {id}  {title}", hit.rank, hit.score)
        .trim_end()
        .to_owned()
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}
