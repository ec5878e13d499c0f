//! Both replies of a pair under their question.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::App;
use crate::tui::app::compare::words;
use crate::tui::app::loaded::Loaded;
use crate::tui::command::Command;
use crate::tui::theme::Tone;
use crate::tui::view::browse::verdict_tone;
use crate::tui::view::chrome::{inside, panel, span};
use crate::tui::view::reply;
use crate::tui::view::sweep::body;
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::one_line;

/// From this width on both replies stand side by side.
const PAIR_WIDE: u16 = 76;

/// The question above, both replies below.
fn pair_areas(area: Rect) -> (Rect, [Rect; 2]) {
    let head = Rect {
        height: area.height.min(if area.height > 30 { 5 } else { 4 }),
        ..area
    };
    let rest = Rect {
        y: area.y + head.height,
        height: area.height - head.height,
        ..area
    };
    if rest.width < PAIR_WIDE {
        return (head, [rest, rest]);
    }
    let width = rest.width / 2;
    let right = Rect {
        x: rest.x + width,
        width: rest.width - width,
        ..rest
    };
    (head, [Rect { width, ..rest }, right])
}

/// Rows of a reply of the pair, and rows seen at once.
pub fn reply_extent(app: &App, side: usize) -> (usize, usize) {
    let (_, areas) = pair_areas(body(app));
    let inner = inside(areas[side.min(1)]);
    let rows = match &app.compare.pair {
        Loaded::Ready(pair) => {
            let shown = if side == 0 { &pair.0 } else { &pair.1 };
            reply::finished(app, shown, app.compare.raw, inner.width).rows()
        }
        _ => 0,
    };
    (rows, usize::from(inner.height))
}

pub(super) fn pair(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let (head, areas) = pair_areas(area);
    let Some(pair) = app.compare.pair.ready() else {
        let mut flow = Flow::new(inside(area).width);
        match &app.compare.pair {
            Loaded::Failed(why) => {
                flow.say(&app.wraps, &one_line(why), Tone::Bad);
                let back = app.keymap.key(Command::Back);
                let text = format!("{back} goes back to the list.");
                flow.say(&app.wraps, &text, Tone::Faint);
            }
            _ => flow.say(&app.wraps, "reading both replies …", Tone::Faint),
        }
        let left = vec![span(theme, "Pair", Tone::Title)];
        return panel(app, area, buffer, true, left, Vec::new(), &flow, 0);
    };
    let question = &pair.0.question;
    let mut flow = Flow::new(inside(head).width);
    flow.say(&app.wraps, &one_line(&question.text), Tone::Strong);
    let options: Vec<String> = question
        .options
        .iter()
        .map(|option| {
            let gold = if option.letter == question.answer {
                " (gold)"
            } else {
                ""
            };
            format!("{} {}{gold}", option.letter, one_line(&option.text))
        })
        .collect();
    flow.say(&app.wraps, &options.join("   "), Tone::Text);
    let condition = app.compare.chosen().map(|pair| words(&pair.condition));
    let left = vec![
        span(theme, one_line(&question.id), Tone::Title),
        span(
            theme,
            format!("  {}", condition.unwrap_or_default()),
            Tone::Strong,
        ),
    ];
    panel(app, head, buffer, false, left, Vec::new(), &flow, 0);
    let narrow = areas[0] == areas[1];
    for (side, shown) in [(0, &pair.0), (1, &pair.1)] {
        let focused = app.compare.focus == side;
        if narrow && !focused {
            continue;
        }
        let letter = if side == 0 { "A" } else { "B" };
        let flow = reply::finished(app, shown, app.compare.raw, inside(areas[side]).width);
        let left = vec![
            span(theme, format!("{letter}  "), Tone::Key),
            span(theme, one_line(&shown.model), Tone::Title),
        ];
        let right = match shown.verdict() {
            Some(verdict) => {
                let (mark, word) = verdict.words();
                vec![span(theme, format!("{mark} {word}"), verdict_tone(verdict))]
            }
            None => Vec::new(),
        };
        let scroll = app.compare.pair_scroll[side];
        panel(
            app,
            areas[side],
            buffer,
            focused,
            left,
            right,
            &flow,
            scroll,
        );
    }
}
