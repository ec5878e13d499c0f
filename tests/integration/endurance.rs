//! The real program under what terminals do to programs: storms of sizes, large pastes, lost focus, suspending, other
//! kinds of terminals, multiplexers.

#![cfg(unix)]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::pty::{Session, kill};

/// Waits until the process is stopped (or no longer is); without /proc a while is all that can be waited.
fn wait_stopped(session: &Session, wanted: bool) {
    let file = format!("/proc/{}/stat", session.process());
    if !Path::new(&file).exists() {
        eprintln!("there is no /proc: whether the program stops is not seen");
        return std::thread::sleep(Duration::from_secs(2));
    }
    let start = Instant::now();
    loop {
        let stopped = std::fs::read_to_string(&file).is_ok_and(|stat| stat.contains(") T "));
        if stopped == wanted {
            return;
        }
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "stopped: {stopped}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_storm_of_sizes_on_every_screen() {
    let mut session = Session::start(120, 40, &[]);
    session.wait_for("questions");
    for (keys, wanted) in [
        ("W", "plan a new sweep"),
        ("\r", "Plan of a new sweep"),
        ("qqC", "Choose two runs"),
        ("qt", "Find text"),
        ("\x1b", "enter opens it"),
        ("\r", "Sufficiency"),
        ("ssP", "leave each document out"),
        ("V", "open in your pager"),
    ] {
        session.press(keys);
        session.wait_for(wanted);
        for round in 0u16..25 {
            let (columns, rows) =
                [(1, 1), (40, 12), (200, 60), (20, 70), (333, 5), (80, 24)][usize::from(round % 6)];
            session.resize(columns, rows);
        }
        session.resize(120, 40);
        session.wait_for(wanted);
    }
    session.press("\x03");
    assert!(session.wait_for_end().success());
    session.check_restored();
}

#[test]
fn a_megabyte_is_pasted() {
    let mut session = Session::start(120, 40, &[]);
    session.wait_for("questions");
    // Where nothing is typed a paste does nothing: its letters are no keys.
    session.press("\x1b[200~qqqq\x03\x1b[201~");
    session.press("/");
    session.wait_for("type to filter");
    let words = "zqxj \u{1b}]0;PWNED\u{7} qqzz and a line\r\n".repeat(40_000);
    assert!(words.len() > 1_000_000);
    let start = Instant::now();
    session.press("\x1b[200~");
    for piece in words.as_bytes().chunks(1 << 16) {
        session.press(&String::from_utf8_lossy(piece));
    }
    session.press("\x1b[201~");
    session.wait_for("No question matches");
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "{:?}",
        start.elapsed()
    );
    session.press("\x1b");
    session.wait_for("enter opens it");
    session.press("q");
    session.wait_for("q again quits");
    session.press("q");
    assert!(session.wait_for_end().success());
    assert!(!String::from_utf8_lossy(&session.raw()).contains("PWNED"));
}

#[test]
fn focus_comes_and_goes() {
    let mut session = Session::start(120, 40, &[]);
    session.wait_for("questions");
    session.press("\x1b[O\x1b[I\x1b[O");
    session.press("\r");
    session.wait_for("Sufficiency");
    session.press("\x1b[I");
    session.press("[");
    session.wait_for("p 40 %");
    session.press("\x03");
    assert!(session.wait_for_end().success());
    session.check_restored();
}

#[test]
fn suspended_it_gives_the_terminal_back_and_goes_on_where_it_was() {
    for keys in ["\r", "W", "C", "t", "\rP"] {
        let mut session = Session::start(120, 40, &[]);
        session.wait_for("questions");
        session.press(keys);
        std::thread::sleep(Duration::from_millis(300));
        session.press("\x1a");
        wait_stopped(&session, true);
        session.check_restored();
        session.resize(100, 30);
        kill(&session, "-CONT");
        wait_stopped(&session, false);
        let start = Instant::now();
        // A frame of ours, not what the terminal itself wrote of the key.
        while !session.text().contains(['┏', '┌']) {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "nothing is drawn after {keys:?}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        session.press("\x03");
        assert!(session.wait_for_end().success(), "after {keys:?}");
        session.check_restored();
    }
}

/// What `kill -STOP` or a debugger does: the program is not asked, and the shell sets the terminal as it likes it.
#[test]
fn stopped_without_being_asked_it_takes_the_terminal_again() {
    let mut session = Session::start(120, 40, &[]);
    let terminal = format!("/proc/{}/fd/0", session.process());
    let stty = |arguments: &[&str]| {
        let ran = Command::new("stty")
            .arg("-F")
            .arg(&terminal)
            .args(arguments)
            .output();
        ran.ok()
            .map(|ran| String::from_utf8_lossy(&ran.stdout).into_owned())
    };
    session.wait_for("questions");
    let Some(before) = stty(&["-a"]).filter(|said| said.contains("-icanon")) else {
        return eprintln!("SKIPPED: there is no stty that says how the terminal is set");
    };
    kill(&session, "-STOP");
    wait_stopped(&session, true);
    stty(&["sane"]);
    assert!(!stty(&["-a"]).unwrap().contains("-icanon"));
    kill(&session, "-CONT");
    let start = Instant::now();
    while stty(&["-a"]).unwrap() != before {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "the terminal is not raw again"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    session.press("\r");
    session.wait_for("Sufficiency");
    session.press("\x03");
    assert!(session.wait_for_end().success());
    session.check_restored();
}

#[test]
fn a_hang_up_on_the_newer_screens_ends_it_quietly() {
    for keys in ["W", "C", "t", "\rP", "V"] {
        let mut session = Session::start(80, 24, &[]);
        session.wait_for("questions");
        session.press(keys);
        kill(&session, "-HUP");
        assert!(session.wait_for_end().success(), "after {keys:?}");
        session.check_restored();
    }
}

#[test]
fn terminals_of_all_kinds_are_drawn_on() {
    for kind in [
        "vt100",
        "linux",
        "screen",
        "screen-256color",
        "tmux-256color",
        "xterm",
        "xterm-kitty",
        "nonsense",
    ] {
        let home = tempfile::tempdir().unwrap();
        let mut session = Session::start_with(home, kind, (80, 24), &[], &[("COLORTERM", "")]);
        session.wait_for("questions");
        let raw = String::from_utf8_lossy(&session.raw()).into_owned();
        // Some say by their name that they have all colours, since over SSH COLORTERM is lost.
        assert_eq!(
            raw.contains("\x1b[38;2;"),
            kind == "xterm-kitty",
            "colours of {kind}"
        );
        session.press("\r");
        session.wait_for("Sufficiency");
        session.press("\x03");
        assert!(session.wait_for_end().success(), "{kind}");
        session.check_restored();
    }
}

/// Runs the explorer inside a terminal multiplexer, and gives what its window shows.
fn inside_tmux(keys: &[&str], size: (u16, u16), wanted: &str) -> Option<String> {
    let home = tempfile::tempdir().unwrap();
    let socket = home.path().join("socket");
    let tmux = |arguments: &[&str]| {
        std::process::Command::new("tmux")
            .arg("-uS")
            .arg(&socket)
            .args(arguments)
            .env("HOME", home.path())
            .env_remove("TMUX")
            .output()
    };
    let program = env!("CARGO_BIN_EXE_medrgb");
    let run = format!("MEDRGB_HOME='{}' '{program}'", home.path().display());
    let (columns, rows) = (size.0.to_string(), size.1.to_string());
    let started = tmux(&[
        "-f",
        "/dev/null",
        "new-session",
        "-d",
        "-x",
        &columns,
        "-y",
        &rows,
        &run,
    ]);
    if !started.is_ok_and(|output| output.status.success()) {
        eprintln!("tmux is not here: nothing is tested inside it");
        return None;
    }
    let screen =
        || String::from_utf8_lossy(&tmux(&["capture-pane", "-p"]).unwrap().stdout).into_owned();
    let wait = |wanted: &str| {
        let start = Instant::now();
        while !screen().contains(wanted) {
            if start.elapsed() > Duration::from_secs(60) {
                let shown = screen();
                let _ = tmux(&["kill-server"]);
                panic!("no {wanted} on:\n{shown}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    wait("questions");
    for key in keys {
        tmux(&["send-keys", key]).unwrap();
        std::thread::sleep(Duration::from_millis(200));
    }
    wait(wanted);
    let shown = screen();
    let _ = tmux(&["kill-server"]);
    Some(shown)
}

#[test]
fn inside_tmux_it_draws_and_copies() {
    if let Some(shown) = inside_tmux(&["Enter", "s", "s", "y", "d"], (120, 40), "copied document") {
        assert!(
            shown.contains("Robustness") && shown.contains('▲'),
            "{shown}"
        );
    }
    if let Some(shown) = inside_tmux(&["W"], (40, 12), "plan a new sweep") {
        assert!(
            shown.lines().all(|row| row.chars().count() <= 40),
            "{shown}"
        );
    }
}
