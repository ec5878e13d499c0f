//! The signals that stop calls of models: first no new ones, then those under way.

use std::time::Duration;

use crate::cli::common::note;
use crate::cli::signals::{Heeding, end_now, heed};
use crate::domain::pace::duration;
use crate::engine::sweep::Control;

/// How long the program goes on after the second signal, to keep what has come of the calls under way: no longer than a
/// person takes for at once.
const A_MOMENT: Duration = Duration::from_millis(300);

/// Ctrl-C, or on Unix being told to end: once for no new calls, twice for ending in [`A_MOMENT`] at most, thrice for
/// ending without that.
/// `patience` is how long a server may stay silent, where that is limited.
pub(super) fn stop_on_signals(control: Control, patience: Option<Duration>) -> Heeding {
    heed(3, move |time| match time {
        1 => {
            control.stop.cancel();
            let at_most = patience.map_or_else(String::new, |patience| {
                format!(
                    ", and one that the server says nothing to is given up after {}",
                    duration(patience)
                )
            });
            note(&format!(
                "stopping: no new calls, those under way finish{at_most} (again: end now)"
            ));
        }
        _ => {
            control.now.cancel();
            // Every reply that was counted is on disk.
            let leave = || {
                std::thread::sleep(A_MOMENT);
                end_now();
            };
            if std::thread::Builder::new().spawn(leave).is_err() {
                end_now();
            }
            note(
                "ending now: the calls under way are broken off, and asked again by the same command",
            );
        }
    })
}
