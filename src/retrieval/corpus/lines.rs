//! JSON lines: MedRAG's chunks, BEIR's corpora, paragraphs of Wikipedia.

use std::collections::VecDeque;
use std::fmt;
use std::io::BufRead;

use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};

use crate::domain::plain::{expect_object, json_reason};
use crate::retrieval::corpus::{Format, Record, Where, checked_id};
use crate::retrieval::{CorpusDocument, RetrievalError};
use crate::source::{Line, Lines};

/// The fields of all layouts; what a layout does not know is passed over.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Fields {
    #[serde(default, rename = "_id", deserialize_with = "scalar")]
    beir_id: Option<String>,
    #[serde(default, deserialize_with = "scalar")]
    id: Option<String>,
    title: Option<String>,
    #[serde(rename = "wikipedia_title")]
    page_title: Option<String>,
    content: Option<String>,
    contents: Option<String>,
    text: Option<Text>,
    paragraphs: Option<Vec<String>>,
}

impl Fields {
    /// The layout that a record has, as far as its fields tell.
    pub(super) fn format(&self) -> Option<Format> {
        let has_id = self.id.is_some() || self.beir_id.is_some();
        match &self.text {
            Some(Text::One(_)) if self.beir_id.is_some() => Some(Format::Beir),
            Some(_) if has_id => Some(Format::Wikipedia),
            None if has_id && self.paragraphs.is_some() => Some(Format::Wikipedia),
            None if self.id.is_some() && (self.content.is_some() || self.contents.is_some()) => {
                Some(Format::MedRag)
            }
            _ => None,
        }
    }

    /// The documents of a record.
    fn documents(self, format: Format) -> Result<Vec<CorpusDocument>, String> {
        let (id, name) = match format {
            Format::Beir => (self.beir_id, "_id"),
            _ => (self.id.or(self.beir_id), "id"),
        };
        let id = checked_id(&id.ok_or_else(|| missing(name))?)?;
        let title = self.title.or(self.page_title).unwrap_or_default();
        let texts = match format {
            Format::MedRag => Text::One(
                self.content
                    .or(self.contents)
                    .ok_or_else(|| missing("content"))?,
            ),
            Format::Beir => match self.text.ok_or_else(|| missing("text"))? {
                Text::One(text) => Text::One(text),
                Text::Several(_) => return Err("\"text\" is a list; a text is expected".into()),
            },
            _ => self
                .text
                .or(self.paragraphs.map(Text::Several))
                .ok_or_else(|| missing("text"))?,
        };
        let passages = texts.passages(&id, &title);
        match passages.is_empty() {
            true => Err("its list of texts holds none".into()),
            false => Ok(passages),
        }
    }
}

fn missing(name: &str) -> String {
    format!("there is no field \"{name}\"")
}

/// One text, or one per paragraph.
#[derive(Debug)]
enum Text {
    One(String),
    Several(Vec<String>),
}

impl Text {
    /// A list of paragraphs gives passages `id_0`, `id_1`, …, blank ones left out but counted.
    fn passages(self, id: &str, title: &str) -> Vec<CorpusDocument> {
        let document = |id: String, content: String| CorpusDocument {
            id,
            title: title.to_owned(),
            content,
        };
        match self {
            Text::One(text) => vec![document(id.to_owned(), text)],
            Text::Several(texts) => texts
                .into_iter()
                .enumerate()
                .filter(|(_, text)| !text.trim().is_empty())
                .map(|(number, text)| document(format!("{id}_{number}"), text.trim().to_owned()))
                .collect(),
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text::One(text.to_owned()))
            }
            fn visit_string<E: de::Error>(self, text: String) -> Result<Text, E> {
                Ok(Text::One(text))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Text, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(Text::Several(texts))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// An id: a text, or a whole number as its digits.
fn scalar<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    struct Scalar;
    impl<'de> Visitor<'de> for Scalar {
        type Value = Option<String>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text or a whole number as id")
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Some(text.to_owned()))
        }
        fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
            Ok(Some(number.to_string()))
        }
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
            Ok(Some(number.to_string()))
        }
        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
    }
    deserializer.deserialize_any(Scalar)
}

/// Parses a line.
///
/// # Errors
/// One sentence where it is no JSON object or a field has the wrong type.
pub(super) fn parse(text: &str) -> Result<Fields, String> {
    expect_object(text).map_err(|why| format!("not a record: {why}"))?;
    serde_json::from_str(text).map_err(|error| format!("not a record: {}", json_reason(&error)))
}

/// The records of a file of lines.
pub(super) fn read(
    reader: Box<dyn BufRead>,
    place: Where,
    format: Format,
) -> impl Iterator<Item = Result<Record, RetrievalError>> {
    let mut lines = Lines::new(reader);
    let mut waiting = VecDeque::new();
    let mut ended = false;
    std::iter::from_fn(move || {
        loop {
            if let Some(document) = waiting.pop_front() {
                return Some(Ok(Record::Document(document)));
            }
            if ended {
                return None;
            }
            let (number, result) = match lines.next_line() {
                Ok(None) => return None,
                Err(error) => {
                    ended = true;
                    return Some(Err(place.broken(&error)));
                }
                Ok(Some((number, Line::Bad(why)))) => (number, Err(why)),
                Ok(Some((number, Line::Text(text)))) => (
                    number,
                    parse(text).and_then(|fields| fields.documents(format)),
                ),
            };
            match result {
                Ok(documents) => waiting.extend(documents),
                Err(why) => return Some(Ok(place.bad(format_args!("line {number}"), why))),
            }
        }
    })
}
