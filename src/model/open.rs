//! Makes the model that a name stands for.

use std::path::Path;
use std::sync::Arc;

use crate::domain::text::short;
use crate::model::http::HttpModel;
use crate::model::select::{EmbeddedSpec, Selected};
use crate::model::{ChatModel, FailureKind, ModelError};

/// Opens an HTTP or embedded model; `models_dir` is the folder of downloaded models. Replays are made from
/// stored records, which the engine has.
///
/// # Errors
/// [`ModelError`] where the model can't be used.
pub fn open(selected: Selected, models_dir: &Path) -> Result<Arc<dyn ChatModel>, ModelError> {
    match selected {
        Selected::Http(settings) => Ok(Arc::new(HttpModel::new(*settings)?)),
        Selected::Embedded(spec) => open_embedded(&spec, models_dir),
        Selected::Replay(run) => Err(ModelError::new(
            FailureKind::Local,
            format!(
                "the run \"{run}\" can only be replayed from its store",
                run = short(&run)
            ),
        )),
    }
}

#[cfg(feature = "embedded")]
fn open_embedded(spec: &EmbeddedSpec, models_dir: &Path) -> Result<Arc<dyn ChatModel>, ModelError> {
    crate::model::embedded::open(spec, models_dir)
}

#[cfg(not(feature = "embedded"))]
fn open_embedded(spec: &EmbeddedSpec, models_dir: &Path) -> Result<Arc<dyn ChatModel>, ModelError> {
    let _ = models_dir;
    Err(ModelError::new(
        FailureKind::Local,
        format!(
            "the embedded model \"{}\" can't be used, since this program was built without embedded models; use openai:MODEL, or build with the feature \"embedded\"",
            spec.name
        ),
    ))
}

/// Whether a model inside this process may be computing: then the process must end at once, without the way
/// out of the library that computes.
#[cfg(feature = "embedded")]
pub fn is_computing() -> bool {
    crate::model::embedded::is_computing()
}

/// Without such models nothing computes.
#[cfg(not(feature = "embedded"))]
pub fn is_computing() -> bool {
    false
}
