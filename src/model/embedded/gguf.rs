//! Looks into a GGUF file before llama.cpp does, because its own errors say nothing.
//!
//! Layout: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// What the header of a GGUF file says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    /// Such as `qwen2`.
    pub architecture: Option<String>,
    /// The model's own name.
    pub name: Option<String>,
    /// Context window it was trained for, in tokens.
    pub context_length: Option<u32>,
    /// Size of the file.
    pub bytes: u64,
}

/// Why a file can't be a model.
#[derive(Debug, thiserror::Error)]
pub enum GgufError {
    /// Not there or not readable.
    #[error("{path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A folder or the like.
    #[error("{0} is not a file; name a GGUF file")]
    NotAFile(String),
    /// Some other format.
    #[error(
        "{0} is not a GGUF model: it does not begin with the letters GGUF; convert it to GGUF or choose another file"
    )]
    Magic(String),
    /// A version that nobody reads.
    #[error("{path} is GGUF version {version}, but versions 2 and 3 are read; fetch a newer file")]
    Version {
        /// The file.
        path: String,
        /// What it says.
        version: u32,
    },
    /// The download broke off.
    #[error(
        "{path} is cut off: it has {bytes} bytes, but its header tells of {expected}; fetch it again"
    )]
    Truncated {
        /// The file.
        path: String,
        /// Size of the file.
        bytes: u64,
        /// Size that the header needs at least.
        expected: u64,
    },
    /// Numbers that can't be right.
    #[error("{path} is damaged: {what}; fetch it again")]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong.
        what: String,
    },
}

/// Strings and lists longer than this are taken for damage.
const MAX_STRING: u64 = 1 << 26;
const MAX_COUNT: u64 = 1 << 26;

/// Reads the header and checks that the file is as long as its header needs.
///
/// # Errors
/// [`GgufError`], one clear sentence.
pub fn read_header(path: &Path) -> Result<Header, GgufError> {
    let shown = path.display().to_string();
    let unreadable = |source| GgufError::Unreadable {
        path: shown.clone(),
        source,
    };
    let meta = std::fs::metadata(path).map_err(unreadable)?;
    if !meta.is_file() {
        return Err(GgufError::NotAFile(shown));
    }
    let file = File::open(path).map_err(unreadable)?;
    let mut reader = Reader {
        input: BufReader::new(file),
        position: 0,
        path: shown,
        bytes: meta.len(),
    };
    reader.header()
}

struct Reader {
    input: BufReader<File>,
    position: u64,
    path: String,
    bytes: u64,
}

impl Reader {
    fn header(&mut self) -> Result<Header, GgufError> {
        let magic = self
            .exact::<4>()
            .map_err(|_| GgufError::Magic(self.path.clone()))?;
        if &magic != b"GGUF" {
            return Err(GgufError::Magic(self.path.clone()));
        }
        let version = self.u32()?;
        if !(2..=3).contains(&version) {
            return Err(GgufError::Version {
                path: self.path.clone(),
                version,
            });
        }
        let tensors = self.count("tensors")?;
        let entries = self.count("metadata entries")?;
        let mut header = Header {
            bytes: self.bytes,
            ..Header::default()
        };
        let mut alignment = 32;
        for _ in 0..entries {
            self.entry(&mut header, &mut alignment)?;
        }
        let mut end = 0;
        for _ in 0..tensors {
            end = end.max(self.tensor_end()?);
        }
        let start = self.position.next_multiple_of(alignment);
        let expected = start.saturating_add(end);
        if expected > self.bytes {
            return Err(self.truncated(expected));
        }
        Ok(header)
    }

    fn entry(&mut self, header: &mut Header, alignment: &mut u64) -> Result<(), GgufError> {
        let key = self.string()?;
        let kind = self.u32()?;
        match (key.as_str(), kind) {
            ("general.architecture", STRING) => header.architecture = Some(self.string()?),
            ("general.name", STRING) => header.name = Some(self.string()?),
            ("general.alignment", U32) => *alignment = u64::from(self.u32()?).clamp(1, 1 << 20),
            (key, U32) if key.ends_with(".context_length") => {
                header.context_length = Some(self.u32()?);
            }
            _ => self.skip_value(kind, 0)?,
        }
        Ok(())
    }

    /// The offset behind a tensor's last byte, relative to the start of the data.
    fn tensor_end(&mut self) -> Result<u64, GgufError> {
        let name = self.string()?;
        let dimensions = self.u32()?;
        if dimensions > 8 {
            return Err(self.damaged(format!("tensor {name} has {dimensions} dimensions")));
        }
        let mut elements: u64 = 1;
        for _ in 0..dimensions {
            let size = self.u64()?;
            elements = elements
                .checked_mul(size)
                .ok_or_else(|| self.damaged(format!("tensor {name} is too large")))?;
        }
        let kind = self.u32()?;
        let offset = self.u64()?;
        // A kind unknown here takes at least one byte.
        let size = block(kind).map_or(1, |(per_block, bytes)| {
            elements.div_ceil(per_block).saturating_mul(bytes)
        });
        Ok(offset.saturating_add(size))
    }

    fn skip_value(&mut self, kind: u32, depth: u32) -> Result<(), GgufError> {
        match kind {
            STRING => self.string().map(|_| ()),
            ARRAY if depth < 4 => {
                let inner = self.u32()?;
                let count = self.count("list entries")?;
                match scalar_size(inner) {
                    Some(size) => self.skip(size.saturating_mul(count)),
                    None => (0..count).try_for_each(|_| self.skip_value(inner, depth + 1)),
                }
            }
            kind => match scalar_size(kind) {
                Some(size) => self.skip(size),
                None => Err(self.damaged(format!("a metadata value has the unknown kind {kind}"))),
            },
        }
    }

    fn skip(&mut self, bytes: u64) -> Result<(), GgufError> {
        let end = self.position.saturating_add(bytes);
        if end > self.bytes {
            return Err(self.truncated(end));
        }
        let step = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.input
            .seek_relative(step)
            .or_else(|_| self.input.seek(SeekFrom::Start(end)).map(|_| ()))
            .map_err(|source| self.unreadable(source))?;
        self.position = end;
        Ok(())
    }

    fn count(&mut self, what: &str) -> Result<u64, GgufError> {
        let count = self.u64()?;
        if count > MAX_COUNT {
            return Err(self.damaged(format!("it claims {count} {what}")));
        }
        Ok(count)
    }

    fn string(&mut self) -> Result<String, GgufError> {
        let length = self.u64()?;
        if length > MAX_STRING {
            return Err(self.damaged(format!("it claims a text of {length} bytes")));
        }
        let end = self.position.saturating_add(length);
        if end > self.bytes {
            return Err(self.truncated(end));
        }
        let mut text = vec![0; usize::try_from(length).unwrap_or(0)];
        self.input
            .read_exact(&mut text)
            .map_err(|source| self.unreadable(source))?;
        self.position = end;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn u32(&mut self) -> Result<u32, GgufError> {
        self.exact().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, GgufError> {
        self.exact().map(u64::from_le_bytes)
    }

    fn exact<const N: usize>(&mut self) -> Result<[u8; N], GgufError> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes).map_err(|source| {
            let needed = self.position + N as u64;
            match source.kind() {
                ErrorKind::UnexpectedEof => self.truncated(needed),
                _ => self.unreadable(source),
            }
        })?;
        self.position += N as u64;
        Ok(bytes)
    }

    fn truncated(&self, expected: u64) -> GgufError {
        GgufError::Truncated {
            path: self.path.clone(),
            bytes: self.bytes,
            expected,
        }
    }

    fn damaged(&self, what: String) -> GgufError {
        GgufError::Damaged {
            path: self.path.clone(),
            what,
        }
    }

    fn unreadable(&self, source: std::io::Error) -> GgufError {
        GgufError::Unreadable {
            path: self.path.clone(),
            source,
        }
    }
}

const U32: u32 = 4;
const STRING: u32 = 8;
const ARRAY: u32 = 9;

/// Bytes of a metadata value of this kind; `None` for strings, lists and unknown kinds.
fn scalar_size(kind: u32) -> Option<u64> {
    match kind {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}

/// Elements and bytes of a block of a tensor type; `None` for types not listed.
fn block(kind: u32) -> Option<(u64, u64)> {
    Some(match kind {
        0 | 26 => (1, 4),
        1 | 25 | 30 => (1, 2),
        24 => (1, 1),
        27 | 28 => (1, 8),
        2 => (32, 18),
        3 => (32, 20),
        6 => (32, 22),
        7 => (32, 24),
        8 => (32, 34),
        10 => (256, 84),
        11 => (256, 110),
        12 => (256, 144),
        13 => (256, 176),
        14 => (256, 210),
        20 => (32, 18),
        23 => (256, 136),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn write(bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m.gguf");
        std::fs::write(&path, bytes).unwrap();
        (dir, path)
    }

    /// One entry (context_length 512) and one tensor of 8 floats.
    fn small(data: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let text = |out: &mut Vec<u8>, text: &str| {
            out.extend((text.len() as u64).to_le_bytes());
            out.extend(text.as_bytes());
        };
        out.extend(b"GGUF");
        out.extend(3u32.to_le_bytes());
        out.extend(1u64.to_le_bytes());
        out.extend(1u64.to_le_bytes());
        text(&mut out, "llama.context_length");
        out.extend(4u32.to_le_bytes());
        out.extend(512u32.to_le_bytes());
        text(&mut out, "w");
        out.extend(1u32.to_le_bytes());
        out.extend(8u64.to_le_bytes());
        out.extend(0u32.to_le_bytes());
        out.extend(0u64.to_le_bytes());
        out.resize(out.len().next_multiple_of(32) + data, 0);
        out
    }

    #[test]
    fn a_whole_file_passes_and_a_cut_one_says_so_at_every_length() {
        let whole = small(32);
        let (_dir, path) = write(&whole);
        assert_eq!(read_header(&path).unwrap().context_length, Some(512));
        for length in 4..whole.len() {
            let (_dir, path) = write(&whole[..length]);
            let error = read_header(&path).unwrap_err();
            assert!(
                matches!(error, GgufError::Truncated { .. }),
                "{length}: {error}"
            );
            assert!(error.to_string().contains("cut off"));
        }
    }

    #[test]
    fn other_things_are_named_for_what_they_are() {
        let (dir, path) = write(b"PK\x03\x04 not a model");
        assert!(matches!(read_header(&path), Err(GgufError::Magic(_))));
        let (_dir, empty) = write(b"");
        assert!(matches!(read_header(&empty), Err(GgufError::Magic(_))));
        assert!(matches!(
            read_header(dir.path()),
            Err(GgufError::NotAFile(_))
        ));
        let absent = dir.path().join("absent.gguf");
        assert!(
            read_header(&absent)
                .unwrap_err()
                .to_string()
                .contains("absent.gguf")
        );
        let mut old = small(32);
        old[4] = 1;
        let (_dir, old) = write(&old);
        assert!(matches!(
            read_header(&old),
            Err(GgufError::Version { version: 1, .. })
        ));
        let mut huge = small(32);
        huge[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
        let (_dir, huge) = write(&huge);
        assert!(matches!(read_header(&huge), Err(GgufError::Damaged { .. })));
    }
}
