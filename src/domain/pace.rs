//! How fast many calls go: a rate that forgets, and times and rates in words.

use std::collections::VecDeque;
use std::time::Duration;

/// Time over which the rate is measured.
const WINDOW: Duration = Duration::from_secs(30);

/// The rate over the last half minute; over the whole time where nothing has ended since.
#[derive(Debug, Clone, Default)]
pub struct Rate {
    /// Times since the start and instances finished by then.
    seen: VecDeque<(Duration, usize)>,
}

impl Rate {
    /// Notes how much is finished at a time since the start.
    pub fn note(&mut self, at: Duration, finished: usize) {
        // A tenth of a second is fine enough, and keeps the list short.
        let recent = self
            .seen
            .back()
            .is_some_and(|(last, _)| at < *last + Duration::from_millis(100));
        if recent {
            return;
        }
        self.seen.push_back((at, finished));
        while self
            .seen
            .get(1)
            .is_some_and(|(second, _)| *second + WINDOW < at)
        {
            self.seen.pop_front();
        }
    }

    /// Finished per second; `None` before it can be told.
    pub fn per_second(&self) -> Option<f64> {
        let (start, before) = *self.seen.front()?;
        let (end, after) = *self.seen.back()?;
        let rate = match after - before {
            0 => after as f64 / end.as_secs_f64(),
            finished => finished as f64 / (end - start).as_secs_f64(),
        };
        (rate.is_finite() && rate > 0.0).then_some(rate)
    }
}

/// A rate in the unit that gives readable numbers.
pub fn per_time(per_second: f64) -> String {
    if per_second >= 1.0 {
        format!("{per_second:.1}/s")
    } else {
        format!("{:.1}/min", per_second * 60.0)
    }
}

/// A time to two units.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_forgets_what_is_long_ago() {
        let mut rate = Rate::default();
        rate.note(Duration::ZERO, 0);
        assert_eq!(rate.per_second(), None);
        for second in 1..=100 {
            // One a second, ten a second from the fiftieth on.
            let done = if second <= 50 {
                second
            } else {
                50 + (second - 50) * 10
            };
            rate.note(Duration::from_secs(second as u64), done);
        }
        assert_eq!(rate.per_second(), Some(10.0));
        assert!(rate.seen.len() < 40);
        // Nothing more ends: 550 in 200 seconds.
        for second in 101..=200 {
            rate.note(Duration::from_secs(second), 550);
        }
        assert_eq!(rate.per_second(), Some(2.75));
    }

    #[test]
    fn times_and_rates_are_readable() {
        assert_eq!(duration(Duration::from_secs(3_700)), "1 h 1 min");
        assert_eq!(per_time(0.05), "3.0/min");
    }
}
