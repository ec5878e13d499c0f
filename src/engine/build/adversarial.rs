//! An adversarial version of every document that has a sub-question.
//!
//! The program finds the sentences that state the true answer, the model writes them anew, and the program puts them
//! in. So everything else stays word for word, and no mention of the true answer is overlooked.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::{Map, json};

use crate::domain::build::{
    EditDraft, EditSize, Issue, Level, adversarial, apply, read_edit, stating,
};
use crate::domain::passage::{Counterfactual, Document, SubQuestion};
use crate::domain::prompt::BuildPrompt;
use crate::domain::question::Question;
use crate::domain::text::{collapse, short};
use crate::engine::ask::to_value;
use crate::engine::build::asker::{Ask, Asker, Candidate, Made, sentences};
use crate::engine::build::store::MadeFor;
use crate::engine::build::sub_questions::{documents, verdict, verdict_form};
use crate::engine::build::{BuildError, each, gather};
use crate::model::{Field, FieldKind, ReplyForm};

/// The most sentences that are written anew.
const MOST_SENTENCES: usize = 12;

/// A document that is to be edited.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    question: &'a Question,
    document: &'a Document,
    sub: &'a SubQuestion,
}

/// The sentences of a document that state the answer: their places and their texts.
pub(super) struct Sentences {
    places: Vec<Range<usize>>,
    pub texts: Vec<String>,
}

impl<'a> Task<'a> {
    /// A document with its sub-question.
    pub(super) fn new(
        question: &'a Question,
        document: &'a Document,
        sub: &'a SubQuestion,
    ) -> Task<'a> {
        Task {
            question,
            document,
            sub,
        }
    }

    /// The sentences to be written anew.
    ///
    /// # Errors
    /// Why the document can't be edited.
    pub(super) fn sentences(&self) -> Result<Sentences, String> {
        let content = self.document.content.as_str();
        let places = stating(content, &self.sub.answer);
        let texts: Vec<String> = places
            .iter()
            .map(|place| collapse(content.get(place.clone()).unwrap_or_default()))
            .collect();
        match texts.len() {
            0 => Err(format!(
                "the answer \"{}\" does not stand in the document",
                short(&self.sub.answer)
            )),
            count if count > MOST_SENTENCES => Err(format!(
                "the answer \"{}\" stands in {count} sentences, too many for a small edit",
                short(&self.sub.answer)
            )),
            _ => Ok(Sentences { places, texts }),
        }
    }

    /// What is asked for it.
    pub(super) fn ask(&self, texts: &'a [String]) -> Ask<'a> {
        let mut fields = vec![Field::new("new_answer", FieldKind::Short)];
        fields.extend(
            (1..=texts.len())
                .map(|number| Field::new(format!("sentence_{number}"), FieldKind::Sentence)),
        );
        fields.push(Field::new("other_edits", FieldKind::Edits));
        Ask {
            question_id: &self.question.id,
            item: &self.document.id,
            prompt: BuildPrompt::Adversarial {
                content: &self.document.content,
                question: &self.sub.question,
                answer: &self.sub.answer,
                sentences: texts,
            },
            form: ReplyForm::Fields(fields),
        }
    }

    /// The edited document by the rules: what drops it is an error.
    fn judged(
        &self,
        places: &[Range<usize>],
        draft: EditDraft,
    ) -> Result<Candidate<Edited>, String> {
        let original = self.document.content.as_str();
        let mut text = apply(original, places, &draft.sentences);
        for (old, new) in &draft.others {
            if old.is_empty() || !text.contains(old.as_str()) {
                return Err(format!(
                    "\"{}\" of \"other_edits\" does not stand in the document",
                    short(old)
                ));
            }
            text = text.replacen(old.as_str(), new, 1);
        }
        let issues = adversarial(original, Some(&self.sub.answer), &draft.planted, &text);
        let (hard, left): (Vec<Issue>, Vec<Issue>) = issues
            .into_iter()
            .filter(|issue| issue.kind.level() != Level::Notice)
            .partition(|issue| issue.kind.level() == Level::Error);
        match hard.is_empty() {
            true => Ok(Candidate {
                value: Edited {
                    planted: draft.planted,
                    text,
                },
                left,
            }),
            false => Err(sentences(&hard)),
        }
    }
}

/// An edited document.
struct Edited {
    planted: String,
    text: String,
}

/// Asks for an adversarial version of every document with a sub-question of the questions that are worked on.
pub(super) async fn run(
    asker: &Asker<'_>,
    on_progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<MadeFor>, BuildError> {
    let build = asker.build;
    let dataset = documents(build)?;
    let mut items = Vec::new();
    for (at, question) in build.worked_on() {
        items.extend(tasks(question, &dataset).into_iter().map(|task| (at, task)));
    }
    if items.is_empty() {
        return Err(BuildError::Usage(format!(
            "{} has no sub-questions yet; make them first with `medrgb build subqa`",
            build.parts.folder.path().display()
        )));
    }
    let made = each(
        items,
        build.ceiling(),
        on_progress,
        |(at, task)| async move { Ok((at, (task, of_task(asker, task).await?))) },
    )
    .await?;
    Ok(gather(
        build,
        made,
        "the question has no sub-questions",
        |own, (task, made)| take(own, task, made),
    ))
}

/// The documents of a question that have a sub-question, each once.
pub(super) fn tasks<'a>(
    question: &'a Question,
    dataset: &'a crate::data::dataset::Dataset,
) -> Vec<Task<'a>> {
    let pools = dataset.pools(&question.id);
    let mut seen = HashSet::new();
    let subs = pools
        .sub_questions
        .iter()
        .filter(|sub| seen.insert(sub.doc_id.as_str()));
    subs.filter_map(|sub| {
        let document = pools
            .signal
            .iter()
            .find(|document| document.id == sub.doc_id)?;
        Some(Task::new(question, document, sub))
    })
    .collect()
}

fn take(own: &mut MadeFor, task: Task<'_>, made: Made<Edited>) {
    let id = task.document.id.as_str();
    match made {
        Made::Kept {
            value,
            repairs,
            left,
        } => {
            own.report.keep(id, repairs, &sentences(&left));
            let ratio = EditSize::of(&task.document.content, &value.text).rounded();
            own.records.push(to_value(&Counterfactual {
                original_id: id.to_owned(),
                new_answer: value.planted,
                edited_document: value.text,
                extra: Map::from_iter([("edit_ratio".to_owned(), json!(ratio))]),
            }));
        }
        Made::Dropped(why) => own.report.drop(id, why),
        Made::Failed(why) => own.report.fail(id, why),
    }
}

async fn of_task(asker: &Asker<'_>, task: Task<'_>) -> Result<Made<Edited>, BuildError> {
    let Sentences { places, texts } = match task.sentences() {
        Ok(sentences) => sentences,
        Err(why) => return Ok(Made::Dropped(why)),
    };
    let read =
        |raw: &str| read_edit(raw, texts.len()).and_then(|draft| task.judged(&places, draft));
    asker
        .checked(&task.ask(&texts), read, async |edited: &Edited| match asker
            .build
            .parts
            .settings
            .model_checks
        {
            true => contradicts(asker, task, edited).await,
            false => Ok(None),
        })
        .await
}

/// Why a model says that the planted answer does not contradict the true one, if it does.
async fn contradicts(
    asker: &Asker<'_>,
    task: Task<'_>,
    edited: &Edited,
) -> Result<Option<String>, BuildError> {
    let ask = Ask {
        question_id: &task.question.id,
        item: &task.document.id,
        prompt: BuildPrompt::Contradicts {
            question: &task.sub.question,
            answer: &task.sub.answer,
            planted: &edited.planted,
        },
        form: verdict_form(),
    };
    Ok(verdict(asker, &ask).await?.map(|reason| {
        format!(
            "the wrong answer \"{}\" does not contradict the true one: {reason}",
            short(&edited.planted)
        )
    }))
}
