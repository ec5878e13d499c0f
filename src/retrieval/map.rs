//! A flat map of vectors: their first two principal components.

use crate::retrieval::Method;

/// Most steps of the power iteration for one component.
const MOST_STEPS: usize = 300;

/// A query and the documents of its lists on a plane, so that what is near has similar vectors.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map {
    /// Where the query lies.
    pub query: [f32; 2],
    /// The documents, each once.
    pub points: Vec<Point>,
    /// Share of the vectors' variance that the plane shows, 0–1: near 1, distances on it are the real ones.
    pub shown: f32,
}

/// A document on the map.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Its id.
    pub id: String,
    /// Where it lies.
    pub at: [f32; 2],
    /// The lists that have it, with its rank there.
    pub ranks: Vec<(Method, usize)>,
    /// Whether it is signal for the question at hand.
    pub signal: bool,
    /// Inner product of its vector with the query's, which the plane only approximates.
    pub score: f32,
}

/// A document for the map: a point without its place, and its vector.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// Its id.
    pub id: String,
    /// The lists that have it, with its rank there.
    pub ranks: Vec<(Method, usize)>,
    /// Whether it is signal for the question at hand.
    pub signal: bool,
    /// Its vector.
    pub vector: Vec<f32>,
}

impl Map {
    /// The map of a query and documents.
    pub fn new(query: &[f32], documents: Vec<Placed>) -> Map {
        let mut rows: Vec<&[f32]> = vec![query];
        rows.extend(documents.iter().map(|document| document.vector.as_slice()));
        let places = pca2(&rows);
        let shown = share_shown(&rows, &places);
        let mut places = places.into_iter();
        let at_query = places.next().unwrap_or_default();
        let points = documents
            .into_iter()
            .zip(places)
            .map(|(document, at)| Point {
                score: document.vector.iter().zip(query).map(|(x, y)| x * y).sum(),
                id: document.id,
                at,
                ranks: document.ranks,
                signal: document.signal,
            })
            .collect();
        Map {
            query: at_query,
            points,
            shown,
        }
    }
}

/// Share of the variance of the rows that lies in their places; 1 where there is none to show.
fn share_shown(rows: &[&[f32]], places: &[[f32; 2]]) -> f32 {
    let dim = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let mut centred: Vec<Vec<f64>> = rows.iter().map(|row| padded(row, dim)).collect();
    centre(&mut centred, dim);
    let all: f64 = centred.iter().flatten().map(|x| x * x).sum();
    let flat: f64 = places.iter().flatten().map(|&x| f64::from(x).powi(2)).sum();
    if all > 0.0 {
        (flat / all).clamp(0.0, 1.0) as f32
    } else {
        1.0
    }
}

/// Places each row on a plane by its first two principal components (rows centred, power iteration with
/// deflation, in f64). The sign of each axis is fixed: its largest loading is positive. Deterministic.
///
/// Rows may differ in length: missing numbers count as zero, and so do numbers that are not finite.
/// No rows give an empty result; an axis without variance is zero everywhere.
pub fn pca2(rows: &[&[f32]]) -> Vec<[f32; 2]> {
    let dim = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let mut centred: Vec<Vec<f64>> = rows.iter().map(|row| padded(row, dim)).collect();
    centre(&mut centred, dim);
    let total: f64 = centred.iter().flatten().map(|x| x * x).sum();
    let mut places = vec![[0.0f32; 2]; rows.len()];
    for axis in 0..2 {
        let Some(direction) = leading_direction(&centred, dim, total) else {
            break;
        };
        for (row, place) in centred.iter_mut().zip(&mut places) {
            let along = inner(row, &direction);
            place[axis] = along as f32;
            for (x, d) in row.iter_mut().zip(&direction) {
                *x -= along * d;
            }
        }
    }
    places
}

fn padded(row: &[f32], dim: usize) -> Vec<f64> {
    let mut full: Vec<f64> = row
        .iter()
        .map(|&x| if x.is_finite() { f64::from(x) } else { 0.0 })
        .collect();
    full.resize(dim, 0.0);
    full
}

fn centre(rows: &mut [Vec<f64>], dim: usize) {
    let count = rows.len() as f64;
    let mut mean = vec![0.0; dim];
    for row in rows.iter() {
        for (m, x) in mean.iter_mut().zip(row) {
            *m += x / count;
        }
    }
    for row in rows.iter_mut() {
        for (x, m) in row.iter_mut().zip(&mean) {
            *x -= m;
        }
    }
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn normalise(vector: &mut [f64]) -> f64 {
    let length = inner(vector, vector).sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    }
    length
}

/// The unit vector along which the rows vary most; `None` where nothing is left of the variance.
fn leading_direction(rows: &[Vec<f64>], dim: usize, total: f64) -> Option<Vec<f64>> {
    let left: f64 = rows.iter().flatten().map(|x| x * x).sum();
    if left <= total * 1e-12 || left == 0.0 {
        return None;
    }
    // The longest row is never orthogonal to all variance, so it is a safe start.
    let mut direction = rows
        .iter()
        .max_by(|a, b| inner(a, a).total_cmp(&inner(b, b)))?
        .clone();
    normalise(&mut direction);
    for _ in 0..MOST_STEPS {
        let mut next = vec![0.0; dim];
        for row in rows {
            let along = inner(row, &direction);
            for (n, x) in next.iter_mut().zip(row) {
                *n += along * x;
            }
        }
        if normalise(&mut next) == 0.0 {
            break;
        }
        let agreement = inner(&next, &direction);
        direction = next;
        if agreement > 1.0 - 1e-13 {
            break;
        }
    }
    fix_sign(&mut direction);
    Some(direction)
}

fn fix_sign(direction: &mut [f64]) {
    let mut largest = 0.0f64;
    for &x in direction.iter() {
        // The slack keeps rounding from choosing between loadings of equal size.
        if x.abs() > largest.abs() * (1.0 + 1e-9) {
            largest = x;
        }
    }
    if largest < 0.0 {
        direction.iter_mut().for_each(|x| *x = -*x);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    fn squared_distance(a: &[f32], b: &[f32]) -> f64 {
        a.iter()
            .zip(b)
            .map(|(x, y)| (f64::from(*x) - f64::from(*y)).powi(2))
            .sum()
    }

    proptest! {
        #[test]
        fn distances_never_grow_and_axes_are_ordered(
            rows in prop::collection::vec(prop::collection::vec(-10.0f32..10.0, 5), 0..30)
        ) {
            let views: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
            let places = pca2(&views);
            prop_assert_eq!(places.len(), rows.len());
            for (i, a) in places.iter().enumerate() {
                for (j, b) in places.iter().enumerate() {
                    let flat = squared_distance(a, b);
                    prop_assert!(flat <= squared_distance(&rows[i], &rows[j]) * 1.001 + 1e-3);
                }
            }
            let spread = |axis: usize| places.iter().map(|p| f64::from(p[axis]).powi(2)).sum::<f64>();
            prop_assert!(spread(0) * 1.02 + 1e-6 >= spread(1));
            prop_assert_eq!(places, pca2(&views));
        }

        #[test]
        fn points_of_a_plane_keep_their_distances(
            points in prop::collection::vec((-10.0f32..10.0, -10.0f32..10.0), 3..20)
        ) {
            // An isometry of the plane into four dimensions.
            let rows: Vec<Vec<f32>> = points
                .iter()
                .map(|(x, y)| vec![0.6 * x, 0.8 * x, 0.8 * y, -0.6 * y])
                .collect();
            let views: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
            let places = pca2(&views);
            for (i, a) in places.iter().enumerate() {
                for (j, b) in places.iter().enumerate() {
                    let (flat, real) = (squared_distance(a, b), squared_distance(&rows[i], &rows[j]));
                    prop_assert!((flat - real).abs() < 1e-2 * real.max(1.0));
                }
            }
        }
    }

    #[test]
    fn a_line_lies_on_the_first_axis_with_a_fixed_sign() {
        let rows = [[-1.0f32, -2.0], [0.0, 0.0], [1.0, 2.0]];
        let views: Vec<&[f32]> = rows.iter().map(|row| row.as_slice()).collect();
        let places = pca2(&views);
        let length = 5.0f32.sqrt();
        for (place, expected) in places.iter().zip([-length, 0.0, length]) {
            assert!((place[0] - expected).abs() < 1e-5);
            assert!(place[1].abs() < 1e-5);
        }
    }

    #[test]
    fn a_map_says_how_much_of_the_distances_it_shows() {
        let document = |id: &str, vector: &[f32]| Placed {
            id: id.into(),
            ranks: vec![(Method::Dense, 1)],
            signal: false,
            vector: vector.into(),
        };
        // All of a plane is shown, and scores are inner products of whole vectors.
        let flat = Map::new(
            &[1.0, 0.0, 2.0],
            vec![
                document("a", &[0.0, 1.0, 2.0]),
                document("b", &[3.0, 1.0, 2.0]),
            ],
        );
        assert!((flat.shown - 1.0).abs() < 1e-6);
        let scores: Vec<f32> = flat.points.iter().map(|point| point.score).collect();
        assert_eq!(scores, [4.0, 7.0]);
        let away = |point: &Point| squared_distance(&point.at, &flat.query);
        assert!((away(&flat.points[0]) - 2.0).abs() < 1e-5);
        assert!((away(&flat.points[1]) - 5.0).abs() < 1e-5);
        // The corners of a regular tetrahedron vary equally in three directions: a plane shows two thirds.
        let corners = [
            [1.0, 1.0, 1.0],
            [1.0, -1.0, -1.0],
            [-1.0, 1.0, -1.0],
            [-1.0, -1.0, 1.0],
        ];
        let documents = corners[1..].iter().map(|corner| document("c", corner));
        let map = Map::new(&corners[0], documents.collect());
        assert!((map.shown - 2.0 / 3.0).abs() < 1e-3, "{}", map.shown);
        let lone = Map::new(&[1.0, 2.0], Vec::new());
        assert_eq!((lone.query, lone.shown), ([0.0, 0.0], 1.0));
    }

    #[test]
    fn odd_input_gives_finite_places() {
        assert!(pca2(&[]).is_empty());
        assert_eq!(pca2(&[&[1.0, 2.0]]), [[0.0, 0.0]]);
        assert_eq!(pca2(&[&[], &[]]), [[0.0, 0.0]; 2]);
        let places = pca2(&[&[f32::NAN, 1.0], &[2.0], &[f32::INFINITY, -1.0]]);
        assert!(places.iter().flatten().all(|x| x.is_finite()));
    }
}
