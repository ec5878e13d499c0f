//! The instance screen: its panels and what they show.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::domain::context::Scenario;
use crate::domain::passage::Role;
use crate::tui::app::instance::{InstanceState, Panel};
use crate::tui::app::{App, Screen};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{inside, panel, put, span};
use crate::tui::view::instance::layout::{layout, option_rows};
use crate::tui::view::{documents, reply, scores};
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::{cut, fitting, one_line};
use crate::tui::widgets::text::wrap;

pub(super) use header::first_fitting;
pub use layout::DOCUMENT_PANELS;

mod header;
mod layout;

/// The panels that Tab goes through.
pub fn focusable(app: &App) -> Vec<Panel> {
    let Some(state) = &app.instance else {
        return Vec::new();
    };
    let documents: usize = DOCUMENT_PANELS
        .iter()
        .filter_map(|panel| panel.role())
        .map(|role| state.count(role))
        .sum();
    Panel::ALL
        .into_iter()
        .filter(|panel| match panel.role() {
            Some(role) => state.count(role) > 0 || (documents == 0 && role == Role::Signal),
            None => true,
        })
        .collect()
}

/// Whether a panel is on screen.
pub fn shows(app: &App, panel: Panel) -> bool {
    app.instance
        .as_ref()
        .is_some_and(|state| layout(app, state).area(panel).is_some())
}

/// The panel at a place on screen.
pub fn panel_at(app: &App, at: Position) -> Option<Panel> {
    let layout = layout(app, app.instance.as_ref()?);
    let found = layout.panels.iter().find(|(_, area)| area.contains(at));
    found.map(|(panel, _)| *panel)
}

/// Rows of a panel's content, and rows seen at once.
pub fn extent(app: &App, panel: Panel) -> (usize, usize) {
    let Some(state) = &app.instance else {
        return (0, 0);
    };
    let Some(area) = layout(app, state).area(panel) else {
        return (0, 0);
    };
    let inner = inside(area);
    let flow = content(app, state, panel, inner.width);
    (flow.rows(), usize::from(inner.height))
}

/// What of a panel is in sight; all in rows of its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    /// Rows there are.
    pub rows: usize,
    /// Rows in sight at once.
    pub height: usize,
    /// The first row in sight.
    pub at: usize,
    /// Where documents begin.
    pub anchors: Vec<usize>,
    /// Where edited words begin.
    pub changes: Vec<usize>,
    /// The row of each place that has what is looked for.
    pub matches: Vec<usize>,
}

impl Sight {
    /// The furthest row that can be the first in sight.
    pub fn most(&self) -> usize {
        self.rows.saturating_sub(self.height)
    }

    /// The first row in sight where this one is to be read with what stands before it.
    pub fn around(&self, row: usize) -> usize {
        leading_to(row, self.height).min(self.most())
    }
}

/// What of a panel is in sight; `None` where it is not on screen.
pub fn sight(app: &App, panel: Panel) -> Option<Sight> {
    let state = app.instance.as_ref()?;
    let inner = inside(layout(app, state).area(panel)?);
    let flow = content(app, state, panel, inner.width);
    let height = usize::from(inner.height);
    Some(Sight {
        rows: flow.rows(),
        height,
        at: scroll_of(app, state, panel, &flow, height),
        anchors: flow.anchors().to_vec(),
        changes: flow.changes().to_vec(),
        matches: flow.match_rows(),
    })
}

/// How many places of a column have what is looked for, on screen or not.
pub fn found(app: &App, panel: Panel) -> usize {
    let Some(state) = &app.instance else {
        return 0;
    };
    // A width at which texts are wrapped already, where there is one: it does not matter for the number.
    let layout = layout(app, state);
    let shown = || layout.panels.iter().find(|(at, _)| at.role().is_some());
    let area = layout
        .area(panel)
        .or_else(|| shown().map(|(_, area)| *area));
    let width = area.map_or(app.size.0, |area| inside(area).width);
    documents::flow(app, state, panel, width).found()
}

/// The first row in sight with a third of the panel above `row`.
fn leading_to(row: usize, height: usize) -> usize {
    row.saturating_sub(height / 3)
}

/// Where a panel stands: the reply follows its end while it streams, edited documents open at their first change.
fn scroll_of(app: &App, state: &InstanceState, panel: Panel, flow: &Flow, height: usize) -> usize {
    let most = flow.rows().saturating_sub(height);
    if panel == Panel::Adversarial && !state.moved {
        return match flow.changes().first() {
            Some(&row) if row >= height => leading_to(row, height).min(most),
            _ => 0,
        };
    }
    let streaming = state
        .context()
        .and_then(|context| app.replies.shown(context))
        .is_some_and(|reply| reply.running());
    if panel == Panel::Reply && state.follow && streaming {
        most
    } else {
        state.scroll[panel.index()].min(most)
    }
}

fn content(app: &App, state: &InstanceState, panel: Panel, width: u16) -> Flow {
    match panel {
        Panel::Question => question(app, state, width),
        Panel::Reply => reply::flow(app, state, width),
        Panel::Scores => scores::flow(app, state, width, !has_others(app, state)),
        Panel::Signal | Panel::Noise | Panel::Adversarial => {
            documents::flow(app, state, panel, width)
        }
    }
}

fn has_others(app: &App, state: &InstanceState) -> bool {
    layout(app, state).others.is_some()
}

pub(super) fn draw(app: &App, _: Rect, buffer: &mut Buffer) {
    let Some(state) = &app.instance else {
        return;
    };
    let layout = layout(app, state);
    if layout.header.height > 0 {
        header::header(app, state, layout.header, buffer);
    }
    if let Some(area) = layout.tabs {
        header::tabs(app, state, area, buffer);
    }
    for (at, area) in &layout.panels {
        let inner = inside(*area);
        let flow = content(app, state, *at, inner.width);
        let focused = *at == state.focus;
        let height = usize::from(inner.height);
        let mut scroll = scroll_of(app, state, *at, &flow, height);
        let within = at
            .role()
            .and_then(|role| within(state, role, &flow, scroll));
        let (mut left, mut right) = titles(app, state, *at, (area.width, within), flow.found());
        // A long question asks in its last sentence.
        if *at == Panel::Question && !focused && scroll == 0 && flow.rows() > height {
            scroll = question_end(state, inner.width, height);
            (left, right) = cut_question_titles(app, state, area.width);
        }
        panel(app, *area, buffer, focused, left, right, &flow, scroll);
    }
    if let Some(area) = layout.absent {
        let line = documents::absent(app, state, usize::from(area.width));
        put(buffer, area.x, area.y, &line, area.width);
    }
    if let Some(area) = layout.others {
        let flow = scores::others(app, state, inside(area).width);
        let title = vec![span(&app.theme, "Other scenarios", Tone::Title)];
        panel(app, area, buffer, false, title, Vec::new(), &flow, 0);
    }
}

type Spans = Vec<Span<'static>>;

/// The label of the document that is cut at the top of its column.
fn within<'a>(state: &'a InstanceState, role: Role, flow: &Flow, scroll: usize) -> Option<&'a str> {
    let begun = flow.anchors().iter().filter(|row| **row < scroll).count();
    let at_head = flow.anchors().contains(&scroll);
    let nth = begun.checked_sub(1).filter(|_| !at_head)?;
    let mut documents = state.context()?.documents.iter();
    let document = documents.by_ref().filter(|doc| doc.role == role).nth(nth)?;
    Some(&document.label)
}

/// Where a question that does not fit is scrolled to: the end of its text, above the options.
fn question_end(state: &InstanceState, width: u16, height: usize) -> usize {
    let text = wrap(state.text.text(), usize::from(width));
    text.lines.len().saturating_sub(height)
}

/// The title of a question that does not fit: how to get to all of it.
fn cut_question_titles(app: &App, state: &InstanceState, width: u16) -> (Spans, Spans) {
    let theme = &app.theme;
    let mut title = vec![span(theme, "Question", Tone::Title)];
    if width >= 60 {
        let id = cut(&one_line(&state.question.id), 16);
        title.push(span(theme, format!("  {id}"), Tone::Faint));
    }
    // A talk has no panels to go to.
    if app.screen == Screen::Talk {
        return (title, Vec::new());
    }
    let key = app.keymap.key(Command::FocusPrevious);
    let used: usize = title.iter().map(Span::width).sum();
    let hint = fitting(
        [
            format!("its end; {key} to Question: all of it, options"),
            format!("{key} to Question: all of it"),
            format!("{key}: all of it"),
        ],
        usize::from(width).saturating_sub(used + 10),
    );
    (title, vec![span(theme, hint, Tone::Key)])
}

fn titles(
    app: &App,
    state: &InstanceState,
    panel: Panel,
    (width, within): (u16, Option<&str>),
    found: usize,
) -> (Spans, Spans) {
    let theme = &app.theme;
    match panel {
        Panel::Question => (
            vec![
                span(theme, "Question  ", Tone::Title),
                span(theme, one_line(&state.question.id), Tone::Faint),
            ],
            Vec::new(),
        ),
        Panel::Reply => reply::titles(app, state, usize::from(width)),
        Panel::Scores => scores::titles(app, state),
        _ => documents::titles(app, state, panel, (width, within), found),
    }
}

fn question(app: &App, state: &InstanceState, width: u16) -> Flow {
    let theme = &app.theme;
    let mut flow = Flow::new(width);
    flow.text(&app.wraps, state.text.clone(), 0);
    for row in option_rows(state, usize::from(width)) {
        let alone = row.len() == 1;
        let mut spans = Vec::new();
        for index in row {
            let Some(option) = state.question.options.get(index) else {
                continue;
            };
            let gold = state.gold && option.letter == state.question.answer;
            let tone = if gold { Tone::Good } else { Tone::Text };
            let text = one_line(&option.text);
            if alone {
                let text = format!(
                    "{}  {text}{}",
                    option.letter,
                    if gold { "  (gold)" } else { "" }
                );
                flow.say(&app.wraps, &text, tone);
                continue;
            }
            spans.push(span(theme, format!("{}  ", option.letter), Tone::Key));
            spans.push(span(theme, text, tone));
            spans.push(span(theme, if gold { "  (gold)" } else { "" }, Tone::Good));
            spans.push(Span::raw("      "));
        }
        if !spans.is_empty() {
            flow.line(Line::from(spans));
        }
    }
    flow
}

/// The name of a scenario as a title.
pub(super) fn scenario_title(scenario: Scenario) -> &'static str {
    match scenario {
        Scenario::Standard => "Standard",
        Scenario::Sufficiency => "Sufficiency",
        Scenario::Integration => "Integration",
        Scenario::Robustness => "Robustness",
    }
}
