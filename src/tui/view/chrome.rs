//! Frames, panels and the title bar.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Borders, Widget};

use crate::tui::app::App;
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
