//! How many calls may run at a time: more while they succeed, half as many when the server is overloaded.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

/// The most calls at the start, whatever the ceiling.
const START: usize = 32;

/// The limit of one endpoint. Until the server is overloaded for the first time every call that it accepts raises
/// it by one (so it doubles with each round of calls); from then on it rises by one per round. It never rises far
/// above what was really under way, which alone says what the server can bear. An overload halves it, but only
/// once for all calls that were under way at the last halving.
#[derive(Debug)]
pub(super) struct Limiter {
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug)]
struct State {
    ceiling: f64,
    limit: f64,
    in_flight: usize,
    /// The most calls that were under way since the last cut.
    peak: usize,
    last_cut: Option<Instant>,
}

/// The right to have one call under way; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Permit {
    limiter: Arc<Limiter>,
}

impl Limiter {
    /// A limiter that never allows more than `ceiling` calls (at least one).
    pub(super) fn new(ceiling: usize) -> Arc<Limiter> {
        let ceiling = ceiling.max(1);
        Arc::new(Limiter {
            state: Mutex::new(State {
                ceiling: ceiling as f64,
                limit: ceiling.min(START) as f64,
                in_flight: 0,
                peak: 0,
                last_cut: None,
            }),
            freed: Notify::new(),
        })
    }

    /// Waits for a permit. Only one task at a time may wait.
    pub(super) async fn acquire(self: &Arc<Self>) -> Permit {
        loop {
            if let Some(permit) = self.try_acquire() {
                return permit;
            }
            self.freed.notified().await;
        }
    }

    fn try_acquire(self: &Arc<Self>) -> Option<Permit> {
        let mut state = self.state();
        if (state.in_flight as f64) < state.limit.floor() {
            state.in_flight += 1;
            state.peak = state.peak.max(state.in_flight);
            return Some(Permit {
                limiter: Arc::clone(self),
            });
        }
        None
    }

    /// Calls under way, and how many there may be.
    pub(super) fn now(&self) -> (usize, usize) {
        let state = self.state();
        (state.in_flight, state.limit.floor() as usize)
    }

    fn succeeded(&self) {
        let mut state = self.state();
        let peak = state.peak as f64;
        // Calls that began together end together, before others could take their places: counting what is under
        // way at this moment would take a used limit for an unused one.
        let (step, is_used) = match state.last_cut {
            None => (1.0, state.limit < 2.0 * peak),
            Some(_) => (1.0 / state.limit, state.limit.floor() <= peak),
        };
        if !is_used {
            return;
        }
        state.limit = (state.limit + step).min(state.ceiling);
        drop(state);
        self.freed.notify_one();
    }

    fn overloaded(&self, began: Instant, now: Instant) {
        let mut state = self.state();
        if state.last_cut.is_some_and(|cut| began < cut) {
            return;
        }
        state.limit = (state.limit / 2.0).floor().max(1.0);
        state.peak = state.limit as usize;
        state.last_cut = Some(now);
    }

    /// A panic elsewhere leaves plain numbers behind.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit {
    /// The server has begun to reply.
    pub(super) fn succeeded(&self) {
        self.limiter.succeeded();
    }

    /// The attempt that began at this time was refused because the server is overloaded.
    pub(super) fn overloaded(&self, began: Instant) {
        self.limiter.overloaded(began, Instant::now());
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.limiter.state();
        state.in_flight = state.in_flight.saturating_sub(1);
        drop(state);
        self.limiter.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use std::time::Duration;

    use super::*;

    /// Takes every permit there is.
    fn fill(limiter: &Arc<Limiter>, held: &mut Vec<Permit>) {
        while let Some(permit) = limiter.try_acquire() {
            held.push(permit);
        }
    }

    #[test]
    fn it_starts_at_32_or_the_ceiling_and_doubles_per_round() {
        assert_eq!(Limiter::new(0).now().1, 1);
        assert_eq!(Limiter::new(8).now().1, 8);
        let limiter = Limiter::new(100);
        let mut held = Vec::new();
        for expected in [32, 64, 100, 100] {
            fill(&limiter, &mut held);
            assert_eq!(limiter.now(), (expected, expected));
            // A round: every call succeeds and makes room for the next.
            for permit in std::mem::take(&mut held) {
                permit.succeeded();
                drop(permit);
                fill(&limiter, &mut held);
            }
        }
    }

    #[test]
    fn an_overload_halves_once_per_round_and_growth_is_slow_afterwards() {
        let limiter = Limiter::new(64);
        let mut held = Vec::new();
        fill(&limiter, &mut held);
        let start = Instant::now();
        let later = |seconds| start + Duration::from_secs(seconds);
        limiter.overloaded(start, later(1));
        assert_eq!(limiter.now(), (32, 16));
        assert!(limiter.try_acquire().is_none());
        // Calls that began before the cut say nothing new.
        limiter.overloaded(start, later(2));
        assert_eq!(limiter.now().1, 16);
        limiter.overloaded(later(1), later(3));
        assert_eq!(limiter.now().1, 8);
        held.truncate(8);
        for permit in held.iter().take(8) {
            permit.succeeded();
        }
        // Eight successes at a limit of eight: not quite one more, since the limit rises on the way.
        assert_eq!(limiter.now().1, 8);
        held[0].succeeded();
        assert_eq!(limiter.now().1, 9);
        for cut in 4..20 {
            limiter.overloaded(later(cut), later(cut));
        }
        assert_eq!(limiter.now().1, 1);
    }

    #[test]
    fn calls_that_end_together_raise_the_limit_as_others_do() {
        let limiter = Limiter::new(200);
        let mut held = Vec::new();
        for expected in [64, 128, 200] {
            fill(&limiter, &mut held);
            for permit in std::mem::take(&mut held) {
                permit.succeeded();
            }
            assert_eq!(limiter.now(), (0, expected));
        }
        // After a cut it rises by one per round, and no further than one above what was really under way.
        let now = Instant::now();
        limiter.overloaded(now, now);
        fill(&limiter, &mut held);
        for _ in 0..10 {
            held.iter().for_each(Permit::succeeded);
        }
        assert_eq!(limiter.now(), (100, 101));
    }

    #[test]
    fn an_unused_limit_does_not_grow() {
        let limiter = Limiter::new(64);
        let permit = limiter.try_acquire().unwrap();
        for _ in 0..100 {
            permit.succeeded();
        }
        assert_eq!(limiter.now(), (1, 32));
    }

    #[tokio::test]
    async fn a_waiting_task_goes_on_when_a_permit_comes_back() {
        let limiter = Limiter::new(1);
        let first = limiter.acquire().await;
        let waiting = tokio::spawn({
            let limiter = Arc::clone(&limiter);
            async move { limiter.acquire().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(first);
        let second = tokio::time::timeout(Duration::from_secs(10), waiting)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(limiter.now().0, 1);
        drop(second);
        assert_eq!(limiter.now().0, 0);
    }
}
