//! `medrgb index info`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::cli::Failure;
use crate::cli::common::{say_json, write_out};
use crate::cli::index::parts::{bytes_of, summary};
use crate::domain::text::{clean, collapse};
use crate::retrieval::index::{IndexFolder, Manifest};
use crate::retrieval::vector::GraphPrecision;

/// Arguments of `medrgb index info`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Index folder, or a collection on a Milvus server: milvus://HOST:PORT/[DATABASE/]COLLECTION.
    #[arg(value_name = "DIR|URL")]
    pub index: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: &Args) -> Result<(), Failure> {
    let manifest = IndexFolder::manifest_of(&args.index).map_err(Failure::failed)?;
    match args.json {
        true => say_json(&summary(&args.index, &manifest)),
        false => write_out(&clean(&told(&args.index, &manifest))),
    }
}

fn told(folder: &Path, manifest: &Manifest) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<12} {}", collapse(value));
    };
    line("index", &folder.display().to_string());
    line("documents", &manifest.documents.to_string());
    line("left out", &manifest.bad_records.to_string());
    match &manifest.encoder {
        Some(encoder) => line(
            "encoder",
            &format!(
                "{}, {} dimensions, {} pooling, weights {:.12}",
                encoder.name, encoder.dim, encoder.pooling, encoder.weights_sha256
            ),
        ),
        None => line("encoder", "none: only BM25 searches"),
    }
    if let Some(recall) = manifest.recall_at_10 {
        line(
            "recall@10",
            &format!(
                "{recall:.4} of the graph ({}{}) against the exact scan",
                match manifest.request.graph {
                    GraphPrecision::Stored => "vectors as stored",
                    GraphPrecision::Half => "half precision",
                    GraphPrecision::Int8 => "eight bits",
                },
                manifest
                    .candidates
                    .map_or_else(String::new, |most| format!(", {most} candidates"))
            ),
        );
    }
    if let Some(shard) = manifest.shard {
        line("shard", &format!("{} of {}", shard.part, shard.of));
    }
    line("bytes", &bytes_of(folder).to_string());
    line("built by", &manifest.tool);
    for file in &manifest.corpus {
        line(
            "corpus",
            &format!(
                "{}, {}: {} documents, {} left out, sha256 {:.12}",
                file.name, file.format, file.documents, file.bad, file.sha256
            ),
        );
    }
    text
}
