//! Statements about the answer in running text: who says what, and whether it is meant.

use super::choice::{Choice, letter_in_brackets};
use super::letters::leading_letter;
use super::meant::{clause_start, first_line, is_meant};
use super::options::Options;
use super::phrases::{INSUFFICIENT, NOT_OFFERED, Pattern, compile};
use super::qualified::commits;
use super::targets::{letter_at, target, without_brackets, word_end};

/// What a statement says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// "The answer is B."
    Strong(Choice),
    /// "B is right", "which leaves B".
    Weak(Choice),
    /// "The answer is not B."
    Reject(char),
}

impl Kind {
    pub(super) fn choice(self) -> Option<Choice> {
        match self {
            Kind::Strong(choice) | Kind::Weak(choice) => Some(choice),
            Kind::Reject(_) => None,
        }
    }
}

/// A statement with its place in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Statement {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

/// Words between an announcement and the answer that say nothing about which one it is.
const FILLERS: &str = r#"["'_\s:,>]*(?:(?:(?:therefore|thus|hence|then|likely|most\s+likely|probably|clearly|definitely|certainly|obviously|undoubtedly|actually|simply|indeed|in\s+fact|of\s+course|again|still|only|just|either|both|the\s+option|the\s+letter|options?|choices?|letter|answer|number|statement|I\s+(?:think|believe)|in\s+my\s+(?:opinion|view)|none\s+other\s+than|nothing\s+(?:but|other\s+than))\b|\\text(?:bf)?\{|\\math(?:rm|bf)\{)["'_\s:,{(\[]*)*"#;

/// "the answer is", "correct option:", "answer_choice":, "I choose", "\boxed{": the answer follows.
pub(super) static ANNOUNCED: Pattern = Pattern::new(|| {
    let head = r#"(?imx)
        (?:
          (?:
            (?:\b|_)(?:answers?(?:[_\s]+choice)?|ans
              |(?:correct|right|best|final|chosen|selected|suitable|appropriate|likely|accurate|logical|reasonable|remaining|closest|safest|obvious|only|better)\s+
               (?:remaining\s+|possible\s+|answer\s+|multiple[\s-]choice\s+)?(?:option|choice|response|selection|pick|letter|alternative|candidate)s?
              |(?:option|choice|one|statement|answer)\s+that\s+[^.:;\n]{1,80}?
              |(?:my|our)\s+(?:final\s+|best\s+)?(?:choice|pick|guess|vote|selection|decision|verdict|conclusion|option))
            \b(?:\s+to\s+(?:the|this)\s+question,?\s+["'\u{201c}\u{2018}][^\n]{1,300}?["'\u{201d}\u{2019}]|\s+(?:to|for|of|in|here|among|amongst|based|given|from|that|which|would|we|I|you)\b[^.:;\n]{0,80}?|,[^.:;\n]{0,60},)?
            (?: ['\u{2019}]s\b | ["'_\s]*
            (?:(?P<neg>(?:(?:can(?:\s?not|['\u{2019}]t)|(?:could|must|should|would|may|might|will)\s+not|(?:could|should|would|wo)n['\u{2019}]t)\s+be|(?:is|are|was)n['\u{2019}]t|(?:is|are|was)\s+(?:\w+ly\s+)?not)\b)
              |(?:would|should|must|will|can\s+only|has\s+to|have\s+to|ought\s+to|seems?\s+to|appears?\s+to)\s+be\b|(?:is|are|was|remains|becomes|goes\s+to|lies\s+with)\b
              |[:=>]|->|\u{2192}|\u{21d2}|\u{2013}|\u{2014}|-))
          )
          | \b(?:I|we|let['\u{2019}]?s|let\s+us)(?:\s+(?:would|will|must|should|have\s+to|am\s+going\s+to|can)|['\u{2019}](?:d|ll)|['\u{2019}]m\s+going\s+to)?
            (?:\s+(?:therefore|thus|still|personally|definitely|then|finally|have\s+to))?
            \s+(?:choose|chose|select|selected|pick|picked|go\s+(?:for|with)|went\s+with|answer(?:\s+with)?|say|opt\s+for|vote\s+for|settle\s+(?:on|for)|conclude\s+with)\b
          | \b(?:I\s+am|I['\u{2019}]m|we\s+are|we['\u{2019}]re)\s+(?:going|sticking|left)\s+with\b
          | \x5cboxed\{ | \bans\.
          | ^\W{0,6}(?:final|conclusion|verdict|choice|option|selected|selection|response|result|solution|decision)\s*:
          | ^\W{0,6}(?:the\s+)?(?:final|correct|best|my)?\s*(?:answer|choice|option)[\#_\s]*\n
        )"#;
    compile(&format!("{head}{FILLERS}"))
});

/// Announcements in other languages; only a letter may follow.
static FOREIGN: Pattern = Pattern::new(|| {
    compile(
        r#"(?ix)
        (?:
          \b(?:antwort|l\u{f6}sung)(?:\s+(?:ist|lautet|w\u{e4}re)(?:\s+(?:daher|also|somit|die|eindeutig))*|\s*:)
          | \b(?:respuesta|opci\u{f3}n)(?:\s+(?:correcta|final|adecuada|m\u{e1}s\s+adecuada))?(?:\s+(?:es|ser\u{ed}a)(?:\s+la)?|\s*:)
          | \br[\u{e9}e]ponse(?:\s+(?:correcte|finale|exacte))?(?:\s+est(?:\s+(?:donc|la))*|\s*:)
          | \brisposta(?:\s+(?:corretta|esatta|giusta))?(?:\s+\u{e8}(?:\s+la)?|\s*:)
          | \b(?:antwoord|odpowied[z\u{17a}]|cevap|svar|\u{111}\u{e1}p\s+\u{e1}n)(?:(?:\s+(?:is|to|er|\u{e4}r|l\u{e0}|\u{111}\u{fa}ng))+|\s*:)
          | \u{43e}\u{442}\u{432}\u{435}\u{442}(?:\s*(?:\u{2014}|\u{2013}|-|:|\u{44d}\u{442}\u{43e}|\u{431}\u{443}\u{434}\u{435}\u{442}))+
          | (?:\u{c815}\u{b2f5}|\u{b2f5})(?:\u{c740}|\u{c774}|\u{b294}|\s*:)
          | (?:\u{627}\u{644}\u{625}\u{62c}\u{627}\u{628}\u{629}|\u{627}\u{644}\u{627}\u{62c}\u{627}\u{628}\u{629}|\u{627}\u{644}\u{62c}\u{648}\u{627}\u{628})(?:\s+(?:\u{627}\u{644}\u{635}\u{62d}\u{64a}\u{62d}\u{629}|\u{627}\u{644}\u{635}\u{62d}\u{64a}\u{62d}|\u{627}\u{644}\u{646}\u{647}\u{627}\u{626}\u{64a}\u{629}))*\s*(?:\u{647}\u{64a}|\u{647}\u{648}|:)
          | \bresposta(?:\s+(?:correta|certa))?(?:\s+\u{e9}(?:\s+a)?|\s*:)
          | (?:\u{7b54}\u{6848}|\u{6b63}\u{786e}\u{9009}\u{9879}|\u{6b63}\u{78ba}\u{9078}\u{9805}|\u{6700}\u{4f73}\u{9009}\u{9879}|\u{6b63}\u{89e3}|\u{7b54}\u{3048})(?:\u{5e94}\u{8be5}|\u{61c9}\u{8a72}|\u{5e94})?(?:\u{662f}|\u{4e3a}|\u{70ba}|\u{9009}|\u{9078}|\u{306f}|:)
          | (?:\u{9009}\u{62e9}|\u{9078}\u{64c7}|\u{6545}\u{9009}|\u{5e94}\u{9009}|\u{9009})
        )
        ["'_\s:]*(?:(?:option|opci\u{f3}n|opzione|lettre|letra|buchstabe|die|la|le)\b|\u{9009}\u{9879}|\u{9078}\u{9805}|\u{432}\u{430}\u{440}\u{438}\u{430}\u{43d}\u{442}|\u{627}\u{644}\u{62e}\u{64a}\u{627}\u{631})?["'_\s:]*
        "#,
    )
});

/// "the most likely diagnosis is": the letter or text of an option that follows is meant, if nothing
/// better is said.
static SUPERLATIVE: Pattern = Pattern::new(|| {
    let head = r"(?ix)
        \b(?:most\s+(?:likely|appropriate|probable|suitable|accurate|consistent)|best|correct|next\s+best|closest)
        \s+(?:[\w'-]+,?\s+){1,14}?(?:is|would\s+be)\b";
    compile(&format!("{head}{FILLERS}"))
});

/// "it is", "which leaves", "so": a letter that follows is meant, if nothing better is said.
static HINTED: Pattern = Pattern::new(|| {
    let head = r"(?ix)
        (?:
          \b(?:it|that|this)(?:['\u{2019}]s|\s+(?:is|must\s+be|has\s+to\s+be|should\s+be|would\s+be|can\s+only\s+be))\b
          | \b(?:leaves?(?:\s+us)?(?:\s+with)?|leaving(?:\s+us)?(?:\s+with)?|left\s+with|points?\s+to(?:wards?)?|leads?\s+(?:us\s+)?to|narrow\w*\s+(?:it\s+|this\s+)?down\s+to|settle\s+(?:on|for)|opt\s+for|go(?:ing)?\s+with|lean(?:s|ing)?\s+(?:\w+\s+)?towards?|corresponds?\s+to|choose|select|pick|consistent\s+with|by\s+(?:elimination|exclusion))\b
          | (?:^|[.!?:;,\n]\s*)(?:therefore|thus|hence|so|ergo|finally|in\s+conclusion)\b
          | \u{2234}
        )";
    compile(&format!("{head}{FILLERS}"))
});

/// "option B", "(C)" or "so C", where a statement about the letter may follow.
static REFERENCE: Pattern = Pattern::new(|| {
    compile(
        r"(?mx)
        \b(?i:options?|choices?|answer|letter|statement|alternative)\s+[(\[]?(?P<named>[A-Za-z])\b[)\]]?
        |(?:^|[.,:;!?\n(\u{2014}\u{2013}]\s*|\b(?i:so|therefore|thus|hence|only|but|and|that|think|believe|conclude|say|while|whereas|because|clearly|indeed|since|means|now|then)\b,?\s+)[(\[]?(?P<bare>[A-Z])\b[)\]]?",
    )
});

/// What is said about the option that was just named.
static PREDICATE: Pattern = Pattern::new(|| {
    compile(
        r"(?x)^[,\s)\x22'\u{2014}\u{2013}-]{0,4}
        (?:
          (?P<strong>(?:is|would\s+be|must\s+be|should\s+be|has\s+to\s+be|seems(?:\s+to\s+be)?|appears(?:\s+to\s+be)?|remains|was)\s+
            (?:(?:therefore|thus|hence|clearly|likely|most\s+likely|probably|indeed|definitely|obviously|then|also|still)\s+)*
            (?:(?:the|my|our)\s+(?:(?:single|only|one|most|very|clear|clearly|overall)\s+)*
               (?:correct|right|best|final|appropriate|likely|accurate|suitable|probable|possible|viable|remaining|logical|obvious|better|plausible|reasonable|safest|closest)\s+
               (?:\w+\s+){0,2}?(?:answer|option|choice|one|pick|response|selection)\b
              |(?:the|my|our)\s+(?:final\s+)?answer\b|my\s+(?:final\s+)?(?:choice|pick)\b)
            |it\s+is\s*(?:[.!;]|$))
          |(?P<weak>(?:is|seems|appears|looks|would\s+be|must\s+be|should\s+be|has\s+to\s+be)\s+
              (?:(?:therefore|thus|hence|clearly|likely|probably|indeed|definitely|obviously|then|also|to\s+be)\s+)*
              (?:correct|right|best|the\s+(?:best|closest)\s+(?:fit|match)|(?:the\s+)?most\s+(?:likely|appropriate|consistent|accurate|suitable|probable|plausible|reasonable))(?:[\s.,;:!)]|$)
            |(?:best\s+(?:fits|explains|matches|describes|answers|fulfils|fulfills|accounts)|(?:fits|matches|explains|describes)\s+(?:\w+\s+){0,3}?best|makes\s+(?:the\s+)?most\s+sense)\b)
          |(?P<reject>(?:is|was)\s+(?:(?:therefore|thus|clearly|definitely)\s+)*not\s+(?:the\s+)?(?:correct|right|best|final)\s+(?:answer|option|choice)\b|(?:is|can\s+be|was)\s+(?:therefore\s+|thus\s+)?(?:ruled\s+out|excluded|eliminated)\b)
        )",
    )
});

/// "B and C are both correct".
static BOTH: Pattern = Pattern::new(|| {
    compile(
        r"(?x)\b(?P<first>[A-Z])(?:\s*,\s*[A-Z])*\s*,?\s*(?:and|&)\s+(?:(?i:option)\s+)?(?P<last>[A-Z])\s+(?:are|seem|would\s+be)\s+(?:both\s+|all\s+|equally\s+)?(?P<what>correct|right|the\s+(?:correct|right|best)\s+(?:answers?|options?|choices?))\b",
    )
});

/// What follows the text of an option that is called the answer.
static IS_THE_ANSWER: Pattern = Pattern::new(|| {
    compile(
        r"(?ix)\s+(?:is|would\s+be|must\s+be|seems\s+to\s+be|remains)\s+(?:therefore\s+|thus\s+|clearly\s+|likely\s+)?the\s+(?:(?:single|only|most)\s+)?(?:correct|right|best|final|appropriate|likely|accurate|suitable)\s+(?:answer|option|choice)\b",
    )
});

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
    found.retain(|statement| is_meant(text, statement));
    found.sort_by_key(|statement| (statement.start, statement.end));
    found
}

/// The last places of a pattern.
fn places(pattern: &Pattern, text: &str) -> Vec<(usize, usize)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_compile() {
        for pattern in [
            &ANNOUNCED,
            &FOREIGN,
            &SUPERLATIVE,
            &HINTED,
            &REFERENCE,
            &PREDICATE,
            &BOTH,
            &IS_THE_ANSWER,
        ] {
            assert!(pattern.get().is_some());
        }
    }
}
