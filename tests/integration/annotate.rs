//! Annotating: through the real program, in a pseudo-terminal, and on screens of fixed size.
//!
//! Replies and annotations are made up for these tests: no model and no person gave them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use medrgb::data::annotations::{Annotations, FILE_NAME as ANNOTATIONS, reply_id};
use medrgb::data::dataset::Dataset;
use medrgb::data::store::{FILE_NAME, Identify, ReplyRecord, Store, Which};
use medrgb::domain::annotation::{Act, Change, Event, Hand, LONGEST_NOTE, Part};
use medrgb::domain::answer::{Ending, parse};
use medrgb::domain::context::{Condition, Scenario};
use medrgb::domain::excerpt::{TextHit, TextKind};
use medrgb::domain::prompt::Templates;
use medrgb::domain::score::{Metric, score};
use medrgb::engine::instance::instance;
use medrgb::tui::app::Screen;
use medrgb::tui::app::annotate::{Kept, QueueParts, RunRow};
use medrgb::tui::app::browse::StoredCases;
use medrgb::tui::app::facet::FacetKind;
use medrgb::tui::effects::Effect;
use medrgb::tui::message::{FindEvent, Message};
use medrgb::tui::theme::ColorDepth;
use serde_json::{Map, Value, json};

use crate::pty::Session;
use crate::screens::{Stage, fixture};
use crate::sweep::{Place, finish};

/// A made-up reply: `fooled` repeats every planted answer and chooses a wrong option, else all is right.
fn reply(dataset: &Dataset, question: usize, seed: u64, fooled: bool) -> ReplyRecord {
    let id = &dataset.questions[question].id;
    let condition = Condition {
        scenario: Scenario::Robustness,
        docs: 3,
        p: 40.0,
        seed,
        ..Condition::default()
    };
    let instance = instance(dataset, &Templates::default(), id, &condition).unwrap();
    let gold = instance.question.answer;
    let wrong = instance
        .question
        .options
        .iter()
        .find(|choice| choice.letter != gold);
    let mut fields = Map::new();
    for (at, sub) in instance.context.sub_questions.iter().enumerate() {
        let planted = sub.planted.as_ref().filter(|_| fooled);
        fields.insert(
            format!("sub_{}", at + 1),
            json!({"question": sub.question, "answer": planted.unwrap_or(&sub.answer),
                "relevant_doc_id": sub.label, "factual_correctness": fooled || sub.planted.is_none()}),
        );
    }
    let thinking = if fooled {
        "The edited trial settles it."
    } else {
        "The trials agree."
    };
    let answer = if fooled { wrong.unwrap().letter } else { gold };
    fields.insert(
        "main".into(),
        json!({"question": "q", "step_by_step_thinking": thinking, "answer_choice": answer}),
    );
    let raw = Value::Object(fields).to_string();
    let parsed = parse(&raw, &instance.shape, Ending::Complete);
    let scores = score(&instance.question, &instance.context, &parsed);
    ReplyRecord {
        id: 0,
        run: "night".into(),
        dataset: dataset.name.clone(),
        dataset_fingerprint: dataset.fingerprint.clone(),
        question: instance.question,
        condition,
        context: instance.context,
        prompt: instance.prompt,
        model: json!({"name": "made-up"}),
        model_name: "made-up".into(),
        sampling: json!({}),
        raw,
        reply: json!({}),
        failure: Value::Null,
        parsed: Some(parsed),
        scores: Some(scores),
        created_at: "2026-11-30T10:00:00Z".into(),
        request: None,
        origin: None,
    }
}

/// The run "night": every question fooled under as many seeds as make at least `fooled`, and right once.
pub(crate) fn night(folder: &Path, dataset: &Dataset, fooled: usize) -> (Store, Vec<ReplyRecord>) {
    let store = Store::open(&folder.join(FILE_NAME)).unwrap();
    let questions = dataset.questions.len().min(4);
    for number in 0..fooled {
        let seed = (number / questions) as u64;
        let record = reply(dataset, number % questions, seed, true);
        assert!(record.scores.as_ref().unwrap().counts[&Metric::MisinformationAdopted].num > 0.0);
        store.insert(&record).unwrap();
    }
    for question in 0..questions {
        store.insert(&reply(dataset, question, 0, false)).unwrap();
    }
    let records = store.replies_of_run("night").unwrap();
    (store, records)
}

fn hand(name: &str, part: Part) -> Hand {
    Hand {
        annotator: name.into(),
        part,
    }
}

/// Says something of a reply, made up.
fn say(annotations: &Annotations, who: &Hand, record: &ReplyRecord, labels: &[&str], note: &str) {
    let labels: BTreeSet<String> = labels.iter().map(|label| (*label).to_owned()).collect();
    for change in [
        Change::Labels(labels),
        Change::Note(note.to_owned()),
        Change::Done {
            done: true,
            blind: false,
        },
    ] {
        let event = Event {
            at: String::new(),
            taxonomy: "medrgb-failures@1".into(),
            act: Act::Change {
                reply: reply_id(record),
                question_id: record.question.id.clone(),
                change,
            },
        };
        annotations.add("night", who, &event).unwrap();
    }
}

/// A place with the run "night" that ana and ben have annotated, and in which cleo decided one reply.
fn annotated() -> (Place, Vec<ReplyRecord>) {
    let place = Place::new();
    let folder = place.path("home").join("data");
    let (_, records) = night(&folder, &fixture(), 4);
    let annotations = Annotations::open(&folder.join(ANNOTATIONS)).unwrap();
    let (ana, ben) = (hand("ana", Part::Annotator), hand("ben", Part::Annotator));
    let adopted: &[&str] = &["misinformation_adopted"];
    for (record, by_ana, by_ben) in [
        (&records[0], adopted, adopted),
        (
            &records[1],
            adopted,
            &["misinformation_adopted", "over_confidence"],
        ),
        (&records[2], &[], &[]),
        (&records[3], adopted, &[]),
    ] {
        say(&annotations, &ana, record, by_ana, "=trusts DOC_1, made up");
        say(&annotations, &ben, record, by_ben, "");
    }
    let cleo = hand("cleo", Part::Adjudicator);
    say(&annotations, &cleo, &records[3], adopted, "ana is right");
    (place, records)
}

#[test]
fn annotations_are_listed_and_compared() {
    let place = Place::new();
    for (args, expected) in [
        (
            &["annotate", "export"][..],
            "nothing has been annotated yet",
        ),
        (
            &["annotate", "agreement"][..],
            "nothing has been annotated yet",
        ),
    ] {
        let (code, _, err) = finish(place.program(args));
        assert_eq!(code, Some(1));
        assert!(err.contains(expected), "{err}");
    }
    let (code, listed, _) = finish(place.program(&["annotate", "list", "--json"]));
    assert_eq!((code, listed), (Some(0), json!({"runs": []})));

    let (place, _) = annotated();
    let (_, listed, err) = finish(place.program(&["annotate", "list", "--json"]));
    let night = &listed["runs"][0];
    assert_eq!(night["annotators"].as_array().unwrap().len(), 3, "{err}");
    assert_eq!(night["annotators"][0]["done"], 4);
    assert_eq!(night["annotators"][2]["kind"], "adjudication");

    let (code, measured, err) = finish(place.program(&["annotate", "agreement", "--json"]));
    assert_eq!(code, Some(0), "{err}");
    let run = &measured["runs"][0];
    assert_eq!((&run["items"], &run["same_labels"]), (&json!(4), &json!(2)));
    assert_eq!(
        (&run["method"], &run["adjudicated"]),
        (&json!("cohen"), &json!(1))
    );
    let label = |id: &str| {
        let labels = run["labels"].as_array().unwrap();
        labels
            .iter()
            .find(|label| label["label"] == id)
            .unwrap()
            .clone()
    };
    // Of 4 replies they agree on 3; 3 and 2 of them have the label: chance (3·2 + 1·2)/16, kappa 0.5.
    let adopted = label("misinformation_adopted");
    assert_eq!(adopted["given"], json!({"ana": 3, "ben": 2}));
    assert!((adopted["kappa"].as_f64().unwrap() - 0.5).abs() < 1e-12);
    assert_eq!(label("other")["kappa"], Value::Null);
    assert_eq!(label("other")["undefined"], "nobody gave it");
    let (_, text, _) = finish(place.program(&["annotate", "agreement"]));
    let text = text.as_str().unwrap();
    assert!(
        text.contains("misinformation adopted") && text.contains("0.500"),
        "{text}"
    );
    let (code, _, err) = finish(place.program(&["annotate", "agreement", "--run", "nite"]));
    assert_eq!(code, Some(1));
    assert!(
        err.contains("\"nite\"") && err.contains("\"night\""),
        "{err}"
    );
}

#[test]
fn annotations_go_out_and_come_in_on_another_machine() {
    let (place, records) = annotated();
    let export = ["annotate", "export", "--run", "night", "--out"];
    let (code, _, err) = finish(place.program(&[&export[..], &["a.jsonl"]].concat()));
    assert_eq!(code, Some(0), "{err}");
    let text = std::fs::read_to_string(place.path("a.jsonl")).unwrap();
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 9);
    let first = &rows[0];
    assert_eq!(first["annotator"], "ana");
    assert_eq!(first["labels"], json!(["misinformation_adopted"]));
    assert_eq!(first["question"], records[0].question.text);
    assert_eq!(first["gold"], "A");
    assert_eq!(first["response"], records[0].raw);
    assert_eq!(first["documents"].as_array().unwrap().len(), 3);
    assert_eq!(first["taxonomy"], "medrgb-failures@1");
    assert_eq!(rows[8]["kind"], "adjudication");
    let (code, _, err) = finish(place.program(&[&export[..], &["a.jsonl"]].concat()));
    assert_eq!(code, Some(1));
    assert!(err.contains("exists already"), "{err}");
    finish(place.program(&[&export[..], &["a.csv", "--annotator", "ana"]].concat()));
    let csv = std::fs::read_to_string(place.path("a.csv")).unwrap();
    assert!(csv.starts_with("version,kind,run,reply_id"), "{csv}");
    assert!(
        csv.contains("\"'=trusts DOC_1, made up\""),
        "no formula: {csv}"
    );
    assert!(!csv.contains(",ben,"));
    let (code, _, err) = finish(place.program(&["annotate", "export", "--format", "parquet"]));
    assert_eq!(code, Some(2), "{err}");

    // Another machine: the same run under another name, the annotations with it.
    let (code, _, err) =
        finish(place.program(&["runs", "export", "night", "--out", "night.jsonl"]));
    assert_eq!(code, Some(0), "{err}");
    let other = Place::new();
    for file in ["a.jsonl", "night.jsonl"] {
        std::fs::copy(place.path(file), other.path(file)).unwrap();
    }
    finish(other.program(&["runs", "import", "night.jsonl", "--run", "dusk"]));
    let import = |more: &[&str]| {
        let args = [&["annotate", "import", "a.jsonl", "--json"], more].concat();
        finish(other.program(&args))
    };
    let (_, counted, err) = import(&[]);
    assert_eq!(counted["imported"], 9, "{err}");
    assert_eq!(counted["without_reply"], 9, "the run has another name here");
    let (_, counted, err) = import(&["--run", "dusk"]);
    assert_eq!(
        (&counted["imported"], &counted["without_reply"]),
        (&json!(9), &json!(0)),
        "{err}"
    );
    let (_, counted, _) = import(&["--run", "dusk"]);
    assert_eq!(
        (&counted["imported"], &counted["already_there"]),
        (&json!(0), &json!(9))
    );
    let (_, measured, _) =
        finish(other.program(&["annotate", "agreement", "--run", "dusk", "--json"]));
    assert_eq!(measured["runs"][0]["items"], 4);

    // What ana says here stays unless the file is to win; a broken line fails alone.
    let changed = text.replacen("made up", "changed", 1) + "{\"version\": 1, \"kind\"\n";
    std::fs::write(other.path("a.jsonl"), changed).unwrap();
    let (_, counted, err) = import(&["--run", "dusk"]);
    assert_eq!(
        (&counted["kept"], &counted["unreadable"]),
        (&json!(1), &json!(1)),
        "{err}"
    );
    assert!(err.contains("a.jsonl, line 10: no JSON object"), "{err}");
    let (_, counted, _) = import(&["--run", "dusk", "--replace"]);
    assert_eq!(
        (&counted["imported"], &counted["kept"]),
        (&json!(1), &json!(0))
    );

    // Annotations outlive their run.
    finish(place.program(&["runs", "rm", "night", "--yes"]));
    let output = place.program(&["annotate", "export"]).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{err}");
    assert!(
        err.contains("no longer holds the replies of 9 annotations"),
        "{err}"
    );
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(out.lines().count(), 9);
    assert!(out.contains("[\"misinformation_adopted\"]"), "{out}");
}

#[test]
fn import_takes_what_export_writes_and_checks_the_rest() {
    let (place, _) = annotated();
    let folder = place.path("home").join("data");
    let annotations = Annotations::open(&folder.join(ANNOTATIONS)).unwrap();
    // As long as an editor may make it.
    let long = "=é, \"x\"\n".repeat(LONGEST_NOTE / 10);
    let reply = "0123456789abcdef01234567".to_owned();
    let event = Event {
        at: String::new(),
        taxonomy: "mine@3".into(),
        act: Act::Change {
            reply,
            question_id: "q".into(),
            change: Change::Note(long.clone()),
        },
    };
    annotations
        .add("long", &hand("ana", Part::Annotator), &event)
        .unwrap();
    let export = ["annotate", "export", "--out", "all.jsonl", "--json"];
    let (code, counted, err) = finish(place.program(&export));
    assert_eq!(
        (code, &counted["annotations"]),
        (Some(0), &json!(10)),
        "{err}"
    );
    let other = Place::new();
    std::fs::copy(place.path("all.jsonl"), other.path("all.jsonl")).unwrap();
    let import = |file: &str| finish(other.program(&["annotate", "import", file, "--json"]));
    let (_, counted, err) = import("all.jsonl");
    assert_eq!(
        (&counted["imported"], &counted["unreadable"]),
        (&json!(10), &json!(0)),
        "{err}"
    );
    let text = std::fs::read_to_string(place.path("all.jsonl")).unwrap();
    let line = text.lines().find(|line| line.contains("medrgb-failures@1"));
    let good: Value = serde_json::from_str(line.unwrap()).unwrap();
    for (field, value, expected) in [
        (
            "labels",
            json!(["misinformation_adoptd"]),
            "the taxonomy medrgb-failures@1 has no label \"misinformation_adoptd\"; did you mean \"misinformation_adopted\"?",
        ),
        (
            "updated_at",
            json!("yesterday"),
            "updated_at is \"yesterday\"; a time such as",
        ),
        ("first_at", json!("2026-13-01T00:00:00Z"), "first_at is"),
    ] {
        let mut row = good.clone();
        row[field] = value;
        std::fs::write(other.path("bad.jsonl"), format!("{row}\n{good}\n")).unwrap();
        let (_, counted, err) = import("bad.jsonl");
        assert_eq!(counted["unreadable"], 1, "{err}");
        assert!(err.contains("bad.jsonl, line 1: "), "{err}");
        assert!(err.contains(expected), "{err}");
    }
    // Of a taxonomy that is not at hand, only the form of a label is known.
    let mut row = good.clone();
    row["taxonomy"] = json!("theirs@1");
    row["labels"] = json!(["\u{1b}[31mred"]);
    std::fs::write(other.path("bad.jsonl"), row.to_string()).unwrap();
    let (code, _, err) = import("bad.jsonl");
    assert_eq!(code, Some(1));
    assert!(err.contains("labels are lower-case letters"), "{err}");
    assert!(!err.contains('\u{1b}'), "{err:?}");
    let (code, _, err) = finish(place.program(&["annotate", "export", "--format", "csvv"]));
    assert_eq!(code, Some(2));
    assert!(
        err.contains("possible values: jsonl, csv]") && !err.contains("parquet"),
        "{err}"
    );
}

#[test]
fn a_taxonomy_of_ones_own_is_checked_and_used() {
    let (place, _) = annotated();
    std::fs::write(place.path("mine.toml"), "name = \"mine\"\nversion = \"3\"\n[[label]]\nid = \"a\"\nkey = \"ab\"\nname = \"n\"\ndefinition = \"d\"\n").unwrap();
    let agreement = ["annotate", "agreement", "--json", "--taxonomy", "mine.toml"];
    let (code, _, err) = finish(place.program(&agreement));
    assert_eq!(code, Some(2));
    assert!(
        err.contains("mine.toml, line 3: the key \"ab\" of a must be one character"),
        "{err}"
    );
    let text = std::fs::read_to_string(place.path("mine.toml")).unwrap();
    std::fs::write(place.path("mine.toml"), text.replace("\"ab\"", "\"x\"")).unwrap();
    let (code, measured, err) = finish(place.program(&agreement));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(measured["taxonomy"], "mine@3");
    // Labels that it does not have are measured under their ids.
    let labels = measured["runs"][0]["labels"].as_array().unwrap();
    assert!(
        labels
            .iter()
            .any(|label| label["name"] == "over_confidence")
    );
}

/// Moves down in a list until the chosen row shows `wanted`.
fn go_to(session: &mut Session, wanted: &str) {
    let chosen = |text: &str| {
        let rows = text.lines();
        rows.filter(|row| row.contains('>'))
            .any(|row| row.contains(wanted))
    };
    let start = Instant::now();
    while !chosen(&session.text()) {
        assert!(
            start.elapsed() < Duration::from_secs(90),
            "no {wanted} on:\n{}",
            session.text()
        );
        let before = session.text();
        session.press("j");
        let moved = Instant::now();
        while session.text() == before && moved.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The whole way of an annotator: find what went wrong, label ten with notes, undo one, be killed, go on, export.
#[test]
fn ten_labels_survive_a_kill_and_the_work_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("data/medrgb");
    let dataset = Dataset::sample().unwrap();
    night(&folder, &dataset, 12);
    let arguments = ["--annotator", "ana"];
    let mut session = Session::start_at(home, "xterm-256color", (120, 40), &arguments);
    session.wait_for("questions");
    session.press("l");
    session.wait_for("Choose a run");
    session.wait_for("night");
    session.press("\r");
    session.wait_for("0 of 16 done");
    session.press("f");
    session.wait_for("Which replies?");
    go_to(&mut session, "] wrong");
    session.press(" ");
    session.wait_for("[x] wrong");
    go_to(&mut session, "] adopted");
    session.press(" ");
    session.wait_for("[x] adopted");
    session.press("\x1b");
    session.wait_without("[x] adopted");
    session.wait_for("only: wrong · misinformation adopted");
    session.wait_for("0 of 12 done");
    session.press("\r");
    for number in 1..=10 {
        session.wait_for(&format!("reply {number} of 12"));
        session.wait_for("What went wrong");
        session.press("1");
        session.wait_for("[x] 1 misinformation adopted");
        session.press("n");
        session.wait_for("enter keeps it");
        session.press(&format!("note {number}\r"));
        session.wait_for(&format!("note: note {number}"));
        session.press("\r");
        session.wait_for(&format!("{number} done"));
    }
    session.wait_for("reply 11 of 12");
    // The last change was finishing the tenth; undo takes back exactly that, on its reply.
    session.press("u");
    session.wait_for("reply 10 of 12");
    session.wait_for("9 done");
    session.wait_without("saving");
    let home = session.kill();

    // From the list on, as somebody who does not come back to where they were.
    let arguments = ["--annotator", "ana", "--fresh"];
    let mut session = Session::start_at(home, "xterm-256color", (120, 40), &arguments);
    session.wait_for("questions");
    session.press("l");
    session.wait_for("9 labelled by you");
    session.press("\r");
    // The queue is as it was: narrowed as before, at the first reply that is not finished.
    session.wait_for("only: wrong · misinformation adopted");
    session.wait_for("9 of 12 done");
    session.press("\r");
    session.wait_for("reply 10 of 12");
    session.wait_for("note: note 10");
    session.press("U");
    session.wait_for("10 done");
    session.press("q");
    session.wait_for("10 of 12 done");
    session.press("q");
    session.wait_for("enter opens it");
    session.press("q");
    session.wait_for("q again quits");
    session.press("q");
    assert!(session.wait_for_end().success());

    let home = session.home_folder().to_owned();
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_medrgb"));
    program.env_clear().env("HOME", &home);
    for (name, folder) in [
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_CACHE_HOME", "cache"),
    ] {
        program.env(name, home.join(folder));
    }
    program.args(["annotate", "export", "--run", "night", "--done"]);
    let output = program.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 10);
    let mut notes: Vec<&str> = rows
        .iter()
        .map(|row| row["note"].as_str().unwrap())
        .collect();
    notes.sort_unstable();
    notes.dedup();
    assert_eq!(notes.len(), 10);
    assert!(
        rows.iter()
            .all(|row| row["correct"] == false && row["annotator"] == "ana")
    );
    assert!(
        rows.iter()
            .all(|row| row["misinformation_adopted"].as_u64().unwrap() > 0)
    );
}

/// The explorer without a terminal, with a real store: effects on files are done at once.
pub(crate) struct Desk {
    pub(crate) stage: Stage,
    store: Store,
    annotations: Annotations,
    _folder: tempfile::TempDir,
}

impl Desk {
    fn new(size: (u16, u16), depth: ColorDepth) -> Desk {
        Desk::of(Stage::open(size, depth), &fixture(), "ana", "")
    }

    /// The run "night" on this dataset; everything said of its replies has this note.
    pub(crate) fn of(mut stage: Stage, dataset: &Dataset, annotator: &str, note: &str) -> Desk {
        let folder = tempfile::tempdir().unwrap();
        let (store, records) = night(folder.path(), dataset, 6);
        let annotations = Annotations::open(&folder.path().join(ANNOTATIONS)).unwrap();
        if !note.is_empty() {
            let labels = ["misinformation_adopted", "other"];
            say(
                &annotations,
                &hand(annotator, Part::Annotator),
                &records[0],
                &labels,
                note,
            );
        }
        stage.app.annotate.annotator = annotator.into();
        Desk {
            stage,
            store,
            annotations,
            _folder: folder,
        }
    }

    pub(crate) fn keys(&mut self, names: &str) {
        for name in names.split(' ') {
            let effects = self.stage.keys(name);
            self.perform(effects);
        }
    }

    fn type_text(&mut self, text: &str) {
        self.stage.type_text(text);
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            let message = match effect {
                Effect::LoadRuns { .. } => {
                    let runs = self.store.runs().unwrap().into_iter().map(|run| RunRow {
                        about: run.models.join(", "),
                        replies: run.replies,
                        questions: run.questions,
                        done: 0,
                        name: run.name,
                    });
                    Message::Runs(Ok(runs.collect()))
                }
                Effect::OpenQueue {
                    ticket,
                    run,
                    hand,
                    about,
                } => {
                    let shelf = self.annotations.of_run(&run).unwrap();
                    let about = shelf.questions.iter().cloned().chain(about).collect();
                    let identify = Identify::About(&about);
                    let briefs = self.store.briefs(Which::Run(&run), false, identify);
                    let (briefs, broken) = briefs.unwrap();
                    let parts = QueueParts {
                        briefs,
                        broken,
                        shelf,
                        choice: self.annotations.queue(&run, &hand).unwrap(),
                        acts: self.annotations.acts(&run, &hand).unwrap(),
                        read_only: None,
                        run,
                    };
                    Message::Queue {
                        ticket,
                        part: hand.part,
                        result: Ok(Box::new(parts)),
                    }
                }
                Effect::LoadReply { ticket, id } => Message::QueueReply {
                    ticket,
                    result: Ok(self.store.get(id).unwrap().map(Box::new)),
                },
                Effect::Annotate {
                    run, hand, event, ..
                } => {
                    self.annotations.add(&run, &hand, &event).unwrap();
                    Message::Annotated(Ok(Kept::AsGiven))
                }
                Effect::KeepQueue { run, hand, choice } => {
                    self.annotations.set_queue(&run, &hand, &choice).unwrap();
                    continue;
                }
                Effect::LoadCases {
                    ticket,
                    fingerprint,
                    run,
                    annotator,
                } => {
                    let which = Which::Dataset(&fingerprint, run.as_deref());
                    let mut stored = StoredCases {
                        briefs: self.store.briefs(which, false, Identify::All).unwrap().0,
                        ..StoredCases::default()
                    };
                    let mut shelf = self.annotations.of_run("night").unwrap();
                    if let Some(book) = shelf.books.remove(&hand(&annotator, Part::Annotator)) {
                        stored.books.insert("night".into(), book);
                    }
                    Message::Cases {
                        ticket,
                        result: Ok(stored),
                    }
                }
                _ => continue,
            };
            let next = self.stage.send(message);
            self.perform(next);
        }
    }

    /// To the queue of the run.
    fn queue(&mut self) {
        self.keys("l enter");
    }

    fn screen(&mut self) -> String {
        self.stage.screen()
    }
}

macro_rules! at_all_sizes {
    ($name:ident, $prepare:expr) => {
        #[test]
        fn $name() {
            for (width, height) in [(80, 24), (120, 40), (200, 60)] {
                let mut desk = Desk::new((width, height), ColorDepth::True);
                let prepare: fn(&mut Desk) = $prepare;
                prepare(&mut desk);
                let name = format!("{}_{width}x{height}", stringify!($name));
                insta::assert_snapshot!(name, desk.screen());
            }
        }
    };
}

at_all_sizes!(choosing_a_run, |desk| desk.keys("l"));
at_all_sizes!(a_queue_begun, |desk| {
    desk.queue();
    desk.keys("enter 1 6 enter 2 s");
    desk.keys("q");
});
at_all_sizes!(facets_of_a_queue, |desk| {
    desk.queue();
    desk.keys("f j space");
});
at_all_sizes!(labelling, |desk| {
    desk.queue();
    desk.keys("enter 1 n");
    desk.type_text("repeats the edited number of days");
    desk.keys("enter");
});
at_all_sizes!(labelling_blind, |desk| {
    desk.queue();
    desk.keys("b enter 1");
});
at_all_sizes!(deciding_between_annotators, |desk| {
    let records = desk.store.replies_of_run("night").unwrap();
    let (ana, ben) = (hand("ana", Part::Annotator), hand("ben", Part::Annotator));
    say(
        &desk.annotations,
        &ana,
        &records[0],
        &["misinformation_adopted", "other"],
        "",
    );
    say(
        &desk.annotations,
        &ben,
        &records[0],
        &["misinformation_adopted"],
        "nothing else is wrong",
    );
    desk.queue();
    desk.keys("A enter");
});
at_all_sizes!(facets_of_questions, |desk| desk.keys("f j space"));
at_all_sizes!(finding_text, |desk| {
    let effects = desk.stage.keys("t");
    let ticket = effects
        .iter()
        .find_map(|effect| match effect {
            Effect::IndexTexts { ticket, .. } => Some(*ticket),
            _ => None,
        })
        .unwrap();
    let event = FindEvent::Indexed(Ok([4, 16, 16, 10, 1]));
    desk.stage.send(Message::Find { ticket, event });
    let mut asked = None;
    for c in "edited".chars() {
        let effects = desk.stage.keys(&c.to_string());
        asked = effects.iter().find_map(|effect| match effect {
            Effect::FindText { ticket, .. } => Some(*ticket),
            _ => None,
        });
    }
    let hit = |kind, title: &str, excerpt: &str, mark: std::ops::Range<usize>| TextHit {
        kind,
        question_id: "q1".into(),
        title: title.into(),
        excerpt: excerpt.into(),
        marks: vec![mark],
        reply: None,
    };
    let event = FindEvent::Found(Ok(vec![
        hit(
            TextKind::Reasoning,
            "night · robustness · n 3 p 40 %",
            "The edited trial settles it.",
            4..10,
        ),
        hit(
            TextKind::Note,
            "night · robustness · n 3 p 40 %",
            "repeats the edited number of days",
            12..18,
        ),
        hit(
            TextKind::Edited,
            "zinc-1",
            "In trial 1 an \u{1b}[31medited text.",
            14..20,
        ),
    ]));
    desk.stage.send(Message::Find {
        ticket: asked.unwrap(),
        event,
    });
});

#[test]
fn it_works_without_colour_and_on_small_terminals() {
    for size in [(80, 24), (40, 12), (60, 16), (1, 1)] {
        let mut desk = Desk::new(size, ColorDepth::None);
        desk.queue();
        desk.keys("enter 1");
        let screen = desk.screen();
        if size.0 >= 40 {
            assert!(screen.contains("[x] 1 misinformation"), "{screen}");
        }
        desk.keys("q f j space esc q t esc");
        desk.screen();
    }
}

#[test]
fn every_key_is_on_disk_at_once_and_undo_goes_back() {
    let mut desk = Desk::new((120, 40), ColorDepth::True);
    desk.queue();
    assert!(desk.screen().contains("0 of 10 done"));
    desk.keys("enter 1 3 1 s");
    let first = reply_id(&desk.store.replies_of_run("night").unwrap()[0]);
    let ana = hand("ana", Part::Annotator);
    let said = |desk: &Desk| {
        desk.annotations.of_run("night").unwrap().books[&ana]
            .get(&first)
            .cloned()
    };
    let now = said(&desk).unwrap();
    assert_eq!(now.labels, BTreeSet::from(["missed_evidence".to_owned()]));
    assert!(now.unsure && !now.done);
    desk.keys("u u");
    let now = said(&desk).unwrap();
    assert_eq!((now.labels.len(), now.unsure), (2, false));
    desk.keys("U enter");
    assert!(desk.screen().contains("reply 2 of 10"), "{}", desk.screen());
    assert!(said(&desk).unwrap().done);
    // Undo from the next reply leads back to the first.
    desk.keys("u");
    assert!(desk.screen().contains("reply 1 of 10"), "{}", desk.screen());
    assert!(!said(&desk).unwrap().done);
    // All of it is taken back, and then there is nothing more.
    desk.keys("u u u u u u");
    assert_eq!(said(&desk), None);
    assert!(
        desk.screen().contains("nothing to take back"),
        "{}",
        desk.screen()
    );
}

#[test]
fn a_blind_annotator_sees_neither_gold_nor_roles_until_the_reply_is_done() {
    let mut desk = Desk::new((200, 60), ColorDepth::True);
    desk.queue();
    desk.keys("b");
    let gives_away = |screen: &str| {
        [
            "(gold)",
            "true answer",
            "planted:",
            "✗ wrong",
            "▲",
            "●",
            "zinc-1",
        ]
        .into_iter()
        .filter(|word| screen.contains(word))
        .collect::<Vec<_>>()
    };
    let queue = desk.screen();
    assert!(queue.contains("hidden"), "{queue}");
    assert_eq!(gives_away(&queue), Vec::<&str>::new(), "{queue}");
    desk.keys("enter 1 v");
    let open = desk.screen();
    assert!(!open.contains("(gold)"), "{open}");
    desk.keys("v");
    let open = desk.screen();
    assert_eq!(gives_away(&open), Vec::<&str>::new(), "{open}");
    desk.keys("i");
    assert!(
        desk.screen().contains("finish this reply first"),
        "{}",
        desk.screen()
    );
    desk.keys("enter");
    let done = desk.screen();
    assert!(
        done.contains("(gold)") && done.contains("finished, blind"),
        "{done}"
    );
    // Changed with open eyes, it is blind no more.
    desk.keys("5");
    assert!(!desk.screen().contains("finished, blind"));
    // Whoever looks first and hides then was not blind.
    desk.keys("enter b . b 2 enter");
    let screen = desk.screen();
    assert!(
        screen.contains("✓ finished") && !screen.contains("finished, blind"),
        "{screen}"
    );
}

#[test]
fn a_second_annotator_does_not_see_the_first_and_differences_are_decided() {
    let mut desk = Desk::new((200, 60), ColorDepth::True);
    let records = desk.store.replies_of_run("night").unwrap();
    let ben = hand("ben", Part::Annotator);
    say(
        &desk.annotations,
        &ben,
        &records[0],
        &["over_refusal"],
        "ben's secret, made up",
    );
    desk.queue();
    let seen = |desk: &mut Desk| desk.screen().contains("secret") || desk.screen().contains("[x]");
    assert!(!seen(&mut desk));
    desk.keys("enter");
    assert!(!seen(&mut desk));
    desk.keys("A");
    assert!(
        desk.screen().contains("nothing to decide yet"),
        "{}",
        desk.screen()
    );
    desk.keys("1 5 enter A");
    let screen = desk.screen();
    assert!(screen.contains("0 of 1 decided"), "{screen}");
    desk.keys("enter");
    let screen = desk.screen();
    assert!(screen.contains("annotators: 1 ana, 2 ben"), "{screen}");
    // What both say is chosen already.
    assert!(
        screen.contains("[x] 5 over-refusal") && screen.contains("by 1 2"),
        "{screen}"
    );
    assert!(screen.contains("[ ] 1 misinformation adopted"), "{screen}");
    assert!(screen.contains("ben: ben's secret"), "{screen}");
    desk.keys("enter");
    assert!(
        desk.screen().contains("this queue is finished: 1 reply"),
        "{}",
        desk.screen()
    );
    let shelf = desk.annotations.of_run("night").unwrap();
    let decided = shelf.books[&hand("ana", Part::Adjudicator)]
        .get(&reply_id(&records[0]))
        .unwrap();
    assert_eq!((decided.done, decided.labels.len()), (true, 1));
    // Back among the annotators, nothing of ben's is to be seen.
    desk.keys("A enter");
    assert!(!desk.screen().contains("secret"));
}

#[test]
fn what_is_not_saved_is_said_and_not_shown() {
    let mut desk = Desk::new((120, 40), ColorDepth::True);
    desk.queue();
    desk.keys("enter");
    let effects = desk.stage.keys("1");
    assert!(matches!(effects[..], [Effect::Annotate { .. }]));
    assert!(desk.screen().contains("saving"));
    let effects = desk
        .stage
        .send(Message::Annotated(Err("the disk is full".into())));
    assert!(
        desk.screen().contains("NOT saved: the disk is full"),
        "{}",
        desk.screen()
    );
    desk.perform(effects);
    let screen = desk.screen();
    assert!(screen.contains("[ ] 1 misinformation adopted"), "{screen}");
    // The next attempt may do better.
    desk.keys("1");
    assert!(desk.screen().contains("[x] 1 misinformation adopted"));
}

#[test]
fn a_note_that_is_not_saved_stays_open_with_its_text() {
    let mut desk = Desk::new((120, 40), ColorDepth::True);
    desk.queue();
    desk.keys("enter n");
    desk.type_text("trusts DOC_2");
    assert_eq!(desk.stage.keys("enter").len(), 1);
    let effects = desk
        .stage
        .send(Message::Annotated(Err("the disk is full".into())));
    desk.perform(effects);
    let screen = desk.screen();
    assert!(screen.contains("note, not saved"), "{screen}");
    assert!(screen.contains("trusts DOC_2"), "{screen}");
    assert!(screen.contains("NOT saved: the disk is full"), "{screen}");
    // The text is still there when one goes on, and at the next start.
    desk.keys("!");
    desk.keys("enter");
    let shelf = desk.annotations.of_run("night").unwrap();
    let book = &shelf.books[&hand("ana", Part::Annotator)];
    let notes: Vec<&str> = book
        .annotations()
        .map(|(_, one)| one.note.as_str())
        .collect();
    assert_eq!(notes, ["trusts DOC_2!"]);
    let screen = desk.screen();
    assert!(!screen.contains("not saved"), "{screen}");
    assert!(desk.stage.app.annotate.unsaved().is_empty());
}

#[test]
fn a_reply_whose_finish_is_not_saved_is_come_back_to() {
    let mut desk = Desk::new((120, 40), ColorDepth::True);
    desk.queue();
    desk.keys("enter 1");
    let reply = |desk: &Desk| {
        let queue = desk.stage.app.annotate.queue.as_ref().unwrap();
        queue.item().unwrap().brief.id
    };
    let first = reply(&desk);
    let effects = desk.stage.keys("enter");
    assert!(matches!(effects[0], Effect::Annotate { .. }));
    assert_ne!(reply(&desk), first, "one need not wait for the disk");
    let effects = desk
        .stage
        .send(Message::Annotated(Err("the disk is full".into())));
    // What fails because of the same disk must not hide it.
    let place = Message::Complaint("where you are can't be remembered".into());
    desk.stage.send(place);
    desk.perform(effects);
    assert_eq!(reply(&desk), first);
    let screen = desk.screen();
    assert!(
        screen.contains("That was NOT saved: the disk is full"),
        "{screen}"
    );
    assert!(screen.contains("0 done"), "{screen}");
}

#[test]
fn a_note_that_is_being_written_is_there_at_the_next_start() {
    let mut desk = Desk::new((120, 40), ColorDepth::True);
    desk.queue();
    desk.keys("enter n");
    desk.type_text("half a th");
    let place = medrgb::tui::app::comeback::place(&desk.stage.app);
    assert_eq!(place.drafts.len(), 1);
    // The program is ended by a signal, and begins anew.
    desk.stage.app.annotate.note = None;
    desk.stage.app.annotate.note_of = None;
    desk.stage.app.annotate.drafts = place.drafts;
    desk.keys("q enter");
    let screen = desk.screen();
    assert!(screen.contains("half a th▏"), "{screen}");
    assert!(screen.contains("not saved yet"), "{screen}");
    desk.keys("esc");
    assert!(desk.stage.app.annotate.unsaved().is_empty());
}

/// A label names a reply by an id that is made of its texts: keys that come before they were read are not lost.
#[test]
fn keys_for_a_reply_that_is_being_read_wait_for_it() {
    let mut desk = Desk::new((120, 40), ColorDepth::True);
    desk.queue();
    let reading = desk.stage.keys("enter");
    assert!(matches!(reading[..], [Effect::LoadReply { .. }]));
    assert!(desk.stage.keys("1").is_empty(), "its id is not known yet");
    assert!(desk.stage.keys("u").is_empty());
    desk.perform(reading);
    let said = |desk: &Desk| {
        let shelf = desk.annotations.of_run("night").unwrap();
        let book = &shelf.books[&hand("ana", Part::Annotator)];
        let all = book.annotations();
        let all = all.map(|(reply, one)| (reply.to_owned(), one.labels.len()));
        all.collect::<Vec<_>>()
    };
    let first = reply_id(&desk.store.replies_of_run("night").unwrap()[0]);
    // The label was given and taken back, in the order of the keys.
    let shelf = desk.annotations.of_run("night").unwrap();
    assert!(shelf.books[&hand("ana", Part::Annotator)].can_redo());
    assert!(said(&desk).is_empty());
    desk.keys("1");
    assert_eq!(said(&desk), [(first, 1)]);
    // Going back does not wait, and what was typed for the reply is not given to another.
    desk.keys("q j");
    let reading = desk.stage.keys("enter");
    assert!(desk.stage.keys("2 q").is_empty());
    desk.perform(reading);
    assert_eq!(desk.stage.app.screen, Screen::Queue);
    desk.keys("enter");
    assert_eq!(said(&desk).len(), 1);
}

/// What is read takes a second in a large store.
#[test]
fn choosers_wait_for_what_they_list() {
    let mut desk = Desk::new((80, 24), ColorDepth::True);
    let reading = desk.stage.keys("l");
    assert!(desk.stage.keys("enter").is_empty());
    let screen = desk.screen();
    assert!(screen.contains("Reading the runs"), "{screen}");
    // The key is kept, and done when the list is there.
    desk.perform(reading);
    assert_eq!(desk.stage.app.screen, Screen::Queue);
    assert!(desk.stage.app.annotate.queue.is_some());
    // While the queue is read anew for decisions, the old one is not acted on; who goes back takes the keys along.
    let opening = desk.stage.keys("A");
    assert!(matches!(opening[..], [Effect::OpenQueue { .. }]));
    assert!(desk.stage.keys("enter").is_empty());
    assert_eq!(desk.stage.app.screen, Screen::Queue);
    desk.stage.keys("q");
    desk.perform(opening);
    assert_eq!(desk.stage.app.screen, Screen::Browse);
    // The runs to compare.
    desk.stage.keys("C");
    assert!(desk.stage.keys("enter").is_empty());
    assert_eq!(desk.stage.app.early.len(), 1);
}

#[test]
fn one_comes_back_to_a_reply_that_was_chosen_but_never_opened() {
    let mut desk = Desk::new((120, 40), ColorDepth::True);
    desk.queue();
    desk.keys("j j");
    let row = |desk: &Desk| {
        let queue = desk.stage.app.annotate.queue.as_ref().unwrap();
        queue.item().unwrap().brief.id
    };
    let here = row(&desk);
    let place = medrgb::tui::app::comeback::place(&desk.stage.app);
    let place = place.queue.unwrap();
    assert_eq!((place.row, &place.reply), (Some(here), &None));
    let session = medrgb::data::session::Session {
        version: medrgb::data::session::VERSION,
        screen: "queue".into(),
        queue: Some(place),
        annotator: Some("ana".into()),
        ..Default::default()
    };
    let mut stage = Stage::new((120, 40), ColorDepth::True);
    stage.app.comeback.on = true;
    stage.app.annotate.annotator = "ana".into();
    stage.send(Message::Session(Ok(Some(Box::new(session)))));
    desk.stage = stage;
    let effects = desk.stage.send(Message::Dataset(Ok(fixture())));
    desk.perform(effects);
    assert_eq!((desk.stage.app.screen, row(&desk)), (Screen::Queue, here));
}

#[test]
fn what_a_blind_queue_is_narrowed_to_tells_no_outcome() {
    let mut desk = Desk::new((120, 40), ColorDepth::True);
    desk.queue();
    let all = desk.stage.app.annotate.queue.as_ref().unwrap().shown.len();
    let queue = desk.stage.app.annotate.queue.as_mut().unwrap();
    queue.facets.toggle(FacetKind::Misinformation, "adopted");
    queue.narrow();
    let narrowed = queue.shown.len();
    assert!(narrowed > 0 && narrowed < all);
    desk.keys("b");
    let shown = |desk: &Desk| desk.stage.app.annotate.queue.as_ref().unwrap().shown.len();
    assert_eq!(shown(&desk), all);
    let screen = desk.screen();
    assert!(
        screen.contains("outcomes narrow nothing while blind"),
        "{screen}"
    );
    assert!(!screen.contains("adopted"), "{screen}");
    desk.keys("f");
    let screen = desk.screen();
    assert!(
        !screen.contains("adopted") && !screen.contains("outcome of"),
        "{screen}"
    );
    desk.keys("esc b");
    assert_eq!(shown(&desk), narrowed);
}

#[test]
fn the_list_of_questions_is_narrowed_by_outcomes_of_a_run_and_annotations() {
    let mut desk = Desk::new((120, 40), ColorDepth::True);
    desk.keys("o j enter");
    let screen = desk.screen();
    assert!(screen.contains("run night"), "{screen}");
    desk.queue();
    desk.keys("enter 1 enter q q");
    desk.keys("f");
    let screen = desk.screen();
    assert!(
        screen.contains("annotated by you") && screen.contains("outcome of the reply"),
        "{screen}"
    );
    // Down to the value "done": one question has a finished reply.
    let rows: Vec<&str> = screen.lines().filter(|line| line.contains("[ ]")).collect();
    let down = rows
        .iter()
        .position(|line| line.contains("] done"))
        .unwrap();
    let words: Vec<&str> = rows[down].split_whitespace().collect();
    assert!(words.join(" ").contains("] done 1 ┃"), "{screen}");
    for _ in 0..down {
        desk.keys("j");
    }
    desk.keys("space esc");
    let screen = desk.screen();
    assert!(
        screen.contains("1 of 4 questions") && screen.contains("only: annotated: done"),
        "{screen}"
    );
    desk.keys("esc");
    assert!(desk.screen().contains("4 questions"));
}

#[test]
fn hostile_texts_do_not_reach_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join(FILE_NAME)).unwrap();
    let mut record = reply(&fixture(), 0, 0, true);
    let evil = "\u{1b}[31m\u{1b}]0;owned\u{7}\u{9b}2J";
    record.run = format!("run{evil}");
    record.model_name = format!("model{evil}");
    record.question.id = format!("id{evil}");
    record.question.text = format!("text{evil}");
    record.raw += evil;
    store.insert(&record).unwrap();
    let annotations = Annotations::open(&folder.path().join(ANNOTATIONS)).unwrap();
    let mut stage = Stage::open((120, 40), ColorDepth::True);
    stage.app.annotate.annotator = "ana".into();
    let mut desk = Desk {
        stage,
        store,
        annotations,
        _folder: folder,
    };
    desk.keys("l");
    let mut screens = desk.screen();
    desk.keys("enter");
    screens += &desk.screen();
    desk.keys("f");
    screens += &desk.screen();
    desk.keys("esc enter v");
    screens += &desk.screen();
    assert!(
        screens.contains("text") && !screens.contains("owned"),
        "{screens}"
    );
    let bad = screens.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(bad, None);
}

#[test]
fn every_reply_on_the_instance_screen_can_be_labelled_once_it_is_stored() {
    let mut desk = Desk::new((120, 40), ColorDepth::True);
    desk.keys("enter l");
    assert!(
        desk.screen().contains("no reply to label yet"),
        "{}",
        desk.screen()
    );
    let dataset: Arc<Dataset> = desk.stage.app.data().unwrap().clone();
    let records: Vec<ReplyRecord> = desk.store.replies_of_run("night").unwrap();
    let stored = records
        .iter()
        .filter(|record| record.question.id == "q1")
        .cloned()
        .collect();
    // The condition of the made-up replies.
    let state = desk.stage.app.instance.as_mut().unwrap();
    state.recompose(&dataset, &Templates::default(), records[0].condition, false);
    desk.stage.send(Message::Stored {
        question_id: "q1".into(),
        records: stored,
    });
    desk.keys("l");
    let screen = desk.screen();
    assert!(
        screen.contains("What went wrong") && screen.contains("q1"),
        "{screen}"
    );
    desk.keys("1 q");
    assert!(
        desk.screen().contains("Stored reply of"),
        "back on the instance: {}",
        desk.screen()
    );
}

#[cfg(unix)]
#[test]
fn a_note_is_written_in_an_editor_over_several_lines() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("data/medrgb");
    night(&folder, &Dataset::sample().unwrap(), 4);
    let editor = home.path().join("edit");
    std::fs::write(
        &editor,
        "#!/bin/sh\nprintf 'first line\\nsecond \\033[31mline\\n' >\"$1\"\n",
    )
    .unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let variables = [("VISUAL", editor.to_str().unwrap())];
    let arguments = ["--annotator", "ana"];
    let mut session =
        Session::start_with(home, "xterm-256color", (120, 40), &arguments, &variables);
    session.wait_for("questions");
    session.press("l");
    session.wait_for("Choose a run");
    session.wait_for("night");
    session.press("\r");
    session.wait_for("0 of 8 done");
    session.press("\r");
    session.wait_for("What went wrong");
    session.press("N");
    session.wait_for("second line");
    session.wait_for("the note is kept");
    session.press("\x03");
    assert!(session.wait_for_end().success());
    let annotations = Annotations::open(&folder.join(ANNOTATIONS)).unwrap();
    let shelf = annotations.of_run("night").unwrap();
    let book = &shelf.books[&hand("ana", Part::Annotator)];
    let records = Store::open(&folder.join(FILE_NAME))
        .unwrap()
        .replies_of_run("night")
        .unwrap();
    let note = &book.get(&reply_id(&records[0])).unwrap().note;
    assert_eq!(note, "first line\nsecond line");
}
