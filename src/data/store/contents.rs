//! Reading parts of a run's records: what a sweep needs to go on, and what a list of its contents shows.

use rusqlite::{Row, params};
use serde::Serialize;
use serde_json::Value;

use crate::data::store::{ReplyRecord, Store, StoreError, count, parse};
use crate::domain::answer::Outcome;
use crate::domain::context::Condition;
use crate::domain::score::Scores;

/// A record without its long texts.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEntry {
    /// Row id.
    pub id: i64,
    /// SHA-256 of the dataset's files.
    pub dataset_fingerprint: String,
    /// The question.
    pub question_id: String,
    /// What was asked for.
    pub condition: Condition,
    /// Name of the model.
    pub model_name: String,
    /// Sampling settings.
    pub sampling: Value,
    /// The outcome of the reply as read, or `failed:KIND` for a call that gave none.
    pub outcome: String,
}

impl RunEntry {
    /// The outcome of the reply; `None` for a failed call.
    pub fn reply_outcome(&self) -> Option<Outcome> {
        serde_json::from_value(Value::String(self.outcome.clone())).ok()
    }

    /// The kind of failure, such as `rate_limited`; `None` for a reply.
    pub fn failure_kind(&self) -> Option<&str> {
        self.outcome.strip_prefix("failed:")
    }
}

/// How many records of a run have the same condition, model, sampling and outcome.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunGroup {
    /// Name of the dataset.
    pub dataset: String,
    /// SHA-256 of its files.
    pub dataset_fingerprint: String,
    /// Name of the model.
    pub model_name: String,
    /// Everything that is known of the model.
    pub model: Value,
    /// The model's name as the server reported it.
    pub reported_model: Option<String>,
    /// Sampling settings.
    pub sampling: Value,
    /// What was asked for.
    pub condition: Condition,
    /// The outcome of the reply as read, or `failed:KIND`.
    pub outcome: String,
    /// Records.
    pub records: u64,
    /// Contexts with fewer documents than asked for.
    pub short: u64,
    /// Time of the first record: UTC, RFC 3339.
    pub first_at: String,
    /// Time of the last record.
    pub last_at: String,
}

impl Store {
    /// All records of a run without their long texts, in stored order; none for an unknown run.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn entries_of_run(&self, run: &str) -> Result<Vec<RunEntry>, StoreError> {
        self.read_rows(
            "SELECT id, dataset_fingerprint, question_id, condition, model_name, sampling, outcome
             FROM replies WHERE run = ?1 ORDER BY id",
            params![run],
            |row| {
                Ok(RunEntry {
                    id: row.get(0)?,
                    dataset_fingerprint: row.get(1)?,
                    question_id: row.get(2)?,
                    condition: parse(row, 3)?,
                    model_name: row.get(4)?,
                    sampling: parse(row, 5)?,
                    outcome: row.get(6)?,
                })
            },
        )
    }

    /// The scores of a record, and whether its context is short; `None` for an unknown id.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn scores_of(&self, id: i64) -> Result<Option<(Option<Scores>, bool)>, StoreError> {
        let mut rows = self.read_rows(
            "SELECT scores, coalesce(json_extract(context, '$.short'), 0) FROM replies WHERE id = ?1",
            params![id],
            |row| Ok((parse(row, 0)?, row.get(1)?)),
        )?;
        Ok(rows.pop())
    }

    /// What a run holds, grouped by condition, model, sampling and outcome.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn groups_of_run(&self, run: &str) -> Result<Vec<RunGroup>, StoreError> {
        self.read_rows(
            "SELECT dataset, dataset_fingerprint, model_name, model, reported, sampling, condition,
                outcome, count(*), sum(short), min(created_at), max(created_at)
             FROM (SELECT *, json_extract(reply, '$.reported_model') AS reported,
                    coalesce(json_extract(context, '$.short'), 0) AS short
                FROM replies WHERE run = ?1)
             GROUP BY dataset, dataset_fingerprint, model, reported, sampling, condition, outcome
             ORDER BY min(id)",
            params![run],
            |row| {
                Ok(RunGroup {
                    dataset: row.get(0)?,
                    dataset_fingerprint: row.get(1)?,
                    model_name: row.get(2)?,
                    model: parse(row, 3)?,
                    reported_model: row.get(4)?,
                    sampling: parse(row, 5)?,
                    condition: parse(row, 6)?,
                    outcome: row.get(7)?,
                    records: count(row, 8)?,
                    short: count(row, 9)?,
                    first_at: row.get(10)?,
                    last_at: row.get(11)?,
                })
            },
        )
    }

    /// Row ids of a run's records in stored order: for reading them one by one.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn ids_of_run(&self, run: &str) -> Result<Vec<i64>, StoreError> {
        self.read_rows(
            "SELECT id FROM replies WHERE run = ?1 ORDER BY id",
            params![run],
            |row| row.get(0),
        )
    }

    /// Whether the store holds this very record already, whatever its row id.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn holds(&self, record: &ReplyRecord) -> Result<bool, StoreError> {
        let alike = self.select(
            "WHERE dataset_fingerprint = ?1 AND question_id = ?2 AND run = ?3 AND created_at = ?4",
            params![
                record.dataset_fingerprint,
                record.question.id,
                record.run,
                record.created_at
            ],
        )?;
        Ok(alike.into_iter().any(|held| {
            held == ReplyRecord {
                id: held.id,
                ..record.clone()
            }
        }))
    }

    fn read_rows<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = || {
            let connection = self.lock();
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map(values, read)?;
            rows.collect::<rusqlite::Result<Vec<T>>>()
        };
        let rows: rusqlite::Result<Vec<T>> = rows();
        rows.map_err(|error| self.describe(&error))
    }
}
