//! Scores of one instance and their sums: every rate carries its numerator and denominator.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::answer::{Outcome, ParsedReply};
use crate::domain::context::Context;
use crate::domain::passage::Role;
use crate::domain::question::Question;

/// A numerator and its denominator; rates are pooled by adding both.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Ratio {
    /// What counted.
    pub num: f64,
    /// Out of how much.
    pub den: f64,
}

impl Ratio {
    /// The rate, or `None` where the denominator is zero (never NaN).
    pub fn value(self) -> Option<f64> {
        (self.den > 0.0).then(|| self.num / self.den)
    }

    /// Pools two ratios.
    pub fn add(&mut self, other: Ratio) {
        self.num += other.num;
        self.den += other.den;
    }
}

/// The metrics of the benchmark, named as in its definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // the names are the definitions' own
pub enum Metric {
    MainAccuracy,
    InsufficientRate,
    AccuracyWhenAnswered,
    NoiseDetectionAccuracy,
    NoiseDetectionLabelled,
    NoiseRecall,
    NoisePrecision,
    SignalRecall,
    SubExactMatch,
    SubExactMatchSquad,
    SubTokenF1,
    SubJudgeScore,
    AttributionAccuracy,
    FactualErrorDetection,
    AdversarialRecall,
    FalseAlarmRate,
    MisinformationAdopted,
}

/// What a reply said about a document's relevance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Labelled {
    /// Only in the relevant list.
    Relevant,
    /// Only in the irrelevant list.
    Irrelevant,
    /// In both lists: wrong.
    Both,
    /// In neither: wrong once the reply is complete.
    Neither,
}

/// A document of a sufficiency context: the model's label against its role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DocumentScore {
    /// `DOC_k`.
    pub label: String,
    /// What it is.
    pub role: Role,
    /// What the reply called it.
    pub said: Labelled,
    /// Whether that is right.
    pub right: bool,
}

/// A sub-question's scores (integration and robustness).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubScore {
    /// The sub-question.
    pub question: String,
    /// Label of its document.
    pub label: String,
    /// The true answer.
    pub gold: String,
    /// The planted answer where the document is adversarial.
    pub planted: Option<String>,
    /// The given answer; `None` where it was skipped.
    pub given: Option<String>,
    /// Equal under the headline normalisation.
    pub exact: bool,
    /// Equal under SQuAD's normalisation.
    pub exact_squad: bool,
    /// Token F1 by multiset overlap, 0 to 1.
    pub f1: f64,
    /// Judge's score 0, 0.5 or 1 where there is one.
    pub judge: Option<f64>,
    /// Label of the document the reply named, if it resolves.
    pub named: Option<String>,
    /// Named the right document.
    pub attributed: bool,
    /// Robustness: the verdict ("factually correct"?).
    pub verdict: Option<bool>,
    /// Robustness: whether the verdict is right; a missing verdict is wrong.
    pub verdict_right: Option<bool>,
    /// Answered with the planted answer.
    pub adopted: bool,
    /// The echoed question is another one than asked.
    pub echo_differs: bool,
}

/// The scores of one reply in its context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// What became of the reply.
    pub outcome: Outcome,
    /// Right option chosen; `None` for a call that is not a reply.
    pub main_correct: Option<bool>,
    /// Sufficiency: one entry per document in context order; empty in other scenarios.
    pub documents: Vec<DocumentScore>,
    /// Integration and robustness: one entry per sub-question asked.
    pub subs: Vec<SubScore>,
    /// Every metric that applies to this scenario, with numerator and denominator.
    pub counts: BTreeMap<Metric, Ratio>,
}

/// Scores a reply in its context by the `paper` definitions.
pub fn score(question: &Question, context: &Context, reply: &ParsedReply) -> Scores {
    let _ = (question, context);
    Scores {
        outcome: reply.outcome,
        main_correct: None,
        documents: Vec::new(),
        subs: Vec::new(),
        counts: BTreeMap::new(),
    }
}
