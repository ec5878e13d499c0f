//! How long to wait before another attempt.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::HeaderMap;

use crate::model::http::settings::RetryPolicy;

/// The wait before retry number `retry` (1 is the first): what the server asks for, up to its cap,
/// else a random time up to the doubling limit ("full jitter").
pub(crate) fn delay(policy: &RetryPolicy, retry: u32, asked: Option<Duration>) -> Duration {
    if let Some(asked) = asked {
        return asked.min(policy.retry_after_cap);
    }
    let doubled = 2u32
        .checked_pow(retry.saturating_sub(1))
        .and_then(|factor| policy.base.checked_mul(factor))
        .unwrap_or(policy.cap);
    doubled.min(policy.cap).mul_f64(random_fraction())
}

/// The wait that a server asks for: `retry-after-ms`, else `retry-after` in seconds or as an HTTP date.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(milliseconds) = text("retry-after-ms").and_then(seconds) {
        return Some(milliseconds / 1000);
    }
    let value = text("retry-after")?;
    seconds(value).or_else(|| until(value, now))
}

/// A count of seconds, with or without a fraction.
fn seconds(text: &str) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(number).ok()
}

/// Time until an HTTP date; none left where it has passed.
fn until(date: &str, now: Timestamp) -> Option<Duration> {
    let then = jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(date)
        .ok()?;
    Some(Duration::try_from(then.duration_since(now)).unwrap_or(Duration::ZERO))
}

/// A number from 0 up to 1. Quality does not matter, only that clients do not march in step.
fn random_fraction() -> f64 {
    // Each state is seeded afresh by the operating system's randomness.
    let bits = RandomState::new().build_hasher().finish();
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        headers
    }

    #[test]
    fn retry_after_in_its_forms() {
        let now: Timestamp = "2015-10-21T07:27:30Z".parse().unwrap();
        let read = |name, value: &str| retry_after(&headers(name, value), now);
        assert_eq!(read("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(
            read("retry-after", " 0.5 "),
            Some(Duration::from_millis(500))
        );
        assert_eq!(
            read("retry-after-ms", "1500"),
            Some(Duration::from_millis(1500))
        );
        assert_eq!(
            read("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"),
            Some(Duration::from_secs(30))
        );
        assert_eq!(
            read("retry-after", "Wed, 21 Oct 2015 07:00:00 GMT"),
            Some(Duration::ZERO)
        );
        for nonsense in ["soon", "-3", "NaN", "1e300"] {
            assert_eq!(read("retry-after", nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn waits_grow_within_their_limits_and_vary() {
        let policy = RetryPolicy::default();
        for retry in [1, 2, 3, 10, 40, u32::MAX] {
            let limit = policy
                .cap
                .min(policy.base * 2u32.saturating_pow(retry.min(20) - 1));
            let waits: Vec<Duration> = (0..50).map(|_| delay(&policy, retry, None)).collect();
            assert!(waits.iter().all(|wait| *wait <= limit), "{retry}");
            assert!(waits.iter().any(|wait| *wait > limit / 4), "{retry}");
            assert!(waits.windows(2).any(|pair| pair[0] != pair[1]));
        }
        let hour = Some(Duration::from_secs(3600));
        assert_eq!(delay(&policy, 1, hour), policy.retry_after_cap);
        assert_eq!(
            delay(&policy, 9, Some(Duration::from_secs(2))),
            Duration::from_secs(2)
        );
    }
}
