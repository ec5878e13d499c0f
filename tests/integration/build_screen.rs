//! Making a benchmark from the explorer: screens of fixed size, the machine behind them, and the real program.

use std::path::PathBuf;
use std::time::Duration;

use medrgb::domain::build::{
    Held, Loss, Predicted, QuestionReport, Stage, StagePlan, StageReport, Tally,
};
use medrgb::tui::app::build::{BuildEnd, BuildPlan, BuildProgress, BuildRequest, Field, StageEnd};
use medrgb::tui::app::loaded::Loaded;
use medrgb::tui::app::{Screen, Ticket};
use medrgb::tui::effects::Effect;
use medrgb::tui::message::{BuildEvent, Message};
use medrgb::tui::theme::ColorDepth;

use crate::screens::Stage as Explorer;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

fn loss(item: &str, reason: &str) -> Loss {
    Loss {
        item: item.into(),
        reason: reason.into(),
    }
}

/// A report of two questions with losses of every kind.
fn report(made: usize) -> StageReport {
    let first = QuestionReport {
        made,
        repaired: 2,
        dropped: vec![
            loss(
                "zinc-2",
                "the answer \"the pancreas\" does not stand in the document word for word",
            ),
            loss(
                "zinc-3",
                "the answer \"a week\" does not stand in the document word for word",
            ),
        ],
        failed: vec![loss("zinc-4", "no reply came within 600 s")],
        flawed: vec![loss(
            "zinc-1",
            "the answer has 14 words, but at most 12 are wanted",
        )],
        ..QuestionReport::default()
    };
    let second = QuestionReport {
        made,
        ..QuestionReport::default()
    };
    StageReport {
        questions: vec![("q1".into(), first), ("q2".into(), second)],
    }
}

fn clean(made: usize) -> StageReport {
    let one = QuestionReport {
        made,
        ..QuestionReport::default()
    };
    StageReport {
        questions: vec![("q1".into(), one)],
    }
}

fn held(stages: [Option<StageReport>; 4]) -> Held {
    Held {
        begun: true,
        documents: true,
        questions: vec!["q1".into(), "q2".into()],
        stages,
        indexes: vec!["pubmed-index".into()],
        topics: Some(4),
        per_topic: Some(2),
        pages: None,
        repairs: Some(1),
        model_checks: Some(true),
    }
}

fn plan(request: &BuildRequest) -> BuildPlan {
    let stages: Vec<StagePlan> = request
        .stages
        .iter()
        .map(|stage| StagePlan {
            stage: stage.name(),
            items: 1_200,
            answered: if *stage == Stage::SubQuestions {
                300
            } else {
                0
            },
            calls: 900,
            calls_at_most: 2_700,
            prompt_tokens: 540_000,
            reply_tokens: 72_000,
            guessed: *stage == Stage::Adversarial,
            seconds: Some(640.0),
        })
        .collect();
    BuildPlan {
        model: Some("gpt-4o-mini".into()),
        caution: None,
        questions: (2, 2),
        changed: String::new(),
        all: Predicted::of(&stages),
        stages,
        prices: (Some(0.15), Some(0.6)),
    }
}

/// Answers what the screen asks for: the folder holds this, the plan is as above.
fn settle(stage: &mut Explorer, effects: Vec<Effect>, held: &Result<Held, String>) {
    for effect in effects {
        let message = match effect {
            Effect::LookAtBuild { ticket, .. } => Message::BuildLooked {
                ticket,
                result: held.clone().map(Box::new),
            },
            Effect::PlanBuild { ticket, request } => Message::BuildPlanned {
                ticket,
                result: Ok(Box::new(plan(&request))),
            },
            _ => continue,
        };
        let next = stage.send(message);
        settle(stage, next, held);
    }
}

fn opened(size: (u16, u16), depth: ColorDepth, held: &Result<Held, String>) -> Explorer {
    let mut stage = Explorer::open(size, depth);
    stage.app.build.filled = true;
    stage.app.build.form.put(Field::Out, "/data/my-set");
    stage.app.build.form.put(Field::Model, "gpt-4o-mini");
    let effects = stage.keys("B");
    settle(&mut stage, effects, held);
    stage
}

fn started(effects: &[Effect]) -> (Ticket, BuildRequest) {
    let start = effects.iter().find_map(|effect| match effect {
        Effect::StartBuild { ticket, request } => Some((*ticket, (**request).clone())),
        _ => None,
    });
    start.unwrap_or_else(|| panic!("nothing was started: {effects:?}"))
}

fn progress(stage: Stage, done: usize) -> BuildEvent {
    BuildEvent::Progress(BuildProgress {
        stage,
        done,
        total: 1_200,
        tally: Tally {
            asked: done + 10,
            reused: 300,
            failed: 2,
            prompt_tokens: 270_000,
            completion_tokens: 36_000,
        },
        elapsed: Duration::from_secs(done as u64 / 4),
    })
}

/// Snapshots at all sizes, with colours and without.
fn at_all_sizes(name: &str, held: &Result<Held, String>, prepare: &dyn Fn(&mut Explorer)) {
    for (width, height) in SIZES {
        for (depth, theme) in [(ColorDepth::True, "dark"), (ColorDepth::None, "mono")] {
            let mut stage = opened((width, height), depth, held);
            prepare(&mut stage);
            let name = format!("{name}_{theme}_{width}x{height}");
            insta::assert_snapshot!(name, stage.screen());
        }
    }
}

#[test]
fn the_plan_at_all_sizes() {
    let begun = Ok(held([Some(clean(8)), Some(clean(12)), None, None]));
    at_all_sizes("build_plan", &begun, &|stage| {
        stage.keys("j j j j j");
    });
}

#[test]
fn a_new_folder_and_errors_at_all_sizes() {
    at_all_sizes("build_new", &Ok(Held::default()), &|_| ());
    let why = Err("/data/set/report.json can't be read: line 3: a comma is missing; run the stage again to write it anew".to_owned());
    at_all_sizes("build_error", &why, &|_| ());
}

#[test]
fn a_running_build_at_all_sizes() {
    let begun = Ok(held([Some(clean(8)), Some(clean(12)), None, None]));
    at_all_sizes("build_running", &begun, &|stage| {
        let (ticket, _) = started(&stage.keys("a"));
        for done in [0, 400] {
            let event = progress(Stage::SubQuestions, done);
            stage.send(Message::Build { ticket, event });
        }
    });
}

#[test]
fn results_at_all_sizes() {
    let through = Ok(held([
        Some(clean(8)),
        Some(clean(12)),
        Some(report(9)),
        Some(report(7)),
    ]));
    at_all_sizes("build_results", &through, &|stage| {
        let (ticket, _) = started(&stage.keys("a"));
        let end = StageEnd {
            stage: Stage::SubQuestions,
            report: report(9),
            tally: Tally::default(),
        };
        stage.send(Message::Build {
            ticket,
            event: BuildEvent::Stage(Box::new(end)),
        });
        let end = BuildEnd {
            by_user: false,
            trouble: None,
        };
        let effects = stage.send(Message::Build {
            ticket,
            event: BuildEvent::Finished(Ok(end)),
        });
        settle(
            stage,
            effects,
            &Ok(held([
                Some(clean(8)),
                Some(clean(12)),
                Some(report(9)),
                Some(report(7)),
            ])),
        );
        stage.keys("j");
    });
}

#[test]
fn more_than_fits_at_all_sizes() {
    let mut many = report(9);
    for number in 0..80 {
        let evil = "\u{1b}[31m\u{1b}]0;owned\u{7}";
        let own = QuestionReport {
            dropped: vec![loss(
                &format!("doc-{number}{evil}"),
                &format!(
                    "the edited text has {number} characters{evil}, {}",
                    "and goes on ".repeat(30)
                ),
            )],
            ..QuestionReport::default()
        };
        many.questions
            .push((format!("a-long-id-of-a-question-{number}{evil}"), own));
    }
    let through = Ok(held([
        Some(clean(8)),
        Some(clean(12)),
        Some(many.clone()),
        Some(many),
    ]));
    at_all_sizes("build_overfull", &through, &|stage| {
        stage.keys("tab end");
        let screen = stage.screen();
        assert!(!screen.contains("owned"), "{screen}");
        assert!(!screen.chars().any(|c| c.is_control() && c != '\n'));
    });
}

#[test]
fn a_build_goes_on_with_what_it_was_begun_with() {
    let begun = Ok(held([Some(clean(8)), Some(clean(12)), None, None]));
    let mut stage = opened((120, 40), ColorDepth::True, &begun);
    let (_, request) = started(&stage.keys("a"));
    assert_eq!(request.stages, [Stage::SubQuestions, Stage::Adversarial]);
    let settings = request.settings;
    assert_eq!(
        (settings.topics, settings.per_topic, settings.repairs),
        (4, 2, 1)
    );
    assert!(settings.model_checks && request.given.is_none() && !request.scope.again);
    assert_eq!(request.indexes, ["pubmed-index"]);
    // One at a time.
    assert!(stage.keys("a").is_empty());
    assert!(
        stage.screen().contains("must end or be stopped"),
        "{}",
        stage.screen()
    );
}

#[test]
fn a_dataset_that_is_no_build_is_built_beside_itself() {
    let mut stage = Explorer::open((120, 40), ColorDepth::True);
    let own = stage.app.data().unwrap().path.clone();
    let effects = stage.keys("B");
    let [Effect::LookAtBuild { ticket, folder }] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(*folder, own);
    let result = Err("holds files that `medrgb build` did not make".to_owned());
    let effects = stage.send(Message::BuildLooked {
        ticket: *ticket,
        result,
    });
    let [Effect::LookAtBuild { folder, .. }] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(*folder, PathBuf::from(format!("{}-built", own.display())));
    settle(&mut stage, effects, &Ok(Held::default()));
    let (_, request) = started(&stage.keys("a"));
    assert!(request.given.is_some());
    assert_eq!(request.stages, [Stage::SubQuestions, Stage::Adversarial]);
}

#[test]
fn what_got_no_reply_is_asked_again_and_single_questions_are_made_anew() {
    let through = Ok(held([
        Some(clean(8)),
        Some(clean(12)),
        Some(report(9)),
        Some(clean(9)),
    ]));
    let mut stage = opened((120, 40), ColorDepth::True, &through);
    stage.keys("tab");
    let (_, retry) = started(&stage.keys("r"));
    assert_eq!(retry.stages, [Stage::SubQuestions]);
    let scope = retry.scope;
    assert_eq!((scope.only, scope.again), (vec!["q1".to_owned()], false));

    let mut stage = opened((120, 40), ColorDepth::True, &through);
    stage.keys("tab g");
    assert!(
        stage.screen().contains("choose an item"),
        "{}",
        stage.screen()
    );
    let (_, anew) = started(&stage.keys("j g"));
    assert_eq!(anew.stages, [Stage::SubQuestions]);
    let scope = anew.scope;
    assert_eq!((scope.only, scope.again), (vec!["q1".to_owned()], true));

    // Nothing without a reply, nothing to ask again.
    let fine = Ok(held([
        Some(clean(8)),
        Some(clean(12)),
        Some(clean(9)),
        Some(clean(9)),
    ]));
    let mut stage = opened((120, 40), ColorDepth::True, &fine);
    assert!(stage.keys("r").is_empty());
    assert!(
        stage.screen().contains("nothing to ask again"),
        "{}",
        stage.screen()
    );
}

#[test]
fn stopping_is_asked_for_and_leaving_says_what_it_stops() {
    let begun = Ok(held([Some(clean(8)), Some(clean(12)), None, None]));
    let mut stage = opened((120, 40), ColorDepth::True, &begun);
    let (ticket, _) = started(&stage.keys("a"));
    stage.send(Message::Build {
        ticket,
        event: progress(Stage::SubQuestions, 12),
    });
    stage.keys("ctrl-c");
    assert!(!stage.app.quit);
    assert!(
        stage.screen().contains("leaving stops it"),
        "{}",
        stage.screen()
    );
    let effects = stage.keys("x");
    assert!(matches!(effects[..], [Effect::Cancel(of)] if of == ticket));
    // What an earlier job still says is not heard.
    stage.send(Message::Build {
        ticket: Ticket(u64::MAX),
        event: BuildEvent::Finished(Err("another".into())),
    });
    assert!(stage.app.build.is_active());
    let end = BuildEnd {
        by_user: true,
        trouble: None,
    };
    stage.send(Message::Build {
        ticket,
        event: BuildEvent::Finished(Ok(end)),
    });
    assert!(
        stage
            .screen()
            .contains("Stopped. What was answered is kept"),
        "{}",
        stage.screen()
    );
    let (_, resumed) = started(&stage.keys("a"));
    assert_eq!(resumed.stages, [Stage::SubQuestions, Stage::Adversarial]);
    stage.keys("ctrl-c ctrl-c");
    assert!(stage.app.quit);
}

#[test]
fn small_terminals_and_every_key_do_no_harm() {
    let through = Ok(held([
        Some(clean(8)),
        Some(clean(12)),
        Some(report(9)),
        Some(report(7)),
    ]));
    for size in [(80, 24), (40, 12), (60, 16), (1, 1)] {
        let mut stage = opened(size, ColorDepth::None, &through);
        for keys in [
            "enter",
            "j j j j enter",
            "backspace",
            "enter",
            "tab",
            "j j",
            "g",
            "tab",
            "x",
            "l",
            "h",
            "?",
            "esc",
            ":",
            "esc",
        ] {
            let effects = stage.keys(keys);
            settle(&mut stage, effects, &through);
            stage.screen();
        }
        stage.keys("q");
        // Where nothing can be shown, the program is left.
        let back = stage.app.screen == Screen::Browse;
        assert_eq!((back, stage.app.quit), (size != (1, 1), size == (1, 1)));
    }
}

/// A build that the command began is finished by the explorer, and holds what the command alone would have made.
#[cfg(unix)]
#[test]
fn the_explorer_finishes_what_the_command_began() {
    use crate::build::{ALL, DOCUMENTS, Place, QUESTIONS, files, good, says};
    use crate::pty::Session;
    use crate::sse_server::Server;
    use crate::sweep::finish;

    let server = Server::start_with(|_, request| says(&good(request)));
    let place = Place::new();
    place.generated();
    let (code, _, err) = finish(place.build(&server, &ALL));
    assert_eq!(code, Some(0), "{err}");
    let undisturbed = files(&place.path("set"));
    std::fs::rename(place.path("set"), place.path("undisturbed")).unwrap();
    for stage in ["topics", "retrieve"] {
        let mut args = ALL.to_vec();
        args[0] = stage;
        let (code, _, err) = finish(place.build(&server, &args));
        assert_eq!(code, Some(0), "{err}");
    }
    let asked = server.requests().len();
    let set = place.path("set").display().to_string();
    let home = place.path("home").display().to_string();
    let url = server.base_url();
    let arguments = [set.as_str(), "--model", "openai:m", "--base-url", &url];
    let variables = [
        ("MEDRGB_HOME", home.as_str()),
        ("OPENAI_API_KEY", "sk-test-0123456789abcdef"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let mut session =
        Session::start_with(folder, "xterm-256color", (120, 40), &arguments, &variables);
    session.wait_for("20 questions");
    session.press("B");
    session.wait_for("begun, 20 questions");
    session.wait_for("60 items, 60 calls");
    assert_eq!(server.requests().len(), asked, "a plan asks nothing");
    session.press("a");
    session.wait_for("✓ done");
    session.wait_for("Nothing: every item was made");
    // What is open has the new items: the review shows them.
    session.press("E");
    session.wait_for("0 of 120 decided");
    session.press("\x03");
    assert!(session.wait_for_end().success());
    assert_eq!(server.requests().len() - asked, 2 * QUESTIONS * DOCUMENTS);
    let after = files(&place.path("set"));
    for (name, bytes) in &undisturbed {
        assert_eq!(
            String::from_utf8_lossy(&after[name]),
            String::from_utf8_lossy(bytes),
            "{name} differs"
        );
    }
}

/// A build that is stopped leaves the ledger free and goes on where it was.
#[cfg(unix)]
#[test]
fn a_stopped_build_goes_on_and_asks_nothing_twice() {
    use crate::build::{ALL, DOCUMENTS, Place, QUESTIONS, good, says};
    use crate::pty::Session;
    use crate::sse_server::{Script, Server};
    use crate::sweep::finish;

    let server =
        Server::start_with(|_, request| Script::default().pause(150).then(says(&good(request))));
    let place = Place::new();
    place.generated();
    for stage in ["topics", "retrieve"] {
        let mut args = ALL.to_vec();
        args[0] = stage;
        let (code, _, err) = finish(place.build(&server, &args));
        assert_eq!(code, Some(0), "{err}");
    }
    let asked = server.requests().len();
    let set = place.path("set").display().to_string();
    let home = place.path("home").display().to_string();
    let url = server.base_url();
    let arguments = [set.as_str(), "--model", "openai:m", "--base-url", &url];
    let variables = [
        ("MEDRGB_HOME", home.as_str()),
        ("OPENAI_API_KEY", "sk-test-0123456789abcdef"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let mut session =
        Session::start_with(folder, "xterm-256color", (80, 24), &arguments, &variables);
    session.wait_for("20 questions");
    session.press("B");
    session.wait_for("a starts it");
    session.press("a");
    crate::process::wait_until(Duration::from_secs(60), || {
        server.requests().len() > asked + 8
    });
    session.press("x");
    session.wait_for("Stopped.");
    // The folder is nobody's now.
    let (code, plan, err) =
        finish(place.build(&server, &["subqa", "--out", "set", "--plan", "--json"]));
    assert_eq!(code, Some(0), "{err}");
    let kept = plan["stages"][0]["answered"].as_u64().unwrap() as usize;
    assert!(kept > 0 && kept < QUESTIONS * DOCUMENTS, "{plan}");
    session.press("a");
    session.wait_for("✓ done");
    session.press("\x03");
    assert!(session.wait_for_end().success());
    // Only what was under way at the stop is asked again: at most as many as there are calls at a time.
    let more = server.requests().len() - asked;
    assert!(more <= 2 * QUESTIONS * DOCUMENTS + 8, "{more}");
}

/// Leads to a field of the form and types a text into it, by keys alone.
fn fill(stage: &mut Explorer, held: &Result<Held, String>, field: Field, text: &str) {
    let at = Field::ALL.iter().position(|one| *one == field).unwrap();
    let mut keys = vec!["home"];
    keys.extend(std::iter::repeat_n("j", at));
    keys.push("enter");
    stage.keys(&keys.join(" "));
    if stage.app.build.form.typing {
        for _ in 0..stage.app.build.form.text(field).text().chars().count() {
            stage.keys("backspace");
        }
        stage.type_text(text);
        let effects = stage.keys("enter");
        settle(stage, effects, held);
    }
}

/// What is typed into the form, and the flags that say the same.
type Case<'a> = (&'a [(Field, &'a str)], &'a [&'a str]);

/// What is typed into the form and what stands on the command line makes the same settings, questions and private
/// addresses; and what the one refuses, the other does.
#[test]
fn the_form_and_the_command_make_the_same_settings() {
    use crate::build::Place;
    use crate::sse_server::{Script, Server};
    use crate::sweep::finish;

    let server = Server::start_with(|_, _| Script::default());
    let place = Place::new();
    place.generated();
    let planned = |more: &[&str]| {
        let mut args = vec!["all", "--questions", "qa.jsonl", "--out", "set"];
        args.extend(["--index", "index", "--searxng", "http://127.0.0.1:9"]);
        args.extend(["--plan", "--json"]);
        args.extend(more);
        finish(place.build(&server, &args))
    };
    let new = Ok(Held::default());
    let form = |fields: &[(Field, &str)]| {
        let mut stage = opened((120, 40), ColorDepth::True, &new);
        stage.app.build.form.stages = [true; 4];
        fill(&mut stage, &new, Field::Web, "http://127.0.0.1:9");
        for (field, text) in fields {
            fill(&mut stage, &new, *field, text);
        }
        stage
    };
    let cases: [Case; 2] = [
        (&[], &[]),
        (
            &[
                (Field::Topics, "20"),
                (Field::PerTopic, "100"),
                (Field::Pages, "30"),
                (Field::Repairs, "0"),
                (Field::Checks, ""),
                (Field::Concurrency, "256"),
            ],
            &[
                "--topics",
                "20",
                "--per-topic",
                "100",
                "--pages",
                "30",
                "--repairs",
                "0",
                "--model-checks",
                "--concurrency",
                "256",
            ],
        ),
    ];
    for (fields, flags) in cases {
        let (code, plan, err) = planned(flags);
        assert_eq!(code, Some(0), "{err}");
        let (_, request) = started(&form(fields).keys("a"));
        let settings = serde_json::to_value(request.settings).unwrap();
        assert_eq!(settings, plan["settings"]);
        assert_eq!(settings.as_object().unwrap().len(), 7);
    }
    for (field, flag, text) in [
        (Field::Topics, "--topics", "21"),
        (Field::PerTopic, "--per-topic", "0"),
        (Field::Pages, "--pages", "31"),
        (Field::Repairs, "--repairs", "11"),
        (Field::Concurrency, "--concurrency", "257"),
        (Field::Limit, "--limit", "0"),
        (Field::Private, "--allow-address", "intranet"),
    ] {
        let (code, _, err) = planned(&[flag, text]);
        assert_eq!(code, Some(2), "{flag} {text}: {err}");
        let mut stage = form(&[(field, text)]);
        assert!(stage.keys("a").is_empty(), "{field:?} takes {text}");
        let screen = stage.screen();
        let name = field.words().0;
        assert!(screen.contains(&format!("{name} ")), "{screen}");
        assert!(screen.contains("expected"), "{screen}");
    }
    // The words are those of the command's help.
    let (_, help, _) = finish(place.program(&["build", "all", "--help"]));
    let help = help.as_str().unwrap().split_whitespace();
    let help = help.collect::<Vec<_>>().join(" ");
    for field in [
        Field::Limit,
        Field::Topics,
        Field::PerTopic,
        Field::Pages,
        Field::Repairs,
        Field::Checks,
        Field::Concurrency,
    ] {
        assert!(help.contains(field.words().1), "{:?} in {help}", field);
    }
}

/// What a build of the explorer may read: the form opens private addresses as the command does.
#[test]
fn the_form_names_questions_and_private_addresses() {
    use medrgb::domain::build::Private;

    let begun = Ok(held([Some(clean(8)), Some(clean(12)), None, None]));
    let mut stage = opened((120, 40), ColorDepth::True, &begun);
    fill(&mut stage, &begun, Field::Limit, "1");
    fill(&mut stage, &begun, Field::Private, "10.0.0.7, ::1");
    let (_, request) = started(&stage.keys("a"));
    assert_eq!(request.scope.limit, Some(1));
    let two = ["10.0.0.7", "::1"].map(|address| address.parse().unwrap());
    assert_eq!(request.private, Private::These(two.to_vec()));
    // Stepping goes through the usual values.
    let mut stage = opened((80, 24), ColorDepth::True, &begun);
    fill(&mut stage, &begun, Field::Private, "");
    stage.keys("l");
    assert_eq!(stage.app.build.form.text(Field::Private).text(), "none");
    let effects = stage.keys("l");
    settle(&mut stage, effects, &begun);
    let screen = stage.screen();
    assert!(
        screen.contains("private pages all") && screen.contains("for an intranet"),
        "{screen}"
    );
    assert_eq!(started(&stage.keys("a")).1.private, Private::Open);
}

/// What a stage has made and lost is on screen as soon as it is through, and a reason can be read to its end.
#[test]
fn a_stage_that_is_through_is_shown_while_the_next_one_runs() {
    let begun = Ok(held([Some(clean(8)), Some(clean(12)), None, None]));
    let mut stage = opened((80, 24), ColorDepth::True, &begun);
    let (ticket, _) = started(&stage.keys("a"));
    let send = |stage: &mut Explorer, event| stage.send(Message::Build { ticket, event });
    send(&mut stage, progress(Stage::SubQuestions, 400));
    let screen = stage.screen();
    assert!(screen.contains("What a stage leaves out"), "{screen}");
    let end = StageEnd {
        stage: Stage::SubQuestions,
        report: report(9),
        tally: Tally::default(),
    };
    send(&mut stage, BuildEvent::Stage(Box::new(end)));
    send(&mut stage, progress(Stage::Adversarial, 4));
    let screen = stage.screen();
    let row = screen.lines().find(|line| line.contains("✓ sub-questions"));
    assert!(row.unwrap().contains("18"), "{screen}");
    assert!(screen.contains("4 of 1200"), "{screen}");
    stage.keys("j j j");
    let screen = stage.screen();
    // The list cuts it, below it stands whole, wrapped.
    let words = screen.replace(['┃', '\n'], " ");
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = "\"the pancreas\" does not stand in the document word for word";
    assert!(words.contains(end), "{screen}");
}

/// Where nothing came of a stage, the screen says what was asked, why it is missing, and what helps.
#[test]
fn a_build_of_which_nothing_comes_says_what_helps() {
    use medrgb::domain::build::closing::nothing_kept;

    let begun = Ok(held([Some(clean(8)), Some(clean(12)), None, None]));
    let mut stage = opened((80, 24), ColorDepth::True, &begun);
    let (ticket, _) = started(&stage.keys("a"));
    let mut lost = QuestionReport::default();
    for document in 0..12 {
        lost.drop(
            &format!("zinc-{document}"),
            "the reply holds no JSON object",
        );
    }
    let report = StageReport {
        questions: vec![("q1".into(), lost)],
    };
    let trouble = nothing_kept(Stage::SubQuestions, &report, &[Stage::Adversarial]);
    let end = StageEnd {
        stage: Stage::SubQuestions,
        report: report.clone(),
        tally: Tally::default(),
    };
    let event = BuildEvent::Stage(Box::new(end));
    stage.send(Message::Build { ticket, event });
    let event = BuildEvent::Finished(Ok(BuildEnd {
        by_user: false,
        trouble: Some(trouble),
    }));
    let effects = stage.send(Message::Build { ticket, event });
    let after = Ok(held([Some(clean(8)), Some(clean(12)), Some(report), None]));
    settle(&mut stage, effects, &after);
    let screen = stage.screen();
    let words = screen.replace(['│', '┃', '\n'], " ");
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "asked for 12 sub-questions: none kept, 12 dropped",
        "12 × the reply holds no JSON object",
        "Not run, for want of it: counterfactual",
        "another model, other prompts or more repairs ask anew",
        "tab leads to the plan",
    ] {
        assert!(words.contains(part), "{part} in\n{screen}");
    }
    assert!(!words.contains("goes on from there"), "{screen}");
}

/// A build that was stopped before any stage was through goes on with the documents that came with the questions.
#[test]
fn documents_that_came_with_the_questions_need_no_search_after_a_stop_either() {
    let stopped = Ok(held([None, None, None, None]));
    let mut stage = opened((120, 40), ColorDepth::True, &stopped);
    let (_, request) = started(&stage.keys("a"));
    assert_eq!(request.stages, [Stage::SubQuestions, Stage::Adversarial]);
    // Without documents they are searched for first.
    let mut bare = held([Some(clean(8)), None, None, None]);
    bare.documents = false;
    let bare = Ok(bare);
    let mut stage = opened((120, 40), ColorDepth::True, &bare);
    let (_, request) = started(&stage.keys("a"));
    assert_eq!(
        request.stages,
        [Stage::Retrieve, Stage::SubQuestions, Stage::Adversarial]
    );
}

/// An empty field of questions, or of their number, takes them all, and says so.
#[test]
fn an_empty_field_says_what_it_means() {
    let new = Ok(Held::default());
    let mut stage = opened((120, 40), ColorDepth::True, &new);
    for (field, name, means) in [
        (Field::Only, "questions", "all"),
        (Field::Limit, "limit", "all"),
        (Field::Index, "index", "none"),
    ] {
        fill(&mut stage, &new, field, "");
        let screen = stage.screen();
        let says = screen.lines().any(|line| {
            let rest = line.split_once(name).map(|(_, rest)| rest.trim_start());
            rest.is_some_and(|rest| rest.starts_with(means))
        });
        assert!(says, "{name}:\n{screen}");
    }
}

/// What has no effect on the plan says so, and what has changed since the last build is said before anything is asked.
#[test]
fn fields_without_effect_and_changed_questions_are_said() {
    let new = Ok(Held::default());
    let mut stage = opened((120, 40), ColorDepth::True, &new);
    let choose = |stage: &mut Explorer, field: Field| {
        let at = Field::ALL.iter().position(|one| *one == field).unwrap();
        stage.keys(&format!("home{}", " j".repeat(at)));
        stage.screen()
    };
    let idle = "Has no effect on this plan.";
    for field in [Field::Topics, Field::PerTopic, Field::Pages, Field::Private] {
        assert!(choose(&mut stage, field).contains(idle), "{field:?}");
    }
    assert!(!choose(&mut stage, Field::Repairs).contains(idle));
    stage.app.build.form.stages = [true; 4];
    assert!(!choose(&mut stage, Field::Topics).contains(idle));
    assert!(choose(&mut stage, Field::PerTopic).contains(idle));
    fill(&mut stage, &new, Field::Index, "corpus");
    assert!(!choose(&mut stage, Field::PerTopic).contains(idle));
    assert!(choose(&mut stage, Field::Pages).contains(idle));
    fill(&mut stage, &new, Field::Web, "google");
    assert!(!choose(&mut stage, Field::Pages).contains(idle));
    // Only the model's work is left out of a search in an index.
    stage.app.build.form.stages = [false, true, false, false];
    fill(&mut stage, &new, Field::Web, "");
    for field in [Field::Model, Field::Repairs, Field::Checks] {
        assert!(choose(&mut stage, field).contains(idle), "{field:?}");
    }
    if let Loaded::Ready(plan) = &mut stage.app.build.plan {
        plan.changed = "1 question changed since it was built".into();
    }
    assert!(stage.screen().contains("1 question changed since it was"));
}
