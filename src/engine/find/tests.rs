#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::data::annotations::{FILE_NAME, reply_id};
use crate::data::store::ReplyRecord;
use crate::domain::annotation::{Act, Change, Event};
use crate::domain::answer::{Ending, parse};
use crate::domain::context::Condition;
use crate::domain::prompt::{Prompt, Templates};
use crate::domain::score::score;
use crate::engine::instance::instance;

fn dataset(folder: &tempfile::TempDir) -> Arc<Dataset> {
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "qa.jsonl",
        "{\"question_id\": \"q1\", \"question\": \"Does zinc shorten colds?\", \"options\": {\"A\": \"yes\", \"B\": \"no\"}, \"answer\": \"A\"}\n{\"question_id\": \"q2\", \"question\": \"Is copper toxic?\", \"options\": {\"A\": \"yes\", \"B\": \"no\"}, \"answer\": \"A\"}\n",
    );
    write(
        "signal_docs.json",
        "{\"q1\": [{\"id\": \"d1\", \"title\": \"Lozenges\", \"content\": \"Patients recovered sooner.\"}], \"q2\": [{\"id\": \"d2\", \"title\": \"\", \"content\": \"Hepatolenticular degeneration.\"}]}",
    );
    write(
        "counterfactual_docs.json",
        "{\"q1\": [{\"original_id\": \"d1\", \"new_answer\": \"later\", \"edited_document\": \"Patients recovered tardily.\"}]}",
    );
    Arc::new(Dataset::open(folder.path()).unwrap())
}

/// A reply in sufficiency that was never given by a model: made up for this test.
fn reply(dataset: &Arc<Dataset>, run: &str, reasoning: &str) -> ReplyRecord {
    let condition = Condition {
        docs: 1,
        p: 100.0,
        ..Condition::default()
    };
    let instance = instance(dataset, &Templates::default(), "q1", &condition).unwrap();
    let raw =
        serde_json::json!({"step_by_step_thinking": reasoning, "answer_choice": "B"}).to_string();
    let parsed = parse(&raw, &instance.shape, Ending::Complete);
    ReplyRecord {
        id: 0,
        run: run.to_owned(),
        dataset: dataset.name.clone(),
        dataset_fingerprint: dataset.fingerprint.clone(),
        scores: Some(score(&instance.question, &instance.context, &parsed)),
        question: instance.question,
        condition,
        context: instance.context,
        prompt: Prompt {
            system: String::new(),
            user: String::new(),
        },
        model: serde_json::json!({}),
        model_name: "m".to_owned(),
        sampling: serde_json::json!({}),
        raw,
        reply: serde_json::json!({}),
        failure: serde_json::Value::Null,
        parsed: Some(parsed),
        created_at: "2026-11-30T10:00:00Z".to_owned(),
    }
}

#[test]
fn everything_open_is_found_with_the_words_marked_and_others_notes_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = dataset(&folder);
    let store = Store::open(&folder.path().join("runs.sqlite")).unwrap();
    let annotations = Annotations::open(&folder.path().join(FILE_NAME)).unwrap();
    let record = reply(&dataset, "night", "The lozenge study was unblinded.");
    store.insert(&record).unwrap();
    store.insert(&reply(&dataset, "day", "Palmistry.")).unwrap();
    for (name, note) in [("ana", "trusts an outlier"), ("ben", "secretive")] {
        let hand = Hand {
            annotator: name.to_owned(),
            part: Part::Annotator,
        };
        let event = Event {
            at: String::new(),
            taxonomy: String::new(),
            act: Act::Change {
                reply: reply_id(&record),
                question_id: "q1".to_owned(),
                change: Change::Note(note.to_owned()),
            },
        };
        annotations.add("night", &hand, &event).unwrap();
    }
    let sources = FindSources {
        dataset: &dataset,
        stored: Some((&store, &annotations)),
        run: Some("night"),
        annotator: "ana",
    };
    let index = TextIndex::build(&sources, &mut |_, _| ControlFlow::Continue(())).unwrap();
    assert_eq!(index.counts(), [2, 2, 1, 1, 1]);
    let found = |query: &str| {
        let hits = index.search(query, 9).unwrap();
        hits.into_iter()
            .map(|hit| (hit.kind, hit.question_id))
            .collect::<Vec<_>>()
    };
    let of = |kind, id: &str| (kind, id.to_owned());
    assert_eq!(found("colds"), [of(TextKind::Question, "q1")]);
    assert_eq!(found("degenerations"), [of(TextKind::Document, "q2")]);
    assert_eq!(found("tardily"), [of(TextKind::Edited, "q1")]);
    assert_eq!(found("unblinded"), [of(TextKind::Reasoning, "q1")]);
    assert_eq!(found("outliers"), [of(TextKind::Note, "q1")]);
    assert_eq!(found("secretive"), []);
    assert_eq!(found("palmistry"), []);
    let hit = index.search("unblinded studies", 1).unwrap().remove(0);
    let marked: Vec<&str> = hit
        .marks
        .iter()
        .map(|mark| &hit.excerpt[mark.clone()])
        .collect();
    assert_eq!(marked, ["study", "unblinded"]);
    assert_eq!(hit.reply, Some(("night".to_owned(), reply_id(&record))));
}
