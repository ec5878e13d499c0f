//! Sweeps end to end: the real program, a scripted server, a store on disk.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use medrgb::data::store::{FILE_NAME, ReplyRecord, Store};
use medrgb::domain::plan::{ConditionKey, is_counted_reply};
use serde_json::{Value, json};

#[cfg(unix)]
use crate::process::signal;
use crate::process::wait_until;
use crate::sse_server::{Request, Script, Server};

const KEY: &str = "sk-test-0123456789abcdef";

/// The longest that anything is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Questions of the dataset.
const QUESTIONS: usize = 25;

/// Instances of [`Place::sweep`]'s grid: 25 questions under 8 conditions.
const INSTANCES: usize = QUESTIONS * 8;

/// A generated dataset, and folders of our own for everything the program writes.
pub struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let set = dir.path().join("set");
        std::fs::create_dir(&set).unwrap();
        let mut lines = String::new();
        let mut documents = serde_json::Map::new();
        for q in 0..QUESTIONS {
            let id = format!("q{q}");
            let line = json!({"question_id": id, "question": format!("Does gene {q} raise the risk?"),
                "options": {"A": "yes", "B": "no"}, "answer": if q % 3 == 0 { "B" } else { "A" }});
            lines += &format!("{line}\n");
            let own: Vec<Value> = (0..5)
                .map(|d| json!({"id": format!("d{q}-{d}"), "title": "", "content": format!("Study {d} looked at gene {q} in mice.")}))
                .collect();
            documents.insert(id, own.into());
        }
        std::fs::write(set.join("qa.jsonl"), lines).unwrap();
        let documents = Value::Object(documents).to_string();
        std::fs::write(set.join("signal_docs.json"), documents).unwrap();
        Place { dir }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The program with its folders inside this place and no settings of the machine.
    pub fn program(&self, args: &[&str]) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_medrgb"));
        program
            .env_clear()
            .env("HOME", self.dir.path())
            .env("MEDRGB_HOME", self.path("home"))
            .env("OPENAI_API_KEY", KEY)
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .args(args);
        program
    }

    /// `medrgb sweep` of 200 instances: standard without and with documents, sufficiency at six p.
    pub fn sweep(&self, server: &Server, run: &str, more: &[&str]) -> Command {
        self.sweep_of("openai:m", server, run, more)
    }

    fn sweep_of(&self, model: &str, server: &Server, run: &str, more: &[&str]) -> Command {
        let mut program = self.program(&["sweep", "--dataset", "set", "--run", run, "--json"]);
        program
            .args(["--scenario", "standard,sufficiency", "--docs", "0,5"])
            .args(["--model", model, "--base-url", &server.base_url()])
            .args(more);
        program
    }

    pub fn records(&self, run: &str) -> Vec<ReplyRecord> {
        Store::open(&self.path("home").join("data").join(FILE_NAME))
            .unwrap()
            .replies_of_run(run)
            .unwrap()
    }
}

/// Runs to the end; checks that no key and no escape sequence is shown.
pub fn finish(mut command: Command) -> (Option<i32>, Value, String) {
    read(command.output().unwrap())
}

fn read(output: Output) -> (Option<i32>, Value, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(!out.contains(KEY) && !err.contains(KEY));
    assert!(!out.contains('\u{1b}') && !err.contains('\u{1b}'));
    let value = match out.trim() {
        "" => Value::Null,
        json if json.starts_with('{') => {
            assert_eq!(json.lines().count(), 1, "one object and nothing else");
            serde_json::from_str(json).unwrap()
        }
        text => Value::String(text.to_owned()),
    };
    (output.status.code(), value, err)
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// What a request asks: the user message, which is different for every instance.
fn prompt_of(request: &Request) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    messages.last().unwrap()["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// The reply to a prompt, always the same one; some can't be read, some find the information insufficient.
fn good(prompt: &str) -> Script {
    let answer = match hash(prompt) % 11 {
        0 => "Mice were looked at.".to_owned(),
        1 => r#"{"step_by_step_thinking": "Mice.", "answer_choice": "insufficient information"}"#
            .to_owned(),
        n if n % 2 == 0 => r#"{"step_by_step_thinking": "Mice.", "answer_choice": "A"}"#.to_owned(),
        _ => r#"{"step_by_step_thinking": "Mice.", "answer_choice": "B"}"#.to_owned(),
    };
    let middle = answer.len() / 2;
    Script::reply(&[&answer[..middle], &answer[middle..]])
}

/// A fault of one of the kinds that servers have.
fn fault(kind: u64) -> Script {
    let soon = &["retry-after-ms: 20"][..];
    let error = |message: &str| json!({"error": {"message": message}}).to_string();
    match kind % 9 {
        0 => Script::answer("429 Too Many Requests", soon, &error("slow down")),
        1 => Script::answer("500 Internal Server Error", soon, &error("oops")),
        2 => Script::answer("503 Service Unavailable", soon, &error("busy")),
        3 => Script::answer("502 Bad Gateway", soon, "<html><title>proxy</title></html>"),
        4 => Script::hang_up(),
        5 => Script::broken_stream().text("{\"step"),
        6 => Script::stream().send("data: {no json\n\n"),
        7 => Script::answer("400 Bad Request", &[], &error("no such field")),
        _ => Script::stream().event(&json!({"error": {"message": "engine died", "code": 500}})),
    }
}

/// A server that gives every tenth prompt a fault the first time it comes, and pauses before each reply.
fn faulty(pause: u64) -> Server {
    let seen: Mutex<HashSet<String>> = Mutex::default();
    let faults = AtomicU64::new(0);
    Server::start_with(move |_, request| {
        let prompt = prompt_of(request);
        let is_new = seen.lock().unwrap().insert(prompt.clone());
        if is_new && hash((1, &prompt)).is_multiple_of(10) {
            // One kind after another, so that each comes up.
            return fault(faults.fetch_add(1, Ordering::SeqCst));
        }
        let pieces = good(&prompt);
        Script::default().pause(pause).then(pieces)
    })
}

/// The instance of a record, as a text that can be compared.
fn instance_of(record: &ReplyRecord) -> String {
    format!(
        "{} {:?}",
        record.question.id,
        ConditionKey::of(&record.condition)
    )
}

/// Raw reply by instance; panics where an instance has two replies that count.
fn replies(records: &[ReplyRecord]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for record in records {
        if is_counted_reply(record.parsed.as_ref().map(|parsed| parsed.outcome)) {
            let instance = instance_of(record);
            let before = found.insert(instance.clone(), record.raw.clone());
            assert!(before.is_none(), "{instance} was answered twice");
        }
    }
    found
}

#[test]
fn a_sweep_with_faults_of_every_kind_ends_with_one_reply_each() {
    let place = Place::new();
    let server = faulty(0);
    let (code, first, err) = finish(place.sweep(&server, "night", &[]));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(first["plan"]["instances"], INSTANCES);
    assert_eq!(first["asked"], INSTANCES);
    // What is never retried within a call has failed; everything else was tried again.
    let failed = first["failures"]["bad_request"].as_u64().unwrap();
    assert!(failed > 0, "{first}");
    assert_eq!(first["missing"], failed);
    assert_eq!(first["n"], INSTANCES as u64 - failed);
    assert!(first["retries"].as_object().unwrap().len() >= 4, "{first}");
    assert!(err.contains("missing"), "{err}");

    let before = server.requests().len();
    let (code, second, err) = finish(place.sweep(&server, "night", &[]));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(second["plan"]["done"], INSTANCES as u64 - failed);
    assert_eq!(second["asked"], failed);
    assert_eq!(second["missing"], 0);
    assert_eq!(server.requests().len() as u64, before as u64 + failed);
    assert_eq!(replies(&place.records("night")).len(), INSTANCES);

    let (code, third, _) = finish(place.sweep(&server, "night", &[]));
    assert_eq!((code, &third["asked"]), (Some(0), &json!(0)));
    assert_eq!(third["conditions"], second["conditions"]);
    assert_eq!(server.requests().len() as u64, before as u64 + failed);
}

#[test]
fn the_figures_are_those_of_the_replies() {
    let place = Place::new();
    let server = Server::start_with(|_, request| good(&prompt_of(request)));
    let (code, answer, err) = finish(place.sweep(&server, "night", &[]));
    assert_eq!(code, Some(0), "{err}");
    let records = place.records("night");
    for row in answer["conditions"].as_array().unwrap() {
        let mine: Vec<&ReplyRecord> = records
            .iter()
            .filter(|record| {
                json!(record.condition)["scenario"] == row["scenario"]
                    && record.condition.docs as u64 == row["docs"].as_u64().unwrap()
                    && json!(record.condition.p) == row["p"]
            })
            .collect();
        assert_eq!(mine.len(), QUESTIONS);
        let count = |words: &str| mine.iter().filter(|r| r.raw.contains(words)).count() as u64;
        let right = mine
            .iter()
            .filter(|r| {
                r.raw
                    .contains(&format!("\"answer_choice\": \"{}\"", r.question.answer))
            })
            .count() as u64;
        assert_eq!(row["n"], QUESTIONS);
        assert_eq!(row["correct"], right);
        assert_eq!(row["accuracy"], json!(right as f64 / QUESTIONS as f64));
        assert_eq!(row["insufficient"], count("insufficient"));
        assert_eq!(row["unreadable"], count("looked at"));
        assert_eq!(row["unavailable"], 0);
        let interval = &row["interval"];
        assert!(interval[0].as_f64() < row["accuracy"].as_f64());
        assert!(interval[1].as_f64() > row["accuracy"].as_f64());
    }
    assert_eq!(answer["usage"]["prompt_tokens"], 11 * INSTANCES);
}

#[test]
fn all_conditions_of_a_question_follow_one_another() {
    let place = Place::new();
    let server = Server::start_with(|_, request| good(&prompt_of(request)));
    let more = ["--concurrency", "1", "--limit", "2"];
    let (code, _, err) = finish(place.sweep(&server, "slow", &more));
    assert_eq!(code, Some(0), "{err}");
    let order: Vec<bool> = server
        .requests()
        .iter()
        .map(|request| prompt_of(request).contains("Does gene 0 raise"))
        .collect();
    assert_eq!(order, [[true; 8], [false; 8]].concat());
}

#[cfg(unix)]
#[test]
fn killed_sweeps_go_on_and_ask_nothing_twice() {
    let calm = Place::new();
    let undisturbed = faulty(0);
    finish(calm.sweep(&undisturbed, "night", &[]));
    let (_, expected, _) = finish(calm.sweep(&undisturbed, "night", &[]));
    assert_eq!(expected["missing"], 0, "{expected}");

    let place = Place::new();
    let server = faulty(15);
    // Different moments in every test run; the seed is printed for the case that one fails.
    let seed = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .subsec_nanos();
    eprintln!("seed of the moments of killing: {seed}");
    let mut asked_since: Vec<(usize, HashSet<String>)> = Vec::new();
    for kill in 0..6 {
        let before = server.requests().len();
        let mut child = place
            .sweep(&server, "night", &["--concurrency", "16"])
            .spawn()
            .unwrap();
        let moment = 1 + (hash((seed, kill)) % 30) as usize;
        wait_until(PATIENCE, || {
            server.requests().len() >= before + moment || child.try_wait().unwrap().is_some()
        });
        std::thread::sleep(Duration::from_micros(hash((seed, kill, "more")) % 20_000));
        child.kill().unwrap();
        child.wait().unwrap();
        // Requests that lay in the sockets when the process died still reach the server's list.
        std::thread::sleep(Duration::from_millis(100));
        let finished = place
            .records("night")
            .iter()
            .filter(|record| is_counted_reply(record.parsed.as_ref().map(|p| p.outcome)))
            .map(|record| record.prompt.user.clone())
            .collect();
        asked_since.push((server.requests().len(), finished));
    }
    finish(place.sweep(&server, "night", &[]));
    let (code, ended, err) = finish(place.sweep(&server, "night", &[]));
    assert_eq!(code, Some(0), "{err}");
    let requests = server.requests();
    for (after, finished) in &asked_since {
        for request in &requests[*after..] {
            assert!(!finished.contains(&prompt_of(request)), "asked again");
        }
    }
    let (_, last) = asked_since.last().unwrap();
    assert!(!last.is_empty(), "the killed sweeps got somewhere");
    assert_eq!(
        replies(&place.records("night")),
        replies(&calm.records("night"))
    );
    assert_eq!(ended["conditions"], expected["conditions"]);
}

#[cfg(unix)]
#[test]
fn a_run_in_use_is_refused_and_free_again_after_a_kill() {
    let place = Place::new();
    let server = Server::start(vec![Script::stream().drip("tick ", 20)]);
    let mut child = place.sweep(&server, "night", &[]).spawn().unwrap();
    wait_until(PATIENCE, || !server.requests().is_empty());
    let (code, answer, err) = finish(place.sweep(&server, "night", &[]));
    assert_eq!((code, answer), (Some(1), Value::Null), "{err}");
    assert!(err.contains("\"night\" is in use"), "{err}");
    let said = err.lines().filter(|line| !line.starts_with("note: "));
    assert_eq!(said.count(), 1, "{err}");
    child.kill().unwrap();
    child.wait().unwrap();
    let good = Server::start_with(|_, request| good(&prompt_of(request)));
    let (code, answer, err) = finish(place.sweep(&good, "night", &["--limit", "1"]));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(answer["n"], 8);
}

#[cfg(unix)]
#[test]
fn ctrl_c_once_finishes_what_is_under_way() {
    let place = Place::new();
    let server = Server::start_with(|_, request| {
        Script::default().pause(700).then(good(&prompt_of(request)))
    });
    let child = place
        .sweep(&server, "night", &["--concurrency", "6"])
        .spawn()
        .unwrap();
    wait_until(PATIENCE, || server.requests().len() == 6);
    signal(&child, "-INT");
    let (code, answer, err) = read(child.wait_with_output().unwrap());
    assert_eq!(code, Some(1), "{err}");
    assert_eq!(answer["stopped"]["why"], "user");
    assert_eq!((&answer["asked"], &answer["n"]), (&json!(6), &json!(6)));
    assert_eq!(server.requests().len(), 6, "no new call");
    assert!(err.contains("the same command goes on"), "{err}");
}

/// Under `nohup` a terminal that hangs up ends nothing; without it, it is as Ctrl-C.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_that_hangs_up_stops_a_sweep_but_not_under_nohup() {
    let place = Place::new();
    let server = Server::start_with(|_, request| {
        Script::default().pause(300).then(good(&prompt_of(request)))
    });
    let more = ["--concurrency", "6", "--limit", "3"];
    let child = place.sweep(&server, "gone", &more).spawn().unwrap();
    wait_until(PATIENCE, || server.requests().len() == 6);
    signal(&child, "-HUP");
    let (code, answer, err) = read(child.wait_with_output().unwrap());
    assert_eq!(
        (code, &answer["stopped"]["why"]),
        (Some(1), &json!("user")),
        "{err}"
    );
    assert_eq!(answer["n"], 6);
    let own = place.sweep(&server, "stays", &more);
    let mut nohup = Command::new("nohup");
    nohup
        .arg(own.get_program())
        .args(own.get_args())
        .env_clear()
        .envs(
            own.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env("PATH", "/usr/bin:/bin")
        .current_dir(place.path("."))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let before = server.requests().len();
    let child = nohup.spawn().unwrap();
    wait_until(PATIENCE, || server.requests().len() >= before + 6);
    signal(&child, "-HUP");
    let (code, answer, err) = read(child.wait_with_output().unwrap());
    assert_eq!((code, &answer["n"]), (Some(0), &json!(24)), "{err}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_twice_stops_at_once_and_what_came_is_asked_again() {
    let place = Place::new();
    let server = Server::start(vec![Script::stream().drip("tick ", 20)]);
    let child = place
        .sweep(&server, "night", &["--concurrency", "3"])
        .spawn()
        .unwrap();
    wait_until(PATIENCE, || server.requests().len() == 3);
    std::thread::sleep(Duration::from_millis(200));
    signal(&child, "-INT");
    std::thread::sleep(Duration::from_millis(300));
    let started = Instant::now();
    signal(&child, "-INT");
    let (code, answer, err) = read(child.wait_with_output().unwrap());
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!(code, Some(1), "{err}");
    assert_eq!((&answer["broken"], &answer["n"]), (&json!(3), &json!(0)));
    assert!(answer["conditions"][0]["accuracy"].is_null());
    let records = place.records("night");
    assert_eq!(records.len(), 3);
    assert!(records.iter().all(|record| record.raw.starts_with("tick ")));
    let good = Server::start_with(|_, request| good(&prompt_of(request)));
    let (code, answer, err) = finish(place.sweep(&good, "night", &["--limit", "1"]));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(
        (&answer["asked"], &answer["missing"]),
        (&json!(8), &json!(0))
    );
}

#[test]
fn calls_at_a_time_reach_the_ceiling_and_never_pass_it() {
    let place = Place::new();
    let slow =
        |_: usize, request: &Request| Script::default().pause(200).then(good(&prompt_of(request)));
    let server = Server::start_with(slow);
    let (code, answer, err) = finish(place.sweep(&server, "wide", &["--concurrency", "48"]));
    assert_eq!(code, Some(0), "{err}");
    // It starts at 32 and has to grow.
    assert_eq!(answer["most_in_flight"], 48);
    assert!(server.most_at_once() <= 48);
    assert!(server.most_at_once() > 32, "{}", server.most_at_once());

    let server = Server::start_with(slow);
    let more = ["--concurrency", "4", "--limit", "3"];
    let (_, answer, _) = finish(place.sweep(&server, "narrow", &more));
    assert_eq!(answer["most_in_flight"], 4);
    assert!(server.most_at_once() <= 4);
}

#[test]
fn an_overloaded_server_gets_less_at_a_time() {
    let place = Place::new();
    // More than twelve at a time are refused.
    let busy = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let refused = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = std::sync::Arc::clone(&refused);
    let server = Server::start_with(move |_, request| {
        use std::sync::atomic::Ordering::SeqCst;
        if busy.fetch_add(1, SeqCst) >= 12 {
            busy.fetch_sub(1, SeqCst);
            counter.fetch_add(1, SeqCst);
            return Script::answer("429 Too Many Requests", &["retry-after-ms: 50"], "{}");
        }
        std::thread::sleep(Duration::from_millis(30));
        busy.fetch_sub(1, SeqCst);
        good(&prompt_of(request))
    });
    let (code, answer, err) = finish(place.sweep(&server, "night", &["--concurrency", "64"]));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(
        (&answer["n"], &answer["missing"]),
        (&json!(INSTANCES), &json!(0))
    );
    let refused = refused.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!(answer["retries"]["rate_limited"], refused);
    // 32 at a time without giving way would be refused most of the time.
    assert!(refused < INSTANCES, "{refused}");
}

#[test]
fn when_every_call_fails_nothing_is_measured() {
    let place = Place::new();
    let body = json!({"error": {"message": "no credit left"}}).to_string();
    let server = Server::start(vec![Script::answer("402 Payment Required", &[], &body)]);
    let (code, answer, err) = finish(place.sweep(&server, "night", &["--concurrency", "4"]));
    assert_eq!(code, Some(1), "{err}");
    assert!(
        err.contains("nothing was measured") && err.contains("no credit left"),
        "{err}"
    );
    assert_eq!(answer["n"], 0);
    // It does not go on for ever.
    let asked = server.requests().len();
    assert!((20..60).contains(&asked), "{asked}");
    assert_eq!(answer["failures"]["quota"], asked);
    for row in answer["conditions"].as_array().unwrap() {
        assert!(
            row["accuracy"].is_null() && row["interval"].is_null(),
            "{row}"
        );
    }
    // A few calls that fail, too few to give up.
    let (code, answer, err) = finish(place.sweep(&server, "short", &["--limit", "1"]));
    assert_eq!(
        (code, &answer["unavailable"]),
        (Some(1), &json!(8)),
        "{err}"
    );
    assert!(
        err.contains("nothing was measured") && err.contains("the last one"),
        "{err}"
    );
}

#[test]
fn prompts_that_do_not_fit_make_no_call_and_count_in_no_rate() {
    let place = Place::new();
    let config = place.path("home").join("config");
    std::fs::create_dir_all(&config).unwrap();
    let server = Server::start_with(|_, request| good(&prompt_of(request)));
    let configure = |more: &str| {
        let text = format!(
            "[models.lab]\nmodel = \"m\"\nbase_url = \"{}\"\nprice_in = 2.0\nprice_out = 8.0\n{more}",
            server.base_url()
        );
        std::fs::write(config.join("config.toml"), text).unwrap();
    };
    let sweep = |more: &[&str]| {
        let mut program = place.program(&["sweep", "--dataset", "set", "--json", "--model", "lab"]);
        let grid = ["--scenario", "standard,sufficiency", "--docs", "0,5"];
        program.args(grid).args(["--limit", "2"]).args(more);
        finish(program)
    };
    configure("");
    let (code, plan, err) = sweep(&["--dry-run"]);
    assert_eq!(code, Some(0), "{err}");
    // A window between the prompt without documents and those with five.
    let longest = |at: usize| plan["conditions"][at]["largest_prompt"].as_u64().unwrap();
    configure(&format!(
        "window = {}\n",
        1024 + (longest(0) + longest(2)) / 2
    ));
    let (code, plan, err) = sweep(&["--dry-run"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(plan["conditions"][0]["overflow"], 0);
    assert_eq!(plan["conditions"][2]["overflow"], 2);
    assert!(plan["cost_usd_to_ask"]["prompt"].as_f64().unwrap() > 0.0);
    assert!(server.requests().is_empty());
    assert!(
        !place.path("home").join("data").exists(),
        "a dry run writes nothing"
    );

    let (code, answer, err) = sweep(&[]);
    assert_eq!(code, Some(0), "{err}");
    let overflow = answer["failures"]["overflow"].as_u64().unwrap();
    assert!(overflow >= 12, "{answer}");
    assert_eq!(server.requests().len() as u64, 16 - overflow);
    assert_eq!(answer["run"], "set-lab");
    // They are settled: going on adds no further records.
    let (_, again, _) = sweep(&[]);
    assert_eq!(
        (&again["asked"], &again["unavailable"]),
        (&json!(0), &json!(overflow))
    );
}

#[test]
fn replies_that_do_not_belong_together_are_not_mixed() {
    let place = Place::new();
    let server = Server::start_with(|_, request| good(&prompt_of(request)));
    let limit = ["--limit", "1"];
    let (code, _, err) = finish(place.sweep(&server, "night", &limit));
    assert_eq!(code, Some(0), "{err}");
    let refused = |model: &str, more: &[&str], words: &str| {
        let asked = server.requests().len();
        let more = [&limit[..], more].concat();
        let (code, answer, err) = finish(place.sweep_of(model, &server, "night", &more));
        assert_eq!((code, answer), (Some(1), Value::Null), "{err}");
        assert!(err.contains(words) && err.contains("--run"), "{err}");
        assert_eq!(server.requests().len(), asked);
    };
    refused("openai:m", &["--temperature", "0.5"], "sampling");
    refused("vllm:m", &[], "openai:m");
    let questions = place.path("set").join("qa.jsonl");
    let text = std::fs::read_to_string(&questions).unwrap();
    std::fs::write(&questions, text.replace("Does gene 24", "Can gene 24")).unwrap();
    refused("openai:m", &[], "another dataset");
    std::fs::write(&questions, text).unwrap();
    let prompts = place.path("prompts");
    std::fs::create_dir(&prompts).unwrap();
    std::fs::write(prompts.join("question.j2"), "Q: {{ question }}").unwrap();
    std::fs::write(place.path("medrgb.toml"), "prompts = \"prompts\"\n").unwrap();
    refused("openai:m", &[], "prompts");
    std::fs::remove_file(place.path("medrgb.toml")).unwrap();

    let more = ["--limit", "1", "--temperature", "0.5", "--append"];
    let (code, answer, err) = finish(place.sweep(&server, "night", &more));
    assert_eq!((code, &answer["asked"]), (Some(0), &json!(8)), "{err}");
    assert!(err.contains("note: ") && err.contains("sampling"), "{err}");
    assert_eq!(place.records("night").len(), 16);
}

#[test]
fn wrong_use_is_said_before_any_call() {
    let place = Place::new();
    let server = Server::start_with(|_, request| good(&prompt_of(request)));
    for (more, words) in [
        (&["--p", "20,101"][..], "0 to 100"),
        (&["--docs", "1001"], "1000"),
        (
            &["--scenario", "integration", "--p", "0"],
            "signal document",
        ),
        (&["--limit", "0"], "from 1"),
        (&["--concurrency", "0"], "4096"),
        (&["--scenario", "robust"], "robustness"),
        (&["--run", " "], "name"),
    ] {
        let mut program = place.program(&["sweep", "--dataset", "set", "--model", "openai:m"]);
        program.args(["--base-url", &server.base_url()]).args(more);
        let (code, _, err) = finish(program);
        assert_eq!(code, Some(2), "{more:?}: {err}");
        assert!(err.contains(words), "{more:?}: {err}");
    }
    let more = ["--scenario", "robustness"];
    let mut program = place.program(&["sweep", "--dataset", "set", "--model", "openai:m"]);
    program.args(["--base-url", &server.base_url()]).args(more);
    let (code, _, err) = finish(program);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("nothing can be asked"), "{err}");
    assert!(server.requests().is_empty());
}

#[test]
fn the_text_form_has_plan_and_table() {
    let place = Place::new();
    let server = Server::start_with(|_, request| good(&prompt_of(request)));
    let mut program = place.program(&["sweep", "--dataset", "set", "--limit", "2"]);
    program
        .args([
            "--scenario",
            "standard,integration",
            "--docs",
            "5",
            "--p",
            "0,50",
        ])
        .args(["--model", "openai:m", "--base-url", &server.base_url()]);
    let (code, out, err) = finish(program);
    assert_eq!(code, Some(0), "{err}");
    let out = out.as_str().unwrap().to_owned();
    assert!(
        out.contains("2 conditions, 4 instances: 0 done, 4 to ask"),
        "{out}"
    );
    assert!(
        out.contains("accuracy") && out.contains("95 % interval"),
        "{out}"
    );
    assert!(
        err.contains("integration with n = 5 and p = 0 % is left out"),
        "{err}"
    );
    assert!(err.contains("stored in the run \"set-openai:m\""), "{err}");
    let by_condition: HashMap<&str, usize> = [("standard", 2), ("integration", 2)].into();
    for (scenario, count) in by_condition {
        let is = |record: &&ReplyRecord| record.condition.scenario.name() == scenario;
        assert_eq!(
            place.records("set-openai:m").iter().filter(is).count(),
            count
        );
    }
}
