//! BERT once more, in plain loops over `f64`: slow, and written from the paper rather than from the crate.

use super::folder::{HEADS, HIDDEN, LAYERS, Tensors};
use crate::{Pooling, TokenIds};

type Rows = Vec<Vec<f64>>;

/// The pooled vector of one sequence.
pub(crate) fn encode(tensors: &Tensors, tokens: &TokenIds, pooling: Pooling) -> Vec<f64> {
    let mut x: Rows = tokens
        .ids
        .iter()
        .zip(&tokens.types)
        .enumerate()
        .map(|(position, (id, kind))| {
            let word = row(tensors, "embeddings.word_embeddings.weight", *id as usize);
            let place = row(tensors, "embeddings.position_embeddings.weight", position);
            let segment = row(
                tensors,
                "embeddings.token_type_embeddings.weight",
                *kind as usize,
            );
            (0..HIDDEN)
                .map(|i| word[i] + place[i] + segment[i])
                .collect()
        })
        .collect();
    x = norm(tensors, "embeddings.LayerNorm", &x);
    for layer in 0..LAYERS {
        let base = format!("encoder.layer.{layer}");
        let mixed = attention(tensors, &format!("{base}.attention.self"), &x);
        let mixed = linear(tensors, &format!("{base}.attention.output.dense"), &mixed);
        let y = norm(
            tensors,
            &format!("{base}.attention.output.LayerNorm"),
            &sum(&mixed, &x),
        );
        let mut inner = linear(tensors, &format!("{base}.intermediate.dense"), &y);
        inner.iter_mut().flatten().for_each(|x| *x *= phi(*x));
        let outer = linear(tensors, &format!("{base}.output.dense"), &inner);
        x = norm(
            tensors,
            &format!("{base}.output.LayerNorm"),
            &sum(&outer, &y),
        );
    }
    match pooling {
        Pooling::Cls => x[0].clone(),
        Pooling::Mean => (0..HIDDEN)
            .map(|i| x.iter().map(|row| row[i]).sum::<f64>() / x.len() as f64)
            .collect(),
    }
}

/// The normal distribution function, from the Taylor series of erf (converges for all |x| here).
fn phi(x: f64) -> f64 {
    let z = x / std::f64::consts::SQRT_2;
    let (mut term, mut total) = (z, z);
    for n in 1..200 {
        term *= -z * z / f64::from(n);
        total += term / f64::from(2 * n + 1);
    }
    0.5 * (1.0 + total * 2.0 / std::f64::consts::PI.sqrt())
}

fn attention(tensors: &Tensors, base: &str, x: &Rows) -> Rows {
    let part = |name: &str| linear(tensors, &format!("{base}.{name}"), x);
    let (q, k, v) = (part("query"), part("key"), part("value"));
    let width = HIDDEN / HEADS;
    let mut out = vec![vec![0.0; HIDDEN]; x.len()];
    for head in 0..HEADS {
        let columns = head * width..(head + 1) * width;
        for (at, out) in out.iter_mut().enumerate() {
            let scores: Vec<f64> = k
                .iter()
                .map(|k| {
                    columns.clone().map(|c| q[at][c] * k[c]).sum::<f64>() / (width as f64).sqrt()
                })
                .collect();
            let weights: Vec<f64> = scores.iter().map(|s| s.exp()).collect();
            let total: f64 = weights.iter().sum();
            for c in columns.clone() {
                out[c] = weights.iter().zip(&v).map(|(w, v)| w * v[c]).sum::<f64>() / total;
            }
        }
    }
    out
}

fn linear(tensors: &Tensors, name: &str, x: &Rows) -> Rows {
    let bias = row(tensors, &format!("{name}.bias"), 0);
    let weight: Rows = (0..bias.len())
        .map(|o| row(tensors, &format!("{name}.weight"), o))
        .collect();
    let dot = |x: &[f64], w: &[f64]| x.iter().zip(w).map(|(x, w)| x * w).sum::<f64>();
    x.iter()
        .map(|x| {
            weight
                .iter()
                .zip(&bias)
                .map(|(w, b)| dot(x, w) + b)
                .collect()
        })
        .collect()
}

fn norm(tensors: &Tensors, name: &str, x: &Rows) -> Rows {
    let weight = row(tensors, &format!("{name}.weight"), 0);
    let bias = row(tensors, &format!("{name}.bias"), 0);
    x.iter()
        .map(|x| {
            let n = x.len() as f64;
            let mean = x.iter().sum::<f64>() / n;
            let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
            let scale = (variance + 1e-12).sqrt();
            x.iter()
                .enumerate()
                .map(|(i, x)| (x - mean) / scale * weight[i] + bias[i])
                .collect()
        })
        .collect()
}

fn sum(a: &Rows, b: &Rows) -> Rows {
    a.iter()
        .zip(b)
        .map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + b).collect())
        .collect()
}

/// Row `at` of a tensor (a vector is one row).
fn row(tensors: &Tensors, name: &str, at: usize) -> Vec<f64> {
    let (shape, numbers) = &tensors[name];
    let width = shape[shape.len() - 1];
    numbers[at * width..(at + 1) * width]
        .iter()
        .map(|x| f64::from(*x))
        .collect()
}

/// The cosine of two vectors.
pub(crate) fn cosine(got: &[f32], wanted: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let got: Vec<f64> = got.iter().map(|x| f64::from(*x)).collect();
    dot(&got, wanted) / (dot(&got, &got) * dot(wanted, wanted)).sqrt()
}

/// Fails unless `got` is `wanted` to within f32 rounding.
pub(crate) fn assert_close(got: &[f32], wanted: &[f64], tolerance: f64) {
    assert_eq!(got.len(), wanted.len());
    let cosine = cosine(got, wanted);
    let worst = got
        .iter()
        .zip(wanted)
        .map(|(a, b)| (f64::from(*a) - b).abs())
        .fold(0.0, f64::max);
    assert!(
        cosine > 0.99999 && worst < tolerance,
        "cosine {cosine}, largest difference {worst}"
    );
}
