//! The steps in burn's own operations, for padded batches on any backend.

use std::ops::Range;

use burn_tensor::backend::Backend;
use burn_tensor::{FloatDType, Tensor, TensorData, activation};

use super::{Attention, Half, Matrix, Ops, Stored, indices};
use crate::batch::Batch;
use crate::model::{Norm, Tables};

/// burn alone; batches must be padded.
pub(crate) struct Plain;

/// In half precision, if states are kept in it.
fn halved<B: Backend, const D: usize>(x: Tensor<B, D>, half: Half) -> Tensor<B, D> {
    match half {
        Some(dtype) => x.cast(dtype),
        None => x,
    }
}

/// In `f32`, if states are kept in half precision.
fn full<B: Backend, const D: usize>(x: Tensor<B, D>, half: Half) -> Tensor<B, D> {
    match half {
        Some(_) => x.cast(FloatDType::F32),
        None => x,
    }
}

/// Linear layers side by side.
pub(crate) struct Joined<B: Backend> {
    /// (inputs, all outputs).
    weight: Matrix<B>,
    /// (all outputs).
    bias: Tensor<B, 1>,
    /// First output of each layer, and the end of the last.
    starts: Vec<usize>,
}

impl Plain {
    /// In `f32` whatever the states are kept in: squares of half precision overflow.
    fn norm<B: Backend>(x: Matrix<B>, norm: &Norm<B>) -> Matrix<B> {
        let x = full(x, norm.half);
        let mean = x.clone().mean_dim(1);
        let x = x - mean;
        let variance = (x.clone() * x.clone()).mean_dim(1);
        let x = x / (variance + norm.eps).sqrt();
        let x = x * norm.weight.clone().unsqueeze() + norm.bias.clone().unsqueeze();
        halved(x, norm.half)
    }

    /// All layers of `linear`.
    fn all<B: Backend>(x: Matrix<B>, linear: &Joined<B>) -> Matrix<B> {
        let layers = 0..linear.starts.len() - 1;
        <Self as Ops<B>>::linear(x, linear, layers)
    }

    /// 1 for each row that holds a token, 0 for padding: (sequences, width).
    fn present(batch: &Batch) -> TensorData {
        let width = batch.width.unwrap_or(0);
        let rows = batch
            .spans
            .iter()
            .flat_map(|span| (0..width).map(|at| if at < span.len { 1f32 } else { 0.0 }));
        TensorData::new(rows.collect::<Vec<_>>(), [batch.spans.len(), width])
    }
}

impl<B: Backend> Ops<B> for Plain {
    type Linear = Joined<B>;

    fn load(inputs: usize, layers: Vec<Stored>, device: &B::Device, half: Half) -> Joined<B> {
        let mut starts = vec![0];
        let mut bias = Vec::new();
        for (_, part) in &layers {
            bias.extend_from_slice(part);
            starts.push(bias.len());
        }
        let columns = bias.len();
        let mut weight = vec![0f32; inputs * columns];
        for ((part, _), start) in layers.iter().zip(&starts) {
            transpose_into(part, inputs, &mut weight[*start..], columns);
        }
        let weight = Tensor::from_data(TensorData::new(weight, [inputs, columns]), device);
        let bias = Tensor::from_data(TensorData::new(bias, [columns]), device);
        Joined {
            weight: halved(weight, half),
            bias: halved(bias, half),
            starts,
        }
    }

    fn embed(tables: &Tables<B>, batch: &Batch, device: &B::Device) -> Matrix<B> {
        let rows = |table: &Matrix<B>, list: &[i32]| {
            table.clone().select(0, indices(list.to_vec(), device))
        };
        let sum = rows(&tables.words, &batch.ids)
            + rows(&tables.types, &batch.types)
            + rows(&tables.positions, &batch.positions);
        Self::norm(sum, &tables.norm)
    }

    fn linear(x: Matrix<B>, linear: &Joined<B>, layers: Range<usize>) -> Matrix<B> {
        let outputs = linear.starts[layers.start]..linear.starts[layers.end];
        let (weight, bias) = if outputs.len() == linear.bias.dims()[0] {
            (linear.weight.clone(), linear.bias.clone())
        } else {
            let (from, count) = (outputs.start, outputs.len());
            (
                linear.weight.clone().narrow(1, from, count),
                linear.bias.clone().narrow(0, from, count),
            )
        };
        x.matmul(weight) + bias.unsqueeze()
    }

    fn linear_gelu(x: Matrix<B>, linear: &Joined<B>) -> Matrix<B> {
        activation::gelu(Self::all(x, linear))
    }

    fn linear_add_norm(
        x: Matrix<B>,
        linear: &Joined<B>,
        residual: Matrix<B>,
        norm: &Norm<B>,
    ) -> Matrix<B> {
        Self::norm(Self::all(x, linear) + residual, norm)
    }

    fn mask(batch: &Batch, device: &B::Device) -> Option<Tensor<B, 4>> {
        let width = batch.width?;
        let ragged = batch.spans.iter().any(|span| span.len < width);
        // Added to scores: 0 for a token, far below any score for padding.
        ragged.then(|| {
            let present = Tensor::<B, 2>::from_data(Self::present(batch), device);
            ((present - 1.0) * 30_000.0).reshape([batch.spans.len(), 1, 1, width])
        })
    }

    fn attention(
        queries: Option<Matrix<B>>,
        projected: Matrix<B>,
        attention: &Attention<'_, B>,
    ) -> Matrix<B> {
        let parts = if queries.is_some() { 2 } else { 3 };
        let hidden = projected.dims()[1] / parts;
        let part = |at: usize| projected.clone().narrow(1, at * hidden, hidden);
        let (keys, values) = (part(parts - 2), part(parts - 1));
        let queries = queries.unwrap_or_else(|| part(0));
        let rows = queries.dims()[0];
        let sequences = attention.batch.spans.len();
        let (heads, width) = (attention.heads, hidden / attention.heads);
        let split = |x: Matrix<B>| {
            let per_sequence = x.dims()[0] / sequences;
            x.reshape([sequences, per_sequence, heads, width])
                .swap_dims(1, 2)
        };
        // Scaled before the product, so that half precision does not overflow in it.
        let queries = split(queries) * (width as f32).sqrt().recip();
        let scores = full(queries.matmul(split(keys).swap_dims(2, 3)), attention.half);
        let scores = match &attention.mask {
            Some(mask) => scores + mask.clone(),
            None => scores,
        };
        let weights = halved(activation::softmax(scores, 3), attention.half);
        let mixed = weights.matmul(split(values));
        mixed.swap_dims(1, 2).reshape([rows, hidden])
    }

    fn mean_rows(x: Matrix<B>, batch: &Batch) -> Matrix<B> {
        let device = x.device();
        let [_, hidden] = x.dims();
        let (sequences, width) = (batch.spans.len(), batch.width.unwrap_or(1));
        let present =
            Tensor::<B, 2>::from_data(Self::present(batch), &device).unsqueeze_dim::<3>(2);
        let sum = (x.reshape([sequences, width, hidden]) * present.clone()).sum_dim(1);
        (sum / present.sum_dim(1)).reshape([sequences, hidden])
    }
}

/// Writes the transpose of `from` (o, inputs) to the first o columns of `to` (inputs, columns).
fn transpose_into(from: &[f32], inputs: usize, to: &mut [f32], columns: usize) {
    // In blocks, so that both sides stay within the cache.
    const BLOCK: usize = 32;
    let outputs = from.len() / inputs;
    for o in (0..outputs).step_by(BLOCK) {
        for i in 0..inputs {
            for o in o..(o + BLOCK).min(outputs) {
                to[i * columns + o] = from[o * inputs + i];
            }
        }
    }
}
