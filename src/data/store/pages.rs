//! Runs page by page, also when they are changed: a run may be larger than memory, and others write to the store meanwhile.

use rusqlite::{Connection, TransactionBehavior, params};

use crate::data::store::group::Reading;
use crate::data::store::raw::{Raw, SELECT};
use crate::data::store::{ReplyRecord, Store, StoreError};

/// Records read at once.
const PAGE: usize = 200;

/// Records that a thread changes at a time, and how many threads do: some hundred kilobytes for each record that
/// is taken apart must not add up.
const PART: usize = 64;
const MOST_THREADS: usize = 8;

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

    /// Hands every readable record of a run to `change`, on all cores, which says whether it changed `parsed` or
    /// `scores`; those are written back, nothing else is. The records come without prompt, model, sampling and origin,
    /// and of `reply` with the ending alone: taking those apart would cost more than the change. It goes in steps, each
    /// of which is written in a short transaction, so that others can write in between; what has been written when
    /// something fails stays. Nobody else may write to the run meanwhile (see [`crate::data::store::RunLock`]). Each part
    /// of the run has an accumulator of its own, made by `start`; they come back in stored order.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read or written.
    pub fn rewrite_run<A: Send>(
        &self,
        run: &str,
        start: impl Fn() -> A + Sync,
        change: impl Fn(&mut A, &mut ReplyRecord) -> bool + Sync,
    ) -> Result<(Rewritten, Vec<A>), StoreError> {
        self.rewrite(run, &start, &change)
            .map_err(|error| self.describe(&error))
    }

    fn rewrite<A: Send>(
        &self,
        run: &str,
        start: &(impl Fn() -> A + Sync),
        change: &(impl Fn(&mut A, &mut ReplyRecord) -> bool + Sync),
    ) -> rusqlite::Result<(Rewritten, Vec<A>)> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let at_once = PART * threads.min(MOST_THREADS);
        let (mut rewritten, mut sums) = (Rewritten::default(), Vec::new());
        let mut read = read_after(&self.lock(), run, 0, at_once)?;
        while let Some(last) = read.last {
            rewritten.broken += read.broken.len();
            // This thread reads the next rows while the others change these.
            let next = || read_after(&self.lock(), run, last, at_once);
            let (parts, next) = in_parallel(&read.rows, start, change, next);
            let mut changed = Vec::new();
            for part in parts? {
                rewritten.broken += part.broken;
                changed.extend(part.changed);
                sums.push(part.sum);
            }
            if !changed.is_empty() {
                self.patiently(|| write_readings(&mut self.lock(), &changed))?;
            }
            rewritten.changed += changed.len();
            read = next?;
        }
        Ok((rewritten, sums))
    }
}

/// Writes readings in one transaction.
fn write_readings(connection: &mut Connection, changed: &[(i64, Reading)]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (id, reading) in changed {
        reading.rewrite(*id, &transaction)?;
    }
    transaction.commit()
}

/// What became of the records that one thread looked at.
struct Part<A> {
    sum: A,
    changed: Vec<(i64, Reading)>,
    broken: usize,
}

/// Changes rows, [`PART`] on each thread, and does something else on this one meanwhile.
fn in_parallel<A: Send, B>(
    rows: &[Raw],
    start: &(impl Fn() -> A + Sync),
    change: &(impl Fn(&mut A, &mut ReplyRecord) -> bool + Sync),
    meanwhile: impl FnOnce() -> B,
) -> (rusqlite::Result<Vec<Part<A>>>, B) {
    std::thread::scope(|scope| {
        let parts: Vec<_> = rows
            .chunks(PART)
            .map(|rows| scope.spawn(move || change_part(rows, start, change)))
            .collect();
        let other = meanwhile();
        let parts = parts
            .into_iter()
            .map(|part| match part.join() {
                Ok(part) => part,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect();
        (parts, other)
    })
}

fn change_part<A>(
    rows: &[Raw],
    start: &impl Fn() -> A,
    change: &impl Fn(&mut A, &mut ReplyRecord) -> bool,
) -> rusqlite::Result<Part<A>> {
    let mut part = Part {
        sum: start(),
        changed: Vec::new(),
        broken: 0,
    };
    for row in rows {
        // That the content is at fault is all that can go wrong here.
        let Ok(mut record) = row.record_to_read() else {
            part.broken += 1;
            continue;
        };
        if change(&mut part.sum, &mut record) {
            part.changed.push((row.id, Reading::of(&record)?));
        }
    }
    Ok(part)
}

/// Rows of a run, not taken apart.
#[derive(Default)]
struct Rows {
    rows: Vec<Raw>,
    broken: Vec<i64>,
    last: Option<i64>,
}

/// Reads the next rows of a run. The index alone says which they are, in order, so that what a page costs doesn't
/// depend on how long the run is: asked in one go, the planner may read and sort all that is left of it.
fn next_rows() -> String {
    format!(
        "{SELECT} WHERE replies.id IN (
            SELECT id FROM replies INDEXED BY replies_listed WHERE run = ?1 AND id > ?2 ORDER BY id LIMIT ?3
        ) ORDER BY replies.id"
    )
}

fn read_after(
    connection: &Connection,
    run: &str,
    after: i64,
    most: usize,
) -> rusqlite::Result<Rows> {
    let mut statement = connection.prepare_cached(&next_rows())?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![run, after, most])?;
    let mut read = Rows::default();
    while let Some(row) = rows.next()? {
        let id = row.get(0)?;
        read.last = Some(id);
        match Raw::of(row) {
            Ok(raw) => read.rows.push(raw),
            Err(error) if is_of_record(&error) => read.broken.push(id),
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

fn page(connection: &Connection, run: &str, after: i64) -> rusqlite::Result<Page> {
    let read = read_after(connection, run, after, PAGE)?;
    let mut page = Page {
        records: Vec::with_capacity(read.rows.len()),
        broken: read.broken,
        last: read.last,
    };
    for raw in read.rows {
        match raw.record() {
            Ok(record) => page.records.push(record),
            Err(_) => page.broken.push(raw.id),
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::data::store::tests::record;

    /// What SQLite does for a query, a line for each step.
    fn steps(connection: &Connection, sql: &str) -> Vec<String> {
        let mut statement = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap();
        statement
            .query_map(params!["r", 0, 10], |row| row.get(3))
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap()
    }

    #[test]
    fn a_page_reads_its_own_rows_and_sorts_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        for at in 0..50 {
            store
                .insert(&record(["r", "other"][at % 2], &format!("q{at}")))
                .unwrap();
        }
        let connection = store.lock();
        let steps = steps(&connection, &next_rows());
        let has = |wanted: &str| steps.iter().any(|step| step.contains(wanted));
        assert!(
            has("COVERING INDEX replies_listed (run=? AND id>?)"),
            "{steps:#?}"
        );
        assert!(
            has("SEARCH replies USING INTEGER PRIMARY KEY"),
            "{steps:#?}"
        );
        assert!(!has("TEMP B-TREE") && !has("SCAN"), "{steps:#?}");
        drop(connection);
        let mut seen = Vec::new();
        let mut after = 0;
        loop {
            let read = read_after(&store.lock(), "r", after, 7).unwrap();
            let Some(last) = read.last else { break };
            seen.extend(read.rows.iter().map(|row| row.id));
            after = last;
        }
        assert_eq!(seen, store.ids_of_run("r").unwrap());
        assert_eq!(seen.len(), 25);
    }
}
