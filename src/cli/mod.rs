//! The commands: a clap tree and one file per subcommand.

pub mod ask;
pub mod common;
pub mod completions;
pub mod compose;
pub mod config;
pub mod doctor;
pub mod encode;
pub mod models;
pub mod score;
pub mod search;
pub mod settings;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
/// Without a command this opens the explorer.
#[derive(Debug, Parser)]
#[command(name = "medrgb", version, args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// Dataset folder to open; without it the sample benchmark.
    pub path: Option<PathBuf>,
    /// What to do instead of opening the explorer.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show one context and its prompt.
    Compose(compose::Args),
    /// Ask a model one instance and score its reply.
    Ask(ask::Args),
    /// Score saved replies of standard questions.
    Score(score::Args),
    /// Search the documents of a dataset.
    Search(search::Args),
    /// Encode texts into a NumPy file.
    Encode(encode::Args),
    /// List, fetch and check local models.
    Models(models::Args),
    /// Say what works on this machine.
    Doctor(doctor::Args),
    /// Show or write the configuration.
    Config(config::Args),
    /// Print shell completions.
    Completions(completions::Args),
}

/// Runs the program with the process's arguments.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    if cli.command.is_some() {
        return ExitCode::FAILURE;
    }
    match crate::tui::run(explorer(cli.path)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            common::note(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// A stand-in until settings are read: shows what the explorer needs.
fn explorer(path: Option<PathBuf>) -> crate::tui::Setup {
    use crate::model::{FailureKind, ModelError, Sampling};
    use std::sync::Arc;
    let config = crate::config::Config::default();
    crate::tui::Setup {
        dataset: path.map_or(crate::tui::Source::Sample, crate::tui::Source::Folder),
        model: crate::tui::ModelChoice {
            name: config.model,
            open: Arc::new(|| {
                Err(ModelError::new(
                    FailureKind::Local,
                    "no model is set up; `medrgb models list` shows what can be had",
                ))
            }),
        },
        sampling: Sampling::default(),
        run: "explorer".into(),
        store: None,
        templates: crate::domain::prompt::Templates::default(),
        encoder: Arc::new(|| Ok(None)),
        backend: medrgb_encoder::BackendChoice::Auto,
        cache: None,
        hits: config.retrieval.k,
        theme: config.theme,
        themes: None,
        colors: None,
        keys: config.keys,
        mouse: config.mouse,
    }
}
