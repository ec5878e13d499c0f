//! Frames, the title bar and the footer.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Borders, Widget};
use unicode_width::UnicodeWidthStr;

use crate::domain::passage::Role;
use crate::tui::app::annotate::RunList;
use crate::tui::app::retrieval::IndexState;
use crate::tui::app::sweep::Phase;
use crate::tui::app::{App, Notice, Overlay, Screen, build, compare, sweep};
use crate::tui::command::{COMMANDS, Command};
use crate::tui::theme::{Theme, Tone};
use crate::tui::view::annotate;
use crate::tui::widgets::flow::{Flow, scroll_bar};
use crate::tui::widgets::line::{both_ends, cut_spans, one_line};

/// A piece of text in a tone.
pub(super) fn span(theme: &Theme, text: impl Into<String>, tone: Tone) -> Span<'static> {
    Span::styled(text.into(), theme.style(tone))
}

/// Draws a line where it lies inside the buffer, and nothing elsewhere.
pub(super) fn put(buffer: &mut Buffer, x: u16, y: u16, line: &Line<'_>, width: u16) {
    if width > 0 && buffer.area.contains(Position::new(x, y)) {
        buffer.set_line(x, y, line, width.min(buffer.area.right() - x));
    }
}

/// Columns that a frame takes from a panel's width: borders and a space on each side.
pub(super) const FRAME_COLUMNS: u16 = 4;

/// The room inside a frame.
pub(super) fn inside(area: Rect) -> Rect {
    Rect {
        x: area.x.saturating_add(2),
        y: area.y.saturating_add(1),
        width: area.width.saturating_sub(FRAME_COLUMNS),
        height: area.height.saturating_sub(2),
    }
}

/// A frame with a title at each end of its upper border.
pub(super) fn frame(
    app: &App,
    area: Rect,
    buffer: &mut Buffer,
    focused: bool,
    left: Vec<Span<'static>>,
    right: Vec<Span<'static>>,
) {
    let theme = &app.theme;
    let tone = if focused {
        Tone::BorderFocused
    } else {
        Tone::Border
    };
    let kind = if focused {
        BorderType::Thick
    } else {
        BorderType::Plain
    };
    Block::new()
        .borders(Borders::ALL)
        .border_type(kind)
        .border_style(theme.style(tone))
        .render(area, buffer);
    if area.width < 6 {
        return;
    }
    let room = usize::from(area.width - 4);
    let left_width: usize = left.iter().map(Span::width).sum();
    let right_width: usize = right.iter().map(Span::width).sum();
    let mut title = vec![Span::raw(" ")];
    title.extend(cut_spans(left, room.saturating_sub(2)));
    title.push(Span::raw(" "));
    put(
        buffer,
        area.x + 1,
        area.y,
        &Line::from(title),
        area.width - 2,
    );
    if right_width > 0 && left_width + right_width + 6 <= room {
        let width = u16::try_from(right_width + 2).unwrap_or(area.width);
        let mut title = vec![Span::raw(" ")];
        title.extend(right);
        title.push(Span::raw(" "));
        let x = area.right().saturating_sub(width + 1);
        put(buffer, x, area.y, &Line::from(title), width);
    }
}

/// A framed flow, scrolled.
#[allow(clippy::too_many_arguments)] // one call draws one panel
pub(super) fn panel(
    app: &App,
    area: Rect,
    buffer: &mut Buffer,
    focused: bool,
    left: Vec<Span<'static>>,
    right: Vec<Span<'static>>,
    flow: &Flow,
    scroll: usize,
) {
    frame(app, area, buffer, focused, left, right);
    let inner = inside(area);
    let scroll = scroll.min(flow.rows().saturating_sub(usize::from(inner.height)));
    flow.draw(inner, buffer, scroll, &app.theme);
    let border = Rect {
        y: inner.y,
        height: inner.height,
        ..area
    };
    let style = app.theme.style(Tone::BorderFocused);
    scroll_bar(border, buffer, scroll, flow.rows(), style);
}

/// A bar over the whole width.
pub(super) fn bar(
    app: &App,
    area: Rect,
    buffer: &mut Buffer,
    left: Vec<Span<'static>>,
    right: Vec<Span<'static>>,
) {
    let style = app.theme.style(Tone::Header);
    buffer.set_style(area, style);
    let line = both_ends(left, right, usize::from(area.width));
    put(buffer, area.x, area.y, &line, area.width);
    // Tones set the letters' colours; the bar's background lies below all of them.
    let ground = Style { fg: None, ..style };
    buffer.set_style(area, ground);
}

/// The last row: a message, else the keys that matter now.
pub(super) fn footer(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let row = Rect {
        y: area.bottom().saturating_sub(1),
        height: 1,
        ..area
    };
    if let Some(notice) = &app.notice {
        return message(app, notice, area, buffer);
    }
    clear(app, row, buffer);
    let width = usize::from(row.width);
    let fixed = |hints: &[&'static str]| fixed(theme, hints, width);
    let spans = match &app.overlay {
        Some(Overlay::Palette { .. }) => fixed(&["enter run", "up/down choose", "esc close"]),
        Some(Overlay::Runs { .. }) => match &app.annotate.runs {
            RunList::Ready(runs) if !runs.is_empty() => {
                fixed(&["enter choose", "up/down move", "esc close"])
            }
            _ => fixed(&["esc close"]),
        },
        Some(Overlay::Facets { .. }) => {
            fixed(&["space choose", "c clear", "up/down move", "esc close"])
        }
        Some(Overlay::Reject { typing: true, .. }) => {
            fixed(&["enter reject", "esc back to the reasons", "ctrl-u clear"])
        }
        Some(Overlay::Reject { .. }) => {
            fixed(&["enter reject", "n add words", "up/down choose", "esc close"])
        }
        Some(Overlay::Pieces { .. }) => {
            fixed(&["letter takes its row", "enter the chosen one", "esc close"])
        }
        Some(_) => fixed(&["j k scroll", "space page", "esc close"]),
        None if app.screen == Screen::Browse && app.browse.typing => fixed(&[
            "type to filter",
            "enter keep",
            "esc clear",
            "up/down choose",
        ]),
        None if app.screen == Screen::Retrieval && app.retrieval.typing => {
            fixed(&["enter search", "esc leave the line", "ctrl-u clear"])
        }
        None if app.screen == Screen::Sweep && app.sweep.form.typing => {
            fixed(&["enter done", "ctrl-u clear"])
        }
        None if app.screen == Screen::Find && app.find.typing => fixed(&[
            "type words",
            "enter to the list",
            "up/down choose",
            "esc back",
        ]),
        None if app.screen == Screen::Build && app.build.form.typing => {
            fixed(&["enter done", "ctrl-u clear"])
        }
        None if app.screen == Screen::ReviewItem && app.review.note.is_some() => {
            fixed(&["enter keep the note", "esc drop it", "ctrl-u clear"])
        }
        None if app.screen == Screen::Annotate && app.annotate.note.is_some() => {
            fixed(&["enter keep the note", "esc drop it", "ctrl-u clear"])
        }
        None => keys(app, width),
    };
    put(buffer, row.x, row.y, &Line::from(spans), row.width);
}

/// Empties rows of the screen.
fn clear(app: &App, area: Rect, buffer: &mut Buffer) {
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            buffer[(x, y)].reset();
        }
    }
    buffer.set_style(area, app.theme.style(Tone::Text));
}

/// A message over the last rows, as many as it needs to be read to its end (up to half of the screen).
fn message(app: &App, notice: &Notice, area: Rect, buffer: &mut Buffer) {
    const MARK: u16 = 3;
    let tone = if notice.bad { Tone::Bad } else { Tone::Warning };
    let mark = if notice.bad { " ! " } else { " · " };
    let mut flow = Flow::new(area.width.saturating_sub(MARK));
    flow.say(&app.wraps, &one_line(&notice.text), tone);
    let rows = u16::try_from(flow.rows()).unwrap_or(u16::MAX);
    let rows = rows.clamp(1, (area.height / 2).max(1));
    let place = Rect {
        y: area.bottom().saturating_sub(rows),
        height: rows,
        ..area
    };
    clear(app, place, buffer);
    let head = Line::from(span(&app.theme, mark, tone));
    put(buffer, place.x, place.y, &head, place.width);
    let text = Rect {
        x: place.x + MARK.min(place.width),
        width: place.width.saturating_sub(MARK),
        ..place
    };
    flow.draw(text, buffer, 0, &app.theme);
}

/// Hints of a state with few keys; what does not fit is left out, never cut. The first and the way out come first.
fn fixed(theme: &Theme, hints: &[&'static str], width: usize) -> Vec<Span<'static>> {
    const GAP: usize = 3;
    let mut order: Vec<usize> = (0..hints.len()).collect();
    order.sort_by_key(|&at| at > 0 && !hints[at].starts_with("esc"));
    let mut room = (width + GAP).saturating_sub(1);
    let mut chosen = Vec::new();
    for at in order {
        let needed = hints[at].width() + GAP;
        if needed <= room || at == 0 {
            room = room.saturating_sub(needed);
            chosen.push(at);
        }
    }
    let mut spans = vec![Span::raw(" ")];
    for (at, hint) in hints.iter().enumerate() {
        if chosen.contains(&at) {
            let (key, word) = hint.split_once(' ').unwrap_or((hint, ""));
            spans.push(span(theme, key, Tone::Key));
            spans.push(span(theme, format!(" {word}   "), Tone::Faint));
        }
    }
    spans
}

/// Commands whose keys stand in the footer before others where not all fit: without them nobody gets far, or
/// out again. Most needed first.
const FIRST: [Command; 48] = [
    Command::Help,
    Command::Back,
    Command::Leave,
    Command::Open,
    Command::Filter,
    Command::Accept,
    Command::Edit,
    Command::Reject,
    Command::NextUndecided,
    Command::BuildChoose,
    Command::BuildStart,
    Command::BuildStop,
    Command::BuildRetry,
    Command::BuildAgain,
    Command::BuildPage,
    Command::SweepChoose,
    Command::SweepStart,
    Command::SweepPause,
    Command::SweepStop,
    Command::CompareChoose,
    Command::NextList,
    Command::ProbeRun,
    Command::ProbeStop,
    Command::NextMeasure,
    Command::Ask,
    Command::Stop,
    Command::Done,
    Command::LabelNote,
    Command::Undo,
    Command::Unsure,
    Command::NextReply,
    Command::Facets,
    Command::NextScenario,
    Command::LessSignal,
    Command::TalkFaster,
    Command::NextChange,
    Command::Probe,
    Command::Why,
    Command::Annotate,
    Command::FindText,
    Command::NextDiffView,
    Command::CancelBuild,
    Command::Rebuild,
    Command::ToggleMap,
    Command::FocusNext,
    Command::Retrieval,
    Command::Sweep,
    Command::Compare,
];

/// Keys that share a word in the footer.
struct Hint {
    word: &'static str,
    keys: Vec<String>,
    /// Its place in [`FIRST`], or behind all of that.
    rank: usize,
}

impl Hint {
    fn columns(&self) -> usize {
        let keys = self.keys.iter().map(|key| key.chars().count() + 1);
        keys.sum::<usize>() + self.word.chars().count() + 2
    }
}

/// The hints for a state, in the order of the command table.
fn hints(app: &App) -> Vec<Hint> {
    let mut hints: Vec<Hint> = Vec::new();
    let rows = COMMANDS.iter().filter(|row| {
        row.screens.contains(&app.screen) && !row.footer.is_empty() && matters(app, row.command)
    });
    for row in rows {
        let key = app.keymap.key(row.command);
        let rank = FIRST.iter().position(|command| *command == row.command);
        let rank = rank.unwrap_or(FIRST.len());
        match hints.iter_mut().find(|hint| hint.word == row.footer) {
            Some(hint) => {
                hint.keys.push(key);
                hint.rank = hint.rank.min(rank);
            }
            None => hints.push(Hint {
                word: row.footer,
                keys: vec![key],
                rank,
            }),
        }
    }
    hints
}

/// The footer of a screen from the command table; what does not fit is left out, never cut.
fn keys(app: &App, width: usize) -> Vec<Span<'static>> {
    let theme = &app.theme;
    let hints = hints(app);
    let mut order: Vec<usize> = (0..hints.len()).collect();
    order.sort_by_key(|&at| hints[at].rank);
    // The blanks behind the last hint may lie outside.
    let mut room = (width + 2).saturating_sub(1);
    let mut chosen = Vec::new();
    for at in order {
        let needed = hints[at].columns();
        // The way to all other keys is always there.
        if needed <= room || hints[at].rank == 0 {
            room = room.saturating_sub(needed);
            chosen.push(at);
        }
    }
    let mut spans = vec![Span::raw(" ")];
    for (at, hint) in hints.iter().enumerate() {
        if chosen.contains(&at) {
            spans.push(span(theme, hint.keys.join(" "), Tone::Key));
            spans.push(span(theme, format!(" {}  ", hint.word), Tone::Faint));
        }
    }
    spans
}

/// Whether a command can do something in this state.
fn matters(app: &App, command: Command) -> bool {
    let running = app.replies.running.is_some();
    let building = matches!(app.retrieval.index, IndexState::Building { .. });
    let context = app.instance.as_ref().and_then(|state| state.context());
    let replied = context.is_some_and(|context| app.replies.shown(context).is_some());
    let special = matters_in_making(app, command).or_else(|| matters_in_runs(app, command));
    if let Some(matters) = special {
        return matters;
    }
    match command {
        Command::Open if app.screen == Screen::Queue => app
            .annotate
            .queue
            .as_ref()
            .is_some_and(|queue| !queue.shown.is_empty()),
        Command::Open if app.screen == Screen::Find => !app.find.hits.is_empty(),
        Command::Open
        | Command::Filter
        | Command::Retrieval
        | Command::Facets
        | Command::ChooseRun
        | Command::FindText => app.data().is_some(),
        Command::Annotate if app.screen == Screen::Instance => replied,
        Command::Annotate => app.data().is_some(),
        Command::Undo => app
            .annotate
            .queue
            .as_ref()
            .is_some_and(|queue| queue.book.can_undo()),
        Command::Redo => app
            .annotate
            .queue
            .as_ref()
            .is_some_and(|queue| queue.book.can_redo()),
        Command::Adjudicate => app
            .annotate
            .queue
            .as_ref()
            .is_some_and(|queue| queue.others.len() > 1),
        Command::ToggleRaw if app.screen == Screen::Annotate => true,
        Command::FocusNext if app.screen == Screen::Annotate => annotate::has_two_panels(app),
        Command::Ask => !running && context.is_some(),
        Command::Stop => running,
        Command::ToggleRaw => replied,
        Command::NextDiffView => context.is_some_and(|context| {
            context.scenario == crate::domain::context::Scenario::Robustness
        }),
        Command::NextChange => app
            .instance
            .as_ref()
            .is_some_and(|state| state.count(Role::Adversarial) > 0),
        Command::TalkFaster | Command::TalkSlower if app.screen == Screen::Instance => {
            app.replays() && running
        }
        Command::Problems => {
            let missing = app.data().is_some_and(|data| !data.problems.is_empty());
            missing || !app.faults.is_empty()
        }
        Command::CancelBuild => building,
        Command::Rebuild => !building && !matches!(app.retrieval.index, IndexState::Ready(_)),
        _ => true,
    }
}

/// As [`matters`], for making and reviewing a benchmark; `None` for other commands and screens.
fn matters_in_making(app: &App, command: Command) -> Option<bool> {
    let reviewing = matches!(app.screen, Screen::Review | Screen::ReviewItem);
    let queue = app.review.queue.as_ref();
    let page = app.build.page;
    Some(match command {
        Command::Open if app.screen == Screen::Review => {
            queue.is_some_and(|queue| !queue.shown.is_empty())
        }
        Command::Facets if reviewing => queue.is_some(),
        Command::Undo if reviewing => queue.is_some_and(|queue| queue.book.can_undo()),
        Command::Redo if reviewing => queue.is_some_and(|queue| queue.book.can_redo()),
        Command::Adjudicate if reviewing => queue.is_some_and(|queue| queue.others.len() > 1),
        Command::FocusNext if app.screen == Screen::ReviewItem => true,
        Command::NextDiffView if app.screen == Screen::ReviewItem => {
            let open = queue.and_then(|queue| queue.open.as_ref());
            open.is_some_and(|open| open.size.is_some())
        }
        // They lead to where one is, or are on every screen and would crowd out what matters there.
        Command::Review => app.data().is_some() && app.screen == Screen::Browse,
        Command::Build => app.screen == Screen::Browse,
        Command::Sweep | Command::Compare
            if reviewing
                || matches!(
                    app.screen,
                    Screen::Build | Screen::Queue | Screen::Annotate | Screen::Retrieval
                ) =>
        {
            false
        }
        Command::BuildChoose | Command::BuildValueBack | Command::BuildValueNext => {
            page == build::Page::Plan
        }
        Command::BuildStart => !app.build.is_active(),
        Command::BuildStop => app.build.is_active(),
        Command::BuildRetry => !app.build.is_active() && app.build.is_incomplete(),
        Command::BuildAgain => page == build::Page::Results && app.build.loss().is_some(),
        _ => return None,
    })
}

/// As [`matters`], for what belongs to one page of a screen; `None` for other commands.
fn matters_in_runs(app: &App, command: Command) -> Option<bool> {
    let sweep = &app.sweep;
    let page = sweep.page;
    let on_sweep = app.screen == Screen::Sweep;
    let phase = sweep.running.as_ref().map(|running| &running.phase);
    let at_rest = matches!(phase, Some(Phase::Paused | Phase::Ended(_)));
    let compare = app.compare.page;
    let curves = sweep.curves.as_ref();
    let drawn =
        page == sweep::Page::Curves && curves.is_some_and(|curves| curves.panel().is_some());
    let compared = app.compare.result.ready().is_some();
    let paired = compare == compare::Page::Pair && app.compare.pair.ready().is_some();
    Some(match command {
        Command::SweepChoose => page != sweep::Page::Curves,
        Command::SweepStart => match page {
            sweep::Page::Plan => !sweep.is_active(),
            sweep::Page::Progress => at_rest,
            _ => false,
        },
        Command::SweepPause => {
            let can = sweep.is_active() || phase == Some(&Phase::Paused);
            page == sweep::Page::Progress && can
        }
        Command::SweepStop => page == sweep::Page::Progress && sweep.is_active(),
        Command::ValueBack | Command::ValueNext => page == sweep::Page::Plan,
        Command::NextMeasure | Command::NextCurveDocs | Command::NextPaper => drawn,
        Command::NextScenario if on_sweep => drawn,
        // They lead to where one is.
        Command::Sweep => !on_sweep,
        Command::Compare => {
            app.screen != Screen::Compare && !(on_sweep && page == sweep::Page::Plan)
        }
        Command::CompareChoose => match compare {
            compare::Page::Choose => sweep.runs.ready().is_some_and(|runs| !runs.is_empty()),
            compare::Page::Result => app.compare.chosen().is_some(),
            compare::Page::Pair => false,
        },
        Command::NextList | Command::NextCondition => compare == compare::Page::Result && compared,
        Command::ToggleRaw if app.screen == Screen::Compare => paired,
        Command::FocusNext if app.screen == Screen::Compare => match compare {
            compare::Page::Choose => false,
            compare::Page::Result => compared,
            compare::Page::Pair => paired,
        },
        Command::ProbeRun => app.probe.asking.is_none(),
        Command::ProbeStop => app.probe.asking.is_some(),
        _ => return None,
    })
}
