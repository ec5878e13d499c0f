//! The options of a question, found by letter or by text.

use std::cell::OnceCell;

use crate::domain::normalize::headline;

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

    pub(super) fn are_yes_no_maybe(&self) -> bool {
        let mut keys = self.entries().iter().map(|(_, key, _)| key.as_str());
        keys.all(|key| matches!(key, "yes" | "no" | "maybe"))
    }

    pub(super) fn offers(&self, letter: char) -> bool {
        self.options
            .iter()
            .any(|(offered, _)| offered.to_ascii_uppercase() == letter)
    }

    /// The letters offered.
    pub(super) fn all(&self) -> impl Iterator<Item = char> {
        let upper = |(letter, _): &(char, String)| letter.to_ascii_uppercase();
        self.options.iter().map(upper)
    }

    pub(super) fn key(&self, letter: char) -> &str {
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

    /// Whether several options have this text: it names none of them alone.
    pub(super) fn share_text(&self, text: &str) -> bool {
        let key = text_key(text);
        let same = self.entries().iter().filter(|entry| entry.1 == key);
        !key.is_empty() && same.count() > 1
    }

    /// Whether `text` begins with, or is the beginning of, the text of this option.
    pub(super) fn begins_alike(&self, letter: char, text: &str) -> bool {
        let (given, own) = (text_key(text), self.key(letter));
        !given.is_empty()
            && !own.is_empty()
            && (starts_with_words(&given, own) || starts_with_words(own, &given))
    }

    /// Whether `text`, which follows this option's letter without a sign between them, is its text. After
    /// "A", which may be an article, it must be the whole of it: "A vitamin" is not option A "Vitamin D".
    pub(super) fn continues(&self, letter: char, text: &str) -> bool {
        if letter != 'A' {
            return self.begins_alike(letter, text);
        }
        let own = self.key(letter);
        !own.is_empty() && starts_with_words(&text_key(text), own)
    }

    /// Whether `text` and the text of this option share a word of four letters or more.
    pub(super) fn shares_word(&self, letter: char, text: &str) -> bool {
        let own = self.key(letter);
        words(&text_key(text)).any(|word| word.len() > 3 && words(own).any(|other| other == word))
    }

    /// The one option that has a word with this initial directly before `word`: "S. aureus" for
    /// "Staphylococcus aureus". `None` where several have it, or where the initial is the letter of an
    /// option that has the word too.
    pub(super) fn abbreviated(&self, initial: char, word: &str) -> Option<char> {
        let (initial, word) = (initial.to_lowercase().to_string(), word.to_lowercase());
        let has = |key: &str| {
            let all: Vec<&str> = words(key).filter(|word| !word.is_empty()).collect();
            all.windows(2)
                .any(|pair| pair[0].starts_with(&initial) && pair[1] == word)
        };
        let own = self.key(initial.to_uppercase().chars().next()?);
        if words(own).any(|other| other == word) {
            return None;
        }
        let mut found = self.entries().iter().filter(|(_, key, _)| has(key));
        let first = found.next()?.0;
        found.next().is_none().then_some(first)
    }

    /// The one option whose text ends `text`, as a whole word or words; the longest where they nest.
    pub(super) fn ending(&self, text: &str) -> Option<char> {
        let folded = text.trim_end().to_lowercase();
        let mut found: Vec<&Entry> = self
            .entries()
            .iter()
            .filter(|(_, key, _)| key.len() > 1)
            .filter(|(_, key, _)| {
                folded.strip_suffix(key.as_str()).is_some_and(|before| {
                    !before.ends_with(|c: char| c.is_alphanumeric() || c == '-')
                })
            })
            .collect();
        found.sort_by_key(|(_, key, _)| std::cmp::Reverse(key.len()));
        let longest = found.first()?;
        let unique = found.get(1).is_none_or(|next| next.1 != longest.1);
        unique.then_some(longest.0)
    }

    /// The one option whose text begins `text`, before a delimiter; the longest where they nest.
    pub(super) fn beginning(&self, text: &str) -> Option<char> {
        let folded = text.trim_start().to_lowercase();
        let found: Vec<&Entry> = self
            .entries()
            .iter()
            .filter(|(_, key, _)| !key.is_empty())
            .filter(|(_, key, _)| {
                folded.strip_prefix(key.as_str()).is_some_and(|rest| {
                    let rest = rest.trim_start_matches(['"', '\'', ')', ' ']);
                    rest.is_empty()
                        || rest.starts_with(['.', ';', ':', '(', '\n', '\u{2014}', '\u{2013}'])
                        || rest.starts_with("- ")
                        || rest.starts_with("because ")
                        || [
                            ", because ",
                            ", which ",
                            ", since ",
                            ", as ",
                            ", not ",
                            ", clearly",
                        ]
                        .iter()
                        .any(|word| rest.starts_with(word))
                })
            })
            .collect();
        let longest = found.iter().max_by_key(|(_, key, _)| key.len())?;
        let same = found.iter().filter(|(_, key, _)| *key == longest.1);
        (same.count() == 1).then_some(longest.0)
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

pub(super) fn text_key(text: &str) -> String {
    headline(&text.replace(['*', '`'], ""))
}

/// Differences of spacing around dashes and signs, and between a number and its unit, left out:
/// "> 5 %" is ">5%", and "1.5mg" is "1.5 mg".
fn loosened(key: &str) -> String {
    let mut out = String::with_capacity(key.len());
    let mut rest = key.chars().peekable();
    while let Some(c) = rest.next() {
        if c == ' '
            && let (Some(before), Some(&next)) = (out.chars().next_back(), rest.peek())
        {
            let sign = |c: char| "-<>\u{2264}\u{2265}=\u{b1}~/+".contains(c);
            let unit = before.is_ascii_digit() && (next.is_alphabetic() || next == '%');
            if unit || sign(before) || sign(next) {
                continue;
            }
        }
        out.push(c);
    }
    out
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
}

fn starts_with_words(text: &str, beginning: &str) -> bool {
    text.strip_prefix(beginning)
        .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}
