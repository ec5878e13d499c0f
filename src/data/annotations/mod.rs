//! Annotations on disk: a history that is only ever added to, beside the run store (SQLite, WAL). Each act is
//! durable before [`Annotations::add`] returns, so that a kill loses at most the one in flight.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use tempfile::TempDir;

use crate::data::annotations::record::ActRecord;
use crate::data::output;
use crate::data::reading::{self, ReadFault, Reading};
use crate::data::store::schema::{SchemaFault, bring_to};
use crate::data::store::{ReplyRecord, StoreError};
use crate::domain::annotation::{Act, Book, Event, Hand, Part, ReplyMarks, Taxonomy};
use crate::domain::text::short;

mod file;
mod record;

pub use file::{AnnotationRow, ExportRow, facts, read_row, write_csv, write_jsonl};

/// The file in the data folder.
pub const FILE_NAME: &str = "annotations.sqlite";

/// Version of the acts' JSON, stored with each of them.
const EVENT_VERSION: u32 = 1;

/// Marks the file as ours (`MRGA`).
const APPLICATION_ID: i32 = 0x4d52_4741;

/// Migration k leads from version k to version k + 1.
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

/// The annotations of all runs. Cheap to clone; safe to use from several threads.
#[derive(Debug, Clone)]
pub struct Annotations {
    path: Arc<Path>,
    connection: Arc<Mutex<Connection>>,
    /// The copy that is read where the file itself can't be.
    _copy: Option<Arc<TempDir>>,
}

/// The annotations of one run by everybody.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shelf {
    /// The book of each hand, sorted by name.
    pub books: BTreeMap<Hand, Book>,
    /// Acts that can't be read; they are left out.
    pub broken: usize,
}

impl Shelf {
    /// The annotators' books with their names.
    pub fn annotators(&self) -> Vec<(String, &Book)> {
        let all = self.books.iter();
        all.filter(|(hand, book)| {
            hand.part == Part::Annotator && book.annotations().next().is_some()
        })
        .map(|(hand, book)| (hand.annotator.clone(), book))
        .collect()
    }
}

impl Annotations {
    /// Opens or creates the file; migrates an older schema, refuses a newer one.
    ///
    /// # Errors
    /// [`StoreError`] with the file and what to do.
    pub fn open(path: &Path) -> Result<Annotations, StoreError> {
        if let Some(folder) = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            std::fs::create_dir_all(folder).map_err(|error| {
                StoreError(format!(
                    "the folder of the annotations, {}, can't be made: {error}",
                    folder.display()
                ))
            })?;
        }
        let mut connection = Connection::open(path).map_err(|error| describe(path, &error))?;
        prepare(&mut connection).map_err(|fault| refused(path, fault))?;
        Ok(Annotations::with(path, connection, None))
    }

    /// Opens a file that is there, only to read it, as [`crate::data::store::Store::open_for_reading`] does.
    ///
    /// # Errors
    /// [`StoreError`] with the file and what to do.
    pub fn open_for_reading(path: &Path) -> Result<Annotations, StoreError> {
        let opened = reading::open(path, BUSY_TIMEOUT, APPLICATION_ID, &MIGRATIONS);
        let Reading { connection, copy } = opened.map_err(|fault| match fault {
            ReadFault::Schema(fault) => refused(path, fault),
            ReadFault::Copy(error) => StoreError(format!(
                "the annotations {} can only be read from a copy, and the copy can't be made: {}; set TMPDIR to a folder with room",
                path.display(),
                output::reason(&error)
            )),
        })?;
        Ok(Annotations::with(path, connection, copy))
    }

    fn with(path: &Path, connection: Connection, copy: Option<TempDir>) -> Annotations {
        Annotations {
            path: Arc::from(path),
            connection: Arc::new(Mutex::new(connection)),
            _copy: copy.map(Arc::new),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes an act durably, with the time of now unless it has one, and gives that time.
    ///
    /// # Errors
    /// [`StoreError`], for example when the disk is full.
    pub fn add(&self, run: &str, hand: &Hand, event: &Event) -> Result<String, StoreError> {
        let at = match event.at.is_empty() {
            true => now(),
            false => event.at.clone(),
        };
        let add = || -> rusqlite::Result<()> {
            let act = serde_json::to_string(&ActRecord::of(&event.act))
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
            self.lock()
                .prepare_cached(
                    "INSERT INTO events (event_version, run, annotator, part, at, taxonomy, act)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?
                .execute(params![
                    EVENT_VERSION,
                    run,
                    hand.annotator,
                    hand.part.name(),
                    at,
                    event.taxonomy,
                    act
                ])
                .map(drop)
        };
        add().map_err(|error| describe(&self.path, &error))?;
        Ok(at)
    }

    /// Everything that was said of a run's replies.
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be read, or holds an act of a later program.
    pub fn of_run(&self, run: &str) -> Result<Shelf, StoreError> {
        let read = || -> rusqlite::Result<Vec<(u32, String, String, Stored)>> {
            let connection = self.lock();
            let mut statement = connection.prepare_cached(
                "SELECT event_version, annotator, part, at, taxonomy, act FROM events
                 WHERE run = ?1 ORDER BY id",
            )?;
            let rows = statement.query_map(params![run], |row| {
                Ok((
                    row.get(0)?,
                    row.get(1)?,
                    row.get(2)?,
                    Stored {
                        at: row.get(3)?,
                        taxonomy: row.get(4)?,
                        act: row.get(5)?,
                    },
                ))
            })?;
            rows.collect()
        };
        let rows = read().map_err(|error| describe(&self.path, &error))?;
        let mut shelf = Shelf::default();
        for (version, annotator, part, stored) in rows {
            if version > EVENT_VERSION {
                return Err(StoreError(format!(
                    "{} holds an annotation of version {version} for the run \"{}\", but this program knows versions up to {EVENT_VERSION}; update the program",
                    self.path.display(),
                    short(run)
                )));
            }
            match (Part::named(&part), stored.read()) {
                (Some(part), Some(event)) => {
                    shelf
                        .books
                        .entry(Hand { annotator, part })
                        .or_default()
                        .apply(&event);
                }
                _ => shelf.broken += 1,
            }
        }
        Ok(shelf)
    }

    /// The runs that have annotations, the one with the newest first.
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be read.
    pub fn runs(&self) -> Result<Vec<String>, StoreError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let connection = self.lock();
            let mut statement = connection
                .prepare_cached("SELECT run FROM events GROUP BY run ORDER BY max(id) DESC")?;
            let rows = statement.query_map([], |row| row.get(0))?;
            rows.collect()
        };
        read().map_err(|error| describe(&self.path, &error))
    }

    /// Remembers which replies somebody's queue of a run shows (the explorer's own JSON).
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be written.
    pub fn set_queue(&self, run: &str, hand: &Hand, choice: &str) -> Result<(), StoreError> {
        self.lock()
            .execute(
                "INSERT INTO queues (run, annotator, part, choice) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (run, annotator, part) DO UPDATE SET choice = ?4",
                params![run, hand.annotator, hand.part.name(), choice],
            )
            .map(drop)
            .map_err(|error| describe(&self.path, &error))
    }

    /// What [`Annotations::set_queue`] remembered.
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be read.
    pub fn queue(&self, run: &str, hand: &Hand) -> Result<Option<String>, StoreError> {
        self.lock()
            .query_row(
                "SELECT choice FROM queues WHERE run = ?1 AND annotator = ?2 AND part = ?3",
                params![run, hand.annotator, hand.part.name()],
                |row| row.get(0),
            )
            .optional()
            .map_err(|error| describe(&self.path, &error))
    }

    /// A panic elsewhere leaves the connection usable: SQLite undoes an open transaction.
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// An act as it is stored.
struct Stored {
    at: String,
    taxonomy: String,
    act: String,
}

impl Stored {
    fn read(self) -> Option<Event> {
        let act: ActRecord = serde_json::from_str(&self.act).ok()?;
        Some(Event {
            at: self.at,
            taxonomy: self.taxonomy,
            act: Act::from(act),
        })
    }
}

/// The file of annotations beside a run store.
pub fn beside(store: &Path) -> PathBuf {
    store.with_file_name(FILE_NAME)
}

/// The id by which annotations name a stored reply.
pub fn reply_id(record: &ReplyRecord) -> String {
    ReplyMarks {
        dataset_fingerprint: &record.dataset_fingerprint,
        question_id: &record.question.id,
        condition: &record.condition,
        variant: record.context.variant.as_deref(),
        model: &record.model_name,
        created_at: &record.created_at,
        raw: &record.raw,
    }
    .id()
}

/// Reads a taxonomy file.
///
/// # Errors
/// One sentence: the file, the line, what is wrong.
pub fn open_taxonomy(path: &Path) -> Result<Taxonomy, String> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("the taxonomy {shown} can't be read: {error}"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Taxonomy::parse(&shown, text)
}

/// The time in UTC, RFC 3339, to the millisecond.
fn now() -> String {
    let now = jiff::Timestamp::now();
    now.round(jiff::Unit::Millisecond)
        .unwrap_or(now)
        .to_string()
}

fn prepare(connection: &mut Connection) -> Result<(), SchemaFault> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    bring_to(connection, APPLICATION_ID, &MIGRATIONS)?;
    // FULL syncs every commit, so that what is stored survives a power cut.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(())
}

/// One clear sentence for a file that holds no annotations of this program.
fn refused(path: &Path, fault: SchemaFault) -> StoreError {
    match fault {
        SchemaFault::Sqlite(error) => describe(path, &error),
        SchemaFault::Newer(found) => StoreError(format!(
            "the annotations {} have version {found}, but this program knows versions up to {}; update the program or use another data folder",
            path.display(),
            MIGRATIONS.len()
        )),
        SchemaFault::Foreign => StoreError(format!(
            "{} is a database of another program and holds no annotations; name another data folder",
            path.display()
        )),
        SchemaFault::NoVersion => StoreError(format!(
            "the annotations {} have lost their version (user_version is 0 although there are tables), so they can't be read safely; bring them back from a copy, or use another data folder",
            path.display()
        )),
    }
}

/// One clear sentence for an error of SQLite.
fn describe(path: &Path, error: &rusqlite::Error) -> StoreError {
    let file = path.display();
    StoreError(match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => format!(
            "the annotations {file} are locked by another program; close that program or try again"
        ),
        Some(ErrorCode::CannotOpen) => format!(
            "the annotations {file} can't be opened; check that it is a file that you may read (to annotate, in a folder that can be written)"
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => format!(
            "the annotations {file} can't be written (read-only); change their permissions or use another data folder"
        ),
        Some(ErrorCode::DiskFull) => {
            format!("the disk with the annotations {file} is full; make room and try again")
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => format!(
            "{file} is damaged or holds no annotations; bring it back from a copy, or move it away to begin anew"
        ),
        _ => format!("the annotations {file} failed: {error}"),
    })
}

#[cfg(test)]
mod tests;
