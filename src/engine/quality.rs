//! How well a benchmark holds against whoever knows nothing: what simple rules and plain retrieval get from it.

use std::collections::HashSet;

use serde::Serialize;

use crate::data::dataset::Dataset;
use crate::domain::build::EditSize;
use crate::domain::quality::{
    Lengths, OptionRule, Pair, Positions, YesNo, lengths, longest_option, mentioned_option,
    overlap, positions, words_of, yes_no,
};
use crate::domain::question::Question;
use crate::domain::ranking::{auc, auc_of, recall};
use crate::domain::stats::wilson;
use crate::retrieval::{Method, RetrievalError, Search};

/// Ranks that a search looks at; documents beyond them tie.
const DEPTH: usize = 1_000;
/// Other documents that a question's overlap is compared with.
const OTHERS: usize = 200;
/// How much better than guessing a rule may be before it is said.
const MARGIN: f64 = 0.15;
/// Fewer questions say nothing about a rule.
pub const LEAST_QUESTIONS: usize = 20;
/// From this share of pairs on that differ in the same way, length gives adversarial versions away.
const ONE_SIDED: f64 = 0.8;
/// From this chance on a retriever alone tells signal from noise.
const TOO_EASY: f64 = 0.99;

/// How alike the words of questions and documents are.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Overlap {
    /// Mean share of a question's content words in its signal documents.
    pub signal: Option<f64>,
    /// The same for documents of other questions.
    pub noise: Option<f64>,
    /// The chance that a signal document shares more words than another one: 0.5 tells nothing, 1 tells all.
    pub auc: Option<f64>,
}

/// How well a retriever tells signal from noise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Retrieval {
    /// `bm25`, or the encoder's name.
    pub retriever: String,
    /// Questions with signal documents.
    pub questions: usize,
    /// Mean share of a question's signal documents among as many first ranks as it has.
    pub recall_at_r: Option<f64>,
    /// Mean share among the first 10.
    pub recall_at_10: Option<f64>,
    /// The chance that a signal document ranks above another one.
    pub auc: Option<f64>,
}

/// The report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quality {
    /// Questions looked at.
    pub questions: usize,
    /// How often the right option has each letter.
    pub answer_position: Positions,
    /// The same for questions that are answered by yes, no or maybe.
    pub yes_no: YesNo,
    /// "Take the longest option."
    pub longest_option: OptionRule,
    /// "Take the option that most signal documents mention."
    pub most_mentioned_option: OptionRule,
    /// Words shared by questions and documents.
    pub lexical_overlap: Overlap,
    /// Originals against adversarial versions.
    pub lengths: Lengths,
    /// Mean share of words that an edit changes.
    pub edit_ratio: Option<f64>,
    /// What retrievers get.
    pub retrieval: Vec<Retrieval>,
    /// What can be gamed, in words; empty where nothing stands out.
    pub gameable: Vec<String>,
}

/// Looks at the questions at these positions.
pub fn quality(dataset: &Dataset, at: &[usize]) -> Quality {
    let questions: Vec<&Question> = at
        .iter()
        .filter_map(|&at| dataset.questions.get(at))
        .collect();
    let pairs = pairs(dataset, &questions);
    let ratios: Vec<f64> = pairs
        .iter()
        .map(|pair| EditSize::of(pair.original, pair.adversarial).ratio())
        .collect();
    let mut quality = Quality {
        questions: questions.len(),
        answer_position: positions(&questions),
        yes_no: yes_no(&questions),
        longest_option: longest_option(&questions),
        most_mentioned_option: mentioned_option(&questions, |question| {
            let signal = dataset.pools(&question.id).signal;
            signal
                .iter()
                .map(|document| document.content.as_str())
                .collect()
        }),
        lexical_overlap: lexical_overlap(dataset, &questions),
        lengths: lengths(&pairs),
        edit_ratio: (!ratios.is_empty()).then(|| ratios.iter().sum::<f64>() / ratios.len() as f64),
        retrieval: Vec::new(),
        gameable: Vec::new(),
    };
    quality.gameable = said(&quality);
    quality
}

impl Quality {
    /// Adds what a retriever gets; says so where it is too much.
    pub fn add(&mut self, retrieval: Retrieval) {
        let easy = retrieval.questions >= LEAST_QUESTIONS
            && retrieval.auc.is_some_and(|auc| auc >= TOO_EASY);
        if easy {
            self.gameable.push(format!(
                "{} alone tells signal from noise: a signal document ranks above another one in {:.1} % of all pairs",
                retrieval.retriever,
                retrieval.auc.unwrap_or_default() * 100.0
            ));
        }
        self.retrieval.push(retrieval);
    }
}

fn pairs<'a>(dataset: &'a Dataset, questions: &[&Question]) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    for question in questions {
        let pools = dataset.pools(&question.id);
        for version in pools.counterfactuals {
            let original = pools
                .signal
                .iter()
                .find(|document| document.id == version.original_id);
            let sub = pools
                .sub_questions
                .iter()
                .find(|sub| sub.doc_id == version.original_id);
            pairs.extend(original.map(|original| Pair {
                original: &original.content,
                adversarial: &version.edited_document,
                truth: sub.map(|sub| sub.answer.as_str()),
                planted: &version.new_answer,
            }));
        }
    }
    pairs
}

fn lexical_overlap(dataset: &Dataset, questions: &[&Question]) -> Overlap {
    let documents = dataset.documents();
    let words: Vec<HashSet<String>> = documents
        .iter()
        .map(|(document, _)| words_of(&document.content))
        .collect();
    // Every so many documents, so that large sets stay quick.
    let step = documents.len().div_ceil(OTHERS).max(1);
    let (mut signal, mut noise) = (Vec::new(), Vec::new());
    for (number, question) in questions.iter().enumerate() {
        let asked = words_of(&question.text);
        for (at, (_, owners)) in documents.iter().enumerate() {
            let own = owners.contains(&question.id.as_str());
            let looked_at = own || at % step == number % step;
            let Some(share) = looked_at.then(|| overlap(&asked, &words[at])).flatten() else {
                continue;
            };
            match own {
                true => signal.push(share),
                false => noise.push(share),
            }
        }
    }
    let mean = |values: &[f64]| {
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    Overlap {
        signal: mean(&signal),
        noise: mean(&noise),
        auc: auc_of(&signal, &noise),
    }
}

/// How well a search over the dataset's documents finds the signal documents of its questions.
///
/// # Errors
/// As [`Search::search`].
pub fn retrieval(
    dataset: &Dataset,
    at: &[usize],
    search: &dyn Search,
    method: Method,
    name: &str,
    progress: &mut dyn FnMut(usize),
) -> Result<Retrieval, RetrievalError> {
    let total = dataset.documents().len();
    let (mut at_r, mut at_10, mut areas) = (Vec::new(), Vec::new(), Vec::new());
    for (number, &position) in at.iter().enumerate() {
        let Some(question) = dataset.questions.get(position) else {
            continue;
        };
        let signal: HashSet<&str> = dataset
            .pools(&question.id)
            .signal
            .iter()
            .map(|document| document.id.as_str())
            .collect();
        if !signal.is_empty() {
            let found = search.search(&question.text, method, total.min(DEPTH))?;
            let ranked: Vec<bool> = found
                .hits
                .iter()
                .map(|hit| signal.contains(hit.id.as_str()))
                .collect();
            at_r.extend(recall(&ranked, signal.len(), signal.len()));
            at_10.extend(recall(&ranked, signal.len(), 10));
            areas.extend(auc(&ranked, signal.len(), total));
        }
        progress(number + 1);
    }
    let mean = |values: &[f64]| {
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    Ok(Retrieval {
        retriever: name.to_owned(),
        questions: at_r.len(),
        recall_at_r: mean(&at_r),
        recall_at_10: mean(&at_10),
        auc: mean(&areas),
    })
}

/// Whether a share is far from chance: from enough questions on by its size, among fewer where even the lower end of its
/// interval lies above chance and its size does too.
fn stands_out(share: f64, of: usize, chance: f64, from: f64) -> bool {
    let hits = (share * of as f64).floor() as usize;
    let sure = of >= LEAST_QUESTIONS || wilson(hits, of).0 > chance;
    sure && share >= from
}

/// What stands out.
fn said(quality: &Quality) -> Vec<String> {
    let mut said = Vec::new();
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let letters = &quality.answer_position;
    if let (Some(share), Some(chance), Some(p)) =
        (letters.most_frequent, letters.by_chance, letters.p_value)
        && letters.questions >= LEAST_QUESTIONS
        && p < 0.01
    {
        said.push(format!(
            "right answers are not spread evenly over the letters: always the most frequent one gets {}, guessing {}",
            percent(share),
            percent(chance)
        ));
    }
    let words = &quality.yes_no;
    let often = words.answers.iter().max_by_key(|(_, number)| **number);
    if let (Some(share), Some(chance), Some((word, _))) =
        (words.most_frequent, words.by_chance, often)
        && stands_out(share, words.questions, chance, chance + MARGIN)
    {
        said.push(format!(
            "always \"{word}\" is right in {} of {} yes/no questions, guessing gets {}",
            percent(share),
            words.questions,
            percent(chance)
        ));
    }
    for (rule, words) in [
        (&quality.longest_option, "the longest option"),
        (
            &quality.most_mentioned_option,
            "the option that most signal documents mention",
        ),
    ] {
        if let (Some(right), Some(chance)) = (rule.right, rule.by_chance)
            && stands_out(right, rule.questions, chance, chance + MARGIN)
        {
            said.push(format!(
                "{words} is right in {} of {} questions, guessing gets {}",
                percent(right),
                rule.questions,
                percent(chance)
            ));
        }
    }
    for (share, word) in [
        (quality.lengths.longer, "longer"),
        (quality.lengths.shorter, "shorter"),
    ] {
        let pairs = quality.lengths.pairs;
        if let Some(share) = share.filter(|share| stands_out(*share, pairs, 0.5, ONE_SIDED)) {
            said.push(format!(
                "{} of the adversarial versions are {word} than their originals",
                percent(share)
            ));
        }
    }
    said
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::retrieval::{CorpusDocument, Retriever};

    fn dataset(folder: &std::path::Path) -> Dataset {
        let mut lines = String::new();
        let mut signal = serde_json::Map::new();
        let mut edits = serde_json::Map::new();
        for number in 0..30 {
            let id = format!("q{number}");
            lines += &format!(
                "{{\"question_id\":\"{id}\",\"question\":\"What does enzyme{number} split?\",\"options\":{{\"A\":\"short\",\"B\":\"the much longer one {number}\"}},\"answer\":\"B\"}}\n"
            );
            let text =
                format!("Enzyme{number} splits sugar{number}. It is the much longer one {number}.");
            signal.insert(
                id.clone(),
                serde_json::json!([{"id": format!("d{number}"), "content": text}]),
            );
            let edit = format!("{text} Really.");
            edits.insert(id, serde_json::json!([{"original_id": format!("d{number}"), "new_answer": "fat", "edited_document": edit}]));
        }
        let write = |name: &str, text: String| std::fs::write(folder.join(name), text).unwrap();
        write("qa.jsonl", lines);
        write(
            "signal_docs.json",
            serde_json::Value::Object(signal).to_string(),
        );
        write(
            "counterfactual_docs.json",
            serde_json::Value::Object(edits).to_string(),
        );
        Dataset::open(folder).unwrap()
    }

    #[test]
    fn questions_that_are_always_answered_by_yes_are_called_so() {
        let folder = tempfile::tempdir().unwrap();
        let said = |noes: usize| {
            let line = |at: usize| {
                let answer = if at < noes { "B" } else { "A" };
                format!(
                    "{{\"question_id\":\"q{at}\",\"question\":\"Does it?\",\"options\":{{\"A\":\"yes\",\"B\":\"no\"}},\"answer\":\"{answer}\"}}\n"
                )
            };
            let lines: String = (0..20).map(line).collect();
            std::fs::write(folder.path().join("qa.jsonl"), lines).unwrap();
            std::fs::write(folder.path().join("signal_docs.json"), "{}").unwrap();
            let all: Vec<usize> = (0..20).collect();
            quality(&Dataset::open(folder.path()).unwrap(), &all).gameable
        };
        assert_eq!(
            said(0),
            ["always \"yes\" is right in 100 % of 20 yes/no questions, guessing gets 50 %"]
        );
        assert_eq!(said(9), Vec::<String>::new());
    }

    #[test]
    fn a_set_that_gives_itself_away_is_called_so() {
        let folder = tempfile::tempdir().unwrap();
        let dataset = dataset(folder.path());
        let all: Vec<usize> = (0..30).collect();
        let mut found = quality(&dataset, &all);
        assert_eq!(found.gameable.len(), 4, "{:?}", found.gameable);
        assert_eq!(found.longest_option.right, Some(1.0));
        assert_eq!(found.lengths.longer, Some(1.0));
        assert_eq!(found.lexical_overlap.auc, Some(1.0));
        let corpus = dataset
            .documents()
            .into_iter()
            .map(|(document, _)| CorpusDocument {
                id: document.id.clone(),
                title: String::new(),
                content: document.content.clone(),
            })
            .collect();
        let search =
            Retriever::build_lexical(corpus, &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
        let got = retrieval(&dataset, &all, &*search, Method::Bm25, "bm25", &mut |_| {}).unwrap();
        assert_eq!(
            (got.questions, got.recall_at_r, got.auc),
            (30, Some(1.0), Some(1.0))
        );
        found.add(got);
        assert!(found.gameable.last().unwrap().starts_with("bm25 alone"));
    }
}
