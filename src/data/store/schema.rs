//! The database's schema: one migration per version, applied in order and never changed afterwards.

use std::cmp::Ordering;

use rusqlite::{Connection, TransactionBehavior};

/// Marks the file as ours (`MRGB`), so that no other program's database is ever migrated.
pub(super) const APPLICATION_ID: i32 = 0x4d52_4742;

/// Migration k leads from version k to version k + 1.
pub(super) const MIGRATIONS: [&str; 4] = [
    "CREATE TABLE runs (
        name TEXT PRIMARY KEY NOT NULL,
        created_at TEXT NOT NULL
    ) STRICT;
    CREATE TABLE replies (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        record_version INTEGER NOT NULL,
        run TEXT NOT NULL REFERENCES runs (name),
        dataset TEXT NOT NULL,
        dataset_fingerprint TEXT NOT NULL,
        question_id TEXT NOT NULL,
        scenario TEXT NOT NULL,
        model_name TEXT NOT NULL,
        outcome TEXT NOT NULL,
        created_at TEXT NOT NULL,
        question TEXT NOT NULL,
        condition TEXT NOT NULL,
        context TEXT NOT NULL,
        prompt TEXT NOT NULL,
        model TEXT NOT NULL,
        sampling TEXT NOT NULL,
        raw TEXT NOT NULL,
        reply TEXT NOT NULL,
        failure TEXT NOT NULL,
        parsed TEXT NOT NULL,
        scores TEXT NOT NULL
    ) STRICT;",
    "CREATE INDEX replies_by_question ON replies (dataset_fingerprint, question_id, id);
    CREATE INDEX replies_by_run ON replies (run, scenario, outcome, id);
    CREATE INDEX replies_by_time ON replies (created_at);",
    "CREATE TABLE judgements (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        reply INTEGER NOT NULL REFERENCES replies (id) ON DELETE CASCADE,
        sub INTEGER NOT NULL,
        judge TEXT NOT NULL,
        given TEXT NOT NULL,
        raw TEXT NOT NULL,
        score REAL,
        failure TEXT NOT NULL,
        created_at TEXT NOT NULL
    ) STRICT;
    CREATE INDEX judgements_by_reply ON judgements (reply, judge, sub, id);",
    include_str!("wide_to_narrow.sql"),
];

/// The version that this program writes.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

/// Why the schema can't be used.
#[derive(Debug)]
pub(in crate::data) enum SchemaFault {
    /// SQLite's own error.
    Sqlite(rusqlite::Error),
    /// A later program made the file.
    Newer(i64),
    /// A database of some other program.
    Foreign,
    /// It is marked as ours and has tables, but no version.
    NoVersion,
}

impl From<rusqlite::Error> for SchemaFault {
    fn from(error: rusqlite::Error) -> Self {
        SchemaFault::Sqlite(error)
    }
}

/// Brings the schema to [`VERSION`]; all migrations happen in one transaction, or none does. Foreign keys must be
/// off, since tables are replaced by others of the same name.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), SchemaFault> {
    bring_to(connection, APPLICATION_ID, &MIGRATIONS)
}

/// Brings the schema of a database to the version that the migrations lead to; all of them happen in one
/// transaction, or none does. `id` marks the file as one of its kind.
pub(in crate::data) fn bring_to(
    connection: &mut Connection,
    id: i32,
    migrations: &[&str],
) -> Result<(), SchemaFault> {
    if let Standing::Newest = standing(connection, id, migrations)? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated while this one waited for the lock.
    if let Standing::Newest = standing(&transaction, id, migrations)? {
        return Ok(());
    }
    let found = version(&transaction)?;
    let applied = usize::try_from(found).unwrap_or(0);
    for migration in migrations.iter().skip(applied) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", id)?;
    transaction.pragma_update(None, "user_version", newest(migrations))?;
    transaction.commit()?;
    Ok(())
}

/// How a database stands to the version that migrations lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::data) enum Standing {
    /// It has this version.
    Newest,
    /// It is empty or has an earlier version.
    Older,
}

/// How a database stands to the version that the migrations lead to; changes nothing.
///
/// # Errors
/// [`SchemaFault`] for a later version and for a database of another kind.
pub(in crate::data) fn standing(
    connection: &Connection,
    id: i32,
    migrations: &[&str],
) -> Result<Standing, SchemaFault> {
    let found = version(connection)?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let is_new = found == 0 && tables == 0;
    if found < 0 || !(is_new || application(connection)? == id) {
        return Err(SchemaFault::Foreign);
    }
    if found == 0 && !is_new {
        return Err(SchemaFault::NoVersion);
    }
    match found.cmp(&newest(migrations)) {
        Ordering::Less => Ok(Standing::Older),
        Ordering::Equal => Ok(Standing::Newest),
        Ordering::Greater => Err(SchemaFault::Newer(found)),
    }
}

/// The version that the migrations lead to.
fn newest(migrations: &[&str]) -> i64 {
    i64::try_from(migrations.len()).unwrap_or(i64::MAX)
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn application(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "application_id", |row| row.get(0))
}

/// Makes a file as version `version` of this program left it: for tests of migrations.
#[cfg(test)]
pub(super) fn make_old(connection: &Connection, version: usize) -> rusqlite::Result<()> {
    for migration in &MIGRATIONS[..version] {
        connection.execute_batch(migration)?;
    }
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", version as i64)
}
