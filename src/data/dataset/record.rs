//! One record of a file, field by field: what a field must be, and which are left over.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

pub(in crate::data) use crate::domain::plain::json_reason as reason;
use crate::domain::text::{clean, short};

/// The longest text of one field, in bytes.
pub(in crate::data) const LONGEST_TEXT: usize = 1 << 20;

/// The fields of a record that have not been taken yet.
#[derive(Debug)]
pub(in crate::data) struct Record(Map<String, Value>);

impl Record {
    /// A record from any JSON value.
    pub(in crate::data) fn new(value: Value) -> Result<Record, String> {
        match value {
            Value::Object(fields) => Ok(Record(fields)),
            other => Err(format!("expected an object, found {}", kind(&other))),
        }
    }

    /// A text that must be there and not blank, cleaned.
    pub(in crate::data) fn text(&mut self, field: &str) -> Result<String, String> {
        let text = match self.value(field)? {
            Value::String(text) => text_field(field, &text)?,
            other => return Err(wrong(field, "a text", &other)),
        };
        match text.trim().is_empty() {
            true => Err(format!("field \"{field}\" is empty")),
            false => Ok(text),
        }
    }

    /// An id: a text without spaces around it.
    pub(in crate::data) fn id(&mut self, field: &str) -> Result<String, String> {
        Ok(self.text(field)?.trim().to_owned())
    }

    /// A text that may be missing, null or blank.
    pub(in crate::data) fn optional_text(&mut self, field: &str) -> Result<String, String> {
        match self.0.shift_remove(field) {
            None | Some(Value::Null) => Ok(String::new()),
            Some(Value::String(text)) => text_field(field, &text),
            Some(other) => Err(wrong(field, "a text", &other)),
        }
    }

    /// A value that must be there.
    pub(in crate::data) fn value(&mut self, field: &str) -> Result<Value, String> {
        self.0
            .shift_remove(field)
            .ok_or_else(|| format!("field \"{field}\" is missing"))
    }

    /// A value that may be missing.
    pub(in crate::data) fn take(&mut self, field: &str) -> Option<Value> {
        self.0.shift_remove(field)
    }

    /// Puts a value back among those left over.
    pub(in crate::data) fn keep(&mut self, field: &str, value: Value) {
        self.0.insert(field.to_owned(), value);
    }

    /// The fields that this program does not know.
    pub(in crate::data) fn rest(self) -> Map<String, Value> {
        self.0
    }
}

/// Cleans a text and refuses one that is too long.
pub(in crate::data) fn text_field(field: &str, text: &str) -> Result<String, String> {
    match text.len() > LONGEST_TEXT {
        true => Err(format!(
            "field \"{field}\" has {} bytes, but at most {LONGEST_TEXT} are read",
            text.len()
        )),
        false => Ok(clean(text)),
    }
}

/// The message for a field of the wrong type.
pub(in crate::data) fn wrong(field: &str, expected: &str, found: &Value) -> String {
    format!(
        "field \"{field}\" is {}, but {expected} is expected",
        kind(found)
    )
}

/// What a JSON value is, in words.
pub(in crate::data) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A JSON value in which no object has a field twice (which `serde_json` would drop without a word).
#[derive(Debug)]
pub(in crate::data) struct Unique(pub(in crate::data) Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Unique)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some((key, Unique(value))) = entries.next_entry::<String, Unique>()? {
            if fields.contains_key(&key) {
                return Err(A::Error::custom(format!(
                    "field \"{}\" stands twice",
                    short(&key)
                )));
            }
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}
