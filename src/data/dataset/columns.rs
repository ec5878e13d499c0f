//! The files of a dataset folder as Parquet: turned into the JSON form, which the rest of the room reads.

use std::path::Path;

use serde_json::{Map, Value};

use crate::data::dataset::QUESTIONS;
use crate::data::parquet_file::Rows;

/// Columns of a map file that may hold a question's whole list of records.
const LIST_COLUMNS: [&str; 6] = [
    "documents",
    "signal_docs",
    "sub_questions",
    "subqa_pairs",
    "counterfactuals",
    "counterfactual_docs",
];

/// The bytes of the JSON file that a Parquet file stands for: lines of questions for `qa.parquet`, else one
/// object that maps question ids to lists.
///
/// A row of the latter is one record with its `question_id`, or a question with its whole list in one column.
///
/// # Errors
/// A sentence with the file, and the row where it is one.
pub(super) fn as_json(path: &Path) -> Result<Vec<u8>, String> {
    let at = |row: usize, fault: &str| format!("{}, row {row}: {fault}", path.display());
    let rows = Rows::open(path).map_err(|fault| format!("{} {fault}", path.display()))?;
    let is_questions = path.file_stem() == Path::new(QUESTIONS).file_stem();
    let mut lines = Vec::new();
    let mut groups: Map<String, Value> = Map::new();
    for (index, row) in rows.enumerate() {
        let mut row = row.map_err(|fault| at(index + 1, &fault))?;
        // A column that is null in this row is a field that the record does not have.
        row.retain(|_, value| !value.is_null());
        if is_questions {
            open_text(&mut row, "options");
            serde_json::to_writer(&mut lines, &row)
                .map_err(|error| at(index + 1, &error.to_string()))?;
            lines.push(b'\n');
            continue;
        }
        let Some(Value::String(id)) = row.shift_remove("question_id") else {
            return Err(at(
                index + 1,
                "column \"question_id\" is missing or no text; it says whose record this is",
            ));
        };
        let group = groups.entry(id).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = group {
            list.extend(records(row));
        }
    }
    match is_questions {
        true => Ok(lines),
        false => serde_json::to_vec(&groups).map_err(|error| error.to_string()),
    }
}

/// The records of a row: those of its list column, or the row itself.
fn records(mut row: Map<String, Value>) -> Vec<Value> {
    for column in LIST_COLUMNS {
        open_text(&mut row, column);
        if let Some(Value::Array(list)) = row.get_mut(column) {
            return std::mem::take(list);
        }
    }
    vec![Value::Object(row)]
}

/// Replaces a text that holds a JSON list or object by what it holds.
fn open_text(row: &mut Map<String, Value>, column: &str) {
    if let Some(value) = row.get_mut(column)
        && let Value::String(text) = value
        && text.trim_start().starts_with(['{', '['])
        && let Ok(opened) = serde_json::from_str(text)
    {
        *value = opened;
    }
}
