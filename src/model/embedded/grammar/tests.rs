//! Tests of grammars.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use crate::model::FieldKind;
use proptest::prelude::*;

fn shape(scenario: Scenario) -> ReplyShape {
    ReplyShape {
        scenario,
        labels: ["DOC_1", "DOC_2", "DOC_10"].map(str::to_owned).to_vec(),
        ids: ["a", "b", "c"].map(str::to_owned).to_vec(),
        options: vec![('A', "yes".into()), ('B', "no".into())],
        sub_questions: vec!["How \"much\"?".into(), "α\\β\nγ?".into()],
    }
}

#[test]
fn standard_replies() {
    let grammar = Grammar::new(&shape(Scenario::Standard));
    for good in [
        r#"{"step_by_step_thinking":"Because.","answer_choice":"A"}"#,
        r#"{"step_by_step_thinking":"5 \"mg\" \\ \n — µg 漢","answer_choice":"B"}"#,
    ] {
        assert!(grammar.matches(good), "{good}");
        assert!(serde_json::from_str::<serde_json::Value>(good).is_ok());
    }
    for bad in [
        r#"{"step_by_step_thinking":"Because.","answer_choice":"C"}"#,
        r#"{"step_by_step_thinking":"Because.","answer_choice":"AB"}"#,
        r#"{"step_by_step_thinking":"","answer_choice":"A"}"#,
        r#"{"step_by_step_thinking":"x","answer_choice":"insufficient information"}"#,
        r#"{"step_by_step_thinking":"x","answer_choice":"A"} "#,
        r#"{"step_by_step_thinking": "x","answer_choice":"A"}"#,
        r#"{"step_by_step_thinking":"a\tb","answer_choice":"A"}"#,
        r#"{"step_by_step_thinking":"x","answer_choice":"A""#,
        "{\"step_by_step_thinking\":\"a\nb\",\"answer_choice\":\"A\"}",
        "{\"step_by_step_thinking\":\"a\u{7f}\",\"answer_choice\":\"A\"}",
        "{\"step_by_step_thinking\":\"a\u{9b}\",\"answer_choice\":\"A\"}",
        "Sure! {}",
        "",
    ] {
        assert!(!grammar.matches(bad), "{bad}");
    }
}

#[test]
fn sufficiency_offers_lists_without_repeats_and_the_insufficient_answer() {
    let grammar = Grammar::new(&shape(Scenario::Sufficiency));
    let reply = |relevant: &str, irrelevant: &str, answer: &str| {
        format!(
            r#"{{"relevant_doc_id":[{relevant}],"irrelevant_doc_id":[{irrelevant}],"step_by_step_thinking":"x","answer_choice":"{answer}"}}"#
        )
    };
    assert!(grammar.matches(&reply("", "", "A")));
    assert!(grammar.matches(&reply(r#""DOC_10","DOC_1""#, r#""DOC_2""#, INSUFFICIENT)));
    assert!(grammar.matches(&reply(r#""DOC_1","DOC_2","DOC_10""#, r#""DOC_1""#, "B")));
    assert!(!grammar.matches(&reply(r#""DOC_1","DOC_1""#, "", "A")));
    assert!(!grammar.matches(&reply(r#""DOC_3""#, "", "A")));
    assert!(!grammar.matches(&reply(r#""DOC_1","#, "", "A")));
    assert!(!grammar.matches(&reply(r#","DOC_1""#, "", "A")));
    assert!(!grammar.matches(&reply("", "", "insufficient")));
    let bare = ReplyShape {
        labels: vec![],
        ..shape(Scenario::Sufficiency)
    };
    assert!(Grammar::new(&bare).matches(&reply("", "", "A")));
}

#[test]
fn sub_questions_are_echoed_exactly() {
    let integration = Grammar::new(&shape(Scenario::Integration));
    let good = r#"{"sub_1":{"question":"How \"much\"?","answer":"5 mg","doc_id":"DOC_1"},"sub_2":{"question":"α\\β\nγ?","answer":"no","doc_id":"DOC_10"},"main":{"question":"Q","step_by_step_thinking":"x","answer_choice":"B"}}"#;
    assert!(integration.matches(good));
    assert!(!integration.matches(&good.replace("How", "Who")));
    assert!(!integration.matches(&good.replace("DOC_10", "DOC_11")));
    let robustness = Grammar::new(&shape(Scenario::Robustness));
    let good = r#"{"sub_1":{"question":"How \"much\"?","relevant_doc_id":"DOC_2","factual_correctness":false,"answer":"5 mg"},"sub_2":{"question":"α\\β\nγ?","relevant_doc_id":"DOC_1","factual_correctness":true,"answer":"no"},"main":{"question":"Q","step_by_step_thinking":"x","answer_choice":"B"}}"#;
    assert!(robustness.matches(good));
    assert!(!robustness.matches(&good.replace("false", "maybe")));
    assert!(!robustness.matches(&good.replace(",\"answer\":\"no\"", "")));
}

#[test]
fn judgements_have_a_score_of_the_scale() {
    let grammar = Grammar::of(&ReplyForm::Judgement);
    for score in JUDGE_SCORES {
        assert!(grammar.matches(&format!(r#"{{"reasoning":"x","score":"{score}"}}"#)));
    }
    for score in ["2", "0.", "0.55", "", "1.0"] {
        assert!(!grammar.matches(&format!(r#"{{"reasoning":"x","score":"{score}"}}"#)));
    }
}

#[test]
fn fields_come_in_order_and_in_their_kind() {
    let grammar = Grammar::of(&ReplyForm::Fields(vec![
        Field::new("topics", FieldKind::Texts(2)),
        Field::new(
            "links",
            FieldKind::Labels(vec!["LINK_1".into(), "LINK_2".into()]),
        ),
        Field::new(
            "relevant",
            FieldKind::Choice(vec!["yes".into(), "no".into()]),
        ),
        Field::new("sentence_1", FieldKind::Sentence),
        Field::new("other_edits", FieldKind::Edits),
    ]));
    let good = r#"{"topics":["a","b"],"links":["LINK_2"],"relevant":"no","sentence_1":"x","other_edits":[]}"#;
    assert!(grammar.matches(good));
    assert!(grammar.matches(&good.replace("\"LINK_2\"", "")));
    for bad in [
        good.replace("\"a\",", ""),
        good.replace("LINK_2", "LINK_3"),
        good.replace("\"no\"", "\"maybe\""),
        good.replace("[]}", "[1]}"),
    ] {
        assert!(!grammar.matches(&bad), "{bad}");
    }
    assert!(Grammar::of(&ReplyForm::Fields(Vec::new())).matches("{}"));
}

#[test]
fn what_is_forced_is_told_and_the_answer_is_seen_coming() {
    let grammar = Grammar::new(&shape(Scenario::Standard));
    let mut cursor = grammar.start();
    assert_eq!(cursor.forced(), br#"{"step_by_step_thinking":""#);
    for byte in cursor.forced() {
        assert!(cursor.push(byte));
    }
    assert_eq!(cursor.text_role(), Some(TextRole::Reasoning));
    assert!(cursor.forced().is_empty() && cursor.closing().is_none());
    assert!(cursor.push(b'x') && cursor.may_close());
    assert!(cursor.push(b'\\') && !cursor.may_close() && cursor.push(b'"'));
    let closing = cursor.closing().unwrap().to_vec();
    assert!(closing.iter().all(|byte| cursor.push(*byte)));
    assert!(cursor.at_answer());
    assert!(cursor.accepts(b"A\"") && !cursor.accepts(b"C") && !cursor.accepts(b""));
    assert!(cursor.push(b'B') && !cursor.at_answer());
    assert_eq!(cursor.forced(), b"\"}");
}

#[test]
fn overlong_and_broken_utf8_are_refused() {
    let grammar = Grammar::new(&shape(Scenario::Standard));
    let mut cursor = grammar.start();
    for byte in cursor.forced() {
        cursor.push(byte);
    }
    for bad in [
        &[0xC0, 0xA2][..],
        &[0xE0, 0x80, 0xA2],
        &[0xED, 0xA0, 0x80],
        &[0x80],
        &[0xFF],
    ] {
        assert!(!cursor.accepts(bad), "{bad:?}");
    }
    assert!(cursor.accepts("é".as_bytes()) && cursor.accepts(&[0xE2, 0x82]));
    assert!(!cursor.accepts(&[0xE2, 0x82, b'"']));
    assert!(!cursor.accepts(&[0xE2, b'\\']));
}

proptest! {
    /// However bytes are chosen among those allowed, the end is valid JSON.
    #[test]
    fn any_walk_ends_in_json(choices in prop::collection::vec(any::<u8>(), 400), which in 0..4usize) {
        let grammar = Grammar::new(&shape(Scenario::ALL[which]));
        let mut cursor = grammar.start();
        let mut text = Vec::new();
        for choice in choices {
            let forced = cursor.forced();
            let bytes = if forced.is_empty() {
                let Some(byte) = (0..=255u8).map(|k| k.wrapping_add(choice)).find(|b| cursor.accepts(&[*b])) else { break };
                vec![byte]
            } else { forced };
            for byte in bytes { prop_assert!(cursor.push(byte)); text.push(byte); }
        }
        while !cursor.is_done() {
            let mut bytes = cursor.closing().map(<[u8]>::to_vec).unwrap_or_else(|| cursor.forced());
            if bytes.is_empty() {
                bytes = (0..=255u8).rev().find(|b| cursor.accepts(&[*b])).into_iter().collect();
            }
            prop_assert!(!bytes.is_empty());
            for byte in bytes { prop_assert!(cursor.push(byte)); text.push(byte); }
        }
        let text = String::from_utf8(text).unwrap();
        prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{}", text);
        prop_assert!(grammar.matches(&text));
    }
}
