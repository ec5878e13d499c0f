//! Keys that can't be shown by accident, and texts from which they are removed.

use std::fmt;

/// What stands in the place of a key.
const MASK: &str = "[key]";

/// Shorter secrets are not searched for in messages: removing every "a" would help nobody.
const SHORTEST_MASKED: usize = 4;

/// Shorter secrets are not searched for in replies: a dummy key such as `EMPTY` may be a word there.
const SHORTEST_MASKED_IN_REPLY: usize = 12;

/// A key. Its `Debug` shows a mask, and it can be neither printed nor serialised.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A key without the white space around it.
    pub fn new(key: &str) -> Secret {
        Secret(key.trim().to_owned())
    }

    /// The key itself: only for the request's header.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// Removes secrets from texts that are shown, logged or stored.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    secrets: Vec<String>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} secrets)", self.secrets.len())
    }
}

impl Redactor {
    /// A redactor of the key and of what a base URL may hide (password, query values).
    pub(crate) fn new(key: Option<&Secret>, url: &reqwest::Url) -> Redactor {
        let mut secrets: Vec<String> = Vec::new();
        secrets.extend(key.map(|key| key.expose().to_owned()));
        secrets.extend(url.password().map(str::to_owned));
        if url.password().is_some() {
            secrets.push(url.username().to_owned());
        }
        for (_, value) in url.query_pairs() {
            if value.len() >= 8 && !looks_like_version(&value) {
                secrets.push(value.into_owned());
            }
        }
        secrets.retain(|secret| secret.len() >= SHORTEST_MASKED);
        let escaped: Vec<String> = secrets
            .iter()
            .filter_map(|secret| serde_json::to_string(secret).ok())
            .map(|quoted| quoted.trim_matches('"').to_owned())
            .collect();
        secrets.extend(escaped);
        // Longest first, so that a secret inside another leaves nothing of the longer one.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Redactor { secrets }
    }

    /// The text without the secrets.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.replace(text, SHORTEST_MASKED)
    }

    /// The reply's text without the secrets; `None` where it holds none.
    pub(crate) fn redact_reply(&self, text: &str) -> Option<String> {
        let redacted = self.replace(text, SHORTEST_MASKED_IN_REPLY);
        (redacted != text).then_some(redacted)
    }

    fn replace(&self, text: &str, shortest: usize) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            if secret.len() >= shortest && text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), MASK);
            }
        }
        text
    }
}

/// API versions such as `2024-06-01` are no secrets and useful in messages.
fn looks_like_version(value: &str) -> bool {
    value.starts_with("20") && value.as_bytes().get(4) == Some(&b'-')
}

/// A URL as it may be shown: scheme, host, port, path.
pub(crate) fn shown_url(url: &reqwest::Url) -> String {
    let mut shown = url.clone();
    shown.set_query(None);
    shown.set_fragment(None);
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.as_str().trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn url(text: &str) -> reqwest::Url {
        reqwest::Url::parse(text).unwrap()
    }

    #[test]
    fn debug_never_shows_the_key() {
        let key = Secret::new(" sk-abcdef\n");
        assert_eq!(format!("{key:?}"), "[key]");
        assert_eq!(key.expose(), "sk-abcdef");
        let redactor = Redactor::new(Some(&key), &url("http://h/v1"));
        assert!(!format!("{redactor:?}").contains("abcdef"));
    }

    #[test]
    fn keys_passwords_and_query_values_are_removed() {
        let base =
            url("https://me-user:pa55word@h.example/v1?api-version=2024-06-01&token=s3cr3tvalue");
        let redactor = Redactor::new(Some(&Secret::new("sk-\"quoted")), &base);
        assert_eq!(
            redactor.redact(r#"bad sk-"quoted or sk-\"quoted; pa55word s3cr3tvalue 2024-06-01"#),
            "bad [key] or [key]; [key] [key] 2024-06-01"
        );
        assert_eq!(shown_url(&base), "https://h.example/v1");
    }

    #[test]
    fn short_dummy_keys_do_not_eat_replies() {
        let redactor = Redactor::new(Some(&Secret::new("EMPTY")), &url("http://h/v1"));
        assert_eq!(redactor.redact_reply("the stomach was EMPTY"), None);
        assert_eq!(redactor.redact("key EMPTY refused"), "key [key] refused");
    }
}
