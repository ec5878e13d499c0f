//! The instance screen: where its panels are, and what they show.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::data::talk::Show;
use crate::domain::context::{Condition, Scenario};
use crate::domain::passage::Role;
use crate::domain::text::count;
use crate::tui::app::instance::{InstanceState, Panel};
use crate::tui::app::reply::caution;
use crate::tui::app::{App, ModelState, Screen};
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{FRAME_COLUMNS, bar, inside, panel, put, span};
use crate::tui::view::{documents, reply, scores, talk};
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::{cut, fitting, one_line};

/// From this width on, columns stand side by side.
const WIDE: u16 = 100;

/// From this height on (and [`WIDE`]), everything is on screen at once.
const TALL: u16 = 34;

/// From this height on a narrow screen stacks documents, reply and scores.
const TALL_AND_NARROW: u16 = 44;

/// Width of a column without documents.
const HINT: u16 = 24;

struct Layout {
    header: Rect,
    tabs: Option<Rect>,
    panels: Vec<(Panel, Rect)>,
    others: Option<Rect>,
}

impl Layout {
    fn area(&self, panel: Panel) -> Option<Rect> {
        let found = self.panels.iter().find(|(at, _)| *at == panel);
        found.map(|(_, area)| *area)
    }
}

/// Cuts `rows` off the top.
fn take_top(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    let top = Rect {
        height: rows,
        ..*area
    };
    area.y += rows;
    area.height -= rows;
    top
}

fn layout(app: &App, state: &InstanceState) -> Layout {
    let (width, height) = app.size;
    let mut body = Rect::new(0, 0, width, height.saturating_sub(1));
    let header = take_top(&mut body, if width >= 160 || height < 16 { 1 } else { 2 });
    let mut layout = Layout {
        header,
        tabs: None,
        panels: Vec::new(),
        others: None,
    };
    if let Some(show) = talk::showing(app) {
        layout.header.height = 0;
        let body = talk::body(app);
        for_talk(app, state, &mut layout, body, show);
    } else if state.zoom {
        layout.tabs = Some(take_top(&mut body, 1));
        layout.panels.push((state.focus, body));
    } else if width >= WIDE && height >= TALL {
        everything(app, state, &mut layout, body);
    } else if width < WIDE && height >= TALL_AND_NARROW {
        stacked(state, &mut layout, body);
    } else {
        paged(state, &mut layout, body);
    }
    layout
}

/// What a step of a talk shows, over the whole body.
fn for_talk(app: &App, state: &InstanceState, layout: &mut Layout, mut body: Rect, show: Show) {
    let roomy = body.height >= 16;
    match show {
        Show::All if body.width >= WIDE && body.height + 3 >= TALL => {
            return everything(app, state, layout, body);
        }
        Show::Question => return layout.panels.push((Panel::Question, body)),
        _ => {}
    }
    if roomy {
        let rows = question_height(state, body);
        let question = take_top(&mut body, rows);
        layout.panels.push((Panel::Question, question));
    }
    match show {
        Show::Documents if body.width >= WIDE => columns(state, layout, body),
        Show::Documents => stacked_columns(state, layout, body),
        Show::Reply => layout.panels.push((Panel::Reply, body)),
        _ => beside(layout, body),
    }
}

/// The reply and its scores: side by side, or one above the other.
fn beside(layout: &mut Layout, body: Rect) {
    let mut rest = body;
    let reply = if body.width >= WIDE {
        let half = body.width / 2;
        rest.x += half;
        rest.width -= half;
        Rect {
            width: half,
            ..body
        }
    } else {
        take_top(&mut rest, body.height / 2)
    };
    layout.panels.push((Panel::Reply, reply));
    layout.panels.push((Panel::Scores, rest));
}

/// The columns that have documents, one above the other.
fn stacked_columns(state: &InstanceState, layout: &mut Layout, mut body: Rect) {
    let filled: Vec<Panel> = DOCUMENT_PANELS
        .into_iter()
        .filter(|panel| panel.role().is_some_and(|role| state.count(role) > 0))
        .collect();
    let mut left = u16::try_from(filled.len()).unwrap_or(1);
    if left == 0 {
        return layout.panels.push((Panel::Signal, body));
    }
    for panel in filled {
        let rows = body.height / left;
        layout.panels.push((panel, take_top(&mut body, rows)));
        left -= 1;
    }
}

/// Question above, documents in the middle, reply and scores below.
fn everything(app: &App, state: &InstanceState, layout: &mut Layout, mut body: Rect) {
    let rows = question_height(state, body);
    let question = take_top(&mut body, rows);
    layout.panels.push((Panel::Question, question));
    let rows = documents_height(app, state, body);
    let documents = take_top(&mut body, rows);
    columns(state, layout, documents);
    let reply_width = body.width / 2;
    let mut right = Rect {
        x: body.x + reply_width,
        width: body.width - reply_width,
        ..body
    };
    layout.panels.push((
        Panel::Reply,
        Rect {
            width: reply_width,
            ..body
        },
    ));
    if right.width >= 80 {
        let others_width = right.width * 2 / 5;
        layout.others = Some(Rect {
            x: right.right() - others_width,
            width: others_width,
            ..right
        });
        right.width -= others_width;
    }
    layout.panels.push((Panel::Scores, right));
}

/// Rows for the document columns: what they need, up to a good half, so that short documents leave the
/// rest to the reply.
fn documents_height(app: &App, state: &InstanceState, body: Rect) -> u16 {
    let most = body.height * 11 / 20;
    let mut trial = Layout {
        header: body,
        tabs: None,
        panels: Vec::new(),
        others: None,
    };
    columns(
        state,
        &mut trial,
        Rect {
            height: most,
            ..body
        },
    );
    let needed = trial
        .panels
        .iter()
        .map(|(panel, area)| documents::flow(app, state, *panel, inside(*area).width).rows() + 2)
        .max();
    u16::try_from(needed.unwrap_or(0))
        .unwrap_or(u16::MAX)
        .clamp(9.min(most), most)
}

/// Narrow and tall: one document column, reply and scores one below the other.
fn stacked(state: &InstanceState, layout: &mut Layout, mut body: Rect) {
    let rows = question_height(state, body);
    let question = take_top(&mut body, rows);
    layout.panels.push((Panel::Question, question));
    layout.tabs = Some(take_top(&mut body, 1));
    let rows = body.height * 2 / 5;
    let documents = take_top(&mut body, rows);
    layout.panels.push((document_panel(state), documents));
    let rows = body.height / 2;
    let reply = take_top(&mut body, rows);
    layout.panels.push((Panel::Reply, reply));
    layout.panels.push((Panel::Scores, body));
}

/// Small: one page at a time, chosen by the focus; the question stays in sight where there is room.
fn paged(state: &InstanceState, layout: &mut Layout, mut body: Rect) {
    layout.tabs = Some(take_top(&mut body, 1));
    if state.focus == Panel::Question {
        layout.panels.push((Panel::Question, body));
        return;
    }
    if body.height >= 14 {
        let rows = question_height(state, body).min(if body.height >= 22 { 7 } else { 5 });
        let question = take_top(&mut body, rows);
        layout.panels.push((Panel::Question, question));
    }
    match state.focus {
        Panel::Reply | Panel::Scores if body.width >= WIDE => {
            let half = body.width / 2;
            layout.panels.push((
                Panel::Reply,
                Rect {
                    width: half,
                    ..body
                },
            ));
            layout.panels.push((
                Panel::Scores,
                Rect {
                    x: body.x + half,
                    width: body.width - half,
                    ..body
                },
            ));
        }
        Panel::Reply | Panel::Scores => layout.panels.push((state.focus, body)),
        _ if body.width >= WIDE => columns(state, layout, body),
        _ => layout.panels.push((document_panel(state), body)),
    }
}

/// The document column to show where there is room for one.
fn document_panel(state: &InstanceState) -> Panel {
    if state.focus.role().is_some() {
        return state.focus;
    }
    DOCUMENT_PANELS
        .into_iter()
        .find(|panel| panel.role().is_some_and(|role| state.count(role) > 0))
        .unwrap_or(Panel::Signal)
}

const DOCUMENT_PANELS: [Panel; 3] = [Panel::Signal, Panel::Noise, Panel::Adversarial];

/// Three columns; those without documents shrink to a hint.
fn columns(state: &InstanceState, layout: &mut Layout, area: Rect) {
    let counts = DOCUMENT_PANELS.map(|panel| panel.role().map_or(0, |role| state.count(role)));
    let filled = counts.iter().filter(|count| **count > 0).count();
    if filled == 0 {
        layout.panels.push((Panel::Signal, area));
        return;
    }
    let hints = u16::try_from(3 - filled).unwrap_or(0) * HINT;
    let share = area.width.saturating_sub(hints) / u16::try_from(filled).unwrap_or(1);
    let mut x = area.x;
    let last_filled = counts.iter().rposition(|count| *count > 0);
    for (index, panel) in DOCUMENT_PANELS.into_iter().enumerate() {
        let width = if counts[index] == 0 {
            HINT
        } else if Some(index) == last_filled {
            let hints_after = u16::try_from(2 - index).unwrap_or(0) * HINT;
            area.right().saturating_sub(x + hints_after)
        } else {
            share
        };
        layout.panels.push((panel, Rect { x, width, ..area }));
        x += width;
    }
}

fn question_height(state: &InstanceState, body: Rect) -> u16 {
    let width = usize::from(body.width.saturating_sub(FRAME_COLUMNS));
    let lines = crate::tui::widgets::text::wrap(state.text.text(), width)
        .lines
        .len();
    let options = option_rows(state, width).len();
    let needed = u16::try_from(lines + options + 2).unwrap_or(u16::MAX);
    needed.clamp(4, (body.height * 3 / 10).max(4))
}

/// Options packed into rows: several short ones share a row.
fn option_rows(state: &InstanceState, width: usize) -> Vec<Vec<usize>> {
    use unicode_width::UnicodeWidthStr;
    let mut rows: Vec<Vec<usize>> = Vec::new();
    let mut used = 0;
    for (index, option) in state.question.options.iter().enumerate() {
        let columns = option.text.width() + 14;
        match rows.last_mut() {
            Some(row) if used + columns <= width => row.push(index),
            _ => {
                rows.push(vec![index]);
                used = 0;
            }
        }
        used += columns;
    }
    rows
}

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

/// Rows at which the documents of a column begin.
pub fn anchors(app: &App, panel: Panel) -> Vec<usize> {
    let Some(state) = &app.instance else {
        return Vec::new();
    };
    let Some(area) = layout(app, state).area(panel) else {
        return Vec::new();
    };
    content(app, state, panel, inside(area).width)
        .anchors()
        .to_vec()
}

/// Where a panel stands: the reply follows its end while it streams.
pub fn scroll_of(app: &App, panel: Panel, rows: usize, height: usize) -> usize {
    let most = rows.saturating_sub(height);
    let Some(state) = &app.instance else {
        return 0;
    };
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
        header(app, state, layout.header, buffer);
    }
    if let Some(area) = layout.tabs {
        tabs(app, state, area, buffer);
    }
    for (at, area) in &layout.panels {
        let inner = inside(*area);
        let flow = content(app, state, *at, inner.width);
        let focused = *at == state.focus;
        let height = usize::from(inner.height);
        let (mut left, mut right) = titles(app, state, *at, area.width);
        let mut scroll = scroll_of(app, *at, flow.rows(), height);
        // A long question asks in its last sentence.
        if *at == Panel::Question && !focused && scroll == 0 && flow.rows() > height {
            scroll = question_end(state, inner.width, height);
            (left, right) = cut_question_titles(app, state, area.width);
        }
        panel(app, *area, buffer, focused, left, right, &flow, scroll);
    }
    if let Some(area) = layout.others {
        let flow = scores::others(app, state, inside(area).width);
        let title = vec![span(&app.theme, "Other scenarios", Tone::Title)];
        panel(app, area, buffer, false, title, Vec::new(), &flow, 0);
    }
}

type Spans = Vec<Span<'static>>;

/// Where a question that does not fit is scrolled to: the end of its text, above the options.
fn question_end(state: &InstanceState, width: u16, height: usize) -> usize {
    let text = crate::tui::widgets::text::wrap(state.text.text(), usize::from(width));
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

fn titles(app: &App, state: &InstanceState, panel: Panel, width: u16) -> (Spans, Spans) {
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
        _ => documents::titles(app, state, panel),
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

fn header(app: &App, state: &InstanceState, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let condition = &state.condition;
    let total = app.data().map_or(0, |data| data.questions.len());
    let name = app
        .data()
        .map_or_else(String::new, |data| one_line(&data.name));
    let wide = area.width >= 160;
    let position = format!(" {}/{total} ", state.index + 1);
    let scenario = scenario_title(condition.scenario);
    let brand = span(theme, " MedRGB ", Tone::Title);
    let text = format!(" {}{position} ", cut(&name, 24));
    let named = span(theme, text, Tone::Text);
    let position = span(theme, position, Tone::Text);
    let asked = asked_for(app, state, scenario, true);
    let short = asked_for(app, state, scenario, false);
    let choices = [
        [vec![brand, named.clone()], asked.clone()].concat(),
        [vec![named], asked.clone()].concat(),
        [vec![position.clone()], asked].concat(),
        [vec![position.clone()], short].concat(),
    ];
    let mut left = first_fitting(choices, usize::from(area.width));
    let first = Rect { height: 1, ..area };
    if area.height == 1 && wide {
        left.extend(warnings(app, state, 0));
        left.push(Span::raw("   "));
        left.extend(draw_of(app, condition));
        let model = model(app, usize::from(area.width) / 3);
        return bar(app, first, buffer, left, model);
    }
    if area.height == 1 {
        // Little room: what must be known about the context comes before what was asked for.
        let short = |level| warnings(app, state, level);
        let shares = span(theme, format!("  {}", shares(state)), Tone::Text);
        let brief = [position, span(theme, scenario, Tone::Strong), shares];
        let choices = [
            [left, short(0)].concat(),
            [brief.to_vec(), short(0)].concat(),
            [brief.to_vec(), short(1)].concat(),
            [brief.to_vec(), short(2)].concat(),
        ];
        let line = first_fitting(choices, usize::from(area.width));
        return bar(app, first, buffer, line, Vec::new());
    }
    bar(app, first, buffer, left, Vec::new());
    let second = Rect {
        y: area.y + 1,
        ..first
    };
    let width = usize::from(area.width);
    let blank = || vec![Span::raw(" ")];
    let choices = [
        [blank(), draw_of(app, condition), warnings(app, state, 0)].concat(),
        [blank(), draw_of(app, condition), warnings(app, state, 1)].concat(),
        [blank(), warnings(app, state, 1)].concat(),
        [blank(), warnings(app, state, 2)].concat(),
    ];
    // The rest is for the model's name and the caution about it.
    let line = first_fitting(choices, width * 3 / 5);
    let used: usize = line.iter().map(Span::width).sum();
    let model = model(app, width.saturating_sub(used + 3));
    bar(app, second, buffer, line, model);
}

/// Scenario, n, p and, with `whole`, what the context holds.
fn asked_for(app: &App, state: &InstanceState, scenario: &'static str, whole: bool) -> Spans {
    let theme = &app.theme;
    let condition = &state.condition;
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

/// The share of signal, and what it came to where that is another one.
fn shares(state: &InstanceState) -> String {
    let asked = state.condition.p;
    let is = state.context().map(|context| format!("{:.0}", context.p));
    match is.filter(|is| *is != asked.to_string()) {
        Some(is) => format!("asked p {asked} %, is {is} %"),
        None => format!("p {asked} %"),
    }
}

/// The first choice that fits a width, else the last.
pub(super) fn first_fitting(choices: impl IntoIterator<Item = Spans>, width: usize) -> Spans {
    let mut last = Vec::new();
    for choice in choices {
        last = choice;
        if last.iter().map(Span::width).sum::<usize>() <= width {
            break;
        }
    }
    last
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
    if source != crate::domain::context::SourceFilter::Any {
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
        ModelState::Ready(identity) => (identity.name.clone(), caution(identity), Tone::Warning),
        ModelState::Failed(_) => (
            app.settings.model.clone(),
            Some("not available".into()),
            Tone::Bad,
        ),
    };
    let name = cut(&one_line(&name), width);
    let room = width.saturating_sub(name.chars().count() + 4);
    let mut spans = vec![span(theme, name, Tone::Strong)];
    if let Some(note) = note
        && room > 6
    {
        spans.push(span(
            theme,
            format!(" ({})", cut(&one_line(&note), room)),
            tone,
        ));
    }
    spans.push(Span::raw(" "));
    spans
}

/// The pages of a small screen, the shown one marked.
fn tabs(app: &App, state: &InstanceState, area: Rect, buffer: &mut Buffer) {
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
    let line = crate::tui::widgets::line::both_ends(spans, right, usize::from(area.width));
    put(buffer, area.x, area.y, &line, area.width);
}
