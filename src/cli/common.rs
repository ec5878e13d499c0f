//! What every command needs: settings, folders, output.

use std::io::Write;
use std::path::PathBuf;

use serde::Serialize;

use crate::cli::Failure;
use crate::cli::progress;
use crate::cli::settings::{self, Settings};
use crate::config::{Config, Paths};
use crate::data::prompts;
use crate::domain::prompt::Templates;
use crate::domain::text::clean;
use crate::model::{FailureKind, ModelError};
use crate::retrieval::encoders;

/// Settings and folders of this process.
#[derive(Debug, Clone)]
pub struct Environment {
    /// Settings after merging.
    pub config: Config,
    /// Folders of this program.
    pub paths: Paths,
    /// Where the settings came from.
    pub settings: Settings,
}

impl Environment {
    /// Reads the settings of this process: files, environment, working folder.
    ///
    /// # Errors
    /// As [`settings::load`].
    pub fn of_process() -> Result<Environment, Failure> {
        let paths = settings::paths(&variable)?;
        let folder = std::env::current_dir().unwrap_or_default();
        let settings = settings::load(&paths, &folder, &variable)?;
        encoders::keep_kernels_under(paths.cache.join("kernels"));
        progress::reduce_motion(settings.config.reduced_motion);
        Ok(Environment {
            config: settings.config.clone(),
            paths,
            settings,
        })
    }
}

/// The user's prompt templates from `folder`, or the built-in ones.
///
/// # Errors
/// When a template is broken or the folder can't be read.
pub fn templates(folder: Option<&PathBuf>) -> Result<Templates, Failure> {
    match folder {
        Some(folder) => prompts::open(folder).map_err(Failure::failed),
        None => Ok(Templates::default()),
    }
}

/// The failure for a model that can't be had; a setting or a flag that makes no sense is wrong use.
pub fn model_failure(error: ModelError) -> Failure {
    match (error.kind, error.attempts) {
        (FailureKind::BadRequest, 0) => Failure::usage(error),
        _ => Failure::failed(error),
    }
}

/// An environment variable, if it is set and readable.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Sends the log to a file in the state folder; `MEDRGB_LOG` sets what is kept (default `warn`). Without a
/// writable folder there is no log.
pub fn start_log(paths: &Paths) {
    let Some(file) = log_file(paths) else { return };
    let filter = tracing_subscriber::EnvFilter::try_from_env("MEDRGB_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(file)
        .try_init();
}

/// Opens the log for appending; a log over 4 MiB is started afresh.
fn log_file(paths: &Paths) -> Option<std::fs::File> {
    std::fs::create_dir_all(&paths.state).ok()?;
    let path = paths.state.join("medrgb.log");
    let large = std::fs::metadata(&path).is_ok_and(|meta| meta.len() > 4 << 20);
    std::fs::OpenOptions::new()
        .create(true)
        .write(true)
        .append(!large)
        .truncate(large)
        .open(path)
        .ok()
}

/// Writes a line to standard output, without what could drive a terminal: names of files and of settings are chosen by
/// strangers too. A closed pipe ends the command quietly.
///
/// # Errors
/// [`Failure::Closed`] for a closed pipe, else [`Failure::Failed`].
pub fn say(line: &str) -> Result<(), Failure> {
    write_out(&format!("{}\n", clean(line)))
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
    let text = serde_json::to_string(value).map_err(Failure::failed)?;
    write_out(&format!("{}\n", escape_controls(text)))
}

/// JSON in which the control characters that it allows raw are escapes too, and those that turn the direction of writing:
/// they can stand in texts only, so that it says the same, and some terminals take U+009B for the start of a sequence.
pub(super) fn escape_controls(json: String) -> String {
    let raw = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    match json.contains(raw) {
        false => json,
        true => json
            .chars()
            .map(|c| match raw(c) {
                true => format!("\\u{:04x}", u32::from(c)),
                false => c.to_string(),
            })
            .collect(),
    }
}

/// Writes a message to standard error, without what could drive a terminal; failing to do so is ignored.
pub fn note(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", clean(line));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn json_says_the_same_without_raw_controls() {
        let value = serde_json::json!({"a\u{9b}\u{1b}": ["\u{85}é\u{7f}"]});
        let text = escape_controls(value.to_string());
        assert!(!text.contains(char::is_control), "{text:?}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            value
        );
    }
}
