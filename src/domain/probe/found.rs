//! Where a span of a reply stands in the documents shown: as a whole, or in parts.

use std::collections::HashSet;

use serde::Serialize;

use crate::domain::context::Context;
use crate::domain::mention::{Placed, Searchable};
use crate::domain::probe::trace::RUN;

/// How many words of a span stand in a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Label of the document.
    pub label: String,
    /// Words that lie in runs of three or more which the document has too.
    pub words: usize,
}

/// Where a span stands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Found {
    /// Words of the span.
    pub words: usize,
    /// Labels of the documents that contain it as a whole.
    pub contained_in: Vec<String>,
    /// Words that lie in runs of three or more which any document has too.
    pub words_found: usize,
    /// Documents that contain such runs but not the whole, the most words first.
    pub parts: Vec<Share>,
}

impl Found {
    /// The most words that one of these documents has.
    pub fn most_of(&self, labels: &[String]) -> usize {
        if self.contained_in.iter().any(|label| labels.contains(label)) {
            return self.words;
        }
        let shares = self.parts.iter();
        let cited = shares.filter(|share| labels.contains(&share.label));
        cited.map(|share| share.words).max().unwrap_or(0)
    }
}

/// The documents of a context, ready to be searched.
pub(super) struct Texts<'a> {
    documents: Vec<(&'a str, Searchable, Vec<Placed>)>,
}

impl<'a> Texts<'a> {
    pub(super) fn new(context: &'a Context) -> Texts<'a> {
        let documents = context.documents.iter().map(|document| {
            let text = format!("{}\n{}", document.title, document.content);
            let parts = vec![Placed::new(&document.title), Placed::new(&document.content)];
            (document.label.as_str(), Searchable::new(&text), parts)
        });
        Texts {
            documents: documents.collect(),
        }
    }

    /// Looks a span up. Case, spacing, forms of letters, and signs around words don't count.
    pub(super) fn find(&self, span: &str) -> Found {
        let span = span.trim().trim_end_matches('.');
        let (searched, placed) = (Searchable::new(span), Placed::new(span));
        let runs: HashSet<Vec<&str>> = placed.runs(RUN).collect();
        let mut found = Found {
            words: placed.len(),
            ..Found::default()
        };
        let mut anywhere = vec![false; placed.len()];
        for (label, text, parts) in &self.documents {
            let whole =
                text.mentions(&searched) || parts.iter().any(|part| !part.places(span).is_empty());
            if whole {
                found.contained_in.push((*label).to_owned());
                anywhere.fill(true);
                continue;
            }
            // Those of the span that the document has: its own runs need not all be kept.
            let shared: HashSet<Vec<&str>> = parts
                .iter()
                .flat_map(|part| part.runs(RUN))
                .filter(|run| runs.contains(run))
                .collect();
            let here = placed.in_runs(RUN, |run| shared.contains(run));
            let words = here.iter().filter(|inside| **inside).count();
            if words > 0 {
                found.parts.push(Share {
                    label: (*label).to_owned(),
                    words,
                });
            }
            for (any, inside) in anywhere.iter_mut().zip(here) {
                *any |= inside;
            }
        }
        found.words_found = anywhere.into_iter().filter(|inside| *inside).count();
        found
            .parts
            .sort_by_key(|share| std::cmp::Reverse(share.words));
        found
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use crate::domain::context::{ContextDocument, Mode, Scenario, SourceFilter};
    use crate::domain::passage::Role;
    use proptest::prelude::*;

    fn context(texts: &[String]) -> Context {
        let documents = texts.iter().enumerate().map(|(at, text)| ContextDocument {
            label: format!("DOC_{}", at + 1),
            id: format!("d{at}"),
            role: Role::Signal,
            original_id: None,
            source: None,
            title: String::new(),
            content: text.clone(),
            from_question: None,
        });
        Context {
            question_id: "q".into(),
            scenario: Scenario::Robustness,
            docs_requested: texts.len(),
            docs: texts.len(),
            p_requested: 100.0,
            p: 100.0,
            seed: 0,
            mode: Mode::Nested,
            source: SourceFilter::Any,
            short: false,
            variant: None,
            documents: documents.collect(),
            sub_questions: Vec::new(),
        }
    }

    fn find(texts: &[&str], span: &str) -> Found {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        Texts::new(&context(&texts)).find(span)
    }

    #[test]
    fn a_long_answer_is_found_in_its_parts() {
        let texts = [
            "It is cleared by the kidneys.",
            "Several medicines are hazardous. Among drugs for blood pressure, alpha blockers are dangerous when given as the first and only treatment. Among antiemetics, metoclopramide is notorious for provoking a crisis.",
        ];
        // As a demo model wrote it: a sentence begun in its own way, a sentence copied, one cut off.
        let span = "Alpha blockers are dangerous when given as the first and only treatment. Among drugs for blood pressure, alpha blockers are dangerous when given as the first and only treatment. Among antiemetics, metoclopramide is notorious for provok";
        let found = find(&texts, span);
        assert!(found.contained_in.is_empty());
        assert_eq!((found.words, found.words_found), (36, 35), "{found:?}");
        let share = |label: &str, words| Share {
            label: label.into(),
            words,
        };
        assert_eq!(found.parts, [share("DOC_2", 35)]);
        assert_eq!(found.most_of(&["DOC_2".into()]), 35);
        assert_eq!(found.most_of(&["DOC_1".into()]), 0);
    }

    #[test]
    fn short_spans_are_found_as_a_whole_or_not_at_all() {
        let texts = ["Super Bowl LV was played in Tampa, Florida."];
        assert_eq!(find(&texts, "tampa,  FLORIDA.").contained_in, ["DOC_1"]);
        assert_eq!(find(&texts, "Tampa Florida").contained_in, ["DOC_1"]);
        let found = find(&texts, "Tampa, Ohio");
        assert!(found.contained_in.is_empty() && found.parts.is_empty());
        assert_eq!((found.words, found.words_found), (2, 0));
        let found = find(&texts, " ?! ");
        assert_eq!(found, Found::default());
    }

    /// What a word may be written as without being another one.
    fn rewritten(word: &str, how: u8) -> String {
        match how % 5 {
            0 => word.to_uppercase(),
            1 => format!("\u{201c}{word}\u{201d},"),
            2 => format!("{word}."),
            3 => format!("({word})"),
            _ => word.to_owned(),
        }
    }

    /// Whether the words of a run stand in a text one after another, by a plain search.
    fn stands_in(text: &str, run: &[&str]) -> bool {
        let words: Vec<&str> = text.split(' ').collect();
        words.windows(run.len()).any(|window| window == run)
    }

    proptest! {
        #[test]
        fn text_composed_from_documents_is_always_found(
            texts in prop::collection::vec(prop::collection::vec("[a-d]{1,2}", 6..20), 1..4),
            picks in prop::collection::vec((any::<usize>(), any::<usize>(), 3usize..8), 1..5),
            signs in prop::collection::vec(any::<u8>(), 40),
        ) {
            let texts: Vec<String> = texts.iter().map(|words| words.join(" ")).collect();
            let mut span: Vec<String> = Vec::new();
            for (from, start, length) in &picks {
                let words: Vec<&str> = texts[from % texts.len()].split(' ').collect();
                let start = start % (words.len() - 2);
                let end = words.len().min(start + length);
                span.extend(words[start..end].iter().map(|&word| word.to_owned()));
            }
            let written: Vec<String> = span
                .iter()
                .zip(signs.iter().cycle())
                .map(|(word, how)| rewritten(word, *how))
                .collect();
            let found = Texts::new(&context(&texts)).find(&written.join("\n "));
            prop_assert_eq!(found.words, span.len());
            prop_assert_eq!(found.words_found, span.len(), "{:?} in {:?}", span, texts);
            // Taken from one document alone, all of it is there.
            if picks.iter().all(|pick| pick.0 % texts.len() == picks[0].0 % texts.len()) {
                let label = format!("DOC_{}", picks[0].0 % texts.len() + 1);
                prop_assert_eq!(found.most_of(&[label]), span.len());
            }
        }

        #[test]
        fn text_from_nowhere_is_never_found(
            texts in prop::collection::vec("[a-d]{1,2}( [a-d]{1,2}){3,20}", 1..4),
            span in "[w-z]{1,2}( [w-z]{1,2}){0,20}",
        ) {
            let found = Texts::new(&context(&texts)).find(&span);
            prop_assert_eq!(found.words_found, 0);
            prop_assert!(found.contained_in.is_empty() && found.parts.is_empty());
        }

        #[test]
        fn what_is_said_to_stand_in_a_document_stands_there(
            text in "[ab]( [ab]){3,12}",
            span in "[a-c]( [a-c]){0,12}",
        ) {
            let found = Texts::new(&context(std::slice::from_ref(&text))).find(&span);
            let words: Vec<&str> = span.split(' ').collect();
            prop_assert_eq!(!found.contained_in.is_empty(), stands_in(&text, &words));
            // A word is found exactly if it lies in some run of three that stands in the text.
            let expected = match found.contained_in.is_empty() {
                false => words.len(),
                true => (0..words.len())
                    .filter(|at| {
                        (at.saturating_sub(2)..=*at).any(|start| {
                            words
                                .get(start..start + 3)
                                .is_some_and(|run| stands_in(&text, run))
                        })
                    })
                    .count(),
            };
            prop_assert_eq!(found.words_found, expected);
        }
    }
}
