//! NCBI's chunks of PubMed beside its embeddings: one JSON object `{pmid: {"d": date, "t": title, "a": abstract,
//! "m": MeSH}}` of some gigabytes, read entry by entry.

use std::io::{self, BufRead};

use serde::Deserialize;

use crate::domain::plain::json_reason;
use crate::domain::text::short;
use crate::retrieval::corpus::{Record, Where, checked_id};
use crate::retrieval::{CorpusDocument, RetrievalError};

/// The longest entry, in bytes.
const LONGEST: usize = 32 << 20;

/// Title and abstract; date and MeSH terms are not searched.
#[derive(Deserialize)]
struct Fields {
    t: Option<String>,
    a: Option<String>,
}

/// Where in the object the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Before the first brace.
    Start,
    /// Between entries.
    Between,
    /// Within an entry.
    Entry,
    /// After the last brace, or where nothing more can be read.
    End,
}

/// Reads the top-level entries of an object as `"key": value` texts.
struct Entries {
    reader: Box<dyn BufRead>,
    at: At,
    offset: u64,
}

/// An entry's bytes with its offset from 1.
type Entry = (u64, Result<Vec<u8>, String>);

impl Entries {
    fn next_entry(&mut self) -> io::Result<Option<Entry>> {
        let (mut text, mut began) = (Vec::new(), self.offset + 1);
        let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
        while self.at != At::End {
            let chunk = self.reader.fill_buf()?;
            if chunk.is_empty() {
                let why = match self.at {
                    At::Start => "the file is empty; a JSON object is expected",
                    _ => "the file ends within the object",
                };
                self.at = At::End;
                return Ok(Some((began, Err(why.into()))));
            }
            let mut used = 0;
            let mut complete = false;
            for &byte in chunk {
                used += 1;
                match self.at {
                    At::Start if byte.is_ascii_whitespace() => {}
                    At::Start if byte == b'{' => self.at = At::Between,
                    At::Between if byte.is_ascii_whitespace() || byte == b',' => {}
                    At::Between if byte == b'}' => self.at = At::End,
                    At::Between if byte == b'"' => {
                        self.at = At::Entry;
                        began = self.offset + used as u64;
                        (quoted, escaped) = (true, false);
                        text.push(byte);
                    }
                    At::Start | At::Between => {
                        self.at = At::End;
                        let at = self.offset + used as u64;
                        let why = "not an entry; {\"pmid\": {\"t\": …, \"a\": …}, …} is expected";
                        return Ok(Some((at, Err(why.into()))));
                    }
                    At::Entry if quoted => {
                        text.push(byte);
                        match byte {
                            _ if escaped => escaped = false,
                            b'\\' => escaped = true,
                            b'"' => quoted = false,
                            _ => {}
                        }
                    }
                    At::Entry => match byte {
                        b',' | b'}' if depth == 0 => {
                            self.at = if byte == b',' { At::Between } else { At::End };
                            complete = true;
                            break;
                        }
                        _ => {
                            match byte {
                                b'"' => quoted = true,
                                b'{' | b'[' => depth += 1,
                                b'}' | b']' => depth = depth.saturating_sub(1),
                                _ => {}
                            }
                            text.push(byte);
                        }
                    },
                    At::End => break,
                }
            }
            self.reader.consume(used);
            self.offset += used as u64;
            if complete {
                return Ok(Some((began, Ok(text))));
            }
            if text.len() > LONGEST {
                self.at = At::End;
                let why = format!("the entry is longer than {LONGEST} bytes; the rest is left out");
                return Ok(Some((began, Err(why))));
            }
        }
        Ok(None)
    }
}

fn document(entry: &[u8]) -> Result<CorpusDocument, String> {
    let mut stream = serde_json::Deserializer::from_slice(entry).into_iter::<String>();
    let id = match stream.next() {
        Some(Ok(id)) => checked_id(&id)?,
        Some(Err(error)) => return Err(format!("not an entry: {}", json_reason(&error))),
        None => return Err("an empty entry".into()),
    };
    let rest = entry.get(stream.byte_offset()..).unwrap_or_default();
    let value = rest
        .trim_ascii_start()
        .strip_prefix(b":")
        .ok_or_else(|| format!("after \"{}\" a colon is expected", short(&id)))?;
    let fields: Fields = serde_json::from_slice(value)
        .map_err(|error| format!("the entry \"{}\": {}", short(&id), json_reason(&error)))?;
    let (title, content) = (fields.t.unwrap_or_default(), fields.a.unwrap_or_default());
    if title.trim().is_empty() && content.trim().is_empty() {
        return Err(format!(
            "the entry \"{}\" has neither title (t) nor abstract (a)",
            short(&id)
        ));
    }
    Ok(CorpusDocument { id, title, content })
}

/// The entries of a file.
pub(super) fn read(
    reader: Box<dyn BufRead>,
    place: Where,
) -> impl Iterator<Item = Result<Record, RetrievalError>> {
    let mut entries = Entries {
        reader,
        at: At::Start,
        offset: 0,
    };
    std::iter::from_fn(move || match entries.next_entry() {
        Ok(None) => None,
        Ok(Some((at, text))) => Some(Ok(match text.and_then(|text| document(&text)) {
            Ok(document) => Record::Document(document),
            Err(why) => place.bad(format_args!("byte {at}"), why),
        })),
        Err(error) => {
            entries.at = At::End;
            Some(Err(place.broken(&error)))
        }
    })
}
