//! Loops over `f32` slices that burn's CPU backend has not or runs slowly: GELU, softmax, layer
//! normalisation and attention, compiled for AVX-512, AVX2 and the baseline, chosen at run time.
//!
//! The only file of the crate with `unsafe`: calls into versions for a processor feature that was
//! just detected, and matrix products on parts of checked slices.

use crate::batch::Span;

/// Rows of queries whose scores are held at once; with 512 keys they fill 256 KB, a share of L2.
const QUERY_BLOCK: usize = 128;

/// Defines `$name`, which runs `$body` compiled for the best instruction set of this processor.
macro_rules! dispatch {
    ($(#[$doc:meta])* $name:ident => $body:ident($($a:ident: $t:ty),*)) => {
        $(#[$doc])*
        pub(crate) fn $name($($a: $t),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
                fn v4($($a: $t),*) { $body::<true>($($a),*) }
                #[target_feature(enable = "avx2,fma")]
                fn v3($($a: $t),*) { $body::<true>($($a),*) }
                if has_v4() {
                    // SAFETY: this processor has every feature that `v4` is compiled for.
                    #[allow(unsafe_code)]
                    return unsafe { v4($($a),*) };
                }
                if has_v3() {
                    // SAFETY: this processor has every feature that `v3` is compiled for.
                    #[allow(unsafe_code)]
                    return unsafe { v3($($a),*) };
                }
            }
            // Without a fused instruction `mul_add` is a slow library call.
            $body::<{ cfg!(target_arch = "aarch64") }>($($a),*);
        }
    };
}

#[cfg(target_arch = "x86_64")]
fn has_v4() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512bw")
        && has_v3()
}

#[cfg(target_arch = "x86_64")]
fn has_v3() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

/// The instruction set the kernels run with here, in words.
pub(crate) fn instruction_set() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if has_v4() {
            return "AVX-512";
        }
        if has_v3() {
            return "AVX2";
        }
    }
    if cfg!(target_arch = "aarch64") {
        "NEON"
    } else {
        "baseline instructions"
    }
}

dispatch! {
    /// Adds `bias` (n) to each row of `rows` (r, n).
    add_bias => add_bias_body(rows: &mut [f32], bias: &[f32])
}
dispatch! {
    /// Adds `bias` (n) to each row of `rows` (r, n), then applies the exact (erf) GELU.
    bias_gelu => bias_gelu_body(rows: &mut [f32], bias: &[f32])
}
dispatch! {
    /// `norm(rows + bias + residual)`, in place; `rows` and `residual` (r, n), the others (n).
    add_norm => add_norm_body(rows: &mut [f32], bias: &[f32], residual: &[f32], norm: Affine<'_>)
}
dispatch! {
    /// Layer normalisation of each row of `rows` (r, n), in place.
    norm => norm_body(rows: &mut [f32], norm: Affine<'_>)
}
dispatch! {
    /// `softmax(scale * row)` of each row of `rows` (r, n), in place.
    softmax => softmax_body(rows: &mut [f32], n: usize, scale: f32)
}
dispatch! {
    /// Adds `other` to `row`, element by element.
    add => add_body(row: &mut [f32], other: &[f32])
}

/// The learned part of layer normalisation.
#[derive(Clone, Copy)]
pub(crate) struct Affine<'a> {
    /// Factor per column (n).
    pub weight: &'a [f32],
    /// Summand per column (n).
    pub bias: &'a [f32],
    /// Added to the variance.
    pub eps: f32,
}

#[inline(always)]
fn fma<const F: bool>(a: f32, b: f32, c: f32) -> f32 {
    if F { a.mul_add(b, c) } else { a * b + c }
}

/// e^x with a relative error below 3e-7, for x clamped to [-87, 88].
///
/// Cephes' `expf`: range reduction by ln 2 in two parts, then a polynomial of degree 5.
#[inline(always)]
fn exp<const F: bool>(x: f32) -> f32 {
    let x = x.clamp(-87.0, 88.0);
    // Adding and taking away 1.5 * 2^23 rounds to the nearest whole number.
    let n = fma::<F>(x, std::f32::consts::LOG2_E, 12_582_912.0) - 12_582_912.0;
    let r = fma::<F>(n, -0.693_359_4, x);
    let r = fma::<F>(n, 2.121_944_4e-4, r);
    let p = fma::<F>(1.987_569_1e-4, r, 1.398_199_9e-3);
    let p = fma::<F>(p, r, 8.333_452e-3);
    let p = fma::<F>(p, r, 4.166_579_6e-2);
    let p = fma::<F>(p, r, 1.666_666_5e-1);
    let p = fma::<F>(p, r, 0.5);
    let y = fma::<F>(p, r * r, r + 1.0);
    f32::from_bits(y.to_bits().wrapping_add(((n as i32) << 23) as u32))
}

/// x Φ(x), with erf after Abramowitz and Stegun 7.1.26 (absolute error at most 1.5e-7).
#[inline(always)]
fn gelu<const F: bool>(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / fma::<F>(0.327_591_1, z, 1.0);
    let p = fma::<F>(1.061_405_4, t, -1.453_152);
    let p = fma::<F>(p, t, 1.421_413_7);
    let p = fma::<F>(p, t, -0.284_496_74);
    let p = fma::<F>(p, t, 0.254_829_6) * t;
    let erf = fma::<F>(-p, exp::<F>(-z * z), 1.0).copysign(x);
    0.5 * x * (1.0 + erf)
}

#[inline(always)]
fn add_body<const F: bool>(row: &mut [f32], other: &[f32]) {
    for (x, y) in row.iter_mut().zip(other) {
        *x += y;
    }
}

#[inline(always)]
fn add_bias_body<const F: bool>(rows: &mut [f32], bias: &[f32]) {
    for row in rows.chunks_exact_mut(bias.len()) {
        add_body::<F>(row, bias);
    }
}

#[inline(always)]
fn bias_gelu_body<const F: bool>(rows: &mut [f32], bias: &[f32]) {
    for row in rows.chunks_exact_mut(bias.len()) {
        for (x, b) in row.iter_mut().zip(bias) {
            *x = gelu::<F>(*x + b);
        }
    }
}

#[inline(always)]
fn add_norm_body<const F: bool>(
    rows: &mut [f32],
    bias: &[f32],
    residual: &[f32],
    norm: Affine<'_>,
) {
    let n = bias.len();
    for (row, residual) in rows.chunks_exact_mut(n).zip(residual.chunks_exact(n)) {
        for ((x, b), r) in row.iter_mut().zip(bias).zip(residual) {
            *x += b + r;
        }
        norm_row::<F>(row, norm);
    }
}

#[inline(always)]
fn norm_body<const F: bool>(rows: &mut [f32], norm: Affine<'_>) {
    for row in rows.chunks_exact_mut(norm.weight.len()) {
        norm_row::<F>(row, norm);
    }
}

#[inline(always)]
fn norm_row<const F: bool>(row: &mut [f32], norm: Affine<'_>) {
    let n = row.len() as f32;
    let mean = sum::<F>(row, |x| x) / n;
    let variance = sum::<F>(row, |x| (x - mean) * (x - mean)) / n;
    let inverse = 1.0 / (variance + norm.eps).sqrt();
    for ((x, w), b) in row.iter_mut().zip(norm.weight).zip(norm.bias) {
        *x = fma::<F>((*x - mean) * inverse, *w, *b);
    }
}

/// Sum of `f` over `row` in 16 lanes: as wide as a register, and more exact than one running sum.
#[inline(always)]
fn sum<const F: bool>(row: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0f32; 16];
    let (chunks, rest) = row.as_chunks::<16>();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane += f(*x);
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|x| f(*x)).sum::<f32>()
}

#[inline(always)]
fn softmax_body<const F: bool>(rows: &mut [f32], n: usize, scale: f32) {
    for row in rows.chunks_exact_mut(n) {
        let top = max(row);
        let (chunks, rest) = row.as_chunks_mut::<16>();
        let mut lanes = [0f32; 16];
        for chunk in chunks {
            for (lane, x) in lanes.iter_mut().zip(chunk) {
                *x = exp::<F>((*x - top) * scale);
                *lane += *x;
            }
        }
        let mut total: f32 = lanes.iter().sum();
        for x in rest {
            *x = exp::<F>((*x - top) * scale);
            total += *x;
        }
        let inverse = 1.0 / total;
        for x in row {
            *x *= inverse;
        }
    }
}

#[inline(always)]
fn max(row: &[f32]) -> f32 {
    let mut lanes = [f32::MIN; 16];
    let (chunks, rest) = row.as_chunks::<16>();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane = lane.max(*x);
        }
    }
    lanes.iter().chain(rest).copied().fold(f32::MIN, f32::max)
}

/// The sizes of an attention layer and where its sequences lie.
#[derive(Clone, Copy)]
pub(crate) struct Heads<'a> {
    /// Number of heads.
    pub count: usize,
    /// Columns per head.
    pub width: usize,
    /// The sequences among the rows of keys and values.
    pub spans: &'a [Span],
    /// There is one query per sequence, its first token, instead of one per row.
    pub first_only: bool,
}

/// Scaled dot-product attention within each sequence.
///
/// `queries` (q, h) and `out` (q, h), `keys_values` (r, 2h) with the keys in the first h columns,
/// where h = count * width, r counts the rows of all sequences and q is r, or the number of
/// sequences for `first_only`. No head is ever transposed or copied: products run on strided views.
pub(crate) fn attention(queries: &[f32], keys_values: &[f32], out: &mut [f32], heads: Heads<'_>) {
    let h = heads.count * heads.width;
    let longest = heads.spans.iter().map(|span| span.len).max().unwrap_or(0);
    let mut scores = vec![0f32; longest.min(QUERY_BLOCK) * longest];
    for (at, span) in heads.spans.iter().enumerate() {
        let rows = if heads.first_only {
            at..at + 1
        } else {
            span.start..span.start + span.len
        };
        let keys = &keys_values[span.start * 2 * h..(span.start + span.len) * 2 * h];
        for start in rows.clone().step_by(QUERY_BLOCK) {
            let block = start * h..(start + QUERY_BLOCK).min(rows.end) * h;
            for head in 0..heads.count {
                let scores = &mut scores[..block.len() / h * span.len];
                attend(
                    &queries[block.clone()],
                    keys,
                    &mut out[block.clone()],
                    scores,
                    head * heads.width,
                    heads,
                );
            }
        }
    }
}

/// One head, whose columns start at `column`: `queries` and `out` (m, h), `keys` (n, 2h), `scores` (m, n).
fn attend(
    queries: &[f32],
    keys: &[f32],
    out: &mut [f32],
    scores: &mut [f32],
    column: usize,
    heads: Heads<'_>,
) {
    let h = heads.count * heads.width;
    let (m, n) = (queries.len() / h, keys.len() / (2 * h));
    let view = |data: &[f32], from: usize, stride: usize| View {
        data: data.as_ptr().wrapping_add(from),
        row: stride,
    };
    assert!(column + heads.width <= h && out.len() == m * h && scores.len() == m * n);
    let (q, k) = (view(queries, column, h), view(keys, column, 2 * h));
    // SAFETY: rows 0..m of q and 0..n of k, at columns column..column + width, lie inside their
    // slices, and `scores` holds m rows of n.
    #[allow(unsafe_code)]
    unsafe {
        product(
            [m, n, heads.width],
            scores.as_mut_ptr(),
            n,
            q,
            (k.row, 1),
            k.data,
        );
    }
    softmax(scores, n, 1.0 / (heads.width as f32).sqrt());
    let (p, v) = (view(scores, 0, n), view(keys, h + column, 2 * h));
    // SAFETY: as above; the values take the columns from h on, and out has the shape of queries.
    #[allow(unsafe_code)]
    unsafe {
        product(
            [m, heads.width, n],
            out.as_mut_ptr().add(column),
            h,
            p,
            (1, v.row),
            v.data,
        );
    }
}

/// The start of a row-major matrix inside a larger one.
struct View {
    data: *const f32,
    /// Distance between rows.
    row: usize,
}

/// `out = left * right` on one thread; `out` (m, n) and `left` (m, k) row-major with the given row
/// distances, `right` (k, n) with the distances (between columns, between rows).
///
/// # Safety
/// Every element of the three matrices must lie inside memory that may be read (`left`, `right`)
/// or written (`out`), and `out` must not overlap the others.
#[allow(unsafe_code)]
unsafe fn product(
    [m, n, k]: [usize; 3],
    out: *mut f32,
    out_row: usize,
    left: View,
    (column, row): (usize, usize),
    right: *const f32,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out,
            1,
            out_row as isize,
            false,
            left.data,
            1,
            left.row as isize,
            right,
            column as isize,
            row as isize,
            0.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    fn portable_and_fused(x: f32) -> [f32; 2] {
        [exp::<false>(x), exp::<true>(x)]
    }

    #[test]
    fn exp_is_exact_to_seven_digits() {
        for i in -8700..8800 {
            let x = i as f32 / 100.0;
            let exact = f64::from(x).exp();
            for got in portable_and_fused(x) {
                let error = (f64::from(got) - exact) / exact;
                assert!(error.abs() < 3e-7, "exp({x}) is off by {error}");
            }
        }
    }

    #[test]
    fn gelu_of_known_values() {
        // x Φ(x) to seven digits.
        for (x, y) in [
            (0.0, 0.0),
            (1.0, 0.841_344_8),
            (-1.0, -0.158_655_26),
            (3.0, 2.995_950_3),
            (-10.0, 0.0),
        ] {
            assert!((gelu::<false>(x) - y).abs() < 1e-6, "{x}");
            assert!((gelu::<true>(x) - y).abs() < 1e-6, "{x}");
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same() {
        let n = 37;
        let rows: Vec<f32> = (0..3 * n)
            .map(|i| ((i * 7919) % 101) as f32 / 25.0 - 2.0)
            .collect();
        let other: Vec<f32> = (0..n).map(|i| i as f32 / 40.0).collect();
        let affine = Affine {
            weight: &other,
            bias: &other,
            eps: 1e-12,
        };
        type Kernel<'a> = Box<dyn Fn(&mut [f32]) + 'a>;
        let pairs: [(Kernel<'_>, Kernel<'_>); 4] = [
            (
                Box::new(|r| bias_gelu(r, &other)),
                Box::new(|r| bias_gelu_body::<false>(r, &other)),
            ),
            (
                Box::new(|r| norm(r, affine)),
                Box::new(|r| norm_body::<false>(r, affine)),
            ),
            (
                Box::new(|r| add_norm(r, &other, &rows, affine)),
                Box::new(|r| add_norm_body::<false>(r, &other, &rows, affine)),
            ),
            (
                Box::new(|r| softmax(r, n, 0.5)),
                Box::new(|r| softmax_body::<false>(r, n, 0.5)),
            ),
        ];
        for (fast, portable) in pairs {
            let (mut a, mut b) = (rows.clone(), rows.clone());
            fast(&mut a);
            portable(&mut b);
            for (a, b) in a.iter().zip(&b) {
                assert!((a - b).abs() < 1e-5, "{a} {b}");
            }
        }
    }
}
