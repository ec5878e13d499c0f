//! Cuts a stream of XML into its records, so that a broken one fails alone and memory stays flat.
//!
//! `<` never stands for itself in the text of XML, so the tags of a record can be found without parsing what
//! lies between them; each record is then parsed by itself. What stands before, between and after records (the
//! document type with its entities, lists of deleted citations) is passed over.

use std::io::{self, BufRead, Read};

use regex::bytes::Regex;

/// The longest record, in bytes; a longer one is bad.
const LONGEST: usize = 32 << 20;
/// Bytes read at a time.
const STEP: u64 = 1 << 18;
/// Longer than any tag that is looked for.
const TAG: usize = 64;

/// A piece of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Where it begins, in bytes from 1.
    pub(super) at: u64,
    /// The record with its tags, or why it can't be used.
    pub(super) text: Result<String, String>,
}

/// The records of a stream.
pub(super) struct Cutter {
    reader: Box<dyn BufRead>,
    /// Matches opening and closing tags of records: slash, name.
    tags: Regex,
    buffer: Vec<u8>,
    /// Bytes of the stream before the buffer.
    before: u64,
    /// Up to where the buffer has been searched.
    searched: usize,
    ended: bool,
}

impl Cutter {
    /// Records are the elements of any of these names; one within another counts as part of it.
    pub(super) fn new(reader: Box<dyn BufRead>, names: &[&str]) -> Option<Cutter> {
        let tags = Regex::new(&format!(r"<(/?)({})[\s>]", names.join("|"))).ok()?;
        Some(Cutter {
            reader,
            tags,
            buffer: Vec::new(),
            before: 0,
            searched: 0,
            ended: false,
        })
    }

    /// The next record; `None` at the end.
    ///
    /// # Errors
    /// When the stream can't be read on.
    pub(super) fn next_piece(&mut self) -> io::Result<Option<Piece>> {
        let mut open: Option<String> = None;
        loop {
            let Some((start, end, closes, name)) = self.next_tag() else {
                if self.ended {
                    return Ok(open.map(|name| {
                        self.give(
                            self.buffer.len(),
                            Err(format!("the file ends within <{name}>")),
                        )
                    }));
                }
                if open.is_none() {
                    self.drop_before(self.searched);
                } else if self.buffer.len() > LONGEST {
                    let why = format!("the record is longer than {LONGEST} bytes");
                    return Ok(Some(self.give(self.searched, Err(why))));
                }
                self.fill()?;
                continue;
            };
            match &open {
                None if closes => self.searched = end,
                None => {
                    self.drop_before(start);
                    self.searched = end - start;
                    open = Some(name);
                }
                Some(opened) if *opened != name => self.searched = end,
                Some(_) if closes => {
                    let record = self.buffer[..end].to_vec();
                    let text = String::from_utf8(record).map_err(|error| {
                        let at = error.utf8_error().valid_up_to() as u64;
                        format!("a byte that is not UTF-8, at byte {}", self.before + at + 1)
                    });
                    return Ok(Some(self.give(end, text)));
                }
                Some(opened) => {
                    let why = format!("<{opened}> is not closed before the next one begins");
                    return Ok(Some(self.give(start, Err(why))));
                }
            }
        }
    }

    /// The next tag that has not been looked at: start, end, whether it closes, its name.
    fn next_tag(&mut self) -> Option<(usize, usize, bool, String)> {
        let found = self.tags.captures_at(&self.buffer, self.searched);
        let Some((all, slash, name)) =
            found.and_then(|found| Some((found.get(0)?, found.get(1)?, found.get(2)?)))
        else {
            self.searched = self.buffer.len().saturating_sub(TAG).max(self.searched);
            return None;
        };
        let name = String::from_utf8_lossy(name.as_bytes()).into_owned();
        Some((all.start(), all.end(), !slash.is_empty(), name))
    }

    /// Takes what lies before `end` off the buffer as a piece.
    fn give(&mut self, end: usize, text: Result<String, String>) -> Piece {
        let at = self.before + 1;
        self.drop_before(end);
        self.searched = 0;
        Piece { at, text }
    }

    fn drop_before(&mut self, at: usize) {
        self.buffer.drain(..at);
        self.before += at as u64;
        self.searched = self.searched.saturating_sub(at);
    }

    fn fill(&mut self) -> io::Result<()> {
        let read = self
            .reader
            .by_ref()
            .take(STEP)
            .read_to_end(&mut self.buffer)?;
        self.ended = read == 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn pieces(text: &[u8]) -> Vec<(u64, Result<String, String>)> {
        let reader = Box::new(io::BufReader::with_capacity(
            7,
            io::Cursor::new(text.to_vec()),
        ));
        let mut cutter = Cutter::new(reader, &["A", "Ab"]).unwrap();
        std::iter::from_fn(|| cutter.next_piece().unwrap())
            .map(|piece| (piece.at, piece.text))
            .collect()
    }

    #[test]
    fn records_are_cut_and_all_else_is_passed_over() {
        let found = pieces(
            b"<!DOCTYPE x [<!ENTITY A 'b'>]><ASet>\n<A x=''><Abc/></A>,<Ab>2</Ab><A/></ASet>",
        );
        let texts: Vec<String> = found.into_iter().map(|piece| piece.1.unwrap()).collect();
        assert_eq!(texts, ["<A x=''><Abc/></A>", "<Ab>2</Ab>"]);
        assert!(pieces(b"").is_empty());
    }

    #[test]
    fn broken_records_fail_alone() {
        let found = pieces(b"<A>1<A>2</A><A>\xff</A><A>3</A><A>4");
        assert_eq!(found.len(), 5);
        assert!(found[0].1.as_ref().unwrap_err().contains("not closed"));
        assert_eq!(found[1], (5, Ok("<A>2</A>".into())));
        assert!(found[2].1.as_ref().unwrap_err().contains("at byte 16"));
        assert_eq!(found[3].1, Ok("<A>3</A>".into()));
        assert!(found[4].1.as_ref().unwrap_err().contains("ends within"));
    }

    #[test]
    fn records_over_the_bounds_of_reads_are_whole() {
        let long = "x".repeat(STEP as usize - 30);
        let text: String = (0..6).map(|i| format!("<A>{i}{long}</A> ")).collect();
        let found = pieces(text.as_bytes());
        assert_eq!(found.len(), 6);
        for (i, piece) in found.iter().enumerate() {
            assert_eq!(piece.1, Ok(format!("<A>{i}{long}</A>")));
        }
    }
}
