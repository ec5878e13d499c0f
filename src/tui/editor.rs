//! Programs of the user's that show or change a text: `$PAGER` and `$EDITOR`.
//!
//! The door: `update` gives [`Effect::OpenOutside`](crate::tui::effects::Effect::OpenOutside) with an [`Outside`],
//! and what came of it comes back as [`Message::CameBack`](crate::tui::message::Message::CameBack) with the same
//! [`Purpose`]. Meanwhile the terminal is the program's: the loop draws nothing and reads no keys, while jobs go on.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::domain::annotation::{LONGEST_NOTE, Part};
use crate::domain::text::{clean, short};

/// What kind of program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// Shows a text: `$PAGER`.
    Pager,
    /// Changes a text: `$VISUAL` or `$EDITOR`.
    Editor,
}

/// What a text was given away for, so that what comes back finds its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// To be read: nothing comes back.
    Read,
    /// The note on a reply.
    Note {
        /// Its run.
        run: String,
        /// In which part the note is written.
        part: Part,
        /// The reply.
        reply: String,
    },
    /// An item of a benchmark under review.
    Item {
        /// Its id.
        item: String,
    },
}

/// A text for a program of the user's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outside {
    /// What kind of program.
    pub program: Program,
    /// The text; it is cleaned of control sequences on the way out and on the way back.
    pub text: String,
    /// Name of the private file, such as `note.txt`: editors choose colours by its ending.
    pub file: &'static str,
    /// What for.
    pub purpose: Purpose,
}

/// The largest text that is taken back, in bytes.
const LARGEST: u64 = LONGEST_NOTE as u64;

/// A pager that ends sooner than this has shown nothing that stays, as `cat` or `less -F` do.
const QUICK: Duration = Duration::from_millis(400);

/// How long a program may take to end when medrgb itself must.
const FAREWELL: Duration = Duration::from_secs(1);

/// Exit statuses by which a shell says that a program is missing, or is none.
const MISSING: [i32; 2] = [126, 127];

/// What the user's environment says should run.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Choice {
    /// The command with its arguments, as a shell takes it.
    command: String,
    /// Where it comes from, in words.
    origin: &'static str,
}

/// Which program to run; `found` tells whether a program of this name is installed.
fn choose(
    program: Program,
    variable: impl Fn(&str) -> Option<String>,
    found: impl Fn(&str) -> bool,
) -> Result<Choice, String> {
    let (variables, usual): (&[&'static str], &[&'static str]) = match program {
        Program::Pager => (&["PAGER"], &["less", "more"]),
        Program::Editor => (&["VISUAL", "EDITOR"], &["nano", "vim", "vi"]),
    };
    for name in variables.iter().copied() {
        if let Some(command) = variable(name).filter(|value| !value.trim().is_empty()) {
            return Ok(Choice {
                command: command.trim().to_owned(),
                origin: name,
            });
        }
    }
    let usual = usual.iter().copied().find(|name| found(name));
    match (usual, program) {
        (Some(name), _) => Ok(Choice {
            command: name.to_owned(),
            origin: "",
        }),
        (None, Program::Pager) => Err(
            "There is no pager here (less, more): set PAGER to a program that shows text, and start again"
                .to_owned(),
        ),
        (None, Program::Editor) => Err(
            "There is no editor here (nano, vim, vi): set EDITOR to one, such as EDITOR=nano, and start again"
                .to_owned(),
        ),
    }
}

impl Choice {
    /// In words, for messages.
    fn words(&self) -> String {
        let command = short(&self.command);
        match self.origin {
            "" => format!("\"{command}\""),
            origin => format!("\"{command}\" ({origin})"),
        }
    }

    /// Through a shell, as every program does it: the variables hold arguments, quotes and more.
    #[cfg(unix)]
    fn command(&self, file: &Path) -> Command {
        let mut command = Command::new("sh");
        // The program itself, not a shell that waits for it, hears what the loop sends; a command of several parts
        // can't take the shell's place.
        let first = self.command.split_whitespace().next().unwrap_or_default();
        let parts =
            self.command.contains([';', '|', '&', '(', '{', '<', '>']) || first.contains('=');
        let exec = if parts { "" } else { "exec " };
        let script = format!("{exec}{} \"$@\"", self.command);
        command.arg("-c").arg(script).arg("medrgb").arg(file);
        command
    }

    /// Elsewhere the words are taken as they stand.
    #[cfg(not(unix))]
    fn command(&self, file: &Path) -> Command {
        let mut words = self.command.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).arg(file);
        command
    }
}

/// Whether a program of this name lies in a folder of `PATH`.
fn installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// A text that lies in a private file, ready to be opened.
pub(super) struct Prepared {
    outside: Outside,
    choice: Choice,
    folder: TempDir,
    file: PathBuf,
}

impl Prepared {
    /// Writes the text to a private file.
    ///
    /// # Errors
    /// One sentence: there is no such program, or the file can't be written.
    pub(super) fn new(mut outside: Outside) -> Result<Prepared, String> {
        let variable = |name: &str| std::env::var(name).ok();
        let choice = choose(outside.program, variable, installed)?;
        outside.text = clean(&outside.text);
        let (folder, file) = private(&outside.text, outside.file).map_err(|error| {
            let folder = std::env::temp_dir();
            format!(
                "The text can't be given to {}: no file can be written in {} ({error}); set TMPDIR to another folder",
                choice.words(),
                folder.display()
            )
        })?;
        Ok(Prepared {
            outside,
            choice,
            folder,
            file,
        })
    }

    /// Starts the program, which has the terminal from now on.
    ///
    /// # Errors
    /// One sentence: it can't be started.
    pub(super) fn start(self) -> Result<Visit, String> {
        let failed = |why: String| format!("{} can't be started: {why}", self.choice.words());
        let child = self.choice.command(&self.file).spawn();
        let child = child.map_err(|error| failed(error.to_string()))?;
        let (sender, news) = mpsc::channel(8);
        let process = child.id();
        let program = self.outside.program;
        std::thread::Builder::new()
            .name("outside".into())
            .spawn(move || {
                let started = Instant::now();
                let end = wait(child, || {
                    let _ = sender.blocking_send(News::Stopped);
                });
                if program == Program::Pager && end == Ok(0) && started.elapsed() < QUICK {
                    wait_for_enter();
                }
                let _ = sender.blocking_send(News::Ended(end));
            })
            .map_err(|error| failed(error.to_string()))?;
        Ok(Visit {
            prepared: self,
            process,
            news,
        })
    }
}

/// What is heard of a program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
    /// It was stopped, as by Ctrl-Z.
    Stopped,
    /// It ended with this status, or how else.
    Ended(Result<i32, String>),
}

/// A program that has the terminal.
pub(super) struct Visit {
    prepared: Prepared,
    process: u32,
    news: mpsc::Receiver<News>,
}

impl Visit {
    /// What is next heard of it.
    pub(super) async fn news(&mut self) -> News {
        let lost = || News::Ended(Err("nobody knows how it ended".to_owned()));
        self.news.recv().await.unwrap_or_else(lost)
    }

    /// Lets it go on after it was stopped; a shell's `fg` has done so already, but not every shell.
    pub(super) fn go_on(&self) {
        send(self.process, Call::GoOn);
    }

    /// Asks it to end, since medrgb must, and gives it a moment.
    pub(super) async fn dismiss(mut self) {
        send(self.process, Call::End);
        send(self.process, Call::GoOn);
        let ended = async { while self.news().await == News::Stopped {} };
        let _ = tokio::time::timeout(FAREWELL, ended).await;
    }

    /// What came of it: the text where it was changed.
    pub(super) fn finish(
        self,
        end: Result<i32, String>,
    ) -> (Purpose, Result<Option<String>, String>) {
        let Prepared {
            outside,
            choice,
            folder,
            file,
        } = self.prepared;
        let result =
            result_of(&choice, end, outside.program).and_then(|()| match outside.program {
                Program::Pager => Ok(None),
                Program::Editor => {
                    let text = read_back(&file).map_err(|why| {
                        format!("What {} saved is not taken: {why}", choice.words())
                    })?;
                    let same = text.trim_end_matches('\n') == outside.text.trim_end_matches('\n');
                    Ok((!same).then_some(text))
                }
            });
        // Before anything is said: the text should not stay behind, nor what an editor kept beside it.
        drop(folder);
        (outside.purpose, result)
    }
}

/// Whether the program did what it should.
fn result_of(choice: &Choice, end: Result<i32, String>, program: Program) -> Result<(), String> {
    let variable = match program {
        Program::Pager => "PAGER",
        Program::Editor => "EDITOR",
    };
    let unchanged = match program {
        Program::Pager => "",
        Program::Editor => "; nothing was changed",
    };
    match end {
        Ok(0) => Ok(()),
        Ok(status) if MISSING.contains(&status) => Err(format!(
            "{} can't be run here{unchanged}; set {variable} to a program that is installed",
            choice.words()
        )),
        Ok(status) => Err(format!(
            "{} ended with status {status}{unchanged}",
            choice.words()
        )),
        Err(how) => Err(format!("{} {how}{unchanged}", choice.words())),
    }
}

/// The text in a file that only this user can read, in a folder of its own for what editors keep beside it.
fn private(text: &str, name: &str) -> io::Result<(TempDir, PathBuf)> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("medrgb-");
    #[cfg(unix)]
    let only_us = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o700);
    #[cfg(unix)]
    builder.permissions(only_us);
    let folder = builder.tempdir()?;
    let path = folder.path().join(name);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&path)?;
    file.write_all(text.as_bytes())?;
    if !text.is_empty() && !text.ends_with('\n') {
        file.write_all(b"\n")?;
    }
    Ok((folder, path))
}

/// What an editor has saved, cleaned. Editors may have put another file in the place of ours.
fn read_back(path: &Path) -> Result<String, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("it is larger than {} kB", LARGEST >> 10));
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    Ok(clean(&text))
}

/// Keeps what a quick pager has shown on screen until the user has seen it.
fn wait_for_enter() {
    let mut out = io::stdout();
    let _ = write!(out, "\n[medrgb: Enter goes back]");
    let _ = out.flush();
    let _ = io::stdin().read_line(&mut String::new());
}

/// What a program is told.
#[derive(Debug, Clone, Copy)]
enum Call {
    End,
    GoOn,
}

/// Waits for the end of a program; `stopped` is called each time that it stops. An end by a signal is an error, in
/// words that follow its name.
#[cfg(unix)]
#[allow(unsafe_code)]
fn wait(child: Child, stopped: impl Fn()) -> Result<i32, String> {
    let Ok(process) = libc::pid_t::try_from(child.id()) else {
        return Err("has a number that no process has".to_owned());
    };
    loop {
        let mut status = 0;
        // SAFETY: a child of ours that nobody else waits for; the status lies on our stack.
        let of = unsafe { libc::waitpid(process, &raw mut status, libc::WUNTRACED) };
        if of < 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Err(format!("can't be waited for: {error}"));
        }
        if libc::WIFSTOPPED(status) {
            stopped();
        } else if libc::WIFEXITED(status) {
            return Ok(libc::WEXITSTATUS(status));
        } else if libc::WIFSIGNALED(status) {
            return Err(format!("was ended by signal {}", libc::WTERMSIG(status)));
        }
    }
}

/// Elsewhere nothing is stopped.
#[cfg(not(unix))]
fn wait(mut child: Child, _: impl Fn()) -> Result<i32, String> {
    match child.wait() {
        Ok(status) => status.code().ok_or_else(|| "was ended".to_owned()),
        Err(error) => Err(format!("can't be waited for: {error}")),
    }
}

#[cfg(unix)]
#[allow(unsafe_code)]
fn send(process: u32, call: Call) {
    let signal = match call {
        Call::End => libc::SIGTERM,
        Call::GoOn => libc::SIGCONT,
    };
    if let Ok(process) = libc::pid_t::try_from(process) {
        // SAFETY: kill has no memory preconditions; the child's end may be known already, and then the number is
        // free, which the loop rules out by dropping a visit whose end it has heard of.
        unsafe {
            libc::kill(process, signal);
        }
    }
}

#[cfg(not(unix))]
fn send(_: u32, _: Call) {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn chosen(
        program: Program,
        set: &[(&str, &str)],
        installed: &[&str],
    ) -> Result<Choice, String> {
        let variable = |name: &str| {
            let found = set.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        choose(program, variable, |name| installed.contains(&name))
    }

    #[test]
    fn the_environment_chooses_and_the_usual_programs_stand_in() {
        let visual = [("VISUAL", " code --wait "), ("EDITOR", "ed")];
        let choice = chosen(Program::Editor, &visual, &[]).unwrap();
        assert_eq!(choice.words(), "\"code --wait\" (VISUAL)");
        let choice = chosen(Program::Editor, &[("VISUAL", " ")], &["vi"]).unwrap();
        assert_eq!(choice.words(), "\"vi\"");
        assert_eq!(
            chosen(Program::Pager, &[], &["more", "less"])
                .unwrap()
                .command,
            "less"
        );
        assert!(
            chosen(Program::Pager, &[], &[])
                .unwrap_err()
                .contains("set PAGER")
        );
        assert!(
            chosen(Program::Editor, &[], &["less"])
                .unwrap_err()
                .contains("set EDITOR")
        );
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_private_and_goes_with_its_folder() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, file) = private("a\nb", "note.txt").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(folder.path())), (0o600, 0o700));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "a\nb\n");
        std::fs::write(folder.path().join("note.txt~"), "kept").unwrap();
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn what_comes_back_is_cleaned_and_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("note.txt");
        std::fs::write(&file, "a\u{1b}[31mb\r\nc").unwrap();
        assert_eq!(read_back(&file).unwrap(), "ab\nc");
        std::fs::write(&file, [0xff, 0xfe]).unwrap();
        assert!(read_back(&file).unwrap_err().contains("UTF-8"));
        std::fs::write(&file, vec![b'x'; (LARGEST + 1) as usize]).unwrap();
        assert!(read_back(&file).unwrap_err().contains("1024 kB"));
        assert!(read_back(&folder.path().join("gone")).is_err());
    }

    /// Runs a program of this command on a text, to its end.
    #[cfg(unix)]
    fn ran(command: &str, program: Program, text: &str) -> Result<Option<String>, String> {
        let (folder, file) = private(text, "note.txt").unwrap();
        let left = folder.path().to_owned();
        let prepared = Prepared {
            outside: Outside {
                program,
                text: text.to_owned(),
                file: "note.txt",
                purpose: Purpose::Read,
            },
            choice: Choice {
                command: command.to_owned(),
                origin: "EDITOR",
            },
            folder,
            file,
        };
        let mut visit = prepared.start()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let News::Ended(end) = runtime.block_on(visit.news()) else {
            unreachable!("nothing stops it")
        };
        let (_, result) = visit.finish(end);
        assert!(!left.exists(), "the file stayed behind");
        result
    }

    #[cfg(unix)]
    #[test]
    fn an_editor_changes_the_text_or_leaves_it() {
        let run = |command: &str| ran(command, Program::Editor, "old words");
        assert_eq!(run("true"), Ok(None));
        // Arguments and quotes are the shell's, as they are for git.
        assert_eq!(
            run("sed -i -e 's/old/new words and/'"),
            Ok(Some("new words and words\n".to_owned()))
        );
        let renames = "f() { printf 'b' >\"$1.new\"; mv \"$1.new\" \"$1\"; }; f";
        assert_eq!(run(renames), Ok(Some("b".to_owned())));
    }

    #[cfg(unix)]
    #[test]
    fn failures_are_one_sentence_and_change_nothing() {
        let why = |command: &str| ran(command, Program::Editor, "a").unwrap_err();
        assert_eq!(
            why("false"),
            "\"false\" (EDITOR) ended with status 1; nothing was changed"
        );
        let missing = why("no-such-editor-here --wait");
        assert!(missing.contains("can't be run here"), "{missing}");
        let killed = why("f() { kill -9 $$; }; f");
        assert!(killed.contains("was ended by signal 9"), "{killed}");
        let gone = why("rm");
        assert!(gone.contains("is not taken"), "{gone}");
    }
}
