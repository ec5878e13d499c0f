//! `medrgb runs`.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::Failure;
use crate::cli::common::{Environment, note, say, say_json};
use crate::data::store::{RunLock, RunSummary, Store};
use crate::domain::text::{clean, one_line, short};
use crate::engine::models::store_file;

mod export;
mod import;
mod show;

/// Arguments of `medrgb runs`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

/// What can be done with stored runs.
#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// List all runs, the newest first.
    List {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Show what a run holds and how it was made.
    Show {
        /// Name of the run.
        run: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Remove a run with all its replies.
    Rm {
        /// Name of the run.
        run: String,
        /// Do not ask.
        #[arg(long, short = 'y')]
        yes: bool,
    },
    /// Write a run's records into a file, one JSON object per line, with judgements and how the run was made.
    Export {
        /// Name of the run.
        run: String,
        /// The file; it is replaced if it is there.
        #[arg(long, short = 'o', value_name = "FILE")]
        out: PathBuf,
    },
    /// Read records that `export` has written, or replies that could not be stored (`unsaved-….jsonl`).
    Import {
        /// The file.
        file: PathBuf,
        /// Put all records into this run instead of their own.
        #[arg(long, value_name = "NAME", value_parser = super::ask::run_name)]
        run: Option<String>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let path = store_file(&environment.paths);
    match args.action {
        Action::List { json } => list(&path, json),
        Action::Show { run, json } => show::show(&path, &run, json),
        Action::Rm { run, yes } => remove(&path, &run, yes),
        Action::Export { run, out } => export::export(&path, &run, &out),
        Action::Import { file, run, json } => import::import(&path, &file, run.as_deref(), json),
    }
}

/// The store, to read it, without making one where none is.
fn open(path: &Path) -> Result<Option<Store>, Failure> {
    match path.exists() {
        true => Store::open_for_reading(path)
            .map(Some)
            .map_err(Failure::failed),
        false => Ok(None),
    }
}

/// The store, to read it, and a run that it holds.
fn open_run(path: &Path, run: &str) -> Result<(Store, RunSummary), Failure> {
    let store = open(path)?.ok_or_else(|| unknown(path, run, &[]))?;
    let runs = store.runs().map_err(Failure::failed)?;
    match runs.iter().find(|summary| summary.name == run) {
        Some(summary) => Ok((store, summary.clone())),
        None => Err(unknown(path, run, &runs)),
    }
}

pub(super) fn unknown(path: &Path, run: &str, runs: &[RunSummary]) -> Failure {
    let mut names: Vec<&str> = runs.iter().map(|summary| summary.name.as_str()).collect();
    names.sort_by(|a, b| strsim::jaro_winkler(b, run).total_cmp(&strsim::jaro_winkler(a, run)));
    let known = match names.is_empty() {
        true => "it holds no run yet".to_owned(),
        false => format!(
            "it holds \"{}\"",
            names
                .into_iter()
                .take(5)
                .map(short)
                .collect::<Vec<_>>()
                .join("\", \"")
        ),
    };
    Failure::Failed(format!(
        "the store {} has no run \"{run}\"; {known}",
        path.display(),
        run = short(run)
    ))
}

fn list(path: &Path, json: bool) -> Result<(), Failure> {
    let runs = match open(path)? {
        Some(store) => store.runs().map_err(Failure::failed)?,
        None => Vec::new(),
    };
    if json {
        return say_json(&json!({ "store": path, "runs": runs }));
    }
    if runs.is_empty() {
        return say(&format!("no run is stored in {}", path.display()));
    }
    for run in &runs {
        let failures = match run.failures {
            0 => String::new(),
            count => format!(", {count} failed calls"),
        };
        say(&one_line(&format!(
            "{}: {} replies{failures}, {} questions of {}, {}, {}, last {}",
            run.name,
            run.replies,
            run.questions,
            run.datasets.join(", "),
            run.models.join(", "),
            run.scenarios.join(", "),
            run.updated_at.as_deref().unwrap_or(&run.created_at),
        )))?;
    }
    Ok(())
}

fn remove(path: &Path, run: &str, yes: bool) -> Result<(), Failure> {
    let (_, summary) = open_run(path, run)?;
    let mut lock = RunLock::take(path, run).map_err(Failure::failed)?;
    let records = summary.replies + summary.failures;
    if !yes && !confirmed(run, records)? {
        return Err(Failure::Failed("nothing was removed".to_owned()));
    }
    let store = Store::open(path).map_err(Failure::failed)?;
    let removed = store.remove_run(run).map_err(Failure::failed)?;
    lock.forget().map_err(Failure::failed)?;
    note(&format!(
        "removed the run \"{}\" with {} records",
        clean(run),
        removed.unwrap_or(0)
    ));
    Ok(())
}

/// Asks on a terminal.
fn confirmed(run: &str, records: u64) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::Usage(format!(
            "removing the run \"{run}\" with {records} records can't be undone; say --yes",
            run = short(run)
        )));
    }
    note(&format!(
        "Remove the run \"{}\" with {records} records for good? Type yes:",
        clean(run)
    ));
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .map_err(Failure::failed)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
