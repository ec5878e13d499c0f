//! What became of the items of a stage, question by question.

use std::collections::HashMap;

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

/// What became of the items of one question in one stage. Every item is made, dropped or failed; one that failed or was
/// dropped now is made all the same where an earlier one stays.
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
    /// Of the items made, those of an earlier run that stay since no better ones came: why none did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stayed: Vec<Loss>,
    /// Items that are to be made, or made anew: what they rest on is new or has changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub due: Vec<Loss>,
    /// Why there was nothing to make for the question; empty where there was.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nothing: String,
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

    /// An item of an earlier run that stays, with its flaws.
    pub fn stay(&mut self, item: &str, reason: impl Into<String>, flaws: &str) {
        self.stayed.push(loss(item, reason));
        self.keep(item, 0, flaws);
    }

    /// An item that is to be made; each is said once.
    pub fn owe(&mut self, item: &str, reason: impl Into<String>) {
        self.due.retain(|known| known.item != item);
        self.due.push(loss(item, reason));
    }

    /// Items that were made or asked for.
    pub fn asked(&self) -> usize {
        let stands = |lost: &&Loss| self.stayed.iter().any(|stays| stays.item == lost.item);
        let silent = self.failed.iter().filter(|lost| !stands(lost)).count();
        self.made + self.dropped.len() + silent
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

    /// Items of an earlier run that stay.
    pub fn stayed(&self) -> usize {
        self.sum(|report| report.stayed.len())
    }

    /// Items that this run itself has made.
    pub fn fresh(&self) -> usize {
        self.made().saturating_sub(self.stayed())
    }

    /// Items that are to be made.
    pub fn due(&self) -> usize {
        self.sum(|report| report.due.len())
    }

    /// Questions for which there was nothing to make.
    pub fn nothing(&self) -> usize {
        self.sum(|report| usize::from(!report.nothing.is_empty()))
    }

    /// Items that were made or asked for.
    pub fn asked(&self) -> usize {
        self.sum(QuestionReport::asked)
    }

    /// Why there was nothing to make, for each question where that was so.
    pub fn nothings(&self) -> Vec<(&str, Loss)> {
        let with = self.questions.iter();
        with.filter(|(_, report)| !report.nothing.is_empty())
            .map(|(id, report)| (id.as_str(), loss("", report.nothing.as_str())))
            .collect()
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
/// numbers are one. What differs is left open in the words of a group, what all share is not.
pub fn by_reason<'a>(losses: impl Iterator<Item = (&'a str, &'a Loss)>) -> Vec<Reason<'a>> {
    let mut groups: Vec<(String, Vec<(&str, &Loss)>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (question, loss) in losses {
        let key: String = pieces(&loss.reason).iter().map(Piece::key).collect();
        let place = *places.entry(key.clone()).or_insert(groups.len());
        if place == groups.len() {
            groups.push((key, Vec::new()));
        }
        if let Some((_, all)) = groups.get_mut(place) {
            all.push((question, loss));
        }
    }
    let mut groups: Vec<Reason<'_>> = groups
        .into_iter()
        .map(|(_, all)| (common(&all), all))
        .collect();
    groups.sort_by_key(|(_, all)| std::cmp::Reverse(all.len()));
    groups
}

/// A part of a reason.
enum Piece<'a> {
    /// Words that make the reason what it is.
    Fixed(&'a str),
    /// What may differ from item to item: a number, or what is quoted.
    Number(&'a str),
    Quoted(&'a str),
}

impl Piece<'_> {
    /// What reasons of one group have in common.
    fn key(&self) -> &str {
        match self {
            Piece::Fixed(text) => text,
            Piece::Number(_) => "\u{1}",
            Piece::Quoted(_) => "\u{2}",
        }
    }

    fn text(&self) -> &str {
        let (Piece::Fixed(text) | Piece::Number(text) | Piece::Quoted(text)) = self;
        text
    }
}

/// A reason as fixed words, numbers and quotations; the quotation marks belong to the fixed words.
fn pieces(reason: &str) -> Vec<Piece<'_>> {
    let mut all = Vec::new();
    for (at, part) in reason.split('"').enumerate() {
        if at > 0 {
            all.push(Piece::Fixed("\""));
        }
        // Every second part stands between quotation marks.
        match at % 2 {
            1 => all.push(Piece::Quoted(part)),
            _ => numbers(part, &mut all),
        }
    }
    all
}

fn numbers<'a>(part: &'a str, all: &mut Vec<Piece<'a>>) {
    let mut rest = part;
    while let Some(first) = rest.chars().next() {
        let is_number = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != is_number);
        let (now, later) = rest.split_at(end.unwrap_or(rest.len()));
        all.push(match is_number {
            true => Piece::Number(now),
            false => Piece::Fixed(now),
        });
        rest = later;
    }
}

/// The words of a group: what differs between its reasons is left open.
fn common(losses: &[(&str, &Loss)]) -> String {
    let Some(((_, first), others)) = losses.split_first() else {
        return String::new();
    };
    let mut shared: Vec<Option<String>> = pieces(&first.reason)
        .iter()
        .map(|piece| Some(piece.text().to_owned()))
        .collect();
    for (_, other) in others
        .iter()
        .filter(|(_, other)| other.reason != first.reason)
    {
        for (own, piece) in shared.iter_mut().zip(pieces(&other.reason)) {
            if own.as_deref() != Some(piece.text()) {
                *own = None;
            }
        }
    }
    let open = |piece: Option<String>| piece.unwrap_or_else(|| "…".to_owned());
    shared.into_iter().map(open).collect()
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
                ("no reply came within 6 s", 1)
            ]
        );
    }

    #[test]
    fn what_all_reasons_share_is_shown_as_it_was() {
        let lost = |reason: &str| loss("d", reason);
        let losses = [
            lost("http://127.0.0.1:80/v1 sent 3 bytes"),
            lost("http://127.0.0.1:80/v1 sent 14 bytes"),
        ];
        let groups = by_reason(losses.iter().map(|loss| ("q", loss)));
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].0, "http://127.0.0.1:80/v1 sent … bytes");
    }

    #[test]
    fn an_item_that_failed_and_stays_is_counted_once() {
        let mut own = QuestionReport::default();
        own.keep("a", 0, "");
        own.fail("b", "no reply came");
        own.stay("b", "no reply came", "");
        own.fail("c", "no reply came");
        own.owe("d", "new");
        own.owe("d", "newer");
        assert_eq!((own.made, own.asked(), own.due.len()), (2, 3, 1));
        let report = StageReport {
            questions: vec![("q".into(), own)],
        };
        assert_eq!((report.fresh(), report.stayed()), (1, 1));
    }
}
