//! The failures that annotators tell apart: ours, or those of a file.

use serde::Deserialize;

use crate::domain::text::{line_at, one_line, short};
use crate::domain::toml_file;

/// The taxonomy that comes with the program.
const BUILT_IN: &str = include_str!("../../../assets/taxonomy.toml");

/// The most labels of a taxonomy: each has a key of its own, and all must be on screen at once.
pub const MOST_LABELS: usize = 20;

/// The longest name of a label, in characters, so that it stands in a list.
const LONGEST_NAME: usize = 40;

/// A failure that a reply can be labelled with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Its name in files; never changes.
    pub id: String,
    /// The key that sets and clears it.
    pub key: char,
    /// Its name on screen.
    pub name: String,
    /// What it means, in one line.
    pub definition: String,
}

/// The labels that annotators choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taxonomy {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The labels in the order in which they are shown.
    pub labels: Vec<Label>,
}

impl Label {
    /// Whether a text can be the name of a label in files: lower-case letters, digits and _.
    pub fn is_id(text: &str) -> bool {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        !text.is_empty() && text.chars().all(is_plain)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    version: toml::Spanned<toml::Value>,
    #[serde(default)]
    label: Vec<toml::Spanned<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    key: String,
    name: String,
    definition: String,
}

impl Default for Taxonomy {
    /// The one that comes with the program.
    fn default() -> Self {
        // The file is tested, so nothing is lost here.
        Taxonomy::parse("the built-in taxonomy", BUILT_IN).unwrap_or_else(|_| Taxonomy {
            name: "none".to_owned(),
            version: "0".to_owned(),
            labels: Vec::new(),
        })
    }
}

impl Taxonomy {
    /// Reads a taxonomy; `origin` names the file in messages.
    ///
    /// # Errors
    /// One sentence: file, line, what is wrong and what was expected.
    pub fn parse(origin: &str, text: &str) -> Result<Taxonomy, String> {
        let line = |at: usize| line_at(text, at);
        let file: File =
            toml::from_str(text).map_err(|error| toml_file::explain(origin, text, &error))?;
        let version = match file.version.get_ref() {
            toml::Value::String(text) => one_line(text),
            toml::Value::Integer(number) => number.to_string(),
            _ => {
                let at = line(file.version.span().start);
                return Err(format!(
                    "{origin}, line {at}: version must be a text, such as \"1\""
                ));
            }
        };
        let mut taxonomy = Taxonomy {
            name: one_line(&file.name),
            version,
            labels: Vec::new(),
        };
        if taxonomy.name.is_empty() || taxonomy.version.is_empty() {
            return Err(format!("{origin}: name and version must not be empty"));
        }
        for entry in file.label {
            let at = line(entry.span().start);
            let label = label(entry.into_inner(), &taxonomy.labels);
            taxonomy
                .labels
                .push(label.map_err(|why| format!("{origin}, line {at}: {why}"))?);
        }
        match taxonomy.labels.len() {
            0 => Err(format!(
                "{origin}: there is no [[label]]; at least one is needed"
            )),
            count if count > MOST_LABELS => Err(format!(
                "{origin}: there are {count} labels, but at most {MOST_LABELS} have room on the screen"
            )),
            _ => Ok(taxonomy),
        }
    }

    /// Name and version, as they stand beside every annotation.
    pub fn stamp(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// The label with this id.
    pub fn label(&self, id: &str) -> Option<&Label> {
        self.labels.iter().find(|label| label.id == id)
    }

    /// The label with this key.
    pub fn keyed(&self, key: char) -> Option<&Label> {
        self.labels.iter().find(|label| label.key == key)
    }

    /// A label's name on screen; the id of one that this taxonomy does not have.
    pub fn name_of<'a>(&'a self, id: &'a str) -> &'a str {
        self.label(id).map_or(id, |label| label.name.as_str())
    }
}

/// Checks one label against those before it.
fn label(entry: Entry, others: &[Label]) -> Result<Label, String> {
    let Entry {
        id,
        key,
        name,
        definition,
    } = entry;
    if !Label::is_id(&id) {
        return Err(format!(
            "the id \"{}\" must be lower-case letters, digits and _, such as missed_evidence",
            short(&id)
        ));
    }
    let mut letters = key.chars();
    let key = match (letters.next(), letters.next()) {
        (Some(c), None) if !c.is_control() && !c.is_whitespace() => c,
        _ => {
            return Err(format!(
                "the key \"{}\" of {id} must be one character",
                short(&key)
            ));
        }
    };
    let (name, definition) = (one_line(&name), one_line(&definition));
    if name.is_empty() || name.chars().count() > LONGEST_NAME {
        return Err(format!(
            "the name of {id} must have 1 to {LONGEST_NAME} characters"
        ));
    }
    if definition.is_empty() {
        return Err(format!(
            "the definition of {id} is empty; say in one line what it means"
        ));
    }
    for other in others {
        if other.id == id {
            return Err(format!("the id {id} stands there twice"));
        }
        if other.key == key {
            return Err(format!(
                "the key \"{key}\" belongs to both {} and {id}; change one of them",
                other.id
            ));
        }
    }
    Ok(Label {
        id,
        key,
        name,
        definition,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_built_in_taxonomy_is_sound() {
        let taxonomy = Taxonomy::parse("ours", BUILT_IN).unwrap();
        assert_eq!(taxonomy.labels.len(), 10);
        assert_eq!(taxonomy.keyed('1').unwrap().id, "misinformation_adopted");
        assert_eq!(taxonomy.name_of("other"), "other");
        assert_eq!(taxonomy.name_of("gone_since"), "gone_since");
        assert_eq!(taxonomy.stamp(), "medrgb-failures@1");
        assert_eq!(taxonomy, Taxonomy::default());
    }

    #[test]
    fn mistakes_name_file_and_line() {
        let head = "name = \"mine\"\nversion = 2\n";
        let entry = |id: &str, key: &str| {
            format!("[[label]]\nid = \"{id}\"\nkey = \"{key}\"\nname = \"n\"\ndefinition = \"d\"\n")
        };
        let wrong = [
            (head.to_owned(), "there is no [[label]]"),
            (
                head.to_owned() + &entry("Bad id", "1"),
                "t.toml, line 3: the id \"Bad id\"",
            ),
            (
                head.to_owned() + &entry("a", "12"),
                "line 3: the key \"12\" of a",
            ),
            (
                head.to_owned() + &entry("a", "1") + &entry("a", "2"),
                "line 8: the id a stands",
            ),
            (
                head.to_owned() + &entry("a", "1") + &entry("b", "1"),
                "both a and b",
            ),
            (
                head.to_owned() + "[[label]]\nid = \"a\"\nkei = \"1\"\n",
                "line 5: there is no field \"kei\" in [label]; did you mean \"key\"?",
            ),
            (
                "version = \"1\"".to_owned(),
                "the field \"name\" is missing",
            ),
            (
                "name = \"n\"\nversion = true\n".to_owned(),
                "line 2: version must be a text",
            ),
            ("name = ".to_owned(), "t.toml, line 1:"),
        ];
        for (text, expected) in wrong {
            let message = Taxonomy::parse("t.toml", &text).unwrap_err();
            assert!(message.contains(expected), "{message}\nfor\n{text}");
        }
        let many: String = (0..21u8)
            .map(|i| entry(&format!("l{i}"), &char::from(b'a' + i).to_string()))
            .collect();
        let message = Taxonomy::parse("t.toml", &(head.to_owned() + &many)).unwrap_err();
        assert!(message.contains("21 labels"), "{message}");
        let fine = Taxonomy::parse("t.toml", &(head.to_owned() + &entry("a", "x"))).unwrap();
        assert_eq!(fine.stamp(), "mine@2");
    }

    #[test]
    fn nothing_in_a_file_drives_the_terminal() {
        let text = "name = \"a\\u001b[31mb\"\nversion = \"1\"\n[[label]]\nid = \"a\"\nkey = \"a\"\nname = \"x\\u001b]0;t\\u0007y\"\ndefinition = \"one\\ntwo\"\n";
        let taxonomy = Taxonomy::parse("t", text).unwrap();
        assert_eq!(taxonomy.name, "ab");
        assert_eq!(taxonomy.labels[0].name, "xy");
        assert_eq!(taxonomy.labels[0].definition, "one two");
    }
}
