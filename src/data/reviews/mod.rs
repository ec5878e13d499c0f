//! Decisions of reviewers on disk: a history that is only ever added to, beside the run store
//! (`data::journal`). A dataset is named by its folder's name, its items by hashes of what they say, so that
//! decisions fit a copy on another machine, and never an item that was made anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::data::journal::{Journal, Kind, Stored};
use crate::data::reviews::record::ActRecord;
use crate::data::store::StoreError;
use crate::domain::annotation::{Hand, Part};
use crate::domain::review::{Event, ReviewBook};

mod file;
mod record;

pub use file::{ReviewRow, facts, read_row, write_csv, write_jsonl};

/// The file in the data folder.
pub const FILE_NAME: &str = "reviews.sqlite";

/// Marked `MRGR`.
static KIND: Kind = Kind {
    application_id: 0x4d52_4752,
    noun: "review decisions",
    act_version: 1,
};

/// The decisions on all datasets. Cheap to clone; safe to use from several threads.
#[derive(Debug, Clone)]
pub struct Reviews(Journal);

/// The decisions on one dataset by everybody.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReviewShelf {
    /// The book of each hand, sorted by name.
    pub books: BTreeMap<Hand, ReviewBook>,
    /// Acts that can't be read; they are left out.
    pub broken: usize,
}

impl ReviewShelf {
    /// The reviewers' books with their names.
    pub fn reviewers(&self) -> Vec<(String, &ReviewBook)> {
        let all = self.books.iter();
        all.filter(|(hand, book)| hand.part == Part::Annotator && book.decisions().next().is_some())
            .map(|(hand, book)| (hand.annotator.clone(), book))
            .collect()
    }
}

impl Reviews {
    /// Opens or creates the file; migrates an older schema, refuses a newer one.
    ///
    /// # Errors
    /// [`StoreError`] with the file and what to do.
    pub fn open(path: &Path) -> Result<Reviews, StoreError> {
        Journal::open(path, &KIND).map(Reviews)
    }

    /// Opens a file that is there, only to read it, as [`crate::data::store::Store::open_for_reading`] does.
    ///
    /// # Errors
    /// [`StoreError`] with the file and what to do.
    pub fn open_for_reading(path: &Path) -> Result<Reviews, StoreError> {
        Journal::open_for_reading(path, &KIND).map(Reviews)
    }

    /// Writes an act durably, with the time of now unless it has one, and gives that time.
    ///
    /// # Errors
    /// [`StoreError`], for example when the disk is full.
    pub fn add(&self, dataset: &str, hand: &Hand, event: &Event) -> Result<String, StoreError> {
        let act = ActRecord::of(&event.act);
        self.0.add(dataset, hand, &event.at, "", &act)
    }

    /// Everything that was decided about a dataset.
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be read, or holds an act of a later program.
    pub fn of_dataset(&self, dataset: &str) -> Result<ReviewShelf, StoreError> {
        let mut shelf = ReviewShelf::default();
        for stored in self.0.acts(dataset)? {
            match read(stored) {
                Some((hand, event)) => {
                    shelf.books.entry(hand).or_default().apply(&event);
                }
                None => shelf.broken += 1,
            }
        }
        Ok(shelf)
    }

    /// The datasets that there are decisions on, the one with the newest first.
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be read.
    pub fn datasets(&self) -> Result<Vec<String>, StoreError> {
        self.0.subjects()
    }

    /// Remembers what somebody's queue of a dataset is narrowed to (the explorer's own JSON).
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be written.
    pub fn set_queue(&self, dataset: &str, hand: &Hand, choice: &str) -> Result<(), StoreError> {
        self.0.set_queue(dataset, hand, choice)
    }

    /// What [`Reviews::set_queue`] remembered.
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be read.
    pub fn queue(&self, dataset: &str, hand: &Hand) -> Result<Option<String>, StoreError> {
        self.0.queue(dataset, hand)
    }
}

fn read(stored: Stored) -> Option<(Hand, Event)> {
    let record: ActRecord = serde_json::from_str(&stored.act).ok()?;
    let event = Event {
        at: stored.at,
        act: record.act()?,
    };
    Some((stored.hand?, event))
}

/// The file of decisions beside a run store.
pub fn beside(store: &Path) -> PathBuf {
    store.with_file_name(FILE_NAME)
}

#[cfg(test)]
mod tests;
