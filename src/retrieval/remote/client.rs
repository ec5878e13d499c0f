//! Calls to a Milvus server (the only file that names tonic types).
//!
//! Calls block. They run on one thread of an async runtime of the client's own, so that a caller on any
//! thread gets its answer, or a sentence why there is none, within the call's time limit.

use std::marker::PhantomData;
use std::sync::mpsc;
use std::time::Duration;

use base64::Engine;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};

use crate::domain::text::one_line;
use crate::retrieval::RetrievalError;
use crate::retrieval::remote::address::{Address, TOKEN_VARIABLE, Token};
use crate::retrieval::remote::wire;

/// A server that does not take the connection within this time is not there.
const CONNECT: Duration = Duration::from_secs(4);
/// A connection on which a call waits is probed that often, so that a machine that vanished is noticed.
const PROBE: Duration = Duration::from_secs(10);
/// Answers above this size are refused; also what Milvus accepts at most.
pub const LARGEST_MESSAGE: usize = 64 << 20;
/// A server's own words in our sentences are cut there.
const LONGEST_REASON: usize = 300;

/// What a call may take.
pub const QUICK: Duration = Duration::from_secs(8);
/// What a call that writes or builds may take.
pub const SLOW: Duration = Duration::from_secs(120);

/// A call failed.
#[derive(Debug)]
pub struct CallError {
    /// One clear sentence.
    pub sentence: String,
    /// Whether the same call may succeed in a moment.
    pub passing: bool,
    /// Whether the server says that the collection (or its index) does not exist.
    pub missing: bool,
    /// Whether the server says that the collection is not in its memory.
    pub unloaded: bool,
}

impl From<CallError> for RetrievalError {
    fn from(error: CallError) -> RetrievalError {
        RetrievalError(error.sentence)
    }
}

/// One server.
pub struct Client {
    runtime: Option<tokio::runtime::Runtime>,
    channel: Channel,
    token: Option<MetadataValue<Ascii>>,
    server: String,
    tls: bool,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Waiting for a hanging call here would hang the program.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// An answer that says whether its call succeeded.
pub trait Answer: prost::Message + Default + 'static {
    /// The status; a server leaves it out where all went well.
    fn status(&self) -> Option<&wire::Status>;
}

macro_rules! answers {
    ($($message:ident),*) => {$(
        impl Answer for wire::$message {
            fn status(&self) -> Option<&wire::Status> {
                self.status.as_ref()
            }
        }
    )*};
}

answers!(
    Answered,
    Described,
    DescribedIndexes,
    LoadState,
    Mutated,
    Searched,
    Queried,
    Statistics,
    Versioned
);

impl Answer for wire::Status {
    fn status(&self) -> Option<&wire::Status> {
        Some(self)
    }
}

impl Client {
    /// A client of the address's server; it connects at the first call.
    ///
    /// # Errors
    /// When the system gives no thread, or encryption is asked for and this machine has no root certificates.
    pub fn new(address: &Address, token: Option<&Token>) -> Result<Client, RetrievalError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("milvus")
            .enable_all()
            .build()
            .map_err(|error| {
                RetrievalError(format!(
                    "the remote index can't be opened: the system gives no thread ({error})"
                ))
            })?;
        let scheme = if address.tls { "https" } else { "http" };
        let server = address.server();
        let endpoint = endpoint(&format!("{scheme}://{server}"), address.tls).map_err(|error| {
            RetrievalError(format!(
                "the address of the Milvus server {server} can't be used: {}",
                causes(&error)
            ))
        })?;
        // The channel's background task belongs to the runtime that is entered here.
        let entered = runtime.enter();
        let channel = endpoint.connect_lazy();
        drop(entered);
        Ok(Client {
            runtime: Some(runtime),
            channel,
            token: token.map(header).transpose()?,
            server,
            tls: address.tls,
        })
    }

    /// Calls a method of Milvus's service and checks the answer's status. `what` says in a sentence what
    /// could not be done.
    ///
    /// # Errors
    /// [`CallError`] when there is no answer within `limit` or its status is not success.
    pub fn call<Q, A>(
        &self,
        method: &'static str,
        what: &str,
        request: Q,
        limit: Duration,
    ) -> Result<A, CallError>
    where
        Q: prost::Message + 'static,
        A: Answer,
    {
        let Some(runtime) = &self.runtime else {
            return Err(self.failed(what, "the client is closed", false));
        };
        let (send, receive) = mpsc::channel();
        let (channel, token) = (self.channel.clone(), self.token.clone());
        runtime.spawn(async move {
            let answer =
                tokio::time::timeout(limit, unary::<Q, A>(channel, token, method, request)).await;
            let _ = send.send(answer);
        });
        // The task always answers within `limit`; the second more only covers a runtime that died.
        let answer = match receive.recv_timeout(limit + Duration::from_secs(1)) {
            Ok(Ok(Ok(answer))) => answer,
            Ok(Ok(Err(status))) => return Err(self.explain(what, &status)),
            Ok(Err(_)) | Err(_) => {
                let why = format!(
                    "the Milvus server {} did not answer within {} s; is it overloaded, or does something between drop the connection?",
                    self.server,
                    limit.as_secs()
                );
                return Err(self.failed(what, &why, true));
            }
        };
        match answer.status() {
            Some(status) if status.code != 0 || status.error_code != 0 => {
                Err(self.refused(what, status))
            }
            _ => Ok(answer),
        }
    }

    fn failed(&self, what: &str, why: &str, passing: bool) -> CallError {
        CallError {
            sentence: format!("{what}: {why}"),
            passing,
            missing: false,
            unloaded: false,
        }
    }

    /// The server took the call and answered that it failed.
    fn refused(&self, what: &str, status: &wire::Status) -> CallError {
        // 100 is "collection not found" since 2.3, 4 in the older numbering; 700 is "index not found".
        let missing = matches!(status.code, 100 | 700) || matches!(status.error_code, 4 | 11);
        // Rate limits: 8 is "service unavailable or exhausted" of 2.3 and later.
        CallError {
            sentence: format!(
                "{what}: the Milvus server {} says: {}",
                self.server,
                said(&status.reason)
            ),
            passing: status.retriable || status.code == 8,
            missing,
            // In both numberings.
            unloaded: status.code == 101 || status.error_code == 101,
        }
    }

    /// There was no answer: the connection or the protocol failed.
    fn explain(&self, what: &str, status: &tonic::Status) -> CallError {
        use tonic::Code;
        let server = &self.server;
        let detail = match std::error::Error::source(status) {
            Some(source) => causes(source),
            None => said(status.message()),
        };
        let (why, passing) = match status.code() {
            Code::Unavailable if self.tls => (
                format!(
                    "the Milvus server {server} can't be reached over TLS ({detail}); is it running, is the address right, and does it speak TLS?"
                ),
                true,
            ),
            Code::Unavailable => (
                format!(
                    "the Milvus server {server} can't be reached ({detail}); is it running, and is the address right?"
                ),
                true,
            ),
            Code::DeadlineExceeded => (
                format!("the Milvus server {server} took too long ({detail})"),
                true,
            ),
            Code::Unauthenticated | Code::PermissionDenied => (
                format!(
                    "the Milvus server {server} refuses access ({detail}); put \"USER:PASSWORD\" or the API key into the environment variable {TOKEN_VARIABLE}"
                ),
                false,
            ),
            Code::Unimplemented => (
                format!(
                    "the server {server} does not offer this call ({detail}); it must be Milvus 2.3 or later, or milvus-lite 3"
                ),
                false,
            ),
            Code::ResourceExhausted => (
                format!("the Milvus server {server} refuses more work ({detail})"),
                true,
            ),
            _ => (
                format!(
                    "the connection to the Milvus server {server} broke ({detail}); is it still running?"
                ),
                true,
            ),
        };
        self.failed(what, &why, passing)
    }
}

fn endpoint(url: &str, tls: bool) -> Result<Endpoint, tonic::transport::Error> {
    let endpoint = Endpoint::from_shared(url.to_owned())?
        .connect_timeout(CONNECT)
        .http2_keep_alive_interval(PROBE)
        .keep_alive_timeout(CONNECT)
        .user_agent(concat!("medrgb/", env!("CARGO_PKG_VERSION")))?;
    if tls {
        return endpoint.tls_config(ClientTlsConfig::new().with_native_roots());
    }
    Ok(endpoint)
}

/// The header that carries a token, marked so that no log prints it.
fn header(token: &Token) -> Result<MetadataValue<Ascii>, RetrievalError> {
    let encoded = base64::engine::general_purpose::STANDARD.encode(token.expose());
    let mut value = MetadataValue::try_from(encoded)
        .map_err(|_| RetrievalError(format!("{TOKEN_VARIABLE} can't be sent as a header")))?;
    value.set_sensitive(true);
    Ok(value)
}

async fn unary<Q, A>(
    channel: Channel,
    token: Option<MetadataValue<Ascii>>,
    method: &'static str,
    request: Q,
) -> Result<A, tonic::Status>
where
    Q: prost::Message + 'static,
    A: prost::Message + Default + 'static,
{
    let mut grpc = tonic::client::Grpc::new(channel)
        .max_decoding_message_size(LARGEST_MESSAGE)
        .max_encoding_message_size(LARGEST_MESSAGE);
    grpc.ready()
        .await
        .map_err(|error| tonic::Status::unavailable(causes(&error)))?;
    let mut request = tonic::Request::new(request);
    if let Some(token) = token {
        request.metadata_mut().insert("authorization", token);
    }
    let path = http::uri::PathAndQuery::from_static(method);
    let codec = Messages(PhantomData);
    grpc.unary(request, path, codec)
        .await
        .map(tonic::Response::into_inner)
}

/// Requests and answers as protobuf.
struct Messages<Q, A>(PhantomData<(Q, A)>);

impl<Q, A> Codec for Messages<Q, A>
where
    Q: prost::Message + 'static,
    A: prost::Message + Default + 'static,
{
    type Encode = Q;
    type Decode = A;
    type Encoder = Messages<Q, A>;
    type Decoder = Messages<Q, A>;

    fn encoder(&mut self) -> Self::Encoder {
        Messages(PhantomData)
    }

    fn decoder(&mut self) -> Self::Decoder {
        Messages(PhantomData)
    }
}

impl<Q: prost::Message, A> Encoder for Messages<Q, A> {
    type Item = Q;
    type Error = tonic::Status;

    fn encode(&mut self, item: Q, out: &mut EncodeBuf<'_>) -> Result<(), tonic::Status> {
        item.encode(out)
            .map_err(|error| tonic::Status::internal(error.to_string()))
    }
}

impl<Q, A: prost::Message + Default> Decoder for Messages<Q, A> {
    type Item = A;
    type Error = tonic::Status;

    fn decode(&mut self, input: &mut DecodeBuf<'_>) -> Result<Option<A>, tonic::Status> {
        A::decode(input)
            .map(Some)
            .map_err(|error| tonic::Status::internal(error.to_string()))
    }
}

/// An error with what caused it, without what is only a repetition.
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if !parts.iter().any(|part| part.contains(&text)) {
            parts.push(text);
        }
        next = error.source();
    }
    said(&parts.join(": "))
}

/// A server's words on one line, cleaned and cut.
fn said(text: &str) -> String {
    let head: String = text.chars().take(LONGEST_REASON).collect();
    let line = one_line(&head);
    if line.is_empty() {
        return "it gave no reason".into();
    }
    line
}
