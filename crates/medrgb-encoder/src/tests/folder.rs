//! Tiny random BERT folders, written by hand.

use std::collections::BTreeMap;
use std::path::Path;

use half::{bf16, f16};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const HIDDEN: usize = 16;
pub(crate) const INNER: usize = 24;
pub(crate) const HEADS: usize = 2;
pub(crate) const LAYERS: usize = 2;
pub(crate) const POSITIONS: usize = 40;

/// Word pieces of the tiny vocabulary, in order of their ids.
pub(crate) const VOCAB: &[&str] = &[
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "and", "aspirin", "does", "failure",
    "fever", "heart", "in", "naive", "of", "patients", "reduce", "##s", "risk", "statin", "the",
    "trial", "with", "?", ",", ":", "title", "content",
];

/// Tensors by name: shape and numbers.
pub(crate) type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// How a test wants its weights stored.
#[derive(Clone, Copy)]
pub(crate) enum Stored {
    F32,
    F16,
    Bf16,
}

pub(crate) fn config() -> Value {
    json!({
        "model_type": "bert", "hidden_act": "gelu", "hidden_size": HIDDEN, "intermediate_size": INNER,
        "num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2, "vocab_size": VOCAB.len(), "layer_norm_eps": 1e-12,
    })
}

/// Numbers between -1 and 1 from a linear congruential generator, the same in every run.
pub(crate) fn random(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

/// Random weights for [`config`], under the names of transformers' `BertModel`.
pub(crate) fn tensors() -> Tensors {
    let mut next = random(7);
    let mut tensors = Tensors::new();
    let mut add = |name: String, shape: &[usize], centre: f32, spread: f32| {
        let numbers = (0..shape.iter().product())
            .map(|_| centre + spread * next())
            .collect();
        tensors.insert(name, (shape.to_vec(), numbers));
    };
    for (name, rows) in [
        ("word", VOCAB.len()),
        ("position", POSITIONS),
        ("token_type", 2),
    ] {
        add(
            format!("embeddings.{name}_embeddings.weight"),
            &[rows, HIDDEN],
            0.0,
            1.0,
        );
    }
    let mut norms = vec!["embeddings.LayerNorm".to_owned()];
    for layer in 0..LAYERS {
        let base = format!("encoder.layer.{layer}");
        for (name, out, input) in [
            ("attention.self.query", HIDDEN, HIDDEN),
            ("attention.self.key", HIDDEN, HIDDEN),
            ("attention.self.value", HIDDEN, HIDDEN),
            ("attention.output.dense", HIDDEN, HIDDEN),
            ("intermediate.dense", INNER, HIDDEN),
            ("output.dense", HIDDEN, INNER),
        ] {
            add(format!("{base}.{name}.weight"), &[out, input], 0.0, 0.5);
            add(format!("{base}.{name}.bias"), &[out], 0.0, 0.2);
        }
        norms.push(format!("{base}.attention.output.LayerNorm"));
        norms.push(format!("{base}.output.LayerNorm"));
    }
    for norm in norms {
        add(format!("{norm}.weight"), &[HIDDEN], 1.0, 0.3);
        add(format!("{norm}.bias"), &[HIDDEN], 0.0, 0.3);
    }
    tensors
}

/// The bytes of a safetensors file.
pub(crate) fn safetensors(tensors: &Tensors, stored: Stored) -> Vec<u8> {
    let mut header = serde_json::Map::new();
    let mut data = Vec::new();
    for (name, (shape, numbers)) in tensors {
        let start = data.len();
        for x in numbers {
            match stored {
                Stored::F32 => data.extend(x.to_le_bytes()),
                Stored::F16 => data.extend(f16::from_f32(*x).to_le_bytes()),
                Stored::Bf16 => data.extend(bf16::from_f32(*x).to_le_bytes()),
            }
        }
        let dtype = match stored {
            Stored::F32 => "F32",
            Stored::F16 => "F16",
            Stored::Bf16 => "BF16",
        };
        let entry = json!({"dtype": dtype, "shape": shape, "data_offsets": [start, data.len()]});
        header.insert(name.clone(), entry);
    }
    header.insert("__metadata__".to_owned(), json!({"format": "pt"}));
    let header = serde_json::to_vec(&header).unwrap();
    [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat()
}

/// A whole folder: config, vocabulary, weights.
pub(crate) fn write() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    put_json(folder.path(), "config.json", &config());
    put(folder.path(), "vocab.txt", VOCAB.join("\n"));
    put(
        folder.path(),
        "model.safetensors",
        safetensors(&tensors(), Stored::F32),
    );
    folder
}

/// A folder whose config says MedCPT: CLS, pairs.
pub(crate) fn write_medcpt() -> TempDir {
    let folder = write();
    let mut config = config();
    config["_name_or_path"] = json!("ncbi/MedCPT-Article-Encoder");
    put_json(folder.path(), "config.json", &config);
    folder
}

pub(crate) fn put(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    let file = folder.join(name);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, bytes).unwrap();
}

pub(crate) fn put_json(folder: &Path, name: &str, value: &Value) {
    put(folder, name, serde_json::to_vec(value).unwrap());
}
