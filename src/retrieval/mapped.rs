//! Files as memory: read by the operating system when they are looked at, and dropped from memory when it is
//! needed elsewhere.
//!
//! The only file that maps memory, which is `unsafe`: a file that another program shortens while it is mapped
//! ends this process with a bus error, and one that is changed in place changes under the reader. What this
//! program writes it never changes in place: files are made beside their place and renamed.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::Mmap;
use tempfile::NamedTempFile;

use crate::retrieval::{DAMAGED, RetrievalError};

/// Why a file can't be read, in words.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it is not there".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "you have no right to read it; ask its owner to allow it (chmod -R a+rX on the folder)"
                .to_owned()
        }
        io::ErrorKind::IsADirectory => "it is a folder, and a file is expected".to_owned(),
        // Only unpacking ends too early.
        io::ErrorKind::UnexpectedEof => {
            "its end is missing, as of a download that was cut off; fetch it again".to_owned()
        }
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            format!("it is damaged ({error}); fetch it again")
        }
        _ => error.to_string(),
    }
}

/// Why a file can't be written, in words, and what to do where that is known.
pub fn write_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "no room is left there; make some, and run the same command again, it goes on where it stopped".to_owned()
        }
        io::ErrorKind::PermissionDenied => "you have no right to write there".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "it is on a disk that can only be read".to_owned(),
        io::ErrorKind::NotADirectory => "a part of its path is no folder".to_owned(),
        _ => error.to_string(),
    }
}

/// [`write_reason`] of what a library says in its own words: the system's error is found by its number.
pub fn write_reason_in(said: &str) -> String {
    let number = said
        .split_once("(os error ")
        .and_then(|(_, rest)| rest.split_once(')'))
        .and_then(|(number, _)| number.parse().ok());
    match number {
        Some(number) => write_reason(&io::Error::from_raw_os_error(number)),
        None => said.to_owned(),
    }
}

/// A file mapped for reading.
#[derive(Debug)]
pub struct Mapped {
    map: Mmap,
}

impl Mapped {
    /// Maps a file.
    ///
    /// # Errors
    /// One sentence with the path where it can't be opened, is no regular file or can't be mapped.
    pub fn open(path: &Path) -> Result<Mapped, RetrievalError> {
        let failed = |error: std::io::Error| {
            RetrievalError(format!(
                "{} can't be read: {}",
                path.display(),
                reason(&error)
            ))
        };
        let file = File::open(path).map_err(failed)?;
        Mapped::of(path, &file)
    }

    /// Maps a file of an index, which must be there.
    ///
    /// # Errors
    /// As [`Mapped::open`]; where it is not there, that the index is damaged.
    pub fn open_own(path: &Path) -> Result<Mapped, RetrievalError> {
        match File::open(path) {
            Ok(file) => Mapped::of(path, &file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(RetrievalError(format!(
                "{} is missing; {DAMAGED}",
                path.display()
            ))),
            Err(_) => Mapped::open(path),
        }
    }

    fn of(path: &Path, file: &File) -> Result<Mapped, RetrievalError> {
        let failed = |error: std::io::Error| {
            RetrievalError(format!(
                "{} can't be read: {}",
                path.display(),
                reason(&error)
            ))
        };
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(RetrievalError(format!(
                "{} is no file; give the name of a file to read",
                path.display()
            )));
        }
        // SAFETY: the map is only read, and no reference into it outlives it. What cannot be ruled out, that
        // another program changes the file, is said above.
        let map = unsafe { Mmap::map(file) }.map_err(failed)?;
        Ok(Mapped { map })
    }

    /// The file's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }
}

/// A new file in the folder of `path`, with the permissions of the process's mask.
pub fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".writing-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// Gives all files of a folder the permissions of the process's mask: libraries may write theirs for the owner alone,
/// and an index is for all who may read its folder.
pub fn as_the_mask_says(folder: &Path) -> io::Result<()> {
    // What the mask is only a new file tells.
    let permissions = beside(&folder.join("any"))?
        .as_file()
        .metadata()?
        .permissions();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_file() && !name.to_string_lossy().starts_with(".writing-") {
            std::fs::set_permissions(entry.path(), permissions.clone())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_full_disk_is_known_in_the_words_of_libraries() {
        let full = write_reason(&io::ErrorKind::StorageFull.into());
        assert!(full.contains("no room is left"), "{full}");
        let said = "Internal error: 'No space left on device (os error 28)'";
        assert_eq!(write_reason_in(said), full);
        assert_eq!(write_reason_in("something else"), "something else");
        assert_eq!(write_reason_in("(os error x)"), "(os error x)");
    }
}
