//! Syntax colours for raw replies (JSON in prose), found off the draw path.

use std::sync::OnceLock;

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};
use syntect::util::LinesWithEndings;

use crate::tui::theme::Tone;

fn syntaxes() -> &'static SyntaxSet {
    static SET: OnceLock<SyntaxSet> = OnceLock::new();
    SET.get_or_init(SyntaxSet::load_defaults_newlines)
}

/// Scope prefixes and their tones; the last that matches wins, the innermost scope first.
const TONES: [(&str, Tone); 6] = [
    ("meta.structure.dictionary.key", Tone::JsonKey),
    ("constant.numeric", Tone::JsonNumber),
    ("constant.language", Tone::JsonConstant),
    ("punctuation.definition.string", Tone::JsonPunctuation),
    ("punctuation", Tone::JsonPunctuation),
    ("string", Tone::JsonString),
];

/// The pieces of a raw reply with their tones; together they are the text itself.
pub(super) fn json(raw: &str) -> Vec<(String, Tone)> {
    let set = syntaxes();
    let Some(syntax) = set.find_syntax_by_extension("json") else {
        return vec![(raw.to_owned(), Tone::Text)];
    };
    let scopes: Vec<(Scope, Tone)> = TONES
        .iter()
        .filter_map(|(name, tone)| Some((Scope::new(name).ok()?, *tone)))
        .collect();
    let mut state = ParseState::new(syntax);
    let mut stack = ScopeStack::new();
    let mut pieces: Vec<(String, Tone)> = Vec::new();
    for line in LinesWithEndings::from(raw) {
        let Ok(operations) = state.parse_line(line, set) else {
            pieces.push((line.to_owned(), Tone::Text));
            continue;
        };
        let mut from = 0;
        for (at, operation) in operations {
            push(&mut pieces, &line[from..at], tone_of(&stack, &scopes));
            from = at;
            if stack.apply(&operation).is_err() {
                stack = ScopeStack::new();
            }
        }
        push(&mut pieces, &line[from..], tone_of(&stack, &scopes));
    }
    mark_keys(&mut pieces);
    pieces
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
    use super::*;

    #[test]
    fn the_pieces_are_the_text_and_json_is_told_apart() {
        let raw = "Sure!\n{\"answer_choice\": \"B\", \"n\": [1, true]}\n";
        let pieces = json(raw);
        let whole: String = pieces.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(whole, raw);
        let tone = |text: &str| pieces.iter().find(|(piece, _)| piece == text).map(|p| p.1);
        assert_eq!(tone("answer_choice"), Some(Tone::JsonKey), "{pieces:?}");
        assert_eq!(tone("B"), Some(Tone::JsonString), "{pieces:?}");
        assert_eq!(tone("1"), Some(Tone::JsonNumber), "{pieces:?}");
        assert_eq!(tone("true"), Some(Tone::JsonConstant), "{pieces:?}");
    }
}
