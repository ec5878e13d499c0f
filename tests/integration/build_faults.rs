//! Builds with something broken: requests that fail for good, damaged files, questions that are left over.

use serde_json::json;

use crate::build::{ALL, DOCUMENTS, Place, QUESTIONS, between, files, good, prompt, says};
use crate::sse_server::{Script, Server};
use crate::sweep::finish;

/// Fails for ever at the sub-question of each question's second document; one half is refused, the other times out.
fn stubborn() -> Server {
    Server::start_with(|_, request| {
        let text = prompt(request);
        let sub = !text.contains("\"topics\"") && !text.contains("\"new_answer\"");
        let marker = between(&text, "Gene ", " ");
        let number = between(marker, "marker", "x").parse().unwrap_or(0);
        match sub && marker.ends_with("x1") {
            false => says(&good(request)),
            true if number % 2 == 0 => Script::json(
                "400 Bad Request",
                &json!({"error": {"message": "no such thing"}}),
            ),
            true => Script::default()
                .send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: x")
                .drip("x", 100),
        }
    })
}

#[test]
fn requests_that_fail_for_good_do_not_end_the_next_run() {
    let (server, place) = (stubborn(), Place::new());
    place.generated();
    let args = [&ALL[..], &["--call-timeout", "1", "--repairs", "0"]].concat();
    let good = QUESTIONS * (DOCUMENTS - 1);
    for _ in 0..2 {
        let (code, out, err) = finish(place.build(&server, &args));
        assert_eq!(code, Some(0), "{err}");
        assert_eq!(out["stages"][2]["made"], good, "{err}");
        assert_eq!(out["stages"][3]["made"], good, "the later stage: {err}");
        assert!(err.contains("subqa: no reply for 20 items"), "{err}");
    }
    // The last run has asked for some of them again, and not for all.
    let report = std::fs::read_to_string(place.path("set/report.json")).unwrap();
    assert!(report.contains("was not asked again"), "{report}");
}

#[test]
fn a_damaged_file_says_how_to_go_on_and_all_comes_back_without_asking() {
    let (server, place) = (
        Server::start_with(|_, request| says(&good(request))),
        Place::new(),
    );
    place.generated();
    let all = [&ALL[..], &["--limit", "2"]].concat();
    let (code, _, err) = finish(place.build(&server, &all));
    assert_eq!(code, Some(0), "{err}");
    let (before, asked) = (files(&place.path("set")), server.requests().len());
    for name in [
        "topics.json",
        "signal_docs.json",
        "subqa_pairs.json",
        "counterfactual_docs.json",
        "report.json",
        "manifest.json",
    ] {
        place.write(&format!("set/{name}"), "{\"q0\": [");
        let (code, _, err) = finish(place.build(&server, &all));
        assert_eq!(code, Some(1), "{name}: {err}");
        assert!(err.contains(name) && err.contains("delete it"), "{err}");
        std::fs::remove_file(place.path("set").join(name)).unwrap();
        let (code, _, err) = finish(place.build(&server, &all));
        assert_eq!(code, Some(0), "{name}: {err}");
        for (file, bytes) in &before {
            // What went for it is told in a file of its own.
            let now = std::fs::read(place.path("set").join(file)).unwrap();
            assert_eq!(&now, bytes, "{name}: {file}");
        }
    }
    assert_eq!(server.requests().len(), asked, "the ledger has it all");
    // A line of the ledger that is broken: without it only what it answered is asked again.
    let ledger = std::fs::read_to_string(place.path("set/ledger.jsonl")).unwrap();
    let lines: Vec<&str> = ledger.lines().collect();
    let at = lines
        .iter()
        .rposition(|line| line.contains("\"kind\":\"call\""))
        .unwrap();
    let with = |line: &[&str]| {
        [&lines[..at], line, &lines[at + 1..], &[""]]
            .concat()
            .join("\n")
    };
    place.write("set/ledger.jsonl", &with(&["{\"kind\": nonsense"]));
    let (code, _, err) = finish(place.build(&server, &all));
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains(&format!("line {}", at + 1)), "{err}");
    assert!(err.contains("delete this one line"), "{err}");
    place.write("set/ledger.jsonl", &with(&[]));
    let (code, _, err) = finish(place.build(&server, &all));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(server.requests().len(), asked + 1);
    // Without any ledger the folder is still that of a build.
    std::fs::remove_file(place.path("set/ledger.jsonl")).unwrap();
    let (code, _, err) = finish(place.build(&server, &all));
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn questions_that_are_no_longer_given_are_named_and_can_be_dropped() {
    let (server, place) = (
        Server::start_with(|_, request| says(&good(request))),
        Place::new(),
    );
    place.generated();
    let text = std::fs::read_to_string(place.path("qa.jsonl")).unwrap();
    let lines: Vec<&str> = text.lines().take(4).collect();
    place.write("qa.jsonl", &(lines.join("\n") + "\n"));
    let (code, out, err) = finish(place.build(&server, &ALL));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out["not_given"], json!([]));
    // One is taken out, another gets a new name.
    let renamed = lines[1].replace("\"q1\"", "\"new\"");
    let fewer = [lines[0], renamed.as_str(), lines[3]].join("\n") + "\n";
    place.write("qa.jsonl", &fewer);
    let planned = [&ALL[..], &["--plan"]].concat();
    let said = "2 questions of the folder are not in the questions that were given and stay with what was made: q1, q2. To drop, take their lines out of set/qa.jsonl";
    for args in [&planned[..], &ALL[..]] {
        let (code, out, err) = finish(place.build(&server, args));
        assert_eq!(code, Some(0), "{err}");
        assert_eq!(out["not_given"], json!(["q1", "q2"]));
        assert!(err.contains(said), "{err}");
    }
    let checked = ["build", "validate", "set", "--json"];
    let (_, found, _) = finish(place.program(&checked));
    assert_eq!(found["kinds"]["repeated_question"], 1, "{found}");
    // As the sentence says.
    let asked = server.requests().len();
    place.write("set/qa.jsonl", &fewer);
    let (code, out, err) = finish(place.build(&server, &ALL));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out["not_given"], json!([]));
    assert_eq!(server.requests().len(), asked);
    let (_, found, _) = finish(place.program(&checked));
    assert_eq!(found["questions"], 3);
    assert_eq!(found["kinds"].get("repeated_question"), None, "{found}");
    assert_eq!(found["kinds"].get("unreadable_record"), None, "{found}");
}

/// Documents that are still to be found are counted by what a search may find, also where the questions come with a
/// dataset folder.
#[test]
fn a_plan_counts_documents_that_are_to_be_found() {
    let (server, place) = (
        Server::start_with(|_, request| says(&good(request))),
        Place::new(),
    );
    place.generated();
    place.write(
        "imported/qa.jsonl",
        &std::fs::read_to_string(place.path("qa.jsonl")).unwrap(),
    );
    let more = json!({"q0": [{"id": "x", "content": "One that the index replaces."}]});
    for (set, documents) in [
        ("qa.jsonl", None),
        ("imported", Some(json!({}))),
        ("imported", Some(more)),
    ] {
        if let Some(documents) = documents {
            place.write("imported/signal_docs.json", &documents.to_string());
        }
        let plan = |limit: &str| {
            let mut args = [&ALL[..], &["--plan", "--limit", limit]].concat();
            args[2] = set;
            finish(place.build(&server, &args))
        };
        let (code, plan, err) = plan("4");
        assert_eq!(code, Some(0), "{err}");
        assert_eq!(plan["stages"][2]["items"], 4 * DOCUMENTS, "{set}: {plan}");
        assert_eq!(plan["calls"], 4 * (1 + 2 * DOCUMENTS), "{set}: {plan}");
    }
    // What is made already is no guess, the rest is.
    let made = [&ALL[..], &["--limit", "1"]].concat();
    let (code, _, err) = finish(place.build(&server, &made));
    assert_eq!(code, Some(0), "{err}");
    let planned = [&ALL[..], &["--limit", "3", "--plan"]].concat();
    let (_, plan, _) = finish(place.build(&server, &planned));
    assert_eq!(plan["stages"][3]["answered"], DOCUMENTS, "{plan}");
    assert_eq!(plan["calls"], 2 * (1 + 2 * DOCUMENTS), "{plan}");
}
