//! What a panel of a report shows: the benchmark's metrics, and the coverage that belongs to abstention.

use serde::{Serialize, Serializer};

use crate::domain::answer::Outcome;
use crate::domain::report::Observation;
use crate::domain::score::{Metric, Ratio};

/// A rate that a report shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// One of the benchmark's metrics.
    Of(Metric),
    /// Replies that chose an option, out of all replies: how much the accuracy when answered covers.
    Coverage,
}

impl Measure {
    /// The measure with this name in files.
    pub fn named(name: &str) -> Option<Measure> {
        let metrics = Metric::ALL.into_iter().map(Measure::Of);
        metrics
            .chain([Measure::Coverage])
            .find(|measure| measure.name() == name)
    }

    /// The snake-case name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Coverage => "coverage",
            Measure::Of(metric) => metric.name(),
        }
    }

    /// The name for people, with what it is divided by.
    pub fn title(self) -> &'static str {
        match self {
            Measure::Coverage => "coverage: replies that chose an option / replies",
            Measure::Of(metric) => match metric {
                Metric::MainAccuracy => "main accuracy: right option / replies",
                Metric::InsufficientRate => "\"insufficient information\" / replies",
                Metric::AccuracyWhenAnswered => {
                    "accuracy when answered: right / replies that chose an option"
                }
                Metric::NoiseDetectionAccuracy => "noise detection: right labels / all documents",
                Metric::NoiseDetectionLabelled => {
                    "noise detection: right labels / labelled documents"
                }
                Metric::NoiseRecall => "noise recall: called irrelevant / noise documents",
                Metric::NoisePrecision => "noise precision: noise / documents called irrelevant",
                Metric::SignalRecall => "signal recall: called relevant / signal documents",
                Metric::SubExactMatch => "sub-answers, exact match / sub-questions asked",
                Metric::SubExactMatchSquad => {
                    "sub-answers, exact match as SQuAD / sub-questions asked"
                }
                Metric::SubTokenF1 => "sub-answers, token F1 / sub-questions asked",
                Metric::SubJudgeScore => "sub-answers, judge score / judged sub-questions",
                Metric::AttributionAccuracy => {
                    "attribution: right document named / sub-questions asked"
                }
                Metric::FactualErrorDetection => {
                    "factual error detection: right verdicts / all documents"
                }
                Metric::AdversarialRecall => {
                    "adversarial recall: called wrong / adversarial documents"
                }
                Metric::FalseAlarmRate => "false alarms: called wrong / original documents",
                Metric::MisinformationAdopted => {
                    "misinformation adopted: planted answer given / adversarial sub-questions"
                }
            },
        }
    }

    /// Whether it is one yes or no per reply, so that Wilson's interval fits; the others pool items that
    /// hang together within a question.
    pub fn is_over_replies(self) -> bool {
        match self {
            Measure::Coverage => true,
            Measure::Of(metric) => metric.is_over_questions(),
        }
    }

    /// Numerator and denominator in one reply; `None` where the measure does not apply to it.
    pub fn of(self, reply: &Observation) -> Option<Ratio> {
        let outcome = reply.outcome.filter(|outcome| outcome.is_reply())?;
        match self {
            Measure::Coverage => Some(Ratio {
                num: f64::from(u8::from(outcome == Outcome::Answered)),
                den: 1.0,
            }),
            Measure::Of(metric) => reply.counts.get(&metric).copied(),
        }
    }
}

impl Serialize for Measure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn names_are_those_of_the_metrics() {
        for metric in Metric::ALL {
            let json = serde_json::to_value(metric).unwrap();
            assert_eq!(json.as_str(), Some(Measure::Of(metric).name()));
            assert_eq!(Measure::named(metric.name()), Some(Measure::Of(metric)));
        }
        assert_eq!(Measure::named("coverage"), Some(Measure::Coverage));
        assert_eq!(Measure::named("luck"), None);
    }
}
