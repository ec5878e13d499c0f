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
    let mut unanswered = Vec::new();
    let mut curves: Vec<Curve> = accuracy
        .rows
        .iter()
        .filter_map(|row| {
            let same = coverage
                .rows
                .iter()
                .find(|other| (&other.run, &other.model) == (&row.run, &row.model))?;
            let columns = accuracy.columns.iter().enumerate();
            let mut none = Vec::new();
            let points: Vec<Point> = columns
                .filter_map(|(at, column)| {
                    let right = row.cells.get(at)?.as_ref()?;
                    // The two panels may not have the same columns.
                    let there = coverage
                        .columns
                        .iter()
                        .position(|c| c.label == column.label)?;
                    let covered = same.cells.get(there)?.as_ref()?.value?;
                    if covered == 0.0 {
                        none.push(&*column.label);
                    }
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
            if !none.is_empty() {
                unanswered.push(format!(
                    "{}: no option was chosen at {}, so there is no point.",
                    row.label,
                    none.join(", ")
                ));
            }
            (!points.is_empty()).then(|| Curve {
                label: row.label.clone(),
                at: row.series,
                published: row.published,
                points,
            })
        })
        .collect();
    let moved = side_by_side(&mut curves);
    let mut notes = unanswered;
    if moved {
        notes.push("Points of about the same coverage stand side by side.".to_owned());
    }
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
        notes,
    })
}

/// Points nearer to each other than this would have their intervals on one another.
const APART: f64 = 4.0;

/// Moves points of about the same coverage a little, so that their intervals can be told apart; tells whether any was.
fn side_by_side(curves: &mut [Curve]) -> bool {
    let mut points: Vec<&mut Point> = curves
        .iter_mut()
        .flat_map(|curve| &mut curve.points)
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let mut moved = false;
    for group in points.chunk_by_mut(|a, b| b.x - a.x < APART) {
        let middle = group.iter().map(|point| point.x).sum::<f64>() / group.len() as f64;
        let half = (group.len() as f64 - 1.0) / 2.0;
        moved |= group.len() > 1;
        for (nth, point) in group.iter_mut().enumerate() {
            point.x = middle + (nth as f64 - half) * APART;
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_one_coverage_stand_apart_around_it() {
        let point = |x: f64| Point {
            x,
            value: 0.5,
            ends: None,
            says: String::new(),
            tag: String::new(),
        };
        let curve = |points: Vec<Point>| Curve {
            label: String::new(),
            at: 0,
            published: false,
            points,
        };
        let mut curves = [
            curve(vec![point(100.0), point(50.0)]),
            curve(vec![point(100.0), point(100.0)]),
        ];
        assert!(side_by_side(&mut curves));
        let mut places: Vec<f64> = curves.iter().flat_map(|c| &c.points).map(|p| p.x).collect();
        places.sort_by(f64::total_cmp);
        assert_eq!(places, [50.0, 96.0, 100.0, 104.0]);
        assert!(!side_by_side(&mut [curve(vec![point(1.0), point(9.0)])]));
    }
}
