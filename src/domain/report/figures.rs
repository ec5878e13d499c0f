//! The charts of a report as SVG files of their own.

use crate::domain::report::{Report, chart, reliability, tradeoff};

/// Every chart: a file name (`table6-1.svg`, `abstention-curve-1.svg`) and its SVG.
pub fn figures(report: &Report) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for table in &report.tables {
        for (at, panel) in table.panels.iter().enumerate() {
            let drawn = chart::of_panel(panel);
            if !drawn.curves.is_empty() {
                files.push((format!("{}-{}.svg", table.id, at + 1), drawn.standalone()));
            }
        }
        for (at, drawn) in tradeoff::charts(table).iter().enumerate() {
            let name = format!("{}-curve-{}.svg", table.id, at + 1);
            files.push((name, drawn.standalone()));
        }
    }
    for (at, drawn) in reliability::charts(report).iter().enumerate() {
        let name = format!("{}-{}.svg", reliability::ID, at + 1);
        files.push((name, drawn.standalone()));
    }
    files
}
