//! Full-text search over everything that is open.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::text::count;
use crate::tui::app::App;
use crate::tui::app::find::{FindIndex, TextHit, TextKind};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{bar, frame, inside, put, span};
use crate::tui::widgets::flow::{Flow, scroll_bar};
use crate::tui::widgets::line::{cut_spans, one_line};
use crate::tui::widgets::text::{Rich, wrap};

/// Rows of a hit: its head and two rows of its words.
const ROWS: u16 = 3;

struct Areas {
    bar: Rect,
    input: Rect,
    hits: Rect,
}

fn areas(app: &App) -> Areas {
    let (width, height) = app.size;
    let body = height.saturating_sub(2);
    let input = 3.min(body);
    Areas {
        bar: Rect::new(0, 0, width, 1.min(height)),
        input: Rect::new(0, 1, width, input),
        hits: Rect::new(0, 1 + input, width, body - input),
    }
}

/// Hits that are seen at once.
pub fn visible_hits(app: &App) -> usize {
    usize::from((inside(areas(app).hits).height / ROWS).max(1))
}

pub(super) fn draw(app: &App, _: Rect, buffer: &mut Buffer) {
    let areas = areas(app);
    let theme = &app.theme;
    let find = &app.find;
    let left = vec![
        span(theme, " Find text  ", Tone::Title),
        span(theme, about(app), Tone::Text),
    ];
    bar(app, areas.bar, buffer, left, Vec::new());
    let title = vec![span(theme, "Words", Tone::Title)];
    frame(app, areas.input, buffer, find.typing, title, Vec::new());
    let (before, after) = find.input.halves();
    let mut words = vec![span(theme, before.to_owned(), Tone::Match)];
    if find.typing {
        words.push(span(theme, "▏", Tone::Key));
    }
    words.push(span(theme, after.to_owned(), Tone::Match));
    let inner = inside(areas.input);
    put(buffer, inner.x, inner.y, &Line::from(words), inner.width);
    let mut title = vec![span(theme, "Found", Tone::Title)];
    if !find.hits.is_empty() {
        title.push(span(
            theme,
            format!("  {}, best first", count(find.hits.len(), "text")),
            Tone::Faint,
        ));
    }
    frame(app, areas.hits, buffer, !find.typing, title, Vec::new());
    match find.hits.is_empty() {
        true => nothing(app, inside(areas.hits), buffer),
        false => hits(app, areas.hits, buffer),
    }
}

/// What is searched, for the title.
fn about(app: &App) -> String {
    let run = match &app.find.run {
        Some(run) => format!("replies of run {}", one_line(run)),
        None => "all stored replies".to_owned(),
    };
    match &app.find.index {
        FindIndex::Ready(counts) => {
            let all: usize = counts.iter().sum();
            format!("{} of the open dataset and {run}", count(all, "text"))
        }
        _ => format!("the open dataset and {run}"),
    }
}

/// Why there is no hit.
fn nothing(app: &App, area: Rect, buffer: &mut Buffer) {
    let find = &app.find;
    let mut flow = Flow::new(area.width);
    let (text, tone) = match (&find.index, &find.problem) {
        (FindIndex::Failed(problem), _) | (_, Some(problem)) => {
            (format!("The texts can't be searched: {problem}"), Tone::Bad)
        }
        (FindIndex::Ready(counts), None) if find.input.text().trim().is_empty() => {
            let kinds: Vec<String> = TextKind::ALL
                .iter()
                .zip(counts)
                .filter(|(kind, count)| **count > 0 && **kind != TextKind::Reasoning)
                .map(|(kind, number)| count(*number, kind.name()))
                .collect();
            let reasoning = match counts[3] {
                0 => String::new(),
                replies => format!(", the reasoning of {}", count(replies, "reply")),
            };
            (
                format!("Type words. They are looked for in {}{reasoning}.", kinds.join(", ")),
                Tone::Text,
            )
        }
        (FindIndex::Ready(_), None) if find.asking.is_some() => ("Searching …".to_owned(), Tone::Faint),
        (FindIndex::Ready(_), None) => (
            "No text has these words. Word endings do not matter; common words such as \"the\" are not looked for.".to_owned(),
            Tone::Warning,
        ),
        (FindIndex::Building(_, Some((done, total))), None) => {
            (format!("Making {total} texts searchable: {done} done …"), Tone::Text)
        }
        (_, None) => ("Making the texts searchable …".to_owned(), Tone::Text),
    };
    flow.say(&app.wraps, &text, tone);
    if matches!(find.index, FindIndex::Building(..)) {
        flow.say(&app.wraps, "You can type already.", Tone::Faint);
    }
    if matches!(find.index, FindIndex::Failed(_)) {
        let (back, again) = (
            app.keymap.key(Command::Back),
            app.keymap.key(Command::FindText),
        );
        let text = format!("{back} goes back, {again} there tries again.");
        flow.say(&app.wraps, &text, Tone::Faint);
    }
    flow.draw(area, buffer, 0, &app.theme);
}

fn hits(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let inner = inside(area);
    let visible = visible_hits(app);
    let shown = app
        .find
        .hits
        .iter()
        .enumerate()
        .skip(app.find.top)
        .take(visible);
    for (row, (at, hit)) in shown.enumerate() {
        let y = inner.y + u16::try_from(row).unwrap_or(0) * ROWS;
        if y >= inner.bottom() {
            break;
        }
        let spans = cut_spans(head(app, hit), usize::from(inner.width));
        put(buffer, inner.x, y, &Line::from(spans), inner.width);
        for (offset, line) in (1..ROWS).zip(words(app, hit, inner.width)) {
            if y + offset < inner.bottom() {
                put(buffer, inner.x, y + offset, &line, inner.width);
            }
        }
        if at == app.find.selected {
            let whole = Rect::new(inner.x.saturating_sub(1), y, inner.width + 2, 1);
            buffer.set_style(whole, theme.style(Tone::Selection));
            let arrow = Line::styled(">", theme.style(Tone::Key));
            put(buffer, inner.x.saturating_sub(1), y, &arrow, 1);
        }
    }
    let border = Rect {
        y: inner.y,
        height: inner.height,
        ..area
    };
    // In units of hits.
    if app.find.hits.len() > visible {
        let per = usize::from(ROWS);
        let style = theme.style(Tone::BorderFocused);
        scroll_bar(
            border,
            buffer,
            app.find.top * per,
            app.find.hits.len() * per,
            style,
        );
    }
}

fn head(app: &App, hit: &TextHit) -> Vec<Span<'static>> {
    let theme = &app.theme;
    let (mark, tone) = match hit.kind {
        TextKind::Question => ("Q", Tone::Title),
        TextKind::Document => ("●", Tone::Signal),
        TextKind::Edited => ("▲", Tone::Adversarial),
        TextKind::Reasoning => ("≡", Tone::Strong),
        TextKind::Note => ("✎", Tone::Changed),
    };
    vec![
        span(theme, format!("{mark} {}", hit.kind.name()), tone),
        span(
            theme,
            format!("  {}", one_line(&hit.question_id)),
            Tone::Strong,
        ),
        span(theme, format!("  {}", one_line(&hit.title)), Tone::Faint),
    ]
}

/// The words around the match, wrapped, the matches marked.
fn words(app: &App, hit: &TextHit, width: u16) -> Vec<Line<'static>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    for mark in &hit.marks {
        if let (Some(before), Some(word)) = (
            hit.excerpt.get(at..mark.start),
            hit.excerpt.get(mark.clone()),
        ) {
            pieces.push((before, Tone::Text));
            pieces.push((word, Tone::Match));
            at = mark.end;
        }
    }
    pieces.push((hit.excerpt.get(at..).unwrap_or_default(), Tone::Text));
    let rich = Rich::build(pieces);
    let wrapped = wrap(rich.text(), usize::from(width.saturating_sub(2)));
    let rows = wrapped.lines.into_iter().take(usize::from(ROWS) - 1);
    rows.map(|range| {
        let mut spans = vec![Span::raw("  ")];
        let words = rich.pieces(range);
        spans.extend(words.map(|(text, tone)| span(&app.theme, text, tone)));
        Line::from(spans)
    })
    .collect()
}
