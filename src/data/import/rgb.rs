//! RGB's files with counterfactuals (`en_fact.json`, `zh_fact.json`): general knowledge, not medicine.
//!
//! A record has `id`, `query`, `answer` (a text, or lists of aliases), `fakeanswer`, and the lists `positive`,
//! `positive_wrong` (the k-th is the k-th positive with the wrong answer) and `negative`.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::data::import::entry::{Entry, is_changed, scalar_text};
use crate::data::import::rows::json_object;
use crate::data::import::sink::Sink;
use crate::data::import::walk::members;
use crate::data::import::{ImportError, files, stem};
use crate::domain::passage::{Counterfactual, Document, SubQuestion};
use crate::domain::question::{Choice, Question};
use crate::domain::text::{clean, short};
use crate::source::Line;

/// How many words of a passage a sub-question names it by.
const WORDS_NAMED: usize = 6;

/// Reads every file; each is a set of its own.
pub(super) fn read(sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let found = files(&sink.request.paths, &|name| {
        name.ends_with(".json") || name.ends_with(".jsonl")
    })?;
    sink.expect_files(&found);
    for path in &found {
        sink.begin_set(&stem(path), found.len() > 1)?;
        read_file(sink, path)?;
        sink.end_set("rgb")?;
    }
    sink.note("negative passages are kept with their question as \"negative\"; noise is drawn from the other questions' signal documents");
    Ok(())
}

/// The files are JSON lines under the name `.json`; a real JSON list is read too.
fn read_file(sink: &mut Sink<'_>, path: &Path) -> Result<(), ImportError> {
    let mut reader = sink.open(path)?;
    let is_list = super::guess::first_byte(&mut reader) == Some(b'[');
    let mut number = 0;
    if is_list {
        return members(reader, &mut |_, value| {
            number += 1;
            let record = match value {
                Value::Object(record) => Ok(record),
                other => Err(format!(
                    "expected an object, found {}",
                    crate::data::dataset::record::kind(&other)
                )),
            };
            take(
                sink,
                &format!("{}, record {number}", path.display()),
                record,
                number,
            )
        })
        .or_else(|error| sink.broken(path, error));
    }
    let mut lines = crate::source::Lines::new(reader);
    while let Some((line, text)) = lines.next_line().map_err(|error| {
        ImportError::Failed(format!("{} can't be read ({error})", path.display()))
    })? {
        number += 1;
        let record = match text {
            Line::Text(text) => json_object(text),
            Line::Bad(why) => Err(why),
        };
        take(
            sink,
            &format!("{}, line {line}", path.display()),
            record,
            number,
        )?;
    }
    Ok(())
}

fn take(
    sink: &mut Sink<'_>,
    place: &str,
    record: Result<Map<String, Value>, String>,
    number: usize,
) -> Result<(), ImportError> {
    sink.look()?;
    match record.and_then(|record| entry(&record, number)) {
        Ok(mut entry) => sink.question(place, &mut entry),
        Err(fault) => {
            sink.bad(place, &fault);
            Ok(())
        }
    }
}

/// A record as a question with two options, the right answer and the planted one. The right one is B where
/// the id (or the record's position) is even, so that no position is favoured.
fn entry(record: &Map<String, Value>, number: usize) -> Result<Entry, String> {
    let own = record
        .get("id")
        .and_then(scalar_text)
        .unwrap_or_else(|| (number - 1).to_string());
    let id = format!("rgb-{}", own.trim());
    let in_record = |fault: &str| format!("question \"{id}\": {fault}", id = short(&id));
    let query =
        text(record, "query").ok_or_else(|| in_record("field \"query\" is missing or no text"))?;
    let aliases = record.get("answer").map(texts).unwrap_or_default();
    let gold = aliases
        .first()
        .cloned()
        .ok_or_else(|| in_record("field \"answer\" holds no text"))?;
    let fake = record.get("fakeanswer").map(texts).unwrap_or_default();
    let fake = fake.first().cloned().ok_or_else(|| {
        in_record("field \"fakeanswer\" is missing; only RGB's files with counterfactuals (…_fact.json) give a wrong option")
    })?;
    if aliases.contains(&fake) {
        return Err(in_record("the wrong answer is one of the right ones"));
    }
    let gold_is_b = own
        .trim()
        .parse::<u64>()
        .map_or(number % 2 == 1, |own| own % 2 == 0);
    let (a, b) = match gold_is_b {
        true => (fake.clone(), gold.clone()),
        false => (gold.clone(), fake.clone()),
    };
    let mut extra = Map::new();
    if aliases.len() > 1 {
        extra.insert("aliases".to_owned(), json!(aliases));
    }
    let negative = record.get("negative").map(texts).unwrap_or_default();
    if !negative.is_empty() {
        extra.insert("negative".to_owned(), json!(negative));
    }
    let choice = |letter, text| Choice { letter, text };
    let question = Question {
        id: id.clone(),
        text: query.clone(),
        options: vec![choice('A', a), choice('B', b)],
        answer: if gold_is_b { 'B' } else { 'A' },
        extra,
    };
    let shown = ["query", "answer", "fakeanswer"].map(|field| record.get(field));
    let mut entry = Entry::read(question, is_changed(shown));
    passages(record, &query, &aliases, &fake, &mut entry);
    Ok(entry)
}

/// The positive passages with a sub-question each, and their versions with the wrong answer.
fn passages(
    record: &Map<String, Value>,
    query: &str,
    aliases: &[String],
    fake: &str,
    entry: &mut Entry,
) {
    let id = entry.question.id.clone();
    let positive = record.get("positive").map(texts).unwrap_or_default();
    let wrong = record.get("positive_wrong").map(texts).unwrap_or_default();
    if !wrong.is_empty() && wrong.len() != positive.len() {
        entry.faults.push(format!(
            "{} passages, but {} wrong versions: only the first of both belong together",
            positive.len(),
            wrong.len()
        ));
    }
    for (at, passage) in positive.iter().enumerate() {
        let doc_id = format!("{id}-d{at}");
        // The fullest form that the passage has, the first of equals.
        let answer = aliases
            .iter()
            .rev()
            .filter_map(|alias| spelled(passage, alias))
            .max_by_key(|form| form.len())
            .or(aliases.first().map(String::as_str));
        let start: Vec<&str> = passage.split_whitespace().take(WORDS_NAMED).collect();
        entry.sub_questions.push(SubQuestion {
            doc_id: doc_id.clone(),
            question: format!(
                "According to the passage that begins \"{}\": {}?",
                start.join(" "),
                query.trim_end_matches('?')
            ),
            answer: answer.unwrap_or_default().to_owned(),
            extra: Map::new(),
        });
        if let Some(edited) = wrong.get(at) {
            entry.counterfactuals.push(Counterfactual {
                original_id: doc_id.clone(),
                new_answer: fake.to_owned(),
                edited_document: edited.clone(),
                extra: Map::new(),
            });
        }
        entry.documents.push(Document {
            id: doc_id,
            title: String::new(),
            content: passage.clone(),
            source: None,
            extra: Map::new(),
        });
    }
}

/// An answer as the passage spells it, in capitals or not: it must be a part of its document.
fn spelled<'a>(passage: &'a str, answer: &str) -> Option<&'a str> {
    let starts = passage.char_indices().map(|(at, _)| at);
    let parts = |alike: fn(&str, &str) -> bool| {
        starts
            .clone()
            .filter_map(|at| passage.get(at..at + answer.len()))
            .find(|part| alike(part, answer))
    };
    parts(|part, answer| part == answer).or_else(|| parts(str::eq_ignore_ascii_case))
}

fn text(record: &Map<String, Value>, field: &str) -> Option<String> {
    let text = clean(record.get(field)?.as_str()?);
    (!text.trim().is_empty()).then_some(text)
}

/// All texts of a value, lists of lists laid flat, in order.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => vec![clean(text)],
        Value::Number(number) => vec![number.to_string()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}
