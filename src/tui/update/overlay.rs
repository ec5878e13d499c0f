//! Keys of what lies over the screen: help, palette, problems, prompt, why.

use crossterm::event::{KeyCode, KeyEvent};

use crate::tui::app::{App, Overlay};
use crate::tui::command::Command;
use crate::tui::effects::Effect;
use crate::tui::keymap::Chord;
use crate::tui::update::{distance, facet, pieces, queue, review, run, scrolled};
use crate::tui::view;

pub(super) fn on_key(app: &mut App, key: KeyEvent, chord: Chord) -> Vec<Effect> {
    match app.overlay {
        Some(Overlay::Palette { .. }) => return palette(app, key),
        Some(Overlay::Runs { .. }) => return queue::on_runs_key(app, key),
        Some(Overlay::Facets { .. }) => return facet::on_key(app, key),
        Some(Overlay::Reject { .. }) => return review::on_reject_key(app, key),
        _ => {}
    }
    let command = app.keymap.command(app.screen, chord);
    if let Some(Overlay::Pieces { .. }) = app.overlay {
        return pieces::on_key(app, key, command);
    }
    let (_, height) = view::overlay::extent(app);
    // The window says so where there is nothing to explain.
    if command == Some(Command::Ask)
        && matches!(app.overlay, Some(Overlay::Why { .. }))
        && view::why::has_no_reply(app)
    {
        app.overlay = None;
        return run(app, Command::Ask);
    }
    match (
        command,
        command.and_then(|command| distance(command, height)),
    ) {
        (_, Some(by)) => scroll(app, by),
        // The key that opened it, and those that leave a screen, close it.
        (
            Some(
                Command::Back
                | Command::Leave
                | Command::ClearFilter
                | Command::Help
                | Command::Problems
                | Command::ShowPrompt
                | Command::Why
                | Command::Open,
            ),
            _,
        ) => app.overlay = None,
        _ if matches!(key.code, KeyCode::Esc | KeyCode::Enter) => app.overlay = None,
        _ => {}
    }
    Vec::new()
}

/// Scrolls the overlay.
pub(super) fn scroll(app: &mut App, by: isize) {
    let (rows, height) = view::overlay::extent(app);
    if let Some(scroll) = app.overlay.as_mut().and_then(Overlay::scroll_mut) {
        *scroll = scrolled(*scroll, by, rows, height);
    }
}

fn palette(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    let found = view::palette::matches(app);
    let Some(Overlay::Palette { input, selected }) = &mut app.overlay else {
        return Vec::new();
    };
    match key.code {
        KeyCode::Esc => app.overlay = None,
        KeyCode::Up => *selected = selected.saturating_sub(1),
        KeyCode::Down => *selected = (*selected + 1).min(found.len().saturating_sub(1)),
        KeyCode::Enter => {
            let chosen = found.get(*selected).copied();
            app.overlay = None;
            if let Some(command) = chosen {
                return run(app, command);
            }
        }
        _ => {
            if input.key(key) {
                *selected = 0;
            }
        }
    }
    Vec::new()
}
