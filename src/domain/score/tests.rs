//! Counts, worked out by hand, for every scenario.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::domain::answer::Sources;
use crate::domain::context::{ContextDocument, Mode, SourceFilter};
use crate::domain::question::Choice;

fn question() -> Question {
    Question {
        id: "q".into(),
        text: "?".into(),
        options: ['A', 'B']
            .map(|letter| Choice {
                letter,
                text: format!("option {letter}"),
            })
            .to_vec(),
        answer: 'B',
        extra: serde_json::Map::new(),
    }
}

fn context(scenario: Scenario, roles: &[Role], planted: &[Option<&str>]) -> Context {
    let documents: Vec<ContextDocument> = roles
        .iter()
        .enumerate()
        .map(|(at, role)| ContextDocument {
            label: format!("DOC_{}", at + 1),
            id: format!("d{at}"),
            role: *role,
            original_id: None,
            source: None,
            title: String::new(),
            content: String::new(),
            from_question: None,
        })
        .collect();
    Context {
        question_id: "q".into(),
        scenario,
        docs_requested: roles.len(),
        docs: roles.len(),
        p_requested: 50.0,
        p: 50.0,
        seed: 0,
        mode: Mode::Nested,
        source: SourceFilter::Any,
        short: false,
        variant: None,
        documents,
        sub_questions: planted
            .iter()
            .enumerate()
            .map(|(at, planted)| ContextSubQuestion {
                question: format!("what is item number {at} of group {at}{at}"),
                answer: format!("{} mg", at + 1),
                label: format!("DOC_{}", at + 1),
                planted: planted.map(str::to_owned),
            })
            .collect(),
    }
}

fn reply(outcome: Outcome, answer: Option<char>) -> ParsedReply {
    ParsedReply {
        outcome,
        answer,
        reasoning: None,
        hidden: None,
        relevant: Vec::new(),
        irrelevant: Vec::new(),
        subs: Vec::new(),
        notes: Vec::new(),
        evidence: None,
        sources: Sources::default(),
    }
}

fn sub(answer: &str, document: Option<usize>, factual: Option<bool>) -> Option<SubAnswer> {
    Some(SubAnswer {
        question: None,
        answer: Some(answer.into()),
        document,
        document_raw: None,
        factual,
    })
}

#[track_caller]
fn counts(scores: &Scores, metric: Metric) -> (f64, f64) {
    let ratio = scores.counts[&metric];
    (ratio.num, ratio.den)
}

#[test]
fn main_metrics_by_outcome() {
    let context = context(Scenario::Standard, &[], &[]);
    for (outcome, answer, accuracy, insufficient, when) in [
        (
            Outcome::Answered,
            Some('B'),
            (1.0, 1.0),
            (0.0, 1.0),
            (1.0, 1.0),
        ),
        (
            Outcome::Answered,
            Some('A'),
            (0.0, 1.0),
            (0.0, 1.0),
            (0.0, 1.0),
        ),
        (
            Outcome::Insufficient,
            None,
            (0.0, 1.0),
            (1.0, 1.0),
            (0.0, 0.0),
        ),
        (
            Outcome::Unreadable,
            None,
            (0.0, 1.0),
            (0.0, 1.0),
            (0.0, 0.0),
        ),
        (Outcome::Truncated, None, (0.0, 1.0), (0.0, 1.0), (0.0, 0.0)),
    ] {
        let scores = score(&question(), &context, &reply(outcome, answer));
        assert_eq!(counts(&scores, Metric::MainAccuracy), accuracy);
        assert_eq!(counts(&scores, Metric::InsufficientRate), insufficient);
        assert_eq!(counts(&scores, Metric::AccuracyWhenAnswered), when);
        assert_eq!(scores.main_correct, Some(accuracy.0 > 0.0));
        assert_eq!(scores.counts.len(), 3);
    }
    for outcome in [Outcome::Interrupted, Outcome::ProviderError] {
        let scores = score(&question(), &context, &reply(outcome, None));
        assert_eq!((scores.main_correct, scores.counts.len()), (None, 0));
    }
}

#[test]
fn labels_of_documents() {
    use Role::{Noise, Signal};
    let context = context(
        Scenario::Sufficiency,
        &[Signal, Signal, Noise, Noise, Noise, Signal],
        &[],
    );
    let mut given = reply(Outcome::Answered, Some('B'));
    // 0 right, 1 called noise, 2 right, 3 in both lists, 4 and 5 in neither.
    given.relevant = vec![0, 3];
    given.irrelevant = vec![1, 2, 3];
    let scores = score(&question(), &context, &given);
    let said: Vec<Labelled> = scores.documents.iter().map(|row| row.said).collect();
    use Labelled::{Both, Irrelevant, Neither, Relevant};
    assert_eq!(
        said,
        [Relevant, Irrelevant, Irrelevant, Both, Neither, Neither]
    );
    assert_eq!(counts(&scores, Metric::NoiseDetectionAccuracy), (2.0, 6.0));
    assert_eq!(counts(&scores, Metric::NoiseDetectionLabelled), (2.0, 4.0));
    assert_eq!(counts(&scores, Metric::NoiseRecall), (1.0, 3.0));
    assert_eq!(counts(&scores, Metric::NoisePrecision), (1.0, 2.0));
    assert_eq!(counts(&scores, Metric::SignalRecall), (1.0, 3.0));
    assert!(!scores.counts.contains_key(&Metric::SubExactMatch));
    // At p = 100 there is no noise: no recall, but a detection rate.
    let all_signal = super::tests::context(Scenario::Sufficiency, &[Signal, Signal], &[]);
    let scores = score(&question(), &all_signal, &given);
    assert_eq!(counts(&scores, Metric::NoiseDetectionAccuracy), (1.0, 2.0));
    assert_eq!(scores.counts[&Metric::NoiseRecall].value(), None);
}

#[test]
fn skipped_sub_questions_stay_in_the_denominator() {
    use Role::{Noise, Signal};
    let context = context(
        Scenario::Integration,
        &[Signal, Signal, Signal, Noise],
        &[None, None, None],
    );
    let mut given = reply(Outcome::Answered, Some('B'));
    given.subs = vec![
        sub("The 1 mg.", Some(0), None),
        None,
        sub("3 mg daily", Some(3), None),
    ];
    let scores = score(&question(), &context, &given);
    assert_eq!(counts(&scores, Metric::SubExactMatch), (1.0, 3.0));
    assert_eq!(counts(&scores, Metric::SubExactMatchSquad), (1.0, 3.0));
    let (f1, asked) = counts(&scores, Metric::SubTokenF1);
    assert!((f1 - 1.8).abs() < 1e-12 && asked == 3.0, "{f1}");
    assert_eq!(counts(&scores, Metric::AttributionAccuracy), (1.0, 3.0));
    assert_eq!(scores.subs[2].named.as_deref(), Some("DOC_4"));
    assert_eq!(scores.subs[0].verdict_right, None);
    assert!(!scores.counts.contains_key(&Metric::FactualErrorDetection));
    assert!(!scores.counts.contains_key(&Metric::SubJudgeScore));
    // An unreadable reply is wrong in everything that was asked.
    let scores = score(&question(), &context, &reply(Outcome::Unreadable, None));
    assert_eq!(counts(&scores, Metric::SubExactMatch), (0.0, 3.0));
}

#[test]
fn verdicts_belong_to_the_document_of_their_sub_question() {
    use Role::{Adversarial, Signal};
    let context = context(
        Scenario::Robustness,
        &[Signal, Adversarial, Adversarial, Signal, Signal],
        &[None, Some("20 mg"), Some("30 mg"), None, None],
    );
    let mut given = reply(Outcome::Answered, Some('A'));
    given.subs = vec![
        sub("1 mg", Some(0), Some(true)),
        // Right verdict although it names another document: that counts against attribution only.
        sub("2 mg", Some(0), Some(false)),
        sub("30 mg", Some(2), Some(true)),
        sub("4 mg", Some(3), Some(false)),
        None,
    ];
    let scores = score(&question(), &context, &given);
    assert_eq!(counts(&scores, Metric::FactualErrorDetection), (2.0, 5.0));
    assert_eq!(counts(&scores, Metric::AdversarialRecall), (1.0, 2.0));
    assert_eq!(counts(&scores, Metric::FalseAlarmRate), (1.0, 3.0));
    assert_eq!(counts(&scores, Metric::MisinformationAdopted), (1.0, 2.0));
    assert_eq!(counts(&scores, Metric::AttributionAccuracy), (3.0, 5.0));
    assert_eq!(counts(&scores, Metric::SubExactMatch), (3.0, 5.0));
    assert_eq!(scores.subs[4].verdict_right, Some(false));
    assert!(scores.subs[2].adopted && !scores.subs[1].adopted);
}

#[test]
fn echoes_of_other_questions_are_marked() {
    let context = context(Scenario::Integration, &[Role::Signal; 2], &[None, None]);
    let mut given = reply(Outcome::Answered, Some('B'));
    given.subs = vec![sub("1 mg", Some(0), None), sub("2 mg", Some(1), None)];
    given.subs[0].as_mut().unwrap().question = Some(context.sub_questions[1].question.clone());
    let scores = score(&question(), &context, &given);
    assert!(scores.subs[0].echo_differs && !scores.subs[1].echo_differs);
}

#[test]
fn a_tally_pools_and_averages() {
    use Role::{Noise, Signal};
    let long = context(Scenario::Sufficiency, &[Signal, Signal, Noise, Noise], &[]);
    let short = context(Scenario::Sufficiency, &[Signal], &[]);
    let mut tally = Tally::default();
    let mut given = reply(Outcome::Answered, Some('B'));
    given.relevant = vec![0];
    tally.add(&score(&question(), &long, &given));
    tally.add(&score(&question(), &short, &given));
    tally.add(&score(
        &question(),
        &short,
        &reply(Outcome::Truncated, None),
    ));
    tally.add(&score(
        &question(),
        &short,
        &reply(Outcome::ProviderError, None),
    ));
    tally.add_failed();
    // 1 of 4, 1 of 1, 0 of 1: pooled 2 of 6, mean of 0.25, 1 and 0.
    assert_eq!(
        tally.pooled[&Metric::NoiseDetectionAccuracy],
        Ratio { num: 2.0, den: 6.0 }
    );
    let mean = tally.mean(Metric::NoiseDetectionAccuracy).unwrap();
    assert!((mean - 1.25 / 3.0).abs() < 1e-12);
    assert_eq!(
        (tally.instances(), tally.unavailable(), tally.replies()),
        (5, 2, 3)
    );
    assert_eq!(tally.unreadable(), Ratio { num: 1.0, den: 3.0 });
    assert_eq!(tally.coverage(), Ratio { num: 2.0, den: 3.0 });
    assert_eq!(tally.rate(Metric::MainAccuracy), Some(2.0 / 3.0));
    assert_eq!(tally.rate(Metric::SubExactMatch), None);
    let (low, high) = tally.interval(Metric::MainAccuracy).unwrap();
    assert!(
        low > 0.2 && low < 0.21 && high > 0.93 && high < 0.95,
        "{low} {high}"
    );
    assert_eq!(tally.interval(Metric::NoiseDetectionAccuracy), None);
}
