//! Whether the documents that a reply cites contain what the reply takes from them.

use serde::Serialize;

use crate::domain::answer::{ParsedReply, SubAnswer};
use crate::domain::context::Context;
use crate::domain::mention::{Searchable, is_telling};

/// Shortest quotation, in words, that is looked up: single quoted words are terms, not quotations.
const QUOTED_WORDS: usize = 3;

/// How a cited document and a span go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Support {
    /// The cited document contains the span.
    Supported,
    /// Another document contains it, not the cited one.
    Elsewhere,
    /// A document contains it, and none was cited.
    NotCited,
    /// No document contains it.
    Nowhere,
    /// There is nothing to look for: no answer, or one such as "yes" that stands everywhere.
    Uncheckable,
}

impl Support {
    /// In a few words.
    pub fn describe(self) -> &'static str {
        match self {
            Support::Supported => "the cited document contains it",
            Support::Elsewhere => "another document contains it, not the cited one",
            Support::NotCited => "documents contain it, none was cited",
            Support::Nowhere => "no document contains it",
            Support::Uncheckable => "nothing that could be looked up",
        }
    }
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
    /// Labels of all documents that contain the answer.
    pub contained_in: Vec<String>,
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
    /// Labels of all documents that contain the words.
    pub contained_in: Vec<String>,
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
}

impl Citations {
    /// How many of all spans have this support.
    pub fn count(&self, support: Support) -> usize {
        let subs = self.sub_answers.iter().map(|one| one.support);
        let quotes = self.quotes.iter().map(|one| one.support);
        subs.chain(quotes).filter(|one| *one == support).count()
    }

    /// The finding in one sentence.
    pub fn sentence(&self) -> String {
        let checked = self.sub_answers.len() + self.quotes.len() - self.count(Support::Uncheckable);
        match checked {
            0 => "The reply gives nothing whose source could be checked.".into(),
            _ => format!(
                "Of {checked} checked spans {} stand in the cited document, {} elsewhere, {} without a citation, {} nowhere.",
                self.count(Support::Supported),
                self.count(Support::Elsewhere),
                self.count(Support::NotCited),
                self.count(Support::Nowhere)
            ),
        }
    }
}

/// Audits the citations of a reply in its context.
pub fn citations(context: &Context, reply: &ParsedReply) -> Citations {
    let texts: Vec<(&str, Searchable)> = context
        .documents
        .iter()
        .map(|document| {
            let text = format!("{}\n{}", document.title, document.content);
            (document.label.as_str(), Searchable::new(&text))
        })
        .collect();
    let containing = |span: &str| -> Vec<String> {
        let span = Searchable::new(span.trim().trim_end_matches('.'));
        texts
            .iter()
            .filter(|(_, text)| text.mentions(&span))
            .map(|(label, _)| (*label).to_owned())
            .collect()
    };
    let sub_answers = context.sub_questions.iter().enumerate().map(|(at, sub)| {
        let given = reply.subs.get(at).and_then(Option::as_ref);
        let answer = given.and_then(|given| given.answer.clone());
        let cited = given.and_then(|given| label_of(context, given));
        let contained_in = match answer.as_deref().filter(|answer| is_telling(answer)) {
            Some(answer) => containing(answer),
            None => Vec::new(),
        };
        let checkable = answer.as_deref().is_some_and(is_telling);
        Citation {
            question: sub.question.clone(),
            expected: sub.label.clone(),
            support: support(checkable, cited.as_slice(), &contained_in),
            unknown_name: given
                .filter(|given| given.document.is_none())
                .and_then(|given| given.document_raw.clone()),
            answer,
            cited,
            contained_in,
        }
    });
    let sub_answers = sub_answers.collect();
    let reasoning = reply.reasoning.as_deref().unwrap_or_default();
    let quotes = quotes(reasoning)
        .map(|(sentence, text)| {
            let cited = labels_in(sentence, context);
            let contained_in = containing(text);
            Quote {
                text: text.to_owned(),
                support: support(true, &cited, &contained_in),
                cited,
                contained_in,
            }
        })
        .collect();
    Citations {
        sub_answers,
        quotes,
    }
}

fn label_of(context: &Context, given: &SubAnswer) -> Option<String> {
    let document = context.documents.get(given.document?)?;
    Some(document.label.clone())
}

fn support<S: AsRef<str>>(checkable: bool, cited: &[S], contained_in: &[String]) -> Support {
    let cites = |label: &String| cited.iter().any(|cited| cited.as_ref() == label);
    match (checkable, contained_in.is_empty(), cited.is_empty()) {
        (false, ..) => Support::Uncheckable,
        (true, true, _) => Support::Nowhere,
        (true, false, true) => Support::NotCited,
        (true, false, false) if contained_in.iter().any(cites) => Support::Supported,
        (true, false, false) => Support::Elsewhere,
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
        let none: [&str; 0] = [];
        let both = ["DOC_1".to_owned(), "DOC_2".to_owned()];
        assert_eq!(support(true, &["DOC_2"], &both), Support::Supported);
        assert_eq!(support(true, &["DOC_3"], &both), Support::Elsewhere);
        assert_eq!(support(true, &none, &both), Support::NotCited);
        assert_eq!(support(true, &["DOC_3"], &[]), Support::Nowhere);
        assert_eq!(support(false, &["DOC_1"], &both), Support::Uncheckable);
    }
}
