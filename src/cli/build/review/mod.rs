//! `medrgb build review`: what people decided about the items of a benchmark.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use crate::cli::Failure;
use crate::cli::common::{Environment, note};
use crate::cli::condition::open_dataset;
use crate::data::dataset::Dataset;
use crate::data::reviews::{ReviewShelf, Reviews, beside};
use crate::domain::text::{clean, count, short};
use crate::engine::models::store_file;

mod agreement;
mod apply;
mod export;
mod import;
mod list;

/// Arguments of `medrgb build review`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// How far every reviewer is, with each dataset or with the one that is named
    List(list::Args),
    /// Write decisions with their items: a row per item and reviewer
    Export(export::Args),
    /// Read decisions that `export` has written, for example on another machine
    Import(import::Args),
    /// How far reviewers agree: kappa over the items that all of them decided
    Agreement(agreement::Args),
    /// Write the dataset with the decisions put into effect: accepted and edited items in, rejected ones out
    Apply(apply::Args),
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with one clear sentence.
pub(super) fn run(args: Args, environment: &Environment) -> Result<(), Failure> {
    match args.action {
        Action::List(args) => list::run(&args, environment),
        Action::Export(args) => export::run(&args, environment),
        Action::Import(args) => import::run(&args, environment),
        Action::Agreement(args) => agreement::run(&args, environment),
        Action::Apply(args) => apply::run(&args, environment),
    }
}

/// The dataset whose items were decided.
#[derive(Debug, Clone, clap::Args)]
struct Set {
    /// Dataset folder, or its qa.jsonl; without it the built-in sample
    #[arg(value_name = "DIR")]
    dataset: Option<PathBuf>,
}

/// What the explorer must do before there is anything to work with.
fn nothing_yet(folder: Option<&Path>, name: &str) -> Failure {
    let open = folder.map_or_else(String::new, |folder| format!(" {}", folder.display()));
    Failure::Failed(format!(
        "nothing has been decided about \"{}\" yet; open it with `medrgb{open}` and press E",
        short(name)
    ))
}

/// The decisions of all, only to read them, without making a file where none is.
fn open(environment: &Environment) -> Result<Option<Reviews>, Failure> {
    let file = beside(&store_file(&environment.paths));
    match file.exists() {
        true => Reviews::open_for_reading(&file)
            .map(Some)
            .map_err(Failure::failed),
        false => Ok(None),
    }
}

/// A dataset's decisions; acts that can't be read are said.
fn shelf(reviews: &Reviews, name: &str) -> Result<ReviewShelf, Failure> {
    let shelf = reviews.of_dataset(name).map_err(Failure::failed)?;
    if shelf.broken > 0 {
        note(&format!(
            "note: {} on \"{}\" can't be read and are left out",
            count(shelf.broken, "act"),
            short(name)
        ));
    }
    Ok(shelf)
}

/// How many of these items of a dataset people have decided about, and who; nothing where decisions can't be read.
pub(super) fn decided(
    environment: &Environment,
    name: &str,
    items: &HashSet<String>,
) -> Option<(usize, Vec<String>)> {
    let reviews = open(environment).ok().flatten()?;
    let shelf = reviews.of_dataset(name).ok()?;
    let mut known = HashSet::new();
    let mut names = BTreeSet::new();
    for (hand, book) in &shelf.books {
        for (item, _) in book
            .decisions()
            .filter(|(item, one)| items.contains(*item) && !one.is_blank())
        {
            known.insert(item);
            names.insert(clean(&hand.annotator));
        }
    }
    (!known.is_empty()).then(|| (known.len(), names.into_iter().collect()))
}

/// A dataset and what was decided about it.
fn reviewed(set: &Set, environment: &Environment) -> Result<(Dataset, ReviewShelf), Failure> {
    let dataset = open_dataset(set.dataset.as_deref())?;
    let nothing = || nothing_yet(set.dataset.as_deref(), &dataset.name);
    let reviews = open(environment)?.ok_or_else(nothing)?;
    let shelf = shelf(&reviews, &dataset.name)?;
    match shelf
        .books
        .values()
        .all(|book| book.decisions().next().is_none())
    {
        true => Err(nothing()),
        false => Ok((dataset, shelf)),
    }
}
