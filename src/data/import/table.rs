//! Rows that hold a question, a reply, or both: Parquet (MedRGB's own), JSON lines, CSV.

use std::path::Path;

use serde_json::{Map, Value};

use crate::data::import::detect::{detect, is_noise};
use crate::data::import::entry::{Entry, entry, id_of, is_small, reply, scalar_text, unmapped};
use crate::data::import::guess::own_export;
use crate::data::import::mapping::Mapping;
use crate::data::import::mirage::null_reply;
use crate::data::import::replies::GivenReply;
use crate::data::import::rows::{Rows, json_object, word};
use crate::data::import::sink::Sink;
use crate::data::import::{ImportError, Kind, files, stem};
use crate::domain::text::short;
use crate::source::Line;

/// How many rows are looked at to find out which field is what.
const SAMPLE: usize = 20;

/// Reads every file; each is a set of its own.
pub(super) fn read(sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let kind = sink.kind;
    let fits = move |name: &str| match kind {
        Kind::Medrgb | Kind::Parquet => name.ends_with(".parquet"),
        Kind::Csv => name.ends_with(".csv") || name.ends_with(".tsv"),
        _ => name.ends_with(".jsonl") || name.ends_with(".jsonl.gz"),
    };
    let mut found = files(&sink.request.paths, &fits)?;
    if let Some(set) = &sink.request.set {
        found.retain(|path| stem(path) == *set);
        if found.is_empty() {
            return Err(ImportError::Usage(format!(
                "no file is called \"{}\"; --set names one of several files",
                short(set)
            )));
        }
    }
    sink.expect_files(&found);
    for path in &found {
        read_file(sink, path, found.len() > 1)?;
    }
    Ok(())
}

fn read_file(sink: &mut Sink<'_>, path: &Path, several: bool) -> Result<(), ImportError> {
    if sink.kind == Kind::Medrgb
        && let Some(what) = own_export(path)
    {
        return Err(ImportError::Usage(format!(
            "{file} holds {what} that medrgb has exported, not MedRGB's own file as published; import it with `medrgb import parquet {file}`",
            file = path.display()
        )));
    }
    let mapping = mapping_of(sink, path)?;
    if sink.kind == Kind::Medrgb && mapping.options.is_none() && mapping.fixed_options.is_none() {
        sink.note(&format!(
            "{} has no options, as MedLFQA, which asks for long answers: open questions can't be scored as multiple choice, so it is left out",
            path.display()
        ));
        return Ok(());
    }
    let set = stem(path);
    let is_run = mapping.response.is_some();
    let has_questions = mapping.question.is_some() && mapping.answer.is_some();
    if is_run && !has_questions && sink.request.dataset.is_none() {
        return Err(ImportError::Usage(format!(
            "{} holds replies without their questions; name the dataset that they answer with --dataset",
            path.display()
        )));
    }
    let writes_folder = has_questions && (!is_run || sink.request.out.is_some());
    if writes_folder {
        sink.begin_set(&set, several)?;
    }
    if is_run {
        sink.begin_run(&set, several, &set, None)?;
    }
    let mut rows = Rows::open(sink, path)?;
    let word = word(&rows);
    loop {
        let place = |number: usize| format!("{}, {word} {number}", path.display());
        let next = match rows.next() {
            Ok(Some(next)) => next,
            Ok(None) => break,
            // What came before is kept: a file that breaks off is one bad record.
            Err(fault) => {
                sink.bad(&path.display().to_string(), &fault);
                break;
            }
        };
        sink.look()?;
        let (number, row) = next;
        let read = row.and_then(|row| {
            take_row(
                sink,
                &row,
                &mapping,
                &place(number),
                &format!("{set}-{number}"),
            )
        });
        match read {
            Ok(stopped) => stopped?,
            Err(fault) => sink.bad(&place(number), &fault),
        }
    }
    if is_run {
        sink.end_run();
    }
    if writes_folder {
        let is_published = sink.kind == Kind::Medrgb && !mapping.documents.is_empty();
        sink.end_set(match is_published {
            true => "medrgb",
            false => "other",
        })?;
    }
    Ok(())
}

/// The mapping for a file: what the user says, completed by what the first rows show.
fn mapping_of(sink: &mut Sink<'_>, path: &Path) -> Result<Mapping, ImportError> {
    let mut sample: Vec<Map<String, Value>> = Vec::new();
    let mut rows = Rows::open(sink, path)?;
    let mut seen = 0;
    while let Ok(Some((_, row))) = rows.next() {
        sample.extend(row.ok());
        seen += 1;
        if seen == SAMPLE {
            break;
        }
    }
    sink.will_reopen();
    let mut found = detect(&sample);
    if sink.kind == Kind::Medrgb {
        // A benchmark holds no replies; a field of that name is something else.
        found.response = None;
    }
    let mapping = sink
        .request
        .mapping
        .clone()
        .unwrap_or_default()
        .complete(found);
    sink.mapped(&mapping);
    for field in sample.iter().flat_map(|row| row.keys()) {
        if is_noise(field) && !mapping.used().contains(&field.as_str()) {
            sink.note(&format!(
                "\"{field}\" holds noise; it is not read, since noise is drawn from the other questions' signal documents"
            ));
        }
    }
    if !sample.is_empty()
        && mapping.response.is_none()
        && (mapping.question.is_none() || mapping.answer.is_none())
    {
        let fields: Vec<&str> = sample[0].keys().map(String::as_str).collect();
        return Err(ImportError::Failed(format!(
            "{}: no field was found that holds the {}; name it in a mapping file (--mapping). The fields are {}",
            path.display(),
            if mapping.question.is_none() {
                "question"
            } else {
                "right answer"
            },
            fields.join(", ")
        )));
    }
    Ok(mapping)
}

/// Takes what a row holds; a fault of the row is the outer error, one of the store or the disk the inner.
fn take_row(
    sink: &mut Sink<'_>,
    row: &Map<String, Value>,
    mapping: &Mapping,
    place: &str,
    fallback: &str,
) -> Result<Result<(), ImportError>, String> {
    let given = reply(row, mapping)?;
    let mut own = match (&given, sink.request.dataset) {
        (Some(_), Some(dataset)) => {
            let id = id_of(row, mapping, fallback)?;
            let at = dataset.position(&id).ok_or_else(|| {
                format!(
                    "id \"{}\" is no question of the dataset {}; check that both belong together",
                    short(&id),
                    dataset.name
                )
            })?;
            Entry::known(dataset.questions[at].clone())
        }
        _ => {
            for (field, value) in unmapped(row, mapping) {
                sink.unmapped(field, is_small(value));
            }
            entry(row, mapping, fallback)?
        }
    };
    let taken = sink.question(place, &mut own);
    Ok(match (taken, given) {
        (Ok(()), Some(given)) => sink.reply(&own.question, given),
        (taken, _) => taken,
    })
}

/// A line `{"id", "response"}`; null is an empty reply.
pub(super) fn prediction(line: Line<'_>) -> Result<(String, GivenReply), String> {
    let text = match line {
        Line::Text(text) => text,
        Line::Bad(why) => return Err(why),
    };
    let row = json_object(text)?;
    let id = row
        .get("id")
        .or_else(|| row.get("question_id"))
        .and_then(scalar_text)
        .ok_or("\"id\" is missing or no text; expected {\"id\": \"…\", \"response\": \"…\"}")?;
    let reply =
        match row.get("response") {
            Some(Value::String(text)) => GivenReply::text(text.clone()),
            Some(Value::Null) => null_reply(),
            _ => return Err(
                "\"response\" is missing or no text; expected {\"id\": \"…\", \"response\": \"…\"}"
                    .to_owned(),
            ),
        };
    Ok((id, reply))
}
