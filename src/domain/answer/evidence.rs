//! Why a reply was read as it was: the rule that decided, and the place in the raw reply.

use serde::{Deserialize, Serialize};

/// A byte range of the raw reply, `start..end`.
///
/// Promised: `start <= end <= raw.len()`, and both lie on character boundaries, so that
/// `&raw[span.start..span.end]` never panics on the text that was parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The text of the range; `None` where `raw` is another text than the one that was parsed.
    pub fn of(self, raw: &str) -> Option<&str> {
        raw.get(self.start..self.end)
    }
}

/// The rule that decided the outcome of a reply, and the text that it was decided from.
///
/// Promised: the range has the properties of [`Span`]. For an answer field it covers the field's value
/// (a text without its quotes); for a sentence it begins with the words that announce the answer and ends
/// with the answer; where nothing in the text decided (an empty reply, an answer that never came) it is
/// empty and lies at the end of what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The rule; [`Rule::sentence`] says it in words.
    pub rule: Rule,
    /// First byte of the text that decided.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
}

impl Evidence {
    /// The range as a [`Span`].
    pub fn span(self) -> Span {
        Span {
            start: self.start,
            end: self.end,
        }
    }
}

/// Where the other parts of a reply stand in the raw text; `None` for a part that is not there, that
/// came without a field of its own, or whose place is not known.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sources {
    /// The reasoning field's text, without its quotes.
    pub reasoning: Option<Span>,
    /// The list of relevant documents, with its brackets.
    pub relevant: Option<Span>,
    /// The list of irrelevant documents, with its brackets.
    pub irrelevant: Option<Span>,
    /// Entry k is the value of sub-question k: the object with its braces, or a text without its quotes.
    pub subs: Vec<Option<Span>>,
}

/// What decided the outcome of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// One offered letter.
    OneLetter,
    /// A letter and a text.
    LetterWithText,
    /// The text of one option.
    OptionText,
    /// The text of one option and an explanation.
    OptionTextFirst,
    /// Yes, no or maybe, true or false.
    OptionWord,
    /// A sentence that commits.
    Sentence,
    /// The first or the last line.
    OwnLine,
    /// One of the listed options carries a mark.
    Marked,
    /// Several letters or texts.
    SeveralNamed,
    /// Sentences that commit to different options.
    SentencesCompete,
    /// A letter that is not offered.
    LetterNotOffered,
    /// None of the options.
    NoneOfThem,
    /// Insufficient information.
    InsufficientPhrase,
    /// A refusal.
    RefusalPhrase,
    /// An error message.
    SavedError,
    /// A commitment that was taken back.
    TakenBack,
    /// The answer field is empty or null.
    EmptyAnswer,
    /// The answer field names no option.
    NamesNothing,
    /// Nothing commits.
    NoStatement,
    /// The text ends before the answer does.
    BrokenOff,
    /// Only hidden reasoning.
    HiddenOnly,
    /// No text at all.
    EmptyReply,
    /// The answer has not come yet.
    NotYet,
    /// `strict`: an object of the schema.
    StrictSchema,
    /// `strict`: no object of the schema.
    NotTheSchema,
    /// `mirage`: one of its patterns.
    MiragePattern,
    /// `mirage`: none of its patterns.
    MirageDefault,
}

impl Rule {
    /// The rule in one sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Rule::OneLetter => "One offered letter stands where the answer belongs.",
            Rule::LetterWithText => "A letter with a text: the letter decides.",
            Rule::OptionText => "This is the whole text of exactly one option.",
            Rule::OptionTextFirst => "The text of one option, followed by an explanation.",
            Rule::OptionWord => "A word that is one of the options of this question.",
            Rule::Sentence => "The last sentence that commits to an answer decides.",
            Rule::OwnLine => "The answer stands alone in the first or the last line.",
            Rule::Marked => "Of the options listed, this one is marked as the right one.",
            Rule::SeveralNamed => "More than one option is named as the answer.",
            Rule::SentencesCompete => {
                "Sentences commit to different options, and none of them corrects the other."
            }
            Rule::LetterNotOffered => "The letter is not one of the options offered.",
            Rule::NoneOfThem => "It says that none of the options is right.",
            Rule::InsufficientPhrase => "It says that the information does not suffice.",
            Rule::RefusalPhrase => "It declines to answer.",
            Rule::SavedError => "This is an error message that was saved in place of a reply.",
            Rule::TakenBack => "The answer is taken back, and no other one follows.",
            Rule::EmptyAnswer => "The answer field is empty.",
            Rule::NamesNothing => "The answer field names none of the options.",
            Rule::NoStatement => "No answer field, and no sentence commits to an answer.",
            Rule::BrokenOff => "The text ends before the answer is complete.",
            Rule::HiddenOnly => "There is nothing but hidden reasoning.",
            Rule::EmptyReply => "The reply is empty.",
            Rule::NotYet => "The answer has not arrived yet.",
            Rule::StrictSchema => "One valid object of the schema, nothing else, with one answer.",
            Rule::NotTheSchema => "This is not one valid object of the schema with one answer.",
            Rule::MiragePattern => "The first pattern of MIRAGE's script that matches decides.",
            Rule::MirageDefault => "No pattern of MIRAGE's script matches, so it takes A.",
        }
    }
}

/// A text made from pieces of another one, which remembers where each piece came from.
#[derive(Debug, Clone, Default)]
pub(super) struct Mapped {
    /// The text.
    pub text: String,
    pieces: Vec<Piece>,
}

/// `out` in the text made, `raw` in the text it was made from. Lengths differ where characters were
/// replaced by others.
#[derive(Debug, Clone, Copy)]
struct Piece {
    out: usize,
    out_len: usize,
    raw: usize,
    raw_len: usize,
}

impl Mapped {
    /// Appends a part of the source that stands at `raw` there.
    pub(super) fn push(&mut self, part: &str, raw: usize) {
        self.replace(part, raw, part.len());
    }

    /// Appends `text` in place of the `raw_len` bytes at `raw` of the source.
    pub(super) fn replace(&mut self, text: &str, raw: usize, raw_len: usize) {
        if text.is_empty() {
            return;
        }
        let same = text.len() == raw_len;
        let out = self.text.len();
        self.text.push_str(text);
        if let Some(last) = self.pieces.last_mut()
            && same
            && last.out_len == last.raw_len
            && last.raw + last.raw_len == raw
        {
            last.out_len += raw_len;
            last.raw_len += raw_len;
            return;
        }
        self.pieces.push(Piece {
            out,
            out_len: text.len(),
            raw,
            raw_len,
        });
    }

    /// Appends `start..end` of another text, with the places of its pieces.
    pub(super) fn take(&mut self, other: &Mapped, start: usize, end: usize) {
        let first = other
            .pieces
            .partition_point(|piece| piece.out + piece.out_len <= start);
        for piece in &other.pieces[first..] {
            let (from, to) = (start.max(piece.out), end.min(piece.out + piece.out_len));
            if from >= to {
                return;
            }
            let text = &other.text[from..to];
            if piece.out_len == piece.raw_len {
                self.push(text, piece.raw + (from - piece.out));
            } else {
                self.replace(text, piece.raw, piece.raw_len);
            }
        }
    }

    /// The range of the source from which `start..end` of the text came.
    pub(super) fn source(&self, start: usize, end: usize) -> Span {
        let piece_of = |at: usize| {
            let after = self.pieces.partition_point(|piece| piece.out <= at);
            after.checked_sub(1).map(|last| self.pieces[last])
        };
        let offset = |piece: Piece, at: usize, whole: usize| {
            if piece.out_len == piece.raw_len {
                piece.raw + (at - piece.out).min(piece.raw_len)
            } else {
                piece.raw + whole
            }
        };
        let from = piece_of(start).map_or(0, |piece| offset(piece, start, 0));
        if end <= start {
            return Span {
                start: from,
                end: from,
            };
        }
        let to = piece_of(end - 1).map_or(from, |piece| offset(piece, end, piece.raw_len));
        Span {
            start: from,
            end: to.max(from),
        }
    }

    /// Where in the text made the first piece begins that came from `raw` or later.
    pub(super) fn after(&self, raw: usize) -> usize {
        let piece = self.pieces.iter().find(|piece| piece.raw >= raw);
        piece.map_or(self.text.len(), |piece| piece.out)
    }

    /// The same text without emphasis, invisible characters, pictures and the signs around a formula, with letters
    /// of every width as plain ones.
    pub(super) fn plain(text: &str) -> Mapped {
        let mut out = Mapped::default();
        let mut kept_from = 0;
        let mut rest = text.char_indices().peekable();
        while let Some((at, c)) = rest.next() {
            if at < kept_from {
                continue;
            }
            let tag = if c == '<' {
                emphasis_tag(&text[at..])
            } else {
                0
            };
            if tag > 0 {
                out.push(&text[kept_from..at], kept_from);
                kept_from = at + tag;
                continue;
            }
            if c == '\\' && text[at + 1..].starts_with(['(', ')', '[', ']']) {
                out.push(&text[kept_from..at], kept_from);
                kept_from = at + 2;
                continue;
            }
            let length = c.len_utf8();
            let double = c == '_'
                && (rest.peek().is_some_and(|&(_, next)| next == '_') || text[..at].ends_with('_'));
            let dropped = matches!(
                c,
                '*' | '`' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{fe0f}'
            ) || double
                || is_picture(c);
            let plain = plain_letter(c);
            if !dropped && plain.is_none() {
                continue;
            }
            out.push(&text[kept_from..at], kept_from);
            if let Some(plain) = plain {
                out.replace(plain.encode_utf8(&mut [0; 4]), at, length);
            }
            kept_from = at + length;
        }
        out.push(&text[kept_from..], kept_from);
        out
    }
}

/// The length of a tag that only changes how a text looks; 0 where there is none.
fn emphasis_tag(text: &str) -> usize {
    // In lower case: "<B>" is an answer.
    const NAMES: [&str; 9] = ["b", "i", "u", "em", "strong", "mark", "code", "span", "p"];
    let name_of = || {
        let inner = text.strip_prefix('<')?;
        let close = inner.bytes().take(10).position(|b| b == b'>')?;
        let name = inner[..close].trim_start_matches('/');
        NAMES.contains(&name).then_some(close + 2)
    };
    name_of().unwrap_or(0)
}

/// Whether a character is a picture that says nothing about an answer. Marks that say right or wrong, arrows,
/// digits and the signs of the sexes stay.
fn is_picture(c: char) -> bool {
    match c {
        '\u{2610}'..='\u{2612}' | '\u{2640}'..='\u{2642}' => false,
        '\u{2705}' | '\u{2713}'..='\u{2718}' | '\u{274c}' | '\u{274e}' => false,
        '\u{1f44e}' | '\u{1f534}' | '\u{1f6ab}' | '\u{1f7e2}' => false,
        // Letters and an arrow, see `plain_letter`.
        '\u{1f100}'..='\u{1f1ff}' | '\u{1f449}' => false,
        '\u{231a}' | '\u{231b}' | '\u{23e9}'..='\u{23f3}' | '\u{20e3}' => true,
        '\u{2600}'..='\u{2775}' | '\u{2b50}' | '\u{2b55}' | '\u{1f000}'..='\u{1faff}' => true,
        _ => false,
    }
}

/// The ASCII sign that a full-width, circled or mathematical one stands for; a pointing hand or a drawn arrow is
/// a plain arrow.
fn plain_letter(c: char) -> Option<char> {
    let code = u32::from(c);
    let letter = |from: u32, first: char| char::from_u32(u32::from(first) + (code - from));
    match code {
        0xff01..=0xff5e => letter(0xff01, '!'),
        0x24b6..=0x24cf => letter(0x24b6, 'A'),
        0x24d0..=0x24e9 => letter(0x24d0, 'a'),
        0x1f150..=0x1f169 => letter(0x1f150, 'A'),
        0x1f170..=0x1f189 => letter(0x1f170, 'A'),
        0x1f449 | 0x2794 | 0x2798..=0x27af | 0x27b2..=0x27be => Some('\u{2192}'),
        // Bold, italic, script, sans-serif and monospace alphabets of 52 letters each.
        0x1d400..=0x1d6a3 => {
            let at = (code - 0x1d400) % 52;
            let first = if at < 26 { 'A' } else { 'a' };
            char::from_u32(u32::from(first) + at % 26)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_found_again() {
        let raw = "é **Ｂ** {x} it \u{200b}is";
        let plain = Mapped::plain(raw);
        assert_eq!(plain.text, "é B {x} it is");
        let at = plain.text.find('B').unwrap_or_default();
        assert_eq!(plain.source(at, at + 1).of(raw), Some("Ｂ"));
        assert_eq!(plain.source(0, 3).of(raw), Some("é "));
        let at = plain.text.find("it").unwrap_or_default();
        assert_eq!(
            plain.source(at, plain.text.len()).of(raw),
            Some("it \u{200b}is")
        );
        assert_eq!(plain.source(2, 2), Span { start: 2, end: 2 });
        assert_eq!(Mapped::default().source(0, 0), Span::default());
    }

    #[test]
    fn letters_of_every_width() {
        assert_eq!(
            Mapped::plain("（Ｃ） Ⓑ 𝐃 𝖺 __B__ _B_").text,
            "(C) B D a B _B_"
        );
    }

    #[test]
    fn pictures_and_signs_of_formulas_go_but_marks_stay() {
        for (raw, plain) in [
            ("C \u{1f44d}\u{1f3fd}", "C "),
            ("\u{1fa7a} C", " C"),
            ("\u{1f449} C \u{2705}", "\u{2192} C \u{2705}"),
            ("C \u{274c}", "C \u{274c}"),
            ("2 \u{2640}", "2 \u{2640}"),
            (r"\(C\) is \[x\] and \boxed{C}", r"C is x and \boxed{C}"),
        ] {
            assert_eq!(Mapped::plain(raw).text, plain, "{raw}");
        }
    }
}
