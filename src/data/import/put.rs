//! Writing a dataset folder from what is in memory, as a whole or not at all.

use std::path::Path;

use serde_json::{Map, Value};

use crate::data::import::ImportError;
use crate::data::import::entry::Entry;
use crate::data::import::folder::{Counts, Output};
use crate::domain::passage::{Counterfactual, Document, SubQuestion};
use crate::domain::question::Question;

/// A question with everything that belongs to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    /// The question.
    pub question: Question,
    /// Its signal documents.
    pub documents: Vec<Document>,
    /// Its sub-questions.
    pub sub_questions: Vec<SubQuestion>,
    /// The adversarial versions of its documents.
    pub counterfactuals: Vec<Counterfactual>,
}

/// Writes a dataset folder; `manifest` is what it says of itself, to which the counts are added. One that is there is
/// replaced with `force`, if it holds a dataset.
///
/// # Errors
/// Where something else stands there, or a file can't be written; then all is as before.
pub fn write_folder(
    target: &Path,
    force: bool,
    questions: impl Iterator<Item = Whole>,
    manifest: Map<String, Value>,
) -> Result<Counts, ImportError> {
    let output = Output::begin(target, force)?;
    let mut folder = output.set(None)?;
    for whole in questions {
        let mut entry = Entry::known(whole.question);
        entry.documents = whole.documents;
        entry.sub_questions = whole.sub_questions;
        entry.counterfactuals = whole.counterfactuals;
        folder.add(&mut entry, false)?;
    }
    let counts = folder.count_all()?;
    folder.finish(manifest)?;
    output.finish()?;
    Ok(counts)
}
