//! Answers in prose: only statements that commit to one, never letters that are weighed on the way.

use regex::Regex;

use super::choice::{
    Choice, MAX_ANSWER, Options, follows_a_letter, leading_letter, names_more, read_text, unwrap,
};
use super::phrases::{INSUFFICIENT, NO_OPTION, NOT_OFFERED, Pattern, REFUSAL, UNKNOWN};

/// "the answer is", "correct option:", "answer_choice":, "I choose": the answer follows.
static CUE: Pattern = Pattern::new(|| {
    Regex::new(
        r#"(?ix)
        (?:
          \b(?:answer(?:[_\s]+choice)?|(?:correct|right|best|final|chosen|suitable|appropriate)\s+(?:option|choice|response|selection)|(?:option|choice)\s+that\s+\w+\s+best)
          \b(?:\s+(?:to|for|of|in|here|among|based|given|from)\b[^.:;\n]{0,80}?)?
          ["'*_`\s]*
          (?:is|would\s+be|should\s+be|must\s+be|appears\s+to\s+be|seems\s+to\s+be|will\s+be|:|=|->|\u{2192})
          | \bI\s+(?:would\s+|will\s+|['\u{2019}]d\s+)?(?:choose|select|pick|go\s+with|answer\s+with)
          | \bI['\u{2019}](?:d|ll)\s+(?:choose|select|pick|go\s+with)
          | \\boxed\{
        )
        ["'*_`\s:]*
        (?:(?:therefore|thus|likely|most\s+likely|probably|clearly|definitely|simply|indeed|then|either|both|options?|choices?|letter|answer|the\s+option|\\text\{)\b["'*_`\s:,{]*)*
        "#,
    )
    .ok()
});

/// "option B is correct", "(C) is the correct answer": the answer comes first.
static SUBJECT: Pattern = Pattern::new(|| {
    Regex::new(
        r"(?x)
        (?:\b(?i:option|choice|answer)\s+[(\[]?([A-Za-z])[)\]]?|(?:^|[.,:;\n]\s*|\b(?i:so|therefore|thus|hence),?\s+)[(\[]?([A-Z])[)\]]?)
        (?:[.:)][^.\n]{0,120}?)?,?
        \s+(?:is|would\s+be|must\s+be|seems)\s+(?:therefore\s+|thus\s+|clearly\s+|likely\s+)?
        (?:the\s+(?:\w+\s+)?(?:correct|right|best|final)\s+(?:answer|option|choice)|the\s+answer|(?:correct|right)\s*(?:[.!\n]|$))
        ",
    )
    .ok()
});

/// Most statements that are looked at, from the last backwards.
const MAX_STATEMENTS: usize = 50;

/// The last statement that commits to an answer.
pub(super) fn commitment(
    text: &str,
    options: &Options<'_>,
    notes: &mut Vec<String>,
) -> Option<Choice> {
    let plain = text.replace(['*', '`'], "");
    let cue = CUE.get().and_then(|regex| {
        let found: Vec<(usize, usize)> = regex
            .find_iter(&plain)
            .map(|found| (found.start(), found.end()))
            .collect();
        found
            .into_iter()
            .rev()
            .take(MAX_STATEMENTS)
            .find_map(|(start, end)| Some((start, after_cue(&plain[end..], options)?)))
    });
    let subject = SUBJECT.get().and_then(|regex| {
        let found = regex.captures_iter(&plain).last()?;
        let letter = found.get(1).or_else(|| found.get(2))?.as_str();
        let letter = letter.chars().next()?.to_ascii_uppercase();
        let choice = if options.offers(letter) {
            Choice::Letter(letter)
        } else {
            Choice::NotOffered
        };
        Some((found.get(0)?.start(), choice))
    });
    let last = match (cue, subject) {
        (Some(a), Some(b)) => Some(if a.0 >= b.0 { a } else { b }),
        (a, b) => a.or(b),
    };
    last.map(|(_, choice)| {
        notes.push("the answer is taken from a sentence".into());
        choice
    })
}

/// Reads what follows "the answer is".
fn after_cue(tail: &str, options: &Options<'_>) -> Option<Choice> {
    let line_end = tail.find('\n').unwrap_or(tail.len());
    let mut length = line_end.min(400);
    while !tail.is_char_boundary(length) {
        length -= 1;
    }
    let line = tail[..length].trim_end();
    let sentence = &line[..line.find(". ").unwrap_or(line.len())];
    if sentence.is_empty() {
        return None;
    }
    if let Some(letter) = options.by_text(sentence).or_else(|| options.by_text(line)) {
        return Some(Choice::Letter(letter));
    }
    if let Some(letter) = options.leading_word(sentence) {
        return Some(Choice::Letter(letter));
    }
    if let Some(choice) = letter_after_cue(line, options) {
        return Some(choice);
    }
    if let Some(letter) = options.beginning(line) {
        return Some(Choice::Letter(letter));
    }
    let start = line.trim_start().to_lowercase();
    let bare = unwrap(sentence);
    if NOT_OFFERED.is_match(sentence) || NO_OPTION.is_match(&bare) {
        return Some(Choice::NotOffered);
    }
    if UNKNOWN.is_match(&bare) || INSUFFICIENT.is_match(sentence) && !start.starts_with("not ") {
        return Some(Choice::Insufficient);
    }
    None
}

/// The letter right after the cue, where it is one: not an article, not a name.
fn letter_after_cue(line: &str, options: &Options<'_>) -> Option<Choice> {
    let open = line.trim_start();
    let inner = open.trim_start_matches(['(', '[', '{', '"', '\'']);
    let bracketed = inner.len() < open.len();
    let letter = inner.chars().next().filter(char::is_ascii_alphabetic)?;
    let upper = letter.to_ascii_uppercase();
    let rest = &inner[1..];
    let next = rest.chars().next();
    let is_letter = match next {
        None => true,
        Some(c) if c.is_alphanumeric() || c == '\u{2019}' || c == '_' => false,
        Some('\'') if rest[1..].starts_with(char::is_alphabetic) => false,
        Some(')' | ']' | '}' | '"' | '\'') => true,
        // "D-dimer", "C+ state"
        Some('-' | '+' | '\u{2010}'..='\u{2015}') => {
            !rest[next.map_or(1, char::len_utf8)..].starts_with(|c: char| c.is_alphanumeric())
        }
        Some('.' | ':') => ends_a_letter(letter, bracketed, rest, options),
        Some(',' | ';' | '!' | '?' | '/' | '&') => letter.is_ascii_uppercase() || bracketed,
        Some(_) => spaced(letter, upper, rest, options),
    };
    if !is_letter {
        return None;
    }
    if names_more(upper, rest, options) || two_joined(rest, upper, options) {
        return Some(Choice::Several);
    }
    if !options.offers(upper) {
        return Some(Choice::NotOffered);
    }
    Some(Choice::Letter(upper))
}

/// "B." at an end, before a new sentence or before the option's text; but not "C. difficile".
fn ends_a_letter(letter: char, bracketed: bool, rest: &str, options: &Options<'_>) -> bool {
    let after = rest[1..].trim_start();
    if after.is_empty() || bracketed {
        return true;
    }
    let upper = letter.to_ascii_uppercase();
    if options.begins_alike(upper, after) || options.shares_word(upper, after) {
        return true;
    }
    let first_word_short = after.starts_with(|c: char| c.is_ascii_lowercase());
    letter.is_ascii_uppercase() && !first_word_short && rest[1..].starts_with(char::is_whitespace)
}

/// "B because …", "B (text)", "B text of option B"; but not "A patient", "B cells".
fn spaced(letter: char, upper: char, rest: &str, options: &Options<'_>) -> bool {
    if !letter.is_ascii_uppercase() {
        return false;
    }
    let after = rest.trim_start();
    let joined = ["or ", "and ", "/", "- ", "\u{2013} ", "\u{2014} "]
        .iter()
        .any(|word| after.starts_with(word));
    after.is_empty()
        || joined
        || follows_a_letter(after)
        || (options.begins_alike(upper, after) && after.split_whitespace().next().is_some())
}

/// "B or D", "B/D" at the end of a line or sentence.
fn two_joined(rest: &str, first: char, options: &Options<'_>) -> bool {
    let tail = rest
        .trim_start()
        .trim_start_matches([')', ']'])
        .trim_start();
    let after = ["or ", "and ", "/", "& ", ", "]
        .iter()
        .find_map(|word| tail.strip_prefix(word));
    after.is_some_and(|after| {
        let after = after
            .trim_start_matches("option ")
            .trim_start_matches(['(', '[']);
        let mut chars = after.chars();
        let second = chars.next().filter(char::is_ascii_uppercase);
        let bounded = chars.next().is_none_or(|c| !c.is_alphanumeric());
        second.is_some_and(|c| bounded && c != first && options.offers(c))
            && (after.len() == 1 || !follows_a_letter(&after[1..]))
    })
}

/// Reads a whole reply that holds no object.
pub(super) fn read_reply(text: &str, options: &Options<'_>, notes: &mut Vec<String>) -> Choice {
    let trimmed = text.trim();
    if let Some(choice) = commitment(trimmed, options, notes) {
        return choice;
    }
    // A short reply may be nothing but the answer; one that says "the answer is" has been read.
    let short = trimmed.len() <= 300 && !trimmed.contains('\n');
    if short && !CUE.is_match(trimmed) {
        let mut own = Vec::new();
        let choice = read_text(trimmed, options, &mut own);
        if choice != Choice::Nothing {
            notes.extend(own);
            return choice;
        }
    }
    if let Some(choice) = edge_lines(trimmed, options, notes) {
        return choice;
    }
    let tail_start = trimmed
        .char_indices()
        .rev()
        .nth(299)
        .map_or(0, |(at, _)| at);
    let tail = &trimmed[tail_start..];
    if INSUFFICIENT.is_match(tail) {
        notes.push("the answer is taken from a sentence".into());
        return Choice::Insufficient;
    }
    if NOT_OFFERED.is_match(tail) {
        notes.push("the answer is taken from a sentence".into());
        return Choice::NotOffered;
    }
    if trimmed.len() <= MAX_ANSWER && REFUSAL.is_match(trimmed) {
        return Choice::Refused;
    }
    notes.push("no statement commits to an answer".into());
    Choice::Nothing
}

/// An answer that stands alone in the first or the last line.
fn edge_lines(text: &str, options: &Options<'_>, notes: &mut Vec<String>) -> Option<Choice> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next()?;
    let last = lines.next_back();
    let first = alone(first, options);
    let last = last.and_then(|line| alone(line, options));
    let choice = match (first, last) {
        (Some(a), Some(b)) if a != b => return None,
        (a, b) => a.or(b)?,
    };
    notes.push("the answer is taken from a line of its own".into());
    Some(choice)
}

/// A line that is one letter, a letter with its option's text, or an option's text.
fn alone(line: &str, options: &Options<'_>) -> Option<Choice> {
    if line.len() > MAX_ANSWER {
        return None;
    }
    let choice = read_text(line, options, &mut Vec::new());
    let Choice::Letter(letter) = choice else {
        return matches!(choice, Choice::Insufficient if line.len() < 80)
            .then_some(Choice::Insufficient);
    };
    let bare_letters = line.chars().filter(|c| c.is_alphanumeric()).count();
    let with_text =
        leading_letter(line).is_some_and(|(_, rest)| options.by_text(rest) == Some(letter));
    (bare_letters == 1 || with_text || options.by_text(line) == Some(letter)).then_some(choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Options<'static> {
        let texts = ["Vitamin D", "Clindamycin", "Hepatitis B", "Rest"];
        let list: Vec<(char, String)> = ('A'..='Z')
            .zip(texts.iter().map(|text| (*text).to_owned()))
            .collect();
        Options::new(list.leak())
    }

    fn read(text: &str) -> Choice {
        read_reply(text, &options(), &mut Vec::new())
    }

    #[test]
    fn patterns_compile() {
        assert!(CUE.get().is_some() && SUBJECT.get().is_some());
    }

    #[test]
    fn statements_that_commit() {
        for text in [
            "It covers anaerobes. The answer is B",
            "Weighing A and C, the correct answer is B.",
            "So the answer is (B).",
            "Answer: B",
            "**Answer:** B",
            "Final answer: **B. Clindamycin**",
            "the correct option is B because it covers anaerobes",
            "The best choice is: B",
            "A is tempting. D too. Therefore, the correct answer to the question is option B.",
            "The answer is A. Wait, that is wrong: the answer is B.",
            "Therefore, option B is the correct answer.",
            "So B is the correct answer.",
            "Option A is wrong. Option B is correct.",
            "I would choose B.",
            "I'd go with B, since it covers anaerobes.",
            "The answer is clindamycin.",
            "We get \\boxed{B}",
            "\"answer_choice\": \"B\"",
            "answer is b.",
            "B\n\nIt covers anaerobes, unlike A.",
            "It covers anaerobes, unlike A.\n\nB",
            "It covers anaerobes.\n\nB. Clindamycin",
            "The answer is B. The patient needs it.",
            "The answer is B, not C.",
            "The correct answer is B (clindamycin).",
            "The most appropriate choice is B.",
        ] {
            assert_eq!(read(text), Choice::Letter('B'), "{text}");
        }
        assert_eq!(read("The answer is vitamin D."), Choice::Letter('A'));
        assert_eq!(read("The answer is hepatitis B, clearly."), Choice::Nothing);
        assert_eq!(read("The answer is hepatitis B."), Choice::Letter('C'));
    }

    #[test]
    fn letters_on_the_way_are_no_answer() {
        for text in [
            "A patient with vitamin D deficiency and hepatitis B needs care.",
            "The answer is a matter of debate.",
            "The answer is A matter of debate.",
            "Option A is plausible, and option B is too. Let us weigh them.",
            "The answer is not A.",
            "The best answer is E. coli infection",
            "The answer is B cells",
            "The answer is D-dimer",
            "The answer is I think complicated",
            "Vitamin D is the correct supplement here.",
            "A. Vitamin D\nB. Clindamycin\nC. Hepatitis B\nD. Rest",
            "If the answer is",
            "Blood group A is common. Group B is less so.",
        ] {
            assert_eq!(read(text), Choice::Nothing, "{text}");
        }
    }

    #[test]
    fn other_ends() {
        for text in [
            "Therefore the correct answer is either A. Vitamin D, B. Clindamycin, or D. Rest.",
            "The answer is A or B.",
            "The answer is B/D",
            "The correct answers are both fine, but the answer is A and C.",
        ] {
            assert_eq!(read(text), Choice::Several, "{text}");
        }
        for text in [
            "Therefore, the correct answer is not listed among the options provided.",
            "The answer is none of the above.",
            "The answer is F.",
        ] {
            assert_eq!(read(text), Choice::NotOffered, "{text}");
        }
        for text in [
            "The documents do not mention it. Therefore the answer cannot be determined.",
            "There is not enough information to answer.",
            "The answer is insufficient information.",
        ] {
            assert_eq!(read(text), Choice::Insufficient, "{text}");
        }
        assert_eq!(
            read("I'm sorry, but I can't provide medical advice. Please see a physician."),
            Choice::Refused
        );
    }
}
