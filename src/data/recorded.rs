//! Recorded replies as lines of JSON: what `medrgb runs export` writes, and the recording that comes with the
//! sample benchmark.

use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::data::store::{RECORD_VERSION, ReplyRecord};
use crate::domain::plain::json_reason;

/// Real replies of the demo model to questions of the sample benchmark; `sample-data/README.md` says how
/// it was made.
const SAMPLE_RUN: &[u8] = include_bytes!("../../sample-data/recorded.jsonl.gz");

/// Reads one exported record. Whether its run can have the name that stands there is for the caller to say: it may
/// give another.
///
/// # Errors
/// A sentence without file and line: no JSON, no record, or one of a newer version.
pub fn read_record(json: &[u8]) -> Result<ReplyRecord, String> {
    let value: Value = serde_json::from_slice(json)
        .map_err(|error| format!("no JSON object ({})", json_reason(&error)))?;
    match value.get("version").and_then(Value::as_u64) {
        Some(version) if version > u64::from(RECORD_VERSION) => Err(format!(
            "the record has version {version}, but this program knows versions up to {RECORD_VERSION}; update the program"
        )),
        Some(_) => {
            let mut record: ReplyRecord = serde_json::from_value(value)
                .map_err(|error| format!("no record of a reply ({})", json_reason(&error)))?;
            record.id = 0;
            Ok(record)
        }
        None => Err(
            "\"version\" is missing, so this is no record; expected a file that `medrgb runs export` has written"
                .to_owned(),
        ),
    }
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
