//! JSON as Python writes it: bare `NaN`, `Infinity` and `-Infinity` become `null`.

use std::io::{self, Read};

/// Longest word that is replaced, in bytes.
const LONGEST: usize = "-Infinity".len();

/// Replaces Python's words for numbers that JSON does not have, outside of texts.
pub(super) struct PlainJson<R> {
    inner: R,
    buffer: Vec<u8>,
    start: usize,
    ended: bool,
    in_text: bool,
    escaped: bool,
}

impl<R: Read> PlainJson<R> {
    /// A reader over JSON text.
    pub(super) fn new(inner: R) -> PlainJson<R> {
        PlainJson {
            inner,
            buffer: Vec::new(),
            start: 0,
            ended: false,
            in_text: false,
            escaped: false,
        }
    }

    /// Reads until a whole word fits into what is pending.
    fn fill(&mut self) -> io::Result<()> {
        while !self.ended && self.buffer.len() - self.start < LONGEST {
            self.buffer.drain(..self.start);
            self.start = 0;
            let old = self.buffer.len();
            self.buffer.resize(old + (1 << 15), 0);
            let count = self.inner.read(&mut self.buffer[old..])?;
            self.buffer.truncate(old + count);
            self.ended = count == 0;
        }
        Ok(())
    }

    fn note(&mut self, byte: u8) {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.in_text => self.escaped = true,
            b'"' => self.in_text = !self.in_text,
            _ => {}
        }
    }
}

impl<R: Read> Read for PlainJson<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut written = 0;
        while written < out.len() {
            if self.buffer.len() - self.start < LONGEST {
                if written > 0 && !self.ended {
                    break;
                }
                self.fill()?;
            }
            let Some(&byte) = self.buffer.get(self.start) else {
                break;
            };
            if !self.in_text && matches!(byte, b'N' | b'I' | b'-') {
                let rest = &self.buffer[self.start..];
                let word = ["NaN", "Infinity", "-Infinity"]
                    .into_iter()
                    .find(|word| rest.starts_with(word.as_bytes()));
                if let Some(word) = word {
                    if out.len() - written < 4 {
                        if written > 0 {
                            break;
                        }
                        // A caller with almost no room: the word is left as it is, and is an error to it.
                    } else {
                        out[written..written + 4].copy_from_slice(b"null");
                        written += 4;
                        self.start += word.len();
                        continue;
                    }
                }
            }
            self.note(byte);
            out[written] = byte;
            written += 1;
            self.start += 1;
        }
        Ok(written)
    }
}
