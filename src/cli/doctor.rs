//! `medrgb doctor`.

use crate::cli::Failure;
use crate::cli::common::Environment;

/// Arguments of `medrgb doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let _ = (args, environment);
    Err(Failure::Failed("not built yet".into()))
}
