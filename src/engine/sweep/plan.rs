//! What a sweep will ask: every instance that can be composed and that the run holds no reply to.

use serde::Serialize;

use crate::data::store::Store;
use crate::engine::survey::{ConditionCounts, Place};
use crate::engine::sweep::Sweep;
use crate::engine::sweep::held::{Held, held};

/// A condition with what of it is done and what is to be asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedCondition {
    /// Instances, shortfalls, predicted tokens.
    #[serde(flatten)]
    pub counts: ConditionCounts,
    /// Instances that the run holds a reply to.
    pub done: usize,
    /// Instances that will be asked.
    pub to_ask: usize,
    /// Predicted prompt tokens of those that will be asked.
    pub tokens_to_ask: u64,
}

/// What a sweep will do.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The conditions in the sweep's order.
    pub conditions: Vec<PlannedCondition>,
    /// What will be asked, in this order: questions in file order, all conditions of a question one after
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
}

/// Plans a sweep: composes every instance and looks up what the run in `store` holds. `progress` gets the
/// number of questions looked at.
///
/// # Errors
/// One sentence: the run can't be read, it belongs to another dataset, model, sampling or prompt, or a
/// template is broken.
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
    };
    let parts = sweep
        .space()
        .walk(
            start,
            |part, place, instance| {
                let condition = &mut part.conditions[place.condition];
                let tokens = condition.counts.add(instance, sweep.room());
                if instance.is_some() {
                    part.all.push(place);
                }
                if instance.is_some() && decide(sweep, &held, place, tokens, condition) {
                    part.todo.push(place);
                }
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
    for part in parts {
        for (sum, counted) in plan.conditions.iter_mut().zip(&part.conditions) {
            sum.counts.merge(&counted.counts);
            sum.done += counted.done;
            sum.to_ask += counted.to_ask;
            sum.tokens_to_ask += counted.tokens_to_ask;
        }
        plan.todo.extend(part.todo);
        plan.all.extend(part.all);
    }
    Ok(plan)
}

fn nothing(condition: crate::domain::context::Condition) -> PlannedCondition {
    PlannedCondition {
        counts: ConditionCounts::new(condition),
        done: 0,
        to_ask: 0,
        tokens_to_ask: 0,
    }
}

/// Whether an instance is to be asked. One that does not fit the window is "asked" once, which makes no call
/// but a record; afterwards it is left alone as long as it does not fit.
fn decide(
    sweep: &Sweep,
    held: &Held,
    place: Place,
    tokens: u64,
    condition: &mut PlannedCondition,
) -> bool {
    if held.done.contains(&place) {
        condition.done += 1;
        return false;
    }
    let fits = sweep.room().fits(tokens);
    if !fits && held.overflow.contains(&place) {
        return false;
    }
    if sweep.only_failed && !held.failed.contains(&place) {
        return false;
    }
    condition.to_ask += 1;
    condition.tokens_to_ask += if fits { tokens } else { 0 };
    true
}
