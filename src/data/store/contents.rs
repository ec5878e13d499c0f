//! Reading parts of a run's records: what a sweep needs to go on, and what a list of its contents shows.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rusqlite::{Row, params};
use serde::Serialize;
use serde_json::Value;

use crate::data::store::names::{Memo, Names};
use crate::data::store::{FAILED, Origin, ReplyRecord, Store, StoreError, parse};
use crate::domain::answer::Outcome;
use crate::domain::context::Condition;
use crate::domain::score::{Metric, Ratio};

/// A record without its long texts. What many records have in common is shared among them.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEntry {
    /// Row id.
    pub id: i64,
    /// SHA-256 of the dataset's files.
    pub dataset_fingerprint: Arc<str>,
    /// The question.
    pub question_id: Arc<str>,
    /// What was asked for.
    pub condition: Condition,
    /// Name of the model.
    pub model_name: Arc<str>,
    /// Sampling settings.
    pub sampling: Arc<Value>,
    /// The outcome of the reply as read, or `failed:KIND` for a call that gave none.
    pub outcome: Arc<str>,
}

impl RunEntry {
    /// The outcome of the reply; `None` for a failed call.
    pub fn reply_outcome(&self) -> Option<Outcome> {
        Outcome::named(&self.outcome)
    }

    /// The kind of failure, such as `rate_limited`; `None` for a reply.
    pub fn failure_kind(&self) -> Option<&str> {
        self.outcome.strip_prefix(FAILED)
    }
}

/// How many records of a run have the same condition, model, sampling, outcome and origin.
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
    /// The run that the replies were copied from, if they were not asked for in this one.
    pub reused_from: Option<String>,
    /// Records.
    pub records: u64,
    /// Contexts with fewer documents than asked for.
    pub short: u64,
    /// Time of the first record: UTC, RFC 3339.
    pub first_at: String,
    /// Time of the last record.
    pub last_at: String,
}

/// A call that gave no reply.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedCall {
    /// Name of the model.
    pub model_name: String,
    /// Sampling settings.
    pub sampling: Value,
    /// Kind, message, status and attempts.
    pub failure: Value,
}

/// What tells the groups of a run apart.
#[derive(PartialEq, Eq, Hash)]
struct GroupKey {
    dataset: Arc<str>,
    dataset_fingerprint: Arc<str>,
    condition: Arc<str>,
    outcome: Arc<str>,
    reused_from: Option<Arc<str>>,
    reported: Option<Arc<str>>,
    sampling: Arc<str>,
    model: Arc<str>,
}

/// The scores of a record as far as sums need them.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryScores {
    /// Row id.
    pub id: i64,
    /// Numerators and denominators; empty for a call that gave no reply.
    pub counts: BTreeMap<Metric, Ratio>,
    /// Whether the context has fewer documents than asked for.
    pub short: bool,
}

impl Store {
    /// All records of a run without their long texts, in stored order; none for an unknown run.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn entries_of_run(&self, run: &str) -> Result<Vec<RunEntry>, StoreError> {
        let (mut names, mut conditions, mut samplings) = (
            Names::default(),
            Memo::<Condition>::default(),
            Memo::default(),
        );
        self.read_rows(
            "SELECT id, dataset_fingerprint, question_id, condition, model_name, sampling, outcome
             FROM replies INDEXED BY replies_listed WHERE run = ?1 ORDER BY id",
            params![run],
            |row| {
                Ok(RunEntry {
                    id: row.get(0)?,
                    dataset_fingerprint: names.column(row, 1)?,
                    question_id: names.column(row, 2)?,
                    condition: *conditions.column(row, 3)?,
                    model_name: names.column(row, 4)?,
                    sampling: samplings.column(row, 5)?,
                    outcome: names.column(row, 6)?,
                })
            },
        )
    }

    /// Hands the scores of a run's records to `visit`, in stored order.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn visit_scores(
        &self,
        run: &str,
        visit: &mut dyn FnMut(EntryScores),
    ) -> Result<(), StoreError> {
        let visited = self.read_rows(
            "SELECT id, counts, short FROM replies WHERE run = ?1 ORDER BY id",
            params![run],
            |row| {
                visit(EntryScores {
                    id: row.get(0)?,
                    counts: parse(row, 1)?,
                    short: row.get(2)?,
                });
                Ok(())
            },
        );
        visited.map(drop)
    }

    /// What a run holds, grouped by condition, model, sampling, outcome and origin, in order of appearance.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn groups_of_run(&self, run: &str) -> Result<Vec<RunGroup>, StoreError> {
        self.try_groups(run).map_err(|error| self.describe(&error))
    }

    fn try_groups(&self, run: &str) -> rusqlite::Result<Vec<RunGroup>> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached(
            "SELECT dataset, dataset_fingerprint, condition, outcome, origin, reported, sampling, model,
                model_name, short, created_at
             FROM replies INDEXED BY replies_listed WHERE run = ?1 ORDER BY id",
        )?;
        let mut rows = statement.query(params![run])?;
        let mut names = Names::default();
        let mut origins: Memo<Option<Origin>> = Memo::default();
        let mut places: HashMap<GroupKey, usize> = HashMap::new();
        let mut groups: Vec<RunGroup> = Vec::new();
        while let Some(row) = rows.next()? {
            let key = group_key(row, &mut names, &mut origins)?;
            let at = match places.get(&key) {
                Some(at) => *at,
                None => {
                    groups.push(group(row, &key)?);
                    places.insert(key, groups.len() - 1);
                    groups.len() - 1
                }
            };
            if let Some(group) = groups.get_mut(at) {
                count_in(group, row)?;
            }
        }
        Ok(groups)
    }

    /// The failed calls of a run for one instance (question id and condition), in stored order.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn failures_of(
        &self,
        run: &str,
        dataset_fingerprint: &str,
        (question, condition): (&str, &Condition),
    ) -> Result<Vec<FailedCall>, StoreError> {
        let failures = self.read_rows(
            "SELECT condition, model_name, sampling, failure FROM replies
             WHERE dataset_fingerprint = ?1 AND question_id = ?2 AND run = ?3 AND failure <> 'null' ORDER BY id",
            params![dataset_fingerprint, question, run],
            |row| {
                let of: Condition = parse(row, 0)?;
                Ok((
                    of,
                    FailedCall {
                        model_name: row.get(1)?,
                        sampling: parse(row, 2)?,
                        failure: parse(row, 3)?,
                    },
                ))
            },
        )?;
        let ours = failures.into_iter().filter(|(of, _)| of == condition);
        Ok(ours.map(|(_, failure)| failure).collect())
    }

    /// What the servers of a run said of their own configuration (`system_fingerprint`), with how many replies say it.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn system_fingerprints(&self, run: &str) -> Result<Vec<(String, u64)>, StoreError> {
        // Texts without the name need not be parsed.
        self.read_rows(
            "SELECT CAST(json_extract(texts.reply, '$.system_fingerprint') AS TEXT) AS said, count(*)
             FROM replies JOIN texts ON texts.id = replies.id
             WHERE run = ?1 AND instr(texts.reply, '\"system_fingerprint\"') > 0
             GROUP BY said HAVING said IS NOT NULL ORDER BY min(replies.id)",
            params![run],
            |row| {
                let replies: i64 = row.get(1)?;
                Ok((row.get(0)?, u64::try_from(replies).unwrap_or_default()))
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

    /// The row id of this very record, where the store holds it already.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn holds(&self, record: &ReplyRecord) -> Result<Option<i64>, StoreError> {
        let alike = self.select(
            "WHERE dataset_fingerprint = ?1 AND question_id = ?2 AND run = ?3 AND created_at = ?4",
            params![
                record.dataset_fingerprint,
                record.question.id,
                record.run,
                record.created_at
            ],
        )?;
        let same = |held: &ReplyRecord| {
            *held
                == ReplyRecord {
                    id: held.id,
                    ..record.clone()
                }
        };
        Ok(alike.into_iter().find(same).map(|held| held.id))
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

fn group_key(
    row: &Row<'_>,
    names: &mut Names,
    origins: &mut Memo<Option<Origin>>,
) -> rusqlite::Result<GroupKey> {
    let origin = origins.column(row, 4)?;
    let reported = row.get_ref(5)?.as_str_or_null()?;
    Ok(GroupKey {
        dataset: names.column(row, 0)?,
        dataset_fingerprint: names.column(row, 1)?,
        condition: names.column(row, 2)?,
        outcome: names.column(row, 3)?,
        reused_from: (*origin).as_ref().map(|origin| names.get(&origin.run)),
        reported: reported.map(|name| names.get(name)),
        sampling: names.column(row, 6)?,
        model: names.column(row, 7)?,
    })
}

/// A group that holds nothing yet.
fn group(row: &Row<'_>, key: &GroupKey) -> rusqlite::Result<RunGroup> {
    let created_at: String = row.get(10)?;
    Ok(RunGroup {
        dataset: key.dataset.to_string(),
        dataset_fingerprint: key.dataset_fingerprint.to_string(),
        model_name: row.get(8)?,
        model: parse(row, 7)?,
        reported_model: key.reported.as_deref().map(str::to_owned),
        sampling: parse(row, 6)?,
        condition: parse(row, 2)?,
        outcome: key.outcome.to_string(),
        reused_from: key.reused_from.as_deref().map(str::to_owned),
        records: 0,
        short: 0,
        first_at: created_at.clone(),
        last_at: created_at,
    })
}

fn count_in(group: &mut RunGroup, row: &Row<'_>) -> rusqlite::Result<()> {
    group.records += 1;
    group.short += u64::from(row.get::<_, bool>(9)?);
    let created_at = row.get_ref(10)?.as_str()?;
    if created_at < group.first_at.as_str() {
        created_at.clone_into(&mut group.first_at);
    }
    if created_at > group.last_at.as_str() {
        created_at.clone_into(&mut group.last_at);
    }
    Ok(())
}
