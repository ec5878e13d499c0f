//! A BERT encoder of a few kilobytes, written by hand: the real encoder runs on it.

use std::path::Path;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What a tiny encoder looks like.
#[derive(Debug, Clone, Copy)]
pub struct Tiny {
    /// Width of the hidden states.
    pub dim: usize,
    /// Seed of the weights: another seed is another encoder.
    pub seed: u64,
    /// With the sentence-transformers files that say: mean pooling, normalised.
    pub normalised: bool,
}

impl Default for Tiny {
    fn default() -> Self {
        Tiny {
            dim: 32,
            seed: 1,
            normalised: true,
        }
    }
}

const LAYERS: usize = 2;
const POSITIONS: usize = 64;

/// Words that are one piece each; all else is spelled with letters.
const WORDS: &str = "the of and in with for heart renal lung liver brain failure cancer disease therapy trial \
    patients treatment risk blood pressure drug dose cell gene protein acute chronic pain fever infection \
    virus bacteria vaccine surgery imaging diagnosis outcome mortality aspirin insulin statin";

fn vocabulary() -> Vec<String> {
    let mut pieces: Vec<String> = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        .map(str::to_owned)
        .into();
    pieces.extend(WORDS.split_whitespace().map(str::to_owned));
    for letter in ('a'..='z').chain('0'..='9') {
        pieces.push(letter.to_string());
        pieces.push(format!("##{letter}"));
    }
    pieces.extend([".", ",", "-", "?"].map(str::to_owned));
    pieces
}

/// Writes config.json, vocab.txt, model.safetensors and, if asked for, the sentence-transformers files.
pub fn write(folder: &Path, tiny: Tiny) {
    std::fs::create_dir_all(folder).unwrap();
    let pieces = vocabulary();
    let (dim, inner) = (tiny.dim, tiny.dim * 2);
    let config = serde_json::json!({
        "model_type": "bert", "architectures": ["BertModel"], "hidden_act": "gelu",
        "hidden_size": dim, "intermediate_size": inner, "num_attention_heads": 2,
        "num_hidden_layers": LAYERS, "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2, "vocab_size": pieces.len(), "layer_norm_eps": 1e-12,
    });
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    std::fs::write(folder.join("vocab.txt"), pieces.join("\n") + "\n").unwrap();
    std::fs::write(
        folder.join("tokenizer_config.json"),
        r#"{"do_lower_case": true}"#,
    )
    .unwrap();
    let tensors = shapes(pieces.len(), dim, inner);
    std::fs::write(
        folder.join("model.safetensors"),
        safetensors(&tensors, tiny.seed),
    )
    .unwrap();
    if tiny.normalised {
        sentence_transformers(folder);
    }
}

/// Writes a tiny cross-encoder: the same network with a pooler and one logit.
pub fn write_cross(folder: &Path, seed: u64) {
    write(
        folder,
        Tiny {
            seed,
            normalised: false,
            ..Tiny::default()
        },
    );
    let (pieces, dim) = (vocabulary(), Tiny::default().dim);
    let mut tensors = shapes(pieces.len(), dim, dim * 2);
    tensors.extend([
        ("pooler.dense.weight".into(), vec![dim, dim]),
        ("pooler.dense.bias".into(), vec![dim]),
        ("classifier.weight".into(), vec![1, dim]),
        ("classifier.bias".into(), vec![1]),
    ]);
    let config = folder.join("config.json");
    let text = std::fs::read_to_string(&config).unwrap();
    let text = text.replace("BertModel", "BertForSequenceClassification");
    std::fs::write(config, text).unwrap();
    std::fs::write(
        folder.join("model.safetensors"),
        safetensors(&tensors, seed),
    )
    .unwrap();
}

fn sentence_transformers(folder: &Path) {
    let modules = serde_json::json!([
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
    ]);
    std::fs::write(folder.join("modules.json"), modules.to_string()).unwrap();
    std::fs::create_dir_all(folder.join("1_Pooling")).unwrap();
    std::fs::write(
        folder.join("1_Pooling/config.json"),
        r#"{"pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true}"#,
    )
    .unwrap();
}

fn shapes(vocabulary: usize, dim: usize, inner: usize) -> Vec<(String, Vec<usize>)> {
    let mut all = vec![
        (
            "embeddings.word_embeddings.weight".into(),
            vec![vocabulary, dim],
        ),
        (
            "embeddings.position_embeddings.weight".into(),
            vec![POSITIONS, dim],
        ),
        (
            "embeddings.token_type_embeddings.weight".into(),
            vec![2, dim],
        ),
    ];
    let mut norms = vec!["embeddings.LayerNorm".to_owned()];
    for layer in 0..LAYERS {
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        for (part, outputs, inputs) in [
            ("attention.self.query", dim, dim),
            ("attention.self.key", dim, dim),
            ("attention.self.value", dim, dim),
            ("attention.output.dense", dim, dim),
            ("intermediate.dense", inner, dim),
            ("output.dense", dim, inner),
        ] {
            all.push((name(&format!("{part}.weight")), vec![outputs, inputs]));
            all.push((name(&format!("{part}.bias")), vec![outputs]));
        }
        norms.push(name("attention.output.LayerNorm"));
        norms.push(name("output.LayerNorm"));
    }
    for norm in norms {
        all.push((format!("{norm}.weight"), vec![dim]));
        all.push((format!("{norm}.bias"), vec![dim]));
    }
    all
}

fn safetensors(tensors: &[(String, Vec<usize>)], seed: u64) -> Vec<u8> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, shape) in tensors {
        let start = data.len();
        for _ in 0..shape.iter().product::<usize>() {
            let number = if name.ends_with("LayerNorm.weight") {
                1.0
            } else if name.ends_with("bias") {
                0.0
            } else {
                let unit = random.next_u32() as f32 / u32::MAX as f32 - 0.5;
                // Words dominate, so that texts with the same words lie close together.
                if name.contains("word_embeddings") {
                    unit
                } else {
                    unit * 0.1
                }
            };
            data.extend_from_slice(&number.to_le_bytes());
        }
        header.insert(
            name.clone(),
            serde_json::json!({"dtype": "F32", "shape": shape, "data_offsets": [start, data.len()]}),
        );
    }
    let mut text = serde_json::Value::Object(header).to_string();
    text.push_str(&" ".repeat(text.len().next_multiple_of(8) - text.len()));
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(text.as_bytes());
    bytes.extend(data);
    bytes
}

/// `count` different texts of medical words.
pub fn texts(count: usize) -> Vec<String> {
    let words: Vec<&str> = WORDS.split_whitespace().skip(6).collect();
    let mut random = ChaCha8Rng::seed_from_u64(9);
    (0..count)
        .map(|number| {
            let length = 4 + random.next_u32() as usize % 10;
            let mut text: Vec<String> = (0..length)
                .map(|_| words[random.next_u32() as usize % words.len()].to_owned())
                .collect();
            text.push(number.to_string());
            text.join(" ")
        })
        .collect()
}
