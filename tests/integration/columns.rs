//! Inside the shown documents: words that are looked for, columns that scroll together, cited documents, and what a step
//! does to the answer.

use medrgb::tui::app::instance::Panel;
use medrgb::tui::message::Message;
use medrgb::tui::theme::ColorDepth;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

use crate::first_look::long_edits;
use crate::screens::{Stage, answered};

/// A question in robustness with originals and edited documents.
fn robust(size: (u16, u16), depth: ColorDepth) -> Stage {
    let mut stage = Stage::open(size, depth);
    stage.keys("enter s s");
    stage
}

/// What stands out on screen, row by row.
fn marked(stage: &mut Stage) -> String {
    stage.screen();
    let (width, height) = stage.app.size;
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    medrgb::tui::view::draw(&stage.app, &mut buffer);
    let cells = buffer.content.iter();
    let cells = cells.filter(|cell| cell.modifier.contains(Modifier::REVERSED));
    cells.map(ratatui::buffer::Cell::symbol).collect()
}

#[test]
fn words_are_found_inside_the_documents() {
    for (size, depth) in [
        ((80, 24), ColorDepth::True),
        ((120, 40), ColorDepth::True),
        ((120, 40), ColorDepth::None),
    ] {
        let mut stage = robust(size, depth);
        let before = marked(&mut stage);
        stage.keys("/");
        stage.type_text("LATER");
        let name = format!("search_{}x{}_{depth:?}", size.0, size.1);
        insta::assert_snapshot!(name, stage.screen());
        assert_eq!(
            stage.app.instance.as_ref().unwrap().focus,
            Panel::Adversarial
        );
        assert!(marked(&mut stage).contains("later"), "{size:?}");
        stage.keys("enter");
        assert!(
            stage.screen().contains("match 1 of 2"),
            "{}",
            stage.screen()
        );
        stage.keys(")");
        assert!(
            stage.screen().contains("match 2 of 2"),
            "{}",
            stage.screen()
        );
        stage.keys(") (");
        assert!(
            stage.screen().contains("match 2 of 2"),
            "{}",
            stage.screen()
        );
        // The way back ends the search before it leaves the question.
        stage.keys("esc");
        assert!(stage.app.instance.as_ref().unwrap().seek.is_none());
        assert_eq!(marked(&mut stage), before);
        assert!(stage.screen().contains("Robustness"));
    }
}

#[test]
fn matches_lead_from_column_to_column() {
    let mut stage = robust((120, 40), ColorDepth::True);
    stage.keys("/");
    stage.type_text("placebo");
    stage.keys("enter");
    let documents = stage.app.instance.as_ref().unwrap();
    let all = documents.context().unwrap().documents.len();
    assert!(stage.screen().contains(&format!("match 1 of {all}")));
    let mut seen = vec![stage.app.instance.as_ref().unwrap().focus];
    for _ in 1..all {
        stage.keys(")");
        seen.push(stage.app.instance.as_ref().unwrap().focus);
    }
    assert!(seen.contains(&Panel::Signal) && seen.contains(&Panel::Adversarial));
    // Another context has other places; the words stay.
    stage.keys("[ )");
    assert!(stage.screen().contains("match 1 of"), "{}", stage.screen());
    // Another question begins without.
    stage.keys(".");
    assert!(stage.app.instance.as_ref().unwrap().seek.is_none());
}

#[test]
fn words_that_are_nowhere_and_empty_lines_leave_nothing_behind() {
    let mut stage = robust((100, 30), ColorDepth::True);
    stage.keys("down");
    let scroll = stage.app.instance.as_ref().unwrap().scroll;
    stage.keys("/");
    stage.type_text("unicorn");
    assert!(stage.screen().contains("0 matches"), "{}", stage.screen());
    stage.keys("enter");
    assert!(stage.screen().contains("no shown document has \"unicorn\""));
    stage.keys("/ enter )");
    assert!(stage.screen().contains("/ looks for words"));
    stage.keys("/");
    stage.send(Message::Paste("days\nearlier".into()));
    assert!(stage.screen().contains("days earlier"));
    stage.keys("esc");
    let state = stage.app.instance.as_ref().unwrap();
    assert!(state.seek.is_none());
    assert_eq!(state.scroll, scroll);
}

#[test]
fn a_match_far_down_is_brought_into_sight() {
    let mut stage = Stage::new((80, 24), ColorDepth::True);
    stage.send(Message::Dataset(Ok(long_edits())));
    stage.keys("enter s s N N N ] ] /");
    stage.type_text("hypotension");
    let screen = stage.screen();
    assert!(screen.contains("hypotension"), "{screen}");
    stage.keys("enter");
    assert!(stage.screen().contains("in DOC_1"), "{}", stage.screen());
    stage.keys(")");
    assert!(stage.screen().contains("hypotension"), "{}", stage.screen());
    // Esc in the line goes back to where one was.
    let mut stage = Stage::new((80, 24), ColorDepth::True);
    stage.send(Message::Dataset(Ok(long_edits())));
    stage.keys("enter s s N N N ] ] down /");
    stage.type_text("hypotension");
    stage.keys("esc");
    let state = stage.app.instance.as_ref().unwrap();
    assert_eq!(state.scroll[Panel::Signal.index()], 1);
}

#[test]
fn locked_columns_scroll_together() {
    let mut stage = Stage::new((120, 36), ColorDepth::True);
    stage.send(Message::Dataset(Ok(long_edits())));
    stage.keys("enter s s N N N");
    let rows = |stage: &Stage| {
        let scroll = stage.app.instance.as_ref().unwrap().scroll;
        (
            scroll[Panel::Signal.index()],
            scroll[Panel::Adversarial.index()],
        )
    };
    let state = stage.app.instance.as_ref().unwrap();
    assert_eq!((state.focus, state.locked), (Panel::Signal, false));
    stage.keys("home down down");
    assert_eq!(rows(&stage), (2, 0), "each alone");
    stage.keys("L");
    assert!(stage.screen().contains("locked: the columns"));
    assert_eq!(rows(&stage), (2, 2));
    stage.keys("down space");
    let (left, right) = rows(&stage);
    assert!(left > 3 && left == right, "{left} {right}");
    insta::assert_snapshot!("locked_120x36", stage.screen());
    // The focused one leads, also where it is the other one.
    stage.keys("tab home down");
    assert_eq!(rows(&stage), (1, 1));
    // Another context begins at its top, locked still.
    stage.keys("R");
    assert_eq!(rows(&stage), (0, 0));
    assert!(stage.screen().contains("locked"));
    stage.keys("L home down");
    let (left, right) = rows(&stage);
    assert_eq!(left.abs_diff(right), 1, "each alone again");
}

#[test]
fn cited_documents_are_one_key_away() {
    let mut stage = robust((80, 24), ColorDepth::True);
    stage.keys("i");
    assert!(stage.screen().contains("no reply yet that cites"));
    let reply =
        r#"{"step_by_step_thinking": "DOC_2 says so, DOC_4 and DOC_4 too.", "answer_choice": "A"}"#;
    answered(&mut stage, reply);
    let focus = |stage: &Stage| stage.app.instance.as_ref().unwrap().focus;
    let context = stage.app.instance.as_ref().unwrap().context().unwrap();
    let role = |label: &str| {
        let document = context.documents.iter().find(|one| one.label == label);
        Some(document.unwrap().role)
    };
    let (second, fourth) = (role("DOC_2"), role("DOC_4"));
    stage.keys("i");
    assert!(
        stage.screen().contains("DOC_2: cited ×1; 1 of the 2"),
        "{}",
        stage.screen()
    );
    assert_eq!(focus(&stage).role(), second);
    stage.keys("i");
    let screen = stage.screen();
    assert!(screen.contains("DOC_4: cited ×2; 2 of the 2"), "{screen}");
    assert!(screen.contains("DOC_4  "), "{screen}");
    assert_eq!(focus(&stage).role(), fourth);
    stage.keys("i");
    assert!(stage.screen().contains("1 of the 2"));
    // A reply that names none.
    answered(
        &mut stage,
        r#"{"step_by_step_thinking": "None.", "answer_choice": "A"}"#,
    );
    stage.keys("i");
    assert!(stage.screen().contains("names no document"));
}

#[test]
fn a_step_says_what_it_does_to_the_answer() {
    let mut stage = robust((120, 40), ColorDepth::True);
    stage.keys("[");
    answered(
        &mut stage,
        r#"{"step_by_step_thinking": "x", "answer_choice": "A"}"#,
    );
    stage.keys("[");
    let screen = stage.screen();
    assert!(
        screen.contains("new: DOC_") && !screen.contains("answer A →"),
        "{screen}"
    );
    answered(
        &mut stage,
        r#"{"step_by_step_thinking": "x", "answer_choice": "B"}"#,
    );
    stage.keys("]");
    let screen = stage.screen();
    assert!(
        screen.contains("(original)") && screen.contains("answer B → A"),
        "{screen}"
    );
    stage.keys("[");
    let screen = stage.screen();
    assert!(
        screen.contains("(adversarial)") && screen.contains("answer A → B"),
        "{screen}"
    );
}

#[test]
fn keys_that_need_something_say_what() {
    let mut stage = Stage::open((100, 30), ColorDepth::True);
    stage.keys("P");
    assert!(
        stage.screen().contains("P is a key for an open question"),
        "{}",
        stage.screen()
    );
    // Where nothing is stored nothing can be labelled, and `why` asks.
    stage.keys("enter");
    let footer = |stage: &mut Stage| stage.screen().lines().last().unwrap().to_owned();
    assert!(!footer(&mut stage).contains("l label"));
    stage.keys("w a");
    assert!(stage.app.replies.running.is_some() && stage.app.overlay.is_none());
}

#[test]
fn letters_of_the_line_are_no_commands() {
    let mut stage = robust((80, 24), ColorDepth::True);
    let before = stage.app.instance.as_ref().unwrap().condition;
    stage.keys("/");
    stage.type_text("[ ] x q a ?");
    let state = stage.app.instance.as_ref().unwrap();
    assert_eq!(state.condition, before);
    assert_eq!(state.seek.as_ref().unwrap().input.text(), "[ ] x q a ?");
}
