//! What an announcement announces: a letter, a text, none of the options, or what is not the answer.

use super::choice::{Choice, letter_in_brackets, several_texts};
use super::letters::{
    RIGHT_MARKS, follows_a_letter, leading_letter, names_more, own_sentence, unwrap,
};
use super::meant::first_line;
use super::options::Options;
use super::phrases::{INSUFFICIENT, NO_OPTION, NOT_OFFERED, Pattern, UNKNOWN, compile};
use super::statements::Kind;

/// Where the first word ends.
pub(super) fn word_end(text: &str) -> usize {
    let lead = text.len() - text.trim_start().len();
    let word = text[lead..]
        .find(|c: char| !c.is_alphanumeric())
        .unwrap_or(text.len() - lead);
    lead + word
}

/// What an announcement announces, and where that ends.
pub(super) fn target(tail: &str, denied: bool, options: &Options<'_>) -> Option<(Kind, usize)> {
    let line = first_line(tail).trim_end();
    let open = line.trim_start();
    let lead = line.len() - open.len();
    if let Some(rest) = denial(open, denied) {
        let offset = line.len() - rest.len();
        return denied_target(rest, options).map(|(kind, length)| (kind, offset + length));
    }
    if lists_options(tail, options) {
        return None;
    }
    let sentence = &line[..line.find(". ").unwrap_or(line.len())];
    if sentence.trim().is_empty() {
        return None;
    }
    let strong = |choice: Choice, length: usize| Some((Kind::Strong(choice), length));
    if unwrap(sentence).len() == 1
        && let Some((choice, length)) = letter_at(line, options)
    {
        // A letter is a letter, even where another option's text is that letter.
        return strong(choice, length);
    }
    let trimmed_len = |text: &str| text.trim_end_matches(['.', ' ', '!']).len();
    if let Some(letter) = options.by_text(sentence) {
        return strong(Choice::Letter(letter), trimmed_len(sentence));
    }
    if options.share_text(sentence) {
        return strong(Choice::Several, trimmed_len(sentence));
    }
    if let Some(letter) = options.by_text(line) {
        return strong(Choice::Letter(letter), trimmed_len(line));
    }
    if let Some(letter) = options.leading_word(sentence) {
        return strong(Choice::Letter(letter), word_end(sentence));
    }
    if let Some((choice, length)) = letter_at(line, options) {
        return strong(choice, length);
    }
    if let Some(letter) = letter_in_brackets(sentence, options) {
        return strong(Choice::Letter(letter), trimmed_len(sentence));
    }
    if let Some(letter) = options.beginning(line) {
        let length = lead + options.key(letter).len();
        return strong(Choice::Letter(letter), line.floor_char_boundary(length));
    }
    let bare = unwrap(sentence);
    if several_texts(&bare, options) {
        return strong(Choice::Several, trimmed_len(sentence));
    }
    if NOT_OFFERED.is_match(sentence) || NO_OPTION.is_match(&bare) {
        return strong(Choice::NotOffered, trimmed_len(sentence));
    }
    if UNKNOWN.is_match(&bare) || INSUFFICIENT.is_match(sentence) {
        return strong(Choice::Insufficient, trimmed_len(sentence));
    }
    None
}

/// What follows a denial: "not A", "n't A".
pub(super) fn denial(text: &str, denied: bool) -> Option<&str> {
    static NOT: Pattern = Pattern::new(|| {
        compile(
            r"(?i)^(?:(?:definitely|certainly|clearly|probably|simply)\s+)?(?:not|n['\u{2019}]t|never|hardly)\b\s*(?:(?:be|the|option|choice|letter|answer)\s+)*",
        )
    });
    let found = NOT.get().and_then(|regex| regex.find(text));
    // "not listed", "not enough information" are answers.
    let answer = NOT_OFFERED.is_match(text)
        || INSUFFICIENT.is_match(text)
        || NO_OPTION.is_match(text.trim_end_matches('.'));
    match found {
        Some(not) if !answer => Some(&text[not.end()..]),
        None if denied && !answer => Some(text),
        _ => None,
    }
}

/// "not A": a rejection; "not A but B" and "not anything but B": an answer.
pub(super) fn denied_target(rest: &str, options: &Options<'_>) -> Option<(Kind, usize)> {
    static ELSE: Pattern = Pattern::new(|| {
        compile(
            r"(?i)^any(?:thing)?\s+(?:\w+\s+)?(?:other\s+than|but|except)\s+(?:option\s+|choice\s+)?",
        )
    });
    static BUT: Pattern = Pattern::new(|| {
        compile(r"(?i)[,;]?\s+but\s+(?:rather\s+|instead\s+)?(?:option\s+|choice\s+)?")
    });
    if let Some(found) = ELSE.get().and_then(|regex| regex.find(rest)) {
        let (choice, length) = letter_at(&rest[found.end()..], options)?;
        return Some((Kind::Strong(choice), found.end() + length));
    }
    let (rejected, length) = letter_at(rest, options)?;
    if let Some(found) = BUT.get().and_then(|regex| regex.find(&rest[length..])) {
        let at = length + found.end();
        if found.start() < 80
            && let Some((choice @ Choice::Letter(_), more)) = letter_at(&rest[at..], options)
            && choice != rejected
        {
            return Some((Kind::Strong(choice), at + more));
        }
    }
    match rejected {
        Choice::Letter(letter) => Some((Kind::Reject(letter), length)),
        _ => None,
    }
}

/// Whether a list of the options follows instead of an answer.
fn lists_options(tail: &str, options: &Options<'_>) -> bool {
    let end = tail.floor_char_boundary(1000);
    let mut lines = tail[..end]
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let mut own = || {
        let (letter, rest) = leading_letter(lines.next()?)?;
        let letter = letter.to_ascii_uppercase();
        (options.by_text(rest) == Some(letter)).then_some(letter)
    };
    matches!((own(), own()), (Some(a), Some(b)) if a != b)
}

/// The letter at the beginning of a line, where it is one: not an article, not a name; and where it ends.
pub(super) fn letter_at(line: &str, options: &Options<'_>) -> Option<(Choice, usize)> {
    let open = line.trim_start();
    let inner = open.trim_start_matches(['(', '[', '{', '"', '\'', '_', '\u{201c}', '\u{3010}']);
    let bracketed = inner.len() < open.len();
    let letter = inner.chars().next().filter(char::is_ascii_alphabetic)?;
    let upper = letter.to_ascii_uppercase();
    let rest = &inner[1..];
    if !is_letter(letter, bracketed, rest, options) {
        return None;
    }
    let closed = if bracketed {
        rest.len()
            - rest
                .trim_start_matches([')', ']', '}', '"', '\'', '_', '\u{201d}', '\u{3011}'])
                .len()
    } else {
        0
    };
    let end = line.len() - rest.len() + closed;
    if names_more(upper, rest, options) || two_joined(rest, upper, options) {
        return Some((
            Choice::Several,
            line.len() - rest.len() + own_sentence(upper, rest, options).len(),
        ));
    }
    if !options.offers(upper) {
        return Some((Choice::NotOffered, end));
    }
    Some((Choice::Letter(upper), end))
}

fn is_letter(letter: char, bracketed: bool, rest: &str, options: &Options<'_>) -> bool {
    let next = rest.chars().next();
    let after = &rest[next.map_or(0, char::len_utf8)..];
    match next {
        None => true,
        Some(c) if is_east_asian(c) => true,
        Some(c) if c.is_alphanumeric() || c == '\u{2019}' => false,
        Some('_' | '<') => !after.starts_with(char::is_alphanumeric),
        Some('\'') if after.starts_with(char::is_alphabetic) => false,
        Some(')' | ']' | '}' | '"' | '\'' | '$' | '\u{201d}' | '\u{3011}') => true,
        // "D-dimer", "C+ state"
        Some('-' | '+' | '\u{2010}'..='\u{2015}') => !after.starts_with(char::is_alphanumeric),
        Some('.') => ends_a_letter(letter, bracketed, rest, options),
        Some(':' | ',' | ';' | '!' | '?' | '/' | '&') => letter.is_ascii_uppercase() || bracketed,
        Some(_) => spaced(letter, rest, options),
    }
}

/// Characters of scripts that put no space around a letter.
fn is_east_asian(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{ff00}'..='\u{ffef}')
}

/// "B." at an end, before a new sentence or before the option's text; but not "C. difficile".
fn ends_a_letter(letter: char, bracketed: bool, rest: &str, options: &Options<'_>) -> bool {
    let after = rest[1..].trim_start();
    if after.is_empty() || bracketed {
        return true;
    }
    let upper = letter.to_ascii_uppercase();
    if options.begins_alike(upper, after) || options.shares_word(upper, after) {
        return true;
    }
    let first_word_short = after.starts_with(|c: char| c.is_ascii_lowercase());
    letter.is_ascii_uppercase() && !first_word_short && rest[1..].starts_with(char::is_whitespace)
}

/// "B because …", "B (text)", "B text of option B"; but not "A patient", "B cells", "I think".
fn spaced(letter: char, rest: &str, options: &Options<'_>) -> bool {
    if !letter.is_ascii_uppercase() {
        return false;
    }
    let after = rest.trim_start_matches(|c: char| c.is_whitespace() || RIGHT_MARKS.contains(&c));
    let article = letter == 'A'
        && ["given ", "then ", "only ", "once "]
            .iter()
            .any(|word| after.starts_with(word))
        && !["given the ", "given that ", "given this "]
            .iter()
            .any(|word| after.starts_with(word));
    let pronoun = letter == 'I' && after.starts_with(|c: char| c.is_ascii_lowercase());
    if article || pronoun {
        return false;
    }
    let joined = [
        "and/or ",
        "or ",
        "and ",
        "/",
        "- ",
        "\u{2013} ",
        "\u{2014} ",
        "= ",
        "-> ",
        "\u{2192} ",
    ]
    .iter()
    .any(|word| after.starts_with(word));
    after.is_empty() || joined || follows_a_letter(after) || options.continues(letter, after)
}

/// A text without the brackets that it begins with, if they close soon.
pub(super) fn without_brackets(text: &str) -> &str {
    let inside = text.trim_start().strip_prefix('(');
    let close = inside.and_then(|inner| inner.find(')').filter(|&at| at < 200));
    match (inside, close) {
        (Some(inner), Some(at)) => &inner[at + 1..],
        _ => text,
    }
}

/// "B or D", "B/D" at the end of a line or sentence.
fn two_joined(rest: &str, first: char, options: &Options<'_>) -> bool {
    let rest = rest.trim_start_matches([')', ']']);
    let tail = without_brackets(rest).trim_start();
    let joined = ["and/or ", "or ", "and ", "/", "& ", ", "]
        .iter()
        .find_map(|word| Some((word, tail.strip_prefix(word)?)));
    joined.is_some_and(|(word, after)| {
        let after = after
            .trim_start_matches("option ")
            .trim_start_matches(['(', '[']);
        let mut chars = after.chars();
        let second = chars.next().filter(char::is_ascii_uppercase);
        let bounded = chars.next().is_none_or(|c| !c.is_alphanumeric());
        // "B, C is wrong" and "B and A is wrong" name one.
        let new_sentence = matches!(*word, "and " | ", ")
            && chars
                .as_str()
                .split_whitespace()
                .next()
                .is_some_and(|verb| {
                    matches!(
                        verb,
                        "is" | "was" | "are" | "would" | "can" | "does" | "has" | "isn't"
                    )
                });
        second.is_some_and(|c| bounded && c != first && options.offers(c)) && !new_sentence
    })
}
