//! Single lines: cleaned, cut to a width, with a right-hand side.

use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

pub use crate::domain::text::one_line;

/// At most `width` columns of a text, ended by `…` where it was cut.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        let columns = grapheme.width();
        if used + columns + 1 > width {
            break;
        }
        out.push_str(grapheme);
        used += columns;
    }
    if width > 0 {
        out.push('…');
    }
    out
}

/// Text on one line, cut or padded to exactly `width` columns.
pub fn fit(text: &str, width: usize) -> String {
    let mut out = cut(text, width);
    let columns = out.width();
    out.extend(std::iter::repeat_n(' ', width.saturating_sub(columns)));
    out
}

/// The first of the texts that fits a width; the last one, cut, where none does. Longest first.
pub fn fitting<T: Into<String>>(texts: impl IntoIterator<Item = T>, width: usize) -> String {
    let mut last = String::new();
    for text in texts {
        last = text.into();
        if last.width() <= width {
            return last;
        }
    }
    cut(&last, width)
}

/// `left` and `right` at the two ends of a line; `left` is cut where both don't fit.
pub fn both_ends<'a>(left: Vec<Span<'a>>, right: Vec<Span<'a>>, width: usize) -> Line<'a> {
    let right_width: usize = right.iter().map(Span::width).sum();
    let room = width.saturating_sub(right_width + usize::from(right_width > 0));
    let mut spans = cut_spans(left, room);
    let used: usize = spans.iter().map(Span::width).sum();
    if right_width > 0 {
        spans.push(Span::raw(
            " ".repeat(width.saturating_sub(used + right_width)),
        ));
        spans.extend(right);
    }
    Line::from(spans)
}

/// Spans cut to a width together.
pub fn cut_spans(spans: Vec<Span<'_>>, width: usize) -> Vec<Span<'_>> {
    let mut left = width;
    let mut out = Vec::with_capacity(spans.len());
    for span in spans {
        let columns = span.width();
        if columns <= left {
            left -= columns;
            out.push(span);
        } else {
            out.push(Span::styled(cut(&span.content, left), span.style));
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_counts_columns() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("中文字", 4), "中…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abc", 0), "");
        assert_eq!(fit("中文", 5), "中文 ");
    }

    #[test]
    fn the_longest_text_that_fits_is_taken() {
        let texts = ["a long one", "short"];
        assert_eq!(fitting(texts, 10), "a long one");
        assert_eq!(fitting(texts, 9), "short");
        assert_eq!(fitting(texts, 3), "sh…");
    }

    #[test]
    fn the_right_end_stays() {
        let line = both_ends(
            vec![Span::raw("a long left side")],
            vec![Span::raw("+new")],
            12,
        );
        assert_eq!(line.to_string(), "a long… +new");
        let line = both_ends(vec![Span::raw("ab")], vec![Span::raw("c")], 6);
        assert_eq!(line.to_string(), "ab   c");
    }
}
