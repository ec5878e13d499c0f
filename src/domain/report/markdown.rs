//! A report as Markdown (tables as in GitHub's dialect).

use std::fmt::Write as _;

use crate::domain::report::text::{one_line, outcome_subject};
use crate::domain::report::{NoteRow, OutcomeRow, Panel, Report, grid, reliability};

/// The report as Markdown. Names can't break out of their place: signs with a meaning are escaped.
pub fn render(report: &Report) -> String {
    let mut out = format!("# {}\n", escape(&report.title));
    if !report.remarks.is_empty() {
        out.push('\n');
    }
    for remark in &report.remarks {
        let _ = writeln!(out, "- {}", escape(remark));
    }
    for table in &report.tables {
        let _ = write!(
            out,
            "\n## {}\n\n{}\n",
            escape(table.title),
            escape(table.caption)
        );
        for panel in &table.panels {
            write_panel(&mut out, panel);
        }
    }
    write_calibration(&mut out, report);
    write_outcomes(&mut out, &report.outcomes);
    write_notes(&mut out, &report.notes);
    out
}

fn write_panel(out: &mut String, panel: &Panel) {
    let _ = write!(
        out,
        "\n### {}\n\n{}\n\n| | |",
        escape(&panel.subject()),
        escape(panel.measure.title())
    );
    for column in &panel.columns {
        let _ = write!(out, " {} |", escape(&column.label));
    }
    let _ = writeln!(
        out,
        "\n| --- | --- |{}",
        " ---: |".repeat(panel.columns.len())
    );
    for band in grid::bands(panel) {
        for line in &band.lines {
            let (label, mark) = match line.is_value {
                true => (escape(band.label), "**"),
                false => (String::new(), ""),
            };
            let _ = write!(out, "| {label} | {} |", escape(line.name));
            for cell in &line.cells {
                let _ = write!(out, " {mark}{}{mark} |", escape(cell));
            }
            out.push('\n');
        }
    }
}

fn write_calibration(out: &mut String, report: &Report) {
    let sheets = reliability::sheets(&report.calibration);
    if sheets.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "\n## {}\n\n{}\n",
        reliability::TITLE,
        escape(reliability::CAPTION)
    );
    for sheet in &sheets {
        let _ = writeln!(
            out,
            "\n### {}\n\n| {} |\n| --- |{}",
            escape(&sheet.title),
            sheet.head.join(" | "),
            " ---: |".repeat(sheet.head.len() - 1)
        );
        for row in &sheet.rows {
            let cells: Vec<String> = row.iter().map(|cell| escape(cell)).collect();
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
    }
}

fn write_outcomes(out: &mut String, rows: &[OutcomeRow]) {
    if rows.is_empty() {
        return;
    }
    let kinds = super::csv::kinds(rows);
    let _ = write!(out, "\n## Replies by kind\n\n| condition | all |");
    for kind in &kinds {
        let _ = write!(out, " {} |", escape(&kind.replace('_', " ")));
    }
    let _ = writeln!(
        out,
        " no reply |\n| --- | ---: |{}",
        " ---: |".repeat(kinds.len() + 1)
    );
    for row in rows {
        let _ = write!(out, "| {} | {} |", escape(&outcome_subject(row)), row.total);
        for kind in &kinds {
            let _ = write!(out, " {} |", row.kinds.get(kind).copied().unwrap_or(0));
        }
        let _ = writeln!(out, " {} |", row.failed);
    }
}

fn write_notes(out: &mut String, rows: &[NoteRow]) {
    if rows.is_empty() {
        return;
    }
    out.push_str("\n## Repairs and oddities noted while reading replies\n\n| model | note | replies |\n| --- | --- | ---: |\n");
    for row in rows {
        let _ = writeln!(
            out,
            "| {} | {} | {} |",
            escape(&row.model),
            escape(&row.note),
            row.replies
        );
    }
}

/// One line of text without any Markdown or HTML in it.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}
