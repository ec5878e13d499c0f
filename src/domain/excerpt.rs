//! What full-text search finds: which text, and the words around the match.

use std::ops::Range;

use crate::domain::text::one_line;

/// What kind of text was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextKind {
    /// A question with its options.
    Question,
    /// A document of a question.
    Document,
    /// The adversarial version of a document.
    Edited,
    /// The reasoning of a stored reply.
    Reasoning,
    /// A note of the person who searches.
    Note,
}

impl TextKind {
    /// All of them, in the order of counts.
    pub const ALL: [TextKind; 5] = [
        TextKind::Question,
        TextKind::Document,
        TextKind::Edited,
        TextKind::Reasoning,
        TextKind::Note,
    ];

    /// Its name in lists.
    pub fn name(self) -> &'static str {
        match self {
            TextKind::Question => "question",
            TextKind::Document => "document",
            TextKind::Edited => "adversarial document",
            TextKind::Reasoning => "reasoning",
            TextKind::Note => "note",
        }
    }
}

/// A text that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct TextHit {
    /// What it is.
    pub kind: TextKind,
    /// The question it belongs to.
    pub question_id: String,
    /// A document's id, a reply's model and condition; may be empty.
    pub title: String,
    /// The words around the match, on one line.
    pub excerpt: String,
    /// Byte ranges of the excerpt that match.
    pub marks: Vec<Range<usize>>,
    /// Run and id of the reply, for reasoning and notes.
    pub reply: Option<(String, String)>,
}

/// The longest text that an excerpt is looked for in, in bytes.
const MOST: usize = 200 << 10;

/// Bytes shown before the first match.
const BEFORE: usize = 60;

/// A text on one line, cleaned and bounded, in which matches are looked for.
pub fn searchable(text: &str) -> String {
    let end = floor(text, MOST);
    one_line(&text[..end])
}

/// About `most` bytes of a text around the place where most of the marks (in order) stand close together, with
/// the marks in it; an ellipsis stands where something was cut off.
pub fn excerpt(text: &str, marks: &[Range<usize>], most: usize) -> (String, Vec<Range<usize>>) {
    let best = densest(marks, most.saturating_sub(BEFORE));
    let mut start = floor(text, best.saturating_sub(BEFORE));
    if best <= BEFORE {
        start = 0;
    } else if let Some(space) = text[start..best].find(' ') {
        start += space + 1;
    }
    let end = floor(text, start + most);
    let mut out = String::new();
    if start > 0 {
        out.push_str("… ");
    }
    let shift = out.len();
    out.push_str(&text[start..end]);
    if end < text.len() {
        out.push('…');
    }
    let inside = marks
        .iter()
        .filter(|mark| mark.start >= start && mark.end <= end);
    let moved = inside.map(|mark| mark.start - start + shift..mark.end - start + shift);
    (out, moved.collect())
}

/// Start of the first of the places where most marks lie within `room` bytes; marks stand in order.
fn densest(marks: &[Range<usize>], room: usize) -> usize {
    let (mut best, mut most, mut end) = (0, 0, 0);
    for (at, mark) in marks.iter().enumerate() {
        end = end.max(at);
        while marks
            .get(end)
            .is_some_and(|last| last.end <= mark.start + room)
        {
            end += 1;
        }
        if end - at > most {
            (best, most) = (mark.start, end - at);
        }
    }
    best
}

/// The last boundary of a character that is not behind `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_excerpt_shows_the_place_with_most_matches() {
        let text = format!(
            "zinc stands here alone. {} copper and zinc together at the end",
            "word ".repeat(60)
        );
        let mut marks: Vec<Range<usize>> = ["zinc", "copper"]
            .iter()
            .flat_map(|word| {
                text.match_indices(word)
                    .map(|(at, found)| at..at + found.len())
            })
            .collect();
        marks.sort_by_key(|mark| mark.start);
        let (shown, marks) = excerpt(&text, &marks, 120);
        assert!(shown.starts_with("… word"), "{shown}");
        let words: Vec<&str> = marks.iter().map(|mark| &shown[mark.clone()]).collect();
        assert_eq!(words, ["copper", "zinc"]);
        let (short, marks) = excerpt("zinc", std::slice::from_ref(&(0..4)), 120);
        assert_eq!(
            (short.as_str(), marks.len(), marks[0].clone()),
            ("zinc", 1, 0..4)
        );
    }

    proptest! {
        #[test]
        fn marks_stay_on_their_words(text in "[a中é ]{0,300}", word in 0usize..20, most in 70usize..150) {
            let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let marks: Vec<Range<usize>> = starts
                .chunks(word + 1)
                .filter_map(|chunk| {
                    let at = *chunk.first()?;
                    let length = text[at..].chars().next()?.len_utf8();
                    Some(at..at + length)
                })
                .collect();
            let (shown, moved) = excerpt(&text, &marks, most);
            for mark in moved {
                prop_assert_eq!(shown[mark].chars().count(), 1);
            }
        }
    }
}
