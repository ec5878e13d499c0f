//! NumPy files: two-dimensional arrays of little-endian `f32`, format version 1.0.

use std::io::{self, Write};

const MAGIC: &[u8; 8] = b"\x93NUMPY\x01\x00";

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
    out.write_all(&header(rows, dim))?;
    for number in data {
        out.write_all(&number.to_le_bytes())?;
    }
    Ok(())
}

/// What stands before the numbers: magic, version, length and dictionary, padded so that they start at a multiple
/// of 64 bytes.
pub fn header(rows: usize, dim: usize) -> Vec<u8> {
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
}
