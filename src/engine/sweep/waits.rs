//! What a sweep waits for, for people.

use std::time::Duration;

use crate::domain::pace::duration;
use crate::domain::text::count;
use crate::engine::sweep::Progress;
use crate::model::FailureKind;

/// A sweep in which nothing moves for a known time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Calls that wait for another attempt; 0 where the next call may not start yet.
    pub calls: usize,
    /// Time until it goes on.
    pub left: Duration,
    /// What made the calls wait; `None` for the limits per minute.
    pub kind: Option<FailureKind>,
}

impl Waiting {
    /// For people: what is waited for, how long, and until when by this machine's clock.
    pub fn words(&self) -> String {
        let left = duration(self.left.max(Duration::from_secs(1)));
        let seconds = i64::try_from(self.left.as_secs()).unwrap_or(i64::MAX);
        let until = jiff::Timestamp::now().as_second().saturating_add(seconds);
        // Of RFC 3339 only the time of the day.
        let at = jiff::Timestamp::from_second(until)
            .ok()
            .and_then(|at| Some(format!(", at {} UTC", at.to_string().get(11..19)?)))
            .unwrap_or_default();
        match self.kind {
            None => format!("waiting for the limit per minute: the next call starts in {left}{at}"),
            Some(kind) => {
                let name = serde_json::to_value(kind).unwrap_or_default();
                format!(
                    "all {} wait before another attempt ({}): the first goes on in {left}{at}",
                    count(self.calls, "call"),
                    name.as_str().unwrap_or("failed").replace('_', " ")
                )
            }
        }
    }
}

/// Calls under way that the server has taken and said nothing to yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silent {
    /// How many.
    pub calls: usize,
    /// For how long the first of them has waited.
    pub longest: Duration,
    /// When such an attempt is given up.
    pub patience: Duration,
}

impl Silent {
    /// For people: how many calls, for how long, and when that ends.
    pub fn words(&self) -> String {
        format!(
            "no word from the server yet to {}, for {} at the longest (given up after {})",
            count(self.calls, "call"),
            duration(self.longest),
            duration(self.patience)
        )
    }
}

/// A store that another program holds: replies wait to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Locked {
    /// For how long they have waited.
    pub waited: Duration,
    /// For how long they will at most.
    pub most: Duration,
}

impl Locked {
    /// For people: since when, and when that ends.
    pub fn words(&self) -> String {
        format!(
            "another program has held the run store for {}, so replies wait to be stored (kept in a file after {})",
            duration(self.waited),
            duration(self.most)
        )
    }
}

/// A server that is away: calls are held back, and one at a time tries whether it is back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Away {
    /// For how long.
    pub since: Duration,
    /// Time until the next call tries.
    pub next: Duration,
    /// For how long it is waited for at most.
    pub most: Duration,
}

impl Away {
    /// For people: since when, what is done about it, and when that ends.
    pub fn words(&self) -> String {
        let next = match self.next.is_zero() {
            true => "one call tries it now".to_owned(),
            false => format!("one call tries it in {}", duration(self.next)),
        };
        format!(
            "the server has been away for {}: calls are held back, {next} (given up after {})",
            duration(self.since),
            duration(self.most)
        )
    }
}

impl Progress {
    /// Everything that is waited for, for people; `None` where all goes on.
    pub fn waits(&self) -> Option<String> {
        let all = [
            self.locked.as_ref().map(Locked::words),
            self.away.as_ref().map(Away::words),
            self.waiting.as_ref().map(Waiting::words),
            self.silence.as_ref().map(Silent::words),
        ];
        let said: Vec<String> = all.into_iter().flatten().collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}
