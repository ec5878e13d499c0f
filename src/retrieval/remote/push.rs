//! Filling a collection: rows in batches, cut to the fields' limits, tried again when a server is busy.
//!
//! Writing a row that is there replaces it, so that a push that was stopped is simply run again, from the beginning.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Duration;

use half::f16;
use serde::Serialize;

use crate::domain::text::short;
use crate::retrieval::RetrievalError;
use crate::retrieval::remote::collection::Collection;
use crate::retrieval::remote::record::{Precision, Record};
use crate::retrieval::remote::shape::{LONGEST_ID, LONGEST_TEXT, Row};

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
/// Refused rows that are named.
const NAMED: usize = 5;

/// What came of a push.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Pushed {
    /// Rows written: new ones and replaced ones.
    pub written: usize,
    /// Rows that can't be written, each by itself.
    pub refused: usize,
    /// Why, for the first few.
    pub reasons: Vec<String>,
    /// Titles and texts that were longer than a field of Milvus and lost their end.
    pub cut: usize,
}

/// Writes rows into a collection that exists. `progress` gets the number of rows looked at and may stop.
///
/// # Errors
/// When the rows can't be read, the server fails repeatedly, or `progress` breaks; what is written stays.
pub fn push(
    collection: &Collection,
    record: &Record,
    rows: &mut dyn Iterator<Item = Result<Row, RetrievalError>>,
    progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Pushed, RetrievalError> {
    let mut pushed = Pushed::default();
    let mut batch = Batch::default();
    let mut seen = 0;
    for row in rows {
        seen += 1;
        match fitted(row?, record) {
            Ok((row, cut)) => {
                pushed.cut += cut;
                if !batch.has_room_for(&row) {
                    write(collection, record, &mut batch, &mut pushed)?;
                    if progress(seen - 1).is_break() {
                        return Err(stopped(pushed.written));
                    }
                }
                batch.add(row);
            }
            Err(why) => {
                pushed.refused += 1;
                if pushed.reasons.len() < NAMED {
                    pushed.reasons.push(format!("document {seen}: {why}"));
                }
            }
        }
    }
    write(collection, record, &mut batch, &mut pushed)?;
    if progress(seen).is_break() {
        return Err(stopped(pushed.written));
    }
    match collection.flush() {
        // What is written is safe in the server's log; a cluster flushes by itself, and limits how often one
        // may ask for it.
        Err(error) if error.passing => {}
        flushed => flushed?,
    }
    Ok(pushed)
}

fn stopped(written: usize) -> RetrievalError {
    RetrievalError(format!(
        "stopped after {written} documents; they stay in the remote index; the same command writes all of them, and replaces those that are there"
    ))
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

fn write(
    collection: &Collection,
    record: &Record,
    batch: &mut Batch,
    pushed: &mut Pushed,
) -> Result<(), RetrievalError> {
    if batch.rows.is_empty() {
        return Ok(());
    }
    let mut waits = WAITS.iter();
    loop {
        match collection.upsert(&batch.rows, record) {
            Ok(()) => break,
            Err(error) if error.passing => match waits.next() {
                Some(wait) => std::thread::sleep(*wait),
                None => return Err(after(error.sentence, pushed.written)),
            },
            Err(error) => return Err(after(error.sentence, pushed.written)),
        }
    }
    pushed.written += batch.rows.len();
    *batch = Batch::default();
    Ok(())
}

fn after(sentence: String, written: usize) -> RetrievalError {
    RetrievalError(format!(
        "{sentence} ({written} documents are written and stay; the same command writes all of them again)"
    ))
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
