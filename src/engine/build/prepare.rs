//! Getting a build ready: its folder, its questions, its ledger.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::data::built::BuiltFolder;
use crate::data::clock::now;
use crate::data::dataset::SIGNAL;
use crate::data::ledger::{Entry, EntryKind, Ledger};
use crate::domain::build::{Held, QuestionReport, Scope, Stage, StageReport};
use crate::domain::question::Question;
use crate::domain::text::{count, short};
use crate::engine::build::{Build, BuildError, Parts, outdated, store};

/// The folder of a build: made or taken, or only looked at.
///
/// # Errors
/// Where something stands there that no build made, or it can't be made.
pub fn folder_of(path: &Path, look: bool) -> Result<BuiltFolder, BuildError> {
    let folder = match look {
        true => BuiltFolder::look(path),
        false => BuiltFolder::open(path),
    };
    Ok(folder?)
}

/// Whether stages ask a model: only offline retrieval does not.
pub fn asks_model(stages: &[Stage], with_web: bool) -> bool {
    stages.iter().any(|stage| *stage != Stage::Retrieve) || with_web
}

/// Puts a build together; nobody else can work in its folder from then on, until it is dropped. With `look` it is only
/// looked at: nothing is made, locked or written.
///
/// # Errors
/// [`BuildError`] where a question is not known, or the folder or its ledger can't be used.
pub fn prepare(
    mut parts: Parts,
    stages: &[Stage],
    scope: &Scope,
    look: bool,
) -> Result<Build, BuildError> {
    let ids: HashSet<String> = parts.questions.iter().map(|one| one.id.clone()).collect();
    let first = limit(&mut parts, scope.limit)?;
    let (first, not_given) = keep_own(&mut parts, first)?;
    let work = work(&scope.only, &parts.questions, first, &ids)?;
    let mut ledger = match look {
        true => Ledger::look(parts.folder.path())?,
        false => Ledger::open(parts.folder.path())?,
    };
    let changed = outdated::find(&parts, &ledger)?;
    let again: Vec<&Question> = match scope.again {
        true => work
            .iter()
            .filter_map(|&at| parts.questions.get(at))
            .collect(),
        false => Vec::new(),
    };
    if look {
        for question in again {
            for stage in stages {
                ledger.forget(stage.name(), &question.id);
            }
        }
    } else {
        parts.folder.clear_unfinished();
        outdated::put_aside(&parts, &changed)?;
        outdated::remember(&parts.questions, &mut ledger)?;
        if !again.is_empty() {
            // First that it is to be made: a kill in between must not hide it.
            store::owe(&parts.folder, stages, &again)?;
            restart(&mut ledger, stages, &again)?;
        }
    }
    Ok(Build {
        parts,
        work,
        ledger: Arc::new(Mutex::new(ledger)),
        not_given,
        outdated: changed,
    })
}

/// Leaves out the questions after the first so many, but for those that the folder has already: what was made for them
/// must not get lost. Gives how many may be worked on.
fn limit(parts: &mut Parts, limit: Option<usize>) -> Result<usize, BuildError> {
    let Some(limit) = limit else {
        return Ok(parts.questions.len());
    };
    let own = parts.folder.questions()?.unwrap_or_default();
    let own: HashSet<&str> = own.iter().map(|question| question.id.as_str()).collect();
    let mut at = 0;
    parts.questions.retain(|question| {
        at += 1;
        at <= limit || own.contains(question.id.as_str())
    });
    Ok(limit)
}

/// Puts the questions of the folder that were not given behind those that were: what was made for them must not get lost.
/// Gives how many may be worked on, and the ids of those that were not given.
fn keep_own(parts: &mut Parts, first: usize) -> Result<(usize, Vec<String>), BuildError> {
    let given: HashSet<String> = parts.questions.iter().map(|q| q.id.clone()).collect();
    let first = first.min(parts.questions.len());
    let own = parts.folder.questions()?.unwrap_or_default();
    let own = own
        .into_iter()
        .filter(|question| !given.contains(&question.id));
    let before = parts.questions.len();
    parts.questions.extend(own);
    let kept = parts.questions[before..].iter().map(|q| q.id.clone());
    Ok((first, kept.collect()))
}

/// Positions of the questions that are worked on: of the first so many, those that are named. `ids` are those of all
/// that were given.
fn work(
    only: &[String],
    questions: &[Question],
    first: usize,
    ids: &HashSet<String>,
) -> Result<Vec<usize>, BuildError> {
    let all = questions;
    let questions = all.get(..first).unwrap_or(all);
    if only.is_empty() {
        return Ok((0..questions.len()).collect());
    }
    let mut work = Vec::new();
    for id in only {
        let at = questions.iter().position(|question| question.id == *id);
        let at = at.ok_or_else(|| {
            if ids.contains(id) || all.iter().any(|question| question.id == *id) {
                return BuildError::Usage(format!(
                    "\"{}\": this question is not among the first {}, which are all that a limit or the given questions leave",
                    short(id),
                    count(questions.len(), "question")
                ));
            }
            let known: Vec<String> = questions.iter().take(3).map(|q| short(&q.id)).collect();
            BuildError::Usage(format!(
                "\"{}\": no question has this id; there are {}, such as {}",
                short(id),
                count(questions.len(), "question"),
                known.join(", ")
            ))
        })?;
        work.push(at);
    }
    work.sort_unstable();
    work.dedup();
    Ok(work)
}

/// Lets earlier answers of the stages for these questions count no longer.
fn restart(
    ledger: &mut Ledger,
    stages: &[Stage],
    questions: &[&Question],
) -> Result<(), BuildError> {
    for stage in stages {
        for question in questions {
            ledger.append(Entry {
                kind: EntryKind::Restart,
                stage: stage.name().to_owned(),
                question_id: question.id.clone(),
                item: String::new(),
                attempt: 0,
                hash: String::new(),
                request: Value::Null,
                model: Value::Null,
                answer: Value::Null,
                outcome: String::new(),
                started_at: now(),
                ms: 0,
            })?;
        }
    }
    Ok(())
}

/// What the folder of a build holds, and how it was made.
///
/// # Errors
/// Where something stands there that no build made, or a file can't be read.
pub fn held(path: &Path) -> Result<Held, BuildError> {
    let folder = BuiltFolder::look(path)?;
    let questions = folder.questions()?;
    let begun = questions.is_some();
    let mut report = folder.report()?;
    let mut stages: [Option<StageReport>; 4] = Default::default();
    for (stage, slot) in Stage::ALL.into_iter().zip(&mut stages) {
        *slot = report.shift_remove(stage.name()).map(stage_report);
    }
    let manifest = Value::Object(folder.manifest()?);
    let with = |stage, key| made_with(&manifest, stage, key);
    let whole = |value: &Value| {
        value
            .as_u64()
            .and_then(|number| usize::try_from(number).ok())
    };
    let names = with(Stage::Retrieve, "index")["names"].as_array();
    let last = [Stage::Adversarial, Stage::SubQuestions, Stage::Topics]
        .into_iter()
        .find(|stage| with(*stage, "repairs").is_u64());
    let last = last.unwrap_or(Stage::Topics);
    Ok(Held {
        begun,
        documents: path.join(SIGNAL).is_file(),
        questions: questions
            .into_iter()
            .flatten()
            .map(|question| question.id)
            .collect(),
        stages,
        indexes: names
            .into_iter()
            .flatten()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect(),
        topics: whole(with(Stage::Topics, "topics")),
        per_topic: whole(with(Stage::Retrieve, "per_topic")),
        pages: whole(with(Stage::Retrieve, "pages")),
        repairs: with(last, "repairs")
            .as_u64()
            .and_then(|number| u32::try_from(number).ok()),
        model_checks: with(last, "model_checks").as_bool(),
    })
}

/// What the manifest says of how a stage was made.
fn made_with<'a>(manifest: &'a Value, stage: Stage, key: &str) -> &'a Value {
    &manifest["build"]["stages"][stage.name()][key]
}

/// A stage's part of `report.json`; a question whose part can't be read has none.
fn stage_report(part: Value) -> StageReport {
    let Value::Object(questions) = part else {
        return StageReport::default();
    };
    let read = |(id, part): (String, Value)| {
        let report: QuestionReport = serde_json::from_value(part).ok()?;
        Some((id, report))
    };
    StageReport {
        questions: questions.into_iter().filter_map(read).collect(),
    }
}
