//! `medrgb export`.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;

use crate::cli::Failure;
use crate::cli::common::{Environment, note, say, say_json};
use crate::cli::condition::open_dataset;
use crate::cli::progress::Line;
use crate::data::export::{self, Format, Records, StoredRun};
use crate::data::output;
use crate::data::store::Store;
use crate::domain::text::{count, short};
use crate::engine::models::store_file;

/// Arguments of `medrgb export`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What is exported.
    #[command(subcommand)]
    pub what: What,
}

/// What is exported.
#[derive(Debug, Subcommand)]
pub enum What {
    /// A dataset as one file: a row per question with its documents.
    ///
    /// `import` reads the file back. In CSV and Parquet lists are JSON texts; in CSV a cell that a spreadsheet
    /// would take for a formula begins with an apostrophe.
    Dataset {
        /// Dataset folder, or its qa.jsonl
        #[arg(value_name = "FOLDER")]
        path: PathBuf,
        /// Where and how it is written.
        #[command(flatten)]
        to: To,
    },
    /// A run as one file: a row per record, or one of Inspect's JSON logs.
    ///
    /// `import run` reads JSON lines back whole, `import inspect` the log with contexts and conditions. CSV and
    /// Parquet are for tables: their columns say scenario, n, p, seed, documents and metrics, but imported again their
    /// replies count as standard without documents. Every text of the run is in the file; keys are not, since a run
    /// never holds them.
    Run {
        /// Name of the run
        #[arg(value_name = "RUN")]
        run: String,
        /// Where and how it is written.
        #[command(flatten)]
        to: To,
    },
}

/// Where and how a file is written.
#[derive(Debug, Clone, clap::Args)]
pub struct To {
    /// jsonl, csv or parquet; for runs also inspect; without it as the ending of --out says, else jsonl
    #[arg(long, short = 'f', value_name = "FORMAT")]
    pub format: Option<Format>,
    /// The file
    #[arg(long, short = 'o', value_name = "FILE")]
    pub out: PathBuf,
    /// Replace a file that is there already
    #[arg(long)]
    pub force: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let (to, rows, what) = match args.what {
        What::Dataset { path, to } => {
            check(&to)?;
            let format = to.format();
            if format == Format::Inspect {
                return Err(Failure::Usage(
                    "Inspect's logs are for runs; a dataset goes into jsonl, csv or parquet"
                        .to_owned(),
                ));
            }
            let dataset = open_dataset(Some(&path))?;
            export::dataset(&dataset, format, &to.out).map_err(Failure::failed)?;
            (to, dataset.questions.len(), "question")
        }
        What::Run { run, to } => {
            check(&to)?;
            let rows = write_run(&run, &to, environment)?;
            (to, rows, "record")
        }
    };
    if to.format.is_none() && !to.ending_tells() {
        note(&format!(
            "note: the ending of {} names no format, so it holds JSON lines; --format or an ending .jsonl, .csv or .parquet says another",
            to.out.display()
        ));
    }
    match to.json {
        true => say_json(
            &json!({"file": to.out, "format": to.format().name(), format!("{what}s"): rows}),
        ),
        // What was exported may be on standard output itself.
        false if output::is_stream(&to.out) => {
            note(&format!("{}: {}", to.out.display(), count(rows, what)));
            Ok(())
        }
        false => say(&format!("{}: {}", to.out.display(), count(rows, what))),
    }
}

/// Writes a run, page by page; gives the number of records.
fn write_run(run: &str, to: &To, environment: &Environment) -> Result<usize, Failure> {
    let store = store_of(run, environment)?;
    let stored = StoredRun::new(&store, run);
    let line = Line::new();
    let records = || -> Records<'_> {
        Box::new(
            stored
                .records()
                .inspect(|_| line.count("exporting records", stored.read())),
        )
    };
    export::run(&records, to.format(), &to.out).map_err(Failure::failed)?;
    drop(line);
    if stored.broken() > 0 {
        note(&format!(
            "note: left out, since it can't be read: {}",
            count(stored.broken(), "record")
        ));
    }
    Ok(stored.read())
}

impl To {
    /// Whether the file's ending names a format. A device or a file without an ending promises nothing.
    fn ending_tells(&self) -> bool {
        let Some(ending) = self.out.extension() else {
            return true;
        };
        let known = ["csv", "parquet", "jsonl", "ndjson"];
        let ending = ending.to_string_lossy().to_lowercase();
        known.contains(&ending.as_str()) || output::is_stream(&self.out)
    }

    /// The format of the flag, else that of the file's ending; a name that says nothing is JSON lines.
    fn format(&self) -> Format {
        let ending = self.out.extension().and_then(|ending| ending.to_str());
        self.format
            .unwrap_or(match ending.map(str::to_ascii_lowercase).as_deref() {
                Some("csv") => Format::Csv,
                Some("parquet") => Format::Parquet,
                _ => Format::Jsonl,
            })
    }
}

fn check(to: &To) -> Result<(), Failure> {
    output::check(&to.out).map_err(Failure::failed)?;
    match output::replaces(&to.out) && !to.force {
        true => Err(Failure::Failed(format!(
            "{} exists already; name another file with --out, or replace it with --force",
            to.out.display()
        ))),
        false => Ok(()),
    }
}

/// The store that holds a run.
fn store_of(run: &str, environment: &Environment) -> Result<Store, Failure> {
    let file = store_file(&environment.paths);
    if !file.exists() {
        return Err(Failure::Failed(format!(
            "there is no run \"{run}\": nothing has been stored in {} yet",
            file.display(),
            run = short(run)
        )));
    }
    let store = Store::open_for_reading(&file).map_err(Failure::failed)?;
    let first = store.page_of_run(run, 0).map_err(Failure::failed)?;
    if first.last.is_none() {
        let names: Vec<String> = store
            .runs()
            .map_err(Failure::failed)?
            .into_iter()
            .take(5)
            .map(|run| format!("\"{}\"", short(&run.name)))
            .collect();
        return Err(Failure::Failed(format!(
            "there is no run \"{run}\"; the store has {}",
            names.join(", "),
            run = short(run)
        )));
    }
    Ok(store)
}
