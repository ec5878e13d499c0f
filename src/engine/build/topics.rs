//! Search topics for every question.

use serde_json::Value;

use crate::domain::build::{QuestionReport, Settings, read_topics};
use crate::domain::prompt::BuildPrompt;
use crate::domain::question::Question;
use crate::engine::build::asker::{Ask, Asker, Candidate, Made, sentences};
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
    each(items, build.ceiling(), on_progress, |(at, question)| {
        of_question(asker, at, question)
    })
    .await
}

async fn of_question(
    asker: &Asker<'_>,
    at: usize,
    question: &Question,
) -> Result<MadeFor, BuildError> {
    let settings = &asker.build.parts.settings;
    let read = |raw: &str| {
        read_topics(raw, settings.topics).map(|value| Candidate {
            value,
            left: Vec::new(),
        })
    };
    let made = asker
        .checked(&ask(question, settings), read, async |_| Ok(None))
        .await?;
    let mut report = QuestionReport::default();
    let mut records = Vec::new();
    match made {
        Made::Kept {
            value,
            repairs,
            left,
        } => {
            report.keep("", repairs, &sentences(&left));
            records = value.into_iter().map(Value::String).collect();
        }
        Made::Dropped(why) => report.drop("", why),
        Made::Failed(why) => report.fail("", why),
    }
    Ok(MadeFor {
        question: at,
        records,
        report,
    })
}
