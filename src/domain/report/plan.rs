//! Which tables a report has and which measures stand in each.

use crate::domain::context::Scenario;
use crate::domain::report::{Measure, reliability};
use crate::domain::score::Metric;

/// A table to be filled.
pub(super) struct Plan {
    /// Short name used in files.
    pub(super) id: &'static str,
    /// The paper's number.
    pub(super) number: Option<u8>,
    /// One line.
    pub(super) title: &'static str,
    /// What it shows.
    pub(super) caption: &'static str,
    /// The measures of each scenario, in order.
    pub(super) measures: &'static [(Scenario, &'static [Measure])],
}

/// The short names of all tables, in their order.
pub fn table_names() -> impl Iterator<Item = &'static str> {
    let plans = PLANS.iter().map(|plan| plan.id);
    plans.chain(std::iter::once(reliability::ID))
}

/// The short name of the table with this name or number (`4`, `table4`, `abstention`).
pub fn table_named(name: &str) -> Option<&'static str> {
    if name == reliability::ID {
        return Some(reliability::ID);
    }
    let number = name.parse::<u8>().ok();
    let named = |plan: &&Plan| plan.id == name || (number.is_some() && plan.number == number);
    PLANS.iter().find(named).map(|plan| plan.id)
}

const fn of(metric: Metric) -> Measure {
    Measure::Of(metric)
}

/// How often a model answers and how well it does when it answers; without the insufficient rate where
/// Table 4 has it already.
const ABSTENTION: &[Measure] = &[
    of(Metric::AccuracyWhenAnswered),
    Measure::Coverage,
    of(Metric::InsufficientRate),
];

const SUB_ANSWERS: &[Measure] = &[
    of(Metric::SubTokenF1),
    of(Metric::SubExactMatchSquad),
    of(Metric::AttributionAccuracy),
];

/// All tables in their order.
pub(super) const PLANS: [Plan; 7] = [
    Plan {
        id: "table1",
        number: Some(1),
        title: "Table 1: standard",
        caption: "Accuracy without retrieval and with signal documents only.",
        measures: &[(Scenario::Standard, &[of(Metric::MainAccuracy)])],
    },
    Plan {
        id: "table4",
        number: Some(4),
        title: "Table 4: sufficiency",
        caption: "Signal among noise: accuracy, telling noise from signal, and saying that the information does not suffice, by the share p of signal documents.",
        measures: &[(
            Scenario::Sufficiency,
            &[
                of(Metric::MainAccuracy),
                of(Metric::NoiseDetectionAccuracy),
                of(Metric::InsufficientRate),
            ],
        )],
    },
    Plan {
        id: "table5",
        number: Some(5),
        title: "Table 5: integration",
        caption: "Signal among noise with a sub-question per signal document: accuracy and sub-answers, by the share p of signal documents.",
        measures: &[(
            Scenario::Integration,
            &[
                of(Metric::MainAccuracy),
                of(Metric::SubExactMatch),
                of(Metric::SubJudgeScore),
            ],
        )],
    },
    Plan {
        id: "table6",
        number: Some(6),
        title: "Table 6: robustness",
        caption: "Original and adversarial documents: accuracy, sub-answers, and telling wrong documents, by the share p of original ones.",
        measures: &[(
            Scenario::Robustness,
            &[
                of(Metric::MainAccuracy),
                of(Metric::SubExactMatch),
                of(Metric::SubJudgeScore),
                of(Metric::FactualErrorDetection),
            ],
        )],
    },
    Plan {
        id: "classes",
        number: None,
        title: "By class",
        caption: "Detection by the kind of document; a blunt habit (all relevant, all correct) shows here.",
        measures: &[
            (
                Scenario::Sufficiency,
                &[
                    of(Metric::NoiseRecall),
                    of(Metric::NoisePrecision),
                    of(Metric::SignalRecall),
                    of(Metric::NoiseDetectionLabelled),
                ],
            ),
            (
                Scenario::Robustness,
                &[
                    of(Metric::AdversarialRecall),
                    of(Metric::FalseAlarmRate),
                    of(Metric::MisinformationAdopted),
                ],
            ),
        ],
    },
    Plan {
        id: "subanswers",
        number: None,
        title: "Sub-answers",
        caption: "Softer measures of the sub-answers, and whether they come from the right document.",
        measures: &[
            (Scenario::Integration, SUB_ANSWERS),
            (Scenario::Robustness, SUB_ANSWERS),
        ],
    },
    Plan {
        id: "abstention",
        number: None,
        title: "Abstention",
        caption: "Accuracy among the replies that chose an option, how many those are, and how many said that the information does not suffice.",
        measures: &[
            (Scenario::Standard, ABSTENTION),
            (
                Scenario::Sufficiency,
                &[of(Metric::AccuracyWhenAnswered), Measure::Coverage],
            ),
            (Scenario::Integration, ABSTENTION),
            (Scenario::Robustness, ABSTENTION),
        ],
    },
];
