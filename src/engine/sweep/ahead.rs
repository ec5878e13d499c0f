//! Composing ahead: the next instances are ready before there is room for them, so that a server never waits for a
//! prompt to be made.

use tokio::sync::mpsc::{Receiver, channel};

use crate::engine::instance::Instance;
use crate::engine::survey::{Place, Space};
use crate::engine::sweep::Sweep;
use crate::model::tokens::estimate_prompt;

/// Instances that wait to be asked, for each call that may be under way, and how many there are at most: prompts
/// with twenty documents are some hundred kilobytes with their contexts.
const FOR_EACH: usize = 2;
const MOST: usize = 256;

/// An instance that is asked next.
pub(super) struct Next {
    pub(super) instance: Instance,
    /// Predicted tokens of the prompt and the most of the reply.
    pub(super) tokens: u64,
}

/// Composes places in their order on a thread of its own; it ends with the places, at the first fault, and when
/// nobody takes instances any more.
pub(super) fn compose_ahead(sweep: &Sweep, todo: &[Place]) -> Receiver<Result<Next, String>> {
    let (sender, receiver) = channel((FOR_EACH * sweep.ceiling()).min(MOST));
    let (dataset, templates) = (sweep.dataset.clone(), sweep.templates.clone());
    let (conditions, questions) = (sweep.conditions.clone(), sweep.questions.clone());
    let most = u64::from(sweep.sampling.max_tokens);
    let todo = todo.to_vec();
    tokio::task::spawn_blocking(move || {
        let space = Space {
            dataset: &dataset,
            templates: &templates,
            conditions: &conditions,
            questions: &questions,
        };
        for place in todo {
            // All could be composed when the sweep was planned, and composing is a pure function.
            let next = match space.instance(place) {
                Ok(None) => continue,
                Ok(Some(instance)) => Ok(Next {
                    tokens: estimate_prompt(&instance.prompt) + most,
                    instance,
                }),
                Err(error) => Err(error.to_string()),
            };
            let is_fault = next.is_err();
            if sender.blocking_send(next).is_err() || is_fault {
                return;
            }
        }
    });
    receiver
}
