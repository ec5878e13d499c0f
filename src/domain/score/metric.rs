//! The benchmark's metrics by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The metrics of the benchmark, named as in its definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // the names are the definitions' own
pub enum Metric {
    MainAccuracy,
    InsufficientRate,
    AccuracyWhenAnswered,
    NoiseDetectionAccuracy,
    NoiseDetectionLabelled,
    NoiseRecall,
    NoisePrecision,
    SignalRecall,
    SubExactMatch,
    SubExactMatchSquad,
    SubTokenF1,
    SubJudgeScore,
    AttributionAccuracy,
    FactualErrorDetection,
    AdversarialRecall,
    FalseAlarmRate,
    MisinformationAdopted,
}

impl Metric {
    /// All of them, in the order of the definitions.
    pub const ALL: [Metric; 17] = [
        Metric::MainAccuracy,
        Metric::InsufficientRate,
        Metric::AccuracyWhenAnswered,
        Metric::NoiseDetectionAccuracy,
        Metric::NoiseDetectionLabelled,
        Metric::NoiseRecall,
        Metric::NoisePrecision,
        Metric::SignalRecall,
        Metric::SubExactMatch,
        Metric::SubExactMatchSquad,
        Metric::SubTokenF1,
        Metric::SubJudgeScore,
        Metric::AttributionAccuracy,
        Metric::FactualErrorDetection,
        Metric::AdversarialRecall,
        Metric::FalseAlarmRate,
        Metric::MisinformationAdopted,
    ];

    /// The metrics that the benchmark's tables give, and the one that says what false documents do.
    pub const HEADLINE: [Metric; 6] = [
        Metric::MainAccuracy,
        Metric::NoiseDetectionAccuracy,
        Metric::SubExactMatch,
        Metric::SubJudgeScore,
        Metric::FactualErrorDetection,
        Metric::MisinformationAdopted,
    ];

    /// The snake-case name used in flags and files.
    pub fn name(self) -> &'static str {
        match self {
            Metric::MainAccuracy => "main_accuracy",
            Metric::InsufficientRate => "insufficient_rate",
            Metric::AccuracyWhenAnswered => "accuracy_when_answered",
            Metric::NoiseDetectionAccuracy => "noise_detection_accuracy",
            Metric::NoiseDetectionLabelled => "noise_detection_labelled",
            Metric::NoiseRecall => "noise_recall",
            Metric::NoisePrecision => "noise_precision",
            Metric::SignalRecall => "signal_recall",
            Metric::SubExactMatch => "sub_exact_match",
            Metric::SubExactMatchSquad => "sub_exact_match_squad",
            Metric::SubTokenF1 => "sub_token_f1",
            Metric::SubJudgeScore => "sub_judge_score",
            Metric::AttributionAccuracy => "attribution_accuracy",
            Metric::FactualErrorDetection => "factual_error_detection",
            Metric::AdversarialRecall => "adversarial_recall",
            Metric::FalseAlarmRate => "false_alarm_rate",
            Metric::MisinformationAdopted => "misinformation_adopted",
        }
    }

    /// Whether it is a rate over questions: at most one item per reply, so that a Wilson interval holds.
    /// The others pool documents or sub-questions, which hang together within a question.
    pub fn is_over_questions(self) -> bool {
        matches!(
            self,
            Metric::MainAccuracy | Metric::InsufficientRate | Metric::AccuracyWhenAnswered
        )
    }

    /// Whether more is better; `None` where it depends on the context ("insufficient information" is
    /// right where the documents do not suffice).
    pub fn higher_is_better(self) -> Option<bool> {
        match self {
            Metric::InsufficientRate => None,
            Metric::FalseAlarmRate | Metric::MisinformationAdopted => Some(false),
            _ => Some(true),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Metric::ALL
            .into_iter()
            .find(|metric| metric.name() == text)
            .ok_or_else(|| {
                let names = Metric::ALL.map(Metric::name).join(", ");
                format!("\"{text}\" is not a metric; expected one of {names}")
            })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn names_are_those_of_the_files() {
        for metric in Metric::ALL {
            assert_eq!(serde_json::json!(metric), metric.name());
            assert_eq!(metric.name().parse(), Ok(metric));
        }
        let unknown = "accuracy".parse::<Metric>().unwrap_err();
        assert!(unknown.contains("main_accuracy, insufficient_rate"));
    }
}
