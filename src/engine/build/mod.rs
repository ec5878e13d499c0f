//! Making a benchmark: search topics, documents, sub-questions, adversarial versions.
//!
//! Every stage is a pure function of the questions, the files of the stage before, and what models, indexes and the
//! web answer; answers are looked up in the ledger ([`crate::data::ledger`]) before anything is asked. So a build that
//! was killed or stopped goes on without asking anything twice, and ends with the files of one that was not. A stage
//! writes its files when it is through.

mod adversarial;
mod asker;
mod offline;
mod online;
mod outdated;
mod patience;
mod plan;
mod prepare;
mod rests;
mod retrieve;
mod store;
mod sub_questions;
mod topics;
mod validate;
pub mod web;

use std::sync::{Arc, Mutex};

use futures_util::stream::{self, StreamExt};
use tokio_util::sync::CancellationToken;

use crate::data::built::{BuiltError, BuiltFolder};
use crate::data::dataset::Dataset;
use crate::data::ledger::{Ledger, LedgerError};
use crate::domain::build::{QuestionReport, Settings, Stage, StageReport, Tally};
use crate::domain::prompt::{PromptError, Templates};
use crate::domain::question::Question;
use crate::model::{BackendKind, ChatModel, Sampling};
use crate::retrieval::{Method, Search};

pub use outdated::Outdated;
pub use plan::plan;
pub use prepare::{asks_model, folder_of, held, prepare};
pub use validate::{FoundIssue, Validation, validate};
use web::Web;

/// The index that topics are searched in.
#[derive(Clone)]
pub struct IndexSource {
    /// What answers.
    pub search: Arc<dyn Search>,
    /// How it is asked.
    pub method: Method,
    /// Its folders or address, as the user named them.
    pub names: Vec<String>,
}

/// What a build is made of.
pub struct Parts {
    /// Where everything goes; see [`folder_of`].
    pub folder: BuiltFolder,
    /// All questions of the folder, in order.
    pub questions: Vec<Question>,
    /// The dataset that the questions came from, for its documents.
    pub given: Option<Arc<Dataset>>,
    /// The prompts.
    pub templates: Templates,
    /// The settings.
    pub settings: Settings,
    /// How the model samples.
    pub sampling: Sampling,
    /// The model; offline retrieval needs none.
    pub model: Option<Arc<dyn ChatModel>>,
    /// The index, for offline retrieval.
    pub index: Option<IndexSource>,
    /// The web, for online retrieval.
    pub web: Option<Arc<Web>>,
}

/// A build that is ready: see [`prepare`].
pub struct Build {
    /// What it is made of.
    pub parts: Parts,
    /// Positions of the questions that are worked on, rising.
    pub work: Vec<usize>,
    /// The ledger.
    pub ledger: Arc<Mutex<Ledger>>,
    /// Questions of the folder that were not given; what was made for them stays.
    pub not_given: Vec<String>,
    /// Questions that have changed since their items were made; these have been put aside, but for a look.
    pub outdated: Outdated,
}

/// Why a stage has not come to its end. What was answered by then is in the ledger.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The request makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A file, an index or a template can't be used.
    #[error("{0}")]
    Failed(String),
    /// The user stopped it.
    #[error("stopped; what was answered is kept, and the same command goes on from there")]
    Stopped,
    /// Nothing can be had from a model or the web.
    #[error("{0}; what was answered is kept, and the same command goes on from there")]
    GivenUp(String),
}

impl From<BuiltError> for BuildError {
    fn from(error: BuiltError) -> BuildError {
        BuildError::Failed(error.0)
    }
}

impl From<LedgerError> for BuildError {
    fn from(error: LedgerError) -> BuildError {
        BuildError::Failed(error.0)
    }
}

impl From<PromptError> for BuildError {
    fn from(error: PromptError) -> BuildError {
        BuildError::Failed(error.to_string())
    }
}

/// What a stage has done.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// Which.
    pub stage: Stage,
    /// What became of its items, over all questions that were worked on.
    pub report: StageReport,
    /// What was asked now.
    pub tally: Tally,
    /// Later stages of which items went, or are to be made, since what they rest on has changed.
    pub later: Vec<Later>,
}

/// What a stage means for a later one that has been through before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Later {
    /// The later stage.
    pub stage: Stage,
    /// Items of it that went: what they rest on is no longer there, or is another.
    pub gone: usize,
    /// Items of it that are to be made.
    pub due: usize,
}

impl Build {
    /// The most calls at a time. An embedded model answers one after another on all cores.
    fn ceiling(&self) -> usize {
        let embedded =
            |model: &Arc<dyn ChatModel>| model.identity().backend == BackendKind::Embedded;
        match self.parts.model.as_ref().is_some_and(embedded) {
            true => 1,
            false => self.parts.settings.concurrency.max(1),
        }
    }

    fn model(&self) -> Result<&Arc<dyn ChatModel>, BuildError> {
        let missing =
            || BuildError::Usage("this stage asks a model; name one with --model".to_owned());
        self.parts.model.as_ref().ok_or_else(missing)
    }

    fn worked_on(&self) -> impl Iterator<Item = (usize, &Question)> {
        self.work
            .iter()
            .filter_map(|&at| Some((at, self.parts.questions.get(at)?)))
    }
}

/// How far a stage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Items that are done.
    pub done: usize,
    /// Items of the stage.
    pub total: usize,
    /// What was asked for them.
    pub tally: Tally,
}

/// Runs one stage to its end and writes its files.
///
/// # Errors
/// [`BuildError`]; the files of the stage are then as before.
pub async fn run(
    build: &Build,
    stage: Stage,
    cancel: &CancellationToken,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Done, BuildError> {
    let asker = asker::Asker::new(build, stage, cancel);
    let on_progress = &mut |done: usize, total: usize| {
        let tally = asker.tally();
        on_progress(Progress { done, total, tally });
    };
    build.parts.folder.write_questions(&build.parts.questions)?;
    let made = match stage {
        Stage::Topics => topics::run(&asker, on_progress).await?,
        Stage::Retrieve => retrieve::run(&asker, on_progress).await?,
        Stage::SubQuestions => sub_questions::run(&asker, on_progress).await?,
        Stage::Adversarial => adversarial::run(&asker, on_progress).await?,
    };
    let (report, later) = store::store(build, stage, made)?;
    Ok(Done {
        stage,
        report,
        tally: asker.tally(),
        later,
    })
}

/// Works on items, several at a time; results come in the order of the items. The first error ends it.
async fn each<I, T, F>(
    items: Vec<I>,
    concurrency: usize,
    on_progress: &mut dyn FnMut(usize, usize),
    work: impl Fn(I) -> F,
) -> Result<Vec<T>, BuildError>
where
    F: Future<Output = Result<T, BuildError>>,
{
    let total = items.len();
    let mut results: Vec<Option<T>> = (0..total).map(|_| None).collect();
    let mut running = stream::iter(items.into_iter().enumerate())
        .map(|(at, item)| {
            let result = work(item);
            async move { (at, result.await) }
        })
        .buffer_unordered(concurrency);
    let mut done = 0;
    on_progress(done, total);
    while let Some((at, result)) = running.next().await {
        results[at] = Some(result?);
        done += 1;
        on_progress(done, total);
    }
    Ok(results.into_iter().flatten().collect())
}

/// Gathers what was made item by item into what was made for each question that is worked on, in order. A question of
/// which nothing was to be made says so with the reason `nothing`.
fn gather<T>(
    build: &Build,
    made: Vec<(usize, T)>,
    nothing: &str,
    mut take: impl FnMut(&mut store::MadeFor, T),
) -> Vec<store::MadeFor> {
    let mut all: Vec<store::MadeFor> = build
        .worked_on()
        .map(|(at, _)| store::MadeFor {
            question: at,
            records: Vec::new(),
            report: QuestionReport::default(),
        })
        .collect();
    for (at, one) in made {
        // Both are in the order of the questions.
        if let Ok(place) = all.binary_search_by_key(&at, |own| own.question) {
            take(&mut all[place], one);
        }
    }
    let untouched = |own: &&mut store::MadeFor| own.report == QuestionReport::default();
    for own in all.iter_mut().filter(untouched) {
        nothing.clone_into(&mut own.report.nothing);
    }
    all
}
