//! Failures in a row: when it is useless to go on, and when a server is only away for a while.

use std::time::Duration;

use tokio::time::Instant;

use crate::model::FailureKind;

/// Failures in a row, none of which will pass by itself, after which it is useless to go on.
const MOST_LASTING: usize = 20;

/// Failures in a row that may pass, after which a server that has answered before is taken to be away.
const AWAY_AFTER: usize = 10;

/// Times between two calls that try whether the server is back: they double up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How long a server may be away: a large model takes minutes to load, a machine that is set up anew longer.
const MOST_AWAY: Duration = Duration::from_secs(60 * 60);

/// What the failures so far mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing yet.
    GoesOn,
    /// It is useless to go on.
    Hopeless,
}

/// Failures in a row, and a server that is away.
#[derive(Debug, Default)]
pub(super) struct Streak {
    lasting: usize,
    passing: usize,
    /// Whether the server has ever replied: one that never has is taken to be named wrongly, not to be away.
    replied: bool,
    outage: Option<Outage>,
}

/// A server that is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outage {
    /// Since when.
    pub(super) since: Instant,
    /// When the next call tries whether it is back.
    pub(super) next: Instant,
    pause: Duration,
}

impl Streak {
    /// The server has replied.
    pub(super) fn reply(&mut self) {
        *self = Streak {
            replied: true,
            ..Streak::default()
        };
    }

    /// Counts a failure. Failures that are about one prompt (overflow, a content filter) and stopped calls do not count.
    /// Those that may pass are given a round more.
    pub(super) fn failed(&mut self, kind: FailureKind, ceiling: usize, now: Instant) -> Verdict {
        let hopeless = match kind {
            FailureKind::Overflow | FailureKind::ContentFilter | FailureKind::Cancelled => false,
            FailureKind::Auth
            | FailureKind::Quota
            | FailureKind::NotFound
            | FailureKind::BadRequest
            | FailureKind::Local => {
                self.lasting += 1;
                self.lasting >= MOST_LASTING
            }
            FailureKind::RateLimited
            | FailureKind::Server
            | FailureKind::Network
            | FailureKind::Malformed => {
                self.passing += 1;
                match self.replied {
                    true => self.is_away_too_long(now),
                    false => self.passing >= MOST_LASTING + 2 * ceiling,
                }
            }
        };
        match hopeless {
            true => Verdict::Hopeless,
            false => Verdict::GoesOn,
        }
    }

    /// A server that is away, which holds new calls back.
    pub(super) fn outage(&self) -> Option<Outage> {
        self.outage
    }

    /// A call that tries whether the server is back begins.
    pub(super) fn tries(&mut self, now: Instant) {
        if let Some(outage) = &mut self.outage {
            outage.put_off(now);
        }
    }

    /// Notes a failure that may pass, of a server that has replied before.
    fn is_away_too_long(&mut self, now: Instant) -> bool {
        if self.passing < AWAY_AFTER {
            return false;
        }
        let outage = self.outage.get_or_insert(Outage {
            since: now,
            next: now + FIRST_PAUSE,
            pause: FIRST_PAUSE,
        });
        // A pause begins when the call that tried has failed.
        outage.next = outage.next.max(now + outage.pause);
        now.duration_since(outage.since) >= MOST_AWAY
    }
}

impl Outage {
    fn put_off(&mut self, now: Instant) {
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        self.next = now + self.pause;
    }

    /// For how long the server may be away at most.
    pub(super) fn most() -> Duration {
        MOST_AWAY
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn only_failures_in_a_row_are_hopeless() {
        let (mut streak, now) = (Streak::default(), Instant::now());
        let failed = |streak: &mut Streak, kind| streak.failed(kind, 4, now);
        for _ in 0..100 {
            assert_eq!(failed(&mut streak, FailureKind::Overflow), Verdict::GoesOn);
        }
        for _ in 1..MOST_LASTING {
            assert_eq!(failed(&mut streak, FailureKind::Quota), Verdict::GoesOn);
        }
        streak.reply();
        for _ in 1..MOST_LASTING {
            assert_eq!(failed(&mut streak, FailureKind::Quota), Verdict::GoesOn);
        }
        assert_eq!(failed(&mut streak, FailureKind::Server), Verdict::GoesOn);
        assert_eq!(failed(&mut streak, FailureKind::Quota), Verdict::Hopeless);
    }

    #[test]
    fn one_lasting_failure_after_passing_ones_is_no_reason_to_give_up() {
        let (mut streak, now) = (Streak::default(), Instant::now());
        for _ in 0..25 {
            let verdict = streak.failed(FailureKind::Server, 4, now);
            assert_eq!(verdict, Verdict::GoesOn);
        }
        assert_eq!(
            streak.failed(FailureKind::NotFound, 4, now),
            Verdict::GoesOn
        );
        // One that never replied is given up all the same.
        streak.failed(FailureKind::Server, 4, now);
        streak.failed(FailureKind::Server, 4, now);
        let last = streak.failed(FailureKind::Server, 4, now);
        assert_eq!((last, streak.outage()), (Verdict::Hopeless, None));
    }

    #[test]
    fn a_server_that_replied_before_is_waited_for_with_one_call_at_a_time() {
        let (mut streak, begin) = (Streak::default(), Instant::now());
        streak.reply();
        for _ in 0..500 {
            let verdict = streak.failed(FailureKind::Network, 64, begin);
            assert_eq!(verdict, Verdict::GoesOn);
        }
        let mut now = begin;
        let mut tries = 0;
        while streak.failed(FailureKind::Network, 64, now) == Verdict::GoesOn {
            let outage = streak.outage().unwrap();
            assert!(outage.next > now && outage.next <= now + LONGEST_PAUSE * 2);
            now = outage.next;
            streak.tries(now);
            tries += 1;
        }
        assert!((50..70).contains(&tries), "{tries}");
        assert!(now - begin >= MOST_AWAY);
        streak.reply();
        assert_eq!(streak.outage(), None);
    }
}
