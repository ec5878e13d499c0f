//! Syntax colours for raw replies, JSON inside Markdown or plain prose, found off the draw path.
//!
//! The grammars are syntect's own as a serialised set inside the program: nothing is parsed at run time, and a grammar's
//! rules are only unpacked when it is used.

use std::ops::Range;
use std::sync::OnceLock;

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};
use syntect::util::LinesWithEndings;

use crate::tui::theme::Tone;

/// Most bytes of a text that is coloured; longer ones stay plain.
const LARGEST: usize = 128 << 10;

/// Most bytes of a line whose colours are looked for: the grammars are for lines that people write.
const LONGEST_LINE: usize = 32 << 10;

fn syntaxes() -> &'static SyntaxSet {
    static SET: OnceLock<SyntaxSet> = OnceLock::new();
    SET.get_or_init(SyntaxSet::load_defaults_newlines)
}

/// Scope prefixes of JSON and their tones; the innermost scope that has one wins.
const JSON: [(&str, Tone); 6] = [
    ("meta.structure.dictionary.key", Tone::JsonKey),
    ("constant.numeric", Tone::JsonNumber),
    ("constant.language", Tone::JsonConstant),
    ("punctuation.definition.string", Tone::JsonPunctuation),
    ("punctuation", Tone::JsonPunctuation),
    ("string", Tone::JsonString),
];

/// The same of Markdown.
const MARKDOWN: [(&str, Tone); 8] = [
    ("punctuation.definition", Tone::MdMark),
    ("meta.separator", Tone::MdMark),
    ("markup.heading", Tone::MdHeading),
    ("markup.bold", Tone::MdStrong),
    ("markup.italic", Tone::MdEmphasis),
    ("markup.raw", Tone::MdCode),
    ("markup.underline.link", Tone::MdLink),
    ("string.other.link", Tone::MdLink),
];

/// What a part of a reply is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Json,
    Markdown,
    /// A line that begins or ends a block of code.
    Fence,
    /// A block of code that is no JSON.
    Code,
}

/// The pieces of a raw reply with their tones; together they are the text itself.
pub(super) fn reply(raw: &str) -> Vec<(String, Tone)> {
    if raw.len() > LARGEST {
        return vec![(raw.to_owned(), Tone::Text)];
    }
    let mut pieces = Vec::new();
    for (language, range) in parts(raw) {
        // After JSON, in the middle of a line.
        let goes_on = range.start > 0 && !raw[..range.start].ends_with('\n');
        let text = &raw[range];
        match language {
            Language::Json => {
                let mut found = Vec::new();
                colour(text, "json", &JSON, &mut found);
                mark_keys(&mut found);
                found
                    .iter()
                    .for_each(|(text, tone)| push(&mut pieces, text, *tone));
            }
            Language::Markdown if !may_be_marked(text) => push(&mut pieces, text, Tone::Text),
            Language::Markdown => {
                // The grammar takes no line for a paragraph that begins with a blank.
                let blanks = text.len() - text.trim_start_matches(' ').len();
                let blanks = if goes_on { blanks } else { 0 };
                push(&mut pieces, &text[..blanks], Tone::Text);
                colour(&text[blanks..], "md", &MARKDOWN, &mut pieces);
            }
            Language::Fence => push(&mut pieces, text, Tone::MdMark),
            Language::Code => push(&mut pieces, text, Tone::MdCode),
        }
    }
    pieces
}

/// Whether prose holds anything that Markdown gives a meaning: its grammar takes a while to unpack.
fn may_be_marked(text: &str) -> bool {
    let begins = |line: &str| {
        line.trim_start()
            .starts_with(|c: char| matches!(c, '-' | '+' | '=') || c.is_ascii_digit())
    };
    text.contains(['#', '*', '_', '`', '[', '>', '<']) || text.lines().any(begins)
}

/// The parts of a reply, which together are all of it.
fn parts(raw: &str) -> Vec<(Language, Range<usize>)> {
    let mut parts: Vec<(Language, Range<usize>)> = Vec::new();
    let mut add = |language, range: Range<usize>| match parts.last_mut() {
        _ if range.is_empty() => {}
        Some(last) if last.0 == language => last.1.end = range.end,
        _ => parts.push((language, range)),
    };
    let mut at = 0;
    // Inside a fenced block: what it is written in.
    let mut fenced: Option<Language> = None;
    let mut line_end = 0;
    while at < raw.len() {
        if at >= line_end {
            line_end = raw[at..].find('\n').map_or(raw.len(), |end| at + end + 1);
        }
        let line = &raw[at..line_end];
        if let Some(info) = line.trim().strip_prefix("```") {
            add(Language::Fence, at..line_end);
            fenced = match (fenced, info.trim().to_ascii_lowercase().as_str()) {
                (Some(_), _) => None,
                (None, "json" | "jsonc" | "json5") => Some(Language::Json),
                (None, _) => Some(Language::Code),
            };
            at = line_end;
            continue;
        }
        match (fenced, json_start(line)) {
            (Some(language), _) => {
                add(language, at..line_end);
                at = line_end;
            }
            (None, Some(start)) => {
                let end = json_end(raw, at + start);
                add(Language::Markdown, at..at + start);
                add(Language::Json, at + start..end);
                at = end;
            }
            (None, None) => {
                add(Language::Markdown, at..line_end);
                at = line_end;
            }
        }
    }
    parts
}

/// Where JSON begins on a line: at a brace before a name in quotes or another brace, or at a bracket that begins the
/// line and stands before a value.
fn json_start(line: &str) -> Option<usize> {
    let before_value = |rest: &str| {
        let next = rest.trim_start().chars().next();
        next.is_none_or(|c| matches!(c, '"' | '{' | '}'))
    };
    let brace = line
        .match_indices('{')
        .map(|(at, _)| at)
        .find(|&at| before_value(&line[at + 1..]));
    let indent = line.len() - line.trim_start().len();
    let bracket = line[indent..]
        .strip_prefix('[')
        .filter(|rest| !rest.trim().is_empty() && before_value(rest))
        .map(|_| indent);
    match (brace, bracket) {
        (Some(brace), Some(bracket)) => Some(brace.min(bracket)),
        (one, other) => one.or(other),
    }
}

/// Where the value that begins at `start` ends; the end of the text where it does not.
fn json_end(raw: &str, start: usize) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    for (at, byte) in raw.bytes().enumerate().skip(start) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => depth += 1,
            b'}' | b']' if !quoted => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    raw.len()
}

/// Adds the pieces of a text in the language of a file's ending.
fn colour(text: &str, ending: &str, tones: &[(&str, Tone)], pieces: &mut Vec<(String, Tone)>) {
    let set = syntaxes();
    let Some(syntax) = set.find_syntax_by_extension(ending) else {
        return push(pieces, text, Tone::Text);
    };
    let scopes: Vec<(Scope, Tone)> = tones
        .iter()
        .filter_map(|(name, tone)| Some((Scope::new(name).ok()?, *tone)))
        .collect();
    let mut state = ParseState::new(syntax);
    let mut stack = ScopeStack::new();
    for line in LinesWithEndings::from(text) {
        if line.len() > LONGEST_LINE {
            push(pieces, line, Tone::Text);
            continue;
        }
        let Ok(operations) = state.parse_line(line, set) else {
            push(pieces, line, Tone::Text);
            continue;
        };
        let mut from = 0;
        for (at, operation) in operations {
            push(pieces, &line[from..at], tone_of(&stack, &scopes));
            from = at;
            if stack.apply(&operation).is_err() {
                stack = ScopeStack::new();
            }
        }
        push(pieces, &line[from..], tone_of(&stack, &scopes));
    }
}

fn push(pieces: &mut Vec<(String, Tone)>, text: &str, tone: Tone) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.1 == tone => last.0.push_str(text),
        _ => pieces.push((text.to_owned(), tone)),
    }
}

fn tone_of(stack: &ScopeStack, scopes: &[(Scope, Tone)]) -> Tone {
    stack
        .scopes
        .iter()
        .rev()
        .find_map(|scope| {
            let found = scopes
                .iter()
                .find(|(prefix, _)| prefix.is_prefix_of(*scope));
            found.map(|(_, tone)| *tone)
        })
        .unwrap_or(Tone::Text)
}

/// The grammar gives keys and values the same scope; a string followed by a colon is a key.
fn mark_keys(pieces: &mut [(String, Tone)]) {
    for index in 0..pieces.len() {
        if pieces[index].1 != Tone::JsonString {
            continue;
        }
        let next = pieces[index + 1..]
            .iter()
            .map(|(text, _)| text.trim_start_matches(['"', ' ']))
            .find(|text| !text.is_empty());
        if next.is_some_and(|text| text.starts_with(':')) {
            pieces[index].1 = Tone::JsonKey;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn whole(pieces: &[(String, Tone)]) -> String {
        pieces.iter().map(|(text, _)| text.as_str()).collect()
    }

    fn tone(pieces: &[(String, Tone)], text: &str) -> Option<Tone> {
        pieces.iter().find(|(piece, _)| piece == text).map(|p| p.1)
    }

    #[test]
    fn json_in_prose_is_told_apart() {
        let raw = "Sure!\n{\"answer_choice\": \"B\", \"n\": [1, true]} as **asked**\n";
        let pieces = reply(raw);
        assert_eq!(whole(&pieces), raw);
        for (text, expected) in [
            ("answer_choice", Tone::JsonKey),
            ("B", Tone::JsonString),
            ("1", Tone::JsonNumber),
            ("true", Tone::JsonConstant),
            ("asked", Tone::MdStrong),
        ] {
            assert_eq!(tone(&pieces, text), Some(expected), "{text} in {pieces:?}");
        }
    }

    #[test]
    fn markdown_has_its_tones() {
        let raw = "# Title\n\nSome *soft* and **hard** `code`.\n\n```python\nx = {}\n```\n```json\n{\"a\": null}\n```\n";
        let pieces = reply(raw);
        assert_eq!(whole(&pieces), raw);
        for (text, expected) in [
            (" Title\n", Tone::MdHeading),
            ("soft", Tone::MdEmphasis),
            ("hard", Tone::MdStrong),
            ("code", Tone::MdCode),
            ("x = {}\n", Tone::MdCode),
            ("a", Tone::JsonKey),
            ("null", Tone::JsonConstant),
        ] {
            assert_eq!(tone(&pieces, text), Some(expected), "{text} in {pieces:?}");
        }
    }

    #[test]
    fn json_ends_where_it_ends() {
        let parts = |raw: &str| -> Vec<(Language, String)> {
            let parts = parts(raw).into_iter();
            parts
                .map(|(language, range)| (language, raw[range].to_owned()))
                .collect()
        };
        let md = |text: &str| (Language::Markdown, text.to_owned());
        let json = |text: &str| (Language::Json, text.to_owned());
        assert_eq!(
            parts("a {\"b}\": \"\\\"}\"} c"),
            [md("a "), json("{\"b}\": \"\\\"}\"}"), md(" c")]
        );
        assert_eq!(parts("{\n \"a\": [1,\n"), [json("{\n \"a\": [1,\n")]);
        assert_eq!(
            parts("a set {x, y} [1] [x]\n"),
            [md("a set {x, y} [1] [x]\n")]
        );
        assert_eq!(parts("[\"a\"]\nb"), [json("[\"a\"]"), md("\nb")]);
    }

    #[test]
    fn too_much_stays_plain() {
        let long = "x".repeat(LARGEST + 1);
        assert_eq!(reply(&long), [(long.clone(), Tone::Text)]);
        let line = format!("{{\"a\": \"{}\"}}", "x".repeat(LONGEST_LINE));
        assert_eq!(reply(&line), [(line.clone(), Tone::Text)]);
    }

    proptest! {
        #[test]
        fn the_pieces_are_the_text(raw in "[ -~é中\n{}\\[\\]\"`*#]{0,120}") {
            prop_assert_eq!(whole(&reply(&raw)), raw);
        }
    }
}
