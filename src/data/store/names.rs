//! Texts that come again and again in the rows of a run: each is kept once, and read once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rusqlite::Row;
use serde::de::DeserializeOwned;

use crate::data::store::parse_text;

/// Each text once in memory, however often it comes.
#[derive(Default)]
pub(super) struct Names(HashSet<Arc<str>>);

impl Names {
    /// The text, shared.
    pub(super) fn get(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.get(name) {
            return known.clone();
        }
        let shared: Arc<str> = Arc::from(name);
        self.0.insert(shared.clone());
        shared
    }

    /// The text of a column, shared.
    pub(super) fn column(&mut self, row: &Row<'_>, column: usize) -> rusqlite::Result<Arc<str>> {
        Ok(self.get(row.get_ref(column)?.as_str()?))
    }
}

/// JSON texts with what they mean, each read once.
pub(super) struct Memo<T>(HashMap<String, Arc<T>>);

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Memo(HashMap::new())
    }
}

impl<T: DeserializeOwned> Memo<T> {
    /// What the JSON of a column means, shared.
    pub(super) fn column(&mut self, row: &Row<'_>, column: usize) -> rusqlite::Result<Arc<T>> {
        let text = row.get_ref(column)?.as_str()?;
        if let Some(known) = self.0.get(text) {
            return Ok(known.clone());
        }
        let read: Arc<T> = Arc::new(parse_text(text, column)?);
        self.0.insert(text.to_owned(), read.clone());
        Ok(read)
    }
}
