//! Searching the web: Google's Custom Search JSON API, or a SearXNG instance.

use std::time::Duration;

use reqwest::header::HeaderValue;
use reqwest::{Client, RequestBuilder, Response, Url};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::domain::plain::plain;
use crate::domain::text::{one_line, short};
use crate::model::http::Secret;

/// Where Google answers.
pub const GOOGLE: &str = "https://www.googleapis.com/customsearch/v1";

/// The most bytes of an answer.
const MOST_BYTES: usize = 4 << 20;
/// The most links of an answer that are used.
const MOST_LINKS: usize = 10;
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
            base: variable("GOOGLE_SEARCH_URL").unwrap_or_else(|| GOOGLE.to_owned()),
        })
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
    Ok(links(engine, &value))
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

fn links(engine: &Engine, value: &Value) -> Vec<Link> {
    let (list, url, snippet) = match engine {
        Engine::Google { .. } => ("items", "link", "snippet"),
        Engine::Searxng { .. } => ("results", "url", "content"),
    };
    let text = |item: &Value, key: &str| {
        let text = item.get(key).and_then(Value::as_str).unwrap_or_default();
        one_line(text)
    };
    let items = value.get(list).and_then(Value::as_array);
    items
        .into_iter()
        .flatten()
        .map(|item| Link {
            url: text(item, url),
            title: text(item, "title"),
            snippet: text(item, snippet),
        })
        .filter(|link| !link.url.is_empty())
        .take(MOST_LINKS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            [Link {
                url: "https://a.org".into(),
                title: "A b".into(),
                snippet: "s".into()
            }]
        );
        assert!(!format!("{:?} {}", google, google.describe()).contains("\"k\""));
        let searxng = Engine::Searxng {
            base: "http://h".into(),
        };
        let value = json!({"results": [{"url": "https://b.org", "title": "B", "content": "t"}]});
        assert_eq!(links(&searxng, &value)[0].snippet, "t");
        assert!(links(&searxng, &json!({"results": null})).is_empty());
        assert_eq!(shown("http://me:secret@h/x?token=y"), "http://h/x");
    }
}
