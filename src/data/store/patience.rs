//! Waiting for another program that holds the store for long: a large import, say.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::ErrorCode;

use crate::data::store::Store;

/// How long writes wait, and since when they do.
#[derive(Debug, Default)]
pub(super) struct Patience(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    most: Duration,
    since: Option<Instant>,
}

impl Patience {
    /// A panic elsewhere leaves plain values behind.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a vain attempt that began at `began`; whether another one may be made.
    fn goes_on(&self, began: Instant) -> bool {
        let mut state = self.state();
        let waited = state.since.get_or_insert(began).elapsed();
        waited < state.most
    }
}

impl Store {
    /// Lets writes wait so long for another program that holds the store, and no less than usual. It holds for all
    /// clones, and for writes that wait already.
    pub fn wait_up_to(&self, most: Duration) {
        self.patience.state().most = most;
    }

    /// For how long writes have waited for another program and at most will; `None` where none waits, or not for longer
    /// than usual.
    pub fn waits(&self) -> Option<(Duration, Duration)> {
        let state = self.patience.state();
        Some((state.since?.elapsed(), state.most))
    }

    /// Does what writes to the store, again and again while another program holds it.
    pub(super) fn patiently<T>(
        &self,
        mut write: impl FnMut() -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        loop {
            let began = Instant::now();
            match write() {
                Err(error) if is_locked(&error) && self.patience.goes_on(began) => {}
                done => {
                    self.patience.state().since = None;
                    return done;
                }
            }
        }
    }
}

/// Whether another program holds the store.
pub(super) fn is_locked(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use rusqlite::Connection;

    use super::*;
    use crate::data::store::tests::record;

    /// A store whose writes give up after a moment, and another program that holds it.
    fn held() -> (tempfile::TempDir, Store, Connection) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let store = Store::open_with(&path, Duration::from_millis(20)).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        (dir, store, other)
    }

    /// Waits until the store says that it waits.
    fn until_it_waits(store: &Store) {
        while store.waits().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_patient_store_waits_until_the_other_program_is_done() {
        let (_dir, store, other) = held();
        store.wait_up_to(Duration::from_secs(600));
        std::thread::scope(|scope| {
            let one = scope.spawn(|| store.insert(&record("r", "a")));
            until_it_waits(&store);
            assert_eq!(store.waits().unwrap().1, Duration::from_secs(600));
            // Others that come meanwhile wait with it.
            let two = scope.spawn(|| store.insert(&record("r", "b")));
            std::thread::sleep(Duration::from_millis(100));
            other.execute_batch("ROLLBACK").unwrap();
            one.join().unwrap().unwrap();
            two.join().unwrap().unwrap();
        });
        assert_eq!(store.waits(), None);
        assert_eq!(store.replies_of_run("r").unwrap().len(), 2);
    }

    #[test]
    fn patience_that_is_taken_back_ends_a_wait() {
        let (_dir, store, _other) = held();
        store.wait_up_to(Duration::from_secs(600));
        std::thread::scope(|scope| {
            let one = scope.spawn(|| store.insert(&record("r", "a")));
            until_it_waits(&store);
            store.wait_up_to(Duration::ZERO);
            let said = one.join().unwrap().unwrap_err().0;
            assert!(said.contains("locked by another program"), "{said}");
        });
        assert_eq!(store.waits(), None);
    }
}
