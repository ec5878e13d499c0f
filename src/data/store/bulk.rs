//! Many records in one go: all of them are stored, or none.

use std::path::Path;

use crate::data::store::group::Row;
use crate::data::store::{ReplyRecord, Store, StoreError};

/// An open transaction on a store of its own. Dropping it without [`Bulk::commit`] undoes everything.
///
/// Until then other programs can read the store but not write to it.
#[derive(Debug)]
pub struct Bulk {
    store: Store,
    open: bool,
}

impl Bulk {
    /// Opens the store and begins.
    ///
    /// # Errors
    /// As [`Store::open`], and where another program is writing.
    pub fn begin(path: &Path) -> Result<Bulk, StoreError> {
        let store = Store::open(path)?;
        let bulk = Bulk { store, open: true };
        bulk.execute("BEGIN IMMEDIATE")?;
        Ok(bulk)
    }

    /// Whether there is a run of this name.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn has_run(&self, name: &str) -> Result<bool, StoreError> {
        let found = self.store.lock().query_row(
            "SELECT count(*) FROM runs WHERE name = ?1",
            [name],
            |row| row.get::<_, i64>(0),
        );
        found
            .map(|count| count > 0)
            .map_err(|error| self.store.describe(&error))
    }

    /// Adds a record.
    ///
    /// # Errors
    /// [`StoreError`], for example when the disk is full.
    pub fn insert(&self, record: &ReplyRecord) -> Result<i64, StoreError> {
        let inserted = Row::of(record).and_then(|row| row.write(&self.store.lock()));
        inserted.map_err(|error| self.store.describe(&error))
    }

    /// Says which dataset the records of a run belong to, where that was not known when they were added.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be written.
    pub fn set_dataset(&self, run: &str, name: &str, fingerprint: &str) -> Result<(), StoreError> {
        let updated = self.store.lock().execute(
            "UPDATE replies SET dataset = ?2, dataset_fingerprint = ?3 WHERE run = ?1",
            [run, name, fingerprint],
        );
        updated
            .map(drop)
            .map_err(|error| self.store.describe(&error))
    }

    /// Makes everything durable.
    ///
    /// # Errors
    /// [`StoreError`], for example when the disk is full; then nothing is stored.
    pub fn commit(mut self) -> Result<(), StoreError> {
        self.execute("COMMIT")?;
        self.open = false;
        Ok(())
    }

    fn execute(&self, statement: &str) -> Result<(), StoreError> {
        let done = self.store.lock().execute_batch(statement);
        done.map_err(|error| self.store.describe(&error))
    }
}

impl Drop for Bulk {
    fn drop(&mut self) {
        if self.open {
            // Without this SQLite undoes it all the same when the connection closes.
            let _ = self.execute("ROLLBACK");
        }
    }
}
