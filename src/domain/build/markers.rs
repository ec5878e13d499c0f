//! Words in an adversarial version that tell a model that it is one.

use crate::domain::mention::Searchable;

/// Words of whoever edits, which no medical text needs.
const MARKERS: [&str; 22] = [
    "counterfactual",
    "adversarial",
    "edited",
    "edited version",
    "modified version",
    "modified text",
    "revised sentence",
    "rewritten",
    "fabricated",
    "fictitious",
    "misinformation",
    "false claim",
    "wrong answer",
    "incorrect answer",
    "new answer",
    "true answer",
    "original document",
    "original answer",
    "planted",
    "sentence 1",
    "as an ai",
    "language model",
];

/// Pieces of replies and prompts, in any case and inside of words.
const PIECES: [&str; 8] = [
    "new_answer",
    "sentence_",
    "other_edits",
    "edited_document",
    "doc_",
    "```",
    "</document",
    "{\"",
];

/// What gives an edited text away: a marker that the original does not have.
pub fn leaked(original: &str, edited: &str) -> Option<&'static str> {
    let (before, after) = (Searchable::new(original), Searchable::new(edited));
    let is_new = |marker: &&&str| {
        let marker = Searchable::new(marker);
        after.mentions(&marker) && !before.mentions(&marker)
    };
    if let Some(marker) = MARKERS.iter().find(is_new) {
        return Some(marker);
    }
    let (before, after) = (original.to_lowercase(), edited.to_lowercase());
    PIECES
        .iter()
        .find(|piece| after.contains(**piece) && !before.contains(**piece))
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_markers_give_away() {
        assert_eq!(
            leaked("Iron.", "Zinc (counterfactual)."),
            Some("counterfactual")
        );
        assert_eq!(leaked("Iron.", "\"new_answer\": Zinc"), Some("new_answer"));
        assert_eq!(leaked("The edited volume.", "The edited volume."), None);
        assert_eq!(leaked("Iron.", "Zinc."), None);
        assert_eq!(leaked("Iron.", "DOC_2 says zinc."), Some("doc_"));
    }
}
