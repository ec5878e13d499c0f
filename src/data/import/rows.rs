//! Files of rows: JSON lines, CSV and Parquet, one row at a time as a JSON object.

use std::io::BufRead;
use std::path::Path;

use serde_json::{Map, Value};

use crate::data::csv_file::Records;
use crate::data::export::guard;
use crate::data::import::sink::Sink;
use crate::data::import::{ImportError, Kind};
use crate::data::parquet_file;
use crate::domain::plain::json_reason;
use crate::domain::text::short;
use crate::source::{Line, Lines, Position};

/// A row with its number (of the line, where there are lines), or what is wrong with it.
pub(super) type Numbered = (usize, Result<Map<String, Value>, String>);

/// The rows of one file.
pub(super) enum Rows {
    /// JSON lines.
    Jsonl(Lines),
    /// CSV or TSV with a header.
    Csv {
        records: Box<Records>,
        header: Vec<String>,
    },
    /// Parquet.
    Parquet {
        rows: parquet_file::Rows,
        number: usize,
        size: u64,
        position: Position,
    },
}

impl Rows {
    /// Opens a file of rows.
    ///
    /// # Errors
    /// Where the file can't be opened, or its header can't be read.
    pub(super) fn open(sink: &mut Sink<'_>, path: &Path) -> Result<Rows, ImportError> {
        match kind_of_rows(sink.kind, path) {
            Kind::Csv => {
                let delimiter = match path.to_string_lossy().contains(".tsv") {
                    true => b'\t',
                    false => b',',
                };
                Rows::csv(sink.open(path)?, delimiter)
                    .map_err(|fault| ImportError::Failed(format!("{} {fault}", path.display())))
            }
            Kind::Parquet => {
                let rows = parquet_file::Rows::open(path)
                    .map_err(|fault| ImportError::Failed(format!("{} {fault}", path.display())))?;
                let position = Position::default();
                sink.begin_file(path, position.clone());
                let size = std::fs::metadata(path).map_or(0, |meta| meta.len());
                Ok(Rows::Parquet {
                    rows,
                    number: 0,
                    size,
                    position,
                })
            }
            _ => Ok(Rows::Jsonl(sink.lines(path)?)),
        }
    }

    fn csv(reader: Box<dyn BufRead>, delimiter: u8) -> Result<Rows, String> {
        let mut records = Records::new(reader, delimiter);
        let header = match records.next_record() {
            Ok(Some((_, Ok(header)))) => header,
            Ok(Some((_, Err(fault)))) => {
                return Err(format!("has no header that can be read: {fault}"));
            }
            Ok(None) => Vec::new(),
            Err(error) => return Err(format!("can't be read ({error})")),
        };
        let header: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
        for (at, name) in header.iter().enumerate() {
            if header[..at].contains(name) {
                return Err(format!(
                    "has the column \"{name}\" twice; give columns different names",
                    name = short(name)
                ));
            }
        }
        Ok(Rows::Csv {
            records: Box::new(records),
            header,
        })
    }

    /// The next row; `None` at the end.
    ///
    /// # Errors
    /// Where the file can't be read on.
    pub(super) fn next(&mut self) -> Result<Option<Numbered>, String> {
        match self {
            Rows::Jsonl(lines) => {
                let next = lines
                    .next_line()
                    .map_err(|error| format!("can't be read ({error})"))?;
                Ok(next.map(|(number, line)| (number, json_row(line))))
            }
            Rows::Csv { records, header } => match records.next_record() {
                Ok(None) => Ok(None),
                Ok(Some((line, cells))) => {
                    let row = cells.and_then(|cells| csv_row(header, &cells));
                    Ok(Some((usize::try_from(line).unwrap_or(0), row)))
                }
                Err(error) => Err(format!("can't be read ({error})")),
            },
            Rows::Parquet {
                rows,
                number,
                size,
                position,
            } => {
                *number += 1;
                position.set(*size * (*number as u64) / rows.total().max(1));
                Ok(rows.next().map(|row| (*number, row)))
            }
        }
    }
}

/// What a file's rows are written in: a kind that says nothing about it is judged by the file's name.
fn kind_of_rows(kind: Kind, path: &Path) -> Kind {
    let name = path.to_string_lossy().to_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if ends(&[".parquet"]) {
        Kind::Parquet
    } else if ends(&[".csv", ".tsv", ".csv.gz", ".tsv.gz"]) {
        Kind::Csv
    } else if ends(&[".jsonl", ".jsonl.gz", ".ndjson", ".json"]) {
        Kind::Jsonl
    } else if kind == Kind::Medrgb {
        Kind::Parquet
    } else {
        kind
    }
}

/// The word for a row's number.
pub(super) fn word(rows: &Rows) -> &'static str {
    match rows {
        Rows::Parquet { .. } => "row",
        Rows::Jsonl(_) | Rows::Csv { .. } => "line",
    }
}

fn json_row(line: Line<'_>) -> Result<Map<String, Value>, String> {
    match line {
        Line::Bad(why) => Err(why),
        Line::Text(text) => json_object(text),
    }
}

/// A JSON object from a line; Python's `NaN` is null.
pub(super) fn json_object(text: &str) -> Result<Map<String, Value>, String> {
    let value = serde_json::from_str(text).or_else(|error| {
        let plain = std::io::BufReader::new(super::nan::PlainJson::new(text.as_bytes()));
        serde_json::from_reader(plain).map_err(|_| error)
    });
    match value {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(other) => Err(format!(
            "expected an object, found {}",
            crate::data::dataset::record::kind(&other)
        )),
        Err(error) => Err(format!(
            "column {}: no valid JSON ({})",
            error.column(),
            json_reason(&error)
        )),
    }
}

/// Cells under their column's name; empty ones are left out, and guards against formulas taken off.
fn csv_row(header: &[String], cells: &[String]) -> Result<Map<String, Value>, String> {
    if cells.len() != header.len() {
        return Err(format!(
            "has {} cells, but the header has {}; check quotes and commas",
            cells.len(),
            header.len()
        ));
    }
    let filled = header
        .iter()
        .zip(cells)
        .filter(|(_, cell)| !cell.is_empty());
    Ok(filled
        .map(|(name, cell)| {
            (
                name.clone(),
                Value::String(guard::unguarded(cell).to_owned()),
            )
        })
        .collect())
}
