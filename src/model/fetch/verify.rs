//! Checking the files of a model against the hashes they should have.

use std::path::Path;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::model::fetch::checksum::sha256_file;
use crate::model::fetch::{FetchError, HubCaches, Progress, Source, disk, locate, origin};
use crate::model::registry::ModelEntry;

/// What checking one file gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Name of the file.
    pub file: String,
    /// SHA-256 it has; `None` where it is not there.
    pub sha256: Option<String>,
    /// SHA-256 it should have; `None` where none is known.
    pub expected: Option<String>,
    /// Whose hash that is: `published`, or `recorded` when the file came in.
    pub expectation: Option<&'static str>,
    /// `Some(true)` if they agree, `Some(false)` if not or if a required file is missing, `None`
    /// where there is nothing to compare with.
    pub ok: Option<bool>,
}

/// Hashes every file of a model and compares. `None` where the model is not on this machine.
///
/// # Errors
/// [`FetchError`] when a file can't be read or the user stops.
pub fn verify(
    entry: &'static ModelEntry,
    models_dir: &Path,
    caches: &HubCaches,
    cancel: &CancellationToken,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Option<Vec<Verified>>, FetchError> {
    let Some(found) = locate(entry, models_dir, caches) else {
        return Ok(None);
    };
    let folder = match found.path.is_file() {
        true => found.path.parent().unwrap_or(&found.path).to_owned(),
        false => found.path,
    };
    let recorded = origin(entry, models_dir);
    let mut results = Vec::new();
    for wanted in entry.files {
        let Some(path) = wanted.present(&folder) else {
            if wanted.required {
                results.push(missing(wanted.name(), wanted.sha256));
            }
            continue;
        };
        let name = path
            .strip_prefix(&folder)
            .unwrap_or(&path)
            .to_string_lossy()
            .into_owned();
        let hash = sha256_file(&path, cancel, &mut |done| {
            on_progress(Progress {
                model: entry.name,
                what: name.clone(),
                source: Source::Cache,
                done,
                total: wanted.bytes,
            });
        })
        .map_err(disk(&path))?
        .ok_or(FetchError::Cancelled(entry.name))?;
        let record = recorded
            .iter()
            .flat_map(|origin| &origin.files)
            .find(|file| file.name == name)
            .map(|file| file.sha256.clone());
        results.push(compare(name, hash, wanted.sha256, record));
    }
    Ok(Some(results))
}

fn missing(name: &str, expected: Option<&str>) -> Verified {
    Verified {
        file: name.to_owned(),
        sha256: None,
        expected: expected.map(str::to_owned),
        expectation: expected.map(|_| "published"),
        ok: Some(false),
    }
}

fn compare(
    file: String,
    hash: String,
    published: Option<&str>,
    recorded: Option<String>,
) -> Verified {
    let (expected, expectation) = match (published, recorded) {
        (Some(published), _) => (Some(published.to_owned()), Some("published")),
        (None, Some(recorded)) => (Some(recorded), Some("recorded")),
        (None, None) => (None, None),
    };
    Verified {
        ok: expected.as_ref().map(|expected| *expected == hash),
        file,
        sha256: Some(hash),
        expected,
        expectation,
    }
}
