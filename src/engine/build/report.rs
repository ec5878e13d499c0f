//! What became of the items of a stage, question by question.

use serde::{Deserialize, Serialize};

/// An item that is not in the dataset, or is there with a flaw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// The document's id, the topic or the address; empty for the question itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub item: String,
    /// Why, in one sentence.
    pub reason: String,
}

/// What became of the items of one question in one stage. Every item is made, dropped or failed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct QuestionReport {
    /// Items that are in the dataset.
    pub made: usize,
    /// Of these, those that were asked for more than once.
    pub repaired: usize,
    /// Items whose replies broke the rules to the last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<Loss>,
    /// Items for which no reply came; the same command asks again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Loss>,
    /// Items that are in the dataset although a rule is broken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flawed: Vec<Loss>,
    /// Web pages that were not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Loss>,
}

impl QuestionReport {
    pub(super) fn drop(&mut self, item: &str, reason: impl Into<String>) {
        self.dropped.push(loss(item, reason));
    }

    pub(super) fn fail(&mut self, item: &str, reason: impl Into<String>) {
        self.failed.push(loss(item, reason));
    }

    pub(super) fn skip(&mut self, item: &str, reason: impl Into<String>) {
        self.skipped.push(loss(item, reason));
    }

    /// Counts an item that is made.
    pub(super) fn keep(&mut self, item: &str, repairs: u32, flaws: &str) {
        self.made += 1;
        self.repaired += usize::from(repairs > 0);
        if !flaws.is_empty() {
            self.flawed.push(loss(item, flaws));
        }
    }
}

fn loss(item: &str, reason: impl Into<String>) -> Loss {
    Loss {
        item: item.to_owned(),
        reason: reason.into(),
    }
}

/// The questions of a stage with their reports, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StageReport {
    /// Question id and report.
    pub questions: Vec<(String, QuestionReport)>,
}

impl StageReport {
    fn sum(&self, count: impl Fn(&QuestionReport) -> usize) -> usize {
        self.questions.iter().map(|(_, report)| count(report)).sum()
    }

    /// Items that are in the dataset.
    pub fn made(&self) -> usize {
        self.sum(|report| report.made)
    }

    /// Of these, those that were asked for more than once.
    pub fn repaired(&self) -> usize {
        self.sum(|report| report.repaired)
    }

    /// Items that were dropped.
    pub fn dropped(&self) -> usize {
        self.sum(|report| report.dropped.len())
    }

    /// Items for which no reply came.
    pub fn failed(&self) -> usize {
        self.sum(|report| report.failed.len())
    }

    /// Items with a flaw.
    pub fn flawed(&self) -> usize {
        self.sum(|report| report.flawed.len())
    }

    /// Web pages that were not read.
    pub fn skipped(&self) -> usize {
        self.sum(|report| report.skipped.len())
    }

    /// Every loss of a kind with its question.
    pub fn losses(
        &self,
        of: impl Fn(&QuestionReport) -> &[Loss],
    ) -> impl Iterator<Item = (&str, &Loss)> {
        self.questions.iter().flat_map(move |(id, report)| {
            let id = id.as_str();
            of(report).iter().map(move |loss| (id, loss))
        })
    }
}
