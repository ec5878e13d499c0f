//! Measures of ranked retrieval, defined as in trec_eval: linear gain, logarithmic discount, ties by id.
//!
//! Lists are given best first as the grades of what stands at each rank; a grade of 0 (or below) is not
//! relevant. Every measure lies in 0–1 and is `None` where nothing is relevant: such a query says nothing
//! about a retriever.

use std::cmp::Ordering;

use serde::Serialize;

/// Puts a result list into trec_eval's order: higher score first, equal scores by id, the larger first.
///
/// Scores are compared as `f32`, as trec_eval does; one that is no number ranks last.
pub fn trec_order<T>(list: &mut [T], score: impl Fn(&T) -> f32, id: impl Fn(&T) -> &str) {
    let key = |score: f32| {
        if score.is_nan() {
            f32::NEG_INFINITY
        } else {
            score
        }
    };
    list.sort_by(|a, b| {
        key(score(b))
            .partial_cmp(&key(score(a)))
            .unwrap_or(Ordering::Equal)
            .then_with(|| id(b).cmp(id(a)))
    });
}

/// nDCG@k of graded lists: `Σ grade / log2(rank + 1)` over the first `k` ranks, divided by that of the
/// judged grades in falling order (Järvelin and Kekäläinen 2002, with linear gain as in trec_eval).
pub fn graded_ndcg(ranked: &[i64], judged: &[i64], k: usize) -> Option<f64> {
    let mut ideal: Vec<i64> = judged.iter().copied().filter(|&grade| grade > 0).collect();
    ideal.sort_unstable_by(|a, b| b.cmp(a));
    let best = discounted(&ideal, k);
    (best > 0.0).then(|| discounted(ranked, k) / best)
}

fn discounted(grades: &[i64], k: usize) -> f64 {
    grades
        .iter()
        .take(k)
        .enumerate()
        .map(|(index, &grade)| grade.max(0) as f64 / (index as f64 + 2.0).log2())
        // Not `sum`, which makes nothing -0.
        .fold(0.0, |sum, gain| sum + gain)
}

/// nDCG@k where a document is relevant or not; `relevant_total` are relevant in the whole corpus.
pub fn ndcg(ranked: &[bool], relevant_total: usize, k: usize) -> Option<f64> {
    let grades: Vec<i64> = ranked.iter().map(|&relevant| i64::from(relevant)).collect();
    graded_ndcg(&grades, &vec![1; relevant_total.min(k)], k)
}

/// Share of all relevant documents that stand in the first `k` ranks.
pub fn recall(ranked: &[bool], relevant_total: usize, k: usize) -> Option<f64> {
    let found = ranked.iter().take(k).filter(|&&relevant| relevant).count();
    (relevant_total > 0).then(|| found as f64 / relevant_total as f64)
}

/// One divided by the first relevant rank, 0 where none of the first `k` is relevant.
pub fn reciprocal_rank(ranked: &[bool], relevant_total: usize, k: usize) -> Option<f64> {
    let first = ranked.iter().take(k).position(|&relevant| relevant);
    (relevant_total > 0).then(|| first.map_or(0.0, |index| 1.0 / (index as f64 + 1.0)))
}

/// Average precision: the mean, over all relevant documents, of the precision at the rank of each; those
/// that the list lacks count 0.
pub fn average_precision(ranked: &[bool], relevant_total: usize) -> Option<f64> {
    let mut found = 0usize;
    let mut sum = 0.0;
    for (index, _) in ranked.iter().enumerate().filter(|(_, relevant)| **relevant) {
        found += 1;
        sum += found as f64 / (index as f64 + 1.0);
    }
    (relevant_total > 0).then(|| sum / relevant_total as f64)
}

/// The chance that a relevant document ranks above one that is not (the area under the ROC curve): 1 where all
/// relevant ones stand first, 0.5 for a random order. Of `total` documents the list holds the best; those that it lacks
/// tie behind it. `None` where all or none are relevant.
pub fn auc(ranked: &[bool], relevant_total: usize, total: usize) -> Option<f64> {
    let others = total
        .checked_sub(relevant_total)
        .filter(|others| *others > 0)?;
    if relevant_total == 0 {
        return None;
    }
    let (mut above, mut found, mut wins) = (0_usize, 0_usize, 0.0);
    for relevant in ranked {
        match relevant {
            true => {
                found += 1;
                wins += others.saturating_sub(above) as f64;
            }
            false => above += 1,
        }
    }
    let missing = relevant_total.saturating_sub(found) as f64;
    wins += missing * others.saturating_sub(above) as f64 / 2.0;
    Some(wins / (relevant_total as f64 * others as f64))
}

/// The same chance for two sets of values: equal values count half. `None` where one is empty.
pub fn auc_of(relevant: &[f64], others: &[f64]) -> Option<f64> {
    if relevant.is_empty() || others.is_empty() {
        return None;
    }
    let mut sorted = others.to_vec();
    sorted.sort_by(f64::total_cmp);
    let wins: f64 = relevant
        .iter()
        .map(|value| {
            let below = sorted.partition_point(|other| other < value);
            let upto = sorted.partition_point(|other| other <= value);
            (below + upto) as f64 / 2.0
        })
        .sum();
    Some(wins / (relevant.len() as f64 * others.len() as f64))
}

/// The measures of one list that are shown while one searches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuresAt {
    /// [`ndcg`].
    pub ndcg: f64,
    /// [`recall`].
    pub recall: f64,
    /// [`reciprocal_rank`].
    pub reciprocal_rank: f64,
    /// [`average_precision`] of these ranks.
    pub average_precision: f64,
    /// Relevant documents among these ranks.
    pub found: usize,
    /// Relevant documents in all.
    pub relevant: usize,
    /// The ranks looked at.
    pub at: usize,
}

impl MeasuresAt {
    /// The measures of the first `k` ranks; `None` where nothing is relevant.
    pub fn new(ranked: &[bool], relevant_total: usize, k: usize) -> Option<MeasuresAt> {
        let first = &ranked[..k.min(ranked.len())];
        Some(MeasuresAt {
            average_precision: average_precision(first, relevant_total)?,
            found: first.iter().filter(|&&relevant| relevant).count(),
            relevant: relevant_total,
            ndcg: ndcg(ranked, relevant_total, k)?,
            recall: recall(ranked, relevant_total, k)?,
            reciprocal_rank: reciprocal_rank(ranked, relevant_total, k)?,
            at: k,
        })
    }
}

/// The measures of one query, or their means over queries.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Measures {
    /// nDCG of the first 10.
    #[serde(rename = "ndcg@10")]
    pub ndcg_10: f64,
    /// Share of the relevant documents among the first 10.
    #[serde(rename = "recall@10")]
    pub recall_10: f64,
    /// Share of the relevant documents among the first 100.
    #[serde(rename = "recall@100")]
    pub recall_100: f64,
    /// Reciprocal rank of the first relevant one among the first 10.
    #[serde(rename = "mrr@10")]
    pub mrr_10: f64,
    /// Average precision over the whole list.
    pub map: f64,
}

impl Measures {
    /// Of a list: the grades of what stands at each rank, and all judged grades of the query. `None` where
    /// nothing is relevant.
    pub fn of(ranked: &[i64], judged: &[i64]) -> Option<Measures> {
        let relevant: Vec<bool> = ranked.iter().map(|&grade| grade > 0).collect();
        let total = judged.iter().filter(|&&grade| grade > 0).count();
        Some(Measures {
            ndcg_10: graded_ndcg(ranked, judged, 10)?,
            recall_10: recall(&relevant, total, 10)?,
            recall_100: recall(&relevant, total, 100)?,
            mrr_10: reciprocal_rank(&relevant, total, 10)?,
            map: average_precision(&relevant, total)?,
        })
    }

    /// The mean over queries, each of one vote; `None` without any.
    pub fn mean(all: &[Measures]) -> Option<Measures> {
        let mean = |get: fn(&Measures) -> f64| all.iter().map(get).sum::<f64>() / all.len() as f64;
        (!all.is_empty()).then(|| Measures {
            ndcg_10: mean(|one| one.ndcg_10),
            recall_10: mean(|one| one.recall_10),
            recall_100: mean(|one| one.recall_100),
            mrr_10: mean(|one| one.mrr_10),
            map: mean(|one| one.map),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    const LIST: [bool; 6] = [false, true, false, true, false, false];

    #[test]
    fn the_area_is_the_share_of_pairs_in_order() {
        // Two relevant documents, four others; the first stands above three of them, the second above two.
        assert_eq!(auc(&LIST, 2, 6), Some(5.0 / 8.0));
        // One that was not found ties with those that were not found either.
        assert_eq!(auc(&[true, false], 2, 6), Some((4.0 + 1.5) / 8.0));
        assert_eq!(auc(&[], 2, 6), Some(0.5));
        assert_eq!((auc(&[], 0, 6), auc(&[], 6, 6)), (None, None));
        assert_eq!(auc_of(&[1.0, 2.0], &[1.0, 0.0]), Some(3.5 / 4.0));
        assert_eq!(auc_of(&[], &[1.0]), None);
    }

    #[test]
    fn by_hand() {
        // Relevant at ranks 2 and 4; a third relevant document was not found.
        assert_eq!(recall(&LIST, 3, 3), Some(1.0 / 3.0));
        assert_eq!(recall(&LIST, 3, 10), Some(2.0 / 3.0));
        assert_eq!(reciprocal_rank(&LIST, 3, 10), Some(0.5));
        assert_eq!(reciprocal_rank(&LIST, 3, 1), Some(0.0));
        // Precision 1/2 at rank 2 and 2/4 at rank 4.
        assert_eq!(average_precision(&LIST, 3), Some((0.5 + 0.5) / 3.0));
        // DCG = 1/log2(3) + 1/log2(5); ideal = 1 + 1/log2(3) + 1/2.
        let dcg = 1.0 / 3f64.log2() + 1.0 / 5f64.log2();
        let ideal = 1.0 + 1.0 / 3f64.log2() + 0.5;
        assert_eq!(ndcg(&LIST, 3, 10), Some(dcg / ideal));
        // Only the first of two relevant ones fits into k = 1, so the ideal is 1.
        assert_eq!(ndcg(&[true, true], 2, 1), Some(1.0));
    }

    #[test]
    fn grades_are_gains_and_negative_ones_are_none() {
        // Gains 1 at rank 1 and 2 at rank 2; the ideal turns them round. The grade −1 counts as 0.
        let dcg = 1.0 + 2.0 / 3f64.log2();
        let ideal = 2.0 + 1.0 / 3f64.log2();
        assert_eq!(graded_ndcg(&[1, 2, -1], &[2, -1, 1], 10), Some(dcg / ideal));
        assert_eq!(graded_ndcg(&[0, -1], &[-1, 0], 10), None);
    }

    #[test]
    fn the_mean_gives_each_query_one_vote() {
        let perfect = Measures::of(&[1], &[1]).unwrap();
        assert_eq!(perfect.ndcg_10 + perfect.recall_100 + perfect.map, 3.0);
        let nothing = Measures::of(&[], &[1, 2]).unwrap();
        assert_eq!(nothing, Measures::default());
        let mean = Measures::mean(&[perfect, nothing]).unwrap();
        assert_eq!((mean.ndcg_10, mean.mrr_10, mean.map), (0.5, 0.5, 0.5));
        assert_eq!(Measures::mean(&[]), None);
        assert_eq!(Measures::of(&[1], &[0]), None);
    }

    #[test]
    fn without_relevant_documents_there_is_no_measure() {
        assert_eq!(ndcg(&LIST, 0, 10), None);
        assert_eq!(recall(&LIST, 0, 10), None);
        assert_eq!(reciprocal_rank(&LIST, 0, 10), None);
        assert_eq!(average_precision(&LIST, 0), None);
        assert_eq!(average_precision(&[], 2), Some(0.0));
    }

    #[test]
    fn ties_are_broken_as_trec_eval_does() {
        let mut list = [
            ("a", 1.0),
            ("c", 2.0),
            ("b", 1.0),
            ("n", f32::NAN),
            ("d", 2.0),
        ];
        trec_order(&mut list, |item| item.1, |item| item.0);
        assert_eq!(list.map(|item| item.0), ["d", "c", "b", "a", "n"]);
    }

    proptest! {
        #[test]
        fn all_measures_lie_between_0_and_1(list in prop::collection::vec(any::<bool>(), 0..30), more in 0usize..5, k in 1usize..40) {
            let total = list.iter().filter(|&&relevant| relevant).count() + more;
            for value in [ndcg(&list, total, k), recall(&list, total, k), reciprocal_rank(&list, total, k), average_precision(&list, total)] {
                prop_assert_eq!(value.is_some(), total > 0);
                if let Some(value) = value {
                    prop_assert!((0.0..=1.0 + 1e-12).contains(&value), "{}", value);
                }
            }
        }

        #[test]
        fn relevant_ones_first_is_perfect(total in 1usize..20, others in 0usize..20) {
            let list: Vec<bool> = (0..total + others).map(|rank| rank < total).collect();
            prop_assert!((ndcg(&list, total, 10).unwrap() - 1.0).abs() < 1e-12);
            prop_assert_eq!(average_precision(&list, total), Some(1.0));
        }
    }
}
