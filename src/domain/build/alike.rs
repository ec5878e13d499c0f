//! Whether two short answers say the same in other letters.

use unicode_normalization::UnicodeNormalization;

/// Number words and their digits.
const NUMBERS: [(&str, &str); 13] = [
    ("zero", "0"),
    ("one", "1"),
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("ten", "10"),
    ("eleven", "11"),
    ("twelve", "12"),
];

/// Words that an abbreviation leaves out.
const LEFT_OUT: [&str; 6] = ["of", "the", "and", "in", "for", "a"];

/// Why two answers count as the same; `None` where no rule says so.
///
/// Known are: spelling (case, articles, hyphens, plurals, British *ae*/*oe*, number words, a unit written with or
/// without a space) and abbreviations by initials ("MI", "myocardial infarction"). Signs that change a number
/// (`<`, `>`, `%`, `-`) count. Other synonyms take a model.
pub fn alike(one: &str, other: &str) -> Option<&'static str> {
    let (a, b) = (words(one), words(other));
    if a.is_empty() || b.is_empty() {
        return None;
    }
    if a == b || a.concat() == b.concat() {
        return Some("they differ in spelling only");
    }
    if initials(one, &b) || initials(other, &a) {
        return Some("one is the abbreviation of the other");
    }
    None
}

/// The words in a form that ignores how they are written.
fn words(text: &str) -> Vec<String> {
    let folded: String = text.nfkc().flat_map(char::to_lowercase).collect();
    let mut found: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut rest = folded.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        let between_digits = word.ends_with(|c: char| c.is_ascii_digit())
            && next.is_some_and(|c| c.is_ascii_digit());
        let is_minus = matches!(c, '-' | '\u{2212}')
            && word.is_empty()
            && next.is_some_and(|c| c.is_ascii_digit());
        let changes_unit = word.ends_with(|c: char| c.is_ascii_digit()) && c.is_alphabetic();
        if changes_unit {
            found.push(std::mem::take(&mut word));
        }
        match c {
            c if c.is_alphanumeric() => word.push(c),
            '.' | ',' if between_digits => word.push('.'),
            '<' | '>' | '\u{2264}' | '\u{2265}' | '%' | '+' | '\u{b1}' => {
                found.push(std::mem::take(&mut word));
                found.push(c.to_string());
            }
            _ if is_minus => word.push('-'),
            _ => found.push(std::mem::take(&mut word)),
        }
    }
    found.push(word);
    found.retain(|word| !word.is_empty());
    // Only at the beginning: the last letter of "hepatitis A" is no article.
    if found.len() > 1 && ["a", "an", "the"].contains(&found[0].as_str()) {
        found.remove(0);
    }
    found.iter().map(|word| stem(word)).collect()
}

/// Number words as digits, one spelling of *ae* and *oe*, no plural.
fn stem(word: &str) -> String {
    if let Some((_, digits)) = NUMBERS.iter().find(|(name, _)| *name == word) {
        return (*digits).to_owned();
    }
    let word = word.replace("ae", "e").replace("oe", "e");
    let is_plural = word.len() > 3
        && word.ends_with('s')
        && !["ss", "us", "is", "as", "os"]
            .iter()
            .any(|ending| word.ends_with(ending));
    match is_plural {
        true => word[..word.len() - 1].to_owned(),
        false => word,
    }
}

/// Whether a text is an abbreviation of these words: capitals that are their initials.
fn initials(text: &str, words: &[String]) -> bool {
    let letters: Vec<char> = text.trim().chars().filter(|c| *c != '.').collect();
    let is_abbreviation =
        (2..=6).contains(&letters.len()) && letters.iter().all(char::is_ascii_uppercase);
    let first: Vec<char> = words
        .iter()
        .filter(|word| !LEFT_OUT.contains(&word.as_str()))
        .filter_map(|word| word.chars().next())
        .map(|c| c.to_ascii_uppercase())
        .collect();
    is_abbreviation && first == letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_and_abbreviations_are_alike() {
        for (a, b) in [
            ("The beta-blockers", "beta blocker"),
            ("Haemorrhage", "hemorrhage"),
            ("ten days", "10 days"),
            ("15mg", "15 mg"),
            ("MI", "myocardial infarction"),
            ("chronic obstructive disease of the lung", "CODL"),
            ("oesophagus", "esophagus."),
        ] {
            assert!(alike(a, b).is_some() && alike(b, a).is_some(), "{a} = {b}");
        }
    }

    #[test]
    fn contradictions_are_not() {
        for (a, b) in [
            ("<5%", ">5%"),
            ("1.5 mg", "15 mg"),
            ("-3", "3"),
            ("hepatitis A", "hepatitis B"),
            ("vitamin A", "vitamin"),
            ("insulin", "glucagon"),
            ("from 5 to 3", "from 3 to 5"),
            ("MI", "mitral insertion of"),
            ("", "x"),
        ] {
            let is_abbreviation = a == "MI";
            assert_eq!(alike(a, b).is_some(), is_abbreviation, "{a} <> {b}");
        }
    }
}
