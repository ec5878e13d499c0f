//! What hangs on a question: its documents, and the sub-questions and adversarial versions that belong to them.

use serde_json::{Map, Value};

use super::{Entry, is_small, scalar_text};
use crate::data::dataset::record::kind;
use crate::data::import::mapping::{
    CounterfactualFields, DocumentFields, SubQuestionFields, at, key_of, names, opened,
};
use crate::domain::passage::{Counterfactual, Document, Source, SubQuestion};
use crate::domain::text::{clean, short};

/// The items of a list field; nothing where it is missing or null.
fn items(row: &Map<String, Value>, field: &str, entry: &mut Entry) -> Vec<Value> {
    match at(row, field).map(opened) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items,
        Some(Value::String(text)) if text.trim().is_empty() => Vec::new(),
        Some(other) => {
            entry.faults.push(format!(
                "field \"{field}\" is {}, but a list is expected; left out",
                kind(&other)
            ));
            Vec::new()
        }
    }
}

/// Takes a text of a record from under the mapped key, or from under one of the known names.
fn take_text(
    record: &mut Map<String, Value>,
    key: Option<&String>,
    known: &[&str],
) -> Option<String> {
    let key = key.filter(|key| at(record, key).is_some()).cloned();
    let key = key.or_else(|| key_of(record, known))?;
    let text = clean(&scalar_text(at(record, &key)?)?);
    if text.trim().is_empty() {
        return None;
    }
    record.shift_remove(&key);
    Some(text)
}

/// An item as a record.
fn record_of(item: Value) -> Result<Map<String, Value>, String> {
    match item {
        Value::Object(record) => Ok(record),
        other => Err(format!("is {}", kind(&other))),
    }
}

/// What is left of a record, without what is too long to be kept.
fn rest(mut record: Map<String, Value>) -> Map<String, Value> {
    record.retain(|_, value| is_small(value));
    record
}

/// Reads the signal documents of a row into its entry.
pub(super) fn documents(row: &Map<String, Value>, fields: &DocumentFields, entry: &mut Entry) {
    for (at, item) in items(row, &fields.field, entry).into_iter().enumerate() {
        if plays_another_role(&item, &entry.question.id) {
            entry.other_roles += 1;
            continue;
        }
        let label = label_of(item.as_object());
        match document(item, fields, &entry.question.id, entry.documents.len()) {
            Some(document) => {
                entry
                    .labels
                    .extend(label.map(|label| (label, document.id.clone())));
                entry.documents.push(document);
            }
            None => entry.faults.push(format!(
                "document {} of \"{}\" has no text; left out",
                at + 1,
                fields.field
            )),
        }
    }
}

/// The label by which a context names one of its documents.
fn label_of(record: Option<&Map<String, Value>>) -> Option<String> {
    let label = record?.get("label")?.as_str()?.trim();
    label.starts_with("DOC_").then(|| label.to_owned())
}

/// Whether a document of a context says that it is no signal document of this question: its role is another
/// one, or it comes from another question.
fn plays_another_role(item: &Value, question_id: &str) -> bool {
    let text = |field: &str| item.get(field).and_then(Value::as_str).map(str::trim);
    let of_another = text("from_question").is_some_and(|id| !id.is_empty() && id != question_id);
    let other_role = text("role").is_some_and(|role| {
        [
            "noise",
            "adversarial",
            "irrelevant",
            "distractor",
            "counterfactual",
        ]
        .iter()
        .any(|other| role.eq_ignore_ascii_case(other))
    });
    other_role || of_another
}

fn document(
    item: Value,
    fields: &DocumentFields,
    question_id: &str,
    number: usize,
) -> Option<Document> {
    let numbered = || format!("{question_id}-d{number}");
    let source = match fields.source.as_deref() {
        Some("offline") => Some(Source::Offline),
        Some("online") => Some(Source::Online),
        _ => None,
    };
    let mut record = match item {
        Value::String(text) if !text.trim().is_empty() => {
            return Some(Document {
                id: numbered(),
                title: String::new(),
                content: clean(&text),
                source,
                extra: Map::new(),
            });
        }
        Value::Object(record) => record,
        _ => return None,
    };
    let own_source = match record.get("source").and_then(Value::as_str) {
        Some(name) if name.eq_ignore_ascii_case("offline") => Some(Source::Offline),
        Some(name) if name.eq_ignore_ascii_case("online") => Some(Source::Online),
        _ => None,
    };
    if own_source.is_some() {
        record.shift_remove("source");
    }
    if label_of(Some(&record)).is_some() && record.contains_key("role") {
        // What a document is in one context is no property of it.
        for key in ["label", "role", "original_id", "from_question"] {
            record.shift_remove(key);
        }
    }
    let content = take_text(&mut record, fields.content.as_ref(), &names::CONTENT)?;
    let id =
        take_text(&mut record, fields.id.as_ref(), &names::DOCUMENT_ID).unwrap_or_else(numbered);
    let title_key = fields
        .title
        .clone()
        .or_else(|| key_of(&record, &names::TITLE));
    let title = take_text(&mut record, title_key.as_ref(), &[]).unwrap_or_default();
    if let Some(key) = title_key {
        // An empty title.
        record.shift_remove(&key);
    }
    Some(Document {
        id: id.trim().to_owned(),
        title,
        content,
        source: own_source.or(source),
        extra: rest(record),
    })
}

/// The document that a record belongs to: by id, or the k-th where records have none.
fn belongs_to(id: Option<String>, number: usize, entry: &Entry) -> Result<String, String> {
    let Some(id) = id else {
        return match entry.documents.get(number) {
            Some(document) => Ok(document.id.clone()),
            None => Err("names no document".to_owned()),
        };
    };
    let id = id.trim().to_owned();
    match entry.documents.iter().any(|document| document.id == id) {
        true => Ok(id),
        false => Err(format!(
            "names the document \"{id}\", which is not among the question's documents",
            id = short(&id)
        )),
    }
}

/// Reads the sub-questions of a row into its entry, whose documents are there.
pub(super) fn sub_questions(
    row: &Map<String, Value>,
    fields: &SubQuestionFields,
    entry: &mut Entry,
) {
    for (number, item) in items(row, &fields.field, entry).into_iter().enumerate() {
        let label = label_of(item.as_object());
        let is_context = !entry.labels.is_empty() || entry.other_roles > 0;
        let of_label = label
            .as_ref()
            .filter(|_| is_context && fields.doc_id.is_none());
        let named = of_label.map(|label| entry.labels.iter().find(|(known, _)| known == label));
        if let Some(None) = named {
            // Asked about a document that is no signal document of the question.
            continue;
        }
        let named = named.flatten().map(|(_, id)| id.clone());
        let read = || -> Result<SubQuestion, String> {
            let mut record = record_of(item)?;
            if named.is_some() {
                for key in ["label", "planted"] {
                    record.shift_remove(key);
                }
            }
            let question = take_text(&mut record, fields.question.as_ref(), &names::SUB_QUESTION);
            let answer = take_text(&mut record, fields.answer.as_ref(), &names::SUB_ANSWER);
            let id = take_text(&mut record, fields.doc_id.as_ref(), &names::SUB_DOCUMENT).or(named);
            Ok(SubQuestion {
                doc_id: belongs_to(id, number, entry)?,
                question: question.ok_or("has no question")?,
                answer: answer.ok_or("has no answer")?,
                extra: rest(record),
            })
        };
        match read() {
            Ok(sub) => entry.sub_questions.push(sub),
            Err(why) => entry.faults.push(format!(
                "record {} of \"{}\" {why}; left out",
                number + 1,
                fields.field
            )),
        }
    }
}

/// Reads the adversarial versions of a row into its entry, whose documents are there.
pub(super) fn counterfactuals(
    row: &Map<String, Value>,
    fields: &CounterfactualFields,
    entry: &mut Entry,
) {
    for (number, item) in items(row, &fields.field, entry).into_iter().enumerate() {
        let read = || -> Result<Counterfactual, String> {
            let mut record = record_of(item)?;
            let planted = take_text(&mut record, fields.new_answer.as_ref(), &names::NEW_ANSWER);
            let edited = take_text(&mut record, fields.edited_document.as_ref(), &names::EDITED);
            let id = take_text(&mut record, fields.original_id.as_ref(), &names::ORIGINAL);
            Ok(Counterfactual {
                original_id: belongs_to(id, number, entry)?,
                new_answer: planted.ok_or("has no planted answer")?,
                edited_document: edited.ok_or("has no edited text")?,
                extra: rest(record),
            })
        };
        match read() {
            Ok(version) => entry.counterfactuals.push(version),
            Err(why) => entry.faults.push(format!(
                "record {} of \"{}\" {why}; left out",
                number + 1,
                fields.field
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::super::tests::read;
    use crate::data::import::mapping::Mapping;

    #[test]
    fn parts_find_their_document_by_id_or_position() {
        let entry = read(
            json!({
                "qid": 7, "question": "Q?", "options": ["x", "y"], "answer": "A",
                "docs": [{"id": "d1", "content": "One"}, {"content": "Two", "year": 2001}, {"id": "d3"}],
                "subqa": [{"question": "S1?", "answer": "a"}, {"doc_id": "d9", "question": "S2?", "answer": "b"}],
                "cf": [{"original_id": "d1", "new_answer": "z", "edited_document": "E"}],
            }),
            Mapping::default(),
        )
        .unwrap();
        assert_eq!(entry.question.id, "7");
        let ids: Vec<_> = entry.documents.iter().map(|d| d.id.as_str()).collect();
        assert_eq!(ids, ["d1", "7-d1"]);
        assert_eq!(entry.documents[1].extra["year"], 2001);
        assert_eq!(entry.sub_questions.len(), 1);
        assert_eq!(entry.sub_questions[0].doc_id, "d1");
        assert_eq!(entry.counterfactuals[0].original_id, "d1");
        assert_eq!(entry.faults.len(), 2, "{:?}", entry.faults);
    }
}
