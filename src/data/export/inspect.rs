//! A run as one of Inspect's JSON logs (version 2), which `inspect view` and `read_eval_log` open.

use std::io::Write;

use serde_json::{Map, Value, json};

use crate::data::store::ReplyRecord;
use crate::domain::answer::Outcome;

/// The key in a sample's metadata under which everything stands that the log has no field for, so that an
/// import gives the same records.
pub const OWN_METADATA: &str = "medrgb";

/// Writes the log, one sample at a time.
pub(super) fn write(records: &[ReplyRecord], out: &mut impl Write) -> Result<(), String> {
    let head = head(records);
    let io = |error: std::io::Error| error.to_string();
    out.write_all(b"{").map_err(io)?;
    for (key, value) in head {
        writeln!(out, "{}: {value},", json!(key)).map_err(io)?;
    }
    out.write_all(b"\"samples\": [").map_err(io)?;
    let mut epochs: std::collections::HashMap<&str, u64> = std::collections::HashMap::new();
    for (at, record) in records.iter().enumerate() {
        let epoch = epochs.entry(&record.question.id).or_default();
        *epoch += 1;
        let comma = if at == 0 { "\n" } else { ",\n" };
        write!(out, "{comma}{}", sample(record, *epoch)).map_err(io)?;
    }
    out.write_all(b"\n]}\n").map_err(io)
}

fn head(records: &[ReplyRecord]) -> Map<String, Value> {
    let first = records.first();
    let text = |read: fn(&ReplyRecord) -> &str| first.map_or("", read);
    let run = text(|record| &record.run);
    let created = text(|record| &record.created_at);
    let models = {
        let mut models: Vec<&str> = records
            .iter()
            .map(|record| record.model_name.as_str())
            .collect();
        models.sort_unstable();
        models.dedup();
        models.join(", ")
    };
    let mut ids: Vec<&str> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for record in records {
        if seen.insert(record.question.id.as_str()) {
            ids.push(&record.question.id);
        }
    }
    let scored = records
        .iter()
        .filter_map(|record| record.scores.as_ref()?.main_correct);
    let (mut right, mut all) = (0_u32, 0_u32);
    for correct in scored {
        all += 1;
        right += u32::from(correct);
    }
    let accuracy = match all {
        0 => 0.0,
        _ => f64::from(right) / f64::from(all),
    };
    let dataset = text(|record| &record.dataset);
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
            "metadata": {"run": run, "dataset_fingerprint": text(|record| &record.dataset_fingerprint)},
        }),
    );
    head.insert(
        "plan".to_owned(),
        json!({"name": "plan", "steps": [{"solver": "generate"}], "config": {}}),
    );
    head.insert(
        "results".to_owned(),
        json!({
            "total_samples": records.len(), "completed_samples": records.len(),
            "scores": [{
                "name": "main", "scorer": "main", "scored_samples": all,
                "unscored_samples": records.len() as u64 - u64::from(all),
                "metrics": {"accuracy": {"name": "accuracy", "value": accuracy}},
            }],
        }),
    );
    let ended = records
        .last()
        .map_or("", |record| record.created_at.as_str());
    head.insert(
        "stats".to_owned(),
        json!({"started_at": created, "completed_at": ended, "model_usage": {}}),
    );
    head
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
        "dataset": record.dataset,
        "dataset_fingerprint": record.dataset_fingerprint,
    })
}
