//! Whether a text contains a phrase, as whole words.

use crate::domain::text::document_key;

/// A text in the form in which phrases are looked up: as [`document_key`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Searchable(String);

impl Searchable {
    /// Prepares a text.
    pub fn new(text: &str) -> Searchable {
        Searchable(document_key(text))
    }

    /// Whether the text contains the phrase as whole words: the characters around it are no letters or
    /// digits where the phrase itself begins or ends with one. Never true for an empty phrase.
    pub fn mentions(&self, phrase: &Searchable) -> bool {
        let (text, phrase) = (self.0.as_str(), phrase.0.as_str());
        let (Some(first), Some(last)) = (phrase.chars().next(), phrase.chars().next_back()) else {
            return false;
        };
        text.match_indices(phrase).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + phrase.len()..].chars().next();
            ends_word(before, first) && ends_word(after, last)
        })
    }
}

/// Whether a word ends between the character at a phrase's end and its neighbour outside.
fn ends_word(outside: Option<char>, inside: char) -> bool {
    !(inside.is_alphanumeric() && outside.is_some_and(char::is_alphanumeric))
}

/// Whether finding this answer in a text means anything: words such as "yes" stand everywhere.
pub fn is_telling(answer: &str) -> bool {
    let word = answer.trim().trim_end_matches('.').to_lowercase();
    !word.is_empty() && !["yes", "no", "maybe", "true", "false"].contains(&word.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mentions(text: &str, phrase: &str) -> bool {
        Searchable::new(text).mentions(&Searchable::new(phrase))
    }

    #[test]
    fn phrases_are_found_as_whole_words() {
        assert!(mentions("Given 15\n mg  daily.", "15 MG"));
        assert!(!mentions("Given 115 mg daily", "15 mg"));
        assert!(!mentions("Given 15 mgs", "15 mg"));
        assert!(mentions("at <5% of", "<5%"));
        assert!(mentions("(hepatitis A)", "hepatitis a"));
        assert!(!mentions("hepatitis and", "hepatitis a"));
        assert!(mentions("in the nasopharynx; nasopharynx", "Nasopharynx"));
        // The first place is inside a word, the second is not.
        assert!(mentions("preirons iron", "iron"));
        assert!(!mentions("anything", " "));
    }

    #[test]
    fn some_answers_tell_nothing() {
        for word in ["Yes", "no.", " maybe ", "TRUE", ""] {
            assert!(!is_telling(word), "{word}");
        }
        assert!(is_telling("norepinephrine"));
    }
}
