//! What has come of the stages of a build: figures, where it stands, what was lost and why.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::body;
use crate::domain::build::Stage;
use crate::domain::build::closing::remedy;
use crate::domain::pace::{duration, per_time};
use crate::domain::text::count;
use crate::tui::app::App;
use crate::tui::app::build::{BuildEnd, Fate, Phase, Row, Running};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{frame, inside, panel, put, span};
use crate::tui::view::sweep::{grouped, select};
use crate::tui::widgets::flow::{Flow, scroll_bar};
use crate::tui::widgets::line::{cut_spans, fit, one_line};

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

/// Rows at the foot of what was lost that say all of the chosen one; none where there is no room.
const WHOLE: u16 = 3;

/// The list of what was lost, and below it all that is said of the chosen one.
fn loss_areas(app: &App, area: Rect) -> (Rect, Rect) {
    let inner = inside(area);
    let whole = match app.build.rows.is_empty() || inner.height < 3 * WHOLE {
        true => 0,
        false => WHOLE,
    };
    let below = Rect {
        y: inner.bottom() - whole,
        height: whole,
        ..inner
    };
    let height = inner.height - whole;
    (Rect { height, ..inner }, below)
}

/// Rows that the list of what was lost shows.
pub fn visible_rows(app: &App) -> usize {
    usize::from(loss_areas(app, result_areas(app).1).0.height)
}

pub(super) fn draw_results(app: &App, buffer: &mut Buffer) {
    let theme = &app.theme;
    let (above, below) = result_areas(app);
    let flow = figures(app, inside(above).width);
    let left = vec![span(theme, "Stages", Tone::Title)];
    panel(app, above, buffer, false, left, Vec::new(), &flow, 0);
    losses(app, below, buffer);
}

/// Columns of the figures of a stage.
const COUNTS: [(&str, usize); 5] = [
    ("kept", 8),
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
                    true if number == 0 && word != "kept" => continue,
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
            say(flow, &next_step(app, running, end), Tone::Faint);
        }
    }
}

/// What can be done after a build.
fn next_step(app: &App, running: &Running, end: &BuildEnd) -> String {
    let key = |command| app.keymap.key(command);
    let start = key(Command::BuildStart);
    if end.by_user {
        return format!("Stopped. What was answered is kept; {start} goes on.");
    }
    let retry = key(Command::BuildRetry);
    let retry = match (app.build.has(Fate::Failed), app.build.has(Fate::Due)) {
        (true, true) => {
            format!(" {retry} asks again for what got no reply, and makes what is to be made.")
        }
        (true, false) => format!(" {retry} asks again for what got no reply."),
        (false, true) => format!(" {retry} makes what is still to be made."),
        (false, false) => String::new(),
    };
    match (&end.trouble, barren(running)) {
        // Going on would give what the ledger has.
        (Some(_), Some(remedy)) => {
            let page = key(Command::BuildPage);
            format!("{remedy}. {page} leads to the plan, where {start} starts again.{retry}")
        }
        (Some(_), None) => format!("What was answered is kept; {start} goes on from there."),
        (None, _) => {
            let out = &running.request.out;
            let is_open = app.data().is_some_and(|dataset| dataset.path == *out);
            let review = key(Command::Review);
            let name = one_line(&out.display().to_string());
            match is_open {
                true => format!("Done. {review} examines what was made.{retry}"),
                false => format!(
                    "Done. `medrgb {name}` opens what was made; {review} there examines it.{retry}"
                ),
            }
        }
    }
}

/// All that is said of a row.
fn all_of(row: &Row) -> String {
    match row {
        Row::Group {
            reason,
            count: number,
            ..
        } => format!("{}: {}", count(*number, "item"), one_line(reason)),
        Row::Item { question, loss, .. } => {
            one_line(&format!("{question} {}: {}", loss.item, loss.reason))
        }
    }
}

/// What can be done where the last stage kept nothing.
fn barren(running: &Running) -> Option<&'static str> {
    let last = running.ended.last();
    let last = last.filter(|end| end.report.fresh() == 0)?;
    Some(remedy(last.stage, &last.report))
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
        let key = |command| app.keymap.key(command);
        let none = format!(
            "No stage has been through yet. {} starts the planned ones, {} shows the plan.",
            key(Command::BuildStart),
            key(Command::BuildPage)
        );
        let (text, tone) = match through.count() {
            _ if build.is_active() => (
                "Nothing so far. What a stage leaves out is listed here, with the reason, once the stage is through.",
                Tone::Faint,
            ),
            0 => (none.as_str(), Tone::Faint),
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
    let (inner, whole) = loss_areas(app, area);
    if let Some(chosen) = build.rows.get(build.selected) {
        let mut flow = Flow::new(whole.width);
        flow.say(&app.wraps, &all_of(chosen), Tone::Text);
        flow.draw(whole, buffer, 0, theme);
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
