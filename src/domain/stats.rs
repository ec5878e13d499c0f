//! Statistics of rates.

/// The two-sided 95 % quantile of the standard normal distribution.
const Z: f64 = 1.959_963_984_540_054;

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
    fn wilson_agrees_with_published_values() {
        // R: prop.test(x, n, correct = FALSE); Newcombe 1998, table I: 81/263, 15/148, 0/20, 1/29.
        for (x, n, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let (a, b) = wilson(x, n);
            assert!((a - low).abs() < 5e-5 && (b - high).abs() < 5e-5, "{a} {b}");
        }
        assert_eq!(wilson(0, 0), (0.0, 1.0));
        assert!((wilson(20, 20).1 - 1.0).abs() < f64::EPSILON);
    }
}
