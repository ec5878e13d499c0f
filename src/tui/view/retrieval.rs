//! Live search.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::tui::app::App;
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{frame, inside, panel, put, span};
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::one_line;

mod lists;
mod map;
mod status;

use lists::{is_signal, method_title, note};
use status::status_rows;

/// Rows of one hit: rank and id, then its text.
const HIT_ROWS: usize = 2;

/// From this width on the three lists stand side by side.
const WIDE: u16 = 90;

/// From this size on the map stands beside the document.
const MAP_FROM: (u16, u16) = (110, 9);

struct Layout {
    header: Rect,
    query: Rect,
    status: Rect,
    /// What lies below the status: lists and document, or the map.
    body: Rect,
    lists: Vec<(usize, Rect)>,
    detail: Option<Rect>,
    map: Option<Rect>,
}

fn layout(app: &App) -> Layout {
    let (width, height) = app.size;
    let row = |y: u16, rows: u16| Rect::new(0, y, width, rows.min(height.saturating_sub(y + 1)));
    let status = status_rows(app, width);
    let whole = row(4 + status, height.saturating_sub(5 + status));
    let mut body = whole;
    let mut detail = None;
    if body.height >= 16 && !app.retrieval.zoom {
        let rows = body.height / 3;
        body.height -= rows;
        detail = Some(Rect {
            y: body.bottom(),
            height: rows,
            ..body
        });
    }
    let map = detail
        .as_mut()
        .filter(|_| !app.retrieval.words_only())
        .and_then(beside_document);
    let focus = app.retrieval.focus;
    let alone = app.retrieval.zoom || width < WIDE || app.retrieval.words_only();
    let lists = if alone {
        vec![(focus, body)]
    } else {
        let share = width / 3;
        (0..3u16)
            .map(|index| {
                let x = index * share;
                let list_width = if index == 2 { width - x } else { share };
                let area = Rect {
                    x,
                    width: list_width,
                    ..body
                };
                (usize::from(index), area)
            })
            .collect()
    };
    Layout {
        header: row(0, 1),
        query: row(1, 3),
        status: row(4, status),
        body: whole,
        lists,
        detail,
        map,
    }
}

/// Takes the right half of the document's area for the map, where both have room.
fn beside_document(detail: &mut Rect) -> Option<Rect> {
    if detail.width < MAP_FROM.0 || detail.height < MAP_FROM.1 {
        return None;
    }
    let width = detail.width / 2;
    let map = Rect {
        x: detail.x + width,
        width: detail.width - width,
        ..*detail
    };
    detail.width = width;
    Some(map)
}

/// Hits that a list shows at once.
pub fn visible_hits(app: &App) -> usize {
    let layout = layout(app);
    let focused = layout
        .lists
        .iter()
        .find(|(list, _)| *list == app.retrieval.focus);
    focused.map_or(1, |(_, area)| usize::from(inside(*area).height) / HIT_ROWS)
}

pub(super) fn draw(app: &App, _: Rect, buffer: &mut Buffer) {
    let layout = layout(app);
    status::header(app, layout.header, buffer);
    query(app, layout.query, buffer);
    status::status(app, layout.status, buffer);
    if app.retrieval.map_page {
        return map::page(app, layout.body, buffer);
    }
    for (list, area) in &layout.lists {
        lists::hits(app, *list, *area, buffer);
    }
    if let Some(area) = layout.detail {
        detail(app, area, buffer);
    }
    if let Some(area) = layout.map {
        map::plot(app, area, buffer);
    }
}

fn query(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let typing = app.retrieval.typing;
    let edit = app.keymap.key(Command::EditQuery);
    let new = app.keymap.key(Command::NewQuery);
    let right = match (typing, &app.retrieval.kept) {
        (false, _) => format!("{new}: another one; {edit} edits this one"),
        (true, Some(_)) => "up: the query before".to_owned(),
        (true, None) => String::new(),
    };
    let right = vec![span(theme, right, Tone::Faint)];
    frame(
        app,
        area,
        buffer,
        typing,
        vec![span(theme, "Query", Tone::Title)],
        right,
    );
    let inner = inside(area);
    let (before, after) = app.retrieval.query.halves();
    let width = usize::from(inner.width);
    // While typing, the cursor must be in sight: long texts show their end.
    let before = if typing {
        tail(before, width.saturating_sub(2))
    } else {
        before.to_owned()
    };
    let mut spans = vec![span(theme, before, Tone::Text)];
    if typing {
        spans.push(span(theme, "▏", Tone::Key));
    }
    spans.push(span(theme, after.to_owned(), Tone::Text));
    let spans = crate::tui::widgets::line::cut_spans(spans, width);
    put(buffer, inner.x, inner.y, &Line::from(spans), inner.width);
}

/// The last `width` columns of a text.
fn tail(text: &str, width: usize) -> String {
    use unicode_segmentation::UnicodeSegmentation;
    use unicode_width::UnicodeWidthStr;
    let mut used = 0;
    let mut start = text.len();
    for (at, grapheme) in text.grapheme_indices(true).rev() {
        used += grapheme.width();
        if used > width {
            break;
        }
        start = at;
    }
    text[start..].to_owned()
}

fn detail(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let list = app.retrieval.focus;
    let hit = match app.retrieval.lists.get(list) {
        Some(Some(Ok(found))) => app
            .retrieval
            .selected
            .get(list)
            .and_then(|&selected| found.hits.get(selected)),
        _ => None,
    };
    let mut flow = Flow::new(inside(area).width);
    let mut title = vec![span(theme, "Document", Tone::Title)];
    if let Some(hit) = hit {
        title.push(span(theme, format!("  {}", one_line(&hit.id)), Tone::Faint));
        let selected = app.retrieval.selected.get(list).copied();
        if selected.is_some_and(|selected| is_signal(app, list, selected)) {
            title.push(span(theme, "  ● signal for this question", Tone::Signal));
        }
        if !hit.title.trim().is_empty() {
            flow.say(&app.wraps, hit.title.trim(), Tone::Strong);
        }
        flow.say(&app.wraps, hit.content.trim(), Tone::Text);
    } else {
        let text = "Search hits are shown here in full.";
        flow.say(&app.wraps, text, Tone::Faint);
    }
    panel(app, area, buffer, false, title, Vec::new(), &flow, 0);
}
