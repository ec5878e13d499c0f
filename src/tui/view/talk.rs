//! Talk mode: the panels that a step shows, above a caption.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::data::talk::Show;
use crate::domain::context::Scenario;
use crate::domain::text::short;
use crate::tui::app::talk::{Talk, Waiting};
use crate::tui::app::{App, ModelState, Screen};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{put, span};
use crate::tui::view::{curves, instance};
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::{both_ends, cut, one_line};

/// What the step on screen shows; `None` while no talk is on screen.
pub(super) fn showing(app: &App) -> Option<Show> {
    let talk = app.talk.as_ref().filter(|_| app.screen == Screen::Talk);
    talk.map(Talk::show)
}

/// The room above the caption.
pub(super) fn body(app: &App) -> Rect {
    let (width, height) = app.size;
    let caption = app.talk.as_ref().map_or(0, |talk| caption_rows(app, talk));
    Rect::new(0, 0, width, height.saturating_sub(caption + 1))
}

/// Rows of the caption: as many as it needs, up to a third of the screen.
fn caption_rows(app: &App, talk: &Talk) -> u16 {
    let rows = caption(app, talk).rows();
    let rows = u16::try_from(rows).unwrap_or(u16::MAX);
    rows.clamp(1, (app.size.1 / 3).max(1))
}

fn caption(app: &App, talk: &Talk) -> Flow {
    let mut flow = Flow::new(app.size.0.saturating_sub(4));
    let text = talk.step().map_or("", |step| step.caption.as_str());
    flow.say(&app.wraps, text, Tone::Strong);
    if let Some(problem) = &talk.problem {
        let text = format!("This step can't be shown: {}", one_line(problem));
        flow.say(&app.wraps, &text, Tone::Bad);
    }
    flow
}

pub(super) fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    let Some(talk) = &app.talk else {
        return;
    };
    match (&talk.problem, talk.show()) {
        (Some(_), _) => {}
        (None, Show::Curves) => curves::draw(app, body(app), buffer),
        (None, _) => instance::draw(app, area, buffer),
    }
    let rows = caption_rows(app, talk);
    let place = Rect {
        x: area.x + 2.min(area.width),
        y: area.bottom().saturating_sub(rows + 1),
        width: area.width.saturating_sub(4),
        height: rows,
    };
    caption(app, talk).draw(place, buffer, 0, &app.theme);
    let line = both_ends(
        condition(app),
        state(app, talk, usize::from(area.width)),
        usize::from(area.width),
    );
    put(
        buffer,
        area.x,
        area.bottom().saturating_sub(1),
        &line,
        area.width,
    );
}

/// Under which condition the instance on screen was composed.
fn condition(app: &App) -> Vec<Span<'static>> {
    if showing(app) == Some(Show::Curves) {
        let run = app.sweep.curves.as_ref().map_or("", |curves| &curves.run);
        let text = format!("  run {}", short(run));
        return vec![span(&app.theme, text, Tone::Faint)];
    }
    let Some(state) = &app.instance else {
        return Vec::new();
    };
    let condition = &state.condition;
    let scenario = instance::scenario_title(condition.scenario);
    let text = match condition.scenario {
        Scenario::Standard => format!("  {scenario}  n {}", condition.docs),
        _ => format!("  {scenario}  n {}  p {} %", condition.docs, condition.p),
    };
    vec![span(&app.theme, text, Tone::Faint)]
}

/// What is played and how fast, the step, and how it goes on: as much as fits.
fn state(app: &App, talk: &Talk, width: usize) -> Vec<Span<'static>> {
    let theme = &app.theme;
    let step = format!("{}/{}", talk.at + 1, talk.script.steps.len());
    let speed = format!("×{}", talk.speed);
    let onward = onward(app, talk);
    let played = match &app.model {
        ModelState::Ready(identity) => identity.detail.clone(),
        _ => String::new(),
    };
    let room = width.saturating_sub(30);
    let choices = [
        vec![
            format!("{}  {speed}", one_line(&played)),
            onward.clone(),
            step.clone(),
        ],
        vec![
            format!("{}  {speed}", cut(&one_line(&played), 40)),
            onward.clone(),
            step.clone(),
        ],
        vec![format!("replay {speed}"), onward, step.clone()],
        vec![format!("replay {speed}"), step],
    ];
    let spans = choices.map(|texts| {
        let texts = texts.into_iter().filter(|text| !text.is_empty());
        texts
            .map(|text| span(theme, format!("  {text}"), Tone::Faint))
            .collect::<Vec<_>>()
    });
    let mut line = instance::first_fitting(spans, room);
    line.push(Span::raw(" "));
    line
}

/// What happens next, or which key makes it happen.
fn onward(app: &App, talk: &Talk) -> String {
    let next = app.keymap.key(Command::TalkNext);
    match (talk.waiting, talk.remaining(app.now)) {
        (Waiting::Reply | Waiting::ToAsk, _) if talk.at_once => String::new(),
        (Waiting::Reply | Waiting::ToAsk, _) => format!("{next}: all of it at once"),
        (_, Some(seconds)) => format!("next in {seconds:.0} s"),
        (_, None) if talk.at + 1 >= talk.script.steps.len() => {
            format!("the end; {next}: from the start")
        }
        (_, None) => format!("{next}: next"),
    }
}
