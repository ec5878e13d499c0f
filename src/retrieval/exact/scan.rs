//! The blocked scan: blocks of rows stay in a cache while all queries pass over them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicUsize, Ordering as Atomic};

use medrgb_kernels::{self as kernels, Panel, TILE_QUERIES, TILE_ROWS};

use super::{Scored, Vectors, cores};

/// Below this many multiplications one thread is faster than several.
pub(super) const WORTH_A_THREAD: usize = 4_000_000;
/// Numbers of a block of rows where few queries pass over it: half a second-level cache.
const SMALL_BLOCK: usize = 64 << 10;
/// Numbers of a block of rows where many do: a share of the third-level cache.
const LARGE_BLOCK: usize = 512 << 10;
/// Numbers of the queries that pass over a block at a time: half a second-level cache.
const QUERY_BLOCK: usize = 64 << 10;

/// The `k` vectors with the largest inner product with `query`; equal scores in order of position. Scores
/// have the same bits as those of [`super::dot`] and of [`top_k_many`], whatever the number of threads.
pub fn top_k(vectors: &Vectors, query: &[f32], k: usize) -> Vec<Scored> {
    top_k_many(vectors, &[query], k).pop().unwrap_or_default()
}

/// [`top_k`] for many queries at once, several times as fast as one after the other.
pub fn top_k_many(vectors: &Vectors, queries: &[&[f32]], k: usize) -> Vec<Vec<Scored>> {
    let work = (vectors.len() * vectors.dim()).saturating_mul(queries.len());
    let threads = (work / WORTH_A_THREAD).clamp(1, cores());
    top_k_with(vectors, queries, k, threads)
}

/// [`top_k_many`] on so many threads.
pub fn top_k_with(
    vectors: &Vectors,
    queries: &[&[f32]],
    k: usize,
    threads: usize,
) -> Vec<Vec<Scored>> {
    let k = k.min(vectors.len());
    if k == 0 || queries.is_empty() {
        return vec![Vec::new(); queries.len()];
    }
    let scan = Scan::new(vectors, queries, k);
    let parts: Vec<Vec<TopK>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| scan.work())).collect();
        let mut parts = vec![scan.work()];
        parts.extend(others.into_iter().filter_map(|other| other.join().ok()));
        parts
    });
    let mut found = vec![Vec::new(); queries.len()];
    for part in parts {
        for (all, top) in found.iter_mut().zip(part) {
            all.extend(top.heap.into_iter().map(|kept| kept.0));
        }
    }
    for hits in &mut found {
        hits.sort_unstable_by(Scored::best_first);
        hits.truncate(k);
    }
    found
}

struct Scan<'a> {
    vectors: &'a Vectors,
    /// Queries side by side, padded to `stride` numbers.
    queries: Vec<f32>,
    count: usize,
    stride: usize,
    k: usize,
    block: usize,
    /// The next block that no thread has taken.
    next: AtomicUsize,
}

impl<'a> Scan<'a> {
    fn new(vectors: &'a Vectors, queries: &[&[f32]], k: usize) -> Scan<'a> {
        let stride = kernels::padded(vectors.dim());
        let mut padded = vec![0.0; queries.len() * stride];
        for (to, query) in padded.chunks_exact_mut(stride).zip(queries) {
            let len = query.len().min(vectors.dim());
            to[..len].copy_from_slice(&query[..len]);
        }
        let numbers = if queries.len() <= TILE_QUERIES {
            SMALL_BLOCK
        } else {
            LARGE_BLOCK
        };
        Scan {
            vectors,
            queries: padded,
            count: queries.len(),
            stride,
            k,
            block: (numbers / stride).max(1).next_multiple_of(TILE_ROWS),
            next: AtomicUsize::new(0),
        }
    }

    /// Takes blocks until none is left.
    fn work(&self) -> Vec<TopK> {
        let mut tops: Vec<TopK> = (0..self.count).map(|_| TopK::new(self.k)).collect();
        let mut scratch = Vec::new();
        loop {
            let start = self.next.fetch_add(1, Atomic::Relaxed) * self.block;
            if start >= self.vectors.len() {
                return tops;
            }
            let end = (start + self.block).min(self.vectors.len());
            let rows = self.vectors.padded(start..end, &mut scratch);
            let panels = Panel::new(rows, self.stride).zip(Panel::new(&self.queries, self.stride));
            if let Some((rows, queries)) = panels {
                self.pass(start, &rows, &queries, &mut tops);
            }
        }
    }

    fn pass(&self, start: usize, rows: &Panel<'_>, queries: &Panel<'_>, tops: &mut [TopK]) {
        if queries.len() < TILE_QUERIES {
            for (query, top) in tops.iter_mut().enumerate() {
                for row in (0..rows.len()).step_by(TILE_ROWS) {
                    let scores = rows.column(row, queries, query);
                    top.offer(start + row, &scores[..TILE_ROWS.min(rows.len() - row)]);
                }
            }
            return;
        }
        let share = (QUERY_BLOCK / self.stride)
            .max(1)
            .next_multiple_of(TILE_QUERIES);
        for first in (0..queries.len()).step_by(share) {
            let last = (first + share).min(queries.len());
            for row in (0..rows.len()).step_by(TILE_ROWS) {
                let there = TILE_ROWS.min(rows.len() - row);
                for query in (first..last).step_by(TILE_QUERIES) {
                    let tile = rows.tile(row, queries, query);
                    for (scores, top) in tile.iter().zip(&mut tops[query..last]) {
                        top.offer(start + row, &scores[..there]);
                    }
                }
            }
        }
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
    /// What scores less is not among the best.
    floor: f32,
    heap: BinaryHeap<Kept>,
}

impl TopK {
    fn new(k: usize) -> TopK {
        TopK {
            k,
            floor: f32::NEG_INFINITY,
            heap: BinaryHeap::with_capacity(k.min(4096) + 1),
        }
    }

    /// Offers the scores of neighbouring positions.
    #[inline]
    fn offer(&mut self, first: usize, scores: &[f32]) {
        for (offset, &score) in scores.iter().enumerate() {
            if score < self.floor {
                continue;
            }
            self.insert(Scored {
                position: first + offset,
                score,
            });
        }
    }

    #[cold]
    fn insert(&mut self, scored: Scored) {
        if self.heap.len() < self.k {
            self.heap.push(Kept(scored));
        } else if let Some(mut worst) = self.heap.peek_mut()
            && scored.best_first(&worst.0) == Ordering::Less
        {
            *worst = Kept(scored);
        }
        if self.heap.len() == self.k {
            self.floor = (self.heap.peek()).map_or(f32::NEG_INFINITY, |worst| worst.0.score);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::retrieval::exact::dot;
    use proptest::prelude::*;

    fn brute_force(vectors: &Vectors, query: &[f32], k: usize) -> Vec<Scored> {
        let mut all: Vec<Scored> = vectors
            .rows()
            .enumerate()
            .map(|(position, row)| Scored {
                position,
                score: dot(&row, query),
            })
            .collect();
        all.sort_by(Scored::best_first);
        all.truncate(k);
        all
    }

    /// Numbers between -1 and 1 without a pattern.
    fn vectors(rows: usize, dim: usize) -> Vectors {
        let mut state = 1u32;
        let data = (0..rows * dim)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / (1 << 23) as f32 - 1.0
            })
            .collect();
        Vectors::new(dim, data).unwrap()
    }

    proptest! {
        #[test]
        fn top_k_is_the_sorted_prefix(
            dim in 1usize..40,
            numbers in prop::collection::vec(-2i8..=2, 0..900),
            k in 0usize..40,
            count in 1usize..9,
        ) {
            let rows = numbers.len() / dim;
            let data: Vec<f32> = numbers[..rows * dim].iter().map(|&n| f32::from(n)).collect();
            let vectors = Vectors::new(dim, data).unwrap();
            let half = vectors.to_half().unwrap();
            let query: Vec<f32> = (0..dim).map(|i| (i % 3) as f32 - 1.0).collect();
            let expected = brute_force(&vectors, &query, k);
            prop_assert_eq!(&top_k(&vectors, &query, k), &expected);
            prop_assert_eq!(&top_k(&half, &query, k), &expected);
            for found in top_k_many(&vectors, &vec![&query[..]; count], k) {
                prop_assert_eq!(&found, &expected);
            }
        }
    }

    #[test]
    fn scores_have_the_same_bits_alone_in_company_and_on_any_number_of_threads() {
        for (rows, dim) in [(3001, 100), (3002, 64), (700, 768)] {
            let full = vectors(rows, dim);
            for vectors in [full.to_half().unwrap(), full] {
                let queries: Vec<_> = vectors.rows().step_by(rows / 11).collect();
                let queries: Vec<&[f32]> = queries.iter().map(|query| &query[..]).collect();
                let expected: Vec<_> = queries
                    .iter()
                    .map(|query| brute_force(&vectors, query, 50))
                    .collect();
                for threads in [1, 2, 5] {
                    assert_eq!(top_k_with(&vectors, &queries, 50, threads), expected);
                    for (query, expected) in queries.iter().zip(&expected) {
                        let alone = top_k_with(&vectors, &[query], 50, threads);
                        assert_eq!(&alone[0], expected, "{rows} {dim} {threads}");
                    }
                }
            }
        }
    }

    #[test]
    fn large_sets_use_threads_and_give_the_same() {
        let dim = 64;
        let vectors = vectors(2 * WORTH_A_THREAD / dim + 37, dim);
        let query = vectors.row(7).unwrap().to_vec();
        let one = top_k_with(&vectors, &[&query], 50, 1);
        assert_eq!(top_k(&vectors, &query, 50), one[0]);
        let expected = vec![one[0].clone(); 4];
        assert_eq!(top_k_many(&vectors, &[&query[..]; 4], 50), expected);
    }

    #[test]
    fn a_query_of_another_length_counts_as_far_as_it_goes() {
        let vectors = Vectors::new(2, vec![1.0, 5.0, 2.0, 0.0]).unwrap();
        assert_eq!(top_k(&vectors, &[1.0], 1)[0].position, 1);
        assert_eq!(top_k(&vectors, &[1.0, 1.0, 9.0], 1)[0].position, 0);
        assert_eq!(top_k(&vectors, &[1.0, 1.0], usize::MAX).len(), 2);
    }
}
