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
/// [`ImportError::Failed`] that lists the kinds, where the content does not say; [`ImportError::Usage`] for files of
/// different kinds.
pub(super) fn kind_of(paths: &[PathBuf]) -> Result<Kind, ImportError> {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    let mut last = None;
    for path in paths {
        let kind = kind_of_path(path).ok_or_else(|| {
            ImportError::Failed(format!(
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
        return Some(match is_published(path) {
            true => Kind::Medrgb,
            false => Kind::Parquet,
        });
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

/// The sets under whose names MedRGB's files are published.
const PUBLISHED: [&str; 5] = ["bioasq", "pubmedqa", "medqa", "mmlu", "medlfqa"];

/// Whether a Parquet file is one of MedRGB's own as published on Hugging Face: its figures may then stand beside
/// the paper's, so that columns alone prove nothing. The name must be that of a published file
/// (`bioasq-00000-of-00001.parquet`), the columns those of questions with documents, and no reply among them.
fn is_published(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !is_published_name(&name) || own_export(path).is_some() {
        return false;
    }
    let columns = columns_of(path);
    let has = |part: &str| columns.iter().any(|name| name.contains(part));
    let replies = ["response", "prediction", "completion"]
        .map(has)
        .contains(&true);
    has("questionid") && has("doc") && !replies
}

/// `SET-00000-of-00001.parquet` of a published set.
fn is_published_name(name: &str) -> bool {
    let is_number = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    name.strip_suffix(".parquet")
        .and_then(|name| name.split_once('-'))
        .and_then(|(set, part)| Some((set, part.split_once("-of-")?)))
        .is_some_and(|(set, (part, of))| {
            PUBLISHED.contains(&set) && is_number(part) && is_number(of)
        })
}

/// The plain names of a Parquet file's columns; none where its first row can't be read.
fn columns_of(path: &Path) -> Vec<String> {
    let row = crate::data::parquet_file::Rows::open(path)
        .ok()
        .and_then(|mut rows| rows.next());
    match row {
        Some(Ok(row)) => row.keys().map(|name| plain(name)).collect(),
        _ => Vec::new(),
    }
}

/// What a Parquet file holds that this program has exported: such a file is never MedRGB's own, whatever it is
/// called. Files of versions that did not name themselves as the writer are known by their columns.
pub(super) fn own_export(path: &Path) -> Option<&'static str> {
    let columns = columns_of(path);
    let has = |names: &[&str]| {
        names
            .iter()
            .all(|name| columns.iter().any(|own| own == name))
    };
    let is_run = has(&["run", "record", "datasetfingerprint", "response", "outcome"]);
    let is_dataset = columns.len() == 8
        && has(&[
            "questionid",
            "options",
            "documents",
            "subquestions",
            "counterfactuals",
            "extra",
        ]);
    match (
        is_run,
        is_dataset || crate::data::parquet_file::is_own(path),
    ) {
        (true, _) => Some("a run"),
        (false, true) => Some("a dataset"),
        (false, false) => None,
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
    // promptfoo's JSON lines: one result each.
    if has(&["provider"])
        && (has(&["response"]) || has(&["error"]))
        && (has(&["vars"]) || has(&["testCase"]))
    {
        return Some(Kind::Promptfoo);
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;
    use crate::data::parquet_file::{Column, Writer};

    #[test]
    fn published_names_are_known_exactly() {
        for (name, expected) in [
            ("bioasq-00000-of-00001.parquet", true),
            ("medlfqa-00000-of-00001.parquet", true),
            ("mmlu-00001-of-00002.parquet", true),
            ("ds.parquet", false),
            ("bioasq.parquet", false),
            ("train-00000-of-00001.parquet", false),
            ("my-bioasq-00000-of-00001.parquet", false),
            ("bioasq-0-of-1.parquet", false),
            ("bioasq-00000-of-00001.jsonl", false),
            ("bioasq-00000-of-00001-copy.parquet", false),
        ] {
            assert_eq!(is_published_name(name), expected, "{name}");
        }
    }

    #[test]
    fn columns_alone_make_no_file_medrgbs_own() {
        let folder = tempfile::tempdir().unwrap();
        let published = [
            "question_id",
            "question",
            "options",
            "answer",
            "signal_docs",
        ];
        let with_reply = ["question_id", "question", "answer", "docs", "response"];
        let exported = [
            "question_id",
            "question",
            "options",
            "answer",
            "documents",
            "sub_questions",
            "counterfactuals",
            "extra",
        ];
        for (name, columns, own) in [
            ("ds.parquet", &published[..], None),
            ("bioasq-00000-of-00001.parquet", &with_reply[..], None),
            (
                "mmlu-00000-of-00001.parquet",
                &exported[..],
                Some("a dataset"),
            ),
        ] {
            let path = folder.path().join(name);
            let columns: Vec<(&str, Column)> =
                columns.iter().map(|name| (*name, Column::Text)).collect();
            let file = std::fs::File::create(&path).unwrap();
            let mut writer = Writer::new(file, &columns).unwrap();
            writer.row(vec![json!("x"); columns.len()]).unwrap();
            writer.finish().unwrap();
            assert!(!is_published(&path), "{name}");
            // Every file of the writer says who wrote it.
            assert!(crate::data::parquet_file::is_own(&path));
            assert!(
                own.is_none_or(|own| own_export(&path) == Some(own)),
                "{name}"
            );
        }
    }

    #[test]
    fn promptfoo_lines_are_no_plain_rows() {
        let of = |value: Value| of_line(value.as_object().unwrap());
        assert_eq!(
            of(
                json!({"provider": {"id": "p"}, "vars": {"question": "Q?"}, "response": {"output": "A"}})
            ),
            Some(Kind::Promptfoo)
        );
        assert_eq!(
            of(json!({"question": "Q?", "response": "A"})),
            Some(Kind::Jsonl)
        );
    }
}
