//! Sweeps of the explorer: what one would ask, and running one, by the engine that the command uses.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;

use crate::data::dataset::Dataset;
use crate::data::store::Store;
use crate::engine::sweep::{
    AskedModel, Control, Limits, Noted, Order, Plan, Sweep, chosen_questions, plan,
};
use crate::model::ChatModel;
use crate::tui::app::Ticket;
use crate::tui::app::plan::SweepRequest;
use crate::tui::effects::Job;
use crate::tui::effects::sweep::estimate::estimated;
use crate::tui::effects::sweep::task::Task;
use crate::tui::message::{Message, SweepEvent};
use crate::tui::{ModelSettings, Prices};

mod estimate;
mod task;

/// The most calls at a time, as the command has it.
const CONCURRENCY: usize = 64;

/// The seed by which a sample is drawn: the command's, where no flag gives one.
const SAMPLE_SEED: u64 = 0;

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

/// Models that stay open besides the explorer's own, by their names.
pub(super) type Models = Mutex<Vec<(String, Arc<dyn ChatModel>)>>;

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

/// The models of these names: the explorer's own, and others that stay open until the next request that doesn't
/// name them.
pub(super) fn open(
    job: &Job,
    models: &Models,
    names: &[String],
) -> Result<Vec<Arc<dyn ChatModel>>, String> {
    let setup = &job.setup;
    let mut kept = models.lock().unwrap_or_else(PoisonError::into_inner);
    // Local models fill the memory: those that nobody asks for any more are let go first.
    kept.retain(|(name, _)| names.contains(name));
    names
        .iter()
        .map(|name| {
            if *name == setup.model.name {
                return job.model().map_err(|error| error.to_string());
            }
            if let Some((_, model)) = kept.iter().find(|(known, _)| known == name) {
                return Ok(Arc::clone(model));
            }
            let model = (setup.shelf.open)(name).map_err(|error| error.to_string())?;
            kept.push((name.clone(), Arc::clone(&model)));
            Ok(model)
        })
        .collect()
}

/// A sweep of the request, what it costs, and once it is planned its plan.
struct Part {
    sweep: Sweep,
    prices: Prices,
    plan: Plan,
}

/// Everything that the sweeps of a request need, planned one after another: all repeats of the first model, then those
/// of the next.
fn planned(
    job: &Job,
    models: &Models,
    dataset: Arc<Dataset>,
    request: &SweepRequest,
    store: Option<&Store>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<Part>, String> {
    let opened = open(job, models, &request.models)?;
    let settings: Vec<ModelSettings> = request
        .models
        .iter()
        .map(|name| (job.setup.shelf.settings)(name))
        .collect();
    let asked: Vec<AskedModel> = opened
        .into_iter()
        .zip(&settings)
        .map(|(model, settings)| {
            let limits = Limits {
                requests_per_minute: settings.per_minute.0,
                tokens_per_minute: settings.per_minute.1,
            };
            AskedModel::new(model, settings.sampling.clone(), limits)
        })
        .collect();
    let order = Order {
        questions: chosen_questions(&dataset, request.limit, request.sample, SAMPLE_SEED)
            .map_err(|why| format!("sample: {why}"))?,
        datasets: vec![dataset.fingerprint.clone()],
        noted: Noted {
            judge: request.judge.clone(),
            limit: request.limit,
            sample: request.sample,
        },
        dataset,
        templates: Arc::new(job.setup.templates.clone()),
        run: request.run.clone(),
        conditions: request.conditions.kept.clone(),
        repeats: request.repeats,
        concurrency: CONCURRENCY,
        only_failed: false,
        append: false,
        reuse: request.reuse,
    };
    let sweeps = order.sweeps(&asked);
    let (total, count) = (order.questions.len() * sweeps.len(), order.questions.len());
    sweeps
        .into_iter()
        .enumerate()
        .map(|(at, (model, sweep))| {
            let plan = plan(&sweep, store, &|done| progress(at * count + done, total))?;
            let prices = settings.get(model).map_or((None, None), |one| one.prices);
            Ok(Part {
                sweep,
                prices,
                plan,
            })
        })
        .collect()
}
