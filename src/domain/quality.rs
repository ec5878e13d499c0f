//! Whether a benchmark can be gamed: rules that need no knowledge, and how far they get.
//!
//! A rule such as "take the longest option" is compared with guessing; where it does much better, a model can too.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::domain::build::content_words;
use crate::domain::mention::{Searchable, is_telling};
use crate::domain::question::Question;

/// How often the right option has each letter.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Positions {
    /// Questions looked at: those whose options are texts, not yes, no and maybe.
    pub questions: usize,
    /// Right answers by letter.
    pub letters: BTreeMap<char, usize>,
    /// Share of the most frequent letter: what "always take it" gets.
    pub most_frequent: Option<f64>,
    /// What guessing gets.
    pub by_chance: Option<f64>,
    /// How likely letters so uneven are by chance: Pearson's χ² against equal shares of the letters that each question
    /// offers.
    pub p_value: Option<f64>,
}

/// How often each answer is right among the questions whose options are yes, no and maybe.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct YesNo {
    /// Questions looked at.
    pub questions: usize,
    /// Right answers by word.
    pub answers: BTreeMap<String, usize>,
    /// Share of the most frequent answer: what "always say it" gets.
    pub most_frequent: Option<f64>,
    /// What guessing gets.
    pub by_chance: Option<f64>,
}

/// A rule that picks an option, against guessing.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct OptionRule {
    /// Questions on which the rule picks something.
    pub questions: usize,
    /// How often what it picks is right; among equals each counts its share.
    pub right: Option<f64>,
    /// What guessing gets on the same questions.
    pub by_chance: Option<f64>,
}

/// Lengths of originals and their adversarial versions.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Lengths {
    /// Pairs looked at.
    pub pairs: usize,
    /// Mean words of the originals.
    pub original_words: Option<f64>,
    /// Mean words of the adversarial versions.
    pub adversarial_words: Option<f64>,
    /// Share of pairs in which the adversarial version has more characters.
    pub longer: Option<f64>,
    /// Share of pairs in which it has fewer.
    pub shorter: Option<f64>,
    /// Mean words of the true answers.
    pub true_answer_words: Option<f64>,
    /// Mean words of the planted answers.
    pub planted_answer_words: Option<f64>,
}

/// One pair for [`lengths`].
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// The original text.
    pub original: &'a str,
    /// The adversarial one.
    pub adversarial: &'a str,
    /// The true answer, where there is a sub-question.
    pub truth: Option<&'a str>,
    /// The planted one.
    pub planted: &'a str,
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_usize), |(sum, count), value| {
        (sum + value, count + 1)
    });
    (count > 0).then(|| sum / count as f64)
}

fn chance(question: &Question) -> f64 {
    1.0 / question.options.len().max(1) as f64
}

/// How often the right option has each letter.
pub fn positions(questions: &[&Question]) -> Positions {
    let with_texts: Vec<&&Question> = questions.iter().filter(|q| !q.is_yes_no_maybe()).collect();
    let mut letters: BTreeMap<char, usize> = BTreeMap::new();
    let mut expected: BTreeMap<char, f64> = BTreeMap::new();
    for question in &with_texts {
        *letters.entry(question.answer).or_default() += 1;
        for option in &question.options {
            *expected.entry(option.letter).or_default() += chance(question);
        }
    }
    let statistic: f64 = expected
        .iter()
        .map(|(letter, expected)| {
            let seen = letters.get(letter).copied().unwrap_or(0) as f64;
            (seen - expected).powi(2) / expected
        })
        .sum();
    let total = with_texts.len();
    let largest = letters.values().copied().max().unwrap_or(0);
    Positions {
        questions: total,
        most_frequent: (total > 0).then(|| largest as f64 / total as f64),
        by_chance: mean(with_texts.iter().map(|question| chance(question))),
        p_value: p_value(statistic, expected.len()),
        letters,
    }
}

/// How often each answer of a yes/no question is right.
pub fn yes_no(questions: &[&Question]) -> YesNo {
    let those: Vec<&&Question> = questions.iter().filter(|q| q.is_yes_no_maybe()).collect();
    let mut answers: BTreeMap<String, usize> = BTreeMap::new();
    for question in &those {
        let word = question.gold_text().trim().to_lowercase();
        *answers.entry(word).or_default() += 1;
    }
    let largest = answers.values().copied().max();
    YesNo {
        questions: those.len(),
        most_frequent: largest.map(|largest| largest as f64 / those.len() as f64),
        by_chance: mean(those.iter().map(|question| chance(question))),
        answers,
    }
}

/// The upper tail of χ² with one degree of freedom less than there are kinds.
fn p_value(statistic: f64, kinds: usize) -> Option<f64> {
    let freedom = kinds.checked_sub(1).filter(|freedom| *freedom > 0)?;
    let distribution = ChiSquared::new(freedom as f64).ok()?;
    Some(distribution.sf(statistic))
}

/// How often an option is right whose value by `of` is the largest; questions where all are equal are left out.
fn largest_option(questions: &[&Question], of: impl Fn(&Question, &str) -> usize) -> OptionRule {
    let mut right = Vec::new();
    let mut by_chance = Vec::new();
    for question in questions
        .iter()
        .filter(|question| !question.is_yes_no_maybe())
    {
        let values: Vec<usize> = question
            .options
            .iter()
            .map(|option| of(question, &option.text))
            .collect();
        let Some(most) = values.iter().max() else {
            continue;
        };
        let best = values.iter().filter(|value| *value == most).count();
        if best == values.len() {
            continue;
        }
        let gold = question
            .options
            .iter()
            .position(|option| option.letter == question.answer);
        let hit = gold.is_some_and(|at| values[at] == *most);
        right.push(if hit { 1.0 / best as f64 } else { 0.0 });
        by_chance.push(chance(question));
    }
    OptionRule {
        questions: right.len(),
        right: mean(right.into_iter()),
        by_chance: mean(by_chance.into_iter()),
    }
}

/// "Take the longest option", by characters.
pub fn longest_option(questions: &[&Question]) -> OptionRule {
    largest_option(questions, |_, text| text.chars().count())
}

/// "Take the option that most documents mention": `documents` gives the texts of a question's signal documents.
pub fn mentioned_option<'a>(
    questions: &[&Question],
    documents: impl Fn(&Question) -> Vec<&'a str>,
) -> OptionRule {
    largest_option(questions, |question, text| {
        if !is_telling(text) {
            return 0;
        }
        let wanted = Searchable::new(text);
        let texts = documents(question);
        texts
            .iter()
            .filter(|document| Searchable::new(document).mentions(&wanted))
            .count()
    })
}

/// The share of a question's content words that stand in a document; `None` for a question without any.
pub fn overlap(question: &HashSet<String>, document: &HashSet<String>) -> Option<f64> {
    let shared = question
        .iter()
        .filter(|word| document.contains(*word))
        .count();
    (!question.is_empty()).then(|| shared as f64 / question.len() as f64)
}

/// The content words of a text, as [`overlap`] compares them.
pub fn words_of(text: &str) -> HashSet<String> {
    content_words(text).collect()
}

/// How originals and adversarial versions differ in length.
pub fn lengths(pairs: &[Pair<'_>]) -> Lengths {
    let words = |text: &str| text.split_whitespace().count() as f64;
    let share = |test: &dyn Fn(usize, usize) -> bool| {
        mean(pairs.iter().map(|pair| {
            let (old, new) = (
                pair.original.chars().count(),
                pair.adversarial.chars().count(),
            );
            f64::from(u8::from(test(old, new)))
        }))
    };
    Lengths {
        pairs: pairs.len(),
        original_words: mean(pairs.iter().map(|pair| words(pair.original))),
        adversarial_words: mean(pairs.iter().map(|pair| words(pair.adversarial))),
        longer: share(&|old, new| new > old),
        shorter: share(&|old, new| new < old),
        true_answer_words: mean(pairs.iter().filter_map(|pair| pair.truth).map(words)),
        planted_answer_words: mean(pairs.iter().map(|pair| words(pair.planted))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::question::Choice;

    fn question(options: &[&str], answer: char) -> Question {
        Question {
            id: String::new(),
            text: "Which?".into(),
            options: ('A'..)
                .zip(options)
                .map(|(letter, text)| Choice {
                    letter,
                    text: (*text).into(),
                })
                .collect(),
            answer,
            extra: serde_json::Map::new(),
        }
    }

    fn close(value: Option<f64>, expected: f64) -> bool {
        (value.unwrap() - expected).abs() < 1e-9
    }

    #[test]
    fn uneven_letters_are_seen() {
        let all: Vec<Question> = (0..40)
            .map(|_| question(&["a", "b", "c", "d"], 'C'))
            .collect();
        let yes = question(&["yes", "no"], 'A');
        let mut refs: Vec<&Question> = all.iter().collect();
        refs.push(&yes);
        let found = positions(&refs);
        assert_eq!((found.questions, found.letters[&'C']), (40, 40));
        let (no, maybe) = (
            question(&["Yes", "No"], 'B'),
            question(&["yes", "no", "maybe"], 'A'),
        );
        refs.extend([&no, &maybe]);
        let words = yes_no(&refs);
        assert_eq!(
            (words.questions, words.answers["yes"], words.answers["no"]),
            (3, 2, 1)
        );
        assert!(close(words.most_frequent, 2.0 / 3.0));
        assert!(close(words.by_chance, (0.5 + 0.5 + 1.0 / 3.0) / 3.0));
        assert_eq!(yes_no(&[]), YesNo::default());
        assert!(close(found.most_frequent, 1.0) && close(found.by_chance, 0.25));
        assert!(found.p_value.unwrap() < 1e-6);
        // χ² = 1 with one degree of freedom: p = 0.3173.
        let two: Vec<Question> = "ABBB"
            .chars()
            .map(|letter| question(&["x", "y z"], letter))
            .collect();
        let found = positions(&two.iter().collect::<Vec<_>>());
        assert!((found.p_value.unwrap() - 0.317_310_5).abs() < 1e-6);
        assert_eq!(positions(&[]).p_value, None);
    }

    #[test]
    fn rules_share_their_credit_among_equals() {
        let one = question(&["long answer", "short"], 'A');
        let tie = question(&["aaaa", "bbbb", "c"], 'B');
        let none = question(&["aa", "bb"], 'A');
        let rule = longest_option(&[&one, &tie, &none]);
        assert_eq!(rule.questions, 2);
        assert!(close(rule.right, 0.75));
        assert!(close(rule.by_chance, (0.5 + 1.0 / 3.0) / 2.0));
        let rule = mentioned_option(&[&one], |_| {
            vec!["A short text.", "Short.", "A long answer."]
        });
        assert!(close(rule.right, 0.0));
    }

    #[test]
    fn lengths_and_overlap() {
        let pair = |adversarial| Pair {
            original: "one two",
            adversarial,
            truth: Some("two"),
            planted: "three four",
        };
        let found = lengths(&[pair("one two more"), pair("one"), pair("two one")]);
        assert!(close(found.longer, 1.0 / 3.0) && close(found.shorter, 1.0 / 3.0));
        assert!(close(found.adversarial_words, 2.0) && close(found.planted_answer_words, 2.0));
        let (asked, text) = (
            words_of("Does iron raise ferritin?"),
            words_of("Ferritin falls."),
        );
        assert!(close(overlap(&asked, &text), 1.0 / 3.0));
        assert_eq!(overlap(&words_of("What is it?"), &text), None);
    }
}
