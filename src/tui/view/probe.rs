//! The probe screen: what can be changed in the context, what that did, and the reply on screen.

use std::rc::Rc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use unicode_width::UnicodeWidthStr;

use crate::domain::probe::{Effect, ORDERS};
use crate::domain::text::count;
use crate::tui::app::App;
use crate::tui::app::probe::{Part, Probed, Tried};
use crate::tui::app::reply::{ReplyState, Whose};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::audit;
use crate::tui::view::chrome::{bar, frame, inside, panel, put, span};
use crate::tui::view::reply::whose_words;
use crate::tui::view::sweep::{WIDE, body, select};
use crate::tui::widgets::flow::{Flow, scroll_bar};
use crate::tui::widgets::line::{cut, fit, one_line};
use crate::tui::widgets::text::Rich;

/// Columns of a change in the table.
const CHANGE: usize = 34;

/// Columns of the longest effect.
const EFFECT: usize = 25;

/// Columns of an answer in the table.
const SAID: usize = 26;

/// Fewest rows in which the choices and what came of them are shown one above the other.
const TALL: u16 = 10;

/// Where each part lies; on a narrow screen only the focused one, and below the choices what came of them.
fn area_of(app: &App, part: Part) -> Option<Rect> {
    let body = body(app);
    if body.width < WIDE {
        let probe = &app.probe;
        let news = probe.asking.is_some() || probe.found_here().is_some();
        let upper = body.height * 2 / 5;
        return match part {
            _ if !(news && probe.focus == Part::Choices && body.height >= TALL) => {
                (part == probe.focus).then_some(body)
            }
            Part::Choices => Some(Rect {
                height: upper,
                ..body
            }),
            Part::Findings => Some(Rect {
                y: body.y + upper,
                height: body.height - upper,
                ..body
            }),
            Part::Reply => None,
        };
    }
    let left = body.width * 2 / 5;
    let height = body.height / 2;
    Some(match part {
        Part::Choices => Rect {
            width: left,
            ..body
        },
        Part::Findings => Rect {
            x: left,
            width: body.width - left,
            height,
            ..body
        },
        Part::Reply => Rect {
            x: left,
            y: body.y + height,
            width: body.width - left,
            height: body.height - height,
        },
    })
}

/// Rows of a part, and rows seen at once.
pub fn extent(app: &App, part: Part) -> (usize, usize) {
    let inner = inside(area_of(app, part).unwrap_or_else(|| body(app)));
    let rows = match part {
        Part::Choices => app.probe.choices.len(),
        Part::Findings => findings(app, inner.width).rows(),
        Part::Reply => reply(app, inner.width).rows(),
    };
    (rows, usize::from(inner.height))
}

pub(super) fn draw(app: &App, _: Rect, buffer: &mut Buffer) {
    title(app, buffer);
    for (number, part) in Part::ALL.into_iter().enumerate() {
        let Some(area) = area_of(app, part) else {
            continue;
        };
        let focused = part == app.probe.focus;
        let mut left = vec![span(&app.theme, name(part), Tone::Title)];
        if area.width == app.size.0 {
            let next = app.keymap.key(Command::FocusNext);
            let text = format!("  {} of 3, {next} next", number + 1);
            left.push(span(&app.theme, text, Tone::Faint));
        }
        let inner = inside(area).width;
        match part {
            Part::Choices => {
                frame(app, area, buffer, focused, left, Vec::new());
                choices(app, area, buffer);
            }
            Part::Findings => {
                let flow = findings(app, inner);
                let scroll = app.probe.scroll[0];
                panel(app, area, buffer, focused, left, Vec::new(), &flow, scroll);
            }
            Part::Reply => {
                let flow = reply(app, inner);
                let scroll = app.probe.scroll[1];
                panel(app, area, buffer, focused, left, Vec::new(), &flow, scroll);
            }
        }
    }
}

fn name(part: Part) -> &'static str {
    match part {
        Part::Choices => "What to change",
        Part::Findings => "What it does to the answer",
        Part::Reply => "The reply on screen, looked into (no call)",
    }
}

fn title(app: &App, buffer: &mut Buffer) {
    let theme = &app.theme;
    let mut left = vec![
        span(theme, " MedRGB  ", Tone::Title),
        span(theme, "Probe  ", Tone::Strong),
    ];
    if let Some(state) = &app.instance {
        let condition = &state.condition;
        left.push(span(
            theme,
            format!("{}  ", cut(&one_line(&state.question.id), 30)),
            Tone::Text,
        ));
        let words = crate::tui::app::compare::words(condition);
        left.push(span(theme, words, Tone::Text));
    }
    let right = match &app.probe.asking {
        Some(asking) => {
            let (done, total) = asking.calls;
            vec![span(
                theme,
                format!("asking {done}/{total} "),
                Tone::Warning,
            )]
        }
        None => Vec::new(),
    };
    bar(app, Rect::new(0, 0, app.size.0, 1), buffer, left, right);
}

fn choices(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let rows = inside(area);
    let probe = &app.probe;
    if probe.choices.is_empty() {
        let mut flow = Flow::new(rows.width);
        let text = "This context has no document that could be changed. Take more documents (n) or another scenario (s) on the question's screen.";
        flow.say(&app.wraps, text, Tone::Warning);
        return flow.draw(rows, buffer, 0, theme);
    }
    let shown = probe.choices.iter().enumerate().skip(probe.top);
    for (y, (at, choice)) in (rows.top()..rows.bottom()).zip(shown) {
        let (indent, tone) = match choice.single {
            true => ("    ", Tone::Text),
            false => ("", Tone::Strong),
        };
        let line = Line::from(span(theme, format!("{indent}{}", choice.title), tone));
        put(buffer, rows.x, y, &line, rows.width);
        if at == probe.selected {
            select(app, rows, y, buffer);
        }
    }
    let border = Rect {
        y: rows.y,
        height: rows.height,
        ..area
    };
    let style = theme.style(Tone::BorderFocused);
    scroll_bar(border, buffer, probe.top, probe.choices.len(), style);
}

fn findings(app: &App, width: u16) -> Flow {
    let mut flow = Flow::new(width);
    let probe = &app.probe;
    if let Some(asking) = &probe.asking {
        let (done, total) = asking.calls;
        let stop = app.keymap.key(Command::ProbeStop);
        let what = match asking.stopping {
            true => "stopping; what came is kept".to_owned(),
            false => format!("{stop} stops it"),
        };
        let text = format!(
            "{}: {done} of {} done; {what}",
            asking.title,
            count(total, "call")
        );
        flow.say(&app.wraps, &text, Tone::Warning);
        return flow;
    }
    match probe.found_here() {
        Some((title, Ok(found))) => {
            flow.say(&app.wraps, title, Tone::Faint);
            flow.say(&app.wraps, &found.verdict.sentence, Tone::Strong);
            let mut names = found.tried.iter().filter_map(|one| one.change.as_deref());
            if names.any(|name| name.starts_with("order ")) {
                flow.say(&app.wraps, ORDERS, Tone::Faint);
            }
            flow.gap();
            table(app, found, &mut flow);
        }
        Some((title, Err(why))) => {
            flow.say(&app.wraps, title, Tone::Faint);
            flow.say(&app.wraps, &one_line(why), Tone::Bad);
        }
        None => invitation(app, &mut flow),
    }
    flow
}

fn invitation(app: &App, flow: &mut Flow) {
    let run = app.keymap.key(Command::ProbeRun);
    let calls = app
        .probe
        .choices
        .get(app.probe.selected)
        .map_or(0, |choice| choice.variants.len() + 1);
    let text = "One document is swapped, left out or moved, the model is asked again, and the answers are compared: which change flips it, and what does the reply itself say about why?";
    flow.say(&app.wraps, text, Tone::Text);
    flow.gap();
    let text = format!(
        "{run} tries the chosen change: {}, one of them with the context as it is. Replies are kept in the run \"probe\".",
        count(calls, "call")
    );
    flow.say(&app.wraps, &text, Tone::Faint);
}

fn table(app: &App, found: &Probed, flow: &mut Flow) {
    for (at, tried) in found.tried.iter().enumerate() {
        row(app, tried, flow);
        // What does not flip needs no reason.
        if at == 0 || tried.effect.needs_reason() {
            for reason in &tried.reasons {
                flow.text(
                    &app.wraps,
                    Rc::new(Rich::plain(&one_line(reason), Tone::Warning)),
                    4,
                );
            }
        }
    }
}

fn row(app: &App, tried: &Tried, flow: &mut Flow) {
    let theme = &app.theme;
    let (mark, words, tone) = match (&tried.change, tried.effect) {
        (None, _) => (" ", "", Tone::Text),
        (_, Effect::Same) => ("=", Effect::Same.describe(), Tone::Faint),
        (_, Effect::ToRight) => ("✓", Effect::ToRight.describe(), Tone::Good),
        (_, effect) if effect.is_flip() => ("✗", effect.describe(), Tone::Bad),
        (_, effect) => ("?", effect.describe(), Tone::Warning),
    };
    let change = one_line(tried.change.as_deref().unwrap_or("as composed"));
    let said = one_line(&tried.said);
    let said = match flow.width() {
        96.. => fit(&said, SAID),
        _ => fit(
            &said.replace("insufficient information", "insufficient"),
            12,
        ),
    };
    let said = format!("  {said}  ");
    let room = flow
        .width()
        .saturating_sub(2 + said.width() + EFFECT)
        .min(CHANGE);
    let mark = span(theme, format!("{mark} "), tone);
    if change.width() <= room {
        flow.line(Line::from(vec![
            mark,
            span(theme, fit(&change, room), Tone::Text),
            span(theme, said, Tone::Strong),
            span(theme, words, tone),
        ]));
        return;
    }
    let change = Rc::new(Rich::plain(&change, Tone::Text));
    flow.beside(&app.wraps, Line::from(mark), 2, change);
    flow.line(Line::from(vec![
        span(theme, format!("  {said}"), Tone::Strong),
        span(theme, words, tone),
    ]));
}

/// The reply on the question's screen.
fn shown(app: &App) -> Option<&ReplyState> {
    app.replies.shown(app.instance.as_ref()?.context()?)
}

fn reply(app: &App, width: u16) -> Flow {
    let mut flow = Flow::new(width);
    let gold = app.instance.as_ref().is_some_and(|state| state.gold);
    match shown(app) {
        Some(reply) if reply.running() => {
            flow.say(&app.wraps, "The reply is still coming.", Tone::Faint);
        }
        Some(reply) => match &reply.audit {
            Some(found) => {
                if app.replies.whose(reply) == Whose::Another {
                    let whose = whose_words(app, reply, usize::MAX);
                    flow.say(&app.wraps, &whose, Tone::Warning);
                }
                audit::write(app, reply, found, gold, &mut flow);
            }
            None => flow.say(
                &app.wraps,
                "No reply came that could be looked into.",
                Tone::Faint,
            ),
        },
        None => {
            let text = "There is no reply to exactly this context yet; asking on the question's screen brings one.";
            flow.say(&app.wraps, text, Tone::Faint);
        }
    }
    flow
}
