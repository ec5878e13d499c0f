//! The tensors of a weights file, as `f32` by name, whatever format and precision they are stored in.
//!
//! Both formats come down to an index (name → precision, shape, place in the file) that is checked
//! against the file's size before anything is read.

mod pickle;
mod pytorch;
mod safetensors;

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use sha2::{Digest, Sha256};

use crate::error::EncoderError;

/// How numbers are stored; always little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precision {
    F64,
    F32,
    F16,
    Bf16,
    /// Integers and the like: may be in the file (position ids), but are no weights.
    Other(usize),
}

impl Precision {
    /// Bytes per number.
    fn bytes(self) -> usize {
        match self {
            Self::F64 => 8,
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::Other(bytes) => bytes,
        }
    }
}

/// One tensor's entry in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    precision: Precision,
    shape: Vec<usize>,
    /// Absolute position in the file, in bytes.
    offset: u64,
}

impl Entry {
    /// Number of bytes in the file, `None` if no machine could hold them.
    fn bytes(&self) -> Option<u64> {
        let numbers = self
            .shape
            .iter()
            .try_fold(1usize, |n, d| n.checked_mul(*d))?;
        u64::try_from(numbers.checked_mul(self.precision.bytes())?).ok()
    }
}

/// Tensors by name.
type Index = HashMap<String, Entry>;

/// An open weights file.
pub(crate) struct Weights {
    path: PathBuf,
    file: File,
    index: Index,
    /// `bert.` where the encoder is stored as part of a larger model.
    prefix: &'static str,
}

impl Weights {
    /// Opens `model.safetensors`, else `pytorch_model.bin`, in `folder` and reads its index.
    pub(crate) fn open(folder: &Path) -> Result<Self, EncoderError> {
        let safe = folder.join("model.safetensors");
        let torch = folder.join("pytorch_model.bin");
        if safe.is_file() {
            Self::with_index(safe, safetensors::index)
        } else if torch.is_file() {
            Self::with_index(torch, pytorch::index)
        } else if folder.join("model.safetensors.index.json").is_file() {
            Err(EncoderError::unsupported(
                &folder.join("model.safetensors.index.json"),
                "weights split into several files are not supported; save the model as one model.safetensors",
            ))
        } else {
            Err(EncoderError::Missing {
                folder: folder.to_path_buf(),
                what: "model.safetensors or pytorch_model.bin",
            })
        }
    }

    fn with_index(
        path: PathBuf,
        read: fn(&Path, &mut File) -> Result<Index, EncoderError>,
    ) -> Result<Self, EncoderError> {
        let mut file = File::open(&path).map_err(EncoderError::io(&path))?;
        let index = read(&path, &mut file)?;
        let prefix = if index.keys().any(|name| name.starts_with("bert.")) {
            "bert."
        } else {
            ""
        };
        Ok(Self {
            path,
            file,
            index,
            prefix,
        })
    }

    /// The file's path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The tensor `name` of the encoder as row-major `f32`, which must have exactly `shape`.
    pub(crate) fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, EncoderError> {
        let entry = self.find(name)?.clone();
        self.numbers(name, &entry, shape)
    }

    /// A tensor of the larger model that the encoder is part of.
    pub(crate) fn read_head(
        &mut self,
        name: &str,
        shape: &[usize],
    ) -> Result<Vec<f32>, EncoderError> {
        let entry = self
            .index
            .get(name)
            .cloned()
            .ok_or_else(|| self.lacks(name))?;
        self.numbers(name, &entry, shape)
    }

    fn numbers(
        &mut self,
        name: &str,
        entry: &Entry,
        shape: &[usize],
    ) -> Result<Vec<f32>, EncoderError> {
        if entry.shape != shape {
            return Err(EncoderError::invalid(
                &self.path,
                format!(
                    "the tensor {name} has shape {:?}, but config.json calls for {shape:?}; \
                     take both files from the same model",
                    entry.shape
                ),
            ));
        }
        if let Precision::Other(_) = entry.precision {
            return Err(EncoderError::unsupported(
                &self.path,
                format!(
                    "the tensor {name} is not stored as f32, f16, bf16 or f64; save the model in one of these"
                ),
            ));
        }
        let bytes = self.bytes(entry)?;
        Ok(to_f32(&bytes, entry.precision))
    }

    fn find(&self, name: &str) -> Result<&Entry, EncoderError> {
        let full = format!("{}{name}", self.prefix);
        // Checkpoints converted from TensorFlow call a norm's weight gamma and its bias beta.
        let old = full
            .replace("LayerNorm.weight", "LayerNorm.gamma")
            .replace("LayerNorm.bias", "LayerNorm.beta");
        self.index
            .get(&full)
            .or_else(|| self.index.get(&old))
            .ok_or_else(|| self.lacks(&full))
    }

    fn lacks(&self, name: &str) -> EncoderError {
        EncoderError::invalid(
            &self.path,
            format!(
                "the tensor {name} is missing, which config.json calls for; \
                 take both files from the same BERT model"
            ),
        )
    }

    fn bytes(&mut self, entry: &Entry) -> Result<Vec<u8>, EncoderError> {
        let size = entry.bytes().and_then(|n| usize::try_from(n).ok());
        let mut bytes = vec![0; size.unwrap_or(0)];
        self.file
            .seek(SeekFrom::Start(entry.offset))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(EncoderError::io(&self.path))?;
        Ok(bytes)
    }
}

/// SHA-256 of the file at `path`, in lower-case hexadecimal.
pub(crate) fn sha256(path: &Path) -> Result<String, EncoderError> {
    let mut file = File::open(path).map_err(EncoderError::io(path))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let n = file.read(&mut buffer).map_err(EncoderError::io(path))?;
        if n == 0 {
            break;
        }
        hash.update(&buffer[..n]);
    }
    Ok(hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

/// Fails unless every tensor of `index` lies inside the file.
fn check_sizes(path: &Path, file_size: u64, index: &Index) -> Result<(), EncoderError> {
    let needed = index
        .values()
        .map(|entry| entry.offset.checked_add(entry.bytes()?))
        .try_fold(0, |most, end| end.map(|end| most.max(end)));
    match needed {
        Some(needed) if needed <= file_size => Ok(()),
        Some(needed) => Err(cut_short(path, needed, file_size)),
        None => Err(EncoderError::invalid(
            path,
            "its header gives impossible tensor sizes; copy the file again",
        )),
    }
}

/// The error for a file of `found` bytes that should have at least `needed`.
fn cut_short(path: &Path, needed: u64, found: u64) -> EncoderError {
    EncoderError::invalid(
        path,
        format!(
            "the file is cut short: expected at least {needed} bytes, found {found}; copy it again"
        ),
    )
}

/// Little-endian numbers of a float `precision` as `f32`.
fn to_f32(bytes: &[u8], precision: Precision) -> Vec<f32> {
    match precision {
        Precision::F64 => each(bytes, |b| f64::from_le_bytes(b) as f32),
        Precision::F32 => each(bytes, f32::from_le_bytes),
        Precision::F16 => each(bytes, |b| f16::from_le_bytes(b).to_f32()),
        Precision::Bf16 => each(bytes, |b| bf16::from_le_bytes(b).to_f32()),
        Precision::Other(_) => Vec::new(),
    }
}

fn each<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f32) -> Vec<f32> {
    bytes
        .as_chunks::<N>()
        .0
        .iter()
        .map(|b| number(*b))
        .collect()
}
