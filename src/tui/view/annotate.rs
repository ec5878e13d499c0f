//! One reply that is being labelled: what the model saw and said, beside the labels.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::annotation::Part;
use crate::tui::app::App;
use crate::tui::app::annotate::Queue;
use crate::tui::app::reply::Verdict;
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::browse::verdict_tone;
use crate::tui::view::chrome::{bar, inside, panel, span};
use crate::tui::widgets::line::one_line;

mod content;
mod labels;

use content::content;
use labels::labels_panel;

/// From this width on the labels stand beside what is read, else below it.
const BESIDE: u16 = 70;

/// From this width of the rest on, documents and reply stand side by side.
const TWO: u16 = 110;

struct Areas {
    bar: Rect,
    /// What is read; with two panels the reply has one of its own.
    panels: Vec<Rect>,
    labels: Rect,
}

fn areas(app: &App) -> Areas {
    let (width, height) = app.size;
    let bar = Rect::new(0, 0, width, 1.min(height));
    let body = Rect::new(0, 1, width, height.saturating_sub(2));
    if width < BESIDE {
        let wanted = u16::try_from(app.annotate.taxonomy.labels.len()).unwrap_or(u16::MAX);
        let rows = wanted.saturating_add(5).min(body.height * 3 / 5);
        let labels = Rect {
            y: body.y + body.height.saturating_sub(rows),
            height: rows,
            ..body
        };
        let rest = Rect {
            height: body.height - rows,
            ..body
        };
        return Areas {
            bar,
            panels: vec![rest],
            labels,
        };
    }
    let columns = (width / 4).clamp(36, 58);
    let labels = Rect {
        x: width - columns,
        width: columns,
        ..body
    };
    let rest = Rect {
        width: width - columns,
        ..body
    };
    let panels = match rest.width >= TWO {
        true => {
            let half = rest.width / 2;
            let right = Rect {
                x: half,
                width: rest.width - half,
                ..rest
            };
            vec![
                Rect {
                    width: half,
                    ..rest
                },
                right,
            ]
        }
        false => vec![rest],
    };
    Areas {
        bar,
        panels,
        labels,
    }
}

/// The panel that the keys scroll.
pub fn focused(app: &App) -> usize {
    app.annotate.focus.min(areas(app).panels.len() - 1)
}

/// Rows of a panel's content, and rows seen at once.
pub fn extent(app: &App, at: usize) -> (usize, usize) {
    let areas = areas(app);
    match areas.panels.get(at) {
        Some(area) => {
            let inner = inside(*area);
            let flow = content(app, at, areas.panels.len(), inner.width);
            (flow.rows(), usize::from(inner.height))
        }
        None => (0, 0),
    }
}

/// Rows at which the parts of a panel begin.
pub fn anchors(app: &App, at: usize) -> Vec<usize> {
    let areas = areas(app);
    areas.panels.get(at).map_or_else(Vec::new, |area| {
        let flow = content(app, at, areas.panels.len(), inside(*area).width);
        flow.anchors().to_vec()
    })
}

pub(super) fn draw(app: &App, _: Rect, buffer: &mut Buffer) {
    let areas = areas(app);
    let theme = &app.theme;
    title(app, areas.bar, buffer);
    let count = areas.panels.len();
    for (at, area) in areas.panels.iter().enumerate() {
        let flow = content(app, at, count, inside(*area).width);
        let name = match (count, at) {
            (1, _) => "Question and reply",
            (_, 0) => "Question and documents",
            _ => "Reply",
        };
        let mut left = vec![span(theme, name, Tone::Title)];
        if app.annotate.raw && (count == 1 || at == 1) {
            left.push(span(theme, "  raw", Tone::Warning));
        }
        let focused = count > 1 && focused(app) == at;
        let next = app.keymap.key(Command::NextDocument);
        let right = match flow.anchors().len() {
            0 | 1 => Vec::new(),
            _ => vec![span(theme, format!("{next} next part"), Tone::Faint)],
        };
        panel(
            app,
            *area,
            buffer,
            focused,
            left,
            right,
            &flow,
            app.annotate.scroll[at],
        );
    }
    labels_panel(app, areas.labels, buffer);
}

fn title(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let annotate = &app.annotate;
    let Some(queue) = &annotate.queue else {
        let left = vec![span(theme, " Annotate", Tone::Title)];
        return bar(app, area, buffer, left, Vec::new());
    };
    let (done, all) = queue.progress();
    let what = match queue.part {
        Part::Annotator => " Annotate  ",
        Part::Adjudicator => " Decide between annotators  ",
    };
    let mut left = vec![
        span(theme, what, Tone::Title),
        span(theme, format!("run {}", one_line(&queue.run)), Tone::Strong),
        span(
            theme,
            format!("  reply {} of {all}", queue.selected + 1),
            Tone::Text,
        ),
        span(theme, format!("  {done} done"), Tone::Faint),
    ];
    if annotate.blind && queue.part == Part::Annotator {
        left.push(span(theme, "  BLIND", Tone::Warning));
    }
    if queue.read_only.is_some() {
        left.push(span(theme, "  READ-ONLY", Tone::Warning));
    }
    let right = vec![span(
        theme,
        format!("as {} ", annotate.annotator),
        Tone::Faint,
    )];
    bar(app, area, buffer, left, right);
}

/// Whether documents and reply stand side by side.
pub fn has_two_panels(app: &App) -> bool {
    areas(app).panels.len() > 1
}

/// The outcome of a reply in brief, or that it is hidden.
pub(super) fn outcome(queue: &Queue, at: usize, blind: bool) -> (String, Tone) {
    match queue.items.get(at) {
        Some(item) if !queue.hides(at, blind) => {
            let verdict = Verdict::of_brief(&item.brief);
            let (mark, word) = verdict.words();
            (format!("{mark} {word}"), verdict_tone(verdict))
        }
        _ => ("hidden".to_owned(), Tone::Faint),
    }
}
