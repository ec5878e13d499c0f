//! Probes end to end: the real program on the sample benchmark, a server whose answer hangs on one document.

use serde_json::{Value, json};

use medrgb::domain::score::Metric;

use crate::sse_server::{Request, Script, Server};
use crate::sweep::{Place, finish};

const PLACE: [&str; 8] = [
    "--question",
    "sample-bioasq-1",
    "--scenario",
    "robustness",
    "--docs",
    "5",
    "--p",
    "60",
];

fn composed(place: &Place) -> Value {
    let mut program = place.program(&["compose", "--json"]);
    program.args(PLACE);
    finish(program).1
}

/// The adversarial documents of the composed context: label, text, planted answer.
fn adversarial(context: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let documents = context["documents"].as_array().unwrap();
    let subs = context["sub_questions"].as_array().unwrap();
    documents
        .iter()
        .filter(|document| document["role"] == "adversarial")
        .map(|document| {
            let sub = subs.iter().find(|sub| sub["label"] == document["label"]);
            (
                text(&document["label"]),
                text(&document["content"]),
                text(&sub.unwrap()["planted"]),
            )
        })
        .collect()
}

fn user(request: &Request) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    let last = messages.last().unwrap();
    last["content"].as_str().unwrap().to_owned()
}

/// Answers `wrong` and repeats `planted` where the prompt shows `text`, else `right`.
fn gullible(text: String, planted: String, right: char, wrong: char) -> Server {
    Server::start_with(move |_, request| {
        let believed = user(request).contains(&text);
        let (answer, reasoning) = match believed {
            true => (wrong, format!("One document says \"{planted}\", so be it.")),
            false => (right, "Nothing speaks against it.".to_owned()),
        };
        let reply =
            json!({"step_by_step_thinking": reasoning, "answer_choice": answer.to_string()});
        Script::reply(&[&reply.to_string()])
    })
}

/// A place, the composed context, and a server that falls for the first adversarial document.
fn set_up() -> (Place, Value, (String, String, String), Server) {
    let place = Place::new();
    let context = composed(&place);
    let first = adversarial(&context).remove(0);
    // The gold option of this question is yes.
    let server = gullible(first.1.clone(), first.2.clone(), 'A', 'B');
    (place, context, first, server)
}

fn probe(
    place: &Place,
    server: &Server,
    kind: &str,
    more: &[&str],
) -> (Option<i32>, Value, String) {
    let mut program = place.program(&["probe", kind]);
    program
        .args(PLACE)
        .args(["--model", "openai:m", "--base-url", &server.base_url()])
        .args(more);
    finish(program)
}

#[test]
fn leaving_out_the_document_that_the_answer_hangs_on_flips_it() {
    let (place, context, (label, ..), server) = set_up();
    let (code, found, _) = probe(&place, &server, "leave-one-out", &["--json"]);
    assert_eq!(code, Some(0));
    let variants = found["variants"].as_array().unwrap();
    assert_eq!(
        variants.len(),
        context["documents"].as_array().unwrap().len()
    );
    for one in variants {
        let hit = one["change"] == format!("without {label}");
        assert_eq!(
            one["effect"],
            if hit { "to_right" } else { "same" },
            "{one}"
        );
    }
    assert_eq!(found["verdict"]["flips"], 1);
    let why = found["base"]["why"].to_string();
    assert!(why.contains("repeated in the reasoning"), "{why}");
    // Every reply is kept, and no table counts them.
    assert_eq!(place.records("probe").len(), 6);
    let (code, _, said) = finish(place.program(&["report", "--run", "probe"]));
    assert_eq!(code, Some(1));
    assert!(said.contains("changed by hand"), "{said}");
    let (code, _, said) = finish(place.program(&["sweep", "--run", "probe"]));
    assert_eq!(code, Some(2));
    assert!(said.contains("choose another"), "{said}");
}

#[test]
fn swaps_and_orders_say_what_flips() {
    let (place, _, (label, ..), server) = set_up();
    let (_, found, _) = probe(&place, &server, "swap", &["--to", "signal", "--json"]);
    let effects: Vec<(&str, &str)> = found["variants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["change"].as_str().unwrap(),
                one["effect"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(effects.len(), 2, "two of five are adversarial");
    for (change, effect) in effects {
        assert!(change.ends_with("becomes its original"));
        let hit = change.starts_with(&label);
        assert_eq!(effect, if hit { "to_right" } else { "same" });
    }
    let (code, found, _) = probe(
        &place,
        &server,
        "reorder",
        &["--orders", "3", "--repeats", "2", "--json"],
    );
    assert_eq!(code, Some(0));
    assert_eq!(found["variants"].as_array().unwrap().len(), 3);
    assert_eq!(found["base"]["said"].as_array().unwrap().len(), 2);
    assert_eq!(found["verdict"]["flips"], 0);
    let named = format!("doc {}", &label[4..]);
    let (code, text, _) = probe(&place, &server, "swap", &["--doc", &named]);
    assert_eq!(code, Some(0));
    let text = text.as_str().unwrap();
    assert!(
        text.contains("FLIPS to the right answer") && text.contains("as composed"),
        "{text}"
    );
    let (code, _, said) = probe(
        &place,
        &server,
        "swap",
        &["--doc", &label, "--to", "adversarial"],
    );
    assert_eq!(code, Some(1));
    assert!(
        said.contains(&format!(
            "{label} is adversarial already; possible is --to signal"
        )) && !said.contains("--docs"),
        "{said}"
    );
    let (code, _, said) = probe(&place, &server, "swap", &["--doc", "DOC_77"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("DOC_1 to DOC_5"), "{said}");
}

#[test]
fn planted_text_is_traced_in_a_new_reply_and_in_a_run() {
    let (place, _, (label, _, planted), server) = set_up();
    let (code, found, _) = probe(&place, &server, "trace", &["--json"]);
    assert_eq!(code, Some(0));
    assert_eq!(found["stances"]["repeated"], 1);
    let traces = found["replies"][0]["trace"]["planted"].as_array().unwrap();
    let hit = traces.iter().find(|one| one["label"] == label).unwrap();
    assert_eq!(
        (&hit["stance"], &hit["planted"]),
        (&json!("repeated"), &json!(planted))
    );
    let (code, text, _) = finish(place.program(&["probe", "trace", "--run", "probe"]));
    assert_eq!(code, Some(0));
    let text = text.as_str().unwrap();
    assert!(
        text.contains("repeated in the reasoning")
            && text.contains("the reply gives no verdict on the document"),
        "{text}"
    );
    let (code, found, _) =
        finish(place.program(&["probe", "citations", "--run", "probe", "--json"]));
    assert_eq!(code, Some(0));
    assert!(found["support"].is_object() && found["stances"].is_null());
    let (code, _, said) = finish(place.program(&["probe", "trace", "--run", "nothing"]));
    assert_eq!(code, Some(1));
    assert!(said.contains("nothing"), "{said}");
}

/// The shipped recording in the place's store.
fn recorded(place: &Place) {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/sample-data/recorded.jsonl.gz");
    let (code, _, said) = finish(place.program(&["runs", "import", file, "--json"]));
    assert_eq!(code, Some(0), "{said}");
}

/// The reply to a condition among those of `--json`.
fn reply_at<'a>(found: &'a Value, question: &str, p: f64) -> &'a Value {
    let replies = found["replies"].as_array().unwrap();
    replies
        .iter()
        .find(|one| {
            one["question_id"] == question
                && one["condition"]["scenario"] == "robustness"
                && one["condition"]["p"] == p
        })
        .unwrap()
}

#[test]
fn a_trace_says_what_the_score_says_of_every_recorded_reply() {
    let place = Place::new();
    recorded(&place);
    let trace = |more: &[&str]| {
        let mut program = place.program(&["probe", "trace", "--run", "recorded"]);
        program.args(more);
        finish(program)
    };
    let (code, found, said) = trace(&["--json"]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    // One definition of "adopted": that of the score, reply by reply.
    let records = place.records("recorded");
    let mut planted = 0;
    for one in found["replies"].as_array().unwrap() {
        let record = records
            .iter()
            .find(|record| Some(record.id) == one["id"].as_i64());
        let scores = record.unwrap().scores.clone().unwrap();
        let ratio = scores.counts[&Metric::MisinformationAdopted];
        let claims = one["trace"]["planted"].as_array().unwrap();
        let adopted = claims.iter().filter(|claim| claim["stance"] == "adopted");
        assert_eq!(adopted.count(), ratio.num as usize, "{one}");
        assert_eq!(claims.len(), ratio.den as usize, "{one}");
        planted += claims.len();
    }
    assert!(planted > 0);
    assert_eq!(found["stances"]["claims"], planted);
    // The document is called wrong and the sub-answer contains the claim all the same: both are said.
    let one = reply_at(&found, "sample-medqa-1", 0.0);
    let claim = &one["trace"]["planted"][1];
    assert_eq!(
        (&claim["stance"], &claim["called_wrong"]),
        (&json!("contained"), &json!(true))
    );
    let (_, text, _) = trace(&["--question", "sample-medqa-1"]);
    let text = text.as_str().unwrap();
    for part in [
        "contained in its sub-answer",
        "the reply calls the document wrong",
        "Their documents: 5 called wrong.",
        "0 adopted (given as the sub-answer, as the score counts)",
        "sub-answer 1 contains it",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    // Another dataset: said, and its texts are not taken for the originals.
    let (code, found, said) = trace(&["--json", "--dataset", "set"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("asked with another dataset (\"sample\") than the open one (\"set\")"),
        "{said}"
    );
    let one = reply_at(&found, "sample-medqa-1", 0.0);
    assert_eq!(one["other_dataset"], true);
    assert_eq!(one["trace"]["planted"][1]["stance"], "contained");
    assert_eq!(one["trace"]["planted"][1]["original_known"], false);
}

#[test]
fn sentences_copied_from_a_document_are_found_there() {
    let place = Place::new();
    recorded(&place);
    let citations = |more: &[&str]| {
        let mut program = place.program(&["probe", "citations", "--run", "recorded"]);
        program.args(["--question", "sample-medqa-1"]).args(more);
        finish(program)
    };
    let (code, found, said) = citations(&["--json"]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let one = reply_at(&found, "sample-medqa-1", 0.0);
    let second = &one["citations"]["sub_answers"][1];
    assert_eq!(
        (&second["support"], &second["cited"]),
        (&json!("supported"), &json!("DOC_2"))
    );
    assert_eq!(second["words"], second["words_found"]);
    assert_eq!(second["parts"][0]["label"], "DOC_2");
    let (_, text, _) = citations(&[]);
    let text = text.as_str().unwrap();
    assert!(
        text.contains("cites DOC_2: the cited document contains all its "),
        "{text}"
    );
}

#[test]
fn a_reply_that_ends_before_its_answer_is_marked() {
    let place = Place::new();
    let cut = r#"{"sub_1": {"question": "?", "relevant_doc_id": "DOC_1", "factual_correctness": true, "answer": "forty"#;
    let server = Server::start_with(move |_, _| Script::stream().text(cut).finish("length").done());
    let (code, text, said) = probe(&place, &server, "trace", &[]);
    assert_eq!(code, Some(0), "{said}");
    let text = text.as_str().unwrap();
    assert!(text.contains("(ends before its answer)"), "{text}");
    assert!(text.contains("what was to follow is not known"), "{text}");
}

#[test]
fn when_no_call_is_answered_nothing_is_measured() {
    let place = Place::new();
    let body = json!({"error": {"message": "no credit", "type": "insufficient_quota"}});
    let server = Server::start_with(move |_, _| Script::json("402 Payment Required", &body));
    let (code, _, said) = probe(&place, &server, "leave-one-out", &["--json"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("nothing was measured"), "{said}");
}
