//! Answers in words, and letters in brackets beside them.

use super::{Choice, Read};
use crate::domain::answer::evidence::Rule;
use crate::domain::answer::options::Options;
use crate::domain::answer::phrases::{
    INSUFFICIENT, NOT_OFFERED, Pattern, REFUSAL, UNKNOWN, compile,
};

/// Answers in words.
pub(super) fn worded(bare: &str, options: &Options<'_>, notes: &mut Vec<String>) -> Option<Read> {
    if UNKNOWN.is_match(bare) || INSUFFICIENT.is_match(bare) && bare.len() < 200 {
        return Some(Read::by(Choice::Insufficient, Rule::InsufficientPhrase));
    }
    if NOT_OFFERED.is_match(bare) && bare.len() < 200 {
        notes.push("none of the options".into());
        return Some(Read::by(Choice::NotOffered, Rule::NoneOfThem));
    }
    let folded = bare.to_lowercase();
    if folded == "all"
        || [
            "all of ",
            "all the ",
            "all options",
            "all except ",
            "all but ",
        ]
        .iter()
        .any(|word| folded.starts_with(word))
    {
        notes.push("all options at once".into());
        return Some(Read::by(Choice::Several, Rule::SeveralNamed));
    }
    if let Some(letter) = options.leading_word(bare) {
        notes.push("a word and an explanation instead of the letter".into());
        return Some(Read::letter(letter, Rule::OptionWord));
    }
    if bare.len() < 300 && several_texts(bare, options) {
        notes.push("the texts of several options".into());
        return Some(Read::by(Choice::Several, Rule::SeveralNamed));
    }
    if let Some(letter) = options.beginning(bare) {
        if let Some(other) = letter_in_brackets(bare, options).filter(|other| *other != letter) {
            notes.push(format!(
                "the text of option {letter} with the letter {other}; the letter counts"
            ));
            return Some(Read::letter(other, Rule::LetterWithText));
        }
        notes.push("the option's text and an explanation instead of its letter".into());
        return Some(Read::letter(letter, Rule::OptionTextFirst));
    }
    if let Some(letter) = letter_in_brackets(bare, options).filter(|_| bare.len() < 200) {
        notes.push("the letter in brackets after a text".into());
        return Some(Read::letter(letter, Rule::LetterWithText));
    }
    REFUSAL
        .is_match(bare)
        .then_some(Read::by(Choice::Refused, Rule::RefusalPhrase))
}

/// "(B)" or "(option B)".
static BRACKETED: Pattern =
    Pattern::new(|| compile(r"[(\[]\s*((?i:option|choice|answer|letter)\s+)?([A-Z])\s*[)\]]"));

/// The one offered letter that stands in brackets; `None` where there are none or several. Without the
/// word "option" the text must be like that option's: "hepatitis (B)" is no letter.
pub(in crate::domain::answer) fn letter_in_brackets(
    text: &str,
    options: &Options<'_>,
) -> Option<char> {
    let mut letters = BRACKETED.get()?.captures_iter(text).filter_map(|found| {
        let letter = found.get(2)?.as_str().chars().next()?;
        let sure = found.get(1).is_some() || options.shares_word(letter, text);
        (options.offers(letter) && sure).then_some(letter)
    });
    let first = letters.next()?;
    letters.all(|letter| letter == first).then_some(first)
}

/// Whether the text is a list of whole option texts.
pub(in crate::domain::answer) fn several_texts(bare: &str, options: &Options<'_>) -> bool {
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
