//! What the person types, read on a thread of its own.
//!
//! Where the terminal is gone, crossterm can read it for ever inside one poll. That must never be the loop's
//! thread, which still has a reply to store.

use std::io;
use std::time::{Duration, Instant};

use crossterm::event::EventStream;
use futures_util::StreamExt;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::tui::terminal::background::{Answers, Input};

/// Events that may wait for the loop.
const WAITING: usize = 64;

/// How long reading may take to end when the terminal is given away.
const PATIENCE: Duration = Duration::from_millis(200);

/// Reads the terminal until it is dropped.
pub struct Keyboard {
    events: mpsc::Receiver<io::Result<Input>>,
    stop: CancellationToken,
    ended: std::sync::mpsc::Receiver<()>,
}

impl Keyboard {
    /// Begins to read; called on a runtime. `asked` is when the terminal was asked for its background, if it was.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub fn start(asked: Option<Instant>) -> io::Result<Keyboard> {
        let (sender, events) = mpsc::channel(WAITING);
        let (end, ended) = std::sync::mpsc::channel();
        let stop = CancellationToken::new();
        let (runtime, stopped) = (Handle::current(), stop.clone());
        std::thread::Builder::new()
            .name("keyboard".into())
            .spawn(move || {
                runtime.block_on(read(&sender, &stopped, Answers::to(asked)));
                drop(end);
            })?;
        Ok(Keyboard {
            events,
            stop,
            ended,
        })
    }

    /// The next event; `None` once nothing more can come.
    pub async fn next(&mut self) -> Option<io::Result<Input>> {
        self.events.recv().await
    }
}

impl Keyboard {
    /// Ends the reading, so that the shell gets what is typed from now on. A thread that reads a terminal that
    /// is gone never ends, and is left behind.
    pub fn stop(&mut self) {
        self.stop.cancel();
        self.events.close();
        let _ = self.ended.recv_timeout(PATIENCE);
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn read(
    sender: &mpsc::Sender<io::Result<Input>>,
    stop: &CancellationToken,
    mut answers: Answers,
) {
    let mut stream = EventStream::new();
    loop {
        let until = answers.until();
        let wait = until.unwrap_or_else(Instant::now);
        let event = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            event = stream.next() => event,
            () = tokio::time::sleep_until(wait.into()), if until.is_some() => {
                if !send(sender, answers.give_up()).await {
                    return;
                }
                continue;
            }
        };
        let sent = match event {
            None => return,
            Some(Ok(event)) => send(sender, answers.take(event, Instant::now())).await,
            Some(Err(error)) => sender.send(Err(error)).await.is_ok(),
        };
        if !sent {
            return;
        }
    }
}

/// Sends all of them; whether there is still somebody to send to.
async fn send(sender: &mpsc::Sender<io::Result<Input>>, inputs: Vec<Input>) -> bool {
    for input in inputs {
        if sender.send(Ok(input)).await.is_err() {
            return false;
        }
    }
    true
}
