//! promptfoo's results as JSON (`promptfoo eval --output results.json`), or as JSON lines (`.jsonl`), a result a
//! line.
//!
//! `results` is a list of results, or an object that holds one under `results`. A result has `vars` (or
//! `testCase.vars`), `provider`, `prompt`, `response.output`, `error`, `latencyMs`. The head's `config` may hold
//! keys, so it is passed over.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::data::dataset::Dataset;
use crate::data::import::detect::detect;
use crate::data::import::entry::{Entry, entry, id_of};
use crate::data::import::lm_eval::in_dataset;
use crate::data::import::mapping::Mapping;
use crate::data::import::replies::{Failed, GivenReply};
use crate::data::import::rows::json_object;
use crate::data::import::sink::Sink;
use crate::data::import::walk::{Step, walk};
use crate::data::import::{ImportError, files, stem};
use crate::source::{self, Line, Lines};

/// Assertions whose value is the right answer.
const EXPECTATIONS: [&str; 6] = [
    "equals",
    "contains",
    "icontains",
    "starts-with",
    "is-equal",
    "contains-all",
];

/// Reads every file; each is a run of its own, and with `--out` a set of its own.
pub(super) fn read(sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let found = files(&sink.request.paths, &|name| {
        name.ends_with(".json") || name.ends_with(".jsonl")
    })?;
    sink.expect_files(&found);
    for path in &found {
        let set = stem(path);
        let writes_folder = sink.request.out.is_some();
        if writes_folder {
            sink.begin_set(&set, found.len() > 1)?;
        }
        sink.begin_run(&set, found.len() > 1, &set, None)?;
        read_file(sink, path)?;
        sink.end_run();
        if writes_folder {
            sink.end_set("other")?;
        }
    }
    Ok(())
}

fn read_file(sink: &mut Sink<'_>, path: &Path) -> Result<(), ImportError> {
    if is_lines(path) {
        return read_lines(sink, path);
    }
    let reader = sink.open(path)?;
    let is_position = |key: &str| key.bytes().all(|byte| byte.is_ascii_digit());
    let mut number = 0;
    walk(
        reader,
        &|trail| {
            let trail: Vec<&str> = trail.iter().map(String::as_str).collect();
            match trail.as_slice() {
                [] | ["results"] | ["results", "results"] => Step::Into,
                ["results", at] if is_position(at) => Step::Take,
                ["results", "results", _] => Step::Take,
                _ => Step::Skip,
            }
        },
        &mut |_, value| {
            sink.look()?;
            number += 1;
            let place = format!("{}, result {number}", path.display());
            match take(sink, &value, &place, number) {
                Ok(taken) => taken,
                Err(fault) => {
                    sink.bad(&place, &fault);
                    Ok(())
                }
            }
        },
    )
    .or_else(|error| sink.broken(path, error))
}

/// Whether the first line is a result of its own, and not a document with a list of results.
fn is_lines(path: &Path) -> bool {
    let Ok((reader, _)) = source::open(path) else {
        return false;
    };
    match Lines::new(reader).next_line() {
        Ok(Some((_, Line::Text(text)))) => {
            json_object(text).is_ok_and(|first| !first.contains_key("results"))
        }
        _ => path.to_string_lossy().contains(".jsonl"),
    }
}

fn read_lines(sink: &mut Sink<'_>, path: &Path) -> Result<(), ImportError> {
    let mut lines = sink.lines(path)?;
    let mut number = 0;
    while let Some((place, line)) = sink.next_line(&mut lines, path)? {
        number += 1;
        let result = match line {
            Line::Text(text) => json_object(text).map(Value::Object),
            Line::Bad(why) => Err(why),
        };
        match result.and_then(|result| take(sink, &result, &place, number)) {
            Ok(taken) => taken?,
            Err(fault) => sink.bad(&place, &fault),
        }
    }
    Ok(())
}

/// Takes one result; a fault of the result is the outer error.
fn take(
    sink: &mut Sink<'_>,
    value: &Value,
    place: &str,
    number: usize,
) -> Result<Result<(), ImportError>, String> {
    let Value::Object(result) = value else {
        return Err("expected an object".to_owned());
    };
    let vars = vars_of(result);
    let fallback = match result.get("testIdx").and_then(Value::as_u64) {
        Some(test) => format!("test-{test}"),
        None => format!("test-{}", number - 1),
    };
    let mut own = question(
        result,
        &vars,
        sink.request.mapping.as_ref(),
        sink.request.dataset,
        &fallback,
    )?;
    let given = reply(result)?;
    let taken = sink.question(place, &mut own);
    Ok(taken.and_then(|()| sink.reply(&own.question, given)))
}

fn vars_of(result: &Map<String, Value>) -> Map<String, Value> {
    let own = result.get("vars").and_then(Value::as_object);
    let test = result
        .get("testCase")
        .and_then(|test| test["vars"].as_object());
    own.filter(|vars| !vars.is_empty())
        .or(test)
        .cloned()
        .unwrap_or_default()
}

/// The question: from the variables, or of the dataset by id or text. A mapping may point into the result, whose
/// variables are `vars.…`.
fn question(
    result: &Map<String, Value>,
    vars: &Map<String, Value>,
    given: Option<&Mapping>,
    dataset: Option<&Dataset>,
    fallback: &str,
) -> Result<Entry, String> {
    let found = detect(std::slice::from_ref(vars));
    let mut row = vars.clone();
    for (key, value) in result {
        row.entry(key.clone()).or_insert_with(|| value.clone());
    }
    row.insert("vars".to_owned(), Value::Object(vars.clone()));
    let mut mapping = given.cloned().unwrap_or_default().complete(Mapping {
        response: None,
        ..found
    });
    if mapping.answer.is_none()
        && let Some(expected) = expectation(result)
    {
        row.insert("medrgb answer".to_owned(), expected);
        mapping.answer = Some("medrgb answer".to_owned());
    }
    if let Some(dataset) = dataset {
        let id = id_of(&row, &mapping, fallback)?;
        if let Some(question) = dataset
            .position(&id)
            .and_then(|at| dataset.questions.get(at))
        {
            return Ok(Entry::known(question.clone()));
        }
        if let Some(text) = mapping
            .question
            .as_deref()
            .and_then(|field| row.get(field)?.as_str())
        {
            let own = crate::domain::question::Question {
                id,
                text: text.to_owned(),
                options: Vec::new(),
                answer: 'A',
                extra: Map::new(),
            };
            return in_dataset(dataset, &own).map(Entry::known);
        }
    }
    let mut entry = entry(&row, &mapping, fallback)?;
    entry.question.extra.retain(|key, _| vars.contains_key(key));
    Ok(entry)
}

/// The value of the first assertion that says what is right.
fn expectation(result: &Map<String, Value>) -> Option<Value> {
    let assertions = result.get("testCase")?["assert"].as_array()?;
    let fits = |assertion: &&Value| {
        let kind = assertion["type"].as_str().unwrap_or_default();
        EXPECTATIONS.contains(&kind)
            && (assertion["value"].is_string() || assertion["value"].is_number())
    };
    assertions
        .iter()
        .find(fits)
        .map(|assertion| assertion["value"].clone())
}

/// The reply, or the error that stands in its place.
fn reply(result: &Map<String, Value>) -> Result<GivenReply, String> {
    let response = result.get("response").unwrap_or(&Value::Null);
    let failure = response["error"]
        .as_str()
        .or_else(|| match response["output"].is_null() {
            true => result.get("error").and_then(Value::as_str),
            // With an output the error only says which assertion failed.
            false => None,
        });
    let mut reply = match (&response["output"], failure) {
        (_, Some(message)) => GivenReply {
            text: Err(Failed::of_message(message)),
            ..GivenReply::text("")
        },
        (Value::String(text), None) => GivenReply::text(text.clone()),
        (Value::Null, None) => return Err("it has neither an output nor an error".to_owned()),
        // An output that promptfoo parsed: written out again, it reads the same.
        (other, None) => GivenReply::text(other.to_string()),
    };
    let provider = result.get("provider").unwrap_or(&Value::Null);
    let name = provider["label"].as_str().filter(|label| !label.is_empty());
    let name = name
        .or_else(|| provider["id"].as_str())
        .or_else(|| provider.as_str());
    reply.model = name.map(str::to_owned);
    (reply.system, reply.user) = prompt_of(&result.get("prompt").unwrap_or(&Value::Null)["raw"]);
    reply.total_ms = result
        .get("latencyMs")
        .and_then(Value::as_f64)
        .filter(|ms| (0.0..1e12).contains(ms))
        .map_or(0, |ms| ms as u64);
    reply.usage = ["prompt", "completion"].map(|field| response["tokenUsage"][field].as_u64());
    if response["finishReason"] == "length" {
        reply.ending = crate::domain::answer::Ending::Length;
    }
    if let Some(prompt) = result.get("promptIdx").and_then(Value::as_u64) {
        reply.more.insert("prompt_index".to_owned(), json!(prompt));
    }
    Ok(reply)
}

/// A prompt as text, or as a JSON list of messages.
fn prompt_of(raw: &Value) -> (String, String) {
    let Some(text) = raw.as_str() else {
        return (String::new(), String::new());
    };
    let messages: Option<Vec<Value>> = serde_json::from_str(text).ok();
    let of = |role: &str| {
        let message = messages
            .as_ref()?
            .iter()
            .find(|message| message["role"] == role)?;
        message["content"].as_str().map(str::to_owned)
    };
    match of("user") {
        Some(user) => (of("system").unwrap_or_default(), user),
        None => (String::new(), text.to_owned()),
    }
}
