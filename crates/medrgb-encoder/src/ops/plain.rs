//! The steps in burn's own operations, for padded batches on any backend.

use burn_tensor::backend::Backend;
use burn_tensor::{Tensor, TensorData, activation};

use super::{Attention, Matrix, Ops, indices};
use crate::batch::Batch;
use crate::model::{Linear, Norm, Tables};

/// burn alone; batches must be padded.
pub(crate) struct Plain;

impl Plain {
    fn norm<B: Backend>(x: Matrix<B>, norm: &Norm<B>) -> Matrix<B> {
        let mean = x.clone().mean_dim(1);
        let x = x - mean;
        let variance = (x.clone() * x.clone()).mean_dim(1);
        let x = x / (variance + norm.eps).sqrt();
        x * norm.weight.clone().unsqueeze() + norm.bias.clone().unsqueeze()
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
    fn embed(tables: &Tables<B>, batch: &Batch, device: &B::Device) -> Matrix<B> {
        let rows = |table: &Matrix<B>, list: &[i32]| {
            table.clone().select(0, indices(list.to_vec(), device))
        };
        let sum = rows(&tables.words, &batch.ids)
            + rows(&tables.types, &batch.types)
            + rows(&tables.positions, &batch.positions);
        Self::norm(sum, &tables.norm)
    }

    fn linear(x: Matrix<B>, linear: &Linear<B>) -> Matrix<B> {
        x.matmul(linear.weight.clone()) + linear.bias.clone().unsqueeze()
    }

    fn linear_gelu(x: Matrix<B>, linear: &Linear<B>) -> Matrix<B> {
        activation::gelu(<Self as Ops<B>>::linear(x, linear))
    }

    fn linear_add_norm(
        x: Matrix<B>,
        linear: &Linear<B>,
        residual: Matrix<B>,
        norm: &Norm<B>,
    ) -> Matrix<B> {
        Self::norm(<Self as Ops<B>>::linear(x, linear) + residual, norm)
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
        queries: Matrix<B>,
        keys_values: Matrix<B>,
        attention: &Attention<'_, B>,
    ) -> Matrix<B> {
        let [rows, hidden] = queries.dims();
        let sequences = attention.batch.spans.len();
        let (heads, width) = (attention.heads, hidden / attention.heads);
        let split = |x: Matrix<B>| {
            let per_sequence = x.dims()[0] / sequences;
            x.reshape([sequences, per_sequence, heads, width])
                .swap_dims(1, 2)
        };
        let keys = keys_values.clone().narrow(1, 0, hidden);
        let values = keys_values.narrow(1, hidden, hidden);
        let scores =
            split(queries).matmul(split(keys).swap_dims(2, 3)) * (width as f32).sqrt().recip();
        let scores = match &attention.mask {
            Some(mask) => scores + mask.clone(),
            None => scores,
        };
        let mixed = activation::softmax(scores, 3).matmul(split(values));
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
