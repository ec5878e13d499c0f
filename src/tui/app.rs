//! The state of the explorer. Only `update` changes it; views read it.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::data::dataset::Dataset;
use crate::domain::prompt::Templates;
use crate::domain::review::Reason;
use crate::model::{BackendKind, ModelIdentity};
use crate::tui::app::annotate::{Annotate, RunUse};
use crate::tui::app::browse::Browse;
use crate::tui::app::build::BuildState;
use crate::tui::app::comeback::Comeback;
use crate::tui::app::compare::CompareState;
use crate::tui::app::facet::FacetValue;
use crate::tui::app::find::FindState;
use crate::tui::app::input::Input;
use crate::tui::app::instance::InstanceState;
use crate::tui::app::pieces::{Destination, Piece};
use crate::tui::app::probe::ProbeState;
use crate::tui::app::reply::Replies;
use crate::tui::app::retrieval::{IndexState, RetrievalState};
use crate::tui::app::review::ReviewState;
use crate::tui::app::sweep::SweepState;
use crate::tui::app::talk::{Talk, Waiting};
use crate::tui::keymap::Keymap;
use crate::tui::message::Message;
use crate::tui::theme::{Background, Theme};
use crate::tui::widgets::text::WrapCache;

pub mod annotate;
pub mod browse;
pub mod build;
pub mod comeback;
pub mod compare;
pub mod curves;
pub mod facet;
pub mod find;
pub mod input;
pub mod instance;
pub mod loaded;
pub mod pieces;
pub mod plan;
pub mod probe;
pub mod reached;
pub mod reply;
pub mod retrieval;
pub mod review;
pub mod sweep;
pub mod talk;

/// What fills the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Screen {
    /// The list of questions.
    Browse,
    /// One question with its context, reply and scores.
    Instance,
    /// Live search.
    Retrieval,
    /// Runs: planning, running, their curves.
    Sweep,
    /// Two runs side by side.
    Compare,
    /// One context changed on purpose.
    Probe,
    /// The replies of a run, waiting to be labelled.
    Queue,
    /// One reply that is being labelled.
    Annotate,
    /// Full-text search over everything that is open.
    Find,
    /// The items of the benchmark, waiting for a decision.
    Review,
    /// One item that is being decided.
    ReviewItem,
    /// Making a benchmark.
    Build,
    /// A talk: steps of a script with large panels and a caption.
    Talk,
}

impl Screen {
    /// Its name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Screen::Browse => "browse",
            Screen::Instance => "instance",
            Screen::Retrieval => "retrieval",
            Screen::Sweep => "sweep",
            Screen::Compare => "compare",
            Screen::Probe => "probe",
            Screen::Queue => "queue",
            Screen::Annotate => "annotate",
            Screen::Find => "find",
            Screen::Review => "review",
            Screen::ReviewItem => "item",
            Screen::Build => "build",
            Screen::Talk => "talk",
        }
    }
}

/// A job's number: given by the app, carried by the job's events; events of a job that is no longer in
/// its slot are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// The dataset that is shown.
#[derive(Debug, Clone)]
pub enum DatasetState {
    /// Being read.
    Loading,
    /// Could not be read: one sentence.
    Failed(String),
    /// Read.
    Ready(Arc<Dataset>),
}

/// The model that will be asked.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelState {
    /// Being opened; asking waits for it.
    Opening,
    /// Ready to be asked.
    Ready(ModelIdentity),
    /// Can't be opened: one sentence. Asking tries again.
    Failed(String),
}

/// Something that lies over the screen.
#[derive(Debug, Clone, PartialEq)]
pub enum Overlay {
    /// Keys of the screen below.
    Help {
        /// Rows scrolled.
        scroll: usize,
    },
    /// Commands by name.
    Palette {
        /// What was typed.
        input: Input,
        /// Chosen row.
        selected: usize,
    },
    /// What could not be loaded.
    Problems {
        /// Rows scrolled.
        scroll: usize,
    },
    /// The prompt as it is sent.
    Prompt {
        /// Rows scrolled.
        scroll: usize,
    },
    /// Why the scores of the reply are what they are.
    Why {
        /// Rows scrolled.
        scroll: usize,
    },
    /// The stored runs, to choose one.
    Runs {
        /// Chosen row.
        selected: usize,
        /// What for.
        purpose: RunUse,
    },
    /// What the list below can be narrowed by.
    Facets {
        /// Chosen row.
        selected: usize,
        /// The values with their counts.
        values: Vec<FacetValue>,
    },
    /// Why an item is rejected.
    Reject {
        /// The reasons that fit it.
        reasons: Vec<Reason>,
        /// Chosen row.
        selected: usize,
        /// More about it.
        words: Input,
        /// Whether keys go to the words.
        typing: bool,
    },
    /// What of the screen can be copied, or opened in a pager.
    Pieces {
        /// Chosen row.
        selected: usize,
        /// Where it goes.
        to: Destination,
        /// The pieces.
        pieces: Vec<Piece>,
    },
}

impl Overlay {
    /// Rows scrolled; `None` for lists, which have a selection instead.
    pub fn scroll(&self) -> Option<usize> {
        match self {
            Overlay::Help { scroll }
            | Overlay::Problems { scroll }
            | Overlay::Prompt { scroll }
            | Overlay::Why { scroll } => Some(*scroll),
            Overlay::Palette { .. }
            | Overlay::Runs { .. }
            | Overlay::Facets { .. }
            | Overlay::Reject { .. }
            | Overlay::Pieces { .. } => None,
        }
    }

    /// As [`Overlay::scroll`], to change it.
    pub fn scroll_mut(&mut self) -> Option<&mut usize> {
        match self {
            Overlay::Help { scroll }
            | Overlay::Problems { scroll }
            | Overlay::Prompt { scroll }
            | Overlay::Why { scroll } => Some(scroll),
            Overlay::Palette { .. }
            | Overlay::Runs { .. }
            | Overlay::Facets { .. }
            | Overlay::Reject { .. }
            | Overlay::Pieces { .. } => None,
        }
    }
}

/// A message at the bottom until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// One sentence.
    pub text: String,
    /// Whether something failed.
    pub bad: bool,
}

/// Settings that do not change while the program runs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Name of the model before it is opened.
    pub model: String,
    /// What is being opened, for the first frame.
    pub dataset: String,
    /// Hits per list.
    pub k: usize,
    /// Prompt templates.
    pub templates: Templates,
}

/// What the explorer looks like on a dark and on a light terminal.
#[derive(Debug, Clone)]
pub struct Looks {
    dark: Rc<Theme>,
    light: Rc<Theme>,
}

impl Looks {
    /// These two.
    pub fn new(dark: Theme, light: Theme) -> Looks {
        Looks {
            dark: Rc::new(dark),
            light: Rc::new(light),
        }
    }

    /// The one for a background.
    pub fn on(&self, background: Background) -> &Rc<Theme> {
        match background {
            Background::Dark => &self.dark,
            Background::Light => &self.light,
        }
    }
}

/// Everything that is shown.
#[derive(Debug)]
pub struct App {
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// What fills the terminal.
    pub screen: Screen,
    /// What lies over it.
    pub overlay: Option<Overlay>,
    /// A message at the bottom.
    pub notice: Option<Notice>,
    /// The dataset.
    pub dataset: DatasetState,
    /// The model.
    pub model: ModelState,
    /// Why replies are not kept on disk, if they are not.
    pub store_problem: Option<String>,
    /// Settings that could not be used, and what is used instead: one sentence each.
    pub faults: Vec<String>,
    /// The list of questions.
    pub browse: Browse,
    /// The open question.
    pub instance: Option<InstanceState>,
    /// Running, finished and stored replies.
    pub replies: Replies,
    /// Live search.
    pub retrieval: RetrievalState,
    /// Runs and sweeps.
    pub sweep: SweepState,
    /// Two runs side by side.
    pub compare: CompareState,
    /// One context changed on purpose.
    pub probe: ProbeState,
    /// Labelling replies.
    pub annotate: Annotate,
    /// Full-text search.
    pub find: FindState,
    /// Reviewing the benchmark.
    pub review: ReviewState,
    /// Making a benchmark.
    pub build: BuildState,
    /// What is remembered from one start to the next.
    pub comeback: Comeback,
    /// The talk that is given, if the program was started for one.
    pub talk: Option<Talk>,
    /// Keys.
    pub keymap: Keymap,
    /// Looks.
    pub theme: Rc<Theme>,
    /// What they can become once the terminal's background is known; `None` where the theme was chosen.
    pub looks: Option<Looks>,
    /// Settings.
    pub settings: Settings,
    /// Whether the mouse is captured.
    pub mouse: bool,
    /// Whether the terminal has braille and the marks of the map; without them letters are drawn.
    pub braille: bool,
    /// Time since the start, as of the message being handled.
    pub now: Duration,
    /// The user was told what leaving takes; asked once more, the program ends.
    pub leaving: bool,
    /// Whether the program ends as soon as the sweep's calls under way have finished.
    pub parting: bool,
    /// Keys and pasted texts that came before what they act on (the dataset, a list of runs, a queue): handled once it
    /// is there.
    pub early: Vec<Message>,
    /// How fast recordings are played outside of a talk: 1 is real time.
    pub speed: f64,
    /// Set to end the loop.
    pub quit: bool,
    /// Wrapped lines: a memory of a pure function.
    pub wraps: WrapCache,
    next_ticket: u64,
}

impl App {
    /// The state before the first frame.
    pub fn new(settings: Settings, keymap: Keymap, theme: Theme, size: (u16, u16)) -> App {
        App {
            size,
            screen: Screen::Browse,
            overlay: None,
            notice: None,
            dataset: DatasetState::Loading,
            model: ModelState::Opening,
            store_problem: None,
            faults: Vec::new(),
            browse: Browse::default(),
            instance: None,
            replies: Replies::of(&settings.model),
            retrieval: RetrievalState::default(),
            sweep: SweepState::default(),
            compare: CompareState::default(),
            probe: ProbeState::default(),
            leaving: false,
            parting: false,
            early: Vec::new(),
            speed: 1.0,
            annotate: Annotate::default(),
            find: FindState::default(),
            review: ReviewState::default(),
            build: BuildState::default(),
            comeback: Comeback::default(),
            talk: None,
            keymap,
            theme: Rc::new(theme),
            looks: None,
            settings,
            mouse: false,
            braille: true,
            now: Duration::ZERO,
            quit: false,
            wraps: WrapCache::default(),
            next_ticket: 1,
        }
    }

    /// The dataset, once it has been read.
    pub fn data(&self) -> Option<&Arc<Dataset>> {
        match &self.dataset {
            DatasetState::Ready(dataset) => Some(dataset),
            _ => None,
        }
    }

    /// A number for a new job.
    pub fn ticket(&mut self) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        ticket
    }

    /// Whether the model is a recording that is played.
    pub fn replays(&self) -> bool {
        match &self.model {
            ModelState::Ready(identity) => identity.backend == BackendKind::Replay,
            _ => false,
        }
    }

    /// How fast recordings are played on this screen: a talk has a speed of its own.
    pub fn playing_speed(&self) -> f64 {
        match &self.talk {
            Some(talk) if self.screen == Screen::Talk => talk.speed,
            _ => self.speed,
        }
    }

    /// Replies or annotations have changed: what was made of them is read again when it is next needed.
    pub fn stored_changed(&mut self) {
        self.browse.cases_stale = true;
        self.find.stale = true;
    }

    /// Shows a message until the next key.
    pub fn say(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice {
            text: text.into(),
            bad: false,
        });
    }

    /// Shows what failed until the next key.
    pub fn complain(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice {
            text: text.into(),
            bad: true,
        });
    }

    /// Shows what failed behind what failed before it, until the next key: the first must not go unread.
    pub fn complain_too(&mut self, text: &str) {
        let before = self.notice.take().filter(|notice| notice.bad);
        self.complain(match before {
            Some(notice) if !notice.text.contains(text) => format!("{} · {text}", notice.text),
            Some(notice) => notice.text,
            None => text.to_owned(),
        });
    }

    /// Whether documents are being encoded while a model inside this program writes a reply. (On a machine where
    /// the encoder runs on a graphics card they share less than that.)
    pub fn sharing_processor(&self) -> bool {
        let embedded = match &self.model {
            ModelState::Ready(identity) => identity.backend == BackendKind::Embedded,
            _ => false,
        };
        embedded
            && self.replies.running.is_some()
            && matches!(self.retrieval.index, IndexState::Building { .. })
    }

    /// Whether something on screen changes with time alone.
    pub fn ticking(&self) -> bool {
        self.replies.running.is_some()
            || self.retrieval.is_busy()
            || self.sweep.is_busy()
            || self.compare.is_busy()
            || self.build.is_busy()
            || self.talk_waits()
    }

    /// Whether a talk goes on by itself after a while.
    fn talk_waits(&self) -> bool {
        let talk = self.talk.as_ref().filter(|_| self.screen == Screen::Talk);
        talk.is_some_and(|talk| {
            talk.remaining(self.now).is_some() || talk.waiting == Waiting::ToAsk
        })
    }
}
