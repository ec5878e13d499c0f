//! Asking end to end: the real program or the engine, a scripted server, a store on disk.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use medrgb::data::store::{ReplyRecord, Store};
use medrgb::engine::models::{recording, replay};
use medrgb::model::replay::Pace;
use serde_json::{Value, json};

#[cfg(unix)]
use crate::process::signal;
use crate::process::wait_until;
use crate::sse_server::{Script, Server};

const KEY: &str = "sk-test-0123456789abcdef";

/// The longest that anything is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// A dataset of two questions and folders of our own for everything the program writes.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let set = dir.path().join("set");
        std::fs::create_dir(&set).unwrap();
        let questions = [
            json!({"question_id": "q1", "question": "Are there microbes in human milk?",
                "options": {"A": "yes", "B": "no"}, "answer": "A"}),
            json!({"question_id": "q2", "question": "Is Crohn's disease infectious?",
                "options": {"A": "yes", "B": "no"}, "answer": "B"}),
        ];
        let lines: Vec<String> = questions.iter().map(Value::to_string).collect();
        std::fs::write(set.join("qa.jsonl"), lines.join("\n")).unwrap();
        let documents = json!({
            "q1": [{"id": "m1", "title": "Milk", "content": "Bacteria are found in milk of healthy mothers."},
                   {"id": "m2", "title": "", "content": "Staphylococcus is common in human milk."}],
            "q2": [{"id": "c1", "title": "Crohn", "content": "Crohn's disease is not passed on between people."},
                   {"id": "c2", "title": "", "content": "Relatives share genes that raise the risk."}],
        });
        std::fs::write(set.join("signal_docs.json"), documents.to_string()).unwrap();
        Place { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The program with its folders inside this place and no settings of the machine.
    fn program(&self) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_medrgb"));
        program.env_clear().env("HOME", self.dir.path());
        for (variable, folder) in [
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_STATE_HOME", "state"),
        ] {
            program.env(variable, self.path(folder));
        }
        program.env("OPENAI_API_KEY", KEY);
        program.current_dir(self.dir.path()).stdin(Stdio::null());
        program
    }

    /// `medrgb ask` about q1 in sufficiency with four documents.
    fn ask(&self, server: &Server, more: &[&str]) -> Command {
        let mut program = self.program();
        program
            .args([
                "ask",
                "--dataset",
                "set",
                "--question",
                "q1",
                "--docs",
                "4",
                "--p",
                "50",
            ])
            .args(["--scenario", "sufficiency", "--model", "openai:m"])
            .args(["--base-url", &server.base_url()])
            .args(more);
        program
    }

    /// The store's file, wherever the program put it.
    fn store_file(&self) -> PathBuf {
        fn find(folder: &Path) -> Option<PathBuf> {
            let entries = std::fs::read_dir(folder).ok()?;
            entries
                .flatten()
                .map(|entry| entry.path())
                .find_map(|path| {
                    if path.is_dir() {
                        return find(&path);
                    }
                    (path.file_name()? == medrgb::data::store::FILE_NAME).then_some(path)
                })
        }
        find(&self.path("data")).expect("a store")
    }

    fn records(&self, run: &str) -> Vec<ReplyRecord> {
        Store::open(&self.store_file())
            .unwrap()
            .replies_of_run(run)
            .unwrap()
    }
}

fn good_reply() -> Script {
    Script::reply(&[
        r#"{"relevant_doc_id": ["DOC_1", "DOC_2"], "#,
        r#""irrelevant_doc_id": ["DOC_3", "DOC_4"], "#,
        "\"step_by_step_thinking\": \"Bacteria \u{1b}[31mwere found.\", ",
        r#""answer_choice": "A"}"#,
    ])
}

fn text_of(output: &Output) -> (String, String) {
    assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b));
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(!out.contains(KEY) && !err.contains(KEY));
    (out, err)
}

#[test]
fn the_reply_streams_and_its_scores_follow() {
    let place = Place::new();
    let server = Server::start(vec![good_reply()]);
    let output = place.ask(&server, &[]).output().unwrap();
    let (out, err) = text_of(&output);
    assert!(output.status.success(), "{out}\n{err}");
    assert!(
        out.starts_with(r#"{"relevant_doc_id": ["DOC_1", "DOC_2"]"#),
        "{out}"
    );
    assert!(out.contains("Bacteria were found."), "{out}");
    assert!(out.contains("answered A, right (gold A)"), "{out}");
    assert!(out.contains("noise_detection_accuracy"), "{out}");
    let sent = &server.requests()[0].body;
    let user = sent["messages"].as_array().unwrap().last().unwrap();
    assert!(user["content"].as_str().unwrap().contains("human milk"));
    let records = place.records("ask");
    assert_eq!(records.len(), 1);
    assert!(records[0].raw.contains('\u{1b}'), "stored byte for byte");
    assert_eq!(records[0].question.id, "q1");
    assert!(!serde_json::to_string(&records[0]).unwrap().contains(KEY));
}

#[test]
fn json_is_one_object_as_promised() {
    let place = Place::new();
    let server = Server::start(vec![good_reply()]);
    let output = place
        .ask(
            &server,
            &[
                "--json",
                "--run",
                "night",
                "--max-tokens",
                "99",
                "--temperature",
                "0.5",
            ],
        )
        .output()
        .unwrap();
    let (out, err) = text_of(&output);
    assert!(output.status.success(), "{err}");
    assert_eq!(out.trim_end().lines().count(), 1);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["context"]["question_id"], "q1");
    assert_eq!(answer["context"]["docs"], 4);
    assert!(
        answer["context"]["prompt"]["user"]
            .as_str()
            .unwrap()
            .contains("DOC_4")
    );
    assert_eq!(answer["reply"]["outcome"], "answered");
    assert_eq!(answer["reply"]["answer"], "A");
    assert!(answer["reply"]["raw"].as_str().unwrap().starts_with('{'));
    assert!(
        answer["reply"]["reasoning"]
            .as_str()
            .unwrap()
            .starts_with("Bacteria")
    );
    assert!(answer["reply"]["notes"].is_array());
    assert_eq!(answer["scores"]["main_correct"], true);
    let noise = &answer["scores"]["noise_detection_accuracy"];
    let counts = &answer["scores"]["counts"]["noise_detection_accuracy"];
    assert_eq!(counts["den"], 4.0);
    assert_eq!(
        noise.as_f64().unwrap(),
        counts["num"].as_f64().unwrap() / 4.0
    );
    assert_eq!(answer["usage"]["prompt_tokens"], 11);
    assert!(answer["timing_ms"]["total"].is_u64());
    assert_eq!(answer["model"], "openai:m");
    let sent = &server.requests()[0].body;
    assert_eq!(
        (&sent["max_tokens"], &sent["temperature"]),
        (&json!(99), &json!(0.5))
    );
    assert_eq!(place.records("night").len(), 1);
}

#[test]
fn failures_exit_with_1_and_are_stored() {
    let place = Place::new();
    let body = format!("{{\"error\":{{\"message\":\"Incorrect key {KEY}\"}}}}");
    let server = Server::start(vec![Script::answer("401 Unauthorized", &[], &body)]);
    let output = place.ask(&server, &["--json"]).output().unwrap();
    let (out, err) = text_of(&output);
    assert_eq!(output.status.code(), Some(1), "{out}\n{err}");
    assert!(
        err.contains("HTTP 401") && err.contains("OPENAI_API_KEY"),
        "{err}"
    );
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["failure"]["kind"], "auth");
    assert!(answer["reply"].is_null() && answer["scores"].is_null());
    assert_eq!(place.records("ask")[0].failure["kind"], "auth");
}

#[test]
fn without_a_store_nothing_is_written() {
    let place = Place::new();
    let server = Server::start(vec![good_reply()]);
    let output = place.ask(&server, &["--no-store"]).output().unwrap();
    let (_, err) = text_of(&output);
    assert!(output.status.success(), "{err}");
    assert!(err.contains("not stored"), "{err}");
    assert!(!place.path("data").exists());
}

#[test]
fn wrong_use_is_said_before_any_call() {
    let place = Place::new();
    let server = Server::start(vec![good_reply()]);
    for (more, words) in [
        (&["--temperature", "-1"][..], "0 to 2"),
        (&["--max-tokens", "0"], "max-tokens"),
        (&["--run", " "], "name"),
    ] {
        let output = place.ask(&server, more).output().unwrap();
        let (_, err) = text_of(&output);
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(words), "{err}");
    }
    let output = place
        .program()
        .args([
            "ask",
            "--dataset",
            "set",
            "--question",
            "q1",
            "--model",
            "opnai:m",
        ])
        .output()
        .unwrap();
    let (_, err) = text_of(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(err.contains("openai"), "{err}");
    assert!(server.requests().is_empty());
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_cleanly_and_keeps_what_came() {
    let place = Place::new();
    let server = Server::start(vec![Script::stream().drip("tick ", 20)]);
    let child = place
        .ask(&server, &[])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until(PATIENCE, || !server.requests().is_empty());
    std::thread::sleep(Duration::from_millis(300));
    let started = Instant::now();
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "{:?}",
        started.elapsed()
    );
    let (out, err) = text_of(&output);
    assert_eq!(output.status.code(), Some(1), "{out}\n{err}");
    assert!(out.starts_with("tick tick "), "{out}");
    assert!(err.contains("stopped"), "{err}");
    let records = place.records("ask");
    assert_eq!(records.len(), 1);
    assert!(records[0].raw.starts_with("tick tick "));
    assert_eq!(records[0].reply["ending"], "interrupted");
}

/// Both signals are there before the program looks at either.
#[cfg(unix)]
#[test]
fn being_asked_twice_ends_the_program_at_once() {
    let place = Place::new();
    let server = Server::start(vec![Script::stream().drip("tick ", 20)]);
    let child = place
        .ask(&server, &[])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until(PATIENCE, || !server.requests().is_empty());
    for name in ["-STOP", "-INT", "-TERM"] {
        signal(&child, name);
    }
    let started = Instant::now();
    signal(&child, "-CONT");
    let output = child.wait_with_output().unwrap();
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(place.records("ask").len(), 0, "nothing was acknowledged");
}

#[test]
fn a_stored_run_replays_without_a_server() {
    let place = Place::new();
    {
        let server = Server::start(vec![good_reply()]);
        let status = place
            .ask(&server, &["--run", "talk"])
            .output()
            .unwrap()
            .status;
        assert!(status.success());
    }
    let output = place
        .program()
        .args([
            "ask",
            "--dataset",
            "set",
            "--question",
            "q1",
            "--docs",
            "4",
            "--p",
            "50",
        ])
        .args([
            "--scenario",
            "sufficiency",
            "--model",
            "replay:talk",
            "--no-store",
        ])
        .output()
        .unwrap();
    let (out, err) = text_of(&output);
    assert!(output.status.success(), "{err}");
    assert!(out.contains("answered A, right (gold A)"), "{out}");

    let file = place.store_file();
    let records = place.records("talk");
    let recorded = recording("talk", &records).unwrap();
    assert_eq!(recorded.models, ["openai:m"]);
    assert_eq!(
        recorded.replies[0].result.as_ref().unwrap().text,
        records[0].raw
    );
    let missing = replay(&file, "walk", Pace::new(1.0)).unwrap_err();
    assert!(missing.message.contains("\"talk\""), "{missing}");
}
