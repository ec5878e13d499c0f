//! Where a collection lies, as it is written on a command line, and the token that opens it.

use std::fmt;

use crate::domain::text::short;
use crate::retrieval::RetrievalError;

/// The port that Milvus listens on unless told otherwise.
const DEFAULT_PORT: u16 = 19530;
/// Bytes that Milvus allows in the name of a collection or a database.
const LONGEST_NAME: usize = 255;
/// Candidates of a search are at most that many.
pub(super) const LARGEST_EF: usize = 32_768;

const PLAIN: &str = "milvus://";
const TLS: &str = "milvus+tls://";

/// The environment variable that holds the token.
pub const TOKEN_VARIABLE: &str = "MILVUS_TOKEN";

/// `milvus://HOST[:PORT]/[DATABASE/]COLLECTION[?ef=N]`, or `milvus+tls://…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Whether the connection is encrypted.
    pub tls: bool,
    /// Name or number; an IPv6 number stands in brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Database; empty is the server's default one.
    pub database: String,
    /// Collection.
    pub collection: String,
    /// Candidates that a search of the graph looks at; `None` leaves the choice to the program, which takes eight for
    /// every hit and at least 256 (128 on disk).
    pub ef: Option<usize>,
}

impl Address {
    /// Whether a text names something on a server, rather than a folder: it begins with a scheme, known or not, or with
    /// one of ours and too few slashes.
    pub fn is_remote(text: &str) -> bool {
        let begins = |scheme: &str| after(text, scheme.trim_end_matches('/')).is_some();
        if begins(PLAIN) || begins(TLS) {
            return true;
        }
        text.split_once("://").is_some_and(|(scheme, _)| {
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
            !scheme.is_empty() && scheme.chars().all(fits)
        })
    }

    /// Reads an address.
    ///
    /// # Errors
    /// One sentence that names the part that is wrong. A user or password in the address is refused, since
    /// addresses are shown and stored.
    pub fn parse(text: &str) -> Result<Address, RetrievalError> {
        let (tls, rest) = match (after(text, TLS), after(text, PLAIN)) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => {
                // Not quoted where it may hold a password.
                let shown = if text.contains('@') { "this" } else { text };
                return Err(RetrievalError(format!(
                    "\"{}\" is no address of a remote index: expected {PLAIN}HOST:PORT/COLLECTION or {TLS}HOST:PORT/COLLECTION",
                    short(shown)
                )));
            }
        };
        let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (server, path) = place.split_once('/').unwrap_or((place, ""));
        // Not quoted: what stands before the @ may be a password.
        if server.contains('@') {
            return Err(RetrievalError(format!(
                "the address of the remote index holds a user or a password; leave them out and put \"USER:PASSWORD\" or the API key into the environment variable {TOKEN_VARIABLE}"
            )));
        }
        let (host, port) = server_of(server)?;
        let (database, collection) = match path.split_once('/') {
            Some((database, collection)) => (named(database, "database")?, collection),
            None => (String::new(), path),
        };
        Ok(Address {
            tls,
            host,
            port,
            database,
            collection: named(collection, "collection")?,
            ef: ef_of(options)?,
        })
    }

    /// Host and port, as messages name the server.
    pub fn server(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Whether the server is this machine, so that nothing travels over a network.
    pub fn is_local(&self) -> bool {
        matches!(self.host.as_str(), "localhost" | "[::1]")
            || self
                .host
                .parse::<std::net::Ipv4Addr>()
                .is_ok_and(|ip| ip.is_loopback())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { TLS } else { PLAIN };
        write!(f, "{scheme}{}/", self.server())?;
        if !self.database.is_empty() {
            write!(f, "{}/", self.database)?;
        }
        f.write_str(&self.collection)
    }
}

/// What follows a scheme, which may be in capitals.
fn after<'a>(text: &'a str, scheme: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(scheme.len())?;
    start.eq_ignore_ascii_case(scheme).then_some(rest)
}

fn server_of(text: &str) -> Result<(String, u16), RetrievalError> {
    let wrong = |why: &str| {
        RetrievalError(format!(
            "the server \"{}\" of the remote index {why}: expected HOST or HOST:PORT, such as localhost:{DEFAULT_PORT}",
            short(text)
        ))
    };
    let after_brackets = text.rfind(']').unwrap_or(0);
    let (host, port) = match text[after_brackets..].rfind(':') {
        Some(at) => {
            let at = after_brackets + at;
            let port = text[at + 1..].parse::<u16>().ok().filter(|&port| port > 0);
            (&text[..at], port.ok_or_else(|| wrong("has no valid port"))?)
        }
        None => (text, DEFAULT_PORT),
    };
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let valid = match inner {
        Some(number) => number.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            !host.is_empty()
                && host
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
        }
    };
    if !valid {
        return Err(wrong("is no valid host"));
    }
    Ok((host.to_owned(), port))
}

/// A name by Milvus's rule: letters, digits and underscores, no digit first.
fn named(text: &str, what: &str) -> Result<String, RetrievalError> {
    let fine = text.len() <= LONGEST_NAME
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && text.starts_with(|c: char| !c.is_ascii_digit());
    if fine {
        return Ok(text.to_owned());
    }
    Err(RetrievalError(format!(
        "\"{}\" is no name of a {what}: expected letters, digits and underscores, no digit first, at most {LONGEST_NAME}",
        short(text)
    )))
}

fn ef_of(options: &str) -> Result<Option<usize>, RetrievalError> {
    if options.is_empty() {
        return Ok(None);
    }
    let value = options.strip_prefix("ef=").ok_or_else(|| {
        RetrievalError(format!(
            "\"?{}\" at the end of the remote index's address is not known: expected ?ef=N, the candidates of a search",
            short(options)
        ))
    })?;
    match value.parse() {
        Ok(ef @ 1..=LARGEST_EF) => Ok(Some(ef)),
        _ => Err(RetrievalError(format!(
            "?ef={} is no valid number of candidates: expected 1 to {LARGEST_EF}",
            short(value)
        ))),
    }
}

/// What opens a server: an API key, or user and password joined by a colon. Shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token without the white space around it; `None` for an empty one.
    pub fn new(text: &str) -> Option<Token> {
        let text = text.trim();
        (!text.is_empty()).then(|| Token(text.to_owned()))
    }

    /// The token itself: only for the request's header.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[token]")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    fn why(text: &str) -> String {
        Address::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn addresses_are_read_and_written() {
        let address = Address::parse("milvus://localhost:19530/pubmed").unwrap();
        assert_eq!(
            (
                address.host.as_str(),
                address.port,
                address.tls,
                address.is_local()
            ),
            ("localhost", 19530, false, true)
        );
        assert_eq!(address.collection, "pubmed");
        for text in [
            "milvus://localhost:19530/pubmed",
            "milvus+tls://db.example.org:443/med/pubmed_2026",
            "milvus://[::1]:19530/_c",
        ] {
            assert_eq!(Address::parse(text).unwrap().to_string(), text);
        }
        let address = Address::parse("milvus://h/c?ef=256").unwrap();
        assert_eq!((address.port, address.ef), (19530, Some(256)));
        assert!(!Address::parse("milvus://10.0.0.1/c").unwrap().is_local());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_part() {
        for (text, part) in [
            ("http://h/c", "no address of a remote index"),
            ("milvus://h:99999/c", "no valid port"),
            ("milvus://h:/c", "no valid port"),
            ("milvus:///c", "no valid host"),
            ("milvus://a b/c", "no valid host"),
            ("milvus://h/", "no name of a collection"),
            ("milvus://h/1c", "no name of a collection"),
            ("milvus://h/c\" or 1==1", "no name of a collection"),
            ("milvus://h/d-b/c", "no name of a database"),
            ("milvus://h/d/c/e", "no name of a collection"),
            ("milvus://h/c?nprobe=3", "expected ?ef=N"),
            ("milvus://h/c?ef=0", "no valid number of candidates"),
        ] {
            assert!(why(text).contains(part), "{text}: {}", why(text));
        }
    }

    #[test]
    fn schemes_may_be_in_capitals_and_other_ones_are_no_folders() {
        let address = Address::parse("MILVUS+TLS://h/c").unwrap();
        assert_eq!((address.tls, address.host.as_str()), (true, "h"));
        for text in [
            "MILVUS://h/c",
            "http://h/c",
            "milvus+tls://h/c",
            "milvus:/h/c",
            "milvus:h/c",
        ] {
            assert!(Address::is_remote(text), "{text}");
        }
        for text in ["index", "./a b://c", "://x", "C:/index"] {
            assert!(!Address::is_remote(text), "{text}");
        }
        assert!(!why("http://root:geheim123@h/c").contains("geheim"));
    }

    #[test]
    fn a_password_is_refused_and_not_repeated() {
        let message = why("milvus://root:geheim123@h:19530/c");
        assert!(message.contains(TOKEN_VARIABLE), "{message}");
        assert!(!message.contains("geheim"), "{message}");
        let token = Token::new(" root:geheim ").unwrap();
        assert_eq!(
            (format!("{token:?}").as_str(), token.expose()),
            ("[token]", "root:geheim")
        );
        assert_eq!(Token::new(" \n"), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}", tail in "[a-z0-9:/?=\\[\\]@._]{0,40}") {
            let _ = Address::parse(&text);
            let _ = Address::parse(&format!("milvus://{tail}"));
        }
    }
}
