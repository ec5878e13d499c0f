//! A scrolled column of lines and wrapped texts; only what is visible is drawn.

use std::rc::Rc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::tui::theme::{Theme, Tone};
use crate::tui::widgets::seek::{Marks, Sought};
use crate::tui::widgets::text::{Rich, WrapCache, Wrapped, wrap};

/// One part of a flow.
#[derive(Debug, Clone)]
enum Item {
    Line(Line<'static>),
    Text {
        rich: Rc<Rich>,
        wrapped: Rc<Wrapped>,
        indent: u16,
        /// Stands left of the first row, in the indent.
        head: Line<'static>,
        marks: Marks,
    },
}

/// Lines and texts one below the other, built for one width.
#[derive(Debug, Clone)]
pub struct Flow {
    width: u16,
    items: Vec<Item>,
    rows: usize,
    anchors: Vec<usize>,
    changes: Vec<usize>,
    sought: Option<Sought>,
    found: usize,
}

impl Flow {
    /// An empty flow for this width.
    pub fn new(width: u16) -> Flow {
        Flow {
            width,
            items: Vec::new(),
            rows: 0,
            anchors: Vec::new(),
            changes: Vec::new(),
            sought: None,
            found: 0,
        }
    }

    /// Marks what is looked for in all texts that are added from now on.
    pub fn seek(&mut self, sought: Option<Sought>) {
        self.sought = sought;
    }

    /// Columns there are.
    pub fn width(&self) -> usize {
        usize::from(self.width)
    }

    /// Rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Rows at which the marked parts (documents) begin.
    pub fn anchors(&self) -> &[usize] {
        &self.anchors
    }

    /// Rows at which changed words begin, each once.
    pub fn changes(&self) -> &[usize] {
        &self.changes
    }

    /// How many places have what is looked for.
    pub fn found(&self) -> usize {
        self.found
    }

    /// The row of each of these places: for keys, not for frames.
    pub fn match_rows(&self) -> Vec<usize> {
        let mut rows = Vec::with_capacity(self.found);
        let mut top = 0;
        for item in &self.items {
            let Item::Text { wrapped, marks, .. } = item else {
                top += 1;
                continue;
            };
            rows.extend(marks.places.iter().map(|place| {
                let lines = &wrapped.lines;
                let begun = lines.partition_point(|line| line.start <= place.start);
                top + begun.saturating_sub(1)
            }));
            top += wrapped.lines.len();
        }
        rows
    }

    /// Marks the next row as the start of a part.
    pub fn anchor(&mut self) {
        self.anchors.push(self.rows);
    }

    /// Adds a line, drawn as it is; one that is wider than the flow is wrapped, so that nothing of it is lost.
    pub fn line(&mut self, line: impl Into<Line<'static>>) {
        let line = line.into();
        if self.width == 0 || line.width() <= self.width() {
            self.items.push(Item::Line(line));
            self.rows += 1;
            return;
        }
        for line in broken(&line, self.width()) {
            self.items.push(Item::Line(line));
            self.rows += 1;
        }
    }

    /// Adds groups of pieces, two columns apart, behind a head of `indent` columns: a group that does not fit
    /// behind the others begins a row of its own, and only one that is wider than a row is broken.
    pub fn groups(
        &mut self,
        cache: &WrapCache,
        head: Line<'static>,
        indent: u16,
        groups: &[Vec<(String, Tone)>],
    ) {
        let room = self.width().saturating_sub(usize::from(indent));
        let mut pieces: Vec<(&str, Tone)> = Vec::new();
        let mut used = 0;
        for group in groups {
            let columns: usize = group.iter().map(|(text, _)| text.width()).sum();
            if used > 0 && used + 2 + columns <= room {
                pieces.push(("  ", Tone::Text));
                used += 2 + columns;
            } else {
                if used > 0 {
                    pieces.push(("\n", Tone::Text));
                }
                used = columns;
            }
            pieces.extend(group.iter().map(|(text, tone)| (text.as_str(), *tone)));
        }
        self.beside(cache, head, indent, Rc::new(Rich::build(pieces)));
    }

    /// Adds an empty line.
    pub fn gap(&mut self) {
        self.line(Line::default());
    }

    /// Adds a wrapped text.
    pub fn text(&mut self, cache: &WrapCache, rich: Rc<Rich>, indent: u16) {
        self.beside(cache, Line::default(), indent, rich);
    }

    /// Adds a wrapped text and marks the rows at which its changed words begin.
    pub fn changed_text(&mut self, cache: &WrapCache, rich: Rc<Rich>) {
        let wrapped = cache.wrap(&rich, self.width());
        for start in rich.changes() {
            let line = wrapped.lines.partition_point(|line| line.start <= start);
            let row = self.rows + line.saturating_sub(1);
            if self.changes.last() != Some(&row) {
                self.changes.push(row);
            }
        }
        self.push(cache, rich, wrapped, 0, Line::default());
    }

    /// Adds a wrapped text that still grows.
    pub fn live(&mut self, cache: &WrapCache, slot: &'static str, rich: Rc<Rich>, indent: u16) {
        let width = usize::from(self.width.saturating_sub(indent));
        let wrapped = cache.wrap_live(slot, &rich, width);
        self.push(cache, rich, wrapped, indent, Line::default());
    }

    /// Adds a wrapped text with a head at its left: `head` takes the first `indent` columns.
    pub fn beside(&mut self, cache: &WrapCache, head: Line<'static>, indent: u16, rich: Rc<Rich>) {
        let width = usize::from(self.width.saturating_sub(indent));
        let wrapped = cache.wrap(&rich, width);
        self.push(cache, rich, wrapped, indent, head);
    }

    /// Adds a short text in one tone, wrapped.
    pub fn say(&mut self, cache: &WrapCache, text: &str, tone: Tone) {
        self.text(cache, Rc::new(Rich::plain(text, tone)), 0);
    }

    fn push(
        &mut self,
        cache: &WrapCache,
        rich: Rc<Rich>,
        wrapped: Rc<Wrapped>,
        indent: u16,
        head: Line<'static>,
    ) {
        let marks = self.marks(cache, &rich);
        self.rows += wrapped.lines.len();
        self.items.push(Item::Text {
            rich,
            wrapped,
            indent,
            head,
            marks,
        });
    }

    /// What is to be marked in a text that is added.
    fn marks(&mut self, cache: &WrapCache, rich: &Rich) -> Marks {
        let Some(sought) = &self.sought else {
            return Marks::default();
        };
        let places = cache.places(rich, &sought.needle);
        let current = sought.current.and_then(|nth| nth.checked_sub(self.found));
        self.found += places.len();
        Marks { places, current }
    }

    /// Draws the rows from `scroll` on.
    pub fn draw(&self, area: Rect, buffer: &mut Buffer, scroll: usize, theme: &Theme) {
        let area = area.intersection(buffer.area);
        let mut skip = scroll;
        let mut y = area.top();
        for item in &self.items {
            if y >= area.bottom() {
                return;
            }
            match item {
                Item::Line(_) if skip > 0 => skip -= 1,
                Item::Line(line) => {
                    buffer.set_line(area.left(), y, line, area.width);
                    y += 1;
                }
                Item::Text { wrapped, .. } if skip >= wrapped.lines.len() => {
                    skip -= wrapped.lines.len();
                }
                Item::Text {
                    rich,
                    wrapped,
                    indent,
                    head,
                    marks,
                } => {
                    let indent = (*indent).min(area.width);
                    if skip == 0 {
                        buffer.set_line(area.left(), y, head, indent);
                    }
                    for range in &wrapped.lines[skip..] {
                        if y >= area.bottom() {
                            return;
                        }
                        let spans = marks.row(rich, range.clone(), theme);
                        buffer.set_line(
                            area.left() + indent,
                            y,
                            &Line::from(spans),
                            area.width - indent,
                        );
                        y += 1;
                    }
                    skip = 0;
                }
            }
        }
    }
}

/// A line in several, each at most `width` columns wide, with the styles of its spans.
fn broken(line: &Line<'static>, width: usize) -> Vec<Line<'static>> {
    let whole: String = line
        .spans
        .iter()
        .map(|span| span.content.as_ref())
        .collect();
    let rows = wrap(whole.trim_end(), width).lines.into_iter();
    rows.map(|row| {
        let mut start = 0;
        let mut spans = Vec::new();
        for span in &line.spans {
            let end = start + span.content.len();
            let (from, to) = (row.start.max(start), row.end.min(end));
            if from < to {
                let piece = span.content[from - start..to - start].to_owned();
                spans.push(Span::styled(piece, span.style));
            }
            start = end;
        }
        Line::from(spans).style(line.style)
    })
    .collect()
}

/// A thin bar at the right border that shows where in a long flow one is.
pub fn scroll_bar(area: Rect, buffer: &mut Buffer, scroll: usize, rows: usize, style: Style) {
    let height = usize::from(area.height);
    if rows <= height || height == 0 || area.width == 0 {
        return;
    }
    let thumb = (height * height / rows).max(1);
    let most = rows - height;
    let top = (height - thumb) * scroll.min(most) / most;
    for row in top..(top + thumb).min(height) {
        let y = area.top() + u16::try_from(row).unwrap_or(0);
        if let Some(cell) = buffer.cell_mut((area.right() - 1, y)) {
            cell.set_symbol("┃").set_style(style);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::tui::theme::ColorDepth;

    fn shown(flow: &Flow, height: u16, scroll: usize) -> Vec<String> {
        let area = Rect::new(0, 0, flow.width, height);
        let mut buffer = Buffer::empty(area);
        flow.draw(
            area,
            &mut buffer,
            scroll,
            &Theme::built_in("mono", ColorDepth::None),
        );
        (0..height)
            .map(|y| {
                (0..flow.width)
                    .map(|x| buffer[(x, y)].symbol().to_owned())
                    .collect::<String>()
                    .trim_end()
                    .to_owned()
            })
            .collect()
    }

    #[test]
    fn scrolling_skips_rows_of_lines_and_texts_alike() {
        let cache = WrapCache::default();
        let mut flow = Flow::new(8);
        flow.line("head");
        flow.say(&cache, "one two three four", Tone::Text);
        flow.line("tail");
        assert_eq!(flow.rows(), 5);
        assert_eq!(shown(&flow, 2, 0), ["head", "one two"]);
        assert_eq!(shown(&flow, 3, 2), ["three", "four", "tail"]);
        assert_eq!(shown(&flow, 2, 9), ["", ""]);
    }

    #[test]
    fn rows_of_changes_are_known() {
        let cache = WrapCache::default();
        let rich = Rich::build([
            ("one two ", Tone::Text),
            ("three", Tone::Deleted),
            (" ", Tone::Text),
            ("four", Tone::Inserted),
            (" five ", Tone::Text),
            ("six", Tone::Inserted),
        ]);
        let mut flow = Flow::new(8);
        flow.line("head");
        flow.changed_text(&cache, Rc::new(rich));
        assert_eq!(
            shown(&flow, 5, 1),
            ["one two", "three", "four", "five six", ""]
        );
        assert_eq!(flow.changes(), [2, 4]);
    }

    #[test]
    fn a_line_loses_nothing_at_any_width() {
        let line = Line::from(vec![
            Span::raw("● DOC_12 "),
            Span::raw("said signal 中文 "),
            Span::raw("✓ "),
        ]);
        for width in 2..=40 {
            let mut flow = Flow::new(width);
            flow.line(line.clone());
            let rows = shown(&flow, u16::try_from(flow.rows()).unwrap(), 0);
            assert!(rows.iter().all(|row| !row.is_empty()), "{width}: {rows:?}");
            // A wide character fills two cells, the second of them blank.
            let letters: String = rows.concat().split_whitespace().collect();
            assert_eq!(letters, "●DOC_12saidsignal中文✓", "at {width}");
        }
    }

    #[test]
    fn groups_stay_whole_where_they_fit() {
        let cache = WrapCache::default();
        let group = |text: &str| vec![(text.to_owned(), Tone::Text)];
        let groups = [group("● signal"), group("said noise ✗")];
        let at = |width: u16| {
            let mut flow = Flow::new(width);
            flow.groups(&cache, Line::from("DOC_1"), 6, &groups);
            shown(&flow, u16::try_from(flow.rows()).unwrap(), 0)
        };
        assert_eq!(at(28), ["DOC_1 ● signal  said noise ✗"]);
        assert_eq!(at(27), ["DOC_1 ● signal", "      said noise ✗"]);
        assert_eq!(at(14), ["DOC_1 ● signal", "      said", "      noise ✗"]);
    }
}
