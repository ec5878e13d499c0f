//! Gathers the pieces of a reply as they come.

use std::time::Instant;

use serde_json::Value;

use crate::domain::answer::Ending;
use crate::model::http::fault::Fault;
use crate::model::http::logprobs::Logprobs;
use crate::model::{Delta, FailureKind, Reply, Timing, Usage, millis};

/// Where deltas go.
pub(crate) type OnDelta<'a> = &'a mut (dyn FnMut(Delta) + Send);

/// What has come of a reply in one attempt.
#[derive(Debug)]
pub(crate) struct Collector {
    started: Instant,
    cap: usize,
    text: String,
    reasoning: String,
    finish_reason: Option<String>,
    refused: bool,
    capped: bool,
    usage: Usage,
    reported_model: Option<String>,
    system_fingerprint: Option<String>,
    first_token_ms: Option<u64>,
    timeline: Vec<(u32, u32)>,
    logprobs: Logprobs,
}

impl Collector {
    /// An empty collector whose clock starts now; `cap` is the most bytes it takes.
    pub(crate) fn new(cap: usize) -> Collector {
        Collector {
            started: Instant::now(),
            cap,
            text: String::new(),
            reasoning: String::new(),
            finish_reason: None,
            refused: false,
            capped: false,
            usage: Usage::default(),
            reported_model: None,
            system_fingerprint: None,
            first_token_ms: None,
            timeline: Vec::new(),
            logprobs: Logprobs::default(),
        }
    }

    /// Whether any text or reasoning has come.
    pub(crate) fn has_text(&self) -> bool {
        !self.text.is_empty() || !self.reasoning.is_empty()
    }

    /// Whether the server has said how the reply ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// Whether the reply was cut off at the cap.
    pub(crate) fn is_capped(&self) -> bool {
        self.capped
    }

    /// Why the reply was cut off, if it was.
    pub(crate) fn cut_off(&self) -> Option<String> {
        self.capped.then(|| {
            let cap = match self.cap {
                bytes if bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
                bytes => format!("{bytes} bytes"),
            };
            format!("the reply passed the size limit of {cap} and was cut off there")
        })
    }

    /// Takes a chunk of a stream (`piece` = `delta`) or a whole completion (`piece` = `message`).
    pub(crate) fn take(&mut self, chunk: &Value, piece: &str, on_delta: OnDelta<'_>) {
        note_once(&mut self.reported_model, chunk.get("model"));
        note_once(
            &mut self.system_fingerprint,
            chunk.get("system_fingerprint"),
        );
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            self.usage = read_usage(usage);
        }
        let Some(choice) = first_choice(chunk) else {
            return;
        };
        if let Some(message) = choice.get(piece) {
            self.take_message(message, on_delta);
        }
        if let Some(tokens) = choice.get("logprobs").filter(|_| !self.capped) {
            self.logprobs.take(tokens);
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str)
            && !reason.is_empty()
        {
            self.finish_reason = Some(reason.to_lowercase());
        }
    }

    fn take_message(&mut self, message: &Value, on_delta: OnDelta<'_>) {
        let text_of = |key: &str| message.get(key).and_then(content_text);
        if let Some(reasoning) = text_of("reasoning_content").or_else(|| text_of("reasoning")) {
            let piece = self.admit(&reasoning);
            if !piece.is_empty() {
                self.mark_first();
                self.reasoning.push_str(piece);
                on_delta(Delta::Reasoning(piece.to_owned()));
            }
        }
        if let Some(refusal) = text_of("refusal") {
            self.refused = true;
            self.push_text(&refusal, on_delta);
        }
        if let Some(text) = text_of("content") {
            self.push_text(&text, on_delta);
        }
    }

    fn push_text(&mut self, text: &str, on_delta: OnDelta<'_>) {
        let piece = self.admit(text);
        if piece.is_empty() {
            return;
        }
        self.mark_first();
        self.text.push_str(piece);
        let at = u32::try_from(millis(self.started.elapsed())).unwrap_or(u32::MAX);
        let bytes = u32::try_from(piece.len()).unwrap_or(u32::MAX);
        self.timeline.push((at, bytes));
        on_delta(Delta::Text(piece.to_owned()));
    }

    /// As much of a piece as the cap still allows, whole characters only.
    fn admit<'t>(&mut self, piece: &'t str) -> &'t str {
        if self.capped {
            return "";
        }
        let left = self
            .cap
            .saturating_sub(self.text.len() + self.reasoning.len());
        if piece.len() <= left {
            return piece;
        }
        self.capped = true;
        &piece[..piece.floor_char_boundary(left)]
    }

    fn mark_first(&mut self) {
        if self.first_token_ms.is_none() {
            self.first_token_ms = Some(millis(self.started.elapsed()));
        }
    }

    /// How the reply ended by the server's finish reason. Some servers never give one: then text counts, but where no
    /// text came either, nothing has been answered.
    pub(crate) fn ending(&self) -> Result<Ending, Fault> {
        match self.finish_reason.as_deref() {
            None if !self.has_text() => Err(Fault::new(
                FailureKind::Malformed,
                "answered with neither text nor a finish reason",
            )),
            Some("length" | "max_tokens" | "max_length" | "model_length") => Ok(Ending::Length),
            // The refusal's own words are a reply, to be read as such.
            Some("content_filter" | "safety" | "refusal") if self.refused => Ok(Ending::Complete),
            Some(reason @ ("content_filter" | "safety" | "refusal")) => Err(Fault::new(
                FailureKind::ContentFilter,
                format!("stopped the reply by its content filter (finish reason {reason})"),
            )),
            Some("error") => Err(Fault::new(
                FailureKind::Server,
                "stopped the reply with the finish reason \"error\"",
            )),
            Some(reason @ ("abort" | "cancelled" | "canceled")) => Err(Fault::broke_off(format!(
                "stopped the reply with the finish reason \"{reason}\""
            ))),
            _ => Ok(Ending::Complete),
        }
    }

    /// The reply so far; `letters` are those of the options, of which probabilities are wanted.
    pub(crate) fn into_reply(self, ending: Ending, attempts: u32, letters: &[char]) -> Reply {
        Reply {
            text: self.text,
            reasoning: self.reasoning,
            ending,
            usage: self.usage,
            timing: Timing {
                first_token_ms: self.first_token_ms,
                total_ms: millis(self.started.elapsed()),
                timeline: self.timeline,
            },
            option_probabilities: self.logprobs.of_options(letters),
            reported_model: self.reported_model,
            system_fingerprint: self.system_fingerprint,
            attempts,
            broke_off: None,
        }
    }
}

/// Keeps the first text that is not empty.
fn note_once(known: &mut Option<String>, value: Option<&Value>) {
    if known.is_none() {
        let text = value
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty());
        *known = text.map(str::to_owned);
    }
}

/// The choice with index 0; none in usage chunks.
fn first_choice(chunk: &Value) -> Option<&Value> {
    chunk.get("choices")?.as_array()?.iter().find(|choice| {
        choice
            .get("index")
            .and_then(Value::as_u64)
            .is_none_or(|index| index == 0)
    })
}

/// A text, or the texts of a list of parts; `None` where there is none.
fn content_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part.get("text").and_then(Value::as_str))
            .collect(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

fn read_usage(usage: &Value) -> Usage {
    let count = |value: Option<&Value>| {
        value
            .and_then(Value::as_u64)
            .and_then(|count| u32::try_from(count).ok())
    };
    Usage {
        prompt_tokens: count(usage.get("prompt_tokens")),
        completion_tokens: count(usage.get("completion_tokens")),
        cached_tokens: count(
            usage
                .pointer("/prompt_tokens_details/cached_tokens")
                .or_else(|| usage.get("prompt_cache_hit_tokens")),
        ),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use serde_json::json;

    fn collect(cap: usize, chunks: &[Value]) -> (Collector, Vec<Delta>) {
        let mut collector = Collector::new(cap);
        let mut deltas = Vec::new();
        for chunk in chunks {
            collector.take(chunk, "delta", &mut |delta| deltas.push(delta));
        }
        (collector, deltas)
    }

    fn text(content: &str) -> Value {
        json!({"choices": [{"index": 0, "delta": {"content": content}}]})
    }

    #[test]
    fn pieces_usage_and_timeline_add_up() {
        let (collector, deltas) = collect(
            1_000,
            &[
                json!({"model": "m-1", "system_fingerprint": null, "choices": [{"delta": {"role": "assistant", "content": null}}]}),
                json!({"choices": [{"delta": {"reasoning_content": "hm", "reasoning": "hm"}}]}),
                json!({"choices": [{"delta": {"reasoning_content": null, "reasoning": "!"}}]}),
                json!({"choices": [{"index": 1, "delta": {"content": "other"}}]}),
                text("é"),
                json!({"system_fingerprint": "fp_44", "choices": []}),
                text(""),
                json!({"choices": [{"delta": {"content": [{"type": "text", "text": "x"}]}, "finish_reason": "stop"}]}),
                json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}}),
            ],
        );
        assert_eq!(collector.ending(), Ok(Ending::Complete));
        let reply = collector.into_reply(Ending::Complete, 1, &['A']);
        assert_eq!(reply.option_probabilities, None);
        assert_eq!(
            (reply.text.as_str(), reply.reasoning.as_str()),
            ("éx", "hm!")
        );
        assert_eq!(reply.usage.cached_tokens, Some(4));
        assert_eq!(reply.usage.prompt_tokens, Some(9));
        assert_eq!(reply.reported_model.as_deref(), Some("m-1"));
        assert_eq!(reply.system_fingerprint.as_deref(), Some("fp_44"));
        let bytes: Vec<u32> = reply
            .timing
            .timeline
            .iter()
            .map(|(_, bytes)| *bytes)
            .collect();
        assert_eq!(bytes, [2, 1]);
        assert_eq!(deltas.len(), 4);
    }

    #[test]
    fn nothing_said_of_the_first_choice_is_no_reply() {
        let nothing = [
            json!({"choices": [], "usage": {"prompt_tokens": 9}}),
            json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}),
            json!({"choices": [{"index": 1, "delta": {"content": "B"}, "finish_reason": "stop"}]}),
            json!({"choices": "none"}),
            json!({}),
        ];
        for chunk in nothing {
            let (collector, _) = collect(100, std::slice::from_ref(&chunk));
            let fault = collector.ending().unwrap_err();
            assert_eq!(
                (fault.kind, fault.retry),
                (FailureKind::Malformed, true),
                "{chunk}"
            );
        }
        let empty =
            json!({"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}]});
        assert_eq!(collect(100, &[empty]).0.ending(), Ok(Ending::Complete));
        assert_eq!(collect(100, &[text("A")]).0.ending(), Ok(Ending::Complete));
    }

    #[test]
    fn the_cap_cuts_between_characters() {
        let (collector, _) = collect(4, &[text("abc"), text("éé"), text("z")]);
        assert!(collector.is_capped());
        assert_eq!(
            collector.into_reply(Ending::Interrupted, 1, &[]).text,
            "abc"
        );
    }

    #[test]
    fn refusals_keep_their_words_and_filters_are_failures() {
        let refusal = json!({"choices": [{"delta": {"refusal": "I can't help."}, "finish_reason": "content_filter"}]});
        let (collector, _) = collect(100, &[refusal]);
        assert_eq!(collector.ending(), Ok(Ending::Complete));
        assert_eq!(
            collector.into_reply(Ending::Complete, 1, &[]).text,
            "I can't help."
        );
        let filtered = json!({"choices": [{"delta": {}, "finish_reason": "content_filter"}]});
        let (collector, _) = collect(100, &[filtered]);
        let fault = collector.ending().unwrap_err();
        assert_eq!(
            (fault.kind, fault.retry),
            (FailureKind::ContentFilter, false)
        );
    }
}
