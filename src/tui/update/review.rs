//! Keys of reviewing a benchmark: the queue of its items, and the item on screen.

use crossterm::event::{KeyCode, KeyEvent};

use crate::domain::annotation::Part;
use crate::domain::build::Level;
use crate::domain::review::{Act, Change, Event, ItemKind, Reason, Verdict, form_of, read_form};
use crate::domain::text::{count, short};
use crate::tui::app::input::Input;
use crate::tui::app::review::{ReviewParts, ReviewQueue, StandAt, worst};
use crate::tui::app::{App, Overlay, Screen, Ticket};
use crate::tui::command::Command;
use crate::tui::editor::{Outside, Program, Purpose};
use crate::tui::effects::Effect;
use crate::tui::update::{choose, distance, facet, instance, scrolled};
use crate::tui::view;

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
    let was_open = app.review.queue.take().is_some() | app.review.opening.take().is_some();
    if !was_open || !matches!(app.screen, Screen::Review | Screen::ReviewItem) {
        return Vec::new();
    }
    app.screen = Screen::Review;
    app.review.note = None;
    begin(app, Part::Annotator, StandAt::First)
}

/// Reads a queue anew.
pub(super) fn begin(app: &mut App, part: Part, at: StandAt) -> Vec<Effect> {
    let Some(dataset) = app.data().cloned() else {
        return Vec::new();
    };
    let ticket = app.ticket();
    app.review.opening = Some((ticket, at));
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
    let Some((_, at)) = app.review.opening.take_if(|opening| opening.0 == ticket) else {
        return Vec::new();
    };
    let parts = match result {
        Ok(parts) => *parts,
        Err(problem) => {
            app.complain(problem.clone());
            app.review.problem = Some(problem);
            return Vec::new();
        }
    };
    let mut queue = ReviewQueue::new(parts, &app.annotate.hand(part));
    if part == Part::Adjudicator && queue.items.is_empty() {
        let text = no_dispute(&queue);
        app.complain(text);
        return Vec::new();
    }
    let pending = app.review.pending();
    queue.pending = pending;
    let on_item = match &at {
        StandAt::First => false,
        StandAt::Question(question) => {
            queue.choose_question(question);
            false
        }
        StandAt::Item(id) => {
            if !queue.choose(id) {
                // The item that was on screen stands before what the queue was narrowed to.
                queue.facets.clear();
                queue.narrow();
                queue.choose(id);
            }
            app.screen == Screen::ReviewItem
        }
    };
    app.review.queue = Some(queue);
    match on_item {
        true => open(app),
        false => {
            if app.screen == Screen::ReviewItem {
                app.screen = Screen::Review;
            }
            keep_visible(app);
        }
    }
    Vec::new()
}

fn no_dispute(queue: &ReviewQueue) -> String {
    match queue.others.len() {
        0 | 1 => "To decide between reviewers there must be two: start the explorer with --annotator NAME for another, or `medrgb build review import FILE`".to_owned(),
        _ => "There is nothing to decide: the reviewers agree on every item that two of them have decided".to_owned(),
    }
}

pub(super) fn run(app: &mut App, command: Command) -> Vec<Effect> {
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

/// Keys of the item on screen.
pub(super) fn run_on_item(app: &mut App, command: Command) -> Vec<Effect> {
    match command {
        Command::Accept => return accept(app),
        Command::Edit => return edit(app),
        Command::Reject => reject(app),
        Command::Undecide => {
            let undecided = Change::Verdict(None);
            let effects = change(app, undecided);
            if effects.is_empty() {
                app.say("nothing was decided about this item");
            }
            return effects;
        }
        Command::NextUndecided => next_undecided(app),
        Command::LabelNote => {
            let queue = app.review.queue.as_ref();
            let note = queue.and_then(|queue| Some(queue.decision(queue.item()?).note));
            app.review.note = Some(Input::new(&note.unwrap_or_default()));
        }
        Command::Undo => return undo(app, Act::Undo),
        Command::Redo => return undo(app, Act::Redo),
        Command::NextItem => step(app, 1),
        Command::PreviousItem => step(app, -1),
        Command::NextDiffView => {
            app.review.diff = app.review.diff.next();
            app.review.scroll[0] = 0;
        }
        Command::Adjudicate => return adjudicate(app),
        Command::ShowInstance => return show_instance(app),
        Command::FocusNext | Command::FocusPrevious => app.review.focus = 1 - app.review.focus,
        Command::Back => {
            app.screen = Screen::Review;
            settle(app);
        }
        _ => scroll(app, command),
    }
    Vec::new()
}

/// Shows the chosen item.
fn open(app: &mut App) {
    app.screen = Screen::ReviewItem;
    app.review.scroll = [0; 2];
    app.review.note = None;
    prepare(app);
}

/// Draws the chosen item anew after its content has changed.
fn prepare(app: &mut App) {
    let marks = app.theme.mono;
    if let Some(queue) = &mut app.review.queue {
        queue.prepare(marks);
    }
}

/// Changes the decision on the item on screen: in the state at once, on disk as soon as the disk can.
fn change(app: &mut App, change: Change) -> Vec<Effect> {
    let queue = app.review.queue.as_ref();
    let act = queue.and_then(|queue| Some(Act::on(&queue.item()?.found.item, change)));
    act.map_or_else(Vec::new, |act| perform(app, act))
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

/// Accepts the item and goes on.
fn accept(app: &mut App) -> Vec<Effect> {
    let effects = change(app, Change::Verdict(Some(Verdict::Accepted)));
    next_undecided(app);
    effects
}

/// Goes to the next item that is not decided.
fn next_undecided(app: &mut App) {
    let Some(queue) = &mut app.review.queue else {
        return;
    };
    let later = queue.next_undecided(queue.selected + 1);
    match later.or_else(|| queue.next_undecided(0)) {
        Some(row) if row == queue.selected => {
            app.say("this is the last item that is not decided");
        }
        Some(row) => {
            queue.selected = row;
            open(app);
        }
        None => {
            let (decided, _) = queue.progress();
            let name = queue.dataset.name.clone();
            let back = app.keymap.key(Command::Back);
            app.say(format!(
                "this queue is finished: {}. {back} goes back to it; `medrgb build review apply` writes {} with what was decided",
                count(decided, "item"),
                short(&name)
            ));
        }
    }
}

/// Opens the item in the editor: what it says now, or what could not be read the last time.
fn edit(app: &mut App) -> Vec<Effect> {
    let Some(queue) = &app.review.queue else {
        return Vec::new();
    };
    let Some(item) = queue.item() else {
        return Vec::new();
    };
    let id = item.found.item.id.clone();
    let kept = app.review.draft.as_ref().filter(|(of, _)| *of == id);
    let text = match kept {
        Some((_, text)) => text.clone(),
        None => {
            let truth = match item.found.item.kind() {
                ItemKind::SubQuestion => None,
                ItemKind::Edit => queue.truth(item).map(|(_, answer)| answer),
            };
            form_of(&item.found.item, queue.content(item), truth.as_deref())
        }
    };
    vec![Effect::OpenOutside(Box::new(Outside {
        program: Program::Editor,
        text,
        file: "item.txt",
        purpose: Purpose::Item { item: id },
    }))]
}

/// The text of an item as it was saved in the editor; `None` where it was left as it is.
pub(super) fn on_edited(app: &mut App, id: &str, text: Option<String>) -> Vec<Effect> {
    let Some(text) = text else {
        app.say("the item was left as it is");
        return Vec::new();
    };
    let queue = app.review.queue.as_ref();
    let item = queue.and_then(|queue| queue.item().map(|item| (queue, item)));
    let Some((queue, item)) = item.filter(|(_, item)| item.found.item.id == id) else {
        app.complain("The edited text was not kept: its item is no longer on screen");
        return Vec::new();
    };
    let read = read_form(&item.found.item, &text);
    let (own, now) = (item.found.item.content.clone(), queue.content(item).clone());
    match read {
        Err(why) => {
            let key = app.keymap.key(Command::Edit);
            app.review.draft = Some((id.to_owned(), text));
            app.complain(format!(
                "Nothing was changed: {why}; {key} opens your text again"
            ));
            Vec::new()
        }
        Ok(content) => {
            app.review.draft = None;
            let verdict = match content {
                None => None,
                Some(content) if content == now => None,
                // What is as it was in the dataset needs no edit.
                Some(content) if content == own => Some(Verdict::Accepted),
                Some(content) => Some(Verdict::Edited(content)),
            };
            let Some(verdict) = verdict else {
                app.say("nothing was changed");
                return Vec::new();
            };
            let effects = change(app, Change::Verdict(Some(verdict)));
            say_findings(app);
            effects
        }
    }
}

/// Says what the checks find in an item that was edited just now.
fn say_findings(app: &mut App) {
    let Some(queue) = &app.review.queue else {
        return;
    };
    let Some(item) = queue.item() else { return };
    let next = app.keymap.key(Command::NextUndecided);
    let found = count(item.found.issues.len(), "finding");
    match worst(&item.found) {
        None => app.say(format!(
            "edited; the checks find nothing. {next} goes on"
        )),
        Some(Level::Error) => app.complain(format!(
            "Edited, with {found}: a built item like this would be dropped. It counts as your decision all the same; {next} goes on"
        )),
        Some(_) => app.say(format!("edited, with {found} to look at. {next} goes on")),
    }
}

/// Asks why the item is rejected.
fn reject(app: &mut App) {
    let Some(queue) = &app.review.queue else {
        return;
    };
    let Some(item) = queue.item() else { return };
    let reasons = Reason::of(item.found.item.kind());
    let now = queue.book.verdict(&item.found.item.id);
    let (reason, words) = match now {
        Some(Verdict::Rejected { reason, words }) => (Some(*reason), words.clone()),
        // What the checks find is the first guess.
        _ => {
            let found = item.found.issues.first();
            (found.map(|issue| Reason::Check(issue.kind)), String::new())
        }
    };
    let selected = reason
        .and_then(|reason| reasons.iter().position(|one| *one == reason))
        .unwrap_or(0);
    app.overlay = Some(Overlay::Reject {
        reasons,
        selected,
        words: Input::new(&words),
        typing: false,
    });
}

/// Keys while it is asked why an item is rejected.
pub(super) fn on_reject_key(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    let Some(Overlay::Reject {
        reasons,
        selected,
        words,
        typing,
    }) = &mut app.overlay
    else {
        return Vec::new();
    };
    let last = reasons.len().saturating_sub(1);
    if *typing {
        match key.code {
            KeyCode::Esc => *typing = false,
            KeyCode::Enter => return rejected(app),
            _ => {
                words.key(key);
            }
        }
        return Vec::new();
    }
    match key.code {
        KeyCode::Esc | KeyCode::Char('q') => app.overlay = None,
        KeyCode::Up | KeyCode::Char('k') => *selected = selected.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => *selected = (*selected + 1).min(last),
        KeyCode::Home => *selected = 0,
        KeyCode::End => *selected = last,
        KeyCode::Char('n') => *typing = true,
        KeyCode::Enter => {
            let other = reasons.get(*selected) == Some(&Reason::Other);
            if other && words.text().trim().is_empty() {
                *typing = true;
                return Vec::new();
            }
            return rejected(app);
        }
        _ => {}
    }
    Vec::new()
}

/// Rejects the item for the chosen reason and goes on.
fn rejected(app: &mut App) -> Vec<Effect> {
    let Some(Overlay::Reject {
        reasons,
        selected,
        words,
        ..
    }) = &app.overlay
    else {
        return Vec::new();
    };
    let Some(reason) = reasons.get(*selected).copied() else {
        return Vec::new();
    };
    let words = words.text().trim().to_owned();
    if reason == Reason::Other && words.is_empty() {
        app.complain("Say the reason in your own words, or choose one of the list with esc");
        return Vec::new();
    }
    app.overlay = None;
    let effects = change(
        app,
        Change::Verdict(Some(Verdict::Rejected { reason, words })),
    );
    next_undecided(app);
    effects
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

fn step(app: &mut App, by: isize) {
    let Some(queue) = &mut app.review.queue else {
        return;
    };
    match queue.selected.checked_add_signed(by) {
        Some(row) if row < queue.shown.len() => {
            queue.selected = row;
            open(app);
        }
        _ => app.say(match by {
            1 => "this is the last item of the queue",
            _ => "this is the first item of the queue",
        }),
    }
}

/// Opens the item's question on the instance screen.
fn show_instance(app: &mut App) -> Vec<Effect> {
    let queue = app.review.queue.as_ref();
    let question = queue.and_then(|queue| Some(queue.item()?.found.item.question_id.clone()));
    let index = question.and_then(|id| app.data()?.position(&id));
    match index {
        Some(index) => instance::open(app, index),
        None => Vec::new(),
    }
}

/// Keys while the note is written.
pub(super) fn on_typing(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    let Some(note) = &mut app.review.note else {
        return Vec::new();
    };
    match key.code {
        KeyCode::Enter => {
            let text = note.text().trim().to_owned();
            app.review.note = None;
            return change(app, Change::Note(text));
        }
        KeyCode::Esc => app.review.note = None,
        _ => {
            note.key(key);
        }
    }
    Vec::new()
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

fn scroll(app: &mut App, command: Command) {
    let panel = app.review.focus.min(1);
    let (rows, height) = view::review::extent(app, panel);
    if let Some(by) = distance(command, height) {
        app.review.scroll[panel] = scrolled(app.review.scroll[panel], by, rows, height);
    }
}
