//! The map of a search: the query and its hits by the first two principal components of their vectors, and
//! the same in words.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Line as Stroke};

use crate::retrieval::Method;
use crate::retrieval::map::{Map, Point};
use crate::tui::app::App;
use crate::tui::app::retrieval::{IndexState, METHODS};
use crate::tui::theme::Tone;
use crate::tui::view::chrome::{frame, inside, panel, put, span};
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::{cut, one_line};

/// From this width on the words stand beside the map, else below it.
const BESIDE: u16 = 70;
/// Room around the outermost points, as a share of the map.
const MARGIN: f64 = 0.06;
/// Columns of an id in the words.
const ID_COLUMNS: usize = 24;

/// The map on the whole area, with its words.
pub(super) fn page(app: &App, area: Rect, buffer: &mut Buffer) {
    let (chart, words) = if area.width >= BESIDE {
        let width = area.width * 11 / 20;
        let words = Rect {
            x: area.x + width,
            width: area.width - width,
            ..area
        };
        (Rect { width, ..area }, words)
    } else {
        let height = area.height / 2;
        let words = Rect {
            y: area.y + height,
            height: area.height - height,
            ..area
        };
        (Rect { height, ..area }, words)
    };
    plot(app, chart, buffer);
    in_words(app, words, buffer);
}

/// The map alone.
pub(super) fn plot(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let Some(map) = &app.retrieval.map else {
        frame(
            app,
            area,
            buffer,
            false,
            vec![span(theme, "Map", Tone::Title)],
            Vec::new(),
        );
        return super::note(app, inside(area), buffer, why_none(app), Tone::Faint);
    };
    let title = vec![
        span(theme, "Map", Tone::Title),
        span(
            theme,
            format!("  ranks of {}", name_of(focused(app))),
            Tone::Faint,
        ),
    ];
    let right = vec![span(theme, legend(app), Tone::Faint)];
    frame(app, area, buffer, false, title, right);
    let inner = inside(area);
    if inner.width < 4 || inner.height < 2 {
        return;
    }
    let window = Window::around(map, inner);
    if app.braille {
        strokes(app, map, &window, buffer);
    }
    marks(app, map, &window, buffer);
}

fn why_none(app: &App) -> &'static str {
    if app.retrieval.searching {
        "…"
    } else if app.retrieval.is_opening() {
        "The map comes when the index is open."
    } else if matches!(app.retrieval.index, IndexState::Building { .. }) {
        "The map comes when the documents are encoded."
    } else if app.retrieval.lists.iter().all(Option::is_none) {
        "Search, and the query and its hits are laid out here by the likeness of their vectors."
    } else {
        "No map: it needs an encoder and at least two hits."
    }
}

fn legend(app: &App) -> String {
    let (signal, other) = symbols(app);
    format!("Q query  {signal} signal  {other} other")
}

/// The marks of signal documents and of the others.
fn symbols(app: &App) -> (&'static str, &'static str) {
    if app.braille {
        ("●", "○")
    } else {
        ("*", "o")
    }
}

fn focused(app: &App) -> Method {
    METHODS
        .get(app.retrieval.focus)
        .copied()
        .unwrap_or(Method::Dense)
}

fn name_of(method: Method) -> &'static str {
    super::method_title(method).0
}

/// The part of the plane that is shown, with the same scale along both axes (a cell is twice as high as wide).
struct Window {
    cells: Rect,
    left: f64,
    bottom: f64,
    /// Units of the plane that a cell is wide; it is twice as many high.
    scale: f64,
}

impl Window {
    fn around(map: &Map, cells: Rect) -> Window {
        let all = || map.points.iter().map(|point| point.at).chain([map.query]);
        let span = |axis: usize| {
            let values = || all().map(move |at| f64::from(at[axis]));
            let low = values().fold(f64::INFINITY, f64::min);
            (low, values().fold(f64::NEG_INFINITY, f64::max))
        };
        let ((left, right), (bottom, top)) = (span(0), span(1));
        let room = 1.0 - 2.0 * MARGIN;
        let columns = f64::from(cells.width.max(2)) * room;
        let rows = f64::from(cells.height.max(2)) * room * 2.0;
        let scale = ((right - left) / columns).max((top - bottom) / rows);
        // All points in one place: any scale shows them.
        let scale = if scale.is_finite() && scale > 0.0 {
            scale
        } else {
            1.0
        };
        let (width, height) = (
            f64::from(cells.width) * scale,
            f64::from(cells.height) * scale * 2.0,
        );
        Window {
            cells,
            left: f64::midpoint(left, right) - width / 2.0,
            bottom: f64::midpoint(bottom, top) - height / 2.0,
            scale,
        }
    }

    fn x_bounds(&self) -> [f64; 2] {
        [
            self.left,
            self.left + f64::from(self.cells.width) * self.scale,
        ]
    }

    fn y_bounds(&self) -> [f64; 2] {
        let height = f64::from(self.cells.height) * self.scale * 2.0;
        [self.bottom, self.bottom + height]
    }

    /// The cell of a place.
    fn cell(&self, at: [f32; 2]) -> Position {
        let inside =
            |value: f64, most: u16| value.clamp(0.0, f64::from(most.saturating_sub(1))) as u16;
        let column = (f64::from(at[0]) - self.left) / self.scale;
        let from_top =
            f64::from(self.cells.height) - (f64::from(at[1]) - self.bottom) / (self.scale * 2.0);
        Position::new(
            self.cells.x + inside(column, self.cells.width),
            self.cells.y + inside(from_top, self.cells.height),
        )
    }
}

/// Rank of a point in the focused list.
fn rank_in(point: &Point, method: Method) -> Option<usize> {
    point
        .ranks
        .iter()
        .find(|(list, _)| *list == method)
        .map(|(_, rank)| *rank)
}

/// Lines from the query to the hits of the focused list.
fn strokes(app: &App, map: &Map, window: &Window, buffer: &mut Buffer) {
    let theme = &app.theme;
    let (faint, strong) = (theme.style(Tone::Border), theme.style(Tone::Key));
    let method = focused(app);
    let chosen = app.retrieval.chosen();
    Canvas::default()
        .marker(Marker::Braille)
        .x_bounds(window.x_bounds())
        .y_bounds(window.y_bounds())
        .paint(|canvas| {
            let hits = map.points.iter();
            let hits = hits.filter(|point| rank_in(point, method).is_some());
            for point in hits {
                let style = if chosen == Some(point.id.as_str()) {
                    strong
                } else {
                    faint
                };
                canvas.draw(&Stroke {
                    x1: f64::from(map.query[0]),
                    y1: f64::from(map.query[1]),
                    x2: f64::from(point.at[0]),
                    y2: f64::from(point.at[1]),
                    color: style.fg.unwrap_or_default(),
                });
            }
        })
        .render(window.cells, buffer);
}

/// The points with their labels, the more telling ones over the others; a label that would cover another
/// point is left out.
fn marks(app: &App, map: &Map, window: &Window, buffer: &mut Buffer) {
    let chosen = app.retrieval.chosen();
    let method = focused(app);
    let mut points: Vec<&Point> = map.points.iter().collect();
    points.sort_by_key(|point| {
        (
            chosen == Some(point.id.as_str()),
            point.signal,
            rank_in(point, method).map(|rank| usize::MAX - rank),
        )
    });
    let query = window.cell(map.query);
    let mut taken: Vec<Position> = points.iter().map(|point| window.cell(point.at)).collect();
    taken.push(query);
    for point in &points {
        let cell = window.cell(point.at);
        let is_chosen = chosen == Some(point.id.as_str());
        put(
            buffer,
            cell.x,
            cell.y,
            &Line::from(mark(app, point, is_chosen)),
            1,
        );
    }
    let theme = &app.theme;
    put(
        buffer,
        query.x,
        query.y,
        &Line::from(span(theme, "Q", Tone::Key)),
        1,
    );
    for point in points.iter().rev() {
        label(app, point, method, window, &mut taken, buffer);
    }
}

fn mark(app: &App, point: &Point, chosen: bool) -> Span<'static> {
    let (signal, other) = symbols(app);
    let (text, tone) = match (point.signal, chosen) {
        (true, false) => (signal, Tone::Signal),
        (false, false) => (other, Tone::Text),
        (true, true) => (signal, Tone::Selection),
        (false, true) => (other, Tone::Selection),
    };
    span(&app.theme, text, tone)
}

/// The rank in the focused list, else the letters of the lists that have the document.
fn label(
    app: &App,
    point: &Point,
    method: Method,
    window: &Window,
    taken: &mut Vec<Position>,
    buffer: &mut Buffer,
) {
    let (text, tone) = match rank_in(point, method) {
        Some(rank) => (rank.to_string(), Tone::Strong),
        None => (letters(point), Tone::Faint),
    };
    let cell = window.cell(point.at);
    let width = u16::try_from(text.chars().count()).unwrap_or(0);
    let places = [cell.x.saturating_add(1), cell.x.saturating_sub(width)];
    let free = |x: u16| {
        let fits = x >= window.cells.x && x + width <= window.cells.right();
        fits && (x..x + width).all(|x| !taken.contains(&Position::new(x, cell.y)))
    };
    if let Some(x) = places.into_iter().find(|&x| free(x)) {
        let line = Line::from(span(&app.theme, text, tone));
        put(buffer, x, cell.y, &line, width);
        taken.extend((x..x + width).map(|x| Position::new(x, cell.y)));
    }
}

fn letters(point: &Point) -> String {
    let letter = |method: &Method| match method {
        Method::Dense => 'd',
        Method::Bm25 => 'b',
        Method::Hybrid => 'h',
        Method::Exact => 'e',
    };
    point
        .ranks
        .iter()
        .map(|(method, _)| letter(method))
        .collect()
}

/// What the map shows, in words: the documents from the most to the least similar.
fn in_words(app: &App, area: Rect, buffer: &mut Buffer) {
    let theme = &app.theme;
    let mut flow = Flow::new(inside(area).width);
    let mut scroll = 0;
    if let Some(map) = &app.retrieval.map {
        let text = format!(
            "{}. Numbers: rank in the focused list. Letters: only found by d dense, b BM25, h hybrid.",
            legend(app)
        );
        flow.say(&app.wraps, &text, Tone::Faint);
        let text = format!(
            "Near is alike: this plane shows {:.0} % of the variance of these {} vectors. Scores are of the whole vectors.",
            map.shown * 100.0,
            map.points.len() + 1
        );
        flow.say(&app.wraps, &text, Tone::Faint);
        flow.gap();
        let mut points: Vec<&Point> = map.points.iter().collect();
        points.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        let farthest = points
            .iter()
            .map(|point| away(map, point))
            .fold(0.0, f32::max);
        for point in points {
            let chosen = app.retrieval.chosen() == Some(point.id.as_str());
            if chosen {
                // Kept in sight: a third from the top.
                let third = usize::from(inside(area).height) / 3;
                scroll = flow.rows().saturating_sub(third);
            }
            entry(app, map, point, chosen, farthest, &mut flow);
        }
    } else {
        flow.say(&app.wraps, why_none(app), Tone::Faint);
    }
    let title = vec![span(theme, "In words", Tone::Title)];
    let right = vec![span(theme, "most similar first", Tone::Faint)];
    panel(app, area, buffer, false, title, right, &flow, scroll);
}

fn entry(app: &App, map: &Map, point: &Point, chosen: bool, farthest: f32, flow: &mut Flow) {
    let (signal, other) = symbols(app);
    let (symbol, tone) = if point.signal {
        (signal, Tone::Signal)
    } else {
        (other, Tone::Text)
    };
    let head = Line::from(vec![
        span(&app.theme, if chosen { "> " } else { "  " }, Tone::Key),
        span(&app.theme, symbol, tone),
    ]);
    let id = cut(&one_line(&point.id), ID_COLUMNS);
    let name_tone = if chosen { Tone::Strong } else { tone };
    let mut groups = vec![
        vec![(id, name_tone)],
        vec![(format!("{:.3}", point.score), Tone::Strong)],
    ];
    groups.extend(point.ranks.iter().map(|(method, rank)| {
        let name = match method {
            Method::Dense => "dense",
            Method::Bm25 => "BM25",
            Method::Hybrid => "hybrid",
            Method::Exact => "exact",
        };
        vec![(format!("{name} {rank}"), Tone::Text)]
    }));
    groups.push(vec![(place(map, point, farthest), Tone::Faint)]);
    flow.groups(&app.wraps, head, 4, &groups);
}

/// Distance from the query on the plane.
fn away(map: &Map, point: &Point) -> f32 {
    let [x, y] = [0, 1].map(|axis| point.at[axis] - map.query[axis]);
    x.hypot(y)
}

/// Where a point lies, seen from the query.
fn place(map: &Map, point: &Point, farthest: f32) -> String {
    let distance = away(map, point);
    if farthest <= 0.0 || distance <= farthest * 0.005 {
        return "at the query".into();
    }
    let [x, y] = [0, 1].map(|axis| point.at[axis] - map.query[axis]);
    // Within about 22° of an axis that axis alone is named.
    let side = |value: f32, other: f32, low: &'static str, high: &'static str| {
        if value.abs() < other.abs() * 0.41 {
            ""
        } else if value < 0.0 {
            low
        } else {
            high
        }
    };
    let (vertical, horizontal) = (side(y, x, "below", "above"), side(x, y, "left", "right"));
    let words = [vertical, horizontal].join(" ");
    format!(
        "{}, {:.0} % as far as the farthest",
        words.trim(),
        distance / farthest * 100.0
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    fn point(at: [f32; 2]) -> Point {
        Point {
            id: "a".into(),
            at,
            ranks: vec![(Method::Dense, 1)],
            signal: false,
            score: 0.0,
        }
    }

    fn map(query: [f32; 2], places: &[[f32; 2]]) -> Map {
        Map {
            query,
            points: places.iter().map(|&at| point(at)).collect(),
            shown: 1.0,
        }
    }

    #[test]
    fn places_are_told_by_direction_and_distance() {
        let map = map([1.0, 1.0], &[]);
        let told = |at| place(&map, &point(at), 4.0);
        assert_eq!(told([5.0, 1.2]), "right, 100 % as far as the farthest");
        assert_eq!(told([0.0, 2.0]), "above left, 35 % as far as the farthest");
        assert_eq!(told([1.0, -1.0]), "below, 50 % as far as the farthest");
        assert_eq!(told([1.0, 1.0]), "at the query");
    }

    #[test]
    fn the_corners_of_a_plane_come_to_the_sides_of_the_window_and_up_is_up() {
        let map = map([0.0, 0.0], &[[-2.0, -1.0], [2.0, 1.0]]);
        let window = Window::around(&map, Rect::new(10, 5, 60, 20));
        let (low, high) = (window.cell([-2.0, -1.0]), window.cell([2.0, 1.0]));
        assert!(low.x < high.x && low.y > high.y);
        // The same scale along both axes: 4 units wide and 2 high are 2 × 2 times as many columns as rows.
        let (columns, rows) = (f64::from(high.x - low.x), f64::from(low.y - high.y));
        assert!((columns / rows - 4.0).abs() < 0.6, "{columns} {rows}");
        assert!(columns > 45.0);
    }

    proptest! {
        #[test]
        fn every_point_has_a_cell_inside(
            places in prop::collection::vec((any::<f32>(), any::<f32>()), 0..8),
            width in 1u16..80, height in 1u16..40,
        ) {
            let places: Vec<[f32; 2]> = places.into_iter().map(|(x, y)| [x, y]).collect();
            let map = map([0.0, 0.0], &places);
            let cells = Rect::new(3, 2, width, height);
            let window = Window::around(&map, cells);
            for &at in &places {
                prop_assert!(cells.contains(window.cell(at)));
            }
        }
    }
}
