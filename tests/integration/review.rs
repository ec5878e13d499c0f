//! Reviewing a benchmark: through the real program, in a pseudo-terminal, and on screens of fixed size.
//!
//! Decisions are made up for these tests.

use std::path::Path;
use std::sync::Arc;

use medrgb::data::dataset::Dataset;
use medrgb::data::reviews::{FILE_NAME, Reviews};
use medrgb::domain::annotation::{Hand, Part};
use medrgb::domain::review::{Act, Change, Content, Event, Item, ItemKind, Reason, Verdict};
use medrgb::engine::review::listing;
use medrgb::tui::app::Screen;
use medrgb::tui::app::review::ReviewParts;
use medrgb::tui::editor::{Program, Purpose};
use medrgb::tui::effects::Effect;
use medrgb::tui::message::Message;
use medrgb::tui::theme::ColorDepth;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::build::Place;
use crate::screens::{Stage, fixture};
use crate::sweep::finish;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

fn hand(name: &str, part: Part) -> Hand {
    Hand {
        annotator: name.into(),
        part,
    }
}

fn items(dataset: &Dataset) -> Vec<Item> {
    let all = listing(dataset, |_| None).into_iter();
    all.map(|(_, found)| found.item).collect()
}

fn rejected(reason: Reason, words: &str) -> Verdict {
    Verdict::Rejected {
        reason,
        words: words.into(),
    }
}

/// Decides about an item, made up.
fn decide(reviews: &Reviews, dataset: &Dataset, who: &Hand, item: &Item, verdict: Verdict) {
    let event = Event {
        at: String::new(),
        act: Act::on(item, Change::Verdict(Some(verdict))),
    };
    reviews.add(&dataset.name, who, &event).unwrap();
}

/// A dataset whose items break rules, with long texts and what could drive a terminal.
fn overfull() -> Arc<Dataset> {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("overfull");
    std::fs::create_dir(&folder).unwrap();
    let evil = "\u{1b}[31m\u{1b}]0;owned\u{7}";
    let vignette = "A 54-year-old woman comes to the clinic because of fatigue that has grown over many months. ".repeat(8);
    let question = json!({"question_id": format!("a-very-long-id-of-a-question-{evil}"), "question": format!("{vignette}{evil}"),
        "options": {"A": "Iron deficiency, as the many symptoms that are listed above suggest", "B": "Something else"}, "answer": "A"});
    let id = question["question_id"].as_str().unwrap().to_owned();
    let sentence = "The store of iron in the liver is large, and little of it is lost. ";
    let text = format!(
        "{}It is the hepatocyte that keeps ferritin. {}",
        sentence.repeat(30),
        sentence.repeat(30)
    );
    let documents: Vec<Value> = (0..3)
        .map(|at| json!({"id": format!("doc-{at}{evil}"), "title": "Ferritin of the hepatocyte ".repeat(4), "content": text}))
        .collect();
    let subs: Vec<Value> = (0..3)
        .map(|at| json!({"doc_id": format!("doc-{at}{evil}"), "question": format!("What does it keep in the liver, as the authors say? {}", "And why? ".repeat(20)), "answer": "a protein which does not stand there word for word and is far too long"}))
        .collect();
    let edits: Vec<Value> = (0..3)
        .map(|at| json!({"original_id": format!("doc-{at}{evil}"), "new_answer": format!("albumin{evil}"), "edited_document": "Everything is different in this counterfactual text. ".repeat(20)}))
        .collect();
    let one = |list: Vec<Value>| {
        let mut map = serde_json::Map::new();
        map.insert(id.clone(), list.into());
        Value::Object(map).to_string()
    };
    std::fs::write(folder.join("qa.jsonl"), format!("{question}\n")).unwrap();
    std::fs::write(folder.join("signal_docs.json"), one(documents)).unwrap();
    std::fs::write(folder.join("subqa_pairs.json"), one(subs)).unwrap();
    std::fs::write(folder.join("counterfactual_docs.json"), one(edits)).unwrap();
    Arc::new(Dataset::open(&folder).unwrap())
}

/// A dataset without sub-questions.
fn bare() -> Arc<Dataset> {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("bare");
    std::fs::create_dir(&folder).unwrap();
    let line = json!({"question_id": "q", "question": "Which?", "options": {"A": "this", "B": "that"}, "answer": "A"});
    std::fs::write(folder.join("qa.jsonl"), format!("{line}\n")).unwrap();
    let documents = json!({"q": [{"id": "d", "content": "Iron is stored."}]});
    std::fs::write(folder.join("signal_docs.json"), documents.to_string()).unwrap();
    Arc::new(Dataset::open(&folder).unwrap())
}

/// The explorer without a terminal, with decisions on disk: effects on files are done at once.
struct Desk {
    stage: Stage,
    dataset: Arc<Dataset>,
    reviews: Reviews,
    _folder: tempfile::TempDir,
}

impl Desk {
    fn new(size: (u16, u16), depth: ColorDepth) -> Desk {
        Desk::with(size, depth, fixture())
    }

    fn with(size: (u16, u16), depth: ColorDepth, dataset: Arc<Dataset>) -> Desk {
        let folder = tempfile::tempdir().unwrap();
        let reviews = Reviews::open(&folder.path().join(FILE_NAME)).unwrap();
        let mut stage = Stage::open(size, depth);
        stage.send(Message::Dataset(Ok(Arc::clone(&dataset))));
        stage.app.annotate.annotator = "ana".into();
        Desk {
            stage,
            dataset,
            reviews,
            _folder: folder,
        }
    }

    fn keys(&mut self, names: &str) {
        for name in names.split(' ') {
            let effects = self.stage.keys(name);
            self.perform(effects);
        }
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            let message = match effect {
                Effect::OpenReview {
                    ticket,
                    dataset,
                    hand,
                } => {
                    let shelf = self.reviews.of_dataset(&dataset.name).unwrap();
                    let choice = self.reviews.queue(&dataset.name, &hand).unwrap();
                    let book = shelf.books.get(&hand);
                    let listing = listing(&dataset, |item| book?.verdict(&item.id));
                    Message::Review {
                        ticket,
                        part: hand.part,
                        result: Ok(Box::new(ReviewParts {
                            listing,
                            shelf,
                            choice,
                            dataset,
                        })),
                    }
                }
                Effect::Review {
                    dataset,
                    hand,
                    event,
                } => {
                    self.reviews.add(&dataset, &hand, &event).unwrap();
                    Message::Reviewed(Ok(()))
                }
                Effect::KeepReview {
                    dataset,
                    hand,
                    choice,
                } => {
                    self.reviews.set_queue(&dataset, &hand, &choice).unwrap();
                    continue;
                }
                _ => continue,
            };
            let next = self.stage.send(message);
            self.perform(next);
        }
    }

    /// Presses the key for the editor and gives back what `change` makes of the text.
    fn edit(&mut self, change: impl Fn(&str) -> Option<String>) {
        let effects = self.stage.keys("e");
        let [Effect::OpenOutside(outside)] = &effects[..] else {
            panic!("{effects:?}");
        };
        assert_eq!(outside.program, Program::Editor);
        let Purpose::Item { .. } = &outside.purpose else {
            panic!("{:?}", outside.purpose);
        };
        let message = Message::CameBack {
            purpose: outside.purpose.clone(),
            result: Ok(change(&outside.text)),
        };
        let next = self.stage.send(message);
        self.perform(next);
    }

    fn screen(&mut self) -> String {
        self.stage.screen()
    }

    fn verdict(&self, item: &Item) -> Option<Verdict> {
        let shelf = self.reviews.of_dataset(&self.dataset.name).unwrap();
        let book = shelf.books.get(&hand("ana", Part::Annotator))?;
        book.verdict(&item.id).cloned()
    }
}

/// Snapshots of a prepared desk at all sizes, with colours and without.
fn at_all_sizes(name: &str, dataset: &dyn Fn() -> Arc<Dataset>, prepare: &dyn Fn(&mut Desk)) {
    for (width, height) in SIZES {
        for (depth, theme) in [(ColorDepth::True, "dark"), (ColorDepth::None, "mono")] {
            let mut desk = Desk::with((width, height), depth, dataset());
            prepare(&mut desk);
            let name = format!("{name}_{theme}_{width}x{height}");
            insta::assert_snapshot!(name, desk.screen());
        }
    }
}

#[test]
fn the_list_at_all_sizes() {
    at_all_sizes("review_list", &fixture, &|desk| {
        desk.keys("E enter a x enter");
        desk.edit(|text| Some(text.replace("days", "whole days")));
        desk.keys("q");
    });
}

#[test]
fn a_sub_question_at_all_sizes() {
    at_all_sizes("review_sub_question", &fixture, &|desk| {
        desk.keys("E enter")
    });
}

#[test]
fn an_edited_edit_with_findings_at_all_sizes() {
    at_all_sizes("review_edit", &fixture, &|desk| {
        desk.keys("E enter .");
        desk.edit(|text| Some(text.replace("12 days", "2 days or 12 days")));
        desk.keys("n");
        desk.stage.type_text("says both");
        desk.keys("enter");
    });
}

#[test]
fn reasons_at_all_sizes() {
    at_all_sizes("review_reasons", &overfull, &|desk| desk.keys("E enter x"));
}

#[test]
fn more_than_fits_at_all_sizes() {
    at_all_sizes("review_overfull", &overfull, &|desk| desk.keys("E enter"));
    at_all_sizes("review_overfull_list", &overfull, &|desk| desk.keys("E"));
}

#[test]
fn nothing_and_errors_at_all_sizes() {
    at_all_sizes("review_empty", &bare, &|desk| desk.keys("E"));
    at_all_sizes("review_error", &fixture, &|desk| {
        let effects = desk.stage.keys("E");
        let [Effect::OpenReview { ticket, .. }] = effects[..] else {
            panic!("{effects:?}");
        };
        let result = Err(
            "the disk with the review decisions reviews.sqlite is full; make room and try again"
                .to_owned(),
        );
        desk.stage.send(Message::Review {
            ticket,
            part: Part::Annotator,
            result,
        });
        // The notice goes with the next key; the error stays on screen.
        desk.keys("j");
    });
}

#[test]
fn deciding_between_reviewers_at_all_sizes() {
    at_all_sizes("review_deciding", &fixture, &|desk| {
        let all = items(&desk.dataset);
        let dataset = Arc::clone(&desk.dataset);
        let (ana, ben) = (hand("ana", Part::Annotator), hand("ben", Part::Annotator));
        decide(&desk.reviews, &dataset, &ana, &all[0], Verdict::Accepted);
        decide(&desk.reviews, &dataset, &ben, &all[0], Verdict::Accepted);
        decide(&desk.reviews, &dataset, &ana, &all[1], Verdict::Accepted);
        let out = rejected(Reason::Implausible, "nobody recovers in 12 days");
        decide(&desk.reviews, &dataset, &ben, &all[1], out);
        desk.keys("E A enter");
    });
}

#[test]
fn hostile_texts_do_not_reach_the_terminal_and_small_ones_work() {
    for size in [(80, 24), (200, 60), (40, 12), (60, 16), (1, 1)] {
        for depth in [ColorDepth::True, ColorDepth::None] {
            let mut desk = Desk::with(size, depth, overfull());
            let mut screens = String::new();
            for keys in [
                "E", "f", "esc", "enter", "tab j", ".", "d", "d", "x", "esc", "?", "esc", "a",
            ] {
                desk.keys(keys);
                screens += &desk.screen();
            }
            assert!(!screens.contains("owned"), "{screens}");
            let bad = screens.chars().find(|c| c.is_control() && *c != '\n');
            assert_eq!(bad, None);
        }
    }
}

#[test]
fn every_decision_is_on_disk_at_once_and_undo_goes_back() {
    let mut desk = Desk::new((120, 40), ColorDepth::True);
    let all = items(&desk.dataset);
    desk.keys("E");
    assert!(
        desk.screen().contains("0 of 32 decided"),
        "{}",
        desk.screen()
    );
    desk.keys("enter");
    assert!(desk.screen().contains("item 1 of 32"), "{}", desk.screen());
    desk.keys("a");
    assert_eq!(desk.verdict(&all[0]), Some(Verdict::Accepted));
    assert!(desk.screen().contains("item 2 of 32"), "{}", desk.screen());
    // Rejected for the second reason of the list, with words.
    desk.keys("x j n");
    desk.stage.type_text("12 days is a joke");
    desk.keys("enter");
    assert_eq!(
        desk.verdict(&all[1]),
        Some(rejected(Reason::Implausible, "12 days is a joke"))
    );
    // In one's own words only with words.
    desk.keys("x end enter");
    assert!(desk.screen().contains("in words: ▏"), "{}", desk.screen());
    desk.keys("enter");
    assert_eq!(desk.verdict(&all[2]), None);
    desk.stage.type_text("asked before");
    desk.keys("enter");
    assert_eq!(
        desk.verdict(&all[2]),
        Some(rejected(Reason::Other, "asked before"))
    );
    assert!(desk.screen().contains("3 decided"));
    // Undo from the next item leads back to the last.
    desk.keys("u");
    assert_eq!(desk.verdict(&all[2]), None);
    assert!(desk.screen().contains("item 3 of 32"), "{}", desk.screen());
    desk.keys("u u u");
    assert_eq!(desk.verdict(&all[0]), None);
    assert!(
        desk.screen().contains("nothing to take back"),
        "{}",
        desk.screen()
    );
    desk.keys("U");
    assert_eq!(desk.verdict(&all[0]), Some(Verdict::Accepted));
    desk.keys("c");
    assert_eq!(desk.verdict(&all[0]), None);
    // Undecided items come first once one is back on the list.
    desk.keys("a a q");
    let screen = desk.screen();
    let rows: Vec<&str> = screen.lines().filter(|line| line.contains("q1")).collect();
    assert!(
        !rows[0].contains('✓') && rows.last().unwrap().contains('✓'),
        "{screen}"
    );
    assert!(screen.contains("2 of 32 decided"), "{screen}");
}

#[test]
fn an_edited_item_is_checked_at_once_and_kept_as_the_persons_decision() {
    let mut desk = Desk::new((120, 40), ColorDepth::True);
    let all = items(&desk.dataset);
    desk.keys("E enter");
    assert!(
        desk.screen().contains("the checks find nothing"),
        "{}",
        desk.screen()
    );
    // Nothing, or the same: no decision.
    desk.edit(|_| None);
    assert_eq!(desk.verdict(&all[0]), None);
    desk.edit(|text| Some(format!("{text}\n")));
    assert_eq!(desk.verdict(&all[0]), None);
    // A text that can't be read changes nothing, and is there again.
    desk.edit(|text| Some(text.replace("answer:", "anser:")));
    let screen = desk.screen();
    assert!(screen.contains("\"answer: …\" was expected"), "{screen}");
    assert_eq!(desk.verdict(&all[0]), None);
    desk.edit(|text| {
        assert!(text.contains("anser:"), "{text}");
        Some(text.replace("anser: 2 days", "answer: a week or so"))
    });
    let screen = desk.screen();
    assert!(screen.contains("would be dropped"), "{screen}");
    desk.keys("j");
    let screen = desk.screen();
    assert!(
        screen.contains("does not stand in the") && screen.contains("± edited"),
        "{screen}"
    );
    let Some(Verdict::Edited(Content::SubQuestion { answer, .. })) = desk.verdict(&all[0]) else {
        panic!("{:?}", desk.verdict(&all[0]));
    };
    assert_eq!(answer, "a week or so");
    // Accepting what stands there keeps it, and goes on to the edit of the same document, which is judged by the answer
    // that is true now.
    desk.keys("a");
    assert!(
        desk.screen().contains("your edit stays"),
        "{}",
        desk.screen()
    );
    assert!(
        matches!(desk.verdict(&all[0]), Some(Verdict::Edited(_))),
        "{:?}",
        desk.verdict(&all[0])
    );
    let screen = desk.screen();
    assert!(screen.contains("a week or so"), "{screen}");
    // Edited back to what it was, it is accepted.
    desk.keys(",");
    desk.edit(|text| Some(text.replace("a week or so", "2 days")));
    assert_eq!(desk.verdict(&all[0]), Some(Verdict::Accepted));
    // The edit whose sub-question is rejected has none.
    desk.keys("x enter");
    assert!(
        desk.screen().contains("has no sub-question"),
        "{}",
        desk.screen()
    );
}

#[test]
fn a_second_reviewer_does_not_see_the_first_and_differences_are_decided() {
    let mut desk = Desk::new((200, 60), ColorDepth::True);
    let all = items(&desk.dataset);
    let dataset = Arc::clone(&desk.dataset);
    let ben = hand("ben", Part::Annotator);
    let secret = rejected(Reason::Other, "ben's secret, made up");
    decide(&desk.reviews, &dataset, &ben, &all[0], secret);
    let gives_away =
        |screen: &str| screen.contains("secret") || screen.contains('✗') || screen.contains("ben");
    desk.keys("E");
    assert!(!gives_away(&desk.screen()), "{}", desk.screen());
    desk.keys("enter");
    assert!(!gives_away(&desk.screen()), "{}", desk.screen());
    desk.keys("A");
    assert!(
        desk.screen().contains("there must be two"),
        "{}",
        desk.screen()
    );
    desk.keys("a q A");
    let screen = desk.screen();
    assert!(
        screen.contains("decide between reviewers: 0 of 1"),
        "{screen}"
    );
    desk.keys("enter");
    let screen = desk.screen();
    assert!(
        screen.contains("ben's secret") && screen.contains("ana: ✓ accepted"),
        "{screen}"
    );
    desk.keys("a");
    assert!(
        desk.screen().contains("this queue is finished: 1 item"),
        "{}",
        desk.screen()
    );
    let shelf = desk.reviews.of_dataset(&dataset.name).unwrap();
    let judge = &shelf.books[&hand("ana", Part::Adjudicator)];
    assert_eq!(judge.verdict(&all[0].id), Some(&Verdict::Accepted));
    // Back among the reviewers nothing of ben's is to be seen.
    desk.keys("A");
    assert!(!gives_away(&desk.screen()), "{}", desk.screen());
}

/// On a laptop's terminal the change of an edit and the answer of a sub-question are in sight, however long the text.
#[test]
fn what_an_item_is_about_is_in_sight() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("long");
    std::fs::create_dir(&folder).unwrap();
    let filler =
        "Much more is known about the stores of the body and how they are kept. ".repeat(12);
    let text = format!("{filler}Iron is kept in the liver of adults. {filler}");
    let question = json!({"question_id": "q", "question": "Where?", "options": {"A": "liver", "B": "heart"}, "answer": "A"});
    std::fs::write(folder.join("qa.jsonl"), format!("{question}\n")).unwrap();
    for (name, value) in [
        (
            "signal_docs.json",
            json!({"id": "d", "title": "Stores", "content": text}),
        ),
        (
            "subqa_pairs.json",
            json!({"doc_id": "d", "question": "Which organ of adults keeps iron?", "answer": "the liver"}),
        ),
        (
            "counterfactual_docs.json",
            json!({"original_id": "d", "new_answer": "the spleen", "edited_document": text.replace("the liver", "the spleen")}),
        ),
    ] {
        std::fs::write(folder.join(name), json!({"q": [value]}).to_string()).unwrap();
    }
    let dataset = Arc::new(Dataset::open(&folder).unwrap());
    let mut desk = Desk::with((80, 24), ColorDepth::None, dataset);
    let document = |desk: &mut Desk| -> String {
        let screen = desk.screen();
        let lines = screen
            .lines()
            .map(|line| line.chars().take(43).collect::<String>());
        lines.collect::<Vec<_>>().join("\n")
    };
    desk.keys("E enter");
    let shown = document(&mut desk);
    assert!(shown.contains("»the liver«"), "{shown}");
    desk.keys(".");
    let shown = document(&mut desk);
    assert!(shown.contains("spleen"), "{shown}");
    desk.keys("d");
    let shown = document(&mut desk);
    assert!(
        shown.contains("spleen") || shown.contains("liver"),
        "{shown}"
    );
}

#[test]
fn what_is_not_saved_is_said_and_not_shown() {
    let mut desk = Desk::new((120, 40), ColorDepth::True);
    desk.keys("E enter");
    let effects = desk.stage.keys("a");
    assert!(matches!(effects[..], [Effect::Review { .. }]));
    assert!(desk.screen().contains("saving"), "{}", desk.screen());
    let effects = desk
        .stage
        .send(Message::Reviewed(Err("the disk is full".into())));
    assert!(
        desk.screen().contains("NOT saved: the disk is full"),
        "{}",
        desk.screen()
    );
    desk.perform(effects);
    desk.keys("q");
    assert!(
        desk.screen().contains("0 of 32 decided"),
        "{}",
        desk.screen()
    );
}

#[test]
fn the_queue_is_narrowed_by_kind_finding_and_decision_and_remembers_it() {
    let mut desk = Desk::with((120, 40), ColorDepth::True, overfull());
    desk.keys("E f");
    let screen = desk.screen();
    for value in [
        "sub-question",
        "adversarial edit",
        "the text gives itself away",
    ] {
        assert!(screen.contains(value), "{value} in\n{screen}");
    }
    desk.keys("j space esc");
    let screen = desk.screen();
    assert!(
        screen.contains("only: adversarial edit") && screen.contains("0 of 3 decided"),
        "{screen}"
    );
    let kept = desk
        .reviews
        .queue("overfull", &hand("ana", Part::Annotator))
        .unwrap();
    assert!(kept.unwrap().contains("adversarial edit"));
    // From the instance screen to the items of its question; from an item to its question.
    desk.keys("f c esc q enter E enter i");
    assert_eq!(desk.stage.app.screen, Screen::Instance);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Nothing panics at any size after any keys, and nothing from outside drives the terminal.
    #[test]
    fn no_size_or_key_breaks_the_review(
        steps in prop::collection::vec((0..KEYS.len(), 1u16..220, 1u16..70), 1..40),
        mono in any::<bool>(),
        full in any::<bool>(),
    ) {
        let depth = if mono { ColorDepth::None } else { ColorDepth::True };
        let mut desk = Desk::with((80, 24), depth, if full { overfull() } else { fixture() });
        desk.keys("E");
        for (key, width, height) in steps {
            let app = &desk.stage.app;
            // Overlays and lines that are typed take letters for themselves.
            let on_item = app.screen == Screen::ReviewItem && app.overlay.is_none() && app.review.note.is_none();
            match KEYS[key] {
                "e" if on_item => desk.edit(|text| {
                    let end = text.floor_char_boundary(usize::from(width) * 4);
                    (width % 3 > 0).then(|| text[..end].to_owned())
                }),
                key => desk.keys(key),
            }
            if desk.stage.app.quit {
                break;
            }
            desk.stage.send(Message::Resize(width, height));
            let screen = desk.screen();
            let stray = screen.chars().find(|c| c.is_control() && *c != '\n');
            prop_assert_eq!(stray, None);
        }
    }
}

/// What the property presses.
const KEYS: [&str; 30] = [
    "enter",
    "esc",
    "tab",
    "up",
    "down",
    "space",
    "end",
    "E",
    "a",
    "a",
    "e",
    "e",
    "x",
    "c",
    "n",
    "u",
    "u",
    "U",
    ".",
    ",",
    "d",
    "f",
    "A",
    "i",
    "q",
    "?",
    ":",
    "j",
    "k",
    "backspace",
];

/// A place with a folder of the fixture's kind, reviewed by ana and ben; cleo decided once.
fn reviewed() -> (Place, Vec<Item>) {
    let place = Place::new();
    copy(&fixture_folder(), &place.path("set"));
    let dataset = Dataset::open(&place.path("set")).unwrap();
    let all = items(&dataset);
    let reviews = Reviews::open(&place.path("home/data").join(FILE_NAME)).unwrap();
    let (ana, ben) = (hand("ana", Part::Annotator), hand("ben", Part::Annotator));
    let wrong = || rejected(Reason::Wrong, "=1+1, made up");
    let edited = Verdict::Edited(Content::SubQuestion {
        question: "By how many days did adults recover earlier in trial 2?".into(),
        answer: "3 days".into(),
    });
    for (at, by_ana, by_ben) in [
        (0, Verdict::Accepted, Verdict::Accepted),
        (1, Verdict::Accepted, Verdict::Accepted),
        (2, edited.clone(), edited),
        (3, Verdict::Accepted, Verdict::Accepted),
        // A sub-question that is out takes its edit with it.
        (4, wrong(), rejected(Reason::Other, "no")),
        (5, Verdict::Accepted, Verdict::Accepted),
        (6, Verdict::Accepted, wrong()),
        (7, Verdict::Accepted, wrong()),
    ] {
        decide(&reviews, &dataset, &ana, &all[at], by_ana);
        decide(&reviews, &dataset, &ben, &all[at], by_ben);
    }
    decide(&reviews, &dataset, &ana, &all[9], wrong());
    let cleo = hand("cleo", Part::Adjudicator);
    decide(&reviews, &dataset, &cleo, &all[6], Verdict::Accepted);
    (place, all)
}

/// The fixture's dataset as a folder that lasts.
fn fixture_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let dataset = fixture();
    let (mut lines, mut signal, mut subs, mut edits) =
        (String::new(), json!({}), json!({}), json!({}));
    for question in &dataset.questions {
        let pools = dataset.pools(&question.id);
        let line = json!({"question_id": question.id, "question": question.text, "options": {"A": "yes", "B": "no", "C": "maybe"}, "answer": "A"});
        lines += &format!("{line}\n");
        signal[&question.id] = json!(pools.signal);
        subs[&question.id] = json!(pools.sub_questions);
        edits[&question.id] = json!(pools.counterfactuals);
    }
    std::fs::write(folder.path().join("qa.jsonl"), lines).unwrap();
    std::fs::write(folder.path().join("signal_docs.json"), signal.to_string()).unwrap();
    std::fs::write(folder.path().join("subqa_pairs.json"), subs.to_string()).unwrap();
    std::fs::write(
        folder.path().join("counterfactual_docs.json"),
        edits.to_string(),
    )
    .unwrap();
    folder
}

fn copy(from: &tempfile::TempDir, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from.path()).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn decisions_are_listed_compared_and_exported() {
    let place = Place::new();
    copy(&fixture_folder(), &place.path("set"));
    for action in ["export", "agreement"] {
        let (code, _, err) = finish(place.program(&["build", "review", action, "set"]));
        assert_eq!(code, Some(1));
        assert!(
            err.contains("nothing has been decided about \"set\" yet") && err.contains("press E"),
            "{err}"
        );
    }
    let (place, all) = reviewed();
    let (code, listed, err) = finish(place.program(&["build", "review", "list", "set", "--json"]));
    assert_eq!(code, Some(0), "{err}");
    let set = &listed["datasets"][0];
    assert_eq!(
        (&set["dataset"], &set["items"]),
        (&json!("set"), &json!(32))
    );
    assert_eq!(
        set["reviewers"][0],
        json!({"reviewer": "ana", "kind": "review", "accepted": 6, "edited": 1, "rejected": 2, "undecided": 23})
    );
    assert_eq!(set["reviewers"][2]["kind"], "adjudication");

    let (code, measured, err) =
        finish(place.program(&["build", "review", "agreement", "set", "--json"]));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(measured["method"], "cohen");
    let both = &measured["agreement"][0];
    assert_eq!((&both["items"], &both["same"]), (&json!(8), &json!(6)));
    assert_eq!(
        both["given"]["ben"],
        json!({"accepted": 4, "edited": 1, "rejected": 3})
    );
    // Observed 6/8; chance (6·4 + 1·1 + 1·3)/64 = 28/64: kappa (20/64)/(36/64) = 5/9.
    let kappa = both["verdict"]["kappa"].as_f64().unwrap();
    assert!((kappa - 5.0 / 9.0).abs() < 1e-12, "{kappa}");
    let (_, text, _) = finish(place.program(&["build", "review", "agreement", "set"]));
    assert!(text.as_str().unwrap().contains("0.556"), "{text}");

    let export = ["build", "review", "export", "set", "--out"];
    let (code, _, err) = finish(place.program(&[&export[..], &["d.jsonl"]].concat()));
    assert_eq!(code, Some(0), "{err}");
    let text = std::fs::read_to_string(place.path("d.jsonl")).unwrap();
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 18);
    assert_eq!(rows[0]["item"], all[0].id);
    assert_eq!(
        (&rows[0]["reviewer"], &rows[1]["reviewer"]),
        (&json!("ana"), &json!("ben"))
    );
    let edited = rows.iter().find(|row| row["decision"] == "edited").unwrap();
    assert_eq!(edited["edited"]["answer"], "3 days");
    assert_eq!(edited["findings"], json!([]));
    let edit = rows
        .iter()
        .find(|row| row["item"] == all[5].id && row["reviewer"] == "ana")
        .unwrap();
    // Of ana's own decisions: the sub-question of this edit is out.
    assert_eq!(edit["findings"], json!(["without_sub_question"]));
    assert_eq!(edit["planted"], "14 days");
    finish(place.program(&[&export[..], &["d.csv", "--reviewer", "ben"]].concat()));
    let csv = std::fs::read_to_string(place.path("d.csv")).unwrap();
    assert!(
        csv.starts_with("version,kind,dataset,item") && csv.contains("'=1+1"),
        "{csv}"
    );
    assert!(!csv.contains(",ana,"));

    // Another machine with the same set under another name.
    let other = Place::new();
    copy(&fixture_folder(), &other.path("copy"));
    std::fs::copy(place.path("d.jsonl"), other.path("d.jsonl")).unwrap();
    let import = |more: &[&str]| {
        let args = [
            &["build", "review", "import", "d.jsonl", "copy", "--json"],
            more,
        ]
        .concat();
        finish(other.program(&args))
    };
    let (code, counted, err) = import(&[]);
    assert_eq!((code, &counted["imported"]), (Some(0), &json!(18)), "{err}");
    let (_, counted, _) = import(&[]);
    assert_eq!(
        (&counted["imported"], &counted["already_there"]),
        (&json!(0), &json!(18))
    );
    let (_, again, _) = finish(other.program(&["build", "review", "agreement", "copy", "--json"]));
    assert_eq!(again["agreement"], measured["agreement"]);
    // A broken line fails alone; what somebody decided here stays unless the file is to win.
    let changed = text.replacen("\"accepted\"", "\"burnt\"", 1) + "nonsense\n";
    std::fs::write(
        other.path("d.jsonl"),
        changed.replacen("made up", "changed", 1),
    )
    .unwrap();
    let (_, counted, err) = import(&[]);
    assert_eq!(
        (&counted["kept"], &counted["unreadable"]),
        (&json!(1), &json!(2)),
        "{err}"
    );
    assert!(
        err.contains("d.jsonl, line 1: decision is \"burnt\"") && err.contains("line 19"),
        "{err}"
    );
}

#[test]
fn decisions_put_into_effect_are_an_ordinary_dataset() {
    let (place, _) = reviewed();
    let apply = ["build", "review", "apply", "set", "--out"];
    let (code, done, err) = finish(place.program(&[&apply[..], &["new", "--json"]].concat()));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(
        done["sub_questions"],
        json!({"accepted": 2, "edited": 1, "rejected": 1, "undecided": 12, "without_sub_question": 0})
    );
    // Item 7 is disputed, item 9 only ana has decided.
    assert_eq!(
        done["edits"],
        json!({"accepted": 2, "edited": 0, "rejected": 1, "undecided": 12, "without_sub_question": 1})
    );
    assert_eq!(
        (&done["disputed"], &done["undecided"]),
        (&json!(1), &json!(24))
    );
    assert_eq!(
        done["counts"],
        json!({"questions": 4, "documents": 16, "sub_questions": 15, "counterfactuals": 14})
    );
    let subs = place.read("new/subqa_pairs.json");
    assert_eq!(subs["q1"].as_array().unwrap().len(), 3);
    assert_eq!(
        subs["q1"][1]["question"],
        "By how many days did adults recover earlier in trial 2?"
    );
    assert_eq!(
        (&subs["q1"][1]["review"], &subs["q2"][0]["review"]),
        (&json!("edited"), &json!("undecided"))
    );
    let manifest = place.read("new/manifest.json");
    assert_eq!(manifest["review"]["items"]["sub_questions"]["rejected"], 1);
    let (code, found, err) = finish(place.program(&["build", "validate", "new", "--json"]));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(
        (&found["errors"], &found["counterfactuals"]),
        (&json!(0), &json!(14)),
        "{found}"
    );
    let audit = [
        "audit",
        "--dataset",
        "new",
        "--scenario",
        "robustness",
        "--docs",
        "3",
        "--p",
        "50",
        "--json",
    ];
    let (code, _, err) = finish(place.program(&audit));
    assert_eq!(code, Some(0), "{err}");

    // What is there is not replaced, the set itself never; one reviewer's decisions; only what was decided.
    let (code, _, err) = finish(place.program(&[&apply[..], &["new"]].concat()));
    assert_eq!(code, Some(1));
    assert!(err.contains("exists already"), "{err}");
    let (code, _, err) = finish(place.program(&[&apply[..], &["set", "--force"]].concat()));
    assert_eq!(code, Some(2), "{err}");
    let more = [
        "new",
        "--force",
        "--reviewer",
        "ben",
        "--decided-only",
        "--json",
    ];
    let (code, done, err) = finish(place.program(&[&apply[..], &more].concat()));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(done["counts"]["sub_questions"], 2);
    assert_eq!(done["counts"]["counterfactuals"], 2);
    let (code, text, err) = finish(place.program(&[&apply[..], &["third"]].concat()));
    assert_eq!(code, Some(0), "{err}");
    assert!(
        text.as_str()
            .unwrap()
            .contains("sub-questions: 2 accepted, 1 edited, 1 rejected, 12 undecided"),
        "{text}"
    );
    assert!(
        err.contains("24 items undecided, kept as they are") && err.contains("differ on 1"),
        "{err}"
    );
    let (code, _, err) = finish(place.program(&[&apply[..], &["x", "--reviewer", "zoe"]].concat()));
    assert_eq!(code, Some(1));
    assert!(err.contains("\"zoe\" has decided nothing there"), "{err}");
}

/// The whole way of a reviewer: accept, edit and reject twenty items, be killed, go on, export.
#[cfg(unix)]
#[test]
fn twenty_decisions_survive_a_kill_and_the_work_goes_on() {
    use crate::pty::Session;
    use std::os::unix::fs::PermissionsExt as _;

    let home = tempfile::tempdir().unwrap();
    let editor = home.path().join("reword.sh");
    // Rewords a sub-question; adds a sentence to an edited text.
    let script = "#!/bin/sh\nif grep -q '^question:' \"$1\"; then sed -i 's/^question: /question: Precisely: /' \"$1\"\nelse sed -i '$ s/$/ Nothing more is known./' \"$1\"; fi\n";
    std::fs::write(&editor, script).unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let editor = editor.display().to_string();
    let variables = [("EDITOR", editor.as_str())];
    let arguments = ["--annotator", "ana"];
    let size = (120, 40);
    let mut session = Session::start_with(home, "xterm-256color", size, &arguments, &variables);
    session.wait_for("32 questions");
    session.press("E");
    session.wait_for("0 of 640 decided");
    session.press("\r");
    for number in 1..=20 {
        session.wait_for(&format!("item {number} of 640"));
        match number % 3 {
            0 => {
                session.press("x");
                session.wait_for("Why is this item rejected?");
                session.press("\r");
            }
            1 => session.press("a"),
            _ => {
                session.press("e");
                session.wait_for("± edited");
                session.press("\r");
            }
        }
        session.wait_for(&format!("{number} decided"));
    }
    session.wait_for("item 21 of 640");
    // The last was an edit; undo takes back exactly that, on its item.
    session.press("u");
    session.wait_for("item 20 of 640");
    session.wait_for("19 decided");
    session.wait_without("saving");
    // A moment later it is on disk where one is, too.
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-data");
    let twentieth = items(&Dataset::open(&sample).unwrap())[19].id.clone();
    let places = session.home_folder().join("state/medrgb/sessions");
    crate::process::wait_until(std::time::Duration::from_secs(60), || {
        let entries = std::fs::read_dir(&places).into_iter().flatten();
        let mut texts =
            entries.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok());
        texts.any(|text| text.contains(&twentieth))
    });
    let home = session.kill();

    let mut session = Session::start_with(home, "xterm-256color", size, &arguments, &variables);
    session.wait_for("came back to the review");
    // The undecided stood first when it was opened: behind the one that is redone is the twenty-first of before.
    session.wait_for("item 1 of 640");
    session.wait_for("19 decided");
    session.press("U");
    session.wait_for("± edited");
    session.wait_for("20 decided");
    session.press("\r");
    session.wait_for("item 2 of 640");
    session.press("q");
    session.wait_for("20 of 640 decided");
    session.press("q");
    session.wait_for("enter opens it");
    session.press("q");
    session.wait_for("q again quits");
    session.press("q");
    assert!(session.wait_for_end().success());

    let home = session.home_folder().to_owned();
    let program = |args: &[&str]| {
        let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_medrgb"));
        program.env_clear().env("HOME", &home).current_dir(&home);
        for (name, folder) in [
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
        ] {
            program.env(name, home.join(folder));
        }
        let output = program.args(args).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {err}");
        String::from_utf8(output.stdout).unwrap()
    };
    let text = program(&["build", "review", "export"]);
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 20);
    let of = |decision: &str| {
        rows.iter()
            .filter(|row| row["decision"] == decision)
            .count()
    };
    assert_eq!((of("accepted"), of("edited"), of("rejected")), (7, 7, 6));
    for row in rows.iter().filter(|row| row["decision"] == "edited") {
        let edited = &row["edited"];
        let (question, added) = (edited["question"].as_str(), edited["text"].as_str());
        assert!(
            question.is_some_and(|text| text.starts_with("Precisely: "))
                || added.is_some_and(|text| text.ends_with("Nothing more is known.")),
            "{row}"
        );
        assert!(
            row["item_kind"]
                .as_str()
                .and_then(ItemKind::named)
                .is_some()
        );
    }
    program(&["build", "review", "apply", "--out", "reviewed"]);
    let set = Dataset::open(&home.join("reviewed")).unwrap();
    assert_eq!(set.problems, Vec::<String>::new());
    let left = items(&set);
    // Six are out, three of them sub-questions, each with its edit.
    assert_eq!(left.len(), 640 - 6 - 3);
}
