//! Names of documents in every shape that models use, resolved to positions in the context.

use regex::Regex;
use serde_json::Value;

use super::phrases::Pattern;

/// Longest text that is searched for document names, in bytes.
const MAX_LIST: usize = 20_000;

/// Most names that are read from one list: no context is nearly as large.
const MAX_NAMED: usize = 20_000;

/// "DOC_3", "doc 3", "Document #3", "[3]", "3" at the beginning of an item.
static NUMBERED: Pattern = Pattern::new(|| {
    Regex::new(r"(?i)^\W*(?:doc(?:ument)?s?|id|no|snippet|passage)?[\s_\-#:.\[(]*0*(\d{1,9})\b")
        .ok()
});

/// "DOC_1-DOC_3", "1 to 3", "DOC_1 through 3".
static RANGE: Pattern = Pattern::new(|| {
    Regex::new(
        r"(?i)^\W*(?:doc(?:ument)?s?)?[\s_#]*0*(\d{1,9})\s*(?:-|\u{2010}|\u{2011}|\u{2012}|\u{2013}|\u{2014}|\.{2,3}|\u{2026}|to|through|thru)\s*(?:doc(?:ument)?s?)?[\s_#]*0*(\d{1,9})\W*$",
    )
    .ok()
});

/// The names by which documents of a context can be called.
pub(super) struct Names {
    labels: Vec<String>,
    ids: Vec<String>,
    numbers: Vec<Option<u64>>,
}

impl Names {
    pub(super) fn new(labels: &[String], ids: &[String]) -> Names {
        Names {
            labels: labels.iter().map(|label| folded(label)).collect(),
            ids: ids.iter().map(|id| folded(id)).collect(),
            numbers: labels
                .iter()
                .map(|label| label.rsplit('_').next()?.parse().ok())
                .collect(),
        }
    }

    fn by_number(&self, number: u64) -> Option<usize> {
        self.numbers.iter().position(|own| *own == Some(number))
    }

    /// One document. The label counts before the dataset's id, since only the label was shown.
    pub(super) fn resolve(&self, name: &str) -> Option<usize> {
        let key = folded(name);
        if key.is_empty() {
            return None;
        }
        let exact = |names: &[String]| names.iter().position(|own| *own == key);
        exact(&self.labels)
            .or_else(|| {
                let whole = NUMBERED.get()?.captures(&key)?;
                let rest = &key[whole.get(0)?.end()..];
                // "3" and "DOC_3." but not an id such as "3f2a" or "doc3_2".
                let ends = rest.chars().all(|c| !c.is_alphanumeric() && c != '_');
                ends.then(|| self.by_number(whole.get(1)?.as_str().parse().ok()?))?
            })
            .or_else(|| exact(&self.ids))
            .or_else(|| self.leading(&key))
    }

    /// A name with text after it: "DOC_3 (about aspirin)", "DOC_3: relevant".
    fn leading(&self, key: &str) -> Option<usize> {
        let word_end = key
            .find(|c: char| c.is_whitespace() || "(:,;".contains(c))
            .filter(|&end| end > 0)?;
        let rest = key[word_end..].trim_start();
        let described = rest.starts_with(['(', ':']);
        if rest.contains("doc")
            || !described && (rest.contains([',', ';']) || rest.contains(" and "))
        {
            return None;
        }
        let word = key[..word_end].trim_matches(|c: char| !c.is_alphanumeric());
        self.labels
            .iter()
            .chain(&self.ids)
            .position(|own| own == word)
            .map(|at| at % self.labels.len().max(1))
            .or_else(|| {
                let named = NUMBERED.get()?.captures(key)?;
                key.trim_start_matches(|c: char| !c.is_alphanumeric())
                    .starts_with("doc")
                    .then(|| self.by_number(named.get(1)?.as_str().parse().ok()?))?
            })
    }

    fn all(&self) -> Vec<usize> {
        (0..self.labels.len()).collect()
    }

    /// A range with both ends in the context.
    fn range(&self, part: &str) -> Option<Vec<usize>> {
        let found = RANGE.get()?.captures(part)?;
        let end = |group: usize| self.by_number(found.get(group)?.as_str().parse().ok()?);
        let (from, to) = (end(1)?, end(2)?);
        (from <= to).then(|| (from..=to).collect())
    }
}

fn folded(name: &str) -> String {
    name.trim()
        .trim_matches(|c: char| {
            matches!(
                c,
                '"' | '\'' | '[' | ']' | '(' | ')' | '<' | '>' | '*' | '`'
            )
        })
        .trim()
        .to_lowercase()
}

/// The documents of a list field. `field` names it in notes.
pub(super) fn read_list(
    value: &Value,
    names: &Names,
    field: &str,
    notes: &mut Vec<String>,
) -> Vec<usize> {
    let mut found = Vec::new();
    collect(value, names, field, notes, &mut found, 0);
    let mut seen = vec![false; names.labels.len()];
    let before = found.len();
    found.retain(|&at| {
        seen.get_mut(at)
            .is_some_and(|s| !std::mem::replace(s, true))
    });
    if found.len() < before {
        push(notes, format!("{field} names a document twice"));
    }
    found
}

/// What a list holds that is no document is noted once per kind.
fn push(notes: &mut Vec<String>, note: String) {
    if !notes.contains(&note) && notes.len() < 100 {
        notes.push(note);
    }
}

fn collect(
    value: &Value,
    names: &Names,
    field: &str,
    notes: &mut Vec<String>,
    found: &mut Vec<usize>,
    depth: usize,
) {
    match value {
        Value::Null if depth == 0 => push(notes, format!("{field} is null instead of a list")),
        Value::Null => push(notes, format!("null in {field}")),
        Value::Bool(_) => push(notes, format!("{field} holds true or false")),
        Value::Number(number) => match names.resolve(&number.to_string()) {
            Some(at) => found.push(at),
            None => push(
                notes,
                format!("{field} names {number}, which is no document of the context"),
            ),
        },
        Value::String(text) => {
            if depth == 0 {
                push(notes, format!("{field} is a text instead of a list"));
            }
            found.extend(read_names(text, names, field, notes));
        }
        Value::Array(items) if depth < 3 => {
            for item in items {
                if found.len() > MAX_NAMED {
                    push(
                        notes,
                        format!("{field} is far too long; its rest is left out"),
                    );
                    return;
                }
                collect(item, names, field, notes, found, depth + 1);
            }
        }
        Value::Object(map) if depth < 3 => {
            push(notes, format!("{field} holds an object instead of a label"));
            let named = [
                "id",
                "doc_id",
                "label",
                "document",
                "doc",
                "document_id",
                "name",
            ]
            .iter()
            .find_map(|key| map.get(*key));
            if let Some(value) = named {
                collect(value, names, field, notes, found, depth + 1);
                return;
            }
            for (key, value) in map {
                let denied = matches!(value, Value::Bool(false) | Value::Null);
                if let Some(at) = names.resolve(key).filter(|_| !denied) {
                    found.push(at);
                }
            }
        }
        Value::Array(_) | Value::Object(_) => push(notes, format!("{field} is nested too deeply")),
    }
}

/// The documents that a text names.
fn read_names(text: &str, names: &Names, field: &str, notes: &mut Vec<String>) -> Vec<usize> {
    if let Some(at) = names.resolve(text) {
        return vec![at];
    }
    let key = folded(text);
    let bare = key.trim_end_matches(['.', '!']);
    if bare.is_empty()
        || bare == "n/a"
        || bare == "na"
        || bare == "null"
        || bare.starts_with("none")
        || bare.starts_with("no ")
    {
        return Vec::new();
    }
    if bare == "all" || bare.starts_with("all ") {
        let except = ["except", "but", "other than"]
            .iter()
            .find_map(|word| bare.split_once(word));
        let mut documents = names.all();
        if let Some((_, rest)) = except {
            let left_out = read_names(rest, names, field, notes);
            documents.retain(|at| !left_out.contains(at));
        }
        push(notes, format!("{field} says \"all\""));
        return documents;
    }
    let mut end = key.len().min(MAX_LIST);
    while !key.is_char_boundary(end) {
        end -= 1;
    }
    let unified = key[..end].replace(" and ", ",");
    let mut found = Vec::new();
    for part in unified.split([',', ';', '\n', '|']) {
        let part = part.trim().trim_start_matches("and ");
        if part.is_empty() {
            continue;
        }
        if let Some(at) = names.resolve(part) {
            found.push(at);
        } else if let Some(range) = names.range(part) {
            push(notes, format!("{field} names a range"));
            found.extend(range);
        } else {
            let shown: String = part.chars().take(40).collect();
            push(
                notes,
                format!("{field} names \"{shown}\", which is no document of the context"),
            );
        }
    }
    found
}

/// One document, as sub-answers name it, and the name itself.
pub(super) fn read_one(
    value: &Value,
    names: &Names,
    notes: &mut Vec<String>,
) -> (Option<usize>, Option<String>) {
    let raw = match value {
        Value::Null => return (None, None),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut own = Vec::new();
    let found = match value {
        Value::String(text) => read_names(text, names, "doc_id", &mut own),
        _ => read_list(value, names, "doc_id", &mut own),
    };
    match found.as_slice() {
        [one] => (Some(*one), Some(raw)),
        [] => {
            for note in own {
                push(notes, note);
            }
            (None, Some(raw))
        }
        _ => {
            push(
                notes,
                "a sub-answer names several documents; none counts".into(),
            );
            (None, Some(raw))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names() -> Names {
        let labels: Vec<String> = (1..=12).map(|k| format!("DOC_{k}")).collect();
        let ids: Vec<String> = (1..=12).map(|k| format!("pm-{}_{k}", 40 - k)).collect();
        Names::new(&labels, &ids)
    }

    #[track_caller]
    fn reads(value: &Value, expected: &[usize]) -> Vec<String> {
        let mut notes = Vec::new();
        assert_eq!(
            read_list(value, &names(), "list", &mut notes),
            expected,
            "{value}"
        );
        notes
    }

    #[test]
    fn patterns_compile() {
        assert!(NUMBERED.get().is_some() && RANGE.get().is_some());
    }

    #[test]
    fn every_way_to_name_a_document() {
        for name in [
            "DOC_3",
            "doc_3",
            "doc 3",
            "DOC3",
            "Doc-3",
            "Document 3",
            "document #3",
            "[3]",
            "3",
            "03",
            "[DOC_3]",
            "pm-37_3",
            "PM-37_3",
            "DOC_3.",
            "DOC_3 (on aspirin)",
            "DOC_3: on aspirin",
            "**DOC_3**",
        ] {
            assert_eq!(names().resolve(name), Some(2), "{name}");
        }
        for name in [
            "DOC_13",
            "0",
            "",
            "thirteen",
            "pm-37",
            "3f2a",
            "doc3_2",
            "DOC_",
            "99999999999999999999",
        ] {
            assert_eq!(names().resolve(name), None, "{name}");
        }
    }

    #[test]
    fn lists_in_every_shape() {
        assert!(reads(&json!(["DOC_1", "DOC_12"]), &[0, 11]).is_empty());
        assert!(reads(&json!([]), &[]).is_empty());
        reads(&json!([1, 2, "3"]), &[0, 1, 2]);
        reads(
            &json!([{"id": "DOC_2"}, {"doc_id": 3, "why": "x"}, null]),
            &[1, 2],
        );
        reads(&json!("DOC_1, DOC_2 and DOC_4"), &[0, 1, 3]);
        reads(&json!("DOC_1-DOC_3"), &[0, 1, 2]);
        reads(&json!(["DOC_2 to DOC_4", "6–7"]), &[1, 2, 3, 5, 6]);
        reads(&json!("[DOC_1, DOC_2]"), &[0, 1]);
        reads(&json!("none"), &[]);
        reads(&json!(["None of the documents"]), &[]);
        reads(&json!("all except DOC_1-DOC_10"), &[10, 11]);
        reads(&json!("All documents"), &(0..12).collect::<Vec<_>>());
        reads(
            &json!({"DOC_1": "on topic", "DOC_2": false, "DOC_3": true}),
            &[0, 2],
        );
        reads(&json!(null), &[]);
        assert_eq!(reads(&json!(["DOC_1", "doc 1"]), &[0]).len(), 1);
        assert_eq!(reads(&json!(["DOC_77"]), &[]).len(), 1);
        assert_eq!(reads(&json!(["1-999999999"]), &[]).len(), 1);
        assert_eq!(reads(&json!(["pm-36_4"]), &[3]).len(), 0);
    }

    #[test]
    fn one_document() {
        let read = |value: Value| read_one(&value, &names(), &mut Vec::new());
        assert_eq!(read(json!("doc 2")), (Some(1), Some("doc 2".into())));
        assert_eq!(read(json!(2)), (Some(1), Some("2".into())));
        assert_eq!(read(json!(["DOC_2"])).0, Some(1));
        assert_eq!(read(json!("DOC_1, DOC_2")).0, None);
        assert_eq!(read(json!(null)), (None, None));
        assert_eq!(read(json!("elsewhere")), (None, Some("elsewhere".into())));
    }
}
