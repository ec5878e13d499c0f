//! Where the panels of the instance screen stand.

use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

use crate::data::talk::Show;
use crate::tui::app::App;
use crate::tui::app::instance::{InstanceState, Panel};
use crate::tui::view::chrome::{FRAME_COLUMNS, inside};
use crate::tui::view::{documents, talk};
use crate::tui::widgets::text::wrap;

/// From this width on, columns stand side by side.
const WIDE: u16 = 100;

/// From this height on (and [`WIDE`]), everything is on screen at once.
const TALL: u16 = 34;

/// From this height on a narrow screen stacks documents, reply and scores.
const TALL_AND_NARROW: u16 = 44;

/// Below this height of the columns there is no line for those without documents.
const ROOM_FOR_ABSENT: u16 = 6;

/// Where everything stands.
pub(super) struct Layout {
    pub(super) header: Rect,
    pub(super) tabs: Option<Rect>,
    pub(super) panels: Vec<(Panel, Rect)>,
    pub(super) others: Option<Rect>,
    /// The line that names the columns without documents.
    pub(super) absent: Option<Rect>,
    /// Whether such a line is wanted: it names keys, which do nothing in a talk.
    pub(super) hints: bool,
}

impl Layout {
    fn new(header: Rect, hints: bool) -> Layout {
        Layout {
            header,
            tabs: None,
            panels: Vec::new(),
            others: None,
            absent: None,
            hints,
        }
    }

    /// Where a panel stands; `None` where it is not on screen.
    pub(super) fn area(&self, panel: Panel) -> Option<Rect> {
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

/// Where everything stands on a screen of this size.
pub(super) fn layout(app: &App, state: &InstanceState) -> Layout {
    let (width, height) = app.size;
    let mut body = Rect::new(0, 0, width, height.saturating_sub(1));
    let header = take_top(&mut body, if width >= 160 || height < 16 { 1 } else { 2 });
    let show = talk::showing(app);
    let mut layout = Layout::new(header, show.is_none());
    if let Some(show) = show {
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
    let mut trial = Layout::new(body, talk::showing(app).is_none());
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
        .saturating_add(u16::from(trial.absent.is_some()))
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

/// The columns of documents, from left to right.
pub const DOCUMENT_PANELS: [Panel; 3] = [Panel::Signal, Panel::Noise, Panel::Adversarial];

/// A column for every role that has documents; the others share a line below them.
fn columns(state: &InstanceState, layout: &mut Layout, mut area: Rect) {
    let has = |panel: &Panel| panel.role().is_some_and(|role| state.count(role) > 0);
    let filled: Vec<Panel> = DOCUMENT_PANELS.into_iter().filter(has).collect();
    if filled.is_empty() {
        layout.panels.push((Panel::Signal, area));
        return;
    }
    if filled.len() < DOCUMENT_PANELS.len() && layout.hints && area.height >= ROOM_FOR_ABSENT {
        area.height -= 1;
        layout.absent = Some(Rect {
            y: area.bottom(),
            height: 1,
            ..area
        });
    }
    let mut left = u16::try_from(filled.len()).unwrap_or(1);
    for panel in filled {
        let width = area.width / left;
        layout.panels.push((panel, Rect { width, ..area }));
        area.x += width;
        area.width -= width;
        left -= 1;
    }
}

fn question_height(state: &InstanceState, body: Rect) -> u16 {
    let width = usize::from(body.width.saturating_sub(FRAME_COLUMNS));
    let lines = wrap(state.text.text(), width).lines.len();
    let options = option_rows(state, width).len();
    let needed = u16::try_from(lines + options + 2).unwrap_or(u16::MAX);
    needed.clamp(4, (body.height * 3 / 10).max(4))
}

/// Options packed into rows: several short ones share a row.
pub(super) fn option_rows(state: &InstanceState, width: usize) -> Vec<Vec<usize>> {
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
