//! What is said of a planted claim and of a citation, one fact a line: the same words for commands and screens.

use std::ops::Range;

use crate::domain::mention::is_telling;
use crate::domain::probe::citations::{Citation, Quote, Support};
use crate::domain::probe::found::{Found, Share};
use crate::domain::probe::trace::{GivenAt, PlantedTrace, Trace};
use crate::domain::text::{clean, count, one_line, shortened};

/// Characters that are shown on each side of a place.
const AROUND: usize = 40;

/// Most characters of the words at a place themselves.
const LONGEST: usize = 200;

/// Most places of one kind that are shown.
const PLACES: usize = 5;

/// Most documents that are named with their share.
const SHARES: usize = 3;

/// Characters of an answer that are quoted.
const QUOTED: usize = 60;

/// How a fact speaks for the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// For it.
    Good,
    /// Against it.
    Bad,
    /// Perhaps against it.
    Doubtful,
    /// Neither.
    Plain,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What, on one line and clean.
    pub text: String,
    /// The words that show it.
    pub words: Option<Around>,
    /// How it speaks for the reply.
    pub weight: Weight,
}

/// A place of a text with what stands around it, on one line and clean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Around {
    /// What stands before it.
    pub before: String,
    /// The words at the place.
    pub words: String,
    /// What stands behind it.
    pub after: String,
}

impl Around {
    /// The surroundings of a byte range; `None` where it is no range of this text.
    pub fn of(text: &str, at: &Range<usize>) -> Option<Around> {
        let words = text.get(at.clone())?;
        let before: Vec<char> = text[..at.start].chars().rev().take(AROUND).collect();
        let before: String = before.into_iter().rev().collect();
        let after: String = text[at.end..].chars().take(AROUND).collect();
        let dots = |cut: bool| if cut { "…" } else { "" };
        Some(Around {
            before: format!("{}{}", dots(before.len() < at.start), flat(&before)),
            words: shortened(&one_line(words), LONGEST),
            after: format!(
                "{}{}",
                flat(&after),
                dots(after.len() < text.len() - at.end)
            ),
        })
    }
}

/// On one line without control characters; spaces at the ends stay.
fn flat(text: &str) -> String {
    clean(text).replace(['\n', '\t'], " ")
}

/// Everything that was found about one planted claim of a trace.
pub fn facts_of_claim(trace: &Trace, one: &PlantedTrace, reasoning: &str) -> Vec<Fact> {
    let mut facts = vec![verdict(trace, one)];
    facts.extend(unsought(one));
    facts.extend(one.own().map(own));
    let others = one.sub_answers.iter().filter(|given| !given.own);
    facts.extend(others.map(other));
    places(one, reasoning, &mut facts);
    if outside(one).next().is_some() && !one.also_in.is_empty() {
        let text = format!(
            "the planted answer also stands in {}, so the reasoning may have it from there",
            one.also_in.join(", ")
        );
        facts.push(plain(text));
    }
    if !one.truth_in_reasoning.is_empty() {
        let places = count(one.truth_in_reasoning.len(), "place");
        let text = format!("the true answer stands in the reasoning ({places})");
        facts.push(weighed(text, Weight::Good, None));
    }
    facts
}

fn weighed(text: String, weight: Weight, words: Option<Around>) -> Fact {
    Fact {
        text,
        words,
        weight,
    }
}

fn plain(text: String) -> Fact {
    weighed(text, Weight::Plain, None)
}

fn verdict(trace: &Trace, one: &PlantedTrace) -> Fact {
    match one.called_wrong {
        Some(true) => weighed(
            "the reply calls the document wrong".into(),
            Weight::Good,
            None,
        ),
        Some(false) => weighed(
            "the reply calls the document correct".into(),
            Weight::Bad,
            None,
        ),
        None if trace.partial => {
            plain("no verdict on the document came before the reply ended".into())
        }
        None => plain("the reply gives no verdict on the document".into()),
    }
}

/// Why a planted answer was not looked for everywhere.
fn unsought(one: &PlantedTrace) -> Option<Fact> {
    let text = match one.planted.as_deref() {
        None => "no sub-question belongs to it, so only edited wording is looked for".to_owned(),
        Some(_) if one.telling => return None,
        Some(planted) if !is_telling(planted) => format!(
            "\"{}\" stands everywhere, so it counts only as the whole sub-answer",
            brief(planted)
        ),
        Some(_) => "the planted answer is the true one, so there is nothing to find".to_owned(),
    };
    Some(plain(text))
}

/// The sub-answer to the document's own question.
fn own(given: &GivenAt) -> Fact {
    let number = given.at + 1;
    if given.whole {
        let text = format!(
            "sub-answer {number} is the planted answer: \"{}\"",
            brief(&given.text)
        );
        return weighed(text, Weight::Bad, None);
    }
    let too = match given.true_too {
        true => ", and the true answer too",
        false => "",
    };
    let text = format!(
        "sub-answer {number} contains it{too}; \"misinformation adopted\" counts only a sub-answer that is it"
    );
    let words = shown(given);
    weighed(text, Weight::Doubtful, Some(words))
}

/// A sub-answer about another document.
fn other(given: &GivenAt) -> Fact {
    let same = match given.planted_there {
        true => ", where the same is planted",
        false => "",
    };
    let how = match given.whole {
        true => "is the same",
        false => "contains it",
    };
    let text = format!(
        "sub-answer {}, about {}{same}, {how}",
        given.at + 1,
        given.about
    );
    weighed(text, Weight::Plain, Some(shown(given)))
}

/// The words of a sub-answer.
fn shown(given: &GivenAt) -> Around {
    let place = given.place.as_ref();
    let around = place.and_then(|place| Around::of(&given.text, place));
    around.unwrap_or_else(|| Around {
        before: String::new(),
        words: brief(&given.text),
        after: String::new(),
    })
}

/// Whether a place lies within another.
fn inside(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Places of the planted answer outside of edited wording: these may come from anywhere.
fn outside(one: &PlantedTrace) -> impl Iterator<Item = &Range<usize>> {
    let places = one.in_reasoning.iter();
    places.filter(move |at| !one.edited_runs.iter().any(|run| inside(&run.at, at)))
}

/// The places of the reasoning: edited wording, then the planted answer where it stands outside of that. The
/// same words at several places are one fact.
fn places(one: &PlantedTrace, reasoning: &str, facts: &mut Vec<Fact>) {
    let runs = one.edited_runs.iter().map(|run| {
        let answer = one.in_reasoning.iter().any(|at| inside(&run.at, at));
        let text = match answer {
            true => "the reasoning has a run of words that only the edited text has, with the planted answer",
            false => "the reasoning has a run of words that only the edited text has",
        };
        (text, &run.at)
    });
    let alone = outside(one).map(|at| ("the reasoning has the planted answer", at));
    let mut groups: Vec<(&str, Around, usize)> = Vec::new();
    let mut more = 0;
    for (text, at) in runs.chain(alone) {
        let Some(around) = Around::of(reasoning, at) else {
            continue;
        };
        let known = groups
            .iter_mut()
            .find(|(words, first, _)| *words == text && first.words == around.words);
        if let Some((_, _, times)) = known {
            *times += 1;
        } else if groups.len() < PLACES {
            groups.push((text, around, 1));
        } else {
            more += 1;
        }
    }
    for (text, around, times) in groups {
        let times = match times {
            1 => String::new(),
            several => format!(" ({several} times)"),
        };
        let text = format!("{text}{times}");
        facts.push(weighed(text, Weight::Doubtful, Some(around)));
    }
    if more > 0 {
        let more = count(more, "more place");
        facts.push(plain(format!("and {more} in the reasoning")));
    }
}

/// What a citation of a sub-answer is worth: what is cited, then how it stands.
pub fn facts_of_citation(one: &Citation) -> (String, Fact) {
    let given = match &one.answer {
        Some(given) => format!("\"{}\"", brief(given)),
        None => "skipped".to_owned(),
    };
    let cited = match (&one.cited, &one.unknown_name) {
        (Some(label), _) => label.clone(),
        (None, Some(name)) => format!("\"{}\" (no such document)", shortened(&one_line(name), 24)),
        (None, None) => "nothing".to_owned(),
    };
    let right = match one.cited.as_deref() == Some(one.expected.as_str()) {
        true => String::new(),
        false => format!(", asked about {}", one.expected),
    };
    let mut fact = stands(one.support, one.cited.as_slice(), &one.found);
    match one.support {
        Support::Uncheckable if one.answer.is_none() => {
            fact.text = "there is no answer to look up".into();
        }
        Support::Elsewhere | Support::Nowhere | Support::Partly
            if one.called_wrong == Some(true) =>
        {
            fact.text.push_str(
                "; the reply calls the document wrong, so its answer need not stand there",
            );
            fact.weight = Weight::Plain;
        }
        _ => {}
    }
    (format!("{given} cites {cited}{right}"), fact)
}

/// What a quotation is worth: what is cited, then how it stands.
pub fn facts_of_quote(quote: &Quote) -> (String, Fact) {
    let cited = match quote.cited.is_empty() {
        true => "nothing".to_owned(),
        false => quote.cited.join(", "),
    };
    let fact = stands(quote.support, &quote.cited, &quote.found);
    (format!("\"{}\" cites {cited}", brief(&quote.text)), fact)
}

/// How a span stands in the documents.
fn stands(support: Support, cited: &[String], found: &Found) -> Fact {
    let whole = !found.contained_in.is_empty();
    let labels = found.contained_in.join(", ");
    let parts = shares(found, cited);
    let (text, weight) = match support {
        Support::Supported if whole => ("the cited document contains it".to_owned(), Weight::Good),
        Support::Supported => (
            format!(
                "the cited document contains all its {} words, in parts",
                found.words
            ),
            Weight::Good,
        ),
        Support::Partly => (
            format!("in part in the cited document: {parts}"),
            Weight::Doubtful,
        ),
        Support::Elsewhere if whole => {
            let beside = match found.most_of(cited) {
                0 => String::new(),
                words => format!("; that has {words} of its {} words", found.words),
            };
            (
                format!("it stands in {labels}, not in the cited document{beside}"),
                Weight::Bad,
            )
        }
        Support::Elsewhere => (
            format!("no three words of it in a row in the cited document: {parts}"),
            Weight::Bad,
        ),
        Support::NotCited if whole => (
            format!("it stands in {labels}; no document of the context is cited"),
            Weight::Doubtful,
        ),
        Support::NotCited => (
            format!("in parts: {parts}; no document of the context is cited"),
            Weight::Doubtful,
        ),
        Support::Nowhere if found.parts.is_empty() => (
            "no document contains it in these words".to_owned(),
            Weight::Bad,
        ),
        Support::Nowhere => (
            format!("no document contains it in these words: {parts}"),
            Weight::Bad,
        ),
        Support::Uncheckable => (
            "it stands everywhere, so it is not looked up".to_owned(),
            Weight::Plain,
        ),
    };
    weighed(text, weight, None)
}

/// "24 of its 30 words in DOC_2 (cited), 6 in DOC_4".
fn shares(found: &Found, cited: &[String]) -> String {
    let mark = |share: &Share| match cited.contains(&share.label) {
        true => " (cited)",
        false => "",
    };
    let mut shown: Vec<&Share> = found.parts.iter().take(SHARES).collect();
    // The cited document's share is never the one that is left out.
    let rest = found.parts.iter().skip(SHARES);
    shown.extend(rest.filter(|share| cited.contains(&share.label)));
    let of = format!(" of its {} words", found.words);
    let mut said: Vec<String> = shown
        .iter()
        .enumerate()
        .map(|(at, share)| {
            let of = if at == 0 { of.as_str() } else { "" };
            format!("{}{of} in {}{}", share.words, share.label, mark(share))
        })
        .collect();
    if found.parts.len() > shown.len() {
        said.push(count(found.parts.len() - shown.len(), "more document"));
    }
    said.join(", ")
}

/// A value of a reply or a dataset, short enough for a line.
fn brief(text: &str) -> String {
    shortened(&one_line(text), QUOTED)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::probe::trace::{EditedRun, Stance};

    const REASONING: &str = "DOC_1 says the dose is 50 mg, and 50 mg it is, not 15 mg.";

    fn claim() -> PlantedTrace {
        PlantedTrace {
            label: "DOC_1".into(),
            planted: Some("50 mg".into()),
            truth: Some("15 mg".into()),
            stance: Stance::Contained,
            called_wrong: Some(true),
            telling: true,
            original_known: true,
            sub_answers: vec![
                GivenAt {
                    at: 0,
                    about: "DOC_1".into(),
                    own: true,
                    whole: false,
                    true_too: false,
                    planted_there: true,
                    text: "The dose is 50 mg a day.".into(),
                    place: Some(12..17),
                },
                GivenAt {
                    at: 2,
                    about: "DOC_3".into(),
                    own: false,
                    whole: true,
                    true_too: false,
                    planted_there: false,
                    text: "50 mg".into(),
                    place: Some(0..5),
                },
            ],
            in_reasoning: vec![23..28, 34..39],
            truth_in_reasoning: std::iter::once(51..56).collect(),
            edited_runs: vec![EditedRun {
                at: 15..28,
                text: "dose is 50 mg".into(),
            }],
            also_in: vec!["DOC_3".into(), "the question".into()],
        }
    }

    #[test]
    fn each_fact_says_what_is_found_at_its_place() {
        let trace = Trace::default();
        let facts = facts_of_claim(&trace, &claim(), REASONING);
        let lines: Vec<(&str, Option<&str>)> = facts
            .iter()
            .map(|fact| {
                (
                    fact.text.as_str(),
                    fact.words.as_ref().map(|around| around.words.as_str()),
                )
            })
            .collect();
        assert_eq!(
            lines,
            [
                ("the reply calls the document wrong", None),
                (
                    "sub-answer 1 contains it; \"misinformation adopted\" counts only a sub-answer that is it",
                    Some("50 mg")
                ),
                ("sub-answer 3, about DOC_3, is the same", Some("50 mg")),
                (
                    "the reasoning has a run of words that only the edited text has, with the planted answer",
                    Some("dose is 50 mg")
                ),
                ("the reasoning has the planted answer", Some("50 mg")),
                (
                    "the planted answer also stands in DOC_3, the question, so the reasoning may have it from there",
                    None
                ),
                ("the true answer stands in the reasoning (1 place)", None),
            ]
        );
        assert_eq!(facts[1].words.as_ref().unwrap().before, "The dose is ");
    }

    #[test]
    fn claims_that_can_not_be_looked_for_say_so() {
        let mut one = claim();
        one.telling = false;
        let why = |one: &PlantedTrace| unsought(one).unwrap().text;
        assert!(why(&one).contains("is the true one"));
        one.planted = Some("Yes".into());
        assert_eq!(
            why(&one),
            "\"Yes\" stands everywhere, so it counts only as the whole sub-answer"
        );
        one.planted = None;
        assert!(why(&one).contains("no sub-question"));
        let partial = Trace {
            partial: true,
            ..Trace::default()
        };
        one.called_wrong = None;
        assert!(
            verdict(&partial, &one)
                .text
                .contains("before the reply ended")
        );
    }

    #[test]
    fn many_places_are_counted_not_listed() {
        let mut one = claim();
        one.edited_runs.clear();
        one.in_reasoning = (0..8).map(|at| at..at + 2).chain([0..2, 0..2]).collect();
        let mut facts = Vec::new();
        places(&one, REASONING, &mut facts);
        assert_eq!(facts.len(), PLACES + 1);
        assert_eq!(
            facts[0].text,
            "the reasoning has the planted answer (3 times)"
        );
        assert_eq!(facts[PLACES].text, "and 3 more places in the reasoning");
        // Edited wording comes from its document, wherever else the answer stands.
        let mut one = claim();
        one.in_reasoning.truncate(1);
        let facts = facts_of_claim(&Trace::default(), &one, REASONING);
        assert!(
            facts
                .iter()
                .all(|fact| !fact.text.contains("also stands in"))
        );
    }

    #[test]
    fn citations_are_explained_with_shares() {
        let found = |whole: &[&str], parts: &[(&str, usize)]| Found {
            words: 30,
            words_found: 24,
            contained_in: whole.iter().map(|&label| label.into()).collect(),
            parts: parts
                .iter()
                .map(|&(label, words)| Share {
                    label: label.into(),
                    words,
                })
                .collect(),
        };
        let said =
            |support, cited: &str, found: &Found| stands(support, &[cited.to_owned()], found).text;
        let parts = found(
            &[],
            &[
                ("DOC_1", 9),
                ("DOC_3", 8),
                ("DOC_4", 7),
                ("DOC_5", 5),
                ("DOC_2", 4),
            ],
        );
        assert_eq!(
            said(Support::Partly, "DOC_2", &parts),
            "in part in the cited document: 9 of its 30 words in DOC_1, 8 in DOC_3, 7 in DOC_4, 4 in DOC_2 (cited), 1 more document"
        );
        let whole = found(&["DOC_3"], &[("DOC_2", 27)]);
        assert_eq!(
            said(Support::Elsewhere, "DOC_2", &whole),
            "it stands in DOC_3, not in the cited document; that has 27 of its 30 words"
        );
        assert_eq!(
            said(Support::Nowhere, "DOC_2", &found(&[], &[("DOC_2", 6)])),
            "no document contains it in these words: 6 of its 30 words in DOC_2 (cited)"
        );
        let one = Citation {
            question: "q".into(),
            expected: "DOC_2".into(),
            answer: Some("the true fact".into()),
            cited: Some("DOC_2".into()),
            unknown_name: None,
            called_wrong: Some(true),
            found: Found::default(),
            support: Support::Nowhere,
        };
        let (cites, fact) = facts_of_citation(&one);
        assert_eq!(cites, "\"the true fact\" cites DOC_2");
        assert!(
            fact.text
                .ends_with("calls the document wrong, so its answer need not stand there")
        );
        assert_eq!(fact.weight, Weight::Plain);
    }
}
