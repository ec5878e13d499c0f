//! Keys of the list of questions.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Position;

use crate::tui::app::annotate::RunUse;
use crate::tui::app::browse::{CasesState, StoredCases};
use crate::tui::app::input::Input;
use crate::tui::app::{App, Overlay, Ticket};
use crate::tui::command::Command;
use crate::tui::effects::Effect;
use crate::tui::update::{choose, distance, facet, instance, list_rows, queue};
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
            app.browse.facets.clear();
            app.browse.refilter();
            keep_visible(app);
            Vec::new()
        }
        Command::Annotate => queue::enter(app),
        Command::Facets => facet::open(app),
        Command::ChooseRun => queue::choose_run(app, RunUse::Outcomes),
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

/// Reads what is stored about the questions, unless that is known or on its way.
pub(super) fn load_cases(app: &mut App) -> Vec<Effect> {
    let Some(fingerprint) = app.data().map(|dataset| dataset.fingerprint.clone()) else {
        return Vec::new();
    };
    let known = match app.browse.cases_state {
        CasesState::Loading(_) => true,
        CasesState::Ready => !app.browse.cases_stale,
        CasesState::None | CasesState::Failed(_) => false,
    };
    if known {
        return Vec::new();
    }
    let ticket = app.ticket();
    app.browse.cases_state = CasesState::Loading(ticket);
    app.browse.cases_stale = false;
    vec![Effect::LoadCases {
        ticket,
        fingerprint,
        run: app.browse.run.clone(),
        annotator: app.annotate.annotator.clone(),
    }]
}

pub(super) fn on_cases(app: &mut App, ticket: Ticket, result: Result<StoredCases, String>) {
    if app.browse.cases_state != CasesState::Loading(ticket) {
        return;
    }
    let Some(dataset) = app.data().cloned() else {
        return;
    };
    match result {
        Ok(stored) => {
            app.browse.put_cases(&dataset, &stored);
            app.browse.cases_state = CasesState::Ready;
            if let Some(index) = app.browse.wanted.take() {
                app.browse.choose(index);
            }
            keep_visible(app);
        }
        Err(problem) => {
            app.complain(format!("Stored replies can't be read: {problem}"));
            app.browse.cases_state = CasesState::Failed(problem);
        }
    }
    facet::recount(app);
}

/// Shows the outcomes of a run, or the newest of all runs.
pub(super) fn show_run(app: &mut App, run: Option<String>) -> Vec<Effect> {
    let Some(dataset) = app.data().cloned() else {
        return Vec::new();
    };
    let all = run.is_none();
    app.browse.run = run;
    app.browse.outcomes.clear();
    app.browse.cases_state = CasesState::None;
    let mut effects = load_cases(app);
    if all {
        effects.push(Effect::LoadOutcomes { dataset });
    }
    effects
}

/// Back on the list: what has changed meanwhile is read again where the list depends on it.
pub(super) fn settle(app: &mut App) -> Vec<Effect> {
    keep_visible(app);
    let depends = !app.browse.facets.is_empty() || app.browse.run.is_some();
    match depends && app.browse.cases_stale {
        true => load_cases(app),
        false => Vec::new(),
    }
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
