//! Merges deltas, so that a fast model does not flood a slow receiver.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::engine::ask::AskEvent;
use crate::model::Delta;

/// Deltas that wait to be sent. Both ends are cheap to clone and safe to share.
#[derive(Debug, Clone, Default)]
pub(super) struct Merger {
    queue: Arc<Mutex<VecDeque<AskEvent>>>,
    received: Arc<Mutex<Received>>,
    arrived: Arc<Notify>,
}

/// What the current attempt has given so far, sent or not.
#[derive(Debug, Clone, Default)]
pub(super) struct Received {
    /// Text of the reply.
    pub(super) text: String,
    /// Text of the reasoning field.
    pub(super) reasoning: String,
}

impl Received {
    /// Adds a delta.
    pub(super) fn take(&mut self, delta: &Delta) {
        match delta {
            Delta::Text(text) => self.text.push_str(text),
            Delta::Reasoning(text) => self.reasoning.push_str(text),
            Delta::Restart => *self = Received::default(),
            Delta::Status(_) | Delta::Retry { .. } => {}
        }
    }
}

impl Merger {
    /// Takes a delta.
    pub(super) fn push(&self, delta: Delta) {
        {
            let mut received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
            received.take(&delta);
        }
        self.with(|queue| merge(queue, delta));
        self.arrived.notify_one();
    }

    /// What the current attempt has given so far.
    pub(super) fn received(&self) -> Received {
        self.received
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits until something is there to be sent.
    pub(super) async fn arrived(&self) {
        self.arrived.notified().await;
    }

    /// Hands events to `accept` until it refuses one, which then stays in front. True when none is left.
    pub(super) fn flush(&self, accept: &mut dyn FnMut(AskEvent) -> Result<(), AskEvent>) -> bool {
        loop {
            let Some(event) = self.with(VecDeque::pop_front) else {
                return true;
            };
            if let Err(refused) = accept(event) {
                self.with(|queue| queue.push_front(refused));
                return false;
            }
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut VecDeque<AskEvent>) -> T) -> T {
        // A queue that a panic left behind is still a queue.
        change(&mut self.queue.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Adds a delta: text to text, a status in the place of the last one; a restart drops text not yet sent.
fn merge(queue: &mut VecDeque<AskEvent>, delta: Delta) {
    match (delta, queue.back_mut()) {
        (Delta::Text(more), Some(AskEvent::Text(text)))
        | (Delta::Reasoning(more), Some(AskEvent::Reasoning(text))) => text.push_str(&more),
        (Delta::Status(new), Some(AskEvent::Status(status))) => *status = new,
        (Delta::Text(text), _) => queue.push_back(AskEvent::Text(text)),
        (Delta::Reasoning(text), _) => queue.push_back(AskEvent::Reasoning(text)),
        (Delta::Status(status), _) => queue.push_back(AskEvent::Status(status)),
        // Who watches sees the status that comes with it.
        (Delta::Retry { .. }, _) => {}
        (Delta::Restart, _) => {
            queue.retain(|event| !matches!(event, AskEvent::Text(_) | AskEvent::Reasoning(_)));
            queue.push_back(AskEvent::Restart);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn drain(merger: &Merger) -> Vec<String> {
        let mut seen = Vec::new();
        assert!(merger.flush(&mut |event| {
            seen.push(format!("{event:?}"));
            Ok(())
        }));
        seen
    }

    #[test]
    fn neighbours_merge_and_order_stays() {
        let merger = Merger::default();
        for delta in [
            Delta::Status("a".into()),
            Delta::Status("b".into()),
            Delta::Reasoning("r1".into()),
            Delta::Reasoning("r2".into()),
            Delta::Text("x".into()),
            Delta::Text("y".into()),
            Delta::Reasoning("r3".into()),
        ] {
            merger.push(delta);
        }
        assert_eq!(
            drain(&merger),
            [
                "Status(\"b\")",
                "Reasoning(\"r1r2\")",
                "Text(\"xy\")",
                "Reasoning(\"r3\")"
            ]
        );
    }

    #[test]
    fn refused_events_stay_in_front_and_go_on_growing() {
        let merger = Merger::default();
        merger.push(Delta::Text("x".into()));
        assert!(!merger.flush(&mut Err));
        merger.push(Delta::Text("y".into()));
        assert_eq!(drain(&merger), ["Text(\"xy\")"]);
        assert!(drain(&merger).is_empty());
    }

    #[test]
    fn a_restart_drops_unsent_text() {
        let merger = Merger::default();
        merger.push(Delta::Text("old".into()));
        merger.push(Delta::Status("retry".into()));
        merger.push(Delta::Restart);
        merger.push(Delta::Text("new".into()));
        assert_eq!(
            drain(&merger),
            ["Status(\"retry\")", "Restart", "Text(\"new\")"]
        );
    }
}
