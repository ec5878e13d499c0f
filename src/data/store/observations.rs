//! Reading what reports need of a run, without its texts: a run of a hundred thousand replies has
//! gigabytes of contexts and prompts.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{OptionalExtension, Row, params};
use serde_json::{Map, Value};

use crate::data::store::names::{Memo, Names};
use crate::data::store::{Store, StoreError, parse, parse_text};
use crate::domain::answer::Outcome;
use crate::domain::context::Condition;
use crate::domain::report::{Forecast, Observation};
use crate::domain::text::short;

/// What is read of a record: short columns of one table.
const REDUCED: &str = "SELECT id, dataset, dataset_fingerprint, question_id, condition, model_name, model, sampling,
        own_documents, question_set, short, outcome, notes, counts, judge, probabilities, answer, gold
    FROM replies WHERE run = ?1 AND NOT changed ORDER BY id";

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
            let mut reader = Reader::of(run);
            let mut statement = connection.prepare_cached(REDUCED)?;
            let rows = statement.query_map(params![run], |row| reader.read(row))?;
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

/// How a model was asked, as reports tell it apart.
#[derive(Clone)]
struct Asked {
    settings: Arc<str>,
    seed: Option<u64>,
    caution: Option<Arc<str>>,
}

/// Reads the rows of a run.
struct Reader {
    run: Arc<str>,
    names: Names,
    conditions: Memo<Condition>,
    /// By the JSON of model and sampling.
    asked: HashMap<(String, String), Asked>,
}

impl Reader {
    fn of(run: &str) -> Reader {
        Reader {
            run: Arc::from(run),
            names: Names::default(),
            conditions: Memo::default(),
            asked: HashMap::new(),
        }
    }

    fn read(&mut self, row: &Row<'_>) -> rusqlite::Result<Observation> {
        let asked = self.asked(row)?;
        let names = &mut self.names;
        let mut optional = |column: usize| -> rusqlite::Result<Option<Arc<str>>> {
            let text = row.get_ref(column)?.as_str_or_null()?;
            Ok(text.map(|text| names.get(text)))
        };
        let (set, judge) = (optional(9)?, optional(14)?);
        Ok(Observation {
            id: row.get(0)?,
            run: self.run.clone(),
            dataset: names.column(row, 1)?,
            fingerprint: names.column(row, 2)?,
            own_documents: row.get(8)?,
            set,
            question: names.column(row, 3)?,
            model: names.column(row, 5)?,
            caution: asked.caution,
            settings: asked.settings,
            sampling_seed: asked.seed,
            condition: *self.conditions.column(row, 4)?,
            short: row.get(10)?,
            outcome: Outcome::named(row.get_ref(11)?.as_str()?),
            counts: parse(row, 13)?,
            judge,
            notes: parse(row, 12)?,
            forecast: forecast(row)?,
        })
    }

    fn asked(&mut self, row: &Row<'_>) -> rusqlite::Result<Asked> {
        let key = (row.get(6)?, row.get(7)?);
        if let Some(known) = self.asked.get(&key) {
            return Ok(known.clone());
        }
        let model: Value = parse_text(&key.0, 6)?;
        let (settings, seed) = settings(&model, parse_text(&key.1, 7)?);
        let caution = model.get("caution").and_then(Value::as_str);
        let asked = Asked {
            settings: self.names.get(&settings),
            seed,
            caution: caution.map(|caution| self.names.get(caution)),
        };
        self.asked.insert(key, asked.clone());
        Ok(asked)
    }
}

/// What the model's probabilities of the options said, where they were recorded.
fn forecast(row: &Row<'_>) -> rusqlite::Result<Option<Forecast>> {
    let letter = |column: usize| -> rusqlite::Result<Option<char>> {
        let text = row.get_ref(column)?.as_str_or_null()?;
        Ok(text.and_then(|text| text.chars().next()))
    };
    let (Some(answer), Some(gold)) = (letter(16)?, letter(17)?) else {
        return Ok(None);
    };
    let probabilities: Option<Vec<(char, f64)>> = parse(row, 15)?;
    Ok(probabilities.and_then(|probabilities| Forecast::of(&probabilities, answer, gold)))
}
