//! Opening text files of any size: gzip is unpacked, bytes are counted, lines come one at a time.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

/// The longest line that any reader of lines takes, in bytes; a longer one is skipped or ends the reading, so that memory
/// stays bounded.
pub const LONGEST_LINE: u64 = 64 << 20;

/// Capacity of the buffers, in bytes.
const BUFFER: usize = 1 << 16;

/// How many bytes of a file have been read from disk so far (packed, where it is packed).
#[derive(Debug, Clone, Default)]
pub struct Position(Arc<AtomicU64>);

impl Position {
    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Says how far a file is that is read in another way.
    pub fn set(&self, bytes: u64) {
        self.0.store(bytes, Ordering::Relaxed);
    }
}

/// SHA-256 of the bytes of a file that have been read so far (packed, where it is packed).
#[derive(Debug, Clone, Default)]
pub struct Digest(Arc<Mutex<Sha256>>);

impl Digest {
    fn update(&self, bytes: &[u8]) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .update(bytes);
    }

    /// The hash of the whole file: what the reader left unread is read now.
    ///
    /// # Errors
    /// When the rest of the file can't be read.
    pub fn of_whole(&self, path: &Path, position: &Position) -> io::Result<[u8; 32]> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(position.bytes()))?;
        let mut buffer = vec![0; BUFFER];
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            self.update(&buffer[..count]);
            position.0.fetch_add(count as u64, Ordering::Relaxed);
        }
        let hash = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(hash.clone().finalize().into())
    }
}

struct Counting<R> {
    inner: R,
    position: Position,
    digest: Option<Digest>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.position.0.fetch_add(count as u64, Ordering::Relaxed);
        if let Some(digest) = &self.digest {
            digest.update(&buffer[..count]);
        }
        Ok(count)
    }
}

/// Refuses what is neither a file nor a folder: a pipe nobody writes to keeps a reader waiting for ever, and some
/// devices never end.
///
/// # Errors
/// One that says so; `Ok` where nothing is there, which opening will say.
pub fn refuse_special(path: &Path) -> io::Result<()> {
    match std::fs::metadata(path) {
        Ok(meta) if !meta.is_file() && !meta.is_dir() => Err(io::Error::other(
            "it is a pipe, a socket or a device; save what it holds as a file and name that",
        )),
        _ => Ok(()),
    }
}

/// Opens a file for reading; gzip is recognised by its first bytes. A byte-order mark is skipped.
///
/// # Errors
/// When the file can't be opened or its first bytes can't be read.
pub fn open(path: &Path) -> io::Result<(Box<dyn BufRead>, Position)> {
    open_with(path, None)
}

/// [`open`], with a hash over the bytes of the file.
///
/// # Errors
/// As [`open`].
pub fn open_hashing(path: &Path) -> io::Result<(Box<dyn BufRead>, Position, Digest)> {
    let digest = Digest::default();
    let (reader, position) = open_with(path, Some(digest.clone()))?;
    Ok((reader, position, digest))
}

/// Refuses a device, which may never end; a pipe that somebody writes to (`<(zcat …)` of a shell) may be read.
fn refuse_device(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = std::fs::metadata(path).map(|meta| meta.file_type());
        if kind.is_ok_and(|kind| kind.is_char_device() || kind.is_block_device()) {
            return Err(io::Error::other(
                "it is a device; save what it holds as a file and name that",
            ));
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

fn open_with(path: &Path, digest: Option<Digest>) -> io::Result<(Box<dyn BufRead>, Position)> {
    refuse_device(path)?;
    let position = Position::default();
    let counting = Counting {
        inner: File::open(path)?,
        position: position.clone(),
        digest,
    };
    let mut reader = BufReader::with_capacity(BUFFER, counting);
    let packed = reader.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    let mut reader: Box<dyn BufRead> = match packed {
        true => {
            let unpacked = flate2::bufread::MultiGzDecoder::new(reader);
            Box::new(BufReader::with_capacity(BUFFER, unpacked))
        }
        false => Box::new(reader),
    };
    if reader.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
        reader.consume(3);
    }
    Ok((reader, position))
}

/// Why a file can't be opened or read, in words that follow its name, with what to do.
pub fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "does not exist; check the path".to_owned(),
        io::ErrorKind::IsADirectory => "is a folder, but a file is expected".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "can't be opened: you have no right to read it".to_owned()
        }
        // What the unpacking of gzip says of bytes that it can't unpack.
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            format!("is damaged: its gzip data can't be unpacked ({error}); fetch or pack it again")
        }
        _ => format!("can't be read ({error})"),
    }
}

/// One line of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// Its text without the line end and without spaces around it; never empty.
    Text(&'a str),
    /// A line that can't be used, and why.
    Bad(String),
}

/// The lines of a file, one at a time; blank ones are passed over.
pub struct Lines {
    reader: Box<dyn BufRead>,
    buffer: Vec<u8>,
    number: usize,
}

impl Lines {
    /// The lines of an opened file.
    pub fn new(reader: Box<dyn BufRead>) -> Lines {
        Lines {
            reader,
            buffer: Vec::new(),
            number: 0,
        }
    }

    /// The next line that is not blank, with its number (the first is 1); `None` at the end.
    ///
    /// # Errors
    /// When the file can't be read on.
    pub fn next_line(&mut self) -> io::Result<Option<(usize, Line<'_>)>> {
        loop {
            self.buffer.clear();
            let mut limited = self.reader.by_ref().take(LONGEST_LINE);
            if limited.read_until(b'\n', &mut self.buffer)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if self.buffer.len() as u64 == LONGEST_LINE && !self.buffer.ends_with(b"\n") {
                skip_line(&mut *self.reader)?;
                self.buffer = Vec::new();
                let why = format!("is longer than {LONGEST_LINE} bytes");
                return Ok(Some((self.number, Line::Bad(why))));
            }
            if !self.buffer.iter().all(u8::is_ascii_whitespace) {
                break;
            }
        }
        let line = match std::str::from_utf8(&self.buffer) {
            Ok(text) => Line::Text(text.trim()),
            Err(error) => Line::Bad(format!(
                "column {}: a byte that is not UTF-8",
                error.valid_up_to() + 1
            )),
        };
        Ok(Some((self.number, line)))
    }
}

/// The text of a file that can only be read whole, up to the length of the longest line.
///
/// # Errors
/// One that says what is wrong: it can't be read, is no UTF-8 (both of the kinds that [`why`] knows), or is longer.
pub fn whole_text(reader: Box<dyn BufRead>) -> io::Result<String> {
    let mut text = String::new();
    reader.take(LONGEST_LINE + 1).read_to_string(&mut text)?;
    match text.len() as u64 > LONGEST_LINE {
        true => Err(io::Error::other(format!(
            "it holds more than {LONGEST_LINE} bytes of text, which is the most that is read at once"
        ))),
        false => Ok(text),
    }
}

/// Reads on to the next line end without keeping anything.
fn skip_line(reader: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let chunk = reader.fill_buf()?;
        let end = chunk.iter().position(|&byte| byte == b'\n');
        let (used, done) = match end {
            Some(at) => (at + 1, true),
            None => (chunk.len(), chunk.is_empty()),
        };
        reader.consume(used);
        if done {
            return Ok(());
        }
    }
}

/// The most bytes of a plan, a prompt template or a mapping.
pub const LARGEST_PLAN: u64 = 1 << 20;

/// The text of a small file that a person writes, such as settings or a theme.
///
/// # Errors
/// One whole sentence: the file can't be read, is a pipe or a device, is larger than `largest` bytes or is not UTF-8 (both
/// [`io::ErrorKind::InvalidData`]).
pub fn small_text(path: &Path, largest: u64) -> io::Result<String> {
    let name = path.display();
    let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidData, text);
    let unreadable =
        |error: io::Error| io::Error::new(error.kind(), format!("{name} can't be read: {error}"));
    refuse_special(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    // One byte more tells a file that is too large, whatever its size is said to be.
    file.take(largest + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > largest {
        return Err(invalid(format!(
            "{name} is larger than {largest} bytes, which no file of this kind is; it seems to be another one"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        invalid(format!(
            "{name}, line {line}: this is not UTF-8 text; save the file as UTF-8"
        ))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write;

    use super::*;

    fn read(bytes: &[u8]) -> Vec<(usize, Result<String, String>)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, bytes).unwrap();
        let mut lines = Lines::new(open(&path).unwrap().0);
        let mut all = Vec::new();
        while let Some((number, line)) = lines.next_line().unwrap() {
            all.push((
                number,
                match line {
                    Line::Text(text) => Ok(text.to_owned()),
                    Line::Bad(why) => Err(why),
                },
            ));
        }
        all
    }

    #[test]
    fn the_hash_is_that_of_the_whole_file_however_much_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let bytes: Vec<u8> = (0..300_000u32).map(|i| (i % 251) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let expected: [u8; 32] = Sha256::digest(&bytes).into();
        for read in [0, 10, 300_000] {
            let (mut reader, position, digest) = open_hashing(&path).unwrap();
            reader.read_exact(&mut vec![0; read]).unwrap();
            assert_eq!(digest.of_whole(&path, &position).unwrap(), expected);
            assert_eq!(position.bytes(), 300_000);
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_never_ends_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for path in [Path::new("/dev/zero"), Path::new("/dev/null")] {
            let message = refuse_special(path).unwrap_err().to_string();
            assert!(message.contains("save what it holds"), "{message}");
        }
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(refuse_special(&socket).is_err());
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        for path in [folder.path(), &file, Path::new("none")] {
            refuse_special(path).unwrap();
        }
    }

    #[test]
    fn small_texts_are_read_up_to_a_size_and_from_files_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.toml");
        std::fs::write(&path, "docs = [5]\n").unwrap();
        assert_eq!(small_text(&path, 11).unwrap(), "docs = [5]\n");
        let why = small_text(&path, 10).unwrap_err().to_string();
        assert!(why.contains("larger than 10 bytes"), "{why}");
        #[cfg(unix)]
        {
            let why = small_text(Path::new("/dev/zero"), 10).unwrap_err();
            assert!(why.to_string().contains("save what it holds"), "{why}");
        }
    }

    #[test]
    fn marks_line_ends_and_blank_lines_do_not_matter() {
        let ok = |number, text: &str| (number, Ok(text.to_owned()));
        let plain = b"\xef\xbb\xbf a\r\n\r\n  \nb";
        assert_eq!(read(plain), [ok(1, "a"), ok(4, "b")]);
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(plain).unwrap();
        assert_eq!(read(&packed.finish().unwrap()), [ok(1, "a"), ok(4, "b")]);
        assert_eq!(read(b""), []);
    }

    #[test]
    fn a_line_that_is_not_utf8_is_named_and_the_next_is_read() {
        let lines = read(b"a\nb\xff\nc\n");
        assert_eq!(lines[1].0, 2);
        assert!(lines[1].1.as_ref().unwrap_err().contains("column 2"));
        assert_eq!(lines[2], (3, Ok("c".to_owned())));
    }

    #[test]
    fn an_endless_line_is_skipped() {
        let mut bytes = vec![b'x'; LONGEST_LINE as usize + 10];
        bytes.extend_from_slice(b"\nshort\n");
        let lines = read(&bytes);
        assert!(lines[0].1.as_ref().unwrap_err().contains("longer than"));
        assert_eq!(lines[1], (2, Ok("short".to_owned())));
    }
}
