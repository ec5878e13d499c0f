//! The patterns of statements.

use crate::domain::answer::phrases::{Pattern, compile};

/// Words between an announcement and the answer that say nothing about which one it is.
const FILLERS: &str = r#"["'_\s:,>$]*(?:(?:(?:therefore|thus|hence|then|likely|most\s+likely|probably|clearly|definitely|certainly|obviously|undoubtedly|actually|simply|indeed|in\s+fact|of\s+course|again|still|only|just|either|both|the\s+option|the\s+letter|options?|choices?|letter|answer|number|statement|I\s+(?:think|believe)|in\s+my\s+(?:opinion|view)|none\s+other\s+than|nothing\s+(?:but|other\s+than))\b|\\text(?:bf)?\{|\\math(?:rm|bf)\{)["'_\s:,{(\[$]*)*"#;

/// "the answer is", "correct option:", "answer_choice":, "I choose", "\boxed{": the answer follows.
pub(in crate::domain::answer) static ANNOUNCED: Pattern = Pattern::new(|| {
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
          | (?:^|[.;!]\s)\W{0,6}(?:final|conclusion|verdict|choice|option|selected|selection|response|result|solution|decision|(?:best\s+)?guess|pick)\s*:
          | ^\W{0,6}(?:the\s+)?(?:final|correct|best|my)?\s*(?:answer|choice|option)[\#_\s]*\n
        )"#;
    compile(&format!("{head}{FILLERS}"))
});

/// Announcements in other languages; only a letter may follow.
pub(super) static FOREIGN: Pattern = Pattern::new(|| {
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
pub(super) static SUPERLATIVE: Pattern = Pattern::new(|| {
    let head = r"(?ix)
        \b(?:most\s+(?:likely|appropriate|probable|suitable|accurate|consistent)|best|correct|next\s+best|closest)
        \s+(?:[\w'-]+,?\s+){1,14}?(?:is|would\s+be)\b";
    compile(&format!("{head}{FILLERS}"))
});

/// "it is", "which leaves", "so": a letter that follows is meant, if nothing better is said.
pub(super) static HINTED: Pattern = Pattern::new(|| {
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
pub(super) static REFERENCE: Pattern = Pattern::new(|| {
    compile(
        r"(?mx)
        \b(?i:options?|choices?|answer|letter|statement|alternative)\s+[(\[]?(?P<named>[A-Za-z])\b[)\]]?
        |(?:^|[.,:;!?\n(\u{2014}\u{2013}]\s*|\b(?i:so|therefore|thus|hence|only|but|and|that|think|believe|conclude|say|while|whereas|because|clearly|indeed|since|means|now|then|actually)\b,?\s+)[(\[]?(?P<bare>[A-Z])\b[)\]]?",
    )
});

/// What is said about the option that was just named.
pub(super) static PREDICATE: Pattern = Pattern::new(|| {
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
              (?:correct|right|best|the\s+(?:best|closest)\s+(?:fit|match)|(?:a\s+|the\s+)?better(?:\s+(?:answer|option|choice|fit|match))?\s*[.;!]|(?:the\s+)?most\s+(?:likely|appropriate|consistent|accurate|suitable|probable|plausible|reasonable))(?:[\s.,;:!)]|$)
            |(?:best\s+(?:fits|explains|matches|describes|answers|fulfils|fulfills|accounts)|(?:fits|matches|explains|describes)\s+(?:\w+\s+){0,3}?best|makes\s+(?:the\s+)?most\s+sense)\b)
          |(?P<reject>(?:is|was)\s+(?:(?:therefore|thus|clearly|definitely)\s+)*not\s+(?:the\s+)?(?:correct|right|best|final)\s+(?:answer|option|choice)\b|(?:is|can\s+be|was)\s+(?:therefore\s+|thus\s+)?(?:ruled\s+out|excluded|eliminated)\b)
          |(?P<wrong>(?:is|was|would\s+be|seems|appears)\s+(?:(?:therefore|thus|clearly|definitely|actually|also|then|still|just|simply|plainly)\s+)*
              (?:wrong|incorrect|false|untrue|not\s+(?:right|correct|true))\b
            |(?:is|was)n['\u{2019}]t\s+(?:right|correct|true)\b
            |can(?:\s?not|['\u{2019}]t)\s+be\s+(?:right|correct|true)\b)
        )",
    )
});

/// "B and C are both correct".
pub(super) static BOTH: Pattern = Pattern::new(|| {
    compile(
        r"(?x)\b(?P<first>[A-Z])(?:\s*,\s*[A-Z])*\s*,?\s*(?:and|&)\s+(?:(?i:option)\s+)?(?P<last>[A-Z])\s+(?:are|seem|would\s+be)\s+(?:both\s+|all\s+|equally\s+)?(?P<what>correct|right|the\s+(?:correct|right|best)\s+(?:answers?|options?|choices?))\b",
    )
});

/// What follows the text of an option that is called the answer.
pub(super) static IS_THE_ANSWER: Pattern = Pattern::new(|| {
    compile(
        r"(?ix)\s+(?:is|would\s+be|must\s+be|seems\s+to\s+be|remains)\s+(?:therefore\s+|thus\s+|clearly\s+|likely\s+)?the\s+(?:(?:single|only|most)\s+)?(?:correct|right|best|final|appropriate|likely|accurate|suitable)\s+(?:answer|option|choice)\b",
    )
});

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
