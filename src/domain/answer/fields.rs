//! From objects to fields: keys in every spelling, wrong nesting, several objects.

use serde_json::{Map, Value};

use super::documents::{read_list, settle};
use super::evidence::{Sources, Span};
use super::names::Names;
use super::reader::Found;
use super::scan::Scan;
use super::subs;
use super::{Ending, ReplyShape, SubAnswer};
use crate::domain::context::Scenario;

/// What the objects of a reply hold.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// The value of the answer field, if it is there and complete.
    pub answer: Option<Value>,
    /// `step_by_step_thinking`.
    pub reasoning: Option<String>,
    /// Positions called relevant.
    pub relevant: Vec<usize>,
    /// Positions called irrelevant.
    pub irrelevant: Vec<usize>,
    /// Entry k answers sub-question k.
    pub subs: Vec<Option<SubAnswer>>,
    /// The last object breaks off before its answer.
    pub broken_off: bool,
    /// The text ends inside the answer.
    pub answer_open: bool,
    /// The object is a provider's error.
    pub is_error: bool,
    /// Where the answer stands in the scanned text.
    pub answer_at: Option<Span>,
    /// Where the other parts stand in the scanned text.
    pub sources: Sources,
}

/// A key in its comparable form: lower case, letters and digits only.
pub(super) fn key_form(key: &str) -> String {
    key.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

fn is_answer_key(form: &str) -> bool {
    matches!(
        form,
        "answerchoice"
            | "answer"
            | "finalanswer"
            | "choice"
            | "finalchoice"
            | "correctanswer"
            | "correctoption"
            | "correctchoice"
            | "option"
            | "mainanswer"
            | "answeroption"
            | "selectedanswer"
            | "selectedoption"
    )
}

fn is_reasoning_key(form: &str) -> bool {
    matches!(
        form,
        "stepbystepthinking"
            | "stepbystep"
            | "reasoning"
            | "thinking"
            | "explanation"
            | "rationale"
            | "analysis"
            | "thoughts"
    )
}

fn is_main_key(form: &str) -> bool {
    matches!(form, "main" | "mainquestion" | "mainanswer")
}

fn is_wrapper_key(form: &str) -> bool {
    matches!(
        form,
        "response" | "output" | "result" | "results" | "reply" | "final" | "json" | "data"
    )
}

/// Whether an object found in a text belongs to a reply rather than to prose.
pub(super) fn has_known_key(map: &Map<String, Value>) -> bool {
    map.keys().take(64).any(|key| {
        let form = key_form(key);
        is_answer_key(&form)
            || is_reasoning_key(&form)
            || is_main_key(&form)
            || is_wrapper_key(&form)
            || subs::number(&form).is_some()
            || subs::is_list_key(&form)
            || matches!(
                form.as_str(),
                "relevantdocid"
                    | "irrelevantdocid"
                    | "docid"
                    | "relevantdocs"
                    | "irrelevantdocs"
                    | "relevantdocids"
                    | "irrelevantdocids"
                    | "relevantdocuments"
                    | "irrelevantdocuments"
                    | "factualcorrectness"
                    | "error"
            )
    })
}

/// The value under the first key that fits.
pub(super) fn find(
    map: &Map<String, Value>,
    fits: impl Fn(&str) -> bool,
) -> Option<(&str, &Value)> {
    map.iter()
        .find(|(key, _)| fits(&key_form(key)))
        .map(|(key, value)| (key.as_str(), value))
}

/// The answer field of an object: under its own name first, then under another.
fn answer_in(map: &Map<String, Value>) -> Option<(&str, &Value)> {
    find(map, |form| form == "answerchoice").or_else(|| find(map, is_answer_key))
}

/// The object that holds reasoning and answer, with the keys down to it. A missing brace can put it
/// inside a sub-answer.
fn main_of(map: &Map<String, Value>) -> (&Map<String, Value>, Vec<&str>) {
    nested_main(map, 40).unwrap_or((map, Vec::new()))
}

fn nested_main(map: &Map<String, Value>, depth: usize) -> Option<(&Map<String, Value>, Vec<&str>)> {
    if let Some((key, Value::Object(main))) = find(map, is_main_key) {
        return Some((main, vec![key]));
    }
    let below = depth.checked_sub(1)?;
    map.iter()
        .filter(|(key, _)| subs::number(&key_form(key)).is_some())
        .find_map(|(key, value)| {
            let (main, mut path) = nested_main(value.as_object()?, below)?;
            path.insert(0, key);
            Some((main, path))
        })
}

impl Fields {
    pub(super) fn gather(
        scan: &Scan,
        shape: &ReplyShape,
        ending: Ending,
        notes: &mut Vec<String>,
    ) -> Fields {
        let mut fields = Fields {
            subs: vec![None; shape.sub_questions.len()],
            ..Fields::default()
        };
        let names = Names::new(&shape.labels, &shape.ids);
        let objects = counted(&scan.objects, notes);
        for found in &objects {
            for note in &found.notes {
                super::subs::push(notes, (*note).to_owned());
            }
        }
        let opened: Vec<Opened<'_>> = objects.iter().map(|found| Opened::new(found)).collect();
        for object in &opened {
            fields.take_main(object, ending);
            fields.take_lists(object, shape, &names, notes);
        }
        if shape.scenario == Scenario::Sufficiency {
            fields.take_plain_lists(scan, &names, notes);
        }
        if !shape.sub_questions.is_empty() {
            (fields.subs, fields.sources.subs) =
                subs::gather(&opened, shape, &names, ending, notes);
        }
        fields
    }

    fn take_main(&mut self, object: &Opened<'_>, ending: Ending) {
        let (main, path) = main_of(object.map);
        let mut answer = answer_in(main);
        let mut base = path.clone();
        if answer.is_none() && !base.is_empty() {
            answer = answer_in(object.map).filter(|(key, _)| !is_main_key(&key_form(key)));
            base.clear();
        } else if answer.is_none() {
            answer = find(object.map, is_main_key).filter(|(_, value)| !value.is_object());
        }
        self.take_reasoning(object, main, path);
        match answer {
            Some((key, value)) => {
                base.push(key);
                let open = object.is_open(&base);
                let begun = value.as_str().is_none_or(|text| !text.trim().is_empty());
                let counts = !open || ending == Ending::Complete && begun;
                if counts {
                    self.answer = Some(value.clone());
                    self.answer_at = object.place(&base);
                }
                self.answer_open = open;
                self.broken_off = !counts;
            }
            None => {
                self.broken_off = object.cut;
                self.is_error |= find(object.map, |form| form == "error").is_some();
            }
        }
    }

    fn take_reasoning<'a>(
        &mut self,
        object: &Opened<'a>,
        main: &'a Map<String, Value>,
        path: Vec<&'a str>,
    ) {
        let inside = find(main, is_reasoning_key).map(|found| (found, path));
        let found = inside.or_else(|| Some((find(object.map, is_reasoning_key)?, Vec::new())));
        let Some(((key, value), mut keys)) = found else {
            return;
        };
        if let Some(text) = text_of(value) {
            keys.push(key);
            self.sources.reasoning = object.place(&keys);
            self.reasoning = Some(text);
        }
    }

    fn take_lists(
        &mut self,
        object: &Opened<'_>,
        shape: &ReplyShape,
        names: &Names,
        notes: &mut Vec<String>,
    ) {
        if shape.scenario != Scenario::Sufficiency {
            return;
        }
        let list = |stem: &str, notes: &mut Vec<String>| {
            let (key, value) = find(object.map, |form| {
                form.strip_prefix(stem).is_some_and(is_list_name)
            })?;
            // An unfinished "DOC_1" may become "DOC_12".
            let value = if object.is_open(&[key]) {
                without_last(value)
            } else {
                value.clone()
            };
            let field = format!("{stem}_doc_id");
            let named = read_list(&value, names, &field, notes);
            Some((named, object.place(&[key])))
        };
        let (relevant, relevant_at) = list("relevant", notes).unzip();
        let (irrelevant, irrelevant_at) = list("irrelevant", notes).unzip();
        let settled = settle(relevant, irrelevant, names, notes);
        self.put_lists(settled, [relevant_at.flatten(), irrelevant_at.flatten()]);
    }

    fn put_lists(&mut self, lists: [Option<Vec<usize>>; 2], places: [Option<Span>; 2]) {
        let [relevant, irrelevant] = lists;
        let [relevant_at, irrelevant_at] = places;
        if let Some(found) = relevant {
            self.relevant = found;
            self.sources.relevant = relevant_at;
        }
        if let Some(found) = irrelevant {
            self.irrelevant = found;
            self.sources.irrelevant = irrelevant_at;
        }
    }

    /// Lists that stand as lines outside of any object ("relevant_doc_id: DOC_1, DOC_3"), where no object
    /// holds them.
    fn take_plain_lists(&mut self, scan: &Scan<'_>, names: &Names, notes: &mut Vec<String>) {
        let taken = self.sources.relevant.is_some() || self.sources.irrelevant.is_some();
        if taken || !self.relevant.is_empty() || !self.irrelevant.is_empty() {
            return;
        }
        let prose = &scan.prose.text;
        let list = |stem: &str, notes: &mut Vec<String>| {
            let (start, end) = plain_list(prose, stem)?;
            let value = Value::from(&prose[start..end]);
            let mut own = Vec::new();
            let named = read_list(&value, names, &format!("{stem}_doc_id"), &mut own);
            own.retain(|note| !note.ends_with("instead of a list"));
            notes.append(&mut own);
            Some((named, scan.prose.source(start, end)))
        };
        let (relevant, relevant_at) = list("relevant", notes).unzip();
        let (irrelevant, irrelevant_at) = list("irrelevant", notes).unzip();
        if relevant.is_some() || irrelevant.is_some() {
            subs::push(notes, "the lists of documents stand in plain lines".into());
        }
        let settled = settle(relevant, irrelevant, names, notes);
        self.put_lists(settled, [relevant_at, irrelevant_at]);
    }
}

/// Whether this ends the comparable form of a list's key, after "relevant" or "irrelevant".
fn is_list_name(rest: &str) -> bool {
    matches!(
        rest,
        "docid" | "docids" | "docs" | "doc" | "documents" | "documentids" | ""
    )
}

/// Most lines that are searched for a list.
const MAX_LINES: usize = 2000;

/// Where the list of the last line `stem…: …` stands; lines of a bullet list after it belong to it.
fn plain_list(prose: &str, stem: &str) -> Option<(usize, usize)> {
    let place = |part: &str| part.as_ptr() as usize - prose.as_ptr() as usize;
    let mut lines = prose.lines().take(MAX_LINES).peekable();
    let mut found = None;
    while let Some(line) = lines.next() {
        let Some((key, rest)) = line.split_once([':', '=', '\u{ff1a}']) else {
            continue;
        };
        let named = key.len() < 60
            && key_form(key)
                .strip_prefix(stem)
                .is_some_and(|rest| is_list_name(rest) && !(rest.is_empty() && line.len() > 200));
        if !named {
            continue;
        }
        let rest = rest.trim().trim_start_matches(['*', '`']).trim_start();
        let (start, mut end) = (place(rest), place(rest) + rest.len());
        let bullet = |line: &&str| line.trim_start().starts_with(['-', '*', '\u{2022}']);
        while rest.is_empty()
            && let Some(item) = lines.next_if(bullet)
        {
            end = place(item) + item.len();
        }
        found = Some((start, end));
    }
    found
}

/// An object without its wrapper.
pub(super) struct Opened<'a> {
    pub map: &'a Map<String, Value>,
    /// Keys down to the value at which the text ended; empty if there is none.
    pub open: Vec<String>,
    found: &'a Found,
    /// Keys of the wrappers.
    wrapper: Vec<&'a str>,
    /// Ended inside a value, or without its closing brace and its answer.
    cut: bool,
}

impl<'a> Opened<'a> {
    fn new(found: &'a Found) -> Opened<'a> {
        let mut map = &found.map;
        let mut wrapper = Vec::new();
        let mut open = found.open.clone().unwrap_or_default();
        for _ in 0..3 {
            let inner = (map.len() == 1)
                .then(|| find(map, is_wrapper_key))
                .flatten();
            let Some((key, Value::Object(inner))) = inner else {
                break;
            };
            if open.first().is_some_and(|first| first == key) {
                open.remove(0);
            }
            wrapper.push(key);
            map = inner;
        }
        Opened {
            map,
            open,
            found,
            wrapper,
            cut: found.cut || found.open.is_some(),
        }
    }

    /// Where the value under these keys stands in the scanned text.
    pub(super) fn place(&self, keys: &[&str]) -> Option<Span> {
        let path: Vec<&str> = self.wrapper.iter().chain(keys).copied().collect();
        self.found.place(&path)
    }

    /// Whether the value under these keys was still open.
    fn is_open(&self, keys: &[&str]) -> bool {
        !keys.is_empty()
            && self.open.len() >= keys.len()
            && self.open.iter().zip(keys).all(|(a, b)| a == b)
    }
}

/// The objects that count: an incomplete one does not after a complete one with an answer.
fn counted<'a>(objects: &'a [Found], notes: &mut Vec<String>) -> Vec<&'a Found> {
    let answers = |found: &Found| {
        let (main, _) = main_of(Opened::new(found).map);
        answer_in(main).is_some()
    };
    let last_complete = objects
        .iter()
        .rposition(|found| found.complete && answers(found));
    let kept: Vec<&Found> = match last_complete {
        Some(last) => objects
            .iter()
            .enumerate()
            .filter(|(at, found)| *at <= last || found.complete)
            .map(|(_, found)| found)
            .collect(),
        None => objects.iter().collect(),
    };
    if kept.len() < objects.len() {
        notes.push("an object that breaks off after the answer is left out".into());
    }
    if kept.iter().filter(|found| answers(found)).count() > 1 {
        notes.push("several objects; the last complete one counts".into());
    } else if kept.len() > 1 {
        notes.push("the reply is split into several objects".into());
    }
    kept
}

/// A list without its last, unfinished entry.
pub(super) fn without_last(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items[..items.len().saturating_sub(1)].to_vec()),
        Value::String(text) => Value::String(
            text.rsplit_once([',', ';'])
                .map_or(String::new(), |(before, _)| before.to_owned()),
        ),
        _ => Value::Null,
    }
}

/// A field's text; lists of steps are joined.
pub(super) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().filter_map(text_of).collect();
            Some(texts.join("\n"))
        }
        other => Some(other.to_string()),
    }
}
