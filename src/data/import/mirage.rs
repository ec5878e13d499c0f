//! MIRAGE: `benchmark.json` (or `.gz`) as datasets without documents, and predictions as runs.
//!
//! Predictions are JSON lines `{"id", "response"}`, or MIRAGE's own folders with one `test_ID.json` per
//! question, each a list of texts of which the first is the reply.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::data::dataset::questions::named;
use crate::data::dataset::record::{Record, kind};
use crate::data::import::entry::{Entry, is_changed};
use crate::data::import::guess::first_byte;
use crate::data::import::replies::GivenReply;
use crate::data::import::sink::Sink;
use crate::data::import::table;
use crate::data::import::walk::{Step, walk};
use crate::data::import::{ImportError, files, stem};
use crate::domain::plain::json_reason;
use crate::domain::question::Question;
use crate::domain::text::short;

/// Questions by set and id.
type Sets = HashMap<String, HashMap<String, Question>>;

/// What the paths hold.
#[derive(Default)]
struct Found {
    /// Files `benchmark.json`.
    benchmarks: Vec<PathBuf>,
    /// JSON lines of predictions.
    lines: Vec<PathBuf>,
    /// Folders with `test_ID.json`, with their files.
    folders: Vec<(PathBuf, Vec<PathBuf>)>,
}

/// Reads questions into folders, or matches predictions with them.
pub(super) fn read(sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let found = look(sink)?;
    let runs = found.lines.len() + found.folders.len();
    if runs > 0 && found.benchmarks.is_empty() && sink.request.dataset.is_none() {
        return Err(ImportError::Usage(
            "predictions need their questions: give MIRAGE's benchmark.json too, or --dataset FOLDER".to_owned(),
        ));
    }
    sink.expect_files(&found.benchmarks);
    sink.expect_files(&found.lines);
    let keep = runs > 0 && sink.request.dataset.is_none();
    let mut sets = Sets::new();
    for path in &found.benchmarks {
        benchmark(
            sink,
            path,
            keep.then_some(&mut sets),
            runs == 0 || sink.request.out.is_some(),
        )?;
    }
    for path in &found.lines {
        let (set, questions) = questions_of(sink, path, &sets)?;
        let model = model_said(sink, model_in_name(&stem(path), &set));
        sink.begin_run(&stem(path), runs > 1, &set, model.as_deref())?;
        predictions(sink, path, questions)?;
        sink.end_run();
    }
    for (folder, files) in &found.folders {
        let (set, questions) = questions_of(sink, folder, &sets)?;
        let parts: Vec<String> = folder
            .components()
            .rev()
            .take(4)
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .collect();
        let name = parts.into_iter().rev().collect::<Vec<_>>().join("-");
        let model = model_said(sink, model_in_folder(folder));
        sink.begin_run(&name, runs > 1, &set, model.as_deref())?;
        for file in files {
            single(sink, file, questions)?;
        }
        sink.end_run();
    }
    Ok(())
}

/// Says that the model's name is taken from the path, where `--model` gives none.
fn model_said(sink: &mut Sink<'_>, found: Option<String>) -> Option<String> {
    if let Some(model) = found.as_ref().filter(|_| sink.request.model.is_none()) {
        sink.note(&format!(
            "the model's name \"{}\" is taken from the path; --model gives another",
            short(model)
        ));
    }
    found
}

/// Whether a part of a path says how MIRAGE's code asked: `cot`, or `rag_K` (`medrag32` in file names).
fn is_setting(part: &str) -> bool {
    let lower = part.to_lowercase();
    let digits = lower
        .strip_prefix("rag_")
        .or_else(|| lower.strip_prefix("medrag"))
        .or_else(|| lower.strip_prefix("rag"));
    lower == "cot" || digits.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The model of a folder that MIRAGE's code has written: `SET/cot/MODEL` or `SET/rag_K/MODEL/CORPUS/RETRIEVER`,
/// where the model may have its maker before it (`OpenAI/gpt-35-turbo-16k`).
fn model_in_folder(folder: &Path) -> Option<String> {
    let parts: Vec<String> = folder
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    let at = parts.iter().rposition(|part| is_setting(part))?;
    let behind = match parts[at].eq_ignore_ascii_case("cot") {
        true => 0,
        // Corpus and retriever.
        false => 2,
    };
    let end = parts.len().checked_sub(behind)?;
    let model = parts.get(at + 1..end)?.join("/");
    (!model.is_empty()).then_some(model)
}

/// The model of a file called `SET.MODEL.SETTING`.
fn model_in_name(name: &str, set: &str) -> Option<String> {
    let (rest, setting) = name.rsplit_once('.')?;
    let model = rest.strip_prefix(set)?.strip_prefix('.')?;
    (is_setting(setting) && !model.is_empty()).then(|| model.to_owned())
}

/// Tells questions from predictions.
fn look(sink: &Sink<'_>) -> Result<Found, ImportError> {
    let mut found = Found::default();
    let all = files(&sink.request.paths, &|name| {
        name.ends_with(".json") || name.ends_with(".json.gz") || name.ends_with(".jsonl")
    })?;
    for path in all {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name.ends_with(".jsonl") || name.ends_with(".jsonl.gz") {
            found.lines.push(path);
        } else if is_single(&name) {
            let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
            match found.folders.iter_mut().find(|(known, _)| *known == folder) {
                Some((_, files)) => files.push(path),
                None => found.folders.push((folder, vec![path])),
            }
        } else {
            found.benchmarks.push(path);
        }
    }
    Ok(found)
}

fn is_single(name: &str) -> bool {
    ["test_", "dev_", "train_"]
        .iter()
        .any(|split| name.starts_with(split))
        && name.ends_with(".json")
}

/// Reads the sets of a benchmark file, one question at a time: into a folder each, into memory, or both.
fn benchmark(
    sink: &mut Sink<'_>,
    path: &Path,
    mut keep: Option<&mut Sets>,
    write: bool,
) -> Result<(), ImportError> {
    let mut reader = sink.open(path)?;
    if first_byte(&mut reader) != Some(b'{') {
        return Err(ImportError::Failed(format!(
            "{} is no MIRAGE benchmark.json: expected an object of sets",
            path.display()
        )));
    }
    let wanted = sink.request.set.clone();
    let mut open: Option<String> = None;
    let mut names: Vec<String> = Vec::new();
    walk(
        reader,
        &|trail| {
            if trail.len() < 2 {
                Step::Into
            } else {
                Step::Take
            }
        },
        &mut |trail, value| {
            sink.look()?;
            let (Some(set), Some(id)) = (trail.first(), trail.get(1)) else {
                let place = format!("{}, {}", path.display(), trail.join(", "));
                sink.bad(
                    &place,
                    &format!("expected questions, found {}", kind(&value)),
                );
                return Ok(());
            };
            if !names.contains(set) {
                names.push(set.clone());
            }
            if wanted.as_ref().is_some_and(|wanted| wanted != set) {
                return Ok(());
            }
            if write && open.as_ref() != Some(set) {
                sink.end_set("none")?;
                sink.begin_set(set, wanted.is_none())?;
                open = Some(set.clone());
            }
            let place = format!("{}, set {set}", path.display());
            let cleaned = is_changed([value.get("question"), value.get("options")]);
            match Record::new(value).and_then(|record| named(id.clone(), record)) {
                Ok(question) => {
                    if let Some(sets) = &mut keep {
                        let questions = sets.entry(set.clone()).or_default();
                        questions.insert(id.clone(), question.clone());
                    }
                    sink.question(&place, &mut Entry::read(question, cleaned))
                }
                Err(fault) => {
                    sink.bad(&place, &fault);
                    Ok(())
                }
            }
        },
    )
    .or_else(|error| sink.broken(path, error))?;
    sink.end_set("none")?;
    match wanted.filter(|wanted| !names.contains(wanted)) {
        Some(wanted) => Err(ImportError::Usage(format!(
            "{} has no set \"{wanted}\"; it has {}",
            path.display(),
            names.join(", "),
            wanted = short(&wanted)
        ))),
        None => Ok(()),
    }
}

/// Where a file's questions are looked up.
#[derive(Clone, Copy)]
enum Questions<'a> {
    Set(&'a HashMap<String, Question>),
    Dataset,
}

/// The questions that predictions answer: of the dataset given, or of the set that the path names.
fn questions_of<'a>(
    sink: &Sink<'_>,
    path: &Path,
    sets: &'a Sets,
) -> Result<(String, Questions<'a>), ImportError> {
    if let Some(dataset) = sink.request.dataset {
        return Ok((dataset.name.clone(), Questions::Dataset));
    }
    let named = sink.request.set.clone().or_else(|| set_in(path, sets));
    match named.and_then(|name| sets.get(&name).map(|questions| (name, questions))) {
        Some((name, questions)) => Ok((name, Questions::Set(questions))),
        None => {
            let mut names: Vec<&str> = sets.keys().map(String::as_str).collect();
            names.sort_unstable();
            Err(ImportError::Usage(format!(
                "{}: its name does not say which set it answers; name it with --set: {}",
                path.display(),
                names.join(", ")
            )))
        }
    }
}

/// The set whose name is a part of the path, from its end.
fn set_in(path: &Path, sets: &Sets) -> Option<String> {
    path.components().rev().find_map(|component| {
        let name = component.as_os_str().to_string_lossy().into_owned();
        let mut parts = name.split(['.', '_', '-']);
        parts
            .find(|part| sets.contains_key(*part))
            .map(str::to_owned)
    })
}

fn question<'a>(sink: &'a Sink<'_>, questions: Questions<'a>, id: &str) -> Option<&'a Question> {
    match questions {
        Questions::Set(questions) => questions.get(id),
        Questions::Dataset => {
            let dataset = sink.request.dataset?;
            dataset.questions.get(dataset.position(id)?)
        }
    }
}

/// JSON lines `{"id", "response"}`; null is an empty reply.
fn predictions(
    sink: &mut Sink<'_>,
    path: &Path,
    questions: Questions<'_>,
) -> Result<(), ImportError> {
    let mut lines = sink.lines(path)?;
    while let Some((place, line)) = sink.next_line(&mut lines, path)? {
        let read = table::prediction(line);
        take(sink, &place, read, questions)?;
    }
    Ok(())
}

/// One `test_ID.json`.
fn single(sink: &mut Sink<'_>, path: &Path, questions: Questions<'_>) -> Result<(), ImportError> {
    sink.look()?;
    let read = || -> Result<(String, GivenReply), String> {
        let text =
            std::fs::read_to_string(path).map_err(|error| format!("can't be read ({error})"))?;
        let id = stem(path);
        let id = id
            .split_once('_')
            .map_or(id.as_str(), |(_, id)| id)
            .to_owned();
        let value: Value = match text.trim().is_empty() {
            true => Value::Null,
            false => serde_json::from_str(&text)
                .map_err(|error| format!("no valid JSON ({})", json_reason(&error)))?,
        };
        let first = match &value {
            Value::Array(items) => items.first().unwrap_or(&Value::Null),
            other => other,
        };
        let reply = match first {
            Value::String(text) => GivenReply::text(text.clone()),
            Value::Null => null_reply(),
            Value::Object(_) => GivenReply::text(first.to_string()),
            other => return Err(format!("expected a list of texts, found {}", kind(other))),
        };
        Ok((id, reply))
    };
    take(sink, &path.display().to_string(), read(), questions)
}

/// A reply that was saved as null: empty, and said so.
pub(super) fn null_reply() -> GivenReply {
    let mut reply = GivenReply::text("");
    reply.more.insert("saved_as".to_owned(), json!("null"));
    reply
}

fn take(
    sink: &mut Sink<'_>,
    place: &str,
    read: Result<(String, GivenReply), String>,
    questions: Questions<'_>,
) -> Result<(), ImportError> {
    match read {
        Err(fault) => sink.bad(place, &fault),
        Ok((id, reply)) => match question(sink, questions, &id).cloned() {
            Some(question) => return sink.reply(&question, reply),
            None => sink.bad(
                place,
                &format!("id \"{id}\" is no question of the set", id = short(&id)),
            ),
        },
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_found_in_paths() {
        for (folder, expected) in [
            (
                "prediction/mmlu/cot/gpt-35-turbo-16k",
                Some("gpt-35-turbo-16k"),
            ),
            ("prediction/mmlu/cot/OpenAI/gpt-4", Some("OpenAI/gpt-4")),
            ("p/medqa/rag_32/gpt-4/medcorp/rrf-4", Some("gpt-4")),
            (
                "p/medqa/rag_32/OpenAI/gpt-4/medcorp/rrf-4",
                Some("OpenAI/gpt-4"),
            ),
            ("p/medqa/rag_32/gpt-4", None),
            ("p/medqa/cot", None),
            ("p/medqa", None),
            ("ragtime/gpt-4", None),
        ] {
            assert_eq!(
                model_in_folder(Path::new(folder)).as_deref(),
                expected,
                "{folder}"
            );
        }
        for (name, expected) in [
            ("mmlu.gpt-3.5.cot", Some("gpt-3.5")),
            ("mmlu.gpt-3.5.medrag32", Some("gpt-3.5")),
            ("mmlu.cot", None),
            ("medqa.gpt-4.cot", None),
            ("mmlu.gpt-3.5.tuned", None),
            ("mmlu", None),
        ] {
            assert_eq!(model_in_name(name, "mmlu").as_deref(), expected, "{name}");
        }
    }
}
