//! Which option a short text names: the value of the answer field, or a reply that is only an answer.
//!
//! Rules, in this order:
//! 1. One offered letter, in whatever brackets, quotes or case.
//! 2. The whole text of exactly one option.
//! 3. Words before the answer ("Option", "The answer is") are taken off.
//! 4. Letters joined by `/`, `,`, "and", "or": several options.
//! 5. A letter and text ("B. text"): **the letter decides**, also where the text is another one's (noted);
//!    but a text that says that the information is insufficient is that answer.
//! 6. Yes, no or maybe before a delimiter, where these are the options.
//! 7. Phrases: insufficient information ("unknown" and "cannot be determined" too), none of the
//!    options ("N/A", "not listed" too), refusals.
//! 8. An option's text followed by an explanation.
//!
//! Everything else names nothing: it is never guessed.

use std::cell::OnceCell;

use regex::Regex;
use serde_json::Value;

use super::phrases::{INSUFFICIENT, NO_OPTION, NOT_OFFERED, Pattern, REFUSAL, UNKNOWN};
use crate::domain::normalize::headline;

/// What a text names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// One offered option.
    Letter(char),
    /// More than one.
    Several,
    /// A letter that is not offered, or none of the options.
    NotOffered,
    /// Insufficient information.
    Insufficient,
    /// Declined.
    Refused,
    /// Nothing that can be read.
    Nothing,
}

/// The options of a question; their texts are normalised only when one is compared.
pub(super) struct Options<'a> {
    options: &'a [(char, String)],
    prepared: OnceCell<Vec<Entry>>,
}

/// An option's letter, its normalised text, and that text with loose dashes.
type Entry = (char, String, String);

impl<'a> Options<'a> {
    pub(super) fn new(options: &'a [(char, String)]) -> Options<'a> {
        Options {
            options,
            prepared: OnceCell::new(),
        }
    }

    fn entries(&self) -> &[Entry] {
        self.prepared.get_or_init(|| {
            let prepare = |(letter, text): &(char, String)| {
                let key = text_key(text);
                let loose = loosened(&key);
                (letter.to_ascii_uppercase(), key, loose)
            };
            self.options.iter().map(prepare).collect()
        })
    }

    fn are_yes_no_maybe(&self) -> bool {
        let mut keys = self.entries().iter().map(|(_, key, _)| key.as_str());
        keys.all(|key| matches!(key, "yes" | "no" | "maybe"))
    }

    pub(super) fn offers(&self, letter: char) -> bool {
        self.options
            .iter()
            .any(|(offered, _)| offered.to_ascii_uppercase() == letter)
    }

    fn key(&self, letter: char) -> &str {
        self.entries()
            .iter()
            .find(|(offered, ..)| *offered == letter)
            .map_or("", |(_, key, _)| key)
    }

    /// The one option with this text; `None` where none or several have it.
    pub(super) fn by_text(&self, text: &str) -> Option<char> {
        let key = text_key(text);
        if key.is_empty() {
            return None;
        }
        let unique = |matching: &dyn Fn(&Entry) -> bool| {
            let mut found = self.entries().iter().filter(|entry| matching(entry));
            let first = found.next().map(|(letter, ..)| *letter);
            first.filter(|_| found.next().is_none())
        };
        let loose = loosened(&key);
        unique(&|entry| entry.1 == key).or_else(|| unique(&|entry| entry.2 == loose))
    }

    /// Whether `text` begins with, or is the beginning of, the text of this option.
    pub(super) fn begins_alike(&self, letter: char, text: &str) -> bool {
        let (given, own) = (text_key(text), self.key(letter));
        !given.is_empty()
            && !own.is_empty()
            && (starts_with_words(&given, own) || starts_with_words(own, &given))
    }

    /// Whether `text` and the text of this option share a word of four letters or more.
    pub(super) fn shares_word(&self, letter: char, text: &str) -> bool {
        let own = self.key(letter);
        words(&text_key(text)).any(|word| word.len() > 3 && words(own).any(|other| other == word))
    }

    /// The one option whose text begins `text`, before a delimiter; the longest where they nest.
    pub(super) fn beginning(&self, text: &str) -> Option<char> {
        let folded = text.trim_start().to_lowercase();
        self.entries()
            .iter()
            .filter(|(_, key, _)| !key.is_empty())
            .filter(|(_, key, _)| {
                folded.strip_prefix(key.as_str()).is_some_and(|rest| {
                    let rest = rest.trim_start_matches(['"', '\'', ')', ' ']);
                    rest.is_empty()
                        || rest.starts_with(['.', ';', ':', '(', '\n', '\u{2014}', '\u{2013}'])
                        || rest.starts_with("- ")
                        || rest.starts_with("because ")
                        || rest.starts_with(", because ")
                })
            })
            .max_by_key(|(_, key, _)| key.len())
            .map(|(letter, ..)| *letter)
    }

    /// Yes, no or maybe at the beginning, before a delimiter.
    pub(super) fn leading_word(&self, text: &str) -> Option<char> {
        if !self.are_yes_no_maybe() {
            return None;
        }
        let folded = text.trim_start().to_lowercase();
        let word_end = folded
            .find(|c: char| !c.is_alphanumeric())
            .unwrap_or(folded.len());
        let rest = folded[word_end..].trim_start_matches([' ', '"', '\'', '*']);
        let delimited = rest.is_empty()
            || rest.starts_with([
                '.', ',', ';', ':', '(', '!', '-', '\n', '\u{2013}', '\u{2014}',
            ])
            || rest.starts_with("because ");
        self.entries()
            .iter()
            .find(|(_, key, _)| delimited && *key == folded[..word_end])
            .map(|(letter, ..)| *letter)
    }
}

fn text_key(text: &str) -> String {
    headline(&text.replace(['*', '`'], ""))
}

/// Differences of spacing around dashes left out.
fn loosened(key: &str) -> String {
    key.replace(" - ", "-")
        .replace("- ", "-")
        .replace(" -", "-")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
}

fn starts_with_words(text: &str, beginning: &str) -> bool {
    text.strip_prefix(beginning)
        .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// Reads the value of the answer field.
pub(super) fn read_value(value: &Value, options: &Options<'_>, notes: &mut Vec<String>) -> Choice {
    match value {
        Value::String(text) => read_text(text, options, notes),
        Value::Null => {
            notes.push("the answer field is null".into());
            Choice::Nothing
        }
        Value::Bool(flag) => {
            notes.push("the answer is true or false instead of a letter".into());
            options
                .by_text(if *flag { "yes" } else { "no" })
                .map_or(Choice::Nothing, Choice::Letter)
        }
        Value::Number(number) => {
            notes.push("the answer is a number instead of a letter".into());
            options
                .by_text(&number.to_string())
                .map_or(Choice::Nothing, Choice::Letter)
        }
        Value::Array(items) => read_items(items, options, notes),
        Value::Object(map) => {
            notes.push("the answer is an object instead of a letter".into());
            let named = [
                "letter",
                "option",
                "choice",
                "answer",
                "answer_choice",
                "id",
                "key",
            ]
            .iter()
            .find_map(|key| map.get(*key).filter(|value| !value.is_object()));
            if let Some(value) = named {
                return read_value(value, options, notes);
            }
            let keys: Vec<Value> = map
                .iter()
                .filter(|(_, value)| !matches!(value, Value::Bool(false) | Value::Null))
                .map(|(key, _)| Value::String(key.clone()))
                .collect();
            read_items(&keys, options, notes)
        }
    }
}

fn read_items(items: &[Value], options: &Options<'_>, notes: &mut Vec<String>) -> Choice {
    notes.push("the answer is a list instead of a letter".into());
    let mut choices: Vec<Choice> = items
        .iter()
        .take(64)
        .filter(|item| !item.is_array() && !item.is_object())
        .map(|item| read_value(item, options, notes))
        .collect();
    choices.dedup();
    match choices.as_slice() {
        [] => Choice::Nothing,
        [one] => *one,
        many if many
            .iter()
            .any(|c| matches!(c, Choice::Letter(_) | Choice::Several)) =>
        {
            Choice::Several
        }
        _ => Choice::Nothing,
    }
}

/// Words that introduce an answer.
static LEAD: Pattern = Pattern::new(|| {
    Regex::new(
        r"(?i)^(?:(?:so|therefore|thus|hence),?\s+)?(?:the\s+|my\s+)?(?:(?:correct|right|best|final|most\s+likely|most\s+appropriate)\s+)*(?:answer|option|choice|letter)s?(?:[\s_]+(?:choice|option|letter))?\b\s*(?:is|are|would\s+be|should\s+be)?\s*[:=\-\u{2013}]?\s*",
    )
    .ok()
});

/// Longest text, in bytes, that is taken for an answer rather than for prose.
pub(super) const MAX_ANSWER: usize = 2000;

/// Reads a short text that should be an answer.
pub(super) fn read_text(text: &str, options: &Options<'_>, notes: &mut Vec<String>) -> Choice {
    if text.len() > MAX_ANSWER {
        notes.push("the answer field holds a long text".into());
        return super::prose::commitment(text, options, notes).unwrap_or(Choice::Nothing);
    }
    read_short(text, options, notes, 3)
}

/// `leads` bounds how often introducing words are taken off.
fn read_short(text: &str, options: &Options<'_>, notes: &mut Vec<String>, leads: usize) -> Choice {
    let bare = unwrap(text);
    if bare.is_empty() {
        notes.push("the answer is empty".into());
        return Choice::Nothing;
    }
    let mut letters = bare.chars();
    if let (Some(letter), None) = (letters.next(), letters.next())
        && letter.is_ascii_alphabetic()
    {
        return single(letter, text, bare, options, notes);
    }
    if let Some(letter) = options.by_text(&bare) {
        notes.push("the option's text instead of its letter".into());
        return Choice::Letter(letter);
    }
    if let Some(lead) = LEAD.get().and_then(|regex| regex.find(&bare))
        && (1..bare.len()).contains(&lead.end())
        && leads > 0
    {
        notes.push("words before the letter".into());
        return read_short(&bare[lead.end()..], options, notes, leads - 1);
    }
    if NO_OPTION.is_match(&bare) {
        notes.push("none of the options".into());
        return Choice::NotOffered;
    }
    listed(&bare, options, notes)
        .or_else(|| letter_with_text(&bare, options, notes))
        .or_else(|| worded(&bare, options, notes))
        .or_else(|| super::prose::commitment(&bare, options, notes))
        .unwrap_or_else(|| {
            notes.push("the answer names none of the options".into());
            Choice::Nothing
        })
}

fn single(
    letter: char,
    text: &str,
    bare: impl AsRef<str>,
    options: &Options<'_>,
    notes: &mut Vec<String>,
) -> Choice {
    let upper = letter.to_ascii_uppercase();
    if options.offers(upper) {
        if upper != letter {
            notes.push("the letter is in lower case".into());
        } else if text.trim().len() > 1 {
            notes.push("signs around the letter".into());
        }
        return Choice::Letter(upper);
    }
    if let Some(by_text) = options.by_text(bare.as_ref()) {
        notes.push("the option's text instead of its letter".into());
        return Choice::Letter(by_text);
    }
    notes.push(format!("{upper} is not offered"));
    Choice::NotOffered
}

/// Takes off quotes, emphasis, enclosing brackets, LaTeX boxes and end punctuation.
pub(super) fn unwrap(text: &str) -> String {
    let plain = text.replace(['*', '`'], "");
    let mut rest = plain.as_str();
    loop {
        let mut next = rest
            .trim_matches(|c: char| {
                c.is_whitespace()
                    || matches!(c, '"' | '\'' | '$' | '_' | '#')
                    || ('\u{2018}'..='\u{201f}').contains(&c)
            })
            .trim_end_matches(['.', ',', ';', ':', '!']);
        for (open, close) in [
            ("\\boxed{", "}"),
            ("\\text{", "}"),
            ("\\mathrm{", "}"),
            ("(", ")"),
            ("[", "]"),
            ("{", "}"),
            ("<", ">"),
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

/// Only letters, joined by separators: "A/B", "B, D", "A and C", "ABD".
fn listed(bare: &str, options: &Options<'_>, notes: &mut Vec<String>) -> Option<Choice> {
    if bare.len() > 60 {
        return None;
    }
    let mut letters: Vec<char> = Vec::new();
    for part in bare.split(|c: char| c.is_whitespace() || "/,;&+|.()[]\"'".contains(c)) {
        match part.to_lowercase().as_str() {
            "" | "and" | "or" | "both" | "either" | "option" | "options" => continue,
            _ => {}
        }
        let mut chars = part.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) if c.is_ascii_alphabetic() => letters.push(c.to_ascii_uppercase()),
            _ => {
                letters = run_together(bare, options)?;
                break;
            }
        }
    }
    letters.sort_unstable();
    letters.dedup();
    match letters.as_slice() {
        [] => None,
        [one] if options.offers(*one) => {
            notes.push("signs around the letter".into());
            Some(Choice::Letter(*one))
        }
        [one] => {
            notes.push(format!("{one} is not offered"));
            Some(Choice::NotOffered)
        }
        many => {
            let named: Vec<String> = many.iter().map(char::to_string).collect();
            notes.push(format!("several options: {}", named.join(", ")));
            Some(Choice::Several)
        }
    }
}

/// "ABD": offered capital letters without separators, each once, in order.
fn run_together(bare: &str, options: &Options<'_>) -> Option<Vec<char>> {
    let letters: Vec<char> = bare.chars().collect();
    let ordered = letters.windows(2).all(|pair| pair[0] < pair[1]);
    (letters.len() > 1 && ordered && letters.iter().all(|&c| options.offers(c))).then_some(letters)
}

/// Letters with their delimiter later in a text: "… or C. text", a new line "B) text".
static MARKER: Pattern = Pattern::new(|| {
    Regex::new(
        r"(?:\b(?:or|and|OR|AND)\b|[,;/&+]|\n)\s*(?:[Oo]ptions?\s+|both\s+|either\s+)?[(\[]?([A-Z])(?:[).:\]]|\s*$|\s*[,/;]|\s+(?:or|and)\b)",
    )
    .ok()
});

/// Whether `text`, which follows the letter `first`, names further offered letters.
pub(super) fn names_more(first: char, text: &str, options: &Options<'_>) -> bool {
    let Some(regex) = MARKER.get() else {
        return false;
    };
    regex
        .captures_iter(text)
        .filter_map(|found| found.get(1)?.as_str().chars().next())
        .any(|letter| letter != first && options.offers(letter))
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
            ')' | ']' | '.' | ':' | ',' | '"' | '\'' | '\n' | '\u{2013}' | '\u{2014}'
        );
    if !delimited {
        return None;
    }
    let after = rest.trim_start_matches([
        ')', ']', '.', ':', ',', '"', '\'', '\u{2013}', '\u{2014}', '-',
    ]);
    // "E.g." or "C.I." are no letters of options.
    if delimiter == '.' && after.starts_with(char::is_alphanumeric) && after.len() < 4 {
        return None;
    }
    Some((letter, after.trim()))
}

/// "B. text", "B) text", "B: text", and "B text" where the text is that option's.
fn letter_with_text(bare: &str, options: &Options<'_>, notes: &mut Vec<String>) -> Option<Choice> {
    let (letter, rest) = match leading_letter(bare) {
        Some((letter, rest)) => (letter.to_ascii_uppercase(), rest),
        None => {
            let letter = bare.chars().next().filter(char::is_ascii_uppercase)?;
            let rest = bare[1..].strip_prefix(' ')?.trim();
            let fits = options.begins_alike(letter, rest) || explains_a_letter(rest);
            if !options.offers(letter) || !fits {
                return None;
            }
            (letter, rest)
        }
    };
    let says_insufficient =
        INSUFFICIENT.is_match(rest) && !INSUFFICIENT.is_match(options.key(letter));
    if says_insufficient && rest.len() < 80 {
        notes.push(format!("letter {letter} with \"insufficient information\""));
        return Some(Choice::Insufficient);
    }
    if !options.offers(letter) {
        notes.push(format!("{letter} is not offered"));
        return Some(Choice::NotOffered);
    }
    if options.by_text(rest) == Some(letter) {
        notes.push("the letter with the option's text".into());
        return Some(Choice::Letter(letter));
    }
    if names_more(letter, rest, options) || names_more(letter, &bare[1..], options) {
        notes.push("several options with their texts".into());
        return Some(Choice::Several);
    }
    notes.push(match options.by_text(rest) {
        Some(other) => {
            format!("letter {letter} with the text of option {other}; the letter counts")
        }
        None if rest.is_empty() => "signs around the letter".into(),
        None => {
            format!("letter {letter} with a text that is not quite the option's; the letter counts")
        }
    });
    Some(Choice::Letter(letter))
}

/// As [`follows_a_letter`], for a letter that begins the text: "A given patient" must not pass.
fn explains_a_letter(rest: &str) -> bool {
    rest.starts_with('(')
        || [
            "because ",
            "since ",
            "due to ",
            "is correct",
            "is right",
            "is the correct",
            "is the answer",
        ]
        .iter()
        .any(|word| rest.starts_with(word))
}

/// Words that show that the single capital before them is an option's letter, not an article or a name.
pub(super) fn follows_a_letter(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.starts_with('(')
        || [
            "because", "since", "as", "due", "based", "given", "is", "would", "but", "which",
            "for", "from", "in", "with",
        ]
        .iter()
        .any(|word| {
            rest.strip_prefix(word)
                .is_some_and(|after| !after.starts_with(char::is_alphanumeric))
        })
}

/// Answers in words.
fn worded(bare: &str, options: &Options<'_>, notes: &mut Vec<String>) -> Option<Choice> {
    if UNKNOWN.is_match(bare) || INSUFFICIENT.is_match(bare) && bare.len() < 200 {
        return Some(Choice::Insufficient);
    }
    if NOT_OFFERED.is_match(bare) && bare.len() < 200 {
        notes.push("none of the options".into());
        return Some(Choice::NotOffered);
    }
    if bare.to_lowercase().starts_with("all of the") || bare.eq_ignore_ascii_case("all") {
        notes.push("all options at once".into());
        return Some(Choice::Several);
    }
    if let Some(letter) = options.leading_word(bare) {
        notes.push("a word and an explanation instead of the letter".into());
        return Some(Choice::Letter(letter));
    }
    if bare.len() < 300 && several_texts(bare, options) {
        notes.push("the texts of several options".into());
        return Some(Choice::Several);
    }
    if let Some(letter) = options.beginning(bare) {
        notes.push("the option's text and an explanation instead of its letter".into());
        return Some(Choice::Letter(letter));
    }
    REFUSAL.is_match(bare).then_some(Choice::Refused)
}

/// Whether the text is a list of whole option texts.
fn several_texts(bare: &str, options: &Options<'_>) -> bool {
    let unified = bare
        .replace(" and/or ", "\u{1}")
        .replace(" or ", "\u{1}")
        .replace(" and ", "\u{1}");
    let parts: Vec<Option<char>> = unified
        .split(['\u{1}', ',', ';', '/', '\n'])
        .filter(|part| !part.trim().is_empty())
        .map(|part| options.by_text(part))
        .collect();
    parts.len() > 1 && parts.iter().all(Option::is_some) && parts.iter().any(|p| *p != parts[0])
}

#[cfg(test)]
#[path = "choice_tests.rs"]
mod tests;
