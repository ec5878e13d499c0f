#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

const PLAN: Resampling = Resampling {
    resamples: 2_000,
    seed: 0,
};

fn condition(p: f64) -> Condition {
    Condition {
        p,
        ..Condition::default()
    }
}

fn one(fits: bool) -> Ratio {
    Ratio {
        num: f64::from(u8::from(fits)),
        den: 1.0,
    }
}

/// A reply under p that is right or not, with 2 of 4 or all documents labelled rightly.
fn reply(question: usize, p: f64, right: bool) -> Observation {
    let documents = Ratio {
        num: if right { 4.0 } else { 2.0 },
        den: 4.0,
    };
    Observation {
        id: 0,
        dataset: "f".into(),
        question: format!("q{question}"),
        condition: condition(p),
        asker: "m".into(),
        draw: None,
        shown: 0,
        counts: Some(
            [
                (Metric::MainAccuracy, one(right)),
                (Metric::NoiseDetectionAccuracy, documents),
            ]
            .into(),
        ),
    }
}

/// A right reply that was drawn with a seed of the sampler.
fn draw(question: usize, seed: u64) -> Observation {
    Observation {
        draw: Some(seed),
        ..reply(question, 60.0, true)
    }
}

fn failed(question: usize, p: f64) -> Observation {
    Observation {
        counts: None,
        ..reply(question, p, false)
    }
}

/// Replies to questions 0, 1, … under p; `1` is right.
fn replies(p: f64, right: &str) -> Vec<Observation> {
    right
        .bytes()
        .enumerate()
        .map(|(question, right)| reply(question, p, right == b'1'))
        .collect()
}

const BOTH: [Metric; 2] = [Metric::MainAccuracy, Metric::NoiseDetectionAccuracy];

#[test]
fn a_condition_by_hand() {
    // A is right on 12 of 20, B on 7 of 20; only A on 7 (b), only B on 2 (c), both on 5.
    let a = replies(60.0, "11111111111100000000");
    let b = replies(60.0, "11111000000011000000");
    let compared = compare(a, b, &BOTH, PLAN);
    assert_eq!((compared.pairs, compared.questions), (20, 20));
    assert_eq!(compared.left_out, LeftOut::default());
    let accuracy = &compared.conditions[0].metrics[&Metric::MainAccuracy];
    assert_eq!((accuracy.a.rate, accuracy.b.rate), (Some(0.6), Some(0.35)));
    assert_eq!(accuracy.a.method, IntervalMethod::Wilson);
    // statsmodels 0.15.0: proportion_confint(12, 20, method="wilson") and (7, 20).
    let close = |found: Option<(f64, f64)>, low: f64, high: f64| {
        let (a, b) = found.unwrap();
        assert!((a - low).abs() < 1e-9 && (b - high).abs() < 1e-9, "{a} {b}");
    };
    close(
        accuracy.a.interval,
        0.386_581_500_762_253_1,
        0.781_193_467_627_183,
    );
    close(
        accuracy.b.interval,
        0.181_191_824_101_082_03,
        0.567_145_723_314_763_8,
    );
    assert!((accuracy.difference.unwrap() + 0.25).abs() < 1e-12);
    // Bootstrap of a mean of +1 (2), -1 (7) and 0 (11): standard error sqrt((9/20 - 1/16) / 20) = 0.139.
    let (low, high) = accuracy.difference_interval.unwrap();
    assert!((low + 0.525).abs() < 0.06 && (high - 0.025).abs() < 0.06);
    // scipy: 2 * binom.cdf(2, 9, 0.5) = 0.1796875
    let test = accuracy.mcnemar.unwrap();
    assert_eq!((test.b, test.c, test.unit), (7, 2, Unit::Pairs));
    assert!((test.p - 0.179_687_5).abs() < 1e-12);
    assert_eq!(test.p_holm, Some(test.p), "one look needs no adjustment");
    // Connor's equation with n = 20, psi = 9/20 (brentq as in domain::stats::power).
    assert!((accuracy.detectable_difference.unwrap() - 0.395_906_859_747_903_35).abs() < 1e-9);

    // Documents: 12·4 + 8·2 = 64 of 80 against 7·4 + 13·2 = 54 of 80.
    let documents = &compared.conditions[0].metrics[&Metric::NoiseDetectionAccuracy];
    assert_eq!((documents.a.num, documents.b.num), (64.0, 54.0));
    assert_eq!(documents.a.method, IntervalMethod::ClusteredBootstrap);
    assert_eq!(documents.mcnemar, None);
    assert!((documents.difference.unwrap() + 0.125).abs() < 1e-12);
    // Half the spread of the answers' difference.
    let (low, high) = documents.difference_interval.unwrap();
    assert!((low + 0.2625).abs() < 0.03 && (high - 0.0125).abs() < 0.03);
    assert!((documents.detectable_difference.unwrap() - 2.8016 * 0.0696).abs() < 0.01);
}

#[test]
fn each_condition_is_a_look_and_the_pool_is_one_by_question() {
    let both = |first: &str, second: &str| {
        let mut all = replies(20.0, first);
        all.extend(replies(100.0, second));
        all
    };
    // p = 20: b = 8, c = 0, p = 2/256. p = 100: b = 5, c = 1, p = 2·7/64.
    let a = both("1111111100", "1111100000");
    let b = both("0000000000", "0000010000");
    let compared = compare(a, b, &[Metric::MainAccuracy], PLAN);
    assert_eq!((compared.pairs, compared.questions), (20, 10));
    let tests: Vec<McNemar> = compared
        .conditions
        .iter()
        .map(|condition| condition.metrics[&Metric::MainAccuracy].mcnemar.unwrap())
        .collect();
    assert_eq!(compared.conditions[0].cell.p, 20.0);
    assert!((tests[0].p - 0.007_812_5).abs() < 1e-12 && (tests[1].p - 0.218_75).abs() < 1e-12);
    // Holm: the smaller times two, the larger times one.
    assert!((tests[0].p_holm.unwrap() - 0.015_625).abs() < 1e-12);
    assert!((tests[1].p_holm.unwrap() - 0.218_75).abs() < 1e-12);
    // Pooled every question has two pairs. Ahead per question: A on 0 to 4 twice, on 5 once each so that
    // it is 1 to 1, on 6 and 7 once; none on 8 and 9. So 7 votes for A, none for B.
    let pooled = &compared.pooled[&Metric::MainAccuracy];
    let test = pooled.mcnemar.unwrap();
    assert_eq!((test.b, test.c, test.unit), (7, 0, Unit::Questions));
    assert!((test.p - 2.0 / 128.0).abs() < 1e-12 && test.p_holm.is_none());
    assert_eq!((pooled.a.num, pooled.a.den), (13.0, 20.0));
    assert_eq!(pooled.a.method, IntervalMethod::ClusteredBootstrap);
}

#[test]
fn what_has_no_partner_is_counted_with_its_reason() {
    let a = vec![
        reply(0, 60.0, true),
        reply(1, 60.0, true),
        failed(2, 60.0),
        reply(3, 60.0, true),
        failed(4, 60.0),
        // A failed call and a second try: nothing is left out.
        failed(5, 60.0),
        reply(5, 60.0, true),
        failed(6, 60.0),
        // Asked again: the newer one counts.
        reply(7, 60.0, true),
        reply(7, 60.0, false),
        // A draw that B lacks.
        draw(9, 1),
        draw(9, 2),
    ];
    let b = vec![
        reply(0, 60.0, true),
        reply(2, 60.0, true),
        failed(3, 60.0),
        failed(4, 60.0),
        reply(5, 60.0, true),
        reply(7, 60.0, true),
        reply(8, 60.0, true),
        reply(8, 40.0, true),
        draw(9, 5),
    ];
    let compared = compare(a, b, &BOTH, PLAN);
    assert_eq!(compared.pairs, 4, "questions 0, 5, 7 and 9");
    // The first tries of 5 and 7.
    assert_eq!(compared.superseded, Superseded { a: 2, b: 0 });
    assert_eq!(
        compared.left_out,
        LeftOut {
            // Question 1, question 6 (B was never asked), the second draw of 9.
            only_a: 3,
            only_b: 2,
            unavailable_a: 1,
            unavailable_b: 1,
            unavailable_both: 1,
        }
    );
    assert_eq!(compared.left_out.total(), 8);
}

#[test]
fn the_newest_reply_counts_and_a_later_failure_does_not_displace_it() {
    let a = vec![reply(0, 60.0, false), reply(0, 60.0, true), failed(0, 60.0)];
    let b = vec![reply(0, 60.0, true), reply(0, 60.0, false)];
    let compared = compare(a, b, &[Metric::MainAccuracy], PLAN);
    let main = &compared.pooled[&Metric::MainAccuracy];
    assert_eq!((main.a.num, main.b.num), (1.0, 0.0));
    assert_eq!(compared.superseded, Superseded { a: 2, b: 1 });
    assert_eq!(compared.left_out.total(), 0);
}

#[test]
fn several_models_are_each_compared_with_themselves() {
    let of = |asker: &str, right| Observation {
        asker: asker.into(),
        ..reply(0, 60.0, right)
    };
    // One model each: they are compared although they differ.
    let compared = compare(vec![of("x", true)], vec![of("y", false)], &BOTH, PLAN);
    assert_eq!((compared.pairs, compared.left_out.total()), (1, 0));
    let compared = compare(
        vec![of("y", true), of("x", true)],
        vec![of("x", true), of("z", false), of("y", false)],
        &[Metric::MainAccuracy],
        PLAN,
    );
    assert_eq!((compared.pairs, compared.left_out.only_b), (2, 1));
    let main = &compared.pooled[&Metric::MainAccuracy];
    assert_eq!((main.a.num, main.b.num), (2.0, 1.0));
}

#[test]
fn conditions_keep_apart_what_was_asked_differently() {
    let mut other_seed = reply(0, 60.0, true);
    other_seed.condition.seed = 1;
    let mut other_set = reply(0, 60.0, true);
    other_set.dataset = "g".into();
    let mut other_n = reply(0, 60.0, true);
    other_n.condition.docs = 20;
    for other in [other_seed, other_set, other_n, reply(0, 40.0, true)] {
        let compared = compare(vec![reply(0, 60.0, true)], vec![other], &BOTH, PLAN);
        assert_eq!((compared.pairs, compared.left_out.total()), (0, 2));
        assert!(compared.conditions.is_empty() && compared.pooled.is_empty());
    }
    // Standard ignores p.
    let standard = |p| {
        let mut reply = reply(0, p, true);
        reply.condition.scenario = Scenario::Standard;
        reply
    };
    let compared = compare(vec![standard(0.0)], vec![standard(60.0)], &BOTH, PLAN);
    assert_eq!(compared.pairs, 1);
}

#[test]
fn seeds_are_repeats_of_a_question() {
    let with_seeds = |right: [&str; 3]| -> Vec<Observation> {
        let of_seed = |(seed, right): (usize, &str)| {
            replies(60.0, right).into_iter().map(move |mut reply| {
                reply.condition.seed = seed as u64;
                reply
            })
        };
        right.into_iter().enumerate().flat_map(of_seed).collect()
    };
    let compared = compare(
        with_seeds(["1100", "1100", "1010"]),
        with_seeds(["0101", "0100", "0010"]),
        &[Metric::MainAccuracy],
        PLAN,
    );
    assert_eq!(compared.conditions.len(), 1);
    assert_eq!((compared.pairs, compared.questions), (12, 4));
    // Question 0: A 3, B 0. Question 1: A 2, B 2. Question 2: A 1, B 1. Question 3: A 0, B 1.
    let test = compared.conditions[0].metrics[&Metric::MainAccuracy]
        .mcnemar
        .unwrap();
    assert_eq!((test.b, test.c, test.unit), (1, 1, Unit::Questions));
}

#[test]
fn a_metric_that_one_side_lacks_is_not_compared_there() {
    let judged = |question, score: Option<f64>| {
        let mut reply = reply(question, 60.0, true);
        if let (Some(counts), Some(num)) = (reply.counts.as_mut(), score) {
            counts.insert(Metric::SubJudgeScore, Ratio { num, den: 1.0 });
        }
        reply
    };
    let compared = compare(
        vec![judged(0, Some(1.0)), judged(1, Some(0.5))],
        vec![judged(0, Some(0.5)), judged(1, None)],
        &[Metric::SubJudgeScore, Metric::FalseAlarmRate],
        PLAN,
    );
    let metrics = &compared.conditions[0].metrics;
    assert_eq!(metrics.len(), 1);
    let judge = &metrics[&Metric::SubJudgeScore];
    assert_eq!((judge.a.den, judge.b.den), (1.0, 1.0));
    assert_eq!(judge.difference, Some(-0.5));
    assert_eq!(judge.detectable_difference, None, "nothing varied");
}

#[test]
fn other_documents_are_noticed() {
    let mut other = reply(0, 60.0, true);
    other.shown = 7;
    let a = vec![reply(0, 60.0, true), reply(1, 60.0, true)];
    let compared = compare(a, vec![other, reply(1, 60.0, true)], &BOTH, PLAN);
    assert_eq!((compared.pairs, compared.different_documents), (2, 1));
}

#[test]
fn a_run_against_itself_differs_in_nothing() {
    let run = replies(60.0, "1101001110");
    let compared = compare(run.clone(), run, &BOTH, PLAN);
    for metric in compared.pooled.values() {
        assert_eq!(metric.difference, Some(0.0));
        assert_eq!(metric.difference_interval, Some((0.0, 0.0)));
        assert_eq!(metric.detectable_difference, None);
        assert!(metric.mcnemar.is_none_or(|test| test.p == 1.0));
    }
}

#[test]
fn the_lists_hold_the_pairs_that_the_test_counts() {
    let number = |mut all: Vec<Observation>, from: i64| {
        for (at, one) in (from..).zip(&mut all) {
            one.id = at;
        }
        all
    };
    let a = number(replies(60.0, "11000"), 1);
    let b = number(replies(60.0, "10101"), 11);
    let compared = compare(a.clone(), b.clone(), &BOTH, PLAN);
    let all = answered(a, b);
    let of = |side| all.iter().filter(move |one| one.side == side);
    let test = compared.pooled[&Metric::MainAccuracy].mcnemar.unwrap();
    assert_eq!(of(Side::OnlyA).count() as u64, test.b);
    assert_eq!(of(Side::OnlyB).count() as u64, test.c);
    assert_eq!(all.len(), compared.pairs);
    let flip = of(Side::OnlyA).next().unwrap();
    assert_eq!((flip.question.as_str(), flip.records), ("q1", (2, 12)));
}
