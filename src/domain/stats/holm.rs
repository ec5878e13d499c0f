//! Correcting for several looks.

/// Holm's step-down adjustment of p values, in the order given: the k-th smallest of m is multiplied by
/// `m − k + 1`, never falls below a smaller one's, and is at most 1.
///
/// Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
/// Statistics 6 (1979) 65–70.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut floor: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        let looks = (p_values.len() - rank) as f64;
        floor = floor.max((looks * p_values[at]).min(1.0));
        adjusted[at] = floor;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_agrees_with_statsmodels() {
        // statsmodels 0.15.0: multipletests(p, method="holm")[1]
        for (p, expected) in [
            (
                vec![0.01, 0.04, 0.03, 0.005, 0.5],
                vec![0.04, 0.09, 0.09, 0.025, 0.5],
            ),
            (
                vec![0.2, 0.2, 0.9, 0.04, 0.04, 1.0],
                vec![0.8, 0.8, 1.0, 0.24, 0.24, 1.0],
            ),
            (vec![0.3], vec![0.3]),
            (vec![], vec![]),
        ] {
            let found = holm(&p);
            assert_eq!(found.len(), expected.len());
            for (a, b) in found.iter().zip(&expected) {
                assert!((a - b).abs() < 1e-12, "{found:?}");
            }
        }
    }
}
