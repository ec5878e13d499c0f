//! The head of a NumPy file: magic, version, length and a Python dictionary in text.

use crate::retrieval::exact::Precision;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Bytes of a dictionary at most: numpy itself refuses to read longer ones.
const LONGEST: usize = 10_000;

/// What a NumPy file says it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Vectors.
    pub rows: usize,
    /// Numbers of each.
    pub dim: usize,
    /// `<f4` or `<f2`.
    pub precision: Precision,
    /// Where the numbers begin, in bytes.
    pub start: usize,
}

impl Header {
    /// Reads the head of a file; `bytes` may go on behind it.
    ///
    /// # Errors
    /// One sentence: what is there and what was expected.
    pub fn parse(bytes: &[u8]) -> Result<Header, String> {
        let cut = || "the file is cut off in its header; get or write it again".to_owned();
        if !bytes.starts_with(MAGIC) {
            return Err(
                "this is no NumPy file (it does not begin with \\x93NUMPY); numpy.save writes one"
                    .into(),
            );
        }
        let version = (
            *bytes.get(6).ok_or_else(cut)?,
            *bytes.get(7).ok_or_else(cut)?,
        );
        let (length, at) = match version {
            (1, 0) => {
                let field = bytes.get(8..10).ok_or_else(cut)?;
                (usize::from(u16::from_le_bytes([field[0], field[1]])), 10)
            }
            (2 | 3, 0) => {
                let field = bytes.get(8..12).ok_or_else(cut)?;
                let field = [field[0], field[1], field[2], field[3]];
                (u32::from_le_bytes(field) as usize, 12)
            }
            (major, minor) => {
                return Err(format!(
                    "NumPy format {major}.{minor} is not known; save the array with numpy.save (1.0 to 3.0)"
                ));
            }
        };
        if length > LONGEST {
            return Err(format!(
                "the header has {length} bytes, more than {LONGEST}"
            ));
        }
        let text = bytes.get(at..at + length).ok_or_else(cut)?;
        let text = std::str::from_utf8(text).map_err(|_| "the header is no text".to_owned())?;
        let (rows, dim, precision) = dictionary(text)?;
        Ok(Header {
            rows,
            dim,
            precision,
            start: at + length,
        })
    }

    /// Bytes of a whole file.
    ///
    /// # Errors
    /// When they are more than can be counted.
    pub fn file_length(&self) -> Result<usize, String> {
        (self.rows.checked_mul(self.dim))
            .and_then(|numbers| numbers.checked_mul(self.precision.bytes()))
            .and_then(|bytes| bytes.checked_add(self.start))
            .ok_or_else(|| format!("{} × {} numbers are too many", self.rows, self.dim))
    }
}

/// Rows, dimensions and kind of number.
fn dictionary(text: &str) -> Result<(usize, usize, Precision), String> {
    let field = |name: &str| {
        entry(text, name).ok_or_else(|| format!("the header has no '{name}': \"{}\"", text.trim()))
    };
    let precision = match field("descr")?.trim_matches(['\'', '"']) {
        "<f4" => Precision::Full,
        "<f2" => Precision::Half,
        other => {
            return Err(format!(
                "the array is of type \"{other}\", but vectors are read as '<f4' or '<f2'; save it with .astype('<f4')"
            ));
        }
    };
    match field("fortran_order")? {
        "False" => {}
        "True" => {
            return Err(
                "the array is stored column by column; save it row by row with numpy.ascontiguousarray".into(),
            );
        }
        other => return Err(format!("fortran_order is \"{other}\", not True or False")),
    }
    let shape = field("shape")?;
    let numbers: Option<Vec<usize>> = shape
        .strip_prefix('(')
        .and_then(|shape| shape.strip_suffix(')'))
        .map(|inner| inner.trim().trim_end_matches(','))
        .and_then(|inner| {
            inner
                .split(',')
                .map(|part| part.trim().parse().ok())
                .collect()
        });
    match numbers.as_deref() {
        Some(&[rows, dim]) if dim > 0 => Ok((rows, dim, precision)),
        _ => Err(format!(
            "the array has the shape {shape}, but vectors need two dimensions: (rows, numbers of each)"
        )),
    }
}

/// The value behind a key: a quoted text, a bracketed list or a word.
fn entry<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = [format!("'{name}'"), format!("\"{name}\"")]
        .iter()
        .find_map(|key| text.split_once(key.as_str()))?;
    let value = rest.trim_start().strip_prefix(':')?.trim_start();
    let close = match value.chars().next()? {
        '(' => ')',
        '[' => ']',
        quote @ ('\'' | '"') => quote,
        _ => return Some(value.split([',', '}']).next()?.trim()),
    };
    let end = value[1..].find(close)? + 2;
    Some(&value[..end])
}

/// Magic, version 1.0, length and dictionary, padded so that the data starts at a multiple of 64 and not
/// before `least`.
pub(super) fn text(rows: usize, dim: usize, precision: Precision, least: usize) -> Vec<u8> {
    let descr = match precision {
        Precision::Full => "<f4",
        Precision::Half => "<f2",
    };
    let mut text =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({rows}, {dim}), }}");
    let unpadded = MAGIC.len() + 4 + text.len() + 1;
    let whole = unpadded.max(least).next_multiple_of(64);
    text.push_str(&" ".repeat(whole - unpadded));
    text.push('\n');
    let mut head = MAGIC.to_vec();
    head.extend_from_slice(&[1, 0]);
    head.extend_from_slice(&(text.len() as u16).to_le_bytes());
    head.extend_from_slice(text.as_bytes());
    head
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    fn file(version: u8, dictionary: &str) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&[version, 0]);
        match version {
            1 => bytes.extend_from_slice(&(dictionary.len() as u16).to_le_bytes()),
            _ => bytes.extend_from_slice(&(dictionary.len() as u32).to_le_bytes()),
        }
        bytes.extend_from_slice(dictionary.as_bytes());
        bytes
    }

    #[test]
    fn all_versions_and_spellings_are_read() {
        for dictionary in [
            "{'descr': '<f4', 'fortran_order': False, 'shape': (38, 768), }          \n",
            "{\"shape\":(38,768,),\"descr\":\"<f4\",\"fortran_order\":False}",
        ] {
            for version in [1, 2, 3] {
                let bytes = file(version, dictionary);
                let header = Header::parse(&bytes).unwrap();
                let expected = Header {
                    rows: 38,
                    dim: 768,
                    precision: Precision::Full,
                    start: bytes.len(),
                };
                assert_eq!(header, expected);
            }
        }
        let half = text(7, 5, Precision::Half, 128);
        let header = Header::parse(&half).unwrap();
        assert_eq!((header.rows, header.dim, header.start), (7, 5, 128));
        assert_eq!(header.precision, Precision::Half);
    }

    #[test]
    fn what_is_no_row_of_vectors_is_refused_with_a_way_out() {
        let with = |descr: &str, order: &str, shape: &str| {
            let text = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}}}");
            Header::parse(&file(1, &text)).unwrap_err()
        };
        for (message, part) in [
            (with("'<f8'", "False", "(2, 3)"), "astype('<f4')"),
            (with("'>f4'", "False", "(2, 3)"), "\">f4\""),
            (with("[('x', '<f4')]", "False", "(2, 3)"), "astype"),
            (with("'<f4'", "True", "(2, 3)"), "ascontiguousarray"),
            (with("'<f4'", "Maybe", "(2, 3)"), "Maybe"),
            (with("'<f4'", "False", "(6,)"), "two dimensions"),
            (with("'<f4'", "False", "(2, 0)"), "two dimensions"),
            (with("'<f4'", "False", "(2, 3, 4)"), "two dimensions"),
            (with("'<f4'", "False", "(-2, 3)"), "two dimensions"),
            (with("'<f4'", "False", "()"), "two dimensions"),
            (Header::parse(&file(1, "{}")).unwrap_err(), "no 'descr'"),
            (Header::parse(&file(4, "{}")).unwrap_err(), "4.0"),
            (Header::parse(b"PK\x03\x04").unwrap_err(), "no NumPy file"),
            (
                Header::parse(&file(2, &" ".repeat(LONGEST + 1))).unwrap_err(),
                "more than",
            ),
        ] {
            assert!(message.contains(part), "{message}");
        }
        let huge = Header {
            rows: usize::MAX,
            dim: 3,
            precision: Precision::Half,
            start: 64,
        };
        assert!(huge.file_length().is_err());
    }

    proptest! {
        #[test]
        fn damaged_headers_never_panic(at in 0usize..128, byte in any::<u8>(), cut in 0usize..=128) {
            let mut bytes = text(12, 34, Precision::Full, 128);
            bytes[at] = byte;
            let _ = Header::parse(&bytes[..cut]);
        }
    }
}
