//! What the person types, read on a thread of its own.
//!
//! Where the terminal is gone, crossterm can read it for ever inside one poll. That must never be the loop's
//! thread, which still has a reply to store.

use std::io;
use std::time::Duration;

use crossterm::event::{Event, EventStream};
use futures_util::StreamExt;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Events that may wait for the loop.
const WAITING: usize = 64;

/// How long reading may take to end when the terminal is given away.
const PATIENCE: Duration = Duration::from_millis(200);

/// Reads the terminal until it is dropped.
pub struct Keyboard {
    events: mpsc::Receiver<io::Result<Event>>,
    stop: CancellationToken,
    ended: std::sync::mpsc::Receiver<()>,
}

impl Keyboard {
    /// Begins to read; called on a runtime.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub fn start() -> io::Result<Keyboard> {
        let (sender, events) = mpsc::channel(WAITING);
        let (end, ended) = std::sync::mpsc::channel();
        let stop = CancellationToken::new();
        let (runtime, stopped) = (Handle::current(), stop.clone());
        std::thread::Builder::new()
            .name("keyboard".into())
            .spawn(move || {
                runtime.block_on(read(&sender, &stopped));
                drop(end);
            })?;
        Ok(Keyboard {
            events,
            stop,
            ended,
        })
    }

    /// The next event; `None` once nothing more can come.
    pub async fn next(&mut self) -> Option<io::Result<Event>> {
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

async fn read(sender: &mpsc::Sender<io::Result<Event>>, stop: &CancellationToken) {
    let mut stream = EventStream::new();
    loop {
        let event = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            event = stream.next() => event,
        };
        let Some(event) = event else { return };
        if sender.send(event).await.is_err() {
            return;
        }
    }
}
