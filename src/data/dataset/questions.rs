//! `qa.jsonl`: one question per line.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use crate::data::dataset::files::Content;
use crate::data::dataset::record::{Record, Unique, kind, reason, text_field, wrong};
use crate::data::dataset::{DatasetError, Problems};
use crate::domain::question::{Choice, Question};
use crate::domain::text::{clean, collapse, count, short};

/// Reads only the questions of a `qa.jsonl`, with what was wrong with the records left out: for scoring
/// saved replies, which needs no documents.
///
/// # Errors
/// When the file can't be read, or holds no question.
pub fn read_questions(path: &Path) -> Result<(Vec<Question>, Vec<String>), DatasetError> {
    let content = Content::read(path)?;
    let mut problems = Problems::default();
    let questions = parse(&content, &mut problems)?;
    Ok((questions, problems.said))
}

/// Reads every line; a bad one is left out and listed.
pub(super) fn parse(
    content: &Content<'_>,
    problems: &mut Problems,
) -> Result<Vec<Question>, DatasetError> {
    let file = &content.name;
    let mut questions: Vec<Question> = Vec::new();
    scan(content.body()?, &mut |line, read| match read {
        Ok(question) => questions.push(question),
        Err(fault) => problems.add_question(
            fault.id,
            format!("{file}, line {line}{}; left out", fault.why),
        ),
    });
    if questions.is_empty() {
        let why = match problems.said.first() {
            Some(first) => format!(
                "{}, the first: {first}",
                count(problems.records, "bad record")
            ),
            None => "it is empty".to_owned(),
        };
        return Err(DatasetError(format!(
            "{file} holds no question that can be read: {why}; expected lines such as \
             {{\"question_id\":…,\"question\":…,\"options\":{{\"A\":…}},\"answer\":\"A\"}}"
        )));
    }
    Ok(questions)
}

/// What is wrong with a line.
#[derive(Debug)]
pub(in crate::data) struct LineFault {
    /// To be put after the line's number.
    pub(in crate::data) why: String,
    /// The id that stands in the line, where one can be made out: what belongs to it elsewhere is not read either.
    id: Option<String>,
}

/// Hands out every line that is not blank with its number: the question, or what is wrong.
pub(in crate::data) fn scan(body: &[u8], take: &mut dyn FnMut(usize, Result<Question, LineFault>)) {
    let mut seen = Seen::default();
    for (at, bytes) in body.split(|&byte| byte == b'\n').enumerate() {
        if !bytes.iter().all(u8::is_ascii_whitespace) {
            take(at + 1, seen.read(at + 1, bytes));
        }
    }
}

/// The ids of the lines so far, with their lines.
#[derive(Debug, Default)]
pub(in crate::data) struct Seen(HashMap<String, usize>);

impl Seen {
    /// The question of the next line; an id that stood in an earlier line is wrong too.
    pub(in crate::data) fn read(
        &mut self,
        line: usize,
        bytes: &[u8],
    ) -> Result<Question, LineFault> {
        let read = read_line(bytes).and_then(|question| match self.0.get(&question.id) {
            Some(first) => Err(format!(
                ": question_id \"{}\" stands already in line {first}",
                short(&question.id)
            )),
            None => {
                self.0.insert(question.id.clone(), line);
                Ok(question)
            }
        });
        read.map_err(|why| LineFault {
            why,
            id: id_in(bytes),
        })
    }
}

/// The question's id in a line that can't be read: the first text behind its field's name.
fn id_in(bytes: &[u8]) -> Option<String> {
    let line = String::from_utf8_lossy(bytes);
    let (_, rest) = line.split_once("\"question_id\"")?;
    let value = rest.trim_start().strip_prefix(':')?;
    let id: String = serde_json::Deserializer::from_str(value)
        .into_iter()
        .next()?
        .ok()?;
    Some(clean(&id).trim().to_owned())
}

/// A question, or what is wrong, to be put after the line's number.
fn read_line(bytes: &[u8]) -> Result<Question, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        format!(
            ", column {}: a byte that is not UTF-8",
            error.valid_up_to() + 1
        )
    })?;
    let Unique(value) = serde_json::from_str(text)
        .map_err(|error| format!(", column {}: {}", error.column(), reason(&error)))?;
    Record::new(value)
        .and_then(question)
        .map_err(|fault| format!(": {fault}"))
}

/// A question from the fields of a `qa.jsonl`.
pub(in crate::data) fn question(mut record: Record) -> Result<Question, String> {
    let id = record.id("question_id")?;
    named(id, record)
}

/// A question whose id stands elsewhere, from the other fields; those that are not known are kept.
pub(in crate::data) fn named(id: String, mut record: Record) -> Result<Question, String> {
    let shown = id.clone();
    let in_question = |fault| format!("question \"{}\": {fault}", short(&shown));
    let text = record.text("question").map_err(in_question)?;
    let options = record
        .value("options")
        .and_then(options)
        .map_err(in_question)?;
    let answer = record
        .text("answer")
        .and_then(|answer| answer_letter(&answer, &options))
        .map_err(in_question)?;
    Ok(Question {
        id,
        text,
        options,
        answer,
        extra: record.rest(),
    })
}

/// An object of letters and texts, or a list of texts that become A, B, ….
pub(in crate::data) fn options(value: Value) -> Result<Vec<Choice>, String> {
    let pairs: Vec<(char, Value)> = match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, value)| Ok((option_letter(&key)?, value)))
            .collect::<Result<_, String>>()?,
        Value::Array(items) if items.len() <= 26 => ('A'..='Z').zip(items).collect(),
        Value::Array(items) => return Err(format!("{} options, but at most 26", items.len())),
        other => {
            let expected = "an object of letters and texts (or a list of texts)";
            return Err(wrong("options", expected, &other));
        }
    };
    if pairs.len() < 2 {
        return Err(format!(
            "field \"options\" has {}, but at least two are expected",
            count(pairs.len(), "option")
        ));
    }
    let mut choices: Vec<Choice> = Vec::new();
    for (letter, value) in pairs {
        let Value::String(text) = &value else {
            let found = kind(&value);
            return Err(format!(
                "option {letter} is {found}, but a text is expected"
            ));
        };
        if choices.iter().any(|choice| choice.letter == letter) {
            return Err(format!("option {letter} stands twice"));
        }
        let text = text_field(&format!("options.{letter}"), text)?;
        if text.trim().is_empty() {
            return Err(format!("option {letter} is empty"));
        }
        choices.push(Choice { letter, text });
    }
    Ok(choices)
}

/// A single letter in either case.
fn option_letter(key: &str) -> Result<char, String> {
    let mut letters = key.trim().chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) if letter.is_ascii_alphabetic() => Ok(letter.to_ascii_uppercase()),
        _ => Err(format!(
            "option key \"{}\" is not a single letter A to Z",
            short(key)
        )),
    }
}

/// The letter of the right option, which may be given as a letter or as the option's text.
pub(in crate::data) fn answer_letter(answer: &str, options: &[Choice]) -> Result<char, String> {
    let offered = |letter: char| options.iter().any(|choice| choice.letter == letter);
    if let Ok(letter) = option_letter(answer)
        && offered(letter)
    {
        return Ok(letter);
    }
    let same = |text: &str| collapse(text).to_lowercase() == collapse(answer).to_lowercase();
    let mut named = options.iter().filter(|choice| same(&choice.text));
    match (named.next(), named.next()) {
        (Some(choice), None) => Ok(choice.letter),
        (Some(_), Some(_)) => Err(format!(
            "answer \"{}\" is the text of two options",
            short(answer)
        )),
        (None, _) => {
            let letters: Vec<String> = options.iter().map(|o| o.letter.to_string()).collect();
            Err(format!(
                "answer \"{}\" is none of the options {}",
                short(answer),
                letters.join(", ")
            ))
        }
    }
}
