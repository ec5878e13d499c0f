//! A sweep that runs, or ran last.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::domain::cost::spent;
use crate::domain::pace::{duration, per_time};
use crate::domain::text::count;
use crate::tui::app::App;
use crate::tui::app::sweep::{Phase, Running, SweepEnd};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{inside, panel, span};
use crate::tui::view::sweep::{fact, grouped};
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::one_line;

pub(super) fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let mut flow = Flow::new(inside(area).width);
    let Some(running) = &app.sweep.running else {
        let page = app.keymap.key(Command::SweepPage);
        let text =
            format!("No sweep has been started in this session. {page} goes to the plan of one.");
        flow.say(&app.wraps, &text, Tone::Text);
        let left = vec![span(theme, "Progress", Tone::Title)];
        return panel(app, area, buffer, true, left, Vec::new(), &flow, 0);
    };
    content(app, running, &mut flow);
    let left = vec![
        span(theme, "Run ", Tone::Title),
        span(theme, one_line(&running.request.run), Tone::Strong),
    ];
    let (word, tone) = phase_words(running);
    let right = vec![span(theme, word, tone)];
    panel(app, area, buffer, true, left, right, &flow, 0);
}

fn phase_words(running: &Running) -> (&'static str, Tone) {
    match &running.phase {
        Phase::Planning(..) => ("planning", Tone::Warning),
        Phase::Asking => ("running", Tone::Good),
        Phase::Judging(..) => ("judging", Tone::Good),
        Phase::Pausing => ("pausing", Tone::Warning),
        Phase::Paused => ("paused", Tone::Warning),
        Phase::Stopping { .. } => ("stopping", Tone::Warning),
        Phase::Ended(Ok(end)) if end.trouble.is_some() => ("! trouble", Tone::Bad),
        Phase::Ended(Ok(end)) if end.by_user => ("stopped", Tone::Warning),
        Phase::Ended(Ok(_)) => ("✓ done", Tone::Good),
        Phase::Ended(Err(_)) => ("! failed", Tone::Bad),
    }
}

fn content(app: &App, running: &Running, flow: &mut Flow) {
    if let Phase::Planning(done, total) = running.phase {
        let text = match total {
            0 => "opening the model, then looking at every context …".to_owned(),
            _ => format!(
                "looking at every context: {done} of {}",
                count(total, "question")
            ),
        };
        flow.say(&app.wraps, &text, Tone::Text);
    } else {
        gauge(app, running, flow);
        flow.gap();
        // At rest, what can be done now comes first.
        if !running.is_active() {
            outlook(app, running, flow);
            flow.gap();
        }
        figures(app, running, flow);
    }
    if running.is_active() {
        flow.gap();
        outlook(app, running, flow);
    }
}

/// How much of it is done, as a bar and in numbers.
fn gauge(app: &App, running: &Running, flow: &mut Flow) {
    let theme = &app.theme;
    let (done, total) = running.overall();
    let before = match running.before() {
        0 => String::new(),
        before => format!(", {} of them before", grouped(before as u64)),
    };
    let text = match total {
        0 => " nothing to ask".to_owned(),
        _ => {
            format!(
                " {:>3} %  {} of {}",
                done * 100 / total,
                grouped(done as u64),
                grouped(total as u64)
            ) + &before
        }
    };
    let room = flow
        .width()
        .saturating_sub(text.chars().count() + 2)
        .min(60);
    let filled = match total {
        0 => 0,
        _ => (room * done / total).min(room),
    };
    let line = Line::from(vec![
        span(theme, format!("[{}", "=".repeat(filled)), Tone::Key),
        span(
            theme,
            format!("{}]", " ".repeat(room - filled)),
            Tone::Faint,
        ),
        span(theme, text, Tone::Strong),
    ]);
    flow.line(line);
}

fn figures(app: &App, running: &Running, flow: &mut Flow) {
    let progress = &running.progress;
    let moving = matches!(
        running.phase,
        Phase::Asking | Phase::Pausing | Phase::Stopping { .. }
    );
    // At rest it is that of the time in which it ran.
    let rate = match moving {
        true => running.rate.per_second(),
        false => mean_rate(running),
    };
    let mut speed = rate.map_or_else(|| "-".to_owned(), per_time);
    if moving {
        speed += &format!(
            ", {} of {} under way",
            progress.in_flight,
            count(progress.limit, "call")
        );
    }
    fact(app, flow, "rate", &speed, Tone::Text);
    if let Some(waiting) = progress.waiting.as_ref().filter(|_| moving) {
        fact(app, flow, "waiting", waiting, Tone::Warning);
    }
    if let (Phase::Asking, Some(left)) = (&running.phase, running.left()) {
        fact(
            app,
            flow,
            "left",
            &format!("about {}", duration(left)),
            Tone::Strong,
        );
    }
    fact(app, flow, "so far", &duration(progress.elapsed), Tone::Text);
    fact(
        app,
        flow,
        "replies",
        &grouped(progress.replies as u64),
        Tone::Text,
    );
    if progress.broken > 0 {
        let text = format!("{}: asked again when it goes on", progress.broken);
        fact(app, flow, "broke off", &text, Tone::Warning);
    }
    if !progress.failures.is_empty() {
        fact(app, flow, "failed", &kinds(&progress.failures), Tone::Bad);
    }
    if let Some(last) = progress
        .last_failure
        .as_ref()
        .filter(|last| !last.is_empty())
    {
        fact(app, flow, "last failure", last, Tone::Warning);
    }
    if !progress.retries.is_empty() {
        fact(
            app,
            flow,
            "tried again",
            &kinds(&progress.retries),
            Tone::Warning,
        );
    }
    let tokens = format!(
        "{} in prompts, {} in replies, as the model reports them",
        grouped(progress.prompt_tokens),
        grouped(progress.completion_tokens)
    );
    fact(app, flow, "tokens", &tokens, Tone::Text);
    let measured = progress.prompt_tokens + progress.completion_tokens;
    let cost = spent(progress.dollars, measured, progress.unmeasured)
        .unwrap_or_else(|| "no prices are configured".to_owned());
    fact(app, flow, "cost", &cost, Tone::Text);
    if let Some(estimate) = &running.estimate {
        fact(app, flow, "model", &estimate.model, Tone::Text);
        if let Some(judge) = &estimate.judge {
            let text = match &running.phase {
                Phase::Judging(done, total) if *total > 0 => format!(
                    "{}: {} of {} judged",
                    judge.name,
                    grouped(*done as u64),
                    count(*total, "sub-answer")
                ),
                Phase::Judging(..) => format!("{}: looking for what is to be judged", judge.name),
                _ => format!("{} judges the sub-answers afterwards", judge.name),
            };
            fact(app, flow, "judge", &text, Tone::Text);
        }
        for note in &estimate.notes {
            fact(app, flow, "note", note, Tone::Warning);
        }
        if let Some(caution) = &estimate.caution {
            fact(app, flow, "caution", caution, Tone::Warning);
        }
    }
}

/// Instances per second over the time in which it ran.
fn mean_rate(running: &Running) -> Option<f64> {
    let progress = &running.progress;
    let rate = progress.finished as f64 / progress.elapsed.as_secs_f64();
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

fn kinds<N: std::fmt::Display>(counts: &[(String, N)]) -> String {
    let words: Vec<String> = counts
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    words.join(", ")
}

/// What can be done now, and what will come of it.
fn outlook(app: &App, running: &Running, flow: &mut Flow) {
    let key = |command| app.keymap.key(command);
    let (pause, stop) = (key(Command::SweepPause), key(Command::SweepStop));
    let start = key(Command::SweepStart);
    let say = |flow: &mut Flow, text: &str, tone| flow.say(&app.wraps, text, tone);
    match &running.phase {
        Phase::Planning(..) | Phase::Asking | Phase::Judging(..) => {
            let text = format!(
                "Every reply is stored before it counts. {pause} pauses, {stop} stops; the rest of the explorer can be used meanwhile."
            );
            say(flow, &text, Tone::Faint);
        }
        Phase::Pausing => say(flow, "No new calls; those under way finish.", Tone::Warning),
        Phase::Paused => {
            let text = format!("Paused. {pause} goes on with what is missing.");
            say(flow, &text, Tone::Warning);
        }
        Phase::Stopping { now: false } => {
            let text =
                format!("No new calls; those under way finish. {stop} again stops them too.");
            say(flow, &text, Tone::Warning);
        }
        Phase::Stopping { now: true } => {
            let text = "Stopping now: what has come of the calls under way is kept as interrupted.";
            say(flow, text, Tone::Warning);
        }
        Phase::Ended(Ok(end)) => ended(app, running, end, flow),
        Phase::Ended(Err(why)) => {
            say(flow, why, Tone::Bad);
            let text = format!("{start} tries again.");
            say(flow, &text, Tone::Faint);
        }
    }
}

fn ended(app: &App, running: &Running, end: &SweepEnd, flow: &mut Flow) {
    let key = |command| app.keymap.key(command);
    let (start, curves) = (key(Command::SweepStart), key(Command::SweepChoose));
    if let Some(trouble) = &end.trouble {
        flow.say(
            &app.wraps,
            &format!("The sweep stopped: {trouble}"),
            Tone::Bad,
        );
    } else if end.by_user {
        flow.say(&app.wraps, "Stopped.", Tone::Warning);
    }
    let text = format!(
        "{} of the grid have a reply, {} are missing.",
        count(end.replies, "instance"),
        grouped(end.missing as u64)
    );
    flow.say(&app.wraps, &text, Tone::Strong);
    if end.too_long > 0 {
        let text = format!(
            "{} more do not fit the model's window and are not asked.",
            grouped(end.too_long as u64)
        );
        flow.say(&app.wraps, &text, Tone::Warning);
    }
    if let Some(judged) = &end.judged {
        flow.say(&app.wraps, &format!("Judge: {judged}."), Tone::Text);
    }
    if end.replies > 0 {
        let text = format!("{curves} draws the curves of this run.");
        flow.say(&app.wraps, &text, Tone::Faint);
    }
    if end.missing > 0 {
        let text = format!("{start} goes on with the missing ones, and so does this command:");
        flow.say(&app.wraps, &text, Tone::Faint);
        flow.say(&app.wraps, &running.command, Tone::Text);
    }
}
