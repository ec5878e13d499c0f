//! Judgements of requests that are alike: asked once, they hold for every answer with the same question, gold and text.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use crate::data::store::{JudgementRecord, Store, StoreError};
use crate::domain::prompt::Prompt;

/// What tells requests apart: the first 16 bytes of a SHA-256 over the messages.
pub(super) type Key = [u8; 16];

/// Where the judgement of a request stands: 40 bytes each, the words stay in the store.
#[derive(Debug, Default)]
pub(super) struct Shared {
    places: HashMap<Key, (i64, usize)>,
}

impl Shared {
    /// The key of a request; everything else of it is the same for all judgements of a run.
    pub(super) fn key(prompt: &Prompt) -> Key {
        let mut hash = Sha256::new();
        hash.update((prompt.system.len() as u64).to_le_bytes());
        hash.update(&prompt.system);
        hash.update(&prompt.user);
        let whole: [u8; 32] = hash.finalize().into();
        let mut key = Key::default();
        key.copy_from_slice(&whole[..16]);
        key
    }

    /// The judgement of sub-question `sub` of a reply answers this request.
    pub(super) fn put(&mut self, key: Key, reply: i64, sub: usize) {
        self.places.entry(key).or_insert((reply, sub));
    }

    /// The judge's last judgement on this request, with its words; `None` where there is none that came.
    ///
    /// # Errors
    /// [`StoreError`] when the store can't be read.
    pub(super) fn find(
        &self,
        key: &Key,
        store: &Store,
        judge: &str,
    ) -> Result<Option<JudgementRecord>, StoreError> {
        let Some(&(reply, sub)) = self.places.get(key) else {
            return Ok(None);
        };
        let found = store.judgements_of_reply(reply)?.into_iter().rev();
        let mut of_answer = found.filter(|one| one.sub == sub && one.judge == judge);
        Ok(of_answer.next().filter(|one| one.failure.is_null()))
    }
}
