//! Every way in which a folder can be wrong ends in one sentence that names the file.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::cpu;
use super::folder::{self, Stored, VOCAB, config, put, put_json, safetensors, tensors};
use crate::{BackendChoice, Encoder, EncoderError, OpenOptions, Pooling};

/// The error of opening `folder`, checked to name `file` and to hold `part`.
fn error(folder: &TempDir, file: &str, part: &str) -> EncoderError {
    let error = Encoder::open(folder.path(), &cpu()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(file) && text.contains(part), "{text}");
    assert!(!text.contains('\n'), "{text}");
    error
}

fn with_config(key: &str, value: Value) -> TempDir {
    let folder = folder::write();
    let mut config = config();
    config[key] = value;
    put_json(folder.path(), "config.json", &config);
    folder
}

fn with_weights(bytes: &[u8]) -> TempDir {
    let folder = folder::write();
    put(folder.path(), "model.safetensors", bytes);
    folder
}

#[test]
fn a_folder_that_is_not_there() {
    let error = Encoder::open("/no/such/encoder".as_ref(), &cpu()).unwrap_err();
    assert!(matches!(error, EncoderError::NoFolder(_)));
}

#[test]
fn missing_files() {
    for (name, wanted) in [
        ("config.json", "config.json"),
        ("vocab.txt", "tokenizer.json or vocab.txt"),
        (
            "model.safetensors",
            "model.safetensors or pytorch_model.bin",
        ),
    ] {
        let folder = folder::write();
        std::fs::remove_file(folder.path().join(name)).unwrap();
        assert!(matches!(
            error(&folder, wanted, "missing"),
            EncoderError::Missing { .. }
        ));
    }
}

#[test]
fn config_fields_missing_or_absurd() {
    for key in [
        "model_type",
        "hidden_size",
        "num_attention_heads",
        "vocab_size",
        "type_vocab_size",
    ] {
        let folder = folder::write();
        let mut config = config();
        config.as_object_mut().unwrap().remove(key);
        put_json(folder.path(), "config.json", &config);
        error(
            &folder,
            "config.json",
            &format!("the field {key} is missing"),
        );
    }
    error(
        &with_config("hidden_size", json!(0)),
        "config.json",
        "hidden_size is 0",
    );
    error(
        &with_config("hidden_size", json!("16")),
        "config.json",
        "hidden_size is \"16\"",
    );
    error(
        &with_config("vocab_size", json!(1u64 << 60)),
        "config.json",
        "vocab_size",
    );
    error(
        &with_config("num_attention_heads", json!(3)),
        "config.json",
        "cannot be divided",
    );
    error(
        &with_config("layer_norm_eps", json!(-1)),
        "config.json",
        "layer_norm_eps",
    );
}

#[test]
fn models_that_are_no_bert_encoders() {
    error(
        &with_config("model_type", json!("t5")),
        "config.json",
        "only \"bert\" is supported",
    );
    error(
        &with_config("hidden_act", json!("relu")),
        "config.json",
        "only \"gelu\"",
    );
    let relative = with_config("position_embedding_type", json!("relative_key"));
    error(&relative, "config.json", "only \"absolute\"");
    let cross = with_config("architectures", json!(["BertForSequenceClassification"]));
    error(&cross, "config.json", "cross-encoder");
}

#[test]
fn config_that_is_no_json() {
    let folder = folder::write();
    put(folder.path(), "config.json", "{\"model_type\": ");
    error(&folder, "config.json", "not valid JSON");
    put(folder.path(), "config.json", "[]");
    error(&folder, "config.json", "JSON object");
}

#[test]
fn weights_cut_short_anywhere() {
    let whole = safetensors(&tensors(), Stored::F32);
    let header = 8 + u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    for length in [0, 5, 8, 100, header, header + 10, whole.len() - 1] {
        error(
            &with_weights(&whole[..length]),
            "model.safetensors",
            "cut short",
        );
    }
}

#[test]
fn weights_that_are_something_else() {
    error(
        &with_weights(b"version https://git-lfs.github.com/spec/v1\n"),
        "model.safetensors",
        "Git LFS",
    );
    let mut whole = safetensors(&tensors(), Stored::F32);
    whole[9] = b'!';
    error(&with_weights(&whole), "model.safetensors", "header");
}

#[test]
fn headers_that_lie() {
    for entry in [
        json!({"dtype": "F32", "shape": [16], "data_offsets": [0, 60]}),
        json!({"dtype": "F32", "shape": [16], "data_offsets": [64, 0]}),
        json!({"dtype": "F99", "shape": [16], "data_offsets": [0, 64]}),
        json!({"dtype": "F32", "shape": [u64::MAX, 16], "data_offsets": [0, 64]}),
        json!({"dtype": "F32", "shape": [16]}),
        json!(3),
    ] {
        let header = serde_json::to_vec(&json!({"x": entry})).unwrap();
        let file = [&(header.len() as u64).to_le_bytes()[..], &header, &[0; 64]].concat();
        error(&with_weights(&file), "model.safetensors", "header");
    }
    let mut huge = u64::MAX.to_le_bytes().to_vec();
    huge.extend([0; 64]);
    error(&with_weights(&huge), "model.safetensors", "header");
}

#[test]
fn weights_of_another_model() {
    let mut missing = tensors();
    missing.remove("encoder.layer.1.output.dense.bias");
    let part = "encoder.layer.1.output.dense.bias is missing";
    error(
        &with_weights(&safetensors(&missing, Stored::F32)),
        "model.safetensors",
        part,
    );
    error(
        &with_config("num_hidden_layers", json!(3)),
        "model.safetensors",
        "encoder.layer.2",
    );
    error(
        &with_config("intermediate_size", json!(32)),
        "model.safetensors",
        "has shape [24, 16]",
    );
}

#[test]
fn weights_stored_as_integers() {
    let folder = folder::write();
    let header = serde_json::to_vec(&json!({
        "embeddings.word_embeddings.weight":
            {"dtype": "I8", "shape": [VOCAB.len(), 16], "data_offsets": [0, VOCAB.len() * 16]},
    }))
    .unwrap();
    let data = vec![0; VOCAB.len() * 16];
    let file = [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat();
    put(folder.path(), "model.safetensors", file);
    error(&folder, "model.safetensors", "not stored as f32");
}

#[test]
fn weights_in_several_files() {
    let folder = folder::write();
    std::fs::remove_file(folder.path().join("model.safetensors")).unwrap();
    put(folder.path(), "model.safetensors.index.json", "{}");
    error(
        &folder,
        "model.safetensors.index.json",
        "split into several files",
    );
}

#[test]
fn vocabularies_that_do_not_fit() {
    let folder = folder::write();
    put(folder.path(), "vocab.txt", "a\nb\n[UNK]\n[CLS]\n");
    error(&folder, "vocab.txt", "[SEP] is missing");
    put(folder.path(), "tokenizer.json", "{}");
    error(&folder, "tokenizer.json", "not a tokenizer file");

    let small = with_config("vocab_size", json!(3));
    let result = Encoder::open(small.path(), &cpu()).unwrap_err().to_string();
    assert!(result.contains("vocab_size 3"), "{result}");
}

#[test]
fn sentence_transformers_files_that_ask_for_too_much() {
    let folder = folder::write();
    let dense = json!([{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}]);
    put_json(folder.path(), "modules.json", &dense);
    error(&folder, "modules.json", "Dense is not supported");
    put_json(folder.path(), "modules.json", &json!({"a": 1}));
    error(&folder, "modules.json", "expected a JSON list");

    let folder = folder::write();
    put_json(
        folder.path(),
        "1_Pooling/config.json",
        &json!({"pooling_mode_max_tokens": true}),
    );
    error(&folder, "1_Pooling", "pooling by [max_tokens]");
    let chosen = OpenOptions {
        pooling: Some(Pooling::Cls),
        ..cpu()
    };
    assert!(Encoder::open(folder.path(), &chosen).is_ok());
}

#[test]
fn limits_of_no_use() {
    let folder = folder::write();
    let tiny = OpenOptions {
        max_tokens: Some(2),
        ..cpu()
    };
    let error = Encoder::open(folder.path(), &tiny).unwrap_err();
    assert!(error.to_string().contains("at least 8"), "{error}");
    let large = OpenOptions {
        max_tokens: Some(4000),
        ..cpu()
    };
    let encoder = Encoder::open(folder.path(), &large).unwrap();
    assert_eq!(encoder.info().max_tokens, 40);
    assert!(
        encoder
            .info()
            .notes
            .iter()
            .any(|note| note.contains("positions for 40"))
    );
}

#[cfg(not(feature = "cuda"))]
#[test]
fn a_backend_that_is_not_there() {
    let folder = folder::write();
    let options = OpenOptions {
        backend: BackendChoice::Cuda,
        ..OpenOptions::default()
    };
    let error = Encoder::open(folder.path(), &options).unwrap_err();
    assert!(matches!(error, EncoderError::Unavailable { .. }), "{error}");
}

#[test]
fn auto_always_finds_something() {
    let folder = folder::write();
    let options = OpenOptions {
        backend: BackendChoice::Auto,
        ..OpenOptions::default()
    };
    assert!(Encoder::open(folder.path(), &options).is_ok());
}
