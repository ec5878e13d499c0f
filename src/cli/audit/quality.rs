//! The part of `medrgb audit` that says whether a set can be gamed.

use std::fmt::Write as _;

use crate::cli::Failure;
use crate::cli::common::{Environment, note};
use crate::cli::encoder;
use crate::cli::progress::Line;
use crate::cli::search::{build, documents};
use crate::data::dataset::Dataset;
use crate::domain::quality::OptionRule;
use crate::engine::quality::{LEAST_QUESTIONS, Quality, quality, retrieval};
use crate::retrieval::{Method, NO_ENCODER};

/// Looks at the questions at these positions, with BM25 and, where one is named, an encoder.
pub(super) fn of(
    dataset: &Dataset,
    questions: &[usize],
    encoder: Option<&str>,
    environment: &Environment,
) -> Result<Quality, Failure> {
    let mut found = quality(dataset, questions);
    let folders = match encoder {
        Some(named) => encoder::folders(Some(named), environment)?,
        None => None,
    };
    if encoder.is_some() && folders.is_none() {
        note(NO_ENCODER);
    }
    let search = build(documents(dataset), folders.as_ref(), None, environment)?;
    let mut ways = vec![(Method::Bm25, "bm25".to_owned())];
    ways.extend(folders.map(|folders| (Method::Exact, folders.name)));
    for (method, name) in ways {
        let line = Line::new();
        let got = retrieval(dataset, questions, &*search, method, &name, &mut |done| {
            let _ = line.at("searching", done, questions.len());
        });
        found.add(got.map_err(Failure::failed)?);
    }
    Ok(found)
}

/// What is counted, with its numbers.
fn counts<'a>(all: impl Iterator<Item = (impl std::fmt::Display, &'a usize)>) -> String {
    let all: Vec<String> = all
        .map(|(what, number)| format!("{what} {number}"))
        .collect();
    all.join(", ")
}

/// For reading.
pub(super) fn text(quality: &Quality) -> String {
    let mut out = format!(
        "\nquality: what simple rules get from {} questions\n",
        quality.questions
    );
    let share = |value: Option<f64>| {
        value.map_or("-".to_owned(), |value| format!("{:.1} %", value * 100.0))
    };
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    let mut row = |name: &str, text: String| {
        let _ = writeln!(out, "  {name:<34} {text}");
    };
    let letters = &quality.answer_position;
    row(
        "right answers by letter",
        match letters.questions {
            0 => "no question has options other than yes, no, maybe".to_owned(),
            questions => format!(
                "{} of {questions} questions; most frequent {}, guessing {}, p = {}",
                counts(letters.letters.iter()),
                share(letters.most_frequent),
                share(letters.by_chance),
                number(letters.p_value)
            ),
        },
    );
    let words = &quality.yes_no;
    if words.questions > 0 {
        row(
            "right answers to yes/no questions",
            format!(
                "{} of {} questions; most frequent {}, guessing {}",
                counts(words.answers.iter()),
                words.questions,
                share(words.most_frequent),
                share(words.by_chance)
            ),
        );
    }
    let rule = |rule: &OptionRule| {
        format!(
            "{} of {} questions, guessing {}",
            share(rule.right),
            rule.questions,
            share(rule.by_chance)
        )
    };
    row("the longest option is right", rule(&quality.longest_option));
    row(
        "the option most mentioned is right",
        rule(&quality.most_mentioned_option),
    );
    let overlap = &quality.lexical_overlap;
    row(
        "question's words in documents",
        format!(
            "signal {}, others {}, AUC {}",
            share(overlap.signal),
            share(overlap.noise),
            number(overlap.auc)
        ),
    );
    let lengths = &quality.lengths;
    row(
        "adversarial versions",
        format!(
            "{} longer, {} shorter of {}; edits change {}",
            share(lengths.longer),
            share(lengths.shorter),
            lengths.pairs,
            share(quality.edit_ratio)
        ),
    );
    for one in &quality.retrieval {
        row(
            &format!("{} finds signal", one.retriever),
            format!(
                "recall at R {}, at 10 {}, AUC {}",
                share(one.recall_at_r),
                share(one.recall_at_10),
                number(one.auc)
            ),
        );
    }
    for said in &quality.gameable {
        let _ = writeln!(out, "  can be gamed: {said}");
    }
    if quality.gameable.is_empty() {
        match quality.questions < LEAST_QUESTIONS {
            true => {
                let _ = writeln!(
                    out,
                    "  nothing stands out for sure; fewer than {LEAST_QUESTIONS} questions show little"
                );
            }
            false => out.push_str("  nothing stands out\n"),
        }
    }
    out
}
