//! What someone sees who looks at the explorer for the first time: keys that came early, one key too many, edits in
//! sight, lists beside their facets.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use medrgb::data::dataset::Dataset;
use medrgb::data::talk::parse;
use medrgb::model::{BackendKind, ModelIdentity};
use medrgb::retrieval::IndexInfo;
use medrgb::tui::app::Screen;
use medrgb::tui::app::retrieval::IndexState;
use medrgb::tui::app::talk::Talk;
use medrgb::tui::effects::Effect;
use medrgb::tui::keymap::Keymap;
use medrgb::tui::message::{Message, ReplyEvent};
use medrgb::tui::theme::ColorDepth;
use serde_json::json;

use crate::screens::{Stage, asked, fixture, write};

#[test]
fn keys_typed_before_the_dataset_is_there_are_handled_when_it_is() {
    let mut stage = Stage::new((100, 30), ColorDepth::True);
    stage.keys("/");
    stage.type_text("quiet copper");
    stage.send(Message::Paste(" cold".into()));
    assert!(!stage.app.quit, "a letter of the filter is no command");
    assert!(
        stage.screen().contains("Your keys are kept"),
        "{}",
        stage.screen()
    );
    stage.send(Message::Dataset(Ok(fixture())));
    assert!(stage.app.browse.typing);
    assert_eq!(stage.app.browse.filter.text(), "quiet copper cold");
    // What needs no dataset is there at once, and ctrl-c always.
    let mut stage = Stage::new((100, 30), ColorDepth::True);
    stage.keys("?");
    assert!(stage.screen().contains("Keys of the browse screen"));
    stage.keys("esc j ctrl-c");
    assert!(stage.app.quit);
    // Where nothing can be opened, there is nothing that the keys could mean.
    let mut stage = Stage::new((100, 30), ColorDepth::True);
    stage.keys("/ q");
    stage.send(Message::Dataset(Err("no such folder".into())));
    assert!(!stage.app.quit && stage.app.early.is_empty());
    stage.keys("q");
    assert!(stage.app.quit, "with nothing open nothing is asked");
}

#[test]
fn one_key_too_many_on_the_way_back_does_not_end_the_program() {
    let mut stage = Stage::open((100, 30), ColorDepth::True);
    stage.keys("enter q q");
    assert!(!stage.app.quit);
    assert!(
        stage.screen().contains("q again quits"),
        "{}",
        stage.screen()
    );
    stage.keys("j q");
    assert!(!stage.app.quit, "another key takes it back");
    stage.wait(60_000);
    assert!(stage.screen().contains("q again quits"));
    stage.keys("q");
    assert!(stage.app.quit, "what stands there holds");
}

/// Where nothing can be shown, one key leaves from everywhere, and says so.
#[test]
fn a_terminal_that_is_too_small_is_left_with_one_key() {
    for keys in ["esc", "enter", "enter P", "B", "W", "?"] {
        let mut stage = Stage::open((100, 30), ColorDepth::True);
        stage.keys(keys);
        stage.send(Message::Resize(20, 5));
        let screen = stage.screen();
        assert!(
            screen.contains("too small") && screen.contains("q quits"),
            "{screen}"
        );
        stage.keys("q");
        assert!(stage.app.quit, "{keys}");
    }
    // In a line of text it is a letter.
    let mut stage = Stage::open((100, 30), ColorDepth::True);
    stage.keys("/");
    stage.send(Message::Resize(20, 5));
    stage.type_text("q");
    assert!(!stage.app.quit);
    assert_eq!(stage.app.browse.filter.text(), "q");
}

#[test]
fn a_writing_key_that_quits_still_writes() {
    let mut stage = Stage::open((100, 30), ColorDepth::True);
    let changes = [("quit".to_owned(), vec!["Q".to_owned()])];
    stage.app.keymap = Keymap::new(&changes.into()).unwrap();
    stage.keys("/");
    stage.type_text("Q");
    assert!(!stage.app.quit);
    assert_eq!(stage.app.browse.filter.text(), "Q");
    stage.keys("enter Q");
    assert!(stage.app.quit);
}

/// A question with two long documents, each edited in one word far down.
pub(crate) fn long_edits() -> Arc<Dataset> {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("long");
    std::fs::create_dir(&folder).unwrap();
    let question = json!({
        "question_id": "q1",
        "question": "Which pressure was measured?",
        "options": {"A": "high", "B": "low"},
        "answer": "B",
    });
    std::fs::write(folder.join("qa.jsonl"), format!("{question}\n")).unwrap();
    let padding = |word: &str| format!("{word} filler ").repeat(600);
    let text = |k: usize, word: &str| {
        let (before, after) = (padding("before"), padding("after"));
        format!("Report {k}. {before} measured {word} here. {after} the end.")
    };
    let of = |make: &dyn Fn(usize) -> serde_json::Value| (1..=2).map(make).collect::<Vec<_>>();
    let docs = of(
        &|k| json!({"id": format!("d{k}"), "title": format!("Report {k}"), "content": text(k, "hypotension")}),
    );
    let pairs =
        of(&|k| json!({"doc_id": format!("d{k}"), "question": "Which?", "answer": "hypotension"}));
    let edits = of(
        &|k| json!({"original_id": format!("d{k}"), "new_answer": "hypertension", "edited_document": text(k, "hypertension")}),
    );
    write(&folder, "signal_docs.json", &json!({"q1": docs}));
    write(&folder, "subqa_pairs.json", &json!({"q1": pairs}));
    write(&folder, "counterfactual_docs.json", &json!({"q1": edits}));
    Arc::new(Dataset::open(&folder).unwrap())
}

#[test]
fn edited_documents_open_at_their_first_change() {
    for size in [(80, 24), (120, 36), (200, 60)] {
        let mut stage = Stage::new(size, ColorDepth::True);
        stage.send(Message::Dataset(Ok(long_edits())));
        stage.keys("enter s s N N N [ [ [ [ [");
        let state = stage.app.instance.as_ref().unwrap();
        let documents = &state.context().unwrap().documents;
        assert!(documents.len() == 2 && documents.iter().all(|doc| doc.original_id.is_some()));
        let screen = stage.screen();
        assert!(screen.contains("hypertension"), "{size:?}\n{screen}");
        assert!(screen.contains("within DOC_1"), "{size:?}\n{screen}");
        // The next change is in the second document, and after it comes the first again.
        stage.keys("c");
        let screen = stage.screen();
        assert!(screen.contains("hypertension"), "{size:?}\n{screen}");
        assert!(screen.contains("within DOC_2"), "{size:?}\n{screen}");
        stage.keys("c");
        assert!(
            stage.screen().contains("that was the last change"),
            "{size:?}"
        );
        assert!(stage.screen().contains("within DOC_1"), "{size:?}");
        // Who has scrolled stays where he is.
        stage.keys("home");
        let screen = stage.screen();
        assert!(
            !screen.contains("hypertension") && !screen.contains("within"),
            "{size:?}\n{screen}"
        );
        stage.send(Message::Resize(size.0 + 1, size.1));
        assert!(!stage.screen().contains("within"), "{size:?}");
        // Another context is a new column.
        stage.keys("R");
        assert!(stage.screen().contains("hypertension"), "{size:?}");
    }
}

#[test]
fn columns_without_documents_are_a_line() {
    let mut stage = Stage::open((120, 36), ColorDepth::True);
    stage.keys("enter s s");
    let screen = stage.screen();
    assert!(screen.contains("○ Noise 0: none in robustness"), "{screen}");
    assert!(!screen.contains("┌ ○ Noise"), "{screen}");
    stage.keys("[ [ [ [ [");
    let screen = stage.screen();
    assert!(
        screen.contains("● Signal (original) 0: none at this p: ] brings"),
        "{screen}"
    );
}

fn replaying(mut stage: Stage) -> Stage {
    stage.send(Message::Model(Ok(ModelIdentity {
        name: "replay:night".into(),
        backend: BackendKind::Replay,
        detail: "embedded:small-model, recorded on 2026-11-30, replay of the run night".into(),
        caution: Some("demo model, not a serious score".into()),
        window: None,
        replayed: vec!["embedded:small-model".into()],
    })));
    stage
}

fn paces(effects: &[Effect]) -> Vec<f64> {
    let paces = effects.iter().filter_map(|effect| match effect {
        Effect::Pace(speed) => Some(*speed),
        _ => None,
    });
    paces.collect()
}

#[test]
fn recordings_are_played_faster_outside_of_talks_too() {
    let mut stage = Stage::open((120, 36), ColorDepth::True);
    assert!(paces(&stage.keys("enter +")).is_empty());
    assert!(
        stage.screen().contains("only recordings"),
        "{}",
        stage.screen()
    );
    let mut stage = replaying(stage);
    // The caution is whole, what lies before it is cut.
    let screen = stage.screen();
    assert!(
        screen.contains("… · demo model, not a serious score"),
        "{screen}"
    );
    let ticket = asked(&stage.keys("a"));
    let waiting = "waiting for the first token (recorded: 49 s)";
    let event = ReplyEvent::Status(waiting.into());
    stage.send(Message::Reply { ticket, event });
    stage.wait(12_000);
    let screen = stage.screen();
    assert!(screen.contains(&format!("{waiting} … 12 s")), "{screen}");
    assert!(screen.contains("played ×1: + plays it faster"), "{screen}");
    assert_eq!(paces(&stage.keys("+ +")), [2.0, 4.0]);
    assert_eq!(paces(&stage.keys("-")), [2.0]);
    let event = ReplyEvent::Text("{\"relevant_doc_id\": ".into());
    stage.send(Message::Reply { ticket, event });
    let screen = stage.screen();
    assert!(screen.contains(" ×2 · "), "{screen}");
    assert!(
        !screen.contains("tok/s") && !screen.contains("first token 1"),
        "{screen}"
    );
}

#[test]
fn the_speed_of_a_talk_stays_in_the_talk() {
    let mut stage = replaying(Stage::new((120, 36), ColorDepth::True));
    let script = "speed = 16.0\n[[steps]]\ncaption = \"c\"\nquestion = \"q2\"\n";
    let script = parse(script, "talk.toml").unwrap();
    stage.app.talk = Some(Talk::new(Arc::new(script)));
    assert_eq!(paces(&stage.send(Message::Dataset(Ok(fixture())))), [16.0]);
    assert_eq!(paces(&stage.keys("q")), [1.0]);
    assert_eq!(paces(&stage.keys("T")), [16.0]);
}

#[test]
fn a_slash_begins_an_empty_query_and_the_old_one_comes_back() {
    let mut stage = Stage::open((100, 30), ColorDepth::True);
    stage.keys("r");
    let question = stage.app.retrieval.query.text().to_owned();
    let typed = |stage: &Stage| stage.app.retrieval.query.text().to_owned();
    stage.keys("/");
    assert_eq!(typed(&stage), "");
    stage.type_text("wound q");
    assert_eq!(typed(&stage), "wound q");
    assert_eq!(stage.app.screen, Screen::Retrieval);
    stage.keys("esc");
    assert_eq!(typed(&stage), question);
    stage.keys("/ up");
    stage.type_text(" again");
    assert_eq!(typed(&stage), format!("{question} again"));
    stage.keys("enter e");
    stage.type_text("!");
    assert_eq!(typed(&stage), format!("{question} again!"));
    stage.keys("enter / enter");
    assert_eq!(typed(&stage), format!("{question} again!"));
}

#[test]
fn without_an_encoder_words_take_the_whole_width() {
    let notice = "no encoder is there, so only BM25 can search; `medrgb models pull auto-encoder` fetches one, and then the index is built anew";
    for size in [(80, 24), (120, 36), (200, 60)] {
        let mut stage = Stage::open(size, ColorDepth::True);
        stage.keys("r");
        stage.app.retrieval.index = IndexState::Ready(IndexInfo {
            documents: 16,
            encoder: None,
            recall_at_10: None,
            notice: Some(notice.into()),
        });
        let screen = stage.screen();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&screen).contains(notice), "{size:?}\n{screen}");
        assert!(
            !screen.contains("Hybrid") && !screen.contains("┌ Map"),
            "{screen}"
        );
    }
}

#[test]
fn facets_stand_beside_the_list() {
    let key = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
    for size in [(80, 24), (120, 36), (200, 60)] {
        let mut stage = Stage::open(size, ColorDepth::True);
        stage.send(Message::Key(key('f')));
        let screen = stage.screen();
        assert!(screen.contains("Which questions?"), "{screen}");
        assert!(screen.contains("4 questions"), "the title counts: {screen}");
        assert!(
            screen.contains("q1") && screen.contains("q4"),
            "the list is in sight: {screen}"
        );
    }
}
