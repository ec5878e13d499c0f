//! Removing runs, and taking in records that were written elsewhere.

use std::time::Instant;

use rusqlite::{Connection, TransactionBehavior, params};

use crate::data::store::group::{Row, write_together};
use crate::data::store::judgements::{self, JudgementRecord};
use crate::data::store::{ReplyRecord, Store, StoreError};

/// Records that are removed at a time.
const STEP: usize = 500;

impl Store {
    /// Removes a run with all its records and gives how many there were; `None` for an unknown run. It goes in steps,
    /// between which others can write.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be written; the run is there until all its records are gone.
    pub fn remove_run(&self, run: &str) -> Result<Option<usize>, StoreError> {
        self.try_remove(run).map_err(|error| self.describe(&error))
    }

    fn try_remove(&self, run: &str) -> rusqlite::Result<Option<usize>> {
        let mut records = 0;
        loop {
            let began = Instant::now();
            let removed = self.patiently(|| remove_some(&self.lock(), run))?;
            records += removed;
            if removed < STEP {
                break;
            }
            // Others poll for their turn: a gap that is over at once would leave them waiting all the time.
            std::thread::sleep(began.elapsed());
        }
        let end = || {
            let connection = self.lock();
            connection.execute("DELETE FROM runs WHERE name = ?1", params![run])
        };
        let runs = self.patiently(end)?;
        Ok((runs > 0).then_some(records))
    }

    /// Writes records with their judgements at once, all or none; a record that is there already (with its row id) only
    /// gets the judgements that it lacks. Gives the number of judgements written.
    ///
    /// # Errors
    /// [`StoreError`], for example when the disk is full.
    pub fn take_in(
        &self,
        records: &[(ReplyRecord, Option<i64>, Vec<JudgementRecord>)],
    ) -> Result<usize, StoreError> {
        let mut missing = Vec::with_capacity(records.len());
        for (_, held, judgements) in records {
            let known = match held {
                Some(id) if !judgements.is_empty() => self.judgements_of_reply(*id)?,
                _ => Vec::new(),
            };
            let is_new = |one: &&JudgementRecord| {
                let same = |known: &JudgementRecord| {
                    JudgementRecord {
                        reply: one.reply,
                        ..known.clone()
                    } == **one
                };
                !known.iter().any(same)
            };
            missing.push(judgements.iter().filter(is_new).collect::<Vec<_>>());
        }
        let write = || -> rusqlite::Result<usize> {
            let mut connection = self.lock();
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut written = 0;
            for ((record, held, _), judgements) in records.iter().zip(&missing) {
                let id = match held {
                    Some(id) => *id,
                    None => Row::of(record)?.write(&transaction)?,
                };
                for judgement in judgements {
                    judgements::write(judgement, id, &transaction)?;
                    written += 1;
                }
            }
            transaction.commit()?;
            Ok(written)
        };
        write().map_err(|error| self.describe(&error))
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
            let together = || write_together(&mut self.lock(), rows.iter());
            self.patiently(together).map(|_| ())
        };
        let done: rusqlite::Result<()> = insert();
        done.map_err(|error| self.describe(&error))
    }
}

/// Removes some records of a run, [`STEP`] at most, and gives how many.
fn remove_some(connection: &Connection, run: &str) -> rusqlite::Result<usize> {
    connection
        .prepare_cached(
            "DELETE FROM replies WHERE id IN (
                SELECT id FROM replies INDEXED BY replies_listed WHERE run = ?1 LIMIT ?2)",
        )?
        .execute(params![run, i64::try_from(STEP).unwrap_or(i64::MAX)])
}
