//! Whether a text contains a phrase, as whole words.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

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

/// The words of a text with their places, as they are compared: signs around a word don't count, except those
/// that change a number ("<5", "-3", "5%"), and "Apple's" is the word "Apple".
fn words(text: &str) -> Vec<(Range<usize>, String)> {
    let is_edge = |c: char| !c.is_alphanumeric() && !"<>\u{2264}\u{2265}%+-\u{2212}".contains(c);
    let mut found = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || "/()[]\u{2014}".contains(c)) {
        let bare = word.trim_matches(is_edge);
        let bare = ["'s", "\u{2019}s", "'S", "\u{2019}S"]
            .iter()
            .find_map(|owned| bare.strip_suffix(owned))
            .unwrap_or(bare);
        if bare.chars().any(char::is_alphanumeric) {
            // Both are slices of the text, so the difference of their starts is an offset.
            let start = bare.as_ptr() as usize - text.as_ptr() as usize;
            found.push((start..start + bare.len(), compared(bare)));
        }
    }
    found
}

/// A word as it is compared: NFKC, lower case, one kind of dash and one of apostrophe.
fn compared(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let sign = |c: char| match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}' | '\u{2019}' => '\'',
        'ς' => 'σ',
        c => c,
    };
    word.nfkc().flat_map(char::to_lowercase).map(sign).collect()
}

/// A text whose words are looked up with their places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed(Vec<(Range<usize>, String)>);

impl Placed {
    /// Takes a text apart.
    pub fn new(text: &str) -> Placed {
        Placed(words(text))
    }

    /// The byte ranges of the text where the words of `phrase` stand one after another; none for a phrase
    /// without words.
    pub fn places(&self, phrase: &str) -> Vec<Range<usize>> {
        let wanted: Vec<String> = words(phrase).into_iter().map(|(_, word)| word).collect();
        match wanted.len() {
            0 => Vec::new(),
            length => self
                .0
                .windows(length)
                .filter(|window| window.iter().map(|(_, word)| word).eq(&wanted))
                .map(|window| window[0].0.start..window[length - 1].0.end)
                .collect(),
        }
    }

    /// How many words the text has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the text has no word.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// For each word whether it lies in a run of `length` words that `wanted` takes.
    pub fn in_runs(&self, length: usize, wanted: impl Fn(&[&str]) -> bool) -> Vec<bool> {
        let mut inside = vec![false; self.0.len()];
        for (at, run) in self.runs(length).enumerate() {
            if wanted(&run) {
                inside[at..at + run.len()].fill(true);
            }
        }
        inside
    }

    /// All runs of `length` words, as sets are made of them.
    pub fn runs(&self, length: usize) -> impl Iterator<Item = Vec<&str>> {
        self.0
            .windows(length.max(1))
            .map(|window| window.iter().map(|(_, word)| word.as_str()).collect())
    }

    /// The byte ranges that runs of `length` words cover which `wanted` takes; ranges that touch or overlap
    /// are joined.
    pub fn covered(&self, length: usize, wanted: impl Fn(&[&str]) -> bool) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for window in self.0.windows(length.max(1)) {
            let run: Vec<&str> = window.iter().map(|(_, word)| word.as_str()).collect();
            if !wanted(&run) {
                continue;
            }
            let (start, end) = (window[0].0.start, window[window.len() - 1].0.end);
            match ranges.last_mut() {
                Some(last) if start <= last.end => last.end = end,
                _ => ranges.push(start..end),
            }
        }
        ranges
    }
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

    #[test]
    fn places_are_those_of_the_text_as_it_is() {
        let text = "Give 15\n mg (oral), not 1.5 mg; β-blockers: 15 mg.";
        let placed = Placed::new(text);
        let found: Vec<&str> = placed
            .places("15 MG")
            .into_iter()
            .map(|at| &text[at])
            .collect();
        assert_eq!(found, ["15\n mg", "15 mg"]);
        assert!(placed.places("5 mg").is_empty());
        assert_eq!(placed.places("β-Blockers").len(), 1);
        assert!(placed.places(" ; ").is_empty());
        // Dashes, apostrophes and letters of another form are the same word.
        let typeset = Placed::new("the patient\u{2019}s \u{3b2}\u{2011}blocker, ﬁrst");
        assert_eq!(typeset.places("patient's β-blocker").len(), 1);
        assert_eq!(typeset.places("first").len(), 1);
        let owned = "Apple's deal; APPLE\u{2019}S, apples";
        let found = Placed::new(owned).places("Apple");
        assert_eq!(found, [0..5, 14..19]);
        // A sign that changes a number counts.
        assert!(Placed::new("at <5% of").places("5%").is_empty());
        assert_eq!(Placed::new("at <5% of").places("<5%").len(), 1);
    }

    #[test]
    fn covered_runs_are_joined() {
        let text = "one two three four, and five six seven";
        let placed = Placed::new(text);
        let wanted = |run: &[&str]| run[0] != "and" && run[2] != "and" && run[1] != "and";
        let found: Vec<&str> = placed
            .covered(3, wanted)
            .into_iter()
            .map(|at| &text[at])
            .collect();
        assert_eq!(found, ["one two three four", "five six seven"]);
        assert_eq!(placed.runs(3).count(), 6);
        let inside = placed.in_runs(3, wanted);
        assert_eq!(inside, [true, true, true, true, false, true, true, true]);
        assert_eq!((placed.len(), placed.is_empty()), (8, false));
        assert!(Placed::new("").covered(3, |_| true).is_empty());
    }
}
