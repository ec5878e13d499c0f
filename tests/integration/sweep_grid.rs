//! Sweeps over datasets, modes and sources; what they say before, meanwhile and when something is in their way.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

#[cfg(unix)]
use crate::process::signal;
use crate::process::wait_until;
use crate::sse_server::{Request, Script, Server};
use crate::sweep::{Place, finish};

const PATIENCE: Duration = Duration::from_secs(60);

const ANSWER: &str = "{\"answer_choice\": \"A\"}";

fn yes() -> Server {
    Server::start(vec![Script::reply(&[ANSWER])])
}

/// A second dataset beside the place's own: three questions with documents of both sources.
fn add_dataset(place: &Place, name: &str) {
    let set = place.path(name);
    std::fs::create_dir(&set).unwrap();
    let mut lines = String::new();
    let mut documents = serde_json::Map::new();
    for q in 0..3 {
        let id = format!("{name}-{q}");
        let line = json!({"question_id": id, "question": format!("Does {name} {q} help?"),
            "options": {"A": "yes", "B": "no"}, "answer": "A"});
        lines += &format!("{line}\n");
        let own: Vec<Value> = (0..6)
            .map(|d| json!({"id": format!("{name}{q}-{d}"), "content": format!("Trial {d} of {name} {q}."),
                "source": if d % 2 == 0 { "offline" } else { "online" }}))
            .collect();
        documents.insert(id, own.into());
    }
    std::fs::write(set.join("qa.jsonl"), lines).unwrap();
    let documents = Value::Object(documents).to_string();
    std::fs::write(set.join("signal_docs.json"), documents).unwrap();
}

fn prompt_of(request: &Request) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    let content = &messages.last().unwrap()["content"];
    content.as_str().unwrap().to_owned()
}

fn sweep(place: &Place, server: &Server, more: &[&str]) -> (Option<i32>, Value, String) {
    let mut program = place.program(&["sweep", "--model", "openai:m", "--json"]);
    program.args(["--base-url", &server.base_url()]).args(more);
    finish(program)
}

/// One question without documents: one call.
const SMALL: [&str; 8] = [
    "--dataset",
    "set",
    "--scenario",
    "standard",
    "--docs",
    "0",
    "--run",
    "r",
];

#[test]
fn without_flags_it_is_the_papers_grid() {
    let place = Place::new();
    add_dataset(&place, "both");
    let server = yes();
    let plan = |set: &str| {
        let (code, plan, err) = sweep(&place, &server, &["--dataset", set, "--dry-run"]);
        assert_eq!(code, Some(0), "{err}");
        plan
    };
    let both = plan("both");
    assert_eq!(both["conditions"].as_array().unwrap().len(), 39);
    let standard: Vec<(u64, String)> = both["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["scenario"] == "standard")
        .map(|row| {
            assert!(row["p"].is_null(), "standard has no p: {row}");
            let source = row["source"].as_str().unwrap().to_owned();
            (row["docs"].as_u64().unwrap(), source)
        })
        .collect();
    let expected = [
        (0, "any"),
        (5, "offline"),
        (5, "online"),
        (20, "offline"),
        (20, "online"),
    ];
    assert_eq!(standard, expected.map(|(n, source)| (n, source.to_owned())));
    assert_eq!(plan("set")["conditions"].as_array().unwrap().len(), 37);
    assert!(server.requests().is_empty());
}

#[test]
fn datasets_modes_and_sources_are_one_run() {
    let place = Place::new();
    add_dataset(&place, "one");
    add_dataset(&place, "two");
    let server = yes();
    let plan = format!(
        "dataset = [\"one\", \"two\"]\nscenario = \"sufficiency\"\ndocs = [3]\np = [100]\nmode = [\"nested\", \"independent\"]\n\
         source = [\"offline\", \"online\"]\nmodel = \"openai:m\"\nseed = 3\nlimit = 2\nrun = \"joined\"\nbase_url = \"{}\"\n",
        server.base_url()
    );
    std::fs::write(place.path("plan.toml"), plan).unwrap();
    let run = || finish(place.program(&["sweep", "--plan", "plan.toml", "--json"]));
    let (code, done, err) = run();
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(done["sweeps"].as_array().unwrap().len(), 2);
    // Two datasets, two questions, two modes, two sources.
    assert_eq!(
        (&done["totals"]["instances"], &done["totals"]["datasets"]),
        (&json!(16), &json!(2))
    );
    assert_eq!(done["totals"]["conditions"], 8);
    let records = place.records("joined");
    let kinds: BTreeSet<(String, String, String)> = records
        .iter()
        .map(|record| {
            assert_eq!(record.condition.seed, 3);
            let sources: BTreeSet<_> = record
                .context
                .documents
                .iter()
                .map(|document| format!("{:?}", document.source))
                .collect();
            assert_eq!(sources.len(), 1, "documents of one source only");
            (
                record.dataset.clone(),
                record.condition.mode.name().to_owned(),
                record.condition.source.name().to_owned(),
            )
        })
        .collect();
    assert_eq!((records.len(), kinds.len()), (16, 8));
    // The same again asks nothing, and one dataset alone is another thing than both.
    let asked = server.request_count();
    let (code, again, err) = run();
    assert_eq!(
        (code, &again["totals"]["to_ask"]),
        (Some(0), &json!(0)),
        "{err}"
    );
    assert_eq!(server.request_count(), asked);
    let alone = [
        "--dataset",
        "one",
        "--run",
        "joined",
        "--scenario",
        "sufficiency",
    ];
    let (code, _, err) = sweep(&place, &server, &alone);
    assert_eq!(code, Some(1));
    assert!(
        err.contains("another dataset") && err.contains("--append"),
        "{err}"
    );

    // The manifest has an entry for each dataset, with all that is needed to repeat it.
    let (_, manifest, _) = finish(place.program(&["runs", "show", "joined", "--json"]));
    let sweeps = manifest["sweeps"].as_array().unwrap();
    assert_eq!(sweeps.len(), 2, "a start that has nothing to do is none");
    assert_eq!(
        (&sweeps[0]["dataset"], &sweeps[0]["question_ids"]),
        (&json!("one"), &json!(["one-0", "one-1"]))
    );
    assert_eq!(
        (&sweeps[1]["dataset"], &sweeps[1]["limit"]),
        (&json!("two"), &json!(2))
    );
    let prompts = sweeps[0]["prompts_sha256"].as_object().unwrap();
    let hash = prompts["sufficiency.user.j2"].as_str().unwrap();
    assert!(
        hash.len() == 64 && prompts.contains_key("judge.j2"),
        "{prompts:?}"
    );

    // The text tells rows apart, and sums up over all.
    let mut program = place.program(&["sweep", "--plan", "plan.toml", "--dry-run"]);
    program.args(["--repeats", "2", "--seeds", "0,5"]);
    let (code, text, err) = finish(program);
    assert_eq!(code, Some(0), "{err}");
    let text = text.as_str().unwrap();
    for part in [
        "one, openai:m, repeat 2 of 2, sampler's seed 1",
        "offline ind s5",
        "over 2 datasets, 2 repeats, 2 seeds: 16 conditions, 64 instances: 0 done, 64 to ask",
        "time: about",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("sufficiency"))
        .collect();
    let of_part = &rows[..8];
    let different: BTreeSet<&&str> = of_part.iter().collect();
    assert_eq!((rows.len(), different.len()), (32, 8));
}

#[test]
fn plans_that_can_not_be_are_refused_at_once() {
    let place = Place::new();
    let server = yes();
    let numbers = |range: std::ops::Range<usize>| {
        let words: Vec<String> = range.map(|n| n.to_string()).collect();
        words.join(", ")
    };
    let huge = format!(
        "docs = [{}]\nseeds = [{}]\n",
        numbers(1..400),
        numbers(0..2000)
    );
    std::fs::write(place.path("huge.toml"), huge).unwrap();
    let mut large = "# nothing\n".repeat(200_000);
    large.push_str("docs = [5]\n");
    std::fs::write(place.path("large.toml"), large).unwrap();
    for (plan, code, part) in [
        ("huge.toml", 2, "10000000 are the most"),
        ("large.toml", 2, "larger than 1048576 bytes"),
        #[cfg(unix)]
        ("/dev/zero", 2, "pipe, a socket or a device"),
    ] {
        let started = Instant::now();
        let more = ["--dataset", "set", "--plan", plan, "--dry-run"];
        let (found, _, err) = sweep(&place, &server, &more);
        assert_eq!(found, Some(code), "{plan}: {err}");
        assert!(err.contains(part), "{plan}: {err}");
        assert_eq!(err.trim().lines().count(), 1, "{err}");
        assert!(started.elapsed() < Duration::from_secs(20));
    }
    for dry in [&["--only-failed", "--dry-run"][..], &["--only-failed"]] {
        let (code, _, err) = sweep(&place, &server, &[&SMALL[..], dry].concat());
        assert_eq!(code, Some(1), "{err}");
        assert!(err.contains("no run \"r\""), "{err}");
    }
    // A request larger than a minute's tokens.
    let (code, _, err) = sweep(&place, &server, &[&SMALL[..], &["--tpm", "100"]].concat());
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("100 a minute are allowed"), "{err}");
    assert!(server.requests().is_empty());
}

#[test]
fn what_does_not_fit_is_counted_apart() {
    let place = Place::new();
    let server = yes();
    let config = place.path("home").join("config");
    std::fs::create_dir_all(&config).unwrap();
    let configure = |window: u64| {
        let text = format!(
            "[models.lab]\nmodel = \"m\"\nbase_url = \"{}\"\nprice_in = 1.0\nprice_out = 1000.0\nmax_tokens = 100\nwindow = {window}\n",
            server.base_url()
        );
        std::fs::write(config.join("config.toml"), text).unwrap();
    };
    let run = |more: &[&str]| {
        let mut program = place.program(&["sweep", "--dataset", "set", "--model", "lab"]);
        program
            .args([
                "--scenario",
                "standard",
                "--docs",
                "0,5",
                "--limit",
                "3",
                "--run",
                "r",
            ])
            .args(more);
        finish(program)
    };
    configure(100_000);
    let (_, plan, _) = run(&["--json", "--dry-run"]);
    let longest = |at: usize| plan["conditions"][at]["largest_prompt"].as_u64().unwrap();
    assert!(longest(0) < longest(1));
    configure(100 + (longest(0) + longest(1)) / 2);
    let (code, plan, err) = run(&["--json", "--dry-run"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(
        (&plan["to_ask"], &plan["too_long"], &plan["instances"]),
        (&json!(3), &json!(3), &json!(6))
    );
    let cost = plan["cost_usd_to_ask"]["reply_at_most"].as_f64().unwrap();
    assert!((cost - 3.0 * 100.0 * 1000.0 / 1e6).abs() < 1e-9, "{cost}");
    let (_, text, _) = run(&["--dry-run"]);
    assert!(
        text.as_str()
            .unwrap()
            .contains("3 instances do not fit the model's window"),
        "{text}"
    );
    let (code, done, err) = run(&["--json"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(
        (&done["missing"], &done["too_long"]),
        (&json!(3), &json!(3))
    );
    assert_eq!(server.request_count(), 3);
    assert!(
        err.contains("3 instances have a reply, 0 are missing; 3 more do not fit")
            && !err.contains("goes on"),
        "{err}"
    );
}

#[test]
fn replies_without_counts_of_tokens_are_not_free() {
    let place = Place::new();
    let config = place.path("home").join("config");
    std::fs::create_dir_all(&config).unwrap();
    let server = Server::start(vec![Script::stream().text(ANSWER).finish("stop").done()]);
    let text = format!(
        "[models.lab]\nmodel = \"m\"\nbase_url = \"{}\"\nprice_in = 1.0\nprice_out = 2.0\n",
        server.base_url()
    );
    std::fs::write(config.join("config.toml"), text).unwrap();
    let mut program = place.program(&["sweep", "--model", "lab", "--json", "--limit", "2"]);
    program.args(SMALL);
    let (code, done, err) = finish(program);
    assert_eq!(code, Some(0), "{err}");
    assert!(done["usage"]["cost_usd"].is_null(), "{done}");
    assert_eq!(done["usage"]["replies_without_usage"], 2);
    assert!(
        err.contains("cost unknown") && !err.contains("$0.00"),
        "{err}"
    );
}

#[test]
fn pages_instead_of_replies_are_tried_again_and_large_replies_name_the_limit() {
    let place = Place::new();
    let page = Script::answer(
        "200 OK",
        &["Content-Type: text/html"],
        "<html><title>Busy</title></html>",
    );
    let server = Server::start_with(move |number, _| match number {
        0 => page.clone(),
        _ => Script::reply(&[ANSWER]),
    });
    let (code, done, err) = sweep(&place, &server, &[&SMALL[..], &["--limit", "1"]].concat());
    assert_eq!((code, &done["n"]), (Some(0), &json!(1)), "{err}");
    assert_eq!(done["retries"]["malformed"], 1);

    let long = "x".repeat(1 << 20);
    let large = Server::start(vec![Script::reply(&[&long, &long, &long, &long, &long])]);
    let more = [&SMALL[..6], &["--run", "large", "--limit", "1"]].concat();
    let (code, _, err) = sweep(&place, &large, &more);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("size limit of 4 MiB"), "{err}");
}

/// While it only waits it says so, and one Ctrl-C ends it.
#[cfg(unix)]
#[test]
fn waiting_is_said_and_given_up_at_once() {
    let place = Place::new();
    let wait = ["retry-after: 100"];
    let server = Server::start(vec![Script::answer("429 Too Many Requests", &wait, "{}")]);
    let mut program = place.program(&["sweep", "--model", "openai:m", "--json", "--limit", "3"]);
    program.args(["--base-url", &server.base_url()]).args(SMALL);
    let child = program.spawn().unwrap();
    wait_until(PATIENCE, || server.request_count() == 3);
    // A tick later it is said.
    std::thread::sleep(Duration::from_millis(1_500));
    let started = Instant::now();
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    assert!(started.elapsed() < Duration::from_secs(20));
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(
        err.contains(
            "all 3 calls wait before another attempt (rate limited): the first goes on in 1 min"
        ),
        "{err}"
    );
    let done: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&done["stopped"]["why"], &done["n"]),
        (&json!("user"), &json!(0))
    );
    assert_eq!(server.request_count(), 3, "no further attempt");
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_full_disk_refuses_lies_in_one_file_and_is_not_asked_again() {
    let place = Place::new();
    let server = yes();
    let grid = [
        "--dataset",
        "set",
        "--scenario",
        "standard",
        "--docs",
        "0,5",
        "--run",
        "full",
    ];
    // The store can't grow beyond this many blocks of 512 or 1024 bytes, and neither can any other file.
    let mut program = place.program(&[
        "sweep",
        "--model",
        "openai:m",
        "--json",
        "--concurrency",
        "4",
    ]);
    program.args(["--base-url", &server.base_url()]).args(grid);
    let mut limited = std::process::Command::new("sh");
    limited
        .args(["-c", "ulimit -f 300; exec \"$0\" \"$@\""])
        .arg(program.get_program())
        .args(program.get_args())
        .env_clear()
        .envs(
            program
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env("PATH", "/usr/bin:/bin")
        .current_dir(place.path("."))
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let (code, done, err) = finish(limited);
    assert_eq!(code, Some(1), "{err}");
    assert_eq!(done["stopped"]["why"], "store");
    let asked = server.request_count();
    assert!(asked < 50, "it stopped early: {asked}");
    let data = place.path("home").join("data");
    let files: Vec<_> = std::fs::read_dir(&data)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains("unsaved-"))
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let file = files[0].display().to_string();
    assert_eq!(err.matches("could not be stored").count(), 1, "{err}");
    assert!(err.contains(&file), "{err}");
    // At most as many as may be under way or wait to be stored.
    let lines = std::fs::read_to_string(&files[0]).unwrap().lines().count();
    assert!((1..=8).contains(&lines), "{lines}");
    assert_eq!(place.records("full").len() + lines, asked);

    let (code, imported, err) = finish(place.program(&["runs", "import", &file, "--json"]));
    assert_eq!(
        (code, &imported["imported"]),
        (Some(0), &json!(lines)),
        "{err}"
    );
    let (code, done, err) = sweep(&place, &server, &grid);
    assert_eq!((code, &done["missing"]), (Some(0), &json!(0)), "{err}");
    assert_eq!(server.request_count(), 50, "nothing was asked twice");
    let prompts: BTreeSet<String> = server.requests().iter().map(prompt_of).collect();
    assert_eq!(prompts.len(), 50);
}

#[test]
fn exports_keep_manifest_and_judgements() {
    let place = Place::new();
    let judge = Server::start(vec![Script::reply(&[
        "{\"reasoning\": \"same\", \"score\": 1}",
    ])]);
    let answer = json!({"sub_1": {"answer": "5 mg"}, "sub_2": {"answer": "6 mg"}, "main": {"answer_choice": "A"}});
    let replies = Server::start(vec![Script::reply(&[&answer.to_string()])]);
    let mut program = place.program(&["sweep", "--model", "openai:m", "--json", "--limit", "2"]);
    program
        .args(["--base-url", &replies.base_url(), "--run", "judged"])
        .args(["--scenario", "integration", "--docs", "5", "--p", "60"])
        .args(["--judge", "openai:j", "--judge-base-url", &judge.base_url()]);
    let (code, done, err) = finish(program);
    assert_eq!(code, Some(0), "{err}");
    let made = done["judge"]["judgements_made"].as_u64().unwrap();
    assert!(made > 0, "{done}");

    let (code, _, err) = finish(place.program(&["runs", "export", "judged", "-o", "out.jsonl"]));
    assert_eq!(code, Some(0), "{err}");
    let (_, before, _) = finish(place.program(&["runs", "show", "judged", "--json"]));
    // Read as an earlier version reads it: a record, whatever else stands beside.
    let text = std::fs::read_to_string(place.path("out.jsonl")).unwrap();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert!(serde_json::from_value::<medrgb::data::store::ReplyRecord>(first).is_ok());
    let (code, _, err) = finish(place.program(&["runs", "rm", "judged", "--yes"]));
    assert_eq!(code, Some(0), "{err}");
    let import = || finish(place.program(&["runs", "import", "out.jsonl", "--json"]));
    let (code, imported, err) = import();
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(
        (&imported["imported"], &imported["judgements"]),
        (&json!(2), &json!(made))
    );
    let (_, after, _) = finish(place.program(&["runs", "show", "judged", "--json"]));
    assert_eq!(after["sweeps"], before["sweeps"]);
    assert_eq!(after["sweeps"][0]["judge"], "openai:j");
    // Twice is once.
    let (_, again, _) = import();
    assert_eq!(
        (
            &again["imported"],
            &again["judgements"],
            &again["already_there"]
        ),
        (&json!(0), &json!(0), &json!(2))
    );
    let (_, after, _) = finish(place.program(&["runs", "show", "judged", "--json"]));
    assert_eq!(after["sweeps"], before["sweeps"]);
    // The judge has nothing left to do.
    let calls = judge.request_count();
    let mut program = place.program(&[
        "rescore", "--run", "judged", "--judge", "openai:j", "--json",
    ]);
    program.args(["--base-url", &judge.base_url()]);
    let (code, scored, err) = finish(program);
    assert_eq!(
        (code, &scored["judgements_made"]),
        (Some(0), &json!(0)),
        "{err}"
    );
    assert_eq!(judge.request_count(), calls);

    // Older exports hold neither.
    let old: Vec<String> = text
        .lines()
        .map(|line| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            let fields = record.as_object_mut().unwrap();
            fields.remove("judgements");
            fields.remove("sweeps");
            record.to_string()
        })
        .collect();
    std::fs::write(place.path("old.jsonl"), old.join("\n")).unwrap();
    let import = ["runs", "import", "old.jsonl", "--json", "--run", "old"];
    let (code, imported, err) = finish(place.program(&import));
    assert_eq!((code, &imported["imported"]), (Some(0), &json!(2)), "{err}");
}

#[test]
fn a_judge_that_fails_takes_nothing_away() {
    let place = Place::new();
    let answer = json!({"sub_1": {"answer": "5 mg"}, "main": {"answer_choice": "A"}});
    let replies = Server::start(vec![Script::reply(&[&answer.to_string()])]);
    let run = |judge: &Server, name: &str, json: bool| {
        let mut program = place.program(&["sweep", "--model", "openai:m", "--limit", "1"]);
        program
            .args(["--base-url", &replies.base_url(), "--run", name])
            .args(["--scenario", "integration", "--docs", "5", "--p", "60"])
            .args(["--judge", "openai:j", "--judge-base-url", &judge.base_url()]);
        if json {
            program.arg("--json");
        }
        finish(program)
    };
    let body = json!({"error": {"message": "no credit left"}}).to_string();
    let broke = Server::start(vec![Script::answer("402 Payment Required", &[], &body)]);
    let (code, done, err) = run(&broke, "a", true);
    assert_eq!((code, &done["n"]), (Some(1), &json!(1)), "{err}");
    let said = done["judge"]["failure"].as_str().map(str::to_owned);
    let told = said.unwrap_or_else(|| err.clone());
    assert!(
        told.contains("no credit left") || told.contains("judge"),
        "{done} {err}"
    );
    let (code, table, err) = run(&broke, "b", false);
    assert_eq!(code, Some(1), "{err}");
    assert!(table.as_str().unwrap().contains("accuracy"), "{table}");

    let vague = Server::start(vec![Script::reply(&["Who knows."])]);
    let (code, done, err) = run(&vague, "c", true);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("no judgement that can be read"), "{err}");
    assert_eq!(done["n"], 1);
    let mut program = place.program(&["rescore", "--run", "c", "--judge", "openai:j", "--json"]);
    program.args(["--base-url", &vague.base_url()]);
    let (code, _, err) = finish(program);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("no judgement that can be read"), "{err}");
}

#[test]
fn batch_files_that_are_none_are_refused_in_one_sentence() {
    let place = Place::new();
    let server = yes();
    let grid = [&SMALL[..], &["--limit", "2"]].concat();
    let (code, _, err) = sweep(
        &place,
        &server,
        &[&grid[..], &["--batch-out", "out"]].concat(),
    );
    assert_eq!(code, Some(0), "{err}");
    let files: BTreeMap<&str, (&str, &str)> = [
        ("empty.jsonl", ("", "holds no line")),
        ("list.jsonl", ("[1, 2]\n", "line 1: this is an array")),
        (
            "nobody.jsonl",
            (
                "{\"response\": {\"body\": {}}}\n",
                "\"custom_id\" is missing",
            ),
        ),
        (
            "nothing.jsonl",
            (
                "{\"custom_id\": \"x\"}\n",
                "neither a response nor an error",
            ),
        ),
    ]
    .into();
    for (name, (text, _)) in &files {
        std::fs::write(place.path(name), text).unwrap();
    }
    let mut cases: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, (_, part))| (*name, *part))
        .collect();
    cases.push(("out/batch-001.jsonl", "line 1 is a request"));
    for (name, part) in cases {
        let (code, _, err) = sweep(
            &place,
            &server,
            &[&grid[..], &["--batch-in", name]].concat(),
        );
        assert_eq!(code, Some(1), "{name}: {err}");
        assert!(err.contains(part) && err.contains(name), "{name}: {err}");
        assert!(place.records("r").is_empty(), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn single_replies_do_not_join_a_run_that_a_sweep_holds() {
    let place = Place::new();
    let slow = Server::start(vec![Script::stream().drip("tick ", 20)]);
    let mut program = place.program(&["sweep", "--model", "openai:m", "--limit", "1"]);
    program.args(["--base-url", &slow.base_url()]).args(SMALL);
    let mut child = program.spawn().unwrap();
    wait_until(PATIENCE, || !slow.requests().is_empty());
    let mut program = place.program(&["ask", "--dataset", "set", "--question", "q1", "--run", "r"]);
    program.args(["--model", "openai:m", "--base-url", &slow.base_url()]);
    let (code, _, err) = finish(program);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("\"r\" is in use"), "{err}");
    assert_eq!(slow.request_count(), 1);
}
