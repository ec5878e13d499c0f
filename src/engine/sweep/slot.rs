//! A model for one call of a sweep: it holds the call's permit as long as the call lasts, tells the limiter how it
//! went, and gives up waiting for another attempt once the sweep is to stop.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::engine::sweep::limiter::Permit;
use crate::engine::sweep::pace::Pace;
use crate::model::{ChatModel, ChatRequest, Delta, FailureKind, ModelError, ModelIdentity, Reply};

/// Failed attempts that were made again, and calls that wait until they are.
#[derive(Debug, Clone, Default)]
pub(super) struct Retries(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    counts: BTreeMap<FailureKind, u64>,
    /// Calls that wait, by their number: until when, and what made them.
    waits: HashMap<u64, (Instant, FailureKind)>,
    /// Calls that no word has come of yet, by their number: since when.
    silent: HashMap<u64, Instant>,
    /// Calls begun so far.
    calls: u64,
}

/// Calls that wait for another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waits {
    /// How many.
    pub(super) calls: usize,
    /// Time until the first of them goes on.
    pub(super) left: Duration,
    /// What made that one wait.
    pub(super) kind: FailureKind,
}

/// Calls that the server has said nothing to yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Silence {
    /// How many.
    pub(super) calls: usize,
    /// For how long the first of them has waited.
    pub(super) longest: Duration,
}

impl Retries {
    /// The counts so far.
    pub(super) fn counts(&self) -> BTreeMap<FailureKind, u64> {
        self.state().counts.clone()
    }

    /// The calls that wait now; `None` where none does.
    pub(super) fn waits(&self, now: Instant) -> Option<Waits> {
        let state = self.state();
        let waiting = || state.waits.values().filter(|(until, _)| *until > now);
        let (until, kind) = waiting().min_by_key(|(until, _)| *until)?;
        Some(Waits {
            calls: waiting().count(),
            left: until.duration_since(now),
            kind: *kind,
        })
    }

    /// The calls that have heard nothing yet; `None` where all have.
    pub(super) fn silence(&self, now: Instant) -> Option<Silence> {
        let state = self.state();
        let asked = || state.silent.values().filter(|since| **since <= now);
        let first = asked().min()?;
        Some(Silence {
            calls: asked().count(),
            longest: now.duration_since(*first),
        })
    }

    /// A call begins.
    fn call(&self) -> Call<'_> {
        let mut state = self.state();
        state.calls += 1;
        let number = state.calls;
        state.silent.insert(number, Instant::now());
        Call {
            retries: self,
            number: state.calls,
        }
    }

    /// A panic elsewhere leaves plain numbers behind.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call while it lasts.
struct Call<'a> {
    retries: &'a Retries,
    number: u64,
}

impl Call<'_> {
    /// An attempt has failed; the next one comes after a wait.
    fn failed(&self, kind: FailureKind, wait: Duration) {
        let now = Instant::now();
        let until = now.checked_add(wait).unwrap_or(now);
        let mut state = self.retries.state();
        *state.counts.entry(kind).or_default() += 1;
        state.waits.insert(self.number, (until, kind));
        state.silent.insert(self.number, until);
    }

    /// The server has begun to reply.
    fn heard(&self) {
        self.retries.state().silent.remove(&self.number);
    }

    fn waits(&self) -> bool {
        let state = self.retries.state();
        let until = state.waits.get(&self.number).map(|(until, _)| *until);
        until.is_some_and(|until| until > Instant::now())
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let mut state = self.retries.state();
        state.waits.remove(&self.number);
        state.silent.remove(&self.number);
    }
}

/// The model, for one call. The permit goes back when the model is done, before the reply is stored, so that
/// storing does not keep the server waiting.
pub(super) struct Slot {
    model: Arc<dyn ChatModel>,
    permit: Mutex<Option<Permit>>,
    retries: Retries,
    /// Where further attempts are counted, and how many tokens each is.
    pace: (Pace, u64),
    /// No new calls: a call that waits for another attempt is given up, since nothing of it is under way.
    stop: CancellationToken,
}

impl Slot {
    pub(super) fn new(
        model: Arc<dyn ChatModel>,
        permit: Permit,
        retries: Retries,
        stop: CancellationToken,
    ) -> Slot {
        Slot {
            model,
            permit: Mutex::new(Some(permit)),
            retries,
            pace: (Pace::default(), 0),
            stop,
        }
    }

    /// Further attempts count for the limits per minute, as so many tokens each.
    pub(super) fn paced(self, pace: Pace, tokens: u64) -> Slot {
        Slot {
            pace: (pace, tokens),
            ..self
        }
    }

    async fn run(
        &self,
        request: &ChatRequest,
        cancel: &CancellationToken,
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Reply, ModelError> {
        let permit = self
            .permit
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let call = self.retries.call();
        let given_up = cancel.child_token();
        let mut began = Instant::now();
        let mut accepted = false;
        let result = {
            let mut watch = |delta: Delta| {
                if let Delta::Retry {
                    kind,
                    status,
                    wait,
                    ref hold,
                } = delta
                {
                    let (pace, tokens) = &self.pace;
                    let wait = pace.reserve(*tokens, tokio::time::Instant::now(), wait);
                    hold.at_least(wait);
                    call.failed(kind, wait);
                    if let Some(permit) = permit.as_ref().filter(|_| is_overload(kind, status)) {
                        permit.overloaded(began);
                    }
                    began = Instant::now();
                    accepted = false;
                    if self.stop.is_cancelled() {
                        given_up.cancel();
                    }
                } else if matches!(delta, Delta::Text(_) | Delta::Reasoning(_)) && !accepted {
                    // A server that has begun to reply bears the load; long replies must not delay saying so.
                    accepted = true;
                    call.heard();
                    if let Some(permit) = &permit {
                        permit.succeeded();
                    }
                }
                on_delta(delta);
            };
            let mut reply = self.model.reply(request, &given_up, &mut watch);
            tokio::select! {
                biased;
                ended = &mut reply => ended,
                () = self.stop.cancelled() => {
                    if call.waits() {
                        given_up.cancel();
                    }
                    reply.await
                }
            }
        };
        match (&result, &permit) {
            (Ok(_), Some(permit)) if !accepted => permit.succeeded(),
            (Err(error), Some(permit)) if is_overload(error.kind, error.status) => {
                permit.overloaded(began);
            }
            _ => {}
        }
        result
    }
}

impl ChatModel for Slot {
    fn identity(&self) -> &ModelIdentity {
        self.model.identity()
    }

    fn identify(&self, request: &ChatRequest) -> Option<serde_json::Value> {
        self.model.identify(request)
    }

    fn patience(&self) -> Option<Duration> {
        self.model.patience()
    }

    fn reply<'a>(
        &'a self,
        request: &'a ChatRequest,
        cancel: &'a CancellationToken,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        self.run(request, cancel, on_delta).boxed()
    }
}

/// Whether the server says that it gets too much: 429, 503, or 529 as some use it.
fn is_overload(kind: FailureKind, status: Option<u16>) -> bool {
    kind == FailureKind::RateLimited || matches!(status, Some(503 | 529))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::data::dataset::Dataset;
    use crate::domain::answer::Ending;
    use crate::domain::context::Condition;
    use crate::domain::prompt::Templates;
    use crate::engine::ask::{AskRequest, ask};
    use crate::engine::instance::instance;
    use crate::engine::sweep::limiter::Limiter;
    use crate::model::{BackendKind, Hold, Sampling};

    /// Retries once for this reason, then gives this result.
    struct Once {
        identity: ModelIdentity,
        retry: Option<(FailureKind, Option<u16>)>,
        fails: Option<(FailureKind, Option<u16>)>,
        wait: Duration,
    }

    impl ChatModel for Once {
        fn identity(&self) -> &ModelIdentity {
            &self.identity
        }

        fn reply<'a>(
            &'a self,
            _: &'a ChatRequest,
            cancel: &'a CancellationToken,
            on_delta: &'a mut (dyn FnMut(Delta) + Send),
        ) -> BoxFuture<'a, Result<Reply, ModelError>> {
            async move {
                if let Some((kind, status)) = self.retry {
                    on_delta(Delta::Retry { kind, status, wait: self.wait, hold: Hold::default() });
                    tokio::select! {
                        () = cancel.cancelled() => return Err(ModelError::new(FailureKind::Cancelled, "given up")),
                        () = tokio::time::sleep(self.wait) => {}
                    }
                }
                match self.fails {
                    Some((kind, status)) => Err(ModelError {
                        status,
                        ..ModelError::new(kind, "no")
                    }),
                    None => Ok(Reply {
                        ending: Ending::Complete,
                        ..Reply::nothing()
                    }),
                }
            }
            .boxed()
        }
    }

    /// The limit and the retries after one call.
    async fn after(
        retry: Option<(FailureKind, Option<u16>)>,
        fails: Option<(FailureKind, Option<u16>)>,
    ) -> (usize, BTreeMap<FailureKind, u64>) {
        let limiter = Limiter::new(8);
        let retries = Retries::default();
        let model = Once {
            identity: ModelIdentity {
                name: "once".into(),
                backend: BackendKind::Http,
                detail: String::new(),
                caution: None,
                window: None,
                replayed: Vec::new(),
            },
            retry,
            fails,
            wait: Duration::ZERO,
        };
        let slot = Arc::new(Slot::new(
            Arc::new(model),
            limiter.acquire().await,
            retries.clone(),
            CancellationToken::new(),
        ));
        let dataset = Dataset::sample().unwrap();
        let id = dataset.questions[0].id.clone();
        let instance = instance(&dataset, &Templates::default(), &id, &Condition::default());
        let request = AskRequest {
            instance: instance.unwrap(),
            dataset: (dataset.name.clone(), dataset.fingerprint.clone()),
            model: Arc::clone(&slot) as Arc<dyn ChatModel>,
            sampling: Sampling::default(),
            run: "r".into(),
            store: None,
        };
        ask(request, &CancellationToken::new(), &mut |_| Ok(()))
            .await
            .unwrap();
        let (in_flight, limit) = limiter.now();
        assert_eq!(in_flight, 0, "the permit is back although the slot lives");
        (limit, retries.counts())
    }

    #[tokio::test]
    async fn overloads_are_told_from_other_faults() {
        let limited = Some((FailureKind::RateLimited, Some(429)));
        let busy = Some((FailureKind::Server, Some(503)));
        let broken = Some((FailureKind::Server, Some(500)));
        assert_eq!(after(None, None).await, (8, BTreeMap::new()));
        assert_eq!(
            after(limited, None).await,
            (4, BTreeMap::from([(FailureKind::RateLimited, 1)]))
        );
        assert_eq!(after(busy, None).await.0, 4);
        assert_eq!(after(broken, broken).await.0, 8);
        assert_eq!(after(None, limited).await.0, 4);
        // The second attempt began after the first cut, so it says something new.
        assert_eq!(after(limited, limited).await.0, 2);
    }

    #[tokio::test]
    async fn a_call_that_only_waits_is_given_up_when_the_sweep_stops() {
        let waits_for_an_hour = || Once {
            identity: ModelIdentity {
                name: "once".into(),
                backend: BackendKind::Http,
                detail: String::new(),
                caution: None,
                window: None,
                replayed: Vec::new(),
            },
            retry: Some((FailureKind::RateLimited, Some(429))),
            fails: None,
            wait: Duration::from_secs(3_600),
        };
        for stopped_before in [false, true] {
            let limiter = Limiter::new(1);
            let (retries, stop) = (Retries::default(), CancellationToken::new());
            let slot = Slot::new(
                Arc::new(waits_for_an_hour()),
                limiter.acquire().await,
                retries.clone(),
                stop.clone(),
            );
            if stopped_before {
                stop.cancel();
            }
            let call = tokio::spawn(async move {
                let request = ChatRequest {
                    prompt: crate::domain::prompt::Prompt {
                        system: String::new(),
                        user: "u".into(),
                    },
                    form: crate::model::ReplyForm::Judgement,
                    sampling: Sampling::default(),
                };
                let cancel = CancellationToken::new();
                slot.reply(&request, &cancel, &mut |_| {}).await
            });
            if !stopped_before {
                let mut waits = None;
                while waits.is_none() {
                    tokio::task::yield_now().await;
                    waits = retries.waits(Instant::now());
                }
                assert_eq!(retries.silence(Instant::now()), None, "it is not asked now");
                let later = Instant::now() + Duration::from_secs(3_660);
                let silence = retries.silence(later).unwrap();
                assert_eq!(silence.calls, 1);
                assert!(silence.longest >= Duration::from_secs(59));
                let waits = waits.unwrap();
                assert_eq!((waits.calls, waits.kind), (1, FailureKind::RateLimited));
                assert!(waits.left > Duration::from_secs(3_000));
                stop.cancel();
            }
            let ended = tokio::time::timeout(Duration::from_secs(30), call).await;
            let error = ended.unwrap().unwrap().unwrap_err();
            assert_eq!(error.kind, FailureKind::Cancelled);
            assert_eq!(retries.waits(Instant::now()), None);
            assert_eq!(retries.silence(Instant::now()), None);
        }
    }
}
