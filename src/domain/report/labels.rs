//! Short texts beside the points of a chart, where there is room for them.

use std::fmt::Write as _;

use crate::domain::report::html::escape;

/// A mark of the chart, in units of the drawing.
pub(super) struct Marked<'a> {
    pub(super) x: f64,
    pub(super) y: f64,
    /// What is written beside it; empty: nothing.
    pub(super) tag: &'a str,
}

/// Half the width and height of a mark.
const MARK: f64 = 5.0;
/// Width of a letter and height of a line in the small type of charts.
const LETTER: f64 = 6.0;
const LINE: f64 = 10.0;
/// Between a mark and its tag.
const GAP: f64 = 3.0;

#[derive(Clone, Copy)]
struct Area {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Area {
    fn meets(&self, other: &Area) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

/// Writes the tags of the marks beside, above or below them, inside `across` and `down` and clear of horizontal `lines`.
/// One that would cover a mark, a line or another tag everywhere is left out: the description of the chart has it too.
pub(super) fn write(
    out: &mut String,
    marks: &[Marked<'_>],
    lines: &[f64],
    across: (f64, f64),
    down: (f64, f64),
) {
    let mut taken: Vec<Area> = marks
        .iter()
        .map(|mark| Area {
            left: mark.x - MARK,
            top: mark.y - MARK,
            right: mark.x + MARK,
            bottom: mark.y + MARK,
        })
        .collect();
    taken.extend(lines.iter().map(|&y| Area {
        left: across.0,
        top: y - 0.5,
        right: across.1,
        bottom: y + 0.5,
    }));
    for mark in marks.iter().filter(|mark| !mark.tag.is_empty()) {
        let inside = |area: &Area| {
            area.left >= across.0
                && area.right <= across.1
                && area.top >= down.0
                && area.bottom <= down.1
        };
        let free = places(mark)
            .into_iter()
            .find(|(area, _)| inside(area) && !taken.iter().any(|other| area.meets(other)));
        if let Some((area, anchor)) = free {
            let x = match anchor {
                "end" => area.right,
                "middle" => mark.x,
                _ => area.left,
            };
            let _ = write!(
                out,
                "<text class=\"small\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
                area.bottom - 2.0,
                escape(mark.tag)
            );
            taken.push(area);
        }
    }
}

/// Where the tag of a mark may stand, best first, and which end of it keeps its place however wide letters are.
fn places(mark: &Marked<'_>) -> [(Area, &'static str); 8] {
    let width = LETTER * mark.tag.chars().count() as f64;
    let at = |left: f64, top: f64| Area {
        left,
        top,
        right: left + width,
        bottom: top + LINE,
    };
    let right = mark.x + MARK + GAP;
    let left = mark.x - MARK - GAP - width;
    let above = mark.y - MARK - LINE - 1.0;
    let below = mark.y + MARK + 1.0;
    [
        (at(right, mark.y - LINE / 2.0), "start"),
        (at(left, mark.y - LINE / 2.0), "end"),
        (at(mark.x - width / 2.0, above), "middle"),
        (at(mark.x - width / 2.0, below), "middle"),
        (at(right - MARK, above), "start"),
        (at(left + MARK, above), "end"),
        (at(right - MARK, below), "start"),
        (at(left + MARK, below), "end"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(marks: &[(f64, f64, &str)]) -> String {
        let marks: Vec<Marked<'_>> = marks
            .iter()
            .map(|&(x, y, tag)| Marked { x, y, tag })
            .collect();
        let mut out = String::new();
        write(&mut out, &marks, &[90.0], (0.0, 100.0), (0.0, 100.0));
        out
    }

    #[test]
    fn tags_keep_clear_of_each_other_and_of_the_border() {
        let free = drawn(&[(20.0, 50.0, "p=0"), (60.0, 50.0, "p=20")]);
        assert!(
            free.contains("x=\"28.0\"") && free.contains("x=\"68.0\""),
            "{free}"
        );
        // At the right border a tag stands at the left of its mark.
        let border = drawn(&[(95.0, 50.0, "p=40")]);
        assert!(
            border.contains("x=\"87.0\"") && border.contains("\"end\""),
            "{border}"
        );
        // A mark on a line has its tag above, which nothing strikes through.
        let on_line = drawn(&[(50.0, 90.0, "p=0")]);
        assert!(
            on_line.contains("y=\"82.0\"") && on_line.contains("\"middle\""),
            "{on_line}"
        );
        // In a heap of marks some tags have no place.
        let heap: Vec<(f64, f64, &str)> = (0..30).map(|_| (50.0, 50.0, "p=60")).collect();
        assert_eq!(drawn(&heap).matches("p=60").count(), 4);
        assert_eq!(drawn(&[(50.0, 50.0, "")]), "");
    }
}
