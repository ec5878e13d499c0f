//! Which background the terminal has: it is asked once, and its answer is picked out of what is typed.
//!
//! Nobody waits for the answer. crossterm takes its bytes for keys, one by one; here they are put together again,
//! and what turns out to be no answer is given on as the keys that were pressed.

use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::tui::theme::Background;

/// The question for the background's colour, xterm's OSC 11.
pub(super) const QUESTION: &[u8] = b"\x1b]11;?\x07";

/// How an answer begins after the escape sequence's start.
const BEGINNING: &str = "11;";

/// Most characters of an answer; `rgba:` with four digits per part has 24.
const LONGEST: usize = 64;

/// How long the rest of what may be an answer can take: its bytes come together, but over a slow line in pieces.
const REST: Duration = Duration::from_millis(100);

/// The same once it is certain that this is an answer, which must never be taken for keys.
const CERTAIN_REST: Duration = Duration::from_millis(400);

/// How long after the question an escape key may be held back to see whether an answer begins with it. (An answer
/// whose first byte comes alone is rare.)
const ESCAPES_HELD: Duration = Duration::from_secs(2);

/// Until when an answer still changes the looks; later that would only startle.
const IN_TIME: Duration = Duration::from_secs(2);

/// What comes out of the keyboard.
#[derive(Debug, PartialEq, Eq)]
pub enum Input {
    /// Something was typed, or the terminal changed.
    Event(Event),
    /// The terminal said which background it has.
    Background(Background),
}

/// How far an answer has come.
#[derive(Debug)]
enum State {
    /// Nothing of one.
    Idle,
    /// Its first keys, which are typed keys if no answer comes of them: those that start the sequence, and the
    /// characters after it.
    Maybe {
        held: Vec<Event>,
        started: bool,
        text: String,
    },
    /// Certainly one: its characters after the beginning, and whether an escape stands at their end.
    Certain { text: String, escape: bool },
}

/// Picks the answer out of what is typed.
#[derive(Debug)]
pub struct Answers {
    /// When the question was asked; `None` where it was not, or was answered.
    asked: Option<Instant>,
    state: State,
    /// When what is held is given up.
    until: Option<Instant>,
}

impl Answers {
    /// Picks out answers to a question asked at this time, if any was.
    pub fn to(asked: Option<Instant>) -> Answers {
        Answers {
            asked,
            state: State::Idle,
            until: None,
        }
    }

    /// Until when something is held back; [`Answers::give_up`] is due then.
    pub fn until(&self) -> Option<Instant> {
        self.until
    }

    /// What becomes of an event: nothing yet, itself, what was held before it, or an answer.
    pub fn take(&mut self, event: Event, now: Instant) -> Vec<Input> {
        let Some(asked) = self.asked else {
            return vec![Input::Event(event)];
        };
        let Event::Key(key) = event else {
            // A change of size or a paste belongs to no answer, and disturbs none.
            return vec![Input::Event(event)];
        };
        if key.kind != KeyEventKind::Press {
            return vec![Input::Event(event)];
        }
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => self.begin(event, key, asked, now),
            State::Maybe {
                held,
                started,
                text,
            } => self.go_on(held, started, text, key, now),
            State::Certain { text, escape } => self.finish(text, escape, key, asked, now),
        }
    }

    /// Gives back what was held and is no answer.
    pub fn give_up(&mut self) -> Vec<Input> {
        self.until = None;
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Maybe { held, .. } => held.into_iter().map(Input::Event).collect(),
            State::Idle | State::Certain { .. } => Vec::new(),
        }
    }

    fn begin(&mut self, event: Event, key: KeyEvent, asked: Instant, now: Instant) -> Vec<Input> {
        let lone = is_escape(key) && now.saturating_duration_since(asked) < ESCAPES_HELD;
        let whole = is_alt(key, ']');
        if !lone && !whole {
            return vec![Input::Event(event)];
        }
        self.hold(
            State::Maybe {
                held: vec![event],
                started: whole,
                text: String::new(),
            },
            now + REST,
        )
    }

    fn go_on(
        &mut self,
        mut held: Vec<Event>,
        started: bool,
        mut text: String,
        key: KeyEvent,
        now: Instant,
    ) -> Vec<Input> {
        let fits = match (started, character(key)) {
            (false, Some(c)) => c == ']',
            (true, Some(c)) => {
                text.push(c);
                BEGINNING.starts_with(&text)
            }
            (_, None) => false,
        };
        if !fits {
            let mut given = self.give_back(held);
            given.extend(self.take(Event::Key(key), now));
            return given;
        }
        if text == BEGINNING {
            let state = State::Certain {
                text: String::new(),
                escape: false,
            };
            return self.hold(state, now + CERTAIN_REST);
        }
        held.push(Event::Key(key));
        let state = State::Maybe {
            held,
            started: true,
            text,
        };
        self.hold(state, now + REST)
    }

    fn finish(
        &mut self,
        mut text: String,
        escape: bool,
        key: KeyEvent,
        asked: Instant,
        now: Instant,
    ) -> Vec<Input> {
        let bell = key.code == KeyCode::Char('g') && key.modifiers == KeyModifiers::CONTROL;
        let ends = bell || is_alt(key, '\\') || (escape && character(key) == Some('\\'));
        if ends {
            self.until = None;
            self.asked = None;
            let in_time = now.saturating_duration_since(asked) <= IN_TIME;
            let answer = color(&text).filter(|_| in_time).map(Background::of);
            return answer.map(Input::Background).into_iter().collect();
        }
        if is_escape(key) {
            return self.hold(State::Certain { text, escape: true }, now + CERTAIN_REST);
        }
        match character(key).filter(|_| text.chars().count() < LONGEST) {
            Some(c) => {
                text.push(c);
                let state = State::Certain {
                    text,
                    escape: false,
                };
                self.hold(state, now + CERTAIN_REST)
            }
            // No answer has such a key in it: what came before is dropped, and it counts.
            None => {
                self.until = None;
                self.take(Event::Key(key), now)
            }
        }
    }

    fn hold(&mut self, state: State, until: Instant) -> Vec<Input> {
        self.state = state;
        self.until = Some(until);
        Vec::new()
    }

    fn give_back(&mut self, held: Vec<Event>) -> Vec<Input> {
        self.until = None;
        held.into_iter().map(Input::Event).collect()
    }
}

fn is_escape(key: KeyEvent) -> bool {
    key.code == KeyCode::Esc && key.modifiers.is_empty()
}

/// An escape and a character that came together are one key, Alt with the character.
fn is_alt(key: KeyEvent, c: char) -> bool {
    key.code == KeyCode::Char(c) && key.modifiers == KeyModifiers::ALT
}

/// A character typed plainly.
fn character(key: KeyEvent) -> Option<char> {
    let plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
    match key.code {
        KeyCode::Char(c) if plain => Some(c),
        _ => None,
    }
}

/// The colour of an answer: `rgb:` or `rgba:` and parts of one to four hexadecimal digits, or `#` and six digits.
fn color(text: &str) -> Option<[u8; 3]> {
    let hex = |part: &str| {
        let fits = (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_hexdigit());
        let value = u32::from_str_radix(part, 16).ok().filter(|_| fits)?;
        let most = (1u32 << (4 * part.len())) - 1;
        u8::try_from((value * 255 + most / 2) / most).ok()
    };
    if let Some(digits) = text.strip_prefix('#').filter(|digits| digits.len() == 6) {
        return Some([
            hex(digits.get(..2)?)?,
            hex(digits.get(2..4)?)?,
            hex(digits.get(4..)?)?,
        ]);
    }
    let parts = text
        .strip_prefix("rgb:")
        .or_else(|| text.strip_prefix("rgba:"))?;
    let mut parts = parts.split('/').map(hex);
    Some([parts.next()??, parts.next()??, parts.next()??])
}

/// Whether this terminal is asked. Those that are known not to understand the question could show it as text.
pub(super) fn can_be_asked(variable: impl Fn(&str) -> Option<String>) -> bool {
    let kind = variable("TERM").unwrap_or_default();
    let silent = ["linux", "dumb", "cons25", "emacs", "sun", "wyse", "vt52"];
    cfg!(unix) && !kind.is_empty() && !silent.iter().any(|name| kind.starts_with(name))
}

/// The background that the terminal's environment tells (`COLORFGBG`: numbers of the sixteen colours, letters
/// first, background last); `None` where it says nothing.
pub fn told(variable: impl Fn(&str) -> Option<String>) -> Option<Background> {
    let value = variable("COLORFGBG")?;
    match value.rsplit(';').next()?.trim().parse::<u8>().ok()? {
        7 | 15 => Some(Background::Light),
        0..=6 | 8 => Some(Background::Dark),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys that crossterm makes of bytes that come together.
    fn keys(bytes: &str) -> Vec<Event> {
        let mut events = Vec::new();
        let mut rest = bytes.chars().peekable();
        while let Some(c) = rest.next() {
            let (code, modifiers) = match c {
                '\x1b' => match rest.next() {
                    Some(next) => (KeyCode::Char(next), KeyModifiers::ALT),
                    None => (KeyCode::Esc, KeyModifiers::NONE),
                },
                '\x07' => (KeyCode::Char('g'), KeyModifiers::CONTROL),
                c if c.is_uppercase() => (KeyCode::Char(c), KeyModifiers::SHIFT),
                c => (KeyCode::Char(c), KeyModifiers::NONE),
            };
            events.push(Event::Key(KeyEvent::new(code, modifiers)));
        }
        events
    }

    /// All that comes out of these pieces of bytes, each this long after the question.
    fn read(pieces: &[(u64, &str)]) -> Vec<Input> {
        let asked = Instant::now();
        let mut answers = Answers::to(Some(asked));
        let mut out = Vec::new();
        for (after, bytes) in pieces {
            let now = asked + Duration::from_millis(*after);
            if answers.until().is_some_and(|until| until <= now) {
                out.extend(answers.give_up());
            }
            for event in keys(bytes) {
                out.extend(answers.take(event, now));
            }
        }
        out.extend(answers.give_up());
        out
    }

    fn typed(bytes: &str) -> Vec<Input> {
        keys(bytes).into_iter().map(Input::Event).collect()
    }

    #[test]
    fn an_answer_is_no_key_press() {
        for (bytes, expected) in [
            ("\x1b]11;rgb:ffff/ffff/ffff\x07", Background::Light),
            ("\x1b]11;rgb:FDFD/F6F6/E3E3\x1b\\", Background::Light),
            ("\x1b]11;rgb:0000/0000/0000\x1b\\", Background::Dark),
            ("\x1b]11;rgba:1e/1e/2e/ff\x07", Background::Dark),
            ("\x1b]11;rgb:f/f/f\x07", Background::Light),
            ("\x1b]11;#002b36\x07", Background::Dark),
        ] {
            assert_eq!(
                read(&[(3, bytes)]),
                [Input::Background(expected)],
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn what_is_typed_around_an_answer_stays() {
        let out = read(&[(1, "jj"), (2, "\x1b]11;rgb:ff/ff/ff\x07k")]);
        let mut expected = typed("jj");
        expected.push(Input::Background(Background::Light));
        expected.extend(typed("k"));
        assert_eq!(out, expected);
    }

    #[test]
    fn an_answer_may_come_in_pieces() {
        let light = [Input::Background(Background::Light)];
        let pieces = [
            (1, "\x1b"),
            (9, "]1"),
            (20, "1;rgb:ff"),
            (90, "/ff/ff\x1b"),
            (99, "\\"),
        ];
        assert_eq!(read(&pieces), light);
    }

    #[test]
    fn keys_that_only_begin_like_an_answer_are_typed() {
        for bytes in [
            "\x1b]",
            "\x1b]1",
            "\x1b]1x",
            "\x1b]11x",
            "\x1b]\x1b]",
            "\x1ba",
        ] {
            assert_eq!(read(&[(5, bytes)]), typed(bytes), "{bytes:?}");
        }
        // Escape alone, then a key of its own.
        let mut expected = typed("\x1b");
        expected.extend(typed("j"));
        assert_eq!(read(&[(5, "\x1b"), (6, "j")]), expected);
        assert_eq!(read(&[(5, "\x1b"), (300, "j")]), expected);
    }

    #[test]
    fn garbage_and_late_answers_are_swallowed_without_effect() {
        for pieces in [
            [(5, "\x1b]11;what?\x07")],
            [(5, "\x1b]11;rgb:zz/zz/zz\x1b\\")],
            [(5, "\x1b]11;rgb:ff/ff\x07")],
            [(5000, "\x1b]11;rgb:ff/ff/ff\x07")],
            // Broken off.
            [(5, "\x1b]11;rgb:ff")],
        ] {
            assert_eq!(read(&pieces), [], "{pieces:?}");
        }
        // A key that no answer holds ends a broken one and counts itself.
        let out = read(&[(5, "\x1b]11;rgb:ff"), (6, "\x1bq")]);
        assert_eq!(out, typed("\x1bq"));
        let endless = format!("\x1b]11;{}", "f".repeat(200));
        assert!(read(&[(5, &endless)]).len() <= 200 - LONGEST);
    }

    #[test]
    fn where_nothing_was_asked_nothing_is_held() {
        let mut answers = Answers::to(None);
        let now = Instant::now();
        for event in keys("\x1b]11;\x1b") {
            assert_eq!(answers.take(event.clone(), now), [Input::Event(event)]);
            assert_eq!(answers.until(), None);
        }
    }

    #[test]
    fn the_environment_tells_the_background() {
        let told = |value: &str| told(|name| (name == "COLORFGBG").then(|| value.to_owned()));
        assert_eq!(told("0;15"), Some(Background::Light));
        assert_eq!(told("0;default;15"), Some(Background::Light));
        assert_eq!(told("15;0"), Some(Background::Dark));
        assert_eq!(told("12;8"), Some(Background::Dark));
        assert_eq!(told("15;default"), None);
        assert_eq!(told(""), None);
    }

    #[test]
    fn consoles_are_not_asked() {
        let asked = |kind: &str| can_be_asked(|name| (name == "TERM").then(|| kind.to_owned()));
        assert!(asked("xterm-256color") && asked("tmux-256color") && asked("screen"));
        assert!(!asked("linux") && !asked("dumb") && !asked(""));
    }
}
