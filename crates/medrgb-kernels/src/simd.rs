//! The loops and their versions for each instruction set.
//!
//! The only file of the crate with `unsafe`: it calls versions compiled for processor features that were just
//! detected, and reads through pointers that stay inside slices whose lengths are checked here.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
#[cfg(target_arch = "x86_64")]
use std::sync::OnceLock;

use half::f16;

use crate::{PAD, TILE_QUERIES, TILE_ROWS, Tile};

/// Running sums of a quick product: enough to hide the latency of a fused multiply-add.
const SUMS: usize = 4;

/// A register's worth of numbers.
///
/// # Safety
/// Every function may be called only where the processor has the implementation's features; `load*` reads `N`
/// numbers and `store` writes them.
trait Lanes {
    const N: usize;
    type V: Copy;
    unsafe fn zero() -> Self::V;
    unsafe fn load(from: *const f32) -> Self::V;
    unsafe fn load_half(from: *const u16) -> Self::V;
    unsafe fn store(v: Self::V, to: *mut f32);
    /// Asks for the cache line of an address, which may be any.
    #[inline(always)]
    unsafe fn fetch(_: *const f32) {}
    /// `a * b + c`.
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    /// Sum of the lanes: the upper half is added to the lower one until one is left.
    unsafe fn sum(v: Self::V) -> f32;
    /// [`Lanes::sum`] of four at once, each with the same bits.
    #[inline(always)]
    unsafe fn sums([a, b, c, d]: [Self::V; 4]) -> [f32; 4] {
        // SAFETY: passed on to the caller.
        unsafe { [Self::sum(a), Self::sum(b), Self::sum(c), Self::sum(d)] }
    }
}

/// What compiles for every processor.
struct Plain;

impl Lanes for Plain {
    const N: usize = 8;
    type V = [f32; 8];
    #[inline(always)]
    unsafe fn zero() -> [f32; 8] {
        [0.0; 8]
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> [f32; 8] {
        // SAFETY: the caller vouches for N numbers.
        unsafe { from.cast::<[f32; 8]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn load_half(from: *const u16) -> [f32; 8] {
        // SAFETY: as above.
        let bits = unsafe { from.cast::<[u16; 8]>().read_unaligned() };
        bits.map(|bits| f16::from_bits(bits).to_f32_const())
    }
    #[inline(always)]
    unsafe fn store(v: [f32; 8], to: *mut f32) {
        // SAFETY: as above.
        unsafe { to.cast::<[f32; 8]>().write_unaligned(v) }
    }
    #[inline(always)]
    unsafe fn fma(a: [f32; 8], b: [f32; 8], c: [f32; 8]) -> [f32; 8] {
        std::array::from_fn(|lane| {
            // Without a fused instruction `mul_add` is a slow library call.
            if cfg!(target_arch = "aarch64") {
                a[lane].mul_add(b[lane], c[lane])
            } else {
                a[lane] * b[lane] + c[lane]
            }
        })
    }
    #[inline(always)]
    unsafe fn add(a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
        std::array::from_fn(|lane| a[lane] + b[lane])
    }
    #[inline(always)]
    unsafe fn sum(mut v: [f32; 8]) -> f32 {
        for half in [4, 2, 1] {
            for lane in 0..half {
                v[lane] += v[lane + half];
            }
        }
        v[0]
    }
}

/// AVX2 with FMA and F16C.
#[cfg(target_arch = "x86_64")]
struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Lanes for Avx2 {
    const N: usize = 8;
    type V = __m256;
    #[inline(always)]
    unsafe fn zero() -> __m256 {
        unsafe { _mm256_setzero_ps() }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m256 {
        unsafe { _mm256_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn load_half(from: *const u16) -> __m256 {
        unsafe { _mm256_cvtph_ps(_mm_loadu_si128(from.cast())) }
    }
    #[inline(always)]
    unsafe fn store(v: __m256, to: *mut f32) {
        unsafe { _mm256_storeu_ps(to, v) }
    }
    #[inline(always)]
    unsafe fn fetch(at: *const f32) {
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
    #[inline(always)]
    unsafe fn fma(a: __m256, b: __m256, c: __m256) -> __m256 {
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    unsafe fn add(a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_add_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn sum(v: __m256) -> f32 {
        unsafe {
            let four = folded(v);
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
    }
    /// Transposes while it adds: lanes 0 and 2, 1 and 3, then both.
    #[inline(always)]
    unsafe fn sums([a, b, c, d]: [__m256; 4]) -> [f32; 4] {
        unsafe {
            let (a, b, c, d) = (folded(a), folded(b), folded(c), folded(d));
            let ab = _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
            let cd = _mm_add_ps(_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
            let all = _mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab));
            let mut out = [0.0; 4];
            _mm_storeu_ps(out.as_mut_ptr(), all);
            out
        }
    }
}

/// The upper half added to the lower one.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn folded(v: __m256) -> __m128 {
    unsafe { _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v)) }
}

/// AVX-512 F, DQ, BW and VL.
#[cfg(target_arch = "x86_64")]
struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Lanes for Avx512 {
    const N: usize = 16;
    type V = __m512;
    #[inline(always)]
    unsafe fn zero() -> __m512 {
        unsafe { _mm512_setzero_ps() }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m512 {
        unsafe { _mm512_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn load_half(from: *const u16) -> __m512 {
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(from.cast())) }
    }
    #[inline(always)]
    unsafe fn store(v: __m512, to: *mut f32) {
        unsafe { _mm512_storeu_ps(to, v) }
    }
    #[inline(always)]
    unsafe fn fetch(at: *const f32) {
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
    #[inline(always)]
    unsafe fn fma(a: __m512, b: __m512, c: __m512) -> __m512 {
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    unsafe fn add(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_add_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn sum(v: __m512) -> f32 {
        unsafe { Avx2::sum(halved(v)) }
    }
    #[inline(always)]
    unsafe fn sums([a, b, c, d]: [__m512; 4]) -> [f32; 4] {
        unsafe { Avx2::sums([halved(a), halved(b), halved(c), halved(d)]) }
    }
}

/// The upper half added to the lower one.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn halved(v: __m512) -> __m256 {
    unsafe { _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps::<1>(v)) }
}

#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Plain,
    Avx2,
    Avx512,
}

#[cfg(target_arch = "x86_64")]
fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let v3 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c");
        let v4 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl");
        match (v3, v4) {
            (true, true) => Level::Avx512,
            (true, false) => Level::Avx2,
            _ => Level::Plain,
        }
    })
}

pub(crate) fn instruction_set() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    match level() {
        Level::Avx512 => return "AVX-512",
        Level::Avx2 => return "AVX2",
        Level::Plain => {}
    }
    if cfg!(target_arch = "aarch64") {
        "NEON"
    } else {
        "baseline instructions"
    }
}

/// Defines `$name`, which runs `$body` compiled for the best instruction set of this processor.
macro_rules! dispatch {
    ($name:ident => $body:ident($($a:ident: $t:ty),*) $(-> $r:ty)?) => {
        pub(crate) fn $name($($a: $t),*) $(-> $r)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c")]
                fn v4($($a: $t),*) $(-> $r)? {
                    // SAFETY: this function is compiled for, and called with, the features of `Avx512`.
                    unsafe { $body::<Avx512>($($a),*) }
                }
                #[target_feature(enable = "avx2,fma,f16c")]
                fn v3($($a: $t),*) $(-> $r)? {
                    // SAFETY: likewise for `Avx2`.
                    unsafe { $body::<Avx2>($($a),*) }
                }
                match level() {
                    // SAFETY: this processor has every feature that `v4` is compiled for.
                    Level::Avx512 => return unsafe { v4($($a),*) },
                    // SAFETY: likewise for `v3`.
                    Level::Avx2 => return unsafe { v3($($a),*) },
                    Level::Plain => {}
                }
            }
            // SAFETY: `Plain` needs no feature.
            unsafe { $body::<Plain>($($a),*) }
        }
    };
}

dispatch! { dot => dot_body(a: &[f32], b: &[f32], a_rest: &[f32], b_rest: &[f32]) -> f32 }
dispatch! { column => column_body(rows: &[f32], query: &[f32]) -> [f32; TILE_ROWS] }
dispatch! { tile => tile_body(rows: &[f32], queries: &[f32]) -> Tile }
dispatch! { quick => quick_body(a: &[f32], b: &[f32]) -> f32 }
dispatch! { quick_half => quick_half_body(a: &[u16], b: &[u16]) -> f32 }
dispatch! { quick_mixed => quick_mixed_body(a: &[u16], b: &[f32]) -> f32 }
dispatch! { quantise => quantise_body(from: &[f32], factor: f32, to: &mut [i8]) }
dispatch! { widen => widen_body(from: &[u16], to: &mut [f32]) }

/// Adds the products of `R` rows with `Q` columns, `len` numbers each and `len` apart, to `sums`: lane by lane,
/// front to back. This is the order of all ordered products. Of whole tiles the columns behind these are fetched
/// into the nearest cache on the way: they come next.
#[inline(always)]
unsafe fn accumulate<S: Lanes, const R: usize, const Q: usize>(
    rows: *const f32,
    columns: *const f32,
    len: usize,
    mut sums: [[S::V; Q]; R],
) -> [[S::V; Q]; R] {
    // SAFETY: the caller vouches for R and Q vectors of `len` numbers, which is a multiple of PAD and so of N.
    // What is fetched ahead may lie anywhere.
    unsafe {
        let ahead = columns.wrapping_add(Q * len);
        let mut line = 0;
        while line < len {
            if Q == TILE_QUERIES {
                for q in 0..Q {
                    S::fetch(ahead.wrapping_add(q * len + line));
                }
            }
            let mut at = line;
            while at < line + PAD {
                let mut right = [S::zero(); Q];
                for (q, value) in right.iter_mut().enumerate() {
                    *value = S::load(columns.add(q * len + at));
                }
                for (r, row) in sums.iter_mut().enumerate() {
                    let left = S::load(rows.add(r * len + at));
                    for (sum, value) in row.iter_mut().zip(right) {
                        *sum = S::fma(left, value, *sum);
                    }
                }
                at += S::N;
            }
            line += PAD;
        }
    }
    sums
}

#[inline(always)]
unsafe fn dot_body<S: Lanes>(a: &[f32], b: &[f32], a_rest: &[f32], b_rest: &[f32]) -> f32 {
    assert!(a.len() == b.len() && a.len().is_multiple_of(PAD));
    assert!(a_rest.len() == b_rest.len() && a_rest.len().is_multiple_of(PAD));
    // SAFETY: one vector of checked length each.
    unsafe {
        let sums = accumulate::<S, 1, 1>(a.as_ptr(), b.as_ptr(), a.len(), [[S::zero()]]);
        let sums = accumulate::<S, 1, 1>(a_rest.as_ptr(), b_rest.as_ptr(), a_rest.len(), sums);
        S::sum(sums[0][0])
    }
}

#[inline(always)]
unsafe fn column_body<S: Lanes>(rows: &[f32], query: &[f32]) -> [f32; TILE_ROWS] {
    let len = query.len();
    assert!(rows.len() == TILE_ROWS * len && len.is_multiple_of(PAD));
    // SAFETY: TILE_ROWS rows and one query of checked length.
    unsafe {
        let zero = [[S::zero(); 1]; TILE_ROWS];
        let [[a], [b], [c], [d]] =
            accumulate::<S, TILE_ROWS, 1>(rows.as_ptr(), query.as_ptr(), len, zero);
        S::sums([a, b, c, d])
    }
}

#[inline(always)]
unsafe fn tile_body<S: Lanes>(rows: &[f32], queries: &[f32]) -> Tile {
    let len = rows.len() / TILE_ROWS;
    assert!(rows.len() == TILE_ROWS * len && queries.len() == TILE_QUERIES * len);
    assert!(len.is_multiple_of(PAD));
    // SAFETY: TILE_ROWS rows and TILE_QUERIES queries of checked length.
    unsafe {
        let zero = [[S::zero(); TILE_QUERIES]; TILE_ROWS];
        let [a, b, c, d] =
            accumulate::<S, TILE_ROWS, TILE_QUERIES>(rows.as_ptr(), queries.as_ptr(), len, zero);
        [
            S::sums([a[0], b[0], c[0], d[0]]),
            S::sums([a[1], b[1], c[1], d[1]]),
            S::sums([a[2], b[2], c[2], d[2]]),
        ]
    }
}

/// A number that can be loaded as `f32`.
trait Number: Copy {
    unsafe fn load<S: Lanes>(from: *const Self) -> S::V;
    fn wide(self) -> f32;
}

impl Number for f32 {
    #[inline(always)]
    unsafe fn load<S: Lanes>(from: *const f32) -> S::V {
        // SAFETY: passed on to the caller.
        unsafe { S::load(from) }
    }
    #[inline(always)]
    fn wide(self) -> f32 {
        self
    }
}

impl Number for u16 {
    #[inline(always)]
    unsafe fn load<S: Lanes>(from: *const u16) -> S::V {
        // SAFETY: passed on to the caller.
        unsafe { S::load_half(from) }
    }
    #[inline(always)]
    fn wide(self) -> f32 {
        f16::from_bits(self).to_f32_const()
    }
}

#[inline(always)]
unsafe fn pair<S: Lanes, A: Number, B: Number>(a: &[A], b: &[B]) -> f32 {
    let len = a.len().min(b.len());
    // SAFETY: every load ends at or before `len`.
    let (sum, at) = unsafe {
        let mut sums = [S::zero(); SUMS];
        let mut at = 0;
        while at + SUMS * S::N <= len {
            for (lane, sum) in sums.iter_mut().enumerate() {
                let from = at + lane * S::N;
                let (x, y) = (a.as_ptr().add(from), b.as_ptr().add(from));
                *sum = S::fma(A::load::<S>(x), B::load::<S>(y), *sum);
            }
            at += SUMS * S::N;
        }
        while at + S::N <= len {
            let (x, y) = (a.as_ptr().add(at), b.as_ptr().add(at));
            sums[0] = S::fma(A::load::<S>(x), B::load::<S>(y), sums[0]);
            at += S::N;
        }
        let [a, b, c, d] = sums;
        (S::sum(S::add(S::add(a, b), S::add(c, d))), at)
    };
    let tail = a[at..len].iter().zip(&b[at..len]);
    sum + tail.map(|(x, y)| x.wide() * y.wide()).sum::<f32>()
}

#[inline(always)]
unsafe fn quick_body<S: Lanes>(a: &[f32], b: &[f32]) -> f32 {
    // SAFETY: passed on to the caller, as below.
    unsafe { pair::<S, f32, f32>(a, b) }
}

#[inline(always)]
unsafe fn quick_half_body<S: Lanes>(a: &[u16], b: &[u16]) -> f32 {
    unsafe { pair::<S, u16, u16>(a, b) }
}

#[inline(always)]
unsafe fn quick_mixed_body<S: Lanes>(a: &[u16], b: &[f32]) -> f32 {
    unsafe { pair::<S, u16, f32>(a, b) }
}

#[inline(always)]
unsafe fn widen_body<S: Lanes>(from: &[u16], to: &mut [f32]) {
    let len = from.len().min(to.len());
    let mut at = 0;
    while at + S::N <= len {
        // SAFETY: both ends lie at or before `len`.
        unsafe { S::store(S::load_half(from.as_ptr().add(at)), to.as_mut_ptr().add(at)) };
        at += S::N;
    }
    for (to, from) in to[at..len].iter_mut().zip(&from[at..len]) {
        *to = from.wide();
    }
}

#[inline(always)]
unsafe fn quantise_body<S: Lanes>(from: &[f32], factor: f32, to: &mut [i8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = (from * factor).round_ties_even().clamp(-127.0, 127.0) as i8;
    }
}

pub(crate) fn quick_i8(a: &[i8], b: &[i8]) -> i32 {
    let len = a.len().min(b.len());
    let (a, b) = (&a[..len], &b[..len]);
    #[cfg(target_arch = "x86_64")]
    if level() != Level::Plain {
        // SAFETY: this processor has AVX2.
        return unsafe { i8_avx2(a, b) };
    }
    i8_plain(a, b)
}

fn i8_plain(a: &[i8], b: &[i8]) -> i32 {
    a.iter()
        .zip(b)
        .map(|(&x, &y)| i32::from(x) * i32::from(y))
        .sum()
}

/// Numbers widened to 16 bits, products added in pairs to 32: no step can overflow.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn i8_avx2(a: &[i8], b: &[i8]) -> i32 {
    const STEP: usize = 16;
    let (a_steps, a_tail) = a.as_chunks::<STEP>();
    let (b_steps, b_tail) = b.as_chunks::<STEP>();
    let mut sums = [_mm256_setzero_si256(); 2];
    for (at, (x, y)) in a_steps.iter().zip(b_steps).enumerate() {
        // SAFETY: STEP bytes are read from arrays of that length.
        let (x, y) = unsafe {
            (
                _mm_loadu_si128(x.as_ptr().cast()),
                _mm_loadu_si128(y.as_ptr().cast()),
            )
        };
        let products = _mm256_madd_epi16(_mm256_cvtepi8_epi16(x), _mm256_cvtepi8_epi16(y));
        sums[at % 2] = _mm256_add_epi32(sums[at % 2], products);
    }
    let sum = _mm256_add_epi32(sums[0], sums[1]);
    let four = _mm_add_epi32(
        _mm256_castsi256_si128(sum),
        _mm256_extracti128_si256::<1>(sum),
    );
    let two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
    let one = _mm_add_epi32(two, _mm_shuffle_epi32::<1>(two));
    _mm_cvtsi128_si32(one) + i8_plain(a_tail, b_tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plain version is what other processors run; here it must agree with the one that was chosen.
    #[test]
    fn every_instruction_set_gives_about_the_same() {
        let a: Vec<f32> = (0..400)
            .map(|i| ((i * 7919) % 101) as f32 / 50.0 - 1.0)
            .collect();
        let b: Vec<f32> = (0..400)
            .map(|i| ((i * 104_729) % 97) as f32 / 48.0 - 1.0)
            .collect();
        // SAFETY: `Plain` needs no feature.
        let plain = unsafe { quick_body::<Plain>(&a, &b) };
        assert!((plain - quick(&a, &b)).abs() < 1e-3, "{plain}");
        // SAFETY: as above.
        let plain = unsafe { dot_body::<Plain>(&a, &b, &a[..PAD], &b[..PAD]) };
        assert!(
            (plain - dot(&a, &b, &a[..PAD], &b[..PAD])).abs() < 1e-3,
            "{plain}"
        );
        let half: Vec<u16> = (0..400).map(|i| i * 61).collect();
        let (mut fast, mut slow) = (vec![0.0; 400], vec![0.0; 400]);
        widen(&half, &mut fast);
        // SAFETY: as above.
        unsafe { widen_body::<Plain>(&half, &mut slow) };
        assert_eq!(fast, slow);
        let (x, y): (Vec<i8>, Vec<i8>) = (0..100).map(|i| (i, 50 - i)).unzip();
        assert_eq!(quick_i8(&x, &y), i8_plain(&x, &y));
    }
}
