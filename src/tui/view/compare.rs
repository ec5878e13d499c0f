//! The compare screen: the choice of two sides, figures and lists, both replies of a pair.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::domain::compare::{Answered, Cell, McNemar, Side, Unit};
use crate::domain::report::Measure;
use crate::domain::text::count;
use crate::tui::app::App;
use crate::tui::app::compare::{Compared, Contender, Page, words};
use crate::tui::app::loaded::Loaded;
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{bar, frame, inside, panel, put, span};
use crate::tui::view::documents;
use crate::tui::view::instance::first_fitting;
use crate::tui::view::sweep::{WIDE, body, select, waiting};
use crate::tui::widgets::flow::{Flow, scroll_bar};
use crate::tui::widgets::line::{cut, cut_spans, fit, one_line};

mod choose;
mod pair;
mod table;

pub use choose::visible_runs;
pub use pair::reply_extent;

use choose::choose;
use pair::pair;
use table::Table;

pub(super) fn draw(app: &App, _: Rect, buffer: &mut Buffer) {
    title(app, buffer);
    let body = body(app);
    match app.compare.page {
        Page::Choose => choose(app, body, buffer),
        Page::Result => result(app, body, buffer),
        Page::Pair => pair(app, body, buffer),
    }
}

fn title(app: &App, buffer: &mut Buffer) {
    let theme = &app.theme;
    let compare = &app.compare;
    let name = |side: &Option<Contender>| match side {
        Some(side) => cut(&one_line(&format!("{} · {}", side.run, side.model)), 40),
        None => "?".to_owned(),
    };
    let left = vec![
        span(theme, " MedRGB  ", Tone::Title),
        span(theme, "Compare  ", Tone::Strong),
        span(theme, "A ", Tone::Key),
        span(theme, name(&compare.a), Tone::Text),
        span(theme, "  B ", Tone::Key),
        span(theme, name(&compare.b), Tone::Text),
    ];
    bar(
        app,
        Rect::new(0, 0, app.size.0, 1),
        buffer,
        left,
        Vec::new(),
    );
}

/// Figures and list: side by side where there is room, else one below the other.
fn halves(area: Rect) -> (Rect, Rect) {
    if area.width >= WIDE {
        let width = area.width / 2;
        let list = Rect {
            x: area.x + width,
            width: area.width - width,
            ..area
        };
        return (Rect { width, ..area }, list);
    }
    let height = (area.height / 2).min(11);
    let list = Rect {
        y: area.y + height,
        height: area.height - height,
        ..area
    };
    (Rect { height, ..area }, list)
}

fn list_rows(app: &App) -> Rect {
    let inner = inside(halves(body(app)).1);
    Rect {
        y: inner.y + 1,
        height: inner.height.saturating_sub(1),
        ..inner
    }
}

/// Rows that the list of pairs shows.
pub fn visible_pairs(app: &App) -> usize {
    usize::from(list_rows(app).height)
}

/// Rows of the figures, and rows seen at once.
pub fn figures_extent(app: &App) -> (usize, usize) {
    let inner = inside(halves(body(app)).0);
    let rows = app
        .compare
        .result
        .ready()
        .map_or(0, |compared| figures(app, compared, inner.width).rows());
    (rows, usize::from(inner.height))
}

fn result(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let compared = match &app.compare.result {
        Loaded::Ready(compared) => compared,
        other => {
            let mut flow = Flow::new(inside(area).width);
            let back = app.keymap.key(Command::Back);
            match other {
                Loaded::Loading { since, .. } => {
                    let what = "reading both and working out differences and intervals";
                    flow.say(&app.wraps, &waiting(app, what, *since), Tone::Text);
                }
                Loaded::Failed(why) => {
                    flow.say(&app.wraps, &one_line(why), Tone::Bad);
                    let text = format!("{back} goes back to choose others.");
                    flow.say(&app.wraps, &text, Tone::Faint);
                }
                _ => flow.say(&app.wraps, "Nothing is compared yet.", Tone::Faint),
            }
            let left = vec![span(theme, "Comparison", Tone::Title)];
            return panel(app, area, buffer, true, left, Vec::new(), &flow, 0);
        }
    };
    let (above, below) = halves(area);
    let focused = app.compare.focus == 1;
    let flow = figures(app, compared, inside(above).width);
    let left = vec![
        span(theme, "Figures  ", Tone::Title),
        span(theme, condition_title(app, compared), Tone::Strong),
    ];
    let scroll = app.compare.scroll;
    panel(app, above, buffer, focused, left, Vec::new(), &flow, scroll);
    list(app, compared, below, buffer);
}

fn condition_title(app: &App, compared: &Compared) -> String {
    let chosen = app.compare.condition;
    match chosen.and_then(|at| compared.comparison.conditions.get(at)) {
        Some(one) => cell_words(&one.cell),
        None => match compared.comparison.conditions.as_slice() {
            [only] => cell_words(&only.cell),
            all => format!("all {}", count(all.len(), "condition")),
        },
    }
}

fn cell_words(cell: &Cell) -> String {
    use crate::domain::context::{Mode, Scenario, SourceFilter};
    let mut text = format!("{} n={}", cell.scenario.name(), cell.docs);
    if cell.scenario != Scenario::Standard {
        text += &format!(" p={}", cell.p);
    }
    if cell.source != SourceFilter::Any {
        text += &format!(" {}", cell.source.name());
    }
    if cell.mode != Mode::Nested {
        text += &format!(" {}", cell.mode.name());
    }
    text
}

fn figures(app: &App, compared: &Compared, width: u16) -> Flow {
    let mut flow = Flow::new(width);
    let comparison = &compared.comparison;
    let one = app
        .compare
        .condition
        .and_then(|at| comparison.conditions.get(at));
    let (metrics, pairs, questions) = match one {
        Some(one) => (&one.metrics, one.pairs, one.questions),
        None => (&comparison.pooled, comparison.pairs, comparison.questions),
    };
    let text = format!("{}, {}", count(pairs, "pair"), count(questions, "question"));
    flow.say(&app.wraps, &text, Tone::Text);
    for caution in &compared.cautions {
        let text = format!("caution: {}", one_line(caution));
        flow.say(&app.wraps, &text, Tone::Warning);
    }
    let table = Table::of(metrics.values(), flow.width());
    table.head(app, &mut flow);
    for (metric, figures) in metrics {
        let lower = match metric.higher_is_better() {
            Some(false) => " (lower is better)",
            _ => "",
        };
        let title = format!("{}{lower}", Measure::Of(*metric).title());
        flow.say(&app.wraps, &title, Tone::Strong);
        table.row(app, figures, &mut flow);
        if let Some(mcnemar) = &figures.mcnemar {
            flow.say(&app.wraps, &format!("  {}", test(mcnemar)), Tone::Text);
        }
        if let Some(points) = figures.detectable_difference {
            let text = format!(
                "  these pairs could show a difference of {:.1} points",
                points * 100.0
            );
            flow.say(&app.wraps, &text, Tone::Faint);
        }
    }
    for note in &compared.notes {
        flow.say(
            &app.wraps,
            &format!("note: {}", one_line(note)),
            Tone::Warning,
        );
    }
    let text = "Rates in per cent, differences in points, with 95 % intervals; p: McNemar's exact test. As `medrgb compare` has them.";
    flow.say(&app.wraps, text, Tone::Faint);
    flow
}

fn test(test: &McNemar) -> String {
    let value = |p: f64| match p < 0.0001 {
        true => "<0.0001".to_owned(),
        false => format!("{p:.4}"),
    };
    let holm = test
        .p_holm
        .map_or_else(String::new, |holm| format!(", Holm {}", value(holm)));
    let counts = match test.unit {
        Unit::Pairs => format!("only A {}, only B {}", test.b, test.c),
        Unit::Questions => format!("A ahead {}, B ahead {}", test.b, test.c),
    };
    format!("McNemar p {}{holm} ({counts})", value(test.p))
}

fn list(app: &App, compared: &Compared, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let focused = app.compare.focus != 1;
    let (name, tone) = match app.compare.side {
        Some(side) => (side.describe(), side_tone(side)),
        None => ("all pairs", Tone::Strong),
    };
    let left = vec![
        span(theme, name, tone),
        span(
            theme,
            format!("  {}", app.compare.shown.len()),
            Tone::Strong,
        ),
    ];
    let key = app.keymap.key(Command::NextList);
    let right = vec![span(theme, format!("{key}: next list"), Tone::Faint)];
    frame(app, area, buffer, focused, left, right);
    let inner = inside(area);
    let spans = tallies(app, compared, usize::from(inner.width));
    put(buffer, inner.x, inner.y, &Line::from(spans), inner.width);
    let rows = list_rows(app);
    if app.compare.shown.is_empty() {
        let mut flow = Flow::new(rows.width);
        let text = format!("No pair of this kind. {key} goes to the next list.");
        flow.say(&app.wraps, &text, Tone::Faint);
        flow.draw(rows, buffer, 0, theme);
        return;
    }
    let shown = app
        .compare
        .shown
        .iter()
        .enumerate()
        .skip(app.compare.row_top);
    for (y, (row, &at)) in (rows.top()..rows.bottom()).zip(shown) {
        let Some(pair) = compared.pairs.get(at) else {
            continue;
        };
        put(
            buffer,
            rows.x,
            y,
            &pair_line(app, pair, rows.width, compared.comparison.conditions.len()),
            rows.width,
        );
        if row == app.compare.row {
            select(app, rows, y, buffer);
        }
    }
    let border = Rect {
        y: rows.y,
        height: rows.height,
        ..area
    };
    let style = theme.style(Tone::BorderFocused);
    scroll_bar(
        border,
        buffer,
        app.compare.row_top,
        app.compare.shown.len(),
        style,
    );
}

fn side_tone(side: Side) -> Tone {
    match side {
        Side::OnlyA | Side::OnlyB => Tone::Warning,
        Side::Neither => Tone::Bad,
        Side::Both => Tone::Good,
    }
}

/// How many pairs are in each list, in as many words as fit.
fn tallies(app: &App, compared: &Compared, width: usize) -> Vec<Span<'static>> {
    let brief = |side: Side| match side {
        Side::OnlyA => "A",
        Side::OnlyB => "B",
        Side::Neither => "none",
        Side::Both => "both",
    };
    let spans = |name: &dyn Fn(Side) -> &'static str, gap: &str| {
        let counts = compared.counts().into_iter();
        let spans = counts.map(|(side, number)| {
            let tone = match app.compare.side == Some(side) {
                true => Tone::Key,
                false => Tone::Faint,
            };
            span(&app.theme, format!("{} {number}{gap}", name(side)), tone)
        });
        spans.collect::<Vec<_>>()
    };
    let right = span(&app.theme, "right: ", Tone::Faint);
    let choices = [
        spans(&|side| side.describe(), "   "),
        spans(&|side| side.describe(), "  "),
        [vec![right], spans(&brief, "  ")].concat(),
        spans(&brief, " "),
    ];
    let line = first_fitting(choices, width);
    cut_spans(line, width)
}

/// Marks of both sides, question and condition.
fn pair_line(app: &App, pair: &Answered, width: u16, conditions: usize) -> Line<'static> {
    let theme = &app.theme;
    let (a, b) = match pair.side {
        Side::OnlyA => (true, false),
        Side::OnlyB => (false, true),
        Side::Neither => (false, false),
        Side::Both => (true, true),
    };
    let (mark_a, tone_a) = documents::right_mark(a);
    let (mark_b, tone_b) = documents::right_mark(b);
    let question = app.data().and_then(|data| {
        let at = data.position(&pair.question)?;
        Some(one_line(&data.questions.get(at)?.text))
    });
    // Where all pairs have the same condition, the figures' title has it.
    let condition = match app.compare.condition.is_some() || conditions < 2 {
        true => String::new(),
        false => format!("  {}", words(&pair.condition)),
    };
    let id = usize::from(width)
        .saturating_sub(10 + condition.width())
        .clamp(8, if width < 80 { 17 } else { 22 });
    let mut spans = vec![
        span(theme, format!("A{mark_a} "), tone_a),
        span(theme, format!("B{mark_b}  "), tone_b),
        span(theme, fit(&one_line(&pair.question), id), Tone::Strong),
        span(theme, condition, Tone::Text),
    ];
    if let Some(question) = question {
        spans.push(span(theme, format!("  {question}"), Tone::Faint));
    }
    Line::from(cut_spans(spans, usize::from(width)))
}
