//! `medrgb index build`.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use crate::cli::Failure;
use crate::cli::common::{Environment, note};
use crate::cli::encoder::{self, Backend};
use crate::cli::index::parts::{inputs, tell, tell_skipped};
use crate::cli::progress::Line;
use crate::cli::signals::stop_on_signal;
use crate::retrieval::corpus::Format;
use crate::retrieval::encoders::Pair;
use crate::retrieval::index::{self, Build, BuildEncoder, BuildVectors, Imported, Shard};
use crate::retrieval::vector::GraphPrecision;
use crate::retrieval::{NO_ENCODER, RetrievalError};

/// Arguments of `medrgb index build`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Corpora, known by name and content, each also as .gz:
  medrag      MedRAG's chunks: lines {\"id\",\"title\",\"content\",\"contents\"}
  beir        BEIR folders or corpus.jsonl: lines {\"_id\",\"title\",\"text\"}
  wikipedia   paragraphs: lines {\"id\",\"title\",\"text\"}; a list of texts is a passage each
  pubmed      PubMed's XML: a document per citation, PMIDs as ids. Files with PubMed's own names
              (pubmed26n0001.xml.gz) are read newest first, so that the last version of a citation and
              its deletion count whatever the order in which they are named (with --embeddings they stay
              in the order given, which rows may follow). Of other files the one named first
              counts, and its list of deleted citations (DeleteCitation) only for files named after it:
              name the newest first. Within a file the last version counts, and a deletion for what comes
              before it. Each version and deletion that does not count is counted and listed
  statpearls  StatPearls and other JATS articles (.nxml): passages by section
  text        plain text (.txt): 1,000 characters that overlap by 200
  ncbi        pubmed_chunk_N.json beside NCBI's embeddings
A dataset folder (qa.jsonl) is a corpus too: its signal documents.

--embeddings brings vectors in instead of encoding. Rows belong to documents by --ids; NCBI's
embeds_chunk_N.npy by pmids_chunk_N.json beside them; files named like those of the corpus (MedRAG's)
row by record; else all rows follow all documents. Name the encoder that made them, so that queries
of another one are refused; with --encoder none only dimensions can be compared.

Records that can't be read are left out, counted and listed in problems.jsonl of the index folder.

Examples:
  medrgb index build --corpus scifact/ --encoder none --out scifact-index
  medrgb index build --corpus pubmed/*.xml.gz --encoder medcpt --shard 3/8 --out part-3
  medrgb search --index scifact-index --retriever bm25 \"vitamin D\"")]
pub struct Args {
    /// Files and folders of the corpus
    #[arg(long, value_name = "PATH", required = true, num_args = 1..)]
    pub corpus: Vec<PathBuf>,
    /// How all files are read [default: by name and content]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Encoder: a name or a folder, or none for BM25 alone
    #[arg(long, value_name = "NAME|FOLDER|none")]
    pub encoder: Option<String>,
    /// Vectors that are there already: .npy files or folders of them, rows by --ids, by name or by order
    #[arg(long, value_name = "FILE.npy", num_args = 1..)]
    pub embeddings: Vec<PathBuf>,
    /// Ids of the rows, a list for each file: a JSON list, or a line each
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "embeddings")]
    pub ids: Vec<PathBuf>,
    /// Where the encoder runs
    #[arg(long, value_enum)]
    pub backend: Option<Backend>,
    /// What the vector graph compares: the vectors as they are stored, or a copy in half precision or in eight
    /// bits, which needs a half or a quarter of the memory; hits are scored by the stored vectors all the same
    /// [default: stored]
    #[arg(long, value_enum, value_name = "stored|half|int8")]
    pub graph: Option<Graph>,
    /// Index folder to build
    #[arg(long, short = 'o', value_name = "DIR")]
    pub out: PathBuf,
    /// Build one part of several, counted from 1; every PARTS-th document is in it
    #[arg(long, value_name = "PART/PARTS")]
    pub shard: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// What a vector graph compares, as a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Graph {
    /// The vectors as they are stored
    Stored,
    /// A copy in half precision
    Half,
    /// A copy in whole numbers of eight bits
    Int8,
}

impl From<Graph> for GraphPrecision {
    fn from(graph: Graph) -> Self {
        match graph {
            Graph::Stored => GraphPrecision::Stored,
            Graph::Half => GraphPrecision::Half,
            Graph::Int8 => GraphPrecision::Int8,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence; what is done of the index is kept.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let format: Option<Format> = args
        .format
        .as_deref()
        .map(str::parse)
        .transpose()
        .map_err(|error: RetrievalError| Failure::usage(error))?;
    let shard = match &args.shard {
        Some(text) => text
            .parse()
            .map_err(|error: RetrievalError| Failure::usage(error))?,
        None => Shard::WHOLE,
    };
    let (inputs, skipped) = inputs(&args.corpus, format, !args.embeddings.is_empty())?;
    let encoder = build_encoder(args.encoder.as_deref(), args.backend, environment)?;
    let vectors = match (encoder, args.embeddings.is_empty()) {
        (Some(encoder), true) => BuildVectors::Encoder(encoder),
        (None, true) => BuildVectors::None,
        (encoder, false) => BuildVectors::Imported(Imported {
            files: index::find_embeddings(&args.embeddings, &args.ids, &inputs)
                .map_err(Failure::failed)?,
            encoder,
        }),
    };
    if args.graph.is_some() && matches!(vectors, BuildVectors::None) {
        return Err(Failure::Usage(
            "--graph is about the graph over vectors, and without an encoder there are none: leave it out, or name an encoder".to_owned(),
        ));
    }
    let used = match &vectors {
        BuildVectors::Imported(imported) => imported.files.iter().flat_map(|f| f.names()).collect(),
        _ => Vec::new(),
    };
    tell_skipped(&skipped, &used);
    let stop = stop_on_signal();
    let line = Line::new();
    let request = Build {
        out: &args.out,
        inputs,
        vectors,
        shard,
        graph: args.graph.map_or_else(GraphPrecision::default, Graph::into),
    };
    let built = index::build(&request, &mut |at| {
        if stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        line.at(at.stage, at.done, at.total)
    });
    drop(line);
    tell(&args.out, &built.map_err(Failure::failed)?, args.json)
}

/// The encoder of the flag, else of the settings; `none` is none.
fn build_encoder(
    flag: Option<&str>,
    backend: Option<Backend>,
    environment: &Environment,
) -> Result<Option<Box<BuildEncoder>>, Failure> {
    if flag == Some("none") {
        return Ok(None);
    }
    let Some(folders) = encoder::folders(flag, environment)? else {
        note(NO_ENCODER);
        return Ok(None);
    };
    let backend = encoder::backend(backend, environment)?;
    let pair = Pair::open(&folders, backend).map_err(Failure::failed)?;
    if folders.stand_in {
        note(&format!(
            "{} stands in for MedCPT, whose weights are not here",
            folders.name
        ));
    }
    for text in &pair.article.info().notes {
        note(text);
    }
    Ok(Some(Box::new(BuildEncoder::new(pair, &folders))))
}
