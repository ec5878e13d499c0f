//! What stages will ask for, before anything is asked.

use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::data::dataset::Dataset;
use crate::domain::build::{Stage, StagePlan};
use crate::domain::passage::Document;
use crate::domain::question::Question;
use crate::engine::build::asker::Asker;
use crate::engine::build::{Build, BuildError, adversarial, sub_questions, topics};
use crate::model::BackendKind;

/// Tokens of a prompt whose text is not there yet: a document of 200 words, the question and the instructions.
const TYPICAL_PROMPT: u64 = 900;

/// Tokens a second that an embedded model reads and writes on two cores, before it has been timed.
const EMBEDDED_PACE: (f64, f64) = (150.0, 35.0);

/// The plans of stages. Nothing is asked.
///
/// # Errors
/// Where a template is broken, a file can't be read, or a model is missing.
pub fn plan(build: &Build, stages: &[Stage]) -> Result<Vec<StagePlan>, BuildError> {
    let cancel = CancellationToken::new();
    stages
        .iter()
        .map(|&stage| {
            let asker = Asker::new(build, stage, &cancel);
            let mut plan = counted(&asker, stages)?;
            let model_checks = build.parts.settings.model_checks
                && matches!(stage, Stage::SubQuestions | Stage::Adversarial);
            if model_checks {
                plan.prompt_tokens += 250 * plan.calls as u64;
                plan.reply_tokens += 40 * plan.calls as u64;
                plan.calls *= 2;
            }
            plan.calls_at_most = plan.calls * (build.parts.settings.repairs as usize + 1);
            plan.seconds = seconds(build, &plan);
            Ok(plan)
        })
        .collect()
}

fn counted(asker: &Asker<'_>, stages: &[Stage]) -> Result<StagePlan, BuildError> {
    let build = asker.build;
    let mut count = Count::new(asker.stage);
    match asker.stage {
        Stage::Topics => {
            for (_, question) in build.worked_on() {
                count.add(
                    asker.look(&topics::ask(question, &build.parts.settings))?,
                    70,
                );
            }
        }
        Stage::Retrieve => retrieval(build, &mut count),
        Stage::SubQuestions => {
            let documents = Documents::new(build, stages)?;
            let mut unknown = 0;
            for (_, question) in build.worked_on() {
                let Some(own) = documents.of(question) else {
                    unknown += documents_each(build);
                    continue;
                };
                for document in own {
                    count.add(asker.look(&sub_questions::ask(question, document))?, 80);
                }
            }
            count.guess(unknown, 80);
        }
        Stage::Adversarial => edits(asker, stages, &mut count)?,
    }
    Ok(count.0)
}

/// The documents that later stages will meet, as far as they are known.
struct Documents {
    /// What the folder has.
    own: Option<Dataset>,
    /// What the questions came with; only where nothing else is there and no search is planned.
    given: Option<Arc<Dataset>>,
    /// The report of the searches so far, where one is planned.
    searched: Option<Value>,
}

impl Documents {
    fn new(build: &Build, stages: &[Stage]) -> Result<Documents, BuildError> {
        let folder = &build.parts.folder;
        let own = folder.dataset()?;
        let searched = match stages.contains(&Stage::Retrieve) {
            true => Some(
                folder
                    .report()?
                    .shift_remove(Stage::Retrieve.name())
                    .unwrap_or_default(),
            ),
            false => None,
        };
        let takes_given = own.is_none() && searched.is_none();
        Ok(Documents {
            given: build.parts.given.clone().filter(|_| takes_given),
            own,
            searched,
        })
    }

    /// Those of a question; `None` where a search is still to find them.
    fn of(&self, question: &Question) -> Option<&[Document]> {
        let there = self.own.as_ref().or(self.given.as_deref());
        let found = there.map(|dataset| dataset.pools(&question.id).signal);
        let to_be_found = self
            .searched
            .as_ref()
            .is_some_and(|searched| searched.get(&question.id).is_none());
        found.filter(|found| !found.is_empty() || !to_be_found)
    }
}

/// Edits are made of documents with a sub-question. Those that the stage of the sub-questions will still ask for, where it
/// is planned too, may get one.
fn edits(asker: &Asker<'_>, stages: &[Stage], count: &mut Count) -> Result<(), BuildError> {
    let build = asker.build;
    let documents = Documents::new(build, stages)?;
    let asked_before = stages.contains(&Stage::SubQuestions);
    let before = Asker::new(build, Stage::SubQuestions, asker.cancel);
    let mut guess = 0;
    for (_, question) in build.worked_on() {
        // What was made of an old text goes; sub-questions of the dataset that the questions came from are not taken.
        let outdated = build.outdated.ids.contains(&question.id);
        let tasks = match &documents.own {
            Some(own) if !outdated => adversarial::tasks(question, own),
            _ => Vec::new(),
        };
        match documents.of(question) {
            _ if !asked_before => {}
            None => guess += documents_each(build),
            Some(own) => {
                for document in own {
                    let has_one = tasks.iter().any(|task| task.document_id() == document.id);
                    let asked = sub_questions::ask(question, document);
                    if !has_one && !before.look(&asked)?.0 {
                        guess += 1;
                    }
                }
            }
        }
        for task in tasks {
            let Ok(sentences) = task.sentences() else {
                continue;
            };
            count.add(asker.look(&task.ask(&sentences.texts))?, 90);
        }
    }
    count.guess(guess, 90);
    Ok(())
}

/// Only the web takes a model: one call for the links, one for each page.
fn retrieval(build: &Build, count: &mut Count) {
    let questions = build.work.len();
    count.0.items = questions;
    if build.parts.web.is_some() {
        let calls = questions * (1 + build.parts.settings.pages);
        count.guess(calls, 200);
        count.0.prompt_tokens += questions as u64 * build.parts.settings.pages as u64 * 1_500;
        count.0.items = questions;
    }
}

/// How many documents a search may find for a question.
fn documents_each(build: &Build) -> usize {
    let settings = &build.parts.settings;
    let offline = settings.topics * settings.per_topic;
    match (&build.parts.index, &build.parts.web) {
        (None, Some(_)) => settings.pages,
        (Some(_), Some(_)) => offline + settings.pages,
        _ => offline,
    }
}

struct Count(StagePlan);

impl Count {
    fn new(stage: Stage) -> Count {
        Count(StagePlan {
            stage: stage.name(),
            items: 0,
            answered: 0,
            calls: 0,
            calls_at_most: 0,
            prompt_tokens: 0,
            reply_tokens: 0,
            guessed: false,
            seconds: None,
        })
    }

    fn add(&mut self, (answered, tokens): (bool, u64), reply: u64) {
        self.0.items += 1;
        match answered {
            true => self.0.answered += 1,
            false => {
                self.0.calls += 1;
                self.0.prompt_tokens += tokens;
                self.0.reply_tokens += reply;
            }
        }
    }

    fn guess(&mut self, calls: usize, reply: u64) {
        if calls == 0 {
            return;
        }
        self.0.guessed = true;
        self.0.items += calls;
        self.0.calls += calls;
        self.0.prompt_tokens += TYPICAL_PROMPT * calls as u64;
        self.0.reply_tokens += reply * calls as u64;
    }
}

/// By what calls of this model took so far; an embedded one is predicted before that.
fn seconds(build: &Build, plan: &StagePlan) -> Option<f64> {
    let model = build.parts.model.as_ref()?.identity();
    let pace = {
        let ledger = build
            .ledger
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        ledger.pace(&model.name)
    };
    if plan.calls == 0 {
        return Some(0.0);
    }
    if pace.calls > 0 {
        let each = pace.ms as f64 / pace.calls as f64 / 1_000.0;
        return Some(each * plan.calls as f64 / build.ceiling() as f64);
    }
    let (read, write) = EMBEDDED_PACE;
    (model.backend == BackendKind::Embedded)
        .then(|| plan.prompt_tokens as f64 / read + plan.reply_tokens as f64 / write)
}
