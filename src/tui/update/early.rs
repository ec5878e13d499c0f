//! Keys that come before what they act on is there: kept, and handled once it is.

use crossterm::event::{KeyCode, KeyEvent};

use crate::tui::app::annotate::RunList;
use crate::tui::app::{App, DatasetState, Overlay, Screen, compare, sweep};
use crate::tui::command::Command;
use crate::tui::effects::Effect;
use crate::tui::message::Message;
use crate::tui::update::{distance, handle};

/// Keys that are kept: more than anyone types meanwhile.
const EARLY: usize = 500;

/// What is being read and will be acted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// The dataset.
    Dataset,
    /// The runs of the window that chooses one.
    RunsToChoose,
    /// The runs of the list whose first row plans a sweep.
    RunsOfSweeps,
    /// The runs that can be compared.
    RunsToCompare,
    /// The replies of a queue.
    Queue,
}

fn reading(app: &App) -> Option<Reading> {
    if let Some(overlay) = &app.overlay {
        let loading = app.annotate.runs == RunList::Loading;
        let choosing = matches!(overlay, Overlay::Runs { .. });
        return (choosing && loading).then_some(Reading::RunsToChoose);
    }
    let runs = app.sweep.runs.is_loading();
    match app.screen {
        Screen::Browse if matches!(app.dataset, DatasetState::Loading) => Some(Reading::Dataset),
        Screen::Sweep if runs && app.sweep.page == sweep::Page::Runs => Some(Reading::RunsOfSweeps),
        Screen::Compare if runs && app.compare.page == compare::Page::Choose => {
            Some(Reading::RunsToCompare)
        }
        Screen::Queue if app.annotate.opening.is_some() => Some(Reading::Queue),
        _ => None,
    }
}

/// Keeps a key for what is being read; `false` where it acts at once. Who goes back takes what was typed with them.
pub(super) fn keep(app: &mut App, key: KeyEvent, command: Option<Command>) -> bool {
    let Some(reading) = reading(app) else {
        return false;
    };
    if leads_away(reading, key, command) {
        app.early.clear();
        return false;
    }
    let follows = !app.early.is_empty();
    let waits = match command {
        Some(Command::Quit | Command::Suspend | Command::Redraw) => false,
        // They need nothing of it, unless they follow keys that do.
        Some(
            Command::Help
            | Command::Palette
            | Command::Leave
            | Command::ToggleMouse
            | Command::Copy
            | Command::View,
        ) if reading != Reading::RunsToChoose => follows,
        // The first row of sweeps is there at once.
        _ if matches!(reading, Reading::RunsOfSweeps | Reading::RunsToCompare) => {
            let needs =
                |command| distance(command, 1).is_some() || command == Command::CompareChoose;
            follows || command.is_some_and(needs)
        }
        _ => true,
    };
    let keeps = waits && app.early.len() < EARLY;
    if keeps {
        app.early.push(Message::Key(key));
    }
    keeps
}

fn leads_away(reading: Reading, key: KeyEvent, command: Option<Command>) -> bool {
    match reading {
        Reading::Dataset => false,
        Reading::RunsToChoose => matches!(key.code, KeyCode::Esc | KeyCode::Char('q')),
        Reading::Queue => matches!(command, Some(Command::Back | Command::ChooseRun)),
        Reading::RunsOfSweeps | Reading::RunsToCompare => command == Some(Command::Back),
    }
}

/// Handles the keys that were kept, as far as what they act on is there now.
pub(super) fn take(app: &mut App) -> Vec<Effect> {
    if reading(app).is_some() {
        return Vec::new();
    }
    let early = std::mem::take(&mut app.early).into_iter();
    early.flat_map(|message| handle(app, message)).collect()
}
