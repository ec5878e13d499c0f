//! A line of typed text with a cursor.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation;

use crate::domain::text::{clean, collapse};

/// A line of typed text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Input {
    text: String,
    /// Byte position, always at a grapheme boundary.
    cursor: usize,
}

/// The most bytes of a line: more than anyone types; pasted texts are cut here.
pub const LONGEST: usize = 4000;

impl Input {
    /// A line with this text, the cursor at its end.
    pub fn new(text: &str) -> Input {
        let mut input = Input::default();
        input.paste(&collapse(&clean(text)));
        input
    }

    /// What was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text before and after the cursor.
    pub fn halves(&self) -> (&str, &str) {
        self.text.split_at(self.cursor)
    }

    /// Puts text in at the cursor.
    pub fn paste(&mut self, text: &str) {
        let text = clean(text).replace('\n', " ");
        let room = LONGEST.saturating_sub(self.text.len());
        let mut end = text.len().min(room);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.text.insert_str(self.cursor, &text[..end]);
        self.cursor += end;
        // A combining mark may have joined what follows.
        let found = self.boundaries().find(|&at| at >= self.cursor);
        self.cursor = found.unwrap_or(self.text.len());
    }

    /// Handles a key; true where the line took it.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('u') if control => {
                self.text.drain(..self.cursor);
                self.cursor = 0;
            }
            KeyCode::Char('w') if control => {
                let kept = self.text[..self.cursor].trim_end();
                let start = kept.rfind(' ').map_or(0, |at| at + 1);
                self.text.drain(start..self.cursor);
                self.cursor = start;
            }
            KeyCode::Char('a') if control => self.cursor = 0,
            KeyCode::Char('e') if control => self.cursor = self.text.len(),
            KeyCode::Char(_) if control || key.modifiers.contains(KeyModifiers::ALT) => {
                return false;
            }
            KeyCode::Char(c) => self.paste(c.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace => {
                let start = self.before();
                self.text.drain(start..self.cursor);
                self.cursor = start;
            }
            KeyCode::Delete => {
                let end = self.after();
                self.text.drain(self.cursor..end);
            }
            KeyCode::Left => self.cursor = self.before(),
            KeyCode::Right => self.cursor = self.after(),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            _ => return false,
        }
        true
    }

    fn boundaries(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.text
            .grapheme_indices(true)
            .map(|(at, _)| at)
            .chain([self.text.len()])
    }

    fn before(&self) -> usize {
        self.boundaries()
            .rev()
            .find(|&at| at < self.cursor)
            .unwrap_or(0)
    }

    fn after(&self) -> usize {
        self.boundaries()
            .find(|&at| at > self.cursor)
            .unwrap_or(self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn press(input: &mut Input, code: KeyCode) {
        input.key(KeyEvent::new(code, KeyModifiers::NONE));
    }

    #[test]
    fn editing_moves_by_what_a_person_sees() {
        let mut input = Input::new("ae\u{301}中");
        press(&mut input, KeyCode::Left);
        press(&mut input, KeyCode::Backspace);
        assert_eq!(input.halves(), ("a", "中"));
        input.key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
        assert_eq!(input.halves(), ("", "中"));
    }

    #[test]
    fn control_characters_never_get_in() {
        let mut input = Input::default();
        input.paste("a\u{1b}[31mb\nc");
        assert_eq!(input.text(), "ab c");
    }

    proptest! {
        #[test]
        fn no_sequence_of_keys_breaks_the_cursor(keys in prop::collection::vec(0u8..10, 0..60)) {
            let mut input = Input::default();
            for key in keys {
                match key {
                    0 => press(&mut input, KeyCode::Left),
                    1 => press(&mut input, KeyCode::Right),
                    2 => press(&mut input, KeyCode::Backspace),
                    3 => press(&mut input, KeyCode::Delete),
                    4 => press(&mut input, KeyCode::Char('\u{301}')),
                    5 => press(&mut input, KeyCode::Home),
                    6 => { input.key(KeyEvent::new(KeyCode::Char('w'), KeyModifiers::CONTROL)); }
                    7 => press(&mut input, KeyCode::Char('中')),
                    8 => press(&mut input, KeyCode::Char('🇩')),
                    _ => press(&mut input, KeyCode::Char(' ')),
                }
                let (before, after) = input.halves();
                prop_assert_eq!(format!("{before}{after}"), input.text());
            }
        }
    }
}
