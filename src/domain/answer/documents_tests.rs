//! Tests of document lists.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;

use super::*;
use crate::domain::answer::names::{NUMBERED, RANGE};

fn names() -> Names {
    let labels: Vec<String> = (1..=12).map(|k| format!("DOC_{k}")).collect();
    let ids: Vec<String> = (1..=12).map(|k| format!("pm-{}_{k}", 40 - k)).collect();
    Names::new(&labels, &ids)
}

#[track_caller]
fn reads(value: &Value, expected: &[usize]) -> Vec<String> {
    let mut notes = Vec::new();
    let named = read_list(value, &names(), "relevant_doc_id", &mut notes);
    let [found, _] = settle(Some(named), None, &names(), &mut notes);
    assert_eq!(found.as_deref(), Some(expected), "{value}");
    notes
}

#[test]
fn patterns_compile() {
    for pattern in [&NUMBERED, &RANGE, &NOT_RELEVANT, &LEAD] {
        assert!(pattern.get().is_some());
    }
}

#[test]
fn every_way_to_name_a_document() {
    for name in [
        "DOC_3",
        "doc_3",
        "doc 3",
        "DOC3",
        "Doc-3",
        "Document 3",
        "document #3",
        "[3]",
        "3",
        "03",
        "[DOC_3]",
        "pm-37_3",
        "PM-37_3",
        "DOC_3.",
        "DOC_3 (on aspirin)",
        "DOC_3: on aspirin",
        "**DOC_3**",
    ] {
        assert_eq!(names().resolve(name), Some(2), "{name}");
    }
    for name in [
        "DOC_13",
        "0",
        "",
        "thirteen",
        "pm-37",
        "3f2a",
        "doc3_2",
        "DOC_",
        "99999999999999999999",
    ] {
        assert_eq!(names().resolve(name), None, "{name}");
    }
}

#[test]
fn lists_in_every_shape() {
    assert!(reads(&json!(["DOC_1", "DOC_12"]), &[0, 11]).is_empty());
    assert!(reads(&json!([]), &[]).is_empty());
    reads(&json!([1, 2, "3"]), &[0, 1, 2]);
    reads(
        &json!([{"id": "DOC_2"}, {"doc_id": 3, "why": "x"}, null]),
        &[1, 2],
    );
    reads(&json!("DOC_1, DOC_2 and DOC_4"), &[0, 1, 3]);
    reads(&json!("DOC_1-DOC_3"), &[0, 1, 2]);
    reads(&json!(["DOC_2 to DOC_4", "6–7"]), &[1, 2, 3, 5, 6]);
    reads(&json!("[DOC_1, DOC_2]"), &[0, 1]);
    reads(&json!("none"), &[]);
    reads(&json!(["None of the documents"]), &[]);
    reads(&json!("all except DOC_1-DOC_10"), &[10, 11]);
    reads(&json!("All documents"), &(0..12).collect::<Vec<_>>());
    reads(
        &json!({"DOC_1": "on topic", "DOC_2": false, "DOC_3": true}),
        &[0, 2],
    );
    reads(&json!(null), &[]);
    assert_eq!(reads(&json!(["DOC_1", "doc 1"]), &[0]).len(), 1);
    assert_eq!(reads(&json!(["DOC_77"]), &[]).len(), 1);
    assert_eq!(reads(&json!(["1-999999999"]), &[]).len(), 1);
    for (value, expected) in [
        (json!("documents 1 to 3"), &[0, 1, 2][..]),
        (json!("DOC_2 to 4"), &[1, 2, 3]),
        (json!(["documents 1 to 3"]), &[0, 1, 2]),
        (json!("from DOC_1 up to DOC_2"), &[0, 1]),
        (json!("DOC_3-DOC_1"), &[]),
        (json!("docs 1 & 2"), &[0, 1]),
        (json!("DOC_1 DOC_2 DOC_4"), &[0, 1, 3]),
        (json!("[1][2]"), &[0, 1]),
        (json!("DOC_1/DOC_2"), &[0, 1]),
        (json!("Documents: 1, 2"), &[0, 1]),
        (json!("only DOC_2"), &[1]),
        (json!("both DOC_1 and DOC_2"), &[0, 1]),
        (json!([["DOC_1"], ["DOC_2", 3]]), &[0, 1, 2]),
        (json!([1.0, 2.0]), &[0, 1]),
        (json!([-1]), &[]),
        (json!(["-1"]), &[]),
        (json!([1.5]), &[]),
        (json!(["DOC_1 is not relevant", "DOC_2: relevant"]), &[1]),
        (
            json!([{"id": "DOC_1", "relevant": false}, {"id": "DOC_2", "relevant": true}]),
            &[1],
        ),
        (json!({"DOC_1": "relevant", "DOC_2": "irrelevant"}), &[0]),
        (json!("not DOC_3"), &[]),
        (json!("all documents other than DOC_3 to DOC_12"), &[0, 1]),
        (json!("DOC_1, DOC_2 about aspirin"), &[0, 1]),
        (json!("“DOC_1”"), &[0]),
        (json!("1; 2; 2"), &[0, 1]),
        (json!(true), &[]),
        (json!([[[[["DOC_1"]]]]]), &[]),
    ] {
        reads(&value, expected);
    }
    assert_eq!(reads(&json!(["pm-36_4"]), &[3]).len(), 0);
}

#[test]
fn a_count_from_zero_leaves_bare_numbers_open() {
    let notes = reads(&json!([0, 1, 2]), &[]);
    assert!(
        notes.iter().any(|note| note.contains("from 0")),
        "{notes:?}"
    );
    reads(&json!(["[0]", "DOC_2", "document 3"]), &[1]);
    reads(&json!(["DOC_0", "DOC_2"]), &[1]);
    let mut notes = Vec::new();
    let list = |value: Value, notes: &mut Vec<String>| {
        Some(read_list(&value, &names(), "relevant_doc_id", notes))
    };
    let (first, second) = (
        list(json!([1, 2]), &mut notes),
        list(json!([0]), &mut notes),
    );
    let both = settle(first, second, &names(), &mut notes);
    assert_eq!(both, [Some(vec![]), Some(vec![])]);
}

#[test]
fn the_others_are_what_the_other_list_leaves() {
    let mut notes = Vec::new();
    let mut list =
        |value: Value| Some(read_list(&value, &names(), "irrelevant_doc_id", &mut notes));
    let (first, second) = (list(json!(["DOC_1"])), list(json!("all the others")));
    let both = settle(first, second, &names(), &mut Vec::new());
    assert_eq!(both, [Some(vec![0]), Some((1..12).collect())]);
    let (first, second) = (list(json!("the rest")), list(json!("all other documents")));
    let both = settle(first, second, &names(), &mut Vec::new());
    assert_eq!(both, [Some(vec![]), Some(vec![])]);
    let both = settle(
        None,
        list(json!("The remaining documents")),
        &names(),
        &mut Vec::new(),
    );
    assert_eq!(both, [None, Some(vec![])]);
}

#[test]
fn one_document() {
    let read = |value: Value| {
        let one = read_one(&value, &names(), &mut Vec::new());
        (one.document, one.raw)
    };
    assert_eq!(read(json!("doc 2")), (Some(1), Some("doc 2".into())));
    assert_eq!(read(json!(2)), (Some(1), Some("2".into())));
    assert_eq!(read(json!(["DOC_2"])).0, Some(1));
    assert_eq!(read(json!("DOC_1, DOC_2")).0, None);
    assert_eq!(read(json!(null)), (None, None));
    assert_eq!(read(json!("elsewhere")), (None, Some("elsewhere".into())));
}
