//! PubMedQA's files: `ori_pqal.json` and its splits.
//!
//! One object that maps PubMed ids to records with `QUESTION`, `CONTEXTS` (the abstract's sections without
//! the conclusion), `LABELS` (their names), `final_decision` (yes, no, maybe) and `LONG_ANSWER`.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::data::dataset::record::kind;
use crate::data::import::entry::{Entry, is_changed};
use crate::data::import::sink::Sink;
use crate::data::import::walk::members;
use crate::data::import::{ImportError, files, stem};
use crate::domain::passage::Document;
use crate::domain::question::{Choice, Question};
use crate::domain::text::{clean, short};

/// The options, in the order of MIRAGE's PubMedQA*.
pub(super) const OPTIONS: [(char, &str); 3] = [('A', "yes"), ('B', "no"), ('C', "maybe")];

/// Reads every file; each is a set of its own.
pub(super) fn read(sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let found = files(&sink.request.paths, &|name| name.ends_with(".json"))?;
    sink.expect_files(&found);
    for path in &found {
        sink.begin_set(&stem(path), found.len() > 1)?;
        read_file(sink, path)?;
        sink.end_set("pubmedqa")?;
    }
    Ok(())
}

fn read_file(sink: &mut Sink<'_>, path: &Path) -> Result<(), ImportError> {
    let reader = sink.open(path)?;
    members(reader, &mut |trail, value| {
        sink.look()?;
        let id = trail.first().map_or("", String::as_str);
        let place = format!("{}, question \"{id}\"", path.display(), id = short(id));
        match entry(id, &value) {
            Ok(mut entry) => sink.question(&place, &mut entry),
            Err(fault) => {
                sink.bad(&place, &fault);
                Ok(())
            }
        }
    })
    .or_else(|error| sink.broken(path, error))
}

/// A record as a question with its abstract's sections as documents. The conclusion (`LONG_ANSWER`) gives
/// the answer away, so it is kept with the question and is no document.
pub(super) fn entry(id: &str, value: &Value) -> Result<Entry, String> {
    let Value::Object(record) = value else {
        return Err(format!("expected an object, found {}", kind(value)));
    };
    let text = record
        .get("QUESTION")
        .and_then(Value::as_str)
        .map(clean)
        .filter(|text| !text.trim().is_empty())
        .ok_or("field \"QUESTION\" is missing or no text")?;
    let decision = record
        .get("final_decision")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let answer = OPTIONS
        .iter()
        .find(|(_, word)| word.eq_ignore_ascii_case(decision.trim()))
        .map(|(letter, _)| *letter)
        .ok_or_else(|| {
            format!(
                "field \"final_decision\" is \"{decision}\", but yes, no or maybe is expected",
                decision = short(decision)
            )
        })?;
    let mut extra = Map::new();
    for (field, name) in [
        ("LONG_ANSWER", "long_answer"),
        ("YEAR", "year"),
        ("MESHES", "meshes"),
    ] {
        if let Some(value) = record.get(field).filter(|value| !value.is_null()) {
            extra.insert(name.to_owned(), value.clone());
        }
    }
    let id = clean(id.trim());
    if id.is_empty() {
        return Err("its PubMed id is empty".to_owned());
    }
    extra.insert("PMID".to_owned(), json!(id));
    let question = Question {
        id: id.clone(),
        text,
        options: OPTIONS
            .iter()
            .map(|(letter, word)| Choice {
                letter: *letter,
                text: (*word).to_owned(),
            })
            .collect(),
        answer,
        extra,
    };
    let mut entry = Entry::read(question, is_changed([record.get("QUESTION")]));
    sections(&id, record, &mut entry);
    Ok(entry)
}

fn sections(id: &str, record: &Map<String, Value>, entry: &mut Entry) {
    let list = |field: &str| record.get(field).and_then(Value::as_array);
    let labels = list("LABELS");
    for (at, section) in list("CONTEXTS").into_iter().flatten().enumerate() {
        let Some(content) = section.as_str().filter(|text| !text.trim().is_empty()) else {
            entry.faults.push(format!(
                "section {} of \"CONTEXTS\" has no text; left out",
                at + 1
            ));
            continue;
        };
        let label = labels
            .and_then(|labels| labels.get(at))
            .and_then(Value::as_str);
        entry.documents.push(Document {
            id: format!("PMID:{id}_{at}"),
            title: label.map(sentence_case).unwrap_or_default(),
            content: clean(content),
            source: None,
            extra: Map::new(),
        });
    }
}

/// `MATERIALS AND METHODS` as `Materials and methods`.
fn sentence_case(label: &str) -> String {
    let lower = clean(label.trim()).to_lowercase();
    let mut chars = lower.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => lower,
    }
}
