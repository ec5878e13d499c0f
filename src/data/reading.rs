//! Opening a database (SQLite) only to read it: it works in a folder and on a medium that can't be written, and
//! neither the file nor what lies beside it is changed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};
use tempfile::TempDir;

use crate::data::store::schema::{SchemaFault, Standing, bring_to, standing};

/// A connection that reads.
#[derive(Debug)]
pub(in crate::data) struct Reading {
    /// The connection; it refuses to write.
    pub(in crate::data) connection: Connection,
    /// The folder of the copy that is read, where the file itself can't be: it must outlive the connection.
    pub(in crate::data) copy: Option<TempDir>,
}

/// Why a database can't be read.
#[derive(Debug)]
pub(in crate::data) enum ReadFault {
    /// Its schema, or SQLite's own error.
    Schema(SchemaFault),
    /// The copy that is needed can't be made.
    Copy(std::io::Error),
}

impl From<rusqlite::Error> for ReadFault {
    fn from(error: rusqlite::Error) -> Self {
        ReadFault::Schema(SchemaFault::Sqlite(error))
    }
}

/// Opens a database that is there, for reading. `id` marks the file as one of its kind, `migrations` lead to the
/// version that is read; a file of an earlier version is migrated in a copy.
///
/// A file whose log (WAL) holds nothing is opened as for writing where that can be done, since SQLite then puts its
/// helper files away again; else as a file that nobody changes. One with entries in its log, as a killed process or
/// one at work leaves it, is opened for reading, which needs the log's index; where that is missing and can't be
/// made, a copy is read.
///
/// # Errors
/// [`ReadFault`]: no such file, no such database, a later version, no room for a copy.
pub(in crate::data) fn open(
    path: &Path,
    busy: Duration,
    id: i32,
    migrations: &[&str],
) -> Result<Reading, ReadFault> {
    let logged = std::fs::metadata(beside(path, "-wal")).is_ok_and(|file| file.len() > 0);
    let flags = match logged {
        true => OpenFlags::SQLITE_OPEN_READ_ONLY,
        false => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    let connection = match try_open(path, flags, busy) {
        Ok(connection) => connection,
        Err(error) if needs_writing(&error) && !logged => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            try_open(&unchanging(path), flags, busy)?
        }
        Err(error) if needs_writing(&error) => return copied(path, busy, id, migrations),
        Err(error) => return Err(error.into()),
    };
    match standing(&connection, id, migrations).map_err(ReadFault::Schema)? {
        Standing::Newest => Ok(Reading {
            connection,
            copy: None,
        }),
        Standing::Older => {
            drop(connection);
            copied(path, busy, id, migrations)
        }
    }
}

/// Opens a database and reads its first page, since only that needs the helper files.
fn try_open(path: &Path, flags: OpenFlags, busy: Duration) -> rusqlite::Result<Connection> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(busy)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
        row.get::<_, i64>(0)
    })?;
    Ok(connection)
}

/// Whether SQLite wanted to write beside the file and could not.
fn needs_writing(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied)
    )
}

/// Reads a copy, brought to the newest version.
fn copied(path: &Path, busy: Duration, id: i32, migrations: &[&str]) -> Result<Reading, ReadFault> {
    let folder = tempfile::Builder::new()
        .prefix("medrgb-")
        .tempdir()
        .map_err(ReadFault::Copy)?;
    let copy = folder.path().join("copy.sqlite");
    take(path, &copy).map_err(ReadFault::Copy)?;
    let log = beside(path, "-wal");
    if log.exists() {
        take(&log, &beside(&copy, "-wal")).map_err(ReadFault::Copy)?;
    }
    let mut connection = Connection::open(&copy)?;
    connection.busy_timeout(busy)?;
    // Else dropping a table that a migration replaces would drop what refers to it too.
    connection.pragma_update(None, "foreign_keys", false)?;
    bring_to(&mut connection, id, migrations).map_err(ReadFault::Schema)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(Reading {
        connection,
        copy: Some(folder),
    })
}

/// Copies what a file holds, without its permissions: the copy is to be written.
fn take(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut from = std::fs::File::open(from)?;
    let mut to = std::fs::File::create_new(to)?;
    std::io::copy(&mut from, &mut to).map(drop)
}

/// The file beside a database with this ending.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

/// The address under which SQLite takes a file for one that nobody changes, so that it needs no helper files.
fn unchanging(path: &Path) -> PathBuf {
    use std::fmt::Write as _;
    let mut address = String::from("file:");
    // A path that begins with a drive stands behind a slash in an address.
    if cfg!(windows) && path.is_absolute() {
        address.push('/');
    }
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'\\' if cfg!(windows) => address.push('/'),
            b'/' | b'-' | b'_' | b'.' | b'~' | b':' => address.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => address.push(char::from(byte)),
            _ => {
                let _ = write!(address, "%{byte:02X}");
            }
        }
    }
    address.push_str("?immutable=1");
    PathBuf::from(address)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    const ID: i32 = 77;
    const OLD: [&str; 1] = ["CREATE TABLE t (a TEXT)"];
    const NEW: [&str; 2] = ["CREATE TABLE t (a TEXT)", "ALTER TABLE t ADD b TEXT"];
    const BUSY: Duration = Duration::from_secs(1);

    /// A database in WAL mode with one row.
    fn made(path: &Path, migrations: &[&str]) -> Connection {
        let mut connection = Connection::open(path).unwrap();
        bring_to(&mut connection, ID, migrations).unwrap();
        connection
            .pragma_update(None, "journal_mode", "WAL")
            .unwrap();
        connection
            .execute("INSERT INTO t (a) VALUES ('x')", [])
            .unwrap();
        connection
    }

    /// Every file of the folder with its bytes.
    fn contents(folder: &Path) -> Vec<(OsString, Vec<u8>)> {
        let mut files: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                (entry.file_name(), std::fs::read(entry.path()).unwrap())
            })
            .collect();
        files.sort();
        files
    }

    fn rows(reading: &Reading) -> i64 {
        reading
            .connection
            .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
            .unwrap()
    }

    #[test]
    fn reading_leaves_every_byte_and_refuses_to_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("50% of #1?.sqlite");
        drop(made(&path, &OLD));
        let before = contents(folder.path());
        let reading = open(&path, BUSY, ID, &OLD).unwrap();
        assert_eq!(rows(&reading), 1);
        let refused = reading.connection.execute("DELETE FROM t", []);
        assert!(refused.is_err());
        drop(reading);
        assert_eq!(contents(folder.path()), before);
        // The way of a folder that can't be written, of a name full of what addresses reserve.
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = try_open(&unchanging(&path), flags, BUSY).unwrap();
        let reading = Reading {
            connection,
            copy: None,
        };
        assert_eq!(rows(&reading), 1);
        drop(reading);
        assert_eq!(contents(folder.path()), before);
    }

    #[test]
    fn an_earlier_version_is_read_from_a_copy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        drop(made(&path, &OLD));
        let before = contents(folder.path());
        let reading = open(&path, BUSY, ID, &NEW).unwrap();
        assert_eq!(rows(&reading), 1);
        let copy = reading.copy.as_ref().unwrap().path().to_owned();
        assert!(copy.exists());
        reading
            .connection
            .prepare("SELECT b FROM t")
            .expect("it has been migrated");
        drop(reading);
        assert!(!copy.exists());
        assert_eq!(contents(folder.path()), before);
    }

    #[test]
    fn what_another_process_has_written_is_read_while_it_is_at_work_and_after_its_death() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let writer = made(&path, &OLD);
        writer
            .execute("INSERT INTO t (a) VALUES ('y')", [])
            .unwrap();
        assert_eq!(rows(&open(&path, BUSY, ID, &OLD).unwrap()), 2);
        // The files as a kill leaves them, with and without the log's index.
        for index in [true, false] {
            let dead = tempfile::tempdir().unwrap();
            let killed = dead.path().join("s");
            take(&path, &killed).unwrap();
            take(&beside(&path, "-wal"), &beside(&killed, "-wal")).unwrap();
            if index {
                take(&beside(&path, "-shm"), &beside(&killed, "-shm")).unwrap();
            }
            let log = std::fs::read(beside(&killed, "-wal")).unwrap();
            assert!(!log.is_empty());
            assert_eq!(rows(&open(&killed, BUSY, ID, &OLD).unwrap()), 2);
            assert_eq!(rows(&copied(&killed, BUSY, ID, &OLD).unwrap()), 2);
            assert_eq!(std::fs::read(beside(&killed, "-wal")).unwrap(), log);
            assert_eq!(
                std::fs::read(&killed).unwrap(),
                std::fs::read(&path).unwrap()
            );
        }
    }

    #[test]
    fn what_is_no_database_of_the_kind_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        drop(made(&path, &NEW));
        let fault = |found: Result<Reading, ReadFault>| found.unwrap_err();
        assert!(matches!(
            fault(open(&path, BUSY, ID, &OLD)),
            ReadFault::Schema(SchemaFault::Newer(2))
        ));
        assert!(matches!(
            fault(open(&path, BUSY, ID + 1, &NEW)),
            ReadFault::Schema(SchemaFault::Foreign)
        ));
        let text = folder.path().join("text");
        std::fs::write(
            &text,
            "no database, but long enough to hold a header of one ".repeat(20),
        )
        .unwrap();
        assert!(matches!(
            fault(open(&text, BUSY, ID, &NEW)),
            ReadFault::Schema(SchemaFault::Sqlite(_))
        ));
        assert!(open(&folder.path().join("missing"), BUSY, ID, &NEW).is_err());
    }
}
