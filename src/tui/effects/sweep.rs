//! Sweeps of the explorer: what one would ask, and running one, by the engine that the command uses.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use crate::data::dataset::Dataset;
use crate::data::store::{RunLock, Store};
use crate::domain::context::Condition;
use crate::domain::cost::Cost;
use crate::engine::sweep::{
    Control, Ended, Limits, Plan, Progress, Stopped, Summary, Sweep, drive, plan, summarise,
};
use crate::model::{ChatModel, FailureKind, Sampling};
use crate::tui::Prices;
use crate::tui::app::Ticket;
use crate::tui::app::plan::{Estimate, EstimatedCondition, SweepRequest, TimeEstimate};
use crate::tui::app::sweep::{SweepEnd, SweepProgress};
use crate::tui::effects::Job;
use crate::tui::message::{Message, SweepEvent};

/// The most calls at a time, as the command has it.
const CONCURRENCY: usize = 64;

/// Calls at a time that a sweep starts with at most.
const FIRST_CALLS: usize = 32;

/// Shortest time between two reports of progress.
const BETWEEN: Duration = Duration::from_millis(100);

/// Runs that are looked through for earlier replies of a model.
const RUNS_TIMED: usize = 4;

/// The sweep that runs, and the planning that waits.
#[derive(Default)]
pub(super) struct Sweeps {
    planner: Arc<Mutex<Planner>>,
    models: Arc<Models>,
    running: Option<(Ticket, Control)>,
}

/// One planning at a time; of those that wait only the newest.
#[derive(Default)]
struct Planner {
    busy: bool,
    waiting: Option<(Ticket, Arc<Dataset>, SweepRequest)>,
}

/// A model that stays open besides the explorer's own, by its name.
pub(super) type Models = Mutex<Option<(String, Arc<dyn ChatModel>)>>;

impl Sweeps {
    /// Models that stay open besides the explorer's own.
    pub(super) fn models(&self) -> Arc<Models> {
        Arc::clone(&self.models)
    }

    /// Finds out what a sweep would ask.
    pub(super) fn estimate(
        &self,
        job: Job,
        ticket: Ticket,
        dataset: Arc<Dataset>,
        request: SweepRequest,
    ) {
        let planner = Arc::clone(&self.planner);
        {
            let mut planner = planner.lock().unwrap_or_else(PoisonError::into_inner);
            planner.waiting = Some((ticket, dataset, request));
            if std::mem::replace(&mut planner.busy, true) {
                return;
            }
        }
        let models = Arc::clone(&self.models);
        let messages = job.messages.clone();
        let freed = Arc::clone(&self.planner);
        let spawned = std::thread::Builder::new()
            .name("plan sweep".into())
            .spawn(move || {
                while let Some((ticket, dataset, request)) = next(&planner) {
                    let work = || estimated(&job, &models, dataset, &request);
                    let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
                        Err("planning failed unexpectedly; the log says more".into())
                    });
                    job.send(Message::Estimate {
                        ticket,
                        result: result.map(Box::new),
                    });
                }
            });
        if let Err(error) = spawned {
            let mut planner = freed.lock().unwrap_or_else(PoisonError::into_inner);
            planner.busy = false;
            let result = Err(format!("the system gives no thread: {error}"));
            let _ = messages.try_send(Message::Estimate { ticket, result });
        }
    }

    /// Starts a sweep on a thread of its own. It ends with exactly one `Finished`.
    pub(super) fn start(
        &mut self,
        job: Job,
        runtime: Handle,
        ticket: Ticket,
        dataset: Arc<Dataset>,
        request: SweepRequest,
    ) {
        let control = Control::default();
        self.running = Some((ticket, control.clone()));
        let models = Arc::clone(&self.models);
        let messages = job.messages.clone();
        let spawned = std::thread::Builder::new()
            .name("sweep".into())
            .spawn(move || {
                let task = Task {
                    job: &job,
                    ticket,
                    control: &control,
                    runtime: &runtime,
                };
                let work = || task.run(&models, dataset, &request);
                let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
                    Err("the sweep failed unexpectedly; the log says more".into())
                });
                task.send(SweepEvent::Finished(result.map(Box::new)));
            });
        if let Err(error) = spawned {
            let why = format!("the system gives no thread: {error}");
            let event = SweepEvent::Finished(Err(why));
            let _ = messages.try_send(Message::Sweep { ticket, event });
        }
    }

    /// No new calls; with `now` those under way are stopped too.
    pub(super) fn stop(&self, ticket: Ticket, now: bool) {
        if let Some((running, control)) = &self.running
            && *running == ticket
        {
            control.stop.cancel();
            if now {
                control.now.cancel();
            }
        }
    }

    /// Stops everything at once; what has come of calls under way is stored as interrupted.
    pub(super) fn shut_down(&mut self) {
        if let Some((_, control)) = self.running.take() {
            control.stop.cancel();
            control.now.cancel();
        }
    }
}

/// The newest that waits; none frees the planner.
fn next(planner: &Mutex<Planner>) -> Option<(Ticket, Arc<Dataset>, SweepRequest)> {
    let mut planner = planner.lock().unwrap_or_else(PoisonError::into_inner);
    let next = planner.waiting.take();
    planner.busy = next.is_some();
    next
}

/// The model of this name: the explorer's own, or another that stays open until the next.
pub(super) fn open(job: &Job, models: &Models, name: &str) -> Result<Arc<dyn ChatModel>, String> {
    let setup = &job.setup;
    if name == setup.model.name {
        return job.model().map_err(|error| error.to_string());
    }
    let mut slot = models.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, model)) = &*slot
        && known == name
    {
        return Ok(Arc::clone(model));
    }
    // Two local models in memory at once are one too many.
    *slot = None;
    let model = (setup.shelf.open)(name).map_err(|error| error.to_string())?;
    *slot = Some((name.to_owned(), Arc::clone(&model)));
    Ok(model)
}

/// Everything that a sweep needs.
fn prepared(
    job: &Job,
    models: &Models,
    dataset: Arc<Dataset>,
    request: &SweepRequest,
) -> Result<(Sweep, Prices), String> {
    let model = open(job, models, &request.model)?;
    let (sampling, prices): (Sampling, Prices) = (job.setup.shelf.settings)(&request.model);
    let all = dataset.questions.len();
    let sweep = Sweep {
        company: vec![model.identity().name.clone()],
        questions: (0..all.min(request.limit.unwrap_or(all))).collect(),
        dataset,
        templates: Arc::new(job.setup.templates.clone()),
        model,
        sampling,
        run: request.run.clone(),
        conditions: request.conditions.kept.clone(),
        concurrency: CONCURRENCY,
        limits: Limits::default(),
        only_failed: false,
        append: false,
        reuse: false,
    };
    Ok((sweep, prices))
}

fn estimated(
    job: &Job,
    models: &Models,
    dataset: Arc<Dataset>,
    request: &SweepRequest,
) -> Result<Estimate, String> {
    let (sweep, prices) = prepared(job, models, dataset, request)?;
    let store = job.reading()?;
    let plan = plan(&sweep, store.as_ref(), &|_| {})?;
    let mut estimate = estimate_of(&sweep, &plan, prices, request);
    estimate.time = store.and_then(|store| time(&store, &sweep, plan.todo.len()));
    Ok(estimate)
}

fn estimate_of(sweep: &Sweep, plan: &Plan, prices: Prices, request: &SweepRequest) -> Estimate {
    let identity = sweep.model.identity();
    let (to_ask, tokens) = (plan.todo.len(), plan.tokens_to_ask());
    let mut notes = plan.notes.clone();
    let mut said: Vec<String> = request
        .conditions
        .left_out
        .iter()
        .map(|(cell, why)| format!("{}: {why}", words(cell)))
        .collect();
    said.dedup();
    notes.append(&mut said);
    Estimate {
        model: identity.name.clone(),
        caution: identity.caution.clone(),
        questions: sweep.space().question_count(),
        conditions: plan
            .conditions
            .iter()
            .map(|planned| EstimatedCondition {
                condition: planned.counts.condition,
                instances: planned.counts.instances,
                without: planned.counts.nothing_to_use,
                short: planned.counts.short,
                overflow: planned.counts.overflow,
                done: planned.done,
                to_ask: planned.to_ask,
                tokens: planned.tokens_to_ask,
            })
            .collect(),
        instances: plan.instances(),
        done: plan.done(),
        to_ask,
        tokens,
        max_tokens: sweep.sampling.max_tokens,
        concurrency: sweep.ceiling(),
        cost: Cost::of((to_ask, tokens), sweep.sampling.max_tokens, prices),
        prices,
        time: None,
        notes,
    }
}

fn words(cell: &Condition) -> String {
    format!(
        "{} with n = {}, p = {} % is left out",
        cell.scenario, cell.docs, cell.p
    )
}

/// How long the calls will take by the newest runs that hold replies of this model.
fn time(store: &Store, sweep: &Sweep, calls: usize) -> Option<TimeEstimate> {
    let name = &sweep.model.identity().name;
    let runs = store.runs().ok()?;
    let of_model = runs.iter().filter(|run| run.models.contains(name));
    let mut seconds = Vec::new();
    for run in of_model.take(RUNS_TIMED) {
        let page = store.page_of_run(&run.name, 0).ok()?;
        let replies = page.records.iter().filter(|one| one.model_name == *name);
        seconds.extend(replies.filter_map(|record| {
            let total = record.reply.get("timing")?.get("total_ms")?.as_f64()?;
            Some(total / 1000.0)
        }));
    }
    if seconds.is_empty() {
        return None;
    }
    let per_reply = seconds.iter().sum::<f64>() / seconds.len() as f64;
    let at_once = sweep.ceiling().min(FIRST_CALLS);
    Some(TimeEstimate {
        per_reply,
        replies: seconds.len(),
        seconds: per_reply * calls as f64 / at_once as f64,
    })
}

/// A sweep while it runs.
struct Task<'a> {
    job: &'a Job,
    ticket: Ticket,
    control: &'a Control,
    runtime: &'a Handle,
}

impl Task<'_> {
    fn send(&self, event: SweepEvent) {
        let ticket = self.ticket;
        self.job.send(Message::Sweep { ticket, event });
    }

    /// Sends what may get lost: a newer report follows.
    fn tell(&self, event: SweepEvent) {
        let ticket = self.ticket;
        let _ = self.job.messages.try_send(Message::Sweep { ticket, event });
    }

    fn run(
        &self,
        models: &Models,
        dataset: Arc<Dataset>,
        request: &SweepRequest,
    ) -> Result<SweepEnd, String> {
        let failed = |error: crate::data::store::StoreError| error.to_string();
        let path = self.job.setup.store.as_ref();
        let path = path.ok_or("this session stores nothing, so no sweep can run")?;
        let (sweep, prices) = prepared(self.job, models, dataset, request)?;
        let mut lock = RunLock::take(path, &sweep.run).map_err(failed)?;
        let store = Store::open(path).map_err(failed)?;
        let plan = self.planned(&sweep, &store)?;
        if plan.instances() == 0 {
            return Err("nothing can be asked: no question has documents for this grid".into());
        }
        self.send(SweepEvent::Planned(Box::new(estimate_of(
            &sweep, &plan, prices, request,
        ))));
        if !plan.todo.is_empty() {
            lock.log(&sweep.log_entry()).map_err(failed)?;
        }
        let mut last = None;
        let ended = self.runtime.block_on(drive(
            &sweep,
            &plan.todo,
            &store,
            self.control,
            &mut |progress: &Progress| {
                let now = Instant::now();
                if last.is_none_or(|last| now.duration_since(last) >= BETWEEN) {
                    last = Some(now);
                    self.tell(SweepEvent::Progress(Box::new(progress_of(progress))));
                }
            },
        ));
        let summary = summarise(&sweep, &plan, &store).map_err(failed)?;
        Ok(end_of(&ended, &summary))
    }

    fn planned(&self, sweep: &Sweep, store: &Store) -> Result<Plan, String> {
        let total = sweep.space().question_count();
        let last = Mutex::new(Instant::now());
        plan(sweep, Some(store), &|done| {
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            if last.elapsed() >= BETWEEN {
                *last = Instant::now();
                self.tell(SweepEvent::Planning(done, total));
            }
        })
    }
}

fn progress_of(progress: &Progress) -> SweepProgress {
    SweepProgress {
        total: progress.total,
        finished: progress.finished,
        replies: progress.replies,
        broken: progress.broken,
        failures: named(progress.failures.iter()),
        last_failure: progress.last_failure.clone(),
        retries: named(progress.retries.iter()),
        prompt_tokens: progress.prompt_tokens,
        completion_tokens: progress.completion_tokens,
        in_flight: progress.in_flight,
        limit: progress.limit,
        elapsed: progress.elapsed,
    }
}

/// Counts with the kinds' names.
fn named<'a, N: Copy + 'a>(
    counts: impl Iterator<Item = (&'a FailureKind, &'a N)>,
) -> Vec<(String, N)> {
    let name = |kind: &FailureKind| {
        let name = serde_json::to_value(kind).unwrap_or_default();
        name.as_str().unwrap_or("other").replace('_', " ")
    };
    counts.map(|(kind, count)| (name(kind), *count)).collect()
}

fn end_of(ended: &Ended, summary: &Summary) -> SweepEnd {
    let trouble = match &ended.stopped {
        Some(Stopped::ByUser) => None,
        Some(Stopped::GivenUp(why)) => {
            Some(format!("it gave up, since call after call failed: {why}"))
        }
        Some(Stopped::NotStored(why)) => Some(why.clone()),
        None if summary.replies() == 0 => {
            let last = ended.progress.last_failure.as_ref();
            let last = last.map_or_else(String::new, |why| format!("; the last one: {why}"));
            Some(format!(
                "nothing was measured: none of {} calls gave a reply{last}",
                summary.unavailable()
            ))
        }
        None => None,
    };
    SweepEnd {
        progress: progress_of(&ended.progress),
        by_user: ended.stopped == Some(Stopped::ByUser),
        trouble,
        replies: summary.replies(),
        missing: summary.missing(),
    }
}
