//! Statements about the answer in running text: who says what, and whether it is meant.

use super::choice::{Choice, letter_in_brackets};
use super::corrections::corrected;
use super::letters::leading_letter;
use super::meant::{clause_start, first_line, is_meant};
use super::options::Options;
use super::phrases::{INSUFFICIENT, NOT_OFFERED, Pattern};
use super::qualified::commits;
use super::targets::{letter_at, target, without_brackets, word_end};
pub(super) use patterns::ANNOUNCED;
use patterns::{BOTH, FOREIGN, HINTED, IS_THE_ANSWER, PREDICATE, REFERENCE, SUPERLATIVE};

mod patterns;

/// What a statement says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// "The answer is B."
    Strong(Choice),
    /// "B is right", "which leaves B".
    Weak(Choice),
    /// "Wait, B": an answer that corrects what was said before.
    Corrected(Choice),
    /// "The answer is not B."
    Reject(char),
    /// "B is wrong", which may be what the question asks for.
    Wrong(char),
}

impl Kind {
    pub(super) fn choice(self) -> Option<Choice> {
        match self {
            Kind::Strong(choice) | Kind::Weak(choice) | Kind::Corrected(choice) => Some(choice),
            Kind::Reject(_) | Kind::Wrong(_) => None,
        }
    }

    pub(super) fn is_strong(self) -> bool {
        matches!(self, Kind::Strong(_) | Kind::Corrected(_))
    }
}

/// A statement with its place in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Statement {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

/// Most places that one pattern is followed at; a text with more of them is hostile.
const MAX_PLACES: usize = 400;

/// The statements of a text in their order.
pub(super) fn statements(text: &str, options: &Options<'_>) -> Vec<Statement> {
    let mut found = Vec::new();
    announced(text, options, &mut found);
    foreign(text, options, &mut found);
    hinted(text, options, &mut found);
    superlatives(text, options, &mut found);
    subjects(text, options, &mut found);
    several(text, options, &mut found);
    option_texts(text, options, &mut found);
    corrected(text, options, &mut found);
    found.retain(|statement| is_meant(text, statement));
    found.sort_by_key(|statement| (statement.start, statement.end));
    found
}

/// The last places of a pattern.
pub(super) fn places(pattern: &Pattern, text: &str) -> Vec<(usize, usize)> {
    let Some(regex) = pattern.get() else {
        return Vec::new();
    };
    let mut all: Vec<(usize, usize)> = regex
        .find_iter(text)
        .map(|found| (found.start(), found.end()))
        .collect();
    let first = all.len().saturating_sub(MAX_PLACES);
    all.drain(..first);
    all
}

fn announced(text: &str, options: &Options<'_>, out: &mut Vec<Statement>) {
    for (start, end) in places(&ANNOUNCED, text) {
        if !commits(text, (start, end)) {
            continue;
        }
        let denied = ANNOUNCED
            .get()
            .and_then(|regex| Some(regex.captures_at(text, start)?.name("neg")?.start()));
        if let Some(statement) = denied.and_then(|from| none_of_them(text, start, from)) {
            out.push(statement);
            continue;
        }
        // "The answer is a" may go on; "option a" does not.
        let rest = &text[end..];
        if rest.len() < 8 && rest.trim() == "a" && !names_an_option(&text[start..end]) {
            continue;
        }
        if text[start..end].contains('\n') && begins_a_list(&text[end..], options) {
            continue;
        }
        let whole = filler_begins_option(text, start, end, options);
        let found = whole.or_else(|| target(&text[end..], denied.is_some(), options));
        if let Some((mut kind, length)) = found {
            // "Either B (text) or …" has a second one, however it is written.
            let either = whole.is_none() && text[start..end].to_lowercase().contains(" either");
            if either && matches!(kind, Kind::Strong(Choice::Letter(_))) {
                kind = Kind::Strong(Choice::Several);
            }
            out.push(Statement {
                kind,
                start: start + signs_before(&text[start..end]),
                end: end + length,
            });
        }
    }
}

/// The option whose text begins with words that an announcement usually fills in: "Both B and C", "Only
/// statement 1". Gives where it ends after `end`.
fn filler_begins_option(
    text: &str,
    start: usize,
    end: usize,
    options: &Options<'_>,
) -> Option<(Kind, usize)> {
    let line = first_line(&text[end..]);
    let sentence = line[..line.find(". ").unwrap_or(line.len())].trim_end_matches(['.', ' ', '!']);
    let head = &text[start..end];
    let mut from = head.len();
    for _ in 0..4 {
        let before = head[..from].trim_end();
        from = before.rfind([' ', '\n', ':']).map(|at| at + 1)?;
        let word = head[from..].split_whitespace().next().unwrap_or_default();
        if !FILLING.contains(&word.to_lowercase().as_str()) {
            return None;
        }
        let whole = format!("{}{sentence}", &head[from..]);
        if let Some(letter) = options.by_text(&whole) {
            return Some((Kind::Strong(Choice::Letter(letter)), sentence.len()));
        }
    }
    None
}

/// Words of [`FILLERS`] with which an option may begin.
const FILLING: [&str; 14] = [
    "both",
    "either",
    "only",
    "just",
    "the",
    "option",
    "options",
    "choice",
    "choices",
    "answer",
    "number",
    "statement",
    "likely",
    "still",
];

/// Whether the options are listed or gone through one by one, instead of an answer being given.
fn begins_a_list(tail: &str, options: &Options<'_>) -> bool {
    let end = tail.floor_char_boundary(3000);
    let mut letters = tail[..end].lines().filter_map(|line| {
        let (letter, rest) = leading_letter(line)?;
        let letter = letter.to_ascii_uppercase();
        (options.offers(letter) && !rest.is_empty()).then_some(letter)
    });
    let first = letters.next();
    first.is_some() && letters.any(|letter| Some(letter) != first)
}

/// "The answer is not listed", "the answer cannot be determined"; the denial begins at `from`.
fn none_of_them(text: &str, start: usize, from: usize) -> Option<Statement> {
    let line = first_line(&text[from..]);
    let sentence = &line[..line.find(". ").unwrap_or(line.len())];
    let says = |pattern: &Pattern| {
        pattern
            .get()?
            .find(sentence)
            .filter(|found| found.start() < 8)
    };
    let (choice, found) = match says(&INSUFFICIENT) {
        Some(found) => (Choice::Insufficient, found),
        None => (Choice::NotOffered, says(&NOT_OFFERED)?),
    };
    Some(Statement {
        kind: Kind::Strong(choice),
        start: start + signs_before(&text[start..from]),
        end: from + found.end(),
    })
}

/// Whether nothing is said about the letter before `rest`: "so option A is unlikely" concludes nothing.
fn stands_alone(rest: &str) -> bool {
    let rest = without_brackets(rest).trim_start_matches([')', ']', '"', '\'', '\u{201d}']);
    let word = rest.trim_start();
    let signed = rest.starts_with(|c: char| !c.is_whitespace());
    signed
        || !word.starts_with(char::is_alphanumeric)
        || [
            "because", "since", "due", "based", "given", "rather", "over", "by",
        ]
        .iter()
        .any(|known| word.starts_with(known))
}

/// Whether a text ends with "option" or its like.
pub(super) fn names_an_option(text: &str) -> bool {
    let text = text.trim_end().to_lowercase();
    ["option", "choice", "letter", "answer"]
        .iter()
        .any(|word| text.ends_with(word))
}

/// How many bytes of signs stand before the first word.
fn signs_before(text: &str) -> usize {
    let words = text.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '\\');
    text.len() - words.len()
}

fn foreign(text: &str, options: &Options<'_>, out: &mut Vec<Statement>) {
    for (start, end) in places(&FOREIGN, text) {
        let denied = is_denied_elsewhere(&text[..start]);
        let line = first_line(&text[end..]);
        if denied
            || !line
                .trim_start_matches(['(', '['])
                .starts_with(|c: char| c.is_ascii_uppercase())
        {
            continue;
        }
        if let Some((choice, length)) = letter_at(line, options) {
            out.push(Statement {
                kind: Kind::Strong(choice),
                start,
                end: end + length,
            });
        }
    }
}

/// Whether the word before an announcement in another language denies it: "falsche Antwort".
fn is_denied_elsewhere(before: &str) -> bool {
    let near = before[before.ceil_char_boundary(before.len().saturating_sub(40))..].to_lowercase();
    near.ends_with([
        '\u{4e0d}', '\u{522b}', '\u{975e}', '\u{672a}', '\u{8bef}', '\u{8aa4}',
    ]) || near.ends_with("\u{9519}\u{8bef}\u{7684}")
        || near.ends_with('\u{c624}')
        || near.split_whitespace().next_back().is_some_and(|word| {
            let stems = [
                "falsch",
                "fausse",
                "mauvaise",
                "sbagliat",
                "foute",
                "verkeerd",
                "fel",
                "\u{43d}\u{435}\u{43f}\u{440}\u{430}\u{432}\u{438}\u{43b}\u{44c}\u{43d}",
                "\u{43d}\u{435}\u{432}\u{435}\u{440}\u{43d}",
            ];
            stems.iter().any(|stem| word.starts_with(stem))
        })
}

fn hinted(text: &str, options: &Options<'_>, out: &mut Vec<Statement>) {
    for (start, end) in places(&HINTED, text) {
        let line = first_line(&text[end..]);
        let head = text[start..end]
            .trim_end_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase();
        let named = names_an_option(&head);
        let inner = line.trim_start_matches(['(', '[', '"', '\'']);
        let word = ["so", "therefore", "thus", "hence"]
            .iter()
            .any(|word| head.ends_with(word))
            .then(|| options.leading_word(line))
            .flatten();
        let found = match word {
            Some(letter) => Some((Choice::Letter(letter), word_end(line))),
            None if named || inner.starts_with(|c: char| c.is_ascii_uppercase()) => {
                letter_at(line, options)
            }
            None => None,
        };
        let alone = |length: usize| word.is_some() || stands_alone(&line[length..]);
        if let Some((choice @ Choice::Letter(_), length)) = found
            && alone(length)
            && !head.ends_with("options")
        {
            out.push(Statement {
                kind: Kind::Weak(choice),
                start: start + signs_before(&text[start..end]),
                end: end + length,
            });
        }
    }
}

fn superlatives(text: &str, options: &Options<'_>, out: &mut Vec<Statement>) {
    for (start, end) in places(&SUPERLATIVE, text) {
        let line = first_line(&text[end..]);
        let sentence = &line[..line.find(". ").unwrap_or(line.len())];
        let named = names_an_option(&text[start..end]);
        let letter = letter_at(line, options).filter(|(choice, length)| match choice {
            Choice::Letter(letter) => {
                let own = line[*length..].trim_start_matches(['.', ')', ':', ' ']);
                named || options.begins_alike(*letter, own) || options.shares_word(*letter, own)
            }
            _ => false,
        });
        let trimmed = sentence.trim_end_matches(['.', ' ']).len();
        let found = letter.or_else(|| {
            let letter = letter_in_brackets(sentence, options)
                .or_else(|| options.by_text(sentence))
                .or_else(|| options.beginning(line))?;
            Some((Choice::Letter(letter), trimmed))
        });
        if let Some((choice, length)) = found {
            out.push(Statement {
                kind: Kind::Weak(choice),
                start,
                end: end + length,
            });
        }
    }
}

fn subjects(text: &str, options: &Options<'_>, out: &mut Vec<Statement>) {
    let (Some(reference), Some(predicate)) = (REFERENCE.get(), PREDICATE.get()) else {
        return;
    };
    for (start, end) in places(&REFERENCE, text) {
        let Some(found) = reference.captures_at(text, start) else {
            continue;
        };
        let named = found.name("named");
        let Some(letter) = named.or_else(|| found.name("bare")) else {
            continue;
        };
        let upper = letter.as_str().to_ascii_uppercase();
        let Some(upper) = upper.chars().next() else {
            continue;
        };
        let rest = without_own_text(upper, &text[end..], options);
        let Some(said) = predicate.captures(rest) else {
            continue;
        };
        let strong = said.name("strong").is_some();
        let choice = match options.offers(upper) {
            true => Choice::Letter(upper),
            false if named.is_some() && strong => Choice::NotOffered,
            false => continue,
        };
        out.push(Statement {
            kind: if said.name("reject").is_some() {
                Kind::Reject(upper)
            } else if said.name("wrong").is_some() {
                Kind::Wrong(upper)
            } else if strong {
                Kind::Strong(choice)
            } else {
                Kind::Weak(choice)
            },
            start: named.map_or(letter.start(), |_| start),
            end: text.len() - rest.len() + said.get(0).map_or(0, |whole| whole.end()),
        });
    }
}

/// What follows the letter of an option without that option's own text: " (clindamycin) is …",
/// ". Clindamycin is …". At most about 400 bytes.
fn without_own_text<'t>(letter: char, rest: &'t str, options: &Options<'_>) -> &'t str {
    let line = first_line(rest);
    let after_brackets = without_brackets(line);
    if after_brackets.len() < line.len() {
        return &rest[line.len() - after_brackets.len()..];
    }
    let own = line.trim_start_matches([
        '.', ':', ',', ' ', ')', '"', '\'', '-', '\u{2013}', '\u{2014}',
    ]);
    let delimited = line.starts_with(['.', ':', ')', ',']);
    let key = options.key(letter);
    let begins = own
        .get(..key.len())
        .is_some_and(|begin| !key.is_empty() && begin.to_lowercase() == key);
    if begins {
        return &rest[line.len() - own.len() + key.len()..];
    }
    // A text that is nearly the option's, up to its verb.
    let verb = [" is ", " would be ", " seems "]
        .iter()
        .filter_map(|verb| own.find(verb))
        .min();
    match verb {
        Some(at)
            if delimited
                && at < 120
                && !own[..at].trim_end_matches(',').contains([';', '.'])
                && options.shares_word(letter, &own[..at]) =>
        {
            &rest[line.len() - own.len() + at..]
        }
        _ => rest,
    }
}

fn several(text: &str, options: &Options<'_>, out: &mut Vec<Statement>) {
    let Some(regex) = BOTH.get() else { return };
    for (start, _) in places(&BOTH, text) {
        let Some(found) = regex.captures_at(text, start) else {
            continue;
        };
        let offered = ["first", "last"].iter().all(|name| {
            let letter = found
                .name(name)
                .and_then(|letter| letter.as_str().chars().next());
            letter.is_some_and(|letter| options.offers(letter))
        });
        if let (true, Some(whole), Some(what)) = (offered, found.get(0), found.name("what")) {
            let choice = Choice::Several;
            out.push(Statement {
                kind: if what.as_str().starts_with("the") {
                    Kind::Strong(choice)
                } else {
                    Kind::Weak(choice)
                },
                start: whole.start(),
                end: whole.end(),
            });
        }
    }
}

/// "Clindamycin is the best choice."
fn option_texts(text: &str, options: &Options<'_>, out: &mut Vec<Statement>) {
    for (start, end) in places(&IS_THE_ANSWER, text) {
        let from = clause_start(text, start);
        let clause = text[from..start].trim_end_matches([')', '"', '\'', ' ']);
        if let Some(letter) = options.ending(clause) {
            out.push(Statement {
                kind: Kind::Strong(Choice::Letter(letter)),
                start: start - options.key(letter).len().min(start - from),
                end,
            });
        }
    }
}
