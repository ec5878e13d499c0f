//! Finding out which field of a row is what, by name and by content.

use serde_json::{Map, Value};

use crate::data::import::mapping::{
    CounterfactualFields, DocumentFields, Mapping, OptionFields, SubQuestionFields, key_of, names,
    opened, plain,
};

/// Groups of fields that hold one option each, in the order A, B, ….
const OPTION_GROUPS: [&[&str]; 6] = [
    &["opa", "opb", "opc", "opd", "ope"],
    &["ending0", "ending1", "ending2", "ending3", "ending4"],
    &["optiona", "optionb", "optionc", "optiond", "optione"],
    &["choicea", "choiceb", "choicec", "choiced", "choicee"],
    &["option1", "option2", "option3", "option4", "option5"],
    &["a", "b", "c", "d", "e"],
];

/// Words in a name that say that its documents are not the question's own.
const NOT_SIGNAL: [&str; 4] = ["noise", "irrelevant", "negative", "distractor"];

/// What a list of records is, judged by its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    Documents,
    SubQuestions,
    Counterfactuals,
}

/// The mapping that the first rows suggest. Fields of which nothing is known stay unmapped.
///
/// Lists of records are told apart by their keys: with an edited text they are adversarial versions, with
/// question and answer sub-questions, with a text documents. Lists of plain texts are documents where their
/// name says so.
pub(super) fn detect(rows: &[Map<String, Value>]) -> Mapping {
    let Some(sample) = merged(rows) else {
        return Mapping::default();
    };
    let mut mapping = Mapping {
        question_id: scalar(&sample, &names::QUESTION_ID),
        question: text(&sample, &names::QUESTION),
        answer: answer(&sample),
        response: scalar(&sample, &names::RESPONSE),
        model: text(&sample, &names::MODEL),
        prompt: text(&sample, &names::PROMPT),
        options: options(&sample),
        ..Mapping::default()
    };
    for (field, value) in &sample {
        let Some((list, keys)) = list_of(field, value) else {
            continue;
        };
        match list {
            List::Documents if !is_noise(field) => {
                mapping.documents.push(documents(field, &keys));
            }
            List::Documents => {}
            List::SubQuestions => mapping.sub_questions = Some(sub_questions(field, &keys)),
            List::Counterfactuals => mapping.counterfactuals = Some(counterfactuals(field, &keys)),
        }
    }
    mapping
}

/// Whether a field's name says that it holds noise, which is drawn from other questions here.
pub(super) fn is_noise(field: &str) -> bool {
    let name = plain(field);
    NOT_SIGNAL.iter().any(|word| name.contains(word))
}

/// The first value of every field that is there and not empty.
fn merged(rows: &[Map<String, Value>]) -> Option<Map<String, Value>> {
    let mut sample: Map<String, Value> = rows.first()?.clone();
    for row in rows {
        for (key, value) in row {
            if sample.get(key).is_none_or(is_empty) {
                sample.insert(key.clone(), value.clone());
            }
        }
    }
    Some(sample)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => matches!(text.trim(), "" | "[]" | "{}"),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

fn is_scalar(value: &Value) -> bool {
    value.is_string() || value.is_number() || value.is_boolean()
}

fn scalar(row: &Map<String, Value>, known: &[&str]) -> Option<String> {
    key_of(&only(row, is_scalar), known)
}

/// The right answer: a value of its own, or a list of such.
fn answer(row: &Map<String, Value>) -> Option<String> {
    let listed = |value: &Value| {
        let items = value.as_array();
        items.is_some_and(|items| !items.is_empty() && items.iter().all(is_scalar))
    };
    scalar(row, &names::ANSWER).or_else(|| key_of(&only(row, listed), &names::ANSWER))
}

fn text(row: &Map<String, Value>, known: &[&str]) -> Option<String> {
    key_of(&only(row, Value::is_string), known)
}

fn only(row: &Map<String, Value>, fits: impl Fn(&Value) -> bool) -> Map<String, Value> {
    row.iter()
        .filter(|(_, value)| fits(value))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn options(row: &Map<String, Value>) -> Option<OptionFields> {
    let lists = only(row, |value| {
        matches!(opened(value), Value::Object(_) | Value::Array(_))
    });
    if let Some(field) = key_of(&lists, &names::OPTIONS) {
        return Some(OptionFields::One(field));
    }
    OPTION_GROUPS.iter().find_map(|group| {
        let fields: Vec<String> = group
            .iter()
            .map_while(|name| key_of(row, &[name]))
            .collect();
        (fields.len() >= 2).then_some(OptionFields::Each(fields))
    })
}

/// What a field's list holds, with the keys of its first record (none for plain texts).
fn list_of(field: &str, value: &Value) -> Option<(List, Map<String, Value>)> {
    let Value::Array(items) = opened(value) else {
        return None;
    };
    match items.into_iter().next()? {
        Value::Object(keys) => {
            let has = |known: &[&str]| key_of(&keys, known).is_some();
            let list = if has(&names::EDITED) {
                List::Counterfactuals
            } else if has(&names::SUB_QUESTION) && has(&names::SUB_ANSWER) {
                List::SubQuestions
            } else if has(&names::CONTENT) {
                List::Documents
            } else {
                return None;
            };
            Some((list, keys))
        }
        Value::String(_) => {
            let name = plain(field);
            let documents = [
                "doc",
                "context",
                "passage",
                "snippet",
                "evidence",
                "retrieved",
            ];
            let option = names::OPTIONS.contains(&name.as_str());
            (!option && documents.iter().any(|word| name.contains(word)))
                .then(|| (List::Documents, Map::new()))
        }
        _ => None,
    }
}

fn documents(field: &str, keys: &Map<String, Value>) -> DocumentFields {
    let name = plain(field);
    let source = ["offline", "online"]
        .into_iter()
        .find(|source| name.contains(source));
    DocumentFields {
        field: field.to_owned(),
        id: key_of(keys, &names::DOCUMENT_ID),
        title: key_of(keys, &names::TITLE),
        content: key_of(keys, &names::CONTENT),
        source: source.map(str::to_owned),
    }
}

fn sub_questions(field: &str, keys: &Map<String, Value>) -> SubQuestionFields {
    SubQuestionFields {
        field: field.to_owned(),
        doc_id: key_of(keys, &names::SUB_DOCUMENT),
        question: key_of(keys, &names::SUB_QUESTION),
        answer: key_of(keys, &names::SUB_ANSWER),
    }
}

fn counterfactuals(field: &str, keys: &Map<String, Value>) -> CounterfactualFields {
    CounterfactualFields {
        field: field.to_owned(),
        original_id: key_of(keys, &names::ORIGINAL),
        new_answer: key_of(keys, &names::NEW_ANSWER),
        edited_document: key_of(keys, &names::EDITED),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn rows(value: Value) -> Vec<Map<String, Value>> {
        vec![value.as_object().unwrap().clone()]
    }

    #[test]
    fn lists_are_told_apart_by_their_keys() {
        let mapping = detect(&rows(json!({
            "question_id": "q1", "question": "Q?", "options": "{\"A\":\"x\",\"B\":\"y\"}", "answer": "A",
            "offline_signal": "[{\"id\":\"d1\",\"title\":\"T\",\"content\":\"C\"}]",
            "web": [{"doc_id": "d2", "text": "C2"}],
            "noise_docs": [{"id": "n", "content": "N"}],
            "extra_info": [{"original_id": "d1", "new_answer": "z", "edited_document": "E"}],
            "things": [{"doc_id": "d1", "question": "S?", "answer": "s"}],
            "topics": ["one", "two"],
        })));
        assert_eq!(mapping.options, Some(OptionFields::One("options".into())));
        let documents: Vec<_> = mapping
            .documents
            .iter()
            .map(|d| {
                (
                    d.field.as_str(),
                    d.id.as_deref(),
                    d.content.as_deref(),
                    d.source.as_deref(),
                )
            })
            .collect();
        assert_eq!(
            documents,
            [
                (
                    "offline_signal",
                    Some("id"),
                    Some("content"),
                    Some("offline")
                ),
                ("web", Some("doc_id"), Some("text"), None)
            ]
        );
        assert_eq!(mapping.sub_questions.unwrap().field, "things");
        let versions = mapping.counterfactuals.unwrap();
        assert_eq!(versions.field, "extra_info");
        assert_eq!(versions.original_id.as_deref(), Some("original_id"));
    }

    #[test]
    fn options_may_be_spread_over_fields() {
        let mapping = detect(&rows(
            json!({"id": 7, "sent1": "Q?", "ending0": "x", "ending1": "y", "label": 1}),
        ));
        assert_eq!(
            mapping.options,
            Some(OptionFields::Each(vec!["ending0".into(), "ending1".into()]))
        );
        assert_eq!(mapping.question.as_deref(), Some("sent1"));
        assert_eq!(mapping.answer.as_deref(), Some("label"));
    }

    #[test]
    fn nothing_is_invented() {
        assert_eq!(detect(&[]), Mapping::default());
        assert_eq!(
            detect(&rows(json!({"colour": "red", "n": 3}))),
            Mapping::default()
        );
    }
}
