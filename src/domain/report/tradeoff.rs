//! The abstention curve: accuracy among the replies that chose an option, against how many those are.
//!
//! A point is a condition; the conditions of one model are joined in the order of their columns. To the right a
//! model answers more, higher up it is right more often when it does.

use crate::domain::report::chart::{Chart, Curve, Point, across};
use crate::domain::report::{Measure, Panel, Table, percent};
use crate::domain::score::Metric;

/// The curves of a table that has accuracy when answered and coverage; one chart per question set and test.
pub(super) fn charts(table: &Table) -> Vec<Chart> {
    let of = |measure| {
        table
            .panels
            .iter()
            .filter(move |panel| panel.measure == measure)
    };
    of(Measure::Of(Metric::AccuracyWhenAnswered))
        .filter_map(|accuracy| {
            let same = |other: &&Panel| other.subject() == accuracy.subject();
            let coverage = of(Measure::Coverage).find(same)?;
            chart(accuracy, coverage)
        })
        .collect()
}

fn chart(accuracy: &Panel, coverage: &Panel) -> Option<Chart> {
    let curves: Vec<Curve> = accuracy
        .rows
        .iter()
        .filter_map(|row| {
            let same = coverage
                .rows
                .iter()
                .find(|other| (&other.run, &other.model) == (&row.run, &row.model))?;
            let columns = accuracy.columns.iter().enumerate();
            let points: Vec<Point> = columns
                .filter_map(|(at, column)| {
                    let right = row.cells.get(at)?.as_ref()?;
                    // The two panels may not have the same columns.
                    let there = coverage
                        .columns
                        .iter()
                        .position(|c| c.label == column.label)?;
                    let covered = same.cells.get(there)?.as_ref()?.value?;
                    let value = right.value?;
                    Some(Point {
                        tag: column.label.clone(),
                        x: across(covered),
                        value,
                        ends: right.low.zip(right.high),
                        says: format!(
                            "{}: {} % right of the {} % answered",
                            column.label,
                            percent(value),
                            percent(covered)
                        ),
                    })
                })
                .collect();
            (!points.is_empty()).then(|| Curve {
                label: row.label.clone(),
                at: row.series,
                published: row.published,
                points,
            })
        })
        .collect();
    (!curves.is_empty()).then(|| Chart {
        title: format!(
            "{}; accuracy when answered against coverage",
            accuracy.subject()
        ),
        ticks: [0, 25, 50, 75, 100]
            .into_iter()
            .map(|share| (across(f64::from(share) / 100.0), share.to_string()))
            .collect(),
        across: "coverage: % of the replies that chose an option".to_owned(),
        up: "accuracy of the replies that chose one, in %".to_owned(),
        lines: false,
        curves,
    })
}
