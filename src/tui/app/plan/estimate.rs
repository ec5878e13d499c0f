//! What a sweep will ask.

use crate::domain::context::Condition;
use crate::domain::cost::Cost;

/// What a sweep will ask.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Estimate {
    /// The models' own names.
    pub model: String,
    /// Cautions about them.
    pub caution: Option<String>,
    /// Questions looked at.
    pub questions: usize,
    /// The conditions, each with all its seeds, over all models and repeats.
    pub conditions: Vec<EstimatedCondition>,
    /// Instances that can be asked.
    pub instances: usize,
    /// Instances that the run holds a reply to.
    pub done: usize,
    /// Instances whose reply will be taken over from another run.
    pub to_reuse: usize,
    /// Calls.
    pub to_ask: usize,
    /// Instances without a reply that do not fit the model's window: no call is made for them.
    pub too_long: usize,
    /// Predicted prompt tokens of the calls.
    pub tokens: u64,
    /// Tokens of their replies at most.
    pub reply_tokens: u64,
    /// The most calls at a time.
    pub concurrency: usize,
    /// What the calls are predicted to cost.
    pub cost: Cost,
    /// What a judge will be asked afterwards.
    pub judge: Option<JudgePlan>,
    /// What earlier replies say about the time.
    pub time: Option<TimeEstimate>,
    /// What should be known before anything runs.
    pub notes: Vec<String>,
}

/// What a judge will be asked.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgePlan {
    /// The name under which its judgements are stored.
    pub name: String,
    /// Sub-answers that the run holds a judgement of.
    pub done: usize,
    /// Calls at most: a skipped sub-answer needs none.
    pub calls: usize,
    /// Predicted tokens of their prompts.
    pub tokens: u64,
    /// What they are predicted to cost.
    pub cost: Cost,
}

/// How long the calls will take by earlier replies of the models and by their limits per minute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeEstimate {
    /// Mean seconds of an earlier reply; `None` where there is none.
    pub per_reply: Option<f64>,
    /// Replies that this is taken from.
    pub replies: usize,
    /// Seconds for all calls, that many at a time.
    pub seconds: f64,
    /// Whether it may take longer: only the limits per minute are known.
    pub at_least: bool,
}

/// What a sweep will ask under one condition.
#[derive(Debug, Clone, PartialEq)]
pub struct EstimatedCondition {
    /// Which.
    pub condition: Condition,
    /// Instances that can be asked.
    pub instances: usize,
    /// Questions that have nothing to compose from.
    pub without: usize,
    /// Instances with fewer documents than asked for.
    pub short: usize,
    /// Instances that do not fit the model's window.
    pub overflow: usize,
    /// Instances that the run holds a reply to.
    pub done: usize,
    /// Calls.
    pub to_ask: usize,
    /// Predicted prompt tokens of the calls.
    pub tokens: u64,
}

impl EstimatedCondition {
    /// Nothing to ask under a condition.
    pub fn none(condition: Condition) -> EstimatedCondition {
        EstimatedCondition {
            condition,
            instances: 0,
            without: 0,
            short: 0,
            overflow: 0,
            done: 0,
            to_ask: 0,
            tokens: 0,
        }
    }
}
