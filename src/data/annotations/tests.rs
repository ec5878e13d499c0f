#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! All annotations here are made up.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::{Connection, params};

use super::*;
use crate::data::store::tests::record;
use crate::data::store::{Identify, Store, Which};
use crate::domain::annotation::{Annotation, Change};

fn hand(name: &str) -> Hand {
    Hand {
        annotator: name.to_owned(),
        part: Part::Annotator,
    }
}

fn event(reply: &str, change: Change) -> Event {
    Event {
        at: String::new(),
        taxonomy: "t@1".to_owned(),
        act: Act::Change {
            reply: reply.to_owned(),
            question_id: "q1".to_owned(),
            change,
        },
    }
}

fn act(act: Act) -> Event {
    Event {
        at: String::new(),
        taxonomy: String::new(),
        act,
    }
}

fn labels(ids: &[&str]) -> Change {
    Change::Labels(ids.iter().map(|id| (*id).to_owned()).collect())
}

fn open(folder: &tempfile::TempDir) -> Annotations {
    Annotations::open(&folder.path().join("deep").join(FILE_NAME)).unwrap()
}

#[test]
fn acts_come_back_after_a_restart_and_undo_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let ana = hand("ana");
    let whole = Annotation {
        note: "from a file".to_owned(),
        updated_at: "2026-01-01T00:00:00Z".to_owned(),
        ..Annotation::default()
    };
    for change in [
        labels(&["other", "gold_questionable"]),
        Change::Note("é\u{0} 中".to_owned()),
        Change::Unsure(true),
        Change::Done {
            done: true,
            blind: true,
        },
        Change::Put(Box::new(whole)),
    ] {
        let at = store.add("night", &ana, &event("r1", change)).unwrap();
        assert!(at.ends_with('Z'), "{at}");
    }
    store
        .add("night", &hand("ben"), &event("r1", labels(&["other"])))
        .unwrap();
    store.add("day", &ana, &event("r9", labels(&[]))).unwrap();
    drop(store);
    let store = open(&folder);
    let shelf = store.of_run("night").unwrap();
    assert_eq!((shelf.books.len(), shelf.broken), (2, 0));
    assert_eq!(shelf.books[&ana].get("r1").unwrap().note, "from a file");
    // Undo across the restart, and what is undone stays undone after the next.
    store.add("night", &ana, &act(Act::Undo)).unwrap();
    store.add("night", &ana, &act(Act::Undo)).unwrap();
    drop(store);
    let store = open(&folder);
    let shelf = store.of_run("night").unwrap();
    let found = shelf.books[&ana].get("r1").unwrap();
    assert_eq!(
        (found.done, found.unsure, found.note.as_str()),
        (false, true, "é\u{0} 中")
    );
    assert_eq!(
        found.labels,
        BTreeSet::from(["gold_questionable".to_owned(), "other".to_owned()])
    );
    assert!(shelf.books[&ana].can_redo());
    store.add("night", &ana, &act(Act::Redo)).unwrap();
    assert!(store.of_run("night").unwrap().books[&ana].is_done("r1"));
    assert_eq!(store.runs().unwrap(), ["night", "day"]);
}

#[test]
fn parts_are_kept_apart_and_queues_are_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let ana = hand("ana");
    let judge = Hand {
        part: Part::Adjudicator,
        ..ana.clone()
    };
    store.add("r", &ana, &event("x", labels(&["a"]))).unwrap();
    store.add("r", &judge, &event("x", labels(&["b"]))).unwrap();
    store.add("r", &judge, &act(Act::Undo)).unwrap();
    let shelf = store.of_run("r").unwrap();
    assert!(shelf.books[&ana].get("x").unwrap().labels.contains("a"));
    assert_eq!(shelf.books[&judge].get("x"), None);
    assert_eq!(shelf.annotators().len(), 1);
    assert_eq!(store.queue("r", &ana).unwrap(), None);
    for choice in ["{}", "{\"outcome\":[\"wrong\"]}"] {
        store.set_queue("r", &ana, choice).unwrap();
        assert_eq!(store.queue("r", &ana).unwrap().as_deref(), Some(choice));
    }
    assert_eq!(store.queue("r", &judge).unwrap(), None);
}

#[test]
fn later_versions_and_other_databases_are_refused_and_a_broken_act_fails_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE_NAME);
    let store = Annotations::open(&path).unwrap();
    let ana = hand("ana");
    store.add("r", &ana, &event("x", labels(&["a"]))).unwrap();
    let insert = |version: u32, run: &str, act: &str| {
        store
            .0
            .lock()
            .execute(
                "INSERT INTO events (event_version, run, annotator, part, at, taxonomy, act)
                 VALUES (?1, ?2, 'ana', 'annotation', 't', 't', ?3)",
                params![version, run, act],
            )
            .unwrap();
    };
    insert(1, "r", "{\"do\": \"dance\"}");
    let shelf = store.of_run("r").unwrap();
    assert_eq!(
        (shelf.broken, shelf.books[&ana].annotations().count()),
        (1, 1)
    );
    insert(2, "later", "{}");
    let said = store.of_run("later").unwrap_err().0;
    assert!(
        said.contains("version 2") && said.contains("update the program"),
        "{said}"
    );
    drop(store);
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 9).unwrap();
    let said = Annotations::open(&path).unwrap_err().0;
    assert!(
        said.contains("version 9") && said.contains("up to 1"),
        "{said}"
    );
    let runs = folder.path().join("runs.sqlite");
    drop(Store::open(&runs).unwrap());
    let said = Annotations::open(&runs).unwrap_err().0;
    assert!(said.contains("holds no annotations"), "{said}");
    std::fs::write(
        folder.path().join("text"),
        "no database at all, but long enough to be looked at",
    )
    .unwrap();
    let said = Annotations::open(&folder.path().join("text"))
        .unwrap_err()
        .0;
    assert!(
        said.contains("is damaged or holds no annotations"),
        "{said}"
    );
}

#[test]
fn briefs_name_the_replies_that_records_are() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("s")).unwrap();
    let mut first = record("night", "q1");
    first
        .question
        .extra
        .insert("dataset".to_owned(), "set 1".into());
    first.context.variant = Some("swap".to_owned());
    let mut failed = record("night", "q2");
    failed.failure = serde_json::json!({"kind": "timeout"});
    failed.parsed = None;
    store.insert(&first).unwrap();
    store.insert(&failed).unwrap();
    store.insert(&record("day", "q3")).unwrap();
    let (briefs, broken) = store
        .briefs(Which::Run("night"), true, Identify::All)
        .unwrap();
    assert_eq!((briefs.len(), broken), (1, 0));
    let kept = store.get(briefs[0].id).unwrap().unwrap();
    assert_eq!(briefs[0].reply_id.as_deref(), Some(&*reply_id(&kept)));
    assert_eq!(briefs[0].question.set.as_deref(), Some("set 1"));
    assert_eq!((briefs[0].adopted, briefs[0].correct), ((0, 0), None));
    assert_eq!(
        store
            .briefs(Which::Dataset("f1", None), false, Identify::All)
            .unwrap()
            .0
            .len(),
        2
    );
    assert_eq!(
        store
            .briefs(Which::Dataset("f1", Some("day")), false, Identify::All)
            .unwrap()
            .0
            .len(),
        1
    );
    assert_eq!(
        store
            .briefs(Which::Dataset("f2", None), false, Identify::All)
            .unwrap()
            .0
            .len(),
        0
    );
}

#[test]
fn only_replies_to_the_named_questions_get_ids_and_all_share_what_they_have_in_common() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("s")).unwrap();
    for question in ["q1", "q2", "q1"] {
        store.insert(&record("night", question)).unwrap();
    }
    let about = ["q1".to_owned()].into();
    let read = |identify| store.briefs(Which::Run("night"), false, identify).unwrap();
    let (briefs, broken) = read(Identify::About(&about));
    assert_eq!((briefs.len(), broken), (3, 0));
    let known: Vec<bool> = briefs.iter().map(|one| one.reply_id.is_some()).collect();
    assert_eq!(known, [true, false, true]);
    assert!(Arc::ptr_eq(&briefs[0].question, &briefs[2].question));
    assert!(!Arc::ptr_eq(&briefs[0].question, &briefs[1].question));
    assert!(Arc::ptr_eq(&briefs[0].condition, &briefs[1].condition));
    assert!(Arc::ptr_eq(&briefs[0].model_name, &briefs[1].model_name));
    assert_eq!(briefs[1].question.text, "Are there microbes in milk?");
    let (all, _) = read(Identify::All);
    assert_eq!(all[0].reply_id, briefs[0].reply_id);
    assert!(all[1].reply_id.is_some());
    // A run may have a hundred thousand replies.
    assert!(size_of::<crate::data::store::Brief>() <= 128);
}

#[test]
fn rows_of_a_file_come_back_and_bad_ones_say_what_is_wrong() {
    let annotation = Annotation {
        labels: BTreeSet::from(["other".to_owned()]),
        note: "=1+1, \"quoted\"\nand more".to_owned(),
        done: true,
        question_id: "q1".to_owned(),
        taxonomy: "t@1".to_owned(),
        first_at: "2026-11-30T10:00:00Z".to_owned(),
        updated_at: "2026-11-30T10:00:05Z".to_owned(),
        ..Annotation::default()
    };
    let kept = record("night", "q1");
    let id = reply_id(&kept);
    let row = ExportRow {
        annotation: AnnotationRow::new("night", &id, &hand("ana"), &annotation),
        reply: facts(&kept),
    };
    let mut lines = Vec::new();
    write_jsonl(std::slice::from_ref(&row), &mut lines).unwrap();
    let line = String::from_utf8(lines).unwrap();
    let back = read_row(&line).unwrap().parts().unwrap();
    assert_eq!(back, (hand("ana"), annotation));
    let value: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(value["gold"], "A");
    assert_eq!(value["response"], kept.raw);
    // Every column of a row is in both forms, in the same order.
    let mut csv = Vec::new();
    write_csv(std::slice::from_ref(&row), &mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
    assert_eq!(header, keys);
    assert!(csv.contains("\"'=1+1, \"\"quoted\"\"\nand more\""), "{csv}");
    for (line, expected) in [
        ("[1]", "\"version\" is missing"),
        ("{", "no JSON object"),
        ("{\"version\": 7}", "version 7"),
        ("{\"version\": 1}", "no annotation"),
    ] {
        let said = read_row(line).unwrap_err();
        assert!(said.contains(expected), "{said}");
    }
    let mut bad = row.annotation.clone();
    bad.reply_id = "abc".to_owned();
    assert!(bad.parts().unwrap_err().contains("24 hexadecimal digits"));
    let mut bad = row.annotation;
    bad.kind = "guess".to_owned();
    assert!(bad.parts().unwrap_err().contains("\"guess\""));
}
