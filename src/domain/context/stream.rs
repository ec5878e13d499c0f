//! Random draws that mean the same for ever: ChaCha20 keyed by SHA-256, with our own bounded draw and
//! shuffle, so that no library's next version changes a context.

use std::collections::HashMap;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

use crate::domain::context::{Condition, Mode, Scenario};

/// Changing this, or anything in [`Streams::new`], changes every context ever composed.
const DOMAIN: &[u8] = b"medrgb/context/1\0";

/// What a stream of random numbers decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The order in which the question's own documents are taken.
    Signal,
    /// The order in which noise is taken.
    Noise,
    /// Which document stands where.
    Slots,
    /// Other orders of a composed context.
    Probe,
    /// What [`draw`] draws.
    Sample,
}

impl Purpose {
    fn name(self) -> &'static [u8] {
        match self {
            Purpose::Signal => b"signal",
            Purpose::Noise => b"noise",
            Purpose::Slots => b"slots",
            Purpose::Probe => b"probe",
            Purpose::Sample => b"sample",
        }
    }
}

/// The streams of one question under one condition: independent of each other and of everything else.
#[derive(Debug, Clone)]
pub(super) struct Streams {
    base: Sha256,
}

impl Streams {
    /// Nested streams depend on the seed and the question only; independent ones on scenario, n and p too.
    pub(super) fn new(question_id: &str, condition: &Condition) -> Streams {
        let mut base = Sha256::new();
        base.update(DOMAIN);
        base.update(condition.seed.to_le_bytes());
        base.update((question_id.len() as u64).to_le_bytes());
        base.update(question_id.as_bytes());
        if condition.mode == Mode::Independent {
            // Standard ignores p, so its draws must not depend on it. Adding zero turns -0 into 0.
            let p = match condition.scenario {
                Scenario::Standard => 100.0,
                _ => condition.p + 0.0,
            };
            base.update(b"independent");
            base.update(condition.scenario.name().as_bytes());
            base.update((condition.docs as u64).to_le_bytes());
            base.update(p.to_bits().to_le_bytes());
        }
        Streams { base }
    }

    /// The stream for one purpose, from its beginning.
    pub(super) fn open(&self, purpose: Purpose) -> Stream {
        let mut hash = self.base.clone();
        hash.update(b"\0");
        hash.update(purpose.name());
        Stream(ChaCha20Rng::from_seed(hash.finalize().into()))
    }
}

/// A stream of random numbers.
#[derive(Debug)]
pub(super) struct Stream(ChaCha20Rng);

impl Stream {
    /// The next 64 bits.
    pub(super) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`, each equally likely (0 where `bound` is 0).
    fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        // 2^64 mod bound: so many of the largest values would favour small results and are drawn again.
        let surplus = bound.wrapping_neg() % bound;
        loop {
            let drawn = self.next();
            if drawn <= u64::MAX - surplus {
                return drawn % bound;
            }
        }
    }

    /// The first `count` entries of a random order of `0..total` (all of them where there are fewer).
    ///
    /// A forward Fisher–Yates shuffle that stores only what it moved: a smaller `count` gives a prefix of
    /// a larger one's result, and the work depends on `count` alone.
    pub(super) fn order(&mut self, total: usize, count: usize) -> Vec<usize> {
        let mut moved: HashMap<usize, usize> = HashMap::new();
        (0..count.min(total))
            .map(|here| {
                let there = here + self.below((total - here) as u64) as usize;
                let value_here = moved.remove(&here).unwrap_or(here);
                if there == here {
                    return value_here;
                }
                moved.insert(there, value_here).unwrap_or(there)
            })
            .collect()
    }
}

/// The first `count` entries of a random order of `0..total` for another purpose than a context, told apart
/// by its name.
pub fn draw(name: &str, seed: u64, total: usize, count: usize) -> Vec<usize> {
    let condition = Condition {
        seed,
        ..Condition::default()
    };
    Streams::new(name, &condition)
        .open(Purpose::Sample)
        .order(total, count)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    fn stream(seed: u64) -> Stream {
        let condition = Condition {
            seed,
            ..Condition::default()
        };
        Streams::new("q", &condition).open(Purpose::Signal)
    }

    #[test]
    fn an_order_is_a_permutation_and_its_prefixes_agree() {
        for seed in 0..50 {
            let full = stream(seed).order(37, 37);
            let mut sorted = full.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..37).collect::<Vec<_>>());
            for count in 0..37 {
                assert_eq!(stream(seed).order(37, count), full[..count]);
            }
        }
    }

    /// Every order of three is equally likely: chi-square with 5 degrees of freedom, p = 0.001 at 20.5.
    #[test]
    fn orders_are_uniform() {
        let mut counts: HashMap<Vec<usize>, f64> = HashMap::new();
        for seed in 0..6000 {
            *counts.entry(stream(seed).order(3, 3)).or_default() += 1.0;
        }
        let chi: f64 = counts.values().map(|n| (n - 1000.0).powi(2) / 1000.0).sum();
        assert_eq!(counts.len(), 6);
        assert!(chi < 20.5, "chi-square {chi}");
    }

    #[test]
    fn a_draw_stays_below_its_bound() {
        let mut stream = stream(1);
        for bound in [1, 2, 3, 1000, u64::MAX / 2 + 2, u64::MAX] {
            for _ in 0..50 {
                assert!(stream.below(bound) < bound);
            }
        }
        assert_eq!(stream.below(0), 0);
    }

    #[test]
    fn streams_differ_by_every_part_of_their_key() {
        let base = Condition::default();
        let independent = Condition {
            mode: Mode::Independent,
            ..base
        };
        let first = |id: &str, condition: &Condition, purpose| {
            Streams::new(id, condition).open(purpose).next()
        };
        let mut seen = vec![
            first("q", &base, Purpose::Signal),
            first("q", &base, Purpose::Noise),
            first("q", &base, Purpose::Slots),
            first("q2", &base, Purpose::Signal),
            first("q", &Condition { seed: 1, ..base }, Purpose::Signal),
            first("q", &independent, Purpose::Signal),
            first(
                "q",
                &Condition {
                    docs: 6,
                    ..independent
                },
                Purpose::Signal,
            ),
            first(
                "q",
                &Condition {
                    p: 40.0,
                    ..independent
                },
                Purpose::Signal,
            ),
            first(
                "q",
                &Condition {
                    scenario: Scenario::Robustness,
                    ..independent
                },
                Purpose::Signal,
            ),
        ];
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 9);
    }
}
