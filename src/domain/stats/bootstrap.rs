//! Percentile bootstrap by question: for rates whose items hang together within a question.

use std::collections::HashMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// How often and from which seed is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resampling {
    /// Number of resamples.
    pub resamples: usize,
    /// The same seed gives the same interval.
    pub seed: u64,
}

impl Default for Resampling {
    /// 10,000 resamples from seed 0.
    fn default() -> Self {
        Resampling {
            resamples: 10_000,
            seed: 0,
        }
    }
}

/// What the resamples of an estimate look like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Percentile interval at 95 %.
    pub interval: (f64, f64),
    /// Standard deviation of the resamples.
    pub error: f64,
}

/// Two systems on the same cluster (a question with all its repeats): numerator and denominator of each.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ClusterPair {
    /// Of the first.
    pub a: (f64, f64),
    /// Of the second.
    pub b: (f64, f64),
}

/// Spreads of both rates and of their difference; `None` where a rate has nothing to divide by.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PairedSpread {
    /// Of the first rate.
    pub a: Option<Spread>,
    /// Of the second rate.
    pub b: Option<Spread>,
    /// Of the second minus the first.
    pub difference: Option<Spread>,
}

/// The spread of a pooled rate: whole clusters are drawn with replacement, as many as there are, and each
/// resample's numerators are divided by its denominators.
///
/// `clusters` are the numerator and denominator of every cluster. A resample without a denominator says
/// nothing and is left out; `None` where all are so. Source: A. C. Davison, D. V. Hinkley, "Bootstrap
/// Methods and their Application" (1997), sections 2.4 (ratio) and 3.8 (clusters), percentile method.
pub fn pooled(clusters: &[(f64, f64)], plan: Resampling) -> Option<Spread> {
    let mut rates = Vec::with_capacity(plan.resamples);
    resample(clusters.len(), plan, |draw| {
        let mut sum = (0.0, 0.0);
        for at in draw {
            add(&mut sum, clusters[at]);
        }
        rates.extend(rate(sum));
    });
    spread(rates)
}

/// As [`pooled`], for two systems on the same clusters and their difference: each draw takes a cluster
/// for both, so that what makes a question hard for both does not count as noise.
pub fn paired(clusters: &[ClusterPair], plan: Resampling) -> PairedSpread {
    let (mut a, mut b, mut difference) = (Vec::new(), Vec::new(), Vec::new());
    let classes = Classes::of(clusters);
    resample(clusters.len(), plan, |draw| {
        let sum = match &classes {
            Some(classes) => classes.sum(draw),
            None => sum_of(clusters, draw),
        };
        let (of_a, of_b) = (rate(sum.a), rate(sum.b));
        a.extend(of_a);
        b.extend(of_b);
        difference.extend(of_a.zip(of_b).map(|(a, b)| b - a));
    });
    PairedSpread {
        a: spread(a),
        b: spread(b),
        difference: spread(difference),
    }
}

fn sum_of(clusters: &[ClusterPair], draw: Draw<'_>) -> ClusterPair {
    let mut sum = ClusterPair::default();
    for at in draw {
        add(&mut sum.a, clusters[at].a);
        add(&mut sum.b, clusters[at].b);
    }
    sum
}

/// Clusters of which many are alike, as those of one right or wrong answer are: a resample is summed by counting
/// how often each kind was drawn, which is several times as fast and gives the same bits.
struct Classes {
    /// The kind of each cluster.
    kinds: Vec<u8>,
    /// What a cluster of each kind holds.
    values: Vec<ClusterPair>,
}

/// Counters that take turns, so that an increment need not wait for the last one.
const LANES: usize = 4;

/// Fewer clusters than this are summed as they are.
const FEW: usize = 64;

impl Classes {
    /// `None` where there are few clusters or too many kinds of them, or where a sum might depend on its order.
    fn of(clusters: &[ClusterPair]) -> Option<Classes> {
        if clusters.len() < FEW || !is_exact(clusters) {
            return None;
        }
        let mut known: HashMap<[u64; 4], u8> = HashMap::new();
        let mut values = Vec::new();
        let mut kinds = Vec::with_capacity(clusters.len());
        for cluster in clusters {
            let bits = [cluster.a.0, cluster.a.1, cluster.b.0, cluster.b.1].map(f64::to_bits);
            let kind = match known.get(&bits) {
                Some(kind) => *kind,
                None => {
                    let kind = u8::try_from(values.len()).ok()?;
                    values.push(*cluster);
                    known.insert(bits, kind);
                    kind
                }
            };
            kinds.push(kind);
        }
        Some(Classes { kinds, values })
    }

    fn sum(&self, draw: Draw<'_>) -> ClusterPair {
        let mut counts = [[0_u32; 256]; LANES];
        for (at, position) in draw.enumerate() {
            counts[at % LANES][usize::from(self.kinds[position])] += 1;
        }
        let mut sum = ClusterPair::default();
        for (kind, value) in self.values.iter().enumerate() {
            let count: u32 = counts.iter().map(|lane| lane[kind]).sum();
            let times =
                |ratio: (f64, f64)| (ratio.0 * f64::from(count), ratio.1 * f64::from(count));
            add(&mut sum.a, times(value.a));
            add(&mut sum.b, times(value.b));
        }
        sum
    }
}

/// Whether every sum of as many of these numbers as there are clusters is exact, whatever its order: all are
/// multiples of 1/1024 and small enough.
fn is_exact(clusters: &[ClusterPair]) -> bool {
    const UNIT: f64 = 1024.0;
    // 2^53: up to it every whole number has a double of its own.
    let most = 9_007_199_254_740_992.0 / UNIT / clusters.len() as f64;
    clusters
        .iter()
        .flat_map(|cluster| [cluster.a.0, cluster.a.1, cluster.b.0, cluster.b.1])
        .all(|number| (number * UNIT).fract() == 0.0 && (0.0..most).contains(&number))
}

fn add(sum: &mut (f64, f64), ratio: (f64, f64)) {
    sum.0 += ratio.0;
    sum.1 += ratio.1;
}

fn rate((num, den): (f64, f64)) -> Option<f64> {
    (den > 0.0).then(|| num / den)
}

/// Calls `take` with the drawn positions of every resample.
fn resample(clusters: usize, plan: Resampling, mut take: impl FnMut(Draw<'_>)) {
    // More clusters than this are no benchmark's.
    let Ok(bound) = u32::try_from(clusters) else {
        return;
    };
    if bound == 0 {
        return;
    }
    let mut random = stream(plan.seed);
    for _ in 0..plan.resamples {
        take(Draw {
            random: &mut random,
            bound,
            left: bound,
        });
    }
}

/// The seed fills the first bytes of the key, so that no library's next version changes an interval.
fn stream(seed: u64) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    ChaCha8Rng::from_seed(key)
}

/// The positions of one resample.
struct Draw<'a> {
    random: &'a mut ChaCha8Rng,
    bound: u32,
    left: u32,
}

impl Iterator for Draw<'_> {
    type Item = usize;

    /// A position, each equally likely. Source: D. Lemire, "Fast random integer generation in an
    /// interval", ACM Transactions on Modeling and Computer Simulation 29 (2019) 3.
    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let surplus = self.bound.wrapping_neg() % self.bound;
        loop {
            let product = u64::from(self.random.next_u32()) * u64::from(self.bound);
            // The low half; of those below `surplus` there is one too many for some positions.
            if product as u32 >= surplus {
                return Some((product >> 32) as usize);
            }
        }
    }
}

fn spread(mut resamples: Vec<f64>) -> Option<Spread> {
    if resamples.is_empty() {
        return None;
    }
    resamples.sort_by(f64::total_cmp);
    let n = resamples.len() as f64;
    let mean = resamples.iter().sum::<f64>() / n;
    let squares: f64 = resamples.iter().map(|rate| (rate - mean).powi(2)).sum();
    Some(Spread {
        interval: (quantile(&resamples, 0.025), quantile(&resamples, 0.975)),
        error: (squares / (n - 1.0).max(1.0)).sqrt(),
    })
}

/// The quantile of sorted values, linear between neighbours (type 7 of Hyndman and Fan, "Sample quantiles
/// in statistical packages", The American Statistician 50 (1996) 361–365), as numpy has it.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let below = place.floor();
    let at = below as usize;
    let low = sorted[at];
    let high = sorted.get(at + 1).copied().unwrap_or(low);
    low + (high - low) * (place - below)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn plan(resamples: usize, seed: u64) -> Resampling {
        Resampling { resamples, seed }
    }

    /// Fifteen questions with up to five documents each; `b` has the same denominators.
    const A: [f64; 15] = [3., 1., 4., 1., 5., 2., 0., 2., 3., 5., 3., 4., 2., 1., 4.];
    const B: [f64; 15] = [4., 1., 5., 0., 5., 3., 1., 2., 4., 5., 2., 4., 3., 0., 5.];
    const OUT_OF: [f64; 15] = [5., 5., 5., 2., 5., 3., 4., 5., 5., 5., 4., 5., 5., 1., 5.];

    fn pairs() -> Vec<ClusterPair> {
        (0..15)
            .map(|at| ClusterPair {
                a: (A[at], OUT_OF[at]),
                b: (B[at], OUT_OF[at]),
            })
            .collect()
    }

    #[test]
    fn intervals_agree_with_scipy() {
        // scipy 1.17.1, i = numpy.arange(15), A, B and OUT_OF as above:
        // bootstrap((i,), lambda i, axis: A[i].sum(axis) / OUT_OF[i].sum(axis), n_resamples=200000,
        //           method="percentile", vectorized=True, random_state=numpy.random.default_rng(0))
        // gives (0.47273, 0.76667), standard error 0.07519; seed 1 (0.47458, 0.76667), 0.07508.
        let a: Vec<(f64, f64)> = A.into_iter().zip(OUT_OF).collect();
        let found = pooled(&a, plan(40_000, 0)).unwrap();
        assert!((found.interval.0 - 0.473).abs() < 0.006, "{found:?}");
        assert!((found.interval.1 - 0.767).abs() < 0.006, "{found:?}");
        assert!((found.error - 0.0752).abs() < 0.001, "{found:?}");
        // The same with B[i].sum(axis) / OUT_OF[i].sum(axis) minus the above: (-0.03509, 0.14286),
        // standard error 0.04549.
        let found = paired(&pairs(), plan(40_000, 0));
        let difference = found.difference.unwrap();
        assert!((difference.interval.0 + 0.0351).abs() < 0.004, "{found:?}");
        assert!((difference.interval.1 - 0.1429).abs() < 0.004, "{found:?}");
        assert!((difference.error - 0.0455).abs() < 0.001, "{found:?}");
        // The paired draw is the same as the single one.
        assert_eq!(found.a, pooled(&a, plan(40_000, 0)));
    }

    #[test]
    fn counting_kinds_gives_the_bits_of_summing() {
        // 300 questions: right or wrong answers, halves, and documents out of up to five.
        let clusters: Vec<ClusterPair> = (0_u32..300)
            .map(|at| ClusterPair {
                a: (f64::from(at % 3) / 2.0, f64::from(at % 5 + 1)),
                b: (f64::from(at % 2), 1.0),
            })
            .collect();
        let classes = Classes::of(&clusters).unwrap();
        assert_eq!(classes.values.len(), 30);
        let (mut random, mut again) = (stream(5), stream(5));
        let draw = |random| Draw {
            random,
            bound: 300,
            left: 300,
        };
        assert_eq!(
            classes.sum(draw(&mut random)),
            sum_of(&clusters, draw(&mut again))
        );
    }

    #[test]
    fn what_is_not_exact_or_not_alike_is_summed_as_it_is() {
        let all = |number: f64| {
            vec![
                ClusterPair {
                    a: (number, 1.0),
                    b: (0.0, 1.0)
                };
                100
            ]
        };
        assert!(Classes::of(&all(0.5)).is_some());
        for number in [1.0 / 3.0, 1e13, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Classes::of(&all(number)).is_none(), "{number}");
        }
        assert!(Classes::of(&all(1.0)[..FEW - 1]).is_none());
        let different: Vec<ClusterPair> = (0_u32..300)
            .map(|at| ClusterPair {
                a: (f64::from(at), 300.0),
                b: (0.0, 1.0),
            })
            .collect();
        assert!(Classes::of(&different).is_none());
    }

    #[test]
    fn two_clusters_by_hand() {
        // Of the four equally likely draws one takes the first question twice (0 of 2), one the second
        // twice (4 of 4), two take both (2 of 3). More than 2.5 % of the resamples are at either end, so
        // the interval is 0 to 1. Standard deviation: mean (0 + 2/3 + 2/3 + 1) / 4 = 7/12, mean square
        // (0 + 4/9 + 4/9 + 1) / 4 = 17/36, variance 17/36 − 49/144 = 19/144.
        let found = pooled(&[(0.0, 1.0), (2.0, 2.0)], plan(20_000, 3)).unwrap();
        assert_eq!(found.interval, (0.0, 1.0));
        assert!((found.error - (19.0_f64 / 144.0).sqrt()).abs() < 0.005);
        // One question: every resample is that question.
        let found = pooled(&[(1.0, 4.0)], plan(100, 0)).unwrap();
        assert_eq!((found.interval, found.error), ((0.25, 0.25), 0.0));
    }

    #[test]
    fn pairing_takes_out_what_questions_share() {
        // Both systems err on the same questions, so the difference never varies.
        let shared: Vec<ClusterPair> = (0..30)
            .map(|at| ClusterPair {
                a: (f64::from(at % 2), 1.0),
                b: (f64::from(at % 2), 1.0),
            })
            .collect();
        let found = paired(&shared, plan(2_000, 0));
        let difference = found.difference.unwrap();
        assert_eq!(difference.interval, (0.0, 0.0));
        assert!(found.a.unwrap().error > 0.05);
        assert_eq!(found.a, found.b);
    }

    #[test]
    fn a_seed_means_the_same_for_ever() {
        let a: Vec<(f64, f64)> = A.into_iter().zip(OUT_OF).collect();
        assert_eq!(pooled(&a, plan(500, 7)), pooled(&a, plan(500, 7)));
        assert_ne!(pooled(&a, plan(500, 7)), pooled(&a, plan(500, 8)));
        // ChaCha8 with a key of zeros begins with the words 2fef003e d6405f89 e8b85b7f a1a5091f c30e842c
        // 3b7f9ace 88e11b18 1e1a71ef 72e14c98 416f21b9 (draft-strombergson-chacha-test-vectors, TC1);
        // times ten, and the upper half of the product.
        let mut random = stream(0);
        let draw = Draw {
            random: &mut random,
            bound: 10,
            left: 10,
        };
        assert_eq!(draw.collect::<Vec<_>>(), [1, 8, 9, 6, 7, 2, 5, 1, 4, 2]);
    }

    #[test]
    fn every_position_is_equally_likely() {
        let mut seen = [0_u32; 7];
        resample(7, plan(10_000, 1), |draw| {
            for at in draw {
                seen[at] += 1;
            }
        });
        assert_eq!(seen.iter().sum::<u32>(), 70_000);
        // Standard deviation of each count: sqrt(70,000 · 1/7 · 6/7) = 93.
        assert!(
            seen.iter().all(|count| count.abs_diff(10_000) < 450),
            "{seen:?}"
        );
    }

    #[test]
    fn nothing_to_divide_by_is_none() {
        assert_eq!(pooled(&[], Resampling::default()), None);
        assert_eq!(pooled(&[(0.0, 0.0); 3], plan(50, 0)), None);
        assert_eq!(pooled(&[(1.0, 2.0)], plan(0, 0)), None);
        let half = [ClusterPair {
            a: (1.0, 2.0),
            b: (0.0, 0.0),
        }];
        let found = paired(&half, plan(50, 0));
        assert!(found.a.is_some() && found.b.is_none() && found.difference.is_none());
    }

    #[test]
    fn quantiles_as_numpy() {
        // numpy 2.4.6: numpy.percentile([1, 2, 4, 8, 16], [0, 2.5, 50, 97.5, 100])
        let values = [1.0, 2.0, 4.0, 8.0, 16.0];
        for (share, expected) in [
            (0.0, 1.0),
            (0.025, 1.1),
            (0.5, 4.0),
            (0.975, 15.2),
            (1.0, 16.0),
        ] {
            assert!((quantile(&values, share) - expected).abs() < 1e-12);
        }
    }
}
