//! Reading what reports need of a run, without its texts: a run of a hundred thousand replies has
//! gigabytes of contexts and prompts.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rusqlite::{OptionalExtension, Row, params};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::data::store::{Store, StoreError, parse};
use crate::domain::answer::Outcome;
use crate::domain::report::{MEDRGB_DOCUMENTS, Observation};
use crate::domain::score::{Metric, Ratio};
use crate::domain::text::short;

/// What is read of a record; SQLite takes the JSON apart.
const REDUCED: &str = "SELECT id, dataset, dataset_fingerprint, question_id, condition, model_name,
        coalesce(json_extract(question, '$.extra'), '{}'), model, sampling,
        json_extract(context, '$.short'), json_extract(parsed, '$.outcome'),
        coalesce(json_extract(parsed, '$.notes'), '[]'), json_extract(scores, '$.counts'),
        json_extract(scores, '$.judge')
    FROM replies WHERE run = ?1 AND json_extract(context, '$.variant') IS NULL ORDER BY id";

impl Store {
    /// The askings of a run, reduced to what reports need, oldest first; `None` for an unknown run.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read, or names the record that has a reply but no scores.
    pub fn observations(&self, run: &str) -> Result<Option<Vec<Observation>>, StoreError> {
        let read = || {
            let connection = self.lock();
            let known = connection
                .query_row("SELECT 1 FROM runs WHERE name = ?1", params![run], |_| {
                    Ok(())
                })
                .optional()?;
            if known.is_none() {
                return Ok(None);
            }
            let mut names = Names::default();
            let run: Arc<str> = Arc::from(run);
            let mut statement = connection.prepare_cached(REDUCED)?;
            let rows = statement.query_map(params![run], |row| reduced(row, &run, &mut names))?;
            rows.collect::<rusqlite::Result<Vec<_>>>().map(Some)
        };
        let read: rusqlite::Result<Option<Vec<Observation>>> = read();
        let found = read.map_err(|error| self.describe(&error))?;
        let unscored = found
            .iter()
            .flatten()
            .find(|asking| asking.is_available() && asking.counts.is_empty());
        match unscored {
            Some(asking) => Err(StoreError(format!(
                "record {} of the run \"{run}\" has a reply but no scores; `medrgb rescore --run {run}` scores it",
                asking.id,
                run = short(run)
            ))),
            None => Ok(found),
        }
    }
}

/// Each text once in memory, however often it comes.
#[derive(Default)]
struct Names(HashMap<String, Arc<str>>);

impl Names {
    fn get(&mut self, name: String) -> Arc<str> {
        let shared = self.0.entry(name);
        let make = |name: &String| Arc::from(name.as_str());
        shared.or_insert_with_key(make).clone()
    }

    fn column(&mut self, row: &Row<'_>, column: usize) -> rusqlite::Result<Arc<str>> {
        Ok(self.get(row.get(column)?))
    }
}

/// How a model is reached and its sampling but for the seed, as one text: requests are told apart by it.
/// With it the sampler's seed, where one was set.
pub fn settings(model: &Value, sampling: Value) -> (String, Option<u64>) {
    let mut sampling = match sampling {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    let seed = sampling.shift_remove("seed").and_then(|seed| seed.as_u64());
    let detail = model.get("detail").cloned().unwrap_or_default();
    if !detail.is_null() {
        sampling.insert("model".to_owned(), detail);
    }
    (Value::Object(sampling).to_string(), seed)
}

/// What is read of a question's own fields.
#[derive(Deserialize)]
struct Extra {
    #[serde(default)]
    documents: Value,
    #[serde(default)]
    dataset: Value,
}

fn reduced(row: &Row<'_>, run: &Arc<str>, names: &mut Names) -> rusqlite::Result<Observation> {
    let extra: Extra = parse(row, 6)?;
    let model: Value = parse(row, 7)?;
    let (settings, sampling_seed) = settings(&model, parse(row, 8)?);
    let caution = model.get("caution").and_then(Value::as_str);
    let outcome: Option<String> = row.get(10)?;
    let counts: Option<String> = row.get(12)?;
    Ok(Observation {
        id: row.get(0)?,
        run: run.clone(),
        dataset: names.column(row, 1)?,
        fingerprint: names.column(row, 2)?,
        own_documents: extra.documents.as_str() == Some(MEDRGB_DOCUMENTS),
        set: extra.dataset.as_str().map(|set| names.get(set.to_owned())),
        question: names.column(row, 3)?,
        model: names.column(row, 5)?,
        caution: caution.map(|caution| names.get(caution.to_owned())),
        settings: names.get(settings),
        sampling_seed,
        condition: parse(row, 4)?,
        short: row.get::<_, Option<bool>>(9)?.unwrap_or(false),
        outcome: outcome
            .map(|name| read::<Outcome>(10, &format!("\"{name}\"")))
            .transpose()?,
        counts: match counts {
            Some(json) => read::<BTreeMap<Metric, Ratio>>(12, &json)?,
            None => BTreeMap::new(),
        },
        judge: row
            .get::<_, Option<String>>(13)?
            .map(|judge| names.get(judge)),
        notes: parse(row, 11)?,
    })
}

fn read<T: serde::de::DeserializeOwned>(column: usize, json: &str) -> rusqlite::Result<T> {
    serde_json::from_str(json).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            rusqlite::types::Type::Text,
            Box::new(error),
        )
    })
}
