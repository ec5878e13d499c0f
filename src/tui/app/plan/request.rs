//! A sweep as it was asked for.

use crate::data::dataset::Dataset;
use crate::domain::context::{Mode, Scenario};
use crate::domain::plan::{Conditions, Grid, check_size};
use crate::domain::text::clean;

/// A sweep as it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepRequest {
    /// The grid.
    pub grid: Grid,
    /// Its conditions.
    pub conditions: Conditions,
    /// The models' names, at least one.
    pub models: Vec<String>,
    /// How often every instance is asked, at least 1.
    pub repeats: u8,
    /// Only the first so many questions.
    pub limit: Option<usize>,
    /// Only so many of these, drawn.
    pub sample: Option<usize>,
    /// The name of the model that judges the sub-answers.
    pub judge: Option<String>,
    /// Whether finished replies to the same requests are taken over.
    pub reuse: bool,
    /// The run's name.
    pub run: String,
}

/// What a sweep is the product of, before anything is composed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Factors {
    /// Conditions.
    pub conditions: usize,
    /// Questions.
    pub questions: usize,
    /// Models.
    pub models: usize,
    /// Repeats.
    pub repeats: usize,
}

impl Factors {
    /// Instances at most.
    pub fn product(self) -> usize {
        [self.conditions, self.questions, self.models, self.repeats]
            .into_iter()
            .fold(1, usize::saturating_mul)
    }

    /// Whether they are few enough to be planned.
    ///
    /// # Errors
    /// A sentence that says how many they would be.
    pub fn check(self) -> Result<(), String> {
        check_size(&[self.product()])
    }
}

impl SweepRequest {
    /// What it is the product of at most.
    pub fn factors(&self, dataset: &Dataset) -> Factors {
        let all = dataset.questions.len();
        let first = all.min(self.limit.unwrap_or(usize::MAX));
        Factors {
            conditions: self.conditions.kept.len(),
            questions: first.min(self.sample.unwrap_or(usize::MAX)),
            models: self.models.len(),
            repeats: usize::from(self.repeats),
        }
    }

    /// The command that goes on with the sweep; `more` are flags of the models, which the judge may need too.
    pub fn command(&self, dataset: &Dataset, more: &[String]) -> String {
        let mut words = vec!["medrgb".to_owned(), "sweep".to_owned()];
        for (name, value) in self.flags(dataset) {
            words.push(name.to_owned());
            words.extend(value.map(|value| quoted(&value)));
        }
        words.extend(more.iter().map(|word| quoted(word)));
        if let (Some(judge), [flag, url]) = (&self.judge, more)
            && flag == "--base-url"
            && (judge.starts_with("openai:") || self.models.contains(judge))
        {
            words.push("--judge-base-url".to_owned());
            words.push(quoted(url));
        }
        clean(&words.join(" "))
    }

    /// The flags that say what the command does not take by itself.
    fn flags(&self, dataset: &Dataset) -> Vec<(&'static str, Option<String>)> {
        let mut flags = Vec::new();
        let mut flag = |name, value: Option<String>| {
            if let Some(value) = value {
                flags.push((name, Some(value)));
            }
        };
        let path = &dataset.path;
        flag(
            "--dataset",
            (!path.as_os_str().is_empty()).then(|| path.display().to_string()),
        );
        let scenarios = &self.grid.scenarios;
        flag(
            "--scenario",
            (scenarios.len() < Scenario::ALL.len())
                .then(|| joined(scenarios.iter().map(|one| one.name()))),
        );
        flag("--docs", self.grid.docs.as_ref().map(joined));
        flag("--p", self.grid.p.as_ref().map(joined));
        let modes = &self.grid.modes;
        flag(
            "--mode",
            (*modes != [Mode::default()]).then(|| joined(modes.iter().map(|one| one.name()))),
        );
        flag(
            "--source",
            self.grid
                .sources
                .as_ref()
                .map(|sources| joined(sources.iter().map(|one| one.name()))),
        );
        let seeds = &self.grid.seeds;
        flag("--seeds", (*seeds != [0]).then(|| joined(seeds)));
        flag("--limit", self.limit.map(|limit| limit.to_string()));
        flag("--sample", self.sample.map(|sample| sample.to_string()));
        flag("--model", Some(self.models.join(",")));
        flag(
            "--repeats",
            (self.repeats > 1).then(|| self.repeats.to_string()),
        );
        flag("--judge", self.judge.clone());
        flag("--run", Some(self.run.clone()));
        if self.reuse {
            flags.push(("--reuse", None));
        }
        flags
    }
}

fn joined<T: ToString>(values: impl IntoIterator<Item = T>) -> String {
    let words: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    words.join(",")
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
