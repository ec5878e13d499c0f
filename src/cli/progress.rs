//! A progress line on standard error, only where that is a terminal.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The progress of one command; gone from the screen when it is dropped.
#[derive(Debug)]
pub struct Line {
    bar: ProgressBar,
}

impl Line {
    /// A line that shows nothing yet, and never anything where standard error is no terminal.
    pub fn new() -> Line {
        let bar = if std::io::stderr().is_terminal() {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
        } else {
            ProgressBar::hidden()
        };
        let style = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} {per_sec} {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("=> "));
        bar.enable_steady_tick(Duration::from_millis(200));
        Line { bar }
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

    /// Shows how far a stage is.
    pub fn at(&self, stage: &'static str, done: usize, total: usize) -> ControlFlow<()> {
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
