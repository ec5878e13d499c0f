//! Letters of options in running text: their dress, their delimiters, and whether more of them follow.

use super::evidence::Mapped;
use super::options::Options;
use super::phrases::{Pattern, compile};

/// Marks of the right option.
pub(super) const RIGHT_MARKS: [char; 5] =
    ['\u{2705}', '\u{2714}', '\u{2713}', '\u{2611}', '\u{1f7e2}'];

/// Takes off quotes, emphasis, tags, enclosing brackets, LaTeX boxes and end punctuation.
pub(super) fn unwrap(text: &str) -> String {
    let plain = Mapped::plain(text).text;
    let mut rest = plain.as_str();
    loop {
        let mut next = rest
            .trim_matches(|c: char| {
                c.is_whitespace()
                    || RIGHT_MARKS.contains(&c)
                    || matches!(c, '"' | '\'' | '$' | '_' | '#' | '\u{ab}' | '\u{bb}')
                    || ('\u{2018}'..='\u{201f}').contains(&c)
                    || ('\u{300a}'..='\u{300f}').contains(&c)
            })
            .trim_end_matches(['.', ',', ';', ':', '!', '\u{3002}', '\u{3001}']);
        next = inside_tags(next);
        for (open, close) in [
            ("\\boxed{", "}"),
            ("\\text{", "}"),
            ("\\textbf{", "}"),
            ("\\mathbf{", "}"),
            ("\\mathrm{", "}"),
            ("(", ")"),
            ("[", "]"),
            ("{", "}"),
            ("<", ">"),
            ("\u{3010}", "\u{3011}"),
        ] {
            let inner = next
                .strip_prefix(open)
                .and_then(|rest| rest.strip_suffix(close))
                // "(A) or (B)" is not enclosed as a whole; LaTeX may nest.
                .filter(|inner| open.len() > 1 || !inner.contains(['(', ')', '[', ']', '{', '}']));
            next = inner.unwrap_or(next);
        }
        // "B)" and "(B": a lone bracket at a lone letter.
        if next.len() == 2 {
            next = next
                .trim_start_matches(['(', '['])
                .trim_end_matches([')', ']']);
        }
        if next.len() == rest.len() {
            return rest.to_owned();
        }
        rest = next;
    }
}

/// The inside of "<answer>B</answer>".
fn inside_tags(text: &str) -> &str {
    let inside = || {
        let (name, rest) = text.strip_prefix('<')?.split_once('>')?;
        let is_name = !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        let inner = rest
            .strip_suffix('>')?
            .strip_suffix(name)?
            .strip_suffix("</")?;
        is_name.then_some(inner)
    };
    inside().unwrap_or(text)
}

/// The letter at the beginning and what follows its delimiter.
pub(super) fn leading_letter(text: &str) -> Option<(char, &str)> {
    let inner = text.trim_start().trim_start_matches(['(', '[', '"', '\'']);
    let bracketed = inner.len() < text.trim_start().len();
    let letter = inner.chars().next().filter(char::is_ascii_alphabetic)?;
    let rest = &inner[1..];
    let delimiter = rest.chars().next()?;
    if matches!(delimiter, '\'' | '\u{2019}')
        && rest[delimiter.len_utf8()..].starts_with(char::is_alphabetic)
    {
        // "I'm", "D'Arcy"
        return None;
    }
    let spaced_dash = rest
        .trim_start()
        .strip_prefix(['-', '\u{2013}', '\u{2014}', '='])
        .filter(|after| rest.starts_with(' ') && after.starts_with(' '));
    if let Some(after) = spaced_dash {
        return Some((letter, after.trim()));
    }
    let delimited = bracketed && delimiter == ' '
        || matches!(
            delimiter,
            ')' | ']'
                | '.'
                | ':'
                | ','
                | ';'
                | '"'
                | '\''
                | '\n'
                | '\u{2013}'
                | '\u{2014}'
                | '\u{3001}'
                | '\u{3002}'
        );
    if !delimited {
        return None;
    }
    let after = rest.trim_start_matches([
        ')', ']', '.', ':', ',', ';', '"', '\'', '\u{2013}', '\u{2014}', '-', '\u{3001}',
        '\u{3002}',
    ]);
    // "E.g." or "C.I." are no letters of options.
    if delimiter == '.' && after.starts_with(char::is_alphanumeric) && after.len() < 4 {
        return None;
    }
    Some((letter, after.trim()))
}

/// Words that show that the single capital before them is an option's letter, not an article or a name.
pub(super) fn follows_a_letter(rest: &str) -> bool {
    const WORDS: [&str; 44] = [
        "because",
        "since",
        "as",
        "due",
        "based",
        "given",
        "is",
        "would",
        "but",
        "which",
        "for",
        "from",
        "in",
        "with",
        "by",
        "on",
        "at",
        "if",
        "not",
        "rather",
        "instead",
        "over",
        "since",
        "although",
        "though",
        "while",
        "whereas",
        "after",
        "before",
        "here",
        "then",
        "when",
        "where",
        "that",
        "this",
        "the",
        "according",
        "considering",
        "per",
        "unless",
        "alone",
        "only",
        "so",
        "it",
    ];
    let rest = rest.trim_start();
    rest.starts_with('(')
        || WORDS.iter().any(|word| {
            rest.strip_prefix(word)
                .is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '-'))
        })
}

/// As [`follows_a_letter`], for a letter that begins the text: "A given patient" must not pass.
pub(super) fn explains_a_letter(rest: &str) -> bool {
    rest.starts_with('(')
        || [
            "because ",
            "since ",
            "due to ",
            "is correct",
            "is right",
            "is the correct",
            "is the answer",
            "only",
            "alone",
            "rather than ",
            "not ",
        ]
        .iter()
        .any(|word| rest.starts_with(word))
}

/// Letters with their delimiter later in a text: "… or C. text", a new line "B) text".
static MARKER: Pattern = Pattern::new(|| {
    compile(
        r"(?:\b(?:or|and|OR|AND)\b|[,;/&+]|\n)\s*(?:[Oo]ptions?\s+|both\s+|either\s+|no\s+)?[(\[]?([A-Z])(?:[).:\]]|\s*$|\s*[,/;(]|\s+(?:or|and)\b)",
    )
});

/// Whether `text`, which follows the letter `first`, names further offered letters.
pub(super) fn names_more(first: char, text: &str, options: &Options<'_>) -> bool {
    let Some(regex) = MARKER.get() else {
        return false;
    };
    let own = own_sentence(first, text, options).len();
    regex
        .captures_iter(text)
        .filter_map(|found| found.get(1))
        .filter_map(|found| Some((found.as_str().chars().next()?, found.start(), found.end())))
        .filter(|(letter, ..)| *letter != first && options.offers(*letter))
        .any(|(letter, start, end)| {
            // After the sentence a letter only counts with its option's text.
            let rest = &text[end..];
            start < own
                || rest.starts_with(['.', ')', ':'])
                    && (options.begins_alike(letter, first_words(&rest[1..]))
                        || options.shares_word(letter, first_words(&rest[1..])))
        })
}

/// The part of `text`, which follows the letter `first`, that still speaks of it: up to the end of the
/// sentence. The dot of "B. Aspirin" ends none.
pub(super) fn own_sentence<'t>(first: char, text: &'t str, options: &Options<'_>) -> &'t str {
    let mut before = first;
    let mut letter = true;
    for (at, c) in text.char_indices() {
        let after = &text[at + c.len_utf8()..];
        if matches!(c, '.' | '!' | '?') && after.starts_with(' ') {
            let own = after.trim_start();
            let of_option = letter
                && (options.begins_alike(before.to_ascii_uppercase(), first_words(own))
                    || options.shares_word(before.to_ascii_uppercase(), first_words(own)));
            if !of_option {
                return &text[..at];
            }
        }
        // Whether this is a letter that stands alone.
        letter = c.is_ascii_alphabetic()
            && !text[..at].ends_with(char::is_alphanumeric)
            && !after.starts_with(char::is_alphanumeric);
        before = c;
    }
    text
}

/// The beginning of a text up to the end of its sentence, at most about 200 bytes.
fn first_words(text: &str) -> &str {
    let text = &text[..text.floor_char_boundary(200)];
    let stop = text.find([';', '\n']).unwrap_or(text.len());
    let stop = text[..stop].find(". ").unwrap_or(stop);
    let joined = [" or ", " and "]
        .iter()
        .filter_map(|word| text[..stop].find(word))
        .min();
    &text[..joined.unwrap_or(stop)]
}
