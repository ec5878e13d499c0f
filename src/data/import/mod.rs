//! Other people's files: questions and documents become a dataset folder, replies a run of the store.
//!
//! A reader per kind hands questions and replies one by one to a `Sink`; a bad record is counted, listed and
//! left out. Nothing is kept in memory but what a record needs, the ids' hashes, and the questions that saved
//! replies have to be matched with.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Serialize;

use crate::data::dataset::Dataset;
use crate::data::store::StoreError;
use crate::domain::text::short;

mod detect;
mod entry;
mod folder;
mod guess;
mod inspect;
mod lm_eval;
mod mapping;
mod mirage;
mod nan;
mod promptfoo;
mod pubmedqa;
mod put;
mod reference;
mod reference_context;
mod reference_told;
mod replies;
mod rgb;
mod rows;
mod runs;
mod sink;
mod table;
mod walk;
mod workshop;

pub(in crate::data) use folder::line_of;
pub use folder::{Counts, MANIFEST};
pub use mapping::Mapping;
pub use put::{Whole, write_folder};
use sink::Sink;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// MedRGB's Parquet files as published on Hugging Face.
    Medrgb,
    /// Folder and predictions of MedRGB's reference code.
    Reference,
    /// MIRAGE's `benchmark.json`, and prediction files.
    Mirage,
    /// Files of the RGB benchmark with counterfactuals (`en_fact.json`).
    Rgb,
    /// PubMedQA's `ori_pqal.json`.
    Pubmedqa,
    /// Sample logs of lm-evaluation-harness (`samples_*.jsonl`).
    LmEval,
    /// Inspect's JSON logs.
    Inspect,
    /// promptfoo's JSON results.
    Promptfoo,
    /// JSON lines, with a mapping where names do not tell.
    Jsonl,
    /// CSV with a header line, with a mapping where names do not tell.
    Csv,
    /// Any other Parquet file, with a mapping where names do not tell.
    Parquet,
    /// A run that this program exported as JSON lines.
    Run,
}

impl Kind {
    /// Every kind, in the order in which they are listed.
    pub const ALL: [Kind; 12] = [
        Kind::Medrgb,
        Kind::Reference,
        Kind::Mirage,
        Kind::Rgb,
        Kind::Pubmedqa,
        Kind::LmEval,
        Kind::Inspect,
        Kind::Promptfoo,
        Kind::Jsonl,
        Kind::Csv,
        Kind::Parquet,
        Kind::Run,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Medrgb => "medrgb",
            Kind::Reference => "reference",
            Kind::Mirage => "mirage",
            Kind::Rgb => "rgb",
            Kind::Pubmedqa => "pubmedqa",
            Kind::LmEval => "lm-eval",
            Kind::Inspect => "inspect",
            Kind::Promptfoo => "promptfoo",
            Kind::Jsonl => "jsonl",
            Kind::Csv => "csv",
            Kind::Parquet => "parquet",
            Kind::Run => "run",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Kind, String> {
        Kind::ALL
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| format!("\"{}\" is no kind; {}", short(text), kinds()))
    }
}

/// The names of all kinds, for messages.
fn kinds() -> String {
    let names: Vec<&str> = Kind::ALL.into_iter().map(Kind::name).collect();
    format!("the kinds are {}", names.join(", "))
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The request does not fit the files: another command line mends it.
    #[error("{0}")]
    Usage(String),
    /// A file is missing, can't be read, recognised or written, or nothing in it could be read.
    #[error("{0}")]
    Failed(String),
    /// A document breaks off or is no JSON from some place on.
    #[error("{0}")]
    Broken(String),
    /// The user stopped it; nothing was written.
    #[error("stopped; nothing was imported")]
    Stopped,
}

impl From<StoreError> for ImportError {
    fn from(error: StoreError) -> Self {
        ImportError::Failed(error.to_string())
    }
}

/// What is to be imported, and where to.
#[derive(Debug)]
pub struct Request<'a> {
    /// What the files are; `None` lets the content decide.
    pub kind: Option<Kind>,
    /// Files and folders.
    pub paths: Vec<PathBuf>,
    /// The dataset folder to write; `None` takes the set's name in the working folder, where one is written.
    pub out: Option<PathBuf>,
    /// Whether a dataset folder that is there already is replaced.
    pub force: bool,
    /// Which field is what.
    pub mapping: Option<Mapping>,
    /// The one set of several.
    pub set: Option<String>,
    /// Name of the run.
    pub run: Option<String>,
    /// The model where the files don't name it.
    pub model: Option<String>,
    /// The dataset whose questions were answered.
    pub dataset: Option<&'a Dataset>,
    /// The run store's file.
    pub store: PathBuf,
}

/// How far an import is, in bytes of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read.
    pub done: u64,
    /// Bytes to read.
    pub total: u64,
}

/// A dataset folder that was written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetReport {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub folder: PathBuf,
    /// What it holds.
    #[serde(flatten)]
    pub counts: Counts,
}

/// A run that was stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunReport {
    /// Its name.
    pub name: String,
    /// The dataset its records name.
    pub dataset: String,
    /// Records with a reply.
    pub replies: usize,
    /// Records of calls that gave no reply.
    pub failures: usize,
    /// Replies whose context could be told from the file; the others count as standard without documents.
    pub contexts_known: usize,
    /// The models, sorted.
    pub models: Vec<String>,
}

/// How many problems are listed.
pub const PROBLEMS_LISTED: usize = 20;

/// What became of an import.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// What the files were taken for.
    pub kind: Kind,
    /// Whether that was guessed.
    pub guessed: bool,
    /// Folders written.
    pub sets: Vec<SetReport>,
    /// Runs stored.
    pub runs: Vec<RunReport>,
    /// Which field was taken for what: `what → field`; empty where the kind itself says it.
    pub mapped: BTreeMap<String, String>,
    /// Fields that were not mapped but kept with their question.
    pub kept: Vec<String>,
    /// Fields that were left out.
    pub not_mapped: Vec<String>,
    /// Records that were left out, whole or in part.
    pub bad: usize,
    /// The first of them, one sentence each.
    pub problems: Vec<String>,
    /// What else there is to say.
    pub notes: Vec<String>,
}

/// Imports files. `watch` is told how far it is and can stop it.
///
/// # Errors
/// [`ImportError`]: in every case nothing has been written.
pub fn import(
    request: &Request<'_>,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Report, ImportError> {
    for path in &request.paths {
        if !path.exists() {
            return Err(ImportError::Failed(format!(
                "{} does not exist; check the path",
                path.display()
            )));
        }
    }
    let kind = match request.kind {
        Some(kind) => kind,
        None => guess::kind_of(&request.paths)?,
    };
    let mut sink = Sink::new(request, kind, watch);
    match kind {
        Kind::Medrgb | Kind::Parquet | Kind::Jsonl | Kind::Csv => table::read(&mut sink)?,
        Kind::Reference => reference::read(&mut sink)?,
        Kind::Mirage => mirage::read(&mut sink)?,
        Kind::Rgb => rgb::read(&mut sink)?,
        Kind::Pubmedqa => pubmedqa::read(&mut sink)?,
        Kind::LmEval => lm_eval::read(&mut sink)?,
        Kind::Inspect => inspect::read(&mut sink)?,
        Kind::Promptfoo => promptfoo::read(&mut sink)?,
        Kind::Run => runs::read(&mut sink)?,
    }
    sink.finish()
}

/// The name of a file or folder without its endings and without the part numbers of Hugging Face's files.
fn stem(path: &Path) -> String {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut stem = name.as_str();
    for ending in [".gz", ".jsonl", ".json", ".parquet", ".csv", ".tsv"] {
        stem = stem.strip_suffix(ending).unwrap_or(stem);
    }
    let part = stem.find("-00").filter(|at| stem[*at..].contains("-of-"));
    let stem = part.map_or(stem, |at| &stem[..at]);
    match stem.is_empty() {
        true => "import".to_owned(),
        false => stem.to_owned(),
    }
}

/// The files of this ending in the given paths: files as they are, folders searched, each in order of names.
fn files(paths: &[PathBuf], fits: &dyn Fn(&str) -> bool) -> Result<Vec<PathBuf>, ImportError> {
    let mut found = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => in_folder(path, fits, &mut found, 0)?,
            false => found.push(path.clone()),
        }
    }
    Ok(found)
}

/// How deep folders are searched.
const DEEPEST: usize = 12;

fn in_folder(
    folder: &Path,
    fits: &dyn Fn(&str) -> bool,
    found: &mut Vec<PathBuf>,
    depth: usize,
) -> Result<(), ImportError> {
    let failed =
        |error| ImportError::Failed(format!("{} can't be read ({error})", folder.display()));
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(failed)?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    for entry in entries {
        let name = entry
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let is_link = entry.is_symlink();
        if entry.is_dir() && !is_link && depth < DEEPEST && !name.starts_with('.') {
            in_folder(&entry, fits, found, depth + 1)?;
        } else if entry.is_file() && fits(&name) {
            found.push(entry);
        }
    }
    Ok(())
}
