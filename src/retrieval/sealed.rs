//! Cache files that are whole or not used: a header, a key, a payload and a checksum over all of it.
//!
//! Layout: 8 bytes of magic, version (u32), key (32 bytes), payload length (u64), payload, SHA-256 of all
//! that comes before. Numbers are little-endian.

use std::io::{ErrorKind, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::domain::text::hex;
use crate::retrieval::mapped::beside;

/// SHA-256 of what a file was made from.
pub type Key = [u8; 32];

const VERSION: u32 = 1;
const HEAD: usize = 8 + 4 + 32 + 8;
const SEAL: usize = 32;

/// What was found where a cache file should be.
#[derive(Debug, PartialEq, Eq)]
pub enum Opened {
    /// The payload, whole and of the right key.
    Whole(Vec<u8>),
    /// No file.
    Missing,
    /// A file that can't be trusted, and why.
    Damaged(String),
}

/// Hashes parts, each with its length, so that no two lists of parts share a hash.
pub struct Hasher(Sha256);

impl Hasher {
    /// Nothing hashed yet.
    pub fn new() -> Hasher {
        Hasher(Sha256::new())
    }

    /// Adds a part.
    pub fn part(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    /// Adds numbers as one part, in their little-endian form.
    pub fn numbers(&mut self, numbers: &[f32]) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        self.part(&bytes);
    }

    /// The hash.
    pub fn finish(self) -> Key {
        self.0.finalize().into()
    }
}

/// The hash of a list of parts.
pub fn key_of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Key {
    let mut hasher = Hasher::new();
    for part in parts {
        hasher.part(part);
    }
    hasher.finish()
}

/// The first 8 bytes of a key in hexadecimal, for file names.
pub fn short(key: &Key) -> String {
    hex(&key[..8])
}

/// Writes a sealed file: beside it first, then renamed over it.
///
/// # Errors
/// Whatever the file system says.
pub fn write(path: &Path, magic: &[u8; 8], key: &Key, payload: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut head = Vec::with_capacity(HEAD);
    head.extend_from_slice(magic);
    head.extend_from_slice(&VERSION.to_le_bytes());
    head.extend_from_slice(key);
    head.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    let seal = Sha256::new()
        .chain_update(&head)
        .chain_update(payload)
        .finalize();
    let mut file = beside(path)?;
    file.write_all(&head)?;
    file.write_all(payload)?;
    file.write_all(&seal)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Reads a sealed file and checks every byte of it.
pub fn read(path: &Path, magic: &[u8; 8], key: &Key) -> Opened {
    let mut bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Opened::Missing,
        Err(error) => return Opened::Damaged(format!("it can't be read: {error}")),
    };
    if bytes.len() < HEAD + SEAL {
        return Opened::Damaged("it is too short".into());
    }
    if &bytes[..8] != magic || bytes[8..12] != VERSION.to_le_bytes() {
        return Opened::Damaged("it is of another kind or version".into());
    }
    if &bytes[12..44] != key {
        return Opened::Damaged("it was made from something else".into());
    }
    let length = (bytes.len() - HEAD - SEAL) as u64;
    if bytes[44..HEAD] != length.to_le_bytes() {
        return Opened::Damaged("its length is not what its header says".into());
    }
    let end = bytes.len() - SEAL;
    if bytes[end..] != Sha256::digest(&bytes[..end])[..] {
        return Opened::Damaged("its checksum does not fit".into());
    }
    bytes.truncate(end);
    bytes.drain(..HEAD);
    Opened::Whole(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    const MAGIC: &[u8; 8] = b"TESTTEST";

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er/file");
        let key = key_of([b"a".as_slice()]);
        assert_eq!(read(&path, MAGIC, &key), Opened::Missing);
        for payload in [b"".as_slice(), b"payload"] {
            write(&path, MAGIC, &key, payload).unwrap();
            assert_eq!(read(&path, MAGIC, &key), Opened::Whole(payload.to_vec()));
        }
        let other = key_of([b"b".as_slice()]);
        assert!(matches!(read(&path, MAGIC, &other), Opened::Damaged(_)));
        assert!(matches!(read(&path, b"OTHERONE", &key), Opened::Damaged(_)));
        assert_eq!(
            std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1
        );
    }

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(
            key_of([b"ab".as_slice(), b"c"]),
            key_of([b"a".as_slice(), b"bc"])
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_changed_or_missing_byte_is_noticed(at in 0usize..200, cut in any::<bool>()) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            let key = key_of([b"a".as_slice()]);
            write(&path, MAGIC, &key, &[7; 116]).unwrap();
            let mut bytes = std::fs::read(&path).unwrap();
            prop_assert_eq!(bytes.len(), 200);
            if cut { bytes.truncate(at) } else { bytes[at] ^= 0x40 }
            std::fs::write(&path, bytes).unwrap();
            prop_assert!(matches!(read(&path, MAGIC, &key), Opened::Damaged(_)));
        }
    }
}
