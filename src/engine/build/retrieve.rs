//! The documents of every question: found by its topics in an index, on the web, or both.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::data::dataset::SIGNAL;
use crate::domain::build::QuestionReport;
use crate::domain::passage::{Document, Source};
use crate::domain::question::Question;
use crate::domain::text::text_key;
use crate::engine::ask::to_value;
use crate::engine::build::asker::Asker;
use crate::engine::build::store::MadeFor;
use crate::engine::build::{BuildError, each, offline, online};

/// The field of a document that says which topics found it.
pub(super) const FOUND_BY: &str = "found_by";

/// Retrieves for every question that is worked on.
pub(super) async fn run(
    asker: &Asker<'_>,
    on_progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<MadeFor>, BuildError> {
    let build = asker.build;
    if build.parts.index.is_none() && build.parts.web.is_none() {
        return Err(BuildError::Usage(
            "say where to search: --index DIR, --searxng URL or --google".to_owned(),
        ));
    }
    let Some(topics) = build.parts.folder.topics()? else {
        return Err(BuildError::Usage(format!(
            "{} has no search topics yet; make them first with `medrgb build topics`",
            build.parts.folder.path().display()
        )));
    };
    let items: Vec<(usize, &Question)> = build.worked_on().collect();
    let topics = &topics;
    let before = build.parts.folder.lists(SIGNAL)?;
    let before = &before;
    each(items, build.ceiling(), on_progress, |(at, question)| {
        of_question(asker, at, question, topics, before)
    })
    .await
}

async fn of_question(
    asker: &Asker<'_>,
    at: usize,
    question: &Question,
    topics: &HashMap<String, Vec<String>>,
    before: &Map<String, Value>,
) -> Result<MadeFor, BuildError> {
    let mut pool = Pool::default();
    let mut report = QuestionReport::default();
    match topics.get(&question.id) {
        None => "the question has no search topics".clone_into(&mut report.nothing),
        Some(topics) => {
            offline::find(asker, question, topics, &mut pool).await?;
            online::find(asker, question, topics, &mut pool, &mut report).await?;
            if pool.documents.is_empty() && report.failed.is_empty() {
                "no document was found".clone_into(&mut report.nothing);
            }
        }
    }
    report.made = pool.documents.len();
    let searched = asker.build.parts.index.is_some();
    stay(&mut pool, &mut report, before.get(&question.id), searched);
    Ok(MadeFor {
        question: at,
        records: pool.documents.iter().map(to_value).collect(),
        report,
    })
}

/// Documents of an earlier run stay where nothing was found, or something got no answer or was dropped: then nothing was
/// learnt about them. A search that went through replaces them; `searched` says that an index was, which always answers.
fn stay(pool: &mut Pool, report: &mut QuestionReport, before: Option<&Value>, searched: bool) {
    let replaced = searched && !pool.documents.is_empty();
    let why = match (report.failed.first(), report.dropped.first()) {
        (Some(lost), _) => format!("something got no reply now: {}", lost.reason),
        (None, Some(lost)) => format!("something was dropped now: {}", lost.reason),
        (None, None) if pool.documents.is_empty() => report.nothing.clone(),
        (None, None) => return,
    };
    for record in before.and_then(Value::as_array).into_iter().flatten() {
        let Ok(document) = serde_json::from_value::<Document>(record.clone()) else {
            continue;
        };
        let online = document.source == Some(Source::Online);
        if pool.has(&document) || (replaced && !online) {
            continue;
        }
        report.stay(&document.id, format!("it is from before: {why}"), "");
        pool.put(document);
    }
    if !pool.documents.is_empty() {
        report.nothing.clear();
    }
}

/// The documents of a question, each once by id and by text.
#[derive(Default)]
pub(super) struct Pool {
    documents: Vec<Document>,
    by_id: HashMap<String, usize>,
    by_text: HashMap<u128, usize>,
}

impl Pool {
    /// Whether it has a document with this id or text.
    fn has(&self, document: &Document) -> bool {
        let key = text_key(&document.content);
        self.by_id.contains_key(&document.id) || self.by_text.contains_key(&key)
    }

    /// Takes a document that is not there yet as it is.
    fn put(&mut self, document: Document) {
        let at = self.documents.len();
        self.by_id.insert(document.id.clone(), at);
        self.by_text.insert(text_key(&document.content), at);
        self.documents.push(document);
    }

    /// Takes a document; `found` says what found it. One that is there already is found once more. Says whether it is
    /// new.
    pub(super) fn add(&mut self, mut document: Document, found: Value) -> bool {
        if document.content.trim().is_empty() {
            return false;
        }
        let key = text_key(&document.content);
        let known = self.by_id.get(&document.id).or(self.by_text.get(&key));
        if let Some(known) = known.and_then(|&at| self.documents.get_mut(at)) {
            if let Some(Value::Array(list)) = known.extra.get_mut(FOUND_BY) {
                list.push(found);
            }
            return false;
        }
        document
            .extra
            .insert(FOUND_BY.to_owned(), Value::Array(vec![found]));
        self.put(document);
        true
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn document(id: &str, content: &str) -> Document {
        Document {
            id: id.into(),
            title: String::new(),
            content: content.into(),
            source: None,
            extra: Map::new(),
        }
    }

    #[test]
    fn a_document_stands_once_and_keeps_all_that_found_it() {
        let mut pool = Pool::default();
        pool.add(document("a", "Iron is stored."), json!(1));
        pool.add(document("b", "iron  IS stored."), json!(2));
        pool.add(document("a", "Another text."), json!(3));
        pool.add(document("c", "Zinc."), json!(4));
        pool.add(document("d", " "), json!(5));
        let ids: Vec<&str> = pool.documents.iter().map(|d| d.id.as_str()).collect();
        assert_eq!(ids, ["a", "c"]);
        assert_eq!(pool.documents[0].extra[FOUND_BY], json!([1, 2, 3]));
    }
}
