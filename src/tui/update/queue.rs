//! Keys of the queue: a run's replies, waiting to be labelled; and the list of runs.

use crossterm::event::{KeyCode, KeyEvent};

use crate::domain::annotation::{Act, Part};
use crate::tui::app::annotate::{Queue, QueueParts, ReplyPlace, RunList, RunRow, RunUse};
use crate::tui::app::{App, Overlay, Screen, Ticket};
use crate::tui::command::Command;
use crate::tui::effects::Effect;
use crate::tui::update::{annotate, browse, choose, distance, facet};
use crate::tui::view;

/// To annotating from elsewhere: the reply on screen, else the queue that is open, else the choice of a run.
pub(super) fn enter(app: &mut App) -> Vec<Effect> {
    if app.screen == Screen::Instance {
        return this_reply(app);
    }
    if app.annotate.queue.is_some() || app.annotate.opening.is_some() {
        app.screen = Screen::Queue;
        settle(app);
        return Vec::new();
    }
    choose_run(app, RunUse::Annotate)
}

/// Labels the reply that the instance screen shows.
fn this_reply(app: &mut App) -> Vec<Effect> {
    let shown = app
        .instance
        .as_ref()
        .and_then(|state| state.context())
        .and_then(|context| app.replies.shown(context));
    let stored = shown
        .filter(|reply| !reply.running())
        .and_then(|reply| reply.origin.clone());
    let Some((run, reply_id)) = stored else {
        let ask = app.keymap.key(Command::Ask);
        app.say(match shown.map(|reply| reply.running()) {
            None => format!("there is no reply to label yet; {ask} asks the model"),
            Some(true) => "the reply can be labelled once it is complete".to_owned(),
            Some(false) => "this reply is not stored, so it can't be labelled".to_owned(),
        });
        return Vec::new();
    };
    app.annotate.from = Screen::Instance;
    let open = app.annotate.queue.as_mut();
    if let Some(queue) = open.filter(|queue| queue.run == run && queue.part == Part::Annotator)
        && queue.choose(&reply_id)
    {
        return annotate::open(app);
    }
    let question = app.instance.as_ref().map(|state| state.question.id.clone());
    let at = ReplyPlace {
        reply: Some(reply_id),
        row: None,
        question,
    };
    begin(app, run, Part::Annotator, Some(at))
}

/// Reads a queue anew, to stand at a reply.
pub(super) fn begin(app: &mut App, run: String, part: Part, at: Option<ReplyPlace>) -> Vec<Effect> {
    let ticket = app.ticket();
    let hand = app.annotate.hand(part);
    let about = at.as_ref().and_then(|at| at.question.clone());
    app.annotate.opening = Some((ticket, run.clone(), at));
    app.annotate.problem = None;
    vec![Effect::OpenQueue {
        ticket,
        run,
        hand,
        about,
    }]
}

pub(super) fn on_queue(
    app: &mut App,
    ticket: Ticket,
    result: Result<Box<QueueParts>, String>,
    part: Part,
) -> Vec<Effect> {
    let Some((_, _, at)) = app.annotate.opening.take_if(|opening| opening.0 == ticket) else {
        return Vec::new();
    };
    let parts = match result {
        Ok(parts) => *parts,
        Err(problem) => {
            app.complain(problem.clone());
            app.annotate.problem = Some(problem);
            // There is no reply to show: its screen may have been come back to.
            if app.screen == Screen::Annotate && app.annotate.queue.is_none() {
                app.screen = Screen::Queue;
            }
            return Vec::new();
        }
    };
    let old = app.annotate.queue.take();
    let mut queue = Queue::new(parts, &app.annotate.hand(part), app.annotate.blind);
    if part == Part::Adjudicator && queue.items.is_empty() {
        app.annotate.queue = old;
        let text = no_dispute(&queue);
        app.complain(text);
        return Vec::new();
    }
    if let Some(old) = old.filter(|old| old.run == queue.run && old.part == queue.part) {
        queue.follow(old);
    }
    // What was done while the queue was read is on its way to the disk.
    for sent in &app.annotate.sent {
        if sent.run == queue.run && sent.part == queue.part {
            queue.apply(&sent.event);
        }
    }
    let wanted = at.filter(|at| {
        if !queue.stand_at(at) {
            // The reply that was asked for stands before what the queue was narrowed to.
            queue.facets.clear();
            queue.narrow();
            return queue.stand_at(at);
        }
        true
    });
    app.annotate.queue = Some(queue);
    let labelling = app.screen == Screen::Annotate;
    if wanted.is_some() && (labelling || app.annotate.from == Screen::Instance) {
        if app.annotate.from == Screen::Instance
            && app.instance.as_ref().is_some_and(|state| state.gold)
            && let Some(queue) = &mut app.annotate.queue
            && let Some(at) = queue.current()
        {
            queue.seen.insert(at);
        }
        return annotate::open(app);
    }
    app.annotate.early.clear();
    app.screen = Screen::Queue;
    settle(app);
    Vec::new()
}

fn no_dispute(queue: &Queue) -> String {
    match queue.others.len() {
        0 | 1 => "There is nothing to decide yet: no reply of this run is finished by two annotators. `medrgb --annotator NAME` starts the explorer for another, `medrgb annotate import FILE` takes in what others said".to_owned(),
        _ => "There is nothing to decide: the annotators agree on every reply that two of them have finished".to_owned(),
    }
}

/// To the replies on which annotators differ, and back.
pub(super) fn adjudicate(app: &mut App) -> Vec<Effect> {
    let Some(queue) = &app.annotate.queue else {
        return Vec::new();
    };
    let part = match queue.part {
        Part::Annotator => Part::Adjudicator,
        Part::Adjudicator => Part::Annotator,
    };
    let run = queue.run.clone();
    begin(app, run, part, None)
}

pub(super) fn run(app: &mut App, command: Command) -> Vec<Effect> {
    let visible = view::queue::visible_rows(app);
    if let (Some(by), Some(queue)) = (distance(command, visible), &mut app.annotate.queue) {
        let length = queue.shown.len();
        choose(&mut queue.selected, &mut queue.top, by, length, visible);
        return Vec::new();
    }
    match command {
        Command::Open => {
            app.annotate.from = Screen::Queue;
            return annotate::open(app);
        }
        Command::Undo => return annotate::undo(app, Act::Undo),
        Command::Redo => return annotate::undo(app, Act::Redo),
        Command::Blind => annotate::toggle_blind(app),
        Command::Adjudicate => return adjudicate(app),
        Command::ChooseRun => return choose_run(app, RunUse::Annotate),
        Command::Facets => return facet::open(app),
        Command::Back => {
            app.screen = Screen::Browse;
            return browse::settle(app);
        }
        _ => {}
    }
    Vec::new()
}

/// Narrows the queue again after what was said of its replies has changed, and keeps the choice in sight.
pub(super) fn settle(app: &mut App) {
    if let Some(queue) = &mut app.annotate.queue {
        queue.blind = app.annotate.blind;
        queue.narrow();
    }
    keep_visible(app);
}

pub(super) fn keep_visible(app: &mut App) {
    let visible = view::queue::visible_rows(app);
    if let Some(queue) = &mut app.annotate.queue {
        let length = queue.shown.len();
        choose(&mut queue.selected, &mut queue.top, 0, length, visible);
    }
}

/// Opens the list of runs.
pub(super) fn choose_run(app: &mut App, purpose: RunUse) -> Vec<Effect> {
    app.annotate.runs = RunList::Loading;
    app.overlay = Some(Overlay::Runs {
        selected: 0,
        purpose,
    });
    vec![Effect::LoadRuns {
        annotator: app.annotate.annotator.clone(),
    }]
}

pub(super) fn on_runs(app: &mut App, result: Result<Vec<RunRow>, String>) {
    app.annotate.runs = match result {
        Ok(runs) => RunList::Ready(runs),
        Err(problem) => RunList::Failed(problem),
    };
    // The run at hand, else the one that was annotated last, stands chosen.
    if let (Some(Overlay::Runs { selected, purpose }), RunList::Ready(runs)) =
        (&mut app.overlay, &app.annotate.runs)
    {
        let at_hand = match purpose {
            RunUse::Annotate => app.annotate.queue.as_ref().map(|queue| &queue.run),
            RunUse::Outcomes => app.browse.run.as_ref(),
        };
        let here = at_hand.and_then(|name| runs.iter().position(|run| run.name == *name));
        let offset = usize::from(*purpose == RunUse::Outcomes);
        let annotated = runs
            .iter()
            .position(|run| run.done > 0)
            .filter(|_| offset == 0);
        *selected = here.map(|row| row + offset).or(annotated).unwrap_or(0);
    }
}

/// Keys of the list of runs.
pub(super) fn on_runs_key(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    let Some(Overlay::Runs { selected, purpose }) = &mut app.overlay else {
        return Vec::new();
    };
    let runs = match &app.annotate.runs {
        RunList::Ready(runs) => runs.as_slice(),
        _ => &[],
    };
    // Before the runs: the newest replies of all of them.
    let offset = usize::from(*purpose == RunUse::Outcomes);
    let last = (runs.len() + offset).saturating_sub(1);
    match key.code {
        KeyCode::Esc | KeyCode::Char('q') => app.overlay = None,
        KeyCode::Up | KeyCode::Char('k') => *selected = selected.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => *selected = (*selected + 1).min(last),
        KeyCode::Home => *selected = 0,
        KeyCode::End => *selected = last,
        KeyCode::Enter => {
            let (row, purpose) = (*selected, *purpose);
            let name = row
                .checked_sub(offset)
                .and_then(|row| runs.get(row))
                .map(|run| run.name.clone());
            if runs.is_empty() {
                app.overlay = None;
                return Vec::new();
            }
            app.overlay = None;
            return match (purpose, name) {
                (RunUse::Annotate, Some(run)) => {
                    app.screen = Screen::Queue;
                    app.annotate.from = Screen::Queue;
                    app.annotate.queue = None;
                    begin(app, run, Part::Annotator, None)
                }
                (RunUse::Annotate, None) => Vec::new(),
                (RunUse::Outcomes, name) => browse::show_run(app, name),
            };
        }
        _ => {}
    }
    Vec::new()
}
