//! Whether a statement is meant: not asked, supposed, denied or put into somebody else's mouth.

use super::phrases::{Pattern, compile};
use super::qualified::is_called_wrong;
use super::statements::Statement;

/// Where the sentence around `at` begins, at most about 300 bytes before it.
pub(super) fn sentence_start(text: &str, at: usize) -> usize {
    let from = text.ceil_char_boundary(at.saturating_sub(300));
    let before = &text[from..at];
    let stop = [". ", "! ", "? ", "; ", "\n"]
        .iter()
        .filter_map(|mark| before.rfind(mark).map(|found| found + mark.len()))
        .max();
    from + stop.unwrap_or(0)
}

pub(super) fn clause_start(text: &str, at: usize) -> usize {
    let from = sentence_start(text, at);
    let comma = text[from..at]
        .rfind([',', ':'])
        .map_or(0, |found| found + 1);
    from + comma
}

/// A turn within a sentence: what stands before it does not govern what follows.
static CLAUSE: Pattern = Pattern::new(|| {
    compile(r"(?i)\b(?:but|however|yet|still|nevertheless|nonetheless|so|therefore|thus|hence)\b")
});

/// "If the patient were a child, …": supposed, not said.
pub(super) static SUPPOSED: Pattern = Pattern::new(|| {
    compile(
        r"(?ix)\b(?:if|unless|suppose|supposing|provided\s+that|in\s+case|whether|assuming|presuming)\b
        | (?:^|[;,:]|\band|\bor)\s*(?:otherwise|else|if\s+not)\b
        | ^\W*(?:had|were|should)\s+(?:\w+\s+){1,10}?(?:been|be|to|not|\w+ed|[\w\s]+,)
        | \b(?:under|in)\s+(?:(?:other|different|hypothetical)\s+(?:circumstances|conditions|cases?|settings?|situations?)|an?\s+(?:different|hypothetical)\b|another\s+(?:patient|case|setting|situation|scenario))
        | ^\W*(?:normally|ordinarily|usually),?\s[^.]*$",
    )
});

/// "If I had to choose", "if we consider", "assuming that there is no typo": said all the same.
static SAID_ALL_THE_SAME: Pattern = Pattern::new(|| {
    compile(
        r"(?ix)\bif\s+(?:i|one|we|you)\s+(?:had\s+to|have\s+to|must|need\s+to|were\s+to|was\s+to|consider|look|compare|use|apply|think|recall|remember|analy[sz]e|read|calculate|compute|assume|take)\b
        |\b(?:assuming|presuming)\s+(?:that\s+)?(?:the\s+(?:question|usual|standard)|this\s+question|you|no\b|there\s+(?:is|are)\s+no|an?\s+(?:typo|typical|standard|normal)|standard|typical|usual|normal)",
    )
});

/// Words between a verb of saying and the answer that is said.
const SAID_NEXT: &str =
    r"\s+(?:(?:me|us|him|her|them)\s+)?(?:that\s+)?(?:(?:the|this|its?)\s+)?(?:[\w-]+\s+){0,2}$";

/// What others may think or say, what one thought at first, and what is told as a mistake.
static REPORTED: Pattern = Pattern::new(|| {
    let somebody = r"(?:he|she|who|(?:some|any|every)(?:one|body)|patients?|users?|doctors?|physicians?|residents?|candidates?|readers?|colleagues?|friends?|teachers?|professors?|lecturers?|tutors?|critics?|authors?|students?|(?:text)?books?|websites?|blogs?|(?:chat)?bots?)";
    let says = r"(?:th(?:ink|inks|ought)|sa(?:y|ys|id)|tells?|told|believe[sd]?|argue[sd]?|assume[sd]?|suppose[sd]?|conclude[sd]?|guess(?:es|ed)?|insist(?:s|ed)?|maintain(?:s|ed)?|writes?|wrote)";
    compile(&format!(
        r"(?ix)\b(?:some|many|people|students|others|one|you|they|someone|clinicians)\s+(?:\w+\s+){{0,2}}?(?:think|say|believe|argue|claim|assume|suppose|conclude|guess|choose|pick|select|answer|tempted)\b
        | \b{somebody}\s+(?:\w+\s+){{0,2}}?{says}{SAID_NEXT}
        | \b{somebody}\s+(?:\w+\s+){{0,2}}?(?:suggest|recommend|propose|indicate|hint|report|state|insist|assert|claim|choose|pick|answer|favou?r)(?:s|d|ed)?{SAID_NEXT}
        | \b(?:says|states|asserts|insists|contends|opines|maintains|believes|thinks|argues){SAID_NEXT}
        | \b(?:was|were|been|am|is|being)\s+(?:\w+\s+)?(?:told|informed|advised|said|claimed|believed|rumou?red){SAID_NEXT}
        | \baccording\s+to\s+(?:my|his|her|their|an?|some)\s+(?:\w+\s+)?{somebody}\b
        | \b(?:claims?|claimed|claiming|alleges?|alleged|purports?|supposedly|allegedly|reportedly|rumou?r\s+has\s+it){SAID_NEXT}
        | \b(?:belief|assumption|idea|notion|impression|rumou?r)\s+(?:is|was){SAID_NEXT}
        | \b(?:mistakenly|wrongly|incorrectly|falsely|erroneously)\s+{says}{SAID_NEXT}
        | \b(?:mistake|error|wrong|tempting|temptation|incorrect|false|fallacy)\s+(?:(?:is|was|would\s+be)\s+)?(?:to|of)\s+(?:think|believe|say|assume|suppos|conclud|claim|argu|infer|choos|pick|select|answer)\w*
        | \b(?:misconceptions?|misbelief|myth|fallacy)\b
        | \b(?:tempting|at\s+first(?:\s+(?:glance|sight|look))?|initially|originally|my\s+first|might\s+(?:seem|appear|suggest|think)|may\s+(?:seem|appear|suggest)|could\s+(?:argue|suggest|suspect)|common\s+mistake|distractor)\b"
    ))
});

/// "The documents say that", "experts argued that": a verb of saying after its subject, which is not the reply.
static OTHERS_SAY: Pattern = Pattern::new(|| {
    compile(&format!(
        r"(?ix)(?P<subject>[\w'\u{{2019}}]+)\s+(?:(?:have|has|had|would|will|can|could|may|might|should|must)\s+)?(?:\w+ly\s+)?(?:say|said|state|stated|assert|asserted|argue|argued|insist|insisted|contend|contended|maintain|maintained){SAID_NEXT}"
    ))
});

/// Whether the clause before a statement puts it into the mouth of others.
fn others_say(clause: &str) -> bool {
    const OWN: [&str; 28] = [
        "i",
        "we",
        "us",
        "to",
        "would",
        "will",
        "can",
        "could",
        "should",
        "must",
        "may",
        "might",
        "shall",
        "let",
        "i'd",
        "i'll",
        "we'd",
        "as",
        "have",
        "had",
        "has",
        "i've",
        "and",
        "you",
        "always",
        "thus",
        "previously",
        "just",
    ];
    let subject = OTHERS_SAY
        .get()
        .and_then(|regex| regex.captures(clause))
        .and_then(|found| found.name("subject"));
    subject.is_some_and(|subject| {
        let word = subject.as_str().to_lowercase().replace('\u{2019}', "'");
        !OWN.contains(&word.as_str())
    })
}

/// What follows an answer and gives it to somebody else: ", says DOC_2", ", or so he claims".
static SAID_AFTER: Pattern = Pattern::new(|| {
    compile(
        r"(?i)^[)\]\x22'\u{201d}]*,?\s+(?:or\s+so\s+(?:[\w'\u{2019}]+\s+){1,4}?(?:say|said|claim|think|thought|believ|argu|suggest)\w*|(?:says|said|claims|claimed|argues|argued|insists|insisted)\s+(?:\w)|according\s+to\s+(?:my|his|her|their)\s)",
    )
});

/// "I don't think that …", "it is unlikely that …", "nobody would say that …", "wrong: …".
static DENIED: Pattern = Pattern::new(|| {
    let believe = r"(?:think|believe|say|sure|certain|clear|mean|convinced|agree|true|conclude|imply|suggest|support|possible|the\s+case|correct\s+to|right\s+to)";
    compile(&format!(
        r"(?ix)(?:\bn(?:o|['\u{{2019}}])t|n['\u{{2019}}]t|\bcannot|\bnever|\bhardly)\s+(?:\w+\s+){{0,2}}?{believe}\b
        | \b(?:nobody|no\s?one|no-one|hardly\s+any(?:one|body)|few(?:\s+\w+)?|rarely|seldom)\s+(?:\w+\s+){{0,3}}?(?:{believe}|argue|claim|choose|pick|select|answer)s?\b
        | \b(?:doubt|unlikely|unsure|uncertain|unclear|(?:false|wrong|untrue|incorrect)\s+(?:that|to))\b
        | \b(?:no\s+(?:way|chance|world\s+in\s+which)|in\s+no\s+way|by\s+no\s+means|under\s+no\s+circumstances?)(?:\s+(?:is|are|can|could|would))?{SAID_NEXT}
        | ^\W*(?:maybe|perhaps|possibly)\b
        | ^\W*(?:wrong|incorrect|false|untrue|myth|fiction|mistake)\s*[:\u{{2014}}\u{{2013}}-]\s*(?:that\s+)?(?:the\s+)?$
        | (?:\bnot|n['\u{{2019}}]t|\bnever|\bcannot)\s+(?:\w+\s+)?$"
    ))
});

/// "There is no doubt that …".
static CERTAIN: Pattern = Pattern::new(|| {
    compile(
        r"(?i)\b(?:no|without(?:\s+a|\s+any)?|beyond(?:\s+any|\s+a)?|don['\u{2019}]t|do\s+not|not|nobody|no\s?one)\s+(?:\w+\s+)?(?:doubt|unlikely|uncertain)",
    )
});

/// What follows an answer and makes it a supposition.
static CONDITION: Pattern = Pattern::new(|| {
    compile(r"(?i)^[)\]\x22']*,?\s+(?:only\s+)?(?:if|unless|in\s+case|provided\s+that)\b")
});

/// Whether a statement is meant: not asked, supposed, denied or somebody else's.
pub(super) fn is_meant(text: &str, statement: &Statement) -> bool {
    let from = sentence_start(text, statement.start);
    let sentence = &text[from..statement.start];
    let clause = CLAUSE
        .get()
        .and_then(|regex| regex.find_iter(sentence).last())
        .map_or(sentence, |turn| &sentence[turn.end()..]);
    if is_question(text, statement.end) || REPORTED.is_match(clause) || others_say(clause) {
        return false;
    }
    if SAID_AFTER.is_match(first_line(&text[statement.end..])) {
        return false;
    }
    let said = |text: &str| SAID_ALL_THE_SAME.is_match(text);
    if SUPPOSED.is_match(clause) && !said(clause) {
        return false;
    }
    if DENIED.is_match(clause) && !CERTAIN.is_match(clause) {
        return false;
    }
    if is_called_wrong(text, statement.end) {
        return false;
    }
    let after = &text[statement.end..];
    !CONDITION.is_match(first_line(after)) || said(first_line(after))
}

/// Whether the sentence that holds `at` ends with a question mark.
fn is_question(text: &str, at: usize) -> bool {
    let line = first_line(&text[at..]);
    let end = line.char_indices().find(|&(at, c)| {
        matches!(c, '?' | '!')
            || c == '.' && !line[at + 1..].starts_with(|c: char| c.is_alphanumeric())
    });
    matches!(end, Some((_, '?')))
}

/// The beginning of a text up to its line end, at most about 400 bytes.
pub(super) fn first_line(text: &str) -> &str {
    let text = &text[..text.floor_char_boundary(400)];
    &text[..text.find('\n').unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_compile() {
        for pattern in [
            &CLAUSE,
            &SUPPOSED,
            &SAID_ALL_THE_SAME,
            &REPORTED,
            &OTHERS_SAY,
            &SAID_AFTER,
            &DENIED,
            &CERTAIN,
            &CONDITION,
        ] {
            assert!(pattern.get().is_some());
        }
    }
}
