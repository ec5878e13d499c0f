//! Exact vector search: the blocked scan of all vectors that HNSW is measured against.

mod scan;
mod vectors;

use std::cmp::Ordering;

pub use medrgb_kernels::dot;
pub use scan::{top_k, top_k_many, top_k_with};
pub use vectors::{Numbers, Precision, Vectors};

/// A position in the corpus with its score; larger is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// Position in the corpus.
    pub position: usize,
    /// Inner product.
    pub score: f32,
}

impl Scored {
    /// Order of a result list: better score first, then the lower position.
    pub fn best_first(&self, other: &Scored) -> Ordering {
        other
            .score
            .total_cmp(&self.score)
            .then(self.position.cmp(&other.position))
    }
}

/// Share of the exact result that `found` has, between 0 and 1; `None` where the exact result is empty.
/// A found vector whose score equals the exact result's last score counts, so ties cost nothing.
pub fn recall(found: &[Scored], exact: &[Scored]) -> Option<f64> {
    let last = exact.last()?;
    let slack = last.score.abs().max(1.0) * 1e-5;
    let right = found
        .iter()
        .take(exact.len())
        .filter(|hit| {
            hit.score >= last.score - slack
                || exact.iter().any(|wanted| wanted.position == hit.position)
        })
        .count();
    Some(right as f64 / exact.len() as f64)
}

/// Threads that can run at the same time.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recall_counts_ties_as_found() {
        let hit = |position, score| Scored { position, score };
        let exact = [hit(0, 3.0), hit(1, 2.0)];
        assert_eq!(recall(&[hit(0, 3.0), hit(5, 2.0)], &exact), Some(1.0));
        assert_eq!(recall(&[hit(0, 3.0), hit(5, 1.0)], &exact), Some(0.5));
        assert_eq!(recall(&[], &exact), Some(0.0));
        assert_eq!(recall(&[], &[]), None);
    }
}
