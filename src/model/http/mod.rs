//! Models on OpenAI-compatible servers: one streaming request per reply, with retries.

use std::sync::Once;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response, Url};
use tokio_util::sync::CancellationToken;

use crate::domain::answer::Ending;
use crate::domain::pace::duration;
use crate::domain::plain::plain;
use crate::model::http::collect::{Collector, OnDelta};
use crate::model::http::fault::Fault;
use crate::model::http::secret::{Redactor, shown_url};
use crate::model::tokens::check_window;
use crate::model::{
    BackendKind, BatchModel, ChatModel, ChatRequest, Delta, FailureKind, Hold, ModelError,
    ModelIdentity, Reply, ReplyForm,
};

pub use secret::Secret;
pub use settings::{HttpSettings, MaxTokensField, ResponseFormat, RetryPolicy};

mod batch;
mod body;
mod collect;
mod fault;
mod logprobs;
mod read;
mod retry;
mod secret;
mod settings;

/// A server that took a request and then said nothing for the whole time is asked once more, and no oftener: each such
/// attempt takes minutes, and most servers that hang go on hanging.
const MOST_SILENCES: u32 = 1;

/// Most bytes read of the body of an error.
const MOST_ERROR_BODY: usize = 64 << 10;

/// Longest time spent on the body of an error.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Installs the cryptography that TLS uses, once per process; calling it again does nothing.
pub fn install_crypto_provider() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // An error means that another part of the process has installed one, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

/// A model on an OpenAI-compatible server.
pub struct HttpModel {
    settings: HttpSettings,
    identity: ModelIdentity,
    client: Client,
    url: Url,
    redactor: Redactor,
}

impl std::fmt::Debug for HttpModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpModel")
            .field("settings", &self.settings)
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

impl HttpModel {
    /// Checks the settings and makes the client; connects to nothing.
    ///
    /// # Errors
    /// [`FailureKind::BadRequest`] for an address or an extra field that can't be used,
    /// [`FailureKind::Auth`] for a missing or impossible key.
    pub fn new(settings: HttpSettings) -> Result<HttpModel, ModelError> {
        install_crypto_provider();
        let base = parse_base(&settings)?;
        if let Some(why) = body::refused_extra(&settings.extra) {
            return Err(unusable(FailureKind::BadRequest, &settings, &why));
        }
        let headers = headers(&settings)?;
        let redactor = Redactor::new(settings.key.as_ref(), &base);
        let client = client(&settings, &base, headers).map_err(|error| {
            let why = format!(
                "the HTTP client can't be set up: {}",
                redactor.redact(&error.without_url().to_string())
            );
            unusable(FailureKind::Network, &settings, &why)
        })?;
        let identity = ModelIdentity {
            name: settings.name.clone(),
            backend: BackendKind::Http,
            detail: format!("{} at {}", settings.model, shown_url(&base)),
            caution: None,
            window: settings.window,
            replayed: Vec::new(),
        };
        Ok(HttpModel {
            identity,
            client,
            url: completions_url(base),
            redactor,
            settings,
        })
    }

    /// The settings.
    pub fn settings(&self) -> &HttpSettings {
        &self.settings
    }

    async fn run(
        &self,
        request: &ChatRequest,
        cancel: &CancellationToken,
        on_delta: OnDelta<'_>,
    ) -> Result<Reply, ModelError> {
        check_window(
            &request.prompt,
            request.sampling.max_tokens,
            self.settings.window,
            &self.settings.name,
        )?;
        let body =
            serde_json::to_vec(&body::request_body(&self.settings, request)).map_err(|error| {
                ModelError::new(
                    FailureKind::BadRequest,
                    format!("the request can't be written: {error}"),
                )
            })?;
        let letters = letters(&request.form);
        let (mut attempts, mut silences) = (0, 0);
        // What the last interrupted attempt left, for the case that no later one does better.
        let mut partial: Option<Reply> = None;
        loop {
            attempts += 1;
            let patience = duration(self.settings.read_timeout);
            on_delta(Delta::Status(format!(
                "waiting for {}, at most {patience} without a word",
                self.host()
            )));
            let mut collector = Collector::new(self.settings.reply_cap);
            let ended = tokio::select! {
                biased;
                () = cancel.cancelled() => None,
                ended = self.attempt(&body, &mut collector, on_delta) => Some(ended),
            };
            let streamed = collector.has_text();
            let fault = match ended {
                None if streamed => {
                    return Ok(self.reply(collector, Ending::Interrupted, attempts, &letters));
                }
                None => return partial.ok_or_else(|| self.cancelled(attempts)),
                Some(Ok(ending)) => return Ok(self.reply(collector, ending, attempts, &letters)),
                Some(Err(fault)) => fault,
            };
            if fault.broke_off && streamed {
                let why = fault::presentable(&fault.what, &self.redactor);
                partial = Some(Reply {
                    broke_off: Some(format!("the server {why}")),
                    ..self.reply(collector, Ending::Interrupted, attempts, &letters)
                });
            }
            if !fault.retry {
                return Err(self.error(&fault, attempts));
            }
            silences += u32::from(fault.silent);
            if attempts > self.settings.retry.retries || silences > MOST_SILENCES {
                return partial.ok_or_else(|| self.error(&fault, attempts));
            }
            if !self.wait(&fault, attempts, cancel, on_delta).await {
                return partial.ok_or_else(|| self.cancelled(attempts));
            }
            if streamed {
                on_delta(Delta::Restart);
            }
        }
    }

    /// Waits before the next attempt; false where the user stopped it.
    async fn wait(
        &self,
        fault: &Fault,
        retry: u32,
        cancel: &CancellationToken,
        on_delta: OnDelta<'_>,
    ) -> bool {
        let delay = retry::delay(&self.settings.retry, retry, fault.retry_after);
        let why = fault::presentable(&fault.what, &self.redactor);
        tracing::info!(model = %self.settings.name, retry, ?delay, %why, "attempt failed");
        let hold = Hold::default();
        on_delta(Delta::Retry {
            kind: fault.kind,
            status: fault.status,
            wait: delay,
            hold: hold.clone(),
        });
        let delay = delay.max(hold.wait());
        on_delta(Delta::Status(format!(
            "retry {retry} of {} in {:.1} s: the server {why}",
            self.settings.retry.retries,
            delay.as_secs_f64(),
        )));
        tokio::select! {
            biased;
            () = cancel.cancelled() => false,
            () = tokio::time::sleep(delay) => true,
        }
    }

    /// One request. Dropping the future ends the connection.
    async fn attempt(
        &self,
        body: &[u8],
        collector: &mut Collector,
        on_delta: OnDelta<'_>,
    ) -> Result<Ending, Fault> {
        let response = self
            .client
            .post(self.url.clone())
            .body(body.to_vec())
            .send()
            .await
            .map_err(|error| read::transport_fault(&error))?;
        let status = response.status();
        if !status.is_success() {
            let retry_after = retry::retry_after(response.headers(), jiff::Timestamp::now());
            let location = response
                .headers()
                .get(reqwest::header::LOCATION)
                .filter(|_| status.is_redirection())
                .is_some();
            let body = error_body(response).await;
            let mut fault = Fault::from_status(status.as_u16(), &body);
            fault.retry_after = retry_after;
            if location {
                fault.what += ", which sends to another address that is not followed";
            }
            return Err(fault);
        }
        read::read(response, collector, on_delta).await
    }

    fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        match self.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// The reply, without secrets that a server has put into it.
    fn reply(
        &self,
        collector: Collector,
        ending: Ending,
        attempts: u32,
        letters: &[char],
    ) -> Reply {
        let cut_off = collector.cut_off();
        let mut reply = collector.into_reply(ending, attempts, letters);
        reply.broke_off = cut_off;
        if let Some(text) = self.redactor.redact_reply(&reply.text) {
            // The bytes of the single pieces are no longer known.
            let at = reply.timing.timeline.last().map_or(0, |(at, _)| *at);
            let bytes = u32::try_from(text.len()).unwrap_or(u32::MAX);
            reply.timing.timeline = vec![(at, bytes)];
            reply.text = text;
        }
        if let Some(reasoning) = self.redactor.redact_reply(&reply.reasoning) {
            reply.reasoning = reasoning;
        }
        let presentable = |text: String| fault::presentable(&text, &self.redactor);
        reply.reported_model = reply.reported_model.map(presentable);
        reply.system_fingerprint = reply.system_fingerprint.map(presentable);
        reply
    }

    fn error(&self, fault: &Fault, attempts: u32) -> ModelError {
        let tries = match attempts {
            1 => String::new(),
            more => format!(" (after {more} attempts)"),
        };
        let message = format!(
            "{}: the server {}{tries}{}",
            self.identity.detail,
            fault::presentable(&fault.what, &self.redactor),
            self.advice(fault.kind),
        );
        ModelError {
            kind: fault.kind,
            message: self.redactor.redact(&message),
            status: fault.status,
            attempts,
        }
    }

    /// What to do next, to follow the sentence.
    fn advice(&self, kind: FailureKind) -> String {
        let key = self
            .settings
            .key_env
            .as_deref()
            .unwrap_or("api_key_env of the config");
        match kind {
            FailureKind::Auth if self.settings.key.is_none() => {
                format!("; put a key into the environment variable {key}")
            }
            FailureKind::Auth => format!("; check the key in the environment variable {key}"),
            FailureKind::Quota => "; check the account's credit and limits".to_owned(),
            FailureKind::RateLimited => "; wait, or ask for less at a time".to_owned(),
            FailureKind::Overflow => {
                "; take fewer documents or a model with a larger window".to_owned()
            }
            FailureKind::NotFound => {
                "; check the model's name and the base URL (it usually ends in /v1)".to_owned()
            }
            FailureKind::Network => {
                "; check the base URL and whether the server is running".to_owned()
            }
            _ => String::new(),
        }
    }

    fn cancelled(&self, attempts: u32) -> ModelError {
        ModelError {
            attempts,
            ..ModelError::new(
                FailureKind::Cancelled,
                format!("{}: stopped before any text came", self.identity.detail),
            )
        }
    }
}

impl ChatModel for HttpModel {
    fn identify(&self, request: &ChatRequest) -> Option<serde_json::Value> {
        let mut body = body::request_body(&self.settings, request);
        // How the reply travels, which leaves it as it is.
        body.shift_remove("stream");
        body.shift_remove("stream_options");
        Some(serde_json::json!({"server": server(&self.url), "body": body}))
    }

    fn batch(&self) -> Option<&dyn BatchModel> {
        Some(self)
    }

    fn patience(&self) -> Option<Duration> {
        Some(self.settings.read_timeout)
    }

    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn reply<'a>(
        &'a self,
        request: &'a ChatRequest,
        cancel: &'a CancellationToken,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        self.run(request, cancel, on_delta).boxed()
    }
}

/// The letters of the options that a request offers.
fn letters(form: &ReplyForm) -> Vec<char> {
    match form {
        ReplyForm::Instance(shape) => shape.options.iter().map(|(letter, _)| *letter).collect(),
        ReplyForm::Judgement | ReplyForm::Fields(_) => Vec::new(),
    }
}

fn unusable(kind: FailureKind, settings: &HttpSettings, why: &str) -> ModelError {
    ModelError {
        attempts: 0,
        ..ModelError::new(
            kind,
            format!("the model \"{}\" can't be used: {why}", settings.name),
        )
    }
}

/// The base URL, checked. Messages do not repeat it, since it may hide a password.
fn parse_base(settings: &HttpSettings) -> Result<Url, ModelError> {
    let bad = |why: String| unusable(FailureKind::BadRequest, settings, &why);
    let url = Url::parse(&settings.base_url).map_err(|error| {
        bad(format!(
            "its base URL is no address of a server ({}); write it like http://localhost:8000/v1",
            plain(&error.to_string())
        ))
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad(format!(
            "its base URL starts with \"{}:\", but http:// or https:// is expected",
            url.scheme()
        )));
    }
    Ok(url)
}

/// The address of chat completions; a query of the base URL (API versions) stays.
fn completions_url(mut base: Url) -> Url {
    let path = base.path().trim_end_matches('/');
    let path = path.strip_suffix("/chat/completions").unwrap_or(path);
    let path = format!("{path}/chat/completions");
    base.set_path(&path);
    base
}

fn headers(settings: &HttpSettings) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(
        ACCEPT,
        HeaderValue::from_static("text/event-stream, application/json"),
    );
    let variable = settings.key_env.as_deref().unwrap_or("the key's variable");
    match &settings.key {
        Some(key) => {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
                .map_err(|_| {
                    let why = format!(
                        "the key in {variable} has characters that no HTTP header can carry (a line end inside it?)"
                    );
                    unusable(FailureKind::Auth, settings, &why)
                })?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        None if settings.key_required => {
            let why = format!(
                "it needs a key and the environment variable {variable} is not set; set it, or name another server with --base-url"
            );
            return Err(unusable(FailureKind::Auth, settings, &why));
        }
        None => {}
    }
    Ok(headers)
}

fn client(settings: &HttpSettings, base: &Url, headers: HeaderMap) -> reqwest::Result<Client> {
    let mut builder = Client::builder()
        .user_agent(concat!("medrgb/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .connect_timeout(settings.connect_timeout)
        .read_timeout(settings.read_timeout)
        // A redirect would send prompts, and perhaps a key, to a place that nobody has named.
        .redirect(reqwest::redirect::Policy::none());
    if base.scheme() == "http" {
        // No TLS, so a machine without root certificates must not stop it.
        builder = builder.tls_certs_only(std::iter::empty());
    }
    if is_loopback(base) {
        builder = builder.no_proxy();
    }
    builder.build()
}

/// The address without what may be secret (user, password, query); all names of this machine are one.
fn server(url: &Url) -> String {
    let mut url = url.clone();
    if is_loopback(&url) {
        let _ = url.set_host(Some("localhost"));
    }
    shown_url(&url)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// The body of an error, as far as it comes soon and is not too long.
async fn error_body(mut response: Response) -> String {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(bytes)) = response.chunk().await {
            body.extend_from_slice(&bytes);
            if body.len() > MOST_ERROR_BODY {
                break;
            }
        }
    };
    // Without the whole body the status still says what happened.
    let _ = tokio::time::timeout(ERROR_BODY_TIMEOUT, read).await;
    body.truncate(MOST_ERROR_BODY);
    String::from_utf8_lossy(&body).into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn settings(base_url: &str) -> HttpSettings {
        HttpSettings::new("lab", base_url, "m")
    }

    #[test]
    fn addresses_in_their_usual_forms() {
        for (base, expected) in [
            ("http://h/v1", "http://h/v1/chat/completions"),
            ("http://h:8000", "http://h:8000/chat/completions"),
            (
                "http://h/v1/chat/completions/",
                "http://h/v1/chat/completions",
            ),
            (
                "https://h/d/x?api-version=1",
                "https://h/d/x/chat/completions?api-version=1",
            ),
        ] {
            assert_eq!(
                completions_url(Url::parse(base).unwrap()).as_str(),
                expected
            );
        }
        for wrong in ["localhost:8000/v1", "nonsense", "file:///etc/passwd", ""] {
            let error = HttpModel::new(settings(wrong)).unwrap_err();
            assert_eq!(error.kind, FailureKind::BadRequest, "{wrong}");
            assert!(error.message.contains("base URL"), "{error}");
        }
    }

    #[test]
    fn nothing_shown_holds_key_password_or_query() {
        let mut settings = settings("http://user1:pa55word@127.0.0.1:1/v1?token=querysecret");
        settings.key = Some(Secret::new("sk-very-secret-key"));
        let model = HttpModel::new(settings).unwrap();
        let shown = format!("{model:?} {:?} {:?}", model.identity(), model.settings());
        assert_eq!(model.identity().detail, "m at http://127.0.0.1:1/v1");
        for secret in ["pa55word", "querysecret", "sk-very-secret-key"] {
            assert!(!model.identity().detail.contains(secret));
            assert!(!shown.contains(secret), "{secret}: {shown}");
        }
    }

    #[test]
    fn missing_and_impossible_keys_are_said_before_any_call() {
        let mut missing = settings("http://127.0.0.1:1/v1");
        missing.key_required = true;
        missing.key_env = Some("LAB_KEY".into());
        let error = HttpModel::new(missing).unwrap_err();
        assert_eq!(error.kind, FailureKind::Auth);
        assert!(error.message.contains("LAB_KEY"), "{error}");
        let mut broken = settings("http://127.0.0.1:1/v1");
        broken.key = Some(Secret::new("sk-top\nsecret"));
        let error = HttpModel::new(broken).unwrap_err();
        assert!(!error.message.contains("top"), "{error}");
    }
}
