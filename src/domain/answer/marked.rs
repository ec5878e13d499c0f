//! Lists and tables of the options in which one carries a mark: "B. Warfarin ✅", "| B | correct |".

use super::choice::{Choice, Read};
use super::evidence::{Mapped, Rule};
use super::letters::RIGHT_MARKS;
use super::options::Options;
use super::phrases::{Pattern, compile};

/// A line that begins with an option's letter, after signs of a list or a table.
static LISTED: Pattern = Pattern::new(|| {
    compile(
        r"(?m)^[\s|>#\u{2022}+-]*(?:\d{1,2}[.)]\s+)?(?P<before>(?:[\u{2705}\u{2714}\u{2713}\u{2611}\u{274c}\u{2716}\u{2717}\u{2718}\u{1f7e2}\u{1f534}\u{2192}]|\[[ xX\u{2713}\u{2714}]?\])\s*)?(?:(?i:options?|choice|answer)\s+)?[(\[]?(?P<letter>[A-Z])(?P<after>[)\].:]+\s|\s*[|:\u{2013}\u{2014}]|\s+-|\s*[\u{2705}\u{2714}\u{2713}\u{2611}\u{274c}\u{2716}]|[)\].:]+$)",
    )
});

/// "correct" as an element of its own: a cell, in brackets, after a dash or a colon.
static CALLED_RIGHT: Pattern = Pattern::new(|| {
    compile(
        r"(?i)(?:[|(\[:\u{2014}\u{2013}\u{2190}]|\s->?|<-|\s=)\s*(?:the\s+)?(?:correct|right|best)(?:\s+(?:answer|option|choice|one))?\s*(?:[|)\].!;,\u{2014}\u{2013}]|\s-|$)",
    )
});

/// Most lines that are looked at, the last of the text.
const MAX_LINES: usize = 400;

/// Whether a line of an option marks it as the right one.
fn is_marked(line: &str, before: &str) -> bool {
    let ticked = before.starts_with("[x") || before.starts_with("[X");
    ticked || line.contains(RIGHT_MARKS) || CALLED_RIGHT.is_match(line)
}

/// The option whose line is marked; several, where more than one is.
pub(super) fn marked(text: &str, options: &Options<'_>, notes: &mut Vec<String>) -> Option<Read> {
    let plain = Mapped::plain(text);
    let listed = LISTED.get()?;
    let mut lines: Vec<_> = listed.captures_iter(&plain.text).collect();
    lines.drain(..lines.len().saturating_sub(MAX_LINES));
    let mut found: Option<(char, usize, usize)> = None;
    for line in lines {
        let (whole, letter) = (line.get(0)?, line.name("letter")?);
        let letter = letter.as_str().chars().next()?;
        let rest = &plain.text[whole.start()..];
        let rest = &rest[..rest.floor_char_boundary(2000)];
        let lead = rest.len() - rest.trim_start().len();
        let own = rest[lead..].lines().next().unwrap_or_default();
        let before = line.name("before").map_or("", |mark| mark.as_str());
        if !options.offers(letter) || !is_marked(own, before) {
            continue;
        }
        if found.is_some_and(|(other, ..)| other != letter) {
            notes.push("several options are marked".into());
            return Some(Read::by(Choice::Several, Rule::SeveralNamed));
        }
        let start = whole.start() + lead;
        found = Some((letter, start, start + own.trim_end().len()));
    }
    let (letter, start, end) = found?;
    notes.push("the answer is taken from a marked line".into());
    let span = plain.source(start, end);
    Some(Read {
        choice: Choice::Letter(letter),
        rule: Rule::Marked,
        at: Some((span.start, span.end)),
    })
}

/// An option with a verdict on it: "A: no", "B) Warfarin \u{2013} yes", "| C | false |".
static VERDICT: Pattern = Pattern::new(|| {
    compile(
        r"(?m)\b(?P<letter>[A-Z])[)\].]*(?:[ \t]+[^\n;:|=]{1,100}?|[ \t]*\|[^\n|]{1,100})?[ \t]*(?:[:=|\u{2192}\u{2013}\u{2014}]|[ \t]->?|[)\]][ \t])[ \t]*(?i:(?P<right>yes|true|correct|right)|(?P<wrong>no|false|incorrect|wrong|not\s+(?:correct|right|true)))\s*(?:[.,;|)!\u{2013}\u{2014}]|[ \t]-|$)",
    )
});

/// The one option that is called right where every other one offered is called wrong: "A: no, B: yes, C: no".
/// Options that are verdicts themselves are read elsewhere.
pub(super) fn verdicts(text: &str, options: &Options<'_>, notes: &mut Vec<String>) -> Option<Read> {
    let offered: Vec<char> = options.all().collect();
    let are_words = |letter: &char| matches!(options.key(*letter), "yes" | "no" | "true" | "false");
    if offered.len() < 2 || offered.iter().any(are_words) {
        return None;
    }
    let plain = Mapped::plain(text);
    let mut said: Vec<(char, bool)> = Vec::new();
    let mut right: Option<(char, usize, usize)> = None;
    for found in VERDICT.get()?.captures_iter(&plain.text) {
        let (whole, letter) = (found.get(0)?, found.name("letter")?);
        let letter = letter.as_str().chars().next()?;
        let is_right = found.name("right").is_some();
        match said.iter().find(|(known, _)| *known == letter) {
            Some((_, known)) if *known != is_right => return None,
            Some(_) => {}
            None if options.offers(letter) => said.push((letter, is_right)),
            None => {}
        }
        if is_right && right.is_some_and(|(known, ..)| known != letter) {
            return None;
        }
        if is_right {
            right = Some((letter, whole.start(), whole.end()));
        }
    }
    let (letter, start, end) = right.filter(|_| said.len() == offered.len())?;
    notes.push("the answer is the only option that is called right".into());
    let span = plain.source(start, end);
    Some(Read {
        choice: Choice::Letter(letter),
        rule: Rule::Marked,
        at: Some((span.start, span.end)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Choice> {
        let texts = ["Vitamin D", "Clindamycin", "Hepatitis B", "Rest"];
        let list: Vec<(char, String)> = ('A'..='D').zip(texts.map(str::to_owned)).collect();
        marked(text, &Options::new(&list), &mut Vec::new()).map(|read| read.choice)
    }

    #[test]
    fn one_line_is_marked() {
        for text in [
            "A. Vitamin D\nB. Clindamycin \u{2705}\nC. Hepatitis B\nD. Rest",
            "- A. Vitamin D \u{274c}\n- B. Clindamycin \u{2714}\u{fe0f}\n- C. Hepatitis B \u{274c}",
            "| A | Vitamin D | no |\n| B | Clindamycin | **correct** |\n| C | Hepatitis B | no |",
            "| Option | Verdict |\n|---|---|\n| A | incorrect |\n| **B** | \u{2705} correct |",
            "A) Vitamin D (incorrect)\nB) Clindamycin (correct)\nC) Hepatitis B (incorrect)",
            "**A.** Incorrect: no.\n**B.** Clindamycin: **Correct**\n**C.** Incorrect.",
            "\u{274c} A. Vitamin D\n\u{2705} B. Clindamycin\n\u{274c} C. Hepatitis B",
            "- [ ] A. Vitamin D\n- [x] B. Clindamycin\n- [ ] C. Hepatitis B",
            "Option A: wrong\nOption B: correct.\nOption C: wrong",
            "A. Vitamin D\nB. Clindamycin \u{2190} correct answer\nC. Hepatitis B",
        ] {
            assert_eq!(read(text), Some(Choice::Letter('B')), "{text}");
        }
    }

    #[test]
    fn every_option_has_a_verdict() {
        let texts = ["Vitamin D", "Clindamycin", "Hepatitis B", "Rest"];
        let list: Vec<(char, String)> = ('A'..='D').zip(texts.map(str::to_owned)).collect();
        let read = |text: &str| {
            verdicts(text, &Options::new(&list), &mut Vec::new()).map(|read| read.choice)
        };
        for text in [
            "A: no\nB: yes\nC: no\nD: no",
            "A: No, B: Yes, C: No, D: No",
            "(A) no; (B) yes; (C) no; (D) no",
            "| A | Vitamin D | no |\n| B | Clindamycin | yes |\n| C | Hepatitis B | no |\n| D | Rest | no |",
            "A) Vitamin D - false\nB) Clindamycin - true\nC) Hepatitis B - false\nD) Rest - false",
            "1. A \u{2192} no\n2. B \u{2192} yes\n3. C \u{2192} no\n4. D \u{2192} no",
        ] {
            assert_eq!(read(text), Some(Choice::Letter('B')), "{text}");
        }
        for text in [
            "A: no\nB: yes\nC: no",
            "A: no\nB: yes\nC: yes\nD: no",
            "A: true\nB: false\nC: true\nD: true",
            "A: no\nB: yes\nC: no\nD: no\nB: no",
            "A: no effect\nB: yes\nC: no\nD: no",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn no_line_or_several_are_marked() {
        for text in [
            "A. Vitamin D\nB. Clindamycin\nC. Hepatitis B",
            "A. Vitamin D: incorrect\nB. Clindamycin: not correct",
            "A. Vitamin D is the correct supplement in scurvy\nB. Clindamycin",
            "\u{2705} All done",
            "A patient \u{2705} was seen",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        let two = "A. Vitamin D \u{2705}\nB. Clindamycin \u{2705}";
        assert_eq!(read(two), Some(Choice::Several));
    }
}
