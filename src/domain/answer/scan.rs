//! One pass over a raw reply: hidden blocks, objects, and the prose between them.

use serde_json::{Map, Value};

use super::fields::has_known_key;
use super::reader::{Found, begins_object, read_object};

/// Objects that turn out not to be the reply's are skipped; more of them than this is hostile.
const MAX_FALSE_STARTS: usize = 24;
/// Names of tags around hidden reasoning.
const TAGS: [&str; 4] = ["thinking", "think", "thought", "reasoning"];

/// A reply taken apart.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Text of hidden blocks.
    pub hidden: Option<String>,
    /// Text outside hidden blocks and objects, without code fences.
    pub prose: String,
    /// Objects with at least one key of a schema, in order.
    pub objects: Vec<Found>,
    /// Repairs.
    pub notes: Vec<&'static str>,
}

impl Scan {
    pub(super) fn of(raw: &str) -> Scan {
        Scan::with(raw, has_known_key)
    }

    /// Only objects that `is_ours` knows count as such.
    pub(super) fn with(raw: &str, is_ours: fn(&Map<String, Value>) -> bool) -> Scan {
        let scan = Scan::read(raw, is_ours);
        // An object whose quotes are all escaped: JSON inside a JSON text.
        if scan.objects.is_empty() && escaped_object(raw) {
            let unescaped = raw
                .replace("\\\\", "\u{0}")
                .replace("\\\"", "\"")
                .replace("\\n", "\n")
                .replace('\u{0}', "\\");
            let mut again = Scan::read(&unescaped, is_ours);
            if !again.objects.is_empty() {
                again.notes.push("escaped JSON");
                return again;
            }
        }
        scan
    }

    fn read(raw: &str, is_ours: fn(&Map<String, Value>) -> bool) -> Scan {
        let mut scan = Scan::default();
        let mut false_starts = 0;
        let mut pos = 0;
        let mut plain_from = 0;
        while let Some(step) = raw[pos..].find(['{', '<']) {
            let at = pos + step;
            pos = at + 1;
            if raw.as_bytes()[at] == b'<' {
                let Some(tag) = tag_at(raw, at) else { continue };
                scan.prose.push_str(&raw[plain_from..at]);
                pos = scan.take_tag(raw, &tag);
                plain_from = pos;
                continue;
            }
            if false_starts >= MAX_FALSE_STARTS || !begins_object(raw, at) {
                continue;
            }
            let found = read_object(raw, at);
            if !is_ours(&found.map) {
                false_starts += 1;
                if found.complete {
                    pos = found.end;
                }
                continue;
            }
            scan.prose.push_str(&raw[plain_from..at]);
            pos = found.end;
            plain_from = pos;
            scan.objects.push(found);
        }
        scan.prose.push_str(&raw[plain_from..]);
        scan.finish();
        scan
    }

    /// Takes a hidden block; gives the position after it.
    fn take_tag(&mut self, raw: &str, tag: &Tag) -> usize {
        if tag.closing {
            // The opening tag stood in the prompt: all before it is hidden.
            let text = std::mem::take(&mut self.prose);
            self.objects.clear();
            self.hide(&text);
            self.notes.push("a hidden block without its opening tag");
            return tag.end;
        }
        let rest = &raw[tag.end..];
        match closing_tag(rest, tag.name) {
            Some((start, end)) => {
                self.hide(&rest[..start]);
                tag.end + end
            }
            None => {
                self.hide(rest);
                self.notes.push("a hidden block that is not closed");
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
        if self.prose.contains("```") {
            self.notes.push("code fences");
            self.prose = self
                .prose
                .lines()
                .filter(|line| !line.trim_start().starts_with("```"))
                .collect::<Vec<_>>()
                .join("\n");
        }
        if !self.objects.is_empty() && self.prose.chars().any(char::is_alphanumeric) {
            self.notes.push("text around the object");
        }
    }
}

struct Tag {
    name: &'static str,
    closing: bool,
    end: usize,
}

/// A tag of [`TAGS`] whose `<` stands at `at`.
fn tag_at(raw: &str, at: usize) -> Option<Tag> {
    let rest = &raw.as_bytes()[at + 1..];
    let closing = rest.first() == Some(&b'/');
    let rest = &rest[usize::from(closing)..];
    TAGS.into_iter().find_map(|name| {
        let head = rest.get(..name.len())?;
        (head.eq_ignore_ascii_case(name.as_bytes()) && rest.get(name.len()) == Some(&b'>')).then(
            || Tag {
                name,
                closing,
                end: at + 2 + usize::from(closing) + name.len(),
            },
        )
    })
}

/// Start and end of the tag that closes `name`.
fn closing_tag(text: &str, name: &str) -> Option<(usize, usize)> {
    let mut pos = 0;
    while let Some(step) = text[pos..].find("</") {
        let start = pos + step;
        if let Some(tag) = tag_at(text, start)
            && tag.name == name
        {
            return Some((start, tag.end));
        }
        pos = start + 2;
    }
    None
}

/// Whether an object with escaped quotes stands in the text.
fn escaped_object(raw: &str) -> bool {
    raw.match_indices('{')
        .take(MAX_FALSE_STARTS)
        .any(|(at, _)| {
            let rest = raw[at + 1..].trim_start().trim_start_matches("\\n");
            rest.trim_start().starts_with("\\\"")
        })
}
