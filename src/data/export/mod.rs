//! Datasets and runs as files for other programs: JSON lines, CSV, Parquet, Inspect's JSON logs.

use std::fmt;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::str::FromStr;

use serde_json::Value;

use crate::data::csv_file::write_record;
use crate::data::output;
use crate::data::parquet_file::{Column, Writer};
use crate::domain::text::short;

mod dataset;
pub mod guard;
pub mod inspect;
mod run;

pub use dataset::dataset;
pub use run::{Records, StoredRun, run};

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One JSON object a line.
    Jsonl,
    /// CSV with a header; lists and objects as JSON texts.
    Csv,
    /// Parquet (snappy); lists and objects as JSON texts.
    Parquet,
    /// One log for Inspect; runs only.
    Inspect,
}

impl Format {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Jsonl => "jsonl",
            Format::Csv => "csv",
            Format::Parquet => "parquet",
            Format::Inspect => "inspect",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        [Format::Jsonl, Format::Csv, Format::Parquet, Format::Inspect]
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| {
                format!(
                    "\"{}\" is no format; expected jsonl, csv, parquet or inspect",
                    short(text)
                )
            })
    }
}

/// Why nothing was exported: one sentence.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ExportError(pub String);

/// Writes a file as a whole or not at all.
fn whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> Result<(), String>,
) -> Result<(), ExportError> {
    output::write(path, write).map_err(|error| ExportError(error.0))
}

/// Writes rows of named columns in a format that has columns.
pub(in crate::data) struct Table<'a> {
    pub(in crate::data) columns: &'a [(&'a str, Column)],
}

impl Table<'_> {
    /// Writes the rows as CSV.
    pub(in crate::data) fn csv(
        &self,
        out: &mut impl Write,
        rows: impl Iterator<Item = Result<Vec<Value>, String>>,
    ) -> Result<(), String> {
        let header = self.columns.iter().map(|(name, _)| *name);
        write_record(out, header).map_err(|error| error.to_string())?;
        for row in rows {
            let cells: Vec<String> = row?
                .iter()
                .zip(self.columns)
                .map(|(value, (_, column))| cell(value, *column))
                .collect();
            write_record(out, cells.iter().map(String::as_str))
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Writes the rows as Parquet.
    fn parquet(
        &self,
        out: impl Write + Send,
        rows: impl Iterator<Item = Result<Vec<Value>, String>>,
    ) -> Result<(), String> {
        let mut writer = Writer::new(out, self.columns)?;
        for row in rows {
            writer.row(row?)?;
        }
        writer.finish()
    }
}

/// A cell: numbers as they are, texts guarded against being formulas, null empty.
fn cell(value: &Value, column: Column) -> String {
    match (value, column) {
        (Value::Null, _) => String::new(),
        (Value::Number(number), Column::Number | Column::Whole) => number.to_string(),
        (Value::String(text), _) => guard::guarded(text),
        (other, _) => guard::guarded(&other.to_string()),
    }
}
