//! Calibration as tables and charts, in the parts that all forms of a report share.

use crate::domain::report::chart::{Chart, Curve, Point, across};
use crate::domain::report::{Calibration, Report, percent};

/// The short name by which a flag asks for calibration.
pub const ID: &str = "calibration";

/// The heading.
pub(super) const TITLE: &str = "Calibration";

/// What is shown.
pub(super) const CAPTION: &str = "The model's own probability of the option it chose (confidence) beside how often that was right: expected calibration error over ten bins of equal width (0 is best), and Brier score over all options (0 is best, 2 is worst). Replies without a chosen option are left out. The intervals of the bins are Wilson's and take replies as independent: too narrow where a bin holds several replies to one question.";

/// A table of texts; all columns but the first are numbers.
pub(super) struct Sheet {
    /// What the rows are.
    pub(super) title: String,
    pub(super) head: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
}

/// The sheets of a report: all models in one, then the bins of each.
pub(super) fn sheets(rows: &[Calibration]) -> Vec<Sheet> {
    if rows.is_empty() {
        return Vec::new();
    }
    let summary = Sheet {
        title: "All bins together; shares in per cent".to_owned(),
        head: vec!["model", "n", "accuracy", "confidence", "ECE", "Brier"],
        rows: rows.iter().map(summary).collect(),
    };
    let bins = rows.iter().map(|row| Sheet {
        title: format!("{}: bins; shares in per cent", subject(row)),
        head: vec!["confidence", "n", "mean", "accuracy", "95 % from", "to"],
        rows: row.bins.iter().map(of_bin).collect(),
    });
    std::iter::once(summary).chain(bins).collect()
}

fn subject(row: &Calibration) -> String {
    format!("{}, {}, {}", row.label, row.dataset, row.scenario)
}

fn summary(row: &Calibration) -> Vec<String> {
    vec![
        subject(row),
        row.n.to_string(),
        percent(row.accuracy),
        percent(row.confidence),
        format!("{:.3}", row.expected_calibration_error),
        format!("{:.3}", row.brier_score),
    ]
}

fn of_bin(bin: &super::calibration::Bin) -> Vec<String> {
    vec![
        format!("{:.0} to {:.0}", bin.from * 100.0, bin.to * 100.0),
        bin.n.to_string(),
        percent(bin.confidence),
        percent(bin.accuracy),
        percent(bin.interval.0),
        percent(bin.interval.1),
    ]
}

/// A chart for each question set and test: accuracy of the bins against their mean confidence.
pub(super) fn charts(report: &Report) -> Vec<Chart> {
    let mut subjects: Vec<String> = Vec::new();
    for row in &report.calibration {
        let subject = format!("{}, {}", row.dataset, row.scenario);
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    subjects
        .into_iter()
        .map(|subject| {
            let rows = report
                .calibration
                .iter()
                .filter(|row| format!("{}, {}", row.dataset, row.scenario) == subject);
            chart(&subject, rows)
        })
        .collect()
}

fn chart<'a>(subject: &str, rows: impl Iterator<Item = &'a Calibration>) -> Chart {
    let mut curves: Vec<Curve> = rows.map(curve).collect();
    curves.push(diagonal());
    Chart {
        title: format!("{subject}; accuracy against confidence"),
        ticks: [0, 25, 50, 75, 100]
            .into_iter()
            .map(|share| (across(f64::from(share) / 100.0), share.to_string()))
            .collect(),
        across: "confidence: the model's probability of its choice, %".to_owned(),
        up: "accuracy in %".to_owned(),
        lines: true,
        notes: Vec::new(),
        curves,
    }
}

fn curve(row: &Calibration) -> Curve {
    let point = |bin: &super::calibration::Bin| Point {
        x: across(bin.confidence),
        value: bin.accuracy,
        ends: Some(bin.interval),
        says: format!(
            "{} % right at a confidence of {} %, n {}",
            percent(bin.accuracy),
            percent(bin.confidence),
            bin.n
        ),
        tag: String::new(),
    };
    Curve {
        label: row.label.clone(),
        at: row.series,
        published: false,
        points: row.bins.iter().map(point).collect(),
    }
}

/// Where a model is right exactly as often as it says.
fn diagonal() -> Curve {
    let end = |share: f64| Point {
        x: across(share),
        value: share,
        ends: None,
        says: format!("{0} % right at a confidence of {0} %", percent(share)),
        tag: String::new(),
    };
    Curve {
        label: "as often right as confident".to_owned(),
        at: GREY,
        published: true,
        points: vec![end(0.0), end(1.0)],
    }
}

/// The colour of the diagonal, which is no model's unless there are many.
const GREY: usize = 6;
