//! From a row and a mapping to a question with what belongs to it.

mod documents;
mod options;

use serde_json::{Map, Value};

use crate::data::dataset::questions::named;
use crate::data::dataset::record::{Record, kind};
use crate::data::import::mapping::{Mapping, at, opened};
use crate::data::import::replies::GivenReply;
use crate::domain::passage::{Counterfactual, Document, SubQuestion};
use crate::domain::question::Question;
use crate::domain::text::clean;

pub(super) use options::{answer_text, plain_options};

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
    let options = options::options_of(row, mapping)?;
    let answer = options::answer_of(row, mapping, &options)?;
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
        documents::documents(row, fields, &mut entry);
    }
    if let Some(fields) = &mapping.sub_questions {
        documents::sub_questions(row, fields, &mut entry);
    }
    if let Some(fields) = &mapping.counterfactuals {
        documents::counterfactuals(row, fields, &mut entry);
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

/// A text, or a number as text.
pub(super) fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::data::import::detect::detect;

    /// Reads a row with what a mapping leaves open taken from the row itself.
    pub(in crate::data::import) fn read(row: Value, mapping: Mapping) -> Result<Entry, String> {
        let row = row.as_object().unwrap().clone();
        let mapping = mapping.complete(detect(std::slice::from_ref(&row)));
        entry(&row, &mapping, "row-1")
    }
}
