//! Whether a sub-question can be understood without the main question and without its document.
//!
//! In a context the sub-questions of several documents stand side by side, and the model must find out which
//! document each is about. A question that leans on a text ("the study") or on something said before ("it") can't
//! be answered by anybody who does not know which document was meant. The rule looks for words that lean:
//!
//! 1. words that point at a text or at something said elsewhere ("mentioned", "this study", "the above");
//! 2. a pronoun or a "this …" before any word that names a thing;
//! 3. no word at all that names a thing.
//!
//! It finds what leans by its form; a question that is merely vague takes a model to find.

use crate::domain::mention::Searchable;

/// Phrases that point at a text or at something said elsewhere.
const POINTERS: [&str; 46] = [
    "the above",
    "above mentioned",
    "above-mentioned",
    "mentioned",
    "aforementioned",
    "the document",
    "this document",
    "the passage",
    "this passage",
    "the text",
    "this text",
    "the article",
    "this article",
    "the abstract",
    "this abstract",
    "the snippet",
    "the excerpt",
    "the paragraph",
    "the paper",
    "this paper",
    "the author",
    "the authors",
    "the researchers",
    "the investigators",
    "the study",
    "this study",
    "these studies",
    "the present study",
    "the trial",
    "this trial",
    "this review",
    "the review",
    "these findings",
    "these results",
    "this patient",
    "these patients",
    "this case",
    "the main question",
    "the previous question",
    "the following",
    "the given",
    "provided text",
    "described here",
    "the options",
    "the option",
    "doc",
];

/// Phrases that would point at a text but for the word behind them ("the study of anatomy").
const GOES_ON: [&str; 3] = ["of", "on", "for"];

/// Words that stand for something named elsewhere.
const PRONOUNS: [&str; 14] = [
    "it", "its", "itself", "they", "them", "their", "theirs", "he", "him", "his", "she", "her",
    "such", "one's",
];

/// Words that point at the noun behind them.
const DEMONSTRATIVES: [&str; 3] = ["this", "these", "those"];

/// Words that name no thing: grammar, and nouns that only say what is asked about a thing.
const LIGHT: &[&str] = &[
    "a",
    "about",
    "across",
    "after",
    "all",
    "also",
    "am",
    "among",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "be",
    "because",
    "been",
    "before",
    "being",
    "best",
    "between",
    "both",
    "but",
    "by",
    "can",
    "cause",
    "caused",
    "causes",
    "characteristic",
    "common",
    "commonly",
    "consequence",
    "could",
    "did",
    "difference",
    "do",
    "does",
    "done",
    "due",
    "during",
    "each",
    "effect",
    "effects",
    "either",
    "example",
    "factor",
    "factors",
    "feature",
    "features",
    "finding",
    "findings",
    "first",
    "for",
    "from",
    "function",
    "had",
    "has",
    "have",
    "help",
    "how",
    "if",
    "important",
    "in",
    "into",
    "is",
    "just",
    "kind",
    "known",
    "least",
    "level",
    "long",
    "main",
    "mainly",
    "many",
    "may",
    "mechanism",
    "might",
    "more",
    "most",
    "much",
    "must",
    "name",
    "not",
    "number",
    "occur",
    "of",
    "often",
    "on",
    "one",
    "or",
    "other",
    "out",
    "over",
    "part",
    "percentage",
    "primary",
    "purpose",
    "rate",
    "reason",
    "result",
    "results",
    "role",
    "same",
    "shall",
    "should",
    "sign",
    "so",
    "some",
    "such",
    "than",
    "that",
    "the",
    "then",
    "there",
    "through",
    "time",
    "to",
    "two",
    "type",
    "types",
    "typical",
    "typically",
    "under",
    "up",
    "use",
    "used",
    "usual",
    "usually",
    "value",
    "very",
    "was",
    "way",
    "were",
    "what",
    "when",
    "where",
    "whether",
    "which",
    "while",
    "who",
    "whom",
    "whose",
    "why",
    "will",
    "with",
    "within",
    "without",
    "would",
    "you",
    "your",
];

/// Words behind an "it" that stands for nothing: "is it safe to …".
const EXPLETIVE: [&str; 5] = ["to", "that", "when", "if", "for"];
/// How far behind it they may stand, in words.
const EXPLETIVE_REACH: usize = 4;

/// Why a sub-question can't be understood alone; `None` where nothing leans.
pub fn why_not_alone(question: &str) -> Option<String> {
    if let Some(phrase) = pointer(question) {
        return Some(format!(
            "\"{phrase}\" points at something outside the sub-question"
        ));
    }
    let words: Vec<String> = words(question).collect();
    let mut named = false;
    for (at, word) in words.iter().enumerate() {
        let leans = PRONOUNS.contains(&word.as_str()) || DEMONSTRATIVES.contains(&word.as_str());
        if leans && !named && !is_expletive(word, &words[at + 1..]) {
            return Some(format!(
                "nothing stands before \"{word}\" that it could mean; name the thing"
            ));
        }
        named |= !leans && !LIGHT.contains(&word.as_str());
    }
    (!named).then(|| "it names no thing that it asks about".to_owned())
}

/// The words of a text in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '-'))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// The words of a text that name things, in lower case: no grammar, no pronouns, no "effect" and its like.
pub fn content_words(text: &str) -> impl Iterator<Item = String> {
    words(text).filter(|word| {
        let word = word.as_str();
        !(LIGHT.contains(&word) || PRONOUNS.contains(&word) || DEMONSTRATIVES.contains(&word))
    })
}

/// The phrase that points outside, if there is one.
fn pointer(question: &str) -> Option<&'static str> {
    let text = Searchable::new(&question.replace('_', " "));
    let found = |phrase: &&&str| {
        if !text.mentions(&Searchable::new(phrase)) {
            return false;
        }
        let goes_on = |next: &&str| text.mentions(&Searchable::new(&format!("{phrase} {next}")));
        !(phrase.starts_with("the ") && GOES_ON.iter().any(goes_on))
    };
    POINTERS.iter().find(found).copied()
}

fn is_expletive(word: &str, behind: &[String]) -> bool {
    let near = behind.iter().take(EXPLETIVE_REACH);
    word == "it" && near.clone().any(|next| EXPLETIVE.contains(&next.as_str()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn questions_that_lean_are_found() {
        for question in [
            "What does it cause?",
            "What is the role of this enzyme?",
            "Which drug is mentioned?",
            "What did the authors conclude?",
            "How many patients did this study follow?",
            "What is the main effect?",
            "Why are they used?",
            "What does DOC_3 say about iron?",
            "According to the passage, which gland swells?",
            "",
        ] {
            assert!(why_not_alone(question).is_some(), "{question}");
        }
    }

    #[test]
    fn questions_that_stand_alone_pass() {
        for question in [
            "Which vitamin does the liver store longest?",
            "How does metformin lower its own absorption?",
            "Is it safe to give metformin in renal failure?",
            "In asthma, which cells release these mediators?",
            "What is the study of tissues called?",
            "At which serum sodium is it advisable to restrict fluids?",
            "What percentage of strokes are ischaemic?",
        ] {
            assert_eq!(why_not_alone(question), None, "{question}");
        }
    }

    #[test]
    fn the_reason_names_the_word() {
        let why = why_not_alone("What does it cause?").unwrap();
        assert!(why.contains("\"it\""), "{why}");
    }
}
