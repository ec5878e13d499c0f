//! From a reply to its record and back.

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::data::clock::now;
use crate::data::store::{ReplyRecord, Store, StoreError};
use crate::domain::answer::{Ending, parse};
use crate::domain::score::score;
use crate::domain::text::hex;
use crate::engine::ask::AskRequest;
use crate::model::{ChatModel, ChatRequest, ModelError, ModelIdentity, Reply};

/// The record of an asking: read and scored where a reply came.
pub(in crate::engine) fn record(
    request: &AskRequest,
    result: &Result<Reply, ModelError>,
) -> ReplyRecord {
    let instance = &request.instance;
    let parsed = result
        .as_ref()
        .ok()
        .map(|reply| parse(&reply.text, &instance.shape, reply.ending));
    let scores = parsed
        .as_ref()
        .map(|parsed| score(&instance.question, &instance.context, parsed));
    let identity = request.model.identity();
    ReplyRecord {
        id: 0,
        run: request.run.clone(),
        dataset: request.dataset.0.clone(),
        dataset_fingerprint: request.dataset.1.clone(),
        question: instance.question.clone(),
        condition: instance.condition,
        context: instance.context.clone(),
        prompt: instance.prompt.clone(),
        model: to_value(identity),
        model_name: identity.name.clone(),
        sampling: to_value(&request.sampling),
        raw: result
            .as_ref()
            .map(|reply| reply.text.clone())
            .unwrap_or_default(),
        reply: result.as_ref().map(without_text).unwrap_or_default(),
        failure: result.as_ref().err().map(to_value).unwrap_or_default(),
        parsed,
        scores,
        created_at: now(),
        request: request_key(request.model.as_ref(), &request.chat()),
        origin: None,
    }
}

/// The hash of a request by which its reply is found again; `None` where none may stand for another.
pub(in crate::engine) fn request_key(
    model: &dyn ChatModel,
    request: &ChatRequest,
) -> Option<String> {
    let identity = model.identify(request)?;
    Some(hex(&Sha256::digest(identity.to_string())))
}

/// Stores the record; where that fails, saves it beside the store and says so.
pub(in crate::engine) fn keep(
    store: Option<&Store>,
    mut record: ReplyRecord,
) -> Result<ReplyRecord, String> {
    let Some(store) = store else {
        return Ok(record);
    };
    match store.insert(&record) {
        Ok(id) => {
            record.id = id;
            Ok(record)
        }
        Err(StoreError(why)) => Err(match store.save_beside(&record, &why) {
            Ok(file) => format!(
                "the reply could not be stored, but is kept in {}: {why}",
                file.display()
            ),
            Err(StoreError(also)) => format!("the reply could not be stored: {why}; {also}"),
        }),
    }
}

/// The reply of a record, or its failure.
///
/// # Errors
/// A sentence for a record whose JSON is not what this program writes.
pub fn result_of(record: &ReplyRecord) -> Result<Result<Reply, ModelError>, String> {
    let unreadable = |error: serde_json::Error| {
        format!(
            "record {} of the run \"{}\" can't be read: {error}",
            record.id, record.run
        )
    };
    if !record.failure.is_null() {
        let failure = serde_json::from_value(record.failure.clone()).map_err(unreadable)?;
        return Ok(Err(failure));
    }
    let mut reply = record.reply.clone();
    if let Some(fields) = reply.as_object_mut() {
        fields.insert("text".to_owned(), Value::String(record.raw.clone()));
    }
    Ok(Ok(serde_json::from_value(reply).map_err(unreadable)?))
}

/// How the reply of a record ended, without reading the rest of it; `None` for a call that gave no reply.
///
/// # Errors
/// A sentence for a record whose reply is not what this program writes.
pub fn ending_of(record: &ReplyRecord) -> Result<Option<Ending>, String> {
    if !record.failure.is_null() {
        return Ok(None);
    }
    let ending = record.reply.get("ending").unwrap_or(&Value::Null);
    Ending::deserialize(ending).map(Some).map_err(|error| {
        format!(
            "record {} of the run \"{}\" can't be read: {error}",
            record.id, record.run
        )
    })
}

/// The model of a record; `None` where its JSON is not what this program writes.
pub fn identity_of(record: &ReplyRecord) -> Option<ModelIdentity> {
    serde_json::from_value(record.model.clone()).ok()
}

/// Everything of a reply but its text, which has a column of its own.
fn without_text(reply: &Reply) -> Value {
    let mut value = to_value(reply);
    if let Some(fields) = value.as_object_mut() {
        fields.shift_remove("text");
    }
    value
}

/// These types are plain structures, which can always be written.
pub(in crate::engine) fn to_value(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
