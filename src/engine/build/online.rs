//! Searching the web for topics: links, the model's choice among them, pages, their summaries.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use reqwest::Url;
use serde_json::{Map, Value, json};

use crate::data::clock::now;
use crate::data::ledger::{Entry, EntryKind, SCHEMA};
use crate::domain::build::{QuestionReport, leaked, read_links, read_summary};
use crate::domain::passage::{Document, Source};
use crate::domain::prompt::{BuildPrompt, LinkText};
use crate::domain::question::Question;
use crate::domain::text::{shortened, text_key};
use crate::engine::ask::to_value;
use crate::engine::build::BuildError;
use crate::engine::build::asker::{Ask, Asker, Candidate, Check, Made, hash_of};
use crate::engine::build::retrieve::Pool;
use crate::engine::build::web::{Link, Page, SearchTrouble, Web};
use crate::model::{Field, FieldKind, ReplyForm};

/// The most links of a question that the model chooses from.
const MOST_LINKS: usize = 30;
/// The most characters of a page that are summed up.
const MOST_TEXT: usize = 8_000;
/// The most characters that a link's title or snippet shows to the model.
const MOST_SNIPPET: usize = 300;
/// The fewest words of a summary.
const LEAST_SUMMARY: usize = 20;

/// A link and the topics that found it.
struct Candidates {
    links: Vec<(Link, Vec<String>)>,
}

/// Adds a document for each of the best pages to the pool.
pub(super) async fn find(
    asker: &Asker<'_>,
    question: &Question,
    topics: &[String],
    pool: &mut Pool,
    report: &mut QuestionReport,
) -> Result<(), BuildError> {
    let Some(web) = &asker.build.parts.web else {
        return Ok(());
    };
    let mut candidates = Candidates { links: Vec::new() };
    for topic in topics {
        match search(asker, web, question, topic).await? {
            Ok(links) => candidates.add(topic, links),
            Err(trouble) if trouble.lasting => return Err(BuildError::GivenUp(trouble.message)),
            Err(trouble) => report.fail(topic, trouble.message),
        }
    }
    if candidates.links.is_empty() {
        return Ok(());
    }
    let order = ranked(asker, question, &candidates, report).await?;
    let mut pages = 0;
    let mut read: HashMap<u128, String> = HashMap::new();
    for at in order {
        if pages >= asker.build.parts.settings.pages {
            break;
        }
        let Some((link, topics)) = candidates.links.get(at) else {
            continue;
        };
        let Some(page) = page(asker, web, link, report).await? else {
            continue;
        };
        // The same page under another address says nothing more.
        if let Some(first) = read.get(&text_key(&page.text)) {
            report.skip(&link.url, format!("it has the text of {first}"));
            continue;
        }
        read.insert(text_key(&page.text), link.url.clone());
        let Some(document) = document(asker, question, link, page, report).await? else {
            continue;
        };
        let found = json!({"topics": topics, "rank": pages + 1});
        match pool.add(document, found) {
            true => pages += 1,
            false => report.skip(&link.url, "what it says stands in another document"),
        }
    }
    Ok(())
}

impl Candidates {
    /// Takes links that are new; others are found once more.
    fn add(&mut self, topic: &str, links: Vec<Link>) {
        for link in links {
            let Ok(mut url) = Url::parse(&link.url) else {
                continue;
            };
            url.set_fragment(None);
            let link = Link {
                url: url.to_string(),
                ..link
            };
            let known = self
                .links
                .iter()
                .position(|(known, _)| known.url == link.url);
            match known {
                Some(at) => self.links[at].1.push(topic.to_owned()),
                None if self.links.len() < MOST_LINKS => {
                    self.links.push((link, vec![topic.to_owned()]));
                }
                None => {}
            }
        }
    }

    /// The links as the model sees them.
    fn shown(&self) -> Vec<LinkText> {
        let host = |url: &str| {
            let url = Url::parse(url).ok();
            url.and_then(|url| url.host_str().map(str::to_owned))
                .unwrap_or_default()
        };
        self.links
            .iter()
            .enumerate()
            .map(|(at, (link, _))| LinkText {
                label: format!("LINK_{}", at + 1),
                title: shortened(&link.title, MOST_SNIPPET),
                site: host(&link.url),
                snippet: shortened(&link.snippet, MOST_SNIPPET),
            })
            .collect()
    }
}

/// The links of a topic, from the ledger or searched now.
async fn search(
    asker: &Asker<'_>,
    web: &Arc<Web>,
    question: &Question,
    topic: &str,
) -> Result<Result<Vec<Link>, SearchTrouble>, BuildError> {
    let request = json!({"query": topic, "engine": web.engine()});
    let hash = hash_of(&json!([SCHEMA, "web search", question.id, request]));
    if let Some(links) = asker
        .known(&hash)
        .and_then(|value| serde_json::from_value(value).ok())
    {
        return Ok(Ok(links));
    }
    if asker.cancel.is_cancelled() {
        return Err(BuildError::Stopped);
    }
    let (started_at, started) = (now(), Instant::now());
    let found = stoppable(asker, web.find(topic)).await?;
    asker
        .keep(Entry {
            kind: EntryKind::WebSearch,
            stage: asker.stage.name().to_owned(),
            question_id: question.id.clone(),
            item: topic.to_owned(),
            attempt: 0,
            hash,
            request,
            model: Value::Null,
            answer: found.as_ref().map(to_value).unwrap_or_default(),
            outcome: found
                .as_ref()
                .err()
                .map(|trouble| format!("failed: {}", trouble.message))
                .unwrap_or_default(),
            started_at,
            ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
        .await?;
    Ok(found)
}

/// The positions of the links in the model's order; where it gives none that can be read, in the order of the search.
async fn ranked(
    asker: &Asker<'_>,
    question: &Question,
    candidates: &Candidates,
    report: &mut QuestionReport,
) -> Result<Vec<usize>, BuildError> {
    let links = candidates.shown();
    let labels: Vec<String> = links.iter().map(|link| link.label.clone()).collect();
    let ask = Ask {
        question_id: &question.id,
        item: "links",
        prompt: BuildPrompt::Links {
            question,
            links: &links,
            // Some pages will turn out to be of no use.
            count: (2 * asker.build.parts.settings.pages).min(links.len()),
        },
        form: ReplyForm::Fields(vec![Field::new("links", FieldKind::Labels(labels.clone()))]),
    };
    let read = |raw: &str| {
        read_links(raw, &labels).map(|value| Candidate {
            value,
            left: Vec::new(),
        })
    };
    Ok(
        match asker
            .checked(&ask, read, async |_: &Vec<usize>| Ok(Check::Good))
            .await?
        {
            Made::Kept { value, .. } => value,
            Made::Dropped(why) | Made::Failed(why) => {
                report.skip("links", format!("taken in the order of the search: {why}"));
                (0..links.len()).collect()
            }
        },
    )
}

/// The page of a link; where it can't be read, the report says why.
async fn page(
    asker: &Asker<'_>,
    web: &Arc<Web>,
    link: &Link,
    report: &mut QuestionReport,
) -> Result<Option<Page>, BuildError> {
    match stoppable(asker, web.page(&link.url)).await? {
        Ok(page) => Ok(Some(page)),
        Err(skip) => {
            report.skip(&shortened(&link.url, MOST_SNIPPET), skip.reason);
            Ok(None)
        }
    }
}

/// The document that a page becomes; where it becomes none, the report says why.
async fn document(
    asker: &Asker<'_>,
    question: &Question,
    link: &Link,
    page: Page,
    report: &mut QuestionReport,
) -> Result<Option<Document>, BuildError> {
    let summary = match summary(asker, question, &page).await? {
        Made::Kept {
            value: Some(text),
            repairs,
            ..
        } => {
            if repairs > 0 {
                report.repaired += 1;
            }
            text
        }
        Made::Kept { value: None, .. } => {
            report.skip(&link.url, "the model finds nothing in it that helps");
            return Ok(None);
        }
        Made::Dropped(why) => {
            report.drop(&link.url, why);
            return Ok(None);
        }
        Made::Failed(why) => {
            report.fail(&link.url, why);
            return Ok(None);
        }
    };
    let hash = hash_of(&json!(page.url));
    Ok(Some(Document {
        id: format!("web-{}", &hash[..16]),
        title: page.title,
        content: summary,
        source: Some(Source::Online),
        extra: Map::from_iter([("url".to_owned(), json!(page.url))]),
    }))
}

/// What a model makes of a page; `None` where it says that the page does not help.
async fn summary(
    asker: &Asker<'_>,
    question: &Question,
    page: &Page,
) -> Result<Made<Option<String>>, BuildError> {
    let content = shortened(&page.text, room(asker));
    let words = ["yes", "no"].map(str::to_owned).to_vec();
    let ask = Ask {
        question_id: &question.id,
        item: &page.url,
        prompt: BuildPrompt::Summary {
            question,
            title: &page.title,
            content: &content,
        },
        form: ReplyForm::Fields(vec![
            Field::new("relevant", FieldKind::Choice(words)),
            Field::new("summary", FieldKind::Long),
        ]),
    };
    let read = |raw: &str| {
        let summary = read_summary(raw)?;
        if !summary.relevant {
            return Ok(Candidate {
                value: None,
                left: Vec::new(),
            });
        }
        let count = summary.text.split_whitespace().count();
        if count < LEAST_SUMMARY {
            return Err(format!("the summary has only {count} words"));
        }
        if let Some(marker) = leaked(&page.text, &summary.text) {
            return Err(format!("\"{marker}\" does not belong into the summary"));
        }
        Ok(Candidate {
            value: Some(summary.text),
            left: Vec::new(),
        })
    };
    asker
        .checked(&ask, read, async |_: &Option<String>| Ok(Check::Good))
        .await
}

/// How many characters of a page fit the model's window beside the question and the summary.
fn room(asker: &Asker<'_>) -> usize {
    let window = asker
        .build
        .parts
        .model
        .as_ref()
        .and_then(|model| model.identity().window);
    let Some(window) = window else {
        return MOST_TEXT;
    };
    let taken = asker.build.parts.sampling.max_tokens.saturating_add(900);
    let left = usize::try_from(window.saturating_sub(taken)).unwrap_or(0);
    // Three characters a token, as predictions count them.
    MOST_TEXT.min(3 * left).max(1_000)
}

/// Waits for the web, but not when the user stops.
async fn stoppable<T>(asker: &Asker<'_>, work: impl Future<Output = T>) -> Result<T, BuildError> {
    tokio::select! {
        biased;
        () = asker.cancel.cancelled() => Err(BuildError::Stopped),
        done = work => Ok(done),
    }
}
