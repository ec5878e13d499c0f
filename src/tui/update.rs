//! The machine: a message changes the state and asks for effects. No files, no network, no terminal.

use std::time::Duration;

use crossterm::event::{
    KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};

use crate::tui::app::pieces::Destination;
use crate::tui::app::reply::Chosen;
use crate::tui::app::{App, DatasetState, ModelState, Overlay, Screen};
use crate::tui::command::Command;
use crate::tui::effects::Effect;
use crate::tui::keymap::Chord;
use crate::tui::message::Message;
use crate::tui::view;

mod annotate;
mod browse;
mod build;
mod comeback;
mod compare;
mod early;
mod facet;
mod find;
mod instance;
mod outside;
mod overlay;
mod pieces;
mod probe;
mod queue;
mod reply;
mod retrieval;
mod review;
mod sweep;
mod talk;

/// Effects to start with, before the first message.
pub fn start() -> Vec<Effect> {
    vec![Effect::LoadDataset, Effect::OpenModel]
}

/// Changes the state for one message at time `now` since the start.
pub fn update(app: &mut App, message: Message, now: Duration) -> Vec<Effect> {
    app.now = now;
    let mut effects = handle(app, message);
    effects.extend(reply::highlight(app));
    effects
}

fn handle(app: &mut App, message: Message) -> Vec<Effect> {
    match message {
        Message::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
        Message::Key(key) => on_key(app, key),
        Message::Paste(text) => paste(app, &text),
        Message::Mouse(event) => on_mouse(app, event),
        Message::Resize(columns, rows) => {
            app.size = (columns, rows);
            clamp(app);
            Vec::new()
        }
        Message::Background(background) => {
            if let Some(looks) = &app.looks {
                app.theme = looks.on(background).clone();
            }
            Vec::new()
        }
        Message::Frame => {
            if let Some(reply) = &mut app.replies.running {
                reply.refresh();
            }
            Vec::new()
        }
        Message::Tick => talk::tick(app),
        Message::Dataset(result) => on_dataset(app, result),
        Message::Model(Ok(identity)) => {
            app.replies.chosen = Chosen::Opened(identity.clone());
            app.model = ModelState::Ready(identity);
            Vec::new()
        }
        Message::Model(Err(problem)) => {
            app.model = ModelState::Failed(problem);
            Vec::new()
        }
        Message::StoreProblem(problem) => {
            app.complain(format!("New replies are kept in memory only: {problem}"));
            app.store_problem = Some(problem);
            Vec::new()
        }
        Message::Outcomes(outcomes) => {
            app.browse.outcomes.extend(outcomes);
            Vec::new()
        }
        Message::Stored {
            question_id,
            records,
        } => {
            reply::on_stored(app, question_id, &records);
            Vec::new()
        }
        Message::Reply { ticket, event } => {
            let mut effects = reply::on_event(app, ticket, event);
            effects.extend(talk::tick(app));
            effects
        }
        Message::Index { ticket, event } => retrieval::on_index(app, ticket, event),
        Message::Search { ticket, news } => {
            retrieval::on_search(app, ticket, *news);
            Vec::new()
        }
        Message::Runs(result) => {
            queue::on_runs(app, result);
            early::take(app)
        }
        Message::Queue {
            ticket,
            part,
            result,
        } => {
            let mut effects = queue::on_queue(app, ticket, result, part);
            effects.extend(early::take(app));
            effects
        }
        Message::QueueReply { ticket, result } => annotate::on_reply(app, ticket, result),
        Message::Annotated(result) => annotate::on_written(app, result),
        Message::Review {
            ticket,
            part,
            result,
        } => review::on_queue(app, ticket, part, result),
        Message::Reviewed(result) => review::on_written(app, result),
        Message::BuildLooked { ticket, result } => build::on_looked(app, ticket, result),
        Message::BuildPlanned { ticket, result } => {
            build::on_planned(app, ticket, result);
            Vec::new()
        }
        Message::Build { ticket, event } => build::on_event(app, ticket, event),
        Message::Cases { ticket, result } => {
            browse::on_cases(app, ticket, result);
            Vec::new()
        }
        Message::Find { ticket, event } => find::on_event(app, ticket, event),
        Message::Highlighted { raw, pieces } => {
            reply::on_highlighted(app, &raw, &pieces);
            Vec::new()
        }
        Message::RunList { ticket, result } => {
            sweep::on_runs(app, ticket, result);
            early::take(app)
        }
        Message::Estimate { ticket, result } => {
            app.sweep.estimate.take(ticket, result.map(|found| *found));
            Vec::new()
        }
        Message::Sweep { ticket, event } => sweep::on_event(app, ticket, event),
        Message::Curves { ticket, result } => {
            sweep::on_curves(app, ticket, result);
            talk::on_curves(app);
            Vec::new()
        }
        Message::Compared { ticket, result } => {
            compare::on_compared(app, ticket, result);
            Vec::new()
        }
        Message::Pair { ticket, result } => {
            compare::on_pair(app, ticket, result);
            Vec::new()
        }
        Message::Probe { ticket, event } => {
            probe::on_event(app, ticket, event);
            Vec::new()
        }
        Message::Session(result) => {
            comeback::on_read(app, result);
            Vec::new()
        }
        Message::KeepSession => comeback::keep(app),
        Message::CameBack { purpose, result } => outside::on_back(app, purpose, result),
        Message::Complaint(text) => {
            app.complain_too(&text);
            Vec::new()
        }
    }
}

fn on_dataset(
    app: &mut App,
    result: Result<std::sync::Arc<crate::data::dataset::Dataset>, String>,
) -> Vec<Effect> {
    match result {
        Ok(dataset) => {
            app.browse.load(&dataset);
            app.dataset = DatasetState::Ready(dataset.clone());
            let mut effects = review::on_dataset(app);
            effects.extend(comeback::settle(app));
            // A run that was come back to has outcomes of its own.
            if app.browse.run.is_none() {
                effects.insert(0, Effect::LoadOutcomes { dataset });
            }
            effects.extend(talk::begin(app));
            effects.extend(early::take(app));
            effects
        }
        Err(problem) => {
            app.early.clear();
            app.dataset = DatasetState::Failed(problem);
            Vec::new()
        }
    }
}

/// Whether letters go into a line of text.
fn typing(app: &App) -> bool {
    match (&app.overlay, app.screen) {
        (Some(overlay), _) => matches!(
            overlay,
            Overlay::Palette { .. } | Overlay::Reject { typing: true, .. }
        ),
        (None, Screen::Browse) => app.browse.typing,
        (None, Screen::Instance) => instance::seek::typing(app),
        (None, Screen::Retrieval) => app.retrieval.typing,
        (None, Screen::Sweep) => app.sweep.form.typing,
        (None, Screen::Find) => app.find.typing,
        (None, Screen::Annotate) => app.annotate.note.is_some(),
        (None, Screen::ReviewItem) => app.review.note.is_some(),
        (None, Screen::Build) => app.build.form.typing,
        (None, _) => false,
    }
}

/// Whether a key writes a character.
fn writes(key: KeyEvent) -> bool {
    let control = KeyModifiers::CONTROL | KeyModifiers::ALT;
    matches!(key.code, KeyCode::Char(_)) && !key.modifiers.intersects(control)
}

/// A line feed is what a terminal sends for enter before the program has it: it is taken for enter where it has no
/// command of its own.
fn as_enter(app: &App, key: KeyEvent) -> KeyEvent {
    let feed = key.code == KeyCode::Char('j') && key.modifiers == KeyModifiers::CONTROL;
    match feed && app.keymap.command(app.screen, Chord::of(key)).is_none() {
        true => KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE),
        false => key,
    }
}

fn on_key(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    app.notice = None;
    let key = as_enter(app, key);
    let chord = Chord::of(key);
    let command = app.keymap.command(app.screen, chord);
    // Where nothing can be shown, nobody sees the way back to the list: the key that leaves there leaves everywhere.
    let leaves = app.keymap.command(Screen::Browse, chord) == Some(Command::Leave)
        && view::is_too_small(app);
    if !leaves && !matches!(command, Some(Command::Quit | Command::Leave)) {
        app.leaving = false;
    }
    if early::keep(app, key, command) {
        return Vec::new();
    }
    // Leaving, suspending and redrawing work everywhere, whatever is being typed, unless they have been given
    // keys that write.
    if let Some(command @ (Command::Quit | Command::Suspend | Command::Redraw)) = command
        && !(typing(app) && writes(key))
    {
        return run(app, command);
    }
    if leaves && !(typing(app) && writes(key)) {
        return leave(app, false);
    }
    if app.overlay.is_some() {
        return overlay::on_key(app, key, chord);
    }
    if app.screen == Screen::Browse && app.browse.typing {
        return browse::on_typing(app, key);
    }
    if app.screen == Screen::Instance && instance::seek::typing(app) {
        instance::seek::on_typing(app, key);
        return Vec::new();
    }
    if app.screen == Screen::Retrieval && app.retrieval.typing {
        return retrieval::on_typing(app, key);
    }
    if app.screen == Screen::Sweep && app.sweep.form.typing {
        return sweep::on_typing(app, key);
    }
    if app.screen == Screen::Find && app.find.typing {
        return find::on_typing(app, key);
    }
    if app.screen == Screen::ReviewItem && app.review.note.is_some() {
        return review::on_typing(app, key);
    }
    if app.screen == Screen::Build && app.build.form.typing {
        return build::on_typing(app, key);
    }
    if app.screen == Screen::Annotate {
        if app.annotate.note.is_some() {
            return annotate::on_typing(app, key);
        }
        if annotate::waits(app, key, command) {
            return Vec::new();
        }
        if let Some(effects) = annotate::on_label_key(app, key) {
            return effects;
        }
    }
    match app.keymap.command(app.screen, chord) {
        Some(command) => run(app, command),
        None => {
            if let KeyCode::Char(_) = key.code {
                let text = nothing(app, chord);
                app.say(text);
            }
            Vec::new()
        }
    }
}

/// What to say of a key that does nothing on this screen: on the list, that it is for an open question.
fn nothing(app: &App, chord: Chord) -> String {
    let key = |command| app.keymap.key(command);
    match app.keymap.command(Screen::Instance, chord) {
        Some(_) if app.screen == Screen::Browse => format!(
            "{chord} is a key for an open question: {} opens one; {} lists the keys of this screen",
            key(Command::Open),
            key(Command::Help)
        ),
        _ => format!(
            "{chord} does nothing here; {} lists the keys",
            key(Command::Help)
        ),
    }
}

/// Runs a command on the current screen.
pub(crate) fn run(app: &mut App, command: Command) -> Vec<Effect> {
    match command {
        Command::Quit | Command::Leave => leave(app, command == Command::Leave),
        Command::Suspend => vec![Effect::Suspend],
        Command::Redraw => vec![Effect::Redraw],
        Command::Help => {
            app.overlay = Some(Overlay::Help { scroll: 0 });
            Vec::new()
        }
        Command::Palette => {
            app.overlay = Some(Overlay::Palette {
                input: crate::tui::app::input::Input::default(),
                selected: 0,
            });
            Vec::new()
        }
        Command::ToggleMouse => {
            app.mouse = !app.mouse;
            app.say(if app.mouse {
                "mouse on: the terminal's own text selection is off"
            } else {
                "mouse off"
            });
            vec![Effect::Mouse(app.mouse)]
        }
        Command::Retrieval => retrieval::open(app),
        Command::Sweep => sweep::open(app),
        Command::Compare => compare::open(app),
        Command::Probe => probe::open(app),
        Command::FindText => find::open(app),
        Command::Review => review::enter(app),
        Command::Build => build::open(app),
        Command::Talk => talk::resume(app),
        Command::Fresh => comeback::afresh(app),
        Command::Copy => pieces::open(app, Destination::Clipboard),
        Command::View => pieces::open(app, Destination::Pager),
        _ => match app.screen {
            Screen::Browse => browse::run(app, command),
            Screen::Instance => instance::run(app, command),
            Screen::Retrieval => retrieval::run(app, command),
            Screen::Sweep => sweep::run(app, command),
            Screen::Compare => compare::run(app, command),
            Screen::Probe => probe::run(app, command),
            Screen::Queue => queue::run(app, command),
            Screen::Annotate => annotate::run(app, command),
            Screen::Find => find::run(app, command),
            Screen::Review => review::run(app, command),
            Screen::ReviewItem => review::run_on_item(app, command),
            Screen::Build => build::run(app, command),
            Screen::Talk => talk::run(app, command),
        },
    }
}

/// Ends the program; where a sweep or a build runs, only once the user knows that it stops then. A sweep finishes its
/// calls under way first, and the key once more does not wait for them. With `asks` one key too many on the way back does
/// not end the program: it takes two.
fn leave(app: &mut App, asks: bool) -> Vec<Effect> {
    if app.parting {
        app.quit = true;
        return Vec::new();
    }
    // What is said holds as long as it stands there, however slow people or terminals are; any other key takes it back.
    let told = std::mem::replace(&mut app.leaving, true);
    if !app.sweep.is_active() && !app.build.is_active() {
        let nothing_here = matches!(app.dataset, DatasetState::Failed(_));
        if told || nothing_here || !asks {
            app.quit = true;
        } else {
            let key = app.keymap.key(Command::Leave);
            app.say(format!("{key} again quits"));
        }
        return Vec::new();
    }
    if told {
        if app.sweep.is_active() {
            app.parting = true;
            return sweep::finish_calls(app);
        }
        app.quit = true;
        return Vec::new();
    }
    let sweep = app
        .sweep
        .running
        .as_ref()
        .filter(|running| running.is_active());
    let sweep = sweep.map(|running| {
        format!(
            "{}: leaving stops it once the calls under way are finished; the run \"{}\" can go on later. ",
            running.brief(),
            running.request.run
        )
    });
    let build = app
        .build
        .running
        .as_ref()
        .filter(|running| running.is_active());
    let build = build.map(|running| {
        format!(
            "{}: leaving stops it; what was answered is kept, and it can go on later. ",
            running.brief()
        )
    });
    let texts: String = sweep.into_iter().chain(build).collect();
    app.complain(format!("{texts}The same key again leaves."));
    Vec::new()
}

fn paste(app: &mut App, text: &str) -> Vec<Effect> {
    if !app.early.is_empty() {
        app.early.push(Message::Paste(text.to_owned()));
        return Vec::new();
    }
    if let Some(Overlay::Reject { words, typing, .. }) = &mut app.overlay {
        if *typing {
            words.paste(text);
        }
        return Vec::new();
    }
    if app.overlay.is_none() && app.screen == Screen::Build && app.build.form.typing {
        build::paste(app, text);
        return Vec::new();
    }
    if let Some(Overlay::Palette { input, selected }) = &mut app.overlay {
        input.paste(text);
        *selected = 0;
    } else if app.screen == Screen::Browse && app.browse.typing {
        app.browse.filter.paste(text);
        app.browse.refilter();
        browse::keep_visible(app);
    } else if app.screen == Screen::Instance && instance::seek::typing(app) {
        instance::seek::paste(app, text);
    } else if app.screen == Screen::Retrieval && app.retrieval.typing {
        app.retrieval.query.paste(text);
    } else if app.screen == Screen::Sweep && app.sweep.form.typing {
        sweep::paste(app, text);
    } else if app.screen == Screen::Find && app.find.typing {
        return find::paste(app, text);
    } else if let (Screen::Annotate, Some(note)) = (app.screen, &mut app.annotate.note) {
        note.paste(text);
    } else if let (Screen::ReviewItem, Some(note)) = (app.screen, &mut app.review.note) {
        note.paste(text);
    }
    Vec::new()
}

fn on_mouse(app: &mut App, event: MouseEvent) -> Vec<Effect> {
    let at = ratatui::layout::Position::new(event.column, event.row);
    match event.kind {
        MouseEventKind::ScrollDown | MouseEventKind::ScrollUp => {
            let down = event.kind == MouseEventKind::ScrollDown;
            let command = if down { Command::Down } else { Command::Up };
            if app.overlay.is_some() {
                overlay::scroll(app, if down { 3 } else { -3 });
                return Vec::new();
            }
            if app.screen == Screen::Instance {
                instance::focus_at(app, at);
            }
            (0..3).flat_map(|_| run(app, command)).collect()
        }
        MouseEventKind::Down(MouseButton::Left) if app.overlay.is_none() => match app.screen {
            Screen::Browse => browse::click(app, at),
            Screen::Instance => {
                instance::focus_at(app, at);
                Vec::new()
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Brings every scroll position back into its bounds after a change of size.
fn clamp(app: &mut App) {
    browse::keep_visible(app);
    instance::clamp(app);
    retrieval::keep_visible(app);
    sweep::keep_visible(app);
    compare::keep_visible(app);
    probe::keep_visible(app);
    queue::keep_visible(app);
    annotate::clamp(app);
    find::keep_visible(app);
    review::keep_visible(app);
    build::keep_visible(app);
    overlay::scroll(app, 0);
}

/// A scroll position moved by `by`, within a flow of `rows` rows seen through `height`.
fn scrolled(from: usize, by: isize, rows: usize, height: usize) -> usize {
    from.min(rows.saturating_sub(height))
        .saturating_add_signed(by)
        .min(rows.saturating_sub(height))
}

/// How far a command scrolls in a panel of this height; `None` for other commands.
fn distance(command: Command, height: usize) -> Option<isize> {
    let page = isize::try_from(height.saturating_sub(1).max(1)).unwrap_or(1);
    match command {
        Command::Up => Some(-1),
        Command::Down => Some(1),
        Command::PageUp => Some(-page),
        Command::PageDown => Some(page),
        Command::Top => Some(isize::MIN / 2),
        Command::Bottom => Some(isize::MAX / 2),
        _ => None,
    }
}

/// Moves a choice and keeps it inside a list with `visible` rows.
fn choose(selected: &mut usize, top: &mut usize, by: isize, length: usize, visible: usize) {
    *selected = selected
        .saturating_add_signed(by)
        .min(length.saturating_sub(1));
    let visible = visible.max(1);
    *top = (*top)
        .min(*selected)
        .max((*selected + 1).saturating_sub(visible))
        .min(length.saturating_sub(visible.min(length)));
}

/// Rows that a list on this screen shows.
fn list_rows(app: &App) -> usize {
    match app.screen {
        Screen::Browse => view::browse::visible_rows(app),
        Screen::Retrieval => view::retrieval::visible_hits(app),
        _ => 1,
    }
}
