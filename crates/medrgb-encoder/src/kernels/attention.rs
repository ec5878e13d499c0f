//! Scaled dot-product attention within each sequence, head by head, on strided views.

// Pointers into slices whose bounds `attention` checks.
#![allow(unsafe_code)]

use std::ops::Range;

use rayon::prelude::*;

use super::lanes::{Lanes, exp2};
use super::product::{Finish, Left, Out, Panels, multiply};
use super::{InstructionSet, instruction_set};
use crate::batch::Span;

/// Rows of queries whose scores are held at once; with 512 keys they fill 192 KB, a share of L2.
const QUERY_BLOCK: usize = 96;

/// The sizes of an attention layer and where its sequences lie.
#[derive(Clone, Copy)]
pub(crate) struct Heads<'a> {
    /// Number of heads.
    pub count: usize,
    /// Columns per head.
    pub width: usize,
    /// The sequences among the rows of keys and values.
    pub spans: &'a [Span],
}

/// Attention of every row's query, or of the queries given.
///
/// With h = count * width and r the rows of all sequences: `projected` (r, 3h) holds queries, keys and
/// values side by side; or, where `queries` (sequences, h) holds one query per sequence, (r, 2h) keys and
/// values. The result has a row per query: (q, h).
pub(crate) fn attention(queries: Option<&[f32]>, projected: &[f32], heads: Heads<'_>) -> Vec<f32> {
    let h = heads.count * heads.width;
    let stride = if queries.is_some() { 2 * h } else { 3 * h };
    let rows = match queries {
        Some(queries) => queries.len() / h,
        None => projected.len() / stride,
    };
    let end = heads.spans.iter().map(|span| span.start + span.len).max();
    assert!(end.unwrap_or(0) * stride <= projected.len());
    assert!(
        rows >= if queries.is_some() {
            heads.spans.len()
        } else {
            end.unwrap_or(0)
        }
    );
    let mut out = vec![0f32; rows * h];
    let layer = Layer {
        queries: queries.unwrap_or(projected),
        query_stride: if queries.is_some() { h } else { stride },
        projected,
        stride,
        keys: stride - 2 * h,
        heads,
        one_query: queries.is_some(),
        out: Out {
            numbers: out.as_mut_ptr(),
            stride: h,
        },
    };
    let units = heads.spans.len() * heads.count;
    let one = |scratch: &mut Scratch, unit: usize| {
        layer.attend(scratch, unit / heads.count, unit % heads.count);
    };
    if rayon::current_num_threads() == 1 {
        let mut scratch = Scratch::default();
        (0..units).for_each(|unit| one(&mut scratch, unit));
    } else {
        (0..units)
            .into_par_iter()
            .for_each_init(Scratch::default, one);
    }
    out
}

/// What one attention layer works on.
struct Layer<'a> {
    queries: &'a [f32],
    query_stride: usize,
    projected: &'a [f32],
    stride: usize,
    /// First column of the keys; the values begin h columns later.
    keys: usize,
    heads: Heads<'a>,
    one_query: bool,
    out: Out,
}

// SAFETY: each unit (sequence and head) writes rows and columns of its own and reads what nobody writes.
unsafe impl Sync for Layer<'_> {}

/// Buffers that serve one head after the other.
#[derive(Default)]
struct Scratch {
    keys: Panels,
    values: Panels,
    scores: Vec<f32>,
    totals: Vec<f32>,
}

impl Layer<'_> {
    /// One head of one sequence.
    fn attend(&self, scratch: &mut Scratch, sequence: usize, head: usize) {
        let Heads {
            count,
            width,
            spans,
            ..
        } = self.heads;
        let span = spans[sequence];
        let (h, column) = (count * width, head * width);
        let part = |at: usize, from: usize| {
            &self.projected[(span.start + at) * self.stride + from..][..width]
        };
        // Whole panels, so that every tile of scores is a whole one.
        scratch
            .keys
            .reset(width, &[span.len.next_multiple_of(Panels::width())]);
        scratch
            .keys
            .fill_columns(span.len, |at| part(at, self.keys + column));
        scratch.values.reset(span.len, &[width]);
        scratch
            .values
            .fill_rows(|at| part(at, self.keys + h + column));
        let rows = if self.one_query {
            sequence..sequence + 1
        } else {
            span.start..span.start + span.len
        };
        for start in rows.clone().step_by(QUERY_BLOCK) {
            let block = start..(start + QUERY_BLOCK).min(rows.end);
            self.mix(scratch, span.len, block, column);
        }
    }

    /// Scores, softmax and weighted values of some rows of queries, for the head that starts at `column`.
    fn mix(&self, scratch: &mut Scratch, keys: usize, block: Range<usize>, column: usize) {
        let width = self.heads.width;
        let stride = keys.next_multiple_of(Panels::width());
        let needed = block.len() * stride;
        if scratch.scores.len() < needed {
            scratch.scores.resize(needed, 0.0);
        }
        let scores = &mut scratch.scores[..needed];
        let queries = Left {
            numbers: &self.queries[block.start * self.query_stride + column..],
            stride: self.query_stride,
            rows: block.len(),
        };
        let to = Out {
            numbers: scores.as_mut_ptr(),
            stride,
        };
        // SAFETY: `scores` has a row of `stride` numbers per query, as many as the panels have columns.
        unsafe {
            multiply(
                queries,
                &scratch.keys,
                0..scratch.keys.len(),
                to,
                Finish::default(),
            );
        }
        let scale = std::f32::consts::LOG2_E / (width as f32).sqrt();
        scratch.totals.clear();
        scratch.totals.resize(block.len(), 0.0);
        exponentials(scores, stride, keys, scale, &mut scratch.totals);
        let weights = Left {
            numbers: scores,
            stride,
            rows: block.len(),
        };
        let h = self.out.stride;
        // SAFETY: the result has rows and columns for all queries and heads (checked in `attention`), and
        // no other unit has these.
        unsafe {
            let to = Out {
                numbers: self.out.numbers.add(block.start * h + column),
                stride: h,
            };
            multiply(
                weights,
                &scratch.values,
                0..scratch.values.len(),
                to,
                Finish::default(),
            );
            for (at, total) in scratch.totals.iter().enumerate() {
                let row = std::slice::from_raw_parts_mut(to.numbers.add(at * h), width);
                let inverse = 1.0 / total;
                row.iter_mut().for_each(|x| *x *= inverse);
            }
        }
    }
}

/// 2^(scale (x - top)) of each number of `rows` (r, stride), where top is the largest of the row's first
/// `n`; their sums go to `totals` (r). What follows the first n becomes next to nothing.
fn exponentials(rows: &mut [f32], stride: usize, n: usize, scale: f32, totals: &mut [f32]) {
    assert!(n <= stride && stride.is_multiple_of(16) && rows.len() == totals.len() * stride);
    for row in rows.chunks_exact_mut(stride) {
        row[n..].fill(f32::MIN);
    }
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m256, __m512};

        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
        fn v4(rows: &mut [f32], stride: usize, scale: f32, totals: &mut [f32]) {
            softmax::<__m512>(rows, stride, scale, totals);
        }
        #[target_feature(enable = "avx2,fma")]
        fn v3(rows: &mut [f32], stride: usize, scale: f32, totals: &mut [f32]) {
            softmax::<__m256>(rows, stride, scale, totals);
        }
        match instruction_set() {
            // SAFETY: this processor has every feature that `v4` is compiled for.
            InstructionSet::Avx512 => return unsafe { v4(rows, stride, scale, totals) },
            // SAFETY: this processor has every feature that `v3` is compiled for.
            InstructionSet::Avx2 => return unsafe { v3(rows, stride, scale, totals) },
            InstructionSet::Portable => {}
        }
    }
    softmax::<[f32; 4]>(rows, stride, scale, totals);
}

/// The numbers of a register, then zeros.
#[inline(always)]
fn of_lanes<L: Lanes>(lanes: L) -> [f32; 16] {
    let mut numbers = [0f32; 16];
    // SAFETY: no register has more lanes.
    unsafe { lanes.store(numbers.as_mut_ptr()) };
    numbers
}

/// See [`exponentials`]; `stride` is a multiple of the register's lanes.
#[inline(always)]
fn softmax<L: Lanes>(rows: &mut [f32], stride: usize, scale: f32, totals: &mut [f32]) {
    for (row, total) in rows.chunks_exact_mut(stride).zip(totals) {
        let mut top = L::splat(f32::MIN);
        for lanes in row.chunks_exact(L::N) {
            // SAFETY: the chunk has as many numbers as the register.
            top = top.max(unsafe { L::load(lanes.as_ptr()) });
        }
        let top = of_lanes(top)[..L::N]
            .iter()
            .copied()
            .fold(f32::MIN, f32::max);
        let (factor, top) = (L::splat(scale), L::splat(top));
        let mut sum = L::splat(0.0);
        for lanes in row.chunks_exact_mut(L::N) {
            // SAFETY: as above.
            unsafe {
                let y = exp2(L::load(lanes.as_ptr()).sub(top).mul(factor));
                y.store(lanes.as_mut_ptr());
                sum = sum.add(y);
            }
        }
        *total = of_lanes(sum)[..L::N].iter().sum();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_those_of_a_softmax() {
        let (n, stride, scale) = (19, 32, 0.7);
        let numbers: Vec<f32> = (0..2 * stride)
            .map(|i| ((i * 37) % 23) as f32 - 9.0)
            .collect();
        let (mut fast, mut portable) = (numbers.clone(), numbers.clone());
        let mut totals = [[0f32; 2]; 2];
        exponentials(&mut fast, stride, n, scale, &mut totals[0]);
        portable
            .chunks_exact_mut(stride)
            .for_each(|row| row[n..].fill(f32::MIN));
        softmax::<[f32; 4]>(&mut portable, stride, scale, &mut totals[1]);
        for (at, row) in numbers.chunks_exact(stride).enumerate() {
            let top = row[..n].iter().copied().fold(f32::MIN, f32::max);
            let wanted: Vec<f32> = row[..n]
                .iter()
                .map(|x| ((x - top) * scale).exp2())
                .collect();
            let total: f32 = wanted.iter().sum();
            for (got, total_got) in [(&fast, totals[0][at]), (&portable, totals[1][at])] {
                for (a, b) in got[at * stride..].iter().zip(&wanted) {
                    assert!((a - b).abs() < 1e-6, "{a} {b}");
                }
                assert!((total - total_got).abs() < 1e-5, "{total} {total_got}");
            }
        }
    }

    /// Numbers so far apart that naive exponentials would overflow or vanish.
    #[test]
    fn large_scores_do_not_overflow() {
        let mut row = vec![-3e4f32; 16];
        row[3] = 3e4;
        let mut total = [0f32];
        exponentials(&mut row, 16, 16, 1.4, &mut total);
        assert_eq!((row[3], total[0]), (1.0, 1.0));
    }
}
