//! One call of a judge model.

use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::judge::JudgeRequest;
use crate::domain::answer::Ending;
use crate::domain::prompt::Prompt;
use crate::engine::ask::{GRACE, panicked};
use crate::engine::sweep::{Control, Pace};
use crate::model::tokens::estimate_prompt;
use crate::model::{ChatRequest, Delta, FailureKind, ModelError, Reply, ReplyForm};

/// Asks the judge once, as the limits allow; a panic of the model, a reply that broke off and a model that does not stop
/// when it is told to become failures. Once no new calls are wanted, a call that has not begun, and one that only waits
/// for another attempt, are given up.
pub(super) async fn call(
    request: &JudgeRequest,
    prompt: &Prompt,
    control: &Control,
) -> Result<Reply, ModelError> {
    if control.stop.is_cancelled() {
        return Err(stopped());
    }
    let chat = ChatRequest {
        prompt: prompt.clone(),
        form: ReplyForm::Judgement,
        sampling: request.sampling.clone(),
    };
    let tokens = estimate_prompt(prompt) + u64::from(request.sampling.max_tokens);
    wait_for_pace(&request.pace, tokens, &control.stop).await?;
    match asked(request, &chat, tokens, control).await {
        Ok(reply) if reply.ending == Ending::Interrupted => Err(ModelError::new(
            FailureKind::Network,
            "the judgement broke off",
        )),
        result => result,
    }
}

async fn asked(
    request: &JudgeRequest,
    chat: &ChatRequest,
    tokens: u64,
    control: &Control,
) -> Result<Reply, ModelError> {
    let given_up = control.now.child_token();
    let pause = Pause::default();
    let mut on_delta = |delta| {
        if let Delta::Retry { wait, hold, .. } = delta {
            let now = Instant::now();
            // Another attempt keeps to the limits as a call does.
            let wait = request.pace.reserve(tokens, now, wait);
            hold.at_least(wait);
            pause.begin(now, wait);
            if control.stop.is_cancelled() {
                given_up.cancel();
            }
        }
    };
    let reply =
        AssertUnwindSafe(async { request.model.reply(chat, &given_up, &mut on_delta).await })
            .catch_unwind();
    let overdue = async {
        given_up.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    let give_up_pauses = async {
        control.stop.cancelled().await;
        if pause.lasts() {
            given_up.cancel();
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        ended = reply => ended.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))),
        () = overdue => Err(stopped()),
        () = give_up_pauses => Err(stopped()),
    }
}

/// A model's wait between two attempts.
#[derive(Default)]
struct Pause(Mutex<Option<Instant>>);

impl Pause {
    fn begin(&self, now: Instant, wait: Duration) {
        let until = now.checked_add(wait);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    fn lasts(&self) -> bool {
        let until = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| until > Instant::now())
    }
}

pub(super) fn stopped() -> ModelError {
    ModelError::new(FailureKind::Cancelled, "stopped")
}

/// Waits until the limits per minute let a call of so many tokens start.
async fn wait_for_pace(
    pace: &Pace,
    tokens: u64,
    stop: &CancellationToken,
) -> Result<(), ModelError> {
    loop {
        let now = Instant::now();
        let ready = pace.ready(tokens, now);
        if ready <= now {
            pace.take(tokens, now);
            return Ok(());
        }
        tokio::select! {
            () = tokio::time::sleep_until(ready) => {}
            () = stop.cancelled() => return Err(stopped()),
        }
    }
}
