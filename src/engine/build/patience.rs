//! When a model is given up: where nothing more can be had from it, but not for single requests that it never answers.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::engine::build::BuildError;
use crate::model::{FailureKind, ModelError};

/// After so many failed calls in a row a model is given up.
const FAILURES_IN_A_ROW: usize = 10;

/// Why a request that has failed in an earlier run is not made.
pub(super) const NOT_AGAIN: &str = "no reply came in an earlier run, and 10 others of which the same holds got none now either; this one was not asked again";

/// What the failures of a stage have come to so far.
#[derive(Debug, Default)]
pub(super) struct Patience {
    /// New requests that failed, since the last reply.
    new: AtomicUsize,
    /// Requests that had failed in an earlier run and did again, since the last reply.
    old: AtomicUsize,
    /// Whether this model has answered something of this stage, now or in an earlier run.
    has_answered: AtomicBool,
}

impl Patience {
    /// A reply stands in the ledger.
    pub(super) fn known(&self) {
        self.has_answered.store(true, Ordering::Relaxed);
    }

    /// A reply came.
    pub(super) fn answered(&self) {
        self.known();
        self.new.store(0, Ordering::Relaxed);
        self.old.store(0, Ordering::Relaxed);
    }

    /// Whether requests that failed in an earlier run are left alone from here on.
    pub(super) fn is_spent(&self) -> bool {
        self.old.load(Ordering::Relaxed) >= FAILURES_IN_A_ROW
    }

    /// A call failed, `again` where it had in an earlier run: what fails for good must not keep what is new from being
    /// asked, however often the command is given.
    ///
    /// # Errors
    /// [`BuildError::GivenUp`] where a failure will not pass, or one follows the other.
    pub(super) fn failed(&self, error: &ModelError, again: bool) -> Result<(), BuildError> {
        let spared = again || self.has_answered.load(Ordering::Relaxed);
        let lasting = match error.kind {
            FailureKind::Auth | FailureKind::Quota | FailureKind::Local => true,
            FailureKind::NotFound => !spared,
            _ => false,
        };
        if lasting {
            return Err(BuildError::GivenUp(format!(
                "the model can't be used: {}",
                error.message
            )));
        }
        if again {
            self.old.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        // Who answers others and refuses this one is there.
        let refused = matches!(error.kind, FailureKind::BadRequest | FailureKind::NotFound);
        if refused && spared {
            return Ok(());
        }
        let row = self.new.fetch_add(1, Ordering::Relaxed) + 1;
        match row >= FAILURES_IN_A_ROW {
            true => Err(BuildError::GivenUp(format!(
                "{row} calls in a row failed, the last one: {}",
                error.message
            ))),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures(patience: &Patience, kind: FailureKind, again: bool, times: usize) -> usize {
        let error = ModelError::new(kind, "no");
        let gone_on = (0..times).take_while(|_| patience.failed(&error, again).is_ok());
        gone_on.count()
    }

    #[test]
    fn a_server_that_is_down_is_given_up_after_ten_calls_and_a_key_that_is_refused_at_once() {
        for kind in [
            FailureKind::Network,
            FailureKind::Server,
            FailureKind::RateLimited,
        ] {
            let patience = Patience::default();
            patience.known();
            assert_eq!(failures(&patience, kind, false, 9), 9);
            patience.answered();
            assert_eq!(failures(&patience, kind, false, 99), 9, "{kind:?}");
        }
        for kind in [FailureKind::Auth, FailureKind::Quota, FailureKind::Local] {
            let patience = Patience::default();
            patience.known();
            assert_eq!(failures(&patience, kind, true, 99), 0, "{kind:?}");
        }
        let patience = Patience::default();
        assert_eq!(failures(&patience, FailureKind::NotFound, false, 99), 0);
        assert_eq!(failures(&patience, FailureKind::BadRequest, false, 99), 9);
    }

    #[test]
    fn requests_that_are_refused_one_by_one_end_nothing() {
        for kind in [FailureKind::BadRequest, FailureKind::NotFound] {
            let patience = Patience::default();
            patience.known();
            assert_eq!(failures(&patience, kind, false, 99), 99, "{kind:?}");
        }
    }

    #[test]
    fn what_has_failed_before_ends_nothing_and_is_left_alone_after_a_while() {
        let patience = Patience::default();
        assert_eq!(failures(&patience, FailureKind::Server, true, 9), 9);
        assert!(!patience.is_spent());
        patience.answered();
        assert_eq!(failures(&patience, FailureKind::Network, true, 10), 10);
        assert!(patience.is_spent());
        assert_eq!(failures(&patience, FailureKind::Server, false, 99), 9);
    }
}
