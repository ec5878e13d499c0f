//! How `medrgb compare` shows a comparison: as JSON, and as text of at most 80 columns.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Side;
use crate::domain::compare::{Cell, Comparison, LeftOut, McNemar, MetricComparison, Rate, Unit};
use crate::domain::context::{Mode, Scenario, SourceFilter};
use crate::domain::score::Metric;
use crate::domain::stats::Resampling;
use crate::domain::text::{count, one_line};
use crate::engine::compare::Aligned;

/// What is below every comparison.
const LEGEND: &str = "\
Rates in per cent, differences (B - A) in points, each with its 95 % interval:
Wilson for rates over questions, else a bootstrap by question, paired for
differences. p: McNemar's exact test for this condition alone, unadjusted;
Holm: adjusted for all conditions of the metric. detectable: the smallest
difference that these pairs show with power 0.8 at alpha 0.05, two-sided.
Where a question has several pairs (conditions, seeds), rates have the bootstrap
by question, and in the test it has one vote: which run is ahead on it.
";

/// A comparison with all that is said about it.
pub(super) struct Shown<'a> {
    pub(super) a: &'a Side,
    pub(super) b: &'a Side,
    /// Readable records of both runs.
    pub(super) records: (usize, usize),
    pub(super) comparison: &'a Comparison,
    pub(super) aligned: Aligned,
    pub(super) plan: Resampling,
}

impl Shown<'_> {
    /// The object of `--json`.
    pub(super) fn json(&self) -> Value {
        let mut object = json!({
            "a": side_json(self.a, self.records.0),
            "b": side_json(self.b, self.records.1),
            "resamples": self.plan.resamples,
            "seed": self.plan.seed,
            "p_values": "per condition, unadjusted; p_holm is adjusted for all conditions of the metric",
            "notes": self.notes(),
        });
        if let (Some(object), Value::Object(comparison)) =
            (object.as_object_mut(), json!(self.comparison))
        {
            object.extend(comparison);
        }
        object
    }

    /// The text.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        for (letter, side, records) in
            [("A", self.a, self.records.0), ("B", self.b, self.records.1)]
        {
            let _ = writeln!(out, "{letter}  {}, {records} records", one_line(&side.name));
            for model in &side.view.models {
                let _ = writeln!(out, "   {}", one_line(model));
            }
        }
        let comparison = self.comparison;
        let _ = writeln!(
            out,
            "{}\nleft out: {}",
            pairs(comparison.pairs, comparison.questions),
            left_out(&comparison.left_out)
        );
        for note in self.notes() {
            let _ = writeln!(out, "note: {note}");
        }
        for condition in &comparison.conditions {
            let title = cell_title(&condition.cell);
            let counts = pairs(condition.pairs, condition.questions);
            write_block(&mut out, &format!("{title}: {counts}"), &condition.metrics);
        }
        if comparison.conditions.len() > 1 {
            let counts = pairs(comparison.pairs, comparison.questions);
            let title = format!("all conditions: {counts}");
            write_block(&mut out, &title, &comparison.pooled);
        }
        let _ = write!(out, "\n{LEGEND}");
        out
    }

    /// What a reader must know to take the figures for what they are.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let superseded = self.comparison.superseded;
        for (letter, side, older) in [("A", self.a, superseded.a), ("B", self.b, superseded.b)] {
            if side.view.broken > 0 {
                let broken = side.view.broken;
                notes.push(format!("{broken} records of {letter} can't be read"));
            }
            if side.view.models.len() > 1 {
                let models = side.view.models.len();
                notes.push(format!(
                    "{letter} holds replies of {models} models, and each is compared with itself; --model-{} names one",
                    letter.to_lowercase()
                ));
            }
            if older > 0 {
                notes.push(format!(
                    "{older} records of {letter} are left out, since a newer one of the same request counts"
                ));
            }
            for caution in &side.view.cautions {
                notes.push(format!("caution: {letter}: {}", one_line(caution)));
            }
        }
        let Aligned { same, different } = self.aligned;
        if same > 0 {
            notes.push(format!(
                "{} from datasets that differ as wholes: paired since id, text, options and right answer are the same",
                count(same, "question")
            ));
        }
        if different > 0 {
            notes.push(format!(
                "{} not paired: the same id, but another text, other options or another right answer",
                count(different, "question")
            ));
        }
        let different = self.comparison.different_documents;
        if different > 0 {
            notes.push(format!(
                "in {different} pairs the two models saw different documents"
            ));
        }
        let judged = self.comparison.pooled.contains_key(&Metric::SubJudgeScore);
        if judged && self.a.view.judges != self.b.view.judges {
            notes.push("the judge scores come from different judges".to_owned());
        }
        notes
    }
}

fn side_json(side: &Side, records: usize) -> Value {
    json!({
        "run": side.name,
        "models": side.view.models,
        "judges": side.view.judges,
        "records": records,
        "broken": side.view.broken,
    })
}

fn pairs(pairs: usize, questions: usize) -> String {
    format!("{pairs} pairs, {questions} questions")
}

/// How many replies found no partner, and why.
pub(super) fn left_out(left_out: &LeftOut) -> String {
    let reasons = [
        (left_out.only_a, "only in A"),
        (left_out.only_b, "only in B"),
        (left_out.unavailable_a, "unavailable in A"),
        (left_out.unavailable_b, "unavailable in B"),
        (left_out.unavailable_both, "unavailable in both"),
    ];
    let reasons: Vec<String> = reasons
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, why)| format!("{count} {why}"))
        .collect();
    match reasons.is_empty() {
        true => "none".to_owned(),
        false => reasons.join(", "),
    }
}

/// `sufficiency n=5 p=60`, and what is not as by default.
fn cell_title(cell: &Cell) -> String {
    let mut title = format!("{} n={}", cell.scenario, cell.docs);
    if cell.scenario != Scenario::Standard {
        let _ = write!(title, " p={}", cell.p);
    }
    if cell.source != SourceFilter::Any {
        let _ = write!(title, " {}", cell.source.name());
    }
    if cell.mode != Mode::Nested {
        let _ = write!(title, " {}", cell.mode);
    }
    title
}

fn write_block(out: &mut String, title: &str, metrics: &BTreeMap<Metric, MetricComparison>) {
    let _ = writeln!(out, "\n{title}");
    for (metric, comparison) in metrics {
        let direction = match metric.higher_is_better() {
            Some(false) => " (lower is better)",
            _ => "",
        };
        let _ = writeln!(out, "  {metric}{direction}");
        let _ = writeln!(
            out,
            "    A {}  B {}  B-A {}",
            rate(&comparison.a),
            rate(&comparison.b),
            difference(comparison)
        );
        let parts: Vec<String> = [
            comparison.mcnemar.as_ref().map(test),
            comparison
                .detectable_difference
                .map(|points| format!("detectable {:.1} points", points * 100.0)),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !parts.is_empty() {
            let _ = writeln!(out, "    {}", parts.join(", "));
        }
    }
}

fn rate(rate: &Rate) -> String {
    let Some(value) = rate.rate else {
        return "none".to_owned();
    };
    let interval = rate.interval.map_or_else(String::new, |(low, high)| {
        format!(" [{:.1}, {:.1}]", low * 100.0, high * 100.0)
    });
    format!("{:.1} %{interval}", value * 100.0)
}

fn difference(comparison: &MetricComparison) -> String {
    let Some(difference) = comparison.difference else {
        return "none".to_owned();
    };
    let interval = comparison
        .difference_interval
        .map_or_else(String::new, |(low, high)| {
            format!(" [{}, {}]", points(low), points(high))
        });
    format!("{}{interval}", points(difference))
}

/// With its sign; zero has none.
fn points(share: f64) -> String {
    let text = format!("{:+.1}", share * 100.0);
    match text.as_str() {
        "+0.0" | "-0.0" => "0.0".to_owned(),
        _ => text,
    }
}

fn test(test: &McNemar) -> String {
    let counts = match test.unit {
        Unit::Pairs => format!("only A {}, only B {}", test.b, test.c),
        Unit::Questions => format!("A ahead {}, B ahead {}", test.b, test.c),
    };
    let holm = test
        .p_holm
        .map_or_else(String::new, |holm| format!(", Holm {}", p_value(holm)));
    format!("p {}{holm} ({counts})", p_value(test.p))
}

fn p_value(p: f64) -> String {
    match p < 0.0001 {
        true => "<0.0001".to_owned(),
        false => format!("{p:.4}"),
    }
}
