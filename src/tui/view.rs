//! What is drawn: functions of the state.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::tui::app::{App, Screen};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::widgets::line::fitting;

pub mod annotate;
mod audit;
pub mod browse;
pub mod build;
mod choice;
mod chrome;
pub mod compare;
mod curves;
mod documents;
pub mod find;
mod footer;
pub mod instance;
pub mod overlay;
pub mod palette;
mod plan;
pub mod probe;
mod progress;
pub mod queue;
mod reply;
pub mod retrieval;
pub mod review;
mod scores;
pub mod sweep;
mod talk;
pub mod why;

/// The smallest terminal that is of use.
pub const LEAST: (u16, u16) = (40, 12);

/// Whether the terminal is too small to show anything.
pub fn is_too_small(app: &App) -> bool {
    app.size.0 < LEAST.0 || app.size.1 < LEAST.1
}

/// Draws the whole screen.
pub fn draw(app: &App, buffer: &mut Buffer) {
    let area = screen_area(app).intersection(buffer.area);
    if area.is_empty() {
        return;
    }
    buffer.set_style(area, app.theme.style(Tone::Text));
    if is_too_small(app) || area.width < LEAST.0 || area.height < LEAST.1 {
        return too_small(app, area, buffer);
    }
    match app.screen {
        Screen::Browse => browse::draw(app, area, buffer),
        Screen::Instance => instance::draw(app, area, buffer),
        Screen::Retrieval => retrieval::draw(app, area, buffer),
        Screen::Sweep => sweep::draw(app, area, buffer),
        Screen::Compare => compare::draw(app, area, buffer),
        Screen::Probe => probe::draw(app, area, buffer),
        Screen::Queue => queue::draw(app, area, buffer),
        Screen::Annotate => annotate::draw(app, area, buffer),
        Screen::Find => find::draw(app, area, buffer),
        Screen::Review => review::draw(app, area, buffer),
        Screen::ReviewItem => review::draw_item(app, area, buffer),
        Screen::Build => build::draw(app, area, buffer),
        Screen::Talk => talk::draw(app, area, buffer),
    }
    if app.overlay.is_some() {
        overlay::draw(app, area, buffer);
    }
    // A talk has its caption there, as long as nothing else must be said.
    if app.screen != Screen::Talk || app.overlay.is_some() || app.notice.is_some() {
        footer::draw(app, area, buffer);
    }
}

fn screen_area(app: &App) -> Rect {
    Rect::new(0, 0, app.size.0, app.size.1)
}

fn too_small(app: &App, area: Rect, buffer: &mut Buffer) {
    let width = usize::from(area.width);
    let is = format!("{}×{} is too small", area.width, area.height);
    let needed = format!("{}×{}", LEAST.0, LEAST.1);
    let is = fitting([is, "too small".into(), "small".into(), "!".into()], width);
    let needed = fitting([format!("need {needed}"), needed, "!".into()], width);
    let key = app.keymap.key(Command::Leave);
    let leave = match app.leaving {
        true => format!("{key} again quits"),
        false => format!("{key} quits"),
    };
    let leave = fitting([leave, key], width);
    // With a single row, the size that is needed says more.
    let texts = match area.height {
        1 => vec![needed],
        2 => vec![is, needed],
        _ => vec![is, needed, leave],
    };
    for (y, text) in (area.top()..area.bottom()).zip(texts) {
        let line = Line::styled(text, app.theme.style(Tone::Warning));
        chrome::put(buffer, area.left(), y, &line, area.width);
    }
}
