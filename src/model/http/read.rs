//! Reads the body of a good answer: an event stream, or a whole completion in one JSON object.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use eventsource_stream::{EventStreamError, Eventsource};
use futures_util::stream::{self, Stream, StreamExt};
use reqwest::Response;
use serde_json::Value;

use crate::domain::answer::Ending;
use crate::model::http::collect::{Collector, OnDelta};
use crate::model::http::fault::{Fault, ServerError, html_title, looks_like_html};
use crate::model::{Delta, FailureKind};

/// Most bytes between two events: no server needs as many, and an endless line must not fill the memory.
const MOST_PER_EVENT: usize = 8 << 20;

/// Most bytes of a whole completion in one object.
const MOST_WHOLE: usize = 32 << 20;

/// How long the usage chunk and `[DONE]` are awaited after the finish reason.
const TAIL: Duration = Duration::from_secs(5);

/// How long the end of the body is awaited after `[DONE]`.
const REST: Duration = Duration::from_secs(2);

/// Most characters of an answer that go on to a message, which cuts them further once keys are removed.
const EXCERPT: usize = 16_384;

/// Reads the answer into the collector and says how the reply ended.
pub(crate) async fn read(
    mut response: Response,
    collector: &mut Collector,
    on_delta: OnDelta<'_>,
) -> Result<Ending, Fault> {
    let head = read_head(&mut response).await?;
    // The content type can't be trusted: some servers label errors as event streams.
    match head.iter().find(|byte| !is_blank(**byte)) {
        None => Err(Fault::new(
            FailureKind::Malformed,
            "answered with an empty body",
        )),
        Some(b'<') => Err(html_fault(&head)),
        Some(b'{' | b'[') => read_whole(head, response, collector, on_delta).await,
        Some(_) => read_events(head, response, collector, on_delta).await,
    }
}

/// White space or a byte of the byte order mark.
fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, 0xef | 0xbb | 0xbf)
}

/// The first chunks, up to the first that is not blank.
async fn read_head(response: &mut Response) -> Result<Vec<u8>, Fault> {
    let mut head = Vec::new();
    while head.iter().all(|byte| is_blank(*byte)) && head.len() < MOST_PER_EVENT {
        match response.chunk().await {
            Ok(Some(bytes)) => head.extend_from_slice(&bytes),
            Ok(None) => break,
            Err(error) => return Err(transport_fault(&error)),
        }
    }
    Ok(head)
}

fn html_fault(head: &[u8]) -> Fault {
    let page = String::from_utf8_lossy(head);
    let page = html_title(&page).unwrap_or_else(|| "an HTML page".to_owned());
    // A gateway that is overloaded or restarts sends its page with a good status too, and that passes.
    Fault::new(
        FailureKind::Malformed,
        format!("answered with {page} instead of a reply; check the base URL"),
    )
}

/// Reads a completion that comes as one JSON object, although a stream was asked for.
async fn read_whole(
    mut body: Vec<u8>,
    mut response: Response,
    collector: &mut Collector,
    on_delta: OnDelta<'_>,
) -> Result<Ending, Fault> {
    loop {
        match response.chunk().await {
            Ok(Some(bytes)) if body.len() + bytes.len() > MOST_WHOLE => {
                return Err(Fault {
                    retry: false,
                    ..Fault::new(
                        FailureKind::Malformed,
                        "answered with more than 32 MiB of JSON",
                    )
                });
            }
            Ok(Some(bytes)) => body.extend_from_slice(&bytes),
            Ok(None) => break,
            Err(error) => return Err(transport_fault(&error)),
        }
    }
    let text = String::from_utf8_lossy(&body);
    let parsed: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| malformed(&format!("answered with broken JSON ({error})"), &text))?;
    // Some gateways wrap an error into a list.
    take_whole(parsed.get(0).unwrap_or(&parsed), collector, on_delta)
}

/// Takes a whole completion into the collector and says how the reply ended.
pub(crate) fn take_whole(
    completion: &Value,
    collector: &mut Collector,
    on_delta: OnDelta<'_>,
) -> Result<Ending, Fault> {
    if let Some(error) = ServerError::of_body(completion) {
        return Err(Fault::from_error_object(&error));
    }
    let has_choice = completion
        .get("choices")
        .and_then(Value::as_array)
        .is_some_and(|choices| !choices.is_empty());
    if !has_choice {
        return Err(malformed(
            "answered with JSON that holds no choices",
            &completion.to_string(),
        ));
    }
    collector.take(completion, "message", on_delta);
    finish(collector, on_delta)
}

/// Reads an event stream up to `[DONE]`, its end, or a fault.
async fn read_events(
    head: Vec<u8>,
    response: Response,
    collector: &mut Collector,
    on_delta: OnDelta<'_>,
) -> Result<Ending, Fault> {
    let opening = excerpt(&String::from_utf8_lossy(&head));
    let flow = Arc::new(Flow::default());
    let mut events = Box::pin(guarded(head, response, Arc::clone(&flow)).eventsource());
    let mut seen = false;
    loop {
        let next = if collector.is_finished() {
            tokio::time::timeout(TAIL, events.next())
                .await
                .unwrap_or(None)
        } else {
            events.next().await
        };
        let event = match next {
            Some(Ok(event)) => event,
            None => break,
            // What matters has come.
            Some(Err(_)) if collector.is_finished() => break,
            Some(Err(EventStreamError::Transport(fault))) => return Err(fault),
            Some(Err(error)) => {
                return Err(malformed(
                    &format!("sent a broken event stream ({error})"),
                    "",
                ));
            }
        };
        flow.since_event.store(0, Ordering::Relaxed);
        let data = event.data.trim();
        if data == "[DONE]" {
            // The connection serves the next request only once it has been read to its end, which need not be
            // waited for here.
            tokio::spawn(async move {
                let rest =
                    async { while events.next().await.is_some_and(|event| event.is_ok()) {} };
                let _ = tokio::time::timeout(REST, rest).await;
            });
            return finish(collector, on_delta);
        }
        if data.is_empty() {
            continue;
        }
        seen = true;
        match serde_json::from_str::<Value>(data) {
            Ok(chunk) if chunk.is_object() => {
                if let Some(error) = ServerError::of_body(&chunk) {
                    return Err(Fault::from_error_object(&error));
                }
                collector.take(&chunk, "delta", on_delta);
            }
            // Half an event at the end of a stream that broke off.
            Err(_) if flow.ended.load(Ordering::Relaxed) => break,
            _ if collector.is_finished() => break,
            Ok(_) => return Err(malformed("sent an event that is no JSON object", data)),
            Err(error) => {
                return Err(malformed(
                    &format!("sent an event with broken JSON ({error})"),
                    data,
                ));
            }
        }
        if collector.is_capped() {
            return finish(collector, on_delta);
        }
    }
    if collector.is_finished() {
        return finish(collector, on_delta);
    }
    if !seen {
        return Err(malformed(
            "answered with neither an event stream nor JSON",
            &opening,
        ));
    }
    Err(Fault::broke_off(
        "ended the stream without [DONE] or a finish reason",
    ))
}

/// How a reply ended that has come to its end.
fn finish(collector: &Collector, on_delta: OnDelta<'_>) -> Result<Ending, Fault> {
    if let Some(why) = collector.cut_off() {
        on_delta(Delta::Status(why));
        return Ok(Ending::Interrupted);
    }
    collector.ending()
}

/// Shared between the byte stream and the reader of its events.
#[derive(Debug, Default)]
struct Flow {
    /// Bytes since the last event.
    since_event: AtomicUsize,
    /// The body has ended; what follows is the line ends that we add.
    ended: AtomicBool,
}

/// The bytes of the body in pieces of whole lines (which are whole characters too, and spare the parser
/// from reading half a line again and again), with limits checked. Two line ends are added at the end, so
/// that a last event without its blank line is not lost.
fn guarded(
    head: Vec<u8>,
    response: Response,
    flow: Arc<Flow>,
) -> impl Stream<Item = Result<String, Fault>> {
    struct State {
        head: Option<Vec<u8>>,
        response: Response,
        pending: Vec<u8>,
        flow: Arc<Flow>,
    }
    let state = State {
        head: Some(head),
        response,
        pending: Vec::new(),
        flow,
    };
    stream::unfold(Some(state), async |state| {
        let mut state = state?;
        let bytes = match state.head.take() {
            Some(head) => head,
            None => match state.response.chunk().await {
                Ok(Some(bytes)) => bytes.to_vec(),
                Ok(None) => {
                    state.flow.ended.store(true, Ordering::Relaxed);
                    let rest = String::from_utf8_lossy(&state.pending);
                    return Some((Ok(format!("{rest}\n\n")), None));
                }
                Err(error) => return Some((Err(transport_fault(&error)), None)),
            },
        };
        let since = &state.flow.since_event;
        if since.fetch_add(bytes.len(), Ordering::Relaxed) + bytes.len() > MOST_PER_EVENT {
            let fault = Fault {
                retry: false,
                ..Fault::new(FailureKind::Malformed, "sent an event of more than 8 MiB")
            };
            return Some((Err(fault), None));
        }
        match whole_lines(&mut state.pending, &bytes) {
            Ok(text) => Some((Ok(text), Some(state))),
            Err(fault) => Some((Err(fault), None)),
        }
    })
}

/// Adds bytes to what is pending and takes all whole lines; an incomplete last one stays.
fn whole_lines(pending: &mut Vec<u8>, bytes: &[u8]) -> Result<String, Fault> {
    let line_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let Some(last) = bytes.iter().rposition(line_end) else {
        pending.extend_from_slice(bytes);
        return Ok(String::new());
    };
    let (lines, rest) = bytes.split_at(last + 1);
    let mut text = std::mem::replace(pending, rest.to_vec());
    text.extend_from_slice(lines);
    String::from_utf8(text).map_err(|_| malformed("sent bytes that are not UTF-8", ""))
}

fn malformed(what: &str, text: &str) -> Fault {
    let what = if text.trim().is_empty() {
        what.to_owned()
    } else if looks_like_html(text) {
        format!("{what}: an HTML page")
    } else {
        format!("{what}: \"{}\"", excerpt(text))
    };
    Fault::new(FailureKind::Malformed, what)
}

fn excerpt(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A fault of the connection.
pub(crate) fn transport_fault(error: &reqwest::Error) -> Fault {
    if error.is_builder() {
        return Fault::new(
            FailureKind::BadRequest,
            format!(
                "can't be asked, since the request can't be built ({})",
                root_cause(error)
            ),
        );
    }
    if error.is_connect() {
        let what = if error.is_timeout() {
            "could not be reached in time".to_owned()
        } else {
            format!("can't be reached ({})", root_cause(error))
        };
        return Fault::new(FailureKind::Network, what);
    }
    if error.is_timeout() {
        return Fault {
            silent: true,
            ..Fault::broke_off("sent nothing for too long")
        };
    }
    Fault::broke_off(format!("broke the connection off ({})", root_cause(error)))
}

/// The innermost cause: the outer ones only say "error sending request".
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn lines_split_at_any_byte_come_out_whole() {
        let text = "aé中\n😀b\r\n\nrest";
        for cut in 0..=text.len() {
            let (left, right) = text.as_bytes().split_at(cut);
            let mut pending = Vec::new();
            let mut out = whole_lines(&mut pending, left).unwrap();
            out += &whole_lines(&mut pending, right).unwrap();
            out += std::str::from_utf8(&pending).unwrap();
            assert_eq!(out, text, "{cut}");
        }
        let wrong = whole_lines(&mut Vec::new(), &[b'a', 0xff, b'\n']).unwrap_err();
        assert_eq!(wrong.kind, FailureKind::Malformed);
    }
}
