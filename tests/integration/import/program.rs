//! The real program: exit codes, one JSON object, what is said where.

use std::process::{Command, Output};

use super::House;

fn program(house: &House, args: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_medrgb"));
    program.env_clear().env("HOME", house.dir.path());
    for (variable, folder) in [
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_STATE_HOME", "state"),
    ] {
        program.env(variable, house.path(folder));
    }
    program
        .current_dir(house.dir.path())
        .args(args)
        .output()
        .unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn in_and_out_again() {
    let house = House::new();
    house.file(
        "q.jsonl",
        "{\"id\":\"a\",\"question\":\"Q?\",\"options\":[\"x\",\"y\"],\"answer\":\"x\"}\n{}\n",
    );
    let output = program(&house, &["import", "q.jsonl", "--json"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (report["kind"].as_str(), report["guessed"].as_bool()),
        (Some("jsonl"), Some(true))
    );
    assert_eq!(report["sets"][0]["questions"], 1);
    assert_eq!(report["bad"], 1);
    assert!(house.path("q/manifest.json").is_file());

    let output = program(&house, &["import", "jsonl", "q.jsonl"]);
    assert_eq!(code(&output), 1);
    assert!(text(&output.stderr).contains("q exists already"));
    let output = program(&house, &["import", "jsonl", "q.jsonl", "--force"]);
    assert_eq!(code(&output), 0);
    assert!(text(&output.stdout).contains("q: 1 questions"));
    let said = text(&output.stderr);
    assert!(
        said.contains("question ← question") && said.contains("bad parts of records: 1"),
        "{said}"
    );

    for (format, file) in [
        ("csv", "o.csv"),
        ("parquet", "o.parquet"),
        ("jsonl", "o.jsonl"),
    ] {
        let output = program(
            &house,
            &[
                "export", "dataset", "q", "--format", format, "--out", file, "--json",
            ],
        );
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (said["file"].as_str(), said["questions"].as_u64()),
            (Some(file), Some(1))
        );
    }
    let output = program(&house, &["export", "dataset", "q", "--out", "o.jsonl"]);
    assert_eq!(code(&output), 1);

    house.file("p.jsonl", "{\"id\":\"a\",\"response\":\"A\"}\n");
    let output = program(
        &house,
        &[
            "import",
            "p.jsonl",
            "--dataset",
            "q",
            "--run",
            "mine",
            "-m",
            "gpt-x",
        ],
    );
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).contains("run \"mine\": 1 replies and 0 failed calls of gpt-x on q")
    );
    let output = program(
        &house,
        &["export", "run", "mine", "-f", "inspect", "-o", "log.json"],
    );
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let output = program(&house, &["export", "run", "other", "-o", "x.jsonl"]);
    assert_eq!(code(&output), 1);
    assert!(text(&output.stderr).contains("\"mine\""));
}

#[test]
fn wrong_use_is_exit_code_2() {
    let house = House::new();
    house.file("x.txt", "hello");
    house.file("q.jsonl", "{}");
    house.file("wrong.toml", "answer_start = 2");
    for args in [
        vec!["import"],
        vec!["import", "medrgb"],
        vec!["import", "nonsense", "q.jsonl"],
        vec!["import", "q.jsonl", "--mapping", "wrong.toml"],
        vec!["export", "dataset", "q", "--format", "xml", "--out", "x"],
        vec![
            "export", "dataset", "q", "--format", "inspect", "--out", "x",
        ],
    ] {
        let output = program(&house, &args);
        assert_eq!(code(&output), 2, "{args:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_file_that_is_missing_or_nothing_known_is_exit_code_1() {
    let house = House::new();
    house.file("x.txt", "hello");
    house.file("q.jsonl", "{}");
    for (args, said) in [
        (vec!["import", "jsonl", "q.jsonl"], "no field was found"),
        (vec!["import", "none.jsonl"], "none.jsonl does not exist"),
        (
            vec!["import", "jsonl", "none.jsonl"],
            "none.jsonl does not exist",
        ),
        (
            vec!["import", "none.jsonl", "q.jsonl"],
            "none.jsonl does not exist",
        ),
        (vec!["import", "x.txt"], "is nothing that is known"),
        (
            vec!["import", "q.jsonl", "--mapping", "none.toml"],
            "none.toml can't be read",
        ),
    ] {
        let output = program(&house, &args);
        let err = text(&output.stderr);
        assert_eq!(code(&output), 1, "{args:?}: {err}");
        assert!(
            err.contains(said) && output.stdout.is_empty(),
            "{args:?}: {err}"
        );
    }
}
