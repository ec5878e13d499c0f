//! PyTorch's `.bin`: a zip archive of a pickle (names, shapes) and one stored member per storage.
//!
//! Only the pickle's data is interpreted, never code: see [`super::pickle`].

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use zip::{CompressionMethod, ZipArchive};

use super::pickle::{self, Tensor};
use super::{Entry, Index, check_sizes};
use crate::error::EncoderError;

/// No encoder's table of names and shapes comes near this many bytes.
const LARGEST_PICKLE: u64 = 64 << 20;

/// The way out for files that this reader does not take.
const CONVERT: &str =
    "load it with transformers and save it with save_pretrained(…, safe_serialization=True)";

/// Reads and checks the index of the PyTorch file open at `file`.
pub(super) fn index(path: &Path, file: &mut File) -> Result<Index, EncoderError> {
    let size = file.metadata().map_err(EncoderError::io(path))?.len();
    let mut archive = ZipArchive::new(BufReader::new(&mut *file)).map_err(|error| {
        EncoderError::invalid(
            path,
            format!("not a whole PyTorch zip file ({error}); copy it again, or if PyTorch before 1.6 wrote it: {CONVERT}"),
        )
    })?;
    let (root, pickle) = read_pickle(path, &mut archive)?;
    let tensors = pickle::state_dict(&pickle)
        .map_err(|problem| EncoderError::unsupported(path, format!("{problem}; {CONVERT}")))?;
    let storages = storages(path, &mut archive, &root)?;
    let mut index = Index::new();
    for (name, tensor) in tensors {
        let entry = place(path, &name, tensor, &storages)?;
        index.insert(name, entry);
    }
    check_sizes(path, size, &index)?;
    Ok(index)
}

/// The archive's root folder (with its slash) and the bytes of its `data.pkl`.
fn read_pickle<R: Read + std::io::Seek>(
    path: &Path,
    archive: &mut ZipArchive<R>,
) -> Result<(String, Vec<u8>), EncoderError> {
    let name = archive
        .file_names()
        .filter_map(Result::ok)
        .find(|name| *name == "data.pkl" || name.ends_with("/data.pkl"))
        .map(std::borrow::Cow::into_owned)
        .ok_or_else(|| {
            EncoderError::invalid(path, "there is no data.pkl inside; copy the file again")
        })?;
    let broken = |error: String| {
        EncoderError::invalid(
            path,
            format!("data.pkl inside cannot be read ({error}); copy the file again"),
        )
    };
    let member = archive.by_name(&name).map_err(|e| broken(e.to_string()))?;
    if member.size() > LARGEST_PICKLE {
        return Err(broken("it is too large".to_owned()));
    }
    let mut bytes = Vec::new();
    member
        .take(LARGEST_PICKLE)
        .read_to_end(&mut bytes)
        .map_err(|e| broken(e.to_string()))?;
    Ok((name.trim_end_matches("data.pkl").to_owned(), bytes))
}

/// Position and size in bytes of each storage, by its key.
fn storages<R: Read + std::io::Seek>(
    path: &Path,
    archive: &mut ZipArchive<R>,
    root: &str,
) -> Result<HashMap<String, (u64, u64)>, EncoderError> {
    let folder = format!("{root}data/");
    let mut places = HashMap::new();
    for at in 0..archive.len() {
        let member = archive.by_index_raw(at).map_err(|error| {
            EncoderError::invalid(
                path,
                format!("a member cannot be read ({error}); copy the file again"),
            )
        })?;
        let name = member.name().unwrap_or_default();
        let Some(key) = name.strip_prefix(&folder) else {
            continue;
        };
        let start = member
            .data_start()
            .filter(|_| member.compression() == CompressionMethod::Stored);
        let start = start.ok_or_else(|| {
            EncoderError::unsupported(path, format!("its members are compressed; {CONVERT}"))
        })?;
        places.insert(key.to_owned(), (start, member.size()));
    }
    Ok(places)
}

/// Where `tensor` lies in the file.
fn place(
    path: &Path,
    name: &str,
    tensor: Tensor,
    storages: &HashMap<String, (u64, u64)>,
) -> Result<Entry, EncoderError> {
    let missing = || {
        EncoderError::invalid(
            path,
            format!("the numbers of {name} are missing or incomplete; copy the file again"),
        )
    };
    if !tensor.is_contiguous() {
        return Err(EncoderError::unsupported(
            path,
            format!("the tensor {name} is stored with gaps or transposed; {CONVERT}"),
        ));
    }
    let (start, size) = storages.get(&tensor.storage).ok_or_else(missing)?;
    let skip = tensor
        .offset
        .checked_mul(tensor.precision.bytes())
        .map(|n| n as u64);
    let entry = Entry {
        offset: skip
            .and_then(|skip| start.checked_add(skip))
            .ok_or_else(missing)?,
        precision: tensor.precision,
        shape: tensor.shape,
    };
    let fits = entry
        .bytes()
        .zip(skip)
        .is_some_and(|(n, skip)| n.checked_add(skip).is_some_and(|end| end <= *size));
    if fits { Ok(entry) } else { Err(missing()) }
}
