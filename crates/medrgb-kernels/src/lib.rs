//! Inner products of vectors in `f32`, half precision (as bits, `u16`) and `i8`, compiled for AVX-512, AVX2
//! and the baseline and chosen at run time.
//!
//! There are two families. The *ordered* ones ([`dot`], [`Panel::column`], [`Panel::tile`]) add in one order
//! that depends on the processor alone: the product of two vectors has the same bits however many others are
//! computed with it. The *quick* ones ([`quick`], [`quick_half`], [`quick_mixed`], [`quick_i8`]) are for single
//! pairs, use more running sums and differ from the ordered ones in the last bits.
//!
//! A crate of its own, so that development builds can compile these loops at the highest level.

mod simd;

/// Numbers to which rows are padded with zeros before the ordered products run over them.
pub const PAD: usize = 16;
/// Rows of a tile.
pub const TILE_ROWS: usize = 4;
/// Queries of a tile.
pub const TILE_QUERIES: usize = 3;

/// Products of [`TILE_QUERIES`] queries with [`TILE_ROWS`] rows each.
pub type Tile = [[f32; TILE_ROWS]; TILE_QUERIES];

/// The instruction set that the kernels run with here, in words.
pub fn instruction_set() -> &'static str {
    simd::instruction_set()
}

/// `dim` rounded up to whole [`PAD`]s.
pub fn padded(dim: usize) -> usize {
    dim.next_multiple_of(PAD)
}

/// Ordered inner product of two vectors; the shorter length counts.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let len = a.len().min(b.len());
    let whole = len - len % PAD;
    let mut tails = [[0.0; PAD]; 2];
    for (tail, from) in tails.iter_mut().zip([a, b]) {
        tail[..len - whole].copy_from_slice(&from[whole..len]);
    }
    // Without a rest there is no step for it, as in a panel: a step of zeros could change the sign of a zero.
    let rest = if len > whole { PAD } else { 0 };
    simd::dot(
        &a[..whole],
        &b[..whole],
        &tails[0][..rest],
        &tails[1][..rest],
    )
}

/// Vectors side by side, each padded with zeros to `stride` numbers, for the ordered products.
#[derive(Debug, Clone, Copy)]
pub struct Panel<'a> {
    data: &'a [f32],
    stride: usize,
}

impl<'a> Panel<'a> {
    /// A view of vectors of `stride` numbers; `None` unless `stride` is a positive multiple of [`PAD`] and
    /// `data` holds whole vectors.
    pub fn new(data: &'a [f32], stride: usize) -> Option<Panel<'a>> {
        let fits = stride > 0 && stride.is_multiple_of(PAD) && data.len().is_multiple_of(stride);
        fits.then_some(Panel { data, stride })
    }

    /// How many vectors there are.
    pub fn len(&self) -> usize {
        self.data.len() / self.stride
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Ordered products of the rows from `row` on with one of `queries`. Rows beyond the end count as zero.
    pub fn column(&self, row: usize, queries: &Panel<'_>, query: usize) -> [f32; TILE_ROWS] {
        let query = queries.part(query, 1);
        match self.part(row, TILE_ROWS) {
            rows if rows.len() == TILE_ROWS * self.stride && query.len() == self.stride => {
                simd::column(rows, query)
            }
            rows => {
                let mut out = [0.0; TILE_ROWS];
                for (out, row) in out.iter_mut().zip(rows.chunks_exact(self.stride)) {
                    *out = dot(row, query);
                }
                out
            }
        }
    }

    /// Ordered products of the rows from `row` on with the queries from `query` on. Those beyond the end
    /// count as zero.
    pub fn tile(&self, row: usize, queries: &Panel<'_>, query: usize) -> Tile {
        let rows = self.part(row, TILE_ROWS);
        let columns = queries.part(query, TILE_QUERIES);
        if rows.len() == TILE_ROWS * self.stride && columns.len() == TILE_QUERIES * self.stride {
            return simd::tile(rows, columns);
        }
        std::array::from_fn(|column| self.column(row, queries, query + column))
    }

    /// `count` vectors from `first` on, fewer at the end.
    fn part(&self, first: usize, count: usize) -> &'a [f32] {
        let start = first.saturating_mul(self.stride).min(self.data.len());
        let end = (start + count * self.stride).min(self.data.len());
        &self.data[start..end]
    }
}

/// Quick inner product of two vectors; the shorter length counts.
pub fn quick(a: &[f32], b: &[f32]) -> f32 {
    simd::quick(a, b)
}

/// Quick inner product of two vectors in half precision, summed in `f32`; the shorter length counts.
pub fn quick_half(a: &[u16], b: &[u16]) -> f32 {
    simd::quick_half(a, b)
}

/// Quick inner product of a vector in half precision with one in `f32`; the shorter length counts.
pub fn quick_mixed(a: &[u16], b: &[f32]) -> f32 {
    simd::quick_mixed(a, b)
}

/// Inner product of two vectors of whole numbers; the shorter length counts. Exact up to 130,000 numbers.
pub fn quick_i8(a: &[i8], b: &[i8]) -> i32 {
    simd::quick_i8(a, b)
}

/// Half precision to `f32`, exactly; the shorter length counts.
pub fn widen(from: &[u16], to: &mut [f32]) {
    simd::widen(from, to);
}

/// `f32` to half precision, rounded to the nearest; what is too large becomes infinite. The shorter length
/// counts.
pub fn narrow(from: &[f32], to: &mut [u16]) {
    use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};
    let len = from.len().min(to.len());
    to[..len]
        .reinterpret_cast_mut::<half::f16>()
        .convert_from_f32_slice(&from[..len]);
}

/// Whole numbers between -127 and 127 nearest to `from` times `factor`; the shorter length counts.
pub fn quantise(from: &[f32], factor: f32, to: &mut [i8]) {
    simd::quantise(from, factor, to);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers between -1 and 1 without a pattern.
    fn numbers(seed: u32, count: usize) -> Vec<f32> {
        let mut state = seed;
        (0..count)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / (1 << 23) as f32 - 1.0
            })
            .collect()
    }

    fn exact(a: &[f32], b: &[f32]) -> f64 {
        a.iter()
            .zip(b)
            .map(|(&x, &y)| f64::from(x) * f64::from(y))
            .sum()
    }

    /// Rows of `dim` numbers padded with zeros.
    fn padded_rows(rows: &[f32], dim: usize) -> Vec<f32> {
        let mut out = Vec::new();
        for row in rows.chunks_exact(dim) {
            out.extend_from_slice(row);
            out.resize(out.len().next_multiple_of(PAD), 0.0);
        }
        out
    }

    #[test]
    fn products_agree_with_the_sum_in_double_precision() {
        for len in [0, 1, 7, 8, 15, 16, 17, 31, 64, 100, 384, 767, 768, 1024] {
            let (a, b) = (numbers(1, len), numbers(2, len));
            let wanted = exact(&a, &b);
            let near = |got: f32, slack: f64| {
                assert!(
                    (f64::from(got) - wanted).abs() <= slack,
                    "{got} {wanted}, {len}"
                );
            };
            near(dot(&a, &b), 1e-5);
            near(quick(&a, &b), 1e-5);
            let (mut half_a, mut half_b) = (vec![0; len], vec![0; len]);
            narrow(&a, &mut half_a);
            narrow(&b, &mut half_b);
            near(quick_half(&half_a, &half_b), 1e-2);
            near(quick_mixed(&half_a, &b), 1e-2);
        }
    }

    #[test]
    fn an_ordered_product_has_the_same_bits_alone_and_in_company() {
        for dim in [1, 5, 16, 24, 100, 384, 768] {
            let (rows, queries) = (numbers(3, 11 * dim), numbers(4, 8 * dim));
            let (left, right) = (padded_rows(&rows, dim), padded_rows(&queries, dim));
            let left = Panel::new(&left, padded(dim)).unwrap_or_else(|| unreachable!());
            let right = Panel::new(&right, padded(dim)).unwrap_or_else(|| unreachable!());
            for row in 0..left.len() {
                for query in 0..right.len() {
                    let alone = dot(&rows[row * dim..][..dim], &queries[query * dim..][..dim]);
                    let column = left.column(row, &right, query)[0];
                    let tile = left.tile(row, &right, query)[0][0];
                    assert_eq!(alone.to_bits(), column.to_bits(), "{dim} {row} {query}");
                    assert_eq!(alone.to_bits(), tile.to_bits(), "{dim} {row} {query}");
                }
            }
            let tile = left.tile(2, &right, 1);
            for (q, line) in tile.iter().enumerate() {
                for (r, &got) in line.iter().enumerate() {
                    assert_eq!(
                        got.to_bits(),
                        left.column(2 + r, &right, 1 + q)[0].to_bits()
                    );
                }
            }
        }
    }

    #[test]
    fn panels_take_whole_padded_vectors_only() {
        let data = [0.0; 48];
        assert!(Panel::new(&data, 16).is_some_and(|panel| panel.len() == 3));
        for stride in [0, 8, 17, 32] {
            assert!(Panel::new(&data, stride).is_none(), "{stride}");
        }
        let few = Panel::new(&data, 16).unwrap_or_else(|| unreachable!());
        assert_eq!(few.column(2, &few, 0), [0.0; TILE_ROWS]);
        assert_eq!(few.tile(9, &few, 9), Tile::default());
    }

    #[test]
    fn whole_numbers_multiply_exactly_up_to_the_extremes() {
        for len in [0, 1, 15, 16, 17, 33, 768, 1000] {
            let a: Vec<i8> = (0..len).map(|i| (i * 37 % 255) as u8 as i8).collect();
            let b: Vec<i8> = (0..len).map(|i| (i * 101 % 251) as u8 as i8).collect();
            let wanted: i32 = a
                .iter()
                .zip(&b)
                .map(|(&x, &y)| i32::from(x) * i32::from(y))
                .sum();
            assert_eq!(quick_i8(&a, &b), wanted, "{len}");
            let low = vec![-128i8; len];
            assert_eq!(quick_i8(&low, &low), 16_384 * len as i32);
        }
    }

    #[test]
    fn numbers_are_quantised_to_the_nearest_and_cut_at_the_limits() {
        let from: Vec<f32> = [0.0, 0.26, -0.24, 1.0, 63.5, 64.0, -1e9, 1e9].repeat(5);
        let mut to = vec![0; from.len()];
        quantise(&from, 2.0, &mut to);
        assert_eq!(to, [0, 1, 0, 2, 127, 127, -127, 127].repeat(5));
    }

    #[test]
    fn half_precision_survives_the_way_there_and_back() {
        // Every finite half-precision number.
        let all: Vec<u16> = (0..=u16::MAX)
            .filter(|bits| bits & 0x7c00 != 0x7c00)
            .collect();
        let mut wide = vec![0.0; all.len()];
        widen(&all, &mut wide);
        let mut back = vec![0; all.len()];
        narrow(&wide, &mut back);
        assert_eq!(back, all);
        let (mut wide, mut narrowed) = ([0.0; 3], [0; 3]);
        narrow(&[1.0, -2.5, 1e9], &mut narrowed);
        widen(&narrowed, &mut wide);
        assert_eq!(wide, [1.0, -2.5, f32::INFINITY]);
    }
}
