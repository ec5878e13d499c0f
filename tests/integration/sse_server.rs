//! A scripted model server on a loopback address: plain TCP, so that every byte and every pause of an
//! answer is the test's own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// One thing that the server does on a connection.
#[derive(Debug, Clone)]
pub enum Step {
    /// Writes these bytes in one go.
    Send(Vec<u8>),
    /// Waits.
    Pause(Duration),
    /// Sends this again and again, with a pause, until the client is gone.
    Repeat(Vec<u8>, Duration),
}

/// What the server does on one connection; afterwards it closes.
#[derive(Debug, Clone, Default)]
pub struct Script(Vec<Step>);

impl Script {
    /// An answer with this status, further header lines and body.
    pub fn answer(status: &str, headers: &[&str], body: &str) -> Script {
        let mut text = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n",
            body.len()
        );
        for header in headers {
            text += &format!("{header}\r\n");
        }
        Script(vec![Step::Send(format!("{text}\r\n{body}").into_bytes())])
    }

    /// An answer in JSON.
    pub fn json(status: &str, body: &Value) -> Script {
        Script::answer(
            status,
            &["Content-Type: application/json"],
            &body.to_string(),
        )
    }

    /// The head of an event stream that ends when the connection closes.
    pub fn stream() -> Script {
        Script(vec![Step::Send(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
                .to_vec(),
        )])
    }

    /// A body of this kind whose end is where the connection closes.
    pub fn stream_of(kind: &str, body: &str) -> Script {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n");
        Script(vec![Step::Send(format!("{head}{body}").into_bytes())])
    }

    /// The head of an event stream that promises more bytes than will come: closing breaks it off.
    pub fn broken_stream() -> Script {
        Script(vec![Step::Send(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 1000000\r\n\r\n"
                .to_vec(),
        )])
    }

    /// Closes without a word.
    pub fn hang_up() -> Script {
        Script::default()
    }

    /// A whole reply as a server streams it: pieces, finish reason, usage, `[DONE]`.
    pub fn reply(pieces: &[&str]) -> Script {
        let mut script = Script::stream();
        for piece in pieces {
            script = script.text(piece);
        }
        script
            .finish("stop")
            .event(&json!({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": pieces.len()}}))
            .done()
    }

    /// Writes bytes.
    pub fn send(mut self, bytes: impl AsRef<[u8]>) -> Script {
        self.0.push(Step::Send(bytes.as_ref().to_vec()));
        self
    }

    /// Waits.
    pub fn pause(mut self, milliseconds: u64) -> Script {
        self.0
            .push(Step::Pause(Duration::from_millis(milliseconds)));
        self
    }

    /// Goes on with another script.
    pub fn then(mut self, next: Script) -> Script {
        self.0.extend(next.0);
        self
    }

    /// Writes an event.
    pub fn event(self, data: &Value) -> Script {
        self.send(event(data))
    }

    /// Writes an event with a piece of text.
    pub fn text(self, piece: &str) -> Script {
        self.event(&text_chunk(piece))
    }

    /// Writes an event with the finish reason.
    pub fn finish(self, reason: &str) -> Script {
        self.event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
    }

    /// Writes `[DONE]`.
    pub fn done(self) -> Script {
        self.send("data: [DONE]\n\n")
    }

    /// Goes on with a piece of text every so many milliseconds until the client is gone.
    pub fn drip(mut self, piece: &str, milliseconds: u64) -> Script {
        self.0.push(Step::Repeat(
            event(&text_chunk(piece)).into_bytes(),
            Duration::from_millis(milliseconds),
        ));
        self
    }

    /// Sends what has been scripted in writes of at most `size` bytes with a pause between them.
    pub fn in_pieces_of(self, size: usize) -> Script {
        let mut steps = Vec::new();
        for step in self.0 {
            match step {
                Step::Send(bytes) => {
                    for piece in bytes.chunks(size) {
                        steps.push(Step::Send(piece.to_vec()));
                        steps.push(Step::Pause(Duration::from_micros(200)));
                    }
                }
                other => steps.push(other),
            }
        }
        Script(steps)
    }
}

/// A chunk with a piece of text.
pub fn text_chunk(piece: &str) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "model": "served-model", "system_fingerprint": "fp_served",
        "choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": null}]})
}

/// An event as it stands in a stream.
pub fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// A request that the server got.
#[derive(Debug, Clone)]
pub struct Request {
    /// The request line and the header lines.
    pub head: String,
    /// The body.
    pub body: Value,
    /// When it had come.
    pub at: Instant,
}

/// Requests that are being answered.
#[derive(Debug, Default)]
struct Load {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// One of them.
struct Busy<'a>(&'a Load);

impl Busy<'_> {
    fn new(load: &Load) -> Busy<'_> {
        let now = load.now.fetch_add(1, Ordering::SeqCst) + 1;
        load.most.fetch_max(now, Ordering::SeqCst);
        Busy(load)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    client_gone: Arc<Mutex<Option<Instant>>>,
    load: Arc<Load>,
    stop: Arc<AtomicBool>,
}

impl Server {
    /// Starts on a free loopback port; connection k plays script k, further ones the last.
    pub fn start(scripts: Vec<Script>) -> Server {
        Server::start_with(move |number, _| scripts[number.min(scripts.len() - 1)].clone())
    }

    /// Starts on a free loopback port; `answer` gives the script for the number of a connection, from 0, and
    /// its request.
    pub fn start_with(
        answer: impl Fn(usize, &Request) -> Script + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server {
            address: listener.local_addr().unwrap(),
            requests: Arc::default(),
            client_gone: Arc::default(),
            load: Arc::default(),
            stop: Arc::default(),
        };
        let (requests, gone, load, stop) = (
            Arc::clone(&server.requests),
            Arc::clone(&server.client_gone),
            Arc::clone(&server.load),
            Arc::clone(&server.stop),
        );
        let answer = Arc::new(answer);
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                let (requests, gone, load, stop, answer) = (
                    Arc::clone(&requests),
                    Arc::clone(&gone),
                    Arc::clone(&load),
                    Arc::clone(&stop),
                    Arc::clone(&answer),
                );
                std::thread::spawn(move || {
                    if let Some(request) = read_request(&stream) {
                        let script = answer(number, &request);
                        requests.lock().unwrap().push(request);
                        play(stream, script, Busy::new(&load), &gone, &stop);
                    }
                });
            }
        });
        server
    }

    /// The base URL for clients.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// How many requests there were so far.
    pub fn request_count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    /// The most requests that were being answered at a time.
    pub fn most_at_once(&self) -> usize {
        self.load.most.load(Ordering::SeqCst)
    }

    /// When a write failed because the client had gone.
    pub fn client_gone(&self) -> Option<Instant> {
        *self.client_gone.lock().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the listener so that its thread ends.
        let _ = TcpStream::connect(self.address);
    }
}

fn read_request(mut stream: &TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let length: usize = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map_or(0, |(_, value)| value.trim().parse().unwrap());
    while bytes.len() < head_end + length {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
    Some(Request {
        head,
        body: serde_json::from_slice(&bytes[head_end..]).unwrap_or(Value::Null),
        at: Instant::now(),
    })
}

/// Plays a script. It counts as answered before its last step, since a client may send its next request right
/// after that.
fn play(
    mut stream: TcpStream,
    script: Script,
    busy: Busy<'_>,
    gone: &Mutex<Option<Instant>>,
    stop: &AtomicBool,
) {
    let _ = stream.set_nodelay(true);
    let mut write = |bytes: &[u8]| {
        let sent = stream.write_all(bytes).and_then(|()| stream.flush());
        if sent.is_err() {
            gone.lock().unwrap().get_or_insert_with(Instant::now);
        }
        sent.is_ok()
    };
    let last = script.0.len().saturating_sub(1);
    let mut busy = Some(busy);
    for (number, step) in script.0.into_iter().enumerate() {
        if number == last {
            busy.take();
        }
        match step {
            Step::Send(bytes) => {
                if !write(&bytes) {
                    return;
                }
            }
            Step::Pause(time) => std::thread::sleep(time),
            Step::Repeat(bytes, time) => {
                while !stop.load(Ordering::Relaxed) && write(&bytes) {
                    std::thread::sleep(time);
                }
                return;
            }
        }
    }
}
