//! How long it takes to build one frame of the instance screen with 20 documents of 500 words, 200 × 60 cells:
//! `cargo bench --bench frames`. Every frame follows a key that scrolls; every tenth comes after a step of p, which
//! composes the context anew and wraps what is new in it.
#![allow(clippy::print_stdout, clippy::expect_used)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use medrgb::data::dataset::Dataset;
use medrgb::domain::prompt::Templates;
use medrgb::tui::app::{App, Settings};
use medrgb::tui::keymap::Keymap;
use medrgb::tui::message::Message;
use medrgb::tui::theme::{ColorDepth, Theme};
use medrgb::tui::update::update;
use medrgb::tui::view;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::json;

const SIZE: (u16, u16) = (200, 60);
const FRAMES: usize = 2_000;

fn main() {
    let settings = Settings {
        model: "none".into(),
        dataset: "long".into(),
        k: 10,
        templates: Templates::default(),
    };
    let theme = Theme::built_in("dark", ColorDepth::True);
    let mut app = App::new(settings, Keymap::default(), theme, SIZE);
    update(
        &mut app,
        Message::Dataset(Ok(long_documents())),
        Duration::ZERO,
    );
    press(&mut app, KeyCode::Enter);
    for _ in 0..15 {
        press(&mut app, KeyCode::Char('n'));
    }
    let (mut still, mut stepped) = (Vec::new(), Vec::new());
    for frame in 0..FRAMES {
        let (key, times) = match frame % 10 {
            0 => (if frame % 20 == 0 { '[' } else { ']' }, &mut stepped),
            turn => (if turn % 2 == 0 { 'k' } else { 'j' }, &mut still),
        };
        press(&mut app, KeyCode::Char(key));
        let start = Instant::now();
        let mut buffer = Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1));
        view::draw(&app, &mut buffer);
        times.push(start.elapsed());
    }
    report("after scrolling", &mut still);
    report("after a step of p", &mut stepped);
}

fn press(app: &mut App, code: KeyCode) {
    let key = KeyEvent::new(code, KeyModifiers::NONE);
    update(app, Message::Key(key), Duration::ZERO);
}

fn report(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at =
        |share: usize| times[(times.len() * share / 100).min(times.len() - 1)].as_secs_f64() * 1e3;
    println!(
        "{what:<20} median {:.3} ms, p99 {:.3} ms, worst {:.3} ms of {} frames",
        at(50),
        at(99),
        at(100),
        times.len()
    );
}

/// Two questions with 20 documents each, 500 words long.
fn long_documents() -> Arc<Dataset> {
    let folder = tempfile::tempdir().expect("a folder");
    let words = "patients treated early recovered sooner than those who waited, and no harm was seen in either group; ";
    let mut questions = String::new();
    let (mut signal, mut subs, mut edits) = (json!({}), json!({}), json!({}));
    for number in 1..=2 {
        let id = format!("q{number}");
        let question = json!({"question_id": id, "question": "Does early treatment help?", "options": {"A": "yes", "B": "no"}, "answer": "A"});
        questions.push_str(&format!("{question}\n"));
        let (mut docs, mut pairs, mut versions) = (vec![], vec![], vec![]);
        for k in 0..20 {
            let doc = format!("{id}-d{k}");
            let body: String = (0..30)
                .map(|part| format!("Part {part} of report {k} on question {number}: {words}"))
                .collect();
            docs.push(json!({"id": doc, "title": format!("Report {k}"), "content": format!("It took {k} days. {body}")}));
            pairs.push(json!({"doc_id": doc, "question": "How long did it take?", "answer": format!("{k} days")}));
            versions.push(json!({"original_id": doc, "new_answer": "99 weeks", "edited_document": format!("It took 99 weeks. {body}")}));
        }
        signal[&id] = docs.into();
        subs[&id] = pairs.into();
        edits[&id] = versions.into();
    }
    let write =
        |name: &str, text: String| std::fs::write(folder.path().join(name), text).expect("written");
    write("qa.jsonl", questions);
    write("signal_docs.json", signal.to_string());
    write("subqa_pairs.json", subs.to_string());
    write("counterfactual_docs.json", edits.to_string());
    Arc::new(Dataset::open(folder.path()).expect("the dataset opens"))
}
