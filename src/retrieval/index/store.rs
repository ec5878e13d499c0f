//! The document store: all texts in one file, found by position in one step and by id by halving.
//!
//! * `documents.bin`: id, title and text of each document, one after the other, UTF-8.
//! * `offsets.bin`: 16 bytes per document: where it begins (u64), bytes of its id (u32) and of its title (u32).
//! * `ids.bin`: 12 bytes per document: hash of its id (u64), its position (u32), sorted.
//!
//! Numbers are little-endian.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::retrieval::mapped::Mapped;
use crate::retrieval::{CorpusDocument, DAMAGED, RetrievalError};

/// All texts.
pub(super) const DOCUMENTS: &str = "documents.bin";
/// Where each begins.
pub(super) const OFFSETS: &str = "offsets.bin";
/// Positions by id.
pub(super) const IDS: &str = "ids.bin";

const OFFSET: usize = 16;
const ID: usize = 12;
/// Bytes gathered before a file is written.
const BUFFER: usize = 1 << 20;

/// The hash that ids are found by: the first 8 bytes of their SHA-256.
pub(super) fn id_hash(id: &str) -> u64 {
    let digest = Sha256::digest(id.as_bytes());
    u64::from_le_bytes(std::array::from_fn(|at| digest[at]))
}

/// A document of a store, without copying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its title, perhaps empty.
    pub title: &'a str,
    /// Its text.
    pub content: &'a str,
}

/// An opened store.
#[derive(Debug)]
pub struct Store {
    documents: Mapped,
    offsets: Mapped,
    ids: Mapped,
}

impl Store {
    /// Opens the store of a folder, which must hold `documents` documents in `bytes` bytes.
    ///
    /// # Errors
    /// When a file is missing or has another length than it should.
    pub fn open(folder: &Path, documents: usize, bytes: u64) -> Result<Store, RetrievalError> {
        let map = |name: &str, bytes: Option<usize>| {
            let path = folder.join(name);
            let map = Mapped::open_own(&path)?;
            match bytes {
                Some(bytes) if map.bytes().len() != bytes => Err(RetrievalError(format!(
                    "{} has {} bytes where {bytes} were expected; {DAMAGED}",
                    path.display(),
                    map.bytes().len()
                ))),
                _ => Ok(map),
            }
        };
        Ok(Store {
            offsets: map(OFFSETS, documents.checked_mul(OFFSET))?,
            ids: map(IDS, documents.checked_mul(ID))?,
            documents: map(DOCUMENTS, usize::try_from(bytes).ok())?,
        })
    }

    /// Documents in the store.
    pub fn len(&self) -> usize {
        self.offsets.bytes().len() / OFFSET
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn entry(&self, position: usize) -> Option<(usize, usize, usize)> {
        let at = position.checked_mul(OFFSET)?;
        let bytes = self.offsets.bytes().get(at..at.checked_add(OFFSET)?)?;
        let start = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().ok()?)).ok()?;
        let id = u32::from_le_bytes(bytes[8..12].try_into().ok()?) as usize;
        let title = u32::from_le_bytes(bytes[12..].try_into().ok()?) as usize;
        Some((start, id, title))
    }

    /// The document at a position; `None` outside the store, or where the store is damaged: bytes that are no text, an id
    /// that the table of ids does not have, or zeros in place of a text.
    pub fn get(&self, position: usize) -> Option<Text<'_>> {
        let (start, id, title) = self.entry(position)?;
        let end = match self.entry(position + 1) {
            Some((next, ..)) => next,
            None => self.documents.bytes().len(),
        };
        let text = std::str::from_utf8(self.documents.bytes().get(start..end)?).ok()?;
        let (id, rest) = text.split_at_checked(id)?;
        let (title, content) = rest.split_at_checked(title)?;
        let whole = !blanked(text) && self.is_listed(id, position);
        whole.then_some(Text { id, title, content })
    }

    /// Whether the table of ids has this id at this position; it has every document, so that another id is damage.
    fn is_listed(&self, id: &str, position: usize) -> bool {
        let hash = id_hash(id);
        self.with_hash(hash).any(|at| at == position)
    }

    /// Positions of the documents whose ids have this hash.
    fn with_hash(&self, hash: u64) -> impl Iterator<Item = usize> {
        let (ids, _) = self.ids.bytes().as_chunks::<ID>();
        let first = ids.partition_point(|entry| hash_of(entry) < hash);
        ids.get(first..)
            .unwrap_or_default()
            .iter()
            .take_while(move |entry| hash_of(entry) == hash)
            .map(position_of)
    }

    /// Bytes of title and text, without reading them.
    pub(super) fn length(&self, position: usize) -> usize {
        let Some((start, id, _)) = self.entry(position) else {
            return 0;
        };
        let end = self
            .entry(position + 1)
            .map_or(self.documents.bytes().len(), |next| next.0);
        end.saturating_sub(start + id)
    }

    /// The position of the document with this id.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.with_hash(id_hash(id))
            .find(|&position| self.get(position).is_some_and(|text| text.id == id))
    }
}

/// Whether a text holds a stretch of zeros, as a file has where its blocks were lost.
fn blanked(text: &str) -> bool {
    const ZEROS: &str = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    // Nearly every text holds none at all.
    text.contains('\0') && text.contains(ZEROS)
}

fn hash_of(entry: &[u8; ID]) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|at| entry[at]))
}

fn position_of(entry: &[u8; ID]) -> usize {
    u32::from_le_bytes(std::array::from_fn(|at| entry[8 + at])) as usize
}

/// Writes a store; goes on after what an earlier process has made durable.
#[derive(Debug)]
pub(super) struct Writer {
    documents: BufWriter<File>,
    offsets: BufWriter<File>,
    bytes: u64,
    count: u64,
}

impl Writer {
    /// Opens the files in `folder` and cuts them to what is known to be whole.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub(super) fn open(folder: &Path, bytes: u64, count: u64) -> io::Result<Writer> {
        Ok(Writer {
            documents: append_after(&folder.join(DOCUMENTS), bytes)?,
            offsets: append_after(&folder.join(OFFSETS), count * OFFSET as u64)?,
            bytes,
            count,
        })
    }

    /// Adds a document.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub(super) fn push(&mut self, document: &CorpusDocument) -> io::Result<()> {
        let length = |text: &str| u32::try_from(text.len()).map_err(io::Error::other);
        let (id, title) = (length(&document.id)?, length(&document.title)?);
        self.offsets.write_all(&self.bytes.to_le_bytes())?;
        self.offsets.write_all(&id.to_le_bytes())?;
        self.offsets.write_all(&title.to_le_bytes())?;
        for part in [&document.id, &document.title, &document.content] {
            self.documents.write_all(part.as_bytes())?;
            self.bytes += part.len() as u64;
        }
        self.count += 1;
        Ok(())
    }

    /// Makes what has been added durable; gives bytes and documents for [`Writer::open`].
    ///
    /// # Errors
    /// Whatever the file system says.
    pub(super) fn sync(&mut self) -> io::Result<(u64, u64)> {
        sync(&mut self.documents)?;
        sync(&mut self.offsets)?;
        Ok((self.bytes, self.count))
    }
}

/// Opens a file for appending after its first `bytes` bytes; what lies behind them is cut off.
///
/// # Errors
/// When it can't be opened or is shorter than that.
pub(super) fn append_after(path: &Path, bytes: u64) -> io::Result<BufWriter<File>> {
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    let there = file.metadata()?.len();
    if there < bytes {
        return Err(io::Error::other(format!(
            "{} has {there} bytes where {bytes} were written before; {DAMAGED}",
            path.display()
        )));
    }
    file.set_len(bytes)?;
    file.seek(SeekFrom::End(0))?;
    Ok(BufWriter::with_capacity(BUFFER, file))
}

/// Writes what is buffered and waits until it is on disk.
///
/// # Errors
/// Whatever the file system says.
pub(super) fn sync(out: &mut BufWriter<File>) -> io::Result<()> {
    out.flush()?;
    out.get_ref().sync_data()
}

/// Writes the table of ids from the hashes of the documents in their order.
///
/// # Errors
/// Whatever the file system says.
pub(super) fn write_ids(folder: &Path, hashes: &[u64]) -> io::Result<()> {
    let mut entries = hashes
        .iter()
        .enumerate()
        .map(|(position, &hash)| Ok((hash, u32::try_from(position).map_err(io::Error::other)?)))
        .collect::<io::Result<Vec<(u64, u32)>>>()?;
    entries.sort_unstable();
    let mut out = append_after(&folder.join(IDS), 0)?;
    for (hash, position) in entries {
        out.write_all(&hash.to_le_bytes())?;
        out.write_all(&position.to_le_bytes())?;
    }
    sync(&mut out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn document(id: &str, title: &str, content: &str) -> CorpusDocument {
        CorpusDocument {
            id: id.into(),
            title: title.into(),
            content: content.into(),
        }
    }

    fn write(folder: &Path, documents: &[CorpusDocument]) -> u64 {
        let mut writer = Writer::open(folder, 0, 0).unwrap();
        for document in documents {
            writer.push(document).unwrap();
        }
        let (bytes, _) = writer.sync().unwrap();
        let hashes: Vec<u64> = documents.iter().map(|d| id_hash(&d.id)).collect();
        write_ids(folder, &hashes).unwrap();
        bytes
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn documents_are_found_by_position_and_id(texts in prop::collection::vec((".{0,12}", ".{0,30}"), 0..40)) {
            let folder = tempfile::tempdir().unwrap();
            let documents: Vec<CorpusDocument> = texts
                .iter()
                .enumerate()
                .map(|(number, (title, content))| document(&format!("é{number}"), title, content))
                .collect();
            let bytes = write(folder.path(), &documents);
            let store = Store::open(folder.path(), documents.len(), bytes).unwrap();
            prop_assert_eq!(store.len(), documents.len());
            for (position, document) in documents.iter().enumerate() {
                let text = store.get(position).unwrap();
                prop_assert_eq!((text.id, text.title, text.content), (&*document.id, &*document.title, &*document.content));
                prop_assert_eq!(store.position(&document.id), Some(position));
                prop_assert_eq!(store.length(position), text.title.len() + text.content.len());
            }
            prop_assert_eq!(store.get(documents.len()), None);
            prop_assert_eq!(store.position("none"), None);
        }
    }

    #[test]
    fn writing_goes_on_after_what_was_durable() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let documents: Vec<CorpusDocument> = (0..9)
            .map(|n| document(&n.to_string(), "t", "text"))
            .collect();
        write(one.path(), &documents);
        let mut writer = Writer::open(two.path(), 0, 0).unwrap();
        for document in &documents[..4] {
            writer.push(document).unwrap();
        }
        let (bytes, count) = writer.sync().unwrap();
        writer.push(&document("lost", "", "never durable")).unwrap();
        drop(writer);
        let mut writer = Writer::open(two.path(), bytes, count).unwrap();
        for document in &documents[4..] {
            writer.push(document).unwrap();
        }
        writer.sync().unwrap();
        for name in [DOCUMENTS, OFFSETS] {
            let read = |folder: &Path| std::fs::read(folder.join(name)).unwrap();
            assert_eq!(read(one.path()), read(two.path()));
        }
        assert!(Writer::open(two.path(), bytes * 100, count).is_err());
    }

    #[test]
    fn damage_is_an_error_and_never_a_wrong_text() {
        let folder = tempfile::tempdir().unwrap();
        let documents = [document("a", "", "text"), document("b", "", "more")];
        let bytes = write(folder.path(), &documents);
        let message = Store::open(folder.path(), 3, bytes)
            .unwrap_err()
            .to_string();
        assert!(message.contains("build it anew"), "{message}");
        let path = folder.path().join(DOCUMENTS);
        for torn in ["at", "atextbmor"] {
            std::fs::write(&path, torn).unwrap();
            assert!(Store::open(folder.path(), 2, bytes).is_err());
        }
        // As long as before and no text: no document, and no panic.
        std::fs::write(&path, vec![0xff; bytes as usize]).unwrap();
        let store = Store::open(folder.path(), 2, bytes).unwrap();
        assert_eq!((store.get(0), store.position("a")), (None, None));
        std::fs::remove_file(path).unwrap();
        assert!(Store::open(folder.path(), 2, bytes).is_err());
    }
}
