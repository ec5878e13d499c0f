//! Probing: the engine's probes as jobs of the explorer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::data::dataset::Dataset;
use crate::domain::context::Context;
use crate::domain::probe::reasons;
use crate::engine::instance::Instance;
use crate::engine::probe::{Asked, ProbeRequest, original_text, probe};
use crate::engine::sweep::Control;
use crate::model::BackendKind;
use crate::tui::app::probe::{Probed, Tried};
use crate::tui::effects::{Effects, Job, ProbeParts};
use crate::tui::message::{Message, ProbeEvent};

impl Effects {
    /// Asks the context and its variants on a thread of its own; ends with exactly one `Finished`.
    pub(super) fn probe(&mut self, parts: ProbeParts) {
        let cancel = CancellationToken::new();
        let ticket = parts.ticket;
        self.probing = Some((ticket, cancel.clone()));
        let job = self.job();
        let runtime = self.runtime.clone();
        let finished = move |result: Result<Probed, String>| Message::Probe {
            ticket,
            event: ProbeEvent::Finished(result.map(Box::new)),
        };
        let messages = self.messages.clone();
        let spawned = std::thread::Builder::new()
            .name("probe".into())
            .spawn(move || {
                let work = || asked(&job, parts, &cancel, &runtime);
                let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
                    Err("probing failed unexpectedly; the log says more".into())
                });
                job.send(finished(result));
            });
        if let Err(error) = spawned {
            let why = format!("the system gives no thread: {error}");
            let _ = messages.try_send(finished(Err(why)));
        }
    }
}

fn asked(
    job: &Job,
    parts: ProbeParts,
    cancel: &CancellationToken,
    runtime: &Handle,
) -> Result<Probed, String> {
    let model = job.model().map_err(|error| error.to_string())?;
    // A replayed reply is in the store already.
    let store = match model.identity().backend {
        BackendKind::Replay => None,
        _ => job.store(),
    };
    let request = ProbeRequest {
        instance: Instance {
            question: parts.question,
            condition: parts.condition,
            context: parts.context,
            prompt: parts.prompt,
            shape: parts.shape,
        },
        variants: parts.variants,
        templates: Arc::new(job.setup.templates.clone()),
        dataset: (
            parts.dataset.name.clone(),
            parts.dataset.fingerprint.clone(),
        ),
        model,
        sampling: job.setup.sampling.clone(),
        repeats: 1,
        store,
    };
    // One key stops it, and at once.
    let control = Control {
        stop: cancel.clone(),
        now: cancel.clone(),
    };
    let ticket = parts.ticket;
    let found = runtime.block_on(probe(&request, &control, &mut |done, total| {
        let event = ProbeEvent::Progress(done, total);
        // One that gets lost is followed by a newer one.
        let _ = job.messages.try_send(Message::Probe { ticket, event });
    }))?;
    let all = std::iter::once(&found.base).chain(&found.variants);
    Ok(Probed {
        tried: all
            .map(|one| tried(one, &found.base.context, &parts.dataset))
            .collect(),
        verdict: found.verdict,
    })
}

fn tried(one: &Asked, composed: &Context, dataset: &Dataset) -> Tried {
    Tried {
        change: one.name.clone(),
        said: one.tried.describe(),
        effect: one.effect,
        reasons: why(one, composed, dataset),
    }
}

/// What the reply itself says about why, or why there is none.
fn why(one: &Asked, composed: &Context, dataset: &Dataset) -> Vec<String> {
    let Some(record) = one.records.first() else {
        return Vec::new();
    };
    let Some(parsed) = &record.parsed else {
        let message = record.failure.get("message");
        let message = message.and_then(|text| text.as_str());
        return message.map(str::to_owned).into_iter().collect();
    };
    let original = |id: &str| original_text(dataset, &record.question.id, id);
    let contexts = (&one.context, composed);
    reasons(&record.question, contexts, parsed, &original)
}
