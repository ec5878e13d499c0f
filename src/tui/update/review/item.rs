//! Keys of the item on screen: accepting, editing, notes, going on.

use crossterm::event::{KeyCode, KeyEvent};

use super::reject::reject;
use super::{adjudicate, open, perform, settle, undo};
use crate::domain::build::Level;
use crate::domain::review::{Act, Change, ItemKind, Verdict, form_of, read_form};
use crate::domain::text::{count, short};
use crate::tui::app::input::Input;
use crate::tui::app::review::worst;
use crate::tui::app::{App, Screen};
use crate::tui::command::Command;
use crate::tui::editor::{Outside, Program, Purpose};
use crate::tui::effects::Effect;
use crate::tui::update::{distance, instance, scrolled};
use crate::tui::view;

/// Keys of the item on screen.
pub(in crate::tui::update) fn run_on_item(app: &mut App, command: Command) -> Vec<Effect> {
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
            app.review.scroll[0] = view::review::first_in_sight(app);
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

/// Changes the decision on the item on screen: in the state at once, on disk as soon as the disk can.
pub(super) fn change(app: &mut App, change: Change) -> Vec<Effect> {
    let queue = app.review.queue.as_ref();
    let act = queue.and_then(|queue| Some(Act::on(&queue.item()?.found.item, change)));
    act.map_or_else(Vec::new, |act| perform(app, act))
}

/// Accepts the item and goes on. What the person has made of it stands on screen, so that it is what is accepted.
fn accept(app: &mut App) -> Vec<Effect> {
    let queue = app.review.queue.as_ref();
    let id = queue.and_then(|queue| Some(queue.item()?.found.item.id.as_str()));
    let verdict = queue.zip(id).and_then(|(queue, id)| queue.book.verdict(id));
    if matches!(verdict, Some(Verdict::Edited(_))) {
        let key = |command| app.keymap.key(command);
        let text = format!(
            "your edit stays, which accepts it; {}, then {} takes the item as it was",
            key(Command::Undecide),
            key(Command::Accept)
        );
        app.say(text);
        next_undecided(app);
        return Vec::new();
    }
    let effects = change(app, Change::Verdict(Some(Verdict::Accepted)));
    next_undecided(app);
    effects
}

/// Goes to the next item that is not decided.
pub(super) fn next_undecided(app: &mut App) {
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
pub(in crate::tui::update) fn on_edited(
    app: &mut App,
    id: &str,
    text: Option<String>,
) -> Vec<Effect> {
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
pub(in crate::tui::update) fn on_typing(app: &mut App, key: KeyEvent) -> Vec<Effect> {
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

fn scroll(app: &mut App, command: Command) {
    let panel = app.review.focus.min(1);
    let (rows, height) = view::review::extent(app, panel);
    if let Some(by) = distance(command, height) {
        app.review.scroll[panel] = scrolled(app.review.scroll[panel], by, rows, height);
    }
}
