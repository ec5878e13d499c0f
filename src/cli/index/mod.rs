//! `medrgb index`: searchable indexes and what they are.

mod build;
mod info;
mod merge;
mod open;
mod parts;

use clap::Subcommand;

pub use open::{Opened, open, open_for_screen};

use crate::cli::common::Environment;
use crate::cli::{Failure, remote};
use crate::retrieval::remote::Address;

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
    /// Write documents and their vectors to a Milvus server.
    Push(remote::PushArgs),
    /// Remove a collection from a Milvus server, with all its documents.
    Drop(DropArgs),
}

/// Arguments of `index drop`.
#[derive(Debug, clap::Args)]
pub struct DropArgs {
    /// milvus://HOST:PORT/[DATABASE/]COLLECTION, or milvus+tls://….
    #[arg(value_name = "URL")]
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
        IndexCommand::Build(args) => build::run(args, environment),
        IndexCommand::Merge(args) => merge::run(&args),
        IndexCommand::Info(args) => {
            match args.index.to_str().filter(|name| Address::is_remote(name)) {
                Some(url) => remote::run_info(url, args.json),
                None => info::run(&args),
            }
        }
        IndexCommand::Push(args) => remote::run_push(&args, environment),
        IndexCommand::Drop(args) => remote::run_drop(&args.index, args.json),
    }
}
