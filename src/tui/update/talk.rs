//! Talk mode: going from step to step.

use crate::tui::app::instance::Panel;
use crate::tui::app::talk::Waiting;
use crate::tui::app::{App, Screen};
use crate::tui::command::Command;
use crate::tui::effects::Effect;
use crate::tui::update::{instance, reply};

/// Begins the talk, once the dataset is there.
pub(super) fn begin(app: &mut App) -> Vec<Effect> {
    let Some(speed) = app.talk.as_ref().map(|talk| talk.speed) else {
        return Vec::new();
    };
    let mut effects = vec![Effect::Pace(speed)];
    effects.extend(enter(app, 0));
    effects
}

/// Back to the step where the talk was left.
pub(super) fn resume(app: &mut App) -> Vec<Effect> {
    match app.talk.as_ref().map(|talk| talk.at) {
        Some(at) => enter(app, at),
        None => {
            app.say("there is no talk: start with `medrgb --talk SCRIPT` or `medrgb --demo`");
            Vec::new()
        }
    }
}

pub(super) fn run(app: &mut App, command: Command) -> Vec<Effect> {
    let Some(talk) = &mut app.talk else {
        app.screen = Screen::Browse;
        return Vec::new();
    };
    let last = talk.script.steps.len().saturating_sub(1);
    match command {
        Command::TalkNext => {
            let to = if talk.at >= last { 0 } else { talk.at + 1 };
            enter(app, to)
        }
        Command::TalkBack => {
            let to = talk.at.saturating_sub(1);
            enter(app, to)
        }
        Command::TalkAuto => {
            talk.auto = !talk.auto;
            if let Waiting::Since(_) = talk.waiting {
                talk.waiting = Waiting::Since(app.now);
            }
            Vec::new()
        }
        Command::TalkFaster | Command::TalkSlower => {
            talk.faster(command == Command::TalkFaster);
            vec![Effect::Pace(talk.speed)]
        }
        Command::Back => {
            app.screen = Screen::Instance;
            let key = app.keymap.key(Command::Talk);
            app.say(format!("the talk is left; {key} goes on with it"));
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// Time has passed, or a reply has ended.
pub(super) fn tick(app: &mut App) -> Vec<Effect> {
    if app.screen != Screen::Talk {
        return Vec::new();
    }
    let running = app.replies.running.is_some();
    let Some(talk) = &mut app.talk else {
        return Vec::new();
    };
    match talk.waiting {
        Waiting::ToAsk if !running => ask(app),
        Waiting::Reply if !running => {
            talk.waiting = Waiting::Since(app.now);
            Vec::new()
        }
        Waiting::Since(_) if talk.due(app.now) => match talk.following() {
            Some(next) => enter(app, next),
            None => {
                talk.auto = false;
                Vec::new()
            }
        },
        _ => Vec::new(),
    }
}

/// Shows a step as it is written, whatever was on screen.
fn enter(app: &mut App, at: usize) -> Vec<Effect> {
    let Some(step) = app
        .talk
        .as_ref()
        .and_then(|talk| talk.script.steps.get(at).cloned())
    else {
        return Vec::new();
    };
    let mut effects = Vec::new();
    if app.replies.running.is_some() {
        effects.extend(reply::stop(app));
    }
    let index = app.data().and_then(|data| data.position(&step.question));
    let problem = match index {
        Some(index) => {
            let here = app.instance.as_ref().map(|state| state.index);
            if here != Some(index) {
                effects.extend(instance::open(app, index));
            }
            instance::recompose(app, step.condition);
            let state = app.instance.as_ref();
            state.and_then(|state| state.composed.as_ref().err().cloned())
        }
        None => Some(format!(
            "there is no question \"{}\" in this dataset (line {} of the script)",
            step.question, step.line
        )),
    };
    app.screen = Screen::Talk;
    if let Some(state) = &mut app.instance {
        state.gold = step.gold;
        state.zoom = false;
        state.raw = false;
        state.focus = Panel::Reply;
        state.scroll = [0; 6];
    }
    let ask_now = step.ask && problem.is_none();
    if let Some(talk) = &mut app.talk {
        talk.at = at;
        talk.problem = problem;
        talk.waiting = if ask_now {
            Waiting::ToAsk
        } else {
            Waiting::Since(app.now)
        };
    }
    if ask_now && app.replies.running.is_none() {
        effects.extend(ask(app));
    }
    effects
}

fn ask(app: &mut App) -> Vec<Effect> {
    let effects = reply::ask(app);
    let asked = app.replies.running.is_some();
    if let Some(talk) = &mut app.talk {
        talk.waiting = if asked {
            Waiting::Reply
        } else {
            Waiting::Since(app.now)
        };
    }
    effects
}
