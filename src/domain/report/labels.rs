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

/// Writes the tags of the marks at their right, left, above or below, inside `across` and `down`. One that would
/// cover a mark or another tag everywhere is left out: the description of the chart has it too.
pub(super) fn write(out: &mut String, marks: &[Marked<'_>], across: (f64, f64), down: (f64, f64)) {
    let mut taken: Vec<Area> = marks
        .iter()
        .map(|mark| Area {
            left: mark.x - MARK,
            top: mark.y - MARK,
            right: mark.x + MARK,
            bottom: mark.y + MARK,
        })
        .collect();
    for mark in marks.iter().filter(|mark| !mark.tag.is_empty()) {
        let inside = |area: &Area| {
            area.left >= across.0
                && area.right <= across.1
                && area.top >= down.0
                && area.bottom <= down.1
        };
        let free = places(mark)
            .into_iter()
            .find(|area| inside(area) && !taken.iter().any(|other| area.meets(other)));
        if let Some(area) = free {
            let _ = write!(
                out,
                "<text class=\"small\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                area.left,
                area.bottom - 2.0,
                escape(mark.tag)
            );
            taken.push(area);
        }
    }
}

/// Where the tag of a mark may stand, best first.
fn places(mark: &Marked<'_>) -> [Area; 4] {
    let width = LETTER * mark.tag.chars().count() as f64;
    let at = |left: f64, top: f64| Area {
        left,
        top,
        right: left + width,
        bottom: top + LINE,
    };
    [
        at(mark.x + MARK + 2.0, mark.y - LINE / 2.0),
        at(mark.x - MARK - 2.0 - width, mark.y - LINE / 2.0),
        at(mark.x - width / 2.0, mark.y - MARK - LINE - 1.0),
        at(mark.x - width / 2.0, mark.y + MARK + 1.0),
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
        write(&mut out, &marks, (0.0, 100.0), (0.0, 100.0));
        out
    }

    #[test]
    fn tags_keep_clear_of_each_other_and_of_the_border() {
        let free = drawn(&[(20.0, 50.0, "p=0"), (60.0, 50.0, "p=20")]);
        assert!(
            free.contains("x=\"27.0\"") && free.contains("x=\"67.0\""),
            "{free}"
        );
        // At the right border a tag stands at the left of its mark.
        let border = drawn(&[(95.0, 50.0, "p=40")]);
        assert!(border.contains("x=\"64.0\""), "{border}");
        // In a heap of marks some tags have no place.
        let heap: Vec<(f64, f64, &str)> = (0..30).map(|_| (50.0, 50.0, "p=60")).collect();
        assert_eq!(drawn(&heap).matches("p=60").count(), 4);
        assert_eq!(drawn(&[(50.0, 50.0, "")]), "");
    }
}
