//! `medrgb [PATH]`: the explorer, with the settings of the command line. Above both, since neither may
//! import the other.

use std::sync::Arc;

use crate::cli::common::{Environment, note, templates};
use crate::cli::{ExplorerArgs, Failure};
use crate::cli::{encoder, search};
use crate::engine::models::{open_model, store_file};
use crate::model::select::sampling;
use crate::tui::{FindEncoder, ModelChoice, OpenIndex, Setup, Shelf, Source};

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
    let setup = Setup {
        dataset: args.path.map_or(Source::Sample, Source::Folder),
        model: model(args.base_url.clone(), environment),
        shelf: shelf(args.base_url, environment),
        sampling: sampling(&config.model, config),
        run: RUN.into(),
        store: Some(store_file(paths)),
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
    // What must be known after leaving, such as how a sweep that was stopped goes on.
    if let Some(farewell) = crate::tui::run(setup).map_err(Failure::failed)? {
        note(&farewell);
    }
    Ok(())
}

/// The models that a sweep may ask: any name, as `--model` takes it.
fn shelf(base_url: Option<String>, environment: &Environment) -> Shelf {
    let (config, paths) = (environment.config.clone(), environment.paths.clone());
    let settings = config.clone();
    let mut names: Vec<String> = config.models.keys().cloned().collect();
    if !names.contains(&config.model) {
        names.insert(0, config.model.clone());
    }
    let flags = base_url
        .iter()
        .flat_map(|url| ["--base-url".to_owned(), url.clone()]);
    Shelf {
        names,
        flags: flags.collect(),
        open: Arc::new(move |name| {
            // The address of the command line is that of its model.
            let same = name == config.model || name.starts_with("openai:");
            let base_url = base_url.as_deref().filter(|_| same);
            open_model(name, base_url, &config, &paths)
        }),
        settings: Arc::new(move |name| {
            let price = settings.models.get(name);
            let prices = price.map_or((None, None), |model| (model.price_in, model.price_out));
            (sampling(name, &settings), prices)
        }),
    }
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
