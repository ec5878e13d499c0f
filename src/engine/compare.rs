//! Comparing two stored runs.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::data::store::{ReplyRecord, Store, StoreError, settings};
use crate::domain::compare::Observation;
use crate::domain::context::Context;

/// A run as far as comparing needs it.
#[derive(Debug, Clone, Default)]
pub struct RunView {
    /// One observation per readable record, in stored order.
    pub observations: Vec<Observation>,
    /// Names of the models that were asked and are compared, sorted.
    pub models: BTreeSet<String>,
    /// Names of the models that were left out because another was named, sorted.
    pub other_models: BTreeSet<String>,
    /// Names of the judges whose scores are stored, sorted.
    pub judges: BTreeSet<String>,
    /// Records that can't be read.
    pub broken: usize,
}

impl RunView {
    /// A run by its stored scores; with `model` only what this model was asked.
    ///
    /// # Errors
    /// [`StoreError`] when the store can't be read.
    pub fn of_run(store: &Store, run: &str, model: Option<&str>) -> Result<RunView, StoreError> {
        let mut view = RunView::default();
        let mut after = 0;
        loop {
            let page = store.page_of_run(run, after)?;
            let Some(last) = page.last else {
                return Ok(view);
            };
            after = last;
            view.broken += page.broken.len();
            for record in &page.records {
                match model.is_none_or(|model| record.model_name == model) {
                    true => view.add(record),
                    false => {
                        view.other_models.insert(record.model_name.clone());
                    }
                }
            }
        }
    }

    /// A run from records that are at hand, such as published ones.
    pub fn of_records<'a>(records: impl IntoIterator<Item = &'a ReplyRecord>) -> RunView {
        let mut view = RunView::default();
        for record in records {
            view.add(record);
        }
        view
    }

    fn add(&mut self, record: &ReplyRecord) {
        self.models.insert(record.model_name.clone());
        let scores = record.scores.as_ref();
        self.judges
            .extend(scores.and_then(|scores| scores.judge.clone()));
        let (settings, draw) = settings(&record.model, record.sampling.clone());
        self.observations.push(Observation {
            id: record.id,
            asker: format!("{} {settings}", record.model_name),
            draw,
            dataset: record.dataset_fingerprint.clone(),
            question: record.question.id.clone(),
            condition: record.condition,
            shown: shown(&record.context),
            counts: scores
                .filter(|scores| scores.outcome.is_reply())
                .map(|scores| scores.counts.clone()),
        });
    }
}

/// A digest of what the model saw of the documents; only compared within one process.
fn shown(context: &Context) -> u64 {
    let mut hasher = DefaultHasher::new();
    for document in &context.documents {
        (&document.label, &document.title, &document.content).hash(&mut hasher);
    }
    for sub in &context.sub_questions {
        sub.question.hash(&mut hasher);
    }
    hasher.finish()
}
