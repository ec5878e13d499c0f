//! How far a push has come: kept in the collection itself, as a property for each source.
//!
//! So it is forgotten with the collection, is there for every machine, and needs no file here. It is written after
//! batches that the server has taken: what a kill leaves between the two is written again, which changes nothing.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::text::{count, hex};
use crate::retrieval::remote::push::Pushed;
use crate::retrieval::remote::wire::KeyValue;
use crate::retrieval::sealed::{self, Hasher};

/// What the names of these properties begin with.
const PREFIX: &str = "medrgb.push.";
/// Bytes of a source's hash that stand in its property's name.
const NAMED: usize = 16;

/// How far one push has come.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Standing {
    /// Documents from the beginning of the source that are written, or refused.
    pub done: usize,
    /// Documents of the source.
    pub of: usize,
    /// What has come of those that are done.
    pub pushed: Pushed,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = count(self.of, "document");
        write!(
            f,
            "a push of {of} stopped at {}; the same `medrgb index push` goes on there",
            self.done
        )
    }
}

impl Standing {
    fn read(value: &str) -> Option<Standing> {
        let standing: Standing = serde_json::from_str(value).ok()?;
        (standing.done <= standing.of).then_some(standing)
    }
}

/// What is pushed, known again by its content: the same documents with vectors of the same encoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceId(String);

impl SourceId {
    /// Of the parts that make a source what it is, in their order.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> SourceId {
        let mut hasher = Hasher::new();
        parts.into_iter().for_each(|part| hasher.part(part));
        let key: sealed::Key = hasher.finish();
        SourceId(hex(&key[..NAMED]))
    }

    /// The name of its property.
    pub(super) fn property(&self) -> String {
        format!("{PREFIX}{}", self.0)
    }

    /// How far its push has come, by the properties of a collection.
    pub(super) fn standing(&self, properties: &[KeyValue]) -> Option<Standing> {
        let name = self.property();
        let own = properties.iter().find(|pair| pair.key == name)?;
        Standing::read(&own.value)
    }

    /// Names of the properties that tell of pushes of other sources. What this one writes may be the same documents,
    /// so that they no longer hold what those wrote.
    pub(super) fn others(&self, properties: &[KeyValue]) -> Vec<String> {
        let own = self.property();
        unfinished_of(properties)
            .filter(|(name, _)| *name != own)
            .map(|(name, _)| name.to_owned())
            .collect()
    }
}

/// All pushes that are not finished, by the properties of a collection.
pub(super) fn unfinished(properties: &[KeyValue]) -> Vec<Standing> {
    unfinished_of(properties)
        .filter_map(|(_, value)| Standing::read(value))
        .collect()
}

/// Those that are finished are emptied, where a server can't take a property back.
fn unfinished_of(properties: &[KeyValue]) -> impl Iterator<Item = (&str, &str)> {
    properties
        .iter()
        .map(|pair| (pair.key.as_str(), pair.value.as_str()))
        .filter(|(name, value)| name.starts_with(PREFIX) && !value.is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::retrieval::remote::values::pair;

    #[test]
    fn a_source_finds_its_own_standing_and_names_those_of_others() {
        let one = SourceId::of([b"a".as_slice(), b"bc"]);
        let two = SourceId::of([b"ab".as_slice(), b"c"]);
        assert_ne!(one, two);
        let standing = Standing {
            done: 3,
            of: 5,
            pushed: Pushed {
                written: 3,
                ..Pushed::default()
            },
        };
        let json = serde_json::to_string(&standing).unwrap();
        let properties = [
            pair("medrgb.index", "{}"),
            pair(&one.property(), &json),
            pair("medrgb.push.finished", ""),
        ];
        assert_eq!(one.standing(&properties), Some(standing.clone()));
        assert_eq!(two.standing(&properties), None);
        assert_eq!(two.others(&properties), [one.property()]);
        assert!(one.others(&properties).is_empty());
        assert_eq!(unfinished(&properties), std::slice::from_ref(&standing));
        assert!(standing.to_string().contains(" stopped at "));
    }

    #[test]
    fn what_is_no_standing_is_none() {
        let one = SourceId::of([b"a".as_slice()]);
        let too_far = Standing {
            done: 6,
            of: 5,
            pushed: Pushed::default(),
        };
        let too_far = serde_json::to_string(&too_far).unwrap();
        for value in ["", "[]", "{\"done\":1}", &too_far] {
            let properties = [pair(&one.property(), value)];
            assert_eq!(one.standing(&properties), None, "{value}");
        }
    }
}
