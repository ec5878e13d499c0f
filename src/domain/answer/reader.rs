//! A tolerant reader of JSON objects: yields what can be read and notes every repair.
//!
//! It never fails: an object that breaks off is read as far as it goes. Time is linear in the text:
//! every look ahead is bounded, and nesting beyond [`MAX_DEPTH`] ends the reading.
//!
//! Two passes. The strict one reads JSON and what differs from it without leaving a doubt about where a
//! string ends: Python's quotes and literals, trailing commas, keys without quotes. Only where it fails
//! the tolerant one guesses from what follows a quote whether it closes its string.

use serde_json::{Map, Value};

use super::evidence::{Mapped, Span};
use strings::{Place, bare_key, ends, is_quote};

mod strings;

/// Deepest nesting that is followed.
const MAX_DEPTH: usize = 48;
/// Longest key, in bytes, that a look ahead recognises.
const MAX_KEY: usize = 80;

/// Deepest member whose place is remembered.
const MAX_PLACED: usize = 8;

/// An object found in a text.
#[derive(Debug)]
pub(super) struct Found {
    /// What was read.
    pub map: Map<String, Value>,
    /// Byte position after it.
    pub end: usize,
    /// Whether its closing brace was there.
    pub complete: bool,
    /// Whether the text ended before the closing brace.
    pub cut: bool,
    /// Keys down to the value that was still open when the text ended.
    pub open: Option<Vec<String>>,
    /// Repairs.
    pub notes: Vec<&'static str>,
    /// Where the values of members stand, by their keys; of equal keys the last one counts.
    places: Vec<(Vec<String>, Span)>,
}

impl Found {
    /// Where the value under these keys stands: a text without its quotes.
    pub(super) fn place(&self, keys: &[&str]) -> Option<Span> {
        let found = self
            .places
            .iter()
            .rfind(|(path, _)| path.iter().map(String::as_str).eq(keys.iter().copied()));
        found.map(|(_, span)| *span)
    }
}

/// Whether the brace at `at` can begin an object, rather than stand in prose.
pub(super) fn begins_object(text: &str, at: usize) -> bool {
    let rest = text.get(at + 1..).unwrap_or_default().trim_start();
    match rest.chars().next() {
        None => true,
        Some(c) if c == '}' || is_quote(c) => true,
        Some(c) if c.is_ascii_alphabetic() || c == '_' => bare_key(rest).is_some(),
        Some(_) => false,
    }
}

/// Reads the object whose brace stands at `at`.
pub(super) fn read_object(text: &str, at: usize) -> Found {
    let strict = Reader::new(text, at, true).found(at);
    match strict {
        Some(found) => found,
        None => Reader::new(text, at, false).found(at).unwrap_or(Found {
            map: Map::new(),
            end: at + 1,
            complete: false,
            cut: false,
            open: None,
            notes: Vec::new(),
            places: Vec::new(),
        }),
    }
}

/// The text of a string value as its parts in `text`; `span` is its place without the quotes.
pub(super) fn unescaped(text: &str, span: Span) -> Mapped {
    let mut out = Mapped::default();
    let mut reader = Reader::new(text, span.start, false);
    reader.pos = span.start;
    while reader.pos < span.end {
        let rest = text.get(reader.pos..span.end).unwrap_or_default();
        let plain = rest.find('\\').unwrap_or(rest.len());
        out.push(&rest[..plain], reader.pos);
        reader.pos += plain;
        if reader.pos >= span.end {
            break;
        }
        let (at, mut sign) = (reader.pos, String::new());
        reader.escape(&mut sign);
        out.replace(&sign, at, reader.pos - at);
    }
    out
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    pos: usize,
    path: Vec<String>,
    open: Option<Vec<String>>,
    notes: Vec<&'static str>,
    places: Vec<(Vec<String>, Span)>,
    /// Gives up, instead of guessing, where the text is not of the strict kind.
    strict: bool,
    failed: bool,
    /// Nesting was too deep to follow: nothing is known about the end.
    gave_up: bool,
}

impl<'a> Reader<'a> {
    /// A reader that stands after the brace at `at`.
    fn new(text: &'a str, at: usize, strict: bool) -> Reader<'a> {
        Reader {
            text,
            bytes: text.as_bytes(),
            pos: at + 1,
            path: Vec::new(),
            open: None,
            notes: Vec::new(),
            places: Vec::new(),
            strict,
            failed: false,
            gave_up: false,
        }
    }

    /// The object whose brace stands at `at`; `None` where the strict pass fails.
    fn found(mut self, at: usize) -> Option<Found> {
        let (map, complete) = self.object(0);
        (!self.failed).then(|| Found {
            map,
            end: self.pos.clamp(at + 1, self.text.len().max(at + 1)),
            complete,
            cut: !complete && !self.gave_up && self.after_space(self.pos) >= self.text.len(),
            open: self.open,
            notes: self.notes,
            places: self.places,
        })
    }

    /// Notes a repair that the strict pass does not make.
    fn doubt(&mut self, text: &'static str) {
        if self.strict {
            self.failed = true;
            self.pos = self.text.len();
        }
        self.note(text);
    }

    fn note(&mut self, text: &'static str) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    fn char_at(&self, at: usize) -> Option<char> {
        self.text.get(at..)?.chars().next()
    }

    fn after_space(&self, mut at: usize) -> usize {
        while self.bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        at
    }

    fn skip_space(&mut self) {
        self.pos = self.after_space(self.pos);
    }

    fn skip_char(&mut self) {
        self.pos += self.char_at(self.pos).map_or(0, char::len_utf8);
    }

    fn mark_open(&mut self) {
        if self.open.is_none() {
            self.open = Some(self.path.clone());
        }
    }

    /// Gives up on what is nested too deeply: the text counts as used up.
    fn too_deep(&mut self) {
        self.doubt("nesting too deep to read");
        self.gave_up = true;
        self.pos = self.text.len();
    }

    /// Reads up to and including the closing brace; the second value says whether it was there.
    fn object(&mut self, depth: usize) -> (Map<String, Value>, bool) {
        let mut map = Map::new();
        loop {
            self.skip_space();
            let Some(c) = self.char_at(self.pos) else {
                self.doubt("the object is not closed");
                return (map, false);
            };
            match c {
                '}' => {
                    self.pos += 1;
                    return (map, true);
                }
                ',' => self.pos += 1,
                ']' if depth > 0 => {
                    self.doubt("a bracket closes an object");
                    return (map, true);
                }
                '`' if self.text[self.pos..].starts_with("```") => {
                    self.doubt("the object is not closed");
                    return (map, false);
                }
                _ => self.member(&mut map, c, depth),
            }
        }
    }

    /// Reads `key: value` and the comma after it.
    fn member(&mut self, map: &mut Map<String, Value>, first: char, depth: usize) {
        let key = if is_quote(first) {
            if first != '"' {
                self.note("quotes other than double ones");
            }
            self.string(first, Place::Key)
        } else if let Some(key) = bare_key(&self.text[self.pos..]) {
            self.note("a key without quotes");
            self.pos += key.len();
            key.to_owned()
        } else {
            self.doubt("text that is no JSON inside the object");
            self.skip_char();
            return;
        };
        self.skip_space();
        match self.bytes.get(self.pos) {
            Some(b':' | b'=') => {
                self.pos += 1;
                if self.bytes.get(self.pos) == Some(&b'>') {
                    self.pos += 1;
                }
            }
            None => return,
            Some(b',' | b'}') => {
                self.doubt("a key without a value");
                return;
            }
            Some(_) => self.doubt("missing colon"),
        }
        self.path.push(key);
        self.skip_space();
        let start = self.pos;
        let value = self.value(Place::Field, depth);
        self.place(start, value.as_ref());
        if let (Some(key), Some(value)) = (self.path.pop(), value)
            && map.insert(key, value).is_some()
        {
            self.note("a key stands twice; the last one counts");
        }
        self.after_member();
    }

    /// Remembers where the value that began at `start` and ends here stands.
    fn place(&mut self, start: usize, value: Option<&Value>) {
        if value.is_none() || self.path.len() > MAX_PLACED || self.failed {
            return;
        }
        let (mut start, mut end) = (start, self.pos.min(self.text.len()));
        let quote = self.char_at(start).filter(|&c| is_quote(c));
        if let (Some(open), Some(Value::String(_))) = (quote, value) {
            start += open.len_utf8();
            let inside = self.text.get(start..end).unwrap_or_default();
            let escaped = |before: &str| {
                let slashes = before.bytes().rev().take_while(|b| *b == b'\\').count();
                slashes % 2 == 1
            };
            if let Some(close) = inside.chars().next_back().filter(|&c| ends(open, c))
                && !escaped(&inside[..inside.len() - close.len_utf8()])
            {
                end -= close.len_utf8();
            }
        } else {
            let inside = self.text.get(start..end).unwrap_or_default();
            end = start + inside.trim_end().len();
        }
        self.places.push((
            self.path.clone(),
            Span {
                start,
                end: end.max(start),
            },
        ));
    }

    /// Goes to the next member or to the closing brace.
    fn after_member(&mut self) {
        loop {
            self.skip_space();
            match self.bytes.get(self.pos) {
                None | Some(b'}' | b']') => return,
                Some(b',') => {
                    self.pos += 1;
                    if self.bytes.get(self.after_space(self.pos)) == Some(&b'}') {
                        self.note("trailing comma");
                    }
                    return;
                }
                Some(b'`') if self.text[self.pos..].starts_with("```") => return,
                Some(_) if self.key_at(self.pos).is_some() => {
                    self.doubt("missing comma");
                    return;
                }
                Some(_) => {
                    self.doubt("text that is no JSON inside the object");
                    self.skip_char();
                }
            }
        }
    }

    /// `None` where the text ends before a value.
    fn value(&mut self, place: Place, depth: usize) -> Option<Value> {
        self.skip_space();
        let c = self.char_at(self.pos)?;
        match c {
            '{' | '[' if depth >= MAX_DEPTH => {
                self.too_deep();
                None
            }
            '{' => {
                self.pos += 1;
                Some(Value::Object(self.object(depth + 1).0))
            }
            '[' => {
                self.pos += 1;
                Some(Value::Array(self.array(depth + 1)))
            }
            c if is_quote(c) => {
                if c != '"' {
                    self.note("quotes other than double ones");
                }
                Some(Value::String(self.string(c, place)))
            }
            _ => Some(self.bare()),
        }
    }

    fn array(&mut self, depth: usize) -> Vec<Value> {
        let mut items = Vec::new();
        loop {
            self.skip_space();
            match self.bytes.get(self.pos) {
                None => {
                    self.doubt("a list is not closed");
                    return items;
                }
                Some(b']') => {
                    self.pos += 1;
                    return items;
                }
                Some(b'}') => {
                    self.doubt("a list is not closed");
                    return items;
                }
                Some(_) if self.key_at(self.pos).is_some() => {
                    self.doubt("a list is not closed");
                    return items;
                }
                Some(b',') => {
                    self.pos += 1;
                    if self.bytes.get(self.after_space(self.pos)) == Some(&b']') {
                        self.note("trailing comma");
                    }
                }
                Some(_) => {
                    if let Some(item) = self.value(Place::Element, depth) {
                        items.push(item);
                    }
                    let next = self.after_space(self.pos);
                    if self.strict && !matches!(self.bytes.get(next), Some(b',' | b']')) {
                        self.doubt("a list without commas");
                    }
                }
            }
        }
    }

    /// A value without quotes: number, literal of JSON or Python, or bare text.
    fn bare(&mut self) -> Value {
        let rest = &self.text[self.pos..];
        let length = rest.find([',', '}', ']', '\n']).unwrap_or(rest.len());
        let word = rest[..length].trim();
        self.pos += length;
        if self.pos >= self.text.len() {
            self.mark_open();
        }
        match word {
            "true" => return Value::Bool(true),
            "false" => return Value::Bool(false),
            "null" => return Value::Null,
            "True" | "False" | "None" | "NaN" | "undefined" => {
                self.note("a literal that is not JSON's");
                return match word {
                    "True" => Value::Bool(true),
                    "False" => Value::Bool(false),
                    _ => Value::Null,
                };
            }
            _ => {}
        }
        if let Ok(number) = word.parse::<i64>() {
            return Value::from(number);
        }
        if let Ok(number) = word.parse::<u64>() {
            return Value::from(number);
        }
        if let Ok(number) = word.parse::<f64>()
            && number.is_finite()
        {
            return Value::from(number);
        }
        if length == 0 {
            // Only where a closer or comma stands in place of a value.
            self.doubt("a missing value");
            if self.bytes.get(self.pos) == Some(&b'\n') {
                self.pos += 1;
            }
            return Value::Null;
        }
        self.doubt("a value without quotes");
        Value::String(word.to_owned())
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
