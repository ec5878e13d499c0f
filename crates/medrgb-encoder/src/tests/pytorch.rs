//! `pytorch_model.bin`: read like safetensors, refused clearly where it cannot be.

use std::io::{Cursor, Write};

use tempfile::TempDir;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::folder::{self, Tensors, put, tensors};
use super::{TEXTS, cpu, encode};
use crate::{Encoder, Input};

/// A state dict as `torch.save` pickles it (protocol 2), all storages f32.
struct Pickle(Vec<u8>);

impl Pickle {
    fn state_dict(tensors: &Tensors, transposed: bool) -> Vec<u8> {
        let mut pickle = Self(b"\x80\x02ccollections\nOrderedDict\nq\x00)Rq\x01(".to_vec());
        for (at, (name, (shape, numbers))) in tensors.iter().enumerate() {
            pickle.text(name);
            pickle
                .0
                .extend(b"ctorch._utils\n_rebuild_tensor_v2\nq\x02((");
            pickle.text("storage");
            pickle.0.extend(b"ctorch\nFloatStorage\nq\x03");
            pickle.text(&at.to_string());
            pickle.text("cpu");
            pickle.int(numbers.len());
            pickle.0.extend(b"tQ");
            pickle.int(0);
            let mut strides: Vec<usize> = (0..shape.len())
                .map(|d| shape[d + 1..].iter().product())
                .collect();
            if transposed {
                strides.reverse();
            }
            pickle.tuple(shape);
            pickle.tuple(&strides);
            pickle.0.extend(b"\x89ccollections\nOrderedDict\n)RtR");
        }
        pickle.0.extend(b"u}X\x09\x00\x00\x00_metadataK\x01sb.");
        pickle.0
    }

    fn text(&mut self, text: &str) {
        self.0.push(b'X');
        self.0.extend((text.len() as u32).to_le_bytes());
        self.0.extend(text.as_bytes());
    }

    fn int(&mut self, n: usize) {
        self.0.push(b'J');
        self.0.extend((n as i32).to_le_bytes());
    }

    fn tuple(&mut self, numbers: &[usize]) {
        self.0.push(b'(');
        numbers.iter().for_each(|n| self.int(*n));
        self.0.push(b't');
    }
}

/// The archive `torch.save` writes around `pickle`.
fn archive(pickle: &[u8], tensors: &Tensors) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    zip.start_file("archive/data.pkl", stored).unwrap();
    zip.write_all(pickle).unwrap();
    for (at, (_, numbers)) in tensors.values().enumerate() {
        zip.start_file(format!("archive/data/{at}"), stored)
            .unwrap();
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        zip.write_all(&bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn with_bin(bytes: &[u8]) -> TempDir {
    let folder = folder::write();
    std::fs::remove_file(folder.path().join("model.safetensors")).unwrap();
    put(folder.path(), "pytorch_model.bin", bytes);
    folder
}

fn error(bytes: &[u8], part: &str) {
    let text = Encoder::open(with_bin(bytes).path(), &cpu())
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("pytorch_model.bin") && text.contains(part),
        "{text}"
    );
}

#[test]
fn the_same_vectors_as_from_safetensors() {
    let tensors = tensors();
    let bin = with_bin(&archive(&Pickle::state_dict(&tensors, false), &tensors));
    let safe = folder::write();
    let inputs: Vec<Input<'_>> = TEXTS.iter().map(|text| Input::Query(text)).collect();
    let vectors = [bin.path(), safe.path()]
        .map(|folder| encode(&Encoder::open(folder, &cpu()).unwrap(), &inputs));
    assert_eq!(vectors[0], vectors[1]);
}

#[test]
fn files_cut_short_or_of_another_kind() {
    let tensors = tensors();
    let whole = archive(&Pickle::state_dict(&tensors, false), &tensors);
    for length in [0, 100, whole.len() / 2, whole.len() - 1] {
        error(&whole[..length], "not a whole PyTorch zip file");
    }
    error(
        b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.",
        "safe_serialization=True",
    );
    error(&archive(b"\x80\x02", &tensors), "ends too early");
    error(&archive(b"\x80\x02}.", &tensors), "state dict");
    error(&archive(b"\x80\x02\xff.", &tensors), "0xff");
}

#[test]
fn tensors_without_numbers_or_with_gaps() {
    let tensors = tensors();
    let pickle = Pickle::state_dict(&tensors, false);
    let mut fewer = tensors.clone();
    fewer.pop_last();
    error(&archive(&pickle, &fewer), "missing or incomplete");
    error(
        &archive(&Pickle::state_dict(&tensors, true), &tensors),
        "transposed",
    );
}

/// Damage anywhere in the pickle may change what is read or be refused, but never ends in a panic.
#[test]
fn a_damaged_pickle_never_panics() {
    let tensors = tensors();
    let pickle = Pickle::state_dict(&tensors, false);
    let mut next = folder::random(3);
    for _ in 0..300 {
        let mut damaged = pickle.clone();
        let at = ((next() + 1.0) / 2.0 * (damaged.len() - 1) as f32) as usize;
        damaged[at] = ((next() + 1.0) * 127.0) as u8;
        let folder = with_bin(&archive(&damaged, &tensors));
        let _ = Encoder::open(folder.path(), &cpu());
    }
}
