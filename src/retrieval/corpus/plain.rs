//! Plain text in chunks of 1,000 characters that overlap by 200, as MedRAG cuts its textbooks; the ends are
//! moved to word bounds where one is near.

use std::io::{BufRead, Read};

use crate::retrieval::corpus::{Record, Where};
use crate::retrieval::{CorpusDocument, RetrievalError};

/// Characters of a chunk at most.
pub(super) const CHUNK: usize = 1000;
/// Characters that a chunk shares with the one before, at least as long as words are short.
const OVERLAP: usize = 200;
/// How far an end is moved for a word bound, in characters.
const NEAR: usize = 100;
/// Bytes read at a time.
const STEP: u64 = 1 << 16;

/// Cuts a text that comes in parts.
#[derive(Debug, Default)]
struct Chunker {
    waiting: Vec<char>,
    ended: bool,
}

impl Chunker {
    /// The next chunk; `None` where more text is needed, or at the end.
    fn next(&mut self) -> Option<String> {
        loop {
            if self.waiting.is_empty() || (!self.ended && self.waiting.len() <= CHUNK) {
                return None;
            }
            let last = self.ended && self.waiting.len() <= CHUNK;
            let end = match last {
                true => self.waiting.len(),
                false => word_end(&self.waiting, CHUNK),
            };
            let chunk: String = self.waiting[..end].iter().collect();
            let next = match last {
                true => end,
                false => word_start(&self.waiting, end - OVERLAP.min(end - 1), end),
            };
            self.waiting.drain(..next);
            let chunk = chunk.trim();
            if !chunk.is_empty() {
                return Some(chunk.to_owned());
            }
        }
    }
}

/// Where to end at most at `at`: after the last white space near it, else there.
fn word_end(text: &[char], at: usize) -> usize {
    if text.get(at).is_none_or(|c| c.is_whitespace()) {
        return at;
    }
    text[at - NEAR..at]
        .iter()
        .rposition(|c| c.is_whitespace())
        .map_or(at, |found| at - NEAR + found + 1)
}

/// Where the next chunk starts: at the first word from `at` on, if one begins near, else there.
fn word_start(text: &[char], at: usize, end: usize) -> usize {
    if at == 0 || text[at - 1].is_whitespace() {
        return at;
    }
    let near = (at + NEAR).min(end);
    text[at..near]
        .iter()
        .position(|c| c.is_whitespace())
        .map_or(at, |found| at + found + 1)
}

/// The pieces of a text that is in memory.
pub(super) fn cut(text: &str) -> Vec<String> {
    let mut chunker = Chunker {
        waiting: text.chars().collect(),
        ended: true,
    };
    std::iter::from_fn(|| chunker.next()).collect()
}

/// The chunks of a file: ids are its name with a number from 0, titles its name.
pub(super) fn read(
    mut reader: Box<dyn BufRead>,
    place: Where,
) -> impl Iterator<Item = Result<Record, RetrievalError>> {
    let mut chunker = Chunker::default();
    let mut bytes = Vec::new();
    let (mut offset, mut number, mut failed) = (0u64, 0usize, false);
    std::iter::from_fn(move || {
        loop {
            if failed {
                return None;
            }
            if let Some(content) = chunker.next() {
                let id = format!("{}_{number}", place.stem());
                number += 1;
                return Some(Ok(Record::Document(CorpusDocument {
                    id,
                    title: place.stem().to_owned(),
                    content,
                })));
            }
            if chunker.ended {
                return None;
            }
            let read = reader.by_ref().take(STEP).read_to_end(&mut bytes);
            match read {
                Err(error) => {
                    failed = true;
                    return Some(Err(place.broken(&error)));
                }
                Ok(0) => chunker.ended = true,
                Ok(_) => {}
            }
            let (text, broken) = text_of(&mut bytes, chunker.ended);
            offset += text.len() as u64;
            chunker.waiting.extend(text.chars());
            if broken {
                // One bad byte makes the encoding of the rest doubtful too: the file ends here.
                chunker.ended = true;
                return Some(Ok(place.bad(
                    format_args!("byte {}", offset + 1),
                    "a byte that is not UTF-8; the rest of the file is left out, convert it first",
                )));
            }
        }
    })
}

/// The whole characters of what has been read, and whether what follows is no text; the bytes of a cut one stay.
fn text_of(bytes: &mut Vec<u8>, ended: bool) -> (String, bool) {
    let (valid, broken) = match std::str::from_utf8(bytes) {
        Ok(_) => (bytes.len(), false),
        Err(error) => (error.valid_up_to(), error.error_len().is_some() || ended),
    };
    let rest = bytes.split_off(valid);
    let text = String::from_utf8_lossy(bytes).into_owned();
    *bytes = rest;
    (text, broken)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_texts_are_one_chunk_and_blank_ones_none() {
        assert_eq!(cut("  one two\n"), ["one two"]);
        assert!(cut(" \n ").is_empty());
    }

    #[test]
    fn chunks_overlap_and_end_at_words() {
        let text: String = (0..600).map(|i| format!("word{i} ")).collect();
        let chunks = cut(&text);
        assert!(chunks.len() >= 5);
        for pair in chunks.windows(2) {
            assert!(pair[0].chars().count() <= CHUNK);
            let first = pair[1].split(' ').next().unwrap();
            assert!(first.starts_with("word"), "{first}");
            let at = pair[0].rfind(&format!("{first} ")).unwrap();
            let shared = pair[0][at..].chars().count();
            assert!((NEAR..=OVERLAP).contains(&shared), "{shared}");
        }
    }

    proptest! {
        #[test]
        fn no_character_is_lost(text in "[a-z é\u{1f600}\n]{0,4000}") {
            let chunks = cut(&text);
            let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            // Every chunk continues the text within what is already covered or right after it.
            let whole = bare(&text);
            let mut covered = 0;
            for chunk in &chunks {
                prop_assert!(chunk.chars().count() <= CHUNK);
                let chunk = bare(chunk);
                let start = (0..=covered).rev().find(|&at| whole.is_char_boundary(at) && whole[at..].starts_with(&chunk));
                prop_assert!(start.is_some());
                covered = covered.max(start.unwrap_or_default() + chunk.len());
            }
            prop_assert_eq!(covered, whole.len());
        }
    }
}
