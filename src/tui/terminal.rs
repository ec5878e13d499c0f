//! The terminal: entered once, restored after every end (quit, panic, signal, suspend).

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use base64::Engine as _;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::style::ResetColor;
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use crate::domain::text::short;
use crate::tui::TuiError;
use crate::tui::theme::ColorDepth;

pub mod background;

/// Whether the terminal is in our hands and must be given back.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// The terminal in our hands; given back when dropped.
pub struct Screen {
    /// Never dropped: where the terminal is gone, ratatui's own end prints to standard error, and that panics
    /// where standard error went with it.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<Stdout>>>>,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// [`TuiError`] where there is none or it can't be set up.
    pub fn enter(mouse: bool) -> Result<Screen, TuiError> {
        if !io::stdin().is_terminal() {
            return Err(TuiError::NotATerminal("input"));
        }
        if !io::stdout().is_terminal() {
            return Err(TuiError::NotATerminal("output"));
        }
        if let Some(kind) = without_screens(|name| std::env::var(name).ok()) {
            return Err(TuiError::NoScreens(kind));
        }
        restore_on_panic();
        let backend = CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stdout()));
        match take(mouse).and_then(|()| Terminal::new(backend)) {
            Ok(terminal) => Ok(Screen {
                terminal: ManuallyDrop::new(terminal),
            }),
            Err(error) => {
                give_back();
                Err(error.into())
            }
        }
    }

    /// Gives the terminal back before the end; nothing may be drawn afterwards.
    pub fn leave(&mut self) {
        give_back();
    }

    /// Columns and rows.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        self.terminal.size().map(|size| (size.width, size.height))
    }

    /// Draws a frame as one write, so that it never shows half.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub fn draw(&mut self, draw: impl FnOnce(&mut ratatui::buffer::Buffer)) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        self.terminal.draw(|frame| draw(frame.buffer_mut()))?;
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)
    }

    /// Forgets what is on screen, so that the next frame draws everything.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub fn forget(&mut self) -> io::Result<()> {
        // Not `clear`, which asks the terminal for its cursor while input is being read elsewhere.
        let size = self.terminal.size()?;
        self.terminal.resize(size.into())
    }

    /// Asks the terminal for its background, where it can be asked; the answer comes with what is typed. Gives the
    /// time of the question.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub fn ask_background(&mut self) -> io::Result<Option<Instant>> {
        if !background::can_be_asked(|name| std::env::var(name).ok()) {
            return Ok(None);
        }
        let backend = self.terminal.backend_mut();
        backend.write_all(background::QUESTION)?;
        backend.flush()?;
        Ok(Some(Instant::now()))
    }

    /// Captures the mouse or lets it go.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub fn mouse(&mut self, on: bool) -> io::Result<()> {
        if on {
            execute!(self.terminal.backend_mut(), EnableMouseCapture)
        } else {
            execute!(self.terminal.backend_mut(), DisableMouseCapture)
        }
    }

    /// Puts text into the clipboard of the terminal (OSC 52), also over SSH.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        let sequence = clipboard(text, |name| std::env::var(name).ok());
        let backend = self.terminal.backend_mut();
        backend.write_all(sequence.as_bytes())?;
        backend.flush()
    }

    /// Gives the terminal to another program, until [`Screen::retake`].
    pub fn lend(&mut self) {
        give_back();
    }

    /// Takes the terminal again after another program had it.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub fn retake(&mut self, mouse: bool) -> io::Result<()> {
        take(mouse)?;
        self.forget()
    }

    /// Sets the terminal up anew after a stop that could not be caught: the shell had it meanwhile.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub fn resume(&mut self, mouse: bool) -> io::Result<()> {
        // As long as it counts as raw, it is not made raw.
        disable_raw_mode()?;
        self.retake(mouse)
    }

    /// Stops the program as a shell expects it, and takes the terminal again when it goes on.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub fn suspend(&mut self, mouse: bool) -> io::Result<()> {
        give_back();
        stop_process_group();
        self.retake(mouse)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn take(mouse: bool) -> io::Result<()> {
    // NO_COLOR would make crossterm write resets that cancel bold and reverse; the mono theme has no
    // colours anyway.
    crossterm::style::force_color_output(true);
    enable_raw_mode()?;
    ENTERED.store(true, Ordering::SeqCst);
    let mut out = io::stdout();
    execute!(
        out,
        EnterAlternateScreen,
        EnableBracketedPaste,
        cursor::Hide
    )?;
    if mouse {
        execute!(out, EnableMouseCapture)?;
    }
    Ok(())
}

/// Gives the terminal back as it was; does nothing where it is not in our hands. Failures are ignored:
/// the terminal may be gone.
fn give_back() {
    if !ENTERED.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    // GNU screen has no second screen by itself: what stood there last would stay, as if the program still ran.
    let _ = execute!(
        out,
        EndSynchronizedUpdate,
        DisableMouseCapture,
        DisableBracketedPaste,
        ResetColor,
        Clear(ClearType::All),
        cursor::MoveTo(0, 0),
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = disable_raw_mode();
}

/// A panic of the interface's thread gives the terminal back before its message is printed; one on
/// another thread is only logged, since the interface goes on.
fn restore_on_panic() {
    let interface = std::thread::current().id();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == interface {
            give_back();
            before(info);
        } else if ENTERED.load(Ordering::SeqCst) {
            tracing::error!("panic on another thread: {info}");
        } else {
            before(info);
        }
    }));
}

/// The kind of a terminal (`TERM`) that can't move its cursor, as far as it says so.
#[cfg(unix)]
fn without_screens(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let kind = variable("TERM").unwrap_or_default();
    matches!(kind.trim(), "" | "dumb" | "unknown").then(|| kind.trim().to_owned())
}

/// Elsewhere consoles have no `TERM`, and all of them can.
#[cfg(not(unix))]
fn without_screens(_: impl Fn(&str) -> Option<String>) -> Option<String> {
    None
}

/// Bytes of a string that GNU screen passes on at a time.
const SCREEN_PIECE: usize = 512;

/// What makes the terminal take a text into its clipboard (OSC 52). Inside tmux and GNU screen it is also sent past
/// them to the terminal around: tmux takes the plain one with `set-clipboard on` and passes the other on with
/// `allow-passthrough on`; screen knows only the latter.
fn clipboard(text: &str, variable: impl Fn(&str) -> Option<String>) -> String {
    let inside = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    let encoded = base64::engine::general_purpose::STANDARD.encode(text);
    let plain = format!("\x1b]52;c;{encoded}\x07");
    if inside("TMUX") {
        let doubled = plain.replace('\x1b', "\x1b\x1b");
        format!("{plain}\x1bPtmux;{doubled}\x1b\\")
    } else if inside("STY") {
        // All of it is ASCII, so that any byte is a place to cut at.
        let pieces = plain.as_bytes().chunks(SCREEN_PIECE);
        pieces
            .map(|piece| format!("\x1bP{}\x1b\\", String::from_utf8_lossy(piece)))
            .collect()
    } else {
        plain
    }
}

/// The variable with which a person overrules what the terminal says of its colours.
const COLORS: &str = "MEDRGB_COLORS";

/// Terminals with all colours, by a part of their `TERM`: over SSH `COLORTERM` is lost.
const ALL_COLORS: [&str; 7] = [
    "-direct",
    "kitty",
    "alacritty",
    "foot",
    "ghostty",
    "wezterm",
    "contour",
];

/// How many colours this terminal shows, from the environment.
pub fn color_depth(variable: impl Fn(&str) -> Option<String>) -> ColorDepth {
    let value = |name: &str| variable(name).unwrap_or_default().to_ascii_lowercase();
    match value(COLORS).as_str() {
        "none" | "0" => return ColorDepth::None,
        "16" => return ColorDepth::Sixteen,
        "256" => return ColorDepth::Cube,
        "truecolor" | "24bit" => return ColorDepth::True,
        _ => {}
    }
    let (term, colorterm) = (value("TERM"), value("COLORTERM"));
    if !value("NO_COLOR").is_empty() || term == "dumb" {
        ColorDepth::None
    } else if matches!(colorterm.as_str(), "truecolor" | "24bit")
        || ALL_COLORS.iter().any(|part| term.contains(part))
    {
        ColorDepth::True
    } else if term.contains("256color") {
        ColorDepth::Cube
    } else {
        ColorDepth::Sixteen
    }
}

/// What is wrong with the wish for a number of colours, if anything is.
pub fn wrong_colors(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let value = variable(COLORS).filter(|value| !value.is_empty())?;
    let known = ["none", "0", "16", "256", "truecolor", "24bit"];
    (!known.contains(&value.to_ascii_lowercase().as_str())).then(|| {
        format!(
            "environment variable {COLORS} must be none, 16, 256 or truecolor, but is \"{}\"; using what the terminal says",
            short(&value)
        )
    })
}

/// Whether braille patterns can be drawn: not on the Linux console, whose fonts have none, and not where the
/// locale says that text is not UTF-8.
pub fn has_braille(variable: impl Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(&variable)
        .find(|value| !value.is_empty())
        .map(|value| value.to_ascii_lowercase());
    let utf8 = locale.is_none_or(|locale| locale.contains("utf-8") || locale.contains("utf8"));
    utf8 && variable("TERM").as_deref() != Some("linux")
}

/// Stops this program and those beside it, until the shell lets them go on.
#[cfg(unix)]
#[allow(unsafe_code)]
pub fn stop_process_group() {
    // SAFETY: kill has no memory preconditions; 0 is our own process group, as the shell's Ctrl-Z does.
    unsafe {
        libc::kill(0, libc::SIGSTOP);
    }
}

/// Elsewhere nothing is stopped.
#[cfg(not(unix))]
pub fn stop_process_group() {}

/// How long the loop has to end by itself after the terminal has hung up: longer than it waits for a reply to
/// be stored.
#[cfg(unix)]
const LAST_RESORT: std::time::Duration = std::time::Duration::from_secs(4);

/// Waits until the terminal has hung up, at most so many milliseconds (-1: for ever).
#[cfg(unix)]
#[allow(unsafe_code)]
fn hung_up(milliseconds: i32) -> bool {
    loop {
        let mut entry = libc::pollfd {
            fd: libc::STDOUT_FILENO,
            events: 0,
            revents: 0,
        };
        // SAFETY: one valid pollfd on our stack; with no events asked for, poll returns on hang-up, error or
        // the end of its time only.
        let count = unsafe { libc::poll(&raw mut entry, 1, milliseconds) };
        if count >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return count != 0;
        }
    }
}

/// Whether the terminal is gone, so that there is nobody to tell.
#[cfg(unix)]
pub fn is_gone() -> bool {
    hung_up(0)
}

/// Elsewhere nobody can know.
#[cfg(not(unix))]
pub fn is_gone() -> bool {
    false
}

/// Calls `gone` once the terminal has hung up, and ends the process if that does not. Waits in the kernel on
/// a thread of its own: no polling.
#[cfg(unix)]
#[allow(unsafe_code)]
pub fn watch(gone: impl FnOnce() + Send + 'static) {
    let watching = std::thread::Builder::new().name("terminal watch".into());
    let _ = watching.spawn(move || {
        hung_up(-1);
        gone();
        // crossterm can read a terminal that is gone for ever inside one poll, so the loop may never hear of
        // it. 129 is how a shell reports an end by SIGHUP.
        std::thread::sleep(LAST_RESORT);
        // SAFETY: ends the process at once, without handlers that could wait for a model's threads.
        unsafe { libc::_exit(129) }
    });
}

/// Elsewhere a failed write ends the program.
#[cfg(not(unix))]
pub fn watch(gone: impl FnOnce() + Send + 'static) {
    // Dropping it would count as a hang-up.
    std::mem::forget(gone);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(pairs: &[(&str, &str)]) -> ColorDepth {
        color_depth(|name| {
            let found = pairs.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn braille_needs_utf8_and_more_than_a_console() {
        let braille = |pairs: &[(&str, &str)]| {
            has_braille(|name| {
                let found = pairs.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(braille(&[]));
        assert!(braille(&[("LANG", "en_GB.UTF-8"), ("TERM", "xterm")]));
        assert!(braille(&[("LC_ALL", "C.utf8"), ("LANG", "C")]));
        assert!(!braille(&[("LANG", "en_GB.ISO-8859-1")]));
        assert!(!braille(&[("LANG", "en_GB.UTF-8"), ("TERM", "linux")]));
    }

    #[test]
    fn the_clipboard_is_reached_past_multiplexers() {
        let sent = |inside: Option<&str>, text: &str| {
            clipboard(text, |name| (Some(name) == inside).then(|| "1".to_owned()))
        };
        assert_eq!(sent(None, "é\u{1b}"), "\u{1b}]52;c;w6kb\u{7}");
        assert_eq!(
            sent(Some("TMUX"), "ab"),
            "\u{1b}]52;c;YWI=\u{7}\u{1b}Ptmux;\u{1b}\u{1b}]52;c;YWI=\u{7}\u{1b}\\"
        );
        let long = sent(Some("STY"), &"x".repeat(3000));
        let pieces: Vec<&str> = long.split_inclusive("\u{1b}\\").collect();
        assert!(pieces.len() > 7, "{}", pieces.len());
        let within = |piece: &&str| {
            let inner = piece.strip_prefix("\u{1b}P")?.strip_suffix("\u{1b}\\")?;
            (inner.len() <= SCREEN_PIECE).then(|| inner.to_owned())
        };
        let joined: Option<String> = pieces.iter().map(within).collect();
        assert_eq!(joined.unwrap_or_default(), sent(None, &"x".repeat(3000)));
    }

    #[cfg(unix)]
    #[test]
    fn a_terminal_that_says_it_has_no_screens_is_known() {
        let without = |term: Option<&str>| without_screens(|_| term.map(str::to_owned));
        assert_eq!(without(Some("dumb")).as_deref(), Some("dumb"));
        assert_eq!(without(Some(" ")).as_deref(), Some(""));
        assert_eq!(without(None).as_deref(), Some(""));
        assert_eq!(without(Some("vt100")), None);
    }

    #[test]
    fn colour_depth_follows_the_environment() {
        assert_eq!(depth(&[("TERM", "xterm")]), ColorDepth::Sixteen);
        assert_eq!(depth(&[("TERM", "xterm-256color")]), ColorDepth::Cube);
        let truecolor = [("TERM", "xterm-256color"), ("COLORTERM", "truecolor")];
        assert_eq!(depth(&truecolor), ColorDepth::True);
        assert_eq!(
            depth(&[("NO_COLOR", "1"), ("COLORTERM", "truecolor")]),
            ColorDepth::None
        );
        assert_eq!(
            depth(&[("NO_COLOR", ""), ("TERM", "xterm")]),
            ColorDepth::Sixteen
        );
        assert_eq!(
            depth(&[("NO_COLOR", "1"), ("MEDRGB_COLORS", "256")]),
            ColorDepth::Cube
        );
        assert_eq!(depth(&[("TERM", "xterm-kitty")]), ColorDepth::True);
        assert_eq!(depth(&[("TERM", "screen")]), ColorDepth::Sixteen);
        let wrong = |value: &str| wrong_colors(|_| Some(value.to_owned()));
        assert_eq!(wrong("").or(wrong("256")).or(wrong("TrueColor")), None);
        assert!(wrong("many").is_some_and(|text| text.contains("\"many\"")));
    }
}
