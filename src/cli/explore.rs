//! `medrgb [PATH]`: the explorer.

use std::path::PathBuf;

use crate::cli::Failure;
use crate::cli::common::Environment;

/// Opens the explorer on a dataset folder, or on the sample benchmark.
///
/// # Errors
/// [`Failure`] when there is no terminal.
pub fn run(path: Option<PathBuf>, environment: &Environment) -> Result<(), Failure> {
    let _ = (path, environment);
    Err(Failure::Failed("not built yet".into()))
}
