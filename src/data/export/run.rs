//! A run as a file: a row per record.

use std::cell::Cell;
use std::io::Write;
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::data::export::{ExportError, Format, Table, inspect, whole};
use crate::data::parquet_file::Column;
use crate::data::reply_fields::reply_fields;
use crate::data::store::{RECORD_VERSION, ReplyRecord, Store};
use crate::domain::score::Metric;

/// The columns before the metrics.
const COLUMNS: [(&str, Column); 27] = [
    ("run", Column::Text),
    ("record", Column::Whole),
    ("dataset", Column::Text),
    ("dataset_fingerprint", Column::Text),
    ("model", Column::Text),
    ("created_at", Column::Text),
    ("question_id", Column::Text),
    ("question", Column::Text),
    ("options", Column::Text),
    ("answer", Column::Text),
    ("scenario", Column::Text),
    ("docs_requested", Column::Whole),
    ("docs", Column::Whole),
    ("p_requested", Column::Number),
    ("p", Column::Number),
    ("seed", Column::Whole),
    ("mode", Column::Text),
    ("source", Column::Text),
    ("documents", Column::Text),
    ("sub_questions", Column::Text),
    ("system_prompt", Column::Text),
    ("user_prompt", Column::Text),
    ("response", Column::Text),
    ("failure", Column::Text),
    ("outcome", Column::Text),
    ("chosen", Column::Text),
    ("notes", Column::Text),
];

/// The metrics, each as one column with its rate in this record.
const METRICS: [(&str, Metric); 17] = [
    ("main_accuracy", Metric::MainAccuracy),
    ("insufficient_rate", Metric::InsufficientRate),
    ("accuracy_when_answered", Metric::AccuracyWhenAnswered),
    ("noise_detection_accuracy", Metric::NoiseDetectionAccuracy),
    ("noise_detection_labelled", Metric::NoiseDetectionLabelled),
    ("noise_recall", Metric::NoiseRecall),
    ("noise_precision", Metric::NoisePrecision),
    ("signal_recall", Metric::SignalRecall),
    ("sub_exact_match", Metric::SubExactMatch),
    ("sub_exact_match_squad", Metric::SubExactMatchSquad),
    ("sub_token_f1", Metric::SubTokenF1),
    ("sub_judge_score", Metric::SubJudgeScore),
    ("attribution_accuracy", Metric::AttributionAccuracy),
    ("factual_error_detection", Metric::FactualErrorDetection),
    ("adversarial_recall", Metric::AdversarialRecall),
    ("false_alarm_rate", Metric::FalseAlarmRate),
    ("misinformation_adopted", Metric::MisinformationAdopted),
];

/// The records of a run, one after the other: a run may be larger than memory.
pub type Records<'a> = Box<dyn Iterator<Item = Result<ReplyRecord, String>> + 'a>;

/// A stored run, read page by page. Records that can't be read are left out and counted.
#[derive(Debug)]
pub struct StoredRun<'a> {
    store: &'a Store,
    run: &'a str,
    read: Cell<usize>,
    broken: Cell<usize>,
}

impl<'a> StoredRun<'a> {
    /// A run of this store.
    pub fn new(store: &'a Store, run: &'a str) -> StoredRun<'a> {
        StoredRun {
            store,
            run,
            read: Cell::new(0),
            broken: Cell::new(0),
        }
    }

    /// All records, from the first on.
    pub fn records(&'a self) -> Records<'a> {
        self.read.set(0);
        self.broken.set(0);
        let mut after = Some(0);
        let pages = std::iter::from_fn(move || {
            let page = match self.store.page_of_run(self.run, after?) {
                Ok(page) => page,
                Err(error) => {
                    after = None;
                    return Some(vec![Err(error.to_string())]);
                }
            };
            after = page.last;
            after?;
            self.read.set(self.read.get() + page.records.len());
            self.broken.set(self.broken.get() + page.broken.len());
            Some(page.records.into_iter().map(Ok).collect::<Vec<_>>())
        });
        Box::new(pages.flatten())
    }

    /// How many records were read, the last time that all were.
    pub fn read(&self) -> usize {
        self.read.get()
    }

    /// How many of the run's records can't be read.
    pub fn broken(&self) -> usize {
        self.broken.get()
    }
}

/// Writes the records of a run to one file. `records` begins anew with every call: a log has a head that says what
/// will come.
///
/// # Errors
/// [`ExportError`] where the file can't be written, or the run not be read.
pub fn run<'a>(
    records: &dyn Fn() -> Records<'a>,
    format: Format,
    path: &Path,
) -> Result<(), ExportError> {
    let columns: Vec<(&str, Column)> = COLUMNS
        .into_iter()
        .chain(METRICS.into_iter().map(|(name, _)| (name, Column::Number)))
        .collect();
    let table = Table { columns: &columns };
    let rows = || records().map(|record| record.map(|record| cells(&record)));
    match format {
        Format::Jsonl => whole(path, |out| lines(records(), out)),
        Format::Csv => whole(path, |out| table.csv(out, rows())),
        Format::Parquet => whole(path, |out| table.parquet(out, rows())),
        Format::Inspect => whole(path, |out| inspect::write(records, out)),
    }
}

/// Every record with all that is stored of it: `import run` reads it back.
fn lines(records: Records<'_>, out: &mut impl Write) -> Result<(), String> {
    #[derive(Serialize)]
    struct Line<'a> {
        version: u32,
        #[serde(flatten)]
        record: &'a ReplyRecord,
    }
    for record in records {
        let record = record?;
        let line = Line {
            version: RECORD_VERSION,
            record: &record,
        };
        serde_json::to_writer(&mut *out, &line).map_err(|error| error.to_string())?;
        out.write_all(b"\n").map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The values of the columns, in their order.
fn cells(record: &ReplyRecord) -> Vec<Value> {
    let mut fields = fields(record);
    for (name, metric) in METRICS {
        let scores = record.scores.as_ref();
        let ratio = scores.and_then(|scores| scores.counts.get(&metric));
        fields.insert(
            name.to_owned(),
            json!(ratio.and_then(|ratio| ratio.value())),
        );
    }
    let names = COLUMNS.iter().map(|(name, _)| *name);
    names
        .chain(METRICS.iter().map(|(name, _)| *name))
        .map(|name| fields.remove(name).unwrap_or_default())
        .collect()
}

/// What a row says before its metrics; what is empty is null.
fn fields(record: &ReplyRecord) -> Map<String, Value> {
    let (context, parsed) = (&record.context, record.parsed.as_ref());
    let unless = |is_empty: bool, value: Value| match is_empty {
        true => Value::Null,
        false => value,
    };
    let notes = parsed.map_or(&[][..], |parsed| parsed.notes.as_slice());
    let own = [
        ("run", json!(record.run)),
        ("question_id", json!(record.question.id)),
        ("answer", json!(record.question.answer)),
        (
            "documents",
            unless(context.documents.is_empty(), json!(context.documents)),
        ),
        (
            "sub_questions",
            unless(
                context.sub_questions.is_empty(),
                json!(context.sub_questions),
            ),
        ),
        (
            "system_prompt",
            unless(record.prompt.system.is_empty(), json!(record.prompt.system)),
        ),
        (
            "user_prompt",
            unless(record.prompt.user.is_empty(), json!(record.prompt.user)),
        ),
        ("response", unless(parsed.is_none(), json!(record.raw))),
        ("failure", record.failure.clone()),
        ("notes", unless(notes.is_empty(), json!(notes))),
    ];
    let mut fields = reply_fields(record);
    fields.extend(own.map(|(name, value)| (name.to_owned(), value)));
    fields
}
