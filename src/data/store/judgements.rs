//! What judge models said about the sub-answers of stored replies.

use rusqlite::{Connection, Row, params};
use serde::{Deserialize, Serialize};

use super::{Store, StoreError, json, parse};

/// One judgement of a sub-answer. It holds for the answer that was judged: where reading a reply again
/// gives another answer, it no longer applies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgementRecord {
    /// Row id of the reply; exports leave it out, since a record gets a new one where it is imported.
    #[serde(skip)]
    pub reply: i64,
    /// Position of the sub-question, from 0.
    pub sub: usize,
    /// Name of the judge model.
    pub judge: String,
    /// The answer that was judged.
    pub given: String,
    /// The judge's raw reply; empty for a failed call.
    pub raw: String,
    /// 0, 0.5 or 1; `None` where the reply can't be read or the call failed.
    pub score: Option<f64>,
    /// Failure (kind, message) of a call that gave no reply; null otherwise.
    pub failure: serde_json::Value,
    /// UTC, RFC 3339.
    pub created_at: String,
}

impl Store {
    /// Writes a judgement durably.
    ///
    /// # Errors
    /// [`StoreError`], for example where no reply has this row id.
    pub fn insert_judgement(&self, judgement: &JudgementRecord) -> Result<(), StoreError> {
        let written = self.patiently(|| write(judgement, judgement.reply, &self.lock()));
        written.map_err(|error| self.describe(&error))
    }

    /// All judgements of a reply, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn judgements_of_reply(&self, reply: i64) -> Result<Vec<JudgementRecord>, StoreError> {
        let read = || -> rusqlite::Result<Vec<JudgementRecord>> {
            let connection = self.lock();
            let mut statement = connection.prepare_cached(
                "SELECT reply, sub, judge, given, raw, score, failure, created_at
                 FROM judgements WHERE reply = ?1 ORDER BY id",
            )?;
            let rows = statement.query_map(params![reply], read_judgement)?;
            rows.collect()
        };
        read().map_err(|error| self.describe(&error))
    }

    /// All judgements of a run's replies by one judge, oldest first: of several about the same sub-question
    /// the last one counts.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn judgements_of_run(
        &self,
        run: &str,
        judge: &str,
    ) -> Result<Vec<JudgementRecord>, StoreError> {
        let read = || -> rusqlite::Result<Vec<JudgementRecord>> {
            let connection = self.lock();
            let mut statement = connection.prepare_cached(
                "SELECT judgements.reply, sub, judgements.judge, given, judgements.raw, score,
                    judgements.failure, judgements.created_at
                 FROM judgements JOIN replies ON replies.id = judgements.reply
                 WHERE replies.run = ?1 AND judgements.judge = ?2 ORDER BY judgements.id",
            )?;
            let rows = statement.query_map(params![run, judge], read_judgement)?;
            rows.collect()
        };
        read().map_err(|error| self.describe(&error))
    }

    /// Names of the judges of a run, sorted.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn judges_of_run(&self, run: &str) -> Result<Vec<String>, StoreError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let connection = self.lock();
            let mut statement = connection.prepare_cached(
                "SELECT DISTINCT judgements.judge FROM judgements JOIN replies ON replies.id = judgements.reply
                 WHERE replies.run = ?1 ORDER BY 1",
            )?;
            let rows = statement.query_map(params![run], |row| row.get(0))?;
            rows.collect()
        };
        read().map_err(|error| self.describe(&error))
    }
}

/// Writes a judgement of the reply with this row id within the caller's transaction.
pub(super) fn write(
    judgement: &JudgementRecord,
    reply: i64,
    connection: &Connection,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO judgements (reply, sub, judge, given, raw, score, failure, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            reply,
            i64::try_from(judgement.sub).unwrap_or(i64::MAX),
            judgement.judge,
            judgement.given,
            judgement.raw,
            judgement.score,
            json(&judgement.failure)?,
            judgement.created_at,
        ])
        .map(drop)
}

fn read_judgement(row: &Row<'_>) -> rusqlite::Result<JudgementRecord> {
    Ok(JudgementRecord {
        reply: row.get(0)?,
        sub: usize::try_from(row.get::<_, i64>(1)?).unwrap_or(usize::MAX),
        judge: row.get(2)?,
        given: row.get(3)?,
        raw: row.get(4)?,
        score: row.get(5)?,
        failure: parse(row, 6)?,
        created_at: row.get(7)?,
    })
}
