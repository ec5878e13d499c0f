//! Named definitions of "the answer of a reply", for standard questions.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::answer::{Ending, Evidence, Outcome, ReplyShape, Rule, parse};
use crate::domain::context::Scenario;
use crate::domain::normalize::headline;
use crate::domain::question::Question;
use crate::domain::text::short;

/// How a reply is read and what its accuracy is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Definition {
    /// The benchmark's: repairs what can be repaired; calls that failed are left out.
    #[default]
    Paper,
    /// Only a valid object of the schema with one offered letter; no repair.
    Strict,
    /// As MIRAGE's evaluation script reads replies; divided by all.
    Mirage,
}

impl Definition {
    /// The lower-case name used in flags and files.
    pub fn name(self) -> &'static str {
        match self {
            Definition::Paper => "paper",
            Definition::Strict => "strict",
            Definition::Mirage => "mirage",
        }
    }
}

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Definition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Definition::Paper, Definition::Strict, Definition::Mirage]
            .into_iter()
            .find(|definition| definition.name() == text)
            .ok_or_else(|| {
                format!(
                    "\"{}\" is not a definition; expected paper, strict or mirage",
                    short(text)
                )
            })
    }
}

/// A reply to a standard question as a definition reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// What became of the reply.
    pub outcome: Outcome,
    /// The chosen letter.
    pub answer: Option<char>,
    /// Repairs and oddities.
    pub notes: Vec<String>,
    /// The rule that decided and its place in the raw reply; `None` only where the reply is null.
    pub evidence: Option<Evidence>,
}

impl Reading {
    fn of(outcome: Outcome, answer: Option<char>, note: Option<&str>) -> Reading {
        Reading {
            outcome,
            answer,
            notes: note.map(str::to_owned).into_iter().collect(),
            evidence: None,
        }
    }

    fn because(self, rule: Rule, start: usize, end: usize) -> Reading {
        Reading {
            evidence: Some(Evidence { rule, start, end }),
            ..self
        }
    }
}

/// The shape of replies to a standard question without documents.
pub fn standard_shape(question: &Question) -> ReplyShape {
    ReplyShape {
        scenario: Scenario::Standard,
        labels: Vec::new(),
        ids: Vec::new(),
        options: question
            .options
            .iter()
            .map(|choice| (choice.letter, choice.text.clone()))
            .collect(),
        sub_questions: Vec::new(),
    }
}

/// Reads a saved reply to a standard question; `None` is a reply that was saved as null.
pub fn read(definition: Definition, raw: Option<&str>, shape: &ReplyShape) -> Reading {
    let Some(raw) = raw else {
        return Reading::of(Outcome::Empty, None, Some("the reply is null"));
    };
    match definition {
        Definition::Paper => {
            let parsed = parse(raw, shape, Ending::Complete);
            Reading {
                outcome: parsed.outcome,
                answer: parsed.answer,
                notes: parsed.notes,
                evidence: parsed.evidence,
            }
        }
        Definition::Strict => strict(raw, shape),
        Definition::Mirage => mirage(raw, shape),
    }
}

/// `strict`: exactly one valid object with the two keys of the schema as texts and nothing else, and
/// one offered letter or "insufficient information" as its answer. A saved error message is still no
/// reply, an empty reply still empty.
fn strict(raw: &str, shape: &ReplyShape) -> Reading {
    if raw.trim().is_empty() {
        return Reading::of(Outcome::Empty, None, None).because(Rule::EmptyReply, 0, 0);
    }
    let object: Option<serde_json::Map<String, Value>> = serde_json::from_str(raw).ok();
    let answer = object.as_ref().and_then(|object| {
        let thinking = object.get("step_by_step_thinking")?;
        let answer = object.get("answer_choice")?.as_str()?;
        (object.len() == 2 && thinking.is_string()).then_some(answer)
    });
    let Some(answer) = answer else {
        let parsed = parse(raw, shape, Ending::Complete);
        if parsed.outcome == Outcome::ProviderError {
            return Reading {
                evidence: parsed.evidence,
                ..Reading::of(Outcome::ProviderError, None, None)
            };
        }
        let note = Some("not an object of the schema");
        return Reading::of(Outcome::Unreadable, None, note).because(
            Rule::NotTheSchema,
            0,
            raw.len(),
        );
    };
    let mut letters = answer.chars();
    let reading = match (letters.next(), letters.next()) {
        (Some(letter), None) if shape.options.iter().any(|(own, _)| *own == letter) => {
            Reading::of(Outcome::Answered, Some(letter), None)
        }
        _ if headline(answer) == "insufficient information" => {
            Reading::of(Outcome::Insufficient, None, None)
        }
        _ => Reading::of(Outcome::Unreadable, None, Some("not one offered letter")),
    };
    let (start, end) = last_value(raw).unwrap_or((0, raw.len()));
    let rule = match reading.outcome {
        Outcome::Unreadable => Rule::NotTheSchema,
        _ => Rule::StrictSchema,
    };
    reading.because(rule, start, end)
}

/// Where the text after the last `"answer_choice"` key of a valid object stands, without its quotes.
fn last_value(raw: &str) -> Option<(usize, usize)> {
    const KEY: &str = "\"answer_choice\"";
    let after = raw.rfind(KEY)? + KEY.len();
    let start = after + raw[after..].find('"')? + 1;
    let end = start + raw[start..].find('"')?;
    Some((start, end))
}

/// `mirage`: MIRAGE's current evaluate.py. The text after the last `"answer_choice": "`, trimmed; the
/// first pattern that matches decides, X being A to D whatever is offered; otherwise A.
fn mirage(raw: &str, shape: &ReplyShape) -> Reading {
    let tail = raw.rsplit("\"answer_choice\": \"").next().unwrap_or(raw);
    let text = tail.trim_end_matches(is_python_space);
    let text = text.trim_start_matches(is_python_space);
    let found = mirage_letter(text);
    let letter = found.map_or('A', |(letter, _)| letter);
    let offered = shape.options.iter().any(|(own, _)| *own == letter);
    let outcome = if offered {
        Outcome::Answered
    } else {
        Outcome::NotOffered
    };
    let reading = Reading::of(
        outcome,
        offered.then_some(letter),
        found
            .is_none()
            .then_some("no pattern matches; A by default"),
    );
    let begin =
        raw.len() - tail.len() + (tail.len() - tail.trim_start_matches(is_python_space).len());
    match found {
        Some((_, at)) => reading.because(Rule::MiragePattern, begin + at, begin + at + 1),
        None => {
            let begin = begin.min(raw.len());
            reading.because(Rule::MirageDefault, begin, begin + text.len())
        }
    }
}

/// The letter that the ten patterns find, tried in their order, and its byte position.
fn mirage_letter(text: &str) -> Option<(char, usize)> {
    let start = text.trim_start_matches(is_python_space);
    let lead = text.len() - start.len();
    let first = start.chars().next().filter(|c| is_choice(*c));
    let rest = start.get(1..).unwrap_or_default();
    // `$` also matches before a final line end.
    let at_start = |follows: &dyn Fn(&str) -> bool| {
        first.filter(|_| follows(rest)).map(|letter| (letter, lead))
    };
    at_start(&|rest| rest.is_empty() || rest == "\n")
        .or_else(|| at_start(&|rest| rest.starts_with(" or")))
        .or_else(|| at_start(&|rest| rest.starts_with(" and")))
        .or_else(|| at_start(&|rest| rest.starts_with('/')))
        .or_else(|| at_start(&|rest| rest.starts_with(',')))
        .or_else(|| {
            after(text, "ption ", |before, rest| {
                let option = before.ends_with(['O', 'o']);
                option.then_some(rest)
            })
        })
        .or_else(|| {
            after(text, ":", |_, rest| {
                Some(rest.trim_start_matches(is_python_space))
            })
        })
        .or_else(|| at_start(&|rest| rest.starts_with('.')))
        .or_else(|| at_start(&|rest| rest.starts_with('"')))
        .or_else(|| at_start(&|rest| rest.starts_with(':')))
}

/// The first place where `needle` stands and what `take` leaves of the text after it begins with a choice.
fn after(
    text: &str,
    needle: &str,
    take: impl for<'t> Fn(&str, &'t str) -> Option<&'t str>,
) -> Option<(char, usize)> {
    text.match_indices(needle).find_map(|(at, _)| {
        let rest = take(&text[..at], &text[at + needle.len()..])?;
        let letter = rest.chars().next().filter(|c| is_choice(*c))?;
        Some((letter, text.len() - rest.len()))
    })
}

fn is_choice(c: char) -> bool {
    matches!(c, 'A'..='D')
}

/// White space as Python's `str.strip` and `\s` have it.
fn is_python_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(letters: usize) -> ReplyShape {
        ReplyShape {
            scenario: Scenario::Standard,
            labels: Vec::new(),
            ids: Vec::new(),
            options: ('A'..='Z')
                .take(letters)
                .map(|letter| (letter, format!("text {letter}")))
                .collect(),
            sub_questions: Vec::new(),
        }
    }

    #[test]
    fn mirage_patterns_in_their_order() {
        for (raw, letter) in [
            ("B", 'B'),
            (" B \n", 'B'),
            ("C or D", 'C'),
            ("C order", 'C'),
            ("C and D", 'C'),
            ("D/A", 'D'),
            ("B, D", 'B'),
            ("B. Option C is wrong", 'C'),
            ("B. so: D", 'D'),
            ("B. text", 'B'),
            ("B\"}", 'B'),
            ("B: text", 'B'),
            ("B text", 'A'),
            ("(B)", 'A'),
            ("b", 'A'),
            ("", 'A'),
            ("the option Byte", 'B'),
            ("adoption C", 'C'),
            ("x: y:  \t\u{a0}C", 'C'),
            (
                "{\"step_by_step_thinking\": \"x: D\", \"answer_choice\": \"C\"}",
                'C',
            ),
            (
                "{\"step_by_step_thinking\": \"x: D\", \"answer_choice\":\"C\"}",
                'D',
            ),
            ("\"answer_choice\": \"B\"} \"answer_choice\": \"C\"}", 'C'),
            ("None of the above", 'A'),
            ("E. text", 'A'),
        ] {
            let reading = read(Definition::Mirage, Some(raw), &shape(4));
            assert_eq!(reading.answer, Some(letter), "{raw}");
        }
        assert_eq!(mirage_letter("B\n"), Some(('B', 0)));
        assert_eq!(mirage_letter(" x: y: C"), Some(('C', 7)));
        assert_eq!(mirage_letter("B\n\n"), None);
        let reading = read(Definition::Mirage, Some("C"), &shape(2));
        assert_eq!(
            (reading.outcome, reading.answer),
            (Outcome::NotOffered, None)
        );
        assert_eq!(read(Definition::Mirage, None, &shape(4)).answer, None);
    }

    #[test]
    fn strict_repairs_nothing() {
        let outcome = |raw: &str| read(Definition::Strict, Some(raw), &shape(4)).outcome;
        let good = r#" {"step_by_step_thinking": "x", "answer_choice": "B"}
"#;
        assert_eq!(outcome(good), Outcome::Answered);
        for raw in [
            r#"{"step_by_step_thinking": "x", "answer_choice": "b"}"#,
            r#"{"step_by_step_thinking": "x", "answer_choice": "B."}"#,
            r#"{"step_by_step_thinking": "x", "answer_choice": "E"}"#,
            r#"{"step_by_step_thinking": "x", "answer_choice": "B",}"#,
            r#"{"step_by_step_thinking": "x", "answer_choice": "B"} ok"#,
            r#"{"step_by_step_thinking": "x", "answer_choice": "B", "more": 1}"#,
            r#"{"step_by_step_thinking": ["x"], "answer_choice": "B"}"#,
            r#"{"answer_choice": "B"}"#,
            r#"[{"step_by_step_thinking": "x", "answer_choice": "B"}]"#,
            "B",
        ] {
            assert_eq!(outcome(raw), Outcome::Unreadable, "{raw}");
        }
        assert_eq!(outcome("  "), Outcome::Empty);
        assert_eq!(outcome("503 Service Unavailable"), Outcome::ProviderError);
        let insufficient =
            r#"{"step_by_step_thinking": "x", "answer_choice": "Insufficient information."}"#;
        assert_eq!(outcome(insufficient), Outcome::Insufficient);
    }

    #[test]
    fn null_replies_are_empty() {
        for definition in [Definition::Paper, Definition::Strict, Definition::Mirage] {
            let reading = read(definition, None, &shape(4));
            assert_eq!((reading.outcome, reading.answer), (Outcome::Empty, None));
        }
    }
}
