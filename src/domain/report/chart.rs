//! A panel as a chart: inline SVG without scripts, styles of its own or references.
//!
//! Rates over p are lines with bands of their intervals; other columns and single points have whiskers.
//! Series differ by colour (of a palette that colour-blind people can tell apart) and by the shape of
//! their marks; published figures are dashed lines with hollow marks.

use std::fmt::Write as _;

use crate::domain::report::html::escape;
use crate::domain::report::{Cell, Panel, percent, plain};

/// The drawing, in units of its own; the page scales it.
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 38.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 40.0;

/// Colours of the style sheet and shapes of marks; with more series they begin again, in other pairs.
const COLOURS: usize = 8;
const SHAPES: usize = 5;

/// Most labels on the horizontal axis.
const TICKS: usize = 12;

/// A point of a line.
struct Point {
    x: f64,
    value: f64,
    ends: Option<(f64, f64)>,
    says: String,
}

/// A line of the chart.
struct Curve {
    label: String,
    /// Position of its model in the report: decides colour and shape.
    at: usize,
    published: bool,
    points: Vec<Point>,
}

/// The figure of a panel: chart, text for those who don't see it, and key. `id` must be unique in the page.
pub(super) fn figure(panel: &Panel, id: &str) -> String {
    let curves = curves(panel);
    let mut out = String::new();
    let _ = write!(
        out,
        "<figure><svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>",
        escape(&format!("{}; {}", panel.subject(), panel.measure.title())),
        escape(&describe(&curves))
    );
    axes(&mut out, panel);
    for curve in &curves {
        draw(&mut out, curve, has_lines(panel));
    }
    out.push_str("</svg>");
    key(&mut out, &curves);
    out.push_str("</figure>");
    out
}

/// Whether columns are steps of p, so that a line between them means something.
fn has_lines(panel: &Panel) -> bool {
    panel.columns.iter().all(|column| column.p.is_some())
}

/// Where a column stands.
fn place(panel: &Panel, at: usize) -> f64 {
    let inner = WIDTH - LEFT - RIGHT;
    let p = panel.columns.get(at).and_then(|column| column.p);
    let share = match p.filter(|_| has_lines(panel)) {
        Some(p) => p / 100.0,
        None => (at as f64 + 0.5) / panel.columns.len().max(1) as f64,
    };
    LEFT + inner * share
}

/// The height of a rate; intervals stay inside.
fn height(rate: f64) -> f64 {
    TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - rate.clamp(0.0, 1.0))
}

fn curves(panel: &Panel) -> Vec<Curve> {
    let mut curves = Vec::new();
    let has_paper = panel.rows.iter().any(|row| row.published);
    for (at, row) in panel.rows.iter().enumerate() {
        let points = |get: &dyn Fn(&Cell) -> Option<Point>| -> Vec<Point> {
            let cells = row.cells.iter().enumerate();
            cells
                .filter_map(|(column, cell)| {
                    let mut point = get(cell.as_ref()?)?;
                    point.x = place(panel, column) + shift(panel, at);
                    let label = panel.columns.get(column).map_or("", |c| &*c.label);
                    point.says = format!("{label}: {}", point.says);
                    Some(point)
                })
                .collect()
        };
        curves.push(Curve {
            label: row.label.clone(),
            at: row.series,
            published: row.published,
            points: points(&own_point),
        });
        // Where the paper has rows of its own, its marks are there already.
        let reference = points(&paper_point);
        if !reference.is_empty() && !has_paper {
            curves.push(Curve {
                label: format!("{}, paper", row.label),
                at: row.series,
                published: true,
                points: reference,
            });
        }
    }
    curves.retain(|curve| !curve.points.is_empty());
    curves
}

/// Rows stand a little apart, so that their whiskers do not cover each other.
fn shift(panel: &Panel, at: usize) -> f64 {
    let rows = panel.rows.len();
    match has_lines(panel) {
        true => 0.0,
        false => (at as f64 - (rows as f64 - 1.0) / 2.0) * (24.0 / rows.max(3) as f64),
    }
}

fn own_point(cell: &Cell) -> Option<Point> {
    let value = cell.value?;
    let ends = cell.low.zip(cell.high);
    let mut says = format!("{} %", percent(value));
    if let Some((low, high)) = ends {
        let _ = write!(says, " ({} to {})", percent(low), percent(high));
    }
    if let Some(n) = cell.n {
        let _ = write!(says, ", n {}", plain(n));
    }
    Some(Point {
        x: 0.0,
        value,
        ends,
        says,
    })
}

fn paper_point(cell: &Cell) -> Option<Point> {
    let value = cell.published?;
    Some(Point {
        x: 0.0,
        value,
        ends: None,
        says: format!("{} %", percent(value)),
    })
}

fn describe(curves: &[Curve]) -> String {
    let lines: Vec<String> = curves
        .iter()
        .map(|curve| {
            let points: Vec<&str> = curve.points.iter().map(|point| &*point.says).collect();
            format!("{}: {}", curve.label, points.join("; "))
        })
        .collect();
    format!("{}. The table has the same figures.", lines.join(". "))
}

fn axes(out: &mut String, panel: &Panel) {
    for percent in [0, 25, 50, 75, 100] {
        let y = height(f64::from(percent) / 100.0);
        let class = if percent == 0 { "axis" } else { "grid" };
        let _ = write!(
            out,
            "<line class=\"{class}\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{percent}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y + 4.0
        );
    }
    let every = panel.columns.len().div_ceil(TICKS).max(1);
    let lines = has_lines(panel);
    for (at, column) in panel.columns.iter().enumerate().step_by(every) {
        let label = match column.p.filter(|_| lines) {
            Some(p) => plain(p),
            None => column.label.clone(),
        };
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            place(panel, at),
            HEIGHT - BOTTOM + 17.0,
            escape(&label)
        );
    }
    let title = match lines {
        true => "p, % of the documents that are signal or original",
        false => "retrieval",
    };
    let _ = write!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{title}; rates in %</text>",
        LEFT + (WIDTH - LEFT - RIGHT) / 2.0,
        HEIGHT - 5.0
    );
}

fn draw(out: &mut String, curve: &Curve, lines: bool) {
    let class = class(curve);
    let _ = write!(out, "<g class=\"{class}\">");
    let has_line = lines && curve.points.len() > 1;
    if has_line {
        band(out, &curve.points);
        let path: Vec<String> = curve
            .points
            .iter()
            .map(|point| format!("{:.1},{:.1}", point.x, height(point.value)))
            .collect();
        let _ = write!(
            out,
            "<polyline class=\"curve\" points=\"{}\"/>",
            path.join(" ")
        );
    }
    for point in &curve.points {
        if let Some((low, high)) = point.ends.filter(|_| !has_line) {
            let _ = write!(
                out,
                "<line class=\"whisker\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>",
                height(low),
                height(high),
                x = point.x
            );
        }
        let _ = write!(
            out,
            "<path class=\"dot\" d=\"{}\"><title>{}</title></path>",
            mark(curve.at, point.x, height(point.value)),
            escape(&format!("{}, {}", curve.label, point.says))
        );
    }
    out.push_str("</g>");
}

fn class(curve: &Curve) -> String {
    let colour = curve.at % COLOURS;
    match curve.published {
        true => format!("s{colour} paper"),
        false => format!("s{colour}"),
    }
}

/// The intervals as areas; a point without one ends an area.
fn band(out: &mut String, points: &[Point]) {
    for run in points.split(|point| point.ends.is_none()) {
        if run.len() < 2 {
            continue;
        }
        let upper = run
            .iter()
            .map(|point| (point.x, point.ends.map(|ends| ends.1)));
        let lower = run
            .iter()
            .rev()
            .map(|point| (point.x, point.ends.map(|ends| ends.0)));
        let corners: Vec<String> = upper
            .chain(lower)
            .filter_map(|(x, rate)| Some(format!("{x:.1},{:.1}", height(rate?))))
            .collect();
        let _ = write!(
            out,
            "<polygon class=\"band\" points=\"{}\"/>",
            corners.join(" ")
        );
    }
}

/// The outline of a mark around a point: circle, square, triangle, diamond or triangle upside down.
fn mark(at: usize, x: f64, y: f64) -> String {
    let corners: &[(f64, f64)] = match at % SHAPES {
        1 => &[(-4.0, -4.0), (4.0, -4.0), (4.0, 4.0), (-4.0, 4.0)],
        2 => &[(0.0, -5.0), (5.0, 4.0), (-5.0, 4.0)],
        3 => &[(0.0, -5.5), (5.5, 0.0), (0.0, 5.5), (-5.5, 0.0)],
        4 => &[(0.0, 5.0), (5.0, -4.0), (-5.0, -4.0)],
        _ => {
            return format!(
                "M{:.1} {y:.1}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
                x - 4.5
            );
        }
    };
    let mut path = String::new();
    for (nth, (dx, dy)) in corners.iter().enumerate() {
        let command = if nth == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{command}{:.1} {:.1}", x + dx, y + dy);
    }
    path.push('z');
    path
}

fn key(out: &mut String, curves: &[Curve]) {
    out.push_str("<ul class=\"legend\">");
    for curve in curves {
        let _ = write!(
            out,
            "<li><svg viewBox=\"0 0 36 14\" aria-hidden=\"true\"><g class=\"{}\"><line class=\"curve\" x1=\"1\" x2=\"35\" y1=\"7\" y2=\"7\"/><path class=\"dot\" d=\"{}\"/></g></svg>{}</li>",
            class(curve),
            mark(curve.at, 18.0, 7.0),
            escape(&curve.label)
        );
    }
    out.push_str("</ul>");
}
