//! A thread that does tasks in the order in which they are given: what is written comes onto the disk as it was done,
//! and what is read holds all that was written before it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use tokio::sync::mpsc;

use crate::tui::Setup;
use crate::tui::message::Message;

/// Something for the thread to do. Each ends with at most one message.
pub(super) trait Task: Send + Sized + 'static {
    /// What stays open from one task to the next.
    type Files: Default;

    /// What the thread is called, and what is said to have failed.
    const NAME: &'static str;

    /// Does it; nothing is reported of what went well and changes nothing on screen.
    fn perform(self, files: &mut Self::Files, setup: &Setup) -> Option<Message>;

    /// The same task without its contents, to report on it.
    fn outline(&self) -> Self;

    /// What a task that can't be done reports.
    fn failed(self, why: String) -> Message;
}

/// The thread, started at first use.
pub(super) struct Desk<T: Task> {
    tasks: Option<Sender<T>>,
}

impl<T: Task> Default for Desk<T> {
    fn default() -> Self {
        Desk { tasks: None }
    }
}

impl<T: Task> Desk<T> {
    /// Hands a task over.
    pub(super) fn ask(&mut self, setup: &Arc<Setup>, messages: &mpsc::Sender<Message>, task: T) {
        let task = match &self.tasks {
            Some(tasks) => match tasks.send(task) {
                Ok(()) => return,
                Err(unsent) => unsent.0,
            },
            None => task,
        };
        let (sender, tasks) = channel();
        let (setup, outbox) = (Arc::clone(setup), messages.clone());
        let spawned = std::thread::Builder::new()
            .name(T::NAME.into())
            .spawn(move || work::<T>(&setup, &outbox, &tasks));
        match spawned {
            Ok(_) => {
                let _ = sender.send(task);
                self.tasks = Some(sender);
            }
            Err(error) => {
                let text = format!("the system gives no thread for {}: {error}", T::NAME);
                let _ = messages.try_send(task.failed(text));
            }
        }
    }
}

fn work<T: Task>(setup: &Setup, messages: &mpsc::Sender<Message>, tasks: &Receiver<T>) {
    let mut files = T::Files::default();
    while let Ok(task) = tasks.recv() {
        let outline = task.outline();
        let done = catch_unwind(AssertUnwindSafe(|| task.perform(&mut files, setup)));
        let unexpected = || {
            let name = T::NAME;
            let why = format!("reading or writing {name} failed unexpectedly; the log says more");
            Some(outline.failed(why))
        };
        let Some(message) = done.unwrap_or_else(|_| unexpected()) else {
            continue;
        };
        // Where the loop has ended, what waits to be written is written all the same.
        let _ = messages.blocking_send(message);
    }
}

/// An error as a sentence.
pub(super) fn in_words<T>(result: Result<T, impl ToString>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

/// What is in a slot, opened at first use.
pub(super) fn open_once<T>(
    slot: &mut Option<T>,
    open: impl FnOnce() -> Result<T, String>,
) -> Result<&T, String> {
    if slot.is_none() {
        *slot = Some(open()?);
    }
    slot.as_ref().ok_or_else(|| "it was not opened".to_owned())
}
