//! A record as it lies in the tables, not yet taken apart: reading rows needs the connection, taking JSON apart does
//! not and may happen on other threads.

use rusqlite::Row;
use rusqlite::types::{FromSql, Value, ValueRef};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::data::store::{Origin, ReplyRecord, parse_text};
use crate::domain::prompt::Prompt;

/// Reads records; conditions follow.
pub(super) const SELECT: &str = "SELECT replies.id, run, dataset, dataset_fingerprint, question, condition, context,
    prompt, model, model_name, sampling, raw, reply, failure, parsed, scores, created_at, request, origin
    FROM replies JOIN texts ON texts.id = replies.id";

/// How many columns [`SELECT`] gives.
const COLUMNS: usize = 19;

/// The values of a record's columns.
#[derive(Debug)]
pub(super) struct Raw {
    pub(super) id: i64,
    values: Vec<Value>,
}

/// What [`Raw::record_to_read`] takes of what is stored beside a reply's text.
#[derive(Deserialize)]
struct Stored {
    #[serde(default)]
    ending: serde_json::Value,
}

/// The columns that reading and scoring again can do without.
#[derive(Default)]
struct Beside {
    prompt: Prompt,
    model: serde_json::Value,
    sampling: serde_json::Value,
    reply: serde_json::Value,
    origin: Option<Origin>,
}

impl Raw {
    /// The columns of a row of [`SELECT`].
    pub(super) fn of(row: &Row<'_>) -> rusqlite::Result<Raw> {
        Ok(Raw {
            id: row.get(0)?,
            values: (0..COLUMNS)
                .map(|column| row.get(column))
                .collect::<rusqlite::Result<_>>()?,
        })
    }

    /// The record.
    pub(super) fn record(&self) -> rusqlite::Result<ReplyRecord> {
        self.around(Beside {
            prompt: self.json(7)?,
            model: self.json(8)?,
            sampling: self.json(10)?,
            reply: self.json(12)?,
            origin: self.json(18)?,
        })
    }

    /// The record as far as reading and scoring it again needs: without prompt, model, sampling and origin, and of what
    /// is stored beside the reply only its ending. Taking the rest apart, the times of hundreds of pieces above all,
    /// costs as much as reading and scoring.
    pub(super) fn record_to_read(&self) -> rusqlite::Result<ReplyRecord> {
        let stored: Option<Stored> = self.json(12)?;
        self.around(Beside {
            reply: stored.map_or(
                serde_json::Value::Null,
                |stored| serde_json::json!({"ending": stored.ending}),
            ),
            ..Beside::default()
        })
    }

    fn around(&self, beside: Beside) -> rusqlite::Result<ReplyRecord> {
        Ok(ReplyRecord {
            id: self.id,
            run: self.get(1)?,
            dataset: self.get(2)?,
            dataset_fingerprint: self.get(3)?,
            question: self.json(4)?,
            condition: self.json(5)?,
            context: self.json(6)?,
            prompt: beside.prompt,
            model: beside.model,
            model_name: self.get(9)?,
            sampling: beside.sampling,
            raw: self.get(11)?,
            reply: beside.reply,
            failure: self.json(13)?,
            parsed: self.json(14)?,
            scores: self.json(15)?,
            created_at: self.get(16)?,
            request: self.get(17)?,
            origin: beside.origin,
        })
    }

    fn value(&self, column: usize) -> ValueRef<'_> {
        self.values
            .get(column)
            .map_or(ValueRef::Null, ValueRef::from)
    }

    fn get<T: FromSql>(&self, column: usize) -> rusqlite::Result<T> {
        let value = self.value(column);
        T::column_result(value).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(column, value.data_type(), Box::new(error))
        })
    }

    fn json<T: DeserializeOwned>(&self, column: usize) -> rusqlite::Result<T> {
        let text = self.value(column).as_str().map_err(|error| {
            let kind = self.value(column).data_type();
            rusqlite::Error::FromSqlConversionFailure(column, kind, Box::new(error))
        })?;
        parse_text(text, column)
    }
}
