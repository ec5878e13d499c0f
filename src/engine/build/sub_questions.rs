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
use crate::engine::build::asker::{Ask, Asker, Candidate, Check, Made, sentences};
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
        let pools = dataset.pools(&question.id);
        items.extend(pools.signal.iter().map(|document| {
            let mut before = pools.sub_questions.iter();
            let before = before.find(|sub| sub.doc_id == document.id);
            (at, question, document, before)
        }));
    }
    let made = each(
        items,
        build.ceiling(),
        on_progress,
        |(at, question, document, before)| async move {
            Ok((at, of_document(asker, question, document, before).await?))
        },
    )
    .await?;
    Ok(gather(build, made, "the question has no documents", take))
}

/// What was made for a document, and the sub-question of an earlier run if it can stay, with its flaws.
struct OfDocument<'a> {
    document: &'a Document,
    made: Made<SubDraft>,
    before: Option<(&'a SubQuestion, String)>,
}

fn take(own: &mut MadeFor, one: OfDocument<'_>) {
    let id = one.document.id.as_str();
    let (failed, why) = match one.made {
        Made::Kept {
            value,
            repairs,
            flaws,
        } => match repeated(own, &value.question) {
            // Asked twice in one context, nobody could tell which document is meant.
            Some(first) => (
                false,
                format!("the same sub-question is asked of {first} already"),
            ),
            None => {
                own.report.keep(id, repairs, &flaws);
                own.records.push(to_value(&SubQuestion {
                    doc_id: id.to_owned(),
                    question: value.question,
                    answer: value.answer,
                    extra: Map::new(),
                }));
                return;
            }
        },
        Made::Dropped(why) => (false, why),
        Made::Failed(why) => (true, why),
    };
    let before = one.before;
    let stays = before.filter(|(before, _)| repeated(own, &before.question).is_none());
    match (&stays, failed) {
        (_, true) => own.report.fail(id, why.as_str()),
        (None, false) => own.report.drop(id, why.as_str()),
        (Some(_), false) => {}
    }
    if let Some((before, flaws)) = stays {
        let why = format!("the one of before stays: {why}");
        own.report.stay(id, why, &flaws);
        own.records.push(to_value(before));
    }
}

/// The document that is asked the same already, in short.
fn repeated(own: &MadeFor, question: &str) -> Option<String> {
    let key = document_key(question);
    let asked = |record: &&Value| document_key(record["question"].as_str().unwrap_or_default());
    let first = own.records.iter().find(|record| asked(record) == key)?;
    Some(short(first["doc_id"].as_str().unwrap_or_default()))
}

async fn of_document<'a>(
    asker: &Asker<'_>,
    question: &Question,
    document: &'a Document,
    before: Option<&'a SubQuestion>,
) -> Result<OfDocument<'a>, BuildError> {
    let read = |raw: &str| read_sub_question(raw).and_then(|draft| judged(document, draft));
    let also = async |draft: &SubDraft| match asker.build.parts.settings.model_checks {
        true => stands_alone(asker, question, document, draft).await,
        false => Ok(Check::Good),
    };
    let ask = ask(question, document);
    let made = asker.checked(&ask, read, &also).await?;
    let mut stays = None;
    if let (Some(before), false) = (before, matches!(made, Made::Kept { .. })) {
        let draft = SubDraft {
            question: before.question.clone(),
            answer: before.answer.clone(),
        };
        if let Ok(candidate) = judged(document, draft)
            && (matches!(made, Made::Failed(_))
                || !matches!(also(&candidate.value).await?, Check::Bad(_)))
        {
            stays = Some((before, sentences(&candidate.left)));
        }
    }
    Ok(OfDocument {
        document,
        made,
        before: stays,
    })
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

/// Whether a model says that the sub-question can be understood alone.
async fn stands_alone(
    asker: &Asker<'_>,
    question: &Question,
    document: &Document,
    draft: &SubDraft,
) -> Result<Check, BuildError> {
    let ask = Ask {
        question_id: &question.id,
        item: &document.id,
        prompt: BuildPrompt::Alone {
            question: &draft.question,
        },
        form: verdict_form(),
    };
    verdict(asker, &ask, |reason| {
        format!("a reader who sees nothing else can't tell what the sub-question asks: {reason}")
    })
    .await
}

/// The form of a check.
pub(super) fn verdict_form() -> ReplyForm {
    let words = ["yes", "no"].map(str::to_owned).to_vec();
    ReplyForm::Fields(vec![
        Field::new("reason", FieldKind::Sentence),
        Field::new("verdict", FieldKind::Choice(words)),
    ])
}

/// What a checking model says; `bad` puts its reason for a no into a sentence.
pub(super) async fn verdict(
    asker: &Asker<'_>,
    ask: &Ask<'_>,
    bad: impl Fn(String) -> String,
) -> Result<Check, BuildError> {
    let read = |raw: &str| {
        read_verdict(raw).map(|value| Candidate {
            value,
            left: Vec::new(),
        })
    };
    let nothing_more = async |_: &(bool, String)| Ok(Check::Good);
    Ok(match asker.checked(ask, read, nothing_more).await? {
        Made::Kept {
            value: (true, _), ..
        } => Check::Good,
        Made::Kept {
            value: (false, reason),
            ..
        } => Check::Bad(bad(reason)),
        Made::Dropped(why) => Check::Unclear(format!("the check gives no verdict: {why}")),
        Made::Failed(why) => Check::Silent(why),
    })
}
