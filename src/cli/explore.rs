//! `medrgb [PATH]`: the explorer.

use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::Failure;
use crate::cli::common::Environment;
use crate::engine::models::{open_model, store_file};
use crate::model::select::sampling;
use crate::tui::{ModelChoice, Setup, Source};

/// Opens the explorer on a dataset folder, or on the sample benchmark.
///
/// # Errors
/// [`Failure`] when there is no terminal.
pub fn run(path: Option<PathBuf>, environment: &Environment) -> Result<(), Failure> {
    let (config, paths) = (&environment.config, &environment.paths);
    let setup = Setup {
        dataset: path.map_or(Source::Sample, Source::Folder),
        model: ModelChoice {
            name: config.model.clone(),
            open: Arc::new({
                let (config, paths) = (config.clone(), paths.clone());
                move || open_model(&config.model, None, &config, &paths)
            }),
        },
        sampling: sampling(&config.model, config),
        run: "explorer".into(),
        store: Some(store_file(paths)),
        templates: crate::domain::prompt::Templates::default(),
        encoder: Arc::new(|| Ok(None)),
        backend: medrgb_encoder::BackendChoice::Auto,
        cache: Some(paths.cache.join("embeddings")),
        hits: config.retrieval.k,
        theme: config.theme.clone(),
        themes: Some(paths.config.join("themes")),
        colors: None,
        keys: config.keys.clone(),
        mouse: config.mouse,
    };
    crate::tui::run(setup).map_err(Failure::failed)
}
