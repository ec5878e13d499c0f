//! The figures of a comparison as a table: A, B, and their difference.

use ratatui::text::Line;
use unicode_width::UnicodeWidthStr;

use crate::domain::compare::{MetricComparison, Rate};
use crate::tui::app::App;
use crate::tui::theme::Tone;
use crate::tui::view::chrome::span;
use crate::tui::widgets::flow::Flow;
use crate::tui::widgets::line::fit;

/// Columns between two of the table.
const GAP: usize = 2;

/// Columns before the table.
const INDENT: usize = 2;

/// The figures of both sides and their difference, side by side: a figure with its interval, or the interval below
/// it, or a row for each where there is no room.
pub(super) enum Table {
    /// The columns' widths.
    Wide([usize; 3]),
    Halved([usize; 3]),
    Rows,
}

impl Table {
    const HEADS: [&'static str; 3] = ["A  %", "B  %", "B−A  points"];

    pub(super) fn of<'a>(all: impl Iterator<Item = &'a MetricComparison>, width: usize) -> Table {
        let cells: Vec<[Figure; 3]> = all.map(cells).collect();
        let widths = |of: &dyn Fn(&Figure) -> usize| {
            [0, 1, 2].map(|at| {
                let figures = cells.iter().map(|row| of(&row[at]));
                figures.chain([Table::HEADS[at].width()]).max().unwrap_or(0)
            })
        };
        let fits = |widths: &[usize; 3]| widths.iter().sum::<usize>() + 2 * GAP + INDENT <= width;
        let whole = widths(&|figure| figure.whole().width());
        let halved = widths(&|figure| figure.value.width().max(figure.interval.width()));
        match (fits(&whole), fits(&halved)) {
            (true, _) => Table::Wide(whole),
            (false, true) => Table::Halved(halved),
            _ => Table::Rows,
        }
    }

    pub(super) fn head(&self, app: &App, flow: &mut Flow) {
        if let Table::Wide(widths) | Table::Halved(widths) = self {
            let heads = Table::HEADS.map(str::to_owned);
            flow.line(Line::from(span(
                &app.theme,
                row_of(&heads, widths),
                Tone::Faint,
            )));
        }
    }

    pub(super) fn row(&self, app: &App, figures: &MetricComparison, flow: &mut Flow) {
        let cells = cells(figures);
        let mut line = |text: String, tone| flow.line(Line::from(span(&app.theme, text, tone)));
        match self {
            Table::Wide(widths) => {
                let whole = cells.each_ref().map(Figure::whole);
                line(row_of(&whole, widths), Tone::Text);
            }
            Table::Halved(widths) => {
                let [values, intervals] = [
                    cells.each_ref().map(|figure| figure.value.clone()),
                    cells.each_ref().map(|figure| figure.interval.clone()),
                ];
                line(row_of(&values, widths), Tone::Text);
                line(row_of(&intervals, widths), Tone::Faint);
            }
            Table::Rows => {
                for (name, figure) in ["A   ", "B   ", "B−A "].into_iter().zip(&cells) {
                    line(format!("  {name}{}", figure.whole()), Tone::Text);
                }
            }
        }
    }
}

/// Texts in columns.
fn row_of(texts: &[String; 3], widths: &[usize; 3]) -> String {
    let mut row = " ".repeat(INDENT);
    for (text, width) in texts.iter().zip(widths) {
        row += &fit(text, width + GAP);
    }
    row.trim_end().to_owned()
}

/// A figure and its interval, as they are shown.
struct Figure {
    value: String,
    /// Empty where there is none.
    interval: String,
}

impl Figure {
    fn whole(&self) -> String {
        match self.interval.is_empty() {
            true => self.value.clone(),
            false => format!("{} {}", self.value, self.interval),
        }
    }
}

/// The figures of A, of B, and their difference.
fn cells(figures: &MetricComparison) -> [Figure; 3] {
    [rate(&figures.a), rate(&figures.b), difference(figures)]
}

fn rate(rate: &Rate) -> Figure {
    let value = |share: f64| format!("{:.1}", share * 100.0);
    figure(rate.rate, rate.interval, value)
}

fn difference(figures: &MetricComparison) -> Figure {
    figure(figures.difference, figures.difference_interval, points)
}

fn figure(
    value: Option<f64>,
    interval: Option<(f64, f64)>,
    words: impl Fn(f64) -> String,
) -> Figure {
    let none = || "none".to_owned();
    let interval = interval.filter(|_| value.is_some());
    Figure {
        value: value.map_or_else(none, &words),
        interval: interval.map_or_else(String::new, |(low, high)| {
            format!("[{}, {}]", words(low), words(high))
        }),
    }
}

fn points(share: f64) -> String {
    match format!("{:+.1}", share * 100.0).as_str() {
        "+0.0" | "-0.0" => "0.0".to_owned(),
        text => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::compare::IntervalMethod;

    fn comparison() -> MetricComparison {
        let rate = |rate: f64, low: f64, high: f64| Rate {
            num: rate * 100.0,
            den: 100.0,
            rate: Some(rate),
            interval: Some((low, high)),
            method: IntervalMethod::Wilson,
        };
        MetricComparison {
            a: rate(0.416, 0.341, 0.493),
            b: rate(0.312, 0.24, 0.391),
            difference: Some(-0.104),
            difference_interval: Some((-0.188, -0.036)),
            mcnemar: None,
            detectable_difference: None,
        }
    }

    fn lines(width: u16) -> Vec<String> {
        use crate::tui::app::Settings;
        use crate::tui::keymap::Keymap;
        use crate::tui::theme::{ColorDepth, Theme};
        let settings = Settings {
            model: "m".into(),
            dataset: "d".into(),
            k: 5,
            templates: crate::domain::prompt::Templates::default(),
        };
        let theme = Theme::built_in("mono", ColorDepth::None);
        let app = App::new(settings, Keymap::default(), theme, (80, 24));
        let figures = comparison();
        let table = Table::of([&figures].into_iter(), usize::from(width));
        let mut flow = Flow::new(width);
        table.head(&app, &mut flow);
        table.row(&app, &figures, &mut flow);
        let rows = u16::try_from(flow.rows()).unwrap_or(0);
        let area = ratatui::layout::Rect::new(0, 0, width, rows);
        let mut buffer = ratatui::buffer::Buffer::empty(area);
        flow.draw(area, &mut buffer, 0, &app.theme);
        (0..rows)
            .map(|y| {
                let cells = (0..width).map(|x| buffer[(x, y)].symbol());
                cells.collect::<String>().trim_end().to_owned()
            })
            .collect()
    }

    #[test]
    fn a_number_is_never_torn_from_its_interval() {
        let wide = "  41.6 [34.1, 49.3]  31.2 [24.0, 39.1]  -10.4 [-18.8, -3.6]";
        assert_eq!(lines(60)[1], wide);
        assert_eq!(
            lines(50)[1..],
            [
                "  41.6          31.2          -10.4",
                "  [34.1, 49.3]  [24.0, 39.1]  [-18.8, -3.6]"
            ]
        );
        assert_eq!(
            lines(30),
            [
                "  A   41.6 [34.1, 49.3]",
                "  B   31.2 [24.0, 39.1]",
                "  B−A -10.4 [-18.8, -3.6]"
            ]
        );
    }
}
