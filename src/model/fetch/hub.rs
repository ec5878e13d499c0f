//! The Hugging Face hub: size and hash from its headers, files by ranges so that a broken fetch goes on.

use std::path::Path;
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, HeaderMap, LOCATION, RANGE};
use reqwest::{Client, Response, StatusCode, redirect};

use crate::model::fetch::checksum::HashingFile;
use crate::model::fetch::{FetchError, Job, Origin, OriginFile, Source, SourceFailure, disk};
use crate::model::registry::WantedFile;

/// Where the hub is and who asks.
#[derive(Clone, PartialEq, Eq)]
pub struct HubSettings {
    /// Scheme and host, such as that of a mirror.
    pub endpoint: String,
    /// Sent to the hub only; never shown.
    pub token: Option<String>,
    /// The environment forbids asking it.
    pub offline: bool,
    /// How long connecting may take: short, so that closed networks fall through at once.
    pub connect_timeout: Duration,
}

impl std::fmt::Debug for HubSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HubSettings")
            .field("endpoint", &self.endpoint)
            .field("token", &self.token.as_ref().map(|_| "…"))
            .field("offline", &self.offline)
            .finish()
    }
}

const DEFAULT_ENDPOINT: &str = "https://huggingface.co";
/// Silence after which a transfer counts as broken.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Times a broken transfer is taken up again.
const RESUMES: u32 = 4;

impl HubSettings {
    /// `HF_ENDPOINT`, `HF_TOKEN` and `HF_HUB_OFFLINE`.
    pub fn from_environment() -> Option<Self> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let offline = variable("HF_HUB_OFFLINE").is_some_and(|value| {
            !matches!(
                value.to_ascii_lowercase().as_str(),
                "0" | "false" | "no" | "off"
            )
        });
        Some(HubSettings {
            endpoint: variable("HF_ENDPOINT").unwrap_or_else(|| DEFAULT_ENDPOINT.to_owned()),
            token: variable("HF_TOKEN"),
            offline,
            connect_timeout: Duration::from_secs(5),
        })
    }

    /// The address of a file in a repository's main revision.
    fn address(&self, repository: &str, name: &str) -> String {
        format!(
            "{}/{repository}/resolve/main/{name}",
            self.endpoint.trim_end_matches('/')
        )
    }

    /// Asks whether the hub answers at all.
    ///
    /// # Errors
    /// One sentence saying why not.
    pub fn probe(&self) -> Result<(), String> {
        on_own_runtime(async {
            let client = self.client(redirect::Policy::none())?;
            let answer = client.head(&self.endpoint).send().await;
            answer.map(|_| ()).map_err(|error| self.unreachable(&error))
        })
    }

    fn client(&self, policy: redirect::Policy) -> Result<Client, String> {
        // A second call finds it installed; that is no failure.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Client::builder()
            .connect_timeout(self.connect_timeout)
            .read_timeout(READ_TIMEOUT)
            .redirect(policy)
            .user_agent(concat!("medrgb/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| format!("no HTTP client: {error}"))
    }

    fn unreachable(&self, error: &reqwest::Error) -> String {
        format!("{} can't be reached ({})", self.endpoint, innermost(error))
    }
}

/// The last cause of an error: the one that says something.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// Runs a future to its end on a thread of its own: the caller may itself sit on a runtime's thread.
fn on_own_runtime<T: Send>(
    work: impl Future<Output = Result<T, String>> + Send,
) -> Result<T, String> {
    std::thread::scope(|scope| {
        scope
            .spawn(|| {
                tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .map_err(|error| format!("no runtime: {error}"))?
                    .block_on(work)
            })
            .join()
            .unwrap_or_else(|_| Err("the transfer stopped unexpectedly".into()))
    })
}

/// What the hub says about a file before it is fetched.
#[derive(Debug, Default, PartialEq, Eq)]
struct RemoteFile {
    name: &'static str,
    bytes: Option<u64>,
    /// Only large files have one.
    sha256: Option<String>,
    revision: Option<String>,
}

/// Fetches all files of a model from the hub.
pub(crate) fn fetch(
    job: &mut Job<'_>,
    settings: Option<&HubSettings>,
) -> Result<Origin, SourceFailure> {
    let (Some(settings), Some(repository)) = (settings, job.entry.hub) else {
        return Err(SourceFailure::Unavailable("not published there".into()));
    };
    if settings.offline {
        return Err(SourceFailure::Unavailable("HF_HUB_OFFLINE is set".into()));
    }
    on_own_runtime(async { Ok(fetch_all(job, settings, repository).await) })
        .map_err(SourceFailure::Unavailable)?
}

async fn fetch_all(
    job: &mut Job<'_>,
    settings: &HubSettings,
    repository: &str,
) -> Result<Origin, SourceFailure> {
    job.report(Source::Hub, "asking the hub", 0, job.entry.bytes());
    let heads = settings
        .client(redirect::Policy::none())
        .map_err(SourceFailure::Unavailable)?;
    let mut remote = Vec::new();
    for wanted in job.entry.files {
        job.check_cancel()?;
        if let Some(found) = ask(&heads, settings, repository, wanted).await? {
            remote.push((wanted, found));
        }
    }
    let total = remote
        .iter()
        .map(|(wanted, file)| file.bytes.or(wanted.bytes))
        .sum();
    let gets = settings
        .client(redirect::Policy::default())
        .map_err(SourceFailure::Unavailable)?;
    let mut files = Vec::new();
    let mut before = 0;
    for (wanted, file) in &remote {
        let mut transfer = Transfer {
            job,
            client: &gets,
            settings,
            address: settings.address(repository, file.name),
            total,
            before,
        };
        let done = transfer.file(wanted, file).await?;
        before += done.bytes;
        files.push(done);
    }
    let revision = remote.iter().find_map(|(_, file)| file.revision.clone());
    Ok(Origin {
        source: Source::Hub,
        detail: format!("{repository}@{}", revision.as_deref().unwrap_or("main")),
        files,
    })
}

/// The first accepted name that the repository has; `None` for a missing file that is not required.
async fn ask(
    client: &Client,
    settings: &HubSettings,
    repository: &str,
    wanted: &WantedFile,
) -> Result<Option<RemoteFile>, SourceFailure> {
    for name in wanted.names {
        let headers = match head(client, settings, &settings.address(repository, name)).await {
            Ok(Some(headers)) => headers,
            Ok(None) => continue,
            Err(why) => return Err(SourceFailure::Unavailable(why)),
        };
        let found = read_headers(name, &headers);
        let differs = matches!((found.bytes, wanted.bytes), (Some(a), Some(b)) if a != b);
        if differs {
            return Err(SourceFailure::Unavailable(format!(
                "{name} has {} bytes there, but {} were expected",
                found.bytes.unwrap_or_default(),
                wanted.bytes.unwrap_or_default()
            )));
        }
        return Ok(Some(found));
    }
    if wanted.required {
        let names = wanted.names.join(" or ");
        return Err(SourceFailure::Unavailable(format!(
            "{repository} has no {names}"
        )));
    }
    Ok(None)
}

/// The headers of a file's own answer; `None` if there is no such file. Redirects within the hub
/// (renamed repositories) are followed, those to its storage are not: hash and size stand before them.
async fn head(
    client: &Client,
    settings: &HubSettings,
    address: &str,
) -> Result<Option<HeaderMap>, String> {
    let mut address = address.to_owned();
    for _ in 0..4 {
        let mut request = client.head(&address);
        if let Some(token) = &settings.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let answer = request
            .send()
            .await
            .map_err(|error| settings.unreachable(&error))?;
        let status = answer.status();
        if status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        if status.is_redirection() {
            let location = answer.headers().get(LOCATION).and_then(|v| v.to_str().ok());
            match location {
                Some(path) if path.starts_with('/') && !path.starts_with("//") => {
                    address = format!("{}{path}", settings.endpoint.trim_end_matches('/'));
                    continue;
                }
                _ => return Ok(Some(answer.headers().clone())),
            }
        }
        return match status {
            status if status.is_success() => Ok(Some(answer.headers().clone())),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(format!(
                "{address} was refused ({status}); set HF_TOKEN if the repository is restricted"
            )),
            status => Err(format!("{address} gave {status}")),
        };
    }
    Err(format!("{address} redirects in a circle"))
}

fn read_headers(name: &'static str, headers: &HeaderMap) -> RemoteFile {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let linked = text("x-linked-etag").map(|tag| tag.trim_start_matches("W/").trim_matches('"'));
    let is_hash = |tag: &&str| tag.len() == 64 && tag.bytes().all(|byte| byte.is_ascii_hexdigit());
    RemoteFile {
        name,
        bytes: text("x-linked-size")
            // The length of a redirect is that of its own body.
            .or_else(|| {
                text("location")
                    .is_none()
                    .then(|| text(CONTENT_LENGTH.as_str()))
                    .flatten()
            })
            .and_then(|size| size.parse().ok()),
        sha256: linked.filter(is_hash).map(str::to_ascii_lowercase),
        revision: text("x-repo-commit").map(|commit| commit.chars().take(40).collect()),
    }
}

struct Transfer<'a, 'j> {
    job: &'a mut Job<'j>,
    client: &'a Client,
    settings: &'a HubSettings,
    address: String,
    total: Option<u64>,
    /// Bytes of earlier files.
    before: u64,
}

/// How one attempt at a transfer ended.
enum Attempt {
    Whole,
    Broken(String),
}

impl Transfer<'_, '_> {
    async fn file(
        &mut self,
        wanted: &WantedFile,
        remote: &RemoteFile,
    ) -> Result<OriginFile, SourceFailure> {
        let part = self.job.part(remote.name, "hub")?;
        let bytes = wanted.bytes.or(remote.bytes);
        let mut tries = 0;
        let file = loop {
            let mut file = HashingFile::resume(&part, bytes.unwrap_or(0)).map_err(disk(&part))?;
            let why = match self.attempt(&mut file, &part, remote.name, bytes).await? {
                Attempt::Whole => break file,
                Attempt::Broken(why) => why,
            };
            tries += 1;
            if tries > RESUMES {
                return Err(SourceFailure::Unavailable(format!(
                    "{}: {why}",
                    self.address
                )));
            }
            tokio::time::sleep(Duration::from_millis(300 << tries)).await;
        };
        let sums = file.finish().map_err(disk(&part))?;
        let expected = wanted.sha256.or(remote.sha256.as_deref());
        Ok(self
            .job
            .accept(&part, remote.name, sums, expected, &self.address)?)
    }

    /// Appends what is missing. The file may be replaced where the server does not know ranges.
    async fn attempt(
        &mut self,
        file: &mut HashingFile,
        part: &Path,
        name: &str,
        bytes: Option<u64>,
    ) -> Result<Attempt, FetchError> {
        if bytes.is_some_and(|bytes| bytes == file.length()) {
            return Ok(Attempt::Whole);
        }
        let answer = match self.ask_from(file.length()).await {
            Ok(answer) => answer,
            Err(why) => return Ok(Attempt::Broken(why)),
        };
        let goes_on = answer.status() == StatusCode::PARTIAL_CONTENT
            && range_start(answer.headers()) == Some(file.length());
        if !goes_on && file.length() > 0 {
            *file = HashingFile::resume(part, 0).map_err(disk(part))?;
        }
        if !goes_on && answer.status() != StatusCode::OK {
            return Ok(Attempt::Broken(format!("the hub gave {}", answer.status())));
        }
        let mut stream = answer.bytes_stream();
        while let Some(piece) = self.next(&mut stream).await? {
            let piece = match piece {
                Ok(piece) => piece,
                Err(error) => return Ok(Attempt::Broken(innermost(&error))),
            };
            file.append(&piece).map_err(disk(part))?;
            if bytes.is_some_and(|bytes| file.length() > bytes) {
                *file = HashingFile::resume(part, 0).map_err(disk(part))?;
                return Ok(Attempt::Broken(format!("{name} is longer than announced")));
            }
            let done = self.before + file.length();
            self.job.report(Source::Hub, name, done, self.total);
        }
        Ok(match bytes {
            Some(bytes) if file.length() < bytes => Attempt::Broken("it broke off".into()),
            _ => Attempt::Whole,
        })
    }

    /// The next piece, or the end of the fetch when the user stops it.
    async fn next<S: StreamExt + Unpin>(
        &mut self,
        stream: &mut S,
    ) -> Result<Option<S::Item>, FetchError> {
        tokio::select! {
            piece = stream.next() => Ok(piece),
            () = self.job.cancel.cancelled() => Err(FetchError::Cancelled(self.job.entry.name)),
        }
    }

    async fn ask_from(&mut self, start: u64) -> Result<Response, String> {
        let mut request = self.client.get(&self.address);
        if let Some(token) = &self.settings.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        if start > 0 {
            request = request.header(RANGE, format!("bytes={start}-"));
        }
        request.send().await.map_err(|error| innermost(&error))
    }
}

/// The first byte that a partial answer holds (`bytes 5-9/10`).
fn range_start(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    range
        .strip_prefix("bytes ")?
        .split('-')
        .next()?
        .parse()
        .ok()
}
