//! What the real program looks like: the background that a terminal tells, themes that can't be used, reduced motion.

use std::time::{Duration, Instant};

use vt100::Color;

use crate::pty::Session;
use crate::sse_server::{Script, Server};

/// The question for the background (OSC 11).
const QUESTION: &[u8] = b"\x1b]11;?\x07";

/// The bar at the top, as the dark and the light theme colour it.
const DARK: Color = Color::Rgb(0x28, 0x30, 0x46);
const LIGHT: Color = Color::Rgb(0xdf, 0xe5, 0xf0);

const PATIENCE: Duration = Duration::from_secs(60);

/// The explorer on a terminal with all colours that tells nothing by its environment, but for these variables.
fn start(arguments: &[&str], variables: &[(&str, &str)]) -> Session {
    let home = tempfile::tempdir().unwrap();
    start_at(home, arguments, variables)
}

fn start_at(home: tempfile::TempDir, arguments: &[&str], variables: &[(&str, &str)]) -> Session {
    let mut all = vec![
        ("COLORTERM", "truecolor"),
        ("COLORFGBG", ""),
        ("MEDRGB_THEME", ""),
        ("MEDRGB_COLORS", ""),
    ];
    all.extend(variables);
    Session::start_with(home, "xterm-256color", (100, 30), arguments, &all)
}

fn was_asked(session: &Session) -> bool {
    session
        .raw()
        .windows(QUESTION.len())
        .any(|bytes| bytes == QUESTION)
}

/// Waits for the question and answers it at once.
fn answer(session: &mut Session, answer: &str) {
    let start = Instant::now();
    while !was_asked(session) {
        assert!(start.elapsed() < PATIENCE, "the terminal was not asked");
        std::thread::sleep(Duration::from_millis(1));
    }
    session.press(answer);
}

fn wait_for_bar(session: &Session, wanted: Color) {
    let start = Instant::now();
    while session.background(0, 1) != wanted {
        assert!(
            start.elapsed() < PATIENCE,
            "the bar has {:?} and not {wanted:?}",
            session.background(0, 1)
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Keys work as ever, and none was pressed that nobody pressed: the list is as it was, no message says that a key does
/// nothing.
fn check_untouched(session: &mut Session) {
    session.wait_for("questions");
    let text = session.text();
    assert!(!text.contains("does nothing here"), "{text}");
    assert!(!text.contains("rgb:"), "{text}");
    session.press("?");
    session.wait_for("Keys of the browse screen");
}

fn end(mut session: Session) {
    session.press("\x03");
    assert!(session.wait_for_end().success());
    session.check_restored();
}

#[test]
fn a_light_terminal_gets_the_light_theme() {
    for reply in [
        "\x1b]11;rgb:ffff/ffff/ffff\x07",
        "\x1b]11;rgb:fdfd/f6f6/e3e3\x1b\\",
    ] {
        let mut session = start(&[], &[]);
        answer(&mut session, reply);
        wait_for_bar(&session, LIGHT);
        check_untouched(&mut session);
        assert_eq!(session.background(0, 1), LIGHT);
        end(session);
    }
}

#[test]
fn a_dark_terminal_keeps_the_dark_theme() {
    let mut session = start(&[], &[]);
    answer(&mut session, "\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\");
    check_untouched(&mut session);
    assert_eq!(session.background(0, 1), DARK);
    end(session);
}

#[test]
fn an_answer_in_pieces_among_typed_keys_costs_no_key() {
    let mut session = start(&[], &[]);
    answer(&mut session, "?\x1b");
    std::thread::sleep(Duration::from_millis(20));
    session.press("]11;rgb:ffff/ff");
    std::thread::sleep(Duration::from_millis(20));
    session.press("ff/ffff\x1b\\");
    wait_for_bar(&session, LIGHT);
    // The escape of the answer has closed nothing.
    session.wait_for("Keys of the browse screen");
    session.press("q");
    session.wait_without("Keys of the browse screen");
    check_untouched(&mut session);
    end(session);
}

#[test]
fn garbage_for_an_answer_does_nothing() {
    for reply in [
        "\x1b]11;?\x07",
        "\x1b]11;rgb:zz/\x1b\\",
        "\x1b]11;rgb:ffff/ffff",
    ] {
        let mut session = start(&[], &[]);
        answer(&mut session, reply);
        // Longer than the end of a broken answer is waited for.
        std::thread::sleep(Duration::from_millis(600));
        check_untouched(&mut session);
        assert_eq!(session.background(0, 1), DARK, "{reply:?}");
        end(session);
    }
}

#[test]
fn a_late_answer_changes_nothing_and_types_nothing() {
    let mut session = start(&[], &[]);
    answer(&mut session, "");
    std::thread::sleep(Duration::from_secs(3));
    session.wait_for("questions");
    // "f" would open the facets, "l" the labels.
    session.press("\x1b]11;rgb:ffff/ffff/ffff\x07");
    std::thread::sleep(Duration::from_millis(300));
    check_untouched(&mut session);
    assert_eq!(session.background(0, 1), DARK);
    end(session);
}

#[test]
fn a_terminal_that_does_not_answer_is_not_waited_for() {
    let mut session = start(&[], &[]);
    answer(&mut session, "");
    // The first frame is there before any answer could be.
    wait_for_bar(&session, DARK);
    check_untouched(&mut session);
    // Escape is escape.
    session.press("\x1b");
    session.wait_without("Keys of the browse screen");
    end(session);
}

#[test]
fn the_environment_decides_the_first_frame() {
    let mut session = start(&[], &[("COLORFGBG", "0;15")]);
    wait_for_bar(&session, LIGHT);
    // What the terminal says itself counts more.
    answer(&mut session, "\x1b]11;rgb:0/0/0\x07");
    wait_for_bar(&session, DARK);
    check_untouched(&mut session);
    end(session);
}

#[test]
fn nothing_is_asked_where_the_answer_would_not_matter() {
    type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)]);
    let cases: [Case<'_>; 3] = [
        (&["--theme", "light"], &[]),
        (&[], &[("NO_COLOR", "1")]),
        (&[], &[("TERM", "linux")]),
    ];
    for (arguments, variables) in cases {
        let mut session = start(arguments, variables);
        check_untouched(&mut session);
        assert!(!was_asked(&session), "{arguments:?} {variables:?}");
        end(session);
    }
}

#[test]
fn a_theme_that_fails_starts_the_default_and_says_why() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("config/medrgb");
    std::fs::create_dir_all(config.join("themes")).unwrap();
    std::fs::write(
        config.join("config.toml"),
        "theme = \"mine\"\n\n[keys]\nstop = [\"a\"]\n",
    )
    .unwrap();
    std::fs::write(
        config.join("themes/mine.toml"),
        "inherits = \"dark\"\n[styles]\nsignel = { fg = \"green\" }\n",
    )
    .unwrap();
    let mut session = start_at(home, &[], &[]);
    for part in [
        "mine.toml, line 3: there is no style",
        "did you mean \"signal\"?",
        "using the theme \"dark\"",
        "is bound to both ask and stop on the",
        "using the built-in keys",
    ] {
        let start = Instant::now();
        // Messages are wrapped.
        while !session
            .text()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .contains(part)
        {
            assert!(
                start.elapsed() < PATIENCE,
                "{part:?} is not on\n{}",
                session.text()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    assert_eq!(session.background(0, 1), DARK);
    check_untouched(&mut session);
    end(session);
}

/// Frames that the program draws in two seconds while text streams in.
fn frames_while_streaming(variables: &[(&str, &str)]) -> usize {
    let script = Script::stream()
        .text("{\"relevant_doc_id\": [\"DOC_1\"], \"step_by_step_thinking\": \"It ")
        .drip("goes on ", 20);
    let server = Server::start(vec![script]);
    let url = server.base_url();
    let mut session = start(&["--model", "openai:served", "--base-url", &url], variables);
    session.wait_for("questions");
    session.press("\r");
    session.wait_for("Sufficiency");
    session.press("a");
    session.wait_for("goes on");
    let frames = |session: &Session| {
        let begin = b"\x1b[?2026h";
        session
            .raw()
            .windows(begin.len())
            .filter(|bytes| bytes == begin)
            .count()
    };
    let before = frames(&session);
    std::thread::sleep(Duration::from_secs(2));
    let drawn = frames(&session) - before;
    // A key is answered at once all the same.
    session.press("?");
    session.wait_for("Keys of the instance screen");
    end(session);
    drawn
}

#[test]
fn with_reduced_motion_a_stream_is_drawn_twice_a_second() {
    let moving = frames_while_streaming(&[]);
    let still = frames_while_streaming(&[("MEDRGB_REDUCED_MOTION", "1")]);
    // Two a second, and one more at each end.
    assert!((1..=6).contains(&still), "{still} frames");
    assert!(
        moving > 2 * still,
        "{moving} frames, {still} with reduced motion"
    );
}
