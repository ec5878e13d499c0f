//! The steps on the processor: numbers in tensors of burn's CPU backend, work done by our own kernels.

use std::ops::Range;

use burn_flex::{Flex, FlexDevice, FlexTensor};
use burn_tensor::{Tensor, TensorData, TensorPrimitive};

use super::{Attention, Half, Matrix, Ops, Stored};
use crate::batch::Batch;
use crate::kernels::{self, Affine, Packed};
use crate::model::{Norm, Tables};

/// burn's CPU backend with our own kernels; batches must be packed.
pub(crate) struct Fast;

impl Fast {
    /// The tensor behind `x`, whose numbers [`slice`] then shows.
    fn primitive<const D: usize>(x: Tensor<Flex, D>) -> FlexTensor {
        match x.into_primitive() {
            TensorPrimitive::Float(x) => x,
            // Nothing here is ever quantised; an empty tensor would show as a wrong length at once.
            TensorPrimitive::QFloat(_) => {
                FlexTensor::from_data(TensorData::new(Vec::<f32>::new(), [0]))
            }
        }
    }

    fn matrix(rows: Vec<f32>, columns: usize) -> Matrix<Flex> {
        let shape = [rows.len() / columns, columns];
        Tensor::from_data(TensorData::new(rows, shape), &FlexDevice)
    }
}

/// A shared tensor's numbers, contiguous in row-major order.
struct Numbers(FlexTensor);

impl Numbers {
    fn of<const D: usize>(x: &Tensor<Flex, D>) -> Self {
        Self(Fast::primitive(x.clone()).to_contiguous())
    }

    fn slice(&self) -> &[f32] {
        self.0.storage()
    }
}

/// A norm's numbers, held while a kernel uses them.
struct NormNumbers {
    weight: Numbers,
    bias: Numbers,
    eps: f32,
}

impl NormNumbers {
    fn of(norm: &Norm<Flex>) -> Self {
        Self {
            weight: Numbers::of(&norm.weight),
            bias: Numbers::of(&norm.bias),
            eps: norm.eps,
        }
    }

    fn affine(&self) -> Affine<'_> {
        Affine {
            weight: self.weight.slice(),
            bias: self.bias.slice(),
            eps: self.eps,
        }
    }
}

impl Ops<Flex> for Fast {
    type Linear = Packed;

    /// The processor computes in `f32` alone.
    fn load(inputs: usize, layers: Vec<Stored>, _device: &FlexDevice, _half: Half) -> Packed {
        Packed::new(inputs, &layers)
    }

    fn embed(tables: &Tables<Flex>, batch: &Batch, _device: &FlexDevice) -> Matrix<Flex> {
        let hidden = tables.words.dims()[1];
        let lists = [
            (Numbers::of(&tables.types), &batch.types),
            (Numbers::of(&tables.positions), &batch.positions),
        ];
        let words = Numbers::of(&tables.words);
        let row = |table: &Numbers, id: i32| {
            let start = id as usize * hidden;
            start..(start + hidden).min(table.slice().len())
        };
        let mut rows = Vec::with_capacity(batch.rows() * hidden);
        for (at, id) in batch.ids.iter().enumerate() {
            rows.extend_from_slice(&words.slice()[row(&words, *id)]);
            for (table, list) in &lists {
                kernels::add(
                    &mut rows[at * hidden..],
                    &table.slice()[row(table, list[at])],
                );
            }
        }
        kernels::norm(&mut rows, NormNumbers::of(&tables.norm).affine());
        Self::matrix(rows, hidden)
    }

    fn linear(x: Matrix<Flex>, linear: &Packed, layers: Range<usize>) -> Matrix<Flex> {
        let columns = linear.outputs(layers.clone());
        Self::matrix(linear.apply(Numbers::of(&x).slice(), layers), columns)
    }

    fn linear_gelu(x: Matrix<Flex>, linear: &Packed) -> Matrix<Flex> {
        let columns = linear.outputs(0..linear.len());
        Self::matrix(linear.apply_gelu(Numbers::of(&x).slice()), columns)
    }

    fn linear_add_norm(
        x: Matrix<Flex>,
        linear: &Packed,
        residual: Matrix<Flex>,
        norm: &Norm<Flex>,
    ) -> Matrix<Flex> {
        let columns = linear.outputs(0..linear.len());
        let mut rows = linear.apply_add(Numbers::of(&x).slice(), Numbers::of(&residual).slice());
        kernels::norm(&mut rows, NormNumbers::of(norm).affine());
        Self::matrix(rows, columns)
    }

    fn mask(_batch: &Batch, _device: &FlexDevice) -> Option<Tensor<Flex, 4>> {
        None
    }

    fn attention(
        queries: Option<Matrix<Flex>>,
        projected: Matrix<Flex>,
        attention: &Attention<'_, Flex>,
    ) -> Matrix<Flex> {
        let hidden = projected.dims()[1] / if queries.is_some() { 2 } else { 3 };
        let heads = kernels::Heads {
            count: attention.heads,
            width: hidden / attention.heads,
            spans: &attention.batch.spans,
        };
        let queries = queries.as_ref().map(Numbers::of);
        let queries = queries.as_ref().map(Numbers::slice);
        let out = kernels::attention(queries, Numbers::of(&projected).slice(), heads);
        Self::matrix(out, hidden)
    }

    fn mean_rows(x: Matrix<Flex>, batch: &Batch) -> Matrix<Flex> {
        let hidden = x.dims()[1];
        let x = Numbers::of(&x);
        let mut means = vec![0f32; batch.spans.len() * hidden];
        for (mean, span) in means.chunks_exact_mut(hidden).zip(&batch.spans) {
            let rows = &x.slice()[span.start * hidden..(span.start + span.len) * hidden];
            rows.chunks_exact(hidden)
                .for_each(|row| kernels::add(mean, row));
            let inverse = 1.0 / span.len as f32;
            mean.iter_mut().for_each(|x| *x *= inverse);
        }
        Self::matrix(means, hidden)
    }
}
