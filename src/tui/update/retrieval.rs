//! Keys and jobs of live search.

use crossterm::event::{KeyCode, KeyEvent};

use crate::tui::app::input::Input;
use crate::tui::app::retrieval::{BuildState, IndexState, METHODS};
use crate::tui::app::{App, Screen, Ticket};
use crate::tui::command::Command;
use crate::tui::effects::Effect;
use crate::tui::message::{IndexEvent, SearchNews};
use crate::tui::update::{choose, distance};
use crate::tui::view;

/// Opens the screen with the question at hand as the query.
pub(super) fn open(app: &mut App) -> Vec<Effect> {
    let Some(dataset) = app.data().cloned() else {
        return Vec::new();
    };
    let index = match app.screen {
        Screen::Instance => app.instance.as_ref().map(|state| state.index),
        _ => app.browse.current(),
    };
    app.retrieval.from = Some(app.screen);
    app.screen = Screen::Retrieval;
    if let Some(question) = index.and_then(|index| dataset.questions.get(index))
        && app.retrieval.question.as_ref() != Some(&question.id)
    {
        app.retrieval.query = Input::new(&question.text);
        app.retrieval.question = Some(question.id.clone());
        app.retrieval.asked.clear();
    }
    let mut effects = match app.retrieval.index {
        IndexState::None => build(app),
        _ => Vec::new(),
    };
    effects.extend(search(app));
    effects
}

fn build(app: &mut App) -> Vec<Effect> {
    let Some(dataset) = app.data().cloned() else {
        return Vec::new();
    };
    if let IndexState::Building { .. } = app.retrieval.index {
        app.say("the index is being built already");
        return Vec::new();
    }
    let ticket = app.ticket();
    app.retrieval.index = IndexState::Building {
        ticket,
        progress: None,
        encoder: None,
    };
    app.retrieval.note = None;
    // The old answers are of an index that is gone; the new service is asked for the same query at once.
    app.retrieval.asked.clear();
    let mut effects = vec![Effect::BuildIndex { ticket, dataset }];
    effects.extend(search(app));
    effects
}

/// Searches for the query line, unless the lists answer it already.
pub(super) fn search(app: &mut App) -> Vec<Effect> {
    let query = app.retrieval.query.text().trim().to_owned();
    // What failed is asked again: a server may be back.
    let answered = app
        .retrieval
        .lists
        .iter()
        .any(|list| matches!(list, Some(Ok(_))));
    let known = answered || app.retrieval.searching;
    if query.is_empty() || (query == app.retrieval.asked && known) {
        return Vec::new();
    }
    let ticket = app.ticket();
    let retrieval = &mut app.retrieval;
    retrieval.asking = Some(ticket);
    retrieval.searching = true;
    retrieval.asked.clone_from(&query);
    retrieval.lists = [None, None, None];
    retrieval.recall = None;
    retrieval.measures = [None; 3];
    retrieval.absent = false;
    retrieval.map = None;
    retrieval.selected = [0; 3];
    retrieval.top = [0; 3];
    vec![asking(app, ticket)]
}

/// The search for what the lists answer, or will answer.
fn asking(app: &App, ticket: Ticket) -> Effect {
    Effect::Search {
        ticket,
        query: app.retrieval.asked.clone(),
        k: app.settings.k,
        question_id: app.retrieval.question.clone(),
    }
}

/// The shown query once more, by the index that has become ready; the lists stay until the answer comes.
fn again(app: &mut App) -> Vec<Effect> {
    match app.retrieval.asking {
        Some(ticket) if !app.retrieval.asked.is_empty() => {
            app.retrieval.searching = true;
            vec![asking(app, ticket)]
        }
        _ => Vec::new(),
    }
}

pub(super) fn run(app: &mut App, command: Command) -> Vec<Effect> {
    let visible = view::retrieval::visible_hits(app);
    if let Some(by) = distance(command, visible) {
        let list = app.retrieval.focus;
        let length = app.retrieval.hits(list);
        let retrieval = &mut app.retrieval;
        choose(
            &mut retrieval.selected[list],
            &mut retrieval.top[list],
            by,
            length,
            visible,
        );
        return Vec::new();
    }
    match command {
        Command::EditQuery => app.retrieval.typing = true,
        Command::FocusNext => app.retrieval.focus = (app.retrieval.focus + 1) % METHODS.len(),
        Command::FocusPrevious => {
            app.retrieval.focus = (app.retrieval.focus + METHODS.len() - 1) % METHODS.len();
        }
        Command::Zoom => {
            app.retrieval.map_page = false;
            app.retrieval.zoom = !app.retrieval.zoom;
        }
        Command::ToggleMap => app.retrieval.map_page = !app.retrieval.map_page,
        Command::Rebuild => return build(app),
        Command::CancelBuild => {
            if let IndexState::Building { ticket, .. } = app.retrieval.index {
                return vec![Effect::Cancel(ticket)];
            }
            app.say("nothing is being built");
        }
        Command::Back => {
            if app.retrieval.map_page {
                app.retrieval.map_page = false;
            } else if app.retrieval.zoom {
                app.retrieval.zoom = false;
            } else {
                app.screen = app.retrieval.from.unwrap_or(Screen::Browse);
            }
        }
        _ => {}
    }
    Vec::new()
}

/// Keys while the query is typed.
pub(super) fn on_typing(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    match key.code {
        KeyCode::Enter => {
            app.retrieval.typing = false;
            let mut effects = match app.retrieval.index {
                IndexState::None => build(app),
                _ => Vec::new(),
            };
            effects.extend(search(app));
            effects
        }
        KeyCode::Esc => {
            app.retrieval.typing = false;
            Vec::new()
        }
        _ => {
            app.retrieval.query.key(key);
            Vec::new()
        }
    }
}

pub(super) fn on_index(app: &mut App, ticket: Ticket, event: IndexEvent) -> Vec<Effect> {
    let IndexState::Building {
        ticket: current,
        progress,
        encoder,
    } = &mut app.retrieval.index
    else {
        return Vec::new();
    };
    if *current != ticket {
        return Vec::new();
    }
    match event {
        IndexEvent::Encoder(name) => *encoder = Some(name),
        IndexEvent::Progress(stage, done, total) => match progress {
            Some(build) => build.advance(stage, done, total, app.now),
            None => *progress = Some(BuildState::new(stage, done, total, app.now)),
        },
        IndexEvent::Note(text) => app.retrieval.note = Some(text),
        IndexEvent::Finished(Ok(info)) => {
            app.retrieval.index = IndexState::Ready(info);
            return again(app);
        }
        IndexEvent::Finished(Err(problem)) => app.retrieval.index = IndexState::Failed(problem),
    }
    Vec::new()
}

/// Whether the lists answer the words of the question that one came from.
fn asks_question(app: &App) -> bool {
    let Some(data) = app.data() else {
        return false;
    };
    data.questions
        .iter()
        .find(|question| app.retrieval.question.as_ref() == Some(&question.id))
        .is_some_and(|question| Input::new(&question.text).text().trim() == app.retrieval.asked)
}

pub(super) fn on_search(app: &mut App, ticket: Ticket, news: SearchNews) {
    if app.retrieval.asking != Some(ticket) {
        return;
    }
    app.retrieval.searching = false;
    app.retrieval.lists = news.lists;
    app.retrieval.signal = news.signal;
    app.retrieval.recall = news.recall;
    // Figures are about the question: a query that was edited to something else looks for something else.
    let asks_question = asks_question(app);
    app.retrieval.measures = match asks_question {
        true => news.measures,
        false => [None; 3],
    };
    app.retrieval.absent = asks_question && news.absent;
    app.retrieval.map = news.map;
    // Without an encoder only one list has hits: that is the one to read.
    let focus = app.retrieval.focus;
    if app.retrieval.hits(focus) == 0
        && let Some(list) = (0..METHODS.len()).find(|&list| app.retrieval.hits(list) > 0)
    {
        app.retrieval.focus = list;
    }
    keep_visible(app);
}

pub(super) fn keep_visible(app: &mut App) {
    let visible = view::retrieval::visible_hits(app);
    for list in 0..METHODS.len() {
        let length = app.retrieval.hits(list);
        let retrieval = &mut app.retrieval;
        choose(
            &mut retrieval.selected[list],
            &mut retrieval.top[list],
            0,
            length,
            visible,
        );
    }
}
