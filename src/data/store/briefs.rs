//! What lists, filters and full-text search need of stored replies, without contexts and prompts.

use rusqlite::Row;

use crate::data::store::{Store, StoreError, parse};
use crate::domain::annotation::ReplyMarks;
use crate::domain::answer::Outcome;
use crate::domain::context::Condition;

/// Whose replies.
#[derive(Debug, Clone, Copy)]
pub enum Which<'a> {
    /// Those of a run.
    Run(&'a str),
    /// All about a dataset (by fingerprint), or with a run those of that run.
    Dataset(&'a str, Option<&'a str>),
}

/// A reply in brief.
#[derive(Debug, Clone, PartialEq)]
pub struct Brief {
    /// Row id.
    pub id: i64,
    /// The id by which annotations name it.
    pub reply_id: String,
    /// Name of the run.
    pub run: String,
    /// SHA-256 of the dataset's files.
    pub dataset_fingerprint: String,
    /// The question.
    pub question_id: String,
    /// The question's text.
    pub question: String,
    /// The set that the question belongs to, if its file says so.
    pub set: Option<String>,
    /// What was asked for.
    pub condition: Condition,
    /// Name of the model.
    pub model_name: String,
    /// What became of the reply.
    pub outcome: Outcome,
    /// Whether the right option was chosen; `None` where that can't be said.
    pub correct: Option<bool>,
    /// Sub-questions answered with the planted answer, and those on adversarial documents; (0, 0) without any.
    pub adopted: (u64, u64),
    /// The reasoning, where it was asked for.
    pub reasoning: Option<String>,
}

// Contexts are long: only those of probes, which say so in a column, are looked into.
const COLUMNS: &str = "replies.id, run, dataset_fingerprint, question_id, json_extract(texts.question, '$.text'),
    CAST(coalesce(question_set, json_extract(texts.question, '$.extra.source_dataset'),
        json_extract(texts.question, '$.extra.subset')) AS TEXT),
    condition, CASE WHEN changed THEN json_extract(texts.context, '$.variant') END, model_name, created_at, texts.raw,
    outcome, json_extract(scores, '$.main_correct'),
    coalesce(json_extract(counts, '$.misinformation_adopted.num'), 0),
    coalesce(json_extract(counts, '$.misinformation_adopted.den'), 0)";

impl Store {
    /// The replies (not the failed calls) in brief, in stored order, with their reasoning where `texts` says
    /// so. One that can't be read is left out and counted.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn briefs(&self, which: Which<'_>, texts: bool) -> Result<(Vec<Brief>, usize), StoreError> {
        let (filter, values) = match which {
            Which::Run(run) => ("run = ?1", vec![run]),
            Which::Dataset(fingerprint, None) => ("dataset_fingerprint = ?1", vec![fingerprint]),
            Which::Dataset(fingerprint, Some(run)) => (
                "dataset_fingerprint = ?1 AND run = ?2",
                vec![fingerprint, run],
            ),
        };
        let reasoning = match texts {
            true => "json_extract(parsed, '$.reasoning')",
            false => "NULL",
        };
        let sql = format!(
            "SELECT {COLUMNS}, {reasoning} FROM replies JOIN texts ON texts.id = replies.id
             WHERE {filter} AND failure = 'null' ORDER BY replies.id"
        );
        let read = || -> rusqlite::Result<(Vec<Brief>, usize)> {
            let connection = self.lock();
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(rusqlite::params_from_iter(values))?;
            let (mut briefs, mut broken) = (Vec::new(), 0);
            while let Some(row) = rows.next()? {
                match brief(row) {
                    Ok(brief) => briefs.push(brief),
                    Err(_) => broken += 1,
                }
            }
            Ok((briefs, broken))
        };
        read().map_err(|error| self.describe(&error))
    }
}

fn brief(row: &Row<'_>) -> rusqlite::Result<Brief> {
    let condition: Condition = parse(row, 6)?;
    let variant: Option<String> = row.get(7)?;
    let (created_at, raw): (String, String) = (row.get(9)?, row.get(10)?);
    let (dataset_fingerprint, question_id): (String, String) = (row.get(2)?, row.get(3)?);
    let model_name: String = row.get(8)?;
    let outcome: String = row.get(11)?;
    let outcome = serde_json::from_value(serde_json::Value::String(outcome)).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(11, rusqlite::types::Type::Text, Box::new(error))
    })?;
    // Numbers of a pooled rate are floats in the file, but count whole sub-questions.
    let whole =
        |column| -> rusqlite::Result<u64> { Ok(row.get::<_, f64>(column)?.max(0.0) as u64) };
    let reply_id = ReplyMarks {
        dataset_fingerprint: &dataset_fingerprint,
        question_id: &question_id,
        condition: &condition,
        variant: variant.as_deref(),
        model: &model_name,
        created_at: &created_at,
        raw: &raw,
    }
    .id();
    Ok(Brief {
        id: row.get(0)?,
        reply_id,
        run: row.get(1)?,
        dataset_fingerprint,
        question_id,
        question: row.get::<_, Option<String>>(4)?.unwrap_or_default(),
        set: row.get(5)?,
        condition,
        model_name,
        outcome,
        correct: row.get(12)?,
        adopted: (whole(13)?, whole(14)?),
        reasoning: row.get(15)?,
    })
}
