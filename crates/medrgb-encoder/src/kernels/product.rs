//! Products with a matrix that was laid out for them once: weights when a model is loaded, keys and values
//! for each sequence.
//!
//! A panel is as many columns of that matrix as two registers hold, depth after depth, so that the inner
//! loop reads it from end to end. A tile of the result (6 rows of a panel, 12 with AVX-512) stays in
//! registers over a whole stretch of depths; bias, residual and GELU are applied to it there. The rows are
//! laid out too, where enough panels use them, in the order in which the inner loop reads them.

// Pointers into slices whose bounds the functions that are not `unsafe` check.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ops::Range;

use rayon::prelude::*;

use super::lanes::{Lanes, gelu};
use super::{InstructionSet, instruction_set};

/// Depths per stretch: a panel's stretch takes three quarters of a 32 KB first-level cache. 384 was faster by
/// 3 % than 320 and by 6 % than 256.
const DEPTH: usize = 384;
/// Rows per block: with a stretch of depths they take half of a 512 KB second-level cache.
const ROWS: usize = 192;
/// Rows are laid out anew if at least this many panels use them.
const WORTH_LAYING: usize = 6;
/// The largest tile: 12 rows of two registers of 16 lanes.
const LARGEST_TILE: usize = 12 * 32;

/// 16 numbers that start where a cache line does.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; 16]);

/// The right side of a product, (depth, columns), in panels.
#[derive(Default)]
pub(super) struct Panels {
    depth: usize,
    /// Columns of a panel.
    width: usize,
    /// Where each panel's columns go in the result, and how many it has.
    places: Vec<(usize, usize)>,
    lines: Vec<Line>,
}

impl Panels {
    /// Columns of a panel on this processor.
    pub(super) fn width() -> usize {
        match instruction_set() {
            InstructionSet::Avx512 => 32,
            InstructionSet::Avx2 | InstructionSet::Portable => 16,
        }
    }

    /// Makes room for `parts` of so many columns each, every part from a new panel on; all numbers are
    /// yet to be filled in, except that columns past the end of a part are 0.
    pub(super) fn reset(&mut self, depth: usize, parts: &[usize]) {
        self.reset_to(Self::width(), depth, parts);
    }

    fn reset_to(&mut self, width: usize, depth: usize, parts: &[usize]) {
        (self.depth, self.width) = (depth, width);
        self.places.clear();
        let mut column = 0;
        for columns in parts {
            for at in (0..*columns).step_by(width) {
                self.places.push((column + at, width.min(columns - at)));
            }
            column += columns;
        }
        let lines = self.places.len() * depth * (width / 16);
        self.lines.clear();
        self.lines.resize(lines, Line([0.0; 16]));
    }

    /// Number of panels.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    fn start(&self, panel: usize) -> *const f32 {
        self.lines[panel * self.depth * (self.width / 16)..]
            .as_ptr()
            .cast()
    }

    /// The numbers of panel `at`: (depth, width).
    fn panel_mut(&mut self, at: usize) -> &mut [f32] {
        let lines = self.depth * (self.width / 16);
        let part = &mut self.lines[at * lines..(at + 1) * lines];
        // SAFETY: a line is 16 numbers and nothing else.
        unsafe { std::slice::from_raw_parts_mut(part.as_mut_ptr().cast(), part.len() * 16) }
    }

    /// Fills in the first `columns` columns from the transpose: `row(column)` holds the `depth` numbers of one.
    pub(super) fn fill_columns<'a>(&mut self, columns: usize, row: impl Fn(usize) -> &'a [f32]) {
        let (width, depth) = (self.width, self.depth);
        for panel in 0..self.places.len() {
            let (column, count) = self.places[panel];
            let numbers = self.panel_mut(panel);
            for i in 0..count.min(columns.saturating_sub(column)) {
                let row = &row(column + i)[..depth];
                for (to, from) in numbers[i..].iter_mut().step_by(width).zip(row) {
                    *to = *from;
                }
            }
        }
    }

    /// Fills in row by row: `row(depth)` holds the numbers of all columns.
    pub(super) fn fill_rows<'a>(&mut self, row: impl Fn(usize) -> &'a [f32]) {
        let width = self.width;
        for panel in 0..self.places.len() {
            let (column, count) = self.places[panel];
            for (at, to) in self.panel_mut(panel).chunks_exact_mut(width).enumerate() {
                to[..count].copy_from_slice(&row(at)[column..column + count]);
            }
        }
    }
}

/// What is done with a product before it is stored.
#[derive(Clone, Copy, Default)]
pub(super) struct Finish<'a> {
    /// Added to every row; one number per column of all panels, padding included.
    pub bias: Option<&'a [f32]>,
    /// Added element by element, in the shape of the result.
    pub residual: Option<&'a [f32]>,
    /// The exact GELU, last.
    pub gelu: bool,
    /// Share the panels among the threads of the current pool.
    pub spread: bool,
}

/// The left side of a product: `rows` rows of the panels' depth, `stride` numbers apart.
#[derive(Clone, Copy)]
pub(super) struct Left<'a> {
    pub numbers: &'a [f32],
    pub stride: usize,
    pub rows: usize,
}

/// The result of a product: `rows` rows, `stride` numbers apart, the first one at `numbers`.
#[derive(Clone, Copy)]
pub(super) struct Out {
    pub numbers: *mut f32,
    pub stride: usize,
}

/// One product, with everything checked.
struct Job<'a> {
    left: *const f32,
    left_stride: usize,
    rows: usize,
    right: &'a Panels,
    /// Column of the panels that is column 0 of the result.
    column: usize,
    out: Out,
    bias: Option<&'a [f32]>,
    residual: Option<*const f32>,
    gelu: bool,
    lay: bool,
}

// SAFETY: threads that share a job write to different panels' columns and read what nobody writes.
unsafe impl Sync for Job<'_> {}

/// `out = finish(left * right)` over these panels.
///
/// # Safety
/// `out` must point to memory that may be written (it need not be initialised) for all rows and the
/// columns of these panels, counted from the first of them, and that nothing else refers to.
pub(super) unsafe fn multiply(
    left: Left<'_>,
    right: &Panels,
    panels: Range<usize>,
    out: Out,
    finish: Finish<'_>,
) {
    let (depth, width) = (right.depth, right.width);
    if left.rows == 0 || panels.is_empty() {
        return;
    }
    let column = right.places[panels.start].0;
    assert!(panels.end <= right.places.len() && left.stride >= depth);
    assert!(left.numbers.len() >= (left.rows - 1) * left.stride + depth);
    if let Some(bias) = finish.bias {
        assert!(bias.len() >= panels.end * width);
    }
    if let Some(residual) = finish.residual {
        let (at, count) = right.places[panels.end - 1];
        assert!(residual.len() >= (left.rows - 1) * out.stride + at + count - column);
    }
    let job = Job {
        left: left.numbers.as_ptr(),
        left_stride: left.stride,
        rows: left.rows,
        right,
        column,
        out,
        bias: finish.bias,
        residual: finish.residual.map(<[f32]>::as_ptr),
        gelu: finish.gelu,
        lay: panels.len() >= WORTH_LAYING && left.rows > 1,
    };
    let threads = if finish.spread {
        rayon::current_num_threads()
    } else {
        1
    };
    if threads == 1 || panels.len() < 2 * threads {
        job.run(panels);
    } else {
        let share = panels.len().div_ceil(threads);
        let starts: Vec<usize> = panels.clone().step_by(share).collect();
        starts
            .into_par_iter()
            .for_each(|start| job.run(start..(start + share).min(panels.end)));
    }
}

impl Job<'_> {
    fn run(&self, panels: Range<usize>) {
        LAID.with_borrow_mut(|laid| self.run_with(panels, laid));
    }

    fn run_with(&self, panels: Range<usize>, laid: &mut Vec<f32>) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{__m256, __m512};

            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
            unsafe fn v4(job: &Job<'_>, panels: Range<usize>, laid: &mut Vec<f32>) {
                // SAFETY: the job is checked.
                unsafe { blocks::<__m512, 12, 2>(job, panels, laid) }
            }
            #[target_feature(enable = "avx2,fma")]
            unsafe fn v3(job: &Job<'_>, panels: Range<usize>, laid: &mut Vec<f32>) {
                // SAFETY: the job is checked.
                unsafe { blocks::<__m256, 6, 2>(job, panels, laid) }
            }
            match instruction_set() {
                // SAFETY: this processor has every feature that `v4` is compiled for.
                InstructionSet::Avx512 => return unsafe { v4(self, panels, laid) },
                // SAFETY: this processor has every feature that `v3` is compiled for.
                InstructionSet::Avx2 => return unsafe { v3(self, panels, laid) },
                InstructionSet::Portable => {}
            }
        }
        // SAFETY: the job is checked.
        unsafe { blocks::<[f32; 4], 4, 4>(self, panels, laid) }
    }
}

thread_local! {
    /// A block of rows as the inner loop reads them.
    static LAID: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

/// Goes through a product block by block; `R` rows and `V` registers make a tile.
///
/// No closure may touch a register here or below: closures are not compiled for the features of the function
/// they stand in, and each operation would become a call.
#[inline(always)]
unsafe fn blocks<L: Lanes, const R: usize, const V: usize>(
    job: &Job<'_>,
    panels: Range<usize>,
    laid: &mut Vec<f32>,
) {
    let depth = job.right.depth;
    let stretch = depth
        .div_ceil(depth.div_ceil(DEPTH).max(1))
        .next_multiple_of(8);
    for top in (0..job.rows).step_by(ROWS) {
        let rows = top..(top + ROWS).min(job.rows);
        for from in (0..depth).step_by(stretch) {
            let depths = from..(from + stretch).min(depth);
            if job.lay {
                // SAFETY: the job is checked.
                unsafe { lay::<R>(job, rows.clone(), depths.clone(), laid) };
            }
            for panel in panels.clone() {
                let mut row = rows.start;
                while row < rows.end {
                    let tile = Tile {
                        row,
                        panel,
                        depths: depths.clone(),
                        laid: job.lay.then(|| laid[(row - top) * depths.len()..].as_ptr()),
                    };
                    // SAFETY: the job is checked.
                    row += unsafe { tiles::<L, R, V>(job, &tile, rows.end - row) };
                }
            }
        }
    }
}

/// Lays out rows in groups of `R` (the last one smaller): the first numbers of all rows of the group, then
/// the second ones, and so on.
#[inline(always)]
unsafe fn lay<const R: usize>(
    job: &Job<'_>,
    rows: Range<usize>,
    depths: Range<usize>,
    laid: &mut Vec<f32>,
) {
    laid.resize(laid.len().max(rows.len() * depths.len()), 0.0);
    let mut to = laid.as_mut_slice();
    for first in rows.clone().step_by(R) {
        let count = R.min(rows.end - first);
        let (group, rest) = to.split_at_mut(count * depths.len());
        to = rest;
        for r in 0..count {
            // SAFETY: the row is one of the job's, the depths lie inside of it.
            let from = unsafe {
                let start = job.left.add((first + r) * job.left_stride + depths.start);
                std::slice::from_raw_parts(start, depths.len())
            };
            for (to, from) in group[r..].iter_mut().step_by(count).zip(from) {
                *to = *from;
            }
        }
    }
}

/// A tile of the result: so many rows from `row` on of one panel, over a stretch of depths.
struct Tile {
    row: usize,
    panel: usize,
    depths: Range<usize>,
    /// The rows laid out, if they are.
    laid: Option<*const f32>,
}

/// One tile of as many rows as are left, at most `R`; gives their number.
#[inline(always)]
unsafe fn tiles<L: Lanes, const R: usize, const V: usize>(
    job: &Job<'_>,
    at: &Tile,
    left: usize,
) -> usize {
    macro_rules! of_rows {
        ($($n:literal)*) => {
            match left {
                $($n if $n < R => {
                    // SAFETY: the job is checked.
                    unsafe { tile::<L, $n, V>(job, at) };
                    $n
                })*
                _ => {
                    // SAFETY: the job is checked.
                    unsafe { tile::<L, R, V>(job, at) };
                    R
                }
            }
        };
    }
    of_rows!(1 2 3 4 5 6 7 8 9 10 11)
}

/// `R` rows of one panel over one stretch of depths.
#[inline(always)]
unsafe fn tile<L: Lanes, const R: usize, const V: usize>(job: &Job<'_>, at: &Tile) {
    let width = V * L::N;
    let (column, count) = job.right.places[at.panel];
    let depth = at.depths.len();
    // SAFETY: rows, depths and panel lie inside what the job was checked for; a full panel's columns lie
    // inside the result, and those of a partial one go through `edge`, which holds a whole tile.
    unsafe {
        let right = job.right.start(at.panel).add(at.depths.start * width);
        let out = job
            .out
            .numbers
            .add(at.row * job.out.stride + column - job.column);
        let sums = match at.laid {
            Some(left) => sums::<L, R, V>(left, 1, R, right, depth),
            None => {
                let left = job.left.add(at.row * job.left_stride + at.depths.start);
                sums::<L, R, V>(left, job.left_stride, 1, right, depth)
            }
        };
        let first = at.depths.start == 0;
        let base = if first {
            job.residual
                .map(|residual| residual.add(out.offset_from(job.out.numbers) as usize))
        } else {
            Some(out.cast_const())
        };
        let stored = Stored {
            bias: job
                .bias
                .filter(|_| first)
                .map(|bias| bias[at.panel * width..].as_ptr()),
            base,
            out,
            stride: job.out.stride,
            gelu: job.gelu && at.depths.end == job.right.depth,
        };
        if count == width {
            stored.whole(sums);
        } else {
            stored.partial(sums, count);
        }
    }
}

/// The products of `R` rows and a panel, summed over `depth`; `row` and `step` are the distances between
/// rows and between depths of the left side.
#[inline(always)]
unsafe fn sums<L: Lanes, const R: usize, const V: usize>(
    left: *const f32,
    row: usize,
    step: usize,
    right: *const f32,
    depth: usize,
) -> [[L; V]; R] {
    let mut sums = [[L::splat(0.0); V]; R];
    let (mut left, mut right) = (left, right);
    for _ in 0..depth {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut b = [L::splat(0.0); V];
            for (v, b) in b.iter_mut().enumerate() {
                *b = L::load(right.add(v * L::N));
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                let a = L::splat(*left.add(r * row));
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum = a.mul_add(b, *sum);
                }
            }
            left = left.add(step);
            right = right.add(V * L::N);
        }
    }
    sums
}

/// How a tile is stored: added to `base` (the residual, or what an earlier stretch left) and the bias.
struct Stored {
    bias: Option<*const f32>,
    base: Option<*const f32>,
    out: *mut f32,
    stride: usize,
    gelu: bool,
}

impl Stored {
    #[inline(always)]
    unsafe fn whole<L: Lanes, const R: usize, const V: usize>(self, sums: [[L; V]; R]) {
        for (r, row) in sums.into_iter().enumerate() {
            for (v, sum) in row.into_iter().enumerate() {
                // SAFETY: passed on to the caller.
                unsafe {
                    let mut sum = sum;
                    if let Some(bias) = self.bias {
                        sum = sum.add(L::load(bias.add(v * L::N)));
                    }
                    if let Some(base) = self.base {
                        sum = sum.add(L::load(base.add(r * self.stride + v * L::N)));
                    }
                    if self.gelu {
                        sum = gelu(sum);
                    }
                    sum.store(self.out.add(r * self.stride + v * L::N));
                }
            }
        }
    }

    /// The first `count` columns of a tile.
    #[inline(always)]
    unsafe fn partial<L: Lanes, const R: usize, const V: usize>(
        self,
        sums: [[L; V]; R],
        count: usize,
    ) {
        let width = V * L::N;
        let mut edge = [0f32; LARGEST_TILE];
        // SAFETY: `count` columns of each row may be read and written, and `edge` holds the tile.
        unsafe {
            if let Some(base) = self.base {
                for r in 0..R {
                    let to = edge.as_mut_ptr().add(r * width);
                    std::ptr::copy_nonoverlapping(base.add(r * self.stride), to, count);
                }
            }
            Stored {
                base: Some(edge.as_ptr()),
                out: edge.as_mut_ptr(),
                stride: width,
                ..self
            }
            .whole(sums);
            for r in 0..R {
                let from = edge.as_ptr().add(r * width);
                std::ptr::copy_nonoverlapping(from, self.out.add(r * self.stride), count);
            }
        }
    }
}

/// The weights and biases of linear layers with the same input, side by side.
pub(crate) struct Packed {
    panels: Panels,
    bias: Vec<f32>,
    /// Panels of each layer.
    parts: Vec<Range<usize>>,
}

impl Packed {
    /// Lays out layers given as PyTorch stores them: weights (outputs, inputs), biases (outputs).
    pub(crate) fn new(inputs: usize, layers: &[(Vec<f32>, Vec<f32>)]) -> Self {
        Self::in_panels_of(Panels::width(), inputs, layers)
    }

    fn in_panels_of(width: usize, inputs: usize, layers: &[(Vec<f32>, Vec<f32>)]) -> Self {
        let outputs: Vec<usize> = layers.iter().map(|(_, bias)| bias.len()).collect();
        let mut panels = Panels::default();
        panels.reset_to(width, inputs, &outputs);
        let mut parts = Vec::new();
        let mut bias = Vec::with_capacity(panels.places.len() * width);
        let owners: Vec<(usize, usize)> = layers
            .iter()
            .enumerate()
            .flat_map(|(at, (_, bias))| (0..bias.len()).map(move |output| (at, output)))
            .collect();
        panels.fill_columns(owners.len(), |column| {
            let (layer, output) = owners[column];
            &layers[layer].0[output * inputs..(output + 1) * inputs]
        });
        for (_, layer) in layers {
            let start = bias.len() / width;
            bias.extend_from_slice(layer);
            bias.resize(bias.len().next_multiple_of(width), 0.0);
            parts.push(start..bias.len() / width);
        }
        Self {
            panels,
            bias,
            parts,
        }
    }

    /// Number of layers.
    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    /// Outputs of these layers together.
    pub(crate) fn outputs(&self, layers: Range<usize>) -> usize {
        let panels = layers.flat_map(|at| self.parts[at].clone());
        panels.map(|panel| self.panels.places[panel].1).sum()
    }

    /// `x W + b` of these layers, side by side: (r, outputs).
    pub(crate) fn apply(&self, x: &[f32], layers: Range<usize>) -> Vec<f32> {
        self.product(x, layers, None, false)
    }

    /// `gelu(x W + b)` of all layers.
    pub(crate) fn apply_gelu(&self, x: &[f32]) -> Vec<f32> {
        self.product(x, 0..self.parts.len(), None, true)
    }

    /// `x W + b + residual` of all layers.
    pub(crate) fn apply_add(&self, x: &[f32], residual: &[f32]) -> Vec<f32> {
        self.product(x, 0..self.parts.len(), Some(residual), false)
    }

    fn product(
        &self,
        x: &[f32],
        layers: Range<usize>,
        residual: Option<&[f32]>,
        gelu: bool,
    ) -> Vec<f32> {
        let columns = self.outputs(layers.clone());
        let panels = self.parts[layers.start].start..self.parts[layers.end - 1].end;
        let depth = self.panels.depth;
        let rows = x.len() / depth;
        let mut out: Vec<f32> = Vec::with_capacity(rows * columns);
        let left = Left {
            numbers: x,
            stride: depth,
            rows,
        };
        let finish = Finish {
            bias: Some(&self.bias),
            residual,
            gelu,
            spread: true,
        };
        // SAFETY: the vector has room for `rows` rows of `columns` numbers, all of which are written.
        unsafe {
            let to = Out {
                numbers: out.as_mut_ptr(),
                stride: columns,
            };
            multiply(left, &self.panels, panels, to, finish);
            out.set_len(rows * columns);
        }
        out
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::tests::folder::random;

    fn numbers(seed: u64, n: usize) -> Vec<f32> {
        let mut next = random(seed);
        (0..n).map(|_| next()).collect()
    }

    /// `x W + b + residual`, W as PyTorch stores it, in f64.
    fn plainly(x: &[f32], (weight, bias): &(Vec<f32>, Vec<f32>), residual: &[f32]) -> Vec<f64> {
        let (outputs, inputs) = (bias.len(), weight.len() / bias.len());
        let f = |x: &f32| f64::from(*x);
        x.chunks_exact(inputs)
            .zip(residual.chunks_exact(outputs))
            .flat_map(|(x, residual)| {
                weight.chunks_exact(inputs).enumerate().map(move |(o, w)| {
                    let dot: f64 = x.iter().zip(w).map(|(a, b)| f(a) * f(b)).sum();
                    dot + f(&bias[o]) + f(&residual[o])
                })
            })
            .collect()
    }

    fn assert_near(got: &[f32], wanted: &[f64]) {
        assert_eq!(got.len(), wanted.len());
        for (at, (a, b)) in got.iter().zip(wanted).enumerate() {
            assert!((f64::from(*a) - b).abs() < 1e-4, "{at}: {a} {b}");
        }
    }

    #[test]
    fn products_of_every_size_are_right() {
        // Around the sizes of tiles, panels, stretches and blocks.
        for rows in [1, 2, 5, 6, 7, 13, 193, 200] {
            for (inputs, outputs) in [(1, 1), (7, 16), (40, 33), (321, 100), (700, 17)] {
                let layer = (numbers(1, inputs * outputs), numbers(2, outputs));
                let (x, residual) = (numbers(3, rows * inputs), numbers(4, rows * outputs));
                let packed = Packed::new(inputs, std::slice::from_ref(&layer));
                assert_near(
                    &packed.apply_add(&x, &residual),
                    &plainly(&x, &layer, &residual),
                );
                let none = vec![0.0; residual.len()];
                assert_near(&packed.apply(&x, 0..1), &plainly(&x, &layer, &none));
            }
        }
    }

    #[test]
    fn layers_side_by_side_can_be_taken_apart() {
        let (inputs, rows) = (24, 9);
        let layers = [
            (numbers(1, inputs * 20), numbers(2, 20)),
            (numbers(3, inputs * 40), numbers(4, 40)),
        ];
        let packed = Packed::new(inputs, &layers);
        let x = numbers(5, rows * inputs);
        let each: Vec<Vec<f32>> = (0..2).map(|at| packed.apply(&x, at..at + 1)).collect();
        for (got, layer) in each.iter().zip(&layers) {
            assert_near(got, &plainly(&x, layer, &vec![0.0; got.len()]));
        }
        let both = packed.apply(&x, 0..2);
        for (row, (a, b)) in both
            .chunks_exact(60)
            .zip(each[0].chunks_exact(20).zip(each[1].chunks_exact(40)))
        {
            assert_eq!((&row[..20], &row[20..]), (a, b));
        }
    }

    #[test]
    fn many_threads_give_what_one_gives() {
        let (inputs, outputs, rows) = (64, 400, 31);
        let packed = Packed::new(
            inputs,
            &[(numbers(1, inputs * outputs), numbers(2, outputs))],
        );
        let x = numbers(3, rows * inputs);
        let pool = |n| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(n)
                .build()
                .unwrap()
        };
        let alone = pool(1).install(|| packed.apply_gelu(&x));
        let together = pool(3).install(|| packed.apply_gelu(&x));
        assert_eq!(alone, together);
    }

    #[test]
    fn no_rows_give_no_rows() {
        let packed = Packed::new(4, &[(vec![1.0; 8], vec![0.0; 2])]);
        assert!(packed.apply(&[], 0..1).is_empty());
    }

    /// The code of wider registers, as far as this processor has them, against four plain numbers.
    #[test]
    fn the_portable_code_gives_the_same() {
        let (inputs, outputs, rows) = (330, 48, 15);
        let layer = (numbers(1, inputs * outputs), numbers(2, outputs));
        let packed = Packed::in_panels_of(16, inputs, std::slice::from_ref(&layer));
        let x = numbers(3, rows * inputs);
        let mut out = vec![f32::NAN; rows * outputs];
        let job = Job {
            left: x.as_ptr(),
            left_stride: inputs,
            rows,
            right: &packed.panels,
            column: 0,
            out: Out {
                numbers: out.as_mut_ptr(),
                stride: outputs,
            },
            bias: Some(&packed.bias),
            residual: None,
            gelu: true,
            lay: false,
        };
        // SAFETY: the sizes fit, see above.
        unsafe { blocks::<[f32; 4], 4, 4>(&job, 0..3, &mut Vec::new()) };
        let fast = Packed::new(inputs, std::slice::from_ref(&layer)).apply_gelu(&x);
        for (a, b) in out.iter().zip(&fast) {
            assert!((a - b).abs() < 1e-4, "{a} {b}");
        }
    }
}
