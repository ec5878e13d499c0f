//! The main text of a page: its bytes in the right charset, without navigation, advertising and comments.

use std::panic::{AssertUnwindSafe, catch_unwind};

use dom_smoothie::{Config, Readability, TextMode};
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use crate::domain::text::{clean, collapse, one_line};
use crate::engine::build::asker::on_thread;
use crate::engine::build::web::fetch::Fetched;
use crate::engine::build::web::{Page, Skip};

/// The fewest characters of a main text.
const LEAST_TEXT: usize = 200;
/// The most elements of a page that are looked at.
const MOST_ELEMENTS: usize = 50_000;
/// How deep elements may stand in each other.
const DEEPEST: usize = 2_000;
/// Stack of the thread that reads pages, in bytes: the reader goes down into elements step by step.
const STACK: usize = 64 << 20;
/// Where in a page its charset may be declared, in bytes.
const DECLARED_WITHIN: usize = 4_096;

/// Elements that are not closed, or may be left open.
const LEFT_OPEN: [&str; 30] = [
    "area", "base", "body", "br", "col", "colgroup", "dd", "dt", "embed", "head", "hr", "html",
    "img", "input", "li", "link", "meta", "option", "p", "param", "rp", "rt", "source", "tbody",
    "td", "tfoot", "th", "thead", "tr", "wbr",
];

/// Title and main text of what was fetched.
pub(super) async fn main_text(fetched: Fetched) -> Result<Page, Skip> {
    let url = fetched.url.to_string();
    let text = decode(&fetched.bytes, fetched.charset.as_deref());
    let (title, text) = match fetched.kind.as_str() {
        "text/plain" => (String::new(), text),
        _ => of_html(text, url.clone()).await?,
    };
    let text = paragraphs(&clean(&text));
    let length = text.chars().count();
    match length < LEAST_TEXT {
        true => Err(Skip::lasting(format!(
            "the page has no main text to speak of ({length} characters)"
        ))),
        false => Ok(Page {
            url,
            title: one_line(&title),
            text,
        }),
    }
}

/// Blank lines and spaces too many are taken out.
fn paragraphs(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(collapse)
        .filter(|line| !line.is_empty())
        .collect();
    lines.join("\n")
}

async fn of_html(html: String, url: String) -> Result<(String, String), Skip> {
    if depth(&html) > DEEPEST {
        return Err(Skip::lasting(
            "the page's elements stand too deep in each other",
        ));
    }
    let unreadable = || Skip::lasting("the page's main text can't be found");
    let work = move || {
        std::thread::Builder::new()
            .stack_size(STACK)
            .spawn(move || {
                catch_unwind(AssertUnwindSafe(|| article(html, &url)))
                    .ok()
                    .flatten()
            })
            .ok()
            .and_then(|thread| thread.join().ok().flatten())
    };
    on_thread(work).await.ok().flatten().ok_or_else(unreadable)
}

fn article(html: String, url: &str) -> Option<(String, String)> {
    let config = Config {
        max_elements_to_parse: MOST_ELEMENTS,
        text_mode: TextMode::Formatted,
        ..Config::default()
    };
    let mut reader = Readability::new(html, Some(url), Some(config)).ok()?;
    let article = reader.parse().ok()?;
    Some((article.title, article.text_content.to_string()))
}

/// About how deep elements stand in each other: those that must be closed are counted.
fn depth(html: &str) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    for (at, _) in html.match_indices('<') {
        let rest = &html[at + 1..];
        let closes = rest.starts_with('/');
        let name: String = rest
            .trim_start_matches('/')
            .chars()
            .take(12)
            .take_while(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_lowercase())
            .collect();
        if name.is_empty() || LEFT_OPEN.contains(&name.as_str()) {
            continue;
        }
        now = match closes {
            true => now.saturating_sub(1),
            false => now + 1,
        };
        most = most.max(now);
    }
    most
}

/// The text of a page's bytes. A byte-order mark decides; then bytes that are UTF-8 beyond ASCII, which no other
/// charset looks like by chance; then the header's charset and the page's own, as far as the bytes are valid in it;
/// then Windows' Western charset, as browsers do.
fn decode(bytes: &[u8], header: Option<&str>) -> String {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding.decode(bytes).0.into_owned();
    }
    let declared = [
        header.map(str::to_owned),
        declared(&bytes[..bytes.len().min(DECLARED_WITHIN)]),
    ];
    let declared = declared
        .iter()
        .flatten()
        .filter_map(|label| Encoding::for_label(label.as_bytes()));
    let is_utf8 = std::str::from_utf8(bytes).is_ok() && !bytes.is_ascii();
    let escapes = bytes.contains(&0x1b);
    let candidates = is_utf8.then_some(UTF_8).into_iter().chain(declared);
    for encoding in candidates.filter(|encoding| escapes || encoding.is_ascii_compatible()) {
        let (text, had_errors) = encoding.decode_without_bom_handling(bytes);
        if !had_errors {
            return text.into_owned();
        }
    }
    WINDOWS_1252
        .decode_without_bom_handling(bytes)
        .0
        .into_owned()
}

/// The charset that a page declares in its head.
fn declared(head: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let at = head.find("charset")? + "charset".len();
    let rest = head[at..].trim_start().strip_prefix('=')?.trim_start();
    let label: String = rest
        .trim_start_matches(['"', '\''])
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || "-_:.".contains(*c))
        .collect();
    (!label.is_empty()).then_some(label)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn charsets_are_told_apart_whatever_is_declared() {
        let latin = b"<p>h\xe9patite</p>";
        assert_eq!(decode(latin, Some("iso-8859-1")), "<p>hépatite</p>");
        // Declared as UTF-8, which it is not.
        assert_eq!(decode(latin, Some("utf-8")), "<p>hépatite</p>");
        assert_eq!(
            decode("hépatite".as_bytes(), Some("iso-8859-1")),
            "hépatite"
        );
        assert_eq!(decode(b"\xef\xbb\xbfa\xc3\xa9", Some("iso-8859-1")), "aé");
        let (cyrillic, _, _) = encoding_rs::KOI8_R.encode("<meta charset=\"koi8-r\">печень");
        assert!(decode(&cyrillic, None).ends_with("печень"));
        let (japanese, _, _) = encoding_rs::SHIFT_JIS.encode("肝臓");
        assert_eq!(decode(&japanese, Some("shift_jis")), "肝臓");
        assert_eq!(decode(b"plain", Some("nonsense")), "plain");
    }

    #[tokio::test]
    async fn the_main_text_is_found_among_navigation() {
        let story =
            "Ferritin is the protein that stores iron in the cells of the liver and the spleen. "
                .repeat(8);
        let html = format!(
            "<html><head><title>Iron stores</title></head><body><nav><a href='/'>Home</a> <a href='/buy'>Buy pills</a></nav>\
             <article><h1>Iron stores</h1><p>{story}</p><p>{story}</p></article><footer>Cookies</footer></body></html>"
        );
        let fetched = |kind: &str, body: &str| Fetched {
            url: reqwest::Url::parse("https://example.org/iron").unwrap(),
            kind: kind.into(),
            charset: None,
            bytes: body.as_bytes().to_vec(),
        };
        let page = main_text(fetched("text/html", &html)).await.unwrap();
        assert_eq!(page.title, "Iron stores");
        assert!(page.text.contains("stores iron in the cells"));
        assert!(!page.text.contains("Buy pills") && !page.text.contains('<'));
        let short = main_text(fetched("text/html", "<p>Nothing here.</p>"))
            .await
            .unwrap_err();
        assert!(short.lasting && !short.reason.is_empty());
        let deep = "<div>".repeat(60_000);
        let why = main_text(fetched("text/html", &deep)).await.unwrap_err();
        assert!(why.reason.contains("too deep"), "{why:?}");
        let plain = main_text(fetched("text/plain", &story)).await.unwrap();
        assert!(plain.text.starts_with("Ferritin"));
    }
}
