//! NumPy files: two-dimensional arrays of little-endian `f32`, format version 1.0.

use std::io::Write;
use std::path::Path;

use crate::retrieval::RetrievalError;

const MAGIC: &[u8; 8] = b"\x93NUMPY\x01\x00";

/// Writes rows as an array `<f4` of shape (rows, dim), in C order. The file appears whole or not at all.
///
/// # Errors
/// When `data` is not `rows × dim` long or the file can't be written.
pub fn write(path: &Path, rows: usize, dim: usize, data: &[f32]) -> Result<(), RetrievalError> {
    if rows.checked_mul(dim) != Some(data.len()) {
        return Err(RetrievalError(format!(
            "{} numbers are no array of {rows} × {dim}",
            data.len()
        )));
    }
    write_file(path, rows, dim, data).map_err(|error| {
        RetrievalError(format!(
            "{} can't be written: {error}; check that its folder exists and has room",
            path.display()
        ))
    })
}

fn write_file(path: &Path, rows: usize, dim: usize, data: &[f32]) -> std::io::Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".writing-");
    // As other new files: the process's mask decides, not the temporary file's privacy.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(folder)?;
    let mut out = std::io::BufWriter::with_capacity(1 << 20, file);
    out.write_all(&header(rows, dim))?;
    for number in data {
        out.write_all(&number.to_le_bytes())?;
    }
    let file = out.into_inner().map_err(|error| error.into_error())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Magic, version, length and dictionary, padded so that the data starts at a multiple of 64.
fn header(rows: usize, dim: usize) -> Vec<u8> {
    let mut text =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {dim}), }}");
    let unpadded = MAGIC.len() + 2 + text.len() + 1;
    text.push_str(&" ".repeat(unpadded.next_multiple_of(64) - unpadded));
    text.push('\n');
    let mut head = MAGIC.to_vec();
    head.extend_from_slice(&(text.len() as u16).to_le_bytes());
    head.extend_from_slice(text.as_bytes());
    head
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn the_layout_is_numpy_s() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        write(&path, 2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, -6.5]).unwrap();
        let bytes = std::fs::read(&path).unwrap();
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
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        write(&path, 0, 384, &[]).unwrap();
        assert!(
            std::fs::read(&path)
                .unwrap()
                .windows(8)
                .any(|part| part == b"(0, 384)")
        );
        assert!(write(&path, 2, 2, &[0.0; 3]).is_err());
        let missing = folder.path().join("no/such/a.npy");
        let message = write(&missing, 0, 1, &[]).unwrap_err().to_string();
        assert!(message.contains("can't be written"), "{message}");
    }
}
