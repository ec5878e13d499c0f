//! The documents of a whole dataset, and which of them may be noise for a question.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::Hasher;
use std::ops::Range;

use crate::domain::context::SourceFilter;
use crate::domain::passage::Document;
use crate::domain::text::text_key;

/// The signal documents of every question of a dataset: the source of noise. Built once per dataset.
///
/// Candidates for noise are de-duplicated by id and by normalised text and put into an order of their own,
/// so that the order of questions in the files does not matter.
#[derive(Debug, Clone, Default)]
pub struct NoisePool {
    /// All documents, grouped by question.
    documents: Vec<Document>,
    /// Question ids in file order.
    questions: Vec<String>,
    /// Which documents belong to a question.
    ranges: HashMap<String, Range<usize>>,
    /// Candidates by source filter: any, offline, online.
    lists: [Candidates; 3],
    /// Normalised keys of texts seen when the pool was built, by length and hash of the raw text:
    /// normalising is the dearest part of composing.
    keys: HashMap<(usize, u64), u128>,
}

/// Candidates that pass one source filter.
#[derive(Debug, Clone, Default)]
struct Candidates {
    /// Positions of document and question, sorted by document id; ids and texts are unique.
    entries: Vec<(u32, u32)>,
    /// `(text key, position in entries)`, sorted.
    by_text: Vec<(u128, u32)>,
}

/// A document drawn as noise, and the question whose signal document it is.
pub(super) type Drawn<'a> = (&'a Document, &'a str);

impl NoisePool {
    /// Builds the pool from each question's signal documents, in file order. A question that is named
    /// twice keeps its first group.
    pub fn build(groups: Vec<(String, Vec<Document>)>) -> NoisePool {
        let mut pool = NoisePool::default();
        for (question_id, documents) in groups {
            if pool.ranges.contains_key(&question_id) {
                continue;
            }
            let start = pool.documents.len();
            pool.documents.extend(documents);
            pool.ranges
                .insert(question_id.clone(), start..pool.documents.len());
            pool.questions.push(question_id);
        }
        pool.index();
        pool
    }

    /// Remembers the normalised key of a text that composing will ask for again and again.
    pub fn remember(&mut self, text: &str) {
        self.keys
            .entry(raw_key(text))
            .or_insert_with(|| text_key(text));
    }

    /// The signal documents of a question in file order; empty where it has none.
    pub fn signal(&self, question_id: &str) -> &[Document] {
        self.ranges
            .get(question_id)
            .and_then(|range| self.documents.get(range.clone()))
            .unwrap_or_default()
    }

    /// The questions that have signal documents, in file order.
    pub fn questions(&self) -> impl Iterator<Item = &str> {
        self.questions.iter().map(String::as_str)
    }

    /// How many documents can serve as noise (before a question's own are left out).
    pub fn candidates(&self, source: SourceFilter) -> usize {
        self.list(source).entries.len()
    }

    /// The key under which a text counts as the same as another: from memory, else computed.
    pub(super) fn key(&self, text: &str) -> u128 {
        match self.keys.get(&raw_key(text)) {
            Some(&key) => key,
            None => text_key(text),
        }
    }

    /// Positions of candidates with one of these ids or texts, sorted, without repeats.
    pub(super) fn excluded<'a>(
        &self,
        source: SourceFilter,
        ids: impl Iterator<Item = &'a str>,
        texts: impl Iterator<Item = u128>,
    ) -> Vec<usize> {
        let list = self.list(source);
        let by_id = ids.filter_map(|id| {
            list.entries
                .binary_search_by(|&(document, _)| self.id(document).cmp(id))
                .ok()
        });
        let by_text = texts.filter_map(|key| {
            let found = list.by_text.binary_search_by_key(&key, |&(key, _)| key);
            found.ok().map(|at| list.by_text[at].1 as usize)
        });
        let mut excluded: Vec<usize> = by_id.chain(by_text).collect();
        excluded.sort_unstable();
        excluded.dedup();
        excluded
    }

    /// The candidate at this position.
    pub(super) fn candidate(&self, source: SourceFilter, position: usize) -> Option<Drawn<'_>> {
        let &(document, question) = self.list(source).entries.get(position)?;
        let document = self.documents.get(document as usize)?;
        let question = self.questions.get(question as usize)?;
        Some((document, question))
    }

    fn list(&self, source: SourceFilter) -> &Candidates {
        match source {
            SourceFilter::Any => &self.lists[0],
            SourceFilter::Offline => &self.lists[1],
            SourceFilter::Online => &self.lists[2],
        }
    }

    fn id(&self, document: u32) -> &str {
        self.documents
            .get(document as usize)
            .map_or("", |document| document.id.as_str())
    }

    /// Fills `keys` and `lists`.
    fn index(&mut self) {
        let keys: Vec<u128> = self
            .documents
            .iter()
            .map(|document| text_key(&document.content))
            .collect();
        for (document, &key) in self.documents.iter().zip(&keys) {
            self.keys.insert(raw_key(&document.content), key);
        }
        let mut order: Vec<(u32, u32)> = Vec::with_capacity(self.documents.len());
        for (question, id) in self.questions.iter().enumerate() {
            let range = self.ranges.get(id).cloned().unwrap_or_default();
            // Positions beyond 2^32 can't occur: the files would not fit into memory.
            order.extend(range.map(|document| (document as u32, question as u32)));
        }
        order.sort_by_cached_key(|&(document, question)| {
            let at = document as usize;
            (
                self.documents[at].id.clone(),
                keys[at],
                self.questions[question as usize].clone(),
            )
        });
        self.lists = [
            SourceFilter::Any,
            SourceFilter::Offline,
            SourceFilter::Online,
        ]
        .map(|source| candidates(&self.documents, &keys, &order, source));
    }
}

/// The documents that pass the filter, in the given order, each id and each text once.
fn candidates(
    documents: &[Document],
    keys: &[u128],
    order: &[(u32, u32)],
    source: SourceFilter,
) -> Candidates {
    let mut list = Candidates::default();
    let mut texts = HashSet::new();
    let mut last_id = None;
    for &(at, question) in order {
        let document = &documents[at as usize];
        let usable = source.admits(document.source) && !document.content.trim().is_empty();
        if !usable || last_id == Some(&document.id) || !texts.insert(keys[at as usize]) {
            continue;
        }
        last_id = Some(&document.id);
        list.by_text
            .push((keys[at as usize], list.entries.len() as u32));
        list.entries.push((at, question));
    }
    list.by_text.sort_unstable();
    list
}

/// A quick key of the exact text; collisions are as unlikely as a broken memory cell.
fn raw_key(text: &str) -> (usize, u64) {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    (text.len(), hasher.finish())
}
