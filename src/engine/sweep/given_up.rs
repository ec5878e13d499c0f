//! Models that gave failure after failure: a sweep of several goes on with the others.

use crate::data::store::Store;
use crate::engine::sweep::{Ended, PartEnd, Plan, Progress, Stopped, Sweep, summarise};

/// The models that were given up, and why, in the order in which that happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GivenUp(Vec<(String, String)>);

impl GivenUp {
    /// Notes how a sweep of an order ended; whether its model has just been given up.
    pub fn note(&mut self, sweep: &Sweep, ended: &Ended) -> bool {
        match &ended.stopped {
            Some(Stopped::GivenUp(why)) if self.why(sweep).is_none() => {
                self.0
                    .push((sweep.model.identity().name.clone(), why.clone()));
                true
            }
            _ => false,
        }
    }

    /// Why the model of a sweep was given up; `None` where it was not.
    pub fn why(&self, sweep: &Sweep) -> Option<&str> {
        let name = &sweep.model.identity().name;
        let known = self.0.iter().find(|(known, _)| known == name);
        known.map(|(_, why)| why.as_str())
    }

    /// Whether any of these sweeps asks a model that was not given up.
    pub fn leaves<'a>(&self, mut sweeps: impl Iterator<Item = &'a Sweep>) -> bool {
        sweeps.any(|sweep| self.why(sweep).is_none())
    }

    /// What was given up and why, in one sentence; `several` says that the sweep asks several models.
    pub fn sentence(&self, several: bool) -> Option<String> {
        let (_, first) = self.0.first()?;
        if !several {
            return Some(format!(
                "the sweep gave up, since call after call failed: {first}"
            ));
        }
        let each: Vec<String> = self
            .0
            .iter()
            .map(|(name, why)| format!("{name} was given up, since call after call failed: {why}"))
            .collect();
        Some(each.join("; "))
    }
}

/// The end of a sweep that is not begun, since its model was given up: what the run holds of it.
///
/// # Errors
/// A sentence where the store can't be read.
pub fn passed_over(
    sweep: &Sweep,
    plan: &Plan,
    store: &Store,
    why: &str,
) -> Result<PartEnd, String> {
    Ok(PartEnd {
        reused: Default::default(),
        ended: Ended {
            progress: Progress {
                total: plan.todo.len(),
                ..Progress::default()
            },
            stopped: Some(Stopped::GivenUp(why.to_owned())),
        },
        summary: summarise(sweep, plan, store).map_err(|error| error.to_string())?,
    })
}
