//! SHA-256 of files and of streams on their way to disk.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::domain::text::hex;

/// Bytes read or written at a time.
const BLOCK: usize = 1 << 18;

/// The SHA-256 of a file; `None` if cancelled. `on_bytes` hears how many bytes have been read.
///
/// # Errors
/// Whatever opening or reading gives.
pub fn sha256_file(
    path: &Path,
    cancel: &CancellationToken,
    on_bytes: &mut dyn FnMut(u64),
) -> io::Result<Option<String>> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut block = vec![0u8; BLOCK];
    let mut total = 0u64;
    loop {
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let read = file.read(&mut block)?;
        if read == 0 {
            return Ok(Some(hex(&hasher.finalize())));
        }
        hasher.update(block.get(..read).unwrap_or_default());
        total += read as u64;
        on_bytes(total);
    }
}

/// A file that grows at its end and knows the hash of all it holds, also of what was there before.
pub struct HashingFile {
    file: File,
    hasher: Sha256,
    length: u64,
}

impl HashingFile {
    /// Opens or creates the file, keeps its first `keep` bytes (less if it is shorter) and hashes them.
    ///
    /// # Errors
    /// Whatever opening, reading or truncating gives.
    pub fn resume(path: &Path, keep: u64) -> io::Result<Self> {
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        let length = file.metadata()?.len().min(keep);
        file.set_len(length)?;
        let mut hasher = Sha256::new();
        let mut block = vec![0u8; BLOCK];
        loop {
            // Reading to the end leaves the position where writing goes on.
            let read = file.read(&mut block)?;
            if read == 0 {
                break;
            }
            hasher.update(block.get(..read).unwrap_or_default());
        }
        Ok(HashingFile {
            file,
            hasher,
            length,
        })
    }

    /// Bytes the file holds.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Whatever writing gives.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Writes everything to disk and gives size and hash.
    ///
    /// # Errors
    /// Whatever syncing gives.
    pub fn finish(self) -> io::Result<(u64, String)> {
        self.file.sync_all()?;
        Ok((self.length, hex(&self.hasher.finalize())))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn resuming_hashes_what_was_there_and_drops_what_lies_beyond() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.part");
        std::fs::write(&path, "abJUNK").unwrap();
        let mut file = HashingFile::resume(&path, 2).unwrap();
        file.append(b"c").unwrap();
        assert_eq!(file.finish().unwrap(), (3, ABC.to_owned()));
        assert_eq!(std::fs::read(&path).unwrap(), b"abc");
        let never = CancellationToken::new();
        let hash = sha256_file(&path, &never, &mut |_| {}).unwrap();
        assert_eq!(hash.as_deref(), Some(ABC));
        never.cancel();
        assert_eq!(sha256_file(&path, &never, &mut |_| {}).unwrap(), None);
    }
}
