//! What comes in: keys, sizes, and what jobs report.

use std::collections::HashMap;
use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};

use crate::data::dataset::Dataset;
use crate::data::session::Session;
use crate::data::store::{ReplyRecord, RunSummary};
use crate::domain::annotation::Part;
use crate::domain::build::Held;
use crate::domain::ranking::MeasuresAt;
use crate::model::{ModelIdentity, Timing};
use crate::retrieval::IndexInfo;
use crate::retrieval::map::Map;
use crate::tui::app::Ticket;
use crate::tui::app::annotate::{Kept, QueueParts, RunRow};
use crate::tui::app::browse::StoredCases;
use crate::tui::app::build::{BuildEnd, BuildPlan, BuildProgress, StageEnd};
use crate::tui::app::compare::Compared;
use crate::tui::app::curves::Figures;
use crate::tui::app::find::TextHit;
use crate::tui::app::plan::Estimate;
use crate::tui::app::probe::Probed;
use crate::tui::app::reply::LastReply;
use crate::tui::app::retrieval::{EncoderName, Hits};
use crate::tui::app::review::ReviewParts;
use crate::tui::app::sweep::{SweepEnd, SweepProgress};
use crate::tui::editor::Purpose;
use crate::tui::theme::{Background, Tone};

/// Everything that can happen.
#[derive(Debug)]
pub enum Message {
    /// A key went down (or repeats).
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The mouse, while it is captured.
    Mouse(MouseEvent),
    /// The terminal has another size.
    Resize(u16, u16),
    /// The terminal said which background it has.
    Background(Background),
    /// A frame is about to be drawn: the moment to read what has streamed in, once.
    Frame,
    /// Time passed while something runs.
    Tick,
    /// The dataset was read, or could not be.
    Dataset(Result<Arc<Dataset>, String>),
    /// Where one was the last time was read: before the dataset, or not at all.
    Session(Result<Option<Box<Session>>, String>),
    /// Where one is may have changed a while ago: the moment to store it.
    KeepSession,
    /// The model was opened, or could not be.
    Model(Result<ModelIdentity, String>),
    /// Replies are not kept on disk, and why.
    StoreProblem(String),
    /// Last stored outcome per question.
    Outcomes(HashMap<String, LastReply>),
    /// Stored replies of a question, newest first.
    Stored {
        /// The question.
        question_id: String,
        /// Its replies.
        records: Vec<ReplyRecord>,
    },
    /// From a running reply.
    Reply {
        /// Its job.
        ticket: Ticket,
        /// What happened.
        event: ReplyEvent,
    },
    /// From the building of the index.
    Index {
        /// Its job.
        ticket: Ticket,
        /// What happened.
        event: IndexEvent,
    },
    /// From a search.
    Search {
        /// Its job.
        ticket: Ticket,
        /// What was found.
        news: Box<SearchNews>,
    },
    /// The stored runs, or why they can't be read.
    Runs(Result<Vec<RunRow>, String>),
    /// A queue was read.
    Queue {
        /// Its job.
        ticket: Ticket,
        /// In which part it was asked for.
        part: Part,
        /// What it holds.
        result: Result<Box<QueueParts>, String>,
    },
    /// A reply of the queue was read; `None` where the store no longer has it.
    QueueReply {
        /// Its job.
        ticket: Ticket,
        /// The reply.
        result: Result<Option<Box<ReplyRecord>>, String>,
    },
    /// What was said of a reply is on disk, or is not.
    Annotated(Result<Kept, String>),
    /// The items of a dataset and what was decided about them were read.
    Review {
        /// Its job.
        ticket: Ticket,
        /// In which part it was asked for.
        part: Part,
        /// What there is.
        result: Result<Box<ReviewParts>, String>,
    },
    /// What was decided about an item is on disk, or is not.
    Reviewed(Result<(), String>),
    /// The folder of a build was looked at.
    BuildLooked {
        /// Its job.
        ticket: Ticket,
        /// What is there, or why it can't be used.
        result: Result<Box<Held>, String>,
    },
    /// What a planned build will ask.
    BuildPlanned {
        /// Its job.
        ticket: Ticket,
        /// The plan, or why there is none.
        result: Result<Box<BuildPlan>, String>,
    },
    /// From a build.
    Build {
        /// Its job.
        ticket: Ticket,
        /// What happened.
        event: BuildEvent,
    },
    /// What the facets of the list of questions need.
    Cases {
        /// Its job.
        ticket: Ticket,
        /// The stored replies and what was said of them.
        result: Result<StoredCases, String>,
    },
    /// From full-text search.
    Find {
        /// Its job.
        ticket: Ticket,
        /// What happened.
        event: FindEvent,
    },
    /// Syntax colours for a raw reply.
    Highlighted {
        /// The text they belong to.
        raw: String,
        /// Pieces with their tones.
        pieces: Vec<(String, Tone)>,
    },
    /// The runs of the store.
    RunList {
        /// The job.
        ticket: Ticket,
        /// Newest first, or why they can't be read.
        result: Result<Vec<RunSummary>, String>,
    },
    /// What a planned sweep will ask.
    Estimate {
        /// The job.
        ticket: Ticket,
        /// The estimate, or why there is none.
        result: Result<Box<Estimate>, String>,
    },
    /// From a sweep.
    Sweep {
        /// Its job.
        ticket: Ticket,
        /// What happened.
        event: SweepEvent,
    },
    /// The curves of a run.
    Curves {
        /// The job.
        ticket: Ticket,
        /// What is drawn, or why nothing is.
        result: Result<Box<Figures>, String>,
    },
    /// Two runs compared.
    Compared {
        /// The job.
        ticket: Ticket,
        /// What came of it, or why nothing did.
        result: Result<Box<Compared>, String>,
    },
    /// The two replies of a pair.
    Pair {
        /// The job.
        ticket: Ticket,
        /// Both records, or why they can't be shown.
        result: Result<Box<(ReplyRecord, ReplyRecord)>, String>,
    },
    /// From a probe.
    Probe {
        /// Its job.
        ticket: Ticket,
        /// What happened.
        event: ProbeEvent,
    },
    /// A program of the user's has ended: the text where it was changed, or one sentence.
    CameBack {
        /// What it was for.
        purpose: Purpose,
        /// What came of it.
        result: Result<Option<String>, String>,
    },
    /// Something to show at the bottom.
    Complaint(String),
}

impl Message {
    /// Whether it only shows that something goes on, with more of it to follow: where motion is reduced that is not
    /// drawn at once.
    pub fn goes_on(&self) -> bool {
        match self {
            Message::Tick | Message::Frame => true,
            Message::Reply { event, .. } => !matches!(event, ReplyEvent::Finished(_)),
            Message::Index { event, .. } => matches!(event, IndexEvent::Progress(..)),
            Message::Find { event, .. } => matches!(event, FindEvent::Progress(..)),
            Message::Sweep { event, .. } => {
                matches!(event, SweepEvent::Progress(_) | SweepEvent::Planning(..))
            }
            Message::Probe { event, .. } => matches!(event, ProbeEvent::Progress(..)),
            _ => false,
        }
    }
}

/// What a running reply reports.
#[derive(Debug)]
pub enum ReplyEvent {
    /// What the backend is doing.
    Status(String),
    /// A recorded reply is played: when its pieces came.
    Recording(Timing),
    /// A new attempt: what came is void.
    Restart,
    /// Text of the reasoning field.
    Reasoning(String),
    /// Text of the reply.
    Text(String),
    /// The end, exactly once.
    Finished(Result<Box<ReplyRecord>, String>),
}

/// What a sweep reports.
#[derive(Debug)]
pub enum SweepEvent {
    /// Questions looked at while planning, of all.
    Planning(usize, usize),
    /// What will be asked.
    Planned(Box<Estimate>),
    /// How far it is.
    Progress(Box<SweepProgress>),
    /// Sub-answers that the judge has judged, of all.
    Judging(usize, usize),
    /// The end, exactly once; an error is one clear sentence.
    Finished(Result<Box<SweepEnd>, String>),
}

/// What a probe reports.
#[derive(Debug)]
pub enum ProbeEvent {
    /// Calls done, and calls in all.
    Progress(usize, usize),
    /// The end, exactly once; an error is one clear sentence.
    Finished(Result<Box<Probed>, String>),
}

/// What a build reports.
#[derive(Debug)]
pub enum BuildEvent {
    /// How far a stage is.
    Progress(BuildProgress),
    /// A stage is through, and its files are written.
    Stage(Box<StageEnd>),
    /// The end, exactly once; an error is one clear sentence.
    Finished(Result<BuildEnd, String>),
}

/// What full-text search reports.
#[derive(Debug)]
pub enum FindEvent {
    /// Texts made searchable, of all.
    Progress(usize, usize),
    /// The end of making them searchable, exactly once: how many there are of each kind.
    Indexed(Result<[usize; 5], String>),
    /// What was found.
    Found(Result<Vec<TextHit>, String>),
}

/// What the building of the index reports.
#[derive(Debug)]
pub enum IndexEvent {
    /// The encoder that will be used.
    Encoder(EncoderName),
    /// Stage, done, total.
    Progress(String, usize, usize),
    /// Something that did not go as it should and was dealt with.
    Note(String),
    /// The end, exactly once; an error is one clear sentence.
    Finished(Result<IndexInfo, String>),
}

/// The lists that answer a query; the same query is answered again when the vectors are there.
#[derive(Debug)]
pub struct SearchNews {
    /// Hits per method, in the order of `METHODS`.
    pub lists: [Hits; 3],
    /// For each list and hit: whether it is signal for the question one came from.
    pub signal: [Vec<bool>; 3],
    /// Share of the exact scan's hits that HNSW found too.
    pub recall: Option<f64>,
    /// How well each list found the question's signal documents.
    pub measures: [Option<MeasuresAt>; 3],
    /// Nothing is measured, since the index holds none of the question's signal documents.
    pub absent: bool,
    /// Query and hits on a plane.
    pub map: Option<Map>,
}
