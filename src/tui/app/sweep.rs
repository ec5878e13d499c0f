//! State of the sweep screen: stored runs, the plan of a new sweep, the one that runs, the curves of a run.

use std::rc::Rc;
use std::time::Duration;

use crate::data::store::RunSummary;
use crate::domain::pace::Rate;
use crate::tui::app::curves::Curves;
use crate::tui::app::loaded::Loaded;
use crate::tui::app::plan::{Estimate, Form, SweepRequest};
use crate::tui::app::{Screen, Ticket};

/// What the sweep screen shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Page {
    /// The runs of the store.
    #[default]
    Runs,
    /// The plan of a new sweep.
    Plan,
    /// The sweep that runs, or ran last.
    Progress,
    /// The curves of a run.
    Curves,
}

/// How far a sweep is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SweepProgress {
    /// Instances to be asked.
    pub total: usize,
    /// Instances asked and stored.
    pub finished: usize,
    /// Of these, replies that count.
    pub replies: usize,
    /// Of these, replies that broke off.
    pub broken: usize,
    /// Of these, calls without a reply, by kind.
    pub failures: Vec<(String, usize)>,
    /// What the last of them said.
    pub last_failure: Option<String>,
    /// Attempts made again within a call, by kind.
    pub retries: Vec<(String, u64)>,
    /// Prompt tokens as the backend reports them.
    pub prompt_tokens: u64,
    /// Reply tokens as the backend reports them.
    pub completion_tokens: u64,
    /// Replies whose tokens the backend did not report.
    pub unmeasured: usize,
    /// What everything waits for, where nothing moves.
    pub waiting: Option<String>,
    /// What these cost in dollars; `None` where a price is not known.
    pub dollars: Option<f64>,
    /// Calls under way.
    pub in_flight: usize,
    /// How many there may be now.
    pub limit: usize,
    /// Time since the start.
    pub elapsed: Duration,
}

/// How a sweep ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SweepEnd {
    /// The last progress.
    pub progress: SweepProgress,
    /// Whether the user stopped it.
    pub by_user: bool,
    /// Why it ended early otherwise.
    pub trouble: Option<String>,
    /// Instances of the grid that have a reply now.
    pub replies: usize,
    /// Instances without one that can be asked.
    pub missing: usize,
    /// Instances without one that do not fit the model's window.
    pub too_long: usize,
    /// What the judge said in all, where one was asked.
    pub judged: Option<String>,
}

/// Where a sweep stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// The model is opened and what is to be asked is looked up: questions looked at, of all.
    Planning(usize, usize),
    /// Being asked.
    Asking,
    /// All is asked; the judge is: sub-answers judged, of all.
    Judging(usize, usize),
    /// No new calls; those under way finish, then it rests.
    Pausing,
    /// At rest; it can go on.
    Paused,
    /// No new calls; those under way finish, or are stopped too.
    Stopping {
        /// Whether calls under way are stopped.
        now: bool,
    },
    /// Over.
    Ended(Result<Box<SweepEnd>, String>),
}

/// A sweep that this program runs, or ran.
#[derive(Debug, Clone)]
pub struct Running {
    /// Its job.
    pub ticket: Ticket,
    /// What was asked for.
    pub request: SweepRequest,
    /// The command that goes on with it.
    pub command: String,
    /// What it will ask, once it is known.
    pub estimate: Option<Estimate>,
    /// Where it stands.
    pub phase: Phase,
    /// How far it is since it was started or resumed.
    pub progress: SweepProgress,
    /// How fast it goes.
    pub rate: Rate,
}

impl Running {
    /// Just asked for.
    pub fn new(ticket: Ticket, request: SweepRequest, command: String) -> Running {
        Running {
            ticket,
            request,
            command,
            estimate: None,
            phase: Phase::Planning(0, 0),
            progress: SweepProgress::default(),
            rate: Rate::default(),
        }
    }

    /// Whether its job is under way.
    pub fn is_active(&self) -> bool {
        !matches!(self.phase, Phase::Paused | Phase::Ended(_))
    }

    /// Time left at the present rate.
    pub fn left(&self) -> Option<Duration> {
        let left = self.progress.total.saturating_sub(self.progress.finished);
        let rate = self.rate.per_second()?;
        Duration::try_from_secs_f64(left as f64 / rate).ok()
    }

    /// Instances that the run held a reply to before, since it was started or resumed.
    pub fn before(&self) -> usize {
        self.estimate.as_ref().map_or(0, |estimate| estimate.done)
    }

    /// Instances that are done, and instances of the grid.
    pub fn overall(&self) -> (usize, usize) {
        let before = self.before();
        (
            before + self.progress.finished,
            before + self.progress.total,
        )
    }

    /// In a few words, for other screens.
    pub fn brief(&self) -> String {
        let (done, total) = self.overall();
        match &self.phase {
            Phase::Planning(..) => "sweep: planning".to_owned(),
            Phase::Asking => format!("sweep {done}/{total}"),
            Phase::Judging(done, total) => format!("sweep: judging {done}/{total}"),
            Phase::Pausing | Phase::Stopping { .. } => format!("sweep {done}/{total}, stopping"),
            Phase::Paused => format!("sweep paused at {done}/{total}"),
            Phase::Ended(Ok(end)) if end.trouble.is_none() && !end.by_user => {
                "sweep done".to_owned()
            }
            Phase::Ended(_) => "sweep stopped".to_owned(),
        }
    }
}

/// The sweep screen.
#[derive(Debug, Default)]
pub struct SweepState {
    /// What is shown.
    pub page: Page,
    /// The runs of the store, newest first.
    pub runs: Loaded<Rc<Vec<RunSummary>>>,
    /// The newest job that reads them.
    pub loading: Option<Ticket>,
    /// Chosen row of the list: 0 plans a new sweep, then the runs.
    pub selected: usize,
    /// First visible row.
    pub top: usize,
    /// The plan.
    pub form: Form,
    /// What the plan will ask; of the request beside it.
    pub estimate: Loaded<Estimate>,
    /// The request that `estimate` belongs to.
    pub estimated: Option<SweepRequest>,
    /// Rows scrolled in the estimate.
    pub scroll: usize,
    /// The sweep that runs, or ran last.
    pub running: Option<Running>,
    /// The curves of a run.
    pub curves: Option<Curves>,
    /// Names of the configured models, for stepping.
    pub models: Vec<String>,
    /// Flags of the model that a command needs to reach it too.
    pub flags: Vec<String>,
    /// Where back leads.
    pub from: Option<Screen>,
}

impl SweepState {
    /// The chosen run; `None` on the row of the plan.
    pub fn run(&self) -> Option<&RunSummary> {
        self.runs.ready()?.get(self.selected.checked_sub(1)?)
    }

    /// Rows of the list.
    pub fn rows(&self) -> usize {
        1 + self.runs.ready().map_or(0, |runs| runs.len())
    }

    /// Whether a sweep is under way.
    pub fn is_active(&self) -> bool {
        self.running.as_ref().is_some_and(Running::is_active)
    }

    /// Whether something is waited for.
    pub fn is_busy(&self) -> bool {
        let curves = self.curves.as_ref();
        self.runs.is_loading()
            || self.estimate.is_loading()
            || curves.is_some_and(|curves| curves.figures.is_loading())
    }
}
