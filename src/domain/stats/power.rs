//! What a paired comparison could have detected.

use super::{Z_800, Z_975};

/// The smallest difference between two rates that a paired comparison of `n` questions detects at
/// α = 0.05 two-sided with power 0.8, when the share `discordant` of them has only one side right.
///
/// Solves `n·δ² = (z(0.975)·√ψ + z(0.8)·√(ψ − δ²))²` for δ, with ψ the discordant share. Source:
/// R. J. Connor, "Sample size for testing differences in proportions for the paired-sample design",
/// Biometrics 43 (1987) 207–211. A difference can't be larger than the discordant share, so there is
/// none (`None`) where so few questions, or so few that differ, could never show one.
pub fn detectable_difference(n: usize, discordant: f64) -> Option<f64> {
    let n = n as f64;
    let inner = n + Z_800 * Z_800 - Z_975 * Z_975;
    if !(0.0..=1.0).contains(&discordant) || inner < 0.0 {
        return None;
    }
    // The larger root of the quadratic equation in δ that squaring leaves.
    let root = n.sqrt() * Z_975 + Z_800 * inner.sqrt();
    let difference = discordant.sqrt() * root / (n + Z_800 * Z_800);
    (difference > 0.0 && difference <= discordant).then_some(difference)
}

/// The smallest difference detected at α = 0.05 two-sided with power 0.8 by an estimate with this
/// standard error: `(z(0.975) + z(0.8)) · error`. `None` for an error of zero: nothing varied.
///
/// Source: H. S. Bloom, "Minimum detectable effects: a simple way to report the statistical power of
/// experimental designs", Evaluation Review 19 (1995) 547–556.
pub fn detectable_from_error(error: f64) -> Option<f64> {
    (error > 0.0).then_some((Z_975 + Z_800) * error)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use statrs::distribution::{ContinuousCDF, Normal};

    use super::*;

    #[test]
    fn the_difference_solves_the_equation() {
        // scipy 1.17.1, za = norm.ppf(0.975), zb = norm.ppf(0.8): brentq(lambda d: d * sqrt(n)
        // - za * sqrt(psi) - zb * sqrt(psi - d * d), 0, sqrt(psi), xtol=1e-15, rtol=1e-14)
        for (n, discordant, difference) in [
            (100, 0.3, 0.151_647_091_214_670_9),
            (500, 0.1, 0.039_527_051_860_741_05),
            (618, 0.17, 0.046_377_283_923_836_53),
            (20, 0.4, 0.373_264_566_994_685_1),
            (1273, 0.02, 0.011_094_362_903_827_924),
        ] {
            let found = detectable_difference(n, discordant).unwrap();
            assert!((found - difference).abs() < 1e-12, "{n}: {found}");
        }
    }

    #[test]
    fn what_could_never_be_seen_is_none() {
        // The equation gives 0.175 here, but at most 0.05 can differ.
        assert_eq!(detectable_difference(10, 0.05), None);
        assert_eq!(detectable_difference(3, 0.5), None);
        assert_eq!(detectable_difference(0, 0.0), None);
        assert_eq!(detectable_difference(100, 0.0), None);
        assert_eq!(detectable_difference(100, f64::NAN), None);
        assert_eq!(detectable_from_error(0.0), None);
        let found = detectable_from_error(0.01).unwrap();
        assert!((found - 0.028_015_852_181_129_68).abs() < 1e-15, "{found}");
    }

    #[test]
    fn the_quantiles_are_those_of_the_normal_distribution() {
        let normal = Normal::standard();
        assert!((normal.inverse_cdf(0.975) - Z_975).abs() < 1e-9);
        assert!((normal.inverse_cdf(0.8) - Z_800).abs() < 1e-9);
    }
}
