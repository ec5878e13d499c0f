//! TOML that people write: on which line each field stands, and what is wrong with a file in one sentence.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::{DeTable, DeValue, Error};

use crate::domain::nearest::hint;
use crate::domain::plain::plain;
use crate::domain::text::{line_at, short, visible};

/// What syntax errors are called by the parser, and what is said instead. The first that fits is taken.
const SYNTAX: [(&str, &str); 23] = [
    (
        "string values must be quoted",
        "a text must stand in quotation marks",
    ),
    (
        "key with no value",
        "= and a value are missing after the name",
    ),
    (
        "missing assignment between key-value pairs",
        "= and a value must come after the name",
    ),
    (
        "invalid key-value pair",
        "this is no TOML, which is written as name = value, each on a line of its own",
    ),
    ("missing value for key", "the value after = is missing"),
    ("missing value", "the value after = is missing"),
    ("extra `=`", "there is one = too many"),
    ("extra assignment", "there is one = too many"),
    ("unclosed array table", "the ]] after the name is missing"),
    ("unclosed table", "the ] after the name is missing"),
    ("unclosed array", "the ] at the end of the list is missing"),
    ("unclosed inline table", "the } at the end is missing"),
    ("missing comma", "a comma is missing between two entries"),
    ("extra comma", "there is a comma too many"),
    (
        "unexpected key or value",
        "there is more text after the end of the value; begin a new line",
    ),
    (
        "unexpected content",
        "there is more text after the end of the value; begin a new line",
    ),
    (
        "invalid unquoted key",
        "the name of a field needs quotation marks, since it holds other characters than letters, digits, - and _",
    ),
    (
        "unquoted keys cannot be empty",
        "a name is missing before =",
    ),
    ("missing opening quote", "a quotation mark is missing"),
    (
        "missing escaped value",
        "a backslash has nothing after it that it could stand for; write \\\\ for a backslash, or single quotation marks around the text",
    ),
    (
        "cannot recurse further",
        "lists and tables are nested too deep",
    ),
    ("recursion limit", "lists and tables are nested too deep"),
    (
        "carriage return must be followed by newline",
        "there is a carriage return without a line end",
    ),
];

/// The line of every field, counted from 1: dotted name → line. Empty where the text is no TOML.
pub fn lines(text: &str) -> BTreeMap<String, usize> {
    let starts: Vec<usize> = text
        .bytes()
        .enumerate()
        .filter(|(_, byte)| *byte == b'\n')
        .map(|(at, _)| at)
        .collect();
    let mut found = BTreeMap::new();
    each_field(text, &mut |name, key, _| {
        let line = starts.partition_point(|&end| end < key.start) + 1;
        found.insert(name.to_owned(), line);
    });
    found
}

/// Is shown a field's name, and the places of its name and its value.
type Visit<'a> = dyn FnMut(&str, Range<usize>, Range<usize>) + 'a;

/// Shows every field with the places of its name and its value; tables before what is in them.
fn each_field(text: &str, visit: &mut Visit<'_>) {
    if let Ok(table) = DeTable::parse(text) {
        in_table(table.get_ref(), "", visit);
    }
}

fn in_table(table: &DeTable<'_>, prefix: &str, visit: &mut Visit<'_>) {
    for (key, value) in table {
        let name = match prefix {
            "" => key.get_ref().to_string(),
            _ => format!("{prefix}.{}", key.get_ref()),
        };
        visit(&name, key.span(), value.span());
        match value.get_ref() {
            DeValue::Table(inner) => in_table(inner, &name, visit),
            DeValue::Array(items) => {
                for item in items {
                    if let DeValue::Table(inner) = item.get_ref() {
                        in_table(inner, &name, visit);
                    }
                }
            }
            _ => {}
        }
    }
}

/// The innermost field whose name or value holds the byte at `at`.
fn field_at(text: &str, at: usize) -> Option<String> {
    let mut found = None;
    each_field(text, &mut |name, key, value| {
        if key.contains(&at) || value.contains(&at) {
            found = Some(name.to_owned());
        }
    });
    found
}

/// One sentence for an error of the parser: file, line, field, what is wrong and what is expected.
pub fn explain(origin: &str, text: &str, error: &Error) -> String {
    let at = error.span().map_or(0, |span| span.start);
    let line = line_at(text, at);
    let field = field_at(text, at);
    let said = error.message().trim();
    let wrong = unknown_field(said, field.as_deref())
        .or_else(|| unknown_variant(said, field.as_deref()))
        .or_else(|| wrong_type(said, field.as_deref()))
        .or_else(|| missing_field(said))
        .or_else(|| twice(said, text, error.span()))
        .unwrap_or_else(|| syntax(said, text, at));
    format!("{origin}, line {line}: {wrong}")
}

/// serde names the unknown field and the valid ones in back quotes.
fn unknown_field(said: &str, field: Option<&str>) -> Option<String> {
    let rest = said.strip_prefix("unknown field `")?;
    let (unknown, rest) = rest.split_once('`')?;
    let valid: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    let table = field.and_then(|field| field.strip_suffix(unknown)?.strip_suffix('.'));
    let place = match table {
        Some(table) => format!(" in [{}]", visible(table)),
        None => String::new(),
    };
    Some(format!(
        "there is no field \"{}\"{place}; {}",
        visible(unknown),
        hint(unknown, &valid)
    ))
}

/// A word that is none of those that a field takes, with the nearest of them.
fn unknown_variant(said: &str, field: Option<&str>) -> Option<String> {
    let rest = said.strip_prefix("unknown variant `")?;
    let (unknown, rest) = rest.split_once("`, expected ")?;
    let valid: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    let field = field.map_or_else(|| "the value".to_owned(), visible);
    Some(format!(
        "{field} can't be \"{}\"; {}",
        visible(unknown),
        hint(unknown, &valid)
    ))
}

/// A field that must be there.
fn missing_field(said: &str) -> Option<String> {
    let name = said.strip_prefix("missing field `")?.strip_suffix('`')?;
    Some(format!("the field \"{}\" is missing", short(name)))
}

/// A value of a kind that the field does not take.
fn wrong_type(said: &str, field: Option<&str>) -> Option<String> {
    let rest = said
        .strip_prefix("invalid type: ")
        .or_else(|| said.strip_prefix("invalid value: "))?;
    let (found, expected) = rest.rsplit_once(", expected ")?;
    let field = field.map_or_else(|| "the value".to_owned(), visible);
    Some(format!(
        "{field} must be {}, but is {}",
        kind_wanted(expected),
        kind_found(found)
    ))
}

fn kind_wanted(expected: &str) -> String {
    match expected {
        "a string" | "path string" | "string" => "a text in quotation marks".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list in [ ]".to_owned(),
        "u8" => "a whole number from 0 to 255".to_owned(),
        "u16" => "a whole number from 0 to 65535".to_owned(),
        "u32" => "a whole number from 0 to 4294967295".to_owned(),
        // TOML itself ends there.
        "u64" | "usize" => "a whole number from 0 to 9223372036854775807".to_owned(),
        "i32" | "i64" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        other if other == "a map" || other.starts_with("struct ") => "a table".to_owned(),
        other => plain(other),
    }
}

fn kind_found(found: &str) -> String {
    let quoted = |start: &str| {
        let value = found.strip_prefix(start)?;
        // A number that only the widest type holds is said with that type behind it.
        let value = value
            .trim_end_matches(" as i128")
            .trim_end_matches(" as u128");
        Some(short(value.trim_matches('`')))
    };
    if let Some(text) = found.strip_prefix("string ") {
        return format!("the text \"{}\"", short(text.trim_matches('"')));
    }
    for number in ["integer ", "floating point ", "boolean "] {
        if let Some(value) = quoted(number) {
            return value;
        }
    }
    match found {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        other => plain(other),
    }
}

fn twice(said: &str, text: &str, span: Option<Range<usize>>) -> Option<String> {
    let name = span.and_then(|span| text.get(span)).unwrap_or_default();
    said.starts_with("duplicate key").then(|| {
        format!(
            "\"{}\" stands there twice; remove one of them",
            short(name.trim_matches('"'))
        )
    })
}

fn syntax(said: &str, text: &str, at: usize) -> String {
    let (name, value) = around(text, at);
    let wrong = if value.is_some_and(str::is_empty) {
        "the value after = is missing".to_owned()
    } else if said.starts_with("invalid") && said.contains("string") && closes(said) {
        "the quotation mark at the end of the text is missing".to_owned()
    } else {
        match SYNTAX.iter().find(|(start, _)| said.starts_with(start)) {
            Some((_, words)) => (*words).to_owned(),
            None => plain(
                &said
                    .replace('\n', "; ")
                    .replace("found map", "found a table"),
            ),
        }
    };
    match name {
        Some(name) => format!("{}: {wrong}", short(name)),
        None => wrong,
    }
}

/// Whether the end of a text is what the parser misses.
fn closes(said: &str) -> bool {
    said.ends_with("expected `\"`") || said.ends_with("expected `'`")
}

/// The line on which the byte at `at` stands: the name that it sets, and what stands after =, where there is one.
fn around(text: &str, at: usize) -> (Option<&str>, Option<&str>) {
    let head = text.get(..at).unwrap_or(text);
    let start = head.rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let (before, value) = match line.split_once('=') {
        Some((before, value)) => (before.trim(), Some(value.trim())),
        None => (line.split_whitespace().next().unwrap_or_default(), None),
    };
    let bare = |c: char| c.is_alphanumeric() || "-_.\"".contains(c);
    let is_name = !before.is_empty() && before.chars().all(bare);
    (is_name.then_some(before), value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct File {
        #[allow(dead_code)]
        theme: String,
        #[allow(dead_code)]
        mouse: bool,
        #[allow(dead_code)]
        inner: BTreeMap<String, Inner>,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Inner {
        #[allow(dead_code)]
        k: u32,
        #[allow(dead_code)]
        names: Vec<String>,
    }

    fn said(text: &str) -> String {
        explain("f.toml", text, &toml::from_str::<File>(text).unwrap_err())
    }

    #[test]
    fn every_field_has_its_line() {
        let text = "a = 1\n\n[b]\nc = 2\n[b.\"d.e\"]\nf = { g = 3 }\n";
        let lines = lines(text);
        for (name, line) in [("a", 1), ("b", 3), ("b.c", 4), ("b.d.e.f.g", 6)] {
            assert_eq!(lines.get(name), Some(&line), "{name} in {lines:?}");
        }
        assert!(super::lines("a = ").is_empty());
    }

    #[test]
    fn mistakes_name_line_and_field() {
        for (text, expected) in [
            (
                "mouse = true\nteme = \"x\"\n",
                "f.toml, line 2: there is no field \"teme\"; did you mean \"theme\"?",
            ),
            (
                "[inner.x]\nname = []\n",
                "f.toml, line 2: there is no field \"name\" in [inner.x]; did you mean \"names\"?",
            ),
            (
                "mouse = \"yes\"\n",
                "f.toml, line 1: mouse must be true or false, but is the text \"yes\"",
            ),
            (
                "[inner.x]\nk = -1\n",
                "f.toml, line 2: inner.x.k must be a whole number from 0 to 4294967295, but is -1",
            ),
            (
                "[inner.x]\nk = 99999999999999999999999\n",
                "f.toml, line 2: inner.x.k must be a whole number from 0 to 4294967295, but is 99999999999999999999999",
            ),
            (
                "[inner.x]\nnames = \"a\"\n",
                "f.toml, line 2: inner.x.names must be a list in [ ], but is the text \"a\"",
            ),
            (
                "theme = \"a\"\n\ntheme = \"b\"\n",
                "f.toml, line 3: \"theme\" stands there twice; remove one of them",
            ),
        ] {
            assert_eq!(said(text), expected);
        }
    }
}
