//! Annotations as rows of a file: with everything of the reply that is needed to use them elsewhere.

use std::collections::BTreeSet;
use std::io::Write;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::data::clock::check_time;
use crate::data::export::Table;
use crate::data::parquet_file::Column;
use crate::data::reply_fields::reply_fields;
use crate::data::store::ReplyRecord;
use crate::domain::annotation::{Annotation, Hand, LONGEST_NOTE, Part, given_name};
use crate::domain::plain::json_reason;
use crate::domain::score::{Metric, Ratio};

/// Version of the rows, written into each of them.
pub const ROW_VERSION: u32 = 1;

/// The columns: of the annotation, then of the reply.
const COLUMNS: [(&str, Column); 40] = [
    ("version", Column::Whole),
    ("kind", Column::Text),
    ("run", Column::Text),
    ("reply_id", Column::Text),
    ("question_id", Column::Text),
    ("annotator", Column::Text),
    ("labels", Column::Text),
    ("note", Column::Text),
    ("unsure", Column::Text),
    ("done", Column::Text),
    ("blind", Column::Text),
    ("taxonomy", Column::Text),
    ("first_at", Column::Text),
    ("updated_at", Column::Text),
    ("record", Column::Whole),
    ("dataset", Column::Text),
    ("dataset_fingerprint", Column::Text),
    ("model", Column::Text),
    ("created_at", Column::Text),
    ("question", Column::Text),
    ("options", Column::Text),
    ("gold", Column::Text),
    ("gold_text", Column::Text),
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
    ("response", Column::Text),
    ("outcome", Column::Text),
    ("chosen", Column::Text),
    ("correct", Column::Text),
    ("sub_answers", Column::Text),
    ("misinformation_adopted", Column::Whole),
    ("adversarial_sub_questions", Column::Whole),
];

/// An annotation as a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnnotationRow {
    /// Version of the row.
    pub version: u32,
    /// `annotation` or `adjudication`.
    pub kind: String,
    /// The run.
    pub run: String,
    /// The reply's id.
    pub reply_id: String,
    /// The question.
    pub question_id: String,
    /// Who said it.
    pub annotator: String,
    /// Ids of the labels.
    pub labels: BTreeSet<String>,
    /// Free text.
    #[serde(default)]
    pub note: String,
    /// Not sure.
    #[serde(default)]
    pub unsure: bool,
    /// Finished.
    #[serde(default)]
    pub done: bool,
    /// Finished with gold answers and roles hidden.
    #[serde(default)]
    pub blind: bool,
    /// Name and version of the taxonomy.
    #[serde(default)]
    pub taxonomy: String,
    /// Time of the first change.
    #[serde(default)]
    pub first_at: String,
    /// Time of the last change.
    #[serde(default)]
    pub updated_at: String,
}

impl AnnotationRow {
    /// The row of an annotation.
    pub fn new(run: &str, reply_id: &str, hand: &Hand, annotation: &Annotation) -> AnnotationRow {
        AnnotationRow {
            version: ROW_VERSION,
            kind: hand.part.name().to_owned(),
            run: run.to_owned(),
            reply_id: reply_id.to_owned(),
            question_id: annotation.question_id.clone(),
            annotator: hand.annotator.clone(),
            labels: annotation.labels.clone(),
            note: annotation.note.clone(),
            unsure: annotation.unsure,
            done: annotation.done,
            blind: annotation.blind,
            taxonomy: annotation.taxonomy.clone(),
            first_at: annotation.first_at.clone(),
            updated_at: annotation.updated_at.clone(),
        }
    }

    /// Whose it is and what it says.
    ///
    /// # Errors
    /// Half a sentence: which field is wrong and what was expected.
    pub fn parts(self) -> Result<(Hand, Annotation), String> {
        let part = Part::named(&self.kind).ok_or_else(|| {
            format!(
                "kind is \"{}\"; expected annotation or adjudication",
                crate::domain::text::short(&self.kind)
            )
        })?;
        let annotator = given_name(&self.annotator).map_err(|why| format!("annotator {why}"))?;
        for (field, time) in [
            ("first_at", &self.first_at),
            ("updated_at", &self.updated_at),
        ] {
            check_time(time).map_err(|why| format!("{field} {why}"))?;
        }
        if self.run.trim().is_empty() {
            return Err("run is empty".to_owned());
        }
        let is_id =
            self.reply_id.len() == 24 && self.reply_id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            return Err(format!(
                "reply_id is \"{}\"; expected 24 hexadecimal digits",
                crate::domain::text::short(&self.reply_id)
            ));
        }
        if self.note.len() > LONGEST_NOTE {
            return Err(format!("note is longer than {LONGEST_NOTE} bytes"));
        }
        let annotation = Annotation {
            labels: self.labels,
            note: self.note,
            unsure: self.unsure,
            done: self.done,
            blind: self.blind,
            taxonomy: self.taxonomy,
            question_id: self.question_id,
            first_at: self.first_at,
            updated_at: self.updated_at,
        };
        Ok((Hand { annotator, part }, annotation))
    }
}

/// Reads a row as [`write_jsonl`] writes it.
///
/// # Errors
/// Half a sentence: what is wrong with it.
pub fn read_row(line: &str) -> Result<AnnotationRow, String> {
    let value: Value = serde_json::from_str(line)
        .map_err(|error| format!("no JSON object ({})", json_reason(&error)))?;
    match value.get("version").and_then(Value::as_u64) {
        Some(version) if version > u64::from(ROW_VERSION) => Err(format!(
            "the row has version {version}, but this program knows versions up to {ROW_VERSION}; update the program"
        )),
        Some(_) => serde_json::from_value(value)
            .map_err(|error| format!("no annotation ({})", json_reason(&error))),
        None => Err(
            "\"version\" is missing, so this is no annotation; expected a file that `medrgb annotate export` has written"
                .to_owned(),
        ),
    }
}

/// An annotation with what is known of its reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportRow {
    /// The annotation.
    pub annotation: AnnotationRow,
    /// Of the reply, by column; empty where the store does not hold it.
    pub reply: Map<String, Value>,
}

/// What rows say of a reply: question, options, gold answer, what the context held, the reply as received and as
/// read.
pub fn facts(record: &ReplyRecord) -> Map<String, Value> {
    let (question, context) = (&record.question, &record.context);
    let documents: Vec<Value> = context
        .documents
        .iter()
        .map(|document| {
            json!({
                "label": document.label, "id": document.id, "role": document.role,
                "original_id": document.original_id, "title": document.title,
            })
        })
        .collect();
    let scores = record.scores.as_ref();
    let adopted = scores
        .and_then(|scores| scores.counts.get(&Metric::MisinformationAdopted))
        .copied();
    let whole = |of: fn(Ratio) -> f64| adopted.map(|ratio| of(ratio) as u64);
    let sub_answers: Option<Vec<Value>> = scores.map(|scores| {
        scores
            .subs
            .iter()
            .map(|sub| json!({"label": sub.label, "answer": sub.given, "exact": sub.exact, "adopted": sub.adopted}))
            .collect()
    });
    let own = [
        ("gold", json!(question.answer)),
        ("gold_text", json!(question.gold_text())),
        ("documents", json!(documents)),
        ("sub_questions", json!(context.sub_questions)),
        ("response", json!(record.raw)),
        (
            "correct",
            json!(scores.and_then(|scores| scores.main_correct)),
        ),
        ("sub_answers", json!(sub_answers)),
        ("misinformation_adopted", json!(whole(|ratio| ratio.num))),
        ("adversarial_sub_questions", json!(whole(|ratio| ratio.den))),
    ];
    let mut fields = reply_fields(record);
    fields.extend(own.map(|(name, value)| (name.to_owned(), value)));
    fields
}

/// Writes rows as JSON lines.
///
/// # Errors
/// Why the writing failed.
pub fn write_jsonl(rows: &[ExportRow], out: &mut impl Write) -> Result<(), String> {
    for row in rows {
        let mut line = annotation_fields(row)?;
        for (name, _) in &COLUMNS[line.len()..] {
            let value = row.reply.get(*name).cloned().unwrap_or_default();
            line.insert((*name).to_owned(), value);
        }
        serde_json::to_writer(&mut *out, &line).map_err(|error| error.to_string())?;
        out.write_all(b"\n").map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Writes rows as CSV: lists and objects as JSON texts, formulas guarded against.
///
/// # Errors
/// Why the writing failed.
pub fn write_csv(rows: &[ExportRow], out: &mut impl Write) -> Result<(), String> {
    let cells = rows.iter().map(|row| {
        let own = annotation_fields(row)?;
        let of = |name: &str| own.get(name).or_else(|| row.reply.get(name)).cloned();
        let cells = COLUMNS.iter().map(|(name, _)| of(name).unwrap_or_default());
        Ok(cells.collect::<Vec<Value>>())
    });
    Table { columns: &COLUMNS }.csv(out, cells)
}

fn annotation_fields(row: &ExportRow) -> Result<Map<String, Value>, String> {
    match serde_json::to_value(&row.annotation) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Ok(Map::new()),
        Err(error) => Err(error.to_string()),
    }
}
