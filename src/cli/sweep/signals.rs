//! The signals that stop a sweep.

use std::time::Duration;

use tokio::task::JoinHandle;

use crate::cli::common::{ENDED_BY_SIGNAL, heeds_hang_up, note};
use crate::domain::pace::duration;
use crate::engine::sweep::Control;

/// Ctrl-C, or on Unix being told to end: once for no new calls, twice for stopping at once, thrice for ending without
/// waiting for what the calls under way leave.
/// `patience` is how long a server may stay silent, where that is limited.
pub(super) fn stop_on_signals(
    control: Control,
    patience: Option<Duration>,
) -> Option<JoinHandle<()>> {
    let mut signals = Signals::listen()?;
    Some(tokio::spawn(async move {
        signals.next().await;
        let at_most = patience.map_or_else(String::new, |patience| {
            format!(
                ", and one that the server says nothing to is given up after {}",
                duration(patience)
            )
        });
        note(&format!(
            "stopping: no new calls, those under way finish{at_most} (again: stop them too)"
        ));
        control.stop.cancel();
        signals.next().await;
        note(
            "stopping now: what has come of the calls under way is kept as interrupted (again: end without keeping it)",
        );
        control.now.cancel();
        signals.next().await;
        // Every reply that was counted is on disk.
        std::process::exit(ENDED_BY_SIGNAL);
    }))
}

/// The signals that stop a sweep; none is missed between two waits.
struct Signals {
    #[cfg(unix)]
    streams: [tokio::signal::unix::Signal; 2],
    /// A terminal that hangs up, where that is to end the sweep.
    #[cfg(unix)]
    hang_up: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    #[cfg(unix)]
    fn listen() -> Option<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        Some(Signals {
            hang_up: match heeds_hang_up() {
                true => signal(SignalKind::hangup()).ok(),
                false => None,
            },
            streams: [
                signal(SignalKind::interrupt()).ok()?,
                signal(SignalKind::terminate()).ok()?,
            ],
        })
    }

    #[cfg(not(unix))]
    fn listen() -> Option<Signals> {
        Some(Signals {})
    }

    #[cfg(unix)]
    async fn next(&mut self) {
        let [interrupt, terminate] = &mut self.streams;
        let hung_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hung_up => {}
        }
    }

    #[cfg(not(unix))]
    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
