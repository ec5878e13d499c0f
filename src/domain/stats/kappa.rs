//! Agreement of people who put the same items into categories, beyond what chance alone would give.

use std::collections::BTreeMap;

/// How far raters agree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// Observed agreement, 0 to 1: of two raters the share of items with the same category, of more the mean
    /// over items of the share of pairs of raters that agree.
    pub observed: f64,
    /// The agreement that chance would give, 0 to 1.
    pub chance: f64,
    /// `(observed − chance) / (1 − chance)`; `None` where chance alone gives full agreement, since all raters
    /// used one and the same category throughout.
    pub kappa: Option<f64>,
}

impl Agreement {
    fn new(observed: f64, chance: f64) -> Agreement {
        // Chance is 1 only where one category has every rating, and then exactly.
        let kappa = (chance < 1.0).then(|| (observed - chance) / (1.0 - chance));
        Agreement {
            observed,
            chance,
            kappa,
        }
    }
}

/// Cohen's kappa of two raters: one pair of categories per item. `None` without items.
///
/// Source: J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological
/// Measurement 20 (1960) 37–46.
pub fn cohen(items: &[(usize, usize)]) -> Option<Agreement> {
    if items.is_empty() {
        return None;
    }
    let total = items.len() as f64;
    let mut uses: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    let mut same = 0.0;
    for &(first, second) in items {
        uses.entry(first).or_default().0 += 1.0;
        uses.entry(second).or_default().1 += 1.0;
        same += f64::from(u8::from(first == second));
    }
    let products: f64 = uses.values().map(|(a, b)| a * b).sum();
    Some(Agreement::new(same / total, products / (total * total)))
}

/// Fleiss' kappa of any number of raters: the categories that an item was put into, one per rater. `None`
/// without items, with fewer than two raters, or where items have different numbers of them.
///
/// Source: J. L. Fleiss, "Measuring nominal scale agreement among many raters", Psychological Bulletin 76
/// (1971) 378–382.
pub fn fleiss(items: &[Vec<usize>]) -> Option<Agreement> {
    let raters = items.first()?.len();
    if raters < 2 || items.iter().any(|item| item.len() != raters) {
        return None;
    }
    let (count, raters) = (items.len() as f64, raters as f64);
    let mut uses: BTreeMap<usize, f64> = BTreeMap::new();
    let mut observed = 0.0;
    for item in items {
        let mut here: BTreeMap<usize, f64> = BTreeMap::new();
        for &category in item {
            *here.entry(category).or_default() += 1.0;
            *uses.entry(category).or_default() += 1.0;
        }
        let squares: f64 = here.values().map(|n| n * n).sum();
        observed += (squares - raters) / (raters * (raters - 1.0));
    }
    let all = count * raters;
    let chance = uses.values().map(|n| n * n).sum::<f64>() / (all * all);
    Some(Agreement::new(observed / count, chance))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} ≠ {expected}");
    }

    /// Pairs from a table of counts: `table[i][j]` items that the first rater put into i, the second into j.
    fn pairs<const N: usize>(table: [[usize; N]; N]) -> Vec<(usize, usize)> {
        let cells = (0..N).flat_map(|i| (0..N).map(move |j| (i, j)));
        cells
            .flat_map(|(i, j)| std::iter::repeat_n((i, j), table[i][j]))
            .collect()
    }

    #[test]
    fn cohen_agrees_with_scikit_learn() {
        // scikit-learn 1.9.1: cohen_kappa_score over the items of each table.
        for (table, kappa) in [
            ([[20, 5], [10, 15]], 0.4),
            ([[45, 15], [25, 15]], 0.130_434_782_608_695_65),
            ([[1, 9], [9, 81]], 0.0),
            ([[0, 7], [5, 0]], -0.945_945_945_945_945_9),
        ] {
            near(cohen(&pairs(table)).unwrap().kappa.unwrap(), kappa);
        }
        let three = pairs([[10, 2, 1], [3, 12, 4], [0, 1, 17]]);
        near(
            cohen(&three).unwrap().kappa.unwrap(),
            0.666_666_666_666_666_7,
        );
    }

    #[test]
    fn fleiss_agrees_with_statsmodels() {
        // The worked example of Fleiss' article as it is usually printed: 10 items, 14 raters, 5 categories.
        // statsmodels 0.15.0: inter_rater.fleiss_kappa(table).
        let table: [[usize; 5]; 10] = [
            [0, 0, 0, 0, 14],
            [0, 2, 6, 4, 2],
            [0, 0, 3, 5, 6],
            [0, 3, 9, 2, 0],
            [2, 2, 8, 1, 1],
            [7, 7, 0, 0, 0],
            [3, 2, 6, 3, 0],
            [2, 5, 3, 2, 2],
            [6, 5, 2, 1, 0],
            [0, 2, 2, 3, 7],
        ];
        let items: Vec<Vec<usize>> = table
            .iter()
            .map(|row| {
                let cells = row.iter().enumerate();
                cells
                    .flat_map(|(category, &n)| std::iter::repeat_n(category, n))
                    .collect()
            })
            .collect();
        let found = fleiss(&items).unwrap();
        near(found.kappa.unwrap(), 0.209_930_704_421_955_22);
        near(found.observed, 0.378_021_978_021_978);
    }

    #[test]
    fn what_is_undefined_is_said() {
        assert_eq!(cohen(&[]), None);
        let never = cohen(&[(0, 0); 5]).unwrap();
        assert_eq!((never.observed, never.kappa), (1.0, None));
        // One rater uses one category only: chance explains everything, but kappa is defined.
        near(cohen(&[(0, 0), (0, 1)]).unwrap().kappa.unwrap(), 0.0);
        assert_eq!(fleiss(&[]), None);
        assert_eq!(fleiss(&[vec![1]]), None);
        assert_eq!(fleiss(&[vec![0, 1], vec![0, 1, 1]]), None);
        let never = fleiss(&[vec![0, 0, 0], vec![0, 0, 0]]).unwrap();
        assert_eq!((never.observed, never.kappa), (1.0, None));
        near(
            fleiss(&[vec![0, 0], vec![1, 1]]).unwrap().kappa.unwrap(),
            1.0,
        );
    }
}
