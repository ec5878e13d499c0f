//! State of talk mode: which step of a script is shown, and when it goes on.

use std::sync::Arc;
use std::time::Duration;

use crate::data::talk::{SPEEDS, Script, Show, Step};

/// What the step on screen is waiting for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Waiting {
    /// An earlier reply must end before this step's can be played.
    ToAsk,
    /// The reply is being played.
    Reply,
    /// Nothing: everything of the step is on screen since this time.
    Since(Duration),
}

/// A talk that is being given.
#[derive(Debug, Clone)]
pub struct Talk {
    /// What is played.
    pub script: Arc<Script>,
    /// Position of the step on screen.
    pub at: usize,
    /// Whether it goes on by itself.
    pub auto: bool,
    /// How fast replies are played.
    pub speed: f64,
    /// What the step is waiting for.
    pub waiting: Waiting,
    /// Why the step can't be shown as written.
    pub problem: Option<String>,
    /// The rest of this step's reply is shown at once: somebody did not want to wait for it.
    pub at_once: bool,
}

impl Talk {
    /// Before the first step.
    pub fn new(script: Arc<Script>) -> Talk {
        Talk {
            at: 0,
            auto: script.auto,
            speed: script.speed,
            waiting: Waiting::Since(Duration::ZERO),
            problem: None,
            at_once: false,
            script,
        }
    }

    /// The step on screen; `None` only for a script without steps, which can't be read.
    pub fn step(&self) -> Option<&Step> {
        self.script.steps.get(self.at)
    }

    /// What the step shows of its instance.
    pub fn show(&self) -> Show {
        self.step().map_or(Show::All, |step| step.show)
    }

    /// The step that follows by itself, if any.
    pub fn following(&self) -> Option<usize> {
        let next = self.at + 1;
        if next < self.script.steps.len() {
            Some(next)
        } else {
            self.script.repeat.then_some(0)
        }
    }

    /// Whether the time has come to go on by itself.
    pub fn due(&self, now: Duration) -> bool {
        let hold = self.step().map_or(0.0, |step| step.hold);
        match self.waiting {
            Waiting::Since(since) => self.auto && now.saturating_sub(since).as_secs_f64() >= hold,
            Waiting::ToAsk | Waiting::Reply => false,
        }
    }

    /// Seconds until it goes on by itself; `None` where it does not.
    pub fn remaining(&self, now: Duration) -> Option<f64> {
        let hold = self.step()?.hold;
        match self.waiting {
            Waiting::Since(since) if self.auto && self.following().is_some() => {
                Some((hold - now.saturating_sub(since).as_secs_f64()).max(0.0))
            }
            _ => None,
        }
    }

    /// Whether a reply of this step is being played, or is about to be.
    pub fn is_playing(&self) -> bool {
        matches!(self.waiting, Waiting::ToAsk | Waiting::Reply)
    }

    /// Twice as fast, or half as fast, within bounds.
    pub fn faster(&mut self, faster: bool) {
        self.speed = stepped(self.speed, faster);
    }
}

/// Twice a speed, or half of it, within bounds.
pub fn stepped(speed: f64, faster: bool) -> f64 {
    let factor = if faster { 2.0 } else { 0.5 };
    (speed * factor).clamp(SPEEDS.0, SPEEDS.1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::data::talk::parse;

    fn talk(head: &str) -> Talk {
        let text = format!(
            "{head}\n[[steps]]\ncaption=\"a\"\nquestion=\"q\"\nhold=2.0\n[[steps]]\ncaption=\"b\"\n"
        );
        Talk::new(Arc::new(parse(&text, "s").unwrap()))
    }

    #[test]
    fn it_goes_on_by_itself_when_told_to() {
        let mut one = talk("auto = true");
        assert!(!one.due(Duration::from_millis(1_900)));
        assert!(one.due(Duration::from_secs(2)));
        one.waiting = Waiting::Reply;
        assert!(!one.due(Duration::from_secs(99)));
        assert!(!talk("").due(Duration::from_secs(99)));
    }

    #[test]
    fn the_end_is_the_end_unless_it_repeats() {
        let mut once = talk("");
        assert_eq!(once.following(), Some(1));
        once.at = 1;
        assert_eq!(once.following(), None);
        let mut again = talk("repeat = true");
        again.at = 1;
        assert_eq!(again.following(), Some(0));
    }

    #[test]
    fn speeds_stay_within_bounds() {
        let mut talk = talk("");
        for _ in 0..20 {
            talk.faster(true);
        }
        assert!((talk.speed - SPEEDS.1).abs() < 1e-9);
        for _ in 0..20 {
            talk.faster(false);
        }
        assert!((talk.speed - SPEEDS.0).abs() < 1e-9);
    }
}
