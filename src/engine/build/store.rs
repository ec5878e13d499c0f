//! Writing what a stage has made: its file, the report, the manifest.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::data::built::{REPORT, TOPICS};
use crate::data::dataset::{COUNTERFACTUALS, MANIFEST, SIGNAL, SUB_QUESTIONS};
use crate::domain::build::{QuestionReport, Stage, StageReport};
use crate::engine::ask::to_value;
use crate::engine::build::{Build, BuildError};

/// Version of the manifest's part `build`.
const SCHEMA: u32 = 1;

/// The files of the stages in their order.
const FILES: [&str; 4] = [TOPICS, SIGNAL, SUB_QUESTIONS, COUNTERFACTUALS];

/// What a stage has made for a question.
pub(super) struct MadeFor {
    /// Position of the question.
    pub question: usize,
    /// Its records.
    pub records: Vec<Value>,
    /// What became of its items.
    pub report: QuestionReport,
}

fn place(stage: Stage) -> usize {
    match stage {
        Stage::Topics => 0,
        Stage::Retrieve => 1,
        Stage::SubQuestions => 2,
        Stage::Adversarial => 3,
    }
}

/// Writes a stage's file, its part of the report, and the manifest. Records of questions that were not worked on stay;
/// records of later stages that were made from something else are removed.
///
/// # Errors
/// Where a file can't be read or written.
pub(super) fn store(
    build: &Build,
    stage: Stage,
    made: Vec<MadeFor>,
) -> Result<StageReport, BuildError> {
    let mut report = StageReport::default();
    let mut records: HashMap<usize, Vec<Value>> = HashMap::new();
    for one in made {
        if let Some(question) = build.parts.questions.get(one.question) {
            report.questions.push((question.id.clone(), one.report));
        }
        records.insert(one.question, one.records);
    }
    let changed = write_records(build, FILES[place(stage)], &mut records)?;
    for later in &FILES[place(stage) + 1..] {
        forget(build, later, &changed)?;
    }
    write_report(build, stage, &report)?;
    write_manifest(build, stage)?;
    Ok(report)
}

/// Writes a stage's records; gives the ids of questions whose records are others than before.
fn write_records(
    build: &Build,
    name: &str,
    records: &mut HashMap<usize, Vec<Value>>,
) -> Result<HashSet<String>, BuildError> {
    let mut old = build.parts.folder.lists(name)?;
    let mut new = Map::new();
    let mut changed = HashSet::new();
    for (at, question) in build.parts.questions.iter().enumerate() {
        let before = old.shift_remove(&question.id);
        let now = match records.remove(&at) {
            Some(list) if list.is_empty() => None,
            Some(list) => Some(Value::Array(list)),
            None => before.clone(),
        };
        if now != before {
            changed.insert(question.id.clone());
        }
        if let Some(list) = now {
            new.insert(question.id.clone(), list);
        }
    }
    build.parts.folder.write_lists(name, &new)?;
    Ok(changed)
}

/// Removes the records of these questions, and of those that are no longer there.
fn forget(build: &Build, name: &str, changed: &HashSet<String>) -> Result<(), BuildError> {
    let mut lists = build.parts.folder.lists(name)?;
    let before = lists.len();
    let known: HashSet<&str> = build
        .parts
        .questions
        .iter()
        .map(|q| q.id.as_str())
        .collect();
    lists.retain(|id, _| known.contains(id.as_str()) && !changed.contains(id));
    match lists.len() == before {
        true => Ok(()),
        false => Ok(build.parts.folder.write_lists(name, &lists)?),
    }
}

/// Puts a stage's part into the report; questions that were not worked on keep theirs.
fn write_report(build: &Build, stage: Stage, report: &StageReport) -> Result<(), BuildError> {
    let mut whole = build.parts.folder.report()?;
    let mut old = match whole.shift_remove(stage.name()) {
        Some(Value::Object(part)) => part,
        _ => Map::new(),
    };
    let new: HashMap<&str, &QuestionReport> = report
        .questions
        .iter()
        .map(|(id, report)| (id.as_str(), report))
        .collect();
    let mut part = Map::new();
    for question in &build.parts.questions {
        let id = question.id.as_str();
        let before = old.shift_remove(id);
        let now = new.get(id).map(to_value).or(before);
        part.extend(now.map(|value| (id.to_owned(), value)));
    }
    whole.insert(stage.name().to_owned(), Value::Object(part));
    let mut ordered = Map::new();
    for stage in Stage::ALL {
        let part = whole.shift_remove(stage.name());
        ordered.extend(part.map(|part| (stage.name().to_owned(), part)));
    }
    Ok(build.parts.folder.write_object(REPORT, &ordered)?)
}

fn write_manifest(build: &Build, stage: Stage) -> Result<(), BuildError> {
    let mut manifest = build.parts.folder.manifest()?;
    let mut stages = manifest
        .get("build")
        .and_then(|build| build.get("stages"))
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let earlier = stages.shift_remove(stage.name());
    stages.insert(stage.name().to_owned(), made_with(build, stage, earlier));
    let mut ordered = Map::new();
    for stage in Stage::ALL {
        let part = stages.shift_remove(stage.name());
        ordered.extend(part.map(|part| (stage.name().to_owned(), part)));
    }
    manifest.insert(
        "name".to_owned(),
        json!(crate::data::dataset::name_of(build.parts.folder.path())),
    );
    manifest.insert("documents".to_owned(), json!("medrgb build"));
    manifest.insert("counts".to_owned(), counts(build)?);
    manifest.insert(
        "build".to_owned(),
        json!({
            "schema": SCHEMA,
            "program": concat!("medrgb ", env!("CARGO_PKG_VERSION")),
            "stages": ordered,
        }),
    );
    manifest.insert(
        "files".to_owned(),
        Value::Object(build.parts.folder.hashes()?),
    );
    Ok(build.parts.folder.write_object(MANIFEST, &manifest)?)
}

/// How much of what there is.
fn counts(build: &Build) -> Result<Value, BuildError> {
    let of = |name: &str| -> Result<usize, BuildError> {
        let lists = build.parts.folder.lists(name)?;
        let records = lists.values().filter_map(Value::as_array);
        Ok(records.map(Vec::len).sum())
    };
    Ok(json!({
        "questions": build.parts.questions.len(),
        "topics": of(TOPICS)?,
        "documents": of(SIGNAL)?,
        "sub_questions": of(SUB_QUESTIONS)?,
        "counterfactuals": of(COUNTERFACTUALS)?,
    }))
}

/// What a stage was made with. Where only some questions were worked on, with something else than the others before,
/// that stays under `earlier`.
fn made_with(build: &Build, stage: Stage, earlier: Option<Value>) -> Value {
    let settings = &build.parts.settings;
    let mut with = Map::new();
    let mut put = |key: &str, value: Value| {
        with.insert(key.to_owned(), value);
    };
    let uses_web = stage == Stage::Retrieve && build.parts.web.is_some();
    if stage != Stage::Retrieve || uses_web {
        let identity = build
            .parts
            .model
            .as_ref()
            .map(|model| to_value(model.identity()));
        put("model", identity.unwrap_or_default());
        put("sampling", to_value(&build.parts.sampling));
        put(
            "prompts_sha256",
            json!(build.parts.templates.build_fingerprint()),
        );
        put("repairs", json!(settings.repairs));
    }
    match stage {
        Stage::Topics => put("topics", json!(settings.topics)),
        Stage::Retrieve => {
            put("per_topic", json!(settings.per_topic));
            if let Some(index) = &build.parts.index {
                let method = to_value(&index.method);
                put(
                    "index",
                    json!({"names": index.names, "retriever": method, "info": index.search.info()}),
                );
            }
            if let Some(web) = &build.parts.web {
                put("web", web.describe());
                put("pages", json!(settings.pages));
            }
        }
        Stage::SubQuestions | Stage::Adversarial => {
            put("model_checks", json!(settings.model_checks));
        }
    }
    let partial = build.work.len() < build.parts.questions.len();
    let now = Value::Object(with.clone());
    if let (true, Some(mut before)) = (partial, earlier) {
        let older = before
            .as_object_mut()
            .and_then(|fields| fields.shift_remove("earlier"));
        let mut all = match older {
            Some(Value::Array(all)) => all,
            _ => Vec::new(),
        };
        if before != now && !all.contains(&before) {
            all.push(before);
        }
        all.retain(|one| *one != now);
        if !all.is_empty() {
            with.insert("earlier".to_owned(), Value::Array(all));
        }
    }
    Value::Object(with)
}
