//! Keys and jobs of the compare screen.

use crate::data::store::ReplyRecord;
use crate::domain::compare::Side;
use crate::tui::app::compare::{Compared, Contender, Page, contenders};
use crate::tui::app::loaded::Loaded;
use crate::tui::app::reply::ReplyState;
use crate::tui::app::{App, Screen, Ticket};
use crate::tui::command::Command;
use crate::tui::effects::Effect;
use crate::tui::update::{choose, distance, scrolled, sweep};
use crate::tui::view;

/// Opens the screen; from a chosen run it is side A.
pub(super) fn open(app: &mut App) -> Vec<Effect> {
    if app.screen == Screen::Compare {
        app.compare.page = Page::Choose;
        return sweep::load_runs(app);
    }
    let run = match app.screen {
        Screen::Sweep => app.sweep.run().cloned(),
        _ => None,
    };
    app.compare.from = Some(app.screen);
    app.screen = Screen::Compare;
    if let Some(first) = run.and_then(|run| contenders(&[run]).into_iter().next()) {
        app.compare.a = Some(first);
        app.compare.b = None;
        app.compare.page = Page::Choose;
    }
    sweep::load_runs(app)
}

pub(super) fn run(app: &mut App, command: Command) -> Vec<Effect> {
    match (app.compare.page, command) {
        (Page::Choose, Command::CompareChoose) => return take(app),
        (Page::Result, Command::CompareChoose) => return pair(app),
        (_, Command::Back) => back(app),
        (Page::Result, Command::NextList | Command::PreviousList) => {
            step_list(app, command == Command::NextList);
        }
        (Page::Result, Command::NextCondition) => step_condition(app),
        (Page::Pair | Page::Result, Command::FocusNext | Command::FocusPrevious) => {
            app.compare.focus = 1 - app.compare.focus.min(1);
        }
        (Page::Pair, Command::ToggleRaw) => {
            app.compare.raw = !app.compare.raw;
            app.compare.pair_scroll = [0; 2];
        }
        (Page::Choose, _) => move_in_runs(app, command),
        (Page::Result, _) => move_in_list(app, command),
        (Page::Pair, _) => scroll_reply(app, command),
    }
    Vec::new()
}

fn back(app: &mut App) {
    match app.compare.page {
        Page::Pair => {
            app.compare.focus = 0;
            app.compare.page = Page::Result;
        }
        Page::Result => app.compare.page = Page::Choose,
        Page::Choose => app.screen = app.compare.from.unwrap_or(Screen::Browse),
    }
}

fn all(app: &App) -> Vec<Contender> {
    app.sweep
        .runs
        .ready()
        .map_or_else(Vec::new, |runs| contenders(runs))
}

/// Takes the chosen row as A, then as B; with both the comparison begins.
fn take(app: &mut App) -> Vec<Effect> {
    let Some(chosen) = all(app).get(app.compare.selected).cloned() else {
        return Vec::new();
    };
    let compare = &mut app.compare;
    match (&compare.a, &compare.b) {
        (Some(a), None) if *a == chosen => {
            compare.a = None;
            return Vec::new();
        }
        (Some(_), None) => compare.b = Some(chosen),
        _ => {
            compare.a = Some(chosen);
            compare.b = None;
            return Vec::new();
        }
    }
    match (app.compare.a.clone(), app.compare.b.clone()) {
        (Some(a), Some(b)) => between(app, a, b),
        _ => Vec::new(),
    }
}

/// Compares two sides.
pub(super) fn between(app: &mut App, a: Contender, b: Contender) -> Vec<Effect> {
    let ticket = app.ticket();
    let compare = &mut app.compare;
    (compare.a, compare.b) = (Some(a.clone()), Some(b.clone()));
    compare.result = Loaded::asked(ticket, app.now);
    compare.side = None;
    compare.condition = None;
    compare.scroll = 0;
    compare.shown.clear();
    compare.focus = 0;
    compare.page = Page::Result;
    vec![Effect::Compare { ticket, a, b }]
}

pub(super) fn on_compared(app: &mut App, ticket: Ticket, result: Result<Box<Compared>, String>) {
    if app.compare.result.take(ticket, result) {
        // The flips are what two runs differ in.
        let counts = app.compare.result.ready().map(|compared| compared.counts());
        let flips = |side: Side| {
            counts
                .as_ref()
                .and_then(|counts| counts.get(&side))
                .copied()
        };
        app.compare.side = [Side::OnlyA, Side::OnlyB]
            .into_iter()
            .find(|&side| flips(side).unwrap_or(0) > 0);
        app.compare.refilter();
    }
}

fn step_list(app: &mut App, forward: bool) {
    let order: Vec<Option<Side>> = Side::ALL.into_iter().map(Some).chain([None]).collect();
    let count = order.len();
    let here = order.iter().position(|&side| side == app.compare.side);
    let at = here.unwrap_or(0);
    let next = match forward {
        true => (at + 1) % count,
        false => (at + count - 1) % count,
    };
    app.compare.side = order[next];
    app.compare.refilter();
}

fn step_condition(app: &mut App) {
    let count = app
        .compare
        .result
        .ready()
        .map_or(0, |compared| compared.comparison.conditions.len());
    app.compare.condition = match app.compare.condition {
        None => (count > 0).then_some(0),
        Some(at) => Some(at + 1).filter(|&next| next < count),
    };
    app.compare.scroll = 0;
    app.compare.refilter();
}

fn move_in_runs(app: &mut App, command: Command) {
    let visible = view::compare::visible_runs(app);
    if let Some(by) = distance(command, visible) {
        let length = all(app).len();
        let compare = &mut app.compare;
        choose(&mut compare.selected, &mut compare.top, by, length, visible);
    }
}

fn move_in_list(app: &mut App, command: Command) {
    if app.compare.focus == 1 {
        let (rows, height) = view::compare::figures_extent(app);
        if let Some(by) = distance(command, height) {
            app.compare.scroll = scrolled(app.compare.scroll, by, rows, height);
        }
        return;
    }
    let visible = view::compare::visible_pairs(app);
    if let Some(by) = distance(command, visible) {
        let compare = &mut app.compare;
        let length = compare.shown.len();
        choose(&mut compare.row, &mut compare.row_top, by, length, visible);
    }
}

fn scroll_reply(app: &mut App, command: Command) {
    let side = app.compare.focus.min(1);
    let (rows, height) = view::compare::reply_extent(app, side);
    if let Some(by) = distance(command, height) {
        let at = &mut app.compare.pair_scroll[side];
        *at = scrolled(*at, by, rows, height);
    }
}

/// Opens both replies of the chosen pair.
fn pair(app: &mut App) -> Vec<Effect> {
    let Some(records) = app.compare.chosen().map(|pair| pair.records) else {
        return Vec::new();
    };
    let ticket = app.ticket();
    app.compare.pair = Loaded::asked(ticket, app.now);
    app.compare.pair_scroll = [0; 2];
    app.compare.focus = 0;
    app.compare.page = Page::Pair;
    vec![Effect::LoadPair { ticket, records }]
}

pub(super) fn on_pair(
    app: &mut App,
    ticket: Ticket,
    result: Result<Box<(ReplyRecord, ReplyRecord)>, String>,
) {
    let result = result.map(|records| {
        let (a, b) = *records;
        Box::new((ReplyState::stored(&a), ReplyState::stored(&b)))
    });
    app.compare.pair.take(ticket, result);
}

pub(super) fn keep_visible(app: &mut App) {
    let visible = view::compare::visible_runs(app);
    let length = all(app).len();
    let compare = &mut app.compare;
    choose(&mut compare.selected, &mut compare.top, 0, length, visible);
    let visible = view::compare::visible_pairs(app);
    let compare = &mut app.compare;
    let length = compare.shown.len();
    choose(&mut compare.row, &mut compare.row_top, 0, length, visible);
}
