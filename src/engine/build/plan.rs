//! What stages will ask for, before anything is asked.

use tokio_util::sync::CancellationToken;

use crate::data::dataset::Dataset;
use crate::domain::build::{Stage, StagePlan};
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
    let own = build.parts.folder.dataset()?;
    let dataset = own.as_ref().or(build.parts.given.as_deref());
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
        Stage::SubQuestions => match dataset {
            Some(dataset) => {
                for (_, question) in build.worked_on() {
                    for document in dataset.pools(&question.id).signal {
                        count.add(asker.look(&sub_questions::ask(question, document))?, 80);
                    }
                }
            }
            None => count.guess(guessed_documents(build), 80),
        },
        Stage::Adversarial => edits(asker, dataset, stages, &mut count)?,
    }
    Ok(count.0)
}

/// Edits are made of documents with a sub-question. Those that the stage of the sub-questions will still ask for, where it
/// is planned too, may get one.
fn edits(
    asker: &Asker<'_>,
    dataset: Option<&Dataset>,
    stages: &[Stage],
    count: &mut Count,
) -> Result<(), BuildError> {
    let build = asker.build;
    let asked_before = stages.contains(&Stage::SubQuestions);
    let Some(dataset) = dataset else {
        if asked_before {
            count.guess(guessed_documents(build), 90);
        }
        return Ok(());
    };
    // Sub-questions of the dataset that the questions came from are not taken.
    let own = build.parts.folder.dataset()?.is_some();
    let before = Asker::new(build, Stage::SubQuestions, asker.cancel);
    let mut guess = 0;
    for (_, question) in build.worked_on() {
        // What was made of an old text goes.
        let outdated = build.outdated.ids.contains(&question.id);
        let tasks = match own && !outdated {
            true => adversarial::tasks(question, dataset),
            false => Vec::new(),
        };
        if asked_before {
            for document in dataset.pools(&question.id).signal {
                let has_one = tasks.iter().any(|task| task.document_id() == document.id);
                let asked = sub_questions::ask(question, document);
                if !has_one && !before.look(&asked)?.0 {
                    guess += 1;
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
    if guess > 0 {
        count.guess(guess, 90);
    }
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

fn guessed_documents(build: &Build) -> usize {
    let settings = &build.parts.settings;
    let offline = settings.topics * settings.per_topic;
    let each = match (&build.parts.index, &build.parts.web) {
        (None, Some(_)) => settings.pages,
        (Some(_), Some(_)) => offline + settings.pages,
        _ => offline,
    };
    build.work.len() * each
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
