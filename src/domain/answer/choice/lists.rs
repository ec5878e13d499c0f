//! Answers that are nothing but letters.

use super::{Choice, Read};
use crate::domain::answer::evidence::Rule;
use crate::domain::answer::options::Options;
use crate::domain::answer::phrases::{Pattern, compile};

/// "B-D", "A to C".
static LETTER_RANGE: Pattern = Pattern::new(|| {
    compile(r"^([A-Za-z])\s*(?:-|\u{2013}|\u{2014}|~|\bto\b|\bthrough\b)\s*([A-Za-z])$")
});

/// Only letters, joined by separators: "A/B", "B, D", "A and C", "ABD", "B-D".
pub(super) fn listed(bare: &str, options: &Options<'_>, notes: &mut Vec<String>) -> Option<Read> {
    if bare.len() > 60 {
        return None;
    }
    let range = LETTER_RANGE.get().and_then(|regex| regex.captures(bare));
    let mut letters: Vec<char> = match range {
        Some(ends) => ends
            .iter()
            .skip(1)
            .filter_map(|end| Some(end?.as_str().chars().next()?.to_ascii_uppercase()))
            .collect(),
        None => joined_letters(bare).or_else(|| run_together(bare, options))?,
    };
    letters.sort_unstable();
    letters.dedup();
    match letters.as_slice() {
        [] => None,
        [one] if options.offers(*one) => {
            notes.push("signs around the letter".into());
            Some(Read::letter(*one, Rule::OneLetter))
        }
        [one] => {
            notes.push(format!("{one} is not offered"));
            Some(Read::by(Choice::NotOffered, Rule::LetterNotOffered))
        }
        many => {
            let named: Vec<String> = many.iter().map(char::to_string).collect();
            notes.push(format!("several options: {}", named.join(", ")));
            Some(Read::by(Choice::Several, Rule::SeveralNamed))
        }
    }
}

/// The letters of a text that holds nothing else but signs and joining words.
fn joined_letters(bare: &str) -> Option<Vec<char>> {
    let inner = bare.as_bytes().windows(3);
    let mut apostrophes = inner.filter(|of| of[1] == b'\'' && of[0] != b' ' && of[2] == b's');
    if apostrophes.next().is_some() {
        // "A's" names no option S.
        return None;
    }
    let mut letters = Vec::new();
    for part in
        bare.split(|c: char| c.is_whitespace() || "/,;&+|.()[]\"'\u{3001}\u{ff0c}".contains(c))
    {
        match part.to_lowercase().as_str() {
            "" | "and" | "or" | "both" | "either" | "option" | "options" | "und" | "oder" | "y"
            | "et" | "ou" => continue,
            _ => {}
        }
        let mut chars = part.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) if c.is_ascii_alphabetic() => letters.push(c.to_ascii_uppercase()),
            _ => return None,
        }
    }
    Some(letters)
}

/// "ABD": offered capital letters without separators, each once, in order.
fn run_together(bare: &str, options: &Options<'_>) -> Option<Vec<char>> {
    let letters: Vec<char> = bare.chars().collect();
    let ordered = letters.windows(2).all(|pair| pair[0] < pair[1]);
    (letters.len() > 1 && ordered && letters.iter().all(|&c| options.offers(c))).then_some(letters)
}
