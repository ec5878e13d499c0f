//! What the real program says to bad input, and where it writes.

use std::path::Path;

use serde_json::{Value, json};

use crate::sweep::{Place, finish};

/// Exit code and message of a command that should fail.
fn said(place: &Place, args: &[&str]) -> (i32, String) {
    let (code, _, err) = finish(place.program(args));
    (code.unwrap(), err)
}

#[test]
fn numbers_and_addresses_are_asked_for_in_plain_words() {
    let place = Place::new();
    let compose = ["compose", "--question", "x", "--scenario", "robustness"];
    let (code, err) = said(&place, &[&compose[..], &["--seed", "-1"]].concat());
    assert_eq!(code, 2);
    assert!(!err.contains("digit found in string"), "{err}");
    let (code, err) = said(&place, &[&compose[..], &["--seed=-1"]].concat());
    assert_eq!(code, 2);
    assert!(err.contains("a whole number is expected"), "{err}");

    let ask = [
        "ask",
        "--question",
        "sample-bioasq-1",
        "--scenario",
        "standard",
    ];
    let model = ["--model", "openai:m", "--base-url", "foo", "--docs", "0"];
    let (code, err) = said(&place, &[&ask[..], &model].concat());
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("does not begin with http://"), "{err}");
    let (code, err) = said(&place, &[&ask[..], &["--temperature", "3"]].concat());
    assert_eq!(code, 2);
    assert!(err.contains("from 0 to 2"), "{err}");
}

#[test]
fn a_huge_id_with_line_ends_stays_one_short_line() {
    let place = Place::new();
    let id = format!("a\\n{}", "b".repeat(5000));
    let line = format!(
        "{{\"question_id\":\"{id}\",\"question\":\"?\",\"options\":[\"x\",\"y\"],\"answer\":\"A\"}}"
    );
    let set = place.path("huge");
    std::fs::create_dir(&set).unwrap();
    std::fs::write(set.join("qa.jsonl"), line).unwrap();
    std::fs::write(set.join("signal_docs.json"), "{}").unwrap();
    for wanted in ["zzz", &"z\n".repeat(3000)] {
        let set = set.to_str().unwrap();
        let (code, err) = said(
            &place,
            &[
                "compose",
                "--dataset",
                set,
                "--question",
                wanted,
                "--scenario",
                "robustness",
            ],
        );
        assert_eq!(code, 1, "{err}");
        let message = err.lines().last().unwrap();
        assert!(message.contains("it has 1 question, such as a bb"), "{err}");
        assert!(
            err.len() < 400 && err.trim_end().lines().count() == 1,
            "{err}"
        );
    }
}

#[test]
fn a_store_that_cant_be_made_is_said_by_doctor_and_ask() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("home")).unwrap();
    // A file where the folder should be: this stops the superuser too.
    std::fs::write(place.path("home").join("data"), "").unwrap();
    let (code, report, err) = finish(place.program(&["doctor", "--json"]));
    assert_eq!(code, Some(1), "{err}");
    let state = |name: &str| -> Value {
        let checks = report["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == name).unwrap();
        check["state"].clone()
    };
    assert_eq!(state("data folder"), json!("failed"));
    assert_eq!(state("run store"), json!("failed"));
    let (code, err) = said(
        &place,
        &[
            "ask",
            "--question",
            "sample-bioasq-1",
            "--scenario",
            "standard",
            "--docs",
            "0",
            "--model",
            "openai:m",
            "--base-url",
            "http://127.0.0.1:9/v1",
        ],
    );
    assert_eq!(code, 1);
    assert!(err.contains("--no-store"), "{err}");
}

#[cfg(unix)]
#[test]
fn outputs_never_replace_what_is_no_file() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};

    let place = Place::new();
    let set = place.path("set").display().to_string();
    let socket = place.path("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let folder = place.path("set").display().to_string();
    let export = [
        "export", "dataset", &set, "--format", "jsonl", "--force", "--out",
    ];
    for (out, expected) in [
        (socket.to_str().unwrap(), "not a regular file"),
        (&folder, "is a folder"),
        ("/nowhere/at/all.jsonl", "its folder does not exist"),
    ] {
        let (code, err) = said(&place, &[&export[..], &[out]].concat());
        assert_eq!(code, 1, "{err}");
        assert!(err.contains(expected), "{err}");
    }
    assert!(std::fs::metadata(&socket).unwrap().file_type().is_socket());

    let (code, _, err) = finish(place.program(&[&export[..], &["/dev/null"]].concat()));
    assert_eq!(code, Some(0), "{err}");
    let null = std::fs::metadata("/dev/null").unwrap();
    assert!(null.file_type().is_char_device());

    let (plain, out) = (place.path("plain"), place.path("out.jsonl"));
    std::fs::write(&plain, "").unwrap();
    let (code, _, err) = finish(place.program(&[&export[..], &[out.to_str().unwrap()]].concat()));
    assert_eq!(code, Some(0), "{err}");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&out), mode(&plain));
    let (code, _, err) = finish(place.program(&["config", "init"]));
    assert_eq!(code, Some(0), "{err}");
    let config = place.path("home").join("config/config.toml");
    assert_eq!(mode(&config), mode(&plain));
}
