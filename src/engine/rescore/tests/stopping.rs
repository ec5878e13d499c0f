//! A judge that is stopped.

use super::*;

#[tokio::test]
async fn stopping_keeps_what_was_judged() {
    let Place { _dir, store } = place();
    let model = Judge::new(&[
        ("5mg", Ok(FULL)),
        ("women", Ok(FULL)),
        ("the aorta", Ok(FULL)),
    ]);
    let mut one = request(&store, model.clone());
    one.concurrency = 1;
    let cancel = Control::default();
    let trigger = cancel.clone();
    let stopped = judge_run(one, &cancel, &mut |_, _| trigger.stop.cancel()).await;
    assert!(matches!(stopped, Err(JudgeTrouble::Stopped)));
    assert_eq!(store.judgements_of_run("night", "gpt").unwrap().len(), 1);
    assert_eq!(judge(request(&store, model)).await.unwrap(), 2);
}

/// A judge whose calls begin, and end when they are let or cancelled.
struct Slow {
    identity: ModelIdentity,
    begun: tokio::sync::Semaphore,
    let_end: tokio::sync::Semaphore,
    /// Every call waits for another attempt instead.
    retries: bool,
}

impl ChatModel for Slow {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn reply<'a>(
        &'a self,
        _request: &'a ChatRequest,
        cancel: &'a CancellationToken,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        async move {
            if self.retries {
                on_delta(Delta::Retry {
                    kind: FailureKind::Server,
                    status: None,
                    wait: std::time::Duration::from_secs(3_600),
                    hold: Hold::default(),
                });
            }
            self.begun.add_permits(1);
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(ModelError::new(FailureKind::Cancelled, "stopped")),
                permit = self.let_end.acquire() => {
                    permit.unwrap().forget();
                    Ok(Reply { text: FULL.into(), ..Reply::nothing() })
                }
            }
        }
        .boxed()
    }
}

fn slow(retries: bool) -> Arc<Slow> {
    Arc::new(Slow {
        identity: Judge::new(&[]).identity.clone(),
        begun: tokio::sync::Semaphore::new(0),
        let_end: tokio::sync::Semaphore::new(0),
        retries,
    })
}

/// Stops a judge of whose three calls two are under way, and lets them end where `then` asks for nothing else.
async fn stop_in_the_middle(store: &Store, model: &Arc<Slow>, then: impl FnOnce(&Control)) {
    let mut two = request(store, Arc::clone(model) as Arc<dyn ChatModel>);
    two.concurrency = 2;
    let control = Control::default();
    let stop = async {
        model.begun.acquire_many(2).await.unwrap().forget();
        control.stop.cancel();
        then(&control);
        // The calls hear of it before they may end.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        model.let_end.add_permits(2);
    };
    let mut ignore = |_, _| {};
    let judging = judge_run(two, &control, &mut ignore);
    let (stopped, ()) = tokio::join!(judging, stop);
    assert!(matches!(stopped, Err(JudgeTrouble::Stopped)), "{stopped:?}");
    assert_eq!(model.begun.available_permits(), 0, "no new call");
}

#[tokio::test]
async fn calls_under_way_finish_unless_the_judge_is_to_end_now() {
    let judged = |store: &Store| store.judgements_of_run("night", "gpt").unwrap().len();
    let Place { _dir, store } = place();
    stop_in_the_middle(&store, &slow(false), |_| {}).await;
    assert_eq!(judged(&store), 2);
    let Place { _dir, store } = place();
    stop_in_the_middle(&store, &slow(false), |control| control.now.cancel()).await;
    assert_eq!(judged(&store), 0);
    // Of calls that only wait for another attempt nothing is under way.
    let Place { _dir, store } = place();
    let pausing = slow(true);
    stop_in_the_middle(&store, &pausing, |_| {}).await;
    assert_eq!(judged(&store), 0);
    assert_eq!(pausing.let_end.available_permits(), 2);
}
