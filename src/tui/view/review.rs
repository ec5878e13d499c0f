//! Reviewing a benchmark: its items one below the other, and the item that is being decided.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::annotation::Part;
use crate::domain::build::Level;
use crate::domain::review::ItemKind;
use crate::domain::text::count;
use crate::tui::app::App;
use crate::tui::app::review::{ReviewItem, ReviewQueue, verdict_mark, worst};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{bar, frame, inside, put, span};
use crate::tui::view::sweep::select;
use crate::tui::widgets::flow::{Flow, scroll_bar};
use crate::tui::widgets::line::{fit, one_line};

mod item;

pub(super) use item::draw as draw_item;
pub use item::{extent, first_in_sight};

/// What is said while the review is opened.
const READING: &str = "Reading what was decided, and having the checks look at every item …";

fn body(app: &App) -> Rect {
    let (width, height) = app.size;
    Rect::new(0, 1, width, height.saturating_sub(2))
}

/// Where the rows of the list are; the first row inside the frame names the columns.
fn list_area(app: &App) -> Rect {
    let inner = inside(body(app));
    Rect {
        y: inner.y + 1,
        height: inner.height.saturating_sub(1),
        ..inner
    }
}

/// Rows that the list shows.
pub fn visible_rows(app: &App) -> usize {
    usize::from(list_area(app).height)
}

pub(super) fn draw(app: &App, _: Rect, buffer: &mut Buffer) {
    let (width, height) = app.size;
    title(app, Rect::new(0, 0, width, 1.min(height)), buffer);
    let theme = &app.theme;
    let mut left = vec![span(
        theme,
        "Sub-questions and adversarial edits",
        Tone::Title,
    )];
    if let Some(queue) = app
        .review
        .queue
        .as_ref()
        .filter(|one| !one.facets.is_empty())
    {
        let words = one_line(&queue.facets.words(str::to_owned));
        left.push(span(theme, format!("  only: {words}"), Tone::Match));
    }
    frame(app, body(app), buffer, true, left, Vec::new());
    match &app.review.queue {
        Some(queue) if app.review.opening.is_none() && !queue.shown.is_empty() => {
            rows(app, queue, buffer);
        }
        _ => empty(app, buffer),
    }
}

/// The bar above: which benchmark, how far one is, who one is.
fn title(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let mut left = vec![span(theme, " Review  ", Tone::Title)];
    if let Some(queue) = &app.review.queue {
        left.push(span(theme, one_line(&queue.dataset.name), Tone::Strong));
        let (decided, all) = queue.progress();
        let (what, tone) = match (queue.part, decided == all && all > 0) {
            (_, true) => (format!("  all {all} decided"), Tone::Good),
            (Part::Annotator, false) => (format!("  {decided} of {all} decided"), Tone::Text),
            (Part::Adjudicator, false) => (
                format!("  decide between reviewers: {decided} of {all} decided"),
                Tone::Text,
            ),
        };
        left.push(span(theme, what, tone));
        if queue.broken > 0 {
            let text = format!("  {} can't be read", count(queue.broken, "decision"));
            left.push(span(theme, text, Tone::Warning));
        }
    }
    bar(app, area, buffer, left, vec![person(app)]);
}

/// Who reviews.
fn person(app: &App) -> Span<'static> {
    let text = format!("as {} ", app.annotate.annotator);
    span(&app.theme, text, Tone::Faint)
}

/// Why there are no rows, and the way on.
fn empty(app: &App, buffer: &mut Buffer) {
    let key = |command| app.keymap.key(command);
    let area = list_area(app);
    let mut flow = Flow::new(area.width);
    if app.review.opening.is_some() {
        flow.say(&app.wraps, READING, Tone::Text);
    } else if let Some(problem) = &app.review.problem {
        flow.say(&app.wraps, "The review can't be opened.", Tone::Bad);
        flow.say(&app.wraps, problem, Tone::Text);
        let text = format!(
            "{} goes back; {} there tries again.",
            key(Command::Back),
            key(Command::Review)
        );
        flow.say(&app.wraps, &text, Tone::Faint);
    } else if app
        .review
        .queue
        .as_ref()
        .is_some_and(|queue| !queue.items.is_empty())
    {
        let text = format!(
            "No item is like that. {} changes what the queue is narrowed to.",
            key(Command::Facets)
        );
        flow.say(&app.wraps, &text, Tone::Warning);
    } else {
        let text = "This benchmark has neither sub-questions nor adversarial edits, so there is nothing to review.";
        flow.say(&app.wraps, text, Tone::Warning);
        let text = format!("{} makes them with a model.", key(Command::Build));
        flow.say(&app.wraps, &text, Tone::Faint);
    }
    flow.draw(area, buffer, 0, &app.theme);
}

/// Widths of the columns; the text takes the rest.
struct Columns {
    kind: usize,
    id: usize,
    text: usize,
    finding: usize,
}

/// Columns of the mark and of the level of what is found.
const MARKS: usize = 4;

fn columns(queue: &ReviewQueue, width: usize) -> Columns {
    let kind = if width >= 56 { 14 } else { 5 };
    let id = queue.widest_id.clamp(8, if width >= 110 { 24 } else { 16 });
    // Only what is found takes room.
    let any = queue.items.iter().any(|item| !item.found.issues.is_empty());
    let finding = match width {
        0..72 => 0,
        _ if !any => 0,
        72..120 => 26,
        _ => 44,
    };
    let used = MARKS + kind + id + 2 + finding;
    Columns {
        kind,
        id,
        text: width.saturating_sub(used),
        finding,
    }
}

fn rows(app: &App, queue: &ReviewQueue, buffer: &mut Buffer) {
    let theme = &app.theme;
    let area = list_area(app);
    let columns = columns(queue, usize::from(area.width));
    let heading = [
        fit("", MARKS),
        fit("kind", columns.kind),
        fit("question", columns.id + 2),
        fit("sub-question, or planted answer", columns.text),
        fit("  the checks find", columns.finding),
    ]
    .concat();
    let line = Line::from(span(theme, heading, Tone::Faint));
    put(buffer, area.x, area.y.saturating_sub(1), &line, area.width);
    let shown = queue.shown.iter().enumerate().skip(queue.top);
    for (y, (row, at)) in (area.top()..area.bottom()).zip(shown) {
        if let Some(item) = queue.items.get(*at) {
            let line = line_of(app, queue, item, &columns);
            put(buffer, area.x, y, &line, area.width);
        }
        if row == queue.selected {
            select(app, area, y, buffer);
        }
    }
    let border = Rect {
        y: area.y,
        height: area.height,
        ..body(app)
    };
    let style = theme.style(Tone::BorderFocused);
    scroll_bar(border, buffer, queue.top, queue.shown.len(), style);
}

/// Mark and tone of the worst that the checks find.
fn level_mark(level: Option<Level>) -> (&'static str, Tone) {
    match level {
        Some(Level::Error) => ("!", Tone::Bad),
        Some(Level::Warning) => ("!", Tone::Warning),
        Some(Level::Notice) => ("·", Tone::Faint),
        None => (" ", Tone::Faint),
    }
}

fn line_of(app: &App, queue: &ReviewQueue, item: &ReviewItem, columns: &Columns) -> Line<'static> {
    let theme = &app.theme;
    let decision = queue.book.get(&item.found.item.id);
    let verdict = decision.and_then(|decision| decision.verdict.as_ref());
    let (mark, tone) = verdict_mark(verdict);
    let (level, level_tone) = level_mark(worst(&item.found));
    let kind = match (item.found.item.kind(), columns.kind) {
        (ItemKind::SubQuestion, 0..10) => "sub",
        (ItemKind::SubQuestion, _) => "sub-question",
        (ItemKind::Edit, _) => "edit",
    };
    let finding = item
        .found
        .issues
        .iter()
        .min_by_key(|issue| issue.kind.level());
    let finding = finding.map_or("", |issue| issue.kind.single());
    let note = decision.is_some_and(|decision| !decision.note.is_empty());
    let text = match note {
        true => format!("{}  (note)", item.text),
        false => item.text.clone(),
    };
    let room = columns.finding.saturating_sub(2);
    Line::from(vec![
        span(theme, fit(mark, 2), tone),
        span(theme, fit(level, 2), level_tone),
        span(theme, fit(kind, columns.kind), Tone::Faint),
        span(theme, fit(&item.id, columns.id), Tone::Faint),
        Span::raw("  "),
        span(theme, fit(&text, columns.text), Tone::Text),
        Span::raw(" ".repeat(columns.finding.min(2))),
        span(theme, fit(finding, room), level_tone),
    ])
}
