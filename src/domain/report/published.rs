//! The figures that the paper published, as a reference run that is built into the program.

use serde::Deserialize;

use crate::domain::context::{Scenario, SourceFilter};
use crate::domain::score::Metric;

/// The figures as they are built in.
const EMBEDDED: &str = include_str!("../../../assets/paper-results.json");

/// One published figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The paper's table.
    pub table: u8,
    /// Which test.
    pub scenario: Scenario,
    /// What was measured.
    pub metric: Metric,
    /// The paper's name of the question set.
    pub dataset: String,
    /// The paper's name of the model.
    pub model: String,
    /// Documents in the context; 0 is no retrieval.
    pub docs: usize,
    /// Per cent of them signal (robustness: original), 0 to 100; `None` in standard.
    pub p: Option<f64>,
    /// Where the documents were retrieved; the paper says so in Table 1 only.
    pub source: SourceFilter,
    /// The rate, 0 to 1.
    pub value: f64,
}

/// What a published figure is looked up by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lookup<'a> {
    /// Which test.
    pub scenario: Scenario,
    /// What was measured.
    pub metric: Metric,
    /// The paper's name of the question set.
    pub dataset: &'a str,
    /// The paper's name of the model.
    pub model: &'a str,
    /// Documents in the context.
    pub docs: usize,
    /// Per cent of them signal; ignored in standard.
    pub p: f64,
    /// Where the documents were retrieved.
    pub source: SourceFilter,
}

/// The paper's figures: its Tables 1, 4, 5 and 6.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// Where they are from, for captions.
    pub source: String,
    /// Under which licence.
    pub licence: String,
    /// Table by table in the order of the paper.
    pub figures: Vec<Figure>,
}

/// Published figures that can't be read: only a damaged file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the published figures can't be read: {0}")]
pub struct PublishedError(String);

#[derive(Deserialize)]
struct File {
    source: String,
    licence: String,
    datasets: Vec<String>,
    tables: Vec<Table>,
}

#[derive(Deserialize)]
struct Table {
    table: u8,
    scenario: Scenario,
    metric: Metric,
    #[serde(default)]
    retrieval: Vec<String>,
    #[serde(default)]
    docs: usize,
    #[serde(default)]
    p: Vec<f64>,
    /// Model to a row per dataset with a value per column, in per cent.
    values: serde_json::Map<String, serde_json::Value>,
}

/// Documents, per cent of signal, source.
type Column = (usize, Option<f64>, SourceFilter);

impl Published {
    /// The built-in figures.
    ///
    /// # Errors
    /// Never, as long as the built-in file is sound; a test sees to that.
    pub fn embedded() -> Result<Published, PublishedError> {
        Published::parse(EMBEDDED)
    }

    fn parse(text: &str) -> Result<Published, PublishedError> {
        let file: File =
            serde_json::from_str(text).map_err(|error| PublishedError(error.to_string()))?;
        let mut figures = Vec::new();
        for table in &file.tables {
            table.read(&file.datasets, &mut figures)?;
        }
        Ok(Published {
            source: file.source,
            licence: file.licence,
            figures,
        })
    }

    /// The published rate, 0 to 1, where the paper has one. Without documents the source plays no part.
    pub fn value(&self, wanted: &Lookup<'_>) -> Option<f64> {
        let found = self.figures.iter().find(|figure| {
            figure.scenario == wanted.scenario
                && figure.metric == wanted.metric
                && figure.docs == wanted.docs
                && figure.dataset == wanted.dataset
                && figure.model == wanted.model
                && (figure.docs == 0 || figure.source == wanted.source)
                && figure.p.is_none_or(|p| (p - wanted.p).abs() < 1e-9)
        });
        found.map(|figure| figure.value)
    }

    /// The paper's question sets in its order.
    pub fn datasets(&self) -> Vec<&str> {
        distinct(self.figures.iter().map(|figure| figure.dataset.as_str()))
    }

    /// The paper's models in its order.
    pub fn models(&self) -> Vec<&str> {
        distinct(self.figures.iter().map(|figure| figure.model.as_str()))
    }

    /// The paper's name of a question set, from the name of a dataset: letters and digits count, whatever
    /// their case, after an optional "medrgb" in front (`MMLU-Med`, `medrgb-bioasq`, `PubMedQA*`).
    pub fn dataset_named(&self, name: &str) -> Option<&str> {
        let plain: String = name
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_lowercase())
            .collect();
        let plain = plain.strip_prefix("medrgb").unwrap_or(&plain);
        let known = match plain {
            "bioasq" | "bioasqyn" => "BioASQ",
            "pubmedqa" => "PubMedQA",
            "medqa" | "medqaus" => "MedQA",
            "mmlu" | "mmlumed" => "MMLU",
            _ => return None,
        };
        self.datasets().into_iter().find(|name| *name == known)
    }

    /// The paper's name of a model, from the name under which it is reached: what stands before the last
    /// `/` or `:` is dropped, and so are a date and the words instruct, it, chat, turbo and hf at the end,
    /// and "meta-" in front (`openai:gpt-4o-mini-2024-07-18`, `meta-llama/Meta-Llama-3-70B-Instruct`).
    pub fn model_named(&self, name: &str) -> Option<&str> {
        let last = name.rsplit(['/', ':']).next().unwrap_or(name);
        let plain = last.to_ascii_lowercase().replace(['_', ' '], "-");
        let mut words: Vec<&str> = plain.split('-').collect();
        while let Some(last) = words.last() {
            let is_date = last.len().is_multiple_of(2)
                && !last.is_empty()
                && last.chars().all(|c| c.is_ascii_digit());
            if !is_date && !["instruct", "it", "chat", "turbo", "hf"].contains(last) {
                break;
            }
            words.pop();
        }
        if words.first() == Some(&"meta") {
            words.remove(0);
        }
        let plain = words.join("-");
        self.models()
            .into_iter()
            .find(|known| known.to_ascii_lowercase() == plain)
    }
}

impl Table {
    fn read(&self, datasets: &[String], figures: &mut Vec<Figure>) -> Result<(), PublishedError> {
        let columns = self.columns()?;
        for (model, rows) in &self.values {
            let wrong =
                |what: &str| PublishedError(format!("table {}, {}: {what}", self.table, model));
            let rows: Vec<Vec<f64>> =
                serde_json::from_value(rows.clone()).map_err(|error| wrong(&error.to_string()))?;
            if rows.len() != datasets.len() {
                return Err(wrong("not one row per dataset"));
            }
            for (dataset, row) in datasets.iter().zip(rows) {
                if row.len() != columns.len() {
                    return Err(wrong("not one value per column"));
                }
                for (&(docs, p, source), percent) in columns.iter().zip(row) {
                    figures.push(Figure {
                        table: self.table,
                        scenario: self.scenario,
                        metric: self.metric,
                        dataset: dataset.clone(),
                        model: model.clone(),
                        docs,
                        p,
                        source,
                        // One decimal: dividing the tenths leaves the nearest double.
                        value: (percent * 10.0).round() / 1000.0,
                    });
                }
            }
        }
        Ok(())
    }

    fn columns(&self) -> Result<Vec<Column>, PublishedError> {
        if self.retrieval.is_empty() {
            let column = |p: &f64| (self.docs, Some(*p), SourceFilter::Any);
            return Ok(self.p.iter().map(column).collect());
        }
        self.retrieval.iter().map(|name| retrieval(name)).collect()
    }
}

/// `none`, or a source and a number of documents: `offline-5`.
fn retrieval(name: &str) -> Result<Column, PublishedError> {
    if name == "none" {
        return Ok((0, None, SourceFilter::Any));
    }
    let parts = name.split_once('-').and_then(|(source, docs)| {
        Some((
            docs.parse().ok()?,
            None,
            source.parse::<SourceFilter>().ok()?,
        ))
    });
    parts.ok_or_else(|| PublishedError(format!("\"{name}\" is no kind of retrieval")))
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn figures_are_found_by_what_they_are_of() {
        let paper = Published::embedded().unwrap();
        assert_eq!(paper.figures.len(), 1220);
        let mut wanted = Lookup {
            scenario: Scenario::Standard,
            metric: Metric::MainAccuracy,
            dataset: "BioASQ",
            model: "GPT-3.5",
            docs: 0,
            p: 60.0,
            source: SourceFilter::Offline,
        };
        assert_eq!(paper.value(&wanted), Some(0.777));
        wanted.docs = 20;
        assert_eq!(paper.value(&wanted), Some(0.872));
        wanted.source = SourceFilter::Any;
        assert_eq!(paper.value(&wanted), None, "the paper never mixes sources");
        wanted.scenario = Scenario::Robustness;
        wanted.metric = Metric::FactualErrorDetection;
        wanted.model = "Llama-3-70b";
        (wanted.docs, wanted.p) = (5, 40.0);
        assert_eq!(paper.value(&wanted), Some(0.446));
        wanted.p = 50.0;
        assert_eq!(paper.value(&wanted), None);
    }

    #[test]
    fn names_correspond_only_where_they_are_the_same_thing() {
        let paper = Published::embedded().unwrap();
        for (name, known) in [
            ("gpt-3.5-turbo-0125", Some("GPT-3.5")),
            ("openai:gpt-3.5-turbo", Some("GPT-3.5")),
            ("openai:gpt-4o-mini-2024-07-18", Some("GPT-4o-mini")),
            ("gpt-4o", Some("GPT-4o")),
            ("meta-llama/Meta-Llama-3-70B-Instruct", Some("Llama-3-70b")),
            ("google/gemma-2-27b-it", Some("GEMMA-2-27b")),
            ("PMC_LLaMA_13B", Some("PMC-LLAMA-13b")),
            ("meditron-70b", Some("MEDITRON-70b")),
            ("gpt-4", None),
            ("gpt-4o-mini-q4", None),
            ("meta-llama/Llama-3.1-70B-Instruct", None),
            ("gemma-2-9b-it", None),
            ("", None),
            ("-", None),
        ] {
            assert_eq!(paper.model_named(name), known, "{name}");
        }
        for (name, known) in [
            ("MMLU-Med", Some("MMLU")),
            ("medrgb-bioasq", Some("BioASQ")),
            ("BioASQ-Y/N", Some("BioASQ")),
            ("PubMedQA*", Some("PubMedQA")),
            ("medqa", Some("MedQA")),
            ("medlfqa", None),
            ("sample", None),
            ("", None),
        ] {
            assert_eq!(paper.dataset_named(name), known, "{name}");
        }
    }

    #[test]
    fn a_damaged_file_is_told() {
        for (from, to, part) in [
            ("77.7, ", "", "not one value per column"),
            ("offline-5", "offline5", "no kind of retrieval"),
            ("\"MMLU\"]", "\"MMLU\", \"X\"]", "not one row per dataset"),
            ("77.7", "\"77.7\"", "table 1, GPT-3.5"),
        ] {
            assert!(EMBEDDED.contains(from));
            let error = Published::parse(&EMBEDDED.replacen(from, to, 1)).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
