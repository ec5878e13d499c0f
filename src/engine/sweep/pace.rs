//! Requests and tokens per minute: calls start no faster than the provider allows.

use std::time::Duration;

use tokio::time::Instant;

/// How much of a minute's allowance may be used at once after a pause: providers measure shorter spans too.
const BURST: f64 = 1.0 / 6.0;

/// The limits of an account; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Calls started per minute.
    pub requests_per_minute: Option<u32>,
    /// Predicted prompt tokens and the most reply tokens of calls started per minute.
    pub tokens_per_minute: Option<u32>,
}

/// Keeps to the limits.
#[derive(Debug)]
pub(super) struct Pace {
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
}

impl Pace {
    pub(super) fn new(limits: Limits, now: Instant) -> Pace {
        let bucket = |limit: Option<u32>| limit.map(|limit| Bucket::new(limit, now));
        Pace {
            requests: bucket(limits.requests_per_minute),
            tokens: bucket(limits.tokens_per_minute),
        }
    }

    /// When a call of so many tokens may start.
    pub(super) fn ready(&self, tokens: u64, now: Instant) -> Instant {
        let of = |bucket: &Option<Bucket>, amount: f64| {
            bucket
                .as_ref()
                .map_or(now, |bucket| bucket.ready(amount, now))
        };
        of(&self.requests, 1.0).max(of(&self.tokens, tokens as f64))
    }

    /// A call of so many tokens starts.
    pub(super) fn take(&mut self, tokens: u64, now: Instant) {
        if let Some(bucket) = &mut self.requests {
            bucket.take(1.0, now);
        }
        if let Some(bucket) = &mut self.tokens {
            bucket.take(tokens as f64, now);
        }
    }
}

/// A store that fills steadily; taking more than it has leaves a debt that later calls wait for.
#[derive(Debug)]
struct Bucket {
    per_second: f64,
    most: f64,
    level: f64,
    at: Instant,
}

impl Bucket {
    fn new(per_minute: u32, now: Instant) -> Bucket {
        let most = (f64::from(per_minute) * BURST).max(1.0);
        Bucket {
            per_second: f64::from(per_minute).max(1.0) / 60.0,
            most,
            level: most,
            at: now,
        }
    }

    fn level(&self, now: Instant) -> f64 {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        (self.level + passed * self.per_second).min(self.most)
    }

    /// A call larger than the store starts as soon as the store is full.
    fn ready(&self, amount: f64, now: Instant) -> Instant {
        let missing = amount.min(self.most) - self.level(now);
        match missing > 0.0 {
            true => now + Duration::from_secs_f64(missing / self.per_second),
            false => now,
        }
    }

    fn take(&mut self, amount: f64, now: Instant) {
        self.level = self.level(now) - amount;
        self.at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When each of `calls` calls of so many tokens starts, in seconds, if each starts as soon as it may.
    fn starts(limits: Limits, tokens: u64, calls: usize) -> Vec<f64> {
        let begin = Instant::now();
        let mut now = begin;
        let mut pace = Pace::new(limits, now);
        (0..calls)
            .map(|_| {
                now = pace.ready(tokens, now);
                pace.take(tokens, now);
                (now - begin).as_secs_f64()
            })
            .collect()
    }

    #[test]
    fn requests_start_no_faster_than_the_limit() {
        let limits = Limits {
            requests_per_minute: Some(60),
            tokens_per_minute: None,
        };
        let starts = starts(limits, 5, 200);
        assert_eq!(starts[9], 0.0, "ten at once");
        for pair in starts[10..].windows(2) {
            assert!((pair[1] - pair[0] - 1.0).abs() < 1e-6);
        }
        // In no minute more than the limit and one burst.
        for (at, start) in starts.iter().enumerate() {
            let within = starts[at..]
                .iter()
                .take_while(|s| **s < start + 60.0)
                .count();
            assert!(within <= 70, "{within}");
        }
    }

    #[test]
    fn tokens_count_and_a_call_larger_than_the_store_is_paid_afterwards() {
        let limits = Limits {
            requests_per_minute: None,
            tokens_per_minute: Some(6_000),
        };
        let even = starts(limits, 100, 70);
        assert!((even[69] - even[10] - 59.0).abs() < 1e-6);
        let large = starts(limits, 3_000, 3);
        assert_eq!(large[0], 0.0);
        // 3,000 tokens are half a minute's allowance.
        assert!((large[2] - large[1] - 30.0).abs() < 1e-6);
    }

    #[test]
    fn without_limits_nothing_waits() {
        assert_eq!(starts(Limits::default(), 1_000_000, 50)[49], 0.0);
    }
}
