//! A report as CSV: one row per cell.

use crate::domain::report::{
    Calibration, Cell, IntervalKind, OutcomeRow, Panel, Report, Row, Table, plain, reliability,
};
use crate::domain::text::clean;

/// The columns. Rates run from 0 to 1.
pub const COLUMNS: [&str; 24] = [
    "table",
    "dataset",
    "run",
    "model",
    "scenario",
    "docs",
    "p",
    "source",
    "mode",
    "metric",
    "value",
    "low",
    "high",
    "interval",
    "n",
    "questions",
    "question_mean",
    "unreadable",
    "unavailable",
    "short",
    "published",
    "difference",
    "is_published",
    "label",
];

/// The cells of all tables, RFC 4180 with a header line.
///
/// A text that a spreadsheet would take for a formula (it begins with `=`, `+`, `-`, `@`, a tab or a line
/// end) gets an apostrophe in front.
pub fn render(report: &Report) -> String {
    let mut out = COLUMNS.join(",");
    out.push_str("\r\n");
    for table in &report.tables {
        for panel in &table.panels {
            for row in &panel.rows {
                for (at, cell) in row.cells.iter().enumerate() {
                    if let Some(cell) = cell {
                        out.push_str(&record(table, panel, row, at, cell));
                    }
                }
            }
        }
    }
    for row in &report.calibration {
        for line in calibration(row) {
            out.push_str(&line);
        }
    }
    out
}

/// The figures of a model's calibration, then the accuracy of each bin, whose label says which confidences it holds.
fn calibration(row: &Calibration) -> Vec<String> {
    let all = [
        ("accuracy", row.accuracy),
        ("mean_confidence", row.confidence),
        ("expected_calibration_error", row.expected_calibration_error),
        ("brier_score", row.brier_score),
    ];
    let all = all.map(|(metric, value)| (metric, value, None, row.n, row.label.clone()));
    let bins = row.bins.iter().map(|bin| {
        let confidences = format!(
            "{}, confidence {} to {}",
            row.label,
            plain(bin.from),
            plain(bin.to)
        );
        (
            "bin_accuracy",
            bin.accuracy,
            Some(bin.interval),
            bin.n,
            confidences,
        )
    });
    all.into_iter()
        .chain(bins)
        .map(|(metric, value, ends, n, label)| {
            let mut fields: [String; COLUMNS.len()] = std::array::from_fn(|_| String::new());
            for (column, field) in [
                ("table", reliability::ID.to_owned()),
                ("dataset", text(&row.dataset)),
                ("run", text(&row.run)),
                ("model", text(&row.model)),
                ("scenario", row.scenario.name().to_owned()),
                ("metric", metric.to_owned()),
                ("value", plain(value)),
                ("low", ends.map(|ends| plain(ends.0)).unwrap_or_default()),
                ("high", ends.map(|ends| plain(ends.1)).unwrap_or_default()),
                ("interval", ends.map_or("", |_| "wilson").to_owned()),
                ("n", n.to_string()),
                ("is_published", "false".to_owned()),
                ("label", text(&label)),
            ] {
                if let Some(at) = COLUMNS.iter().position(|known| *known == column) {
                    fields[at] = field;
                }
            }
            format!("{}\r\n", fields.join(","))
        })
        .collect()
}

fn record(table: &Table, panel: &Panel, row: &Row, at: usize, cell: &Cell) -> String {
    let column = panel.columns.get(at);
    let number = |number: Option<f64>| number.map(plain).unwrap_or_default();
    let whole = |number: Option<usize>| number.map(|n| n.to_string()).unwrap_or_default();
    let kind = match cell.interval {
        None => "",
        Some(IntervalKind::Wilson) => "wilson",
        Some(IntervalKind::Bootstrap) => "bootstrap",
    };
    let fields: [String; COLUMNS.len()] = [
        table.id.to_owned(),
        text(&panel.dataset),
        text(&row.run),
        text(&row.model),
        panel.scenario.name().to_owned(),
        whole(column.map(|column| column.docs)),
        number(column.and_then(|column| column.p)),
        column.map_or("", |column| column.source.name()).to_owned(),
        panel.mode.name().to_owned(),
        panel.measure.name().to_owned(),
        number(cell.value),
        number(cell.low),
        number(cell.high),
        kind.to_owned(),
        number(cell.n),
        whole(cell.questions),
        number(cell.question_mean),
        number(cell.unreadable),
        whole(cell.unavailable),
        whole(cell.short),
        number(cell.published),
        number(cell.difference),
        row.published.to_string(),
        text(&row.label),
    ];
    let mut line = fields.join(",");
    line.push_str("\r\n");
    line
}

/// A field with text from outside: no formula, quoted where needed.
fn text(text: &str) -> String {
    let mut text = clean(text);
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) {
        text.insert(0, '\'');
    }
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

/// The kinds of replies that occur.
pub(super) fn kinds(rows: &[OutcomeRow]) -> Vec<&'static str> {
    let mut kinds: Vec<&'static str> = Vec::new();
    for kind in rows.iter().flat_map(|row| row.kinds.keys()) {
        if !kinds.contains(kind) {
            kinds.push(kind);
        }
    }
    kinds
}
