//! What tables say of a stored reply, field by field: the same in exports of runs and of annotations.

use serde_json::{Map, Value, json};

use crate::data::store::ReplyRecord;

/// The record, what was asked of whom under which condition, and what came of it. Texts of documents, prompts and
/// replies are not among them.
pub(in crate::data) fn reply_fields(record: &ReplyRecord) -> Map<String, Value> {
    let (question, context) = (&record.question, &record.context);
    let options: Map<String, Value> = question
        .options
        .iter()
        .map(|choice| (choice.letter.to_string(), json!(choice.text)))
        .collect();
    let parsed = record.parsed.as_ref();
    let fields = json!({
        "record": record.id,
        "dataset": record.dataset,
        "dataset_fingerprint": record.dataset_fingerprint,
        "model": record.model_name,
        "created_at": record.created_at,
        "question": question.text,
        "options": options,
        "scenario": context.scenario.name(),
        "docs_requested": context.docs_requested,
        "docs": context.docs,
        "p_requested": context.p_requested,
        "p": context.p,
        "seed": context.seed,
        "mode": context.mode.name(),
        "source": context.source.name(),
        "outcome": parsed.map(|parsed| parsed.outcome.name()),
        "chosen": parsed.and_then(|parsed| parsed.answer),
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
