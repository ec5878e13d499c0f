//! Keys of reviewing a benchmark: the queue of its items. Those of the item on screen are in [`item`].

use crate::domain::annotation::Part;
use crate::domain::review::{Act, Event};
use crate::domain::text::short;
use crate::tui::app::review::{ReviewParts, ReviewQueue, StandAt};
use crate::tui::app::{App, Screen, Ticket};
use crate::tui::command::Command;
use crate::tui::effects::Effect;
use crate::tui::update::{choose, distance, facet};
use crate::tui::view;

mod item;
mod reject;

pub(super) use item::{on_edited, on_typing, run_on_item};
pub(super) use reject::on_reject_key;

/// To reviewing from elsewhere: at the question that is open, else where one was.
pub(super) fn enter(app: &mut App) -> Vec<Effect> {
    if matches!(app.screen, Screen::Review | Screen::ReviewItem) {
        return Vec::new();
    }
    let Some(dataset) = app.data().cloned() else {
        app.say("there is nothing to review until the dataset is open");
        return Vec::new();
    };
    let question = match (app.screen, &app.instance) {
        (Screen::Instance, Some(state)) => Some(state.question.id.clone()),
        _ => None,
    };
    app.review.from = app.screen;
    app.screen = Screen::Review;
    let same = app
        .review
        .queue
        .as_ref()
        .is_some_and(|queue| queue.dataset.fingerprint == dataset.fingerprint);
    if same && app.review.opening.is_none() {
        if let (Some(queue), Some(question)) = (&mut app.review.queue, &question) {
            queue.choose_question(question);
        }
        settle(app);
        return Vec::new();
    }
    app.review.queue = None;
    begin(
        app,
        Part::Annotator,
        question.map_or(StandAt::First, StandAt::Question),
    )
}

/// Another dataset is open, or another state of it, such as after a build: what there was to review is out of date.
pub(super) fn on_dataset(app: &mut App) -> Vec<Effect> {
    let fingerprint = app.data().map(|dataset| dataset.fingerprint.clone());
    let queue = app.review.queue.as_ref();
    let same = queue.is_some_and(|queue| Some(&queue.dataset.fingerprint) == fingerprint.as_ref());
    if same {
        return Vec::new();
    }
    let here = queue.and_then(|queue| Some(queue.item()?.found.item.id.clone()));
    let was_open = app.review.queue.take().is_some() | app.review.opening.take().is_some();
    if !was_open || !matches!(app.screen, Screen::Review | Screen::ReviewItem) {
        return Vec::new();
    }
    app.screen = Screen::Review;
    app.review.note = None;
    begin(
        app,
        Part::Annotator,
        here.map_or(StandAt::First, StandAt::Item),
    )
}

/// Reads a queue anew.
pub(super) fn begin(app: &mut App, part: Part, at: StandAt) -> Vec<Effect> {
    let Some(dataset) = app.data().cloned() else {
        return Vec::new();
    };
    let ticket = app.ticket();
    app.review.opening = Some((ticket, part, at));
    app.review.problem = None;
    vec![Effect::OpenReview {
        ticket,
        dataset,
        hand: app.annotate.hand(part),
    }]
}

pub(super) fn on_queue(
    app: &mut App,
    ticket: Ticket,
    part: Part,
    result: Result<Box<ReviewParts>, String>,
) -> Vec<Effect> {
    let Some((_, _, at)) = app.review.opening.take_if(|opening| opening.0 == ticket) else {
        return Vec::new();
    };
    let parts = match result {
        Ok(parts) => *parts,
        Err(problem) => {
            app.complain(problem.clone());
            app.review.problem = Some(problem);
            // There is no item to show: its screen may have been come back to.
            if app.screen == Screen::ReviewItem && app.review.queue.is_none() {
                app.screen = Screen::Review;
            }
            return Vec::new();
        }
    };
    let mut queue = ReviewQueue::new(parts, &app.annotate.hand(part));
    if part == Part::Adjudicator && queue.items.is_empty() {
        let text = no_dispute(&queue);
        app.complain(text);
        // One has come back to what is decided by now.
        return match app.review.queue {
            Some(_) => Vec::new(),
            None => begin(app, Part::Annotator, StandAt::First),
        };
    }
    let pending = app.review.pending();
    queue.pending = pending;
    let on_item = app.screen == Screen::ReviewItem;
    let stands = stand(&mut queue, &at, on_item);
    app.review.queue = Some(queue);
    match stands && on_item {
        true => open(app),
        false => {
            // Who has left meanwhile is not called back.
            if on_item {
                app.screen = Screen::Review;
            }
            keep_visible(app);
        }
    }
    if !stands && matches!(at, StandAt::Item(_)) {
        app.say("the item that you were at is no longer there, or was made anew; what is undecided stands first");
    }
    Vec::new()
}

/// Chooses where a queue shall stand; false where it stands at the first undecided item, since nothing else was wanted
/// or it is gone. An item that is on screen stands before what the queue was narrowed to.
fn stand(queue: &mut ReviewQueue, at: &StandAt, on_item: bool) -> bool {
    let id = match at {
        StandAt::First => return false,
        StandAt::Question(question) => return queue.choose_question(question),
        StandAt::Item(id) => id,
    };
    if queue.choose(id) {
        return true;
    }
    let there = queue.items.iter().any(|item| item.found.item.id == *id);
    if there && on_item {
        queue.facets.clear();
        queue.narrow();
        return queue.choose(id);
    }
    there
}

fn no_dispute(queue: &ReviewQueue) -> String {
    match queue.others.len() {
        0 | 1 => "To decide between reviewers there must be two: start the explorer with --annotator NAME for another, or `medrgb build review import FILE`".to_owned(),
        _ => "There is nothing to decide: the reviewers agree on every item that two of them have decided".to_owned(),
    }
}

pub(super) fn run(app: &mut App, command: Command) -> Vec<Effect> {
    // The queue that is still there is not the one on screen.
    if app.review.opening.is_some() && command != Command::Back {
        app.say("the items are still being read");
        return Vec::new();
    }
    let visible = view::review::visible_rows(app);
    if let (Some(by), Some(queue)) = (distance(command, visible), &mut app.review.queue) {
        let length = queue.shown.len();
        choose(&mut queue.selected, &mut queue.top, by, length, visible);
        return Vec::new();
    }
    match command {
        Command::Open
            if app
                .review
                .queue
                .as_ref()
                .is_some_and(|queue| queue.item().is_some()) =>
        {
            open(app);
        }
        Command::Undo => return undo(app, Act::Undo),
        Command::Redo => return undo(app, Act::Redo),
        Command::Adjudicate => return adjudicate(app),
        Command::Facets => return facet::open(app),
        Command::Back => {
            app.screen = match (app.review.from, &app.instance) {
                (Screen::Instance, Some(_)) => Screen::Instance,
                (Screen::Instance | Screen::Review | Screen::ReviewItem, _) => Screen::Browse,
                (from, _) => from,
            };
        }
        _ => {}
    }
    Vec::new()
}

/// Shows the chosen item.
fn open(app: &mut App) {
    app.screen = Screen::ReviewItem;
    app.review.scroll = [0; 2];
    app.review.note = None;
    prepare(app);
    app.review.scroll[0] = view::review::first_in_sight(app);
}

/// Draws the chosen item anew after its content has changed.
fn prepare(app: &mut App) {
    let marks = app.theme.mono;
    if let Some(queue) = &mut app.review.queue {
        queue.prepare(marks);
    }
}

/// Does an act where it changes something.
fn perform(app: &mut App, act: Act) -> Vec<Effect> {
    let event = Event {
        at: String::new(),
        act,
    };
    let Some(queue) = &mut app.review.queue else {
        return Vec::new();
    };
    if queue.apply(&event).is_none() {
        return Vec::new();
    }
    queue.pending += 1;
    let (dataset, part) = (queue.dataset.name.clone(), queue.part);
    prepare(app);
    vec![Effect::Review {
        dataset,
        hand: app.annotate.hand(part),
        event,
    }]
}

/// An act is on disk, or is not: then the queue is read again, so that the screen shows what is.
pub(super) fn on_written(app: &mut App, result: Result<(), String>) -> Vec<Effect> {
    let Some(queue) = &mut app.review.queue else {
        return Vec::new();
    };
    queue.pending = queue.pending.saturating_sub(1);
    let Err(problem) = result else {
        return Vec::new();
    };
    let part = queue.part;
    let here = queue.item().map(|item| item.found.item.id.clone());
    app.complain(format!("That was NOT saved: {problem}"));
    begin(app, part, here.map_or(StandAt::First, StandAt::Item))
}

/// To the items on which reviewers differ, and back.
fn adjudicate(app: &mut App) -> Vec<Effect> {
    let Some(queue) = &app.review.queue else {
        return Vec::new();
    };
    let part = match queue.part {
        Part::Annotator => Part::Adjudicator,
        Part::Adjudicator => Part::Annotator,
    };
    begin(app, part, StandAt::First)
}

/// Takes back the last change, or makes it again, and goes to its item.
fn undo(app: &mut App, act: Act) -> Vec<Effect> {
    let word = match act {
        Act::Redo => "made again",
        _ => "taken back",
    };
    let event = Event {
        at: String::new(),
        act: act.clone(),
    };
    // Tried on a copy, to know where it leads.
    let before = app.review.queue.as_ref().map(|queue| queue.book.clone());
    let Some(moved) = before.and_then(|mut book| book.apply(&event)) else {
        app.say(match act {
            Act::Redo => "there is nothing to make again",
            _ => "there is nothing to take back",
        });
        return Vec::new();
    };
    let effects = perform(app, act);
    let Some(queue) = &mut app.review.queue else {
        return effects;
    };
    let here = queue.item().map(|item| item.found.item.id.clone());
    let elsewhere = here.as_ref() != Some(&moved.item);
    let found = !elsewhere || queue.choose(&moved.item);
    let where_to = match (elsewhere, found) {
        (false, _) => "",
        (true, true) => ", on its item now",
        (true, false) => ", on an item that this queue does not show",
    };
    let place = format!("{}, {}", short(&moved.question_id), short(&moved.doc_id));
    if elsewhere && found && app.screen == Screen::ReviewItem {
        open(app);
    }
    app.say(format!("the last change ({place}) was {word}{where_to}"));
    effects
}

/// Narrows the queue again after what was decided has changed, and keeps the choice in sight.
pub(super) fn settle(app: &mut App) {
    if let Some(queue) = &mut app.review.queue {
        queue.narrow();
    }
    keep_visible(app);
}

/// The facets were changed: the queue stands at the first undecided item, and the choice is remembered.
pub(super) fn narrowed(app: &mut App) -> Vec<Effect> {
    settle(app);
    let mut effects = Vec::new();
    if let Some(queue) = &mut app.review.queue {
        queue.selected = queue.next_undecided(0).unwrap_or(0);
        effects.push(Effect::KeepReview {
            dataset: queue.dataset.name.clone(),
            hand: app.annotate.hand(queue.part),
            choice: queue.facets.to_json(),
        });
    }
    keep_visible(app);
    effects
}

pub(super) fn keep_visible(app: &mut App) {
    let visible = view::review::visible_rows(app);
    if let Some(queue) = &mut app.review.queue {
        let length = queue.shown.len();
        choose(&mut queue.selected, &mut queue.top, 0, length, visible);
    }
    for panel in 0..2 {
        let (rows, height) = view::review::extent(app, panel);
        let at = &mut app.review.scroll[panel];
        *at = (*at).min(rows.saturating_sub(height));
    }
}
