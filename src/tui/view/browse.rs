//! The list of questions.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::domain::text::count;
use crate::tui::app::facet::verdict_of;
use crate::tui::app::reply::Verdict;
use crate::tui::app::{App, DatasetState, Screen};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{bar, frame, inside, panel, put, span};
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::{cut, fit, one_line};

/// From this width on a preview stands beside the list.
const WIDE: u16 = 110;

struct Areas {
    bar: Rect,
    list: Rect,
    preview: Option<Rect>,
}

fn areas(app: &App) -> Areas {
    let (width, height) = app.size;
    let bar = Rect::new(0, 0, width, 1.min(height));
    let body = Rect::new(0, 1, width, height.saturating_sub(2));
    if width < WIDE {
        return Areas {
            bar,
            list: body,
            preview: None,
        };
    }
    let list_width = width * 3 / 5;
    Areas {
        bar,
        list: Rect {
            width: list_width,
            ..body
        },
        preview: Some(Rect {
            x: list_width,
            width: width - list_width,
            ..body
        }),
    }
}

/// Where the rows of the list are.
pub fn list_area(app: &App) -> Rect {
    let inner = inside(areas(app).list);
    // The first row names the columns.
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

pub(super) fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    let areas = areas(app);
    title(app, areas.bar, buffer);
    match &app.dataset {
        DatasetState::Loading => {
            let text = format!("Loading {} …", app.settings.dataset);
            let waiting = match app.early.is_empty() {
                true => "",
                false => "Your keys are kept, and do then what they do.",
            };
            let lines = [(text.as_str(), Tone::Text), (waiting, Tone::Faint)];
            message(app, area, buffer, &lines);
        }
        DatasetState::Failed(problem) => failed(app, area, buffer, problem),
        DatasetState::Ready(_) => {
            list(app, areas.list, buffer);
            if let Some(preview_area) = areas.preview {
                preview(app, preview_area, buffer);
            }
        }
    }
}

fn title(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let mut left = vec![span(theme, " MedRGB  ", Tone::Title)];
    let mut right = Vec::new();
    if let Some(dataset) = app.data() {
        left.push(span(theme, one_line(&dataset.name), Tone::Strong));
        let total = app.browse.entries.len();
        let shown = app.browse.shown.len();
        let count = if shown == total {
            format!("  {}", count(total, "question"))
        } else {
            format!("  {shown} of {}", count(total, "question"))
        };
        left.push(span(theme, count, Tone::Text));
        if let Some(run) = &app.browse.run {
            left.push(span(
                theme,
                format!("  run {}", one_line(run)),
                Tone::Strong,
            ));
        }
        if let Some(trouble) = dataset.trouble() {
            let key = app.keymap.key(Command::Problems);
            let text = format!("  {trouble} could not be loaded ({key} shows why)");
            left.push(span(theme, text, Tone::Warning));
        }
    }
    if let Some(running) = &app.replies.running {
        let text = format!("answering {} … ", one_line(&running.question.id));
        right.push(span(theme, text, Tone::Warning));
    }
    if let Some(running) = &app.sweep.running
        && running.is_active()
    {
        right.push(span(theme, format!("{} ", running.brief()), Tone::Warning));
    }
    bar(app, area, buffer, left, right);
}

/// A message in the middle of an empty screen.
fn message(app: &App, area: Rect, buffer: &mut Buffer, lines: &[(&str, Tone)]) {
    let width = area.width.saturating_sub(8).min(90);
    let mut flow = Flow::new(width);
    for (text, tone) in lines {
        flow.say(&app.wraps, text, *tone);
        flow.gap();
    }
    let height = u16::try_from(flow.rows()).unwrap_or(area.height);
    let top = area.y + area.height.saturating_sub(height) / 3;
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: top.max(area.y + 2),
        width,
        height: area.height.saturating_sub(3),
    };
    flow.draw(place, buffer, 0, &app.theme);
}

fn failed(app: &App, area: Rect, buffer: &mut Buffer, problem: &str) {
    let quit = app.keymap.key(Command::Leave);
    let way_out = format!(
        "{quit} leaves. Then `medrgb FOLDER` opens another folder (it needs qa.jsonl and signal_docs.json), and `medrgb` alone opens the built-in sample."
    );
    let lines = [
        ("This dataset can't be opened.", Tone::Bad),
        (problem, Tone::Text),
        (way_out.as_str(), Tone::Faint),
    ];
    message(app, area, buffer, &lines);
}

/// Widths of the columns; the question takes the rest.
struct Columns {
    outcome: usize,
    id: usize,
    part: usize,
    counts: usize,
    text: usize,
}

/// Marks an outcome after which a try was stopped or gave no reply: the mark of such a try.
const LATER_TRY: &str = " !";

/// Columns that the question keeps where ids are long.
const LEAST_TEXT: usize = 26;

fn columns(app: &App, width: usize) -> Columns {
    let longest = |f: fn(&crate::tui::app::browse::Entry) -> usize, most: usize| {
        app.browse
            .entries
            .iter()
            .map(f)
            .max()
            .unwrap_or(0)
            .min(most)
    };
    let part = if width < 90 {
        0
    } else {
        longest(|entry| entry.part.width(), 14)
    };
    // Without a reply yet there is nothing to say in words.
    let outcome = if width < 60 || app.browse.outcomes.is_empty() {
        1
    } else if app.browse.outcomes.values().any(|last| last.later_try) {
        14 + LATER_TRY.len()
    } else {
        14
    };
    let counts = if width < 80 { 0 } else { 15 };
    let gaps = 2 + 2 + if part > 0 { 2 } else { 0 } + if counts > 0 { 2 } else { 0 };
    let least = if width < 50 { 8 } else { 16 };
    let spare = width.saturating_sub(outcome + part + counts + gaps + LEAST_TEXT);
    // Long ids take no more than a third of the row from the question.
    let most = spare.min(width / 3).max(least);
    let id = longest(|entry| entry.id.width(), most).max(2);
    Columns {
        outcome,
        id,
        part,
        counts,
        text: width.saturating_sub(outcome + id + part + counts + gaps),
    }
}

fn list(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let filter = &app.browse.filter;
    let mut left = vec![span(theme, "Questions", Tone::Title)];
    if app.browse.typing || !filter.text().is_empty() {
        let (before, after) = filter.halves();
        left.push(span(theme, format!("  / {before}"), Tone::Match));
        if app.browse.typing {
            left.push(span(theme, "▏", Tone::Key));
        }
        left.push(span(theme, after.to_owned(), Tone::Match));
    }
    if !app.browse.facets.is_empty() {
        let taxonomy = &app.annotate.taxonomy;
        let words = app
            .browse
            .facets
            .words(|label| taxonomy.name_of(label).to_owned());
        left.push(span(
            theme,
            format!("  only: {}", one_line(&words)),
            Tone::Match,
        ));
    }
    frame(app, area, buffer, true, left, Vec::new());
    let inner = inside(area);
    let columns = columns(app, usize::from(inner.width));
    heading(app, inner, buffer, &columns);
    let rows = list_area(app);
    if app.browse.shown.is_empty() {
        let clear = app.keymap.key(Command::ClearFilter);
        let text = if app.browse.entries.is_empty() {
            "This dataset has no questions.".to_owned()
        } else {
            format!("No question matches. {clear} shows all of them again.")
        };
        let mut flow = Flow::new(rows.width);
        flow.say(&app.wraps, &text, Tone::Warning);
        flow.draw(rows, buffer, 0, theme);
        return;
    }
    let shown = app.browse.shown.iter().enumerate().skip(app.browse.top);
    for (y, (row, &index)) in (rows.top()..rows.bottom()).zip(shown) {
        let line = entry_line(app, index, &columns);
        put(buffer, rows.x, y, &line, rows.width);
        if row == app.browse.selected {
            let whole = Rect::new(rows.x.saturating_sub(1), y, rows.width + 2, 1);
            buffer.set_style(whole, theme.style(Tone::Selection));
            put(
                buffer,
                rows.x.saturating_sub(1),
                y,
                &Line::styled(">", theme.style(Tone::Key)),
                1,
            );
        }
    }
    let border = Rect {
        y: rows.y,
        height: rows.height,
        ..area
    };
    crate::tui::widgets::flow::scroll_bar(
        border,
        buffer,
        app.browse.top,
        app.browse.shown.len(),
        theme.style(Tone::BorderFocused),
    );
}

fn heading(app: &App, inner: Rect, buffer: &mut Buffer, columns: &Columns) {
    let mut text = fit(
        match (columns.outcome > 1, app.browse.facets.is_empty()) {
            (false, _) => "",
            (true, true) => "last reply",
            (true, false) => "reply that fits",
        },
        columns.outcome + 2,
    );
    text.push_str(&fit("id", columns.id + 2));
    if columns.part > 0 {
        text.push_str(&fit("set", columns.part + 2));
    }
    text.push_str(&fit("question", columns.text));
    if columns.counts > 0 {
        text.push_str("  docs sub adv");
    }
    let line = Line::from(span(&app.theme, text, Tone::Faint));
    put(buffer, inner.x, inner.y, &line, inner.width);
}

fn entry_line(app: &App, index: usize, columns: &Columns) -> Line<'static> {
    let theme = &app.theme;
    let Some(entry) = app.browse.entries.get(index) else {
        return Line::default();
    };
    let question_id = app
        .data()
        .and_then(|data| data.questions.get(index))
        .map(|question| question.id.as_str());
    let last = question_id.and_then(|id| app.browse.last(index, id));
    let (outcome, tone) = match last {
        Some(last) => {
            let (mark, word) = last.verdict.words();
            let later = if last.later_try { LATER_TRY } else { "" };
            (format!("{mark} {word}{later}"), verdict_tone(last.verdict))
        }
        None => (
            if columns.outcome > 1 { "·" } else { " " }.to_owned(),
            Tone::Faint,
        ),
    };
    let outcome = if columns.outcome > 1 {
        outcome
    } else {
        outcome.chars().take(1).collect()
    };
    let mut spans = vec![
        span(theme, fit(&outcome, columns.outcome), tone),
        Span::raw("  "),
        span(theme, fit(&entry.id, columns.id), Tone::Faint),
        Span::raw("  "),
    ];
    if columns.part > 0 {
        spans.push(span(theme, fit(&entry.part, columns.part), Tone::Faint));
        spans.push(Span::raw("  "));
    }
    spans.push(span(theme, fit(&entry.text, columns.text), Tone::Text));
    if columns.counts > 0 {
        let (docs, subs, adversarial) = entry.counts;
        let text = format!("  {docs:>4} {subs:>3} {adversarial:>3}");
        spans.push(span(theme, text, Tone::Faint));
    }
    Line::from(spans)
}

/// The tone of an outcome.
pub(super) fn verdict_tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Right => Tone::Good,
        Verdict::Wrong => Tone::Bad,
        Verdict::Insufficient | Verdict::Unreadable => Tone::Warning,
        Verdict::Unavailable => Tone::Faint,
    }
}

fn preview(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let width = inside(area).width;
    let mut flow = Flow::new(width);
    let question = app
        .browse
        .current()
        .and_then(|index| app.data()?.questions.get(index));
    let Some(question) = question else {
        let title = vec![span(theme, "Preview", Tone::Title)];
        return panel(app, area, buffer, false, title, Vec::new(), &flow, 0);
    };
    flow.say(&app.wraps, question.text.trim(), Tone::Strong);
    flow.gap();
    for option in &question.options {
        let gold = option.letter == question.answer;
        let text = format!("{}  {}", option.letter, one_line(&option.text));
        let tone = if gold { Tone::Good } else { Tone::Text };
        let text = if gold {
            format!("{text}  (gold)")
        } else {
            text
        };
        flow.say(&app.wraps, &text, tone);
    }
    flow.gap();
    let index = app.browse.current().unwrap_or_default();
    if !app.browse.facets.is_empty() {
        let cases = app.browse.cases.get(index).map_or(&[][..], Vec::as_slice);
        let all = cases.iter().filter_map(|case| verdict_of(case));
        let all = all.count();
        let fit = app.browse.facets.passing(cases);
        let fit = fit.filter_map(verdict_of).count();
        let text = format!(
            "{fit} of {} of this question fit what is chosen; the list shows the last of them.",
            count(all, "stored reply")
        );
        flow.say(&app.wraps, &text, Tone::Match);
        flow.gap();
    }
    let last = app.browse.last(index, &question.id);
    if last.is_some_and(|last| last.later_try) {
        let text =
            "! A later try was stopped or gave no reply; the list shows the last reply that came.";
        flow.say(&app.wraps, text, Tone::Warning);
        flow.gap();
    }
    if let (Some(dataset), Some(id)) = (app.data(), Some(&question.id)) {
        let pools = dataset.pools(id);
        let counts = [
            (
                pools.signal.len(),
                "● signal document",
                "retrieved for this question",
            ),
            (
                pools.sub_questions.len(),
                "  sub-question",
                "for integration and robustness",
            ),
            (
                pools.counterfactuals.len(),
                "▲ adversarial document",
                "edited to support a wrong answer",
            ),
        ];
        for (number, what, why) in counts {
            let plural = if number == 1 { "" } else { "s" };
            flow.line(Line::from(vec![
                span(theme, format!("{number:>3} {what}{plural}"), Tone::Text),
                span(theme, format!("  {why}"), Tone::Faint),
            ]));
        }
        flow.gap();
        for doc in pools.signal.iter().take(20) {
            let text = one_line(&format!("{} {}", doc.title, doc.content));
            flow.line(Line::from(vec![
                span(theme, "● ", Tone::Signal),
                span(
                    theme,
                    cut(&text, usize::from(width).saturating_sub(2)),
                    Tone::Faint,
                ),
            ]));
        }
    }
    let open = app.keymap.key(Command::Open);
    let title = vec![span(theme, one_line(&question.id), Tone::Title)];
    let right = vec![span(theme, format!("{open} opens it"), Tone::Faint)];
    panel(
        app,
        area,
        buffer,
        app.screen != Screen::Browse,
        title,
        right,
        &flow,
        0,
    );
}
