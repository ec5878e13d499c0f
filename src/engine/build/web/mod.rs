//! The web: searching it, and reading pages with limits.
//!
//! Links come from strangers, so a page is fetched only from public addresses (checked for every redirect, and again
//! when a name is resolved), only as the site's `robots.txt` allows, only up to a size and for a time, and only where
//! it is text. What was read, and what never will be, is kept in a folder.

mod address;
mod fetch;
mod find;
mod robots;
mod text;

use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::{Client, Url};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::data::clock::now;
use crate::data::output;
use crate::domain::build::Private;
use crate::domain::text::shortened;
use crate::engine::build::asker::hash_of;
use crate::model::http::install_crypto_provider;

pub use address::is_public;
pub use find::{Engine, GOOGLE, Link, SearchTrouble};

/// How this program names itself to sites; `robots.txt` rules for `medrgb` apply to it.
const AGENT: &str = concat!("medrgb/", env!("CARGO_PKG_VERSION"), " (benchmark builder)");

/// The most characters of a page's title.
const MOST_TITLE: usize = 300;
/// The most characters of a page's address; browsers and sites hardly take longer ones.
const MOST_ADDRESS: usize = 2_000;

/// Version of the kept pages; others are fetched again.
const SCHEMA: u32 = 1;

/// How the web is used.
#[derive(Debug, Clone, PartialEq)]
pub struct WebSettings {
    /// Who searches.
    pub engine: Engine,
    /// Which pages may be read that are at no public address.
    pub private: Private,
    /// The most bytes of a page.
    pub most_bytes: usize,
    /// How long a page may take, redirects and all.
    pub timeout: Duration,
    /// The time between two requests to the same site, unless its `robots.txt` asks for more.
    pub pause: Duration,
}

impl WebSettings {
    /// How the web is used where nothing else is said.
    pub fn of(engine: Engine) -> WebSettings {
        WebSettings {
            engine,
            private: Private::Closed,
            most_bytes: 2 << 20,
            timeout: Duration::from_secs(20),
            pause: Duration::from_millis(500),
        }
    }
}

/// A page that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// Its address after all redirects.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Its main text.
    pub text: String,
}

impl Page {
    /// With a title that is no text of its own: it goes into prompts and into the dataset.
    fn bounded(mut self) -> Page {
        self.title = shortened(&self.title, MOST_TITLE);
        self
    }
}

/// Why a page was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    /// In one sentence.
    pub reason: String,
    /// Whether it will be so the next time too.
    pub lasting: bool,
}

impl Skip {
    fn lasting(reason: impl Into<String>) -> Skip {
        Skip {
            reason: reason.into(),
            lasting: true,
        }
    }

    fn passing(reason: impl Into<String>) -> Skip {
        Skip {
            reason: reason.into(),
            lasting: false,
        }
    }
}

/// A page as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct KeptPage {
    schema: u32,
    asked_for: String,
    fetched_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    page: Option<Page>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    skipped: Option<String>,
}

/// Access to the web.
pub struct Web {
    settings: WebSettings,
    /// For the search engine, which the user chose.
    search: Client,
    /// For pages, which strangers chose.
    pages: Client,
    robots: robots::Robots,
    folder: PathBuf,
}

impl Web {
    /// Sets it up; pages are kept under `folder`. Connects to nothing.
    ///
    /// # Errors
    /// A sentence where the HTTP client can't be set up.
    pub fn new(settings: WebSettings, folder: &Path) -> Result<Web, String> {
        install_crypto_provider();
        let failed = |error: reqwest::Error| {
            format!("the HTTP client can't be set up: {}", error.without_url())
        };
        let search = Client::builder()
            .user_agent(AGENT)
            .connect_timeout(Duration::from_secs(10))
            .timeout(Duration::from_secs(30))
            .build()
            .map_err(failed)?;
        Ok(Web {
            search,
            pages: fetch::client(&settings.private).map_err(failed)?,
            robots: robots::Robots::new(settings.pause),
            folder: folder.to_path_buf(),
            settings,
        })
    }

    /// What the manifest says of it.
    pub(super) fn describe(&self) -> Value {
        json!({
            "engine": self.settings.engine.describe(),
            "allow_private": address::describe(&self.settings.private),
            "most_bytes": self.settings.most_bytes,
            "timeout_s": self.settings.timeout.as_secs_f64(),
        })
    }

    /// Who searches, for hashes and records; no key is in it.
    pub(super) fn engine(&self) -> Value {
        self.settings.engine.describe()
    }

    /// Searches the web.
    ///
    /// # Errors
    /// [`SearchTrouble`].
    pub async fn find(&self, query: &str) -> Result<Vec<Link>, SearchTrouble> {
        find::find(&self.search, &self.settings.engine, query).await
    }

    /// Reads a page, or says why not; what is kept from before is not fetched again.
    pub async fn page(&self, address: &str) -> Result<Page, Skip> {
        if let Some(kept) = self.kept(address) {
            return kept.map(Page::bounded);
        }
        let result = self.read(address).await.map(Page::bounded);
        if result.as_ref().is_err_and(|skip| !skip.lasting) {
            return result;
        }
        self.keep(address, &result);
        result
    }

    async fn read(&self, address: &str) -> Result<Page, Skip> {
        let url = Url::parse(address)
            .map_err(|error| Skip::lasting(format!("the address can't be read: {error}")))?;
        text::main_text(fetch::page(self, url).await?).await
    }

    fn file(&self, address: &str) -> PathBuf {
        let hash = hash_of(&json!([SCHEMA, address]));
        self.folder.join(format!("{}.json", &hash[..32]))
    }

    fn kept(&self, address: &str) -> Option<Result<Page, Skip>> {
        let bytes = std::fs::read(self.file(address)).ok()?;
        let kept: KeptPage = serde_json::from_slice(&bytes).ok()?;
        if kept.schema != SCHEMA || kept.asked_for != address {
            return None;
        }
        match (kept.page, kept.skipped) {
            (Some(page), _) => Some(Ok(page)),
            (None, Some(reason)) => Some(Err(Skip::lasting(reason))),
            (None, None) => None,
        }
    }

    /// A page that can't be kept is fetched again the next time; that is no reason to stop.
    fn keep(&self, address: &str, result: &Result<Page, Skip>) {
        let kept = KeptPage {
            schema: SCHEMA,
            asked_for: address.to_owned(),
            fetched_at: now(),
            page: result.as_ref().ok().cloned(),
            skipped: result.as_ref().err().map(|skip| skip.reason.clone()),
        };
        let written = std::fs::create_dir_all(&self.folder)
            .map_err(|error| error.to_string())
            .and_then(|()| serde_json::to_string(&kept).map_err(|error| error.to_string()))
            .and_then(|text| {
                output::write_text(&self.file(address), &text).map_err(|error| error.0)
            });
        if let Err(why) = written {
            tracing::warn!(%why, "a page is not kept");
        }
    }
}
