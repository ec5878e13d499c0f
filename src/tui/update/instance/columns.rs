//! Moving inside the panels of the instance screen: rows, documents, edited words, cited documents.

use crate::domain::passage::Role;
use crate::tui::app::App;
use crate::tui::app::instance::Panel;
use crate::tui::command::Command;
use crate::tui::update::{distance, scrolled};
use crate::tui::view;
use crate::tui::view::instance::{DOCUMENT_PANELS, Sight};

/// Scrolls the focused panel.
pub(super) fn scroll(app: &mut App, command: Command) {
    let Some(panel) = app.instance.as_ref().map(|state| state.focus) else {
        return;
    };
    let Some(sight) = view::instance::sight(app, panel) else {
        return;
    };
    if let Some(by) = distance(command, sight.height) {
        let next = scrolled(sight.at, by, sight.rows, sight.height);
        set_scroll(app, panel, next, &sight);
    }
}

/// Brings a row of a panel to its top; locked columns follow.
pub(super) fn set_scroll(app: &mut App, panel: Panel, next: usize, sight: &Sight) {
    let Some(state) = &mut app.instance else {
        return;
    };
    state.scroll[panel.index()] = next;
    match panel {
        Panel::Reply => state.follow = next + sight.height >= sight.rows,
        Panel::Adversarial => state.moved = true,
        _ => {}
    }
    if panel.role().is_some() {
        follow(app, panel, next);
    }
}

/// Where columns are locked, those beside `leader` stand at its row, or at their end.
fn follow(app: &mut App, leader: Panel, row: usize) {
    if !app.instance.as_ref().is_some_and(|state| state.locked) {
        return;
    }
    for panel in DOCUMENT_PANELS.into_iter().filter(|at| *at != leader) {
        // A column that is not on screen is bounded when it is drawn.
        let most = view::instance::sight(app, panel).map_or(row, |sight| sight.most());
        if let Some(state) = &mut app.instance {
            state.scroll[panel.index()] = row.min(most);
        }
    }
    if let Some(state) = &mut app.instance {
        state.moved = true;
    }
}

/// Locks the columns of documents to one another, or lets them go.
pub(super) fn toggle_lock(app: &mut App) {
    let Some(state) = &mut app.instance else {
        return;
    };
    state.locked = !state.locked;
    if !state.locked {
        return app.say("every column of documents scrolls alone");
    }
    let leader = state.focus;
    if leader.role().is_some()
        && let Some(sight) = view::instance::sight(app, leader)
    {
        set_scroll(app, leader, sight.at, &sight);
    }
    app.say("locked: the columns of documents scroll together");
}

/// Scrolls the adversarial documents to the next edited words, after the last to the first ones.
pub(super) fn next_change(app: &mut App) {
    let Some(state) = &mut app.instance else {
        return;
    };
    if state.count(Role::Adversarial) == 0 {
        app.say("no document is edited here; robustness below 100 % has edited ones");
        return;
    }
    state.focus = Panel::Adversarial;
    let Some(sight) = view::instance::sight(app, Panel::Adversarial) else {
        return;
    };
    let places = || sight.changes.iter().map(|&row| sight.around(row));
    let Some(first) = places().next() else {
        app.say("no word differs in this view of the edited documents");
        return;
    };
    match places().find(|&place| place > sight.at) {
        Some(next) => set_scroll(app, Panel::Adversarial, next, &sight),
        None => {
            set_scroll(app, Panel::Adversarial, first, &sight);
            app.say(match first == sight.at {
                true => "all changes are in sight",
                false => "that was the last change; this is the first",
            });
        }
    }
}

/// Scrolls a document column to the next or previous document.
pub(super) fn jump(app: &mut App, forward: bool) {
    let Some(panel) = app.instance.as_ref().map(|state| state.focus) else {
        return;
    };
    let Some(sight) = view::instance::sight(app, panel) else {
        return;
    };
    let mut anchors = sight.anchors.iter().copied();
    let next = if forward {
        anchors.find(|&anchor| anchor > sight.at)
    } else {
        anchors.rev().find(|&anchor| anchor < sight.at)
    };
    if let Some(next) = next {
        set_scroll(app, panel, next.min(sight.most()), &sight);
    }
}

/// A document that the shown reply cites.
struct Cited {
    /// Its place in the context.
    index: usize,
    label: String,
    panel: Panel,
    /// Its place in its column.
    nth: usize,
    times: usize,
}

/// The documents that the shown reply cites, in the order of the context; `None` where there is no reply.
fn cited(app: &App) -> Option<Vec<Cited>> {
    let context = app.instance.as_ref()?.context()?;
    let reply = app.replies.shown(context)?;
    let documents = &context.documents;
    let cited = reply.cited.iter().zip(documents).enumerate();
    let cited = cited.filter(|(_, (times, _))| **times > 0);
    let cited = cited.filter_map(|(index, (times, document))| {
        let role = document.role;
        let panel = DOCUMENT_PANELS
            .into_iter()
            .find(|panel| panel.role() == Some(role))?;
        let before = documents.iter().take(index);
        Some(Cited {
            index,
            label: document.label.clone(),
            panel,
            nth: before.filter(|document| document.role == role).count(),
            times: *times,
        })
    });
    Some(cited.collect())
}

/// Goes to the next document that the shown reply cites, after the last to the first one.
pub(super) fn next_cited(app: &mut App) {
    let Some(cited) = cited(app) else {
        let ask = app.keymap.key(Command::Ask);
        return app.say(format!(
            "there is no reply yet that cites a document; {ask} asks the model"
        ));
    };
    let Some(state) = &mut app.instance else {
        return;
    };
    let after = |one: &Cited| state.cited.is_none_or(|last| one.index > last);
    let at = cited.iter().position(after).unwrap_or(0);
    let Some(next) = cited.get(at) else {
        return app.say("the reasoning of this reply names no document");
    };
    state.cited = Some(next.index);
    state.focus = next.panel;
    if let Some(sight) = view::instance::sight(app, next.panel)
        && let Some(row) = sight.anchors.get(next.nth)
    {
        set_scroll(app, next.panel, (*row).min(sight.most()), &sight);
    }
    app.say(format!(
        "{}: cited ×{}; {} of the {} that are cited",
        next.label,
        next.times,
        at + 1,
        cited.len()
    ));
}
