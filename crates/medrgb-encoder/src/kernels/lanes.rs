//! One register of `f32` lanes, and the functions of it that attention and GELU need.
//!
//! Written once for every instruction set: the trait is implemented for AVX-512, AVX2 and four plain
//! numbers, which compilers turn into NEON or SSE.

// Every block below is one instruction (or a few) of the register's own instruction set.
#![allow(unsafe_code)]

/// A register of `f32` lanes.
///
/// The implementations for a processor feature may only be used where it was detected: callers are
/// compiled for that feature and chosen at run time, see the module above.
pub(super) trait Lanes: Copy {
    /// Number of lanes.
    const N: usize;

    /// `x` in every lane.
    fn splat(x: f32) -> Self;

    /// # Safety
    /// `from` must point to `N` numbers that may be read; they need no alignment.
    unsafe fn load(from: *const f32) -> Self;

    /// # Safety
    /// `to` must point to `N` numbers that may be written; they need no alignment.
    unsafe fn store(self, to: *mut f32);

    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;

    /// `self * by + plus`, in one rounding where the processor can.
    fn mul_add(self, by: Self, plus: Self) -> Self;

    /// 2 to the power of `self`, which must hold whole numbers from -126 to 127.
    fn pow2(self) -> Self;
}

/// Polynomial in `x` by Horner's rule, coefficients from the highest power down.
#[inline(always)]
fn horner<L: Lanes, const K: usize>(x: L, coefficients: [f32; K]) -> L {
    let mut y = L::splat(coefficients[0]);
    for c in &coefficients[1..] {
        y = y.mul_add(x, L::splat(*c));
    }
    y
}

/// 2^x for x from -126 to 127, smaller ones as -126; relative error below 3e-7.
///
/// The whole part of x goes into the exponent, the rest through a minimax polynomial of degree 5.
#[inline(always)]
pub(super) fn exp2<L: Lanes>(x: L) -> L {
    // Adding and taking away 1.5 * 2^23 rounds to the nearest whole number.
    let magic = L::splat(12_582_912.0);
    let x = x.max(L::splat(-126.0));
    let whole = x.add(magic).sub(magic);
    let p = horner(
        x.sub(whole),
        [
            1.330_882_7e-3,
            9.671_515e-3,
            5.550_582_4e-2,
            2.402_224_2e-1,
            std::f32::consts::LN_2,
            1.0,
        ],
    );
    p.mul(whole.pow2())
}

/// x Φ(x) = x/2 + x/2 erf(x/√2), the exact GELU; erf with an absolute error below 5e-7.
///
/// erf(x/√2) is x P(x²)/Q(x²), with P and Q fitted to the least largest error up to 4√2, where erf
/// differs from 1 by less than half a unit of the last place.
#[inline(always)]
pub(super) fn gelu<L: Lanes>(x: L) -> L {
    const END: f32 = 5.656_854;
    let z = x.max(L::splat(-END)).min(L::splat(END));
    let t = z.mul(z);
    let p = horner(
        t,
        [
            4.598_909_7e-8,
            1.245_377_55e-5,
            3.187_535_6e-4,
            9.234_649e-3,
            6.597_302e-2,
            7.978_846e-1,
        ],
    );
    let q = horner(
        t,
        [
            1.195_763e-6,
            7.033_189e-5,
            1.830_320_8e-3,
            2.813_284e-2,
            2.493_514_7e-1,
            1.0,
        ],
    );
    let half = x.mul(L::splat(0.5));
    let erf = z.mul(p).div(q).max(L::splat(-1.0)).min(L::splat(1.0));
    half.mul_add(erf, half)
}

/// Four numbers: a register of NEON, SSE and their like.
impl Lanes for [f32; 4] {
    const N: usize = 4;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        [x; 4]
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: passed on to the caller.
        unsafe { from.cast::<Self>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: passed on to the caller.
        unsafe { to.cast::<Self>().write_unaligned(self) }
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i] + other[i])
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i] - other[i])
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i] * other[i])
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i] / other[i])
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        std::array::from_fn(|i| {
            if self[i] < other[i] {
                self[i]
            } else {
                other[i]
            }
        })
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        std::array::from_fn(|i| {
            if self[i] > other[i] {
                self[i]
            } else {
                other[i]
            }
        })
    }
    #[inline(always)]
    fn mul_add(self, by: Self, plus: Self) -> Self {
        // Where there is no fused instruction `mul_add` is a slow library call.
        if cfg!(target_arch = "aarch64") {
            std::array::from_fn(|i| f32::mul_add(self[i], by[i], plus[i]))
        } else {
            std::array::from_fn(|i| self[i] * by[i] + plus[i])
        }
    }
    #[inline(always)]
    fn pow2(self) -> Self {
        std::array::from_fn(|i| f32::from_bits((((self[i] as i32) + 127) << 23) as u32))
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Lanes;

    /// AVX2 and FMA.
    impl Lanes for __m256 {
        const N: usize = 8;

        #[inline(always)]
        fn splat(x: f32) -> Self {
            unsafe { _mm256_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: passed on to the caller.
            unsafe { _mm256_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: passed on to the caller.
            unsafe { _mm256_storeu_ps(to, self) }
        }
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            unsafe { _mm256_add_ps(self, other) }
        }
        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            unsafe { _mm256_sub_ps(self, other) }
        }
        #[inline(always)]
        fn mul(self, other: Self) -> Self {
            unsafe { _mm256_mul_ps(self, other) }
        }
        #[inline(always)]
        fn div(self, other: Self) -> Self {
            unsafe { _mm256_div_ps(self, other) }
        }
        #[inline(always)]
        fn min(self, other: Self) -> Self {
            unsafe { _mm256_min_ps(self, other) }
        }
        #[inline(always)]
        fn max(self, other: Self) -> Self {
            unsafe { _mm256_max_ps(self, other) }
        }
        #[inline(always)]
        fn mul_add(self, by: Self, plus: Self) -> Self {
            unsafe { _mm256_fmadd_ps(self, by, plus) }
        }
        #[inline(always)]
        fn pow2(self) -> Self {
            unsafe {
                let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(self), _mm256_set1_epi32(127));
                _mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent))
            }
        }
    }

    /// AVX-512 F.
    impl Lanes for __m512 {
        const N: usize = 16;

        #[inline(always)]
        fn splat(x: f32) -> Self {
            unsafe { _mm512_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: passed on to the caller.
            unsafe { _mm512_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: passed on to the caller.
            unsafe { _mm512_storeu_ps(to, self) }
        }
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            unsafe { _mm512_add_ps(self, other) }
        }
        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            unsafe { _mm512_sub_ps(self, other) }
        }
        #[inline(always)]
        fn mul(self, other: Self) -> Self {
            unsafe { _mm512_mul_ps(self, other) }
        }
        #[inline(always)]
        fn div(self, other: Self) -> Self {
            unsafe { _mm512_div_ps(self, other) }
        }
        #[inline(always)]
        fn min(self, other: Self) -> Self {
            unsafe { _mm512_min_ps(self, other) }
        }
        #[inline(always)]
        fn max(self, other: Self) -> Self {
            unsafe { _mm512_max_ps(self, other) }
        }
        #[inline(always)]
        fn mul_add(self, by: Self, plus: Self) -> Self {
            unsafe { _mm512_fmadd_ps(self, by, plus) }
        }
        #[inline(always)]
        fn pow2(self) -> Self {
            unsafe {
                let exponent = _mm512_add_epi32(_mm512_cvtps_epi32(self), _mm512_set1_epi32(127));
                _mm512_castsi512_ps(_mm512_slli_epi32::<23>(exponent))
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    fn each(f: impl Fn([f32; 4]) -> [f32; 4], x: f32) -> f32 {
        f([x; 4])[2]
    }

    #[test]
    fn powers_of_two_are_exact_to_six_digits() {
        for i in -1259..1270 {
            let x = i as f32 / 10.0;
            let exact = f64::from(x).exp2();
            let error = (f64::from(each(exp2, x)) - exact) / exact;
            assert!(error.abs() < 3e-7, "2^{x} is off by {error}");
        }
        assert!(each(exp2, f32::MIN) < 2e-38);
    }

    #[test]
    fn gelu_of_known_values() {
        // x Φ(x) to seven digits.
        for (x, y) in [
            (0.0, 0.0),
            (1.0, 0.841_344_8),
            (-1.0, -0.158_655_26),
            (3.0, 2.995_950_3),
            (-3.0, -0.004_049_694),
            (6.0, 6.0),
            (-10.0, 0.0),
            (1000.0, 1000.0),
            (-1000.0, 0.0),
        ] {
            assert!((each(gelu, x) - y).abs() < 1e-6, "{x}: {}", each(gelu, x));
        }
    }
}
