//! The footer: a message, else the keys that matter now.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::tui::app::annotate::RunList;
use crate::tui::app::instance::Seek;
use crate::tui::app::{App, Notice, Overlay, Screen};
use crate::tui::command::{COMMANDS, Command};
use crate::tui::theme::{Theme, Tone};
use crate::tui::view;
use crate::tui::view::chrome::{put, span};
use crate::tui::view::instance::DOCUMENT_PANELS;
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::{cut, one_line};

mod matters;

use matters::matters;

/// The last row: a message, else the keys that matter now.
pub(super) fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
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
        None if app.screen == Screen::Instance && seek(app).is_some() => seek_line(app, width),
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

/// The line on which words are typed that are looked for in the documents.
fn seek(app: &App) -> Option<&Seek> {
    let seek = app.instance.as_ref()?.seek.as_ref()?;
    seek.typing.then_some(seek)
}

/// As [`seek`]: its words, cut at their start where they are long, how many places have them, and its keys.
fn seek_line(app: &App, width: usize) -> Vec<Span<'static>> {
    let theme = &app.theme;
    let Some(seek) = seek(app) else {
        return Vec::new();
    };
    let columns = DOCUMENT_PANELS.into_iter();
    let found: usize = columns.map(|panel| view::instance::found(app, panel)).sum();
    let found = match found {
        _ if !seek.has_words() => String::new(),
        1 => "   1 match".to_owned(),
        found => format!("   {found} matches"),
    };
    let hints = ["enter keep", "esc end", "up/down next"];
    let (before, after) = seek.input.halves();
    let room = (width / 2).saturating_sub(6).max(8);
    let mut spans = vec![
        span(theme, " / ", Tone::Key),
        span(theme, tail(before, room), Tone::Match),
        span(theme, "▏", Tone::Key),
        span(theme, cut(after, room / 2), Tone::Match),
        span(theme, found, Tone::Strong),
        Span::raw("   "),
    ];
    let used: usize = spans.iter().map(Span::width).sum();
    spans.extend(fixed(theme, &hints, width.saturating_sub(used)));
    spans
}

/// The end of a text, in at most `width` columns.
fn tail(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut start = text.len();
    let mut used = 1;
    for (at, cluster) in text.grapheme_indices(true).rev() {
        used += cluster.width();
        if used > width {
            break;
        }
        start = at;
    }
    format!("…{}", &text[start..])
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
