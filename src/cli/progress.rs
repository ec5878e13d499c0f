//! The progress of a command on standard error: a line that moves where that is a terminal, else a line now and then.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::common::note;

/// Seconds between two lines where standard error is no terminal: logs stay short, and silence means trouble.
const EVERY: u64 = 30;

/// How often a line moves by itself on a terminal, and where motion is reduced.
const TICK: Duration = Duration::from_millis(200);
const STILL_TICK: Duration = Duration::from_secs(1);

/// Whether motion is reduced.
static STILL: AtomicBool = AtomicBool::new(false);

/// Lets the lines from now on move less, or as always.
pub fn reduce_motion(still: bool) {
    STILL.store(still, Ordering::Relaxed);
}

fn still() -> bool {
    STILL.load(Ordering::Relaxed)
}

/// Where progress is drawn: on standard error, once a second where motion is reduced.
pub fn target() -> ProgressDrawTarget {
    match still() {
        true => ProgressDrawTarget::stderr_with_hz(1),
        false => ProgressDrawTarget::stderr(),
    }
}

/// The progress of one command; gone from the screen when it is dropped.
#[derive(Debug)]
pub struct Line {
    bar: ProgressBar,
    terminal: bool,
    started: Instant,
    /// Second since the start at which a line is next written to what is no terminal.
    next: AtomicU64,
    stop: Option<Arc<AtomicBool>>,
}

impl Line {
    /// A line that shows nothing yet.
    pub fn new() -> Line {
        let terminal = std::io::stderr().is_terminal();
        let bar = if terminal {
            ProgressBar::with_draw_target(None, target())
        } else {
            ProgressBar::hidden()
        };
        let style = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} {per_sec} {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("=> "));
        bar.enable_steady_tick(if still() { STILL_TICK } else { TICK });
        Line {
            bar,
            terminal,
            started: Instant::now(),
            next: AtomicU64::new(EVERY),
            stop: None,
        }
    }

    /// Shows how much a stage has done that does not know its end.
    pub fn count(&self, stage: &'static str, done: usize) {
        if self.bar.message() != stage {
            self.bar.set_message(stage);
            self.bar.reset_eta();
        }
        self.bar.unset_length();
        self.bar.set_position(done as u64);
    }

    /// A line whose work stops when the flag is set.
    pub fn heeding(stop: Arc<AtomicBool>) -> Line {
        let mut line = Line::new();
        line.stop = Some(stop);
        line
    }

    /// The line that is due at this second, if one is.
    fn due(&self, second: u64, stage: &str, done: usize, total: usize) -> Option<String> {
        if second < self.next.load(Ordering::Relaxed) {
            return None;
        }
        self.next.store(second + EVERY, Ordering::Relaxed);
        Some(match total {
            0 => format!("{stage}: {done}"),
            _ => format!("{stage}: {done} of {total}"),
        })
    }

    /// Shows how far a stage is; breaks where it was told to stop.
    pub fn at(&self, stage: &'static str, done: usize, total: usize) -> ControlFlow<()> {
        if let Some(stop) = &self.stop
            && stop.load(Ordering::Relaxed)
        {
            return ControlFlow::Break(());
        }
        if !self.terminal {
            if let Some(text) = self.due(self.started.elapsed().as_secs(), stage, done, total) {
                note(&text);
            }
            return ControlFlow::Continue(());
        }
        if self.bar.message() != stage {
            self.bar.set_message(stage);
            self.bar.reset_eta();
        }
        self.bar.set_length(total as u64);
        self.bar.set_position(done as u64);
        ControlFlow::Continue(())
    }
}

impl Default for Line {
    fn default() -> Line {
        Line::new()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_now_and_then_and_a_set_flag_stops() {
        let stop = Arc::new(AtomicBool::new(false));
        let line = Line::heeding(Arc::clone(&stop));
        let said: Vec<String> = (0..=70)
            .filter_map(|second| line.due(second, "encoding", second as usize, 90))
            .collect();
        assert_eq!(said, ["encoding: 30 of 90", "encoding: 60 of 90"]);
        assert_eq!(line.at("encoding", 1, 2), ControlFlow::Continue(()));
        stop.store(true, Ordering::Relaxed);
        assert_eq!(line.at("encoding", 1, 2), ControlFlow::Break(()));
    }
}
