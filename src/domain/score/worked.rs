//! A worked example per scenario: a context and a raw reply, and every metric computed by hand in the
//! comments. Then what must hold for any reply.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;

use super::*;
use crate::domain::answer::{Ending, parse};
use crate::domain::context::{ContextDocument, Mode, SourceFilter};
use crate::domain::prompt::reply_shape;
use crate::domain::question::Choice;

/// Three options; the right one is B.
fn question() -> Question {
    let option = |letter, text: &str| Choice {
        letter,
        text: text.into(),
    };
    Question {
        id: "q".into(),
        text: "Which drug lowers blood sugar most?".into(),
        options: vec![
            option('A', "aspirin"),
            option('B', "metformin"),
            option('C', "warfarin"),
        ],
        answer: 'B',
        extra: serde_json::Map::new(),
    }
}

/// Documents `DOC_1`, … with these roles; sub-questions as (label, true answer, planted answer).
fn context(scenario: Scenario, roles: &[Role], subs: &[(&str, &str, Option<&str>)]) -> Context {
    let documents = roles.iter().enumerate().map(|(at, role)| ContextDocument {
        label: format!("DOC_{}", at + 1),
        id: format!("d{at}"),
        role: *role,
        original_id: None,
        source: None,
        title: String::new(),
        content: format!("Text {at}."),
        from_question: None,
    });
    let sub_questions = subs
        .iter()
        .map(|(label, gold, planted)| ContextSubQuestion {
            question: format!("What does the trial of {label} say about its group?"),
            answer: (*gold).into(),
            label: (*label).into(),
            planted: planted.map(str::to_owned),
        });
    Context {
        variant: None,
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
        documents: documents.collect(),
        sub_questions: sub_questions.collect(),
    }
}

fn scored(context: &Context, raw: &str) -> Scores {
    let question = question();
    let shape = reply_shape(&question, context);
    score(&question, context, &parse(raw, &shape, Ending::Complete))
}

/// Checks that a reply has exactly these metrics with these counts.
#[track_caller]
fn check(scores: &Scores, expected: &[(Metric, f64, f64)]) {
    let found: Vec<Metric> = scores.counts.keys().copied().collect();
    let named: Vec<Metric> = expected.iter().map(|(metric, _, _)| *metric).collect();
    assert_eq!(found, named);
    for (metric, num, den) in expected {
        let ratio = scores.counts[metric];
        assert!(
            (ratio.num - num).abs() < 1e-12 && ratio.den == *den,
            "{metric}: {} of {}, expected {num} of {den}",
            ratio.num,
            ratio.den
        );
    }
}

use Metric::*;
use Role::{Adversarial, Noise, Signal};

#[test]
fn standard_by_hand() {
    let context = context(Scenario::Standard, &[Signal, Signal], &[]);
    // B is right: one right of one reply, none insufficient, one right of one that chose an option.
    let right = scored(
        &context,
        r#"{"step_by_step_thinking": "It lowers sugar.", "answer_choice": "B"}"#,
    );
    check(
        &right,
        &[
            (MainAccuracy, 1.0, 1.0),
            (InsufficientRate, 0.0, 1.0),
            (AccuracyWhenAnswered, 1.0, 1.0),
        ],
    );
    assert_eq!(right.main_correct, Some(true));
    // "A or B" names two options: a reply, not right, and it chose no option.
    let two = scored(
        &context,
        r#"{"step_by_step_thinking": "Either.", "answer_choice": "A or B"}"#,
    );
    assert_eq!(two.outcome, Outcome::SeveralOptions);
    check(
        &two,
        &[
            (MainAccuracy, 0.0, 1.0),
            (InsufficientRate, 0.0, 1.0),
            (AccuracyWhenAnswered, 0.0, 0.0),
        ],
    );
    // An error message saved as a reply is no reply: in no rate at all.
    let error = scored(&context, "503 Service Unavailable");
    check(&error, &[]);
    assert_eq!(error.main_correct, None);
}

#[test]
fn sufficiency_by_hand() {
    let roles = [Signal, Noise, Signal, Noise, Noise];
    let context = context(Scenario::Sufficiency, &roles, &[]);
    let scores = scored(
        &context,
        r#"{"relevant_doc_id": ["DOC_1", "DOC_2", "DOC_4"], "irrelevant_doc_id": ["DOC_4", "DOC_5"],
            "step_by_step_thinking": "Not enough.", "answer_choice": "insufficient information"}"#,
    );
    // DOC_1 signal, called relevant: right.      DOC_2 noise, called relevant: wrong.
    // DOC_3 signal, not labelled: wrong.         DOC_4 noise, in both lists: wrong.
    // DOC_5 noise, called irrelevant: right.
    check(
        &scores,
        &[
            // "Insufficient information" is a reply, is not right, and chooses no option.
            (MainAccuracy, 0.0, 1.0),
            (InsufficientRate, 1.0, 1.0),
            (AccuracyWhenAnswered, 0.0, 0.0),
            // DOC_1 and DOC_5 of all five.
            (NoiseDetectionAccuracy, 2.0, 5.0),
            // The same two of DOC_1, DOC_2, DOC_4 and DOC_5, which have a label.
            (NoiseDetectionLabelled, 2.0, 4.0),
            // Noise is DOC_2, DOC_4 and DOC_5; only DOC_5 is called so and nothing else.
            (NoiseRecall, 1.0, 3.0),
            // Only DOC_5 is called irrelevant and nothing else, and it is noise.
            (NoisePrecision, 1.0, 1.0),
            // Signal is DOC_1 and DOC_3; DOC_1 is called relevant.
            (SignalRecall, 1.0, 2.0),
        ],
    );
}

#[test]
fn integration_by_hand() {
    let context = context(
        Scenario::Integration,
        &[Signal, Noise, Signal, Signal],
        &[
            ("DOC_1", "5 mg daily", None),
            ("DOC_3", "the left atrium", None),
            ("DOC_4", "metformin", None),
        ],
    );
    let raw = r#"{"sub_1": {"question": "", "answer": "5 mg", "doc_id": "DOC_1"},
        "sub_3": {"question": "", "answer": "Metformin.", "doc_id": "DOC_2"},
        "main": {"question": "", "step_by_step_thinking": "It is B.", "answer_choice": "B"}}"#;
    let mut scores = scored(&context, raw);
    let asked = [
        (MainAccuracy, 1.0, 1.0),
        (InsufficientRate, 0.0, 1.0),
        (AccuracyWhenAnswered, 1.0, 1.0),
        // Sub-answer 1 lacks "daily", 2 is skipped and stays in the denominator, 3 is "metformin" in
        // both normalisations.
        (SubExactMatch, 1.0, 3.0),
        (SubExactMatchSquad, 1.0, 3.0),
        // 1: two of two tokens given, two of three wanted: 2·2/(2+3) = 0.8. 2: 0. 3: 1.
        (SubTokenF1, 1.8, 3.0),
        // 1 names its document, 3 names a noise document, 2 names none.
        (AttributionAccuracy, 1.0, 3.0),
    ];
    check(&scores, &asked);
    assert!(scores.subs[1].given.is_none());

    // The judge finds 1 to be a part of the answer (0.5) and 3 to be complete (1); it is not asked about
    // 2, which was skipped (0): 1.5 of 3.
    scores.put_judge("gpt", |sub, given| match (sub, given) {
        (0, "5 mg") => Some(0.5),
        (2, "Metformin.") => Some(1.0),
        _ => panic!("not to be judged"),
    });
    assert_eq!(scores.counts[&SubJudgeScore], Ratio { num: 1.5, den: 3.0 });
    assert_eq!(scores.judge.as_deref(), Some("gpt"));
    let judged: Vec<Option<f64>> = scores.subs.iter().map(|sub| sub.judge).collect();
    assert_eq!(judged, [Some(0.5), Some(0.0), Some(1.0)]);
    // Its judgement of 3 can't be read: out of the denominator, 0.5 of 2.
    scores.put_judge("gpt", |sub, _| (sub == 0).then_some(0.5));
    assert_eq!(scores.counts[&SubJudgeScore], Ratio { num: 0.5, den: 2.0 });
}

#[test]
fn robustness_by_hand() {
    let context = context(
        Scenario::Robustness,
        &[Signal, Adversarial, Adversarial, Signal],
        &[
            ("DOC_1", "1 mg", None),
            ("DOC_2", "2 mg", Some("20 mg")),
            ("DOC_3", "no", Some("yes")),
            ("DOC_4", "4 mg", None),
        ],
    );
    let raw = r#"{"sub_1": {"question": "", "relevant_doc_id": "DOC_1", "factual_correctness": true, "answer": "1 mg"},
        "sub_2": {"question": "", "relevant_doc_id": "DOC_1", "factual_correctness": false, "answer": "2 mg"},
        "sub_3": {"question": "", "relevant_doc_id": "DOC_3", "factual_correctness": true, "answer": "Yes"},
        "main": {"question": "", "step_by_step_thinking": "So A.", "answer_choice": "A"}}"#;
    check(
        &scored(&context, raw),
        &[
            // A is wrong.
            (MainAccuracy, 0.0, 1.0),
            (InsufficientRate, 0.0, 1.0),
            (AccuracyWhenAnswered, 0.0, 1.0),
            // 1 and 2 are the true answers, 3 is not, 4 is skipped.
            (SubExactMatch, 2.0, 4.0),
            (SubExactMatchSquad, 2.0, 4.0),
            // 1 and 2 wholly, "yes" shares nothing with "no".
            (SubTokenF1, 2.0, 4.0),
            // 1 and 3 name their document, 2 names another's, 4 none.
            (AttributionAccuracy, 2.0, 4.0),
            // Verdicts: 1 true of an original, right. 2 false of an adversarial one, right, although it
            // names another document. 3 true of an adversarial one, wrong. 4 missing, wrong.
            (FactualErrorDetection, 2.0, 4.0),
            // Of DOC_2 and DOC_3 one is called wrong.
            (AdversarialRecall, 1.0, 2.0),
            // Of DOC_1 and DOC_4 none is called wrong.
            (FalseAlarmRate, 0.0, 2.0),
            // Of the sub-questions of DOC_2 and DOC_3 the second is answered with the planted answer.
            (MisinformationAdopted, 1.0, 2.0),
        ],
    );
}

/// A context of each scenario and a reply to it without a fault.
fn perfect() -> [(Context, &'static str); 4] {
    [
        (
            context(Scenario::Standard, &[Signal], &[]),
            r#"{"step_by_step_thinking": "x", "answer_choice": "B"}"#,
        ),
        (
            context(Scenario::Sufficiency, &[Noise, Signal, Noise], &[]),
            r#"{"relevant_doc_id": ["DOC_2"], "irrelevant_doc_id": ["DOC_1", "DOC_3"], "step_by_step_thinking": "x", "answer_choice": "B"}"#,
        ),
        (
            context(
                Scenario::Integration,
                &[Noise, Signal],
                &[("DOC_2", "the aorta", None)],
            ),
            r#"{"sub_1": {"question": "", "answer": "Aorta", "doc_id": "DOC_2"}, "main": {"question": "", "step_by_step_thinking": "x", "answer_choice": "B"}}"#,
        ),
        (
            context(
                Scenario::Robustness,
                &[Adversarial, Signal],
                &[("DOC_1", "no", Some("yes")), ("DOC_2", "5 mg", None)],
            ),
            r#"{"sub_1": {"question": "", "relevant_doc_id": "DOC_1", "factual_correctness": false, "answer": "no"}, "sub_2": {"question": "", "relevant_doc_id": "DOC_2", "factual_correctness": true, "answer": "5 mg"}, "main": {"question": "", "step_by_step_thinking": "x", "answer_choice": "B"}}"#,
        ),
    ]
}

#[test]
fn a_perfect_reply_scores_1_and_an_empty_one_0() {
    for (context, raw) in perfect() {
        let mut best = scored(&context, raw);
        best.put_judge("gpt", |_, _| Some(1.0));
        let mut empty = scored(&context, "");
        empty.put_judge("gpt", |_, _| panic!("nothing was given"));
        for (metric, ratio) in &best.counts {
            let wanted = match metric.higher_is_better() {
                Some(true) => 1.0,
                _ => 0.0,
            };
            assert_eq!(ratio.value(), Some(wanted), "{metric}");
            let nothing = empty.counts[metric];
            assert_eq!(nothing.num, 0.0, "{metric}");
            // What depends on what the reply says has nothing to divide by; the rest is 0.
            let said = matches!(
                metric,
                AccuracyWhenAnswered | NoiseDetectionLabelled | NoisePrecision
            );
            assert_eq!(nothing.den > 0.0, !said, "{metric}");
        }
        assert_eq!(best.counts.len(), empty.counts.len());
    }
}

#[test]
fn a_document_named_without_an_answer_is_no_attribution() {
    let context = context(Scenario::Integration, &[Signal], &[("DOC_1", "5 mg", None)]);
    let scores = scored(
        &context,
        r#"{"sub_1": {"question": "", "answer": " ", "doc_id": "DOC_1"}, "main": {"question": "", "step_by_step_thinking": "x", "answer_choice": "B"}}"#,
    );
    assert_eq!(
        scores.counts[&AttributionAccuracy],
        Ratio { num: 0.0, den: 1.0 }
    );
    assert_eq!(scores.subs[0].named.as_deref(), Some("DOC_1"));
}

/// A sub-answer in JSON, or none.
fn sub_reply() -> impl Strategy<Value = Option<String>> {
    let answer = prop_oneof![
        Just("1 mg"),
        Just("10 mg"),
        Just("the 1 mg"),
        Just(""),
        Just("x y")
    ];
    let document = prop_oneof![Just("DOC_1"), Just("DOC_2"), Just("DOC_9"), Just("")];
    let verdict = prop_oneof![Just("true"), Just("false"), Just("null")];
    proptest::option::of((answer, document, verdict).prop_map(|(answer, document, verdict)| {
        format!(
            r#"{{"answer": "{answer}", "doc_id": "{document}", "relevant_doc_id": "{document}", "factual_correctness": {verdict}}}"#
        )
    }))
}

/// A reply with whatever fields, some of them cut off.
fn any_reply() -> impl Strategy<Value = String> {
    let list = || proptest::collection::vec("DOC_[1-6]", 0..5);
    let choice = prop_oneof![
        Just("A"),
        Just("B"),
        Just("insufficient information"),
        Just("none"),
        Just("")
    ];
    let subs = proptest::collection::vec(sub_reply(), 0..5);
    (list(), list(), subs, choice, 0..200_usize).prop_map(|(yes, no, subs, choice, cut)| {
        let subs: String = subs
            .iter()
            .enumerate()
            .filter_map(|(at, sub)| Some(format!("\"sub_{}\": {}, ", at + 1, sub.as_ref()?)))
            .collect();
        let mut text = format!(
            "{{\"relevant_doc_id\": {yes:?}, \"irrelevant_doc_id\": {no:?}, {subs}\"answer_choice\": \"{choice}\"}}"
        );
        // One in four is cut off.
        text.truncate(if cut < 50 { cut * 4 } else { text.len() });
        text
    })
}

fn any_context() -> impl Strategy<Value = Context> {
    (0..4_usize, proptest::collection::vec(0..3_u8, 1..6)).prop_map(|(scenario, roles)| {
        let scenario = Scenario::ALL[scenario];
        let roles: Vec<Role> = roles
            .iter()
            .map(|role| match (scenario, role) {
                (Scenario::Robustness, 0) => Adversarial,
                (Scenario::Sufficiency | Scenario::Integration, 0) => Noise,
                _ => Signal,
            })
            .collect();
        let labels: Vec<String> = (1..=roles.len()).map(|k| format!("DOC_{k}")).collect();
        let subs: Vec<(&str, &str, Option<&str>)> = roles
            .iter()
            .zip(&labels)
            .filter(|(role, _)| **role != Noise)
            .map(|(role, label)| {
                let planted = (*role == Adversarial).then_some("10 mg");
                (label.as_str(), "1 mg", planted)
            })
            .collect();
        let asks = matches!(scenario, Scenario::Integration | Scenario::Robustness);
        context(scenario, &roles, if asks { &subs } else { &[] })
    })
}

fn any_scores() -> impl Strategy<Value = Scores> {
    (any_context(), any_reply(), any::<bool>()).prop_map(|(context, raw, judged)| {
        let mut scores = scored(&context, &raw);
        if judged {
            scores.put_judge("gpt", |sub, given| {
                (given.len() % 3 > 0).then_some(if sub % 2 == 0 { 0.5 } else { 1.0 })
            });
        }
        scores
    })
}

fn tally(scores: &[Scores]) -> Tally {
    let mut tally = Tally::default();
    for scores in scores {
        tally.add(scores);
    }
    tally
}

/// Equal counts; sums of fractions may differ in their last bits.
fn assert_same(a: &Tally, b: &Tally) -> Result<(), TestCaseError> {
    prop_assert_eq!(&a.outcomes, &b.outcomes);
    prop_assert_eq!(a.failed, b.failed);
    for (a, b) in [(&a.pooled, &b.pooled), (&a.per_question, &b.per_question)] {
        prop_assert_eq!(a.len(), b.len());
        for (metric, ratio) in a {
            prop_assert!((ratio.num - b[metric].num).abs() < 1e-9, "{}", metric);
            prop_assert_eq!(ratio.den, b[metric].den, "{}", metric);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn rates_are_shares(scores in any_scores()) {
        for (metric, ratio) in &scores.counts {
            prop_assert!(0.0 <= ratio.num && ratio.num <= ratio.den, "{}: {:?}", metric, ratio);
            if let Some(rate) = ratio.value() {
                prop_assert!((0.0..=1.0).contains(&rate), "{}", metric);
            }
        }
        // What was asked stays in the denominator, whatever was answered.
        let asked = scores.subs.len() as f64;
        for metric in [SubExactMatch, SubExactMatchSquad, SubTokenF1, AttributionAccuracy] {
            if let Some(ratio) = scores.counts.get(&metric) {
                prop_assert_eq!(ratio.den, asked);
            }
        }
        if let Some(ratio) = scores.counts.get(&NoiseDetectionAccuracy) {
            prop_assert_eq!(ratio.den, scores.documents.len() as f64);
        }
    }

    #[test]
    fn the_order_of_a_tally_does_not_matter(scores in proptest::collection::vec(any_scores(), 0..12), turn in 0..12_usize) {
        let mut turned = scores.clone();
        turned.rotate_left(turn.min(scores.len()));
        assert_same(&tally(&scores), &tally(&turned))?;
        turned.reverse();
        assert_same(&tally(&scores), &tally(&turned))?;
    }

    #[test]
    fn merging_tallies_is_associative(scores in proptest::collection::vec(any_scores(), 3..12), cuts in (1..12_usize, 1..12_usize)) {
        let first = cuts.0.min(cuts.1).min(scores.len());
        let second = cuts.0.max(cuts.1).min(scores.len());
        let [a, b, c] = [&scores[..first], &scores[first..second], &scores[second..]].map(tally);
        let mut left = a.clone();
        left.merge(&b);
        left.merge(&c);
        let mut tail = b.clone();
        tail.merge(&c);
        let mut right = a.clone();
        right.merge(&tail);
        assert_same(&left, &right)?;
        assert_same(&left, &tally(&scores))?;
    }
}
