//! Token sequences laid out for one forward pass: packed end to end (CPU) or padded (GPU).

use std::ops::Range;

use crate::tokens::TokenIds;

/// Where one sequence lies among the rows of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// Row of its first token.
    pub start: usize,
    /// Its number of tokens, at least 1.
    pub len: usize,
}

/// The tokens of several sequences, one per row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Word piece of each row.
    pub ids: Vec<i32>,
    /// Segment of each row.
    pub types: Vec<i32>,
    /// Position of each row in its sequence.
    pub positions: Vec<i32>,
    /// One entry per sequence.
    pub spans: Vec<Span>,
    /// Rows per sequence where all have the same number of rows (padded), else `None` (packed).
    pub width: Option<usize>,
}

impl Batch {
    /// Sequences end to end, without a row of padding.
    pub(crate) fn packed<'a>(sequences: impl Iterator<Item = &'a TokenIds>) -> Self {
        let mut batch = Self::default();
        sequences.for_each(|tokens| batch.push(tokens, tokens.ids.len()));
        batch
    }

    /// Sequences of `width` rows each; a shorter one is filled up with word piece 0.
    #[cfg(any(feature = "wgpu", feature = "cuda", test))]
    pub(crate) fn padded<'a>(sequences: impl Iterator<Item = &'a TokenIds>, width: usize) -> Self {
        let mut batch = Self {
            width: Some(width),
            ..Self::default()
        };
        sequences.for_each(|tokens| batch.push(tokens, width));
        batch
    }

    /// Number of rows, padding included.
    pub(crate) fn rows(&self) -> usize {
        self.ids.len()
    }

    fn push(&mut self, tokens: &TokenIds, width: usize) {
        let start = self.ids.len();
        let len = tokens.ids.len().min(width);
        let end = start + width;
        // Ids are checked against the model's tables, whose sizes fit into an i32.
        let cast = |ids: &[u32]| {
            ids.iter()
                .take(len)
                .map(|id| *id as i32)
                .collect::<Vec<_>>()
        };
        self.ids.extend(cast(&tokens.ids));
        self.ids.resize(end, 0);
        self.types.extend(cast(&tokens.types));
        self.types.resize(end, 0);
        self.positions.extend(0..width as i32);
        self.spans.push(Span { start, len });
    }
}

/// Indices of `tokens`, longest first: the largest batch comes first, and neighbours have about
/// the same length.
pub(crate) fn longest_first(tokens: &[TokenIds]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..tokens.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(tokens[*i].ids.len()));
    order
}

/// Whether the entry at `at` is marked; none is where there are no marks.
pub(crate) fn is_known(known: &[bool], at: usize) -> bool {
    known.get(at).copied().unwrap_or(false)
}

/// The longest run of `order` from `start` on that fits into `budget` rows, where each sequence
/// takes as many rows as `width` gives for the first (longest) one; at least one sequence.
#[cfg(any(feature = "wgpu", feature = "cuda", test))]
pub(crate) fn take_padded(
    order: &[usize],
    start: usize,
    budget: usize,
    width: usize,
) -> Range<usize> {
    let count = (budget / width.max(1)).max(1);
    start..(start + count).min(order.len())
}

/// Splits `order` into runs of at most `budget` tokens, each of at least one sequence.
pub(crate) fn split(order: &[usize], tokens: &[TokenIds], budget: usize) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let (mut start, mut used) = (0, 0);
    for (at, index) in order.iter().enumerate() {
        let len = tokens[*index].ids.len();
        if at > start && used + len > budget {
            runs.push(start..at);
            (start, used) = (at, 0);
        }
        used += len;
    }
    if start < order.len() {
        runs.push(start..order.len());
    }
    runs
}
