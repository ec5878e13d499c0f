//! The steps on the processor: products by burn's CPU backend, the rest by our own kernels.

use burn_flex::{Flex, FlexDevice, FlexTensor};
use burn_tensor::{Tensor, TensorData, TensorPrimitive};

use super::{Attention, Matrix, Ops};
use crate::batch::Batch;
use crate::kernels::{self, Affine};
use crate::model::{Linear, Norm, Tables};

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

    /// Changes the numbers of `x` in place (they are only copied if someone else holds them too).
    fn change(x: Matrix<Flex>, f: impl FnOnce(&mut [f32])) -> Matrix<Flex> {
        let mut x = Self::primitive(x);
        f(x.storage_mut());
        Tensor::from_primitive(TensorPrimitive::Float(x))
    }

    fn matrix(rows: Vec<f32>, columns: usize) -> Matrix<Flex> {
        let shape = [rows.len() / columns, columns];
        Tensor::from_data(TensorData::new(rows, shape), &FlexDevice)
    }

    fn product(x: Matrix<Flex>, linear: &Linear<Flex>) -> Matrix<Flex> {
        x.matmul(linear.weight.clone())
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

    fn linear(x: Matrix<Flex>, linear: &Linear<Flex>) -> Matrix<Flex> {
        let bias = Numbers::of(&linear.bias);
        Self::change(Self::product(x, linear), |rows| {
            kernels::add_bias(rows, bias.slice())
        })
    }

    fn linear_gelu(x: Matrix<Flex>, linear: &Linear<Flex>) -> Matrix<Flex> {
        let bias = Numbers::of(&linear.bias);
        Self::change(Self::product(x, linear), |rows| {
            kernels::bias_gelu(rows, bias.slice())
        })
    }

    fn linear_add_norm(
        x: Matrix<Flex>,
        linear: &Linear<Flex>,
        residual: Matrix<Flex>,
        norm: &Norm<Flex>,
    ) -> Matrix<Flex> {
        let (bias, residual, norm) = (
            Numbers::of(&linear.bias),
            Numbers::of(&residual),
            NormNumbers::of(norm),
        );
        Self::change(Self::product(x, linear), |rows| {
            kernels::add_norm(rows, bias.slice(), residual.slice(), norm.affine());
        })
    }

    fn mask(_batch: &Batch, _device: &FlexDevice) -> Option<Tensor<Flex, 4>> {
        None
    }

    fn attention(
        queries: Matrix<Flex>,
        keys_values: Matrix<Flex>,
        attention: &Attention<'_, Flex>,
    ) -> Matrix<Flex> {
        let [rows, hidden] = queries.dims();
        let mut out = vec![0f32; rows * hidden];
        let heads = kernels::Heads {
            count: attention.heads,
            width: hidden / attention.heads,
            spans: &attention.batch.spans,
            first_only: attention.first_only,
        };
        let (queries, keys_values) = (Numbers::of(&queries), Numbers::of(&keys_values));
        kernels::attention(queries.slice(), keys_values.slice(), &mut out, heads);
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
