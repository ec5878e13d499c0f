//! One item that is being decided: its document, and what it says, what the checks find, what was decided.

use std::rc::Rc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::{READING, level_mark, person};
use crate::domain::annotation::Part;
use crate::domain::review::{Content, Decision, ItemKind, Verdict};
use crate::domain::text::count;
use crate::tui::app::App;
use crate::tui::app::review::{ReviewItem, ReviewQueue, verdict_mark};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{bar, inside, panel, span};
use crate::tui::widgets::diff::DiffView;
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::one_line;
use crate::tui::widgets::text::Rich;

/// From this width on the two panels stand side by side, else one below the other.
const BESIDE: u16 = 72;

/// Document, and what stands beside it.
fn areas(app: &App) -> [Rect; 2] {
    let (width, height) = app.size;
    let body = Rect::new(0, 1, width, height.saturating_sub(2));
    if width < BESIDE {
        let above = body.height / 2;
        let document = Rect {
            height: above,
            ..body
        };
        let facts = Rect {
            y: body.y + above,
            height: body.height - above,
            ..body
        };
        return [document, facts];
    }
    let columns = (width * 9 / 20).clamp(34, 84);
    let document = Rect {
        width: width - columns,
        ..body
    };
    let facts = Rect {
        x: width - columns,
        width: columns,
        ..body
    };
    [document, facts]
}

/// Rows of a panel's content, and rows seen at once.
pub fn extent(app: &App, at: usize) -> (usize, usize) {
    let Some(area) = areas(app).get(at).copied() else {
        return (0, 0);
    };
    let inner = inside(area);
    let flow = match at {
        0 => document(app, inner.width),
        _ => facts(app, inner.width),
    };
    (flow.rows(), usize::from(inner.height))
}

/// Rows to scroll so that the first change of an edit, or the answer of a sub-question, is in sight.
pub fn first_in_sight(app: &App) -> usize {
    let inner = inside(areas(app)[0]);
    let (flow, height) = (document(app, inner.width), usize::from(inner.height));
    match flow.changes().first() {
        // A few rows before it say what it is about.
        Some(row) if row + 2 > height => {
            (row.saturating_sub(height / 3)).min(flow.rows().saturating_sub(height))
        }
        _ => 0,
    }
}

pub(in crate::tui::view) fn draw(app: &App, _: Rect, buffer: &mut Buffer) {
    let (width, height) = app.size;
    title(app, Rect::new(0, 0, width, 1.min(height)), buffer);
    let theme = &app.theme;
    let [left, right] = areas(app);
    let focus = app.review.focus;
    let open = app
        .review
        .queue
        .as_ref()
        .and_then(|queue| queue.open.as_ref());
    let mut name = vec![span(theme, "Document", Tone::Title)];
    let mut shown = Vec::new();
    if open.is_some_and(|open| open.size.is_some()) {
        name.push(span(theme, " and its edit", Tone::Title));
        let text = format!("shown: {}", app.review.diff.describe());
        shown.push(span(theme, text, Tone::Faint));
    }
    let flow = document(app, inside(left).width);
    panel(
        app,
        left,
        buffer,
        focus == 0,
        name,
        shown,
        &flow,
        app.review.scroll[0],
    );
    let flow = facts(app, inside(right).width);
    let queue = app.review.queue.as_ref();
    let kind = queue
        .and_then(|queue| queue.item())
        .map(|item| item.found.item.kind());
    let name = match kind {
        Some(ItemKind::Edit) => "Adversarial edit",
        _ => "Sub-question",
    };
    let name = vec![span(theme, name, Tone::Title)];
    let scroll = match app.review.note.is_some() {
        // The note is being written: its line is in sight.
        true => note_row(app, inside(right).width).saturating_sub(usize::from(right.height) / 2),
        false => app.review.scroll[1],
    };
    panel(
        app,
        right,
        buffer,
        focus == 1,
        name,
        state(app),
        &flow,
        scroll,
    );
}

fn title(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let mut left = vec![span(theme, " Review  ", Tone::Title)];
    if let Some(queue) = &app.review.queue {
        let (decided, all) = queue.progress();
        if queue.part == Part::Adjudicator {
            left.push(span(theme, "decide between reviewers  ", Tone::Warning));
        }
        left.push(span(theme, one_line(&queue.dataset.name), Tone::Strong));
        left.push(span(
            theme,
            format!("  item {} of {all}", queue.selected + 1),
            Tone::Text,
        ));
        left.push(span(theme, format!("  {decided} decided"), Tone::Faint));
        if let Some(item) = queue.item() {
            let place = format!("  {} · {}", item.id, one_line(&item.found.item.doc_id));
            left.push(span(theme, place, Tone::Faint));
        }
    }
    bar(app, area, buffer, left, vec![person(app)]);
}

/// The verdict at the border: it stays in sight however far one scrolls.
fn state(app: &App) -> Vec<ratatui::text::Span<'static>> {
    let Some(queue) = &app.review.queue else {
        return Vec::new();
    };
    let verdict = queue
        .item()
        .and_then(|item| queue.book.verdict(&item.found.item.id));
    let (mark, tone) = verdict_mark(verdict);
    let word = match (queue.pending, verdict) {
        (0, None) => "undecided".to_owned(),
        (0, Some(verdict)) => format!("{mark} {}", verdict.name()),
        _ => "saving …".to_owned(),
    };
    vec![span(&app.theme, word, tone)]
}

fn document(app: &App, width: u16) -> Flow {
    let mut flow = Flow::new(width);
    let queue = app.review.queue.as_ref();
    let open = queue.and_then(|queue| {
        let open = queue.open.as_ref()?;
        (Some(open.at) == queue.current()).then_some(open)
    });
    let Some(open) = open else {
        if app.review.opening.is_some() {
            flow.say(&app.wraps, READING, Tone::Text);
            return flow;
        }
        let back = app.keymap.key(Command::Back);
        let text = format!("There is no item on screen. {back} goes back to the list.");
        flow.say(&app.wraps, &text, Tone::Faint);
        return flow;
    };
    if !open.title.is_empty() {
        flow.say(&app.wraps, &open.title, Tone::Strong);
    }
    let view = match app.review.diff {
        DiffView::Both => 0,
        DiffView::Inserted => 1,
        DiffView::Deleted => 2,
    };
    flow.changed_text(&app.wraps, open.texts[view].clone());
    if let Some((inserted, deleted, ratio)) = open.size {
        flow.gap();
        let words = format!(
            "{} in, {deleted} out: {:.1} % of the words changed",
            count(inserted, "word"),
            ratio * 100.0
        );
        flow.say(&app.wraps, &words, Tone::Faint);
    }
    flow
}

/// Row at which the note stands.
fn note_row(app: &App, width: u16) -> usize {
    let flow = facts(app, width);
    flow.anchors().first().copied().unwrap_or(0)
}

fn facts(app: &App, width: u16) -> Flow {
    let mut flow = Flow::new(width);
    let queue = app.review.queue.as_ref();
    let Some((queue, item)) = queue.and_then(|queue| Some((queue, queue.item()?))) else {
        return flow;
    };
    says(app, queue, item, &mut flow);
    flow.gap();
    checks(app, item, &mut flow);
    flow.gap();
    let decision = queue.decision(item);
    decided(app, queue, item, &decision, &mut flow);
    flow.anchor();
    note(app, &decision, &mut flow);
    if queue.part == Part::Adjudicator {
        flow.gap();
        opinions(app, queue, &mut flow);
    }
    flow.gap();
    main_question(app, queue, item, &mut flow);
    flow
}

/// A name and a text that wraps below it.
fn named(app: &App, flow: &mut Flow, name: &str, text: &str, tone: Tone) {
    let head = format!("{name}: ");
    let text = one_line(text);
    let pieces = [(head.as_str(), Tone::Faint), (text.as_str(), tone)];
    flow.text(&app.wraps, Rc::new(Rich::build(pieces)), 0);
}

/// What the item says now.
fn says(app: &App, queue: &ReviewQueue, item: &ReviewItem, flow: &mut Flow) {
    match queue.content(item) {
        Content::SubQuestion { question, answer } => {
            named(app, flow, "sub-question", question, Tone::Strong);
            named(app, flow, "answer", answer, Tone::Good);
        }
        Content::Edit { planted, .. } => {
            match queue.truth(item) {
                Some((question, answer)) => {
                    named(app, flow, "sub-question", &question, Tone::Text);
                    named(app, flow, "true answer", &answer, Tone::Good);
                }
                None => named(
                    app,
                    flow,
                    "sub-question",
                    "none (it was rejected, or there never was one)",
                    Tone::Warning,
                ),
            }
            named(app, flow, "planted answer", planted, Tone::Adversarial);
        }
    }
}

/// What the checks find.
fn checks(app: &App, item: &ReviewItem, flow: &mut Flow) {
    if item.found.issues.is_empty() {
        let line = span(&app.theme, "✓ the checks find nothing", Tone::Good);
        return flow.line(Line::from(line));
    }
    for issue in &item.found.issues {
        let (mark, tone) = level_mark(Some(issue.kind.level()));
        let head = Line::from(span(&app.theme, mark, tone));
        let rich = Rich::plain(&one_line(&issue.detail), tone);
        flow.beside(&app.wraps, head, 2, Rc::new(rich));
    }
}

/// What was decided, or what can be.
fn decided(
    app: &App,
    queue: &ReviewQueue,
    item: &ReviewItem,
    decision: &Decision,
    flow: &mut Flow,
) {
    let key = |command| app.keymap.key(command);
    let (text, tone) = match &decision.verdict {
        None => (
            format!(
                "{} accepts it, {} opens it in your editor, {} rejects it",
                key(Command::Accept),
                key(Command::Edit),
                key(Command::Reject)
            ),
            Tone::Faint,
        ),
        Some(Verdict::Accepted) => ("✓ accepted as it is".to_owned(), Tone::Good),
        Some(Verdict::Edited(_)) => (
            "± edited: what stands here is yours".to_owned(),
            Tone::Changed,
        ),
        Some(Verdict::Rejected { reason, words }) => {
            let words = match words.is_empty() {
                true => String::new(),
                false => format!(" ({})", one_line(words)),
            };
            (format!("✗ rejected: {}{words}", reason.words()), Tone::Bad)
        }
    };
    flow.say(&app.wraps, &text, tone);
    if let Some(Verdict::Edited(_)) = &decision.verdict {
        let own = &item.found.item.content;
        match own {
            Content::SubQuestion { question, answer } => {
                named(app, flow, "it was", question, Tone::Faint);
                named(app, flow, "with the answer", answer, Tone::Faint);
            }
            Content::Edit { planted, .. } => {
                named(app, flow, "planted before", planted, Tone::Faint);
            }
        }
    }
    let draft = app.review.draft.as_ref();
    if draft.is_some_and(|(id, _)| *id == item.found.item.id) {
        let text = format!(
            "Your last text could not be read; {} opens it again.",
            key(Command::Edit)
        );
        flow.say(&app.wraps, &text, Tone::Warning);
    }
    if queue.pending > 0 {
        flow.say(&app.wraps, "saving …", Tone::Warning);
    }
}

fn note(app: &App, decision: &Decision, flow: &mut Flow) {
    if let Some(input) = &app.review.note {
        let line = span(
            &app.theme,
            "note (enter keeps it, esc does not):",
            Tone::Key,
        );
        flow.line(Line::from(line));
        let (before, after) = input.halves();
        let pieces = [
            (before, Tone::Match),
            ("▏", Tone::Key),
            (after, Tone::Match),
        ];
        return flow.text(&app.wraps, Rc::new(Rich::build(pieces)), 0);
    }
    match decision.note.is_empty() {
        true => {
            let key = app.keymap.key(Command::LabelNote);
            let text = format!("no note ({key} writes one)");
            flow.say(&app.wraps, &text, Tone::Faint);
        }
        false => named(app, flow, "note", &decision.note, Tone::Text),
    }
}

/// What each reviewer decided.
fn opinions(app: &App, queue: &ReviewQueue, flow: &mut Flow) {
    for (name, decision) in queue.opinions() {
        let said = match &decision.verdict {
            None => "undecided".to_owned(),
            Some(Verdict::Accepted) => "✓ accepted".to_owned(),
            Some(Verdict::Edited(content)) => {
                let (one, other) = content.texts();
                format!("± edited: {one} | {other}")
            }
            Some(Verdict::Rejected { reason, words }) if words.is_empty() => {
                format!("✗ rejected: {}", reason.words())
            }
            Some(Verdict::Rejected { reason, words }) => {
                format!("✗ rejected: {} ({words})", reason.words())
            }
        };
        named(app, flow, &one_line(name), &said, Tone::Changed);
        if !decision.note.is_empty() {
            let rich = Rich::plain(&one_line(&decision.note), Tone::Faint);
            flow.text(&app.wraps, Rc::new(rich), 2);
        }
    }
}

/// The question that the item's document is signal for.
fn main_question(app: &App, queue: &ReviewQueue, item: &ReviewItem, flow: &mut Flow) {
    let Some(question) = queue.question(item) else {
        return;
    };
    let line = span(&app.theme, "of the question", Tone::Faint);
    flow.line(Line::from(line));
    flow.say(&app.wraps, question.text.trim(), Tone::Text);
    for option in &question.options {
        let gold = option.letter == question.answer;
        let mark = if gold { "  (gold)" } else { "" };
        let text = format!("{}  {}{mark}", option.letter, one_line(&option.text));
        let tone = if gold { Tone::Good } else { Tone::Faint };
        flow.say(&app.wraps, &text, tone);
    }
}
