//! Charts as SVG without scripts or references: inline in a page, whose style sheet they use, or as files.
//!
//! Rates over p are lines with bands of their intervals; other columns and single points have whiskers.
//! Series differ by colour (of a palette that colour-blind people can tell apart) and by the shape of
//! their marks; published figures are dashed lines with hollow marks.

use std::fmt::Write as _;

use crate::domain::report::html::escape;
use crate::domain::report::labels::{self, Marked};
use crate::domain::report::{Cell, Panel, percent, plain};

/// The drawing, in units of its own; the page scales it.
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 252.0;
const LEFT: f64 = 38.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 40.0;

/// Colours of the style sheet and shapes of marks; with more series they begin again, in other pairs.
const COLOURS: usize = 8;
const SHAPES: usize = 5;

/// Rates with a line across the drawing, in per cent.
const GRID: [i32; 5] = [0, 25, 50, 75, 100];

/// Characters of a line of small type that fit below a drawing.
const NOTE: usize = 64;

/// Most labels on the horizontal axis.
const TICKS: usize = 12;

/// A point of a line.
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) value: f64,
    pub(super) ends: Option<(f64, f64)>,
    pub(super) says: String,
    /// Written beside it where there is room; empty: nothing.
    pub(super) tag: String,
}

/// A line of the chart.
pub(super) struct Curve {
    pub(super) label: String,
    /// Position of its model in the report: decides colour and shape.
    pub(super) at: usize,
    pub(super) published: bool,
    pub(super) points: Vec<Point>,
}

/// A chart that is not drawn yet.
pub(super) struct Chart {
    /// What is shown, for its title.
    pub(super) title: String,
    /// Labels below the horizontal axis with their places in the drawing.
    pub(super) ticks: Vec<(f64, String)>,
    /// What the horizontal axis is: at most 52 characters, which the drawing has room for.
    pub(super) across: String,
    /// What the vertical axis is.
    pub(super) up: String,
    /// Whether the points of a curve are joined.
    pub(super) lines: bool,
    /// The curves.
    pub(super) curves: Vec<Curve>,
    /// What the drawing does not show, a sentence each.
    pub(super) notes: Vec<String>,
}

/// The chart of a panel.
pub(super) fn of_panel(panel: &Panel) -> Chart {
    let lines = has_lines(panel);
    Chart {
        title: format!("{}; {}", panel.subject(), panel.measure.title()),
        ticks: ticks(panel),
        across: match lines {
            true => "p, % of the documents that are signal or original".to_owned(),
            false => "retrieval".to_owned(),
        },
        up: "rates in %".to_owned(),
        lines,
        curves: curves(panel),
        notes: Vec::new(),
    }
}

/// The horizontal place of a share from 0 to 1.
pub(super) fn across(share: f64) -> f64 {
    LEFT + (WIDTH - LEFT - RIGHT) * share.clamp(0.0, 1.0)
}

/// The figure of a panel in the page. `id` must be unique in the page.
pub(super) fn figure(panel: &Panel, id: &str) -> String {
    of_panel(panel).in_page(id)
}

impl Chart {
    /// A figure of a page: chart, text for those who don't see it, and key.
    pub(super) fn in_page(&self, id: &str) -> String {
        let mut out = String::new();
        let _ = write!(
            out,
            "<figure><svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>",
            escape(&self.title),
            escape(&self.described())
        );
        self.plot(&mut out);
        out.push_str("</svg>");
        key(&mut out, &self.curves);
        for note in &self.notes {
            let _ = write!(out, "<p class=\"note\">{}</p>", escape(note));
        }
        out.push_str("</figure>");
        out
    }

    /// A file of its own: the chart with its title above and its key below, in light colours.
    pub(super) fn standalone(&self) -> String {
        const LINE: f64 = 18.0;
        const ABOVE: f64 = 34.0;
        let notes: Vec<String> = self.notes.iter().flat_map(|note| wrapped(note)).collect();
        let lines = self.curves.len() + notes.len();
        let height = ABOVE + HEIGHT + LINE * (lines as f64 + 0.75);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{}\" height=\"{}\" role=\"img\"><title>{}</title><desc>{}</desc><style>{ALONE}</style><rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>",
            WIDTH * 2.0,
            height * 2.0,
            escape(&self.title),
            escape(&self.described())
        );
        let (subject, measure) = self.title.split_once("; ").unwrap_or((&self.title, ""));
        let _ = write!(
            out,
            "<text class=\"title\" x=\"4\" y=\"13\">{}</text><text class=\"small\" x=\"4\" y=\"28\">{}</text><g transform=\"translate(0 {ABOVE})\">",
            escape(subject),
            escape(measure)
        );
        self.plot(&mut out);
        out.push_str("</g>");
        for (nth, curve) in self.curves.iter().enumerate() {
            let y = ABOVE + HEIGHT + LINE * (nth as f64 + 0.75);
            let _ = write!(
                out,
                "<g class=\"{}\"><line class=\"curve\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\"/><path class=\"dot\" d=\"{}\"/></g><text x=\"{}\" y=\"{}\">{}</text>",
                class(curve),
                LEFT + 34.0,
                mark(curve.at, LEFT + 17.0, y),
                LEFT + 42.0,
                y + 4.0,
                escape(&curve.label)
            );
        }
        for (nth, note) in notes.iter().enumerate() {
            let y = ABOVE + HEIGHT + LINE * ((self.curves.len() + nth) as f64 + 0.75);
            let text = escape(note);
            let _ = write!(
                out,
                "<text class=\"small\" x=\"{LEFT}\" y=\"{}\">{text}</text>",
                y + 4.0
            );
        }
        out.push_str("</svg>\n");
        out
    }

    fn described(&self) -> String {
        let notes: String = self.notes.iter().map(|note| format!(" {note}")).collect();
        describe(&self.curves) + &notes
    }

    fn plot(&self, out: &mut String) {
        axes(out, self);
        for curve in &self.curves {
            draw(out, curve, self.lines);
        }
        let marked = self.curves.iter().flat_map(|curve| &curve.points);
        let marked: Vec<Marked<'_>> = marked
            .map(|point| Marked {
                x: point.x,
                y: height(point.value),
                tag: &point.tag,
            })
            .collect();
        // Beside a mark on the border a tag reaches a little beyond it.
        let down = (TOP - 6.0, HEIGHT - BOTTOM + 6.0);
        let lines = GRID.map(|percent| height(f64::from(percent) / 100.0));
        labels::write(out, &marked, &lines, (LEFT, WIDTH - RIGHT), down);
    }
}

/// The style of a chart that is a file of its own; colours are those of the page on white.
const ALONE: &str = "\
.chart text{fill:#3a3a3a;font-family:system-ui,'Segoe UI',Roboto,'Noto Sans',sans-serif;font-size:12px}\
.chart .title{font-size:11px;font-weight:600}.chart .small{font-size:10px}.grid{stroke:#d0d0d0}.axis{stroke:#5a5a5a}\
.band{fill:currentColor;opacity:.16}.curve,.whisker{fill:none;stroke:currentColor;stroke-width:2}\
.whisker{stroke-width:1.25}.dot{fill:currentColor;stroke:#ffffff}\
.paper .curve{stroke-dasharray:6 4}.paper .dot{fill:#ffffff;stroke:currentColor;stroke-width:2}\
.s0{color:#0072b2}.s1{color:#d55e00}.s2{color:#007a5a}.s3{color:#a6447d}\
.s4{color:#8a6d00}.s5{color:#5b3fa0}.s6{color:#444444}.s7{color:#7a4a1e}";

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
        tag: String::new(),
    })
}

fn paper_point(cell: &Cell) -> Option<Point> {
    let value = cell.published?;
    Some(Point {
        x: 0.0,
        value,
        ends: None,
        says: format!("{} %", percent(value)),
        tag: String::new(),
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

/// Labels of the horizontal axis, not too many.
fn ticks(panel: &Panel) -> Vec<(f64, String)> {
    let every = panel.columns.len().div_ceil(TICKS).max(1);
    let lines = has_lines(panel);
    let columns = panel.columns.iter().enumerate().step_by(every);
    columns
        .map(|(at, column)| {
            let label = match column.p.filter(|_| lines) {
                Some(p) => plain(p),
                None => column.label.clone(),
            };
            (place(panel, at), label)
        })
        .collect()
}

fn axes(out: &mut String, chart: &Chart) {
    for percent in GRID {
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
    for (x, label) in &chart.ticks {
        let _ = write!(
            out,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - BOTTOM + 17.0,
            escape(label)
        );
    }
    let _ = write!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text><text x=\"4\" y=\"11\">{}</text>",
        LEFT + (WIDTH - LEFT - RIGHT) / 2.0,
        HEIGHT - 5.0,
        escape(&chart.across),
        escape(&chart.up)
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

/// A sentence in lines that fit below a drawing.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= NOTE => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
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
