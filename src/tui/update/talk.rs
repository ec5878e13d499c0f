//! Talk mode: going from step to step.

use crate::data::talk::{NO_PAPER, Show, Step};
use crate::domain::report::Panel;
use crate::domain::text::{count, short};
use crate::tui::app::instance::Panel as Part;
use crate::tui::app::talk::{Talk, Waiting, stepped};
use crate::tui::app::{App, Screen};
use crate::tui::command::Command;
use crate::tui::effects::Effect;
use crate::tui::update::{instance, reply, sweep};

/// Begins the talk, once the dataset is there.
pub(super) fn begin(app: &mut App) -> Vec<Effect> {
    let Some(speed) = app.talk.as_ref().map(|talk| talk.speed) else {
        return Vec::new();
    };
    let mut effects = vec![Effect::Pace(speed)];
    effects.extend(enter(app, 0));
    effects
}

/// Plays recordings twice or half as fast outside of a talk.
pub(super) fn pace(app: &mut App, faster: bool) -> Vec<Effect> {
    if !app.replays() {
        app.say("only recordings (--model replay:RUN) can be played faster or slower");
        return Vec::new();
    }
    app.speed = stepped(app.speed, faster);
    app.say(format!("recordings are played ×{}", app.speed));
    vec![Effect::Pace(app.speed)]
}

/// Back to the step where the talk was left, at the talk's speed.
pub(super) fn resume(app: &mut App) -> Vec<Effect> {
    match app.talk.as_ref().map(|talk| (talk.at, talk.speed)) {
        Some((at, speed)) => {
            let mut effects = vec![Effect::Pace(speed)];
            effects.extend(enter(app, at));
            effects
        }
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
        // What is played is shown whole first: the next step may be about it.
        Command::TalkNext if talk.is_playing() => {
            talk.at_once = true;
            vec![Effect::Pace(f64::INFINITY)]
        }
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
            talk.at_once = false;
            vec![Effect::Pace(talk.speed)]
        }
        Command::Back => {
            talk.at_once = false;
            // A talk of curves alone has opened no question.
            app.screen = match app.instance {
                Some(_) => Screen::Instance,
                None => Screen::Browse,
            };
            let key = app.keymap.key(Command::Talk);
            app.say(format!("the talk is left; {key} goes on with it"));
            // Its speed stays behind.
            vec![Effect::Pace(app.speed)]
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
            at_its_pace(talk)
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

/// What is played next is played at the talk's speed again.
fn at_its_pace(talk: &mut Talk) -> Vec<Effect> {
    match std::mem::take(&mut talk.at_once) {
        true => vec![Effect::Pace(talk.speed)],
        false => Vec::new(),
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
    let mut effects = app.talk.as_mut().map_or_else(Vec::new, at_its_pace);
    if app.replies.running.is_some() {
        effects.extend(reply::stop(app));
    }
    let index = app.data().and_then(|data| data.position(&step.question));
    let problem = match index {
        _ if step.show == Show::Curves => {
            if let Some(talk) = &mut app.talk {
                talk.problem = None;
            }
            effects.extend(show_curves(app, &step));
            None
        }
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
        state.focus = Part::Reply;
        state.scroll = [0; 6];
    }
    let ask_now = step.ask && problem.is_none() && step.show != Show::Curves;
    if let Some(talk) = &mut app.talk {
        talk.at = at;
        if step.show != Show::Curves {
            talk.problem = problem;
        }
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

/// The run whose curves a step shows.
fn run_of(app: &App, step: &Step) -> Option<String> {
    let talk = app.talk.as_ref()?;
    step.curves.run.clone().or_else(|| talk.script.run.clone())
}

/// Reads the curves of a step's run, unless they are there.
fn show_curves(app: &mut App, step: &Step) -> Vec<Effect> {
    let Some(run) = run_of(app, step) else {
        return Vec::new();
    };
    let there = app.sweep.curves.as_ref();
    let there = there.is_some_and(|curves| {
        curves.run == run && (curves.figures.ready().is_some() || curves.figures.is_loading())
    });
    let effects = match there {
        true => Vec::new(),
        false => sweep::curves(app, run),
    };
    aim(app, step);
    effects
}

/// Curves have been read: the step's own part of them is shown.
pub(super) fn on_curves(app: &mut App) {
    let step = app.talk.as_ref().and_then(|talk| talk.step().cloned());
    if let (Screen::Talk, Some(step)) = (app.screen, step)
        && step.show == Show::Curves
    {
        aim(app, &step);
    }
}

/// Chooses the test, n, metric and model of the paper that a step names.
fn aim(app: &mut App, step: &Step) {
    let Some(curves) = &mut app.sweep.curves else {
        return;
    };
    let Some(figures) = curves.figures.ready().cloned() else {
        return;
    };
    let (scenario, docs) = (step.condition.scenario, step.condition.docs);
    let subjects = figures.subjects();
    // Panels of the standard test have several n in one.
    let fits = |panel: &&Panel| panel.scenario == scenario && panel.docs.is_none_or(|n| n == docs);
    let found = subjects.iter().position(fits);
    curves.measure = step.curves.metric;
    match step.curves.paper.as_deref() {
        Some(NO_PAPER) => curves.paper = None,
        Some(name) => {
            curves.paper = figures
                .paper
                .models()
                .iter()
                .position(|model| *model == name);
        }
        None => {}
    }
    let problem = match found {
        Some(at) => {
            curves.subject = at;
            let metric = step.curves.metric;
            let shown = curves.panel().map(|panel| panel.measure);
            metric.filter(|_| metric != shown).map(|metric| {
                format!(
                    "the run \"{}\" has no {} in {} (line {} of the script)",
                    short(&curves.run),
                    metric.name(),
                    scenario.name(),
                    step.line
                )
            })
        }
        None => Some(format!(
            "the run \"{}\" has no replies in {} with {} (line {} of the script)",
            short(&curves.run),
            scenario.name(),
            count(docs, "document"),
            step.line
        )),
    };
    if let Some(talk) = &mut app.talk {
        talk.problem = problem;
    }
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
