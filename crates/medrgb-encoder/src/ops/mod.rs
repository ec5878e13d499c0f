//! The steps of the forward pass that differ between processors and GPUs.
//!
//! `Plain` is burn and nothing else, for padded batches on any backend. [`Fast`] keeps its numbers in
//! tensors of burn's CPU backend and does everything with them in [`crate::kernels`], on packed batches
//! without a row of padding.

mod fast;
#[cfg(any(feature = "wgpu", feature = "cuda", test))]
mod plain;

use std::ops::Range;

use burn_tensor::backend::Backend;
use burn_tensor::{FloatDType, Int, Tensor, TensorData};

pub(crate) use fast::Fast;
#[cfg(any(feature = "wgpu", feature = "cuda", test))]
pub(crate) use plain::Plain;

use crate::batch::Batch;
use crate::model::{Norm, Tables};

/// A matrix on backend `B`, one row per token unless said otherwise.
pub(crate) type Matrix<B> = Tensor<B, 2>;

/// A linear layer as PyTorch stores it: weight (outputs, inputs) and bias (outputs).
pub(crate) type Stored = (Vec<f32>, Vec<f32>);

/// What hidden states and weights are kept in on a GPU, if not in `f32`.
pub(crate) type Half = Option<FloatDType>;

/// What attention needs to know besides queries, keys and values.
pub(crate) struct Attention<'a, B: Backend> {
    pub heads: usize,
    pub batch: &'a Batch,
    /// From [`Ops::mask`].
    #[cfg_attr(not(any(feature = "wgpu", feature = "cuda", test)), allow(dead_code))]
    pub mask: Option<Tensor<B, 4>>,
    /// Only the first token's state of each sequence is wanted.
    pub first_only: bool,
    /// What states are kept in.
    #[cfg_attr(not(any(feature = "wgpu", feature = "cuda", test)), allow(dead_code))]
    pub half: Half,
}

/// The steps between hidden states, on backend `B`.
pub(crate) trait Ops<B: Backend>: Send + Sync + 'static {
    /// Linear layers with the same input, side by side, as this backend wants them.
    type Linear: Send + Sync;

    /// Puts `layers` of `inputs` inputs side by side.
    fn load(inputs: usize, layers: Vec<Stored>, device: &B::Device, half: Half) -> Self::Linear;

    /// Sum of the three embeddings of each row, normalised: (r, h).
    fn embed(tables: &Tables<B>, batch: &Batch, device: &B::Device) -> Matrix<B>;

    /// `x W + b` of these layers, side by side.
    fn linear(x: Matrix<B>, linear: &Self::Linear, layers: Range<usize>) -> Matrix<B>;

    /// `gelu(x W + b)`.
    fn linear_gelu(x: Matrix<B>, linear: &Self::Linear) -> Matrix<B>;

    /// `norm(x W + b + residual)`.
    fn linear_add_norm(
        x: Matrix<B>,
        linear: &Self::Linear,
        residual: Matrix<B>,
        norm: &Norm<B>,
    ) -> Matrix<B>;

    /// Whatever keeps padding out of attention, made once per batch.
    fn mask(batch: &Batch, device: &B::Device) -> Option<Tensor<B, 4>>;

    /// Attention of every row's query in `projected` (r, 3h: queries, keys, values), or of the `queries`
    /// (sequences, h) over `projected` (r, 2h: keys, values): (q, h).
    fn attention(
        queries: Option<Matrix<B>>,
        projected: Matrix<B>,
        attention: &Attention<'_, B>,
    ) -> Matrix<B>;

    /// The first row of each sequence: (sequences, h).
    fn first_rows(x: Matrix<B>, batch: &Batch) -> Matrix<B> {
        let device = x.device();
        let starts: Vec<i32> = batch.spans.iter().map(|span| span.start as i32).collect();
        x.select(0, indices(starts, &device))
    }

    /// The mean over the rows of each sequence, padding left out: (sequences, h).
    fn mean_rows(x: Matrix<B>, batch: &Batch) -> Matrix<B>;
}

/// A list of indices on `device`.
fn indices<B: Backend>(list: Vec<i32>, device: &B::Device) -> Tensor<B, 1, Int> {
    let n = list.len();
    Tensor::from_data(TensorData::new(list, [n]), device)
}
