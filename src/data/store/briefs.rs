//! What lists, filters and full-text search need of stored replies, without contexts and prompts.
//!
//! A run may have a hundred thousand replies, so that a row costs about a hundred bytes: what many rows have in common is
//! shared, and the long texts of a reply are looked into only where its id is needed, which is a hash over them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Deserialize;

use crate::data::store::names::{Memo, Names};
use crate::data::store::{Store, StoreError, parse};
use crate::domain::annotation::ReplyMarks;
use crate::domain::answer::Outcome;
use crate::domain::context::Condition;
use crate::domain::score::Ratio;

/// Whose replies.
#[derive(Debug, Clone, Copy)]
pub enum Which<'a> {
    /// Those of a run.
    Run(&'a str),
    /// All about a dataset (by fingerprint), or with a run those of that run.
    Dataset(&'a str, Option<&'a str>),
}

/// Which replies get the id by which annotations name them: it is made of their texts, which are long.
#[derive(Debug, Clone, Copy)]
pub enum Identify<'a> {
    /// All.
    All,
    /// Those to these questions.
    About(&'a HashSet<String>),
}

/// A question as replies to it share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BriefQuestion {
    /// SHA-256 of the dataset's files.
    pub dataset_fingerprint: Arc<str>,
    /// Its id.
    pub id: Arc<str>,
    /// Its text.
    pub text: String,
    /// The set that it belongs to, if its file says so.
    pub set: Option<Arc<str>>,
}

/// A reply in brief.
#[derive(Debug, Clone, PartialEq)]
pub struct Brief {
    /// Row id.
    pub id: i64,
    /// The id by which annotations name it; `None` where it was not asked for.
    pub reply_id: Option<Box<str>>,
    /// Name of the run.
    pub run: Arc<str>,
    /// The question.
    pub question: Arc<BriefQuestion>,
    /// What was asked for.
    pub condition: Arc<Condition>,
    /// Name of the model.
    pub model_name: Arc<str>,
    /// What became of the reply.
    pub outcome: Outcome,
    /// Whether the right option was chosen; `None` where that can't be said.
    pub correct: Option<bool>,
    /// Sub-questions answered with the planted answer, and those on adversarial documents; (0, 0) without any.
    pub adopted: (u32, u32),
    /// The reasoning, where it was asked for.
    pub reasoning: Option<Box<str>>,
}

// The columns stand before the long ones of the table, so that a row's further pages are never read.
const COLUMNS: &str =
    "id, run, dataset, dataset_fingerprint, question_id, question_set, condition, model_name,
    created_at, changed, outcome, counts";

// A set that has no column of its own may stand under these names in the question.
const QUESTION: &str = "SELECT json_extract(question, '$.text'),
        CAST(coalesce(json_extract(question, '$.extra.source_dataset'), json_extract(question, '$.extra.subset')) AS TEXT)
    FROM texts WHERE id = ?1";

// Contexts are long: only those of probes, which say so in a column, are looked into.
const MARKS: &str =
    "SELECT raw, CASE WHEN ?2 THEN json_extract(context, '$.variant') END FROM texts WHERE id = ?1";

impl Store {
    /// The replies (not the failed calls) in brief, in stored order, with their reasoning where `reasoning` says
    /// so. One that can't be read is left out and counted.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn briefs(
        &self,
        which: Which<'_>,
        reasoning: bool,
        identify: Identify<'_>,
    ) -> Result<(Vec<Brief>, usize), StoreError> {
        let (filter, values) = match which {
            Which::Run(run) => ("run = ?1", vec![run]),
            Which::Dataset(fingerprint, None) => ("dataset_fingerprint = ?1", vec![fingerprint]),
            Which::Dataset(fingerprint, Some(run)) => (
                "dataset_fingerprint = ?1 AND run = ?2",
                vec![fingerprint, run],
            ),
        };
        let reasoning = match reasoning {
            true => "json_extract(parsed, '$.reasoning')",
            false => "NULL",
        };
        let sql = format!(
            "SELECT {COLUMNS}, {reasoning} FROM replies WHERE {filter} AND failure = 'null' ORDER BY id"
        );
        let read = || -> rusqlite::Result<(Vec<Brief>, usize)> {
            let connection = self.lock();
            let mut reader = Reader::of(&connection, identify);
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(rusqlite::params_from_iter(values))?;
            let (mut briefs, mut broken) = (Vec::new(), 0);
            while let Some(row) = rows.next()? {
                match reader.read(row) {
                    Ok(brief) => briefs.push(brief),
                    Err(_) => broken += 1,
                }
            }
            briefs.shrink_to_fit();
            Ok((briefs, broken))
        };
        read().map_err(|error| self.describe(&error))
    }
}

/// What tells a question from others: dataset, fingerprint, id, set. Imported replies may have questions of several
/// datasets under one id.
type QuestionKey = (Arc<str>, Arc<str>, Arc<str>, Option<Arc<str>>);

/// Reads rows; each shared text is in memory once.
struct Reader<'a> {
    connection: &'a Connection,
    identify: Identify<'a>,
    names: Names,
    conditions: Memo<Condition>,
    questions: HashMap<QuestionKey, Arc<BriefQuestion>>,
}

/// The two of a reply's figures that lists show.
#[derive(Deserialize)]
struct Figures {
    #[serde(default)]
    main_accuracy: Option<Ratio>,
    #[serde(default)]
    misinformation_adopted: Option<Ratio>,
}

impl<'a> Reader<'a> {
    fn of(connection: &'a Connection, identify: Identify<'a>) -> Reader<'a> {
        Reader {
            connection,
            identify,
            names: Names::default(),
            conditions: Memo::default(),
            questions: HashMap::new(),
        }
    }

    fn read(&mut self, row: &Row<'_>) -> rusqlite::Result<Brief> {
        let id = row.get(0)?;
        let question = self.question(id, row)?;
        let condition = self.conditions.column(row, 6)?;
        let model_name = self.names.column(row, 7)?;
        let outcome = row.get_ref(10)?.as_str()?;
        let outcome = Outcome::named(outcome).ok_or_else(|| {
            let why = format!("\"{outcome}\" is no outcome of a reply");
            rusqlite::Error::FromSqlConversionFailure(10, rusqlite::types::Type::Text, why.into())
        })?;
        let figures: Figures = parse(row, 11)?;
        let wanted = match self.identify {
            Identify::All => true,
            Identify::About(questions) => questions.contains(&*question.id),
        };
        let reply_id = match wanted {
            true => Some(self.reply_id(row, id, &question, &condition, &model_name)?),
            false => None,
        };
        let correct = figures.main_accuracy.filter(|ratio| ratio.den > 0.0);
        // Numbers of a pooled rate are floats in the file, but count whole sub-questions.
        let whole = |number: f64| number.max(0.0) as u32;
        let adopted = figures.misinformation_adopted;
        Ok(Brief {
            id,
            reply_id,
            run: self.names.column(row, 1)?,
            question,
            condition,
            model_name,
            outcome,
            correct: correct.map(|ratio| ratio.num > 0.0),
            adopted: adopted.map_or((0, 0), |ratio| (whole(ratio.num), whole(ratio.den))),
            reasoning: row.get(12)?,
        })
    }

    /// The question of a reply; its text is read with the first reply to it.
    fn question(&mut self, id: i64, row: &Row<'_>) -> rusqlite::Result<Arc<BriefQuestion>> {
        let set = row.get_ref(5)?.as_str_or_null()?;
        let set = set.map(|set| self.names.get(set));
        let key = (
            self.names.column(row, 2)?,
            self.names.column(row, 3)?,
            self.names.column(row, 4)?,
            set,
        );
        if let Some(known) = self.questions.get(&key) {
            return Ok(known.clone());
        }
        let mut statement = self.connection.prepare_cached(QUESTION)?;
        let found = statement.query_row(params![id], |row| Ok((row.get(0)?, row.get(1)?)));
        let (text, other): (Option<String>, Option<String>) = found?;
        let read = Arc::new(BriefQuestion {
            dataset_fingerprint: key.1.clone(),
            id: key.2.clone(),
            text: text.unwrap_or_default(),
            set: key.3.clone().or(other.map(|set| self.names.get(&set))),
        });
        self.questions.insert(key, read.clone());
        Ok(read)
    }

    fn reply_id(
        &self,
        row: &Row<'_>,
        id: i64,
        question: &BriefQuestion,
        condition: &Condition,
        model: &str,
    ) -> rusqlite::Result<Box<str>> {
        let created_at = row.get_ref(8)?.as_str()?;
        let changed: bool = row.get(9)?;
        let mut statement = self.connection.prepare_cached(MARKS)?;
        let found = statement
            .query_row(params![id, changed], |texts| {
                let variant: Option<String> = texts.get(1)?;
                let marks = ReplyMarks {
                    dataset_fingerprint: &question.dataset_fingerprint,
                    question_id: &question.id,
                    condition,
                    variant: variant.as_deref(),
                    model,
                    created_at,
                    raw: texts.get_ref(0)?.as_str()?,
                };
                Ok(marks.id())
            })
            .optional()?;
        found
            .map(String::into_boxed_str)
            .ok_or(rusqlite::Error::QueryReturnedNoRows)
    }
}
