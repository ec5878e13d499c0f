//! Filling a collection: rows in batches, cut to the fields' limits, tried again when a server is busy.
//!
//! A push that was stopped goes on where it was. Writing a row that is there replaces it, so that the batches of which it
//! isn't known whether they were written are written again.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use half::f16;
use serde::{Deserialize, Serialize};

use crate::domain::text::{count, short};
use crate::retrieval::RetrievalError;
use crate::retrieval::remote::collection::Collection;
use crate::retrieval::remote::record::{Precision, Record};
use crate::retrieval::remote::shape::{LONGEST_ID, LONGEST_TEXT, Row};
use crate::retrieval::remote::standing::{SourceId, Standing};

/// Rows of a batch at most.
const BATCH: usize = 1000;
/// Bytes of a batch, about: an eighth of what Milvus accepts in one message.
const BATCH_BYTES: usize = 8 << 20;
/// Waits before each further attempt when the server is busy or was away for a moment.
const WAITS: [Duration; 4] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];
/// Writing takes at least that many times as long as noting how far it is: a note changes the collection's description,
/// which every machine of a cluster has to hear of.
const NOTING: u32 = 20;
/// Refused rows that are named.
const NAMED: usize = 5;

/// What came of a push.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pushed {
    /// Rows that an earlier push of the same source, which was stopped, had written.
    pub already: usize,
    /// Rows written: new ones and replaced ones.
    pub written: usize,
    /// Rows that can't be written, each by itself.
    pub refused: usize,
    /// Why, for the first few.
    pub reasons: Vec<String>,
    /// Titles and texts that were longer than a field of Milvus and lost their end.
    pub cut: usize,
}

/// What is to be written.
pub struct Source<'a> {
    /// Tells it from all others.
    pub id: SourceId,
    /// Documents.
    pub count: usize,
    /// The document at a position, with its vector.
    pub row: &'a dyn Fn(usize) -> Result<Row, RetrievalError>,
}

/// A push that goes on where an earlier one of the same source was stopped.
pub struct Push<'a> {
    collection: &'a Collection,
    record: &'a Record,
    source: &'a Source<'a>,
    standing: Standing,
    /// Whether the collection takes notes of how far the push is.
    noting: bool,
    noted: Instant,
    /// What the last note took.
    cost: Duration,
}

impl<'a> Push<'a> {
    /// Looks up how far an earlier push of this source has come. Those of other sources, which this one may write over,
    /// are no longer known from now on.
    ///
    /// # Errors
    /// When the server can't be asked.
    pub fn begin(
        collection: &'a Collection,
        record: &'a Record,
        source: &'a Source<'a>,
    ) -> Result<Push<'a>, RetrievalError> {
        let properties = collection.properties()?;
        for other in source.id.others(&properties) {
            collection.forget_property(&other)?;
        }
        let known = source.id.standing(&properties);
        let mut standing = known
            .filter(|standing| standing.of == source.count)
            .unwrap_or_default();
        standing.of = source.count;
        standing.pushed.already += std::mem::take(&mut standing.pushed.written);
        let mut push = Push {
            collection,
            record,
            source,
            standing,
            noting: true,
            noted: Instant::now(),
            cost: Duration::ZERO,
        };
        push.note();
        Ok(push)
    }

    /// Documents that an earlier push has written.
    pub fn already(&self) -> usize {
        self.standing.pushed.already
    }

    /// Writes what is left into the collection. `progress` gets the number of rows looked at and may stop.
    ///
    /// # Errors
    /// When the rows can't be read, the server fails repeatedly, or `progress` breaks; what is written stays.
    pub fn run(
        mut self,
        progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Pushed, RetrievalError> {
        let mut batch = Batch::default();
        for at in self.standing.done..self.source.count {
            match fitted((self.source.row)(at)?, self.record) {
                Ok((row, cut)) => {
                    if !batch.has_room_for(&row) {
                        self.write_until(at, &mut batch, progress)?;
                    }
                    self.standing.pushed.cut += cut;
                    batch.add(row);
                }
                Err(why) => self.refuse(at, &why),
            }
        }
        self.write_until(self.source.count, &mut batch, progress)?;
        match self.collection.flush() {
            // What is written is safe in the server's log; a cluster flushes by itself, and limits how often one
            // may ask for it.
            Err(error) if error.passing => {}
            flushed => flushed?,
        }
        if self.noting {
            // A note that stays says that all is there, which is true.
            let _ = self.collection.forget_property(&self.source.id.property());
        }
        Ok(self.standing.pushed)
    }

    fn refuse(&mut self, at: usize, why: &str) {
        let pushed = &mut self.standing.pushed;
        pushed.refused += 1;
        if pushed.reasons.len() < NAMED {
            pushed.reasons.push(format!("document {}: {why}", at + 1));
        }
    }

    /// Writes a batch, after which the first `done` documents are dealt with.
    fn write_until(
        &mut self,
        done: usize,
        batch: &mut Batch,
        progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<(), RetrievalError> {
        self.write(batch)?;
        self.standing.done = done;
        let stop = progress(done).is_break();
        if stop || self.noted.elapsed() > self.cost * NOTING {
            self.check_alone()?;
            self.note();
        }
        match stop {
            true => Err(self.stopped()),
            false => Ok(()),
        }
    }

    fn write(&mut self, batch: &mut Batch) -> Result<(), RetrievalError> {
        if batch.rows.is_empty() {
            return Ok(());
        }
        let mut waits = WAITS.iter();
        loop {
            match self.collection.upsert(&batch.rows, self.record) {
                Ok(()) => break,
                Err(error) if error.passing => match waits.next() {
                    Some(wait) => std::thread::sleep(*wait),
                    None => return Err(self.after(&error.sentence)),
                },
                Err(error) => return Err(self.after(&error.sentence)),
            }
        }
        self.standing.pushed.written += batch.rows.len();
        *batch = Batch::default();
        Ok(())
    }

    /// Ends the push where another one has begun meanwhile, which takes away the notes of all others: both would write
    /// over each other's documents, and the note would say of those that they are there.
    fn check_alone(&self) -> Result<(), RetrievalError> {
        let properties = match self.collection.properties() {
            Ok(properties) if self.noting => properties,
            // It can't be seen now, or never.
            _ => return Ok(()),
        };
        match self.source.id.standing(&properties) {
            Some(_) => Ok(()),
            None => Err(RetrievalError(format!(
                "another push to {} has begun meanwhile, so this one stopped: run the same command again when the other is done, or push to a collection of its own",
                self.collection.place()
            ))),
        }
    }

    /// Notes in the collection how far the push is. A server that refuses is not asked again: the push itself is fine.
    fn note(&mut self) {
        if !self.noting {
            return;
        }
        let started = Instant::now();
        if let Ok(json) = serde_json::to_string(&self.standing) {
            let name = self.source.id.property();
            let noted = self.collection.set_property(&name, &json);
            self.noting = noted.map_or_else(|error| error.passing, |()| true);
        }
        self.cost = started.elapsed();
        self.noted = Instant::now();
    }

    fn stopped(&self) -> RetrievalError {
        RetrievalError(format!("stopped: {}", self.stays("there")))
    }

    fn after(&self, sentence: &str) -> RetrievalError {
        RetrievalError(format!("{sentence} ({})", self.stays("about there")))
    }

    /// What is written, and what the same command does next.
    fn stays(&self, place: &str) -> String {
        let pushed = &self.standing.pushed;
        let next = match self.noting {
            true => format!("goes on {place}"),
            false => "writes all of them again, since the server takes no note of how far it is"
                .to_owned(),
        };
        format!(
            "{} of {} are written and stay in the remote index; the same command {next}",
            pushed.already + pushed.written,
            count(self.source.count, "document")
        )
    }
}

#[derive(Default)]
struct Batch {
    rows: Vec<Row>,
    ids: HashSet<String>,
    bytes: usize,
}

impl Batch {
    /// A server may refuse an id that comes twice in one batch; in the next one it replaces the first.
    fn has_room_for(&self, row: &Row) -> bool {
        self.rows.is_empty()
            || (self.rows.len() < BATCH
                && self.bytes + size(row) <= BATCH_BYTES
                && !self.ids.contains(&row.id))
    }

    fn add(&mut self, row: Row) {
        self.bytes += size(&row);
        self.ids.insert(row.id.clone());
        self.rows.push(row);
    }
}

fn size(row: &Row) -> usize {
    row.id.len() + row.title.len() + row.content.len() + row.vector.len() * 4 + 16
}

/// A row that fits the collection's fields, and how many of its texts were cut for that.
fn fitted(mut row: Row, record: &Record) -> Result<(Row, usize), String> {
    if row.id.is_empty() {
        return Err("its id is empty".into());
    }
    if row.id.len() > LONGEST_ID {
        return Err(format!(
            "its id \"{}\" has {} bytes, and a remote index takes {LONGEST_ID}",
            short(&row.id),
            row.id.len()
        ));
    }
    if row.vector.len() != record.dim {
        return Err(format!(
            "its vector has {} dimensions, not {}",
            row.vector.len(),
            record.dim
        ));
    }
    let fits = |x: f32| match record.precision {
        Precision::Float32 => x.is_finite(),
        Precision::Float16 => f16::from_f32(x).is_finite(),
    };
    if let Some(at) = row.vector.iter().position(|&x| !fits(x)) {
        return Err(format!(
            "number {at} of its vector ({}) is not finite or too large for the index",
            row.vector[at]
        ));
    }
    let cut = usize::from(cut(&mut row.title)) + usize::from(cut(&mut row.content));
    Ok((row, cut))
}

/// Cuts a text to a field's bytes, between characters.
fn cut(text: &mut String) -> bool {
    if text.len() <= LONGEST_TEXT {
        return false;
    }
    text.truncate(text.floor_char_boundary(LONGEST_TEXT));
    true
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::retrieval::EncoderSummary;
    use crate::retrieval::remote::record::IndexKind;

    fn record(precision: Precision) -> Record {
        let encoder = EncoderSummary {
            name: "tiny".into(),
            dim: 2,
            backend: "CPU".into(),
            stand_in: false,
            weights_sha256: "ab".into(),
        };
        Record::new(&encoder, precision, IndexKind::Flat)
    }

    fn row(id: &str, content: &str, vector: &[f32]) -> Row {
        Row {
            id: id.into(),
            title: String::new(),
            content: content.into(),
            vector: vector.into(),
        }
    }

    #[test]
    fn rows_that_can_not_be_kept_are_refused_one_by_one() {
        let why = |row, precision| fitted(row, &record(precision)).unwrap_err();
        let single = Precision::Float32;
        assert!(why(row("", "x", &[1.0, 2.0]), single).contains("id is empty"));
        assert!(why(row(&"é".repeat(257), "x", &[1.0, 2.0]), single).contains("514 bytes"));
        assert!(why(row("a", "x", &[1.0]), single).contains("1 dimensions, not 2"));
        assert!(why(row("a", "x", &[1.0, f32::NAN]), single).contains("number 1"));
        assert!(fitted(row("a", "x", &[70000.0, 1.0]), &record(single)).is_ok());
        assert!(why(row("a", "x", &[70000.0, 1.0]), Precision::Float16).contains("number 0"));
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let long = format!("x{}", "é".repeat(LONGEST_TEXT));
        let (row, cut) = fitted(row("a", &long, &[1.0, 2.0]), &record(Precision::Float32)).unwrap();
        assert_eq!((cut, row.content.len()), (1, LONGEST_TEXT));
        assert!(long.starts_with(&row.content));
    }

    #[test]
    fn a_batch_ends_before_a_repeated_id_and_before_it_grows_too_large() {
        let mut batch = Batch::default();
        batch.add(row("a", "x", &[1.0, 2.0]));
        assert!(batch.has_room_for(&row("b", "x", &[1.0, 2.0])));
        assert!(!batch.has_room_for(&row("a", "x", &[1.0, 2.0])));
        let large = "x".repeat(BATCH_BYTES);
        assert!(!batch.has_room_for(&row("b", &large, &[1.0, 2.0])));
        assert!(Batch::default().has_room_for(&row("b", &large, &[1.0, 2.0])));
    }
}
