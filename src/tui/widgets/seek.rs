//! Words that are looked for inside texts on screen.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use ratatui::style::{Modifier, Style};
use ratatui::text::Span;
use unicode_segmentation::GraphemeCursor;

use crate::tui::theme::{Theme, Tone};
use crate::tui::widgets::text::Rich;

/// What is looked for: upper and lower case are the same, and so are all blanks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Needle(Vec<char>);

impl Needle {
    /// The needle of typed words; `None` where there are none.
    pub fn new(words: &str) -> Option<Needle> {
        let folded: Vec<char> = words.trim().chars().flat_map(fold).collect();
        (!folded.is_empty()).then_some(Needle(folded))
    }

    /// Where it stands in a text, in bytes: whole characters as people see them, none twice.
    pub fn places(&self, text: &str) -> Vec<Range<usize>> {
        let mut places: Vec<Range<usize>> = Vec::new();
        let mut free = 0;
        for (at, _) in text.char_indices() {
            if at >= free
                && let Some(end) = self.end(text, at)
                && is_boundary(text, at)
            {
                let end = next_boundary(text, end);
                places.push(at..end);
                free = end;
            }
        }
        places
    }

    /// Where it ends if it begins here.
    fn end(&self, text: &str, at: usize) -> Option<usize> {
        let mut wanted = self.0.iter();
        for (offset, c) in text[at..].char_indices() {
            for folded in fold(c) {
                if wanted.next() != Some(&folded) {
                    return None;
                }
            }
            if wanted.as_slice().is_empty() {
                return Some(at + offset + c.len_utf8());
            }
        }
        None
    }
}

/// A character as it is compared.
fn fold(c: char) -> impl Iterator<Item = char> {
    let c = if c.is_whitespace() { ' ' } else { c };
    c.to_lowercase()
}

fn is_boundary(text: &str, at: usize) -> bool {
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    cursor.is_boundary(text, 0).unwrap_or(true)
}

/// Where the character ends that people see here.
fn next_boundary(text: &str, at: usize) -> usize {
    if is_boundary(text, at) {
        return at;
    }
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    let next = cursor.next_boundary(text, 0).ok().flatten();
    next.unwrap_or(text.len())
}

/// A needle, and which of its places in a column one stands at.
#[derive(Debug, Clone)]
pub struct Sought {
    /// What is looked for.
    pub needle: Rc<Needle>,
    /// The place where one is, counted over the column.
    pub current: Option<usize>,
}

/// The marked places of a text.
#[derive(Debug, Clone)]
pub struct Marks {
    /// In bytes, in order.
    pub places: Rc<[Range<usize>]>,
    /// The one where one is.
    pub current: Option<usize>,
}

impl Default for Marks {
    fn default() -> Marks {
        Marks {
            places: Rc::new([]),
            current: None,
        }
    }
}

impl Marks {
    /// A row of a text with its tones, what is marked standing out.
    pub fn row<'a>(&self, rich: &'a Rich, row: Range<usize>, theme: &Theme) -> Vec<Span<'a>> {
        let mut spans = Vec::new();
        let mut at = row.start;
        for (piece, tone) in rich.pieces(row) {
            self.split(piece, at, theme.style(tone), theme, &mut spans);
            at += piece.len();
        }
        spans
    }

    /// A piece that begins at byte `start` of its text, in parts with and without a mark.
    fn split<'a>(
        &self,
        piece: &'a str,
        start: usize,
        style: Style,
        theme: &Theme,
        spans: &mut Vec<Span<'a>>,
    ) {
        let end = start + piece.len();
        let mut at = start;
        let first = self.places.partition_point(|place| place.end <= start);
        for (nth, place) in self.places.iter().enumerate().skip(first) {
            if place.start >= end {
                break;
            }
            let (from, to) = (place.start.max(at), place.end.min(end));
            if at < from {
                spans.push(Span::styled(&piece[at - start..from - start], style));
            }
            let marked = marked(theme, style, self.current == Some(nth));
            spans.push(Span::styled(&piece[from - start..to - start], marked));
            at = to;
        }
        if at < end {
            spans.push(Span::styled(&piece[at - start..], style));
        }
    }
}

/// A style where what is looked for stands; it is seen without colours too.
fn marked(theme: &Theme, style: Style, current: bool) -> Style {
    let style = style.patch(theme.style(Tone::Match));
    let style = style.add_modifier(Modifier::REVERSED);
    match current {
        true => style.add_modifier(Modifier::UNDERLINED),
        false => style.remove_modifier(Modifier::UNDERLINED),
    }
}

/// More texts than a screen ever shows; the memory starts over beyond.
const LIMIT: usize = 512;

/// Places found, kept between frames: a memory of a pure function.
#[derive(Debug, Default)]
pub struct Found {
    needle: Option<Rc<Needle>>,
    places: HashMap<u64, Rc<[Range<usize>]>>,
}

impl Found {
    /// The places in a text, looked for only the first time.
    pub fn places(&mut self, rich: &Rich, needle: &Rc<Needle>) -> Rc<[Range<usize>]> {
        if self.needle.as_ref() != Some(needle) || self.places.len() >= LIMIT {
            self.places.clear();
            self.needle = Some(Rc::clone(needle));
        }
        let found = self.places.entry(rich.id());
        Rc::clone(found.or_insert_with(|| needle.places(rich.text()).into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found<'a>(words: &str, text: &'a str) -> Vec<&'a str> {
        let places = Needle::new(words).map(|needle| needle.places(text));
        let places = places.unwrap_or_default().into_iter();
        places.map(|place| &text[place]).collect()
    }

    #[test]
    fn case_and_kind_of_blank_do_not_matter() {
        assert_eq!(found("low dose", "Low\nDose, low  dose"), ["Low\nDose"]);
        assert_eq!(found("ΣΥΝ", "σύν συν"), ["συν"]);
        assert_eq!(found("aa", "aaaaa"), ["aa", "aa"]);
        assert_eq!(found("  ", "a  b"), [""; 0]);
        assert_eq!(found("İ", "i̇ İ"), ["i̇", "İ"]);
    }

    #[test]
    fn a_mark_takes_whole_characters() {
        assert_eq!(found("e", "e\u{301}"), ["e\u{301}"]);
        assert_eq!(found("\u{301}", "e\u{301}"), [""; 0]);
    }

    proptest! {
        #[test]
        fn marking_changes_no_letter(text in "[aAb \\n中e\u{301}]{0,60}", words in "[ab ]{1,3}", cut in 0usize..60) {
            let rich = Rich::build([(text.as_str(), Tone::Text), ("ab", Tone::Inserted)]);
            let theme = Theme::built_in("dark", crate::tui::theme::ColorDepth::True);
            let places = Needle::new(&words).map(|needle| needle.places(rich.text()));
            let marks = Marks { places: places.unwrap_or_default().into(), current: Some(0) };
            let start = rich.text().char_indices().map(|(at, _)| at).nth(cut).unwrap_or(0);
            let row = marks.row(&rich, start..rich.text().len(), &theme);
            let shown: String = row.iter().map(|span| span.content.as_ref()).collect();
            prop_assert_eq!(shown, &rich.text()[start..]);
        }
    }
}
