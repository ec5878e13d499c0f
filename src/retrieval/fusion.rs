//! Reciprocal rank fusion of any number of result lists.

use std::collections::HashMap;

/// The constant of the fusion that is used where none is set (Cormack, Clarke and Büttcher 2009).
pub const DEFAULT_K: f64 = 60.0;

/// Fuses lists of corpus positions, each best first: `score(d) = Σ 1 / (k + rank of d)`, ranks from 1.
///
/// Gives every position once, best first; equal scores in order of position. A position that a list
/// repeats counts there at its first rank only. A `k` below zero or not finite counts as 0.
pub fn reciprocal_rank(lists: &[Vec<usize>], k: f64) -> Vec<(usize, f64)> {
    let k = if k.is_finite() { k.max(0.0) } else { 0.0 };
    // All ranks of a position are gathered and summed smallest term first: the sum is then the same
    // in whatever order the lists come.
    let mut ranks: HashMap<usize, Vec<(usize, usize)>> = HashMap::new();
    for (number, list) in lists.iter().enumerate() {
        for (index, &position) in list.iter().enumerate() {
            let seen = ranks.entry(position).or_default();
            if seen.last().is_none_or(|&(last, _)| last != number) {
                seen.push((number, index + 1));
            }
        }
    }
    let mut fused: Vec<(usize, f64)> = ranks
        .into_iter()
        .map(|(position, seen)| {
            let mut seen: Vec<usize> = seen.into_iter().map(|(_, rank)| rank).collect();
            seen.sort_unstable_by(|a, b| b.cmp(a));
            (
                position,
                seen.iter().map(|&rank| 1.0 / (k + rank as f64)).sum(),
            )
        })
        .collect();
    fused.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    fused
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    fn lists() -> impl Strategy<Value = Vec<Vec<usize>>> {
        let list = prop::collection::hash_set(0usize..30, 0..15)
            .prop_map(|set| set.into_iter().collect::<Vec<_>>());
        prop::collection::vec(list, 0..5)
    }

    proptest! {
        #[test]
        fn every_position_comes_once_and_scores_fall(lists in lists(), k in 0.0f64..200.0) {
            let fused = reciprocal_rank(&lists, k);
            let mut expected: Vec<usize> = lists.concat();
            expected.sort_unstable();
            expected.dedup();
            let mut got: Vec<usize> = fused.iter().map(|item| item.0).collect();
            got.sort_unstable();
            prop_assert_eq!(got, expected);
            for pair in fused.windows(2) {
                prop_assert!(pair[0].1 > pair[1].1 || (pair[0].1 == pair[1].1 && pair[0].0 < pair[1].0));
            }
        }

        #[test]
        fn the_order_of_lists_is_of_no_matter(lists in lists()) {
            let mut turned = lists.clone();
            turned.reverse();
            prop_assert_eq!(reciprocal_rank(&lists, 60.0), reciprocal_rank(&turned, 60.0));
        }

        #[test]
        fn one_list_keeps_its_order(list in lists()) {
            let list = list.into_iter().next().unwrap_or_default();
            let fused: Vec<usize> = reciprocal_rank(std::slice::from_ref(&list), 60.0)
                .into_iter()
                .map(|item| item.0)
                .collect();
            prop_assert_eq!(fused, list);
        }

        #[test]
        fn a_position_better_in_every_list_is_better(lists in lists()) {
            let fused = reciprocal_rank(&lists, 60.0);
            let rank = |list: &[usize], position| list.iter().position(|&p| p == position).unwrap_or(usize::MAX);
            for (above, a) in fused.iter().enumerate() {
                for b in &fused[above + 1..] {
                    let b_dominates = lists.iter().all(|list| {
                        let (ra, rb) = (rank(list, a.0), rank(list, b.0));
                        rb < ra || (ra == rb)
                    }) && lists.iter().any(|list| rank(list, b.0) < rank(list, a.0));
                    prop_assert!(!b_dominates);
                }
            }
        }
    }

    #[test]
    fn known_values() {
        let fused = reciprocal_rank(&[vec![7, 3], vec![3, 9]], 60.0);
        assert_eq!(fused[0], (3, 1.0 / 62.0 + 1.0 / 61.0));
        assert_eq!(fused[1], (7, 1.0 / 61.0));
        assert_eq!(fused[2], (9, 1.0 / 62.0));
        assert_eq!(reciprocal_rank(&[vec![4, 4]], 60.0), [(4, 1.0 / 61.0)]);
        assert!(reciprocal_rank(&[], f64::NAN).is_empty());
    }
}
