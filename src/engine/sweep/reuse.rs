//! Replies that need not be asked for: the same request has a finished reply in some run of the store.
//!
//! A copy is a record of its own, read and scored by today's rules, with the timing of the call that was made and a
//! note of the run it comes from. Failed calls are never copied.

use std::collections::{BTreeMap, HashSet};

use crate::data::store::{Origin, ReplyRecord, Store};
use crate::engine::ask::{record, request_key, result_of};
use crate::engine::instance::Instance;
use crate::engine::survey::Place;
use crate::engine::sweep::Sweep;

/// Copies that share one transaction.
const AT_ONCE: usize = 200;

/// What was taken over, and what is left to be asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reused {
    /// Replies taken over, by the run that they were asked for in.
    pub from: BTreeMap<String, usize>,
    /// What has no reply yet, without repeats of one request.
    pub to_ask: Vec<Place>,
    /// Repeats of what is to be asked: once that has its reply, it is theirs too.
    pub repeats: Vec<Place>,
}

impl Reused {
    /// Replies taken over.
    pub fn count(&self) -> usize {
        self.from.values().sum()
    }

    /// Adds what a later round took over.
    pub fn add(&mut self, later: &Reused) {
        for (run, count) in &later.from {
            *self.from.entry(run.clone()).or_default() += count;
        }
    }
}

/// Takes over what the store holds of `todo` and sorts out the rest; nothing where the sweep does not want it.
/// `progress` gets the number of places looked at.
///
/// # Errors
/// One sentence where the store can't be read or written, or a template is broken.
pub fn reuse(
    sweep: &Sweep,
    todo: &[Place],
    store: &Store,
    progress: &dyn Fn(usize),
) -> Result<Reused, String> {
    let mut reused = Reused::default();
    if !sweep.reuse {
        reused.to_ask = todo.to_vec();
        return Ok(reused);
    }
    let mut asked = HashSet::new();
    let mut copies = Vec::new();
    for (at, place) in todo.iter().enumerate() {
        progress(at);
        let Some((key, instance)) = keyed(sweep, *place)? else {
            reused.to_ask.push(*place);
            continue;
        };
        match copy(sweep, instance, &key, store)? {
            Some(copy) => copies.push(copy),
            None if asked.contains(&key) => reused.repeats.push(*place),
            None => {
                asked.insert(key);
                reused.to_ask.push(*place);
            }
        }
        if copies.len() >= AT_ONCE {
            keep(&mut copies, store, &mut reused)?;
        }
    }
    keep(&mut copies, store, &mut reused)?;
    Ok(reused)
}

/// Whether the store holds a reply for an instance.
pub(super) fn is_known(sweep: &Sweep, instance: &Instance, store: &Store) -> Result<bool, String> {
    match request_key(sweep.model.as_ref(), &sweep.request(instance)) {
        Some(key) => store.has_reply_to(&key).map_err(|error| error.to_string()),
        None => Ok(false),
    }
}

/// The instance with the key of its request; `None` where it can't be composed or may share no reply.
fn keyed(sweep: &Sweep, place: Place) -> Result<Option<(String, Instance)>, String> {
    let instance = sweep.space().instance(place);
    let instance = instance.map_err(|error| error.to_string())?;
    Ok(instance.and_then(|instance| {
        let key = request_key(sweep.model.as_ref(), &sweep.request(&instance))?;
        Some((key, instance))
    }))
}

/// The record of an instance with the reply that the store holds to its request.
fn copy(
    sweep: &Sweep,
    instance: Instance,
    key: &str,
    store: &Store,
) -> Result<Option<ReplyRecord>, String> {
    let held = store.reply_to(key).map_err(|error| error.to_string())?;
    // A record that is not what this program writes is asked for anew.
    let Some(held) = held else {
        return Ok(None);
    };
    let Ok(Ok(reply)) = result_of(&held) else {
        return Ok(None);
    };
    let request = sweep.ask_request(instance, sweep.model.clone(), None);
    let mut copy = record(&request, &Ok(reply));
    copy.origin = Some(held.origin.unwrap_or(Origin {
        run: held.run,
        created_at: held.created_at,
    }));
    Ok(Some(copy))
}

fn keep(copies: &mut Vec<ReplyRecord>, store: &Store, reused: &mut Reused) -> Result<(), String> {
    if copies.is_empty() {
        return Ok(());
    }
    store
        .insert_all(copies)
        .map_err(|error| format!("the replies of other runs could not be stored: {error}"))?;
    for copy in copies.drain(..) {
        if let Some(origin) = copy.origin {
            *reused.from.entry(origin.run).or_default() += 1;
        }
    }
    Ok(())
}
