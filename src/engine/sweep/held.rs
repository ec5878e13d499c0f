//! What a run holds already: which instances are done, and whether new replies may join the old ones.

use std::collections::{HashMap, HashSet};

use crate::data::store::{ReplyRecord, RunEntry, Store};
use crate::domain::plan::{ConditionKey, counted, is_counted_reply};
use crate::engine::ask::identity_of;
use crate::engine::instance::InstanceError;
use crate::engine::survey::Place;
use crate::engine::sweep::Sweep;
use crate::model::BackendKind;

/// Characters of a fingerprint that are shown.
const SHOWN: usize = 12;

/// What a run holds of a sweep.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Instances with a reply.
    pub(super) done: HashSet<Place>,
    /// Instances whose last call was refused beforehand because the prompt does not fit the window.
    pub(super) overflow: HashSet<Place>,
    /// Instances that were asked and have no reply.
    pub(super) failed: HashSet<Place>,
    /// What the user should know before going on.
    pub(super) notes: Vec<String>,
}

/// The records of the run that belong to the sweep and count, with their places.
pub(super) fn counted_entries(sweep: &Sweep, entries: Vec<RunEntry>) -> Vec<(Place, RunEntry)> {
    let sampling = sweep.sampling_value();
    let conditions: HashMap<ConditionKey, usize> = sweep
        .conditions
        .iter()
        .enumerate()
        .map(|(at, condition)| (ConditionKey::of(condition), at))
        .collect();
    let mut placed: Vec<Option<(Place, RunEntry)>> = entries
        .into_iter()
        .filter(|entry| sweep.is_ours(entry, &sampling))
        .filter_map(|entry| {
            let place = Place {
                question: sweep
                    .dataset
                    .position(&entry.question_id)
                    .filter(|position| sweep.questions.binary_search(position).is_ok())?,
                condition: *conditions.get(&ConditionKey::of(&entry.condition))?,
            };
            Some(Some((place, entry)))
        })
        .collect();
    let standing = placed
        .iter()
        .flatten()
        .map(|(place, entry)| (*place, is_counted_reply(entry.reply_outcome())));
    counted(standing)
        .into_iter()
        .filter_map(|at| placed[at].take())
        .collect()
}

/// Reads what the run holds.
///
/// # Errors
/// One sentence where the run can't be read, or new replies must not join the old ones.
pub(super) fn held(sweep: &Sweep, store: Option<&Store>) -> Result<Held, String> {
    let mut held = Held::default();
    let Some(store) = store else {
        return Ok(held);
    };
    let entries = store
        .entries_of_run(&sweep.run)
        .map_err(|error| error.to_string())?;
    if let Some(mixed) = mixed(sweep, &entries) {
        if !sweep.append {
            return Err(format!(
                "the run \"{}\" holds {mixed}; name another run with --run, or put both into one with --append",
                sweep.run
            ));
        }
        held.notes.push(format!(
            "the run \"{}\" holds {mixed} too (--append)",
            sweep.run
        ));
    }
    let counted = counted_entries(sweep, entries);
    same_prompts_and_model(sweep, store, &counted, &mut held.notes)?;
    for (place, entry) in counted {
        if is_counted_reply(entry.reply_outcome()) {
            held.done.insert(place);
            continue;
        }
        held.failed.insert(place);
        if entry.failure_kind() == Some("overflow") {
            held.overflow.insert(place);
        }
    }
    Ok(held)
}

/// What other dataset, model or sampling the run holds.
fn mixed(sweep: &Sweep, entries: &[RunEntry]) -> Option<String> {
    let sampling = sweep.sampling_value();
    let in_company =
        |entry: &RunEntry| sweep.company.iter().any(|name| **name == *entry.model_name);
    let in_datasets = |entry: &RunEntry| {
        let known = |one: &String| **one == *entry.dataset_fingerprint;
        *entry.dataset_fingerprint == *sweep.dataset.fingerprint || sweep.datasets.iter().any(known)
    };
    let other = entries.iter().find(|entry| {
        !in_datasets(entry) || !in_company(entry) || !same_but_seed(&entry.sampling, &sampling)
    })?;
    let short = |fingerprint: &str| fingerprint.chars().take(SHOWN).collect::<String>();
    let asked = sweep.company.join(", ");
    Some(if !in_datasets(other) {
        format!(
            "replies to another dataset or another version of it (fingerprint {}, this one has {})",
            short(&other.dataset_fingerprint),
            short(&sweep.dataset.fingerprint)
        )
    } else if !in_company(other) {
        format!(
            "replies of the model {}, and this sweep asks {asked}",
            other.model_name
        )
    } else {
        format!(
            "replies with the sampling {}, and this sweep has {sampling}",
            other.sampling
        )
    })
}

/// Whether two samplings differ in nothing but the seed, in which repeats of a request differ.
fn same_but_seed(a: &serde_json::Value, b: &serde_json::Value) -> bool {
    let without = |value: &serde_json::Value| {
        let mut value = value.clone();
        if let Some(fields) = value.as_object_mut() {
            fields.shift_remove("seed");
        }
        value
    };
    a == b || without(a) == without(b)
}

/// Compares the newest record of every scenario with what would be asked today: other prompts, or another
/// model file under the same name, would make two halves of a run that can't be compared.
fn same_prompts_and_model(
    sweep: &Sweep,
    store: &Store,
    counted: &[(Place, RunEntry)],
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let mut newest = HashMap::new();
    for (place, entry) in counted {
        let slot = newest
            .entry(entry.condition.scenario.name())
            .or_insert((*place, entry.id));
        if entry.id > slot.1 {
            *slot = (*place, entry.id);
        }
    }
    for (scenario, (place, id)) in newest {
        let Some(record) = store.get(id).map_err(|error| error.to_string())? else {
            continue;
        };
        let instance = sweep
            .space()
            .instance(place)
            .map_err(|error: InstanceError| error.to_string())?;
        if instance.is_some_and(|instance| instance.prompt != record.prompt) {
            return Err(format!(
                "the run \"{}\" was asked with other {scenario} prompts (templates or program have changed since), so new replies can't join it; name another run with --run",
                sweep.run
            ));
        }
        if let Some(other) = other_model(sweep, &record) {
            match sweep.model.identity().backend {
                BackendKind::Embedded if !sweep.append => {
                    return Err(format!(
                        "the run \"{}\" was asked of {other}; name another run with --run, or put both into one with --append",
                        sweep.run
                    ));
                }
                _ => notes.push(format!("the run \"{}\" was asked of {other}", sweep.run)),
            }
        }
    }
    notes.dedup();
    Ok(())
}

/// The record's model, where it has the same name but another file or address.
fn other_model(sweep: &Sweep, record: &ReplyRecord) -> Option<String> {
    let now = sweep.model.identity();
    let then = identity_of(record)?;
    (then.detail != now.detail).then(|| {
        format!(
            "\"{}\", and \"{}\" is now {}",
            then.detail, now.name, now.detail
        )
    })
}
