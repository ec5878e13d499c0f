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
        match form_of(sink.kind, path)? {
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

/// What a file's rows are written in: what the kind says, as far as the file's first bytes do not contradict it.
///
/// # Errors
/// [`ImportError::Usage`] for a file that is something else than its kind, with the kind that it is.
fn form_of(kind: Kind, path: &Path) -> Result<Kind, ImportError> {
    let said = match kind {
        Kind::Medrgb => Kind::Parquet,
        other => other,
    };
    let found = match (first_bytes(path).as_slice(), ending_of(path)) {
        ([b'P', b'A', b'R', b'1', ..], _) => Kind::Parquet,
        // Too short to tell: the reader says what is wrong.
        ([], _) => said,
        ([b'{', ..], Some(Kind::Jsonl)) => Kind::Jsonl,
        ([b'{', ..], _) => match said {
            // A header may begin with a brace.
            Kind::Csv => Kind::Csv,
            _ => Kind::Jsonl,
        },
        (_, Some(Kind::Csv)) => Kind::Csv,
        // Rubbish is a bad row of what was named; only Parquet is known by its beginning.
        _ if said == Kind::Parquet && ending_of(path) == Some(Kind::Jsonl) => Kind::Jsonl,
        _ => said,
    };
    match found == said {
        true => Ok(said),
        false => Err(ImportError::Usage(format!(
            "{file} is {found_words}, not {said_words}; import it with `medrgb import {found} {file}`",
            file = path.display(),
            found_words = in_words(found),
            said_words = in_words(said),
        ))),
    }
}

/// The form that a file's name says.
fn ending_of(path: &Path) -> Option<Kind> {
    let name = path.to_string_lossy().to_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if ends(&[".parquet"]) {
        Some(Kind::Parquet)
    } else if ends(&[".csv", ".tsv", ".csv.gz", ".tsv.gz"]) {
        Some(Kind::Csv)
    } else if ends(&[".jsonl", ".jsonl.gz", ".ndjson", ".json"]) {
        Some(Kind::Jsonl)
    } else {
        None
    }
}

/// The first bytes behind white space; none where there are none or the file can't be opened.
fn first_bytes(path: &Path) -> Vec<u8> {
    let Ok((mut reader, _)) = crate::source::open(path) else {
        return Vec::new();
    };
    let Some(_) = super::guess::first_byte(&mut reader) else {
        return Vec::new();
    };
    let chunk = reader.fill_buf().unwrap_or_default();
    let start = chunk.iter().position(|byte| !byte.is_ascii_whitespace());
    let rest = &chunk[start.unwrap_or(chunk.len())..];
    rest[..rest.len().min(4)].to_vec()
}

fn in_words(form: Kind) -> &'static str {
    match form {
        Kind::Parquet => "a Parquet file",
        Kind::Csv => "CSV",
        _ => "JSON lines",
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_kind_that_was_said_is_not_overruled_in_silence() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text, kind, expected) in [
            ("a.jsonl", "{}", Kind::Jsonl, Ok(Kind::Jsonl)),
            (
                "a.jsonl",
                "{}",
                Kind::Parquet,
                Err("is JSON lines, not a Parquet file"),
            ),
            ("a.jsonl", "{}", Kind::Medrgb, Err("medrgb import jsonl")),
            ("a.jsonl", "{}", Kind::Csv, Err("is JSON lines, not CSV")),
            ("a.txt", " {}", Kind::Jsonl, Ok(Kind::Jsonl)),
            ("a.csv", "id,x", Kind::Jsonl, Err("is CSV, not JSON lines")),
            ("a.csv", "{id},x", Kind::Csv, Ok(Kind::Csv)),
            ("a.txt", "id,x", Kind::Csv, Ok(Kind::Csv)),
            (
                "a.tsv",
                "id\tx",
                Kind::Parquet,
                Err("is CSV, not a Parquet file"),
            ),
            ("a.parquet", "PAR1…", Kind::Parquet, Ok(Kind::Parquet)),
            ("a.bin", "PAR1…", Kind::Medrgb, Ok(Kind::Parquet)),
            ("a.bin", "PAR1…", Kind::Jsonl, Err("medrgb import parquet")),
            // What is no Parquet file at all is left to its reader, which says so.
            ("a.parquet", "rubbish", Kind::Parquet, Ok(Kind::Parquet)),
            ("a.jsonl", "rubbish", Kind::Jsonl, Ok(Kind::Jsonl)),
            ("a.jsonl", "", Kind::Parquet, Ok(Kind::Parquet)),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            match (form_of(kind, &path), expected) {
                (Ok(form), Ok(expected)) => assert_eq!(form, expected, "{name} {kind}"),
                (Err(error), Err(part)) => {
                    assert!(error.to_string().contains(part), "{name} {kind}: {error}");
                }
                (found, _) => unreachable!("{name} {kind}: {found:?}"),
            }
        }
    }
}
