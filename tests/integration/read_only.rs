//! A run store where nothing can be written: everything that only reads works, and not a byte changes.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use medrgb::data::annotations::{Annotations, FILE_NAME as ANNOTATIONS, reply_id};
use medrgb::data::dataset::Dataset;
use medrgb::data::reviews::{FILE_NAME as REVIEWS, Reviews};
use medrgb::data::store::{FILE_NAME, ReplyRecord, Store};
use medrgb::domain::annotation::{Act, Change, Event, Hand, Part};
use medrgb::domain::review::{self, Change as Decided, Verdict};
use medrgb::engine::review::listing;
use serde_json::{Value, json};

use crate::sse_server::{Script, Server};
use crate::sweep::{Place, finish};

/// Someone who owns nothing on this machine.
const NOBODY: &str = "65534";

/// Two runs and an annotation.
fn filled() -> Place {
    let place = Place::new();
    let server = Server::start(vec![Script::reply(&[
        r#"{"step_by_step_thinking": "Mice.", "answer_choice": "A"}"#,
    ])]);
    for run in ["night", "day"] {
        let (code, _, err) = finish(place.sweep(&server, run, &["--limit", "2"]));
        assert_eq!(code, Some(0), "{err}");
    }
    let data = place.path("home").join("data");
    let record = place.records("night").remove(0);
    let annotations = Annotations::open(&data.join(ANNOTATIONS)).unwrap();
    let hand = Hand {
        annotator: "me".into(),
        part: Part::Annotator,
    };
    let act = Act::Change {
        reply: reply_id(&record),
        question_id: record.question.id.clone(),
        change: Change::Done {
            done: true,
            blind: false,
        },
    };
    annotations.add("night", &hand, &event(act)).unwrap();
    reviewed(&data);
    place
}

/// Two people decide about an item of the sample.
fn reviewed(data: &Path) {
    let sample = Dataset::sample().unwrap();
    let reviews = Reviews::open(&data.join(REVIEWS)).unwrap();
    let (_, found) = listing(&sample, |_| None).remove(0);
    for annotator in ["ana", "ben"] {
        let hand = Hand {
            annotator: annotator.into(),
            part: Part::Annotator,
        };
        let accepted = Decided::Verdict(Some(Verdict::Accepted));
        let event = review::Event {
            at: String::new(),
            act: review::Act::on(&found.item, accepted),
        };
        reviews.add(&sample.name, &hand, &event).unwrap();
    }
}

fn event(act: Act) -> Event {
    Event {
        at: String::new(),
        taxonomy: "t".into(),
        act,
    }
}

/// Every file of a folder with its bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(contents(&path)),
            false => {
                found.insert(path.clone(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Lets everybody read a folder and what is in it, and its owner write or not.
fn open_to_all(folder: &Path, writable: bool) {
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let (folders, files) = match writable {
        true => (0o755, 0o644),
        false => (0o555, 0o444),
    };
    set(folder, 0o755);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => open_to_all(&path, writable),
            false => set(&path, files),
        }
    }
    set(folder, folders);
}

/// The program as someone who can't write into the place; `None` where nobody can be made of us.
fn as_reader(place: &Place, args: &[&str]) -> Option<Command> {
    let own = place.program(args);
    let id = Command::new("id").arg("-u").output().ok()?;
    let is_root = String::from_utf8_lossy(&id.stdout).trim() == "0";
    let mut program = match is_root {
        // Permissions do not stop root.
        true => {
            let mut program = Command::new("setpriv");
            program.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"]);
            program.arg(own.get_program());
            program
        }
        false => Command::new(own.get_program()),
    };
    program
        .env_clear()
        .envs(
            own.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .args(own.get_args())
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Some(program)
}

/// Whether the program can be run so at all here.
fn can_be_run(place: &Place) -> bool {
    let run = |mut program: Command| program.output().is_ok_and(|output| output.status.success());
    if as_reader(place, &["--version"]).is_some_and(run) {
        return true;
    }
    eprintln!("SKIPPED: the program can't be run as another user here (setpriv)");
    false
}

/// Runs everything that only reads, and looks at every file before and after.
fn reads_everything(place: &Place, what: &str) {
    let home = place.path("home");
    let root = home.parent().unwrap().to_owned();
    let out = tempfile::tempdir().unwrap();
    std::fs::set_permissions(out.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let to = |name: &str| out.path().join(name).display().to_string();
    let before = contents(&home);
    open_to_all(&root, false);
    let run = |args: &[&str]| {
        let (code, value, err) = finish(as_reader(place, args).unwrap());
        assert_eq!(code, Some(0), "{what}, {args:?}: {err}");
        value
    };
    let listed = run(&["runs", "list", "--json"]);
    assert_eq!(listed["runs"].as_array().unwrap().len(), 2, "{what}");
    let shown = run(&["runs", "show", "night", "--json"]);
    assert!(shown["replies"].as_u64().unwrap() >= 16, "{what}: {shown}");
    let file = to("night.jsonl");
    run(&["runs", "export", "night", "--out", &file]);
    let lines = std::fs::read_to_string(&file).unwrap().lines().count();
    assert_eq!(Value::from(lines), shown["replies"], "{what}");
    run(&["export", "run", "night", "--out", &to("night.csv")]);
    let report = run(&["report", "--run", "night", "--format", "json"]);
    assert!(report["tables"].is_array(), "{what}: {report}");
    let compared = run(&["compare", "night", "day", "--json"]);
    assert_eq!(compared["pairs"], 16, "{what}");
    let annotated = run(&["annotate", "list", "--json"]);
    assert_eq!(annotated["runs"].as_array().unwrap().len(), 1, "{what}");
    run(&["annotate", "export", "--out", &to("notes.jsonl")]);
    let decided = run(&["build", "review", "list", "--json"]);
    let reviewers = decided["datasets"][0]["reviewers"].as_array();
    assert_eq!(reviewers.map(Vec::len), Some(2), "{what}: {decided}");
    let file = to("decisions.jsonl");
    run(&["build", "review", "export", "--out", &file]);
    let lines = std::fs::read_to_string(&file).unwrap().lines().count();
    assert_eq!(lines, 2, "{what}");
    let agreed = run(&["build", "review", "agreement", "--json"]);
    assert_eq!(agreed["agreement"][0]["items"], 1, "{what}: {agreed}");
    run(&["build", "review", "apply", "--out", &to("applied")]);
    // What would write says so in one sentence.
    let (code, _, err) = finish(as_reader(place, &["runs", "rm", "night", "--yes"]).unwrap());
    assert_eq!(code, Some(1), "{what}: {err}");
    assert_eq!(err.trim_end().lines().count(), 1, "{what}: {err}");
    assert!(!err.contains("panicked"), "{what}: {err}");
    open_to_all(&root, true);
    let after = contents(&home);
    let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&before), names(&after), "{what}: a file came or went");
    assert!(before == after, "{what}: a file changed");
}

#[test]
fn a_store_in_a_folder_that_can_not_be_written_is_read_and_left_as_it_is() {
    let place = filled();
    open_to_all(place.path("home").parent().unwrap(), true);
    if can_be_run(&place) {
        reads_everything(&place, "put away in order");
    }
}

#[test]
fn a_store_that_a_killed_process_left_is_read_too() {
    let place = filled();
    let data = place.path("home").join("data");
    open_to_all(place.path("home").parent().unwrap(), true);
    if !can_be_run(&place) {
        return;
    }
    // Files as they are in the middle of the work: the newest reply stands only in the log.
    let store = Store::open(&data.join(FILE_NAME)).unwrap();
    let newest = ReplyRecord {
        created_at: "2030-01-01T00:00:00Z".into(),
        ..place.records("night").remove(0)
    };
    store.insert(&newest).unwrap();
    let dead = tempfile::tempdir().unwrap();
    let names = ["", "-wal", "-shm"].map(|ending| format!("{FILE_NAME}{ending}"));
    for name in &names {
        std::fs::copy(data.join(name), dead.path().join(name)).unwrap();
    }
    drop(store);
    for (with_index, what) in [(true, "killed"), (false, "killed, without the log's index")] {
        for name in &names {
            let _ = std::fs::remove_file(data.join(name));
            if with_index || !name.ends_with("-shm") {
                std::fs::copy(dead.path().join(name), data.join(name)).unwrap();
            }
        }
        reads_everything(&place, what);
    }
    let records = place.records("night");
    assert_eq!(records.len(), 17);
    assert!(
        records
            .iter()
            .any(|record| record.created_at == newest.created_at)
    );
}

#[test]
fn reading_leaves_no_trace_where_it_could_write() {
    let place = filled();
    let home = place.path("home");
    let before = contents(&home.join("data"));
    for args in [
        &["runs", "list"][..],
        &["report", "--run", "night"],
        &["compare", "night", "day"],
        &["annotate", "list"],
        &["build", "review", "list"],
        &["build", "review", "agreement"],
    ] {
        let (code, _, err) = finish(place.program(args));
        assert_eq!(code, Some(0), "{err}");
    }
    assert!(contents(&home.join("data")) == before);
    let (code, listed, _) = finish(place.program(&["runs", "list", "--json"]));
    assert_eq!((code, &listed["runs"][0]["replies"]), (Some(0), &json!(16)));
}
