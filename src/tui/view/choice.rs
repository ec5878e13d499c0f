//! Lists over a screen: the stored runs, and what the list below can be narrowed by.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use unicode_width::UnicodeWidthStr;

use crate::domain::review::Reason;
use crate::domain::text::count;
use crate::tui::app::annotate::{RunList, RunRow, RunUse};
use crate::tui::app::browse::CasesState;
use crate::tui::app::facet::{FacetKind, FacetValue};
use crate::tui::app::input::Input;
use crate::tui::app::pieces::{Destination, Piece};
use crate::tui::app::{App, Overlay, Screen};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{frame, inside, put, span};
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::{both_ends, fitting, one_line};

pub(super) fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    match &app.overlay {
        Some(Overlay::Runs { selected, purpose }) => runs(app, area, buffer, *selected, *purpose),
        Some(Overlay::Facets { selected, values }) => facets(app, area, buffer, *selected, values),
        Some(Overlay::Pieces {
            selected,
            to,
            pieces,
        }) => self::pieces(app, area, buffer, (*selected, *to), pieces),
        Some(Overlay::Reject {
            reasons,
            selected,
            words,
            typing,
        }) => reject(app, area, buffer, (reasons, *selected), (words, *typing)),
        _ => {}
    }
}

/// Rows that the content of a list over the screen needs at a width.
pub(super) fn rows(app: &App, width: u16) -> u16 {
    let rows = match &app.overlay {
        Some(Overlay::Runs { purpose, .. }) => match &app.annotate.runs {
            RunList::Ready(runs) if !runs.is_empty() => {
                runs.len() + usize::from(*purpose == RunUse::Outcomes)
            }
            // A sentence or two.
            _ => 4,
        },
        Some(Overlay::Facets { values, .. }) => {
            let mut kinds: Vec<FacetKind> = values.iter().map(|value| value.kind).collect();
            kinds.dedup();
            let note = about_facets(app, width).map_or(0, |note| note.rows());
            (values.len() + kinds.len() + note).max(2)
        }
        _ => 0,
    };
    u16::try_from(rows).unwrap_or(u16::MAX)
}

/// What the numbers of the facets count, where a row can have several replies.
fn about_facets(app: &App, width: u16) -> Option<Flow> {
    if matches!(
        app.screen,
        Screen::Queue | Screen::Review | Screen::ReviewItem
    ) {
        return None;
    }
    let mut flow = Flow::new(width);
    flow.gap();
    let text = "Numbers are questions. A question fits if one of its stored replies has it all; the list shows that reply.";
    flow.say(&app.wraps, text, Tone::Faint);
    Some(flow)
}

fn runs(app: &App, area: Rect, buffer: &mut Buffer, selected: usize, purpose: RunUse) {
    let theme = &app.theme;
    let title = match purpose {
        RunUse::Annotate => "Whose replies do you want to label? Choose a run",
        RunUse::Outcomes => "Whose outcomes shall the list show? Choose a run",
    };
    frame(
        app,
        area,
        buffer,
        true,
        vec![span(theme, title, Tone::Title)],
        Vec::new(),
    );
    let inner = inside(area);
    let runs = match &app.annotate.runs {
        RunList::Ready(runs) if !runs.is_empty() => runs,
        RunList::Ready(_) => {
            let sweep = app.keymap.key(Command::Sweep);
            let way = format!(
                "Open a question and ask a model, or plan a sweep (esc, then {sweep}): every reply is stored under a run."
            );
            let lines = [
                ("There is no stored reply yet.", Tone::Warning),
                (way.as_str(), Tone::Text),
            ];
            return say(app, inner, buffer, &lines);
        }
        RunList::Failed(problem) => {
            return say(
                app,
                inner,
                buffer,
                &[
                    ("The runs can't be read.", Tone::Bad),
                    (problem, Tone::Text),
                ],
            );
        }
        RunList::Loading => {
            let lines = [
                ("Reading the runs …", Tone::Text),
                (
                    "They can be chosen once they are read; esc closes.",
                    Tone::Faint,
                ),
            ];
            return say(app, inner, buffer, &lines);
        }
    };
    let mut rows = Vec::new();
    if purpose == RunUse::Outcomes {
        rows.push(Line::from(span(
            theme,
            "all runs: the newest reply to each question",
            Tone::Strong,
        )));
    }
    for run in runs {
        let left = vec![
            span(theme, one_line(&run.name), Tone::Strong),
            span(theme, format!("  {}", one_line(&run.about)), Tone::Faint),
        ];
        let width = usize::from(inner.width);
        let room = width.saturating_sub(one_line(&run.name).width());
        let counts = counts(run, room);
        let right = vec![span(theme, counts, Tone::Text)];
        rows.push(both_ends(left, right, width));
    }
    list(app, inner, buffer, &rows, Some(selected));
}

/// How much a run holds, and how much of it is labelled, as far as there is room beside its name.
fn counts(run: &RunRow, room: usize) -> String {
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let replies = count(number(run.replies), "reply");
    let questions = count(number(run.questions), "question");
    let forms = match run.done {
        0 => [
            format!("  {replies} to {questions}"),
            format!("  {replies}"),
            String::new(),
        ],
        done => [
            format!("  {replies} to {questions}  {done} labelled by you"),
            format!("  {replies}, {done} labelled"),
            format!("  {done} labelled"),
        ],
    };
    fitting(forms, room)
}

fn facets(app: &App, area: Rect, buffer: &mut Buffer, selected: usize, values: &[FacetValue]) {
    let theme = &app.theme;
    let (what, kinds) = match app.screen {
        Screen::Queue => ("Which replies?", None),
        Screen::Review => ("Which items?", None),
        _ => ("Which questions?", Some(&app.browse.cases_state)),
    };
    let mut title = vec![span(theme, what, Tone::Title)];
    match kinds {
        Some(CasesState::Loading(_)) => {
            title.push(span(theme, "  reading stored replies …", Tone::Warning));
        }
        Some(CasesState::Failed(_)) => {
            title.push(span(theme, "  stored replies can't be read", Tone::Bad));
        }
        _ => {}
    }
    frame(app, area, buffer, true, title, Vec::new());
    let inner = inside(area);
    if values.is_empty() {
        return say(
            app,
            inner,
            buffer,
            &[(
                "There is nothing to narrow the list by: all of it is alike.",
                Tone::Text,
            )],
        );
    }
    let mut rows = Vec::new();
    let mut at = None;
    let mut last: Option<FacetKind> = None;
    for (index, value) in values.iter().enumerate() {
        if last != Some(value.kind) {
            rows.push(Line::from(span(theme, value.kind.title(), Tone::Title)));
            last = Some(value.kind);
        }
        if index == selected {
            at = Some(rows.len());
        }
        let mark = if value.chosen { "[x] " } else { "[ ] " };
        let name = match value.kind {
            FacetKind::Label => app.annotate.taxonomy.name_of(&value.value),
            _ => &value.value,
        };
        let tone = match (value.chosen, value.count) {
            (true, _) => Tone::Match,
            (false, 0) => Tone::Faint,
            _ => Tone::Text,
        };
        let left = vec![span(theme, format!("  {mark}{}", one_line(name)), tone)];
        let right = vec![span(theme, format!(" {}", value.count), tone)];
        rows.push(both_ends(left, right, usize::from(inner.width)));
    }
    let note = about_facets(app, inner.width);
    let note_rows = note.as_ref().map_or(0, Flow::rows);
    let note_rows = u16::try_from(note_rows).unwrap_or(u16::MAX);
    // Where there is little room, the choice comes first.
    let note_rows = match usize::from(inner.height.saturating_sub(note_rows)) >= rows.len().min(14)
    {
        true => note_rows.min(inner.height),
        false => 0,
    };
    let values = Rect {
        height: inner.height - note_rows,
        ..inner
    };
    list(app, values, buffer, &rows, at);
    if let Some(note) = note.filter(|_| note_rows > 0) {
        let place = Rect {
            y: values.bottom(),
            height: note_rows,
            ..inner
        };
        note.draw(place, buffer, 0, theme);
    }
}

/// What of the screen can be taken, each with its key.
fn pieces(
    app: &App,
    area: Rect,
    buffer: &mut Buffer,
    (selected, to): (usize, Destination),
    pieces: &[Piece],
) {
    let theme = &app.theme;
    let title = match to {
        Destination::Clipboard => "What do you want to copy?",
        Destination::Pager => "What do you want to open in your pager?",
    };
    let title = vec![span(theme, title, Tone::Title)];
    frame(app, area, buffer, true, title, Vec::new());
    let inner = inside(area);
    let rows: Vec<Line<'static>> = pieces
        .iter()
        .map(|piece| {
            let left = vec![
                span(theme, format!("{}  ", piece.key), Tone::Key),
                span(theme, piece.name.clone(), Tone::Text),
            ];
            let size = span(theme, format!("  {}", piece.size()), Tone::Faint);
            both_ends(left, vec![size], usize::from(inner.width))
        })
        .collect();
    list(app, inner, buffer, &rows, Some(selected));
}

/// Why an item is rejected: the reasons that fit it, and more in words.
fn reject(
    app: &App,
    area: Rect,
    buffer: &mut Buffer,
    (reasons, selected): (&[Reason], usize),
    (words, typing): (&Input, bool),
) {
    let theme = &app.theme;
    let title = vec![span(theme, "Why is this item rejected?", Tone::Title)];
    frame(app, area, buffer, true, title, Vec::new());
    let inner = inside(area);
    let found = app.review.queue.as_ref().and_then(|queue| queue.item());
    let is_found = |reason: &Reason| match reason {
        Reason::Check(kind) => found.is_some_and(|item| {
            let mut issues = item.found.issues.iter();
            issues.any(|issue| issue.kind == *kind)
        }),
        _ => false,
    };
    let mut rows: Vec<Line<'static>> = reasons
        .iter()
        .map(|reason| {
            let mut spans = vec![span(theme, reason.words(), Tone::Text)];
            if is_found(reason) {
                spans.push(span(theme, "  the checks find this", Tone::Warning));
            }
            Line::from(spans)
        })
        .collect();
    rows.push(Line::default());
    let (before, after) = words.halves();
    let tone = if typing { Tone::Key } else { Tone::Faint };
    let mut spans = vec![span(theme, "in words: ", tone)];
    spans.push(span(theme, before.to_owned(), Tone::Match));
    if typing {
        spans.push(span(theme, "▏", Tone::Key));
    }
    spans.push(span(theme, after.to_owned(), Tone::Match));
    rows.push(Line::from(spans));
    let chosen = if typing { rows.len() - 1 } else { selected };
    list(app, inner, buffer, &rows, Some(chosen));
}

/// Rows with one chosen, which is kept in sight.
fn list(app: &App, area: Rect, buffer: &mut Buffer, rows: &[Line<'static>], chosen: Option<usize>) {
    let visible = usize::from(area.height).max(1);
    let top = chosen.map_or(0, |chosen| (chosen + 1).saturating_sub(visible));
    let shown = rows.iter().enumerate().skip(top);
    for (y, (row, line)) in (area.top()..area.bottom()).zip(shown) {
        put(buffer, area.x, y, line, area.width);
        if Some(row) == chosen {
            let whole = Rect::new(area.x.saturating_sub(1), y, area.width + 2, 1);
            buffer.set_style(whole, app.theme.style(Tone::Selection));
            let arrow = Line::styled(">", app.theme.style(Tone::Key));
            put(buffer, area.x.saturating_sub(1), y, &arrow, 1);
        }
    }
}

fn say(app: &App, area: Rect, buffer: &mut Buffer, lines: &[(&str, Tone)]) {
    let mut flow = Flow::new(area.width);
    for (text, tone) in lines {
        flow.say(&app.wraps, text, *tone);
    }
    flow.draw(area, buffer, 0, &app.theme);
}
