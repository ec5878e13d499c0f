//! What a graph's inner products are computed from: the vectors themselves, or a smaller copy of them.

use std::ops::Range;
use std::sync::Arc;

use medrgb_kernels as kernels;

use super::GraphPrecision;
use crate::retrieval::RetrievalError;
use crate::retrieval::exact::{Numbers, Vectors};
use crate::retrieval::mapped::Mapped;

/// Rows that a scale for whole numbers is chosen from, at most.
const SCALE_SAMPLE: usize = 4096;
/// Parts of the largest number that are tried as the limit of the scale: beyond it numbers are cut.
const LIMITS: [f32; 8] = [1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1];

/// Rows that a graph compares.
#[derive(Debug, Clone)]
pub(super) enum Codes {
    /// Numbers in `f32` or half precision.
    Rows(Vectors),
    /// Whole numbers between -127 and 127.
    Int8(Int8),
}

/// A query in the form of the rows.
#[derive(Debug)]
pub(super) enum Query {
    Full(Vec<f32>),
    Int8(Vec<i8>),
}

/// Rows of whole numbers with one scale for all: the inner product of two rows times the square of the scale
/// is about that of the vectors. One scale a vector would make it a cosine.
#[derive(Debug, Clone)]
pub(super) struct Int8 {
    dim: usize,
    scale: f32,
    data: Bytes,
}

#[derive(Debug, Clone)]
enum Bytes {
    Owned(Arc<Vec<i8>>),
    Mapped(Arc<Mapped>, Range<usize>),
}

impl Codes {
    /// The rows for a graph of this precision.
    ///
    /// # Errors
    /// When a number is too large for half precision.
    pub(super) fn of(
        vectors: &Vectors,
        precision: GraphPrecision,
    ) -> Result<Codes, RetrievalError> {
        Ok(match precision {
            GraphPrecision::Stored => Codes::Rows(vectors.clone()),
            GraphPrecision::Half => Codes::Rows(vectors.to_half()?),
            GraphPrecision::Int8 => Codes::Int8(Int8::of(vectors)),
        })
    }

    /// Inner product of two rows, in the rows' own unit; `None` outside.
    #[inline]
    pub(super) fn product(&self, a: usize, b: usize) -> Option<f32> {
        match self {
            Codes::Rows(rows) => match rows.numbers() {
                Numbers::Full(data) => Some(kernels::quick(
                    row(data, a, rows.dim())?,
                    row(data, b, rows.dim())?,
                )),
                Numbers::Half(data) => Some(kernels::quick_half(
                    row(data, a, rows.dim())?,
                    row(data, b, rows.dim())?,
                )),
            },
            Codes::Int8(rows) => Some(kernels::quick_i8(
                row(rows.numbers(), a, rows.dim)?,
                row(rows.numbers(), b, rows.dim)?,
            ) as f32),
        }
    }

    /// Inner product of a row with a query; `None` outside.
    #[inline]
    pub(super) fn product_with(&self, a: usize, query: &Query) -> Option<f32> {
        match (self, query) {
            (Codes::Rows(rows), Query::Full(query)) => match rows.numbers() {
                Numbers::Full(data) => Some(kernels::quick(row(data, a, rows.dim())?, query)),
                Numbers::Half(data) => Some(kernels::quick_mixed(row(data, a, rows.dim())?, query)),
            },
            (Codes::Int8(rows), Query::Int8(query)) => {
                Some(kernels::quick_i8(row(rows.numbers(), a, rows.dim)?, query) as f32)
            }
            _ => None,
        }
    }

    /// A query in the rows' form, and what its products must be multiplied with to be those of the vectors.
    pub(super) fn query(&self, query: &[f32]) -> (Query, f32) {
        match self {
            Codes::Rows(_) => (Query::Full(query.to_vec()), 1.0),
            Codes::Int8(rows) => {
                let largest = query
                    .iter()
                    .fold(0f32, |most, number| most.max(number.abs()));
                let scale = scale_for(largest);
                let mut codes = vec![0; query.len()];
                kernels::quantise(query, 1.0 / scale, &mut codes);
                (Query::Int8(codes), scale * rows.scale)
            }
        }
    }
}

#[inline]
fn row<T>(data: &[T], position: usize, dim: usize) -> Option<&[T]> {
    let start = position.checked_mul(dim)?;
    data.get(start..start.checked_add(dim)?)
}

/// The scale at which `largest` is the largest whole number.
fn scale_for(largest: f32) -> f32 {
    let scale = largest / 127.0;
    if scale.is_normal() { scale } else { 1.0 }
}

impl Int8 {
    fn of(vectors: &Vectors) -> Int8 {
        let scale = best_scale(vectors);
        let mut data = vec![0; vectors.len() * vectors.dim()];
        let rows = data.chunks_exact_mut(vectors.dim()).zip(vectors.rows());
        for (codes, row) in rows {
            kernels::quantise(&row, 1.0 / scale, codes);
        }
        Int8 {
            dim: vectors.dim(),
            scale,
            data: Bytes::Owned(Arc::new(data)),
        }
    }

    /// Rows in a part of a file; `None` where the file has no such part.
    pub(super) fn mapped(
        file: Arc<Mapped>,
        part: Range<usize>,
        dim: usize,
        scale: f32,
    ) -> Option<Int8> {
        file.bytes().get(part.clone())?;
        let data = Bytes::Mapped(file, part);
        Some(Int8 { dim, scale, data })
    }

    /// The same in memory.
    pub(super) fn loaded(&self) -> Int8 {
        Int8 {
            data: Bytes::Owned(Arc::new(self.numbers().to_vec())),
            ..*self
        }
    }

    /// What a whole number stands for.
    pub(super) fn scale(&self) -> f32 {
        self.scale
    }

    /// All numbers, row after row.
    pub(super) fn numbers(&self) -> &[i8] {
        match &self.data {
            Bytes::Owned(data) => data,
            Bytes::Mapped(file, part) => {
                bytemuck::cast_slice(file.bytes().get(part.clone()).unwrap_or_default())
            }
        }
    }
}

/// The scale with the smallest squared error over a sample of the rows. A few outlying numbers would make all
/// others coarse if they set the scale alone.
fn best_scale(vectors: &Vectors) -> f32 {
    let step = vectors.len().div_ceil(SCALE_SAMPLE).max(1);
    let sample: Vec<f32> = (0..vectors.len())
        .step_by(step)
        .filter_map(|position| vectors.row(position))
        .flat_map(|row| row.into_owned())
        .collect();
    let largest = sample
        .iter()
        .fold(0f32, |most, number| most.max(number.abs()));
    let mut codes = vec![0; sample.len()];
    let mut error_of = |scale: f32| -> f64 {
        kernels::quantise(&sample, 1.0 / scale, &mut codes);
        let errors = sample.iter().zip(&codes).map(|(number, &code)| {
            let error = f64::from(number - f32::from(code) * scale);
            error * error
        });
        errors.sum()
    };
    LIMITS
        .map(|limit| scale_for(largest * limit))
        .map(|scale| (scale, error_of(scale)))
        .into_iter()
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map_or(1.0, |(scale, _)| scale)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn whole_numbers_keep_inner_products_and_not_cosines() {
        // The second row is twice the first: its inner product must be twice as large.
        let row: Vec<f32> = (0..64).map(|i| (i as f32 * 0.7).sin()).collect();
        let mut data = row.clone();
        data.extend(row.iter().map(|number| number * 2.0));
        let vectors = Vectors::new(64, data).unwrap();
        let codes = Codes::of(&vectors, GraphPrecision::Int8).unwrap();
        let (query, factor) = codes.query(&row);
        let wanted: f32 = row.iter().map(|number| number * number).sum();
        for (position, times) in [(0, 1.0), (1, 2.0)] {
            let got = codes.product_with(position, &query).unwrap() * factor;
            assert!((got - times * wanted).abs() < 0.01 * wanted, "{got}");
        }
        let Codes::Int8(int8) = &codes else {
            panic!("whole numbers were asked for");
        };
        let between = codes.product(0, 1).unwrap() * int8.scale() * int8.scale();
        assert!((between - 2.0 * wanted).abs() < 0.02 * wanted, "{between}");
        assert_eq!(codes.product(0, 2), None);
        assert_eq!(codes.product_with(usize::MAX, &query), None);
    }

    #[test]
    fn an_outlier_does_not_make_everything_coarse() {
        let mut data: Vec<f32> = (0..65_536).map(|i| (i as f32 * 0.37).sin()).collect();
        data[100] = 40.0;
        let vectors = Vectors::new(64, data).unwrap();
        let Codes::Int8(int8) = Codes::of(&vectors, GraphPrecision::Int8).unwrap() else {
            panic!("whole numbers were asked for");
        };
        assert!(int8.scale() < 40.0 / 127.0 * 0.9, "{}", int8.scale());
    }

    #[test]
    fn vectors_of_zeros_have_a_scale_too() {
        let vectors = Vectors::new(4, vec![0.0; 8]).unwrap();
        let codes = Codes::of(&vectors, GraphPrecision::Int8).unwrap();
        let (query, factor) = codes.query(&[0.0; 4]);
        assert_eq!(codes.product_with(1, &query).unwrap() * factor, 0.0);
    }
}
