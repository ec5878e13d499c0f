//! Keys and jobs of the probe screen.

use std::rc::Rc;

use crate::tui::app::probe::{Asking, Audit, Part};
use crate::tui::app::{App, Screen, Ticket};
use crate::tui::command::Command;
use crate::tui::effects::{Effect, ProbeParts};
use crate::tui::message::ProbeEvent;
use crate::tui::update::{choose, distance, scrolled};
use crate::tui::view;

/// Opens the screen on the context of the instance screen.
pub(super) fn open(app: &mut App) -> Vec<Effect> {
    let (Some(dataset), Some(state)) = (app.data().cloned(), &app.instance) else {
        return Vec::new();
    };
    if let Err(why) = &state.composed {
        let text = format!("There is no context to probe: {why}");
        app.complain(text);
        return Vec::new();
    }
    app.probe.open(state, &dataset);
    audit(app);
    app.screen = Screen::Probe;
    keep_visible(app);
    Vec::new()
}

/// Looks into the reply on screen: where planted text went, what the citations are worth. Needs no call.
pub(super) fn audit(app: &mut App) {
    let context = app.instance.as_ref().and_then(|state| state.context());
    let (Some(dataset), Some(context)) = (app.data().cloned(), context.cloned()) else {
        return;
    };
    if let Some(reply) = app.replies.shown_mut(&context)
        && !reply.running()
        && reply.audit.is_none()
    {
        reply.audit = Audit::of(reply, &dataset).map(Rc::new);
    }
}

pub(super) fn run(app: &mut App, command: Command) -> Vec<Effect> {
    match command {
        Command::ProbeRun => return ask(app),
        Command::ProbeStop => return stop(app),
        Command::Back => app.screen = Screen::Instance,
        Command::FocusNext => step_focus(app, 1),
        Command::FocusPrevious => step_focus(app, Part::ALL.len() - 1),
        _ => scroll(app, command),
    }
    Vec::new()
}

fn step_focus(app: &mut App, by: usize) {
    let here = Part::ALL.iter().position(|&part| part == app.probe.focus);
    app.probe.focus = Part::ALL[(here.unwrap_or(0) + by) % Part::ALL.len()];
    // The choices may have less room than they had.
    keep_visible(app);
}

fn scroll(app: &mut App, command: Command) {
    let (rows, height) = view::probe::extent(app, app.probe.focus);
    let Some(by) = distance(command, height) else {
        return;
    };
    let probe = &mut app.probe;
    let at = match probe.focus {
        Part::Choices => {
            let length = probe.choices.len();
            choose(&mut probe.selected, &mut probe.top, by, length, height);
            return;
        }
        Part::Findings => &mut probe.scroll[0],
        Part::Reply => &mut probe.scroll[1],
    };
    *at = scrolled(*at, by, rows, height);
}

/// Asks the model with the chosen changes.
fn ask(app: &mut App) -> Vec<Effect> {
    if app.probe.asking.is_some() {
        let stop = app.keymap.key(Command::ProbeStop);
        app.say(format!("a probe is being asked; {stop} stops it"));
        return Vec::new();
    }
    let Some(choice) = app.probe.choices.get(app.probe.selected).cloned() else {
        app.say("this context can't be changed: it has no document for it");
        return Vec::new();
    };
    let (Some(dataset), Some(state)) = (app.data().cloned(), &app.instance) else {
        return Vec::new();
    };
    let Ok(composed) = &state.composed else {
        return Vec::new();
    };
    let prompt = match &composed.prompt {
        Ok(prompt) => prompt.clone(),
        Err(problem) => {
            let text = format!("There is no prompt: {problem}");
            app.complain(text);
            return Vec::new();
        }
    };
    let parts = ProbeParts {
        ticket: Ticket(0),
        dataset,
        question: state.question.clone(),
        condition: state.condition,
        context: composed.context.clone(),
        prompt,
        shape: composed.shape.clone(),
        variants: choice.variants,
    };
    let ticket = app.ticket();
    app.probe.asking = Some(Asking {
        ticket,
        title: choice.title,
        calls: (0, parts.variants.len() + 1),
        stopping: false,
    });
    app.probe.found_of = Some(parts.context.clone());
    app.probe.found = None;
    keep_visible(app);
    vec![Effect::Probe(Box::new(ProbeParts { ticket, ..parts }))]
}

fn stop(app: &mut App) -> Vec<Effect> {
    match &mut app.probe.asking {
        Some(asking) => {
            asking.stopping = true;
            vec![Effect::Cancel(asking.ticket)]
        }
        None => {
            app.say("no probe is being asked");
            Vec::new()
        }
    }
}

pub(super) fn on_event(app: &mut App, ticket: Ticket, event: ProbeEvent) {
    let Some(asking) = app
        .probe
        .asking
        .as_mut()
        .filter(|asking| asking.ticket == ticket)
    else {
        return;
    };
    match event {
        ProbeEvent::Progress(done, total) => asking.calls = (done, total),
        ProbeEvent::Finished(result) => {
            let title = asking.title.clone();
            app.probe.asking = None;
            if app.screen != Screen::Probe {
                let key = app.keymap.key(Command::Probe);
                app.say(format!("the probe is done; {key} shows it"));
            }
            app.probe.scroll[0] = 0;
            app.probe.found = Some((title, result.map(|found| *found)));
            keep_visible(app);
        }
    }
}

pub(super) fn keep_visible(app: &mut App) {
    let (_, height) = view::probe::extent(app, Part::Choices);
    let probe = &mut app.probe;
    let length = probe.choices.len();
    choose(&mut probe.selected, &mut probe.top, 0, length, height);
}
