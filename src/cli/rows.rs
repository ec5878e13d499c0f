//! Rows that people made, as files: where they go and in which form, and how they are read back.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::Failure;
use crate::cli::common::{escape_controls, note, say, say_json, write_out};
use crate::data::export::Format;
use crate::data::output;
use crate::domain::text::clean;
use crate::source::{self, Line, Lines};

/// The forms that rows are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum RowFormat {
    /// A JSON object a line
    Jsonl,
    /// A table with commas between the columns
    Csv,
}

impl From<RowFormat> for Format {
    fn from(format: RowFormat) -> Format {
        match format {
            RowFormat::Jsonl => Format::Jsonl,
            RowFormat::Csv => Format::Csv,
        }
    }
}

/// The flags that say where rows go.
#[derive(Debug, clap::Args)]
pub struct RowsOut {
    /// jsonl or csv; without it as the ending of --out says, else jsonl
    #[arg(long, short = 'f', value_name = "FORMAT")]
    pub format: Option<RowFormat>,
    /// The file; without it standard output
    #[arg(long, short = 'o', value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace a file that is there already
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Print one JSON object that says what was written
    #[arg(long, requires = "out")]
    pub json: bool,
}

impl RowsOut {
    /// The form of the rows.
    pub fn format(&self) -> Format {
        let ending = self.out.as_ref().and_then(|out| out.extension()?.to_str());
        let by_name = match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("csv") => Format::Csv,
            _ => Format::Jsonl,
        };
        self.format.map_or(by_name, Format::from)
    }

    /// Refuses early what would be refused after the work.
    ///
    /// # Errors
    /// Where a file stands there that may not be replaced, or none can be written.
    pub fn check(&self) -> Result<(), Failure> {
        let Some(out) = &self.out else { return Ok(()) };
        output::check(out).map_err(Failure::failed)?;
        match output::replaces(out) && !self.force {
            true => Err(Failure::Failed(format!(
                "{} exists already; name another file with --out, or replace it with --force",
                out.display()
            ))),
            false => Ok(()),
        }
    }

    /// Writes the rows and says so: `counted` in words, `facts` in the JSON object beside file and form.
    ///
    /// # Errors
    /// Where the file or standard output can't be written.
    pub fn write(
        &self,
        format: Format,
        text: &[u8],
        counted: &str,
        facts: Value,
    ) -> Result<(), Failure> {
        let Some(out) = &self.out else {
            return write_out(&shown(format, text));
        };
        output::write(out, |file| {
            file.write_all(text).map_err(|error| output::reason(&error))
        })
        .map_err(Failure::failed)?;
        let said = format!("{}: {counted}", out.display());
        match (self.json, output::is_stream(out)) {
            (true, _) => {
                let mut object = json!({"file": out, "format": format.name()});
                if let (Value::Object(object), Value::Object(facts)) = (&mut object, facts) {
                    object.extend(facts);
                }
                say_json(&object)
            }
            // What was exported may be on standard output itself.
            (false, true) => {
                note(&said);
                Ok(())
            }
            (false, false) => say(&said),
        }
    }
}

/// Rows for standard output. They hold what people and models wrote, which may not drive a terminal: JSON says it by
/// escapes, a table that somebody only looks at goes without it.
fn shown(format: Format, text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    match format {
        Format::Csv if std::io::stdout().is_terminal() => clean(&text),
        Format::Csv => text.into_owned(),
        _ => escape_controls(text.into_owned()),
    }
}

/// Reads the rows of a file (JSON lines, also packed); a bad one is left out and added to `problems` with its place.
///
/// # Errors
/// A file that can't be read.
pub fn read_rows<T>(
    file: &Path,
    row: impl Fn(&str) -> Result<T, String>,
    problems: &mut Vec<String>,
) -> Result<Vec<T>, Failure> {
    let failed = |error: std::io::Error| {
        Failure::Failed(format!("{} can't be read: {error}", file.display()))
    };
    let mut lines = Lines::new(source::open(file).map_err(failed)?.0);
    let mut rows = Vec::new();
    while let Some((number, line)) = lines.next_line().map_err(failed)? {
        let read = match line {
            Line::Text(text) => row(text),
            Line::Bad(why) => Err(why),
        };
        match read {
            Ok(row) => rows.push(row),
            Err(why) => problems.push(format!("{}, line {number}: {why}", file.display())),
        }
    }
    Ok(rows)
}
