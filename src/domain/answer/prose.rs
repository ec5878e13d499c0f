//! Answers in prose: only statements that commit to one, never letters that are weighed on the way.
//!
//! Statements are collected in the order of the text, each strong ("the answer is B", "B is the correct
//! answer") or weak ("B is right", "which leaves B"). Then:
//! 1. Strong statements count before weak ones; a weak one after a strong one counts only if it follows
//!    words of correction ("wait", "actually"); where it is said of "this patient" or "this one", both compete.
//! 2. Of strong statements the last one decides if something between them turns or concludes ("but",
//!    "therefore"); two that merely stand beside each other compete, and no option is chosen. Weak ones
//!    compete unless the later corrects the earlier.
//! 3. A statement that is denied, asked, supposed or put into somebody else's mouth is none; nor is a
//!    wrong, rejected, earlier or merely possible answer, nor one that is called wrong (see `qualified`).
//! 4. A rejection of the chosen option after its statement takes it back. That it is called wrong does so where
//!    the sentence objects ("but B is wrong"), or where exactly one other option is called right after it; else
//!    a wrong option may be what the question asks for.
//! 5. What follows words of correction without another announcement ("Wait, C") is a strong statement that
//!    corrects (see `corrections`).
//! 6. A leaning ("I lean towards B") is a weak statement: the reply prefers one option and names no other.

use super::choice::{Choice, MAX_ANSWER, Read, read_text};
use super::corrections::{CONTRAST, CORRECTION, OBJECTS, TURN, retracted};
use super::evidence::{Mapped, Rule};
use super::letters::leading_letter;
use super::meant::{SUPPOSED, sentence_start};
use super::options::Options;
use super::phrases::{INSUFFICIENT, Pattern, REFUSAL, SPEAKER, compile};
use super::qualified::worst_is_asked;
use super::statements::{ANNOUNCED, Kind, Statement, names_an_option, statements};

/// Most statements that are weighed, the last of the text.
const MAX_STATEMENTS: usize = 64;

/// The statement that commits to an answer, with its place in `text`.
pub(super) fn commitment(
    text: &str,
    options: &Options<'_>,
    notes: &mut Vec<String>,
) -> Option<Read> {
    let plain = Mapped::plain(text);
    let mut all = statements(&plain.text, options);
    let first = all.len().saturating_sub(MAX_STATEMENTS);
    all.drain(..first);
    let verdict = weigh(&plain.text, &all)?;
    notes.push(
        match verdict.rule {
            Rule::SentencesCompete => "sentences commit to different options",
            Rule::TakenBack => "the answer is taken back",
            _ => "the answer is taken from a sentence",
        }
        .into(),
    );
    let at = verdict.at.map(|(start, end)| {
        let span = plain.source(start, end);
        (span.start, span.end)
    });
    Some(Read { at, ..verdict })
}

/// Decides between the statements of a text.
fn weigh(text: &str, all: &[Statement]) -> Option<Read> {
    let mut chosen: Option<&Statement> = None;
    let mut taken_back = None;
    let mut competing = false;
    let mut doubt = Doubt::default();
    for statement in all {
        let choice = match statement.kind {
            Kind::Reject(letter) | Kind::Wrong(letter) => {
                if let Some(old) = chosen
                    && old.kind.choice() == Some(Choice::Letter(letter))
                {
                    if matches!(statement.kind, Kind::Reject(_)) || objects(text, statement) {
                        (taken_back, chosen) = (Some(statement), None);
                    } else {
                        doubt = Doubt::of(old);
                    }
                }
                continue;
            }
            Kind::Strong(choice) | Kind::Weak(choice) | Kind::Corrected(choice) => choice,
        };
        doubt.right(statement);
        let strong = statement.kind.is_strong();
        let Some(old) = chosen else {
            (chosen, competing) = (Some(statement), false);
            continue;
        };
        let between = text.get(old.end..statement.end).unwrap_or_default();
        let old_strong = old.kind.is_strong();
        if old.kind.choice() == Some(choice) {
            if strong || !old_strong {
                competing &= strong == old_strong;
                chosen = Some(statement);
            }
            continue;
        }
        let pattern = if strong && old_strong {
            &TURN
        } else {
            &CORRECTION
        };
        let narrows = old.kind.choice() == Some(Choice::Several) && strong;
        let corrected = matches!(statement.kind, Kind::Corrected(_));
        let corrects = corrected || narrows || pattern.is_match(between);
        match (strong, old_strong) {
            (true, false) => (chosen, competing) = (Some(statement), false),
            (false, true) if !corrects && !CONTRAST.is_match(between) => {}
            _ => (chosen, competing) = (Some(statement), !corrects),
        }
    }
    let Some(chosen) = chosen else {
        let back = taken_back?;
        return Some(Read {
            choice: Choice::Nothing,
            rule: Rule::TakenBack,
            at: Some((back.start, back.end)),
        });
    };
    let chosen = doubt.instead(text, chosen).unwrap_or(chosen);
    let (choice, rule) = match chosen.kind.choice()? {
        _ if competing => (Choice::Several, Rule::SentencesCompete),
        Choice::Several => (Choice::Several, Rule::SeveralNamed),
        choice => (choice, Rule::Sentence),
    };
    if let Some(at) = retracted(text, chosen.end) {
        return Some(Read {
            choice: Choice::Nothing,
            rule: Rule::TakenBack,
            at: Some(at),
        });
    }
    Some(Read {
        choice,
        rule,
        at: Some((chosen.start, chosen.end)),
    })
}

/// Whether the sentence of a statement turns against what was said before: "but B is wrong".
fn objects(text: &str, statement: &Statement) -> bool {
    let from = sentence_start(text, statement.start);
    OBJECTS.is_match(&text[from..statement.start]) && !worst_is_asked(text, statement.start)
}

/// An answer that was called wrong after it was given, without an objection.
#[derive(Default)]
struct Doubt<'s> {
    answer: Option<&'s Statement>,
    /// The first statement after it for another option.
    other: Option<&'s Statement>,
    /// Statements for yet another one followed.
    several: bool,
}

impl<'s> Doubt<'s> {
    fn of(answer: &'s Statement) -> Doubt<'s> {
        Doubt {
            answer: Some(answer),
            ..Doubt::default()
        }
    }

    /// Takes a statement for an option.
    fn right(&mut self, statement: &'s Statement) {
        let choice = statement.kind.choice();
        if self
            .answer
            .is_none_or(|answer| answer.kind.choice() == choice)
        {
            return;
        }
        match self.other {
            None => self.other = Some(statement),
            Some(other) => self.several |= other.kind.choice() != choice,
        }
    }

    /// The one other option that is called right, where `chosen` is still the answer in doubt.
    fn instead(&self, text: &str, chosen: &Statement) -> Option<&'s Statement> {
        let other = self.other.filter(|_| !self.several)?;
        let same = self.answer.map(|answer| answer.kind.choice()) == Some(chosen.kind.choice());
        (same && !worst_is_asked(text, other.start)).then_some(other)
    }
}

/// Where a model goes on with a question of its own making.
pub(super) static NEXT_QUESTION: Pattern =
    Pattern::new(|| compile(r"(?im)^\W{0,6}(?:next\s+)?question\s*\d*\s*:"));

/// Reads a whole reply that holds no object.
pub(super) fn read_reply(text: &str, options: &Options<'_>, notes: &mut Vec<String>) -> Read {
    let lead = text.len() - text.trim_start().len();
    let trimmed = text.trim();
    let next = NEXT_QUESTION.get().and_then(|regex| regex.find(trimmed));
    let first = next.map_or("", |found| trimmed[..found.start()].trim_end());
    let mut read = None;
    if !first.is_empty() {
        let mut own = Vec::new();
        read = Some(read_part(first, options, &mut own)).filter(|read| {
            matches!(
                read.choice,
                Choice::Letter(_) | Choice::Several | Choice::NotOffered
            )
        });
        if read.is_some() {
            notes.push("a further question after the answer is left out".into());
            notes.append(&mut own);
        }
    }
    let read = read.unwrap_or_else(|| read_part(trimmed, options, notes));
    let (start, end) = read.at.unwrap_or((0, trimmed.len()));
    Read {
        at: Some((lead + start, lead + end)),
        ..read
    }
}

fn read_part(trimmed: &str, options: &Options<'_>, notes: &mut Vec<String>) -> Read {
    if let Some(read) = commitment(trimmed, options, notes) {
        return read;
    }
    if let Some(read) = super::marked::marked(trimmed, options, notes) {
        return read;
    }
    if let Some(read) = super::marked::verdicts(trimmed, options, notes) {
        return read;
    }
    // A short reply may be nothing but the answer; one that says "the answer is" has been read.
    let short = trimmed.len() <= 300 && !trimmed.contains('\n');
    if short && !ANNOUNCED.is_match(trimmed) {
        let mut own = Vec::new();
        let read = read_text(trimmed, options, &mut own);
        if read.choice != Choice::Nothing && speaks_of_the_answer(&read, trimmed) {
            notes.extend(own);
            return read;
        }
    }
    if let Some(read) = edge_lines(trimmed, options, notes) {
        return read;
    }
    let tail_start = trimmed
        .char_indices()
        .rev()
        .nth(299)
        .map_or(0, |(at, _)| at);
    let tail = &trimmed[tail_start..];
    for (choice, rule, found) in [
        (
            Choice::Insufficient,
            Rule::InsufficientPhrase,
            says_insufficient(tail),
        ),
        (Choice::NotOffered, Rule::NoneOfThem, says_none(tail)),
    ] {
        if let Some((start, end)) = found {
            notes.push("the answer is taken from a sentence".into());
            return Read {
                choice,
                rule,
                at: Some((tail_start + start, tail_start + end)),
            };
        }
    }
    if trimmed.len() <= MAX_REFUSAL && REFUSAL.is_match(trimmed) && SPEAKER.is_match(trimmed) {
        return Read::by(Choice::Refused, Rule::RefusalPhrase);
    }
    notes.push("no statement commits to an answer".into());
    Read {
        choice: Choice::Nothing,
        rule: Rule::NoStatement,
        at: Some((trimmed.len(), trimmed.len())),
    }
}

/// Longest text, in bytes, that is taken for a refusal.
const MAX_REFUSAL: usize = 600;

/// Says that none of the options is right, about the options as a whole.
static NONE: Pattern = Pattern::new(|| {
    compile(
        r"(?ix)\bnone\s+of\s+(?:the|these|those)\s+(?:(?:given|provided|listed|available|offered|answer|presented|above|following|potential|mentioned)\s+)*(?:options?|choices?|answers?|statements?|above)\b
        | \bnot\s+(?:listed|provided|included|given|offered|available|present|found)\s+(?:among|in|as|within|on)\b[^.]{0,40}\b(?:option|choice|answer)
        | \bnot\s+(?:among|one\s+of|in)\s+(?:the\s+|these\s+)?(?:\w+\s+){0,2}?(?:option|choice)
        | \bno\s+(?:correct|right)\s+(?:answer|option|choice)
        | \bnot\s+A,\s*B,\s*C,?\s*(?:or|nor|and)?\s*D\b",
    )
});

/// What turns from "none of them" or "not enough information" to something else.
static TURNS_AWAY: Pattern = Pattern::new(|| {
    compile(r"(?i)\b(?:however|but|closest|instead|among|still|yet|nevertheless)\b")
});

/// Where a text ends by saying that none of the options is right.
fn says_none(text: &str) -> Option<(usize, usize)> {
    let found = NONE.get()?.find_iter(text).last()?;
    concludes(text, found.start(), found.end())
}

/// The range, if its sentence supposes nothing and no turn follows.
fn concludes(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let from = text[..start].rfind(". ").map_or(0, |at| at + 2);
    let supposed = SUPPOSED.is_match(&text[from..start]);
    (!supposed && !TURNS_AWAY.is_match(&text[end..])).then_some((start, end))
}

/// Whether a short reply that was read like an answer field is meant so: a lack of evidence may be a
/// finding, and a patient who is unable to respond refuses nothing.
fn speaks_of_the_answer(read: &Read, text: &str) -> bool {
    match read.choice {
        Choice::Insufficient => text.len() <= 40 || says_insufficient(text).is_some(),
        Choice::NotOffered if read.rule == Rule::NoneOfThem => {
            text.len() <= 40 || says_none(text).is_some()
        }
        Choice::Refused => SPEAKER.is_match(text),
        _ => true,
    }
}

/// What a sentence about insufficiency must speak of: a study's lack of evidence is a finding, no answer.
static ABOUT_THE_ANSWER: Pattern = Pattern::new(|| {
    compile(
        r"(?i)\b(?:answer\w*|questions?|options?|choices?|information|info|context|details?|documents?|passages?|enough\s+data|respuesta|pregunta|informaci\u{f3}n|informa\u{e7}\u{e3}o|informazioni|frage|angaben)\b|\u{4fe1}\u{606f}|\u{8cc7}\u{8a0a}|\u{95ee}\u{9898}|\u{554f}\u{984c}|\u{7b54}\u{6848}|\u{9009}\u{9879}|\u{60c5}\u{5831}|\u{c815}\u{bcf4}|\u{438}\u{43d}\u{444}\u{43e}\u{440}\u{43c}\u{430}\u{446}|\u{645}\u{639}\u{644}\u{648}\u{645}\u{627}\u{62a}",
    )
});

/// Where a text says that its information does not suffice to answer.
fn says_insufficient(text: &str) -> Option<(usize, usize)> {
    let found = INSUFFICIENT.get()?.find_iter(text).last()?;
    let start = text[..found.start()].rfind(". ").map_or(0, |at| at + 2);
    let end = text[found.end()..]
        .find(". ")
        .map_or(text.len(), |at| found.end() + at);
    if !ABOUT_THE_ANSWER.is_match(&text[start..end]) {
        return None;
    }
    concludes(text, found.start(), found.end())
}

/// Most lines that are searched for a list of the options.
const MAX_LINES: usize = 400;

/// An answer that stands alone in the first or the last line.
fn edge_lines(text: &str, options: &Options<'_>, notes: &mut Vec<String>) -> Option<Read> {
    let place = |line: &str| line.as_ptr() as usize - text.as_ptr() as usize;
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first_line = lines.next()?;
    let last_line = lines.next_back();
    let first = alone(first_line, options);
    let last = last_line.and_then(|line| alone(line, options));
    let (choice, line) = match (first, last) {
        (Some(a), Some(b)) if a != b => return None,
        (Some(choice), _) => (choice, first_line),
        (None, Some(choice)) => (choice, last_line?),
        (None, None) => return None,
    };
    // Where the reply repeats the list of the options, one of its lines is no answer.
    let lists_another = |other: &str| {
        leading_letter(other).is_some_and(|(letter, rest)| {
            let letter = letter.to_ascii_uppercase();
            choice != Choice::Letter(letter) && options.by_text(rest) == Some(letter)
        })
    };
    let short = line.chars().filter(|c| c.is_alphanumeric()).count() <= 1;
    if !short && text.lines().take(MAX_LINES).any(lists_another) {
        return None;
    }
    notes.push("the answer is taken from a line of its own".into());
    let start = place(line);
    Some(Read {
        choice,
        rule: Rule::OwnLine,
        at: Some((start, start + line.len())),
    })
}

/// A line that is one letter, a letter with its option's text, or an option's text.
fn alone(line: &str, options: &Options<'_>) -> Option<Choice> {
    if line.len() > MAX_ANSWER {
        return None;
    }
    // "The answer is a" may go on in the next line.
    if line
        .strip_suffix(" a")
        .is_some_and(|before| !names_an_option(before))
    {
        return None;
    }
    let read = read_text(line, options, &mut Vec::new());
    let Choice::Letter(letter) = read.choice else {
        let said = line.len() < 40 || line.len() < 80 && says_insufficient(line).is_some();
        return (read.choice == Choice::Insufficient && said).then_some(Choice::Insufficient);
    };
    let with_text =
        leading_letter(line).is_some_and(|(_, rest)| options.by_text(rest) == Some(letter));
    let whole = matches!(read.rule, Rule::OneLetter | Rule::OptionText);
    (whole || with_text).then_some(read.choice)
}

#[cfg(test)]
#[path = "prose_tests.rs"]
mod tests;
