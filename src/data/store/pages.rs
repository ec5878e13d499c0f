//! Runs page by page, and changed in one go: a run may be larger than memory.

use rusqlite::{Connection, TransactionBehavior, params};

use super::{COLUMNS, RECORD_VERSION, ReplyRecord, Store, StoreError, json, outcome, read_record};

/// Records read at once.
const PAGE: i64 = 200;

/// Some records of a run in the order in which they were stored.
#[derive(Debug, Default)]
pub struct Page {
    /// Those that can be read.
    pub records: Vec<ReplyRecord>,
    /// Row ids of those that can't.
    pub broken: Vec<i64>,
    /// Row id of the last one, to go on behind it; `None` for the page behind the last record.
    pub last: Option<i64>,
}

/// What changing a run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rewritten {
    /// Records that were changed.
    pub changed: usize,
    /// Records that can't be read; they stay as they are.
    pub broken: usize,
}

impl Store {
    /// The next records of a run behind the row `after` (0 for the first ones). A record that can't be read
    /// is named and hinders no other.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn page_of_run(&self, run: &str, after: i64) -> Result<Page, StoreError> {
        page(&self.lock(), run, after).map_err(|error| self.describe(&error))
    }

    /// Hands every readable record of a run to `change`, which says whether it changed `parsed` or
    /// `scores`; those are written back, nothing else is. All of it happens in one transaction: when
    /// anything fails, nothing has changed.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read or written.
    pub fn rewrite_run(
        &self,
        run: &str,
        change: &mut dyn FnMut(&mut ReplyRecord) -> bool,
    ) -> Result<Rewritten, StoreError> {
        rewrite_in_one_go(&mut self.lock(), run, change).map_err(|error| self.describe(&error))
    }
}

fn rewrite_in_one_go(
    connection: &mut Connection,
    run: &str,
    change: &mut dyn FnMut(&mut ReplyRecord) -> bool,
) -> rusqlite::Result<Rewritten> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let rewritten = rewrite(&transaction, run, change)?;
    transaction.commit()?;
    Ok(rewritten)
}

fn rewrite(
    connection: &Connection,
    run: &str,
    change: &mut dyn FnMut(&mut ReplyRecord) -> bool,
) -> rusqlite::Result<Rewritten> {
    let mut rewritten = Rewritten::default();
    let mut update = connection.prepare(
        "UPDATE replies SET record_version = ?2, outcome = ?3, parsed = ?4, scores = ?5 WHERE id = ?1",
    )?;
    let mut after = 0;
    loop {
        let page = page(connection, run, after)?;
        let Some(last) = page.last else {
            return Ok(rewritten);
        };
        after = last;
        rewritten.broken += page.broken.len();
        for mut record in page.records {
            if !change(&mut record) {
                continue;
            }
            update.execute(params![
                record.id,
                RECORD_VERSION,
                outcome(&record),
                json(&record.parsed)?,
                json(&record.scores)?,
            ])?;
            rewritten.changed += 1;
        }
    }
}

fn page(connection: &Connection, run: &str, after: i64) -> rusqlite::Result<Page> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM replies WHERE run = ?1 AND id > ?2 ORDER BY id LIMIT ?3"
    ))?;
    let mut rows = statement.query(params![run, after, PAGE])?;
    let mut page = Page::default();
    while let Some(row) = rows.next()? {
        let id = row.get(0)?;
        page.last = Some(id);
        match read_record(row) {
            Ok(record) => page.records.push(record),
            Err(error) if is_of_record(&error) => page.broken.push(id),
            Err(error) => return Err(error),
        }
    }
    Ok(page)
}

/// Whether one record's content is at fault, and not the database.
fn is_of_record(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..)
    )
}
