//! What the subcommands of `index` share.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli::Failure;
use crate::cli::common::{note, say_json};
use crate::data::dataset::Dataset;
use crate::domain::text::{clean, count, short};
use crate::engine::search::SearchCorpus;
use crate::retrieval::corpus::{self, BadRecord, Format};
use crate::retrieval::index::{Built, CorpusFacts, EncoderId, Input, Manifest, PROBLEMS, Shard};
use crate::retrieval::vector::GraphPrecision;

/// A recall@10 below this is said when an index is built: graphs of ordinary vectors have 0.95 and more.
const POOR_RECALL: f64 = 0.8;

/// Bad records that are shown; all of them are in a file.
const SHOWN: usize = 5;

/// The files and datasets under the named paths, and files of folders that are none, by name. PubMed's files come
/// newest first, unless rows that are brought along follow the order given (`ordered`).
///
/// # Errors
/// [`Failure`] where nothing can be read there.
pub(super) fn inputs(
    paths: &[PathBuf],
    format: Option<Format>,
    ordered: bool,
) -> Result<(Vec<Input>, Vec<String>), Failure> {
    let mut found = corpus::find(paths, format).map_err(Failure::failed)?;
    if !ordered && corpus::newest_first(&mut found.files) {
        note("PubMed's files are read newest first, so that the last version of a citation counts");
    }
    if let Some(first) = found.empty.first() {
        note(&format!(
            "{} of the corpus left out, since nothing is in {}: {}",
            count(found.empty.len(), "file"),
            if found.empty.len() == 1 { "it" } else { "them" },
            short(first)
        ));
    }
    let skipped = found.skipped;
    let mut inputs: Vec<Input> = found.files.into_iter().map(Input::File).collect();
    for folder in found.datasets {
        let dataset = Dataset::open(&folder).map_err(Failure::failed)?;
        for problem in dataset.problems.iter().take(SHOWN) {
            note(problem);
        }
        inputs.push(Input::Documents {
            name: dataset.name.clone(),
            version: dataset.fingerprint.clone(),
            documents: SearchCorpus::of(&dataset).documents,
        });
    }
    Ok((inputs, skipped))
}

/// Says which files of the folders are no part of the corpus; those that vectors are imported from are used after all.
pub(super) fn tell_skipped(skipped: &[String], used: &[String]) {
    let base = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
    let mut left = skipped.iter().filter(|name| !used.contains(&base(name)));
    if let Some(first) = left.next() {
        note(&format!(
            "{} of the folders left out, such as {}",
            count(1 + left.count(), "file"),
            short(first)
        ));
    }
}

/// Says what was built.
///
/// # Errors
/// [`Failure`] when standard output can't be written.
pub(super) fn tell(folder: &Path, built: &Built, json: bool) -> Result<(), Failure> {
    let manifest = &built.manifest;
    if built.already {
        note(&format!(
            "{} is finished already, made from the same; nothing was done",
            folder.display()
        ));
    }
    if manifest.bad_records > 0 {
        let bad = usize::try_from(manifest.bad_records).unwrap_or(usize::MAX);
        note(&format!(
            "{} left out; all are listed in {}, the first ones:",
            count(bad, "record"),
            folder.join(PROBLEMS).display()
        ));
        first_problems(folder).iter().for_each(|line| note(line));
    }
    if let Some(recall) = manifest.recall_at_10.filter(|recall| *recall < POOR_RECALL) {
        note(&format!(
            "the graph finds only {:.0} % of the nearest ten documents (recall@10 {recall:.4}); search with --retriever exact, and check the vectors: numbers of very different sizes can do that",
            recall * 100.0
        ));
    }
    if json {
        return say_json(&summary(folder, manifest));
    }
    let recall = manifest.recall_at_10.map_or_else(String::new, |recall| {
        format!("; recall@10 of the vector graph against the exact scan {recall:.4}")
    });
    note(&format!(
        "{}: {}{recall}",
        folder.display(),
        count(manifest.documents, "document")
    ));
    Ok(())
}

/// The first bad records of an index, one sentence each.
fn first_problems(folder: &Path) -> Vec<String> {
    let Ok(file) = std::fs::File::open(folder.join(PROBLEMS)) else {
        return Vec::new();
    };
    BufReader::new(file)
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| serde_json::from_str::<BadRecord>(&line).ok())
        .take(SHOWN)
        .map(|bad| clean(&bad.to_string()).replace('\n', " "))
        .collect()
}

/// The object of `index build --json` and `index info --json`.
#[derive(Debug, Serialize)]
pub(super) struct Summary<'a> {
    index: String,
    complete: bool,
    documents: usize,
    corpus_documents: u64,
    bad_records: u64,
    encoder: Option<&'a EncoderId>,
    dtype: Option<&'a str>,
    metric: Option<&'a str>,
    /// What the graph compares; null without vectors.
    graph: Option<GraphPrecision>,
    recall_at_10: Option<f64>,
    shard: Option<Shard>,
    corpus: &'a [CorpusFacts],
    /// Bytes of the folder on disk.
    bytes: u64,
    schema: u32,
    tool: &'a str,
}

/// What a finished index is.
pub(super) fn summary<'a>(folder: &Path, manifest: &'a Manifest) -> Summary<'a> {
    Summary {
        index: folder.display().to_string(),
        complete: true,
        documents: manifest.documents,
        corpus_documents: manifest.corpus_documents,
        bad_records: manifest.bad_records,
        encoder: manifest.encoder.as_ref(),
        dtype: manifest.dtype.as_deref(),
        metric: manifest.metric.as_deref(),
        graph: manifest.encoder.is_some().then_some(manifest.request.graph),
        recall_at_10: manifest.recall_at_10,
        shard: manifest.shard,
        corpus: &manifest.corpus,
        bytes: bytes_of(folder),
        schema: manifest.schema,
        tool: &manifest.tool,
    }
}

/// Bytes of all files of a folder and its folders.
pub(super) fn bytes_of(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => bytes_of(&entry.path()),
            Ok(meta) => meta.len(),
            Err(_) => 0,
        })
        .sum()
}
