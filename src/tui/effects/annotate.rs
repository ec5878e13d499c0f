//! Reading queues and writing what is said of replies: one thread, so that acts come onto the disk in the order
//! in which they were done, and what is read holds all acts before it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use tokio::sync::mpsc;

use crate::data::annotations::{Annotations, beside};
use crate::data::store::{Store, Which};
use crate::domain::annotation::{Event, Hand, Part};
use crate::tui::Setup;
use crate::tui::app::Ticket;
use crate::tui::app::annotate::{QueueParts, RunRow};
use crate::tui::app::browse::StoredCases;
use crate::tui::message::Message;
use crate::tui::widgets::line::one_line;

/// What the thread is asked to do.
pub(super) enum Task {
    /// List the runs.
    Runs { annotator: String },
    /// Read a run's replies and what was said of them.
    Queue {
        ticket: Ticket,
        run: String,
        hand: Hand,
    },
    /// Read one stored reply.
    Reply { ticket: Ticket, id: i64 },
    /// Write an act.
    Write {
        run: String,
        hand: Hand,
        event: Event,
    },
    /// Remember what a queue is narrowed to.
    Keep {
        run: String,
        hand: Hand,
        choice: String,
    },
    /// Read what lists of questions need of a dataset's stored replies.
    Cases {
        ticket: Ticket,
        fingerprint: String,
        run: Option<String>,
        annotator: String,
    },
}

/// The thread, started at first use.
#[derive(Default)]
pub(super) struct Desk {
    tasks: Option<Sender<Task>>,
}

impl Desk {
    /// Hands a task over.
    pub(super) fn ask(&mut self, setup: &Arc<Setup>, messages: &mpsc::Sender<Message>, task: Task) {
        let task = match &self.tasks {
            Some(tasks) => match tasks.send(task) {
                Ok(()) => return,
                Err(unsent) => unsent.0,
            },
            None => task,
        };
        let (sender, tasks) = channel();
        let (setup, outbox) = (Arc::clone(setup), messages.clone());
        let spawned = std::thread::Builder::new()
            .name("annotations".into())
            .spawn(move || work(&setup, &outbox, &tasks));
        match spawned {
            Ok(_) => {
                let _ = sender.send(task);
                self.tasks = Some(sender);
            }
            Err(error) => {
                let text = format!("the system gives no thread for annotations: {error}");
                let _ = messages.try_send(failed(task, text));
            }
        }
    }
}

/// What a task that can't be done reports, so that each ends with one message.
fn failed(task: Task, why: String) -> Message {
    match task {
        Task::Runs { .. } => Message::Runs(Err(why)),
        Task::Queue { ticket, hand, .. } => Message::Queue {
            ticket,
            part: hand.part,
            result: Err(why),
        },
        Task::Reply { ticket, .. } => Message::QueueReply {
            ticket,
            result: Err(why),
        },
        Task::Write { .. } => Message::Annotated(Err(why)),
        Task::Keep { .. } => Message::Complaint(why),
        Task::Cases { ticket, .. } => Message::Cases {
            ticket,
            result: Err(why),
        },
    }
}

fn work(setup: &Setup, messages: &mpsc::Sender<Message>, tasks: &Receiver<Task>) {
    let mut shelf = Files::default();
    while let Ok(task) = tasks.recv() {
        let unexpected = failed(
            task.outline(),
            "reading or writing annotations failed unexpectedly; the log says more".to_owned(),
        );
        let done = catch_unwind(AssertUnwindSafe(|| shelf.perform(setup, task)));
        // Nothing is reported of what went well and changes nothing on screen.
        let Some(message) = done.unwrap_or(Some(unexpected)) else {
            continue;
        };
        // Where the loop has ended, what waits to be written is written all the same.
        let _ = messages.blocking_send(message);
    }
}

impl Task {
    /// The same task without its contents, to report on it.
    fn outline(&self) -> Task {
        match self {
            Task::Runs { .. } => Task::Runs {
                annotator: String::new(),
            },
            Task::Queue { ticket, hand, .. } => Task::Queue {
                ticket: *ticket,
                run: String::new(),
                hand: hand.clone(),
            },
            Task::Reply { ticket, id } => Task::Reply {
                ticket: *ticket,
                id: *id,
            },
            Task::Write { hand, event, .. } => Task::Write {
                run: String::new(),
                hand: hand.clone(),
                event: event.clone(),
            },
            Task::Keep { hand, .. } => Task::Keep {
                run: String::new(),
                hand: hand.clone(),
                choice: String::new(),
            },
            Task::Cases { ticket, .. } => Task::Cases {
                ticket: *ticket,
                fingerprint: String::new(),
                run: None,
                annotator: String::new(),
            },
        }
    }
}

/// The files, opened at first use.
#[derive(Default)]
struct Files {
    annotations: Option<Annotations>,
    store: Option<Store>,
}

const NO_STORE: &str = "replies are kept in memory only, so there is nothing to annotate";

impl Files {
    fn perform(&mut self, setup: &Setup, task: Task) -> Option<Message> {
        let path = setup.store.as_deref();
        Some(match task {
            Task::Runs { annotator } => Message::Runs(self.runs(path, &annotator)),
            Task::Queue { ticket, run, hand } => Message::Queue {
                ticket,
                part: hand.part,
                result: self.queue(path, &run, &hand).map(Box::new),
            },
            Task::Reply { ticket, id } => Message::QueueReply {
                ticket,
                result: self.store(path).and_then(|store| {
                    let found = store.get(id).map_err(|error| error.to_string())?;
                    Ok(found.map(Box::new))
                }),
            },
            Task::Write { run, hand, event } => Message::Annotated(
                self.annotations(path)
                    .and_then(|annotations| in_words(annotations.add(&run, &hand, &event)))
                    .map(drop),
            ),
            Task::Keep { run, hand, choice } => {
                let kept = self
                    .annotations(path)
                    .and_then(|annotations| in_words(annotations.set_queue(&run, &hand, &choice)));
                Message::Complaint(kept.err()?)
            }
            Task::Cases {
                ticket,
                fingerprint,
                run,
                annotator,
            } => Message::Cases {
                ticket,
                result: self.cases(path, &fingerprint, run.as_deref(), annotator),
            },
        })
    }

    fn annotations(&mut self, store: Option<&Path>) -> Result<&Annotations, String> {
        let path = beside(store.ok_or(NO_STORE)?);
        open_once(&mut self.annotations, || in_words(Annotations::open(&path)))
    }

    fn store(&mut self, path: Option<&Path>) -> Result<&Store, String> {
        let path = path.ok_or(NO_STORE)?;
        open_once(&mut self.store, || in_words(Store::open(path)))
    }

    fn runs(&mut self, path: Option<&Path>, annotator: &str) -> Result<Vec<RunRow>, String> {
        let summaries = in_words(self.store(path)?.runs())?;
        let annotations = self.annotations(path)?;
        let annotated = in_words(annotations.runs())?;
        let hand = Hand {
            annotator: annotator.to_owned(),
            part: Part::Annotator,
        };
        let mut runs = Vec::new();
        for run in summaries.into_iter().filter(|run| run.replies > 0) {
            let done = match annotated.contains(&run.name) {
                // A history that can't be read is said when its queue is opened.
                true => annotations.of_run(&run.name).map_or(0, |shelf| {
                    let book = shelf.books.get(&hand);
                    book.map_or(0, |book| {
                        book.annotations().filter(|(_, one)| one.done).count()
                    })
                }),
                false => 0,
            };
            let about = format!("{} · {}", run.models.join(", "), run.scenarios.join(", "));
            runs.push(RunRow {
                about: one_line(&about),
                replies: run.replies,
                questions: run.questions,
                done,
                name: run.name,
            });
        }
        Ok(runs)
    }

    fn queue(&mut self, path: Option<&Path>, run: &str, hand: &Hand) -> Result<QueueParts, String> {
        let (briefs, broken) = in_words(self.store(path)?.briefs(Which::Run(run), false))?;
        let annotations = self.annotations(path)?;
        let shelf = in_words(annotations.of_run(run))?;
        Ok(QueueParts {
            run: run.to_owned(),
            briefs,
            broken: broken + shelf.broken,
            choice: in_words(annotations.queue(run, hand))?,
            shelf,
        })
    }

    fn cases(
        &mut self,
        path: Option<&Path>,
        fingerprint: &str,
        run: Option<&str>,
        annotator: String,
    ) -> Result<StoredCases, String> {
        let which = Which::Dataset(fingerprint, run);
        let (briefs, _) = in_words(self.store(path)?.briefs(which, false))?;
        let annotations = self.annotations(path)?;
        let hand = Hand {
            annotator,
            part: Part::Annotator,
        };
        let mut cases = StoredCases::default();
        for name in in_words(annotations.runs())? {
            if run.is_none_or(|run| run == name)
                && let Some(book) = in_words(annotations.of_run(&name))?.books.remove(&hand)
            {
                cases.books.insert(name, book);
            }
        }
        cases.briefs = briefs;
        Ok(cases)
    }
}

fn in_words<T>(result: Result<T, impl ToString>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

fn open_once<T>(
    slot: &mut Option<T>,
    open: impl FnOnce() -> Result<T, String>,
) -> Result<&T, String> {
    if slot.is_none() {
        *slot = Some(open()?);
    }
    slot.as_ref().ok_or_else(|| "it was not opened".to_owned())
}
