//! Keys of the instance screen.

use ratatui::layout::Position;

use crate::domain::answer::Outcome;
use crate::domain::context::{Condition, MAX_DOCS, Mode, Scenario, SourceFilter};
use crate::domain::passage::Role;
use crate::tui::app::instance::{InstanceState, Panel};
use crate::tui::app::{App, Overlay, Screen};
use crate::tui::command::Command;
use crate::tui::effects::Effect;
use crate::tui::update::{browse, probe, queue, reply, talk};
use crate::tui::view;

mod columns;
pub(super) mod seek;

use columns::{jump, next_change, scroll};

/// Opens a question; the condition and how things are shown stay as they were.
pub(super) fn open(app: &mut App, index: usize) -> Vec<Effect> {
    let condition = app
        .instance
        .as_ref()
        .map_or_else(Condition::default, |state| state.condition);
    open_under(app, index, condition)
}

/// Opens a question under a condition; how things are shown stays as it was.
pub(super) fn open_under(app: &mut App, index: usize, condition: Condition) -> Vec<Effect> {
    let Some(dataset) = app.data().cloned() else {
        return Vec::new();
    };
    let marks = app.theme.mono;
    let Some(mut state) =
        InstanceState::open(&dataset, &app.settings.templates, index, condition, marks)
    else {
        return Vec::new();
    };
    if let Some(old) = &app.instance {
        state.gold = old.gold;
        state.raw = old.raw;
        state.diff = old.diff;
        (state.locked, state.moved) = (old.locked, old.locked);
        state.zoom = old.zoom && app.screen == Screen::Instance;
        if app.screen == Screen::Instance && old.focus.role().is_none() {
            state.focus = old.focus;
        }
    }
    let question_id = state.question.id.clone();
    app.instance = Some(state);
    app.screen = Screen::Instance;
    vec![Effect::LoadStored {
        dataset,
        question_id,
    }]
}

pub(super) fn run(app: &mut App, command: Command) -> Vec<Effect> {
    let Some(state) = &mut app.instance else {
        app.screen = Screen::Browse;
        return Vec::new();
    };
    match command {
        Command::FocusNext => step_focus(app, true),
        Command::FocusPrevious => step_focus(app, false),
        Command::Zoom => state.zoom = !state.zoom,
        Command::ToggleGold => state.gold = !state.gold,
        Command::NextDiffView => {
            state.diff = state.diff.next();
            let shown = state.diff.describe();
            app.say(format!("adversarial documents show the {shown}"));
        }
        Command::ToggleRaw => {
            state.raw = !state.raw;
            state.scroll[Panel::Reply.index()] = 0;
        }
        Command::ShowPrompt => match state.composed.as_ref().map(|composed| &composed.prompt) {
            Ok(Ok(_)) => app.overlay = Some(Overlay::Prompt { scroll: 0 }),
            Ok(Err(problem)) | Err(problem) => {
                let problem = problem.clone();
                app.complain(format!("There is no prompt: {problem}"));
            }
        },
        Command::Why => {
            probe::audit(app);
            app.overlay = Some(Overlay::Why { scroll: 0 });
        }
        Command::Ask => return reply::ask(app),
        Command::Stop => return reply::stop(app),
        Command::Annotate => return queue::enter(app),
        Command::Back => {
            if seek::end(app) {
                return Vec::new();
            }
            let Some(state) = &mut app.instance else {
                return Vec::new();
            };
            if state.zoom {
                state.zoom = false;
            } else {
                let index = state.index;
                app.browse.choose(index);
                app.screen = Screen::Browse;
                return browse::settle(app);
            }
        }
        Command::NextQuestion => return step_question(app, 1),
        Command::PreviousQuestion => return step_question(app, -1),
        Command::NextDocument => jump(app, true),
        Command::PreviousDocument => jump(app, false),
        Command::NextChange => next_change(app),
        Command::NextCited => columns::next_cited(app),
        Command::LockColumns => columns::toggle_lock(app),
        Command::SearchDocuments => seek::begin(app),
        Command::NextMatch => seek::step(app, true),
        Command::PreviousMatch => seek::step(app, false),
        Command::TalkFaster => return talk::pace(app, true),
        Command::TalkSlower => return talk::pace(app, false),
        _ => return change(app, command),
    }
    Vec::new()
}

/// Commands that change the condition, else those that scroll.
fn change(app: &mut App, command: Command) -> Vec<Effect> {
    let Some(state) = &app.instance else {
        return Vec::new();
    };
    let old = state.condition;
    let mut condition = old;
    match command {
        Command::LessSignal => condition.p = step_p(old.p, -20.0),
        Command::MoreSignal => condition.p = step_p(old.p, 20.0),
        Command::LessSignalFine => condition.p = step_p(old.p, -5.0),
        Command::MoreSignalFine => condition.p = step_p(old.p, 5.0),
        Command::MoreDocs => condition.docs = (old.docs + 1).min(MAX_DOCS),
        Command::FewerDocs => {
            let least = usize::from(old.scenario != Scenario::Standard);
            condition.docs = old.docs.saturating_sub(1).max(least);
        }
        Command::NextScenario => condition.scenario = step_scenario(old.scenario, 1),
        Command::PreviousScenario => condition.scenario = step_scenario(old.scenario, 3),
        Command::NewSeed => condition.seed = old.seed.wrapping_add(1),
        Command::NextMode => {
            condition.mode = match old.mode {
                Mode::Nested => Mode::Independent,
                Mode::Independent => Mode::Nested,
            }
        }
        Command::NextSource => {
            condition.source = match old.source {
                SourceFilter::Any => SourceFilter::Offline,
                SourceFilter::Offline => SourceFilter::Online,
                SourceFilter::Online => SourceFilter::Any,
            }
        }
        _ => {
            scroll(app, command);
            return Vec::new();
        }
    }
    if condition.scenario != Scenario::Standard && condition.docs == 0 {
        condition.docs = 1;
    }
    if condition == old {
        let end = if command == Command::FewerDocs {
            "fewer documents than this make no context".to_owned()
        } else {
            format!("p is already {} %", old.p)
        };
        app.say(end);
        return Vec::new();
    }
    if condition.scenario == Scenario::Standard && condition.p != old.p {
        app.say("the standard scenario has signal documents only and ignores p");
    }
    let before = answer_here(app);
    recompose(app, condition);
    let is_step = condition.scenario == old.scenario && condition.seed == old.seed;
    if is_step && condition.mode == old.mode && condition.source == old.source {
        say_changed(app, before.as_deref());
    }
    Vec::new()
}

/// Most changed documents that are named.
const MOST_NAMED: usize = 4;

/// What the reply on screen answers, in a word.
fn answer_here(app: &App) -> Option<String> {
    let context = app.instance.as_ref()?.context()?;
    let reply = app
        .replies
        .shown(context)
        .filter(|reply| !reply.running())?;
    let parsed = reply.parsed.as_ref()?;
    match (parsed.outcome, parsed.answer) {
        (Outcome::Answered, Some(letter)) => Some(letter.to_string()),
        (Outcome::Insufficient, _) => Some("insufficient".to_owned()),
        _ => None,
    }
}

/// Says which documents a step of p or n has brought in, since they may stand below what is in sight, and what the stored
/// replies before and after it answer.
fn say_changed(app: &mut App, before: Option<&str>) {
    let answers = match (before, answer_here(app)) {
        (Some(before), Some(after)) if before == after => Some(format!("answer {after} as before")),
        (Some(before), Some(after)) => Some(format!("answer {before} → {after}")),
        _ => None,
    };
    match (changed_documents(app), answers) {
        (Some(documents), Some(answers)) => app.say(format!("{documents}; {answers}")),
        (Some(documents), None) => app.say(documents),
        (None, Some(answers)) if app.notice.is_none() => app.say(answers),
        (None, _) => {}
    }
}

/// The documents that were not there before the last step, in words; `None` where all of them are new, or none is.
fn changed_documents(app: &App) -> Option<String> {
    let composed = app.instance.as_ref()?.composed.as_ref().ok()?;
    let robust = composed.context.scenario == Scenario::Robustness;
    let documents = &composed.context.documents;
    let fresh: Vec<String> = composed
        .docs
        .iter()
        .zip(documents)
        .filter(|(view, _)| view.fresh)
        .map(|(_, document)| format!("{} ({})", document.label, role_name(document.role, robust)))
        .collect();
    match fresh.len() {
        0 => None,
        all if all == documents.len() => None,
        named @ ..=MOST_NAMED => {
            let names = fresh.get(..named).unwrap_or_default();
            Some(format!("new: {}", names.join(", ")))
        }
        more => Some(format!(
            "{more} of {} documents are new, marked as such",
            documents.len()
        )),
    }
}

fn role_name(role: Role, robust: bool) -> &'static str {
    match role {
        Role::Signal if robust => "original",
        Role::Signal => "signal",
        Role::Noise => "noise",
        Role::Adversarial => "adversarial",
    }
}

/// Composes the context under another condition.
pub(super) fn recompose(app: &mut App, condition: Condition) {
    let Some(dataset) = app.data().cloned() else {
        return;
    };
    let marks = app.theme.mono;
    if let Some(state) = &mut app.instance {
        state.recompose(&dataset, &app.settings.templates, condition, marks);
    }
}

/// The next multiple of the step, so that 33 goes to 40 and not to 53.
fn step_p(p: f64, by: f64) -> f64 {
    let steps = p / by.abs();
    let next = if by > 0.0 {
        (steps + 1e-9).floor() + 1.0
    } else {
        (steps - 1e-9).ceil() - 1.0
    };
    (next * by.abs()).clamp(0.0, 100.0)
}

fn step_scenario(from: Scenario, by: usize) -> Scenario {
    let at = Scenario::ALL.iter().position(|&s| s == from).unwrap_or(0);
    Scenario::ALL[(at + by) % Scenario::ALL.len()]
}

fn step_question(app: &mut App, by: isize) -> Vec<Effect> {
    let Some(state) = &app.instance else {
        return Vec::new();
    };
    let here = state.index;
    // Along the filtered list where the question is in it, else along the whole dataset.
    let next = match app.browse.shown.iter().position(|&shown| shown == here) {
        Some(row) => row
            .checked_add_signed(by)
            .and_then(|row| app.browse.shown.get(row).copied()),
        None => here.checked_add_signed(by),
    };
    let last = app.data().map_or(0, |dataset| dataset.questions.len());
    match next {
        Some(index) if index < last => {
            app.browse.choose(index);
            open(app, index)
        }
        _ => {
            app.say(if by > 0 {
                "this is the last question of the list"
            } else {
                "this is the first question of the list"
            });
            Vec::new()
        }
    }
}

fn step_focus(app: &mut App, forward: bool) {
    let order = view::instance::focusable(app);
    let Some(state) = &mut app.instance else {
        return;
    };
    let count = order.len().max(1);
    let here = order.iter().position(|&panel| panel == state.focus);
    let next = match (here, forward) {
        (Some(at), true) => (at + 1) % count,
        (Some(at), false) => (at + count - 1) % count,
        (None, _) => 0,
    };
    if let Some(&panel) = order.get(next) {
        state.focus = panel;
    }
}

/// Focuses the panel under the pointer.
pub(super) fn focus_at(app: &mut App, at: Position) {
    let found = view::instance::panel_at(app, at);
    if let (Some(panel), Some(state)) = (found, &mut app.instance) {
        state.focus = panel;
    }
}

pub(super) fn clamp(app: &mut App) {
    if app.instance.is_none() {
        return;
    }
    for panel in Panel::ALL {
        let (rows, height) = view::instance::extent(app, panel);
        if let Some(state) = &mut app.instance {
            let at = &mut state.scroll[panel.index()];
            *at = (*at).min(rows.saturating_sub(height));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::float_cmp)] // multiples of 5 are exact
    fn p_steps_along_the_grid() {
        assert_eq!(step_p(60.0, 20.0), 80.0);
        assert_eq!(step_p(100.0, 20.0), 100.0);
        assert_eq!(step_p(0.0, -20.0), 0.0);
        assert_eq!(step_p(65.0, 20.0), 80.0);
        assert_eq!(step_p(65.0, -20.0), 60.0);
        assert_eq!(step_p(60.0, -5.0), 55.0);
    }

    #[test]
    fn scenarios_go_round() {
        let mut scenario = Scenario::Standard;
        for _ in 0..4 {
            scenario = step_scenario(scenario, 1);
        }
        assert_eq!(scenario, Scenario::Standard);
        assert_eq!(step_scenario(Scenario::Standard, 3), Scenario::Robustness);
    }
}
