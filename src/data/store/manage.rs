//! Removing runs, and taking in records that were written elsewhere.

use rusqlite::{TransactionBehavior, params};

use crate::data::store::group::{Row, write_together};
use crate::data::store::{ReplyRecord, Store, StoreError};

impl Store {
    /// Removes a run with all its records and gives how many there were; `None` for an unknown run.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be written; nothing is removed then.
    pub fn remove_run(&self, run: &str) -> Result<Option<usize>, StoreError> {
        self.try_remove(run).map_err(|error| self.describe(&error))
    }

    fn try_remove(&self, run: &str) -> rusqlite::Result<Option<usize>> {
        let mut connection = self.lock();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let records = transaction.execute("DELETE FROM replies WHERE run = ?1", params![run])?;
        let runs = transaction.execute("DELETE FROM runs WHERE name = ?1", params![run])?;
        transaction.commit()?;
        Ok((runs > 0).then_some(records))
    }

    /// Writes many records at once, all or none. Their row ids are made anew.
    ///
    /// # Errors
    /// [`StoreError`], for example when the disk is full.
    pub fn insert_all(&self, records: &[ReplyRecord]) -> Result<(), StoreError> {
        let insert = || {
            let rows = records
                .iter()
                .map(Row::of)
                .collect::<rusqlite::Result<Vec<Row>>>()?;
            write_together(&mut self.lock(), rows.iter()).map(|_| ())
        };
        let done: rusqlite::Result<()> = insert();
        done.map_err(|error| self.describe(&error))
    }
}
