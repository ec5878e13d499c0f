//! The form of a build, and what it would ask.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::body;
use crate::domain::build::{Stage, StagePlan};
use crate::domain::pace::duration;
use crate::domain::text::count;
use crate::tui::app::App;
use crate::tui::app::build::{ALL, BuildPlan, Field};
use crate::tui::app::loaded::Loaded;
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{frame, inside, panel, put, span};
use crate::tui::view::sweep::{fact, grouped, select, waiting};
use crate::tui::widgets::flow::{Flow, scroll_bar};
use crate::tui::widgets::line::{cut_spans, fit};

/// From this width on the plan stands beside the form, else below it.
const BESIDE: u16 = 72;

/// Rows of the form: its fields, three of explanation, the frame.
const FORM_ROWS: u16 = Field::ALL.len() as u16 + 5;

/// The fewest rows of fields: where there are no more, the explanation of the chosen one is left out.
const FEWEST: usize = 3;

/// Columns of the fields' names.
const NAMES: usize = 14;

/// Form, and what it would ask.
fn plan_areas(app: &App) -> (Rect, Rect) {
    let body = body(app);
    if body.width >= BESIDE {
        let width = body.width / 2;
        let beside = Rect {
            x: width,
            width: body.width - width,
            ..body
        };
        return (Rect { width, ..body }, beside);
    }
    let height = FORM_ROWS.min(body.height * 2 / 3);
    let below = Rect {
        y: body.y + height,
        height: body.height - height,
        ..body
    };
    (Rect { height, ..body }, below)
}

/// Rows of the plan, and rows seen at once.
pub fn plan_extent(app: &App) -> (usize, usize) {
    let inner = inside(plan_areas(app).1);
    (plan(app, inner.width).rows(), usize::from(inner.height))
}

pub(super) fn draw_plan(app: &App, buffer: &mut Buffer) {
    let (form_area, plan_area) = plan_areas(app);
    form(app, form_area, buffer);
    let flow = plan(app, inside(plan_area).width);
    let left = vec![span(&app.theme, "What it would ask", Tone::Title)];
    let start = app.keymap.key(Command::BuildStart);
    let right = match app.build.plan {
        Loaded::Ready(_) if !app.build.is_active() => {
            vec![span(&app.theme, format!("{start} starts it"), Tone::Faint)]
        }
        _ => Vec::new(),
    };
    panel(
        app,
        plan_area,
        buffer,
        false,
        left,
        right,
        &flow,
        app.build.scroll,
    );
}

fn form(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let form = &app.build.form;
    let left = vec![span(theme, "Plan of a build", Tone::Title)];
    frame(app, area, buffer, true, left, Vec::new());
    let inner = inside(area);
    let mut flow = Flow::new(inner.width);
    flow.say(&app.wraps, &explanation(app), Tone::Faint);
    let all = usize::from(inner.height);
    // The chosen field and what it expects are in sight also where not all have room.
    let rows = match all.saturating_sub(flow.rows()) {
        rows if rows < FEWEST => all,
        rows => rows.min(Field::ALL.len()),
    };
    let top = (form.selected + 1).saturating_sub(rows);
    let fields = Field::ALL.into_iter().enumerate().skip(top);
    let mut used = 0;
    for (y, (at, field)) in (inner.top()..inner.bottom()).take(rows).zip(fields) {
        let width = usize::from(inner.width);
        let spans = cut_spans(field_spans(app, field, at, width), width);
        put(buffer, inner.x, y, &Line::from(spans), inner.width);
        if at == form.selected {
            select(app, inner, y, buffer);
        }
        used += 1;
    }
    let below = Rect {
        y: inner.y + used,
        height: inner.height.saturating_sub(used),
        ..inner
    };
    flow.draw(below, buffer, 0, theme);
    let border = Rect {
        y: inner.y,
        height: used,
        ..area
    };
    let style = theme.style(Tone::BorderFocused);
    scroll_bar(border, buffer, top, Field::ALL.len(), style);
}

fn field_spans(app: &App, field: Field, at: usize, width: usize) -> Vec<Span<'static>> {
    let theme = &app.theme;
    let form = &app.build.form;
    let (name, _) = field.words();
    if let Some(on) = form.is_on(field) {
        let (mark, tone) = match on {
            true => ("[x] ", Tone::Key),
            false => ("[ ] ", Tone::Faint),
        };
        let on = on && form.has_effect(field);
        let text = if on { Tone::Text } else { Tone::Faint };
        return vec![span(theme, mark, tone), span(theme, name, text)];
    }
    let mut spans = vec![span(theme, fit(name, NAMES), Tone::Faint)];
    let (before, after) = form.text(field).halves();
    let typing = form.typing && at == form.selected;
    // The place where one types is in sight however long the text is.
    let room = width.saturating_sub(NAMES + 1);
    let before = match typing {
        true => tail(before, room),
        false => before.to_owned(),
    };
    let tone = match form.has_effect(field) {
        true => Tone::Strong,
        false => Tone::Faint,
    };
    if !typing && form.text(field).text().is_empty() {
        let empty = match field {
            Field::Only | Field::Limit => ALL,
            _ => "none",
        };
        spans.push(span(theme, empty, Tone::Faint));
    }
    spans.push(span(theme, before, tone));
    if typing {
        spans.push(span(theme, "▏", Tone::Key));
    }
    spans.push(span(theme, after.to_owned(), tone));
    spans
}

/// The last columns of a text, with `…` before them where it was cut.
fn tail(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let starts = text.char_indices().map(|(at, _)| &text[at..]);
    let mut fitting = starts.skip_while(|rest| rest.width() + 1 > width);
    format!("…{}", fitting.next().unwrap_or_default())
}

/// What the chosen field expects, and the key for it.
fn explanation(app: &App) -> String {
    let form = &app.build.form;
    let field = form.field();
    let (_, about) = field.words();
    let mut letters = about.chars();
    let first = letters.next().map(char::to_uppercase).into_iter().flatten();
    let about: String = first.chain(letters).collect();
    let key = app.keymap.key(Command::BuildChoose);
    let what = match (form.typing, form.is_on(field)) {
        (true, _) => format!("{about}. enter takes it"),
        (false, Some(_)) => format!("{about}; {key} turns it on or off"),
        (false, None) => format!("{about}; {key} edits it"),
    };
    match form.has_effect(field) {
        true => what,
        false => format!("Has no effect on this plan. {what}"),
    }
}

fn plan(app: &App, width: u16) -> Flow {
    let mut flow = Flow::new(width);
    let build = &app.build;
    if let Loaded::Loading { since, .. } = &build.held {
        let text = waiting(app, "looking at the folder", *since);
        flow.say(&app.wraps, &text, Tone::Faint);
        return flow;
    }
    match &build.plan {
        Loaded::Nothing if build.running.is_some() => {
            let page = app.keymap.key(Command::BuildPage);
            let text = format!("{page} shows what has come of the build.");
            flow.say(&app.wraps, &text, Tone::Faint);
        }
        Loaded::Nothing => flow.say(&app.wraps, "The dataset is not open yet.", Tone::Warning),
        Loaded::Loading { since, .. } => {
            let text = waiting(app, "opening the model and looking into the ledger", *since);
            flow.say(&app.wraps, &text, Tone::Faint);
        }
        Loaded::Failed(why) => {
            flow.say(&app.wraps, why, Tone::Bad);
            let text = "Change that in the plan, and this is looked at again.";
            flow.say(&app.wraps, text, Tone::Faint);
        }
        Loaded::Ready(found) => planned(app, found, &mut flow),
    }
    flow
}

fn planned(app: &App, found: &BuildPlan, flow: &mut Flow) {
    let (work, all) = found.questions;
    let questions = format!("{} of {all}", grouped(work as u64));
    fact(app, flow, "questions", &questions, Tone::Text);
    if !found.changed.is_empty() {
        flow.say(&app.wraps, &found.changed, Tone::Warning);
    }
    for stage in &found.stages {
        fact(
            app,
            flow,
            short_name(stage),
            &stage_words(stage),
            Tone::Text,
        );
    }
    flow.gap();
    let sum = &found.all;
    let calls = match sum.calls {
        0 => "none: everything is answered".to_owned(),
        calls => format!(
            "{}, at most {} if every reply had to be repaired",
            grouped(calls as u64),
            grouped(sum.calls_at_most as u64)
        ),
    };
    fact(app, flow, "calls", &calls, Tone::Strong);
    let tokens = format!(
        "about {} in prompts, {} in replies",
        grouped(sum.prompt_tokens),
        grouped(sum.reply_tokens)
    );
    fact(app, flow, "tokens", &tokens, Tone::Text);
    let cost = match sum.dollars(found.prices) {
        Some(cost) => format!("about ${cost:.2}"),
        None => "no prices are configured".to_owned(),
    };
    fact(app, flow, "cost", &cost, Tone::Strong);
    let time = sum
        .seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let time = match time {
        Some(time) => format!("about {}", duration(time)),
        None => "unknown before the first calls of this model".to_owned(),
    };
    fact(app, flow, "time", &time, Tone::Text);
    if let Some(model) = &found.model {
        fact(app, flow, "model", model, Tone::Text);
    }
    if let Some(caution) = &found.caution {
        fact(app, flow, "caution", caution, Tone::Warning);
    }
    flow.gap();
    let start = app.keymap.key(Command::BuildStart);
    let text = format!(
        "{start} starts it. What is answered is in the folder's ledger before it counts, so that it can be stopped, or killed, and nothing is asked twice."
    );
    flow.say(&app.wraps, &text, Tone::Faint);
}

/// What a stage makes, short enough for a column.
fn short_name(plan: &StagePlan) -> &'static str {
    let stage = Stage::ALL
        .into_iter()
        .find(|stage| stage.name() == plan.stage);
    match stage {
        Some(Stage::Topics) => "topics",
        Some(Stage::Retrieve) => "documents",
        Some(Stage::SubQuestions) => "sub-questions",
        Some(Stage::Adversarial) => "edits",
        None => plan.stage,
    }
}

fn stage_words(plan: &StagePlan) -> String {
    let about = if plan.guessed { "about " } else { "" };
    let items = format!("{about}{}", count(plan.items, "item"));
    match (plan.answered, plan.calls) {
        (0, 0) => format!("{items}, nothing to ask"),
        (0, calls) => format!("{items}, {about}{}", count(calls, "call")),
        (answered, 0) => format!("{items}, all {answered} answered"),
        (answered, calls) => format!("{items}, {answered} answered, {}", count(calls, "call")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_text_the_end_is_shown() {
        assert_eq!(tail("set", 3), "set");
        assert_eq!(tail("/data/a-long-name", 8), "…ng-name");
        assert_eq!(tail("/data/漢字", 4), "…字");
        assert_eq!(tail("ab", 0), "…");
    }
}
