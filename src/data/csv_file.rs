//! CSV files: records of cells, of any size, one at a time.

use std::io::{self, BufRead, Write};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use crate::source::LONGEST_LINE;

/// The longest record, in bytes: a quote that is never closed would else swallow the file.
const LONGEST_RECORD: usize = LONGEST_LINE as usize;

/// The records of a file, the header among them.
pub struct Records {
    input: Box<dyn BufRead>,
    core: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
    /// Line ends passed so far.
    passed: u64,
}

impl Records {
    /// The records of an opened file.
    pub fn new(input: Box<dyn BufRead>, delimiter: u8) -> Records {
        Records {
            input,
            core: ReaderBuilder::new().delimiter(delimiter).build(),
            text: vec![0; 1 << 12],
            ends: vec![0; 64],
            passed: 0,
        }
    }

    /// The next record with the line on which it begins; `None` at the end. Blank lines are passed over. A cell
    /// that is not UTF-8 is an error inside of the record.
    ///
    /// # Errors
    /// When the file can't be read on, or a record is longer than is read.
    #[allow(clippy::type_complexity)] // said in the text above
    pub fn next_record(&mut self) -> io::Result<Option<(u64, Result<Vec<String>, String>)>> {
        self.pass_line_ends()?;
        let line = self.passed + 1;
        let (mut written, mut cells) = (0, 0);
        loop {
            let chunk = self.input.fill_buf()?;
            let (result, used, text, ends) =
                self.core
                    .read_record(chunk, &mut self.text[written..], &mut self.ends[cells..]);
            self.passed += line_ends(chunk.get(..used).unwrap_or_default());
            self.input.consume(used);
            written += text;
            cells += ends;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if self.text.len() >= LONGEST_RECORD => {
                    return Err(io::Error::other(format!(
                        "the record that begins in line {line} is longer than {LONGEST_RECORD} bytes; is a quote missing?"
                    )));
                }
                ReadRecordResult::OutputFull => self.text.resize(self.text.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record => return Ok(Some((line, self.cells(cells)))),
                ReadRecordResult::End => return Ok(None),
            }
        }
    }

    /// Passes over blank lines, and over the second half of a line end of two bytes.
    fn pass_line_ends(&mut self) -> io::Result<()> {
        loop {
            let chunk = self.input.fill_buf()?;
            let blank = chunk
                .iter()
                .take_while(|byte| matches!(byte, b'\r' | b'\n'));
            let count = blank.count();
            self.passed += line_ends(chunk.get(..count).unwrap_or_default());
            let more = count > 0 && count == chunk.len();
            self.input.consume(count);
            if !more {
                return Ok(());
            }
        }
    }

    fn cells(&self, count: usize) -> Result<Vec<String>, String> {
        let mut start = 0;
        let mut cells = Vec::with_capacity(count);
        for (at, &end) in self.ends[..count].iter().enumerate() {
            match std::str::from_utf8(&self.text[start..end]) {
                Ok(cell) => cells.push(cell.to_owned()),
                Err(_) => {
                    return Err(format!(
                        "cell {} is not UTF-8; save the file as UTF-8",
                        at + 1
                    ));
                }
            }
            start = end;
        }
        Ok(cells)
    }
}

fn line_ends(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Writes a record; cells with commas, quotes or line ends are quoted (RFC 4180).
///
/// # Errors
/// When it can't be written.
pub fn write_record<'a>(
    out: &mut impl Write,
    cells: impl Iterator<Item = &'a str>,
) -> io::Result<()> {
    for (at, cell) in cells.enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        match cell.contains([',', '"', '\n', '\r']) {
            true => write!(out, "\"{}\"", cell.replace('"', "\"\""))?,
            false => out.write_all(cell.as_bytes())?,
        }
    }
    out.write_all(b"\r\n")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn read(text: &'static [u8]) -> Vec<(u64, Result<Vec<String>, String>)> {
        let mut records = Records::new(Box::new(text), b',');
        let mut all = Vec::new();
        while let Some(record) = records.next_record().unwrap() {
            all.push(record);
        }
        all
    }

    #[test]
    fn quotes_line_ends_and_blank_lines() {
        let all = read(b"a,b\r\n\r\n\"x, \"\"y\"\"\nz\",\nlast,1");
        let cells = |at: usize| all[at].1.clone().unwrap();
        assert_eq!(cells(0), ["a", "b"]);
        assert_eq!(cells(1), ["x, \"y\"\nz", ""]);
        assert_eq!(cells(2), ["last", "1"]);
        assert_eq!(all.len(), 3);
        assert_eq!(all[2].0, 5);
        assert!(read(b"a\n\xff\nb")[1].1.is_err());
        assert_eq!(read(b"a\n\xff\nb")[2].1, Ok(vec!["b".to_owned()]));
    }

    #[test]
    fn lines_are_counted_alike_whatever_ends_them() {
        for end in ["\n", "\r\n"] {
            let text = ["a,b", "1,2", "", "\"two", "lines\",3", "4", "5,6"].join(end);
            let text: &'static [u8] = text.leak().as_bytes();
            let lines: Vec<u64> = read(text).into_iter().map(|(line, _)| line).collect();
            assert_eq!(lines, [1, 2, 4, 6, 7], "{end:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let long = "x".repeat(100_000);
        let cells = ["", "plain", "a,b", "say \"hi\"", "two\r\nlines", &long];
        let mut out = Vec::new();
        write_record(&mut out, cells.into_iter()).unwrap();
        write_record(&mut out, cells.into_iter()).unwrap();
        let mut records = Records::new(Box::new(std::io::Cursor::new(out)), b',');
        for _ in 0..2 {
            assert_eq!(records.next_record().unwrap().unwrap().1.unwrap(), cells);
        }
        assert!(records.next_record().unwrap().is_none());
    }
}
