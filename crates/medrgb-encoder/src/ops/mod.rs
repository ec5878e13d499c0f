//! The steps of the forward pass that differ between processors and GPUs.
//!
//! `Plain` is burn and nothing else, for padded batches on any backend. [`Fast`] runs matrix
//! products through burn's CPU backend and everything between them in [`crate::kernels`], on packed
//! batches without a row of padding.

mod fast;
#[cfg(any(feature = "wgpu", feature = "cuda", test))]
mod plain;

use burn_tensor::backend::Backend;
use burn_tensor::{Int, Tensor, TensorData};

pub(crate) use fast::Fast;
#[cfg(any(feature = "wgpu", feature = "cuda", test))]
pub(crate) use plain::Plain;

use crate::batch::Batch;
use crate::model::{Linear, Norm, Tables};

/// A matrix on backend `B`, one row per token unless said otherwise.
pub(crate) type Matrix<B> = Tensor<B, 2>;

/// What attention needs to know besides queries, keys and values.
pub(crate) struct Attention<'a, B: Backend> {
    pub heads: usize,
    pub batch: &'a Batch,
    /// From [`Ops::mask`].
    #[cfg_attr(not(any(feature = "wgpu", feature = "cuda", test)), allow(dead_code))]
    pub mask: Option<Tensor<B, 4>>,
    /// One query per sequence, its first token, instead of one per row.
    pub first_only: bool,
}

/// The steps between matrix products, on backend `B`.
pub(crate) trait Ops<B: Backend>: Send + Sync + 'static {
    /// Sum of the three embeddings of each row, normalised: (r, h).
    fn embed(tables: &Tables<B>, batch: &Batch, device: &B::Device) -> Matrix<B>;

    /// `x W + b`.
    fn linear(x: Matrix<B>, linear: &Linear<B>) -> Matrix<B>;

    /// `gelu(x W + b)`.
    fn linear_gelu(x: Matrix<B>, linear: &Linear<B>) -> Matrix<B>;

    /// `norm(x W + b + residual)`.
    fn linear_add_norm(
        x: Matrix<B>,
        linear: &Linear<B>,
        residual: Matrix<B>,
        norm: &Norm<B>,
    ) -> Matrix<B>;

    /// Whatever keeps padding out of attention, made once per batch.
    fn mask(batch: &Batch, device: &B::Device) -> Option<Tensor<B, 4>>;

    /// Attention of `queries` (q, h) over `keys_values` (r, 2h): (q, h).
    fn attention(
        queries: Matrix<B>,
        keys_values: Matrix<B>,
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
