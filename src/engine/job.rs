//! Jobs: work that runs beside the interface. Each has an id, its events carry it, and each ends
//! with exactly one `Finished`, also on cancel or panic.

use std::sync::atomic::{AtomicU64, Ordering};

/// Identifies a job; events of a job that is no longer in its slot are dropped by the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(pub u64);

impl JobId {
    /// A new id, unique in this process.
    pub fn next() -> JobId {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        JobId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
