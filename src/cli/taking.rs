//! Taking in what people said of replies or items on another machine: it joins what the same person said here.

use std::collections::{BTreeMap, HashMap};

use crate::cli::Failure;
use crate::cli::common::note;
use crate::data::store::StoreError;
use crate::domain::annotation::Hand;
use crate::domain::text::{clean, count};

/// Problems that are written out.
const PROBLEMS_SHOWN: usize = 5;

/// How a row stands to what the same person says here of the same thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nothing is said here.
    New,
    /// The same is said here.
    Held,
    /// Something else is said here.
    Differs,
}

/// A row of a file, ready to be taken in.
pub trait Incoming {
    /// Where it goes.
    type Journal;
    /// All that one person says there about one run or dataset.
    type Book: Default;

    /// The run or dataset.
    fn subject(&self) -> &str;

    /// Who says it.
    fn hand(&self) -> &Hand;

    /// What everybody says here about a run or dataset.
    ///
    /// # Errors
    /// [`StoreError`] where the journal can't be read.
    fn books(
        journal: &Self::Journal,
        subject: &str,
    ) -> Result<BTreeMap<Hand, Self::Book>, StoreError>;

    /// How it stands to the book of the same person.
    fn standing(&self, book: &Self::Book) -> Standing;

    /// Writes it to the journal and to the book.
    ///
    /// # Errors
    /// [`StoreError`] where the journal can't be written.
    fn put(&self, journal: &Self::Journal, book: &mut Self::Book) -> Result<(), StoreError>;
}

/// What became of the rows of a file.
#[derive(Debug, Default)]
pub struct Tally {
    /// Taken in.
    pub imported: usize,
    /// Said here already.
    pub held: usize,
    /// Left out, since the same person says something else here.
    pub kept: usize,
    /// Why rows can't be read, with their places.
    pub problems: Vec<String>,
}

impl Tally {
    /// Takes the rows in; what differs from what is said here only with `replace`.
    ///
    /// # Errors
    /// A journal that can't be read or written.
    pub fn take_in<R: Incoming>(
        &mut self,
        journal: &R::Journal,
        rows: &[R],
        replace: bool,
    ) -> Result<(), Failure> {
        let mut shelves: HashMap<&str, BTreeMap<Hand, R::Book>> = HashMap::new();
        for row in rows {
            let subject = row.subject();
            if !shelves.contains_key(subject) {
                let books = R::books(journal, subject).map_err(Failure::failed)?;
                shelves.insert(subject, books);
            }
            let Some(books) = shelves.get_mut(subject) else {
                continue;
            };
            let book = books.entry(row.hand().clone()).or_default();
            match row.standing(book) {
                Standing::Held => self.held += 1,
                Standing::Differs if !replace => self.kept += 1,
                Standing::New | Standing::Differs => {
                    row.put(journal, book).map_err(Failure::failed)?;
                    self.imported += 1;
                }
            }
        }
        Ok(())
    }

    /// Says why rows can't be read, as far as that is not too much.
    pub fn note_problems(&self) {
        for problem in self.problems.iter().take(PROBLEMS_SHOWN) {
            note(&format!("note: {}", clean(problem)));
        }
        let more = self.problems.len().saturating_sub(PROBLEMS_SHOWN);
        if more > 0 {
            note(&format!("note: {more} more can't be read"));
        }
    }

    /// Says what was left out: how many of a `noun`, what the person did with it here (`says`, `decided`).
    pub fn note_kept(&self, noun: &str, verb: &str) {
        if self.kept > 0 {
            note(&format!(
                "note: {} differ from what the same person {verb} here, which was kept; --replace takes the file's",
                count(self.kept, noun)
            ));
        }
    }

    /// All of it in a sentence.
    pub fn sentence(&self, noun: &str) -> String {
        format!(
            "{} imported, {} already there, {} kept as they are here, {} can't be read",
            count(self.imported, noun),
            self.held,
            self.kept,
            self.problems.len()
        )
    }
}
