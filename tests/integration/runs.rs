//! Stored runs and audits, through the real program.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::sse_server::{Script, Server};
use crate::sweep::{Place, finish};

fn answer() -> Server {
    Server::start(vec![Script::reply(&[
        r#"{"step_by_step_thinking": "Mice.", "answer_choice": "A"}"#,
    ])])
}

/// Two questions under eight conditions in the run "night".
fn with_a_run() -> Place {
    let place = Place::new();
    let server = answer();
    let (code, _, err) = finish(place.sweep(&server, "night", &["--limit", "2"]));
    assert_eq!(code, Some(0), "{err}");
    place
}

#[test]
fn a_recorded_run_is_refused_as_a_judge_before_anything_is_asked() {
    let place = with_a_run();
    for command in [
        &[
            "sweep",
            "--dataset",
            "set",
            "--run",
            "new",
            "--limit",
            "1",
            "--dry-run",
        ][..],
        &["sweep", "--dataset", "set", "--run", "new", "--limit", "1"],
        &["rescore", "--run", "night"],
    ] {
        let mut program = place.program(command);
        program.args(["--judge", "replay:night"]);
        if command[0] == "sweep" {
            program.args(["--model", "openai:m", "--base-url", "http://127.0.0.1:1/v1"]);
        }
        let (code, _, said) = finish(program);
        assert_ne!(code, Some(0), "{command:?}");
        assert!(
            said.contains("\"replay:night\" can't judge"),
            "{command:?}: {said}"
        );
    }
    let (_, listed, _) = finish(place.program(&["runs", "list", "--json"]));
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn runs_are_listed_and_shown_with_what_made_them() {
    let place = Place::new();
    let (code, listed, err) = finish(place.program(&["runs", "list", "--json"]));
    assert_eq!((code, &listed["runs"]), (Some(0), &json!([])), "{err}");
    let (code, _, err) = finish(place.program(&["runs", "show", "night"]));
    assert_eq!(code, Some(1));
    assert!(err.contains("holds no run yet"), "{err}");
    assert!(!place.path("home").join("data").exists());

    let place = with_a_run();
    let (_, listed, _) = finish(place.program(&["runs", "list", "--json"]));
    assert_eq!(listed["runs"][0]["name"], "night");
    assert_eq!(listed["runs"][0]["replies"], 16);
    let (code, _, err) = finish(place.program(&["runs", "show", "nite"]));
    assert_eq!(code, Some(1));
    assert!(err.contains("\"night\""), "{err}");

    let (code, shown, err) = finish(place.program(&["runs", "show", "night", "--json"]));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(shown["models"][0]["name"], "openai:m");
    assert_eq!(shown["reported_models"], json!(["served-model"]));
    assert_eq!(
        shown["system_fingerprints"],
        json!([{"system_fingerprint": "fp_served", "replies": 16}])
    );
    assert_eq!(shown["sampling"][0]["temperature"], 0.0);
    assert_eq!(
        shown["datasets"][0]["fingerprint"].as_str().unwrap().len(),
        64
    );
    let sweeps = shown["sweeps"].as_array().unwrap();
    assert_eq!(sweeps.len(), 1);
    assert!(
        sweeps[0]["program"]
            .as_str()
            .unwrap()
            .starts_with("medrgb ")
    );
    let conditions = shown["conditions"].as_array().unwrap();
    assert_eq!(conditions.len(), 8);
    assert!(
        conditions
            .iter()
            .all(|c| c["outcomes"] == json!({"answered": 2}))
    );
    let (_, text, _) = finish(place.program(&["runs", "show", "night"]));
    assert!(
        text.as_str().unwrap().contains("sufficiency  n 5    p 20"),
        "{text}"
    );
}

#[test]
fn removing_needs_a_yes_and_removes_all() {
    let place = with_a_run();
    let (code, _, err) = finish(place.program(&["runs", "rm", "night"]));
    assert_eq!(code, Some(2));
    assert!(err.contains("--yes") && err.contains("16 records"), "{err}");
    assert_eq!(place.records("night").len(), 16);
    let (code, _, err) = finish(place.program(&["runs", "rm", "night", "--yes"]));
    assert_eq!(code, Some(0), "{err}");
    assert!(place.records("night").is_empty());
    let (_, listed, _) = finish(place.program(&["runs", "list", "--json"]));
    assert_eq!(listed["runs"], json!([]));
    // The name is free, and its logbook begins anew.
    let server = answer();
    let (_, again, _) = finish(place.sweep(&server, "night", &["--limit", "1"]));
    assert_eq!(again["asked"], 8);
    let (_, shown, _) = finish(place.program(&["runs", "show", "night", "--json"]));
    assert_eq!(shown["sweeps"].as_array().unwrap().len(), 1);
}

#[test]
fn exported_records_come_back_as_they_were() {
    let place = with_a_run();
    let (code, _, err) =
        finish(place.program(&["runs", "export", "night", "--out", "night.jsonl"]));
    assert_eq!(code, Some(0), "{err}");
    let text = std::fs::read_to_string(place.path("night.jsonl")).unwrap();
    assert_eq!(text.lines().count(), 16);
    assert!(!text.contains("sk-test"), "no key");
    // Importing what is there already changes nothing.
    let import = |file: &str, more: &[&str]| {
        let mut program = place.program(&["runs", "import", file, "--json"]);
        program.args(more);
        finish(program)
    };
    let (_, counted, err) = import("night.jsonl", &[]);
    assert_eq!(
        counted,
        json!({"imported": 0, "already_there": 16, "unreadable": 0, "judgements": 0}),
        "{err}"
    );

    let before = place.records("night");
    finish(place.program(&["runs", "rm", "night", "--yes"]));
    let broken = text.replacen("\"version\":1", "\"version\":99", 1) + "{\"half\": \n";
    std::fs::write(place.path("broken.jsonl"), broken).unwrap();
    let (code, counted, err) = import("broken.jsonl", &[]);
    assert_eq!(code, Some(0));
    assert_eq!(
        counted,
        json!({"imported": 15, "already_there": 0, "unreadable": 2, "judgements": 0}),
        "{err}"
    );
    assert!(
        err.contains("broken.jsonl, line 1: ") && err.contains("version 99"),
        "{err}"
    );
    assert!(err.contains("line 17"), "{err}");
    let (_, counted, _) = import("night.jsonl", &[]);
    assert_eq!(
        (&counted["imported"], &counted["already_there"]),
        (&json!(1), &json!(15))
    );
    let without_id = |records: &[medrgb::data::store::ReplyRecord]| {
        let mut lines: Vec<String> = records
            .iter()
            .map(|record| {
                let mut record = record.clone();
                record.id = 0;
                serde_json::to_string(&record).unwrap()
            })
            .collect();
        lines.sort();
        lines
    };
    assert_eq!(without_id(&place.records("night")), without_id(&before));
    let (_, counted, _) = import("night.jsonl", &["--run", "copy"]);
    assert_eq!(counted["imported"], 16);
    assert_eq!(place.records("copy").len(), 16);
    // A sweep goes on from imported records.
    let server = answer();
    let (_, again, err) = finish(place.sweep(&server, "copy", &["--limit", "2"]));
    assert_eq!(
        (&again["asked"], &again["n"]),
        (&json!(0), &json!(16)),
        "{err}"
    );

    std::fs::write(place.path("other.jsonl"), "{\"id\": 1}\n").unwrap();
    let (code, _, err) = import("other.jsonl", &[]);
    assert_eq!(code, Some(1));
    assert!(
        err.contains("other.jsonl, line 1") && err.contains("version"),
        "{err}"
    );
}

#[test]
fn a_faulty_name_of_a_run_is_refused_wherever_it_comes_in() {
    let place = with_a_run();
    finish(place.program(&["runs", "export", "night", "--out", "night.jsonl"]));
    let text = std::fs::read_to_string(place.path("night.jsonl")).unwrap();
    // One record of another name fails alone; with a name given all of them are fine.
    let renamed = text.replacen("\"run\":\"night\"", "\"run\":\"ni\\u001b[2Jght\"", 1);
    std::fs::write(place.path("renamed.jsonl"), renamed).unwrap();
    let import = |more: &[&str]| {
        let mut program = place.program(&["runs", "import", "renamed.jsonl", "--json"]);
        program.args(more);
        finish(program)
    };
    let (code, counted, err) = import(&[]);
    assert_eq!(
        (code, &counted["already_there"], &counted["unreadable"]),
        (Some(0), &json!(15), &json!(1)),
        "{err}"
    );
    assert!(
        err.contains("renamed.jsonl, line 1: ") && err.contains("control characters"),
        "{err}"
    );
    let (_, counted, err) = import(&["--run", "copy"]);
    assert_eq!(counted["imported"], 16, "{err}");
    for name in ["a\u{1b}[2Jb", "paper", "probe", " "] {
        let (code, _, err) = import(&["--run", name]);
        assert_eq!(code, Some(2), "{name:?}: {err}");
    }
    // Plans, and the name that a run gets from its dataset.
    std::fs::write(
        place.path("plan.toml"),
        "dataset = \"set\"\nmodels = [\"openai:m\"]\nrun = \"a\\u001bb\"\n",
    )
    .unwrap();
    let (code, _, err) = finish(place.program(&["sweep", "--plan", "plan.toml", "--dry-run"]));
    assert_eq!(code, Some(2), "{err}");
    assert!(
        err.contains("plan.toml line 3: run: ") && err.contains("control characters"),
        "{err}"
    );
    std::fs::rename(place.path("set"), place.path("s\u{1b}et")).unwrap();
    let (code, _, err) = finish(place.program(&[
        "sweep",
        "--dataset",
        "s\u{1b}et",
        "--model",
        "openai:m",
        "--base-url",
        "http://127.0.0.1:9/v1",
        "--dry-run",
    ]));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("name one with --run"), "{err}");
}

#[test]
fn a_reply_that_could_not_be_stored_can_be_imported() {
    let place = with_a_run();
    let mut record = place.records("night").remove(0);
    record.created_at = "2026-01-01T00:00:00Z".into();
    let file = medrgb::data::store::Store::open(&place.path("runs.sqlite"))
        .unwrap()
        .save_beside(&record, "full")
        .unwrap();
    let file = file.to_str().unwrap().to_owned();
    let (code, counted, err) = finish(place.program(&["runs", "import", &file, "--json"]));
    assert_eq!((code, &counted["imported"]), (Some(0), &json!(1)), "{err}");
    assert_eq!(place.records("night").len(), 17);
}

#[test]
fn the_audit_counts_contexts_and_finds_planted_faults() {
    let place = Place::new();
    let set = place.path("set");
    // q1 gets options with texts; the documents of q2 name its right one; adversarial versions of q1's
    // documents have one fault each.
    let questions = std::fs::read_to_string(set.join("qa.jsonl")).unwrap();
    let mut lines: Vec<Value> = questions
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    lines[1]["options"] = json!({"A": "gene 2 in mice", "B": "something else"});
    let text: Vec<String> = lines.iter().take(3).map(Value::to_string).collect();
    std::fs::write(set.join("qa.jsonl"), text.join("\n")).unwrap();
    let documents = json!({
        "q0": [{"id": "a", "content": "Nothing here."}],
        "q1": [{"id": "b1", "content": "The dose was 5 mg."}, {"id": "b2", "content": "Given twice."},
               {"id": "b3", "content": "Safe in adults."}, {"id": "b4", "content": "the DOSE was 5 mg."}],
        "q2": [{"id": "c1", "content": "A study of gene 2 in mice."}, {"id": "c2", "content": "It was 5 mg."}],
    });
    std::fs::write(set.join("signal_docs.json"), documents.to_string()).unwrap();
    let subs = json!({"q1": [
        {"doc_id": "b1", "question": "Dose?", "answer": "5 mg"},
        {"doc_id": "b2", "question": "How often?", "answer": "twice"},
        {"doc_id": "b3", "question": "Safe?", "answer": "adults"}]});
    std::fs::write(set.join("subqa_pairs.json"), subs.to_string()).unwrap();
    let versions = json!({"q1": [
        {"original_id": "b1", "new_answer": "50 mg", "edited_document": "Some 5 mg were 50 mg."},
        {"original_id": "b2", "new_answer": "once", "edited_document": "given  TWICE."},
        {"original_id": "b3", "new_answer": "the adults", "edited_document": "Safe in the adults."}]});
    std::fs::write(set.join("counterfactual_docs.json"), versions.to_string()).unwrap();

    let (code, audit, err) = finish(place.program(&[
        "audit",
        "--dataset",
        "set",
        "--scenario",
        "sufficiency,integration,robustness",
        "--docs",
        "4",
        "--p",
        "50",
        "--json",
    ]));
    assert_eq!(code, Some(0), "{err}");
    let condition = |at: usize| audit["conditions"][at].clone();
    // Two signal documents at p = 50: q0 has only one.
    assert_eq!(
        (
            condition(0)["instances"].clone(),
            condition(0)["short"].clone()
        ),
        (json!(3), json!(1))
    );
    // Only q1 has adversarial versions, and three instead of four.
    let robustness = condition(2);
    assert_eq!(robustness["instances"], 1);
    assert_eq!(
        (&robustness["nothing_to_use"], &robustness["short"]),
        (&json!(2), &json!(1))
    );
    assert!(robustness["prompt_tokens"].as_u64().unwrap() > 100);
    let found = |kind: &str| audit["found"][kind].as_u64().unwrap();
    assert_eq!(
        found("repeated_signal_document"),
        1,
        "b4 is b1 in other letters"
    );
    assert_eq!(found("repeated_in_context"), 0);
    assert_eq!(found("counterfactual_unchanged"), 1);
    // b1 still has "5 mg", b2 still says "twice".
    assert_eq!(found("counterfactual_with_true_answer"), 2);
    assert_eq!(found("counterfactual_without_planted"), 1);
    assert_eq!(found("planted_equals_true"), 1);
    // q1 draws two of the three other documents as noise; c1 holds its right option, c2 a sub-answer.
    let with_gold = condition(0)["noise_with_gold_option"].as_u64().unwrap();
    let with_sub = condition(1)["noise_with_sub_answer"].as_u64().unwrap();
    assert!(
        with_gold <= 1 && with_sub <= 1 && with_gold + with_sub >= 1,
        "{audit}"
    );
    let example = audit["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|f| f["kind"] == "planted_equals_true");
    assert_eq!(example.unwrap()["document"], "b3");

    let (code, text, err) = finish(place.program(&["audit", "--dataset", "set"]));
    assert_eq!(code, Some(0), "{err}");
    let text = text.as_str().unwrap();
    assert!(
        text.contains("1  adversarial versions that change nothing"),
        "{text}"
    );
    assert!(text.contains("question q1, document b3"), "{text}");
}

#[test]
fn the_audit_of_real_sets_finds_no_repeated_document() {
    for (set, counterfactuals) in [("bioasq", false), ("rgb-en-fact", true)] {
        let root = std::env::var_os("MEDRGB_SHARED").map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
            PathBuf::from,
        );
        let folder = root.join("data/medrgb-format").join(set);
        if !folder.is_dir() {
            // Not eprintln, which the test harness keeps to itself.
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED: {} is not there",
                folder.display()
            );
            continue;
        }
        let place = Place::new();
        let (code, audit, err) = finish(place.program(&[
            "audit",
            "--dataset",
            folder.to_str().unwrap(),
            "--limit",
            "60",
            "--json",
        ]));
        assert_eq!(code, Some(0), "{err}");
        assert_eq!(audit["found"]["repeated_in_context"], 0);
        assert_eq!(audit["questions"], 60);
        assert_eq!(
            audit["counterfactuals"].as_u64().unwrap() > 0,
            counterfactuals
        );
    }
}
