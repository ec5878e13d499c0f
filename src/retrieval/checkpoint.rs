//! Progress of a long encode on disk: cancelled or killed, it goes on where it stopped.
//!
//! Layout: 8 bytes of magic, version (u32), key (32 bytes), dimension (u32), then blocks of: number of rows
//! (u32), their positions (u32 each), their vectors (f32), SHA-256 of the block. Numbers are little-endian.
//! Blocks are appended; the first one that is torn or does not fit ends the file, and all after it is cut.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::retrieval::sealed::Key;

const MAGIC: &[u8; 8] = b"MEDRGBPT";
const VERSION: u32 = 1;
const HEAD: usize = 8 + 4 + 32 + 4;

/// An open checkpoint file, locked for this process.
#[derive(Debug)]
pub struct Checkpoint {
    file: File,
    path: PathBuf,
    dim: usize,
}

/// Rows that a checkpoint already holds: positions and their vectors in the same order.
#[derive(Debug, Default, PartialEq)]
pub struct Kept {
    /// Positions in the corpus.
    pub positions: Vec<usize>,
    /// Their vectors, one after the other.
    pub data: Vec<f32>,
}

impl Checkpoint {
    /// Opens or starts the file and gives what it holds. A file of another key, dimension or version is
    /// started anew; positions of `rows` or more are not believed.
    ///
    /// # Errors
    /// When the file can't be opened, or another process is writing it.
    pub fn open(
        path: &Path,
        key: &Key,
        dim: usize,
        rows: usize,
    ) -> std::io::Result<(Checkpoint, Kept)> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                std::io::Error::other("another process is encoding the same documents")
            }
            TryLockError::Error(error) => error,
        })?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let head = header(key, dim);
        let mut kept = Kept::default();
        if bytes.starts_with(&head) {
            let end = read_blocks(&bytes, dim, rows, &mut kept);
            file.set_len(end as u64)?;
        } else {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&head)?;
        }
        file.seek(SeekFrom::End(0))?;
        let path = path.to_path_buf();
        Ok((Checkpoint { file, path, dim }, kept))
    }

    /// Appends rows; when this returns they survive a kill.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn append(&mut self, positions: &[usize], data: &[f32]) -> std::io::Result<()> {
        if data.len() != positions.len() * self.dim {
            return Err(std::io::Error::other("rows and positions differ in number"));
        }
        let mut block = Vec::with_capacity(4 + positions.len() * 4 * (1 + self.dim) + 32);
        block.extend_from_slice(&(positions.len() as u32).to_le_bytes());
        for &position in positions {
            block.extend_from_slice(&(position as u32).to_le_bytes());
        }
        for number in data {
            block.extend_from_slice(&number.to_le_bytes());
        }
        let seal = Sha256::digest(&block);
        block.extend_from_slice(&seal);
        self.file.write_all(&block)?;
        self.file.sync_data()
    }

    /// Removes the file: what it held is elsewhere now.
    pub fn remove(self) {
        // A file that stays is only disk space: it is emptied or overwritten by the next build.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn header(key: &Key, dim: usize) -> Vec<u8> {
    let mut head = Vec::with_capacity(HEAD);
    head.extend_from_slice(MAGIC);
    head.extend_from_slice(&VERSION.to_le_bytes());
    head.extend_from_slice(key);
    head.extend_from_slice(&(dim as u32).to_le_bytes());
    head
}

/// Reads whole blocks and gives the offset at which they end.
fn read_blocks(bytes: &[u8], dim: usize, rows: usize, kept: &mut Kept) -> usize {
    let mut at = HEAD;
    while let Some(end) = read_block(&bytes[at..], dim, rows, kept) {
        at += end;
    }
    at
}

fn read_block(bytes: &[u8], dim: usize, rows: usize, kept: &mut Kept) -> Option<usize> {
    let number = |at: usize| -> Option<u32> {
        Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
    };
    let count = number(0)? as usize;
    let body = count.checked_mul(4)?.checked_mul(dim + 1)?.checked_add(4)?;
    let seal = bytes.get(body..body.checked_add(32)?)?;
    if count == 0 || seal != &Sha256::digest(&bytes[..body])[..] {
        return None;
    }
    let positions: Vec<usize> = (0..count)
        .map(|row| Some(number(4 + 4 * row)? as usize).filter(|&position| position < rows))
        .collect::<Option<_>>()?;
    kept.positions.extend(positions);
    kept.data.extend(floats(&bytes[4 + 4 * count..body]));
    Some(body + 32)
}

/// Little-endian bytes as numbers.
pub fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|&number| f32::from_le_bytes(number))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::retrieval::sealed::key_of;

    #[test]
    fn rows_survive_and_a_torn_block_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.part");
        let key = key_of([b"x".as_slice()]);
        let (mut checkpoint, kept) = Checkpoint::open(&path, &key, 2, 10).unwrap();
        assert_eq!(kept, Kept::default());
        checkpoint.append(&[3, 1], &[1.0, 2.0, 3.0, 4.0]).unwrap();
        let whole = std::fs::metadata(&path).unwrap().len();
        checkpoint.append(&[9], &[5.0, 6.0]).unwrap();
        drop(checkpoint);
        let length = std::fs::metadata(&path).unwrap().len();
        for cut in [length - 1, length - 40, whole + 1] {
            OpenOptions::new()
                .write(true)
                .open(&path)
                .unwrap()
                .set_len(cut)
                .unwrap();
            let (mut checkpoint, kept) = Checkpoint::open(&path, &key, 2, 10).unwrap();
            assert_eq!(kept.positions, [3, 1]);
            assert_eq!(kept.data, [1.0, 2.0, 3.0, 4.0]);
            checkpoint.append(&[9], &[5.0, 6.0]).unwrap();
        }
        let (_, kept) = Checkpoint::open(&path, &key, 2, 10).unwrap();
        assert_eq!(kept.positions, [3, 1, 9]);
        // A position outside the corpus is not believed, nor what follows it.
        let (_, kept) = Checkpoint::open(&path, &key, 2, 5).unwrap();
        assert_eq!(kept.positions, [3, 1]);
    }

    #[test]
    fn another_key_starts_anew_and_two_writers_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.part");
        let (mut first, _) = Checkpoint::open(&path, &key_of([b"x".as_slice()]), 1, 9).unwrap();
        first.append(&[0], &[1.0]).unwrap();
        assert!(first.append(&[0], &[1.0, 2.0]).is_err());
        let error = Checkpoint::open(&path, &key_of([b"x".as_slice()]), 1, 9).unwrap_err();
        assert!(error.to_string().contains("another process"), "{error}");
        drop(first);
        let (again, kept) = Checkpoint::open(&path, &key_of([b"y".as_slice()]), 1, 9).unwrap();
        assert_eq!(kept, Kept::default());
        again.remove();
        assert!(!path.exists());
    }
}
