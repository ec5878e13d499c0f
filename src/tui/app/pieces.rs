//! Pieces of the screen that can be copied, or opened in a pager.

use crate::domain::text::short;

/// Where a piece goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// The terminal's clipboard.
    Clipboard,
    /// The user's pager.
    Pager,
}

/// A piece of the screen, as plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The key that takes it.
    pub key: char,
    /// What it is: "the prompt".
    pub name: String,
    /// The text, cleaned.
    pub text: String,
}

impl Piece {
    /// A piece with a name that may hold text from outside.
    pub fn new(key: char, name: impl AsRef<str>, text: &str) -> Piece {
        Piece {
            key,
            name: short(name.as_ref()),
            text: crate::domain::text::clean(text),
        }
    }

    /// How large it is, in words.
    pub fn size(&self) -> String {
        size(self.text.len())
    }
}

/// A number of bytes in words.
pub fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// The most bytes of a text that are copied: a terminal takes sequences of about 75 kB, and base64 makes four bytes
/// of three.
pub const MOST_COPIED: usize = 74_994 / 4 * 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_readable() {
        let said = [999, 1_000, 56_244, 2_500_000].map(size);
        assert_eq!(said, ["999 B", "1.0 kB", "56.2 kB", "2.5 MB"]);
    }

    #[test]
    fn names_from_outside_are_cleaned_and_short() {
        let piece = Piece::new(
            'd',
            format!("document \u{1b}[31m{}", "x".repeat(500)),
            "a\u{7}b",
        );
        assert!(piece.name.chars().count() <= 60 && !piece.name.contains('\u{1b}'));
        assert_eq!(piece.text, "ab");
    }
}
