//! Full-text search behind the find screen: a thread that makes everything that is open searchable and then
//! answers, always the newest query.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use tokio::sync::mpsc;

use crate::data::annotations::{Annotations, beside};
use crate::data::dataset::Dataset;
use crate::data::store::Store;
use crate::engine::find::{FindSources, TextIndex};
use crate::tui::Setup;
use crate::tui::app::Ticket;
use crate::tui::message::{FindEvent, Message};

/// Texts that a search gives at most.
const MOST_HITS: usize = 100;

/// What is open.
pub(super) struct Open {
    pub(super) dataset: Arc<Dataset>,
    pub(super) run: Option<String>,
    pub(super) annotator: String,
}

/// The thread that was asked for, if one was; letting it go ends it.
#[derive(Default)]
pub(super) struct Find {
    current: Option<Running>,
}

struct Running {
    ticket: Ticket,
    queries: Sender<(Ticket, String)>,
    cancelled: Arc<AtomicBool>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

impl Find {
    /// Makes everything searchable on a thread of its own; an earlier one is let go.
    pub(super) fn index(
        &mut self,
        setup: &Arc<Setup>,
        messages: &mpsc::Sender<Message>,
        ticket: Ticket,
        open: Open,
    ) {
        let (queries, asked) = channel();
        let cancelled = Arc::new(AtomicBool::new(false));
        self.current = Some(Running {
            ticket,
            queries,
            cancelled: Arc::clone(&cancelled),
        });
        let setup = Arc::clone(setup);
        let thread = std::thread::Builder::new().name("full text".into());
        let spawned = thread.spawn({
            let messages = messages.clone();
            move || {
                let outbox = Outbox { messages, ticket };
                let built = catch_unwind(AssertUnwindSafe(|| {
                    build(&setup, &open, &outbox, &cancelled)
                }));
                let built = built.unwrap_or_else(|_| {
                    Err("making texts searchable failed unexpectedly; the log says more".to_owned())
                });
                outbox.send(FindEvent::Indexed(
                    built.as_ref().map(TextIndex::counts).map_err(String::clone),
                ));
                if let Ok(index) = built {
                    serve(&index, &outbox, &asked);
                }
            }
        });
        if let Err(error) = spawned {
            let event = FindEvent::Indexed(Err(format!("the system gives no thread: {error}")));
            let _ = messages.try_send(Message::Find { ticket, event });
        }
    }

    /// Asks; a query that has not been taken up is dropped.
    pub(super) fn ask(&mut self, ticket: Ticket, query: String) {
        if let Some(running) = &self.current {
            let _ = running.queries.send((ticket, query));
        }
    }

    /// Stops making texts searchable.
    pub(super) fn cancel(&mut self, ticket: Ticket) {
        self.current.take_if(|running| running.ticket == ticket);
    }
}

struct Outbox {
    messages: mpsc::Sender<Message>,
    ticket: Ticket,
}

impl Outbox {
    fn send(&self, event: FindEvent) {
        self.send_as(self.ticket, event);
    }

    fn send_as(&self, ticket: Ticket, event: FindEvent) {
        let _ = self.messages.blocking_send(Message::Find { ticket, event });
    }
}

fn build(
    setup: &Setup,
    open: &Open,
    outbox: &Outbox,
    cancelled: &AtomicBool,
) -> Result<TextIndex, String> {
    let files = match &setup.store {
        Some(path) => {
            let store = Store::open(path).map_err(|error| error.to_string())?;
            let annotations =
                Annotations::open(&beside(path)).map_err(|error| error.to_string())?;
            Some((store, annotations))
        }
        None => None,
    };
    let sources = FindSources {
        dataset: &open.dataset,
        stored: files
            .as_ref()
            .map(|(store, annotations)| (store, annotations)),
        run: open.run.as_deref(),
        annotator: &open.annotator,
    };
    TextIndex::build(&sources, &mut |done, total| {
        outbox.send(FindEvent::Progress(done, total));
        match cancelled.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })
}

fn serve(index: &TextIndex, outbox: &Outbox, asked: &Receiver<(Ticket, String)>) {
    while let Ok(mut query) = asked.recv() {
        while let Ok(newer) = asked.try_recv() {
            query = newer;
        }
        let (ticket, words) = query;
        let found = catch_unwind(AssertUnwindSafe(|| index.search(&words, MOST_HITS)));
        let found = found.unwrap_or_else(|_| {
            Err("the search failed unexpectedly; the log says more".to_owned())
        });
        outbox.send_as(ticket, FindEvent::Found(found));
    }
}
