//! A report as LaTeX: one `longtable` per table of the report, with rules of `booktabs`.

use std::fmt::Write as _;

use crate::domain::report::reliability::{self, Sheet};
use crate::domain::report::text::{one_line, outcome_subject};
use crate::domain::report::{Panel, Report, Table, csv, grid};

/// What a document that takes the tables in must load.
const PACKAGES: &str = "% needs \\usepackage{booktabs,longtable}\n";

/// The tables for a document of one's own, or with `standalone` a document that compiles by itself.
///
/// Names are escaped; characters outside ASCII that common fonts may lack are written as `U+…`.
pub fn render(report: &Report, standalone: bool) -> String {
    let mut out = String::new();
    if standalone {
        out.push_str("\\documentclass[10pt]{article}\n\\usepackage[T1]{fontenc}\n\\usepackage[utf8]{inputenc}\n\\usepackage[margin=2cm]{geometry}\n\\usepackage{booktabs,longtable}\n\\begin{document}\n");
        let _ = write!(out, "\\section*{{{}}}\n\n", escape(&report.title));
    } else {
        out.push_str(PACKAGES);
    }
    if !report.remarks.is_empty() {
        out.push_str("\\begin{itemize}\n");
        for remark in &report.remarks {
            let _ = writeln!(out, "\\item {}", escape(remark));
        }
        out.push_str("\\end{itemize}\n");
    }
    for table in &report.tables {
        write_table(&mut out, table);
    }
    for sheet in reliability::sheets(&report.calibration) {
        write_sheet(&mut out, &sheet);
    }
    write_outcomes(&mut out, report);
    write_notes(&mut out, report);
    if standalone {
        out.push_str("\\end{document}\n");
    }
    out
}

fn write_table(out: &mut String, table: &Table) {
    let columns = table.panels.iter().map(|panel| panel.columns.len()).max();
    let columns = columns.unwrap_or(0);
    let _ = write!(
        out,
        "\n{{\\small\\setlength{{\\tabcolsep}}{{4pt}}%\n\\begin{{longtable}}{{@{{}}p{{3.6cm}}{}@{{}}}}\n\\caption{{{}. {}}}\\\\\n\\toprule\n\\endhead\n\\bottomrule\n\\endfoot\n",
        "r".repeat(columns),
        escape(table.title),
        escape(table.caption)
    );
    for (at, panel) in table.panels.iter().enumerate() {
        if at > 0 {
            out.push_str("\\midrule\n");
        }
        write_panel(out, panel, columns);
    }
    out.push_str("\\end{longtable}}\n");
}

fn write_panel(out: &mut String, panel: &Panel, columns: usize) {
    let span = columns + 1;
    let end = |used: usize| format!("{}\\\\", " &".repeat(columns - used));
    for text in [&*panel.subject(), panel.measure.title()] {
        let _ = writeln!(
            out,
            "\\multicolumn{{{span}}}{{@{{}}l@{{}}}}{{\\textit{{{}}}}}\\\\*",
            escape(text)
        );
    }
    for column in &panel.columns {
        let _ = write!(out, " & {}", escape(&column.label));
    }
    let _ = writeln!(out, "{}*", end(panel.columns.len()));
    for band in grid::bands(panel) {
        for line in &band.lines {
            let (label, open, close) = match line.is_value {
                true => (escape(band.label), "", ""),
                false => (
                    format!("\\quad\\scriptsize {}", escape(line.name)),
                    "{\\scriptsize ",
                    "}",
                ),
            };
            let _ = write!(out, "{label}");
            for cell in &line.cells {
                let _ = write!(out, " & {open}{}{close}", number(cell));
            }
            let _ = writeln!(out, "{}", end(line.cells.len()));
        }
    }
}

fn write_sheet(out: &mut String, sheet: &Sheet) {
    let head: Vec<String> = sheet.head.iter().map(|name| escape(name)).collect();
    let _ = write!(
        out,
        "\n{{\\small\n\\begin{{longtable}}{{@{{}}p{{6cm}}{}@{{}}}}\n\\caption{{{}. {}.}}\\\\\n\\toprule\n{}\\\\\n\\midrule\n\\endhead\n\\bottomrule\n\\endfoot\n",
        "r".repeat(sheet.head.len() - 1),
        reliability::TITLE,
        escape(&sheet.title),
        head.join(" & ")
    );
    for row in &sheet.rows {
        let cells: Vec<String> = row.iter().map(|cell| escape(cell)).collect();
        let _ = writeln!(out, "{}\\\\", cells.join(" & "));
    }
    out.push_str("\\end{longtable}}\n");
}

fn write_outcomes(out: &mut String, report: &Report) {
    if report.outcomes.is_empty() {
        return;
    }
    let kinds = csv::kinds(&report.outcomes);
    let _ = write!(
        out,
        "\n{{\\footnotesize\\setlength{{\\tabcolsep}}{{3pt}}%\n\\begin{{longtable}}{{@{{}}p{{6cm}}r{}r@{{}}}}\n\\caption{{Replies by kind.}}\\\\\n\\toprule\n & all",
        "r".repeat(kinds.len())
    );
    for kind in &kinds {
        let _ = write!(out, " & {}", escape(&kind.replace('_', " ")));
    }
    out.push_str(" & no reply\\\\\n\\midrule\n\\endhead\n\\bottomrule\n\\endfoot\n");
    for row in &report.outcomes {
        let _ = write!(out, "{} & {}", escape(&outcome_subject(row)), row.total);
        for kind in &kinds {
            let _ = write!(out, " & {}", row.kinds.get(kind).copied().unwrap_or(0));
        }
        let _ = writeln!(out, " & {}\\\\", row.failed);
    }
    out.push_str("\\end{longtable}}\n");
}

fn write_notes(out: &mut String, report: &Report) {
    if report.notes.is_empty() {
        return;
    }
    out.push_str("\n{\\footnotesize\n\\begin{longtable}{@{}p{4cm}p{9cm}r@{}}\n\\caption{Repairs and oddities noted while reading replies.}\\\\\n\\toprule\nmodel & note & replies\\\\\n\\midrule\n\\endhead\n\\bottomrule\n\\endfoot\n");
    for row in &report.notes {
        let _ = writeln!(
            out,
            "{} & {} & {}\\\\",
            escape(&row.model),
            escape(&row.note),
            row.replies
        );
    }
    out.push_str("\\end{longtable}}\n");
}

/// A cell; a negative number gets a minus sign instead of a hyphen.
fn number(cell: &str) -> String {
    match cell.strip_prefix('-').filter(|rest| !rest.is_empty()) {
        Some(rest) => format!("$-${}", escape(rest)),
        None => escape(cell),
    }
}

/// One line of text that LaTeX sets as it is. Brackets are put into braces, since one after `\\` would be
/// taken for its argument.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '|' => out.push_str("\\textbar{}"),
            '"' => out.push_str("\\textquotedbl{}"),
            '`' => out.push_str("\\textasciigrave{}"),
            '[' | ']' | '*' => {
                let _ = write!(out, "{{{c}}}");
            }
            '–' => out.push_str("--"),
            '…' => out.push_str("\\ldots{}"),
            // Letters of Latin-1, which T1 fonts have.
            ' '..='~' | 'À'..='ÿ' => out.push(c),
            other => {
                let _ = write!(out, "U+{:04X}", u32::from(other));
            }
        }
    }
    out
}
