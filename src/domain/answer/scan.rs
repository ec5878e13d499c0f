//! One pass over a raw reply: hidden blocks, objects, and the prose between them.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::evidence::{Mapped, Span};
use super::fields::has_known_key;
use super::reader::{Found, begins_object, read_object};
use super::tokens::{Follows, Token, next_token, run_together, token_at};

/// Objects that turn out not to be the reply's are skipped; more of them than this is hostile.
const MAX_FALSE_STARTS: usize = 24;
/// Names of tags around hidden reasoning.
static TAGS: [&str; 4] = ["thinking", "think", "thought", "reasoning"];

/// A reply taken apart.
#[derive(Debug, Default)]
pub(super) struct Scan<'a> {
    /// The text that positions of objects and prose count in: the raw reply, or it without its escapes.
    pub text: Cow<'a, str>,
    /// Where the text came from, if it is not the raw reply.
    unescaped: Option<Mapped>,
    /// Text of hidden blocks.
    pub hidden: Option<String>,
    /// Text outside hidden blocks and objects, without code fences.
    pub prose: Mapped,
    /// Objects with at least one key of a schema, in order.
    pub objects: Vec<Found>,
    /// Where the first of them begins.
    first: Option<usize>,
    /// The text ends inside a hidden block, or inside an object before any key that is known.
    pub cut: bool,
    /// Repairs.
    pub notes: Vec<&'static str>,
    /// Whether an object or a word of prose has been taken.
    said: bool,
    /// No turn of the model's own was found to the end of the text.
    no_own_turn: bool,
}

impl<'a> Scan<'a> {
    pub(super) fn of(raw: &'a str) -> Scan<'a> {
        Scan::with(raw, has_known_key)
    }

    /// Only objects that `is_ours` knows count as such.
    pub(super) fn with(raw: &'a str, is_ours: fn(&Map<String, Value>) -> bool) -> Scan<'a> {
        let scan = Scan::read(Cow::Borrowed(raw), is_ours);
        // An object whose quotes are all escaped: JSON inside a JSON text.
        let Some(at) = escaped_object(raw) else {
            return scan;
        };
        if scan.first.is_some_and(|first| first < at) {
            return scan;
        }
        let unescaped = unescape(raw);
        let mut again = Scan::read(Cow::Owned(unescaped.text.clone()), is_ours);
        // What was found inside of it is no object of the reply where it is one itself.
        let begins_there = again
            .first
            .is_some_and(|first| unescaped.source(first, first + 1).start == at);
        if begins_there || (scan.objects.is_empty() && !again.objects.is_empty()) {
            again.notes.push("escaped JSON");
            again.unescaped = Some(unescaped);
            return again;
        }
        scan
    }

    /// A range of the text as one of the raw reply.
    pub(super) fn raw(&self, span: Span) -> Span {
        match &self.unescaped {
            Some(mapped) => mapped.source(span.start, span.end),
            None => span,
        }
    }

    /// A range of the prose as one of the raw reply.
    pub(super) fn raw_prose(&self, start: usize, end: usize) -> Span {
        self.raw(self.prose.source(start, end))
    }

    fn read(text: Cow<'a, str>, is_ours: fn(&Map<String, Value>) -> bool) -> Scan<'a> {
        let mut scan = Scan::default();
        scan.walk(&text, is_ours);
        scan.text = text;
        scan.finish();
        scan
    }

    fn walk(&mut self, raw: &str, is_ours: fn(&Map<String, Value>) -> bool) {
        let mut false_starts = 0;
        let mut pos = 0;
        let mut plain_from = 0;
        // The mark of a beginning; a pair around a part of the text strikes it out.
        if let Some(rest) = raw.trim_start().strip_prefix("<s>")
            && rest
                .split_once("</s>")
                .is_none_or(|(_, after)| after.trim().is_empty())
        {
            pos = raw.len() - rest.len();
            plain_from = pos;
        }
        if let Some(last) = run_together(raw) {
            pos = self.take_hidden(raw, 0, last);
            plain_from = pos;
        }
        while let Some(step) = raw[pos..].find(['{', '<', '[']) {
            let at = pos + step;
            pos = at + 1;
            if raw.as_bytes()[at] != b'{' {
                if let Some(tag) = tag_at(raw, at) {
                    self.take_prose(raw, plain_from, at);
                    pos = self.take_tag(raw, &tag);
                    plain_from = pos;
                } else if let Some(token) = token_at(raw, at) {
                    self.take_prose(raw, plain_from, at);
                    pos = self.take_token(raw, token);
                    plain_from = pos;
                }
                continue;
            }
            if false_starts >= MAX_FALSE_STARTS || !begins_object(raw, at) {
                continue;
            }
            let found = read_object(raw, at);
            if !is_ours(&found.map) {
                false_starts += 1;
                self.cut |= found.cut;
                if found.complete {
                    pos = found.end;
                }
                continue;
            }
            self.take_prose(raw, plain_from, at);
            pos = found.end;
            plain_from = pos;
            self.first.get_or_insert(at);
            self.said = true;
            self.objects.push(found);
        }
        self.take_prose(raw, plain_from, raw.len());
    }

    /// Takes a part of the text as prose; parts do not run into each other.
    fn take_prose(&mut self, raw: &str, start: usize, end: usize) {
        let part = &raw[start..end];
        if !self.prose.text.is_empty() && !part.is_empty() {
            self.prose.replace("\n", start, 0);
        }
        self.said = self.said || part.contains(char::is_alphanumeric);
        self.prose.push(part, start);
    }

    /// Follows a control token; gives where the reply goes on.
    fn take_token(&mut self, raw: &str, token: Token) -> usize {
        self.note("control tokens of a chat template");
        match token.follows {
            Follows::Same | Follows::Own => token.end,
            Follows::Hidden => {
                let next = next_token(raw, token.end, |follows| follows != Follows::Same);
                self.take_hidden(raw, token.end, next.map(|(at, _)| at))
            }
            Follows::Nothing => {
                let rest = raw[token.end..].trim_start();
                let at = raw.len() - rest.len();
                let goes_on = !self.said || rest.is_empty() || token_at(raw, at).is_some();
                if goes_on {
                    return token.end;
                }
                self.note("what follows the end of the reply is left out");
                raw.len()
            }
            Follows::Other if self.said => {
                self.note("another turn after the reply is left out");
                raw.len()
            }
            Follows::Other => {
                let own = match self.no_own_turn {
                    true => None,
                    false => next_token(raw, token.end, |follows| follows == Follows::Own),
                };
                self.no_own_turn = own.is_none();
                own.map_or(token.end, |(at, _)| at)
            }
        }
    }

    /// Hides the text from `start` to `end`, or the whole rest; gives where the reply goes on.
    fn take_hidden(&mut self, raw: &str, start: usize, end: Option<usize>) -> usize {
        if end.is_none() {
            self.cut = true;
            self.note("a hidden block that is not closed");
        }
        let end = end.unwrap_or(raw.len());
        self.hide(&raw[start..end]);
        end
    }

    fn note(&mut self, note: &'static str) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Takes a hidden block; gives the position after it.
    fn take_tag(&mut self, raw: &str, tag: &Tag) -> usize {
        if tag.closing {
            // The opening tag stood in the prompt: all before it is hidden.
            let prose = std::mem::take(&mut self.prose);
            self.objects.clear();
            self.first = None;
            self.said = false;
            self.hide(&prose.text);
            self.note("a hidden block without its opening tag");
            return tag.end;
        }
        let rest = &raw[tag.end..];
        match closing_tag(rest, tag) {
            Some((start, end)) => {
                self.hide(&rest[..start]);
                tag.end + end
            }
            None => {
                self.cut = true;
                self.hide(rest);
                self.note("a hidden block that is not closed");
                raw.len()
            }
        }
    }

    fn hide(&mut self, text: &str) {
        let hidden = self.hidden.get_or_insert_with(String::new);
        let text = text.trim();
        if !hidden.is_empty() && !text.is_empty() {
            hidden.push_str("\n\n");
        }
        hidden.push_str(text);
    }

    fn finish(&mut self) {
        if self.prose.text.contains("```") {
            self.note("code fences");
            self.prose = without_fences(&self.prose);
        }
        if !self.objects.is_empty() && self.prose.text.chars().any(char::is_alphanumeric) {
            self.note("text around the object");
        }
    }
}

/// The prose without the lines that open and close code.
fn without_fences(prose: &Mapped) -> Mapped {
    let mut kept = Mapped::default();
    let mut at = 0;
    for line in prose.text.split_inclusive('\n') {
        if !line.trim_start().starts_with("```") {
            kept.take(prose, at, at + line.len());
        }
        at += line.len();
    }
    kept
}

/// A text without one level of escapes.
fn unescape(raw: &str) -> Mapped {
    let mut out = Mapped::default();
    let mut kept_from = 0;
    let mut pos = 0;
    while let Some(step) = raw[pos..].find('\\') {
        let at = pos + step;
        let sign = match raw.as_bytes().get(at + 1) {
            Some(b'\\') => "\\",
            Some(b'"') => "\"",
            Some(b'n') => "\n",
            _ => {
                pos = at + 1;
                continue;
            }
        };
        out.push(&raw[kept_from..at], kept_from);
        out.replace(sign, at, 2);
        pos = at + 2;
        kept_from = pos;
    }
    out.push(&raw[kept_from..], kept_from);
    out
}

struct Tag {
    name: &'static str,
    /// In square brackets.
    bracket: bool,
    closing: bool,
    end: usize,
}

/// A tag of [`TAGS`] whose `<` stands at `at`, or `[THINK]` and `[/THINK]`.
fn tag_at(raw: &str, at: usize) -> Option<Tag> {
    let (names, close) = match raw.as_bytes()[at] {
        b'<' => (&TAGS[..], b'>'),
        _ => (&TAGS[1..2], b']'),
    };
    let rest = &raw.as_bytes()[at + 1..];
    let closing = rest.first() == Some(&b'/');
    let rest = &rest[usize::from(closing)..];
    names.iter().find_map(|&name| {
        let head = rest.get(..name.len())?;
        let is_tag =
            head.eq_ignore_ascii_case(name.as_bytes()) && rest.get(name.len()) == Some(&close);
        is_tag.then(|| Tag {
            name,
            bracket: close == b']',
            closing,
            end: at + 2 + usize::from(closing) + name.len(),
        })
    })
}

/// Start and end of the tag that closes another one.
fn closing_tag(text: &str, open: &Tag) -> Option<(usize, usize)> {
    let mark = if open.bracket { "[/" } else { "</" };
    let mut pos = 0;
    while let Some(step) = text[pos..].find(mark) {
        let start = pos + step;
        if let Some(tag) = tag_at(text, start)
            && tag.name == open.name
        {
            return Some((start, tag.end));
        }
        pos = start + 2;
    }
    None
}

/// Where an object with escaped quotes begins in the text.
fn escaped_object(raw: &str) -> Option<usize> {
    raw.match_indices('{')
        .take(MAX_FALSE_STARTS)
        .map(|(at, _)| at)
        .find(|at| {
            let rest = raw[at + 1..].trim_start().trim_start_matches("\\n");
            rest.trim_start().starts_with("\\\"")
        })
}
