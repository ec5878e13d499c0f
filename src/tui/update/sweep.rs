//! Keys and jobs of the sweep screen.

use std::rc::Rc;

use crossterm::event::{KeyCode, KeyEvent};

use crate::data::store::RunSummary;
use crate::domain::pace::Rate;
use crate::tui::app::curves::{Curves, Figures};
use crate::tui::app::loaded::Loaded;
use crate::tui::app::plan::{Field, SweepRequest};
use crate::tui::app::sweep::{Page, Phase, Running, SweepEnd};
use crate::tui::app::{App, Screen, Ticket};
use crate::tui::command::Command;
use crate::tui::effects::Effect;
use crate::tui::message::SweepEvent;
use crate::tui::update::{choose, distance, scrolled};
use crate::tui::view;

/// Opens the screen: on the sweep that runs, else on the runs.
pub(super) fn open(app: &mut App) -> Vec<Effect> {
    if app.screen != Screen::Sweep {
        app.sweep.from = Some(app.screen);
        app.screen = Screen::Sweep;
        app.sweep.page = match app.sweep.is_active() {
            true => Page::Progress,
            false => Page::Runs,
        };
    } else {
        app.sweep.page = Page::Runs;
    }
    if app.sweep.form.model.text().is_empty() {
        let model = app.settings.model.clone();
        app.sweep.form.model.paste(&model);
        name_run(app);
    }
    load_runs(app)
}

/// Reads the list of runs again; the one at hand stays until then.
pub(super) fn load_runs(app: &mut App) -> Vec<Effect> {
    let ticket = app.ticket();
    app.sweep.loading = Some(ticket);
    if app.sweep.runs.ready().is_none() {
        app.sweep.runs = Loaded::asked(ticket, app.now);
    }
    vec![Effect::ListRuns { ticket }]
}

pub(super) fn on_runs(app: &mut App, ticket: Ticket, result: Result<Vec<RunSummary>, String>) {
    if app.sweep.loading != Some(ticket) {
        return;
    }
    app.sweep.loading = None;
    let chosen = app.sweep.run().map(|run| run.name.clone());
    app.sweep.runs = match result {
        Ok(runs) => Loaded::Ready(Rc::new(runs)),
        Err(why) => Loaded::Failed(why),
    };
    let runs = app.sweep.runs.ready();
    let still = chosen.and_then(|name| runs?.iter().position(|run| run.name == name));
    if let Some(at) = still {
        app.sweep.selected = at + 1;
    }
    keep_visible(app);
}

fn name_run(app: &mut App) {
    if let Some(dataset) = app.data().cloned() {
        app.sweep.form.name_run(&dataset.name);
    }
}

pub(super) fn run(app: &mut App, command: Command) -> Vec<Effect> {
    match command {
        Command::SweepChoose => return chosen(app),
        Command::SweepStart => return start(app),
        Command::SweepPause => return pause(app),
        Command::SweepStop => return stop(app),
        Command::SweepPage => return next_page(app),
        Command::Back => {
            match app.sweep.page {
                Page::Runs => app.screen = app.sweep.from.unwrap_or(Screen::Browse),
                _ => app.sweep.page = Page::Runs,
            }
            return Vec::new();
        }
        _ => {}
    }
    match app.sweep.page {
        Page::Runs => move_in_runs(app, command),
        Page::Plan => return in_plan(app, command),
        Page::Progress => {}
        Page::Curves => in_curves(app, command),
    }
    Vec::new()
}

fn move_in_runs(app: &mut App, command: Command) {
    let visible = view::sweep::visible_runs(app);
    if let Some(by) = distance(command, visible) {
        let rows = app.sweep.rows();
        let sweep = &mut app.sweep;
        choose(&mut sweep.selected, &mut sweep.top, by, rows, visible);
    }
}

/// The next page that has something to show.
fn next_page(app: &mut App) -> Vec<Effect> {
    let has = |page: Page| match page {
        Page::Runs | Page::Plan => true,
        Page::Progress => app.sweep.running.is_some(),
        Page::Curves => app.sweep.curves.is_some(),
    };
    let order = [Page::Runs, Page::Plan, Page::Progress, Page::Curves];
    let here = order.iter().position(|&page| page == app.sweep.page);
    let at = here.unwrap_or(0);
    let next = (1..=order.len())
        .map(|by| order[(at + by) % order.len()])
        .find(|&page| has(page));
    turn_to(app, next.unwrap_or_default())
}

fn turn_to(app: &mut App, page: Page) -> Vec<Effect> {
    app.sweep.page = page;
    match page {
        Page::Plan => estimate(app),
        _ => Vec::new(),
    }
}

/// Enter: what the chosen row offers.
fn chosen(app: &mut App) -> Vec<Effect> {
    match app.sweep.page {
        Page::Runs => match app.sweep.run().map(|run| run.name.clone()) {
            Some(run) => curves(app, run),
            None => turn_to(app, Page::Plan),
        },
        Page::Plan => {
            let form = &mut app.sweep.form;
            let field = form.field();
            if field.is_switch() {
                form.toggle(field);
                return estimate(app);
            }
            form.typing = true;
            Vec::new()
        }
        Page::Progress => match &app.sweep.running {
            Some(running) => {
                let run = running.request.run.clone();
                curves(app, run)
            }
            None => Vec::new(),
        },
        Page::Curves => Vec::new(),
    }
}

fn in_plan(app: &mut App, command: Command) -> Vec<Effect> {
    let forward = match command {
        Command::ValueNext => true,
        Command::ValueBack => false,
        Command::PageUp | Command::PageDown => {
            let (rows, height) = view::sweep::plan_extent(app);
            let by = distance(command, height).unwrap_or(0);
            app.sweep.scroll = scrolled(app.sweep.scroll, by, rows, height);
            return Vec::new();
        }
        _ => {
            if let Some(by) = distance(command, Field::ALL.len()) {
                let last = Field::ALL.len() - 1;
                let form = &mut app.sweep.form;
                form.selected = form.selected.saturating_add_signed(by).min(last);
            }
            return Vec::new();
        }
    };
    let models = app.sweep.models.clone();
    if !app.sweep.form.step(forward, &models) {
        let key = app.keymap.key(Command::SweepChoose);
        app.say(format!("this field has no usual values; {key} edits it"));
        return Vec::new();
    }
    changed(app)
}

/// After a change of the form: the run's name follows, and the estimate is made anew.
fn changed(app: &mut App) -> Vec<Effect> {
    name_run(app);
    estimate(app)
}

/// Keys while a field is edited.
pub(super) fn on_typing(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    let form = &mut app.sweep.form;
    match key.code {
        KeyCode::Enter | KeyCode::Esc => {
            form.typing = false;
            changed(app)
        }
        _ => {
            let field = form.field();
            let taken = form.text_mut(field).is_some_and(|input| input.key(key));
            if taken && field == Field::Run {
                form.named = true;
            }
            Vec::new()
        }
    }
}

pub(super) fn paste(app: &mut App, text: &str) {
    let form = &mut app.sweep.form;
    let field = form.field();
    if let Some(input) = form.text_mut(field) {
        input.paste(text);
    }
    form.named |= field == Field::Run;
}

/// Has the plan estimated, unless that has been done.
fn estimate(app: &mut App) -> Vec<Effect> {
    let Some(dataset) = app.data().cloned() else {
        return Vec::new();
    };
    let request = app.sweep.form.request(dataset.has_both_sources());
    let request = request.and_then(|request| {
        request.factors(&dataset).check()?;
        Ok(request)
    });
    let request = match request {
        Ok(request) => request,
        Err(why) => {
            app.sweep.estimate = Loaded::Failed(why);
            app.sweep.estimated = None;
            return Vec::new();
        }
    };
    let known = app.sweep.estimated.as_ref() == Some(&request);
    if known && !matches!(app.sweep.estimate, Loaded::Failed(_) | Loaded::Nothing) {
        return Vec::new();
    }
    let ticket = app.ticket();
    app.sweep.scroll = 0;
    app.sweep.estimate = Loaded::asked(ticket, app.now);
    app.sweep.estimated = Some(request.clone());
    vec![Effect::EstimateSweep {
        ticket,
        dataset,
        request: Box::new(request),
    }]
}

/// Starts the planned sweep, or goes on with the one that has ended.
fn start(app: &mut App) -> Vec<Effect> {
    if app.sweep.is_active() {
        app.say("a sweep is running; it must end or be stopped before another starts");
        return Vec::new();
    }
    let request = match (app.sweep.page, &app.sweep.running) {
        (Page::Plan, _) => {
            let both = app.data().is_some_and(|data| data.has_both_sources());
            app.sweep.form.request(both).and_then(|request| {
                if let Some(dataset) = app.data() {
                    request.factors(dataset).check()?;
                }
                Ok(request)
            })
        }
        (Page::Progress, Some(running)) => Ok(running.request.clone()),
        _ => {
            let page = app.keymap.key(Command::SweepPage);
            app.say(format!("a sweep starts from its plan: {page} goes there"));
            return Vec::new();
        }
    };
    match request {
        Ok(request) => begin(app, request),
        Err(why) => {
            app.complain(why);
            Vec::new()
        }
    }
}

fn begin(app: &mut App, request: SweepRequest) -> Vec<Effect> {
    let Some(dataset) = app.data().cloned() else {
        return Vec::new();
    };
    let ticket = app.ticket();
    let command = request.command(&dataset, &app.sweep.flags);
    app.sweep.running = Some(Running::new(ticket, request.clone(), command));
    app.sweep.page = Page::Progress;
    // What the plan says is done would be out of date soon.
    app.sweep.estimate = Loaded::Nothing;
    vec![Effect::StartSweep {
        ticket,
        dataset,
        request: Box::new(request),
    }]
}

/// Pauses, or resumes what is paused.
fn pause(app: &mut App) -> Vec<Effect> {
    let Some(running) = &mut app.sweep.running else {
        app.say("no sweep is running");
        return Vec::new();
    };
    match running.phase {
        Phase::Planning(..) | Phase::Asking | Phase::Judging(..) => {
            running.phase = Phase::Pausing;
            vec![Effect::StopSweep {
                ticket: running.ticket,
                now: false,
            }]
        }
        Phase::Paused => {
            let request = running.request.clone();
            begin(app, request)
        }
        Phase::Pausing | Phase::Stopping { .. } => {
            app.say("the calls under way are still coming in");
            Vec::new()
        }
        Phase::Ended(_) => {
            let start = app.keymap.key(Command::SweepStart);
            app.say(format!("the sweep has ended; {start} goes on with it"));
            Vec::new()
        }
    }
}

/// No new calls, so that the program can end when those under way have finished.
pub(super) fn finish_calls(app: &mut App) -> Vec<Effect> {
    let Some(running) = &mut app.sweep.running else {
        return Vec::new();
    };
    let ticket = running.ticket;
    let now = matches!(running.phase, Phase::Stopping { now: true });
    running.phase = Phase::Stopping { now };
    app.complain(
        "Leaving when the calls under way have finished; no new ones start. The same key again leaves at once: what has come of them is kept.",
    );
    vec![Effect::StopSweep { ticket, now }]
}

fn stop(app: &mut App) -> Vec<Effect> {
    let Some(running) = &mut app.sweep.running else {
        app.say("no sweep is running");
        return Vec::new();
    };
    let now = match running.phase {
        Phase::Planning(..) | Phase::Asking | Phase::Judging(..) | Phase::Pausing => false,
        Phase::Stopping { .. } => true,
        Phase::Paused | Phase::Ended(_) => {
            app.say("the sweep is at rest already");
            return Vec::new();
        }
    };
    running.phase = Phase::Stopping { now };
    vec![Effect::StopSweep {
        ticket: running.ticket,
        now,
    }]
}

pub(super) fn on_event(app: &mut App, ticket: Ticket, event: SweepEvent) -> Vec<Effect> {
    let Some(running) = app
        .sweep
        .running
        .as_mut()
        .filter(|running| running.ticket == ticket)
    else {
        return Vec::new();
    };
    match event {
        SweepEvent::Planning(done, total) => {
            if let Phase::Planning(..) = running.phase {
                running.phase = Phase::Planning(done, total);
            }
            Vec::new()
        }
        SweepEvent::Planned(estimate) => {
            running.progress.total = estimate.to_ask + estimate.to_reuse;
            running.estimate = Some(*estimate);
            if let Phase::Planning(..) = running.phase {
                running.phase = Phase::Asking;
                running.rate = Rate::default();
            }
            Vec::new()
        }
        SweepEvent::Progress(progress) => {
            running.rate.note(progress.elapsed, progress.finished);
            running.progress = *progress;
            Vec::new()
        }
        SweepEvent::Judging(done, total) => {
            if let Phase::Asking | Phase::Judging(..) = running.phase {
                running.phase = Phase::Judging(done, total);
            }
            Vec::new()
        }
        SweepEvent::Finished(result) => finished(app, result),
    }
}

fn finished(app: &mut App, result: Result<Box<SweepEnd>, String>) -> Vec<Effect> {
    let Some(running) = &mut app.sweep.running else {
        return Vec::new();
    };
    let pausing = running.phase == Phase::Pausing;
    running.phase = match result {
        Ok(end) => {
            running.progress = end.progress.clone();
            match pausing && end.by_user {
                true => Phase::Paused,
                false => Phase::Ended(Ok(end)),
            }
        }
        Err(why) => Phase::Ended(Err(why)),
    };
    if app.parting {
        app.quit = true;
        return Vec::new();
    }
    let brief = running.brief();
    let shown = app.screen == Screen::Sweep && app.sweep.page == Page::Progress;
    if !shown {
        let key = app.keymap.key(Command::Sweep);
        app.say(format!("{brief}; {key} shows it"));
    }
    let mut effects = load_runs(app);
    if let Some(dataset) = app.data().cloned() {
        effects.push(Effect::LoadOutcomes { dataset });
    }
    effects
}

/// Shows the curves of a run.
pub(super) fn curves(app: &mut App, run: String) -> Vec<Effect> {
    let ticket = app.ticket();
    let mut curves = Curves::new(run.clone());
    // The same view of the run before, so that runs can be looked through.
    if let Some(old) = &app.sweep.curves {
        curves.measure = old.measure;
        curves.paper = old.paper;
    }
    curves.figures = Loaded::asked(ticket, app.now);
    app.sweep.curves = Some(curves);
    app.sweep.page = Page::Curves;
    vec![Effect::LoadCurves { ticket, run }]
}

pub(super) fn on_curves(app: &mut App, ticket: Ticket, result: Result<Box<Figures>, String>) {
    let Some(curves) = &mut app.sweep.curves else {
        return;
    };
    let result = result.map(|figures| Rc::from(*figures));
    if !curves.figures.take(ticket, result) || curves.paper.is_some() {
        return;
    }
    // The paper's model of the same name, where there is one.
    if let Some(figures) = curves.figures.ready() {
        let models = figures.report.runs.iter().flat_map(|run| &run.models);
        let known = models
            .filter_map(|model| figures.paper.model_named(model))
            .next();
        let all = figures.paper.models();
        curves.paper = Some(
            known
                .and_then(|known| all.iter().position(|one| *one == known))
                .unwrap_or(0),
        );
    }
}

fn in_curves(app: &mut App, command: Command) {
    let (rows, height) = view::sweep::words_extent(app);
    let Some(curves) = &mut app.sweep.curves else {
        return;
    };
    match command {
        Command::NextMeasure | Command::ValueNext => curves.step_measure(true),
        Command::PreviousMeasure | Command::ValueBack => curves.step_measure(false),
        Command::NextScenario | Command::PreviousScenario => {
            let forward = command == Command::NextScenario;
            if !curves.step_scenario(forward) {
                app.say("this run has no other test");
            }
        }
        Command::NextCurveDocs => {
            if !curves.step_docs(true) {
                app.say("this run has no other n of this test");
            }
        }
        Command::NextPaper => curves.step_paper(true),
        Command::PreviousPaper => curves.step_paper(false),
        _ => {
            if let Some(by) = distance(command, height) {
                curves.scroll = scrolled(curves.scroll, by, rows, height);
            }
        }
    }
}

pub(super) fn keep_visible(app: &mut App) {
    let visible = view::sweep::visible_runs(app);
    let rows = app.sweep.rows();
    let sweep = &mut app.sweep;
    choose(&mut sweep.selected, &mut sweep.top, 0, rows, visible);
}
