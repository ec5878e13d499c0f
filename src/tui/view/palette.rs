//! The command palette.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::tui::app::{App, Overlay};
use crate::tui::command::{COMMANDS, Command, info};
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{frame, inside, put, span};
use crate::tui::widgets::line::{cut, fit};

/// Commands of the screen that match what was typed, best first.
pub fn matches(app: &App) -> Vec<Command> {
    let Some(Overlay::Palette { input, .. }) = &app.overlay else {
        return Vec::new();
    };
    let mut matcher = Matcher::new(Config::DEFAULT);
    let pattern = Pattern::parse(input.text(), CaseMatching::Ignore, Normalization::Smart);
    let mut buffer = Vec::new();
    let mut found: Vec<(u32, usize)> = COMMANDS
        .iter()
        .enumerate()
        .filter(|(_, row)| row.screens.contains(&app.screen) && row.command != Command::Palette)
        .filter_map(|(index, row)| {
            let name = pattern.score(Utf32Str::new(row.name, &mut buffer), &mut matcher);
            let help = pattern.score(Utf32Str::new(row.help, &mut buffer), &mut matcher);
            // A hit in the name weighs more than one in the help line.
            let score = name.map(|score| score * 2).max(help)?;
            Some((score, index))
        })
        .collect();
    found.sort_by_key(|&(score, index)| (std::cmp::Reverse(score), index));
    found
        .into_iter()
        .map(|(_, index)| COMMANDS[index].command)
        .collect()
}

pub(super) fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    let Some(Overlay::Palette { input, selected }) = &app.overlay else {
        return;
    };
    let theme = &app.theme;
    let (before, after) = input.halves();
    let title = vec![
        span(theme, format!(":{before}"), Tone::Key),
        span(theme, "▏", Tone::Key),
        span(theme, after.to_owned(), Tone::Key),
    ];
    frame(app, area, buffer, true, title, Vec::new());
    let inner = inside(area);
    let found = matches(app);
    if found.is_empty() {
        let line = Line::from(span(theme, "no command matches", Tone::Warning));
        put(buffer, inner.x, inner.y, &line, inner.width);
    }
    let visible = usize::from(inner.height).max(1);
    let top = (selected + 1).saturating_sub(visible);
    let rows = found.iter().enumerate().skip(top);
    for (y, (index, command)) in (inner.top()..inner.bottom()).zip(rows) {
        let Some(row) = info(*command) else {
            continue;
        };
        let room = usize::from(inner.width).saturating_sub(19 + 10);
        let line = Line::from(vec![
            span(theme, fit(row.name, 19), Tone::Strong),
            span(theme, fit(&app.keymap.key(*command), 10), Tone::Key),
            span(theme, cut(row.help, room), Tone::Faint),
        ]);
        put(buffer, inner.x, y, &line, inner.width);
        if index == *selected {
            let whole = Rect::new(inner.x, y, inner.width, 1);
            buffer.set_style(whole, theme.style(Tone::Selection));
        }
    }
}
