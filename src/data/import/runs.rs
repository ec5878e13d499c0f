//! Runs that this program exported as JSON lines, one record a line.

use serde_json::Value;

use crate::data::import::guess::own_export;
use crate::data::import::sink::Sink;
use crate::data::import::{ImportError, files, stem};
use crate::data::store::{RECORD_VERSION, ReplyRecord};
use crate::domain::plain::json_reason;
use crate::source::Line;

/// Reads every file; the runs keep their names unless `--run` gives another.
pub(super) fn read(sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let found = files(&sink.request.paths, &|name| {
        name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")
    })?;
    sink.expect_files(&found);
    for path in &found {
        if let Some("a run") = own_export(path) {
            return Err(ImportError::Usage(format!(
                "{file} is a run as a Parquet file, which doesn't hold all of it; `medrgb import parquet {file}` reads its replies, only JSON lines come back whole",
                file = path.display()
            )));
        }
        let mut open: Option<String> = None;
        let mut lines = sink.lines(path)?;
        while let Some((place, line)) = sink.next_line(&mut lines, path)? {
            let mut record = match record(line) {
                Ok(record) => record,
                Err(fault) => {
                    sink.bad(&place, &fault);
                    continue;
                }
            };
            if open.as_ref() != Some(&record.run) {
                if open.is_some() {
                    return Err(ImportError::Failed(format!(
                        "{place}: a second run in one file; export one run per file"
                    )));
                }
                sink.begin_run_as(&record.run, found.len() > 1)?;
                open = Some(record.run.clone());
            }
            record.run = sink.run_name().unwrap_or(&record.run).to_owned();
            let told = &record.reply["imported"]["context"];
            let known = *told != "unknown" && *told != "documents unknown";
            sink.store_record(&record, known)?;
        }
        if open.is_none() {
            sink.note(&format!("{} holds no record of a run", stem(path)));
        }
        sink.end_run();
    }
    Ok(())
}

fn record(line: Line<'_>) -> Result<ReplyRecord, String> {
    let text = match line {
        Line::Text(text) => text,
        Line::Bad(why) => return Err(why),
    };
    let value: Value = serde_json::from_str(text)
        .map_err(|error| format!("no valid JSON ({})", json_reason(&error)))?;
    let version = value["version"]
        .as_u64()
        .unwrap_or(u64::from(RECORD_VERSION));
    if version > u64::from(RECORD_VERSION) {
        return Err(format!(
            "the record has version {version}, but this program knows versions up to {RECORD_VERSION}; update the program"
        ));
    }
    serde_json::from_value(value)
        .map_err(|error| format!("no record of a run ({})", json_reason(&error)))
}
