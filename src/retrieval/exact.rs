//! Exact vector search: the blocked scan of all vectors that HNSW is measured against.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::retrieval::RetrievalError;

/// Vectors of one dimension, row after row in one buffer.
#[derive(Debug, Clone, PartialEq)]
pub struct Vectors {
    dim: usize,
    data: Vec<f32>,
}

impl Vectors {
    /// Takes a buffer of `rows × dim` numbers.
    ///
    /// # Errors
    /// When the length of `data` is no multiple of `dim`, or a number is not finite.
    pub fn new(dim: usize, data: Vec<f32>) -> Result<Vectors, RetrievalError> {
        if dim == 0 || !data.len().is_multiple_of(dim) {
            return Err(RetrievalError(format!(
                "{} numbers do not make whole vectors of {dim} dimensions",
                data.len()
            )));
        }
        if let Some(at) = data.iter().position(|number| !number.is_finite()) {
            return Err(RetrievalError(format!(
                "vector {} holds {} in dimension {}: only finite numbers can be searched; check the encoder's weights",
                at / dim,
                data[at],
                at % dim
            )));
        }
        Ok(Vectors { dim, data })
    }

    /// Dimensions of each vector.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// How many vectors there are.
    pub fn len(&self) -> usize {
        self.data.len() / self.dim
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// One vector.
    pub fn row(&self, position: usize) -> Option<&[f32]> {
        let start = position.checked_mul(self.dim)?;
        self.data.get(start..start.checked_add(self.dim)?)
    }

    /// All vectors in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.data.chunks_exact(self.dim)
    }

    /// The whole buffer, row after row.
    pub fn data(&self) -> &[f32] {
        &self.data
    }
}

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

/// The heap's top is the worst of the kept.
#[derive(PartialEq)]
struct Kept(Scored);

impl Eq for Kept {}

impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Kept) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Kept {
    fn cmp(&self, other: &Kept) -> Ordering {
        self.0.best_first(&other.0)
    }
}

/// Keeps the `k` best of what is offered.
struct TopK {
    k: usize,
    heap: BinaryHeap<Kept>,
}

impl TopK {
    fn new(k: usize) -> TopK {
        TopK {
            k,
            heap: BinaryHeap::with_capacity(k.min(4096) + 1),
        }
    }

    fn offer(&mut self, scored: Scored) {
        if self.heap.len() < self.k {
            self.heap.push(Kept(scored));
        } else if let Some(mut worst) = self.heap.peek_mut()
            && scored.best_first(&worst.0) == Ordering::Less
        {
            *worst = Kept(scored);
        }
    }

    fn into_sorted(self) -> Vec<Scored> {
        self.heap
            .into_sorted_vec()
            .into_iter()
            .map(|kept| kept.0)
            .collect()
    }
}

/// Inner product of two vectors of the same length (the shorter length counts). The sum runs over 16
/// lanes, so its value does not depend on threads or blocks.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let length = a.len().min(b.len());
    let (a, b) = (&a[..length], &b[..length]);
    let (a_blocks, b_blocks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let tail: f32 = a_blocks
        .remainder()
        .iter()
        .zip(b_blocks.remainder())
        .map(|(x, y)| x * y)
        .sum();
    let mut lanes = [0.0f32; LANES];
    for (x, y) in a_blocks.zip(b_blocks) {
        for lane in 0..LANES {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    lanes.iter().sum::<f32>() + tail
}

/// Below this many multiplications one thread is faster than several.
const WORTH_A_THREAD: usize = 4_000_000;

/// The `k` vectors with the largest inner product with `query`; equal scores in order of position.
pub fn top_k(vectors: &Vectors, query: &[f32], k: usize) -> Vec<Scored> {
    let k = k.min(vectors.len());
    if k == 0 {
        return Vec::new();
    }
    let threads = threads_for(vectors.data.len());
    if threads == 1 {
        return scan(vectors, 0, vectors.len(), query, k);
    }
    let share = vectors.len().div_ceil(threads);
    let mut best: Vec<Scored> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                let start = (worker * share).min(vectors.len());
                let end = (start + share).min(vectors.len());
                scope.spawn(move || scan(vectors, start, end, query, k))
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_default())
            .collect()
    });
    best.sort_by(Scored::best_first);
    best.truncate(k);
    best
}

/// [`top_k`] for many queries at once: blocks of vectors stay in the cache while all queries pass over them.
pub fn top_k_many(vectors: &Vectors, queries: &[&[f32]], k: usize) -> Vec<Vec<Scored>> {
    let k = k.min(vectors.len());
    if k == 0 || queries.is_empty() {
        return vec![Vec::new(); queries.len()];
    }
    let threads = threads_for(vectors.data.len().saturating_mul(queries.len())).min(queries.len());
    let share = queries.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let workers: Vec<_> = queries
            .chunks(share)
            .map(|part| {
                let worker = scope.spawn(move || scan_many(vectors, part, k));
                (part.len(), worker)
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|(len, worker)| worker.join().unwrap_or_else(|_| vec![Vec::new(); len]))
            .collect()
    })
}

fn threads_for(multiplications: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (multiplications / WORTH_A_THREAD).clamp(1, cores)
}

fn scan(vectors: &Vectors, start: usize, end: usize, query: &[f32], k: usize) -> Vec<Scored> {
    let mut top = TopK::new(k);
    let part = &vectors.data[start * vectors.dim..end * vectors.dim];
    for (offset, row) in part.chunks_exact(vectors.dim).enumerate() {
        top.offer(Scored {
            position: start + offset,
            score: dot(row, query),
        });
    }
    top.into_sorted()
}

fn scan_many(vectors: &Vectors, queries: &[&[f32]], k: usize) -> Vec<Vec<Scored>> {
    // About 256 KiB of vectors, so that a block stays in the second-level cache.
    let block_rows = (65_536 / vectors.dim).max(1);
    let mut tops: Vec<TopK> = queries.iter().map(|_| TopK::new(k)).collect();
    for (block, rows) in vectors.data.chunks(block_rows * vectors.dim).enumerate() {
        for (top, query) in tops.iter_mut().zip(queries) {
            for (offset, row) in rows.chunks_exact(vectors.dim).enumerate() {
                top.offer(Scored {
                    position: block * block_rows + offset,
                    score: dot(row, query),
                });
            }
        }
    }
    tops.into_iter().map(TopK::into_sorted).collect()
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    fn brute_force(vectors: &Vectors, query: &[f32], k: usize) -> Vec<Scored> {
        let mut all: Vec<Scored> = vectors
            .rows()
            .enumerate()
            .map(|(position, row)| Scored {
                position,
                score: dot(row, query),
            })
            .collect();
        all.sort_by(Scored::best_first);
        all.truncate(k);
        all
    }

    proptest! {
        #[test]
        fn dot_agrees_with_the_plain_sum(pairs in prop::collection::vec((-4i8..=4, -4i8..=4), 0..100)) {
            // Small whole numbers: every order of adding gives the same float.
            let a: Vec<f32> = pairs.iter().map(|pair| f32::from(pair.0)).collect();
            let b: Vec<f32> = pairs.iter().map(|pair| f32::from(pair.1)).collect();
            let plain: i32 = pairs.iter().map(|pair| i32::from(pair.0) * i32::from(pair.1)).sum();
            prop_assert_eq!(dot(&a, &b), plain as f32);
        }

        #[test]
        fn top_k_is_the_sorted_prefix(
            dim in 1usize..20,
            numbers in prop::collection::vec(-2i8..=2, 0..600),
            k in 0usize..40,
        ) {
            let rows = numbers.len() / dim;
            let data: Vec<f32> = numbers[..rows * dim].iter().map(|&n| f32::from(n)).collect();
            let vectors = Vectors::new(dim, data).unwrap();
            let query: Vec<f32> = (0..dim).map(|i| (i % 3) as f32 - 1.0).collect();
            let expected = brute_force(&vectors, &query, k);
            prop_assert_eq!(&top_k(&vectors, &query, k), &expected);
            let many = top_k_many(&vectors, &[&query, &query], k);
            prop_assert_eq!(&many[0], &expected);
            prop_assert_eq!(&many[1], &expected);
        }
    }

    #[test]
    fn threads_do_not_change_the_result() {
        let dim = 64;
        let rows = 2 * WORTH_A_THREAD / dim + 37;
        let mut state = 1u32;
        let data: Vec<f32> = (0..rows * dim)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                f32::from((state >> 28) as u8) - 8.0
            })
            .collect();
        let vectors = Vectors::new(dim, data).unwrap();
        let query = vectors.row(7).unwrap().to_vec();
        let one = scan(&vectors, 0, vectors.len(), &query, 50);
        assert_eq!(top_k(&vectors, &query, 50), one);
        let queries = vec![query.as_slice(); 3];
        assert_eq!(top_k_many(&vectors, &queries, 50), vec![one; 3]);
    }

    #[test]
    fn bad_buffers_are_refused() {
        assert!(Vectors::new(0, vec![]).is_err());
        assert!(Vectors::new(3, vec![0.0; 4]).is_err());
        let message = Vectors::new(2, vec![0.0, 1.0, f32::NAN, 0.0])
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("vector 1") && message.contains("dimension 0"),
            "{message}"
        );
    }

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
