//! An adversarial version of every document that has a sub-question.
//!
//! The program finds the sentences that state the true answer, the model writes them anew, and the program puts them
//! in. So everything else stays word for word, and no mention of the true answer is overlooked.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::{Map, json};

use crate::data::built::REPORT;
use crate::domain::build::{
    EditDraft, EditSize, Issue, Level, Stage, adversarial, apply, read_edit, stating,
};
use crate::domain::passage::{Counterfactual, Document, SubQuestion};
use crate::domain::prompt::BuildPrompt;
use crate::domain::question::Question;
use crate::domain::text::{collapse, short};
use crate::engine::ask::to_value;
use crate::engine::build::asker::{Ask, Asker, Candidate, Check, Made, sentences};
use crate::engine::build::store::MadeFor;
use crate::engine::build::sub_questions::{documents, verdict, verdict_form};
use crate::engine::build::{Build, BuildError, each, gather};
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

    /// The document's id.
    pub(super) fn document_id(&self) -> &str {
        &self.document.id
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
        self.kept_by_rules(Edited {
            planted: draft.planted,
            text,
        })
    }

    /// An edit by the rules: what drops it is an error.
    fn kept_by_rules(&self, edited: Edited) -> Result<Candidate<Edited>, String> {
        let original = self.document.content.as_str();
        let truth = Some(self.sub.answer.as_str());
        let issues = adversarial(original, truth, &edited.planted, &edited.text);
        let (hard, left): (Vec<Issue>, Vec<Issue>) = issues
            .into_iter()
            .filter(|issue| issue.kind.level() != Level::Notice)
            .partition(|issue| issue.kind.level() == Level::Error);
        match hard.is_empty() {
            true => Ok(Candidate {
                value: edited,
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
        let edits = dataset.pools(&question.id).counterfactuals;
        items.extend(tasks(question, &dataset).into_iter().map(|task| {
            let mut before = edits.iter();
            let before = before.find(|edit| edit.original_id == task.document.id);
            (at, task, before)
        }));
    }
    if items.is_empty() {
        return Err(BuildError::Usage(without_sub_questions(build)?));
    }
    let made = each(
        items,
        build.ceiling(),
        on_progress,
        |(at, task, before)| async move { Ok((at, of_task(asker, task, before).await?)) },
    )
    .await?;
    Ok(gather(
        build,
        made,
        "the question has no sub-questions",
        take,
    ))
}

/// What is said where there is nothing to edit.
fn without_sub_questions(build: &Build) -> Result<String, BuildError> {
    let folder = build.parts.folder.path().display();
    let report = build.parts.folder.report()?;
    Ok(match report.contains_key(Stage::SubQuestions.name()) {
        true => format!(
            "the stage subqa kept no sub-question for these questions, so that there is nothing to edit; {folder}/{REPORT} says why for each"
        ),
        false => {
            format!("{folder} has no sub-questions yet; make them first with `medrgb build subqa`")
        }
    })
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

/// What was made of a task, and the edit of an earlier run if it can stay, with its flaws.
struct OfTask<'a> {
    task: Task<'a>,
    made: Made<Edited>,
    before: Option<(&'a Counterfactual, String)>,
}

fn take(own: &mut MadeFor, one: OfTask<'_>) {
    let id = one.task.document.id.as_str();
    let (failed, why) = match one.made {
        Made::Kept {
            value,
            repairs,
            flaws,
        } => {
            own.report.keep(id, repairs, &flaws);
            let ratio = EditSize::of(&one.task.document.content, &value.text).rounded();
            own.records.push(to_value(&Counterfactual {
                original_id: id.to_owned(),
                new_answer: value.planted,
                edited_document: value.text,
                extra: Map::from_iter([("edit_ratio".to_owned(), json!(ratio))]),
            }));
            return;
        }
        Made::Dropped(why) => (false, why),
        Made::Failed(why) => (true, why),
    };
    match (&one.before, failed) {
        (_, true) => own.report.fail(id, why.as_str()),
        (None, false) => own.report.drop(id, why.as_str()),
        (Some(_), false) => {}
    }
    if let Some((before, flaws)) = one.before {
        let why = format!("the one of before stays: {why}");
        own.report.stay(id, why, &flaws);
        own.records.push(to_value(before));
    }
}

async fn of_task<'a>(
    asker: &Asker<'_>,
    task: Task<'a>,
    before: Option<&'a Counterfactual>,
) -> Result<OfTask<'a>, BuildError> {
    let also = async |edited: &Edited| match asker.build.parts.settings.model_checks {
        true => contradicts(asker, task, edited).await,
        false => Ok(Check::Good),
    };
    let made = match task.sentences() {
        Ok(Sentences { places, texts }) => {
            let read = |raw: &str| {
                read_edit(raw, texts.len()).and_then(|draft| task.judged(&places, draft))
            };
            asker.checked(&task.ask(&texts), read, &also).await?
        }
        Err(why) => Made::Dropped(why),
    };
    let mut stays = None;
    if let (Some(before), false) = (before, matches!(made, Made::Kept { .. })) {
        let edited = Edited {
            planted: before.new_answer.clone(),
            text: before.edited_document.clone(),
        };
        if let Ok(candidate) = task.kept_by_rules(edited)
            && (matches!(made, Made::Failed(_))
                || !matches!(also(&candidate.value).await?, Check::Bad(_)))
        {
            stays = Some((before, sentences(&candidate.left)));
        }
    }
    Ok(OfTask {
        task,
        made,
        before: stays,
    })
}

/// Whether a model says that the planted answer contradicts the true one.
async fn contradicts(
    asker: &Asker<'_>,
    task: Task<'_>,
    edited: &Edited,
) -> Result<Check, BuildError> {
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
    verdict(asker, &ask, |reason| {
        format!(
            "the wrong answer \"{}\" does not contradict the true one: {reason}",
            short(&edited.planted)
        )
    })
    .await
}
