//! Small edits of a document: which sentences state an answer, putting new ones in their place, and how much of the
//! text an edit changes.

use std::collections::HashMap;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};
use unicode_segmentation::UnicodeSegmentation;

use crate::domain::mention::{Placed, Searchable};

/// Texts of more words are compared by their words alone, whatever their order, so that time stays linear.
const MOST_ALIGNED: usize = 4_000;

/// Endings after which a sentence goes on.
const ABBREVIATIONS: [&str; 12] = [
    "e.g.", "i.e.", "vs.", "dr.", "mr.", "mrs.", "fig.", "al.", "approx.", "cf.", "resp.", "spp.",
];

/// How much an edit changes, in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditSize {
    /// Words of the original that are gone.
    pub removed: usize,
    /// Words that are new.
    pub added: usize,
    /// Words of both texts together.
    pub words: usize,
}

impl EditSize {
    /// The size of the edit from one text to the other, by a shortest list of removed and added words (Myers 1986).
    pub fn of(original: &str, edited: &str) -> EditSize {
        let old: Vec<&str> = original.split_whitespace().collect();
        let new: Vec<&str> = edited.split_whitespace().collect();
        let (removed, added) = match old.len().max(new.len()) > MOST_ALIGNED {
            true => unordered(&old, &new),
            false => aligned(&old, &new),
        };
        EditSize {
            removed,
            added,
            words: old.len() + new.len(),
        }
    }

    /// Changed words out of the words of both texts: 0 for the same text, 1 for nothing in common.
    pub fn ratio(self) -> f64 {
        match self.words {
            0 => 0.0,
            words => (self.removed + self.added) as f64 / words as f64,
        }
    }

    /// The ratio as files hold it, to four places.
    pub fn rounded(self) -> f64 {
        (self.ratio() * 1e4).round() / 1e4
    }
}

fn aligned(old: &[&str], new: &[&str]) -> (usize, usize) {
    let (mut removed, mut added) = (0, 0);
    for change in capture_diff_slices(Algorithm::Myers, old, new) {
        match change {
            DiffOp::Equal { .. } => {}
            DiffOp::Delete { old_len, .. } => removed += old_len,
            DiffOp::Insert { new_len, .. } => added += new_len,
            DiffOp::Replace {
                old_len, new_len, ..
            } => {
                removed += old_len;
                added += new_len;
            }
        }
    }
    (removed, added)
}

fn unordered(old: &[&str], new: &[&str]) -> (usize, usize) {
    let mut balance: HashMap<&str, i64> = HashMap::new();
    for word in old {
        *balance.entry(word).or_default() += 1;
    }
    for word in new {
        *balance.entry(word).or_default() -= 1;
    }
    let sum = |sign: i64| {
        let surplus = balance.values().map(|count| (count * sign).max(0));
        usize::try_from(surplus.sum::<i64>()).unwrap_or(usize::MAX)
    };
    (sum(1), sum(-1))
}

/// The byte ranges of the sentences of a text, without the white space around them.
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut goes_on = false;
    for (start, piece) in text.split_sentence_bound_indices() {
        let bare = piece.trim();
        if bare.is_empty() {
            continue;
        }
        let start = start + (piece.len() - piece.trim_start().len());
        let end = start + bare.len();
        match found.last_mut() {
            Some(last) if goes_on => last.end = end,
            _ => found.push(start..end),
        }
        let ending = bare.to_lowercase();
        goes_on = ABBREVIATIONS
            .iter()
            .any(|short| ending.ends_with(&format!(" {short}")) || ending == *short);
    }
    found
}

/// The byte ranges of the sentences that state an answer; sentences that only together do so are one range. Empty
/// where the text does not contain the answer.
pub fn stating(text: &str, answer: &str) -> Vec<Range<usize>> {
    let sentences = sentences(text);
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for place in Placed::new(text).places(answer) {
        let touched: Vec<&Range<usize>> = sentences
            .iter()
            .filter(|sentence| sentence.start < place.end && place.start < sentence.end)
            .collect();
        if let (Some(first), Some(last)) = (touched.first(), touched.last()) {
            ranges.push(first.start..last.end);
        }
    }
    if ranges.is_empty() {
        let wanted = Searchable::new(answer);
        let states = |range: &Range<usize>| Searchable::new(&text[range.clone()]).mentions(&wanted);
        ranges = sentences
            .iter()
            .filter(|range| states(range))
            .cloned()
            .collect();
        if ranges.is_empty() && Searchable::new(text).mentions(&wanted) {
            ranges.push(0..text.len());
        }
    }
    joined(ranges)
}

/// Ranges in order, those that overlap as one.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut out: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

/// The text with new texts in the place of ranges, which are in order and do not overlap.
pub fn apply(text: &str, ranges: &[Range<usize>], texts: &[String]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (range, new) in ranges.iter().zip(texts) {
        out.push_str(text.get(from..range.start).unwrap_or_default());
        out.push_str(new);
        from = range.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_counts_changed_words_of_both_texts() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(close(EditSize::of("a b c d", "a b c d").ratio(), 0.0));
        assert!(close(EditSize::of("a b c d", "a x c d").ratio(), 0.25));
        assert!(close(EditSize::of("a b", "c d").ratio(), 1.0));
        assert!(close(EditSize::of("", "").ratio(), 0.0));
        // Above the bound the order no longer counts.
        let long = "w ".repeat(MOST_ALIGNED);
        let size = EditSize::of(&format!("{long} a b"), &format!("b {long} c"));
        assert_eq!((size.removed, size.added), (1, 1));
    }

    #[test]
    fn sentences_end_where_they_end() {
        let text = "Iron is stored, e.g. In ferritin.  It was 1.5 mg (Smith et al. 2001). Why? Good.\nNext";
        let found: Vec<&str> = sentences(text).into_iter().map(|at| &text[at]).collect();
        assert_eq!(
            found,
            [
                "Iron is stored, e.g. In ferritin.",
                "It was 1.5 mg (Smith et al. 2001).",
                "Why?",
                "Good.",
                "Next"
            ]
        );
        assert!(sentences(" \n ").is_empty());
    }

    #[test]
    fn sentences_with_the_answer_are_found_and_replaced() {
        let text = "Ferritin stores iron. The liver holds it. FERRITIN is large.";
        let ranges = stating(text, "ferritin");
        let edited = apply(text, &ranges, &["X.".into(), "Y.".into()]);
        assert_eq!(edited, "X. The liver holds it. Y.");
        assert!(stating(text, "zinc").is_empty());
        // An answer over the end of a sentence joins the two.
        let ranges = stating("It is iron. Zinc too. No.", "iron. Zinc");
        assert_eq!((ranges.len(), ranges[0].clone()), (1, 0..21));
    }
}
