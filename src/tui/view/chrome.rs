//! Frames, the title bar and the footer.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Borders, Widget};

use crate::tui::app::retrieval::IndexState;
use crate::tui::app::{App, Overlay, Screen};
use crate::tui::command::{COMMANDS, Command};
use crate::tui::theme::{Theme, Tone};
use crate::tui::widgets::flow::{Flow, scroll_bar};
use crate::tui::widgets::line::{both_ends, cut_spans};

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
    for x in row.left()..row.right() {
        buffer[(x, row.y)].reset();
    }
    buffer.set_style(row, theme.style(Tone::Text));
    if let Some(notice) = &app.notice {
        let tone = if notice.bad { Tone::Bad } else { Tone::Warning };
        let mark = if notice.bad { " ! " } else { " · " };
        let text = format!(
            "{mark}{}",
            crate::tui::widgets::line::one_line(&notice.text)
        );
        let line = Line::from(cut_spans(
            vec![span(theme, text, tone)],
            usize::from(row.width),
        ));
        put(buffer, row.x, row.y, &line, row.width);
        return;
    }
    let spans = match &app.overlay {
        Some(Overlay::Palette { .. }) => {
            fixed(theme, &["enter run", "up/down choose", "esc close"])
        }
        Some(_) => fixed(theme, &["j k scroll", "space page", "esc close"]),
        None if app.screen == Screen::Browse && app.browse.typing => fixed(
            theme,
            &[
                "type to filter",
                "enter keep",
                "esc clear",
                "up/down choose",
            ],
        ),
        None if app.screen == Screen::Retrieval && app.retrieval.typing => fixed(
            theme,
            &["enter search", "esc leave the line", "ctrl-u clear"],
        ),
        None => keys(app, usize::from(row.width)),
    };
    put(buffer, row.x, row.y, &Line::from(spans), row.width);
}

fn fixed(theme: &Theme, hints: &[&str]) -> Vec<Span<'static>> {
    let mut spans = vec![Span::raw(" ")];
    for hint in hints {
        let (key, word) = hint.split_once(' ').unwrap_or((hint, ""));
        spans.push(span(theme, key, Tone::Key));
        spans.push(span(theme, format!(" {word}   "), Tone::Faint));
    }
    spans
}

/// The footer of a screen from the command table; what does not fit is left out, never cut.
fn keys(app: &App, width: usize) -> Vec<Span<'static>> {
    let theme = &app.theme;
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    let rows = COMMANDS.iter().filter(|row| {
        row.screens.contains(&app.screen) && !row.footer.is_empty() && matters(app, row.command)
    });
    for row in rows {
        let key = app.keymap.key(row.command);
        match groups.iter_mut().find(|(word, _)| *word == row.footer) {
            Some((_, keys)) => keys.push(key),
            None => groups.push((row.footer, vec![key])),
        }
    }
    // The way to all other keys is always there.
    let last = groups.pop();
    let text_width = |keys: &[String], word: &str| {
        keys.iter()
            .map(|key| key.chars().count() + 1)
            .sum::<usize>()
            + word.chars().count()
            + 2
    };
    let reserved = last
        .as_ref()
        .map_or(0, |(word, keys)| text_width(keys, word));
    let mut used = 1;
    let mut spans = vec![Span::raw(" ")];
    let push = |word: &str, keys: &[String], spans: &mut Vec<Span<'static>>| {
        spans.push(span(theme, keys.join(" "), Tone::Key));
        spans.push(span(theme, format!(" {word}  "), Tone::Faint));
    };
    for (word, keys) in &groups {
        let needed = text_width(keys, word);
        if used + needed + reserved <= width {
            used += needed;
            push(word, keys, &mut spans);
        }
    }
    if let Some((word, keys)) = last {
        push(word, &keys, &mut spans);
    }
    spans
}

/// Whether a command can do something in this state.
fn matters(app: &App, command: Command) -> bool {
    let running = app.replies.running.is_some();
    let building = matches!(app.retrieval.index, IndexState::Building { .. });
    let context = app.instance.as_ref().and_then(|state| state.context());
    let replied = context.is_some_and(|context| app.replies.shown(context).is_some());
    match command {
        Command::Open | Command::Filter | Command::Retrieval => app.data().is_some(),
        Command::Ask => !running,
        Command::Stop => running,
        Command::ToggleRaw => replied,
        Command::NextDiffView => context.is_some_and(|context| {
            context.scenario == crate::domain::context::Scenario::Robustness
        }),
        Command::Problems => app.data().is_some_and(|data| !data.problems.is_empty()),
        Command::CancelBuild => building,
        Command::Rebuild => !building && !matches!(app.retrieval.index, IndexState::Ready(_)),
        _ => true,
    }
}
