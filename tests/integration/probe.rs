//! Probes end to end: the real program on the sample benchmark, a server whose answer hangs on one document.

use serde_json::{Value, json};

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
    let (code, text, _) = probe(&place, &server, "swap", &["--doc", &label[4..]]);
    assert_eq!(code, Some(0));
    let text = text.as_str().unwrap();
    assert!(
        text.contains("FLIPS to the right answer") && text.contains("as composed"),
        "{text}"
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
        text.contains("repeated in the reasoning without being called wrong"),
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

#[test]
fn when_no_call_is_answered_nothing_is_measured() {
    let place = Place::new();
    let body = json!({"error": {"message": "no credit", "type": "insufficient_quota"}});
    let server = Server::start_with(move |_, _| Script::json("402 Payment Required", &body));
    let (code, _, said) = probe(&place, &server, "leave-one-out", &["--json"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("nothing was measured"), "{said}");
}
