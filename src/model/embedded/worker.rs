//! The thread that owns a model: loads it at first use, answers one request after another, and
//! starts afresh after a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::model::embedded::loaded::{LoadedModel, local};
use crate::model::embedded::session::{Limits, Session};
use crate::model::{ChatRequest, Delta, ModelError, Reply};

/// How long a worker that is dropped may take to end; then it is left behind.
const PATIENCE: Duration = Duration::from_millis(500);

/// Models' threads of this process that have not ended.
static ALIVE: AtomicUsize = AtomicUsize::new(0);

/// Whether a model's thread may be computing: then the process must end without running the library's own
/// way out, which would take from under that thread what it works with.
pub fn is_computing() -> bool {
    ALIVE.load(Ordering::SeqCst) > 0
}

/// Counts a thread for as long as it lives.
struct Alive;

impl Alive {
    fn new() -> Alive {
        ALIVE.fetch_add(1, Ordering::SeqCst);
        Alive
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What a request gives back, piece by piece.
pub enum Event {
    /// A piece.
    Delta(Delta),
    /// The end; nothing comes after it.
    Done(Box<Result<Reply, ModelError>>),
}

/// A request to the worker.
pub struct Job {
    /// What is asked; `None` only loads the model.
    pub request: Option<ChatRequest>,
    /// Ends the work soon.
    pub cancel: CancellationToken,
    /// Where events go.
    pub events: mpsc::Sender<Event>,
    /// When the call began.
    pub started: Instant,
}

/// The worker's address.
pub struct Worker {
    path: PathBuf,
    limits: Limits,
    running: Mutex<Option<Running>>,
}

struct Running {
    jobs: Sender<Job>,
    thread: JoinHandle<()>,
}

impl Worker {
    /// A worker for this file; nothing is started before the first job.
    pub fn new(path: PathBuf, limits: Limits) -> Self {
        Worker {
            path,
            limits,
            running: Mutex::new(None),
        }
    }

    /// Hands a job over, starting the thread if there is none.
    pub fn send(&self, job: Job) -> Result<(), ModelError> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let job = match running.as_ref() {
            Some(alive) => match alive.jobs.send(job) {
                Ok(()) => return Ok(()),
                Err(returned) => returned.0,
            },
            None => job,
        };
        let fresh = self.start()?;
        let sent = fresh.jobs.send(job);
        *running = Some(fresh);
        sent.map_err(|_| local("the model's thread ended at once"))
    }

    fn start(&self) -> Result<Running, ModelError> {
        let (jobs, inbox) = channel();
        let (path, limits) = (self.path.clone(), self.limits);
        let alive = Alive::new();
        let thread = std::thread::Builder::new()
            .name("embedded model".into())
            .spawn(move || {
                let _alive = alive;
                run(&path, limits, &inbox);
            })
            .map_err(|error| local(format!("no thread can be started for the model: {error}")))?;
        Ok(Running { jobs, thread })
    }
}

impl Drop for Worker {
    /// Gives the thread a moment to end. Reading a file or a long prompt goes on for seconds after it was told
    /// to stop, and nobody has to wait for that; see [`is_computing`] for the end of the process.
    fn drop(&mut self) {
        let running = self
            .running
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(Running { jobs, thread }) = running.take() {
            drop(jobs);
            let deadline = Instant::now() + PATIENCE;
            while !thread.is_finished() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

/// Serves until nobody can send any more. A panic drops the model and the next job loads it again;
/// the job at hand hears of it because its channel closes without an end.
fn run(path: &Path, limits: Limits, inbox: &Receiver<Job>) {
    while let Ok(first) = inbox.recv() {
        // Whatever was half done is dropped with the model, so nothing broken can be seen later.
        let served = catch_unwind(AssertUnwindSafe(|| serve(path, limits, inbox, first)));
        if served.is_err() {
            tracing::error!(path = %path.display(), "the model's thread panicked and starts afresh");
        }
    }
}

/// Loads the model for the first job and serves it and those after it. Comes back if loading
/// failed, so that the next job tries again (the file may have been fetched in the meantime).
fn serve(path: &Path, limits: Limits, inbox: &Receiver<Job>, first: Job) {
    let _ = first
        .events
        .blocking_send(Event::Delta(Delta::Status("loading model".into())));
    let loaded = match LoadedModel::load(path, &first.cancel) {
        Ok(loaded) => loaded,
        Err(error) => return finish(&first, Err(error)),
    };
    let mut session = Session::new(&loaded, limits);
    answer(&mut session, first);
    while let Ok(job) = inbox.recv() {
        answer(&mut session, job);
    }
}

fn answer(session: &mut Session<'_>, job: Job) {
    let Some(request) = &job.request else {
        return finish(&job, Ok(Reply::nothing()));
    };
    let mut emit = |delta| job.events.blocking_send(Event::Delta(delta)).is_ok();
    let result = session.reply(request, &job.cancel, job.started, &mut emit);
    finish(&job, result);
}

fn finish(job: &Job, result: Result<Reply, ModelError>) {
    // Nobody may be listening any more.
    let _ = job.events.blocking_send(Event::Done(Box::new(result)));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn nobody_waits_long_for_a_thread_that_computes() {
        let limits = Limits {
            window: 16,
            threads: 1,
        };
        let worker = Worker::new(PathBuf::from("no-file"), limits);
        let (jobs, inbox) = channel();
        let (release, held) = channel::<()>();
        let alive = Alive::new();
        let thread = std::thread::spawn(move || {
            let _alive = alive;
            let _ = held.recv();
            drop(inbox);
        });
        *worker.running.lock().unwrap() = Some(Running { jobs, thread });
        let start = Instant::now();
        drop(worker);
        assert!(start.elapsed() >= PATIENCE);
        assert!(start.elapsed() < PATIENCE * 20, "{:?}", start.elapsed());
        assert!(is_computing());
        drop(release);
    }
}
