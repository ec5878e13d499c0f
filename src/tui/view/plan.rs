//! The plan of a sweep: the form, and what it would ask.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::context::{Mode, Scenario};
use crate::domain::cost::Cost;
use crate::domain::pace::duration;
use crate::domain::text::count;
use crate::tui::app::App;
use crate::tui::app::loaded::Loaded;
use crate::tui::app::plan::{Estimate, EstimatedCondition, Field};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{frame, inside, panel, put, span};
use crate::tui::view::sweep::{WIDE, body, fact, grouped, select, waiting};
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::cut_spans;

/// Rows of the form where it stands above the estimate: its fields in two columns, two rows of explanation, the frame.
const FORM_ROWS: u16 = 12;

/// Rows of the form with a field a row: two of explanation and the frame beside them.
const TALL: u16 = Field::ALL.len() as u16 + 4;

fn areas(area: Rect) -> (Rect, Rect) {
    if area.width >= WIDE {
        let width = area.width * 2 / 5;
        let estimate = Rect {
            x: area.x + width,
            width: area.width - width,
            ..area
        };
        return (Rect { width, ..area }, estimate);
    }
    let height = FORM_ROWS.min(area.height);
    let estimate = Rect {
        y: area.y + height,
        height: area.height - height,
        ..area
    };
    (Rect { height, ..area }, estimate)
}

/// Where each field stands inside the form: a row each where there is room, else two beside each other. Those that
/// have no room are left out.
fn places(form: Rect) -> Vec<(Field, Rect)> {
    let inner = inside(form);
    let columns: u16 = if form.width >= WIDE || form.height < TALL {
        2
    } else {
        1
    };
    let width = inner.width / columns;
    let fields = Field::ALL.into_iter().zip(0u16..);
    fields
        .map(|(field, at)| {
            let place = Rect {
                x: inner.x + at % columns * width,
                y: inner.y + at / columns,
                // A column between two fields.
                width: width.saturating_sub(columns - 1),
                height: 1,
            };
            (field, place)
        })
        .filter(|(_, place)| place.y < inner.bottom())
        .collect()
}

/// Rows of the estimate, and rows seen at once.
pub fn extent(app: &App) -> (usize, usize) {
    let (_, area) = areas(body(app));
    let inner = inside(area);
    let flow = estimate(app, inner.width);
    (flow.rows(), usize::from(inner.height))
}

pub(super) fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    let (form_area, estimate_area) = areas(area);
    form(app, form_area, buffer);
    let flow = estimate(app, inside(estimate_area).width);
    let left = vec![span(&app.theme, "What it would ask", Tone::Title)];
    let start = app.keymap.key(Command::SweepStart);
    let right = match app.sweep.estimate {
        Loaded::Ready(_) => vec![span(&app.theme, format!("{start} starts it"), Tone::Faint)],
        _ => Vec::new(),
    };
    let scroll = app.sweep.scroll;
    panel(
        app,
        estimate_area,
        buffer,
        false,
        left,
        right,
        &flow,
        scroll,
    );
}

fn form(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let form = &app.sweep.form;
    let left = vec![span(theme, "Plan of a new sweep", Tone::Title)];
    frame(app, area, buffer, true, left, Vec::new());
    let places = places(area);
    for (field, place) in &places {
        let spans = cut_spans(field_spans(app, *field), usize::from(place.width));
        put(buffer, place.x, place.y, &Line::from(spans), place.width);
        if *field == form.field() {
            select(app, *place, place.y, buffer);
        }
    }
    let inner = inside(area);
    let top = places.last().map_or(inner.y, |(_, place)| place.y + 1);
    let below = Rect {
        y: top,
        height: inner.bottom().saturating_sub(top),
        ..inner
    };
    let mut flow = Flow::new(below.width);
    flow.say(&app.wraps, &explanation(app), Tone::Faint);
    flow.draw(below, buffer, 0, theme);
}

fn field_spans(app: &App, field: Field) -> Vec<Span<'static>> {
    let theme = &app.theme;
    let form = &app.sweep.form;
    let (name, _) = field.words();
    let Some(input) = form.text(field) else {
        let (mark, mark_tone, tone) = match form.is_on(field) {
            true => ("[x] ", Tone::Key, Tone::Text),
            false => ("[ ] ", Tone::Faint, Tone::Faint),
        };
        return vec![span(theme, mark, mark_tone), span(theme, name, tone)];
    };
    let mut spans = vec![span(theme, format!("{name:<8}"), Tone::Faint)];
    let (before, after) = input.halves();
    spans.push(span(theme, before.to_owned(), Tone::Strong));
    if form.typing && field == form.field() {
        spans.push(span(theme, "▏", Tone::Key));
    }
    spans.push(span(theme, after.to_owned(), Tone::Strong));
    spans
}

/// What the chosen field expects, and the keys for it.
fn explanation(app: &App) -> String {
    let field = app.sweep.form.field();
    let edit = app.keymap.key(Command::SweepChoose);
    if app.sweep.form.typing {
        return field.words().1.to_owned();
    }
    match field {
        Field::Test(scenario) => format!("{edit} turns it on or off: {}", about(scenario)),
        Field::Reuse => format!("{edit} turns it on or off: {}", field.words().1),
        _ => format!("{}; {edit} edits it", field.words().1),
    }
}

fn about(scenario: Scenario) -> &'static str {
    match scenario {
        Scenario::Standard => "signal documents only, or none",
        Scenario::Sufficiency => "signal and noise; is the information enough?",
        Scenario::Integration => "a sub-question for every signal document",
        Scenario::Robustness => "some documents are edited to be wrong",
    }
}

fn estimate(app: &App, width: u16) -> Flow {
    let mut flow = Flow::new(width);
    let (Some(dataset), request) = (app.data(), &app.sweep.estimated) else {
        flow.say(&app.wraps, "The dataset is not open yet.", Tone::Warning);
        return flow;
    };
    if let Some(request) = request {
        let factors = request.factors(dataset);
        let mut text = format!(
            "{} × {}",
            count(factors.conditions, "condition"),
            count(factors.questions, "question")
        );
        for (number, what) in [(factors.models, "model"), (factors.repeats, "repeat")] {
            if number > 1 {
                text += &format!(" × {}", count(number, what));
            }
        }
        text += &format!(" = {} instances at most", grouped(factors.product() as u64));
        flow.say(&app.wraps, &text, Tone::Text);
    }
    match &app.sweep.estimate {
        Loaded::Nothing => {}
        Loaded::Loading { since, .. } => {
            let text = waiting(
                app,
                "opening the model and looking at every context",
                *since,
            );
            flow.say(&app.wraps, &text, Tone::Faint);
        }
        Loaded::Failed(why) => {
            flow.say(&app.wraps, why, Tone::Bad);
            let text = "Change the field, and this is looked at again.";
            flow.say(&app.wraps, text, Tone::Faint);
        }
        Loaded::Ready(found) => figures(app, found, &mut flow),
    }
    flow
}

fn figures(app: &App, found: &Estimate, flow: &mut Flow) {
    fact(app, flow, "calls", &calls(found), Tone::Strong);
    let tokens = format!(
        "about {} in prompts, at most {} in replies",
        grouped(found.tokens),
        grouped(found.reply_tokens)
    );
    fact(app, flow, "tokens", &tokens, Tone::Text);
    let cost =
        dollars(found.cost).unwrap_or_else(|| "no prices are configured for this model".to_owned());
    fact(app, flow, "cost", &cost, Tone::Text);
    if let Some(judge) = &found.judge {
        let mut text = format!(
            "{}: at most {} calls, about {} tokens in prompts",
            judge.name,
            grouped(judge.calls as u64),
            grouped(judge.tokens)
        );
        if judge.done > 0 {
            text += &format!(", {} judged already", count(judge.done, "sub-answer"));
        }
        if let Some(cost) = dollars(judge.cost) {
            text += &format!("; {cost}");
        }
        fact(app, flow, "judge", &text, Tone::Text);
    }
    fact(app, flow, "time", &time(found), Tone::Text);
    let model = format!(
        "{}, at most {} at a time",
        found.model,
        count(found.concurrency, "call")
    );
    fact(app, flow, "model", &model, Tone::Text);
    if let Some(caution) = &found.caution {
        fact(app, flow, "caution", caution, Tone::Warning);
    }
    for note in &found.notes {
        fact(app, flow, "note", note, Tone::Warning);
    }
    flow.gap();
    table(app, found, flow);
}

fn calls(found: &Estimate) -> String {
    if found.to_ask == 0 && found.to_reuse == 0 && found.too_long == 0 {
        return "none: the run holds a reply to every instance".to_owned();
    }
    let mut besides = Vec::new();
    if found.done > 0 {
        besides.push(format!(
            "{} of {} instances are done",
            grouped(found.done as u64),
            grouped(found.instances as u64)
        ));
    }
    if found.to_reuse > 0 {
        besides.push(format!(
            "{} are taken over from other runs",
            grouped(found.to_reuse as u64)
        ));
    }
    if found.too_long > 0 {
        besides.push(format!(
            "{} more do not fit the model's window",
            grouped(found.too_long as u64)
        ));
    }
    let calls = grouped(found.to_ask as u64);
    match besides.is_empty() {
        true => calls,
        false => format!("{calls} ({})", besides.join(", ")),
    }
}

/// A cost in words; `None` where no price is known.
fn dollars(cost: Cost) -> Option<String> {
    let dollars = |cost: Option<f64>| cost.map_or("?".to_owned(), |c| format!("${c:.2}"));
    match (cost.prompt, cost.reply_at_most) {
        (None, None) => None,
        (prompt, reply) => Some(format!(
            "about {} for prompts, at most {} for replies",
            dollars(prompt),
            dollars(reply)
        )),
    }
}

fn time(found: &Estimate) -> String {
    match &found.time {
        Some(time) => {
            let whole = Duration::try_from_secs_f64(time.seconds).unwrap_or(Duration::MAX);
            let about = if time.at_least { "at least" } else { "about" };
            let by = match time.per_reply {
                Some(mean) => format!(
                    "mean of {}: {mean:.1} s",
                    count(time.replies, "earlier reply")
                ),
                None => "by the limits per minute".to_owned(),
            };
            format!("{about} {} ({by})", duration(whole))
        }
        None if found.to_ask == 0 => "none: nothing is to be asked".to_owned(),
        None => "unknown: this model has no stored reply to go by".to_owned(),
    }
}

/// The conditions; on a narrow screen without the predicted tokens.
fn table(app: &App, found: &Estimate, flow: &mut Flow) {
    let theme = &app.theme;
    let wide = flow.width() >= 93;
    let tokens = |text: String| {
        if wide {
            format!("{text:>13}")
        } else {
            String::new()
        }
    };
    let heading = format!(
        "{:<12}{:<9}{:>3}{:>5}{:>10}{:>8}{:>6}{:>9}{:>7}{:>7}{}",
        "scenario",
        "draw",
        "n",
        "p",
        "instances",
        "without",
        "short",
        "overflow",
        "done",
        "calls",
        tokens("tokens".to_owned())
    );
    flow.line(Line::from(span(theme, heading, Tone::Faint)));
    for row in &found.conditions {
        let text = row_text(row) + &tokens(grouped(row.tokens));
        let tone = match row.overflow + row.without + row.short {
            0 => Tone::Text,
            _ => Tone::Warning,
        };
        flow.line(Line::from(span(theme, text, tone)));
    }
    let legend = "without: questions with no documents for it; short: fewer documents than n; overflow: too long for the model's window; draw: source, and i for independent draws";
    flow.say(&app.wraps, legend, Tone::Faint);
}

/// Which documents, and `i` for independent draws.
fn drawn(row: &EstimatedCondition) -> String {
    let mark = match row.condition.mode {
        Mode::Nested => "",
        Mode::Independent => " i",
    };
    format!("{}{mark}", row.condition.source.name())
}

fn row_text(row: &EstimatedCondition) -> String {
    let p = match row.condition.scenario {
        Scenario::Standard => "-".to_owned(),
        _ => row.condition.p.to_string(),
    };
    format!(
        "{:<12}{:<9}{:>3}{p:>5}{:>10}{:>8}{:>6}{:>9}{:>7}{:>7}",
        row.condition.scenario.name(),
        drawn(row),
        row.condition.docs,
        row.instances,
        row.without,
        row.short,
        row.overflow,
        row.done,
        row.to_ask
    )
}
