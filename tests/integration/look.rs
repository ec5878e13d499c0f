//! Looks without a terminal: the theme that a background brings, and the colours of raw replies.

use std::rc::Rc;

use medrgb::tui::app::Looks;
use medrgb::tui::effects::Effect;
use medrgb::tui::message::{Message, ReplyEvent};
use medrgb::tui::theme::{Background, ColorDepth, Theme, Tone};

use crate::run_screens::with_pair;
use crate::screens::{Stage, answered};

/// The texts whose colours are asked for.
fn asked(effects: &[Effect]) -> Vec<String> {
    let of = |effect: &Effect| match effect {
        Effect::Highlight(raw) => Some(raw.clone()),
        _ => None,
    };
    effects.iter().filter_map(of).collect()
}

#[test]
fn the_background_decides_where_no_theme_was_chosen() {
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    let chosen = Rc::clone(&stage.app.theme);
    stage.send(Message::Background(Background::Light));
    assert_eq!(stage.app.theme, chosen, "it was chosen");
    let look = |name| Theme::built_in(name, ColorDepth::True);
    stage.app.looks = Some(Looks::new(look("dark"), look("light")));
    stage.send(Message::Background(Background::Light));
    assert_eq!(stage.app.theme.name, "light");
    stage.send(Message::Background(Background::Dark));
    assert_eq!(stage.app.theme.name, "dark");
}

#[test]
fn the_colours_of_a_raw_reply_are_asked_for_once() {
    let raw = "# Answer\n{\"answer_choice\": \"B\"}";
    let mut stage = Stage::open((120, 40), ColorDepth::True);
    stage.keys("enter");
    answered(&mut stage, raw);
    assert_eq!(asked(&stage.keys("v")), [raw]);
    assert!(asked(&stage.keys("v v ? esc")).is_empty());
    let pieces = vec![
        ("# Answer\n".to_owned(), Tone::MdHeading),
        (raw[9..].to_owned(), Tone::Text),
    ];
    stage.send(Message::Highlighted {
        raw: raw.to_owned(),
        pieces,
    });
    let context = stage.app.instance.as_ref().unwrap().context().unwrap();
    let shown = stage.app.replies.shown(context).unwrap();
    assert!(shown.highlighted.is_some());
}

#[test]
fn both_replies_of_a_comparison_are_coloured() {
    let mut stage = Stage::open((200, 60), ColorDepth::True);
    with_pair(&mut stage);
    let raws = asked(&stage.keys("v"));
    assert_eq!(raws.len(), 2);
    for raw in raws {
        let pieces = vec![(raw.clone(), Tone::JsonString)];
        stage.send(Message::Highlighted { raw, pieces });
    }
    let pair = stage.app.compare.pair.ready().unwrap();
    assert!(pair.0.highlighted.is_some() && pair.1.highlighted.is_some());
}

#[test]
fn what_only_goes_on_can_wait() {
    let ticket = medrgb::tui::app::Ticket(1);
    let text = Message::Reply {
        ticket,
        event: ReplyEvent::Text("a".into()),
    };
    let end = Message::Reply {
        ticket,
        event: ReplyEvent::Finished(Err("why".into())),
    };
    assert!(text.goes_on() && Message::Tick.goes_on());
    assert!(!end.goes_on() && !Message::Resize(1, 1).goes_on());
}
