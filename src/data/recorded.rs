//! Recorded replies as lines of JSON: what `medrgb runs export` writes, and the recording that comes with the
//! sample benchmark.

use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::data::store::{JudgementRecord, RECORD_VERSION, ReplyRecord};
use crate::domain::plain::json_reason;

/// The fields in which judgements and logbook go along.
const JUDGEMENTS: &str = "judgements";
const SWEEPS: &str = "sweeps";

/// Real replies of the demo model to questions of the sample benchmark; `sample-data/README.md` says how
/// it was made.
const SAMPLE_RUN: &[u8] = include_bytes!("../../sample-data/recorded.jsonl.gz");

/// Reads one exported record. Whether its run can have the name that stands there is for the caller to say: it may
/// give another.
///
/// # Errors
/// A sentence without file and line: no JSON, no record, or one of a newer version.
pub fn read_record(json: &[u8]) -> Result<ReplyRecord, String> {
    read_exported(json).map(|exported| exported.record)
}

/// An exported record with what goes along: fields that earlier versions neither write nor look at.
#[derive(Debug)]
pub struct Exported {
    /// The record.
    pub record: ReplyRecord,
    /// What judges said of its sub-answers, oldest first.
    pub judgements: Vec<JudgementRecord>,
    /// The logbook of its run: with the first record of an export.
    pub sweeps: Vec<Value>,
}

/// A record as the line of an export.
///
/// # Errors
/// A sentence where it can't be written as JSON.
pub fn export_line(exported: &Exported) -> Result<String, String> {
    let mut line = serde_json::to_value(&exported.record).map_err(|error| error.to_string())?;
    if let Some(fields) = line.as_object_mut() {
        fields.shift_insert(0, "version".to_owned(), Value::from(RECORD_VERSION));
        fields.shift_remove("id");
        if !exported.judgements.is_empty() {
            let judgements = serde_json::to_value(&exported.judgements);
            fields.insert(
                JUDGEMENTS.to_owned(),
                judgements.map_err(|error| error.to_string())?,
            );
        }
        if !exported.sweeps.is_empty() {
            fields.insert(SWEEPS.to_owned(), Value::from(exported.sweeps.clone()));
        }
    }
    Ok(line.to_string())
}

/// Reads one exported record with what goes along.
///
/// # Errors
/// As [`read_record`].
pub fn read_exported(json: &[u8]) -> Result<Exported, String> {
    let value: Value = serde_json::from_slice(json)
        .map_err(|error| format!("no JSON object ({})", json_reason(&error)))?;
    match value.get("version").and_then(Value::as_u64) {
        Some(version) if version > u64::from(RECORD_VERSION) => Err(format!(
            "the record has version {version}, but this program knows versions up to {RECORD_VERSION}; update the program"
        )),
        Some(_) => of_value(value),
        None => Err(
            "\"version\" is missing, so this is no record; expected a file that `medrgb runs export` has written"
                .to_owned(),
        ),
    }
}

fn of_value(mut value: Value) -> Result<Exported, String> {
    let mut taken = |key: &str| {
        value
            .as_object_mut()
            .and_then(|fields| fields.shift_remove(key))
    };
    let (judgements, sweeps) = (taken(JUDGEMENTS), taken(SWEEPS));
    let judgements = judgements
        .map_or(Ok(Vec::new()), serde_json::from_value)
        .map_err(|error| {
            format!(
                "\"{JUDGEMENTS}\" are no judgements ({})",
                json_reason(&error)
            )
        })?;
    let sweeps = match sweeps {
        None => Vec::new(),
        Some(Value::Array(entries)) if entries.iter().all(Value::is_object) => entries,
        Some(_) => return Err(format!("\"{SWEEPS}\" is no list of objects")),
    };
    let mut record: ReplyRecord = serde_json::from_value(value)
        .map_err(|error| format!("no record of a reply ({})", json_reason(&error)))?;
    record.id = 0;
    Ok(Exported {
        record,
        judgements,
        sweeps,
    })
}

/// The replies recorded with the sample benchmark, in the order in which they came.
///
/// # Errors
/// A sentence with the line that can't be read; a test sees to it that there is none.
pub fn sample_run() -> Result<Vec<ReplyRecord>, String> {
    let mut text = Vec::new();
    GzDecoder::new(SAMPLE_RUN)
        .read_to_end(&mut text)
        .map_err(|error| format!("sample-data/recorded.jsonl.gz can't be read: {error}"))?;
    text.split(|&byte| byte == b'\n')
        .enumerate()
        .filter(|(_, line)| !line.trim_ascii().is_empty())
        .map(|(at, line)| {
            read_record(line)
                .map_err(|why| format!("sample-data/recorded.jsonl.gz, line {}: {why}", at + 1))
        })
        .collect()
}
