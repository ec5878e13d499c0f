//! The commands: a clap tree and one file per subcommand.

pub mod annotate;
pub mod ask;
pub mod audit;
pub mod build;
pub mod chat;
pub mod common;
pub mod compare;
pub mod completions;
pub mod compose;
pub mod condition;
pub mod config;
pub mod doctor;
pub mod encode;
pub mod encoder;
pub mod eval_retrieval;
pub mod export;
pub mod grid;
pub mod import;
pub mod index;
pub mod models;
pub mod probe;
pub mod progress;
pub mod remote;
pub mod replay;
pub mod report;
pub mod rescore;
pub mod rows;
pub mod runs;
pub mod score;
pub mod search;
pub mod settings;
mod signals;
mod stopping;
pub mod sweep;
pub mod taking;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand};

use crate::domain::plain::plain;
use crate::domain::text;
use crate::model::open::is_computing;

/// Most characters of an argument that a message quotes whole.
const LONGEST_QUOTED: usize = 200;

/// What commands need of the explorer; given by the program's start, since the two do not know each other.
#[derive(Debug, Clone, Copy)]
pub struct Explorer {
    /// Opens it.
    pub open: fn(ExplorerArgs, &common::Environment) -> Result<(), Failure>,
    /// What is wrong with the settings that only it uses, one sentence each; it would start with its own instead.
    pub faults: fn(&common::Environment) -> Vec<String>,
    /// Its commands and their keys.
    pub keys: fn() -> Vec<KeyRow>,
}

/// A command of the explorer.
#[derive(Debug, Clone, Copy)]
pub struct KeyRow {
    /// Its name in the configuration.
    pub name: &'static str,
    /// Its keys unless the configuration says otherwise.
    pub keys: &'static [&'static str],
    /// What it does.
    pub help: &'static str,
}

/// Why a command did not do what was asked. The texts are one clear sentence each.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Wrong use: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// Could not be done: exit code 1.
    #[error("{0}")]
    Failed(String),
    /// Standard output was closed by the reader: exit code 0.
    #[error("output closed")]
    Closed,
}

impl Failure {
    /// A failure from any error.
    pub fn failed(error: impl std::fmt::Display) -> Failure {
        Failure::Failed(error.to_string())
    }

    /// A usage error from any error.
    pub fn usage(error: impl std::fmt::Display) -> Failure {
        Failure::Usage(error.to_string())
    }
}

/// Does a language model answer medical questions reliably when the retrieved documents are noisy or wrong?
///
/// Without a command this opens the explorer on a dataset folder (or on the built-in sample benchmark).
#[derive(Debug, Parser)]
#[command(
    name = "medrgb",
    version,
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  medrgb                      open the explorer on the sample benchmark\n  medrgb my-set/              open it on a dataset folder\n  medrgb compose --question sample-bioasq-1 --scenario robustness --docs 5 --p 60\n  medrgb doctor               what works on this machine\n\nExit codes: 0 done, 1 failed, 2 wrong use."
)]
pub struct Cli {
    /// What the explorer opens with.
    #[command(flatten)]
    pub explorer: ExplorerArgs,
    /// What to do instead of opening the explorer.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Arguments of the explorer.
#[derive(Debug, clap::Args)]
pub struct ExplorerArgs {
    /// Dataset folder to open; without it the sample benchmark.
    pub path: Option<PathBuf>,
    /// A name of the config, openai:MODEL, embedded[:NAME|:FILE.gguf] or replay:RUN.
    #[arg(long, short = 'm', value_name = "MODEL")]
    pub model: Option<String>,
    /// Address of an OpenAI-compatible server, such as http://localhost:8000/v1.
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// Search this index instead of the dataset's own documents: a folder (several are searched together) or
    /// milvus://HOST:PORT/COLLECTION.
    #[arg(long, value_name = "DIR|URL")]
    pub index: Vec<String>,
    /// Play the recorded demo on the sample benchmark: no network, no model, nothing is stored.
    #[arg(long, conflicts_with_all = ["path", "model", "base_url", "index", "talk"])]
    pub demo: bool,
    /// Give a talk: go through the steps of this script (TOML) with the recorded replies of its run.
    #[arg(long, value_name = "SCRIPT")]
    pub talk: Option<PathBuf>,
    /// Theme: auto (as the terminal is), dark, light, okabe-ito, high-contrast, mono, or one of your own.
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,
    /// Start at the list of questions, not where you were the last time.
    #[arg(long)]
    pub fresh: bool,
    /// Under which name replies are labelled; without it that of the config, else the login name.
    #[arg(long, value_name = "NAME")]
    pub annotator: Option<String>,
    /// Failures of your own to label replies with (TOML).
    #[arg(long, value_name = "FILE")]
    pub taxonomy: Option<PathBuf>,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show one context and its prompt.
    Compose(compose::Args),
    /// Ask a model one instance and score its reply.
    Ask(ask::Args),
    /// Check all contexts of a grid before any model is called.
    Audit(audit::Args),
    /// Make a benchmark: topics, documents, sub-questions, adversarial versions; check one.
    Build(build::Args),
    /// Ask a model a grid of instances into a run; the same command goes on where it stopped.
    Sweep(Box<sweep::Args>),
    /// List, show, remove, export and import stored runs.
    Runs(runs::Args),
    /// Score saved replies of standard questions.
    Score(score::Args),
    /// Tables and charts of stored runs, as in the paper.
    Report(report::Args),
    /// Score a stored run again, perhaps with a judge model.
    Rescore(rescore::Args),
    /// Compare two stored runs on the same questions.
    Compare(compare::Args),
    /// Play a recorded run.
    Replay(replay::Args),
    /// Change the context of one question and see whether the answer flips; trace planted text.
    Probe(probe::Args),
    /// Search the documents of a dataset or of an index.
    Search(search::Args),
    /// Make indexes, look at them, put them on a server.
    Index(index::Args),
    /// Measure a retriever on a test set.
    EvalRetrieval(eval_retrieval::Args),
    /// Encode texts into a NumPy file.
    Encode(encode::Args),
    /// Bring in other people's datasets and replies.
    Import(import::Args),
    /// Write a dataset or a run for other programs.
    Export(export::Args),
    /// Labels that people gave to replies: list, export, import, agreement. (The explorer gives them: `l`.)
    Annotate(annotate::Args),
    /// List, fetch and check local models.
    Models(models::Args),
    /// Say what works on this machine.
    Doctor(doctor::Args),
    /// Show or write the configuration.
    Config(config::Args),
    /// Print shell completions.
    Completions(completions::Args),
}

/// Runs the program with the process's arguments and gives its exit code: 0 done (also when the reader
/// of the output went away), 1 failed, 2 wrong use.
pub fn main(explorer: Explorer) -> ExitCode {
    outlive_file_limits();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(mut error) => {
            shorten(&mut error);
            // Help and version go to standard output with code 0; a closed pipe is no failure.
            let code = if error.use_stderr() { 2 } else { 0 };
            print(&error);
            return ExitCode::from(code);
        }
    };
    let code = match start(cli, explorer) {
        Ok(()) | Err(Failure::Closed) => 0,
        Err(failure) => {
            let sentence = text::clean(&failure.to_string()).replace('\n', " ");
            common::note(&format!("medrgb: {sentence}"));
            if matches!(failure, Failure::Usage(_)) {
                2
            } else {
                1
            }
        }
    };
    if is_computing() {
        end_at_once(code);
    }
    ExitCode::from(code)
}

/// A file that grows beyond the shell's limit (`ulimit -f`) is an error of writing, which is said, instead of a signal
/// that ends the program in the middle of its work.
#[cfg(unix)]
fn outlive_file_limits() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
    else {
        return;
    };
    let _inside = runtime.enter();
    // The handler stays for the life of the process, whoever listens.
    let _ = signal(SignalKind::from_raw(libc::SIGXFSZ));
}

/// Elsewhere there is no such signal.
#[cfg(not(unix))]
fn outlive_file_limits() {}

/// Ends the process while a model's thread computes: the usual end destroys what the thread works with.
#[cfg(unix)]
#[allow(unsafe_code)]
fn end_at_once(code: u8) {
    let _ = std::io::stdout().flush();
    // SAFETY: ends the process without handlers; everything that must be kept is on disk.
    unsafe { libc::_exit(code.into()) }
}

/// Elsewhere the system ends the threads first.
#[cfg(not(unix))]
fn end_at_once(_: u8) {}

/// Quotes what was given only as far as a message needs it: an argument may be a whole file by mistake.
fn shorten(error: &mut clap::Error) {
    let quoted = [
        ContextKind::InvalidValue,
        ContextKind::InvalidArg,
        ContextKind::InvalidSubcommand,
    ];
    for kind in quoted {
        if let Some(ContextValue::String(given)) = error.get(kind)
            && given.chars().count() > LONGEST_QUOTED
        {
            let shown = text::short(given);
            error.insert(kind, ContextValue::String(shown));
        }
    }
}

/// Prints help, the version or what is wrong with the arguments, the latter in plain words. The parser quotes arguments
/// as they are, and a file's name (`medrgb import *`) may hold what drives a terminal: then the text is cleaned.
fn print(error: &clap::Error) {
    let said = error.render().to_string();
    let words = plain(&said);
    let hostile = |argument: std::ffi::OsString| {
        let argument = argument.to_string_lossy();
        text::clean(&argument) != argument
    };
    if error.use_stderr() && (words != said || std::env::args_os().any(hostile)) {
        common::note(text::clean(&words).trim_end());
    } else {
        drop(error.print());
    }
}

fn start(cli: Cli, explorer: Explorer) -> Result<(), Failure> {
    if let Some(Command::Completions(args)) = cli.command {
        return completions::run(args);
    }
    let environment = common::Environment::of_process()?;
    common::start_log(&environment.paths);
    match cli.command {
        None => (explorer.open)(cli.explorer, &environment),
        Some(Command::Compose(args)) => compose::run(args, &environment),
        Some(Command::Ask(args)) => ask::run(args, &environment),
        Some(Command::Audit(args)) => audit::run(args, &environment),
        Some(Command::Build(args)) => build::run(args, &environment),
        Some(Command::Sweep(args)) => sweep::run(*args, &environment),
        Some(Command::Runs(args)) => runs::run(args, &environment),
        Some(Command::Score(args)) => score::run(args, &environment),
        Some(Command::Report(args)) => report::run(args, &environment),
        Some(Command::Rescore(args)) => rescore::run(args, &environment),
        Some(Command::Compare(args)) => compare::run(args, &environment),
        Some(Command::Replay(args)) => replay::run(args, &environment),
        Some(Command::Probe(args)) => probe::run(args, &environment),
        Some(Command::Search(args)) => search::run(args, &environment),
        Some(Command::Index(args)) => index::run(args, &environment),
        Some(Command::EvalRetrieval(args)) => eval_retrieval::run(args, &environment),
        Some(Command::Encode(args)) => encode::run(args, &environment),
        Some(Command::Import(args)) => import::run(args, &environment),
        Some(Command::Export(args)) => export::run(args, &environment),
        Some(Command::Annotate(args)) => annotate::run(args, &environment),
        Some(Command::Models(args)) => models::run(args, &environment),
        Some(Command::Doctor(args)) => doctor::run(args, &environment),
        Some(Command::Config(args)) => config::run(args, &environment, explorer),
        Some(Command::Completions(args)) => completions::run(args),
    }
}
