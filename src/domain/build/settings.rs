//! What can be set about a build: the command and the explorer's form take bounds, usual values and words from here, so
//! that they can't differ.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::Serialize;

use crate::domain::text::short;

/// A whole number that can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    /// The least.
    pub low: u16,
    /// The most.
    pub high: u16,
    /// What it is where nothing is said.
    pub usual: u16,
    /// What it means, with its bounds.
    pub about: &'static str,
}

impl Number {
    /// The bounds.
    pub const fn range(self) -> RangeInclusive<i64> {
        RangeInclusive::new(self.low as i64, self.high as i64)
    }

    /// Reads a number within the bounds.
    ///
    /// # Errors
    /// What stands there and what was expected, to follow the name of the field.
    pub fn read(self, text: &str) -> Result<u16, String> {
        let (text, bounds) = (text.trim(), self.low..=self.high);
        let read = text.parse().ok().filter(|value| bounds.contains(value));
        read.ok_or_else(|| {
            format!(
                "is \"{}\"; a whole number from {} to {} is expected",
                short(text),
                self.low,
                self.high
            )
        })
    }
}

/// Search topics per question.
pub const TOPICS: Number = Number {
    low: 1,
    high: 20,
    usual: 5,
    about: "Search topics per question, 1 to 20",
};

/// Documents of the index per topic.
pub const PER_TOPIC: Number = Number {
    low: 1,
    high: 100,
    usual: 3,
    about: "Documents of the index per topic, 1 to 100",
};

/// Web pages per question.
pub const PAGES: Number = Number {
    low: 1,
    high: 30,
    usual: 5,
    about: "Web pages per question that become documents, 1 to 30",
};

/// Repairs of an item.
pub const REPAIRS: Number = Number {
    low: 0,
    high: 10,
    usual: 2,
    about: "How often an item that breaks a rule is asked for again, 0 to 10",
};

/// Calls at a time.
pub const CONCURRENCY: Number = Number {
    low: 1,
    high: 256,
    usual: 8,
    about: "The most calls at a time, 1 to 256 (embedded models: always 1)",
};

/// What a limit of questions means.
pub const LIMIT: &str =
    "Only the first so many questions, in file order; those that the folder has already stay";

/// What checks by the model are.
pub const MODEL_CHECKS: &str =
    "Have the model check too whether sub-questions stand alone and planted answers contradict";

/// How a build works.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Settings {
    /// Search topics per question.
    pub topics: usize,
    /// Documents per topic.
    pub per_topic: usize,
    /// Web pages per question.
    pub pages: usize,
    /// How often an item that breaks a rule is asked for again.
    pub repairs: u32,
    /// Whether a model checks too what rules can't see.
    pub model_checks: bool,
    /// The most calls at a time.
    pub concurrency: usize,
    /// How long a call may take; in seconds where it is written.
    #[serde(rename = "call_timeout_s", serialize_with = "seconds")]
    pub call_timeout: Duration,
}

fn seconds<S: serde::Serializer>(time: &Duration, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_u64(time.as_secs())
}

/// The longest time of a call where nothing is said, in seconds.
pub const CALL_TIMEOUT: u32 = 600;

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            topics: usize::from(TOPICS.usual),
            per_topic: usize::from(PER_TOPIC.usual),
            pages: usize::from(PAGES.usual),
            repairs: u32::from(REPAIRS.usual),
            model_checks: false,
            concurrency: usize::from(CONCURRENCY.usual),
            call_timeout: Duration::from_secs(u64::from(CALL_TIMEOUT)),
        }
    }
}

/// Which questions a build works on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scope {
    /// Ids of the questions that are worked on; empty: all.
    pub only: Vec<String>,
    /// Only the first so many; of questions after them, those stay that the folder has already.
    pub limit: Option<usize>,
    /// Whether earlier answers of the stages for them count no longer.
    pub again: bool,
}

/// Which addresses pages may be read from that are not public: for intranets and tests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Private {
    /// None.
    #[default]
    Closed,
    /// These alone.
    These(Vec<IpAddr>),
    /// All.
    Open,
}

impl Private {
    /// What stands for none.
    pub const NONE: &'static str = "none";
    /// What stands for all.
    pub const ALL: &'static str = "all";

    /// Reads `none`, `all`, or addresses with commas between them.
    ///
    /// # Errors
    /// What stands there and what was expected, to follow the name of the field.
    pub fn read(text: &str) -> Result<Private, String> {
        match text.trim() {
            "" | Private::NONE => return Ok(Private::Closed),
            Private::ALL => return Ok(Private::Open),
            _ => {}
        }
        let pieces = text.split(',').map(str::trim);
        let addresses = pieces
            .filter(|piece| !piece.is_empty())
            .map(|piece| {
                piece.parse().map_err(|_| {
                    format!(
                        "has \"{}\"; none, all, or IP addresses with commas between them are expected",
                        short(piece)
                    )
                })
            })
            .collect::<Result<Vec<IpAddr>, String>>()?;
        Ok(match addresses.is_empty() {
            true => Private::Closed,
            false => Private::These(addresses),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_keep_their_bounds_and_their_words_name_them() {
        for number in [TOPICS, PER_TOPIC, PAGES, REPAIRS, CONCURRENCY] {
            let bounds = format!("{} to {}", number.low, number.high);
            assert!(number.about.contains(&bounds), "{}", number.about);
            assert!(number.range().contains(&i64::from(number.usual)));
            assert_eq!(number.read(&format!(" {} ", number.high)), Ok(number.high));
            let beyond = u32::from(number.high) + 1;
            let why = number.read(&beyond.to_string()).unwrap_err();
            assert!(why.contains(&format!("from {bounds}")), "{why}");
            assert!(number.read("-1").is_err() && number.read("").is_err());
        }
    }

    #[test]
    fn private_addresses_are_none_all_or_named() {
        assert_eq!(Private::read(" "), Ok(Private::Closed));
        assert_eq!(Private::read("none"), Ok(Private::Closed));
        assert_eq!(Private::read("all"), Ok(Private::Open));
        let two = Private::These(vec!["10.0.0.7".parse().unwrap(), "::1".parse().unwrap()]);
        assert_eq!(Private::read("10.0.0.7, ::1,"), Ok(two));
        let why = Private::read("10.0.0.7, intranet\u{1b}[31m").unwrap_err();
        assert!(why.starts_with("has \"intranet\"; none, all"), "{why}");
    }
}
