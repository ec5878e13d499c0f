//! Cross-encoders against the plain second implementation.

use std::ops::ControlFlow;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use super::folder::{self, HIDDEN, Stored, Tensors, put, put_json, random, safetensors};
use super::reference;
use super::{TEXTS, cpu};
use crate::{CrossEncoder, Encoder, EncoderError, OpenOptions, Pair, Pooling, TokenIds};

/// The weights of a `BertForSequenceClassification` with one output, under transformers' names.
fn tensors() -> Tensors {
    let mut next = random(11);
    let mut numbers = |n: usize| (0..n).map(|_| 0.6 * next()).collect::<Vec<f32>>();
    let head = [
        ("bert.pooler.dense.weight", vec![HIDDEN, HIDDEN]),
        ("bert.pooler.dense.bias", vec![HIDDEN]),
        ("classifier.weight", vec![1, HIDDEN]),
        ("classifier.bias", vec![1]),
    ]
    .map(|(name, shape)| {
        let count = shape.iter().product();
        (name.to_owned(), (shape, numbers(count)))
    });
    let encoder = folder::tensors();
    let encoder = encoder
        .into_iter()
        .map(|(name, tensor)| (format!("bert.{name}"), tensor));
    encoder.chain(head).collect()
}

fn write() -> TempDir {
    let folder = folder::write();
    let mut config = folder::config();
    config["architectures"] = json!(["BertForSequenceClassification"]);
    put_json(folder.path(), "config.json", &config);
    put_tensors(folder.path(), &tensors());
    folder
}

fn put_tensors(folder: &Path, tensors: &Tensors) {
    put(
        folder,
        "model.safetensors",
        safetensors(tensors, Stored::F32),
    );
}

/// The logit in plain loops over `f64`.
fn plainly(tokens: &TokenIds) -> f64 {
    let all = tensors();
    let state = reference::encode(&folder::tensors(), tokens, Pooling::Cls);
    let numbers = |name: &str| -> Vec<f64> { all[name].1.iter().map(|x| f64::from(*x)).collect() };
    let (weight, bias) = (
        numbers("bert.pooler.dense.weight"),
        numbers("bert.pooler.dense.bias"),
    );
    let mut logit = numbers("classifier.bias")[0];
    for (o, w) in numbers("classifier.weight").iter().enumerate() {
        let mut sum = bias[o];
        for (i, x) in state.iter().enumerate() {
            sum += weight[o * HIDDEN + i] * x;
        }
        logit += w * sum.tanh();
    }
    logit
}

fn pairs() -> Vec<Pair<'static>> {
    TEXTS
        .iter()
        .flat_map(|query| TEXTS.iter().map(move |text| Pair { query, text }))
        .collect()
}

/// Word pieces of a pair as an encoder of pairs makes them: segments and truncation are tested there.
fn tokens(pairs: &[Pair<'_>]) -> Vec<TokenIds> {
    let folder = folder::write_medcpt();
    let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
    let inputs: Vec<_> = pairs
        .iter()
        .map(|pair| crate::Input::Article {
            title: pair.query,
            content: pair.text,
        })
        .collect();
    encoder.tokenize(&inputs).unwrap()
}

#[test]
fn logits_match_the_reference() {
    let folder = write();
    let cross = CrossEncoder::open(folder.path(), &cpu()).unwrap();
    assert_eq!(
        (cross.info().max_tokens, cross.info().pair_input),
        (40, true)
    );
    let pairs = pairs();
    let mut last = 0;
    let (scores, _) = cross
        .score(&pairs, &mut |progress| {
            last = progress.done;
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!((scores.len(), last), (pairs.len(), pairs.len()));
    let mut spread = (f64::MAX, f64::MIN);
    for (score, tokens) in scores.iter().zip(tokens(&pairs)) {
        let wanted = plainly(&tokens);
        assert!(
            (f64::from(*score) - wanted).abs() < 1e-5,
            "{score} {wanted}"
        );
        spread = (spread.0.min(wanted), spread.1.max(wanted));
    }
    // The texts do make a difference, else the test would show little.
    assert!(spread.1 - spread.0 > 0.05, "{spread:?}");
}

#[test]
fn scoring_can_be_cancelled_and_none_is_fine() {
    let folder = write();
    let cross = CrossEncoder::open(folder.path(), &cpu()).unwrap();
    let stopped = cross.score(&pairs(), &mut |_| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(EncoderError::Cancelled)));
    let (none, _) = cross
        .score(&[], &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert!(none.is_empty());
}

#[test]
fn encoders_and_cross_encoders_are_not_taken_for_each_other() {
    let folder = write();
    let error = Encoder::open(folder.path(), &cpu())
        .unwrap_err()
        .to_string();
    assert!(error.contains("cross-encoder that scores pairs"), "{error}");
    let mut config = folder::config();
    config["architectures"] = json!(["BertModel"]);
    put_json(folder.path(), "config.json", &config);
    let error = CrossEncoder::open(folder.path(), &cpu())
        .unwrap_err()
        .to_string();
    assert!(error.contains("BertModel is no cross-encoder"), "{error}");
}

#[test]
fn a_head_that_is_not_there_or_gives_several_numbers_is_named() {
    let folder = write();
    let open = || {
        CrossEncoder::open(folder.path(), &OpenOptions::default())
            .unwrap_err()
            .to_string()
    };
    let mut several = tensors();
    several.insert(
        "classifier.weight".to_owned(),
        (vec![3, HIDDEN], vec![0.0; 3 * HIDDEN]),
    );
    put_tensors(folder.path(), &several);
    let error = open();
    assert!(
        error.contains("classifier.weight has shape [3, 16]"),
        "{error}"
    );
    let mut headless = tensors();
    headless.remove("bert.pooler.dense.weight");
    put_tensors(folder.path(), &headless);
    let error = open();
    assert!(
        error.contains("bert.pooler.dense.weight is missing"),
        "{error}"
    );
    put_tensors(folder.path(), &folder::tensors());
    assert!(open().contains("is missing"));
}
