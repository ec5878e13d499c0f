//! Opens the model that a name stands for, replays of stored runs included.

use std::path::Path;
use std::sync::Arc;

use crate::config::{Config, Paths};
use crate::data::recorded::sample_run;
use crate::data::store::{FILE_NAME, ReplyRecord, Store, StoreError};
use crate::domain::nearest::nearest;
use crate::domain::text::short;
use crate::engine::ask::{identity_of, result_of};
use crate::model::open::open;
use crate::model::registry::models_dir;
use crate::model::replay::{Pace, Recorded, Recording, ReplayModel};
use crate::model::select::{Selected, resolve};
use crate::model::{BackendKind, ChatModel, FailureKind, ModelError};

/// The file of the run store.
pub fn store_file(paths: &Paths) -> std::path::PathBuf {
    paths.data.join(FILE_NAME)
}

/// Opens the model called `name`. `base_url` is the flag; keys come from the environment.
///
/// # Errors
/// [`ModelError`] for an unknown name or a model that can't be used.
pub fn open_model(
    name: &str,
    base_url: Option<&str>,
    config: &Config,
    paths: &Paths,
) -> Result<Arc<dyn ChatModel>, ModelError> {
    let env = |name: &str| std::env::var(name).ok();
    match resolve(name, base_url, config, &env)? {
        Selected::Replay(run) => Ok(Arc::new(replay(&store_file(paths), &run, Pace::new(1.0))?)),
        selected => open(selected, &models_dir(&paths.cache)),
    }
}

/// The name under which judgements of the model called `name` are stored; the model is not opened for that.
///
/// # Errors
/// [`ModelError`] for an unknown name, and for a recorded run: those hold replies to questions and never judgements.
pub fn judge_name(
    name: &str,
    base_url: Option<&str>,
    config: &Config,
) -> Result<String, ModelError> {
    let env = |name: &str| std::env::var(name).ok();
    match resolve(name, base_url, config, &env)? {
        Selected::Http(settings) => Ok(settings.name),
        Selected::Embedded(spec) => Ok(spec.name),
        Selected::Replay(_) => Err(ModelError {
            attempts: 0,
            ..ModelError::new(
                FailureKind::BadRequest,
                format!(
                    "\"{}\" can't judge, since a recorded run holds replies to questions and no judgements; a judge is a name of the config, openai:MODEL or embedded[:NAME|:FILE.gguf]",
                    short(name)
                ),
            )
        }),
    }
}

/// A model that plays a stored run.
///
/// # Errors
/// [`ModelError`] where the store can't be read or the run holds nothing.
pub fn replay(store: &Path, run: &str, pace: Pace) -> Result<ReplayModel, ModelError> {
    let local = |why: String| ModelError::new(FailureKind::Local, why);
    let store = run_to_read(store, run)?;
    let records = store
        .replies_of_run(run)
        .map_err(|error| local(error.to_string()))?;
    ReplayModel::new(recording(run, &records).map_err(local)?, pace)
}

/// A model that plays the run recorded with the sample benchmark, which is built into the program.
///
/// # Errors
/// [`ModelError`] where the recording can't be read; a test sees to it that it can.
pub fn sample_replay(pace: Pace) -> Result<ReplayModel, ModelError> {
    let local = |why: String| ModelError::new(FailureKind::Local, why);
    let records = sample_run().map_err(local)?;
    let run = records
        .first()
        .map_or_else(String::new, |record| record.run.clone());
    ReplayModel::new(recording(&run, &records).map_err(local)?, pace)
}

/// Opens the store that holds this run, to change the run; makes none.
///
/// # Errors
/// [`ModelError`] where the store can't be read or has no such run; it then names some that there are.
pub fn run_to_change(file: &Path, run: &str) -> Result<Store, ModelError> {
    with_run(file, run, Store::open)
}

/// Opens the store that holds this run, only to read it: it may lie where nothing can be written.
///
/// # Errors
/// As [`run_to_change`].
pub fn run_to_read(file: &Path, run: &str) -> Result<Store, ModelError> {
    with_run(file, run, Store::open_for_reading)
}

fn with_run(
    file: &Path,
    run: &str,
    open: impl Fn(&Path) -> Result<Store, StoreError>,
) -> Result<Store, ModelError> {
    if !file.exists() {
        return Err(ModelError::new(
            FailureKind::NotFound,
            format!(
                "there is no run \"{run}\" yet: nothing has been stored in {}",
                file.display(),
                run = short(run)
            ),
        ));
    }
    let local = |error: StoreError| ModelError::new(FailureKind::Local, error.to_string());
    let store = open(file).map_err(local)?;
    let page = store.page_of_run(run, 0).map_err(local)?;
    match page.last {
        Some(_) => Ok(store),
        None => Err(unknown_run(&store, run)),
    }
}

/// The recording of a run's records.
///
/// # Errors
/// A sentence for a record that can't be read.
pub fn recording(run: &str, records: &[ReplyRecord]) -> Result<Recording, String> {
    // A replay that an older version stored is no recording of a model.
    let records: Vec<&ReplyRecord> = records
        .iter()
        .filter(|record| {
            identity_of(record).is_none_or(|identity| identity.backend != BackendKind::Replay)
        })
        .collect();
    let last = records.last().copied();
    let mut models: Vec<String> = records
        .iter()
        .map(|record| record.model_name.clone())
        .collect();
    models.sort_unstable();
    models.dedup();
    let replies = records
        .iter()
        .map(|record| {
            Ok(Recorded {
                prompt: record.prompt.clone(),
                result: result_of(record)?,
            })
        })
        .collect::<Result<_, String>>()?;
    Ok(Recording {
        run: run.to_owned(),
        models,
        date: last
            .map(|record| record.created_at.chars().take(10).collect())
            .unwrap_or_default(),
        caution: last
            .and_then(identity_of)
            .and_then(|identity| identity.caution),
        replies,
    })
}

fn unknown_run(store: &Store, run: &str) -> ModelError {
    let runs = store.runs().unwrap_or_default();
    let names = || runs.iter().map(|summary| summary.name.as_str());
    let listed: Vec<String> = names()
        .take(5)
        .map(|name| format!("\"{}\"", short(name)))
        .collect();
    let known = match (listed.is_empty(), nearest(run, names())) {
        (true, _) => "it holds no run yet".to_owned(),
        (false, None) => format!("it holds {}", listed.join(", ")),
        (false, Some(meant)) => format!(
            "it holds {}; did you mean \"{}\"?",
            listed.join(", "),
            short(meant)
        ),
    };
    ModelError::new(
        FailureKind::NotFound,
        format!(
            "the store {} has no run \"{run}\"; {known}",
            store.path().display(),
            run = short(run)
        ),
    )
}
