//! The folder of MedRGB's reference code: questions as JSON lines, `signal_docs.json`, `subqa_pairs.json`,
//! `counterfactual_docs.json`, and its `SCENARIO_pP_predictions.json`.
//!
//! A prediction has `question_id`, `p_sig`, `response`, `noise_doc_ids` and `adversarial_doc_ids`. The code writes
//! the ids of *all* documents of the context, in their order, under `noise_doc_ids`, so that the context of a
//! standard, sufficiency or integration reply can be composed again; of robustness it saved too little.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::data::dataset::{COUNTERFACTUALS, Dataset, SIGNAL, SUB_QUESTIONS};
use crate::data::import::entry::{entry, scalar_text};
use crate::data::import::mapping::{
    CounterfactualFields, DocumentFields, Mapping, OptionFields, SubQuestionFields,
};
use crate::data::import::replies::GivenReply;
use crate::data::import::rows::json_object;
use crate::data::import::sink::Sink;
use crate::data::import::walk::members;
use crate::data::import::{ImportError, files, stem};
use crate::domain::context::{
    Condition, Context, ContextDocument, ContextSubQuestion, Mode, Scenario,
};
use crate::domain::passage::{Document, Role};
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

/// Reads all predictions into one run.
fn replies(sink: &mut Sink<'_>, paths: &[PathBuf], dataset: &Dataset) -> Result<(), ImportError> {
    let documents = Documents::of(dataset);
    let name = match paths {
        [one] => stem(one),
        _ => dataset.name.clone(),
    };
    sink.begin_run_on(&name, dataset)?;
    for path in paths {
        let scenario = scenario_of(path);
        let mut number = 0;
        let reader = sink.open(path)?;
        members(reader, &mut |_, value| {
            sink.look()?;
            number += 1;
            let place = format!("{}, record {number}", path.display());
            match prediction(&value, scenario, dataset, &documents) {
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

/// The scenario that a file's name begins with.
fn scenario_of(path: &Path) -> Option<Scenario> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    name.split(['_', '.']).find_map(|part| part.parse().ok())
}

/// A prediction as the position of its question and the reply.
fn prediction(
    value: &Value,
    scenario: Option<Scenario>,
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
    let p = value["p_sig"]
        .as_f64()
        .filter(|p| (0.0..=100.0).contains(p));
    if let Some(p) = p {
        given.more.insert("p_sig".to_owned(), json!(p));
    }
    if let Some(scenario) = scenario {
        given
            .more
            .insert("scenario".to_owned(), json!(scenario.name()));
        let ids: Vec<&str> = value["noise_doc_ids"]
            .as_array()
            .map(|ids| ids.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        given.setting = documents
            .setting(&id, scenario, p, &ids, dataset)
            .map(Box::new);
    }
    Ok((at, given))
}

/// The documents of a dataset by id, with the question that each is signal for.
struct Documents<'a>(HashMap<&'a str, (&'a Document, Vec<&'a str>)>);

impl<'a> Documents<'a> {
    fn of(dataset: &'a Dataset) -> Documents<'a> {
        let by_id = dataset
            .documents()
            .into_iter()
            .map(|(document, questions)| (document.id.as_str(), (document, questions)))
            .collect();
        Documents(by_id)
    }

    /// Condition and context of a reply whose document ids were saved in order; `None` where they do not give
    /// the whole context.
    fn setting(
        &self,
        question_id: &str,
        scenario: Scenario,
        p: Option<f64>,
        ids: &[&str],
        dataset: &Dataset,
    ) -> Option<(Condition, Context)> {
        if ids.is_empty() || scenario == Scenario::Robustness {
            return None;
        }
        let p = match scenario {
            Scenario::Standard => 100.0,
            _ => p?,
        };
        let mut documents = Vec::with_capacity(ids.len());
        for (at, id) in ids.iter().enumerate() {
            let (document, questions) = self.0.get(id)?;
            let is_signal = questions.contains(&question_id);
            documents.push(ContextDocument {
                label: format!("DOC_{}", at + 1),
                id: document.id.clone(),
                role: if is_signal { Role::Signal } else { Role::Noise },
                original_id: None,
                source: document.source,
                title: document.title.clone(),
                content: document.content.clone(),
                from_question: (!is_signal)
                    .then(|| questions.first().map(|id| (*id).to_owned()))
                    .flatten(),
            });
        }
        let signal = documents
            .iter()
            .filter(|document| document.role == Role::Signal)
            .count();
        if signal == 0 && p > 0.0 {
            // A version of the code that lists the noise only: the rest of the context is not known.
            return None;
        }
        let condition = Condition {
            scenario,
            docs: documents.len(),
            p,
            mode: Mode::Independent,
            ..Condition::default()
        };
        let sub_questions = match scenario {
            Scenario::Integration => asked(question_id, &documents, dataset),
            _ => Vec::new(),
        };
        let context = Context {
            question_id: question_id.to_owned(),
            scenario,
            docs_requested: documents.len(),
            docs: documents.len(),
            p_requested: p,
            p: 100.0 * signal as f64 / documents.len() as f64,
            seed: condition.seed,
            mode: condition.mode,
            source: condition.source,
            short: false,
            variant: None,
            documents,
            sub_questions,
        };
        Some((condition, context))
    }
}

/// The sub-questions that were asked: those of the signal documents in the context, in the file's order.
fn asked(
    question_id: &str,
    documents: &[ContextDocument],
    dataset: &Dataset,
) -> Vec<ContextSubQuestion> {
    let subs = dataset.pools(question_id).sub_questions;
    subs.iter()
        .filter_map(|sub| {
            let document = documents
                .iter()
                .find(|document| document.role == Role::Signal && document.id == sub.doc_id)?;
            Some(ContextSubQuestion {
                question: sub.question.clone(),
                answer: sub.answer.clone(),
                label: document.label.clone(),
                planted: None,
            })
        })
        .collect()
}
