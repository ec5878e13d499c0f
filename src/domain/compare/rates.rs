//! One metric over the pairs of a condition.

use std::collections::BTreeMap;

use super::pairing::Pair;
use super::{IntervalMethod, McNemar, MetricComparison, Rate, Unit};
use crate::domain::score::{Metric, Ratio};
use crate::domain::stats::{
    ClusterPair, Resampling, Spread, detectable_difference, detectable_from_error, mcnemar_exact,
    paired, wilson,
};

/// Compares a metric; `None` where not both runs have it in any pair. Only pairs that have it on both
/// sides count (a judge score may be missing on one).
pub(super) fn compare_rates(
    pairs: &[&Pair],
    metric: Metric,
    plan: Resampling,
) -> Option<MetricComparison> {
    let mut clusters: BTreeMap<(&str, &str), ClusterPair> = BTreeMap::new();
    let mut count = 0;
    for pair in pairs {
        let (Some(a), Some(b)) = (pair.a.get(&metric), pair.b.get(&metric)) else {
            continue;
        };
        count += 1;
        let cluster = clusters.entry(pair.question()).or_default();
        add(&mut cluster.a, *a);
        add(&mut cluster.b, *b);
    }
    if count == 0 {
        return None;
    }
    let clusters: Vec<ClusterPair> = clusters.into_values().collect();
    let repeats = count > clusters.len();
    let spread = paired(&clusters, plan);
    let method = match metric.is_over_questions() && !repeats {
        true => IntervalMethod::Wilson,
        false => IntervalMethod::ClusteredBootstrap,
    };
    let a = rate(clusters.iter().map(|cluster| cluster.a), method, spread.a);
    let b = rate(clusters.iter().map(|cluster| cluster.b), method, spread.b);
    let mcnemar = is_one_per_reply(metric).then(|| test(&clusters, repeats));
    Some(MetricComparison {
        difference: a.rate.zip(b.rate).map(|(a, b)| b - a),
        difference_interval: spread.difference.map(|spread| spread.interval),
        detectable_difference: match &mcnemar {
            Some(test) if !repeats => {
                detectable_difference(count, (test.b + test.c) as f64 / count as f64)
            }
            _ => spread
                .difference
                .and_then(|spread| detectable_from_error(spread.error)),
        },
        a,
        b,
        mcnemar,
    })
}

/// Whether every reply has exactly one item: then two replies agree or one of them is ahead. The accuracy
/// when answered is not so, since each run answers other questions.
fn is_one_per_reply(metric: Metric) -> bool {
    matches!(metric, Metric::MainAccuracy | Metric::InsufficientRate)
}

fn add(sum: &mut (f64, f64), ratio: Ratio) {
    sum.0 += ratio.num;
    sum.1 += ratio.den;
}

fn rate(
    clusters: impl Iterator<Item = (f64, f64)>,
    method: IntervalMethod,
    spread: Option<Spread>,
) -> Rate {
    let (num, den) = clusters.fold((0.0, 0.0), |sum, cluster| {
        (sum.0 + cluster.0, sum.1 + cluster.1)
    });
    let rate = Ratio { num, den }.value();
    let interval = match method {
        // Counts: whole numbers far below 2^53.
        IntervalMethod::Wilson => rate.map(|_| wilson(num as usize, den as usize)),
        IntervalMethod::ClusteredBootstrap => spread.map(|spread| spread.interval),
    };
    Rate {
        num,
        den,
        rate,
        interval,
        method,
    }
}

fn test(clusters: &[ClusterPair], repeats: bool) -> McNemar {
    let ahead = |is: fn(f64, f64) -> bool| {
        let ahead = clusters.iter().filter(|pair| is(pair.a.0, pair.b.0));
        ahead.count() as u64
    };
    let (b, c) = (ahead(|a, b| a > b), ahead(|a, b| b > a));
    McNemar {
        b,
        c,
        unit: match repeats {
            true => Unit::Questions,
            false => Unit::Pairs,
        },
        p: mcnemar_exact(b, c),
        p_holm: None,
    }
}
