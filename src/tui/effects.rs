//! What `update` asks for and how it is done: the only part of the explorer, with the loop, that touches
//! files, models and the engine.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::data::dataset::Dataset;
use crate::data::session::Session;
use crate::model::ChatModel;
use crate::tui::app::Ticket;
use crate::tui::effects::annotate::QueueTask;
use crate::tui::effects::job::{Job, StoreSlot};
use crate::tui::effects::review::ReviewTask;
use crate::tui::message::Message;
use crate::tui::{Setup, Source};

pub use effect::{AskParts, Effect, ProbeParts};

mod annotate;
mod build;
mod desk;
mod effect;
mod find;
mod highlight;
mod job;
mod probe;
mod replies;
mod review;
mod runs;
mod search;
mod session;
mod sweep;

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
            Effect::LoadDataset
            | Effect::ReloadDataset
            | Effect::OpenModel
            | Effect::KeepSession(_)
            | Effect::LoadOutcomes { .. }
            | Effect::LoadStored { .. }
            | Effect::Ask(_)
            | Effect::Pace(_)
            | Effect::Cancel(_)
            | Effect::Highlight(_) => self.start_question(effect),
            Effect::BuildIndex { .. }
            | Effect::Search { .. }
            | Effect::IndexTexts { .. }
            | Effect::FindText { .. } => self.start_search(effect),
            Effect::ListRuns { .. }
            | Effect::EstimateSweep { .. }
            | Effect::StartSweep { .. }
            | Effect::StopSweep { .. }
            | Effect::LoadCurves { .. }
            | Effect::Compare { .. }
            | Effect::LoadPair { .. }
            | Effect::Probe(_) => self.start_on_runs(effect),
            Effect::LoadRuns { .. }
            | Effect::OpenQueue { .. }
            | Effect::LoadReply { .. }
            | Effect::Annotate { .. }
            | Effect::KeepQueue { .. }
            | Effect::LoadCases { .. } => self.start_at_desk(effect),
            Effect::OpenReview { .. }
            | Effect::Review { .. }
            | Effect::KeepReview { .. }
            | Effect::LookAtBuild { .. }
            | Effect::PlanBuild { .. }
            | Effect::StartBuild { .. } => self.start_making(effect),
            Effect::Copy(_)
            | Effect::OpenOutside(_)
            | Effect::Mouse(_)
            | Effect::Suspend
            | Effect::Redraw => {}
        }
    }

    /// Those of the dataset, the model, and one question with its replies.
    fn start_question(&mut self, effect: Effect) {
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
            Effect::Highlight(raw) => {
                let job = self.job();
                self.thread("highlight", move || {
                    let pieces = highlight::reply(&raw);
                    job.send(Message::Highlighted { raw, pieces });
                });
            }
            _ => {}
        }
    }

    /// Those of searching: documents, and the words of what is open.
    fn start_search(&mut self, effect: Effect) {
        match effect {
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
            _ => {}
        }
    }

    /// Those on stored runs: sweeps, comparisons, probes.
    fn start_on_runs(&mut self, effect: Effect) {
        match effect {
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
            _ => {}
        }
    }

    /// Those of labelling.
    fn start_at_desk(&mut self, effect: Effect) {
        match effect {
            Effect::LoadRuns { annotator } => self.desk(QueueTask::Runs { annotator }),
            Effect::OpenQueue {
                ticket,
                run,
                hand,
                about,
            } => self.desk(QueueTask::Queue {
                ticket,
                run,
                hand,
                about,
            }),
            Effect::LoadReply { ticket, id } => self.desk(QueueTask::Reply { ticket, id }),
            Effect::Annotate {
                run,
                hand,
                event,
                base,
            } => self.desk(QueueTask::Write {
                run,
                hand,
                event,
                base,
            }),
            Effect::KeepQueue { run, hand, choice } => {
                self.desk(QueueTask::Keep { run, hand, choice })
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
            _ => {}
        }
    }

    /// Those of making and reviewing a benchmark.
    fn start_making(&mut self, effect: Effect) {
        match effect {
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
            _ => {}
        }
    }

    fn load_dataset(&self, first: bool) {
        let job = self.job();
        self.thread("load dataset", move || {
            let remembered = job.setup.session.as_ref();
            if let Some(remembered) = remembered.filter(|_| first) {
                let before = session::before(remembered);
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
}
