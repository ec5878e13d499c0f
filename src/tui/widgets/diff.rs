//! Word-level difference between a document and its edited version.

use std::rc::Rc;
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::tui::theme::Tone;
use crate::tui::widgets::text::Rich;

/// Which words are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DiffView {
    /// The text with deleted words struck out and inserted ones marked.
    #[default]
    Both,
    /// The edited text, inserted words marked: what the model sees.
    Inserted,
    /// The original text, deleted words marked.
    Deleted,
}

impl DiffView {
    /// The next of the three.
    pub fn next(self) -> DiffView {
        match self {
            DiffView::Both => DiffView::Inserted,
            DiffView::Inserted => DiffView::Deleted,
            DiffView::Deleted => DiffView::Both,
        }
    }

    /// What it shows, in a few words.
    pub fn describe(self) -> &'static str {
        match self {
            DiffView::Both => "old and new",
            DiffView::Inserted => "edited text",
            DiffView::Deleted => "original text",
        }
    }
}

/// A difference in pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordDiff {
    pieces: Vec<(ChangeTag, String)>,
    /// Words inserted and deleted.
    pub changed: (usize, usize),
}

/// Compares two texts word by word. Bounded in time: a very large difference gets coarser, not slower.
pub fn compare(old: &str, new: &str) -> WordDiff {
    let diff = TextDiff::configure()
        .timeout(Duration::from_millis(20))
        .diff_unicode_words(old, new);
    let mut pieces: Vec<(ChangeTag, String)> = Vec::new();
    for change in diff.iter_all_changes() {
        match pieces.last_mut() {
            Some((tag, text)) if *tag == change.tag() => text.push_str(change.value()),
            _ => pieces.push((change.tag(), change.value().to_owned())),
        }
    }
    let pieces = join_small_islands(pieces);
    let words = |wanted: ChangeTag| {
        pieces
            .iter()
            .filter(|(tag, _)| *tag == wanted)
            .map(|(_, text)| text.split_whitespace().count())
            .sum()
    };
    let changed = (words(ChangeTag::Insert), words(ChangeTag::Delete));
    WordDiff { pieces, changed }
}

/// `Glendale, Arizona` → `Tampa, Florida` reads better as one change than as two around a comma: equal
/// pieces without a letter or digit between two changes join them.
fn join_small_islands(pieces: Vec<(ChangeTag, String)>) -> Vec<(ChangeTag, String)> {
    let mut out: Vec<(ChangeTag, String)> = Vec::new();
    let (mut deleted, mut inserted) = (String::new(), String::new());
    let last = pieces.len();
    for (index, (tag, text)) in pieces.into_iter().enumerate() {
        match tag {
            ChangeTag::Delete => deleted.push_str(&text),
            ChangeTag::Insert => inserted.push_str(&text),
            ChangeTag::Equal => {
                let words = text.chars().any(char::is_alphanumeric);
                let one_sided = deleted.is_empty() || inserted.is_empty();
                let island = !words && !one_sided && index + 1 < last;
                if island {
                    deleted.push_str(&text);
                    inserted.push_str(&text);
                    continue;
                }
                flush(&mut out, &mut deleted, &mut inserted);
                out.push((ChangeTag::Equal, text));
            }
        }
    }
    flush(&mut out, &mut deleted, &mut inserted);
    out
}

/// Writes the collected change; white space that both sides end with stays outside of it.
fn flush(out: &mut Vec<(ChangeTag, String)>, deleted: &mut String, inserted: &mut String) {
    let (old, new) = (std::mem::take(deleted), std::mem::take(inserted));
    let tail = old
        .chars()
        .rev()
        .zip(new.chars().rev())
        .take_while(|(a, b)| a == b && a.is_whitespace())
        .map(|(c, _)| c.len_utf8())
        .sum::<usize>();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    if old_end > 0 {
        out.push((ChangeTag::Delete, old[..old_end].to_owned()));
    }
    if new_end > 0 {
        out.push((ChangeTag::Insert, new[..new_end].to_owned()));
    }
    if tail > 0 {
        out.push((ChangeTag::Equal, old[old_end..].to_owned()));
    }
}

impl WordDiff {
    /// The text of one view; `marks` writes `[-old-]` and `{+new+}` for terminals without colours.
    pub fn rich(&self, view: DiffView, marks: bool) -> Rc<Rich> {
        let mut pieces = Vec::new();
        for (tag, text) in &self.pieces {
            let (tone, open, close) = match (tag, view) {
                (ChangeTag::Equal, _) => (Tone::Text, "", ""),
                (ChangeTag::Insert, DiffView::Deleted)
                | (ChangeTag::Delete, DiffView::Inserted) => {
                    continue;
                }
                (ChangeTag::Insert, _) => (Tone::Inserted, "{+", "+}"),
                (ChangeTag::Delete, _) => (Tone::Deleted, "[-", "-]"),
            };
            // Old and new word side by side need a gap that neither text has.
            let after_deletion = pieces
                .last()
                .is_some_and(|(_, last)| *last == Tone::Deleted);
            if after_deletion && tone == Tone::Inserted && !marks {
                pieces.push((" ", Tone::Text));
            }
            if marks {
                pieces.extend([(open, tone), (text.as_str(), tone), (close, tone)]);
            } else {
                pieces.push((text.as_str(), tone));
            }
        }
        Rc::new(Rich::build(pieces))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_view_shows_its_side() {
        let diff = compare(
            "held in Tampa, Florida, the home",
            "held in Glendale, Arizona, the home",
        );
        let text = |view| diff.rich(view, true).text().to_owned();
        assert_eq!(
            text(DiffView::Both),
            "held in [-Tampa, Florida-]{+Glendale, Arizona+}, the home"
        );
        assert_eq!(
            text(DiffView::Inserted),
            "held in {+Glendale, Arizona+}, the home"
        );
        assert_eq!(
            text(DiffView::Deleted),
            "held in [-Tampa, Florida-], the home"
        );
        assert_eq!(diff.changed, (2, 2));
    }

    #[test]
    fn without_marks_the_views_are_the_texts_themselves() {
        let (old, new) = ("a b c d", "a x c d e");
        let diff = compare(old, new);
        assert_eq!(diff.rich(DiffView::Inserted, false).text(), new);
        assert_eq!(diff.rich(DiffView::Deleted, false).text(), old);
    }

    #[test]
    fn equal_and_empty_texts() {
        assert_eq!(compare("same", "same").changed, (0, 0));
        assert_eq!(compare("", "new").changed, (1, 0));
        assert_eq!(compare("", "").rich(DiffView::Both, true).text(), "");
    }
}
