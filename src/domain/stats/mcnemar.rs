//! McNemar's exact test of paired right and wrong answers.

use statrs::distribution::{Binomial, Discrete};

/// The exact two-sided p value of McNemar's test: `min(1, 2·P(X ≤ min(b, c)))` with X binomial, `b + c`
/// trials, probability one half. `b` and `c` count the discordant pairs of either kind; without any, 1.
///
/// Source: Q. McNemar, "Note on the sampling error of the difference between correlated proportions or
/// percentages", Psychometrika 12 (1947) 153–157, with the binomial distribution instead of its normal
/// approximation.
pub fn mcnemar_exact(b: u64, c: u64) -> f64 {
    let (trials, fewer) = (b.saturating_add(c), b.min(c));
    if b == c {
        return 1.0;
    }
    // One half is a probability, so there is always a distribution.
    let Ok(binomial) = Binomial::new(0.5, trials) else {
        return 1.0;
    };
    let largest = binomial.ln_pmf(fewer).exp();
    (2.0 * largest * tail_by_first(trials, fewer)).min(1.0)
}

/// The sum of the probabilities of 0 to `k` in units of that of `k`: each term follows from the one above
/// it, and all are positive, so that nothing cancels.
fn tail_by_first(trials: u64, k: u64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for j in (1..=k).rev() {
        term *= j as f64 / (trials - j + 1) as f64;
        sum += term;
        if term < sum * f64::EPSILON * 1e-3 {
            break;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcnemar_agrees_with_statsmodels() {
        // statsmodels 0.15.0: mcnemar([[50, b], [c, 40]], exact=True).pvalue
        for (b, c, p) in [
            (1, 0, 1.0),
            (5, 2, 0.453_125),
            (10, 10, 1.0),
            (8, 1, 0.039_062_5),
            (30, 12, 0.007_915_897_334_896_727),
            (121, 59, 4.434_449_263_755_164_5e-6),
            (400, 300, 0.000_178_476_314_485_624_4),
            (1000, 1000, 1.0),
            (0, 60, 1.734_723_475_976_807e-18),
            (700, 450, 1.690_345_985_270_825_3e-13),
        ] {
            for found in [mcnemar_exact(b, c), mcnemar_exact(c, b)] {
                assert!((found / p - 1.0).abs() < 1e-9, "{b} {c}: {found}");
            }
        }
        assert_eq!(mcnemar_exact(0, 0), 1.0);
    }

    #[test]
    fn large_counts_stay_probabilities() {
        // scipy 1.17.1: binomtest(24800, 50000, 0.5).pvalue
        let p = mcnemar_exact(24_800, 25_200);
        assert!((p / 0.074_360_519_249_490_75 - 1.0).abs() < 1e-8, "{p}");
        let p = mcnemar_exact(1, 2_000_000_000);
        assert!((0.0..1e-300).contains(&p), "{p}");
    }
}
