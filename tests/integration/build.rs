//! Making a benchmark end to end: the real program, a model server that answers by rule, files on disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use medrgb::data::dataset::Dataset;
use serde_json::{Value, json};

use crate::sse_server::{Request, Script, Server};
use crate::sweep::finish;

/// Questions of the generated set.
pub const QUESTIONS: usize = 20;
/// Documents of each, and topics.
pub const DOCUMENTS: usize = 3;

/// A folder of our own for everything.
pub struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Place {
        Place {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn read(&self, name: &str) -> Value {
        let text = std::fs::read_to_string(self.path(name)).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// The program with its folders inside this place and no settings of the machine.
    pub fn program(&self, args: &[&str]) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_medrgb"));
        program
            .env_clear()
            .env("HOME", self.dir.path())
            .env("MEDRGB_HOME", self.path("home"))
            .env("OPENAI_API_KEY", "sk-test-0123456789abcdef")
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .args(args);
        program
    }

    /// `medrgb build` with the model of this server.
    pub fn build(&self, server: &Server, args: &[&str]) -> Command {
        let mut program = self.program(&["build"]);
        program
            .args(args)
            .args(["--model", "openai:m", "--base-url", &server.base_url()]);
        program
    }

    /// Twenty questions, and an index with three documents for each.
    pub fn generated(&self) {
        let mut lines = String::new();
        let mut corpus = String::new();
        for q in 0..QUESTIONS {
            let line = json!({"question_id": format!("q{q}"), "question": format!("Does plant {q} grow tall?"),
                "options": {"A": "yes", "B": "no"}, "answer": "A"});
            lines += &format!("{line}\n");
            for d in 0..DOCUMENTS {
                let content = format!(
                    "Gene marker{q}x{d} lies on arm{q}x{d} of the first chromosome. Botanists of garden {q} found marker{q}x{d} in many tall plants, and never in small ones."
                );
                let document = json!({"id": format!("d{q}-{d}"), "title": format!("Plant {q}"), "content": content});
                corpus += &format!("{document}\n");
            }
        }
        self.write("qa.jsonl", &lines);
        self.write("corpus.jsonl", &corpus);
        let mut index = self.program(&[
            "index",
            "build",
            "--corpus",
            "corpus.jsonl",
            "--out",
            "index",
        ]);
        let (code, _, err) = finish({
            index.args(["--encoder", "none"]);
            index
        });
        assert_eq!(code, Some(0), "{err}");
    }

    /// A dataset of one question whose documents are named after what the model does with them.
    pub fn scripted(&self, names: &[&str]) {
        let line = json!({"question_id": "q", "question": "Which organ?", "options": {"A": "liver", "B": "heart"}, "answer": "A"});
        self.write("set/qa.jsonl", &format!("{line}\n"));
        let documents: Vec<Value> = names
            .iter()
            .map(|name| {
                let content = format!(
                    "The case {name} is well known. Vitamin {name} is kept in organ{name} of the mammal for a long time. Little of it is lost on the way, and a meal a week is enough."
                );
                json!({"id": name, "title": "Stores", "content": content})
            })
            .collect();
        self.write("set/signal_docs.json", &json!({"q": documents}).to_string());
    }
}

/// The text of the prompt.
pub fn prompt(request: &Request) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    messages.last().unwrap()["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// What stands between two phrases of a text.
pub fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).map_or(0, |at| at + from.len());
    let rest = &text[start..];
    &rest[..rest.find(to).unwrap_or(rest.len())]
}

/// A whole reply of the model.
pub fn says(value: &Value) -> Script {
    Script::reply(&[&value.to_string()])
}

/// The good answer to any prompt about the generated set.
pub fn good(request: &Request) -> Value {
    let prompt = prompt(request);
    if prompt.contains("\"topics\"") {
        let number = between(&prompt, "Does plant ", " ");
        let topics: Vec<String> = (0..DOCUMENTS)
            .map(|d| format!("gene marker{number}x{d}"))
            .collect();
        return json!({"topics": topics});
    }
    if prompt.contains("\"new_answer\"") {
        let answer = between(&prompt, "The document answers: ", "\n");
        let sentence = between(&prompt, "sentence_1: ", "\n");
        let planted = answer.replace("arm", "leg");
        return json!({"new_answer": planted, "sentence_1": sentence.replace(answer, &planted), "other_edits": []});
    }
    let marker = between(&prompt, "Gene ", " ");
    let arm = between(&prompt, "lies on ", " ");
    json!({"sentence": format!("Gene {marker} lies on {arm} of the first chromosome."), "answer": arm,
        "question": format!("On which arm of the chromosome lies {marker}?")})
}

pub const ALL: [&str; 14] = [
    "all",
    "--questions",
    "qa.jsonl",
    "--index",
    "index",
    "--per-topic",
    "1",
    "--topics",
    "3",
    "--concurrency",
    "3",
    "--json",
    "--out",
    "set",
];

/// All files of a build but the ledger, which has times in it.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("ledger.jsonl"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect()
}

#[test]
fn a_build_that_is_killed_ten_times_ends_as_one_that_is_not() {
    let server =
        Server::start_with(|_, request| Script::default().pause(100).then(says(&good(request))));
    let place = Place::new();
    place.generated();
    let set = place.path("set");
    let (code, out, err) = finish(place.build(&server, &ALL));
    assert_eq!(code, Some(0), "{err}");
    let calls = server.requests().len();
    assert_eq!(calls, QUESTIONS * (1 + 2 * DOCUMENTS));
    let made = |stage: usize| out["stages"][stage]["made"].as_u64().unwrap() as usize;
    assert_eq!(made(0), QUESTIONS);
    assert_eq!([made(1), made(2), made(3)], [QUESTIONS * DOCUMENTS; 3]);
    assert_eq!(out["validate"]["errors"], 0, "{}", out["validate"]);
    let undisturbed = files(&set);
    std::fs::rename(&set, place.path("undisturbed")).unwrap();

    let mut random = u64::from(std::process::id()) ^ 0x9e37_79b9_7f4a_7c15;
    eprintln!("kills follow from {random}");
    for kill in 0..10 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let mut child = place.build(&server, &ALL).spawn().unwrap();
        let begun = Instant::now();
        // Not before the build has begun, however slow the machine is.
        let before = server.requests().len();
        while server.requests().len() == before && begun.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis((random >> 33) % 280));
        assert!(
            child.try_wait().unwrap().is_none(),
            "kill {kill} came too late"
        );
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let (code, out, err) = finish(place.build(&server, &ALL));
    assert_eq!(code, Some(0), "{err}");
    assert!(out["stages"][0]["calls"]["reused"].as_u64().unwrap() > 0);
    let after = files(&set);
    assert_eq!(
        after.keys().collect::<Vec<_>>(),
        undisturbed.keys().collect::<Vec<_>>()
    );
    for (name, bytes) in &undisturbed {
        assert_eq!(&after[name], bytes, "{name} differs");
    }
    // Only what was under way at a kill is asked again.
    assert!(server.requests().len() <= 2 * calls + 10 * 3);
    assert_eq!(Dataset::open(&set).unwrap().problems, Vec::<String>::new());
}

/// The reply of [`Place::scripted`]'s documents in the stage of sub-questions.
pub fn scripted_sub(name: &str, again: bool) -> Script {
    let good = json!({"sentence": "s", "answer": format!("organ{}", name.trim_end_matches('2')),
        "question": format!("In which organ do mammals keep vitamin {name}?")});
    let with = |field: &str, value: &str| {
        let mut reply = good.clone();
        reply[field] = json!(value);
        reply
    };
    match (name, again) {
        ("twin", _) => says(&json!({"sentence": "s", "answer": "organtwin",
            "question": "In which organ do mammals keep vitamin plain?"})),
        ("fenced", _) => Script::reply(&[&format!("Here it is:\n```json\n{good}\n```")]),
        ("schema", false) => says(&json!({"question": {"text": "?"}})),
        ("span", false) | ("never", _) => says(&with("answer", "the pancreas")),
        ("lean", false) => says(&with("question", "Where is it kept?")),
        ("title", _) => says(&with(
            "answer",
            "Vitamin title is kept in organtitle of the mammal for a long time",
        )),
        ("refusal", _) => Script::reply(&["I'm sorry, but I can't help with medical questions."]),
        ("cut", _) => Script::stream()
            .text("{\"sentence\":\"a")
            .finish("length")
            .done(),
        ("filter", _) => Script::stream()
            .text("{\"sen")
            .finish("content_filter")
            .done(),
        ("slow", _) => Script::default().pause(60_000),
        _ => says(&good),
    }
}

#[test]
fn every_branch_of_the_sub_questions_ends_made_or_with_a_reason() {
    let names = [
        "plain", "fenced", "schema", "span", "never", "lean", "title", "refusal", "cut", "filter",
        "slow", "twin",
    ];
    let place = Place::new();
    place.scripted(&names);
    let slow_before = AtomicBool::new(false);
    let server = Server::start_with(move |_, request| {
        let prompt = prompt(request);
        match between(&prompt, "The case ", " ") {
            // Slow the first time only.
            "slow" if slow_before.swap(true, Ordering::SeqCst) => scripted_sub("slow2", false),
            name => scripted_sub(name, prompt.contains("An earlier reply")),
        }
    });
    let args = [
        "subqa",
        "--questions",
        "set",
        "--out",
        "new",
        "--call-timeout",
        "6",
        "--json",
    ];
    let (code, out, err) = finish(place.build(&server, &args));
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("no reply for 1 item"), "{err}");
    let stage = &out["stages"][0];
    let reason = |list: &str, name: &str| -> String {
        let losses = stage[list].as_array().unwrap();
        let loss = losses.iter().find(|loss| loss["item"] == name);
        loss.map_or(String::new(), |loss| {
            loss["reason"].as_str().unwrap().to_owned()
        })
    };
    assert!(reason("dropped", "never").contains("does not stand in the document"));
    assert!(reason("dropped", "refusal").contains("it begins \"I'm sorry"));
    assert!(reason("dropped", "cut").contains("cut off"));
    assert!(reason("dropped", "filter").contains("filter"), "{stage}");
    assert!(reason("dropped", "twin").contains("is asked of plain already"));
    assert!(reason("failed", "slow").contains("no reply came within 6 s"));
    assert!(
        reason("flawed", "title").contains("12 are wanted"),
        "{stage}"
    );
    assert_eq!(stage["made"], 6);
    assert_eq!(stage["repaired"], 3);
    let count = |list: &str| stage[list].as_array().unwrap().len();
    assert_eq!(
        6 + count("dropped") + count("failed"),
        names.len(),
        "no silent gap"
    );
    let subs = place.read("new/subqa_pairs.json");
    let made: Vec<&str> = subs["q"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sub| sub["doc_id"].as_str().unwrap())
        .collect();
    assert_eq!(made, ["plain", "fenced", "schema", "span", "lean", "title"]);
    // The feedback names what was wrong.
    let prompts: Vec<String> = server.requests().iter().map(prompt).collect();
    let told = |what: &str| {
        prompts
            .iter()
            .any(|prompt| prompt.contains("An earlier reply") && prompt.contains(what))
    };
    assert!(told("\"the pancreas\" does not stand in the document"));
    assert!(told("nothing stands before \"it\""));
    let ledger = std::fs::read_to_string(place.path("new/ledger.jsonl")).unwrap();
    assert!(!ledger.contains("sk-test"), "no key on disk");
    assert!(ledger.contains("not usable: the reply holds no JSON object"));
    // What failed is asked again, the rest is not.
    let before = server.requests().len();
    let mut longer = args;
    longer[6] = "60";
    let (code, out, err) = finish(place.build(&server, &longer));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out["stages"][0]["made"], 7);
    assert_eq!(out["stages"][0]["calls"]["asked"], 1);
    assert_eq!(server.requests().len(), before + 1);
}

/// The reply of [`Place::scripted`]'s documents in the stage of adversarial versions.
fn scripted_edit(name: &str, again: bool, prompt: &str) -> Script {
    let sentence = between(prompt, "sentence_1: ", "\n");
    let truth = format!("organ{name}");
    let planted = format!("gland{name}");
    let edit = |planted: &str, sentence: String| json!({"new_answer": planted, "sentence_1": sentence, "other_edits": []});
    let good = edit(&planted, sentence.replace(&truth, &planted));
    match (name, again) {
        ("unchanged", _) => says(&edit(&planted, sentence.to_owned())),
        ("left", false) => says(&edit(
            &planted,
            format!("{} Or {truth}.", sentence.replace(&truth, &planted)),
        )),
        ("missing", false) => says(&edit(&planted, sentence.replace(&truth, "nothing"))),
        ("same", false) => says(&edit(&truth.to_uppercase(), sentence.to_owned())),
        ("leak", false) => says(&edit(
            &planted,
            format!("{} (edited)", sentence.replace(&truth, &planted)),
        )),
        ("keys", false) => says(&json!({"new_answer": planted})),
        ("other", _) => {
            let mut reply = good;
            reply["other_edits"] = json!([{"old": "a meal a week", "new": "two meals a week"}]);
            says(&reply)
        }
        ("lost", _) => {
            let mut reply = good;
            reply["other_edits"] = json!([{"old": "words of another text", "new": "x"}]);
            says(&reply)
        }
        ("refusal", _) => Script::reply(&["I won't write false medical statements."]),
        _ => says(&good),
    }
}

#[test]
fn every_branch_of_the_edits_ends_made_or_with_a_reason() {
    let names = [
        "plain",
        "unchanged",
        "left",
        "missing",
        "same",
        "leak",
        "keys",
        "other",
        "lost",
        "refusal",
    ];
    let place = Place::new();
    place.scripted(&names);
    let server = Server::start_with(|_, request| {
        let prompt = prompt(request);
        let name = between(&prompt, "The case ", " ");
        match prompt.contains("\"new_answer\"") {
            true => scripted_edit(name, prompt.contains("An earlier reply"), &prompt),
            false => scripted_sub("plain", false).then(Script::default()),
        }
    });
    // The sub-questions come with the set.
    let subs: Vec<Value> = names
        .iter()
        .map(|name| json!({"doc_id": name, "question": format!("In which organ is vitamin {name} kept?"), "answer": format!("organ{name}")}))
        .collect();
    let args = ["subqa", "--questions", "set", "--out", "new", "--json"];
    finish(place.build(&server, &args));
    place.write("new/subqa_pairs.json", &json!({"q": subs}).to_string());
    let (code, out, err) =
        finish(place.build(&server, &["counterfactual", "--out", "new", "--json"]));
    assert_eq!(code, Some(0), "{err}");
    let stage = &out["stages"][0];
    let reason = |name: &str| -> String {
        let losses = stage["dropped"].as_array().unwrap();
        let loss = losses.iter().find(|loss| loss["item"] == name);
        loss.map_or(String::new(), |loss| {
            loss["reason"].as_str().unwrap().to_owned()
        })
    };
    assert!(
        reason("unchanged").contains("the same as the original"),
        "{stage}"
    );
    assert!(reason("lost").contains("does not stand in the document"));
    assert!(reason("refusal").contains("I won't write"));
    assert_eq!((&stage["made"], &stage["repaired"]), (&json!(7), &json!(5)));
    assert_eq!(
        7 + stage["dropped"].as_array().unwrap().len(),
        names.len(),
        "no silent gap"
    );
    let edits = place.read("new/counterfactual_docs.json");
    let edited = |name: &str| {
        let list = edits["q"].as_array().unwrap();
        list.iter()
            .find(|edit| edit["original_id"] == name)
            .unwrap()
            .clone()
    };
    for name in ["left", "missing", "same", "leak", "keys"] {
        let text = edited(name)["edited_document"].as_str().unwrap().to_owned();
        assert!(
            text.contains(&format!("gland{name}")) && !text.contains(&format!("organ{name}")),
            "{text}"
        );
        assert!(!text.contains("edited"), "{text}");
    }
    assert!(
        edited("other")["edited_document"]
            .as_str()
            .unwrap()
            .contains("two meals a week")
    );
    assert!(edited("plain")["edit_ratio"].as_f64().unwrap() < 0.1);
    // A dataset that all other commands take.
    let (code, found, err) = finish(place.program(&["build", "validate", "new", "--json"]));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(
        (
            &found["documents"],
            &found["sub_questions"],
            &found["counterfactuals"]
        ),
        (&json!(10), &json!(10), &json!(7))
    );
    assert_eq!(found["errors"], 0, "{found}");
    let audit = [
        "audit",
        "--dataset",
        "new",
        "--scenario",
        "robustness",
        "--docs",
        "5",
        "--p",
        "60",
        "--quality",
        "--json",
    ];
    let (code, report, err) = finish(place.program(&audit));
    assert_eq!(code, Some(0), "{err}");
    let quality = &report["quality"];
    assert_eq!(quality["lengths"]["pairs"], 7);
    assert_eq!(quality["retrieval"][0]["retriever"], "bm25");
    let compose = [
        "compose",
        "--dataset",
        "new",
        "--question",
        "q",
        "--scenario",
        "robustness",
        "--json",
    ];
    let (code, context, err) = finish(place.program(&compose));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(context["docs"], 5);
}

#[test]
fn a_model_can_check_what_rules_can_t_see() {
    let place = Place::new();
    place.scripted(&["plain", "vague"]);
    let server = Server::start_with(|_, request| {
        let prompt = prompt(request);
        let again = prompt.contains("An earlier reply");
        if prompt.contains("given to a reader who sees nothing else") {
            let vague = prompt.contains("vitamin vague");
            return says(
                &json!({"reason": "It is clear.", "verdict": if vague { "no" } else { "yes" }}),
            );
        }
        scripted_sub(between(&prompt, "The case ", " "), again)
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
    assert_eq!(stage["made"], 1);
    assert!(
        stage["dropped"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("can't tell what the sub-question asks")
    );
}

#[test]
fn single_questions_are_made_anew_and_the_others_stay() {
    let server = Server::start_with(|_, request| says(&good(request)));
    let place = Place::new();
    place.generated();
    let (code, _, err) = finish(place.build(&server, &ALL));
    assert_eq!(code, Some(0), "{err}");
    let before = files(&place.path("set"));
    let calls = server.requests().len();
    let again = [
        "subqa", "--out", "set", "--only", "q3", "q7", "--again", "--json",
    ];
    let (code, out, err) = finish(place.build(&server, &again));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out["stages"][0]["calls"]["asked"], 2 * DOCUMENTS);
    assert_eq!(server.requests().len(), calls + 2 * DOCUMENTS);
    // The same answers, so the same files.
    let after = files(&place.path("set"));
    for name in [
        "qa.jsonl",
        "subqa_pairs.json",
        "counterfactual_docs.json",
        "report.json",
    ] {
        assert_eq!(after[name], before[name], "{name}");
    }
    let (code, _, err) = finish(place.build(&server, &["subqa", "--out", "set", "--only", "q99"]));
    assert_eq!(code, Some(2), "{err}");
    assert!(
        err.contains("no question has this id") && err.contains("such as q0"),
        "{err}"
    );
}

#[test]
fn a_plan_asks_nothing_and_says_what_it_will_cost() {
    let server = Server::start_with(|_, request| says(&good(request)));
    let place = Place::new();
    place.generated();
    place.write(
        "home/config/config.toml",
        &format!(
            "[models.priced]\nbase_url = \"{}\"\nmodel = \"m\"\nprice_in = 1.0\nprice_out = 10.0\n",
            server.base_url()
        ),
    );
    let mut args = vec!["build"];
    args.extend(ALL);
    args.extend(["--model", "priced", "--plan", "--limit", "4"]);
    let (code, plan, err) = finish(place.program(&args));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(server.requests().len(), 0);
    assert!(!place.path("set").exists(), "a plan makes nothing");
    assert_eq!(plan["stages"][0]["calls"], 4);
    assert_eq!(plan["stages"][2]["guessed"], true);
    assert!(plan["cost_usd"].as_f64().unwrap() > 0.0 && plan["seconds"].is_null());
    args.retain(|arg| *arg != "--plan");
    let (code, _, err) = finish(place.program(&args));
    assert_eq!(code, Some(0), "{err}");
    args.extend(["--plan"]);
    let (_, plan, _) = finish(place.program(&args));
    assert_eq!(
        (&plan["calls"], &plan["stages"][3]["answered"]),
        (&json!(0), &json!(12)),
        "{plan}"
    );
    assert_eq!(plan["stages"][2]["guessed"], false);
}

/// A limit works on the first questions; what was made for others stays, whether they are named again or not.
#[test]
fn a_limit_takes_nothing_away() {
    let server = Server::start_with(|_, request| says(&good(request)));
    let place = Place::new();
    place.generated();
    let with = |more: &[&str]| {
        let args = [&ALL[..], more].concat();
        finish(place.build(&server, &args))
    };
    let (code, out, err) = with(&["--limit", "3"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out["stages"][0]["made"], 3);
    assert_eq!(
        Dataset::open(&place.path("set")).unwrap().questions.len(),
        3
    );
    let (code, _, err) = with(&["--limit", "6"]);
    assert_eq!(code, Some(0), "{err}");
    let before = files(&place.path("set"));
    let asked = server.requests().len();
    assert_eq!(asked, 6 * (1 + 2 * DOCUMENTS));
    // Fewer than there are: the others stay, with and without naming the questions.
    let (code, out, err) = with(&["--limit", "2"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out["stages"][2]["questions"], 2);
    let (code, out, err) = finish(place.build(
        &server,
        &["subqa", "--out", "set", "--limit", "2", "--json"],
    ));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out["stages"][0]["questions"], 2);
    assert_eq!(server.requests().len(), asked);
    let after = files(&place.path("set"));
    for name in [
        "qa.jsonl",
        "topics.json",
        "signal_docs.json",
        "subqa_pairs.json",
        "counterfactual_docs.json",
        "report.json",
    ] {
        assert_eq!(after[name], before[name], "{name}");
    }
    let (code, _, err) = finish(place.build(
        &server,
        &["subqa", "--out", "set", "--limit", "2", "--only", "q5"],
    ));
    assert_eq!(code, Some(2), "{err}");
    assert!(
        err.contains("\"q5\": this question is not among the first 2 questions"),
        "{err}"
    );
}

/// Where the model gives nothing usable, the last words account for every item, with the reasons.
#[test]
fn a_build_of_which_nothing_comes_says_what_was_asked_and_why_it_is_missing() {
    let place = Place::new();
    place.generated();
    let server = Server::start_with(|_, request| {
        let prompt = prompt(request);
        match prompt.contains("\"topics\"") {
            true => says(&good(request)),
            false if prompt.contains("lies on arm0x") => {
                Script::reply(&["I'm sorry, but I can't help with that."])
            }
            false => says(&json!({"sentence": "s", "answer": "the pancreas",
                "question": "In which organ do mammals keep vitamin D?"})),
        }
    });
    let mut args = ALL.to_vec();
    args.retain(|arg| *arg != "--json");
    args.extend(["--repairs", "0"]);
    let output = place.build(&server, &args).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    let items = QUESTIONS * DOCUMENTS;
    for part in [
        "asked for the topics of 20 questions: all kept".to_owned(),
        "searched for 20 questions: 60 documents found, some for each".to_owned(),
        format!("asked for {items} sub-questions: none kept, {items} dropped; {items} calls"),
    ] {
        assert!(out.contains(&part), "{part} in\n{out}");
    }
    for part in [
        format!(
            "nothing came of the stage subqa: asked for {items} sub-questions: none kept, {items} dropped"
        ),
        format!("Why: {} × ", items - DOCUMENTS),
        format!("; {DOCUMENTS} × "),
        "Not run, for want of it: counterfactual".to_owned(),
        "another model".to_owned(),
        "set/report.json".to_owned(),
    ] {
        assert!(err.contains(&part), "{part} in\n{err}");
    }
    assert!(!out.contains("counterfactual"), "{out}");
}

#[test]
fn what_can_t_work_is_said_in_one_sentence() {
    let server = Server::start_with(|_, _| {
        Script::json(
            "401 Unauthorized",
            &json!({"error": {"message": "bad key"}}),
        )
    });
    let place = Place::new();
    place.write("qa.jsonl", "{\"question_id\":\"q\",\"question\":\"?\",\"options\":{\"A\":\"yes\",\"B\":\"no\"},\"answer\":\"A\"}\n");
    let fails = |args: &[&str], code: i32, part: &str| {
        let (got, _, err) = finish(place.build(&server, args));
        assert_eq!(got, Some(code), "{args:?}: {err}");
        assert!(err.contains(part), "{args:?}: {err}");
    };
    fails(&["topics", "--out", "set"], 2, "holds no questions yet");
    fails(
        &["topics", "--questions", "no.jsonl", "--out", "set"],
        1,
        "no.jsonl",
    );
    fails(
        &["retrieve", "--questions", "qa.jsonl", "--out", "set"],
        2,
        "--index DIR",
    );
    fails(
        &[
            "retrieve",
            "--questions",
            "qa.jsonl",
            "--out",
            "set",
            "--google",
        ],
        2,
        "GOOGLE_API_KEY is not set",
    );
    fails(
        &["subqa", "--questions", "qa.jsonl", "--out", "set"],
        2,
        "medrgb build retrieve",
    );
    fails(
        &["topics", "--questions", "qa.jsonl", "--out", "set"],
        1,
        "the model can't be used",
    );
    std::fs::create_dir(place.path("mine")).unwrap();
    place.write("mine/notes.txt", "x");
    fails(
        &["topics", "--questions", "qa.jsonl", "--out", "mine"],
        1,
        "did not make",
    );
    place.write(
        "newer/ledger.jsonl",
        "{\"ledger\":\"medrgb build\",\"schema\":99}\n",
    );
    fails(
        &["topics", "--questions", "qa.jsonl", "--out", "newer"],
        1,
        "newer medrgb",
    );
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_was_answered() {
    let server =
        Server::start_with(|_, request| Script::default().pause(150).then(says(&good(request))));
    let place = Place::new();
    place.generated();
    let args = [
        "topics",
        "--questions",
        "qa.jsonl",
        "--out",
        "set",
        "--topics",
        "3",
        "--concurrency",
        "2",
    ];
    let child = place.build(&server, &args).spawn().unwrap();
    crate::process::wait_until(Duration::from_secs(60), || server.requests().len() > 4);
    crate::process::signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("the same command goes on"), "{err}");
    let ledger = std::fs::read_to_string(place.path("set/ledger.jsonl")).unwrap();
    let calls = ledger
        .lines()
        .filter(|line| line.contains("\"kind\":\"call\""));
    let kept = calls.count();
    assert!(kept > 0);
    let asked = server.requests().len();
    let (code, _, err) = finish(place.build(&server, &args));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(server.requests().len() - asked, QUESTIONS - kept);
}
