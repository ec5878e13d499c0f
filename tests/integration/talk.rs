//! Talk mode: a script of steps, driven by keys and time alone.

use std::sync::Arc;

use medrgb::data::dataset::Dataset;
use medrgb::data::recorded::sample_run;
use medrgb::data::talk::{Show, demo, parse};
use medrgb::domain::context::compose;
use medrgb::domain::prompt::Templates;
use medrgb::tui::app::Screen;
use medrgb::tui::app::talk::{Talk, Waiting};
use medrgb::tui::effects::Effect;
use medrgb::tui::message::{Message, ReplyEvent};
use medrgb::tui::theme::ColorDepth;

use crate::screens::{Stage, asked, fixture};
use crate::sweep::{Place, finish};

const SCRIPT: &str = r#"
speed = 2.0
[[steps]]
caption = "First the question alone."
question = "q2"
show = "question"
hold = 3
[[steps]]
caption = "Its documents, two of five are signal."
p = 40
show = "documents"
[[steps]]
caption = "The reply."
show = "reply"
ask = true
hold = 2
[[steps]]
caption = "A question that is not there."
question = "nowhere"
"#;

/// A talk of the script on a terminal of this size, with the fixture's dataset just read.
fn talk(head: &str, size: (u16, u16), depth: ColorDepth) -> (Stage, Vec<Effect>) {
    let mut stage = Stage::new(size, depth);
    let script = parse(&format!("{head}\n{SCRIPT}"), "talk.toml").unwrap();
    stage.app.talk = Some(Talk::new(Arc::new(script)));
    let effects = stage.send(Message::Dataset(Ok(fixture())));
    (stage, effects)
}

fn at(stage: &Stage) -> usize {
    stage.app.talk.as_ref().unwrap().at
}

fn failed(ticket: medrgb::tui::app::Ticket) -> Message {
    Message::Reply {
        ticket,
        event: ReplyEvent::Finished(Err("stopped".into())),
    }
}

#[test]
fn keys_go_from_step_to_step_and_back() {
    let (mut stage, effects) = talk("", (120, 40), ColorDepth::True);
    assert_eq!((stage.app.screen, at(&stage)), (Screen::Talk, 0));
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::Pace(speed) if *speed == 2.0))
    );
    let instance = |stage: &Stage| {
        let state = stage.app.instance.as_ref().unwrap();
        (state.question.id.clone(), state.condition.p)
    };
    assert_eq!(instance(&stage), ("q2".into(), 60.0));
    stage.keys("space");
    assert_eq!((at(&stage), instance(&stage)), (1, ("q2".into(), 40.0)));
    stage.keys("backspace");
    assert_eq!((at(&stage), instance(&stage)), (0, ("q2".into(), 60.0)));
    stage.keys("backspace");
    assert_eq!(at(&stage), 0);
    // Nothing goes on by itself.
    stage.wait(60_000);
    stage.send(Message::Tick);
    assert_eq!(at(&stage), 0);
    assert!(!stage.app.ticking(), "an idle talk does not tick");
    stage.keys("+ +");
    assert!((stage.app.talk.as_ref().unwrap().speed - 8.0).abs() < 1e-9);
}

#[test]
fn by_itself_it_waits_for_the_hold_and_for_the_reply() {
    let (mut stage, _) = talk("auto = true", (120, 40), ColorDepth::True);
    assert!(stage.app.ticking());
    stage.wait(2_900);
    stage.send(Message::Tick);
    assert_eq!(at(&stage), 0);
    stage.wait(200);
    stage.send(Message::Tick);
    assert_eq!(at(&stage), 1);
    stage.wait(6_100);
    let ticket = asked(&stage.send(Message::Tick));
    assert_eq!(at(&stage), 2);
    stage.wait(90_000);
    stage.send(Message::Tick);
    assert_eq!(at(&stage), 2, "a reply is never cut off");
    stage.send(failed(ticket));
    stage.wait(1_900);
    stage.send(Message::Tick);
    assert_eq!(at(&stage), 2);
    stage.wait(200);
    stage.send(Message::Tick);
    assert_eq!(at(&stage), 3);
    // The last step stays.
    stage.wait(7_000);
    stage.send(Message::Tick);
    stage.wait(7_000);
    stage.send(Message::Tick);
    assert_eq!(at(&stage), 3);
    assert!(!stage.app.talk.as_ref().unwrap().auto);
}

#[test]
fn going_on_shows_the_whole_reply_first() {
    let (mut stage, _) = talk("", (120, 40), ColorDepth::True);
    let ticket = asked(&stage.keys("space space"));
    let paces = |effects: &[Effect]| -> Vec<f64> {
        let pace = |effect: &Effect| match effect {
            Effect::Pace(speed) => Some(*speed),
            _ => None,
        };
        effects.iter().filter_map(pace).collect()
    };
    for _ in 0..2 {
        let effects = stage.keys("space");
        assert_eq!(paces(&effects), [f64::INFINITY]);
        assert_eq!(effects.len(), 1, "nothing is stopped: {effects:?}");
        assert_eq!(at(&stage), 2, "the step stays");
    }
    let effects = stage.send(failed(ticket));
    assert_eq!(paces(&effects), [2.0], "the next is played as before");
    stage.keys("space");
    assert_eq!(at(&stage), 3);
}

#[test]
fn going_back_stops_a_reply_and_coming_again_plays_it_again() {
    let (mut stage, _) = talk("", (120, 40), ColorDepth::True);
    let first = asked(&stage.keys("space space"));
    let effects = stage.keys("backspace");
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::Cancel(ticket) if *ticket == first))
    );
    let effects = stage.keys("space");
    let waits = stage.app.talk.as_ref().unwrap().waiting;
    assert_eq!(waits, Waiting::ToAsk, "the old one has not ended yet");
    assert!(
        !effects
            .iter()
            .any(|effect| matches!(effect, Effect::Ask(_)))
    );
    let again = asked(&stage.send(failed(first)));
    assert_ne!(first, again);
    assert_eq!(stage.app.talk.as_ref().unwrap().waiting, Waiting::Reply);
}

#[test]
fn a_question_that_is_missing_is_said_with_its_line() {
    let (mut stage, _) = talk("", (80, 24), ColorDepth::True);
    let ticket = asked(&stage.keys("space space"));
    stage.send(failed(ticket));
    stage.keys("space");
    let screen = stage.screen();
    assert!(screen.contains("can't be shown"), "{screen}");
    assert!(screen.contains("\"nowhere\""), "{screen}");
}

#[test]
fn leaving_and_coming_back() {
    let (mut stage, _) = talk("", (80, 24), ColorDepth::True);
    stage.keys("space q");
    assert_eq!(stage.app.screen, Screen::Instance);
    stage.keys("s");
    stage.keys("T");
    assert_eq!((stage.app.screen, at(&stage)), (Screen::Talk, 1));
    let condition = stage.app.instance.as_ref().unwrap().condition;
    assert_eq!(
        condition.scenario.name(),
        "sufficiency",
        "the step is as it was written"
    );
    let mut without = Stage::open((80, 24), ColorDepth::True);
    without.keys("T");
    assert!(without.screen().contains("there is no talk"));
}

#[test]
fn talks_are_drawn_at_every_size() {
    for (size, depth, name) in [
        ((80, 24), ColorDepth::None, "talk_80x24"),
        ((120, 40), ColorDepth::True, "talk_120x40"),
        ((200, 60), ColorDepth::True, "talk_200x60"),
    ] {
        let (mut stage, _) = talk("", size, depth);
        let mut pages = stage.screen();
        for _ in 0..2 {
            stage.keys("space");
            pages.push_str(&format!("{}\n", "=".repeat(size.0.into())));
            pages.push_str(&stage.screen());
        }
        insta::assert_snapshot!(name, pages);
    }
    for size in [(1, 1), (40, 12), (20, 50), (400, 120)] {
        let (mut stage, _) = talk("", size, ColorDepth::True);
        for _ in 0..4 {
            stage.screen();
            stage.keys("space");
        }
    }
}

/// Every context that the demo asks about has a recorded reply to exactly its prompt.
#[test]
fn the_demo_has_all_that_it_plays() {
    let script = demo().unwrap();
    let records = sample_run().unwrap();
    let dataset = Dataset::sample().unwrap();
    let templates = Templates::default();
    let mut asks = 0;
    for step in &script.steps {
        let at = dataset.position(&step.question).expect(&step.question);
        let question = &dataset.questions[at];
        let context = compose(question, dataset.pools(&question.id), &step.condition).unwrap();
        assert!(!context.short, "{}", step.caption);
        if !step.ask {
            continue;
        }
        asks += 1;
        let prompt = templates.render(question, &context).unwrap();
        let recorded = records.iter().find(|record| record.prompt == prompt);
        let recorded =
            recorded.unwrap_or_else(|| panic!("nothing is recorded for: {}", step.caption));
        assert!(recorded.parsed.is_some(), "{}", step.caption);
    }
    assert!(asks >= 4, "the demo shows each scenario");
    assert!(script.steps.iter().any(|step| step.show == Show::All));
    assert!(script.auto && script.repeat);
}

/// A talk about the curves of the run "night" alone.
fn talk_of_curves(steps: &str) -> (Stage, Vec<Effect>) {
    let mut stage = Stage::new((120, 40), ColorDepth::True);
    let script = parse(&format!("run = \"night\"\n{steps}"), "talk.toml").unwrap();
    stage.app.talk = Some(Talk::new(Arc::new(script)));
    let effects = stage.send(Message::Dataset(Ok(fixture())));
    (stage, effects)
}

/// The jobs that read curves, with their runs.
fn reads(effects: &[Effect]) -> Vec<(medrgb::tui::app::Ticket, String)> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::LoadCurves { ticket, run } => Some((*ticket, run.clone())),
            _ => None,
        })
        .collect()
}

#[test]
fn a_step_shows_the_curves_that_it_names() {
    let steps = r#"
[[steps]]
caption = "How the rate falls with p."
show = "curves"
scenario = "sufficiency"
docs = 5
metric = "main_accuracy"
paper = "GPT-4o-mini"
[[steps]]
caption = "And how often it says that it does not suffice."
metric = "insufficient_rate"
paper = "none"
[[steps]]
caption = "A test that was never asked."
scenario = "robustness"
[[steps]]
caption = "Another run."
curves = "day"
[[steps]]
caption = "And a question."
question = "q2"
show = "documents"
"#;
    let (mut stage, effects) = talk_of_curves(steps);
    let jobs = reads(&effects);
    let [(ticket, run)] = &jobs[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(run, "night");
    assert!(
        stage.screen().contains("reading the run"),
        "{}",
        stage.screen()
    );
    stage.send(Message::Curves {
        ticket: *ticket,
        result: Ok(Box::new(crate::run_screens::figures(true))),
    });
    let screen = stage.screen();
    for words in [
        "How the rate falls",
        "main accuracy",
        "5 documents",
        "GPT-4o-mini in the paper",
        "run night",
        "1/5",
    ] {
        assert!(screen.contains(words), "{words}:\n{screen}");
    }
    // Keys of the sweep screen do nothing here, so they are not offered.
    assert!(!screen.contains("metric ("), "{screen}");
    // The same run is not read again.
    assert_eq!(reads(&stage.keys("space")), []);
    let screen = stage.screen();
    assert!(
        screen.contains("\"insufficient information\" /") && !screen.contains("in the paper"),
        "{screen}"
    );
    assert_eq!(reads(&stage.keys("space")), []);
    let screen = stage.screen();
    assert!(screen.contains("has no replies in robustness"), "{screen}");
    let jobs = reads(&stage.keys("space"));
    assert_eq!(jobs[0].1, "day");
    stage.send(Message::Curves {
        ticket: jobs[0].0,
        result: Err("there is no run \"day\" any more".into()),
    });
    assert!(stage.screen().contains("any more"), "{}", stage.screen());
    stage.keys("space");
    let screen = stage.screen();
    assert!(
        screen.contains("Does copper shorten") && screen.contains("5/5"),
        "{screen}"
    );
    // Back over the same steps, and out.
    stage.keys("backspace backspace backspace backspace");
    stage.keys("q");
    assert_eq!(stage.app.screen, Screen::Instance);
}

#[test]
fn a_talk_of_curves_alone_can_be_left_and_drawn_anywhere() {
    let steps = "[[steps]]\ncaption = \"c\"\nshow = \"curves\"\n";
    let (mut stage, effects) = talk_of_curves(steps);
    let (ticket, _) = reads(&effects).remove(0);
    stage.send(Message::Curves {
        ticket,
        result: Ok(Box::new(crate::run_screens::figures(false))),
    });
    for size in [(1, 1), (40, 12), (80, 24), (200, 60), (400, 120)] {
        stage.send(Message::Resize(size.0, size.1));
        stage.screen();
    }
    stage.keys("q");
    assert_eq!(stage.app.screen, Screen::Browse);
    assert!(stage.screen().contains("the talk is left"));
    stage.keys("T");
    assert_eq!(stage.app.screen, Screen::Talk);
}

#[test]
fn a_talk_whose_run_is_not_there_does_not_begin() {
    let place = Place::new();
    crate::annotate::night(&place.path("home").join("data"), &fixture(), 2);
    let begin = |script: &str| {
        std::fs::write(place.path("talk.toml"), script).unwrap();
        let (code, _, err) = finish(place.program(&["--talk", "talk.toml"]));
        (code, err)
    };
    let step = "[[steps]]\ncaption = \"c\"\nquestion = \"q1\"\n";
    let (code, err) = begin(&format!("title = \"t\"\nrun = \"nigth\"\n{step}"));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("talk.toml, line 2: "), "{err}");
    assert!(err.contains("did you mean \"night\"?"), "{err}");
    let (code, err) = begin(&format!(
        "run = \"night\"\n{step}[[steps]]\ncaption = \"c\"\nshow = \"curves\"\ncurves = \"nite\"\n"
    ));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("talk.toml, line 8: "), "{err}");
    // What begins goes as far as the terminal, which tests have none of: with its run, and on the sample without one.
    for script in [format!("run = \"night\"\n{step}"), step.to_owned()] {
        let (_, err) = begin(&script);
        assert!(err.contains("the explorer needs a terminal"), "{err}");
    }
}
