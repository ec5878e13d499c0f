//! UTF-8 that comes byte by byte.

/// Checks UTF-8 byte by byte (Unicode table 3-7) and refuses control characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Utf8 {
    /// Continuation bytes still to come.
    left: u8,
    /// Range of the next continuation byte.
    low: u8,
    high: u8,
}

impl Default for Utf8 {
    fn default() -> Self {
        Utf8 {
            left: 0,
            low: 0x80,
            high: 0xBF,
        }
    }
}

impl Utf8 {
    pub(super) fn is_whole(self) -> bool {
        self.left == 0
    }

    pub(super) fn push(&mut self, byte: u8) -> bool {
        if self.left > 0 {
            let fits = (self.low..=self.high).contains(&byte);
            *self = Utf8 {
                left: self.left - 1,
                ..Utf8::default()
            };
            return fits;
        }
        let (left, low, high) = match byte {
            0x20..=0x7E => return true,
            // U+0080 to U+009F are control characters.
            0xC2 => (1, 0xA0, 0xBF),
            0xC3..=0xDF => (1, 0x80, 0xBF),
            0xE0 => (2, 0xA0, 0xBF),
            0xED => (2, 0x80, 0x9F),
            0xE1..=0xEF => (2, 0x80, 0xBF),
            0xF0 => (3, 0x90, 0xBF),
            0xF1..=0xF3 => (3, 0x80, 0xBF),
            0xF4 => (3, 0x80, 0x8F),
            _ => return false,
        };
        *self = Utf8 { left, low, high };
        true
    }
}
