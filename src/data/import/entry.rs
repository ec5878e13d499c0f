//! From a row and a mapping to a question with what belongs to it.

use serde_json::{Map, Value};

use crate::data::dataset::questions::named;
use crate::data::dataset::record::{Record, kind};
use crate::data::import::mapping::{
    CounterfactualFields, DocumentFields, Mapping, OptionFields, SubQuestionFields, at, key_of,
    names, opened,
};
use crate::data::import::replies::GivenReply;
use crate::domain::passage::{Counterfactual, Document, Source, SubQuestion};
use crate::domain::question::Question;
use crate::domain::text::{clean, short};

/// A question with what belongs to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    /// The question; fields of the source that are not known are in `extra`.
    pub(super) question: Question,
    /// Its signal documents.
    pub(super) documents: Vec<Document>,
    /// Its sub-questions.
    pub(super) sub_questions: Vec<SubQuestion>,
    /// The adversarial versions of its documents.
    pub(super) counterfactuals: Vec<Counterfactual>,
    /// What was left out, one sentence each.
    pub(super) faults: Vec<String>,
    /// Labels of a context's signal documents (`DOC_2`) with their ids; empty where documents have none.
    labels: Vec<(String, String)>,
    /// Documents of a context that play another role than signal, and so are not among its documents.
    pub(super) other_roles: usize,
    /// Whether the question's text or options are not as they stood, see [`is_changed`].
    pub(super) cleaned: bool,
}

impl Entry {
    /// A question alone, read from a file; `cleaned` says whether cleaning changed its text or options, see
    /// [`is_changed`].
    pub(super) fn read(question: Question, cleaned: bool) -> Entry {
        Entry {
            question,
            documents: Vec::new(),
            sub_questions: Vec::new(),
            counterfactuals: Vec::new(),
            faults: Vec::new(),
            labels: Vec::new(),
            other_roles: 0,
            cleaned,
        }
    }

    /// A question of an open dataset.
    pub(super) fn known(question: Question) -> Entry {
        Entry::read(question, false)
    }
}

/// Whether cleaning changes any text of these values: tabs become spaces, and what steers a terminal goes.
pub(super) fn is_changed<'a>(values: impl IntoIterator<Item = Option<&'a Value>>) -> bool {
    fn is_dirty(value: &Value) -> bool {
        match value {
            Value::String(text) => clean(text) != *text,
            Value::Object(fields) => fields.values().any(is_dirty),
            Value::Array(items) => items.iter().any(is_dirty),
            _ => false,
        }
    }
    values.into_iter().flatten().any(is_dirty)
}

/// The longest value of an unmapped field that is kept with its question, in bytes of JSON.
const LONGEST_EXTRA: usize = 4096;

/// The id of a row: its text or number, else `fallback`.
pub(super) fn id_of(
    row: &Map<String, Value>,
    mapping: &Mapping,
    fallback: &str,
) -> Result<String, String> {
    let Some(field) = &mapping.question_id else {
        return Ok(fallback.to_owned());
    };
    match at(row, field) {
        None | Some(Value::Null) => Ok(fallback.to_owned()),
        Some(value) => scalar_text(value)
            .map(|id| clean(id.trim()).trim().to_owned())
            .filter(|id| !id.is_empty())
            .ok_or_else(|| {
                format!(
                    "field \"{field}\" is {}, but an id is expected",
                    kind(value)
                )
            }),
    }
}

/// Reads a row.
///
/// # Errors
/// What is wrong with the question; parts that hang on it are left out one by one and listed in `faults`.
pub(super) fn entry(
    row: &Map<String, Value>,
    mapping: &Mapping,
    fallback: &str,
) -> Result<Entry, String> {
    let id = id_of(row, mapping, fallback)?;
    let options = options_of(row, mapping)?;
    let answer = answer_of(row, mapping, &options)?;
    let text = required(row, mapping.question.as_deref(), "question")?;
    let text = match text {
        Value::String(_) => text.clone(),
        other => {
            return Err(format!(
                "the question is {}, but a text is expected",
                kind(other)
            ));
        }
    };
    let cleaned = is_changed([Some(&text), Some(&options)]);
    let mut fields = Map::new();
    fields.insert("question".to_owned(), text);
    fields.insert("options".to_owned(), options);
    fields.insert("answer".to_owned(), answer);
    for (key, value) in extra(row, mapping) {
        fields.entry(key).or_insert(value);
    }
    let question = Record::new(Value::Object(fields)).and_then(|record| named(id, record))?;
    let mut entry = Entry::read(question, cleaned);
    for fields in &mapping.documents {
        documents(row, fields, &mut entry);
    }
    if let Some(fields) = &mapping.sub_questions {
        sub_questions(row, fields, &mut entry);
    }
    if let Some(fields) = &mapping.counterfactuals {
        counterfactuals(row, fields, &mut entry);
    }
    Ok(entry)
}

/// The reply of a row, where the mapping names one. Null stands for a reply that was saved empty.
pub(super) fn reply(
    row: &Map<String, Value>,
    mapping: &Mapping,
) -> Result<Option<GivenReply>, String> {
    let Some(field) = &mapping.response else {
        return Ok(None);
    };
    let text = match at(row, field) {
        None => return Err(format!("field \"{field}\" is missing; it holds the reply")),
        Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        // A reply that was parsed before it was saved: written out again, it reads the same.
        Some(value @ (Value::Object(_) | Value::Array(_))) => value.to_string(),
        Some(other) => {
            return Err(format!(
                "field \"{field}\" is {}, but a text is expected",
                kind(other)
            ));
        }
    };
    let named = |field: &Option<String>| {
        let value = field.as_deref().and_then(|field| at(row, field))?;
        value.as_str().map(str::to_owned)
    };
    Ok(Some(GivenReply {
        model: named(&mapping.model),
        user: named(&mapping.prompt).unwrap_or_default(),
        ..GivenReply::text(text)
    }))
}

/// The unmapped fields of a row that are small enough to be kept. A field "extra" that holds an object, as our
/// own export writes it, is taken apart.
fn extra(row: &Map<String, Value>, mapping: &Mapping) -> Map<String, Value> {
    let mut extra = Map::new();
    for (key, value) in unmapped(row, mapping) {
        match (key.as_str(), opened(value)) {
            ("extra", Value::Object(fields)) => extra.extend(fields),
            _ if is_small(value) => {
                extra.insert(key.clone(), value.clone());
            }
            _ => {}
        }
    }
    extra
}

/// Whether an unmapped value is kept with its question.
pub(super) fn is_small(value: &Value) -> bool {
    !value.is_null() && value.to_string().len() <= LONGEST_EXTRA
}

/// The fields of a row that the mapping does not use, not even in part.
pub(super) fn unmapped<'a>(
    row: &'a Map<String, Value>,
    mapping: &'a Mapping,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let used = mapping.used();
    row.iter().filter(move |(key, _)| {
        !used.iter().any(|path| {
            path == key
                || path
                    .strip_prefix(key.as_str())
                    .is_some_and(|rest| rest.starts_with('.'))
        })
    })
}

fn required<'a>(
    row: &'a Map<String, Value>,
    field: Option<&str>,
    what: &str,
) -> Result<&'a Value, String> {
    let Some(field) = field else {
        return Err(format!(
            "no field was found that holds the {what}; name it in a mapping file"
        ));
    };
    match at(row, field) {
        None | Some(Value::Null) => {
            Err(format!("field \"{field}\" is missing; it holds the {what}"))
        }
        Some(value) => Ok(value),
    }
}

/// The options as an object or list that the dataset's own reader takes.
fn options_of(row: &Map<String, Value>, mapping: &Mapping) -> Result<Value, String> {
    if let Some(fixed) = &mapping.fixed_options {
        return Ok(fixed.iter().cloned().map(Value::String).collect());
    }
    match &mapping.options {
        Some(OptionFields::Each(fields)) => Ok(fields
            .iter()
            .map_while(|field| at(row, field).filter(|value| !value.is_null()))
            .cloned()
            .collect()),
        Some(OptionFields::One(field)) => {
            let value = required(row, Some(field), "options")?;
            Ok(plain_options(opened(value)))
        }
        None => Err(
            "there are no options; open questions can't be scored as multiple choice (a mapping file may give fixed_options)"
                .to_owned(),
        ),
    }
}

/// Takes the usual shapes of options apart: `{"text": [], "label": []}`, `[{"key", "value"}]`.
pub(super) fn plain_options(value: Value) -> Value {
    let texts_of = |object: &Map<String, Value>, key: &str| object.get(key)?.as_array().cloned();
    if let Value::Object(object) = &value
        && let (Some(texts), Some(labels)) = (texts_of(object, "text"), texts_of(object, "label"))
    {
        let letters = labels
            .iter()
            .all(|label| label.as_str().is_some_and(is_letter));
        return match letters && labels.len() == texts.len() {
            true => labels
                .iter()
                .filter_map(|label| label.as_str().map(str::to_owned))
                .zip(texts)
                .collect::<Map<_, _>>()
                .into(),
            false => Value::Array(texts),
        };
    }
    let Value::Array(items) = &value else {
        return value;
    };
    let pairs: Option<Vec<(String, Value)>> = items
        .iter()
        .map(|item| {
            let item = item.as_object()?;
            let key = key_of(item, &["key", "label", "letter", "id"])?;
            let text = key_of(item, &["value", "text", "option", "content"])?;
            Some((
                item.get(&key)?.as_str()?.to_owned(),
                item.get(&text)?.clone(),
            ))
        })
        .collect();
    match pairs {
        Some(pairs) if !pairs.is_empty() && pairs.iter().all(|(key, _)| is_letter(key)) => {
            pairs.into_iter().collect::<Map<_, _>>().into()
        }
        Some(pairs) if !pairs.is_empty() => pairs.into_iter().map(|(_, text)| text).collect(),
        _ => value,
    }
}

fn is_letter(text: &str) -> bool {
    let text = text.trim();
    text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// The answer as a letter or an option's text.
fn answer_of(
    row: &Map<String, Value>,
    mapping: &Mapping,
    options: &Value,
) -> Result<Value, String> {
    let value = required(row, mapping.answer.as_deref(), "right answer")?;
    answer_text(value, options, mapping.answer_start).map(Value::String)
}

/// An answer as a letter or an option's text: a number is a position, counted from `start`.
///
/// # Errors
/// For a position whose start is not known or beyond the options, and for what is no answer at all.
pub(super) fn answer_text(
    value: &Value,
    options: &Value,
    start: Option<u8>,
) -> Result<String, String> {
    let position = match value {
        Value::String(text) => {
            let digits = text.trim().parse::<usize>().ok();
            match digits.filter(|_| !is_option(text, options)) {
                Some(position) => position,
                None => return Ok(text.clone()),
            }
        }
        Value::Bool(flag) => return Ok(if *flag { "yes" } else { "no" }.to_owned()),
        Value::Number(number) => {
            let whole = number
                .as_u64()
                .and_then(|number| usize::try_from(number).ok());
            whole.ok_or_else(|| format!("the answer {number} is no position of an option"))?
        }
        Value::Array(items) => match items.as_slice() {
            [one] => return answer_text(one, options, start),
            several => {
                return Err(format!(
                    "the answer is a list of {} values, but one letter or text is expected",
                    several.len()
                ));
            }
        },
        other => {
            return Err(format!(
                "the answer is {}, but a letter or text is expected",
                kind(other)
            ));
        }
    };
    let Some(start) = start else {
        return Err(format!(
            "the answer is the number {position}; say in a mapping file where counting starts (answer_start = 0 or 1)"
        ));
    };
    let letters: Vec<String> = match options {
        Value::Object(fields) => fields.keys().cloned().collect(),
        Value::Array(items) => ('A'..='Z').take(items.len()).map(String::from).collect(),
        _ => Vec::new(),
    };
    position
        .checked_sub(usize::from(start))
        .and_then(|at| letters.get(at).cloned())
        .ok_or_else(|| {
            format!(
                "the answer is position {position}, but there are {} options",
                letters.len()
            )
        })
}

fn is_option(text: &str, options: &Value) -> bool {
    let same = |option: &Value| {
        option
            .as_str()
            .is_some_and(|option| option.trim() == text.trim())
    };
    match options {
        Value::Object(fields) => fields.values().any(same),
        Value::Array(items) => items.iter().any(same),
        _ => false,
    }
}

/// A text, or a number as text.
pub(super) fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

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

fn documents(row: &Map<String, Value>, fields: &DocumentFields, entry: &mut Entry) {
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

fn sub_questions(row: &Map<String, Value>, fields: &SubQuestionFields, entry: &mut Entry) {
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

fn counterfactuals(row: &Map<String, Value>, fields: &CounterfactualFields, entry: &mut Entry) {
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

    use super::*;
    use crate::data::import::detect::detect;

    fn read(row: Value, mapping: Mapping) -> Result<Entry, String> {
        let row = row.as_object().unwrap().clone();
        let mapping = mapping.complete(detect(std::slice::from_ref(&row)));
        entry(&row, &mapping, "row-1")
    }

    #[test]
    fn answers_may_be_letters_texts_or_positions() {
        let row = |answer: Value| json!({"id": "q", "question": "Q?", "choices": ["red", "blue"], "answer": answer});
        let from = |start| Mapping {
            answer_start: start,
            ..Mapping::default()
        };
        for (answer, start, letter) in [
            (json!("B"), None, 'B'),
            (json!("red"), None, 'A'),
            (json!(1), Some(0), 'B'),
            (json!("1"), Some(1), 'A'),
            (json!(["blue"]), None, 'B'),
        ] {
            assert_eq!(
                read(row(answer), from(start)).unwrap().question.answer,
                letter
            );
        }
        for (answer, start, part) in [
            (json!(1), None, "answer_start"),
            (json!(2), Some(0), "2 options"),
            (json!(0), Some(1), "2 options"),
            (json!("green"), None, "none of the options"),
            (json!({}), None, "an object"),
        ] {
            let error = read(row(answer.clone()), from(start));
            // An object is not taken for the answer field at all.
            let error = error.unwrap_err();
            assert!(
                error.contains(part) || error.contains("no field was found"),
                "{answer}: {error}"
            );
        }
    }

    #[test]
    fn options_come_in_many_shapes() {
        for options in [
            json!({"A": "x", "B": "y"}),
            json!(["x", "y"]),
            json!("[\"x\", \"y\"]"),
            json!({"text": ["x", "y"], "label": ["A", "B"]}),
            json!({"text": ["x", "y"], "label": ["1", "2"]}),
            json!([{"key": "A", "value": "x"}, {"key": "B", "value": "y"}]),
        ] {
            let entry = read(
                json!({"question": "Q?", "options": options, "answer": "y"}),
                Mapping::default(),
            )
            .unwrap();
            assert_eq!(
                (entry.question.answer, entry.question.gold_text()),
                ('B', "y")
            );
            assert_eq!(entry.question.id, "row-1");
        }
    }

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
