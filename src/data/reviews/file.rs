//! Decisions as rows of a file: with the item that they are about.

use std::io::Write;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::data::clock::check_time;
use crate::data::export::Table;
use crate::data::parquet_file::Column;
use crate::data::reviews::record::{EditedRecord, VerdictRecord};
use crate::domain::annotation::{Hand, LONGEST_NOTE, Part, given_name};
use crate::domain::context::Pools;
use crate::domain::plain::json_reason;
use crate::domain::question::Question;
use crate::domain::review::{Content, Decision, Found, ItemKind};
use crate::domain::text::short;

/// Version of the rows, written into each of them.
pub const ROW_VERSION: u32 = 1;

/// The most bytes of a note, of words or of an edited text that are read from a file.
const LONGEST_TEXT: usize = LONGEST_NOTE;

/// What a reviewer's rows are called; those of one who decides between reviewers are adjudications.
const REVIEW: &str = "review";

/// The columns: of the decision, then of the item.
const COLUMNS: [(&str, Column); 28] = [
    ("version", Column::Whole),
    ("kind", Column::Text),
    ("dataset", Column::Text),
    ("item", Column::Text),
    ("item_kind", Column::Text),
    ("question_id", Column::Text),
    ("doc_id", Column::Text),
    ("reviewer", Column::Text),
    ("decision", Column::Text),
    ("reason", Column::Text),
    ("words", Column::Text),
    ("edited", Column::Text),
    ("note", Column::Text),
    ("first_at", Column::Text),
    ("updated_at", Column::Text),
    ("in_dataset", Column::Text),
    ("question", Column::Text),
    ("options", Column::Text),
    ("gold", Column::Text),
    ("gold_text", Column::Text),
    ("title", Column::Text),
    ("document", Column::Text),
    ("sub_question", Column::Text),
    ("answer", Column::Text),
    ("planted", Column::Text),
    ("edited_document", Column::Text),
    ("findings", Column::Text),
    ("findings_in_words", Column::Text),
];

/// A decision as a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewRow {
    pub(super) version: u32,
    pub(super) kind: String,
    pub(super) dataset: String,
    pub(super) item: String,
    pub(super) item_kind: String,
    pub(super) question_id: String,
    pub(super) doc_id: String,
    pub(super) reviewer: String,
    /// `accepted`, `edited` or `rejected`; null where there is only a note.
    pub(super) decision: Option<String>,
    #[serde(default)]
    pub(super) reason: Option<String>,
    #[serde(default)]
    pub(super) words: String,
    #[serde(default)]
    pub(super) edited: Option<EditedRecord>,
    #[serde(default)]
    pub(super) note: String,
    #[serde(default)]
    pub(super) first_at: String,
    #[serde(default)]
    pub(super) updated_at: String,
    /// Of the item, by column; empty where the dataset does not hold it. Not read back.
    #[serde(skip)]
    pub facts: Map<String, Value>,
}

impl ReviewRow {
    /// The row of a decision.
    pub fn new(dataset: &str, item: &str, hand: &Hand, decision: &Decision) -> ReviewRow {
        let verdict = decision.verdict.as_ref().map(VerdictRecord::of);
        let (name, reason, words, edited) = match verdict {
            Some(record) => (
                Some(record.decision),
                record.reason,
                record.words,
                record.edited,
            ),
            None => (None, None, String::new(), None),
        };
        ReviewRow {
            version: ROW_VERSION,
            kind: match hand.part {
                Part::Annotator => REVIEW.to_owned(),
                Part::Adjudicator => Part::Adjudicator.name().to_owned(),
            },
            dataset: dataset.to_owned(),
            item: item.to_owned(),
            item_kind: decision.kind.name().to_owned(),
            question_id: decision.question_id.clone(),
            doc_id: decision.doc_id.clone(),
            reviewer: hand.annotator.clone(),
            decision: name,
            reason,
            words,
            edited,
            note: decision.note.clone(),
            first_at: decision.first_at.clone(),
            updated_at: decision.updated_at.clone(),
            facts: Map::new(),
        }
    }

    /// The dataset's name.
    pub fn dataset(&self) -> &str {
        &self.dataset
    }

    /// The item's id.
    pub fn item(&self) -> &str {
        &self.item
    }

    /// Whose it is and what it says.
    ///
    /// # Errors
    /// Half a sentence: which field is wrong and what was expected.
    pub fn parts(self) -> Result<(Hand, Decision), String> {
        let part = match self.kind.as_str() {
            REVIEW => Part::Annotator,
            other if Part::named(other) == Some(Part::Adjudicator) => Part::Adjudicator,
            other => {
                return Err(format!(
                    "kind is \"{}\"; expected review or adjudication",
                    short(other)
                ));
            }
        };
        let annotator = given_name(&self.reviewer).map_err(|why| format!("reviewer {why}"))?;
        for (field, time) in [
            ("first_at", &self.first_at),
            ("updated_at", &self.updated_at),
        ] {
            check_time(time).map_err(|why| format!("{field} {why}"))?;
        }
        if self.dataset.trim().is_empty() {
            return Err("dataset is empty".to_owned());
        }
        let is_id = self.item.len() == 24 && self.item.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            return Err(format!(
                "item is \"{}\"; expected 24 hexadecimal digits",
                short(&self.item)
            ));
        }
        let kind = ItemKind::named(&self.item_kind).ok_or_else(|| {
            format!(
                "item_kind is \"{}\"; expected sub_question or edit",
                short(&self.item_kind)
            )
        })?;
        let edited = self.edited.as_ref().map_or(0, |edited| match edited {
            EditedRecord::SubQuestion { question, answer } => question.len() + answer.len(),
            EditedRecord::Edit { planted, text } => planted.len() + text.len(),
        });
        if self.note.len().max(self.words.len()).max(edited) > LONGEST_TEXT {
            return Err(format!("a text is longer than {LONGEST_TEXT} bytes"));
        }
        let record = self.decision.map(|decision| VerdictRecord {
            decision,
            reason: self.reason,
            words: self.words,
            edited: self.edited,
        });
        let verdict = match record {
            Some(record) => Some(record.verdict(kind)?),
            None => None,
        };
        let decision = Decision {
            verdict,
            note: self.note,
            kind,
            question_id: self.question_id,
            doc_id: self.doc_id,
            first_at: self.first_at,
            updated_at: self.updated_at,
        };
        Ok((Hand { annotator, part }, decision))
    }
}

/// Reads a row as [`write_jsonl`] writes it.
///
/// # Errors
/// Half a sentence: what is wrong with it.
pub fn read_row(line: &str) -> Result<ReviewRow, String> {
    let value: Value = serde_json::from_str(line)
        .map_err(|error| format!("no JSON object ({})", json_reason(&error)))?;
    match value.get("version").and_then(Value::as_u64) {
        Some(version) if version > u64::from(ROW_VERSION) => Err(format!(
            "the row has version {version}, but this program knows versions up to {ROW_VERSION}; update the program"
        )),
        Some(_) if value.get("item_kind").is_some() => serde_json::from_value(value)
            .map_err(|error| format!("no decision ({})", json_reason(&error))),
        _ => Err(
            "\"version\" or \"item_kind\" is missing, so this is no decision; expected a file that `medrgb build review export` has written"
                .to_owned(),
        ),
    }
}

/// What rows say of an item: its question, its document, what it says in the dataset, and what the checks find in it as
/// it was decided.
pub fn facts(question: &Question, pools: &Pools<'_>, found: &Found) -> Map<String, Value> {
    let options: Map<String, Value> = question
        .options
        .iter()
        .map(|choice| (choice.letter.to_string(), json!(choice.text)))
        .collect();
    let item = &found.item;
    let document = pools.signal.iter().find(|one| one.id == item.doc_id);
    let mut sub = pools
        .sub_questions
        .iter()
        .find(|one| one.doc_id == item.doc_id);
    let (mut planted, mut text) = (None, None);
    match &item.content {
        Content::SubQuestion { .. } => sub = pools.sub_questions.get(item.at),
        Content::Edit {
            planted: own,
            text: edited,
        } => (planted, text) = (Some(own), Some(edited)),
    }
    let kinds: Vec<String> = found.issues.iter().map(|issue| issue.kind.name()).collect();
    let words: Vec<&str> = found
        .issues
        .iter()
        .map(|issue| issue.detail.as_str())
        .collect();
    let fields = json!({
        "in_dataset": true,
        "question": question.text,
        "options": options,
        "gold": question.answer,
        "gold_text": question.gold_text(),
        "title": document.map(|one| &one.title),
        "document": document.map(|one| &one.content),
        "sub_question": sub.map(|sub| &sub.question),
        "answer": sub.map(|sub| &sub.answer),
        "planted": planted,
        "edited_document": text,
        "findings": kinds,
        "findings_in_words": words.join("; "),
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// All columns of a row.
fn line(row: &ReviewRow) -> Result<Map<String, Value>, String> {
    let own = match serde_json::to_value(row) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) => Map::new(),
        Err(error) => return Err(error.to_string()),
    };
    let of = |name: &str| own.get(name).or_else(|| row.facts.get(name)).cloned();
    let columns = COLUMNS.iter().map(|(name, _)| {
        let value = of(name).unwrap_or(match *name {
            "in_dataset" => json!(false),
            _ => Value::Null,
        });
        ((*name).to_owned(), value)
    });
    Ok(columns.collect())
}

/// Writes rows as JSON lines.
///
/// # Errors
/// Why the writing failed.
pub fn write_jsonl(rows: &[ReviewRow], out: &mut impl Write) -> Result<(), String> {
    for row in rows {
        serde_json::to_writer(&mut *out, &line(row)?).map_err(|error| error.to_string())?;
        out.write_all(b"\n").map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Writes rows as CSV: lists and objects as JSON texts, formulas guarded against.
///
/// # Errors
/// Why the writing failed.
pub fn write_csv(rows: &[ReviewRow], out: &mut impl Write) -> Result<(), String> {
    let cells = rows.iter().map(|row| {
        let line = line(row)?;
        Ok(line
            .into_iter()
            .map(|(_, value)| value)
            .collect::<Vec<Value>>())
    });
    Table { columns: &COLUMNS }.csv(out, cells)
}
