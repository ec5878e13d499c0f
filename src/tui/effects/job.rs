//! What a thread needs to do its work: the settings, the model and the store, opened at first use.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use crate::data::store::Store;
use crate::model::{ChatModel, ModelError};
use crate::tui::Setup;
use crate::tui::message::Message;

/// The store, opened at first use.
#[derive(Default)]
pub(super) enum StoreSlot {
    #[default]
    Closed,
    Open(Store),
    /// It lies where nothing can be written.
    Readable(Store),
    Broken,
}

/// What a thread needs.
pub(super) struct Job {
    pub(super) setup: Arc<Setup>,
    pub(super) messages: mpsc::Sender<Message>,
    pub(super) model: Arc<Mutex<Option<Arc<dyn ChatModel>>>>,
    pub(super) store: Arc<Mutex<StoreSlot>>,
}

impl Job {
    /// Waits for room; a closed channel means that the program ends.
    pub(super) fn send(&self, message: Message) {
        let _ = self.messages.blocking_send(message);
    }

    /// The model, opened at first use; a failure is not remembered, so that asking again tries again.
    pub(super) fn model(&self) -> Result<Arc<dyn ChatModel>, ModelError> {
        let mut slot = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = &*slot {
            return Ok(Arc::clone(model));
        }
        let model = (self.setup.model.open)()?;
        *slot = Some(Arc::clone(&model));
        Ok(model)
    }

    /// Whether asking waits for nothing but the model itself. One that is being opened is not open.
    pub(super) fn model_is_open(&self) -> bool {
        self.model.try_lock().is_ok_and(|slot| slot.is_some())
    }

    /// The store to add replies to, opened at first use; said once where that fails.
    pub(super) fn store(&self) -> Option<Store> {
        self.opened(false)
    }

    /// The store to read replies from, also one that lies where nothing can be written.
    pub(super) fn stored_replies(&self) -> Option<Store> {
        self.opened(true)
    }

    fn opened(&self, to_read: bool) -> Option<Store> {
        let path = self.setup.store.as_ref()?;
        let mut slot = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        if let StoreSlot::Closed = *slot {
            *slot = match (Store::open(path), path.exists()) {
                (Ok(store), _) => StoreSlot::Open(store),
                (Err(error), exists) => {
                    let readable = exists.then(|| Store::open_for_reading(path).ok()).flatten();
                    let shown = match &readable {
                        Some(_) => "; those that are stored are shown, read-only",
                        None => "",
                    };
                    self.send(Message::StoreProblem(format!("{error}{shown}")));
                    readable.map_or(StoreSlot::Broken, StoreSlot::Readable)
                }
            };
        }
        match &*slot {
            StoreSlot::Open(store) => Some(store.clone()),
            StoreSlot::Readable(store) if to_read => Some(store.clone()),
            _ => None,
        }
    }

    /// A connection of its own to the store, for long reading that nobody should wait for; `None` where nothing
    /// has been stored yet.
    pub(super) fn reading(&self) -> Result<Option<Store>, String> {
        let path = self.setup.store.as_ref();
        let path = path.ok_or("this session stores nothing, so there are no runs")?;
        match path.exists() {
            true => Store::open_for_reading(path)
                .map(Some)
                .map_err(|error| error.to_string()),
            false => Ok(None),
        }
    }
}
