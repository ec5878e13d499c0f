//! What sites allow: their `robots.txt`, and a pause between requests.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::Url;
use texting_robots::Robot;
use tokio::time::Instant;

use crate::engine::build::asker::on_thread;
use crate::engine::build::web::{Skip, Web, address, fetch};

/// The name by which rules of a `robots.txt` mean this program.
const NAME: &str = "medrgb";
/// The most bytes of a `robots.txt` that are read, as RFC 9309 asks for.
const MOST_BYTES: usize = 512 << 10;
/// The most redirects of a `robots.txt`, as RFC 9309 asks for.
const MOST_REDIRECTS: usize = 5;
/// The longest pause that a `robots.txt` can ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The sites so far.
pub(super) struct Robots {
    pause: Duration,
    sites: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Site>>>>,
}

/// A site: scheme, host and port.
#[derive(Default)]
struct Site {
    rules: Option<Rules>,
    last: Option<Instant>,
}

/// What a site allows.
enum Rules {
    /// It has no rules.
    All,
    /// Its rules.
    Some(Box<Robot>),
    /// Its rules can't be had: nothing is allowed, as RFC 9309 asks for.
    Nothing(String),
}

impl Robots {
    pub(super) fn new(pause: Duration) -> Robots {
        Robots {
            pause,
            sites: Mutex::default(),
        }
    }

    /// Waits for this program's turn at a site; refuses what its rules forbid.
    pub(super) async fn turn(&self, web: &Web, url: &Url) -> Result<(), Skip> {
        let site = {
            let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(sites.entry(url.origin().ascii_serialization()).or_default())
        };
        // One at a time: whoever comes next waits for the pause behind this one.
        let mut site = site.lock().await;
        if site.rules.is_none() {
            let limited = tokio::time::timeout(web.settings.timeout, rules(web, url));
            let slow = || Ok(Rules::Nothing(fetch::too_slow(web).reason));
            site.rules = Some(limited.await.unwrap_or_else(|_| slow())?);
        }
        let mut pause = self.pause;
        match &site.rules {
            Some(Rules::Some(robot)) => {
                if !robot.allowed(url.as_str()) {
                    return Err(Skip::lasting("the site's robots.txt does not allow it"));
                }
                let asked = robot
                    .delay
                    .filter(|delay| delay.is_finite() && *delay > 0.0);
                let asked = asked.map(|delay| Duration::from_secs_f32(delay.min(3_600.0)));
                pause = pause.max(asked.unwrap_or_default().min(LONGEST_PAUSE));
            }
            Some(Rules::Nothing(why)) => {
                return Err(Skip::passing(format!(
                    "the site's robots.txt can't be had ({why}), so nothing of it is read"
                )));
            }
            Some(Rules::All) | None => {}
        }
        if let Some(last) = site.last {
            tokio::time::sleep_until(last + pause).await;
        }
        site.last = Some(Instant::now());
        Ok(())
    }
}

/// Fetches the rules of a site. An address that may not be used at all is an error.
async fn rules(web: &Web, url: &Url) -> Result<Rules, Skip> {
    let mut at = url.clone();
    at.set_path("/robots.txt");
    at.set_query(None);
    at.set_fragment(None);
    for _ in 0..=MOST_REDIRECTS {
        address::check(&at, &web.settings.private)?;
        let response = match fetch::get(&web.pages, &at).await {
            Ok(response) => response,
            Err(skip) if skip.lasting => return Err(skip),
            Err(skip) => return Ok(Rules::Nothing(skip.reason)),
        };
        if let Some(next) = fetch::redirect(&response, &at)? {
            at = next;
            continue;
        }
        return Ok(match response.status().as_u16() {
            200..300 => match fetch::body(response, MOST_BYTES).await {
                Ok(bytes) => parse(bytes).await,
                Err(skip) => Rules::Nothing(skip.reason),
            },
            429 => Rules::Nothing("the site answers 429".to_owned()),
            400..500 => Rules::All,
            status => Rules::Nothing(format!("the site answers {status}")),
        });
    }
    Ok(Rules::All)
}

/// Reads the rules; their parser is not trusted with what strangers write.
async fn parse(bytes: Vec<u8>) -> Rules {
    let parsed = on_thread(move || {
        catch_unwind(AssertUnwindSafe(|| Robot::new(NAME, &bytes).ok())).unwrap_or_default()
    });
    match parsed.await {
        Ok(Some(robot)) => Rules::Some(Box::new(robot)),
        _ => Rules::Nothing("it can't be read".to_owned()),
    }
}
