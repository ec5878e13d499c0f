//! What `update` asks for and how it is done: the only part of the explorer, with the loop, that touches
//! files, models and the engine.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::data::dataset::Dataset;
use crate::data::store::Store;
use crate::domain::answer::ReplyShape;
use crate::domain::context::{Condition, Context};
use crate::domain::prompt::Prompt;
use crate::domain::question::Question;
use crate::engine::ask::{self, AskEvent, AskRequest};
use crate::engine::instance::Instance;
use crate::model::{BackendKind, ChatModel};
use crate::tui::app::Ticket;
use crate::tui::app::reply::Verdict;
use crate::tui::message::{Message, ReplyEvent};
use crate::tui::{Setup, Source};

mod highlight;
mod search;

/// Something to be done outside of the state.
#[derive(Debug)]
pub enum Effect {
    /// Read the dataset.
    LoadDataset,
    /// Open the model.
    OpenModel,
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
    /// Find the syntax colours of a raw reply.
    Highlight(String),
    /// Copy to the terminal's clipboard (done by the loop).
    Copy(String),
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

/// Does the effects. Everything slow runs on threads of its own or as an async task.
pub(crate) struct Effects {
    setup: Arc<Setup>,
    messages: mpsc::Sender<Message>,
    runtime: tokio::runtime::Handle,
    model: Arc<Mutex<Option<Arc<dyn ChatModel>>>>,
    store: Arc<Mutex<StoreSlot>>,
    running: Option<(Ticket, CancellationToken)>,
    search: search::Search,
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
        }
    }

    /// Starts an effect and returns at once. Those of the loop itself are not handled here.
    pub fn start(&mut self, effect: Effect) {
        match effect {
            Effect::LoadDataset => self.load_dataset(),
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
                if let Some((running, cancel)) = &self.running
                    && *running == ticket
                {
                    cancel.cancel();
                }
                self.search.cancel(ticket);
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
            Effect::Highlight(raw) => {
                let job = self.job();
                self.thread("highlight", move || {
                    let pieces = highlight::json(&raw);
                    job.send(Message::Highlighted { raw, pieces });
                });
            }
            Effect::Copy(_) | Effect::Mouse(_) | Effect::Suspend | Effect::Redraw => {}
        }
    }

    /// Cancels whatever runs, before the program ends.
    pub fn shut_down(&mut self) {
        if let Some((_, cancel)) = self.running.take() {
            cancel.cancel();
        }
        self.search = search::Search::default();
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

    fn load_dataset(&self) {
        let job = self.job();
        self.thread("load dataset", move || {
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

/// The verdict on a question's newest reply that counts, else on its newest.
fn newest_verdict(store: &Store, fingerprint: &str, question_id: &str) -> Option<Verdict> {
    let verdicts = |limit| {
        let replies = store.replies_for(fingerprint, question_id, limit).ok()?;
        Verdict::newest(replies.iter().map(Verdict::of))
    };
    // Nearly always the newest counts; the others are read only where it does not.
    verdicts(1).and_then(|newest| match newest.counts() {
        true => Some(newest),
        false => verdicts(TRIES),
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

    fn outcomes(&self, dataset: &Dataset) {
        let Some(store) = self.store() else {
            return;
        };
        let outcomes = dataset
            .questions
            .iter()
            .filter_map(|question| {
                let verdict = newest_verdict(&store, &dataset.fingerprint, &question.id)?;
                Some((question.id.clone(), verdict))
            })
            .collect();
        self.send(Message::Outcomes(outcomes));
    }

    fn stored(&self, dataset: &Dataset, question_id: String) {
        let Some(store) = self.store() else {
            return;
        };
        match store.replies_for(&dataset.fingerprint, &question_id, TRIES) {
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
        report(ReplyEvent::Status("opening the model".into()));
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
