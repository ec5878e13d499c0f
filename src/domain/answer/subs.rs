//! Sub-answers: matched by position, verified by the echoed question.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::documents::{One, read_one};
use super::evidence::Span;
use super::fields::{Opened, find, key_form, text_of};
use super::names::Names;
use super::{Ending, ReplyShape, SubAnswer};
use crate::domain::normalize::{headline, squad};

/// Deepest wrong nesting that is followed.
const MAX_NESTED: usize = 40;

/// Adds a note once.
pub(super) fn push(notes: &mut Vec<String>, note: String) {
    if !notes.contains(&note) && notes.len() < 100 {
        notes.push(note);
    }
}

/// The number in `sub_k` and its spellings, from a key's comparable form.
pub(super) fn number(form: &str) -> Option<usize> {
    let digits = [
        "subquestion",
        "subquestions",
        "subanswer",
        "subq",
        "sub",
        "question",
        "q",
    ]
    .iter()
    .find_map(|stem| form.strip_prefix(stem).filter(|rest| !rest.is_empty()))?;
    digits
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| digits.parse().ok())
        .flatten()
}

/// Whether a key holds the sub-answers as a list.
pub(super) fn is_list_key(form: &str) -> bool {
    matches!(
        form,
        "sub" | "subs" | "subquestions" | "subanswers" | "subquestion"
    )
}

/// The value of `sub_k`.
struct Entry<'a> {
    value: &'a Value,
    /// Keys down to the value at which the object ends.
    open: Vec<String>,
    /// Which object holds it, under which keys; none for an item of a list.
    origin: Option<(usize, Vec<&'a str>)>,
}

/// The sub-answers of all objects, and where they stand in the scanned text.
pub(super) fn gather<'a>(
    objects: &[Opened<'a>],
    shape: &ReplyShape,
    names: &Names,
    ending: Ending,
    notes: &mut Vec<String>,
) -> (Vec<Option<SubAnswer>>, Vec<Option<Span>>) {
    let asked = shape.sub_questions.len();
    let mut entries: BTreeMap<usize, Entry<'a>> = BTreeMap::new();
    let mut loose = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        let mut collector = Collector {
            object: number,
            path: Vec::new(),
            entries: &mut entries,
            notes,
        };
        collector.collect(object.map, &object.open);
        if is_sub(object.map) {
            loose.push(object);
        }
    }
    if !entries.is_empty() && entries.contains_key(&0) && !entries.contains_key(&asked) {
        push(notes, "sub-answers are counted from 0".into());
        entries = entries
            .into_iter()
            .map(|(k, entry)| (k + 1, entry))
            .collect();
    }
    let mut read: Vec<Option<ReadSub>> = vec![None; asked];
    let mut places = vec![None; asked];
    if entries.is_empty() {
        for (sub, object) in read.iter_mut().zip(&loose) {
            push(
                notes,
                "sub-answers without their keys, taken in order".into(),
            );
            *sub = Some(read_map(object.map, &object.open, names, notes));
        }
    }
    let mut surplus = 0_usize;
    for (k, entry) in entries {
        let at = k.checked_sub(1).filter(|at| *at < asked);
        let Some(at) = at else {
            surplus += 1;
            continue;
        };
        read[at] = read_sub(entry.value, &entry.open, names, notes);
        places[at] = entry
            .origin
            .filter(|_| read[at].is_some())
            .and_then(|(object, path)| objects.get(object)?.place(&path));
    }
    if surplus > 0 {
        push(
            notes,
            format!("{surplus} sub-answers to questions that were not asked"),
        );
    }
    let cut: Vec<bool> = read
        .iter()
        .map(|read| read.as_ref().is_some_and(|read| read.echo_cut))
        .collect();
    let subs = settled(read, notes);
    for (k, sub) in subs.iter().enumerate() {
        let echo = sub.as_ref().and_then(|sub| sub.question.as_deref());
        let whole = ending != Ending::Running && !cut.get(k).copied().unwrap_or(false);
        if let Some(echo) = echo.filter(|_| whole)
            && echoes_another(echo, k, &shape.sub_questions)
        {
            push(
                notes,
                format!("sub_{} echoes another question than asked", k + 1),
            );
        }
    }
    (subs, places)
}

/// A sub-answer, and how it names its document.
#[derive(Debug, Clone)]
struct ReadSub {
    sub: SubAnswer,
    bare: bool,
    zero: bool,
    /// The text ends inside the echoed question.
    echo_cut: bool,
}

/// Where one sub-answer names document 0, the bare numbers of all of them may count from 0.
fn settled(read: Vec<Option<ReadSub>>, notes: &mut Vec<String>) -> Vec<Option<SubAnswer>> {
    let zero = read.iter().flatten().any(|read| read.zero);
    if zero {
        push(
            notes,
            "documents may be counted from 0; bare numbers do not count".into(),
        );
    }
    let settle = |mut read: ReadSub| {
        if zero && read.bare {
            read.sub.document = None;
        }
        read.sub
    };
    read.into_iter().map(|sub| sub.map(settle)).collect()
}

/// Finds `sub_k` entries: at the top, in a list, or nested by a missing brace.
struct Collector<'a, 'b> {
    object: usize,
    /// Keys down to the map that is being searched.
    path: Vec<&'a str>,
    entries: &'b mut BTreeMap<usize, Entry<'a>>,
    notes: &'b mut Vec<String>,
}

impl<'a> Collector<'a, '_> {
    fn collect(&mut self, map: &'a Map<String, Value>, open: &[String]) {
        for (key, value) in map {
            let form = key_form(key);
            let below: Vec<String> = match open.split_first() {
                // A value that is itself open, not only one below it.
                Some((first, [])) if first == key => vec![String::new()],
                Some((first, rest)) if first == key => rest.to_vec(),
                _ => Vec::new(),
            };
            self.path.push(key);
            if let Some(k) = number(&form) {
                if self.path.len() > 1 {
                    push(self.notes, "sub-answers are nested wrongly".into());
                }
                let entry = Entry {
                    value,
                    open: below.clone(),
                    origin: Some((self.object, self.path.clone())),
                };
                self.entries.insert(k, entry);
            }
            self.collect_below(&form, value, &below);
            self.path.pop();
        }
    }

    fn collect_below(&mut self, form: &str, value: &'a Value, open: &[String]) {
        match value {
            Value::Object(inner)
                if self.path.len() <= MAX_NESTED
                    && (is_list_key(form) || number(form).is_some() || form == "main") =>
            {
                self.collect(inner, open);
            }
            Value::Array(items) if is_list_key(form) => {
                push(self.notes, "sub-answers as a list, taken in order".into());
                for (at, item) in items.iter().enumerate() {
                    let last = at + 1 == items.len();
                    let entry = Entry {
                        value: item,
                        open: if last { open.to_vec() } else { Vec::new() },
                        origin: None,
                    };
                    self.entries.insert(at + 1, entry);
                }
            }
            _ => {}
        }
    }
}

/// An object that is itself a sub-answer.
fn is_sub(map: &Map<String, Value>) -> bool {
    let has = |name: &str| find(map, |form| form == name).is_some();
    has("question")
        && has("answer")
        && (has("docid") || has("relevantdocid"))
        && !has("answerchoice")
}

fn read_sub(
    value: &Value,
    open: &[String],
    names: &Names,
    notes: &mut Vec<String>,
) -> Option<ReadSub> {
    match value {
        Value::Object(map) => Some(read_map(map, open, names, notes)),
        Value::Null => None,
        Value::Array(items) => {
            let inner = items.iter().find_map(Value::as_object)?;
            push(notes, "a sub-answer inside a list".into());
            Some(read_map(inner, open, names, notes))
        }
        other => {
            push(notes, "a sub-answer that is only a text".into());
            text_of(other).map(|answer| ReadSub {
                sub: SubAnswer {
                    answer: filled(answer),
                    ..SubAnswer::default()
                },
                bare: false,
                zero: false,
                echo_cut: false,
            })
        }
    }
}

fn read_map(
    map: &Map<String, Value>,
    open: &[String],
    names: &Names,
    notes: &mut Vec<String>,
) -> ReadSub {
    // An unfinished "DOC_1" may become "DOC_12", an unfinished "true" may become anything.
    let finished = |key: &str| open.first().is_none_or(|first| first != key);
    let field = |wanted: &[&str]| {
        wanted
            .iter()
            .find_map(|name| find(map, |form| form == *name))
            .filter(|(key, _)| finished(key))
            .map(|(_, value)| value)
    };
    let text = |wanted: &[&str]| {
        wanted
            .iter()
            .find_map(|name| find(map, |form| form == *name))
            .and_then(|(_, value)| text_of(value))
            .and_then(filled)
    };
    let document: One = field(&[
        "relevantdocid",
        "docid",
        "document",
        "doc",
        "documentid",
        "relevantdoc",
        "source",
    ])
    .map_or_else(One::default, |value| read_one(value, names, notes));
    let verdict = field(&[
        "factualcorrectness",
        "factuallycorrect",
        "factual",
        "iscorrect",
        "correct",
        "correctness",
    ]);
    ReadSub {
        sub: SubAnswer {
            question: text(&["question", "subquestion"]),
            answer: text(&["answer", "shortanswer"]),
            document: document.document,
            document_raw: document.raw,
            factual: verdict.and_then(|value| read_verdict(value, notes)),
        },
        bare: document.bare,
        zero: document.zero,
        echo_cut: open
            .first()
            .is_some_and(|key| matches!(key_form(key).as_str(), "question" | "subquestion")),
    }
}

/// `None` for an answer that says nothing.
fn filled(text: String) -> Option<String> {
    (!text.trim().is_empty()).then_some(text)
}

/// A verdict in every shape: true means factually correct.
fn read_verdict(value: &Value, notes: &mut Vec<String>) -> Option<bool> {
    let verdict = match value {
        Value::Bool(flag) => return Some(*flag),
        Value::Null => None,
        Value::Number(number) => match number.as_f64() {
            Some(1.0) => Some(true),
            Some(0.0) => Some(false),
            _ => None,
        },
        Value::String(text) => verdict_words(text),
        Value::Array(items) if items.len() == 1 => return read_verdict(&items[0], notes),
        Value::Array(_) | Value::Object(_) => None,
    };
    push(
        notes,
        match verdict {
            Some(_) => "a verdict in words instead of true or false".into(),
            None => "a verdict that can't be read".into(),
        },
    );
    verdict
}

fn verdict_words(text: &str) -> Option<bool> {
    if text.len() > 2000 {
        return None;
    }
    let key = headline(text);
    let words: Vec<&str> = key
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    // "False: the document says …" – the first word decides.
    match *words.first()? {
        "true" | "yes" | "1" => return Some(true),
        "false" | "no" | "0" => return Some(false),
        _ => {}
    }
    if words.iter().any(|word| {
        matches!(
            *word,
            "partially" | "partly" | "unknown" | "unclear" | "cannot" | "mostly"
        )
    }) {
        return None;
    }
    let (mut good, mut bad) = (false, false);
    for (at, word) in words.iter().enumerate() {
        let negated = words[at.saturating_sub(2)..at]
            .iter()
            .any(|before| matches!(*before, "not" | "non" | "isn" | "never"));
        match *word {
            "correct" | "factual" | "accurate" | "true" | "right" | "supported" | "valid" => {
                if negated {
                    bad = true
                } else {
                    good = true
                }
            }
            "incorrect" | "inaccurate" | "false" | "wrong" | "untrue" | "nonfactual"
            | "unfactual" | "unsupported" | "invalid" | "erroneous" | "counterfactual" => {
                if negated { good = true } else { bad = true }
            }
            _ => {}
        }
    }
    (good != bad).then_some(good)
}

/// Whether an echoed question belongs to another sub-question than the `k`-th (0-based), or to none.
///
/// Compared by overlap of words: another one counts only if it fits clearly better.
pub fn echoes_another(echo: &str, k: usize, asked: &[String]) -> bool {
    let Some(own_question) = asked.get(k) else {
        return false;
    };
    // Nearly every echo is the question itself, and comparing all of them by words is a third of reading a reply.
    if echo == own_question {
        return false;
    }
    let echo = squad(echo);
    if echo.is_empty() {
        return false;
    }
    let own = overlap(&echo, own_question);
    if own > 0.9 {
        return false;
    }
    let best_other = asked
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != k)
        .map(|(_, question)| overlap(&echo, question))
        .fold(0.0, f64::max);
    own < 0.2 || best_other > own + 0.1
}

/// Dice overlap of the words of a normalised echo and a question.
fn overlap(echo: &str, question: &str) -> f64 {
    crate::domain::normalize::token_f1(echo, question)
}

#[cfg(test)]
#[path = "subs_tests.rs"]
mod tests;
