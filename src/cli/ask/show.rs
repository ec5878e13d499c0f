//! How `medrgb ask` shows a stored reply: as JSON, and as text for reading.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::cli::common::Environment;
use crate::data::store::ReplyRecord;
use crate::domain::passage::Role;
use crate::domain::score::{DocumentScore, Labelled, Scores, SubScore};
use crate::domain::text::{clean, one_line};
use crate::model::ModelIdentity;

/// The object of `ask --json`. `reply` and `scores` are null for a call that gave no reply, `failure` is
/// null for one that did.
pub(in crate::cli) fn json(record: &ReplyRecord, cost: Option<f64>) -> Value {
    let reply = record.parsed.as_ref().map(|parsed| {
        json!({
            "raw": record.raw,
            "reasoning": parsed.reasoning,
            "hidden": parsed.hidden,
            "provider_reasoning": record.reply.get("reasoning"),
            "outcome": parsed.outcome,
            "answer": parsed.answer,
            "ending": record.reply.get("ending"),
            "notes": parsed.notes,
        })
    });
    let mut context = json!(record.context);
    if let Some(fields) = context.as_object_mut() {
        fields.insert("prompt".to_owned(), json!(record.prompt));
    }
    let mut usage = record
        .reply
        .get("usage")
        .cloned()
        .unwrap_or_else(|| json!({}));
    if let Some(fields) = usage.as_object_mut() {
        fields.insert("cost_usd".to_owned(), json!(cost));
    }
    let timing = record.reply.get("timing");
    let milliseconds = |key: &str| timing.and_then(|timing| timing.get(key)).cloned();
    json!({
        "context": context,
        "reply": reply,
        "scores": record.scores.as_ref().map(scores),
        "failure": record.failure,
        "usage": usage,
        "timing_ms": {
            "first_token": milliseconds("first_token_ms"),
            "total": milliseconds("total_ms"),
        },
        "model": record.model_name,
        "model_detail": record.model.get("detail"),
        "caution": record.model.get("caution"),
        "attempts": record.reply.get("attempts").or_else(|| record.failure.get("attempts")),
        "run": record.run,
        "id": (record.id != 0).then_some(record.id),
    })
}

/// Every metric by its name, `main_correct`, and numerators and denominators under `counts`.
fn scores(scores: &Scores) -> Value {
    let mut fields = Map::new();
    fields.insert("main_correct".to_owned(), json!(scores.main_correct));
    for (metric, ratio) in &scores.counts {
        if let Value::String(name) = json!(metric) {
            fields.insert(name, json!(ratio.value()));
        }
    }
    fields.insert("documents".to_owned(), json!(scores.documents));
    fields.insert("subs".to_owned(), json!(scores.subs));
    fields.insert("counts".to_owned(), json!(scores.counts));
    Value::Object(fields)
}

/// What the call cost in dollars: by the prices of the config; nothing for models of this machine and
/// replays; `None` where no price is known.
pub(super) fn cost(record: &ReplyRecord, name: &str, environment: &Environment) -> Option<f64> {
    if record.model.get("backend").and_then(Value::as_str) != Some("http") {
        return Some(0.0);
    }
    let model = environment.config.models.get(name)?;
    let usage = record.reply.get("usage")?;
    let tokens = |key: &str| usage.get(key).and_then(Value::as_f64);
    let cost = tokens("prompt_tokens")? * model.price_in?
        + tokens("completion_tokens")? * model.price_out?;
    Some(cost / 1e6)
}

/// The scores for reading.
pub(in crate::cli) fn text(
    record: &ReplyRecord,
    model: &ModelIdentity,
    cost: Option<f64>,
) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "\nmodel     {}", clean(&model.name));
    if let Some(caution) = &model.caution {
        let _ = writeln!(out, "caution   {}", clean(caution));
    }
    let Some(parsed) = &record.parsed else {
        let _ = write!(out, "outcome   unavailable: no reply");
        return out;
    };
    let gold = record.question.answer;
    let answer = parsed
        .answer
        .map_or_else(String::new, |answer| format!(" {answer}"));
    let right = match record
        .scores
        .as_ref()
        .and_then(|scores| scores.main_correct)
    {
        Some(true) => "right",
        Some(false) => "wrong",
        None => "not scored",
    };
    let _ = writeln!(
        out,
        "outcome   {}{answer}, {right} (gold {gold})",
        name(&parsed.outcome)
    );
    for entry in &parsed.notes {
        let _ = writeln!(out, "note      {}", one_line(entry));
    }
    if let Some(scores) = &record.scores {
        write_scores(&mut out, scores);
    }
    let _ = write!(out, "{}", measure(record, cost));
    out
}

fn write_scores(out: &mut String, scores: &Scores) {
    for (metric, ratio) in &scores.counts {
        let value = ratio
            .value()
            .map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
        let _ = writeln!(
            out,
            "{:<26}{value:>7}   {} of {}",
            name(metric),
            ratio.num,
            ratio.den
        );
    }
    for document in &scores.documents {
        let _ = writeln!(out, "{}", document_line(document));
    }
    for (at, sub) in scores.subs.iter().enumerate() {
        let _ = writeln!(out, "{}", sub_line(at + 1, sub));
    }
}

fn document_line(document: &DocumentScore) -> String {
    let role = match document.role {
        Role::Signal => "signal",
        Role::Noise => "noise",
        Role::Adversarial => "adversarial",
    };
    let said = match document.said {
        Labelled::Relevant => "said relevant",
        Labelled::Irrelevant => "said irrelevant",
        Labelled::Both => "said both",
        Labelled::Neither => "not labelled",
    };
    let right = if document.right { "right" } else { "wrong" };
    format!("{:<8} {role:<12} {said:<16} {right}", document.label)
}

fn sub_line(number: usize, sub: &SubScore) -> String {
    let given = sub.given.as_deref().map_or_else(
        || "skipped".to_owned(),
        |given| format!("\"{}\"", one_line(given)),
    );
    let mut line = format!(
        "sub_{number:<4} {:<8} {given}, gold \"{}\": {}, F1 {:.2}",
        sub.label,
        one_line(&sub.gold),
        if sub.exact { "exact" } else { "not exact" },
        sub.f1,
    );
    if let Some(right) = sub.verdict_right {
        line += if right {
            ", verdict right"
        } else {
            ", verdict wrong"
        };
    }
    if sub.adopted {
        line += ", planted answer adopted";
    }
    line
}

/// Tokens, times, cost.
fn measure(record: &ReplyRecord, cost: Option<f64>) -> String {
    let number = |pointer: &str| record.reply.pointer(pointer).and_then(Value::as_u64);
    let mut parts = Vec::new();
    if let Some(tokens) = number("/usage/prompt_tokens") {
        parts.push(format!("{tokens} prompt tokens"));
    }
    if let Some(tokens) = number("/usage/completion_tokens") {
        parts.push(format!("{tokens} reply tokens"));
    }
    if let Some(first) = number("/timing/first_token_ms") {
        parts.push(format!("first token {first} ms"));
    }
    if let Some(total) = number("/timing/total_ms") {
        parts.push(format!("total {total} ms"));
    }
    if let Some(cost) = cost {
        parts.push(format!("cost ${cost:.6}"));
    }
    parts.join(", ")
}

/// The name that a value has in JSON.
fn name(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}
