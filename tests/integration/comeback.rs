//! The explorer comes back to where one was: as a machine, and as the real program in a pseudo-terminal.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use medrgb::data::session::{self, Session as Place};
use medrgb::tui::app::Screen;
use medrgb::tui::app::instance::Panel;
use medrgb::tui::effects::Effect;
use medrgb::tui::message::Message;
use medrgb::tui::theme::ColorDepth;

use crate::pty::{Session, kill};
use crate::screens::{Stage, fixture};

/// A program that remembers, with the fixture's dataset; it was before at this place.
fn started(before: Option<Place>) -> (Stage, Vec<Effect>) {
    let mut stage = Stage::new((120, 40), ColorDepth::True);
    stage.app.comeback.on = true;
    stage.send(Message::Session(Ok(before.map(Box::new))));
    let effects = stage.send(Message::Dataset(Ok(fixture())));
    (stage, effects)
}

/// Where one is, as it would be stored now.
fn kept(stage: &mut Stage) -> Option<Place> {
    let effects = stage.send(Message::KeepSession);
    effects.into_iter().find_map(|effect| match effect {
        Effect::KeepSession(place) => Some(*place),
        _ => None,
    })
}

#[test]
fn a_question_is_come_back_to_as_it_was() {
    let (mut stage, _) = started(None);
    stage.keys("/");
    stage.type_text("copper");
    stage.keys("enter enter s s [ R m tab z v d g");
    let screen = stage.screen();
    let place = kept(&mut stage).expect("something to remember");
    assert_eq!(kept(&mut stage), None, "nothing has changed since");
    let (mut again, effects) = started(Some(place.clone()));
    assert_eq!(again.app.screen, Screen::Instance);
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::LoadStored { .. })),
        "its replies are read"
    );
    let shown = again.screen();
    assert!(shown.contains("came back to q"), "{shown}");
    assert!(shown.contains("F starts afresh"), "{shown}");
    // Nothing has moved, so nothing is written.
    assert_eq!(kept(&mut again), None);
    again.keys("?");
    again.keys("esc");
    let body = |screen: &str| {
        // A document that the last step brought is marked as new only then.
        let lines: Vec<String> = screen
            .lines()
            .map(|line| {
                line.replace("+new", "")
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        lines[..lines.len() - 1].join("\n")
    };
    let focus = stage.app.instance.as_ref().unwrap().focus;
    assert_eq!(body(&again.screen()), body(&screen));
    let state = again.app.instance.as_ref().unwrap();
    assert!(state.zoom && state.raw && !state.gold);
    assert_eq!((state.condition.seed, state.focus), (1, focus));
    assert_ne!(focus, Panel::Signal, "tab has moved it");
    again.keys("q q");
    assert_eq!(again.app.browse.filter.text(), "copper");
    assert!(again.app.browse.shown.len() < 4);
}

#[test]
fn other_screens_are_come_back_to() {
    for (keys, screen) in [
        ("W", Screen::Sweep),
        ("C", Screen::Compare),
        ("t", Screen::Find),
        ("enter P", Screen::Probe),
        ("r", Screen::Retrieval),
        ("j", Screen::Browse),
    ] {
        let (mut stage, _) = started(None);
        stage.keys(keys);
        let place = kept(&mut stage).unwrap();
        let (mut again, _) = started(Some(place));
        assert_eq!(again.app.screen, screen, "after {keys}");
        again.screen();
        let way_back: &[Screen] = match screen {
            Screen::Probe => &[Screen::Instance],
            _ => &[Screen::Browse],
        };
        if matches!(screen, Screen::Find | Screen::Retrieval) {
            again.keys("esc");
        }
        if screen != Screen::Browse {
            again.keys("q");
            assert!(
                way_back.contains(&again.app.screen),
                "{:?}",
                again.app.screen
            );
        }
    }
}

#[test]
fn curves_comparisons_and_queues_are_asked_for_again() {
    let place = |screen: &str| Place {
        version: session::VERSION,
        screen: screen.into(),
        curves: Some("night".into()),
        compared: Some([("night".into(), "m".into()), ("day".into(), "m".into())]),
        queue: Some(session::QueuePlace {
            run: "night".into(),
            part: "annotation".into(),
            reply: Some("r1".into()),
            ..session::QueuePlace::default()
        }),
        annotator: Some("ana".into()),
        blind: true,
        ..Place::default()
    };
    let (_, effects) = started(Some(place("sweep")));
    let curves =
        |effect: &Effect| matches!(effect, Effect::LoadCurves { run, .. } if run == "night");
    assert!(effects.iter().any(curves), "{effects:?}");
    let (_, effects) = started(Some(place("compare")));
    let compared = |effect: &Effect| matches!(effect, Effect::Compare { a, b, .. } if a.run == "night" && b.run == "day");
    assert!(effects.iter().any(compared), "{effects:?}");
    let (mut stage, effects) = started(Some(place("annotate")));
    let queue = |effect: &Effect| matches!(effect, Effect::OpenQueue { run, hand, .. } if run == "night" && hand.annotator == "ana");
    assert!(effects.iter().any(queue), "{effects:?}");
    assert!(stage.app.annotate.blind);
    assert!(
        stage.screen().contains("labelling as ana"),
        "{}",
        stage.screen()
    );
    // The run is gone: the queue says so and leads back.
    let ticket = stage.app.annotate.opening.as_ref().unwrap().0;
    stage.send(Message::Queue {
        ticket,
        part: medrgb::domain::annotation::Part::Annotator,
        result: Err("there is no run \"night\" any more".into()),
    });
    assert_eq!(stage.app.screen, Screen::Queue);
    assert!(stage.screen().contains("any more"), "{}", stage.screen());
    stage.keys("q");
    assert_eq!(stage.app.screen, Screen::Browse);
}

#[test]
fn a_named_annotator_wins_over_the_remembered_one() {
    let place = Place {
        version: session::VERSION,
        screen: "queue".into(),
        queue: Some(session::QueuePlace {
            run: "night".into(),
            part: "annotation".into(),
            reply: Some("r1".into()),
            ..session::QueuePlace::default()
        }),
        annotator: Some("ana".into()),
        ..Place::default()
    };
    let mut stage = Stage::new((120, 40), ColorDepth::True);
    stage.app.comeback.on = true;
    stage.app.comeback.annotator_named = true;
    stage.app.annotate.annotator = "ben".into();
    stage.send(Message::Session(Ok(Some(Box::new(place)))));
    stage.send(Message::Dataset(Ok(fixture())));
    assert_eq!(stage.app.annotate.annotator, "ben");
    // Where another one stood in the queue is no place for him.
    assert_eq!(stage.app.annotate.opening.as_ref().unwrap().2, None);
}

#[test]
fn what_is_gone_or_damaged_is_one_note() {
    let place = Place {
        version: session::VERSION,
        screen: "instance".into(),
        open: Some(session::OpenQuestion {
            question: "q99\u{1b}[31m".into(),
            ..session::OpenQuestion::default()
        }),
        facets: [("shape".into(), ["round".into()].into())].into(),
        ..Place::default()
    };
    let (mut stage, _) = started(Some(place));
    assert_eq!(stage.app.screen, Screen::Browse);
    let screen = stage.screen();
    assert!(
        screen.contains("\"q99\"") && screen.contains("no longer has it"),
        "{screen}"
    );
    let mut stage = Stage::new((120, 40), ColorDepth::True);
    stage.app.comeback.on = true;
    stage.send(Message::Session(Err("Where you were can't be read".into())));
    stage.send(Message::Dataset(Ok(fixture())));
    assert!(
        stage.screen().contains("can't be read"),
        "{}",
        stage.screen()
    );
    // The first place is stored in place of the damaged file.
    assert!(kept(&mut stage).is_some());
}

#[test]
fn starting_afresh_forgets_the_place() {
    let (mut stage, _) = started(None);
    stage.keys("/");
    stage.type_text("zinc");
    stage.keys("enter enter F");
    assert_eq!(stage.app.screen, Screen::Browse);
    assert_eq!(stage.app.browse.shown.len(), 4);
    let place = kept(&mut stage).unwrap();
    assert_eq!((place.filter.as_str(), place.open), ("", None));
}

#[test]
fn nothing_is_stored_before_the_dataset_or_without_memory() {
    let mut stage = Stage::new((80, 24), ColorDepth::True);
    stage.app.comeback.on = true;
    assert_eq!(kept(&mut stage), None);
    stage.send(Message::Dataset(Err("there is no folder".into())));
    assert_eq!(kept(&mut stage), None);
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    stage.keys("enter");
    assert_eq!(kept(&mut stage), None);
}

/// The files in which it is remembered where one was.
fn files(home: &std::path::Path) -> Vec<PathBuf> {
    let folder = home.join("state/medrgb/sessions");
    std::fs::read_dir(folder).map_or_else(
        |_| Vec::new(),
        |entries| entries.map(|entry| entry.unwrap().path()).collect(),
    )
}

#[test]
fn the_program_comes_back_after_quitting_and_after_a_kill() {
    let mut session = Session::start(120, 40, &[]);
    session.wait_for("questions");
    session.press("jj\r");
    session.wait_for("Sufficiency");
    session.press("ss[");
    session.wait_for("Robustness");
    session.wait_for("p 40 %");
    session.press("\x03");
    assert!(session.wait_for_end().success());
    assert_eq!(files(session.home_folder()).len(), 1);

    let terminal = ("xterm-256color", (120, 40));
    let mut session = Session::start_at(session.home, terminal.0, terminal.1, &[]);
    session.wait_for("came back to");
    session.wait_for("Robustness");
    session.wait_for("p 40 %");
    session.press("[");
    session.wait_for("p 20 %");
    // A little later it is on disk, and a kill loses nothing.
    let file = files(session.home_folder()).remove(0);
    let start = Instant::now();
    while !std::fs::read_to_string(&file)
        .unwrap()
        .contains("\"p\": 20")
    {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "it was never stored"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    let home = session.kill();

    let mut session = Session::start_at(home, terminal.0, terminal.1, &["--fresh"]);
    session.wait_for("enter opens it");
    session.wait_without("came back");
    session.press("q");
    session.wait_for("q again quits");
    session.press("q");
    assert!(session.wait_for_end().success());

    // Damage is one note, and a newer program's file is left to it until something is stored.
    std::fs::write(&file, "{\"version\": 1, ").unwrap();
    let mut session = Session::start_at(session.home, terminal.0, terminal.1, &[]);
    session.wait_for("Where you were can't be");
    session.wait_for("enter opens it");
    session.press("\r");
    session.wait_for("Sufficiency");
    kill(&session, "-TERM");
    assert!(session.wait_for_end().success());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"screen\": \"instance\""), "{text}");
}

#[test]
fn a_demo_neither_reads_nor_writes_where_one_was() {
    let mut session = Session::start(120, 40, &["--demo"]);
    session.wait_for("1/13");
    session.press(" ");
    session.wait_for("2/13");
    std::thread::sleep(Duration::from_secs(2));
    session.press("\x03");
    assert!(session.wait_for_end().success());
    assert_eq!(files(session.home_folder()), Vec::<PathBuf>::new());
}

/// The program on the review of the fixture, as a person decided about its first items; what it asks for is read at once.
fn reviewing(before: Option<Place>, decided: usize) -> Stage {
    use medrgb::domain::annotation::{Hand, Part};
    use medrgb::domain::review::{Act, Change, Event, Verdict};

    let folder = tempfile::tempdir().unwrap();
    let reviews = medrgb::data::reviews::Reviews::open(&folder.path().join("r.sqlite")).unwrap();
    let dataset = fixture();
    let ana = Hand {
        annotator: "ana".into(),
        part: Part::Annotator,
    };
    let all = medrgb::engine::review::listing(&dataset, |_| None);
    for (_, found) in all.iter().take(decided) {
        let event = Event {
            at: String::new(),
            act: Act::on(&found.item, Change::Verdict(Some(Verdict::Accepted))),
        };
        reviews.add(&dataset.name, &ana, &event).unwrap();
    }
    let mut stage = Stage::new((120, 40), ColorDepth::True);
    stage.app.comeback.on = true;
    stage.app.annotate.annotator = "ana".into();
    let fresh = before.is_none();
    stage.send(Message::Session(Ok(before.map(Box::new))));
    let mut effects = stage.send(Message::Dataset(Ok(dataset)));
    if fresh {
        effects.extend(stage.keys("E"));
    }
    for effect in effects {
        if let Effect::OpenReview {
            ticket,
            dataset,
            hand,
        } = effect
        {
            let shelf = reviews.of_dataset(&dataset.name).unwrap();
            let result = Ok(Box::new(medrgb::tui::app::review::ReviewParts {
                listing: medrgb::engine::review::listing(&dataset, |_| None),
                shelf,
                choice: None,
                dataset,
            }));
            stage.send(Message::Review {
                ticket,
                part: hand.part,
                result,
            });
        }
    }
    stage
}

/// The text of the chosen item of the review.
fn item(stage: &Stage) -> String {
    let queue = stage.app.review.queue.as_ref().unwrap();
    queue.item().unwrap().found.item.id.clone()
}

#[test]
fn the_review_is_come_back_to_on_its_list_and_on_its_item() {
    for (keys, screen) in [
        ("j j j", Screen::Review),
        ("j j enter d", Screen::ReviewItem),
    ] {
        let mut stage = reviewing(None, 2);
        stage.keys(keys);
        assert_eq!(stage.app.screen, screen);
        let place = kept(&mut stage).unwrap();
        let mut again = reviewing(Some(place.clone()), 2);
        assert_eq!(again.app.screen, screen);
        assert_eq!(item(&again), item(&stage));
        assert_eq!(again.app.review.diff, stage.app.review.diff);
        assert!(again.screen().contains("came back to the review"));
        assert_eq!(kept(&mut again), None, "nothing has moved");
        again.keys("q");
        if screen == Screen::ReviewItem {
            again.keys("q");
        }
        assert_eq!(again.app.screen, Screen::Browse);
        // Stored before the queue has been read again, the place is the same.
        let mut early = Stage::new((120, 40), ColorDepth::True);
        early.app.comeback.on = true;
        early.send(Message::Session(Ok(Some(Box::new(place.clone())))));
        early.send(Message::Dataset(Ok(fixture())));
        assert!(early.screen().contains("Reading what was decided"));
        assert_eq!(kept(&mut early), None, "{place:?}");
    }
}

#[test]
fn of_a_review_whose_item_is_gone_the_first_undecided_is_chosen() {
    let mut stage = reviewing(None, 0);
    stage.keys("j j j j enter");
    let mut place = kept(&mut stage).unwrap();
    place.review.as_mut().unwrap().item = Some("0123456789abcdef".into());
    let mut again = reviewing(Some(place.clone()), 3);
    assert_eq!(again.app.screen, Screen::Review);
    let queue = again.app.review.queue.as_ref().unwrap();
    let (decided, undecided) = (&queue.items[2].found.item.id, &queue.items[3].found.item.id);
    assert!(queue.book.verdict(decided).is_some() && queue.book.verdict(undecided).is_none());
    assert_eq!(item(&again), *undecided);
    let screen = again.screen();
    assert!(screen.contains("no longer there"), "{screen}");
    // Where another reviewer stood is no place for this one.
    place.annotator = Some("ben".into());
    let mut other = Stage::new((120, 40), ColorDepth::True);
    other.app.comeback.on = true;
    other.app.comeback.annotator_named = true;
    other.app.annotate.annotator = "ana".into();
    other.send(Message::Session(Ok(Some(Box::new(place)))));
    other.send(Message::Dataset(Ok(fixture())));
    assert_eq!(other.app.screen, Screen::Review);
    let opening = other.app.review.opening.as_ref().unwrap();
    assert_eq!(opening.2, medrgb::tui::app::review::StandAt::First);
}

#[test]
fn nobody_lands_in_the_decisions_of_somebody_else() {
    use medrgb::domain::annotation::Part;
    let (mut stage, _) = started(None);
    stage.keys("j");
    let mut place = kept(&mut stage).expect("something to remember");
    place.screen = Screen::Review.name().to_owned();
    place.annotator = Some("ben".into());
    place.review = Some(session::ReviewPlace {
        part: Part::Adjudicator.name().to_owned(),
        item: Some("0123456789abcdef".into()),
        diff: String::new(),
    });
    let named = |who: &str, before: Place| {
        let mut stage = Stage::new((120, 40), ColorDepth::True);
        stage.app.comeback.on = true;
        stage.app.comeback.annotator_named = true;
        stage.app.annotate.annotator = who.into();
        stage.send(Message::Session(Ok(Some(Box::new(before)))));
        stage.send(Message::Dataset(Ok(fixture())));
        stage
    };
    let part = |stage: &Stage| stage.app.review.opening.as_ref().unwrap().1;
    let mut ida = named("ida", place.clone());
    assert_eq!(part(&ida), Part::Annotator);
    // Ben's place outlives her visit.
    let hers = kept(&mut ida).expect("she is somewhere else");
    assert_eq!(hers.annotator.as_deref(), Some("ida"));
    let ben = named("ben", hers);
    assert_eq!(part(&ben), Part::Adjudicator);
    let queue = session::QueuePlace {
        run: "night".into(),
        part: Part::Adjudicator.name().to_owned(),
        ..session::QueuePlace::default()
    };
    place.screen = Screen::Queue.name().to_owned();
    place.queue = Some(queue);
    for (who, expected) in [("ben", Part::Adjudicator), ("ida", Part::Annotator)] {
        let mut stage = Stage::new((120, 40), ColorDepth::True);
        stage.app.comeback.on = true;
        stage.app.comeback.annotator_named = true;
        stage.app.annotate.annotator = who.into();
        stage.send(Message::Session(Ok(Some(Box::new(place.clone())))));
        let effects = stage.send(Message::Dataset(Ok(fixture())));
        let opened = effects.iter().find_map(|effect| match effect {
            Effect::OpenQueue { hand, .. } => Some(hand.part),
            _ => None,
        });
        assert_eq!(opened, Some(expected), "{who}");
    }
}
