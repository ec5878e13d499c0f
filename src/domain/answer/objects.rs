//! The JSON objects of a reply, whatever their keys.

use serde_json::{Map, Value};

use super::scan::Scan;

/// An object of a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplyObject {
    /// Its fields.
    pub fields: Map<String, Value>,
    /// Whether its closing brace was there.
    pub complete: bool,
}

/// The objects of a reply that have a field, in order. They may be fenced, repaired, or have text around them;
/// `<think>` blocks are not searched.
pub fn objects(raw: &str) -> Vec<ReplyObject> {
    Scan::with(raw, |fields| !fields.is_empty())
        .objects
        .into_iter()
        .map(|found| ReplyObject {
            complete: found.complete && found.open.is_none(),
            fields: found.map,
        })
        .collect()
}
