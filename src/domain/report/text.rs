//! A report as text for a terminal or a file.

use unicode_width::UnicodeWidthStr;

use crate::domain::report::grid::{self, Line};
use crate::domain::report::reliability::{self, Sheet};
use crate::domain::report::{Calibration, NoteRow, OutcomeRow, Panel, Report, plain};
pub(super) use crate::domain::text::one_line;

/// Width of the column of names.
const NAMES: usize = 16;

/// Most notes that are listed; JSON has all.
const NOTES_SHOWN: usize = 40;

/// How text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal; lines keep within it as far as names allow.
    pub width: usize,
    /// Whether headings and rates are in bold.
    pub bold: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style {
            width: 80,
            bold: false,
        }
    }
}

/// The report as text. Control characters in names are removed.
pub fn render(report: &Report, style: Style) -> String {
    let mut out = Writer {
        text: String::new(),
        style: Style {
            width: style.width.clamp(40, 240),
            ..style
        },
    };
    out.heading(&report.title);
    out.line("");
    for run in report.runs.iter().filter(|run| !run.published) {
        out.wrapped(
            "",
            &format!(
                "{}: {} askings of {} questions; models {}; datasets {}",
                run.name,
                run.counted,
                run.questions,
                run.models.join(", "),
                run.datasets.join(", ")
            ),
        );
    }
    for remark in &report.remarks {
        out.wrapped("* ", remark);
    }
    for table in &report.tables {
        out.line("");
        out.heading(table.title);
        out.wrapped("", table.caption);
        for panel in &table.panels {
            out.line("");
            out.panel(panel);
        }
    }
    out.calibration(&report.calibration);
    out.outcomes(&report.outcomes);
    out.notes(&report.notes);
    out.text
}

struct Writer {
    text: String,
    style: Style,
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn heading(&mut self, text: &str) {
        let text = self.emphasis(&one_line(text));
        self.line(&text);
    }

    fn emphasis(&self, text: &str) -> String {
        match self.style.bold && !text.trim().is_empty() {
            true => format!("\u{1b}[1m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }

    /// Words filled into lines; those after the first are set in as far as `start` is wide.
    fn wrapped(&mut self, start: &str, text: &str) {
        let mut line = start.to_owned();
        let indent = " ".repeat(start.width());
        let mut is_empty = true;
        for word in one_line(text).split(' ') {
            if !is_empty && line.width() + 1 + word.width() > self.style.width {
                self.line(&line);
                line.clone_from(&indent);
                is_empty = true;
            }
            if !is_empty {
                line.push(' ');
            }
            line.push_str(word);
            is_empty = false;
        }
        self.line(&line);
    }

    fn panel(&mut self, panel: &Panel) {
        self.wrapped("", &panel.subject());
        self.wrapped("", panel.measure.title());
        let bands = grid::bands(panel);
        let labels: Vec<&str> = panel.columns.iter().map(|column| &*column.label).collect();
        let widest = bands
            .iter()
            .flat_map(|band| band.lines.iter().flat_map(|line| line.cells.iter()))
            .map(|cell| cell.width())
            .chain(labels.iter().map(|label| label.width()))
            .max()
            .unwrap_or(1);
        let column = widest + 1;
        let at_once = ((self.style.width.saturating_sub(NAMES)) / column).max(1);
        for first in (0..labels.len()).step_by(at_once) {
            let last = (first + at_once).min(labels.len());
            let head: String = labels[first..last]
                .iter()
                .map(|label| right(label, column))
                .collect();
            self.line(&format!("{}{head}", " ".repeat(NAMES)));
            for band in &bands {
                let name = self.emphasis(&cut(&one_line(band.label), self.style.width));
                self.line(&name);
                for line in &band.lines {
                    self.cells(line, first..last, column);
                }
            }
        }
    }

    fn cells(&mut self, line: &Line, range: std::ops::Range<usize>, column: usize) {
        let cells: String = line.cells[range]
            .iter()
            .map(|cell| right(cell, column))
            .collect();
        let cells = match line.is_value {
            true => self.emphasis(&cells),
            false => cells,
        };
        self.line(&format!(
            "{}{cells}",
            left(&format!("  {}", line.name), NAMES)
        ));
    }

    fn calibration(&mut self, rows: &[Calibration]) {
        let sheets = reliability::sheets(rows);
        if sheets.is_empty() {
            return;
        }
        self.line("");
        self.heading(reliability::TITLE);
        self.wrapped("", reliability::CAPTION);
        for sheet in &sheets {
            self.line("");
            self.wrapped("", &sheet.title);
            self.sheet(sheet);
        }
    }

    /// As many columns of numbers side by side as the width allows; long names on lines of their own.
    fn sheet(&mut self, sheet: &Sheet) {
        let head: Vec<String> = sheet.head.iter().map(|name| (*name).to_owned()).collect();
        let rows = || std::iter::once(&head).chain(&sheet.rows);
        let widest = rows()
            .flat_map(|row| row.iter().skip(1))
            .map(|cell| cell.width());
        let column = widest.max().unwrap_or(1) + 1;
        let at_once = (self.style.width.saturating_sub(NAMES) / column).max(1);
        for first in (1..head.len()).step_by(at_once) {
            let last = (first + at_once).min(head.len());
            for row in rows() {
                let cells = row.get(first..last).unwrap_or_default();
                let numbers: String = cells.iter().map(|cell| right(cell, column)).collect();
                let mut name = one_line(row.first().map_or("", String::as_str));
                if name.width() >= NAMES {
                    self.wrapped("", &name);
                    name.clear();
                }
                self.line(&format!("{}{numbers}", left(&name, NAMES)));
            }
        }
    }

    fn outcomes(&mut self, rows: &[OutcomeRow]) {
        if rows.is_empty() {
            return;
        }
        self.line("");
        self.heading("Replies by kind");
        for row in rows {
            let mut parts: Vec<String> = row
                .kinds
                .iter()
                .map(|(kind, count)| format!("{kind} {count}"))
                .collect();
            if row.failed > 0 {
                parts.push(format!("no reply {}", row.failed));
            }
            self.wrapped(
                "",
                &format!("{}: {}", outcome_subject(row), parts.join(", ")),
            );
        }
    }

    fn notes(&mut self, rows: &[NoteRow]) {
        if rows.is_empty() {
            return;
        }
        self.line("");
        self.heading("Repairs and oddities noted while reading replies");
        let count = rows.iter().map(|row| row.replies).max().unwrap_or(0);
        let width = count.to_string().len();
        for row in rows.iter().take(NOTES_SHOWN) {
            let start = format!("{:>width$}  ", row.replies);
            self.wrapped(&start, &format!("{}: {}", row.model, row.note));
        }
        if rows.len() > NOTES_SHOWN {
            let more = rows.len() - NOTES_SHOWN;
            self.line(&format!("… and {more} more kinds (--format json has all)"));
        }
    }
}

/// Model and condition of a row of outcomes.
pub(super) fn outcome_subject(row: &OutcomeRow) -> String {
    let mut parts = vec![
        row.model.clone(),
        row.dataset.clone(),
        row.scenario.to_string(),
        format!("n={}", row.docs),
    ];
    if let Some(p) = row.p {
        parts.push(format!("p={}", plain(p)));
    }
    if row.source != crate::domain::context::SourceFilter::Any {
        parts.push(row.source.name().to_owned());
    }
    if row.mode == crate::domain::context::Mode::Independent {
        parts.push("independent draws".to_owned());
    }
    parts.join(", ")
}

fn right(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(text.width())))
}

fn left(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// The beginning of a text that is too wide.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        let next = format!("{out}{c}");
        if next.width() + 1 > width {
            break;
        }
        out = next;
    }
    out.push('…');
    out
}
