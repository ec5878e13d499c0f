//! The request's body.

use serde_json::{Map, Value, json};

use crate::model::ChatRequest;
use crate::model::http::settings::{HttpSettings, ResponseFormat};
use crate::model::schema::reply_schema;

/// Fields that `extra` must not set: the record would no longer say what was sent.
const RESERVED: [&str; 3] = ["messages", "model", "n"];

/// Why the extra fields can't be used, if so.
pub(crate) fn refused_extra(extra: &Map<String, Value>) -> Option<String> {
    let field = RESERVED.iter().find(|field| extra.contains_key(**field))?;
    Some(format!(
        "the extra body field \"{field}\" can't be set, since the program sets it itself; take it out of `extra`"
    ))
}

/// The body of a chat completion request.
pub(crate) fn request_body(settings: &HttpSettings, request: &ChatRequest) -> Map<String, Value> {
    let mut body = Map::new();
    let mut set = |key: &str, value: Value| {
        body.insert(key.to_owned(), value);
    };
    set("model", json!(settings.model));
    set("messages", messages(request));
    set("stream", json!(true));
    set("stream_options", json!({"include_usage": true}));
    set("temperature", json!(request.sampling.temperature));
    if let Some(top_p) = request.sampling.top_p {
        set("top_p", json!(top_p));
    }
    if let Some(seed) = request.sampling.seed {
        set("seed", json!(seed));
    }
    set(
        settings.max_tokens_field.name(),
        json!(request.sampling.max_tokens),
    );
    if let Some(most) = settings.top_logprobs {
        set("logprobs", json!(true));
        set("top_logprobs", json!(most));
    }
    match settings.response_format {
        ResponseFormat::None => {}
        ResponseFormat::JsonObject => set("response_format", json!({"type": "json_object"})),
        ResponseFormat::JsonSchema => set(
            "response_format",
            json!({
                "type": "json_schema",
                "json_schema": {"name": "reply", "strict": true, "schema": reply_schema(&request.form)},
            }),
        ),
    }
    for (key, value) in &settings.extra {
        if value == &Value::Bool(false) && body.contains_key(key) && key != "stream" {
            body.shift_remove(key);
        } else {
            body.insert(key.clone(), value.clone());
        }
    }
    if body.get("stream") == Some(&Value::Bool(false)) {
        body.shift_remove("stream_options");
    }
    body
}

/// The two messages; an empty system message is left out, since some templates refuse it.
fn messages(request: &ChatRequest) -> Value {
    let mut messages = Vec::new();
    if !request.prompt.system.trim().is_empty() {
        messages.push(json!({"role": "system", "content": request.prompt.system}));
    }
    messages.push(json!({"role": "user", "content": request.prompt.user}));
    Value::Array(messages)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::domain::answer::ReplyShape;
    use crate::domain::context::Scenario;
    use crate::domain::prompt::Prompt;
    use crate::model::http::settings::MaxTokensField;
    use crate::model::{ReplyForm, Sampling};

    fn request() -> ChatRequest {
        ChatRequest {
            prompt: Prompt {
                system: "s".into(),
                user: "u".into(),
            },
            form: ReplyForm::Instance(ReplyShape {
                scenario: Scenario::Standard,
                labels: vec![],
                ids: vec![],
                options: vec![('A', "yes".into())],
                sub_questions: vec![],
            }),
            sampling: Sampling::default(),
        }
    }

    #[test]
    fn the_plain_body() {
        let settings = HttpSettings::new("n", "http://h/v1", "m");
        assert_eq!(
            Value::Object(request_body(&settings, &request())),
            json!({
                "model": "m",
                "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
                "stream": true,
                "stream_options": {"include_usage": true},
                "temperature": 0.0,
                "max_tokens": 1024,
            })
        );
    }

    #[test]
    fn every_setting_reaches_the_body() {
        let mut settings = HttpSettings::new("n", "http://h/v1", "m");
        settings.max_tokens_field = MaxTokensField::MaxCompletionTokens;
        settings.response_format = ResponseFormat::JsonSchema;
        settings.top_logprobs = Some(5);
        settings.extra = json!({"temperature": false, "stream_options": false, "reasoning_effort": "low", "thinking": false})
            .as_object()
            .unwrap()
            .clone();
        let mut request = request();
        request.prompt.system = " ".into();
        request.sampling.top_p = Some(0.9);
        request.sampling.seed = Some(7);
        let body = Value::Object(request_body(&settings, &request));
        assert_eq!(body["max_completion_tokens"], 1024);
        assert_eq!(body["top_p"], 0.9);
        assert_eq!(body["seed"], 7);
        assert_eq!(
            (&body["logprobs"], &body["top_logprobs"]),
            (&json!(true), &json!(5))
        );
        assert_eq!(body["reasoning_effort"], "low");
        assert_eq!(body["thinking"], false);
        assert_eq!(body["messages"].as_array().unwrap().len(), 1);
        for gone in ["temperature", "stream_options", "max_tokens"] {
            assert!(body.get(gone).is_none(), "{gone}");
        }
        assert_eq!(
            body["response_format"]["json_schema"]["schema"]["type"],
            "object"
        );
    }

    #[test]
    fn reserved_fields_are_refused() {
        let extra = json!({"messages": []}).as_object().unwrap().clone();
        assert!(refused_extra(&extra).unwrap().contains("\"messages\""));
        assert_eq!(refused_extra(&Map::new()), None);
    }
}
