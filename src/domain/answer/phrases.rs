//! Set phrases of replies: insufficient information, none of the options, refusals, saved errors.

use std::sync::LazyLock;

use regex::Regex;

/// A constant pattern; a test makes sure that each of them compiles.
pub(super) struct Pattern(LazyLock<Option<Regex>>);

/// Compiles a pattern with ASCII word boundaries: with those of Unicode the quick engine can't be used on
/// text that is not ASCII.
pub(super) fn compile(pattern: &str) -> Option<Regex> {
    Regex::new(&pattern.replace(r"\b", r"(?-u:\b)")).ok()
}

impl Pattern {
    pub(super) const fn new(compile: fn() -> Option<Regex>) -> Pattern {
        Pattern(LazyLock::new(compile))
    }

    pub(super) fn get(&self) -> Option<&Regex> {
        self.0.as_ref()
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.get().is_some_and(|regex| regex.is_match(text))
    }
}

/// Says that the information does not suffice, or that the answer can't be determined from it.
pub(super) static INSUFFICIENT: Pattern = Pattern::new(|| {
    let facts = r"(?:information|info|evidence|data|context|details?)";
    let not = r"(?:not|n['\u{2019}]t|fails?\s+to|failed\s+to)";
    let provide = r"(?:provide|contain|include|give|offer|supply|have|present|hold|yield|convey)";
    compile(&format!(
        r"(?ix)
        \b(?:insufficient|not\s+(?:have\s+)?enough|inadequate|no\s+sufficient|not\s+(?:have\s+)?sufficient|lacks?\s+(?:sufficient|enough|the\s+(?:necessary|required|needed))|lack\s+of|without\s+(?:more|further|additional|sufficient)|(?:too|very)\s+little)
           [\s_-]+(?:\w+\s+){{0,2}}?{facts}\b
        | {not}\s+(?:\w+ly\s+)?{provide}\s+(?:us\s+|me\s+)?(?:with\s+)?(?:the\s+|any\s+)?(?:enough|sufficient|adequate|necessary|required|needed)\s+(?:\w+\s+){{0,3}}?{facts}\b\s*(?:[.,;!]|$|(?:to|for)\s+(?:\w+ly\s+)?(?:an?\s+|the\s+)?(?:answer|determine|decide|conclude|choose|select|say|tell|definitive))
        | {not}\s+(?:\w+ly\s+)?{provide}\s+(?:the\s+|any\s+)?(?:\w+\s+)?{facts}\s+(?:(?:that|which)\s+(?:is|are)\s+)?(?:needed|required|necessary|to\s+(?:\w+ly\s+)?(?:answer|determine|decide|conclude|choose))\b
        | \b{facts}\s+(?:provided\s+|given\s+|available\s+|(?:in|from)\s+the\s+\w+\s+)?(?:is|are)\s+(?:insufficient|inadequate|(?:not\s+|n['\u{{2019}}]t\s+)(?:sufficient|enough|adequate))\b
        | \b(?:can\s?not|can['\u{{2019}}]?t|could\s+not|couldn['\u{{2019}}]?t)\s+(?:be\s+)?(?:\w+ly\s+)?(?:determined?|concluded?|established?|inferred|known|be\s+answered|answered)\b
        | \b(?:impossible|not\s+possible|unable)\s+to\s+(?:\w+ly\s+)?(?:determine|conclude|say|tell|know|establish)\b
        | \b(?:impossible|not\s+possible)\s+to\s+(?:\w+ly\s+)?answer\b
        | \b(?:undeterminable|indeterminate|undetermined|indeterminable|inconclusive)\b
        | \bnot\s+determinable\b
        | \bno\s+(?:definitive|clear|definite)\s+(?:answer|conclusion)\b
        | \b(?:can\s?not|can['\u{{2019}}]?t|unable\s+to)\s+answer\b[^.]{{0,60}}\b(?:based\s+on|from|with|given|without)\b
        | {INSUFFICIENT_ELSEWHERE}
        "
    ))
});

/// The same in other languages.
const INSUFFICIENT_ELSEWHERE: &str = r"
    \binformaci[o\u{f3}]n\s+insuficiente | \binsuficiente\s+informaci[o\u{f3}]n | \b(?:no\s+(?:hay|proporcionan?|contienen?)|falta)\s+(?:la\s+|de\s+)?(?:suficiente\s+)?informaci[o\u{f3}]n\s*(?:suficiente|necesaria|para\s+responder|[.!]?$)
    | \bno\s+(?:hay|proporcionan?|contienen?)\s+suficiente\s+informaci[o\u{f3}]n | \bno\s+se\s+puede\s+(?:determinar|responder|concluir)
    | \binforma[c\u{e7}](?:\u{e3}o|\u{f5}es|ao|oes)\s+insuficientes? | \binformazioni\s+(?:in|non\s+)sufficienti
    | \b(?:informations?|donn[e\u{e9}]es)\s+insuffisantes? | \b(?:pas\s+(?:assez|suffisamment)|insuffisamment)\s+d['\u{2019}]informations? | \bimpossible\s+de\s+(?:d[e\u{e9}]terminer|r[e\u{e9}]pondre|conclure)
    | \b(?:unzureichende|ungen\u{fc}gende|(?:nicht\s+)(?:gen\u{fc}gend|gen\u{fc}gende|ausreichend|ausreichende)|zu\s+wenige?)\s+(?:information(?:en)?|angaben|daten) | \b(?:informationen|angaben)\s+reichen\s+nicht
    | (?:\u{4fe1}\u{606f}|\u{8cc7}\u{8a0a}|\u{8d44}\u{6599}|\u{8cc7}\u{6599}|\u{60c5}\u{5831})(?:\u{304c}|\u{5e76}|\u{4e26})?(?:\u{4e0d}\u{8db3}|\u{4e0d}\u{591f}|\u{4e0d}\u{5920}|\u{4e0d}\u{5145}\u{5206}|\u{8db3}\u{308a})
    | (?:\u{65e0}\u{6cd5}|\u{7121}\u{6cd5}|\u{4e0d}\u{80fd}|\u{65e0}\u{4ece})(?:\u{786e}\u{5b9a}|\u{78ba}\u{5b9a}|\u{5224}\u{65ad}|\u{5224}\u{65b7}|\u{5f97}\u{51fa}) | \u{4e0d}\u{8db3}\u{4ee5}(?:\u{56de}\u{7b54}|\u{786e}\u{5b9a}|\u{5224}\u{65ad})
    | (?:\u{4fe1}\u{606f}|\u{8cc7}\u{8a0a}|\u{8d44}\u{6599}|\u{6587}\u{6863}|\u{6839}\u{636e})[^\u{3002}.]{0,40}(?:\u{65e0}\u{6cd5}|\u{7121}\u{6cd5}|\u{4e0d}\u{80fd})(?:\u{56de}\u{7b54}|\u{4f5c}\u{7b54})
    | \u{c815}\u{bcf4}(?:\u{ac00}|\u{b294})?\s*(?:\u{bd80}\u{c871}|\u{bd88}\u{cda9}\u{bd84})
    | \u{43d}\u{435}\u{434}\u{43e}\u{441}\u{442}\u{430}\u{442}\u{43e}\u{447}\u{43d}\u{43e}\s+(?:\u{438}\u{43d}\u{444}\u{43e}\u{440}\u{43c}\u{430}\u{446}\u{438}\u{438}|\u{434}\u{430}\u{43d}\u{43d}\u{44b}\u{445})
    | \u{645}\u{639}\u{644}\u{648}\u{645}\u{627}\u{62a}\s+\u{63a}\u{64a}\u{631}\s+\u{643}\u{627}\u{641}\u{64a}\u{629}";

/// The whole answer is a word for not knowing.
pub(super) static UNKNOWN: Pattern = Pattern::new(|| {
    compile(
        r"(?i)^(?:insufficient|unknown|uncertain|unclear|not known|i (?:do not|don['\u{2019}]?t) know|not sure|unsure)$",
    )
});

/// Says that the right option is not among those offered, or that none applies.
pub(super) static NOT_OFFERED: Pattern = Pattern::new(|| {
    compile(
        r"(?ix)
        \bnone\s+of\s+(?:the|these|those|them)\b
        | \bneither\s+of\s+(?:the|these|them)\b
        | \bnot\s+(?:listed|provided|included|given|offered|available|present|mentioned|found)\s+(?:among|in|as|within|on|from)\b[^.]{0,40}\b(?:option|choice|answer|list|above)
        | \bnot\s+(?:among|one\s+of|in)\s+(?:the\s+|these\s+)?(?:\w+\s+){0,2}?(?:option|choice)
        | \bno\s+(?:correct|right|suitable|valid|appropriate)\s+(?:answer|option|choice)
        | \bnot\s+A,\s*B,\s*C,?\s*(?:or|nor|and)?\s*D\b
        ",
    )
});

/// The whole answer is a word for no option.
pub(super) static NO_OPTION: Pattern = Pattern::new(|| {
    compile(
        r"(?i)^(?:none|neither|nil|n\s*[/.]?\s*a|not applicable|no answer|not (?:listed|provided|available|given|offered|included)|no option|other)$",
    )
});

/// Declines to answer.
pub(super) static REFUSAL: Pattern = Pattern::new(|| {
    compile(
        r"(?ix)
        \b(?:can\s?not|can['\u{2019}]?t|won['\u{2019}]?t|will\s+not|unable\s+to|not\s+able\s+to|not\s+comfortable|must\s+decline|have\s+to\s+decline|decline\s+to|refuse\s+to|not\s+allowed\s+to)\s*
           (?:\s(?:to\s+)?(?:provide|providing|give|offer|answer|assist|help|comply|fulfil|fulfill|discuss|advise|respond|recommend|engage)\b|[.,])
        | \bas\s+an?\s+(?:AI|artificial|language)\b
        | \bi(?:['\u{2019}]m|\s+am)\s+(?:just\s+|only\s+)?(?:an?\s+)?(?:AI|language\s+model|not\s+a\s+(?:doctor|physician|medical))\b
        | \bconsult\s+(?:a|an|your|with)\b[^.]{0,30}\b(?:doctor|physician|professional|provider)
        | \bi(?:['\u{2019}]m|\s+am)\s+sorry,?\s+(?:but\s+)?i\s
        | \b(?:no\s+puedo|n\u{e3}o\s+posso|non\s+posso)\s+(?:\w+\s+)?(?:proporcionar|ofrecer|dar|ayudar\w*|responder|brindar|fornecer|ajudar|fornire|aiutar\w*|rispondere|dare) | \blo\s+siento,?\s+(?:pero\s+)?no\b
        | \bd[e\u{e9}]sol[e\u{e9}]e?,?\s+(?:mais\s+)?je\s+ne\b | \bje\s+ne\s+(?:peux|suis)\s+pas\s+(?:en\s+mesure\s+d|autoris|donner|fournir|r[e\u{e9}]pondre|vous\s+aider)
        | \bich\s+kann\s+(?:\w+\s+){0,5}?(?:nicht\s+(?:beantworten|helfen|geben)|keine\s+(?:medizinisch\w+\s+)?(?:beratung|ratschl|auskunft|antwort)) | \btut\s+mir\s+leid,?\s+(?:aber\s+)?ich\b
        | (?:\u{6211}|\u{62b1}\u{6b49}|\u{5bf9}\u{4e0d}\u{8d77})[^\u{3002}.]{0,12}(?:\u{65e0}\u{6cd5}|\u{7121}\u{6cd5}|\u{4e0d}\u{80fd})(?:\u{63d0}\u{4f9b}|\u{56de}\u{7b54}|\u{7ed9}\u{51fa}|\u{534f}\u{52a9}|\u{5354}\u{52a9}|\u{5e2e}\u{52a9}|\u{5e6b}\u{52a9}|\u{56de}\u{5e94})
        | \u{4f5c}\u{4e3a}(?:\u{4e00}\u{4e2a}|\u{4e00}\u{6b3e})?(?:AI|\u{4eba}\u{5de5}\u{667a}\u{80fd}|\u{8bed}\u{8a00}\u{6a21}\u{578b})
        ",
    )
});

/// The model speaks of itself: that a patient is unable to respond is no refusal.
pub(super) static SPEAKER: Pattern = Pattern::new(|| {
    compile(
        r"\bI\b|\b(?i:sorry|apologi[sz]e|as\s+an?\s+(?:ai|language)|lo\s+siento|no\s+puedo|n\u{e3}o\s+posso|non\s+posso|je|ich|leid)\b|\u{6211}|\u{62b1}\u{6b49}|\u{5bf9}\u{4e0d}\u{8d77}|\u{4f5c}\u{4e3a}",
    )
});

/// How error messages of providers and clients begin.
static ERROR_START: Pattern = Pattern::new(|| {
    compile(
        r"(?ix)^\W{0,3}(?:
        the\s+response\s+was\s+filtered
        | (?:openai|anthropic|httpx?|requests|urllib3|aiohttp|litellm)\.[\w.]*(?:error|exception)
        | \w*(?:RateLimit|InvalidRequest|BadRequest|APIConnection|APIStatus|APITimeout|Authentication|PermissionDenied|InternalServer|ServiceUnavailable|ContextWindowExceeded|ContentPolicyViolation|API|Key|Value|Type|JSONDecode|Timeout|Connection|HTTP)(?:Error|Exception)\b
        | error\s*(?:code)?\s*[:=-]?\s*[45]\d\d\b
        | (?:http\s+|status\s+code:?\s+)[45]\d\d\b
        | [45]\d\d\s+(?:client\s+error|server\s+error|internal\s+server\s+error|bad\s+gateway|service\s+unavailable|gateway\s+time-?out|too\s+many\s+requests|bad\s+request|unauthorized|forbidden|not\s+found)
        | error\s+(?:communicating|calling|generating|from|in\s+calling|occurred|while)\b
        | (?:api|server|request|openai|azure)\s+error\b
        | internal\s+server\s+error\b | bad\s+gateway\b | service\s+(?:temporarily\s+)?unavailable\b | gateway\s+time-?out\b | too\s+many\s+requests\b
        | rate\s+limit\s+(?:reached|exceeded) | you\s+exceeded\s+your\s+current\s+quota | incorrect\s+api\s+key
        | this\s+model['\u{2019}]?s?\s+maximum\s+context\s+length
        | the\s+(?:server|model|engine)\s+(?:is|had|has)\s+(?:currently\s+)?(?:been\s+)?(?:overloaded|an\s+error)
        | (?:request\s+timed\s+out|connection\s+(?:error|refused|reset|aborted)|read\s+timed\s+out)
        | (?:upstream|downstream|proxy|gateway|network|stream|socket|ssl|tls|dns)\s+(?:connect(?:ion)?\s+|request\s+|read\s+)?(?:error|failure|timeout|timed\s+out|reset|closed|refused)\b
        | no\s+healthy\s+upstream | disconnect/reset\s+before\s+headers | max\s+retries\s+exceeded | temporary\s+failure\s+in\s+name\s+resolution
        | https?connectionpool\( | (?:failed|unable)\s+to\s+(?:connect\s+to|reach)\s+(?:the\s+)?(?:server|host|api|upstream|endpoint|backend)
        | (?:server|model|service)\s+(?:is\s+)?(?:currently\s+)?(?:overloaded|busy|unavailable)\b | \w*overloaded_error\b
        | traceback\s+\(most\s+recent
        | <!doctype\s+html | <html\b
        )",
    )
});

/// Whether a whole reply is an error message that was saved in its place.
pub(super) fn is_saved_error(text: &str) -> bool {
    // What Python prints of a KeyError when the answer lacked the field.
    let key_error = matches!(
        text,
        "'content'" | "'choices'" | "'message'" | "'text'" | "'error'" | "KeyError: 'content'"
    );
    key_error || ERROR_START.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for pattern in [
            &INSUFFICIENT,
            &UNKNOWN,
            &NOT_OFFERED,
            &NO_OPTION,
            &REFUSAL,
            &SPEAKER,
            &ERROR_START,
        ] {
            assert!(pattern.get().is_some());
        }
    }

    #[test]
    fn errors_are_told_from_answers() {
        for text in [
            "'content'",
            "Error code: 429 - {'error': {'message': 'Rate limit reached'}}",
            "openai.error.RateLimitError: too fast",
            "503 Service Unavailable",
            "<html><head><title>502</title>",
            "The response was filtered due to the prompt triggering the policy.",
            "This model's maximum context length is 4097 tokens.",
        ] {
            assert!(is_saved_error(text), "{text}");
        }
        for text in [
            "The answer is B",
            "Errors of metabolism are likely: B",
            "'B'",
            "500 mg of the drug, so B",
            "Type errors aside, C",
        ] {
            assert!(!is_saved_error(text), "{text}");
        }
    }

    #[test]
    fn insufficiency_is_not_a_symptom() {
        for text in [
            "Insufficient information",
            "There is not enough evidence to say",
            "Cannot be determined",
            "It can\u{2019}t be definitively determined",
            "The information provided is insufficient.",
            "not determinable",
            "insufficient_information",
            "The documents do not provide enough information to answer.",
            "They don't contain sufficient information to answer this question.",
            "The context does not contain the information needed to answer.",
            "It is not possible to answer the question with the information given.",
            "The passages fail to provide the necessary details.",
            "\u{4fe1}\u{606f}\u{4e0d}\u{8db3}",
            "Informaci\u{f3}n insuficiente",
            "Informations insuffisantes",
            "Nicht gen\u{fc}gend Informationen",
        ] {
            assert!(INSUFFICIENT.is_match(text), "{text}");
        }
        for text in [
            "Adrenal insufficiency",
            "Insufficient sleep",
            "not enough sleep",
            "The kidney does not provide enough erythropoietin",
            "The trial did not include data on children",
            "Ultrasound may not provide sufficient detail to evaluate the fracture",
        ] {
            assert!(!INSUFFICIENT.is_match(text), "{text}");
        }
    }
}
