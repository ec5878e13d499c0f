//! Something that a job fetches: asked for, there, or not to be had.

use std::time::Duration;

use crate::tui::app::Ticket;

/// What a job fetches.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Loaded<T> {
    /// Not asked for.
    #[default]
    Nothing,
    /// On its way.
    Loading {
        /// The job.
        ticket: Ticket,
        /// When it was asked for, on the app's clock.
        since: Duration,
    },
    /// Can't be had: one sentence.
    Failed(String),
    /// There.
    Ready(T),
}

impl<T> Loaded<T> {
    /// Asked for just now.
    pub fn asked(ticket: Ticket, now: Duration) -> Loaded<T> {
        Loaded::Loading { ticket, since: now }
    }

    /// What came, if it is there.
    pub fn ready(&self) -> Option<&T> {
        match self {
            Loaded::Ready(value) => Some(value),
            _ => None,
        }
    }

    /// As [`Loaded::ready`], to change it.
    pub fn ready_mut(&mut self) -> Option<&mut T> {
        match self {
            Loaded::Ready(value) => Some(value),
            _ => None,
        }
    }

    /// Whether this job is waited for.
    pub fn awaits(&self, job: Ticket) -> bool {
        matches!(self, Loaded::Loading { ticket, .. } if *ticket == job)
    }

    /// Whether a job is under way.
    pub fn is_loading(&self) -> bool {
        matches!(self, Loaded::Loading { .. })
    }

    /// Takes the result of a job, unless another is waited for; true where it was taken.
    pub fn take(&mut self, job: Ticket, result: Result<T, String>) -> bool {
        let awaited = self.awaits(job);
        if awaited {
            *self = match result {
                Ok(value) => Loaded::Ready(value),
                Err(why) => Loaded::Failed(why),
            };
        }
        awaited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_job_that_is_waited_for_counts() {
        let mut loaded = Loaded::asked(Ticket(2), Duration::ZERO);
        assert!(!loaded.take(Ticket(1), Ok(1)));
        assert!(loaded.is_loading());
        assert!(loaded.take(Ticket(2), Ok(7)));
        assert_eq!(loaded.ready(), Some(&7));
        assert!(!loaded.take(Ticket(2), Err("late".into())));
    }
}
