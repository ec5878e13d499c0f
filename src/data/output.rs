//! Files that the user names for output: written as a whole or not at all, and never in the place of something
//! that is no file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Bytes that are gathered before the file is written.
const BUFFER: usize = 1 << 20;

/// What the names of files begin with that are being written; a kill may leave one behind.
pub(in crate::data) const UNFINISHED: &str = ".writing-";

/// Most symbolic links that are followed, as Linux does.
const MOST_LINKS: usize = 40;

/// Why a file was not written: one sentence.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OutputError(pub String);

/// What writing to a path means.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    /// A file, new or replaced by renaming: the path behind all symbolic links.
    File(PathBuf),
    /// A terminal or another character device, or one of this process's open files: nothing to replace.
    Stream,
}

/// Writes what `write` gives to `path`: beside it first, then renamed over it, so that it appears whole or not
/// at all. A symbolic link stays one and its target is written. A replaced file keeps its permissions, a new
/// one has those that the process's mask says. Character devices and `/dev/stdout` are written straight through.
///
/// # Errors
/// One sentence with the path: a folder, a pipe, a socket or a disk stands there, or it can't be written, or
/// the reason that `write` gives.
pub fn write(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> Result<(), String>,
) -> Result<(), OutputError> {
    match target(path)? {
        Target::Stream => through(path, write),
        Target::File(file) => whole(&file, write),
    }
    .map_err(|why| {
        // The system says of a folder that takes no files that nothing is there.
        let there = why == FOLDER_MISSING && folder_of(path).is_dir();
        failed(
            path,
            if there {
                "no file can be made there"
            } else {
                &why
            },
        )
    })
}

/// [`write()`] for a text.
///
/// # Errors
/// As [`write()`].
pub fn write_text(path: &Path, text: &str) -> Result<(), OutputError> {
    write(path, |out| {
        out.write_all(text.as_bytes())
            .map_err(|error| reason(&error))
    })
}

/// Refuses early, before long work, what [`write()`] would refuse by looking at the path.
///
/// # Errors
/// As [`write()`] for a path at which something stands that is no file, or whose folder is not there.
pub fn check(path: &Path) -> Result<(), OutputError> {
    let Target::File(file) = target(path)? else {
        return Ok(());
    };
    match folder_of(&file).is_dir() {
        true => Ok(()),
        false => Err(failed(path, FOLDER_MISSING)),
    }
}

/// Refuses to write over a file that is still needed, under whatever name or link both are given.
///
/// # Errors
/// When both are the same file.
pub fn keep(out: &Path, needed: &Path) -> Result<(), OutputError> {
    let same = match (fs::metadata(out), fs::metadata(needed)) {
        (Ok(one), Ok(other)) => one.is_file() && is_same(out, &one, needed, &other),
        // Neither is there yet: then only the names tell.
        (Err(_), Err(_)) => out == needed,
        _ => false,
    };
    match same {
        true => Err(failed(
            out,
            &format!(
                "it is the same file as {}, which would be lost; give another name",
                needed.display()
            ),
        )),
        false => Ok(()),
    }
}

#[cfg(unix)]
fn is_same(_: &Path, one: &fs::Metadata, _: &Path, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(out: &Path, _: &fs::Metadata, needed: &Path, _: &fs::Metadata) -> bool {
    matches!((out.canonicalize(), needed.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Whether writing there would replace a file.
pub fn replaces(path: &Path) -> bool {
    !is_own_stream(path) && path.is_file()
}

/// Whether what is written there goes to a device or an open file of this process instead of a file.
pub fn is_stream(path: &Path) -> bool {
    target(path) == Ok(Target::Stream)
}

/// The reason of an error of the file system in words, without the names of temporary files.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => FOLDER_MISSING.to_owned(),
        ErrorKind::NotADirectory => "a part of its path is no folder".to_owned(),
        ErrorKind::PermissionDenied => "you have no right to write there".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "it is on a disk that can only be read".to_owned(),
        ErrorKind::StorageFull => "no room is left there".to_owned(),
        ErrorKind::InvalidFilename => "its name is too long or not allowed there".to_owned(),
        kind => kind.to_string(),
    }
}

const FOLDER_MISSING: &str = "its folder does not exist; make it first";

fn failed(path: &Path, why: &str) -> OutputError {
    OutputError(format!("{} can't be written: {why}", path.display()))
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn target(path: &Path) -> Result<Target, OutputError> {
    if is_own_stream(path) {
        return Ok(Target::Stream);
    }
    let kind = match fs::metadata(path) {
        Ok(meta) => meta.file_type(),
        Err(_) => return behind_links(path).map(Target::File),
    };
    if kind.is_file() {
        return behind_links(path).map(Target::File);
    }
    if is_character_device(kind) {
        return Ok(Target::Stream);
    }
    let what = match kind.is_dir() {
        true => "a folder",
        false => "not a regular file (a pipe, a socket or a disk)",
    };
    Err(OutputError(format!(
        "{} is {what}; give the name of a file to write",
        path.display()
    )))
}

/// `/dev/stdout` and its like: what the shell has opened for this process, whatever it is.
fn is_own_stream(path: &Path) -> bool {
    let fixed = ["/dev/stdout", "/dev/stderr"];
    let folders = ["/dev/fd", "/proc/self/fd"];
    fixed.iter().any(|stream| path == Path::new(stream))
        || path
            .parent()
            .is_some_and(|parent| folders.iter().any(|folder| parent == Path::new(folder)))
}

#[cfg(unix)]
fn is_character_device(kind: fs::FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_char_device(&kind)
}

#[cfg(not(unix))]
fn is_character_device(_: fs::FileType) -> bool {
    false
}

/// Follows symbolic links, also one whose target is not there yet.
fn behind_links(path: &Path) -> Result<PathBuf, OutputError> {
    let mut file = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&file) {
            Ok(next) => file = folder_of(&file).join(next),
            Err(_) => return Ok(file),
        }
    }
    Err(failed(path, "its symbolic links go round in a circle"))
}

/// Appends, since what the shell has opened may be a file with something in it.
fn through(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> Result<(), String>,
) -> Result<(), String> {
    let file = OpenOptions::new()
        .append(true)
        .open(path)
        .map_err(|error| reason(&error))?;
    let mut out = BufWriter::with_capacity(BUFFER, &file);
    write(&mut out)?;
    out.flush().map_err(|error| reason(&error))
}

fn whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> Result<(), String>,
) -> Result<(), String> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED);
    // As other new files: the process's mask decides, not the temporary file's privacy.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let in_words = |error: io::Error| reason(&error);
    let file = builder.tempfile_in(folder_of(path)).map_err(in_words)?;
    let mut out = BufWriter::with_capacity(BUFFER, file.as_file());
    write(&mut out)?;
    out.flush().map_err(in_words)?;
    drop(out);
    if let Ok(old) = fs::metadata(path) {
        // Where the owner differs this may be refused; the new file is good all the same.
        let _ = file.as_file().set_permissions(old.permissions());
    }
    file.as_file().sync_all().map_err(in_words)?;
    file.persist(path)
        .map_err(|error| reason(&error.error))
        .map(drop)
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::print_stderr)]

    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_new_file_has_the_permissions_of_the_mask_and_an_old_one_keeps_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain");
        fs::write(&plain, "").unwrap();
        let path = folder.path().join("new");
        write_text(&path, "one").unwrap();
        assert_eq!(mode(&path), mode(&plain));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        write_text(&path, "two").unwrap();
        assert_eq!(mode(&path), 0o640);
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn nothing_but_a_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        let link = folder.path().join("link");
        symlink(&socket, &link).unwrap();
        for path in [&socket, &link] {
            let message = write_text(path, "x").unwrap_err().to_string();
            assert!(message.contains("not a regular file"), "{message}");
            assert!(check(path).is_err());
            assert!(fs::metadata(path).unwrap().file_type().is_socket());
        }
        let message = write_text(folder.path(), "x").unwrap_err().to_string();
        assert!(message.contains("is a folder"), "{message}");
    }

    #[test]
    fn a_needed_file_is_not_written_over_under_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let input = at("in");
        fs::write(&input, "x").unwrap();
        fs::write(at("other"), "x").unwrap();
        symlink(&input, at("link")).unwrap();
        fs::hard_link(&input, at("hard")).unwrap();
        for same in [input.clone(), at("link"), at("hard"), at("./in")] {
            let message = keep(&same, &input).unwrap_err().to_string();
            assert!(message.contains("same file"), "{message}");
        }
        keep(&at("other"), &input).unwrap();
        keep(&at("new"), &input).unwrap();
        assert!(keep(&at("new"), &at("new")).is_err());
        keep(Path::new("/dev/null"), Path::new("/dev/null")).unwrap();
    }

    #[test]
    fn devices_are_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink("/dev/null", &link).unwrap();
        for path in [Path::new("/dev/null"), &link] {
            write_text(path, "x").unwrap();
            assert!(fs::metadata(path).unwrap().file_type().is_char_device());
            assert!(is_stream(path) && !replaces(path));
        }
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let full = Path::new("/dev/full");
        if !full.exists() {
            return eprintln!("SKIPPED: no /dev/full on this machine");
        }
        let message = write_text(full, "x").unwrap_err().to_string();
        assert_eq!(message, "/dev/full can't be written: no room is left there");
        assert!(fs::metadata(full).unwrap().file_type().is_char_device());
    }

    #[test]
    fn links_stay_links_also_where_their_target_is_not_there_yet() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink("target", &link).unwrap();
        for text in ["one", "two"] {
            write_text(&link, text).unwrap();
            let target = folder.path().join("target");
            assert!(fs::symlink_metadata(&target).unwrap().is_file());
            assert_eq!(fs::read_to_string(target).unwrap(), text);
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        }
        let circle = folder.path().join("circle");
        symlink("circle", &circle).unwrap();
        let message = write_text(&circle, "x").unwrap_err().to_string();
        assert!(message.contains("circle"), "{message}");
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_names_no_temporary_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_text(&path, "old").unwrap();
        let message = write(&path, |_| Err("the record is broken".to_owned())).unwrap_err();
        assert!(message.0.ends_with("the record is broken"), "{message}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        for missing in [folder.path().join("no/such/file"), path.join("file")] {
            let message = write_text(&missing, "x").unwrap_err().to_string();
            assert!(!message.contains(".writing-"), "{message}");
            assert!(message.contains("folder"), "{message}");
            assert!(check(&missing).is_err());
        }
    }
}
