//! A dataset folder in memory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::domain::context::{NoisePool, Pools};
use crate::domain::passage::{Counterfactual, Document, SubQuestion};
use crate::domain::question::Question;

/// A benchmark set: questions and what belongs to them.
#[derive(Debug, Default)]
pub struct Dataset {
    /// Folder name, for titles and the store.
    pub name: String,
    /// Where it was read from; empty for the embedded sample.
    pub path: PathBuf,
    /// Questions in file order; ids are unique.
    pub questions: Vec<Question>,
    /// What was wrong with single records, one clear sentence each; those records are left out.
    pub problems: Vec<String>,
    /// SHA-256 over the files' contents, for run manifests and caches.
    pub fingerprint: String,
    signal: HashMap<String, Vec<Document>>,
    sub_questions: HashMap<String, Vec<SubQuestion>>,
    counterfactuals: HashMap<String, Vec<Counterfactual>>,
    noise: NoisePool,
}

/// A dataset that can't be opened: what, where, what was expected, what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DatasetError(pub String);

impl Dataset {
    /// Reads a dataset folder. Bad records are left out and listed in `problems`.
    ///
    /// # Errors
    /// When the folder or `qa.jsonl` is missing, or no question can be read.
    pub fn open(path: &Path) -> Result<Dataset, DatasetError> {
        Err(DatasetError(format!(
            "{} is not a dataset folder",
            path.display()
        )))
    }

    /// The sample benchmark that is built into the program.
    pub fn sample() -> Result<Dataset, DatasetError> {
        Err(DatasetError("no sample".into()))
    }

    /// Position of the question with this id.
    pub fn position(&self, question_id: &str) -> Option<usize> {
        self.questions
            .iter()
            .position(|question| question.id == question_id)
    }

    /// What composition may draw from for a question.
    pub fn pools(&self, question_id: &str) -> Pools<'_> {
        Pools {
            signal: self.signal.get(question_id).map_or(&[], Vec::as_slice),
            sub_questions: self
                .sub_questions
                .get(question_id)
                .map_or(&[], Vec::as_slice),
            counterfactuals: self
                .counterfactuals
                .get(question_id)
                .map_or(&[], Vec::as_slice),
            noise: &self.noise,
        }
    }

    /// Every signal document once, with the ids of the questions it is signal for, in file order:
    /// the corpus of live retrieval.
    pub fn documents(&self) -> Vec<(&Document, Vec<&str>)> {
        Vec::new()
    }
}
