//! Writing records: those that wait at the same time share one transaction, since waiting for the disk is
//! most of the work. Each is durable before its `insert` returns.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, TransactionBehavior, params};
use serde_json::Value;

use crate::data::store::patience::is_locked;
use crate::data::store::{RECORD_VERSION, ReplyRecord, Store, StoreError, json, outcome};
use crate::domain::report::MEDRGB_DOCUMENTS;

/// The columns of a record, ready to be written.
#[derive(Debug)]
pub(super) struct Row {
    run: String,
    created_at: String,
    dataset: String,
    dataset_fingerprint: String,
    question_id: String,
    scenario: &'static str,
    model_name: String,
    request: Option<String>,
    origin: String,
    condition: String,
    sampling: String,
    model: String,
    reported: Option<String>,
    short: bool,
    changed: bool,
    own_documents: bool,
    question_set: Option<String>,
    gold: String,
    probabilities: String,
    failure: String,
    reading: Reading,
    reply: String,
    question: String,
    raw: String,
    context: String,
    prompt: String,
}

/// The columns that say how a reply was read and scored: they change when a run is scored again.
#[derive(Debug)]
pub(super) struct Reading {
    outcome: String,
    answer: Option<String>,
    judge: Option<String>,
    notes: String,
    counts: String,
    scores: String,
    parsed: String,
}

impl Reading {
    pub(super) fn of(record: &ReplyRecord) -> rusqlite::Result<Reading> {
        let (parsed, scores) = (record.parsed.as_ref(), record.scores.as_ref());
        Ok(Reading {
            outcome: outcome(record),
            answer: parsed.and_then(|parsed| parsed.answer.map(String::from)),
            judge: scores.and_then(|scores| scores.judge.clone()),
            notes: json(&parsed.map_or(&[][..], |parsed| parsed.notes.as_slice()))?,
            counts: scores.map_or(Ok("{}".to_owned()), |scores| json(&scores.counts))?,
            scores: json(&record.scores)?,
            parsed: json(&record.parsed)?,
        })
    }

    /// Writes the reading of the record with this row id within the caller's transaction.
    pub(super) fn rewrite(&self, id: i64, connection: &Connection) -> rusqlite::Result<()> {
        connection
            .prepare_cached(
                "UPDATE replies SET record_version = ?2, outcome = ?3, answer = ?4, judge = ?5, notes = ?6,
                    counts = ?7, scores = ?8, parsed = ?9 WHERE id = ?1",
            )?
            .execute(params![
                id,
                RECORD_VERSION,
                self.outcome,
                self.answer,
                self.judge,
                self.notes,
                self.counts,
                self.scores,
                self.parsed,
            ])
            .map(drop)
    }
}

impl Row {
    pub(super) fn of(record: &ReplyRecord) -> rusqlite::Result<Row> {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let extra = &record.question.extra;
        Ok(Row {
            run: record.run.clone(),
            created_at: record.created_at.clone(),
            dataset: record.dataset.clone(),
            dataset_fingerprint: record.dataset_fingerprint.clone(),
            question_id: record.question.id.clone(),
            scenario: record.condition.scenario.name(),
            model_name: record.model_name.clone(),
            request: record.request.clone(),
            origin: json(&record.origin)?,
            condition: json(&record.condition)?,
            sampling: json(&record.sampling)?,
            model: json(&record.model)?,
            reported: text(record.reply.get("reported_model")),
            short: record.context.short,
            changed: record.context.variant.is_some(),
            own_documents: text(extra.get("documents")).as_deref() == Some(MEDRGB_DOCUMENTS),
            question_set: text(extra.get("dataset")),
            gold: String::from(record.question.answer),
            probabilities: json(&record.reply.get("option_probabilities"))?,
            failure: json(&record.failure)?,
            reading: Reading::of(record)?,
            reply: json(&record.reply)?,
            question: json(&record.question)?,
            raw: record.raw.clone(),
            context: json(&record.context)?,
            prompt: json(&record.prompt)?,
        })
    }

    /// Writes the row and its run within the caller's transaction and gives the row id.
    pub(super) fn write(&self, connection: &Connection) -> rusqlite::Result<i64> {
        connection
            .prepare_cached(
                "INSERT INTO runs (name, created_at) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING",
            )?
            .execute(params![self.run, self.created_at])?;
        connection
            .prepare_cached(
                "INSERT INTO replies (record_version, run, dataset, dataset_fingerprint, question_id, scenario,
                    model_name, outcome, created_at, request, origin, condition, sampling, model, reported, short,
                    changed, own_documents, question_set, gold, answer, judge, notes, probabilities, counts,
                    failure, scores, parsed)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
                    ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28)",
            )?
            .execute(params![
                RECORD_VERSION,
                self.run,
                self.dataset,
                self.dataset_fingerprint,
                self.question_id,
                self.scenario,
                self.model_name,
                self.reading.outcome,
                self.created_at,
                self.request,
                self.origin,
                self.condition,
                self.sampling,
                self.model,
                self.reported,
                self.short,
                self.changed,
                self.own_documents,
                self.question_set,
                self.gold,
                self.reading.answer,
                self.reading.judge,
                self.reading.notes,
                self.probabilities,
                self.reading.counts,
                self.failure,
                self.reading.scores,
                self.reading.parsed,
            ])?;
        let id = connection.last_insert_rowid();
        connection
            .prepare_cached(
                "INSERT INTO texts (id, reply, question, raw, context, prompt) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![id, self.reply, self.question, self.raw, self.context, self.prompt])?;
        Ok(id)
    }
}

/// Where the result of a waiting row is put: its id, or why it is not stored.
type Ticket = Arc<Mutex<Option<Result<i64, StoreError>>>>;

/// Rows that wait to be written.
#[derive(Debug, Default)]
pub(super) struct Group(Mutex<Vec<(Row, Ticket)>>);

impl Group {
    fn push(&self, row: Row, ticket: Ticket) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push((row, ticket));
    }

    fn take(&self) -> Vec<(Row, Ticket)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Store {
    /// Writes a reply durably and gives its row id. When this returns, the reply survives a kill.
    ///
    /// # Errors
    /// [`StoreError`], for example when the disk is full.
    pub fn insert(&self, record: &ReplyRecord) -> Result<i64, StoreError> {
        let row = Row::of(record).map_err(|error| self.describe(&error))?;
        let ticket = Ticket::default();
        self.group.push(row, Arc::clone(&ticket));
        // Who gets the connection writes for all that wait; rows are taken only by who holds it.
        let mut connection = self.lock();
        if open(&ticket).is_none() {
            self.write_group(&mut connection, self.group.take());
        }
        drop(connection);
        let result = open(&ticket).take();
        result.unwrap_or_else(|| {
            Err(StoreError(
                "the reply was not stored, since the program failed while it wrote others".into(),
            ))
        })
    }

    /// Writes all rows in one transaction; where that fails, each in one of its own, so that a row that
    /// can't be written takes no other with it.
    fn write_group(&self, connection: &mut Connection, rows: Vec<(Row, Ticket)>) {
        if rows.len() > 1 {
            let together = rows.iter().map(|(row, _)| row);
            match self.patiently(|| write_together(connection, together.clone())) {
                Ok(ids) => {
                    for ((_, ticket), id) in rows.iter().zip(ids) {
                        *open(ticket) = Some(Ok(id));
                    }
                    return;
                }
                // Each of its own would wait as long again, and as vainly.
                Err(error) if is_locked(&error) => {
                    for (_, ticket) in &rows {
                        *open(ticket) = Some(Err(self.describe(&error)));
                    }
                    return;
                }
                Err(_) => {}
            }
        }
        for (row, ticket) in &rows {
            let result = self
                .patiently(|| write_together(connection, std::iter::once(row)))
                .map(|ids| ids.first().copied().unwrap_or_default())
                .map_err(|error| self.describe(&error));
            *open(ticket) = Some(result);
        }
    }
}

fn open(ticket: &Ticket) -> std::sync::MutexGuard<'_, Option<Result<i64, StoreError>>> {
    ticket.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes rows in one transaction and gives their ids.
pub(super) fn write_together<'a>(
    connection: &mut Connection,
    rows: impl Iterator<Item = &'a Row>,
) -> rusqlite::Result<Vec<i64>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let ids = rows
        .map(|row| row.write(&transaction))
        .collect::<rusqlite::Result<Vec<i64>>>()?;
    transaction.commit()?;
    Ok(ids)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::data::store::tests::record;

    #[test]
    fn a_row_that_can_not_be_written_fails_alone() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let mut huge = record("r", "huge");
        huge.raw = "x".repeat(1_000_000);
        let rows: Vec<(Row, Ticket)> = [record("r", "a"), huge, record("r", "b")]
            .iter()
            .map(|record| (Row::of(record).unwrap(), Ticket::default()))
            .collect();
        let tickets: Vec<Ticket> = rows.iter().map(|(_, ticket)| Arc::clone(ticket)).collect();
        let mut connection = store.lock();
        let pages: i64 = connection
            .pragma_query_value(None, "page_count", |row| row.get(0))
            .unwrap();
        connection
            .pragma_update_and_check(None, "max_page_count", pages + 20, |_| Ok(()))
            .unwrap();
        store.write_group(&mut connection, rows);
        drop(connection);
        let results: Vec<Result<i64, StoreError>> = tickets
            .iter()
            .map(|ticket| open(ticket).take().unwrap())
            .collect();
        let said = &results[1].as_ref().unwrap_err().0;
        assert!(said.contains("is full"), "{said}");
        for (result, question) in [(&results[0], "a"), (&results[2], "b")] {
            let id = *result.as_ref().unwrap();
            assert_eq!(store.get(id).unwrap().unwrap().question.id, question);
        }
        assert_eq!(store.replies_of_run("r").unwrap().len(), 2);
    }

    #[test]
    fn rows_that_wait_together_get_their_own_ids() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        // Nobody can write while the connection is held, so all twenty wait for it together.
        let held = store.lock();
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..20)
                .map(|number| {
                    let store = store.clone();
                    let question = format!("q{number}");
                    scope.spawn(move || (store.insert(&record("r", &question)).unwrap(), question))
                })
                .collect();
            while store.group.0.lock().unwrap().len() < 20 {
                std::thread::yield_now();
            }
            drop(held);
            for writer in writers {
                let (id, question) = writer.join().unwrap();
                assert_eq!(store.get(id).unwrap().unwrap().question.id, question);
            }
        });
    }
}
