//! Searching an index for topics.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};

use crate::data::clock::now;
use crate::data::ledger::{Entry, EntryKind, SCHEMA};
use crate::domain::passage::{Document, Source};
use crate::domain::question::Question;
use crate::domain::text::clean;
use crate::engine::ask::to_value;
use crate::engine::build::asker::{Asker, hash_of, on_thread};
use crate::engine::build::retrieve::Pool;
use crate::engine::build::{BuildError, IndexSource};
use crate::retrieval::Hit;

/// Adds the best documents of the index for every topic to the pool.
pub(super) async fn find(
    asker: &Asker<'_>,
    question: &Question,
    topics: &[String],
    pool: &mut Pool,
) -> Result<(), BuildError> {
    let Some(index) = &asker.build.parts.index else {
        return Ok(());
    };
    let retriever = to_value(&index.method);
    for topic in topics {
        for hit in search(asker, index, question, topic).await? {
            let score = (f64::from(hit.score) * 1e4).round() / 1e4;
            let found =
                json!({"topic": topic, "rank": hit.rank, "score": score, "retriever": retriever});
            pool.add(document(hit), found);
        }
    }
    Ok(())
}

/// The best documents for a topic, from the ledger or searched now.
async fn search(
    asker: &Asker<'_>,
    index: &IndexSource,
    question: &Question,
    topic: &str,
) -> Result<Vec<Hit>, BuildError> {
    let request = json!({
        "query": topic,
        "retriever": index.method,
        "k": asker.build.parts.settings.per_topic,
        "index": index.names,
        "info": index.search.info(),
    });
    let hash = hash_of(&json!([SCHEMA, "search", question.id, request]));
    if let Some(hits) = asker
        .known(&hash)
        .and_then(|value| serde_json::from_value(value).ok())
    {
        return Ok(hits);
    }
    if asker.cancel.is_cancelled() {
        return Err(BuildError::Stopped);
    }
    let (started_at, started) = (now(), Instant::now());
    let (search, method, k) = (
        Arc::clone(&index.search),
        index.method,
        asker.build.parts.settings.per_topic,
    );
    let query = topic.to_owned();
    let found = on_thread(move || search.search(&query, method, k)).await?;
    let hits = found
        .map_err(|error| BuildError::Failed(error.to_string()))?
        .hits;
    asker
        .keep(Entry {
            kind: EntryKind::Search,
            stage: asker.stage.name().to_owned(),
            question_id: question.id.clone(),
            item: topic.to_owned(),
            attempt: 0,
            hash,
            request,
            model: Value::Null,
            answer: to_value(&hits),
            outcome: String::new(),
            started_at,
            ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
        .await?;
    Ok(hits)
}

fn document(hit: Hit) -> Document {
    Document {
        id: clean(hit.id.trim()),
        title: clean(&hit.title),
        content: clean(&hit.content),
        source: Some(Source::Offline),
        extra: Map::new(),
    }
}
