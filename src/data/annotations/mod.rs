//! Annotations on disk: a history that is only ever added to, beside the run store (`data::journal`).

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use crate::data::annotations::record::ActRecord;
use crate::data::journal::{Journal, Kind, Stored};
use crate::data::store::{ReplyRecord, StoreError};
use crate::domain::annotation::{Act, Book, Event, Hand, Part, ReplyMarks, Taxonomy};

mod file;
mod record;

pub use file::{AnnotationRow, ExportRow, facts, read_row, write_csv, write_jsonl};

/// The file in the data folder.
pub const FILE_NAME: &str = "annotations.sqlite";

/// Marked `MRGA`.
static KIND: Kind = Kind {
    application_id: 0x4d52_4741,
    noun: "annotations",
    act_version: 1,
};

/// The annotations of all runs. Cheap to clone; safe to use from several threads.
#[derive(Debug, Clone)]
pub struct Annotations(Journal);

/// The annotations of one run by everybody.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shelf {
    /// The book of each hand, sorted by name.
    pub books: BTreeMap<Hand, Book>,
    /// Acts that can't be read; they are left out.
    pub broken: usize,
    /// The questions whose replies any act is about, those that were taken back included.
    pub questions: HashSet<String>,
}

impl Shelf {
    /// The annotators' books with their names.
    pub fn annotators(&self) -> Vec<(String, &Book)> {
        let all = self.books.iter();
        all.filter(|(hand, book)| {
            hand.part == Part::Annotator && book.annotations().next().is_some()
        })
        .map(|(hand, book)| (hand.annotator.clone(), book))
        .collect()
    }
}

impl Annotations {
    /// Opens or creates the file; migrates an older schema, refuses a newer one.
    ///
    /// # Errors
    /// [`StoreError`] with the file and what to do.
    pub fn open(path: &Path) -> Result<Annotations, StoreError> {
        Journal::open(path, &KIND).map(Annotations)
    }

    /// Opens a file that is there, only to read it, as [`crate::data::store::Store::open_for_reading`] does.
    ///
    /// # Errors
    /// [`StoreError`] with the file and what to do.
    pub fn open_for_reading(path: &Path) -> Result<Annotations, StoreError> {
        Journal::open_for_reading(path, &KIND).map(Annotations)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes an act durably, with the time of now unless it has one, and gives that time.
    ///
    /// # Errors
    /// [`StoreError`], for example when the disk is full.
    pub fn add(&self, run: &str, hand: &Hand, event: &Event) -> Result<String, StoreError> {
        let act = ActRecord::of(&event.act);
        self.0.add(run, hand, &event.at, &event.taxonomy, &act)
    }

    /// Everything that was said of a run's replies.
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be read, or holds an act of a later program.
    pub fn of_run(&self, run: &str) -> Result<Shelf, StoreError> {
        let mut shelf = Shelf::default();
        for stored in self.0.acts(run)? {
            match read(stored) {
                Some((hand, event)) => {
                    if let Act::Change { question_id, .. } = &event.act
                        && !shelf.questions.contains(question_id)
                    {
                        shelf.questions.insert(question_id.clone());
                    }
                    shelf.books.entry(hand).or_default().apply(&event);
                }
                None => shelf.broken += 1,
            }
        }
        Ok(shelf)
    }

    /// How many acts of somebody in a run there are: more than one knows of means that the same person has labelled in
    /// another window.
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be read.
    pub fn acts(&self, run: &str, hand: &Hand) -> Result<usize, StoreError> {
        self.0.count(run, hand)
    }

    /// The runs that have annotations, the one with the newest first.
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be read.
    pub fn runs(&self) -> Result<Vec<String>, StoreError> {
        self.0.subjects()
    }

    /// Remembers which replies somebody's queue of a run shows (the explorer's own JSON).
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be written.
    pub fn set_queue(&self, run: &str, hand: &Hand, choice: &str) -> Result<(), StoreError> {
        self.0.set_queue(run, hand, choice)
    }

    /// What [`Annotations::set_queue`] remembered.
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be read.
    pub fn queue(&self, run: &str, hand: &Hand) -> Result<Option<String>, StoreError> {
        self.0.queue(run, hand)
    }
}

/// Whose act, and what; `None` for one that can't be read.
fn read(stored: Stored) -> Option<(Hand, Event)> {
    let act: ActRecord = serde_json::from_str(&stored.act).ok()?;
    let event = Event {
        at: stored.at,
        taxonomy: stored.stamp,
        act: Act::from(act),
    };
    Some((stored.hand?, event))
}

/// The file of annotations beside a run store.
pub fn beside(store: &Path) -> PathBuf {
    store.with_file_name(FILE_NAME)
}

/// The id by which annotations name a stored reply.
pub fn reply_id(record: &ReplyRecord) -> String {
    ReplyMarks {
        dataset_fingerprint: &record.dataset_fingerprint,
        question_id: &record.question.id,
        condition: &record.condition,
        variant: record.context.variant.as_deref(),
        model: &record.model_name,
        created_at: &record.created_at,
        raw: &record.raw,
    }
    .id()
}

/// Reads a taxonomy file.
///
/// # Errors
/// One sentence: the file, the line, what is wrong.
pub fn open_taxonomy(path: &Path) -> Result<Taxonomy, String> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("the taxonomy {shown} can't be read: {error}"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Taxonomy::parse(&shown, text)
}

#[cfg(test)]
mod tests;
