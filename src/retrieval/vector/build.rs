//! Adding rows to a graph: in order by one thread, or by many; in one go or with checkpoints.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use super::graph::Graph;
use crate::retrieval::RetrievalError;

/// Fewer rows than this are added by one thread, in order: the graph is then the same every time.
pub(super) const ONE_THREAD_BELOW: usize = 4096;

/// Called with the number of rows in the graph; `Break` cancels.
pub(super) type Progress<'a> = dyn FnMut(usize) -> ControlFlow<()> + 'a;

/// How adding ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Added {
    /// The whole range is in the graph.
    All,
    /// It was cancelled; a beginning of the range is in the graph.
    Part,
}

/// Adds the rows of a range; those before it must be in the graph.
pub(super) fn add(
    graph: &Graph,
    rows: Range<usize>,
    threads: usize,
    progress: &mut Progress<'_>,
) -> Result<Added, RetrievalError> {
    if threads == 1 {
        add_in_order(graph, rows, progress)
    } else {
        add_in_parallel(graph, rows, threads, progress)
    }
}

fn add_in_order(
    graph: &Graph,
    rows: Range<usize>,
    progress: &mut Progress<'_>,
) -> Result<Added, RetrievalError> {
    for position in rows {
        graph.add(position)?;
        if position % 128 == 127 && progress(position + 1).is_break() {
            return Ok(Added::Part);
        }
    }
    Ok(Added::All)
}

fn add_in_parallel(
    graph: &Graph,
    rows: Range<usize>,
    threads: usize,
    progress: &mut Progress<'_>,
) -> Result<Added, RetrievalError> {
    let (next, added) = (AtomicUsize::new(rows.start), AtomicUsize::new(rows.start));
    let stop = AtomicBool::new(false);
    // Whatever a thread takes it also adds, so that a beginning of the range is in the graph at any end.
    let work = || -> Result<(), RetrievalError> {
        while !stop.load(Ordering::Relaxed) {
            let position = next.fetch_add(1, Ordering::Relaxed);
            if position >= rows.end {
                return Ok(());
            }
            if let Err(error) = graph.add(position) {
                stop.store(true, Ordering::Relaxed);
                return Err(error);
            }
            added.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut cancelled = false;
        while !workers.iter().all(|worker| worker.is_finished()) {
            std::thread::sleep(Duration::from_millis(20));
            if !cancelled && progress(added.load(Ordering::Relaxed)).is_break() {
                cancelled = true;
                stop.store(true, Ordering::Relaxed);
            }
        }
        for worker in workers {
            worker.join().map_err(|_| {
                RetrievalError("a thread panicked while vectors were added to the index".into())
            })??;
        }
        Ok(if cancelled { Added::Part } else { Added::All })
    })
}

/// Numbers of rows at which a graph is saved while it grows: every `step`, later every sixteenth part, so that
/// all savings together cost about as much as writing the finished graph seventeen times.
pub(super) fn checkpoints(step: usize, rows: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(step.max(1)), move |&last| {
        last.checked_add((last / 16).max(step.max(1)))
    })
    .take_while(move |&at| at < rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_get_rarer_as_the_graph_grows() {
        let small: Vec<usize> = checkpoints(100, 350).collect();
        assert_eq!(small, [100, 200, 300]);
        assert_eq!(checkpoints(100, 100).count(), 0);
        let large: Vec<usize> = checkpoints(50_000, 54_000_000).collect();
        assert!(large.len() < 100, "{}", large.len());
        let written: usize = large.iter().sum();
        assert!(written < 18 * 54_000_000, "{written}");
        for pair in large.windows(2) {
            assert!(pair[1] - pair[0] <= 50_000.max(pair[1] / 16));
        }
    }
}
