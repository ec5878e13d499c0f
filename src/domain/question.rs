//! Multiple-choice questions.

use serde::{Deserialize, Serialize};

use crate::domain::text::text_key;

/// One option of a question: an upper-case letter and its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The letter, `A` to `Z`.
    pub letter: char,
    /// What the option says.
    pub text: String,
}

/// A multiple-choice question with its right answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Unique within its dataset.
    pub id: String,
    /// The question (for vignettes the whole case).
    pub text: String,
    /// The options in file order; letters are unique.
    pub options: Vec<Choice>,
    /// The right option's letter; always one of `options`.
    pub answer: char,
    /// Fields of the file that this program does not know, kept for export.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

impl Question {
    /// The text of the option with this letter.
    pub fn option(&self, letter: char) -> Option<&str> {
        self.options
            .iter()
            .find(|choice| choice.letter == letter)
            .map(|choice| choice.text.as_str())
    }

    /// The text of the right option.
    pub fn gold_text(&self) -> &str {
        self.option(self.answer).unwrap_or_default()
    }

    /// What two questions share that ask the same and offer the same, whatever their spacing and case.
    pub fn key(&self) -> u128 {
        let mut whole = self.text.clone();
        for option in &self.options {
            whole = format!("{whole}\n{} {}", option.letter, option.text);
        }
        text_key(&whole)
    }

    /// Whether every option is one of the words yes, no, maybe (the BioASQ and PubMedQA sets).
    pub fn is_yes_no_maybe(&self) -> bool {
        self.options.iter().all(|choice| {
            ["yes", "no", "maybe"]
                .iter()
                .any(|word| choice.text.trim().eq_ignore_ascii_case(word))
        })
    }
}
