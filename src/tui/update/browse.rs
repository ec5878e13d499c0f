//! Keys of the list of questions.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Position;

use crate::tui::app::input::Input;
use crate::tui::app::{App, Overlay};
use crate::tui::command::Command;
use crate::tui::effects::Effect;
use crate::tui::update::{choose, distance, instance, list_rows};
use crate::tui::view;

pub(super) fn run(app: &mut App, command: Command) -> Vec<Effect> {
    if let Some(by) = distance(command, list_rows(app)) {
        let rows = view::browse::visible_rows(app);
        let browse = &mut app.browse;
        choose(
            &mut browse.selected,
            &mut browse.top,
            by,
            browse.shown.len(),
            rows,
        );
        return Vec::new();
    }
    match command {
        Command::Open => match app.browse.current() {
            Some(index) => instance::open(app, index),
            None => Vec::new(),
        },
        Command::Filter => {
            app.browse.typing = app.data().is_some();
            Vec::new()
        }
        Command::ClearFilter => {
            app.browse.filter = Input::default();
            app.browse.refilter();
            keep_visible(app);
            Vec::new()
        }
        Command::Problems => {
            match app.data().map(|dataset| dataset.problems.len()) {
                Some(0) => app.say("everything in this dataset could be loaded"),
                Some(_) => app.overlay = Some(Overlay::Problems { scroll: 0 }),
                None => {}
            }
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// Keys while the filter is typed: arrows still move in the list.
pub(super) fn on_typing(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    match key.code {
        KeyCode::Enter => app.browse.typing = false,
        KeyCode::Esc => {
            app.browse.typing = false;
            return run(app, Command::ClearFilter);
        }
        KeyCode::Up => return run(app, Command::Up),
        KeyCode::Down => return run(app, Command::Down),
        KeyCode::PageUp => return run(app, Command::PageUp),
        KeyCode::PageDown => return run(app, Command::PageDown),
        _ => {
            let before = app.browse.filter.text().to_owned();
            app.browse.filter.key(key);
            if app.browse.filter.text() != before {
                app.browse.refilter();
                keep_visible(app);
            }
        }
    }
    Vec::new()
}

pub(super) fn keep_visible(app: &mut App) {
    let rows = view::browse::visible_rows(app);
    let browse = &mut app.browse;
    choose(
        &mut browse.selected,
        &mut browse.top,
        0,
        browse.shown.len(),
        rows,
    );
}

/// A click chooses a question; on the chosen one it opens it.
pub(super) fn click(app: &mut App, at: Position) -> Vec<Effect> {
    let area = view::browse::list_area(app);
    if !area.contains(at) {
        return Vec::new();
    }
    let row = app.browse.top + usize::from(at.y - area.y);
    if row >= app.browse.shown.len() {
        return Vec::new();
    }
    if row == app.browse.selected {
        return run(app, Command::Open);
    }
    app.browse.selected = row;
    Vec::new()
}
