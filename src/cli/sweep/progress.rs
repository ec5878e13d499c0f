//! The progress of a sweep on standard error: one line that is rewritten on a terminal, now and then a line
//! of its own elsewhere.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::common::note;
use crate::cli::progress;
use crate::cli::sweep::prepare::Prices;
use crate::domain::cost::spent;
use crate::domain::pace::{Rate, duration, per_time};
use crate::engine::sweep::{Progress, Waiting};
use crate::model::FailureKind;

/// Time between two lines where standard error is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(15);

/// The same where nothing has ended in the meantime.
const BETWEEN_EQUAL_LINES: Duration = Duration::from_secs(120);

/// A pause that is said on a line of its own.
const WORTH_SAYING: Duration = Duration::from_secs(5);

/// Shows progress.
pub(super) struct Screen {
    bar: Option<ProgressBar>,
    rate: Rate,
    prices: Prices,
    last_line: Instant,
    /// Whether it was said that everything waits.
    said_waiting: bool,
    /// Instances finished at the last line.
    last_finished: usize,
}

impl Screen {
    /// `prices` are dollars per million tokens.
    pub(super) fn new(prices: Prices) -> Screen {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, progress::target());
            let style = ProgressStyle::with_template("{bar:20} {pos}/{len} {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            bar.set_style(style.progress_chars("=> "));
            bar
        });
        Screen {
            bar,
            rate: Rate::default(),
            prices,
            last_line: Instant::now(),
            said_waiting: false,
            last_finished: 0,
        }
    }

    /// Shows how far the sweep is.
    pub(super) fn show(&mut self, progress: &Progress) {
        self.rate.note(progress.elapsed, progress.finished);
        if let Some(bar) = &self.bar {
            bar.set_length(progress.total as u64);
            bar.set_position(progress.finished as u64);
            bar.set_message(self.words(progress, false));
            return;
        }
        // A pause is said when it begins, so that nobody takes it for a standstill.
        let pauses = |waiting: &Waiting| waiting.left >= WORTH_SAYING;
        let stands =
            progress.silence.is_some() || progress.locked.is_some() || progress.away.is_some();
        let waits = progress.waiting.as_ref().is_some_and(pauses) || stands;
        if waits && !self.said_waiting {
            self.line(progress, false);
        }
        let still = progress.waiting.is_some() || stands;
        self.said_waiting = waits || (self.said_waiting && still);
        let wait = match progress.finished == self.last_finished {
            true => BETWEEN_EQUAL_LINES,
            false => BETWEEN_LINES,
        };
        if self.last_line.elapsed() >= wait {
            self.line(progress, false);
        }
    }

    /// Leaves the last state on the screen.
    pub(super) fn finish(&mut self, progress: &Progress) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if progress.total > 0 {
            self.line(progress, true);
        }
    }

    fn line(&mut self, progress: &Progress, ended: bool) {
        self.last_line = Instant::now();
        self.last_finished = progress.finished;
        note(&format!(
            "{} of {}, {}",
            progress.finished,
            progress.total,
            self.words(progress, ended)
        ));
    }

    fn words(&self, progress: &Progress, ended: bool) -> String {
        let left = progress.total - progress.finished;
        let mut out = String::new();
        if ended || left == 0 {
            let _ = write!(out, "{} altogether", duration(progress.elapsed));
        } else if let Some(rate) = self.rate.per_second() {
            let time = Duration::try_from_secs_f64(left as f64 / rate).unwrap_or(Duration::MAX);
            let _ = write!(
                out,
                "{}, {} left, {} of {} under way",
                per_time(rate),
                duration(time),
                progress.in_flight,
                progress.limit
            );
        } else {
            let _ = write!(out, "{} under way", progress.in_flight);
        }
        if let Some(waits) = progress.waits().filter(|_| !ended) {
            let _ = write!(out, "; {waits}");
        }
        if !progress.failures.is_empty() {
            let _ = write!(out, "; failed: {}", kinds(&progress.failures));
        }
        if progress.broken > 0 {
            let _ = write!(out, "; broke off: {}", progress.broken);
        }
        if !progress.retries.is_empty() {
            let _ = write!(out, "; tried again: {}", kinds(&progress.retries));
        }
        let _ = write!(
            out,
            "; tokens: {} in, {} out",
            progress.prompt_tokens, progress.completion_tokens
        );
        let tokens = progress.prompt_tokens + progress.completion_tokens;
        let cost = cost(self.prices, progress);
        if let Some(cost) = spent(cost, tokens, progress.unmeasured) {
            let _ = write!(out, ", {cost}");
        }
        out
    }
}

/// Dollars so far for the tokens that were reported; `None` where a price is not known.
pub(super) fn cost((price_in, price_out): Prices, progress: &Progress) -> Option<f64> {
    let dollars =
        progress.prompt_tokens as f64 * price_in? + progress.completion_tokens as f64 * price_out?;
    Some(dollars / 1e6)
}

/// Counts by kind, such as `3 server, 1 network`.
fn kinds<N: std::fmt::Display>(counts: &BTreeMap<FailureKind, N>) -> String {
    let words: Vec<String> = counts
        .iter()
        .map(|(kind, count)| {
            let name = serde_json::to_value(kind).unwrap_or_default();
            format!(
                "{count} {}",
                name.as_str().unwrap_or("other").replace('_', " ")
            )
        })
        .collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::sweep::Silent;

    #[test]
    fn words_name_what_matters() {
        let screen = Screen::new((Some(2.0), Some(8.0)));
        let progress = Progress {
            total: 10,
            finished: 4,
            in_flight: 2,
            failures: BTreeMap::from([(FailureKind::RateLimited, 1)]),
            retries: BTreeMap::from([(FailureKind::Server, 3)]),
            prompt_tokens: 1_000_000,
            completion_tokens: 500_000,
            ..Progress::default()
        };
        assert_eq!(
            screen.words(&progress, false),
            "2 under way; failed: 1 rate limited; tried again: 3 server; tokens: 1000000 in, 500000 out, $6.00"
        );
        let waiting = Progress {
            in_flight: 0,
            waiting: Some(Waiting {
                calls: 0,
                left: Duration::from_secs(90),
                kind: None,
            }),
            silence: Some(Silent {
                calls: 2,
                longest: Duration::from_secs(45),
                patience: Duration::from_secs(300),
            }),
            unmeasured: 1,
            ..progress
        };
        let words = screen.words(&waiting, false);
        assert!(
            words.starts_with("0 under way; waiting for the limit per minute: the next call starts in 1 min 30 s, at "),
            "{words}"
        );
        assert!(
            words.contains("; no word from the server yet to 2 calls, for 45 s at the longest (given up after 5 min 0 s);"),
            "{words}"
        );
        assert!(
            words.ends_with("at least $6.00, since the server reported no tokens of 1 reply"),
            "{words}"
        );
        let ended = screen.words(&waiting, true);
        assert!(
            ended.starts_with("0 s altogether")
                && !ended.contains("waiting")
                && !ended.contains("no word"),
            "{ended}"
        );
    }
}
