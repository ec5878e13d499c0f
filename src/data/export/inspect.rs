//! A run as one of Inspect's JSON logs (version 2), which `inspect view` and `read_eval_log` open.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Write;

use serde_json::{Map, Value, json};

use crate::data::export::run::Records;
use crate::data::store::ReplyRecord;
use crate::domain::answer::Outcome;

/// The key in a sample's metadata under which everything stands that the log has no field for, so that an
/// import gives the same records.
pub const OWN_METADATA: &str = "medrgb";

/// Writes the log, one sample at a time.
pub(super) fn write<'a>(
    records: &dyn Fn() -> Records<'a>,
    out: &mut impl Write,
) -> Result<(), String> {
    let mut summary = Summary::default();
    for record in records() {
        summary.add(&record?);
    }
    let head = summary.head();
    let io = |error: std::io::Error| error.to_string();
    out.write_all(b"{").map_err(io)?;
    for (key, value) in head {
        writeln!(out, "{}: {value},", json!(key)).map_err(io)?;
    }
    out.write_all(b"\"samples\": [").map_err(io)?;
    let mut epochs: HashMap<String, u64> = HashMap::new();
    // What has been stored since the head was made is not in it.
    for (at, record) in records().take(summary.records).enumerate() {
        let record = record?;
        let epoch = epochs.entry(record.question.id.clone()).or_default();
        *epoch += 1;
        let comma = if at == 0 { "\n" } else { ",\n" };
        write!(out, "{comma}{}", sample(&record, *epoch)).map_err(io)?;
    }
    out.write_all(b"\n]}\n").map_err(io)
}

/// What the head of a log says of its samples.
#[derive(Default)]
struct Summary {
    records: usize,
    run: String,
    dataset: String,
    dataset_fingerprint: String,
    created: String,
    ended: String,
    models: BTreeSet<String>,
    /// The questions, in the order of their first records.
    ids: Vec<String>,
    known: HashSet<String>,
    right: u64,
    scored: u64,
}

impl Summary {
    fn add(&mut self, record: &ReplyRecord) {
        if self.records == 0 {
            self.run.clone_from(&record.run);
            self.dataset.clone_from(&record.dataset);
            self.dataset_fingerprint
                .clone_from(&record.dataset_fingerprint);
            self.created.clone_from(&record.created_at);
        }
        self.records += 1;
        self.ended.clone_from(&record.created_at);
        if !self.models.contains(&record.model_name) {
            self.models.insert(record.model_name.clone());
        }
        if self.known.insert(record.question.id.clone()) {
            self.ids.push(record.question.id.clone());
        }
        let correct = record
            .scores
            .as_ref()
            .and_then(|scores| scores.main_correct);
        if let Some(correct) = correct {
            self.scored += 1;
            self.right += u64::from(correct);
        }
    }

    fn head(&self) -> Map<String, Value> {
        let accuracy = match self.scored {
            0 => 0.0,
            // Counts of records: far below 2^53.
            scored => self.right as f64 / scored as f64,
        };
        let models: Vec<&str> = self.models.iter().map(String::as_str).collect();
        let models = models.join(", ");
        let Summary {
            records,
            run,
            dataset,
            dataset_fingerprint,
            created,
            ended,
            ids,
            ..
        } = self;
        let mut head = Map::new();
        head.insert("version".to_owned(), json!(2));
        head.insert("status".to_owned(), json!("success"));
        head.insert(
        "eval".to_owned(),
        json!({
            "eval_id": run, "run_id": run, "task_id": run, "created": created,
            "task": format!("medrgb/{dataset}"), "task_version": 0,
            "model": models,
            "dataset": {"name": dataset, "samples": ids.len(), "sample_ids": ids, "shuffled": false},
            "config": {},
            "packages": {"medrgb": env!("CARGO_PKG_VERSION")},
            "metadata": {"run": run, "dataset_fingerprint": dataset_fingerprint},
        }),
    );
        head.insert(
            "plan".to_owned(),
            json!({"name": "plan", "steps": [{"solver": "generate"}], "config": {}}),
        );
        head.insert(
            "results".to_owned(),
            json!({
                "total_samples": records, "completed_samples": records,
                "scores": [{
                    "name": "main", "scorer": "main", "scored_samples": self.scored,
                    "unscored_samples": *records as u64 - self.scored,
                    "metrics": {"accuracy": {"name": "accuracy", "value": accuracy}},
                }],
            }),
        );
        head.insert(
            "stats".to_owned(),
            json!({"started_at": created, "completed_at": ended, "model_usage": {}}),
        );
        head
    }
}

fn sample(record: &ReplyRecord, epoch: u64) -> Value {
    let question = &record.question;
    let choices: Vec<&str> = question
        .options
        .iter()
        .map(|choice| choice.text.as_str())
        .collect();
    let mut messages = Vec::new();
    if !record.prompt.system.is_empty() {
        messages.push(json!({"role": "system", "content": record.prompt.system}));
    }
    let user = match record.prompt.user.is_empty() {
        // Where the prompt is not known, the question is all there is.
        true => &question.text,
        false => &record.prompt.user,
    };
    messages.push(json!({"role": "user", "content": user}));
    let mut sample = json!({
        "id": question.id,
        "epoch": epoch,
        "input": question.text,
        "choices": choices,
        "target": question.answer,
        "messages": messages,
        "output": output(record),
        "scores": scores(record),
        "metadata": {OWN_METADATA: own(record)},
        "completed_at": record.created_at,
    });
    if let Some(fields) = sample.as_object_mut() {
        if record.parsed.is_some() {
            if let Some(Value::Array(messages)) = fields.get_mut("messages") {
                messages.push(
                    json!({"role": "assistant", "content": content(record), "source": "generate"}),
                );
            }
        } else {
            let message = record.failure["message"]
                .as_str()
                .unwrap_or("the call failed");
            let error = json!({"message": message, "traceback": "", "traceback_ansi": ""});
            fields.insert("error".to_owned(), error);
        }
    }
    sample
}

/// The reply's text, with the provider's reasoning as a part of its own where there is some.
fn content(record: &ReplyRecord) -> Value {
    match record.reply["reasoning"]
        .as_str()
        .filter(|text| !text.is_empty())
    {
        Some(reasoning) => json!([
            {"type": "reasoning", "reasoning": reasoning},
            {"type": "text", "text": record.raw},
        ]),
        None => json!(record.raw),
    }
}

fn output(record: &ReplyRecord) -> Value {
    if record.parsed.is_none() {
        return json!({"model": record.model_name, "choices": [], "completion": ""});
    }
    let stop = match record.reply["ending"].as_str() {
        Some("length") => "max_tokens",
        Some("interrupted") => "unknown",
        _ => "stop",
    };
    let tokens = |field: &str| record.reply["usage"][field].as_u64();
    let mut output = json!({
        "model": record.model_name,
        "choices": [{
            "message": {
                "role": "assistant", "content": content(record), "source": "generate", "model": record.model_name,
            },
            "stop_reason": stop,
        }],
        "completion": record.raw,
    });
    if let Some(fields) = output.as_object_mut() {
        if let (Some(prompt), Some(reply)) = (tokens("prompt_tokens"), tokens("completion_tokens"))
        {
            let usage = json!({"input_tokens": prompt, "output_tokens": reply, "total_tokens": prompt + reply});
            fields.insert("usage".to_owned(), usage);
        }
        if let Some(ms) = record.reply["timing"]["total_ms"]
            .as_u64()
            .filter(|ms| *ms > 0)
        {
            fields.insert("time".to_owned(), json!(ms as f64 / 1000.0));
        }
    }
    output
}

/// Whether the main answer is right: `C` or `I`, as Inspect's own scorers say it.
fn scores(record: &ReplyRecord) -> Value {
    let (Some(scores), Some(parsed)) = (&record.scores, &record.parsed) else {
        return Value::Null;
    };
    let Some(correct) = scores.main_correct else {
        return Value::Null;
    };
    let answer = match (parsed.answer, parsed.outcome) {
        (Some(letter), _) => letter.to_string(),
        (None, Outcome::Insufficient) => "insufficient information".to_owned(),
        (None, outcome) => outcome.name().to_owned(),
    };
    let counts: Map<String, Value> = scores
        .counts
        .iter()
        .filter_map(|(metric, ratio)| {
            let name = serde_json::to_value(metric).ok()?.as_str()?.to_owned();
            Some((name, json!(ratio)))
        })
        .collect();
    json!({"main": {
        "value": if correct { "C" } else { "I" },
        "answer": answer,
        "metadata": {"outcome": parsed.outcome.name(), "notes": parsed.notes, "counts": counts},
    }})
}

/// What the log has no field for.
fn own(record: &ReplyRecord) -> Value {
    json!({
        "question": record.question,
        "condition": record.condition,
        "context": record.context,
        "context_known": record.reply["imported"]["context"] != "unknown",
        "sampling": record.sampling,
        "dataset": record.dataset,
        "dataset_fingerprint": record.dataset_fingerprint,
    })
}
