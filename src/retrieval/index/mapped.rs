//! Files mapped into memory (the only file of the index with unsafe code).
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

/// The bytes of a file, read from disk where they are looked at.
#[derive(Debug)]
pub(super) struct Mapped(Option<Mmap>);

impl Mapped {
    /// Maps a file; an empty one gives no bytes.
    ///
    /// # Errors
    /// When it can't be opened or mapped.
    pub(super) fn open(path: &Path) -> io::Result<Mapped> {
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Mapped(None));
        }
        // SAFETY: a map is only unsound where the file is changed under it. Files of an index are written beside
        // it and renamed, or written under the lock of the index before they are mapped, and never again. Whoever
        // overwrites them by hand may read torn texts or end the program, as with any program that maps files.
        let map = unsafe { Mmap::map(&file)? };
        Ok(Mapped(Some(map)))
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}
