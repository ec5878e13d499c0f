//! A report as one HTML page that needs nothing else: no script, no font, no image, no request.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::domain::report::reliability::{self, Sheet};
use crate::domain::report::text::{one_line, outcome_subject};
use crate::domain::report::{Panel, Report, Table, chart, csv, grid, tradeoff};

/// The page's only style sheet.
const STYLE: &str = include_str!("../../../assets/report.css");

/// The page. All text from outside is escaped; a content security policy allows the page's own style
/// sheet (by its hash) and nothing else, so that no browser asks the network for anything.
pub fn render(report: &Report) -> String {
    let title = escape(&report.title);
    let hash = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#tables\">Skip to the tables</a>\n<header>\n<h1>{title}</h1>\n"
    );
    write_facts(&mut out, report);
    out.push_str("</header>\n");
    write_contents(&mut out, report);
    out.push_str("<main id=\"tables\">\n");
    for table in &report.tables {
        write_table(&mut out, table);
    }
    write_calibration(&mut out, report);
    write_outcomes(&mut out, report);
    write_notes(&mut out, report);
    out.push_str("</main>\n<footer><p>Made by medrgb, a research tool. Nothing here is medical advice.</p></footer>\n</body>\n</html>\n");
    out
}

/// Text on one line that no browser takes for markup, inside elements and quoted attributes alike.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

fn write_facts(out: &mut String, report: &Report) {
    for run in report.runs.iter().filter(|run| !run.published) {
        let _ = writeln!(
            out,
            "<p>{}: {} askings of {} questions; models {}; datasets {}</p>",
            escape(&run.name),
            run.counted,
            run.questions,
            escape(&run.models.join(", ")),
            escape(&run.datasets.join(", "))
        );
    }
    if report.remarks.is_empty() {
        return;
    }
    out.push_str("<ul class=\"remarks\">\n");
    for remark in &report.remarks {
        let _ = writeln!(out, "<li>{}</li>", escape(remark));
    }
    out.push_str("</ul>\n");
}

fn write_contents(out: &mut String, report: &Report) {
    out.push_str("<nav aria-label=\"Tables\"><ul>\n");
    for table in &report.tables {
        let _ = writeln!(
            out,
            "<li><a href=\"#{}\">{}</a></li>",
            table.id,
            escape(table.title)
        );
    }
    if !report.calibration.is_empty() {
        let _ = writeln!(
            out,
            "<li><a href=\"#{}\">{}</a></li>",
            reliability::ID,
            reliability::TITLE
        );
    }
    if !report.outcomes.is_empty() {
        out.push_str("<li><a href=\"#kinds\">Replies by kind</a></li>\n");
    }
    if !report.notes.is_empty() {
        out.push_str("<li><a href=\"#notes\">Repairs and oddities</a></li>\n");
    }
    out.push_str("</ul></nav>\n");
}

fn write_table(out: &mut String, table: &Table) {
    let _ = writeln!(
        out,
        "<section id=\"{id}\" aria-labelledby=\"{id}-h\">\n<h2 id=\"{id}-h\">{}</h2>\n<p>{}</p>",
        escape(table.title),
        escape(table.caption),
        id = table.id
    );
    for (at, curve) in tradeoff::charts(table).iter().enumerate() {
        let id = format!("{}-curve-{}", table.id, at + 1);
        let _ = writeln!(
            out,
            "<section class=\"panel\" aria-labelledby=\"{id}-h\">\n<h3 id=\"{id}-h\">{}</h3>\n{}</section>",
            escape(&curve.title),
            curve.in_page(&id)
        );
    }
    for (at, panel) in table.panels.iter().enumerate() {
        write_panel(out, panel, &format!("{}-{}", table.id, at + 1));
    }
    out.push_str("</section>\n");
}

fn write_panel(out: &mut String, panel: &Panel, id: &str) {
    let subject = escape(&panel.subject());
    let measure = escape(panel.measure.title());
    let _ = write!(
        out,
        "<section class=\"panel\" aria-labelledby=\"{id}-h\">\n<h3 id=\"{id}-h\">{subject}</h3>\n<p class=\"measure\">{measure}</p>\n<div class=\"pair\">\n{}\n<div class=\"scroll\" role=\"region\" aria-labelledby=\"{id}-h\" tabindex=\"0\">\n<table>\n<caption>Rates in per cent</caption>\n<thead><tr><td></td>",
        chart::figure(panel, id)
    );
    for column in &panel.columns {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escape(&column.label));
    }
    out.push_str("</tr></thead>\n");
    for band in grid::bands(panel) {
        // Beside other runs the label says already that it is the paper.
        let mark = match band.published && !band.label.ends_with("(paper)") {
            true => " (published)",
            false => "",
        };
        let _ = writeln!(
            out,
            "<tbody>\n<tr><th class=\"name\" scope=\"rowgroup\" colspan=\"{}\">{}{mark}</th></tr>",
            panel.columns.len() + 1,
            escape(band.label)
        );
        for line in &band.lines {
            let class = if line.is_value {
                " class=\"value\""
            } else {
                ""
            };
            let _ = write!(
                out,
                "<tr{class}><th scope=\"row\">{}</th>",
                escape(line.name)
            );
            for cell in &line.cells {
                let _ = write!(out, "<td>{}</td>", escape(cell));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody>\n");
    }
    out.push_str("</table>\n</div>\n</div>\n</section>\n");
}

fn write_calibration(out: &mut String, report: &Report) {
    let sheets = reliability::sheets(&report.calibration);
    if sheets.is_empty() {
        return;
    }
    let id = reliability::ID;
    let _ = writeln!(
        out,
        "<section id=\"{id}\" aria-labelledby=\"{id}-h\">\n<h2 id=\"{id}-h\">{}</h2>\n<p>{}</p>",
        reliability::TITLE,
        escape(reliability::CAPTION)
    );
    for (at, chart) in reliability::charts(report).iter().enumerate() {
        let id = format!("{id}-curve-{}", at + 1);
        let _ = writeln!(
            out,
            "<section class=\"panel\" aria-labelledby=\"{id}-h\">\n<h3 id=\"{id}-h\">{}</h3>\n{}</section>",
            escape(&chart.title),
            chart.in_page(&id)
        );
    }
    for (at, sheet) in sheets.iter().enumerate() {
        write_sheet(out, sheet, &format!("{id}-{}", at + 1));
    }
    out.push_str("</section>\n");
}

fn write_sheet(out: &mut String, sheet: &Sheet, id: &str) {
    let _ = write!(
        out,
        "<section class=\"panel\" aria-labelledby=\"{id}-h\">\n<h3 id=\"{id}-h\">{}</h3>\n<div class=\"scroll\" role=\"region\" aria-labelledby=\"{id}-h\" tabindex=\"0\">\n<table class=\"list\">\n<thead><tr>",
        escape(&sheet.title)
    );
    for name in &sheet.head {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escape(name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &sheet.rows {
        out.push_str("<tr>");
        for (at, cell) in row.iter().enumerate() {
            let class = if at == 0 { " class=\"text\"" } else { "" };
            let _ = write!(out, "<td{class}>{}</td>", escape(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n</section>\n");
}

fn write_outcomes(out: &mut String, report: &Report) {
    if report.outcomes.is_empty() {
        return;
    }
    let kinds = csv::kinds(&report.outcomes);
    out.push_str("<section id=\"kinds\" aria-labelledby=\"kinds-h\">\n<h2 id=\"kinds-h\">Replies by kind</h2>\n<div class=\"scroll\" role=\"region\" aria-labelledby=\"kinds-h\" tabindex=\"0\">\n<table class=\"list\">\n<thead><tr><th scope=\"col\">condition</th><th scope=\"col\">all</th>");
    for kind in &kinds {
        let _ = write!(
            out,
            "<th scope=\"col\">{}</th>",
            escape(&kind.replace('_', " "))
        );
    }
    out.push_str("<th scope=\"col\">no reply</th></tr></thead>\n<tbody>\n");
    for row in &report.outcomes {
        let _ = write!(
            out,
            "<tr><td class=\"text\">{}</td><td>{}</td>",
            escape(&outcome_subject(row)),
            row.total
        );
        for kind in &kinds {
            let _ = write!(
                out,
                "<td>{}</td>",
                row.kinds.get(kind).copied().unwrap_or(0)
            );
        }
        let _ = writeln!(out, "<td>{}</td></tr>", row.failed);
    }
    out.push_str("</tbody>\n</table>\n</div>\n</section>\n");
}

fn write_notes(out: &mut String, report: &Report) {
    if report.notes.is_empty() {
        return;
    }
    out.push_str("<section id=\"notes\" aria-labelledby=\"notes-h\">\n<h2 id=\"notes-h\">Repairs and oddities</h2>\n<p>Noted while reading replies.</p>\n<div class=\"scroll\" role=\"region\" aria-labelledby=\"notes-h\" tabindex=\"0\">\n<table class=\"list\">\n<thead><tr><th scope=\"col\">model</th><th scope=\"col\">note</th><th scope=\"col\">replies</th></tr></thead>\n<tbody>\n");
    for row in &report.notes {
        let _ = writeln!(
            out,
            "<tr><td class=\"text\">{}</td><td class=\"text\">{}</td><td>{}</td></tr>",
            escape(&row.model),
            escape(&row.note),
            row.replies
        );
    }
    out.push_str("</tbody>\n</table>\n</div>\n</section>\n");
}
