//! Tests of the reader.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;

use super::*;

fn read(text: &str) -> Found {
    read_object(text, text.find('{').unwrap_or(0))
}

#[track_caller]
fn reads_as(text: &str, expected: &Value) -> Vec<&'static str> {
    let found = read(text);
    assert_eq!(&Value::Object(found.map), expected, "{text}");
    found.notes
}

#[test]
fn repairs_are_made_and_noted() {
    let both = json!({"a_b": "x", "answer_choice": "B"});
    assert!(reads_as(r#"{"a_b": "x", "answer_choice": "B"}"#, &both).is_empty());
    for text in [
        r#"{"a_b": "x", "answer_choice": "B",}"#,
        r#"{"a_b": "x" "answer_choice": "B"}"#,
        "{'a_b': 'x', 'answer_choice': 'B'}",
        "{a_b: \"x\", answer_choice: \"B\"}",
        "{“a_b”: “x”, “answer_choice”: “B”}",
        r#"{"a_b": "x", "answer_choice": B}"#,
        r#"{"a_b": "x", "answer_choice": "B""#,
        "{\"a_b\": \"x,\n\"answer_choice\": \"B\"}",
        r#"{"a_b" "x", "answer_choice": "B"}"#,
    ] {
        assert!(!reads_as(text, &both).is_empty(), "no note for {text}");
    }
}

#[test]
fn inner_quotes_and_line_breaks_stay_in_the_text() {
    let text =
        "{\"t\": \"so called \"slapped cheek\", which\nis \"red\".\", \"answer_choice\": \"B\"}";
    let notes = reads_as(
        text,
        &json!({"t": "so called \"slapped cheek\", which\nis \"red\".", "answer_choice": "B"}),
    );
    assert_eq!(notes.len(), 2, "{notes:?}");
    reads_as(
        "{'t': 'the patient's knee', 'n': None, 'y': True}",
        &json!({"t": "the patient's knee", "n": null, "y": true}),
    );
}

#[test]
fn open_values_are_marked() {
    let found = read(r#"{"main": {"answer_choice": "B"#);
    assert_eq!(
        found.open,
        Some(vec!["main".to_owned(), "answer_choice".to_owned()])
    );
    assert!(!found.complete);
    let found = read(r#"{"relevant_doc_id": ["DOC_1", "DOC_1"#);
    assert_eq!(found.open, Some(vec!["relevant_doc_id".to_owned()]));
    assert_eq!(found.map["relevant_doc_id"], json!(["DOC_1", "DOC_1"]));
}

#[test]
fn lists_without_quotes_or_commas_are_read() {
    reads_as(
        r#"{"l": [DOC_1, DOC_3]}"#,
        &json!({"l": ["DOC_1", "DOC_3"]}),
    );
    reads_as(
        r#"{"l": ["a" "b"], "k": 1.5}"#,
        &json!({"l": ["a", "b"], "k": 1.5}),
    );
    reads_as(
        r#"{"l": ["a", "b", "k": 2}"#,
        &json!({"l": ["a", "b"], "k": 2}),
    );
}

#[test]
fn escapes_are_resolved() {
    reads_as(
        r#"{"a": "\u00e9 \ud83d\ude00 \ud83d \q \' x",}"#,
        &json!({"a": "é 😀 \u{fffd} \\q ' x"}),
    );
}

#[test]
fn braces_in_prose_begin_no_object() {
    assert!(!begins_object("{x is a set}", 0));
    assert!(!begins_object("{{", 0));
    assert!(begins_object("{ 'a': 1}", 0));
    assert!(begins_object("{a: 1}", 0));
    assert!(begins_object("{", 0));
}
