//! What stands in the way of a sweep and does not end it, and a judge that is stopped.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

#[cfg(unix)]
use crate::process::signal;
use crate::process::wait_until;
use crate::sse_server::{Script, Server};
use crate::sweep::{Place, finish};
use medrgb::data::store::FILE_NAME;

const PATIENCE: Duration = Duration::from_secs(60);

const ANSWER: &str = "{\"answer_choice\": \"A\"}";

/// A server at which the account of one model is empty.
fn poor_and_rich() -> Server {
    let broke = json!({"error": {"message": "no credit left"}});
    Server::start_with(move |_, request| match request.body["model"].as_str() {
        Some("poor") => Script::json("402 Payment Required", &broke),
        _ => Script::reply(&[ANSWER]),
    })
}

#[test]
fn a_model_that_is_given_up_leaves_the_others() {
    let place = Place::new();
    let server = poor_and_rich();
    let plan = format!(
        "dataset = \"set\"\nscenario = [\"standard\"]\ndocs = [0, 5]\nmodels = [\"openai:poor\", \"openai:rich\"]\n\
         repeats = 2\nconcurrency = 2\nrun = \"two\"\nbase_url = \"{}\"\n",
        server.base_url()
    );
    std::fs::write(place.path("two.toml"), plan).unwrap();
    let run = || finish(place.program(&["sweep", "--plan", "two.toml", "--json"]));
    let (code, done, err) = run();
    assert_eq!(code, Some(1), "{err}");
    let sweeps = done["sweeps"].as_array().unwrap();
    let replies: Vec<&Value> = sweeps.iter().map(|sweep| &sweep["n"]).collect();
    assert_eq!(replies, [0, 0, 50, 50]);
    assert_eq!(sweeps[1]["asked"], 0, "its second repeat is not begun");
    let whys: Vec<&Value> = sweeps
        .iter()
        .map(|sweep| &sweep["stopped"]["why"])
        .collect();
    let (given_up, none) = (&json!("failures"), &Value::Null);
    assert_eq!(whys, [given_up, given_up, none, none]);
    let last = err.lines().last().unwrap();
    assert!(
        last.contains("100 instances have a reply, 100 are missing")
            && last.contains("poor was given up")
            && last.contains("no credit left")
            && !last.contains("rich"),
        "{err}"
    );
    // What is given up again hinders nobody either.
    let (code, done, _) = run();
    assert_eq!(code, Some(1));
    assert_eq!(done["sweeps"][2]["asked"], 0);
}

#[test]
fn a_store_that_another_program_holds_for_long_is_waited_for() {
    let place = Place::new();
    let server = Server::start(vec![Script::reply(&[ANSWER])]);
    let sweep = |scenario: &str| {
        let mut program = place.program(&["sweep", "--dataset", "set", "--run", "r"]);
        program
            .args(["--model", "openai:m", "--base-url", &server.base_url()])
            .args(["--limit", "1", "--docs", "5", "--p", "100"])
            .args(["--scenario", scenario]);
        program
    };
    let (code, ..) = finish(sweep("standard"));
    assert_eq!(code, Some(0));
    let path = place.path("home").join("data").join(FILE_NAME);
    let held = rusqlite::Connection::open(path).unwrap();
    held.execute_batch("BEGIN IMMEDIATE").unwrap();
    let began = Instant::now();
    let asked = server.request_count();
    let child = sweep("sufficiency").spawn().unwrap();
    wait_until(PATIENCE, || server.request_count() > asked);
    // Longer than a write waits on its own.
    std::thread::sleep(Duration::from_millis(7_500));
    held.execute_batch("ROLLBACK").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("another program has held the run store"),
        "{said}"
    );
    assert!(began.elapsed() > Duration::from_secs(7));
    assert_eq!(place.records("r").len(), 2);
}

#[cfg(unix)]
#[test]
fn a_run_that_a_sweep_holds_is_not_scored_again() {
    let place = Place::new();
    let slow = Server::start_with(|number, _| match number {
        0 => Script::reply(&[ANSWER]),
        _ => Script::stream().drip("tick ", 20),
    });
    let mut program = place.sweep(&slow, "r", &["--concurrency", "1"]);
    let mut child = program.spawn().unwrap();
    wait_until(PATIENCE, || slow.request_count() > 1);
    wait_until(PATIENCE, || place.records("r").len() == 1);
    let (code, _, err) = finish(place.program(&["rescore", "--run", "r"]));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("\"r\" is in use"), "{err}");
    let (code, _, err) = finish(place.program(&["rescore", "--run", "r"]));
    assert_eq!(code, Some(0), "{err}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_once_lets_the_judges_calls_under_way_finish() {
    let place = Place::new();
    let answer = json!({"sub_1": {"answer": "5 mg"}, "main": {"answer_choice": "A"}});
    let replies = Server::start(vec![Script::reply(&[&answer.to_string()])]);
    let judgement = "{\"reasoning\": \"close\", \"score\": \"0.5\"}";
    let judge = Server::start_with(move |_, _| {
        Script::default()
            .pause(700)
            .then(Script::reply(&[judgement]))
    });
    let run = || {
        let mut program = place.program(&["sweep", "--model", "openai:m", "--limit", "6"]);
        program
            .args(["--base-url", &replies.base_url(), "--run", "r", "--json"])
            .args(["--scenario", "integration", "--docs", "5", "--p", "60"])
            .args(["--judge", "openai:j", "--judge-base-url", &judge.base_url()])
            .args(["--concurrency", "3"]);
        program
    };
    let child = run().spawn().unwrap();
    wait_until(PATIENCE, || judge.request_count() == 3);
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("no new calls") && said.contains("what has been judged is stored"),
        "{said}"
    );
    assert_eq!(judge.request_count(), 3, "no new call");
    let (code, _, said) = finish(run());
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(judge.request_count(), 6, "and none was asked twice");
}

#[test]
fn a_server_that_is_away_for_a_while_is_waited_for() {
    let place = Place::new();
    let gone = Mutex::new(None);
    let server = Server::start_with(move |number, _| {
        let mut gone = gone.lock().unwrap();
        let since = gone.get_or_insert_with(Instant::now);
        match number {
            0..20 => {
                *since = Instant::now();
                Script::reply(&[ANSWER])
            }
            // Longer than the attempts of a call take.
            _ if since.elapsed() < Duration::from_secs(15) => Script::hang_up(),
            _ => Script::reply(&[ANSWER]),
        }
    });
    let (code, done, err) = finish(place.sweep(&server, "r", &["--concurrency", "12"]));
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("the server has been away for"), "{err}");
    let number = |key: &str| done[key].as_u64().unwrap();
    assert_eq!(number("n") + number("unavailable"), 200);
    // Those that were under way, and the calls that tried whether it is back.
    assert!((10..20).contains(&number("unavailable")), "{done}");
}
