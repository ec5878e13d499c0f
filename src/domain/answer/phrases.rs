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
    compile(
        r"(?ix)
        \b(?:insufficient|not\s+(?:have\s+)?enough|inadequate|no\s+sufficient|not\s+(?:have\s+)?sufficient|lacks?\s+(?:sufficient|enough)|lack\s+of|without\s+(?:more|further|additional|sufficient))
           \s+(?:\w+\s+){0,2}?(?:information|info|evidence|data|context|details?)\b
        | \b(?:information|evidence|data|context)\s+(?:provided\s+|given\s+|available\s+)?(?:is|are)\s+(?:insufficient|inadequate|not\s+(?:sufficient|enough))\b
        | \b(?:can\s?not|can['\u{2019}]?t|could\s+not|couldn['\u{2019}]?t)\s+(?:be\s+)?(?:\w+ly\s+)?(?:determined?|concluded?|established?|inferred|known|be\s+answered|answered)\b
        | \b(?:impossible|not\s+possible|unable)\s+to\s+(?:\w+ly\s+)?(?:determine|conclude|say|tell|know|establish)\b
        | \b(?:undeterminable|indeterminate|undetermined|indeterminable|inconclusive)\b
        | \bnot\s+determinable\b
        | \bno\s+(?:definitive|clear|definite)\s+(?:answer|conclusion)\b
        | \b(?:can\s?not|can['\u{2019}]?t|unable\s+to)\s+answer\b[^.]{0,60}\b(?:based\s+on|from|with|given|without)\b
        ",
    )
});

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
        ",
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
        ] {
            assert!(INSUFFICIENT.is_match(text), "{text}");
        }
        for text in [
            "Adrenal insufficiency",
            "Insufficient sleep",
            "not enough sleep",
        ] {
            assert!(!INSUFFICIENT.is_match(text), "{text}");
        }
    }
}
