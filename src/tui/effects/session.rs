//! Remembering where one is: written by threads, of which the newest wins.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::data::session::{self, Session};
use crate::tui::Remembered;
use crate::tui::effects::Job;
use crate::tui::message::Message;

/// Where one was the last time. Who starts afresh is nowhere, but what was written and is not saved is there still.
pub(super) fn before(remembered: &Remembered) -> Result<Option<Session>, String> {
    let before = session::read(&remembered.path);
    match remembered.fresh {
        false => before,
        true => {
            let before = before.unwrap_or_default();
            let drafts = before.map(|before| before.drafts).unwrap_or_default();
            Ok((!drafts.is_empty()).then(|| Session {
                version: session::VERSION,
                drafts,
                ..Session::default()
            }))
        }
    }
}

/// What is shared by the threads that write.
#[derive(Debug, Default)]
struct Written {
    /// Number of the newest that was written.
    newest: u64,
    /// A failure was said already.
    said: bool,
}

/// Numbers what is to be written.
#[derive(Debug, Default)]
pub(super) struct Keeper {
    number: u64,
    written: Arc<Mutex<Written>>,
}

impl Keeper {
    /// The next to be written.
    pub(super) fn next(&mut self, path: PathBuf, place: Session) -> Keep {
        self.number += 1;
        Keep {
            number: self.number,
            path,
            place,
            written: Arc::clone(&self.written),
        }
    }
}

/// Something to be written.
pub(super) struct Keep {
    number: u64,
    path: PathBuf,
    place: Session,
    written: Arc<Mutex<Written>>,
}

impl Keep {
    /// Writes it; a failure is said once.
    pub(super) fn write(&self, job: &Job) {
        if let Err(problem) = self.whole() {
            let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
            if !std::mem::replace(&mut written.said, true) {
                drop(written);
                job.send(Message::Complaint(problem));
            }
        }
    }

    /// Writes it, unless something newer is written already.
    pub(super) fn whole(&self) -> Result<(), String> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.newest > self.number {
            return Ok(());
        }
        written.newest = self.number;
        session::write(&self.path, &self.place)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_newest_wins_whoever_writes_last() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.json");
        let mut keeper = Keeper::default();
        let place = |filter: &str| Session {
            version: session::VERSION,
            filter: filter.into(),
            ..Session::default()
        };
        let old = keeper.next(path.clone(), place("old"));
        let new = keeper.next(path.clone(), place("new"));
        new.whole().unwrap();
        old.whole().unwrap();
        assert_eq!(session::read(&path).unwrap().unwrap().filter, "new");
    }
}
