//! A sub-question for every document.

use serde_json::{Map, Value};

use crate::data::dataset::Dataset;
use crate::domain::build::{Issue, Level, SubDraft, read_sub_question, read_verdict, sub_question};
use crate::domain::mention::Placed;
use crate::domain::passage::{Document, SubQuestion};
use crate::domain::prompt::BuildPrompt;
use crate::domain::question::Question;
use crate::domain::text::{collapse, document_key, short};
use crate::engine::ask::to_value;
use crate::engine::build::asker::{Ask, Asker, Candidate, Made, sentences};
use crate::engine::build::store::MadeFor;
use crate::engine::build::{Build, BuildError, each, gather};
use crate::model::{Field, FieldKind, ReplyForm};

/// What is asked for a document.
pub(super) fn ask<'a>(question: &'a Question, document: &'a Document) -> Ask<'a> {
    Ask {
        question_id: &question.id,
        item: &document.id,
        prompt: BuildPrompt::SubQuestion {
            question,
            title: &document.title,
            content: &document.content,
        },
        form: ReplyForm::Fields(vec![
            Field::new("sentence", FieldKind::Sentence),
            Field::new("answer", FieldKind::Short),
            Field::new("question", FieldKind::Short),
        ]),
    }
}

/// The dataset with the documents: what was retrieved, else what came with the questions, which is copied.
///
/// # Errors
/// Where there are no documents, or a file can't be used.
pub(super) fn documents(build: &Build) -> Result<Dataset, BuildError> {
    if let Some(dataset) = build.parts.folder.dataset()? {
        return Ok(dataset);
    }
    let none = || {
        BuildError::Usage(format!(
            "{} has no documents yet; find them first with `medrgb build retrieve`, or give a dataset folder that has documents with --questions",
            build.parts.folder.path().display()
        ))
    };
    let given = build.parts.given.as_ref().ok_or_else(none)?;
    let mut lists = Map::new();
    for question in &build.parts.questions {
        let own = given.pools(&question.id).signal;
        if !own.is_empty() {
            lists.insert(question.id.clone(), to_value(&own));
        }
    }
    build
        .parts
        .folder
        .write_lists(crate::data::dataset::SIGNAL, &lists)?;
    build.parts.folder.dataset()?.ok_or_else(none)
}

/// Asks for a sub-question for every document of the questions that are worked on.
pub(super) async fn run(
    asker: &Asker<'_>,
    on_progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<MadeFor>, BuildError> {
    let build = asker.build;
    let dataset = documents(build)?;
    let mut items = Vec::new();
    for (at, question) in build.worked_on() {
        items.extend(
            dataset
                .pools(&question.id)
                .signal
                .iter()
                .map(|document| (at, question, document)),
        );
    }
    let made = each(
        items,
        build.ceiling(),
        on_progress,
        |(at, question, document)| async move {
            let made = of_document(asker, question, document).await?;
            Ok((at, (document, made)))
        },
    )
    .await?;
    Ok(gather(
        build,
        made,
        "the question has no documents",
        |own, (document, made)| take(own, document, made),
    ))
}

fn take(own: &mut MadeFor, document: &Document, made: Made<SubDraft>) {
    match made {
        Made::Kept {
            value,
            repairs,
            left,
        } => {
            // Asked twice in one context, nobody could tell which document is meant.
            let same = |record: &&Value| {
                let asked = record["question"].as_str().unwrap_or_default();
                document_key(asked) == document_key(&value.question)
            };
            if let Some(first) = own.records.iter().find(same) {
                let first = short(first["doc_id"].as_str().unwrap_or_default());
                let why = format!("the same sub-question is asked of {first} already");
                return own.report.drop(&document.id, why);
            }
            own.report.keep(&document.id, repairs, &sentences(&left));
            own.records.push(to_value(&SubQuestion {
                doc_id: document.id.clone(),
                question: value.question,
                answer: value.answer,
                extra: Map::new(),
            }));
        }
        Made::Dropped(why) => own.report.drop(&document.id, why),
        Made::Failed(why) => own.report.fail(&document.id, why),
    }
}

async fn of_document(
    asker: &Asker<'_>,
    question: &Question,
    document: &Document,
) -> Result<Made<SubDraft>, BuildError> {
    let read = |raw: &str| read_sub_question(raw).and_then(|draft| judged(document, draft));
    asker
        .checked(
            &ask(question, document),
            read,
            async |draft: &SubDraft| match asker.build.parts.settings.model_checks {
                true => stands_alone(asker, question, document, draft).await,
                false => Ok(None),
            },
        )
        .await
}

/// A draft by the rules: what drops it is an error. The answer takes the document's own spelling.
fn judged(document: &Document, draft: SubDraft) -> Result<Candidate<SubDraft>, String> {
    let issues = sub_question(
        &document.title,
        &document.content,
        &draft.question,
        &draft.answer,
    );
    let (hard, left): (Vec<Issue>, Vec<Issue>) = issues
        .into_iter()
        .partition(|issue| issue.kind.level() == Level::Error);
    if !hard.is_empty() {
        return Err(sentences(&hard));
    }
    let place = Placed::new(&document.content)
        .places(&draft.answer)
        .into_iter()
        .next();
    let own = place
        .and_then(|place| document.content.get(place))
        .map(collapse);
    Ok(Candidate {
        value: SubDraft {
            answer: own.unwrap_or(draft.answer),
            ..draft
        },
        left,
    })
}

/// Why a model says that the sub-question can't be understood alone, if it does. A check that gives no verdict
/// decides nothing.
async fn stands_alone(
    asker: &Asker<'_>,
    question: &Question,
    document: &Document,
    draft: &SubDraft,
) -> Result<Option<String>, BuildError> {
    let ask = Ask {
        question_id: &question.id,
        item: &document.id,
        prompt: BuildPrompt::Alone {
            question: &draft.question,
        },
        form: verdict_form(),
    };
    Ok(verdict(asker, &ask).await?.map(|reason| {
        format!("a reader who sees nothing else can't tell what the sub-question asks: {reason}")
    }))
}

/// The form of a check.
pub(super) fn verdict_form() -> ReplyForm {
    let words = ["yes", "no"].map(str::to_owned).to_vec();
    ReplyForm::Fields(vec![
        Field::new("reason", FieldKind::Sentence),
        Field::new("verdict", FieldKind::Choice(words)),
    ])
}

/// The reason where a checking model says no.
pub(super) async fn verdict(
    asker: &Asker<'_>,
    ask: &Ask<'_>,
) -> Result<Option<String>, BuildError> {
    let read = |raw: &str| {
        read_verdict(raw).map(|value| Candidate {
            value,
            left: Vec::new(),
        })
    };
    let checked = asker.checked(ask, read, async |_| Ok(None)).await?;
    Ok(match checked {
        Made::Kept {
            value: (false, reason),
            ..
        } => Some(reason),
        _ => None,
    })
}
