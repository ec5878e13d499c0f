//! What is said of an answer before and after it is named: "the wrong answer is A", "the answer is A,
//! which is false".
//!
//! Rules, since a question may ask for the least likely option or for the wrong one:
//! 1. Wrong, rejected, earlier, example, merely possible, and other people's answers never commit.
//! 2. "The least likely answer", "the worst option" and "the second best choice" commit only where the
//!    reply itself says that this is asked for. The reader does not know the question.
//! 3. An answer that is called wrong in the same breath is none, unless the reply says that a wrong one is
//!    asked for.

use super::meant::{first_line, sentence_start};
use super::phrases::{Pattern, compile};

/// Words directly before "answer" that reject it, or put it at another time or into another mouth.
const NEVER: &[&str] = &[
    "wrong",
    "incorrect",
    "false",
    "untrue",
    "mistaken",
    "erroneous",
    "invalid",
    "rejected",
    "excluded",
    "eliminated",
    "discarded",
    "dismissed",
    "bad",
    "poor",
    "unlikely",
    "improbable",
    "implausible",
    "inappropriate",
    "unsuitable",
    "non-correct",
    "previous",
    "prior",
    "earlier",
    "former",
    "initial",
    "first",
    "old",
    "original",
    "preliminary",
    "tentative",
    "provisional",
    "example",
    "sample",
    "template",
    "dummy",
    "hypothetical",
    "other",
    "another",
    "alternative",
    "competing",
    "tempting",
    "common",
    "frequent",
    "popular",
    "user",
    "student",
    "students",
    "users",
    "candidate",
    "examinee",
    "learner",
    "colleague",
    "his",
    "her",
    "their",
    "whose",
];

/// Words that make an answer one of many, unless they are made the only or the best one.
const TENTATIVE: &[&str] = &["possible", "potential", "plausible", "conceivable"];

/// Whose answer is not the reply's own, in "the doctor's answer".
const ANSWERERS: &[&str] = &[
    "resident",
    "doctor",
    "physician",
    "teacher",
    "author",
    "friend",
    "expert",
    "reviewer",
    "everyone",
    "somebody",
    "someone",
    "model",
    "textbook",
    "book",
];

/// What the words before an answer make of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Qualified {
    /// Nothing.
    Plain,
    /// No answer, whatever the question is.
    Never,
    /// An answer if the question asks for the worst.
    Worst,
}

/// The last words of a text, the nearest first, up to a sign that ends the phrase.
fn words_before(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for word in text.split_whitespace().rev().take(3) {
        if word.ends_with([
            ',', ';', ':', '.', '!', '?', ')', ']', '\u{2014}', '\u{2013}',
        ]) {
            break;
        }
        let opened = word.starts_with(['(', '[', '"', '\u{201c}']);
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        found.push(bare.to_lowercase().replace('\u{2019}', "'"));
        if opened {
            break;
        }
    }
    found
}

/// Whether a word is somebody else's: "user's". A patient has options, but no answers.
fn is_of_another(word: &str) -> bool {
    let owner = word.strip_suffix("'s");
    owner.is_some_and(|owner| NEVER.contains(&owner) || ANSWERERS.contains(&owner))
}

fn qualified(before: &str) -> Qualified {
    let words = words_before(before);
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let raised = ["only", "best", "most", "single", "sole"];
    let never = NEVER.contains(&word(0)) && !(word(0) == "first" && word(1) == "very")
        || TENTATIVE.contains(&word(0)) && !raised.contains(&word(1))
        || words.iter().take(2).any(|word| is_of_another(word));
    if never {
        return Qualified::Never;
    }
    let at_least = |at: usize| word(at + 1) == "at";
    let least = (0..words.len())
        .any(|at| matches!(word(at), "least" | "worst" | "less" | "weakest") && !at_least(at));
    let second = ["second", "third", "second-best", "2nd"];
    if least || words.iter().any(|word| second.contains(&word.as_str())) {
        return Qualified::Worst;
    }
    Qualified::Plain
}

/// "The answer that can be excluded", "the option that fits least".
static EXCLUDED: Pattern = Pattern::new(|| {
    compile(
        r"(?i)\b(?:options?|choices?|one|statement|answers?)\s+(?:that|which)\b[^.:;\n]*\b(?:excluded|eliminated|ruled\s+out|rejected|dismissed|discarded|wrong|incorrect|false|unlikely|improbable|least|worst)\b",
    )
});

/// Says that the question asks for the wrong or the worst option.
static ASKED_FOR_THE_WORST: Pattern = Pattern::new(|| {
    compile(
        r"(?ix)\b(?:questions?\s+(?:is|was|wants|about)|asks?|asked|asking|which\s+(?:one|of|options?|answers?|choices?|statements?)|looking\s+for|identify)\b[^.?!\n]{0,80}?
        \b(?:least|worst|except|not|false|incorrect|wrong|untrue|unlikely|contraindicated|excluded|ruled\s+out|second)\b
        | (?-i:\b(?:EXCEPT|NOT|FALSE|INCORRECT|LEAST)\b) | \bthe\s+exception\b",
    )
});

/// How far before and after a statement the reply is searched for what the question asks.
const NEAR: usize = 4000;

/// Whether the reply says around `at` that the wrong or the worst option is asked for.
pub(super) fn worst_is_asked(text: &str, at: usize) -> bool {
    let from = text.ceil_char_boundary(at.saturating_sub(NEAR));
    let to = text.floor_char_boundary((at + NEAR / 8).min(text.len()));
    text.get(from..to)
        .is_some_and(|near| ASKED_FOR_THE_WORST.is_match(near))
}

/// Whether its words, and those before it in its sentence, let the announcement at `start..end` commit.
pub(super) fn commits(text: &str, (start, end): (usize, usize)) -> bool {
    let before = &text[sentence_start(text, start)..start];
    let worst = match qualified(before) {
        Qualified::Never => return false,
        Qualified::Worst => true,
        Qualified::Plain => EXCLUDED.is_match(&text[start..end]),
    };
    !worst || worst_is_asked(text, start)
}

/// What follows an answer and calls it wrong: ", which is false", "– but that's outdated".
static CALLED_WRONG: Pattern = Pattern::new(|| {
    compile(
        r"(?ix)^[)\]\x22'\u{201d}]*\s*(?:[,;\u{2014}\u{2013}-]\s*)?(?:\([^)\n]{1,60}\)\s*,?\s*)?
        (?:which|but\s+(?:that|this|it)|and\s+(?:that|this|it))(?:['\u{2019}]s|\s+(?:(?:I|we|many|some)\s+(?:think|believe|find|consider)\s+)?(?:is|are|was|seems|appears)(?:n['\u{2019}]t|\s+(?:to\s+be))?)?\s+
        (?:(?:clearly|obviously|simply|now|also|actually|just|plainly|probably|likely|quite|entirely|in\s+fact|of\s+course|a|an)\s+){0,2}
        (?:wrong|incorrect|false|untrue|outdated|obsolete|inaccurate|mistaken|mistake|error|nonsense|(?:not\s+)(?:right|correct|true|accurate))\b",
    )
});

/// "This is not right." as the sentence after an answer, perhaps with an excuse before it.
static THEN_CALLED_WRONG: Pattern = Pattern::new(|| {
    compile(
        r"(?ix)^[^.!?\n]{0,60}[.!?\n]\s*(?:(?:but|however|wait|no|hmm|oops|sorry|actually|i['\u{2019}]m\s+sorry|(?:my|i)\s+(?:apologies|apologi[sz]e|mistake|bad))\b[,.:;!\u{2026}\s\u{2014}\u{2013}-]*){0,3}
        (?:this|that|it)(?:\s+(?:answer|option|choice|one))?(?:['\u{2019}]s|\s+is|\s+was)(?:\s+(?:clearly|obviously|simply|definitely|however|actually))?
        (?:n['\u{2019}]t\s+(?:right|correct|true)|\s+(?:not\s+(?:right|correct|true)|wrong|incorrect|untrue|mistaken|an?\s+(?:error|mistake)))\s*(?:[.!;,:\u{2014}\u{2013}]|$|\n)",
    )
});

/// Whether what follows the end of a statement calls it wrong.
pub(super) fn is_called_wrong(text: &str, end: usize) -> bool {
    let after = &text[end..];
    let near = &after[..after.floor_char_boundary(200)];
    if THEN_CALLED_WRONG.is_match(near) {
        return true;
    }
    CALLED_WRONG.is_match(first_line(near)) && !worst_is_asked(text, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_compile() {
        for pattern in [
            &EXCLUDED,
            &ASKED_FOR_THE_WORST,
            &CALLED_WRONG,
            &THEN_CALLED_WRONG,
        ] {
            assert!(pattern.get().is_some());
        }
    }

    #[test]
    fn words_before_an_answer_qualify_it() {
        for (before, expected) in [
            ("The ", Qualified::Plain),
            ("So the single ", Qualified::Plain),
            ("The only possible ", Qualified::Plain),
            ("The best possible ", Qualified::Plain),
            ("A is wrong, the ", Qualified::Plain),
            ("That's wrong: the ", Qualified::Plain),
            ("Here's the ", Qualified::Plain),
            ("At least the ", Qualified::Plain),
            ("The most common wrong ", Qualified::Never),
            ("Possible ", Qualified::Never),
            ("The user\u{2019}s ", Qualified::Never),
            ("User's final ", Qualified::Never),
            ("My first ", Qualified::Never),
            ("The least likely ", Qualified::Worst),
            ("The second best ", Qualified::Worst),
        ] {
            assert_eq!(qualified(before), expected, "{before}");
        }
    }
}
