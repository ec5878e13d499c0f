//! Keys: their names, and which command each runs on which screen.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::domain::nearest::{hint, nearest};
use crate::domain::text::{clean, visible};
use crate::tui::app::Screen;
use crate::tui::command::{self, COMMANDS, Command, CommandInfo};

/// A key with its modifiers, normalised so that a binding needs no special keyboard protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chord {
    code: KeyCode,
    modifiers: KeyModifiers,
}

const NAMED: [(&str, KeyCode); 15] = [
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backspace", KeyCode::Backspace),
    ("space", KeyCode::Char(' ')),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
];

impl Chord {
    /// The chord of a key event.
    pub fn of(event: KeyEvent) -> Chord {
        let mut modifiers =
            event.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT);
        let code = match event.code {
            KeyCode::BackTab => {
                modifiers |= KeyModifiers::SHIFT;
                KeyCode::Tab
            }
            // The character already tells whether shift was held.
            KeyCode::Char(c) => {
                modifiers -= KeyModifiers::SHIFT;
                KeyCode::Char(if modifiers.contains(KeyModifiers::CONTROL) {
                    c.to_ascii_lowercase()
                } else {
                    c
                })
            }
            code => code,
        };
        Chord { code, modifiers }
    }

    /// Reads a name such as `a`, `R`, `ctrl-f`, `shift-tab`, `pageup`, `f8`; `None` for what is no key, or one that
    /// terminals do not send.
    pub fn parse(text: &str) -> Option<Chord> {
        Chord::read(text).ok()
    }

    /// As [`Chord::parse`].
    ///
    /// # Errors
    /// Why this is no key that can be used, as the rest of a sentence that begins with it.
    pub fn read(text: &str) -> Result<Chord, String> {
        let (modifiers, rest) = modifiers_of(text);
        let mut chars = rest.chars();
        let code = match (chars.next(), chars.next()) {
            (None, _) if modifiers.is_empty() => {
                return Err("is empty; for a command without a key write []".to_owned());
            }
            (None, _) => return Err("names no key after the -".to_owned()),
            (Some(c), None) => return character(c, modifiers),
            _ => named(rest).ok_or_else(|| no_key(rest))?,
        };
        Ok(Chord::of(KeyEvent::new(code, modifiers)))
    }
}

/// The modifiers that stand before a key, and what follows them.
fn modifiers_of(text: &str) -> (KeyModifiers, &str) {
    let mut modifiers = KeyModifiers::NONE;
    let mut rest = text;
    loop {
        let prefixes = [
            ("ctrl-", KeyModifiers::CONTROL),
            ("alt-", KeyModifiers::ALT),
            ("shift-", KeyModifiers::SHIFT),
        ];
        let found = prefixes.into_iter().find(|(prefix, _)| {
            let head = rest.get(..prefix.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(prefix))
        });
        let Some((prefix, flag)) = found else {
            return (modifiers, rest);
        };
        modifiers |= flag;
        rest = &rest[prefix.len()..];
    }
}

fn named(text: &str) -> Option<KeyCode> {
    let lower = text.to_ascii_lowercase();
    if let Some((_, code)) = NAMED.iter().find(|(name, _)| *name == lower) {
        return Some(*code);
    }
    match lower.strip_prefix('f').map(str::parse::<u8>) {
        Some(Ok(number @ 1..=12)) => Some(KeyCode::F(number)),
        _ => None,
    }
}

/// A character with modifiers, as far as terminals send that.
fn character(c: char, modifiers: KeyModifiers) -> Result<Chord, String> {
    let (ctrl, alt, shift) = (
        modifiers.contains(KeyModifiers::CONTROL),
        modifiers.contains(KeyModifiers::ALT),
        modifiers.contains(KeyModifiers::SHIFT),
    );
    if clean(&c.to_string()) != c.to_string() || c == '\n' {
        return Err("is a character that can't be seen; write the name of a key".to_owned());
    }
    let lower = c.to_ascii_lowercase();
    if ctrl {
        let same = match lower {
            'i' => Some("tab"),
            'm' => Some("enter"),
            '[' => Some("esc"),
            _ => None,
        };
        if let Some(name) = same {
            return Err(format!("is sent by terminals as {name}; write {name}"));
        }
        if shift {
            return Err(format!(
                "is sent by terminals as ctrl-{lower}; leave shift- out"
            ));
        }
        if !(lower.is_ascii_lowercase() || matches!(c, ' ' | '4'..='7')) {
            return Err("is not sent by terminals; with ctrl- there are the letters".to_owned());
        }
    }
    if alt && matches!(c, '[' | 'O') {
        return Err("is how terminals begin the codes of other keys; choose another".to_owned());
    }
    // Which character shift makes of another depends on the keyboard; only that character is sent.
    let code = match shift {
        false => c,
        true if c.is_lowercase() && c.to_uppercase().count() == 1 => {
            c.to_uppercase().next().unwrap_or(c)
        }
        true if c.is_uppercase() => c,
        true => {
            return Err(
                "is sent by terminals as the character that shift makes; write that one".to_owned(),
            );
        }
    };
    Ok(Chord::of(KeyEvent::new(KeyCode::Char(code), modifiers)))
}

/// What to say of a word that is no key.
fn no_key(word: &str) -> String {
    if word.split_whitespace().count() > 1 {
        return "is more than one key; the explorer has no sequences of keys, write each key of its own in quotation marks".to_owned();
    }
    let lower = word.to_ascii_lowercase();
    let all = NAMED.iter().map(|(name, _)| *name);
    match nearest(&lower, all) {
        Some(best) => format!("is not a key; did you mean \"{best}\"?"),
        None => "is not a key; write one character, or enter, esc, tab, backspace, space, up, down, left, right, home, end, pageup, pagedown, delete, insert, f1 … f12, with ctrl-, alt- or shift- before it".to_owned(),
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (flag, name) in [
            (KeyModifiers::CONTROL, "ctrl-"),
            (KeyModifiers::ALT, "alt-"),
            (KeyModifiers::SHIFT, "shift-"),
        ] {
            if self.modifiers.contains(flag) {
                f.write_str(name)?;
            }
        }
        if let Some((name, _)) = NAMED.iter().find(|(_, code)| *code == self.code) {
            return f.write_str(name);
        }
        match self.code {
            KeyCode::Char(c) => write!(f, "{c}"),
            KeyCode::F(number) => write!(f, "f{number}"),
            _ => f.write_str("?"),
        }
    }
}

/// A mistake in the keys of the config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The commands that it is about, by name.
    commands: Vec<String>,
    /// What is wrong, and the way out.
    text: String,
}

impl Mistake {
    /// The sentence, with the place of the first of its commands that has one (command → file and line).
    pub fn said(&self, places: &BTreeMap<String, String>) -> String {
        let place = self.commands.iter().find_map(|name| places.get(name));
        let place = place.map_or_else(String::new, |place| format!("{place}: "));
        format!("{place}[keys] {}", self.text)
    }
}

fn unknown(name: &str) -> Option<Mistake> {
    if COMMANDS.iter().any(|row| row.name == name) {
        return None;
    }
    let valid: Vec<&str> = COMMANDS.iter().map(|row| row.name).collect();
    Some(Mistake {
        commands: vec![name.to_owned()],
        text: format!(
            "there is no command \"{}\"; {}",
            visible(name),
            hint(name, &valid)
        ),
    })
}

/// The keys that the config gives a command; what is wrong with them is added to the mistakes.
fn changed(row: &CommandInfo, names: &[String], mistakes: &mut Vec<Mistake>) -> Vec<Chord> {
    let mut chords: Vec<Chord> = Vec::new();
    let mut wrong = |text: String| {
        mistakes.push(Mistake {
            commands: vec![row.name.to_owned()],
            text: format!("{}: {text}", row.name),
        });
    };
    for name in names {
        match Chord::read(name) {
            Ok(chord) if chords.contains(&chord) => {
                wrong(format!(
                    "\"{}\" stands there twice; remove one",
                    visible(name)
                ));
            }
            Ok(chord) => chords.push(chord),
            Err(why) => wrong(format!("\"{}\" {why}", visible(name))),
        }
    }
    if names.is_empty() && row.command == Command::Quit {
        wrong(
            "needs a key, since without one nobody gets out; write one, such as \"ctrl-c\""
                .to_owned(),
        );
    }
    chords
}

/// Binds a key on the screens of a command; where it is bound already, that is a mistake that names both commands
/// and all screens.
fn clashes(
    row: &CommandInfo,
    chord: Chord,
    bound: &mut HashMap<(Screen, Chord), Command>,
    mistakes: &mut Vec<Mistake>,
) {
    let mut others: Vec<(Command, Vec<&str>)> = Vec::new();
    for &screen in row.screens {
        let Some(other) = bound.insert((screen, chord), row.command) else {
            continue;
        };
        match others.iter_mut().find(|(command, _)| *command == other) {
            Some((_, screens)) => screens.push(screen.name()),
            None => others.push((other, vec![screen.name()])),
        }
    }
    for (other, screens) in others {
        let other = command::info(other).map_or("", |row| row.name);
        let noun = if screens.len() == 1 {
            "screen"
        } else {
            "screens"
        };
        mistakes.push(Mistake {
            commands: vec![row.name.to_owned(), other.to_owned()],
            text: format!(
                "\"{chord}\" is bound to both {other} and {} on the {} {noun}; give one of them another key",
                row.name,
                screens.join(", ")
            ),
        });
    }
}

/// Which key runs what, per screen.
#[derive(Debug, Clone)]
pub struct Keymap {
    keys: BTreeMap<Command, Vec<Chord>>,
    bound: HashMap<(Screen, Chord), Command>,
}

impl Default for Keymap {
    /// The table's own keys.
    fn default() -> Self {
        // The table is tested to be free of mistakes, so nothing is lost here.
        Keymap::new(&BTreeMap::new()).unwrap_or_else(|_| Keymap {
            keys: BTreeMap::new(),
            bound: HashMap::new(),
        })
    }
}

impl Keymap {
    /// The table's keys with the config's changes (command name → keys).
    ///
    /// # Errors
    /// Every mistake: an unknown command, what is no key, a key with two commands on one screen.
    pub fn new(changes: &BTreeMap<String, Vec<String>>) -> Result<Keymap, Vec<Mistake>> {
        let mut mistakes: Vec<Mistake> = changes.keys().filter_map(|name| unknown(name)).collect();
        let mut keys = BTreeMap::new();
        let mut bound: HashMap<(Screen, Chord), Command> = HashMap::new();
        for row in COMMANDS {
            let chords = match changes.get(row.name) {
                Some(names) => changed(row, names, &mut mistakes),
                None => row
                    .keys
                    .iter()
                    .filter_map(|key| Chord::parse(key))
                    .collect(),
            };
            for &chord in &chords {
                clashes(row, chord, &mut bound, &mut mistakes);
            }
            keys.insert(row.command, chords);
        }
        if mistakes.is_empty() {
            Ok(Keymap { keys, bound })
        } else {
            Err(mistakes)
        }
    }

    /// What a key does on a screen.
    pub fn command(&self, screen: Screen, chord: Chord) -> Option<Command> {
        self.bound.get(&(screen, chord)).copied()
    }

    /// The keys of a command, as they are written.
    pub fn keys(&self, command: Command) -> Vec<String> {
        self.keys
            .get(&command)
            .into_iter()
            .flatten()
            .map(Chord::to_string)
            .collect()
    }

    /// The first key of a command, or its name in the palette where it has none.
    pub fn key(&self, command: Command) -> String {
        self.keys(command).into_iter().next().unwrap_or_else(|| {
            COMMANDS
                .iter()
                .find(|row| row.command == command)
                .map_or_else(String::new, |row| format!(":{}", row.name))
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn changes(pairs: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
        pairs
            .iter()
            .map(|(name, keys)| {
                let keys = keys.iter().map(|key| (*key).to_owned()).collect();
                ((*name).to_owned(), keys)
            })
            .collect()
    }

    #[test]
    fn the_table_has_no_clash() {
        Keymap::new(&BTreeMap::new()).unwrap();
        for row in COMMANDS {
            for key in row.keys {
                assert!(Chord::read(key).is_ok(), "{}: {key}", row.name);
            }
        }
    }

    #[test]
    fn keys_can_be_changed() {
        let map = Keymap::new(&changes(&[("ask", &["ctrl-a", "f5"])])).unwrap();
        let chord = Chord::parse("ctrl-a").unwrap();
        assert_eq!(map.command(Screen::Instance, chord), Some(Command::Ask));
        assert_eq!(
            map.command(Screen::Instance, Chord::parse("a").unwrap()),
            None
        );
        assert_eq!(map.key(Command::Ask), "ctrl-a");
    }

    #[test]
    fn mistakes_are_named() {
        let places = BTreeMap::from([("stop".to_owned(), "f.toml, line 7".to_owned())]);
        let all: Vec<String> = Keymap::new(&changes(&[
            ("aks", &["a"]),
            ("stop", &["a"]),
            ("zoom", &["hyper-z"]),
        ]))
        .unwrap_err()
        .iter()
        .map(|mistake| mistake.said(&places))
        .collect();
        let all = all.join("\n");
        assert!(all.contains("\"aks\"; did you mean \"ask\"?"), "{all}");
        assert!(
            all.contains("f.toml, line 7: [keys] \"a\" is bound to both ask and stop"),
            "{all}"
        );
        assert!(all.contains("\"hyper-z\" is not a key"), "{all}");
    }

    #[test]
    fn keys_that_no_terminal_sends_are_refused_with_what_it_sends() {
        for (name, expected) in [
            ("ctrl-i", "as tab"),
            ("ctrl-M", "as enter"),
            ("ctrl-shift-a", "as ctrl-a"),
            ("ctrl-1", "not sent"),
            ("alt-[", "codes of other keys"),
            ("shift-1", "write that one"),
            ("g g", "more than one key"),
            ("entre", "\"enter\""),
            ("\u{7}", "can't be seen"),
            ("", "is empty"),
            ("ctrl-", "no key after"),
        ] {
            let why = Chord::read(name).unwrap_err();
            assert!(why.contains(expected), "{name:?}: {why}");
        }
        assert_eq!(Chord::parse("shift-a"), Chord::parse("A"));
        assert_eq!(
            Chord::parse("Ctrl-Space").unwrap().to_string(),
            "ctrl-space"
        );
    }

    #[test]
    fn shifted_keys_have_one_form() {
        let plain = KeyEvent::new(KeyCode::Char('R'), KeyModifiers::NONE);
        let shifted = KeyEvent::new(KeyCode::Char('R'), KeyModifiers::SHIFT);
        assert_eq!(Chord::of(plain), Chord::of(shifted));
        let back_tab = KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT);
        assert_eq!(Chord::of(back_tab).to_string(), "shift-tab");
        for name in [
            "a",
            "R",
            "ctrl-f",
            "shift-tab",
            "pageup",
            "f8",
            "space",
            "-",
            "[",
        ] {
            assert_eq!(Chord::parse(name).unwrap().to_string(), name);
        }
    }
}
