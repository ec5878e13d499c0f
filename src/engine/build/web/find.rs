//! Searching the web: Google's Custom Search JSON API, or a SearXNG instance.

use std::time::Duration;

use reqwest::header::HeaderValue;
use reqwest::{Client, RequestBuilder, Response, Url};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::domain::plain::plain;
use crate::domain::text::{one_line, short, shortened};
use crate::model::http::Secret;

/// Where Google answers.
pub const GOOGLE: &str = "https://www.googleapis.com/customsearch/v1";

/// The most bytes of an answer.
const MOST_BYTES: usize = 4 << 20;
/// The most links of an answer that are used.
const MOST_LINKS: usize = 10;
/// The most characters of a link's title or snippet.
const MOST_SHOWN: usize = 1_000;
/// Attempts after the first, for what may pass by itself.
const RETRIES: u32 = 2;
/// The wait before the first of them; it doubles.
const WAIT: Duration = Duration::from_millis(500);

/// Who searches.
#[derive(Debug, Clone, PartialEq)]
pub enum Engine {
    /// Google's Custom Search JSON API.
    Google {
        /// Where it is.
        base: String,
        /// The key.
        key: Secret,
        /// The id of the search engine ("cx").
        cx: String,
    },
    /// A SearXNG instance that gives JSON.
    Searxng {
        /// Its address.
        base: String,
    },
}

impl Engine {
    /// Google's search, with what the environment says: `GOOGLE_API_KEY`, `GOOGLE_CSE_ID`, and `GOOGLE_SEARCH_URL` for
    /// another address.
    ///
    /// # Errors
    /// One sentence: which variable is missing.
    pub fn google(variable: impl Fn(&str) -> Option<String>) -> Result<Engine, String> {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let set = |name: &str| {
            variable(name).ok_or_else(|| {
                format!(
                    "Google's search needs the environment variables GOOGLE_API_KEY and GOOGLE_CSE_ID; {name} is not set"
                )
            })
        };
        Ok(Engine::Google {
            key: Secret::new(&set("GOOGLE_API_KEY")?),
            cx: set("GOOGLE_CSE_ID")?,
            base: match variable("GOOGLE_SEARCH_URL") {
                Some(base) => usable(&base).map_err(|why| format!("GOOGLE_SEARCH_URL {why}"))?,
                None => GOOGLE.to_owned(),
            },
        })
    }

    /// A SearXNG instance at an address.
    ///
    /// # Errors
    /// What stands there and what was expected, to follow the name of the flag or field.
    pub fn searxng(base: &str) -> Result<Engine, String> {
        usable(base).map(|base| Engine::Searxng { base })
    }

    /// For records: which one and where, never the key.
    pub(super) fn describe(&self) -> Value {
        match self {
            Engine::Google { base, cx, .. } => {
                json!({"name": "google", "at": shown(base), "cx": cx})
            }
            Engine::Searxng { base } => json!({"name": "searxng", "at": shown(base)}),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Engine::Google { .. } => "Google's search",
            Engine::Searxng { .. } => "the SearXNG instance",
        }
    }
}

/// An address that can be asked.
fn usable(base: &str) -> Result<String, String> {
    let base = base.trim();
    let fits = Url::parse(base)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host().is_some());
    match fits {
        true => Ok(base.to_owned()),
        false => Err(format!(
            "has \"{}\"; an address such as http://localhost:8888 is expected",
            short(&shown_raw(base))
        )),
    }
}

/// What was given as an address, without a name and a password that may stand in it.
fn shown_raw(base: &str) -> String {
    match base.rsplit_once('@') {
        Some((_, rest)) => format!("…@{rest}"),
        None => base.to_owned(),
    }
}

/// An address without what may be secret in it.
fn shown(base: &str) -> String {
    let Ok(mut url) = Url::parse(base) else {
        return String::new();
    };
    url.set_query(None);
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The page's address.
    pub url: String,
    /// Its title.
    pub title: String,
    /// What the search shows of it.
    pub snippet: String,
}

/// A search that gave nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchTrouble {
    /// What happened, and what to do.
    pub message: String,
    /// Whether it will not pass by itself: key, quota, address.
    pub lasting: bool,
    /// Whether another attempt may do better.
    retry: bool,
}

impl SearchTrouble {
    fn new(message: String, lasting: bool, retry: bool) -> SearchTrouble {
        SearchTrouble {
            message,
            lasting,
            retry,
        }
    }
}

/// Searches; what may pass by itself is tried again.
pub(super) async fn find(
    client: &Client,
    engine: &Engine,
    query: &str,
) -> Result<Vec<Link>, SearchTrouble> {
    let mut wait = WAIT;
    for _ in 0..RETRIES {
        match once(client, engine, query).await {
            Err(trouble) if trouble.retry => tokio::time::sleep(wait).await,
            result => return result,
        }
        wait *= 2;
    }
    once(client, engine, query).await
}

async fn once(client: &Client, engine: &Engine, query: &str) -> Result<Vec<Link>, SearchTrouble> {
    let request = request(client, engine, query)?;
    let failed = |error: reqwest::Error| {
        let why = match error.is_timeout() {
            true => "did not answer in time".to_owned(),
            false => format!("can't be reached ({})", error.without_url()),
        };
        SearchTrouble::new(format!("{} {why}", engine.name()), false, true)
    };
    let response = request.send().await.map_err(failed)?;
    if !response.status().is_success() {
        return Err(refused(engine, response).await);
    }
    let body = body(response).await.map_err(|why| {
        SearchTrouble::new(
            format!("the answer of {} {why}", engine.name()),
            false,
            true,
        )
    })?;
    let value: Value = serde_json::from_slice(&body).map_err(|_| {
        SearchTrouble::new(
            format!(
                "{} answers with something that is no JSON; for SearXNG the format json must be allowed in its settings",
                engine.name()
            ),
            true,
            false,
        )
    })?;
    links(engine, &value)
        .map_err(|why| SearchTrouble::new(format!("{} {why}", engine.name()), false, false))
}

fn request(client: &Client, engine: &Engine, query: &str) -> Result<RequestBuilder, SearchTrouble> {
    let unusable = |base: &str, why: String| {
        SearchTrouble::new(
            format!(
                "the address \"{}\" can't be used: {}",
                short(base),
                plain(&why)
            ),
            true,
            false,
        )
    };
    match engine {
        Engine::Google { base, key, cx } => {
            let mut url = Url::parse(base).map_err(|error| unusable(base, error.to_string()))?;
            url.query_pairs_mut()
                .append_pair("cx", cx)
                .append_pair("q", query)
                .append_pair("num", &MOST_LINKS.to_string());
            // Not in the address, which may end up in somebody's log.
            let mut header = HeaderValue::from_str(key.expose()).map_err(|_| {
                let why = "GOOGLE_API_KEY holds characters that no key has";
                SearchTrouble::new(why.to_owned(), true, false)
            })?;
            header.set_sensitive(true);
            Ok(client.get(url).header("X-Goog-Api-Key", header))
        }
        Engine::Searxng { base } => {
            let with_path = format!("{}/search", base.trim_end_matches('/'));
            let mut url =
                Url::parse(&with_path).map_err(|error| unusable(base, error.to_string()))?;
            url.query_pairs_mut()
                .append_pair("q", query)
                .append_pair("format", "json");
            Ok(client.get(url))
        }
    }
}

/// An answer that is an error.
async fn refused(engine: &Engine, response: Response) -> SearchTrouble {
    let status = response.status().as_u16();
    let said = body(response).await.ok().and_then(|body| {
        let value: Value = serde_json::from_slice(&body).ok()?;
        let message = value.get("error")?.get("message")?.as_str()?;
        let message = match engine {
            Engine::Google { key, .. } => message.replace(key.expose(), "[key]"),
            Engine::Searxng { .. } => message.to_owned(),
        };
        Some(format!(": {}", short(&message)))
    });
    let hint = match (status, engine) {
        (403, Engine::Searxng { .. }) => "; allow the format json in its settings",
        (401 | 403, Engine::Google { .. }) => "; check GOOGLE_API_KEY and GOOGLE_CSE_ID",
        (429, Engine::Google { .. }) => "; the day's quota may be used up",
        (404, _) => "; check the address",
        _ => "",
    };
    let passes = status == 429 || status >= 500;
    SearchTrouble::new(
        format!(
            "{} answers {status}{}{hint}",
            engine.name(),
            said.unwrap_or_default()
        ),
        !passes,
        passes,
    )
}

/// The body as far as it may go.
async fn body(mut response: Response) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => return Ok(bytes),
            Err(error) => return Err(format!("broke off ({})", error.without_url())),
        }
        if bytes.len() > MOST_BYTES {
            return Err(format!("has more than {MOST_BYTES} bytes"));
        }
    }
}

/// The links of an answer. Google leaves the list out where it found nothing, SearXNG never does.
fn links(engine: &Engine, value: &Value) -> Result<Vec<Link>, String> {
    let (list, url, snippet) = match engine {
        Engine::Google { .. } => ("items", "link", "snippet"),
        Engine::Searxng { .. } => ("results", "url", "content"),
    };
    let text = |item: &Value, key: &str| {
        let text = item.get(key).and_then(Value::as_str).unwrap_or_default();
        one_line(text)
    };
    let unreadable = || {
        format!("answers with JSON that is no answer to a search: a list \"{list}\" is expected")
    };
    let fields = value.as_object().ok_or_else(unreadable)?;
    let items = match (fields.get(list), engine) {
        (Some(Value::Array(items)), _) => items.as_slice(),
        (None, Engine::Google { .. }) => &[],
        _ => return Err(unreadable()),
    };
    Ok(items
        .iter()
        .map(|item| Link {
            url: text(item, url),
            title: shortened(&text(item, "title"), MOST_SHOWN),
            snippet: shortened(&text(item, snippet), MOST_SHOWN),
        })
        .filter(|link| !link.url.is_empty())
        .take(MOST_LINKS)
        .collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_address_that_cannot_be_asked_is_refused_at_once() {
        for wrong in ["notaurl", "ftp://host/", "localhost:8888", "http://", ""] {
            let why = Engine::searxng(wrong).unwrap_err();
            assert!(why.contains("such as http://localhost:8888"), "{why}");
        }
        assert!(
            !Engine::searxng("ftp://me:secret@host")
                .unwrap_err()
                .contains("secret")
        );
        assert!(Engine::searxng(" http://localhost:8888 ").is_ok());
    }

    #[test]
    fn both_answers_are_read() {
        let google = Engine::Google {
            base: GOOGLE.into(),
            key: Secret::new("k"),
            cx: "c".into(),
        };
        let value = json!({"items": [{"link": "https://a.org", "title": "A\nb", "snippet": "s"}, {"title": "x"}]});
        assert_eq!(
            links(&google, &value),
            Ok(vec![Link {
                url: "https://a.org".into(),
                title: "A b".into(),
                snippet: "s".into()
            }])
        );
        assert_eq!(links(&google, &json!({})), Ok(Vec::new()));
        assert!(!format!("{:?} {}", google, google.describe()).contains("\"k\""));
        let searxng = Engine::Searxng {
            base: "http://h".into(),
        };
        let value = json!({"results": [{"url": "https://b.org", "title": "B", "content": "t"}]});
        assert_eq!(links(&searxng, &value).unwrap()[0].snippet, "t");
        assert_eq!(links(&searxng, &json!({"results": []})), Ok(Vec::new()));
        for wrong in [json!(null), json!({"results": "x"}), json!({}), json!([1])] {
            let why = links(&searxng, &wrong).unwrap_err();
            assert!(why.contains("a list \"results\" is expected"), "{why}");
        }
        assert_eq!(shown("http://me:secret@h/x?token=y"), "http://h/x");
    }
}
