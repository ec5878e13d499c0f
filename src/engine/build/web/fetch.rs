//! Fetching a page: redirects are followed one by one, each target is checked like the first address.

use std::error::Error as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::header::{
    ACCEPT, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, LOCATION,
};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};

use crate::domain::build::Private;
use crate::domain::text::short;
use crate::engine::build::web::address::{self, Admitted, NOT_PUBLIC};
use crate::engine::build::web::{AGENT, Skip, Web};

/// The most redirects of a page.
const MOST_REDIRECTS: usize = 5;

/// Kinds of content that are read.
const READ: [&str; 3] = ["text/html", "application/xhtml+xml", "text/plain"];

/// What was fetched.
#[derive(Debug)]
pub(super) struct Fetched {
    /// The address after all redirects.
    pub url: Url,
    /// Such as `text/html`.
    pub kind: String,
    /// The charset of the header.
    pub charset: Option<String>,
    /// The body.
    pub bytes: Vec<u8>,
}

/// The client for pages. It follows no redirect by itself; where only public addresses may be read it resolves names
/// to those (and to what was opened) alone and uses no proxy, which would resolve them out of sight.
pub(super) fn client(private: &Private) -> Result<Client, reqwest::Error> {
    let builder = Client::builder()
        .user_agent(AGENT)
        .redirect(Policy::none())
        .connect_timeout(Duration::from_secs(10))
        .no_proxy();
    match private {
        Private::Open => builder.build(),
        _ => builder
            .dns_resolver(Arc::new(Admitted(private.clone())))
            .build(),
    }
}

/// Fetches a page as its site allows.
pub(super) async fn page(web: &Web, address: Url) -> Result<Fetched, Skip> {
    let mut url = address;
    let mut left = web.settings.timeout;
    for _ in 0..=MOST_REDIRECTS {
        address::check(&url, &web.settings.private)?;
        web.robots.turn(web, &url).await?;
        // Only what the site takes counts, not the wait for its turn.
        let started = Instant::now();
        let step = tokio::time::timeout(left, step(web, url)).await;
        match step.unwrap_or_else(|_| Err(too_slow(web)))? {
            Step::Page(fetched) => return Ok(fetched),
            Step::LeadsTo(next) => url = next,
        }
        left = left.saturating_sub(started.elapsed());
    }
    Err(Skip::lasting(format!(
        "the address leads on more than {MOST_REDIRECTS} times"
    )))
}

/// What comes of one request.
enum Step {
    Page(Fetched),
    LeadsTo(Url),
}

async fn step(web: &Web, url: Url) -> Result<Step, Skip> {
    let response = get(&web.pages, &url).await?;
    match redirect(&response, &url)? {
        Some(next) => Ok(Step::LeadsTo(next)),
        None => take(web, url, response).await.map(Step::Page),
    }
}

/// A page or rules that take too long.
pub(super) fn too_slow(web: &Web) -> Skip {
    Skip::passing(format!(
        "the site took longer than {} s",
        web.settings.timeout.as_secs_f64()
    ))
}

/// Asks for an address; errors are sentences.
pub(super) async fn get(client: &Client, url: &Url) -> Result<Response, Skip> {
    let accept = "text/html,application/xhtml+xml,text/plain;q=0.9";
    let request = client.get(url.clone()).header(ACCEPT, accept);
    request.send().await.map_err(|error| unreachable(&error))
}

/// Why nothing came; a name that leads to private addresses says so somewhere down the chain of reasons.
fn unreachable(error: &reqwest::Error) -> Skip {
    let mut inner = error.source();
    while let Some(reason) = inner {
        let said = reason.to_string();
        if said.ends_with(NOT_PUBLIC) {
            return Skip::lasting(said);
        }
        inner = reason.source();
    }
    let why = match (error.is_timeout(), error.is_connect()) {
        (true, _) => "the site does not answer in time",
        (_, true) => "the site can't be reached",
        _ => "the connection broke off",
    };
    Skip::passing(why)
}

/// Where an answer leads on to, if it does.
pub(super) fn redirect(response: &Response, from: &Url) -> Result<Option<Url>, Skip> {
    if !response.status().is_redirection() {
        return Ok(None);
    }
    let location = response.headers().get(LOCATION);
    let target = location.and_then(|value| value.to_str().ok());
    let next = target.and_then(|target| from.join(target).ok());
    next.map(Some)
        .ok_or_else(|| Skip::lasting("the page leads on to no address that can be read"))
}

/// The body of an answer that is a page.
async fn take(web: &Web, url: Url, response: Response) -> Result<Fetched, Skip> {
    let status = response.status();
    if !status.is_success() {
        let said = format!("the site answers {}", status.as_u16());
        return Err(match status.as_u16() {
            408 | 429 | 500.. => Skip::passing(said),
            _ => Skip::lasting(said),
        });
    }
    let headers = response.headers();
    if header(headers, CONTENT_ENCODING).is_some_and(|packed| packed != "identity") {
        return Err(Skip::lasting(
            "the site sends the page packed although it was not asked to",
        ));
    }
    let (kind, charset) = content_type(headers);
    if !READ.contains(&kind.as_str()) {
        return Err(Skip::lasting(format!(
            "the content is {}, which is not read",
            short(&kind)
        )));
    }
    let most = web.settings.most_bytes;
    let announced = header(headers, CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    if announced.is_some_and(|length| length > most as u64) {
        return Err(too_large(most));
    }
    let bytes = body(response, most).await?;
    if let Some(kind) = other_kind(&bytes) {
        return Err(Skip::lasting(format!(
            "the content is {kind}, whatever the site calls it, which is not read"
        )));
    }
    Ok(Fetched {
        url,
        kind,
        charset,
        bytes,
    })
}

/// What the first bytes say of a body that is no text.
fn other_kind(bytes: &[u8]) -> Option<&'static str> {
    const KINDS: [(&[u8], &str); 8] = [
        (b"%PDF-", "a PDF"),
        (b"%!PS", "PostScript"),
        (b"PK\x03\x04", "a ZIP archive or an office document"),
        (b"\x1f\x8b", "a gzip archive"),
        (b"\xd0\xcf\x11\xe0", "an office document"),
        (b"\x89PNG", "a picture"),
        (b"\xff\xd8\xff", "a picture"),
        (b"GIF8", "a picture"),
    ];
    let known = KINDS.iter().find(|(start, _)| bytes.starts_with(start));
    known.map(|(_, kind)| *kind)
}

fn too_large(most: usize) -> Skip {
    Skip::lasting(format!("the page has more than {most} bytes"))
}

/// The body of at most so many bytes.
pub(super) async fn body(mut response: Response, most: usize) -> Result<Vec<u8>, Skip> {
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if bytes.len() + chunk.len() > most => return Err(too_large(most)),
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => return Ok(bytes),
            Err(_) => return Err(Skip::passing("the page broke off")),
        }
    }
}

fn header(headers: &HeaderMap, name: reqwest::header::HeaderName) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    Some(value.trim().to_ascii_lowercase())
}

/// The kind of content and its charset; without a header HTML is assumed.
fn content_type(headers: &HeaderMap) -> (String, Option<String>) {
    let Some(value) = header(headers, CONTENT_TYPE) else {
        return ("text/html".to_owned(), None);
    };
    let mut parts = value.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default().to_owned();
    let charset = parts
        .find_map(|part| part.strip_prefix("charset="))
        .map(|name| name.trim_matches(['"', '\'']).to_owned());
    (kind, charset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_known_by_its_first_bytes() {
        assert_eq!(other_kind(b"%PDF-1.4 stream of words"), Some("a PDF"));
        assert_eq!(other_kind(b"\x89PNG\r\n"), Some("a picture"));
        for text in ["", "<!doctype html>", "PKU is a disease", "%P", "Gifted"] {
            assert_eq!(other_kind(text.as_bytes()), None, "{text}");
        }
    }
}
