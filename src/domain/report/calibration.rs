//! Whether a model knows how sure it may be: its own probabilities of the options beside how often it was right.

use serde::Serialize;

use crate::domain::context::Scenario;
use crate::domain::stats::wilson;

/// Bins of equal width that confidences from 0 to 1 are sorted into.
const BINS: usize = 10;

/// What a model's probabilities of the options said about one reply that chose an option.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// Probability of the option that was chosen, 0 to 1.
    pub confidence: f64,
    /// The reply's Brier score (Brier 1950): the sum over all options of (probability - outcome)², where the outcome
    /// is 1 for the right option and 0 for the others. 0 is best, 2 is worst.
    pub brier: f64,
    /// Whether the right option was chosen.
    pub right: bool,
}

impl Forecast {
    /// Of the probability of each option, the chosen and the right one. `None` where one of the two has no
    /// probability, or the numbers are none of probabilities. They are made to add up to 1.
    pub fn of(probabilities: &[(char, f64)], chosen: char, right: char) -> Option<Forecast> {
        let total: f64 = probabilities.iter().map(|(_, p)| p).sum();
        let sound = probabilities.iter().all(|(_, p)| *p >= 0.0);
        if !(sound && total.is_finite() && total > 0.0) {
            return None;
        }
        let of = |letter: char| {
            let found = probabilities.iter().find(|(other, _)| *other == letter);
            found.map(|(_, p)| p / total)
        };
        of(right)?;
        let outcome = |letter: char| f64::from(u8::from(letter == right));
        Some(Forecast {
            confidence: of(chosen)?,
            brier: probabilities
                .iter()
                .map(|(letter, p)| (p / total - outcome(*letter)).powi(2))
                .sum(),
            right: chosen == right,
        })
    }
}

/// How well a model's probabilities fit, in one test on one question set. All counted replies with probabilities that
/// chose an option are pooled, whatever n and p they had.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    /// Name of the run.
    pub run: String,
    /// Name of the model.
    pub model: String,
    /// The model, with its run where that is needed to tell rows apart.
    pub label: String,
    /// Position of the model among all of the report: it keeps its colour.
    #[serde(skip)]
    pub series: usize,
    /// Name of the dataset, or of the paper's set.
    pub dataset: String,
    /// Which test.
    pub scenario: Scenario,
    /// Replies.
    pub n: usize,
    /// Share of them that chose the right option.
    pub accuracy: f64,
    /// Mean probability of the chosen option.
    pub confidence: f64,
    /// Expected calibration error (Naeini, Cooper and Hauskrecht 2015; Guo et al. 2017): the mean over replies of the
    /// gap |accuracy - mean confidence| of their bin, that is the sum over bins of n_bin / n times that gap. 0 to 1.
    /// It depends on the bins and is too high where bins hold few replies.
    pub expected_calibration_error: f64,
    /// Mean of the replies' Brier scores, 0 to 2.
    pub brier_score: f64,
    /// The reliability curve: bins of equal width that hold replies, rising.
    pub bins: Vec<Bin>,
}

/// Replies of about the same confidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bin {
    /// Confidences from here, included.
    pub from: f64,
    /// Up to here; only the last bin includes its end.
    pub to: f64,
    /// Replies.
    pub n: usize,
    /// Their mean confidence.
    pub confidence: f64,
    /// Share of them that chose the right option.
    pub accuracy: f64,
    /// Ends of Wilson's 95 % interval of the accuracy; it takes replies as independent.
    pub interval: (f64, f64),
}

/// Sums of the replies of a bin.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    n: usize,
    right: usize,
    confidence: f64,
    brier: f64,
}

/// The calibration of forecasts; `None` without any. The caller says whose they are.
pub(super) fn calibration(forecasts: &[Forecast]) -> Option<Calibration> {
    let mut sums = [Sum::default(); BINS];
    for forecast in forecasts {
        // From 0 to 1, so at most BINS.
        let at = (forecast.confidence * BINS as f64) as usize;
        if let Some(sum) = sums.get_mut(at.min(BINS - 1)) {
            sum.n += 1;
            sum.right += usize::from(forecast.right);
            sum.confidence += forecast.confidence;
            sum.brier += forecast.brier;
        }
    }
    let n = forecasts.len();
    let share = |sum: f64| (n > 0).then(|| sum / n as f64);
    let right: usize = sums.iter().map(|sum| sum.right).sum();
    let bins: Vec<Bin> = sums
        .iter()
        .enumerate()
        .filter(|(_, sum)| sum.n > 0)
        .map(|(at, sum)| bin(at, sum))
        .collect();
    let gaps = bins
        .iter()
        .map(|bin| bin.n as f64 * (bin.accuracy - bin.confidence).abs())
        .sum();
    Some(Calibration {
        run: String::new(),
        model: String::new(),
        label: String::new(),
        series: 0,
        dataset: String::new(),
        scenario: Scenario::Standard,
        n,
        accuracy: share(right as f64)?,
        confidence: share(sums.iter().map(|sum| sum.confidence).sum())?,
        expected_calibration_error: share(gaps)?,
        brier_score: share(sums.iter().map(|sum| sum.brier).sum())?,
        bins,
    })
}

fn bin(at: usize, sum: &Sum) -> Bin {
    let edge = |at: usize| at as f64 / BINS as f64;
    Bin {
        from: edge(at),
        to: edge(at + 1),
        n: sum.n,
        confidence: sum.confidence / sum.n as f64,
        accuracy: sum.right as f64 / sum.n as f64,
        interval: wilson(sum.right, sum.n),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn a_forecast_is_read_from_probabilities() {
        let said = [('A', 0.7), ('B', 0.2), ('C', 0.1)];
        let right = Forecast::of(&said, 'A', 'A').unwrap();
        // 0.3² + 0.2² + 0.1²
        assert!((right.brier - 0.14).abs() < 1e-12 && right.right);
        let wrong = Forecast::of(&said, 'A', 'B').unwrap();
        // 0.7² + 0.8² + 0.1²
        assert!((wrong.brier - 1.14).abs() < 1e-12 && !wrong.right);
        assert!((wrong.confidence - 0.7).abs() < 1e-12);
        let scaled = Forecast::of(&[('A', 1.4), ('B', 0.4), ('C', 0.2)], 'A', 'B').unwrap();
        assert!((scaled.brier - wrong.brier).abs() < 1e-12);
        for (unusable, chosen, gold) in [
            (&said[..], 'D', 'A'),
            (&said[..], 'A', 'D'),
            (&[('A', -0.1), ('B', 1.1)], 'A', 'B'),
            (&[('A', f64::NAN), ('B', 1.0)], 'A', 'B'),
            (&[('A', 0.0), ('B', 0.0)], 'A', 'B'),
            (&[], 'A', 'A'),
        ] {
            assert_eq!(Forecast::of(unusable, chosen, gold), None, "{unusable:?}");
        }
    }

    #[test]
    fn the_error_is_the_mean_gap_of_the_bins() {
        let forecast = |confidence, right| Forecast {
            confidence,
            brier: if right { 0.5 } else { 1.0 },
            right,
        };
        let found = calibration(&[
            forecast(0.75, true),
            forecast(0.79, false),
            forecast(1.0, true),
            forecast(0.95, true),
        ])
        .unwrap();
        let edges: Vec<(f64, f64, usize)> = found
            .bins
            .iter()
            .map(|bin| (bin.from, bin.to, bin.n))
            .collect();
        assert_eq!(edges, [(0.7, 0.8, 2), (0.9, 1.0, 2)]);
        // Gaps: |0.5 - 0.77| and |1 - 0.975|, two replies of four each.
        assert!((found.expected_calibration_error - (0.27 + 0.025) / 2.0).abs() < 1e-12);
        assert!((found.confidence - 0.8725).abs() < 1e-12);
        assert_eq!((found.accuracy, found.brier_score), (0.75, 0.625));
        assert_eq!(calibration(&[]), None);
    }
}
