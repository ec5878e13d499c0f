//! A store with replies of several models: whose reply the instance screen shows, and how it says so.

use medrgb::data::store::{FILE_NAME, ReplyRecord, Store};
use medrgb::domain::answer::{Ending, parse};
use medrgb::domain::context::Scenario;
use medrgb::domain::prompt::reply_shape;
use medrgb::domain::score::score;
use medrgb::model::{BackendKind, ModelIdentity, Timing};
use medrgb::tui::app::reply::Whose;
use medrgb::tui::message::{Message, ReplyEvent};
use medrgb::tui::theme::ColorDepth;
use serde_json::json;

use crate::pty::Session;
use crate::pty_runs::program;
use crate::screens::{Stage, asked};
use crate::sse_server::{Script, Server};

const LARGE: &str = "openai:a-large-model-2026";

/// A reply of this model to what the screen shows, as the store has it; `None` for one that broke off.
fn record(stage: &Stage, model: &str, letter: Option<char>) -> ReplyRecord {
    let state = stage.app.instance.as_ref().unwrap();
    let composed = state.composed.as_ref().unwrap();
    let shape = reply_shape(&state.question, &composed.context);
    let (raw, ending) = match letter {
        Some(letter) => (
            format!(
                "{{\"relevant_doc_id\": [], \"irrelevant_doc_id\": [], \"answer_choice\": \"{letter}\"}}"
            ),
            Ending::Complete,
        ),
        None => ("{\"relevant".to_owned(), Ending::Interrupted),
    };
    let parsed = parse(&raw, &shape, ending);
    ReplyRecord {
        id: 0,
        run: "night".into(),
        dataset: "demo".into(),
        dataset_fingerprint: "f".into(),
        question: state.question.clone(),
        condition: state.condition,
        context: composed.context.clone(),
        prompt: composed.prompt.clone().unwrap(),
        model: json!({}),
        model_name: model.into(),
        sampling: json!({}),
        scores: Some(score(&state.question, &composed.context, &parsed)),
        parsed: Some(parsed),
        raw,
        reply: json!({}),
        failure: json!(null),
        created_at: "2026-11-30T10:00:00.000Z".into(),
        request: None,
        origin: None,
    }
}

/// The first question of the fixture, with these replies in the store, oldest first.
fn with_stored(size: (u16, u16), replies: &[(&str, Option<char>)]) -> Stage {
    let mut stage = Stage::open(size, ColorDepth::True);
    stage.keys("enter");
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join(FILE_NAME)).unwrap();
    for (model, letter) in replies {
        store.insert(&record(&stage, model, *letter)).unwrap();
    }
    let records = store.newest_replies("f", "q1", 200).unwrap();
    stage.send(Message::Stored {
        question_id: "q1".into(),
        records,
    });
    stage
}

fn opened(stage: &mut Stage, name: &str, replayed: &[&str]) {
    stage.send(Message::Model(Ok(ModelIdentity {
        name: name.into(),
        backend: match replayed.is_empty() {
            true => BackendKind::Http,
            false => BackendKind::Replay,
        },
        detail: format!("{}, recorded", replayed.join(", ")),
        caution: None,
        window: None,
        replayed: replayed.iter().map(|&name| name.to_owned()).collect(),
    })));
}

/// Goes from panel to panel until these words are on screen.
fn tab_to(stage: &mut Stage, words: &str) -> String {
    for _ in 0..8 {
        let screen = stage.screen();
        if screen.contains(words) {
            return screen;
        }
        stage.keys("tab");
    }
    panic!("{words}:\n{}", stage.screen());
}

#[test]
fn the_chosen_models_reply_comes_before_a_newer_one_of_another() {
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let replies = [("small", Some('A')), (LARGE, Some('B')), (LARGE, Some('C'))];
        let mut stage = with_stored((width, height), &replies);
        let mut screen_of = |name: &str, replayed: &[&str]| {
            opened(&mut stage, name, replayed);
            tab_to(&mut stage, "2 models have replies")
        };
        let screen = screen_of("small", &[]);
        assert!(screen.contains("A  ✓ right"), "{screen}");
        assert!(!screen.contains("not of the chosen model"), "{screen}");
        assert!(screen.contains("documents; C"), "{screen}");
        let screen = screen_of(LARGE, &[]);
        assert!(screen.contains("C  ✗ wrong"), "{screen}");
        assert!(!screen.contains("not of the chosen model"), "{screen}");
        // A replay's replies are those of the model that it plays.
        let screen = screen_of("replay:night", &["small"]);
        assert!(screen.contains("A  ✓ right"), "{screen}");
        assert!(!screen.contains("not of the chosen model"), "{screen}");
    }
}

#[test]
fn another_models_reply_says_so_at_the_start_of_its_title() {
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let mut stage = with_stored((width, height), &[(LARGE, Some('B'))]);
        let screen = tab_to(&mut stage, "Stored reply of");
        let title = screen
            .lines()
            .find(|line| line.contains("Stored reply of"))
            .unwrap();
        // Where there is little room, the name is cut, then the answer gives way.
        let (name, answer) = match width {
            80 => ("openai:a-large-model…", "  B  ✗ wrong"),
            120 => ("openai:a-lar…", ""),
            _ => (LARGE, "  B  ✗ wrong"),
        };
        let words = format!("Stored reply of {name}, not of the chosen model{answer} ");
        assert!(title.contains(&words), "{screen}");
        assert!(
            screen.contains("The chosen model, qwen2.5-coder-0.5b, has no"),
            "{screen}"
        );
        assert!(!screen.contains("models have replies"), "{screen}");
        // Asked, it answers for itself.
        let ticket = asked(&stage.keys("a"));
        assert!(!stage.screen().contains("not of the chosen model"));
        let mut own = record(&stage, "qwen2.5-coder-0.5b", Some('A'));
        own.id = 7;
        let event = ReplyEvent::Finished(Ok(Box::new(own)));
        stage.send(Message::Reply { ticket, event });
        let screen = stage.screen();
        assert!(screen.contains("A  ✓ right"), "{screen}");
        assert!(screen.contains("2 models have replies"), "{screen}");
    }
}

#[test]
fn scores_of_another_model_say_so_too() {
    let mut stage = with_stored((80, 24), &[(LARGE, Some('B'))]);
    let screen = tab_to(&mut stage, "Sufficiency scores");
    assert!(screen.contains("of another model"), "{screen}");
    // Seen from another scenario, the reply's model is named.
    stage.keys("s");
    let screen = stage.screen();
    assert!(screen.contains(&format!("of {LARGE}")), "{screen}");
    let latest = stage.app.replies.latest("q1", Scenario::Sufficiency);
    assert_eq!(stage.app.replies.whose(latest.unwrap()), Whose::Another);
}

#[test]
fn a_failed_try_of_the_chosen_model_is_said_beside_anothers_reply() {
    let chosen = "qwen2.5-coder-0.5b";
    for replies in [
        [(chosen, None), (LARGE, Some('B'))],
        [(LARGE, Some('B')), (chosen, None)],
    ] {
        let mut stage = with_stored((200, 60), &replies);
        let screen = stage.screen();
        assert!(
            screen.contains("The chosen model's own last try was stopped"),
            "{screen}"
        );
        assert!(screen.contains("not of the chosen model"), "{screen}");
    }
    // Another model's failed try says nothing about the chosen one's reply.
    let mut stage = with_stored((200, 60), &[(chosen, Some('A')), (LARGE, None)]);
    let screen = stage.screen();
    assert!(screen.contains("A  ✓ right"), "{screen}");
    assert!(!screen.contains("later try"), "{screen}");
}

#[test]
fn before_the_model_is_known_nothing_is_said_of_it() {
    let mut stage = with_stored((200, 60), &[(LARGE, Some('B'))]);
    stage.app.replies.chosen = medrgb::tui::app::reply::Chosen::Named("embedded".into());
    let screen = stage.screen();
    assert!(
        screen.contains(&format!("Stored reply of {LARGE}  B")),
        "{screen}"
    );
    assert!(!screen.contains("chosen model"), "{screen}");
}

#[test]
fn figures_of_a_recording_are_its_own_however_fast_it_is_played() {
    let mut stage = Stage::open((200, 60), ColorDepth::True);
    opened(&mut stage, "replay:night", &["small"]);
    stage.keys("enter + + + +");
    let ticket = asked(&stage.keys("a"));
    let timing = Timing {
        first_token_ms: Some(2_000),
        total_ms: 13_000,
        timeline: vec![(2_000, 40), (12_000, 360)],
    };
    for (event, wait) in [
        (ReplyEvent::Recording(timing), 125),
        (ReplyEvent::Text("x".repeat(40)), 625),
        (ReplyEvent::Text("x".repeat(360)), 0),
    ] {
        stage.send(Message::Reply { ticket, event });
        stage.wait(wait);
    }
    // 400 bytes are about 100 tokens, in the ten seconds after the first.
    let screen = stage.screen();
    let figures = "×16 · 10 tok/s · ≈100 tokens · first token 2.0 s";
    assert!(screen.contains(figures), "{screen}");
    assert!(screen.contains("writing … 12 s"), "{screen}");
}

#[test]
fn the_program_prefers_the_model_that_a_replay_plays() {
    let server = Server::start_with(|_, request| {
        let letter = if request.body["model"] == "small" {
            "A"
        } else {
            "B"
        };
        Script::reply(&[&format!(
            "{{\"relevant_doc_id\": [], \"irrelevant_doc_id\": [], \"answer_choice\": \"{letter}\"}}"
        )])
    });
    let url = server.base_url();
    let home = tempfile::tempdir().unwrap();
    for (model, run) in [("openai:small", "night"), ("openai:large", "day")] {
        let sweep = [
            "sweep",
            "--scenario",
            "sufficiency",
            "--docs",
            "5",
            "--p",
            "60",
            "--limit",
            "1",
            "--model",
            model,
            "--base-url",
            &url,
            "--run",
            run,
            "--json",
        ];
        let (code, said) = program(home.path(), &sweep);
        assert_eq!(code, Some(0), "{said}");
    }
    let size = (200, 60);
    let kind = "xterm-256color";
    let mut session = Session::start_at(home, kind, size, &["--model", "replay:night"]);
    session.wait_for("questions");
    session.press("\r");
    session.wait_for("2 models have replies to exactly these documents");
    session.wait_for("openai:small, recorded on");
    let screen = session.text();
    assert!(!screen.contains("not of the chosen model"), "{screen}");
    assert!(screen.contains("Reply  A  "), "{screen}");
    let home = session.kill();
    let other = ["--model", "openai:other", "--base-url", &url, "--fresh"];
    let mut session = Session::start_at(home, kind, size, &other);
    session.wait_for("questions");
    session.press("\r");
    session.wait_for("Stored reply of openai:large, not of the chosen model  B");
    session.press("\x03");
    assert!(session.wait_for_end().success());
}
