//! The stages of making a benchmark: what each will ask for, and what it has asked.

use serde::Serialize;

use crate::domain::build::StageReport;

/// A stage of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// A model writes search topics for each question.
    Topics,
    /// The topics are searched for; what is found becomes the signal documents.
    Retrieve,
    /// A model writes a sub-question for each document.
    SubQuestions,
    /// A model edits each document that has one.
    Adversarial,
}

impl Stage {
    /// All stages in their order.
    pub const ALL: [Stage; 4] = [
        Stage::Topics,
        Stage::Retrieve,
        Stage::SubQuestions,
        Stage::Adversarial,
    ];

    /// The name on the command line, in the ledger and in the report.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Topics => "topics",
            Stage::Retrieve => "retrieve",
            Stage::SubQuestions => "subqa",
            Stage::Adversarial => "counterfactual",
        }
    }

    /// One thing that it makes, for people.
    pub fn noun(self) -> &'static str {
        match self {
            Stage::Topics => "topic",
            Stage::Retrieve => "document",
            Stage::SubQuestions => "sub-question",
            Stage::Adversarial => "adversarial edit",
        }
    }

    /// What it makes, for people.
    pub fn words(self) -> &'static str {
        match self {
            Stage::Topics => "search topics",
            Stage::Retrieve => "documents",
            Stage::SubQuestions => "sub-questions",
            Stage::Adversarial => "adversarial edits",
        }
    }
}

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// Calls of a model.
    pub asked: usize,
    /// Answers that the ledger had.
    pub reused: usize,
    /// Calls that gave no reply.
    pub failed: usize,
    /// Prompt tokens as the backend reports them.
    pub prompt_tokens: u64,
    /// Reply tokens as the backend reports them.
    pub completion_tokens: u64,
}

/// What a stage will ask for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StagePlan {
    /// The stage.
    pub stage: &'static str,
    /// Items of it: questions, documents.
    pub items: usize,
    /// Calls that the ledger has answers for.
    pub answered: usize,
    /// Calls if no reply has to be repaired.
    pub calls: usize,
    /// Calls if every reply has to be repaired to the last.
    pub calls_at_most: usize,
    /// Predicted tokens of the prompts of `calls`.
    pub prompt_tokens: u64,
    /// Predicted tokens of their replies.
    pub reply_tokens: u64,
    /// Whether the number of items is a guess, since the stage before has not run yet.
    pub guessed: bool,
    /// Predicted seconds; `None` where calls of this model have not been timed yet.
    pub seconds: Option<f64>,
}

/// What plans add up to.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Predicted {
    /// Calls if no reply has to be repaired.
    pub calls: usize,
    /// Calls if every reply has to be repaired to the last.
    pub calls_at_most: usize,
    /// Predicted tokens of the prompts.
    pub prompt_tokens: u64,
    /// Predicted tokens of the replies.
    pub reply_tokens: u64,
    /// Predicted seconds; `None` where calls of this model have not been timed yet.
    pub seconds: Option<f64>,
}

impl Predicted {
    /// What these plans add up to.
    pub fn of(plans: &[StagePlan]) -> Predicted {
        Predicted {
            calls: plans.iter().map(|plan| plan.calls).sum(),
            calls_at_most: plans.iter().map(|plan| plan.calls_at_most).sum(),
            prompt_tokens: plans.iter().map(|plan| plan.prompt_tokens).sum(),
            reply_tokens: plans.iter().map(|plan| plan.reply_tokens).sum(),
            seconds: plans.iter().map(|plan| plan.seconds).sum(),
        }
    }

    /// Predicted dollars by dollars per million prompt and reply tokens; `None` where one is not known.
    pub fn dollars(&self, (price_in, price_out): (Option<f64>, Option<f64>)) -> Option<f64> {
        let prompt = self.prompt_tokens as f64 * price_in?;
        Some((prompt + self.reply_tokens as f64 * price_out?) / 1e6)
    }
}

/// What the folder of a build holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Held {
    /// Whether a build has begun there; else the folder is new, or is not there.
    pub begun: bool,
    /// Whether it holds documents: found by a stage, or copied from where the questions come from.
    pub documents: bool,
    /// Ids of its questions, in order.
    pub questions: Vec<String>,
    /// What became of the items of each stage; `None` where it has not been through.
    pub stages: [Option<StageReport>; 4],
    /// The indexes that were searched.
    pub indexes: Vec<String>,
    /// Search topics per question, as they were asked for.
    pub topics: Option<usize>,
    /// Documents per topic.
    pub per_topic: Option<usize>,
    /// Web pages per question.
    pub pages: Option<usize>,
    /// How often an item was asked for again.
    pub repairs: Option<u32>,
    /// Whether a model checked too.
    pub model_checks: Option<bool>,
}
