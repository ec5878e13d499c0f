//! Choosing the next token among those that the grammar admits.
//!
//! The likeliest (or drawn) token is tried first; only if it is refused is the whole vocabulary
//! looked through. Both are exact: what comes out is what a mask over all tokens would have given.

use std::collections::VecDeque;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::model::Sampling;

/// Tokens of a free text that the repetition penalty looks back on.
const PENALTY_WINDOW: usize = 64;

/// How much a token's logit is lowered for having occurred lately; 1 is not at all. Small models
/// fall into loops under greedy choice without it.
pub const REPEAT_PENALTY: f32 = 1.1;

/// Candidates that are drawn from when the temperature is above 0.
const TOP_K: usize = 40;

/// Draws and remembers for one reply.
pub struct Picker {
    temperature: f32,
    top_p: f32,
    random: ChaCha8Rng,
    recent: VecDeque<usize>,
    logits: Vec<f32>,
}

impl Picker {
    /// A picker for one reply; without a seed it is 0, so that the same request gives the same reply.
    pub fn new(sampling: &Sampling) -> Self {
        Picker {
            temperature: sampling.temperature as f32,
            top_p: sampling.top_p.map_or(1.0, |p| p as f32),
            random: ChaCha8Rng::seed_from_u64(sampling.seed.unwrap_or(0)),
            recent: VecDeque::with_capacity(PENALTY_WINDOW),
            logits: Vec::new(),
        }
    }

    /// The token that comes next by these logits, among those that `admits` lets pass; `None` if it
    /// lets none pass. `penalise` turns the repetition penalty on (free text only).
    pub fn pick(
        &mut self,
        logits: &[f32],
        penalise: bool,
        admits: &mut dyn FnMut(usize) -> bool,
    ) -> Option<usize> {
        let mut work = std::mem::take(&mut self.logits);
        work.clear();
        work.extend(logits.iter().map(|logit| {
            if logit.is_nan() {
                f32::NEG_INFINITY
            } else {
                *logit
            }
        }));
        if penalise {
            self.penalise(&mut work);
        }
        let picked = if self.temperature > 0.0 {
            self.draw(&work, admits)
        } else {
            best(&work, &mut |_| true)
                .filter(|token| admits(*token))
                .or_else(|| best(&work, admits))
        };
        self.logits = work;
        picked
    }

    /// Remembers a token for the repetition penalty.
    pub fn remember(&mut self, token: usize) {
        if self.recent.len() == PENALTY_WINDOW {
            self.recent.pop_front();
        }
        self.recent.push_back(token);
    }

    fn penalise(&self, logits: &mut [f32]) {
        let mut seen: Vec<usize> = self.recent.iter().copied().collect();
        seen.sort_unstable();
        seen.dedup();
        for token in seen {
            if let Some(logit) = logits.get_mut(token) {
                *logit = match *logit > 0.0 {
                    true => *logit / REPEAT_PENALTY,
                    false => *logit * REPEAT_PENALTY,
                };
            }
        }
    }

    fn draw(&mut self, logits: &[f32], admits: &mut dyn FnMut(usize) -> bool) -> Option<usize> {
        let all = top(logits, &mut |_| true);
        let first = self.draw_from(&all)?;
        if admits(first) {
            return Some(first);
        }
        let admitted = top(logits, admits);
        self.draw_from(&admitted)
    }

    /// Draws from candidates sorted by falling logit, after temperature and nucleus.
    fn draw_from(&mut self, candidates: &[(usize, f32)]) -> Option<usize> {
        let (_, highest) = *candidates.first()?;
        let weights: Vec<f64> = candidates
            .iter()
            .map(|(_, logit)| f64::from((logit - highest) / self.temperature).exp())
            .collect();
        let total: f64 = weights.iter().sum();
        let mut kept = 0.0;
        let mut count = 0;
        for weight in &weights {
            kept += weight;
            count += 1;
            if kept >= total * f64::from(self.top_p) {
                break;
            }
        }
        let mut left = self.unit() * kept;
        for ((token, _), weight) in candidates.iter().zip(&weights).take(count) {
            left -= weight;
            if left < 0.0 {
                return Some(*token);
            }
        }
        candidates
            .get(count.saturating_sub(1))
            .map(|(token, _)| *token)
    }

    /// A number from 0 up to but not including 1.
    fn unit(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The token with the highest logit that is admitted; the lower number wins a tie.
fn best(logits: &[f32], admits: &mut dyn FnMut(usize) -> bool) -> Option<usize> {
    let mut found: Option<(usize, f32)> = None;
    for (token, logit) in logits.iter().enumerate() {
        if found.is_none_or(|(_, highest)| *logit > highest) && admits(token) {
            found = Some((token, *logit));
        }
    }
    found.map(|(token, _)| token)
}

/// The [`TOP_K`] likeliest admitted tokens, likeliest first.
fn top(logits: &[f32], admits: &mut dyn FnMut(usize) -> bool) -> Vec<(usize, f32)> {
    let mut found: Vec<(usize, f32)> = Vec::with_capacity(TOP_K + 1);
    for (token, logit) in logits.iter().enumerate() {
        let lowest = found.last().map_or(f32::NEG_INFINITY, |(_, logit)| *logit);
        if (found.len() < TOP_K || *logit > lowest) && admits(token) {
            let place = found.partition_point(|(_, other)| other >= logit);
            found.insert(place, (token, *logit));
            found.truncate(TOP_K);
        }
    }
    found
}

/// Probabilities of some tokens among themselves.
pub fn probabilities(logits: &[f32], tokens: &[usize]) -> Option<Vec<f64>> {
    let values: Option<Vec<f64>> = tokens
        .iter()
        .map(|token| logits.get(*token).map(|logit| f64::from(*logit)))
        .collect();
    let values = values?;
    let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !highest.is_finite() {
        return None;
    }
    let weights: Vec<f64> = values.iter().map(|value| (value - highest).exp()).collect();
    let total: f64 = weights.iter().sum();
    Some(weights.iter().map(|weight| weight / total).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn picker(temperature: f64, top_p: Option<f64>, seed: u64) -> Picker {
        Picker::new(&Sampling {
            temperature,
            top_p,
            seed: Some(seed),
            max_tokens: 1,
        })
    }

    #[test]
    fn greedy_takes_the_best_that_is_admitted() {
        let mut picker = picker(0.0, None, 0);
        let logits = [0.0, 5.0, f32::NAN, 3.0, 3.0];
        assert_eq!(picker.pick(&logits, false, &mut |_| true), Some(1));
        assert_eq!(
            picker.pick(&logits, false, &mut |token| token != 1),
            Some(3)
        );
        assert_eq!(picker.pick(&logits, false, &mut |_| false), None);
        let mut calls = 0;
        picker.pick(&logits, false, &mut |_| {
            calls += 1;
            true
        });
        assert_eq!(
            calls, 1,
            "the vocabulary was searched although the first token passed"
        );
    }

    #[test]
    fn repeated_tokens_lose() {
        let mut picker = picker(0.0, None, 0);
        picker.remember(1);
        assert_eq!(picker.pick(&[4.9, 5.0], true, &mut |_| true), Some(0));
        assert_eq!(picker.pick(&[4.9, 5.0], false, &mut |_| true), Some(1));
        assert_eq!(picker.pick(&[-1.05, -1.0], true, &mut |_| true), Some(0));
    }

    #[test]
    fn draws_follow_the_probabilities_and_the_seed() {
        let logits: Vec<f32> = [0.7f32, 0.2, 0.1].iter().map(|p| p.ln()).collect();
        let count = |seed| {
            let mut picker = picker(1.0, None, seed);
            let mut counts = [0usize; 3];
            for _ in 0..10_000 {
                counts[picker.pick(&logits, false, &mut |_| true).unwrap()] += 1;
            }
            counts
        };
        let counts = count(1);
        // Within five standard deviations of 7000, 2000, 1000.
        assert!(counts[0].abs_diff(7000) < 230, "{counts:?}");
        assert!(
            counts[1].abs_diff(2000) < 200 && counts[2].abs_diff(1000) < 150,
            "{counts:?}"
        );
        assert_eq!(count(1), counts);
        assert_ne!(count(2), counts);
        let mut nucleus = picker(1.0, Some(0.5), 3);
        assert!((0..100).all(|_| nucleus.pick(&logits, false, &mut |_| true) == Some(0)));
        let mut refused = picker(1.0, None, 3);
        assert!((0..100).all(|_| refused.pick(&logits, false, &mut |t| t == 2) == Some(2)));
    }

    #[test]
    fn option_probabilities_add_up() {
        let logits = [9.0, 2f32.ln(), 1f32.ln(), 1f32.ln()];
        let p = probabilities(&logits, &[1, 2, 3]).unwrap();
        assert!((p[0] - 0.5).abs() < 1e-6 && (p.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert_eq!(probabilities(&logits, &[1, 99]), None);
        assert_eq!(probabilities(&[f32::NEG_INFINITY; 2], &[0, 1]), None);
    }
}
