//! Making a benchmark: the form with what it would ask, and what has come of the stages.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::text::count;
use crate::tui::app::App;
use crate::tui::app::build::{Field, Page, Phase, Running};
use crate::tui::app::loaded::Loaded;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{bar, span};
use crate::tui::widgets::line::one_line;

mod form;
mod results;

use form::draw_plan;
pub use form::plan_extent;
use results::draw_results;
pub use results::visible_rows;

fn body(app: &App) -> Rect {
    let (width, height) = app.size;
    Rect::new(0, 1, width, height.saturating_sub(2))
}

pub(super) fn draw(app: &App, _: Rect, buffer: &mut Buffer) {
    let (width, height) = app.size;
    title(app, Rect::new(0, 0, width, 1.min(height)), buffer);
    match app.build.page {
        Page::Plan => draw_plan(app, buffer),
        Page::Results => draw_results(app, buffer),
    }
}

fn title(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let build = &app.build;
    let mut left = vec![span(theme, " Build  ", Tone::Title)];
    let out = one_line(build.form.text(Field::Out).text());
    left.push(span(theme, out, Tone::Strong));
    let held = match &build.held {
        Loaded::Ready(held) if held.begun => {
            format!("  begun, {}", count(held.questions.len(), "question"))
        }
        Loaded::Ready(_) => "  a new folder".to_owned(),
        Loaded::Failed(_) => "  can't be used".to_owned(),
        _ => String::new(),
    };
    left.push(span(theme, held, Tone::Text));
    let mut right = Vec::new();
    if let Some(running) = &build.running {
        let (word, tone) = phase_words(running);
        right.push(span(theme, format!("{word} "), tone));
    }
    bar(app, area, buffer, left, right);
}

fn phase_words(running: &Running) -> (&'static str, Tone) {
    match &running.phase {
        Phase::Opening => ("opening", Tone::Warning),
        Phase::Running => ("running", Tone::Good),
        Phase::Stopping => ("stopping", Tone::Warning),
        Phase::Ended(Ok(end)) if end.by_user => ("stopped", Tone::Warning),
        Phase::Ended(Ok(end)) if end.trouble.is_some() => ("! trouble", Tone::Bad),
        Phase::Ended(Ok(_)) => ("✓ done", Tone::Good),
        Phase::Ended(Err(_)) => ("! failed", Tone::Bad),
    }
}
