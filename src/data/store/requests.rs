//! Finding a reply by its request, in whatever run it was asked for.

use rusqlite::params;

use crate::data::store::{FAILED, ReplyRecord, Store, StoreError};
use crate::domain::answer::Outcome;

/// Outcomes of records that are no finished reply, as a list of SQL.
fn unfinished() -> String {
    let unfinished = Outcome::ALL
        .into_iter()
        .filter(|outcome| !outcome.is_reply());
    let names: Vec<String> = unfinished
        .map(|outcome| format!("'{}'", outcome.name()))
        .collect();
    names.join(", ")
}

impl Store {
    /// The newest finished reply to this very request, in any run; a failed call is none.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn reply_to(&self, request: &str) -> Result<Option<ReplyRecord>, StoreError> {
        let found = self.select(
            &format!(
                "WHERE request = ?1 AND outcome NOT LIKE '{FAILED}%' AND outcome NOT IN ({})
                    ORDER BY replies.id DESC LIMIT 1",
                unfinished()
            ),
            params![request],
        )?;
        Ok(found.into_iter().next())
    }

    /// Whether there is a finished reply to this very request.
    ///
    /// # Errors
    /// [`StoreError`] when the database can't be read.
    pub fn has_reply_to(&self, request: &str) -> Result<bool, StoreError> {
        let found = || {
            let connection = self.lock();
            let mut statement = connection.prepare_cached(&format!(
                "SELECT 1 FROM replies WHERE request = ?1 AND outcome NOT LIKE '{FAILED}%'
                    AND outcome NOT IN ({}) LIMIT 1",
                unfinished()
            ))?;
            statement.exists(params![request])
        };
        found().map_err(|error: rusqlite::Error| self.describe(&error))
    }
}
