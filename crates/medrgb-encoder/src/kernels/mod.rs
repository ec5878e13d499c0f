//! Loops over `f32` slices that burn's CPU backend has not or runs slowly: products with weights laid out
//! once, GELU, attention and layer normalisation, compiled for AVX-512, AVX2 and the baseline, chosen at
//! run time.
//!
//! The only folder of the crate with `unsafe`: calls into versions for a processor feature that was just
//! detected, and pointers into checked slices.

mod attention;
mod lanes;
mod product;

pub(crate) use attention::{Heads, attention};
pub(crate) use product::Packed;

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

/// What the kernels are compiled for, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(crate) enum InstructionSet {
    Avx512,
    Avx2,
    /// Whatever the program was compiled for.
    Portable,
}

impl InstructionSet {
    /// Its name for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "AVX-512",
            Self::Avx2 => "AVX2",
            Self::Portable if cfg!(target_arch = "aarch64") => "NEON",
            Self::Portable => "baseline instructions",
        }
    }
}

/// The instruction set the kernels run with here.
pub(crate) fn instruction_set() -> InstructionSet {
    #[cfg(target_arch = "x86_64")]
    {
        if has_v4() {
            return InstructionSet::Avx512;
        }
        if has_v3() {
            return InstructionSet::Avx2;
        }
    }
    InstructionSet::Portable
}

dispatch! {
    /// Layer normalisation of each row of `rows` (r, n), in place.
    norm => norm_body(rows: &mut [f32], norm: Affine<'_>)
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

#[inline(always)]
fn add_body<const F: bool>(row: &mut [f32], other: &[f32]) {
    for (x, y) in row.iter_mut().zip(other) {
        *x += y;
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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

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
        let (mut fast, mut portable) = (rows.clone(), rows);
        norm(&mut fast, affine);
        norm_body::<false>(&mut portable, affine);
        add(&mut fast[..n], &other);
        add_body::<false>(&mut portable[..n], &other);
        for (a, b) in fast.iter().zip(&portable) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
    }
}
