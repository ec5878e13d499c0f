//! The run store: every reply with its context, prompt, settings, timing and scores (SQLite, WAL).

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, Row, params};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use bulk::Bulk;

use crate::data::output;
use crate::data::store::schema::SchemaFault;
use crate::domain::answer::ParsedReply;
use crate::domain::context::{Condition, Context};
use crate::domain::prompt::Prompt;
use crate::domain::score::Scores;

mod briefs;
mod bulk;
mod contents;
mod group;
mod judgements;
mod lock;
mod manage;
mod observations;
mod pages;
pub(in crate::data) mod schema;
#[cfg(test)]
pub(in crate::data) mod tests;

pub use briefs::{Brief, Which};
pub use contents::{RunEntry, RunGroup};
pub use judgements::JudgementRecord;
pub use lock::{RunLock, logbook};
pub use observations::settings;
pub use pages::{Page, Rewritten};

/// The store's file in the data folder.
pub const FILE_NAME: &str = "runs.sqlite";

/// Version of the records' JSON, stored with each of them.
pub const RECORD_VERSION: u32 = 1;

/// How long a store that another process writes to is waited for.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// One asked instance as it is stored: enough to show, replay and score it again without the dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplyRecord {
    /// Row id; 0 before it is stored.
    #[serde(default)]
    pub id: i64,
    /// Name of the run.
    pub run: String,
    /// Dataset name and fingerprint.
    pub dataset: String,
    /// SHA-256 of the dataset's files.
    pub dataset_fingerprint: String,
    /// The question as it stood (text, options, gold).
    pub question: crate::domain::question::Question,
    /// What was asked for.
    pub condition: Condition,
    /// What the model saw, with roles.
    pub context: Context,
    /// The messages sent.
    pub prompt: Prompt,
    /// Model identity, settings, reply, timing: as JSON, since their types live in another room.
    pub model: serde_json::Value,
    /// Name of the model, for lists.
    pub model_name: String,
    /// Sampling settings.
    pub sampling: serde_json::Value,
    /// The raw reply text; empty for a failed call.
    pub raw: String,
    /// Reply without its text (ending, usage, timing …); null for a failed call.
    pub reply: serde_json::Value,
    /// Failure (kind, message) of a call that gave no reply; null otherwise.
    pub failure: serde_json::Value,
    /// The reply as read; `None` for a failed call.
    pub parsed: Option<ParsedReply>,
    /// The scores; `None` for a failed call.
    pub scores: Option<Scores>,
    /// UTC, RFC 3339.
    pub created_at: String,
}

/// A store that can't be opened, read or written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(pub String);

/// What a run holds, for lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Name of the run.
    pub name: String,
    /// When it was begun: UTC, RFC 3339.
    pub created_at: String,
    /// When its last record was stored; `None` for a run without records.
    pub updated_at: Option<String>,
    /// Records with a reply.
    pub replies: u64,
    /// Records of calls that gave no reply.
    pub failures: u64,
    /// Different questions.
    pub questions: u64,
    /// The models, sorted.
    pub models: Vec<String>,
    /// The datasets, sorted.
    pub datasets: Vec<String>,
    /// The scenarios, sorted.
    pub scenarios: Vec<String>,
}

/// The store. Cheap to clone; safe to use from several threads.
#[derive(Debug, Clone)]
pub struct Store {
    path: Arc<Path>,
    connection: Arc<Mutex<Connection>>,
    group: Arc<group::Group>,
}

/// The columns of a record in the order of [`read_record`].
const COLUMNS: &str = "id, record_version, run, dataset, dataset_fingerprint, question, condition, context, prompt, model, model_name, sampling, raw, reply, failure, parsed, scores, created_at";

impl Store {
    /// Opens or creates the database file; migrates an older schema, refuses a newer one.
    ///
    /// # Errors
    /// [`StoreError`] with the file and what to do.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        Store::open_with(path, BUSY_TIMEOUT)
    }

    fn open_with(path: &Path, busy: Duration) -> Result<Store, StoreError> {
        if let Some(folder) = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            std::fs::create_dir_all(folder).map_err(|error| {
                StoreError(format!(
                    "the folder of the run store, {}, can't be made: {error}",
                    folder.display()
                ))
            })?;
        }
        let mut connection = Connection::open(path).map_err(|error| describe(path, &error))?;
        prepare(&mut connection, busy).map_err(|fault| match fault {
            SchemaFault::Sqlite(error) => describe(path, &error),
            SchemaFault::Newer(found) => StoreError(format!(
                "the run store {} has version {found}, but this program knows versions up to {}; update the program or use another data folder",
                path.display(),
                schema::VERSION
            )),
            SchemaFault::Foreign => StoreError(format!(
                "{} is a database of another program, not a run store; name another file or data folder",
                path.display()
            )),
        })?;
        Ok(Store {
            path: Arc::from(path),
            connection: Arc::new(Mutex::new(connection)),
            group: Arc::default(),
        })
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replies to a question in its composed contexts, newest first, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn replies_for(
        &self,
        dataset_fingerprint: &str,
        question_id: &str,
        limit: usize,
    ) -> Result<Vec<ReplyRecord>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.select(
            "WHERE dataset_fingerprint = ?1 AND question_id = ?2
                AND json_extract(context, '$.variant') IS NULL ORDER BY id DESC LIMIT ?3",
            params![dataset_fingerprint, question_id, limit],
        )
    }

    /// All records of a run in the order in which they were stored; none for an unknown run.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn replies_of_run(&self, run: &str) -> Result<Vec<ReplyRecord>, StoreError> {
        self.select("WHERE run = ?1 ORDER BY id", params![run])
    }

    /// The record with this row id.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn get(&self, id: i64) -> Result<Option<ReplyRecord>, StoreError> {
        Ok(self.select("WHERE id = ?1", params![id])?.pop())
    }

    /// Every run, the one with the newest record first.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        self.try_runs().map_err(|error| self.describe(&error))
    }

    fn try_runs(&self) -> rusqlite::Result<Vec<RunSummary>> {
        let connection = self.lock();
        let mut statement = connection.prepare(
            "SELECT runs.name, runs.created_at, max(replies.created_at),
                count(replies.id) FILTER (WHERE replies.failure = 'null'),
                count(replies.id) FILTER (WHERE replies.failure <> 'null'),
                count(DISTINCT replies.dataset_fingerprint || ' ' || replies.question_id),
                json_group_array(DISTINCT replies.model_name),
                json_group_array(DISTINCT replies.dataset),
                json_group_array(DISTINCT replies.scenario)
             FROM runs LEFT JOIN replies ON replies.run = runs.name
             GROUP BY runs.name ORDER BY max(replies.id) DESC, runs.name",
        )?;
        let names = |row: &Row<'_>, column: usize| -> rusqlite::Result<Vec<String>> {
            let names: Vec<Option<String>> = parse(row, column)?;
            let mut names: Vec<String> = names.into_iter().flatten().collect();
            names.sort();
            Ok(names)
        };
        let rows = statement.query_map([], |row| {
            Ok(RunSummary {
                name: row.get(0)?,
                created_at: row.get(1)?,
                updated_at: row.get(2)?,
                replies: count(row, 3)?,
                failures: count(row, 4)?,
                questions: count(row, 5)?,
                models: names(row, 6)?,
                datasets: names(row, 7)?,
                scenarios: names(row, 8)?,
            })
        })?;
        rows.collect()
    }

    fn select(
        &self,
        rest: &str,
        values: impl rusqlite::Params,
    ) -> Result<Vec<ReplyRecord>, StoreError> {
        let read = || {
            let connection = self.lock();
            let mut statement =
                connection.prepare_cached(&format!("SELECT {COLUMNS} FROM replies {rest}"))?;
            let rows = statement.query_map(values, read_record)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let read: rusqlite::Result<Vec<ReplyRecord>> = read();
        read.map_err(|error| self.describe(&error))
    }

    /// Makes every later write fail: for tests of what happens then.
    #[cfg(test)]
    pub(crate) fn make_read_only(&self) {
        let _ = self.lock().pragma_update(None, "query_only", true);
    }

    /// A panic elsewhere leaves the connection usable: SQLite undoes an open transaction.
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn describe(&self, error: &rusqlite::Error) -> StoreError {
        describe(&self.path, error)
    }
}

/// The name under which an outcome is indexed: of the reply as read, or `failed:KIND`.
fn outcome(record: &ReplyRecord) -> String {
    let name = |value: serde_json::Result<serde_json::Value>| {
        value
            .ok()
            .and_then(|value| value.as_str().map(str::to_owned))
    };
    match &record.parsed {
        Some(parsed) => name(serde_json::to_value(parsed.outcome)).unwrap_or_default(),
        None => {
            let kind = record.failure.get("kind").and_then(|kind| kind.as_str());
            format!("failed:{}", kind.unwrap_or("unknown"))
        }
    }
}

/// Writes a record that the store did not take as JSON into `unsaved-….json` beside the store, or into the
/// folder for temporary files where that fails too, and gives the file.
///
/// # Errors
/// [`StoreError`] where neither folder takes it.
pub fn save_beside(store: &Path, record: &ReplyRecord) -> Result<PathBuf, StoreError> {
    #[derive(Serialize)]
    struct Unsaved<'a> {
        version: u32,
        #[serde(flatten)]
        record: &'a ReplyRecord,
    }
    let unsaved = Unsaved {
        version: RECORD_VERSION,
        record,
    };
    let text = serde_json::to_vec_pretty(&unsaved)
        .map_err(|error| StoreError(format!("the record can't be written as JSON: {error}")))?;
    let folder = store.parent().unwrap_or(Path::new("."));
    write_new(folder, &text)
        .or_else(|_| write_new(&std::env::temp_dir(), &text))
        .map_err(|error| {
            StoreError(format!(
                "the reply can be saved neither in {} nor in the folder for temporary files: {}",
                folder.display(),
                output::reason(&error)
            ))
        })
}

/// Writes a new file under a name that no other has.
fn write_new(folder: &Path, bytes: &[u8]) -> std::io::Result<PathBuf> {
    use std::io::Write;
    let mut file = tempfile::Builder::new()
        .prefix("unsaved-")
        .suffix(".json")
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    let (_, path) = file.keep().map_err(|error| error.error)?;
    Ok(path)
}

fn prepare(connection: &mut Connection, busy: Duration) -> Result<(), SchemaFault> {
    connection.busy_timeout(busy)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    schema::migrate(connection)?;
    // Readers never wait for writers; FULL syncs every commit, so that what is stored survives a power cut.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(())
}

fn read_record(row: &Row<'_>) -> rusqlite::Result<ReplyRecord> {
    Ok(ReplyRecord {
        id: row.get(0)?,
        run: row.get(2)?,
        dataset: row.get(3)?,
        dataset_fingerprint: row.get(4)?,
        question: parse(row, 5)?,
        condition: parse(row, 6)?,
        context: parse(row, 7)?,
        prompt: parse(row, 8)?,
        model: parse(row, 9)?,
        model_name: row.get(10)?,
        sampling: parse(row, 11)?,
        raw: row.get(12)?,
        reply: parse(row, 13)?,
        failure: parse(row, 14)?,
        parsed: parse(row, 15)?,
        scores: parse(row, 16)?,
        created_at: row.get(17)?,
    })
}

/// A count, which SQLite gives with a sign.
fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

/// A value as the JSON of its column.
fn json(value: &impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn parse<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            rusqlite::types::Type::Text,
            Box::new(error),
        )
    })
}

/// One clear sentence for an error of SQLite.
fn describe(path: &Path, error: &rusqlite::Error) -> StoreError {
    let file = path.display();
    let code = error.sqlite_error_code();
    StoreError(match code {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => format!(
            "the run store {file} is locked by another program; close that program or try again"
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => format!(
            "the run store {file} can't be written (read-only); change its permissions or use another data folder"
        ),
        Some(ErrorCode::DiskFull) => {
            format!("the disk with the run store {file} is full; make room and try again")
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => format!(
            "{file} is damaged or no run store; move it away and a new one is made, or bring it back from a copy"
        ),
        Some(ErrorCode::CannotOpen) => format!(
            "the run store {file} can't be opened; check that it is a file in a folder that can be written"
        ),
        Some(ErrorCode::SystemIoFailure) => {
            format!("the run store {file} can't be read or written ({error}); check the disk")
        }
        _ if matches!(error, rusqlite::Error::FromSqlConversionFailure(..)) => format!(
            "a record of the run store {file} can't be read ({error}); it was perhaps written by another version of the program"
        ),
        _ => format!("the run store {file} failed: {error}"),
    })
}
