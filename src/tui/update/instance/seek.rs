//! Looking for words inside the shown documents.

use crossterm::event::{KeyCode, KeyEvent};

use crate::tui::app::App;
use crate::tui::app::instance::{Panel, Seek};
use crate::tui::command::Command;
use crate::tui::update::instance::columns::set_scroll;
use crate::tui::view;
use crate::tui::view::instance::DOCUMENT_PANELS;

/// Opens an empty line to type on.
pub(super) fn begin(app: &mut App) {
    let Some(state) = &mut app.instance else {
        return;
    };
    if state
        .context()
        .is_none_or(|context| context.documents.is_empty())
    {
        return app.say("there are no documents to look into");
    }
    state.seek = Some(Seek::begin(state));
}

/// Whether keys go to the line.
pub(in crate::tui::update) fn typing(app: &App) -> bool {
    let state = app.instance.as_ref();
    let seek = state.and_then(|state| state.seek.as_ref());
    seek.is_some_and(|seek| seek.typing)
}

fn line(app: &mut App) -> Option<&mut Seek> {
    app.instance.as_mut()?.seek.as_mut()
}

/// Keys while words are typed: the first place is shown at once, arrows go on from there.
pub(in crate::tui::update) fn on_typing(app: &mut App, key: KeyEvent) {
    match key.code {
        KeyCode::Esc => leave(app),
        KeyCode::Enter => keep(app),
        KeyCode::Down => step(app, true),
        KeyCode::Up => step(app, false),
        _ => {
            let before = line(app).map(|seek| seek.input.text().to_owned());
            if let Some(seek) = line(app) {
                seek.input.key(key);
            }
            if line(app).map(|seek| seek.input.text()) != before.as_deref() {
                look(app);
            }
        }
    }
}

pub(in crate::tui::update) fn paste(app: &mut App, text: &str) {
    if let Some(seek) = line(app) {
        seek.input.paste(text);
    }
    look(app);
}

/// Ends the search where it began.
fn leave(app: &mut App) {
    if let Some(state) = &mut app.instance
        && let Some(seek) = state.seek.take()
    {
        seek.from.restore(state);
    }
}

/// Ends the search, whose marks go; false where there is none.
pub(super) fn end(app: &mut App) -> bool {
    let state = app.instance.as_mut();
    state.is_some_and(|state| state.seek.take().is_some())
}

/// Closes the line; marks stay.
fn keep(app: &mut App) {
    let places = places(app);
    let Some(seek) = line(app) else {
        return;
    };
    seek.typing = false;
    if !seek.has_words() {
        return leave(app);
    }
    if places.is_empty() {
        let text = format!("no shown document has \"{}\"", seek.input.text());
        leave(app);
        return app.say(text);
    }
    say_place(app, &places);
}

/// Every place that has the words, column by column.
fn places(app: &App) -> Vec<(Panel, usize)> {
    let columns = DOCUMENT_PANELS.into_iter();
    columns
        .flat_map(|panel| (0..view::instance::found(app, panel)).map(move |nth| (panel, nth)))
        .collect()
}

/// Goes to the first place of the words from where one was on.
fn look(app: &mut App) {
    let Some(state) = &mut app.instance else {
        return;
    };
    let Some(mut seek) = state.seek.take() else {
        return;
    };
    seek.from.restore(state);
    seek.renew();
    state.seek = Some(seek);
    let focus = state.focus;
    let places = places(app);
    let sight = view::instance::sight(app, focus);
    let ahead = sight.and_then(|sight| {
        let rows = &sight.matches;
        rows.iter().position(|row| *row >= sight.at)
    });
    let here = ahead
        .map(|nth| (focus, nth))
        .filter(|at| places.contains(at));
    let in_column = places.iter().find(|(panel, _)| *panel == focus);
    if let Some(at) = here.or(in_column.copied()).or(places.first().copied()) {
        go(app, at);
    }
}

/// Goes to the next or previous place, round and round.
pub(super) fn step(app: &mut App, forward: bool) {
    let places = places(app);
    let Some(seek) = line(app) else {
        let key = app.keymap.key(Command::SearchDocuments);
        return app.say(format!(
            "{key} looks for words in the shown documents first"
        ));
    };
    if places.is_empty() {
        if !seek.typing {
            let text = format!("no shown document has \"{}\"", seek.input.text());
            app.say(text);
        }
        return;
    }
    let here = seek
        .at
        .and_then(|at| places.iter().position(|place| *place == at));
    let count = places.len();
    let next = match (here, forward) {
        (Some(at), true) => (at + 1) % count,
        (Some(at), false) => (at + count - 1) % count,
        (None, true) => 0,
        (None, false) => count - 1,
    };
    let typing = seek.typing;
    go(app, places[next]);
    if !typing {
        say_place(app, &places);
    }
}

/// Shows a place.
fn go(app: &mut App, (panel, nth): (Panel, usize)) {
    if let Some(state) = &mut app.instance {
        state.focus = panel;
        if let Some(seek) = &mut state.seek {
            seek.at = Some((panel, nth));
        }
    }
    let Some(sight) = view::instance::sight(app, panel) else {
        return;
    };
    if let Some(row) = sight.matches.get(nth) {
        let shown = sight.at..sight.at + sight.height;
        let next = match shown.contains(row) {
            true => sight.at,
            false => sight.around(*row),
        };
        set_scroll(app, panel, next, &sight);
    }
}

/// Says which place this is, and the keys to the others.
fn say_place(app: &mut App, places: &[(Panel, usize)]) {
    let Some(at) = line(app).and_then(|seek| seek.at) else {
        return;
    };
    let nth = places.iter().position(|place| *place == at).unwrap_or(0);
    let label = label(app, at).map_or_else(String::new, |label| format!(" in {label}"));
    let key = |command| app.keymap.key(command);
    let text = format!(
        "match {} of {}{label}; {} next, {} previous, {} ends",
        nth + 1,
        places.len(),
        key(Command::NextMatch),
        key(Command::PreviousMatch),
        key(Command::Back),
    );
    app.say(text);
}

/// The label of the document that a place is in.
fn label(app: &App, (panel, nth): (Panel, usize)) -> Option<String> {
    let sight = view::instance::sight(app, panel)?;
    let row = sight.matches.get(nth)?;
    let begun = sight.anchors.iter().filter(|anchor| *anchor <= row).count();
    let context = app.instance.as_ref()?.context()?;
    let documents = &mut context.documents.iter();
    let mut column = documents.filter(|document| Some(document.role) == panel.role());
    column
        .nth(begun.checked_sub(1)?)
        .map(|document| document.label.clone())
}
