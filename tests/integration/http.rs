//! The HTTP model against a scripted server: every oddity of real servers gives its outcome.

use std::time::{Duration, Instant};

use medrgb::domain::answer::{Ending, ReplyShape};
use medrgb::domain::context::Scenario;
use medrgb::domain::prompt::Prompt;
use medrgb::model::http::{HttpModel, HttpSettings, ResponseFormat, RetryPolicy, Secret};
use medrgb::model::{
    ChatModel, ChatRequest, Delta, FailureKind, ModelError, Reply, ReplyForm, Sampling,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::sse_server::{Script, Server, event, text_chunk};

const KEY: &str = "sk-test-0123456789abcdef";

fn request() -> ChatRequest {
    ChatRequest {
        prompt: Prompt {
            system: "Be careful.".into(),
            user: "Are there microbes in milk?".into(),
        },
        form: ReplyForm::Instance(ReplyShape {
            scenario: Scenario::Standard,
            labels: vec![],
            ids: vec![],
            options: vec![('A', "yes".into()), ('B', "no".into())],
            sub_questions: vec![],
        }),
        sampling: Sampling {
            seed: Some(5),
            max_tokens: 64,
            ..Sampling::default()
        },
    }
}

fn settings(server: &Server, retries: u32) -> HttpSettings {
    let mut settings = HttpSettings::new("openai:m", &server.base_url(), "m");
    settings.key = Some(Secret::new(KEY));
    settings.key_env = Some("OPENAI_API_KEY".into());
    settings.connect_timeout = Duration::from_secs(5);
    settings.read_timeout = Duration::from_secs(5);
    settings.retry = RetryPolicy {
        retries,
        base: Duration::from_millis(5),
        cap: Duration::from_millis(20),
        ..RetryPolicy::default()
    };
    settings
}

struct Asked {
    result: Result<Reply, ModelError>,
    deltas: Vec<Delta>,
}

impl Asked {
    fn reply(&self) -> &Reply {
        self.result.as_ref().unwrap()
    }

    fn error(&self) -> &ModelError {
        let error = self.result.as_ref().unwrap_err();
        assert!(!format!("{error:?}").contains(KEY), "{error:?}");
        error
    }

    fn statuses(&self) -> String {
        let texts: Vec<&str> = self
            .deltas
            .iter()
            .filter_map(|delta| match delta {
                Delta::Status(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        texts.join("\n")
    }

    /// The text as a screen would have it: pieces since the last restart.
    fn shown(&self) -> String {
        let mut shown = String::new();
        for delta in &self.deltas {
            match delta {
                Delta::Restart => shown.clear(),
                Delta::Text(text) => shown += text,
                _ => {}
            }
        }
        shown
    }
}

async fn ask_with(settings: HttpSettings) -> Asked {
    let model = HttpModel::new(settings).unwrap();
    let mut deltas = Vec::new();
    let result = model
        .reply(&request(), &CancellationToken::new(), &mut |delta| {
            deltas.push(delta);
        })
        .await;
    Asked { result, deltas }
}

async fn ask(scripts: Vec<Script>, retries: u32) -> Asked {
    let server = Server::start(scripts);
    ask_with(settings(&server, retries)).await
}

#[tokio::test]
async fn a_stream_gives_text_usage_and_timeline() {
    let server = Server::start(vec![Script::reply(&["Mi", "crobes ", "é中😀"])]);
    let mut settings = settings(&server, 0);
    settings.response_format = ResponseFormat::JsonSchema;
    let asked = ask_with(settings).await;
    let reply = asked.reply();
    assert_eq!(reply.text, "Microbes é中😀");
    assert_eq!(asked.shown(), reply.text);
    assert_eq!(reply.ending, Ending::Complete);
    assert_eq!(reply.usage.prompt_tokens, Some(11));
    assert_eq!(reply.usage.completion_tokens, Some(3));
    assert_eq!(reply.reported_model.as_deref(), Some("served-model"));
    let bytes: u32 = reply.timing.timeline.iter().map(|(_, bytes)| bytes).sum();
    assert_eq!(bytes as usize, reply.text.len());
    assert!(reply.timing.first_token_ms.is_some());
    let sent = &server.requests()[0];
    assert!(sent.head.starts_with("POST /v1/chat/completions HTTP/1.1"));
    assert!(sent.head.contains(&format!("authorization: Bearer {KEY}")));
    assert_eq!(sent.body["stream_options"]["include_usage"], true);
    assert_eq!(sent.body["messages"][1]["role"], "user");
    assert_eq!(sent.body["seed"], 5);
    assert_eq!(sent.body["temperature"], 0.0);
    assert_eq!(sent.body["response_format"]["type"], "json_schema");
}

#[tokio::test]
async fn any_split_of_the_bytes_gives_the_same_reply() {
    let whole = "naïve 中文 😀 \"quoted\" end";
    let crlf = Script::stream()
        .send(": keep-alive\r\n\r\n")
        .send("event: message\r\nid: 1\r\n")
        .send(event(&text_chunk("naïve 中文 ")).replace('\n', "\r\n"))
        .send(": another comment\r\n")
        .send(event(&text_chunk("😀 \"quoted\" end")).replace('\n', "\r\n"))
        .send("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\r\n\r\n");
    for script in [crlf, Script::reply(&["naïve 中文 ", "😀 \"quoted\" end"])] {
        for size in [1, 2, 3, 7, 64] {
            let asked = ask(vec![script.clone().in_pieces_of(size)], 0).await;
            assert_eq!(asked.reply().text, whole, "writes of {size} bytes");
            assert_eq!(asked.reply().ending, Ending::Complete);
        }
    }
}

#[tokio::test]
async fn separate_reasoning_in_both_spellings() {
    let script = Script::stream()
        .event(&json!({"choices": [{"delta": {"role": "assistant", "content": null}}]}))
        .event(&json!({"choices": [{"delta": {"reasoning_content": "Let me "}}]}))
        .event(&json!({"choices": [{"delta": {"content": "", "reasoning": "think."}}]}))
        .text("A")
        .finish("stop")
        .done();
    let asked = ask(vec![script], 0).await;
    assert_eq!(asked.reply().reasoning, "Let me think.");
    assert_eq!(asked.reply().text, "A");
    assert!(asked.deltas.contains(&Delta::Reasoning("think.".into())));
}

#[tokio::test]
async fn finish_reasons_decide_the_ending() {
    let length = ask(
        vec![Script::stream().text("cut").finish("length").done()],
        0,
    )
    .await;
    assert_eq!(length.reply().ending, Ending::Length);
    // The connection closes without [DONE]: the finish reason says it is whole.
    let bare = ask(vec![Script::stream().text("whole").finish("stop")], 0).await;
    assert_eq!(bare.reply().ending, Ending::Complete);
    // [DONE] without any finish reason.
    let done = ask(vec![Script::stream().text("whole").done()], 0).await;
    assert_eq!(done.reply().ending, Ending::Complete);
    // The last event lacks its blank line.
    let unterminated = ask(vec![Script::stream().text("whole").send("data: [DONE]")], 0).await;
    assert_eq!(unterminated.reply().ending, Ending::Complete);
    let filtered = ask(
        vec![
            Script::stream()
                .text("some")
                .finish("content_filter")
                .done(),
        ],
        3,
    )
    .await;
    assert_eq!(filtered.error().kind, FailureKind::ContentFilter);
    assert_eq!(filtered.error().attempts, 1);
    let refusal = Script::stream()
        .event(&json!({"choices": [{"delta": {"refusal": "I'm sorry, I can't help."}}]}))
        .finish("stop")
        .done();
    assert_eq!(
        ask(vec![refusal], 0).await.reply().text,
        "I'm sorry, I can't help."
    );
}

#[tokio::test]
async fn a_whole_completion_in_the_place_of_a_stream_is_read() {
    let whole = json!({"model": "whole", "choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "B", "reasoning_content": "why"}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1}});
    let asked = ask(vec![Script::json("200 OK", &whole)], 0).await;
    assert_eq!(asked.reply().text, "B");
    assert_eq!(asked.reply().reasoning, "why");
    assert_eq!(asked.reply().usage.completion_tokens, Some(1));
    assert_eq!(asked.shown(), "B");
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_kept_and_retried() {
    let cut = || Script::stream().text("half a re");
    let again = ask(vec![cut(), Script::reply(&["whole"])], 2).await;
    assert_eq!(again.reply().text, "whole");
    assert_eq!(
        (again.reply().attempts, again.reply().ending),
        (2, Ending::Complete)
    );
    assert!(again.deltas.contains(&Delta::Restart));
    assert_eq!(again.shown(), "whole");
    assert!(
        again.statuses().contains("retry 1 of 2"),
        "{}",
        again.statuses()
    );

    for script in [
        cut(),
        Script::broken_stream().text("half a re"),
        Script::stream()
            .text("half a re")
            .send("data: {\"choices\":[{\"del"),
    ] {
        let kept = ask(vec![script], 1).await;
        assert_eq!(kept.reply().text, "half a re");
        assert_eq!(
            (kept.reply().attempts, kept.reply().ending),
            (2, Ending::Interrupted)
        );
    }
    // What the first attempt left is kept where the later ones get nothing.
    let later_nothing = ask(vec![cut(), Script::hang_up()], 1).await;
    assert_eq!(later_nothing.reply().text, "half a re");
    assert_eq!(later_nothing.reply().ending, Ending::Interrupted);
}

#[tokio::test]
async fn nothing_at_all_is_a_network_failure() {
    let asked = ask(vec![Script::hang_up()], 1).await;
    assert_eq!(
        (asked.error().kind, asked.error().attempts),
        (FailureKind::Network, 2)
    );
    let asked = ask(vec![Script::stream()], 0).await;
    assert_eq!(asked.error().kind, FailureKind::Malformed);
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let server = Server::start(vec![Script::hang_up()]);
    let mut nobody = settings(&server, 0);
    nobody.base_url = format!("http://127.0.0.1:{port}/v1");
    let asked = ask_with(nobody).await;
    assert_eq!(asked.error().kind, FailureKind::Network);
    assert!(
        asked.error().message.contains("refused"),
        "{}",
        asked.error()
    );
}

#[tokio::test]
async fn silence_ends_at_the_read_timeout() {
    let server = Server::start(vec![Script::stream().text("half").pause(3_000)]);
    let mut settings = settings(&server, 0);
    settings.read_timeout = Duration::from_millis(150);
    let started = Instant::now();
    let asked = ask_with(settings).await;
    assert!(started.elapsed() < Duration::from_secs(2));
    assert_eq!(asked.reply().ending, Ending::Interrupted);
    assert_eq!(asked.reply().text, "half");
}

#[tokio::test]
async fn a_server_that_never_says_a_word_is_asked_twice_and_no_oftener() {
    let server = Server::start(vec![Script::hang_up()]);
    let mut settings = settings(&server, 4);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    settings.base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    settings.read_timeout = Duration::from_millis(200);
    // Connections are taken and held; nothing is ever sent.
    let (sender, held) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            if sender.send(stream).is_err() {
                return;
            }
        }
    });
    let asked = ask_with(settings).await;
    assert_eq!(
        (asked.error().kind, asked.error().attempts),
        (FailureKind::Network, 2)
    );
    assert!(
        asked.error().message.contains("sent nothing for too long"),
        "{}",
        asked.error()
    );
    assert!(
        asked.statuses().contains("at most 0 s without a word"),
        "{}",
        asked.statuses()
    );
    assert_eq!(held.try_iter().count(), 2);
}

#[tokio::test]
async fn too_many_requests_waits_as_long_as_asked() {
    let busy = Script::answer(
        "429 Too Many Requests",
        &["Retry-After: 1"],
        r#"{"error":{"message":"slow down","type":"rate_limit"}}"#,
    );
    let server = Server::start(vec![busy.clone(), Script::reply(&["ok"])]);
    let asked = ask_with(settings(&server, 1)).await;
    assert_eq!(
        (asked.reply().text.as_str(), asked.reply().attempts),
        ("ok", 2)
    );
    assert!(asked.statuses().contains("429"), "{}", asked.statuses());
    let requests = server.requests();
    let wait = requests[1].at.duration_since(requests[0].at);
    assert!(wait >= Duration::from_millis(950), "{wait:?}");

    // Without retries it is an outcome.
    let asked = ask(vec![busy], 0).await;
    assert_eq!(
        (asked.error().kind, asked.error().status),
        (FailureKind::RateLimited, Some(429))
    );
}

#[tokio::test]
async fn only_passing_troubles_are_tried_again() {
    let cases = [
        (
            "400 Bad Request",
            r#"{"error":{"message":"bad field"}}"#,
            FailureKind::BadRequest,
            1,
        ),
        (
            "401 Unauthorized",
            r#"{"error":{"message":"bad key"}}"#,
            FailureKind::Auth,
            1,
        ),
        (
            "402 Payment Required",
            r#"{"error":{"message":"no credit"}}"#,
            FailureKind::Quota,
            1,
        ),
        ("403 Forbidden", "{}", FailureKind::Auth, 1),
        (
            "404 Not Found",
            r#"{"error":{"message":"no such model"}}"#,
            FailureKind::NotFound,
            1,
        ),
        (
            "429 Too Many Requests",
            r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#,
            FailureKind::Quota,
            1,
        ),
        (
            "400 Bad Request",
            r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#,
            FailureKind::Overflow,
            1,
        ),
        ("408 Request Timeout", "", FailureKind::Network, 3),
        ("409 Conflict", "", FailureKind::Server, 3),
        ("500 Internal Server Error", "oops", FailureKind::Server, 3),
        (
            "503 Service Unavailable",
            "<html><title>Busy</title></html>",
            FailureKind::Server,
            3,
        ),
    ];
    for (status, body, kind, attempts) in cases {
        let server = Server::start(vec![Script::answer(status, &[], body)]);
        let asked = ask_with(settings(&server, 2)).await;
        assert_eq!(asked.error().kind, kind, "{status}");
        assert_eq!(asked.error().attempts, attempts, "{status}");
        assert_eq!(server.requests().len(), attempts as usize, "{status}");
        assert!(
            asked.error().message.contains(&status[..3]),
            "{}",
            asked.error()
        );
    }
}

#[tokio::test]
async fn errors_in_good_answers_are_errors() {
    let object = json!({"error": {"message": "no capacity", "code": 503}});
    let asked = ask(vec![Script::json("200 OK", &object)], 1).await;
    assert_eq!(
        (asked.error().kind, asked.error().attempts),
        (FailureKind::Server, 2)
    );
    let asked = ask(vec![Script::stream().text("some").event(&object)], 0).await;
    assert_eq!(asked.error().kind, FailureKind::Server);
    assert!(
        asked.error().message.contains("no capacity"),
        "{}",
        asked.error()
    );
    let asked = ask(
        vec![
            Script::stream().text("some").event(&object),
            Script::reply(&["ok"]),
        ],
        1,
    )
    .await;
    assert_eq!(asked.shown(), "ok");
    let long = json!({"error": {"code": "context_length_exceeded", "message": "too long"}});
    let asked = ask(vec![Script::stream().event(&long)], 3).await;
    assert_eq!(
        (asked.error().kind, asked.error().attempts),
        (FailureKind::Overflow, 1)
    );
}

#[tokio::test]
async fn what_is_not_the_protocol_is_malformed() {
    let page = "<!DOCTYPE html><html><head><title>Sign in</title></head></html>";
    let asked = ask(
        vec![Script::answer("200 OK", &["Content-Type: text/html"], page)],
        1,
    )
    .await;
    assert_eq!(
        (asked.error().kind, asked.error().attempts),
        (FailureKind::Malformed, 2)
    );
    assert!(
        asked.error().message.contains("Sign in"),
        "{}",
        asked.error()
    );
    for (script, attempts) in [
        (
            Script::stream()
                .text("some")
                .send("data: {\"choices\": [oops]}\n\n")
                .done(),
            2,
        ),
        (Script::stream().send("data: 5\n\n"), 2),
        (Script::stream().text("some").send([b'd', 0xff, b'\n']), 2),
        (Script::answer("200 OK", &[], "{\"choices\": ["), 2),
        (Script::answer("200 OK", &[], "{\"choices\": []}"), 2),
        (Script::answer("200 OK", &[], "404 page not found"), 2),
        // Events that say nothing of the first choice.
        (Script::stream().done(), 2),
        (Script::stream().send(": a comment\n\n").done(), 2),
        (
            Script::stream()
                .event(&json!({"choices": [], "usage": {"prompt_tokens": 3}}))
                .done(),
            2,
        ),
        (
            Script::stream()
                .event(&json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}))
                .done(),
            2,
        ),
        (
            Script::stream()
                .event(&json!({"choices": [{"index": 1, "delta": {"content": "B"}, "finish_reason": "stop"}]}))
                .done(),
            2,
        ),
        (
            Script::answer("200 OK", &[], "{\"choices\": [{\"index\": 1, \"message\": {\"content\": \"B\"}}]}"),
            2,
        ),
        (Script::answer("200 OK", &[], ""), 2),
    ] {
        let asked = ask(vec![script.clone()], 1).await;
        assert_eq!(asked.error().kind, FailureKind::Malformed, "{script:?}");
        assert_eq!(asked.error().attempts, attempts, "{script:?}");
        assert!(!asked.error().message.contains('\n'));
    }
}

#[tokio::test]
async fn text_without_a_finish_reason_and_an_empty_reply_with_one_are_replies() {
    for (script, text) in [
        (Script::stream().text("fine").done(), "fine"),
        (Script::stream().text("").finish("stop").done(), ""),
        (Script::stream().finish("stop").done(), ""),
    ] {
        let asked = ask(vec![script.clone()], 1).await;
        assert_eq!(
            (asked.reply().text.as_str(), asked.reply().attempts),
            (text, 1),
            "{script:?}"
        );
        assert_eq!(asked.reply().ending, Ending::Complete, "{script:?}");
    }
}

#[tokio::test]
async fn a_malformed_stream_is_tried_again() {
    let broken = Script::stream().text("some").send("data: {oops}\n\n");
    let asked = ask(vec![broken, Script::reply(&["fine"])], 1).await;
    assert_eq!(asked.reply().text, "fine");
    assert_eq!(asked.shown(), "fine");
}

#[tokio::test]
async fn cancelling_a_slow_stream_is_quick_and_keeps_what_came() {
    let server = Server::start(vec![Script::stream().drip("tick ", 20)]);
    let model = HttpModel::new(settings(&server, 3)).unwrap();
    let cancel = CancellationToken::new();
    let trigger = cancel.clone();
    let cancelled = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let at = Instant::now();
        trigger.cancel();
        at
    });
    let reply = model.reply(&request(), &cancel, &mut |_| {}).await.unwrap();
    let ended = Instant::now();
    let at = cancelled.await.unwrap();
    assert!(ended.duration_since(at) < Duration::from_millis(200));
    assert_eq!(reply.ending, Ending::Interrupted);
    assert!(reply.text.starts_with("tick tick "), "{}", reply.text);
    // The connection is closed, so the server stops writing.
    for _ in 0..100 {
        if server.client_gone().is_some() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the server still writes");
}

#[tokio::test]
async fn cancelling_before_any_text_and_during_a_wait() {
    let server = Server::start(vec![Script::stream().pause(5_000)]);
    let model = HttpModel::new(settings(&server, 3)).unwrap();
    let started = Instant::now();
    let cancel = CancellationToken::new();
    let trigger = cancel.clone();
    let canceller = async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        trigger.cancel();
    };
    let request = request();
    let mut ignore = |_| {};
    let (result, ()) = tokio::join!(model.reply(&request, &cancel, &mut ignore), canceller);
    assert_eq!(result.unwrap_err().kind, FailureKind::Cancelled);
    assert!(
        started.elapsed() < Duration::from_millis(300),
        "{:?}",
        started.elapsed()
    );

    let busy = Script::answer("503 Service Unavailable", &["Retry-After: 60"], "");
    let server = Server::start(vec![busy]);
    let model = HttpModel::new(settings(&server, 3)).unwrap();
    let cancel = CancellationToken::new();
    let trigger = cancel.clone();
    let mut on_delta = move |delta| {
        if matches!(&delta, Delta::Status(text) if text.contains("60.0 s")) {
            trigger.cancel();
        }
    };
    let result = tokio::time::timeout(
        Duration::from_secs(5),
        model.reply(&request, &cancel, &mut on_delta),
    )
    .await
    .expect("the wait ends with the cancel");
    assert_eq!(result.unwrap_err().kind, FailureKind::Cancelled);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_key_that_a_server_echoes_is_not_repeated() {
    let echo = format!(
        "{{\"error\":{{\"message\":\"{} key {KEY} is wrong \\u001b[31m\"}}}}",
        "x".repeat(150)
    );
    let asked = ask(vec![Script::answer("401 Unauthorized", &[], &echo)], 0).await;
    let message = &asked.error().message;
    assert!(message.contains("key [key] is wrong"), "{message}");
    assert!(
        message.contains("OPENAI_API_KEY") && !message.contains('\u{1b}'),
        "{message}"
    );
    // Not even half a key at the place where long messages are cut.
    for padding in 280..300 {
        let echo = format!("{}{KEY}", "x".repeat(padding));
        let asked = ask(vec![Script::answer("401 Unauthorized", &[], &echo)], 0).await;
        assert!(!asked.error().message.contains("sk-"), "{}", asked.error());
    }
    let asked = ask(vec![Script::reply(&["your key is ", KEY, "."])], 0).await;
    assert_eq!(asked.reply().text, "your key is [key].");
    let bytes: u32 = asked
        .reply()
        .timing
        .timeline
        .iter()
        .map(|(_, bytes)| bytes)
        .sum();
    assert_eq!(bytes as usize, asked.reply().text.len());
}

#[tokio::test]
async fn an_endless_reply_is_cut_off() {
    let server = Server::start(vec![Script::stream().drip(&"x".repeat(1_000), 0)]);
    let mut settings = settings(&server, 3);
    settings.reply_cap = 100_000;
    let asked = ask_with(settings).await;
    assert_eq!(asked.reply().text.len(), 100_000);
    assert_eq!(
        (asked.reply().ending, asked.reply().attempts),
        (Ending::Interrupted, 1)
    );
    assert!(asked.statuses().contains("cut off"), "{}", asked.statuses());
}

#[tokio::test]
async fn an_endless_line_does_not_fill_the_memory() {
    let mut script = Script::stream().send("data: ");
    for _ in 0..10 {
        script = script.send("y".repeat(1 << 20));
    }
    let asked = ask(vec![script], 3).await;
    assert_eq!(
        (asked.error().kind, asked.error().attempts),
        (FailureKind::Malformed, 1)
    );
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let target = Server::start(vec![Script::reply(&["stolen"])]);
    let location = format!("Location: {}/chat/completions", target.base_url());
    let asked = ask(
        vec![Script::answer("307 Temporary Redirect", &[&location], "")],
        3,
    )
    .await;
    assert_eq!(
        (asked.error().kind, asked.error().attempts),
        (FailureKind::BadRequest, 1)
    );
    assert!(
        asked.error().message.contains("not followed"),
        "{}",
        asked.error()
    );
    assert!(target.requests().is_empty());
}

#[tokio::test]
async fn a_prompt_beyond_the_window_is_not_sent() {
    let server = Server::start(vec![Script::reply(&["no"])]);
    let mut settings = settings(&server, 0);
    settings.window = Some(70);
    let asked = ask_with(settings).await;
    assert_eq!(
        (asked.error().kind, asked.error().attempts),
        (FailureKind::Overflow, 0)
    );
    assert!(server.requests().is_empty());
}

/// Reads a request with its body; `None` where none comes in time.
fn read_one(stream: &mut std::net::TcpStream) -> Option<String> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .map(|(_, value)| value.trim().parse::<usize>().unwrap());
        if body.len() >= length.unwrap_or(0) {
            return Some(text);
        }
    }
}

/// The end of the body often comes a moment after `[DONE]`: the reply does not wait for it, the connection does.
#[tokio::test]
async fn one_connection_serves_one_request_after_another() {
    use std::io::Write;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let pause = Duration::from_millis(150);
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let mut served = 0;
        while served < 2 && read_one(&mut stream).is_some() {
            let body = format!(
                "{}{}data: [DONE]\n\n",
                event(&text_chunk("A")),
                event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}))
            );
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
            write!(stream, "{head}{:x}\r\n{body}\r\n", body.len()).unwrap();
            std::thread::sleep(pause);
            write!(stream, "0\r\n\r\n").unwrap();
            served += 1;
        }
        served
    });
    let settings = HttpSettings::new("m", &format!("http://{address}/v1"), "m");
    let model = HttpModel::new(settings).unwrap();
    let cancel = CancellationToken::new();
    for _ in 0..2 {
        let started = Instant::now();
        let reply = model.reply(&request(), &cancel, &mut |_| {}).await.unwrap();
        assert_eq!(reply.text, "A");
        assert!(started.elapsed() < pause, "the end of the body was awaited");
        tokio::time::sleep(2 * pause).await;
    }
    assert_eq!(server.join().unwrap(), 2);
}

#[tokio::test]
async fn option_probabilities_come_from_the_likeliest_tokens_where_the_config_asks() {
    let token = |text: &str, top: &[(&str, f64)]| {
        let top: Vec<_> = top
            .iter()
            .map(|(text, p)| json!({"token": text, "logprob": p.ln()}))
            .collect();
        json!({"choices": [{"index": 0, "delta": {"content": text}, "logprobs":
            {"content": [{"token": text, "logprob": -0.1, "top_logprobs": top}]}}]})
    };
    let script = Script::stream()
        .event(&token("{\"answer_choice\": \"", &[]))
        .event(&token("B", &[("B", 0.6), ("A", 0.2), ("The", 0.2)]))
        .event(&token("\"}", &[]))
        .finish("stop")
        .done();
    let server = Server::start(vec![script]);
    let mut asking = settings(&server, 0);
    asking.top_logprobs = Some(3);
    let asked = ask_with(asking).await;
    let probabilities = asked.reply().option_probabilities.clone().unwrap();
    for ((letter, p), (expected, value)) in probabilities.iter().zip([('A', 0.25), ('B', 0.75)]) {
        assert_eq!(*letter, expected);
        assert!((p - value).abs() < 1e-9);
    }
    let body = &server.requests()[0].body;
    assert_eq!(
        (&body["logprobs"], &body["top_logprobs"]),
        (&json!(true), &json!(3))
    );
    ask_with(settings(&server, 0)).await.reply();
    assert!(server.requests()[1].body.get("logprobs").is_none());
}

#[test]
fn requests_are_told_apart_by_all_that_decides_the_reply() {
    let identify = |change: &dyn Fn(&mut HttpSettings, &mut ChatRequest)| {
        let mut settings =
            HttpSettings::new("n", "http://user:pass@127.0.0.1:8000/v1?key=secret", "m");
        let mut asked = request();
        change(&mut settings, &mut asked);
        HttpModel::new(settings).unwrap().identify(&asked).unwrap()
    };
    let plain = identify(&|_, _| {});
    assert!(!plain.to_string().contains("secret") && !plain.to_string().contains("pass"));
    // Names of the model here and of this machine, keys and retries decide nothing.
    assert_eq!(
        plain,
        identify(&|settings, _| {
            settings.name = "other".into();
            settings.base_url = "http://localhost:8000/v1/".into();
            settings.key = Some(Secret::new(KEY));
            settings.retry.retries = 0;
        })
    );
    type Change = dyn Fn(&mut HttpSettings, &mut ChatRequest);
    let changes: [&Change; 7] = [
        &|settings, _| settings.model = "m2".into(),
        &|settings, _| settings.base_url = "http://127.0.0.1:8001/v1".into(),
        &|settings, _| settings.response_format = ResponseFormat::JsonSchema,
        &|settings, _| {
            settings.extra.insert("top_k".into(), json!(1));
        },
        &|_, asked| asked.sampling.temperature = 0.5,
        &|_, asked| asked.sampling.seed = None,
        &|_, asked| asked.prompt.user.push('!'),
    ];
    for (at, change) in changes.iter().enumerate() {
        assert_ne!(plain, identify(*change), "{at}");
    }
}
