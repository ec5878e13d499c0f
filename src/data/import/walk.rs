//! Walking through a JSON document of any size: the wanted parts come one by one, the rest is passed over.

use std::fmt;
use std::io::{BufReader, Read};

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::data::import::ImportError;
use crate::data::import::nan::PlainJson;
use crate::domain::plain::plain;

/// What to do with a value of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Look at what is in it, one by one; a value that holds nothing is handed out as it is.
    Into,
    /// Hand it out as a whole.
    Take,
    /// Pass over it without keeping anything.
    Skip,
}

/// Where a value stands: keys and positions (from 0, as text) from the top.
pub(super) type Trail = [String];

/// Hands out the members of the list or object that the document is, one at a time; otherwise as [`walk`].
pub(super) fn members(
    reader: impl Read,
    take: &mut dyn FnMut(&Trail, Value) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let choose = |trail: &Trail| match trail {
        [] => Step::Into,
        _ => Step::Take,
    };
    walk(reader, &choose, take)
}

/// Walks through a document. `choose` says what to do with the value at a place, `take` gets the wanted ones
/// in document order. Of a key that stands twice in an object the values come one after the other.
///
/// Only what is handed out is ever in memory. `NaN` and `Infinity`, which Python writes, are read as null.
///
/// # Errors
/// [`ImportError::Broken`] with line and column where the document is broken (everything before has been handed
/// out), or what `take` says.
pub(super) fn walk(
    reader: impl Read,
    choose: &dyn Fn(&Trail) -> Step,
    take: &mut dyn FnMut(&Trail, Value) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut walker = Walker {
        choose,
        take,
        trail: Vec::new(),
        stop: None,
    };
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(PlainJson::new(reader)));
    let walked = Node(&mut walker).deserialize(&mut json);
    if let Some(stop) = walker.stop {
        return Err(stop);
    }
    walked.and_then(|()| json.end()).map_err(|error| {
        let hint = match error.is_eof() {
            true => "; the file ends too early, fetch or write it again",
            false => "",
        };
        ImportError::Broken(format!(
            "no complete JSON ({}{hint})",
            plain(&error.to_string())
        ))
    })
}

struct Walker<'a> {
    choose: &'a dyn Fn(&Trail) -> Step,
    take: &'a mut dyn FnMut(&Trail, Value) -> Result<(), ImportError>,
    trail: Vec<String>,
    stop: Option<ImportError>,
}

impl Walker<'_> {
    fn hand_out<E: Error>(&mut self, value: Value) -> Result<(), E> {
        (self.take)(&self.trail, value).map_err(|stop| {
            self.stop = Some(stop);
            E::custom("stopped")
        })
    }
}

/// The value at the walker's trail.
struct Node<'w, 'a>(&'w mut Walker<'a>);

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match (self.0.choose)(&self.0.trail) {
            Step::Into => deserializer.deserialize_any(self),
            Step::Take => {
                let value = serde::Deserialize::deserialize(deserializer)?;
                self.0.hand_out(value)
            }
            Step::Skip => deserializer.deserialize_ignored_any(IgnoredAny).map(drop),
        }
    }
}

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.0.trail.push(key);
            map.next_value_seed(Node(&mut *self.0))?;
            self.0.trail.pop();
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        for position in 0_usize.. {
            self.0.trail.push(position.to_string());
            let more = list.next_element_seed(Node(&mut *self.0))?;
            self.0.trail.pop();
            if more.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.hand_out(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.0.hand_out(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.0.hand_out(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.0.hand_out(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.0.hand_out(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.0.hand_out(value.into())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn walked(text: &str, choose: &dyn Fn(&Trail) -> Step) -> (Vec<String>, Result<(), String>) {
        let mut all = Vec::new();
        let end = walk(text.as_bytes(), choose, &mut |trail, value| {
            all.push(format!("{}={value}", trail.join("/")));
            Ok(())
        });
        (all, end.map_err(|error| error.to_string()))
    }

    fn choose(trail: &Trail) -> Step {
        let trail: Vec<&str> = trail.iter().map(String::as_str).collect();
        match trail.as_slice() {
            [] | ["rows"] => Step::Into,
            ["rows", _] | ["name"] => Step::Take,
            _ => Step::Skip,
        }
    }

    #[test]
    fn parts_come_in_order_and_the_rest_is_passed_over() {
        let text = r#"{"name":"x","big":{"a":[1,{"b":2}]},"rows":[{"q":1},[2],NaN]}"#;
        let (all, end) = walked(text, &choose);
        end.unwrap();
        assert_eq!(
            all,
            [
                "name=\"x\"",
                "rows/0={\"q\":1}",
                "rows/1=[2]",
                "rows/2=null"
            ]
        );
        let (all, end) = walked(r#"{"rows":7}"#, &choose);
        end.unwrap();
        assert_eq!(all, ["rows=7"]);
    }

    #[test]
    fn what_came_before_the_break_is_handed_out() {
        let (all, end) = walked("{\"rows\":[1,\n2,", &choose);
        assert_eq!(all, ["rows/0=1", "rows/1=2"]);
        let error = end.unwrap_err();
        assert!(
            error.contains("line 2") && error.contains("too early"),
            "{error}"
        );
        let (_, end) = walked("{} {}", &choose);
        assert!(end.unwrap_err().contains("more text after the end"));
    }

    #[test]
    fn the_taker_can_stop() {
        let mut count = 0;
        let end = walk(&b"[1,2,3]"[..], &|_| Step::Into, &mut |_, _| {
            count += 1;
            Err(ImportError::Stopped)
        });
        assert!(matches!(end, Err(ImportError::Stopped)));
        assert_eq!(count, 1);
    }
}
