//! Copying, `$PAGER` and `$EDITOR`: as a machine, and in the real program.

#![cfg(unix)]

use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use medrgb::domain::annotation::Part;
use medrgb::tui::app::instance::Panel;
use medrgb::tui::editor::{Program, Purpose};
use medrgb::tui::effects::Effect;
use medrgb::tui::message::Message;
use medrgb::tui::theme::ColorDepth;

use crate::pty::{Session, kill};
use crate::screens::{Stage, answered};

/// What these effects copy.
fn copied(effects: &[Effect]) -> Option<String> {
    effects.iter().find_map(|effect| match effect {
        Effect::Copy(text) => Some(text.clone()),
        _ => None,
    })
}

#[test]
fn pieces_of_an_instance_are_copied_by_two_keys() {
    let mut stage = Stage::open((120, 40), ColorDepth::True);
    stage.keys("enter s s [");
    answered(
        &mut stage,
        "{\"main\": {\"answer_choice\": \"A\"}} \u{1b}[31mred",
    );
    let mut take = |keys: &str| copied(&stage.keys(keys)).unwrap_or_default();
    let document = take("y d");
    assert!(
        document.starts_with("Trial ") && document.contains("placebo"),
        "{document}"
    );
    let question = take("y q");
    assert!(
        question.contains("\nB  no\n") && question.contains("right: A"),
        "{question}"
    );
    assert!(take("y p").contains("Does zinc shorten"));
    assert_eq!(take("y r"), "{\"main\": {\"answer_choice\": \"A\"}} red");
    let all = take("y D");
    assert!(
        all.contains("DOC_1  ") && all.contains("\n\nDOC_2  "),
        "{all}"
    );
    let command = take("y c");
    assert!(
        command.starts_with("medrgb compose --dataset "),
        "{command}"
    );
    assert!(
        command.ends_with("--question q1 --scenario robustness --docs 5 --p 40"),
        "{command}"
    );
    assert!(take("y a").ends_with("--p 40 --model embedded"));
    // The same key twice takes what is focused.
    stage.app.instance.as_mut().unwrap().focus = Panel::Signal;
    assert_eq!(copied(&stage.keys("y y")), Some(document));
    stage.app.instance.as_mut().unwrap().focus = Panel::Adversarial;
    let change = copied(&stage.keys("y x")).unwrap();
    assert!(change.contains("[-") && change.contains("{+"), "{change}");
    let screen = stage.screen();
    assert!(
        screen.contains("copied what was changed in DOC_"),
        "{screen}"
    );
    assert!(screen.contains("the terminal decides"), "{screen}");
    // What is hidden on screen is not copied.
    let hidden = copied(&stage.keys("g y q")).unwrap();
    assert!(!hidden.contains("right:"), "{hidden}");
}

#[test]
fn a_copied_command_makes_the_shown_context() {
    let mut stage = Stage::new((120, 40), ColorDepth::True);
    let sample = medrgb::data::dataset::Dataset::sample().unwrap();
    stage.send(Message::Dataset(Ok(std::sync::Arc::new(sample))));
    stage.keys("enter s s [ R m n n");
    let command = copied(&stage.keys("y c")).unwrap();
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let home = tempfile::tempdir().unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_medrgb"))
        .args(&words)
        .arg("--json")
        .env("MEDRGB_HOME", home.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{command}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let made: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let context = stage.app.instance.as_ref().unwrap().context().unwrap();
    let shown = serde_json::to_value(context).unwrap();
    assert_eq!(made["documents"], shown["documents"], "{command}");
    assert_eq!(
        (&made["seed"], &made["mode"]),
        (&shown["seed"], &shown["mode"])
    );
}

#[test]
fn too_much_is_not_copied_and_the_way_on_is_said() {
    let mut stage = Stage::open((120, 40), ColorDepth::True);
    stage.keys("enter");
    answered(&mut stage, &"x".repeat(60_000));
    assert_eq!(copied(&stage.keys("y r")), None);
    let screen = stage.screen();
    assert!(
        screen.contains("60.0 kB") && screen.contains("V opens it"),
        "{screen}"
    );
    let effects = stage.keys("V r");
    let [Effect::OpenOutside(outside)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(
        (outside.program, outside.text.len()),
        (Program::Pager, 60_000)
    );
}

#[test]
fn every_screen_has_something_to_take_or_says_that_it_has_not() {
    for keys in ["", "enter", "r", "W", "C", "t", "enter P", "l enter"] {
        for key in ["y", "V"] {
            let mut stage = Stage::open((80, 24), ColorDepth::True);
            if !keys.is_empty() {
                stage.keys(keys);
            }
            stage.app.find.typing = false;
            stage.app.retrieval.typing = false;
            stage.app.overlay = None;
            stage.keys(key);
            let screen = stage.screen();
            assert!(
                screen.contains("What do you want to") || screen.contains("there is nothing"),
                "{keys} {key}:\n{screen}"
            );
            stage.keys("esc");
            assert!(stage.app.overlay.is_none());
        }
    }
}

#[test]
fn a_failing_editor_is_one_sentence_and_changes_nothing() {
    let mut stage = Stage::open((80, 24), ColorDepth::True);
    let purpose = Purpose::Note {
        run: "night".into(),
        part: Part::Annotator,
        reply: "r".into(),
    };
    let result = Err("\"vi\" (EDITOR) ended with status 1; nothing was changed".into());
    let effects = stage.send(Message::CameBack {
        purpose: purpose.clone(),
        result,
    });
    assert!(effects.is_empty());
    assert!(stage.screen().contains("ended with status 1"));
    let result = Ok(Some("a note".into()));
    let effects = stage.send(Message::CameBack { purpose, result });
    assert!(effects.is_empty(), "its queue is not open: {effects:?}");
    let screen = stage.screen();
    assert!(screen.contains("not saved yet"), "{screen}");
}

/// A program in a script of its own.
fn script(folder: &Path, name: &str, text: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn with(variables: &[(&str, &str)]) -> Session {
    let home = tempfile::tempdir().unwrap();
    let temporary = home.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let mut all = vec![("TMPDIR", temporary.to_str().unwrap().to_owned())];
    all.extend(
        variables
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned())),
    );
    let all: Vec<(&str, &str)> = all
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    Session::start_with(home, "xterm-256color", (100, 30), &[], &all)
}

#[test]
fn a_pager_gets_the_terminal_and_gives_it_back() {
    let tools = tempfile::tempdir().unwrap();
    // It says what it sees, among it the terminal's mode, and waits for a key.
    let pager = script(
        tools.path(),
        "page",
        "stty -a | grep -o ' -*icanon'; ls -l \"$2\"; head -3 \"$2\"; echo \"told: $1\"; echo READY; read line; echo \"got $line\"",
    );
    let mut session = with(&[("PAGER", &format!("{pager} --wait"))]);
    session.wait_for("questions");
    session.press("\r");
    session.wait_for("Sufficiency");
    session.press("V");
    session.wait_for("open in your pager");
    session.press("q");
    session.wait_for("READY");
    let text = session.text();
    assert!(
        text.contains(" icanon") && !text.contains("-icanon"),
        "cooked: {text}"
    );
    assert!(text.contains("-rw-------"), "{text}");
    assert!(text.contains("told: --wait"), "{text}");
    assert!(!text.contains("Sufficiency"), "the other screen: {text}");
    // Ctrl-C is the pager's business, and a change of size waits.
    kill(&session, "-INT");
    session.resize(110, 35);
    // Not as quick as a pager that shows nothing for long.
    std::thread::sleep(Duration::from_millis(600));
    session.press("x\r");
    session.wait_for("Sufficiency");
    session.press("[");
    session.wait_for("p 40 %");
    assert_eq!(
        std::fs::read_dir(session.home_folder().join("tmp"))
            .unwrap()
            .count(),
        0
    );
    session.press("\x03");
    assert!(session.wait_for_end().success());
    session.check_restored();
}

#[test]
fn a_quick_pager_stays_to_be_read_and_a_missing_one_is_said() {
    let mut session = with(&[("PAGER", "cat")]);
    session.wait_for("questions");
    session.press("Vq");
    session.wait_for("Enter goes back");
    assert!(session.text().contains("right: "), "{}", session.text());
    session.press("\r");
    session.wait_for("enter open");
    session.press("\x03");
    assert!(session.wait_for_end().success());

    let mut session = with(&[("PAGER", "no-such-pager --now")]);
    session.wait_for("questions");
    session.press("Vq");
    session.wait_for("\"no-such-pager --now\" (PAGER) can't be run here");
    session.press("\x03");
    assert!(session.wait_for_end().success());
    session.check_restored();
}

#[test]
fn a_stopped_pager_stops_the_program_and_both_go_on() {
    let tools = tempfile::tempdir().unwrap();
    let pager = script(
        tools.path(),
        "page",
        "echo READY; kill -STOP $$; echo AGAIN; read line",
    );
    let mut session = with(&[("PAGER", &pager)]);
    session.wait_for("questions");
    session.press("Vq");
    session.wait_for("READY");
    let stopped = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", session.process()));
        stat.is_ok_and(|stat| stat.contains(") T "))
    };
    if Path::new("/proc/self/stat").exists() {
        let start = Instant::now();
        while !stopped() {
            assert!(start.elapsed() < Duration::from_secs(60), "it did not stop");
            std::thread::sleep(Duration::from_millis(20));
        }
    } else {
        eprintln!("there is no /proc: whether the program stops is not seen");
        std::thread::sleep(Duration::from_secs(2));
    }
    kill(&session, "-CONT");
    session.wait_for("AGAIN");
    // Not as quick as a pager that shows nothing for long.
    std::thread::sleep(Duration::from_millis(600));
    session.press("\r");
    session.wait_for("enter open");
    session.press("\x03");
    assert!(session.wait_for_end().success());
    session.check_restored();
}

#[test]
fn an_end_from_outside_ends_the_pager_too() {
    let tools = tempfile::tempdir().unwrap();
    let pager = script(
        tools.path(),
        "page",
        "echo $$ >\"$HOME/pager\"; echo READY; while :; do sleep 0.1; done",
    );
    let mut session = with(&[("PAGER", &pager)]);
    session.wait_for("questions");
    session.press("Vq");
    session.wait_for("READY");
    let pager = std::fs::read_to_string(session.home_folder().join("pager")).unwrap();
    kill(&session, "-TERM");
    assert!(session.wait_for_end().success());
    let start = Instant::now();
    loop {
        let alive = std::process::Command::new("kill")
            .args(["-0", pager.trim()])
            .stderr(std::process::Stdio::null())
            .status();
        if !alive.unwrap().success() {
            break;
        }
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "the pager outlived it"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_clipboard_gets_what_was_chosen() {
    let mut session = Session::start(120, 40, &[]);
    session.wait_for("questions");
    session.press("yc");
    session.wait_for("copied the command");
    let raw = String::from_utf8_lossy(&session.raw()).into_owned();
    let (_, rest) = raw.split_once("\x1b]52;c;").expect("a copy");
    let (encoded, _) = rest.split_once('\x07').unwrap();
    let text = base64::engine::general_purpose::STANDARD
        .decode(encoded)
        .unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.starts_with("medrgb compose --question "), "{text}");
    session.press("\x03");
    assert!(session.wait_for_end().success());
}
