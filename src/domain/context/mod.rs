//! Contexts: which documents a model sees, in which order, in which role.
//!
//! [`compose`] is a pure function of the question, its [`Pools`] and a [`Condition`]; what was composed
//! before, the order of files and the order of calls never matter.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::domain::passage::{Counterfactual, Document, Role, Source, SubQuestion};
use crate::domain::text::{number, short};

mod change;
mod compose;
mod pool;
mod stream;
#[cfg(test)]
mod tests;

pub use change::{Change, Variant, left_out, reorders, swaps};
pub use compose::compose;
pub use pool::NoisePool;
pub use stream::draw;

/// The four ways of testing a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scenario {
    /// Signal documents only, or none.
    Standard,
    /// Signal and noise; "insufficient information" may be answered.
    Sufficiency,
    /// Signal and noise with a sub-question per signal document.
    Integration,
    /// Original and adversarial documents with a sub-question each.
    Robustness,
}

impl Scenario {
    /// All four in the order of the paper.
    pub const ALL: [Scenario; 4] = [
        Scenario::Standard,
        Scenario::Sufficiency,
        Scenario::Integration,
        Scenario::Robustness,
    ];

    /// The lower-case name used in flags and files.
    pub fn name(self) -> &'static str {
        match self {
            Scenario::Standard => "standard",
            Scenario::Sufficiency => "sufficiency",
            Scenario::Integration => "integration",
            Scenario::Robustness => "robustness",
        }
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Scenario {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Scenario::ALL
            .into_iter()
            .find(|scenario| scenario.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| {
                format!("\"{text}\" is not a scenario; expected standard, sufficiency, integration or robustness")
            })
    }
}

/// How contexts of different conditions hang together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One random order per (seed, question); every condition takes prefixes of it.
    #[default]
    Nested,
    /// A fresh draw for every scenario, n and p.
    Independent,
}

impl Mode {
    /// The lower-case name used in flags and files.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Nested => "nested",
            Mode::Independent => "independent",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "nested" => Ok(Mode::Nested),
            "independent" => Ok(Mode::Independent),
            _ => Err(format!(
                "\"{text}\" is not a mode; expected nested or independent"
            )),
        }
    }
}

/// Which documents may be used, by where they were retrieved.
///
/// It holds for a question's own documents and for noise alike: noise is drawn from the signal documents
/// of other questions, and a web page among offline snippets would give itself away by its style.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceFilter {
    /// Only documents retrieved offline.
    Offline,
    /// Only documents retrieved online.
    Online,
    /// All of them, those of unknown source too.
    #[default]
    Any,
}

impl SourceFilter {
    /// Whether a document of this source passes.
    pub fn admits(self, source: Option<Source>) -> bool {
        match self {
            SourceFilter::Any => true,
            SourceFilter::Offline => source == Some(Source::Offline),
            SourceFilter::Online => source == Some(Source::Online),
        }
    }

    /// The lower-case name used in flags and files.
    pub fn name(self) -> &'static str {
        match self {
            SourceFilter::Offline => "offline",
            SourceFilter::Online => "online",
            SourceFilter::Any => "any",
        }
    }
}

impl FromStr for SourceFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "offline" => Ok(SourceFilter::Offline),
            "online" => Ok(SourceFilter::Online),
            "any" => Ok(SourceFilter::Any),
            _ => Err(format!(
                "\"{text}\" is not a source; expected offline, online or any"
            )),
        }
    }
}

/// One cell of the grid: everything that decides a context besides the question and the pools.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// Which test.
    pub scenario: Scenario,
    /// Documents asked for (`n`).
    pub docs: usize,
    /// Per cent of them signal (robustness: original), 0 to 100.
    pub p: f64,
    /// Seed of all random draws.
    pub seed: u64,
    /// Nested or independent draws.
    pub mode: Mode,
    /// Which signal documents may be used.
    pub source: SourceFilter,
}

impl Default for Condition {
    /// What the explorer opens with: sufficiency, n = 5, p = 60, seed 0, nested.
    fn default() -> Self {
        Condition {
            scenario: Scenario::Sufficiency,
            docs: 5,
            p: 60.0,
            seed: 0,
            mode: Mode::Nested,
            source: SourceFilter::Any,
        }
    }
}

impl Condition {
    /// Refuses what is impossible for every question.
    ///
    /// # Errors
    /// [`ComposeError`]: `p` out of range, too many documents, none where there must be one, or
    /// integration without a signal document.
    pub fn check(&self) -> Result<(), ComposeError> {
        let Condition {
            scenario, docs, p, ..
        } = *self;
        if !(0.0..=100.0).contains(&p) {
            return Err(ComposeError::BadP(p));
        }
        if docs > MAX_DOCS {
            return Err(ComposeError::TooManyDocs(docs));
        }
        match scenario {
            Scenario::Standard => Ok(()),
            Scenario::Integration if signal_count(docs, p) == 0 => {
                Err(ComposeError::NoSignalInIntegration { docs, p })
            }
            _ if docs == 0 => Err(ComposeError::NoDocs(scenario)),
            _ => Ok(()),
        }
    }
}

/// What composition may draw from for one question.
#[derive(Debug, Clone, Copy)]
pub struct Pools<'a> {
    /// The question's own documents, in file order.
    pub signal: &'a [Document],
    /// The question's sub-questions.
    pub sub_questions: &'a [SubQuestion],
    /// The adversarial versions of its documents.
    pub counterfactuals: &'a [Counterfactual],
    /// The signal documents of every question of the dataset; the question's own are left out when drawing.
    pub noise: &'a NoisePool,
}

/// Writes a condition as plans and figures show it: standard, which ignores p, has none (null). To be named by
/// `serialize_with`; stored records keep what was asked for.
///
/// # Errors
/// Those of the serializer.
pub fn serialize_shown<S: serde::Serializer>(
    condition: &Condition,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Shown {
        scenario: Scenario,
        docs: usize,
        p: Option<f64>,
        seed: u64,
        mode: Mode,
        source: SourceFilter,
    }
    let Condition {
        scenario,
        docs,
        p,
        seed,
        mode,
        source,
    } = *condition;
    let p = (scenario != Scenario::Standard).then_some(p);
    Shown {
        scenario,
        docs,
        p,
        seed,
        mode,
        source,
    }
    .serialize(serializer)
}

/// A document as it stands in a context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextDocument {
    /// `DOC_1`, `DOC_2`, … in context order: all that a model sees of its identity.
    pub label: String,
    /// The dataset's id (for an adversarial document the id of its original).
    pub id: String,
    /// Signal, noise or adversarial.
    pub role: Role,
    /// The original's id; only for adversarial documents.
    pub original_id: Option<String>,
    /// Where it was retrieved from, if known.
    pub source: Option<Source>,
    /// May be empty.
    pub title: String,
    /// The text the model sees (edited, for adversarial documents).
    pub content: String,
    /// For noise: the question whose signal document it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_question: Option<String>,
}

/// A sub-question asked in a context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextSubQuestion {
    /// The sub-question.
    pub question: String,
    /// The true answer (of the original document).
    pub answer: String,
    /// The label of its document.
    pub label: String,
    /// The planted, wrong answer where that document is adversarial.
    pub planted: Option<String>,
}

/// Everything a model gets to see for one question under one condition, with the roles it must not see.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// The question's id.
    pub question_id: String,
    /// Which test.
    pub scenario: Scenario,
    /// Documents asked for.
    pub docs_requested: usize,
    /// Documents there are.
    pub docs: usize,
    /// Per cent asked for, 0 to 100.
    pub p_requested: f64,
    /// Per cent there is, 0 to 100 (0 where there is no document).
    pub p: f64,
    /// Seed of all random draws.
    pub seed: u64,
    /// Nested or independent draws.
    pub mode: Mode,
    /// Which signal documents were allowed.
    #[serde(default)]
    pub source: SourceFilter,
    /// Fewer documents than asked for.
    pub short: bool,
    /// What was changed by hand after composing; `None` for a composed context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The documents in context order.
    pub documents: Vec<ContextDocument>,
    /// The sub-questions in the order they are asked.
    pub sub_questions: Vec<ContextSubQuestion>,
}

/// Why a context can't be composed: always a fault of the request, said in one sentence.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ComposeError {
    /// `p` outside 0 to 100 or not a number.
    #[error("p is {}, but it must be a number from 0 to 100", number(*.0))]
    BadP(f64),
    /// Integration without any signal document asks nothing.
    #[error(
        "integration needs at least one signal document, but n = {docs} at p = {p} % gives none; raise n or p"
    )]
    NoSignalInIntegration {
        /// Documents asked for.
        docs: usize,
        /// Per cent asked for.
        p: f64,
    },
    /// A context without documents, where the test is about documents.
    #[error("{0} needs at least one document, but n is 0; only standard can go without documents")]
    NoDocs(Scenario),
    /// More documents than the program allows in one context.
    #[error("n is {0}, but at most {max} documents fit into one context", max = MAX_DOCS)]
    TooManyDocs(usize),
    /// Nothing to compose from.
    #[error("question {id} has no document that {scenario} can use: {need}", id = short(question_id))]
    NothingToUse {
        /// The question.
        question_id: String,
        /// Which test.
        scenario: Scenario,
        /// What is missing.
        need: &'static str,
    },
}

/// The largest `n` accepted.
pub const MAX_DOCS: usize = 1000;

/// How many of `docs` documents are signal (robustness: original) at `p` per cent: `floor(n·p/100 + ½)`.
///
/// `p` must lie in 0 to 100; the result is then at most `docs`.
pub fn signal_count(docs: usize, p: f64) -> usize {
    // A float of this size converts exactly; a negative or NaN one becomes 0.
    ((docs as f64 * p / 100.0 + 0.5).floor() as usize).min(docs)
}

/// For each document of `after`, by position: whether it is new, or plays another role, compared with `before`.
pub fn changed_documents(before: &Context, after: &Context) -> Vec<bool> {
    let known: HashSet<(&str, Role)> = before
        .documents
        .iter()
        .map(|document| (document.id.as_str(), document.role))
        .collect();
    after
        .documents
        .iter()
        .map(|document| !known.contains(&(document.id.as_str(), document.role)))
        .collect()
}
