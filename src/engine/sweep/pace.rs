//! Requests and tokens per minute: attempts start no faster than the provider allows.
//!
//! The rule: in no span of a minute, the first one included, start more than the limit. Within it, a sixth of a minute's
//! allowance may start at once, and then as much as a minute's steady flow gives.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How much of a minute's allowance may be used at once after a pause: providers measure shorter spans too.
const BURST: f64 = 1.0 / 6.0;

/// The span in which no more than the limit starts: a minute, and a little for first requests, which open connections
/// and so reach the server later after their start than those that follow them.
const SPAN: Duration = Duration::from_millis(60_500);

/// The limits of an account; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Attempts started per minute.
    pub requests_per_minute: Option<u32>,
    /// Predicted prompt tokens and the most reply tokens of attempts started per minute.
    pub tokens_per_minute: Option<u32>,
}

/// Keeps to the limits; clones keep to them together, so that what follows another in a sweep knows its last minute.
#[derive(Debug, Clone, Default)]
pub struct Pace(Arc<Mutex<Allowances>>);

#[derive(Debug, Default)]
struct Allowances {
    requests: Option<Allowance>,
    tokens: Option<Allowance>,
}

impl Pace {
    /// Nothing has started yet.
    pub fn new(limits: Limits) -> Pace {
        Pace(Arc::new(Mutex::new(Allowances {
            requests: limits.requests_per_minute.map(Allowance::new),
            tokens: limits.tokens_per_minute.map(Allowance::new),
        })))
    }

    /// When a call of so many tokens may start.
    pub(in crate::engine) fn ready(&self, tokens: u64, now: Instant) -> Instant {
        let mut all = self.allowances();
        let of = |allowance: &mut Option<Allowance>, amount: f64| {
            allowance
                .as_mut()
                .map_or(now, |allowance| allowance.ready(amount, now))
        };
        of(&mut all.requests, 1.0).max(of(&mut all.tokens, tokens as f64))
    }

    /// A call of so many tokens starts.
    pub(in crate::engine) fn take(&self, tokens: u64, now: Instant) {
        self.allowances().book(tokens, now, now);
    }

    /// Another attempt of a call of so many tokens is to start after this wait: gives the wait after which it may, which is
    /// booked, so that what comes later makes room for it.
    pub(in crate::engine) fn reserve(&self, tokens: u64, now: Instant, wait: Duration) -> Duration {
        let Some(wanted) = now.checked_add(wait) else {
            return wait;
        };
        let mut all = self.allowances();
        let of = |allowance: &Option<Allowance>, amount: f64| {
            let allowance = allowance.as_ref();
            allowance.map_or(wanted, |allowance| allowance.by_span(amount, wanted))
        };
        let at = of(&all.requests, 1.0).max(of(&all.tokens, tokens as f64));
        all.book(tokens, now, at);
        at.saturating_duration_since(now)
    }

    /// A panic elsewhere leaves plain numbers behind.
    fn allowances(&self) -> MutexGuard<'_, Allowances> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Allowances {
    /// Notes a start at `at`.
    fn book(&mut self, tokens: u64, now: Instant, at: Instant) {
        if let Some(requests) = &mut self.requests {
            requests.take(1.0, now, at);
        }
        if let Some(of_tokens) = &mut self.tokens {
            of_tokens.take(tokens as f64, now, at);
        }
    }
}

/// One limit: what started within the last span, and a store that fills steadily; taking more than it has leaves a debt
/// that later calls wait for.
#[derive(Debug)]
struct Allowance {
    per_minute: f64,
    /// Starts in order of time, with their amounts.
    started: VecDeque<(Instant, f64)>,
    /// The sum of these amounts.
    sum: f64,
    most: f64,
    level: f64,
    /// When the level was so; `None` before the first start.
    at: Option<Instant>,
}

impl Allowance {
    fn new(per_minute: u32) -> Allowance {
        let per_minute = f64::from(per_minute).max(1.0);
        let most = (per_minute * BURST).max(1.0);
        Allowance {
            per_minute,
            started: VecDeque::new(),
            sum: 0.0,
            most,
            level: most,
            at: None,
        }
    }

    fn level(&self, now: Instant) -> f64 {
        let passed = self
            .at
            .map_or(0.0, |at| now.saturating_duration_since(at).as_secs_f64());
        (self.level + passed * self.per_minute / 60.0).min(self.most)
    }

    fn ready(&mut self, amount: f64, now: Instant) -> Instant {
        self.forget(now);
        self.by_store(amount, now).max(self.by_span(amount, now))
    }

    /// A call larger than the store starts as soon as the store is full.
    fn by_store(&self, amount: f64, now: Instant) -> Instant {
        let missing = amount.min(self.most) - self.level(now);
        match missing > 0.0 {
            true => now + Duration::from_secs_f64(missing * 60.0 / self.per_minute),
            false => now,
        }
    }

    /// From `from` on, when so much of what started lies more than a span back that the amount fits beside the rest, and
    /// beside what is booked for later.
    fn by_span(&self, amount: f64, from: Instant) -> Instant {
        let over_by_then = self.started.iter().take_while(|(at, _)| *at + SPAN <= from);
        let (count, gone) = over_by_then.fold((0, 0.0), |(count, sum), (_, amount)| {
            (count + 1, sum + amount)
        });
        let mut over = self.sum - gone + amount.min(self.per_minute) - self.per_minute;
        let mut ready = from;
        for (at, amount) in self.started.iter().skip(count) {
            // Sums of whole numbers are exact far beyond any limit.
            if over <= 0.0 {
                break;
            }
            over -= amount;
            ready = ready.max(*at + SPAN);
        }
        ready
    }

    fn forget(&mut self, now: Instant) {
        while let Some((at, amount)) = self.started.front()
            && *at + SPAN <= now
        {
            self.sum -= amount;
            self.started.pop_front();
        }
    }

    fn take(&mut self, amount: f64, now: Instant, at: Instant) {
        self.level = self.level(now) - amount;
        self.at = Some(now);
        let place = self.started.partition_point(|(other, _)| *other <= at);
        self.started.insert(place, (at, amount));
        self.sum += amount;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUESTS: Limits = Limits {
        requests_per_minute: Some(120),
        tokens_per_minute: None,
    };

    const TOKENS: Limits = Limits {
        requests_per_minute: None,
        tokens_per_minute: Some(6_000),
    };

    /// When each of `calls` calls of so many tokens starts, in seconds, if each starts as soon as it may.
    fn starts(pace: &Pace, tokens: u64, calls: usize, begin: Instant) -> Vec<f64> {
        let mut now = begin;
        (0..calls)
            .map(|_| {
                now = pace.ready(tokens, now);
                pace.take(tokens, now);
                (now - begin).as_secs_f64()
            })
            .collect()
    }

    /// The most starts in any minute.
    fn most_in_a_minute(starts: &[f64]) -> usize {
        let from = |at: usize| {
            let within = starts[at..].iter();
            within.take_while(|s| **s < starts[at] + 60.0).count()
        };
        (0..starts.len()).map(from).max().unwrap_or_default()
    }

    #[test]
    fn no_minute_holds_more_requests_than_the_limit_from_the_first_on() {
        let starts = starts(&Pace::new(REQUESTS), 5, 1_200, Instant::now());
        assert_eq!(starts[19], 0.0, "twenty at once");
        assert!(starts[20] > 0.4, "and then two a second");
        assert_eq!(most_in_a_minute(&starts), 120);
        // The limit is used up all the same: ten minutes for ten times the limit, but for the first burst.
        assert!(starts[1_199] < 605.0, "{}", starts[1_199]);
    }

    #[test]
    fn no_minute_holds_more_tokens_than_the_limit() {
        let even = starts(&Pace::new(TOKENS), 100, 300, Instant::now());
        assert_eq!(most_in_a_minute(&even), 60);
        let uneven = starts(&Pace::new(TOKENS), 700, 40, Instant::now());
        assert_eq!(most_in_a_minute(&uneven), 8);
    }

    #[test]
    fn a_call_larger_than_the_store_is_paid_afterwards() {
        let large = starts(&Pace::new(TOKENS), 3_000, 4, Instant::now());
        assert_eq!(large[0], 0.0);
        // 3,000 tokens are half a minute's allowance.
        assert!(large[1] > 29.0 && large[1] < 31.0, "{}", large[1]);
        assert_eq!(most_in_a_minute(&large), 2);
    }

    #[test]
    fn sweeps_of_one_model_share_its_minute_and_further_attempts_count() {
        let (pace, begin) = (Pace::new(REQUESTS), Instant::now());
        let first = starts(&pace, 5, 100, begin);
        // A second sweep follows after the first at once.
        let after = begin + Duration::from_secs_f64(first[99]);
        let second = starts(&pace.clone(), 5, 100, after);
        let all = first.iter().copied();
        let all: Vec<f64> = all.chain(second.iter().map(|s| s + first[99])).collect();
        assert_eq!(most_in_a_minute(&all), 120);

        // Attempts that are known to come in half a minute take the room of calls before them.
        let pace = Pace::new(REQUESTS);
        for _ in 0..30 {
            let wait = pace.reserve(5, begin, Duration::from_secs(30));
            assert_eq!(wait, Duration::from_secs(30));
        }
        let calls = starts(&pace, 5, 200, begin);
        let mut all: Vec<f64> = calls.into_iter().chain([30.0; 30]).collect();
        all.sort_by(f64::total_cmp);
        assert_eq!(most_in_a_minute(&all), 120);
    }

    #[test]
    fn further_attempts_wait_for_room_as_calls_do() {
        let (pace, begin) = (Pace::new(REQUESTS), Instant::now());
        let mut all = Vec::new();
        let mut now = begin;
        // Every second call fails and is tried again a second later.
        for call in 0..600 {
            now = pace.ready(5, now);
            pace.take(5, now);
            all.push((now - begin).as_secs_f64());
            if call % 2 == 0 {
                let wait = pace.reserve(5, now, Duration::from_secs(1));
                assert!(wait >= Duration::from_secs(1));
                all.push((now + wait - begin).as_secs_f64());
            }
        }
        all.sort_by(f64::total_cmp);
        assert!(most_in_a_minute(&all) <= 120);
        assert!(all[899] < 520.0, "{}", all[899]);
    }

    #[test]
    fn without_limits_nothing_waits() {
        let pace = Pace::new(Limits::default());
        assert_eq!(starts(&pace, 1_000_000, 50, Instant::now())[49], 0.0);
    }
}
