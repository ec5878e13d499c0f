//! What was lost in the stages of a build: rows of groups with one reason, and their items.

use crate::domain::build::{Loss, Stage, StageReport, by_reason};

/// What became of an item that is not simply there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// No reply came; it is asked for again.
    Failed,
    /// What it rests on is new or has changed: it is to be made.
    Due,
    /// Its replies broke the rules to the last.
    Dropped,
    /// It is from an earlier run: no better one came.
    Stayed,
    /// A question for which there was nothing to make.
    Nothing,
    /// It is there with a flaw.
    Flawed,
    /// A web page that was not read.
    Skipped,
}

impl Fate {
    /// What is said of it.
    pub fn words(self) -> &'static str {
        match self {
            Fate::Failed => "no reply",
            Fate::Due => "to be made",
            Fate::Dropped => "dropped",
            Fate::Stayed => "from before",
            Fate::Nothing => "with nothing to make",
            Fate::Flawed => "kept with a flaw",
            Fate::Skipped => "page not read",
        }
    }
}

/// A row of what was lost: the head of a group, or one item of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// Items of a stage with one fate and one reason.
    Group {
        /// The stage.
        stage: Stage,
        /// What became of them.
        fate: Fate,
        /// What is common to their reasons.
        reason: String,
        /// How many.
        count: usize,
    },
    /// One of them.
    Item {
        /// The stage.
        stage: Stage,
        /// The question's id.
        question: String,
        /// The item and the reason as they were.
        loss: Loss,
    },
}

/// Items of a group that are listed.
const LISTED: usize = 50;

/// The rows of a stage's report.
pub(super) fn rows_of(stage: Stage, report: &StageReport) -> Vec<Row> {
    let mut rows = Vec::new();
    let nothings = report.nothings();
    let of = |fate| match fate {
        Fate::Failed => report.losses(|one| &one.failed).collect::<Vec<_>>(),
        Fate::Due => report.losses(|one| &one.due).collect(),
        Fate::Dropped => report.losses(|one| &one.dropped).collect(),
        Fate::Stayed => report.losses(|one| &one.stayed).collect(),
        Fate::Nothing => nothings.iter().map(|(id, loss)| (*id, loss)).collect(),
        Fate::Flawed => report.losses(|one| &one.flawed).collect(),
        Fate::Skipped => report.losses(|one| &one.skipped).collect(),
    };
    for fate in [
        Fate::Failed,
        Fate::Due,
        Fate::Dropped,
        Fate::Stayed,
        Fate::Flawed,
        Fate::Nothing,
        Fate::Skipped,
    ] {
        for (reason, losses) in by_reason(of(fate).into_iter()) {
            rows.push(Row::Group {
                stage,
                fate,
                reason,
                count: losses.len(),
            });
            rows.extend(
                losses
                    .into_iter()
                    .take(LISTED)
                    .map(|(question, loss)| Row::Item {
                        stage,
                        question: question.to_owned(),
                        loss: loss.clone(),
                    }),
            );
        }
    }
    rows
}
