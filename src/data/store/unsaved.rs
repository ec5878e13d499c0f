//! Replies that the store did not take: they are kept in one file, from which they can be imported.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::data::output;
use crate::data::store::{RECORD_VERSION, ReplyRecord, Store, StoreError};

/// What an opened store did not take, and where it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsaved {
    /// The file: one record a line, as `medrgb runs import` reads it.
    pub file: PathBuf,
    /// How many there are.
    pub replies: usize,
    /// Why the first of them was not stored.
    pub why: String,
}

/// The file of what an opened store did not take; made with the first of them.
#[derive(Debug, Default)]
pub(super) struct Aside {
    refused: AtomicBool,
    open: Mutex<Option<Open>>,
}

#[derive(Debug)]
struct Open {
    file: File,
    /// Bytes of whole lines.
    length: u64,
    unsaved: Unsaved,
}

impl Store {
    /// Keeps a record that the store did not take as a line of `unsaved-….jsonl` beside the store, or in the folder
    /// for temporary files where that fails too, and gives the file: one for all that this opened store did not take.
    /// `why` is why it was not stored. When this returns, the record survives a kill.
    ///
    /// # Errors
    /// [`StoreError`] where neither folder takes it.
    pub fn save_beside(&self, record: &ReplyRecord, why: &str) -> Result<PathBuf, StoreError> {
        self.aside.refused.store(true, Ordering::SeqCst);
        let line = line_of(record)?;
        let folder = match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut open = self.aside.lock();
        let kept = match &mut *open {
            Some(known) => known.append(&line),
            None => Open::begin(folder, why).and_then(|mut begun| {
                let kept = begun.append(&line);
                *open = Some(begun);
                kept
            }),
        };
        if kept.is_err() {
            let old = open.take();
            let moved = Open::begin(&std::env::temp_dir(), why).and_then(|mut begun| {
                begun.take_over(old.as_ref())?;
                begun.append(&line)?;
                Ok(begun)
            });
            match moved {
                Ok(begun) => {
                    if let Some(old) = old {
                        // What it held stands in the new file.
                        let _ = std::fs::remove_file(&old.unsaved.file);
                    }
                    *open = Some(begun);
                }
                Err(error) => {
                    *open = old.filter(|old| old.unsaved.replies > 0);
                    return Err(StoreError(format!(
                        "the reply can be saved neither in {} nor in the folder for temporary files: {}",
                        folder.display(),
                        output::reason(&error)
                    )));
                }
            }
        }
        let file = open.as_ref().map(|open| open.unsaved.file.clone());
        Ok(file.unwrap_or_default())
    }

    /// Whether the store has refused a record since it was opened.
    pub fn has_refused(&self) -> bool {
        self.aside.refused.load(Ordering::SeqCst)
    }

    /// What this opened store did not take, and where it is kept.
    pub fn unsaved(&self) -> Option<Unsaved> {
        self.aside.lock().as_ref().map(|open| open.unsaved.clone())
    }
}

impl Aside {
    /// A panic elsewhere leaves whole lines behind.
    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// A new file under a name that no other has.
    fn begin(folder: &Path, why: &str) -> std::io::Result<Open> {
        let file = tempfile::Builder::new()
            .prefix("unsaved-")
            .suffix(".jsonl")
            .tempfile_in(folder)?;
        let (file, path) = file.keep().map_err(|error| error.error)?;
        Ok(Open {
            file,
            length: 0,
            unsaved: Unsaved {
                file: path,
                replies: 0,
                why: why.to_owned(),
            },
        })
    }

    /// Adds a line, whole or not at all.
    fn append(&mut self, line: &[u8]) -> std::io::Result<()> {
        let written = self
            .file
            .write_all(line)
            .and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // Half a line would spoil the next one.
            let _ = self.file.set_len(self.length);
            if self.length == 0 {
                let _ = std::fs::remove_file(&self.unsaved.file);
            }
            return Err(error);
        }
        self.length += line.len() as u64;
        self.unsaved.replies += 1;
        Ok(())
    }

    /// Begins with what another file holds.
    fn take_over(&mut self, old: Option<&Open>) -> std::io::Result<()> {
        let Some(old) = old.filter(|old| old.length > 0) else {
            return Ok(());
        };
        let mut from = File::open(&old.unsaved.file)?;
        std::io::copy(&mut from, &mut self.file)?;
        self.length = old.length;
        self.unsaved.replies = old.unsaved.replies;
        self.unsaved.why.clone_from(&old.unsaved.why);
        Ok(())
    }
}

/// The record as the line that is imported.
fn line_of(record: &ReplyRecord) -> Result<Vec<u8>, StoreError> {
    #[derive(Serialize)]
    struct Line<'a> {
        version: u32,
        #[serde(flatten)]
        record: &'a ReplyRecord,
    }
    let line = Line {
        version: RECORD_VERSION,
        record,
    };
    let mut text = serde_json::to_vec(&line)
        .map_err(|error| StoreError(format!("the record can't be written as JSON: {error}")))?;
    text.push(b'\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::data::recorded::read_record;
    use crate::data::store::tests::record;

    #[test]
    fn all_that_was_not_stored_lies_in_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        assert!(store.unsaved().is_none() && !store.has_refused());
        let records = [record("r", "a"), record("r", "b"), record("r", "c")];
        for record in &records {
            store
                .clone()
                .save_beside(record, "the disk is full")
                .unwrap();
        }
        let unsaved = store.unsaved().unwrap();
        assert_eq!(
            (unsaved.replies, unsaved.why.as_str()),
            (3, "the disk is full")
        );
        assert_eq!(unsaved.file.parent().unwrap(), dir.path());
        let text = std::fs::read_to_string(&unsaved.file).unwrap();
        let read: Vec<ReplyRecord> = text
            .lines()
            .map(|line| read_record(line.as_bytes()).unwrap())
            .collect();
        assert_eq!(read, records);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_the_first_file_holds_goes_along_when_its_disk_is_full() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let first = store.save_beside(&record("r", "a"), "full").unwrap();
        // Writing to this device fails as to a full disk.
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        store.aside.lock().as_mut().unwrap().file = full;
        let second = store.save_beside(&record("r", "b"), "full").unwrap();
        assert!(first != second && !first.exists());
        assert_eq!(second.parent().unwrap(), std::env::temp_dir());
        let text = std::fs::read_to_string(&second).unwrap();
        std::fs::remove_file(&second).unwrap();
        let ids: Vec<String> = text
            .lines()
            .map(|line| read_record(line.as_bytes()).unwrap().question.id)
            .collect();
        assert_eq!(ids, ["a", "b"]);
        assert_eq!(store.unsaved().unwrap().replies, 2);
    }
}
