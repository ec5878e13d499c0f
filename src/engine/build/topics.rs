//! Search topics for every question.

use serde_json::Value;

use crate::domain::build::{QuestionReport, Settings, read_topics};
use crate::domain::prompt::BuildPrompt;
use crate::domain::question::Question;
use crate::engine::build::asker::{Ask, Asker, Candidate, Check, Made};
use crate::engine::build::store::MadeFor;
use crate::engine::build::{BuildError, each};
use crate::model::{Field, FieldKind, ReplyForm};

/// What is asked for a question.
pub(super) fn ask<'a>(question: &'a Question, settings: &Settings) -> Ask<'a> {
    let count = settings.topics;
    Ask {
        question_id: &question.id,
        item: "",
        prompt: BuildPrompt::Topics { question, count },
        form: ReplyForm::Fields(vec![Field::new("topics", FieldKind::Texts(count))]),
    }
}

/// Asks for the topics of every question that is worked on.
pub(super) async fn run(
    asker: &Asker<'_>,
    on_progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<MadeFor>, BuildError> {
    let build = asker.build;
    let items: Vec<(usize, &Question)> = build.worked_on().collect();
    let before = build.parts.folder.topics()?.unwrap_or_default();
    let before = |id: &str| before.get(id).map_or(&[][..], Vec::as_slice);
    each(items, build.ceiling(), on_progress, |(at, question)| {
        of_question(asker, at, question, before(&question.id))
    })
    .await
}

/// The topics of an earlier run, which stay where there are some.
fn stay(report: &mut QuestionReport, before: &[String], why: &str) -> Vec<Value> {
    if !before.is_empty() {
        report.stay("", format!("those of before stay: {why}"), "");
    }
    before.iter().cloned().map(Value::String).collect()
}

async fn of_question(
    asker: &Asker<'_>,
    at: usize,
    question: &Question,
    before: &[String],
) -> Result<MadeFor, BuildError> {
    let settings = &asker.build.parts.settings;
    let read = |raw: &str| {
        read_topics(raw, settings.topics).map(|value| Candidate {
            value,
            left: Vec::new(),
        })
    };
    let made = asker
        .checked(&ask(question, settings), read, async |_: &Vec<String>| {
            Ok(Check::Good)
        })
        .await?;
    let mut report = QuestionReport::default();
    let records = match made {
        Made::Kept {
            value,
            repairs,
            flaws,
        } => {
            report.keep("", repairs, &flaws);
            value.into_iter().map(Value::String).collect()
        }
        Made::Failed(why) => {
            report.fail("", why.as_str());
            stay(&mut report, before, &why)
        }
        Made::Dropped(why) => {
            let records = stay(&mut report, before, &why);
            if records.is_empty() {
                report.drop("", why);
            }
            records
        }
    };
    Ok(MadeFor {
        question: at,
        records,
        report,
    })
}
