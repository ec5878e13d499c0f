//! Sweeps, comparisons and probes in the real explorer, against a scripted server; figures on screen are those
//! of the commands.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::Command;

use medrgb::data::store::{FILE_NAME, ReplyRecord, Store};
use serde_json::Value;

use crate::pty::Session;
use crate::sse_server::{Request, Script, Server};

/// Always the same answer to a prompt; another model gives other answers.
fn reply_to(request: &Request) -> Script {
    let mut hasher = DefaultHasher::new();
    request.body["messages"].to_string().hash(&mut hasher);
    request.body["model"].to_string().hash(&mut hasher);
    let letter = if hasher.finish().is_multiple_of(3) {
        "B"
    } else {
        "A"
    };
    Script::reply(&[&format!(
        "{{\"relevant_doc_id\": [\"DOC_1\"], \"irrelevant_doc_id\": [], \"step_by_step_thinking\": \"So.\", \"answer_choice\": \"{letter}\"}}"
    )])
}

/// The program on the folders of a session.
pub(crate) fn program(home: &Path, args: &[&str]) -> (Option<i32>, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_medrgb"));
    command.args(args).env("HOME", home);
    for (name, folder) in [
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_STATE_HOME", "state"),
    ] {
        command.env(name, home.join(folder));
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let value = serde_json::from_str(&text).unwrap_or_else(|_| Value::String(error));
    (output.status.code(), value)
}

fn stored(home: &Path, run: &str) -> Vec<ReplyRecord> {
    let file = home.join("data/medrgb").join(FILE_NAME);
    Store::open(&file).unwrap().replies_of_run(run).unwrap()
}

/// Goes to the plan: sufficiency with five documents at six p, four questions, the run "night".
fn plan(session: &mut Session) {
    session.wait_for("questions");
    session.press("W");
    session.wait_for("plan a new sweep");
    session.press("\r");
    session.wait_for("Plan of a new sweep");
    // Standard, integration and robustness off.
    session.press("\rjj\rj\r");
    session.wait_for("[ ] robustness");
    // n, p, and the limit three steps on.
    session.press("jljljjjjjjjllljjj\r");
    session.press("\x15night\r");
    session.wait_for("= 24 instances at most");
}

#[test]
fn a_sweep_is_planned_watched_drawn_and_compared() {
    let server = Server::start_with(|_, request| reply_to(request));
    let url = server.base_url();
    let model = ["--model", "openai:served", "--base-url", &url];
    let mut session = Session::start(200, 60, &model);
    plan(&mut session);
    session.wait_for("about");
    assert_eq!(server.requests().len(), 0, "planning asks nothing");
    session.press("a");
    session.wait_for("✓ done");
    session.wait_for("24 instances of the grid have a reply, 0 are missing.");
    let home = session.home.path().to_owned();
    assert_eq!(stored(&home, "night").len(), 24);

    // The curves show what the report says.
    session.press("\r");
    session.wait_for("In words and numbers");
    session.wait_for("main accuracy");
    let (code, report) = program(&home, &["report", "--run", "night", "--json"]);
    assert_eq!(code, Some(0), "{report}");
    let table = &report["tables"][0];
    assert_eq!(table["id"], "table4");
    let panel = &table["panels"][0];
    assert_eq!(panel["measure"], "main_accuracy");
    let screen = session.text();
    let columns = panel["columns"].as_array().unwrap();
    let cells = panel["rows"][0]["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 6);
    for (column, cell) in columns.iter().zip(cells) {
        let percent = |name: &str| format!("{:.1}", cell[name].as_f64().unwrap() * 100.0);
        let p = column["label"].as_str().unwrap().trim_start_matches("p=");
        let ends = format!("{}–{}", percent("low"), percent("high"));
        let is_row = |line: &&str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words
                .windows(3)
                .any(|all| *all == [p, &percent("value"), &ends])
        };
        assert!(
            screen.lines().any(|line| is_row(&line)),
            "{p} {ends}\n{screen}"
        );
    }
    assert!(
        screen.contains("different documents, not comparable"),
        "{screen}"
    );

    // Another model into another run, by the command; then both side by side.
    let sweep = [
        "sweep",
        "--scenario",
        "sufficiency",
        "--docs",
        "5",
        "--limit",
        "4",
        "--model",
        "openai:other",
        "--base-url",
        &url,
        "--run",
        "day",
        "--json",
    ];
    let (code, swept) = program(&home, &sweep);
    assert_eq!(code, Some(0), "{swept}");
    session.press("qC");
    session.wait_for("Choose two runs");
    session.wait_for("day");
    session.press("\r");
    session.wait_for("as B and compares");
    session.press("j\r");
    session.wait_for("McNemar p");
    let (code, compared) = program(&home, &["compare", "day", "night", "--json"]);
    assert_eq!(code, Some(0), "{compared}");
    let accuracy = &compared["pooled"]["main_accuracy"];
    let p = accuracy["mcnemar"]["p"].as_f64().unwrap();
    session.wait_for(&format!("McNemar p {p:.4}"));
    let rate = |side: &str| {
        let side = &accuracy[side];
        let percent = |value: &Value| value.as_f64().unwrap() * 100.0;
        format!(
            "{:.1} [{:.1}, {:.1}]",
            percent(&side["rate"]),
            percent(&side["interval"][0]),
            percent(&side["interval"][1])
        )
    };
    session.wait_for(&format!("{}  {}", rate("a"), rate("b")));
    session.press("\r");
    session.wait_for("documents");
    session.press("\x03");
    assert!(session.wait_for_end().success());
    session.check_restored();
}

/// Answers sub-questions, and judges.
fn integration_reply_to(request: &Request) -> Script {
    if request.body["model"] == "referee" {
        return Script::reply(&[r#"{"reasoning": "Close.", "score": "0.5"}"#]);
    }
    Script::reply(&[
        r#"{"sub_1": {"answer": "x", "doc_id": "DOC_1"}, "sub_2": {"answer": "y", "doc_id": "DOC_2"},
        "main": {"step_by_step_thinking": "So.", "answer_choice": "A"}}"#,
    ])
}

/// A whole number with commas between its thousands.
fn grouped(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1000), number % 1000),
    }
}

#[test]
fn the_plan_has_seeds_sample_repeats_judge_and_reuse_and_the_commands_figures() {
    let server = Server::start_with(|_, request| integration_reply_to(request));
    let url = server.base_url();
    let model = ["--model", "openai:served", "--base-url", &url];
    let mut session = Session::start(200, 60, &model);
    session.wait_for("questions");
    session.press("W");
    session.wait_for("plan a new sweep");
    session.press("\r");
    session.wait_for("Plan of a new sweep");
    // Integration alone.
    session.press("\rj\rjj\r");
    session.wait_for("[ ] robustness");
    // n 5, p 60, two seeds, two repeats, a judge, four questions drawn, reuse, the run.
    session.press("jljlllljjjljl");
    session.press("jj\r\x15openai:referee\r");
    session.press("jjlllj\rj\r\x15night\r");
    session.wait_for("2 conditions × 4 questions × 2 repeats = 16 instances at most");
    let home = session.home.path().to_owned();
    let flags = [
        "sweep",
        "--scenario",
        "integration",
        "--docs",
        "5",
        "--p",
        "60",
        "--seeds",
        "0,1",
        "--sample",
        "4",
        "--model",
        "openai:served",
        "--base-url",
        &url,
        "--repeats",
        "2",
        "--judge",
        "openai:referee",
        "--judge-base-url",
        &url,
        "--reuse",
        "--run",
        "night",
        "--dry-run",
        "--json",
    ];
    let (code, planned) = program(&home, &flags);
    assert_eq!(code, Some(0), "{planned}");
    let parts = planned["sweeps"].as_array().unwrap();
    assert_eq!(parts.len(), 2);
    let sum = |name: &str| -> u64 { parts.iter().map(|part| part[name].as_u64().unwrap()).sum() };
    let most = sum("to_ask") * parts[0]["sampling"]["max_tokens"].as_u64().unwrap();
    session.wait_for(&format!(
        "about {} in prompts, at most {} in replies",
        grouped(sum("prompt_tokens_to_ask")),
        grouped(most)
    ));
    session.wait_for(&format!("calls         {}", sum("to_ask")));
    let judge = &planned["judge_estimate"];
    session.wait_for(&format!(
        "openai:referee: at most {} calls, about {} tokens in prompts",
        judge["calls_at_most"],
        grouped(judge["prompt_tokens"].as_u64().unwrap())
    ));
    let condition = &parts[0]["conditions"][0];
    let instances = condition["instances"].as_u64().unwrap() * 2;
    assert!(instances > 0, "{condition}");
    assert_eq!(server.requests().len(), 0, "planning asks nothing");

    session.press("a");
    session.wait_for("✓ done");
    session.wait_for("Judge: score");
    // Both repeats of what the two seeds drew.
    let records = stored(&home, "night");
    assert_eq!(records.len() as u64, sum("to_ask") + sum("to_reuse"));
    let seeds: std::collections::BTreeSet<u64> =
        records.iter().map(|record| record.condition.seed).collect();
    assert_eq!(seeds.into_iter().collect::<Vec<_>>(), [0, 1]);
    for record in &records {
        let scores = record.scores.as_ref().unwrap();
        assert_eq!(scores.judge.as_deref(), Some("openai:referee"));
    }
    // The command finds nothing left to do, for the model and for the judge.
    let (code, planned) = program(&home, &flags);
    assert_eq!(code, Some(0), "{planned}");
    for part in planned["sweeps"].as_array().unwrap() {
        assert_eq!(part["to_ask"], 0, "{part}");
    }
    assert!(
        planned["judge_estimate"]["done"].as_u64().unwrap() > 0,
        "{planned}"
    );
    session.press("\x03");
    assert!(session.wait_for_end().success());
    session.check_restored();
}

#[test]
fn leaving_stops_a_sweep_in_good_order_and_says_how_it_goes_on() {
    let server = Server::start_with(|number, request| match number {
        0..6 => reply_to(request),
        _ => Script::default().pause(60_000),
    });
    let url = server.base_url();
    let model = ["--model", "openai:served", "--base-url", &url];
    let mut session = Session::start(120, 40, &model);
    plan(&mut session);
    session.press("a");
    session.wait_for("6 of 24");
    // The rest of the explorer can be used.
    session.press("qq");
    session.wait_for("enter opens it");
    session.press("\r");
    session.wait_for("Sufficiency");
    session.press("\x03");
    session.wait_for("leaving stops it");
    session.press("\x03");
    // Calls that the server keeps waiting are not waited for twice.
    session.wait_for("Leaving when the calls under way");
    session.press("\x03");
    assert!(session.wait_for_end().success());
    session.check_restored();
    session.wait_for("goes on with it");
    session.wait_for("medrgb sweep --scenario sufficiency --docs 5");
    let home = session.home.path();
    // What was said to go on does so, and asks exactly what is missing.
    let second = Server::start_with(|_, request| reply_to(request));
    let url = second.base_url();
    let (code, swept) = program(
        home,
        &[
            "sweep",
            "--scenario",
            "sufficiency",
            "--docs",
            "5",
            "--p",
            "0,20,40,60,80,100",
            "--limit",
            "4",
            "--model",
            "openai:served",
            "--run",
            "night",
            "--base-url",
            &url,
            "--json",
        ],
    );
    assert_eq!(code, Some(0), "{swept}");
    assert_eq!((&swept["n"], &swept["missing"]), (&24.into(), &0.into()));
    assert_eq!(second.requests().len(), 18);
}

#[test]
fn a_probe_is_asked_and_kept() {
    let answer = "{\"sub_1\": {\"question\": \"?\", \"relevant_doc_id\": \"DOC_1\", \"factual_correctness\": true, \"answer\": \"x\"}, \"main\": {\"step_by_step_thinking\": \"So.\", \"answer_choice\": \"A\"}}";
    let server = Server::start(vec![Script::reply(&[answer])]);
    let url = server.base_url();
    let model = ["--model", "openai:served", "--base-url", &url];
    let mut session = Session::start(160, 50, &model);
    session.wait_for("questions");
    session.press("\r");
    session.wait_for("Sufficiency");
    session.press("ss");
    session.wait_for("Robustness");
    session.press("P");
    session.wait_for("leave each document out in turn (5 changes)");
    session.press("\r");
    session.wait_for("The answer holds: A");
    assert_eq!(stored(session.home.path(), "probe").len(), 6);
    session.press("\x03");
    assert!(session.wait_for_end().success());
    session.check_restored();
}
