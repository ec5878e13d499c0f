//! The two normalisations of short answers, and token overlap.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;

use crate::domain::text::collapse;

/// The headline form for exact match: NFKC, case folded, dashes as `-`, white space collapsed;
/// `. , ; : ! ?`, quotes and paired brackets stripped at the ends only; a leading article dropped. A decimal point
/// at the beginning is none of these: `.5 mg` is `0.5 mg`.
///
/// Inner punctuation and `< > ≤ ≥ ± % + -` stay, so `1.5 mg` differs from `15 mg`, `<5%` from `>5%`
/// and `hepatitis A` from `hepatitis`.
pub fn headline(text: &str) -> String {
    let unified: String = text
        .nfkc()
        .flat_map(char::to_lowercase)
        .map(|c| match c {
            '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{2043}' | '\u{fe58}' | '\u{fe63}' => '-',
            'ς' => 'σ',
            c => c,
        })
        .collect();
    let collapsed = collapse(&unified.replace('ß', "ss"));
    let bare = strip_ends(&collapsed);
    let without_article = ["the ", "an ", "a "]
        .iter()
        .find_map(|article| bare.strip_prefix(article))
        .unwrap_or(bare);
    let plain = strip_ends(without_article);
    match begins_decimal(plain) {
        true => format!("0{plain}"),
        false => plain.to_owned(),
    }
}

/// Whether a text begins with a decimal point.
fn begins_decimal(text: &str) -> bool {
    let after = text.strip_prefix('.');
    after.is_some_and(|after| after.starts_with(|c: char| c.is_ascii_digit()))
}

/// Drops punctuation, quotes and brackets that enclose the whole, as long as there are any.
fn strip_ends(text: &str) -> &str {
    let mut rest = text;
    loop {
        let is_mark = |c: char| c.is_whitespace() || is_end_mark(c);
        let mut next = rest.trim_end_matches(is_mark);
        while !begins_decimal(next)
            && let Some(shorter) = next.strip_prefix(is_mark)
        {
            next = shorter;
        }
        if let Some(inner) = inside_brackets(next) {
            next = inner;
        }
        if next.len() == rest.len() {
            return rest;
        }
        rest = next;
    }
}

fn is_end_mark(c: char) -> bool {
    matches!(
        c,
        '.' | ',' | ';' | ':' | '!' | '?' | '"' | '\'' | '`' | '«' | '»'
    ) || ('\u{2018}'..='\u{201f}').contains(&c)
}

/// The inside of a text that one pair of brackets encloses as a whole.
fn inside_brackets(text: &str) -> Option<&str> {
    let open = text.chars().next()?;
    let close = match open {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        _ => return None,
    };
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return (at + c.len_utf8() == text.len()).then(|| &text[1..at]);
            }
        }
    }
    None
}

/// Whether two answers are the same under [`headline`]; an empty one equals nothing.
pub fn same(given: &str, gold: &str) -> bool {
    let gold = headline(gold);
    !gold.is_empty() && headline(given) == gold
}

/// The normalisation of SQuAD 1.1's evaluation script: lower case, ASCII punctuation removed,
/// articles removed, white space collapsed.
pub fn squad(text: &str) -> String {
    let bare: String = text
        .to_lowercase()
        .chars()
        .filter(|c| !c.is_ascii_punctuation())
        .collect();
    let mut out = String::with_capacity(bare.len());
    let mut word = String::new();
    let flush = |word: &mut String, out: &mut String| {
        out.push_str(match word.as_str() {
            "a" | "an" | "the" => " ",
            other => other,
        });
        word.clear();
    };
    for c in bare.chars() {
        if c.is_alphanumeric() {
            word.push(c);
        } else {
            flush(&mut word, &mut out);
            out.push(c);
        }
    }
    flush(&mut word, &mut out);
    collapse(&out)
}

/// Whether two answers are the same under [`squad`]; an empty one equals nothing.
pub fn same_squad(given: &str, gold: &str) -> bool {
    let gold = squad(gold);
    !gold.is_empty() && squad(given) == gold
}

/// Token F1 by multiset overlap of SQuAD tokens, 0 to 1. Where either side has no token it is 1 only
/// if both have none (as in SQuAD 2.0's script).
pub fn token_f1(given: &str, gold: &str) -> f64 {
    let (given, gold) = (squad(given), squad(gold));
    let given: Vec<&str> = given.split_whitespace().collect();
    let gold: Vec<&str> = gold.split_whitespace().collect();
    if given.is_empty() || gold.is_empty() {
        return if given.len() == gold.len() { 1.0 } else { 0.0 };
    }
    let mut left: HashMap<&str, usize> = HashMap::new();
    for token in &gold {
        *left.entry(token).or_default() += 1;
    }
    let mut common = 0_usize;
    for token in &given {
        if let Some(count) = left.get_mut(token).filter(|count| **count > 0) {
            *count -= 1;
            common += 1;
        }
    }
    2.0 * common as f64 / (given.len() + gold.len()) as f64
}

#[cfg(test)]
mod decimal_tests {
    use super::{headline, same};

    #[test]
    fn a_decimal_point_is_no_punctuation() {
        assert!(same(".5 mg", "0.5 mg"));
        assert!(!same(".5 mg", "5 mg"));
        assert!(same("\".5\".", "0.5"));
        assert_eq!(headline("... 5 mg."), "5 mg");
        assert_eq!(headline("."), "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headline_keeps_what_carries_meaning() {
        for (a, b) in [
            ("1.5 mg", "15 mg"),
            ("<5%", ">5%"),
            ("hepatitis A", "hepatitis"),
            ("+3", "-3"),
            ("≤ 5", "≥ 5"),
            ("(a) or (b)", "a) or (b"),
            ("IL-2", "IL 2"),
            ("", ""),
            ("?", "!"),
        ] {
            assert!(!same(a, b), "{a} = {b}");
        }
    }

    #[test]
    fn headline_ignores_what_does_not() {
        for (a, b) in [
            ("The  Aorta.", "aorta"),
            ("“a stroke”!", "Stroke"),
            ("(an [aneurysm].)", "ANEURYSM"),
            ("IL\u{2013}2", "il-2"),
            ("\u{2212}3 \u{b0}C", "-3 °c"),
            ("ﬁbrosis", "fibrosis"),
            ("５ ｍｇ", "5 mg"),
            ("Strauß", "STRAUSS"),
            ("the 'a' wave", "'a' wave"),
        ] {
            assert!(same(a, b), "{} <> {}", headline(a), headline(b));
        }
        assert_eq!(headline("A"), "a");
    }

    #[test]
    fn squad_is_coarser() {
        assert_eq!(squad("The 1.5-mg  dose, a (half)"), "15mg dose half");
        assert!(same_squad("1.5 mg", "15 mg"));
        assert!(!same_squad("", "the"));
    }

    #[test]
    fn overlap_counts_repeated_tokens_once_each() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(close(token_f1("b b b", "b b c"), 2.0 / 3.0));
        assert!(close(token_f1("the left atrium", "left atrium"), 1.0));
        assert!(close(token_f1("x", "y"), 0.0));
        assert!(close(token_f1("", "y"), 0.0));
        assert!(close(token_f1("the", "a"), 1.0));
    }
}
