//! The lock of a run: one file per run beside the store, locked by the operating system while a sweep writes
//! to the run, so that a killed process leaves no lock. The file is also the run's logbook: one JSON line per
//! start of a sweep.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::data::locked::{LockFault, open_locked, open_shared};
use crate::data::store::StoreError;
use crate::domain::text::{hex, short};

/// The folder of the lock files, beside the store.
const FOLDER: &str = "sweeps";

/// Most characters of a run's name that its file name shows.
const SHOWN: usize = 40;

/// The lock of a run; dropping it, or the end of the process, lets it go.
#[derive(Debug)]
pub struct RunLock {
    file: File,
    path: PathBuf,
}

impl RunLock {
    /// Takes the lock of a run.
    ///
    /// # Errors
    /// [`StoreError`] where another process holds it, or the file can't be made or locked.
    pub fn take(store: &Path, run: &str) -> Result<RunLock, StoreError> {
        RunLock::lock(store, run, open_locked)
    }

    /// Takes the lock of a run together with others that add single replies to it; a sweep holds it alone.
    ///
    /// # Errors
    /// As [`RunLock::take`].
    pub fn share(store: &Path, run: &str) -> Result<RunLock, StoreError> {
        RunLock::lock(store, run, open_shared)
    }

    fn lock(
        store: &Path,
        run: &str,
        open: fn(&Path) -> Result<File, LockFault>,
    ) -> Result<RunLock, StoreError> {
        let path = file_of(store, run);
        let failed = |error: std::io::Error| {
            StoreError(format!(
                "the lock of the run \"{run}\", {}, can't be used: {error}",
                path.display(),
                run = short(run)
            ))
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        match open(&path) {
            Ok(file) => Ok(RunLock { file, path }),
            Err(LockFault::Held) => Err(StoreError(format!(
                "the run \"{run}\" is in use by another process; wait for its end, or name another run with --run",
                run = short(run)
            ))),
            Err(LockFault::Io(error)) => Err(failed(error)),
        }
    }

    /// Writes an entry of the logbook durably.
    ///
    /// # Errors
    /// [`StoreError`] where the file can't be written.
    pub fn log(&mut self, entry: &Value) -> Result<(), StoreError> {
        // Begins with a line end, so that an entry cut off by a kill spoils no other.
        self.file
            .write_all(format!("\n{entry}\n").as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(|error| {
                StoreError(format!("{} can't be written: {error}", self.path.display()))
            })
    }

    /// Adds the entries that the logbook does not hold yet; gives how many.
    ///
    /// # Errors
    /// [`StoreError`] where the file can't be read or written.
    pub fn log_missing(
        &mut self,
        store: &Path,
        run: &str,
        entries: &[Value],
    ) -> Result<usize, StoreError> {
        let known = logbook(store, run)?;
        let missing = entries.iter().filter(|entry| !known.contains(entry));
        let mut added = 0;
        for entry in missing {
            self.log(entry)?;
            added += 1;
        }
        Ok(added)
    }

    /// Empties the logbook of a run that is removed. The file stays, see [`RunLock::take`].
    ///
    /// # Errors
    /// [`StoreError`] where the file can't be written.
    pub fn forget(&mut self) -> Result<(), StoreError> {
        self.file.set_len(0).map_err(|error| {
            StoreError(format!("{} can't be written: {error}", self.path.display()))
        })
    }
}

/// The logbook of a run: one object per start of a sweep, oldest first. Lines that a kill has cut off are left
/// out.
///
/// # Errors
/// [`StoreError`] where the file is there and can't be read.
pub fn logbook(store: &Path, run: &str) -> Result<Vec<Value>, StoreError> {
    let path = file_of(store, run);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(StoreError(format!(
                "{} can't be read: {error}",
                path.display()
            )));
        }
    };
    Ok(text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect())
}

/// The lock's file: readable part of the name, and a hash that keeps different names apart.
fn file_of(store: &Path, run: &str) -> PathBuf {
    let shown: String = run
        .chars()
        .take(SHOWN)
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') => c,
            _ => '_',
        })
        .collect();
    let hash = hex(&Sha256::digest(run.as_bytes())[..6]);
    let folder = store.parent().unwrap_or(Path::new("."));
    folder.join(FOLDER).join(format!("{shown}-{hash}.jsonl"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use serde_json::json;

    #[test]
    fn a_run_is_locked_once_and_other_runs_are_free() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("runs.sqlite");
        let held = RunLock::take(&store, "a/b").unwrap();
        let refused = RunLock::take(&store, "a/b").unwrap_err().0;
        assert!(refused.contains("\"a/b\" is in use"), "{refused}");
        // The same letters in the file name, but another run.
        let _other = RunLock::take(&store, "a_b").unwrap();
        assert!(RunLock::share(&store, "a/b").is_err());
        drop(held);
        let one = RunLock::share(&store, "a/b").unwrap();
        let other = RunLock::share(&store, "a/b").unwrap();
        assert!(RunLock::take(&store, "a/b").is_err());
        drop((one, other));
        RunLock::take(&store, "a/b").unwrap();
    }

    #[test]
    fn the_logbook_survives_a_cut_line() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("runs.sqlite");
        assert!(logbook(&store, "r").unwrap().is_empty());
        let mut lock = RunLock::take(&store, "r").unwrap();
        lock.log(&json!({"n": 1})).unwrap();
        lock.file.write_all(b"{\"n\": ").unwrap();
        lock.log(&json!({"n": 2})).unwrap();
        assert_eq!(
            logbook(&store, "r").unwrap(),
            [json!({"n": 1}), json!({"n": 2})]
        );
        lock.forget().unwrap();
        assert!(logbook(&store, "r").unwrap().is_empty());
        drop(lock);
        RunLock::take(&store, "r").unwrap();
    }
}
