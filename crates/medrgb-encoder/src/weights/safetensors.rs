//! The header of a safetensors file: a length, then JSON with each tensor's type, shape and place.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Entry, Index, Precision, check_sizes, cut_short};
use crate::error::EncoderError;

/// The format's own limit on the header, in bytes.
const LARGEST_HEADER: u64 = 100_000_000;

#[derive(Deserialize)]
struct Info {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [u64; 2],
}

/// Reads and checks the index of the safetensors file open at `file`.
pub(super) fn index(path: &Path, file: &mut File) -> Result<Index, EncoderError> {
    let size = file.metadata().map_err(EncoderError::io(path))?.len();
    let header = header(path, file, size)?;
    let start = 8 + header.len() as u64;
    let map: Map<String, Value> = serde_json::from_slice(&header).map_err(|_| damaged(path))?;
    let mut index = Index::new();
    for (name, value) in map {
        if name != "__metadata__" {
            index.insert(name, entry(value, start).ok_or_else(|| damaged(path))?);
        }
    }
    check_sizes(path, size, &index)?;
    Ok(index)
}

fn header(path: &Path, file: &mut File, size: u64) -> Result<Vec<u8>, EncoderError> {
    let mut length = [0; 8];
    if size < 8 {
        return Err(cut_short(path, 8, size));
    }
    file.read_exact(&mut length)
        .map_err(EncoderError::io(path))?;
    let length = u64::from_le_bytes(length);
    if length > LARGEST_HEADER {
        return Err(damaged(path));
    }
    if length + 8 > size {
        return Err(cut_short(path, length + 8, size));
    }
    let mut header = vec![0; length as usize];
    file.read_exact(&mut header)
        .map_err(EncoderError::io(path))?;
    Ok(header)
}

/// The entry `value` describes, data starting at byte `start`; `None` if it contradicts itself.
fn entry(value: Value, start: u64) -> Option<Entry> {
    let info: Info = serde_json::from_value(value).ok()?;
    let [from, to] = info.data_offsets;
    let entry = Entry {
        precision: precision(&info.dtype)?,
        shape: info.shape,
        offset: start.checked_add(from)?,
    };
    (entry.bytes()? == to.checked_sub(from)?).then_some(entry)
}

fn precision(dtype: &str) -> Option<Precision> {
    Some(match dtype {
        "F64" => Precision::F64,
        "F32" => Precision::F32,
        "F16" => Precision::F16,
        "BF16" => Precision::Bf16,
        "I64" | "U64" => Precision::Other(8),
        "I32" | "U32" => Precision::Other(4),
        "I16" | "U16" => Precision::Other(2),
        "BOOL" | "U8" | "I8" | "F8_E4M3" | "F8_E5M2" => Precision::Other(1),
        _ => return None,
    })
}

fn damaged(path: &Path) -> EncoderError {
    EncoderError::invalid(
        path,
        "its header is not that of a safetensors file; copy the file again \
         (a small text file here is often a pointer left by Git LFS)",
    )
}
