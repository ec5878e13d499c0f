//! Intervals of rates that pool several items of a question.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::domain::score::Ratio;

/// An interval at 95 % of the pooled rate of clusters: `(low, high)`, or `None` where there are too few of
/// them to say anything.
pub type ClusteredInterval = fn(&[Ratio]) -> Option<(f64, f64)>;

/// How often clusters are drawn anew.
const RESAMPLES: usize = 2_000;

/// The same draws for every rate, so that rates over the same questions vary together.
const SEED: u64 = 0;

/// The percentile bootstrap of a pooled rate at 95 %, clustered: whole clusters (a question with all its
/// items and repeats) are drawn with replacement, 2,000 times, from a fixed seed.
///
/// Source: B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap (1993), chapter 13. Fewer than
/// two clusters with a denominator give none. Where the clusters' rates don't vary, it has no width.
pub fn clustered_bootstrap(clusters: &[Ratio]) -> Option<(f64, f64)> {
    let clusters: Vec<Ratio> = clusters
        .iter()
        .copied()
        .filter(|cluster| cluster.den > 0.0)
        .collect();
    if clusters.len() < 2 {
        return None;
    }
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let count = clusters.len() as u64;
    let mut rates: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let mut sum = Ratio::default();
            for _ in 0..clusters.len() {
                // 32 random bits scaled to the clusters: the bias is below one in a million.
                let drawn = (u64::from(random.next_u32()) * count) >> 32;
                sum.add(clusters[drawn as usize]);
            }
            sum.num / sum.den
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    Some((quantile(&rates, 0.025), quantile(&rates, 0.975)))
}

/// The quantile of sorted numbers by linear interpolation (type 7 of Hyndman and Fan, 1996).
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = (sorted.len().saturating_sub(1)) as f64 * q;
    let (below, part) = (place.floor(), place.fract());
    let at = |index: f64| sorted.get(index as usize).copied().unwrap_or_default();
    let low = at(below);
    if part > 0.0 {
        low + (at(below + 1.0) - low) * part
    } else {
        low
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn ratio(num: f64, den: f64) -> Ratio {
        Ratio { num, den }
    }

    #[test]
    fn two_clusters_give_the_ends() {
        // Each draw is (0, 0), (0, 1) or (1, 1) with 1/4, 1/2, 1/4: both tails hold far more than 2.5 %.
        let interval = clustered_bootstrap(&[ratio(0.0, 5.0), ratio(5.0, 5.0)]);
        assert_eq!(interval, Some((0.0, 1.0)));
        assert_eq!(clustered_bootstrap(&[ratio(1.0, 5.0)]), None);
        assert_eq!(
            clustered_bootstrap(&[ratio(1.0, 5.0), ratio(0.0, 0.0)]),
            None
        );
    }

    #[test]
    fn single_items_agree_with_the_normal_approximation() {
        // 60 of 200: standard error sqrt(0.3 · 0.7 / 200) = 0.0324, so 0.3 ± 0.0635.
        let clusters: Vec<Ratio> = (0..200)
            .map(|at| ratio(f64::from(u8::from(at < 60)), 1.0))
            .collect();
        let (low, high) = clustered_bootstrap(&clusters).unwrap();
        assert!((low - 0.2365).abs() < 0.01 && (high - 0.3635).abs() < 0.01);
        assert_eq!(clustered_bootstrap(&clusters), Some((low, high)), "seeded");
        // The same items in 40 clusters that are all right or all wrong: wider by sqrt(5).
        let clusters: Vec<Ratio> = (0..40)
            .map(|at| ratio(if at < 12 { 5.0 } else { 0.0 }, 5.0))
            .collect();
        let (low, high) = clustered_bootstrap(&clusters).unwrap();
        assert!((high - low - 2.0 * 0.142).abs() < 0.04, "{low} {high}");
    }

    #[test]
    fn quantiles_interpolate() {
        // numpy.quantile([1, 2, 3, 4], [0.025, 0.975]) gives 1.075 and 3.925.
        let sorted = [1.0, 2.0, 3.0, 4.0];
        assert!((quantile(&sorted, 0.025) - 1.075).abs() < 1e-12);
        assert!((quantile(&sorted, 0.975) - 3.925).abs() < 1e-12);
    }
}
