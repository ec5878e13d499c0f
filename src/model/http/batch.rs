//! Requests and answers of OpenAI's Batch API: the same bodies, in files.

use serde_json::Value;

use crate::model::http::HttpModel;
use crate::model::http::body::request_body;
use crate::model::http::collect::Collector;
use crate::model::http::fault::{Fault, ServerError};
use crate::model::http::read;
use crate::model::{BatchModel, ChatRequest, FailureKind, ModelError, Reply, Timing};

/// The address that batch lines name.
const ENDPOINT: &str = "/v1/chat/completions";

impl BatchModel for HttpModel {
    fn line(&self, custom_id: &str, request: &ChatRequest) -> Value {
        let mut body = request_body(self.settings(), request);
        body.shift_remove("stream");
        body.shift_remove("stream_options");
        serde_json::json!({
            "custom_id": custom_id,
            "method": "POST",
            "url": ENDPOINT,
            "body": body,
        })
    }

    fn reply_of_line(&self, line: &Value) -> Result<Reply, ModelError> {
        self.read_line(line).map_err(|fault| self.error(&fault, 1))
    }
}

impl HttpModel {
    fn read_line(&self, line: &Value) -> Result<Reply, Fault> {
        let response = &line["response"];
        if response.is_null() {
            let error = ServerError::of_body(line);
            return Err(error.map_or_else(
                || {
                    Fault::new(
                        FailureKind::Malformed,
                        "left the response out of the batch's line",
                    )
                },
                |error| Fault::from_error_object(&error),
            ));
        }
        let status = response["status_code"].as_u64().unwrap_or(200);
        let body = &response["body"];
        if status >= 400 {
            let status = u16::try_from(status).unwrap_or(500);
            return Err(Fault::from_status(status, &body.to_string()));
        }
        if let Some(error) = ServerError::of_body(body) {
            return Err(Fault::from_error_object(&error));
        }
        let mut collector = Collector::new(self.settings().reply_cap);
        let on_delta = &mut |_| {};
        collector.take(body, "message", on_delta);
        let ending = read::finish(&collector, on_delta)?;
        // The line does not say which options were offered.
        let reply = self.reply(collector, ending, 1, &[]);
        // When its tokens came is not known.
        Ok(Reply {
            timing: Timing::default(),
            ..reply
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::domain::answer::Ending;
    use crate::model::http::HttpSettings;
    use serde_json::json;

    fn model() -> HttpModel {
        HttpModel::new(HttpSettings::new("n", "http://127.0.0.1:1/v1", "m")).unwrap()
    }

    #[test]
    fn answers_and_errors_of_every_form() {
        let body = json!({"model": "m-1", "choices": [{"index": 0, "finish_reason": "length",
            "message": {"content": "{\"answer_choice\":"}}], "usage": {"prompt_tokens": 7, "completion_tokens": 3}});
        let line = json!({"custom_id": "x", "response": {"status_code": 200, "body": body}, "error": null});
        let reply = model().reply_of_line(&line).unwrap();
        assert_eq!(
            (reply.ending, reply.usage.prompt_tokens),
            (Ending::Length, Some(7))
        );
        assert_eq!(reply.reported_model.as_deref(), Some("m-1"));
        assert_eq!(reply.timing, Timing::default());
        let kind = |line: Value| model().reply_of_line(&line).unwrap_err().kind;
        let status = |code: u64| json!({"response": {"status_code": code, "body": {"error": {"message": "no", "code": "x"}}}});
        assert_eq!(kind(status(429)), FailureKind::RateLimited);
        assert_eq!(kind(status(401)), FailureKind::Auth);
        let expired =
            json!({"response": null, "error": {"code": "batch_expired", "message": "late"}});
        assert_eq!(kind(expired), FailureKind::Server);
        assert_eq!(kind(json!({"response": null})), FailureKind::Malformed);
    }
}
