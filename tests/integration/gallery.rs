//! Every screen at three sizes, with nothing to show, with too much, with what went wrong, and with hostile texts;
//! with colours and without.
//!
//! A page is one function that brings the explorer there; the rest is made of a table. Pictures of a page stand in one
//! file. Rows that repeat are written once. Frames without colours are written only where their letters differ.

use std::sync::{Arc, LazyLock};

use medrgb::data::dataset::Dataset;
use medrgb::data::store::RunSummary;
use medrgb::data::talk::parse as script;
use medrgb::domain::excerpt::{TextHit, TextKind};
use medrgb::retrieval::{Found, Hit, SearchTiming};
use medrgb::tui::app::plan::Estimate;
use medrgb::tui::app::talk::Talk;
use medrgb::tui::app::{Screen, Ticket};
use medrgb::tui::effects::Effect;
use medrgb::tui::message::{
    FindEvent, IndexEvent, Message, ProbeEvent, ReplyEvent, SearchNews, SweepEvent,
};
use medrgb::tui::theme::ColorDepth;
use medrgb::tui::view;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use crate::annotate::Desk;
use crate::hostile::{HOSTILE, hostile, is_dangerous};
use crate::run_screens::{
    asking, compared, estimate, figures, on_probe, probed, progress, record, runs, ticket_of,
};
use crate::screens::{Stage, answered, asked, fixture, write};

/// What a page is filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fill {
    /// Nothing there yet.
    Empty,
    /// What one usually sees.
    Normal,
    /// More and longer than there is room for, in many scripts.
    Overfull,
    /// Something failed.
    Broken,
    /// Texts that would drive a terminal.
    Hostile,
}

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

/// Texts that do not fit, in scripts whose letters are wide, joined or marked.
const LONG: [&str; 6] = [
    "Pneumonoultramicroscopicsilicovolcanoconiosis_pneumonoultramicroscopicsilicovolcanoconiosis_pneumonoultramicroscopicsilicovolcanoconiosis",
    "中文没有空格所以整个句子是一个很长的词而终端上每个字占两列一直写到边上为止看看会怎么样再多写一些字",
    "Η β-αδρενεργική διέγερση αυξάνει τη συγκέντρωση του cAMP· άρα η απάντηση είναι πιθανότατα θετική στους ενήλικες",
    "e\u{301}\u{302}\u{303}te\u{301}\u{302} Zo\u{308}e\u{308} na\u{308}i\u{308}ve cafe\u{301} with marks that are joined to letters, and 👩‍👩‍👧‍👦 🇩🇪 🧑🏽‍⚕️ signs of several characters",
    "یک متن فارسی و טקסט בעברית between words of English, from right to left and back again, as abstracts have it",
    "A man of 50 years has had a cough for three weeks; he has lost weight, sweats at night and was born in a country where the disease is common, and now asks whether he should stay at home.",
];

/// A text for a place of a page.
fn text(fill: Fill, place: &str, at: usize) -> String {
    match fill {
        Fill::Overfull => format!("{place} {}", LONG[at % LONG.len()]),
        Fill::Hostile => hostile(place, at),
        _ => format!("{place} {at}"),
    }
}

/// What a failing job says.
fn failure(fill: Fill) -> String {
    match fill {
        Fill::Hostile => HOSTILE.join(" "),
        _ => format!("the server answered 503 and said: {}", LONG[5]),
    }
}

/// A dataset of such texts: the first question has a document of 10,000 lines.
fn dataset(fill: Fill) -> Arc<Dataset> {
    static OVERFULL: LazyLock<Arc<Dataset>> = LazyLock::new(|| made(Fill::Overfull));
    static HOSTILE: LazyLock<Arc<Dataset>> = LazyLock::new(|| made(Fill::Hostile));
    static NORMAL: LazyLock<Arc<Dataset>> = LazyLock::new(fixture);
    match fill {
        Fill::Overfull => OVERFULL.clone(),
        Fill::Hostile => HOSTILE.clone(),
        _ => NORMAL.clone(),
    }
}

fn made(fill: Fill) -> Arc<Dataset> {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("demo");
    std::fs::create_dir(&folder).unwrap();
    let mut questions = String::new();
    let (mut signal, mut subs, mut edits) = (json!({}), json!({}), json!({}));
    for number in 0..60 {
        let id = text(fill, &format!("q{number}"), number);
        let options: serde_json::Map<String, serde_json::Value> = ('A'..='J')
            .enumerate()
            .map(|(at, letter)| (letter.to_string(), text(fill, "option", at + number).into()))
            .collect();
        let question = json!({"question_id": id, "question": text(fill, "question", number + 5), "options": options,
            "answer": "B", "dataset": text(fill, "part", number % 3)});
        questions.push_str(&format!("{question}\n"));
        let document = |k: usize| text(fill, &format!("d{number}-{k}"), k);
        let content = |k: usize| match (fill, number, k) {
            (Fill::Overfull, 0, 0) => (1..=10_000)
                .map(|line| format!("line {line} of a document that is much too long"))
                .collect::<Vec<_>>()
                .join("\n"),
            _ => (0..8)
                .map(|at| text(fill, "content", at + k))
                .collect::<Vec<_>>()
                .join(" "),
        };
        let indices = 0..8;
        signal[&id] = indices
            .clone()
            .map(|k| json!({"id": document(k), "title": text(fill, "title", k), "content": content(k)}))
            .collect();
        subs[&id] = indices
            .clone()
            .map(|k| json!({"doc_id": document(k), "question": text(fill, "sub", k), "answer": text(fill, "true", k)}))
            .collect();
        edits[&id] = indices
            .filter(|k| number > 0 || *k > 0)
            .map(|k| {
                json!({"original_id": document(k), "new_answer": text(fill, "planted", k),
                "edited_document": content(k).replace("of", "not of") + " edited"})
            })
            .collect();
    }
    for line in 0..30 {
        questions.push_str(&format!(
            "{{\"question_id\": \"broken {line}\", {}\n",
            text(fill, "x", line)
        ));
    }
    std::fs::write(folder.join("qa.jsonl"), questions).unwrap();
    write(&folder, "signal_docs.json", &signal);
    write(&folder, "subqa_pairs.json", &subs);
    write(&folder, "counterfactual_docs.json", &edits);
    let mut opened = Dataset::open(&folder).unwrap();
    // The folder has another name each time.
    let place = folder.display().to_string();
    for problem in &mut opened.problems {
        *problem = problem.replace(&place, "demo");
    }
    Arc::new(opened)
}

/// The explorer with a dataset of this fill and a model.
fn open(size: (u16, u16), depth: ColorDepth, fill: Fill) -> Stage {
    let mut stage = Stage::open(size, depth);
    if matches!(fill, Fill::Overfull | Fill::Hostile) {
        stage.send(Message::Dataset(Ok(dataset(fill))));
    }
    stage
}

/// A long reply to what is on screen.
fn reply(fill: Fill) -> String {
    let many = (0..12)
        .map(|at| text(fill, "thought", at))
        .collect::<Vec<_>>()
        .join(" ");
    json!({"relevant_doc_id": ["DOC_1", "DOC_2", many], "irrelevant_doc_id": [], "step_by_step_thinking": many,
        "sub_1": {"question": "?", "answer": many, "relevant_doc_id": "DOC_1", "factual_correctness": true},
        "answer_choice": "B"})
    .to_string()
    // As a careless model writes them: the characters themselves, not their escapes.
    .replace("\\u001b", "\u{1b}")
    .replace("\\u0007", "\u{7}")
}

/// The run list of this fill.
fn list(fill: Fill) -> Result<Vec<RunSummary>, String> {
    match fill {
        Fill::Empty => Ok(Vec::new()),
        Fill::Normal => Ok(runs()),
        Fill::Broken => Err(failure(fill)),
        Fill::Overfull | Fill::Hostile => {
            let many = (0..80).map(|at| {
                let mut run = runs().swap_remove(at % 2);
                run.name = text(fill, "run", at);
                run.models = (0..4).map(|k| text(fill, "model", at + k)).collect();
                run.datasets = vec![text(fill, "set", at)];
                (run.replies, run.questions) = (9_999_999, 99_999);
                run
            });
            Ok(many.collect())
        }
    }
}

fn with_list(stage: &mut Stage, keys: &str, fill: Fill) {
    let ticket = ticket_of(&stage.keys(keys));
    stage.send(Message::RunList {
        ticket,
        result: list(fill),
    });
}

fn sweep_estimate(fill: Fill) -> Estimate {
    let mut made = estimate();
    if fill != Fill::Normal {
        made.model = text(fill, "model", 1);
        made.caution = Some(text(fill, "caution", 2));
        made.notes = (0..20).map(|at| text(fill, "note", at)).collect();
        let one = made.conditions[0].clone();
        made.conditions = (0..60).map(|_| one.clone()).collect();
    }
    made
}

/// The job that these effects begin, of this kind.
fn job(effects: &[Effect], of: impl Fn(&Effect) -> Option<Ticket>) -> Ticket {
    effects.iter().find_map(of).expect("a job")
}

/// A page: its name and how one gets there; `None` where it has no such fill.
type Page = (
    &'static str,
    fn((u16, u16), ColorDepth, Fill) -> Option<Stage>,
);

const PAGES: [Page; 21] = [
    ("browse", |size, depth, fill| {
        let mut stage = Stage::new(size, depth);
        match fill {
            Fill::Empty => {}
            Fill::Broken => {
                stage.send(Message::Dataset(Err(failure(fill))));
            }
            _ => stage = open(size, depth, fill),
        }
        Some(stage)
    }),
    ("browse nothing passes", |size, depth, fill| {
        let mut stage = open(size, depth, fill);
        stage.keys("/");
        // All at once: letter by letter a sequence is only letters.
        let words = (0..HOSTILE.len()).map(|at| text(fill, "nothing like this", at));
        stage.send(Message::Paste(words.collect()));
        (fill != Fill::Broken).then_some(stage)
    }),
    ("problems", |size, depth, fill| {
        let mut stage = open(size, depth, fill);
        stage.keys("!");
        matches!(fill, Fill::Overfull | Fill::Hostile).then_some(stage)
    }),
    ("instance", |size, depth, fill| {
        let mut stage = open(size, depth, fill);
        match fill {
            // No document at all: the question alone.
            Fill::Empty => stage.keys("enter S N N N N N"),
            Fill::Broken => stage.keys("enter s [ [ ["),
            _ => stage.keys("enter s s n n n"),
        };
        Some(stage)
    }),
    ("instance of 10,000 lines", |size, depth, fill| {
        let mut stage = open(size, depth, fill);
        stage.keys("enter ] ] n n n end");
        (fill == Fill::Overfull).then_some(stage)
    }),
    ("reply", |size, depth, fill| {
        let mut stage = open(size, depth, fill);
        stage.keys("enter s s");
        match fill {
            Fill::Empty => {}
            Fill::Broken => {
                let ticket = asked(&stage.keys("a"));
                let event = ReplyEvent::Finished(Err(failure(fill)));
                stage.send(Message::Reply { ticket, event });
            }
            _ => answered(&mut stage, &reply(fill)),
        }
        for _ in 0..6 {
            if stage.app.instance.as_ref().unwrap().focus
                == medrgb::tui::app::instance::Panel::Reply
            {
                break;
            }
            stage.keys("tab");
        }
        Some(stage)
    }),
    ("why and audit", |size, depth, fill| {
        let mut stage = open(size, depth, fill);
        stage.keys("enter s s");
        if fill != Fill::Empty {
            answered(&mut stage, &reply(fill));
        }
        stage.keys("w");
        (fill != Fill::Broken).then_some(stage)
    }),
    ("prompt", |size, depth, fill| {
        let mut stage = open(size, depth, fill);
        stage.keys("enter p");
        matches!(fill, Fill::Overfull | Fill::Hostile).then_some(stage)
    }),
    ("retrieval", |size, depth, fill| {
        let mut stage = open(size, depth, fill);
        let effects = stage.keys("r");
        let build = job(&effects, |effect| match effect {
            Effect::BuildIndex { ticket, .. } => Some(*ticket),
            _ => None,
        });
        let search = job(&effects, |effect| match effect {
            Effect::Search { ticket, .. } => Some(*ticket),
            _ => None,
        });
        let found = |list: usize| match fill {
            Fill::Broken => Some(Err(failure(fill))),
            _ => {
                let hits = (0..40).map(|at| Hit {
                    position: at,
                    id: text(fill, "d", at + list),
                    title: text(fill, "title", at + list),
                    content: text(fill, "content", at),
                    score: 1.0 / (at + 1) as f32,
                    rank: at + 1,
                });
                Some(Ok(Found {
                    hits: hits.collect(),
                    timing_ms: SearchTiming::default(),
                    query_embedding: None,
                }))
            }
        };
        match fill {
            Fill::Empty => return Some(stage),
            Fill::Broken => {
                let event = IndexEvent::Finished(Err(failure(fill)));
                stage.send(Message::Index {
                    ticket: build,
                    event,
                });
            }
            _ => {
                let event = IndexEvent::Note(text(fill, "note", 3));
                stage.send(Message::Index {
                    ticket: build,
                    event,
                });
            }
        }
        let news = SearchNews {
            lists: [found(0), found(1), found(2)],
            signal: std::array::from_fn(|_| (0..40).map(|at| at % 3 == 0).collect()),
            recall: None,
            measures: [None; 3],
            absent: false,
            map: None,
        };
        stage.send(Message::Search {
            ticket: search,
            news: Box::new(news),
        });
        (fill != Fill::Normal).then_some(stage)
    }),
    ("runs", |size, depth, fill| {
        let mut stage = open(size, depth, fill);
        with_list(&mut stage, "W", fill);
        stage.keys("j");
        Some(stage)
    }),
    ("plan", |size, depth, fill| {
        let mut stage = open(size, depth, fill);
        with_list(&mut stage, "W", Fill::Normal);
        let ticket = ticket_of(&stage.keys("enter"));
        let result = match fill {
            Fill::Empty => return Some(stage),
            Fill::Broken => Err(failure(fill)),
            _ => Ok(Box::new(sweep_estimate(fill))),
        };
        stage.send(Message::Estimate { ticket, result });
        Some(stage)
    }),
    ("progress", |size, depth, fill| {
        let mut stage = open(size, depth, fill);
        let ticket = asking(&mut stage);
        // The folder of a test has another name each time.
        let running = stage.app.sweep.running.as_mut().unwrap();
        running.command = format!("medrgb sweep --run {}", text(fill, "night", 1));
        let event = match fill {
            Fill::Empty => SweepEvent::Planning(0, 0),
            Fill::Broken => SweepEvent::Finished(Err(failure(fill))),
            _ => {
                let mut made = progress(5);
                made.failures = (0..12)
                    .map(|at| (text(fill, "failure", at), at * 1_000))
                    .collect();
                made.last_failure = Some(text(fill, "last", 5));
                made.retries = (0..12).map(|at| (text(fill, "retry", at), 7)).collect();
                SweepEvent::Progress(Box::new(made))
            }
        };
        if fill == Fill::Empty {
            let running = stage.app.sweep.running.as_mut().unwrap();
            running.phase = medrgb::tui::app::sweep::Phase::Planning(0, 0);
        }
        stage.send(Message::Sweep { ticket, event });
        Some(stage)
    }),
    ("curves", |size, depth, fill| {
        let mut stage = open(size, depth, fill);
        let listed = if matches!(fill, Fill::Empty | Fill::Broken) {
            Fill::Normal
        } else {
            fill
        };
        with_list(&mut stage, "W", listed);
        let ticket = ticket_of(&stage.keys("j enter"));
        let result = match fill {
            Fill::Empty => return Some(stage),
            Fill::Broken => Err(failure(fill)),
            _ => {
                let mut made = figures(fill == Fill::Normal);
                if fill != Fill::Normal {
                    for panel in made
                        .report
                        .tables
                        .iter_mut()
                        .flat_map(|table| &mut table.panels)
                    {
                        panel.dataset = text(fill, "set", 2);
                        for (at, row) in panel.rows.iter_mut().enumerate() {
                            row.model = text(fill, "model", at);
                            row.label = text(fill, "label", at);
                        }
                    }
                }
                Ok(Box::new(made))
            }
        };
        let drawn = result.is_ok();
        stage.send(Message::Curves { ticket, result });
        if drawn {
            stage.keys("s");
        }
        Some(stage)
    }),
    ("compare", |size, depth, fill| {
        let mut stage = open(size, depth, fill);
        with_list(
            &mut stage,
            "C",
            if fill == Fill::Broken {
                Fill::Normal
            } else {
                fill
            },
        );
        if fill == Fill::Empty {
            return Some(stage);
        }
        let ticket = ticket_of(&stage.keys("enter j enter"));
        let result = match fill {
            Fill::Broken => Err(failure(fill)),
            _ => {
                let mut made = compared();
                if fill != Fill::Normal {
                    made.notes = (0..9).map(|at| text(fill, "note", at)).collect();
                    for (at, pair) in made.pairs.iter_mut().enumerate() {
                        pair.question = text(fill, "q", at);
                    }
                }
                Ok(Box::new(made))
            }
        };
        stage.send(Message::Compared { ticket, result });
        Some(stage)
    }),
    ("pair", |size, depth, fill| {
        let mut stage = open(size, depth, fill);
        with_list(&mut stage, "C", Fill::Normal);
        let ticket = ticket_of(&stage.keys("enter j enter"));
        stage.send(Message::Compared {
            ticket,
            result: Ok(Box::new(compared())),
        });
        let ticket = ticket_of(&stage.keys("enter"));
        let result = match fill {
            Fill::Empty => return Some(stage),
            Fill::Broken => Err(failure(fill)),
            _ => {
                let raw = reply(fill);
                let (a, b) = (
                    record(&stage, &text(fill, "a", 0), &raw),
                    record(&stage, &text(fill, "b", 1), &raw),
                );
                Ok(Box::new((a.unwrap(), b.unwrap())))
            }
        };
        stage.send(Message::Pair { ticket, result });
        Some(stage)
    }),
    ("probe", |size, depth, fill| {
        let mut stage = open(size, depth, fill);
        if fill == Fill::Empty {
            stage.keys("enter P");
            return Some(stage);
        }
        if fill == Fill::Overfull || fill == Fill::Hostile {
            stage.keys("enter s s n n n");
            answered(&mut stage, &reply(fill));
            stage.keys("P");
        } else {
            on_probe(&mut stage);
        }
        let ticket = ticket_of(&stage.keys("enter"));
        let result = match fill {
            Fill::Broken => Err(failure(fill)),
            _ => {
                let mut made = probed();
                if fill != Fill::Normal {
                    for (at, tried) in made.tried.iter_mut().enumerate() {
                        tried.change = tried.change.as_ref().map(|_| text(fill, "without", at));
                        tried.said = text(fill, "said", at);
                        tried.reasons = (0..4).map(|k| text(fill, "reason", k)).collect();
                    }
                }
                Ok(Box::new(made))
            }
        };
        stage.send(Message::Probe {
            ticket,
            event: ProbeEvent::Finished(result),
        });
        stage.keys("tab");
        Some(stage)
    }),
    ("queue", |size, depth, fill| {
        let stage = open(size, depth, fill);
        match fill {
            Fill::Empty => {
                let mut stage = stage;
                stage.keys("l");
                stage.send(Message::Runs(Ok(Vec::new())));
                Some(stage)
            }
            Fill::Broken => {
                let mut stage = stage;
                stage.keys("l");
                stage.send(Message::Runs(Err(failure(fill))));
                Some(stage)
            }
            _ => {
                let data = stage.app.data().unwrap().clone();
                let mut desk = Desk::of(stage, &data, "ana", &text(fill, "note", 4));
                desk.keys("l enter");
                Some(desk.stage)
            }
        }
    }),
    ("annotate", |size, depth, fill| {
        let stage = open(size, depth, fill);
        let data = stage.app.data().unwrap().clone();
        let mut desk = Desk::of(stage, &data, "ana", &text(fill, "note", 4));
        // The first is the one of which something was said.
        desk.keys("l enter < enter");
        let mut stage = desk.stage;
        match fill {
            Fill::Empty => {
                let queue = stage.app.annotate.queue.as_mut().unwrap();
                queue.open = None;
            }
            Fill::Broken => {
                let queue = stage.app.annotate.queue.as_mut().unwrap();
                queue.open = queue.current().map(|at| (at, Err(failure(fill))));
            }
            _ => {}
        }
        Some(stage)
    }),
    ("find", |size, depth, fill| {
        let mut stage = open(size, depth, fill);
        let effects = stage.keys("t");
        let ticket = job(&effects, |effect| match effect {
            Effect::IndexTexts { ticket, .. } => Some(*ticket),
            _ => None,
        });
        let result = match fill {
            Fill::Empty => return Some(stage),
            Fill::Broken => Err(failure(fill)),
            _ => Ok([60, 480, 480, 10, 1]),
        };
        stage.send(Message::Find {
            ticket,
            event: FindEvent::Indexed(result),
        });
        let effects = stage.keys("x");
        if fill == Fill::Broken {
            return Some(stage);
        }
        let ticket = job(&effects, |effect| match effect {
            Effect::FindText { ticket, .. } => Some(*ticket),
            _ => None,
        });
        let hits = (0..40).map(|at| TextHit {
            kind: TextKind::ALL[at % 5],
            question_id: text(fill, "q", at),
            title: text(fill, "title", at),
            excerpt: text(fill, "words around", at),
            marks: vec![0..5],
            reply: None,
        });
        let event = FindEvent::Found(Ok(hits.collect()));
        stage.send(Message::Find { ticket, event });
        Some(stage)
    }),
    ("talk", |size, depth, fill| {
        let mut stage = Stage::new(size, depth);
        let data = dataset(fill);
        let question = match fill {
            Fill::Broken => "nowhere".to_owned(),
            _ => data.questions[0].id.clone(),
        };
        let caption: String = text(fill, "caption", 5)
            .repeat(2)
            .chars()
            .take(270)
            .collect();
        let steps = json!({"steps": [{"caption": caption, "question": question, "show": "all"}]});
        let steps = toml::to_string(&steps).unwrap();
        stage.app.talk = Some(Talk::new(Arc::new(script(&steps, "talk.toml").unwrap())));
        if fill != Fill::Empty {
            stage.send(Message::Dataset(Ok(data)));
        }
        Some(stage)
    }),
    ("what can be copied", |size, depth, fill| {
        let mut stage = open(size, depth, fill);
        stage.keys("enter s s");
        answered(&mut stage, &reply(fill));
        // The command holds the name of the test's folder.
        stage.keys("y");
        if let Some(medrgb::tui::app::Overlay::Pieces { pieces, .. }) = &mut stage.app.overlay {
            pieces.retain(|piece| !"ca".contains(piece.key));
        }
        matches!(fill, Fill::Normal | Fill::Overfull | Fill::Hostile).then_some(stage)
    }),
];

/// Overlays that have no text from outside.
const OVERLAYS: [(&str, &str); 5] = [
    ("palette of the list", ":"),
    ("palette without a match", ": q q q q"),
    ("help on labelling", "help"),
    ("help on the queue", "queue"),
    ("help on a probe", "enter P ?"),
];

/// A frame as text, checked for what must hold of every frame.
fn picture(stage: &mut Stage, name: &str) -> String {
    stage.send(Message::Frame);
    let (width, height) = stage.app.size;
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    view::draw(&stage.app, &mut buffer);
    let mut rows: Vec<String> = Vec::new();
    for y in 0..height {
        let mut row = String::new();
        let mut x = 0;
        while x < width {
            let cell = &buffer[(x, y)];
            let symbol = cell.symbol();
            let stray = symbol.chars().find(|c| is_dangerous(*c));
            assert_eq!(stray, None, "{name}, row {y}: {row}");
            if stage.app.theme.mono {
                let plain = [cell.fg, cell.bg].map(|color| color == Color::Reset);
                assert_eq!(plain, [true; 2], "a colour in {name}, row {y}: {row}");
            }
            row.push_str(symbol);
            x += u16::try_from(symbol.width().max(1)).unwrap();
        }
        assert_eq!(
            x, width,
            "a wide character is cut in {name}, row {y}: {row}"
        );
        // An excerpt may begin inside a sequence, which is then only letters.
        let excerpt = name.starts_with("why");
        assert!(excerpt || !row.contains("PWNED"), "{name}, row {y}: {row}");
        rows.push(row.trim_end().to_owned());
    }
    assert!(
        rows.last().is_some_and(|row| !row.is_empty()),
        "no footer in {name}"
    );
    let mut text = String::new();
    let mut at = 0;
    while at < rows.len() {
        let same = rows[at..]
            .iter()
            .take_while(|row| **row == rows[at])
            .count();
        text.push_str(&rows[at]);
        if same > 2 {
            text.push_str(&format!("  ⟨{same} such rows⟩"));
            at += same;
        } else {
            at += 1;
        }
        text.push('\n');
    }
    text
}

/// All pictures of a page with one fill.
fn pictures(name: &str, of: impl Fn((u16, u16), ColorDepth) -> Option<Stage>) -> String {
    let mut all = String::new();
    for size in SIZES {
        let title = format!("{name} {}×{}", size.0, size.1);
        let Some(mut stage) = of(size, ColorDepth::True) else {
            return all;
        };
        let colours = picture(&mut stage, &title);
        let mut stage = of(size, ColorDepth::None).unwrap();
        let plain = picture(&mut stage, &format!("{title} without colours"));
        all.push_str(&format!("════ {title} ════\n{colours}"));
        match plain == colours {
            true => all.push_str("════ without colours: the same letters ════\n"),
            false => all.push_str(&format!("════ {title} without colours ════\n{plain}")),
        }
    }
    all
}

#[test]
fn every_page_with_nothing_with_too_much_and_with_what_went_wrong() {
    insta::with_settings!({omit_expression => true}, {
        for (name, page) in PAGES {
            let mut all = String::new();
            for fill in [Fill::Empty, Fill::Normal, Fill::Overfull, Fill::Broken] {
                let title = format!("{name}, {fill:?}");
                all.push_str(&pictures(&title, |size, depth| page(size, depth, fill)));
            }
            insta::assert_snapshot!(name.replace([' ', ','], "_"), all);
        }
    });
}

#[test]
fn hostile_texts_are_drawn_on_every_page_without_harm() {
    for (name, page) in PAGES {
        for size in SIZES.into_iter().chain([(40, 12), (61, 17)]) {
            for depth in [ColorDepth::True, ColorDepth::None] {
                if let Some(mut stage) = page(size, depth, Fill::Hostile) {
                    picture(&mut stage, name);
                }
            }
        }
    }
}

#[test]
fn overlays_at_every_size() {
    let mut all = String::new();
    for (name, keys) in OVERLAYS {
        all.push_str(&pictures(name, |size, depth| {
            let mut stage = open(size, depth, Fill::Normal);
            match keys {
                "help" | "queue" => {
                    stage.app.screen = if keys == "help" {
                        Screen::Annotate
                    } else {
                        Screen::Queue
                    };
                    stage.keys("?");
                }
                keys => {
                    stage.keys(keys);
                }
            }
            Some(stage)
        }));
    }
    insta::with_settings!({omit_expression => true}, {
        insta::assert_snapshot!("overlays", all);
    });
}

/// Small terminals and storms of sizes do no harm to any page.
#[test]
fn every_page_survives_a_storm_of_sizes() {
    for (name, page) in PAGES {
        for fill in [Fill::Empty, Fill::Overfull, Fill::Broken] {
            let Some(mut stage) = page((80, 24), ColorDepth::True, fill) else {
                continue;
            };
            for (width, height) in [
                (1, 1),
                (40, 12),
                (39, 12),
                (40, 11),
                (400, 120),
                (41, 200),
                (300, 12),
                (2, 60),
                (80, 24),
            ] {
                stage.send(Message::Resize(width, height));
                if width >= 40 && height >= 12 {
                    picture(&mut stage, name);
                } else {
                    stage.screen();
                }
                stage.send(Message::Paste("p\u{1b}[31m".repeat(3)));
            }
        }
    }
}
