//! `medrgb [PATH]`: the explorer, with the settings of the command line. Above both, since neither may
//! import the other.

use std::sync::Arc;

use crate::cli::common::{Environment, templates};
use crate::cli::{ExplorerArgs, Failure};
use crate::cli::{annotate, encoder, search};
use crate::engine::models::{open_model, store_file};
use crate::model::select::sampling;
use crate::tui::{FindEncoder, ModelChoice, OpenIndex, Setup, Source};

/// Name of the run under which the explorer stores replies.
const RUN: &str = "explorer";

/// Opens the explorer on a dataset folder, or on the sample benchmark.
///
/// # Errors
/// [`Failure`] when there is no terminal, or a prompt template of the user's is broken.
pub fn run(args: ExplorerArgs, environment: &Environment) -> Result<(), Failure> {
    let mut environment = environment.clone();
    if let Some(model) = args.model {
        environment.config.model = model;
    }
    if let Some(theme) = args.theme {
        environment.config.theme = theme;
    }
    let environment = &environment;
    let (config, paths) = (&environment.config, &environment.paths);
    let templates = templates(config.prompts.as_ref())?;
    let annotator = annotate::annotator(args.annotator.as_deref(), config)?;
    let taxonomy = annotate::taxonomy(args.taxonomy.as_deref(), config)?;
    let setup = Setup {
        dataset: args.path.map_or(Source::Sample, Source::Folder),
        model: model(args.base_url, environment),
        sampling: sampling(&config.model, config),
        run: RUN.into(),
        store: Some(store_file(paths)),
        annotator,
        taxonomy,
        templates,
        encoder: find_encoder(environment),
        index: (!args.index.is_empty()).then(|| open_index(args.index, environment)),
        backend: encoder::backend(None, environment)?,
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

fn model(base_url: Option<String>, environment: &Environment) -> ModelChoice {
    let (config, paths) = (environment.config.clone(), environment.paths.clone());
    ModelChoice {
        name: config.model.clone(),
        open: Arc::new(move || open_model(&config.model, base_url.as_deref(), &config, &paths)),
    }
}

fn find_encoder(environment: &Environment) -> FindEncoder {
    let environment = environment.clone();
    Arc::new(move || encoder::folders(None, &environment).map_err(|failure| failure.to_string()))
}

fn open_index(names: Vec<String>, environment: &Environment) -> OpenIndex {
    let environment = environment.clone();
    Arc::new(move || {
        search::open_index(&names, None, None, None, &environment)
            .map(|(index, _)| index)
            .map_err(|failure| failure.to_string())
    })
}
