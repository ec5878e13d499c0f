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
    /// An item whose replies broke the rules to the last.
    pub fn drop(&mut self, item: &str, reason: impl Into<String>) {
        self.dropped.push(loss(item, reason));
    }

    /// An item for which no reply came.
    pub fn fail(&mut self, item: &str, reason: impl Into<String>) {
        self.failed.push(loss(item, reason));
    }

    /// A web page that was not read.
    pub fn skip(&mut self, item: &str, reason: impl Into<String>) {
        self.skipped.push(loss(item, reason));
    }

    /// Counts an item that is made.
    pub fn keep(&mut self, item: &str, repairs: u32, flaws: &str) {
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

    /// Takes in newer reports: those of other questions stay.
    pub fn take_in(&mut self, newer: &StageReport) {
        for (id, report) in &newer.questions {
            match self.questions.iter_mut().find(|(known, _)| known == id) {
                Some((_, own)) => own.clone_from(report),
                None => self.questions.push((id.clone(), report.clone())),
            }
        }
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

/// Losses of one kind, and what is common to their reasons.
pub type Reason<'a> = (String, Vec<(&'a str, &'a Loss)>);

/// Losses grouped by what went wrong, the most frequent first: reasons that differ only in what they quote and in their
/// numbers are one.
pub fn by_reason<'a>(losses: impl Iterator<Item = (&'a str, &'a Loss)>) -> Vec<Reason<'a>> {
    let mut groups: Vec<Reason<'a>> = Vec::new();
    for (question, loss) in losses {
        let reason = common(&loss.reason);
        match groups.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, all)) => all.push((question, loss)),
            None => groups.push((reason, vec![(question, loss)])),
        }
    }
    groups.sort_by_key(|(_, all)| std::cmp::Reverse(all.len()));
    groups
}

/// A reason without what it quotes, and with its numbers left open.
fn common(reason: &str) -> String {
    let mut out = String::new();
    for (at, piece) in reason.split('"').enumerate() {
        // Every second piece stands between quotation marks.
        if at % 2 == 1 {
            out.push_str("\"…\"");
            continue;
        }
        let mut in_number = false;
        for c in piece.chars() {
            match (c.is_ascii_digit(), in_number) {
                (true, true) => {}
                (true, false) => out.push('N'),
                (false, _) => out.push(c),
            }
            in_number = c.is_ascii_digit();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_that_differ_in_words_quoted_and_numbers_are_one() {
        let lost = |reason: &str| loss("d", reason);
        let losses = [
            lost("the answer \"iron\" does not stand in the document"),
            lost("no reply came within 6 s"),
            lost("the answer \"12 mg\" does not stand in the document"),
        ];
        let groups = by_reason(losses.iter().map(|loss| ("q", loss)));
        let shown: Vec<(&str, usize)> = groups
            .iter()
            .map(|(reason, all)| (reason.as_str(), all.len()))
            .collect();
        assert_eq!(
            shown,
            [
                ("the answer \"…\" does not stand in the document", 2),
                ("no reply came within N s", 1)
            ]
        );
    }
}
