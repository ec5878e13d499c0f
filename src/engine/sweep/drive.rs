//! Asking what is planned: as many calls at a time as the server bears, every reply stored before it counts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::data::store::{ReplyRecord, Store};
use crate::domain::plan::is_counted_reply;
use crate::domain::text::count;
use crate::engine::ask::ask_unseen;
use crate::engine::survey::Place;
use crate::engine::sweep::Sweep;
use crate::engine::sweep::ahead::{Next, compose_ahead};
use crate::engine::sweep::limiter::{Limiter, Permit};
use crate::engine::sweep::outage::{Outage, Streak, Verdict};
use crate::engine::sweep::slot::{Retries, Slot};
use crate::engine::sweep::waits::{Away, Locked, Silent, Waiting};
use crate::model::FailureKind;

/// Replies that may wait to be stored beyond the calls under way, and one for each call at most: a kill loses them,
/// so storing that falls behind must slow down asking.
const MOST_WAITING: usize = 64;

/// How often progress is told while nothing ends.
const TICK: Duration = Duration::from_millis(500);

/// A silence of a server that is told.
const LONG_SILENCE: Duration = Duration::from_secs(20);

/// How long replies wait for another program that holds the store: a large import takes minutes, and a sweep that goes on
/// for a night must not end for that.
pub(in crate::engine) const STORE_PATIENCE: Duration = Duration::from_secs(30 * 60);

/// Stops a sweep.
#[derive(Debug, Clone, Default)]
pub struct Control {
    /// No new calls; those under way finish.
    pub stop: CancellationToken,
    /// Stop the calls under way too; what has come of them is stored as interrupted.
    pub now: CancellationToken,
}

/// How far a sweep is.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Instances to be asked.
    pub total: usize,
    /// Instances asked and stored.
    pub finished: usize,
    /// Of these, replies that count.
    pub replies: usize,
    /// Of these, replies that broke off, or errors saved as replies: asked again when the sweep goes on.
    pub broken: usize,
    /// Of these, calls that gave no reply, by kind.
    pub failures: BTreeMap<FailureKind, usize>,
    /// What the last of them said, or why the last reply broke off.
    pub last_failure: Option<String>,
    /// Attempts that failed and were made again within a call, by kind.
    pub retries: BTreeMap<FailureKind, u64>,
    /// Prompt tokens as the backend reports them.
    pub prompt_tokens: u64,
    /// Reply tokens as the backend reports them.
    pub completion_tokens: u64,
    /// Replies whose tokens the backend did not report: they are missing in these sums.
    pub unmeasured: usize,
    /// Calls under way.
    pub in_flight: usize,
    /// How many there may be now.
    pub limit: usize,
    /// The most calls that were under way at a time.
    pub most_in_flight: usize,
    /// What everything waits for, where nothing moves.
    pub waiting: Option<Waiting>,
    /// A server that has said nothing for a while to calls under way.
    pub silence: Option<Silent>,
    /// Another program that holds the store.
    pub locked: Option<Locked>,
    /// A server that is away.
    pub away: Option<Away>,
    /// Time since the start.
    pub elapsed: Duration,
}

/// Why a sweep ended early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// The user asked for it.
    ByUser,
    /// Call after call failed: the last failure.
    GivenUp(String),
    /// Replies could not be stored: why, and where they are kept instead.
    NotStored(String),
}

/// How a sweep ended.
#[derive(Debug, Clone)]
pub struct Ended {
    /// The last progress.
    pub progress: Progress,
    /// Why it ended early; `None` where everything was asked.
    pub stopped: Option<Stopped>,
}

/// Asks what is planned and stores every reply in the sweep's run. `on_progress` is told after every reply and
/// now and then.
pub async fn drive(
    sweep: &Sweep,
    todo: &[Place],
    store: &Store,
    control: &Control,
    on_progress: &mut (dyn FnMut(&Progress) + Send),
) -> Ended {
    let mut driver = Driver {
        sweep,
        store,
        control,
        limiter: Limiter::new(sweep.ceiling()),
        retries: Retries::default(),
        tasks: JoinSet::new(),
        progress: Progress {
            total: todo.len(),
            ..Progress::default()
        },
        streak: Streak::default(),
        unstored: 0,
        stopped: None,
        next_at: None,
        started: Instant::now(),
    };
    store.wait_up_to(STORE_PATIENCE);
    driver.run(todo, on_progress).await;
    // Calls that waited for another attempt are given up when the user stops.
    let given_up = driver
        .progress
        .failures
        .contains_key(&FailureKind::Cancelled);
    if control.now.is_cancelled() || (control.stop.is_cancelled() && given_up) {
        driver.stopped.get_or_insert(Stopped::ByUser);
    }
    driver.say_where_unsaved_replies_are();
    driver.next_at = None;
    driver.observe();
    on_progress(&driver.progress);
    Ended {
        progress: driver.progress,
        stopped: driver.stopped,
    }
}

/// A record that is stored, or why it could not be.
type Stored = Result<Box<ReplyRecord>, String>;

struct Driver<'a> {
    sweep: &'a Sweep,
    store: &'a Store,
    control: &'a Control,
    limiter: Arc<Limiter>,
    retries: Retries,
    tasks: JoinSet<Stored>,
    progress: Progress,
    streak: Streak,
    /// Calls whose replies could not be stored.
    unstored: usize,
    stopped: Option<Stopped>,
    /// When the next call may start by the limits per minute, where that is not yet.
    next_at: Option<Instant>,
    started: Instant,
}

impl Driver<'_> {
    async fn run(&mut self, todo: &[Place], on_progress: &mut (dyn FnMut(&Progress) + Send)) {
        let mut ahead = compose_ahead(self.sweep, todo);
        let mut next: Option<Next> = None;
        let mut is_last = false;
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let ceiling = self.sweep.ceiling();
        let most_tasks = ceiling + MOST_WAITING.min(ceiling);
        loop {
            if self.store.has_refused() {
                // Said here, before the call has ended: no other may start meanwhile.
                self.stopped.get_or_insert_with(|| {
                    Stopped::NotStored("a reply could not be stored".to_owned())
                });
            }
            if self.stopped.is_some() {
                (next, is_last) = (None, true);
            }
            if self.control.stop.is_cancelled() {
                // Who wants to leave needs not wait for another program: what it keeps from the store goes into a file.
                self.store.wait_up_to(Duration::ZERO);
            }
            if next.is_none() && is_last && self.tasks.is_empty() {
                return;
            }
            let now = Instant::now();
            let ready = next
                .as_ref()
                .map_or(now, |next| self.sweep.pace.ready(next.tokens, now));
            self.next_at = (ready > now).then_some(ready);
            // A server that is away is tried by one call at a time.
            let away = self.streak.outage();
            let ready = away.map_or(ready, |outage| ready.max(outage.next));
            let room = match away {
                Some(_) => self.tasks.is_empty(),
                None => self.tasks.len() < most_tasks,
            };
            // A call that has ended made room before it is looked at here: filling that comes first.
            tokio::select! {
                biased;
                () = self.control.stop.cancelled(), if !is_last || next.is_some() => {
                    self.stopped = Some(Stopped::ByUser);
                }
                composed = ahead.recv(), if next.is_none() && !is_last => match composed {
                    Some(Ok(composed)) => next = Some(composed),
                    Some(Err(why)) => self.stopped = Some(Stopped::GivenUp(why)),
                    None => is_last = true,
                },
                () = tokio::time::sleep_until(ready), if next.is_some() && ready > now => {}
                permit = self.limiter.acquire(), if next.is_some() && ready <= now && room => {
                    if let Some(next) = next.take() {
                        self.start(next, permit);
                    }
                }
                Some(ended) = self.tasks.join_next() => {
                    self.take(ended);
                    while let Some(ended) = self.tasks.try_join_next() {
                        self.take(ended);
                    }
                    self.observe();
                    on_progress(&self.progress);
                }
                _ = tick.tick() => {
                    self.observe();
                    on_progress(&self.progress);
                }
            }
        }
    }

    /// Starts a call.
    fn start(&mut self, next: Next, permit: Permit) {
        self.streak.tries(Instant::now());
        let pace = self.sweep.pace.clone();
        pace.take(next.tokens, Instant::now());
        let model = Slot::new(
            Arc::clone(&self.sweep.model),
            permit,
            self.retries.clone(),
            self.control.stop.clone(),
        )
        .paced(pace, next.tokens);
        let store = Some(self.store.clone());
        let request = self
            .sweep
            .ask_request(next.instance, Arc::new(model), store);
        let cancel = self.control.now.clone();
        self.tasks
            .spawn(async move { ask_unseen(request, &cancel).await });
        let (in_flight, _) = self.limiter.now();
        self.progress.most_in_flight = self.progress.most_in_flight.max(in_flight);
    }

    /// Counts a call that has ended.
    fn take(&mut self, ended: Result<Stored, JoinError>) {
        let record = match ended {
            Ok(Ok(record)) => record,
            Ok(Err(why)) => {
                // The first reason is the one to tell.
                match &mut self.stopped {
                    Some(Stopped::NotStored(said)) if self.unstored == 0 => *said = why,
                    Some(_) => {}
                    None => self.stopped = Some(Stopped::NotStored(why)),
                }
                self.unstored += 1;
                return;
            }
            Err(error) => {
                self.stopped.get_or_insert(Stopped::GivenUp(format!(
                    "the program failed while it read or stored a reply ({error}); please report this"
                )));
                return;
            }
        };
        self.progress.finished += 1;
        let tokens = |key: &str| {
            let usage = record.reply.get("usage");
            usage.and_then(|usage| usage.get(key)?.as_u64())
        };
        let (prompt, completion) = (tokens("prompt_tokens"), tokens("completion_tokens"));
        self.progress.prompt_tokens += prompt.unwrap_or(0);
        self.progress.completion_tokens += completion.unwrap_or(0);
        let is_reply = record.failure.is_null();
        if is_reply && (prompt.is_none() || completion.is_none()) {
            self.progress.unmeasured += 1;
        }
        let outcome = record.parsed.as_ref().map(|parsed| parsed.outcome);
        if is_counted_reply(outcome) {
            self.progress.replies += 1;
            self.streak.reply();
        } else if outcome.is_some() {
            self.progress.broken += 1;
            let why = record.reply.get("broke_off").and_then(|why| why.as_str());
            if let Some(why) = why {
                self.progress.last_failure = Some(why.to_owned());
            }
        } else {
            self.failed(&record);
        }
    }

    fn failed(&mut self, record: &ReplyRecord) {
        let kind = record
            .failure
            .get("kind")
            .and_then(|kind| serde_json::from_value(kind.clone()).ok())
            .unwrap_or(FailureKind::Local);
        *self.progress.failures.entry(kind).or_default() += 1;
        let message = record.failure.get("message").and_then(|text| text.as_str());
        let message = message.unwrap_or_default().to_owned();
        let verdict = self
            .streak
            .failed(kind, self.sweep.ceiling(), Instant::now());
        if verdict == Verdict::Hopeless {
            self.stopped
                .get_or_insert_with(|| Stopped::GivenUp(message.clone()));
        }
        self.progress.last_failure = Some(message);
    }

    /// Brings the figures up to date that change without an end of a call.
    fn observe(&mut self) {
        (self.progress.in_flight, self.progress.limit) = self.limiter.now();
        self.progress.retries = self.retries.counts();
        self.progress.elapsed = self.started.elapsed();
        self.progress.waiting = self.waiting();
        self.progress.silence = self.silence();
        self.progress.away = self.streak.outage().map(|outage| Away {
            since: outage.since.elapsed(),
            next: outage.next.saturating_duration_since(Instant::now()),
            most: Outage::most(),
        });
        let locked = self.store.waits();
        self.progress.locked = locked.map(|(waited, most)| Locked { waited, most });
    }

    /// A silence that is longer than usual.
    fn silence(&self) -> Option<Silent> {
        let patience = self.sweep.model.patience()?;
        let silence = self.retries.silence(std::time::Instant::now())?;
        (silence.longest >= LONG_SILENCE).then_some(Silent {
            calls: silence.calls,
            longest: silence.longest,
            patience,
        })
    }

    /// What everything waits for; `None` while a call is under way that gets a reply, or has been given none yet.
    fn waiting(&self) -> Option<Waiting> {
        if self.progress.in_flight == 0 {
            let left = self.next_at?.saturating_duration_since(Instant::now());
            return (!left.is_zero()).then_some(Waiting {
                calls: 0,
                left,
                kind: None,
            });
        }
        let waits = self.retries.waits(std::time::Instant::now())?;
        (waits.calls >= self.progress.in_flight).then_some(Waiting {
            calls: waits.calls,
            left: waits.left,
            kind: Some(waits.kind),
        })
    }

    /// Names the file once, for all replies that lie in it.
    fn say_where_unsaved_replies_are(&mut self) {
        if let (Some(Stopped::NotStored(why)), Some(unsaved)) =
            (&mut self.stopped, self.store.unsaved())
        {
            let are = if unsaved.replies == 1 { "is" } else { "are" };
            *why = format!(
                "{} could not be stored, but {are} kept in {file}: {}; once the store can be written again, `medrgb runs import {file}` takes them in, and the same command goes on",
                count(unsaved.replies, "reply"),
                unsaved.why,
                file = unsaved.file.display(),
            );
        }
    }
}
