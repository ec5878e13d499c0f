//! The search service behind the retrieval screen.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use crate::data::dataset::Dataset;
use crate::engine::search::{
    SearchCorpus, SearchEvent, SearchQuery, SearchResults, SearchService, SearchSetup,
};
use crate::tui::Setup;
use crate::tui::app::Ticket;
use crate::tui::app::retrieval::{EncoderName, METHODS};
use crate::tui::message::{IndexEvent, Message, SearchNews};

/// The service that was asked for, if one was.
#[derive(Default)]
pub(super) struct Search {
    current: Option<(Ticket, Arc<Mutex<Slot>>)>,
}

/// A service that runs, or is about to once the encoder has been found.
#[derive(Default)]
struct Slot {
    service: Option<SearchService>,
    /// Asked before the service was there.
    waiting: Option<SearchQuery>,
    cancelled: bool,
}

fn lock(slot: &Mutex<Slot>) -> MutexGuard<'_, Slot> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Search {
    /// Finds the encoder and builds the index on threads of their own; an earlier service is dropped.
    pub(super) fn build(
        &mut self,
        setup: &Arc<Setup>,
        messages: &mpsc::Sender<Message>,
        ticket: Ticket,
        dataset: Arc<Dataset>,
    ) {
        let slot = Arc::new(Mutex::new(Slot::default()));
        self.current = Some((ticket, Arc::clone(&slot)));
        let setup = Arc::clone(setup);
        let outbox = Outbox {
            messages: messages.clone(),
            ticket,
        };
        let spawned = std::thread::Builder::new().name("search".into()).spawn({
            let outbox = outbox.clone();
            move || serve(&setup, &outbox, &slot, &dataset)
        });
        if let Err(error) = spawned {
            let message = outbox.failed(format!("the system gives no thread: {error}"));
            let _ = outbox.messages.try_send(message);
        }
    }

    /// Asks for all lists; an older query that has not been taken up is dropped.
    pub(super) fn ask(
        &mut self,
        ticket: Ticket,
        text: String,
        k: usize,
        question_id: Option<String>,
    ) {
        let Some((_, slot)) = &self.current else {
            return;
        };
        let query = SearchQuery {
            ticket: ticket.0,
            text,
            methods: METHODS.to_vec(),
            k,
            question_id,
        };
        let mut slot = lock(slot);
        match &slot.service {
            Some(service) => service.ask(query),
            None => slot.waiting = Some(query),
        }
    }

    /// Stops building; what is encoded is kept and BM25 goes on answering.
    pub(super) fn cancel(&mut self, ticket: Ticket) {
        if let Some((current, slot)) = &self.current
            && *current == ticket
        {
            let mut slot = lock(slot);
            slot.cancelled = true;
            if let Some(service) = &slot.service {
                service.cancel_build();
            }
        }
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        if let Some((ticket, _)) = self.current {
            self.cancel(ticket);
        }
    }
}

#[derive(Clone)]
struct Outbox {
    messages: mpsc::Sender<Message>,
    ticket: Ticket,
}

impl Outbox {
    /// False when nobody listens any more.
    fn send(&self, event: IndexEvent) -> bool {
        let ticket = self.ticket;
        let message = Message::Index { ticket, event };
        self.messages.blocking_send(message).is_ok()
    }

    fn failed(&self, why: String) -> Message {
        Message::Index {
            ticket: self.ticket,
            event: IndexEvent::Finished(Err(why)),
        }
    }
}

/// Starts the service and passes its events on until it is dropped.
fn serve(setup: &Setup, outbox: &Outbox, slot: &Mutex<Slot>, dataset: &Dataset) {
    let (sender, mut events) = mpsc::channel(32);
    let started = match &setup.index {
        Some(index) => SearchService::open(&SearchCorpus::of(dataset), index.clone(), sender),
        None => SearchService::start(
            SearchCorpus::of(dataset),
            find_encoder(setup, outbox),
            sender,
        ),
    };
    {
        let mut slot = lock(slot);
        match started {
            Ok(service) => {
                if slot.cancelled {
                    service.cancel_build();
                }
                if let Some(query) = slot.waiting.take() {
                    service.ask(query);
                }
                slot.service = Some(service);
            }
            Err(error) => {
                let message = outbox.failed(error.to_string());
                let _ = outbox.messages.blocking_send(message);
                return;
            }
        }
    }
    while let Some((_, event)) = events.blocking_recv() {
        let listening = match event {
            SearchEvent::Building(progress) => outbox.send(IndexEvent::Progress(
                progress.stage.to_owned(),
                progress.done,
                progress.total,
            )),
            SearchEvent::Note(text) => outbox.send(IndexEvent::Note(text)),
            SearchEvent::Ready(info) => outbox.send(IndexEvent::Finished(Ok(info))),
            SearchEvent::Failed(why) => outbox.send(IndexEvent::Finished(Err(why))),
            SearchEvent::Results(results) => outbox.messages.blocking_send(news(*results)).is_ok(),
        };
        if !listening {
            return;
        }
    }
}

/// Looks for an encoder and says which one will be used.
fn find_encoder(setup: &Setup, outbox: &Outbox) -> SearchSetup {
    outbox.send(IndexEvent::Progress("looking for an encoder".into(), 0, 0));
    let encoder = (setup.encoder)().unwrap_or_else(|why| {
        outbox.send(IndexEvent::Note(why));
        None
    });
    if let Some(folders) = &encoder {
        outbox.send(IndexEvent::Encoder(EncoderName {
            name: folders.name.clone(),
            stand_in: folders.stand_in,
        }));
    }
    SearchSetup {
        encoder,
        backend: setup.backend,
        cache: setup.cache.clone(),
    }
}

fn news(results: SearchResults) -> Message {
    let mut lists = [None, None, None];
    let mut signal = [Vec::new(), Vec::new(), Vec::new()];
    let mut measures = [None; 3];
    let found = results.lists.into_iter().zip(results.signal);
    for (((method, list), marks), measured) in found.zip(results.measures) {
        if let Some(at) = METHODS.iter().position(|&known| known == method) {
            lists[at] = Some(list);
            signal[at] = marks;
            measures[at] = measured;
        }
    }
    Message::Search {
        ticket: Ticket(results.ticket),
        news: Box::new(SearchNews {
            lists,
            signal,
            recall: results.recall_vs_exact,
            measures,
            absent: results.absent,
            map: results.map,
        }),
    }
}
