//! Scores of one instance and their sums: every rate carries its numerator and denominator.

mod metric;
mod tally;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod worked;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::answer::{Outcome, ParsedReply, SubAnswer, echoes_another};
use crate::domain::context::{Context, ContextSubQuestion, Scenario};
use crate::domain::normalize::{same, same_squad, token_f1};
use crate::domain::passage::Role;
use crate::domain::question::Question;

pub use metric::Metric;
pub use tally::Tally;

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
    /// Judge's score 0, 0.5 or 1 where there is one; a skipped answer's is 0 once the reply was judged.
    pub judge: Option<f64>,
    /// Label of the document the reply named, if it resolves.
    pub named: Option<String>,
    /// Answered, and named the right document.
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
    /// Name of the judge model that gave the sub-questions' judge scores, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<String>,
}

impl Scores {
    /// Puts a judge model's scores in; `score_of` gives that of sub-question k with this answer, `None`
    /// where it has none (not judged yet, a judgement that failed or can't be read): it leaves the
    /// denominator. A skipped answer scores 0. Nothing changes for a call that is not a reply, and where
    /// nothing was asked.
    pub fn put_judge(&mut self, judge: &str, score_of: impl Fn(usize, &str) -> Option<f64>) {
        if !self.outcome.is_reply() || self.subs.is_empty() {
            return;
        }
        let mut sum = Ratio::default();
        for (k, row) in self.subs.iter_mut().enumerate() {
            row.judge = match &row.given {
                Some(given) => score_of(k, given),
                None => Some(0.0),
            };
            if let Some(score) = row.judge {
                sum.add(Ratio {
                    num: score,
                    den: 1.0,
                });
            }
        }
        self.judge = Some(judge.to_owned());
        self.counts.insert(Metric::SubJudgeScore, sum);
    }
}

/// Scores a reply in its context by the `paper` definitions.
///
/// The rows of `documents` and `subs` are there for every outcome, so a reply that is still arriving can
/// be shown with them; `counts` is empty for a call that is not a reply.
pub fn score(question: &Question, context: &Context, reply: &ParsedReply) -> Scores {
    let documents = match context.scenario {
        Scenario::Sufficiency => document_rows(context, reply),
        _ => Vec::new(),
    };
    let subs = match context.scenario {
        Scenario::Integration | Scenario::Robustness => sub_rows(context, reply),
        _ => Vec::new(),
    };
    let is_reply = reply.outcome.is_reply();
    let right = reply.outcome == Outcome::Answered && reply.answer == Some(question.answer);
    let mut counts = BTreeMap::new();
    if is_reply {
        main_counts(reply.outcome, right, &mut counts);
        match context.scenario {
            Scenario::Standard => {}
            Scenario::Sufficiency => document_counts(&documents, &mut counts),
            Scenario::Integration => sub_counts(&subs, &mut counts),
            Scenario::Robustness => {
                sub_counts(&subs, &mut counts);
                factual_counts(context, &subs, &mut counts);
            }
        }
    }
    Scores {
        outcome: reply.outcome,
        main_correct: is_reply.then_some(right),
        documents,
        subs,
        counts,
        judge: None,
    }
}

/// How many of the items fit, out of all of them.
fn share<T>(items: impl Iterator<Item = T>, fits: impl Fn(&T) -> bool) -> Ratio {
    let mut ratio = Ratio::default();
    for item in items {
        ratio.den += 1.0;
        ratio.num += f64::from(u8::from(fits(&item)));
    }
    ratio
}

fn main_counts(outcome: Outcome, right: bool, counts: &mut BTreeMap<Metric, Ratio>) {
    let one = |fits: bool| share([()].into_iter(), |()| fits);
    counts.insert(Metric::MainAccuracy, one(right));
    counts.insert(
        Metric::InsufficientRate,
        one(outcome == Outcome::Insufficient),
    );
    let answered = (outcome == Outcome::Answered).then_some(());
    counts.insert(
        Metric::AccuracyWhenAnswered,
        share(answered.into_iter(), |()| right),
    );
}

fn document_rows(context: &Context, reply: &ParsedReply) -> Vec<DocumentScore> {
    context
        .documents
        .iter()
        .enumerate()
        .map(|(at, document)| {
            let said = match (reply.relevant.contains(&at), reply.irrelevant.contains(&at)) {
                (true, true) => Labelled::Both,
                (true, false) => Labelled::Relevant,
                (false, true) => Labelled::Irrelevant,
                (false, false) => Labelled::Neither,
            };
            let wanted = match document.role {
                Role::Signal | Role::Adversarial => Labelled::Relevant,
                Role::Noise => Labelled::Irrelevant,
            };
            DocumentScore {
                label: document.label.clone(),
                role: document.role,
                said,
                right: said == wanted,
            }
        })
        .collect()
}

/// Detection over all documents and over labelled ones (one in both lists is labelled, and wrong);
/// noise recall over noise documents, noise precision over documents called irrelevant only, signal
/// recall over signal documents.
fn document_counts(rows: &[DocumentScore], counts: &mut BTreeMap<Metric, Ratio>) {
    let all = || rows.iter();
    counts.insert(
        Metric::NoiseDetectionAccuracy,
        share(all(), |row| row.right),
    );
    counts.insert(
        Metric::NoiseDetectionLabelled,
        share(all().filter(|row| row.said != Labelled::Neither), |row| {
            row.right
        }),
    );
    counts.insert(
        Metric::NoiseRecall,
        share(all().filter(|row| row.role == Role::Noise), |row| row.right),
    );
    counts.insert(
        Metric::NoisePrecision,
        share(
            all().filter(|row| row.said == Labelled::Irrelevant),
            |row| row.role == Role::Noise,
        ),
    );
    counts.insert(
        Metric::SignalRecall,
        share(all().filter(|row| row.role == Role::Signal), |row| {
            row.right
        }),
    );
}

fn sub_rows(context: &Context, reply: &ParsedReply) -> Vec<SubScore> {
    let asked: Vec<String> = context
        .sub_questions
        .iter()
        .map(|sub| sub.question.clone())
        .collect();
    context
        .sub_questions
        .iter()
        .enumerate()
        .map(|(k, sub)| {
            let given = reply.subs.get(k).and_then(Option::as_ref);
            let mut row = sub_row(context, sub, given);
            row.echo_differs = given
                .and_then(|given| given.question.as_deref())
                .is_some_and(|echo| echoes_another(echo, k, &asked));
            row
        })
        .collect()
}

/// Whether an answer to a sub-question adopts what was planted there: it is the planted answer under the
/// headline normalisation, and not the true one. One that only contains it does not count.
pub fn adopts(answer: &str, sub: &ContextSubQuestion) -> bool {
    let planted = sub.planted.as_deref();
    planted.is_some_and(|planted| same(answer, planted)) && !same(answer, &sub.answer)
}

fn sub_row(context: &Context, sub: &ContextSubQuestion, given: Option<&SubAnswer>) -> SubScore {
    let answer = given
        .and_then(|given| given.answer.clone())
        .filter(|answer| !answer.trim().is_empty());
    let text = answer.as_deref();
    let named = given
        .and_then(|given| context.documents.get(given.document?))
        .map(|document| document.label.clone());
    let verdict = given
        .and_then(|given| given.factual)
        .filter(|_| context.scenario == Scenario::Robustness);
    let factual = role_of(context, &sub.label) != Some(Role::Adversarial);
    SubScore {
        question: sub.question.clone(),
        label: sub.label.clone(),
        gold: sub.answer.clone(),
        planted: sub.planted.clone(),
        exact: text.is_some_and(|text| same(text, &sub.answer)),
        exact_squad: text.is_some_and(|text| same_squad(text, &sub.answer)),
        f1: text.map_or(0.0, |text| token_f1(text, &sub.answer)),
        judge: None,
        attributed: answer.is_some() && named.as_deref() == Some(sub.label.as_str()),
        named,
        verdict,
        verdict_right: (context.scenario == Scenario::Robustness)
            .then_some(verdict == Some(factual)),
        adopted: text.is_some_and(|text| adopts(text, sub)),
        given: answer,
        echo_differs: false,
    }
}

fn role_of(context: &Context, label: &str) -> Option<Role> {
    context
        .documents
        .iter()
        .find(|document| document.label == label)
        .map(|document| document.role)
}

/// Over the sub-questions asked: a skipped one counts as wrong.
fn sub_counts(rows: &[SubScore], counts: &mut BTreeMap<Metric, Ratio>) {
    let all = || rows.iter();
    counts.insert(Metric::SubExactMatch, share(all(), |row| row.exact));
    counts.insert(
        Metric::SubExactMatchSquad,
        share(all(), |row| row.exact_squad),
    );
    counts.insert(
        Metric::SubTokenF1,
        Ratio {
            num: all().map(|row| row.f1).sum(),
            den: rows.len() as f64,
        },
    );
    counts.insert(
        Metric::AttributionAccuracy,
        share(all(), |row| row.attributed),
    );
}

/// Verdict k belongs to the document of sub-question k; over all documents, so one without a verdict
/// counts as wrong. Adversarial recall is over adversarial documents, false alarms over original ones.
fn factual_counts(context: &Context, rows: &[SubScore], counts: &mut BTreeMap<Metric, Ratio>) {
    let judged: Vec<(Role, Option<bool>)> = context
        .documents
        .iter()
        .map(|document| {
            let row = rows.iter().find(|row| row.label == document.label);
            (document.role, row.and_then(|row| row.verdict))
        })
        .collect();
    let all = || judged.iter();
    let adversarial = |role: Role| role == Role::Adversarial;
    counts.insert(
        Metric::FactualErrorDetection,
        share(all(), |(role, verdict)| {
            *verdict == Some(!adversarial(*role))
        }),
    );
    let called_wrong = |(_, verdict): &&(Role, Option<bool>)| *verdict == Some(false);
    counts.insert(
        Metric::AdversarialRecall,
        share(all().filter(|(role, _)| adversarial(*role)), called_wrong),
    );
    counts.insert(
        Metric::FalseAlarmRate,
        share(all().filter(|(role, _)| !adversarial(*role)), called_wrong),
    );
    counts.insert(
        Metric::MisinformationAdopted,
        share(rows.iter().filter(|row| row.planted.is_some()), |row| {
            row.adopted
        }),
    );
}
