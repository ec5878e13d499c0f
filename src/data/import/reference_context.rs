//! Contexts of the reference code's replies, composed again from the ids that it saved.

use std::collections::HashMap;

use crate::data::dataset::Dataset;
use crate::domain::context::{Condition, Context, ContextDocument, ContextSubQuestion, Scenario};
use crate::domain::passage::{Document, Role};

/// The documents of a dataset by id, with the question that each is signal for.
pub(super) struct Documents<'a>(HashMap<&'a str, (&'a Document, Vec<&'a str>)>);

impl<'a> Documents<'a> {
    /// Those of a dataset.
    pub(super) fn of(dataset: &'a Dataset) -> Documents<'a> {
        let by_id = dataset
            .documents()
            .into_iter()
            .map(|(document, questions)| (document.id.as_str(), (document, questions)))
            .collect();
        Documents(by_id)
    }

    /// The context of a reply whose document ids were saved in order; `None` where they do not give it whole.
    pub(super) fn context(
        &self,
        question_id: &str,
        condition: &Condition,
        ids: &[&str],
        dataset: &Dataset,
    ) -> Option<Context> {
        if ids.is_empty() || condition.scenario == Scenario::Robustness {
            return None;
        }
        let mut documents = Vec::with_capacity(ids.len());
        for (at, id) in ids.iter().enumerate() {
            let (document, questions) = self.0.get(id)?;
            let is_signal = questions.contains(&question_id);
            documents.push(ContextDocument {
                label: format!("DOC_{}", at + 1),
                id: document.id.clone(),
                role: if is_signal { Role::Signal } else { Role::Noise },
                original_id: None,
                source: document.source,
                title: document.title.clone(),
                content: document.content.clone(),
                from_question: (!is_signal)
                    .then(|| questions.first().map(|id| (*id).to_owned()))
                    .flatten(),
            });
        }
        let signal = documents
            .iter()
            .filter(|document| document.role == Role::Signal)
            .count();
        if signal == 0 && condition.p > 0.0 {
            // A version of the code that lists the noise only: the rest of the context is not known.
            return None;
        }
        let sub_questions = match condition.scenario {
            Scenario::Integration => asked(question_id, &documents, dataset),
            _ => Vec::new(),
        };
        Some(Context {
            question_id: question_id.to_owned(),
            scenario: condition.scenario,
            docs_requested: condition.docs,
            docs: documents.len(),
            p_requested: condition.p,
            p: 100.0 * signal as f64 / documents.len() as f64,
            seed: condition.seed,
            mode: condition.mode,
            source: condition.source,
            short: documents.len() < condition.docs,
            variant: None,
            documents,
            sub_questions,
        })
    }
}

/// The sub-questions that were asked: those of the signal documents in the context, in the file's order.
fn asked(
    question_id: &str,
    documents: &[ContextDocument],
    dataset: &Dataset,
) -> Vec<ContextSubQuestion> {
    let subs = dataset.pools(question_id).sub_questions;
    subs.iter()
        .filter_map(|sub| {
            let document = documents
                .iter()
                .find(|document| document.role == Role::Signal && document.id == sub.doc_id)?;
            Some(ContextSubQuestion {
                question: sub.question.clone(),
                answer: sub.answer.clone(),
                label: document.label.clone(),
                planted: None,
            })
        })
        .collect()
}
