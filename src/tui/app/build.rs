//! State of making a benchmark: the form, what it would ask, the build that runs, and what has come of it.

use std::path::PathBuf;
use std::time::Duration;

use crate::data::dataset::Dataset;
use crate::domain::build::{Held, Predicted, Stage, StagePlan, StageReport, Tally};
use crate::domain::pace::Rate;
use crate::domain::text::{clean, collapse};
use crate::tui::Prices;
use crate::tui::app::loaded::Loaded;
use crate::tui::app::{Screen, Ticket};

mod form;
mod losses;

pub use form::{ALL, BuildRequest, Field, Form};
use losses::rows_of;
pub use losses::{Fate, Row};

/// What the screen shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Page {
    /// The form, and what it would ask.
    #[default]
    Plan,
    /// The build that runs, and what has come of the stages.
    Results,
}

/// What a build would ask.
#[derive(Debug, Clone, PartialEq)]
pub struct BuildPlan {
    /// The model's name.
    pub model: Option<String>,
    /// What must be known of the model.
    pub caution: Option<String>,
    /// Questions that are worked on, and questions of the folder.
    pub questions: (usize, usize),
    /// That questions have changed since their items were made; empty where none has.
    pub changed: String,
    /// The stages.
    pub stages: Vec<StagePlan>,
    /// What they add up to.
    pub all: Predicted,
    /// Dollars per million tokens, as far as they are known.
    pub prices: Prices,
}

/// How far a stage is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BuildProgress {
    /// The stage.
    pub stage: Stage,
    /// Items that are done.
    pub done: usize,
    /// Items of the stage.
    pub total: usize,
    /// What was asked for them.
    pub tally: Tally,
    /// Time since the stage began.
    pub elapsed: Duration,
}

/// A stage that is through.
#[derive(Debug, Clone, PartialEq)]
pub struct StageEnd {
    /// The stage.
    pub stage: Stage,
    /// What became of its items, over the questions that were worked on.
    pub report: StageReport,
    /// What was asked.
    pub tally: Tally,
}

/// How a build ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildEnd {
    /// Whether the user stopped it.
    pub by_user: bool,
    /// Why it ended early otherwise: one sentence.
    pub trouble: Option<String>,
}

/// Where a build stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// Model and index are opened.
    Opening,
    /// Under way.
    Running,
    /// Told to stop.
    Stopping,
    /// Over.
    Ended(Result<BuildEnd, String>),
}

/// A build that this program runs, or ran.
#[derive(Debug)]
pub struct Running {
    /// Its job.
    pub ticket: Ticket,
    /// What was asked for.
    pub request: BuildRequest,
    /// Where it stands.
    pub phase: Phase,
    /// The stage that runs.
    pub progress: Option<BuildProgress>,
    /// How fast it goes.
    pub rate: Rate,
    /// The stages that are through.
    pub ended: Vec<StageEnd>,
}

impl Running {
    /// Just asked for.
    pub fn new(ticket: Ticket, request: BuildRequest) -> Running {
        Running {
            ticket,
            request,
            phase: Phase::Opening,
            progress: None,
            rate: Rate::default(),
            ended: Vec::new(),
        }
    }

    /// Whether its job is under way.
    pub fn is_active(&self) -> bool {
        !matches!(self.phase, Phase::Ended(_))
    }

    /// In a few words, for other screens.
    pub fn brief(&self) -> String {
        match (&self.phase, &self.progress) {
            (Phase::Ended(Ok(end)), _) if end.by_user => "build stopped".to_owned(),
            (Phase::Ended(Ok(BuildEnd { trouble: None, .. })), _) => "build done".to_owned(),
            (Phase::Ended(_), _) => "build failed".to_owned(),
            (_, Some(at)) => format!("build: {} {}/{}", at.stage.name(), at.done, at.total),
            (_, None) => "build: opening".to_owned(),
        }
    }

    /// Time left of the stage at the present rate.
    pub fn left(&self) -> Option<Duration> {
        let at = self.progress?;
        let left = at.total.saturating_sub(at.done);
        Duration::try_from_secs_f64(left as f64 / self.rate.per_second()?).ok()
    }
}

/// The build screen.
#[derive(Debug, Default)]
pub struct BuildState {
    /// What is shown.
    pub page: Page,
    /// The form.
    pub form: Form,
    /// What the folder of the form holds.
    pub held: Loaded<Held>,
    /// The folder that `held` is about.
    pub looked_at: Option<PathBuf>,
    /// What the form would ask.
    pub plan: Loaded<BuildPlan>,
    /// Rows scrolled in the plan.
    pub scroll: usize,
    /// The build that runs, or ran last.
    pub running: Option<Running>,
    /// What was lost in the stages, the last build's and earlier ones'.
    pub rows: Vec<Row>,
    /// Which of `rows` is chosen.
    pub selected: usize,
    /// First visible row.
    pub top: usize,
    /// Where back leads.
    pub from: Option<Screen>,
    /// Whether the form was filled from what is open.
    pub filled: bool,
}

impl BuildState {
    /// Whether a build is under way.
    pub fn is_active(&self) -> bool {
        self.running.as_ref().is_some_and(Running::is_active)
    }

    /// Whether something is waited for.
    pub fn is_busy(&self) -> bool {
        self.held.is_loading() || self.plan.is_loading() || self.is_active()
    }

    /// What became of a stage's items, as far as the folder holds them.
    pub fn report(&self, stage: Stage) -> Option<&StageReport> {
        let at = Stage::ALL.iter().position(|one| *one == stage)?;
        self.held.ready()?.stages[at].as_ref()
    }

    /// Takes in what has come of a stage: questions that it did not work on stay as they were.
    pub fn take_in(&mut self, end: &StageEnd) {
        let at = Stage::ALL.iter().position(|one| *one == end.stage);
        let held = self.held.ready_mut();
        if let Some(slot) = held.zip(at).and_then(|(held, at)| held.stages.get_mut(at)) {
            slot.get_or_insert_default().take_in(&end.report);
            self.list();
        }
    }

    /// Lists anew what was lost.
    pub fn list(&mut self) {
        let mut rows = Vec::new();
        for stage in Stage::ALL {
            if let Some(report) = self.report(stage) {
                rows.extend(rows_of(stage, report));
            }
        }
        self.rows = rows;
        self.selected = self.selected.min(self.rows.len().saturating_sub(1));
    }

    /// Whether items have this fate.
    pub fn has(&self, wanted: Fate) -> bool {
        let mut rows = self.rows.iter();
        rows.any(|row| matches!(row, Row::Group { fate, .. } if *fate == wanted))
    }

    /// Whether items got no reply or are to be made.
    pub fn is_incomplete(&self) -> bool {
        self.has(Fate::Failed) || self.has(Fate::Due)
    }

    /// The chosen item: its stage and its question.
    pub fn loss(&self) -> Option<(Stage, &str)> {
        match self.rows.get(self.selected)? {
            Row::Item {
                stage, question, ..
            } => Some((*stage, question)),
            Row::Group { .. } => None,
        }
    }

    /// Stages with items that got no reply or are to be made, and the questions of these, each once.
    pub fn failures(&self) -> (Vec<Stage>, Vec<String>) {
        let mut stages = Vec::new();
        let mut questions: Vec<String> = Vec::new();
        for stage in Stage::ALL {
            let Some(report) = self.report(stage) else {
                continue;
            };
            let failed = report.losses(|one| &one.failed);
            for (question, _) in failed.chain(report.losses(|one| &one.due)) {
                if stages.last() != Some(&stage) {
                    stages.push(stage);
                }
                if !questions.iter().any(|known| known == question) {
                    questions.push(question.to_owned());
                }
            }
        }
        (stages, questions)
    }
}

/// A name for a folder beside the one that is open.
pub fn folder_beside(dataset: &Dataset) -> String {
    let own = &dataset.path;
    match own.as_os_str().is_empty() {
        true => format!("{}-built", dataset.name),
        false => collapse(&clean(&format!("{}-built", own.display()))),
    }
}
