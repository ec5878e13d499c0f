//! Intervals of rates that pool several items of a question.

use crate::domain::score::Ratio;
use crate::domain::stats::{Resampling, pooled};

/// A report has hundreds of cells, so fewer draws than for a comparison; the same for every rate, so that
/// rates over the same questions vary together.
const DRAWS: Resampling = Resampling {
    resamples: 2_000,
    seed: 0,
};

/// The percentile bootstrap of [`pooled`] at 95 %: a cluster is a question with all its items and repeats.
/// Fewer than two clusters with a denominator give none. Where the clusters' rates don't vary, it has no
/// width.
pub fn clustered_bootstrap(clusters: &[Ratio]) -> Option<(f64, f64)> {
    let clusters: Vec<(f64, f64)> = clusters
        .iter()
        .filter(|cluster| cluster.den > 0.0)
        .map(|cluster| (cluster.num, cluster.den))
        .collect();
    if clusters.len() < 2 {
        return None;
    }
    pooled(&clusters, DRAWS).map(|spread| spread.interval)
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
}
