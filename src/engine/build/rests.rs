//! What later stages rest on: which of their items go, and which are to be made, once a stage has changed its file.
//!
//! Documents rest on the search topics, a sub-question on its document, an adversarial edit on its document and on the
//! sub-question. Only what rests on something that has changed goes; documents stay until their topics were searched.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::data::dataset::{COUNTERFACTUALS, SIGNAL, SUB_QUESTIONS};
use crate::domain::build::{Loss, QuestionReport, Stage};
use crate::engine::build::outdated::line;
use crate::engine::build::{Build, BuildError, Later};

/// Why a record goes.
const WHY: &str = "what it rests on has changed";

/// The lists of a stage before and after it has run, by question.
pub(super) struct Changed<'a> {
    pub stage: Stage,
    pub before: &'a Map<String, Value>,
    pub after: &'a Map<String, Value>,
}

/// What becomes of a later stage.
pub(super) struct Rest {
    pub stage: Stage,
    /// Its file, and the file's lists from now on; `None` where none of its records goes.
    pub lists: Option<(&'static str, Map<String, Value>)>,
    /// The records that go, as the file of what went keeps them.
    pub removed: Vec<Value>,
    /// Its part of the report from now on; `None` where nothing changes there.
    pub reports: Option<Map<String, Value>>,
    pub later: Later,
}

/// What an item rests on: absent, or these texts.
type Basis = HashMap<String, String>;

/// What becomes of the later stages.
///
/// # Errors
/// Where a file can't be read.
pub(super) fn rest(
    build: &Build,
    changed: &Changed<'_>,
    report: &Map<String, Value>,
) -> Result<Vec<Rest>, BuildError> {
    let later: &[(Stage, &'static str, &str)] = match changed.stage {
        Stage::Topics => &[(Stage::Retrieve, SIGNAL, "id")],
        Stage::Retrieve => &[
            (Stage::SubQuestions, SUB_QUESTIONS, "doc_id"),
            (Stage::Adversarial, COUNTERFACTUALS, "original_id"),
        ],
        Stage::SubQuestions => &[(Stage::Adversarial, COUNTERFACTUALS, "original_id")],
        Stage::Adversarial => &[],
    };
    let mut rests = Vec::new();
    for &(stage, file, key) in later {
        let lists = build.parts.folder.lists(file)?;
        rests.push(of_stage(build, changed, report, stage, (file, key), lists));
    }
    Ok(rests)
}

fn of_stage(
    build: &Build,
    changed: &Changed<'_>,
    report: &Map<String, Value>,
    stage: Stage,
    (file, key): (&'static str, &str),
    mut lists: Map<String, Value>,
) -> Rest {
    let known: HashSet<&str> = build
        .parts
        .questions
        .iter()
        .map(|q| q.id.as_str())
        .collect();
    let mut reports = report.get(stage.name()).and_then(Value::as_object).cloned();
    let mut later = Later {
        stage,
        gone: 0,
        due: 0,
    };
    let (mut touched, mut said) = (false, false);
    let mut removed = Vec::new();
    lists.retain(|id, list| {
        let stays = known.contains(id.as_str());
        if !stays {
            let records = list.as_array_mut().map(std::mem::take);
            let records = records.unwrap_or_default().into_iter();
            removed.extend(records.map(|record| line(id, stage, "its question is gone", record)));
            touched = true;
        }
        stays
    });
    later.gone += removed.len();
    for question in &build.parts.questions {
        let id = question.id.as_str();
        let basis = |lists: &Map<String, Value>| basis(changed.stage, lists.get(id));
        let (before, after) = (basis(changed.before), basis(changed.after));
        if before == after {
            continue;
        }
        let mut gone: Vec<String> = Vec::new();
        let records = lists.get_mut(id).and_then(Value::as_array_mut);
        let mut left = 0;
        if let Some(records) = records {
            // Documents stay: they are looked for again with the new topics.
            let removable = changed.stage != Stage::Topics;
            records.retain(|record| {
                let item = record[key].as_str().unwrap_or_default();
                let stays = !removable || before.get(item) == after.get(item);
                if !stays {
                    gone.push(item.to_owned());
                    removed.push(line(id, stage, WHY, record.clone()));
                }
                stays
            });
            left = records.len();
        }
        touched |= !gone.is_empty();
        later.gone += gone.len();
        if lists
            .get(id)
            .and_then(Value::as_array)
            .is_some_and(Vec::is_empty)
        {
            lists.shift_remove(id);
        }
        let part = reports.as_mut().and_then(|reports| reports.get_mut(id));
        let own = part
            .as_ref()
            .and_then(|part| serde_json::from_value(Value::clone(part)).ok());
        if let (Some(part), Some(mut own)) = (part, own) {
            follow(
                &mut own,
                (changed.stage, stage),
                &before,
                &after,
                &gone,
                left,
            );
            later.due += own.due.len();
            *part = crate::engine::ask::to_value(&own);
            said = true;
        }
    }
    Rest {
        stage,
        lists: touched.then_some((file, lists)),
        removed,
        reports: reports.filter(|_| said),
        later,
    }
}

/// The items of a question by what rests on them.
fn basis(stage: Stage, list: Option<&Value>) -> Basis {
    let Some(list) = list.and_then(Value::as_array) else {
        return Basis::new();
    };
    let fields: &[&str] = match stage {
        // All topics together are one.
        Stage::Topics => {
            return Basis::from([(String::new(), Value::from(list.clone()).to_string())]);
        }
        Stage::Retrieve => &["id", "title", "content"],
        Stage::SubQuestions | Stage::Adversarial => &["doc_id", "question", "answer"],
    };
    let of = |record: &Value| {
        let texts: Vec<&Value> = fields.iter().map(|field| &record[*field]).collect();
        let item = texts
            .first()
            .and_then(|text| text.as_str())
            .unwrap_or_default();
        (
            item.to_owned(),
            crate::engine::ask::to_value(&texts).to_string(),
        )
    };
    // The first of a document counts, as for the stage of the edits.
    list.iter().rev().map(of).collect()
}

/// Brings the report of a later stage in line: losses of items that are no longer there go, what is to be made is said.
fn follow(
    own: &mut QuestionReport,
    (changed, stage): (Stage, Stage),
    before: &Basis,
    after: &Basis,
    gone: &[String],
    left: usize,
) {
    if changed == Stage::Topics {
        return own.owe("", "its search topics have changed");
    }
    let same =
        |loss: &Loss| loss.item.is_empty() || before.get(&loss.item) == after.get(&loss.item);
    for losses in [
        &mut own.dropped,
        &mut own.failed,
        &mut own.flawed,
        &mut own.stayed,
        &mut own.due,
    ] {
        losses.retain(same);
    }
    own.made = left;
    own.repaired = own.repaired.min(left);
    own.nothing.clear();
    // Edits are to be made once the sub-questions are.
    let (what, direct) = match (changed, stage) {
        (Stage::Retrieve, Stage::SubQuestions) => ("document", true),
        (Stage::Retrieve, _) => ("document", false),
        _ => ("sub-question", true),
    };
    let mut items: Vec<&String> = after.keys().collect();
    items.sort_unstable();
    for item in items {
        match before.get(item) {
            None if direct => own.owe(item, format!("its {what} is new")),
            Some(was) if Some(was) != after.get(item) && (direct || gone.contains(item)) => {
                own.owe(item, format!("its {what} has changed"));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn of(list: Value, stage: Stage) -> Basis {
        basis(stage, Some(&list))
    }

    #[test]
    fn only_what_rests_on_a_change_is_to_be_made() {
        let sub = |id: &str, answer: &str| json!({"doc_id": id, "question": "q", "answer": answer});
        let before = of(
            json!([sub("a", "1"), sub("b", "1"), sub("c", "1")]),
            Stage::SubQuestions,
        );
        let after = of(
            json!([sub("a", "1"), sub("b", "2"), sub("d", "1")]),
            Stage::SubQuestions,
        );
        let mut own = QuestionReport {
            made: 3,
            ..QuestionReport::default()
        };
        own.drop("c", "x");
        own.drop("a", "y");
        let gone = ["b".to_owned(), "c".to_owned()];
        follow(
            &mut own,
            (Stage::SubQuestions, Stage::Adversarial),
            &before,
            &after,
            &gone,
            1,
        );
        let due: Vec<(&str, &str)> = own
            .due
            .iter()
            .map(|one| (one.item.as_str(), one.reason.as_str()))
            .collect();
        assert_eq!(
            due,
            [
                ("b", "its sub-question has changed"),
                ("d", "its sub-question is new")
            ]
        );
        assert_eq!((own.made, own.dropped.len()), (1, 1));
    }

    #[test]
    fn what_found_a_document_is_not_what_others_rest_on() {
        let document = |rank: u32| json!({"id": "a", "title": "t", "content": "c", "found_by": [{"rank": rank}]});
        assert_eq!(
            of(json!([document(1)]), Stage::Retrieve),
            of(json!([document(2)]), Stage::Retrieve)
        );
    }
}
