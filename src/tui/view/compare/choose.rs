//! The choice of two sides: runs, or models of one run.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::app::App;
use crate::tui::app::compare::contenders;
use crate::tui::app::loaded::Loaded;
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{frame, inside, put, span};
use crate::tui::view::sweep::{body, select};
use crate::tui::widgets::flow::{Flow, scroll_bar};
use crate::tui::widgets::line::{fit, one_line};

/// Where the rows of the choice are: below two rows that say what to do and name the columns.
fn choice_rows(app: &App) -> Rect {
    let inner = inside(body(app));
    Rect {
        y: inner.y + 2,
        height: inner.height.saturating_sub(2),
        ..inner
    }
}

/// Rows that the list of contenders shows.
pub fn visible_runs(app: &App) -> usize {
    usize::from(choice_rows(app).height)
}

pub(super) fn choose(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let all = app
        .sweep
        .runs
        .ready()
        .map_or_else(Vec::new, |runs| contenders(runs));
    let left = vec![span(
        theme,
        "Choose two runs, or two models of one run",
        Tone::Title,
    )];
    frame(app, area, buffer, true, left, Vec::new());
    let inner = inside(area);
    let key = app.keymap.key(Command::CompareChoose);
    let next = match (&app.compare.a, &app.compare.b) {
        (Some(_), None) => format!("{key} takes the row as B and compares"),
        _ => format!("{key} takes the row as A"),
    };
    let line = Line::from(span(theme, next, Tone::Warning));
    put(buffer, inner.x, inner.y, &line, inner.width);
    let name = (usize::from(inner.width).saturating_sub(4) / 2).min(40);
    let heading = format!("   {}  model", fit("run", name));
    let line = Line::from(span(theme, heading, Tone::Faint));
    put(buffer, inner.x, inner.y + 1, &line, inner.width);
    let rows = choice_rows(app);
    if all.is_empty() {
        return nothing_to_choose(app, rows, buffer);
    }
    let shown = all.iter().enumerate().skip(app.compare.top);
    for (y, (at, side)) in (rows.top()..rows.bottom()).zip(shown) {
        let mark = match (&app.compare.a, &app.compare.b) {
            (Some(a), _) if a == side => "A  ",
            (_, Some(b)) if b == side => "B  ",
            _ => "   ",
        };
        let line = Line::from(vec![
            span(theme, mark, Tone::Key),
            span(theme, fit(&one_line(&side.run), name), Tone::Strong),
            Span::raw("  "),
            span(theme, one_line(&side.model), Tone::Text),
        ]);
        put(buffer, rows.x, y, &line, rows.width);
        if at == app.compare.selected {
            select(app, rows, y, buffer);
        }
    }
    let border = Rect {
        y: rows.y,
        height: rows.height,
        ..area
    };
    let style = theme.style(Tone::BorderFocused);
    scroll_bar(border, buffer, app.compare.top, all.len(), style);
}

fn nothing_to_choose(app: &App, rows: Rect, buffer: &mut Buffer) {
    let sweep = app.keymap.key(Command::Sweep);
    let (text, tone) = match &app.sweep.runs {
        Loaded::Failed(why) => (
            format!(
                "The runs can't be read: {}. {} tries again.",
                one_line(why).trim_end_matches('.'),
                app.keymap.key(Command::Compare)
            ),
            Tone::Bad,
        ),
        Loaded::Ready(_) => (
            format!("No run is stored yet. {sweep} plans a sweep, which makes one."),
            Tone::Faint,
        ),
        _ => ("reading the runs …".to_owned(), Tone::Faint),
    };
    let mut flow = Flow::new(rows.width);
    flow.say(&app.wraps, &text, tone);
    flow.draw(rows, buffer, 0, &app.theme);
}
