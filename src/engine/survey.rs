//! Looking at every instance of a grid without asking a model: what can be composed, what is short, how long
//! the prompts will be.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;

use crate::data::dataset::Dataset;
use crate::domain::context::{Condition, serialize_shown};
use crate::domain::prompt::Templates;
use crate::engine::instance::{Instance, InstanceError, instance};
use crate::model::tokens::estimate_prompt;

/// The instances of a grid: questions of a dataset under every condition.
#[derive(Debug, Clone, Copy)]
pub struct Space<'a> {
    /// The dataset.
    pub dataset: &'a Dataset,
    /// The prompt templates.
    pub templates: &'a Templates,
    /// The conditions.
    pub conditions: &'a [Condition],
    /// Positions of the questions in the dataset, rising.
    pub questions: &'a [usize],
}

/// An instance of a [`Space`]: positions of its question in the dataset and of its condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// Position of the question in file order.
    pub question: usize,
    /// Position of the condition in the space.
    pub condition: usize,
}

impl Space<'_> {
    /// How many questions there are.
    pub fn question_count(&self) -> usize {
        self.questions.len()
    }

    /// Composes the instance; `None` where the dataset has nothing for this question under this condition.
    ///
    /// # Errors
    /// [`InstanceError`] for anything else that is wrong, such as a broken template.
    pub fn instance(&self, place: Place) -> Result<Option<Instance>, InstanceError> {
        let id = self.dataset.questions[place.question].id.as_str();
        let condition = &self.conditions[place.condition];
        match instance(self.dataset, self.templates, id, condition) {
            Ok(instance) => Ok(Some(instance)),
            Err(InstanceError::Compose(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Visits every instance on all cores: questions in file order, all conditions of a question one after
    /// another. Each part of the questions has an accumulator of its own; they come back in order.
    /// `progress` gets the number of questions visited so far.
    ///
    /// # Errors
    /// As [`Space::instance`].
    pub fn walk<A: Send>(
        &self,
        start: impl Fn() -> A + Sync,
        visit: impl Fn(&mut A, Place, Option<&Instance>) + Sync,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<A>, InstanceError> {
        let total = self.question_count();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let part = total.div_ceil(threads).max(1);
        let visited = AtomicUsize::new(0);
        let walk_part = |first: usize| {
            let mut found = start();
            for &question in &self.questions[first..(first + part).min(total)] {
                for condition in 0..self.conditions.len() {
                    let place = Place {
                        question,
                        condition,
                    };
                    visit(&mut found, place, self.instance(place)?.as_ref());
                }
                progress(visited.fetch_add(1, Ordering::Relaxed) + 1);
            }
            Ok(found)
        };
        std::thread::scope(|scope| {
            let parts: Vec<_> = (0..total)
                .step_by(part)
                .map(|first| scope.spawn(move || walk_part(first)))
                .collect();
            parts
                .into_iter()
                .map(|part| match part.join() {
                    Ok(found) => found,
                    Err(panic) => std::panic::resume_unwind(panic),
                })
                .collect()
        })
    }
}

/// What a condition's instances are like.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConditionCounts {
    /// The condition.
    #[serde(flatten, serialize_with = "serialize_shown")]
    pub condition: Condition,
    /// Instances that can be asked.
    pub instances: usize,
    /// Questions that have nothing to compose from.
    pub nothing_to_use: usize,
    /// Instances with fewer documents than asked for.
    pub short: usize,
    /// Instances whose prompt and reply are predicted not to fit the model's window.
    pub overflow: usize,
    /// Predicted tokens of all prompts.
    pub prompt_tokens: u64,
    /// Predicted tokens of the longest prompt.
    pub largest_prompt: u64,
}

/// What fits the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Room {
    /// Context window in tokens where known.
    pub window: Option<u32>,
    /// Most tokens of a reply.
    pub max_tokens: u32,
}

impl Room {
    /// Whether a prompt of so many tokens and its reply fit.
    pub fn fits(self, prompt_tokens: u64) -> bool {
        self.window
            .is_none_or(|window| prompt_tokens + u64::from(self.max_tokens) <= u64::from(window))
    }
}

impl ConditionCounts {
    /// Nothing counted yet.
    pub fn new(condition: Condition) -> ConditionCounts {
        ConditionCounts {
            condition,
            instances: 0,
            nothing_to_use: 0,
            short: 0,
            overflow: 0,
            prompt_tokens: 0,
            largest_prompt: 0,
        }
    }

    /// Counts an instance and gives the predicted tokens of its prompt; `None` is one that can't be composed.
    pub fn add(&mut self, instance: Option<&Instance>, room: Room) -> u64 {
        let Some(instance) = instance else {
            self.nothing_to_use += 1;
            return 0;
        };
        let tokens = estimate_prompt(&instance.prompt);
        self.instances += 1;
        self.short += usize::from(instance.context.short);
        self.overflow += usize::from(!room.fits(tokens));
        self.prompt_tokens += tokens;
        self.largest_prompt = self.largest_prompt.max(tokens);
        tokens
    }

    /// Adds the counts of other instances of the same condition.
    pub fn merge(&mut self, other: &ConditionCounts) {
        self.instances += other.instances;
        self.nothing_to_use += other.nothing_to_use;
        self.short += other.short;
        self.overflow += other.overflow;
        self.prompt_tokens += other.prompt_tokens;
        self.largest_prompt = self.largest_prompt.max(other.largest_prompt);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::domain::plan::Grid;

    #[test]
    fn every_instance_is_visited_once_and_in_order() {
        let dataset = Dataset::sample().unwrap();
        let templates = Templates::default();
        let conditions = Grid::paper().conditions(true).unwrap().kept;
        let space = Space {
            dataset: &dataset,
            templates: &templates,
            conditions: &conditions,
            questions: &[0, 1, 3, 4, 7],
        };
        let seen = AtomicUsize::new(0);
        let parts = space
            .walk(
                Vec::new,
                |found: &mut Vec<Place>, place, _| found.push(place),
                &|done| {
                    seen.fetch_max(done, Ordering::Relaxed);
                },
            )
            .unwrap();
        let expected: Vec<Place> = [0, 1, 3, 4, 7]
            .into_iter()
            .flat_map(|question| {
                (0..conditions.len()).map(move |condition| Place {
                    question,
                    condition,
                })
            })
            .collect();
        assert_eq!(parts.concat(), expected);
        assert_eq!(seen.into_inner(), 5);
    }

    #[test]
    fn room_counts_the_reply() {
        let room = Room {
            window: Some(100),
            max_tokens: 40,
        };
        assert!(room.fits(60) && !room.fits(61));
        assert!(Room::default().fits(u64::MAX));
    }
}
