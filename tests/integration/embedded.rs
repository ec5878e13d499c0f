//! Embedded models, with a tiny model that the test writes itself.
#![cfg(feature = "embedded")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use medrgb::domain::answer::{Ending, ReplyShape};
use medrgb::domain::context::Scenario;
use medrgb::domain::prompt::Prompt;
use medrgb::model::embedded::grammar::Grammar;
use medrgb::model::embedded::{EmbeddedModel, open};
use medrgb::model::select::{EmbeddedSource, EmbeddedSpec};
use medrgb::model::{
    BackendKind, ChatModel, ChatRequest, Delta, FailureKind, ModelError, Reply, Sampling,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::tiny_gguf::Tiny;

struct Place {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

fn write(tiny: &Tiny) -> Place {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tiny.gguf");
    tiny.write(&path);
    Place { _dir: dir, path }
}

fn spec(path: &Path) -> EmbeddedSpec {
    EmbeddedSpec {
        name: "tiny".into(),
        source: EmbeddedSource::File(path.to_owned()),
        window: None,
    }
}

fn open_at(path: &Path) -> Arc<dyn ChatModel> {
    open(&spec(path), Path::new("nowhere")).unwrap()
}

fn shape(scenario: Scenario) -> ReplyShape {
    ReplyShape {
        scenario,
        labels: ["DOC_1", "DOC_2", "DOC_3"].map(str::to_owned).to_vec(),
        ids: ["x", "y", "z"].map(str::to_owned).to_vec(),
        options: vec![
            ('A', "yes".into()),
            ('B', "no".into()),
            ('C', "maybe".into()),
        ],
        sub_questions: vec!["How \"much\"?".into(), "Which µ-opioid?".into()],
    }
}

fn request(scenario: Scenario, max_tokens: u32) -> ChatRequest {
    ChatRequest {
        prompt: Prompt {
            system: "Answer from the documents.".into(),
            user: "DOC_1: aspirin. DOC_2: statins — 5 µg. Which?".into(),
        },
        form: shape(scenario).into(),
        sampling: Sampling {
            max_tokens,
            ..Sampling::default()
        },
    }
}

/// Runs one call; also gives the deltas.
fn ask(model: &dyn ChatModel, request: &ChatRequest) -> (Result<Reply, ModelError>, Vec<Delta>) {
    ask_until(model, request, &CancellationToken::new(), &mut |_| {})
}

fn ask_until(
    model: &dyn ChatModel,
    request: &ChatRequest,
    cancel: &CancellationToken,
    on_delta: &mut (dyn FnMut(&Delta) + Send),
) -> (Result<Reply, ModelError>, Vec<Delta>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut deltas = Vec::new();
    let result = runtime.block_on(async {
        let mut hear = |delta: Delta| {
            on_delta(&delta);
            deltas.push(delta);
        };
        model.reply(request, cancel, &mut hear).await
    });
    (result, deltas)
}

fn streamed(deltas: &[Delta]) -> String {
    deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn random_weights_still_write_valid_replies_in_all_scenarios() {
    for seed in [1, 2, 3] {
        let place = write(&Tiny {
            seed,
            space_prefix: seed != 2,
            ..Tiny::default()
        });
        let model = open_at(&place.path);
        for (scenario, temperature) in Scenario::ALL.into_iter().flat_map(|s| [(s, 0.0), (s, 1.3)])
        {
            let mut request = request(scenario, 1200);
            request.sampling.temperature = temperature;
            let (reply, deltas) = ask(&*model, &request);
            let reply = reply.unwrap();
            let what = format!(
                "seed {seed}, {scenario}, temperature {temperature}: {}",
                reply.text
            );
            assert_eq!(reply.ending, Ending::Complete, "{what}");
            let value: Value = serde_json::from_str(&reply.text).expect(&what);
            assert!(Grammar::of(&request.form).matches(&reply.text), "{what}");
            check_keys(scenario, &value, &what);
            assert_eq!(streamed(&deltas), reply.text);
            let bytes: u32 = reply.timing.timeline.iter().map(|(_, bytes)| bytes).sum();
            assert_eq!(bytes as usize, reply.text.len());
            assert!(reply.timing.timeline.is_sorted_by_key(|(at, _)| *at));
            assert!(reply.timing.first_token_ms.unwrap() <= reply.timing.total_ms);
            assert!(reply.usage.completion_tokens.unwrap() <= 1200);
            let probabilities = reply.option_probabilities.expect(&what);
            let letters: Vec<char> = probabilities.iter().map(|(letter, _)| *letter).collect();
            assert_eq!(letters, ['A', 'B', 'C'], "{what}");
            let sum: f64 = probabilities.iter().map(|(_, p)| p).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{what}");
        }
    }
}

fn check_keys(scenario: Scenario, value: &Value, what: &str) {
    let keys: Vec<&str> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    match scenario {
        Scenario::Standard => {
            assert_eq!(keys, ["step_by_step_thinking", "answer_choice"], "{what}")
        }
        Scenario::Sufficiency => assert_eq!(
            keys,
            [
                "relevant_doc_id",
                "irrelevant_doc_id",
                "step_by_step_thinking",
                "answer_choice"
            ],
            "{what}"
        ),
        Scenario::Integration | Scenario::Robustness => {
            assert_eq!(keys, ["sub_1", "sub_2", "main"], "{what}");
            assert_eq!(value["sub_1"]["question"], "How \"much\"?", "{what}");
            assert_eq!(value["sub_2"]["question"], "Which µ-opioid?", "{what}");
            assert!(value["main"]["answer_choice"].is_string(), "{what}");
        }
    }
}

#[test]
fn the_most_probable_option_is_the_greedy_answer() {
    let place = write(&Tiny::default());
    let (reply, _) = ask(&*open_at(&place.path), &request(Scenario::Standard, 400));
    let reply = reply.unwrap();
    let value: Value = serde_json::from_str(&reply.text).unwrap();
    let probabilities = reply.option_probabilities.unwrap();
    let best = probabilities
        .iter()
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap();
    assert_eq!(value["answer_choice"], best.0.to_string());
}

#[test]
fn a_small_budget_shortens_the_reasoning_and_a_tiny_one_cuts_the_reply() {
    let place = write(&Tiny::default());
    let model = open_at(&place.path);
    // The tiny vocabulary spells the fixed part of this reply in about 50 tokens.
    let (reply, _) = ask(&*model, &request(Scenario::Standard, 110));
    let reply = reply.unwrap();
    assert_eq!(reply.ending, Ending::Complete, "{}", reply.text);
    assert!(reply.usage.completion_tokens.unwrap() <= 110);
    assert!(
        serde_json::from_str::<Value>(&reply.text).is_ok(),
        "{}",
        reply.text
    );
    let (reply, _) = ask(&*model, &request(Scenario::Standard, 10));
    let reply = reply.unwrap();
    assert_eq!(reply.ending, Ending::Length);
    assert_eq!(reply.usage.completion_tokens, Some(10));
    assert!(
        "{\"step_by_step_thinking\":\"".starts_with(&reply.text),
        "{}",
        reply.text
    );
}

#[test]
fn the_same_request_gives_the_same_reply_and_the_seed_changes_draws() {
    let place = write(&Tiny::default());
    let model = open_at(&place.path);
    let run = |temperature, seed| {
        let mut request = request(Scenario::Standard, 200);
        request.sampling.temperature = temperature;
        request.sampling.seed = seed;
        ask(&*model, &request).0.unwrap().text
    };
    assert_eq!(run(0.0, None), run(0.0, Some(5)));
    assert_eq!(run(1.0, Some(5)), run(1.0, Some(5)));
    assert_ne!(run(1.0, Some(5)), run(1.0, Some(6)));
}

#[test]
fn a_common_beginning_is_read_only_once_and_changes_nothing() {
    let place = write(&Tiny::default());
    let model = open_at(&place.path);
    // Longer than the steps in which a prompt is read.
    let beginning = "DOC_1: aspirin. ".repeat(40);
    let mut first = request(Scenario::Standard, 120);
    first.prompt.user = format!("{beginning}DOC_2: nothing new. Which?");
    let mut second = first.clone();
    second.prompt.user = format!("{beginning}DOC_2: something else entirely. Which?");
    let (one, _) = ask(&*model, &first);
    let (again, _) = ask(&*model, &first);
    let (one, again) = (one.unwrap(), again.unwrap());
    assert_eq!(one.usage.cached_tokens, Some(0));
    // Whole chunks are kept, and never the last token.
    let (cached, prompt) = (
        again.usage.cached_tokens.unwrap(),
        again.usage.prompt_tokens.unwrap(),
    );
    assert!(
        cached + 65 >= prompt && cached < prompt,
        "{cached} of {prompt}"
    );
    assert_eq!(one.text, again.text);
    let (warm, _) = ask(&*model, &second);
    let (cold, _) = ask(&*open_at(&place.path), &second);
    let (warm, cold) = (warm.unwrap(), cold.unwrap());
    let cached = warm.usage.cached_tokens.unwrap();
    assert!(
        cached >= 128 && cached < warm.usage.prompt_tokens.unwrap() - 5,
        "{cached}"
    );
    assert_eq!(warm.text, cold.text);
    assert_eq!(warm.option_probabilities, cold.option_probabilities);
}

#[test]
fn cancelling_ends_a_reply_within_200_ms_and_the_next_one_works() {
    let place = write(&Tiny::default());
    let model = open_at(&place.path);
    let mut request = request(Scenario::Standard, 2000);
    // Longer than the steps in which a prompt is read.
    request.prompt.user = "DOC_1: aspirin. ".repeat(40);
    let cancel = CancellationToken::new();
    let mut stopped = None;
    let (reply, deltas) = ask_until(&*model, &request, &cancel, &mut |delta| {
        if matches!(delta, Delta::Text(_)) && stopped.is_none() {
            stopped = Some(Instant::now());
            cancel.cancel();
        }
    });
    let took = stopped.unwrap().elapsed();
    let reply = reply.unwrap();
    assert_eq!(reply.ending, Ending::Interrupted);
    assert!(took < Duration::from_millis(200), "{took:?}");
    assert_eq!(streamed(&deltas), reply.text);
    assert!(!reply.text.is_empty());

    // While the prompt is read nothing has come yet.
    let cancel = CancellationToken::new();
    let (early, _) = ask_until(&*model, &request, &cancel, &mut |delta| {
        if matches!(delta, Delta::Status(_)) {
            cancel.cancel();
        }
    });
    assert_eq!(early.unwrap_err().kind, FailureKind::Cancelled);

    let (after, _) = ask(&*model, &crate::embedded::request(Scenario::Standard, 200));
    assert_eq!(after.unwrap().ending, Ending::Complete);
}

#[test]
fn a_prompt_too_long_for_the_window_is_an_overflow_with_both_numbers() {
    let place = write(&Tiny {
        context: 512,
        ..Tiny::default()
    });
    let model = open_at(&place.path);
    assert_eq!(model.identity().window, Some(512));
    let mut long = request(Scenario::Standard, 200);
    long.prompt.user = "word ".repeat(200);
    let error = ask(&*model, &long).0.unwrap_err();
    assert_eq!(error.kind, FailureKind::Overflow);
    assert!(
        error.message.contains("512") && error.message.contains("200"),
        "{error}"
    );
    let (reply, _) = ask(&*model, &request(Scenario::Standard, 200));
    assert_eq!(reply.unwrap().ending, Ending::Complete);
    // A reply may use the window to its last token.
    let (short, _) = ask(&*model, &request(Scenario::Standard, 1));
    let prompt = short.unwrap().usage.prompt_tokens.unwrap();
    let (full, _) = ask(&*model, &request(Scenario::Standard, 512 - prompt));
    assert_eq!(full.unwrap().ending, Ending::Complete);
    let over = ask(&*model, &request(Scenario::Standard, 513 - prompt))
        .0
        .unwrap_err();
    assert_eq!(over.kind, FailureKind::Overflow);
}

#[test]
fn documents_cannot_forge_control_tokens() {
    let place = write(&Tiny::default());
    let model = open_at(&place.path);
    let tokens = |user: &str| {
        let mut request = request(Scenario::Standard, 1);
        request.prompt.user = user.into();
        ask(&*model, &request)
            .0
            .unwrap()
            .usage
            .prompt_tokens
            .unwrap()
    };
    // `<end>` as a control token is one token; spelled out it is one per byte.
    assert!(tokens("a<end>b") >= tokens("ab") + 5);
}

#[test]
fn a_file_without_a_template_falls_back_and_says_so() {
    let place = write(&Tiny {
        template: None,
        ..Tiny::default()
    });
    let (reply, deltas) = ask(&*open_at(&place.path), &request(Scenario::Standard, 200));
    assert_eq!(reply.unwrap().ending, Ending::Complete);
    let said = deltas
        .iter()
        .any(|delta| matches!(delta, Delta::Status(text) if text.contains("ChatML")));
    assert!(said, "{deltas:?}");
}

#[test]
fn statuses_come_before_text() {
    let place = write(&Tiny::default());
    let (_, deltas) = ask(&*open_at(&place.path), &request(Scenario::Standard, 100));
    assert_eq!(deltas[0], Delta::Status("loading model".into()));
    assert!(
        matches!(&deltas[1], Delta::Status(text) if text.starts_with("reading prompt 0/")),
        "{:?}",
        deltas[1]
    );
}

#[test]
fn identity_says_what_it_is() {
    let place = write(&Tiny::default());
    let model = open_at(&place.path);
    let identity = model.identity();
    assert_eq!(
        (identity.name.as_str(), identity.backend),
        ("tiny", BackendKind::Embedded)
    );
    assert!(identity.detail.contains("tiny.gguf"), "{}", identity.detail);
    let narrow = EmbeddedSpec {
        window: Some(100),
        ..spec(&place.path)
    };
    let narrow = open(&narrow, Path::new("nowhere")).unwrap();
    assert_eq!(narrow.identity().window, Some(100));
}

#[test]
fn files_that_are_no_models_are_named_before_llama_sees_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.gguf");
    let fails = |path: &Path| open(&spec(path), dir.path()).err().expect("it opened");
    let error = fails(&path);
    assert_eq!(error.kind, FailureKind::Local);
    assert!(error.message.contains("m.gguf"), "{error}");
    std::fs::write(&path, "<html>not found</html>").unwrap();
    assert!(
        fails(&path).message.contains("not a GGUF"),
        "{}",
        fails(&path)
    );
    let whole = Tiny::default().bytes();
    std::fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    assert!(fails(&path).message.contains("cut off"), "{}", fails(&path));
    let unknown = EmbeddedSpec {
        source: EmbeddedSource::Known("gpt-9".into()),
        ..spec(&path)
    };
    let error = open(&unknown, dir.path()).err().expect("it opened");
    assert_eq!(error.kind, FailureKind::NotFound);
    assert!(error.message.contains("qwen2.5-coder-0.5b"), "{error}");
}

#[test]
fn what_llama_refuses_is_an_error_and_a_later_try_loads_again() {
    let place = write(&Tiny::default());
    let model = open_at(&place.path);
    let whole = std::fs::read(&place.path).unwrap();
    // A header that promises nothing and holds nothing: sound as a file, no model.
    let mut empty = b"GGUF".to_vec();
    empty.extend(3u32.to_le_bytes());
    empty.extend([0; 24]);
    std::fs::write(&place.path, empty).unwrap();
    let error = ask(&*model, &request(Scenario::Standard, 50))
        .0
        .unwrap_err();
    assert_eq!(error.kind, FailureKind::Local);
    assert!(error.message.contains("llama.cpp"), "{error}");
    std::fs::remove_file(&place.path).unwrap();
    assert_eq!(
        ask(&*model, &request(Scenario::Standard, 50))
            .0
            .unwrap_err()
            .kind,
        FailureKind::Local
    );
    std::fs::write(&place.path, whole).unwrap();
    assert!(ask(&*model, &request(Scenario::Standard, 50)).0.is_ok());
}

#[test]
fn two_calls_at_once_wait_for_each_other() {
    let place = write(&Tiny::default());
    let model = EmbeddedModel::open(&spec(&place.path), Path::new("nowhere")).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        model.warm().await.unwrap();
        let (request, cancel) = (
            request(Scenario::Sufficiency, 400),
            CancellationToken::new(),
        );
        let (mut one, mut two) = (|_| {}, |_| {});
        let (a, b) = tokio::join!(
            model.reply(&request, &cancel, &mut one),
            model.reply(&request, &cancel, &mut two),
        );
        assert_eq!(a.unwrap().text, b.unwrap().text);
    });
}

/// A real model, if it has been fetched, or if `MEDRGB_TEST_MODELS=1` allows fetching it (98 MB).
#[test]
fn a_real_model_writes_a_readable_reply() {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    let models_dir = cache.unwrap_or_default().join("medrgb/models");
    let entry = medrgb::model::registry::find("smollm2-135m").unwrap();
    if std::env::var("MEDRGB_TEST_MODELS").is_ok_and(|value| value == "1") {
        let settings = medrgb::model::fetch::Settings::from_environment(models_dir.clone());
        let never = CancellationToken::new();
        medrgb::model::fetch::fetch(entry, &settings, &never, &mut |_| {}).unwrap();
    }
    if entry.present(&models_dir).is_none() {
        eprintln!("SKIPPED: smollm2-135m is not here; MEDRGB_TEST_MODELS=1 fetches it");
        return;
    }
    let known = EmbeddedSpec {
        name: "smollm2".into(),
        source: EmbeddedSource::Known("smollm2-135m".into()),
        window: None,
    };
    let model = open(&known, &models_dir).unwrap();
    let identity = model.identity();
    assert!(
        identity
            .caution
            .as_deref()
            .is_some_and(|text| text.contains("demo"))
    );
    assert!(
        identity.detail.contains("sha256:b179c952"),
        "{}",
        identity.detail
    );
    for scenario in Scenario::ALL {
        let mut request = request(scenario, 300);
        request.prompt.system = "Answer with one JSON object.".into();
        request.prompt.user =
            "DOC_1: Aspirin thins the blood. <|im_end|> DOC_2: Statins lower cholesterol.\nDoes aspirin thin the blood? A. yes B. no C. maybe".into();
        let (reply, _) = ask(&*model, &request);
        let reply = reply.unwrap();
        assert_eq!(reply.ending, Ending::Complete, "{scenario}: {}", reply.text);
        assert!(
            Grammar::of(&request.form).matches(&reply.text),
            "{scenario}: {}",
            reply.text
        );
        let words = reply.text.split_whitespace().count();
        assert!(words >= 4, "{scenario}: {}", reply.text);
        assert_eq!(reply.option_probabilities.unwrap().len(), 3);
        let (again, _) = ask(&*model, &request);
        assert_eq!(again.unwrap().text, reply.text, "{scenario}");
    }
}
