//! How well a retriever finds what people judged relevant.

use std::collections::HashSet;
use std::ops::ControlFlow;

use medrgb_encoder::CrossEncoder;

use crate::data::beir::{JudgedQuery, TestSet};
use crate::domain::ranking::{Measures, trec_order};
use crate::domain::stats::{Resampling, pooled};
use crate::domain::text::count;
use crate::retrieval::{FUSION_DEPTH, Found, Hit, Method, RetrievalError, Search, rerank};

/// Documents that are retrieved at most where equal scores meet the end of a list; also what a remote index gives at most.
const MOST_LISTED: usize = 16_384;

/// What a retriever made of a test set.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// One per query that has relevant documents, in the set's order.
    pub queries: Vec<QueryOutcome>,
    /// Queries left out, since nothing was judged relevant for them.
    pub without_relevant: usize,
    /// Means over the queries.
    pub mean: Measures,
    /// 95 % interval of the mean nDCG@10: percentile bootstrap by query.
    pub ndcg_interval: Option<(f64, f64)>,
}

/// What a retriever made of one query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryOutcome {
    /// The query's id.
    pub id: String,
    /// Its measures.
    pub measures: Measures,
    /// Relevant documents in all.
    pub relevant: usize,
    /// What was found, in the order that counts (ties as in trec_eval).
    pub ranked: Vec<RankedDocument>,
    /// Milliseconds that the search took, encoding included.
    pub took_ms: f64,
    /// More documents have the score at the end of the list than were looked at, so that which of them are in it
    /// depends on the order of the index.
    pub cut_in_ties: bool,
}

/// A found document.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedDocument {
    /// Its id.
    pub id: String,
    /// The retriever's score.
    pub score: f32,
    /// What was judged; 0 where nothing was.
    pub grade: i64,
}

/// What reads found documents anew before they are measured.
#[derive(Debug, Clone, Copy)]
pub struct Reranking<'a> {
    /// The cross-encoder.
    pub cross: &'a CrossEncoder,
    /// How many of the first documents of each list it reads; the others follow behind them.
    pub depth: usize,
}

/// Searches every query and measures the lists, `depth` documents long, reranked where that is asked for. A
/// document with the query's own id is left out, as BEIR does, unless it was judged for that query: in sets whose
/// queries were made from documents (PubMedQA) it is the answer. `progress` gets the number of finished queries
/// and may cancel.
///
/// # Errors
/// When a search fails, `progress` breaks, no query has a relevant document, or no judged document is searched.
pub fn evaluate(
    searcher: &dyn Search,
    set: &TestSet,
    method: Method,
    depth: usize,
    reranking: Option<Reranking<'_>>,
    progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Evaluation, RetrievalError> {
    refuse_another_corpus(searcher, set)?;
    let mut queries = Vec::with_capacity(set.queries.len());
    let mut without_relevant = 0;
    for (done, query) in set.queries.iter().enumerate() {
        if progress(done).is_break() {
            return Err(stopped());
        }
        let mut go_on = || progress(done);
        match outcome(searcher, query, method, depth, reranking, &mut go_on)? {
            Some(outcome) => queries.push(outcome),
            None => without_relevant += 1,
        }
    }
    let all: Vec<Measures> = queries.iter().map(|query| query.measures).collect();
    let mean = Measures::mean(&all).ok_or_else(|| {
        RetrievalError(
            "no query has a document that was judged relevant, so nothing can be measured".into(),
        )
    })?;
    let clusters: Vec<(f64, f64)> = all.iter().map(|one| (one.ndcg_10, 1.0)).collect();
    let spread = pooled(&clusters, Resampling::default());
    Ok(Evaluation {
        queries,
        without_relevant,
        mean,
        ndcg_interval: spread.map(|spread| spread.interval),
    })
}

/// Refuses to measure where nothing can be found: figures of 0 would look like those of a bad retriever.
fn refuse_another_corpus(searcher: &dyn Search, set: &TestSet) -> Result<(), RetrievalError> {
    let judged: HashSet<&str> = set
        .queries
        .iter()
        .flat_map(|query| query.grades.iter())
        .filter(|(_, grade)| **grade > 0)
        .map(|(id, _)| id.as_str())
        .collect();
    if judged.is_empty() || searcher.holds_any(&judged) != Some(false) {
        return Ok(());
    }
    Err(RetrievalError(format!(
        "none of the {} that are judged relevant is among the {} that are searched, so nothing can be measured: search the corpus that the judgements are for",
        count(judged.len(), "document"),
        count(searcher.info().documents, "document")
    )))
}

/// `None` where nothing was judged relevant.
fn outcome(
    searcher: &dyn Search,
    query: &JudgedQuery,
    method: Method,
    depth: usize,
    reranking: Option<Reranking<'_>>,
    go_on: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Option<QueryOutcome>, RetrievalError> {
    let relevant = query.grades.values().filter(|&&grade| grade > 0).count();
    if relevant == 0 {
        return Ok(None);
    }
    let (mut found, cut_in_ties) = listed(searcher, query, method, depth, go_on)?;
    let timing = found.timing_ms;
    let mut took_ms = timing.tokenize + timing.encode + timing.search;
    if let Some(reranking) = reranking {
        (found, took_ms) = reranked(found, &query.text, reranking, took_ms, go_on)?;
    }
    let mut ranked: Vec<RankedDocument> = found
        .hits
        .into_iter()
        .map(|hit| RankedDocument {
            grade: query.grades.get(&hit.id).copied().unwrap_or(0),
            id: hit.id,
            score: hit.score,
        })
        .collect();
    trec_order(&mut ranked, |one| one.score, |one| &one.id);
    let grades: Vec<i64> = ranked.iter().map(|one| one.grade).collect();
    let judged: Vec<i64> = query.grades.values().copied().collect();
    Ok(Measures::of(&grades, &judged).map(|measures| QueryOutcome {
        id: query.id.clone(),
        measures,
        relevant,
        ranked,
        took_ms,
        cut_in_ties,
    }))
}

/// The first `depth` documents in trec_eval's order, without the query itself; and whether there are so many equal
/// scores at the cut that those beyond [`MOST_LISTED`] were never seen.
///
/// A retriever cuts equal scores in the order of its index. trec_eval orders them by id, so that a list is retrieved
/// to the end of the scores that meet the cut, ordered, and only then cut. Times are those of the first search.
fn listed(
    searcher: &dyn Search,
    query: &JudgedQuery,
    method: Method,
    depth: usize,
    go_on: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<(Found, bool), RetrievalError> {
    let counts = |hit: &Hit| hit.id != query.id || query.grades.contains_key(&hit.id);
    let most = match method {
        // The lists that are fused grow with what is asked for, and with them the scores: only as far as they do not.
        Method::Hybrid => FUSION_DEPTH,
        Method::Bm25 | Method::Dense | Method::Exact => MOST_LISTED,
    };
    // One more, in case the query itself is found, and one that tells whether the scores at the cut go on.
    let mut asked = depth.saturating_add(2);
    let mut found = searcher.search(&query.text, method, asked)?;
    let timing = found.timing_ms;
    loop {
        let full = found.hits.len() >= asked;
        let at_cut = found.hits.iter().filter(|hit| counts(hit)).nth(depth - 1);
        let last = found.hits.last();
        let goes_on = full && at_cut.zip(last).is_some_and(|(a, b)| a.score == b.score);
        if !goes_on || asked >= most {
            trec_order(&mut found.hits, |hit| hit.score, |hit| &hit.id);
            found.hits.retain(counts);
            found.hits.truncate(depth);
            for (rank, hit) in (1..).zip(&mut found.hits) {
                hit.rank = rank;
            }
            found.timing_ms = timing;
            return Ok((found, goes_on));
        }
        if go_on().is_break() {
            return Err(stopped());
        }
        asked = asked.saturating_mul(4).min(most);
        found = searcher.search(&query.text, method, asked)?;
    }
}

fn stopped() -> RetrievalError {
    RetrievalError("stopped; nothing was evaluated".into())
}

/// The first documents in the order of the cross-encoder, the others behind them with scores below theirs; and
/// the time with what that took.
fn reranked(
    mut found: Found,
    query: &str,
    reranking: Reranking<'_>,
    took_ms: f64,
    go_on: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<(Found, f64), RetrievalError> {
    let rest = found.hits.split_off(reranking.depth.min(found.hits.len()));
    let read = found.hits.len();
    let done = rerank::rerank(found, query, reranking.cross, read, &mut |_, _| go_on())?;
    let mut found = done.found;
    let last = found.hits.last().map_or(0.0, |hit| hit.score);
    found
        .hits
        .extend(rest.into_iter().zip(1u16..).map(|(mut hit, behind)| {
            hit.score = last - f32::from(behind);
            hit
        }));
    Ok((found, took_ms + done.ms))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::retrieval::{BuildProgress, CorpusDocument, Retriever};
    use medrgb_encoder::BackendChoice;

    fn query(id: &str, text: &str, grades: &[(&str, i64)]) -> JudgedQuery {
        JudgedQuery {
            id: id.into(),
            text: text.into(),
            grades: grades
                .iter()
                .map(|(document, grade)| ((*document).to_owned(), *grade))
                .collect(),
        }
    }

    fn set(queries: Vec<JudgedQuery>) -> TestSet {
        TestSet {
            queries,
            ..TestSet::default()
        }
    }

    fn bm25(texts: &[(&str, &str)]) -> std::sync::Arc<Retriever> {
        let documents = texts
            .iter()
            .map(|(id, content)| CorpusDocument {
                id: (*id).into(),
                title: String::new(),
                content: (*content).into(),
            })
            .collect();
        let mut go = |_: BuildProgress| ControlFlow::Continue(());
        Retriever::build(documents, None, BackendChoice::Cpu, None, &mut go).unwrap()
    }

    #[test]
    fn found_missed_and_unjudged_queries() {
        let retriever = bm25(&[
            ("d1", "heart failure"),
            ("d2", "renal failure"),
            ("q3", "asthma"),
            ("d4", "asthma in children"),
        ]);
        let set = set(vec![
            query("q1", "renal", &[("d2", 1)]),
            query("q2", "renal", &[("d1", 1), ("elsewhere", 1)]),
            query("q3", "asthma", &[("d4", 1)]),
            query("q4", "renal", &[("d1", 0)]),
        ]);
        let mut go = |_| ControlFlow::Continue(());
        let result = evaluate(&*retriever, &set, Method::Bm25, 100, None, &mut go).unwrap();
        assert_eq!((result.queries.len(), result.without_relevant), (3, 1));
        assert_eq!(result.queries[0].measures.map, 1.0);
        assert_eq!(result.queries[1].measures, Measures::default());
        assert_eq!(result.queries[1].relevant, 2);
        // The query's own document does not stand before the relevant one.
        assert_eq!(result.queries[2].measures.mrr_10, 1.0);
        assert!((result.mean.ndcg_10 - 2.0 / 3.0).abs() < 1e-12);
        let (low, high) = result.ndcg_interval.unwrap();
        assert!(low <= result.mean.ndcg_10 && result.mean.ndcg_10 <= high);
    }

    #[test]
    fn equal_scores_at_the_cut_are_cut_in_the_order_of_trec_eval() {
        // Fifteen documents of one score, in an order that is not that of their ids, and three better ones.
        let ids: Vec<String> = (0..15).map(|n| format!("t{:02}", n * 7 % 15)).collect();
        let mut texts: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), "asthma")).collect();
        texts.push(("b1", "asthma asthma"));
        texts.push(("q", "asthma asthma"));
        let retriever = bm25(&texts);
        let grades = [("t14", 1), ("t13", 1), ("t05", 1), ("t00", 1)];
        let set = set(vec![query("q", "asthma", &grades)]);
        let mut go = |_| ControlFlow::Continue(());
        let mut of = |depth| {
            evaluate(&*retriever, &set, Method::Bm25, depth, None, &mut go)
                .unwrap()
                .queries
                .remove(0)
        };
        let whole = of(1000);
        let order: Vec<&str> = whole.ranked.iter().map(|one| one.id.as_str()).collect();
        let mut expected: Vec<&str> = ids.iter().map(String::as_str).collect();
        expected.sort_unstable_by(|a, b| b.cmp(a));
        expected.insert(0, "b1");
        assert_eq!(order, expected);
        for depth in [1, 2, 3, 10, 11, 12, 15, 16] {
            let cut = of(depth);
            assert_eq!(cut.ranked, whole.ranked[..depth], "{depth}");
            assert!(!cut.cut_in_ties);
            if depth >= 10 {
                assert_eq!(cut.measures.ndcg_10, whole.measures.ndcg_10);
            }
        }
    }

    #[test]
    fn more_equal_scores_than_are_looked_at_are_said() {
        let ids: Vec<String> = (0..MOST_LISTED + 10).map(|n| format!("t{n}")).collect();
        let texts: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), "asthma")).collect();
        let retriever = bm25(&texts);
        let set = set(vec![query("q", "asthma", &[("t7", 1)])]);
        let mut go = |_| ControlFlow::Continue(());
        let result = evaluate(&*retriever, &set, Method::Bm25, 5, None, &mut go).unwrap();
        assert!(result.queries[0].cut_in_ties);
        assert_eq!(result.queries[0].ranked.len(), 5);
    }

    #[test]
    fn a_document_judged_for_the_query_of_its_own_id_counts() {
        let retriever = bm25(&[("1", "asthma in children"), ("2", "asthma")]);
        let set = set(vec![query("1", "asthma children", &[("1", 1)])]);
        let mut go = |_| ControlFlow::Continue(());
        let result = evaluate(&*retriever, &set, Method::Bm25, 10, None, &mut go).unwrap();
        assert_eq!(result.mean.ndcg_10, 1.0);
    }

    #[test]
    fn another_corpus_is_said_and_no_figure_is_minus_zero() {
        let retriever = bm25(&[("d1", "heart failure"), ("d2", "kidney")]);
        let mut go = |_| ControlFlow::Continue(());
        let other = set(vec![query("q", "heart", &[("x", 1), ("d1", 0)])]);
        let error = evaluate(&*retriever, &other, Method::Bm25, 10, None, &mut go).unwrap_err();
        assert!(
            error.to_string().contains("none of the 1 document"),
            "{error}"
        );
        // A query that finds nothing at all counts 0, and not -0.
        let nothing = set(vec![query("q", "unheard", &[("d1", 1)])]);
        let result = evaluate(&*retriever, &nothing, Method::Bm25, 10, None, &mut go).unwrap();
        assert_eq!(format!("{:.4}", result.mean.ndcg_10), "0.0000");
        assert!(result.queries[0].measures.map.is_sign_positive());
    }

    #[test]
    fn stopping_and_having_nothing_to_measure_are_errors() {
        let retriever = bm25(&[("d1", "heart failure")]);
        let one = set(vec![query("q", "heart", &[("d1", 1)])]);
        let mut stop = |_| ControlFlow::Break(());
        assert!(evaluate(&*retriever, &one, Method::Bm25, 10, None, &mut stop).is_err());
        let none = set(vec![query("q", "heart", &[("d1", 0)])]);
        let mut go = |_| ControlFlow::Continue(());
        let error = evaluate(&*retriever, &none, Method::Bm25, 10, None, &mut go).unwrap_err();
        assert!(error.to_string().contains("nothing can be measured"));
    }
}
