//! What files are, judged by their content.

use std::collections::BTreeSet;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::data::dataset::{QUESTIONS, SIGNAL};
use crate::data::import::mapping::plain;
use crate::data::import::rows::json_object;
use crate::data::import::walk::{Step, walk};
use crate::data::import::{ImportError, Kind, files, kinds};
use crate::source::{self, Line, Lines};

/// How much of a file is looked at, in bytes.
const LOOKED_AT: u64 = 1 << 20;

/// How many places of a document are looked at.
const PLACES: usize = 80;

/// What the files are; all must be the same, but MIRAGE's questions and predictions go together.
///
/// # Errors
/// [`ImportError::Usage`] that lists the kinds, where the content does not say.
pub(super) fn kind_of(paths: &[PathBuf]) -> Result<Kind, ImportError> {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    let mut last = None;
    for path in paths {
        let kind = kind_of_path(path).ok_or_else(|| {
            ImportError::Usage(format!(
                "{} is nothing that is known; say what it is: medrgb import KIND PATH. {}",
                path.display(),
                kinds()
            ))
        })?;
        found.insert(kind.name());
        last = Some(kind);
    }
    if found.contains("mirage") && found.iter().all(|name| ["mirage", "jsonl"].contains(name)) {
        return Ok(Kind::Mirage);
    }
    match (last, found.len()) {
        (Some(kind), 1) => Ok(kind),
        _ => Err(ImportError::Usage(format!(
            "the paths are of different kinds ({}); import them one after the other, or say which kind they are",
            found.into_iter().collect::<Vec<_>>().join(", ")
        ))),
    }
}

fn kind_of_path(path: &Path) -> Option<Kind> {
    match path.is_dir() {
        true => kind_of_folder(path),
        false => kind_of_file(path),
    }
}

fn kind_of_folder(folder: &Path) -> Option<Kind> {
    if folder.join(QUESTIONS).is_file() || folder.join(SIGNAL).is_file() {
        return Some(Kind::Reference);
    }
    let all = files(&[folder.to_path_buf()], &|_| true).ok()?;
    let names: Vec<&str> = all
        .iter()
        .filter_map(|path| path.file_name()?.to_str())
        .collect();
    let some = |fits: &dyn Fn(&str) -> bool| names.iter().any(|name| fits(name));
    if some(&|name| name.ends_with("_predictions.json") || name == SIGNAL) {
        return Some(Kind::Reference);
    }
    if some(&|name| name.starts_with("samples_") && name.ends_with(".jsonl")) {
        return Some(Kind::LmEval);
    }
    if some(&|name| name.starts_with("test_") && name.ends_with(".json")) {
        return Some(Kind::Mirage);
    }
    // Else all files of the folder must be of one kind.
    let kinds: BTreeSet<&str> = all
        .iter()
        .filter_map(|path| kind_of_file(path))
        .map(Kind::name)
        .collect();
    match kinds.len() {
        1 => kinds.first()?.parse().ok(),
        _ => None,
    }
}

fn kind_of_file(path: &Path) -> Option<Kind> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    if name.ends_with(".csv") || name.ends_with(".tsv") || name.ends_with(".csv.gz") {
        return Some(Kind::Csv);
    }
    let mut reader = source::open(path).ok()?.0;
    if reader.fill_buf().ok()?.starts_with(b"PAR1") {
        return Some(parquet_kind(path));
    }
    match first_byte(&mut reader)? {
        b'{' | b'[' => {}
        _ => return None,
    }
    if let Some(first) = first_object(path) {
        return of_line(&first).or_else(|| of_document(path));
    }
    of_document(path)
}

/// MedRGB's own files hold a question's documents; any other Parquet file is just rows.
fn parquet_kind(path: &Path) -> Kind {
    let row = crate::data::parquet_file::Rows::open(path)
        .ok()
        .and_then(|mut rows| rows.next());
    let columns: Vec<String> = match row {
        Some(Ok(row)) => row.keys().map(|name| plain(name)).collect(),
        _ => Vec::new(),
    };
    let has = |part: &str| columns.iter().any(|name| name.contains(part));
    match has("questionid") && has("doc") && (has("counterfactual") || has("sub") || has("signal"))
    {
        true => Kind::Medrgb,
        false => Kind::Parquet,
    }
}

/// The first byte that is not white space; nothing is used up.
pub(super) fn first_byte(reader: &mut dyn BufRead) -> Option<u8> {
    loop {
        let chunk = reader.fill_buf().ok()?;
        if chunk.is_empty() {
            return None;
        }
        match chunk.iter().position(|byte| !byte.is_ascii_whitespace()) {
            Some(at) => return chunk.get(at).copied(),
            None => {
                let length = chunk.len();
                reader.consume(length);
            }
        }
    }
}

/// The object in the first line, where a line holds one.
fn first_object(path: &Path) -> Option<Map<String, Value>> {
    let reader = source::open(path).ok()?.0;
    let limited = std::io::BufReader::new(reader.take(LOOKED_AT));
    let mut lines = Lines::new(Box::new(limited));
    match lines.next_line().ok()?? {
        (_, Line::Text(text)) => json_object(text).ok(),
        (_, Line::Bad(_)) => None,
    }
}

/// What a file of JSON lines is.
fn of_line(fields: &Map<String, Value>) -> Option<Kind> {
    let has = |names: &[&str]| names.iter().all(|name| fields.contains_key(*name));
    if has(&["query", "answer", "positive"]) {
        return Some(Kind::Rgb);
    }
    if has(&["doc_id", "doc"]) && (has(&["resps"]) || has(&["filtered_resps"])) {
        return Some(Kind::LmEval);
    }
    if has(&["question", "condition", "context", "raw"]) {
        return Some(Kind::Run);
    }
    let names: Vec<String> = fields.keys().map(|name| plain(name)).collect();
    let known = |name: &str| names.iter().any(|own| own == name);
    let scalar = fields
        .values()
        .all(|value| !value.is_object() || value["question"].is_null());
    (scalar && (known("question") || known("response") || known("query"))).then_some(Kind::Jsonl)
}

/// What one JSON document is: the first places in it tell.
fn of_document(path: &Path) -> Option<Kind> {
    let reader = source::open(path).ok()?.0;
    let mut places: Vec<Vec<String>> = Vec::new();
    // Where the document is broken or longer than what is looked at, the places found so far must do.
    let _ = walk(
        reader.take(LOOKED_AT),
        &|trail| match trail.len() {
            0..3 => Step::Into,
            _ => Step::Take,
        },
        &mut |trail, _| {
            places.push(trail.to_vec());
            match places.len() < PLACES {
                true => Ok(()),
                false => Err(ImportError::Stopped),
            }
        },
    );
    let top = |name: &str| {
        places
            .iter()
            .any(|place| place[..].first().is_some_and(|key| key == name))
    };
    let at = |depth: usize, name: &str| {
        places
            .iter()
            .any(|place| place.get(depth).is_some_and(|key| key == name))
    };
    if top("eval") && (top("samples") || top("plan") || top("version")) {
        return Some(Kind::Inspect);
    }
    if top("results")
        && (top("evalId")
            || top("config")
            || at(2, "prompt")
            || at(1, "results")
            || at(1, "prompts"))
    {
        return Some(Kind::Promptfoo);
    }
    if at(1, "QUESTION") && at(1, "CONTEXTS") {
        return Some(Kind::Pubmedqa);
    }
    if at(2, "question") && at(2, "options") {
        return Some(Kind::Mirage);
    }
    if top("0") && at(1, "question_id") && at(1, "response") {
        return Some(Kind::Reference);
    }
    if top("0") && at(1, "query") && at(1, "positive") {
        return Some(Kind::Rgb);
    }
    None
}
