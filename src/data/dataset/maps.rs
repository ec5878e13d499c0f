//! The JSON files that map a question's id to a list of records.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::data::dataset::files::Content;
use crate::data::dataset::record::{Record, kind, reason, wrong};
use crate::data::dataset::{DatasetError, Problems, QUESTIONS, SIGNAL};
use crate::domain::passage::{Counterfactual, Document, Source, SubQuestion};
use crate::domain::text::{count, short};

/// Ids of the documents of each question.
type DocumentIds<'a> = HashMap<&'a str, HashSet<&'a str>>;

/// Reads the three files; bad records go to `problems`.
pub(super) struct Reader<'a> {
    questions: &'a HashMap<String, usize>,
    problems: &'a mut Problems,
}

impl<'a> Reader<'a> {
    /// A reader for the documents of these questions.
    pub(super) fn new(
        questions: &'a HashMap<String, usize>,
        problems: &'a mut Problems,
    ) -> Reader<'a> {
        Reader {
            questions,
            problems,
        }
    }

    /// `signal_docs.json`, in file order; a document's id is unique within its question.
    pub(super) fn documents(
        &mut self,
        content: Option<&Content<'_>>,
    ) -> Result<Vec<(String, Vec<Document>)>, DatasetError> {
        let mut groups = self.groups(content, |_, record| document(record))?;
        for (question_id, documents) in &mut groups {
            let mut seen = HashSet::new();
            documents.retain(|document| {
                let new = seen.insert(document.id.clone());
                if !new {
                    let said = format!(
                        "{}, question \"{}\": document id \"{}\" stands twice; the second is left out",
                        content.map_or(SIGNAL, |content| &content.name),
                        short(question_id),
                        short(&document.id)
                    );
                    self.problems.add(1, said);
                }
                new
            });
        }
        Ok(groups)
    }

    /// `subqa_pairs.json`.
    pub(super) fn sub_questions(
        &mut self,
        content: Option<&Content<'_>>,
        documents: &DocumentIds<'_>,
    ) -> Result<HashMap<String, Vec<SubQuestion>>, DatasetError> {
        let groups = self.groups(content, |question_id, mut record| {
            let doc_id = document_of(&mut record, "doc_id", question_id, documents)?;
            Ok(SubQuestion {
                doc_id,
                question: record.text("question")?,
                answer: record.text("answer")?,
                extra: record.rest(),
            })
        })?;
        Ok(groups.into_iter().collect())
    }

    /// `counterfactual_docs.json`.
    pub(super) fn counterfactuals(
        &mut self,
        content: Option<&Content<'_>>,
        documents: &DocumentIds<'_>,
    ) -> Result<HashMap<String, Vec<Counterfactual>>, DatasetError> {
        let groups = self.groups(content, |question_id, mut record| {
            let original_id = document_of(&mut record, "original_id", question_id, documents)?;
            Ok(Counterfactual {
                original_id,
                new_answer: record.text("new_answer")?,
                edited_document: record.text("edited_document")?,
                extra: record.rest(),
            })
        })?;
        Ok(groups.into_iter().collect())
    }

    /// Reads one file: every record of every known question, in file order.
    fn groups<T>(
        &mut self,
        content: Option<&Content<'_>>,
        read: impl Fn(&str, Record) -> Result<T, String>,
    ) -> Result<Vec<(String, Vec<T>)>, DatasetError> {
        let Some(content) = content else {
            return Ok(Vec::new());
        };
        let mut groups: Vec<(String, Vec<T>)> = Vec::new();
        let mut seen: HashSet<String> = HashSet::new();
        let mut unknown: Vec<(String, usize)> = Vec::new();
        for (question_id, value) in parse(content)? {
            let place = format!("{}, question \"{}\"", content.name, short(&question_id));
            let Value::Array(items) = value else {
                let found = kind(&value);
                self.problems.add(
                    1,
                    format!("{place}: expected a list of records, found {found}; left out"),
                );
                continue;
            };
            let is_known = self.questions.contains_key(&question_id);
            if is_known && !seen.insert(question_id.clone()) {
                let records = count(items.len(), "record");
                self.problems.add(
                    items.len(),
                    format!("{place}: stands twice in the file; {records} of the second left out"),
                );
                continue;
            }
            if items.is_empty() {
                continue;
            }
            if !is_known {
                if !self.problems.goes_with_lost(&question_id, items.len()) {
                    unknown.push((place, items.len()));
                }
                continue;
            }
            let mut records = Vec::with_capacity(items.len());
            for (at, item) in items.into_iter().enumerate() {
                match Record::new(item).and_then(|record| read(&question_id, record)) {
                    Ok(record) => records.push(record),
                    Err(fault) => {
                        let number = at + 1;
                        self.problems
                            .add(1, format!("{place}, record {number}: {fault}; left out"));
                    }
                }
            }
            groups.push((question_id, records));
        }
        let records = unknown.iter().map(|(_, records)| records).sum();
        if let Some(said) = unknown_questions(&unknown, records) {
            self.problems.add(records, said);
        }
        Ok(groups)
    }
}

/// One sentence for all records of questions that were not read: after a broken `qa.jsonl` there can be
/// thousands, which would bury what is really wrong.
fn unknown_questions(unknown: &[(String, usize)], records: usize) -> Option<String> {
    let (first, _) = unknown.first()?;
    let records = count(records, "record");
    let others = match unknown.len() - 1 {
        0 => String::new(),
        others => format!(" (and {others} more of the file)"),
    };
    Some(format!(
        "{first}{others}: not among the questions read from {QUESTIONS}; {records} left out"
    ))
}

/// The id of one of the question's documents.
fn document_of(
    record: &mut Record,
    field: &str,
    question_id: &str,
    documents: &DocumentIds<'_>,
) -> Result<String, String> {
    let id = record.id(field)?;
    let known = documents
        .get(question_id)
        .is_some_and(|ids| ids.contains(id.as_str()));
    match known {
        true => Ok(id),
        false => Err(format!(
            "{field} \"{}\" is not the id of one of the question's documents in {SIGNAL}",
            short(&id)
        )),
    }
}

fn document(mut record: Record) -> Result<Document, String> {
    Ok(Document {
        id: record.id("id")?,
        title: record.optional_text("title")?,
        content: record.text("content")?,
        source: source(&mut record)?,
        extra: record.rest(),
    })
}

/// `offline` or `online`; the name of a corpus or a site says neither and is kept as it is.
fn source(record: &mut Record) -> Result<Option<Source>, String> {
    match record.take("source") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) if name.eq_ignore_ascii_case("offline") => {
            Ok(Some(Source::Offline))
        }
        Some(Value::String(name)) if name.eq_ignore_ascii_case("online") => {
            Ok(Some(Source::Online))
        }
        Some(Value::String(name)) => {
            record.keep("source", Value::String(name));
            Ok(None)
        }
        Some(other) => Err(wrong("source", "\"offline\" or \"online\"", &other)),
    }
}

/// The entries of the file's object in order, repeated keys too.
fn parse(content: &Content<'_>) -> Result<Vec<(String, Value)>, DatasetError> {
    let text = content.text()?;
    let Entries(entries) = serde_json::from_str(text).map_err(|error| {
        // An error about the whole says already what is expected.
        let complete = match (error.is_eof(), error.is_data()) {
            (true, _) => "; the file ends too early, fetch or write it again",
            (false, true) => "",
            (false, false) => "; expected one JSON object {\"question_id\": [records]}",
        };
        DatasetError(format!(
            "{}, line {}, column {}: {}{complete}",
            content.name,
            error.line(),
            error.column().max(1),
            reason(&error)
        ))
    })?;
    Ok(entries)
}

struct Entries(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor).map(Entries)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Vec<(String, Value)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one JSON object {\"question_id\": [records]}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, Value>()? {
            entries.push((
                crate::domain::text::clean(key.trim()).trim().to_owned(),
                value,
            ));
        }
        Ok(entries)
    }
}
