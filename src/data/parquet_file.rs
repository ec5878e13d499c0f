//! Parquet files as rows of JSON values, and back: the only place that names the `parquet` crate.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::Type;
use serde_json::{Map, Number, Value};

/// Rows per row group when writing: bounds memory at 100 kB a row to about 50 MB.
const GROUP_ROWS: usize = 512;

/// How files of this program name their writer.
const WRITER: &str = concat!("medrgb ", env!("CARGO_PKG_VERSION"));

/// Whether this program wrote a Parquet file; `false` also for what can't be read.
pub fn is_own(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    unharmed(|| SerializedFileReader::new(file)).is_ok_and(|reader| {
        let writer = reader.metadata().file_metadata().created_by();
        writer.is_some_and(|writer| writer.starts_with("medrgb "))
    })
}

/// The rows of a Parquet file, one JSON object each, in file order.
///
/// Texts, numbers, booleans and null become their JSON counterparts, lists and structures nest, a map with
/// text keys becomes an object. Dates and times become the number that is stored, other bytes are texts where
/// they are UTF-8.
pub struct Rows {
    rows: RowIter<'static>,
    total: u64,
    broken: bool,
}

impl Rows {
    /// Opens a Parquet file.
    ///
    /// # Errors
    /// A reason without the file's name: no Parquet file, damaged, or packed in a way that is not built in.
    pub fn open(path: &Path) -> Result<Rows, String> {
        let file = File::open(path).map_err(|error| format!("can't be opened ({error})"))?;
        let reader = unharmed(|| SerializedFileReader::new(file))?;
        let total = u64::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(0);
        Ok(Rows {
            rows: RowIter::from_file_into(Box::new(reader)),
            total,
            broken: false,
        })
    }

    /// How many rows there are.
    pub fn total(&self) -> u64 {
        self.total
    }
}

impl Iterator for Rows {
    type Item = Result<Map<String, Value>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.broken {
            return None;
        }
        let row = unharmed(|| self.rows.next().transpose()).transpose()?;
        // After damage there is no next row to find.
        self.broken = row.is_err();
        Some(row.map(object))
    }
}

/// Runs a part of the reader, which can panic where a file is damaged: that is an error like any other.
fn unharmed<T>(read: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T, String> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)) {
        Ok(result) => result.map_err(|error| fault(&error)),
        Err(_) => Err("is damaged; fetch or write the file again".to_owned()),
    }
}

fn fault(error: &parquet::errors::ParquetError) -> String {
    let text = error.to_string();
    let hint = match text.contains("feature") || text.contains("Disabled") {
        true => "; snappy, zstd and plain files are read, so write it again with one of these",
        false => "; fetch or write the file again",
    };
    format!("is no Parquet file that can be read ({text}{hint})")
}

fn object(row: Row) -> Map<String, Value> {
    row.into_columns()
        .into_iter()
        .map(|(name, field)| (name, value(field)))
        .collect()
}

fn value(field: Field) -> Value {
    let float = |number: f64| Number::from_f64(number).map_or(Value::Null, Value::Number);
    match field {
        Field::Null => Value::Null,
        Field::Bool(flag) => Value::Bool(flag),
        Field::Byte(number) => number.into(),
        Field::Short(number) => number.into(),
        Field::Int(number) | Field::Date(number) | Field::TimeMillis(number) => number.into(),
        Field::Long(number)
        | Field::TimeMicros(number)
        | Field::TimestampMillis(number)
        | Field::TimestampMicros(number) => number.into(),
        Field::UByte(number) => number.into(),
        Field::UShort(number) => number.into(),
        Field::UInt(number) => number.into(),
        Field::ULong(number) => number.into(),
        Field::Float(number) => float(f64::from(number)),
        Field::Double(number) => float(number),
        Field::Str(text) => Value::String(text),
        Field::Bytes(bytes) => match std::str::from_utf8(bytes.data()) {
            Ok(text) => Value::String(text.to_owned()),
            Err(_) => Value::Null,
        },
        Field::Group(row) => Value::Object(object(row)),
        Field::ListInternal(list) => list.elements().iter().cloned().map(value).collect(),
        Field::MapInternal(map) => map
            .entries()
            .iter()
            .map(|(key, entry)| (key_text(key), value(entry.clone())))
            .collect::<Map<_, _>>()
            .into(),
        other @ (Field::Decimal(_) | Field::Float16(_)) => Value::String(other.to_string()),
    }
}

fn key_text(key: &Field) -> String {
    match key {
        Field::Str(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// Texts.
    Text,
    /// 64-bit numbers with a fraction.
    Number,
    /// 64-bit whole numbers.
    Whole,
}

/// Writes rows into a Parquet file (snappy); every column may be null.
pub struct Writer<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<(String, Column)>,
    pending: Vec<Vec<Value>>,
}

impl<W: Write + Send> Writer<W> {
    /// A file with these columns.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn new(out: W, columns: &[(&str, Column)]) -> Result<Writer<W>, String> {
        let fields = columns
            .iter()
            .map(|(name, column)| field(name, *column))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| error.to_string())?;
        let schema = Type::group_type_builder("schema")
            .with_fields(fields)
            .build()
            .map_err(|error| error.to_string())?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(WRITER.to_owned())
            .build();
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))
            .map_err(|error| error.to_string())?;
        let columns = columns
            .iter()
            .map(|(name, column)| ((*name).to_owned(), *column))
            .collect();
        Ok(Writer {
            file,
            columns,
            pending: Vec::new(),
        })
    }

    /// Adds a row: one value per column, in their order; lists and objects become JSON texts.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn row(&mut self, values: Vec<Value>) -> Result<(), String> {
        self.pending.push(values);
        match self.pending.len() >= GROUP_ROWS {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Writes what is pending and the file's end.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn finish(mut self) -> Result<(), String> {
        if !self.pending.is_empty() {
            self.flush()?;
        }
        self.file.close().map_err(|error| error.to_string())?;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), String> {
        let rows = std::mem::take(&mut self.pending);
        let written = self.write_group(&rows);
        written.map_err(|error| error.to_string())
    }

    fn write_group(&mut self, rows: &[Vec<Value>]) -> parquet::errors::Result<()> {
        let mut group = self.file.next_row_group()?;
        for (at, (_, column)) in self.columns.iter().enumerate() {
            let Some(mut writer) = group.next_column()? else {
                break;
            };
            let cells = rows.iter().map(|row| row.get(at).unwrap_or(&Value::Null));
            match column {
                Column::Text => {
                    let (values, levels) =
                        present(cells, |cell| Some(ByteArray::from(text(cell).as_str())));
                    let typed = writer.typed::<ByteArrayType>();
                    typed.write_batch(&values, Some(&levels), None)?;
                }
                Column::Number => {
                    let (values, levels) = present(cells, Value::as_f64);
                    let typed = writer.typed::<DoubleType>();
                    typed.write_batch(&values, Some(&levels), None)?;
                }
                Column::Whole => {
                    let (values, levels) = present(cells, Value::as_i64);
                    let typed = writer.typed::<Int64Type>();
                    typed.write_batch(&values, Some(&levels), None)?;
                }
            }
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }
}

fn field(name: &str, column: Column) -> parquet::errors::Result<Arc<Type>> {
    let physical = match column {
        Column::Text => Physical::BYTE_ARRAY,
        Column::Number => Physical::DOUBLE,
        Column::Whole => Physical::INT64,
    };
    let converted = match column {
        Column::Text => ConvertedType::UTF8,
        Column::Number | Column::Whole => ConvertedType::NONE,
    };
    Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_converted_type(converted)
        .build()
        .map(Arc::new)
}

/// The values that are there, and a definition level per cell (1: there, 0: null).
fn present<'a, T>(
    cells: impl Iterator<Item = &'a Value>,
    read: impl Fn(&Value) -> Option<T>,
) -> (Vec<T>, Vec<i16>) {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for cell in cells {
        let found = match cell {
            Value::Null => None,
            cell => read(cell),
        };
        levels.push(i16::from(found.is_some()));
        values.extend(found);
    }
    (values, levels)
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn rows_come_back_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let columns = [
            ("name", Column::Text),
            ("p", Column::Number),
            ("docs", Column::Whole),
        ];
        let rows: Vec<Vec<Value>> = (0..GROUP_ROWS + 3)
            .map(|at| match at % 3 {
                0 => vec![json!(format!("row é {at}")), json!(0.5), json!(at)],
                1 => vec![Value::Null, Value::Null, Value::Null],
                _ => vec![json!({"a": [1]}), json!(-2.25), json!(-1)],
            })
            .collect();
        let mut writer = Writer::new(File::create(&path).unwrap(), &columns).unwrap();
        for row in rows.clone() {
            writer.row(row).unwrap();
        }
        writer.finish().unwrap();

        let read = Rows::open(&path).unwrap();
        assert_eq!(read.total(), rows.len() as u64);
        let read: Vec<_> = read.map(Result::unwrap).collect();
        assert_eq!(read.len(), rows.len());
        assert_eq!(
            Value::Object(read[0].clone()),
            json!({"name": "row é 0", "p": 0.5, "docs": 0})
        );
        assert_eq!(
            Value::Object(read[1].clone()),
            json!({"name": null, "p": null, "docs": null})
        );
        assert_eq!(
            Value::Object(read[GROUP_ROWS + 2].clone())["docs"],
            rows[GROUP_ROWS + 2][2]
        );
        assert_eq!(read[2]["name"], json!("{\"a\":[1]}"));
    }

    #[test]
    fn another_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        for bytes in [
            b"".as_slice(),
            b"PAR1",
            b"nonsense that is long enough PAR1",
        ] {
            std::fs::write(&path, bytes).unwrap();
            let error = Rows::open(&path).err().unwrap();
            assert!(error.contains("no Parquet file"), "{error}");
        }
    }
}
