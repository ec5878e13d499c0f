//! The layout of a panel that all forms for people share: a band of lines per row.

use crate::domain::report::{Cell, Panel, Row, percent, plain, points};

/// What stands where there is nothing.
pub(super) const NOTHING: &str = "-";

/// A row's band: its name and its lines.
pub(super) struct Band<'a> {
    /// The row.
    pub(super) label: &'a str,
    /// Whether these are published figures.
    pub(super) published: bool,
    /// The value, then what belongs to it.
    pub(super) lines: Vec<Line>,
}

/// A line of a band: a cell per column.
pub(super) struct Line {
    /// What it gives.
    pub(super) name: &'static str,
    /// Whether it is the value itself.
    pub(super) is_value: bool,
    /// One per column.
    pub(super) cells: Vec<String>,
}

/// The bands of a panel.
pub(super) fn bands(panel: &Panel) -> Vec<Band<'_>> {
    panel.rows.iter().map(band).collect()
}

fn band(row: &Row) -> Band<'_> {
    let mut lines = vec![line(row, "rate", |cell| cell.value.map(percent))];
    if let Some(first) = lines.first_mut() {
        first.is_value = true;
    }
    if !row.published {
        lines.push(line(row, "95 % interval", interval));
        lines.push(line(row, "n", |cell| cell.n.map(plain)));
        // Only where there is something to say: a line that is missing means none.
        let optional: [Getter; 5] = [
            ("unreadable %", |cell| above(cell.unreadable?).map(percent)),
            ("unavailable", |cell| {
                above(cell.unavailable? as f64).map(plain)
            }),
            ("short contexts", |cell| {
                above(cell.short? as f64).map(plain)
            }),
            ("paper", |cell| cell.published.map(percent)),
            ("difference", |cell| cell.difference.map(points)),
        ];
        for (name, get) in optional {
            let found = line(row, name, get);
            if found.cells.iter().any(|cell| cell != NOTHING) {
                lines.push(found);
            }
        }
    }
    Band {
        label: &row.label,
        published: row.published,
        lines,
    }
}

type Getter = (&'static str, fn(&Cell) -> Option<String>);

fn line(row: &Row, name: &'static str, get: fn(&Cell) -> Option<String>) -> Line {
    let cells = row.cells.iter().map(|cell| {
        let text = cell.as_ref().and_then(get);
        text.unwrap_or_else(|| NOTHING.to_owned())
    });
    Line {
        name,
        is_value: false,
        cells: cells.collect(),
    }
}

fn above(number: f64) -> Option<f64> {
    (number > 0.0).then_some(number)
}

/// `74.3–80.8`; without decimals at 0 and 100, where there are none.
fn interval(cell: &Cell) -> Option<String> {
    let (low, high) = (cell.low?, cell.high?);
    let end = |rate: f64| match percent(rate).as_str() {
        "0.0" => "0".to_owned(),
        "100.0" => "100".to_owned(),
        other => other.to_owned(),
    };
    Some(format!("{}–{}", end(low), end(high)))
}
