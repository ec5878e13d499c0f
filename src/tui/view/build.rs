//! Making a benchmark: the form with what it would ask, and what has come of the stages.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::build::{Stage, StagePlan};
use crate::domain::pace::{duration, per_time};
use crate::domain::text::count;
use crate::tui::app::App;
use crate::tui::app::build::{BuildPlan, Field, Page, Phase, Row, Running};
use crate::tui::app::loaded::Loaded;
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{bar, frame, inside, panel, put, span};
use crate::tui::view::sweep::{fact, grouped, select, waiting};
use crate::tui::widgets::flow::{Flow, scroll_bar};
use crate::tui::widgets::line::{cut_spans, fit, one_line};

/// From this width on the plan stands beside the form, else below it.
const BESIDE: u16 = 72;

/// Rows of the form: its fields, three of explanation, the frame.
const FORM_ROWS: u16 = 19;

/// Columns of the fields' names.
const NAMES: usize = 14;

fn body(app: &App) -> Rect {
    let (width, height) = app.size;
    Rect::new(0, 1, width, height.saturating_sub(2))
}

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

/// Figures of the stages, and what was lost below.
fn result_areas(app: &App) -> (Rect, Rect) {
    let body = body(app);
    let rows = u16::try_from(figures(app, inside(body).width).rows()).unwrap_or(u16::MAX);
    let height = rows.saturating_add(2).min(body.height.saturating_sub(5));
    let below = Rect {
        y: body.y + height,
        height: body.height - height,
        ..body
    };
    (Rect { height, ..body }, below)
}

/// Rows that the list of what was lost shows.
pub fn visible_rows(app: &App) -> usize {
    usize::from(inside(result_areas(app).1).height)
}

pub(super) fn draw(app: &App, _: Rect, buffer: &mut Buffer) {
    let (width, height) = app.size;
    title(app, Rect::new(0, 0, width, 1.min(height)), buffer);
    match app.build.page {
        Page::Plan => draw_plan(app, buffer),
        Page::Results => draw_results(app, buffer),
    }
}

fn title(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let build = &app.build;
    let mut left = vec![span(theme, " Build  ", Tone::Title)];
    let out = one_line(build.form.text(Field::Out).text());
    left.push(span(theme, out, Tone::Strong));
    let held = match &build.held {
        Loaded::Ready(held) if held.begun => {
            format!("  begun, {}", count(held.questions.len(), "question"))
        }
        Loaded::Ready(_) => "  new".to_owned(),
        Loaded::Failed(_) => "  can't be used".to_owned(),
        _ => String::new(),
    };
    left.push(span(theme, held, Tone::Text));
    let mut right = Vec::new();
    if let Some(running) = &build.running {
        let (word, tone) = phase_words(running);
        right.push(span(theme, format!("{word} "), tone));
    }
    bar(app, area, buffer, left, right);
}

fn phase_words(running: &Running) -> (&'static str, Tone) {
    match &running.phase {
        Phase::Opening => ("opening", Tone::Warning),
        Phase::Running => ("running", Tone::Good),
        Phase::Stopping => ("stopping", Tone::Warning),
        Phase::Ended(Ok(end)) if end.by_user => ("stopped", Tone::Warning),
        Phase::Ended(Ok(end)) if end.trouble.is_some() => ("! trouble", Tone::Bad),
        Phase::Ended(Ok(_)) => ("✓ done", Tone::Good),
        Phase::Ended(Err(_)) => ("! failed", Tone::Bad),
    }
}

fn draw_plan(app: &App, buffer: &mut Buffer) {
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
    let rows = usize::from(inner.height);
    // The chosen field is in sight also where not all have room.
    let top = (form.selected + 1).saturating_sub(rows);
    let fields = Field::ALL.into_iter().enumerate().skip(top);
    let mut used = 0;
    for (y, (at, field)) in (inner.top()..inner.bottom()).zip(fields) {
        let spans = cut_spans(field_spans(app, field, at), usize::from(inner.width));
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
    let mut flow = Flow::new(below.width);
    flow.say(&app.wraps, &explanation(app), Tone::Faint);
    flow.draw(below, buffer, 0, theme);
}

fn field_spans(app: &App, field: Field, at: usize) -> Vec<Span<'static>> {
    let theme = &app.theme;
    let form = &app.build.form;
    let (name, _) = field.words();
    if let Some(on) = form.is_on(field) {
        let (mark, tone) = match on {
            true => ("[x] ", Tone::Key),
            false => ("[ ] ", Tone::Faint),
        };
        let text = if on { Tone::Text } else { Tone::Faint };
        return vec![span(theme, mark, tone), span(theme, name, text)];
    }
    let mut spans = vec![span(theme, fit(name, NAMES), Tone::Faint)];
    let (before, after) = form.text(field).halves();
    spans.push(span(theme, before.to_owned(), Tone::Strong));
    if form.typing && at == form.selected {
        spans.push(span(theme, "▏", Tone::Key));
    }
    spans.push(span(theme, after.to_owned(), Tone::Strong));
    spans
}

/// What the chosen field expects, and the key for it.
fn explanation(app: &App) -> String {
    let field = app.build.form.field();
    let (_, about) = field.words();
    let key = app.keymap.key(Command::BuildChoose);
    match (app.build.form.typing, app.build.form.is_on(field)) {
        (true, _) => about.to_owned(),
        (false, Some(_)) => format!("{about}; {key} turns it on or off"),
        (false, None) => format!("{about}; {key} edits it"),
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
            let text = "Change the field, and this is looked at again.";
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

fn draw_results(app: &App, buffer: &mut Buffer) {
    let theme = &app.theme;
    let (above, below) = result_areas(app);
    let flow = figures(app, inside(above).width);
    let left = vec![span(theme, "Stages", Tone::Title)];
    panel(app, above, buffer, false, left, Vec::new(), &flow, 0);
    losses(app, below, buffer);
}

/// Columns of the figures of a stage.
const COUNTS: [(&str, usize); 5] = [
    ("made", 8),
    ("repaired", 10),
    ("flawed", 8),
    ("dropped", 9),
    ("no reply", 10),
];

/// What became of every stage, and where the build stands.
fn figures(app: &App, width: u16) -> Flow {
    let theme = &app.theme;
    let mut flow = Flow::new(width);
    let narrow = width < 64;
    let name = 20;
    let mut heading = fit("stage", name);
    for (word, columns) in COUNTS {
        heading += &format!("{word:>columns$}");
    }
    if !narrow {
        flow.line(Line::from(span(theme, heading, Tone::Faint)));
    }
    for stage in Stage::ALL {
        stage_line(app, stage, name, narrow, &mut flow);
    }
    if let Some(running) = &app.build.running {
        flow.gap();
        standing(app, running, &mut flow);
    }
    flow
}

fn stage_line(app: &App, stage: Stage, name: usize, narrow: bool, flow: &mut Flow) {
    let theme = &app.theme;
    let running = app.build.running.as_ref();
    let at = running
        .filter(|running| running.is_active())
        .and_then(|running| running.progress)
        .filter(|at| at.stage == stage);
    if let Some(at) = at {
        let share = (at.done * 20).checked_div(at.total).unwrap_or(0).min(20);
        let room = flow.width().saturating_sub(name + 24).min(20);
        let filled = share * room / 20;
        return flow.line(Line::from(vec![
            span(theme, "  ", Tone::Text),
            span(theme, fit(stage.words(), name - 2), Tone::Strong),
            span(theme, format!("[{}", "=".repeat(filled)), Tone::Key),
            span(
                theme,
                format!("{}]", " ".repeat(room - filled)),
                Tone::Faint,
            ),
            span(theme, format!(" {} of {}", at.done, at.total), Tone::Strong),
        ]));
    }
    let fresh =
        running.and_then(|running| running.ended.iter().rev().find(|end| end.stage == stage));
    let mark = if fresh.is_some() { "✓ " } else { "  " };
    let mut spans = vec![
        span(theme, mark, Tone::Good),
        span(theme, fit(stage.words(), name - 2), Tone::Text),
    ];
    match app.build.report(stage) {
        None => spans.push(span(theme, "not yet", Tone::Faint)),
        Some(report) => {
            let counts = [
                (report.made(), Tone::Text),
                (report.repaired(), Tone::Text),
                (report.flawed(), Tone::Warning),
                (report.dropped(), Tone::Warning),
                (report.failed(), Tone::Bad),
            ];
            for ((number, tone), (word, columns)) in counts.into_iter().zip(COUNTS) {
                let tone = if number == 0 { Tone::Faint } else { tone };
                let text = match narrow {
                    true if number == 0 && word != "made" => continue,
                    true => format!("{number} {word}  "),
                    false => format!("{:>columns$}", grouped(number as u64)),
                };
                spans.push(span(theme, text, tone));
            }
        }
    }
    flow.line(Line::from(spans));
}

/// Where the build stands, and what can be done now.
fn standing(app: &App, running: &Running, flow: &mut Flow) {
    let key = |command| app.keymap.key(command);
    let say = |flow: &mut Flow, text: &str, tone| flow.say(&app.wraps, text, tone);
    if let Some(at) = running.progress.filter(|_| running.is_active()) {
        let tally = &at.tally;
        let rate = running
            .rate
            .per_second()
            .map_or_else(|| "-".to_owned(), per_time);
        let left = running.left().map_or_else(String::new, |left| {
            format!(", about {} left", duration(left))
        });
        let failed = match tally.failed {
            0 => String::new(),
            failed => format!(", {failed} without a reply"),
        };
        let text = format!(
            "{}, {} from the ledger{failed}; {rate}{left}; {} tokens",
            count(tally.asked, "call"),
            tally.reused,
            grouped(tally.prompt_tokens + tally.completion_tokens)
        );
        say(flow, &text, Tone::Text);
    }
    match &running.phase {
        Phase::Opening => say(
            flow,
            "Opening the model, the index and the ledger …",
            Tone::Text,
        ),
        Phase::Running => {
            let text = format!(
                "{} stops it; the rest of the explorer can be used meanwhile.",
                key(Command::BuildStop)
            );
            say(flow, &text, Tone::Faint);
        }
        Phase::Stopping => say(flow, "Stopping: calls under way are let go.", Tone::Warning),
        Phase::Ended(Err(why)) => say(flow, why, Tone::Bad),
        Phase::Ended(Ok(end)) => {
            if let Some(trouble) = &end.trouble {
                say(flow, trouble, Tone::Bad);
            }
            let text = match (end.by_user, &end.trouble) {
                (true, _) => format!(
                    "Stopped. What was answered is kept; {} goes on.",
                    key(Command::BuildStart)
                ),
                (false, Some(_)) => format!(
                    "What was answered is kept; {} goes on from there.",
                    key(Command::BuildStart)
                ),
                (false, None) => format!(
                    "Done. {} examines what was made; `medrgb {}` opens it.",
                    key(Command::Review),
                    one_line(&running.request.out.display().to_string())
                ),
            };
            say(flow, &text, Tone::Faint);
        }
    }
}

/// What was lost, grouped by reason.
fn losses(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let build = &app.build;
    let left = vec![span(
        theme,
        "What is missing or flawed, and why",
        Tone::Title,
    )];
    frame(app, area, buffer, true, left, Vec::new());
    let inner = inside(area);
    if build.rows.is_empty() {
        let mut flow = Flow::new(inner.width);
        let through = Stage::ALL
            .iter()
            .filter(|stage| build.report(**stage).is_some());
        let (text, tone) = match through.count() {
            0 => ("No stage has been through yet.", Tone::Faint),
            4 => (
                "Nothing: every item was made and keeps the rules.",
                Tone::Good,
            ),
            _ => (
                "Nothing so far: what the stages have made is whole and keeps the rules.",
                Tone::Good,
            ),
        };
        flow.say(&app.wraps, text, tone);
        flow.draw(inner, buffer, 0, theme);
        return;
    }
    let shown = build.rows.iter().enumerate().skip(build.top);
    for (y, (at, row)) in (inner.top()..inner.bottom()).zip(shown) {
        let line = match row {
            Row::Group {
                stage,
                fate,
                reason,
                count,
            } => Line::from(vec![
                span(
                    theme,
                    format!("{} {}: ", stage.words(), fate.words()),
                    Tone::Warning,
                ),
                span(theme, format!("{count} × "), Tone::Strong),
                span(theme, one_line(reason), Tone::Text),
            ]),
            Row::Item { question, loss, .. } => Line::from(vec![
                span(theme, format!("  {}", one_line(question)), Tone::Strong),
                span(theme, format!("  {}  ", one_line(&loss.item)), Tone::Faint),
                span(theme, one_line(&loss.reason), Tone::Faint),
            ]),
        };
        let spans = cut_spans(line.spans, usize::from(inner.width));
        put(buffer, inner.x, y, &Line::from(spans), inner.width);
        if at == build.selected {
            select(app, inner, y, buffer);
        }
    }
    let border = Rect {
        y: inner.y,
        height: inner.height,
        ..area
    };
    let style = theme.style(Tone::BorderFocused);
    scroll_bar(border, buffer, build.top, build.rows.len(), style);
}
