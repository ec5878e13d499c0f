//! Text that comes from outside: cleaning before it is shown, normalising before it is compared.

use std::iter::Peekable;
use std::str::Chars;

use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;

/// The longest escape sequence (in characters) that is taken for one; a stray start without its end must
/// not swallow the rest of a document.
const LONGEST_SEQUENCE: usize = 512;

/// Removes everything that could drive a terminal: escape sequences, control characters (tabs become
/// spaces, line ends become `\n`), bidirectional overrides and other invisible format characters that
/// change how a line is displayed. Combining marks and joiners stay.
pub fn clean(text: &str) -> String {
    let plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n');
    if text.bytes().all(plain) {
        return text.to_owned();
    }
    let needs = |c: char| (c.is_control() && c != '\n') || is_display_control(c);
    if !text.chars().any(needs) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' => out.push('\n'),
            '\r' => {
                rest.next_if_eq(&'\n');
                out.push('\n');
            }
            // Next line, vertical tab, form feed, line and paragraph separator.
            '\u{85}' | '\u{b}' | '\u{c}' | '\u{2028}' | '\u{2029}' => out.push('\n'),
            '\t' => out.push_str("    "),
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_control_sequence(&mut rest, true),
            c if c.is_control() || is_display_control(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// Characters that reorder or hide text on screen.
fn is_display_control(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Skips what follows an ESC.
fn skip_escape(rest: &mut Peekable<Chars<'_>>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_control_sequence(rest, false);
        }
        // Operating system command, device control string, start of string, privacy message, application
        // command: text up to BEL or ESC \.
        Some(']' | 'P' | 'X' | '^' | '_') => skip_string(rest),
        // Intermediate bytes and a final one, as in ESC ( B.
        Some(' '..='/') => {
            while rest.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            rest.next_if(|c| matches!(c, '0'..='~'));
        }
        Some('0'..='~') => {
            rest.next();
        }
        _ => {}
    }
}

/// Skips parameters and the final character of a control sequence, if that is what follows.
/// `needs_parameter`: a lone U+009B is more often a broken quotation mark than the start of a sequence.
fn skip_control_sequence(rest: &mut Peekable<Chars<'_>>, needs_parameter: bool) {
    let mut ahead = rest.clone();
    let mut parameters = 0;
    while parameters < LONGEST_SEQUENCE && ahead.next_if(|c| matches!(c, ' '..='?')).is_some() {
        parameters += 1;
    }
    let complete = ahead.next_if(|c| matches!(c, '@'..='~')).is_some();
    if complete && (parameters > 0 || !needs_parameter) {
        *rest = ahead;
    }
}

/// Skips a control string if its end comes soon enough.
fn skip_string(rest: &mut Peekable<Chars<'_>>) {
    let mut ahead = rest.clone();
    for _ in 0..LONGEST_SEQUENCE {
        let before = ahead.clone();
        match ahead.next() {
            Some('\u{7}' | '\u{9c}') => {
                *rest = ahead;
                return;
            }
            // Without its backslash an ESC breaks the string off and begins a sequence of its own.
            Some('\u{1b}') => {
                *rest = match ahead.next_if_eq(&'\\') {
                    Some(_) => ahead,
                    None => before,
                };
                return;
            }
            Some(_) => {}
            None => return,
        }
    }
}

/// Why a text can't be the name of a run; `None` for one that can. A name with characters that are not seen is
/// listed as another one, and nobody finds it again.
pub fn fault_of_name(name: &str) -> Option<&'static str> {
    if name.trim().is_empty() {
        Some("a name is expected")
    } else if clean(name) != name || name.contains('\n') {
        Some("it holds control characters or others that are not seen; leave them out")
    } else {
        None
    }
}

/// Text from outside that stays on its line and drives no terminal.
pub fn one_line(text: &str) -> String {
    collapse(&clean(text))
}

/// The line, counted from 1, on which the byte at `at` of a text stands.
pub fn line_at(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1
}

/// White space collapsed to single spaces, ends trimmed.
pub fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The most characters of a [`short`] text.
const SHORT: usize = 60;

/// An id, a name or another value as a message quotes it: cleaned, on one line, at most 60 characters, the last of
/// them an ellipsis where something was cut off.
pub fn short(text: &str) -> String {
    // Cleaning may remove any number of characters; of a huge value only the beginning is looked at.
    let head: String = text.chars().take(SHORT * 20).collect();
    let whole = head.len() == text.len();
    let line = one_line(&head);
    if whole && line.chars().count() <= SHORT {
        return line;
    }
    let mut cut: String = line.chars().take(SHORT - 1).collect();
    cut.push('…');
    cut
}

/// The text on one line, whole: what [`clean`] removes and line ends are written as escapes, so that one sees what is in
/// it.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() || is_display_control(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    out
}

/// As [`short`], of a name that may hold what [`clean`] removes: that is written as escapes, so that one sees what is
/// wrong with it.
pub fn visible(name: &str) -> String {
    match clean(name) == name {
        true => short(name),
        false => short(&name.escape_debug().to_string()),
    }
}

/// At most the first `most` characters, with an ellipsis where something was cut.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// Bytes in lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// A number as a message quotes it: huge and tiny ones with an exponent, not with hundreds of digits.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size.is_finite() && (size >= 1e15 || (size < 1e-6 && size > 0.0)) => {
            format!("{value:e}")
        }
        _ => value.to_string(),
    }
}

/// A number with its noun, which takes its plural except after 1: "1 record", "2 records", "2 replies".
pub fn count(number: usize, noun: &str) -> String {
    let stem = noun
        .strip_suffix('y')
        .filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    match (number, stem) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) => format!("{number} {noun}s"),
    }
}

/// The form in which two documents count as the same text: NFKC, lower case, white space collapsed.
pub fn document_key(text: &str) -> String {
    let mut key = String::with_capacity(text.len());
    if text.is_ascii() {
        let mut space = false;
        for byte in text.bytes() {
            // Unlike `u8::is_ascii_whitespace`, Unicode counts the vertical tab as white space.
            if byte.is_ascii_whitespace() || byte == b'\x0b' {
                space = !key.is_empty();
                continue;
            }
            if std::mem::take(&mut space) {
                key.push(' ');
            }
            key.push(char::from(byte.to_ascii_lowercase()));
        }
        return key;
    }
    // Word by word, so that only words outside ASCII pay for normalising; NFKC never joins across a space.
    for word in text.split_ascii_whitespace() {
        if !key.is_empty() {
            key.push(' ');
        }
        if word.is_ascii() {
            key.push_str(&word.to_ascii_lowercase());
        } else {
            key.push_str(&collapse(&word.nfkc().collect::<String>().to_lowercase()));
        }
    }
    // A word may normalise to nothing or to white space, or hold other white space (vertical tab).
    if key.contains("  ") || key.ends_with(' ') || key.contains('\u{b}') {
        key = collapse(&key);
    }
    key
}

/// A hash of [`document_key`]: the first 128 bits of its SHA-256.
pub fn text_key(text: &str) -> u128 {
    let digest = Sha256::digest(document_key(text).as_bytes());
    digest[..16]
        .iter()
        .fold(0, |key, &byte| (key << 8) | u128::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_quoted_in_few_characters() {
        for (value, said) in [
            (60.0, "60"),
            (100.5, "100.5"),
            (1e308, "1e308"),
            (-2.5e20, "-2.5e20"),
            (1e-9, "1e-9"),
            (0.0, "0"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(number(value), said);
        }
    }

    #[test]
    fn what_is_not_seen_is_escaped() {
        assert_eq!(visible("th\u{1b}[1me\u{200b}"), "th\\u{1b}[1me\\u{200b}");
        assert_eq!(visible("Größe"), "Größe");
    }

    #[test]
    fn bytes_have_two_digits_each() {
        assert_eq!(hex(&[0, 9, 0xab, 255]), "0009abff");
    }

    #[test]
    fn nouns_take_their_plural() {
        let all = [
            (1, "reply"),
            (2, "reply"),
            (0, "query"),
            (3, "day"),
            (2, "record"),
        ];
        let said = all.map(|(number, noun)| count(number, noun));
        assert_eq!(
            said,
            ["1 reply", "2 replies", "0 queries", "3 days", "2 records"]
        );
    }

    #[test]
    fn escape_sequences_and_overrides_are_removed() {
        assert_eq!(
            clean("a\u{1b}[31mb\u{1b}[0m\tc\r\nd\u{7}\u{202e}e"),
            "ab    c\nde"
        );
        assert_eq!(clean("\u{1b}]0;title\u{7}x\u{9b}2Jy"), "xy");
        assert_eq!(clean("\u{1b}]8;;http://x\u{1b}\\link"), "link");
        assert_eq!(clean("\u{1b}]0;a\u{1b}]0;b\u{7}c\u{1b}P\u{1b}[31md"), "cd");
        assert_eq!(clean("\u{1b}(Ba\u{1b}cb\u{1b}"), "ab");
        assert_eq!(clean("é e\u{301} 中 \u{3b1}"), "é e\u{301} 中 \u{3b1}");
    }

    #[test]
    fn text_around_a_stray_control_character_survives() {
        // Quotation marks read in the wrong encoding leave C1 controls behind.
        assert_eq!(clean("â\u{80}\u{9d}yesâ\u{80}\u{98} no"), "âyesâ no");
        assert_eq!(clean("a\u{9b}bc"), "abc");
        assert_eq!(
            clean("a \u{1b}]never closed. The rest"),
            "a ]never closed. The rest"
        );
        assert_eq!(clean("one\u{2028}two\u{c}three"), "one\ntwo\nthree");
    }

    #[test]
    fn names_that_are_not_seen_as_they_are_have_a_fault() {
        for name in ["a", "night run", "nächtlich", "a/b", "実行"] {
            assert_eq!(fault_of_name(name), None, "{name:?}");
        }
        for name in [
            "",
            "  ",
            "a\u{1b}[31mb",
            "a\nb",
            "a\tb",
            "a\u{202e}b",
            "a\0",
            "a\u{200b}",
        ] {
            assert!(fault_of_name(name).is_some(), "{name:?}");
        }
    }

    #[test]
    fn quoted_values_are_short_and_on_one_line() {
        assert_eq!(short("a\n\u{1b}[31mb "), "a b");
        let sixty = "é".repeat(60);
        assert_eq!(short(&sixty), sixty);
        let cut = short(&"é".repeat(5000));
        assert_eq!(cut, format!("{}…", "é".repeat(59)));
        assert_eq!(
            count(1, "record") + ", " + &count(0, "record"),
            "1 record, 0 records"
        );
    }

    #[test]
    fn document_keys_ignore_case_and_spacing() {
        assert_eq!(document_key(" A\u{a0}b\n C"), document_key("a B c"));
        assert_eq!(document_key("ﬁne Ⅳ"), "fine iv");
    }

    proptest! {
        #[test]
        fn cleaned_text_has_no_control_characters_and_stays_clean(text in any::<String>()) {
            let cleaned = clean(&text);
            prop_assert!(cleaned.chars().all(|c| c == '\n' || !(c.is_control() || is_display_control(c))));
            prop_assert_eq!(clean(&cleaned), cleaned.clone());
        }

        #[test]
        fn the_quick_key_of_ascii_is_the_defined_one(text in "[ -~\t\r\n\u{b}\u{1c}]{0,30}") {
            prop_assert_eq!(document_key(&text), collapse(&text.to_lowercase()));
        }

        #[test]
        fn the_quick_document_key_is_the_defined_one(text in "[ a-zA-ZÄé\u{308}\u{a8}\u{a0}ﬁσΣ\u{b}\u{3000}\n]{0,30}") {
            let defined = collapse(&text.nfkc().collect::<String>().to_lowercase());
            prop_assert_eq!(document_key(&text), defined);
        }
    }
}
