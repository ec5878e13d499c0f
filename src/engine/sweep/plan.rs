//! What a sweep will ask: every instance that can be composed and that the run holds no reply to.

use serde::Serialize;

use crate::data::store::Store;
use crate::engine::instance::Instance;
use crate::engine::survey::{ConditionCounts, Place};
use crate::engine::sweep::Sweep;
use crate::engine::sweep::held::{Held, held};
use crate::engine::sweep::reuse::is_known;
use crate::model::tokens::estimate;

/// A condition with what of it is done and what is to be asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedCondition {
    /// Instances, shortfalls, predicted tokens.
    #[serde(flatten)]
    pub counts: ConditionCounts,
    /// Instances that the run holds a reply to.
    pub done: usize,
    /// Instances whose reply will be taken over from another run.
    pub to_reuse: usize,
    /// Instances that will be asked.
    pub to_ask: usize,
    /// Instances without a reply that do not fit the model's window: no call is made for them.
    pub too_long: usize,
    /// Predicted prompt tokens of those that will be asked.
    pub tokens_to_ask: u64,
    /// Sub-questions of all instances that have a reply or will get one.
    pub sub_questions: usize,
    /// Predicted tokens of these sub-questions with their true answers, those taken for the given ones too: what
    /// a judge's prompts hold beside their frame.
    pub sub_question_tokens: u64,
}

/// What a sweep will do.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The conditions in the sweep's order.
    pub conditions: Vec<PlannedCondition>,
    /// What will be asked or taken over, or put on record because it does not fit, in this order: questions in file order, all conditions of a question one after
    /// another, since their prompts have most in common.
    pub todo: Vec<Place>,
    /// Every instance that can be asked, in the same order.
    pub all: Vec<Place>,
    /// What the user should know before anything runs.
    pub notes: Vec<String>,
}

impl Plan {
    /// Instances that can be asked.
    pub fn instances(&self) -> usize {
        self.sum(|condition| condition.counts.instances)
    }

    /// Instances that the run holds a reply to.
    pub fn done(&self) -> usize {
        self.sum(|condition| condition.done)
    }

    /// Instances that will be asked.
    pub fn to_ask(&self) -> usize {
        self.sum(|condition| condition.to_ask)
    }

    /// Instances that do not fit the model's window.
    pub fn too_long(&self) -> usize {
        self.sum(|condition| condition.too_long)
    }

    /// Instances whose reply will be taken over from another run.
    pub fn to_reuse(&self) -> usize {
        self.sum(|condition| condition.to_reuse)
    }

    /// Sub-questions that a judge would look at, and their predicted tokens.
    pub fn sub_questions(&self) -> (usize, u64) {
        let tokens = self.conditions.iter().map(|c| c.sub_question_tokens).sum();
        (self.sum(|condition| condition.sub_questions), tokens)
    }

    /// Predicted prompt tokens of what will be asked; prompts that do not fit are never sent.
    pub fn tokens_to_ask(&self) -> u64 {
        self.conditions.iter().map(|c| c.tokens_to_ask).sum()
    }

    fn sum(&self, of: impl Fn(&PlannedCondition) -> usize) -> usize {
        self.conditions.iter().map(of).sum()
    }
}

/// A part of the plan, made by one thread.
struct Part {
    conditions: Vec<PlannedCondition>,
    todo: Vec<Place>,
    all: Vec<Place>,
    /// Predicted tokens of the longest prompt that will be asked.
    longest: u64,
    /// Why the store could not say what it holds.
    fault: Option<String>,
}

/// Plans a sweep: composes every instance and looks up what the run in `store` holds. `progress` gets the
/// number of questions looked at.
///
/// # Errors
/// One sentence: the run can't be read, it belongs to another dataset, model, sampling or prompt, a template is
/// broken, or a request is larger than what the provider allows in a minute.
pub fn plan(
    sweep: &Sweep,
    store: Option<&Store>,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Plan, String> {
    let held = held(sweep, store)?;
    let start = || Part {
        conditions: sweep.conditions.iter().map(|c| nothing(*c)).collect(),
        todo: Vec::new(),
        all: Vec::new(),
        longest: 0,
        fault: None,
    };
    let to_search = store.filter(|_| sweep.reuse);
    let parts = sweep
        .space()
        .walk(
            start,
            |part, place, instance| {
                let condition = &mut part.conditions[place.condition];
                let tokens = condition.counts.add(instance, sweep.room());
                let Some(instance) = instance else { return };
                part.all.push(place);
                let known = || match to_search {
                    Some(store) => is_known(sweep, instance, store),
                    None => Ok(false),
                };
                let decision = decide(sweep, &held, place, tokens);
                if matches!(decision, Decision::Done | Decision::Ask) {
                    count_sub_questions(condition, instance);
                }
                if decision != Decision::Done && !sweep.room().fits(tokens) {
                    condition.too_long += 1;
                }
                match decision {
                    Decision::Leave => return,
                    Decision::Done => {
                        condition.done += 1;
                        return;
                    }
                    Decision::TooLong => {}
                    Decision::Ask => match known() {
                        Ok(true) => condition.to_reuse += 1,
                        Ok(false) => {
                            condition.to_ask += 1;
                            condition.tokens_to_ask += tokens;
                            part.longest = part.longest.max(tokens);
                        }
                        Err(why) => part.fault = Some(why),
                    },
                }
                part.todo.push(place);
            },
            progress,
        )
        .map_err(|error| error.to_string())?;
    let mut plan = Plan {
        conditions: sweep.conditions.iter().map(|c| nothing(*c)).collect(),
        todo: Vec::new(),
        all: Vec::new(),
        notes: held.notes,
    };
    let mut longest = 0;
    for part in parts {
        if let Some(why) = part.fault {
            return Err(why);
        }
        longest = longest.max(part.longest);
        for (sum, counted) in plan.conditions.iter_mut().zip(&part.conditions) {
            sum.counts.merge(&counted.counts);
            sum.done += counted.done;
            sum.to_reuse += counted.to_reuse;
            sum.to_ask += counted.to_ask;
            sum.too_long += counted.too_long;
            sum.sub_questions += counted.sub_questions;
            sum.sub_question_tokens += counted.sub_question_tokens;
            sum.tokens_to_ask += counted.tokens_to_ask;
        }
        plan.todo.extend(part.todo);
        plan.all.extend(part.all);
    }
    fits_a_minute(sweep, longest)?;
    Ok(plan)
}

/// A request larger than a whole minute's tokens would be refused again and again, or keep all others waiting.
fn fits_a_minute(sweep: &Sweep, longest: u64) -> Result<(), String> {
    let most = sweep.sampling.max_tokens;
    match sweep.limits.tokens_per_minute {
        Some(limit) if longest > 0 && longest + u64::from(most) > u64::from(limit) => Err(format!(
            "the longest request may take {} tokens (about {longest} in the prompt, {most} in the reply), and {limit} a minute are allowed (--tpm, or tpm in the config); allow more, take fewer documents or a smaller --max-tokens",
            longest + u64::from(most)
        )),
        _ => Ok(()),
    }
}

fn nothing(condition: crate::domain::context::Condition) -> PlannedCondition {
    PlannedCondition {
        counts: ConditionCounts::new(condition),
        done: 0,
        to_reuse: 0,
        to_ask: 0,
        too_long: 0,
        tokens_to_ask: 0,
        sub_questions: 0,
        sub_question_tokens: 0,
    }
}

/// What is to be done with an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    /// The run holds its reply.
    Done,
    /// It is asked, unless its reply can be taken over.
    Ask,
    /// It is "asked" once, which makes no call but a record that says that it does not fit.
    TooLong,
    /// Nothing.
    Leave,
}

/// What is to be done with an instance. One that does not fit the window is left alone once that is on record, as
/// long as it does not fit.
fn decide(sweep: &Sweep, held: &Held, place: Place, tokens: u64) -> Decision {
    if held.done.contains(&place) {
        return Decision::Done;
    }
    let fits = sweep.room().fits(tokens);
    if !fits && held.overflow.contains(&place) {
        return Decision::Leave;
    }
    if sweep.only_failed && !held.failed.contains(&place) {
        return Decision::Leave;
    }
    match fits {
        true => Decision::Ask,
        false => Decision::TooLong,
    }
}

fn count_sub_questions(condition: &mut PlannedCondition, instance: &Instance) {
    let subs = &instance.context.sub_questions;
    condition.sub_questions += subs.len();
    condition.sub_question_tokens += subs
        .iter()
        .map(|sub| estimate(&sub.question) + 2 * estimate(&sub.answer))
        .sum::<u64>();
}
