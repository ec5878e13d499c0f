//! Curves over a horizontal axis from 0 to 1, rates from 0 up to 1 or less: lines with bands where points are joined,
//! whiskers where they are not. Series differ by their marks, so that colours are not needed.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Context, Line as Stroke, Points};
use unicode_width::UnicodeWidthStr;

use crate::tui::theme::{Theme, Tone};

/// Columns of the labels at the left.
const LEFT: u16 = 4;

/// Horizontal length of a dash and of the gap behind it, as a share of the width.
const DASH: f64 = 0.035;

/// A point of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Where on the horizontal axis, 0 to 1.
    pub x: f64,
    /// The rate, 0 to 1.
    pub y: f64,
    /// Low and high end of its interval.
    pub ends: Option<(f64, f64)>,
}

/// Points of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its points, from left to right.
    pub points: Vec<Point>,
    /// One column wide.
    pub mark: &'static str,
    /// How it looks.
    pub tone: Tone,
    /// Whether its line has gaps.
    pub dashed: bool,
    /// Whether intervals along its line are an area rather than single whiskers.
    pub band: bool,
}

/// A chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The series; later ones lie over earlier ones.
    pub series: Vec<Series>,
    /// Labels below the horizontal axis with their places.
    pub ticks: Vec<(f64, String)>,
    /// Whether the points of a series are joined.
    pub joined: bool,
    /// The upper end of the vertical axis, which begins at 0: above 0, at most 1.
    pub top: f64,
}

/// The lowest upper end of an axis, in steps that divide by four into whole per cents, with all rates below it.
pub fn top_above(rates: impl Iterator<Item = f64>) -> f64 {
    let highest = rates.filter(|rate| rate.is_finite()).fold(0.0, f64::max);
    [0.2, 0.4, 0.6, 0.8]
        .into_iter()
        .find(|top| highest < top * 0.98)
        .unwrap_or(1.0)
}

impl Chart {
    /// The chart with its rates as shares of the axis.
    fn scaled(&self) -> Chart {
        let mut chart = self.clone();
        for point in chart
            .series
            .iter_mut()
            .flat_map(|series| &mut series.points)
        {
            point.y /= self.top;
            point.ends = point
                .ends
                .map(|(low, high)| (low / self.top, high / self.top));
        }
        chart
    }
}

/// Draws a chart; without `braille` lines are made of letters.
pub fn draw(chart: &Chart, area: Rect, buffer: &mut Buffer, theme: &Theme, braille: bool) {
    let area = area.intersection(buffer.area);
    if area.width < LEFT + 8 || area.height < 4 {
        return;
    }
    let plot = Rect {
        x: area.x + LEFT,
        width: area.width - LEFT,
        height: area.height - 1,
        ..area
    };
    let chart = &chart.scaled();
    axes(chart, plot, buffer, theme);
    if braille {
        strokes(chart, plot, buffer, theme);
    } else {
        letters(chart, plot, buffer, theme);
    }
    for series in &chart.series {
        for point in &series.points {
            let (x, y) = cell(plot, point.x, point.y);
            let mark = Span::styled(series.mark, theme.style(series.tone));
            buffer.set_line(x, y, &Line::from(mark), 1);
        }
    }
}

/// The cell of a place.
fn cell(plot: Rect, x: f64, y: f64) -> (u16, u16) {
    let place = |share: f64, cells: u16| {
        let last = f64::from(cells.saturating_sub(1));
        (share.clamp(0.0, 1.0) * last).round() as u16
    };
    (
        plot.x + place(x, plot.width),
        plot.y + place(1.0 - y, plot.height),
    )
}

fn axes(chart: &Chart, plot: Rect, buffer: &mut Buffer, theme: &Theme) {
    let (faint, grid) = (theme.style(Tone::Faint), theme.style(Tone::Border));
    for quarter in [4u8, 3, 2, 1, 0] {
        let share = f64::from(quarter) / 4.0;
        let (_, y) = cell(plot, 0.0, share);
        let label = Span::styled(format!("{:>3.0}", share * chart.top * 100.0), faint);
        buffer.set_line(plot.x - LEFT, y, &Line::from(label), LEFT);
        let rule = if quarter == 0 { "─" } else { "·" };
        for x in (plot.left()..plot.right()).step_by(if quarter == 0 { 1 } else { 4 }) {
            buffer.set_line(x, y, &Line::from(Span::styled(rule, grid)), 1);
        }
    }
    let mut free = plot.x.saturating_sub(2);
    for (at, text) in &chart.ticks {
        let width = u16::try_from(text.width()).unwrap_or(u16::MAX);
        let (middle, _) = cell(plot, *at, 0.0);
        let most = plot.right().saturating_sub(width);
        let x = middle.saturating_sub(width / 2).min(most);
        if x >= free {
            let label = Span::styled(text.clone(), faint);
            buffer.set_line(x, plot.bottom(), &Line::from(label), width);
            free = x + width + 1;
        }
    }
}

/// Lines, bands and whiskers in dots of braille.
fn strokes(chart: &Chart, plot: Rect, buffer: &mut Buffer, theme: &Theme) {
    let colour = |tone: Tone| theme.style(tone).fg.unwrap_or_default();
    Canvas::default()
        .marker(Marker::Braille)
        .x_bounds([0.0, 1.0])
        .y_bounds([0.0, 1.0])
        .paint(|canvas| {
            for series in &chart.series {
                let faint = colour(Tone::Faint);
                if chart.joined && series.band && series.points.len() > 1 {
                    band(canvas, series, plot, faint);
                } else {
                    whiskers(canvas, series, faint);
                }
            }
            // Lines over all bands.
            canvas.layer();
            for series in chart.series.iter().filter(|_| chart.joined) {
                for pair in series.points.windows(2) {
                    line(canvas, pair, series.dashed, colour(series.tone));
                }
            }
        })
        .render(plot, buffer);
}

fn stroke(canvas: &mut Context<'_>, from: (f64, f64), to: (f64, f64), color: Color) {
    canvas.draw(&Stroke {
        x1: from.0,
        y1: from.1,
        x2: to.0,
        y2: to.1,
        color,
    });
}

fn line(canvas: &mut Context<'_>, pair: &[Point], dashed: bool, color: Color) {
    let [a, b] = pair else { return };
    let between = |share: f64| (a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share);
    if !dashed {
        return stroke(canvas, (a.x, a.y), (b.x, b.y), color);
    }
    let length = (b.x - a.x).abs().max(1e-9);
    let steps = (length / DASH).ceil().clamp(1.0, 200.0) as usize;
    for step in (0..steps).step_by(2) {
        let from = step as f64 / steps as f64;
        let to = (step as f64 + 1.0) / steps as f64;
        stroke(canvas, between(from), between(to), color);
    }
}

fn whiskers(canvas: &mut Context<'_>, series: &Series, color: Color) {
    for point in &series.points {
        if let Some((low, high)) = point.ends {
            stroke(canvas, (point.x, low), (point.x, high), color);
        }
    }
}

/// Dots between columns (and rows) of the pattern that fills a band.
const PATTERN: usize = 4;

/// A sparse pattern between the ends of the intervals, which are straight between points. It lies on the dots of the
/// terminal's cells, so that its gaps are all the same.
fn band(canvas: &mut Context<'_>, series: &Series, plot: Rect, color: Color) {
    let last_column = usize::from(plot.width) * 2 - 1;
    let last_row = usize::from(plot.height) * 4 - 1;
    // A little beyond the dot's own place, lest rounding puts it on the one before.
    let at = |dot: usize, last: usize| ((dot as f64 + 0.2) / last as f64).min(1.0);
    let mut dots = Vec::new();
    for column in (0..=last_column).step_by(PATTERN / 2) {
        let x = column as f64 / last_column as f64;
        let Some((low, high)) = ends_at(series, x) else {
            continue;
        };
        let row = |rate: f64| (rate.clamp(0.0, 1.0) * last_row as f64).round() as usize;
        let (low, high) = (row(low), row(high));
        let filled = (low..=high).filter(|row| column % PATTERN == 0 && row % PATTERN == 0);
        let rows = [low, high].into_iter().chain(filled);
        // Rows are counted from below, dots of the canvas from above.
        dots.extend(rows.map(|row| (at(column, last_column), 1.0 - at(last_row - row, last_row))));
    }
    canvas.draw(&Points {
        coords: &dots,
        color,
    });
}

/// The ends of the intervals at a place between two points; `None` outside of them.
fn ends_at(series: &Series, x: f64) -> Option<(f64, f64)> {
    let pair = series
        .points
        .windows(2)
        .find(|pair| pair[0].x <= x + 1e-9 && x <= pair[1].x + 1e-9)?;
    let (from, to) = (pair[0].ends?, pair[1].ends?);
    let span = pair[1].x - pair[0].x;
    let share = if span > 0.0 {
        (x - pair[0].x) / span
    } else {
        0.0
    };
    let between = |a: f64, b: f64| a + (b - a) * share;
    Some((between(from.0, to.0), between(from.1, to.1)))
}

/// Lines and whiskers of letters, for terminals without braille.
fn letters(chart: &Chart, plot: Rect, buffer: &mut Buffer, theme: &Theme) {
    for series in &chart.series {
        let style = theme.style(series.tone);
        let mut letter = |x: u16, y: u16, text: &'static str| {
            buffer.set_line(x, y, &Line::from(Span::styled(text, style)), 1);
        };
        for point in &series.points {
            if let Some((low, high)) = point.ends {
                let (x, bottom) = cell(plot, point.x, low);
                let (_, top) = cell(plot, point.x, high);
                (top..=bottom).for_each(|y| letter(x, y, "|"));
            }
        }
        for pair in series.points.windows(2).filter(|_| chart.joined) {
            let (from, _) = cell(plot, pair[0].x, 0.0);
            let (to, _) = cell(plot, pair[1].x, 0.0);
            let every = if series.dashed { 3 } else { 1 };
            for x in (from + 1..to).step_by(every) {
                let share = f64::from(x - from) / f64::from(to - from);
                let rate = pair[0].y + (pair[1].y - pair[0].y) * share;
                let (_, y) = cell(plot, 0.0, rate);
                letter(x, y, if series.dashed { "-" } else { "." });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::ColorDepth;

    fn drawn(chart: &Chart, braille: bool) -> String {
        let area = Rect::new(0, 0, 30, 10);
        let mut buffer = Buffer::empty(area);
        let theme = Theme::built_in("mono", ColorDepth::None);
        draw(chart, area, &mut buffer, &theme, braille);
        let row = |y: u16| {
            (0..30)
                .map(|x| buffer[(x, y)].symbol().to_owned())
                .collect()
        };
        let rows: Vec<String> = (0..10).map(row).collect();
        rows.join("\n")
    }

    fn rising(dashed: bool) -> Series {
        let point = |x: f64, y: f64| Point {
            x,
            y,
            ends: (!dashed).then_some((y - 0.1, y + 0.1)),
        };
        Series {
            points: vec![point(0.0, 0.1), point(0.5, 0.5), point(1.0, 0.9)],
            mark: if dashed { "p" } else { "o" },
            tone: Tone::Key,
            dashed,
            band: true,
        }
    }

    #[test]
    fn marks_stand_where_the_rates_are() {
        let chart = Chart {
            series: vec![rising(false)],
            ticks: vec![(0.0, "0".into()), (0.5, "50".into()), (1.0, "100".into())],
            joined: true,
            top: 1.0,
        };
        for braille in [true, false] {
            let text = drawn(&chart, braille);
            let rows: Vec<&str> = text.lines().collect();
            let of = |mark| -> Vec<usize> {
                let found = rows.iter().enumerate();
                found
                    .filter(|(_, row)| row.contains(mark))
                    .map(|(at, _)| at)
                    .collect()
            };
            // Nine rows from 100 down to 0, then the labels.
            assert_eq!(of("o"), [1, 4, 7], "{text}");
            assert!(rows[9].contains("50") && rows[9].ends_with("100"), "{text}");
            let dots = text.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c));
            assert_eq!(dots, braille, "{text}");
        }
    }

    #[test]
    fn a_lower_axis_says_so_and_stretches_the_rates() {
        assert!((top_above([0.1, 0.38].into_iter()) - 0.4).abs() < 1e-9);
        assert!(
            (top_above([0.4].into_iter()) - 0.6).abs() < 1e-9,
            "room above"
        );
        assert!((top_above([0.9, f64::NAN].into_iter()) - 1.0).abs() < 1e-9);
        let mut low = rising(false);
        for point in &mut low.points {
            point.y *= 0.4;
            point.ends = None;
        }
        let chart = Chart {
            series: vec![low],
            ticks: Vec::new(),
            joined: true,
            top: 0.4,
        };
        let text = drawn(&chart, false);
        let rows: Vec<&str> = text.lines().collect();
        assert!(
            rows[0].starts_with(" 40") && rows[4].starts_with(" 20"),
            "{text}"
        );
        let marks: Vec<usize> = (0..10).filter(|&at| rows[at].contains('o')).collect();
        assert_eq!(marks, [1, 4, 7], "{text}");
    }

    #[test]
    fn the_dots_of_a_band_are_evenly_spaced() {
        let point = |x: f64| Point {
            x,
            y: 0.5,
            ends: Some((0.25, 0.75)),
        };
        let chart = Chart {
            series: vec![Series {
                points: vec![point(0.0), point(0.3), point(0.77), point(1.0)],
                ..rising(false)
            }],
            ticks: Vec::new(),
            joined: true,
            top: 1.0,
        };
        let text = drawn(&chart, true);
        // The upper edge: every second dot, in every cell of its row but those of marks.
        let edges = text.lines().filter(|row| {
            let dots = row
                .chars()
                .filter(|c| ('\u{2801}'..='\u{28ff}').contains(c));
            dots.count() == 26
        });
        assert!(edges.count() >= 2, "{text}");
    }

    #[test]
    fn a_tiny_or_odd_chart_does_no_harm() {
        let odd = Series {
            points: vec![
                Point {
                    x: f64::NAN,
                    y: f64::INFINITY,
                    ends: Some((f64::NAN, 3.0)),
                },
                Point {
                    x: 2.0,
                    y: -1.0,
                    ends: None,
                },
            ],
            ..rising(true)
        };
        let chart = Chart {
            series: vec![odd, rising(true)],
            ticks: vec![(7.0, "far".into())],
            joined: true,
            top: 0.4,
        };
        let theme = Theme::built_in("dark", ColorDepth::True);
        for (width, height) in [(0, 0), (3, 3), (12, 4), (40, 12)] {
            let area = Rect::new(0, 0, width, height);
            let mut buffer = Buffer::empty(area);
            for braille in [true, false] {
                draw(&chart, area, &mut buffer, &theme, braille);
            }
        }
    }
}
