//! Signals to the program, as the loop waits for them.

#[cfg(unix)]
use std::task::Poll;

pub(super) enum Signal {
    End,
    /// Ctrl-C, where it is not a key: meant for whatever has the terminal.
    Interrupt,
    Suspend,
    /// The program goes on after a stop, also one that it could not catch.
    Continue,
}

/// Signals that end a program which does not catch them, and that a person may send: the terminal must not be
/// left behind as it is.
#[cfg(unix)]
const ENDS: [i32; 5] = [
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
];

/// Those that a terminal sends for a key.
#[cfg(unix)]
const INTERRUPTS: [i32; 2] = [libc::SIGINT, libc::SIGQUIT];

#[cfg(unix)]
pub(super) struct Signals {
    ends: Vec<tokio::signal::unix::Signal>,
    interrupts: Vec<tokio::signal::unix::Signal>,
    stop: tokio::signal::unix::Signal,
    go_on: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(super) fn new() -> std::io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |number| signal(SignalKind::from_raw(number));
        Ok(Signals {
            ends: ENDS.into_iter().map(listen).collect::<Result<_, _>>()?,
            interrupts: INTERRUPTS
                .into_iter()
                .map(listen)
                .collect::<Result<_, _>>()?,
            stop: listen(libc::SIGTSTP)?,
            go_on: listen(libc::SIGCONT)?,
        })
    }

    pub(super) async fn next(&mut self) -> Signal {
        std::future::poll_fn(|context| {
            // Each is asked, so that each remembers whom to wake.
            let mut any = |signals: &mut Vec<tokio::signal::unix::Signal>| {
                let heard = signals.iter_mut();
                heard
                    .filter_map(|signal| signal.poll_recv(context).is_ready().then_some(()))
                    .count()
                    > 0
            };
            let (ended, interrupted) = (any(&mut self.ends), any(&mut self.interrupts));
            let stopped = self.stop.poll_recv(context).is_ready();
            let continued = self.go_on.poll_recv(context).is_ready();
            match (ended, interrupted, stopped, continued) {
                (true, ..) => Poll::Ready(Signal::End),
                (_, true, ..) => Poll::Ready(Signal::Interrupt),
                (_, _, true, _) => Poll::Ready(Signal::Suspend),
                (_, _, _, true) => Poll::Ready(Signal::Continue),
                _ => Poll::Pending,
            }
        })
        .await
    }
}

#[cfg(not(unix))]
pub(super) struct Signals {}

#[cfg(not(unix))]
impl Signals {
    pub(super) fn new() -> std::io::Result<Signals> {
        Ok(Signals {})
    }

    pub(super) async fn next(&mut self) -> Signal {
        let _ = tokio::signal::ctrl_c().await;
        Signal::End
    }
}
