#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;

use super::*;
use crate::domain::answer::{Outcome, Sources};
use crate::domain::context::{Mode, Scenario, SourceFilter};
use crate::domain::question::{Choice, Question};

pub(crate) fn record(run: &str, question_id: &str) -> ReplyRecord {
    let condition = Condition::default();
    ReplyRecord {
        id: 0,
        run: run.into(),
        dataset: "bioasq".into(),
        dataset_fingerprint: "f1".into(),
        question: Question {
            id: question_id.into(),
            text: "Are there microbes in milk?".into(),
            options: vec![Choice {
                letter: 'A',
                text: "yes".into(),
            }],
            answer: 'A',
            extra: serde_json::Map::new(),
        },
        condition,
        context: Context {
            question_id: question_id.into(),
            scenario: Scenario::Sufficiency,
            docs_requested: 5,
            docs: 0,
            p_requested: 60.0,
            p: 0.1 + 0.2,
            seed: 0,
            mode: Mode::Nested,
            source: SourceFilter::Any,
            short: true,
            variant: None,
            documents: vec![],
            sub_questions: vec![],
        },
        prompt: Prompt {
            system: "s".into(),
            user: "u".into(),
        },
        model: json!({"name": "m"}),
        model_name: "m".into(),
        sampling: json!({"temperature": 0.0}),
        raw: "{\"answer_choice\": \"A\"}\n é \u{0}".into(),
        reply: json!({"ending": "complete"}),
        failure: serde_json::Value::Null,
        parsed: Some(ParsedReply {
            outcome: Outcome::Answered,
            answer: Some('A'),
            reasoning: None,
            hidden: None,
            relevant: vec![],
            irrelevant: vec![],
            subs: vec![],
            notes: vec![],
            evidence: None,
            sources: Sources::default(),
        }),
        scores: None,
        created_at: "2026-11-29T10:00:00Z".into(),
        request: None,
        origin: None,
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn a_folder_in_the_place_of_the_store_is_called_one() {
    let dir = folder();
    for opened in [Store::open(dir.path()), Store::open_for_reading(dir.path())] {
        let why = opened.err().unwrap().to_string();
        assert!(why.contains("is a folder, but a file is expected"), "{why}");
    }
}

#[test]
fn failures_of_an_instance_are_known_again() {
    let dir = folder();
    let store = Store::open(&dir.path().join("s")).unwrap();
    let mut failed = record("night", "q2");
    failed.parsed = None;
    failed.reply = serde_json::Value::Null;
    failed.failure = json!({"kind": "rate_limited", "message": "x"});
    store.insert(&failed).unwrap();
    store.insert(&record("night", "q2")).unwrap();
    let of = |run: &str, condition: &Condition| {
        store
            .failures_of(run, &failed.dataset_fingerprint, ("q2", condition))
            .unwrap()
    };
    let found = of("night", &failed.condition);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].failure, failed.failure);
    assert_eq!(found[0].model_name, failed.model_name);
    let other = Condition {
        docs: failed.condition.docs + 1,
        ..failed.condition
    };
    assert!(of("night", &other).is_empty() && of("day", &failed.condition).is_empty());
}

#[test]
fn records_come_back_as_they_were() {
    let dir = folder();
    let path = dir.path().join("deep/er/runs.sqlite");
    let store = Store::open(&path).unwrap();
    let first = record("night", "q1");
    let mut failed = record("night", "q2");
    failed.raw.clear();
    failed.parsed = None;
    failed.reply = serde_json::Value::Null;
    failed.failure = json!({"kind": "rate_limited", "message": "x"});
    failed.created_at = "2026-11-29T11:00:00Z".into();
    let id = store.insert(&first).unwrap();
    store.insert(&failed).unwrap();
    let newer = store.insert(&record("day", "q1")).unwrap();

    // Another connection, as after a restart.
    let again = Store::open(&path).unwrap();
    let stored = again.get(id).unwrap().unwrap();
    assert_eq!(stored, ReplyRecord { id, ..first });
    assert_eq!(again.get(999).unwrap(), None);
    let found = again.replies_for("f1", "q1", 10).unwrap();
    assert_eq!(found.iter().map(|r| r.id).collect::<Vec<_>>(), [newer, id]);
    assert_eq!(again.replies_for("f1", "q1", 1).unwrap().len(), 1);
    assert!(again.replies_for("other", "q1", 10).unwrap().is_empty());
    let run = again.replies_of_run("night").unwrap();
    assert_eq!(run.len(), 2);
    assert_eq!(run[1].failure["kind"], "rate_limited");
    let runs = again.runs().unwrap();
    assert_eq!(runs[0].name, "day");
    assert_eq!(
        runs[1],
        RunSummary {
            name: "night".into(),
            created_at: "2026-11-29T10:00:00Z".into(),
            updated_at: Some("2026-11-29T11:00:00Z".into()),
            replies: 1,
            failures: 1,
            questions: 2,
            models: vec!["m".into()],
            datasets: vec!["bioasq".into()],
            scenarios: vec!["sufficiency".into()],
        }
    );
    let outcomes: Vec<String> = again
        .lock()
        .prepare("SELECT outcome FROM replies ORDER BY id")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap();
    assert_eq!(outcomes, ["answered", "failed:rate_limited", "answered"]);
}

#[test]
fn commits_are_synced_and_readers_do_not_wait() {
    let dir = folder();
    let store = Store::open(&dir.path().join("s")).unwrap();
    let pragma = |name: &str| -> String {
        store
            .lock()
            .pragma_query_value(None, name, |row| {
                row.get::<_, rusqlite::types::Value>(0)
                    .map(|value| format!("{value:?}"))
            })
            .unwrap()
    };
    assert!(pragma("journal_mode").contains("wal"));
    assert!(pragma("synchronous").contains('2'));
}

#[test]
fn an_older_file_is_migrated_with_its_records() {
    let dir = folder();
    for version in 0..schema::VERSION as usize {
        let path = dir.path().join(format!("v{version}"));
        let old = Connection::open(&path).unwrap();
        schema::make_old(&old, version).unwrap();
        if version >= 1 {
            old.execute_batch(
                r#"INSERT INTO runs VALUES ('old', '2026-01-01T00:00:00Z');
                INSERT INTO replies VALUES (7, 1, 'old', 'd', 'f', 'q', 'standard', 'm', 'answered', '2026-01-01T00:00:00Z',
                    '{"id":"q","text":"t","options":[],"answer":"A"}',
                    '{"scenario":"standard","docs":5,"p":0.0,"seed":0,"mode":"nested","source":"any"}',
                    '{"question_id":"q","scenario":"standard","docs_requested":5,"docs":0,"p_requested":0.0,"p":0.0,"seed":0,"mode":"nested","short":true,"documents":[],"sub_questions":[]}',
                    '{"system":"","user":""}', '{}', '{}', 'A', '{}', 'null', 'null', 'null');"#,
            )
            .unwrap();
        }
        drop(old);
        let store = Store::open(&path).unwrap();
        let old_records = store.replies_of_run("old").unwrap();
        assert_eq!(old_records.len(), version.min(1));
        store.insert(&record("new", "q1")).unwrap();
        let found: i64 = store
            .lock()
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .unwrap();
        assert_eq!(found, schema::VERSION);
        let indexes: i64 = store
            .lock()
            .query_row(
                "SELECT count(*) FROM sqlite_schema WHERE name = 'replies_by_question'",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(indexes, 1);
        // What came with the newest version works on records of the oldest.
        if version >= 1 {
            let groups = store.groups_of_run("old").unwrap();
            assert_eq!((groups[0].records, groups[0].short), (1, 1));
            assert_eq!(store.runs().unwrap().len(), 2);
            store.insert_judgement(&judgement(7, 0, Some(1.0))).unwrap();
            assert_eq!(store.judgements_of_run("old", "gpt").unwrap().len(), 1);
        }
    }
}

#[test]
fn a_newer_file_is_refused_and_left_alone() {
    let dir = folder();
    let path = dir.path().join("s");
    drop(Store::open(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    let refused = Store::open(&path).unwrap_err().0;
    assert!(
        refused.contains("version 99") && refused.contains(&format!("up to {}", schema::VERSION)),
        "{refused}"
    );
    let version: i64 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, 99);
}

#[test]
fn files_that_are_no_store_are_named_and_left_alone() {
    let dir = folder();
    let foreign = dir.path().join("foreign.db");
    Connection::open(&foreign)
        .unwrap()
        .execute_batch("CREATE TABLE mine (x); PRAGMA user_version = 1;")
        .unwrap();
    let refused = Store::open(&foreign).unwrap_err().0;
    assert!(refused.contains("another program"), "{refused}");

    let text = dir.path().join("text");
    std::fs::write(&text, "no database at all, only a text ".repeat(100)).unwrap();
    let refused = Store::open(&text).unwrap_err().0;
    assert!(refused.contains("damaged or no run store"), "{refused}");
    assert!(
        std::fs::read_to_string(&text)
            .unwrap()
            .starts_with("no database")
    );

    let refused = Store::open(dir.path()).unwrap_err().0;
    assert!(refused.contains("is a folder, but a file"), "{refused}");
    let refused = Store::open(&text.join("s")).unwrap_err().0;
    assert!(refused.contains("can't be made"), "{refused}");
}

#[test]
fn a_damaged_store_is_said_in_one_sentence() {
    let dir = folder();
    let path = dir.path().join("s");
    let store = Store::open(&path).unwrap();
    for number in 0..50 {
        store.insert(&record("r", &format!("q{number}"))).unwrap();
    }
    drop(store);
    let mut bytes = std::fs::read(&path).unwrap();
    let length = bytes.len();
    bytes[4096..length].fill(0xab);
    std::fs::write(&path, bytes).unwrap();
    let said = match Store::open(&path) {
        Err(error) => error.0,
        Ok(store) => store.replies_of_run("r").unwrap_err().0,
    };
    assert!(said.contains("damaged"), "{said}");
}

#[test]
fn a_locked_store_is_waited_for_and_then_said() {
    let dir = folder();
    let path = dir.path().join("s");
    let store = Store::open_with(&path, Duration::from_millis(50)).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let said = store.insert(&record("r", "q")).unwrap_err().0;
    assert!(said.contains("locked by another program"), "{said}");
    // Reading goes on.
    assert!(store.replies_of_run("r").unwrap().is_empty());
    other.execute_batch("ROLLBACK").unwrap();
    store.insert(&record("r", "q")).unwrap();
}

#[test]
fn a_full_disk_is_said_and_nothing_half_is_left() {
    let dir = folder();
    let store = Store::open(&dir.path().join("s")).unwrap();
    let pages: i64 = store
        .lock()
        .pragma_query_value(None, "page_count", |row| row.get(0))
        .unwrap();
    store
        .lock()
        .pragma_update_and_check(None, "max_page_count", pages + 2, |_| Ok(()))
        .unwrap();
    let mut large = record("r", "q");
    large.raw = "x".repeat(100_000);
    let said = store.insert(&large).unwrap_err().0;
    assert!(said.contains("is full"), "{said}");
    assert!(store.runs().unwrap().is_empty());
}

#[test]
fn a_read_only_store_is_said() {
    let dir = folder();
    let path = dir.path().join("s");
    let store = Store::open(&path).unwrap();
    store.make_read_only();
    let said = store.insert(&record("r", "q")).unwrap_err().0;
    assert!(said.contains("read-only"), "{said}");
}

#[test]
fn several_threads_and_connections_write_side_by_side() {
    let dir = folder();
    let path = dir.path().join("s");
    let store = Store::open(&path).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = if thread % 2 == 0 {
                store.clone()
            } else {
                Store::open(&path).unwrap()
            };
            scope.spawn(move || {
                for number in 0..10 {
                    let question = format!("q{thread}-{number}");
                    store.insert(&record("r", &question)).unwrap();
                }
            });
        }
    });
    assert_eq!(store.replies_of_run("r").unwrap().len(), 40);
}

#[test]
fn what_the_store_does_not_take_goes_beside_it() {
    let dir = folder();
    let store = Store::open(&dir.path().join("runs.sqlite")).unwrap();
    let file = store.save_beside(&record("r", "q"), "full").unwrap();
    assert_eq!(file.parent(), Some(dir.path()));
    let text = std::fs::read_to_string(&file).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["version"], RECORD_VERSION);
    let back: ReplyRecord = serde_json::from_str(&text).unwrap();
    assert_eq!(back, record("r", "q"));

    let gone = dir.path().join("gone");
    let store = Store::open(&gone.join("s")).unwrap();
    std::fs::remove_dir_all(&gone).unwrap();
    let elsewhere = store.save_beside(&record("r", "q"), "gone").unwrap();
    assert!(elsewhere.exists());
    std::fs::remove_file(elsewhere).unwrap();
}

fn judgement(reply: i64, sub: usize, score: Option<f64>) -> JudgementRecord {
    JudgementRecord {
        reply,
        sub,
        judge: "gpt".into(),
        given: "5 mg".into(),
        raw: "{\"score\": \"1\"}".into(),
        score,
        failure: serde_json::Value::Null,
        created_at: "2026-11-29T10:00:00Z".into(),
    }
}

#[test]
fn judgements_belong_to_a_reply_and_come_back_in_order() {
    let dir = folder();
    let store = Store::open(&dir.path().join("s")).unwrap();
    let reply = store.insert(&record("night", "q1")).unwrap();
    let other = store.insert(&record("day", "q1")).unwrap();
    let mut failed = judgement(reply, 1, None);
    failed.failure = json!({"kind": "server", "message": "x"});
    let mut of_another = judgement(reply, 0, Some(0.0));
    of_another.judge = "llama".into();
    for judgement in [
        judgement(reply, 0, Some(0.5)),
        failed.clone(),
        judgement(other, 0, Some(1.0)),
        of_another,
    ] {
        store.insert_judgement(&judgement).unwrap();
    }
    assert_eq!(
        store.judgements_of_run("night", "gpt").unwrap(),
        [judgement(reply, 0, Some(0.5)), failed]
    );
    assert_eq!(store.judges_of_run("night").unwrap(), ["gpt", "llama"]);
    assert!(store.judges_of_run("none").unwrap().is_empty());
    assert!(store.insert_judgement(&judgement(999, 0, None)).is_err());
}

#[test]
fn pages_go_through_a_run_and_past_broken_records() {
    let dir = folder();
    let store = Store::open(&dir.path().join("s")).unwrap();
    // Durability is another test's subject.
    store
        .lock()
        .pragma_update(None, "synchronous", "OFF")
        .unwrap();
    let ids: Vec<i64> = (0..450)
        .map(|number| {
            let run = if number % 9 == 0 { "other" } else { "night" };
            store.insert(&record(run, &format!("q{number}"))).unwrap()
        })
        .collect();
    store
        .lock()
        .execute(
            "UPDATE texts SET context = '{}' WHERE id = ?1",
            params![ids[100]],
        )
        .unwrap();
    let (mut found, mut broken, mut after) = (Vec::new(), Vec::new(), 0);
    loop {
        let page = store.page_of_run("night", after).unwrap();
        let Some(last) = page.last else { break };
        after = last;
        found.extend(page.records.into_iter().map(|record| record.id));
        broken.extend(page.broken);
    }
    assert_eq!((found.len(), broken), (399, vec![ids[100]]));
    assert!(found.is_sorted());
    let (rewritten, seen) = store
        .rewrite_run("night", Vec::new, |seen: &mut Vec<i64>, record| {
            seen.push(record.id);
            false
        })
        .unwrap();
    assert_eq!(seen.concat(), found, "each once and in stored order");
    assert_eq!(
        rewritten,
        Rewritten {
            changed: 0,
            broken: 1
        }
    );
}

#[test]
fn rewriting_changes_readings_and_nothing_else() {
    let dir = folder();
    let store = Store::open(&dir.path().join("s")).unwrap();
    for question in ["q1", "q2"] {
        store.insert(&record("night", question)).unwrap();
    }
    let before = store.replies_of_run("night").unwrap();
    let (rewritten, _) = store
        .rewrite_run(
            "night",
            || (),
            |(), record| {
                record.raw = "not written".into();
                if let Some(parsed) = record.parsed.as_mut() {
                    parsed.outcome = Outcome::Refused;
                    parsed.answer = None;
                    parsed.notes = vec!["odd".into()];
                }
                record.question.id == "q2"
            },
        )
        .unwrap();
    assert_eq!(rewritten.changed, 1);
    let after = store.replies_of_run("night").unwrap();
    assert_eq!(after[0], before[0]);
    assert_eq!(after[1].raw, before[1].raw);
    assert_eq!(after[1].parsed.as_ref().unwrap().outcome, Outcome::Refused);
    let columns: (String, Option<String>, String) = store
        .lock()
        .query_row(
            "SELECT outcome, answer, notes FROM replies WHERE question_id = 'q2'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    assert_eq!(
        columns,
        ("refused".to_owned(), None, "[\"odd\"]".to_owned())
    );
}

#[test]
fn a_rewrite_that_fails_changes_nothing() {
    let dir = folder();
    let store = Store::open(&dir.path().join("s")).unwrap();
    for question in ["q1", "q2"] {
        store.insert(&record("night", question)).unwrap();
    }
    store
        .lock()
        .execute_batch(
            "CREATE TRIGGER no BEFORE UPDATE ON replies WHEN OLD.question_id = 'q2'
             BEGIN SELECT RAISE(ABORT, 'no'); END;",
        )
        .unwrap();
    let before = store.replies_of_run("night").unwrap();
    let error = store.rewrite_run(
        "night",
        || (),
        |(), record| {
            record.parsed = None;
            record.failure = json!({"kind": "x"});
            true
        },
    );
    assert!(error.is_err());
    assert_eq!(store.replies_of_run("night").unwrap(), before);
}

#[test]
fn a_migration_keeps_what_was_taken_out_of_json_and_the_judgements() {
    let dir = folder();
    let path = dir.path().join("s");
    let old = Connection::open(&path).unwrap();
    schema::make_old(&old, 3).unwrap();
    old.execute_batch(
        r#"INSERT INTO runs VALUES ('old', '2026-01-01T00:00:00Z');
        INSERT INTO replies VALUES (7, 1, 'old', 'd', 'f', 'q', 'standard', 'm', 'answered', '2026-01-01T00:00:00Z',
            '{"id":"q","text":"t","options":[{"letter":"A","text":"yes"},{"letter":"B","text":"no"}],"answer":"B","extra":{"documents":"medrgb","dataset":"bioasq"}}',
            '{"scenario":"standard","docs":5,"p":0.0,"seed":0,"mode":"nested","source":"any"}',
            '{"question_id":"q","scenario":"standard","docs_requested":5,"docs":0,"p_requested":0.0,"p":0.0,"seed":0,"mode":"nested","short":false,"documents":[],"sub_questions":[]}',
            '{"system":"","user":""}', '{"detail":"m at x"}', '{"seed":3}', 'A',
            '{"ending":"complete","reported_model":"m-1","option_probabilities":[["A",0.75],["B",0.25]]}', 'null',
            '{"outcome":"answered","answer":"A","reasoning":null,"hidden":null,"relevant":[],"irrelevant":[],"subs":[],"notes":["odd"]}',
            '{"outcome":"answered","main_correct":false,"documents":[],"subs":[],"counts":{"main_accuracy":{"num":0.0,"den":1.0}}}');
        INSERT INTO replies SELECT 8, 1, 'old', 'd', 'f', 'q2', 'standard', 'm', 'answered', '2026-01-01T00:00:01Z',
            question, condition, 'no JSON', prompt, model, sampling, raw, 'neither', failure, 'nor this', 'nor that'
            FROM replies;
        INSERT INTO judgements (reply, sub, judge, given, raw, score, failure, created_at)
            VALUES (7, 0, 'gpt', '5 mg', '', 1.0, 'null', '2026-01-01T00:00:00Z');"#,
    )
    .unwrap();
    drop(old);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.judgements_of_run("old", "gpt").unwrap().len(), 1);
    let page = store.page_of_run("old", 0).unwrap();
    assert_eq!((page.records.len(), page.broken), (1, vec![8]));
    assert_eq!(
        (&page.records[0].request, &page.records[0].origin),
        (&None, &None)
    );
    let groups = store.groups_of_run("old").unwrap();
    assert_eq!(groups[0].reported_model.as_deref(), Some("m-1"));
    store
        .lock()
        .execute("DELETE FROM replies WHERE id = 8", [])
        .unwrap();
    let seen = store.observations("old").unwrap().unwrap();
    let forecast = seen[0].forecast.unwrap();
    assert_eq!((forecast.confidence, forecast.right), (0.75, false));
    assert!(seen[0].own_documents);
    assert_eq!(seen[0].set.as_deref(), Some("bioasq"));
    assert_eq!(
        (&seen[0].notes[..], seen[0].sampling_seed),
        (&["odd".to_owned()][..], Some(3))
    );
    // Texts and judgements go with their record.
    assert_eq!(store.remove_run("old").unwrap(), Some(1));
    for table in ["texts", "judgements", "replies"] {
        let left: i64 = store
            .lock()
            .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| {
                row.get(0)
            })
            .unwrap();
        assert_eq!(left, 0, "{table}");
    }
}

#[test]
fn a_reply_is_found_by_its_request_and_a_failure_is_not() {
    let dir = folder();
    let store = Store::open(&dir.path().join("s")).unwrap();
    let asked = |run: &str, outcome: Option<Outcome>| {
        let mut one = record(run, "q");
        one.request = Some("k".into());
        match (outcome, one.parsed.as_mut()) {
            (Some(outcome), Some(parsed)) => parsed.outcome = outcome,
            _ => {
                one.parsed = None;
                one.failure = json!({"kind": "server", "message": "x"});
            }
        }
        store.insert(&one).unwrap();
    };
    asked("failed", None);
    asked("stopped", Some(Outcome::Interrupted));
    asked("odd", Some(Outcome::ProviderError));
    assert!(!store.has_reply_to("k").unwrap());
    assert_eq!(store.reply_to("k").unwrap(), None);
    asked("first", Some(Outcome::Unreadable));
    asked("newest", Some(Outcome::Answered));
    asked("failed again", None);
    assert!(store.has_reply_to("k").unwrap() && !store.has_reply_to("other").unwrap());
    assert_eq!(store.reply_to("k").unwrap().unwrap().run, "newest");
}

#[test]
fn a_store_that_lost_its_version_is_refused_in_one_sentence() {
    let dir = folder();
    let path = dir.path().join("s");
    let store = Store::open(&path).unwrap();
    store.lock().pragma_update(None, "user_version", 0).unwrap();
    drop(store);
    for opened in [Store::open(&path), Store::open_for_reading(&path)] {
        let said = opened.unwrap_err().0;
        assert!(said.contains("user_version is 0"), "{said}");
        assert_eq!(said.lines().count(), 1);
    }
}

#[test]
fn the_newest_reply_of_each_model_is_found_behind_many_of_another() {
    let dir = folder();
    let store = Store::open(&dir.path().join("runs.sqlite")).unwrap();
    let of = |model: &str, p: f64| {
        let mut record = record("night", "q1");
        record.model_name = model.into();
        record.condition.p = p;
        record
    };
    let first = store.insert(&of("small", 60.0)).unwrap();
    for _ in 0..60 {
        store.insert(&of("large", 60.0)).unwrap();
    }
    let last = store.insert(&of("large", 60.0)).unwrap();
    let elsewhere = store.insert(&of("large", 80.0)).unwrap();
    let mut failed = of("large", 60.0);
    (failed.parsed, failed.failure) = (None, json!({"kind": "network", "message": "x"}));
    let failed = store.insert(&failed).unwrap();
    store.insert(&record("night", "q2")).unwrap();
    let ids = |limit| -> Vec<i64> {
        let found = store.newest_replies("f1", "q1", limit).unwrap();
        found.iter().map(|record| record.id).collect()
    };
    assert_eq!(ids(50), [failed, elsewhere, last, first]);
    assert_eq!(ids(2), [failed, elsewhere]);
    assert!(store.newest_replies("other", "q1", 50).unwrap().is_empty());
}
