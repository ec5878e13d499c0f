//! Keys of labelling a reply.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::data::annotations::reply_id;
use crate::data::session::NoteDraft;
use crate::data::store::ReplyRecord;
use crate::domain::annotation::{Act, Change, Event, Part};
use crate::domain::context::Condition;
use crate::domain::text::{count, short};
use crate::tui::app::annotate::{Item, Kept, OpenReply, ReplyPlace, Sent};
use crate::tui::app::input::{Input, LONGEST};
use crate::tui::app::{App, Screen, Ticket};
use crate::tui::command::Command;
use crate::tui::effects::Effect;
use crate::tui::update::{distance, instance, outside, queue, scrolled};
use crate::tui::view;

/// Shows the chosen reply of the queue.
pub(super) fn open(app: &mut App) -> Vec<Effect> {
    let blind = app.annotate.blind;
    let ticket = app.ticket();
    let annotate = &mut app.annotate;
    let Some(queue) = &mut annotate.queue else {
        return Vec::new();
    };
    let Some(at) = queue.current() else {
        return Vec::new();
    };
    if !queue.hides(at, blind) && queue.part == Part::Annotator {
        queue.seen.insert(at);
    }
    annotate.scroll = [0; 2];
    annotate.explained = None;
    app.screen = Screen::Annotate;
    keep_typed(app);
    let Some(queue) = &mut app.annotate.queue else {
        return Vec::new();
    };
    if queue.open.as_ref().is_some_and(|(open, _)| *open == at) {
        return Vec::new();
    }
    queue.open = None;
    queue.reading = Some(ticket);
    let id = queue.items.get(at).map_or(0, |item| item.brief.id);
    vec![Effect::LoadReply { ticket, id }]
}

/// A note that is being written stays open on its own reply; on another, what is not saved of that one's note opens.
fn keep_typed(app: &mut App) {
    let here = app.annotate.blank_draft();
    if app.annotate.note.is_some() && app.annotate.note_of == here {
        return;
    }
    let annotate = &mut app.annotate;
    if let (Some(note), Some(of)) = (annotate.note.take(), annotate.note_of.take()) {
        annotate.keep_draft(NoteDraft {
            text: note.text().to_owned(),
            ..of
        });
    }
    let said = annotate.queue.as_ref().map(|queue| queue.said().note);
    let Some(draft) = annotate.draft().cloned() else {
        return;
    };
    if said.as_ref() == Some(&draft.text) {
        annotate.keep_draft(NoteDraft {
            text: String::new(),
            ..draft
        });
        return;
    }
    let text = match is_line(&draft.text) {
        true => {
            annotate.note = Some(Input::new(&draft.text));
            annotate.note_of = here;
            "this note is not saved yet: enter saves it, esc drops it".to_owned()
        }
        false => {
            let key = app.keymap.key(Command::EditNote);
            format!("a note on this reply is not saved yet: {key} opens it in your editor")
        }
    };
    if app.notice.is_none() {
        app.say(text);
    }
}

/// Whether a line shows all of a note: it would lose what an editor has written over several.
fn is_line(note: &str) -> bool {
    !note.contains('\n') && note.len() <= LONGEST
}

/// A reply was read. It has its id now, so that keys which came too early do what they say.
pub(super) fn on_reply(
    app: &mut App,
    ticket: Ticket,
    result: Result<Option<Box<ReplyRecord>>, String>,
) -> Vec<Effect> {
    let Some(queue) = &mut app.annotate.queue else {
        return Vec::new();
    };
    if queue.reading != Some(ticket) {
        return Vec::new();
    }
    queue.reading = None;
    let at = queue.current();
    let opened = match result {
        Ok(Some(record)) => {
            if let Some(at) = at {
                queue.identify(at, reply_id(&record));
            }
            Ok(OpenReply::of(&record))
        }
        Ok(None) => Err("this reply is no longer in the store".to_owned()),
        Err(problem) => Err(problem),
    };
    queue.open = at.map(|at| (at, opened));
    let early = std::mem::take(&mut app.annotate.early);
    if app.screen != Screen::Annotate {
        return Vec::new();
    }
    keep_typed(app);
    let known = identified(app);
    let keys = early.into_iter().filter(|_| known);
    keys.flat_map(|key| super::on_key(app, key)).collect()
}

/// Whether the chosen reply has an id, so that something can be said of it.
fn identified(app: &App) -> bool {
    let queue = app.annotate.queue.as_ref();
    let item = queue.and_then(|queue| queue.item());
    item.is_some_and(|item| item.reply_id().is_some())
}

/// More keys than anyone types while a reply is read.
const EARLY: usize = 100;

/// Keeps a key for a reply that is being read, and says whether it did: without its id nothing can be said of it. Going
/// back doesn't wait.
pub(super) fn waits(app: &mut App, key: KeyEvent, command: Option<Command>) -> bool {
    if command == Some(Command::Back) {
        app.annotate.early.clear();
        return false;
    }
    let queue = app.annotate.queue.as_ref();
    let reading = queue.is_some_and(|queue| queue.reading.is_some());
    let wait = reading && !identified(app) && app.annotate.early.len() < EARLY;
    if wait {
        app.annotate.early.push(key);
    }
    wait
}

/// Whether a key sets a label; then it does nothing else.
pub(super) fn on_label_key(app: &mut App, key: KeyEvent) -> Option<Vec<Effect>> {
    let KeyCode::Char(letter) = key.code else {
        return None;
    };
    if key
        .modifiers
        .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
    {
        return None;
    }
    let label = app.annotate.taxonomy.keyed(letter)?.id.clone();
    app.annotate.explained = Some(label.clone());
    let queue = app.annotate.queue.as_ref()?;
    let mut labels = queue.said().labels;
    if !labels.remove(&label) {
        labels.insert(label);
    }
    Some(change(app, Change::Labels(labels)))
}

/// Changes the annotation of the reply on screen: in the state at once, on disk as soon as the disk can.
fn change(app: &mut App, change: Change) -> Vec<Effect> {
    let act = app
        .annotate
        .queue
        .as_ref()
        .and_then(|queue| queue.change(change));
    act.map_or_else(Vec::new, |act| perform(app, act))
}

/// Does an act where it changes something.
pub(super) fn perform(app: &mut App, act: Act) -> Vec<Effect> {
    let event = Event {
        at: String::new(),
        taxonomy: app.annotate.taxonomy.stamp(),
        act,
    };
    let Some(queue) = &mut app.annotate.queue else {
        return Vec::new();
    };
    let base = Box::new(queue.base(&event.act));
    if queue.apply(&event).is_none() {
        return Vec::new();
    }
    let (run, part) = (queue.run.clone(), queue.part);
    app.annotate.sent.push_back(Sent {
        run: run.clone(),
        part,
        event: event.clone(),
    });
    app.stored_changed();
    vec![Effect::Annotate {
        run,
        hand: app.annotate.hand(part),
        event,
        base,
    }]
}

/// An act is on disk, or is not.
pub(super) fn on_written(app: &mut App, result: Result<Kept, String>) -> Vec<Effect> {
    let sent = app.annotate.sent.pop_front();
    match result {
        Err(problem) => not_saved(app, sent, problem),
        Ok(kept) => {
            app.annotate.not_saved = None;
            match kept {
                Kept::AsGiven => Vec::new(),
                Kept::BesideAnother => beside_another(app),
            }
        }
    }
}

/// The queue is read again, so that the screen shows what is, at the reply whose act was not saved. A note stays open
/// with what was written.
fn not_saved(app: &mut App, sent: Option<Sent>, problem: String) -> Vec<Effect> {
    app.complain(format!("That was NOT saved: {problem}"));
    app.annotate.not_saved = Some(problem);
    let change = sent.and_then(|sent| match sent.event.act {
        Act::Change {
            reply,
            question_id,
            change,
        } => Some(((sent.run, sent.part, reply, question_id), change)),
        Act::Undo | Act::Redo => None,
    });
    if let Some(((run, part, reply, _), Change::Note(text))) = &change {
        let place = app.annotate.draft_of(run, *part, reply.clone());
        app.annotate.keep_draft(NoteDraft {
            text: text.clone(),
            ..place
        });
    }
    let of = change.map(|(of, _)| of);
    let Some(queue) = &app.annotate.queue else {
        return Vec::new();
    };
    let (run, part) = (queue.run.clone(), queue.part);
    let of_queue = |(of_run, of_part, reply, question): (String, Part, String, String)| {
        (of_run == run && of_part == part).then_some(ReplyPlace {
            reply: Some(reply),
            row: None,
            question: Some(question),
        })
    };
    let here = || queue.item().map(Item::place);
    // Of several that fail, the first says where one goes back to.
    let before = match &app.annotate.opening {
        Some((_, opening, at)) if *opening == run => at.clone(),
        _ => None,
    };
    let at = before.or_else(|| of.and_then(of_queue)).or_else(here);
    queue::begin(app, run, part, at)
}

/// The same person labels in another window too: what was said there is shown.
fn beside_another(app: &mut App) -> Vec<Effect> {
    let Some(queue) = &app.annotate.queue else {
        return Vec::new();
    };
    let (run, part) = (queue.run.clone(), queue.part);
    let here = queue.item().map(Item::place);
    let effects = queue::begin(app, run, part, here);
    let name = app.annotate.annotator.clone();
    app.say(format!(
        "{name} labels in another window too: what was said there and here is kept, and shown now"
    ));
    effects
}

pub(super) fn run(app: &mut App, command: Command) -> Vec<Effect> {
    match command {
        Command::Done => return done(app),
        Command::LabelNote => {
            let note = app.annotate.note_so_far();
            if !is_line(&note) {
                return outside::edit_note(app);
            }
            app.annotate.note = Some(Input::new(&note));
            app.annotate.note_of = app.annotate.blank_draft();
        }
        Command::EditNote => return outside::edit_note(app),
        Command::Unsure => {
            let queue = app.annotate.queue.as_ref();
            let unsure = queue.is_some_and(|queue| queue.said().unsure);
            return change(app, Change::Unsure(!unsure));
        }
        Command::Undo => return undo(app, Act::Undo),
        Command::Redo => return undo(app, Act::Redo),
        Command::NextReply => return step(app, 1),
        Command::PreviousReply => return step(app, -1),
        Command::Blind => toggle_blind(app),
        Command::Adjudicate => return queue::adjudicate(app),
        Command::ShowInstance => return show_instance(app),
        Command::ToggleRaw => {
            app.annotate.raw = !app.annotate.raw;
            app.annotate.scroll[1] = 0;
        }
        Command::FocusNext | Command::FocusPrevious => app.annotate.focus = 1 - app.annotate.focus,
        Command::NextDocument => jump(app, true),
        Command::PreviousDocument => jump(app, false),
        Command::Back => {
            app.screen = match (app.annotate.from, &app.instance) {
                (Screen::Instance, Some(_)) => Screen::Instance,
                _ => Screen::Queue,
            };
            app.annotate.from = Screen::Queue;
            queue::settle(app);
        }
        _ => scroll(app, command),
    }
    Vec::new()
}

/// Finishes the reply. What was hidden is shown first; else, or when it is finished already, the next one that
/// is not follows.
fn done(app: &mut App) -> Vec<Effect> {
    let hidden = app.annotate.hidden();
    let Some(queue) = &app.annotate.queue else {
        return Vec::new();
    };
    let Some((at, item)) = queue.current().zip(queue.item()) else {
        return Vec::new();
    };
    let mut effects = Vec::new();
    let said = queue.said();
    let finishing = !queue.is_done(item);
    let silent = finishing && said.labels.is_empty() && said.note.is_empty() && !said.unsure;
    if finishing {
        let blind = hidden && !queue.seen.contains(&at);
        // What one who decides was shown as agreed on is what is decided.
        let said = item.reply_id().and_then(|reply| queue.book.get(reply));
        if queue.part == Part::Adjudicator && said.is_none() {
            let labels = queue.said().labels;
            if !labels.is_empty() {
                effects.extend(change(app, Change::Labels(labels)));
            }
        }
        effects.extend(change(app, Change::Done { done: true, blind }));
        if hidden {
            let done = app.keymap.key(Command::Done);
            app.say(format!(
                "done; gold answer and roles are shown now, {done} goes on to the next reply"
            ));
            return effects;
        }
    }
    effects.extend(next_undone(app));
    if silent && app.notice.is_none() {
        let undo = app.keymap.key(Command::Undo);
        app.say(format!(
            "finished without a label: nothing went wrong; {undo} takes it back"
        ));
    }
    effects
}

fn next_undone(app: &mut App) -> Vec<Effect> {
    let Some(queue) = &mut app.annotate.queue else {
        return Vec::new();
    };
    let later = queue.next_undone(queue.selected + 1);
    match later.or_else(|| queue.next_undone(0)) {
        Some(row) => {
            queue.selected = row;
            open(app)
        }
        None => {
            let (done, _) = queue.progress();
            let run = queue.run.clone();
            let back = app.keymap.key(Command::Back);
            app.say(format!(
                "this queue is finished: {}. {back} goes back to it; `medrgb annotate export --run {}` writes what you said",
                count(done, "reply"),
                short(&run)
            ));
            Vec::new()
        }
    }
}

/// Takes back the last change, or makes it again, and goes to its reply.
pub(super) fn undo(app: &mut App, act: Act) -> Vec<Effect> {
    let word = match act {
        Act::Redo => "made again",
        _ => "taken back",
    };
    let before = app.annotate.queue.as_ref().map(|queue| queue.book.clone());
    let event = Event {
        at: String::new(),
        taxonomy: app.annotate.taxonomy.stamp(),
        act: act.clone(),
    };
    // Tried on a copy, to know where it leads.
    let Some(moved) = before.and_then(|mut book| book.apply(&event)) else {
        app.say(match act {
            Act::Redo => "there is nothing to make again",
            _ => "there is nothing to take back",
        });
        return Vec::new();
    };
    let mut effects = perform(app, act);
    let Some(queue) = &mut app.annotate.queue else {
        return effects;
    };
    let here = queue.item().and_then(Item::reply_id);
    let elsewhere = here != Some(moved.reply.as_str());
    let found = !elsewhere || queue.choose(&moved.reply);
    let where_to = match (elsewhere, found) {
        (false, _) => String::new(),
        (true, true) => ", on its reply now".to_owned(),
        (true, false) => ", on a reply that this queue does not show".to_owned(),
    };
    let question = crate::tui::widgets::line::one_line(&moved.question_id);
    app.say(format!(
        "the last change of {question} was {word}{where_to}"
    ));
    if elsewhere && found && app.screen == Screen::Annotate {
        let notice = app.notice.take();
        effects.extend(open(app));
        app.notice = notice;
    }
    effects
}

fn step(app: &mut App, by: isize) -> Vec<Effect> {
    let Some(queue) = &mut app.annotate.queue else {
        return Vec::new();
    };
    match queue.selected.checked_add_signed(by) {
        Some(row) if row < queue.shown.len() => {
            queue.selected = row;
            open(app)
        }
        _ => {
            app.say(match by {
                1 => "this is the last reply of the queue",
                _ => "this is the first reply of the queue",
            });
            Vec::new()
        }
    }
}

/// Turns blind mode on or off; what was seen open does not count as blind any more.
pub(super) fn toggle_blind(app: &mut App) {
    app.annotate.blind = !app.annotate.blind;
    let blind = app.annotate.blind;
    if app.screen == Screen::Annotate
        && !blind
        && let Some(queue) = &mut app.annotate.queue
        && let Some(at) = queue.current()
    {
        // What the queue is narrowed to counts again once one is back in it: the reply on screen stays.
        queue.seen.insert(at);
    } else {
        queue::settle(app);
    }
    app.say(match blind {
        true => "blind: gold answers, roles and outcomes are hidden until a reply is done",
        false => "no longer blind: gold answers, roles and outcomes are shown",
    });
}

/// Opens the reply's question under its condition on the instance screen.
fn show_instance(app: &mut App) -> Vec<Effect> {
    let found = app.annotate.queue.as_ref().and_then(|queue| {
        let brief = &queue.item()?.brief;
        Some((
            brief.question.dataset_fingerprint.clone(),
            brief.question.id.clone(),
            *brief.condition,
        ))
    });
    let Some((fingerprint, question_id, condition)) = found else {
        return Vec::new();
    };
    if app.annotate.hidden() {
        app.complain("The instance screen shows gold answer and roles; finish this reply first, or turn blind mode off");
        return Vec::new();
    }
    let position = app
        .data()
        .filter(|dataset| dataset.fingerprint == *fingerprint)
        .and_then(|dataset| dataset.position(&question_id));
    let Some(index) = position else {
        app.complain("This reply is about another dataset than the one that is open; `medrgb FOLDER` opens its folder");
        return Vec::new();
    };
    let effects = instance::open(app, index);
    under(app, condition);
    effects
}

fn under(app: &mut App, condition: Condition) {
    let Some(dataset) = app.data().cloned() else {
        return;
    };
    let marks = app.theme.mono;
    if let Some(state) = &mut app.instance {
        state.recompose(&dataset, &app.settings.templates, condition, marks);
    }
}

/// Keys while the note is written.
pub(super) fn on_typing(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    let Some(note) = &mut app.annotate.note else {
        return Vec::new();
    };
    match key.code {
        KeyCode::Enter => {
            let text = note.text().trim().to_owned();
            end_note(app);
            return change(app, Change::Note(text));
        }
        KeyCode::Esc => end_note(app),
        _ => {
            note.key(key);
        }
    }
    Vec::new()
}

/// The note is handed over, or dropped.
fn end_note(app: &mut App) {
    app.annotate.note = None;
    if let Some(of) = app.annotate.note_of.take() {
        app.annotate.keep_draft(of);
    }
}

fn scroll(app: &mut App, command: Command) {
    let panel = view::annotate::focused(app);
    let (rows, height) = view::annotate::extent(app, panel);
    if let Some(by) = distance(command, height) {
        app.annotate.scroll[panel] = scrolled(app.annotate.scroll[panel], by, rows, height);
    }
}

/// Scrolls to the next or previous document (or part of the page).
fn jump(app: &mut App, forward: bool) {
    let panel = view::annotate::focused(app);
    let (rows, height) = view::annotate::extent(app, panel);
    let at = app.annotate.scroll[panel];
    let anchors = view::annotate::anchors(app, panel);
    let next = match forward {
        true => anchors.into_iter().find(|anchor| *anchor > at),
        false => anchors.into_iter().rev().find(|anchor| *anchor < at),
    };
    if let Some(next) = next {
        app.annotate.scroll[panel] = next.min(rows.saturating_sub(height));
    }
}

pub(super) fn clamp(app: &mut App) {
    for panel in 0..2 {
        let (rows, height) = view::annotate::extent(app, panel);
        let at = &mut app.annotate.scroll[panel];
        *at = (*at).min(rows.saturating_sub(height));
    }
}
