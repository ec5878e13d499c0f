//! Histories on disk that are only ever added to (SQLite, WAL): what people said of something, act by act, by hand. Each
//! act is durable before [`Journal::add`] returns, so that a kill loses at most the one in flight.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use tempfile::TempDir;

use crate::data::clock::now;
use crate::data::output;
use crate::data::reading::{self, ReadFault, Reading};
use crate::data::store::StoreError;
use crate::data::store::schema::{SchemaFault, bring_to};
use crate::domain::annotation::{Hand, Part};
use crate::domain::text::short;

/// Migration k leads from version k to version k + 1. `run` is what the acts are about: a run, or a dataset.
const MIGRATIONS: [&str; 1] = ["CREATE TABLE events (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        event_version INTEGER NOT NULL,
        run TEXT NOT NULL,
        annotator TEXT NOT NULL,
        part TEXT NOT NULL,
        at TEXT NOT NULL,
        taxonomy TEXT NOT NULL,
        act TEXT NOT NULL
    ) STRICT;
    CREATE INDEX events_by_hand ON events (run, annotator, part, id);
    CREATE TABLE queues (
        run TEXT NOT NULL,
        annotator TEXT NOT NULL,
        part TEXT NOT NULL,
        choice TEXT NOT NULL,
        PRIMARY KEY (run, annotator, part)
    ) STRICT;"];

/// How long a file that another process writes to is waited for.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// What kind of journal a file is.
#[derive(Debug)]
pub(in crate::data) struct Kind {
    /// Marks the file as ours.
    pub application_id: i32,
    /// What it holds, in the plural: "annotations".
    pub noun: &'static str,
    /// Version of the acts' JSON, stored with each of them; newer ones are refused.
    pub act_version: u32,
}

/// An open journal. Cheap to clone; safe to use from several threads.
#[derive(Debug, Clone)]
pub(in crate::data) struct Journal {
    kind: &'static Kind,
    path: Arc<Path>,
    connection: Arc<Mutex<Connection>>,
    /// The copy that is read where the file itself can't be.
    _copy: Option<Arc<TempDir>>,
}

/// An act as it is stored.
#[derive(Debug)]
pub(in crate::data) struct Stored {
    /// Whose it is; `None` for a part that is not known.
    pub hand: Option<Hand>,
    /// UTC, RFC 3339.
    pub at: String,
    /// What stood beside it: the taxonomy of a label.
    pub stamp: String,
    /// Its JSON.
    pub act: String,
}

impl Journal {
    /// Opens or creates a file; migrates an older schema, refuses a newer one.
    ///
    /// # Errors
    /// [`StoreError`] with the file and what to do.
    pub fn open(path: &Path, kind: &'static Kind) -> Result<Journal, StoreError> {
        let noun = kind.noun;
        if let Some(folder) = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            std::fs::create_dir_all(folder).map_err(|error| {
                StoreError(format!(
                    "the folder of the {noun}, {}, can't be made: {error}",
                    folder.display()
                ))
            })?;
        }
        let mut connection =
            Connection::open(path).map_err(|error| describe(kind, path, &error))?;
        prepare(&mut connection, kind).map_err(|fault| refused(kind, path, fault))?;
        Ok(Journal::with(kind, path, connection, None))
    }

    /// Opens a file that is there, only to read it, as [`crate::data::store::Store::open_for_reading`] does.
    ///
    /// # Errors
    /// [`StoreError`] with the file and what to do.
    pub fn open_for_reading(path: &Path, kind: &'static Kind) -> Result<Journal, StoreError> {
        let opened = reading::open(path, BUSY_TIMEOUT, kind.application_id, &MIGRATIONS);
        let Reading { connection, copy } = opened.map_err(|fault| match fault {
            ReadFault::Schema(fault) => refused(kind, path, fault),
            ReadFault::Copy(error) => StoreError(format!(
                "the {} {} can only be read from a copy, and the copy can't be made: {}; set TMPDIR to a folder with room",
                kind.noun,
                path.display(),
                output::reason(&error)
            )),
        })?;
        Ok(Journal::with(kind, path, connection, copy))
    }

    fn with(
        kind: &'static Kind,
        path: &Path,
        connection: Connection,
        copy: Option<TempDir>,
    ) -> Journal {
        Journal {
            kind,
            path: Arc::from(path),
            connection: Arc::new(Mutex::new(connection)),
            _copy: copy.map(Arc::new),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes an act durably, with the time of now where `at` is empty, and gives that time.
    ///
    /// # Errors
    /// [`StoreError`], for example when the disk is full.
    pub fn add(
        &self,
        subject: &str,
        hand: &Hand,
        at: &str,
        stamp: &str,
        act: &impl serde::Serialize,
    ) -> Result<String, StoreError> {
        let at = match at.is_empty() {
            true => now(),
            false => at.to_owned(),
        };
        let add = || -> rusqlite::Result<()> {
            let act = serde_json::to_string(act)
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
            self.lock()
                .prepare_cached(
                    "INSERT INTO events (event_version, run, annotator, part, at, taxonomy, act)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?
                .execute(params![
                    self.kind.act_version,
                    subject,
                    hand.annotator,
                    hand.part.name(),
                    at,
                    stamp,
                    act
                ])
                .map(drop)
        };
        add().map_err(|error| self.describe(&error))?;
        Ok(at)
    }

    /// Every act on something, in the order in which they were done.
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be read, or holds an act of a later program.
    pub fn acts(&self, subject: &str) -> Result<Vec<Stored>, StoreError> {
        let read = || -> rusqlite::Result<Vec<(u32, Stored)>> {
            let connection = self.lock();
            let mut statement = connection.prepare_cached(
                "SELECT event_version, annotator, part, at, taxonomy, act FROM events
                 WHERE run = ?1 ORDER BY id",
            )?;
            let rows = statement.query_map(params![subject], |row| {
                let annotator: String = row.get(1)?;
                let part: String = row.get(2)?;
                let stored = Stored {
                    hand: Part::named(&part).map(|part| Hand { annotator, part }),
                    at: row.get(3)?,
                    stamp: row.get(4)?,
                    act: row.get(5)?,
                };
                Ok((row.get(0)?, stored))
            })?;
            rows.collect()
        };
        let rows = read().map_err(|error| self.describe(&error))?;
        let known = self.kind.act_version;
        if let Some((version, _)) = rows.iter().find(|(version, _)| *version > known) {
            return Err(StoreError(format!(
                "{} holds an act of version {version} for \"{}\", but this program knows versions up to {known}; update the program",
                self.path.display(),
                short(subject)
            )));
        }
        Ok(rows.into_iter().map(|(_, stored)| stored).collect())
    }

    /// How many acts of somebody there are on something.
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be read.
    pub fn count(&self, subject: &str, hand: &Hand) -> Result<usize, StoreError> {
        let count: rusqlite::Result<i64> = self
            .lock()
            .prepare_cached(
                "SELECT count(*) FROM events WHERE run = ?1 AND annotator = ?2 AND part = ?3",
            )
            .and_then(|mut statement| {
                let whose = params![subject, hand.annotator, hand.part.name()];
                statement.query_row(whose, |row| row.get(0))
            });
        let count = count.map_err(|error| self.describe(&error))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// What there are acts on, the one with the newest first.
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be read.
    pub fn subjects(&self) -> Result<Vec<String>, StoreError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let connection = self.lock();
            let mut statement = connection
                .prepare_cached("SELECT run FROM events GROUP BY run ORDER BY max(id) DESC")?;
            let rows = statement.query_map([], |row| row.get(0))?;
            rows.collect()
        };
        read().map_err(|error| self.describe(&error))
    }

    /// Remembers what somebody's queue shows (the explorer's own JSON).
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be written.
    pub fn set_queue(&self, subject: &str, hand: &Hand, choice: &str) -> Result<(), StoreError> {
        self.lock()
            .execute(
                "INSERT INTO queues (run, annotator, part, choice) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (run, annotator, part) DO UPDATE SET choice = ?4",
                params![subject, hand.annotator, hand.part.name(), choice],
            )
            .map(drop)
            .map_err(|error| self.describe(&error))
    }

    /// What [`Journal::set_queue`] remembered.
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be read.
    pub fn queue(&self, subject: &str, hand: &Hand) -> Result<Option<String>, StoreError> {
        self.lock()
            .query_row(
                "SELECT choice FROM queues WHERE run = ?1 AND annotator = ?2 AND part = ?3",
                params![subject, hand.annotator, hand.part.name()],
                |row| row.get(0),
            )
            .optional()
            .map_err(|error| self.describe(&error))
    }

    /// A panic elsewhere leaves the connection usable: SQLite undoes an open transaction.
    pub(in crate::data) fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn describe(&self, error: &rusqlite::Error) -> StoreError {
        describe(self.kind, &self.path, error)
    }
}

fn prepare(connection: &mut Connection, kind: &Kind) -> Result<(), SchemaFault> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    bring_to(connection, kind.application_id, &MIGRATIONS)?;
    // FULL syncs every commit, so that what is stored survives a power cut.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(())
}

/// One clear sentence for a file that is no such journal.
fn refused(kind: &Kind, path: &Path, fault: SchemaFault) -> StoreError {
    let noun = kind.noun;
    match fault {
        SchemaFault::Sqlite(error) => describe(kind, path, &error),
        SchemaFault::Newer(found) => StoreError(format!(
            "the {noun} {} have version {found}, but this program knows versions up to {}; update the program or use another data folder",
            path.display(),
            MIGRATIONS.len()
        )),
        SchemaFault::Foreign => StoreError(format!(
            "{} is a database of another program and holds no {noun}; name another data folder",
            path.display()
        )),
        SchemaFault::NoVersion => StoreError(format!(
            "the {noun} {} have lost their version (user_version is 0 although there are tables), so they can't be read safely; bring them back from a copy, or use another data folder",
            path.display()
        )),
    }
}

/// One clear sentence for an error of SQLite.
fn describe(kind: &Kind, path: &Path, error: &rusqlite::Error) -> StoreError {
    let (file, noun) = (path.display(), kind.noun);
    StoreError(match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => format!(
            "the {noun} {file} are locked by another program; close that program or try again"
        ),
        Some(ErrorCode::CannotOpen) => format!(
            "the {noun} {file} can't be opened; check that it is a file that you may read (to add to it, in a folder that can be written)"
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => format!(
            "the {noun} {file} can't be written (read-only); change their permissions or use another data folder"
        ),
        Some(ErrorCode::DiskFull) => {
            format!("the disk with the {noun} {file} is full; make room and try again")
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => format!(
            "{file} is damaged or holds no {noun}; bring it back from a copy, or move it away to begin anew"
        ),
        _ => format!("the {noun} {file} failed: {error}"),
    })
}
