//! The real program in a pseudo-terminal.

use std::io::{Read, Write};
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use medrgb::data::store::{FILE_NAME, ReplyRecord, Store};
use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

use crate::sse_server::{Script, Server};

/// The longest that anything on screen may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

pub(crate) struct Session {
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    screen: Arc<Mutex<vt100::Parser>>,
    /// Every byte that was written to the terminal.
    raw: Arc<Mutex<Vec<u8>>>,
    /// Tells the reading thread to let go of the terminal at the next output.
    let_go: Arc<AtomicBool>,
    pub home: tempfile::TempDir,
}

fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap()
}

impl Session {
    pub fn start(columns: u16, rows: u16, arguments: &[&str]) -> Session {
        Session::start_on("xterm-256color", columns, rows, arguments)
    }

    /// As [`Session::start`] on a terminal of this kind.
    fn start_on(kind: &str, columns: u16, rows: u16, arguments: &[&str]) -> Session {
        let home = tempfile::tempdir().unwrap();
        Session::start_at(home, kind, (columns, rows), arguments)
    }

    /// As [`Session::start_on`] with this home folder, which a session before may have left.
    pub(crate) fn start_at(
        home: tempfile::TempDir,
        kind: &str,
        size: (u16, u16),
        arguments: &[&str],
    ) -> Session {
        Session::start_with(home, kind, size, arguments, &[])
    }

    /// As [`Session::start_at`] with these variables besides.
    pub(crate) fn start_with(
        home: tempfile::TempDir,
        kind: &str,
        (columns, rows): (u16, u16),
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Session {
        let size = PtySize {
            rows,
            cols: columns,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_medrgb"));
        command.args(arguments);
        command.env("TERM", kind);
        command.env("HOME", home.path());
        for (name, folder) in [
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_STATE_HOME", "state"),
        ] {
            command.env(name, home.path().join(folder));
        }
        // What the machine that runs the tests has set must not matter.
        for name in [
            "PAGER", "VISUAL", "EDITOR", "TMUX", "STY", "LESS", "NO_COLOR",
        ] {
            command.env_remove(name);
        }
        for (name, value) in variables {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(
            cells(rows),
            cells(columns),
            0,
        )));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let parser = Arc::clone(&screen);
        let let_go = Arc::new(AtomicBool::new(false));
        let leave = Arc::clone(&let_go);
        let raw = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&raw);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                all.lock().unwrap().extend_from_slice(&bytes[..count]);
                parser.lock().unwrap().process(&bytes[..count]);
                if leave.load(Ordering::SeqCst) {
                    break;
                }
            }
        });
        Session {
            keys: pair.master.take_writer().unwrap(),
            master: pair.master,
            child,
            screen,
            raw,
            let_go,
            home,
        }
    }

    /// Every byte that was written to the terminal so far.
    pub(crate) fn raw(&self) -> Vec<u8> {
        self.raw.lock().unwrap().clone()
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let mut screen = self.screen.lock().unwrap();
        screen.screen_mut().set_size(cells(rows), cells(columns));
        drop(screen);
        let size = PtySize {
            rows,
            cols: columns,
            pixel_width: 0,
            pixel_height: 0,
        };
        self.master.resize(size).unwrap();
    }

    /// The program's process.
    #[cfg(unix)]
    pub(crate) fn process(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// The background colour of a cell.
    pub(crate) fn background(&self, row: u16, column: u16) -> vt100::Color {
        let screen = self.screen.lock().unwrap();
        screen.screen().cell(row, column).unwrap().bgcolor()
    }

    pub(crate) fn text(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    pub(crate) fn wait_for(&self, wanted: &str) {
        let start = Instant::now();
        while !self.text().contains(wanted) {
            assert!(
                start.elapsed() < PATIENCE,
                "\"{wanted}\" did not appear on:\n{}",
                self.text()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn wait_without(&self, unwanted: &str) {
        let start = Instant::now();
        while self.text().contains(unwanted) {
            assert!(
                start.elapsed() < PATIENCE,
                "\"{unwanted}\" stayed on:\n{}",
                self.text()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    pub(crate) fn wait_for_end(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            if start.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                panic!("the program did not end; screen:\n{}", self.text());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Its home folder.
    pub(crate) fn home_folder(&self) -> &std::path::Path {
        self.home.path()
    }

    /// Ends the program as nothing can be caught (SIGKILL) and gives its home folder.
    pub(crate) fn kill(mut self) -> tempfile::TempDir {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.home
    }

    /// Closes the terminal under the program, which must be writing to it, and waits for its end.
    #[cfg(unix)]
    fn hang_up(self) -> (ExitStatus, tempfile::TempDir) {
        self.let_go.store(true, Ordering::SeqCst);
        let Session {
            master,
            keys,
            mut child,
            home,
            ..
        } = self;
        drop(keys);
        drop(master);
        let start = Instant::now();
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return (status, home);
            }
            if start.elapsed() > PATIENCE {
                child.kill().unwrap();
                panic!("the program outlived its terminal");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the terminal is as it was before the program.
    pub fn check_restored(&self) {
        let start = Instant::now();
        loop {
            let restored = {
                let parser = self.screen.lock().unwrap();
                let screen = parser.screen();
                !screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste()
            };
            if restored {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "the terminal was not restored");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_first_visit() {
    let mut session = Session::start(120, 40, &[]);
    session.wait_for("questions");
    session.press("\r");
    session.wait_for("Sufficiency");
    session.wait_for("p 60 %");
    session.press("[");
    session.wait_for("p 40 %");
    session.press("?");
    session.wait_for("Keys of the instance screen");
    session.press("\x1b");
    // Only then: escape and a letter that come together are one key, Alt with the letter.
    session.wait_without("Keys of the instance screen");
    session.press("q");
    session.wait_for("enter opens it");
    session.press("q");
    session.wait_for("q again quits");
    session.press("q");
    let status = session.wait_for_end();
    assert!(status.success(), "{status:?}");
    session.check_restored();
}

#[test]
fn the_demo_plays_by_itself_and_can_be_left() {
    let mut session = Session::start(120, 40, &["--demo"]);
    session.wait_for("A question as a medical benchmark asks it");
    session.wait_for("1/13");
    session.press("  ");
    session.wait_for("3/13");
    session.wait_for("p 40 %");
    session.press("a ");
    session.wait_for("4/13");
    // The recording is played: no model, no network, and the screen says so.
    session.wait_for("replay of ");
    for _ in 0..4 {
        session.press("+");
    }
    session.wait_for("×64");
    session.wait_for("space: next");
    session.press(" ");
    session.wait_for("noise detection");
    session.press("\x1b");
    session.wait_for("T goes on with it");
    session.press("T");
    session.wait_for("5/13");
    session.press("\x03");
    assert!(session.wait_for_end().success());
    session.check_restored();
    assert!(
        !session.home.path().join("data").exists(),
        "nothing is stored"
    );
}

#[test]
fn a_tiny_terminal_does_no_harm() {
    let mut session = Session::start(1, 1, &[]);
    std::thread::sleep(Duration::from_millis(500));
    assert!(session.child.try_wait().unwrap().is_none(), "it ended");
    session.resize(80, 24);
    session.wait_for("questions");
    session.press("\x03");
    assert!(session.wait_for_end().success());
    session.check_restored();
}

#[cfg(unix)]
pub(crate) fn kill(session: &Session, signal: &str) {
    let pid = session.process().to_string();
    let killed = std::process::Command::new("kill")
        .args([signal, &pid])
        .status()
        .unwrap();
    assert!(killed.success());
}

#[cfg(unix)]
#[test]
fn signals_restore_the_terminal() {
    for signal in ["-TERM", "-QUIT", "-HUP", "-USR1"] {
        let mut session = Session::start(80, 24, &[]);
        session.wait_for("questions");
        kill(&session, signal);
        let status = session.wait_for_end();
        assert!(status.success(), "{signal}: {status:?}");
        session.check_restored();
    }
}

#[cfg(unix)]
#[test]
fn a_dead_terminal_ends_the_program_quietly() {
    for keys in ["j", "\r", "\rr"] {
        let mut session = Session::start(80, 24, &[]);
        session.wait_for("questions");
        session.press(keys);
        let (status, _) = session.hang_up();
        assert!(status.success(), "{keys:?}: {status:?}");
    }
}

/// A server whose reply never ends, and the explorer receiving it.
fn streaming() -> (Session, Server) {
    let script = Script::stream()
        .text("{\"relevant_doc_id\": [\"DOC_1\"], \"step_by_step_thinking\": \"It ")
        .drip("goes on ", 20);
    let server = Server::start(vec![script]);
    let url = server.base_url();
    let model = ["--model", "openai:served", "--base-url", &url];
    let mut session = Session::start(120, 40, &model);
    session.wait_for("questions");
    session.press("\r");
    session.wait_for("Sufficiency");
    session.press("a");
    session.wait_for("goes on");
    (session, server)
}

/// The replies that a session has stored.
fn stored(home: &std::path::Path) -> Vec<ReplyRecord> {
    let file = home.join("data/medrgb").join(FILE_NAME);
    Store::open(&file)
        .unwrap()
        .replies_of_run("explorer")
        .unwrap()
}

#[cfg(unix)]
#[test]
fn what_has_come_is_kept_when_the_terminal_goes() {
    for _ in 0..3 {
        let (session, _server) = streaming();
        let (status, home) = session.hang_up();
        assert!(status.success(), "{status:?}");
        let kept = stored(home.path());
        assert_eq!(kept.len(), 1);
        assert!(kept[0].raw.contains("goes on"), "{}", kept[0].raw);
    }
}

#[test]
fn leaving_gives_the_terminal_back_and_keeps_what_has_come() {
    let (mut session, _server) = streaming();
    session.press("q");
    session.wait_for("enter opens it");
    session.press("q");
    session.wait_for("q again quits");
    session.press("q");
    assert!(session.wait_for_end().success());
    session.check_restored();
    // A terminal without a second screen keeps nothing that looks like a running program.
    let raw = String::from_utf8_lossy(&session.raw()).into_owned();
    let (_, last) = raw.rsplit_once("\u{1b}[2J").expect("the screen is cleared");
    assert!(last.starts_with("\u{1b}[1;1H\u{1b}[?1049l"), "{last:?}");
    assert_eq!(stored(session.home.path()).len(), 1);
}

#[test]
fn a_terminal_without_screens_is_refused_in_a_sentence() {
    for kind in ["dumb", ""] {
        let mut session = Session::start_on(kind, 80, 24, &[]);
        assert_eq!(session.wait_for_end().exit_code(), 1);
        session.wait_for("can't be shown on a terminal of the kind");
        session.check_restored();
    }
}

#[test]
fn a_missing_dataset_is_said_with_the_way_out() {
    let mut session = Session::start(80, 24, &["/nonexistent/dataset"]);
    session.wait_for("can't be opened");
    session.press("q");
    // It failed, and the sentence is said once more where it stays readable.
    assert_eq!(session.wait_for_end().exit_code(), 1);
    session.check_restored();
    session.wait_for("medrgb: ");
}
