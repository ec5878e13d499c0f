//! Vectors against the reference: pooling, pairs, batches, order, precisions, cancelling.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use burn_flex::{Flex, FlexDevice};
use burn_tensor::FloatDType;
use serde_json::json;

use super::folder::{self, Stored, put, put_json, safetensors, tensors};
use super::reference::{self, assert_close};
use super::{TEXTS, cpu, encode};
use crate::batch::Batch;
use crate::config::{Config, Purpose};
use crate::model::Bert;
use crate::ops::{Fast, Plain};
use crate::weights::Weights;
use crate::{Encoder, EncoderError, Input, OpenOptions, Pooling, TokenIds};

fn queries() -> Vec<Input<'static>> {
    TEXTS.iter().map(|text| Input::Query(text)).collect()
}

fn articles() -> Vec<Input<'static>> {
    TEXTS
        .iter()
        .zip(TEXTS.iter().rev())
        .map(|(title, content)| Input::Article { title, content })
        .collect()
}

fn assert_matches_reference(encoder: &Encoder, inputs: &[Input<'_>]) {
    let tokens = encoder.tokenize(inputs).unwrap();
    for (row, tokens) in encode(encoder, inputs).iter().zip(&tokens) {
        assert_close(
            row,
            &reference::encode(&tensors(), tokens, encoder.info().pooling),
            1e-5,
        );
    }
}

#[test]
fn mean_pooling_matches_the_reference() {
    let folder = folder::write();
    let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
    assert_eq!(encoder.info().pooling, Pooling::Mean);
    assert_eq!(encoder.info().family, "bert");
    assert_eq!(encoder.info().notes.len(), 1, "{:?}", encoder.info().notes);
    assert_matches_reference(&encoder, &queries());
    assert_matches_reference(&encoder, &articles());
}

#[test]
fn medcpt_takes_cls_and_pairs() {
    let folder = folder::write_medcpt();
    let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
    let info = encoder.info();
    assert_eq!(
        (info.pooling, info.normalized, info.pair_input),
        (Pooling::Cls, false, true)
    );
    assert_eq!(info.family, "medcpt");
    assert_eq!(
        (info.dim, info.layers, info.heads, info.max_tokens),
        (16, 2, 2, 40)
    );
    assert!(info.notes.is_empty());
    assert_matches_reference(&encoder, &queries());
    assert_matches_reference(&encoder, &articles());
}

#[test]
fn medcpt_is_known_by_its_place_in_a_hub_cache() {
    let root = tempfile::tempdir().unwrap();
    let folder = root
        .path()
        .join("models--ncbi--MedCPT-Query-Encoder/snapshots/0123");
    std::fs::create_dir_all(&folder).unwrap();
    let files = folder::write();
    for name in ["config.json", "vocab.txt", "model.safetensors"] {
        std::fs::copy(files.path().join(name), folder.join(name)).unwrap();
    }
    let encoder = Encoder::open(&folder, &cpu()).unwrap();
    assert_eq!(encoder.info().name, "ncbi/MedCPT-Query-Encoder");
    assert_eq!(encoder.info().pooling, Pooling::Cls);
}

#[test]
fn sentence_transformers_files_decide() {
    let folder = folder::write();
    put_json(
        folder.path(),
        "modules.json",
        &json!([
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
            {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
        ]),
    );
    put_json(
        folder.path(),
        "1_Pooling/config.json",
        &json!({
            "word_embedding_dimension": 16, "pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false,
        }),
    );
    put_json(
        folder.path(),
        "sentence_bert_config.json",
        &json!({"max_seq_length": 12, "do_lower_case": false}),
    );
    let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
    let info = encoder.info();
    assert_eq!(
        (info.pooling, info.normalized, info.max_tokens),
        (Pooling::Cls, true, 12)
    );
    assert_eq!(info.family, "sentence-transformers");
    assert!(info.notes.is_empty());
    for row in encode(&encoder, &queries()) {
        let length: f32 = row.iter().map(|x| x * x).sum();
        assert!((length - 1.0).abs() < 1e-5);
    }
    let plain = OpenOptions {
        normalize: Some(false),
        pooling: Some(Pooling::Mean),
        max_tokens: Some(40),
        ..cpu()
    };
    assert_matches_reference(&Encoder::open(folder.path(), &plain).unwrap(), &queries());
}

#[test]
fn batches_give_what_single_texts_give_in_the_same_order() {
    let folder = folder::write();
    let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
    let many: Vec<Input<'_>> = queries().into_iter().cycle().take(300).collect();
    let together = encode(&encoder, &many);
    assert_eq!(together.len(), 300);
    for (at, input) in many.iter().enumerate().take(TEXTS.len()) {
        let alone = &encode(&encoder, &[*input])[0];
        for again in together.iter().skip(at).step_by(TEXTS.len()) {
            let worst = alone
                .iter()
                .zip(again)
                .map(|(a, b)| (a - b).abs())
                .fold(0f32, f32::max);
            assert!(worst < 1e-5, "text {at}: {worst}");
        }
    }
}

#[test]
fn nothing_in_nothing_out() {
    let folder = folder::write();
    let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
    let (embeddings, _) = encoder
        .encode(&[], &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert!(embeddings.is_empty());
    assert_eq!((embeddings.dim, embeddings.len()), (16, 0));
}

#[test]
fn half_precision_weights_load_as_f32() {
    for (stored, tolerance) in [(Stored::F16, 1e-2), (Stored::Bf16, 8e-2)] {
        let folder = folder::write();
        put(
            folder.path(),
            "model.safetensors",
            safetensors(&tensors(), stored),
        );
        let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
        let inputs = queries();
        let tokens = encoder.tokenize(&inputs).unwrap();
        for (row, tokens) in encode(&encoder, &inputs).iter().zip(&tokens) {
            let wanted = reference::encode(&tensors(), tokens, Pooling::Mean);
            let worst = row
                .iter()
                .zip(&wanted)
                .map(|(a, b)| (f64::from(*a) - b).abs())
                .fold(0.0, f64::max);
            assert!(worst < tolerance, "{worst}");
        }
    }
}

#[test]
fn names_of_larger_and_older_checkpoints_are_understood() {
    let folder = folder::write();
    let renamed = tensors()
        .into_iter()
        .map(|(name, tensor)| {
            let name = name
                .replace("LayerNorm.weight", "LayerNorm.gamma")
                .replace("LayerNorm.bias", "LayerNorm.beta");
            (format!("bert.{name}"), tensor)
        })
        .collect();
    put(
        folder.path(),
        "model.safetensors",
        safetensors(&renamed, Stored::F32),
    );
    assert_matches_reference(&Encoder::open(folder.path(), &cpu()).unwrap(), &queries());
}

/// The steps for GPUs are burn's own operations, so they can be checked on the processor.
#[test]
fn padded_batches_in_plain_burn_match_the_reference() {
    let folder = folder::write();
    let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
    let tokens = encoder.tokenize(&queries()).unwrap();
    let config = Config::read(folder.path(), Purpose::Embed).unwrap();
    for pooling in [Pooling::Cls, Pooling::Mean] {
        let mut weights = Weights::open(folder.path()).unwrap();
        let model =
            Bert::<Flex, Plain>::load(&mut weights, &config, pooling, FlexDevice, None).unwrap();
        let batch = Batch::padded(tokens.iter(), 40);
        let rows = model
            .forward(&batch, &AtomicBool::new(false))
            .unwrap()
            .unwrap();
        for (row, tokens) in rows.chunks_exact(16).zip(&tokens) {
            assert_close(row, &reference::encode(&tensors(), tokens, pooling), 1e-5);
        }
    }
}

/// Half precision as GPUs compute it, on burn's CPU backend.
#[test]
fn half_precision_stays_close_to_the_reference() {
    let folder = folder::write();
    let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
    let tokens = encoder.tokenize(&queries()).unwrap();
    let config = Config::read(folder.path(), Purpose::Embed).unwrap();
    for (half, least) in [(FloatDType::F16, 0.9999), (FloatDType::BF16, 0.999)] {
        for pooling in [Pooling::Cls, Pooling::Mean] {
            let mut weights = Weights::open(folder.path()).unwrap();
            let model =
                Bert::<Flex, Plain>::load(&mut weights, &config, pooling, FlexDevice, Some(half))
                    .unwrap();
            let batch = Batch::padded(tokens.iter(), 40);
            let rows = model
                .forward(&batch, &AtomicBool::new(false))
                .unwrap()
                .unwrap();
            for (row, tokens) in rows.chunks_exact(16).zip(&tokens) {
                let wanted = reference::encode(&tensors(), tokens, pooling);
                let cosine = reference::cosine(row, &wanted);
                assert!(
                    cosine > least && cosine < 1.0 - 1e-9,
                    "{half:?} {pooling:?}: {cosine}"
                );
            }
        }
    }
}

#[test]
fn a_model_that_is_told_to_stop_does() {
    let folder = folder::write();
    let config = Config::read(folder.path(), Purpose::Embed).unwrap();
    let mut weights = Weights::open(folder.path()).unwrap();
    let model =
        Bert::<Flex, Fast>::load(&mut weights, &config, Pooling::Cls, FlexDevice, None).unwrap();
    let tokens = TokenIds {
        ids: vec![2, 7, 3],
        types: vec![0; 3],
    };
    let batch = Batch::packed(std::iter::once(&tokens));
    assert!(
        model
            .forward(&batch, &AtomicBool::new(true))
            .unwrap()
            .is_none()
    );
}

#[test]
fn cancelling_ends_with_an_error_at_every_stage() {
    let folder = folder::write();
    let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
    let many: Vec<Input<'_>> = queries().into_iter().cycle().take(4000).collect();
    for stop_at in [0, 1, 2000] {
        let mut seen = 0;
        let result = encoder.encode(&many, &mut |progress| {
            seen = progress.done;
            assert_eq!(progress.total, 4000);
            if progress.done >= stop_at {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        assert!(matches!(result, Err(EncoderError::Cancelled)), "{stop_at}");
        assert!(seen >= stop_at && seen < 4000);
    }
    // And it works again afterwards.
    assert_eq!(encode(&encoder, &queries()).len(), TEXTS.len());
}

#[test]
fn a_stopped_run_goes_on_with_the_bits_of_an_undisturbed_one() {
    let folder = folder::write();
    let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
    let dim = encoder.info().dim;
    for count in [300, 2500] {
        let many: Vec<Input<'_>> = queries().into_iter().cycle().take(count).collect();
        let whole = encode(&encoder, &many).concat();
        let mut data = vec![0.0; whole.len()];
        let mut known = vec![false; count];
        let mut rounds = 0;
        while known.contains(&false) {
            let before = known.iter().filter(|known| **known).count();
            let mut fresh = Vec::new();
            let mut asked = 0;
            let result = encoder.encode_rest(
                &many,
                &known,
                &mut |progress| {
                    asked += 1;
                    assert!(progress.done >= before);
                    match progress.done >= before + 40 && progress.done < count {
                        true => ControlFlow::Break(()),
                        false => ControlFlow::Continue(()),
                    }
                },
                &mut |at, row| {
                    data[at * dim..(at + 1) * dim].copy_from_slice(row);
                    fresh.push(at);
                },
            );
            assert!(asked > 0 && !fresh.is_empty());
            assert_eq!(
                result.is_ok(),
                before + fresh.iter().filter(|at| !known[**at]).count() == count
            );
            fresh.into_iter().for_each(|at| known[at] = true);
            rounds += 1;
        }
        assert!(rounds > 2, "{count}: {rounds}");
        assert_eq!(data, whole, "{count}");
    }
}

#[test]
fn progress_ends_with_everything_done() {
    let folder = folder::write();
    let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
    let mut last = None;
    let mut before = 0;
    encoder
        .encode(&queries(), &mut |progress| {
            assert!(progress.done >= before);
            before = progress.done;
            last = Some(progress);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(
        last.map(|progress| (progress.done, progress.total)),
        Some((8, 8))
    );
}

#[test]
fn an_encoder_is_shared_among_threads() {
    fn assert_shareable<T: Send + Sync>(_: &T) {}
    let folder = folder::write();
    let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
    assert_shareable(&encoder);
    let alone = encode(&encoder, &queries());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| encode(&encoder, &queries())))
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), alone);
        }
    });
}

#[test]
fn info_can_be_written_down() {
    let folder = folder::write();
    let encoder = Encoder::open(folder.path(), &cpu()).unwrap();
    let info = serde_json::to_value(encoder.info()).unwrap();
    assert_eq!(info["pooling"], "mean");
    assert_eq!(info["backend"]["backend"], "cpu");
    assert_eq!(info["weights_sha256"].as_str().unwrap().len(), 64);
}
