//! A model for one call of a sweep: it holds the call's permit as long as the call lasts, and tells the
//! limiter how it went.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::engine::sweep::limiter::Permit;
use crate::model::{ChatModel, ChatRequest, Delta, FailureKind, ModelError, ModelIdentity, Reply};

/// Failed attempts that were made again, by kind.
#[derive(Debug, Clone, Default)]
pub(super) struct Retries(Arc<Mutex<BTreeMap<FailureKind, u64>>>);

impl Retries {
    fn add(&self, kind: FailureKind) {
        *self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(kind)
            .or_default() += 1;
    }

    /// The counts so far.
    pub(super) fn counts(&self) -> BTreeMap<FailureKind, u64> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// The model, for one call. The permit goes back when the model is done, before the reply is stored, so that
/// storing does not keep the server waiting.
pub(super) struct Slot {
    model: Arc<dyn ChatModel>,
    permit: Mutex<Option<Permit>>,
    retries: Retries,
}

impl Slot {
    pub(super) fn new(model: Arc<dyn ChatModel>, permit: Permit, retries: Retries) -> Slot {
        Slot {
            model,
            permit: Mutex::new(Some(permit)),
            retries,
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
        let mut began = Instant::now();
        let mut accepted = false;
        let mut watch = |delta: Delta| {
            if let Delta::Retry { kind, status } = delta {
                self.retries.add(kind);
                if let Some(permit) = permit.as_ref().filter(|_| is_overload(kind, status)) {
                    permit.overloaded(began);
                }
                began = Instant::now();
                accepted = false;
            } else if matches!(delta, Delta::Text(_) | Delta::Reasoning(_)) && !accepted {
                // A server that has begun to reply bears the load; long replies must not delay saying so.
                accepted = true;
                if let Some(permit) = &permit {
                    permit.succeeded();
                }
            }
            on_delta(delta);
        };
        let result = self.model.reply(request, cancel, &mut watch).await;
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
    use crate::model::{BackendKind, Sampling};

    /// Retries once for this reason, then gives this result.
    struct Once {
        identity: ModelIdentity,
        retry: Option<(FailureKind, Option<u16>)>,
        fails: Option<(FailureKind, Option<u16>)>,
    }

    impl ChatModel for Once {
        fn identity(&self) -> &ModelIdentity {
            &self.identity
        }

        fn reply<'a>(
            &'a self,
            _: &'a ChatRequest,
            _: &'a CancellationToken,
            on_delta: &'a mut (dyn FnMut(Delta) + Send),
        ) -> BoxFuture<'a, Result<Reply, ModelError>> {
            async move {
                if let Some((kind, status)) = self.retry {
                    on_delta(Delta::Retry { kind, status });
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
            },
            retry,
            fails,
        };
        let slot = Arc::new(Slot::new(
            Arc::new(model),
            limiter.acquire().await,
            retries.clone(),
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
}
