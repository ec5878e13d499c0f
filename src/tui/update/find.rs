//! Keys and jobs of full-text search.

use crossterm::event::{KeyCode, KeyEvent};

use crate::domain::annotation::Part;
use crate::tui::app::annotate::ReplyPlace;
use crate::tui::app::find::FindIndex;
use crate::tui::app::{App, Screen, Ticket};
use crate::tui::command::Command;
use crate::tui::effects::Effect;
use crate::tui::message::FindEvent;
use crate::tui::update::{browse, choose, distance, instance, queue};
use crate::tui::view;

/// Opens the screen, ready to be typed on.
pub(super) fn open(app: &mut App) -> Vec<Effect> {
    let Some(dataset) = app.data().cloned() else {
        return Vec::new();
    };
    app.find.from = Some(app.screen);
    app.find.kept = None;
    app.screen = Screen::Find;
    app.find.typing = true;
    let run = app.browse.run.clone();
    let current = match &app.find.index {
        FindIndex::Building(..) => app.find.run == run,
        FindIndex::Ready(_) => app.find.run == run && !app.find.stale,
        _ => false,
    };
    if current {
        return Vec::new();
    }
    let ticket = app.ticket();
    app.find.index = FindIndex::Building(ticket, None);
    app.find.run.clone_from(&run);
    app.find.stale = false;
    app.find.asked.clear();
    vec![Effect::IndexTexts {
        ticket,
        dataset,
        run,
        annotator: app.annotate.annotator.clone(),
    }]
}

/// Searches for the words, unless the hits answer them already.
fn search(app: &mut App) -> Vec<Effect> {
    let words = app.find.input.text().trim().to_owned();
    if words == app.find.asked || !matches!(app.find.index, FindIndex::Ready(_)) {
        return Vec::new();
    }
    let ticket = app.ticket();
    let find = &mut app.find;
    find.asked.clone_from(&words);
    find.problem = None;
    (find.selected, find.top) = (0, 0);
    if words.is_empty() {
        find.hits.clear();
        find.asking = None;
        return Vec::new();
    }
    find.asking = Some(ticket);
    vec![Effect::FindText {
        ticket,
        query: words,
    }]
}

pub(super) fn on_event(app: &mut App, ticket: Ticket, event: FindEvent) -> Vec<Effect> {
    let building = match app.find.index {
        FindIndex::Building(of, _) => of == ticket,
        _ => false,
    };
    match event {
        FindEvent::Progress(done, total) if building => {
            app.find.index = FindIndex::Building(ticket, Some((done, total)));
        }
        FindEvent::Indexed(result) if building => {
            app.find.index = match result {
                Ok(counts) => FindIndex::Ready(counts),
                Err(problem) => FindIndex::Failed(problem),
            };
            return search(app);
        }
        FindEvent::Found(result) if app.find.asking == Some(ticket) => {
            app.find.asking = None;
            (app.find.hits, app.find.problem) = match result {
                Ok(hits) => (hits, None),
                Err(problem) => (Vec::new(), Some(problem)),
            };
        }
        _ => {}
    }
    Vec::new()
}

/// Keys while words are typed: arrows still move in the list.
pub(super) fn on_typing(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    match key.code {
        KeyCode::Up | KeyCode::Esc if app.find.kept.is_some() && blank(app) => {
            if let Some(kept) = app.find.kept.take() {
                app.find.input = kept;
            }
            app.find.typing = key.code == KeyCode::Up;
            return search(app);
        }
        KeyCode::Enter if !app.find.hits.is_empty() => app.find.typing = false,
        KeyCode::Esc if app.find.hits.is_empty() => return back(app),
        KeyCode::Esc => app.find.typing = false,
        KeyCode::Up => return run(app, Command::Up),
        KeyCode::Down => return run(app, Command::Down),
        KeyCode::PageUp => return run(app, Command::PageUp),
        KeyCode::PageDown => return run(app, Command::PageDown),
        _ => {
            app.find.input.key(key);
            return search(app);
        }
    }
    Vec::new()
}

/// Whether no words are there.
fn blank(app: &App) -> bool {
    app.find.input.text().trim().is_empty()
}

pub(super) fn paste(app: &mut App, text: &str) -> Vec<Effect> {
    app.find.input.paste(text);
    search(app)
}

pub(super) fn run(app: &mut App, command: Command) -> Vec<Effect> {
    let visible = view::find::visible_hits(app);
    if let Some(by) = distance(command, visible) {
        let find = &mut app.find;
        let length = find.hits.len();
        choose(&mut find.selected, &mut find.top, by, length, visible);
        return Vec::new();
    }
    match command {
        Command::EditQuery => app.find.typing = true,
        Command::NewQuery => {
            app.find.kept = Some(std::mem::take(&mut app.find.input));
            app.find.typing = true;
            return search(app);
        }
        Command::Open => return open_hit(app),
        Command::Back => return back(app),
        _ => {}
    }
    Vec::new()
}

fn back(app: &mut App) -> Vec<Effect> {
    app.find.typing = false;
    app.screen = match (app.find.from, &app.instance) {
        (Some(Screen::Instance), Some(_)) => Screen::Instance,
        _ => Screen::Browse,
    };
    match app.screen {
        Screen::Browse => browse::settle(app),
        _ => Vec::new(),
    }
}

/// Opens what was found: a question with its documents, or the reply that holds the words.
fn open_hit(app: &mut App) -> Vec<Effect> {
    let Some(hit) = app.find.hits.get(app.find.selected).cloned() else {
        return Vec::new();
    };
    if let Some((run, reply)) = hit.reply {
        app.annotate.from = Screen::Queue;
        let open = app.annotate.queue.as_mut();
        if let Some(queue) = open.filter(|queue| queue.run == run && queue.part == Part::Annotator)
            && queue.choose(&reply)
        {
            return crate::tui::update::annotate::open(app);
        }
        app.screen = Screen::Annotate;
        app.annotate.queue = None;
        let at = ReplyPlace {
            reply: Some(reply),
            row: None,
            question: Some(hit.question_id),
        };
        return queue::begin(app, run, Part::Annotator, Some(at));
    }
    let position = app
        .data()
        .and_then(|dataset| dataset.position(&hit.question_id));
    match position {
        Some(index) => {
            app.browse.choose(index);
            instance::open(app, index)
        }
        None => Vec::new(),
    }
}

pub(super) fn keep_visible(app: &mut App) {
    let visible = view::find::visible_hits(app);
    let find = &mut app.find;
    let length = find.hits.len();
    choose(&mut find.selected, &mut find.top, 0, length, visible);
}
