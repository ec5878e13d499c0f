//! The lines above the panels of the instance screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;
use unicode_width::UnicodeWidthStr;

use crate::domain::context::{Condition, Scenario, SourceFilter};
use crate::domain::passage::Role;
use crate::domain::text::count;
use crate::tui::app::instance::{InstanceState, Panel};
use crate::tui::app::reply::introduced;
use crate::tui::app::{App, ModelState};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{bar, put, span};
use crate::tui::view::documents;
use crate::tui::view::instance::{Spans, scenario_title};
use crate::tui::widgets::line::{both_ends, cut, one_line};

/// The question, what was asked for, what is less than that, and the model.
pub(super) fn header(app: &App, state: &InstanceState, area: Rect, buffer: &mut Buffer) {
    let left = question_and_condition(app, state, usize::from(area.width));
    match (area.height, area.width >= 160) {
        (1, true) => in_a_wide_line(app, state, area, buffer, left),
        (1, false) => in_little_room(app, state, area, buffer, left),
        _ => in_two_lines(app, state, area, buffer, left),
    }
}

/// Which question of which dataset, and what was asked for: as much as fits.
fn question_and_condition(app: &App, state: &InstanceState, width: usize) -> Spans {
    let theme = &app.theme;
    let total = app.data().map_or(0, |data| data.questions.len());
    let name = app
        .data()
        .map_or_else(String::new, |data| one_line(&data.name));
    let position = position(state, total);
    let brand = span(theme, " MedRGB ", Tone::Title);
    let text = format!(" {}{position} ", cut(&name, 24));
    let named = span(theme, text, Tone::Text);
    let position = span(theme, position, Tone::Text);
    let asked = asked_for(app, state, true);
    let short = asked_for(app, state, false);
    let choices = [
        [vec![brand, named.clone()], asked.clone()].concat(),
        [vec![named], asked.clone()].concat(),
        [vec![position.clone()], asked].concat(),
        [vec![position], short].concat(),
    ];
    first_fitting(choices, width)
}

/// Which question it is, of how many.
fn position(state: &InstanceState, total: usize) -> String {
    format!(" {}/{total} ", state.index + 1)
}

/// All of it side by side.
fn in_a_wide_line(
    app: &App,
    state: &InstanceState,
    area: Rect,
    buffer: &mut Buffer,
    mut left: Spans,
) {
    left.extend(warnings(app, state, 0));
    left.push(Span::raw("   "));
    left.extend(draw_of(app, &state.condition));
    let model = model(app, usize::from(area.width) / 3);
    bar(app, area, buffer, left, model);
}

/// What must be known about the context comes before what was asked for.
fn in_little_room(app: &App, state: &InstanceState, area: Rect, buffer: &mut Buffer, left: Spans) {
    let theme = &app.theme;
    let total = app.data().map_or(0, |data| data.questions.len());
    let short = |level| warnings(app, state, level);
    let scenario = scenario_title(state.condition.scenario);
    let brief = vec![
        span(theme, position(state, total), Tone::Text),
        span(theme, scenario, Tone::Strong),
        span(theme, format!("  {}", shares(state)), Tone::Text),
    ];
    let choices = [
        [left, short(0)].concat(),
        [brief.clone(), short(0)].concat(),
        [brief.clone(), short(1)].concat(),
        [brief, short(2)].concat(),
    ];
    let line = first_fitting(choices, usize::from(area.width));
    bar(app, area, buffer, line, Vec::new());
}

/// Question and condition above; draw, warnings and model below.
fn in_two_lines(app: &App, state: &InstanceState, area: Rect, buffer: &mut Buffer, left: Spans) {
    let first = Rect { height: 1, ..area };
    bar(app, first, buffer, left, Vec::new());
    let second = Rect {
        y: area.y + 1,
        ..first
    };
    let width = usize::from(area.width);
    let blank = || vec![Span::raw(" ")];
    let drawn = || draw_of(app, &state.condition);
    let choices = [
        [blank(), drawn(), warnings(app, state, 0)].concat(),
        [blank(), drawn(), warnings(app, state, 1)].concat(),
        [blank(), warnings(app, state, 1)].concat(),
        [blank(), warnings(app, state, 2)].concat(),
    ];
    // The rest is for the model's name and the caution about it.
    let line = first_fitting(choices, width * 3 / 5);
    let used: usize = line.iter().map(Span::width).sum();
    let model = model(app, width.saturating_sub(used + 3));
    bar(app, second, buffer, line, model);
}

/// The first choice that fits a width, else the last.
pub(in crate::tui::view) fn first_fitting(
    choices: impl IntoIterator<Item = Spans>,
    width: usize,
) -> Spans {
    let mut last = Vec::new();
    for choice in choices {
        last = choice;
        if last.iter().map(Span::width).sum::<usize>() <= width {
            break;
        }
    }
    last
}

/// Scenario, n, p and, with `whole`, what the context holds.
fn asked_for(app: &App, state: &InstanceState, whole: bool) -> Spans {
    let theme = &app.theme;
    let condition = &state.condition;
    let scenario = scenario_title(condition.scenario);
    let mut spans = vec![
        span(theme, scenario, Tone::Strong),
        span(theme, format!("  n {}", condition.docs), Tone::Text),
    ];
    if condition.scenario != Scenario::Standard {
        spans.push(span(theme, format!("  {}", shares(state)), Tone::Text));
    }
    if state.composed.is_ok() && whole {
        spans.push(span(theme, format!(" ({})", counts(state)), Tone::Faint));
    }
    spans
}

/// What a context holds, in words: `3 signal, 2 noise`.
fn counts(state: &InstanceState) -> String {
    let robust = state.condition.scenario == Scenario::Robustness;
    let signal = if robust { "original" } else { "signal" };
    let parts: Vec<String> = [
        (state.count(Role::Signal), signal, true),
        (
            state.count(Role::Noise),
            "noise",
            !robust && state.condition.scenario != Scenario::Standard,
        ),
        (state.count(Role::Adversarial), "adversarial", robust),
    ]
    .into_iter()
    .filter(|(_, _, applies)| *applies)
    .map(|(count, word, _)| format!("{count} {word}"))
    .collect();
    parts.join(", ")
}

/// The share of signal, and what it came to where that is another one.
fn shares(state: &InstanceState) -> String {
    let asked = state.condition.p;
    let is = state.context().map(|context| format!("{:.0}", context.p));
    match is.filter(|is| *is != asked.to_string()) {
        Some(is) => format!("asked p {asked} %, is {is} %"),
        None => format!("p {asked} %"),
    }
}

/// Seed and mode of the draw.
fn draw_of(app: &App, condition: &Condition) -> Spans {
    vec![
        span(&app.theme, format!("seed {}", condition.seed), Tone::Faint),
        span(&app.theme, format!("  {}", condition.mode), Tone::Faint),
    ]
}

/// What makes this context less than what was asked for, in ever fewer words with a higher level (0, 1, 2).
fn warnings(app: &App, state: &InstanceState, level: usize) -> Spans {
    let mut texts = Vec::new();
    let source = state.condition.source;
    if source != SourceFilter::Any {
        texts.push(match level {
            0 => format!("  {} documents only", source.name()),
            _ => format!("  {} only", source.name()),
        });
    }
    if let Some(context) = state.context().filter(|context| context.short) {
        let (docs, wanted) = (context.docs, context.docs_requested);
        texts.push(match level {
            0 => format!("  SHORT: {docs} of {}", count(wanted, "document")),
            1 => format!("  SHORT: {docs} of {wanted}"),
            _ => format!("  SHORT {docs}/{wanted}"),
        });
    }
    let texts = texts.into_iter();
    texts
        .map(|text| span(&app.theme, text, Tone::Warning))
        .collect()
}

/// The model's name and caution, in at most `width` columns.
fn model(app: &App, width: usize) -> Spans {
    let theme = &app.theme;
    let (name, note, tone) = match &app.model {
        ModelState::Opening => (
            app.settings.model.clone(),
            Some("opening …".into()),
            Tone::Faint,
        ),
        ModelState::Ready(identity) => {
            let (name, note) = introduced(identity, width);
            (name, note, Tone::Warning)
        }
        ModelState::Failed(_) => (
            app.settings.model.clone(),
            Some("not available".into()),
            Tone::Bad,
        ),
    };
    let name = cut(&one_line(&name), width);
    let room = width.saturating_sub(name.width() + 3);
    let mut spans = vec![span(theme, name, Tone::Strong)];
    if let Some(note) = note
        && room > 6
    {
        let note = cut(&one_line(&note), room);
        spans.push(span(theme, format!(" · {note}"), tone));
    }
    spans.push(Span::raw(" "));
    spans
}

/// The pages of a small screen, the shown one marked.
pub(super) fn tabs(app: &App, state: &InstanceState, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let narrow = area.width < 60;
    let mut spans = Vec::new();
    for panel in Panel::ALL {
        let name = match (panel, narrow) {
            (Panel::Question, false) => "Question".to_owned(),
            (Panel::Question, true) => "Q".to_owned(),
            (Panel::Reply, _) => "Reply".to_owned(),
            (Panel::Scores, _) => "Scores".to_owned(),
            (panel, narrow) => {
                let count = panel.role().map_or(0, |role| state.count(role));
                let (mark, name) = documents::role_words(state, panel);
                let name = name.split(' ').next().unwrap_or(name);
                if narrow {
                    format!("{mark}{count}")
                } else {
                    format!("{mark} {name} {count}")
                }
            }
        };
        let chosen = panel == state.focus;
        let text = if chosen {
            format!("[{name}]")
        } else {
            format!(" {name} ")
        };
        let tone = if chosen {
            Tone::BorderFocused
        } else {
            Tone::Faint
        };
        spans.push(span(theme, text, tone));
        spans.push(Span::raw(if narrow { "" } else { " " }));
    }
    let hint = if state.zoom {
        format!("{} unzooms", app.keymap.key(Command::Zoom))
    } else {
        format!("{} next", app.keymap.key(Command::FocusNext))
    };
    let right = if narrow {
        Vec::new()
    } else {
        vec![span(theme, hint, Tone::Faint)]
    };
    let line = both_ends(spans, right, usize::from(area.width));
    put(buffer, area.x, area.y, &line, area.width);
}
