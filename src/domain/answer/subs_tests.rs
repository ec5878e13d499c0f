//! Tests of reading sub-answers.

use super::*;

#[test]
fn verdicts_in_every_shape() {
    let read = |value: Value| read_verdict(&value, &mut Vec::new());
    for value in [
        serde_json::json!(true),
        "true".into(),
        "True".into(),
        "yes".into(),
        "Correct".into(),
        "factual".into(),
        "Factually correct.".into(),
        1.into(),
        "1".into(),
        "The document is accurate".into(),
        "True. It says so".into(),
        "not false".into(),
        serde_json::json!([true]),
    ] {
        assert_eq!(read(value.clone()), Some(true), "{value}");
    }
    for value in [
        serde_json::json!(false),
        "FALSE".into(),
        "no".into(),
        "incorrect".into(),
        "not factual".into(),
        "not factually correct".into(),
        "non-factual".into(),
        0.into(),
        "Inaccurate: x".into(),
        "factually incorrect".into(),
        "No, it contradicts".into(),
        "isn't correct".into(),
    ] {
        assert_eq!(read(value.clone()), Some(false), "{value}");
    }
    for value in [
        Value::Null,
        "partially correct".into(),
        2.into(),
        "maybe".into(),
        "".into(),
    ] {
        assert_eq!(read(value.clone()), None, "{value}");
    }
}

#[test]
fn keys_of_sub_answers() {
    for (key, k) in [
        ("sub_1", 1),
        ("Sub-12", 12),
        ("sub_question_3", 3),
        ("sub2", 2),
        ("Q4", 4),
    ] {
        assert_eq!(number(&key_form(key)), Some(k), "{key}");
    }
    for key in [
        "sub_",
        "subject",
        "sub_x",
        "main",
        "sub_99999999999999999999999",
    ] {
        assert_eq!(number(&key_form(key)), None, "{key}");
    }
}

#[test]
fn echoes_are_verified() {
    let asked = vec![
        "What dose was used in adults?".to_owned(),
        "What dose was used in children?".to_owned(),
    ];
    assert!(!echoes_another("what dose was used in adults", 0, &asked));
    assert!(!echoes_another(
        "What is the dose used in adults",
        0,
        &asked
    ));
    assert!(echoes_another("What dose was used in children?", 0, &asked));
    assert!(echoes_another("Who discovered penicillin", 0, &asked));
    assert!(!echoes_another("", 0, &asked));
    assert!(!echoes_another("x", 7, &asked));
}
