//! Keys: their names, and which command each runs on which screen.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::tui::app::Screen;
use crate::tui::command::{COMMANDS, Command};
use crate::tui::theme::nearest;

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

    /// Reads a name such as `a`, `R`, `ctrl-f`, `shift-tab`, `pageup`, `f8`.
    pub fn parse(text: &str) -> Option<Chord> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text;
        loop {
            let lower = rest.to_ascii_lowercase();
            let (flag, length) = if lower.starts_with("ctrl-") {
                (KeyModifiers::CONTROL, 5)
            } else if lower.starts_with("alt-") {
                (KeyModifiers::ALT, 4)
            } else if lower.starts_with("shift-") {
                (KeyModifiers::SHIFT, 6)
            } else {
                break;
            };
            modifiers |= flag;
            rest = &rest[length..];
        }
        let mut chars = rest.chars();
        let code = match (chars.next(), chars.next()) {
            (Some(c), None) => KeyCode::Char(c),
            _ => {
                let lower = rest.to_ascii_lowercase();
                let named = NAMED.iter().find(|(name, _)| *name == lower);
                match (named, lower.strip_prefix('f').map(str::parse::<u8>)) {
                    (Some((_, code)), _) => *code,
                    (None, Some(Ok(number @ 1..=12))) => KeyCode::F(number),
                    _ => return None,
                }
            }
        };
        Some(Chord::of(KeyEvent::new(code, modifiers)))
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
    /// One sentence per mistake: an unknown command, an unknown key, a key with two commands on one screen.
    pub fn new(changes: &BTreeMap<String, Vec<String>>) -> Result<Keymap, Vec<String>> {
        let mut mistakes = Vec::new();
        for name in changes.keys() {
            if !COMMANDS.iter().any(|row| row.name == name) {
                let valid: Vec<&str> = COMMANDS.iter().map(|row| row.name).collect();
                mistakes.push(format!(
                    "[keys]: there is no command \"{name}\"; {}",
                    nearest(name, &valid)
                ));
            }
        }
        let mut keys = BTreeMap::new();
        let mut bound: HashMap<(Screen, Chord), Command> = HashMap::new();
        for row in COMMANDS {
            let names: Vec<&str> = match changes.get(row.name) {
                Some(changed) => changed.iter().map(String::as_str).collect(),
                None => row.keys.to_vec(),
            };
            let mut chords = Vec::new();
            for name in names {
                let Some(chord) = Chord::parse(name) else {
                    mistakes.push(format!(
                        "[keys] {}: \"{name}\" is not a key; write one character, or enter, esc, tab, space, up, down, left, right, home, end, pageup, pagedown, f1 … f12, with ctrl-, alt- or shift- before it",
                        row.name
                    ));
                    continue;
                };
                chords.push(chord);
                for &screen in row.screens {
                    if let Some(other) = bound.insert((screen, chord), row.command) {
                        let other = COMMANDS.iter().find(|row| row.command == other);
                        mistakes.push(format!(
                            "[keys]: \"{chord}\" is bound to both {} and {} on the {} screen; change one of them",
                            other.map_or("", |row| row.name),
                            row.name,
                            screen.name()
                        ));
                    }
                }
            }
            keys.insert(row.command, chords);
        }
        mistakes.dedup();
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
        let all = Keymap::new(&changes(&[
            ("aks", &["a"]),
            ("stop", &["a"]),
            ("zoom", &["hyper-z"]),
        ]))
        .unwrap_err()
        .join("\n");
        assert!(all.contains("\"aks\"; did you mean \"ask\"?"), "{all}");
        assert!(all.contains("both ask and stop"), "{all}");
        assert!(all.contains("\"hyper-z\" is not a key"), "{all}");
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
