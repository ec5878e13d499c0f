//! `medrgb encode` of the real program: the same numbers from the processor and from a GPU.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::tiny_bert::{self, Tiny};

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Home {
        let home = Home(tempfile::tempdir().unwrap());
        tiny_bert::write(&home.path("tiny"), Tiny::default());
        let lines: Vec<String> = tiny_bert::texts(100)
            .iter()
            .enumerate()
            .map(|(at, text)| {
                // Lengths from nothing to more than the model has positions for.
                let text: String = text.repeat(3).chars().take(at * 4).collect();
                serde_json::json!({ "text": text }).to_string()
            })
            .collect();
        std::fs::write(home.path("in.jsonl"), lines.join("\n")).unwrap();
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn encode(&self, backend: &str, out: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_medrgb"))
            .env("MEDRGB_HOME", self.0.path())
            .env("MEDRGB_ALLOW_SOFTWARE_GPU", "1")
            .args(["encode", "--kind", "query", "--backend", backend])
            .arg("--encoder")
            .arg(self.path("tiny"))
            .arg("--input")
            .arg(self.path("in.jsonl"))
            .arg("--out")
            .arg(self.path(out))
            .output()
            .unwrap()
    }
}

/// The rows of a NumPy file of shape (100, 32).
fn rows(path: &Path) -> Vec<Vec<f32>> {
    let bytes = std::fs::read(path).unwrap();
    let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]])) + 10;
    assert!(String::from_utf8_lossy(&bytes[10..header]).contains("(100, 32)"));
    let numbers: Vec<f32> = bytes[header..]
        .chunks_exact(4)
        .map(|four| f32::from_le_bytes(four.try_into().unwrap()))
        .collect();
    numbers.chunks_exact(32).map(<[f32]>::to_vec).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |x: &[f32], y: &[f32]| -> f64 {
        let products = x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y));
        products.sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn a_gpu_gives_the_numbers_of_the_processor() {
    let home = Home::new();
    let cpu = home.encode("cpu", "cpu.npy");
    assert!(cpu.status.success(), "{cpu:?}");
    let expected = rows(&home.path("cpu.npy"));
    assert_eq!(expected.len(), 100);
    for backend in ["wgpu", "cuda"] {
        let out = home.encode(backend, "gpu.npy");
        let messages = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(!messages.contains("panicked"), "{messages}");
        if !out.status.success() {
            assert!(!home.path("gpu.npy").exists());
            eprintln!("SKIPPED: no {backend} here: {}", messages.trim());
            continue;
        }
        let got = rows(&home.path("gpu.npy"));
        for (at, (got, expected)) in got.iter().zip(&expected).enumerate() {
            let cosine = cosine(got, expected);
            assert!(cosine > 0.999_999, "{backend}, row {at}: cosine {cosine}");
        }
        std::fs::remove_file(home.path("gpu.npy")).unwrap();
    }
}
