//! `medrgb encode`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use medrgb_encoder::{Encoder, Input, OpenOptions, Precision};
use serde::Deserialize;

use crate::cli::Failure;
use crate::cli::common::{Environment, note};
use crate::cli::encoder::{self, Backend};
use crate::cli::progress::Line;
use crate::cli::signals::stop_on_signal;
use crate::data::output;
use crate::domain::plain::{expect_object, json_reason};
use crate::domain::text::count;
use crate::retrieval::embed::steps;
use crate::retrieval::{encoders, npy};
use crate::source;

/// Arguments of `medrgb encode`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Ctrl-C stops and keeps what is encoded; the same command goes on from there and gives the same file.")]
pub struct Args {
    /// Encoder: a name or a folder.
    #[arg(long, value_name = "NAME|FOLDER")]
    pub encoder: String,
    /// Which of the encoder's two sides (the same for symmetric encoders).
    #[arg(long, value_enum)]
    pub kind: Kind,
    /// JSON lines: {"text"} or {"title","content"}.
    #[arg(long, value_name = "FILE.jsonl")]
    pub input: PathBuf,
    /// NumPy file to write: 32-bit floats, one row per line of the input, in its order.
    #[arg(long, value_name = "FILE.npy")]
    pub out: PathBuf,
    /// Where the encoder runs.
    #[arg(long, value_enum)]
    pub backend: Option<Backend>,
    /// How a GPU keeps numbers; the processor always computes in f32.
    #[arg(long, value_enum, default_value = "auto")]
    pub precision: Numbers,
    /// Longest input in tokens; without it the encoder's own limit.
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<usize>,
}

/// `--kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Queries: lines {"text"}
    Query,
    /// Documents: lines {"title","content"}, encoded as the encoder wants a pair, or {"text"}
    Article,
}

/// `--precision`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Numbers {
    /// Half precision where the GPU has it
    Auto,
    /// 32-bit floats
    F32,
    /// 16-bit floats
    F16,
    /// bfloat16
    Bf16,
}

impl From<Numbers> for Precision {
    fn from(numbers: Numbers) -> Precision {
        match numbers {
            Numbers::Auto => Precision::Auto,
            Numbers::F32 => Precision::F32,
            Numbers::F16 => Precision::F16,
            Numbers::Bf16 => Precision::Bf16,
        }
    }
}

/// A line of the input.
#[derive(Debug, PartialEq)]
enum Record {
    Text(String),
    Pair { title: String, content: String },
}

#[derive(Deserialize)]
struct Fields {
    text: Option<String>,
    title: Option<String>,
    content: Option<String>,
}

impl Record {
    fn parse(line: &str, kind: Kind) -> Result<Record, String> {
        expect_object(line).map_err(|why| format!("not a record: {why}"))?;
        let fields: Fields = serde_json::from_str(line)
            .map_err(|error| format!("not a record: {}", json_reason(&error)))?;
        match (fields.text, fields.title, fields.content) {
            (Some(text), None, None) => Ok(Record::Text(text)),
            (Some(_), _, _) => {
                Err("it has \"text\" and \"title\" or \"content\"; give one form".into())
            }
            (None, title, Some(content)) if kind == Kind::Article => Ok(Record::Pair {
                title: title.unwrap_or_default(),
                content,
            }),
            (None, _, Some(_)) => Err(
                "a query needs \"text\"; \"title\" and \"content\" are for --kind article".into(),
            ),
            (None, _, None) => Err("expected \"text\", or \"title\" and \"content\"".into()),
        }
    }

    fn input(&self) -> Input<'_> {
        match self {
            Record::Text(text) => Input::Query(text),
            Record::Pair { title, content } => Input::Article { title, content },
        }
    }
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    output::check(&args.out).map_err(Failure::failed)?;
    output::keep(&args.out, &args.input).map_err(Failure::failed)?;
    let records = read(&args.input, args.kind)?;
    let folders = encoder::folders(Some(&args.encoder), environment)?
        .ok_or_else(|| Failure::failed(crate::retrieval::NO_ENCODER))?;
    let folder = match args.kind {
        Kind::Query => &folders.query,
        Kind::Article => &folders.article,
    };
    if folders.stand_in {
        note(&format!(
            "{} stands in for MedCPT, whose weights are not here",
            folders.name
        ));
    }
    let backend = encoder::backend(args.backend, environment)?;
    let options = OpenOptions {
        max_tokens: args.max_tokens,
        precision: args.precision.into(),
        ..encoders::options(backend)
    };
    let encoder = encoders::open_with(folder, &options).map_err(Failure::failed)?;
    for text in &encoder.info().notes {
        note(text);
    }
    let inputs: Vec<Input<'_>> = records.iter().map(Record::input).collect();
    let encoded = encoded(&encoder, options.precision, &inputs, environment)?;
    let (rows, dim) = (records.len(), encoder.info().dim);
    output::write(&args.out, |out| {
        npy::write(out, rows, dim, &encoded.data).map_err(|error| output::reason(&error))
    })
    .map_err(Failure::failed)?;
    encoded.written();
    note(&format!(
        "{}: {} of {dim} numbers",
        args.out.display(),
        count(rows, "row")
    ));
    Ok(())
}

/// Encodes the records with progress; what is done survives a signal and a kill.
fn encoded(
    encoder: &Encoder,
    precision: Precision,
    inputs: &[Input<'_>],
    environment: &Environment,
) -> Result<steps::Encoded, Failure> {
    let folder = environment.paths.cache.join("encoded");
    let line = Line::heeding(stop_on_signal());
    let mut tell = |done: usize| line.at("encoding", done, inputs.len());
    let mut notes = Vec::new();
    let result = steps::encode(encoder, precision, inputs, &folder, &mut tell, &mut notes);
    drop(line);
    for text in &notes {
        note(text);
    }
    let encoded = result.map_err(Failure::failed)?;
    if encoded.before > 0 {
        note(&format!(
            "{} of {} were encoded before",
            encoded.before,
            count(inputs.len(), "record")
        ));
    }
    Ok(encoded)
}

/// Reads all records. Empty lines at the end are no records; elsewhere they are errors, since rows and
/// lines must go together.
fn read(path: &Path, kind: Kind) -> Result<Vec<Record>, Failure> {
    if path.is_dir() {
        return Err(Failure::Failed(format!(
            "{} is a folder; name a file of lines {{\"text\"}} or {{\"title\",\"content\"}}",
            path.display()
        )));
    }
    let file = source::refuse_special(path)
        .and_then(|()| std::fs::File::open(path))
        .map_err(|error| Failure::Failed(format!("{} can't be read: {error}", path.display())))?;
    let mut records = Vec::new();
    let mut empty_line = None;
    for (index, line) in BufReader::new(file).split(b'\n').enumerate() {
        let at =
            |what: &str| Failure::Failed(format!("{}, line {}: {what}", path.display(), index + 1));
        let bytes = line.map_err(|error| at(&format!("can't be read: {error}")))?;
        let text = std::str::from_utf8(&bytes).map_err(|_| at("not UTF-8 text"))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim();
        if text.is_empty() {
            empty_line.get_or_insert(index + 1);
            continue;
        }
        if let Some(empty) = empty_line {
            return Err(Failure::Failed(format!(
                "{}, line {empty}: empty; every line must be a record, so that rows and lines go together",
                path.display()
            )));
        }
        records.push(Record::parse(text, kind).map_err(|what| at(&what))?);
    }
    if records.is_empty() {
        return Err(Failure::Failed(format!(
            "{} holds no record, so there is nothing to encode; lines {{\"text\"}} or {{\"title\",\"content\"}} are expected",
            path.display()
        )));
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn read_text(text: &[u8], kind: Kind) -> Result<Vec<Record>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in.jsonl");
        std::fs::write(&path, text).unwrap();
        read(&path, kind).map_err(|failure| failure.to_string())
    }

    #[test]
    fn records_keep_their_order_and_unknown_fields_are_skipped() {
        let records = read_text(
            b"\xef\xbb\xbf{\"text\":\"a\",\"id\":7}\r\n{\"title\":\"t\",\"content\":\"c\"}\n{\"content\":\"d\"}\n\n",
            Kind::Article,
        )
        .unwrap();
        let pair = |title: &str, content: &str| Record::Pair {
            title: title.into(),
            content: content.into(),
        };
        assert_eq!(
            records,
            [Record::Text("a".into()), pair("t", "c"), pair("", "d")]
        );
        for empty in [b"".as_slice(), b"\n\n", b"\xef\xbb\xbf"] {
            let message = read_text(empty, Kind::Query).unwrap_err();
            assert!(message.contains("holds no record"), "{message}");
        }
    }

    #[test]
    fn bad_lines_are_named() {
        for (text, kind, expected) in [
            (
                b"{\"text\":\"a\"}\nnonsense".as_slice(),
                Kind::Query,
                "line 2: not a record",
            ),
            (
                b"{\"text\":\"a\"}\n\n{\"text\":\"b\"}",
                Kind::Query,
                "line 2: empty",
            ),
            (b"{\"title\":\"a\"}", Kind::Article, "line 1: expected"),
            (
                b"{\"title\":\"a\",\"content\":\"b\"}",
                Kind::Query,
                "line 1: a query needs",
            ),
            (
                b"{\"text\":\"a\",\"content\":\"b\"}",
                Kind::Article,
                "line 1: it has",
            ),
            (b"{\"text\":3}", Kind::Query, "line 1: not a record"),
            (
                b"[\"a\",null,null]",
                Kind::Query,
                "found a list where an object",
            ),
            (b"\"a\"", Kind::Query, "found a text where an object"),
            (b"{\"text\":\"\xff\"}", Kind::Query, "line 1: not UTF-8"),
        ] {
            let message = read_text(text, kind).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
        assert!(read(Path::new("no/such/file"), Kind::Query).is_err());
    }
}
