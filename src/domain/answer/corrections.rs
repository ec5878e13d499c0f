//! Corrections: words with which a text turns from its answer or takes it back, and the answer that follows them
//! without any other announcement: "Wait, C.", "Correction: C", "Sorry, I meant C", "D, no, C".
//!
//! A letter counts as a correction only where nothing is said about it: "Wait, C is contraindicated" corrects
//! nothing.

use super::choice::Choice;
use super::letters::RIGHT_MARKS;
use super::meant::first_line;
use super::options::Options;
use super::phrases::{Pattern, compile};
use super::statements::{Kind, Statement, places};
use super::targets::{letter_at, without_brackets, word_end};

/// Thinking again: "on second thought", "upon rereading", "after closer inspection".
const AGAIN: &str = r"(?:on|upon|after)\s+(?:(?:second|further|closer|deeper|another|additional|(?:some\s+)?more)\s+(?:\w+\s+)?(?:thoughts?|thinking|reflection|look|review|reading|consideration|inspection|examination|analysis)|(?:\w+\s+)?re-?(?:read|think|check|consider|evaluat|examin|assess|visit)\w*|(?:\w+\s+)?reflection)";

/// Owning up to a mistake.
const ADMITS: &str = r"sorry|apologi[sz]e|apolog(?:y|ies)|my\s+(?:mistake|error|bad)|mistaken|misread|misspoke|oops|whoops|scratch\s+that|strike\s+that|i\s+was\s+wrong|i\s+made\s+(?:a|an|some)\s+(?:\w+\s+)?(?:mistakes?|errors?)|there\s+(?:is|was)\s+(?:a|an)\s+(?:mistake|error)|i\s+take\s+(?:that|it)\s+back|(?:that|this|which)(?:['\u{2019}]s|\s+is|\s+was)\s+(?:not\s+(?:right|correct|true)|wrong|incorrect|a\s+mistake|an\s+error)";

/// Changing an answer: "I change my answer to", "I'd like to revise that", "corrected answer".
const CHANGES: &str = r"(?:chang|switch|revis|correct|amend|updat|retract)(?:e|ed|ing)?\s+(?:my|the|this)\s+(?:\w+\s+)?(?:answer|choice|response|selection|pick|verdict|conclusion|decision|mind)|(?:to|let\s+me|i['\u{2019}]ll|i\s+(?:will|must|should))\s+(?:revise|correct|amend|rectify|retract|rephrase)\s+(?:that|this|it|myself)|(?:corrected|revised|updated|amended|new)\s+(?:\w+\s+)?(?:answer|choice|option|response|selection|verdict|conclusion)|i\s+(?:meant|mean)\b|i\s+(?:should|ought\s+to)\s+have\s+(?:said|chosen|answered|picked|written)|make\s+(?:that|it)\b|or\s+rather";

/// The heading of a correction.
const HEADINGS: &str = r"(?:edit|update|updated|correction|corrected|revised|revision|erratum|amendment)\s*[:\u{2014}\u{2013}-]";

/// Words with which a text turns from one answer to another, or concludes.
pub(super) static TURN: Pattern = Pattern::new(|| {
    compile(&format!(
        r"(?i)\b(?:wait|hold\s+on|hang\s+on|actually|but|however|instead|rather|therefore|thus|hence|so|finally|final|mistake|reconsider\w*|re-?(?:evaluat|examin|think|read|check|assess)\w*|revis\w+|overall|conclu\w+|in summary|in short|to sum|scratch|after all|yet|although|whereas|correction|no,|hmm|upon|that['\u{{2019}}]s (?:not|wrong)|that is (?:not|wrong)|{AGAIN}|{ADMITS}|{CHANGES}|{HEADINGS})"
    ))
});

/// Words with which a text corrects itself.
pub(super) static CORRECTION: Pattern = Pattern::new(|| {
    compile(&format!(
        r"(?i)\b(?:wait|hold\s+on|hang\s+on|actually|reconsider\w*|correction|no,|hmm|instead|{AGAIN}|{ADMITS}|{CHANGES}|{HEADINGS})"
    ))
});

/// "The answer is D for a stable patient; for this one it is C": what follows is about the case itself, what stands
/// before perhaps about another. Neither is said to be the answer to the question alone.
pub(super) static CONTRAST: Pattern = Pattern::new(|| {
    compile(
        r"(?i)[;,.:\u{2014}\u{2013}]\s*(?:(?:but|and|whereas|while)\s+)?(?:for|in)\s+(?:this|our|the\s+(?:present|current|given))\s+(?:[\w-]+\s+){0,2}?(?:one|patients?|case|question|scenario|woman|man|child|infant|boy|girl)\b[^.;\n]*$",
    )
});

/// Words that take back what was just said.
static RETRACTION: Pattern = Pattern::new(|| {
    compile(
        r"(?i)\b(?:scratch that|strike that|i take (?:that|it) back|(?:wait|no|hmm|actually|sorry|oops|hold on|my apologies|my mistake)[,.!\u{2026} -]{1,5}(?:actually[, ]+)?(?:no[,.]? |(?:that|this|it)(?:['\u{2019}]s| is| was| can['\u{2019}]?t| cannot) (?:not |be )?(?:right|correct|wrong|incorrect|true|a mistake)))",
    )
});

/// Where the text takes back, right after `end`, what was said before it.
pub(super) fn retracted(text: &str, end: usize) -> Option<(usize, usize)> {
    let after = text.get(end..)?;
    let near = &after[..after.floor_char_boundary(300)];
    let found = RETRACTION.get()?.find(near)?;
    Some((end + found.start(), end + found.end()))
}

/// Turns against what was just said, within its sentence.
pub(super) static OBJECTS: Pattern = Pattern::new(|| {
    compile(&format!(
        r"(?i)\b(?:but|however|yet|wait|hold\s+on|hang\s+on|actually|no,|hmm|nevertheless|unfortunately|{AGAIN}|{ADMITS})"
    ))
});

/// A word of correction with all that may stand between it and the answer.
static CORRECTED: Pattern = Pattern::new(|| {
    // What may stand there without saying which answer it is.
    let fill = r"(?:no|nope|wait|actually|sorry|oops|it|that|this|is|was|it['\u{2019}]s|that['\u{2019}]s|should|would|must|have|be|been|i['\u{2019}]m|i['\u{2019}]d|i['\u{2019}]ll|i\s+(?:meant|mean|should|would|will|think|believe|choose|pick|say|go|am|made|was|now|misread|misspoke|apologi[sz]e|need|want)|meant|mean|the|my|an?\s+(?:mistake|error)|correct|right|better|best|proper|answer|option|choice|letter|final|make|to|like|revise|change|instead|rather|go|going|with|choose|pick|now|so|hence|therefore|wrong|incorrect|of\s+course|apologies|mistake|bad|not\s+(?-i:[A-Z])\s*,?\s*but|from\s+(?:option\s+)?[(\[]?(?-i:[A-Z])[)\]]?)\b";
    let gap = r#"[\s,.:;!\u{2026}"'(\[_\u{2014}\u{2013}-]"#;
    compile(&format!(
        r"(?imx)
        (?:^\W*|[.!?:;,(\n\u{{2014}}\u{{2013}}-]\s*|\b(?:but|and|so|oh|ah)\s+)
        (?:(?:wait|hold\s+on|hang\s+on|actually|hmm+|instead|i['\u{{2019}}]m\s+sorry|i\s+am\s+sorry|my\s+apologies|i\s+apologi[sz]e|{AGAIN}|{ADMITS})\b
          |(?:i\s+(?:must|will|would\s+like(?:\s+to)?|need(?:\s+to)?|want(?:\s+to)?|have(?:\s+to)?|should)\s+|i['\u{{2019}}](?:ll|d\s+like(?:\s+to)?)\s+|i\s+|let\s+me\s+)?(?:{CHANGES})\b
          |(?:no|nope|rather)\s*[,.!:;\u{{2026}}\u{{2014}}\u{{2013}}-]
          |(?:{HEADINGS}))
        (?:{gap}*{fill})*{gap}*"
    ))
});

/// The longest stretch of words before the answer of a correction, in bytes.
const MAX_HEAD: usize = 200;

/// The longest way, in bytes, to name several letters and nothing else.
const MAX_SEVERAL: usize = 16;

/// The corrections of a text.
pub(super) fn corrected(text: &str, options: &Options<'_>, out: &mut Vec<Statement>) {
    for (start, end) in places(&CORRECTED, text) {
        if end - start > MAX_HEAD {
            continue;
        }
        let line = first_line(&text[end..]);
        let found = answer_at(line, options)
            .map(|(choice, length)| (choice, end + length))
            .or_else(|| Some((word_swallowed(&text[start..end], line, options)?, end)));
        if let Some((choice, end)) = found {
            let head = &text[start..end];
            let signs = head.len()
                - head
                    .trim_start_matches(|c: char| !c.is_alphanumeric())
                    .len();
            out.push(Statement {
                kind: Kind::Corrected(choice),
                start: start + signs,
                end,
            });
        }
    }
}

/// The answer that a line begins with and of which nothing else is said, and where it ends.
fn answer_at(line: &str, options: &Options<'_>) -> Option<(Choice, usize)> {
    let sentence = &line[..line.find(". ").unwrap_or(line.len())];
    if let Some(letter) = options.leading_word(line) {
        return Some((Choice::Letter(letter), word_end(line)));
    }
    if let Some(letter) = options.by_text(sentence.trim_end_matches(['!', '.', ' '])) {
        return Some((Choice::Letter(letter), sentence.len()));
    }
    let capital = line
        .trim_start_matches(['(', '[', '"', '\''])
        .starts_with(|c: char| c.is_ascii_uppercase());
    let (choice, length) = letter_at(line, options).filter(|_| capital)?;
    let Choice::Letter(letter) = choice else {
        // "B or C" is said; "A and B play no role" is something else.
        return (length <= MAX_SEVERAL).then_some((choice, length));
    };
    ends_there(letter, &line[length..], options).then_some((choice, length))
}

/// Whether nothing but a reason or the option's own text follows a letter.
fn ends_there(letter: char, rest: &str, options: &Options<'_>) -> bool {
    let rest = rest.trim_start_matches([')', ']', '"', '\'', '\u{201d}', '$', '_', '}']);
    let own = rest.trim_start_matches([':', '.', ')', ' ']);
    if own.len() < rest.len() && options.begins_alike(letter, own) {
        return true;
    }
    let rest =
        without_brackets(rest).trim_start_matches(|c: char| c == ' ' || RIGHT_MARKS.contains(&c));
    let reasons = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    rest.is_empty()
        || rest.starts_with(['.', '!', ';', '\u{2014}', '\u{2013}'])
        || [
            "because", "since", "as ", "given", "due", "not ", "over ", "rather", "instead",
            "based", "by ",
        ]
        .iter()
        .any(|word| reasons.starts_with(word))
}

/// "No, wait: no." where yes and no are the options: the last word is the answer.
fn word_swallowed(head: &str, rest: &str, options: &Options<'_>) -> Option<Choice> {
    let stops = head.trim_end_matches([' ', '\n']);
    let at_end = rest.trim().is_empty() || stops.ends_with(['.', '!', ',', ';']);
    if !at_end || !options.are_yes_no_maybe() {
        return None;
    }
    let mut words = head
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .rev();
    let last = words.next()?;
    words.next()?;
    options.by_text(last).map(Choice::Letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_compile() {
        for pattern in [
            &TURN,
            &CORRECTION,
            &CONTRAST,
            &RETRACTION,
            &OBJECTS,
            &CORRECTED,
        ] {
            assert!(pattern.get().is_some());
        }
    }
}
