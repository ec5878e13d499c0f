//! Rows of numbers to search: in memory or in a mapped file, in `f32` or half precision.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use medrgb_kernels as kernels;

use crate::retrieval::RetrievalError;
use crate::retrieval::mapped::Mapped;

/// Numbers from here on become infinite in half precision: halfway from its largest number to the next step.
const HALF_OVERFLOW: f32 = 65_520.0;

/// Numbers that one thread checks at a time.
const CHECKED_AT_ONCE: usize = 1 << 20;

/// Vectors of one dimension, row after row in one buffer. A clone shares the buffer.
#[derive(Debug, Clone)]
pub struct Vectors {
    dim: usize,
    rows: usize,
    store: Store,
}

#[derive(Debug, Clone)]
enum Store {
    Full(Arc<Vec<f32>>),
    Half(Arc<Vec<u16>>),
    MappedFull(Arc<Mapped>, Range<usize>),
    MappedHalf(Arc<Mapped>, Range<usize>),
}

/// How a number is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Precision {
    /// `f32`.
    Full,
    /// Half precision (IEEE 754 binary16), as bits.
    Half,
}

impl Precision {
    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Precision::Full => 4,
            Precision::Half => 2,
        }
    }
}

/// All numbers, row after row.
#[derive(Debug, Clone, Copy)]
pub enum Numbers<'a> {
    /// `f32`.
    Full(&'a [f32]),
    /// Half precision, as bits.
    Half(&'a [u16]),
}

impl Vectors {
    /// Takes a buffer of `rows × dim` numbers.
    ///
    /// # Errors
    /// When the length of `data` is no multiple of `dim`, or a number is not finite.
    pub fn new(dim: usize, data: Vec<f32>) -> Result<Vectors, RetrievalError> {
        let rows = whole_rows(dim, data.len())?;
        let vectors = Vectors {
            dim,
            rows,
            store: Store::Full(Arc::new(data)),
        };
        vectors.check_finite()?;
        Ok(vectors)
    }

    /// Takes a buffer of `rows × dim` numbers in half precision (as bits).
    ///
    /// # Errors
    /// As [`Vectors::new`].
    pub fn from_half(dim: usize, data: Vec<u16>) -> Result<Vectors, RetrievalError> {
        let rows = whole_rows(dim, data.len())?;
        let vectors = Vectors {
            dim,
            rows,
            store: Store::Half(Arc::new(data)),
        };
        vectors.check_finite()?;
        Ok(vectors)
    }

    /// Little-endian numbers in a part of a file, not looked at. They stay where they are; on processors of
    /// another byte order, or where they are not aligned, they are copied into memory.
    ///
    /// # Errors
    /// When the file has no such part, or it does not hold whole rows.
    pub fn mapped(
        file: Arc<Mapped>,
        part: Range<usize>,
        dim: usize,
        precision: Precision,
    ) -> Result<Vectors, RetrievalError> {
        let Some(bytes) = file.bytes().get(part.clone()) else {
            return Err(RetrievalError(format!(
                "the file has {} bytes where {} were expected",
                file.bytes().len(),
                part.end
            )));
        };
        let rows = whole_rows(dim, bytes.len() / precision.bytes())?;
        let stays = cfg!(target_endian = "little");
        let store = match precision {
            Precision::Full if stays && bytemuck::try_cast_slice::<u8, f32>(bytes).is_ok() => {
                Store::MappedFull(file, part)
            }
            Precision::Half if stays && bytemuck::try_cast_slice::<u8, u16>(bytes).is_ok() => {
                Store::MappedHalf(file, part)
            }
            Precision::Full => Store::Full(Arc::new(
                (bytes.as_chunks::<4>().0.iter())
                    .map(|&number| f32::from_le_bytes(number))
                    .collect(),
            )),
            Precision::Half => Store::Half(Arc::new(
                (bytes.as_chunks::<2>().0.iter())
                    .map(|&number| u16::from_le_bytes(number))
                    .collect(),
            )),
        };
        Ok(Vectors { dim, rows, store })
    }

    /// Dimensions of each vector.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// How many vectors there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// How the numbers are kept.
    pub fn precision(&self) -> Precision {
        match self.store {
            Store::Full(_) | Store::MappedFull(..) => Precision::Full,
            Store::Half(_) | Store::MappedHalf(..) => Precision::Half,
        }
    }

    /// All numbers, row after row.
    pub fn numbers(&self) -> Numbers<'_> {
        match &self.store {
            Store::Full(data) => Numbers::Full(data),
            Store::Half(data) => Numbers::Half(data),
            // That the cast works was seen when the file was mapped.
            Store::MappedFull(file, part) => Numbers::Full(
                (file.bytes().get(part.clone()))
                    .and_then(|bytes| bytemuck::try_cast_slice(bytes).ok())
                    .unwrap_or_default(),
            ),
            Store::MappedHalf(file, part) => Numbers::Half(
                (file.bytes().get(part.clone()))
                    .and_then(|bytes| bytemuck::try_cast_slice(bytes).ok())
                    .unwrap_or_default(),
            ),
        }
    }

    /// One vector; copied where it is kept in half precision.
    pub fn row(&self, position: usize) -> Option<Cow<'_, [f32]>> {
        (position < self.rows).then(|| self.at(position))
    }

    /// One vector where it is kept in `f32`, without a copy.
    pub fn full_row(&self, position: usize) -> Option<&[f32]> {
        let range = self.span(position..position.checked_add(1)?);
        match self.numbers() {
            Numbers::Full(data) => data.get(range),
            Numbers::Half(_) => None,
        }
    }

    /// All vectors in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Cow<'_, [f32]>> {
        (0..self.rows).map(|position| self.at(position))
    }

    /// The rows in this range as they lie in memory or in a file, little-endian.
    pub fn row_bytes(&self, rows: Range<usize>) -> Cow<'_, [u8]> {
        let range = self.span(rows);
        let little = cfg!(target_endian = "little");
        match self.numbers() {
            Numbers::Full(data) if little => Cow::Borrowed(bytemuck::cast_slice(&data[range])),
            Numbers::Half(data) if little => Cow::Borrowed(bytemuck::cast_slice(&data[range])),
            Numbers::Full(data) => data[range].iter().flat_map(|n| n.to_le_bytes()).collect(),
            Numbers::Half(data) => data[range].iter().flat_map(|n| n.to_le_bytes()).collect(),
        }
    }

    /// These vectors in memory, checked.
    ///
    /// # Errors
    /// As [`Vectors::new`].
    pub fn loaded(&self) -> Result<Vectors, RetrievalError> {
        match self.numbers() {
            Numbers::Full(data) => Vectors::new(self.dim, data.to_vec()),
            Numbers::Half(data) => Vectors::from_half(self.dim, data.to_vec()),
        }
    }

    /// These vectors in half precision: themselves where they are, else a copy.
    ///
    /// # Errors
    /// When a number is too large for it (beyond 65,504).
    pub fn to_half(&self) -> Result<Vectors, RetrievalError> {
        let Numbers::Full(data) = self.numbers() else {
            return Ok(self.clone());
        };
        let mut half = vec![0; data.len()];
        kernels::narrow(data, &mut half);
        Vectors::from_half(self.dim, half).map_err(|error| {
            let Some(at) = data.iter().position(|x| x.abs() >= HALF_OVERFLOW) else {
                return error;
            };
            self.beyond_half(at, data[at])
        })
    }

    /// Looks at every number, on all cores.
    ///
    /// # Errors
    /// Names the first number that is not finite.
    pub fn check_finite(&self) -> Result<(), RetrievalError> {
        let count = self.rows * self.dim;
        let bad = match self.numbers() {
            Numbers::Full(data) => first_bad(count, |range| {
                data[range].iter().position(|number| !number.is_finite())
            }),
            // All bits of the exponent set: infinite or not a number.
            Numbers::Half(data) => first_bad(count, |range| {
                data[range].iter().position(|bits| bits & 0x7c00 == 0x7c00)
            }),
        };
        let Some(at) = bad else {
            return Ok(());
        };
        let row = self.at(at / self.dim);
        Err(RetrievalError(format!(
            "vector {} holds {} in dimension {}: only finite numbers can be searched; check the encoder's weights",
            at / self.dim,
            row[at % self.dim],
            at % self.dim
        )))
    }

    /// Looks, on all cores, whether every number fits into half precision.
    ///
    /// # Errors
    /// Names the first that is too large.
    pub fn check_half(&self) -> Result<(), RetrievalError> {
        let Numbers::Full(data) = self.numbers() else {
            return Ok(());
        };
        let bad = first_bad(data.len(), |range| {
            data[range].iter().position(|x| x.abs() >= HALF_OVERFLOW)
        });
        bad.map_or(Ok(()), |at| Err(self.beyond_half(at, data[at])))
    }

    fn beyond_half(&self, at: usize, number: f32) -> RetrievalError {
        RetrievalError(format!(
            "vector {} holds {number} in dimension {}, too large for half precision (its limit is 65,504); keep these vectors as they are stored (--graph stored)",
            at / self.dim,
            at % self.dim
        ))
    }

    /// Looks at the length of every row, on all cores: the inner product of two rows must neither overflow nor vanish.
    /// Rows of zeros are what they are.
    ///
    /// # Errors
    /// Names the first row that is too long or too short.
    pub fn check_lengths(&self) -> Result<(), RetrievalError> {
        let square = |row: usize| -> f64 {
            let row = self.at(row);
            row.iter().map(|&x| f64::from(x) * f64::from(x)).sum()
        };
        let unusable = |square: f64| {
            square > f64::from(f32::MAX) || (square > 0.0 && square < f64::from(f32::MIN_POSITIVE))
        };
        let bad = first_bad(self.rows, |mut range| {
            range.position(|row| unusable(square(row)))
        });
        let Some(row) = bad else {
            return Ok(());
        };
        let length = square(row).sqrt();
        let so = match length > 1.0 {
            true => "long that inner products with it are infinite",
            false => "short that inner products with it are 0",
        };
        Err(RetrievalError(format!(
            "vector {row} is so {so} (its length is {length:.1e}), and can't be searched; check the numbers, or scale the vectors"
        )))
    }

    /// Rows as `f32`, each padded with zeros to whole [`kernels::PAD`]s: as they lie where they lie so, else
    /// copied to `scratch`.
    pub(super) fn padded<'a>(&'a self, rows: Range<usize>, scratch: &'a mut Vec<f32>) -> &'a [f32] {
        let (dim, stride) = (self.dim, kernels::padded(self.dim));
        let range = self.span(rows.clone());
        match self.numbers() {
            Numbers::Full(data) if dim == stride => return &data[range],
            Numbers::Full(data) => {
                scratch.clear();
                scratch.resize(rows.len() * stride, 0.0);
                for (to, from) in pairs(scratch, stride, &data[range], dim) {
                    to[..dim].copy_from_slice(from);
                }
            }
            Numbers::Half(data) => {
                scratch.resize(rows.len() * stride, 0.0);
                for (to, from) in pairs(scratch, stride, &data[range], dim) {
                    let (to, rest) = to.split_at_mut(dim);
                    kernels::widen(from, to);
                    rest.fill(0.0);
                }
            }
        }
        scratch
    }

    fn at(&self, position: usize) -> Cow<'_, [f32]> {
        let range = self.span(position..position + 1);
        match self.numbers() {
            Numbers::Full(data) => Cow::Borrowed(&data[range]),
            Numbers::Half(data) => {
                let mut row = vec![0.0; self.dim];
                kernels::widen(&data[range], &mut row);
                Cow::Owned(row)
            }
        }
    }

    /// The numbers of these rows; none of them beyond the last.
    fn span(&self, rows: Range<usize>) -> Range<usize> {
        let end = rows.end.min(self.rows);
        rows.start.min(end) * self.dim..end * self.dim
    }
}

impl PartialEq for Vectors {
    /// The same numbers, however they are kept.
    fn eq(&self, other: &Vectors) -> bool {
        self.dim == other.dim && self.rows == other.rows && self.rows().eq(other.rows())
    }
}

fn pairs<'a, T>(
    to: &'a mut [f32],
    stride: usize,
    from: &'a [T],
    dim: usize,
) -> impl Iterator<Item = (&'a mut [f32], &'a [T])> {
    to.chunks_exact_mut(stride).zip(from.chunks_exact(dim))
}

fn whole_rows(dim: usize, numbers: usize) -> Result<usize, RetrievalError> {
    if dim == 0 || !numbers.is_multiple_of(dim) {
        return Err(RetrievalError(format!(
            "{numbers} numbers do not make whole vectors of {dim} dimensions"
        )));
    }
    Ok(numbers / dim)
}

/// The first of `count` numbers that `find` finds in a range (relative to its start), on all cores.
fn first_bad(count: usize, find: impl Fn(Range<usize>) -> Option<usize> + Sync) -> Option<usize> {
    let (next, first) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    let work = || {
        loop {
            let start = next.fetch_add(CHECKED_AT_ONCE, Ordering::Relaxed);
            // Blocks are handed out in order, so nothing before `first` is left out.
            if start >= count.min(first.load(Ordering::Relaxed)) {
                return;
            }
            if let Some(at) = find(start..count.min(start + CHECKED_AT_ONCE)) {
                first.fetch_min(start + at, Ordering::Relaxed);
                return;
            }
        }
    };
    if count <= CHECKED_AT_ONCE {
        work();
    } else {
        std::thread::scope(|scope| {
            for _ in 0..super::cores() {
                scope.spawn(work);
            }
        });
    }
    let first = first.into_inner();
    (first != usize::MAX).then_some(first)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn bad_buffers_are_refused() {
        assert!(Vectors::new(0, vec![]).is_err());
        assert!(Vectors::new(3, vec![0.0; 4]).is_err());
        assert!(Vectors::from_half(3, vec![0; 4]).is_err());
        let message = Vectors::new(2, vec![0.0, 1.0, f32::NAN, 0.0])
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("vector 1") && message.contains("dimension 0"),
            "{message}"
        );
        let message = Vectors::from_half(2, vec![0, 0, 0, 0xfc00])
            .unwrap_err()
            .to_string();
        assert!(message.contains("holds -inf in dimension 1"), "{message}");
    }

    #[test]
    fn the_first_bad_number_of_many_is_named() {
        let mut data = vec![0.0; 5 * CHECKED_AT_ONCE];
        for at in [
            4 * CHECKED_AT_ONCE + 3,
            2 * CHECKED_AT_ONCE + 1,
            3 * CHECKED_AT_ONCE,
        ] {
            data[at] = f32::INFINITY;
        }
        let message = Vectors::new(1, data).unwrap_err().to_string();
        let first = 2 * CHECKED_AT_ONCE + 1;
        assert!(message.contains(&format!("vector {first} ")), "{message}");
    }

    #[test]
    fn half_precision_rows_are_the_rounded_ones() {
        let full = Vectors::new(3, vec![0.1, -2.0, 3.5, 1e-3, 0.0, 500.25]).unwrap();
        let half = full.to_half().unwrap();
        assert_eq!((half.len(), half.precision()), (2, Precision::Half));
        for (a, b) in full.rows().zip(half.rows()) {
            for (x, y) in a.iter().zip(b.iter()) {
                assert!((x - y).abs() <= x.abs() / 2048.0, "{x} {y}");
            }
        }
        assert_eq!(half.full_row(0), None);
        assert_eq!(full.full_row(1).unwrap(), &full.row(1).unwrap()[..]);
        assert_eq!(full.row(2), None);
        assert_eq!(half.row(usize::MAX), None);
        let message = Vectors::new(1, vec![1e6]).unwrap().to_half().unwrap_err();
        assert!(message.to_string().contains("65,504"), "{message}");
    }
}
