//! Whether the documents that a reply cites contain what the reply takes from them.

use serde::Serialize;

use crate::domain::answer::{ParsedReply, SubAnswer};
use crate::domain::context::Context;
use crate::domain::mention::{Searchable, is_telling};
use crate::domain::probe::found::{Found, Texts};
use crate::domain::probe::trace::is_partial;

/// Shortest quotation, in words, that is looked up: single quoted words are terms, not quotations.
const QUOTED_WORDS: usize = 3;

/// How a cited document and a span go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Support {
    /// The cited document contains the span, as a whole or all its words in parts.
    Supported,
    /// The cited document contains part of it; at least half of it stands in the documents.
    Partly,
    /// Another document contains it, or the documents at least half of it, and the cited one has none of that.
    Elsewhere,
    /// A document contains it, or the documents at least half of it, and none of them was cited.
    NotCited,
    /// Neither does a document contain it, nor do all of them together contain half of it.
    Nowhere,
    /// There is nothing to look for: no answer, or one such as "yes" that stands everywhere.
    Uncheckable,
}

impl Support {
    /// All of them.
    pub const ALL: [Support; 6] = [
        Support::Supported,
        Support::Partly,
        Support::Elsewhere,
        Support::NotCited,
        Support::Nowhere,
        Support::Uncheckable,
    ];
}

/// The citation of one sub-answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Citation {
    /// The sub-question.
    pub question: String,
    /// Label of the document that the sub-question is about.
    pub expected: String,
    /// The given answer.
    pub answer: Option<String>,
    /// Label of the document that the reply named, if it is one of the context.
    pub cited: Option<String>,
    /// What the reply called the document, where it is none of the context.
    pub unknown_name: Option<String>,
    /// Whether the reply calls the document wrong, so that its answer need not stand in it.
    pub called_wrong: Option<bool>,
    /// Where the answer stands.
    #[serde(flatten)]
    pub found: Found,
    /// How they go together.
    pub support: Support,
}

/// A quotation in the reasoning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Quote {
    /// The quoted words.
    pub text: String,
    /// Labels named in the same sentence.
    pub cited: Vec<String>,
    /// Where the words stand.
    #[serde(flatten)]
    pub found: Found,
    /// How they go together.
    pub support: Support,
}

/// The audit of a reply's citations.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Citations {
    /// One per sub-question asked.
    pub sub_answers: Vec<Citation>,
    /// Quotations of three words or more in the reasoning.
    pub quotes: Vec<Quote>,
    /// The reply broke off or was cut off, so that nothing can be said of what was to follow.
    pub partial: bool,
}

impl Citations {
    /// How many of all spans have this support.
    pub fn count(&self, support: Support) -> usize {
        let subs = self.sub_answers.iter().map(|one| one.support);
        let quotes = self.quotes.iter().map(|one| one.support);
        subs.chain(quotes).filter(|one| *one == support).count()
    }

    /// How many spans are cited from a document of the context that has none of them. A document that the reply
    /// calls wrong need not have its answer.
    pub fn miscited(&self) -> usize {
        let subs = self
            .sub_answers
            .iter()
            .filter(|one| one.called_wrong != Some(true))
            .map(|one| (one.support, one.cited.as_slice(), &one.found));
        let quotes = self
            .quotes
            .iter()
            .map(|one| (one.support, one.cited.as_slice(), &one.found));
        subs.chain(quotes)
            .filter(|(support, cited, found)| {
                let none_there = !cited.is_empty() && found.most_of(cited) == 0;
                none_there && matches!(support, Support::Elsewhere | Support::Nowhere)
            })
            .count()
    }
}

/// Audits the citations of a reply in its context.
pub fn citations(context: &Context, reply: &ParsedReply) -> Citations {
    let texts = Texts::new(context);
    let sub_answers = context.sub_questions.iter().enumerate().map(|(at, sub)| {
        let given = reply.subs.get(at).and_then(Option::as_ref);
        let answer = given.and_then(|given| given.answer.clone());
        let cited = given.and_then(|given| label_of(context, given));
        let sought = answer.as_deref().filter(|answer| is_telling(answer));
        let found = sought.map_or_else(Found::default, |answer| texts.find(answer));
        Citation {
            question: sub.question.clone(),
            expected: sub.label.clone(),
            support: support(sought.is_some(), cited.as_slice(), &found),
            unknown_name: given
                .filter(|given| given.document.is_none())
                .and_then(|given| given.document_raw.clone()),
            called_wrong: given.and_then(|given| Some(!given.factual?)),
            answer,
            cited,
            found,
        }
    });
    let sub_answers = sub_answers.collect();
    let reasoning = reply.reasoning.as_deref().unwrap_or_default();
    let quotes = quotes(reasoning)
        .map(|(sentence, text)| {
            let cited = labels_in(sentence, context);
            let found = texts.find(text);
            Quote {
                text: text.to_owned(),
                support: support(true, &cited, &found),
                cited,
                found,
            }
        })
        .collect();
    Citations {
        sub_answers,
        quotes,
        partial: is_partial(reply),
    }
}

fn label_of(context: &Context, given: &SubAnswer) -> Option<String> {
    let document = context.documents.get(given.document?)?;
    Some(document.label.clone())
}

fn support(checkable: bool, cited: &[String], found: &Found) -> Support {
    if !checkable {
        return Support::Uncheckable;
    }
    let cites = |label: &String| cited.contains(label);
    if found.contained_in.iter().any(cites) {
        return Support::Supported;
    }
    let whole = !found.contained_in.is_empty();
    if !whole && (found.words == 0 || found.words_found * 2 < found.words) {
        return Support::Nowhere;
    }
    match (cited.is_empty(), found.most_of(cited)) {
        (true, _) => Support::NotCited,
        (false, words) if !whole && words == found.words => Support::Supported,
        (false, words) if !whole && words > 0 => Support::Partly,
        (false, _) => Support::Elsewhere,
    }
}

/// Labels of the context that a sentence names as whole words.
fn labels_in(sentence: &str, context: &Context) -> Vec<String> {
    let text = Searchable::new(sentence);
    context
        .documents
        .iter()
        .filter(|document| text.mentions(&Searchable::new(&document.label)))
        .map(|document| document.label.clone())
        .collect()
}

/// Quotations of three words or more, each with the sentence it stands in.
fn quotes(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = [('"', '"'), ('\u{201c}', '\u{201d}'), ('\u{ab}', '\u{bb}')];
    pairs.into_iter().flat_map(move |(open, close)| {
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(start) = text[from..]
            .find(open)
            .map(|at| from + at + open.len_utf8())
        {
            let Some(end) = text[start..].find(close).map(|at| start + at) else {
                break;
            };
            let quoted = text[start..end].trim();
            if quoted.split_whitespace().count() >= QUOTED_WORDS {
                found.push((sentence_around(text, start, end), quoted));
            }
            from = end + close.len_utf8();
        }
        found
    })
}

/// From the last sentence end before a span to the first one behind it.
fn sentence_around(text: &str, start: usize, end: usize) -> &str {
    let ends = |before: &str| {
        let mut at = before.rmatch_indices([' ', '\n']);
        at.find(|(at, _)| before[..*at].ends_with(['.', '!', '?', '\n']))
            .map_or(0, |(at, space)| at + space.len())
    };
    let begin = ends(&text[..start]);
    let rest = &text[end..];
    let stop = rest
        .match_indices(['.', '!', '?', '\n'])
        .find(|(at, sign)| {
            let behind = &rest[at + sign.len()..];
            behind.is_empty() || behind.starts_with(char::is_whitespace)
        })
        .map_or(text.len(), |(at, sign)| end + at + sign.len());
    &text[begin..stop]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::domain::probe::found::Share;

    #[test]
    fn quotations_come_with_their_sentence() {
        let text = "First things. DOC_1 says \"the dose is 15 mg\" clearly. \u{201c}One two three\u{201d}? A \"term\" alone. \"not closed at all";
        let found: Vec<_> = quotes(text).collect();
        assert_eq!(
            found,
            [
                (
                    "DOC_1 says \"the dose is 15 mg\" clearly.",
                    "the dose is 15 mg"
                ),
                ("\u{201c}One two three\u{201d}?", "One two three"),
            ]
        );
    }

    #[test]
    fn support_is_what_cited_and_containing_documents_say() {
        let labels = |all: &[&str]| -> Vec<String> { all.iter().map(|&one| one.into()).collect() };
        let found = |whole: &[&str], parts: &[(&str, usize)], words_found| Found {
            words: 10,
            words_found,
            contained_in: labels(whole),
            parts: parts
                .iter()
                .map(|&(label, words)| Share {
                    label: label.into(),
                    words,
                })
                .collect(),
        };
        let both = found(&["DOC_1", "DOC_2"], &[], 10);
        for (cited, found, expected) in [
            (&["DOC_2"][..], both.clone(), Support::Supported),
            (&["DOC_3"], both.clone(), Support::Elsewhere),
            (&[], both.clone(), Support::NotCited),
            (&["DOC_3"], found(&[], &[], 0), Support::Nowhere),
            // Part of it, in the cited document and elsewhere.
            (
                &["DOC_1"],
                found(&[], &[("DOC_1", 10)], 10),
                Support::Supported,
            ),
            (&["DOC_1"], found(&[], &[("DOC_1", 5)], 5), Support::Partly),
            (&["DOC_1"], found(&[], &[("DOC_1", 4)], 4), Support::Nowhere),
            (
                &["DOC_1"],
                found(&[], &[("DOC_2", 6), ("DOC_1", 4)], 10),
                Support::Partly,
            ),
            (
                &["DOC_3"],
                found(&[], &[("DOC_2", 6)], 6),
                Support::Elsewhere,
            ),
            (&[], found(&[], &[("DOC_2", 6)], 6), Support::NotCited),
            (
                &["DOC_1"],
                found(&["DOC_2"], &[("DOC_1", 9)], 10),
                Support::Elsewhere,
            ),
        ] {
            let cited = labels(cited);
            assert_eq!(
                support(true, &cited, &found),
                expected,
                "{cited:?} {found:?}"
            );
        }
        assert_eq!(
            support(false, &labels(&["DOC_1"]), &both),
            Support::Uncheckable
        );
    }
}
