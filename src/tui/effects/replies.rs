//! Replies to questions: what is stored of them, and asking for new ones.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::data::dataset::Dataset;
use crate::data::store::{ReplyRecord, Store};
use crate::engine::ask::{self, AskEvent, AskRequest};
use crate::engine::instance::Instance;
use crate::model::{BackendKind, ChatModel};
use crate::tui::app::reply::{LastReply, Verdict};
use crate::tui::effects::Effects;
use crate::tui::effects::effect::AskParts;
use crate::tui::effects::job::Job;
use crate::tui::message::{Message, ReplyEvent};

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

impl Effects {
    pub(super) fn ask(&mut self, parts: AskParts) {
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

impl Job {
    pub(super) fn outcomes(&self, dataset: &Dataset) {
        let Some(store) = self.stored_replies() else {
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

    pub(super) fn stored(&self, dataset: &Dataset, question_id: String) {
        let Some(store) = self.stored_replies() else {
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
    pub(super) fn ask(
        self,
        parts: AskParts,
        cancel: &CancellationToken,
        runtime: &tokio::runtime::Handle,
    ) {
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
        let request = self.request(parts, model);
        if let Some(timing) = request.model.recorded(&request.chat()) {
            report(ReplyEvent::Recording(timing.clone()));
        }
        report(ReplyEvent::Finished(passed_on(
            request, cancel, runtime, &report,
        )));
    }

    fn request(&self, parts: AskParts, model: Arc<dyn ChatModel>) -> AskRequest {
        // A replayed reply is in the store already.
        let store = match model.identity().backend {
            BackendKind::Replay => None,
            _ => self.store(),
        };
        AskRequest {
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
        }
    }
}

/// Asks and passes the events on; gives the end.
fn passed_on(
    request: AskRequest,
    cancel: &CancellationToken,
    runtime: &tokio::runtime::Handle,
    report: &dyn Fn(ReplyEvent),
) -> Result<Box<ReplyRecord>, String> {
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
            AskEvent::Finished(result) => return result,
        };
        report(event);
    }
    Err("the reply ended without a result; the log says more".into())
}
