//! Strings, and where they end: by their quote, or by what follows it.

use super::{MAX_KEY, Reader};

pub(super) fn is_quote(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | '\u{201c}' | '\u{201d}' | '\u{2018}' | '\u{2019}'
    )
}

/// Whether `c` may end a string that `open` began.
pub(super) fn ends(open: char, c: char) -> bool {
    match open {
        '"' => c == '"',
        '\'' => c == '\'',
        '\u{201c}' | '\u{201d}' => matches!(c, '\u{201c}' | '\u{201d}' | '"'),
        _ => matches!(c, '\u{2018}' | '\u{2019}' | '\''),
    }
}

/// The key of `key: …` without quotes.
pub(super) fn bare_key(rest: &str) -> Option<&str> {
    let length = rest
        .bytes()
        .take(MAX_KEY)
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b' '))
        .count();
    rest[length..]
        .starts_with(':')
        .then(|| rest[..length].trim_end())
}

/// Where a string stands: decides what may follow its closing quote.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Key,
    Field,
    Element,
}

impl Reader<'_> {
    /// Reads a string whose opening quote stands at the position.
    pub(super) fn string(&mut self, quote: char, place: Place) -> String {
        self.pos += quote.len_utf8();
        let mut out = String::new();
        loop {
            let rest = &self.text[self.pos..];
            let plain = rest
                .find(|c: char| c == '\\' || c == '\n' || c == '"' || ends(quote, c))
                .unwrap_or(rest.len());
            out.push_str(&rest[..plain]);
            self.pos += plain;
            let Some(c) = self.char_at(self.pos) else {
                self.doubt("a string is not closed");
                self.mark_open();
                return out;
            };
            if c == '\\' {
                self.escape(&mut out);
                continue;
            }
            if c == '\n' {
                self.note("a line break inside a string");
            } else if ends(quote, c) && (self.strict || self.closes(self.pos + c.len_utf8(), place))
            {
                self.pos += c.len_utf8();
                return out;
            } else if !self.strict && place == Place::Field && self.known_key_at(self.pos) {
                self.doubt("a closing quote is missing");
                let kept = out.trim_end().trim_end_matches(',').trim_end().len();
                out.truncate(kept);
                return out;
            } else if ends(quote, c) {
                self.doubt("unescaped quotes inside a string");
            }
            out.push(c);
            self.pos += c.len_utf8();
        }
    }

    /// Whether a quote that ends before `after` closes its string.
    pub(super) fn closes(&self, after: usize, place: Place) -> bool {
        if place == Place::Key {
            return true;
        }
        let next = self.after_space(after);
        match self.bytes.get(next) {
            None | Some(b'}') => true,
            Some(b']') => true,
            Some(b',') if place == Place::Element => true,
            Some(b',') => {
                let item = self.after_space(next + 1);
                matches!(self.bytes.get(item), None | Some(b'}'))
                    || self.key_at(item).is_some()
                    || self.key_unfinished_at(item)
                    || self.known_bare_key_at(item)
            }
            Some(b'`') => self.text[next..].starts_with("```"),
            Some(_) if place == Place::Field => self.key_at(next).is_some(),
            // A list without commas between its strings.
            Some(_) => self.char_at(next).is_some_and(is_quote),
        }
    }

    /// The key, if a quoted key with its colon stands at `at`.
    pub(super) fn key_at(&self, at: usize) -> Option<&str> {
        let open = self.char_at(at).filter(|&c| is_quote(c))?;
        let start = at + open.len_utf8();
        let rest = self.text.get(start..)?;
        let mut length = 0;
        for c in rest.chars() {
            if ends(open, c) {
                let colon = self.after_space(start + length + c.len_utf8());
                return (self.bytes.get(colon) == Some(&b':')).then(|| &rest[..length]);
            }
            length += c.len_utf8();
            if c == '\n' || length > MAX_KEY {
                return None;
            }
        }
        None
    }

    /// Whether the text ends within a quoted key, or before its colon.
    fn key_unfinished_at(&self, at: usize) -> bool {
        let Some(rest) = self.text.get(at..).filter(|rest| rest.len() <= MAX_KEY) else {
            return false;
        };
        let mut chars = rest.chars();
        let Some(open) = chars.next().filter(|&c| is_quote(c)) else {
            return false;
        };
        let rest = chars.as_str();
        let key = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let mut after = rest[key..].chars();
        after.next().is_none_or(|c| ends(open, c)) && after.as_str().trim().is_empty()
    }

    fn known_key_at(&self, at: usize) -> bool {
        self.key_at(at).is_some_and(is_schema_key)
    }

    fn known_bare_key_at(&self, at: usize) -> bool {
        self.text
            .get(at..)
            .and_then(bare_key)
            .is_some_and(is_schema_key)
    }

    pub(super) fn escape(&mut self, out: &mut String) {
        let Some(&code) = self.bytes.get(self.pos + 1) else {
            self.pos += 1;
            return;
        };
        let plain = match code {
            b'"' | b'\\' | b'/' => Some(char::from(code)),
            b'\'' => {
                self.note("an escape that is not JSON's");
                Some('\'')
            }
            b'n' => Some('\n'),
            b't' => Some('\t'),
            b'r' => Some('\r'),
            b'b' => Some('\u{8}'),
            b'f' => Some('\u{c}'),
            _ => None,
        };
        if let Some(c) = plain {
            out.push(c);
            self.pos += 2;
        } else if code == b'u' {
            self.unicode_escape(out);
        } else if matches!(code, b'x' | b'U') {
            self.python_escape(code, out);
        } else {
            self.note("an escape that is not JSON's");
            out.push('\\');
            self.pos += 1;
        }
    }

    /// Python's `\\xe9` and `\\U0001f600`.
    fn python_escape(&mut self, code: u8, out: &mut String) {
        self.note("an escape that is not JSON's");
        let length = if code == b'x' { 2 } else { 8 };
        let sign = self
            .text
            .get(self.pos + 2..self.pos + 2 + length)
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|digits| char::from_u32(u32::from_str_radix(digits, 16).ok()?));
        match sign {
            Some(sign) => {
                out.push(sign);
                self.pos += 2 + length;
            }
            None => {
                out.push('\\');
                self.pos += 1;
            }
        }
    }

    fn unicode_escape(&mut self, out: &mut String) {
        let Some(high) = self.hex4(self.pos + 2) else {
            self.note("an escape that is not JSON's");
            out.push('\\');
            self.pos += 1;
            return;
        };
        self.pos += 6;
        if let Some(c) = char::from_u32(high) {
            out.push(c);
            return;
        }
        let low = (self.text.get(self.pos..self.pos + 2) == Some("\\u"))
            .then(|| self.hex4(self.pos + 2))
            .flatten()
            .filter(|low| (0xdc00..0xe000).contains(low));
        match low {
            Some(low) if high < 0xdc00 => {
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                out.push(char::from_u32(code).unwrap_or('\u{fffd}'));
                self.pos += 6;
            }
            _ => {
                self.note("half of a surrogate pair");
                out.push('\u{fffd}');
            }
        }
    }

    fn hex4(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at + 4)?;
        digits
            .bytes()
            .all(|b| b.is_ascii_hexdigit())
            .then(|| u32::from_str_radix(digits, 16).ok())
            .flatten()
    }
}

/// Whether this is a key of one of the reply schemas.
fn is_schema_key(key: &str) -> bool {
    matches!(
        key,
        "answer_choice"
            | "step_by_step_thinking"
            | "main"
            | "relevant_doc_id"
            | "irrelevant_doc_id"
            | "question"
            | "answer"
            | "doc_id"
            | "factual_correctness"
    ) || key
        .strip_prefix("sub_")
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}
