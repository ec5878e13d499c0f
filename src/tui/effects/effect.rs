//! What `update` asks for.

use std::path::PathBuf;
use std::sync::Arc;

use crate::data::dataset::Dataset;
use crate::data::session::Session;
use crate::domain::annotation::{Event, Hand};
use crate::domain::answer::ReplyShape;
use crate::domain::context::{Condition, Context, Variant};
use crate::domain::prompt::Prompt;
use crate::domain::question::Question;
use crate::domain::review::Event as Decided;
use crate::tui::app::Ticket;
use crate::tui::app::annotate::Base;
use crate::tui::app::build::BuildRequest;
use crate::tui::app::compare::Contender;
use crate::tui::app::plan::SweepRequest;
use crate::tui::editor::Outside;

/// Something to be done outside of the state.
#[derive(Debug)]
pub enum Effect {
    /// Read the dataset.
    LoadDataset,
    /// Read it again after it has changed; one stays where one is.
    ReloadDataset,
    /// Open the model.
    OpenModel,
    /// Store where one is.
    KeepSession(Box<Session>),
    /// Read the last outcome of every question from the store.
    LoadOutcomes {
        /// Whose questions.
        dataset: Arc<Dataset>,
    },
    /// Read the stored replies of a question.
    LoadStored {
        /// The question's dataset.
        dataset: Arc<Dataset>,
        /// The question.
        question_id: String,
    },
    /// Ask the model.
    Ask(Box<AskParts>),
    /// Cancel a job: a reply or the building of the index.
    Cancel(Ticket),
    /// Build the search index.
    BuildIndex {
        /// The job.
        ticket: Ticket,
        /// Whose documents.
        dataset: Arc<Dataset>,
    },
    /// Search with all methods.
    Search {
        /// The job.
        ticket: Ticket,
        /// The text.
        query: String,
        /// Hits per list.
        k: usize,
        /// The question whose signal documents are marked.
        question_id: Option<String>,
    },
    /// Read the list of runs.
    ListRuns {
        /// The job.
        ticket: Ticket,
    },
    /// Find out what a sweep would ask.
    EstimateSweep {
        /// The job.
        ticket: Ticket,
        /// Whose questions.
        dataset: Arc<Dataset>,
        /// What is planned.
        request: Box<SweepRequest>,
    },
    /// Start a sweep.
    StartSweep {
        /// The job.
        ticket: Ticket,
        /// Whose questions.
        dataset: Arc<Dataset>,
        /// What is asked for.
        request: Box<SweepRequest>,
    },
    /// Stop a sweep.
    StopSweep {
        /// The job.
        ticket: Ticket,
        /// Whether calls under way are stopped too.
        now: bool,
    },
    /// Make the report on a run.
    LoadCurves {
        /// The job.
        ticket: Ticket,
        /// Name of the run.
        run: String,
    },
    /// Compare two models of stored runs.
    Compare {
        /// The job.
        ticket: Ticket,
        /// The first side.
        a: Contender,
        /// The second side.
        b: Contender,
    },
    /// Read the two records of a pair.
    LoadPair {
        /// The job.
        ticket: Ticket,
        /// Their row ids.
        records: (i64, i64),
    },
    /// Ask the model with a changed context.
    Probe(Box<ProbeParts>),
    /// List the stored runs.
    LoadRuns {
        /// Whose progress is counted.
        annotator: String,
    },
    /// Read a run's replies and what was said of them.
    OpenQueue {
        /// The job.
        ticket: Ticket,
        /// The run.
        run: String,
        /// Who goes through it.
        hand: Hand,
        /// A question whose replies are wanted by their ids.
        about: Option<String>,
    },
    /// Read one stored reply of the queue.
    LoadReply {
        /// The job.
        ticket: Ticket,
        /// Its row id.
        id: i64,
    },
    /// Write what was said of a reply.
    Annotate {
        /// The run.
        run: String,
        /// Who said it.
        hand: Hand,
        /// What.
        event: Event,
        /// What it was made of.
        base: Box<Base>,
    },
    /// Remember what a queue is narrowed to.
    KeepQueue {
        /// The run.
        run: String,
        /// Whose queue.
        hand: Hand,
        /// The choice, as JSON.
        choice: String,
    },
    /// Read what was decided about a dataset's items, and have the checks look at them.
    OpenReview {
        /// The job.
        ticket: Ticket,
        /// The dataset.
        dataset: Arc<Dataset>,
        /// Who reviews.
        hand: Hand,
    },
    /// Write what was decided about an item.
    Review {
        /// The dataset's name.
        dataset: String,
        /// Who decided.
        hand: Hand,
        /// What.
        event: Decided,
    },
    /// Remember what a queue of items is narrowed to.
    KeepReview {
        /// The dataset's name.
        dataset: String,
        /// Whose queue.
        hand: Hand,
        /// The choice, as JSON.
        choice: String,
    },
    /// Look at the folder of a build.
    LookAtBuild {
        /// The job.
        ticket: Ticket,
        /// The folder.
        folder: PathBuf,
    },
    /// Find out what a build would ask.
    PlanBuild {
        /// The job.
        ticket: Ticket,
        /// What is planned.
        request: Box<BuildRequest>,
    },
    /// Start a build.
    StartBuild {
        /// The job.
        ticket: Ticket,
        /// What is asked for.
        request: Box<BuildRequest>,
    },
    /// Read what the facets of the list of questions need of stored replies.
    LoadCases {
        /// The job.
        ticket: Ticket,
        /// The dataset.
        fingerprint: String,
        /// Only replies of this run.
        run: Option<String>,
        /// Whose annotations.
        annotator: String,
    },
    /// Make everything that is open searchable by its words.
    IndexTexts {
        /// The job.
        ticket: Ticket,
        /// The dataset that is open.
        dataset: Arc<Dataset>,
        /// Only replies of this run.
        run: Option<String>,
        /// Whose notes.
        annotator: String,
    },
    /// Search it.
    FindText {
        /// The job.
        ticket: Ticket,
        /// The words.
        query: String,
    },
    /// Find the syntax colours of a raw reply.
    Highlight(String),
    /// Copy to the terminal's clipboard (done by the loop).
    Copy(String),
    /// Show or change a text in a program of the user's (done by the loop).
    OpenOutside(Box<Outside>),
    /// Play recorded replies at this speed.
    Pace(f64),
    /// Capture the mouse or let it go (done by the loop).
    Mouse(bool),
    /// Stop like a program in a shell does (done by the loop).
    Suspend,
    /// Draw everything anew (done by the loop).
    Redraw,
}

/// What asking needs.
#[derive(Debug)]
pub struct AskParts {
    /// The job.
    pub ticket: Ticket,
    /// The question's dataset.
    pub dataset: Arc<Dataset>,
    /// The question.
    pub question: Question,
    /// What was asked for.
    pub condition: Condition,
    /// What the model will see.
    pub context: Context,
    /// The messages.
    pub prompt: Prompt,
    /// The shape of the reply.
    pub shape: ReplyShape,
}

/// What probing needs.
#[derive(Debug)]
pub struct ProbeParts {
    /// The job.
    pub ticket: Ticket,
    /// The question's dataset.
    pub dataset: Arc<Dataset>,
    /// The question.
    pub question: Question,
    /// What was asked for.
    pub condition: Condition,
    /// The composed context.
    pub context: Context,
    /// The messages for it.
    pub prompt: Prompt,
    /// The shape of the reply to it.
    pub shape: ReplyShape,
    /// The changed contexts.
    pub variants: Vec<Variant>,
}
