//! Under which condition the reference code's replies were asked: what a file's name and its records say.

use std::io::Read;
use std::path::Path;

use serde_json::Value;

use crate::data::import::ImportError;
use crate::data::import::walk::members;
use crate::domain::context::Scenario;
use crate::domain::text::short;

/// What is known of the condition of a file's replies.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Told {
    /// The scenario: from the name, else from the records.
    pub(super) scenario: Option<Scenario>,
    /// Documents per context: from the name, else the most that a record lists; 0 where nothing says it.
    pub(super) docs: usize,
    /// The model that the name has beside the condition.
    pub(super) model: Option<String>,
    /// The percentage p that the name says.
    p: Option<f64>,
    /// Whether `p_sig` is a share of 1 and no percentage.
    is_share: bool,
}

/// What the records of a file say together.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Survey {
    /// The scenario that a record names, or else the form of the first reply that tells.
    scenario: Option<Scenario>,
    /// The most documents that a record lists.
    docs: usize,
    /// Every possible value of `p_sig`, each once, up to [`MOST_VALUES`].
    p: Vec<f64>,
}

/// More different values of `p_sig` are no conditions of a sweep.
const MOST_VALUES: usize = 128;

impl Told {
    /// What the name of a file says: parts between `_`, `-` and spaces such as `robustness`, `p40`, `n5`; `ending` is
    /// that of all such files.
    pub(super) fn of_name(path: &Path, ending: &str) -> Told {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let name = name.strip_suffix(ending).unwrap_or(&name);
        let mut told = Told::default();
        let mut rest = Vec::new();
        for part in name.split(['_', ' ']) {
            // A model's name may have a hyphen; a condition is taken out of it only as a whole.
            let mut with = told.clone();
            match part.split('-').all(|part| with.take(part)) {
                true => told = with,
                false => rest.push(part),
            }
        }
        let rest = rest.join("_");
        told.model = (!rest.is_empty()).then_some(rest);
        told
    }

    /// Takes a part of a name that says something of the condition.
    fn take(&mut self, part: &str) -> bool {
        let lower = part.to_lowercase();
        if let Ok(scenario) = lower.parse() {
            self.scenario.get_or_insert(scenario);
            return true;
        }
        if let Some(docs) = number_of_documents(&lower) {
            self.docs = docs;
            return true;
        }
        let p = lower
            .strip_prefix("psig")
            .or_else(|| lower.strip_prefix('p'))
            .and_then(percentage);
        self.p = p.or(self.p);
        p.is_some()
    }

    /// Adds what the records say where the name is silent; gives what had to be decided, a sentence each.
    pub(super) fn complete(&mut self, found: &Survey) -> Vec<String> {
        let mut decided = Vec::new();
        if self.scenario.is_none()
            && let Some(scenario) = found.scenario
        {
            decided.push(format!(
                "the name says no scenario; its records are of {scenario}"
            ));
            self.scenario = Some(scenario);
        }
        let has_documents = self.scenario.is_some_and(|it| it != Scenario::Standard);
        if self.docs == 0 && found.docs > 0 {
            self.docs = found.docs;
            if has_documents {
                decided.push(format!(
                    "n = {}, the most documents that a record lists; a name such as robustness_n5_p60_predictions.json says it",
                    found.docs
                ));
            }
        } else if self.docs == 0 && has_documents {
            decided.push(
                "how many documents were shown is said nowhere, so its replies stand under n = 0; a name such as robustness_n5_p60_predictions.json says it"
                    .to_owned(),
            );
        }
        if self.scenario.is_none() && self.docs > 0 {
            self.scenario = Some(Scenario::Standard);
            decided.push(
                "neither name nor records say the scenario; replies with documents count as standard"
                    .to_owned(),
            );
        }
        decided.extend(self.decide_p(&found.p));
        decided
    }

    /// Decides whether `p_sig` is a share or a percentage, and says so where it was to be decided.
    fn decide_p(&mut self, values: &[f64]) -> Option<String> {
        let largest = values.iter().copied().fold(f64::NAN, f64::max);
        if largest.is_nan() {
            return None;
        }
        let near = |a: f64, b: f64| (a - b).abs() < 0.5;
        let by_name = self.p.filter(|_| values.len() == 1);
        self.is_share = match by_name {
            // The name says which of both it is.
            Some(p) if near(largest, p) => false,
            Some(p) if near(largest * 100.0, p) => true,
            // No context has so many documents that less than one in a hundred would be signal: 1 is all of them.
            _ => largest > 0.0 && largest <= 1.0,
        };
        let percent = if self.is_share {
            largest * 100.0
        } else {
            largest
        };
        match by_name {
            Some(p) if !near(percent, p) => Some(format!(
                "its name says p = {p} %, but its records say {percent} % (p_sig {largest}); the records count"
            )),
            _ if self.is_share => Some(format!(
                "p_sig is taken as a share of 1, not as per cent: {largest} is {percent} %"
            )),
            _ => None,
        }
    }

    /// The percentage p of a record: its `p_sig`, else what the file's name says.
    ///
    /// # Errors
    /// A sentence on a `p_sig` that is none.
    pub(super) fn p_of(&self, record: &Value) -> Result<Option<f64>, String> {
        let value = match record.get("p_sig") {
            None | Some(Value::Null) => return Ok(self.p),
            Some(value) => value,
        };
        let percent = p_sig(value).map(|p| match self.is_share {
            // Shares such as 0.6 have no exact binary form: 60, not 60.00000000000001.
            true => (p * 1e8).round() / 1e6,
            false => p,
        });
        match percent.filter(|p| (0.0..=100.0).contains(p)) {
            Some(p) => Ok(Some(p)),
            None => Err(format!(
                "p_sig is {}, but a number from 0 to 100 (or a share from 0 to 1) is expected",
                short(&value.to_string())
            )),
        }
    }
}

/// The number of a name's part such as `n5`, `5docs` or `docs5`.
fn number_of_documents(part: &str) -> Option<usize> {
    let digits = part
        .strip_prefix("docs")
        .or_else(|| part.strip_prefix("doc"))
        .or_else(|| part.strip_prefix('n'))
        .or_else(|| part.strip_prefix('k'))
        .or_else(|| part.strip_suffix("docs"))
        .or_else(|| part.strip_suffix("doc"))?;
    let number = digits.parse().ok()?;
    (1..=1000).contains(&number).then_some(number)
}

/// A percentage in a name: `60`, or a share with a point (`0.6`).
fn percentage(text: &str) -> Option<f64> {
    let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    let value: f64 = text.parse().ok().filter(|_| is_number)?;
    let percent = match text.contains('.') && value <= 1.0 {
        true => (value * 1e8).round() / 1e6,
        false => value,
    };
    (percent <= 100.0).then_some(percent)
}

/// The number of a `p_sig`, which may be written as a text.
fn p_sig(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().trim_end_matches('%').trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

/// Reads through a file of predictions for what its records say together. A file that is broken is read as far as it
/// goes; reading its replies says what is wrong.
///
/// # Errors
/// What `look`, called for every record, says.
pub(super) fn survey(
    reader: impl Read,
    look: &mut dyn FnMut() -> Result<(), ImportError>,
) -> Result<Survey, ImportError> {
    let mut found = Survey::default();
    let mut by_form = None;
    let read = members(reader, &mut |_, record| {
        look()?;
        let count = |field: &str| record[field].as_array().map_or(0, Vec::len);
        let listed = listed(
            &record,
            count("noise_doc_ids") + count("adversarial_doc_ids"),
        );
        found.docs = found.docs.max(listed);
        // What is no p at all, its record's own fault, decides nothing about the others.
        if let Some(p) = p_sig(&record["p_sig"]).filter(|p| (0.0..=100.0).contains(p))
            && found.p.len() < MOST_VALUES
            && !found.p.contains(&p)
        {
            found.p.push(p);
        }
        if found.scenario.is_none() {
            found.scenario = record["scenario"].as_str().and_then(|it| it.parse().ok());
        }
        if by_form.is_none() {
            by_form = form(&record);
        }
        Ok(())
    });
    found.scenario = found.scenario.or(by_form);
    match read {
        Ok(()) | Err(ImportError::Broken(_)) => Ok(found),
        Err(other) => Err(other),
    }
}

/// How many different documents a record lists; `most` where the lists share none.
fn listed(record: &Value, most: usize) -> usize {
    let mut ids = std::collections::HashSet::with_capacity(most);
    for field in ["noise_doc_ids", "adversarial_doc_ids"] {
        let items = record[field].as_array().into_iter().flatten();
        ids.extend(items.filter_map(Value::as_str));
    }
    ids.len()
}

/// The scenario whose form a reply has; only what no other scenario asks for tells.
fn form(record: &Value) -> Option<Scenario> {
    if record["adversarial_doc_ids"]
        .as_array()
        .is_some_and(|ids| !ids.is_empty())
    {
        return Some(Scenario::Robustness);
    }
    let reply = record["response"].as_str()?;
    if reply.contains("\"factual_correctness\"") {
        Some(Scenario::Robustness)
    } else if reply.contains("\"irrelevant_doc_id\"") {
        Some(Scenario::Sufficiency)
    } else if reply.contains("\"sub_1\"") {
        Some(Scenario::Integration)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn named(name: &str) -> Told {
        Told::of_name(Path::new(name), "_predictions.json")
    }

    #[test]
    fn names_say_scenario_p_n_and_model() {
        for (name, scenario, p, docs, model) in [
            (
                "robustness_p40_predictions.json",
                Some(Scenario::Robustness),
                Some(40.0),
                0,
                None,
            ),
            (
                "gpt-4_Sufficiency_n20_p0.6_predictions.json",
                Some(Scenario::Sufficiency),
                Some(60.0),
                20,
                Some("gpt-4"),
            ),
            (
                "integration-5docs-p100_predictions.json",
                Some(Scenario::Integration),
                Some(100.0),
                5,
                None,
            ),
            ("llama-p3_predictions.json", None, None, 0, Some("llama-p3")),
            (
                "standard_predictions.json",
                Some(Scenario::Standard),
                None,
                0,
                None,
            ),
        ] {
            let told = named(name);
            let found = (told.scenario, told.p, told.docs, told.model.as_deref());
            assert_eq!(found, (scenario, p, docs, model), "{name}");
        }
    }

    #[test]
    fn a_share_is_told_from_a_percentage_and_said() {
        for (name, values, percent, said) in [
            ("sufficiency_p60", vec![0.6], 60.0, Some("share")),
            ("sufficiency_p60", vec![60.0], 60.0, None),
            ("sufficiency_p1", vec![1.0], 1.0, None),
            ("sufficiency", vec![1.0], 100.0, Some("share")),
            ("sufficiency", vec![0.2, 0.4, 1.0], 100.0, Some("share")),
            ("sufficiency", vec![1.0, 60.0], 60.0, None),
            (
                "sufficiency_p60",
                vec![40.0],
                40.0,
                Some("the records count"),
            ),
            ("sufficiency", vec![0.0], 0.0, None),
        ] {
            let mut told = named(&format!("{name}_predictions.json"));
            let survey = Survey {
                docs: 5,
                p: values.clone(),
                ..Survey::default()
            };
            let decided = told.complete(&survey).join("; ");
            let largest = values.last().unwrap();
            let p = told.p_of(&json!({"p_sig": largest})).unwrap();
            assert_eq!(p, Some(percent), "{name} {values:?}: {decided}");
            match said {
                Some(said) => assert!(decided.contains(said), "{name} {values:?}: {decided}"),
                None => assert!(!decided.contains("share") && !decided.contains("count")),
            }
        }
    }

    #[test]
    fn a_p_that_is_none_is_refused_and_a_missing_one_is_the_names() {
        let told = named("robustness_p40_predictions.json");
        assert_eq!(told.p_of(&json!({})).unwrap(), Some(40.0));
        assert_eq!(told.p_of(&json!({"p_sig": "20 %"})).unwrap(), Some(20.0));
        for bad in [json!(600), json!(-1), json!("half"), json!([1])] {
            let why = told.p_of(&json!({"p_sig": bad})).unwrap_err();
            assert!(why.contains("0 to 100"), "{why}");
        }
    }

    #[test]
    fn records_say_what_the_name_does_not() {
        let text = r#"[{"question_id": "a", "p_sig": 40, "response": "{\"sub_1\": {\"factual_correctness\": true}}",
            "noise_doc_ids": ["x", "y"], "adversarial_doc_ids": ["x"]}, {"p_sig": 40}, "#;
        let found = survey(text.as_bytes(), &mut || Ok(())).unwrap();
        assert_eq!(found.scenario, Some(Scenario::Robustness));
        assert_eq!((found.docs, found.p.as_slice()), (2, &[40.0][..]));
        let mut told = named("gpt_predictions.json");
        let decided = told.complete(&found).join("; ");
        assert_eq!((told.scenario, told.docs), (Some(Scenario::Robustness), 2));
        assert!(
            decided.contains("no scenario") && decided.contains("n = 2"),
            "{decided}"
        );
    }
}
