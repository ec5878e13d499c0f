//! The interval of a rate over independent questions.

use super::Z_975 as Z;

/// The Wilson score interval of a proportion at 95 %: `(low, high)`, each from 0 to 1.
///
/// Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
/// Journal of the American Statistical Association 22 (1927) 209–212, without continuity correction.
/// With `n = 0` nothing is known: `(0, 1)`. More successes than trials count as all.
pub fn wilson(successes: usize, n: usize) -> (f64, f64) {
    if n == 0 {
        return (0.0, 1.0);
    }
    let size = n as f64;
    let p = successes.min(n) as f64 / size;
    let z2 = Z * Z;
    let scale = 1.0 + z2 / size;
    let centre = (p + z2 / (2.0 * size)) / scale;
    let half = Z / scale * (p * (1.0 - p) / size + z2 / (4.0 * size * size)).sqrt();
    // At the ends the exact bound is 0 or 1; rounding must not move it.
    let low = if successes == 0 {
        0.0
    } else {
        (centre - half).max(0.0)
    };
    let high = if successes >= n {
        1.0
    } else {
        (centre + half).min(1.0)
    };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_agrees_with_statsmodels() {
        // statsmodels 0.15.0: proportion_confint(x, n, alpha=0.05, method="wilson"); the first four are
        // also in Newcombe 1998, table I.
        for (x, n, low, high) in [
            (0, 20, 0.0, 0.161_125_158_052_819_4),
            (1, 29, 0.006_113_214_292_762_667, 0.171_755_218_793_203_24),
            (15, 148, 0.062_386_399_530_736_28, 0.160_487_241_723_308_03),
            (81, 263, 0.255_288_519_878_274_2, 0.366_209_576_982_800_04),
            (20, 20, 0.838_874_841_947_180_4, 1.0),
            (794, 1089, 0.701_942_701_160_000_2, 0.754_665_158_994_280_9),
            (
                3480,
                135_720,
                0.024_813_438_948_785_006,
                0.026_495_464_365_254_77,
            ),
        ] {
            let (a, b) = wilson(x, n);
            assert!(
                (a - low).abs() < 1e-12 && (b - high).abs() < 1e-12,
                "{a} {b}"
            );
        }
        assert_eq!(wilson(0, 0), (0.0, 1.0));
        assert_eq!(wilson(25, 20), wilson(20, 20));
    }
}
