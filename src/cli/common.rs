//! What every command needs: settings, folders, output.

use std::io::Write;

use serde::Serialize;

use crate::cli::Failure;
use crate::config::{Config, Paths};

/// Settings and folders of this process.
#[derive(Debug, Clone)]
pub struct Environment {
    /// Settings after merging.
    pub config: Config,
    /// Folders of this program.
    pub paths: Paths,
}

/// Writes a line to standard output; a closed pipe ends the command quietly.
///
/// # Errors
/// [`Failure::Closed`] for a closed pipe, else [`Failure::Failed`].
pub fn say(line: &str) -> Result<(), Failure> {
    write_out(&format!("{line}\n"))
}

/// Writes text to standard output as it is and flushes.
///
/// # Errors
/// As [`say`].
pub fn write_out(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Failed(format!("standard output can't be written: {error}")),
        })
}

/// Writes one JSON object and a line end to standard output.
///
/// # Errors
/// As [`say`].
pub fn say_json(value: &impl Serialize) -> Result<(), Failure> {
    say(&serde_json::to_string(value).map_err(Failure::failed)?)
}

/// Writes a message to standard error; failing to do so is ignored.
pub fn note(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
