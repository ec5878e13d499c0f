//! `medrgb index`: searchable indexes and what they are.

mod build;
mod info;
mod merge;
mod open;
mod parts;

use clap::Subcommand;

pub use open::{Opened, open};

use crate::cli::Failure;
use crate::cli::common::Environment;

/// Arguments of `medrgb index`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: IndexCommand,
}

/// The subcommands of `index`.
#[derive(Debug, Subcommand)]
pub enum IndexCommand {
    /// Build an index folder from a corpus; the same command goes on where it stopped.
    Build(build::Args),
    /// Merge all shards of a corpus into one index.
    Merge(merge::Args),
    /// Say what an index is: documents, encoder, corpus files, recall.
    Info(info::Args),
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    match args.command {
        IndexCommand::Build(args) => build::run(args, environment),
        IndexCommand::Merge(args) => merge::run(&args),
        IndexCommand::Info(args) => info::run(&args),
    }
}
