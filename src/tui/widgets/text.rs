//! Text wrapped once per (text, width).
//!
//! ratatui's own paragraph walks every line above the scroll position and scrolls by `u16`; here the
//! line starts are kept, so that a frame touches only what is visible.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::rc::Rc;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::domain::text::clean;
use crate::tui::theme::Tone;
use crate::tui::widgets::seek::{Found, Needle};

/// Text with tones, cleaned of everything that could drive a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rich {
    id: u64,
    text: String,
    /// End (exclusive, in bytes) and tone of each run, in order; the last ends at the text's end.
    runs: Vec<(usize, Tone)>,
}

impl Rich {
    /// Text in one tone.
    pub fn plain(text: &str, tone: Tone) -> Rich {
        Rich::build([(text, tone)])
    }

    /// Text from pieces with a tone each.
    pub fn build<'a>(pieces: impl IntoIterator<Item = (&'a str, Tone)>) -> Rich {
        let mut text = String::new();
        let mut runs: Vec<(usize, Tone)> = Vec::new();
        for (piece, tone) in pieces {
            if piece.is_empty() {
                continue;
            }
            text.push_str(&clean(piece));
            match runs.last_mut() {
                Some(last) if last.1 == tone => last.0 = text.len(),
                _ => runs.push((text.len(), tone)),
            }
        }
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        runs.hash(&mut hasher);
        Rich {
            id: hasher.finish(),
            text,
            runs,
        }
    }

    /// The cleaned text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The same for the same text and tones.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Where changes, or what is looked for, begin (in bytes): such words with nothing but blanks between them are one.
    pub fn changes(&self) -> Vec<usize> {
        let mut starts = Vec::new();
        let (mut start, mut inside) = (0, false);
        for (end, tone) in &self.runs {
            if matches!(tone, Tone::Inserted | Tone::Deleted | Tone::Match) {
                if !inside {
                    starts.push(start);
                }
                inside = true;
            } else if !self.text[start..*end].trim().is_empty() {
                inside = false;
            }
            start = *end;
        }
        starts
    }

    /// The pieces of a byte range with their tones.
    pub fn pieces(&self, range: Range<usize>) -> impl Iterator<Item = (&str, Tone)> {
        let first = self.runs.partition_point(|(end, _)| *end <= range.start);
        let mut start = range.start;
        self.runs[first..].iter().map_while(move |(end, tone)| {
            let end = (*end).min(range.end);
            let piece = (start < range.end).then(|| (&self.text[start..end], *tone));
            start = end;
            piece
        })
    }
}

/// Line ranges of a text at one width.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wrapped {
    /// Byte ranges, at least one.
    pub lines: Vec<Range<usize>>,
}

/// Wraps a whole text.
pub fn wrap(text: &str, width: usize) -> Wrapped {
    let mut lines = Vec::new();
    wrap_from(text, 0, width.max(1), &mut lines);
    Wrapped { lines }
}

/// Wraps on from a line start: greedy wrapping never changes the lines before the last one when text
/// is added at the end.
fn wrap_from(text: &str, from: usize, width: usize, lines: &mut Vec<Range<usize>>) {
    let mut start = from;
    let mut used = 0;
    // Where the line may break: end of what stays, start of what moves, columns up to there.
    let mut breakable: Option<(usize, usize, usize)> = None;
    for (offset, grapheme) in text[from..].grapheme_indices(true) {
        let at = from + offset;
        if grapheme == "\n" {
            lines.push(start..at);
            (start, used, breakable) = (at + 1, 0, None);
            continue;
        }
        let columns = grapheme.width();
        if grapheme == " " {
            if used >= width {
                lines.push(start..at);
                (start, used, breakable) = (at + 1, 0, None);
            } else {
                used += 1;
                breakable = Some((at, at + 1, used));
            }
            continue;
        }
        if columns > 1 && at > start {
            breakable = Some((at, at, used));
        }
        while used + columns > width && at > start {
            let (end, next, gone) = breakable.take().unwrap_or((at, at, used));
            lines.push(start..end);
            start = next;
            used -= gone;
        }
        used += columns;
    }
    lines.push(start..text.len());
}

/// A growing text as it was wrapped last, with its lines.
type Live = (String, Rc<Wrapped>);

/// Wrapped lines kept between frames. A memory of a pure function, so views may fill it.
#[derive(Debug, Default)]
pub struct WrapCache {
    fixed: RefCell<HashMap<(u64, usize), Rc<Wrapped>>>,
    live: RefCell<HashMap<(&'static str, usize), Live>>,
    found: RefCell<Found>,
}

/// More entries than a screen ever shows; the cache starts over beyond.
const CACHE_LIMIT: usize = 2048;

impl WrapCache {
    /// The lines of a text that does not change.
    pub fn wrap(&self, rich: &Rich, width: usize) -> Rc<Wrapped> {
        let mut fixed = self.fixed.borrow_mut();
        if let Some(found) = fixed.get(&(rich.id, width)) {
            return Rc::clone(found);
        }
        if fixed.len() >= CACHE_LIMIT {
            fixed.clear();
        }
        let wrapped = Rc::new(wrap(&rich.text, width));
        fixed.insert((rich.id, width), Rc::clone(&wrapped));
        wrapped
    }

    /// Where a text has what is looked for.
    pub fn places(&self, rich: &Rich, needle: &Rc<Needle>) -> Rc<[Range<usize>]> {
        self.found.borrow_mut().places(rich, needle)
    }

    /// The lines of a text that grows at its end: only the tail is wrapped again. `slot` names the text.
    pub fn wrap_live(&self, slot: &'static str, rich: &Rich, width: usize) -> Rc<Wrapped> {
        let mut live = self.live.borrow_mut();
        let entry = live.remove(&(slot, width));
        let wrapped = match entry {
            Some((old, wrapped)) if old == rich.text => wrapped,
            Some((old, wrapped)) if rich.text.starts_with(&old) => {
                let mut wrapped = Rc::unwrap_or_clone(wrapped);
                // Two lines: a combining mark may join the space at which the last but one was broken.
                wrapped.lines.pop();
                let from = wrapped.lines.pop().map_or(0, |line| line.start);
                wrap_from(&rich.text, from, width.max(1), &mut wrapped.lines);
                Rc::new(wrapped)
            }
            _ => Rc::new(wrap(&rich.text, width)),
        };
        if live.len() >= 64 {
            live.clear();
        }
        live.insert((slot, width), (rich.text.clone(), Rc::clone(&wrapped)));
        wrapped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(text: &str, width: usize) -> Vec<&str> {
        wrap(text, width)
            .lines
            .into_iter()
            .map(|range| &text[range])
            .collect()
    }

    #[test]
    fn words_stay_whole_where_they_fit() {
        assert_eq!(lines("one two three", 8), ["one two", "three"]);
        assert_eq!(lines("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(lines("a\n\nb", 4), ["a", "", "b"]);
        assert_eq!(lines("", 4), [""]);
    }

    #[test]
    fn wide_and_combining_characters_count_by_columns() {
        assert_eq!(lines("中文字符", 4), ["中文", "字符"]);
        assert_eq!(lines("a 中文字", 5), ["a 中", "文字"]);
        assert_eq!(
            lines("e\u{301}e\u{301}e\u{301}", 2),
            ["e\u{301}e\u{301}", "e\u{301}"]
        );
        assert_eq!(lines("中", 1), ["中"]);
    }

    #[test]
    fn pieces_follow_the_runs() {
        let rich = Rich::build([("ab", Tone::Text), ("cd", Tone::Strong), ("ef", Tone::Text)]);
        let pieces: Vec<_> = rich.pieces(1..5).collect();
        assert_eq!(
            pieces,
            [("b", Tone::Text), ("cd", Tone::Strong), ("e", Tone::Text)]
        );
        assert_eq!(rich.pieces(2..2).count(), 0);
    }

    #[test]
    fn a_swapped_word_is_one_change() {
        let rich = Rich::build([
            ("held in ", Tone::Text),
            ("Tampa", Tone::Deleted),
            (" ", Tone::Text),
            ("Glendale", Tone::Inserted),
            (", the ", Tone::Text),
            ("home", Tone::Deleted),
        ]);
        assert_eq!(rich.changes(), [8, 28]);
        assert_eq!(Rich::plain("as it was", Tone::Text).changes(), [0; 0]);
    }

    proptest! {
        #[test]
        fn growing_text_wraps_like_whole_text(text in "[a-c 中\\n\u{301}]{0,80}", cut in 0usize..80, width in 1usize..12) {
            let cache = WrapCache::default();
            let cut = text.char_indices().map(|(at, _)| at).nth(cut).unwrap_or(text.len());
            let head = Rich::plain(&text[..cut], Tone::Text);
            let whole = Rich::plain(&text, Tone::Text);
            cache.wrap_live("t", &head, width);
            prop_assert_eq!(&*cache.wrap_live("t", &whole, width), &wrap(whole.text(), width));
        }

        #[test]
        fn no_line_is_too_wide_and_nothing_is_lost(text in "\\PC{0,60}", width in 2usize..20) {
            let text = clean(&text);
            let wrapped = wrap(&text, width);
            let mut shown = 0;
            for range in &wrapped.lines {
                // A cluster wider than the line stands alone and is clipped where it is drawn.
                let clusters: Vec<&str> = text[range.clone()].graphemes(true).collect();
                let columns: usize = clusters.iter().map(|cluster| cluster.width()).sum();
                prop_assert!(columns <= width || clusters.len() == 1);
                shown += text[range.clone()].chars().filter(|c| *c != ' ').count();
            }
            prop_assert_eq!(shown, text.chars().filter(|c| *c != ' ' && *c != '\n').count());
        }
    }
}
