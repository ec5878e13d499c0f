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

use crate::retrieval::RetrievalError;

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
            RetrievalError(format!("{} can't be read: {error}", path.display()))
        };
        let file = File::open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(RetrievalError(format!(
                "{} is no file; give the name of a file to read",
                path.display()
            )));
        }
        // SAFETY: the map is only read, and no reference into it outlives it. What cannot be ruled out, that
        // another program changes the file, is said above.
        let map = unsafe { Mmap::map(&file) }.map_err(failed)?;
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
