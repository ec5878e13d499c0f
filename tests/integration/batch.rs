//! Sweeps by batch files, from a plan file, of several models, samples and repeats.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::sse_server::{Script, Server};
use crate::sweep::{Place, finish};

fn lines(path: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn batch(place: &Place, more: &[&str]) -> (Option<i32>, Value, String) {
    let mut program = place.program(&["sweep", "--dataset", "set", "--run", "b", "--json"]);
    program
        .args(["--scenario", "sufficiency", "--docs", "5", "--p", "0,100"])
        .args(["--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1"])
        .args(more);
    finish(program)
}

/// A line of the provider's output file.
fn answer(request: &Value, answer: &str) -> String {
    let content = json!({"answer_choice": answer}).to_string();
    let line = json!({"id": "r", "custom_id": request["custom_id"], "error": null, "response": {"status_code": 200,
        "body": {"model": "m-1", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 4}}}});
    format!("{line}\n")
}

#[test]
fn a_batch_goes_out_in_files_and_comes_back_in_any_order() {
    let place = Place::new();
    let (code, written, _) = batch(&place, &["--batch-out", "out"]);
    assert_eq!(code, Some(0));
    assert_eq!(written["files"][0]["requests"], 50);
    let requests = lines(&place.path("out/batch-001.jsonl"));
    let ids: HashSet<&str> = requests
        .iter()
        .map(|r| r["custom_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 50);
    let first = &requests[0];
    assert_eq!(
        (&first["method"], &first["url"]),
        (&json!("POST"), &json!("/v1/chat/completions"))
    );
    assert!(first["body"].get("stream").is_none() && first["body"]["messages"].is_array());
    // Written again it is refused: no batch shall be sent twice.
    let (code, _, said) = batch(&place, &["--batch-out", "out"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("sent twice"), "{said}");

    // Three quarters come back, in reverse; one failed, one line is broken, one is of somebody else.
    let mut output: String = requests[10..]
        .iter()
        .rev()
        .map(|r| answer(r, "A"))
        .collect();
    output.push_str("{broken\n");
    output.push_str(&answer(&json!({"custom_id": "other"}), "A"));
    std::fs::write(place.path("output.jsonl"), output).unwrap();
    let error = json!({"custom_id": requests[0]["custom_id"], "response": {"status_code": 429,
        "body": {"error": {"message": "slow down", "type": "rate_limit"}}}, "error": null});
    std::fs::write(place.path("errors.jsonl"), format!("{error}\n")).unwrap();
    let (code, read, said) = batch(&place, &["--batch-in", "output.jsonl", "errors.jsonl"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(
        (&read["replies"], &read["n"], &read["missing"]),
        (&json!(40), &json!(40), &json!(10))
    );
    assert_eq!(read["unavailable"], 1);
    assert!(
        said.contains("1 not of this sweep") && said.contains("1 unreadable"),
        "{said}"
    );
    assert_eq!(place.records("b").len(), 41);
    // The same answers again change nothing.
    let (_, again, said) = batch(&place, &["--batch-in", "output.jsonl"]);
    assert_eq!(again["n"], 40);
    assert!(said.contains("40 there already"), "{said}");
    assert_eq!(place.records("b").len(), 41);
    // Nor does the same failure, also where its line stands twice; another failure of the same call does.
    std::fs::write(place.path("errors.jsonl"), format!("{error}\n{error}\n")).unwrap();
    let (_, _, said) = batch(&place, &["--batch-in", "errors.jsonl"]);
    assert!(said.contains("0 failed, 2 there already"), "{said}");
    assert_eq!(place.records("b").len(), 41);
    let mut other = error.clone();
    other["response"]["status_code"] = json!(500);
    std::fs::write(place.path("errors.jsonl"), format!("{other}\n{error}\n")).unwrap();
    let (_, _, said) = batch(&place, &["--batch-in", "errors.jsonl"]);
    assert!(said.contains("1 failed, 1 there already"), "{said}");
    assert_eq!(place.records("b").len(), 42);
    // The next batch holds what is missing.
    let (_, rest, _) = batch(&place, &["--batch-out", "rest"]);
    assert_eq!(rest["files"][0]["requests"], 10);
}

#[test]
fn lines_without_a_reply_are_failures_and_go_out_again() {
    let place = Place::new();
    let (code, ..) = batch(&place, &["--batch-out", "out"]);
    assert_eq!(code, Some(0));
    let requests = lines(&place.path("out/batch-001.jsonl"));
    let responses = [
        json!({"status_code": 200, "body": {"choices": []}}),
        json!({}),
        json!({"status_code": 200}),
        json!({"status_code": 200, "body": null}),
        json!({"status_code": 200, "body": "oops"}),
        json!({"status_code": 302, "body": {}}),
    ];
    let output: String = requests
        .iter()
        .zip(&responses)
        .map(|(request, response)| {
            let line = json!({"custom_id": request["custom_id"], "response": response});
            format!("{line}\n")
        })
        .collect();
    std::fs::write(place.path("output.jsonl"), output).unwrap();
    let (code, read, said) = batch(&place, &["--batch-in", "output.jsonl"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("0 replies stored, 6 failed"), "{said}");
    assert_eq!((&read["n"], &read["unavailable"]), (&json!(0), &json!(6)));
    let (_, rest, _) = batch(&place, &["--batch-out", "rest"]);
    assert_eq!(rest["files"][0]["requests"], 50);
}

#[test]
fn answers_of_another_sweep_are_refused() {
    let place = Place::new();
    std::fs::write(
        place.path("o.jsonl"),
        answer(&json!({"custom_id": "x"}), "A"),
    )
    .unwrap();
    let (code, _, said) = batch(&place, &["--batch-in", "o.jsonl"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("belongs to this sweep"), "{said}");
    let mut program = place.program(&[
        "sweep",
        "--dataset",
        "set",
        "--model",
        "replay:none",
        "--batch-out",
        "x",
    ]);
    program.arg("--json");
    assert_eq!(finish(program).0, Some(1));
}

fn yes() -> Server {
    Server::start(vec![Script::reply(&["{\"answer_choice\": \"A\"}"])])
}

#[test]
fn a_plan_file_names_models_seeds_samples_and_repeats() {
    let place = Place::new();
    let server = yes();
    let plan = format!(
        "dataset = \"set\"\nscenario = [\"sufficiency\"]\ndocs = 5\np = 60\nseeds = [1, 2]\nsample = 6\n\
         models = [\"openai:m\", \"openai:k\"]\nrepeats = 2\nrun = \"planned\"\nbase_url = \"{}\"\n",
        server.base_url()
    );
    std::fs::write(place.path("night.toml"), &plan).unwrap();
    let (code, done, said) = finish(place.program(&["sweep", "--plan", "night.toml", "--json"]));
    assert_eq!(code, Some(0), "{said}");
    let sweeps = done["sweeps"].as_array().unwrap();
    assert_eq!(sweeps.len(), 4, "two models, two repeats");
    for sweep in sweeps {
        assert_eq!(
            (&sweep["n"], &sweep["run"]),
            (&json!(12), &json!("planned"))
        );
    }
    let records = place.records("planned");
    assert_eq!(records.len(), 48);
    let kinds: HashSet<(String, String, u64)> = records
        .iter()
        .map(|r| {
            (
                r.model_name.clone(),
                r.sampling["seed"].to_string(),
                r.condition.seed,
            )
        })
        .collect();
    assert_eq!(kinds.len(), 8);
    let questions: HashSet<&str> = records.iter().map(|r| r.question.id.as_str()).collect();
    assert_eq!(questions.len(), 6);
    let requests = server.requests().len();
    // Nothing is asked twice; flags come before the file.
    let (_, again, _) = finish(place.program(&["sweep", "--plan", "night.toml", "--json"]));
    assert_eq!(again["sweeps"][0]["asked"], 0);
    assert_eq!(server.requests().len(), requests);
    let mut dry = place.program(&["sweep", "--plan", "night.toml", "--json", "--dry-run"]);
    dry.args(["--repeats", "1", "--p", "0,20"]);
    let (_, plan, _) = finish(dry);
    assert_eq!(plan["sweeps"].as_array().unwrap().len(), 2);
    let first = &plan["sweeps"][0];
    assert_eq!(
        (&first["instances"], &first["to_ask"]),
        (&json!(24), &json!(24))
    );
}

#[test]
fn wrong_plans_are_named_with_their_place() {
    let place = Place::new();
    for (text, part) in [
        ("docs = [5]\nmodell = \"x\"\n", "line 2"),
        ("docs = [5]\n\np = [0,\n 120]\n", "line 3: p: 120"),
        ("docs = [2000]\n", "line 1: docs: 2000"),
        ("mode = [\"nested\", \"loose\"]\n", "line 1: mode"),
        ("\nsource = \"web\"\n", "line 2: source"),
        ("seed = 1\nseeds = [2]\n", "line 1: seed"),
        ("dry_run = true\n", "line 1"),
        ("docs = \"five\"\n", "line 1"),
        ("docs = -5\n", "line 1"),
        ("docs = 2.5\n", "line 1"),
        ("p = 120\n", "line 1: p: 120"),
        ("repeats = 0\n", "repeats"),
        ("temperature = 9.0\n", "temperature"),
        ("mode = \"nosuch\"\n", "mode"),
        ("scenario = [\"nosuch\"]\n", "line 1"),
        ("run = \"paper\"\n", "run"),
        ("docs = [", "line 1"),
        (
            "docs = [5]\nmodels = []\n",
            "line 2: models: the list is empty",
        ),
        ("scenario = []\n", "line 1: scenario: the list is empty"),
        ("\ndocs = []\n", "line 2: docs: the list is empty"),
        ("p = []\n", "line 1: p: the list is empty"),
        ("seeds = [ ]\n", "line 1: seeds: the list is empty"),
        (
            "question = [\"a\", \" \"]\n",
            "line 1: question: a text in it is empty",
        ),
        ("dataset = \"\"\n", "line 1: dataset: the text is empty"),
    ] {
        std::fs::write(place.path("p.toml"), text).unwrap();
        let (code, _, said) = finish(place.program(&["sweep", "--plan", "p.toml", "--dry-run"]));
        assert_eq!(code, Some(2), "{text}: {said}");
        assert!(
            said.contains("p.toml") && said.contains(part),
            "{text}: {said}"
        );
        assert_eq!(said.trim().lines().count(), 1, "{said}");
    }
    let (code, _, said) = finish(place.program(&["sweep", "--plan", "none.toml"]));
    assert_eq!(code, Some(2));
    assert!(said.contains("none.toml"), "{said}");
}

#[test]
fn only_failed_asks_what_was_asked_in_vain() {
    let place = Place::new();
    let down = Server::start_with(|number, _| match number < 5 {
        true => Script::reply(&["{\"answer_choice\": \"A\"}"]),
        false => Script::json("400 Bad Request", &json!({"error": {"message": "no"}})),
    });
    let sweep = |server: &Server, more: &[&str]| {
        let mut program = place.program(&["sweep", "--dataset", "set", "--run", "f", "--json"]);
        program
            .args([
                "--scenario",
                "standard",
                "--docs",
                "0",
                "--limit",
                "8",
                "--concurrency",
                "1",
            ])
            .args(["--model", "openai:m", "--base-url", &server.base_url()])
            .args(more);
        finish(program)
    };
    let (_, first, _) = sweep(&down, &[]);
    assert_eq!((&first["n"], &first["unavailable"]), (&json!(5), &json!(3)));
    let up = yes();
    let (code, again, _) = sweep(&up, &["--only-failed"]);
    assert_eq!((code, &again["asked"]), (Some(0), &json!(3)));
    // What was never asked is left alone.
    let mut program = place.program(&[
        "sweep",
        "--dataset",
        "set",
        "--run",
        "f",
        "--json",
        "--only-failed",
    ]);
    program
        .args(["--scenario", "standard", "--docs", "0"])
        .args(["--model", "openai:m", "--base-url", &up.base_url()]);
    assert_eq!(finish(program).1["asked"], 0);
}

#[test]
fn calls_start_no_faster_than_the_provider_allows() {
    let place = Place::new();
    let server = yes();
    let mut program = place.program(&["sweep", "--dataset", "set", "--run", "slow", "--json"]);
    // 1,200 a minute: a burst of 200, then 20 a second. 25 questions under 8 conditions are 200; at 600 a
    // minute the burst is 100 and the other 20 of 120 take two seconds.
    program
        .args([
            "--scenario",
            "sufficiency",
            "--docs",
            "5",
            "--limit",
            "20",
            "--rpm",
            "600",
        ])
        .args(["--model", "openai:m", "--base-url", &server.base_url()]);
    let (code, done, _) = finish(program);
    assert_eq!((code, &done["n"]), (Some(0), &json!(120)));
    assert!(
        done["seconds"].as_f64().unwrap() > 1.9,
        "{}",
        done["seconds"]
    );
}
