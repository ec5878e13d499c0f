//! Writing what a stage has made: its file, the report, the manifest.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::data::built::{BuiltFolder, MADE, REPORT, TOPICS};
use crate::data::dataset::{COUNTERFACTUALS, MANIFEST, SIGNAL, SUB_QUESTIONS};
use crate::domain::build::{QuestionReport, Stage, StageReport};
use crate::domain::question::Question;
use crate::engine::ask::to_value;
use crate::engine::build::rests::{Changed, rest};
use crate::engine::build::{Build, BuildError, Later};

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
/// records of later stages that rest on something else now are removed, and the report says that they are to be made.
/// The report comes first and the stage's own file last: who is killed in between does it all again.
///
/// # Errors
/// Where a file can't be read or written.
pub(super) fn store(
    build: &Build,
    stage: Stage,
    made: Vec<MadeFor>,
) -> Result<(StageReport, Vec<Later>), BuildError> {
    let mut report = StageReport::default();
    let mut records: HashMap<usize, Vec<Value>> = HashMap::new();
    for one in made {
        if let Some(question) = build.parts.questions.get(one.question) {
            report.questions.push((question.id.clone(), one.report));
        }
        records.insert(one.question, one.records);
    }
    let folder = &build.parts.folder;
    let name = FILES[place(stage)];
    let before = folder.lists(name)?;
    let after = lists(build, &before, &mut records);
    let mut whole = folder.report()?;
    let changed = Changed {
        stage,
        before: &before,
        after: &after,
    };
    let rests = rest(build, &changed, &whole)?;
    for one in &rests {
        if let Some(reports) = &one.reports {
            whole.insert(one.stage.name().to_owned(), Value::Object(reports.clone()));
        }
    }
    write_report(build, stage, &report, whole)?;
    let gone: Vec<Value> = rests.iter().flat_map(|one| one.removed.clone()).collect();
    folder.set_aside(&gone)?;
    for (name, lists) in rests.iter().rev().filter_map(|one| one.lists.as_ref()) {
        folder.write_lists(name, lists)?;
    }
    folder.write_lists(name, &after)?;
    write_manifest(build, stage)?;
    let later = rests.into_iter().map(|one| one.later);
    Ok((report, later.filter(|one| one.gone + one.due > 0).collect()))
}

/// A stage's lists with the new records.
fn lists(
    build: &Build,
    before: &Map<String, Value>,
    records: &mut HashMap<usize, Vec<Value>>,
) -> Map<String, Value> {
    let mut all = Map::new();
    for (at, question) in build.parts.questions.iter().enumerate() {
        let now = match records.remove(&at) {
            Some(list) if list.is_empty() => None,
            Some(list) => Some(Value::Array(list)),
            None => before.get(&question.id).cloned(),
        };
        all.extend(now.map(|list| (question.id.clone(), list)));
    }
    all
}

/// Puts a stage's part into the report; questions that were not worked on keep theirs.
fn write_report(
    build: &Build,
    stage: Stage,
    report: &StageReport,
    mut whole: Map<String, Value>,
) -> Result<(), BuildError> {
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

/// Says in the report that these questions were begun anew in these stages, so that a kill does not hide it.
///
/// # Errors
/// Where a file can't be read or written.
pub(super) fn owe(
    folder: &BuiltFolder,
    stages: &[Stage],
    questions: &[&Question],
) -> Result<(), BuildError> {
    let mut whole = folder.report()?;
    let mut said = false;
    for stage in stages {
        let Some(part) = whole.get_mut(stage.name()).and_then(Value::as_object_mut) else {
            continue;
        };
        for question in questions {
            let Some(own) = part.get_mut(&question.id) else {
                continue;
            };
            if let Ok(mut read) = serde_json::from_value::<QuestionReport>(own.clone()) {
                read.owe("", "it was begun anew and is not through");
                *own = to_value(&read);
                said = true;
            }
        }
    }
    if !said {
        return Ok(());
    }
    folder.write_object(REPORT, &whole)?;
    let all = folder.questions()?.unwrap_or_default();
    refresh_manifest(folder, &all)
}

/// Brings counts and hashes of the manifest in line with the files, where a stage has written one.
///
/// # Errors
/// Where a file can't be read or written.
pub(super) fn refresh_manifest(
    folder: &BuiltFolder,
    questions: &[Question],
) -> Result<(), BuildError> {
    let mut manifest = folder.manifest()?;
    if manifest.contains_key("files") {
        manifest.insert("counts".to_owned(), counts(folder, questions)?);
        manifest.insert("files".to_owned(), Value::Object(folder.hashes()?));
        folder.write_object(MANIFEST, &manifest)?;
    }
    Ok(())
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
    manifest.insert("documents".to_owned(), json!(MADE));
    let counts = counts(&build.parts.folder, &build.parts.questions)?;
    manifest.insert("counts".to_owned(), counts);
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
fn counts(folder: &BuiltFolder, questions: &[Question]) -> Result<Value, BuildError> {
    let of = |name: &str| -> Result<usize, BuildError> {
        let lists = folder.lists(name)?;
        let records = lists.values().filter_map(Value::as_array);
        Ok(records.map(Vec::len).sum())
    };
    Ok(json!({
        "questions": questions.len(),
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
