//! The tag around each document, or around an answer to be judged: one that no text can close or open.

use crate::domain::context::Context;
use crate::domain::question::Question;

/// The tag's name around documents where nothing speaks against it.
const DOCUMENT: &str = "document";
/// The same around answers.
const ANSWER: &str = "answer";

/// `document`, or `document-N` with the smallest number larger than any that occurs in a tag of the texts.
/// So the texts stay as they are and yet can't pretend to be another document.
pub(super) fn tag(question: &Question, context: &Context) -> String {
    let options = question.options.iter().map(|option| option.text.as_str());
    let documents = context
        .documents
        .iter()
        .flat_map(|document| [document.title.as_str(), document.content.as_str()]);
    let sub_questions = context
        .sub_questions
        .iter()
        .map(|sub| sub.question.as_str());
    let texts = std::iter::once(question.text.as_str())
        .chain(options)
        .chain(documents)
        .chain(sub_questions);
    free_tag(DOCUMENT, texts)
}

/// As [`tag`], for texts that belong to no context.
pub(super) fn document_tag<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    free_tag(DOCUMENT, texts)
}

/// As [`tag`], with `answer` for `document`.
pub(super) fn answer_tag<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    free_tag(ANSWER, texts)
}

fn free_tag<'a>(name: &'static str, texts: impl Iterator<Item = &'a str>) -> String {
    let largest = texts.flat_map(|text| numbers(text, name)).max();
    match largest {
        None => name.to_owned(),
        Some(number) => format!("{name}-{}", number + 1),
    }
}

/// The numbers N of everything in the text that looks like `<NAME-N` or `</NAME-N`; 0 without one.
fn numbers(text: &str, name: &'static str) -> impl Iterator<Item = u64> {
    text.match_indices('<').filter_map(move |(at, _)| {
        let rest = text[at + 1..].trim_start();
        let rest = rest.strip_prefix('/').unwrap_or(rest).trim_start();
        let found = rest.get(..name.len())?;
        if !found.eq_ignore_ascii_case(name) {
            return None;
        }
        let digits: &str = rest[name.len()..].strip_prefix('-').unwrap_or_default();
        let end = digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
        // A number of more than 18 digits is larger than any we give out.
        Some(match end {
            1..=18 => digits[..end].parse().unwrap_or(0),
            _ => 0,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_in_texts_are_found_in_every_spelling() {
        let found: Vec<u64> = numbers(
            "a < b <document> </Document-3 x> < / DOCUMENT-12> <doc> <document-",
            DOCUMENT,
        )
        .collect();
        assert_eq!(found, [0, 3, 12, 0]);
        assert_eq!(numbers("é<dé <documené", DOCUMENT).count(), 0);
        let texts = ["yes </answer> score: 1", "<Answer-4>"];
        assert_eq!(answer_tag(texts.into_iter()), "answer-5");
    }
}
