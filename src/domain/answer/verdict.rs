//! The outcome of a reply: which text decides, and by which rule.

use super::choice::{self, Choice, Read};
use super::corrections::{CORRECTION, retracted};
use super::evidence::{Evidence, Rule, Span};
use super::fields::Fields;
use super::meant::sentence_start;
use super::options::Options;
use super::scan::Scan;
use super::{Ending, Outcome, phrases, prose, reader};

/// Evidence of an answer that is not there.
pub(super) fn nowhere(rule: Rule, at: usize) -> Evidence {
    Evidence {
        rule,
        start: at,
        end: at,
    }
}

/// Why there is no answer: `complete` for a reply that has ended.
pub(super) fn absent(outcome: Outcome, complete: Rule) -> Rule {
    match outcome {
        Outcome::Truncated | Outcome::Interrupted => Rule::BrokenOff,
        _ => complete,
    }
}

/// What a reply without an answer is.
pub(super) fn without_answer(ending: Ending, complete: Outcome) -> Outcome {
    match ending {
        Ending::Complete => complete,
        Ending::Length => Outcome::Truncated,
        Ending::Interrupted => Outcome::Interrupted,
        Ending::Running => Outcome::Unreadable,
    }
}

fn of_choice(choice: Choice, ending: Ending) -> (Outcome, Option<char>) {
    match choice {
        Choice::Letter(letter) => (Outcome::Answered, Some(letter)),
        Choice::Several => (Outcome::SeveralOptions, None),
        Choice::NotOffered => (Outcome::NotOffered, None),
        Choice::Insufficient => (Outcome::Insufficient, None),
        Choice::Refused => (Outcome::Refused, None),
        Choice::Nothing => (without_answer(ending, Outcome::Unreadable), None),
    }
}

/// The outcome and what it rests on.
pub(super) struct Verdict {
    pub outcome: Outcome,
    pub answer: Option<char>,
    pub evidence: Evidence,
}

impl Verdict {
    /// No answer, and no text that says so.
    fn without(outcome: Outcome, rule: Rule, at: Span) -> Verdict {
        Verdict {
            outcome,
            answer: None,
            evidence: nowhere(rule, at.end),
        }
    }

    /// What a text that was read means; `place` is its range in the raw reply.
    fn of(read: Read, place: Span, ending: Ending) -> Verdict {
        let (outcome, answer) = of_choice(read.choice, ending);
        let rule = match read.choice {
            Choice::Nothing => absent(outcome, read.rule),
            _ => read.rule,
        };
        Verdict {
            outcome,
            answer,
            evidence: Evidence {
                rule,
                start: place.start,
                end: place.end,
            },
        }
    }
}

/// The outcome of a reply, and the text that decided it.
pub(super) fn decide(
    scan: &Scan<'_>,
    fields: &Fields,
    options: &Options<'_>,
    ending: Ending,
    notes: &mut Vec<String>,
) -> Verdict {
    let whole = scan.raw(Span {
        start: 0,
        end: scan.text.len(),
    });
    if let Some(value) = &fields.answer {
        let mut own = Vec::new();
        let read = choice::read_value(value, options, &mut own);
        // What the text broke off may have become anything: "I" is no option I, but "Insufficient".
        let unfinished = matches!(read.choice, Choice::Nothing | Choice::NotOffered);
        if fields.answer_open && unfinished {
            return broken_off(ending, whole, notes);
        }
        notes.append(&mut own);
        let text = value.as_str().unwrap_or_default();
        let place = fields
            .answer_at
            .map(|at| within_value(scan, at, text, read.at));
        let verdict = Verdict::of(read, place.unwrap_or(whole), ending);
        return corrected(scan, fields, options, &verdict, notes).unwrap_or(verdict);
    }
    if ending == Ending::Running {
        return Verdict::without(Outcome::Unreadable, Rule::NotYet, whole);
    }
    if scan.objects.is_empty() {
        return of_prose(scan, options, ending, whole, notes);
    }
    if fields.is_error {
        return Verdict {
            outcome: Outcome::ProviderError,
            answer: None,
            evidence: Evidence {
                rule: Rule::SavedError,
                start: whole.start,
                end: whole.end,
            },
        };
    }
    if fields.broken_off {
        return broken_off(ending, whole, notes);
    }
    notes.push("the answer field is missing".into());
    if let Some(read) = prose::commitment(&scan.prose.text, options, notes) {
        let (start, end) = read.at.unwrap_or((0, scan.prose.text.len()));
        return Verdict::of(read, scan.raw_prose(start, end), ending);
    }
    let reasoning = fields.reasoning.as_deref().unwrap_or_default();
    match prose::commitment(reasoning, options, notes) {
        Some(read) => {
            let at = fields.sources.reasoning;
            let place = at.map(|at| within_value(scan, at, reasoning, read.at));
            Verdict::of(read, place.unwrap_or(whole), ending)
        }
        None => {
            let outcome = without_answer(ending, Outcome::Unreadable);
            Verdict::without(outcome, absent(outcome, Rule::NoStatement), whole)
        }
    }
}

/// The text ends inside an object, before its answer.
fn broken_off(ending: Ending, whole: Span, notes: &mut Vec<String>) -> Verdict {
    notes.push("the object breaks off before its answer".into());
    let outcome = without_answer(ending, Outcome::Truncated);
    Verdict::without(outcome, Rule::BrokenOff, whole)
}

/// A reply without an object.
fn of_prose(
    scan: &Scan<'_>,
    options: &Options<'_>,
    ending: Ending,
    whole: Span,
    notes: &mut Vec<String>,
) -> Verdict {
    let prose = &scan.prose.text;
    if prose.trim().is_empty() {
        notes.push("nothing but hidden reasoning".into());
        if scan.cut {
            let outcome = without_answer(ending, Outcome::Truncated);
            return Verdict::without(outcome, Rule::BrokenOff, whole);
        }
        let outcome = without_answer(ending, Outcome::Unreadable);
        return Verdict::without(outcome, absent(outcome, Rule::HiddenOnly), whole);
    }
    if phrases::is_saved_error(prose.trim()) {
        let place = scan.raw_prose(0, prose.len());
        let read = Read::by(Choice::Nothing, Rule::SavedError);
        let verdict = Verdict::of(read, place, Ending::Complete);
        return Verdict {
            outcome: Outcome::ProviderError,
            ..verdict
        };
    }
    let read = prose::read_reply(prose, options, notes);
    if scan.cut && read.choice == Choice::Nothing && read.rule == Rule::NoStatement {
        notes.push("the text ends inside an object or a hidden block".into());
        let outcome = without_answer(ending, Outcome::Truncated);
        return Verdict::without(outcome, Rule::BrokenOff, whole);
    }
    let (start, end) = read.at.unwrap_or((0, prose.len()));
    let place = scan.raw_prose(start, end);
    // A letter that ends a text that was cut may be the beginning of a word: "the answer is A|spirin".
    let cut = ending != Ending::Complete
        && matches!(read.choice, Choice::Letter(_))
        && read.rule == Rule::Sentence
        && end >= prose.trim_end().len()
        && prose.trim_end().ends_with(char::is_alphanumeric);
    if cut {
        let outcome = without_answer(ending, Outcome::Unreadable);
        return Verdict::without(outcome, Rule::BrokenOff, whole);
    }
    Verdict::of(read, place, ending)
}

/// The range in the raw reply of a part of a field's `text`, or of the whole value.
fn within_value(scan: &Scan<'_>, value: Span, text: &str, part: Option<(usize, usize)>) -> Span {
    let of_part = part.and_then(|(start, end)| {
        let mapped = reader::unescaped(&scan.text, value);
        let same = mapped.text.get(start..end)? == text.get(start..end)?;
        same.then(|| mapped.source(start, end))
    });
    scan.raw(of_part.unwrap_or(value))
}

/// The answer of text outside the object that commits to another option. Text after the object that says
/// that it corrects itself ("I made an error above") or that gives a final answer counts, and so does one that
/// takes the answer back. One that concludes with another answer competes with the object; otherwise the object does, and it is noted.
fn corrected(
    scan: &Scan<'_>,
    fields: &Fields,
    options: &Options<'_>,
    verdict: &Verdict,
    notes: &mut Vec<String>,
) -> Option<Verdict> {
    let answer = verdict.answer?;
    let prose = &scan.prose.text;
    if prose.trim().is_empty() {
        return None;
    }
    let from = fields.answer_at.map(|at| scan.prose.after(at.end));
    let offset = from.unwrap_or(prose.len()).min(prose.len());
    let after = own_part(prose.get(offset..).unwrap_or_default());
    if let Some((read, (start, end))) = correction(after, Some(Choice::Letter(answer)), options)
        && read.choice != Choice::Letter(answer)
    {
        notes.push(match read.choice {
            Choice::Nothing => {
                format!("the text after the object takes its answer {answer} back")
            }
            Choice::Several => {
                format!("the text after the object concludes with another answer than {answer}")
            }
            _ => format!(
                "the text after the object corrects its answer {answer}; the correction counts"
            ),
        });
        let place = scan.raw_prose(offset + start, offset + end);
        return Some(Verdict::of(read, place, Ending::Complete));
    }
    let said = prose::commitment(prose.trim(), options, &mut Vec::new());
    if let Some(Choice::Letter(other)) = said.map(|read| read.choice)
        && other != answer
    {
        notes.push(format!(
            "the text around the object commits to {other}; the object counts"
        ));
    }
    None
}

/// A text up to where the model goes on with a question of its own making.
fn own_part(after: &str) -> &str {
    let next = prose::NEXT_QUESTION.get();
    let found = next.and_then(|regex| regex.find(after));
    found.map_or(after, |found| &after[..found.start()])
}

/// "Final answer: B", as the words of a statement.
static FINAL: phrases::Pattern = phrases::Pattern::new(|| {
    phrases::compile(r"(?i)\bfinal\s+(?:answer|choice|option|selection|decision|verdict)\b")
});

/// "Therefore the answer is B", as the words of a statement.
static CONCLUDES: phrases::Pattern = phrases::Pattern::new(|| {
    phrases::compile(
        r"(?i)^\W*(?:so|therefore|thus|hence|overall|in\s+(?:conclusion|summary)|to\s+conclude)\b",
    )
});

/// What a text after an object says in correction of it, and where.
fn correction(
    after: &str,
    answer: Option<Choice>,
    options: &Options<'_>,
) -> Option<(Read, (usize, usize))> {
    let Some(read) = prose::commitment(after, options, &mut Vec::new()) else {
        let at = retracted(after, 0)?;
        return Some((Read::by(Choice::Nothing, Rule::TakenBack), at));
    };
    let (start, end) = read.at?;
    let own = after.get(sentence_start(after, start)..end)?;
    let corrects = CORRECTION.is_match(after.get(..end)?) || FINAL.is_match(own);
    let counts = matches!(read.choice, Choice::Letter(_)) || read.rule == Rule::TakenBack;
    if counts && !corrects && CONCLUDES.is_match(own) {
        let competes = Read::by(Choice::Several, Rule::SentencesCompete);
        let same = Some(read.choice) == answer;
        return (!same).then_some((competes, (start, end)));
    }
    (counts && corrects).then_some((read, (start, end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_compile() {
        assert!(FINAL.get().is_some() && CONCLUDES.get().is_some());
    }
}
