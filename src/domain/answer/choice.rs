//! Which option a short text names: the value of the answer field, or a reply that is only an answer.
//!
//! Rules, in this order:
//! 1. One offered letter, in whatever brackets, quotes, tags, width or case.
//! 2. The whole text of exactly one option.
//! 3. Words before the answer ("Option", "The answer is") are taken off.
//!    "A:" before another letter and nothing else is the label of an answer.
//! 4. Letters joined by `/`, `,`, "and", "or", "to": several options.
//! 5. An initial that abbreviates a word of one option ("S. aureus"): that option.
//! 6. A letter and text ("B. text"): **the letter decides**, also where the text is another one's (noted);
//!    but a text that says that the information is insufficient is that answer, and a text that is
//!    another letter makes several options.
//! 7. Yes, no or maybe before a delimiter, where these are the options.
//! 8. Phrases: insufficient information ("unknown" and "cannot be determined" too), none of the
//!    options ("N/A", "not listed" too), refusals.
//! 9. An option's text followed by an explanation.
//! 10. A sentence that commits to an answer; "not A but B" is B, and "B?", which says nothing else, is B.
//!
//! A text that several options have names several.
//!
//! Everything else names nothing: it is never guessed.

use serde_json::{Map, Value};

use super::evidence::Rule;
use super::letters::{explains_a_letter, leading_letter, names_more, own_sentence, unwrap};
use super::options::Options;
use super::phrases::{INSUFFICIENT, NO_OPTION, Pattern, compile};
use super::statements::Kind;
use super::targets::{denial, denied_target};
use lists::listed;
use words::worded;
pub(super) use words::{letter_in_brackets, several_texts};

mod lists;
mod words;

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

/// What a text names, by which rule, and where in the text it says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Read {
    pub choice: Choice,
    pub rule: Rule,
    /// Start and end in the text that was read; `None` for the whole of it.
    pub at: Option<(usize, usize)>,
}

impl Read {
    pub(super) fn by(choice: Choice, rule: Rule) -> Read {
        Read {
            choice,
            rule,
            at: None,
        }
    }

    fn letter(letter: char, rule: Rule) -> Read {
        Read::by(Choice::Letter(letter), rule)
    }

    pub(super) fn nothing() -> Read {
        Read::by(Choice::Nothing, Rule::NamesNothing)
    }
}

/// Reads the value of the answer field.
pub(super) fn read_value(value: &Value, options: &Options<'_>, notes: &mut Vec<String>) -> Read {
    match value {
        Value::String(text) => read_text(text, options, notes),
        Value::Null => {
            notes.push("the answer field is null".into());
            Read::by(Choice::Nothing, Rule::EmptyAnswer)
        }
        Value::Bool(flag) => {
            notes.push("the answer is true or false instead of a letter".into());
            let words = if *flag {
                ["true", "yes"]
            } else {
                ["false", "no"]
            };
            let letter = words.iter().find_map(|word| options.by_text(word));
            letter.map_or_else(Read::nothing, |letter| {
                Read::letter(letter, Rule::OptionWord)
            })
        }
        Value::Number(number) => {
            notes.push("the answer is a number instead of a letter".into());
            let letter = options.by_text(&number.to_string());
            letter.map_or_else(Read::nothing, |letter| {
                Read::letter(letter, Rule::OptionText)
            })
        }
        Value::Array(items) => read_items(items, options, notes),
        Value::Object(map) => read_object(map, options, notes),
    }
}

/// `{"letter": "B", "text": …}`, `{"B": "text"}` or `{"A": false, "B": true}`.
fn read_object(map: &Map<String, Value>, options: &Options<'_>, notes: &mut Vec<String>) -> Read {
    notes.push("the answer is an object instead of a letter".into());
    let named = [
        "letter",
        "option",
        "choice",
        "answer",
        "answer_choice",
        "id",
        "key",
        "label",
        "value",
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

fn read_items(items: &[Value], options: &Options<'_>, notes: &mut Vec<String>) -> Read {
    notes.push("the answer is a list instead of a letter".into());
    if let [Value::Object(map)] = items {
        return read_object(map, options, notes);
    }
    let flat = items.iter().flat_map(|item| match item {
        Value::Array(inner) => inner.as_slice(),
        other => std::slice::from_ref(other),
    });
    let mut reads: Vec<Read> = flat
        .take(64)
        .filter(|item| !item.is_array() && !item.is_object())
        .map(|item| read_value(item, options, notes))
        .collect();
    reads.dedup_by_key(|read| read.choice);
    match reads.as_slice() {
        [] => Read::by(Choice::Nothing, Rule::EmptyAnswer),
        [one] => *one,
        // ["B", "Clindamycin"]: both items name the same option.
        many if many.iter().all(|read| read.choice == many[0].choice) => many[0],
        many if many
            .iter()
            .any(|read| matches!(read.choice, Choice::Letter(_) | Choice::Several)) =>
        {
            Read::by(Choice::Several, Rule::SeveralNamed)
        }
        _ => Read::nothing(),
    }
}

/// Words that introduce an answer.
static LEAD: Pattern = Pattern::new(|| {
    compile(
        r"(?ix)^(?:
        (?:(?:so|therefore|thus|hence|finally),?\s+)?(?:(?:the|my|our)\s+)?
          (?:(?:single\s+)?(?:correct|right|best|final|chosen|selected|closest|most\s+likely|most\s+appropriate|most\s+accurate|most\s+suitable)\s+)*
          (?:answer|option|choice|letter|alternative|response|selection|ans)s?(?:[\s_]+(?:choice|option|letter|number))?\b\s*
          (?:(?:is|are|would\s+be|should\s+be|must\s+be)\b|['\u{2019}]s\b)?\s*[:=\-\u{2013}.\#]?\s*
        | (?:most\s+likely|probably|likely|definitely|clearly|certainly|only|just|i\s+(?:think|believe|choose|pick|select|would\s+say|go\s+with|would\s+go\s+with))\b\s*:?\s+
        | [:=\->\u{2192}\u{21d2}\u{2022}]+\s*[(\[]?\b
        | \d{1,2}[.)]\s+[(\[]?\b
        | (?:(?:die\s+)?(?:richtige\s+)?antwort|(?:la\s+)?respuesta(?:\s+correcta)?|opci[o\u{f3}]n|(?:la\s+)?(?:bonne\s+)?r[e\u{e9}]ponse|(?:la\s+)?risposta|opzione|(?:a\s+)?resposta|op\u{e7}[a\u{e3}]o|lettre|letra|buchstabe)
          \s*(?:ist|lautet|es|est|\u{e8}|\u{e9})?\s*:?\s+
        | (?:\u{7b54}\u{6848}|\u{9009}\u{9879}|\u{9078}\u{9805}|\u{9009}\u{62e9}|\u{9009}|\u{6b63}\u{89e3})\s*(?:\u{662f}|\u{4e3a}|\u{70ba}|\u{306f})?\s*:?\s*
        )",
    )
});

/// Says that what was named is not the answer.
static DISMISSED: Pattern = Pattern::new(|| {
    compile(
        r"(?i)\b(?:not|ruled\s+out|excluded|eliminated|discarded|wrong|incorrect|false|are\s+out)\b|n['\u{2019}]t\b",
    )
});

/// Longest text, in bytes, that is taken for an answer rather than for prose.
pub(super) const MAX_ANSWER: usize = 2000;

/// Reads a short text that should be an answer.
pub(super) fn read_text(text: &str, options: &Options<'_>, notes: &mut Vec<String>) -> Read {
    if text.len() > MAX_ANSWER {
        notes.push("the answer field holds a long text".into());
        return super::prose::commitment(text, options, notes).unwrap_or_else(Read::nothing);
    }
    let mut bytes = text.bytes();
    if let (Some(letter @ b'A'..=b'Z'), None) = (bytes.next(), bytes.next())
        && options.offers(char::from(letter))
    {
        return Read::letter(char::from(letter), Rule::OneLetter);
    }
    read_short(text, options, notes, MAX_LEADS)
}

/// How often introducing words are taken off.
const MAX_LEADS: usize = 3;

/// `leads` bounds how often introducing words are taken off.
fn read_short(text: &str, options: &Options<'_>, notes: &mut Vec<String>, leads: usize) -> Read {
    let bare = unwrap(text);
    if bare.is_empty() {
        notes.push("the answer is empty".into());
        return Read::by(Choice::Nothing, Rule::EmptyAnswer);
    }
    let mut letters = bare.chars();
    if let (Some(letter), None) = (letters.next(), letters.next())
        && letter.is_ascii_alphabetic()
    {
        return single(letter, text, &bare, options, notes);
    }
    if let Some(letter) = options.by_text(&bare) {
        notes.push("the option's text instead of its letter".into());
        return Read::letter(letter, Rule::OptionText);
    }
    if options.share_text(&bare) {
        notes.push("the text is that of several options".into());
        return Read::by(Choice::Several, Rule::SeveralNamed);
    }
    // "The answer is B?" asks; "B?" is all that is said.
    let nothing_else = leads == MAX_LEADS;
    let read = nothing_else
        .then(|| asked(&bare, text, options, notes))
        .flatten();
    if let Some(read) = read.or_else(|| denied(&bare, options, notes)) {
        return read;
    }
    if let Some(lead) = LEAD.get().and_then(|regex| regex.find(&bare))
        && (1..bare.len()).contains(&lead.end())
        && leads > 0
    {
        let mut own = Vec::new();
        let read = read_short(&bare[lead.end()..], options, &mut own, leads - 1);
        // "-5 mg" is not "5 mg": signs, and the number of an item, may only stand before a letter.
        let only_signs = !lead.as_str().contains(char::is_alphabetic);
        let by_letter = matches!(
            read.rule,
            Rule::OneLetter | Rule::LetterWithText | Rule::LetterNotOffered | Rule::SeveralNamed
        );
        if read.choice != Choice::Nothing && (by_letter || !only_signs) {
            notes.push("words before the letter".into());
            notes.append(&mut own);
            return Read { at: None, ..read };
        }
    }
    if NO_OPTION.is_match(&bare) {
        notes.push("none of the options".into());
        return Read::by(Choice::NotOffered, Rule::NoneOfThem);
    }
    nothing_else
        .then(|| labelled(&bare, options, notes))
        .flatten()
        .or_else(|| listed(&bare, options, notes))
        .or_else(|| abbreviated(&bare, options, notes))
        .or_else(|| letter_with_text(&bare, options, notes))
        .or_else(|| worded(&bare, options, notes))
        .or_else(|| {
            let read = super::prose::commitment(&bare, options, notes)?;
            Some(Read { at: None, ..read })
        })
        .unwrap_or_else(|| {
            notes.push("the answer names none of the options".into());
            Read::nothing()
        })
}

/// "A: C" and nothing else: the label of an answer, as beside "Q:", and not option A; where that option's text is the
/// letter, it may be either.
fn labelled(bare: &str, options: &Options<'_>, notes: &mut Vec<String>) -> Option<Read> {
    let said = unwrap(bare.strip_prefix('A')?.trim_start().strip_prefix(':')?);
    let mut letters = said.chars();
    let letter = letters.next().filter(char::is_ascii_uppercase)?;
    if letters.next().is_some() || letter == 'A' || !options.offers(letter) {
        return None;
    }
    if options.by_text(&said).is_some() {
        return None;
    }
    notes.push("\"A:\" is taken for the label of the answer".into());
    Some(Read::letter(letter, Rule::OneLetter))
}

/// "B?": a letter, or the text of an option, with nothing but a question mark. It is all that is said, so
/// it counts; a sentence that asks does not.
fn asked(bare: &str, text: &str, options: &Options<'_>, notes: &mut Vec<String>) -> Option<Read> {
    let said = unwrap(bare.strip_suffix('?')?.trim_end_matches('?'));
    let mut letters = said.chars();
    let read = match (letters.next(), letters.next()) {
        (Some(letter), None) if letter.is_ascii_alphabetic() => {
            single(letter, text, &said, options, &mut Vec::new())
        }
        _ => Read::letter(options.by_text(&said)?, Rule::OptionText),
    };
    notes.push("a question mark after the answer".into());
    Some(read)
}

/// "Not A, but B", and "neither A nor B" where nothing else is offered.
fn denied(bare: &str, options: &Options<'_>, notes: &mut Vec<String>) -> Option<Read> {
    if bare.len() > 200 {
        return None;
    }
    if let Some(rejected) = NEITHER.get().and_then(|regex| regex.captures(bare)) {
        let letters = rejected.iter().skip(1).flatten();
        let letters: String = letters.map(|found| found.as_str()).collect();
        if !options.all().all(|letter| letters.contains(letter)) {
            return None;
        }
        notes.push("none of the options".into());
        return Some(Read::by(Choice::NotOffered, Rule::NoneOfThem));
    }
    let rest = denial(bare, false)?;
    match denied_target(rest, options)? {
        (Kind::Strong(choice @ Choice::Letter(_)), _) => {
            notes.push("another letter is denied before the answer".into());
            Some(Read::by(choice, Rule::Sentence))
        }
        _ => None,
    }
}

/// "Neither A nor B."
static NEITHER: Pattern = Pattern::new(|| {
    compile(
        r"^(?i:neither)\s+(?:(?i:option)\s+)?([A-Z])(?:\s*,\s*([A-Z]))?(?:\s*,\s*([A-Z]))?,?\s+(?i:nor)\s+(?:(?i:option)\s+)?([A-Z])\b",
    )
});

fn single(
    letter: char,
    text: &str,
    bare: &str,
    options: &Options<'_>,
    notes: &mut Vec<String>,
) -> Read {
    let upper = letter.to_ascii_uppercase();
    if options.offers(upper) {
        if upper != letter {
            notes.push("the letter is in lower case".into());
        } else if text.trim().len() > 1 {
            notes.push("signs around the letter".into());
        }
        return Read::letter(upper, Rule::OneLetter);
    }
    if let Some(by_text) = options.by_text(bare) {
        notes.push("the option's text instead of its letter".into());
        return Read::letter(by_text, Rule::OptionText);
    }
    notes.push(format!("{upper} is not offered"));
    Read::by(Choice::NotOffered, Rule::LetterNotOffered)
}

/// An initial with a full stop before a word in lower case.
static INITIAL: Pattern = Pattern::new(|| compile(r"^([A-Z])\. ?([a-z][a-z-]{2,})\b"));

/// "C. difficile colitis" where one option is "Clostridioides difficile infection": no letter C.
fn abbreviated(bare: &str, options: &Options<'_>, notes: &mut Vec<String>) -> Option<Read> {
    let found = INITIAL.get()?.captures(bare)?;
    let initial = found.get(1)?.as_str().chars().next()?;
    let letter = options.abbreviated(initial, found.get(2)?.as_str())?;
    notes.push(format!("{initial}. abbreviates a word of option {letter}"));
    Some(Read::letter(letter, Rule::OptionText))
}

/// "B. text", "B) text", "B: text", and "B text" where the text is that option's.
fn letter_with_text(bare: &str, options: &Options<'_>, notes: &mut Vec<String>) -> Option<Read> {
    let (letter, rest) = match leading_letter(bare) {
        Some((letter, rest)) => (letter.to_ascii_uppercase(), rest),
        None => {
            let letter = bare.chars().next().filter(char::is_ascii_uppercase)?;
            let rest = bare[1..].strip_prefix(' ')?.trim();
            let fits = options.continues(letter, rest) || explains_a_letter(rest);
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
        return Some(Read::by(Choice::Insufficient, Rule::InsufficientPhrase));
    }
    if !options.offers(letter) {
        notes.push(format!("{letter} is not offered"));
        return Some(Read::by(Choice::NotOffered, Rule::LetterNotOffered));
    }
    if options.by_text(rest) == Some(letter) {
        notes.push("the letter with the option's text".into());
        return Some(Read::letter(letter, Rule::LetterWithText));
    }
    let more = names_more(letter, rest, options) || names_more(letter, &bare[1..], options);
    if more && DISMISSED.is_match(own_sentence(letter, &bare[1..], options)) {
        // "A, B and D can be ruled out" names what is not the answer.
        return None;
    }
    if more || is_another_letter(letter, rest, options) {
        notes.push("several options with their texts".into());
        return Some(Read::by(Choice::Several, Rule::SeveralNamed));
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
    Some(Read::letter(letter, Rule::LetterWithText))
}

/// Whether all that follows a letter is another one: "B (C)".
fn is_another_letter(letter: char, rest: &str, options: &Options<'_>) -> bool {
    let bare = unwrap(rest);
    let mut chars = bare.chars();
    matches!((chars.next(), chars.next()), (Some(c), None) if c.is_ascii_uppercase() && c != letter && options.offers(c))
}

#[cfg(test)]
#[path = "choice_tests.rs"]
mod tests;
