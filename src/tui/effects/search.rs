//! The search service behind the retrieval screen.

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::data::dataset::Dataset;
use crate::tui::Setup;
use crate::tui::app::Ticket;
use crate::tui::message::{IndexEvent, Message};

/// The running service, if one was asked for.
#[derive(Default)]
pub(super) struct Search {}

impl Search {
    pub(super) fn build(
        &mut self,
        setup: &Arc<Setup>,
        messages: &mpsc::Sender<Message>,
        ticket: Ticket,
        dataset: Arc<Dataset>,
    ) {
        let _ = (setup, dataset);
        let event = IndexEvent::Finished(Err("search is not there yet".into()));
        let _ = messages.try_send(Message::Index { ticket, event });
    }

    pub(super) fn ask(&mut self, ticket: Ticket, query: String, k: usize) {
        let _ = (ticket, query, k);
    }

    pub(super) fn cancel(&mut self, ticket: Ticket) {
        let _ = ticket;
    }
}
