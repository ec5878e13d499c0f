//! `medrgb compare` and `medrgb rescore` through the real program, on runs in a store on disk.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use medrgb::data::store::{FILE_NAME, ReplyRecord, Store};
use serde_json::{Value, json};

use crate::sse_server::{Script, Server};

/// Folders of our own, with a store.
struct Place {
    dir: tempfile::TempDir,
    store: Store,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let file: PathBuf = dir.path().join("data").join(FILE_NAME);
        let store = Store::open(&file).unwrap();
        Place { dir, store }
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_medrgb"))
            .args(args)
            .env_clear()
            .env("MEDRGB_HOME", self.dir.path())
            .env("OPENAI_API_KEY", "sk-test-0123456789abcdef")
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn json(&self, args: &[&str]) -> Value {
        let output = self.run(args);
        let (out, err) = texts(&output);
        assert!(output.status.success(), "{out}\n{err}");
        assert_eq!(out.trim_end().lines().count(), 1, "{out}");
        serde_json::from_str(&out).unwrap()
    }

    /// A run of replies to questions 0, 1, … : `1` right, `0` wrong, `x` a failed call.
    fn insert(&self, run: &str, p: f64, replies: &str) {
        for (number, reply) in replies.chars().enumerate() {
            let mut record = sufficiency(run, &format!("q{number}"), p);
            match reply {
                'x' => fail(&mut record),
                right => record.raw = sufficiency_reply(right == '1'),
            }
            self.store.insert(&record).unwrap();
        }
    }
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

fn fail(record: &mut ReplyRecord) {
    record.raw.clear();
    record.reply = Value::Null;
    record.failure = json!({"kind": "server", "message": "busy", "status": 500, "attempts": 1});
}

/// Right: all four documents labelled rightly and the right option; wrong: two of them and the other one.
fn sufficiency_reply(right: bool) -> String {
    let (irrelevant, answer) = match right {
        true => (["DOC_3", "DOC_4"], "A"),
        false => (["DOC_1", "DOC_3"], "B"),
    };
    let relevant = ["DOC_1", "DOC_2", "DOC_4"]
        .into_iter()
        .filter(|label| !irrelevant.contains(label));
    json!({"relevant_doc_id": relevant.collect::<Vec<_>>(), "irrelevant_doc_id": irrelevant,
        "step_by_step_thinking": "x", "answer_choice": answer})
    .to_string()
}

/// A record without a reading, as `rescore` makes one.
fn record(
    run: &str,
    question: &str,
    condition: Value,
    documents: Value,
    subs: Value,
) -> ReplyRecord {
    let docs = documents.as_array().unwrap().len();
    let reply = json!({"reasoning": "", "ending": "complete", "usage": {}, "attempts": 1,
        "timing": {"first_token_ms": 1, "total_ms": 2, "timeline": []}});
    serde_json::from_value(json!({
        "run": run, "dataset": "set", "dataset_fingerprint": "f",
        "question": {"id": question, "text": "Which?", "answer": "A",
            "options": [{"letter": "A", "text": "this"}, {"letter": "B", "text": "that"}]},
        "condition": condition,
        "context": {"question_id": question, "scenario": condition["scenario"], "docs_requested": docs,
            "docs": docs, "p_requested": condition["p"], "p": condition["p"], "seed": 0, "mode": "nested",
            "short": false, "documents": documents, "sub_questions": subs},
        "prompt": {"system": "s", "user": "u"},
        "model": {"name": "m"}, "model_name": format!("openai:{run}"), "sampling": {},
        "raw": "", "reply": reply, "failure": null, "parsed": null, "scores": null,
        "created_at": "2026-11-29T10:00:00Z",
    }))
    .unwrap()
}

fn document(number: usize, role: &str) -> Value {
    json!({"label": format!("DOC_{number}"), "id": format!("d{number}"), "role": role,
        "original_id": null, "source": null, "title": "", "content": format!("Text {number}.")})
}

fn sufficiency(run: &str, question: &str, p: f64) -> ReplyRecord {
    let condition = json!({"scenario": "sufficiency", "docs": 4, "p": p, "seed": 0, "mode": "nested", "source": "any"});
    let roles = ["signal", "signal", "noise", "noise"];
    let documents: Vec<Value> = roles
        .iter()
        .enumerate()
        .map(|(at, role)| document(at + 1, role))
        .collect();
    record(run, question, condition, json!(documents), json!([]))
}

/// Two sub-questions, of which the reply answers the first.
fn integration(run: &str, question: &str, answer: &str) -> ReplyRecord {
    let condition = json!({"scenario": "integration", "docs": 2, "p": 100.0, "seed": 0, "mode": "nested", "source": "any"});
    let documents = json!([document(1, "signal"), document(2, "signal")]);
    let subs = json!([
        {"question": "What dose?", "answer": "5 mg", "label": "DOC_1", "planted": null},
        {"question": "Which vessel?", "answer": "aorta", "label": "DOC_2", "planted": null}]);
    let mut record = record(run, question, condition, documents, subs);
    record.raw = json!({"sub_1": {"question": "What dose?", "answer": answer, "doc_id": "DOC_1"},
        "main": {"question": "Which?", "step_by_step_thinking": "x", "answer_choice": "A"}})
    .to_string();
    record
}

/// Two runs that have been read.
fn two_runs() -> Place {
    let place = Place::new();
    // p = 40: only night is right on 4, only day on 1; one call of day failed, one question is only night's.
    place.insert("night", 40.0, "111111100000");
    place.insert("day", 40.0, "11100001000x");
    place
        .store
        .insert(&{
            let mut record = sufficiency("night", "extra", 40.0);
            record.raw = sufficiency_reply(true);
            record
        })
        .unwrap();
    place.insert("night", 80.0, "1111");
    place.insert("day", 80.0, "1110");
    for run in ["night", "day"] {
        place.json(&["rescore", "--run", run, "--json"]);
    }
    place
}

#[test]
fn two_runs_are_compared_pair_by_pair() {
    let place = two_runs();
    let found = place.json(&["compare", "night", "day", "--resamples", "1000", "--json"]);
    assert_eq!(found["a"]["run"], "night");
    assert_eq!(found["b"]["models"], json!(["openai:day"]));
    assert_eq!(found["a"]["records"], 17);
    assert_eq!(
        (&found["pairs"], &found["questions"]),
        (&json!(15), &json!(11))
    );
    assert_eq!(found["left_out"]["only_a"], 1);
    assert_eq!(found["left_out"]["unavailable_b"], 1);
    let first = &found["conditions"][0];
    assert_eq!(
        (&first["scenario"], &first["p"], &first["pairs"]),
        (&json!("sufficiency"), &json!(40.0), &json!(11))
    );
    let accuracy = &first["metrics"]["main_accuracy"];
    assert_eq!(
        (&accuracy["a"]["num"], &accuracy["a"]["den"]),
        (&json!(7.0), &json!(11.0))
    );
    assert_eq!(accuracy["b"]["num"], 4.0);
    assert_eq!(accuracy["a"]["method"], "wilson");
    // Only night is right on 3 to 6, only day on 7: 2·(1 + 5)/2^5.
    let test = &accuracy["mcnemar"];
    assert_eq!((&test["b"], &test["c"]), (&json!(4), &json!(1)));
    assert!((test["p"].as_f64().unwrap() - 0.375).abs() < 1e-12);
    assert!((test["p_holm"].as_f64().unwrap() - 0.75).abs() < 1e-12);
    let difference = accuracy["difference"].as_f64().unwrap();
    assert!((difference + 3.0 / 11.0).abs() < 1e-12);
    let interval = accuracy["difference_interval"].as_array().unwrap();
    assert!(
        interval[0].as_f64().unwrap() < difference && difference < interval[1].as_f64().unwrap()
    );
    // Documents: a right reply has all four, a wrong one DOC_2 and DOC_3.
    let noise = &first["metrics"]["noise_detection_accuracy"];
    assert_eq!(
        (&noise["a"]["num"], &noise["a"]["den"]),
        (&json!(36.0), &json!(44.0))
    );
    assert_eq!(noise["a"]["method"], "clustered_bootstrap");
    assert!(noise["mcnemar"].is_null());
    let pooled = &found["pooled"]["main_accuracy"];
    assert_eq!(
        (&pooled["a"]["num"], &pooled["a"]["den"]),
        (&json!(11.0), &json!(15.0))
    );
    assert_eq!(pooled["mcnemar"]["unit"], "questions");
    assert!(found["p_values"].as_str().unwrap().contains("unadjusted"));
    // The same seed, the same figures.
    let again = place.json(&["compare", "night", "day", "--resamples", "1000", "--json"]);
    assert_eq!(found, again);
}

#[test]
fn the_table_fits_80_columns() {
    let place = two_runs();
    let output = place.run(&[
        "compare",
        "night",
        "day",
        "--metric",
        "all",
        "--resamples",
        "500",
    ]);
    let (out, err) = texts(&output);
    assert!(output.status.success(), "{err}");
    for line in out.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for part in [
        "A  night, 17 records",
        "15 pairs, 11 questions",
        "left out: 1 only in A, 1 unavailable in B",
        "sufficiency n=4 p=40: 11 pairs, 11 questions",
        "  main_accuracy\n    A 63.6 % [",
        "p 0.3750, Holm 0.7500 (only A 4, only B 1)",
        "all conditions: 15 pairs",
        "unadjusted",
    ] {
        assert!(out.contains(part), "{part}\n{out}");
    }
    let output = place.run(&["compare", "day", "night", "--metric", "signal_recall"]);
    let (out, _) = texts(&output);
    assert!(
        out.contains("signal_recall") && !out.contains("main_accuracy"),
        "{out}"
    );
}

#[test]
fn nothing_to_compare_is_a_failure_in_one_sentence() {
    let place = two_runs();
    place.insert("other", 60.0, "1111");
    place.json(&["rescore", "--run", "other", "--json"]);
    for (args, code, words) in [
        (
            &["compare", "night", "other"][..],
            1,
            "nothing to compare (17 only in A, 4 only in B)",
        ),
        (
            &["compare", "night", "none"],
            1,
            "no run \"none\"; it holds",
        ),
        (
            &["compare", "night", "day", "--metric", "false_alarm_rate"],
            1,
            "--metric all",
        ),
        (
            &["compare", "night", "day", "--metric", "accuracy"],
            2,
            "expected one of main_accuracy",
        ),
        (&["compare", "night"], 2, "<B>"),
        (&["rescore", "--run", "none"], 1, "no run \"none\""),
        (
            &["rescore", "--run", "night", "--judge", "nobody"],
            1,
            "nobody",
        ),
    ] {
        let output = place.run(args);
        let (out, err) = texts(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {out}{err}");
        assert!(err.contains(words) && out.is_empty(), "{args:?}: {err}");
    }
    let empty = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_medrgb"))
        .args(["compare", "a", "b"])
        .env_clear()
        .env("MEDRGB_HOME", empty.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(texts(&output).1.contains("nothing has been stored"));
    assert!(!empty.path().join("data").exists(), "no store is made");
}

#[test]
fn rescoring_says_what_changed() {
    let place = Place::new();
    place.insert("night", 40.0, "110x");
    let found = place.json(&["rescore", "--run", "night", "--json"]);
    assert_eq!(found["records"], 4);
    assert_eq!(
        (&found["scored"], &found["failed_calls"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(
        (&found["changed"], &found["changed_outcome"]),
        (&json!(3), &json!(3))
    );
    assert!(found["main_accuracy"]["before"]["rate"].is_null());
    assert_eq!(found["main_accuracy"]["after"]["num"], 2.0);
    assert!(found["judgements_made"].is_null());
    let (out, _) = texts(&place.run(&["rescore", "--run", "night"]));
    assert!(out.contains("changed   nothing"), "{out}");
    assert!(
        out.contains("66.67 % (2 of 3) -> 66.67 % (2 of 3)"),
        "{out}"
    );
}

fn judgement(score: &str) -> Script {
    Script::reply(&[
        "{\"reasoning\": \"They agree.\", ",
        &format!("\"score\": \"{score}\"}}"),
    ])
}

#[test]
fn a_judge_scores_sub_answers_and_goes_on_where_it_stopped() {
    let place = Place::new();
    for (question, answer) in [("q1", "5mg"), ("q2", "five milligrams"), ("q3", "  ")] {
        place
            .store
            .insert(&integration("night", question, answer))
            .unwrap();
    }
    let broken = Script::answer("400 Bad Request", &[], "{\"error\":{\"message\":\"no\"}}");
    let server = Server::start(vec![judgement("0.5"), broken, judgement("1")]);
    let url = server.base_url();
    let args = [
        "rescore",
        "--run",
        "night",
        "--judge",
        "openai:gpt",
        "--base-url",
        &url,
        "--concurrency",
        "1",
        "--json",
    ];
    let found = place.json(&args);
    assert_eq!(found["judgements_made"], 2);
    let judge = &found["judges"]["openai:gpt"];
    // q1 0.5, q2 failed; skipped: sub-question 2 of all three, and sub-question 1 of q3.
    assert_eq!(
        (&judge["judged"], &judge["skipped"]),
        (&json!(1), &json!(4))
    );
    assert_eq!(
        (&judge["failed"], &judge["invalid"]),
        (&json!(1), &json!(0))
    );
    assert_eq!((&judge["num"], &judge["den"]), (&json!(0.5), &json!(5.0)));
    let sent = server.requests();
    assert_eq!(sent.len(), 2);
    let prompt = sent[0].body["messages"][0]["content"].as_str().unwrap();
    assert!(prompt.contains("What dose?") && prompt.contains("5mg") && prompt.contains("5 mg"));
    assert_eq!(sent[0].body["temperature"], 0.0);

    // Only what failed is asked again.
    let found = place.json(&args);
    assert_eq!(found["judgements_made"], 1);
    let judge = &found["judges"]["openai:gpt"];
    assert_eq!((&judge["judged"], &judge["failed"]), (&json!(2), &json!(0)));
    assert_eq!(judge["sub_judge_score"], 0.25);
    assert_eq!(place.json(&args)["judgements_made"], 0);
    // Without --judge the scores stay, and no call is made.
    let found = place.json(&["rescore", "--run", "night", "--json"]);
    assert_eq!(found["changed"], 0);
    assert_eq!(found["judges"]["openai:gpt"]["den"], 6.0);
    assert_eq!(server.requests().len(), 3);
    let (out, _) = texts(&place.run(&["rescore", "--run", "night"]));
    assert!(out.contains("sub_judge_score 0.250 (1.5 of 6)"), "{out}");
    let scores = place.store.replies_of_run("night").unwrap()[0]
        .scores
        .clone();
    assert_eq!(scores.unwrap().judge.as_deref(), Some("openai:gpt"));
}

#[test]
fn a_refused_key_ends_judging_at_once() {
    let place = Place::new();
    for question in ["q1", "q2"] {
        place
            .store
            .insert(&integration("night", question, "5mg"))
            .unwrap();
    }
    let server = Server::start(vec![Script::answer("401 Unauthorized", &[], "{}")]);
    let url = server.base_url();
    let output = place.run(&[
        "rescore",
        "--run",
        "night",
        "--judge",
        "openai:gpt",
        "--base-url",
        &url,
        "--concurrency",
        "1",
    ]);
    let (out, err) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{out}{err}");
    assert!(
        err.contains("gave no judgement") && err.contains("401"),
        "{err}"
    );
    assert!(!err.contains("sk-test"));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_broken_judge_template_is_said_before_any_call() {
    let place = Place::new();
    place
        .store
        .insert(&integration("night", "q1", "5mg"))
        .unwrap();
    let prompts = place.dir.path().join("prompts");
    std::fs::create_dir(&prompts).unwrap();
    std::fs::write(prompts.join("judge.j2"), "{{ golden }}").unwrap();
    std::fs::write(
        place.dir.path().join("medrgb.toml"),
        "prompts = \"prompts\"\n",
    )
    .unwrap();
    let server = Server::start(vec![judgement("1")]);
    let url = server.base_url();
    let output = place.run(&[
        "rescore",
        "--run",
        "night",
        "--judge",
        "openai:gpt",
        "--base-url",
        &url,
    ]);
    let (_, err) = texts(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        err.contains("judge.j2: line 1") && err.contains("gold and answer"),
        "{err}"
    );
    assert!(server.requests().is_empty());
}

#[test]
fn records_at_hand_are_compared_like_stored_ones() {
    use medrgb::domain::compare::compare;
    use medrgb::domain::score::Metric;
    use medrgb::domain::stats::Resampling;
    use medrgb::engine::compare::RunView;

    let place = two_runs();
    let records = |run: &str| place.store.replies_of_run(run).unwrap();
    let (night, day) = (records("night"), records("day"));
    let plan = Resampling {
        resamples: 200,
        seed: 0,
    };
    let of_lists = compare(
        RunView::of_records(&night).observations,
        RunView::of_records(&day).observations,
        &Metric::ALL,
        plan,
    );
    let of_store = |run: &str| RunView::of_run(&place.store, run, None).unwrap();
    assert_eq!(of_store("night").models.len(), 1);
    let stored = compare(
        of_store("night").observations,
        of_store("day").observations,
        &Metric::ALL,
        plan,
    );
    assert_eq!(of_lists, stored);
    assert_eq!(of_lists.pairs, 15);
}
