//! Saved replies to standard questions (JSONL `{"id", "response"}`) and the question lists they answer.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::data::dataset::questions::{Seen, named};
use crate::data::dataset::record::{Record, reason};
use crate::domain::question::Question;
use crate::domain::text::short;
use crate::source;

/// A file that can't be used: what, where, what was expected, what to do.
#[derive(Debug, thiserror::Error)]
pub enum PredictionError {
    /// The request does not fit the file.
    #[error("{0}")]
    Usage(String),
    /// The file can't be read or a line of it is wrong.
    #[error("{0}")]
    File(String),
}

fn file_error(path: &Path, detail: impl std::fmt::Display) -> PredictionError {
    PredictionError::File(format!("{}: {detail}", path.display()))
}

fn line_error(path: &Path, line: usize, detail: impl std::fmt::Display) -> PredictionError {
    PredictionError::File(format!("{}, line {line}: {detail}", path.display()))
}

/// Splits `FILE#set`; a file that is really called so is taken as it is.
pub fn split_set(argument: &str) -> (PathBuf, Option<String>) {
    match argument.rsplit_once('#') {
        Some((file, set)) if !Path::new(argument).exists() => (file.into(), Some(set.to_owned())),
        _ => (argument.into(), None),
    }
}

/// Opens a file; gzip is recognised by its first bytes.
fn open(path: &Path) -> Result<Box<dyn BufRead>, PredictionError> {
    source::open(path)
        .map(|(reader, _)| reader)
        .map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> PredictionError {
    PredictionError::File(format!("{} {}", path.display(), source::why(error)))
}

/// Reads the questions of a MIRAGE `benchmark.json` (one of its sets) or of a `qa.jsonl`; a dataset
/// folder stands for its `qa.jsonl`. Both may be packed with gzip.
///
/// Unlike [`crate::data::dataset::Dataset::open`] this leaves no bad question out: a reply to it could not be
/// scored.
///
/// # Errors
/// [`PredictionError::Usage`] where a set must be named, does not exist, or is named for a file that
/// has none; [`PredictionError::File`] for everything that is wrong with the file, with its line.
pub fn read_questions(path: &Path, set: Option<&str>) -> Result<Vec<Question>, PredictionError> {
    let folder_file = path.join("qa.jsonl");
    let path = if path.is_dir() { &folder_file } else { path };
    let questions = if is_question_lines(path)? {
        if let Some(set) = set {
            return Err(PredictionError::Usage(format!(
                "{} is a list of questions without sets; leave out \"#{set}\"",
                path.display()
            )));
        }
        question_lines(path)?
    } else {
        let text = source::whole_text(open(path)?).map_err(|error| match error.kind() {
            // What reading says of bytes that are no text.
            std::io::ErrorKind::InvalidData => {
                file_error(path, format!("is no readable UTF-8 text ({error})"))
            }
            _ => unreadable(path, &error),
        })?;
        benchmark_set(path, &text, set)?
    };
    if questions.is_empty() {
        return Err(file_error(path, "holds no question"));
    }
    Ok(questions)
}

/// Whether the first line is a question of its own.
fn is_question_lines(path: &Path) -> Result<bool, PredictionError> {
    let mut lines = source::Lines::new(open(path)?);
    let first = lines
        .next_line()
        .map_err(|error| unreadable(path, &error))?;
    let Some((_, source::Line::Text(first))) = first else {
        return Ok(false);
    };
    let fields = serde_json::from_str::<Map<String, Value>>(first).ok();
    Ok(fields.is_some_and(|map| map.contains_key("question_id") || map.contains_key("options")))
}

/// Every line, as the dataset folder reads it; the first bad one is an error.
fn question_lines(path: &Path) -> Result<Vec<Question>, PredictionError> {
    let mut lines = source::Lines::new(open(path)?);
    let (mut questions, mut seen) = (Vec::new(), Seen::default());
    loop {
        let next = lines
            .next_line()
            .map_err(|error| unreadable(path, &error))?;
        match next {
            None => return Ok(questions),
            Some((line, source::Line::Bad(why))) => return Err(line_error(path, line, why)),
            Some((line, source::Line::Text(text))) => {
                let question = seen.read(line, text.as_bytes()).map_err(|fault| {
                    PredictionError::File(format!("{}, line {line}{}", path.display(), fault.why))
                })?;
                questions.push(question);
            }
        }
    }
}

fn benchmark_set(
    path: &Path,
    text: &str,
    set: Option<&str>,
) -> Result<Vec<Question>, PredictionError> {
    let sets: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
        file_error(
            path,
            format!(
                "is neither a qa.jsonl (lines with question_id, question, options, answer) nor a MIRAGE benchmark.json ({})",
                reason(&error)
            ),
        )
    })?;
    let names: Vec<&str> = sets
        .iter()
        .filter(|(_, value)| value.is_object())
        .map(|(name, _)| name.as_str())
        .collect();
    let known = names.join(", ");
    let Some(set) = set else {
        return Err(PredictionError::Usage(format!(
            "{} holds several sets; name one after \"#\": {known}",
            path.display()
        )));
    };
    let Some(Value::Object(records)) = sets.get(set) else {
        return Err(PredictionError::Usage(format!(
            "{} has no set \"{}\"; it has {known}",
            path.display(),
            short(set)
        )));
    };
    records
        .iter()
        .map(|(id, record)| {
            Record::new(record.clone())
                .and_then(|record| named(id.clone(), record))
                .map_err(|fault| file_error(path, format!("set {set}: {fault}")))
        })
        .collect()
}

fn id_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// One saved reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prediction {
    /// The question's id.
    pub id: String,
    /// The reply, byte for byte; `None` where it was saved as null.
    pub response: Option<String>,
}

/// Reads saved replies line by line and hands each to `take` with its line number; the file is never
/// held in memory as a whole. A byte-order mark, CRLF and blank lines are tolerated.
///
/// # Errors
/// [`PredictionError::File`] naming the line: no object, `id` or `response` missing or of a wrong
/// type, an id twice, or what `take` says about the id.
pub fn read_predictions(
    path: &Path,
    take: &mut dyn FnMut(usize, Prediction) -> Result<(), String>,
) -> Result<(), PredictionError> {
    let mut lines = source::Lines::new(open(path)?);
    let mut lines_of: HashMap<String, usize> = HashMap::new();
    loop {
        let next = lines
            .next_line()
            .map_err(|error| unreadable(path, &error))?;
        let Some((number, line)) = next else {
            return Ok(());
        };
        let line = match line {
            source::Line::Text(line) => line,
            source::Line::Bad(why) => return Err(line_error(path, number, why)),
        };
        let prediction = prediction(line).map_err(|detail| line_error(path, number, detail))?;
        let id = prediction.id.clone();
        if let Some(first) = lines_of.insert(id.clone(), number) {
            return Err(line_error(
                path,
                number,
                format!(
                    "id \"{}\" stands already in line {first}; keep one reply per question",
                    short(&id)
                ),
            ));
        }
        take(number, prediction).map_err(|detail| line_error(path, number, detail))?;
    }
}

fn prediction(line: &str) -> Result<Prediction, String> {
    const SHAPE: &str = "expected {\"id\": \"…\", \"response\": \"…\"}";
    let value: Value = serde_json::from_str(line)
        .map_err(|error| format!("no valid JSON ({}); {SHAPE}", reason(&error)))?;
    let Value::Object(mut fields) = value else {
        return Err(format!("no JSON object; {SHAPE}"));
    };
    let id = match fields.get("id") {
        None => return Err(format!("\"id\" is missing; {SHAPE}")),
        Some(id) => id_text(id).ok_or_else(|| format!("\"id\" is no text; {SHAPE}"))?,
    };
    let response = match fields.remove("response") {
        None => return Err(format!("\"response\" is missing; {SHAPE}")),
        Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text),
        Some(_) => return Err(format!("\"response\" is neither a text nor null; {SHAPE}")),
    };
    Ok(Prediction { id, response })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write;

    use super::*;

    fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    fn predictions(bytes: &[u8]) -> Result<Vec<Prediction>, String> {
        let (_folder, path) = file("p.jsonl", bytes);
        let mut all = Vec::new();
        read_predictions(&path, &mut |_, prediction| {
            all.push(prediction);
            Ok(())
        })
        .map_err(|error| error.to_string())?;
        Ok(all)
    }

    #[test]
    fn lines_are_tolerated_where_they_are_harmless() {
        let all = predictions(
            b"\xef\xbb\xbf{\"id\":\"a\",\"response\":\"x\"}\r\n\r\n  \n{\"id\":7,\"response\":null,\"more\":1}",
        );
        let all = all.unwrap();
        assert_eq!(all[0].response.as_deref(), Some("x"));
        assert_eq!((all[1].id.as_str(), &all[1].response), ("7", &None));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, part) in [
            ("\n[1]\n", "line 2: no JSON object"),
            (
                "{\"id\":\"a\",\"response\":\"x\"}\n{",
                "line 2: no valid JSON",
            ),
            ("{\"response\":\"x\"}", "line 1: \"id\" is missing"),
            (
                "{\"id\":[],\"response\":\"x\"}",
                "line 1: \"id\" is no text",
            ),
            ("{\"id\":\"a\"}", "line 1: \"response\" is missing"),
            (
                "{\"id\":\"a\",\"response\":[]}",
                "line 1: \"response\" is neither",
            ),
            (
                "{\"id\":\"a\",\"response\":\"x\"}\n{\"id\":\"a\",\"response\":\"y\"}",
                "line 2: id \"a\" stands already in line 1",
            ),
        ] {
            let error = predictions(text.as_bytes()).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        let error = predictions(b"{\"id\":\"\xff\"}").unwrap_err();
        assert!(
            error.contains("line 1: column 8: a byte that is not UTF-8"),
            "{error}"
        );
    }

    #[test]
    fn sets_of_a_benchmark_file() {
        let json = br#"{"mmlu": {"q1": {"question": "Q?", "options": {"A": "x", "B": "y"}, "answer": "B"}}, "medqa": {}}"#;
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(json).unwrap();
        let packed = packed.finish().unwrap();
        for (name, bytes) in [
            ("b.json", json.as_slice()),
            ("b.json.gz", packed.as_slice()),
        ] {
            let (_folder, path) = file(name, bytes);
            let questions = read_questions(&path, Some("mmlu")).unwrap();
            assert_eq!((questions[0].id.as_str(), questions[0].answer), ("q1", 'B'));
            let error = read_questions(&path, None).unwrap_err();
            assert!(matches!(&error, PredictionError::Usage(text) if text.contains("mmlu, medqa")));
            let error = read_questions(&path, Some("nope")).unwrap_err().to_string();
            assert!(
                error.contains("no set \"nope\"; it has mmlu, medqa"),
                "{error}"
            );
        }
    }

    #[test]
    fn question_lists() {
        let good = "{\"question_id\":\"q\",\"question\":\"Q?\",\"options\":{\"A\":\"x\",\"B\":\"y\"},\"answer\":\"a\"}\r\n";
        let (_folder, path) = file("qa.jsonl", good.as_bytes());
        assert_eq!(read_questions(&path, None).unwrap().len(), 1);
        assert_eq!(
            read_questions(path.parent().unwrap(), None).unwrap().len(),
            1
        );
        assert!(matches!(
            read_questions(&path, Some("x")),
            Err(PredictionError::Usage(_))
        ));
        let (_folder, path) = file("qa.jsonl", good.repeat(2).as_bytes());
        let error = read_questions(&path, None).unwrap_err().to_string();
        assert!(
            error.contains("line 2: question_id \"q\" stands already in line 1"),
            "{error}"
        );
        for (from, to, part) in [
            (
                "\"answer\":\"a\"",
                "\"answer\":\"C\"",
                "answer \"C\" is none of the options A, B",
            ),
            ("\"A\":\"x\"", "\"AB\":\"x\"", "option key \"AB\""),
            ("\"question\":\"Q?\",", "", "field \"question\" is missing"),
        ] {
            let (_folder, path) = file("qa.jsonl", good.replace(from, to).as_bytes());
            let error = read_questions(&path, None).unwrap_err().to_string();
            assert!(error.contains("line 1") && error.contains(part), "{error}");
        }
    }
}
