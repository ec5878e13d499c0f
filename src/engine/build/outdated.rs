//! Questions that read differently than when their items were made: the same id, another text or other options.
//!
//! What was made of the old text says nothing about the new one. It goes to a file of its own, and the report says that
//! it is to be made again; documents stay until they are looked for anew. The ledger remembers how a question read, so
//! that a change is seen however it came into the folder. It keeps the old answers too: with the old text the same
//! command makes the old items again without asking.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::data::built::{REPORT, TOPICS};
use crate::data::clock::now;
use crate::data::dataset::{COUNTERFACTUALS, SIGNAL, SUB_QUESTIONS};
use crate::data::ledger::{Entry, EntryKind, Ledger};
use crate::domain::build::{QuestionReport, Stage};
use crate::domain::question::Question;
use crate::domain::review::items;
use crate::engine::ask::to_value;
use crate::engine::build::asker::hash_of;
use crate::engine::build::{BuildError, Parts, store};

/// Why items of a changed question are to be made.
const WHY: &str = "its question has changed";

/// The files whose records go with their question's text, and the field that names a record's document.
const FILES: [(Stage, &str, &str); 3] = [
    (Stage::Topics, TOPICS, ""),
    (Stage::SubQuestions, SUB_QUESTIONS, "doc_id"),
    (Stage::Adversarial, COUNTERFACTUALS, "original_id"),
];

/// Questions that have changed since their items were made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outdated {
    /// Their ids, in order.
    pub ids: Vec<String>,
    /// Records of them that go, by stage; only what is not 0.
    pub gone: Vec<(Stage, usize)>,
    /// Sub-questions and edits among these, as decisions of reviewers name them.
    pub items: HashSet<String>,
}

/// What a question is for all that is made of it: SHA-256 over its text and its options. Which option is right changes
/// none of it.
fn content_hash(question: &Question) -> String {
    let options: BTreeMap<char, &str> = question
        .options
        .iter()
        .map(|choice| (choice.letter, choice.text.as_str()))
        .collect();
    hash_of(&json!([question.text, options]))
}

/// Looks for questions that have changed, by the ledger; by the folder's own questions where an earlier version of the
/// program made it.
///
/// # Errors
/// Where a file can't be read.
pub(super) fn find(parts: &Parts, ledger: &Ledger) -> Result<Outdated, BuildError> {
    let folder = &parts.folder;
    let own = folder.questions()?.unwrap_or_default();
    let own: HashMap<&str, &Question> = own.iter().map(|one| (one.id.as_str(), one)).collect();
    let changed: Vec<&Question> = parts
        .questions
        .iter()
        .filter(|question| {
            let id = question.id.as_str();
            let before = ledger.question(id).map(str::to_owned);
            let before = before.or_else(|| own.get(id).map(|own| content_hash(own)));
            before.is_some_and(|before| before != content_hash(question))
        })
        .collect();
    let mut outdated = Outdated::default();
    if changed.is_empty() {
        return Ok(outdated);
    }
    let report = folder.report()?;
    let searched = report.get(Stage::Retrieve.name()).unwrap_or(&Value::Null);
    let mut with_items: HashSet<&str> = changed
        .iter()
        .map(|question| question.id.as_str())
        .filter(|id| searched.get(*id).is_some())
        .collect();
    for (stage, file, _) in FILES {
        let lists = folder.lists(file)?;
        let records = |question: &&Question| {
            let list = lists.get(&question.id).and_then(Value::as_array);
            list.map_or(0, Vec::len)
        };
        let gone: usize = changed.iter().map(records).sum();
        outdated.gone.extend((gone > 0).then_some((stage, gone)));
        let some = changed.iter().filter(|question| records(question) > 0);
        with_items.extend(some.map(|question| question.id.as_str()));
    }
    if let Some(dataset) = folder.dataset()? {
        let of = |question: &&Question| items(question, &dataset.pools(&question.id));
        let all = changed.iter().flat_map(of);
        outdated.items = all.map(|item| item.id).collect();
    }
    let ids = changed.iter().map(|question| question.id.as_str());
    outdated.ids = ids
        .filter(|id| with_items.contains(id))
        .map(str::to_owned)
        .collect();
    Ok(outdated)
}

/// Takes the items of changed questions out of their files. The report says first that they are to be made, and the
/// questions are written last: who is killed in between does it all again.
///
/// # Errors
/// Where a file can't be read or written.
pub(super) fn put_aside(parts: &Parts, outdated: &Outdated) -> Result<(), BuildError> {
    if outdated.ids.is_empty() {
        return Ok(());
    }
    let folder = &parts.folder;
    let mut left = Vec::new();
    let mut aside = Vec::new();
    let mut gone: HashMap<(Stage, &str), Vec<String>> = HashMap::new();
    for (stage, file, key) in FILES {
        let mut lists = folder.lists(file)?;
        for id in &outdated.ids {
            let Some(Value::Array(records)) = lists.shift_remove(id) else {
                continue;
            };
            let items = records.iter().map(|record| record[key].as_str());
            let items = items.map(|item| item.unwrap_or_default().to_owned());
            gone.insert((stage, id.as_str()), items.collect());
            let lines = records.into_iter();
            aside.extend(lines.map(|record| line(id, stage, WHY, record)));
        }
        left.push((file, lists));
    }
    let mut report = folder.report()?;
    let documents = folder.lists(SIGNAL)?;
    for id in &outdated.ids {
        owe(&mut report, id, &gone, documents.get(id));
    }
    folder.write_object(REPORT, &report)?;
    folder.set_aside(&aside)?;
    // Edits rest on sub-questions: the last file first.
    for (file, lists) in left.iter().rev() {
        // A file that was never there is not begun here.
        if folder.path().join(file).is_file() {
            folder.write_lists(file, lists)?;
        }
    }
    folder.write_questions(&parts.questions)?;
    store::refresh_manifest(folder, &parts.questions)
}

/// Says in the report that everything of a question is to be made, in the stages that have been through.
fn owe(
    report: &mut Map<String, Value>,
    id: &str,
    gone: &HashMap<(Stage, &str), Vec<String>>,
    documents: Option<&Value>,
) {
    let mut say = |stage: Stage, change: &dyn Fn(&mut QuestionReport)| {
        let part = report.get_mut(stage.name());
        if let Some(own) = part.and_then(|part| part.get_mut(id)) {
            let mut read: QuestionReport = serde_json::from_value(own.clone()).unwrap_or_default();
            change(&mut read);
            *own = to_value(&read);
        }
    };
    let nothing = |own: &mut QuestionReport| *own = QuestionReport::default();
    say(Stage::Topics, &|own| {
        nothing(own);
        own.owe("", WHY);
    });
    // Documents stay until they are looked for anew.
    say(Stage::Retrieve, &|own| own.owe("", WHY));
    say(Stage::SubQuestions, &|own| {
        nothing(own);
        for document in documents.and_then(Value::as_array).into_iter().flatten() {
            own.owe(document["id"].as_str().unwrap_or_default(), WHY);
        }
    });
    say(Stage::Adversarial, &|own| {
        nothing(own);
        for item in gone.get(&(Stage::Adversarial, id)).into_iter().flatten() {
            own.owe(item, WHY);
        }
    });
}

/// A record that goes, as the file of what went keeps it.
pub(super) fn line(question_id: &str, stage: Stage, why: &str, record: Value) -> Value {
    json!({"at": now(), "question_id": question_id, "stage": stage.name(), "why": why, "record": record})
}

/// Has the ledger remember how questions read, where they are new or have changed.
///
/// # Errors
/// Where it can't be written.
pub(super) fn remember(questions: &[Question], ledger: &mut Ledger) -> Result<(), BuildError> {
    let mut entries = Vec::new();
    for question in questions {
        let hash = content_hash(question);
        if ledger.question(&question.id) == Some(hash.as_str()) {
            continue;
        }
        entries.push(Entry {
            kind: EntryKind::Question,
            stage: String::new(),
            question_id: question.id.clone(),
            item: String::new(),
            attempt: 0,
            hash,
            request: json!({"question": question.text, "options": question.options}),
            model: Value::Null,
            answer: Value::Null,
            outcome: String::new(),
            started_at: now(),
            ms: 0,
        });
    }
    Ok(ledger.append_all(entries)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::question::Choice;

    #[test]
    fn a_question_is_its_text_and_its_options_in_any_order() {
        let option = |letter, text: &str| Choice {
            letter,
            text: text.into(),
        };
        let question = Question {
            id: "q".into(),
            text: "Which?".into(),
            options: vec![option('A', "this"), option('B', "that")],
            answer: 'B',
            extra: Map::new(),
        };
        let same = Question {
            id: "other".into(),
            options: vec![option('B', "that"), option('A', "this")],
            answer: 'A',
            ..question.clone()
        };
        assert_eq!(content_hash(&question), content_hash(&same));
        let text = Question {
            text: "Which one?".into(),
            ..question.clone()
        };
        let options = Question {
            options: vec![option('A', "that"), option('B', "this")],
            ..question.clone()
        };
        for other in [text, options] {
            assert_ne!(content_hash(&question), content_hash(&other));
        }
    }

    #[test]
    fn all_stages_that_were_through_owe_the_items_of_a_changed_question() {
        let made = to_value(&QuestionReport {
            made: 2,
            ..QuestionReport::default()
        });
        let mut report = Map::from_iter(
            Stage::ALL[1..]
                .iter()
                .map(|stage| (stage.name().to_owned(), json!({"q": made, "other": made}))),
        );
        let gone = HashMap::from([((Stage::Adversarial, "q"), vec!["b".to_owned()])]);
        let documents = json!([{"id": "a"}, {"id": "b"}]);
        owe(&mut report, "q", &gone, Some(&documents));
        let of = |stage: Stage, id: &str| -> QuestionReport {
            serde_json::from_value(report[stage.name()][id].clone()).unwrap_or_default()
        };
        assert!(!report.contains_key(Stage::Topics.name()));
        let found = of(Stage::Retrieve, "q");
        assert_eq!((found.made, found.due.len()), (2, 1));
        assert_eq!(of(Stage::SubQuestions, "q").due.len(), 2);
        assert_eq!(of(Stage::Adversarial, "q").due[0].item, "b");
        assert_eq!(of(Stage::Adversarial, "q").made, 0);
        assert_eq!(of(Stage::Adversarial, "other").made, 2);
    }
}
