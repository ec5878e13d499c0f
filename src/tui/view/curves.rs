//! The curves of a run, and the same in words and numbers.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::domain::report::{Cell, Panel, Row};
use crate::tui::app::curves::{Curves, Figures};
use crate::tui::app::loaded::Loaded;
use crate::tui::app::{App, Screen};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{frame, inside, panel, span};
use crate::tui::view::sweep::{body, waiting};
use crate::tui::widgets::chart::{self, Chart, Point, Series};
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::{both_ends, fitting, one_line};

/// From this width on the words stand beside the chart, else below it.
const BESIDE: u16 = 70;

/// Looks of the models' lines; with more models they begin again.
const LOOKS: [(&str, &str, Tone); 5] = [
    ("●", "o", Tone::Key),
    ("■", "#", Tone::Adversarial),
    ("▲", "^", Tone::Good),
    ("◆", "+", Tone::Warning),
    ("▼", "v", Tone::Strong),
];

/// The look of the paper's line.
const PAPER: (&str, &str, Tone) = ("○", "p", Tone::Noise);

fn areas(area: Rect) -> (Rect, Rect) {
    if area.width >= BESIDE {
        // The words need more than the chart where there is little room.
        let width = match area.width {
            110.. => area.width / 2,
            _ => area.width * 2 / 5,
        };
        let words = Rect {
            x: area.x + width,
            width: area.width - width,
            ..area
        };
        return (Rect { width, ..area }, words);
    }
    let height = area.height / 2;
    let words = Rect {
        y: area.y + height,
        height: area.height - height,
        ..area
    };
    (Rect { height, ..area }, words)
}

/// Rows of the words, and rows seen at once.
pub fn words_extent(app: &App) -> (usize, usize) {
    let inner = inside(areas(body(app)).1);
    let rows = shown(app).map_or(0, |shown| words(app, &shown, inner.width).rows());
    (rows, usize::from(inner.height))
}

/// What is drawn.
struct Shown<'a> {
    curves: &'a Curves,
    figures: &'a Figures,
    panel: &'a Panel,
    /// The paper's figures per column, or why there are none; `None` where none are wanted.
    paper: Option<(&'a str, Published)>,
}

/// A figure per column, where there is one, or why there are none.
type Published = Result<Vec<Option<f64>>, String>;

fn shown(app: &App) -> Option<Shown<'_>> {
    let curves = app.sweep.curves.as_ref()?;
    let figures = curves.figures.ready()?;
    let panel = curves.panel()?;
    let paper = curves
        .paper_model()
        .map(|model| (model, figures.published(panel, model)));
    Some(Shown {
        curves,
        figures,
        panel,
        paper,
    })
}

pub(super) fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let Some(curves) = &app.sweep.curves else {
        let mut flow = Flow::new(inside(area).width);
        let text = "No run has been chosen. Choose one in the list of runs.";
        flow.say(&app.wraps, text, Tone::Text);
        let left = vec![span(theme, "Curves", Tone::Title)];
        return panel(app, area, buffer, true, left, Vec::new(), &flow, 0);
    };
    let Some(shown) = shown(app) else {
        return not_there(app, curves, area, buffer);
    };
    let (chart_area, words_area) = areas(area);
    let subject = one_line(&shown.panel.subject());
    let left = vec![span(theme, subject, Tone::Title)];
    frame(app, chart_area, buffer, false, left, Vec::new());
    let inner = inside(chart_area);
    let drawn = chart_of(app, &shown);
    let top = format!("axis 0 to {:.0} %", drawn.top * 100.0);
    let right = match drawn.top < 1.0 {
        true => vec![span(theme, top, Tone::Warning)],
        false => Vec::new(),
    };
    let title = vec![span(theme, shown.panel.measure.title(), Tone::Text)];
    let title = both_ends(title, right, usize::from(inner.width));
    if inner.height > 6 {
        buffer.set_line(inner.x, inner.y, &title, inner.width);
        let width = usize::from(inner.width);
        let axis = match joined(shown.panel) {
            true => fitting(
                [
                    "p: % of documents that are signal or original; rates in %",
                    "p: % signal or original documents; rates in %",
                    "p in %; rates in %",
                ],
                width,
            ),
            false => fitting(["retrieval; rates in %"], width),
        };
        let axis = Line::from(span(theme, axis, Tone::Faint));
        buffer.set_line(
            inner.x,
            inner.bottom().saturating_sub(1),
            &axis,
            inner.width,
        );
    }
    let plot = Rect {
        y: inner.y + 1,
        height: inner.height.saturating_sub(2),
        ..inner
    };
    chart::draw(&drawn, plot, buffer, theme, app.braille);
    let flow = words(app, &shown, inside(words_area).width);
    let left = vec![span(theme, "In words and numbers", Tone::Title)];
    let right = vec![span(theme, one_line(&curves.run), Tone::Faint)];
    let scroll = curves.scroll;
    panel(app, words_area, buffer, true, left, right, &flow, scroll);
}

fn not_there(app: &App, curves: &Curves, area: Rect, buffer: &mut Buffer) {
    let mut flow = Flow::new(inside(area).width);
    match &curves.figures {
        Loaded::Loading { since, .. } => {
            let what = "reading the run and working out its rates and intervals";
            flow.say(&app.wraps, &waiting(app, what, *since), Tone::Text);
        }
        Loaded::Failed(why) => {
            flow.say(&app.wraps, why, Tone::Bad);
            if app.screen != Screen::Talk {
                let back = app.keymap.key(Command::Back);
                let text = format!("{back} goes back to the list of runs.");
                flow.say(&app.wraps, &text, Tone::Faint);
            }
        }
        _ => flow.say(&app.wraps, "This run fills no table.", Tone::Warning),
    }
    let left = vec![span(&app.theme, one_line(&curves.run), Tone::Title)];
    panel(app, area, buffer, true, left, Vec::new(), &flow, 0);
}

/// Whether columns are steps of p, so that a line between them means something.
fn joined(panel: &Panel) -> bool {
    panel.columns.iter().all(|column| column.p.is_some())
}

/// Where a column stands, 0 to 1.
fn place(panel: &Panel, at: usize) -> f64 {
    let p = panel.columns.get(at).and_then(|column| column.p);
    match p.filter(|_| joined(panel)) {
        Some(p) => p / 100.0,
        None => (at as f64 + 0.5) / panel.columns.len().max(1) as f64,
    }
}

/// Mark and tone of a row; letters where the terminal has no signs.
fn look(app: &App, at: usize) -> (&'static str, Tone) {
    let (mark, letter, tone) = LOOKS[at % LOOKS.len()];
    (if app.braille { mark } else { letter }, tone)
}

fn paper_look(app: &App) -> (&'static str, Tone) {
    let (mark, letter, tone) = PAPER;
    (if app.braille { mark } else { letter }, tone)
}

fn chart_of(app: &App, shown: &Shown<'_>) -> Chart {
    let panel = shown.panel;
    let mut series = Vec::new();
    if let Some((_, Ok(values))) = &shown.paper {
        let (mark, tone) = paper_look(app);
        let points = values.iter().enumerate().filter_map(|(at, value)| {
            Some(Point {
                x: place(panel, at),
                y: (*value)?,
                ends: None,
            })
        });
        series.push(Series {
            points: points.collect(),
            mark,
            tone,
            dashed: true,
            band: false,
        });
    }
    for (at, row) in panel
        .rows
        .iter()
        .enumerate()
        .filter(|(_, row)| !row.published)
    {
        let (mark, tone) = look(app, at);
        let cells = row.cells.iter().enumerate();
        let points = cells.filter_map(|(column, cell)| {
            let cell = cell.as_ref()?;
            Some(Point {
                x: place(panel, column),
                y: cell.value?,
                ends: cell.low.zip(cell.high),
            })
        });
        series.push(Series {
            points: points.collect(),
            mark,
            tone,
            dashed: false,
            band: most_replies(row) >= FEW,
        });
    }
    let ticks = panel.columns.iter().enumerate().map(|(at, column)| {
        let label = match column.p.filter(|_| joined(panel)) {
            Some(p) => p.to_string(),
            None => column.label.clone(),
        };
        (place(panel, at), label)
    });
    Chart {
        ticks: ticks.collect(),
        joined: joined(panel),
        series,
        top: top_of(shown),
    }
}

/// Points of fewer replies than this say next to nothing.
const FEW: f64 = 10.0;

/// The replies behind the point that has most of them.
fn most_replies(row: &Row) -> f64 {
    let counts = row.cells.iter().flatten().filter_map(|cell| cell.n);
    counts.fold(0.0, f64::max)
}

/// The upper end of the vertical axis: the same in all tests that have this metric, so that stepping through them
/// compares heights.
fn top_of(shown: &Shown<'_>) -> f64 {
    let figures = shown.figures;
    let panels = figures.with_measure(shown.panel.measure);
    let cells =
        panels.flat_map(|panel| panel.rows.iter().flat_map(|row| row.cells.iter().flatten()));
    let own = cells.flat_map(|cell| [cell.value, cell.high, cell.published]);
    let paper = match &shown.paper {
        Some((_, Ok(values))) => values.as_slice(),
        _ => &[],
    };
    chart::top_above(own.flatten().chain(paper.iter().flatten().copied()))
}

/// The chart for those who do not see it, with all that a number needs to be judged.
fn words(app: &App, shown: &Shown<'_>, width: u16) -> Flow {
    let mut flow = Flow::new(width);
    let theme = &app.theme;
    for (at, row) in shown
        .panel
        .rows
        .iter()
        .enumerate()
        .filter(|(_, row)| !row.published)
    {
        let (mark, tone) = look(app, at);
        flow.line(Line::from(vec![
            span(theme, format!("{mark} "), tone),
            span(theme, one_line(&row.label), Tone::Strong),
        ]));
        if let Some(text) = sentence(shown.panel, row) {
            flow.say(&app.wraps, &text, Tone::Text);
        }
        let most = most_replies(row);
        if most > 0.0 && most < FEW {
            let replies = crate::domain::text::count(most as usize, "reply");
            let text = format!("At most {replies} a point: too few to say anything.");
            flow.say(&app.wraps, &text, Tone::Warning);
        }
        table(app, shown, row, &mut flow);
        flow.gap();
    }
    paper_words(app, shown, &mut flow);
    flow.gap();
    for remark in &shown.figures.report.remarks {
        flow.say(&app.wraps, &one_line(remark), Tone::Faint);
    }
    flow
}

/// Highest and lowest rate.
fn sentence(panel: &Panel, row: &Row) -> Option<String> {
    let points: Vec<(f64, &str)> = row
        .cells
        .iter()
        .zip(&panel.columns)
        .filter_map(|(cell, column)| Some((cell.as_ref()?.value?, column.label.as_str())))
        .collect();
    let by_rate = |a: &&(f64, &str), b: &&(f64, &str)| a.0.total_cmp(&b.0);
    let (low, at_low) = points.iter().min_by(by_rate)?;
    let (high, at_high) = points.iter().max_by(by_rate)?;
    Some(match points.len() {
        1 => format!("{} at {at_low}.", percent(*low)),
        _ if low == high => format!("{} everywhere.", percent(*low)),
        _ => format!(
            "Highest {} at {at_high}, lowest {} at {at_low}.",
            percent(*high),
            percent(*low)
        ),
    })
}

fn percent(rate: f64) -> String {
    format!("{:.1} %", rate * 100.0)
}

fn table(app: &App, shown: &Shown<'_>, row: &Row, flow: &mut Flow) {
    let theme = &app.theme;
    let paper = match &shown.paper {
        Some((_, Ok(values))) => Some(values),
        _ => None,
    };
    let name = if joined(shown.panel) { "p" } else { "docs" };
    let label_width = shown
        .panel
        .columns
        .iter()
        .map(|column| column.label.trim_start_matches("p=").chars().count())
        .chain([name.len()])
        .max()
        .unwrap_or(4);
    let missing = row
        .cells
        .iter()
        .flatten()
        .any(|cell| cell.unavailable.unwrap_or(0) > 0);
    let mut heading = format!("{name:>label_width$}{:>6} {:^11}{:>5}", "rate", "95 %", "n");
    if missing {
        heading += " gone";
    }
    if paper.is_some() {
        heading += " paper  diff";
    }
    flow.line(Line::from(span(theme, heading, Tone::Faint)));
    for (at, (column, cell)) in shown.panel.columns.iter().zip(&row.cells).enumerate() {
        let Some(cell) = cell else { continue };
        let label = column.label.trim_start_matches("p=");
        let mut text = format!("{label:>label_width$}{}", numbers(cell));
        if missing {
            text += &format!("{:>5}", cell.unavailable.unwrap_or(0));
        }
        if let Some(published) = paper.and_then(|values| *values.get(at)?) {
            let difference = cell.value.map(|value| value - published);
            text += &format!(
                "{:>6.1}{:>6}",
                published * 100.0,
                difference.map_or("-".to_owned(), points)
            );
        }
        flow.line(Line::from(span(theme, text, Tone::Text)));
    }
}

fn numbers(cell: &Cell) -> String {
    let rate = cell
        .value
        .map_or("-".to_owned(), |value| format!("{:.1}", value * 100.0));
    let ends = match cell.low.zip(cell.high) {
        Some((low, high)) => format!("{:.1}–{:.1}", low * 100.0, high * 100.0),
        None => "-".to_owned(),
    };
    let n = cell.n.map_or("-".to_owned(), |n| format!("{n:.0}"));
    format!("{rate:>6} {ends:^11}{n:>5}")
}

/// A difference in points with its sign; zero has none.
fn points(difference: f64) -> String {
    match format!("{:+.1}", difference * 100.0).as_str() {
        "+0.0" | "-0.0" => "0.0".to_owned(),
        text => text.to_owned(),
    }
}

/// Whose dashed line that is, or why there is none.
fn paper_words(app: &App, shown: &Shown<'_>, flow: &mut Flow) {
    let next = app.keymap.key(Command::NextPaper);
    let talk = app.screen == Screen::Talk;
    let (mark, tone) = paper_look(app);
    match &shown.paper {
        Some((model, Ok(_))) => {
            flow.line(Line::from(vec![
                span(&app.theme, format!("{mark} "), tone),
                span(
                    &app.theme,
                    format!("{} in the paper (dashed)", one_line(model)),
                    Tone::Strong,
                ),
            ]));
            if !talk {
                let text = format!("{next}: another of its models");
                flow.say(&app.wraps, &text, Tone::Faint);
            }
        }
        Some((model, Err(why))) => {
            let text = format!(
                "The paper's {} is not drawn: {}.",
                one_line(model),
                one_line(why)
            );
            flow.say(&app.wraps, &text, Tone::Warning);
        }
        None if talk => {}
        None => {
            let text = format!("{next} draws a model of the paper beside it.");
            flow.say(&app.wraps, &text, Tone::Faint);
        }
    }
    // Its keys do nothing in a talk.
    if talk {
        return;
    }
    let curves = shown.curves;
    let subjects = shown.figures.subjects().len();
    let measures = shown.figures.panels_of(shown.panel).len();
    let key = |command| app.keymap.key(command);
    let text = format!(
        "{}: next metric ({measures} here); {}: next test; {}: next number of documents (view {} of {subjects})",
        key(Command::NextMeasure),
        key(Command::NextScenario),
        key(Command::NextCurveDocs),
        curves.subject + 1
    );
    flow.say(&app.wraps, &text, Tone::Faint);
}
