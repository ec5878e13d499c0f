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
        if !(200..300).contains(&status) {
            let status = u16::try_from(status).unwrap_or(500);
            return Err(Fault::from_status(status, &body.to_string()));
        }
        let mut collector = Collector::new(self.settings().reply_cap);
        let ending = read::take_whole(body, &mut collector, &mut |_| {})?;
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
        assert_eq!(kind(status(302)), FailureKind::BadRequest);
    }

    #[test]
    fn a_line_that_holds_no_reply_is_no_empty_reply() {
        let bodies = [
            json!({"choices": []}),
            json!({"choices": [{"index": 1, "message": {"content": "B"}, "finish_reason": "stop"}]}),
            json!({"choices": [{"index": 0, "message": {"role": "assistant"}}]}),
            json!({}),
            json!("oops"),
            Value::Null,
        ];
        let mut responses: Vec<Value> = bodies
            .iter()
            .map(|body| json!({"status_code": 200, "body": body}))
            .collect();
        responses.extend([json!({}), json!({"status_code": 200}), json!("oops")]);
        for response in responses {
            let line = json!({"custom_id": "x", "response": response, "error": null});
            let result = model().reply_of_line(&line);
            let kind = result.map(|reply| reply.text).unwrap_err().kind;
            assert_eq!(kind, FailureKind::Malformed, "{line}");
        }
        let empty = json!({"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]});
        let line = json!({"response": {"status_code": 200, "body": empty}});
        assert_eq!(model().reply_of_line(&line).unwrap().text, "");
    }
}
