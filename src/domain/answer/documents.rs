//! Names of documents in every shape that models use, resolved to positions in the context.
//!
//! A name resolves by the label that was shown (`DOC_3`), by its number, or by the dataset's id. Numbers
//! count from 1, as the labels do. Where a reply also names a document 0 it may count from 0: then two
//! readings compete, and none of its bare numbers counts.

use serde_json::{Map, Value};

use super::names::{Name, Names, folded};
use super::phrases::{Pattern, compile};

/// Longest text that is searched for document names, in bytes.
const MAX_LIST: usize = 20_000;

/// Most names that are read from one list: no context is nearly as large.
const MAX_NAMED: usize = 20_000;

/// A description that says that a document is not relevant.
static NOT_RELEVANT: Pattern = Pattern::new(|| {
    compile(
        r"(?i)\birrelevant\b|\bunrelated\b|\bunhelpful\b|(?:\bnot|n['\u{2019}]t)\s+(?:\w+\s+)?(?:relevant|related|useful|helpful|applicable)\b",
    )
});

/// Words before a list of names that say nothing about which documents are meant.
static LEAD: Pattern = Pattern::new(|| {
    compile(
        r"(?i)^(?:only|just|both|mainly|the|these|relevant|irrelevant|documents?(?:\s+ids?)?\s*:|docs?\s*:|ids?\s*:)\s+",
    )
});

/// The documents that a field names, before it is settled what its bare numbers mean.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// Positions, and whether they were named by a bare number only.
    found: Vec<(usize, bool)>,
    /// A document 0 is named.
    zero: bool,
    /// "All others": what the other list leaves.
    rest: bool,
}

impl Named {
    fn take(&mut self, name: Name) -> bool {
        match name {
            Name::Document(at) => self.found.push((at, false)),
            Name::Numbered(at) => self.found.push((at, true)),
            Name::Zero => self.zero = true,
            Name::Unknown => return false,
        }
        name != Name::Zero
    }

    /// The positions, without duplicates. `zero`: the reply may count from 0.
    fn positions(&self, zero: bool) -> Vec<usize> {
        let mut seen = std::collections::HashSet::new();
        let counted = self.found.iter().filter(|(_, bare)| !(zero && *bare));
        counted
            .map(|(at, _)| *at)
            .filter(|at| seen.insert(*at))
            .collect()
    }
}

/// The documents of the two lists of a reply; each is `None` where the list is missing.
pub(super) fn settle(
    relevant: Option<Named>,
    irrelevant: Option<Named>,
    names: &Names,
    notes: &mut Vec<String>,
) -> [Option<Vec<usize>>; 2] {
    let both = [relevant, irrelevant];
    let zero = both.iter().flatten().any(|named| named.zero);
    if zero {
        push(
            notes,
            "documents may be counted from 0; bare numbers do not count".into(),
        );
    }
    let positions = both
        .each_ref()
        .map(|named| named.as_ref().map(|named| named.positions(zero)));
    let rest = both
        .each_ref()
        .map(|named| named.as_ref().is_some_and(|named| named.rest));
    let [first, second] = positions;
    match (rest, &first, &second) {
        ([false, true], Some(other), _) => {
            let others = names.others(other);
            [first, Some(others)]
        }
        ([true, false], _, Some(other)) => {
            let others = names.others(other);
            [Some(others), second]
        }
        _ => [first, second],
    }
}

/// The documents of a list field. `field` names it in notes.
pub(super) fn read_list(
    value: &Value,
    names: &Names,
    field: &str,
    notes: &mut Vec<String>,
) -> Named {
    let mut reader = ListReader {
        names,
        field,
        notes,
        named: Named::default(),
    };
    reader.value(value, 0);
    let named = reader.named;
    if named.positions(false).len() < named.found.len() {
        push(notes, format!("{field} names a document twice"));
    }
    named
}

/// What a list holds that is no document is noted once per kind.
fn push(notes: &mut Vec<String>, note: String) {
    if notes.len() < 100 && !notes.contains(&note) {
        notes.push(note);
    }
}

struct ListReader<'a> {
    names: &'a Names,
    field: &'a str,
    notes: &'a mut Vec<String>,
    named: Named,
}

impl ListReader<'_> {
    fn note(&mut self, what: &str) {
        push(self.notes, format!("{} {what}", self.field));
    }

    fn unknown(&mut self, name: &str) {
        let shown: String = name.chars().take(40).collect();
        self.note(&format!(
            "names \"{shown}\", which is no document of the context"
        ));
    }

    fn value(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Null if depth == 0 => self.note("is null instead of a list"),
            Value::Null => self.note("holds null"),
            Value::Bool(_) => self.note("holds true or false"),
            Value::Number(number) => {
                let whole = number
                    .as_f64()
                    .filter(|n| n.fract() == 0.0 && n.abs() < 1e15);
                let text = whole.map_or_else(|| number.to_string(), |n| format!("{n:.0}"));
                if !self.named.take(self.names.name(&text)) {
                    self.unknown(&text);
                }
            }
            Value::String(text) => {
                if depth == 0 {
                    self.note("is a text instead of a list");
                }
                self.text(text, depth);
            }
            Value::Array(items) if depth < 3 => {
                for item in items {
                    if self.named.found.len() > MAX_NAMED {
                        self.note("is far too long; its rest is left out");
                        return;
                    }
                    self.value(item, depth + 1);
                }
            }
            Value::Object(map) if depth < 3 => self.object(map, depth),
            Value::Array(_) | Value::Object(_) => self.note("is nested too deeply"),
        }
    }

    fn object(&mut self, map: &Map<String, Value>, depth: usize) {
        self.note("holds an object instead of a label");
        let id = [
            "id",
            "doc_id",
            "label",
            "document",
            "doc",
            "document_id",
            "name",
            "relevant_doc_id",
            "irrelevant_doc_id",
        ]
        .iter()
        .find_map(|key| map.get(*key));
        if let Some(value) = id {
            let denied = self.is_relevant_list() && map.get("relevant").is_some_and(denies);
            if !denied {
                self.value(value, depth + 1);
            }
            return;
        }
        for (key, value) in map.iter().take(MAX_NAMED) {
            let name = self.names.name(key);
            if name == Name::Unknown {
                self.unknown(key);
            } else if !denies(value) && !contradicts(value, self.is_relevant_list()) {
                self.named.take(name);
            }
        }
    }

    fn is_relevant_list(&self) -> bool {
        self.field.starts_with("relevant")
    }

    /// The documents that a text names.
    fn text(&mut self, text: &str, depth: usize) {
        if self.is_relevant_list() && text.len() < MAX_LIST && NOT_RELEVANT.is_match(text) {
            self.unknown(text);
            return;
        }
        if self.named.take(self.names.name(text)) {
            return;
        }
        let key = folded(text);
        let bare = key.trim_end_matches(['.', '!']);
        if says_none(bare) {
            return;
        }
        if is_rest(bare) {
            self.note("says \"the others\"");
            self.named.rest = true;
            return;
        }
        if self.says_all(bare, depth) {
            return;
        }
        self.parts(&key[..key.floor_char_boundary(MAX_LIST)]);
    }

    /// "All", with or without exceptions.
    fn says_all(&mut self, bare: &str, depth: usize) -> bool {
        let is_all = ["all", "every", "each"].iter().any(|word| {
            bare.strip_prefix(word)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ',']))
        });
        if !is_all || depth > 3 {
            return false;
        }
        let except = [
            " except",
            ", except",
            " but ",
            " other than",
            " besides",
            " excluding",
        ]
        .iter()
        .find_map(|word| bare.split_once(word));
        let mut left_out = Vec::new();
        if let Some((_, rest)) = except {
            let rest = rest.trim_start_matches(" for ").trim();
            let named = read_list(&Value::from(rest), self.names, self.field, self.notes);
            left_out = named.positions(false);
            if left_out.is_empty() {
                return true;
            }
        }
        self.note("says \"all\"");
        let all = self.names.others(&left_out);
        self.named
            .found
            .extend(all.into_iter().map(|at| (at, false)));
        true
    }

    /// Names joined by commas and words.
    fn parts(&mut self, key: &str) {
        let unified = key
            .replace(" and ", ",")
            .replace(" or ", ",")
            .replace(" & ", ",");
        for part in unified.split([',', ';', '\n', '|', '\u{3001}', '\u{ff0c}']) {
            let mut part = part.trim().trim_start_matches("and ");
            while let Some(lead) = LEAD.get().and_then(|regex| regex.find(part)) {
                part = &part[lead.end()..];
            }
            if part.is_empty() || self.named.zero_or(self.names.name(part)) {
                continue;
            }
            if let Some(range) = self.names.range(part) {
                self.note("names a range");
                self.named
                    .found
                    .extend(range.into_iter().map(|at| (at, false)));
            } else if !self.run(part) {
                self.unknown(part);
            }
        }
    }

    /// Names with nothing but spaces, slashes or brackets between them: "DOC_1 DOC_2", "[1][2]".
    fn run(&mut self, part: &str) -> bool {
        let names: Vec<Name> = part
            .split(|c: char| c.is_whitespace() || "/+&[]()".contains(c))
            .filter(|name| !name.is_empty())
            .map(|name| self.names.name(name))
            .collect();
        let several = names.len() > 1 && !names.contains(&Name::Unknown);
        if several {
            for name in names {
                self.named.take(name);
            }
        }
        several
    }
}

impl Named {
    /// Takes a name; also true for number 0, which is no unknown name.
    fn zero_or(&mut self, name: Name) -> bool {
        self.take(name) || name == Name::Zero
    }
}

fn denies(value: &Value) -> bool {
    match value {
        Value::Bool(false) | Value::Null => true,
        Value::String(text) => matches!(text.trim().to_lowercase().as_str(), "no" | "false"),
        _ => false,
    }
}

/// Whether a document's description contradicts the list that it stands in.
fn contradicts(value: &Value, relevant_list: bool) -> bool {
    let Value::String(text) = value else {
        return false;
    };
    if relevant_list {
        text.len() < MAX_LIST && NOT_RELEVANT.is_match(text)
    } else {
        text.trim().eq_ignore_ascii_case("relevant")
    }
}

fn says_none(bare: &str) -> bool {
    matches!(
        bare,
        "" | "n/a" | "na" | "null" | "nil" | "empty" | "-" | "-1" | "\u{2013}" | "\u{2014}"
    ) || bare.starts_with("none")
        || bare.starts_with("no ")
        || bare.starts_with("not ")
        || bare.starts_with("neither")
}

/// "The others", "all other documents", "the rest".
fn is_rest(bare: &str) -> bool {
    let bare = bare
        .trim_start_matches("all ")
        .trim_start_matches("of ")
        .trim_start_matches("the ");
    let bare = bare.trim_start_matches("all ");
    let word = bare.split_whitespace().next().unwrap_or_default();
    let tail = bare[word.len()..].trim();
    matches!(
        word,
        "rest" | "other" | "others" | "remaining" | "remainder"
    ) && (tail.is_empty()
        || tail.starts_with("of ")
        || tail.starts_with("doc")
        || tail.starts_with("are "))
}

/// One document, as sub-answers name it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct One {
    /// Its position.
    pub document: Option<usize>,
    /// What it was called.
    pub raw: Option<String>,
    /// It was named by a bare number.
    pub bare: bool,
    /// It was called 0.
    pub zero: bool,
}

/// One document, as sub-answers name it, and the name itself.
pub(super) fn read_one(value: &Value, names: &Names, notes: &mut Vec<String>) -> One {
    let raw = match value {
        Value::Null => return One::default(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut own = Vec::new();
    let named = read_list(value, names, "doc_id", &mut own);
    let positions = named.positions(false);
    let mut one = One {
        document: None,
        raw: Some(raw),
        bare: false,
        zero: named.zero,
    };
    match positions.as_slice() {
        [at] => {
            one.document = Some(*at);
            one.bare = named.found.iter().all(|(_, bare)| *bare);
        }
        [] => {
            // That a single name is a text is as it should be.
            let odd = own
                .into_iter()
                .filter(|note| !note.ends_with("instead of a list"));
            for note in odd {
                push(notes, note);
            }
        }
        _ => push(
            notes,
            "a sub-answer names several documents; none counts".into(),
        ),
    }
    one
}

#[cfg(test)]
#[path = "documents_tests.rs"]
mod tests;
