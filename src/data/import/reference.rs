//! The folder of MedRGB's reference code: questions as JSON lines, `signal_docs.json`, `subqa_pairs.json`,
//! `counterfactual_docs.json`, and its `SCENARIO_pP_predictions.json`.
//!
//! A prediction has `question_id`, `p_sig`, `response`, `noise_doc_ids` and `adversarial_doc_ids`. The code writes
//! the ids of *all* documents of the context, in their order, under `noise_doc_ids`, so that the context of a
//! standard, sufficiency or integration reply can be composed again; of robustness it saved too little, so that only
//! its condition is known. What files and names say of conditions is read in `reference_told`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::data::dataset::{COUNTERFACTUALS, Dataset, SIGNAL, SUB_QUESTIONS};
use crate::data::import::entry::{entry, scalar_text};
use crate::data::import::mapping::{
    CounterfactualFields, DocumentFields, Mapping, OptionFields, SubQuestionFields,
};
use crate::data::import::reference_context::Documents;
use crate::data::import::reference_told::{Told, survey};
use crate::data::import::replies::{GivenReply, without_documents};
use crate::data::import::rows::json_object;
use crate::data::import::sink::Sink;
use crate::data::import::walk::members;
use crate::data::import::{ImportError, files, stem};
use crate::domain::context::{Condition, Mode, Scenario};
use crate::domain::text::short;
use crate::source::Line;

/// The ending of the code's files of replies.
const PREDICTIONS: &str = "_predictions.json";

/// Question id → its records.
type Groups = HashMap<String, Vec<Value>>;

/// Reads the folder's dataset, then the predictions.
pub(super) fn read(sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let all = files(&sink.request.paths, &|name| {
        name.ends_with(".json") || name.ends_with(".jsonl")
    })?;
    let is_prediction = |path: &PathBuf| path.to_string_lossy().ends_with(PREDICTIONS);
    let (predictions, others): (Vec<PathBuf>, Vec<PathBuf>) =
        all.into_iter().partition(is_prediction);
    let questions: Vec<&PathBuf> = others
        .iter()
        .filter(|path| is_question_file(path))
        .collect();
    sink.expect_files(&predictions);
    let written = match questions.is_empty() {
        true => None,
        false => dataset(sink, &others, &questions)?,
    };
    if predictions.is_empty() {
        return match written {
            Some(_) => Ok(()),
            None => Err(ImportError::Failed(
                "no file of questions was found: expected JSON lines with question_id, question, options, answer".to_owned(),
            )),
        };
    }
    if let Some(dataset) = sink.request.dataset {
        return replies(sink, &predictions, dataset);
    }
    match written.as_deref() {
        Some(folder) => {
            let mut dataset = Dataset::open(folder).map_err(|error| ImportError::Failed(error.to_string()))?;
            // It was opened where it is being made.
            dataset.name = sink.last_set().unwrap_or_default();
            replies(sink, &predictions, &dataset)
        }
        None => Err(ImportError::Usage(
            "predictions need their questions: give the folder with the questions too, or --dataset FOLDER".to_owned(),
        )),
    }
}

/// Whether the first line of a `.jsonl` is a question.
fn is_question_file(path: &Path) -> bool {
    if path
        .extension()
        .is_none_or(|extension| extension != "jsonl")
    {
        return false;
    }
    let Ok((reader, _)) = crate::source::open(path) else {
        return false;
    };
    match crate::source::Lines::new(reader).next_line() {
        Ok(Some((_, Line::Text(text)))) => json_object(text)
            .is_ok_and(|row| row.contains_key("question_id") && row.contains_key("question")),
        _ => false,
    }
}

/// The reference code's own names, and `text` for `content`, which it takes too.
fn names() -> Mapping {
    let named = |name: &str| Some(name.to_owned());
    Mapping {
        question_id: named("question_id"),
        question: named("question"),
        options: Some(OptionFields::One("options".to_owned())),
        answer: named("answer"),
        documents: vec![DocumentFields {
            field: "signal_docs".to_owned(),
            id: None,
            title: None,
            content: None,
            source: None,
        }],
        sub_questions: Some(SubQuestionFields {
            field: "subqa_pairs".to_owned(),
            doc_id: None,
            question: None,
            answer: None,
        }),
        counterfactuals: Some(CounterfactualFields {
            field: "counterfactual_docs".to_owned(),
            original_id: None,
            new_answer: None,
            edited_document: None,
        }),
        ..Mapping::default()
    }
}

/// Writes the dataset folder; gives the folder while it is still in the making.
fn dataset(
    sink: &mut Sink<'_>,
    others: &[PathBuf],
    questions: &[&PathBuf],
) -> Result<Option<PathBuf>, ImportError> {
    let mut groups: [Groups; 3] = Default::default();
    for (groups, name) in groups
        .iter_mut()
        .zip([SIGNAL, SUB_QUESTIONS, COUNTERFACTUALS])
    {
        for path in others.iter().filter(|path| path.ends_with(name)) {
            read_groups(sink, path, groups)?;
        }
    }
    let mapping = names();
    let name = match sink.request.paths.first().filter(|path| path.is_dir()) {
        Some(folder) => crate::data::dataset::name_of(folder),
        None => stem(questions[0]),
    };
    sink.begin_set(&name, false)?;
    for path in questions {
        let mut lines = sink.lines(path)?;
        while let Some((place, line)) = sink.next_line(&mut lines, path)? {
            let row = match line {
                Line::Text(text) => json_object(text),
                Line::Bad(why) => Err(why),
            };
            match row.and_then(|row| entry(&joined(row, &mut groups), &mapping, &place)) {
                Ok(mut entry) => sink.question(&place, &mut entry)?,
                Err(fault) => sink.bad(&place, &fault),
            }
        }
    }
    let left = groups.iter().map(HashMap::len).sum::<usize>();
    if left > 0 {
        sink.note(&format!("{left} lists of documents, sub-questions or versions belong to no question that was read"));
    }
    let folder = sink.open_folder();
    sink.end_set("unknown")?;
    Ok(folder)
}

fn read_groups(sink: &mut Sink<'_>, path: &Path, groups: &mut Groups) -> Result<(), ImportError> {
    let reader = sink.open(path)?;
    members(reader, &mut |trail, value| {
        sink.look()?;
        let id = trail.first().cloned().unwrap_or_default();
        match value {
            Value::Array(items) => {
                // The code saves an empty object where its model's reply could not be read.
                let filled = items
                    .into_iter()
                    .filter(|item| item.as_object().is_none_or(|item| !item.is_empty()));
                groups.entry(id).or_default().extend(filled);
            }
            other => {
                let found = crate::data::dataset::record::kind(&other);
                sink.bad(
                    &format!("{}, question \"{id}\"", path.display(), id = short(&id)),
                    &format!("expected a list of records, found {found}"),
                );
            }
        }
        Ok(())
    })
    .or_else(|error| sink.broken(path, error))
}

/// A question's row with the records that belong to it, which are used up.
fn joined(mut row: Map<String, Value>, groups: &mut [Groups; 3]) -> Map<String, Value> {
    let id = row
        .get("question_id")
        .and_then(scalar_text)
        .unwrap_or_default();
    for (groups, field) in
        groups
            .iter_mut()
            .zip(["signal_docs", "subqa_pairs", "counterfactual_docs"])
    {
        if let Some(items) = groups.remove(&id) {
            row.insert(field.to_owned(), Value::Array(items));
        }
    }
    row
}

/// Reads all predictions into one run, each under its condition.
fn replies(sink: &mut Sink<'_>, paths: &[PathBuf], dataset: &Dataset) -> Result<(), ImportError> {
    let documents = Documents::of(dataset);
    let name = match paths {
        [one] => stem(one),
        _ => dataset.name.clone(),
    };
    sink.begin_run_on(&name, dataset)?;
    for path in paths {
        let told = told_by(sink, path, paths, &dataset.name)?;
        let mut number = 0;
        let reader = sink.open(path)?;
        members(reader, &mut |_, value| {
            sink.look()?;
            number += 1;
            let place = format!("{}, record {number}", path.display());
            match prediction(&value, &told, dataset, &documents) {
                Ok((at, given)) => sink.reply(&dataset.questions[at], given),
                Err(fault) => {
                    sink.bad(&place, &fault);
                    Ok(())
                }
            }
        })
        .or_else(|error| sink.broken(path, error))?;
    }
    sink.note("the reference code collapses white space in replies before it saves them");
    sink.end_run();
    Ok(())
}

/// What a file and its name say of the condition of its replies, and of their model; what had to be decided is said.
fn told_by(
    sink: &mut Sink<'_>,
    path: &Path,
    all: &[PathBuf],
    dataset: &str,
) -> Result<Told, ImportError> {
    let mut told = Told::of_name(path, PREDICTIONS);
    // "bioasq_robustness_p40": the dataset, not a model.
    told.model = told
        .model
        .filter(|model| !model.eq_ignore_ascii_case(dataset));
    let reader = sink.open(path)?;
    sink.will_reopen();
    let found = survey(reader, &mut || sink.look())?;
    for decided in told.complete(&found) {
        sink.note(&format!("{}: {decided}", path.display()));
    }
    let namesake = |other: &&PathBuf| *other != path && other.file_name() == path.file_name();
    if told.model.is_none() && all.iter().any(|other| namesake(&other)) {
        // The same file in several folders: the folder is what tells them apart.
        told.model = path
            .parent()
            .and_then(Path::file_name)
            .map(|name| name.to_string_lossy().into_owned());
    }
    if let Some(model) = told.model.as_ref().filter(|_| sink.request.model.is_none()) {
        sink.note(&format!(
            "the model's name \"{}\" is taken from the path; --model gives another",
            short(model)
        ));
    }
    Ok(told)
}

/// A prediction as the position of its question and the reply.
fn prediction(
    value: &Value,
    told: &Told,
    dataset: &Dataset,
    documents: &Documents<'_>,
) -> Result<(usize, GivenReply), String> {
    let id = value["question_id"]
        .as_str()
        .map(str::to_owned)
        .or_else(|| scalar_text(&value["question_id"]))
        .ok_or("field \"question_id\" is missing or no text")?;
    let at = dataset.position(&id).ok_or_else(|| {
        format!(
            "question_id \"{id}\" is not in the dataset {}",
            dataset.name,
            id = short(&id)
        )
    })?;
    let mut given = match &value["response"] {
        Value::String(text) => GivenReply::text(text.clone()),
        Value::Null if value.get("response").is_some() => super::mirage::null_reply(),
        other => {
            let found = crate::data::dataset::record::kind(other);
            return Err(format!(
                "field \"response\" is {found}, but a text is expected"
            ));
        }
    };
    given.model.clone_from(&told.model);
    let p = told.p_of(value)?;
    if let Some(p) = p {
        given.more.insert("p_sig".to_owned(), json!(p));
    }
    let Some(scenario) = told.scenario else {
        return Ok((at, given));
    };
    given
        .more
        .insert("scenario".to_owned(), json!(scenario.name()));
    let ids: Vec<&str> = value["noise_doc_ids"]
        .as_array()
        .map(|ids| ids.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let Some(condition) = condition(scenario, told, p)? else {
        return Ok((at, given));
    };
    let context = documents
        .context(&id, &condition, &ids, dataset)
        .unwrap_or_else(|| without_documents(&id, &condition));
    given.setting = Some(Box::new((condition, context)));
    Ok((at, given))
}

/// The condition of a reply; `None` for a standard one of which nothing says that the model was shown documents.
fn condition(scenario: Scenario, told: &Told, p: Option<f64>) -> Result<Option<Condition>, String> {
    let p = match (scenario, p) {
        (Scenario::Standard, _) if told.docs == 0 => return Ok(None),
        (Scenario::Standard, _) => 100.0,
        (_, Some(p)) => p,
        (_, None) => {
            return Err(format!(
                "nothing says how many per cent of the documents were signal: \"p_sig\" is missing, and the file's name has no p, as in {scenario}_p60{PREDICTIONS}"
            ));
        }
    };
    Ok(Some(Condition {
        scenario,
        docs: told.docs,
        p,
        mode: Mode::Independent,
        ..Condition::default()
    }))
}
