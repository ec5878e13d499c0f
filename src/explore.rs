//! `medrgb [PATH]`: the explorer, with the settings of the command line. Above both, since neither may
//! import the other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::common::{Environment, note, templates, variable};
use crate::cli::{Explorer, ExplorerArgs, Failure, KeyRow};
use crate::cli::{annotate, encoder, search};
use crate::data::session;
use crate::data::talk::{self, Script};
use crate::domain::prompt::Templates;
use crate::engine::models::{
    judge_name, open_model, replay, run_to_read, sample_replay, store_file,
};
use crate::model::replay::Pace;
use crate::model::select::{resolve, sampling};
use crate::tui::command::COMMANDS;
use crate::tui::keymap::Keymap;
use crate::tui::terminal;
use crate::tui::theme::{self, ColorDepth};
use crate::tui::{
    FindEncoder, ModelChoice, ModelSettings, OpenIndex, OpenIndexes, Remembered, Setup, Shelf,
    Source,
};

/// Name of the run under which the explorer stores replies.
const RUN: &str = "explorer";

/// How a name begins that stands for a recorded run.
const REPLAY: &str = "replay:";

/// What the commands need of the explorer.
pub const DOOR: Explorer = Explorer {
    open: run,
    faults,
    keys,
};

/// What is wrong with the settings for the explorer, one sentence each.
fn faults(environment: &Environment) -> Vec<String> {
    let (config, paths) = (&environment.config, &environment.paths);
    let mut faults: Vec<String> = terminal::wrong_colors(variable).into_iter().collect();
    if let Err(mistakes) = Keymap::new(&config.keys) {
        let places = key_places(environment);
        faults.extend(mistakes.iter().map(|mistake| mistake.said(&places)));
    }
    let place = |key: &str| match environment.settings.place(key) {
        Some(place) => format!("{place}: "),
        None => String::new(),
    };
    let folder = paths.config.join("themes");
    if config.theme != theme::AUTO
        && !config.theme.is_empty()
        && let Err(wrong) = theme::load(&config.theme, Some(&folder), ColorDepth::True)
    {
        faults.push(format!("{}{wrong}", place("theme")));
    }
    if let Err(wrong) = resolve(&config.model, None, config, &variable) {
        faults.push(format!("{}{}", place("model"), wrong.message));
    }
    if let Err(wrong) = annotate::taxonomy(None, config) {
        faults.push(format!("{}{wrong}", place("taxonomy")));
    }
    if let Err(wrong) = templates(config.prompts.as_ref()) {
        faults.push(format!("{}{wrong}", place("prompts")));
    }
    faults
}

/// File and line of every command whose keys were changed.
fn key_places(environment: &Environment) -> BTreeMap<String, String> {
    let names = environment.config.keys.keys();
    names
        .filter_map(|name| {
            let place = environment.settings.place(&format!("keys.{name}"))?;
            Some((name.clone(), place))
        })
        .collect()
}

fn keys() -> Vec<KeyRow> {
    let row = |row: &crate::tui::command::CommandInfo| KeyRow {
        name: row.name,
        keys: row.keys,
        help: row.help,
    };
    COMMANDS.iter().map(row).collect()
}

/// Opens the explorer on a dataset folder, or on the sample benchmark.
///
/// # Errors
/// [`Failure`] when there is no terminal, or a prompt template or script of the user's is broken.
pub fn run(args: ExplorerArgs, environment: &Environment) -> Result<(), Failure> {
    let mut environment = environment.clone();
    let theme_place = match args.theme {
        Some(theme) => {
            environment.config.theme = theme;
            Some("--theme".to_owned())
        }
        None => environment.settings.place("theme"),
    };
    let script = script(args.talk.as_deref(), args.demo)?;
    if let Some(model) = args.model {
        environment.config.model = model;
    } else if let Some(run) = script.as_ref().and_then(|script| script.run.as_ref()) {
        environment.config.model = format!("{REPLAY}{run}");
    }
    // On the sample benchmark a talk plays what was recorded with it, unless it names a run.
    let recorded = args.demo
        || script.is_some() && args.path.is_none() && !environment.config.model.starts_with(REPLAY);
    if script.is_some() && !recorded && !environment.config.model.starts_with(REPLAY) {
        return Err(Failure::Usage(
            "a talk plays a recorded run: write `run = \"NAME\"` into the script, or give --model replay:NAME (without a dataset folder it plays the run that was recorded with the sample benchmark)"
                .to_owned(),
        ));
    }
    if let (Some(file), Some(script)) = (&args.talk, &script) {
        check_runs(file, script, &store_file(&environment.paths))?;
    }
    let environment = &environment;
    let (config, paths) = (&environment.config, &environment.paths);
    let annotator = annotate::annotator(args.annotator.as_deref(), config)?;
    let annotator_named = args.annotator.is_some() || config.annotator.is_some();
    let dataset = args.path.map_or(Source::Sample, Source::Folder);
    // A talk shows what its script says, whatever somebody looked at before.
    let session = script.is_none().then(|| Remembered {
        path: remembered(&dataset, &paths.state),
        fresh: args.fresh,
    });
    let taxonomy = annotate::taxonomy(args.taxonomy.as_deref(), config)?;
    let pace = Pace::new(script.as_ref().map_or(1.0, |script| script.speed));
    let setup = Setup {
        dataset,
        shelf: shelf(args.base_url.clone(), environment),
        model: match recorded {
            true => demo(pace.clone()),
            false => model(args.base_url, environment, pace.clone()),
        },
        sampling: sampling(&config.model, config),
        run: RUN.into(),
        // The demo shows nothing of what is stored on this machine.
        store: (!args.demo).then(|| store_file(paths)),
        session,
        annotator,
        annotator_named,
        taxonomy,
        templates: match recorded {
            // The recording answers the prompts of the program itself.
            true => Templates::default(),
            false => templates(config.prompts.as_ref())?,
        },
        encoder: find_encoder(environment),
        index: (!args.index.is_empty()).then(|| open_index(args.index, environment)),
        indexes: indexes(environment),
        backend: encoder::backend(None, environment)?,
        cache: Some(paths.cache.join("embeddings")),
        hits: config.retrieval.k,
        theme: config.theme.clone(),
        themes: Some(paths.config.join("themes")),
        theme_place,
        colors: None,
        keys: config.keys.clone(),
        key_places: key_places(environment),
        mouse: config.mouse,
        reduced_motion: config.reduced_motion,
        talk: script.map(Arc::new),
        pace,
    };
    // What must be known after leaving, such as how a sweep that was stopped goes on.
    if let Some(farewell) = crate::tui::run(setup).map_err(Failure::failed)? {
        note(&farewell);
    }
    Ok(())
}

/// The file in which it is remembered where one was in a dataset.
fn remembered(dataset: &Source, state: &Path) -> PathBuf {
    match dataset {
        Source::Sample => session::file(state, "sample", ""),
        Source::Folder(folder) => {
            // The same folder by another way, or its qa.jsonl, is the same dataset.
            let place = folder.canonicalize().unwrap_or_else(|_| folder.clone());
            let place = match place.is_file() {
                true => place.parent().map(Path::to_owned).unwrap_or_default(),
                false => place,
            };
            let name = place.file_name().unwrap_or_default().to_string_lossy();
            session::file(state, &name, &place.to_string_lossy())
        }
    }
}

/// The models that a sweep may ask: any name, as `--model` takes it.
fn shelf(base_url: Option<String>, environment: &Environment) -> Shelf {
    let (config, paths) = (environment.config.clone(), environment.paths.clone());
    let (settings, named) = (config.clone(), config.clone());
    let url = base_url.clone();
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
        open: Arc::new(move |name: &str| {
            // The address of the command line is that of its model.
            let same = name == config.model || name.starts_with("openai:");
            let base_url = base_url.as_deref().filter(|_| same);
            open_model(name, base_url, &config, &paths)
        }),
        settings: Arc::new(move |name: &str| {
            let model = settings.models.get(name);
            ModelSettings {
                sampling: sampling(name, &settings),
                prices: model.map_or((None, None), |model| (model.price_in, model.price_out)),
                per_minute: model.map_or((None, None), |model| (model.rpm, model.tpm)),
            }
        }),
        judge_name: Arc::new(move |name: &str| {
            let same = name == named.model || name.starts_with("openai:");
            judge_name(name, url.as_deref().filter(|_| same), &named)
                .map_err(|error| error.to_string())
        }),
    }
}

/// The talk to give: of a file, or the demo's.
fn script(file: Option<&std::path::Path>, demo: bool) -> Result<Option<Script>, Failure> {
    let script = match (file, demo) {
        (Some(file), _) => talk::read(file).map(Some),
        (None, true) => talk::demo().map(Some),
        (None, false) => Ok(None),
    };
    script.map_err(Failure::Usage)
}

/// Refuses a talk before it begins whose runs are not in the store: it would show something else, or nothing.
fn check_runs(file: &Path, script: &Script, store: &Path) -> Result<(), Failure> {
    for (run, line) in &script.runs {
        run_to_read(store, run).map_err(|error| {
            let place = file.display();
            Failure::Usage(format!("{place}, line {line}: {}", error.message))
        })?;
    }
    Ok(())
}

fn demo(pace: Pace) -> ModelChoice {
    ModelChoice {
        name: "the recorded demo".into(),
        open: Arc::new(move || Ok(Arc::new(sample_replay(pace.clone())?))),
    }
}

fn model(base_url: Option<String>, environment: &Environment, pace: Pace) -> ModelChoice {
    let (config, paths) = (environment.config.clone(), environment.paths.clone());
    ModelChoice {
        name: config.model.clone(),
        open: Arc::new(move || match config.model.strip_prefix(REPLAY) {
            Some(run) => Ok(Arc::new(replay(&store_file(&paths), run, pace.clone())?)),
            None => open_model(&config.model, base_url.as_deref(), &config, &paths),
        }),
    }
}

fn find_encoder(environment: &Environment) -> FindEncoder {
    let environment = environment.clone();
    Arc::new(move || encoder::folders(None, &environment).map_err(|failure| failure.to_string()))
}

fn indexes(environment: &Environment) -> OpenIndexes {
    let environment = environment.clone();
    Arc::new(move |names: &[String]| {
        search::open_index(names, None, None, None, &environment)
            .map_err(|failure| failure.to_string())
    })
}

fn open_index(names: Vec<String>, environment: &Environment) -> OpenIndex {
    let environment = environment.clone();
    Arc::new(move || {
        search::open_index_for_screen(&names, &environment).map_err(|failure| failure.to_string())
    })
}
