//! Screens at fixed sizes, and the machine behind them, driven by keys alone.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use medrgb::data::dataset::Dataset;
use medrgb::data::store::ReplyRecord;
use medrgb::domain::answer::{Ending, parse};
use medrgb::domain::prompt::{Prompt, Templates};
use medrgb::domain::ranking::MeasuresAt;
use medrgb::domain::score::score;
use medrgb::model::{BackendKind, ModelIdentity};
use medrgb::retrieval::map::{Map, Placed};
use medrgb::retrieval::{EncoderSummary, Found, Hit, IndexInfo, Method, SearchTiming};
use medrgb::tui::app::retrieval::EncoderName;
use medrgb::tui::app::{App, Settings, Ticket};
use medrgb::tui::effects::Effect;
use medrgb::tui::keymap::Keymap;
use medrgb::tui::message::{IndexEvent, Message, ReplyEvent, SearchNews};
use medrgb::tui::theme::{ColorDepth, Theme};
use medrgb::tui::update::update;
use medrgb::tui::view;
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::json;

/// The explorer without a terminal.
pub struct Stage {
    pub app: App,
    pub now: Duration,
}

impl Stage {
    pub fn new(size: (u16, u16), depth: ColorDepth) -> Stage {
        let settings = Settings {
            model: "embedded".into(),
            dataset: "demo".into(),
            k: 5,
            templates: Templates::default(),
        };
        let theme = Theme::built_in("dark", depth);
        Stage {
            app: App::new(settings, Keymap::default(), theme, size),
            now: Duration::ZERO,
        }
    }

    /// With the fixture's dataset and a demo model.
    pub fn open(size: (u16, u16), depth: ColorDepth) -> Stage {
        let mut stage = Stage::new(size, depth);
        stage.send(Message::Dataset(Ok(fixture())));
        stage.send(Message::Model(Ok(ModelIdentity {
            name: "qwen2.5-coder-0.5b".into(),
            backend: BackendKind::Embedded,
            detail: "demo.gguf".into(),
            caution: Some("demo model, not a serious score".into()),
            window: Some(4096),
            replayed: Vec::new(),
        })));
        stage
    }

    pub fn send(&mut self, message: Message) -> Vec<Effect> {
        update(&mut self.app, message, self.now)
    }

    /// Presses keys: names separated by spaces.
    pub fn keys(&mut self, names: &str) -> Vec<Effect> {
        names
            .split(' ')
            .flat_map(|name| self.send(Message::Key(key(name))))
            .collect()
    }

    pub(crate) fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            self.send(Message::Key(KeyEvent::new(
                KeyCode::Char(c),
                KeyModifiers::NONE,
            )));
        }
    }

    pub fn wait(&mut self, milliseconds: u64) {
        self.now += Duration::from_millis(milliseconds);
    }

    pub fn screen(&mut self) -> String {
        self.send(Message::Frame);
        let (width, height) = self.app.size;
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        view::draw(&self.app, &mut buffer);
        (0..height)
            .map(|y| {
                let mut line = String::new();
                let mut x = 0;
                while x < width {
                    let symbol = buffer[(x, y)].symbol();
                    line.push_str(symbol);
                    x += u16::try_from(unicode_width::UnicodeWidthStr::width(symbol).max(1))
                        .unwrap();
                }
                format!("{}\n", line.trim_end())
            })
            .collect()
    }
}

fn key(name: &str) -> KeyEvent {
    let (code, modifiers) = match name {
        "enter" => (KeyCode::Enter, KeyModifiers::NONE),
        "esc" => (KeyCode::Esc, KeyModifiers::NONE),
        "tab" => (KeyCode::Tab, KeyModifiers::NONE),
        "shift-tab" => (KeyCode::BackTab, KeyModifiers::SHIFT),
        "up" => (KeyCode::Up, KeyModifiers::NONE),
        "down" => (KeyCode::Down, KeyModifiers::NONE),
        "space" => (KeyCode::Char(' '), KeyModifiers::NONE),
        "end" => (KeyCode::End, KeyModifiers::NONE),
        "home" => (KeyCode::Home, KeyModifiers::NONE),
        "left" => (KeyCode::Left, KeyModifiers::NONE),
        "right" => (KeyCode::Right, KeyModifiers::NONE),
        "backspace" => (KeyCode::Backspace, KeyModifiers::NONE),
        "ctrl-c" => (KeyCode::Char('c'), KeyModifiers::CONTROL),
        other => (
            KeyCode::Char(other.chars().next().unwrap()),
            KeyModifiers::NONE,
        ),
    };
    KeyEvent::new(code, modifiers)
}

/// Four small questions with documents, sub-questions and adversarial versions.
pub fn fixture() -> Arc<Dataset> {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("demo");
    std::fs::create_dir(&folder).unwrap();
    let subjects = ["zinc", "copper", "iron", "iodine"];
    let mut questions = String::new();
    let (mut signal, mut subs, mut edits) = (json!({}), json!({}), json!({}));
    for (number, subject) in subjects.iter().enumerate() {
        let id = format!("q{}", number + 1);
        let question = json!({
            "question_id": id,
            "question": format!("Does {subject} shorten the common cold in adults?"),
            "options": {"A": "yes", "B": "no", "C": "maybe"},
            "answer": "A",
        });
        questions.push_str(&format!("{question}\n"));
        let (mut docs, mut pairs, mut versions) = (vec![], vec![], vec![]);
        for k in 1..=4 {
            let doc = format!("{subject}-{k}");
            let days = k + 1;
            docs.push(json!({
                "id": doc,
                "title": format!("Trial {k} of {subject}"),
                "content": format!("In trial {k} adults who took {subject} recovered {days} days earlier than those on placebo; no harm was seen."),
            }));
            pairs.push(json!({"doc_id": doc, "question": format!("How many days earlier did adults recover in trial {k}?"), "answer": format!("{days} days")}));
            versions.push(json!({"original_id": doc, "new_answer": format!("{} days", days + 10), "edited_document": format!("In trial {k} adults who took {subject} recovered {} days later than those on placebo; no harm was seen.", days + 10)}));
        }
        signal[&id] = docs.into();
        subs[&id] = pairs.into();
        edits[&id] = versions.into();
    }
    std::fs::write(folder.join("qa.jsonl"), questions).unwrap();
    write(&folder, "signal_docs.json", &signal);
    write(&folder, "subqa_pairs.json", &subs);
    write(&folder, "counterfactual_docs.json", &edits);
    Arc::new(Dataset::open(&folder).unwrap())
}

pub(crate) fn write(folder: &Path, name: &str, value: &serde_json::Value) {
    std::fs::write(folder.join(name), value.to_string()).unwrap();
}

/// The job of the asking that these effects begin.
pub fn asked(effects: &[Effect]) -> Ticket {
    effects
        .iter()
        .find_map(|effect| match effect {
            Effect::Ask(parts) => Some(parts.ticket),
            _ => None,
        })
        .expect("an asking")
}

/// A reply in sufficiency that stands in the middle of its reasoning.
pub(crate) fn streaming(stage: &mut Stage) -> Ticket {
    let ticket = asked(&stage.keys("a"));
    stage.wait(400);
    let event = ReplyEvent::Status("reading prompt 120/900".into());
    stage.send(Message::Reply { ticket, event });
    stage.wait(1500);
    let text = "{\"relevant_doc_id\": [\"DOC_1\", \"DOC_2\"], \"irrelevant_doc_id\": [\"DOC_4\"], \"step_by_step_thinking\": \"DOC_1 and DOC_2 report that adults recovered earlier, ";
    for piece in [&text[..40], &text[40..]] {
        let event = ReplyEvent::Text(piece.into());
        stage.send(Message::Reply { ticket, event });
        stage.wait(1000);
    }
    ticket
}

/// Asks, and ends the reply with this text, read and scored as the engine does.
pub fn answered(stage: &mut Stage, raw: &str) {
    ended(stage, raw, Ending::Complete);
}

/// As [`answered`], with this end.
pub(crate) fn ended(stage: &mut Stage, raw: &str, ending: Ending) {
    let ticket = asked(&stage.keys("a"));
    let running = stage.app.replies.running.as_ref().unwrap();
    let condition = stage.app.instance.as_ref().unwrap().condition;
    let parsed = parse(raw, &running.shape, ending);
    let scores = score(&running.question, &running.context, &parsed);
    let record = ReplyRecord {
        id: 1,
        run: "test".into(),
        dataset: "demo".into(),
        dataset_fingerprint: String::new(),
        question: running.question.clone(),
        condition,
        context: running.context.clone(),
        prompt: Prompt {
            system: String::new(),
            user: String::new(),
        },
        model: json!({}),
        model_name: "test".into(),
        sampling: json!({}),
        raw: raw.into(),
        reply: json!({}),
        failure: json!(null),
        parsed: Some(parsed),
        scores: Some(scores),
        created_at: "2026-01-01T00:00:00Z".into(),
        request: None,
        origin: None,
    };
    let event = ReplyEvent::Finished(Ok(Box::new(record)));
    stage.send(Message::Reply { ticket, event });
}

macro_rules! at_all_sizes {
    ($name:ident, $prepare:expr) => {
        #[test]
        fn $name() {
            for (width, height) in [(80, 24), (120, 40), (200, 60)] {
                let mut stage = Stage::open((width, height), ColorDepth::True);
                let prepare: fn(&mut Stage) = $prepare;
                prepare(&mut stage);
                let name = format!("{}_{width}x{height}", stringify!($name));
                insta::assert_snapshot!(name, stage.screen());
            }
        }
    };
}

at_all_sizes!(browse, |_| {});
at_all_sizes!(sufficiency, |stage| {
    stage.keys("enter");
});
at_all_sizes!(robustness, |stage| {
    stage.keys("enter s s [ tab");
});
at_all_sizes!(integration_without_signal, |stage| {
    stage.keys("enter s [ [ [");
});
at_all_sizes!(reply_streams, |stage| {
    // Small screens show one page at a time: asking turns to the reply.
    stage.keys("enter");
    streaming(stage);
});
at_all_sizes!(why_in_sufficiency, |stage| {
    stage.keys("enter");
    let raw = "Here you go: {\"relevant_doc_id\": [\"DOC_1\", \"DOC_2\"], \"irrelevant_doc_id\": [2, 4], \"step_by_step_thinking\": \"Two trials agree.\", \"answer_choice\": \"(b) no\"}";
    answered(stage, raw);
    stage.keys("w");
});
at_all_sizes!(why_in_robustness, |stage| {
    stage.keys("enter s s");
    let raw = "{\"sub_1\": {\"question\": \"?\", \"relevant_doc_id\": \"DOC_1\", \"factual_correctness\": true, \"answer\": \"The seven days.\"}, \"main\": {\"step_by_step_thinking\": \"So.\", \"answer_choice\": \"A\"}}";
    answered(stage, raw);
    stage.keys("w");
});
at_all_sizes!(help_on_an_instance, |stage| {
    stage.keys("enter ?");
});
at_all_sizes!(retrieval, |stage| {
    retrieval_with_hits(stage);
});
at_all_sizes!(retrieval_map, |stage| {
    retrieval_with_hits(stage);
    stage.keys("m j");
});

#[test]
fn the_map_works_without_colour_and_without_braille() {
    let mut stage = Stage::open((80, 24), ColorDepth::None);
    stage.app.braille = false;
    retrieval_with_hits(&mut stage);
    stage.keys("m");
    let screen = stage.screen();
    insta::assert_snapshot!("retrieval_map_ascii_80x24", screen);
    let braille = screen
        .chars()
        .find(|c| ('\u{2800}'..='\u{28ff}').contains(c));
    assert_eq!(braille, None);
    // The other list gives its own ranks, and the way back is the same key.
    assert!(screen.contains("ranks of Dense"), "{screen}");
    stage.keys("tab");
    assert!(stage.screen().contains("ranks of BM25"));
    stage.keys("m");
    assert!(stage.screen().contains("BM25  2 of 3"));
}

/// The hits of [`retrieval_with_hits`] and two more, on vectors of three numbers.
pub(crate) fn a_map() -> Map {
    let document = |id: &str, ranks: &[(Method, usize)], signal, vector: [f32; 3]| Placed {
        id: id.into(),
        ranks: ranks.into(),
        signal,
        vector: vector.into(),
    };
    let documents = vec![
        document("zinc-1", &[(Method::Dense, 1)], true, [0.9, 0.3, 0.1]),
        document("iron-2", &[(Method::Dense, 2)], false, [0.4, 0.8, -0.2]),
        document("zinc-2", &[(Method::Bm25, 1)], true, [0.7, -0.5, 0.0]),
    ];
    Map::new(&[1.0, 0.1, 0.0], documents)
}

fn wild_map(text: &str) -> Map {
    let document = |number: u8| Placed {
        id: format!("{number}{text}"),
        ranks: vec![(Method::Bm25, number.into()), (Method::Dense, 1)],
        signal: number.is_multiple_of(2),
        vector: vec![f32::from(number), f32::MAX, f32::NAN, -f32::from(number)],
    };
    Map::new(&[0.0, 1.0, 2.0], (0..5).map(document).collect())
}

pub(crate) fn retrieval_with_hits(stage: &mut Stage) {
    let effects = stage.keys("r");
    let build = effects
        .iter()
        .find_map(|effect| match effect {
            Effect::BuildIndex { ticket, .. } => Some(*ticket),
            _ => None,
        })
        .expect("the index is built");
    let search = effects
        .iter()
        .find_map(|effect| match effect {
            Effect::Search { ticket, .. } => Some(*ticket),
            _ => None,
        })
        .expect("the question is searched");
    let info = IndexInfo {
        documents: 16,
        encoder: Some(EncoderSummary {
            name: "minilm-l6".into(),
            dim: 384,
            backend: "CPU, 2 threads".into(),
            stand_in: true,
            weights_sha256: String::new(),
        }),
        recall_at_10: Some(1.0),
        notice: Some("MedCPT's weights are not here; all-MiniLM-L6-v2 stands in for them.".into()),
    };
    stage.send(Message::Index {
        ticket: build,
        event: IndexEvent::Finished(Ok(info)),
    });
    let list = |ids: &[&str]| {
        let hits = ids
            .iter()
            .enumerate()
            .map(|(at, id)| Hit {
                position: at,
                id: (*id).into(),
                title: format!("Trial of {id}"),
                content: "Adults recovered earlier than those on placebo.".into(),
                score: 0.9,
                rank: at + 1,
            })
            .collect();
        let timing_ms = SearchTiming {
            tokenize: 0.1,
            encode: 8.0,
            search: 0.25,
        };
        Some(Ok(Found {
            hits,
            timing_ms,
            query_embedding: None,
        }))
    };
    let lists = [
        list(&["zinc-1", "iron-2"]),
        list(&["zinc-2"]),
        Some(Err("vectors are not there yet".into())),
    ];
    let news = SearchNews {
        lists,
        signal: [vec![true, false], vec![true], vec![]],
        recall: Some(1.0),
        measures: [
            MeasuresAt::new(&[true, false], 2, 10),
            MeasuresAt::new(&[true], 2, 10),
            None,
        ],
        absent: false,
        map: Some(a_map()),
    };
    stage.send(Message::Search {
        ticket: search,
        news: Box::new(news),
    });
}

/// The tickets of building and searching in these effects.
pub(crate) fn jobs(effects: &[Effect]) -> (Option<Ticket>, Option<Ticket>) {
    let build = effects.iter().find_map(|effect| match effect {
        Effect::BuildIndex { ticket, .. } => Some(*ticket),
        _ => None,
    });
    let search = effects.iter().find_map(|effect| match effect {
        Effect::Search { ticket, .. } => Some(*ticket),
        _ => None,
    });
    (build, search)
}

fn answers(stage: &mut Stage, ticket: Ticket, dense: Result<&str, &str>) {
    let list = |answer: Result<&str, &str>| {
        Some(match answer {
            Ok(id) => Ok(Found {
                hits: vec![Hit {
                    position: 0,
                    id: id.into(),
                    title: "Trial".into(),
                    content: "Adults recovered.".into(),
                    score: 0.5,
                    rank: 1,
                }],
                timing_ms: SearchTiming::default(),
                query_embedding: None,
            }),
            Err(why) => Err(why.to_owned()),
        })
    };
    let news = SearchNews {
        lists: [list(dense), list(Ok("zinc-2")), list(dense)],
        signal: Default::default(),
        recall: None,
        measures: [None; 3],
        absent: false,
        map: None,
    };
    let news = Box::new(news);
    stage.send(Message::Search { ticket, news });
}

const CANCELLED: &str = "cancelled; what is encoded so far is kept in the cache";

#[test]
fn a_rebuilt_index_answers_the_shown_query() {
    let mut stage = Stage::open((120, 40), ColorDepth::True);
    let (build, search) = jobs(&stage.keys("r"));
    let (build, old) = (build.unwrap(), search.unwrap());
    stage.keys("x");
    let event = IndexEvent::Finished(Err(CANCELLED.into()));
    stage.send(Message::Index {
        ticket: build,
        event,
    });
    answers(&mut stage, old, Err(CANCELLED));
    assert!(stage.screen().contains("cancelled"));

    let effects = stage.keys("b");
    assert!(
        matches!(
            effects[..],
            [Effect::BuildIndex { .. }, Effect::Search { .. }]
        ),
        "{effects:?}"
    );
    let (rebuild, search) = jobs(&effects);
    let (rebuild, new) = (rebuild.unwrap(), search.unwrap());
    // What the dropped service still says is not shown.
    answers(&mut stage, old, Err(CANCELLED));
    let screen = stage.screen();
    assert!(!screen.contains("cancelled;"), "{screen}");
    assert_eq!(screen.matches("being encoded").count(), 2, "{screen}");

    let info = IndexInfo {
        documents: 16,
        encoder: Some(EncoderSummary {
            name: "minilm-l6".into(),
            dim: 384,
            backend: "CPU, 2 threads".into(),
            stand_in: true,
            weights_sha256: String::new(),
        }),
        recall_at_10: None,
        notice: None,
    };
    let event = IndexEvent::Finished(Ok(info));
    let effects = stage.send(Message::Index {
        ticket: rebuild,
        event,
    });
    assert_eq!(jobs(&effects), (None, Some(new)), "the query runs again");
    answers(&mut stage, new, Ok("zinc-1"));
    let screen = stage.screen();
    // Dense and hybrid; the focus stays on BM25, whose hit is shown in full.
    assert_eq!(screen.matches("zinc-1").count(), 2, "{screen}");
}

#[test]
fn encoding_says_how_fast_how_long_and_by_what() {
    let mut stage = Stage::open((120, 40), ColorDepth::True);
    let ticket = jobs(&stage.keys("r")).0.unwrap();
    let report = |stage: &mut Stage, event| {
        stage.send(Message::Index { ticket, event });
    };
    let name = EncoderName {
        name: "all-MiniLM-L6-v2".into(),
        stand_in: true,
    };
    report(&mut stage, IndexEvent::Encoder(name));
    report(
        &mut stage,
        IndexEvent::Progress("encoding".into(), 100, 5133),
    );
    let screen = stage.screen();
    assert!(
        screen.contains("encoding: 100 of 5133   x cancels"),
        "{screen}"
    );
    assert!(
        screen.contains("all-MiniLM-L6-v2 (stand-in for MedCPT)"),
        "{screen}"
    );
    stage.wait(10_000);
    report(
        &mut stage,
        IndexEvent::Progress("encoding".into(), 133, 5133),
    );
    let screen = stage.screen();
    let line = "encoding: 133 of 5133   3.3 per second   about 26 min left   x cancels";
    assert!(screen.contains(line), "{screen}");
    assert!(!screen.contains("processor"), "{screen}");
    stage.send(Message::Resize(40, 20));
    let screen = stage.screen();
    assert!(screen.contains("133 of 5133   x cancels"), "{screen}");
    stage.send(Message::Resize(120, 40));
    stage.keys("esc enter a");
    stage.send(Message::Resize(120, 60));
    let screen = stage.screen();
    assert!(
        screen.contains("Documents are being encoded too"),
        "{screen}"
    );
    stage.keys("r");
    let screen = stage.screen();
    assert!(screen.contains("both share the processor"), "{screen}");
}

#[test]
fn a_short_context_is_said_at_every_size() {
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    // Four signal documents and p 100: more than four can't be had.
    stage.keys("enter ] ] n n n n");
    let context = stage.app.instance.as_ref().unwrap().context().unwrap();
    assert!(context.short, "{context:?}");
    let (docs, wanted) = (context.docs, context.docs_requested);
    for width in 40..=200 {
        for height in [14, 24, 40] {
            stage.send(Message::Resize(width, height));
            let screen = stage.screen();
            let said = screen.contains(&format!("SHORT: {docs} of {wanted}"))
                || screen.contains(&format!("SHORT {docs}/{wanted}"));
            assert!(said, "{width}×{height}:\n{screen}");
        }
    }
}

#[test]
fn a_stopped_try_does_not_hide_an_answer() {
    let mut stage = Stage::open((120, 40), ColorDepth::True);
    stage.keys("enter");
    answered(
        &mut stage,
        "{\"relevant_doc_id\": [], \"irrelevant_doc_id\": [], \"answer_choice\": \"A\"}",
    );
    ended(
        &mut stage,
        "{\"relevant_doc_id\": [\"DOC_1\"",
        Ending::Interrupted,
    );
    let screen = stage.screen();
    assert!(screen.contains("A later try was stopped"), "{screen}");
    assert!(screen.contains("A  ✓ right"), "{screen}");
    stage.keys("q");
    let screen = stage.screen();
    assert!(screen.contains("✓ right !"), "{screen}");
    assert!(!screen.contains("unavailable"), "{screen}");
    // What the mark means stands beside the list.
    assert!(screen.contains("! A later try was stopped"), "{screen}");
    stage.keys("enter");
    answered(
        &mut stage,
        "{\"relevant_doc_id\": [], \"irrelevant_doc_id\": [], \"answer_choice\": \"A\"}",
    );
    stage.keys("q");
    let screen = stage.screen();
    assert!(screen.contains("✓ right"), "{screen}");
    assert!(!screen.contains("✓ right !"), "{screen}");
}

#[test]
fn what_a_stopped_reply_has_not_reached_is_not_wrong() {
    let cases = [
        ("enter", "{\"relevant_doc_id\": [\"DOC_1\"", "said signal"),
        (
            "enter s",
            "{\"sub_1\": {\"relevant_doc_id\": \"DOC_1\", \"answer\": \"2 da",
            "given 2 da…",
        ),
        (
            "enter s s",
            "{\"sub_1\": {\"relevant_doc_id\": \"DOC_1\", \"answer\": \"2 da",
            "given 2 da…",
        ),
    ];
    for (keys, raw, said) in cases {
        let mut stage = Stage::open((200, 60), ColorDepth::True);
        stage.keys(keys);
        ended(&mut stage, raw, Ending::Interrupted);
        let screen = stage.screen();
        assert!(screen.contains(said), "{screen}");
        assert!(screen.contains("not reached"), "{screen}");
        for wrong in ["✗", "skipped", "other answer", "no verdict"] {
            assert!(!screen.contains(wrong), "{wrong}:\n{screen}");
        }
    }
}

#[test]
fn figures_of_a_coming_reply_are_no_rates() {
    for keys in ["enter", "enter s", "enter s s"] {
        let mut stage = Stage::open((200, 60), ColorDepth::True);
        stage.keys(keys);
        let ticket = asked(&stage.keys("a"));
        let event = ReplyEvent::Text("{".into());
        stage.send(Message::Reply { ticket, event });
        for part in [
            "",
            "\"relevant_doc_id\": [\"DOC_1\"], \"sub_1\": {\"answer\": \"2 days\"}",
        ] {
            let event = ReplyEvent::Text(part.into());
            stage.send(Message::Reply { ticket, event });
            let screen = stage.screen();
            assert_eq!(screen.contains(" so far"), !part.is_empty(), "{screen}");
            for name in ["noise detection", "sub-answers exact", "error detection"] {
                let line = screen.lines().find(|line| line.contains(name));
                let right = line.and_then(|line| line.split(name).nth(1));
                assert!(!right.is_some_and(|text| text.contains('%')), "{screen}");
            }
        }
    }
}

#[test]
fn empty_lists_are_said_as_soon_as_they_are_closed() {
    let mut stage = Stage::open((120, 40), ColorDepth::True);
    let ticket = asked(&stage.keys("enter a"));
    let text = "{\"relevant_doc_id\": [], \"irrelevant_doc_id\": [], ";
    let event = ReplyEvent::Text(text.into());
    stage.send(Message::Reply { ticket, event });
    let screen = stage.screen();
    assert!(!screen.contains("not yet labelled"), "{screen}");
    assert_eq!(screen.matches("relevant    none").count(), 1, "{screen}");
    assert_eq!(screen.matches("irrelevant  none").count(), 1, "{screen}");
}

#[test]
fn a_long_message_can_be_read_to_its_end() {
    for (width, height) in [(40, 12), (80, 24)] {
        let mut stage = Stage::open((width, height), ColorDepth::True);
        let text = format!("{}the end of it", "many words to wrap ".repeat(8));
        stage.send(Message::Complaint(text));
        let screen = stage.screen();
        assert!(screen.contains("the end of it"), "{screen}");
    }
}

#[test]
fn the_footer_has_the_keys_one_needs() {
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    let list = "enter open, / filter, f facets, t find, l label, W runs, q quit, ? all keys";
    let question = "a ask, [ ] step p, s scenario, c next change, P probe, q back, ? all keys";
    // Esc leaves the list as it is.
    for (keys, hints) in [("esc", list), ("enter s s", question)] {
        stage.keys(keys);
        let screen = stage.screen();
        let footer = screen.lines().last().unwrap();
        for hint in hints.split(", ") {
            assert!(footer.contains(hint), "{hint}: {footer}");
        }
        assert!(footer.chars().count() <= 80, "{footer}");
    }
    stage.send(Message::Resize(40, 12));
    let screen = stage.screen();
    let footer = screen.lines().last().unwrap();
    assert!(
        footer.contains("q back") && footer.contains("? all keys"),
        "{footer}"
    );
}

/// What does not fit into a footer is left out; the way out is not.
#[test]
fn footers_of_windows_are_never_cut() {
    let mut stage = Stage::open((40, 12), ColorDepth::True);
    for (open, first, close) in [
        ("f", "space choose", "esc close"),
        (":", "enter run", "esc close"),
        ("/", "type to filter", "esc clear"),
    ] {
        stage.keys(open);
        let screen = stage.screen();
        let footer = screen.lines().last().unwrap().trim_end();
        assert!(footer.contains(first), "{footer}");
        assert!(footer.ends_with(close), "{footer}");
        stage.keys("esc");
    }
}

#[test]
fn title_encoder_and_recall_stand_on_a_small_screen() {
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    retrieval_with_hits(&mut stage);
    let screen = stage.screen();
    for words in ["Retrieval", "minilm-l6", "stand-in", "HNSW found 100 %"] {
        assert!(screen.contains(words), "{words}:\n{screen}");
    }
}

#[test]
fn a_long_question_shows_what_it_asks() {
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    stage.send(Message::Dataset(Ok(wild_dataset(&[format!(
        "{}Which drug is it?",
        "A man of 50 years has a cough. ".repeat(20)
    )]))));
    stage.keys("enter");
    let screen = stage.screen();
    assert!(screen.contains("Which drug is it?"), "{screen}");
    assert!(screen.contains("shift-tab to Question"), "{screen}");
}

#[test]
fn a_tiny_terminal_gets_whole_words() {
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    let words = ["too", "small", "is", "need", "40×12", "!", "q", "quits"];
    for width in 1..40 {
        for height in 1..12 {
            stage.send(Message::Resize(width, height));
            let screen = stage.screen();
            let size = format!("{width}×{height}");
            for word in screen.split_whitespace() {
                assert!(words.contains(&word) || word == size, "{size}: {screen}");
            }
            assert!(width < 5 || screen.contains("40×12"), "{size}: {screen}");
        }
    }
}

#[test]
fn help_keeps_keys_and_names_apart() {
    for (width, height) in [(40, 100), (62, 100), (80, 100), (200, 100)] {
        let mut stage = Stage::open((width, height), ColorDepth::True);
        stage.keys("?");
        let screen = stage.screen();
        let row = screen.lines().find(|line| line.contains("pagedown"));
        let row = row.unwrap_or_else(|| panic!("{screen}"));
        let words: Vec<&str> = row.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "pagedown").unwrap();
        assert_eq!(words[at + 1..at + 3], ["ctrl-f", "space"], "{screen}");
    }
}

#[test]
fn a_dataset_that_is_not_there_offers_no_work_on_it() {
    let mut stage = Stage::new((80, 24), ColorDepth::True);
    stage.send(Message::Dataset(Err("there is no folder /nowhere".into())));
    let screen = stage.screen();
    let footer = screen.lines().last().unwrap();
    for word in ["open", "filter", "retrieval"] {
        assert!(!footer.contains(word), "{footer}");
    }
    assert!(footer.contains("q quit"), "{footer}");
}

#[test]
fn own_odds_are_explained() {
    let mut stage = Stage::open((120, 40), ColorDepth::True);
    stage.keys("enter");
    answered(&mut stage, "{\"answer_choice\": \"A\"}");
    let reply = stage.app.replies.recent.last_mut().unwrap();
    reply.probabilities = vec![('A', 0.59), ('B', 0.41)];
    let letters = |stage: &mut Stage| {
        let screen = stage.screen();
        screen
            .split(|c: char| c.is_whitespace() || c == '│')
            .collect::<String>()
    };
    let shown = letters(&mut stage);
    assert!(shown.contains("A59%"), "{shown}");
    let mut stage_zoomed = stage;
    stage_zoomed.keys("tab tab z");
    while !letters(&mut stage_zoomed).contains("A59%") {
        stage_zoomed.keys("tab");
    }
    let shown = letters(&mut stage_zoomed);
    assert!(
        shown.contains("(themodel'sownprobabilitiesoftheoptions)"),
        "{shown}"
    );
    let reply = stage_zoomed.app.replies.recent.last_mut().unwrap();
    reply.parsed.as_mut().unwrap().answer = None;
    let shown = letters(&mut stage_zoomed);
    assert!(shown.contains("thisreplychosenone"), "{shown}");
}

#[test]
fn mono_writes_differences_out() {
    let mut stage = Stage::open((120, 40), ColorDepth::None);
    stage.keys("enter s s [ tab");
    let screen = stage.screen();
    insta::assert_snapshot!("robustness_mono_120x40", screen);
    assert!(screen.contains("{+") && screen.contains("[-"), "{screen}");
}

#[test]
fn empty_states_say_what_to_do() {
    let mut stage = Stage::new((80, 24), ColorDepth::True);
    insta::assert_snapshot!("loading_80x24", stage.screen());
    stage.send(Message::Dataset(Err("there is no folder /nowhere".into())));
    insta::assert_snapshot!("failed_80x24", stage.screen());
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    stage.keys("/");
    stage.type_text("nothing like this");
    assert!(stage.screen().contains("No question matches"));
    stage.app.size = (30, 8);
    assert!(stage.screen().contains("30×8 is too small"));
}

#[test]
fn the_filter_narrows_as_one_types() {
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    stage.keys("/");
    stage.type_text("iod");
    let screen = stage.screen();
    assert!(
        screen.contains("iodine") && !screen.contains("copper"),
        "{screen}"
    );
    stage.keys("enter enter");
    let state = stage.app.instance.as_ref().unwrap();
    assert_eq!(state.question.id, "q4");
}

#[test]
fn stepping_p_marks_what_is_new() {
    let mut stage = Stage::open((120, 40), ColorDepth::True);
    stage.keys("enter");
    assert!(!stage.screen().contains("+new"));
    stage.keys("[");
    let screen = stage.screen();
    assert_eq!(screen.matches("+new").count(), 1, "{screen}");
    assert!(screen.contains("p 40 %"));
}

#[test]
fn a_reply_of_another_job_changes_nothing() {
    let mut stage = Stage::open((120, 40), ColorDepth::True);
    stage.keys("enter");
    let ticket = streaming(&mut stage);
    let before = stage.screen();
    let event = ReplyEvent::Text("stale".into());
    let stale = Ticket(ticket.0 + 100);
    stage.send(Message::Reply {
        ticket: stale,
        event,
    });
    assert_eq!(stage.screen(), before);
}

#[test]
fn a_reply_survives_looking_elsewhere() {
    let mut stage = Stage::open((120, 40), ColorDepth::True);
    stage.keys("enter");
    let ticket = streaming(&mut stage);
    stage.keys(".");
    assert!(!stage.screen().contains("recovered earlier, "));
    let message = "the connection broke".to_owned();
    let event = ReplyEvent::Finished(Err(message));
    stage.send(Message::Reply { ticket, event });
    stage.keys(",");
    let screen = stage.screen();
    assert!(
        screen.contains("No reply: the connection broke"),
        "{screen}"
    );
    assert!(screen.contains("DOC_1 and DOC_2 report"), "{screen}");
}

#[test]
fn one_reply_at_a_time_and_stop_reaches_it() {
    let mut stage = Stage::open((120, 40), ColorDepth::True);
    stage.keys("enter");
    let ticket = streaming(&mut stage);
    assert!(
        stage
            .keys(". a")
            .iter()
            .all(|effect| !matches!(effect, Effect::Ask(_)))
    );
    let effects = stage.keys("x");
    assert!(matches!(effects[..], [Effect::Cancel(stopped)] if stopped == ticket));
}

#[test]
fn gold_can_be_hidden_everywhere() {
    let mut stage = Stage::open((200, 60), ColorDepth::True);
    stage.keys("enter s s");
    assert!(stage.screen().contains("(gold)") && stage.screen().contains("true answer:"));
    stage.keys("g");
    let screen = stage.screen();
    assert!(
        !screen.contains("(gold)") && !screen.contains("true answer:"),
        "{screen}"
    );
    assert!(!screen.contains("planted:"), "{screen}");
}

#[test]
fn the_palette_finds_and_runs_commands() {
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    stage.keys("enter :");
    stage.type_text("scenar");
    assert!(stage.screen().contains("scenario"));
    stage.keys("enter");
    let scenario = stage.app.instance.as_ref().unwrap().condition.scenario;
    assert_eq!(scenario.name(), "integration");
}

#[test]
fn scrolling_stays_in_bounds() {
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    stage.keys("enter end down down down");
    let before = stage.screen();
    stage.keys("up");
    assert_ne!(stage.screen(), before, "one step up must show at once");
}

#[test]
fn leaving_works_while_typing() {
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    stage.keys("/ x ctrl-c");
    assert!(stage.app.quit);
}

const KEYS: [&str; 49] = [
    "enter",
    "esc",
    "tab",
    "shift-tab",
    "up",
    "down",
    "space",
    "end",
    "backspace",
    "/",
    "[",
    "]",
    "{",
    "}",
    "n",
    "N",
    "s",
    "S",
    "R",
    "m",
    "o",
    "g",
    "v",
    "d",
    "p",
    "z",
    "J",
    "K",
    "r",
    "a",
    "x",
    "?",
    ":",
    "!",
    ".",
    ",",
    "y",
    "V",
    "F",
    "l",
    "G",
    "<",
    "e",
    "b",
    "W",
    "C",
    "P",
    "left",
    "right",
];

/// Text of all kinds that has broken terminals before.
fn wild_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z]{1,8}",
        Just(" ".to_owned()),
        Just("中文字符".to_owned()),
        Just("e\u{301}\u{302}\u{303}".to_owned()),
        Just("\u{1b}[31mred\u{7}".to_owned()),
        Just("\n\r\t".to_owned()),
        Just("👩‍👩‍👧‍👦🇩🇪".to_owned()),
        Just("\u{202e}\u{200b}\u{feff}".to_owned()),
        "[A-Z]{60,90}",
        "\\PC{1,6}",
    ];
    prop::collection::vec(piece, 1..12).prop_map(|pieces| pieces.concat())
}

fn wild_dataset(texts: &[String]) -> Arc<Dataset> {
    let folder = tempfile::tempdir().unwrap();
    let mut questions = String::new();
    let (mut signal, mut subs, mut edits) = (json!({}), json!({}), json!({}));
    let text = |k: usize| texts[k % texts.len()].clone();
    for q in 0..3 {
        let id = format!("q{q}");
        let question = json!({"question_id": id, "question": format!("x{}", text(q)), "options": {"A": format!("y{}", text(q + 1)), "B": "no"}, "answer": "B"});
        questions.push_str(&format!("{question}\n"));
        let docs: Vec<_> = (0..3)
            .map(|k| json!({"id": format!("d{q}-{k}"), "title": text(q + k), "content": format!("{q}{k}{}", text(k + 2))}))
            .collect();
        signal[&id] = docs.into();
        subs[&id] = json!([{"doc_id": format!("d{q}-0"), "question": text(q + 3), "answer": format!("z{}", text(q))}]);
        edits[&id] = json!([{"original_id": format!("d{q}-0"), "new_answer": "w", "edited_document": format!("v{}", text(q + 4))}]);
    }
    std::fs::write(folder.path().join("qa.jsonl"), questions).unwrap();
    write(folder.path(), "signal_docs.json", &signal);
    write(folder.path(), "subqa_pairs.json", &subs);
    write(folder.path(), "counterfactual_docs.json", &edits);
    Arc::new(Dataset::open(folder.path()).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Nothing panics at any size, with any text, after any keys; nothing from outside drives the terminal.
    #[test]
    fn no_size_text_or_key_breaks_a_screen(
        texts in prop::collection::vec(wild_text(), 5),
        steps in prop::collection::vec((0..KEYS.len(), 1u16..220, 1u16..70, wild_text()), 1..25),
        mono in any::<bool>(),
    ) {
        let depth = if mono { ColorDepth::None } else { ColorDepth::True };
        let mut stage = Stage::new((80, 24), depth);
        stage.send(Message::Dataset(Ok(wild_dataset(&texts))));
        stage.keys("enter");
        for (key, width, height, text) in steps {
            let effects = stage.keys(KEYS[key]);
            for effect in effects {
                match effect {
                    Effect::Ask(parts) => {
                        let text = format!("{{\"step_by_step_thinking\": \"{text}");
                        let ticket = parts.ticket;
                        stage.send(Message::Reply { ticket, event: ReplyEvent::Text(text) });
                    }
                    Effect::Search { ticket, .. } => {
                        let lists = [Some(Err(text.clone())), None, Some(Ok(Found { hits: vec![], timing_ms: SearchTiming::default(), query_embedding: None }))];
                        stage.send(Message::Search { ticket, news: Box::new(SearchNews { lists, signal: Default::default(), recall: None, measures: [None; 3], absent: false, map: Some(wild_map(&text)) }) });
                    }
                    effect => crate::run_screens::answer(&mut stage, effect, &text),
                }
            }
            if stage.app.quit {
                break;
            }
            stage.send(Message::Resize(width, height));
            let screen = stage.screen();
            let stray = screen.chars().find(|c| c.is_control() && *c != '\n');
            prop_assert_eq!(stray, None);
        }
    }
}
