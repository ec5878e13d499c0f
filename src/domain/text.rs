//! Text that comes from outside: cleaning before it is shown, normalising before it is compared.

use unicode_normalization::UnicodeNormalization;

/// Removes everything that could drive a terminal: escape sequences, control characters (tabs become
/// spaces, line ends become `\n`), bidirectional overrides and other invisible format characters that
/// change how a line is displayed. Combining marks and joiners stay.
pub fn clean(text: &str) -> String {
    let needs = |c: char| (c.is_control() && c != '\n') || is_display_control(c);
    if !text.chars().any(needs) {
        return text.to_owned();
    }
    let unified = text
        .replace("\r\n", "\n")
        .replace('\r', "\n")
        .replace('\t', "    ");
    strip_ansi_escapes::strip_str(&unified)
        .chars()
        .filter(|&c| c == '\n' || !(c.is_control() || is_display_control(c)))
        .collect()
}

/// Characters that reorder or hide text on screen.
fn is_display_control(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// White space collapsed to single spaces, ends trimmed.
pub fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The form in which two documents count as the same text: NFKC, lower case, white space collapsed.
pub fn document_key(text: &str) -> String {
    collapse(&text.nfkc().collect::<String>().to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_overrides_are_removed() {
        assert_eq!(
            clean("a\u{1b}[31mb\u{1b}[0m\tc\r\nd\u{7}\u{202e}e"),
            "ab    c\nde"
        );
        assert_eq!(clean("\u{1b}]0;title\u{7}x\u{9b}2Jy"), "xy");
        assert_eq!(clean("é e\u{301} 中 \u{3b1}"), "é e\u{301} 中 \u{3b1}");
    }

    #[test]
    fn document_keys_ignore_case_and_spacing() {
        assert_eq!(document_key(" A\u{a0}b\n C"), document_key("a B c"));
    }
}
