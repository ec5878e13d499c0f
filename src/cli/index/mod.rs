//! `medrgb index`: searchable indexes and what they are.

use clap::Subcommand;

use crate::cli::common::Environment;
use crate::cli::{Failure, remote};

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
    /// Write documents and their vectors to a Milvus server.
    Push(remote::PushArgs),
    /// Say what an index is: documents, encoder, kind of index.
    Info(PlaceArgs),
    /// Remove a collection from a Milvus server, with all its documents.
    Drop(PlaceArgs),
}

/// Arguments of `index info` and `index drop`.
#[derive(Debug, clap::Args)]
pub struct PlaceArgs {
    /// milvus://HOST:PORT/[DATABASE/]COLLECTION, or milvus+tls://….
    pub index: String,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    match args.command {
        IndexCommand::Push(args) => remote::run_push(&args, environment),
        IndexCommand::Info(args) => remote::run_info(&args.index, args.json),
        IndexCommand::Drop(args) => remote::run_drop(&args.index, args.json),
    }
}
