//! NumPy files: two-dimensional arrays of little-endian `f32` or half precision in C order.
//!
//! Read in the format versions 1.0 to 3.0, mapped and not loaded; written as version 1.0.

mod header;
mod writer;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

pub use header::Header;
pub use writer::NpyWriter;

use crate::retrieval::RetrievalError;
use crate::retrieval::exact::{Precision, Vectors};
use crate::retrieval::mapped::Mapped;

/// Opens a file of vectors. The numbers stay in the file and are not looked at:
/// [`Vectors::check_finite`] does that.
///
/// # Errors
/// One sentence with the path: it can't be read, is no NumPy file, holds something else than rows of `f32` or
/// half precision, or is shorter or longer than its header says.
pub fn open(path: &Path) -> Result<Vectors, RetrievalError> {
    let file = Mapped::open(path)?;
    let in_file = |why: String| RetrievalError(format!("{}: {why}", path.display()));
    let header = Header::parse(file.bytes()).map_err(in_file)?;
    let (is, wanted) = (file.bytes().len(), header.file_length().map_err(in_file)?);
    if is != wanted {
        let what = if is < wanted { "cut off" } else { "too long" };
        return Err(in_file(format!(
            "the file is {what}: {} rows of {} numbers make {wanted} bytes, but it has {is}; get or write it again",
            header.rows, header.dim
        )));
    }
    Vectors::mapped(
        Arc::new(file),
        header.start..wanted,
        header.dim,
        header.precision,
    )
    .map_err(|error| in_file(error.0))
}

/// Writes rows as an array `<f4` of shape (rows, dim), in C order.
///
/// # Errors
/// When `data` is not `rows × dim` long or `out` can't be written.
pub fn write(out: &mut impl Write, rows: usize, dim: usize, data: &[f32]) -> io::Result<()> {
    if rows.checked_mul(dim) != Some(data.len()) {
        return Err(io::Error::other(format!(
            "{} numbers are no array of {rows} × {dim}",
            data.len()
        )));
    }
    out.write_all(&head(rows, dim))?;
    writer::put(out, data)
}

/// What stands before the numbers of an array `<f4` of shape (rows, dim).
pub fn head(rows: usize, dim: usize) -> Vec<u8> {
    header::text(rows, dim, Precision::Full, 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn the_layout_is_numpy_s() {
        let mut bytes = Vec::new();
        write(&mut bytes, 2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, -6.5]).unwrap();
        assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
        let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        assert_eq!((10 + length) % 64, 0);
        let text = std::str::from_utf8(&bytes[10..10 + length]).unwrap();
        assert!(text.ends_with('\n'));
        assert_eq!(
            text.trim_end(),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
        );
        let data = &bytes[10 + length..];
        assert_eq!(data.len(), 24);
        assert_eq!(data[20..], (-6.5f32).to_le_bytes());
    }

    #[test]
    fn no_rows_are_an_array_and_wrong_sizes_are_refused() {
        let mut bytes = Vec::new();
        write(&mut bytes, 0, 384, &[]).unwrap();
        assert!(bytes.windows(8).any(|part| part == b"(0, 384)"));
        let mut bytes = Vec::new();
        assert!(write(&mut bytes, 2, 2, &[0.0; 3]).is_err());
        assert_eq!(bytes, b"");
    }

    #[test]
    fn what_is_written_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let data: Vec<f32> = (0..15).map(|i| i as f32 / 4.0 - 1.0).collect();
        let expected = Vectors::new(3, data.clone()).unwrap();
        for precision in [Precision::Full, Precision::Half] {
            let mut writer = NpyWriter::create(&path, 3, precision).unwrap();
            writer.append(&data[..6]).unwrap();
            writer.append(&data[6..]).unwrap();
            assert_eq!(writer.rows(), 5);
            assert_eq!(writer.finish().unwrap(), 5);
            let opened = open(&path).unwrap();
            assert_eq!(opened.precision(), precision);
            assert_eq!(opened, expected);
            opened.check_finite().unwrap();
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        std::fs::write(&path, {
            let mut bytes = Vec::new();
            write(&mut bytes, 5, 3, &data).unwrap();
            bytes
        })
        .unwrap();
        assert_eq!(open(&path).unwrap(), expected);
    }

    #[test]
    fn an_unfinished_file_leaves_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        std::fs::write(&path, "old").unwrap();
        let mut writer = NpyWriter::create(&path, 2, Precision::Full).unwrap();
        writer.append(&[1.0, 2.0]).unwrap();
        let message = writer.append(&[1.0]).unwrap_err().to_string();
        assert!(message.contains("2 dimensions"), "{message}");
        drop(writer);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let mut writer = NpyWriter::create(&path, 2, Precision::Half).unwrap();
        let message = writer.append(&[1.0, 1e6]).unwrap_err().to_string();
        assert!(message.contains("65,504"), "{message}");
    }

    #[test]
    fn every_cut_is_refused_with_a_sentence_that_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let mut whole = Vec::new();
        write(&mut whole, 2, 3, &[0.5; 6]).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let message = open(&path).unwrap_err().to_string();
            assert!(message.contains("a.npy"), "{length}: {message}");
        }
        whole.push(0);
        std::fs::write(&path, &whole).unwrap();
        let message = open(&path).unwrap_err().to_string();
        assert!(message.contains("too long"), "{message}");
        for missing in [folder.path().join("none.npy"), folder.path().to_path_buf()] {
            assert!(open(&missing).is_err());
        }
    }

    #[test]
    fn infinite_numbers_are_found_when_they_are_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let mut bytes = Vec::new();
        write(&mut bytes, 2, 2, &[0.0, 1.0, f32::NAN, 2.0]).unwrap();
        std::fs::write(&path, bytes).unwrap();
        let message = open(&path).unwrap().check_finite().unwrap_err().to_string();
        assert!(message.contains("vector 1 holds NaN"), "{message}");
    }
}
