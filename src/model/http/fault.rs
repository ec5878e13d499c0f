//! What a server's error means: its kind, and whether another attempt makes sense.

use std::time::Duration;

use serde_json::Value;

use crate::model::FailureKind;
use crate::model::http::secret::Redactor;

/// Longest part of a server's message that is shown, in characters.
const MOST_SHOWN: usize = 300;

/// An attempt that failed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    /// For counting.
    pub(crate) kind: FailureKind,
    /// What happened, without model and server; no key removed yet.
    pub(crate) what: String,
    /// HTTP status of an answer that was an error.
    pub(crate) status: Option<u16>,
    /// Whether another attempt makes sense.
    pub(crate) retry: bool,
    /// The wait that the server asks for.
    pub(crate) retry_after: Option<Duration>,
    /// The stream broke off: what has come counts as an interrupted reply.
    pub(crate) broke_off: bool,
    /// Nothing came for the longest time that is waited.
    pub(crate) silent: bool,
}

impl Fault {
    /// A fault without status that is retried if its kind is.
    pub(crate) fn new(kind: FailureKind, what: impl Into<String>) -> Fault {
        Fault {
            kind,
            what: what.into(),
            status: None,
            retry: is_transient(kind),
            retry_after: None,
            broke_off: false,
            silent: false,
        }
    }

    /// The connection or the stream ended too early.
    pub(crate) fn broke_off(what: impl Into<String>) -> Fault {
        Fault {
            broke_off: true,
            ..Fault::new(FailureKind::Network, what)
        }
    }

    /// An answer with an error status.
    pub(crate) fn from_status(status: u16, body: &str) -> Fault {
        let error = serde_json::from_str::<Value>(body)
            .ok()
            .and_then(|value| ServerError::of_body(&value))
            .unwrap_or_else(|| ServerError::of_text(body));
        let kind = error.kind(Some(status));
        Fault {
            status: Some(status),
            retry: is_retried_status(status) && is_transient(kind),
            ..Fault::new(kind, describe(Some(status), &error.message))
        }
    }

    /// An error object in an event or in a body with a good status.
    pub(crate) fn from_error_object(error: &ServerError) -> Fault {
        let kind = error.kind(error.status);
        Fault {
            status: error.status,
            ..Fault::new(kind, format!("sent an error: {}", quoted(&error.message)))
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

/// Kinds that may pass by themselves.
fn is_transient(kind: FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::RateLimited
            | FailureKind::Server
            | FailureKind::Network
            | FailureKind::Malformed
    )
}

/// 408, 409, 429 and 5xx.
fn is_retried_status(status: u16) -> bool {
    matches!(status, 408 | 409 | 429 | 500..=599)
}

/// What a server says in its error object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ServerError {
    message: String,
    /// `code` and `type` in lower case.
    tags: String,
    /// A numeric code that is an HTTP status.
    status: Option<u16>,
}

impl ServerError {
    /// Reads the error of a body: `{"error": {…}}`, `{"error": "…"}`, `{"object": "error", …}`,
    /// `{"detail": …}`; `None` where the body holds none.
    pub(crate) fn of_body(body: &Value) -> Option<ServerError> {
        let of_member = |key: &str| body.get(key).filter(|value| is_something(value));
        if let Some(error) = of_member("error") {
            return Some(ServerError::of_value(error));
        }
        if body.get("object").and_then(Value::as_str) == Some("error") {
            return Some(ServerError::of_value(body));
        }
        // Bodies of error statuses of other servers; a chat completion has none of these keys.
        if body.get("choices").is_none() {
            let other = ["detail", "errors", "message"]
                .into_iter()
                .find_map(of_member);
            return other.map(ServerError::of_value);
        }
        None
    }

    /// An error that is no JSON.
    fn of_text(text: &str) -> ServerError {
        let message = if looks_like_html(text) {
            html_title(text).unwrap_or_else(|| "an HTML page".to_owned())
        } else {
            text.to_owned()
        };
        ServerError {
            message,
            ..ServerError::default()
        }
    }

    fn of_value(error: &Value) -> ServerError {
        let Some(object) = error.as_object() else {
            let message = error
                .as_str()
                .map_or_else(|| error.to_string(), str::to_owned);
            return ServerError {
                message,
                ..ServerError::default()
            };
        };
        let text = |key: &str| match object.get(key) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        let tags = ["code", "type", "status"]
            .into_iter()
            .filter_map(text)
            .collect::<Vec<_>>()
            .join(" ")
            .to_lowercase();
        let status = ["code", "status"]
            .into_iter()
            .filter_map(|key| object.get(key))
            .filter_map(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()))
            .find_map(|code| {
                u16::try_from(code)
                    .ok()
                    .filter(|code| (400..600).contains(code))
            });
        ServerError {
            message: text("message").unwrap_or_else(|| error.to_string()),
            tags,
            status,
        }
    }

    /// What kind of failure this is, by the words that the common servers use, then by status.
    fn kind(&self, status: Option<u16>) -> FailureKind {
        let message = self.message.to_lowercase();
        let says = |words: &[&str]| {
            words
                .iter()
                .any(|word| message.contains(word) || self.tags.contains(word))
        };
        if says(&FILTER_WORDS) {
            return FailureKind::ContentFilter;
        }
        if status == Some(402) || says(&QUOTA_WORDS) {
            return FailureKind::Quota;
        }
        // A limit per minute may speak of tokens too.
        if status != Some(429) && says(&OVERFLOW_WORDS) {
            return FailureKind::Overflow;
        }
        if let Some(kind) = status.map(kind_of_status) {
            return kind;
        }
        if says(&["rate_limit", "rate limit", "too many requests"]) {
            FailureKind::RateLimited
        } else if says(&["invalid_api_key", "authentication", "unauthorized"]) {
            FailureKind::Auth
        } else if says(&["model_not_found", "not_found_error", "notfounderror"]) {
            FailureKind::NotFound
        } else if says(&["invalid_request", "badrequest", "bad request"]) {
            FailureKind::BadRequest
        } else {
            FailureKind::Server
        }
    }
}

const FILTER_WORDS: [&str; 6] = [
    "content_filter",
    "content_policy",
    "content management policy",
    "responsibleaipolicy",
    "flagged by moderation",
    "requires moderation",
];

const QUOTA_WORDS: [&str; 6] = [
    "insufficient_quota",
    "exceeded your current quota",
    "insufficient credit",
    "insufficient balance",
    "billing_hard_limit",
    "credit balance is too low",
];

/// OpenAI, vLLM, SGLang, llama.cpp, LM Studio, Ollama, OpenRouter and gateways before them.
const OVERFLOW_WORDS: [&str; 13] = [
    "context_length_exceeded",
    "maximum context length",
    "context length of",
    "model's context length",
    "exceed_context_size",
    "exceeds the available context size",
    "exceeds the context window",
    "context window exceeds",
    "exceed context window",
    "exceeds max_model_len",
    "prompt is too long",
    "input is too long",
    "when context the overflows",
];

fn kind_of_status(status: u16) -> FailureKind {
    match status {
        401 | 403 => FailureKind::Auth,
        402 => FailureKind::Quota,
        404 => FailureKind::NotFound,
        408 => FailureKind::Network,
        409 => FailureKind::Server,
        429 => FailureKind::RateLimited,
        500.. => FailureKind::Server,
        _ => FailureKind::BadRequest,
    }
}

/// What an error status says, in words.
fn describe(status: Option<u16>, message: &str) -> String {
    let Some(status) = status else {
        return format!("sent an error: {}", quoted(message));
    };
    let name = reqwest::StatusCode::from_u16(status)
        .ok()
        .and_then(|code| code.canonical_reason())
        .map(|reason| format!(" {reason}"))
        .unwrap_or_default();
    if message.trim().is_empty() {
        format!("answered HTTP {status}{name}")
    } else {
        format!("answered HTTP {status}{name}: {}", quoted(message))
    }
}

/// A server's words between quotes; cleaned and cut where the message is put together.
fn quoted(message: &str) -> String {
    format!("\"{}\"", message.trim())
}

/// A text of a server as it may be shown: cleaned, without secrets, cut. In this order, so that neither
/// a hidden character nor the cut leaves a part of a key behind.
pub(crate) fn presentable(text: &str, redactor: &Redactor) -> String {
    let clean = crate::domain::text::one_line(text);
    let text = redactor.redact(&clean);
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…\"", text[..end].trim_end()),
        None => text,
    }
}

/// Whether a text starts like an HTML or XML page.
pub(crate) fn looks_like_html(text: &str) -> bool {
    text.trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('<')
}

/// The title of an HTML page.
pub(crate) fn html_title(page: &str) -> Option<String> {
    let lower = page.to_ascii_lowercase();
    let start = lower.find("<title")?;
    let open = start + lower[start..].find('>')? + 1;
    let end = open + lower[open..].find("</title")?;
    let title = crate::domain::text::collapse(&page[open..end]);
    (!title.is_empty()).then(|| format!("an HTML page, \"{title}\""))
}

fn is_something(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false)) && value.as_str() != Some("")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use serde_json::json;

    fn kind(status: u16, body: &str) -> FailureKind {
        Fault::from_status(status, body).kind
    }

    #[test]
    fn statuses_and_wordings_give_their_kind() {
        let cases: [(u16, &str, FailureKind); 18] = [
            (
                401,
                r#"{"error":{"message":"Incorrect API key"}}"#,
                FailureKind::Auth,
            ),
            (403, "", FailureKind::Auth),
            (402, "{}", FailureKind::Quota),
            (
                429,
                r#"{"error":{"code":"insufficient_quota","message":"x"}}"#,
                FailureKind::Quota,
            ),
            (
                429,
                r#"{"error":{"message":"Rate limit reached on tokens per min"}}"#,
                FailureKind::RateLimited,
            ),
            (
                404,
                r#"{"error":{"message":"The model `x` does not exist"}}"#,
                FailureKind::NotFound,
            ),
            (
                400,
                r#"{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 16385 tokens."}}"#,
                FailureKind::Overflow,
            ),
            (
                400,
                r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000","type":"BadRequestError","code":400}"#,
                FailureKind::Overflow,
            ),
            (
                400,
                r#"{"object":"error","message":"The input (9000 tokens) is longer than the model's context length (8192 tokens)."}"#,
                FailureKind::Overflow,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}"#,
                FailureKind::Overflow,
            ),
            (
                400,
                r#"{"error":"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}"#,
                FailureKind::Overflow,
            ),
            (
                400,
                r#"{"error":{"code":"content_filter","message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy."}}"#,
                FailureKind::ContentFilter,
            ),
            (
                403,
                r#"{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged"}}"#,
                FailureKind::ContentFilter,
            ),
            (
                422,
                r#"{"detail":[{"msg":"field required"}]}"#,
                FailureKind::BadRequest,
            ),
            (408, "", FailureKind::Network),
            (409, "", FailureKind::Server),
            (
                503,
                "<html><title>503 Service Unavailable</title></html>",
                FailureKind::Server,
            ),
            (307, "", FailureKind::BadRequest),
        ];
        for (status, body, expected) in cases {
            assert_eq!(kind(status, body), expected, "{status} {body}");
        }
    }

    #[test]
    fn only_passing_troubles_are_retried() {
        for status in [408, 409, 429, 500, 502, 503, 529] {
            assert!(Fault::from_status(status, "").retry, "{status}");
        }
        for status in [307, 400, 401, 402, 403, 404, 413, 422] {
            assert!(!Fault::from_status(status, "").retry, "{status}");
        }
        let quota = r#"{"error":{"code":"insufficient_quota","message":"x"}}"#;
        assert!(!Fault::from_status(429, quota).retry);
    }

    #[test]
    fn error_objects_inside_a_good_status() {
        let fault = |value: Value| {
            ServerError::of_body(&value).map(|error| Fault::from_error_object(&error))
        };
        let gateway = fault(json!({"error": {"code": 502, "message": "upstream"}})).unwrap();
        assert_eq!(
            (gateway.kind, gateway.retry, gateway.status),
            (FailureKind::Server, true, Some(502))
        );
        let limited = fault(json!({"error": {"code": 429, "message": "slow down"}})).unwrap();
        assert_eq!(limited.kind, FailureKind::RateLimited);
        let plain = fault(json!({"error": "CUDA out of memory"})).unwrap();
        assert_eq!(plain.what, "sent an error: \"CUDA out of memory\"");
        assert_eq!(fault(json!({"error": null, "choices": []})), None);
        assert_eq!(fault(json!({"choices": [], "message": "x"})), None);
        let key =
            fault(json!({"error": {"type": "authentication_error", "message": "no"}})).unwrap();
        assert_eq!((key.kind, key.retry), (FailureKind::Auth, false));
    }

    #[test]
    fn server_words_are_cleaned_and_cut() {
        let shown = presentable(
            &format!("\"a\u{1b}[31mb\n\u{202e}c {}\"", "é".repeat(2_000)),
            &Redactor::default(),
        );
        assert!(shown.starts_with("\"ab c é"), "{shown}");
        assert_eq!(shown.chars().count(), MOST_SHOWN + 2);
        assert_eq!(
            Fault::from_status(502, "<!doctype html><TITLE>Bad\n gateway</TITLE>").what,
            "answered HTTP 502 Bad Gateway: \"an HTML page, \"Bad gateway\"\""
        );
    }
}
