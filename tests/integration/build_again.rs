//! Asking again loses nothing: what was made stays until a better one is there, and what has to be made anew is said.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use medrgb::data::dataset::Dataset;
use medrgb::data::reviews::{FILE_NAME as REVIEWS, Reviews};
use medrgb::domain::annotation::{Hand, Part};
use medrgb::domain::review::{Act, Change, Event, Verdict};
use medrgb::engine::review::listing;
use serde_json::{Value, json};

use crate::build::{ALL, DOCUMENTS, Place, between, files, good, prompt, says, scripted_sub};
use crate::sse_server::{Script, Server};
use crate::sweep::finish;

/// The questions that are made here.
const MADE: usize = 2;

fn all() -> Vec<&'static str> {
    [&ALL[..], &["--limit", "2"]].concat()
}

/// The files that hold what was made.
const DATA: [&str; 3] = [
    "signal_docs.json",
    "subqa_pairs.json",
    "counterfactual_docs.json",
];

fn held(place: &Place) -> Vec<Vec<u8>> {
    let mut all = files(&place.path("set"));
    DATA.iter().map(|name| all.remove(*name).unwrap()).collect()
}

fn records(place: &Place, name: &str, id: &str) -> Vec<Value> {
    let lists = place.read(&format!("set/{name}"));
    lists[id].as_array().cloned().unwrap_or_default()
}

#[test]
fn a_search_that_gets_no_answer_leaves_all_that_was_made() {
    let server = Server::start_with(|_, request| says(&good(request)));
    let place = Place::new();
    place.generated();
    let (code, _, err) = finish(place.build(&server, &all()));
    assert_eq!(code, Some(0), "{err}");
    let before = held(&place);
    // Nothing listens there.
    let dead = [
        "retrieve",
        "--out",
        "set",
        "--searxng",
        "http://127.0.0.1:9",
        "--json",
    ];
    let (code, out, err) = finish(place.build(&server, &dead));
    assert_eq!(code, Some(1), "{out} {err}");
    assert!(
        err.contains("6 documents from before, 6 without a reply"),
        "{err}"
    );
    assert!(err.contains("can't be reached"), "{err}");
    assert_eq!(
        held(&place),
        before,
        "nothing was learnt, so nothing changes"
    );
    assert_eq!(out["stages"][0]["later"], json!([]));
    let failed = out["stages"][0]["failed"].as_array().unwrap();
    assert_eq!(failed.len(), MADE * DOCUMENTS);
    // So does a search that answers something else.
    for answer in [json!(null), json!({"results": "x"}), json!({"results": []})] {
        let said = answer.to_string();
        let engine = Server::start_with(move |_, _| Script::json("200 OK", &answer));
        let base = engine.base_url();
        let args = [
            "retrieve",
            "--out",
            "set",
            "--searxng",
            &base,
            "--only",
            "q0",
            "--again",
            "--json",
        ];
        let (code, out, err) = finish(place.build(&server, &args));
        assert_eq!(code, Some(1), "{said}: {out} {err}");
        let empty = said.contains("[]");
        assert_eq!(
            err.contains("a list \"results\" is expected"),
            !empty,
            "{said}: {err}"
        );
        assert_eq!(held(&place), before, "{said}");
    }
}

#[test]
fn what_got_no_reply_is_asked_again_and_no_edit_is_lost() {
    let broken = Arc::new(AtomicBool::new(true));
    let still = Arc::clone(&broken);
    let server = Server::start_with(move |_, request| {
        let text = prompt(request);
        let sub = !text.contains("\"topics\"") && !text.contains("\"new_answer\"");
        match sub && between(&text, "Gene ", " ") == "marker0x1" && still.load(Ordering::SeqCst) {
            true => Script::json(
                "400 Bad Request",
                &json!({"error": {"message": "no such thing"}}),
            ),
            false => says(&good(request)),
        }
    });
    let place = Place::new();
    place.generated();
    let (code, out, err) = finish(place.build(&server, &all()));
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("subqa: no reply for 1 item"), "{err}");
    assert_eq!(out["stages"][3]["made"], MADE * DOCUMENTS - 1);
    let edits = records(&place, DATA[2], "q0");
    assert_eq!(edits.len(), DOCUMENTS - 1);
    broken.store(false, Ordering::SeqCst);
    let subqa = ["subqa", "--out", "set", "--json"];
    let (code, out, err) = finish(place.build(&server, &subqa));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out["stages"][0]["calls"]["asked"], 1);
    assert_eq!(
        out["stages"][0]["later"],
        json!([{"stage": "counterfactual", "gone": 0, "due": 1}])
    );
    assert!(
        err.contains("1 adversarial edit is to be made (`medrgb build counterfactual`)"),
        "{err}"
    );
    assert_eq!(records(&place, DATA[2], "q0"), edits, "the others stay");
    let report = place.read("set/report.json");
    let part = &report["counterfactual"]["q0"];
    assert_eq!(part["made"], DOCUMENTS - 1);
    assert_eq!(
        part["due"],
        json!([{"item": "d0-1", "reason": "its sub-question is new"}])
    );
    let plan = ["counterfactual", "--out", "set", "--plan", "--json"];
    let (_, planned, _) = finish(place.build(&server, &plan));
    let stage = &planned["stages"][0];
    assert_eq!(
        (&stage["items"], &stage["calls"], &stage["guessed"]),
        (&json!(MADE * DOCUMENTS), &json!(1), &json!(false)),
        "{planned}"
    );
    let (code, out, err) =
        finish(place.build(&server, &["counterfactual", "--out", "set", "--json"]));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out["stages"][0]["made"], MADE * DOCUMENTS);
    assert!(
        place.read("set/report.json")["counterfactual"]["q0"]
            .get("due")
            .is_none()
    );
}

#[test]
fn an_item_that_is_dropped_or_fails_anew_stays_as_it_was() {
    let bad = Arc::new(AtomicBool::new(false));
    let now = Arc::clone(&bad);
    let server = Server::start_with(move |_, request| match now.load(Ordering::SeqCst) {
        true => Script::reply(&["I'm sorry, but I can't."]),
        false => says(&good(request)),
    });
    let place = Place::new();
    place.generated();
    assert_eq!(finish(place.build(&server, &all())).0, Some(0));
    let before = held(&place);
    bad.store(true, Ordering::SeqCst);
    for stage in ["topics", "subqa", "counterfactual"] {
        let args = [stage, "--out", "set", "--only", "q0", "--again", "--json"];
        let (code, out, err) = finish(place.build(&server, &args));
        assert_eq!(code, Some(1), "{stage}: {err}");
        assert!(err.contains("What was made before stays"), "{stage}: {err}");
        let stayed = out["stages"][0]["stayed"].as_array().unwrap();
        assert!(
            !stayed.is_empty() && out["stages"][0]["dropped"] == json!([]),
            "{out}"
        );
        assert!(
            stayed[0]["reason"]
                .as_str()
                .unwrap()
                .contains("of before stay"),
            "{out}"
        );
    }
    assert_eq!(held(&place), before);
    assert_eq!(
        place.read("set/topics.json")["q0"]
            .as_array()
            .unwrap()
            .len(),
        DOCUMENTS
    );
}

#[test]
fn only_what_rests_on_a_document_that_went_goes() {
    let server = Server::start_with(|_, request| says(&good(request)));
    let place = Place::new();
    place.generated();
    assert_eq!(finish(place.build(&server, &all())).0, Some(0));
    let (subs, edits) = (
        records(&place, DATA[1], "q0"),
        records(&place, DATA[2], "q0"),
    );
    let retrieve = |per_topic: &str| {
        let args = [
            "retrieve",
            "--out",
            "set",
            "--index",
            "index",
            "--only",
            "q0",
            "--per-topic",
            per_topic,
            "--json",
        ];
        let (code, out, err) = finish(place.build(&server, &args));
        assert_eq!(code, Some(0), "{err}");
        (out["stages"][0]["later"].clone(), err)
    };
    // More documents: all stays, and the new ones are to get sub-questions.
    let (later, err) = retrieve("8");
    let more = records(&place, DATA[0], "q0").len() - DOCUMENTS;
    assert!(more > 0);
    assert_eq!(later[0], json!({"stage": "subqa", "gone": 0, "due": more}));
    assert!(err.contains("to be made (`medrgb build subqa`)"), "{err}");
    assert_eq!(records(&place, DATA[1], "q0"), subs);
    assert_eq!(records(&place, DATA[2], "q0"), edits);
    // Back again: nothing was made of those that go.
    assert_eq!(retrieve("1").0, json!([]));
    assert_eq!(records(&place, DATA[2], "q0"), edits);
    // One topic less: its document goes, with what rests on it, and that is said.
    let mut topics = place.read("set/topics.json");
    topics["q0"].as_array_mut().unwrap().pop();
    place.write("set/topics.json", &topics.to_string());
    let (later, _) = retrieve("1");
    assert_eq!(
        later,
        json!([{"stage": "subqa", "gone": 1, "due": 0}, {"stage": "counterfactual", "gone": 1, "due": 0}])
    );
    assert_eq!(records(&place, DATA[1], "q0"), subs[..2]);
    assert_eq!(records(&place, DATA[2], "q0"), edits[..2]);
    assert_eq!(records(&place, DATA[1], "q1").len(), DOCUMENTS);
}

#[test]
fn a_stage_that_was_begun_anew_and_did_not_end_is_still_to_be_made() {
    let refuses = Arc::new(AtomicBool::new(false));
    let now = Arc::clone(&refuses);
    let server = Server::start_with(move |_, request| match now.load(Ordering::SeqCst) {
        true => Script::json("401 Unauthorized", &json!({"error": {"message": "no"}})),
        false => says(&good(request)),
    });
    let place = Place::new();
    place.generated();
    assert_eq!(finish(place.build(&server, &all())).0, Some(0));
    let before = held(&place);
    refuses.store(true, Ordering::SeqCst);
    let again = ["subqa", "--out", "set", "--only", "q0", "--again", "--json"];
    assert_eq!(finish(place.build(&server, &again)).0, Some(1));
    assert_eq!(held(&place), before);
    let held = medrgb::engine::build::held(&place.path("set")).unwrap();
    let due = |at: usize| held.stages[at].as_ref().unwrap().due();
    assert_eq!([due(1), due(2), due(3)], [0, 1, 0]);
}

#[test]
fn edits_are_planned_by_the_sub_questions_that_there_are() {
    let server = Server::start_with(|_, request| {
        let text = prompt(request);
        match text.contains("\"topics\"") {
            true => says(&good(request)),
            false => Script::reply(&["I'm sorry, but I can't."]),
        }
    });
    let place = Place::new();
    place.generated();
    let (code, _, err) = finish(place.build(&server, &all()));
    assert_eq!(code, Some(1), "{err}");
    let plan = ["counterfactual", "--out", "set", "--plan", "--json"];
    let (code, planned, err) = finish(place.build(&server, &plan));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(planned["stages"][0]["items"], 0, "{planned}");
    let (code, _, err) = finish(place.build(&server, &["counterfactual", "--out", "set"]));
    assert_eq!(code, Some(2));
    assert!(
        err.contains("the stage subqa kept no sub-question"),
        "{err}"
    );
}

#[test]
fn what_is_kept_with_a_flaw_was_checked_too() {
    let place = Place::new();
    place.scripted(&["plain", "title"]);
    let server = Server::start_with(|_, request| {
        let text = prompt(request);
        if text.contains("given to a reader who sees nothing else") {
            let verdict = if text.contains("vitamin title") {
                "no"
            } else {
                "yes"
            };
            return says(&json!({"reason": "It is not clear.", "verdict": verdict}));
        }
        scripted_sub(
            between(&text, "The case ", " "),
            text.contains("An earlier reply"),
        )
    });
    let args = [
        "subqa",
        "--questions",
        "set",
        "--out",
        "new",
        "--model-checks",
        "--repairs",
        "1",
        "--json",
    ];
    let (code, out, err) = finish(place.build(&server, &args));
    assert_eq!(code, Some(0), "{err}");
    let stage = &out["stages"][0];
    assert_eq!(
        (&stage["made"], &stage["flawed"]),
        (&json!(1), &json!([])),
        "{stage}"
    );
    let why = stage["dropped"][0]["reason"].as_str().unwrap();
    assert!(
        why.contains("can't tell what the sub-question asks"),
        "{why}"
    );
}

#[test]
fn sources_that_make_no_sense_are_refused_before_anything_is_asked() {
    let server = Server::start_with(|_, request| says(&good(request)));
    let place = Place::new();
    place.generated();
    for (flags, said) in [
        (
            &["--searxng", "notaurl"][..],
            "--searxng has \"notaurl\"; an address such as",
        ),
        (
            &["--searxng", "ftp://host/"],
            "an address such as http://localhost:8888",
        ),
        (
            &["--index", "index", "--encoder", "nosuch"],
            "--encoder nosuch: the index is searched by its words",
        ),
        (
            &[
                "--searxng",
                "http://127.0.0.1:9",
                "--allow-address",
                "8.8.8.8",
            ],
            "a public address, which is read anyway",
        ),
        (&["--index", "index", "--allow-private"], "--searxng"),
        (&["--index", "index", "--pages", "3"], "--searxng"),
        (
            &["--index", "index", "--backend", "cpu"],
            "--backend: the index is searched by its words",
        ),
        (
            &["--searxng", "http://127.0.0.1:9", "--per-topic", "2"],
            "--index",
        ),
    ] {
        let args = [
            &["all", "--questions", "qa.jsonl", "--out", "set"][..],
            flags,
        ]
        .concat();
        let (code, _, err) = finish(place.build(&server, &args));
        assert_eq!(code, Some(2), "{flags:?}: {err}");
        assert!(err.contains(said), "{flags:?}: {err}");
    }
    assert_eq!(server.requests().len(), 0);
}

/// Another text under an old id: what was made of the old text is made again, and nothing goes without a word.
#[test]
fn items_of_a_question_that_has_changed_are_made_again() {
    let server = Server::start_with(|_, request| says(&good(request)));
    let place = Place::new();
    place.generated();
    let (code, out, err) = finish(place.build(&server, &all()));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out["changed_questions"], json!([]));
    let before = held(&place);
    let dataset = Dataset::open(&place.path("set")).unwrap();
    let item = listing(&dataset, |_| None).remove(0).1.item;
    assert_eq!(item.question_id, "q0");
    let data = place.path("home/data");
    std::fs::create_dir_all(&data).unwrap();
    let anna = Hand {
        annotator: "anna".into(),
        part: Part::Annotator,
    };
    let accepted = Event {
        at: String::new(),
        act: Act::on(&item, Change::Verdict(Some(Verdict::Accepted))),
    };
    let reviews = Reviews::open(&data.join(REVIEWS)).unwrap();
    reviews.add(&dataset.name, &anna, &accepted).unwrap();
    drop(reviews);

    let old = std::fs::read_to_string(place.path("qa.jsonl")).unwrap();
    let new = old.replace("plant 0 grow tall?", "plant 0 grow tall in a wet summer?");
    place.write("qa.jsonl", &new);
    let said = "1 question changed since it was built; its items are made again (of the old text, kept in set-aside.jsonl: 3 topics, 3 sub-questions, 3 adversarial edits)";
    let decided =
        "1 of these items was decided by anna; what is made otherwise now is undecided, but";
    // The plan says it, and changes nothing.
    let planned = [all(), vec!["--plan"]].concat();
    let (_, plan, err) = finish(place.build(&server, &planned));
    assert!(err.contains(said) && err.contains(decided), "{err}");
    assert_eq!(plan["changed_questions"], json!(["q0"]));
    assert_eq!(plan["calls"], 1 + 2 * DOCUMENTS, "{plan}");
    assert_eq!(held(&place), before);
    // A stage alone: what rests on the old text is gone already, and is to be made.
    let topics = ["topics", "-q", "qa.jsonl", "-o", "set", "--limit", "2"];
    let topics = [&topics[..], &["--topics", "3", "--json"][..]].concat();
    let (code, out, err) = finish(place.build(&server, &topics));
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains(said) && err.contains(decided), "{err}");
    assert_eq!(out["changed_questions"], json!(["q0"]));
    assert_eq!(records(&place, DATA[0], "q0").len(), DOCUMENTS);
    for file in &DATA[1..] {
        assert!(records(&place, file, "q0").is_empty(), "{file}");
        assert_eq!(records(&place, file, "q1").len(), DOCUMENTS, "{file}");
    }
    let report = place.read("set/report.json");
    assert_eq!(
        report["subqa"]["q0"]["due"].as_array().unwrap().len(),
        DOCUMENTS
    );
    let aside = std::fs::read_to_string(place.path("set/set-aside.jsonl")).unwrap();
    assert_eq!(aside.lines().count(), 3 * DOCUMENTS);
    assert!(
        aside
            .lines()
            .all(|line| line.contains("its question has changed"))
    );
    // All of it: only what belongs to the changed question is asked, and said no second time.
    let asked = server.requests().len();
    let (code, out, err) = finish(place.build(&server, &all()));
    assert_eq!(code, Some(0), "{err}");
    assert!(!err.contains("changed since"), "{err}");
    assert_eq!(out["validate"]["errors"], 0);
    assert_eq!(records(&place, DATA[2], "q0").len(), DOCUMENTS);
    let sub_questions = |from: usize| {
        let all = server.requests();
        let new = all[from..].iter().map(prompt);
        new.filter(|text| text.contains("in a wet summer")).count()
    };
    assert!(sub_questions(asked) > 0);
    // With the old text again the ledger knows everything.
    place.write("qa.jsonl", &old);
    let asked = server.requests().len();
    let (code, _, err) = finish(place.build(&server, &all()));
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("1 question changed"), "{err}");
    assert_eq!(server.requests().len(), asked);
    assert_eq!(held(&place), before);
}

/// A plan for questions that are begun anew counts what they will ask.
#[test]
fn a_plan_to_begin_anew_counts_what_is_answered_already() {
    let server = Server::start_with(|_, request| says(&good(request)));
    let place = Place::new();
    place.generated();
    assert_eq!(finish(place.build(&server, &all())).0, Some(0));
    let planned = |more: &[&str]| {
        let args = [&all()[..], &["--plan", "--only", "q0"][..], more].concat();
        finish(place.build(&server, &args)).1["calls"].clone()
    };
    assert_eq!(planned(&[]), 0);
    assert_eq!(planned(&["--again"]), 1 + 2 * DOCUMENTS);
    assert_eq!(planned(&[]), 0);
    // A question that is there, but that the limit leaves out.
    let beyond = [&all()[..], &["--only", "q5"][..]].concat();
    let (code, _, err) = finish(place.build(&server, &beyond));
    assert_eq!(code, Some(2), "{err}");
    assert!(
        err.contains("\"q5\": this question is not among the first 2 questions"),
        "{err}"
    );
    let narrower = ["topics", "-o", "set", "--limit", "1", "--only", "q1"];
    let (code, _, err) = finish(place.build(&server, &narrower));
    assert_eq!(code, Some(2), "{err}");
    assert!(
        err.contains("\"q1\": this question is not among the first 1 question,"),
        "{err}"
    );
}
