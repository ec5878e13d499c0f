//! `medrgb index merge`.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use crate::cli::Failure;
use crate::cli::index::build::Graph;
use crate::cli::index::parts::tell;
use crate::cli::progress::Line;
use crate::cli::signals::stop_on_signal;
use crate::retrieval::index;

/// Arguments of `medrgb index merge`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
All shards of one corpus must be named, each once, in any order; they stay as they are.

Example:
  medrgb index merge part-1 part-2 part-3 --out pubmed-index")]
pub struct Args {
    /// Shards, built with `index build --shard`
    #[arg(value_name = "DIR", required = true)]
    pub shards: Vec<PathBuf>,
    /// What the merged vector graph compares; needed where the shards differ in it
    #[arg(long, value_enum, value_name = "stored|half|int8")]
    pub graph: Option<Graph>,
    /// Index folder to build
    #[arg(long, short = 'o', value_name = "DIR")]
    pub out: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence; what is done is kept.
pub fn run(args: &Args) -> Result<(), Failure> {
    let stop = stop_on_signal();
    let line = Line::new();
    let built = index::merge(
        &args.shards,
        &args.out,
        args.graph.map(Graph::into),
        &mut |at| {
            if stop.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            line.at(at.stage, at.done, at.total)
        },
    );
    drop(line);
    tell(&args.out, &built.map_err(Failure::failed)?, args.json)
}
