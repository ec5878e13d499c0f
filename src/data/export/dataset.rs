//! A dataset as one file: a row per question, with its documents and what hangs on them in further columns.

use std::io::Write;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::data::dataset::Dataset;
use crate::data::export::{ExportError, Format, Table, whole};
use crate::data::import::line_of;
use crate::data::parquet_file::Column;
use crate::domain::question::Question;

/// The columns; `import` finds each of them by its name.
const COLUMNS: [(&str, Column); 8] = [
    ("question_id", Column::Text),
    ("question", Column::Text),
    ("options", Column::Text),
    ("answer", Column::Text),
    ("documents", Column::Text),
    ("sub_questions", Column::Text),
    ("counterfactuals", Column::Text),
    ("extra", Column::Text),
];

/// Writes a dataset to one file.
///
/// # Errors
/// [`ExportError`] for a format that is for runs only, or a file that can't be written.
pub fn dataset(dataset: &Dataset, format: Format, path: &Path) -> Result<(), ExportError> {
    let table = Table { columns: &COLUMNS };
    let rows = || {
        dataset
            .questions
            .iter()
            .map(|question| Ok(cells(dataset, question)))
    };
    match format {
        Format::Jsonl => whole(path, |out| {
            for question in &dataset.questions {
                serde_json::to_writer(&mut *out, &line(dataset, question))
                    .map_err(|error| error.to_string())?;
                out.write_all(b"\n").map_err(|error| error.to_string())?;
            }
            Ok(())
        }),
        Format::Csv => whole(path, |out| table.csv(out, rows())),
        Format::Parquet => whole(path, |out| table.parquet(out, rows())),
        Format::Inspect => Err(ExportError(
            "Inspect's logs are for runs; a dataset goes into jsonl, csv or parquet".to_owned(),
        )),
    }
}

/// A question as a line of `qa.jsonl`, with the records that belong to it.
fn line(dataset: &Dataset, question: &Question) -> Value {
    let mut line = line_of(question);
    let pools = dataset.pools(&question.id);
    if let Value::Object(fields) = &mut line {
        fields.insert("documents".to_owned(), json!(pools.signal));
        fields.insert("sub_questions".to_owned(), json!(pools.sub_questions));
        fields.insert("counterfactuals".to_owned(), json!(pools.counterfactuals));
        // The declaration of whose documents these are has the list's name; `import` takes it out of here.
        if let Some(declared) = question.extra.get("documents") {
            let extra = fields.entry("extra").or_insert_with(|| json!({}));
            if let Value::Object(extra) = extra {
                extra.insert("documents".to_owned(), declared.clone());
            }
        }
    }
    line
}

fn cells(dataset: &Dataset, question: &Question) -> Vec<Value> {
    let pools = dataset.pools(&question.id);
    let options: Map<String, Value> = question
        .options
        .iter()
        .map(|choice| (choice.letter.to_string(), json!(choice.text)))
        .collect();
    let list = |is_empty: bool, value: Value| match is_empty {
        true => Value::Null,
        false => value,
    };
    vec![
        json!(question.id),
        json!(question.text),
        Value::Object(options),
        json!(question.answer),
        list(pools.signal.is_empty(), json!(pools.signal)),
        list(pools.sub_questions.is_empty(), json!(pools.sub_questions)),
        list(
            pools.counterfactuals.is_empty(),
            json!(pools.counterfactuals),
        ),
        list(
            question.extra.is_empty(),
            Value::Object(question.extra.clone()),
        ),
    ]
}
