//! What `update` asks for and how it is done: the only part of the explorer, with the loop, that touches
//! files, models and the engine.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::data::dataset::Dataset;
use crate::data::session::Session;
use crate::data::store::Store;
use crate::domain::annotation::{Event, Hand};
use crate::domain::answer::ReplyShape;
use crate::domain::context::{Condition, Context, Variant};
use crate::domain::prompt::Prompt;
use crate::domain::question::Question;
use crate::domain::review::Event as Decided;
use crate::engine::ask::{self, AskEvent, AskRequest};
use crate::engine::instance::Instance;
use crate::model::{BackendKind, ChatModel};
use crate::tui::app::Ticket;
use crate::tui::app::build::BuildRequest;
use crate::tui::app::compare::Contender;
use crate::tui::app::plan::SweepRequest;
use crate::tui::app::reply::{LastReply, Verdict};
use crate::tui::editor::Outside;
use crate::tui::effects::annotate::QueueTask;
use crate::tui::effects::review::ReviewTask;
use crate::tui::message::{Message, ReplyEvent};
use crate::tui::{Setup, Source};

mod annotate;
mod build;
mod desk;
mod find;
mod highlight;
mod probe;
mod review;
mod runs;
mod search;
mod session;
mod sweep;

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

/// Does the effects. Everything slow runs on threads of its own or as an async task.
pub(crate) struct Effects {
    setup: Arc<Setup>,
    messages: mpsc::Sender<Message>,
    runtime: tokio::runtime::Handle,
    model: Arc<Mutex<Option<Arc<dyn ChatModel>>>>,
    store: Arc<Mutex<StoreSlot>>,
    running: Option<(Ticket, CancellationToken)>,
    search: search::Search,
    sweeps: sweep::Sweeps,
    probing: Option<(Ticket, CancellationToken)>,
    desk: desk::Desk<QueueTask>,
    reviews: desk::Desk<ReviewTask>,
    builds: build::Builds,
    find: find::Find,
    keeper: session::Keeper,
}

/// The store, opened at first use.
#[derive(Default)]
enum StoreSlot {
    #[default]
    Closed,
    Open(Store),
    Broken,
}

impl Effects {
    /// Nothing is opened yet.
    pub fn new(
        setup: Arc<Setup>,
        messages: mpsc::Sender<Message>,
        runtime: tokio::runtime::Handle,
    ) -> Effects {
        Effects {
            setup,
            messages,
            runtime,
            model: Arc::default(),
            store: Arc::default(),
            running: None,
            search: search::Search::default(),
            sweeps: sweep::Sweeps::default(),
            probing: None,
            desk: desk::Desk::default(),
            reviews: desk::Desk::default(),
            builds: build::Builds::default(),
            find: find::Find::default(),
            keeper: session::Keeper::default(),
        }
    }

    fn desk(&mut self, task: QueueTask) {
        self.desk.ask(&self.setup, &self.messages, task);
    }

    fn review(&mut self, task: ReviewTask) {
        self.reviews.ask(&self.setup, &self.messages, task);
    }

    /// Starts an effect and returns at once. Those of the loop itself are not handled here.
    pub fn start(&mut self, effect: Effect) {
        match effect {
            Effect::LoadDataset => self.load_dataset(true),
            Effect::ReloadDataset => self.load_dataset(false),
            Effect::OpenModel => {
                let job = self.job();
                self.thread("open model", move || {
                    let result = job.model();
                    let identity = result
                        .map(|model| model.identity().clone())
                        .map_err(|error| error.to_string());
                    job.send(Message::Model(identity));
                });
            }
            Effect::KeepSession(place) => {
                if let Some((keep, job)) = self.keeping(*place) {
                    self.thread("remember", move || keep.write(&job));
                }
            }
            Effect::LoadOutcomes { dataset } => {
                let job = self.job();
                self.thread("load outcomes", move || job.outcomes(&dataset));
            }
            Effect::LoadStored {
                dataset,
                question_id,
            } => {
                let job = self.job();
                self.thread("load replies", move || job.stored(&dataset, question_id));
            }
            Effect::Ask(parts) => self.ask(*parts),
            Effect::Pace(speed) => self.setup.pace.set(speed),
            Effect::Cancel(ticket) => {
                for (running, cancel) in self.running.iter().chain(&self.probing) {
                    if *running == ticket {
                        cancel.cancel();
                    }
                }
                self.builds.stop(ticket);
                self.search.cancel(ticket);
                self.find.cancel(ticket);
            }
            Effect::BuildIndex { ticket, dataset } => {
                self.search
                    .build(&self.setup, &self.messages, ticket, dataset);
            }
            Effect::Search {
                ticket,
                query,
                k,
                question_id,
            } => self.search.ask(ticket, query, k, question_id),
            Effect::ListRuns { ticket } => {
                self.fetch("reading the runs", runs::list, move |result| {
                    Message::RunList { ticket, result }
                })
            }
            Effect::EstimateSweep {
                ticket,
                dataset,
                request,
            } => self.sweeps.estimate(self.job(), ticket, dataset, *request),
            Effect::StartSweep {
                ticket,
                dataset,
                request,
            } => {
                let runtime = self.runtime.clone();
                let job = self.job();
                self.sweeps.start(job, runtime, ticket, dataset, *request);
            }
            Effect::StopSweep { ticket, now } => self.sweeps.stop(ticket, now),
            Effect::LoadCurves { ticket, run } => self.fetch(
                "making the curves",
                move |job| runs::figures(job, &run).map(Box::new),
                move |result| Message::Curves { ticket, result },
            ),
            Effect::Compare { ticket, a, b } => self.fetch(
                "comparing",
                move |job| runs::compared(job, &a, &b).map(Box::new),
                move |result| Message::Compared { ticket, result },
            ),
            Effect::LoadPair { ticket, records } => self.fetch(
                "reading the replies",
                move |job| runs::pair(job, records).map(Box::new),
                move |result| Message::Pair { ticket, result },
            ),
            Effect::Probe(parts) => self.probe(*parts),
            Effect::LoadRuns { annotator } => self.desk(QueueTask::Runs { annotator }),
            Effect::OpenQueue { ticket, run, hand } => {
                self.desk(QueueTask::Queue { ticket, run, hand })
            }
            Effect::LoadReply { ticket, id } => self.desk(QueueTask::Reply { ticket, id }),
            Effect::Annotate { run, hand, event } => {
                self.desk(QueueTask::Write { run, hand, event })
            }
            Effect::KeepQueue { run, hand, choice } => {
                self.desk(QueueTask::Keep { run, hand, choice })
            }
            Effect::OpenReview {
                ticket,
                dataset,
                hand,
            } => self.review(ReviewTask::Queue {
                ticket,
                dataset,
                hand,
            }),
            Effect::Review {
                dataset,
                hand,
                event,
            } => self.review(ReviewTask::Write {
                dataset,
                hand,
                event,
            }),
            Effect::KeepReview {
                dataset,
                hand,
                choice,
            } => self.review(ReviewTask::Keep {
                dataset,
                hand,
                choice,
            }),
            Effect::LookAtBuild { ticket, folder } => self.fetch(
                "looking at the build",
                move |_| build::held(&folder).map(Box::new),
                move |result| Message::BuildLooked { ticket, result },
            ),
            Effect::PlanBuild { ticket, request } => {
                let models = self.sweeps.models();
                self.fetch(
                    "planning the build",
                    move |job| build::planned(job, &models, &request).map(Box::new),
                    move |result| Message::BuildPlanned { ticket, result },
                );
            }
            Effect::StartBuild { ticket, request } => {
                let runtime = self.runtime.clone();
                let (job, models) = (self.job(), self.sweeps.models());
                self.builds.start(job, models, runtime, ticket, *request);
            }
            Effect::LoadCases {
                ticket,
                fingerprint,
                run,
                annotator,
            } => self.desk(QueueTask::Cases {
                ticket,
                fingerprint,
                run,
                annotator,
            }),
            Effect::IndexTexts {
                ticket,
                dataset,
                run,
                annotator,
            } => {
                let open = find::Open {
                    dataset,
                    run,
                    annotator,
                };
                self.find.index(&self.setup, &self.messages, ticket, open);
            }
            Effect::FindText { ticket, query } => self.find.ask(ticket, query),
            Effect::Highlight(raw) => {
                let job = self.job();
                self.thread("highlight", move || {
                    let pieces = highlight::reply(&raw);
                    job.send(Message::Highlighted { raw, pieces });
                });
            }
            Effect::Copy(_)
            | Effect::OpenOutside(_)
            | Effect::Mouse(_)
            | Effect::Suspend
            | Effect::Redraw => {}
        }
    }

    /// Cancels whatever runs, before the program ends.
    pub fn shut_down(&mut self) {
        for (_, cancel) in self.running.take().iter().chain(&self.probing) {
            cancel.cancel();
        }
        self.sweeps.shut_down();
        self.builds.shut_down();
        self.search = search::Search::default();
        self.find = find::Find::default();
    }

    /// Stores where one is before the program ends.
    pub fn keep_now(&mut self, place: Session) {
        if let Some((keep, _)) = self.keeping(place) {
            // Nobody is there to be told of a failure.
            let _ = keep.whole();
        }
    }

    fn keeping(&mut self, place: Session) -> Option<(session::Keep, Job)> {
        let path = self.setup.session.as_ref()?.path.clone();
        Some((self.keeper.next(path, place), self.job()))
    }

    fn job(&self) -> Job {
        Job {
            setup: Arc::clone(&self.setup),
            messages: self.messages.clone(),
            model: Arc::clone(&self.model),
            store: Arc::clone(&self.store),
        }
    }

    /// Runs blocking work on a thread of its own; a panic there is said, not fatal.
    fn thread(&self, name: &'static str, work: impl FnOnce() + Send + 'static) {
        let messages = self.messages.clone();
        let spawned = std::thread::Builder::new()
            .name(name.into())
            .spawn(move || {
                if catch_unwind(AssertUnwindSafe(work)).is_err() {
                    let text = format!("\"{name}\" failed unexpectedly; the log says more");
                    let _ = messages.blocking_send(Message::Complaint(text));
                }
            });
        if let Err(error) = spawned {
            let text = format!("The system gives no thread to {name}: {error}");
            let _ = self.messages.try_send(Message::Complaint(text));
        }
    }

    /// Runs blocking work on a thread of its own; what comes of it, also a panic, is one message.
    fn fetch<T>(
        &self,
        name: &'static str,
        work: impl FnOnce(&Job) -> Result<T, String> + Send + 'static,
        message: impl FnOnce(Result<T, String>) -> Message + Send + 'static,
    ) {
        let job = self.job();
        self.thread(name, move || {
            let result = catch_unwind(AssertUnwindSafe(|| work(&job)))
                .unwrap_or_else(|_| Err(format!("{name} failed unexpectedly; the log says more")));
            job.send(message(result));
        });
    }

    fn load_dataset(&self, first: bool) {
        let job = self.job();
        self.thread("load dataset", move || {
            let remembered = job.setup.session.as_ref();
            if let Some(remembered) = remembered.filter(|one| first && !one.fresh) {
                let before = crate::data::session::read(&remembered.path);
                job.send(Message::Session(before.map(|before| before.map(Box::new))));
            }
            let read = catch_unwind(AssertUnwindSafe(|| match &job.setup.dataset {
                Source::Folder(path) => Dataset::open(path),
                Source::Sample => Dataset::sample(),
            }));
            let result = match read {
                Ok(Ok(dataset)) => Ok(Arc::new(dataset)),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err("reading the dataset failed unexpectedly; the log says more".into()),
            };
            job.send(Message::Dataset(result));
        });
    }

    fn ask(&mut self, parts: AskParts) {
        let cancel = CancellationToken::new();
        self.running = Some((parts.ticket, cancel.clone()));
        let job = self.job();
        let runtime = self.runtime.clone();
        let ticket = parts.ticket;
        let messages = self.messages.clone();
        let spawned = std::thread::Builder::new().name("ask".into()).spawn({
            let messages = messages.clone();
            move || {
                let asked = catch_unwind(AssertUnwindSafe(|| job.ask(parts, &cancel, &runtime)));
                if asked.is_err() {
                    let message = "asking failed unexpectedly; the log says more".to_owned();
                    let event = ReplyEvent::Finished(Err(message));
                    let _ = messages.blocking_send(Message::Reply { ticket, event });
                }
            }
        });
        if let Err(error) = spawned {
            let message = format!("the system gives no thread: {error}");
            let event = ReplyEvent::Finished(Err(message));
            let _ = messages.try_send(Message::Reply { ticket, event });
        }
    }
}

/// Tries that are looked through for one that counts.
const TRIES: usize = 50;

/// Most stored replies to a question that are kept at hand: five models over the paper's 39 conditions are 195.
const STORED: usize = 200;

/// The verdict on a question's newest reply that counts, else on its newest.
fn last_reply(store: &Store, fingerprint: &str, question_id: &str) -> Option<LastReply> {
    let among = |limit| {
        let replies = store.replies_for(fingerprint, question_id, limit).ok()?;
        LastReply::of(replies.iter().map(Verdict::of))
    };
    // Nearly always the newest counts; the others are read only where it does not.
    among(1).and_then(|newest| match newest.verdict.counts() {
        true => Some(newest),
        false => among(TRIES),
    })
}

/// What a thread needs.
struct Job {
    setup: Arc<Setup>,
    messages: mpsc::Sender<Message>,
    model: Arc<Mutex<Option<Arc<dyn ChatModel>>>>,
    store: Arc<Mutex<StoreSlot>>,
}

impl Job {
    /// Waits for room; a closed channel means that the program ends.
    fn send(&self, message: Message) {
        let _ = self.messages.blocking_send(message);
    }

    /// The model, opened at first use; a failure is not remembered, so that asking again tries again.
    fn model(&self) -> Result<Arc<dyn ChatModel>, crate::model::ModelError> {
        let mut slot = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = &*slot {
            return Ok(Arc::clone(model));
        }
        let model = (self.setup.model.open)()?;
        *slot = Some(Arc::clone(&model));
        Ok(model)
    }

    /// Whether asking waits for nothing but the model itself. One that is being opened is not open.
    fn model_is_open(&self) -> bool {
        self.model.try_lock().is_ok_and(|slot| slot.is_some())
    }

    /// The store, opened at first use; said once where that fails.
    fn store(&self) -> Option<Store> {
        let path = self.setup.store.as_ref()?;
        let mut slot = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        if let StoreSlot::Closed = *slot {
            *slot = match Store::open(path) {
                Ok(store) => StoreSlot::Open(store),
                Err(error) => {
                    self.send(Message::StoreProblem(error.to_string()));
                    StoreSlot::Broken
                }
            };
        }
        match &*slot {
            StoreSlot::Open(store) => Some(store.clone()),
            _ => None,
        }
    }

    /// A connection of its own to the store, for long reading that nobody should wait for; `None` where nothing
    /// has been stored yet.
    fn reading(&self) -> Result<Option<Store>, String> {
        let path = self.setup.store.as_ref();
        let path = path.ok_or("this session stores nothing, so there are no runs")?;
        match path.exists() {
            true => Store::open_for_reading(path)
                .map(Some)
                .map_err(|error| error.to_string()),
            false => Ok(None),
        }
    }

    fn outcomes(&self, dataset: &Dataset) {
        let Some(store) = self.store() else {
            return;
        };
        let outcomes = dataset
            .questions
            .iter()
            .filter_map(|question| {
                let last = last_reply(&store, &dataset.fingerprint, &question.id)?;
                Some((question.id.clone(), last))
            })
            .collect();
        self.send(Message::Outcomes(outcomes));
    }

    fn stored(&self, dataset: &Dataset, question_id: String) {
        let Some(store) = self.store() else {
            return;
        };
        match store.newest_replies(&dataset.fingerprint, &question_id, STORED) {
            Ok(records) => self.send(Message::Stored {
                question_id,
                records,
            }),
            Err(error) => self.send(Message::Complaint(format!(
                "Stored replies can't be read: {error}"
            ))),
        }
    }

    /// Opens the model if need be, asks, and passes the events on under the ticket. Ends with exactly one
    /// `Finished`.
    fn ask(self, parts: AskParts, cancel: &CancellationToken, runtime: &tokio::runtime::Handle) {
        let ticket = parts.ticket;
        let report = |event| self.send(Message::Reply { ticket, event });
        if !self.model_is_open() {
            report(ReplyEvent::Status("opening the model".into()));
        }
        let model = match self.model() {
            Ok(model) => model,
            Err(error) => {
                self.send(Message::Model(Err(error.to_string())));
                return report(ReplyEvent::Finished(Err(error.to_string())));
            }
        };
        self.send(Message::Model(Ok(model.identity().clone())));
        // A replayed reply is in the store already.
        let store = match model.identity().backend {
            BackendKind::Replay => None,
            _ => self.store(),
        };
        let request = AskRequest {
            instance: Instance {
                question: parts.question,
                condition: parts.condition,
                context: parts.context,
                prompt: parts.prompt,
                shape: parts.shape,
            },
            dataset: (
                parts.dataset.name.clone(),
                parts.dataset.fingerprint.clone(),
            ),
            model,
            sampling: self.setup.sampling.clone(),
            run: self.setup.run.clone(),
            store,
        };
        if let Some(timing) = request.model.recorded(&request.chat()) {
            report(ReplyEvent::Recording(timing.clone()));
        }
        let (sender, mut events) = mpsc::channel(64);
        let entered = runtime.enter();
        let job = ask::spawn(request, cancel.clone(), sender);
        drop(entered);
        while let Some((from, event)) = events.blocking_recv() {
            if from != job {
                continue;
            }
            let event = match event {
                AskEvent::Status(text) => ReplyEvent::Status(text),
                AskEvent::Restart => ReplyEvent::Restart,
                AskEvent::Reasoning(text) => ReplyEvent::Reasoning(text),
                AskEvent::Text(text) => ReplyEvent::Text(text),
                AskEvent::Finished(result) => return report(ReplyEvent::Finished(result)),
            };
            report(event);
        }
        report(ReplyEvent::Finished(Err(
            "the reply ended without a result; the log says more".into(),
        )));
    }
}
