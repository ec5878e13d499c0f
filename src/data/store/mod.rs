//! The run store: every reply with its context, prompt, settings, timing and scores (SQLite, WAL).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, Row, params};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

pub use bulk::Bulk;

use crate::data::output;
use crate::data::reading::{self, ReadFault, Reading};
use crate::data::store::names::Names;
use crate::data::store::raw::{Raw, SELECT};
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
mod names;
mod observations;
mod pages;
mod patience;
mod raw;
mod requests;
pub(in crate::data) mod schema;
#[cfg(test)]
pub(crate) mod tests;
mod unsaved;

pub use briefs::{Brief, BriefQuestion, Identify, Which};
pub use contents::{EntryScores, FailedCall, RunEntry, RunGroup};
pub use judgements::JudgementRecord;
pub use lock::{RunLock, logbook};
pub use observations::settings;
pub use pages::{Page, Rewritten};
pub use unsaved::Unsaved;

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
    /// Hash of the whole request, by which the same request is found again in any run; `None` where nothing tells
    /// what exactly was asked (imported replies, those of earlier versions).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Where the reply was asked for, if this is a copy from another run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// Where a reply that was not asked for again comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Name of the run in which the model was asked.
    pub run: String,
    /// When the reply came: UTC, RFC 3339.
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
    aside: Arc<unsaved::Aside>,
    patience: Arc<patience::Patience>,
    /// The copy that is read where the file itself can't be; it goes with the last that reads it, after the connection.
    _copy: Option<Arc<TempDir>>,
}

/// How many replies came and failed, what was asked of whom: of every run.
#[derive(Default)]
struct Listed {
    last_id: i64,
    updated_at: String,
    replies: u64,
    failures: u64,
    questions: HashSet<(Arc<str>, Arc<str>)>,
    models: BTreeSet<Arc<str>>,
    datasets: BTreeSet<Arc<str>>,
    scenarios: BTreeSet<Arc<str>>,
}

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
        prepare(&mut connection, busy).map_err(|fault| refused(path, fault))?;
        Ok(Store::with(path, connection, None))
    }

    /// Opens a store that is there, only to read it: it works in a folder that can't be written, and changes
    /// neither the file nor its neighbours. A store of an earlier version is migrated in a copy. Writing to it fails.
    ///
    /// # Errors
    /// [`StoreError`] with the file and what to do.
    pub fn open_for_reading(path: &Path) -> Result<Store, StoreError> {
        let opened = reading::open(
            path,
            BUSY_TIMEOUT,
            schema::APPLICATION_ID,
            &schema::MIGRATIONS,
        );
        let Reading { connection, copy } = opened.map_err(|fault| match fault {
            ReadFault::Schema(fault) => refused(path, fault),
            ReadFault::Copy(error) => StoreError(format!(
                "the run store {} can only be read from a copy (it is of an earlier version, or was left in the middle of its work, and can't be written), and the copy can't be made: {}; set TMPDIR to a folder with room, or copy the store to a folder that can be written",
                path.display(),
                output::reason(&error)
            )),
        })?;
        Ok(Store::with(path, connection, copy))
    }

    fn with(path: &Path, connection: Connection, copy: Option<TempDir>) -> Store {
        Store {
            path: Arc::from(path),
            connection: Arc::new(Mutex::new(connection)),
            group: Arc::default(),
            aside: Arc::default(),
            patience: Arc::default(),
            _copy: copy.map(Arc::new),
        }
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
            "WHERE dataset_fingerprint = ?1 AND question_id = ?2 AND NOT changed
                ORDER BY replies.id DESC LIMIT ?3",
            params![dataset_fingerprint, question_id, limit],
        )
    }

    /// Of the replies to a question in its composed contexts, the newest of every model, condition and outcome, newest
    /// first, at most `limit`: what a screen shows of them, however often one model was asked after another.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn newest_replies(
        &self,
        dataset_fingerprint: &str,
        question_id: &str,
        limit: usize,
    ) -> Result<Vec<ReplyRecord>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.select(
            "WHERE replies.id IN (
                SELECT max(id) FROM replies WHERE dataset_fingerprint = ?1 AND question_id = ?2 AND NOT changed
                GROUP BY model_name, condition, outcome)
                ORDER BY replies.id DESC LIMIT ?3",
            params![dataset_fingerprint, question_id, limit],
        )
    }

    /// All records of a run in the order in which they were stored; none for an unknown run.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn replies_of_run(&self, run: &str) -> Result<Vec<ReplyRecord>, StoreError> {
        self.select("WHERE run = ?1 ORDER BY replies.id", params![run])
    }

    /// The record with this row id.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn get(&self, id: i64) -> Result<Option<ReplyRecord>, StoreError> {
        Ok(self.select("WHERE replies.id = ?1", params![id])?.pop())
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
        let mut begun = connection.prepare_cached("SELECT name, created_at FROM runs")?;
        let begun: Vec<(String, String)> = begun
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let mut statement = connection.prepare_cached(
            "SELECT run, id, dataset, dataset_fingerprint, question_id, scenario, model_name, outcome, created_at
             FROM replies INDEXED BY replies_listed",
        )?;
        let mut rows = statement.query([])?;
        let mut names = Names::default();
        let mut listed: HashMap<Arc<str>, Listed> = HashMap::new();
        while let Some(row) = rows.next()? {
            let run = names.column(row, 0)?;
            listed.entry(run).or_default().add(row, &mut names)?;
        }
        let mut runs: Vec<(i64, RunSummary)> = begun
            .into_iter()
            .map(|(name, created_at)| {
                let listed = listed.remove(name.as_str()).unwrap_or_default();
                (listed.last_id, listed.summary(name, created_at))
            })
            .collect();
        runs.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
        Ok(runs.into_iter().map(|(_, summary)| summary).collect())
    }

    fn select(
        &self,
        rest: &str,
        values: impl rusqlite::Params,
    ) -> Result<Vec<ReplyRecord>, StoreError> {
        let read = || {
            let connection = self.lock();
            let mut statement = connection.prepare_cached(&format!("{SELECT} {rest}"))?;
            let rows = statement.query_map(values, |row| Raw::of(row)?.record())?;
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

impl Listed {
    /// Adds a record, of which the columns from the second on are read.
    fn add(&mut self, row: &Row<'_>, names: &mut Names) -> rusqlite::Result<()> {
        self.last_id = self.last_id.max(row.get(1)?);
        self.datasets.insert(names.column(row, 2)?);
        let question = (names.column(row, 3)?, names.column(row, 4)?);
        self.questions.insert(question);
        self.scenarios.insert(names.column(row, 5)?);
        self.models.insert(names.column(row, 6)?);
        match row.get_ref(7)?.as_str()?.starts_with(FAILED) {
            true => self.failures += 1,
            false => self.replies += 1,
        }
        let created_at = row.get_ref(8)?.as_str()?;
        if created_at > self.updated_at.as_str() {
            created_at.clone_into(&mut self.updated_at);
        }
        Ok(())
    }

    fn summary(self, name: String, created_at: String) -> RunSummary {
        let texts = |names: BTreeSet<Arc<str>>| names.iter().map(ToString::to_string).collect();
        RunSummary {
            name,
            created_at,
            updated_at: (self.last_id > 0).then_some(self.updated_at),
            replies: self.replies,
            failures: self.failures,
            questions: self.questions.len() as u64,
            models: texts(self.models),
            datasets: texts(self.datasets),
            scenarios: texts(self.scenarios),
        }
    }
}

/// How the outcome of a call begins that gave no reply; its kind follows.
const FAILED: &str = "failed:";

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
            format!("{FAILED}{}", kind.unwrap_or("unknown"))
        }
    }
}

fn prepare(connection: &mut Connection, busy: Duration) -> Result<(), SchemaFault> {
    connection.busy_timeout(busy)?;
    // Else dropping a table that a migration replaces would drop what refers to it too.
    connection.pragma_update(None, "foreign_keys", false)?;
    schema::migrate(connection)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // Readers never wait for writers; FULL syncs every commit, so that what is stored survives a power cut.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(())
}

/// One clear sentence for a file that is no store of this program.
fn refused(path: &Path, fault: SchemaFault) -> StoreError {
    match fault {
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
        SchemaFault::NoVersion => StoreError(format!(
            "the run store {} has lost its version (user_version is 0 although it has tables), so it can't be read safely; bring it back from a copy, or use another data folder",
            path.display()
        )),
    }
}

/// A value as the JSON of its column.
fn json(value: &impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn parse<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    parse_text(row.get_ref(column)?.as_str()?, column)
}

/// Reads the JSON of a column.
fn parse_text<T: DeserializeOwned>(text: &str, column: usize) -> rusqlite::Result<T> {
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
    if path.is_dir() {
        // SQLite calls that an error of the disk when it is only read.
        return StoreError(format!(
            "the run store {file} is a folder, but a file is expected; move the folder away, or set another data folder"
        ));
    }
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
            "the run store {file} can't be opened; check that it is a file that you may read (to store replies, in a folder that can be written)"
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
